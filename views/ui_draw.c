#include "views/ui.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/learn_parts.h"
#include "views/theme.h"
#include "views/ui_parts.h"
#include "views/zone.h"

const char *state_sign(enum run_state s) {
    static const char *const signs[RUN_STATES] = {
        [RUN_QUEUED] = "\u2026",  [RUN_RUNNING] = "\u25B6", [RUN_PAUSED] = "\u2016",
        [RUN_FINISHED] = "\u2713", [RUN_STOPPED] = "\u25A0", [RUN_FAILED] = "\u2717",
        [RUN_INTERRUPTED] = "\u2691" };
    return signs[s];
}

enum ink state_ink(enum run_state s) {
    switch (s) {
    case RUN_RUNNING: return INK_ACCENT;
    case RUN_FINISHED: return INK_GOOD;
    case RUN_FAILED: return INK_BAD;
    case RUN_PAUSED:
    case RUN_INTERRUPTED: return INK_WARN;
    default: return INK_DIM;
    }
}

struct panes ui_panes(const struct ui *ui, enum screen_id screen) {
    const struct screen *s = screen_at(screen);
    struct layout_need need = { 0 };
    struct layout_frame f;
    struct panes p;
    layout_frame(ui->w, ui->h, &f);
    if (s->need) s->need(ui, &f, &need);
    layout_panes(s->panes, f.size, f.body, &need, &p);
    return p;
}

struct rect ui_body(const struct ui *ui) {
    struct layout_frame f;
    layout_frame(ui->w, ui->h, &f);
    return f.body;
}

bool ui_row(struct canvas *c, struct rect r, int y, int down) {
    return ui_part_row(c, r, y, 0, down, PRESS_ENTER);
}

bool ui_part_row(struct canvas *c, struct rect r, int y, int part, int down, uint32_t key) {
    zone_add(c, (struct zone){ .at = { r.x, y, r.w, 1 }, .part = part, .down = down, .key = key });
    canvas_cursor(c, r.x + 1, y, !part && !down);
    return !part && !down;
}

void ui_longest(const char **longest, const char *const *line, int lines) {
    for (int i = 0; i < lines; i++)
        if (line[i] && (!longest[i] || strlen(line[i]) > strlen(longest[i]))) longest[i] = line[i];
}

int ui_lines(struct canvas *c, struct rect r, const char *const *line, int lines, int strong) {
    struct canvas measure = { .clips = 0 };
    int rows = 0;
    if (c) canvas_push_clip(c, r);
    for (int i = 0; i < lines; i++) {
        struct rect in = rect_in(r, PANE_EDGE, 1 + rows);
        if (!line[i]) continue;
        if (c) canvas_wrap(c, in, i == strong ? INK_TITLE : INK_TEXT, line[i]);
        rows += canvas_wrap_rows(c ? c : &measure, in.w, line[i]);
    }
    if (c) canvas_pop_clip(c);
    return rows;
}

void ui_none(struct canvas *c, struct rect body, const char *failed, const char *says) {
    struct rect r = { body.x + 3, body.y + 1, body.w - 6, body.h - 1 };
    canvas_wrap(c, r, failed ? INK_BAD : INK_DIM, failed ? failed : says);
}

bool ui_lines_seen(int top, int rows, int lines, const char *after, struct buf *out) {
    int last = top + rows;
    if (lines > rows)
        buf_printf(out, "lines %d\u2013%d of %d%s", top + 1, last < lines ? last : lines, lines, after);
    return lines > rows;
}

static uint32_t key_to(enum request r) {
    for (int i = 0; i < keys_count(); i++)
        if (keys_at(i)->request == r) return keys_at(i)->key;
    return 0;
}

/* Jobs and database in words, from the longest form to the shortest, which has the jobs alone. */
enum { STATUS_FORMS = 4 };
static struct phrase ui_status(const struct ui *ui, int form) {
    static const char apart[] = "   ";
    struct phrase t = { "" };
    if (ui->running) phrase_add(&t, form ? "\u25B6 %d" : "\u25B6 %d running", ui->running);
    if (ui->queued && *t.text) phrase_add(&t, "%s", apart + (form > 0));
    if (ui->queued) phrase_add(&t, form ? "\u2026 %d" : "\u2026 %d queued", ui->queued);
    if (ui->database && form < STATUS_FORMS - 1)
        phrase_add(&t, form < 2 ? "%s%.60s \u00B7 %d" : "%s%.60s", *t.text ? apart + (form > 0) : "",
                   ui->database, ui->total_runs);
    return t;
}

/* Draws the status at the right end of line 1, in the longest form that fits. */
static void draw_status(const struct ui *ui, struct canvas *c, struct rect r) {
    for (int form = 0; form < STATUS_FORMS; form++) {
        struct phrase t = ui_status(ui, form);
        if (canvas_width(c, t.text) > r.w) continue;
        canvas_right(c, r.x, r.y, r.w, ui->running ? INK_TEXT : INK_DIM, t.text);
        return;
    }
}

/* Where tabs and status do not fit, tabs from the last one on are drawn without their names. */
static void draw_tabs(const struct ui *ui, struct canvas *c, struct rect r) {
    int x = r.x + 1, gap = r.w >= 100 ? 2 : 1, named = SCREEN_COUNT;
    const struct screen *here = screen_at(ui->screen);
    struct phrase least = ui_status(ui, STATUS_FORMS - 1);
    int over = 2 + canvas_width(c, least.text) - r.w;
    if (here->under) here = here->under;
    for (int i = 0; i < SCREEN_COUNT; i++) {
        const struct screen *s = screen_at((enum screen_id)i);
        if (s->tab) over += canvas_width(c, s->tab) + gap;
    }
    while (over > 0 && named > 0) {
        const struct screen *s = screen_at((enum screen_id)--named);
        if (s->tab && s != here) over -= canvas_width(c, s->tab) - 1;
    }
    for (int i = 0; i < SCREEN_COUNT; i++) {
        const struct screen *s = screen_at((enum screen_id)i);
        if (!s->tab) continue;
        char number[2] = { s->tab[0], 0 };
        bool whole = i < named || s == here;
        int w = canvas_text(c, x, r.y, s == here ? INK_TAB : INK_DIM, whole ? s->tab : number);
        zone_add(c, (struct zone){ .at = { x, r.y, w, 1 }, .key = key_to(s->to) });
        x += w + gap;
    }
    draw_status(ui, c, (struct rect){ x, r.y, r.x + r.w - 1 - x, 1 });
}

/* "Space", or both keys of a pair: "h/l". */
static void hint_key(const struct key_entry *k, char name[40]) {
    char one[16], two[16] = "";
    press_name(k->key, one);
    if (k->pair) press_name(k->pair, two);
    snprintf(name, 40, "%s%s%s", one, k->pair ? "/" : "", two);
}

static int hint_width(const struct canvas *c, const struct key_entry *k, const char *hint) {
    char name[40];
    hint_key(k, name);
    return canvas_width(c, name) + 1 + canvas_width(c, hint) + 2;
}

/* Returns the columns used, with those up to the next. */
static int draw_hint(struct canvas *c, int x, int y, const char *name, const char *hint, uint32_t key) {
    int used = canvas_text(c, x, y, INK_KEY, name) + 1;
    used += canvas_text(c, x + used, y, INK_DIM, hint);
    zone_add(c, (struct zone){ .at = { x, y, used, 1 }, .key = key });
    return used + 2;
}

/* While a list, a line or a question is open, its own keys are all that works. */
static bool draw_own_hints(const struct ui *ui, struct canvas *c, struct rect r) {
    static const char *const list[] = { "Enter", "select", "j/k", "choice", "/",
                                        "find",  "Esc",    "back", NULL };
    static const char *const tasks[] = { "Enter", "select", "Space", "mark", "j/k",  "choice",
                                         "/",     "find",   "Esc",   "back", NULL };
    static const char *const found[] = { "Enter", "select", "Up/Down", "choice", "letters", "find",
                                         "Esc",   "show all",  NULL };
    static const char *const line[] = { "Enter", "accept", "Esc", "cancel", NULL };
    static const char *const files[] = { "Enter",      "open",   "Space", "mark task", "letters", "filter",
                                         "Left/Right", "folder", "Esc",   "back",      NULL };
    static const char *const command[] = { "Enter",  "run",  "Tab",    "complete", "Up/Down",
                                           "choice", "Esc", "cancel", NULL };
    static const char *const ask[] = { "Esc", "no", NULL };
    const char *const *own = ui->ask.kind                                   ? ask
                             : ui->prompt.open && ui->use == USE_COMMAND ? command
                             : ui->prompt.open && ui->use == USE_FILES      ? files
                             : ui->prompt.open && ui->use == USE_PICK       ? found
                             : ui->prompt.open                               ? line
                             : ui->picker.open && ui->picker.kind == PICK_TASK ? tasks
                             : ui->picker.open                               ? list
                                                                             : NULL;
    if (!own) return false;
    for (int x = r.x + 1; *own; own += 2) {
        uint32_t key = !strcmp(own[0], "Enter") ? PRESS_ENTER
                       : !strcmp(own[0], "Tab") ? PRESS_TAB
                       : !strcmp(own[0], "Esc") ? PRESS_ESC
                       : !strcmp(own[0], "/")   ? '/'
                                                : 0;
        x += draw_hint(c, x, r.y, own[0], own[1], key);
    }
    return true;
}

/* By rank, as many as fit; help, taken first, is shown last.  Returns how many. */
enum { HINTS = 64 };
static int choose_hints(const struct ui *ui, const struct canvas *c, int w,
                        const struct key_entry *shown[HINTS]) {
    const struct key_entry *taken[HINTS];
    int count = 0, room = w - 1;
    for (int rank = 10; rank >= 1; rank--) {
        int at = rank == 10 ? 10 : 10 - rank;
        for (int i = 0; i < keys_count() && count < HINTS; i++) {
            const struct key_entry *k = keys_at(i);
            if (k->rank != at || !k->hint || !keys_works(ui->screen, k)) continue;
            const char *hint = ui_hint(ui, k);
            if (!hint) continue;
            int wide = hint_width(c, k, hint);
            if (wide - 2 > room) continue;
            room -= wide;
            taken[count++] = k;
        }
    }
    for (int i = 0; i < count; i++) shown[i] = taken[(i + 1) % count];
    return count;
}

static void draw_hints(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct key_entry *shown[HINTS];
    if (draw_own_hints(ui, c, r)) return;
    int count = choose_hints(ui, c, r.w, shown), x = r.x + 1;
    for (int i = 0; i < count; i++) {
        char name[40];
        hint_key(shown[i], name);
        x += draw_hint(c, x, r.y, name, ui_hint(ui, shown[i]), shown[i]->key);
    }
}

/* The last action as a command line, beside what is said, as far as there is room: Y shows and copies all of
 * it. It takes no row of a screen: the one above may be all that a run has. */
static void draw_line_of(const struct ui *ui, struct canvas *c, struct rect r, int used, int rows) {
    enum { LEAST = 16 }; /* columns that tell the verb and of what */
    int wide = canvas_width(c, ui->line), room = r.w - used - 5;
    if (!*ui->line || !ui->line_new || rows > 1) return;
    if (wide <= room) canvas_right(c, r.x + used + 3, r.y, r.w - used - 4, INK_DIM, ui->line);
    else if (room >= LEAST) canvas_fit(c, r.x + used + 4, r.y, room, INK_DIM, ui->line);
}

static void draw_readout(const struct ui *ui, struct canvas *c, struct rect r) {
    static const enum ink inks[] = { INK_TEXT, INK_GOOD, INK_WARN, INK_BAD };
    int used = 0, said = 1;
    const char *says = ui->ask.kind ? ui->ask.text : ui->message;
    bool over = *ui->message && (ui->use == USE_FILES || ui->use == USE_PICK); /* over the prompt */
    if (!ui->ask.kind && ui->prompt.open && !over) {
        prompt_draw(&ui->prompt, c, r.x + 1, r.y, r.w - 2);
    } else if (*says) {
        /* a long one lies over the rows above until the next press: it is read to its end */
        int rows = canvas_wrap_rows(c, r.w - 2, says);
        rows = rows > r.y + 1 ? r.y + 1 : rows < 1 ? 1 : rows;
        struct rect box = { r.x, r.y - rows + 1, r.w, rows };
        if (rows > 1) canvas_fill(c, box, INK_TEXT, ' ');
        canvas_wrap(c, (struct rect){ r.x + 1, box.y, r.w - 2, rows },
                    ui->ask.kind ? INK_WARN : inks[ui->say], says);
        used = canvas_width(c, says);
        said = rows;
    } else if (ui->picker.open) {
        const struct picker *p = &ui->picker;
        if (p->kind == PICK_PRESET && p->cursor < p->count) {
            const struct preset *preset = preset_find(p->item[p->cursor].name);
            if (preset) canvas_fit(c, r.x + 1, r.y, r.w - 2, INK_TEXT, preset->paper);
        }
    } else if (screen_at(ui->screen)->readout) {
        struct buf text = BUF_INIT;
        screen_at(ui->screen)->readout(ui, &text);
        used = canvas_fit(c, r.x + 1, r.y, r.w - 2, INK_TEXT, buf_text(&text));
        buf_release(&text);
    }
    if (!ui->ask.kind && !ui->prompt.open) draw_line_of(ui, c, r, used, said);
}

/* A window too small for any pane: the run, its step and loss, and what it takes. */
static void draw_line(const struct ui *ui, struct canvas *c) {
    char text[160];
    const struct job_row *job = train_focused(&ui->train);
    int row = 0;
    if (job) {
        canvas_fit(
            c, 0, 0, c->w, INK_TEXT,
            phrase("#%lld %lld %s", (long long)job->id, (long long)job->step, show_value(job->loss).text)
                .text);
        row++;
    }
    snprintf(text, sizeof text, "window too small: %dx%d needed", LAYOUT_MIN_W, LAYOUT_MIN_H);
    if (c->h > row) {
        struct rect rest = { 0, row, c->w, c->h - row };
        canvas_push_clip(c, rest);
        canvas_wrap(c, rest, INK_WARN, text);
        canvas_pop_clip(c);
    } else {
        int used = canvas_width(c, text);
        if (job && c->w > 24 + used)
            canvas_right(c, c->w - used, 0, used, INK_WARN, text);
    }
}

void ui_draw(const struct ui *ui, struct canvas *c) {
    c->glyphs = ui->glyphs;
    c->colors = theme_colors(ui->theme, ui->colors);
    c->theme = ui->theme;
    canvas_resize(c, ui->window_w, ui->window_h);
    struct rect screen, step;
    if (ui->learn.beside && learn_share(ui->window_w, ui->window_h, &screen, &step))
        learn_draw_beside(ui, c, step);
    struct layout_frame f;
    layout_frame(ui->w, ui->h, &f);
    if (f.size == LAYOUT_LINE) {
        draw_line(ui, c);
        return;
    }
    const struct screen *s = screen_at(ui->screen);
    if (!rect_empty(f.tabs)) (s->line ? s->line : draw_tabs)(ui, c, f.tabs);
    if (ui->picker.open) c->focus = f.body;
    else if (s->focus) c->focus = ui_panes(ui, ui->screen).at[s->focus(ui)];
    canvas_push_clip(c, f.body);
    if (ui->picker.open) picker_draw(&ui->picker, c, f.body);
    else s->draw(ui, c, f.body);
    if (ui->prompt.open && ui->use == USE_COMMAND) palette_draw(&ui->palette, c, f.body);
    canvas_pop_clip(c);
    draw_readout(ui, c, f.readout);
    if (!rect_empty(f.hints)) draw_hints(ui, c, f.hints);
}

void ui_show_whole(struct ui *ui) {
    struct buf cut = BUF_INIT;
    struct canvas c;
    canvas_init(&c, ui->window_w, ui->window_h, ui->glyphs, ui->colors);
    c.cut = &cut;
    ui_draw(ui, &c);
    if (cut.size) cut.data[cut.size - 1] = 0; /* its last newline */
    ui_say(ui, SAY_INFO, "%s", cut.size ? cut.data : "no text is truncated on this screen");
    canvas_release(&c);
    buf_release(&cut);
}
