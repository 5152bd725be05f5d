/* Tensors of AdapterHub folders: tables of a module's tensors at a place, and the names of places. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub.h"
#include "core/exchange/writing.h"

/* %d: 1 where a norm is before the map, else 0. */
const struct file_part hub_bottleneck_parts[] = {
    { "adapter_norm_before.weight", SLOT_BEFORE_W, .cols = SIZE_IN, .key = "ln_before" },
    { "adapter_norm_before.bias", SLOT_BEFORE_B, .cols = SIZE_IN, .key = "ln_before" },
    { "adapter_down.0.weight", SLOT_BEFORE_W, .cols = SIZE_IN, .copy = true },
    { "adapter_down.0.bias", SLOT_BEFORE_B, .cols = SIZE_IN, .copy = true },
    { "adapter_down.%d.weight", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN },
    { "adapter_down.%d.bias", SLOT_DOWN_B, .cols = SIZE_RANK, .of = PART_PLAIN },
    { "adapter_up.weight", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK },
    { "adapter_up.bias", SLOT_UP_B, .cols = SIZE_OUT, .of = PART_PLAIN },
    { "adapter_down.%d.phm_rule", SLOT_KRON_A_DOWN, SIZE_NN, .cols = SIZE_N, .split = true },
    { "adapter_down.%d.W", SLOT_KRON_L_DOWN, SIZE_IN, .cols = SIZE_RANK_N, .split = true, .of = PART_WHOLE },
    { "adapter_down.%d.W_left", SLOT_KRON_L_DOWN, SIZE_IN, .cols = SIZE_K, .split = true,
      .of = PART_FACTORED },
    { "adapter_down.%d.W_right", SLOT_KRON_R_DOWN, SIZE_NK, .cols = SIZE_RANK_N, .split = true },
    { "adapter_down.%d.b", SLOT_DOWN_B, .cols = SIZE_RANK, .of = PART_PRODUCTS },
    { "adapter_up.phm_rule", SLOT_KRON_A_UP, SIZE_NN, .cols = SIZE_N, .split = true },
    { "adapter_up.W", SLOT_KRON_L_UP, SIZE_RANK, .cols = SIZE_OUT_N, .split = true, .of = PART_WHOLE },
    { "adapter_up.W_left", SLOT_KRON_L_UP, SIZE_RANK, .cols = SIZE_K, .split = true, .of = PART_FACTORED },
    { "adapter_up.W_right", SLOT_KRON_R_UP, SIZE_NK, .cols = SIZE_OUT_N, .split = true },
    { "adapter_up.b", SLOT_UP_B, .cols = SIZE_OUT, .of = PART_PRODUCTS },
    { "adapter_norm_after.weight", SLOT_NORM_W, .cols = SIZE_OUT, .key = "ln_after" },
    { "adapter_norm_after.bias", SLOT_NORM_B, .cols = SIZE_OUT, .key = "ln_after" },
    { "scaling", SLOT_SCALE, .key = "scaling" },
    { "gate.weight", SLOT_GATE_W, SIZE_GATES, .cols = SIZE_IN, .key = "use_gating" },
    { "gate.bias", SLOT_GATE_B, .cols = SIZE_GATES, .key = "use_gating" },
    { NULL },
};
const struct file_part hub_low_parts[] = {
    { "lora_A", SLOT_DOWN_W, SIZE_RANK, .cols = SIZE_IN },
    { "lora_B", SLOT_UP_W, SIZE_OUT, .cols = SIZE_RANK, .of = PART_LOW },
    { "lora_B", SLOT_CHANNEL, SIZE_OUT, .cols = SIZE_ONE, .of = PART_SCALE },
    { "m.weight", SLOT_LENGTH, SIZE_OUT, .cols = SIZE_ONE, .key = "use_dora" },
    { "gate.weight", SLOT_GATE_W, SIZE_GATES, .cols = SIZE_IN, .key = "use_gating" },
    { "gate.bias", SLOT_GATE_B, .cols = SIZE_GATES, .key = "use_gating" },
    { NULL },
};
const struct file_part hub_gate_parts[] = {
    { "weight", SLOT_GATE_W, SIZE_GATES, .cols = SIZE_IN },
    { "bias", SLOT_GATE_B, .cols = SIZE_GATES },
    { NULL },
};
const struct file_part hub_fusion_parts[] = {
    { "query.weight", SLOT_FUSION_QUERY_W, SIZE_OUT, .cols = SIZE_OUT },
    { "query.bias", SLOT_FUSION_QUERY_B, .cols = SIZE_OUT },
    { "key.weight", SLOT_FUSION_KEY_W, SIZE_OUT, .cols = SIZE_OUT },
    { "key.bias", SLOT_FUSION_KEY_B, .cols = SIZE_OUT },
    { "value.weight", SLOT_FUSION_VALUE, SIZE_OUT, .cols = SIZE_OUT },
    { NULL },
};

bool hub_part_fits(const struct file_part *p, const struct module *m) {
    bool products = m->source == SOURCE_KRONECKER;
    const bool fits[] = { [PART_ANY] = true,
                          [PART_PLAIN] = !products,
                          [PART_PRODUCTS] = products,
                          [PART_WHOLE] = !m->factor,
                          [PART_FACTORED] = m->factor,
                          [PART_LOW] = m->fn != FN_SCALE,
                          [PART_SCALE] = m->fn == FN_SCALE };
    return fits[p->of];
}

/* Returns whether this module has a row of the table. */
static bool part_wanted(const struct file_part *p, const struct module *m) {
    bool products = m->source == SOURCE_KRONECKER;
    switch (p->slot) {
    case SLOT_DOWN_W: case SLOT_UP_W: return !products && m->fn != FN_SCALE;
    case SLOT_DOWN_B: case SLOT_UP_B: return m->biases;
    case SLOT_BEFORE_W: case SLOT_BEFORE_B: return m->norm_before;
    case SLOT_NORM_W: case SLOT_NORM_B: return m->norm != NORM_NONE;
    case SLOT_GATE_W: case SLOT_GATE_B: return comp_gates(m->comp) > 0;
    case SLOT_LENGTH: return m->fn == FN_DECOMPOSED;
    case SLOT_KRON_A_DOWN: case SLOT_KRON_A_UP: return products && m->own_rule;
    case SLOT_KRON_L_DOWN: case SLOT_KRON_L_UP: return products;
    case SLOT_KRON_R_DOWN: case SLOT_KRON_R_UP: return products && m->factor;
    default: return p->slot != SLOT_SCALE || m->comp == COMP_LEARNED || m->comp == COMP_CHANNEL;
    }
}

enum slot hub_part_slot(const struct file_part *p, const struct module *m) {
    return p->slot == SLOT_SCALE && m->comp == COMP_CHANNEL ? SLOT_CHANNEL : p->slot;
}

char *hub_part_name(const char *place, const struct file_part *p, const struct module *m) {
    const char *number = strstr(p->name, "%d");
    return number ? xprintf("%s%.*s%d%s", place, (int)(number - p->name), p->name, m->norm_before, number + 2)
                  : xprintf("%s%s", place, p->name);
}

/* ---- reading ---- */

/* Returns a tensor of the place, or a factor shared by all maps: W_down_left for the W_left of a down-map. */
static struct bag_tensor *part_at(struct hub_reader *r, const char *place, const struct file_part *p,
                                  const struct module *m) {
    const char *last = strrchr(p->name, '.');
    bool shared = p->split && last[1] == 'W' && hub_shares_factors(r->hub.bottleneck);
    char *name = shared ? xprintf("W_%s%s", text_starts(p->name, "adapter_up") ? "up" : "down", last + 2)
                        : hub_part_name(place, p, m);
    struct bag_tensor *t = shared ? hub_shared(r, name) : bag_find(&r->in.bag, name);
    free(name);
    return t;
}

int hub_find_parts(struct hub_reader *r, const struct file_part *rows, const char *place,
                   const struct module *m, const struct bag_tensor *first,
                   struct bag_tensor *found[HUB_MOST_PARTS], struct err *e) {
    for (int i = 0; rows[i].name; i++) {
        const struct file_part *p = &rows[i];
        bool folded = p->slot == SLOT_SCALE && hub_scale_is_folded(r->hub.bottleneck),
             wanted = folded || part_wanted(p, m);
        struct bag_tensor *t = hub_part_fits(p, m) && (wanted || !p->copy) ? part_at(r, place, p, m) : NULL;
        found[i] = p->copy ? NULL : t;
        if (t && p->copy) {
            const struct bag_tensor *own = found[i - 2];
            if (t->count != own->count || memcmp(t->values, own->values, own->count * sizeof *own->values))
                return reading_refuse(&r->in, t, "differs from its copy under adapter_norm_before", e);
            t->used = true;
        }
        if (p->copy || !hub_part_fits(p, m) || wanted == (t != NULL)) continue;
        char *why = p->key ? xprintf("contradicts \"%s\" in the config", p->key)
                           : xstrdup("the other tensors of its module are missing");
        reading_refuse(&r->in, t ? t : first, why, e);
        free(why);
        return e->code;
    }
    return 0;
}

int hub_take_parts(struct hub_reader *r, const struct file_part *rows, struct placed *p, size_t in,
                   size_t out, struct bag_tensor *found[HUB_MOST_PARTS], struct err *e) {
    const struct module *m = &p->module;
    const size_t n = (size_t)(m->mid ? m->mid : 1), k = (size_t)m->factor, rank = (size_t)m->size;
    const size_t size[PART_SIZES] = { [SIZE_ONE] = 1,
                                      [SIZE_RANK] = rank,
                                      [SIZE_IN] = in,
                                      [SIZE_OUT] = out,
                                      [SIZE_GATES] = (size_t)comp_gates(m->comp),
                                      [SIZE_N] = n,
                                      [SIZE_NN] = n * n,
                                      [SIZE_K] = k,
                                      [SIZE_NK] = n * k,
                                      [SIZE_RANK_N] = rank / n,
                                      [SIZE_OUT_N] = out / n };
    for (int i = 0; rows[i].name; i++) {
        struct bag_tensor *t = found[i];
        if (!t) continue;
        size_t high = size[rows[i].rows], wide = size[rows[i].cols];
        bool cube = t->rank == 3 && t->shape[0] == n && t->shape[1] == high / n && t->shape[2] == wide;
        if (rows[i].split && !cube)
            return reading_refuse(&r->in, t, "its shape does not match the Kronecker products in the config",
                                  e);
        if (!rows[i].split && high && reading_shape(&r->in, t, high, wide, e)) return e->code;
        piece_add(p, hub_part_slot(&rows[i], m), t->values, t->count);
        t->used = true;
    }
    return 0;
}

/* ---- places ---- */

/* Model parts after which adapters are inserted, and the map that produces their input. */
static const char *const ends[][2] = {
    { "", ".dense" },
    { "", ".SelfAttention.o" },
    { "", ".EncDecAttention.o" },
    { "", ".DenseReluDense.wo" },
    { ".cross_attention_adapters", ".encoder_attn.out_proj" },
    { ".attention_adapters", ".self_attn.out_proj" },
    { ".output_adapters", ".fc2" },
};

const struct tensor_info *hub_map(const struct model *m, const char *place) {
    const struct tensor_info *t = NULL;
    for (size_t i = 0; i < COUNT_OF(ends) && !t; i++) {
        if (!text_ends(place, ends[i][0])) continue;
        char *name = xprintf("%.*s%s", (int)(strlen(place) - strlen(ends[i][0])), place, ends[i][1]);
        t = reading_map(m, name);
        free(name);
    }
    return t && (t->role == ROLE_O_W || t->role == ROLE_F2_W) ? t : NULL;
}

char *hub_place(const struct model *m, enum tap write, int stack, int site, int layer) {
    char *map = writing_map(m, write, stack, site, layer), *place = NULL;
    for (size_t i = 0; i < COUNT_OF(ends) && !place; i++)
        if (text_ends(map, ends[i][1]))
            place = xprintf("%.*s%s", (int)(strlen(map) - strlen(ends[i][1])), map, ends[i][0]);
    BUG_IF(!place);
    free(map);
    return place;
}

/* ---- prefixes ---- */

static const struct hub_attention of_encoder[] = { { "self_prefix", STACK_ENCODER, SUB_SELF },
                                                   { NULL, 0, 0 } };
static const struct hub_attention of_both[] = { { "encoder_prefix", STACK_ENCODER, SUB_SELF },
                                                { "self_prefix", STACK_DECODER, SUB_SELF },
                                                { "cross_prefix", STACK_DECODER, SUB_CROSS },
                                                { NULL, 0, 0 } };

const struct hub_attention *hub_attentions(const struct arch *a) {
    return a->decoder_layers ? of_both : of_encoder;
}

char *hub_attention_name(const struct model *m, const struct hub_attention *at, int layer) {
    char *map = writing_map(m, TAP_A_K, at->stack, at->site, layer);
    *strrchr(map, '.') = 0;
    return map;
}
