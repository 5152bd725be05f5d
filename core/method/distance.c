#include "core/method/distance.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/network.h"
#include "core/method/slots.h"

enum distance_axis {
    DISTANCE_FUNCTION,
    DISTANCE_POSITION,
    DISTANCE_INSERTION,
    DISTANCE_COMPOSITION,
    DISTANCE_HEADS,
    DISTANCE_SOURCE,
    DISTANCE_START,
    DISTANCE_COUNT
};
static const char *const axis_names[DISTANCE_COUNT] = { "function", "position", "insertion", "composition",
                                                    "heads",    "source",   "init" };

/* Returns the group of the written tap; moving a module within a group does not change its position. */
static int tap_group(const struct module *m) {
    switch (m->write) {
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: return 1;
    case TAP_A_HEAD: case TAP_A_CTX: case TAP_A_OUT: return 2;
    case TAP_F_PRE: case TAP_F_UP: case TAP_F_ACT: return 3;
    case TAP_F_OUT: return 4;
    case TAP_NONE: return 16 + (int)m->target;
    default: return 5;
    }
}

/* Keys and values are always separate per head. */
static bool by_head(const struct module *m) {
    return function_of(m)->form == FORM_KEYS || m->heads != HEADS_SHARED;
}

/* Returns the axes on which two modules differ, one bit each. */
static unsigned axes_of(const struct module *a, const struct module *b) {
    unsigned d = 0;
    if (a->fn != b->fn) d |= 1u << DISTANCE_FUNCTION;
    if (tap_group(a) != tap_group(b)) d |= 1u << DISTANCE_POSITION;
    if (strcmp(module_insertion(a), module_insertion(b))) d |= 1u << DISTANCE_INSERTION;
    if (a->comp != b->comp) d |= 1u << DISTANCE_COMPOSITION;
    if (by_head(a) != by_head(b)) d |= 1u << DISTANCE_HEADS;
    if (a->source != b->source) d |= 1u << DISTANCE_SOURCE;
    if (a->fn == b->fn && (a->init != b->init || a->from_run != b->from_run)) d |= 1u << DISTANCE_START;
    return d;
}

static int bits_of(unsigned d) {
    int n = 0;
    for (; d; d >>= 1) n += d & 1;
    return n;
}

struct difference {
    unsigned axes;
    int unpaired[2];             /* number of modules of a, of b, without a counterpart */
    const struct module *one[2]; /* the last of these */
    bool networks;
};

/* Pairs the modules greedily, the nearest first. */
static struct difference difference_of(const struct method *a, const struct method *b) {
    bool paired_a[METHOD_MODULES] = { false }, paired_b[METHOD_MODULES] = { false };
    struct difference out = { 0 };
    for (int pairs = 0; pairs < a->count && pairs < b->count; pairs++) {
        int least = DISTANCE_COUNT + 1, at = 0, with = 0;
        for (int i = 0; i < a->count; i++)
            for (int j = 0; j < b->count; j++) {
                int n = bits_of(axes_of(&a->module[i], &b->module[j]));
                if (paired_a[i] || paired_b[j] || n >= least) continue;
                least = n;
                at = i;
                with = j;
            }
        paired_a[at] = paired_b[with] = true;
        out.axes |= axes_of(&a->module[at], &b->module[with]);
    }
    for (int i = 0; i < a->count; i++)
        if (!paired_a[i]) out.one[0] = &a->module[i], out.unpaired[0]++;
    for (int j = 0; j < b->count; j++)
        if (!paired_b[j]) out.one[1] = &b->module[j], out.unpaired[1]++;
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++) out.networks = out.networks || !network_equal(n, a, b);
    return out;
}

/* Returns whether m has another module of the same function at the same group of taps. */
static bool has_similar(const struct method *m, const struct module *x) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == x->fn && tap_group(&m->module[i]) == tap_group(x)) return true;
    return false;
}

struct normalized_pair {
    struct method a, b;
};

static struct normalized_pair *normalized(const struct method *a, const struct method *b) {
    struct normalized_pair *x = xmalloc(sizeof *x);
    *x = (struct normalized_pair){ *a, *b };
    for (int i = 0; i < x->a.count; i++) module_normalize(&x->a.module[i]);
    for (int i = 0; i < x->b.count; i++) module_normalize(&x->b.module[i]);
    return x;
}

/* An additional module at the same group of taps counts as another position: a LoRA at q, k and v compared
 * with one at q and v. */
static struct difference difference_between(const struct normalized_pair *x) {
    struct difference d = difference_of(&x->a, &x->b);
    for (int side = 0; side < 2; side++) {
        if (!d.one[side] || !has_similar(side ? &x->a : &x->b, d.one[side])) continue;
        d.unpaired[side] = 0;
        d.axes |= 1u << DISTANCE_POSITION;
    }
    return d;
}

int method_distance(const struct method *a, const struct method *b) {
    struct normalized_pair *x = normalized(a, b);
    struct difference d = difference_between(x);
    free(x);
    return bits_of(d.axes) + d.unpaired[0] + d.unpaired[1] + d.networks;
}

char *method_difference(const struct method *a, const struct method *b) {
    struct normalized_pair *pair = normalized(a, b);
    struct difference d = difference_between(pair);
    struct buf out = BUF_INIT;
    int axes = bits_of(d.axes), n = 0;
    if (axes) buf_printf(&out, "%d %s apart: ", axes, axes == 1 ? "axis" : "axes");
    for (int i = 0; i < DISTANCE_COUNT; i++)
        if (d.axes >> i & 1) buf_printf(&out, "%s%s", n++ ? ", " : "", axis_names[i]);
    for (int side = 0; side < 2; side++) {
        const struct module *x = d.one[side];
        if (!d.unpaired[side]) continue;
        if (out.size) buf_puts(&out, ", ");
        if (d.unpaired[side] > 1)
            buf_printf(&out, side ? "without %d of its modules" : "with %d additional modules",
                       d.unpaired[side]);
        else
            buf_printf(&out, side ? "without the %s module at %s" : "with an additional %s module at %s",
                       fn_name(x->fn), x->write == TAP_NONE ? target_name(x->target) : tap_name(x->write));
    }
    if (d.networks) buf_printf(&out, "%sdifferent networks", out.size ? ", " : "");
    if (!out.size) buf_puts(&out, "equal on all axes");
    free(pair);
    return buf_take(&out);
}
