/* An attachment from within, shared by attach.c (lifetime and steps), attach_hooks.c (the hooks of a
 * forward pass), attach_use.c (the interface of functions), attach_vector.c (the vector of an example and
 * what is generated from it) and attach_heads.c. Private to core/method. */
#ifndef CORE_METHOD_ATTACH_IN_H
#define CORE_METHOD_ATTACH_IN_H

#include "core/method/attach.h"
#include "core/method/fusion.h"
#include "core/method/example_weights.h"
#include "core/model/joined.h"

/* Dropout treats a prefix as a separate sequence, the same in every shard of a step. */
struct prefix_rows {
    int start[2];
    uint64_t id[1];
    struct tape_rows rows;
};

/* Tokens grouped by task, in reused memory. */
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
    /* module × place × SLOT_COUNT: generated tensor (per-example ones after the others), or -1 */
    int *generated_at;
    /* model tensor: plan tensor that replaces it (generated ones after the others), or -1 */
    int *of_model;
    unsigned *used_taps; /* place: bit t: tap t is read or written */
    uint64_t *drop;   /* module × place × 2: dropout sites */
    struct use_values *room; /* module × place: memory requested by a function */
    struct prefix_rows *prefix; /* one per module */
    node *leaf, *generated;     /* of this shard */
    int *start;       /* 0 … rows: each pooled row is a sequence of one row */
    size_t start_room;
    int task;                 /* of batches without ranges */
    const struct plan_tensor *table; /* trained by rows, or NULL */
    bool inner;               /* only gradients of tensors adapted by an inner loop */
    struct tape_rows *pooled; /* one per task */
    struct groups_room groups[2]; /* of the encoder's tokens, of the decoder's */
    int *example_task;
    size_t example_task_room;
    int *counted;
    size_t counted_room;
    struct example_weights *rows; /* per-example weights; NULL: none */
    struct fused fused;
    node vector;       /* the retriever's, if computed within the encoder pass */
    int pass;          /* number of the encoder pass, from 1 */
    bool vectors_only; /* the decoder does not run */
};

/* ---- places ---- */

size_t attach_place_at(const struct attach *a, const struct site *s);
/* Return for each slot of a module at a place the index of the plan's tensor, or -1, and of the generated
 * tensor (per-example ones are numbered after the plan's). */
int *attach_slots(const struct attach *a, int module, size_t place);
int *attach_generated_slots(const struct attach *a, int module, size_t place);
/* Returns the module's two dropout sites there. */
uint64_t *attach_drop(const struct attach *a, int module, const struct site *s);

/* ---- what takes what ---- */

/* Return whether a module has separate values per task, and whether they are generated per example. */
bool attach_by_task(const struct attach *a, int module);
bool attach_per_example(const struct attach *a, int module);
/* Returns the task of each row of the batch. */
const int *attach_example_tasks(struct attach *a, const struct batch *b);
/* Returns the value of a model tensor that is trained or generated, or NODE_NONE. */
node attach_weight(const struct attach *a, int tensor);

/* ---- hooks ---- */

/* Returns the hooks of the plan, whose `self` is the attachment. */
struct hooks attach_hooks(struct attach *a);
/* A hook of struct hooks: called when the encoder reaches a layer. */
bool attach_reached(void *self, struct tape *t, const struct forward *f, int layer, node x);

#endif
