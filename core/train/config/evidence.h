/* Decides which runs count in means, intervals, pairs, effects and ranks.
 *
 * Training is deterministic: a run with the description, seed and data of another repeats it and adds no
 * evidence.  Of the runs that share a key one counts: the first where their weights are equal, the newest
 * where they differ, as they do after a change of the processor or of the program. */
#ifndef CORE_TRAIN_CONFIG_EVIDENCE_H
#define CORE_TRAIN_CONFIG_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"

/* Writes the SHA-256 of what determines a run's result: its description with the hashes of model, training
 * and validation data (config_key), the parameters that it was initialized from, its teachers, and its
 * few-shot settings.  Name and note are not part of it; the seed is unless EVIDENCE_ANY_SEED.  `config` is
 * the stored JSON; `parent` the run that a few-shot run adapts, or 0.  Returns 0, or an error code, with ""
 * in `out`, for a description that cannot be read. */
enum evidence_of { EVIDENCE_RUN, EVIDENCE_ANY_SEED };
int evidence_key(const char *config, int64_t parent, enum evidence_of of, char out[65], struct err *e);

/* A finished run with a value. */
struct evidence {
    const char *key;     /* evidence_key; NULL or "": repeats no other run */
    const char *weights; /* SHA-256 of the trained parameters; NULL: unknown */
    int64_t run, ended;  /* id, and when it finished, in UTC milliseconds */
    int64_t counted; /* set by evidence_settle: the run that counts for this key; its own id for that run */
    bool differs;        /* set by evidence_settle: runs of this key have different weights */
};
/* Sets `counted` and `differs` of n finished runs.  The result does not depend on their order. */
void evidence_settle(struct evidence *of, size_t n);

#endif
