/* Texts from an encoder–decoder model: greedy or by beam search, with cached keys and
 * values.
 *
 * Sources are cut into groups that depend on nothing but the sources and the number of
 * beams; a group's live rows are one batch, so a text is the same for any number of
 * workers.  A method comes in through the hooks that its owner begins on each tape.
 *
 * In generate.c; what a folder says of it in generate_options.c. */
#ifndef CORE_MODEL_GENERATE_H
#define CORE_MODEL_GENERATE_H

#include <stddef.h>

#include "core/base/crew.h"
#include "core/model/cache.h"
#include "core/model/generate_search.h"
#include "core/model/model.h"

enum { GENERATE_MOST = LONGEST_TEXT }; /* new tokens, where the model's positions allow as many */

/* What the folder's generation_config.json says, or its config.json where there is none, and
 * the library's defaults (greedy, 20 new tokens).  Settings that petri does not follow
 * (sampling and the like) are said in `report` (may be NULL).  ERR_USAGE when the model has
 * no decoder. */
int generate_defaults(const struct model *m, struct generate_options *out, struct buf *report,
                      struct err *e);
/* The same from a generation_config.json in memory; `name` stands in messages. */
int generate_parse(const struct arch *a, const char *name, const char *bytes, size_t n,
                   struct generate_options *out, struct buf *report, struct err *e);
/* ERR_USAGE names the first option that is out of its range for the model. */
int generate_check(const struct model *m, const struct generate_options *o, struct err *e);

/* Encoded sources, packed: row i is ids[start[i]] … ids[start[i+1]-1], none of them empty.
 * A dataset's own arrays will do. */
struct generate_sources {
    size_t rows;
    const size_t *start;
    const int32_t *ids;
};

/* A text: its ids without the start token, with the end token where it ended by one. */
struct generated {
    int32_t *ids; /* count, owned: generated_release */
    int count;
    double score; /* a beam search's: log-probability by length to the penalty; else 0 */
};
void generated_release(struct generated *g, size_t n); /* frees each one's ids */

/* All of these must outlive the generation. */
struct generation {
    const struct model *model;
    const struct generate_options *options;
    const struct generate_sources *sources;
    int groups;
    size_t *first; /* groups+1: group g is the rows first[g] … first[g+1]-1; owned */
};
void generation_init(struct generation *g, const struct model *m, const struct generate_options *o,
                     const struct generate_sources *s);
void generation_release(struct generation *g);

/* What one thread generates with. */
struct generate_memory {
    struct tape *tape;           /* reset before each step; its arena is `arena` */
    struct arena *arena;
    struct decode_cache *cache;  /* of the same model */
    /* Begins the method's hooks on the tape, after each reset; NULL: the model as it is. */
    const struct hooks *(*begin)(void *self, struct tape *t);
    void *self;
    /* Asked before each step; true ends the work with ERR_INTERRUPTED.  NULL: never. */
    bool (*stop)(void *stop_self);
    void *stop_self;
    size_t lacks;                /* set by generation_group: bytes that could not be allocated; 0: none */
};
/* Fills out[i] for the rows i of one group.  ERR_FAILED names the first row whose logits
 * are not finite (counted from 1); ERR_SYSTEM: out of memory.  On failure the group's rows are left empty. */
int generation_group(const struct generation *g, int group, struct generate_memory *memory,
                     struct generated *out, struct err *e);

/* A method for a crew: `open` makes what one worker begins with (NULL: nothing). */
struct generate_method {
    void *self;
    void *(*open)(void *self);
    const struct hooks *(*begin)(void *opened, struct tape *t);
    void (*close)(void *opened);
};
/* Told of finished rows in their order, by any worker, one at a time. */
struct generate_watch {
    void *self;
    void (*row)(void *self, size_t row, const struct generated *text);
    bool (*stop)(void *self); /* asked by all workers before each step */
};
/* All groups by a crew, which is waited for; NULL: on the caller's thread.  method and watch may be NULL.
 * out: one a row, released by the caller with generated_release, also on failure. */
int generate_rows(const struct generation *g, const struct generate_method *method, struct crew *crew,
                  const struct generate_watch *watch, struct generated *out, struct err *e);

#endif
