/* AdapterHub tensors other than single maps: LoRA with gates and norms, VeRA, and IA3. */
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/exchange/hub.h"

static bool low_is_on(const struct hub_reader *r, const char *key) {
    return json_is_true(json_object_get(r->hub.lora, key));
}

static bool is_scale(const struct hub_reader *r) {
    const char *mode = json_string_value(json_object_get(r->hub.lora, "composition_mode"));
    return mode && !strcmp(mode, "scale");
}

/* ---- VeRA ---- */

/* Returns the projection shared by all places: "lora_A" or "lora_B". */
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

/* VeRA's matrices before and after the projection are trained in full, not only their diagonals, so the
 * change has rank r: W_d = A and W_u = V_B B V_D. */
static int make_vera(struct hub_reader *r, struct bag_tensor *outer, const struct tensor_info *t,
                     struct placed *p, struct err *e) {
    struct bag_tensor *inner = hub_sibling(r, outer, "vera_B", "vera_D"), *a = hub_low_shared(r, "lora_A"),
                      *b = hub_low_shared(r, "lora_B");
    size_t rank = a ? a->shape[0] : 0, out = (size_t)t->rows;
    if (!inner || !a || !b || !rank)
        return reading_refuse(&r->in, outer, "vera_D, or the shared lora_A or lora_B, is missing or empty",
                              e);
    if (reading_shape(&r->in, a, rank, (size_t)t->cols, e) || reading_shape(&r->in, b, out, rank, e) ||
        reading_shape(&r->in, inner, rank, rank, e) || reading_shape(&r->in, outer, out, out, e))
        return e->code;
    real *half = reading_room(&r->in, out * rank), *up = reading_room(&r->in, out * rank);
    if (!half || !up) return err_set(e, ERR_SYSTEM, "out of memory for the update of %s", t->name);
    multiply(b->values, inner->values, out, rank, rank, half);
    multiply(outer->values, half, out, out, rank, up);
    if (!r->told_vera)
        notes_add(
            &r->in.out->assumed,
            "vera_B and vera_D were multiplied with the shared projection: VeRA is trained as a low-rank "
            "update of rank %zu",
            rank);
    r->told_vera = inner->used = outer->used = true;
    piece_add(p, SLOT_DOWN_W, a->values, a->count);
    piece_add(p, SLOT_UP_W, up, out * rank);
    return 0;
}

/* ---- all ---- */

/* Scales are multiplied by alpha. */
static int scale_by_alpha(struct hub_reader *r, struct bag_tensor *b, struct err *e) {
    double alpha = 1;
    if (!json_get_double(r->hub.lora, r->hub.path, "alpha", &alpha, e) && e->code) return e->code;
    for (size_t i = 0; i < b->count && alpha != 1; i++) b->values[i] *= (real)alpha;
    if (alpha != 1 && !r->told_alpha)
        notes_add(&r->in.out->assumed, "the IA3 scales were multiplied by alpha = %g", alpha);
    r->told_alpha = r->told_alpha || alpha != 1;
    return 0;
}

int hub_take_low(struct hub_reader *r, struct bag_tensor *b, const char *own, const char *map,
                 struct err *e) {
    const struct tensor_info *t = reading_map(r->in.m, map);
    enum tap tap = t ? reading_tap(t) : TAP_NONE;
    bool gated = low_is_on(r, "use_gating"), dora = low_is_on(r, "use_dora"), vera = !strcmp(own, "vera_B"),
         scale = is_scale(r);
    if (!r->hub.lora) return reading_refuse(&r->in, b, "the config describes no LoRA", e);
    if (tap == TAP_NONE)
        return reading_refuse(&r->in, b, "the model has no such linear layer, or no method can adapt it",
                              e);
    if (gated && (scale || dora))
        return reading_refuse_key(r->hub.path, "use_gating", json_true(),
                                  scale ? "petri does not support gating of IA3 scales"
                                        : "petri does not support gating with DoRA",
                                  e);
    struct module m = module_default(scale ? FN_SCALE : dora ? FN_DECOMPOSED : FN_LINEAR);
    m.write = tap;
    if (!scale) {
        const struct bag_tensor *shared = vera ? hub_low_shared(r, "lora_A") : NULL;
        size_t rank = vera ? shared ? shared->shape[0] : 1 : b->rank == 2 ? b->shape[1] : 0;
        if (!rank || rank > 1 << 16) return reading_refuse(&r->in, b, "the rank must be between 1 and "
                                                                      "65,536", e);
        m.read = tap_map_input(tap);
        m.size = (int)rank;
        if (hub_lora_scale(&r->hub, m.size, &r->in.out->assumed, &m.scale, e)) return e->code;
        m.comp = gated ? COMP_GATE : COMP_SCALED;
        if (gated) m.scale = 1;
        if (dora) m.length = LENGTH_OUTPUT;
    }
    const struct file_part *rows = hub_low_parts + (vera ? HUB_OF_VERA : 0);
    struct bag_tensor *found[HUB_MOST_PARTS];
    char *place = xstrndup(b->name, strlen(b->name) - strlen(own));
    int rc = hub_find_parts(r, rows, place, &m, b, found, e);
    free(place);
    if (rc || (scale && scale_by_alpha(r, b, e))) return e->code;
    struct placed *p = assembly_piece(&r->in.to, &m, t->stack, t->sublayer, t->layer);
    if (vera && make_vera(r, b, t, p, e)) return e->code;
    return hub_take_parts(r, rows, p, (size_t)t->cols, (size_t)t->rows, found, e);
}
