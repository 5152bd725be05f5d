#include "core/model/sublayer.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/model/cache.h"

/* ---- weights ---- */

static node weight_of(const struct forward *f, int tensor, bool map) {
    const struct model *m = f->model;
    BUG_IF(tensor < 0 || tensor >= m->tensors);
    if (f->hooks && f->hooks->weight) {
        node own = f->hooks->weight(f->hooks->self, f->tape, tensor);
        if (own != NODE_NONE) return own;
    }
    if (!m->weight[tensor]) return NODE_NONE;
    const struct lender *lender = map ? model_lender(m, tensor, f->precision) : NULL;
    if (lender) return tape_lent(f->tape, m->tensor[tensor].rows, m->tensor[tensor].cols, lender);
    const struct packed *packed = map && f->precision == PRECISION_BF16 ? model_packed(m, tensor) : NULL;
    return tape_frozen_packed(f->tape, m->tensor[tensor].rows, m->tensor[tensor].cols,
                              packed ? NULL : model_weight(m, tensor), packed);
}

node forward_weight(const struct forward *f, int tensor) { return weight_of(f, tensor, false); }
node forward_map(const struct forward *f, int tensor) { return weight_of(f, tensor, true); }

static node role_at(const struct forward *f, enum tensor_role role, const struct site *s, bool map) {
    const struct model *m = f->model;
    int i = arch_find(m->tensor, m->tensors, role, s->stack, s->sublayer, s->layer);
    return i < 0 ? NODE_NONE : weight_of(f, i, map);
}

node weight_at(const struct forward *f, enum tensor_role role, const struct site *s) {
    return role_at(f, role, s, false);
}

node map_at(const struct forward *f, enum tensor_role role, const struct site *s) {
    return role_at(f, role, s, true);
}

static node linear(const struct forward *f, const struct site *s, node x, enum tensor_role w,
                   enum tensor_role b) {
    return op_linear(f->tape, x, map_at(f, w, s), weight_at(f, b, s));
}

node sublayer_norm(const struct forward *f, const struct site *s, node x, node residual,
                   enum tensor_role w, enum tensor_role b) {
    const struct arch *a = &f->model->arch;
    if (a->rms_norm) return op_rmsnorm(f->tape, x, residual, weight_at(f, w, s), a->norm_eps);
    return op_layernorm(f->tape, x, residual, weight_at(f, w, s), weight_at(f, b, s), a->norm_eps);
}

/* ---- taps ---- */

bool sublayer_wants(const struct forward *f, const struct site *s, enum tap tap) {
    const struct hooks *h = f->hooks;
    return h && h->write && (!h->wants || h->wants(h->self, s, tap));
}

node sublayer_offer(const struct forward *f, struct site *s, enum tap tap, enum tap_stage stage,
                  node value) {
    s->value[tap] = value;
    if (!sublayer_wants(f, s, tap)) return value;
    return s->value[tap] = f->hooks->write(f->hooks->self, f->tape, f, s, tap, stage, value);
}

/* A tap that no dropout follows. */
static node offer_both(const struct forward *f, struct site *s, enum tap tap, node value) {
    value = sublayer_offer(f, s, tap, TAP_RAW, value);
    return sublayer_offer(f, s, tap, TAP_DONE, value);
}

/* The key of random numbers depends on the site's name: stack, layer and tap. */
static uint64_t dropout_site(const struct site *s, const char *what) {
    char name[64];
    const char *stack = s->stack == STACK_DECODER ? "decoder." : "";
    if (s->layer < 0) snprintf(name, sizeof name, "%s%s", stack, what);
    else if (s->sublayer == SUB_CROSS)
        snprintf(name, sizeof name, "%slayer.%d.cross.%s", stack, s->layer, what);
    else snprintf(name, sizeof name, "%slayer.%d.%s", stack, s->layer, what);
    return rng_site(name);
}

node sublayer_drop(const struct forward *f, const struct site *s, const char *what, double p,
                   node x) {
    return op_dropout(f->tape, x, s->rows, p, dropout_site(s, what));
}

/* The output of a linear map into the residual stream: offered before and after its dropout. */
static node offer_out(const struct forward *f, struct site *s, enum tap tap, node x) {
    x = sublayer_offer(f, s, tap, TAP_RAW, x);
    x = sublayer_drop(f, s, tap_name(tap), f->dropout, x);
    return sublayer_offer(f, s, tap, TAP_DONE, x);
}

static node norm_of(const struct forward *f, const struct site *s, node x, node residual) {
    bool ffn = s->sublayer == SUB_FFN;
    return sublayer_norm(f, s, x, residual, ffn ? ROLE_F_NORM_W : ROLE_A_NORM_W,
                ffn ? ROLE_F_NORM_B : ROLE_A_NORM_B);
}

/* The input of a sublayer: the residual stream, after the norm in pre-norm families. */
static node enter(const struct forward *f, struct site *s, enum tap res, enum tap in, node x) {
    s->value[res] = x;
    s->value[TAP_A_NORM] = NODE_NONE;
    s->bare = false;
    return s->value[in] = f->model->arch.pre_norm ? norm_of(f, s, x, NODE_NONE) : x;
}

/* The end of a sublayer: back to the residual stream. */
static node leave(const struct forward *f, struct site *s, enum tap res, enum tap end, node out) {
    node residual = s->value[res];
    if (s->bare) return s->value[end] = out;
    if (f->model->arch.pre_norm) return s->value[end] = op_add(f->tape, residual, out);
    return s->value[end] = norm_of(f, s, out, residual);
}

node site_norm(const struct forward *f, struct site *s) {
    bool ffn = s->sublayer == SUB_FFN;
    enum tap norm = ffn ? TAP_F_NORM : TAP_A_NORM;
    node out = s->value[ffn ? TAP_F_OUT : TAP_A_OUT], residual = s->value[ffn ? TAP_F_RES : TAP_A_RES];
    BUG_IF(out == NODE_NONE);
    if (s->value[norm] != NODE_NONE) return s->value[norm];
    node made =
        f->model->arch.pre_norm ? op_add(f->tape, out, residual) : norm_of(f, s, out, residual);
    return s->value[norm] = made;
}

/* ---- sublayers ---- */

/* T5's relative position bias: one table per stack, stored with the self-attention of its first layer. */
static node relative_bias(const struct forward *f, const struct site *s) {
    if (!f->model->arch.buckets || s->sublayer != SUB_SELF) return NODE_NONE;
    struct site first = *s;
    first.layer = 0;
    return weight_at(f, ROLE_RELATIVE_BIAS, &first);
}

/* An attention with a `seen` hook. */
struct watched {
    const struct forward *f;
    const struct site *site;
};

static void show_attention(void *self, int sequence, int head, int queries, int columns,
                           const real *p) {
    const struct watched *w = self;
    w->f->attention_seen(w->f->seen_self, w->site, sequence, head, queries, columns, p);
}

/* Returns whether the keys and values of this attention are already in the cache. */
static bool cross_is_cached(const struct forward *f, const struct site *s) {
    return f->cache && s->sublayer == SUB_CROSS && cache_has_cross(f->cache, s->layer);
}

/* Stores new keys and values in the cache, and replaces them by all of them. */
static void through_cache(const struct forward *f, const struct site *s, node *k, node *v,
                          struct attention *how) {
    BUG_IF(tape_training(f->tape));
    if (s->sublayer == SUB_SELF) cache_self(f->cache, f->tape, s->layer, k, v, how);
    else cache_cross(f->cache, f->tape, s->layer, s->key_rows, k, v, how);
}

/* Queries or keys as attention compares them: normalized per head and rotated, where the family does so. */
static node place_in_text(const struct forward *f, const struct site *s, enum tensor_role norm, node x) {
    const struct arch *a = &f->model->arch;
    if (a->qk_norm) x = op_rmsnorm(f->tape, x, NODE_NONE, weight_at(f, norm, s), a->norm_eps);
    return f->turn ? op_rotary(f->tape, x, a->head_width, f->turn) : x;
}

node sublayer_attend(const struct forward *f, struct site *s, node x, node keys) {
    const struct arch *a = &f->model->arch;
    const struct hooks *h = f->hooks;
    struct tape *t = f->tape;
    const char *stack = s->stack == STACK_DECODER ? "decoder " : "";
    tape_site(f->tape, "%slayer %d %sattention", stack, s->layer, s->sublayer == SUB_CROSS ? "cross-" : "");
    node in = enter(f, s, TAP_A_RES, TAP_A_IN, x);
    if (s->sublayer == SUB_SELF) keys = in;
    s->source = keys;
    node q = offer_both(f, s, TAP_A_Q, linear(f, s, in, ROLE_Q_W, ROLE_Q_B));
    node k = NODE_NONE, v = NODE_NONE;
    if (!cross_is_cached(f, s)) {
        k = offer_both(f, s, TAP_A_K, linear(f, s, keys, ROLE_K_W, ROLE_K_B));
        v = offer_both(f, s, TAP_A_V, linear(f, s, keys, ROLE_V_W, ROLE_V_B));
    }
    struct kv_set set[HOOK_SETS];
    struct watched watched = { f, s };
    struct attention how = {
        .heads = a->heads,
        .key_heads = a->key_heads,
        .window = a->window,
        .score_scale = a->scale_scores ? 1 / sqrt(a->head_width) : 1,
        .query_rows = s->rows,
        .key_rows = s->key_rows,
        .causal = (a->causal || s->stack == STACK_DECODER) && s->sublayer == SUB_SELF,
        .relative_bias = relative_bias(f, s),
        .bucket = f->model->bucket[s->stack],
        .reach = a->bucket_distance,
        .dropout = f->attention_dropout,
        .site = dropout_site(s, "a.prob"),
        .sets = h && h->keys ? h->keys(h->self, t, f, s, set, HOOK_SETS) : 0,
        .set = set,
        .seen = f->attention_seen ? show_attention : NULL,
        .seen_self = &watched,
    };
    q = place_in_text(f, s, ROLE_Q_NORM, q);
    k = place_in_text(f, s, ROLE_K_NORM, k);
    if (f->cache && (a->causal || s->stack == STACK_DECODER)) through_cache(f, s, &k, &v, &how);
    node head = offer_both(f, s, TAP_A_HEAD, op_attention(t, q, k, v, &how));
    node context = offer_both(f, s, TAP_A_CTX, head);
    node out = offer_out(f, s, TAP_A_OUT, linear(f, s, context, ROLE_O_W, ROLE_O_B));
    return leave(f, s, TAP_A_RES, TAP_A_END, out);
}

/* φ(x W_1 + b_1), as one op if no hook reads the intermediate value; gated: φ(x W_0) ⊙ x W_1. */
static node activate(const struct forward *f, struct site *s, node in) {
    const struct arch *a = &f->model->arch;
    struct tape *t = f->tape;
    node act;
    if (sublayer_wants(f, s, TAP_F_PRE)) {
        act =
            op_act(t, offer_both(f, s, TAP_F_PRE, linear(f, s, in, ROLE_F1_W, ROLE_F1_B)), a->act);
    } else {
        act = op_linear_act(t, in, map_at(f, ROLE_F1_W, s), weight_at(f, ROLE_F1_B, s), a->act);
    }
    if (a->gated)
        act = op_mul(t, act, offer_both(f, s, TAP_F_UP, linear(f, s, in, ROLE_F1G_W, ROLE_F1G_B)));
    act = sublayer_offer(f, s, TAP_F_ACT, TAP_RAW, act);
    act = sublayer_drop(f, s, "f.act", f->activation_dropout, act);
    return sublayer_offer(f, s, TAP_F_ACT, TAP_DONE, act);
}

node sublayer_feed_forward(const struct forward *f, struct site *s, node x) {
    tape_site(f->tape, "%slayer %d feed-forward", s->stack == STACK_DECODER ? "decoder " : "",
              s->layer);
    node in = enter(f, s, TAP_F_RES, TAP_F_IN, x);
    node act = activate(f, s, in);
    node out = offer_out(f, s, TAP_F_OUT, linear(f, s, act, ROLE_F2_W, ROLE_F2_B));
    return leave(f, s, TAP_F_RES, TAP_F_END, out);
}
