/* The config of a run from typed options: of one run, or of a sweep's cell. */
#ifndef APP_JOBS_TYPED_H
#define APP_JOBS_TYPED_H

#include "core/train/config/config.h"

struct typed_option {
    const char *spelling; /* as for config_set */
    const char *value;    /* "on" for a switch */
};
/* Sets the n options in order on *c, which has its defaults or the config of another run, then the default
 * model and task if there are none.  ERR_USAGE for an option given under two spellings, and for options
 * that exclude each other. */
int typed_config(const struct typed_option *o, int n, struct run_config *c, struct err *e);
/* Sets them on the config of another run (config_reuse): the n options replace its own.  Other data (task,
 * train, tasks) replaces its data with all settings of reading it. */
int typed_onto(const struct typed_option *o, int n, struct run_config *c, struct err *e);

#endif
