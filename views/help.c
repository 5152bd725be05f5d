#include "views/help.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Returns whether the key is listed: as one of the helped screen, or as found on `screen` by the search. */
static bool help_fits(const struct ui *ui, enum screen_id screen, const struct key_entry *k) {
    char text[600], name[16];
    if (!keys_works(screen, k)) return false;
    if (!*ui->help.search) return true;
    press_name(k->key, name);
    snprintf(text, sizeof text, "%s %s %s %s %s", name, keys_help(screen, k), k->hint ? k->hint : "",
             k->everywhere ? "" : screen_at(screen)->name, key_group_name(k->group));
    return strcasestr(text, ui->help.search) != NULL;
}

/* Draws a key and its sentence, wrapped; returns the rows (c may be NULL). */
static int entry(struct canvas *c, const struct canvas *measure, struct rect r, int y,
                 const struct key_entry *k, const char *help) {
    char name[16];
    int x = r.x + PANE_EDGE, says = x + 11;
    struct rect text = { says, y, r.x + r.w - 1 - says, r.h };
    int rows = canvas_wrap_rows(measure, text.w, help);
    if (!c) return rows;
    press_name(k->key, name);
    x += canvas_text(c, x, y, INK_KEY, name);
    for (int i = 0; i < 2; i++) {
        if (!k->alias[i] || k->alias[i] >= PRESS_F1) continue;
        press_name(k->alias[i], name);
        if (x + 1 + (int)strlen(name) >= says) continue;
        x += 1 + canvas_text(c, x + 1, y, INK_DIM, name);
    }
    canvas_wrap(c, text, INK_TEXT, help);
    return rows;
}

const char method_about[] =
    "A method is a set of modules. Each module is a point on a few axes: the function of the hidden "
    "states, its position, its input (parallel or sequential), the composition with the frozen "
    "computation, and the source of its weights. In Compose, h and l move between axes, j and k "
    "between choices; Enter trains the method shown.";

/* Draws the keys of a screen below a rule: of one group, or (KEYS_GROUPS) all but those that work everywhere.
 */
static void help_part(const struct ui *ui, struct sheet *s, enum screen_id screen, enum key_group group) {
    const struct canvas measure = { .glyphs = s->glyphs };
    bool all = group == KEYS_GROUPS, title = false;
    for (int i = 0; i < keys_count(); i++) {
        const struct key_entry *k = keys_at(i);
        if (all ? k->group == KEYS_EVERYWHERE : k->group != group) continue;
        if (!help_fits(ui, screen, k)) continue;
        if (!title) sheet_rule(s, all ? screen_at(screen)->name : key_group_name(group), NULL);
        title = true;
        s->rows += entry(s->c, &measure, s->r, sheet_y(s), k, keys_help(screen, k));
    }
}

/* Draws the lines from `top` on into r; returns their number.  The search finds keys by screen, those of the
 * helped screen first. */
static int help_lay(const struct ui *ui, struct canvas *c, struct rect r, int top) {
    struct sheet s = { c, r, top, .glyphs = ui->glyphs, .apart = r.h >= SHEET_ROOM };
    int here = ui->help.helped, search = *ui->help.search != 0;
    const char *intro = screen_at(ui->help.helped)->about;
    if (!search && intro) sheet_text(&s, PANE_EDGE, INK_TEXT, intro);
    for (int i = 0; search && i < SCREEN_COUNT; i++)
        help_part(ui, &s, (enum screen_id)((here + i) % SCREEN_COUNT), KEYS_GROUPS);
    for (int g = search ? KEYS_EVERYWHERE : 0; g < KEYS_GROUPS; g++)
        help_part(ui, &s, ui->help.helped, (enum key_group)g);
    return s.rows;
}

static void help_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    canvas_push_clip(c, r);
    int lines = help_lay(ui, c, r, ui->help.top);
    if (!lines) canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "no matching keys; Esc shows all");
    canvas_pop_clip(c);
}

static bool help_request(struct ui *ui, enum request r, struct effect *out) {
    (void)out;
    if (r == REQ_SEARCH) {
        prompt_open(&ui->prompt, "/", ui->help.search, true);
        ui->use = USE_SEARCH;
        return true;
    }
    return ui_scroll(ui, r, help_lay(ui, NULL, ui_body(ui), 0), &ui->help.top);
}

static void help_readout(const struct ui *ui, struct buf *out) {
    struct rect body = ui_body(ui);
    if (*ui->help.search) buf_printf(out, "keys matching \"%s\"   ", ui->help.search);
    else buf_printf(out, "keys of %s; / searches all screens   ", screen_at(ui->help.helped)->name);
    ui_lines_seen(ui->help.top, body.h, help_lay(ui, NULL, body, 0), ", j and ^d scroll", out);
}

static void help_back(struct ui *ui) {
    if (*ui->help.search) *ui->help.search = 0;
    else ui_show(ui, ui->help.helped);
}

static void help_show(struct ui *ui, struct effect *out) {
    (void)out;
    if (ui->screen == SCREEN_HELP) help_back(ui);
    else ui_show(ui, SCREEN_HELP);
}

static void help_shown(struct ui *ui, enum screen_id from) {
    ui->help.helped = from;
    ui->help.top = 0;
}

static const char *help_hint(const struct ui *ui, const struct key_entry *k) {
    (void)ui;
    return k->request == REQ_DOWN ? "scroll" : k->request == REQ_SEARCH ? "search" : k->hint;
}

static const enum request help_keys[] = {
    REQ_DOWN, REQ_UP, REQ_FIRST, REQ_LAST, REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_SEARCH, REQ_NONE
};

const struct screen screen_help = {
    .name = "help",
    .keys = help_keys,
    .to = REQ_HELP,
    .show = help_show,
    .shown = help_shown,
    .back = help_back,
    .request = help_request,
    .draw = help_draw,
    .readout = help_readout,
    .hint = help_hint,
};
