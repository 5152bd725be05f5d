/* A pretrained transformer: its shape, tokenizer and weights, loaded once and shared read-only by all runs
 * and threads (reference-counted).
 *
 * In model.c; resolution of names in find.c. */
#ifndef CORE_MODEL_MODEL_H
#define CORE_MODEL_MODEL_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/model/arch.h"
#include "core/model/taps.h"
#include "core/text/chat.h"
#include "core/text/tokenizer.h"

struct model {
    struct arch arch;
    struct tokenizer *tokenizer; /* NULL when the folder has none (reported) */
    int tensors;
    struct tensor_info *tensor;  /* arch_tensors() */
    enum weights_in weights_in;  /* before loading as requested, then WEIGHTS_PACKED or WEIGHTS_FILE */
    real **weight;               /* weight[i]: values of tensor[i], to be read with model_weight; NULL for an
                                    absent pooler */
    real *values;                /* the block that contains them; NULL: they are in the file */
    /* The classification head of the checkpoint, if any (classifier.weight labels×d, bias 1×labels). */
    real *head_w, *head_b; /* head_b NULL: without a bias, as of causal models */
    int head_rows;
    real *dense_w, *dense_b;     /* RoBERTa's head: the preceding d×d map and its bias, 1×d; NULL: none */
    /* Its masked language modeling head, if any: h ↦ LN(act(h W + b)) Eᵀ + bias, E the word embeddings. */
    struct words_head {
        real *w, *b, *norm_w, *norm_b, *bias; /* d×d, 1×d each, 1×vocabulary; NULL: none */
    } words;
    struct packings *packings;   /* model_packed; NULL: none are made (packings.h) */
    real *rope_divisor;          /* head_width/2: divides the frequencies of arch_rope; NULL: none (only GGUF
                                    files have it) */
    real *logits_bias;           /* 1×vocabulary, added to the logits; NULL: none, or all 0 */
    int32_t *bucket[2];          /* by enum stack: buckets of the relative bias for the distances
                                    -bucket_distance…bucket_distance; NULL without */
    char *folder;                /* as given; or the GGUF file */
    char *name;                  /* last part of the folder */
    char sha256[65];             /* over names, shapes and bytes of the used tensors: the fingerprint of
                                    the backbone, equal for a sharded or prefixed copy of the same F32
                                    values */
    char *facts;                 /* its identity besides the weights (facts.h) */
    char fingerprint[65];        /* over sha256 and facts: equal if equal texts give equal outputs */
    struct buf caution;          /* the lines of the report that matter when the pretrained model is used
                                    directly */
    struct buf report;           /* lines: used, unused and why, initialized, defaults */
};

/* Loads a model with WEIGHTS_AUTO.  `where`: a folder (without config.json: its only GGUF file), a GGUF
 * file, or a hub name ("org/name") in the local Hugging Face cache
 * (HF_HUB_CACHE, HF_HOME/hub or ~/.cache/huggingface/hub), or the name of a folder in assets/models.  On
 * failure nothing stays loaded; *e names file and tensor. */
struct model *model_load(const char *where, struct err *e);
/* Likewise; ERR_USAGE where weights of this model cannot be in its file. */
struct model *model_load_as(const char *where, enum weights_in in, struct err *e);
/* Reads the shape of the model in a folder or GGUF file without its weights: config.json and, if the weights
 * can be opened, what follows from their names: whether the output map is tied and whether BERT's pooler is
 * absent. Released with arch_release. */
int model_shape(const char *folder, struct arch *out, struct err *e);
/* Like model_load, but with one copy per process: another call for the same files returns the same model.
 * Each call is matched by model_release.  Thread-safe. */
struct model *model_share(const char *where, struct err *e);
/* Likewise; WEIGHTS_AUTO returns the model however it was loaded. */
struct model *model_share_as(const char *where, enum weights_in in, struct err *e);
void model_release(struct model *m);
/* Reads the tokenizer in a model's folder or GGUF file, like tokenizer_read; ERR_NOT_FOUND when there is none. */
struct tokenizer *model_tokenizer(const char *folder, struct buf *report, struct err *e);
/* Recognizes the chat template in a model's folder or GGUF file, like chat_template_read. */
int model_chat_template(const char *folder, struct chat_template *c, struct err *e);
/* Refuses a model without a tokenizer: ERR_INPUT, with the reason and what to do. */
int model_needs_tokenizer(const struct model *m, struct err *e);
/* Computes the angle by which each pair of channels turns from one position to the next: arch_rope with the
 * model's divisors. */
void model_rope(const struct model *m, double *frequency);
/* Computes the sha256 of struct model from the current weights. */
void model_hash(const struct model *m, char out[65]);
/* Returns the float32 values of tensor i, which then remain in memory; NULL for an absent pooler.  Values
 * that were released after packing are read again from the file, which must not have changed.  Thread-safe.
 */
const real *model_weight(const struct model *m, int i);
/* Returns tensor i packed for bfloat16 products; packed on first use and shared by all runs.  NULL for a
 * model created without model_load or model_make_packings.  Calls mem_lack when out of memory.
 * Thread-safe. */
const struct packed *model_packed(const struct model *m, int i);
/* Returns the lender of tensor i to products, which is unpacked from the file or packed for bfloat16; NULL if it is in memory.
 * The memory of matrices that are not in use is reused for others. */
const struct lender *model_lender(const struct model *m, int i, enum precision p);
/* Returns the bytes of memory for lent matrices of a model with this many parameters in its maps. */
double model_lent_bytes(double parameters);
/* Copies the values of tensor i, which need not remain in memory.  Thread-safe. */
void model_read_weight(const struct model *m, int i, real *out);
/* Returns the bytes of the weights and of those packed so far. */
size_t model_bytes(const struct model *m);
/* T5: computes the buckets of near distances, used in every step; for a model created without model_load. */
void model_fill_buckets(struct model *m);
/* Likewise lets its tensors be packed; released with model_free_packings. */
void model_make_packings(struct model *m);
void model_free_packings(struct model *m);
/* Returns the folder, or the GGUF file, of `where`; caller frees; NULL with *e if not found. */
char *model_find(const char *where, struct err *e);

/* Returns the file with the config: config.json of the folder, or the GGUF file.  Caller frees. */
char *model_config_file(const struct model *m);
/* Returns the name of a model that was given as `where` and found at `folder`: the last part of the path as given, of
 * the real path for "." and the like.  Caller frees. */
char *model_name(const char *where, const char *folder);
/* Returns the names of the models in assets/models (assets.h), sorted; freed with assets_free. */
size_t model_names(char ***out);
/* Returns the folder or GGUF file of one of them; NULL if there is none.  Caller frees. */
char *model_asset(const char *name);

/* Consecutive rows of a batch that belong to one task. */
struct task_range {
    int task, first, end; /* rows first … end-1 */
};

/* The tokens of the examples of one shard, packed. */
struct batch {
    int examples;        /* sequences */
    int ranges;          /* in the order of their tasks; without any, all rows belong to task 0 */
    struct task_range *range;
    int tokens;
    int32_t *ids, *types, *positions; /* tokens each; positions as in arch_positions */
    int *start;          /* rows+1 */
    const int *past;     /* rows: tokens of each that are in the cache of a decoder-only model, rows that a
                            method adds included; NULL: none, these are complete texts */
    uint64_t *example_id; /* rows: index of the example in its split */
    int32_t *label;      /* rows: class, or -1 */
    real *target;        /* rows: regression target */
    real *weight;        /* rows: weight in the loss */
    /* Output of the encoder's first below_layers (at least 1) layers for the tokens, tokens × d: these layers
     * are skipped.  NULL: they run. */
    int below_layers;
    const real *below;
    /* Inputs and labels of the decoder, packed likewise; NULL and 0 without.  Of a causal stack: its targets,
     * which are some of its tokens. */
    int target_tokens;
    int32_t *target_in;        /* target_tokens: the start token, then the target shifted; causal: NULL */
    int32_t *target_positions; /* from 0 in each row; causal: those of the tokens that predict the targets */
    int32_t *target_out;       /* target_tokens: the label, or -1 (ignored in the loss) */
    int *target_start;         /* rows+1 */
    real *target_weight;       /* target_tokens: weight of each token in the loss */
    /* Masked tokens (core/train/meta/masking.h): the row of each, its position there, its label and its
     * weight in the loss. */
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
        target_rows; /* filled by forward_init; `rows` includes those that a method adds (joined.h) */
    struct tape_rows tokens;     /* the batch's tokens: equal to `rows` if none are added */
    const struct hooks *hooks;   /* NULL: the pretrained model */
    const real *turn;            /* cosines and sines of the positions of `rows`, for op_rotary; NULL: the
                                    family has no rotary embeddings */
    enum precision precision;    /* of products with its frozen maps; from the hooks, otherwise float32 */
    struct decode_cache *cache;  /* NULL: forward_decode takes complete targets.  Otherwise one token per
                                    live row of the cache, without `encoded` after the first step
                                    (cache.h); the tape is not training.  In a decoder-only model
                                    forward_encode takes the new tokens of each live row */
    /* Dropout of hidden states, attention probabilities and inner FFN values. */
    double dropout, attention_dropout, activation_dropout;
    double *token_loss; /* target_tokens: destination of their weighted losses in forward_lm_loss; or NULL */
    /* Called with the output of every layer if set, for maps and parity tests: 0 the embeddings, then the
     * encoder's layers 1…Le, Le+1 the decoder's embeddings, then its layers.  The last layer is passed before
     * the stack's final norm.  The value is valid during the call; its memory may be reused afterwards if
     * nothing needs gradients. */
    void (*layer_done)(void *self, int layer, node output);
    void *layer_self;
    /* Receives the probabilities of every attention if set, like `seen` of struct attention. */
    void (*attention_seen)(void *self, const struct site *site, int sequence, int head, int queries,
                           int columns, const real *p);
    void *seen_self;
};
void forward_init(struct forward *f, struct tape *t, const struct model *m, const struct batch *b,
                  const struct hooks *hooks);

/* Runs only the encoder's first `layers` layers, tokens × d: the content of struct batch.below. */
node forward_below(struct forward *f, int layers);
/* Runs the encoder: its last layer, after the final norm if the family has one; tokens × d. */
node forward_encode(struct forward *f);
/* Returns the input of the classifier: BERT tanh(pooler(first token)), of a causal stack the last token,
 * otherwise the first token; rows × d. */
node forward_pool(struct forward *f, node encoded);
/* Returns the first token of each row; rows × d. */
node forward_first(struct forward *f, node encoded);
/* Runs the decoder over the target side of the batch, causally, with cross-attention to `encoded`; of a
 * causal stack, selects the rows of `encoded` that predict the targets: target_tokens × d, after final norm
 * and scale. */
node forward_decode(struct forward *f, node encoded);
/* Returns the logits of some decoded rows: n × vocabulary.  For few rows: generation, tests. */
node forward_logits(struct forward *f, node decoded);
/* Returns Σ target_weight·loss of all target tokens, 1×1, computed by op_vocabulary_loss. */
node forward_lm_loss(struct forward *f, node decoded, double smoothing);
/* Returns the value of a model tensor on the tape: the method's replacement, or the frozen one; NODE_NONE for
 * an absent pooler without replacement. */
node forward_weight(const struct forward *f, int tensor);
/* Likewise for a matrix that examples are multiplied by: in the precision of the pass. */
node forward_map(const struct forward *f, int tensor);

#endif
