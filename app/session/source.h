/* What a run would train on: its model's shape, its tasks' rows and classes, how long its texts are. */
#ifndef APP_SESSION_SOURCE_H
#define APP_SESSION_SOURCE_H

#include "core/model/arch.h"
#include "core/train/config/complete.h"

struct source_facts {
    bool ok;                  /* the model was read */
    bool rows;                /* the rows were read */
    struct arch arch;
    struct run_config config; /* as asked */
    char *model, *task;       /* names to show */
    int classes, outputs[RUN_TASKS]; /* outputs: of several tasks, each one's */
    bool texts;            /* source and target texts */
    struct config_rows_facts of[RUN_TASKS]; /* paths and classes owned */
    size_t train_rows, dev_rows;
    double tokens, targets;   /* of a train row on average, as it is cut, by some of them; 0: not known */
};
/* Reads a config's model and rows; on failure *out holds what could be read.  source_facts_free. */
int source_facts_read(const struct run_config *c, struct source_facts **out, struct err *e);
void source_facts_free(struct source_facts *s); /* NULL is no work */

#endif
