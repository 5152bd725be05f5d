/* Episodes made by rule, for tests of what is done with them. */
#ifndef TESTS_SUPPORT_EPISODES_H
#define TESTS_SUPPORT_EPISODES_H

#include "core/train/meta/meta.h"

struct made_episode {
    struct dataset data;
    struct episode episode;
};

/* `batches` of `rows` rows each and a query of `query`, of `classes` classes in turn; ids by rule from `number` and below
 * `vocabulary`, 3 to 6 tokens a row. */
void episode_make(struct made_episode *e, int number, int classes, int batches, int rows, int query, int vocabulary);
void episode_release(struct made_episode *e);

/* A plan over episodes on a model, and what it is computed with. */
struct meta_rig {
    struct meta meta;
    struct plan *plan;
    struct meta_bench bench;
    struct meta_room room;
    real *params;
};
/* `regime` as text; values moved by N(0, 0.1) from their start, rates left. */
void meta_rig_open(struct meta_rig *r, const struct model *m, const char *method, const char *regime);
void meta_rig_close(struct meta_rig *r);

#endif
