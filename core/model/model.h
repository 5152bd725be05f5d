/* A pretrained transformer: its shape, tokenizer and weights, loaded once and shared
 * read-only by all runs and threads (reference-counted).
 *
 * In model.c; where a name leads in find.c. */
#ifndef CORE_MODEL_MODEL_H
#define CORE_MODEL_MODEL_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/model/arch.h"
#include "core/model/taps.h"
#include "core/text/tokenizer.h"

struct model {
    struct arch arch;
    struct tokenizer *tokenizer; /* NULL when the folder has none (said in the report) */
    int tensors;
    struct tensor_info *tensor;  /* arch_tensors() */
    real **weight;               /* weight[i]: tensor[i]'s values, packed; NULL for an absent
                                  * pooler */
    real *values;                /* the block that they lie in */
    /* The folder's own head, when it has one (classifier.weight labels×d, bias 1×labels). */
    real *head_w, *head_b;
    int head_rows;
    real *dense_w, *dense_b;     /* RoBERTa's head: the d×d map before it, 1×d; NULL: none */
    /* Its head of masked words, when it has one: h ↦ LN(act(h W + b)) Eᵀ + bias, E the word embeddings. */
    struct words_head {
        real *w, *b, *norm_w, *norm_b, *bias; /* d×d, 1×d each, 1×vocabulary; NULL: none */
    } words;
    real *logits_bias;           /* 1×vocabulary, added to the logits; NULL: none, or all 0 */
    int32_t *bucket[2];          /* by enum stack: the relative bias' buckets of the distances
                                  * -bucket_distance…bucket_distance; NULL without */
    char *folder;                /* as given */
    char *name;                  /* last part of the folder */
    char sha256[65];             /* over names, shapes and bytes of the tensors used: the
                                  * backbone's fingerprint, the same for a sharded or
                                  * prefixed copy of the same F32 numbers */
    char *facts;                 /* what it is beside its weights (facts.h) */
    char fingerprint[65];        /* over sha256 and facts: equal where texts give equal numbers */
    struct buf caution;          /* those lines of the report that matter to whoever uses it as it is */
    struct buf report;           /* lines: used, unused and why, newly made, defaults taken */
};

/* `where`: a folder, or a hub name ("org/name") found in the local Hugging Face cache
 * (HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub), or the name of a folder below
 * assets/models.  On failure nothing stays loaded; *e names file and tensor. */
struct model *model_load(const char *where, struct err *e);
/* Reads the shape of the model in a folder without its values: config.json and, where the weights can be
 * opened, what their names say that it does not, whether the output map is tied and whether BERT's pooler is
 * absent.  Release *out with arch_release. */
int model_shape(const char *folder, struct arch *out, struct err *e);
/* The same as model_load, but one copy in the process: a second call for the same files gives the same
 * model.  Each call is matched by model_release.  Thread-safe. */
struct model *model_share(const char *where, struct err *e);
void model_release(struct model *m);
/* The sha256 of struct model of its values as they are now. */
void model_hash(const struct model *m, char out[65]);
/* T5: the buckets of near distances, looked up by every step; for a model that is made without model_load. */
void model_fill_buckets(struct model *m);
/* The folder that `where` stands for; caller frees; NULL with *e when there is none. */
char *model_find(const char *where, struct err *e);

/* Neighbouring rows of a batch that are of one task. */
struct task_range {
    int task, first, end; /* rows first … end-1 */
};

/* The tokens of the rows of one shard, packed. */
struct batch {
    int rows;            /* sequences */
    int ranges;          /* in the order of their tasks; rows of a batch without any are of task 0 */
    struct task_range *range;
    int tokens;
    int32_t *ids, *types, *positions; /* tokens each; positions as arch_positions gives them */
    int *start;          /* rows+1 */
    uint64_t *row_id;    /* rows: the row's number in its split */
    int32_t *label;      /* rows: class, or -1 */
    real *target;        /* rows: regression target */
    real *weight;        /* rows: weight in the loss */
    /* What the encoder's first below_layers (at least 1) layers make of the tokens, tokens × d: then these do
     * not run. NULL: they do. */
    int below_layers;
    const real *below;
    /* What the decoder reads and predicts, packed likewise; NULL and 0 without. */
    int target_tokens;
    int32_t *target_in;        /* target_tokens: the start token, then the target shifted */
    int32_t *target_positions; /* from 0 in each row */
    int32_t *target_out;       /* target_tokens: the id to predict, or -1 (not in the loss) */
    int *target_start;         /* rows+1 */
    real *target_weight;       /* target_tokens: weight of each token in the loss */
    /* Tokens that are masked (core/train/meta/masking.h): the row of each, its place there, the id to guess and
     * its weight in the loss. */
    int masks;
    int32_t *mask_row, *mask_at, *mask_id;
    real *mask_weight;
};

/* One forward pass.  Plain data; lives on the stack. */
struct forward {
    struct tape *tape;
    const struct model *model;
    const struct batch *batch;
    struct tape_rows rows,
        target_rows; /* filled by forward_init; `rows` with those that a method joins (joined.h) */
    struct tape_rows tokens;     /* the batch's own: as `rows` where none join */
    const struct hooks *hooks;   /* NULL: the model as it is */
    struct decode_cache *cache;  /* NULL: forward_decode takes whole targets.  Else one token a
                                  * live row of the cache, without `encoded` after the first
                                  * step (cache.h); the tape is not training */
    /* Of hidden values, attention probabilities and the FFN's inner values. */
    double dropout, attention_dropout, activation_dropout;
    double *token_loss; /* target_tokens: where forward_lm_loss leaves their weighted losses; or NULL */
    /* Called with every layer's output when set, for maps and parity tests: 0 the
     * embeddings, then the encoder's layers 1…Le, Le+1 the decoder's embeddings, then its
     * layers.  A last layer is told before the stack's final norm.  The value is there during
     * the call; after it, the memory may be used again when nothing needs gradients. */
    void (*layer_done)(void *self, int layer, node output);
    void *layer_self;
    /* Shown the probabilities of every attention when set, as struct attention's `seen`. */
    void (*attention_seen)(void *self, const struct site *site, int sequence, int head, int queries,
                           int columns, const real *p);
    void *seen_self;
};
void forward_init(struct forward *f, struct tape *t, const struct model *m, const struct batch *b,
                  const struct hooks *hooks);

/* The encoder's first `layers` layers alone, tokens × d: what struct batch.below holds. */
node forward_below(struct forward *f, int layers);
/* The encoder's last layer, after the final norm where the family has one: tokens × d. */
node forward_encode(struct forward *f);
/* What the classifier reads: BERT tanh(pooler(first token)), else the first token; rows × d. */
node forward_pool(struct forward *f, node encoded);
/* Each row's first token alone; rows × d. */
node forward_first(struct forward *f, node encoded);
/* The decoder over the batch's target side, each token seeing those before it and all of
 * its row's `encoded`: target_tokens × d, after final norm and scale. */
node forward_decode(struct forward *f, node encoded);
/* The logits of some decoded rows: n × vocabulary.  For few rows: generation, tests. */
node forward_logits(struct forward *f, node decoded);
/* Σ target_weight·loss of all target tokens, 1×1, as op_vocabulary_loss gives it. */
node forward_lm_loss(struct forward *f, node decoded, double smoothing);
/* A model tensor's value on the tape: the method's in its place, or the frozen one;
 * NODE_NONE for an absent pooler that no method brings. */
node forward_weight(const struct forward *f, int tensor);

#endif
