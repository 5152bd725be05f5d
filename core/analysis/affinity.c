#include "core/analysis/affinity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/pairs.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"

enum { BLOCK = 64 }; /* rows at a time */

/* ---- distances and neighbors ---- */

void affinity_norms(const real *x, int n, int d, double *norm) {
    for (int i = 0; i < n; i++) {
        const real *v = x + (size_t)i * (size_t)d;
        double sum = 0;
        for (int j = 0; j < d; j++) sum += (double)v[j] * (double)v[j];
        norm[i] = sum;
    }
}

static double distance2(const real *a, const real *b, int d) {
    double sum = 0;
    for (int j = 0; j < d; j++) {
        double t = (double)a[j] - (double)b[j];
        sum += t * t;
    }
    return sum;
}

void affinity_distances(const real *x, const double *norm, int n, int d, int first, int rows, real *out) {
    /* |a|² + |b|² − 2ab cancels when a is near b: such distances are recomputed. */
    const double near = 0.05;
    const real *from = x + (size_t)first * (size_t)d;
    blas_gemm(false, true, rows, n, d, -2, from, d, x, d, 0, out, n);
    for (int r = 0; r < rows; r++) {
        real *row = out + (size_t)r * (size_t)n;
        double own = norm[first + r];
        for (int j = 0; j < n; j++) {
            double length = own + norm[j], v = (double)row[j] + length;
            if (v < near * length) v = distance2(from + (size_t)r * (size_t)d,
                                                 x + (size_t)j * (size_t)d, d);
            row[j] = (real)v;
        }
        row[first + r] = 0;
    }
}

/* Packs a non-negative distance and an index into one key that sorts by both. */
static uint64_t affinity_key_of(real distance, int number) {
    float f = (float)distance;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return (uint64_t)bits << 32 | (uint32_t)number;
}

static int by_key(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Moves the k smallest of n keys to the front, in any order. */
static void select_least(uint64_t *v, int n, int k) {
    int lo = 0, hi = n - 1;
    while (lo < hi) {
        uint64_t a = v[lo], b = v[lo + (hi - lo) / 2], c = v[hi];
        uint64_t pivot = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
        int i = lo, j = hi;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i > j) break;
            uint64_t t = v[i];
            v[i++] = v[j];
            v[j--] = t;
        }
        if (k - 1 <= j) hi = j;
        else if (k - 1 >= i) lo = i;
        else return;
    }
}

size_t affinity_scratch(int k) { return 4 * (size_t)k + 256; }

void affinity_nearest(const real *distance, int n, int self, int k, int32_t *index, uint64_t *scratch) {
    int room = (int)affinity_scratch(k), count = 0;
    real bound = INFINITY; /* upper bound of the k smallest distances */
    for (int j = 0; j < n; j++) {
        if (distance[j] > bound || j == self) continue;
        scratch[count++] = affinity_key_of(distance[j], j);
        if (count < room) continue;
        select_least(scratch, count, k);
        count = k;
        bound = 0;
        for (int i = 0; i < k; i++) {
            real v = distance[(uint32_t)scratch[i]];
            if (v > bound) bound = v;
        }
    }
    select_least(scratch, count, k);
    qsort(scratch, (size_t)k, sizeof *scratch, by_key);
    for (int i = 0; i < k; i++) index[i] = (int32_t)(uint32_t)scratch[i];
}

/* ---- bandwidth of one row ---- */

/* Computes the entropy (nats) of the row with precision beta, its slope with respect to ln(beta), and p, not
 * normalized. */
static double entropy(const double *distance, int k, double beta, double *p, double *sum, double *slope) {
    double s = 0, first = 0, second = 0;
    for (int j = 0; j < k; j++) {
        double t = beta * distance[j];
        p[j] = exp(-t);
        s += p[j];
        first += p[j] * t;
        second += p[j] * t * t;
    }
    first /= s;
    *sum = s;
    *slope = first * first - second / s;
    return log(s) + first;
}

/* Finds p(j|i). distance: k squared distances minus the smallest. Returns false when no bandwidth gives the
 * perplexity to within a hundredth of it. */
static bool widths(const double *distance, int k, double perplexity, double *p) {
    double target = log(perplexity), mean = 0, lo = -300, hi = 300, sum = k, slope;
    for (int j = 0; j < k; j++) mean += distance[j] / k;
    for (int j = 0; j < k; j++) p[j] = 1;
    double at = mean > 0 ? -log(mean) : 0; /* ln(beta); equal distances have one entropy */
    double missed = log(k) - target;
    for (int turn = 0; turn < 200 && mean > 0; turn++) {
        double off = missed = entropy(distance, k, exp(at), p, &sum, &slope) - target;
        if (fabs(off) < 1e-10) break;
        if (off > 0) lo = at;
        else hi = at;
        double next = at - off / slope; /* Newton step, clamped to the bracket */
        if (!(next > lo && next < hi) || fabs(next - at) > 4) next = off > 0 ? at + 1 : at - 1;
        if (next >= hi || next <= lo) next = lo / 2 + hi / 2;
        if (next == at) break;
        at = next;
    }
    for (int j = 0; j < k; j++) p[j] /= sum;
    return fabs(missed) < 0.01;
}

/* ---- all rows ---- */

struct affinity_rows {
    const real *x;
    double *norm;
    int n, d, k;
    double perplexity;
    struct affinity *out;
    int32_t *index; /* n×k, sparse */
    real *p;        /* n×k, sparse */
    int rc;         /* of the end */
    struct err *e;
};

static void fill_row(const struct affinity_rows *r, int i, const real *distance, const int32_t *index,
                     double *d2, double *p) {
    double least = INFINITY;
    for (int j = 0; j < r->k; j++) {
        d2[j] = (double)distance[index[j]];
        if (d2[j] < least) least = d2[j];
    }
    for (int j = 0; j < r->k; j++) d2[j] -= least;
    if (!widths(d2, r->k, r->perplexity, p))
        __atomic_add_fetch(&r->out->unreached, 1, __ATOMIC_RELAXED);
    if (r->out->dense) {
        real *row = r->out->dense + (size_t)i * r->out->stride;
        for (int j = 0; j < r->k; j++) row[index[j]] = (real)p[j];
    } else {
        real *row = r->p + (size_t)i * (size_t)r->k;
        for (int j = 0; j < r->k; j++) row[j] = (real)p[j];
    }
}

static void fill_block(void *self, int block, int worker) {
    const struct affinity_rows *r = self;
    (void)worker;
    int first = block * BLOCK, rows = r->n - first < BLOCK ? r->n - first : BLOCK;
    size_t n = (size_t)r->n, k = (size_t)r->k;
    real *distance = xmalloc((size_t)rows * n * sizeof *distance);
    uint64_t *scratch = xmalloc(affinity_scratch(r->k) * sizeof *scratch);
    int32_t *all = xmalloc(k * sizeof *all);
    double *d2 = xmalloc(k * sizeof *d2), *p = xmalloc(k * sizeof *p);
    affinity_distances(r->x, r->norm, r->n, r->d, first, rows, distance);
    for (int i = first; i < first + rows; i++) {
        const real *row = distance + (size_t)(i - first) * n;
        int32_t *index = r->index ? r->index + (size_t)i * k : all;
        if (r->index) affinity_nearest(row, r->n, i, r->k, index, scratch);
        else
            for (int j = 0; j < r->k; j++) index[j] = j < i ? j : j + 1;
        fill_row(r, i, row, index, d2, p);
    }
    free(distance);
    free(scratch);
    free(all);
    free(d2);
    free(p);
}

static void symmetrise_dense(struct affinity *a) {
    size_t n = (size_t)a->n, s = a->stride;
    double scale = 0.5 / a->n;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++) {
            double v = ((double)a->dense[i * s + j] + (double)a->dense[j * s + i]) * scale;
            a->dense[i * s + j] = a->dense[j * s + i] = (real)v;
            if (v > 0) a->log_p += 2 * v * log(v);
        }
    }
}

/* Returns p(i|j), or −1 when i is not in the list of j, which is sorted by index. */
static real back(const int32_t *index, const real *p, int k, int i) {
    int lo = 0, hi = k;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (index[mid] < i) lo = mid + 1;
        else hi = mid;
    }
    return lo < k && index[lo] == i ? p[lo] : -1;
}

struct affinity_entry {
    int32_t index;
    real p;
};

static int by_index(const void *a, const void *b) {
    int32_t x = ((const struct affinity_entry *)a)->index, y = ((const struct affinity_entry *)b)->index;
    return (x > y) - (x < y);
}

static void sort_rows(struct affinity_rows *r) {
    size_t k = (size_t)r->k;
    struct affinity_entry *list = xmalloc(k * sizeof *list);
    for (size_t i = 0; i < (size_t)r->n; i++) {
        for (size_t j = 0; j < k; j++)
            list[j] = (struct affinity_entry){ r->index[i * k + j], r->p[i * k + j] };
        qsort(list, k, sizeof *list, by_index);
        for (size_t j = 0; j < k; j++) {
            r->index[i * k + j] = list[j].index;
            r->p[i * k + j] = list[j].p;
        }
    }
    free(list);
}

/* Adds each pair i→j to row i, and to row j unless j→i exists. */
static int symmetrise_sparse(struct affinity *a, struct affinity_rows *r, struct err *e) {
    size_t n = (size_t)a->n, k = (size_t)r->k, total = 0;
    size_t *count = xcalloc(n, sizeof *count);
    sort_rows(r);
    for (size_t i = 0; i < n; i++) {
        count[i] += k;
        for (size_t j = 0; j < k; j++) {
            size_t to = (size_t)r->index[i * k + j];
            if (back(r->index + to * k, r->p + to * k, r->k, (int)i) < 0) count[to]++;
        }
    }
    a->start = xmalloc((n + 1) * sizeof *a->start);
    for (size_t i = 0; i < n; i++) {
        a->start[i] = total;
        total += (count[i] + PAIRS_LANES - 1) / PAIRS_LANES * PAIRS_LANES;
        count[i] = a->start[i];
    }
    a->start[n] = total;
    a->index = mem_try(total, sizeof *a->index);
    a->p = mem_try(total, sizeof *a->p);
    int rc = a->index && a->p ? 0 : err_set(e, ERR_SYSTEM, "out of memory for %zu neighbors", total);
    double scale = 0.5 / a->n;
    for (size_t i = 0; i < n && !rc; i++) {
        for (size_t j = 0; j < k; j++) {
            size_t to = (size_t)r->index[i * k + j];
            real other = back(r->index + to * k, r->p + to * k, r->k, (int)i);
            int copies = other < 0 ? 2 : 1;
            double v = ((double)r->p[i * k + j] + (copies == 1 ? (double)other : 0)) * scale;
            a->index[count[i]] = (int32_t)to;
            a->p[count[i]++] = (real)v;
            if (copies == 2) {
                a->index[count[to]] = (int32_t)i;
                a->p[count[to]++] = (real)v;
            }
            if (v > 0) a->log_p += copies * v * log(v);
        }
    }
    for (size_t i = 0; i < n && !rc; i++) {
        for (; count[i] < a->start[i + 1]; count[i]++) {
            a->index[count[i]] = (int32_t)i;
            a->p[count[i]] = 0;
        }
    }
    free(count);
    return rc;
}

/* Merges both directions of each pair after all rows are computed. */
static int symmetrise(void *self) {
    struct affinity_rows *r = self;
    if (r->out->dense) symmetrise_dense(r->out);
    else r->rc = symmetrise_sparse(r->out, r, r->e);
    return 0;
}

static bool allocate(struct affinity *a, struct affinity_rows *r) {
    size_t n = (size_t)a->n, k = (size_t)r->k;
    if (a->n <= AFFINITY_DENSE) {
        a->dense = mem_try(n * a->stride, sizeof *a->dense);
        if (a->dense) memset(a->dense, 0, n * a->stride * sizeof *a->dense);
        return a->dense != NULL;
    }
    r->index = mem_try(n * k, sizeof *r->index);
    r->p = mem_try(n * k, sizeof *r->p);
    return r->index && r->p;
}

static void take_norms(void *self) {
    struct affinity_rows *r = self;
    affinity_norms(r->x, r->n, r->d, r->norm);
}

int affinity_init(struct affinity *a, const real *x, int n, int d, double perplexity, struct crew *crew,
                  struct err *e) {
    BUG_IF(n < 4 || perplexity < 1 || perplexity > (n - 1) / 3.0);
    *a = (struct affinity){ .n = n };
    a->stride = ((size_t)n + PAIRS_LANES - 1) / PAIRS_LANES * PAIRS_LANES;
    int k = n <= AFFINITY_DENSE ? n - 1 : (int)(3 * perplexity);
    struct affinity_rows r = { .x = x, .n = n, .d = d, .k = k, .perplexity = perplexity, .out = a, .e = e };
    r.norm = xmalloc((size_t)n * sizeof *r.norm);
    if (allocate(a, &r)) {
        crew_call(crew, take_norms, &r);
        crew_do(crew, &(struct crew_work){ &r, (n + BLOCK - 1) / BLOCK, fill_block, symmetrise, NULL });
    } else {
        r.rc = err_set(e, ERR_SYSTEM, "out of memory for the neighbors of %d points", n);
    }
    free(r.norm);
    free(r.index);
    free(r.p);
    if (r.rc) affinity_release(a);
    return r.rc;
}

void affinity_release(struct affinity *a) {
    free(a->dense);
    free(a->start);
    free(a->index);
    free(a->p);
    *a = (struct affinity){ 0 };
}
