/* Text generation: greedy search, sampling or beam search, with cached keys and values.  The sources are the inputs of an
 * encoder–decoder model, or the prompts that a decoder-only model continues.
 *
 * Sources are partitioned into groups that depend only on the sources and the number of beams; the live rows
 * of a group are one batch, so a text is the same for any number of workers.  A method takes part through the
 * hooks that its owner sets up on each tape.
 *
 * In generate.c; settings of a model folder in generate_options.c. */
#ifndef CORE_MODEL_GENERATE_H
#define CORE_MODEL_GENERATE_H

#include <stddef.h>

#include "core/base/crew.h"
#include "core/model/cache.h"
#include "core/model/generate_search.h"
#include "core/model/model.h"

enum { GENERATE_MOST = MAX_TEXT_TOKENS }; /* new tokens, as far as the model's positions allow */
#define SAMPLE_LEAST 1e-3 /* bounds of temperatures and penalties */
#define SAMPLE_MOST 1e3

/* Reads the settings of the folder's generation_config.json, or of config.json without it, and the defaults
 * (greedy; 20 new tokens, 256 of a decoder-only model, whose "max_length" is ignored).  Sampling is off; its
 * settings are those of the file, else those of the library (top_k 50).  Unsupported settings are reported in `report` (may be NULL).  ERR_USAGE when the model is an encoder. */
int generate_defaults(const struct model *m, struct generate_options *out, struct buf *report,
                      struct err *e);
/* Reads a generation_config.json from memory; `name` is used in messages. */
int generate_parse(const struct arch *a, const char *name, const char *bytes, size_t n,
                   struct generate_options *out, struct buf *report, struct err *e);
/* Adds an id to the end tokens of generated texts; -1: none. */
void generate_end_with(struct generate_options *o, int32_t id);
/* ERR_USAGE names the first option that is out of range for the model. */
int generate_check(const struct model *m, const struct generate_options *o, struct err *e);

/* Encoded sources, packed: row i is ids[start[i]] … ids[start[i+1]-1], not empty.  May refer to the arrays of
 * a dataset. */
struct generate_sources {
    size_t rows;
    const size_t *start;
    const int32_t *ids;
};

/* Why a text ended. */
enum generated_end {
    GENERATED_ENDED,   /* with an end token */
    GENERATED_LONGEST, /* at the maximum number of new tokens */
    GENERATED_STOPPED, /* with a stop text */
    GENERATED_FULL,    /* before the maximum, where the context of a decoder-only model was full */
};

/* "token", "length", "stop" or "context". */
const char *generated_end_name(enum generated_end end);

/* A generated text: its new ids, with the end token if it ended with one. */
struct generated {
    int32_t *ids; /* count, owned: generated_release */
    int count;
    double score; /* beam search: log-probability divided by length to the power of the penalty; otherwise
                     0 */
    enum generated_end end;
};
void generated_release(struct generated *g, size_t n); /* frees the ids of each */
/* Appends the text of n new ids without special tokens, up to the first stop text; returns whether there is one.
 */
bool generated_text(const struct model *m, const struct generate_options *o, const int32_t *ids, int n,
                    struct buf *out);

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

/* The tokens whose keys and values a cache has stored, so that a text that begins like the previous one continues
 * there. */
struct generate_stored {
    int32_t *ids; /* owned: free() */
    size_t room;
    int count;
    int added;    /* rows of a method before or among them */
};

/* Resources of one thread. */
struct generate_memory {
    struct tape *tape;           /* reset before each step; its arena is `arena` */
    struct arena *arena;
    struct decode_cache *cache;  /* for the same model */
    /* Sets up the method's hooks on the tape, after each reset; NULL: the pretrained model. */
    const struct hooks *(*begin)(void *self, struct tape *t);
    void *self;
    /* Called before each step; true stops with ERR_INTERRUPTED.  NULL: never. */
    bool (*stop)(void *stop_self);
    void *stop_self;
    /* Called after each step of a search with one beam: its source, its next token, and the logits that it was
     * chosen from.  NULL: never. */
    void (*token)(void *token_self, size_t row, int32_t id, const real *logits);
    void *token_self;
    /* With groups of one source and one beam, and the same method as before: continues the stored tokens.  NULL:
     * every prompt is computed. */
    struct generate_stored *stored;
    size_t lacks;                /* set by generation_group: bytes that could not be allocated; 0: none */
};
/* Generates out[i] for the rows i of one group.  ERR_FAILED names the first row with NaN or infinite logits
 * (counted from 1); ERR_SYSTEM: out of memory.  On failure the rows of the group are empty. */
int generation_group(const struct generation *g, int group, struct generate_memory *memory,
                     struct generated *out, struct err *e);

/* A method for a crew: `open` creates the state of one worker (NULL: none). */
struct generate_method {
    void *self;
    void *(*open)(void *self);
    const struct hooks *(*begin)(void *opened, struct tape *t);
    void (*close)(void *opened);
};
/* Receives finished rows in order, from any worker, one call at a time. */
struct generate_watch {
    void *self;
    void (*row)(void *self, size_t row, const struct generated *text);
    bool (*stop)(void *self); /* called by all workers before each step */
};
/* Generates all groups on a crew and waits; crew NULL: on the calling thread.  method and watch may be NULL.
 * out: one per row, released by the caller with generated_release, also on failure. */
int generate_rows(const struct generation *g, const struct generate_method *method, struct crew *crew,
                  const struct generate_watch *watch, struct generated *out, struct err *e);

#endif
