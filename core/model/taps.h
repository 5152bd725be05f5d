/* Taps: the named places of a transformer block that a method may read or write,
 * and the hooks by which it does.  Transformer code knows taps, never methods.
 *
 * n: query tokens, m: key tokens, d: width, H: heads, f: FFN inner width. */
#ifndef CORE_MODEL_TAPS_H
#define CORE_MODEL_TAPS_H

#include "core/engine/ops.h"

enum stack { STACK_ENCODER, STACK_DECODER };
enum sublayer { SUB_SELF, SUB_CROSS, SUB_FFN, SUB_EMBED };

enum tap {
    TAP_NONE,
    /* attention sublayer */
    TAP_A_RES, /* n×d  residual stream before the sublayer */
    TAP_A_IN, /* n×d  sublayer input: post-norm a.res, pre-norm LN(a.res) */
    TAP_A_Q, /* n×dq xW_q + b_q */
    TAP_A_K, /* m×dq */
    TAP_A_V, /* m×dq */
    TAP_A_HEAD, /* n×dq per-head outputs side by side (the same matrix as a.ctx) */
    TAP_A_CTX, /* n×dq concatenated heads, the input of W_o */
    TAP_A_OUT, /* n×d  a.ctx W_o + b_o, after its dropout */
    TAP_A_NORM, /* n×d  LN(a.out + a.res), not yet adapted */
    TAP_A_END, /* n×d  end of the sublayer: post-norm LN(a.res + a.out) */
    /* feed-forward sublayer */
    TAP_F_RES, /* n×d */
    TAP_F_IN, /* n×d */
    TAP_F_PRE, /* n×f  f.in W_1 + b_1 */
    TAP_F_ACT, /* n×f  φ(f.pre) */
    TAP_F_OUT, /* n×d  f.act W_2 + b_2, after its dropout */
    TAP_F_NORM, /* n×d  LN(f.out + f.res), not yet adapted: what Pfeiffer's adapter reads */
    TAP_F_END, /* n×d */
    TAP_EMBED, /* n×d  the embedding stack's output */
    TAP_EMBED_WORDS, /* n×d  the word embeddings alone, before position, type and norm, as BART and mBART
                        scale them */
    TAP_COUNT
};
/* "a.q", "f.out", … */
extern const char *const tap_names[TAP_COUNT];
const char *tap_name(enum tap tap);

/* The values of a block so far.  A tap not yet computed is NODE_NONE. */
struct site {
    enum stack stack;
    enum sublayer sublayer;
    int layer; /* 0-based within the stack; -1 for the embedding */
    node value[TAP_COUNT];
    bool bare; /* what a.out or f.out holds is the sublayer's end: neither residual nor norm follows.  A hook
                * sets it while one of them is offered DONE */
    node source; /* what a.k and a.v are made from: a.in, at cross-attention the encoder's
                  * output; rows as key_rows */
    const struct tape_rows *rows;     /* of the query side */
    const struct tape_rows *key_rows; /* of the key side */
};

/* When a written tap is offered.  A linear map's output is offered twice: RAW, before
 * the dropout that follows a.out and f.out (what is folded into the map, as LoRA or a
 * bias, belongs here), and DONE, after it (adapters).  At taps without a dropout both
 * follow one another. */
enum tap_stage { TAP_RAW, TAP_DONE };

struct forward;

/* Rows of a method's that join every sequence of the encoder (a prompt), beside its tokens. */
struct joined_rows {
    int count;        /* of each sequence; 0: none do */
    bool at_words; /* they join the word embeddings and get position, type 0 and norm as tokens do, which move
                    * on by as many positions; else they join behind the embedding, and the tokens' positions
                    * stay */
    bool after_first; /* behind each sequence's first token; else before it */
    bool reads_words; /* they are made of the tokens' word embeddings */
    bool first_read; /* the classifier reads the sequence's first row, whatever that is; else its first token
                      */
};

/* A method's side of the taps.  Any member may be NULL.
 *
 * Offered for writing: embed.words, embed, a.q, a.k, a.v, a.head, a.ctx, a.out, f.pre, f.act, f.out.
 * While a tap is offered, site->value[tap] is the value offered; site->sublayer tells
 * the sublayer.  Where no value of a layer needs a gradient its memory is used again
 * after it: a hook keeps no node that it made itself past the layer it made it for. */
struct hooks {
    void *self;
    /* false: this tap is neither read nor written at this site, so that it need not
     * exist and is not offered (f.pre then stays inside a fused op).  NULL: all are. */
    bool (*wants)(void *self, const struct site *site, enum tap tap);
    /* The value of a model tensor by its index (model.h): a trained leaf or a made value
     * in its place, or NODE_NONE for the frozen one. */
    node (*weight)(void *self, struct tape *t, int tensor);
    /* `value` is what the model computed for `tap`; returns what the model goes on with. */
    node (*write)(void *self, struct tape *t, const struct forward *f, struct site *site,
                  enum tap tap, enum tap_stage stage, node value);
    /* Further keys and values of an attention: fills at most `room`, returns how many. */
    int (*keys)(void *self, struct tape *t, const struct forward *f, struct site *site,
                struct kv_set *set, int room);
    /* Told of what the encoder has come to: the output of its layer `layer` (from 1), or with 0 its
     * output.  True when something was made of x there, which lives as long as the tape's step. */
    bool (*reached)(void *self, struct tape *t, const struct forward *f, int layer, node x);
    /* 2: the encoder runs twice, the first time only to be told of; `reached` hears of both. */
    int passes;
    struct joined_rows joined;
    /* Learned positions of the encoder's tokens move on by as many, without rows that stand at those left
     * free. */
    int moved;
    /* The rows that join: blocks of *each rows, of which sequence i takes the first joined.count of block
     * (*block)[i] (NULL: all take the first).  `words`: the tokens' word embeddings, of the batch's own rows,
     * where they are read. */
    node (*rows)(void *self, struct tape *t, const struct forward *f, node words, int *each,
                 const int **block);
};
enum { HOOK_SETS = 8 }; /* the room given to `keys` */

/* The tap f.norm or a.norm at a post-norm block: LN(f.out + f.res) by the layer's own norm (the
 * method's, where it is replaced) before anything adapts f.out, made when first asked
 * for; f.out + f.res at a pre-norm one.  Only while f.out (a.out) is offered DONE or later. */
node site_norm(const struct forward *f, struct site *site);

#endif
