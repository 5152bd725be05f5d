#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Where a key works, short: nothing where it works everywhere. */
static void where(const struct key_entry *k, char out[64]) {
    size_t n = 0;
    *out = 0;
    if (k->screens == (1u << SCREEN_COUNT) - 1) return;
    for (int i = 0; i < SCREEN_COUNT; i++)
        if (k->screens & (1u << i))
            n += (size_t)snprintf(out + n, 64 - n, "%s%s", n ? " " : "",
                                  screen_at((enum screen_id)i)->name);
}

static bool fits(const struct ui *ui, const struct key_entry *k) {
    char text[400], name[16], screens[64];
    if (!*ui->help_search) return (k->screens & (1u << ui->helped)) != 0;
    press_name(k->key, name);
    where(k, screens);
    snprintf(text, sizeof text, "%s %s %s %s %s", name, k->help, k->hint ? k->hint : "", screens,
             key_group_name(k->group));
    return strcasestr(text, ui->help_search) != NULL;
}

/* `places`: the screens it works on are listed beside it. */
static void entry(struct canvas *c, struct rect r, int y, const struct key_entry *k, bool places) {
    char name[16], screens[64];
    press_name(k->key, name);
    where(k, screens);
    int x = r.x + 2;
    x += canvas_text(c, x, y, INK_KEY, name);
    for (int i = 0; i < 2; i++) {
        if (!k->alias[i] || k->alias[i] >= PRESS_F1) continue;
        press_name(k->alias[i], name);
        if (x + 1 + (int)strlen(name) > r.x + 12) continue;
        x += 1 + canvas_text(c, x + 1, y, INK_DIM, name);
    }
    places = places && r.w >= 76;
    int says = r.w - 14 - (places ? 24 : 0);
    canvas_fit(c, r.x + 13, y, says, INK_TEXT, k->help);
    if (places) canvas_fit(c, r.x + r.w - 23, y, 22, INK_DIM, screens);
}

static const char method_about[] =
    "A method is a set of modules; each is a point on a few axes: which function of the hidden "
    "states, where it writes, what it reads (parallel or sequential), how it is composed with what "
    "was there, and who makes its weights. Compose walks the axes with h and l and the choices with "
    "j and k; Enter trains what you see.";

/* What a screen is for, above its keys. */
static const char *const about[SCREEN_COUNT] = {
    [SCREEN_FIRST] = method_about,
    [SCREEN_COMPOSE] = method_about,
    [SCREEN_TRAIN] = "Train shows the run in focus while it trains: its loss, what it reaches on the dev "
                     "rows, and the jobs of this process. The cursor reads a step; q leaves, and asks "
                     "what becomes of runs that go.",
    [SCREEN_RUNS] = "Runs lists all runs of this database, also those of other processes. h and l walk "
                    "the columns, s sorts, / filters as `petri runs` does (task=reviews lr<1e-3 lora); "
                    "Enter opens a run's page, C takes it to Compose, d puts it into the trash.",
    [SCREEN_HEATMAP] = "Heatmap shows similarities as matrices: of layers, classes, trained tensors and "
                       "rows, and the attention of one row.",
    [SCREEN_MAP] = "Map lays rows out as points by their vectors, the untouched model beside the run that "
                   "the cursor is on in Runs, with scores of how the classes keep together.",
    [SCREEN_DETAIL] = "A run's page: what became of it, what it was trained with, and what it left.",
};

/* Lines from `top` on are drawn into r; returns how many there are. */
static int lay(const struct ui *ui, struct canvas *c, struct rect r, int top) {
    int line = 0;
    bool search = *ui->help_search != 0;
    struct canvas measure = {.glyphs = ui->glyphs};
    const char *intro = about[ui->helped];
    if (!search && intro) {
        line = canvas_wrap_rows(&measure, r.w - 2, intro);
        if (c) canvas_wrap(c, (struct rect){r.x + 1, r.y - top, r.w - 2, line}, INK_TEXT, intro);
    }
    for (int g = 0; g < KEYS_GROUPS; g++) {
        bool title = false;
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            if ((int)k->group != g || !fits(ui, k)) continue;
            if (!title && c)
                canvas_rule(c, r.x, r.y + line - top, r.w, key_group_name((enum key_group)g), NULL);
            if (!title) line++;
            title = true;
            if (c) entry(c, r, r.y + line - top, k, search);
            line++;
        }
    }
    return line;
}

static void draw(const struct ui *ui, struct canvas *c, struct rect r) {
    canvas_push_clip(c, r);
    int lines = lay(ui, c, r, ui->help_top);
    if (!lines) canvas_text(c, r.x + 3, r.y + 1, INK_DIM, "no key fits; Esc shows all again");
    canvas_pop_clip(c);
}

static bool request(struct ui *ui, enum request r, struct effect *out) {
    struct layout_frame f;
    (void)out;
    layout_frame(ui->w, ui->h, &f);
    int to = ui->help_top;
    switch (r) {
    case REQ_UP: to--; break;
    case REQ_DOWN: to++; break;
    case REQ_PAGE_UP: to -= f.body.h; break;
    case REQ_PAGE_DOWN: to += f.body.h; break;
    case REQ_FIRST: to = 0; break;
    case REQ_LAST: to = 1 << 20; break;
    case REQ_SEARCH:
        prompt_open(&ui->prompt, "/", ui->help_search, true);
        ui->use = USE_SEARCH;
        return true;
    default: return false;
    }
    int last = lay(ui, NULL, f.body, 0) - f.body.h;
    if (to > last) to = last;
    ui->help_top = to < 0 ? 0 : to;
    return true;
}

static void readout(const struct ui *ui, struct buf *out) {
    struct layout_frame f;
    layout_frame(ui->w, ui->h, &f);
    int lines = lay(ui, NULL, f.body, 0), last = ui->help_top + f.body.h;
    if (*ui->help_search) buf_printf(out, "keys with \"%s\"   ", ui->help_search);
    else buf_printf(out, "keys of %s; / searches all   ", screen_at(ui->helped)->name);
    if (lines > f.body.h)
        buf_printf(out, "lines %d\u2013%d of %d, j and ^d go on", ui->help_top + 1,
                   last < lines ? last : lines, lines);
}

const struct screen screen_help = {"help", NULL, draw, request, readout};
