/* What desk.c and desk_rows.c share. */
#ifndef APP_DESK_PRIVATE_H
#define APP_DESK_PRIVATE_H

#include "app/desk.h"

/* All rows; those that do not pass the filter (NULL: all do) are marked so. */
int desk__runs(struct store *s, bool trash, const char *filter, struct desk_runs **out, struct err *e);
int desk__detail(struct store *s, int64_t run, struct desk_detail **out, struct err *e);

#endif
