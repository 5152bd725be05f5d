#include "core/analysis/tsne.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/affinity.h"
#include "core/analysis/pairs.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/rng.h"

enum {
    EARLY = 250,  /* iterations with early exaggeration; a third of all when fewer than 750 */
    BLOCK = 32,   /* points whose divergence is summed together; also the minimum of a unit */
    PAIRS = 1 << 16, /* operations per unit: much more than the overhead of scheduling it */
    MOVED = 1024, /* points updated per unit */
    CENTRE = 50,  /* iterations between re-centering of the layout */
};

static const real START = (real)1e-4;  /* standard deviation of the first axis */
static const real LONGEST = 5;         /* update of a point */
static const real GAIN_LEAST = (real)0.01;

struct tsne {
    int n, iteration, early;
    struct tsne_options o;
    struct affinity p;
    size_t stride;
    real *axis[2];     /* layout by axis, `stride` numbers each, padded with PAIRS_FAR after n */
    real *start;       /* n×2 */
    real *move[2], *gain[2];
    real *force[2];    /* attraction, with exaggeration */
    real *push[2];     /* repulsion, not yet divided by the sum of q */
    double *q;         /* Σ q of each point */
    real *layout;      /* n×2 */
    const struct pairs *pairs;
};

void tsne_options_init(struct tsne_options *o) {
    *o = (struct tsne_options){ .perplexity = 30, .iterations = 750, .exaggeration = 12, .seed = 1 };
}

/* ---- initialization ---- */

static int check_input(const real *x, int n, int d, struct err *e) {
    size_t w = (size_t)d;
    bool differ = false;
    if (n < 4)
        return err_set(e, ERR_INPUT, "a map needs at least 4 points: found %d", n);
    if (n > TSNE_MOST)
        return err_set(e, ERR_USAGE, "a map has at most %d points: found %d; use a sample", TSNE_MOST, n);
    for (size_t i = 0; i < (size_t)n; i++) {
        for (size_t j = 0; j < w; j++)
            if (!isfinite(x[i * w + j]))
                return err_set(e, ERR_INPUT, "example %zu, value %zu is %s", i + 1, j + 1,
                               isnan(x[i * w + j]) ? "NaN" : "infinite");
        if (!differ) differ = memcmp(x, x + i * w, w * sizeof *x) != 0;
    }
    if (!differ) return err_set(e, ERR_INPUT, "all %d points are identical: no map can be computed", n);
    return 0;
}

static int check_options(const struct tsne_options *o, struct err *e) {
    if (!(o->perplexity >= 1) || !isfinite(o->perplexity))
        return err_set(e, ERR_USAGE, "the perplexity must be at least 1");
    if (o->iterations < 1) return err_set(e, ERR_USAGE, "a map needs at least 1 iteration");
    if (!(o->exaggeration >= 1) || !isfinite(o->exaggeration))
        return err_set(e, ERR_USAGE, "the exaggeration must be at least 1");
    if (!(o->rate >= 0) || !isfinite(o->rate))
        return err_set(e, ERR_USAGE, "the learning rate must be positive, or 0 to select it automatically");
    return 0;
}

/* Returns x centered and divided by its largest magnitude, so that squares do not overflow. */
static real *moderate(const real *x, int n, int d, struct err *e) {
    size_t w = (size_t)d, all = (size_t)n * w;
    real *out = mem_try(all, sizeof *out);
    if (!out) {
        err_set(e, ERR_SYSTEM, "out of memory for %d points of %d dimensions", n, d);
        return NULL;
    }
    double *mean = xcalloc(w, sizeof *mean), most = 0;
    for (size_t i = 0; i < all; i++) mean[i % w] += (double)x[i] / n;
    for (size_t i = 0; i < all; i++) {
        double v = fabs((double)x[i] - mean[i % w]);
        if (v > most) most = v;
    }
    for (size_t i = 0; i < all; i++) out[i] = (real)(((double)x[i] - mean[i % w]) / most);
    free(mean);
    return out;
}

static int first_layout(struct tsne *t, const real *x, int d, struct err *e) {
    if (t->o.start) {
        memcpy(t->start, t->o.start, 2 * (size_t)t->n * sizeof *t->start);
        t->o.start = NULL; /* the caller's */
        return 0;
    }
    int rc = pca_two(x, t->n, d, t->start, e);
    if (rc) return rc;
    struct rng_key key = rng_key(t->o.seed, RNG_LAYOUT, 0, rng_site("jitter"));
    double sum = 0;
    for (int i = 0; i < t->n; i++) sum += (double)t->start[2 * i] * (double)t->start[2 * i];
    double scale = sum > 0 ? (double)START / sqrt(sum / t->n) : 0;
    for (int i = 0; i < 2 * t->n; i++)
        t->start[i] = (real)((double)t->start[i] * scale +
                             0.01 * (double)START * rng_normal(key, (uint64_t)i));
    return 0;
}

static int allocate(struct tsne *t, struct err *e) {
    size_t n = (size_t)t->n, s = t->stride;
    bool all = true;
    real **array[] = { &t->axis[0], &t->axis[1], &t->move[0], &t->move[1],  &t->gain[0], &t->gain[1],
                       &t->force[0], &t->force[1], &t->push[0], &t->push[1] };
    for (size_t i = 0; i < COUNT_OF(array); i++) all &= (*array[i] = mem_try(s, sizeof(real))) != NULL;
    all &= (t->q = mem_try(n, sizeof *t->q)) != NULL;
    all &= (t->start = mem_try(2 * n, sizeof *t->start)) != NULL;
    all &= (t->layout = mem_try(2 * n, sizeof *t->layout)) != NULL;
    return all ? 0 : err_set(e, ERR_SYSTEM, "out of memory for a map of %d points", t->n);
}

/* Writes the initial layout. */
struct beginning {
    struct tsne *t;
    const real *x;
    int d;
    real *moderated;
    int rc;
    struct err *e;
};

static void tsne_begin(void *self) {
    struct beginning *b = self;
    b->moderated = moderate(b->x, b->t->n, b->d, b->e);
    b->rc = b->moderated ? first_layout(b->t, b->moderated, b->d, b->e) : ERR_SYSTEM;
}

static int prepare(struct tsne *t, const real *x, int d, struct err *e) {
    struct beginning b = { .t = t, .x = x, .d = d, .e = e };
    int rc = allocate(t, e);
    if (rc) return rc;
    crew_call(t->o.crew, tsne_begin, &b);
    rc = b.rc;
    if (!rc) rc = affinity_init(&t->p, b.moderated, t->n, d, t->o.perplexity, t->o.crew, e);
    free(b.moderated);
    return rc;
}

struct tsne *tsne_new(const real *x, int n, int d, const struct tsne_options *o, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    if (check_options(o, e) || check_input(x, n, d, e)) return NULL;
    struct tsne *t = xcalloc(1, sizeof *t);
    t->n = n;
    t->o = *o;
    t->early = o->start ? 0 : o->iterations < 3 * EARLY ? o->iterations / 3 : EARLY;
    if (t->o.perplexity > (n - 1) / 3.0) t->o.perplexity = (n - 1) / 3.0;
    t->stride = ((size_t)n + PAIRS_LANES - 1) / PAIRS_LANES * PAIRS_LANES;
    t->pairs = pairs_in_use();
    if (prepare(t, x, d, e)) {
        tsne_free(t);
        return NULL;
    }
    tsne_rewind(t);
    return t;
}

void tsne_free(struct tsne *t) {
    if (!t) return;
    affinity_release(&t->p);
    for (int a = 0; a < 2; a++) {
        free(t->axis[a]);
        free(t->move[a]);
        free(t->gain[a]);
        free(t->force[a]);
        free(t->push[a]);
    }
    free(t->q);
    free(t->start);
    free(t->layout);
    free(t);
}

void tsne_rewind(struct tsne *t) {
    t->iteration = 0;
    for (int a = 0; a < 2; a++) {
        for (size_t i = 0; i < t->stride; i++) {
            t->axis[a][i] = i < (size_t)t->n ? t->start[2 * i + (size_t)a] : PAIRS_FAR;
            t->move[a][i] = 0;
            t->gain[a][i] = 1;
        }
    }
    memcpy(t->layout, t->start, 2 * (size_t)t->n * sizeof *t->layout);
}

/* ---- iterations ---- */

/* Iterations by a crew: each computes forces in one round and updates points in the next. */
struct stepping {
    struct tsne *t;
    int count, run;    /* requested and completed iterations */
    int points;        /* per unit of forces */
    bool moving;       /* current round */
    double sum;        /* Σ q over all pairs */
    double seconds, until; /* until 0: not started */
};

static void forces_of(struct tsne *t, size_t first, size_t end) {
    const real *x = t->axis[0], *y = t->axis[1];
    const struct affinity *p = &t->p;
    for (size_t i = first; i < end; i++) {
        struct pair_sums s;
        if (p->dense) {
            t->pairs->all(x, y, t->stride, i, p->dense + i * p->stride, &s);
        } else {
            t->pairs->repel(x, y, t->stride, i, &s);
            t->pairs->attract(x, y, p->index + p->start[i], p->p + p->start[i], p->start[i + 1] - p->start[i],
                              i, &s);
        }
        t->q[i] = s.q - 1;
        for (int a = 0; a < 2; a++) {
            t->force[a][i] = (real)s.near[a];
            t->push[a][i] = (real)s.away[a];
        }
    }
}

/* Updates points first … end−1 (momentum and gains as in van der Maaten's program, maximum step as in
 * Linderman et al.). */
static void move_points(struct tsne *t, double sum, size_t first, size_t end) {
    bool early = t->iteration < t->early;
    double rate = t->o.rate;
    if (rate == 0) rate = early ? fmax(200, t->n / t->o.exaggeration) : fmax(200, t->n);
    real pull = (real)(early ? t->o.exaggeration : 1), share = (real)(1 / sum), r = (real)rate;
    real momentum = (real)(early ? 0.5 : 0.8);
    for (size_t i = first; i < end; i++) {
        real step[2];
        for (int a = 0; a < 2; a++) {
            real g = t->push[a][i] * share - pull * t->force[a][i];
            real *gain = &t->gain[a][i], v = t->move[a][i];
            *gain = (g > 0) != (v > 0) ? *gain + (real)0.2 : *gain * (real)0.8;
            if (*gain < GAIN_LEAST) *gain = GAIN_LEAST;
            step[a] = momentum * v - r * *gain * g;
        }
        real length = (real)sqrt((double)(step[0] * step[0] + step[1] * step[1]));
        real scale = length > LONGEST ? LONGEST / length : 1;
        for (int a = 0; a < 2; a++) {
            t->move[a][i] = step[a] * scale;
            t->axis[a][i] += t->move[a][i];
        }
    }
}

static void center(struct tsne *t) {
    for (int a = 0; a < 2; a++) {
        double mean = 0;
        for (int i = 0; i < t->n; i++) mean += (double)t->axis[a][i] / t->n;
        for (int i = 0; i < t->n; i++) t->axis[a][i] -= (real)mean;
    }
}

static int units_of(int n, int points) { return (n + points - 1) / points; }

static void step_unit(void *self, int index, int worker) {
    struct stepping *s = self;
    size_t n = (size_t)s->t->n, points = (size_t)(s->moving ? MOVED : s->points),
           first = (size_t)index * points;
    size_t end = first + points < n ? first + points : n;
    (void)worker;
    if (s->moving) move_points(s->t, s->sum, first, end);
    else forces_of(s->t, first, end);
}

/* Completes an iteration and prepares the units of the next one. */
static int end_iteration(struct stepping *s) {
    struct tsne *t = s->t;
    s->moving = false;
    t->iteration++;
    if (t->iteration % CENTRE == 0) center(t);
    bool late = s->seconds > 0 && clock_seconds() >= s->until;
    return ++s->run == s->count || late ? 0 : units_of(t->n, s->points);
}

static int next_round(void *self) {
    struct stepping *s = self;
    struct tsne *t = s->t;
    if (s->until == 0) s->until = clock_seconds() + s->seconds;
    if (s->moving) return end_iteration(s);
    s->sum = 0;
    for (int i = 0; i < t->n; i++) s->sum += t->q[i];
    if (t->n > MOVED) {
        s->moving = true;
        return units_of(t->n, MOVED);
    }
    move_points(t, s->sum, 0, (size_t)t->n);
    return end_iteration(s);
}

int tsne_step_for(struct tsne *t, int count, double seconds) {
    if (count > t->o.iterations - t->iteration) count = t->o.iterations - t->iteration;
    if (count <= 0) return 0;
    int points = PAIRS / t->n > BLOCK ? PAIRS / t->n : BLOCK;
    struct stepping s = { .t = t, .count = count, .points = points, .seconds = seconds };
    crew_do(t->o.crew, &(struct crew_work){ &s, units_of(t->n, points), step_unit, next_round, NULL });
    for (size_t i = 0; i < (size_t)t->n; i++)
        for (size_t a = 0; a < 2; a++) t->layout[2 * i + a] = t->axis[a][i];
    return s.run;
}

int tsne_step(struct tsne *t, int count) { return tsne_step_for(t, count, 0); }

/* ---- divergence ---- */

int tsne_iteration(const struct tsne *t) { return t->iteration; }
bool tsne_done(const struct tsne *t) { return t->iteration >= t->o.iterations; }
double tsne_perplexity(const struct tsne *t) { return t->o.perplexity; }
int tsne_unreached(const struct tsne *t) { return t->p.unreached; }
const real *tsne_layout(const struct tsne *t) { return t->layout; }

struct divergence {
    const struct tsne *t;
    double *q, *cross; /* of each block: Σ q over ordered pairs, Σ p·ln(1/q) */
};

static double distance2(const struct tsne *t, size_t i, size_t j) {
    double dx = (double)t->axis[0][i] - (double)t->axis[0][j],
           dy = (double)t->axis[1][i] - (double)t->axis[1][j];
    return dx * dx + dy * dy;
}

static void divergence_block(void *self, int block, int worker) {
    const struct divergence *d = self;
    (void)worker;
    const struct tsne *t = d->t;
    size_t n = (size_t)t->n, first = (size_t)block * BLOCK, end = first + BLOCK < n ? first + BLOCK : n;
    double q = 0, cross = 0;
    for (size_t i = first; i < end; i++) {
        for (size_t j = 0; j < i; j++) q += 2 / (1 + distance2(t, i, j));
        if (t->p.dense) {
            const real *p = t->p.dense + i * t->p.stride;
            for (size_t j = 0; j < n; j++)
                if (p[j] > 0) cross += (double)p[j] * log1p(distance2(t, i, j));
        } else {
            for (size_t k = t->p.start[i]; k < t->p.start[i + 1]; k++)
                cross += (double)t->p.p[k] * log1p(distance2(t, i, (size_t)t->p.index[k]));
        }
    }
    d->q[block] = q;
    d->cross[block] = cross;
}

double tsne_divergence(const struct tsne *t) {
    int blocks = (t->n + BLOCK - 1) / BLOCK;
    struct divergence d = { .t = t };
    d.q = xcalloc((size_t)blocks, sizeof *d.q);
    d.cross = xcalloc((size_t)blocks, sizeof *d.cross);
    crew_do(t->o.crew, &(struct crew_work){ .self = &d, .units = blocks, .unit = divergence_block });
    double q = 0, cross = 0;
    for (int i = 0; i < blocks; i++) {
        q += d.q[i];
        cross += d.cross[i];
    }
    free(d.q);
    free(d.cross);
    return t->p.log_p + cross + log(q);
}
