#include "views/help.h"

#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { HELP_WHERE = 200 }; /* holds the names of all screens */

/* Where a key works, short: nothing where it works everywhere. */
static void help_where(const struct key_entry *k, char out[HELP_WHERE]) {
    size_t n = 0;
    *out = 0;
    if (k->everywhere) return;
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (keys_works((enum screen_id)i, k))
            n = text_more(out, HELP_WHERE, n, "%s%s", n ? " " : "", screen_at((enum screen_id)i)->name);
}

static bool help_fits(const struct ui *ui, const struct key_entry *k) {
    char text[600], name[16], screens[HELP_WHERE];
    if (!*ui->help.search) return keys_works(ui->help.helped, k);
    press_name(k->key, name);
    help_where(k, screens);
    snprintf(text, sizeof text, "%s %s %s %s %s", name, k->help, k->hint ? k->hint : "", screens,
             key_group_name(k->group));
    return strcasestr(text, ui->help.search) != NULL;
}

/* Draws a key and its help, and with `places` the screens it works on, wrapped side by side; returns the rows
 * (c may be NULL). */
static int entry(struct canvas *c, const struct canvas *measure, struct rect r, int y,
                 const struct key_entry *k, bool places) {
    char name[16], screens[HELP_WHERE];
    int x = r.x + PANE_EDGE, says = x + 11, end = r.x + r.w - 1,
        where = places && r.w >= 76 ? r.w * 3 / 10 : 0;
    help_where(k, screens);
    struct rect text = { says, y, end - says - where, r.h }, beside = { end - where + 2, y, where - 2, r.h };
    int rows = canvas_wrap_rows(measure, text.w, k->help);
    int more = where ? canvas_wrap_rows(measure, beside.w, screens) : 0;
    if (!c) return rows > more ? rows : more;
    press_name(k->key, name);
    x += canvas_text(c, x, y, INK_KEY, name);
    for (int i = 0; i < 2; i++) {
        if (!k->alias[i] || k->alias[i] >= PRESS_F1) continue;
        press_name(k->alias[i], name);
        if (x + 1 + (int)strlen(name) >= says) continue;
        x += 1 + canvas_text(c, x + 1, y, INK_DIM, name);
    }
    canvas_wrap(c, text, INK_TEXT, k->help);
    if (where) canvas_wrap(c, beside, INK_DIM, screens);
    return rows > more ? rows : more;
}

const char method_about[] =
    "A method is a set of modules. Each module is a point on a few axes: the function of the hidden "
    "states, its position, its input (parallel or sequential), the composition with the frozen "
    "computation, and the source of its weights. In Compose, h and l move between axes, j and k "
    "between choices; Enter trains the method shown.";

/* Lines from `top` on are drawn into r; returns how many there are. */
static int help_lay(const struct ui *ui, struct canvas *c, struct rect r, int top) {
    struct sheet s = { c, r, top, .glyphs = ui->glyphs, .apart = r.h >= SHEET_ROOM };
    struct canvas measure = { .glyphs = ui->glyphs };
    bool search = *ui->help.search != 0;
    const char *intro = screen_at(ui->help.helped)->about;
    if (!search && intro) sheet_text(&s, PANE_EDGE, INK_TEXT, intro);
    for (int g = 0; g < KEYS_GROUPS; g++) {
        bool title = false;
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            if ((int)k->group != g || !help_fits(ui, k)) continue;
            if (!title) sheet_rule(&s, key_group_name((enum key_group)g), NULL);
            title = true;
            s.rows += entry(c, &measure, r, sheet_y(&s), k, search);
        }
    }
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
    else buf_printf(out, "keys of %s; / searches all keys   ", screen_at(ui->help.helped)->name);
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
