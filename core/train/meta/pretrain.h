/* A model from nothing: of texts, a vocabulary and an untrained BERT, and the description of a run that
 * trains it by masked words (masking.h).  The folder that it makes holds all that the run reads, its texts
 * too, so that the run goes on whatever becomes of the files. */
#ifndef CORE_TRAIN_META_PRETRAIN_H
#define CORE_TRAIN_META_PRETRAIN_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/model/fresh.h"
#include "core/train/config/config.h"

struct pretrain {
    const char *const *text; /* files, a text a line */
    int texts;
    const char
        *dev; /* or NULL: a part of the texts is held out, 2 % or one at least where the config says none */
    struct fresh model;
    int vocabulary;          /* tokens at most */
};

/* What such a run has by itself: the whole model trained, masked words, AdamW at 1e-3 with a warm-up and
 * weight decay, batches of 64 texts, no dropout. */
void pretrain_usual(struct run_config *c);
/* Makes the folder parent/NAME-KEY, of a name and what it is made of: the same texts, shape and seed give the
 * same folder, which is made once.  c (pretrain_usual, with what was asked for over it) becomes the run on
 * it.  `report` gets lines; *made: whether the folder is new.  ERR_INPUT names the file; ERR_USAGE in the
 * words of petri pretrain's options. */
int pretrain_begin(const struct pretrain *p, const char *parent, const char *name, struct run_config *c,
                   bool *made, struct buf *report, struct err *e);
/* Takes the folder of such a run away, which could not be begun. */
void pretrain_undo(const struct run_config *c);

#endif
