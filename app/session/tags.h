/* Tags, pins and notes of runs, and their permanent deletion.  Run in the background; each returns a
 * message. */
#ifndef APP_SESSION_TAGS_H
#define APP_SESSION_TAGS_H

#include "app/history/purge.h"
#include "store/store.h"

/* The tag of pinned runs, which Runs lists first: `petri tag RUN pinned` pins too. */
#define TAG_PINNED "pinned"
bool tags_have(const char *tags, const char *tag);
/* Pins the runs, or unpins them if all are pinned.  *message: a static message. */
int tags_pin(struct store *s, const int64_t *run, size_t runs, const char **message, struct err *e);
/* Sets the tags in `typed` ("good, talk"): for one run they replace its tags, for several they are added. */
int tags_set(struct store *s, const int64_t *run, size_t runs, const char *typed, struct err *e);
/* Writes "3 runs, 12 files, 5,120,000 bytes". */
void purge_sum_text(size_t runs, const struct purge_sum *sum, char out[128]);

#endif
