/* Pretraining from scratch: creates a vocabulary from texts, an untrained BERT, and the config of a run that
 * trains it by masked language modeling (masking.h). The folder contains everything that the run reads,
 * including the texts, so that it can resume without the original files. */
#ifndef CORE_TRAIN_META_PRETRAIN_H
#define CORE_TRAIN_META_PRETRAIN_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/model/fresh.h"
#include "core/train/config/config.h"

struct pretrain {
    const char *const *text; /* files with one text per line */
    int texts;
    const char
        *dev; /* or NULL: a share of the texts is held out, by default 2%, at least one text */
    struct fresh model;
    int vocabulary;          /* maximum number of tokens */
};

/* Sets the defaults of such a run: full training, masked language modeling, AdamW with learning rate 1e-3,
 * warm-up and weight decay, batch size 64, no dropout. */
void pretrain_defaults(struct run_config *c);
/* Creates the folder parent/NAME-KEY, where the key is that of its content: the same texts, architecture and
 * seed give the same folder, which is created once. c (pretrain_defaults, overridden by options) becomes the
 * config of the run on it. Appends lines to `report`; *made: whether the folder is new. ERR_INPUT names the
 * file; ERR_USAGE the option of petri pretrain. */
int pretrain_begin(const struct pretrain *p, const char *parent, const char *name, struct run_config *c,
                   bool *made, struct buf *report, struct err *e);
/* Removes the folder of a run that could not be started. */
void pretrain_undo(const struct run_config *c);

#endif
