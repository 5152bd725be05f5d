#include "core/analysis/tsne.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/affinity.h"
#include "core/analysis/blocks.h"
#include "core/analysis/pairs.h"
#include "core/base/mem.h"
#include "core/base/rng.h"

enum {
    EARLY = 250,  /* iterations with exaggeration, a third of them when fewer than 750 */
    BLOCK = 32,   /* points at a time */
    CENTRE = 50,  /* iterations between moves of the middle to the origin */
};

static const real START = (real)1e-4;  /* standard deviation of the first axis */
static const real LONGEST = 5;         /* step of a point */
static const real GAIN_LEAST = (real)0.01;

struct tsne {
    int n, iteration, early;
    struct tsne_options o;
    struct affinity p;
    size_t stride;
    real *axis[2];     /* the layout by axis, stride numbers each, PAIRS_FAR past n */
    real *start;       /* n×2 */
    real *move[2], *gain[2];
    real *force[2];    /* attraction, exaggerated; */
    real *push[2];     /* repulsion, to be divided by the sum of q */
    double *q;         /* Σ q of each point */
    real *layout;      /* n×2 */
    const struct pairs *pairs;
};

void tsne_options_init(struct tsne_options *o) {
    *o = (struct tsne_options){ .perplexity = 30, .iterations = 750, .exaggeration = 12, .workers = 1,
                                .seed = 1 };
}

/* ---- the start ---- */

static int check_input(const real *x, int n, int d, struct err *e) {
    size_t w = (size_t)d;
    bool differ = false;
    if (n < 4) return err_set(e, ERR_INPUT, "a map needs at least 4 points; there %s %d", n == 1 ? "is" : "are", n);
    if (n > TSNE_MOST)
        return err_set(e, ERR_USAGE, "a map holds at most %d points; sample the %d evenly", TSNE_MOST, n);
    for (size_t i = 0; i < (size_t)n; i++) {
        for (size_t j = 0; j < w; j++)
            if (!isfinite(x[i * w + j]))
                return err_set(e, ERR_INPUT, "row %zu, value %zu: is %s; a map needs finite numbers", i + 1, j + 1,
                               isnan(x[i * w + j]) ? "not a number" : "infinite");
        if (!differ) differ = memcmp(x, x + i * w, w * sizeof *x) != 0;
    }
    if (!differ) return err_set(e, ERR_INPUT, "all %d points are equal: there is nothing to map", n);
    return 0;
}

static int check_options(const struct tsne_options *o, struct err *e) {
    if (!(o->perplexity >= 1) || !isfinite(o->perplexity))
        return err_set(e, ERR_USAGE, "the perplexity must be at least 1");
    if (o->iterations < 1) return err_set(e, ERR_USAGE, "a map needs at least 1 iteration");
    if (!(o->exaggeration >= 1) || !isfinite(o->exaggeration))
        return err_set(e, ERR_USAGE, "the exaggeration must be at least 1");
    if (!(o->rate >= 0) || !isfinite(o->rate))
        return err_set(e, ERR_USAGE, "the learning rate must be positive, or 0 for the automatic one");
    return 0;
}

/* x centred and divided by its greatest magnitude, so that squares stay in range. */
static real *moderate(const real *x, int n, int d, struct err *e) {
    size_t w = (size_t)d, all = (size_t)n * w;
    real *out = mem_try(all, sizeof *out);
    if (!out) {
        err_set(e, ERR_SYSTEM, "no memory for %d points of %d values", n, d);
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
        t->start[i] = (real)((double)t->start[i] * scale + 0.01 * (double)START * rng_normal(key, (uint64_t)i));
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
    return all ? 0 : err_set(e, ERR_SYSTEM, "no memory for a map of %d points", t->n);
}

static int prepare(struct tsne *t, const real *x, int d, struct err *e) {
    int rc = allocate(t, e);
    if (rc) return rc;
    real *moderated = moderate(x, t->n, d, e);
    if (!moderated) return ERR_SYSTEM;
    rc = first_layout(t, moderated, d, e);
    if (!rc) rc = affinity_init(&t->p, moderated, t->n, d, t->o.perplexity, t->o.workers, e);
    free(moderated);
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
    if (t->o.workers < 1) t->o.workers = 1;
    if (t->o.workers > BLOCKS_WORKERS) t->o.workers = BLOCKS_WORKERS;
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

/* Threads at work on some iterations. */
struct crew {
    struct tsne *t;
    int workers, count;
    pthread_barrier_t barrier;
    atomic_int next[2]; /* block to take, of even and odd iterations */
    atomic_int arrived; /* gives each thread its number */
};

static void forces_of_block(struct tsne *t, int block) {
    size_t first = (size_t)block * BLOCK, end = first + BLOCK < (size_t)t->n ? first + BLOCK : (size_t)t->n;
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

/* The step of points first … end-1 (momentum and gains of van der Maaten's program, the
 * longest step of Linderman et al.'s). */
static void move_points(struct tsne *t, size_t first, size_t end) {
    bool early = t->iteration < t->early;
    double sum = 0, rate = t->o.rate;
    for (int i = 0; i < t->n; i++) sum += t->q[i];
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

static void centre(struct tsne *t) {
    for (int a = 0; a < 2; a++) {
        double mean = 0;
        for (int i = 0; i < t->n; i++) mean += (double)t->axis[a][i] / t->n;
        for (int i = 0; i < t->n; i++) t->axis[a][i] -= (real)mean;
    }
}

static void *iterate(void *argument) {
    struct crew *c = argument;
    struct tsne *t = c->t;
    int me = atomic_fetch_add(&c->arrived, 1), blocks = (t->n + BLOCK - 1) / BLOCK;
    size_t n = (size_t)t->n, w = (size_t)c->workers;
    size_t first = n * (size_t)me / w, end = n * ((size_t)me + 1) / w;
    for (int turn = 0; turn < c->count; turn++) {
        for (int block; (block = atomic_fetch_add(&c->next[turn & 1], 1)) < blocks;) forces_of_block(t, block);
        pthread_barrier_wait(&c->barrier);
        move_points(t, first, end);
        if (pthread_barrier_wait(&c->barrier) == PTHREAD_BARRIER_SERIAL_THREAD) {
            atomic_store(&c->next[turn & 1], 0);
            t->iteration++;
            if (t->iteration % CENTRE == 0) centre(t);
        }
        pthread_barrier_wait(&c->barrier);
    }
    return NULL;
}

/* So many threads as could be started do the work; a barrier needs their number first, so
 * they wait for it at a lock. */
struct gate {
    pthread_mutex_t lock;
    struct crew *crew;
};

static void *enter(void *argument) {
    struct gate *g = argument;
    pthread_mutex_lock(&g->lock);
    pthread_mutex_unlock(&g->lock);
    return iterate(g->crew);
}

int tsne_step(struct tsne *t, int count) {
    pthread_t thread[BLOCKS_WORKERS];
    if (count > t->o.iterations - t->iteration) count = t->o.iterations - t->iteration;
    if (count <= 0) return 0;
    struct crew c = { .t = t, .workers = 1, .count = count };
    struct gate g = { PTHREAD_MUTEX_INITIALIZER, &c };
    int blocks = (t->n + BLOCK - 1) / BLOCK, most = t->o.workers < blocks ? t->o.workers : blocks;
    atomic_init(&c.next[0], 0);
    atomic_init(&c.next[1], 0);
    atomic_init(&c.arrived, 0);
    pthread_mutex_lock(&g.lock);
    while (c.workers < most && !pthread_create(&thread[c.workers - 1], NULL, enter, &g)) c.workers++;
    pthread_barrier_init(&c.barrier, NULL, (unsigned)c.workers);
    pthread_mutex_unlock(&g.lock);
    iterate(&c);
    for (int i = 0; i < c.workers - 1; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&c.barrier);
    pthread_mutex_destroy(&g.lock);
    for (size_t i = 0; i < (size_t)t->n; i++)
        for (size_t a = 0; a < 2; a++) t->layout[2 * i + a] = t->axis[a][i];
    return count;
}

/* ---- what it is at ---- */

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
    double dx = (double)t->axis[0][i] - (double)t->axis[0][j], dy = (double)t->axis[1][i] - (double)t->axis[1][j];
    return dx * dx + dy * dy;
}

static void divergence_block(void *self, int block) {
    const struct divergence *d = self;
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
    blocks_run(t->o.workers, blocks, divergence_block, &d);
    double q = 0, cross = 0;
    for (int i = 0; i < blocks; i++) {
        q += d.q[i];
        cross += d.cross[i];
    }
    free(d.q);
    free(d.cross);
    return t->p.log_p + cross + log(q);
}
