/* A run's description from options as somebody typed them: one run's, or a sweep's cell. */
#ifndef APP_JOBS_TYPED_H
#define APP_JOBS_TYPED_H

#include "core/train/config/config.h"

struct typed_option {
    const char *spelling; /* any that config_set knows */
    const char *value;    /* "on" for a switch */
};
/* Sets the n options in their order on *c, which has its defaults or what another run gave it, then the
 * default model and task where there are none.  ERR_USAGE for an option given under two spellings and for
 * those that exclude one another. */
int typed_config(const struct typed_option *o, int n, struct run_config *c, struct err *e);
/* The same on what another run was made with (config_reuse): the n options replace its own.  Other rows
 * (task, train, tasks) take the place of its rows with all that said how those are read. */
int typed_onto(const struct typed_option *o, int n, struct run_config *c, struct err *e);

#endif
