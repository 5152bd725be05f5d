/* The shape of a model, from its config.json alone: family, sizes, flags.  Sufficient for counting,
 * validating and drawing a method.
 *
 * In arch.c, of decoder-only families in arch_causal.c; the names and shapes of the tensors in
 * arch_tensors.c. */
#ifndef CORE_MODEL_ARCH_H
#define CORE_MODEL_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"
#include "core/engine/ops.h"

enum family {
    FAMILY_BERT, FAMILY_ROBERTA, FAMILY_BART, FAMILY_MBART, FAMILY_T5,
    FAMILY_LLAMA, FAMILY_MISTRAL, FAMILY_QWEN2, FAMILY_QWEN3, FAMILY_GPT2, FAMILY_COUNT
};

/* Meaning of the outputs of a head: "problem_type" of config.json. */
enum problem {
    PROBLEM_UNSPECIFIED, PROBLEM_CLASSES,
    PROBLEM_LABELS, /* several labels per text, each with its own sigmoid */
    PROBLEM_SCORES
};

/* Rotary position embeddings: how the frequency of a pair of channels follows from its index ("rope_type").
 */
enum rope_kind { ROPE_DEFAULT, ROPE_LINEAR, ROPE_LLAMA3, ROPE_YARN, ROPE_DYNAMIC };
struct rope {
    double theta; /* base of the frequencies; 0: no rotary embedding */
    enum rope_kind kind;
    double factor;              /* by which the context was extended */
    double low, high;           /* llama3: "low_freq_factor", "high_freq_factor" */
    double beta_fast, beta_slow; /* yarn */
    double scale;               /* yarn: factor of the cosines and sines; otherwise 1 */
    int original;               /* "original_max_position_embeddings" */
};

enum { END_TOKENS = 8 }; /* most end tokens of a model */

/* Where the weights of a decoder-only model are: in memory (float32, or packed for bfloat16), or in its file, from
 * which products read them (packings.h); WEIGHTS_AUTO: in the file if they do not fit into memory. */
enum weights_in { WEIGHTS_AUTO, WEIGHTS_PACKED, WEIGHTS_FILE };

/* Optional parts of a family's transformer. */
struct arch {
    enum family family;
    char model_type[32];  /* as in config.json */
    char architecture[64];/* the first of "architectures", such as "BertModel"; "" when absent */
    int width;            /* d */
    int heads, head_width;/* H, d_h; H·d_h is the width of the projections and may differ from d */
    int key_heads;        /* heads of keys and values in grouped-query attention; 0: H */
    int inner;            /* f, FFN inner width */
    int encoder_layers, decoder_layers;
    int vocabulary, positions, types;
    int context;          /* maximum length of a text where positions are not learned; 0: no limit */
    bool causal;          /* the only stack is a causal one, encoder_layers deep (a decoder-only model) */
    int window;           /* causal: tokens that a token attends to, itself included; 0: all before it */
    struct rope rope;
    bool qk_norm;         /* queries and keys of each head are normalized (Qwen 3) */
    bool qkv_biases, o_bias, ffn_biases; /* of the causal families */
    int position_offset;  /* index of the first position: 0 BERT, 2 RoBERTa and BART */
    int pad_id;
    int bos_id, eos_id;            /* -1: not in the config; eos_id is the first end token */
    int ends;
    int32_t end[END_TOKENS];       /* "eos_token_id", one or a list */
    int decoder_start;             /* decoder start token; -1: the last target token is used (mBART's
                                      language code) */
    int forced_bos, forced_eos;    /* forced first and last generated tokens; -1: none;
                                      generation_config.json, which generate.h reads, takes precedence */
    int buckets, bucket_distance;  /* T5's relative bias; 0 without */
    double norm_eps;
    enum act act;
    bool gated;           /* gated FFN (T5 v1.1) */
    bool pre_norm, rms_norm, biases, scale_scores, embed_norm, embed_scale, tied;
    bool final_dropout;   /* dropout after the final norm of the stacks (T5) */
    bool logits_bias;     /* a constant is added to the logits (BART, mBART) */
    double decoded_scale; /* scale of the decoder's output before the vocabulary: 1/sqrt(d) for a tied T5,
                             otherwise 1; 0 without a decoder */
    double dropout, attention_dropout, activation_dropout, classifier_dropout; /* as published in
                                                                               * the config */
    bool pooler;          /* BERT: a pooler between first token and classifier */
    bool pooler_absent;   /* but the weights lack it: it is initialized and trained with the head; set by
                             model_shape and model_load, false from a config alone */
    int labels;           /* from id2label; 0 when absent from the config */
    char **label;         /* labels names in id order, owned */
    enum problem problem;
    char torch_dtype[16]; /* "" when absent */
};

/* Reads DIR/config.json (or the file itself), or the metadata of a GGUF file.  Defaults used are reported in
 * `report` (may be NULL), one line each.  Bounds are checked (layers ≤ 256, width ≤ 65536, heads divide
 * width, vocabulary ≤ 2^22, positions ≤ 2^20).  An unsupported model_type (xlm-roberta and camembert are
 * RoBERTas) is refused with the list of supported ones. */
int arch_read(const char *path, struct arch *out, struct buf *report, struct err *e);
/* Reads it from memory; `name` is used in messages. */
int arch_parse(const char *name, const char *bytes, size_t n, struct arch *out, struct buf *report,
               struct err *e);
void arch_release(struct arch *a);
const char *family_name(enum family f);
/* Returns the class name in transformers of a model of this shape with a classifier, or one that generates,
 * such as "BertForSequenceClassification"; or with another suffix, such as "AdapterModel".  Caller frees. */
char *arch_class(const struct arch *a, const char *end);
/* Returns the prefix of tensor names in files of models with a head: "bert.", "" for T5. */
const char *family_prefix(enum family f);
/* Maximum tokens of a text for any model: attention over all pairs of them takes 1 GiB. */
enum { MAX_TEXT_TOKENS = 16384 };
/* Returns the maximum input length in tokens: positions minus those reserved by the family (T5 has no limit),
 * at most MAX_TEXT_TOKENS. */
int arch_max_length(const struct arch *a);
/* Returns whether the head of a class of transformers, such as "BertForTokenClassification", does not
 * classify texts but tokens, choices or answer spans. */
bool arch_class_is_other(const char *class);
/* Returns the width of keys and values. */
int arch_key_width(const struct arch *a);
/* Returns whether there is a decoder, so that text can be generated. */
bool arch_generates(const struct arch *a);
/* Computes the positions of n tokens, from 0; RoBERTa skips padding tokens within a text and assigns them -1,
 * the position before the first. */
void arch_positions(const struct arch *a, const int32_t *ids, size_t n, int32_t *out);
/* Computes the angle by which a pair of channels turns from one position to the next, for each of the
 * head_width/2 pairs. */
void arch_rope(const struct arch *a, double *frequency);
/* T5: returns the bucket of the relative position key - query (Raffel et al. 2020, 2.1), in the 32-bit
 * arithmetic used in pretraining.  The decoder is causal. */
int arch_bucket(const struct arch *a, int distance, bool decoder);

/* The tensors of a model of this shape, by canonical names (Hugging Face's, without the "bert." prefix), each
 * once (tied ones are aliases), in the order of the forward pass.  A tensor is identified by its index in
 * this list everywhere. */
enum tensor_role {
    ROLE_EMBED_WORD, ROLE_EMBED_POSITION, ROLE_EMBED_TYPE, ROLE_EMBED_NORM_W, ROLE_EMBED_NORM_B,
    ROLE_Q_W, ROLE_Q_B, ROLE_K_W, ROLE_K_B, ROLE_V_W, ROLE_V_B, ROLE_O_W, ROLE_O_B,
    ROLE_A_NORM_W, ROLE_A_NORM_B,
    ROLE_F1_W, ROLE_F1_B, ROLE_F1G_W, ROLE_F2_W, ROLE_F2_B, ROLE_F_NORM_W, ROLE_F_NORM_B,
    ROLE_RELATIVE_BIAS, ROLE_FINAL_NORM_W, ROLE_FINAL_NORM_B,
    ROLE_POOLER_W, ROLE_POOLER_B, ROLE_LM_HEAD,
    ROLE_Q_NORM, ROLE_K_NORM, ROLE_F1G_B, ROLE_COUNT
};
struct tensor_info {
    char name[96];
    int rows, cols;       /* a vector is 1 × cols */
    enum tensor_role role;
    int stack, sublayer, layer; /* enum stack, enum sublayer; layer -1 outside the blocks */
    bool bias, vector;    /* bias: an additive vector (LayerNorm β included); vector: rank 1 */
};
/* Allocates the list (free()) and returns its length. */
int arch_tensors(const struct arch *a, struct tensor_info **out);
/* Returns whether it is the weight or the bias of BERT's pooler. */
bool tensor_is_pooler(const struct tensor_info *t);
/* Returns whether rows of tokens are multiplied by tensors of this role. */
bool arch_is_map(const struct arch *a, enum tensor_role role);
/* Returns the number of parameters of the model: each tensor once, without a pooler missing from the
 * weights. */
size_t arch_parameters(const struct arch *a);
/* Returns the index of the tensor with this role and location, or -1. */
int arch_find(const struct tensor_info *list, int n, enum tensor_role role, int stack, int sublayer,
              int layer);

#endif
