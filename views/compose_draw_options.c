/* The options of the run by group, and the learning rate schedule. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/optim.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/config/stages.h"
#include "views/compose_edit.h"
#include "views/plot.h"
#include "views/ui.h"
#include "views/ui_parts.h"
#include "views/zone.h"

/* Position of the next text, in rows from the first of the list. */
struct option_pen {
    const struct compose_view *v;
    struct canvas *c;
    struct rect r;
    int x, y, top;
};

static bool in_sight(const struct option_pen *p) { return p->c && p->y >= p->top && p->y < p->top + p->r.h; }

static void put_heading(struct option_pen *p, enum option_group g, int hidden) {
    struct phrase title = phrase(hidden ? "\u25B8 %s (%d)" : "\u25BE %s", option_group_name(g), hidden);
    if (in_sight(p)) canvas_text(p->c, p->r.x + 1, p->r.y + p->y - p->top, INK_KEY, title.text);
    int w = text_width(title.text) + 3;
    p->x = w > 18 ? w : 18;
}

static void put_option(struct option_pen *p, int i) {
    static const struct canvas plain = { .glyphs = GLYPHS_BRAILLE };
    const struct canvas *measure = p->c ? p->c : &plain;
    struct phrase value = option_value(p->v, i);
    const char *name = option_name(p->v, i);
    int w = canvas_width(measure, name) + 1 + canvas_width(measure, value.text);
    if (p->x + w > p->r.w - 1 && p->x > 18) {
        p->x = 18;
        p->y++;
    }
    if (in_sight(p)) {
        int y = p->r.y + p->y - p->top, at = p->r.x + p->x;
        zone_pick(p->c, at, y, w, PICK_OPTION_AT + i);
        int used = canvas_text(p->c, at, y, INK_DIM, name) + 1;
        enum ink ink = p->v->stuck[i] ? INK_DIM : compose_option_shown(p->v, i) ? INK_TITLE : INK_TEXT;
        int width = canvas_text(p->c, at + used, y, ink, value.text);
        if (compose_on_run(p->v) && p->v->option == i)
            canvas_paint(p->c, at + used, y, width, INK_CURSOR);
    }
    p->x += w + 3;
}

/* Draws all options if there is a canvas; returns the row of the option under the cursor. */
static int put_all(struct option_pen *p) {
    const struct compose_view *v = p->v;
    int at = 0;
    for (int i = 0; i < v->options;) {
        enum option_group g = compose_option_group(v, i);
        int end = i, hidden = 0;
        for (; end < v->options && compose_option_group(v, end) == g; end++)
            hidden += compose_option_folded(v, end);
        put_heading(p, g, hidden);
        for (; i < end; i++) {
            if (compose_option_folded(v, i) && v->option != i) continue;
            put_option(p, i);
            if (v->option == i) at = p->y;
        }
        p->y++;
    }
    return at;
}

void compose_draw_options(const struct compose_view *v, struct canvas *c, struct rect r) {
    struct option_pen measure = { .v = v, .r = r }, pen = { .v = v, .c = c, .r = r };
    int at = put_all(&measure), rows = measure.y;
    canvas_title(c, r, "Options", "O folds a group");
    pen.r.y++;
    pen.r.h--;
    ui_in_sight(&pen.top, at, pen.r.h);
    if (pen.top > rows - pen.r.h) pen.top = rows - pen.r.h;
    if (pen.top < 0) pen.top = 0;
    put_all(&pen);
}

/* ---- the schedule ---- */

bool compose_on_schedule(const struct compose_view *v) {
    static const char *const names[] = { "lr", "schedule", "warmup", "steps", "epochs" };
    if (!compose_on_run(v) || v->option >= v->options) return false;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(compose_option_name(v, v->option), names[i])) return true;
    return false;
}

void compose_draw_schedule(const struct compose_view *v, struct canvas *c, struct rect r) {
    enum { POINTS = 200 };
    static const enum lr_schedule shapes[] = {
        [SCHEDULE_LINEAR] = LR_LINEAR, [SCHEDULE_COSINE] = LR_COSINE, [SCHEDULE_CONSTANT] = LR_CONSTANT
    };
    double step[POINTS + 1], rate[POINTS + 1];
    struct phrase right = { "" };
    int64_t steps = compose_steps(v, &v->config), warmup = config_warmup_steps(&v->config, steps);
    if (steps)
        right = phrase("%lld steps, %lld warm-up, peak %s", (long long)steps, (long long)warmup,
                      show_short(v->config.lr).text);
    canvas_title(c, r, "learning rate", right.text);
    if (!steps) {
        canvas_text(c, r.x + 3, r.y + 1, INK_DIM,
                    config_is_staged(&v->config) ? "one schedule per stage" : "reading the data set");
        return;
    }
    size_t n = steps < POINTS ? (size_t)steps : POINTS;
    for (size_t i = 0; i < n; i++) {
        int64_t at = n > 1 ? (int64_t)llround((double)i * (double)(steps - 1) / (double)(n - 1)) : 0;
        step[i] = (double)at;
        rate[i] = v->config.lr * lr_schedule_factor(shapes[v->config.schedule], (uint64_t)at,
                                                    (uint64_t)warmup, (uint64_t)steps);
    }
    struct plot_data d = { step, rate, n };
    struct plot_look look = { .raw = false };
    axis_fit(&look.y, 0, v->config.lr, false);
    plot_curve(c, rect_down(r, 1), &d, &look, -1, true);
}
