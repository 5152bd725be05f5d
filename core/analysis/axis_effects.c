#include "core/analysis/axis_effects.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/statistics.h"
#include "core/base/buf.h"
#include "core/base/mem.h"

/* ---- least squares, column by column ---- */

/* Householder QR; a column that is a linear combination of earlier ones is dropped, with its coefficients. */
struct fit {
    size_t rows, room, columns, rank;
    double *q;      /* Householder vectors, `rows` each, in the order of the selected columns */
    double *r;      /* room × room, upper: r[i * room + j] of the j-th selected column */
    double *beta;   /* of each reflection */
    double *z;      /* y, reflected */
    int *taken;     /* index among the selected columns, −1: dropped */
    double *relation; /* room × room: coefficients of a dropped column on the selected ones */
    double *b;      /* solution, by place */
    double sigma2, df;
    double quantile; /* quantile of Student's t: half-width of a 95% interval in standard errors */
};

static void fit_init(struct fit *f, size_t rows, size_t room, const double *y) {
    *f = (struct fit){ .rows = rows, .room = room };
    f->q = xcalloc(rows * room, sizeof *f->q);
    f->r = xcalloc(room * room, sizeof *f->r);
    f->beta = xcalloc(room, sizeof *f->beta);
    f->z = xmalloc(rows * sizeof *f->z);
    memcpy(f->z, y, rows * sizeof *f->z);
    f->taken = xcalloc(room, sizeof *f->taken);
    f->relation = xcalloc(room * room, sizeof *f->relation);
    f->b = xcalloc(room, sizeof *f->b);
}

static void fit_release(struct fit *f) {
    free(f->q), free(f->r), free(f->beta), free(f->z), free(f->taken), free(f->relation), free(f->b);
}

static void reflect(const struct fit *f, size_t k, double *v) {
    const double *h = f->q + k * f->rows;
    double dot = 0;
    for (size_t i = k; i < f->rows; i++) dot += h[i] * v[i];
    for (size_t i = k; i < f->rows; i++) v[i] -= f->beta[k] * dot * h[i];
}

/* Solves the upper triangular system for `v` in place. */
static void back(const struct fit *f, double *v) {
    for (size_t i = f->rank; i-- > 0;) {
        for (size_t j = i + 1; j < f->rank; j++) v[i] -= f->r[i * f->room + j] * v[j];
        v[i] /= f->r[i * f->room + i];
    }
}

static void add_column(struct fit *f, const double *x) {
    size_t k = f->rank, c = f->columns++;
    double *v = xmalloc(f->rows * sizeof *v), whole = 0, rest = 0;
    memcpy(v, x, f->rows * sizeof *v);
    for (size_t i = 0; i < f->rows; i++) whole += v[i] * v[i];
    for (size_t j = 0; j < k; j++) reflect(f, j, v);
    for (size_t i = k; i < f->rows; i++) rest += v[i] * v[i];
    f->taken[c] = -1;
    if (k == f->rows || rest <= 1e-20 * whole) {
        memcpy(f->relation + c * f->room, v, k * sizeof *v);
        back(f, f->relation + c * f->room);
    } else {
        double norm = sqrt(rest), alpha = v[k] > 0 ? -norm : norm, *h = f->q + k * f->rows;
        memcpy(h + k, v + k, (f->rows - k) * sizeof *h);
        h[k] -= alpha;
        f->beta[k] = 1 / (norm * (norm + fabs(v[k])));
        for (size_t i = 0; i < k; i++) f->r[i * f->room + k] = v[i];
        f->r[k * f->room + k] = alpha;
        f->taken[c] = (int)k;
        f->rank++;
        reflect(f, k, f->z);
    }
    free(v);
}

static void fit_solve(struct fit *f) {
    memcpy(f->b, f->z, f->rank * sizeof *f->b);
    back(f, f->b);
    double rest = 0, whole = 0;
    for (size_t i = 0; i < f->rows; i++) whole += f->z[i] * f->z[i];
    for (size_t i = f->rank; i < f->rows; i++) rest += f->z[i] * f->z[i];
    if (rest <= 1e-18 * whole) rest = 0; /* rounding alone (core/analysis/statistics.h) */
    f->df = (double)(f->rows - f->rank);
    f->sigma2 = f->df > 0 ? rest / f->df : NAN;
    f->quantile = f->df > 0 ? student_quantile(0.975, f->df) : NAN;
}

/* Returns whether c (by column) is in the row space, so that its value is estimable; then sets the value and
 * the half-width of its 95% interval. */
static bool combination(const struct fit *f, const double *c, double *value, double *half) {
    double *u = xcalloc(f->room, sizeof *u);
    bool known = true;
    for (size_t k = 0; k < f->columns; k++)
        if (f->taken[k] >= 0) u[f->taken[k]] = c[k];
    for (size_t k = 0; k < f->columns; k++) {
        if (f->taken[k] >= 0) continue;
        double made = 0;
        for (size_t j = 0; j < f->rank; j++) made += f->relation[k * f->room + j] * u[j];
        if (fabs(made - c[k]) > 1e-8) known = false;
    }
    *value = 0;
    for (size_t j = 0; j < f->rank; j++) *value += u[j] * f->b[j];
    double square = 0; /* |R⁻ᵀ c|² */
    for (size_t i = 0; i < f->rank; i++) {
        for (size_t j = 0; j < i; j++) u[i] -= f->r[j * f->room + i] * u[j];
        u[i] /= f->r[i * f->room + i];
        square += u[i] * u[i];
    }
    *half = f->df > 0 && f->sigma2 > 0 ? f->quantile * sqrt(f->sigma2 * square) : NAN;
    free(u);
    return known;
}

/* ---- factors as columns ---- */

static int columns_of(const struct effects_factor *a) { return a->levels ? a->levels - 1 : 1; }

static double code(const struct effects_factor *a, int level, int column) {
    return level == column ? 1 : level == a->levels - 1 ? -1 : 0;
}

static double mean_of(const double *x, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i];
    return sum / (double)n;
}

static void axis_effects_column(const struct effects_factor *a, int c, size_t rows, double *out) {
    double mean = a->levels ? 0 : mean_of(a->x, rows);
    for (size_t i = 0; i < rows; i++) out[i] = a->levels ? code(a, a->level[i], c) : a->x[i] - mean;
}

struct designed {
    struct fit fit;
    int *owner; /* of each column: −1 the mean, else block or factor (blocks first), one past all for the
                 * pair */
    int *first;        /* first column of each block and factor */
};

static const struct effects_factor *axis_effects_part(const struct effects_model *m, int i) {
    return i < m->blocks ? &m->block[i] : &m->factor[i - m->blocks];
}

/* The mean, blocks, factors, and the products of a pair's columns (a < 0: no pair). */
static void build(struct designed *d, const struct effects_model *m, int a, int b) {
    int parts = m->blocks + m->factors;
    size_t room = 1;
    for (int i = 0; i < parts; i++) room += (size_t)columns_of(axis_effects_part(m, i));
    if (a >= 0) room += (size_t)columns_of(&m->factor[a]) * (size_t)columns_of(&m->factor[b]);
    double *x = xmalloc(m->rows * sizeof *x), *y = xmalloc(m->rows * sizeof *y);
    fit_init(&d->fit, m->rows, room, m->y);
    d->owner = xcalloc(room, sizeof *d->owner);
    d->first = xcalloc((size_t)parts + 1, sizeof *d->first);
    for (size_t i = 0; i < m->rows; i++) x[i] = 1;
    d->owner[0] = -1;
    add_column(&d->fit, x);
    for (int i = 0; i < parts; i++) {
        d->first[i] = (int)d->fit.columns;
        for (int c = 0; c < columns_of(axis_effects_part(m, i)); c++) {
            axis_effects_column(axis_effects_part(m, i), c, m->rows, x);
            d->owner[d->fit.columns] = i;
            add_column(&d->fit, x);
        }
    }
    d->first[parts] = (int)d->fit.columns;
    for (int c = 0; a >= 0 && c < columns_of(&m->factor[a]); c++) {
        for (int k = 0; k < columns_of(&m->factor[b]); k++) {
            axis_effects_column(&m->factor[a], c, m->rows, x);
            axis_effects_column(&m->factor[b], k, m->rows, y);
            for (size_t i = 0; i < m->rows; i++) x[i] *= y[i];
            d->owner[d->fit.columns] = parts;
            add_column(&d->fit, x);
        }
    }
    fit_solve(&d->fit);
    free(x);
    free(y);
}

static void axis_effects_drop(struct designed *d) {
    fit_release(&d->fit);
    free(d->owner);
    free(d->first);
}

/* Returns the names of the factors that are confounded with a factor's columns, or NULL. */
static char *alias_of(const struct designed *d, const struct effects_model *m, int factor) {
    int parts = m->blocks + m->factors, me = m->blocks + factor;
    bool *met = xcalloc((size_t)parts + 1, sizeof *met);
    const struct fit *f = &d->fit;
    for (size_t k = 0; k < f->columns; k++) {
        if (f->taken[k] >= 0) continue;
        bool mine = d->owner[k] == me;
        for (int pass = 0; pass < 2; pass++) {
            for (size_t c = 0; c < f->columns; c++) {
                if (f->taken[c] < 0 || fabs(f->relation[k * f->room + (size_t)f->taken[c]]) < 1e-8 ||
                    d->owner[c] < 0)
                    continue;
                if (pass && mine) met[d->owner[c]] = true;
                mine |= d->owner[c] == me;
            }
            if (pass && mine) met[d->owner[k]] = true;
        }
    }
    struct buf b = BUF_INIT;
    for (int i = 0; i < parts; i++)
        if (met[i] && i != me) buf_printf(&b, "%s%s", b.size ? ", " : "", axis_effects_part(m, i)->name);
    free(met);
    return b.size ? buf_take(&b) : NULL;
}

/* ---- report ---- */

static void axis_effects_tell(struct axis_effects *out, struct axis_effect one, const struct fit *f,
                              const double *c) {
    double value, half;
    one.open = !combination(f, c, &value, &half);
    one.value = one.open ? NAN : value;
    one.low = one.open ? NAN : value - half;
    one.high = one.open ? NAN : value + half;
    out->effect = xrealloc(out->effect, out->count + 1, sizeof *out->effect);
    out->effect[out->count++] = one;
}

static size_t rows_at(const struct effects_model *m, int a, int level, int b, int level2) {
    size_t n = 0;
    for (size_t i = 0; i < m->rows; i++)
        n += (level < 0 || m->factor[a].level[i] == level) &&
             (b < 0 || level2 < 0 || m->factor[b].level[i] == level2);
    return n;
}

static void main_effects(struct axis_effects *out, const struct effects_model *m, const struct designed *d) {
    double *c = xcalloc(d->fit.room, sizeof *c);
    for (int a = 0; a < m->factors; a++) {
        const struct effects_factor *x = &m->factor[a];
        int first = d->first[m->blocks + a];
        for (int level = x->levels ? 0 : -1; level < x->levels; level++) {
            memset(c, 0, d->fit.room * sizeof *c);
            c[0] = level >= 0;
            for (int k = 0; k < columns_of(x); k++) c[first + k] = level >= 0 ? code(x, level, k) : 1;
            axis_effects_tell(out, (struct axis_effect){ .factor = a, .other = -1, .level = level,
                                                        .level2 = -1, .n = rows_at(m, a, level, -1, -1) },
                              &d->fit, c);
        }
    }
    free(c);
}

static void pair_effects(struct axis_effects *out, const struct effects_model *m, int a, int b) {
    struct designed d;
    build(&d, m, a, b);
    const struct effects_factor *x = &m->factor[a], *y = &m->factor[b];
    int first = d.first[m->blocks + m->factors];
    double *c = xcalloc(d.fit.room, sizeof *c);
    for (int i = 0; i < x->levels; i++) {
        for (int j = 0; j < y->levels; j++) {
            memset(c, 0, d.fit.room * sizeof *c);
            for (int k = 0; k < columns_of(x); k++)
                for (int l = 0; l < columns_of(y); l++)
                    c[first + k * columns_of(y) + l] = code(x, i, k) * code(y, j, l);
            axis_effects_tell(out, (struct axis_effect){ .factor = a, .other = b, .level = i, .level2 = j,
                                                        .n = rows_at(m, a, i, b, j) }, &d.fit, c);
        }
    }
    free(c);
    axis_effects_drop(&d);
}

int axis_effects_fit(const struct effects_model *m, struct axis_effects *out, struct err *e) {
    *out = (struct axis_effects){ .factors = m->factors };
    if (m->rows < 2) return err_set(e, ERR_INPUT, "main effects need at least 2 runs: found %zu",
                                                  m->rows);
    struct designed d;
    build(&d, m, -1, -1);
    out->df = d.fit.df;
    out->sigma = sqrt(d.fit.sigma2);
    out->alias = xcalloc((size_t)m->factors + 1, sizeof *out->alias);
    for (int a = 0; a < m->factors; a++) out->alias[a] = alias_of(&d, m, a);
    main_effects(out, m, &d);
    axis_effects_drop(&d);
    for (int a = 0; a < m->factors; a++)
        for (int b = a + 1; b < m->factors; b++)
            if (m->factor[a].levels && m->factor[b].levels) pair_effects(out, m, a, b);
    return 0;
}

void axis_effects_release(struct axis_effects *f) {
    for (int i = 0; i < f->factors; i++) free(f->alias ? f->alias[i] : NULL);
    free(f->alias);
    free(f->effect);
    *f = (struct axis_effects){ 0 };
}
