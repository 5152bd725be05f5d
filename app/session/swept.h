/* Sweeps on the screen: their list and pages in the shapes that Sweep takes, and those that this process
 * works on. */
#ifndef APP_SESSION_SWEPT_H
#define APP_SESSION_SWEPT_H

#include "app/jobs/jobs.h"
#include "app/sweep/comparison.h"
#include "views/sweep.h"

/* The list, and one sweep's page (page.id 0: none). */
struct swept_page {
    struct sweep_page page; /* pointers below are its memory */
    struct sweep_item *item;
    int items;
    struct side_by_side cells;
    struct compared_effects effects;
    struct sweep_tile *tile;
    struct sweep_worth *worth;
    int *shown_axis;
    int64_t **run;          /* of each cell */
    char **text;            /* owned */
    int texts;
};
struct sweeping;
/* id 0: the list alone.  `work` (may be NULL) says which are worked on here. */
int swept_page_read(struct store *s, int64_t id, const struct sweeping *work, struct swept_page **out,
                    struct err *e);
void swept_page_free(struct swept_page *p); /* NULL is no work */

/* The sweeps that this process works on; one thread.  Freed when their runs are over or the jobs are gone. */
struct sweeping *sweeping_new(struct store *s, struct jobs *j);
void sweeping_free(struct sweeping *w);
/* Of a line as `petri sweep` takes it ("--lr \'{1e-3,1e-2}\' --seeds 1,2"): kept, *id, and worked on. */
int sweeping_begin(struct sweeping *w, const char *line, int64_t *id, struct err *e);
/* What a sweep lacks; with further seeds ("4,5") or options with further values ("--lr '{1e-2,3e-2}'") in
 * `more`, NULL: none. */
int sweeping_go(struct sweeping *w, int64_t id, const char *more, struct err *e);
/* Asks all who work on it, in any process, to stop. */
int sweeping_stop(struct sweeping *w, int64_t id, struct err *e);
/* Begins what there is room for, of each.  *left: how many are still worked on; *said: a line for the user,
 * or NULL (caller frees). */
int sweeping_step(struct sweeping *w, int *left, char **said, struct err *e);

#endif
