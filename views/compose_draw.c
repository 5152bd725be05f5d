#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "views/block.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* Draws the choices, wrapped; returns the rows. */
static int choices(const struct compose_view *v, struct canvas *c, struct rect r, bool draw) {
    int x = r.x + 3, row = 0;
    for (int i = 0; i < v->choice_count; i++) {
        const struct choice *k = &v->choices[i];
        int w = canvas_width(c, k->name) + 3;
        if (x + w > r.x + r.w && x > r.x + 3) {
            x = r.x + 3;
            row++;
        }
        if (draw && row < r.h) {
            bool here = i == v->choice;
            zone_pick(c, x, r.y + row, w, PICK_CHOICE + i);
            canvas_cursor(c, x, r.y + row, here);
            enum ink ink = !k->allowed ? INK_DIM : k->current ? INK_ACCENT : INK_TEXT;
            canvas_text(c, x + 1, r.y + row, ink, k->name);
            if (compose_is_marked(v, k)) canvas_text(c, x + w - 2, r.y + row, INK_ACCENT, "\u25CF");
            if (here && !k->allowed)
                canvas_paint(c, x + 1, r.y + row, w - 3, INK_WARN);
        }
        x += w;
    }
    return row + 1;
}

static void draw_number(const struct compose_view *v, struct canvas *c, struct rect r) {
    char label[32], value[FIELD_ROOM];
    compose_field(v, label, value);
    if (!*value && compose_on_run(v)) snprintf(value, sizeof value, "%s", option_value(v, v->option).text);
    int x = canvas_printf(c, r.x + 3, r.y, INK_TEXT, "%s  ", label);
    x += canvas_fit(c, r.x + 3 + x, r.y, r.w - x - 45, INK_ACCENT, value);
    canvas_text(c, r.x + 6 + x, r.y, INK_DIM, "Enter edits, j and k change it");
    if (v->part < v->config.method.count && v->facts.arithmetic[v->part] && r.h > 1)
        canvas_printf(c, r.x + 3, r.y + 1, INK_DIM, "trainable parameters: %.200s",
                      v->facts.arithmetic[v->part]);
}

/* Draws formula and parameter count of the choice under the cursor. */
static void compose_draw_describe(const struct compose_view *v, struct canvas *c, struct rect r,
                                  const struct choice *k) {
    char delta[160], compose[160], trained[32];
    struct method m;
    struct err e = ERR_INIT;
    if (r.h < 1) return;
    formula_delta(&k->module, v->arch, "", delta);
    formula_compose(&k->module, "", compose);
    int used = canvas_text(c, r.x, r.y, INK_TEXT, delta);
    canvas_fit(c, r.x + used + 4, r.y, r.w - used - 4, INK_TEXT, compose);
    bool measured = v->start_of && v->facts.canonical && !strcmp(v->start_of, v->facts.canonical);
    if (r.h > 2 && measured) canvas_fit(c, r.x, r.y + 2, r.w, INK_TEXT, v->start);
    if (r.h < 2 || !v->arch || !k->allowed) return;
    compose_choose(v, k, &m);
    struct plan *p = plan_new(&m, v->arch, compose_outputs(v), &e);
    if (!p) return;
    char *sum = plan_arithmetic(p, v->arch, v->part);
    text_thousands((int64_t)p->trained_method, trained);
    canvas_printf(c, r.x, r.y + 1, INK_DIM, "trainable: %s (this module), %s (method)", sum, trained);
    free(sum);
    plan_free(p);
}

/* Draws the selected note in place of the choices. */
static void draw_note(const struct compose_view *v, struct canvas *c, struct rect r) {
    static const char *const levels[] = { "note", "warning", "error" };
    const struct finding *k = &v->facts.finding[v->note];
    canvas_title(c, r, phrase("%s %d of %d", levels[k->level], v->note + 1, v->facts.findings).text, k->rule);
    canvas_wrap(c, (struct rect){ r.x + 3, r.y + 1, r.w - 5, r.h - 1 },
                k->level == LEVEL_INFO ? INK_TEXT : k->level == LEVEL_WARNING ? INK_WARN : INK_BAD, k->text);
}

/* Appends a name to the list of those that follow; false: no room. */
static bool add_ahead(char list[120], int room, const char *name) {
    bool more = *list;
    int used = text_width(list);
    if (used + 3 + text_width(name) > room) return false;
    text_more(list, 120, strlen(list), "%s%s", more ? " \u00B7 " : "l: ", name);
    return true;
}

enum { COMPOSE_ALL_AXES = 50 }; /* rows of a body that has room for all axes */

static void draw_axis(const struct compose_view *v, struct canvas *c, struct rect r) {
    bool run = compose_on_run(v);
    const struct network *net = compose_network(v);
    if (v->note >= 0 && v->note < v->facts.findings) {
        draw_note(v, c, r);
        return;
    }
    char right[120] = "";
    if (compose_on_off(v) >= 0) {
        canvas_title(c, r, "off", NULL);
        canvas_wrap(c, rect_in(r, 3, 1), INK_DIM,
                    "This module is switched off: it is neither counted nor trained. O switches it on again "
                    "as the last module; - deletes it.");
        return;
    }
    struct phrase title = net   ? phrase("%s: %s", net->noun, compose_network_key(v)->name)
                          : run ? phrase("%s", option_name(v, v->option))
                                : phrase("%s%s", axis_name(v->axis), compose_reach_words(v).text);
    int room = r.w - canvas_width(c, title.text) - 12; /* for the next ones, to which l leads */
    if (room > 60) room = 60;
    if (net) network_keys_ahead(v, right);
    for (int a = (int)v->axis + 1; !net && !run && a < axis_count(); a++)
        if (compose_axis_applies(v, (enum axis)a) && !add_ahead(right, room, axis_name((enum axis)a))) break;
    for (int i = v->option + 1; run && i < v->options; i++)
        if (!compose_option_folded(v, i) && !add_ahead(right, room, option_name(v, i))) break;
    canvas_title(c, r, title.text, right);
    struct rect in = rect_down(r, 1);
    if (run) {
        draw_number(v, c, in);
        const char *not = *v->refused ? v->refused : v->stuck[v->option];
        canvas_wrap(c, rect_in(r, 3, 2), not ? INK_WARN : INK_DIM,
                    not ? not : option_says(v, v->option).text);
        return;
    }
    int all = net ? 0 : compose_all_axes(v, r.w);
    if (in.h > all + 3 && all) { /* the other axes, below this one */
        in.h -= all;
        compose_draw_all_axes(v, c, (struct rect){ in.x, in.y + in.h, in.w, all });
    }
    if (compose_on_number(v)) {
        draw_number(v, c, in);
        const struct key *k = net ? compose_network_key(v)
                                  : axis_key(&v->config.method.module[v->part], v->axis);
        int y = net ? 2 : 3; /* of a module below its parameters */
        canvas_wrap(c, rect_in((struct rect){ r.x, r.y, r.w, in.h + 1 }, 3, y), INK_DIM, k->description);
        return;
    }
    int rows = choices(v, c, in, true);
    if (v->choice >= v->choice_count || rows >= in.h) return;
    const struct choice *k = &v->choices[v->choice];
    struct rect says = { r.x + 3, in.y + rows, r.w - 5, in.h - rows };
    int used = canvas_wrap(c, says, k->allowed ? INK_DIM : INK_WARN, k->allowed ? k->says : k->why);
    if (v->describe && !net)
        compose_draw_describe(v, c, rect_down(says, used), k);
}

/* The formula of modules that differ only in their position. */
struct formula {
    char delta[160], compose[160], sub[96];
    int first;
    bool is_of[METHOD_MODULES];
};

static void add_subscript(char sub[96], int number) {
    size_t n = strlen(sub);
    if (n > 80) return;
    if (n) sub[n++] = ',';
    char digits[16];
    snprintf(digits, sizeof digits, "%d", number);
    for (const char *d = digits; *d; d++) n += utf8_encode(0x2080 + (uint32_t)(*d - '0'), sub + n);
    sub[n] = 0;
}

static int gather_formulas(const struct method *m, const struct arch *a, struct formula *out) {
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        struct formula f = { .first = i };
        int at = 0;
        formula_delta(&m->module[i], a, "", f.delta);
        formula_compose(&m->module[i], "", f.compose);
        while (at < count && (strcmp(out[at].delta, f.delta) || strcmp(out[at].compose, f.compose))) at++;
        if (at == count) out[count++] = f;
        add_subscript(out[at].sub, i + 1);
        out[at].is_of[i] = true;
    }
    for (int i = 0; i < count; i++) {
        formula_delta(&m->module[out[i].first], a, out[i].sub, out[i].delta);
        formula_compose(&m->module[out[i].first], out[i].sub, out[i].compose);
    }
    return count;
}

/* Where not all have room: first that of the module under the cursor, last what is trained in its place,
 * which the table says as well. */
static int formula_rank(const struct compose_view *v, const struct formula *f) {
    if (v->part < METHOD_MODULES && f->is_of[v->part] && !module_in_weight(&v->config.method.module[v->part]))
        return 0;
    return module_in_weight(&v->config.method.module[f->first]) ? 2 : 1;
}

static void sort_formulas(const struct compose_view *v, struct formula *f, int count) {
    for (int i = 1; i < count; i++)
        for (int k = i; k > 0 && formula_rank(v, &f[k]) < formula_rank(v, &f[k - 1]); k--) {
            struct formula x = f[k];
            f[k] = f[k - 1];
            f[k - 1] = x;
        }
}

/* Returns the column of the compositions, common to all formulas. */
static int compose_column(const struct canvas *c, const struct formula *f, int count, int w) {
    int delta = 0, compose = 0;
    for (int i = 0; i < count; i++) {
        if (canvas_width(c, f[i].delta) > delta) delta = canvas_width(c, f[i].delta);
        if (canvas_width(c, f[i].compose) > compose) compose = canvas_width(c, f[i].compose);
    }
    int x = delta + 7 > 44 ? delta + 7 : 44;
    if (x + compose > w) x = w - compose > delta + 5 ? w - compose : delta + 5;
    return x;
}

static bool formulas_fit(const struct canvas *c, const struct formula *f, int count, int x1, int w) {
    for (int i = 0; i < count; i++)
        if (x1 + canvas_width(c, f[i].compose) > w) return false;
    return true;
}

/* With room for it, the tensors and the arithmetic of the first of them are below. In a narrow pane the
 * composition is below the function. */
static void draw_formulas(const struct compose_view *v, struct canvas *c, struct rect r) {
    struct formula f[METHOD_MODULES];
    int count = gather_formulas(&v->config.method, v->arch, f), shown = count < r.h ? count : r.h, y = r.y,
        last = r.y + r.h - 1;
    if (shown < count) sort_formulas(v, f, count);
    int x1 = compose_column(c, f, shown, r.w);
    bool below = r.h >= 2 * count && !formulas_fit(c, f, count, x1, r.w);
    bool tall = r.h >= (3 + below) * count + 1 && (below || r.w >= 70);
    for (int i = 0; i < count && y <= last; i++, y++) {
        int w = r.w - x1;
        if (y == last && i + 1 < count) {
            struct phrase more = phrase(" +%d: E", count - i - 1); /* the page has all of them */
            if (canvas_width(c, f[i].compose) + canvas_width(c, more.text) + 1 > w)
                more = phrase(" +%d", count - i - 1);
            int used = canvas_width(c, more.text);
            canvas_text(c, r.x + r.w - used - 1, y, INK_DIM, more.text);
            zone_add(c, (struct zone){ .at = { r.x + r.w - used - 1, y, used, 1 }, .key = 'E' });
            w -= used + 1;
        }
        canvas_text(c, r.x + 3, y, module_ink(f[i].first), f[i].delta);
        if (below) canvas_fit(c, r.x + 5, ++y, r.w - 6, INK_TEXT, f[i].compose);
        else canvas_fit(c, r.x + x1, y, w, INK_TEXT, f[i].compose);
        if (!tall) continue;
        const char *tensors = v->facts.tensors[f[i].first], *sum = v->facts.arithmetic[f[i].first];
        if (tensors) canvas_fit(c, r.x + 5, ++y, r.w - 6, INK_DIM, tensors);
        if (sum) canvas_printf(c, r.x + 5, ++y, INK_DIM, "trainable: %s", sum);
    }
}

/* The cursor is on the run's options: all of them by group, and the schedule where there is room or it is
 * looked at. */
static void draw_run_options(const struct compose_view *v, struct canvas *c, struct rect r) {
    if (r.h >= 24) {
        int rows = r.h - 12;
        compose_draw_options(v, c, (struct rect){ r.x, r.y, r.w, rows });
        compose_draw_schedule(v, c, (struct rect){ r.x, r.y + rows, r.w, 12 });
    } else if (compose_on_schedule(v) && r.h >= 6) compose_draw_schedule(v, c, r);
    else compose_draw_options(v, c, r);
}

static void draw_block(const struct compose_view *v, struct canvas *c, struct rect r) {
    char right[120] = "";
    if (compose_on_run(v)) {
        draw_run_options(v, c, r);
        return;
    }
    if (v->arch) {
        char layers[48];
        if (v->arch->decoder_layers)
            snprintf(layers, sizeof layers, "one of %d + %d layers", v->arch->encoder_layers,
                     v->arch->decoder_layers);
        else snprintf(layers, sizeof layers, "one of %d layers", v->arch->encoder_layers);
        snprintf(right, sizeof right, "%s \u00B7 d %d \u00B7 %d heads of %d \u00B7 ffn %d", layers,
                 v->arch->width, v->arch->heads, v->arch->head_width, v->arch->inner);
    }
    canvas_title(c, r, "Block", right);
    struct rect in = rect_down(r, 1);
    struct formula f[METHOD_MODULES];
    int formulas = gather_formulas(&v->config.method, v->arch, f), networks = compose_networks(v);
    int diagram = v->arch && v->arch->decoder_layers ? 14 : 7; /* rows that show all of it */
    if (r.w >= 124 && in.h < diagram + networks + formulas) {  /* beside it */
        int w = r.w >= 150 ? 60 : 48;
        struct rect left = { in.x, in.y, in.w - w, in.h - networks };
        int y = in.y + block_draw(c, left, &v->config.method, v->arch, v->part, &v->facts.places);
        compose_draw_networks(v, c, (struct rect){ in.x, y, left.w, networks });
        draw_formulas(v, c, (struct rect){ in.x + left.w, in.y, w, in.h });
        return;
    }
    in.h -= networks;
    if (in.h < 3) in.h = 3;
    int block = in.h - formulas < 4 ? in.h < 4 ? in.h : 4 : in.h - formulas;
    if (in.h >= 6 && formulas > in.h - block) formulas = in.h - block;
    struct rect top = { in.x, in.y, in.w, block };
    int used = block_draw(c, top, &v->config.method, v->arch, v->part, &v->facts.places);
    used += compose_draw_networks(v, c, (struct rect){ in.x, in.y + used, in.w, networks });
    in.h += networks;
    if (in.h - used > formulas && in.h >= 12) used++;
    struct rect rest = rect_down(in, used);
    draw_formulas(v, c, rest);
}

static void compose_draw_counts(const struct compose_view *v, struct canvas *c, struct rect r, int y) {
    const struct compose_facts *f = &v->facts;
    char trained[32], kept[32], head[32];
    if (!f->counted) {
        canvas_text(c, r.x + 3, y, f->errors ? INK_WARN : INK_DIM,
                    f->errors ? "no parameter count: the method or the regime is invalid"
                    : v->arch ? ""
                              : "no model: press T to choose one");
        return;
    }
    text_thousands((int64_t)f->trained, trained);
    text_thousands((int64_t)f->kept, kept);
    text_thousands((int64_t)f->head, head);
    int x = r.x + 3;
    x += canvas_text(c, x, y, INK_DIM, "trainable ");
    x += canvas_text(c, x, y, INK_ACCENT, trained);
    if (f->kept != f->trained) x += canvas_printf(c, x, y, INK_TEXT, " (stored %s)", kept);
    x += canvas_printf(c, x, y, INK_DIM, f->head ? "   head " : "   no head");
    if (f->head) x += canvas_text(c, x, y, INK_TEXT, head);
    double share = f->model ? 100.0 * (double)f->trained / (double)f->model : 0;
    bool headless = f->head && (r.w >= 100 || !isfinite(f->cost.bytes)); /* where time and memory fit too */
    x += canvas_printf(c, x, y, INK_TEXT, "   %.*f%% of %s%s", share < 0.1 ? 3 : share < 10 ? 2 : 1, share,
                       show_count((int64_t)f->model).text, headless ? " without the head" : "");
    struct phrase cost = { "" };
    if (isfinite(f->cost.seconds)) cost = phrase("   \u2248 %s", show_short_seconds(f->cost.seconds).text);
    if (*cost.text && r.w >= 100) phrase_add(&cost, ", %.2g s/step", f->cost.step_seconds);
    if (isfinite(f->cost.bytes)) phrase_add(&cost, "   %.0f MB", f->cost.bytes / 1e6);
    int left = r.x + r.w - x - canvas_width(c, cost.text);
    if (left <= 0) return;
    x += canvas_text(c, x, y, INK_DIM, cost.text);
    if (!isfinite(f->cost.bytes) || !(v->available > 0) || isinf(v->available)) return;
    double available = v->available / 1e6;
    struct phrase of = available < 1e4 ? phrase(" of %.0f MB", available)
                                       : phrase(" of %.0f GB", available / 1e3);
    if (r.w >= 100) phrase_add(&of, " available");
    if (canvas_width(c, of.text) < left)
        canvas_text(c, x, y, compose_lacks_memory(v) ? INK_WARN : INK_DIM, of.text);
}

/* Draws data and options; returns the next row. */
static int draw_run(const struct compose_view *v, struct canvas *c, struct rect r, int y, int rows_left) {
    char rows[160] = "", train[32], dev[32];
    int x = r.x + 3;
    char several[16];
    const char *task = v->task ? v->task : "?";
    snprintf(several, sizeof several, "%d tasks", v->config.tasks);
    if (v->config.tasks) task = several; /* their names are among the options */
    if (v->train_rows) {
        text_thousands((int64_t)v->train_rows, train);
        text_thousands((int64_t)v->dev_rows, dev);
        if (v->dev_rows) snprintf(rows, sizeof rows, "%.40s %s/%s examples", task, train, dev);
        else snprintf(rows, sizeof rows, "%.40s %s examples, %s", task, train,
                      v->config.split > 0 ? "dev split" : "no dev set");
    } else if (v->task) {
        snprintf(rows, sizeof rows, "%.40s", task);
    }
    if (*rows) x += canvas_fit(c, x, y, 36, INK_TEXT, rows) + 3;
    if (*rows && v->arch && arch_generates(v->arch) && !v->texts)
        x += canvas_text(c, x - 2, y, INK_DIM, "as text") + 1;
    bool here = compose_on_run(v) &&
                (r.w < LAYOUT_PAGE_W || r.h > 7); /* where the list of options has no pane of its own */
    for (int o = 0; o < compose_option_count(v); o++) {
        bool on = here && v->option == o;
        if (!on && !compose_option_shown(v, o)) continue;
        struct phrase value = option_value(v, o);
        int w = canvas_width(c, option_name(v, o)) + 1 + canvas_width(c, value.text);
        if (x + w >= r.x + r.w) {
            if (!here && rows_left-- < 1) break;
            /* the rest goes to the row below, where there is one */
            if (y + 1 >= r.y + r.h) break;
            y++;
            x = r.x + 3;
        }
        int name = canvas_printf(c, x, y, INK_DIM, "%s ", option_name(v, o));
        int used = canvas_text(c, x + name, y, INK_TEXT, value.text);
        if (on) canvas_paint(c, x + name, y, used, INK_CURSOR);
        x += name + used + 2;
    }
    return y + 1;
}

static void draw_facts(const struct compose_view *v, struct canvas *c, struct rect r) {
    const struct compose_facts *f = &v->facts;
    struct phrase state = phrase("valid \u2713");
    int notes = f->findings - f->errors;
    if (f->errors)
        state = phrase("\u2717 invalid, %d error%s: n", f->errors, f->errors == 1 ? "" : "s");
    else if (!v->arch) state = phrase("%s", "");
    else if (compose_mismatch(v)) state = phrase("\u2717 needs a T5, BART or mBART model: T");
    else if (compose_refusal(v)) state = phrase("\u2717 cannot be trained");
    else if (notes) state = phrase("valid \u2713  %d note%s: n", notes, notes == 1 ? "" : "s");
    canvas_title(c, r, "Run", state.text);
    int y = r.y + 1;
    compose_draw_counts(v, c, r, y++);
    char *command = compose_command(v);
    y = draw_run(v, c, r, y, r.h - 3 - canvas_wrap_rows(c, r.w - 5, command)); /* which keeps its rows */
    if (y < r.y + r.h)
        canvas_wrap(c, rect_in(r, 3, y - r.y), INK_DIM, command);
    free(command);
}

static void draw_compose_screen(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct compose_view *v = &ui->compose;
    (void)body;
    struct panes p = ui_panes(ui, SCREEN_COMPOSE);
    static void (*const drawers[])(const struct compose_view *, struct canvas *, struct rect) = {
        [PANE_METHOD] = compose_draw_method, [PANE_AXIS] = draw_axis, [PANE_BLOCK] = draw_block,
        [PANE_FACTS] = draw_facts, [PANE_PRESETS] = compose_draw_presets };
    for (int i = PANE_METHOD; i <= PANE_PRESETS; i++) {
        if (rect_empty(p.at[i])) continue;
        canvas_push_clip(c, p.at[i]);
        drawers[i](v, c, p.at[i]);
        canvas_pop_clip(c);
    }
}

/* The reason if the method is invalid; else the description of the preset; else the text of the method. */
static void compose_draw_readout(const struct ui *ui, struct buf *out) {
    const struct compose_view *v = &ui->compose;
    const struct compose_facts *f = &v->facts;
    if (f->errors) {
        buf_printf(out, "\u2717 %s", f->finding[0].text);
    } else if (*f->unfit) {
        buf_printf(out, "\u2717 %s", f->unfit);
    } else if (f->preset) {
        buf_printf(out, "%s: %s", f->preset->title, f->preset->note);
    } else if (f->text) {
        buf_puts(out, f->text);
    }
}

static void compose_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out) {
    (void)run;
    if (runs) out->kind = EFFECT_CLONE;
    ui_show(ui, SCREEN_COMPOSE);
}

static void compose_draw_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *out) {
    const struct compose_view *v = &ui->compose;
    int aside = f->size != LAYOUT_WIDE ? 0 : layout_presets(f->body), w = f->body.w - aside;
    bool broad = w >= 100, module = v->part < v->config.method.count;
    bool all = f->size == LAYOUT_WIDE && f->body.h >= COMPOSE_ALL_AXES && module;
    int list = f->body.h >= LAYOUT_ROOM ? 5 : 3; /* choices and description */
    bool room = f->body.h >= LAYOUT_ROOM, much = f->body.h >= COMPOSE_ALL_AXES;
    static const struct canvas plain = { .glyphs = GLYPHS_BRAILLE };
    char *command = compose_command(v);
    int rows = canvas_wrap_rows(&plain, w - 5, command), least = much || !broad ? 2 : 1, most = room ? 8 : 3;
    rows = rows < least ? least : rows > most ? most : rows;
    free(command);
    *out = (struct layout_need){ .modules = v->config.method.count + v->off.count,
                                 .axis = list + (v->describe ? 4 : 0) + (all ? compose_all_axes(v, w) : 0),
                                 .facts = 3 + rows + (v->config.tasks > 0), /* their names */
                                 .options = compose_on_run(v) };
}

static const char *compose_draw_hint(const struct ui *ui, const struct key_entry *k) {
    const struct compose_view *v = &ui->compose;
    switch (k->request) {
    case REQ_TRAIN: return compose_on_number(v) ? "edit" : k->hint;
    case REQ_LEFT: return compose_on_run(v) ? "option" : "axis";
    case REQ_SEARCH: return "find";
    case REQ_DOWN: return compose_on_number(v) ? "step" : k->hint;
    case REQ_NEXT: return v->facts.findings ? k->hint : NULL;
    case REQ_RUN:
    case REQ_EARLIER:
    case REQ_LATER: return NULL;
    case REQ_CLONE: return v->part < v->config.method.count ? "copy" : NULL;
    case REQ_SWITCH:
        return compose_on_run(v)                  ? "fold"
               : compose_on_off(v) >= 0           ? "on"
               : v->part < v->config.method.count ? "off"
                                                  : NULL;
    case REQ_MARK: return v->swepts ? k->hint : NULL;
    default: return k->hint;
    }
}

static const enum request compose_draw_keys[] = {
    REQ_TRAIN,   REQ_NEXT_PART, REQ_PREV_PART, REQ_LEFT,     REQ_RIGHT,   REQ_DOWN, REQ_UP,    REQ_FIRST,
    REQ_LAST,    REQ_NEXT,      REQ_PREV,      REQ_UNDO,     REQ_REDO,    REQ_RUN,  REQ_COPY,  REQ_MORE,
    REQ_LESS,    REQ_CHOOSE,    REQ_PRESETS,   REQ_DESCRIBE, REQ_EXPLAIN, REQ_MARK, REQ_SWEEP, REQ_CLONE,
    REQ_MARK_ALL, REQ_SEARCH,
    REQ_EARLIER, REQ_LATER,     REQ_SWITCH,    REQ_NOTE,     REQ_NAME,    REQ_NONE
};

void compose_rendered(const struct ui *ui, struct buf *out) {
    text_shell_option(out, "method", ui->compose.facts.text);
    text_shell_option(out, "model", ui->compose.config.model);
    text_shell_option(out, "task", ui->compose.config.task);
}

static enum pane_id compose_draw_focus(const struct ui *ui) {
    return compose_on_run(&ui->compose) ? PANE_BLOCK : PANE_METHOD;
}

const struct screen screen_compose = {
    .tip = { REQ_DOWN, "j and k change the value of an axis, h and l go to another; Enter trains" },
    .name = "compose",
    .rendered = compose_rendered,
    .pick = compose_pick,
    .about = method_about,
    .keys = compose_draw_keys,
    .tab = "1 Compose",
    .to = REQ_TO_COMPOSE,
    .init = compose_init,
    .release = compose_release,
    .taught = compose_taught,
    .request = compose_request,
    .panes = layout_compose,
    .need = compose_draw_need,
    .focus = compose_draw_focus,
    .draw = draw_compose_screen,
    .readout = compose_draw_readout,
    .hint = compose_draw_hint,
};
