/* Evidence keys (core/train/config/evidence.h) for the rows of Runs, so that a group counts a repeated run
 * once. */
#ifndef APP_SESSION_RUN_KEYS_H
#define APP_SESSION_RUN_KEYS_H

#include "store/store.h"
#include "views/runs.h"

/* A cache of computed keys: the config of a run never changes. */
struct run_keys {
    struct run_key {
        int64_t run;
        char key[65];
    } *of; /* sorted by run */
    size_t count, room;
};
void run_keys_release(struct run_keys *k);
/* Sets `evidence` of the rows that may repeat another one, as far as the list shows; row[i] is
 * runs->run[i]. *keys is their storage, which the caller frees, also after a failure. */
int run_keys_fill(struct run_keys *k, struct store *s, const struct store_runs *runs, struct run_row *row,
                  char (**keys)[65], struct err *e);

#endif
