/* What a model is beside the numbers of its weights: the values of its config that decide what it
 * computes, and the files that texts are read by.
 *
 * One line of NAME=VALUE with blanks between: "activation=gelu heads=12 … vocab.txt=<SHA-256>".  A run
 * keeps it, so that a model which changed since is noticed and what changed can be named. */
#ifndef CORE_MODEL_FACTS_H
#define CORE_MODEL_FACTS_H

#include "core/model/model.h"

/* Fills m->facts and m->fingerprint: everything else is loaded.  ERR_INPUT or ERR_SYSTEM for a file
 * that cannot be read. */
int facts_fill(struct model *m, struct err *e);
/* 0 when the model is what `was` says, the facts of a run; else ERR_INPUT, naming the file and what is
 * different, or what is wrong in a generation_config.json that is another and cannot be followed.  A value
 * of the config that only one side knows is not compared: it comes from another version of this program.
 * `since`: "the run was trained", in the message. */
int facts_check(const struct model *m, const char *was, const char *since, struct err *e);

#endif
