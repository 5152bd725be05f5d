/* Sweeps on the screen: their list and pages in the data structures of the Sweep screen, and the sweeps run
 * by this process. */
#ifndef APP_SESSION_SWEPT_H
#define APP_SESSION_SWEPT_H

#include "app/jobs/jobs.h"
#include "app/sweep/comparison.h"
#include "views/sweep.h"

/* The list, and the page of one sweep (page.id 0: none). */
struct swept_page {
    struct sweep_page page; /* owns the pointers below */
    struct sweep_item *item;
    int items;
    struct side_by_side cells;
    struct compared_effects effects;
    struct compared_evidence *evidence; /* of each cell */
    struct sweep_tile *tile;
    struct sweep_effect *effect;
    int *shown_axis;
    int64_t **run;          /* of each cell */
    char **text;            /* owned */
    int texts;
};
struct sweeping;
/* Reads them; id 0: only the list.  `work` (may be NULL) marks those run by this process. */
int swept_page_read(struct store *s, int64_t id, const struct sweeping *work, struct swept_page **out,
                    struct err *e);
void swept_page_free(struct swept_page *p); /* NULL is ignored */

/* The sweeps run by this process; used by one thread.  Free it after their runs have ended or the jobs are
 * gone. */
struct sweeping *sweeping_new(struct store *s, struct jobs *j);
void sweeping_free(struct sweeping *w);
/* Creates a sweep from a line as for `petri sweep` ("--lr \'{1e-3,1e-2}\' --seeds 1,2"), and starts it;
 * *id: its id. */
int sweeping_begin(struct sweeping *w, const char *line, int64_t *id, struct err *e);
/* Starts the missing runs of a sweep; `more`: further seeds ("4,5") or options with further values ("--lr
 * '{1e-2,3e-2}'"); NULL: none. */
int sweeping_go(struct sweeping *w, int64_t id, const char *more, struct err *e);
/* Asks all processes that run it to stop. */
int sweeping_stop(struct sweeping *w, int64_t id, struct err *e);
/* Starts as many runs of each as there is room for.  *left: sweeps still running; *message: a message, or
 * NULL (caller frees). */
int sweeping_step(struct sweeping *w, int *left, char **message, struct err *e);

#endif
