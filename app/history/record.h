/* A stored run, opened: its row and the config that it was made with.  The one place above core where a
 * stored config is read. */
#ifndef APP_HISTORY_RECORD_H
#define APP_HISTORY_RECORD_H

#include "core/train/config/config.h"
#include "store/store.h"

struct run_record {
    struct store_run row; /* whole */
    struct run_config config;
};
/* Opens a run; record_release.  On failure nothing is held: ERR_NOT_FOUND, or ERR_INPUT for a config that
 * cannot be read. */
int record_open(struct store *s, int64_t run, struct run_record *out, struct err *e);
void record_release(struct run_record *r);

/* Reads only the config of a run; config_release, on failure nothing. */
int record_config(struct store *s, int64_t run, struct run_config *out, struct err *e);
/* The same of a row (whole) that is at hand. */
int record_config_of(const struct store_run *row, struct run_config *out, struct err *e);
/* The same of the stored text; e may be NULL. */
int record_config_text(const char *json, struct run_config *out, struct err *e);

#endif
