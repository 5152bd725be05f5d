/* Quantities of points in a file next to the lesson, and of their map. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/ratings.h"
#include "app/lesson/measure_private.h"
#include "core/analysis/tsne.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/data/vectors.h"

/* The points themselves, or their positions in the map. */
struct map_points {
    struct vectors v;
    int columns;
    real *at;  /* n×columns */
    double kl; /* of a map */
};

static void map_points_release(struct map_points *m) {
    vectors_release(&m->v);
    free(m->at);
}

/* A random start that does not depend on the points. */
static void map_random_start(uint64_t seed, int n, real *out) {
    static const double spread = 1e-4;
    struct rng_key key = rng_key(seed, RNG_LAYOUT, 0, rng_site("start"));
    for (int i = 0; i < 2 * n; i++) out[i] = (real)(spread * rng_normal(key, (uint64_t)i));
}

static int map_lay(struct map_points *m, double perplexity, double seed, struct crew *crew, struct err *e) {
    struct tsne_options o;
    real *start = NULL;
    tsne_options_init(&o);
    o.perplexity = perplexity;
    o.crew = crew;
    if (!isnan(seed)) {
        o.start = start = xmalloc(2 * (size_t)m->v.n * sizeof *start);
        map_random_start((uint64_t)seed, m->v.n, start);
    }
    struct tsne *t = tsne_new(m->v.x, m->v.n, m->v.d, &o, e);
    free(start);
    if (!t) return e->code;
    tsne_step(t, o.iterations);
    m->columns = 2;
    m->at = xmalloc(2 * (size_t)m->v.n * sizeof *m->at);
    memcpy(m->at, tsne_layout(t), 2 * (size_t)m->v.n * sizeof *m->at);
    m->kl = tsne_divergence(t);
    tsne_free(t);
    return 0;
}

/* Reads the points of a file next to the lesson; perplexity 0: no map.  seed NaN: the default start. */
static int map_open(const struct lesson_play *p, const char *file, double perplexity, double seed,
                    struct map_points *m, struct err *e) {
    const char *path = p->lesson->path, *slash = strrchr(path, '/');
    char *whole = xprintf("%.*s%s", slash ? (int)(slash - path) + 1 : 0, path, file);
    *m = (struct map_points){ .kl = NAN };
    int rc = vectors_read(&m->v, whole, &(struct vectors_options){ .labels = "class" }, e);
    free(whole);
    if (rc) return rc;
    if (perplexity != 0) return map_lay(m, perplexity, seed, jobs_crew(p->jobs), e);
    size_t all = (size_t)m->v.n * (size_t)m->v.d;
    m->columns = m->v.d;
    m->at = xmalloc((all + 1) * sizeof *m->at);
    memcpy(m->at, m->v.x, all * sizeof *m->at);
    return 0;
}

/* Writes the centroid of a class into out, m->columns values; ERR_USAGE when the class does not exist. */
static int map_middle(const struct map_points *m, const char *name, int *class, double *out, struct err *e) {
    int c = 0, n = 0;
    while (c < m->v.classes && strcmp(m->v.class_name[c], name) != 0) c++;
    if (c == m->v.classes) return err_set(e, ERR_USAGE, "class \"%s\" has no points", name);
    for (int k = 0; k < m->columns; k++) out[k] = 0;
    for (int i = 0; i < m->v.n; i++) n += m->v.label[i] == c;
    for (int i = 0; i < m->v.n; i++)
        for (int k = 0; k < m->columns && m->v.label[i] == c; k++)
            out[k] += (double)m->at[i * m->columns + k] / n;
    *class = c;
    return 0;
}

static int map_size(const struct map_points *m, const char *name, double *out, struct err *e) {
    double *middle = xmalloc((size_t)m->columns * sizeof *middle), sum = 0;
    int c, n = 0, rc = map_middle(m, name, &c, middle, e);
    for (int i = 0; !rc && i < m->v.n; i++) {
        if (m->v.label[i] != c) continue;
        n++;
        for (int k = 0; k < m->columns; k++) {
            double v = (double)m->at[i * m->columns + k] - middle[k];
            sum += v * v;
        }
    }
    free(middle);
    if (!rc) *out = sqrt(sum / n);
    return rc;
}

static int map_gap(const struct map_points *m, const char *one, const char *other, double *out,
                   struct err *e) {
    double *a = xmalloc((size_t)m->columns * sizeof *a), *b = xmalloc((size_t)m->columns * sizeof *b),
           sum = 0;
    int c, rc = map_middle(m, one, &c, a, e);
    if (!rc) rc = map_middle(m, other, &c, b, e);
    for (int k = 0; !rc && k < m->columns; k++) sum += (a[k] - b[k]) * (a[k] - b[k]);
    free(a);
    free(b);
    if (!rc) *out = sqrt(sum);
    return rc;
}

int lesson_measure_map(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                       const double *number, int count, double *out, struct err *e) {
    int at = q == QUANTITY_MAP_GAP ? 3 : q == QUANTITY_MAP_SIZE ? 2 : 1;
    bool whole = q == QUANTITY_MAP_KEPT || q == QUANTITY_MAP_KL;
    double perplexity = number[at], seed = count > at + 1 ? number[at + 1] : NAN;
    struct map_points m;
    if (whole && perplexity == 0) return err_set(e, ERR_USAGE, "the perplexity of a map must be at least 1");
    if (seed < 0) return err_set(e, ERR_USAGE, "seed %g: must be at least 0", seed);
    int rc = map_open(p, a[0].text, perplexity, seed, &m, e);
    if (!rc && q == QUANTITY_MAP_SIZE) rc = map_size(&m, a[1].text, out, e);
    else if (!rc && q == QUANTITY_MAP_GAP) rc = map_gap(&m, a[1].text, a[2].text, out, e);
    else if (!rc)
        *out = q == QUANTITY_MAP_KL ? m.kl : score_preservation(m.v.x, m.v.d, m.at, m.v.n, RATINGS_NEAR);
    map_points_release(&m);
    return rc;
}

/* Computes one map of the step into its place. */
static int map_layout(const struct lesson_play *p, const struct lesson_step *s, int at,
                      struct lesson_map *out, struct err *e) {
    struct map_points m;
    double seed = s->map[at].seed < 0 ? NAN : (double)s->map[at].seed;
    int rc = map_open(p, s->head, s->map[at].perplexity, seed, &m, e);
    if (!rc && (m.v.n > LESSON_POINTS || m.v.classes > LESSON_CLASSES))
        rc = err_set(e, ERR_USAGE, "%s: too many points or classes: found %d points in %d classes; a lesson "
                                   "supports at most %d points in %d classes",
                     s->head, m.v.n, m.v.classes, LESSON_POINTS, LESSON_CLASSES);
    out->n = rc ? 0 : m.v.n;
    out->classes = rc ? 0 : m.v.classes;
    for (int i = 0; i < out->n; i++) out->label[i] = m.v.label[i];
    for (int i = 0; i < 2 * out->n; i++) out->xy[at][i] = (double)m.at[i];
    for (int i = 0; i < out->classes; i++)
        snprintf(out->class_name[i], sizeof out->class_name[i], "%.31s", m.v.class_name[i]);
    map_points_release(&m);
    return rc;
}

int lesson_measure_layouts(struct lesson_play *p, int step, struct err *e) {
    const struct lesson_step *s = &p->lesson->step[step];
    struct lesson_map *out = xcalloc(1, sizeof *out);
    int rc = 0;
    for (int i = 0; !rc && i < s->maps; i++) rc = map_layout(p, s, i, out, e);
    if (rc) free(out);
    else lesson_set_map(p->progress, step, out);
    return rc;
}
