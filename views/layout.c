#include "views/layout.h"

#include <string.h>

static int least(int a, int b) { return a < b ? a : b; }
static int most(int a, int b) { return a > b ? a : b; }

void layout_frame(int w, int h, struct layout_frame *out) {
    memset(out, 0, sizeof *out);
    w = most(w, 0);
    h = most(h, 0);
    if (w < LAYOUT_MIN_W || h < LAYOUT_MIN_H) {
        out->size = LAYOUT_LINE;
        out->readout = (struct rect){ 0, 0, w, least(h, 1) };
        return;
    }
    bool page = w >= LAYOUT_PAGE_W && h >= LAYOUT_PAGE_H;
    out->size = !page ? LAYOUT_PANE : w >= LAYOUT_WIDE_W ? LAYOUT_WIDE : LAYOUT_PAGE;
    int top = page || h >= 8 ? 1 : 0, hints = page || h >= 7 ? 1 : 0;
    out->tabs = (struct rect){ 0, 0, top ? w : 0, top };
    out->hints = (struct rect){ 0, h - hints, hints ? w : 0, hints };
    out->readout = (struct rect){ 0, h - hints - 1, w, 1 };
    out->body = (struct rect){ 0, top, w, h - top - hints - 1 };
}

/* Takes `rows` off the top of *rest. */
static struct rect take_top(struct rect *rest, int rows) {
    rows = most(0, least(rows, rest->h));
    struct rect r = { rest->x, rest->y, rest->w, rows };
    rest->y += rows;
    rest->h -= rows;
    if (!rows) r.w = 0;
    return r;
}

static struct rect take_bottom(struct rect *rest, int rows) {
    rows = most(0, least(rows, rest->h));
    rest->h -= rows;
    struct rect r = { rest->x, rest->y + rest->h, rest->w, rows };
    if (!rows) r.w = 0;
    return r;
}

static struct rect take_right(struct rect *rest, int columns) {
    columns = most(0, least(columns, rest->w));
    rest->w -= columns;
    struct rect r = { rest->x + rest->w, rest->y, columns, rest->h };
    return r;
}

void layout_compose(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out) {
    if (size == LAYOUT_PANE) {
        int list = most(2, body.h - 1 - need->axis);
        if (!need->options) out->at[PANE_METHOD] = take_top(&body, least(need->modules + 2, list));
        if (body.h > 0) out->at[need->options ? PANE_FACTS : PANE_AXIS] = body;
        return;
    }
    if (size == LAYOUT_WIDE) {
        out->at[PANE_PRESETS] = take_right(&body, body.w >= 180 ? 46 : 34);
        out->at[PANE_PRESETS].x += 2;
        out->at[PANE_PRESETS].w -= 2;
    }
    /* The facts and the table keep their rows; the block takes what is left, and gives way
     * where it is too low to be read. */
    out->at[PANE_FACTS] = take_bottom(&body, least(need->facts, body.h));
    int table = need->modules + 3, axis = need->axis + 1, block = 5;
    if (table + axis + block > body.h) table = most(5, body.h - axis - block);
    if (table + axis > body.h) table = most(4, body.h - axis);
    out->at[PANE_METHOD] = take_top(&body, table);
    out->at[PANE_AXIS] = take_top(&body, axis);
    if (body.h >= 4) out->at[PANE_BLOCK] = body;
    else out->at[PANE_AXIS].h += body.h;
    if (rect_empty(out->at[PANE_AXIS])) out->at[PANE_AXIS] = (struct rect){ 0, 0, 0, 0 };
}

void layout_train(enum layout_size size, struct rect body, const struct layout_need *need,
                  struct panes *out) {
    if (size == LAYOUT_PANE) {
        if (body.h >= 6) out->at[PANE_JOBS] = take_bottom(&body, 1);
        out->at[need->texts ? PANE_TEXTS : PANE_LOSS] = body;
        return;
    }
    int jobs = least(most(need->jobs, 1), body.h >= 40 ? 12 : body.h >= 30 ? 6 : 3) + 1;
    out->at[PANE_JOBS] = take_bottom(&body, jobs);
    int tasks = least(need->tasks, body.h >= 30 ? 16 : body.h >= 20 ? 8 : 4);
    if (tasks && body.h >= tasks + 7) out->at[PANE_TASKS] = take_bottom(&body, tasks + 1);
    if (size == LAYOUT_WIDE) {
        struct rect right = take_right(&body, body.w * 2 / 5);
        right.x += 2;
        right.w -= 2;
        bool both = need->given && body.h >= 24; /* else the key chooses */
        if (both) out->at[PANE_TEXTS] = take_bottom(&body, body.h * 2 / 5);
        out->at[PANE_LOSS] = body;
        if (need->texts && !both) {
            out->at[PANE_TEXTS] = right;
            return;
        }
        if (right.h >= 18) {
            int third = right.h / 3;
            out->at[PANE_NORM] = take_bottom(&right, third);
            out->at[PANE_RATE] = take_bottom(&right, third);
        }
        out->at[PANE_METRIC] = right;
        return;
    }
    if (body.h >= 11 && need->texts) out->at[PANE_TEXTS] = take_bottom(&body, body.h * 3 / 5);
    else if (body.h >= 11) out->at[PANE_METRIC] = take_bottom(&body, most(5, body.h * 2 / 5));
    else if (need->texts) {
        out->at[PANE_TEXTS] = body;
        return;
    }
    out->at[PANE_LOSS] = body;
}

void layout_runs(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out) {
    (void)need;
    if (size == LAYOUT_WIDE) {
        out->at[PANE_ASIDE] = take_right(&body, least(body.w / 3, 60));
        out->at[PANE_ASIDE].x += 2;
        out->at[PANE_ASIDE].w -= 2;
    }
    out->at[PANE_TABLE] = body;
}

static void take_aside(enum layout_size size, struct rect *body, struct panes *out) {
    if (size != LAYOUT_WIDE) return;
    out->at[PANE_ASIDE] = take_right(body, least(body->w / 4, 50));
    out->at[PANE_ASIDE].x += 2;
    out->at[PANE_ASIDE].w -= 2;
}

void layout_map(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out) {
    take_aside(size, &body, out);
    if (body.h >= 6)
        out->at[PANE_FOOT] = take_bottom(&body, size == LAYOUT_PANE ? 1 : size == LAYOUT_WIDE ? 2 : 3);
    if (need->panels > 1 && size != LAYOUT_PANE) {
        out->at[PANE_MAP_2] = take_right(&body, body.w / 2);
        out->at[PANE_MAP_2].x += 1;
        out->at[PANE_MAP_2].w -= 1;
    }
    out->at[PANE_MAP] = body;
}

void layout_compare(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out) {
    if (size == LAYOUT_PANE) {
        out->at[PANE_GROUPS] = body;
        return;
    }
    if (size == LAYOUT_WIDE && body.h >= 20) {
        struct rect right = take_right(&body, body.w * 2 / 5);
        right.x += 2;
        right.w -= 2;
        out->at[PANE_LOSS] = take_bottom(&right, right.h / 2);
        out->at[PANE_METRIC] = right;
        int differs = least(need->differences + 1, body.h / 2);
        out->at[PANE_GROUPS] = take_top(&body, most(body.h - differs, least(need->groups + 2, body.h - 2)));
        if (body.h > 1) out->at[PANE_DIFFERS] = body;
        return;
    }
    out->at[PANE_GROUPS] = take_top(&body, least(need->groups + 2, most(body.h / 3, 5)));
    if (need->differences && body.h >= 8)
        out->at[PANE_DIFFERS] = take_top(&body, least(need->differences + 1, most(3, body.h / 3)));
    if (body.h >= 5) out->at[PANE_METRIC] = body;
    else out->at[PANE_GROUPS].h += body.h;
}

void layout_sweep(enum layout_size size, struct rect body, const struct layout_need *need,
                  struct panes *out) {
    if (size != LAYOUT_PANE) out->at[PANE_SWEEP_HEAD] = take_top(&body, 2);
    if (size != LAYOUT_WIDE || body.h < 24) {
        out->at[PANE_SWEEP + need->part] = body;
        return;
    }
    struct rect right = take_right(&body, body.w / 2);
    right.x += 2;
    right.w -= 2;
    out->at[PANE_SWEEP + 3] = take_bottom(&body, body.h / 2);
    out->at[PANE_SWEEP] = body;
    out->at[PANE_SWEEP + 2] = take_bottom(&right, right.h / 2);
    out->at[PANE_SWEEP + 1] = right;
}

void layout_heatmap(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out) {
    (void)need;
    take_aside(size, &body, out);
    if (body.h >= 5) out->at[PANE_FOOT] = take_bottom(&body, size == LAYOUT_PAGE ? 2 : 1);
    if (body.h >= 4) out->at[PANE_HEAT_TITLE] = take_top(&body, 1);
    out->at[PANE_MATRIX] = body;
}

void layout_panes(layout_panes_of panes, enum layout_size size, struct rect body,
                  const struct layout_need *need, struct panes *out) {
    *out = (struct panes){ .size = size, .body = body };
    if (rect_empty(body)) return;
    if (panes) panes(size, body, need, out);
    else out->at[PANE_TEXT] = body;
}
