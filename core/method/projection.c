#include "core/method/projection.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/method/functions.h"

/* ---- PyTorch's generator: the Mersenne twister of Matsumoto and Nishimura (1998) ---- */

enum { WORDS = 624, SHIFT = 397 };
struct twister {
    uint32_t word[WORDS];
    int next;
};

static void seed_twister(struct twister *t, uint32_t seed) {
    t->word[0] = seed;
    for (uint32_t i = 1; i < WORDS; i++)
        t->word[i] = 1812433253u * (t->word[i - 1] ^ t->word[i - 1] >> 30) + i;
    t->next = WORDS;
}

static void turn_twister(struct twister *t) {
    for (int i = 0; i < WORDS; i++) {
        uint32_t y = (t->word[i] & 0x80000000u) | (t->word[(i + 1) % WORDS] & 0x7fffffffu);
        t->word[i] = t->word[(i + SHIFT) % WORDS] ^ y >> 1 ^ (y & 1 ? 0x9908b0dfu : 0);
    }
    t->next = 0;
}

static uint32_t draw_word(struct twister *t) {
    if (t->next == WORDS) turn_twister(t);
    uint32_t y = t->word[t->next++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680u;
    y ^= y << 15 & 0xefc60000u;
    return y ^ y >> 18;
}

/* ---- the two matrices ---- */

void projection_plan(struct build *b) {
    const struct method *m = &b->p->method;
    const struct module *any = method_find(m, FN_PROJECTED);
    int in = 0, out = 0;
    if (!any) return;
    for (int i = 0; i < m->count; i++) {
        if (m->module[i].fn != FN_PROJECTED) continue;
        int reads = tap_width(b->a, m->module[i].read), writes = tap_width(b->a, m->module[i].write);
        in = reads > in ? reads : in;
        out = writes > out ? writes : out;
    }
    const struct plan_tensor parts[] = { build_part(PLAN_NETWORK, SLOT_PROJECTION_A, any->size, in),
                                         build_part(PLAN_NETWORK, SLOT_PROJECTION_B, out, any->size) };
    for (int i = 0; i < 2; i++) {
        struct plan_tensor t = parts[i];
        t.fixed = t.frozen = t.no_gradient = true;
        t.decays = false;
        build_network(b, t, "projection.%c", "AB"[i]);
    }
}

/* U(-√(6/columns), √(6/columns)); the numbers of A are drawn before those of B. */
void projection_start(const struct plan *p, const struct plan_tensor *t, real *out) {
    struct twister state;
    float bound = (float)(sqrt(3.0) * (sqrt(2.0) / sqrt(t->cols))), range = bound + bound;
    const struct module *any = method_find(&p->method, FN_PROJECTED);
    BUG_IF(!any);
    seed_twister(&state, (uint32_t)any->seed);
    for (size_t i = 0; t->role == SLOT_PROJECTION_B && i < plan_network(p, SLOT_PROJECTION_A)->count; i++)
        draw_word(&state);
    for (size_t i = 0; i < t->count; i++) {
        double unit = (draw_word(&state) & 0xffffff) * 0x1p-24;
        out[i] = (real)(float)(unit * (double)range - (double)bound);
    }
}
