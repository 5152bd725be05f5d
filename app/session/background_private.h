/* What desk.c and desk_rows.c share. */
#ifndef APP_SESSION_BACKGROUND_PRIVATE_H
#define APP_SESSION_BACKGROUND_PRIVATE_H

#include "app/session/background.h"
#include "app/session/result_cache.h"

/* All rows; those that do not pass the filter (NULL: all do) are marked so.  tasks: what each task of runs with
 * several came to is read too; NULL: not. */
int desk__runs(struct store *s, bool trash, const char *filter, struct desk_tasks *tasks, struct desk_runs **out,
               struct err *e);
int desk__detail(struct store *s, int64_t run, struct desk_detail **out, struct err *e);

#endif
