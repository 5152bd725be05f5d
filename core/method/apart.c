#include "core/method/apart.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/network.h"
#include "core/method/slots.h"

enum apart_axis {
    APART_FUNCTION,
    APART_POSITION,
    APART_INSERTION,
    APART_COMPOSITION,
    APART_HEADS,
    APART_SOURCE,
    APART_START,
    APART_AXES
};
static const char *const axis_names[APART_AXES] = { "function", "position", "insertion", "composition",
                                                    "heads",    "source",   "init" };

/* Taps of one place: before a map's output is used, among the heads, at a sublayer's end. */
static int apart_place(const struct module *m) {
    switch (m->write) {
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: return 1;
    case TAP_A_HEAD: case TAP_A_CTX: case TAP_A_OUT: return 2;
    case TAP_F_PRE: case TAP_F_ACT: return 3;
    case TAP_F_OUT: return 4;
    case TAP_NONE: return 16 + (int)m->target;
    default: return 5;
    }
}

/* Keys and values are each head's own, whatever else is said. */
static bool by_head(const struct module *m) {
    return function_of(m)->form == FORM_KEYS || m->heads != HEADS_SHARED;
}

/* The axes on which two modules differ, a bit each. */
static unsigned axes_of(const struct module *a, const struct module *b) {
    unsigned d = 0;
    if (a->fn != b->fn) d |= 1u << APART_FUNCTION;
    if (apart_place(a) != apart_place(b)) d |= 1u << APART_POSITION;
    if (strcmp(module_insertion(a), module_insertion(b))) d |= 1u << APART_INSERTION;
    if (a->comp != b->comp) d |= 1u << APART_COMPOSITION;
    if (by_head(a) != by_head(b)) d |= 1u << APART_HEADS;
    if (a->source != b->source) d |= 1u << APART_SOURCE;
    if (a->fn == b->fn && (a->init != b->init || a->from_run != b->from_run)) d |= 1u << APART_START;
    return d;
}

static int bits_of(unsigned d) {
    int n = 0;
    for (; d; d >>= 1) n += d & 1;
    return n;
}

struct apart_found {
    unsigned axes;
    int alone[2];                /* modules that only a, only b has */
    const struct module *one[2]; /* the last of these; of the methods asked about */
    bool networks;
};

/* Modules are paired, the nearest first; a module without a partner stands alone. */
static struct apart_found apart_of(const struct method *a, const struct method *b) {
    bool taken_a[METHOD_MODULES] = { false }, taken_b[METHOD_MODULES] = { false };
    struct apart_found out = { 0 };
    for (int pairs = 0; pairs < a->count && pairs < b->count; pairs++) {
        int least = APART_AXES + 1, at = 0, with = 0;
        for (int i = 0; i < a->count; i++)
            for (int j = 0; j < b->count; j++) {
                int n = bits_of(axes_of(&a->module[i], &b->module[j]));
                if (taken_a[i] || taken_b[j] || n >= least) continue;
                least = n;
                at = i;
                with = j;
            }
        taken_a[at] = taken_b[with] = true;
        out.axes |= axes_of(&a->module[at], &b->module[with]);
    }
    for (int i = 0; i < a->count; i++)
        if (!taken_a[i]) out.one[0] = &a->module[i], out.alone[0]++;
    for (int j = 0; j < b->count; j++)
        if (!taken_b[j]) out.one[1] = &b->module[j], out.alone[1]++;
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++) out.networks = out.networks || !network_equal(n, a, b);
    return out;
}

/* Of several modules alike at several places (a LoRA at q and v) one more or fewer is no module of its
 * own. */
static bool is_more_of_the_same(const struct method *m, const struct module *x) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == x->fn && apart_place(&m->module[i]) == apart_place(x)) return true;
    return false;
}

struct apart_pair {
    struct method a, b;
};

static struct apart_pair *normalised(const struct method *a, const struct method *b) {
    struct apart_pair *x = xmalloc(sizeof *x);
    *x = (struct apart_pair){ *a, *b };
    for (int i = 0; i < x->a.count; i++) module_normalise(&x->a.module[i]);
    for (int i = 0; i < x->b.count; i++) module_normalise(&x->b.module[i]);
    return x;
}

/* One more module of those at a place is another position, as a LoRA at q, k and v beside one at q and v. */
static struct apart_found apart_find(const struct apart_pair *x) {
    struct apart_found d = apart_of(&x->a, &x->b);
    for (int side = 0; side < 2; side++) {
        if (!d.one[side] || !is_more_of_the_same(side ? &x->a : &x->b, d.one[side])) continue;
        d.alone[side] = 0;
        d.axes |= 1u << APART_POSITION;
    }
    return d;
}

int method_apart_count(const struct method *a, const struct method *b) {
    struct apart_pair *x = normalised(a, b);
    struct apart_found d = apart_find(x);
    free(x);
    return bits_of(d.axes) + d.alone[0] + d.alone[1] + d.networks;
}

char *method_apart(const struct method *a, const struct method *b) {
    struct apart_pair *pair = normalised(a, b);
    struct apart_found d = apart_find(pair);
    struct buf out = BUF_INIT;
    int axes = bits_of(d.axes), n = 0;
    if (axes) buf_printf(&out, "%d %s apart: ", axes, axes == 1 ? "axis" : "axes");
    for (int i = 0; i < APART_AXES; i++)
        if (d.axes >> i & 1) buf_printf(&out, "%s%s", n++ ? ", " : "", axis_names[i]);
    for (int side = 0; side < 2; side++) {
        const struct module *x = d.one[side];
        if (!d.alone[side]) continue;
        buf_printf(&out, "%s%s ", out.size ? ", " : "", side ? "without" : "with");
        if (d.alone[side] > 1) buf_printf(&out, "%d more modules", d.alone[side]);
        else
            buf_printf(&out, "another %s at %s", fn_name(x->fn),
                       x->write == TAP_NONE ? target_name(x->target) : tap_name(x->write));
    }
    if (d.networks) buf_printf(&out, "%sanother network", out.size ? ", " : "");
    if (!out.size) buf_puts(&out, "equal on all axes");
    free(pair);
    return buf_take(&out);
}
