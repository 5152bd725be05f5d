/* What background.c shares with its parts: rows and pages of the history in background_rows.c, what is done
 * to runs in background_act.c, what a run would train on in background_source.c. */
#ifndef APP_SESSION_BACKGROUND_PRIVATE_H
#define APP_SESSION_BACKGROUND_PRIVATE_H

#include "app/session/background.h"
#include "app/session/result_cache.h"

/* What is said to whoever asked. */
void background__say(struct background_answer *a, enum say how, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

struct background_place {
    struct store *store;
    struct jobs *jobs;
};
/* BACKGROUND_CLONE to _PURGE and the like, and _TABLE, _EXPORT, _PNG. */
int background__act(const struct background_place *p, const struct background_order *o,
                    struct background_answer *a, struct err *e);
/* BACKGROUND_SOURCE. */
int background__source(const struct background_order *o, struct background_answer *a, struct err *e);

/* All rows; those that do not pass the filter (NULL: all do) are marked so.  tasks: what each task of runs
 * with several came to is read too; NULL: not. */
int background__runs(struct store *s, bool trash, const char *filter, struct result_cache *tasks,
                     struct history_rows **out, struct err *e);
int background__page(struct store *s, int64_t run, struct run_page **out, struct err *e);

#endif
