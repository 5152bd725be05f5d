/* What a method is, on a page: its axes, its formulas, what trains, what it costs on a model, what equals
 * what, what the published code does otherwise.  One page for the screen and for `petri explain`; no number
 * is on it that was not counted on the model.  explain.c makes it, explain_draw.c is the screen. */
#ifndef VIEWS_EXPLAIN_H
#define VIEWS_EXPLAIN_H

#include "core/base/buf.h"
#include "core/method/plan.h"

enum explain_section {
    EXPLAIN_ABOUT,    /* what it is, how it is written */
    EXPLAIN_AXES,     /* a line a module */
    EXPLAIN_FORMULA,
    EXPLAIN_TRAINS,
    EXPLAIN_COSTS,
    EXPLAIN_EQUALS,
    EXPLAIN_RELEASED, /* what the published code does otherwise */
    EXPLAIN_SECTIONS
};
/* A heading on the page, "what equals what". */
const char *explain_section_title(enum explain_section s);

struct explain_line {
    enum explain_section section;
    char *text;
};
struct explain_page {
    char *title; /* "PHA: Zhao et al. 2023, …", or the method's text */
    struct explain_line *line; /* by section */
    size_t count, room;
};

/* The page of a method.  `named`: the preset that it was asked for by, or NULL: the one that it is.  With p,
 * its plan on `a`, also what it costs; p NULL: what is known without a model.  explain_release. */
void explain_fill(struct explain_page *out, const struct method *m, const struct preset *named,
                  const struct plan *p, const struct arch *a);
void explain_release(struct explain_page *page);
/* The page as a JSON object's members: "title", and an array of lines for each section. */
void explain_json(const struct explain_page *page, struct buf *out);

/* ---- the screen ---- */

struct explain_view {
    struct explain_page page;
    int top; /* first row shown */
};

#endif
