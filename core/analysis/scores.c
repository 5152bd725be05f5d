#include "core/analysis/scores.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/affinity.h"
#include "core/base/mem.h"

enum {
    BLOCK = 64, /* rows at a time */
    SPARE = 24, /* candidates beyond k whose distances are recomputed in double */
};

/* Labeled points as unit vectors in double. */
struct labeled {
    int n, d, classes, present; /* present: number of classes with a point */
    double *unit;               /* n×d */
    int32_t *label;
    int *count;                 /* points of each class */
};

static void labeled_release(struct labeled *l) {
    free(l->unit);
    free(l->label);
    free(l->count);
}

static int to_unit(const real *v, int d, double *out) {
    double sum = 0;
    for (int j = 0; j < d; j++) sum += (double)v[j] * (double)v[j];
    if (!(sum > 0)) return -1;
    double scale = 1 / sqrt(sum);
    for (int j = 0; j < d; j++) out[j] = (double)v[j] * scale;
    return 0;
}

static int labeled_init(struct labeled *l, const real *x, int n, int d, const int32_t *label, int classes,
                         struct err *e) {
    *l = (struct labeled){ .d = d, .classes = classes };
    l->unit = mem_try((size_t)n * (size_t)d, sizeof *l->unit);
    l->label = xcalloc((size_t)n + 1, sizeof *l->label);
    l->count = xcalloc((size_t)classes + 1, sizeof *l->count);
    int rc = l->unit ? 0 : err_set(e, ERR_SYSTEM, "out of memory for %d points of %d dimensions", n, d);
    for (int i = 0; i < n && !rc; i++) {
        BUG_IF(label[i] >= classes);
        if (label[i] < 0) continue;
        if (to_unit(x + (size_t)i * (size_t)d, d, l->unit + (size_t)l->n * (size_t)d))
            rc = err_set(e, ERR_INPUT, "example %d: the vector is zero: its cosine similarity is undefined",
                         i + 1);
        l->label[l->n++] = label[i];
        if (l->count[label[i]]++ == 0) l->present++;
    }
    if (rc) labeled_release(l);
    return rc;
}

static double scores_dot(const double *a, const double *b, int d) {
    double part[4] = { 0 };
    int j = 0;
    for (; j + 4 <= d; j += 4)
        for (int l = 0; l < 4; l++) part[l] += a[j + l] * b[j + l];
    for (; j < d; j++) part[0] += a[j] * b[j];
    return (part[0] + part[1]) + (part[2] + part[3]);
}

/* The mean cosine distance to a class is 1 − u·(mean unit vector of the class). */
static double silhouette_of(const struct labeled *l, const double *sum, int i) {
    const double *u = l->unit + (size_t)i * (size_t)l->d;
    int own = l->label[i], count = l->count[own];
    double nearest = INFINITY;
    if (count == 1) return 0;
    for (int c = 0; c < l->classes; c++) {
        if (c == own || !l->count[c]) continue;
        double mean = 1 - scores_dot(u, sum + (size_t)c * (size_t)l->d, l->d) / l->count[c];
        if (mean < nearest) nearest = mean;
    }
    double inside = (count - scores_dot(u, sum + (size_t)own * (size_t)l->d, l->d)) / (count - 1);
    if (inside < 0) inside = 0; /* floating-point noise when all are equal */
    if (nearest < 0) nearest = 0;
    double most = inside > nearest ? inside : nearest;
    return most > 0 ? (nearest - inside) / most : 0;
}

static double silhouette_mean(const struct labeled *l) {
    double *sum = xcalloc((size_t)l->classes * (size_t)l->d, sizeof *sum), all = 0;
    for (int i = 0; i < l->n; i++)
        for (int j = 0; j < l->d; j++)
            sum[(size_t)l->label[i] * (size_t)l->d + (size_t)j] +=
                l->unit[(size_t)i * (size_t)l->d + (size_t)j];
    for (int i = 0; i < l->n; i++) all += silhouette_of(l, sum, i);
    free(sum);
    return all / l->n;
}

int score_silhouette(const real *x, int n, int d, const int32_t *label, int classes, struct score *out,
                     struct err *e) {
    struct labeled l;
    *out = (struct score){ .value = NAN };
    int rc = labeled_init(&l, x, n, d, label, classes, e);
    if (rc) return rc;
    if (l.present == 0) out->undefined = "no labels";
    else if (l.present == 1) out->undefined = "1 class";
    else if (l.present == l.n) out->undefined = "as many classes as points";
    else out->value = silhouette_mean(&l);
    labeled_release(&l);
    return 0;
}

/* ---- neighbors ---- */

struct neighbor {
    double distance;
    int32_t index;
};

static int nearer(const void *a, const void *b) {
    const struct neighbor *x = a, *y = b;
    if (x->distance != y->distance) return x->distance < y->distance ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void score_neighbors(const real *x, int n, int d, int k, int32_t *out) {
    int most = k + SPARE < n - 1 ? k + SPARE : n - 1;
    size_t w = (size_t)d;
    double *norm = xmalloc((size_t)n * sizeof *norm);
    real *distance = xmalloc((size_t)BLOCK * (size_t)n * sizeof *distance);
    uint64_t *scratch = xmalloc(affinity_scratch(most) * sizeof *scratch);
    int32_t *index = xmalloc((size_t)most * sizeof *index);
    struct neighbor *c = xmalloc((size_t)most * sizeof *c);
    affinity_norms(x, n, d, norm);
    for (int first = 0; first < n; first += BLOCK) {
        int rows = n - first < BLOCK ? n - first : BLOCK;
        affinity_distances(x, norm, n, d, first, rows, distance);
        for (int i = first; i < first + rows; i++) {
            affinity_nearest(distance + (size_t)(i - first) * (size_t)n, n, i, most, index, scratch);
            for (int j = 0; j < most; j++) {
                double sum = 0;
                for (size_t v = 0; v < w; v++) {
                    double t = (double)x[(size_t)i * w + v] - (double)x[(size_t)index[j] * w + v];
                    sum += t * t;
                }
                c[j] = (struct neighbor){ sum, index[j] };
            }
            qsort(c, (size_t)most, sizeof *c, nearer);
            for (int j = 0; j < k; j++) out[(size_t)i * (size_t)k + (size_t)j] = c[j].index;
        }
    }
    free(norm);
    free(distance);
    free(scratch);
    free(index);
    free(c);
}

/* The order by cosine equals the Euclidean order on unit vectors. */
static double purity_of(const struct labeled *l, int k, int32_t *index, real *unit) {
    size_t all = (size_t)l->n * (size_t)l->d, same = 0;
    for (size_t i = 0; i < all; i++) unit[i] = (real)l->unit[i];
    score_neighbors(unit, l->n, l->d, k, index);
    for (size_t i = 0; i < (size_t)l->n; i++)
        for (size_t j = 0; j < (size_t)k; j++) same += l->label[index[i * (size_t)k + j]] == l->label[i];
    return (double)same / ((double)l->n * k);
}

int score_purity(const real *x, int n, int d, const int32_t *label, int k, int *used, struct score *out,
                 struct err *e) {
    struct labeled l;
    int classes = 0;
    *out = (struct score){ .value = NAN };
    *used = 0;
    for (int i = 0; i < n; i++)
        if (label[i] >= classes) classes = label[i] + 1;
    int rc = labeled_init(&l, x, n, d, label, classes, e);
    if (rc) return rc;
    if (k > l.n - 1) k = l.n - 1;
    if (k < 1) {
        out->undefined = l.n ? "1 point" : "no labels";
    } else {
        int32_t *index = mem_try((size_t)l.n * (size_t)k, sizeof *index);
        real *unit = mem_try((size_t)l.n * (size_t)d, sizeof *unit);
        if (index && unit) out->value = purity_of(&l, *used = k, index, unit);
        else rc = err_set(e, ERR_SYSTEM, "out of memory for the neighbors of %d points", n);
        free(index);
        free(unit);
    }
    labeled_release(&l);
    return rc;
}

static int by_number(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

double score_shared(const int32_t *a, const int32_t *b, int n, int k) {
    size_t w = (size_t)k, kept = 0;
    int32_t *sorted = xmalloc(w * sizeof *sorted);
    for (size_t i = 0; i < (size_t)n; i++) {
        memcpy(sorted, a + i * w, w * sizeof *sorted);
        qsort(sorted, w, sizeof *sorted, by_number);
        for (size_t j = 0; j < w; j++) kept += bsearch(b + i * w + j, sorted, w, sizeof *sorted,
                                                       by_number) != NULL;
    }
    free(sorted);
    return (double)kept / ((double)n * k);
}

double score_preservation(const real *x, int d, const real *y, int n, int k) {
    if (k > n - 1) k = n - 1;
    if (k < 1) return NAN;
    size_t all = (size_t)n * (size_t)k;
    int32_t *in = xmalloc(all * sizeof *in), *out = xmalloc(all * sizeof *out);
    score_neighbors(x, n, d, k, in);
    score_neighbors(y, n, 2, k, out);
    double shared = score_shared(in, out, n, k);
    free(in);
    free(out);
    return shared;
}
