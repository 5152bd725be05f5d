/* An attachment from within: what attach.c (its life and its steps), attach_hooks.c (what a forward pass asks
 * of it), attach_use.c (what a function at work asks), attach_vector.c (a row's own vector, and what is made
 * of it) and attach_heads.c share. Private to core/method. */
#ifndef CORE_METHOD_ATTACH_IN_H
#define CORE_METHOD_ATTACH_IN_H

#include "core/method/attach.h"
#include "core/method/fusion.h"
#include "core/method/rows.h"
#include "core/model/joined.h"

/* A prefix is dropped as a sequence of its own, the same in every shard of a step. */
struct prefix_rows {
    int start[2];
    uint64_t id[1];
    struct tape_rows rows;
};

/* Tokens by task, in memory that is used again. */
struct groups_room {
    struct row_groups groups;
    int *start, *block;
    size_t start_room, block_room;
};

struct use_values {
    real *value;
    size_t room;
};

struct attach {
    const struct plan *p;
    const struct model *m;
    struct hooks hooks;
    struct tape *tape;
    int layers;       /* of the deeper stack */
    size_t places;    /* stack × sublayer × (layer + 1): the embedding is layer -1 */
    int *slot;        /* module × place × SLOT_COUNT: plan tensor, or -1 */
    int *made_at;     /* module × place × SLOT_COUNT: made tensor (behind them: of rows), or -1 */
    int *of_model;    /* model tensor: plan tensor in its place (behind them: made tensor), or -1 */
    unsigned *wanted; /* place: bit t: tap t is read or written */
    uint64_t *drop;   /* module × place × 2: dropout sites */
    struct use_values *room; /* module × place: what a function asked room for */
    struct prefix_rows *prefix; /* one a module */
    node *leaf, *made;          /* of this shard */
    int *start;       /* 0…rows: a pooled row is a sequence of one */
    size_t start_room;
    int task;                 /* of batches without ranges */
    bool inner;               /* gradients of what an inner loop adapts alone */
    struct tape_rows *pooled; /* one a task */
    struct groups_room groups[2]; /* of the encoder's tokens, of the decoder's */
    int *row_task;
    size_t row_task_room;
    int *counted;
    size_t counted_room;
    struct rows *rows; /* what is made for each row; NULL: nothing is */
    struct fused fused;
    node vector;       /* the retriever's, where it was made on the way */
    int pass;          /* of the encoder's passes, from 1 */
    bool vectors_only; /* the decoder does not run */
};

/* ---- places ---- */

size_t attach_place_at(const struct attach *a, const struct site *s);
/* The plan's tensor of each slot of a module at a place, or -1; the same of made ones (of a row's: behind the
 * plan's). */
int *attach_slots(const struct attach *a, int module, size_t place);
int *attach_made_slots(const struct attach *a, int module, size_t place);
/* The module's two dropout sites there. */
uint64_t *attach_drop(const struct attach *a, int module, const struct site *s);

/* ---- what takes what ---- */

/* Whether a module's values are one block a task; whether they are made for each row of a batch. */
bool attach_by_task(const struct attach *a, int module);
bool attach_by_row(const struct attach *a, int module);
/* The task of each row of the batch. */
const int *attach_row_tasks(struct attach *a, const struct batch *b);
/* What stands in the place of a tensor of the model, or NODE_NONE: one that is trained, or made. */
node attach_weight(const struct attach *a, int tensor);

/* ---- hooks ---- */

/* Those of the plan, whose `self` is the attachment. */
struct hooks attach_hooks(struct attach *a);
/* Of struct hooks: the encoder has come to a layer. */
bool attach_reached(void *self, struct tape *t, const struct forward *f, int layer, node x);

#endif
