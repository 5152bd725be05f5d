/* The identity of a model besides its weights: config values that affect the computation, and the files of
 * its tokenizer.
 *
 * One line of NAME=VALUE separated by blanks: "activation=gelu heads=12 … vocab.txt=<SHA-256>".  A run stores
 * it, so that a model that changed since can be detected and the change named. */
#ifndef CORE_MODEL_FACTS_H
#define CORE_MODEL_FACTS_H

#include "core/model/model.h"

/* Fills m->facts and m->fingerprint, after everything else is loaded.  ERR_INPUT or ERR_SYSTEM for a file
 * that cannot be read. */
int facts_fill(struct model *m, struct err *e);
/* Returns 0 when the model matches `was`, the facts of a run; otherwise ERR_INPUT, naming the file and the
 * difference, or an unsupported setting in a changed generation_config.json.  A config value known to only
 * one side is ignored: it comes from another version of this program.  `since`: "the run was trained", for
 * the message. */
int facts_check(const struct model *m, const char *was, const char *since, struct err *e);
/* Returns whether the facts are those of a decoder-only model. */
bool facts_are_causal(const char *facts);

#endif
