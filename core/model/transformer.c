/* The transformer of all families.  They differ in struct arch (flags) and in their tensors; methods take
 * part through the taps alone. */
#include <math.h>
#include <stdbool.h>

#include "core/base/mem.h"
#include "core/model/cache.h"
#include "core/model/joined.h"
#include "core/model/sublayer.h"

/* Computes cosines and sines of the angles at every position, counted from the start of its sequence, or from
 * where a prefix shifts it. */
static const real *turn_of(const struct forward *f) {
    const struct arch *a = &f->model->arch;
    int first = f->hooks ? f->hooks->moved : 0;
    size_t half = (size_t)a->head_width / 2, rows = (size_t)f->rows.start[f->rows.count], at = 0;
    double *frequency = tape_keep(f->tape, half * sizeof *frequency);
    real *turn = tape_keep(f->tape, rows * 2 * half * sizeof *turn);
    model_rope(f->model, frequency);
    for (int i = 0; i < f->rows.count; i++) {
        int from = first + (f->batch->past ? f->batch->past[i] : 0);
        for (int j = 0; j < f->rows.start[i + 1] - f->rows.start[i]; j++, at += 2 * half)
            for (size_t k = 0; k < half; k++) {
                turn[at + k] = (real)(a->rope.scale * cos((from + j) * frequency[k]));
                turn[at + half + k] = (real)(a->rope.scale * sin((from + j) * frequency[k]));
            }
    }
    return turn;
}

void forward_init(struct forward *f, struct tape *t, const struct model *m, const struct batch *b,
                  const struct hooks *hooks) {
    *f = (struct forward){
        .tape = t,
        .model = m,
        .batch = b,
        .rows = { b->examples, b->start, b->example_id },
        .tokens = { b->examples, b->start, b->example_id },
        .target_rows = { b->examples, b->target_start, b->example_id },
        .hooks = hooks,
        .precision = hooks ? hooks->precision : PRECISION_F32,
        .dropout = m->arch.dropout,
        .attention_dropout = m->arch.attention_dropout,
        .activation_dropout = m->arch.activation_dropout,
    };
    if (f->precision == PRECISION_BF16) tape_thin(t);
    joined_init(f);
    if (m->arch.rope.theta > 0 && b->start) f->turn = turn_of(f);
}

/* ---- embeddings ---- */

static struct site transformer_site_of(const struct forward *f, enum stack stack, enum sublayer sublayer,
                                       int layer) {
    const struct tape_rows *own = stack == STACK_DECODER ? &f->target_rows : &f->rows;
    return (struct site){ .stack = stack,
                         .sublayer = sublayer,
                         .layer = layer,
                         .rows = own,
                         .key_rows = sublayer == SUB_CROSS ? &f->rows : own };
}

/* Returns whether a method's rows are added to the word embeddings, or after the embedding layer. */
static bool joins(const struct forward *f, const struct site *s, bool at_words) {
    return s->stack == STACK_ENCODER && joined_on(f) && f->hooks->joined.at_words == at_words;
}

/* Looks up the tokens in the word embedding, which both stacks share. */
static struct embed_table word_table(const struct forward *f, const struct site *s) {
    const struct site shared = transformer_site_of(f, STACK_ENCODER, SUB_EMBED, -1);
    return (struct embed_table){ weight_at(f, ROLE_EMBED_WORD, &shared),
                                s->stack == STACK_DECODER ? f->batch->target_in : f->batch->ids, 0 };
}

static node embed_words(const struct forward *f, const struct site *s) {
    const struct embed_table word = word_table(f, s);
    node x = op_embed_sum(f->tape, s->stack == STACK_DECODER ? f->batch->target_tokens : f->batch->tokens,
                          &word, 1);
    return f->model->arch.embed_scale ? op_scale(f->tape, x, sqrt(f->model->arch.width)) : x;
}

/* Adds position and type embeddings, as the family has them. */
static int place_tables(const struct forward *f, const struct site *s, struct embed_table *table) {
    const struct arch *a = &f->model->arch;
    const struct batch *b = f->batch;
    const bool decoder = s->stack == STACK_DECODER, moved = joins(f, s, true);
    int tables = 0;
    if (a->positions)
        table[tables++] = (struct embed_table){ weight_at(f, ROLE_EMBED_POSITION, s),
                                                decoder ? b->target_positions
                                                : moved ? joined_positions(f)
                                                        : b->positions,
                                                a->position_offset +
                                                    (!decoder && f->hooks ? f->hooks->moved : 0) };
    if (a->types)
        table[tables++] = (struct embed_table){ weight_at(f, ROLE_EMBED_TYPE, s),
                                                moved ? joined_types(f) : b->types, 0 };
    return tables;
}

/* Computes the sum of word, position and type embeddings. */
static node sum_embeddings(const struct forward *f, struct site *s) {
    struct embed_table table[EMBED_TABLES];
    int tables = place_tables(f, s, table + 1);
    int n = s->stack == STACK_DECODER ? f->batch->target_tokens : s->rows->start[s->rows->count];
    bool changed = sublayer_wants(f, s, TAP_EMBED_WORDS);
    if (!f->model->arch.embed_scale && !joins(f, s, true) && !changed) { /* in one op */
        table[0] = word_table(f, s);
        return op_embed_sum(f->tape, n, table, tables + 1);
    }
    node word = embed_words(f, s);
    if (changed) word = sublayer_offer(f, s, TAP_EMBED_WORDS, TAP_DONE, word);
    if (joins(f, s, true)) word = joined_put(f, word, word);
    return tables ? op_add(f->tape, word, op_embed_sum(f->tape, n, table + 1, tables)) : word;
}

static node transformer_embed(const struct forward *f, struct site *s) {
    tape_site(f->tape, "%sembedding", s->stack == STACK_DECODER ? "decoder " : "");
    bool behind = joins(f, s, false);
    if (behind) s->rows = &f->tokens;
    node x = sum_embeddings(f, s);
    if (f->model->arch.embed_norm)
        x = sublayer_norm(f, s, x, NODE_NONE, ROLE_EMBED_NORM_W, ROLE_EMBED_NORM_B);
    x = sublayer_offer(f, s, TAP_EMBED, TAP_RAW, x);
    x = sublayer_drop(f, s, "embed", f->dropout, x);
    x = sublayer_offer(f, s, TAP_EMBED, TAP_DONE, x);
    if (!behind) return x;
    s->rows = &f->rows;
    return joined_put(f, x, f->hooks->joined.reads_words ? embed_words(f, s) : NODE_NONE);
}

/* ---- stacks ---- */

static void layer_done(const struct forward *f, int layer, node output) {
    if (f->layer_done) f->layer_done(f->layer_self, layer, output);
}

/* The final norm of a stack of pre-norm blocks. */
static node transformer_finish(const struct forward *f, const struct site *s, node x) {
    const struct arch *a = &f->model->arch;
    if (!a->pre_norm) return x;
    tape_site(f->tape, "%sfinal norm", s->stack == STACK_DECODER ? "decoder " : "");
    x = sublayer_norm(f, s, x, NODE_NONE, ROLE_FINAL_NORM_W, ROLE_FINAL_NORM_B);
    return a->final_dropout ? sublayer_drop(f, s, "final", f->dropout, x) : x;
}

static bool transformer_tell(const struct forward *f, int layer, node x) {
    return f->hooks && f->hooks->reached && f->hooks->reached(f->hooks->self, f->tape, f, layer, x);
}

/* Runs the encoder's first `layers` layers.  They share one mark: below the lowest adapted site only the
 * latest output stays. */
static node transformer_climb(const struct forward *f, struct tape_mark mark, node x, int from, int layers) {
    for (int layer = from; layer < layers; layer++) {
        struct site s = transformer_site_of(f, STACK_ENCODER, SUB_SELF, layer);
        tape_segment_begin(f->tape);
        x = sublayer_attend(f, &s, x, NODE_NONE);
        s.sublayer = SUB_FFN;
        x = sublayer_feed_forward(f, &s, x);
        tape_segment_end(f->tape, x);
        layer_done(f, layer + 1, x);
        tape_recycle(f->tape, mark, &x);
        if (transformer_tell(f, layer + 1, x)) mark = tape_mark(f->tape);
    }
    return x;
}

static node transformer_from_start(const struct forward *f, int layers) {
    struct tape_mark mark = tape_mark(f->tape);
    struct site start = transformer_site_of(f, STACK_ENCODER, SUB_EMBED, -1);
    node x = transformer_embed(f, &start);
    layer_done(f, 0, x);
    tape_recycle(f->tape, mark, &x);
    return transformer_climb(f, mark, x, 0, layers);
}

/* Starts from precomputed lower layers of the batch, which are reported to the hooks as if they had run. */
static node transformer_from_below(const struct forward *f) {
    const struct batch *b = f->batch;
    BUG_IF(joined_on(f));
    node x = tape_frozen(f->tape, b->tokens, f->model->arch.width, b->below);
    layer_done(f, b->below_layers, x);
    transformer_tell(f, b->below_layers, x);
    return transformer_climb(f, tape_mark(f->tape), x, b->below_layers, f->model->arch.encoder_layers);
}

static node transformer_encode(const struct forward *f) {
    struct site start = transformer_site_of(f, STACK_ENCODER, SUB_EMBED, -1);
    node x = f->batch->below ? transformer_from_below(f)
                             : transformer_from_start(f, f->model->arch.encoder_layers);
    x = transformer_finish(f, &start, x);
    transformer_tell(f, 0, x);
    return x;
}

node forward_below(struct forward *f, int layers) { return transformer_from_start(f, layers); }

/* Only the method receives the first of two passes. */
static void encode_first(struct forward *f) {
    const struct forward as_asked = *f;
    f->layer_done = NULL;
    f->attention_seen = NULL;
    transformer_encode(f);
    f->layer_done = as_asked.layer_done;
    f->attention_seen = as_asked.attention_seen;
}

node forward_encode(struct forward *f) {
    if (f->cache && f->model->arch.causal) cache_open(f->cache, &f->rows);
    if (f->hooks && f->hooks->passes == 2) encode_first(f);
    return transformer_encode(f);
}

/* Returns the rows of a causal stack that predict the targets. */
static node predicting_rows(const struct forward *f, node encoded) {
    const struct batch *b = f->batch;
    int32_t *at = tape_keep(f->tape, ((size_t)b->target_tokens + 1) * sizeof *at);
    for (int i = 0; i < b->examples; i++)
        for (int t = b->target_start[i]; t < b->target_start[i + 1]; t++)
            at[t] = joined_token(f, i, b->target_positions[t]);
    const struct embed_table all = { encoded, at, 0 };
    tape_site(f->tape, "targets");
    return op_embed_sum(f->tape, b->target_tokens, &all, 1);
}

node forward_decode(struct forward *f, node encoded) {
    const struct arch *a = &f->model->arch;
    struct tape *t = f->tape;
    BUG_IF(!f->batch->target_start);
    if (a->causal) return predicting_rows(f, encoded);
    BUG_IF(!arch_generates(a));
    if (f->cache) cache_open(f->cache, &f->target_rows);
    /* `encoded` is below the mark. */
    const struct tape_mark mark = tape_mark(t);
    const int before = a->encoder_layers + 1;
    struct site start = transformer_site_of(f, STACK_DECODER, SUB_EMBED, -1);
    node x = transformer_embed(f, &start);
    layer_done(f, before, x);
    tape_recycle(t, mark, &x);
    for (int layer = 0; layer < a->decoder_layers; layer++) {
        struct site self = transformer_site_of(f, STACK_DECODER, SUB_SELF, layer);
        struct site cross = transformer_site_of(f, STACK_DECODER, SUB_CROSS, layer);
        tape_segment_begin(t);
        x = sublayer_attend(f, &self, x, NODE_NONE);
        x = sublayer_attend(f, &cross, x, encoded);
        self.sublayer = SUB_FFN;
        x = sublayer_feed_forward(f, &self, x);
        tape_segment_end(t, x);
        layer_done(f, before + 1 + layer, x);
        tape_recycle(t, mark, &x);
    }
    x = transformer_finish(f, &start, x);
    return a->decoded_scale == 1 ? x : op_scale(t, x, a->decoded_scale);
}

/* ---- outputs ---- */

node forward_first(struct forward *f, node encoded) {
    tape_site(f->tape, "pooler");
    if (!joined_on(f) && !f->model->arch.causal) return op_pool_first(f->tape, encoded, &f->rows);
    int32_t *ids = tape_keep(f->tape, (size_t)f->rows.count * sizeof *ids);
    for (int i = 0; i < f->rows.count; i++) ids[i] = joined_read(f, i);
    const struct embed_table all = { encoded, ids, 0 };
    return op_embed_sum(f->tape, f->rows.count, &all, 1);
}

node forward_pool(struct forward *f, node encoded) {
    struct site s = transformer_site_of(f, STACK_ENCODER, SUB_EMBED, -1);
    node first = forward_first(f, encoded);
    if (!f->model->arch.pooler) return first;
    node w = map_at(f, ROLE_POOLER_W, &s), b = weight_at(f, ROLE_POOLER_B, &s);
    BUG_IF(w == NODE_NONE || b == NODE_NONE);
    return op_linear_act(f->tape, first, w, b, ACT_TANH);
}

/* The output map: a separate one, or the word embedding if they are tied. */
static node vocabulary_map(const struct forward *f) {
    bool tied = f->model->arch.tied, one = tied || f->model->arch.causal;
    struct site s = transformer_site_of(f, one ? STACK_ENCODER : STACK_DECODER, SUB_EMBED, -1);
    tape_site(f->tape, "vocabulary");
    return map_at(f, tied ? ROLE_EMBED_WORD : ROLE_LM_HEAD, &s);
}

static node logits_bias(const struct forward *f) {
    const struct model *m = f->model;
    return m->logits_bias ? tape_frozen(f->tape, 1, m->arch.vocabulary, m->logits_bias) : NODE_NONE;
}

node forward_logits(struct forward *f, node decoded) {
    node map = vocabulary_map(f);
    return op_linear(f->tape, decoded, map, logits_bias(f));
}

node forward_lm_loss(struct forward *f, node decoded, double smoothing) {
    node map = vocabulary_map(f);
    return op_vocabulary_loss(f->tape, decoded, map, logits_bias(f), f->batch->target_out,
                              f->batch->target_weight, smoothing, f->token_loss);
}
