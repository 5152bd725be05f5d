/* Pictures of Map: copies of the insight thread's data for the screen's thread. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/insight_private.h"
#include "core/base/mem.h"

/* Divergence and neighbors of a layout cost more than its iterations: they are recomputed after so many
 * iterations, for many points only at the end. */
enum { RATE_EVERY = 75, RATE_POINTS = 2000 };

struct shared_rows {
    atomic_int refs;
    int n, classes, tasks;
    char **text, **class_name, *task[ROWSET_TASKS], *drawn;
    int32_t *label, *of_task;
};

/* The memory of a map picture. */
struct picture {
    struct shared_rows *rows;
    double *xy[MAP_PANELS], *small_xy[MAP_PANELS];
    struct map_small *small[MAP_PANELS];
    int32_t *predicted[MAP_PANELS], *neighbor[MAP_PANELS];
    struct map_moment *moment[MAP_PANELS];
    char *title[MAP_PANELS], *metric, *run_task, *busy, *failed;
    struct ratings ratings[MAP_PANELS], by_task[MAP_PANELS]; /* the panels' scores point to their reasons */
};

void shared_rows_drop(struct shared_rows *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
    for (int i = 0; i < s->n; i++) free(s->text[i]);
    for (int i = 0; i < s->classes; i++) free(s->class_name[i]);
    for (int i = 0; i < s->tasks; i++) free(s->task[i]);
    free(s->text);
    free(s->class_name);
    free(s->label);
    free(s->of_task);
    free(s->drawn);
    free(s);
}

static int32_t *insight_picture_copied(const int32_t *from, int n) {
    if (!from) return NULL;
    int32_t *to = xcalloc((size_t)n + 1, sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

struct shared_rows *shared_rows_of(const struct inside *in) {
    const struct rowset *r = in->panel[0].rows;
    struct shared_rows *s = xcalloc(1, sizeof *s);
    atomic_init(&s->refs, 1);
    s->n = r->n;
    s->classes = r->classes;
    s->tasks = r->tasks;
    s->text = xcalloc((size_t)s->n + 1, sizeof *s->text);
    s->class_name = xcalloc((size_t)s->classes + 1, sizeof *s->class_name);
    s->label = insight_picture_copied(r->label, s->n);
    s->of_task = insight_picture_copied(r->of_task, s->n);
    for (int i = 0; i < s->n; i++) s->text[i] = rowset_text(r, i);
    for (int i = 0; i < s->classes; i++) s->class_name[i] = xstrdup(r->class_name[i]);
    for (int i = 0; i < s->tasks; i++) s->task[i] = xstrdup(r->task[i]);
    s->drawn = in->training ? xprintf("%d examples of %s", s->n, in->panel[0].moments->split)
                            : xstrdup(in->drawn);
    return s;
}

void insight_map_free(struct insight_map *m) {
    if (!m) return;
    struct picture *p = m->memory;
    shared_rows_drop(p->rows);
    for (int i = 0; i < MAP_PANELS; i++) {
        free(p->xy[i]);
        free(p->small_xy[i]);
        free(p->small[i]);
        free(p->predicted[i]);
        free(p->neighbor[i]);
        free(p->moment[i]);
        free(p->title[i]);
    }
    free(p->metric);
    free(p->run_task);
    free(p->busy);
    free(p->failed);
    free(p);
    free(m);
}

static struct map_score insight_picture_shown(const struct rating *r) {
    return (struct map_score){ r->value, *r->why ? r->why : NULL };
}

/* Copies the nearest neighbors of each example, in the form that the screen uses. */
static int32_t *insight_picture_nearest(const struct inside_panel *p) {
    int n = p->rows->n;
    int32_t *out = xcalloc((size_t)n * MAP_NEIGHBORS + 1, sizeof *out);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < MAP_NEIGHBORS; k++)
            out[i * MAP_NEIGHBORS + k] = k < p->near ? p->neighbor[i * p->near + k] : -1;
    return out;
}

/* Returns the share of neighbors that are also neighbors in the layout. */
static void insight_picture_take_preservation(void *self) {
    struct inside_panel *p = self;
    int n = p->rows->n;
    int32_t *near = xmalloc(((size_t)n * (size_t)p->near + 1) * sizeof *near);
    score_neighbors(tsne_layout(p->tsne), n, 2, p->near, near);
    p->preservation = score_shared(p->neighbor, near, n, p->near);
    free(near);
}

static void insight_picture_rate(struct inside_panel *p, struct crew *crew, bool playing) {
    int at = tsne_iteration(p->tsne);
    bool done = tsne_done(p->tsne);
    if (at < p->rated) { /* restarted */
        p->kl = p->preservation = NAN;
        p->rated = 0;
    }
    if (at == p->rated || (p->rows->n > RATE_POINTS && !done)) return;
    if (playing && !done && at - p->rated < RATE_EVERY) return;
    p->kl = tsne_divergence(p->tsne);
    crew_call(crew, insight_picture_take_preservation, p);
    p->rated = at;
}

static struct map_moment *moments_of(const struct moments *m) {
    struct map_moment *out = xcalloc((size_t)m->count + 1, sizeof *out);
    for (int i = 0; i < m->count; i++) {
        const struct moment *k = &m->moment[i];
        out[i] = (struct map_moment){ k->step,   k->ratings.silhouette.value, k->ratings.purity.value,
                                      k->metric, k->by_task.silhouette.value, k->by_task.purity.value };
    }
    return out;
}

static void place_points(struct picture *p, struct map_panel *to, int i, const real *xy, int n) {
    p->xy[i] = xcalloc(2 * (size_t)n + 1, sizeof *p->xy[i]);
    for (int k = 0; k < 2 * n; k++) p->xy[i][k] = (double)xy[k];
    to->xy = p->xy[i];
}

/* Copies the layouts of all layers, as far as they are computed, or of the played moments. */
static void place_small(struct picture *p, struct map_panel *to, int i, const struct inside_panel *from,
                        bool training) {
    int count = training ? from->moments->count : from->small ? inside_small_maps(from) : 0;
    size_t numbers = 2 * (size_t)from->rows->n;
    if (!count) return;
    p->small[i] = xcalloc((size_t)count, sizeof *p->small[i]);
    p->small_xy[i] = xcalloc((size_t)count * numbers + 1, sizeof *p->small_xy[i]);
    for (int k = 0; k < count; k++) {
        double *xy = p->small_xy[i] + (size_t)k * numbers;
        const real *moment = training ? from->moments->moment[k].layout : NULL;
        const double *layer = training ? NULL : from->small[k];
        for (size_t j = 0; j < numbers && (moment || layer); j++)
            xy[j] = moment ? (double)moment[j] : layer[j];
        p->small[i][k] = (struct map_small){ training ? from->moments->moment[k].step : k,
                                             moment || layer ? xy : NULL };
    }
    to->small = p->small[i];
    to->smalls = count;
}

static void picture_panel(struct insight_map *m, struct picture *p, struct inside *in, int i) {
    struct inside_panel *from = &in->panel[i];
    struct map_panel *to = &m->data.panel[i];
    int n = from->rows->n;
    p->title[i] = xstrdup(from->title);
    p->predicted[i] = insight_picture_copied(from->predicted, n);
    p->neighbor[i] = insight_picture_nearest(from);
    p->ratings[i] = from->ratings;
    p->by_task[i] = from->by_task;
    *to = (struct map_panel){ .title = p->title[i], .layer = from->layer,
                              .layers = from->probe ? from->probe->layers : from->layers,
                              .predicted = p->predicted[i], .neighbor = p->neighbor[i],
                              .silhouette = insight_picture_shown(&p->ratings[i].silhouette),
                              .purity = insight_picture_shown(&p->ratings[i].purity),
                              .task_silhouette = insight_picture_shown(&p->by_task[i].silhouette),
                              .task_purity = insight_picture_shown(&p->by_task[i].purity),
                              .purity_k = p->ratings[i].near, .kl = NAN, .kept = NAN };
    to->retriever = from->probe ? from->layer > from->probe->layers
                                : !strcmp(from->moments->pool, "retriever");
    m->data.retriever |= to->retriever;
    place_small(p, to, i, from, in->training);
    if (in->training) {
        const struct moment *k = &from->moments->moment[from->at];
        p->moment[i] = moments_of(from->moments);
        to->moment = p->moment[i];
        to->moments = from->moments->count;
        to->at = from->at;
        if (!k->layout) return;
        place_points(p, to, i, k->layout, n);
        to->kl = k->kl;
        to->kept = k->preservation;
    } else if (from->tsne) {
        const real *xy = tsne_layout(from->tsne);
        place_points(p, to, i, xy, n);
        insight_picture_rate(from, in->crew, m->data.playing);
        to->kl = from->kl;
        to->kept = from->preservation;
    }
}

struct insight_map *picture_of(struct inside *in, struct shared_rows *rows, bool playing, const char *busy,
                               const char *failed) {
    struct insight_map *m = xcalloc(1, sizeof *m);
    struct picture *p = xcalloc(1, sizeof *p);
    struct map_data *d = &m->data;
    m->memory = p;
    d->playing = playing;
    d->busy = p->busy = busy ? xstrdup(busy) : NULL;
    d->failed = p->failed = failed ? xstrdup(failed) : NULL;
    if (!rows) return m;
    atomic_fetch_add(&rows->refs, 1);
    p->rows = rows;
    const struct inside_panel *first = &in->panel[0];
    struct tsne_options o;
    tsne_options_init(&o);
    d->n = rows->n;
    d->text = (const char *const *)rows->text;
    d->label = rows->label;
    d->classes = rows->classes;
    d->class_name = (const char *const *)rows->class_name;
    d->of_task = rows->of_task;
    d->tasks = rows->tasks;
    d->task_name = (const char *const *)rows->task;
    d->rows = rows->drawn;
    d->run_task = p->run_task = in->run_task ? xstrdup(in->run_task) : NULL;
    d->run_task_at = in->run_task_at;
    d->run_tasks = in->run_tasks;
    d->pool = first->moments && strcmp(first->moments->pool, "mean") ? "first token" : "mean of tokens";
    d->asked = in->perplexity;
    d->perplexity = in->training ? first->moments->used : first->tsne ? tsne_perplexity(first->tsne) : 0;
    d->iteration = first->tsne ? tsne_iteration(first->tsne) : 0;
    d->iterations = o.iterations;
    d->seed = INSIGHT_SEED;
    d->training = in->training;
    if (in->training) d->metric = p->metric = xstrdup(first->moments->metric);
    d->panels = in->shown;
    for (int i = 0; i < in->shown; i++) picture_panel(m, p, in, i);
    return m;
}
