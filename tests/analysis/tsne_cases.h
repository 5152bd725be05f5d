/* t-SNE against plain loops in double: the affinities, the forces, the steps.  Included by
 * the tests of the float and of the double build; TOLERANCE tells them apart. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/tsne.h"
#include "tests/analysis/fixture.h"

static double *oracle_distances(const real *x, int n, int d) {
    double *out = xcalloc((size_t)n * (size_t)n, sizeof *out);
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int c = 0; c < d; c++) {
                double t = (double)x[i * d + c] - (double)x[j * d + c];
                sum += t * t;
            }
            out[i * n + j] = sum;
        }
    }
    return out;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Joint affinities, n×n: all pairs up to 1024 points, else 3·perplexity nearest. */
static double *oracle_affinities(const real *x, int n, int d, double perplexity) {
    double *d2 = oracle_distances(x, n, d), *p = xcalloc((size_t)n * (size_t)n, sizeof *p);
    double *sorted = xmalloc((size_t)n * sizeof *sorted), *joint = xcalloc((size_t)n * (size_t)n, sizeof *joint);
    for (int i = 0; i < n; i++) {
        double reach = INFINITY, lo = 0, hi = INFINITY, beta = 1;
        if (n > 1024) {
            memcpy(sorted, d2 + (size_t)i * (size_t)n, (size_t)n * sizeof *sorted);
            qsort(sorted, (size_t)n, sizeof *sorted, by_value);
            reach = sorted[(int)(3 * perplexity)]; /* 0 is the point itself */
        }
        for (int turn = 0; turn < 300; turn++) {
            double sum = 0, h = 0;
            for (int j = 0; j < n; j++) {
                double v = d2[i * n + j];
                p[i * n + j] = j == i || v > reach ? 0 : exp(-v * beta);
                sum += p[i * n + j];
            }
            for (int j = 0; j < n; j++) {
                double v = p[i * n + j] /= sum;
                if (v > 0) h -= v * log(v);
            }
            if (h > log(perplexity)) lo = beta;
            else hi = beta;
            beta = isinf(hi) ? 2 * beta : (lo + hi) / 2;
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) joint[i * n + j] = (p[i * n + j] + p[j * n + i]) / (2.0 * n);
    free(d2);
    free(p);
    free(sorted);
    return joint;
}

static double oracle_q(const double *y, int i, int j) {
    double dx = y[2 * i] - y[2 * j], dy = y[2 * i + 1] - y[2 * j + 1];
    return 1 / (1 + dx * dx + dy * dy);
}

static double oracle_sum(const double *y, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) sum += i == j ? 0 : oracle_q(y, i, j);
    return sum;
}

static double oracle_divergence(const double *p, const double *y, int n) {
    double sum = oracle_sum(y, n), kl = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            if (p[i * n + j] > 0) kl += p[i * n + j] * log(p[i * n + j] / (oracle_q(y, i, j) / sum));
    return kl;
}

/* `count` early iterations from y. */
static void oracle_steps(const double *p, double *y, int n, int count, double rate) {
    double *move = xcalloc(2 * (size_t)n, sizeof *move), *gain = xmalloc(2 * (size_t)n * sizeof *gain);
    double *g = xmalloc(2 * (size_t)n * sizeof *g);
    for (int i = 0; i < 2 * n; i++) gain[i] = 1;
    while (count-- > 0) {
        double sum = oracle_sum(y, n);
        for (int i = 0; i < n; i++) {
            g[2 * i] = g[2 * i + 1] = 0;
            for (int j = 0; j < n; j++) {
                double q = oracle_q(y, i, j), f = j == i ? 0 : (12 * p[i * n + j] - q / sum) * q;
                g[2 * i] += f * (y[2 * i] - y[2 * j]);
                g[2 * i + 1] += f * (y[2 * i + 1] - y[2 * j + 1]);
            }
        }
        for (int i = 0; i < n; i++) {
            for (int a = 2 * i; a < 2 * i + 2; a++) {
                gain[a] = (g[a] > 0) != (move[a] > 0) ? gain[a] + 0.2 : fmax(gain[a] * 0.8, 0.01);
                move[a] = 0.5 * move[a] - rate * gain[a] * g[a];
            }
            double length = hypot(move[2 * i], move[2 * i + 1]);
            for (int a = 2 * i; a < 2 * i + 2; a++) {
                if (length > 5) move[a] *= 5 / length;
                y[a] += move[a];
            }
        }
    }
    free(move);
    free(gain);
    free(g);
}

/* The layout after `count` iterations, and its divergence, are the oracle's.  The rate is so
 * small that rounding does not grow. */
static void compare(int n, int count, double rate) {
    struct tsne_options o;
    struct err e = ERR_INIT;
    real *x = xmalloc(DIGITS * PIXELS * sizeof *x);
    read_digits(x, NULL);
    /* stretched, so that no two distances are equal */
    for (int i = 0; i < DIGITS * PIXELS; i++) x[i] *= (real)(1 + 0.1 * sin(i % PIXELS));
    tsne_options_init(&o);
    o.crew = crew_new(2, NULL);
    o.rate = rate;
    struct tsne *t = tsne_new(x, n, PIXELS, &o, &e);
    if (!t) fail_msg("%s", e.text);
    double *p = oracle_affinities(x, n, PIXELS, 30), *y = xmalloc(2 * (size_t)n * sizeof *y);
    for (int i = 0; i < 2 * n; i++) y[i] = (double)tsne_layout(t)[i];
    oracle_steps(p, y, n, count, rate);
    assert_int_equal(tsne_step(t, count), count);
    double most = 0, off = 0;
    for (int i = 0; i < 2 * n; i++) {
        most = fmax(most, fabs(y[i]));
        off = fmax(off, fabs(y[i] - (double)tsne_layout(t)[i]));
    }
    if (!(off <= TOLERANCE * most)) fail_msg("%d points: layouts differ by %g of %g", n, off, most);
    for (int i = 0; i < 2 * n; i++) y[i] = (double)tsne_layout(t)[i];
    double want = oracle_divergence(p, y, n), have = tsne_divergence(t);
    printf("%d points: layouts differ by %.1e of %.1e, divergences by %.1e\n", n, off, most, fabs(want - have));
    if (!(fabs(want - have) <= TOLERANCE * want)) fail_msg("divergence %.10g, wanted %.10g", have, want);
    tsne_free(t);
    crew_free(o.crew);
    free(x);
    free(p);
    free(y);
}

static void test_dense_oracle(void **state) {
    (void)state;
    compare(203, 25, 60);
}

static void test_sparse_oracle(void **state) {
    (void)state;
    compare(1031, 15, 80);
}
