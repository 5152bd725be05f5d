#include "core/analysis/similarity.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"

static double similarity_dot(const real *a, const real *b, size_t n) {
    double part[4] = { 0 };
    size_t j = 0;
    for (; j + 4 <= n; j += 4)
        for (size_t l = 0; l < 4; l++) part[l] += (double)a[j + l] * (double)b[j + l];
    for (; j < n; j++) part[0] += (double)a[j] * (double)b[j];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

void similarity_cosine(const real *a, int n, const real *b, int m, int d, double *out) {
    size_t w = (size_t)d;
    double *length = xmalloc(((size_t)m + 1) * sizeof *length);
    for (size_t j = 0; j < (size_t)m; j++) length[j] = sqrt(similarity_dot(b + j * w, b + j * w, w));
    for (size_t i = 0; i < (size_t)n; i++) {
        double own = sqrt(similarity_dot(a + i * w, a + i * w, w));
        for (size_t j = 0; j < (size_t)m; j++) {
            double scale = own * length[j], v = scale > 0
                ? similarity_dot(a + i * w, b + j * w, w) / scale : NAN;
            out[i * (size_t)m + j] = v > 1 ? 1 : v < -1 ? -1 : v;
        }
    }
    free(length);
}

/* ---- CKA ---- */

/* Centers the columns and divides by the largest magnitude (CKA is invariant to scale); false when
 * constant. */
static bool center(const real *x, int n, int p, real *out) {
    double most = 0, scale = 0;
    for (size_t j = 0; j < (size_t)p; j++) {
        double mean = 0;
        for (size_t i = 0; i < (size_t)n; i++) mean += (double)x[i * (size_t)p + j] / n;
        for (size_t i = 0; i < (size_t)n; i++) {
            double v = (double)x[i * (size_t)p + j], off = v - mean;
            out[i * (size_t)p + j] = (real)off;
            if (fabs(off) > most) most = fabs(off);
            if (fabs(v) > scale) scale = fabs(v);
        }
    }
    /* floating-point noise of equal numbers after subtracting their mean */
    if (!(most > 1e-7 * scale)) return false;
    for (size_t i = 0; i < (size_t)n * (size_t)p; i++) out[i] = (real)((double)out[i] / most);
    return true;
}

/* Computes |AᵀB|² (Frobenius) of A n×p, B n×q, equal to Σ (AAᵀ)∘(BBᵀ), by the smaller of both. */
static double shared(const real *a, int p, const real *b, int q, int n) {
    double sum;
    if ((double)p * q <= 2.0 * n * n) {
        real *c = xmalloc((size_t)p * (size_t)q * sizeof *c);
        blas_gemm(true, false, p, q, n, 1, a, p, b, q, 0, c, q);
        sum = similarity_dot(c, c, (size_t)p * (size_t)q);
        free(c);
    } else {
        real *k = xmalloc((size_t)n * (size_t)n * sizeof *k), *l = xmalloc((size_t)n * (size_t)n * sizeof *l);
        blas_gemm(false, true, n, n, p, 1, a, p, a, p, 0, k, n);
        blas_gemm(false, true, n, n, q, 1, b, q, b, q, 0, l, n);
        sum = similarity_dot(k, l, (size_t)n * (size_t)n);
        free(k);
        free(l);
    }
    return sum;
}

double similarity_cka(const real *a, int p, const real *b, int q, int n) {
    double v = NAN;
    real *x = xmalloc((size_t)n * (size_t)p * sizeof *x), *y = xmalloc((size_t)n * (size_t)q * sizeof *y);
    if (n > 1 && center(a, n, p, x) && center(b, n, q, y)) {
        double own = shared(x, p, x, p, n), other = shared(y, q, y, q, n);
        v = shared(x, p, y, q, n) / sqrt(own * other);
        if (v > 1) v = 1;
    }
    free(x);
    free(y);
    return v;
}

/* Computes the Gram matrix of n points, U-centered (Székely and Rizzo): each row and column minus its mean
 * over the other points, without the diagonal, which causes the bias. Caller frees. */
static double *u_centered(const real *x, int p, int n) {
    size_t w = (size_t)n;
    real *k = xmalloc(w * w * sizeof *k);
    double *out = xmalloc(w * w * sizeof *out), *sum = xcalloc(w, sizeof *sum), all = 0;
    blas_gemm(false, true, n, n, p, 1, x, p, x, p, 0, k, n);
    for (size_t i = 0; i < w; i++)
        for (size_t j = 0; j < w; j++) sum[i] += i == j ? 0 : (double)k[i * w + j];
    for (size_t i = 0; i < w; i++) all += sum[i];
    for (size_t i = 0; i < w; i++)
        for (size_t j = 0; j < w; j++)
            out[i * w + j] = i == j ? 0
                                    : (double)k[i * w + j] - (sum[i] + sum[j]) / (n - 2) +
                                          all / ((double)(n - 1) * (n - 2));
    free(k);
    free(sum);
    return out;
}

double similarity_cka_debiased(const real *a, int p, const real *b, int q, int n) {
    double v = NAN;
    size_t all = (size_t)n * (size_t)n;
    real *x = xmalloc((size_t)n * (size_t)p * sizeof *x), *y = xmalloc((size_t)n * (size_t)q * sizeof *y);
    if (n >= 4 && center(a, n, p, x) && center(b, n, q, y)) {
        double *k = u_centered(x, p, n), *l = u_centered(y, q, n), own = 0, other = 0, both = 0;
        for (size_t i = 0; i < all; i++) {
            own += k[i] * k[i];
            other += l[i] * l[i];
            both += k[i] * l[i];
        }
        if (own > 0 && other > 0) v = both / sqrt(own * other);
        if (v > 1) v = 1;
        free(k);
        free(l);
    }
    free(x);
    free(y);
    return v;
}

double similarity_cka_noise(int width, int n) { return n < 2 ? 1 : width / ((double)width + n - 1); }

/* ---- low-rank products ---- */

/* Orthonormal bases of the column space and row space of a product U·V. */
struct spaces {
    int rank;
    double *column; /* rank × out */
    double *row;    /* rank × in */
};

static double dot_double(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* One-sided Jacobi on the r rows of m (r×n) until they are orthogonal; the same rotations are applied to the
 * rows of q (r×k). */
static void orthogonalise(double *m, int r, int n, double *q, int k) {
    for (int turn = 0, moved = 1; moved && turn < 60; turn++) {
        moved = 0;
        for (int a = 0; a < r; a++) {
            for (int b = a + 1; b < r; b++) {
                double *x = m + (size_t)a * (size_t)n, *y = m + (size_t)b * (size_t)n;
                double xx = dot_double(x, x, n), yy = dot_double(y, y, n), xy = dot_double(x, y, n);
                if (fabs(xy) <= 1e-14 * sqrt(xx * yy) || xy == 0) continue;
                moved = 1;
                double theta = (yy - xx) / (2 * xy);
                double t = (theta >= 0 ? 1 : -1) / (fabs(theta) + sqrt(theta * theta + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int i = 0; i < n; i++) {
                    double u = x[i], v = y[i];
                    x[i] = c * u - s * v;
                    y[i] = s * u + c * v;
                }
                x = q + (size_t)a * (size_t)k;
                y = q + (size_t)b * (size_t)k;
                for (int i = 0; i < k; i++) {
                    double u = x[i], v = y[i];
                    x[i] = c * u - s * v;
                    y[i] = s * u + c * v;
                }
            }
        }
    }
}

/* U = QR by Gram–Schmidt with a second pass: rows of q are the columns of Q, r is rank×rank. */
static void factor(const double *u, int out, int rank, double *q, double *r) {
    memset(r, 0, (size_t)rank * (size_t)rank * sizeof *r);
    for (int c = 0; c < rank; c++) {
        double *v = q + (size_t)c * (size_t)out;
        for (int i = 0; i < out; i++) v[i] = u[(size_t)i * (size_t)rank + (size_t)c];
        double before = sqrt(dot_double(v, v, out));
        for (int turn = 0; turn < 2; turn++) {
            for (int b = 0; b < c; b++) {
                const double *w = q + (size_t)b * (size_t)out;
                double along = dot_double(w, v, out);
                r[b * rank + c] += along;
                for (int i = 0; i < out; i++) v[i] -= along * w[i];
            }
        }
        double length = sqrt(dot_double(v, v, out));
        bool lost = !(length > 1e-7 * before);
        r[c * rank + c] = lost ? 0 : length;
        for (int i = 0; i < out; i++) v[i] = lost ? 0 : v[i] / length;
    }
}

/* UV = Q·(RV); Q is then rotated by the singular vectors of RV. */
static void spaces_init(struct spaces *s, const real *u, const real *v, int rank, int out, int in) {
    size_t k = (size_t)rank, o = (size_t)out, w = (size_t)in;
    double *wide = xmalloc(k * o * sizeof *wide), *r = xmalloc(k * k * sizeof *r);
    s->column = xmalloc(k * o * sizeof *s->column);
    s->row = xcalloc(k * w, sizeof *s->row);
    s->rank = 0;
    for (size_t i = 0; i < k * o; i++) wide[i] = (double)u[i];
    factor(wide, out, rank, s->column, r);
    for (size_t a = 0; a < k; a++)
        for (size_t b = a; b < k; b++)
            for (size_t i = 0; i < w; i++) s->row[a * w + i] += r[a * k + b] * (double)v[b * w + i];
    orthogonalise(s->row, rank, in, s->column, out);
    double most = 0;
    for (size_t a = 0; a < k; a++) most = fmax(most, sqrt(dot_double(s->row + a * w, s->row + a * w, in)));
    for (size_t a = 0; a < k && most > SIMILARITY_ZERO; a++) {
        double length = sqrt(dot_double(s->row + a * w, s->row + a * w, in));
        if (length <= 1e-5 * most) continue;
        size_t to = (size_t)s->rank++;
        for (size_t i = 0; i < w; i++) s->row[to * w + i] = s->row[a * w + i] / length;
        if (to != a) memcpy(s->column + to * o, s->column + a * o, o * sizeof *s->column);
    }
    free(wide);
    free(r);
}

/* Returns the mean squared cosine of the principal angles; missing directions of the smaller space count as
 * right angles. */
static double angles(const double *a, int ra, const double *b, int rb, int n) {
    double sum = 0;
    for (int i = 0; i < ra; i++) {
        for (int j = 0; j < rb; j++) {
            double c = dot_double(a + (size_t)i * (size_t)n, b + (size_t)j * (size_t)n, n);
            sum += c * c;
        }
    }
    return sum / (ra > rb ? ra : rb);
}

double similarity_low_rank(const real *ua, const real *va, int ra, const real *ub, const real *vb, int rb,
                           int out_width, int in_width) {
    struct spaces a, b;
    spaces_init(&a, ua, va, ra, out_width, in_width);
    spaces_init(&b, ub, vb, rb, out_width, in_width);
    double v = NAN;
    if (a.rank && b.rank) {
        v = angles(a.column, a.rank, b.column, b.rank, out_width) / 2;
        v += angles(a.row, a.rank, b.row, b.rank, in_width) / 2;
    }
    free(a.column);
    free(a.row);
    free(b.column);
    free(b.row);
    return v > 1 ? 1 : v;
}

/* ---- order by clustering ---- */

struct tree {
    int n;            /* items */
    double *distance; /* n×n, distances of clusters, indexed by one of their items */
    int *id, *size;   /* size of the cluster at an index; 0: merged into another */
    int (*child)[2];  /* of cluster n+i */
};

static void nearest_pair(const struct tree *t, int *a, int *b) {
    double least = INFINITY;
    *a = *b = -1;
    for (int i = 0; i < t->n; i++) {
        for (int j = i + 1; t->size[i] && j < t->n; j++) {
            double v = t->distance[(size_t)i * (size_t)t->n + (size_t)j];
            if (!t->size[j] || !(v < least || *a < 0)) continue;
            least = v;
            *a = i;
            *b = j;
        }
    }
}

static void join(struct tree *t, int step) {
    int a, b;
    size_t n = (size_t)t->n;
    nearest_pair(t, &a, &b);
    bool swap = t->id[a] > t->id[b]; /* the older cluster comes first */
    t->child[step][0] = t->id[swap ? b : a];
    t->child[step][1] = t->id[swap ? a : b];
    double x = t->size[a], y = t->size[b];
    for (size_t i = 0; i < n; i++) {
        double v = (x * t->distance[(size_t)a * n + i] + y * t->distance[(size_t)b * n + i]) / (x + y);
        t->distance[(size_t)a * n + i] = t->distance[i * n + (size_t)a] = v;
    }
    t->size[a] += t->size[b];
    t->size[b] = 0;
    t->id[a] = t->n + step;
}

/* Lists the leaves from left to right. */
static void leaves(const struct tree *t, const int *item, int *order) {
    int *stack = xmalloc(((size_t)t->n + 1) * sizeof *stack), depth = 0, count = 0;
    stack[depth++] = 2 * t->n - 2;
    while (depth) {
        int id = stack[--depth];
        if (id < t->n) {
            order[count++] = item[id];
        } else {
            stack[depth++] = t->child[id - t->n][1];
            stack[depth++] = t->child[id - t->n][0];
        }
    }
    free(stack);
}

/* An item without a defined similarity to itself. */
static bool is_undefined(const double *similarity, int n, int i) {
    return isnan(similarity[(size_t)i * (size_t)n + (size_t)i]);
}

static void cluster(const double *similarity, int all, const int *item, int n, int *order) {
    struct tree t = { .n = n };
    size_t w = (size_t)n;
    double most = 0;
    t.distance = xmalloc(w * w * sizeof *t.distance);
    t.id = xmalloc(w * sizeof *t.id);
    t.size = xmalloc(w * sizeof *t.size);
    t.child = xmalloc(w * sizeof *t.child);
    for (size_t i = 0; i < w; i++) {
        t.id[i] = (int)i;
        t.size[i] = 1;
        for (size_t j = 0; j < w; j++) {
            double v = 1 - similarity[(size_t)item[i] * (size_t)all + (size_t)item[j]];
            t.distance[i * w + j] = v;
            if (v > most) most = v;
        }
    }
    for (size_t i = 0; i < w * w; i++)
        if (isnan(t.distance[i])) t.distance[i] = most; /* unknown: maximum distance */
    for (int step = 0; step < n - 1; step++) join(&t, step);
    leaves(&t, item, order);
    free(t.distance);
    free(t.id);
    free(t.size);
    free(t.child);
}

void similarity_order(const double *similarity, int n, int *order) {
    int *item = xmalloc(((size_t)n + 1) * sizeof *item), count = 0, last = n;
    for (int i = n; i-- > 0;)
        if (is_undefined(similarity, n, i)) order[--last] = i;
    for (int i = 0; i < n; i++)
        if (!is_undefined(similarity, n, i)) item[count++] = i;
    if (count) cluster(similarity, n, item, count, order);
    free(item);
}
