/* What an AdapterHub folder has beside single maps: LoRA with its gates and lengths, VeRA, and scales. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/hub.h"

static bool low_is_on(const struct hub_reader *r, const char *key) { return json_is_true(json_object_get(r->hub.lora, key)); }

static bool is_scale(const struct hub_reader *r) {
    const char *mode = json_string_value(json_object_get(r->hub.lora, "composition_mode"));
    return mode && !strcmp(mode, "scale");
}

/* ---- scales ---- */

static int take_scale(struct hub_reader *r, struct bag_tensor *b, const struct tensor_info *t, enum tap tap, struct err *e) {
    struct module m = module_default(FN_SCALE);
    double alpha = 1;
    m.write = tap;
    if (hub_beside(r, b, "lora_B", "lora_A")) return reading_refuse(&r->in, b, "a scale has no lora_A", e);
    if (low_is_on(r, "use_gating"))
        return reading_refuse_key(r->hub.path, "use_gating", json_true(), "petri has no gates of scales", e);
    if (reading_shape(&r->in, b, (size_t)t->rows, 1, e)) return e->code;
    if (!json_get_double(r->hub.lora, r->hub.path, "alpha", &alpha, e) && e->code) return e->code;
    for (size_t i = 0; i < b->count && alpha != 1; i++) b->values[i] *= (real)alpha;
    if (alpha != 1 && !r->told_alpha) notes_add(&r->in.out->assumed, "the scales are taken times alpha, %g", alpha);
    r->told_alpha = r->told_alpha || alpha != 1;
    piece_add(assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer), SLOT_CHANNEL, b->values, b->count);
    b->used = true;
    return 0;
}

/* ---- VeRA ---- */

/* The projection that all places share: "lora_A" or "lora_B". */
static struct bag_tensor *hub_low_shared(struct hub_reader *r, const char *which) {
    struct bag_tensor *found = hub_shared(r, which);
    if (found && found->rank == 2) found->used = true;
    return found && found->rank == 2 ? found : NULL;
}

/* out (n×m) = a (n×k) b (k×m) */
static void multiply(const real *a, const real *b, size_t n, size_t k, size_t m, real *out) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < m; j++) {
            double sum = 0;
            for (size_t x = 0; x < k; x++) sum += (double)a[i * k + x] * (double)b[x * m + j];
            out[i * m + j] = (real)sum;
        }
}

/* What stands before and behind the projection is trained whole there, not on the diagonal alone: with it the change is
 * any one of rank r, W_d = A and W_u = V_B B V_D. */
static int make_vera(struct hub_reader *r, struct bag_tensor *outer, const struct tensor_info *t, struct low_tensors *x,
                     struct err *e) {
    struct bag_tensor *inner = hub_beside(r, outer, "vera_B", "vera_D"), *a = hub_low_shared(r, "lora_A"),
                      *b = hub_low_shared(r, "lora_B");
    size_t rank = a ? a->shape[0] : 0, out = (size_t)t->rows;
    if (!inner || !a || !b || !rank)
        return reading_refuse(&r->in, outer, "there is no vera_D beside it, or no shared lora_A and lora_B", e);
    if (reading_shape(&r->in, a, rank, (size_t)t->cols, e) || reading_shape(&r->in, b, out, rank, e) ||
        reading_shape(&r->in, inner, rank, rank, e) || reading_shape(&r->in, outer, out, out, e))
        return e->code;
    real *half = mem_try(out * rank, sizeof *half), *up = half ? hub_room(r, out * rank) : NULL;
    if (!up) {
        free(half);
        return err_set(e, ERR_SYSTEM, "no memory for a change of %s", t->name);
    }
    multiply(b->values, inner->values, out, rank, rank, half);
    multiply(outer->values, half, out, out, rank, up);
    free(half);
    if (!r->told_vera)
        notes_add(&r->in.out->assumed, "VeRA's square matrices are multiplied with its projection once: a change of rank %zu, free "
                  "from then on", rank);
    r->told_vera = inner->used = outer->used = true;
    x->rank = rank;
    x->down = a->values;
    x->up = up;
    return 0;
}

/* ---- LoRA ---- */

static int find_pair(struct hub_reader *r, struct bag_tensor *b, const struct tensor_info *t, struct low_tensors *x, struct err *e) {
    struct bag_tensor *a = hub_beside(r, b, "lora_B", "lora_A");
    size_t rank = b->rank == 2 ? b->shape[1] : 0;
    if (!a || !rank || rank > 1 << 16) return reading_refuse(&r->in, b, "there is no lora_A beside it", e);
    if (reading_shape(&r->in, a, rank, (size_t)t->cols, e) || reading_shape(&r->in, b, (size_t)t->rows, rank, e)) return e->code;
    a->used = b->used = true;
    *x = (struct low_tensors){ .rank = rank, .down = a->values, .up = b->values };
    return 0;
}

/* Its gate, and its lengths. */
static int find_more(struct hub_reader *r, const struct bag_tensor *b, const char *own, const struct tensor_info *t,
                     struct module *m, struct low_tensors *x, struct err *e) {
    struct bag_tensor *gate = hub_beside(r, b, own, "gate.weight"), *gate_b = hub_beside(r, b, own, "gate.bias"),
                      *length = hub_beside(r, b, own, "m.weight");
    if (gate && length) return reading_refuse(&r->in, gate, "petri has no gates of decomposed maps", e);
    if (low_is_on(r, "use_gating") != (gate && gate_b))
        return reading_refuse(&r->in, gate ? gate : b, "the config's use_gating says otherwise", e);
    if (low_is_on(r, "use_dora") != (length != NULL))
        return reading_refuse(&r->in, length ? length : b, "the config's use_dora says otherwise", e);
    if (gate) {
        if (reading_shape(&r->in, gate, 1, (size_t)t->cols, e)) return e->code;
        m->comp = COMP_GATE;
        m->scale = 1;
        gate->used = gate_b->used = true;
    }
    if (length) {
        if (reading_shape(&r->in, length, (size_t)t->rows, 1, e)) return e->code;
        struct module other = module_default(FN_DECOMPOSED);
        other.read = m->read, other.write = m->write, other.size = m->size;
        other.comp = m->comp, other.scale = m->scale, other.length = LENGTH_OUTPUT;
        *m = other;
        length->used = true;
    }
    x->gate = gate;
    x->gate_b = gate_b;
    x->length = length;
    return 0;
}

int hub_take_low(struct hub_reader *r, struct bag_tensor *b, const char *own, const char *map, struct err *e) {
    const struct tensor_info *t = reading_map(r->in.m, map);
    enum tap tap = t ? reading_tap(t) : TAP_NONE;
    struct low_tensors x = { 0 };
    if (!r->hub.lora) return reading_refuse(&r->in, b, "the config has no lora", e);
    if (tap == TAP_NONE) return reading_refuse(&r->in, b, "the model has no such map, or no method changes it", e);
    if (is_scale(r)) return take_scale(r, b, t, tap, e);
    if (strcmp(own, "vera_B") ? find_pair(r, b, t, &x, e) : make_vera(r, b, t, &x, e)) return e->code;
    struct module m = module_default(FN_LINEAR);
    m.write = tap;
    m.read = tap_map_input(tap);
    m.comp = COMP_SCALED;
    m.size = (int)x.rank;
    if (hub_lora_scale(&r->hub, m.size, &r->in.out->assumed, &m.scale, e) || find_more(r, b, own, t, &m, &x, e)) return e->code;
    struct placed *p = assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer);
    piece_add(p, SLOT_DOWN_W, x.down, x.rank * (size_t)t->cols);
    piece_add(p, SLOT_UP_W, x.up, (size_t)t->rows * x.rank);
    if (x.gate) piece_add(p, SLOT_GATE_W, x.gate->values, x.gate->count);
    if (x.gate) piece_add(p, SLOT_GATE_B, x.gate_b->values, x.gate_b->count);
    if (x.length) piece_add(p, SLOT_LENGTH, x.length->values, x.length->count);
    return 0;
}
