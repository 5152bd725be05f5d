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
    if (h >= LAYOUT_TALL) top++; /* a blank row below the tabs */
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

/* Returns the rows between the panes of a body: titles are set apart where there is room. */
static int between(struct rect body) { return body.h >= LAYOUT_ROOM ? 1 : 0; }

/* Take a pane off the body and the blank rows or columns that set it apart. */
static struct rect part_top(struct rect *rest, int rows, int blank) {
    struct rect r = take_top(rest, rows);
    if (rest->h > blank) take_top(rest, blank);
    return r;
}

static struct rect part_bottom(struct rect *rest, int rows, int blank) {
    struct rect r = take_bottom(rest, rows);
    if (rest->h > blank) take_bottom(rest, blank);
    return r;
}

static struct rect part_right(struct rect *rest, int columns) {
    struct rect r = take_right(rest, columns);
    r.x += 2;
    r.w -= 2;
    return r;
}

/* Returns the part of a pane in which its texts and tables are. */
static struct rect inside(struct rect r) {
    if (r.w <= PANE_EDGE + 1) return r;
    return (struct rect){ r.x + PANE_EDGE, r.y, r.w - PANE_EDGE - 1, r.h };
}

int layout_presets(struct rect body) { return body.w < 180 ? 34 : body.h < 40 ? 46 : 78; }

void layout_compose(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out) {
    if (size == LAYOUT_PANE) {
        int list = most(2, body.h - 1 - need->axis);
        if (!need->options) out->at[PANE_METHOD] = take_top(&body, least(need->modules + 2, list));
        if (body.h > 0) out->at[need->options ? PANE_FACTS : PANE_AXIS] = body;
        return;
    }
    if (size == LAYOUT_WIDE) out->at[PANE_PRESETS] = part_right(&body, layout_presets(body));
    /* The facts and the table keep their rows; the block takes what is left, and gives way
     * where it is too low to be read. */
    int blank = between(body), table = need->modules + 3, axis = need->axis + 1, block = 5;
    out->at[PANE_FACTS] = part_bottom(&body, least(need->facts, body.h), blank);
    if (table + axis + 2 * blank + block > body.h) table = most(5, body.h - axis - 2 * blank - block);
    if (table + axis > body.h) table = most(4, body.h - axis);
    out->at[PANE_METHOD] = part_top(&body, table, blank);
    out->at[PANE_AXIS] = part_top(&body, axis, blank);
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
    int blank = between(body);
    int jobs = least(most(need->jobs, 1), body.h >= 40 ? 12 : body.h >= 30 ? 6 : 3) + 1;
    out->at[PANE_JOBS] = part_bottom(&body, jobs, blank);
    int tasks = least(need->tasks, body.h >= 30 ? 16 : body.h >= 20 ? 8 : 4);
    if (tasks && body.h >= tasks + blank + 7) out->at[PANE_TASKS] = part_bottom(&body, tasks + 1, blank);
    if (size == LAYOUT_WIDE) {
        struct rect right = part_right(&body, body.w * 2 / 5);
        bool both = need->given && body.h >= 24; /* else the key chooses */
        if (both) out->at[PANE_TEXTS] = part_bottom(&body, body.h * 2 / 5, blank);
        out->at[PANE_LOSS] = body;
        if (need->texts && !both) {
            out->at[PANE_TEXTS] = right;
            return;
        }
        if (right.h >= 18) {
            int third = (right.h - 2 * blank) / 3;
            out->at[PANE_NORM] = part_bottom(&right, third, blank);
            out->at[PANE_RATE] = part_bottom(&right, third, blank);
        }
        out->at[PANE_METRIC] = right;
        return;
    }
    if (body.h >= 11 && need->texts) out->at[PANE_TEXTS] = part_bottom(&body, body.h * 3 / 5, blank);
    else if (body.h >= 11) out->at[PANE_METRIC] = part_bottom(&body, most(5, body.h * 2 / 5), blank);
    else if (need->texts) {
        out->at[PANE_TEXTS] = body;
        return;
    }
    out->at[PANE_LOSS] = body;
}

void layout_runs(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out) {
    enum { ASIDE_LEAST = 30 };
    int aside = least(least(body.w / 3, 60), body.w - need->table);
    if (size == LAYOUT_WIDE && aside >= ASIDE_LEAST) out->at[PANE_ASIDE] = part_right(&body, aside);
    out->at[PANE_TABLE] = body;
}

static void take_aside(enum layout_size size, struct rect *body, struct panes *out) {
    if (size == LAYOUT_WIDE) out->at[PANE_ASIDE] = part_right(body, least(body->w / 4, 50));
}

void layout_map(enum layout_size size, struct rect body, const struct layout_need *need, struct panes *out) {
    if (body.h >= 6)
        out->at[PANE_FOOT] =
            inside(take_bottom(&body, size == LAYOUT_PANE ? 1 : size == LAYOUT_WIDE ? 2 : 3));
    take_aside(size, &body, out); /* the notes below are as wide as the window */
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
    int blank = between(body);
    if (size == LAYOUT_WIDE && body.h >= 20) {
        struct rect right = part_right(&body, body.w * 2 / 5);
        out->at[PANE_LOSS] = part_bottom(&right, right.h / 2, blank);
        out->at[PANE_METRIC] = right;
        int evidence = need->evidence ? need->evidence + 1 + blank : 0;
        int differs = least(need->differences + 1, (body.h - evidence) / 2);
        int groups = least(need->groups + 2, most(body.h - blank - evidence - differs, 3));
        out->at[PANE_GROUPS] = part_top(&body, groups, blank);
        if (evidence) out->at[PANE_EVIDENCE] = part_top(&body, need->evidence + 1, blank);
        if (body.h > 1) out->at[PANE_DIFFERS] = body;
        return;
    }
    out->at[PANE_GROUPS] = part_top(&body, least(need->groups + 2, most(body.h / 3, 5)), blank);
    /* The chart keeps its rows: in a low window Tab changes between evidence and settings. */
    int differs = least(need->differences + 1, most(3, body.h / 3));
    bool both = body.h >= need->evidence + differs + 14;
    if (!both && need->part) differs = least(need->differences + 1, most(3, body.h - 7));
    if (need->evidence && body.h >= need->evidence + 7 && (both || !need->part))
        out->at[PANE_EVIDENCE] = part_top(&body, need->evidence + 1, blank);
    if (need->differences && body.h >= 8 && (both || need->part || !need->evidence))
        out->at[PANE_DIFFERS] = part_top(&body, differs, blank);
    if (body.h >= 5) out->at[PANE_METRIC] = body;
    else out->at[PANE_GROUPS].h += body.h;
}

void layout_sweep(enum layout_size size, struct rect body, const struct layout_need *need,
                  struct panes *out) {
    int blank = between(body);
    if (size != LAYOUT_PANE) out->at[PANE_SWEEP_HEAD] = part_top(&body, 3, blank);
    if (need->evidence && size != LAYOUT_PANE && body.h >= need->evidence + 10)
        out->at[PANE_EVIDENCE] = part_bottom(&body, need->evidence + 1, blank);
    if (size != LAYOUT_WIDE || body.h < 24) {
        out->at[PANE_SWEEP + need->part] = body;
        return;
    }
    struct rect right = part_right(&body, body.w / 2);
    out->at[PANE_SWEEP + 3] = part_bottom(&body, body.h / 2, blank);
    out->at[PANE_SWEEP] = body;
    out->at[PANE_SWEEP + 2] = part_bottom(&right, right.h / 2, blank);
    out->at[PANE_SWEEP + 1] = right;
}

void layout_heatmap(enum layout_size size, struct rect body, const struct layout_need *need,
                    struct panes *out) {
    (void)need;
    take_aside(size, &body, out);
    if (body.h >= 5) out->at[PANE_FOOT] = inside(take_bottom(&body, size == LAYOUT_PAGE ? 2 : 1));
    if (body.h >= 4) out->at[PANE_HEAT_TITLE] = take_top(&body, 1);
    out->at[PANE_MATRIX] = inside(body);
}

void layout_panes(layout_panes_of panes, enum layout_size size, struct rect body,
                  const struct layout_need *need, struct panes *out) {
    *out = (struct panes){ .size = size, .body = body };
    if (rect_empty(body)) return;
    if (panes) panes(size, body, need, out);
    else out->at[PANE_TEXT] = body;
}
