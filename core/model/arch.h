/* The shape of a model, from its config.json alone: family, sizes, flags.  Counting,
 * validating and drawing a method need no more than this.
 *
 * In arch.c; the names and shapes of the tensors in arch_tensors.c. */
#ifndef CORE_MODEL_ARCH_H
#define CORE_MODEL_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/engine/ops.h"

enum family { FAMILY_BERT, FAMILY_ROBERTA, FAMILY_BART, FAMILY_MBART, FAMILY_T5, FAMILY_COUNT };

/* What the outputs of a head mean: "problem_type" of config.json. */
enum problem {
    PROBLEM_UNSAID, PROBLEM_CLASSES,
    PROBLEM_LABELS, /* several labels a text, each with a sigmoid of its own */
    PROBLEM_SCORES
};

/* Parts of a family's transformer that a flag decides. */
struct arch {
    enum family family;
    char model_type[32];  /* as in config.json */
    char architecture[64];/* the first of "architectures", as "BertModel"; "" when absent */
    int width;            /* d */
    int heads, head_width;/* H, d_h; H·d_h is the projections' width and may differ from d */
    int inner;            /* f, FFN inner width */
    int encoder_layers, decoder_layers;
    int vocabulary, positions, types;
    int position_offset;  /* first position's row: 0 BERT, 2 RoBERTa and BART */
    int pad_id;
    int bos_id, eos_id;            /* -1: the config names none */
    int decoder_start;             /* the decoder's first token; -1: the target's own last one
                                    * goes first (mBART's language code) */
    int forced_bos, forced_eos;    /* generated first and last whatever the model says; -1: none;
                                    * generation_config.json, which generate.h reads, goes first */
    int buckets, bucket_distance;  /* T5's relative bias; 0 without */
    double norm_eps;
    enum act act;
    bool gated;           /* FFN of two branches (T5 v1.1) */
    bool pre_norm, rms_norm, biases, scale_scores, embed_norm, embed_scale, tied;
    bool final_dropout;   /* a dropout after the stacks' last norm (T5) */
    bool logits_bias;     /* a constant is added to the logits (BART, mBART) */
    double decoded_scale; /* of the decoder's output before the vocabulary: 1/sqrt(d) for a tied
                           * T5, else 1; 0 without a decoder */
    double dropout, attention_dropout, activation_dropout, classifier_dropout; /* as published in
                                                                               * the config */
    bool pooler;          /* BERT: a pooler stands between first token and classifier */
    bool pooler_absent;   /* but the weights hold none: a trained one goes with the head; set
                           * by model_shape and model_load, false from a config alone */
    int labels;           /* from id2label; 0 when the config names none */
    char **label;         /* labels names in id order, owned */
    enum problem problem;
    char torch_dtype[16]; /* "" when absent */
};

/* Reads DIR/config.json (or the file itself).  Defaults taken are said in `report` (may
 * be NULL), one line each.  Bounds are checked (layers ≤ 256, width ≤ 65536, heads divide
 * width, vocabulary ≤ 2^22, positions ≤ 2^20).  A model_type that petri does not know
 * (xlm-roberta and camembert are RoBERTas) is refused with the list of those it does; families known but not
 * built yet likewise. */
int arch_read(const char *path, struct arch *out, struct buf *report, struct err *e);
/* The same from memory; `name` stands in messages. */
int arch_parse(const char *name, const char *bytes, size_t n, struct arch *out, struct buf *report,
               struct err *e);
void arch_release(struct arch *a);
const char *family_name(enum family f);
/* What transformers calls a model of this shape with a classifier, or that generates, as
 * "BertForSequenceClassification"; or with another end, as "AdapterModel".  Caller frees. */
char *arch_class(const struct arch *a, const char *end);
/* What stands before the names of its tensors in files of models with a head: "bert.", "" for T5. */
const char *family_prefix(enum family f);
/* Tokens of a text at most, whatever the model: attention looks at all pairs of them, which takes 1 GiB
 * here. */
enum { LONGEST_TEXT = 16384 };
/* The longest input in tokens: positions less what the family reserves (T5 has none); LONGEST_TEXT at
 * most. */
int arch_longest(const struct arch *a);
/* Whether the head of a model class of transformers, as "BertForTokenClassification", labels something else
 * than a text: each token, one of several choices, or where an answer is. */
bool arch_class_is_other(const char *class);
/* Whether there is a decoder, so that texts can be generated. */
bool arch_generates(const struct arch *a);
/* The positions of a row's n tokens, from 0; RoBERTa counts no padding token that stands
 * in a text and gives it -1, the position before the first. */
void arch_positions(const struct arch *a, const int32_t *ids, size_t n, int32_t *out);
/* T5: the bucket of the relative position key - query (Raffel et al. 2020, 2.1), in the
 * 32-bit arithmetic that weights were trained with.  The decoder looks back only. */
int arch_bucket(const struct arch *a, int distance, bool decoder);

/* The tensors that a model of this shape has, by their canonical names (Hugging Face's,
 * without the "bert." prefix), each once (tied ones are aliases), in a fixed order: the
 * order of the forward pass.  The index into this list is "the tensor's index"
 * everywhere. */
enum tensor_role {
    ROLE_EMBED_WORD, ROLE_EMBED_POSITION, ROLE_EMBED_TYPE, ROLE_EMBED_NORM_W, ROLE_EMBED_NORM_B,
    ROLE_Q_W, ROLE_Q_B, ROLE_K_W, ROLE_K_B, ROLE_V_W, ROLE_V_B, ROLE_O_W, ROLE_O_B,
    ROLE_A_NORM_W, ROLE_A_NORM_B,
    ROLE_F1_W, ROLE_F1_B, ROLE_F1G_W, ROLE_F2_W, ROLE_F2_B, ROLE_F_NORM_W, ROLE_F_NORM_B,
    ROLE_RELATIVE_BIAS, ROLE_FINAL_NORM_W, ROLE_FINAL_NORM_B,
    ROLE_POOLER_W, ROLE_POOLER_B, ROLE_LM_HEAD, ROLE_COUNT
};
struct tensor_info {
    char name[96];
    int rows, cols;       /* a vector is 1 × cols */
    enum tensor_role role;
    int stack, sublayer, layer; /* enum stack, enum sublayer; layer -1 outside the blocks */
    bool bias, vector;    /* bias: an additive vector (LayerNorm β included); vector: rank 1 */
};
/* Fills a new array (free()) and returns its length. */
int arch_tensors(const struct arch *a, struct tensor_info **out);
/* Whether it is the weight or the bias of BERT's pooler. */
bool tensor_is_pooler(const struct tensor_info *t);
/* Returns how many parameters the model has: each tensor once, without a pooler that the weights lack. */
size_t arch_parameters(const struct arch *a);
/* Index of the tensor with this role at this place, or -1. */
int arch_find(const struct tensor_info *list, int n, enum tensor_role role, int stack, int sublayer,
              int layer);

#endif
