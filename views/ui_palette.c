/* The ':' line's list: what is offered for its last word, and the keys that choose in it. */
#include <stdio.h>
#include <string.h>

#include "core/method/space.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/write.h"

void ui_offer_runs(struct ui *ui) {
    const struct runs_view *v = &ui->runs;
    for (int i = 0; i < v->rows; i++) {
        const struct run_row *r = &v->row[i];
        palette_offer(&ui->palette, phrase("%lld", (long long)r->id).text,
                      phrase("%.60s%s%.80s · %.40s · %s %s", r->name ? r->name : "", r->name ? " · " : "",
                             r->method, r->task, run_state_name(r->state), show_value(r->best).text)
                          .text);
    }
}

void ui_offer_sweeps(struct ui *ui) {
    char word[24];
    for (int i = 0; i < ui->sweep.items; i++) {
        snprintf(word, sizeof word, "%lld", (long long)ui->sweep.item[i].id);
        palette_offer(&ui->palette, word, "sweep");
    }
}

void ui_offer_columns(struct ui *ui, const char *after) {
    for (int i = 0; i < COL_COUNT; i++) {
        char word[32];
        snprintf(word, sizeof word, "%s%s", runs_column_name[i], after);
        palette_offer(&ui->palette, word, "column of Runs");
    }
}

static void offer_values(struct ui *ui, int column) {
    const struct runs_view *v = &ui->runs;
    for (int i = 0; i < v->rows; i++) {
        char value[256], word[300];
        if (!runs_cell_value(&v->row[i], column, value)) continue;
        snprintf(word, sizeof word, "%s=%s", runs_column_name[column], value);
        if (!strchr(word, ' ')) palette_offer(&ui->palette, word, "value of listed runs");
    }
}

void ui_offer_filter(struct ui *ui) {
    const char *typed = ui->palette.typed, *equals = strchr(typed, '=');
    if (!equals) return ui_offer_columns(ui, "=");
    int column = runs_column_by_name(typed, (size_t)(equals - typed));
    if (column < COL_COUNT) offer_values(ui, column);
}

static void offer_methods(struct ui *ui) {
    for (int i = 0; i < preset_count(); i++)
        palette_offer(&ui->palette, preset_at(i)->name, preset_at(i)->title);
}

static void offer_screens(struct ui *ui) {
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (!screen_at((enum screen_id)i)->needs_run)
            palette_offer(&ui->palette, screen_at((enum screen_id)i)->name,
                          screen_at((enum screen_id)i)->about);
}

static void offer_for(struct ui *ui, enum command_takes takes) {
    switch (takes) {
    case TAKES_METHOD: offer_methods(ui); break;
    case TAKES_FILTER: ui_offer_filter(ui); break;
    case TAKES_RUN:
    case TAKES_RUNS: ui_offer_runs(ui); break;
    case TAKES_SWEEP: ui_offer_sweeps(ui); break;
    case TAKES_FORM:
        for (size_t i = 0; write_form(i); i++)
            palette_offer(&ui->palette, write_form(i), "export the screen or the run under the cursor");
        break;
    case TAKES_COLUMN: ui_offer_columns(ui, ""); break;
    case TAKES_SCREEN: offer_screens(ui); break;
    case TAKES_SETTING: /* the app offers them */
    case TAKES_NOTHING:
    case TAKES_MODEL:
    case TAKES_TASK:
    case TAKES_SETS: break;
    }
}

void ui_palette_changed(struct ui *ui) {
    struct palette *p = &ui->palette;
    const char *line = ui->prompt.text + strspn(ui->prompt.text, " "), *name, *help;
    enum command_takes takes;
    palette_begin(p, line);
    p->from += (size_t)(line - ui->prompt.text);
    bool first = !strchr(line, ' ');
    for (int i = 0; first && ui_command_at(i, &name, &help); i++) palette_offer(p, name, help);
    const char *own = ui_command_of(line, &takes);
    if (own && !first) offer_for(ui, takes);
    if (ui->words) ui->words->offer(ui->words->self, ui, line);
    if (!own && !*p->does && *p->typed && !p->count) {
        snprintf(p->does, sizeof p->does, "no match for \"%.60s\"", p->typed);
        p->refused = true;
    }
    if (!own) return;
    snprintf(p->does, sizeof p->does, "%s", own);
    p->refused = false;
}

void ui_palette_take(struct ui *ui) {
    struct palette *p = &ui->palette;
    char text[PROMPT_ROOM];
    if (p->cursor >= p->count) return;
    const char *word = p->row[p->cursor].word;
    size_t n = strlen(word);
    bool more = n && strchr("=(:/", word[n - 1]); /* it goes on */
    snprintf(text, sizeof text, "%.*s%s%s", (int)p->from, ui->prompt.text, word, more ? "" : " ");
    prompt_set(&ui->prompt, text);
    ui_palette_changed(ui);
}

bool ui_palette_press(struct ui *ui, const struct press *k) {
    struct palette *p = &ui->palette;
    int by = 0;
    switch (k->code) {
    case PRESS_DOWN:
    case PRESS_CTRL('n'): by = 1; break;
    case PRESS_UP:
    case PRESS_CTRL('p'): by = -1; break;
    case PRESS_PAGE_DOWN: by = 10; break;
    case PRESS_PAGE_UP: by = -10; break;
    case PRESS_ENTER:
        if (!p->moved || p->cursor >= p->count) return false;
        ui_palette_take(ui);
        return true;
    default: return false;
    }
    p->moved = p->count > 0;
    p->cursor = ui_into(p->cursor + by, p->count - 1);
    return true;
}
