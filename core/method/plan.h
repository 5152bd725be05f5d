/* What a method is on a given model: every tensor that is trained, made or kept, with
 * its place in one flat block.  The one counting routine: screen, run record, checks
 * and files all read this list. */
#ifndef CORE_METHOD_PLAN_H
#define CORE_METHOD_PLAN_H

#include "core/method/space.h"
#include "core/model/arch.h"
#include "core/model/model.h"

enum { PLAN_NAME = 160, PLAN_TASK = 64 }; /* bytes of a tensor's and of a task's name, NUL included */

enum plan_kind {
    PLAN_OWN,   /* a new tensor of a module */
    PLAN_MODEL, /* a copy of a model tensor, trained in its place */
    PLAN_HEAD,  /* a task's classification head (and a pooler that the file lacks) */
    PLAN_NETWORK, /* of the method as a whole: retriever, generator */
};

struct plan_tensor {
    char name[PLAN_NAME]; /* "enc.3.self/lora.0.q.W_d", "head.weight", of several tasks
                           * "TASK/head.weight", or the model's name */
    enum plan_kind kind;
    int module;         /* index in the method, -1 for the head */
    int stack, site;    /* enum stack, enum sublayer; the head: encoder, embed */
    int layer, tensor;  /* layer -1: all; index of the model's tensor for PLAN_MODEL */
    int task;           /* PLAN_HEAD: whose */
    int blocks;         /* 1; or one block of rows a task, one above another */
    int64_t rows, cols; /* all blocks together; beyond plan_fits of counts alone */
    size_t offset, count; /* in the flat block, in reals */
    bool kept;          /* false: needed only while training (a prefix's MLP) */
    bool decays;        /* weight decay applies: matrices, not vectors */
    int generator;      /* of a generator's: which one */
    int64_t fan;        /* of what such a head makes: its columns, 1 of a vector */
    int place, of_slot; /* of a generator's head: which place, which slot it makes */
    double start;       /* of the bias of such a head: what it begins as */
    int role;           /* private to core/method */
    bool pooler;        /* the model's own */
    bool inner, outer;  /* over episodes: the inner loop adapts it, the outer one learns it */
    int rate;           /* of inner ones: which of the inner loop's rates; -1 */
    bool fixed;         /* never trained, whatever else is (projection.h); frozen then */
    bool frozen;        /* stays as it starts: no leaf of it is trained (carry.h) */
    bool cannot_move;   /* its gradient is zero in exact arithmetic (key biases without a
                         * prefix): listed, not expected to change */
};

/* A tensor made by the prologue from trained ones (a generated prefix): kept after
 * training in their place. */
struct plan_made {
    char name[PLAN_NAME];
    int module, stack, site, layer;
    int64_t rows, cols;
    int tensor;           /* of a weight of the model: which; -1 */
    int slot, blocks;     /* what it is the value of; 1, or one block of rows a task */
    int place;            /* of a generator's: its place, as of the heads that make it */
    bool kept;            /* in checkpoints; else it is made again from what makes it */
    size_t offset, count; /* in the block of made values, which follows the trained ones */
};

/* How a run over episodes learns (core/train/config/regime.h). */
struct plan_meta {
    bool on;
    bool shared, start; /* whether the outer loop learns what tasks share, and where the inner loop starts */
    bool learned;       /* and the rates */
    double rate;        /* where these start, or are */
};

struct plan {
    struct method method; /* as it is on the model (hyper.h, hyper_fit) */
    int tasks;            /* at least 1 */
    char (*task)[PLAN_TASK]; /* their names; "" with one that was given none */
    int *outputs;         /* of each task's head: classes, 1 for regression, 0 without a head */
    int classes;          /* of the first one */
    bool words;           /* the head guesses masked words (words.h) */
    int tensors, made, by_row;
    struct plan_tensor *tensor;
    struct plan_made *made_tensor;
    struct plan_made
        *row_tensor; /* by_row: made for each row of a batch; sizes are of one, nowhere in a block */
    bool made_frozen;     /* nothing that the made ones are made of trains */
    size_t trained;       /* reals in the flat block, head included */
    size_t made_size;     /* reals that the prologue makes */
    size_t trained_method, kept_method; /* without the head */
    size_t head;          /* the heads' own */
    struct plan_meta meta;
    int rates, rate_tensor,
        label_rate; /* of the inner loop; their tensor, -1 where they are fixed; the label vectors' */
    int label_width;      /* values of a label vector of the generated head; 0 without */
    size_t meta_trained,
        adapted; /* what the outer loop learns, what the inner one adapts (label vectors apart) */
    size_t own;           /* of trained_method, what belongs to one task each */
    size_t model;         /* the backbone's, each tensor once */
    bool decoder;         /* the model has one */
    int made_from[GENERATORS]; /* the encoder's layer that a generator counts as its first */
    bool embed_norm;      /* and a norm behind its embeddings */
    int lowest_layer;     /* first adapted layer of the forward pass, 0-based; -1: the
                           * embedding; the decoder's count on: its embedding is the number
                           * of the encoder's layers, its first layer the next */
};

enum level { LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };
struct finding {
    enum level level;
    char rule[8];     /* "V6" */
    int module;       /* -1: the whole method */
    char text[240];   /* with the reason and what would be right */
};
/* Checks a method on a model's shape by the rules of docs/methods.md; fills at most `room`
 * findings, errors first; returns how many there are. */
int method_check(const struct method *m, const struct arch *a, struct finding *out, int room);

/* In place of how many outputs a task's head has: it guesses masked words.  Of the only task. */
enum { PLAN_WORDS = -1 };
/* NULL with *e when method_check has an error.  `classes` 1 for regression, 0 for a model
 * that writes text: there is no head, and "head" then is the model as it is; or PLAN_WORDS. */
struct plan *plan_new(const struct method *m, const struct arch *a, int classes, struct err *e);
/* The same for a run of several tasks, each with a head of its own; tensors of source task have one
 * block a task, in this order.  With one task the names are those of plan_new. */
struct plan_tasks {
    int count;
    const char *const *name; /* each unlike the others, below PLAN_TASK bytes, without '/' */
    const int *outputs;
    const struct plan_meta *meta; /* NULL: not over episodes */
};
struct plan *plan_new_tasks(const struct method *m, const struct arch *a, const struct plan_tasks *tasks,
                            struct err *e);
/* The plan of one of its tasks alone, where what was one a task is free, and that task's values out of
 * `params` and `made` (of p), which the caller frees.  `made` may be NULL where training makes them again:
 * *own_made is zeros then; a generator's modules need it. */
struct plan *plan_of_task(const struct plan *p, const struct arch *a, int task, const real *params,
                          const real *made, real **own_params, real **own_made, struct err *e);
/* The plan of a run of one task where no network makes values that are the same for all rows: what was,
 * behind an MLP or by the generator, is free at each place, with the values it came to.  *own_params (caller
 * frees) are all there is. */
struct plan *plan_plain(const struct plan *p, const struct arch *a, const real *params, const real *made,
                        real **own_params, struct err *e);
/* Refuses a plan with a tensor of more rows or columns than an operation takes (2^31 - 1): it can be counted,
 * not run. */
int plan_fits(const struct plan *p, struct err *e);
void plan_free(struct plan *p);
/* The counts as JSON: {"trained":N,"kept":N,"head":N,"model":N,"modules":[…],"tasks":N,
 * "per_task":X,"shared":N,"own":N}, without the heads but in "head"; per_task: trained over tasks; own:
 * of trained, what belongs to one task each, of all tasks; shared: the rest; modules: index, text,
 * trained, kept, where; networks: name, trained, arithmetic, of the generator formula; over episodes also
 * meta_trained, adapted, rates (how many) and label_values (of one class).  Caller frees. */
char *plan_counts_json(const struct plan *p, const struct arch *a);
/* Which of the inner loop's rates this is: "layer_3", "embeddings", "labels" … */
enum { PLAN_RATE = 24 };
void plan_rate_name(const struct plan *p, const struct arch *a, int rate, char out[PLAN_RATE]);
/* The longest text in tokens that such a method leaves room for: rows of a prompt take positions of their
 * own. */
/* By how many learned positions its prefixes move the text (shift=yes). */
int method_moved(const struct method *m);
int method_longest(const struct method *m, const struct arch *a);
/* Rows that its prompts put beside a text. */
int method_rows(const struct method *m);
/* Whether only the prologue uses it. */
bool plan_in_prologue(const struct plan *p, const struct plan_tensor *t);
/* The prototypes of the method's generators (tasks × width), else the task embeddings; NULL: they have
 * neither. */
const struct plan_tensor *plan_prototypes(const struct plan *p);
/* Whether what the encoder makes of a row depends on whose task it is. */
bool plan_encodes_by_task(const struct plan *p);
/* The same of the retriever's vector, which may be of a lower layer. */
bool plan_retrieves_by_task(const struct plan *p);
/* Trained values of a module at one place; a site that it is not at has 0. */
size_t plan_trained_at(const struct plan *p, int module, int stack, int site);
/* "2·r·(d+d)·L = 2·8·(384+384)·6": the arithmetic behind a module's count.  Caller frees. */
char *plan_arithmetic(const struct plan *p, const struct arch *a, int module);
/* The same of a network ("hyper", "hyper2", "retriever"), by the sizes of its tensors; NULL where there is
 * none. */
char *plan_network_arithmetic(const struct plan *p, const char *network);

/* What rows of a prompt may start from beside the model: a text, the names of each task's classes. */
struct plan_words {
    const char *text;                /* of init=text; NULL: none */
    const int *labels;               /* of each task; NULL: none has any */
    const char *const *const *label;
};

/* Initial values of all trained tensors, from the papers' rules and the seed; PLAN_MODEL
 * ones are copies of the model's.  words NULL: there are none, and vocabulary takes their place.  The head of
 * task k: output i is the row row[k][i] of the folder's own head, with the map before it; row[k] NULL: N(0,
 * 0.02) and bias 0. */
void plan_init_head(const struct plan *p, const struct model *m, const int *const *row,
                    const struct plan_words *words, uint64_t seed, real *params);
/* The same with the folder's head as it is for each task that has as many outputs. */
void plan_init(const struct plan *p, const struct model *m, uint64_t seed, real *params);

#endif
