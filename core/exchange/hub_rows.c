/* AdapterHub tensors of added rows: a prefix of keys and values, and a prompt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub.h"

/* ---- prefix: keys and values in every layer ---- */

/* Returns the prefix tensor of a key with this suffix; all its copies must be equal. NULL: none, or an error
 * in e->code. */
static const struct bag_tensor *one_of(struct hub_reader *r, const char *key, const char *end,
                                       struct err *e) {
    char *mark = xprintf("prefix_tunings.%s.%s.%s", r->hub.name, key, end);
    const struct bag_tensor *first = NULL;
    for (size_t i = 0; i < r->in.bag.count && !e->code; i++) {
        struct bag_tensor *t = &r->in.bag.tensor[i];
        if (!text_ends(t->name, mark)) continue;
        if (first &&
            (t->count != first->count || memcmp(t->values, first->values, t->count * sizeof *t->values)))
            reading_refuse(&r->in, t, "differs from its copies in other layers", e);
        t->used = true;
        if (!first) first = t;
    }
    free(mark);
    return e->code ? NULL : first;
}

/* out (l × n) = act(x W₁ᵀ + b₁) W₂ᵀ + b₂ */
static void run_mlp(const real *x, size_t l, size_t d, const struct bag_tensor *w[4], size_t mid, size_t n,
                    real *out) {
    double *h = xcalloc(mid, sizeof *h);
    for (size_t t = 0; t < l; t++) {
        for (size_t i = 0; i < mid; i++) {
            double v = (double)w[1]->values[i];
            for (size_t k = 0; k < d; k++) v += (double)x[t * d + k] * (double)w[0]->values[i * d + k];
            h[i] = tanh(v);
        }
        for (size_t i = 0; i < n; i++) {
            double v = (double)w[3]->values[i];
            for (size_t k = 0; k < mid; k++) v += h[k] * (double)w[2]->values[i * mid + k];
            out[t * n + i] = (real)v;
        }
    }
    free(h);
}

/* Returns the effective prefix of a key, l × n, n = 2 · layers · d; NULL with e->code 0: the file has none of
 * that key. */
static real *make_prefix(struct hub_reader *r, const char *key, size_t n, size_t *length, struct err *e) {
    static const char *const parts[] = { "control_trans.0.weight", "control_trans.0.bias",
                                         "control_trans.2.weight", "control_trans.2.bias" };
    const struct bag_tensor *flat = one_of(r, key, "control_trans", e), *w[4] = { 0 };
    const struct bag_tensor *words = flat || e->code ? NULL : one_of(r, key, "wte.weight", e);
    for (int i = 0; i < 4 && words && !e->code; i++) w[i] = one_of(r, key, parts[i], e);
    if (e->code || (!flat && !words)) return NULL;
    const char *act = json_string_value(json_object_get(r->hub.prefix, "non_linearity"));
    size_t d = (size_t)r->in.m->arch.width, l = flat ? flat->count / n : words->shape[0],
           mid = w[1] ? w[1]->count : 0;
    bool whole = flat ? l && flat->count == l * n
                      : words->rank == 2 && words->shape[1] == d && w[0] && w[1] && w[2] && w[3] && l &&
                            l < 1 << 16 && w[0]->count == mid * d && w[2]->count == mid * n &&
                            w[3]->count == n;
    if (!whole)
        err_set(e, ERR_INPUT, "%s: prefix (%s): tensors are missing or have the shapes of another model",
                r->in.bag.path, key);
    else if (!flat && !act)
        err_set(e, ERR_INPUT, "%s: \"non_linearity\" of the prefix is missing; must be \"tanh\"",
                r->hub.path);
    else if (!flat && strcmp(act, "tanh") != 0)
        err_set(e, ERR_INPUT,
                "%s: \"non_linearity\" of the prefix: only \"tanh\" is supported, found \"%.40s\"",
                r->hub.path, act);
    if (e->code) return NULL;
    real *made = reading_room(&r->in, l * n);
    if (!made) err_set(e, ERR_SYSTEM, "out of memory for a prefix");
    else if (flat) memcpy(made, flat->values, l * n * sizeof *made);
    else run_mlp(words->values, l, d, w, mid, n, made);
    if (!flat && !r->told_network)
        notes_add(&r->in.out->assumed,
                  "the prefix was computed once by its reparameterization MLP; its keys and values are "
                  "trained directly");
    r->told_network = r->told_network || !flat;
    *length = l;
    return made;
}

/* Reads the gate of a layer's prefix; encoders only, since in a decoder it would depend on later tokens. */
static int take_gate(struct hub_reader *r, struct placed *p, const struct hub_attention *at, int layer,
                     struct err *e) {
    struct bag_tensor *found[HUB_MOST_PARTS];
    if (!comp_gates(p->module.comp)) return 0;
    char *name = hub_attention_name(r->in.m, at, layer);
    char *end = xprintf("%s.prefix_tuning.prefix_gates.%s.weight",
                        name + strlen(family_prefix(r->in.m->arch.family)), r->hub.name);
    const struct bag_tensor *w = bag_find_end(&r->in.bag, end);
    free(name);
    free(end);
    if (!w) return err_set(e, ERR_INPUT, "%s: layer %d: the gate of the prefix is missing",
                                         r->in.bag.path, layer + 1);
    char *place = xstrndup(w->name, strlen(w->name) - strlen("weight"));
    int rc = hub_find_parts(r, hub_gate_parts, place, &p->module, w, found, e);
    free(place);
    return rc ? rc : hub_take_parts(r, hub_gate_parts, p, (size_t)r->in.m->arch.width, 0, found, e);
}

/* Lists the layers of a stack with a prefix; returns their number. */
static int prefix_layers(const struct hub_reader *r, int stack, int *layer) {
    const json_t *out = json_object_get(r->hub.prefix, "leave_out"), *v;
    int all = stack == STACK_DECODER ? r->in.m->arch.decoder_layers : r->in.m->arch.encoder_layers, n = 0;
    for (int i = 0; i < all && i < HUB_LAYERS; i++) {
        bool left = false;
        size_t k;
        json_array_foreach(out, k, v) left = left || (json_is_integer(v) && json_integer_value(v) == i);
        if (!left) layer[n++] = i;
    }
    return n;
}

static int take_prefix_at(struct hub_reader *r, const struct hub_attention *at, bool *found, struct err *e) {
    const struct arch *a = &r->in.m->arch;
    int layer[HUB_LAYERS], layers = prefix_layers(r, at->stack, layer);
    size_t d = (size_t)a->heads * (size_t)a->head_width, n = 2 * (size_t)layers * d, l = 0;
    real *flat = layers ? make_prefix(r, at->key, n, &l, e) : NULL;
    if (!flat) return e->code;
    *found = true;
    /* per layer: keys and values, concatenated by rows */
    real *rows = reading_room(&r->in, l * n);
    if (!rows) return err_set(e, ERR_SYSTEM, "out of memory for a prefix");
    for (size_t k = 0; k < 2 * (size_t)layers; k++)
        for (size_t t = 0; t < l; t++) memcpy(rows + (k * l + t) * d, flat + t * n + k * d, d * sizeof *rows);
    struct module m = module_default(FN_SOFTMAX);
    const json_t *shared = json_object_get(r->hub.prefix, "shared_gating");
    m.size = (int)l;
    if (json_is_true(json_object_get(r->hub.prefix, "use_gating")))
        m.comp = json_is_false(shared) ? COMP_GATES : COMP_GATE;
    for (size_t i = 0; i < (size_t)layers; i++) {
        struct placed *p = assembly_piece(&r->in.to, &m, at->stack, at->site, layer[i]);
        piece_add(p, SLOT_KEY, rows + 2 * i * l * d, l * d);
        piece_add(p, SLOT_VALUE, rows + (2 * i + 1) * l * d, l * d);
        if (take_gate(r, p, at, layer[i], e)) return e->code;
    }
    return 0;
}

int hub_take_prefix(struct hub_reader *r, struct err *e) {
    const struct arch *a = &r->in.m->arch;
    const json_t *out = json_object_get(r->hub.prefix, "leave_out");
    bool found = false;
    if (a->buckets)
        return reading_refuse_key(
            r->hub.path, "architecture", json_object_get(r->hub.prefix, "architecture"),
            "on T5 AdapterHub shifts the relative positions by the prefix length, which petri does not "
            "support", e);
    if (a->decoder_layers && json_array_size(out))
        return reading_refuse_key(r->hub.path, "leave_out", out,
                                  "on encoder–decoder models only prefixes in all layers are supported", e);
    int rc = 0;
    for (const struct hub_attention *at = hub_attentions(a); at->key && !rc; at++)
        rc = take_prefix_at(r, at, &found, e);
    return rc || found ? rc : err_set(e, ERR_INPUT, "%s: no prefix tensors found", r->in.bag.path);
}

/* ---- prompt, inserted after the embeddings ---- */

int hub_take_prompt(struct hub_reader *r, struct err *e) {
    const json_t *combine = json_object_get(r->hub.prompt, "combine");
    bool after = json_is_string(combine) && !strcmp(json_string_value(combine), "prefix_after_bos");
    char *end = xprintf("prompt_tuning.prompt_tunings.%s.prompt_embedding.weight", r->hub.name);
    struct bag_tensor *t = bag_find_end(&r->in.bag, end);
    free(end);
    if (json_is_string(combine) && !after && strcmp(json_string_value(combine), "prefix"))
        return reading_refuse_key(r->hub.path, "combine", combine,
                                  "must be prefix (before the text) or prefix_after_bos (after the first "
                                  "token)", e);
    if (!t) return err_set(e, ERR_INPUT, "%s: missing prompt_embedding", r->in.bag.path);
    if (t->rank != 2 || !t->shape[0] || t->shape[0] > 1 << 16 || t->shape[1] != (size_t)r->in.m->arch.width)
        return reading_refuse_shape(&r->in, t, "virtual tokens × hidden size", e);
    struct module m = module_default(FN_PROMPT);
    m.size = (int)t->shape[0];
    m.write = TAP_EMBED;
    m.place = after ? PLACE_AFTER_BOS : PLACE_FIRST;
    m.pool = POOL_ROW0; /* with the first token before them, which is row 0 */
    module_normalize(&m);
    t->used = true;
    piece_add(assembly_piece(&r->in.to, &m, STACK_ENCODER, SUB_EMBED, -1), SLOT_OWN, t->values, t->count);
    return 0;
}

