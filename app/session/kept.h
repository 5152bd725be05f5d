/* What a user keeps of runs beside what they are: tags, pins and notes; and deleting them for good.  Done in
 * the background, answered with a sentence. */
#ifndef APP_SESSION_KEPT_H
#define APP_SESSION_KEPT_H

#include "app/history/purge.h"
#include "store/store.h"

/* The tag of pinned runs, which Runs lists first: `petri tag RUN pinned` pins too. */
#define KEPT_PIN "pinned"
bool kept_has_tag(const char *tags, const char *tag);
/* Pins the runs, or, where all are pinned, takes the pins away.  *said: what was done, static. */
int kept_pin(struct store *s, const int64_t *run, size_t runs, const char **said, struct err *e);
/* The tags of `typed` ("good, talk"): of one run in place of those that it has, to several besides. */
int kept_tag(struct store *s, const int64_t *run, size_t runs, const char *typed, struct err *e);
/* "3 runs, 12 files, 5,120,000 bytes". */
void kept_sum_words(size_t runs, const struct purge_sum *sum, char out[128]);

#endif
