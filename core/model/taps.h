/* Taps: the named locations of a transformer block that a method may read or write, and the hooks for doing
 * so.  Transformer code knows taps, never methods.
 *
 * n: query tokens, m: key tokens, d: width, H: heads, dq = H·d_h, dk = (heads of keys)·d_h, f: FFN inner
 * width. */
#ifndef CORE_MODEL_TAPS_H
#define CORE_MODEL_TAPS_H

#include "core/engine/ops.h"
#include "core/engine/packed.h"

enum stack { STACK_ENCODER, STACK_DECODER };
enum sublayer { SUB_SELF, SUB_CROSS, SUB_FFN, SUB_EMBED };

enum tap {
    TAP_NONE,
    /* attention sublayer */
    TAP_A_RES, /* n×d  residual stream before the sublayer */
    TAP_A_IN, /* n×d  sublayer input: post-norm a.res, pre-norm LN(a.res) */
    TAP_A_Q, /* n×dq xW_q + b_q */
    TAP_A_K, /* m×dk */
    TAP_A_V, /* m×dk */
    TAP_A_HEAD, /* n×dq concatenated per-head outputs (the same matrix as a.ctx) */
    TAP_A_CTX, /* n×dq concatenated heads, the input of W_o */
    TAP_A_OUT, /* n×d  a.ctx W_o + b_o, after its dropout */
    TAP_A_NORM, /* n×d  LN(a.out + a.res), before adaptation */
    TAP_A_END, /* n×d  end of the sublayer: post-norm LN(a.res + a.out) */
    /* feed-forward sublayer */
    TAP_F_RES, /* n×d */
    TAP_F_IN, /* n×d */
    TAP_F_PRE, /* n×f  f.in W_1 + b_1; gated: f.in W_0 + b_0, the gate */
    TAP_F_UP,  /* n×f  f.in W_1 + b_1 of a gated sublayer */
    TAP_F_ACT, /* n×f  φ(f.pre); gated: φ(f.pre) ⊙ f.up */
    TAP_F_OUT, /* n×d  f.act W_2 + b_2, after its dropout */
    TAP_F_NORM, /* n×d  LN(f.out + f.res), before adaptation: the input of Pfeiffer's adapter */
    TAP_F_END, /* n×d */
    TAP_EMBED, /* n×d  the output of the embedding layer */
    TAP_EMBED_WORDS, /* n×d  the word embeddings alone, before position, type and norm, scaled as in BART
                        and mBART */
    TAP_COUNT
};
/* "a.q", "f.out", … */
extern const char *const tap_names[TAP_COUNT];
const char *tap_name(enum tap tap);

/* The values of a block so far.  A tap that has not been computed is NODE_NONE. */
struct site {
    enum stack stack;
    enum sublayer sublayer;
    int layer; /* 0-based within the stack; -1 for the embedding */
    node value[TAP_COUNT];
    bool bare; /* the value of a.out or f.out is the end of the sublayer: neither residual nor norm
                  follows.  Set by a hook while one of them is offered DONE */
    node source; /* input of a.k and a.v: a.in, in cross-attention the encoder's output; rows as key_rows */
    const struct tape_rows *rows;     /* of the query side */
    const struct tape_rows *key_rows; /* of the key side */
};

/* When a written tap is offered.  The output of a linear map is offered twice: RAW, before the dropout that
 * follows a.out and f.out (for changes that can be merged into the map, such as LoRA or a bias), and DONE,
 * after it (adapters).  At taps without dropout both are consecutive. */
enum tap_stage { TAP_RAW, TAP_DONE };

struct forward;

/* Rows that a method adds to every sequence of the encoder (a prompt). */
struct joined_rows {
    int count;        /* per sequence; 0: none */
    bool at_words; /* added to the word embeddings, with position, type 0 and norm like tokens, whose
                      positions are shifted by as many; otherwise added after the embedding layer, and the
                      positions of the tokens are unchanged */
    bool after_first; /* after the first token of each sequence; otherwise before it */
    bool reads_words; /* computed from the word embeddings of the tokens */
    bool first_read; /* the classifier reads the first row of the sequence, whatever it is; otherwise its
                        first token */
};

/* The interface of a method to the taps.  Any member may be NULL.
 *
 * Offered for writing: embed.words, embed, a.q, a.k, a.v, a.head, a.ctx, a.out, f.pre, f.up, f.act, f.out.
 * While a tap is offered, site->value[tap] is the offered value; site->sublayer identifies the sublayer.  If no value
 * of a layer needs a gradient its memory is reused after it: a hook must not use its nodes beyond the layer
 * for which they were created. */
struct hooks {
    void *self;
    /* false: this tap is neither read nor written at this site, so that it need not be computed and is not
     * offered (f.pre then stays inside a fused op).  NULL: all are used. */
    bool (*wants)(void *self, const struct site *site, enum tap tap);
    /* Returns a replacement for a model tensor by its index (model.h): a trained leaf or a computed value, or
     * NODE_NONE for the frozen one. */
    node (*weight)(void *self, struct tape *t, int tensor);
    /* Receives the value computed for `tap`; returns the value with which the model continues. */
    node (*write)(void *self, struct tape *t, const struct forward *f, struct site *site,
                  enum tap tap, enum tap_stage stage, node value);
    /* Adds keys and values to an attention: fills at most `room`, returns their number. */
    int (*keys)(void *self, struct tape *t, const struct forward *f, struct site *site,
                struct kv_set *set, int room);
    /* Receives outputs of the encoder: of its layer `layer` (from 1), or with 0 its final output.  Returns
     * true if it computed something from x, which lives as long as the tape's step. */
    bool (*reached)(void *self, struct tape *t, const struct forward *f, int layer, node x);
    /* 2: the encoder runs twice, the first time only for `reached`, which is called in both */
    int passes;
    struct joined_rows joined;
    /* Shifts learned positions of the encoder's tokens, skipping the skipped rows. */
    int moved;
    /* Returns the rows to add: blocks of *each rows, of which sequence i takes the first joined.count of
     * block (*block)[i] (NULL: all take the first).  `words`: word embeddings of the batch's tokens, if they
     * are read. */
    node (*rows)(void *self, struct tape *t, const struct forward *f, node words, int *each,
                 const int **block);
    enum precision precision; /* of products with the model's frozen maps */
};
/* Returns the hooks of a model without a method in this precision. */
const struct hooks *hooks_plain(enum precision precision);
enum { HOOK_SETS = 8 }; /* capacity of `keys` */

/* Returns the tap f.norm or a.norm of a post-norm block: LN(f.out + f.res) with the norm of the layer (or the
 * method's replacement) before any change to f.out, computed on first use; f.out + f.res in a pre-norm block.
 * Only while f.out (a.out) is offered DONE or later. */
node site_norm(const struct forward *f, struct site *site);

#endif
