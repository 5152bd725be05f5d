/* The loops of pairs.h in vectors of LANES numbers, for the processor that the file
 * including this has set by pragma.  Everything is static but the table PAIRS. */

#include <string.h>

#include "core/engine/lanes_body.h"

INLINE vec take(const real *p) {
    vec v;
    memcpy(&v, p, sizeof v);
    return v;
}

INLINE double total(vec v) {
    double sum = 0;
    for (int j = 0; j < LANES; j++) sum += (double)v[j];
    return sum;
}

/* Running sums of one chain; two chains run side by side to hide the latency of adding. */
struct chain {
    vec q, away_x, away_y, near_x, near_y;
};

INLINE void add(struct chain *c, vec px, vec py, vec dx, vec dy, const real *p) {
    dx -= px;
    dy -= py;
    vec q = 1 / fused(dx, dx, fused(dy, dy, ALL(1)));
    if (p) {
        vec w = take(p) * q;
        c->near_x = fused(w, dx, c->near_x);
        c->near_y = fused(w, dy, c->near_y);
    }
    c->q += q;
    q *= q;
    c->away_x = fused(q, dx, c->away_x);
    c->away_y = fused(q, dy, c->away_y);
}

INLINE void pass(const real *x, const real *y, size_t n, size_t i, const real *p, struct pair_sums *out) {
    struct chain a = { 0 }, b = { 0 };
    vec px = ALL(x[i]), py = ALL(y[i]);
    for (size_t j = 0; j < n; j += 2 * LANES) {
        add(&a, px, py, take(x + j), take(y + j), p ? p + j : NULL);
        if (j + LANES < n)
            add(&b, px, py, take(x + j + LANES), take(y + j + LANES), p ? p + j + LANES : NULL);
    }
    out->q = total(a.q) + total(b.q);
    out->away[0] = total(a.away_x) + total(b.away_x);
    out->away[1] = total(a.away_y) + total(b.away_y);
    if (!p) return;
    out->near[0] = total(a.near_x) + total(b.near_x);
    out->near[1] = total(a.near_y) + total(b.near_y);
}

static void repel(const real *x, const real *y, size_t n, size_t i, struct pair_sums *out) {
    pass(x, y, n, i, NULL, out);
}

static void all(const real *x, const real *y, size_t n, size_t i, const real *p, struct pair_sums *out) {
    pass(x, y, n, i, p, out);
}

static void attract(const real *x, const real *y, const int32_t *index, const real *p, size_t n, size_t i,
                    struct pair_sums *out) {
    vec px = ALL(x[i]), py = ALL(y[i]), sum_x = ALL(0), sum_y = ALL(0);
    for (size_t j = 0; j < n; j += LANES) {
        vec dx, dy;
        for (int l = 0; l < LANES; l++) {
            dx[l] = x[index[j + (size_t)l]];
            dy[l] = y[index[j + (size_t)l]];
        }
        dx -= px;
        dy -= py;
        vec w = take(p + j) / fused(dx, dx, fused(dy, dy, ALL(1)));
        sum_x = fused(w, dx, sum_x);
        sum_y = fused(w, dy, sum_y);
    }
    out->near[0] = total(sum_x);
    out->near[1] = total(sum_y);
}

const struct pairs PAIRS = { repel, all, attract };
