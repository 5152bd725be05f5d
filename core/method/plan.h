/* A method on a given model: the list of all tensors that are trained, generated or stored, with their
 * offsets in one flat block. It is the only counting routine: screens, run records, checks and files use this
 * list. */
#ifndef CORE_METHOD_PLAN_H
#define CORE_METHOD_PLAN_H

#include "core/method/space.h"
#include "core/model/arch.h"
#include "core/model/model.h"

enum { PLAN_NAME = 160, PLAN_TASK = 64 }; /* bytes of a tensor name and of a task name, NUL included */

enum plan_kind {
    PLAN_OWN,   /* a new tensor of a module */
    PLAN_MODEL, /* a copy of a model tensor, trained in place */
    PLAN_HEAD,  /* a task's classification head (and a pooler that the file does not have) */
    PLAN_NETWORK, /* part of the method as a whole: retriever, generator */
};

struct plan_tensor {
    char name[PLAN_NAME]; /* "enc.3.self/lora.0.q.W_d", "head.weight", of several tasks
                           * "TASK/head.weight", or the model's name */
    enum plan_kind kind;
    int module;         /* index in the method, -1 for the head */
    int stack, site;    /* enum stack, enum sublayer; the head: encoder, embed */
    int layer, tensor;  /* layer -1: all; index of the model's tensor for PLAN_MODEL */
    int task;           /* PLAN_HEAD: the task */
    int blocks;         /* 1, or one block of rows per task, concatenated */
    int64_t rows, cols; /* all blocks together; plan_fits checks the limits */
    size_t offset, count; /* in the flat block, in reals */
    bool stored;        /* false: needed only during training (the MLP of a prefix) */
    bool decays;        /* weight decay applies: matrices, not vectors */
    int generator;      /* of a generator: its index */
    int64_t fan;        /* of the tensor that such a head generates: its columns, 1 for a vector */
    int place, of_slot; /* of a generator's head: the place and the slot that it generates */
    double start;       /* of the bias of such a head: its initial value */
    int role;           /* private to core/method */
    bool pooler;        /* a pooler of the model */
    bool inner, outer;  /* meta-training: adapted by the inner loop, trained by the outer loop */
    int rate;           /* of adapted ones: index of the inner loop's rate; -1 */
    bool fixed;         /* never trained (projection.h); also frozen */
    bool frozen;        /* frozen at its initial value: no leaf of it is trained (carry.h) */
    bool no_gradient;   /* its gradient is zero in exact arithmetic (key biases without a
                         * prefix): listed, but it does not change */
};

/* A tensor that the prologue generates from trained ones (a generated prefix): stored after training in
 * their place. */
struct plan_generated {
    char name[PLAN_NAME];
    int module, stack, site, layer;
    int64_t rows, cols;
    int tensor;           /* of a model weight: its index; -1 */
    int slot, blocks;     /* the slot that it is the value of; 1, or one block of rows per task */
    int place;            /* of a generator: its place, as in the heads that generate it */
    bool stored;          /* stored in checkpoints; otherwise recomputed */
    size_t offset, count; /* in the block of generated values, which follows the trained ones */
};

/* Meta-training of a run (core/train/config/regime.h). */
struct plan_meta {
    bool on;
    bool shared, start; /* whether the outer loop trains what tasks share, and the initialization of the
                         * inner loop */
    bool learned;       /* and the rates of the inner loop */
    double rate;        /* their initial or fixed value */
};

struct plan {
    struct method method; /* as adapted to the model (method_fit_taps, hyper_fit) */
    int tasks;            /* at least 1 */
    char (*task)[PLAN_TASK]; /* their names; "" for a single task without a name */
    int *outputs;         /* number of outputs of each task's head: classes, 1 for regression, 0 without a
                           * head */
    int classes;          /* of the first one */
    bool words;           /* the head predicts masked words (words.h) */
    enum precision precision; /* of products with the model's maps; float32 unless the caller sets it */
    struct packing *packing;  /* of trained and generated maps (packing.h), or NULL */
    int tensors, generated, per_example;
    struct plan_tensor *tensor;
    struct plan_generated *generated_tensor;
    struct plan_generated
        *example_tensor; /* per_example: generated per example; sizes are those of one, not part of a block */
    bool generated_frozen; /* all tensors from which values are generated are frozen */
    size_t trained;       /* reals in the flat block, head included */
    size_t generated_size; /* number of reals that the prologue generates */
    size_t trained_method, stored_method; /* without the head */
    size_t head;          /* the heads */
    struct plan_meta meta;
    int rates, rate_tensor,
        label_rate; /* of the inner loop; their tensor, -1 if fixed; that of the label vectors */
    int label_width;      /* size of a label vector of the generated head; 0 without one */
    size_t meta_trained,
        adapted; /* parameters trained by the outer loop, adapted by the inner loop (without label vectors) */
    size_t own;           /* of trained_method: parameters specific to one task */
    size_t model;         /* parameters of the backbone, each tensor once */
    bool decoder;         /* the model has a decoder */
    int hyper_first_layer[GENERATORS]; /* first encoder layer of each generator's layer embeddings */
    bool tied;            /* a causal language model whose vocabulary is its word embeddings */
    bool embed_norm;      /* the model has a norm after its embeddings */
    int lowest_layer;     /* first adapted layer of the forward pass, 0-based; -1: the
                           * embedding; the decoder's count on: its embedding is the number
                           * of the encoder's layers, its first layer the next */
};

enum level { LEVEL_INFO, LEVEL_WARNING, LEVEL_ERROR };
struct finding {
    enum level level;
    char rule[8];     /* "V6" */
    int module;       /* -1: the whole method */
    char text[240];   /* the reason and the remedy */
};
/* Checks a method on a model's shape by the rules of docs/methods.md; fills at most `room`
 * findings, errors first; returns how many there are. */
int method_check(const struct method *m, const struct arch *a, struct finding *out, int room);

/* Instead of a number of outputs: the head of the only task predicts masked words. */
enum { PLAN_WORDS = -1 };
/* Returns the plan, or NULL with *e if method_check finds an error. `classes`: 1 for regression, 0 for a
 * text-to-text model (without a separate head; "head" is then the model as it is), or PLAN_WORDS. */
struct plan *plan_new(const struct method *m, const struct arch *a, int classes, struct err *e);
/* The same for a multi-task run with one head per task; tensors of source task have one block per task,
 * in this order.  With one task the names are those of plan_new. */
struct plan_tasks {
    int count;
    const char *const *name; /* each unlike the others, below PLAN_TASK bytes, without '/' */
    const int *outputs;
    const struct plan_meta *meta; /* NULL: not over episodes */
};
struct plan *plan_new_tasks(const struct method *m, const struct arch *a, const struct plan_tasks *tasks,
                            struct err *e);
/* Returns the plan of one task, in which the task's parameters are of source free, and the values of this
 * task from `params` and `generated` (of p), which the caller frees. `generated` may be NULL if training
 * recomputes the generated values: *own_generated is then zeros; modules of a generator need it. */
struct plan *plan_of_task(const struct plan *p, const struct arch *a, int task, const real *params,
                          const real *generated, real **own_params, real **own_generated, struct err *e);
/* Returns the plan of a single-task run without networks that generate the same weights for all examples:
 * weights from an MLP or a generator become free, with their generated values. *own_params (the caller
 * frees it) are all parameters. */
struct plan *plan_plain(const struct plan *p, const struct arch *a, const real *params, const real *generated,
                        real **own_params, struct err *e);
/* Returns an error for a plan with a tensor of more rows or columns than an operation supports (2^31 - 1):
 * it can be counted, but not run. */
int plan_fits(const struct plan *p, struct err *e);
void plan_free(struct plan *p);
/* Returns the counts as JSON:
 * {"trained":N,"kept":N,"head":N,"model":N,"modules":[…],"tasks":N,"per_task":X,"shared":N,"own":N}. All
 * but "head" exclude the heads; per_task: trained divided by tasks; own: of trained, parameters specific to
 * one task, of all tasks; shared: the others; modules: index, text, trained, kept, where; networks: name,
 * trained, arithmetic, for a generator formula; for meta-training also meta_trained, adapted, rates (their
 * number) and label_values (of one class). The caller frees it. */
char *plan_counts_json(const struct plan *p, const struct arch *a);
/* Writes the name of a rate of the inner loop: "layer_3", "embeddings", "labels" … */
enum { PLAN_RATE = 24 };
void plan_rate_name(const struct plan *p, const struct arch *a, int rate, char out[PLAN_RATE]);
/* Returns the maximum sequence length of a text with this method: rows of a prompt use positions.
 * (method_max_length) */
/* Returns the number of learned positions by which its prefixes shift the text (shift=yes). */
int method_position_shift(const struct method *m);
int method_max_length(const struct method *m, const struct arch *a);
/* Returns whether a module reads a text as a whole (a gate, weights or a prompt generated per example): in a
 * decoder-only model that generates text, tokens would see later ones. */
bool method_reads_whole_text(const struct method *m);
/* Returns the number of rows that its prompts add to a sequence. */
int method_rows(const struct method *m);
/* Returns whether only the prologue uses the tensor. */
bool plan_in_prologue(const struct plan *p, const struct plan_tensor *t);
/* Returns the prototypes of the method's generators (tasks × width), else the task embeddings, or NULL. */
const struct plan_tensor *plan_prototypes(const struct plan *p);
/* Returns whether the encoder's output for an example depends on its task. */
bool plan_encodes_by_task(const struct plan *p);
/* The same for the retriever's vector, which can be read at a lower layer. */
bool plan_retrieves_by_task(const struct plan *p);
/* Returns the number of trainable parameters of a module at one place; 0 for a site that it does not
 * cover. */
size_t plan_trained_at(const struct plan *p, int module, int stack, int site);
/* Returns the arithmetic behind a module's count, "2·r·(d+d)·L = 2·8·(384+384)·6". The caller frees it. */
char *plan_arithmetic(const struct plan *p, const struct arch *a, int module);
/* The same for a network ("hyper", "hyper2", "retriever"), from the sizes of its tensors; NULL if the
 * method has none. */
char *plan_network_arithmetic(const struct plan *p, const char *network);

/* Sources of a prompt's initial rows in addition to the model: a text, the class names of each task. */
struct plan_words {
    const char *text;                /* for init=text; NULL: none */
    const int *labels;               /* number of labels of each task; NULL: no task has any */
    const char *const *const *label;
};

/* Sets the initial values of all trained tensors from the rules of the papers and the seed; PLAN_MODEL
 * tensors are copies of the model's. words NULL: none, vocabulary is used instead. Output i of the head of
 * task k is row row[k][i] of the head in the model folder, with the layer before it; row[k] NULL: N(0,
 * 0.02) and bias 0. */
void plan_init_head(const struct plan *p, const struct model *m, const int *const *row,
                    const struct plan_words *words, uint64_t seed, real *params);
/* The same with the head of the model folder for each task with the same number of outputs. */
void plan_init(const struct plan *p, const struct model *m, uint64_t seed, real *params);

#endif
