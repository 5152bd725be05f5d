/* A stored run: its record and its parsed config.  The only place above core where a stored config is
 * parsed. */
#ifndef APP_HISTORY_RECORD_H
#define APP_HISTORY_RECORD_H

#include "core/train/config/config.h"
#include "store/store.h"

struct run_record {
    struct store_run row; /* whole */
    struct run_config config;
};
/* Opens a run; release with record_release.  On failure nothing is allocated: ERR_NOT_FOUND, or ERR_INPUT
 * for an invalid config. */
int record_open(struct store *s, int64_t run, struct run_record *out, struct err *e);
void record_release(struct run_record *r);

/* Reads only the config of a run; release with config_release, nothing to release on failure. */
int record_config(struct store *s, int64_t run, struct run_config *out, struct err *e);
/* Reads the config of a record that is already loaded (whole). */
int record_config_of(const struct store_run *row, struct run_config *out, struct err *e);
/* Parses the stored text of a config; e may be NULL. */
int record_config_text(const char *json, struct run_config *out, struct err *e);

#endif
