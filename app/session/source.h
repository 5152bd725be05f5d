/* Facts about the model and data of a run: the model's shape, its tasks' examples and classes, the length
 * of texts. */
#ifndef APP_SESSION_SOURCE_H
#define APP_SESSION_SOURCE_H

#include "core/model/arch.h"
#include "core/train/config/complete.h"

struct source_facts {
    bool ok;                  /* the model was read */
    bool rows;                /* the data was read */
    struct arch arch;
    struct run_config config; /* as requested */
    char *model, *task;       /* names to show */
    int classes, outputs[RUN_TASKS]; /* outputs: per task, with several */
    bool texts;            /* source and target texts */
    struct config_data_facts of[RUN_TASKS]; /* paths and classes owned */
    size_t train_rows, dev_rows;
    double tokens, targets;   /* mean of a truncated training example, from a sample; 0: unknown */
    double squares, longest;  /* of the lengths of sources in the sample: mean square and maximum */
    double data_bytes;        /* of all examples with their tokens */
};
/* Reads a config's model and data; on failure *out contains what could be read.  Release with
 * source_facts_free. */
int source_facts_read(const struct run_config *c, struct source_facts **out, struct err *e);
void source_facts_free(struct source_facts *s); /* NULL is ignored */

#endif
