#include "app/insight/moments.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/run_table.h"
#include "core/analysis/tsne.h"
#include "core/base/mem.h"

/* Returns whether b belongs to the series of a. */
static bool same_series(const struct store_embedding *a, const struct store_embedding *b) {
    if (a->layer != b->layer || a->rows != b->rows || a->columns != b->columns || a->seed != b->seed)
        return false;
    if (strcmp(a->pool, b->pool) || strcmp(a->split, b->split) || strcmp(a->task, b->task)) return false;
    if (!a->rows_sha256 || !b->rows_sha256) return true; /* their examples are compared when read */
    return !strcmp(a->rows_sha256, b->rows_sha256);
}

/* Collects sets of other steps in the series of set `from`. */
static int moments_length_of(const struct store_embeddings *v, size_t from) {
    int n = 0;
    for (size_t i = 0; i < v->count; i++) n += same_series(&v->set[from], &v->set[i]);
    return n;
}

static int by_step(const void *a, const void *b) {
    const struct moment *x = a, *y = b;
    if (x->step != y->step) return x->step < y->step ? -1 : 1;
    return (x->set > y->set) - (x->set < y->set);
}

static bool is_retrieved(const struct store_embedding *m) { return !strcmp(m->pool, "retriever"); }

/* Fills moments with step and set only. */
static int moments_choose(struct moments *m, struct store *s, bool retriever, struct err *e) {
    struct store_embeddings v;
    int rc = store_embeddings(s, m->run, &v, e), most = 0, kept = 0;
    size_t best = 0;
    if (rc) return rc;
    for (size_t i = 0; i < v.count; i++) {
        int n = is_retrieved(&v.set[i]) == retriever ? moments_length_of(&v, i) : 0;
        if (n <= most) continue;
        most = n;
        best = i;
    }
    m->moment = xcalloc(v.count + 1, sizeof *m->moment);
    for (size_t i = 0; i < v.count; i++)
        if (most && same_series(&v.set[best], &v.set[i]))
            m->moment[m->count++] = (struct moment){ .step = v.set[i].step, .set = v.set[i].id };
    store_embeddings_release(&v);
    qsort(m->moment, (size_t)m->count, sizeof *m->moment, by_step);
    for (int i = 0; i < m->count; i++) /* of two sets of a step, the later one */
        if (i + 1 == m->count || m->moment[i + 1].step != m->moment[i].step) m->moment[kept++] = m->moment[i];
    m->count = kept;
    if (m->count > 1) return 0;
    return err_set(e, ERR_NOT_FOUND,
                   "run %lld: requires at least two sets of vectors%s saved during training, found %d; train "
                   "with --embed-every N",
                   (long long)m->run, retriever ? " of its retriever" : "", m->count);
}

struct looked_at {
    const struct moments *m;
    struct moment *k;
};

static void rate_vectors(void *self) {
    const struct looked_at *x = self;
    const struct rowset *r = &x->m->rows;
    make_unit(x->k->vector, r->n, x->m->width);
    ratings_of(&x->k->ratings, x->k->vector, r->n, x->m->width, r->label, r->classes, r->row);
    if (r->tasks > 1)
        ratings_of(&x->k->by_task, x->k->vector, r->n, x->m->width, r->of_task, r->tasks, r->row);
}

static void rate_map(void *self) {
    const struct looked_at *x = self;
    x->k->preservation = score_preservation(x->k->vector, x->m->width, x->k->layout, x->m->rows.n,
                                            RATINGS_NEAR);
}

static int read_moment(struct moments *m, struct store *s, struct moment *k, struct err *e) {
    struct store_embedding set;
    struct rowset rows;
    int rc = store_embedding(s, k->set, &set, e);
    if (rc) return rc;
    rc = rowset_read(&rows, &k->predicted, set.items, set.rows, set.task, e);
    if (!rc && !m->model) {
        m->run = set.run;
        k->step = set.step;
        m->model = xstrdup(set.model);
        m->task = xstrdup(set.task);
        m->split = xstrdup(set.split);
        m->pool = xstrdup(set.pool);
        m->layer = set.layer;
        m->width = set.columns;
        m->rows = rows;
        rows = (struct rowset){ 0 };
    } else if (!rc) {
        rc = rowset_same(&m->rows, &rows, e);
        for (int i = 0; !rc && k->predicted && i < set.rows; i++) /* class indices of the first set */
            if (k->predicted[i] >= 0)
                k->predicted[i] = rowset_class(&m->rows, rows.of_task[i], rows.label_name[k->predicted[i]]);
    }
    size_t all = (size_t)set.rows * (size_t)set.columns;
    k->vector = rc ? NULL : xmalloc((all + 1) * sizeof *k->vector);
    for (size_t i = 0; !rc && i < all; i++) k->vector[i] = (real)set.data[i];
    rowset_release(&rows);
    store_embedding_release(&set);
    if (!rc) crew_call(m->crew, rate_vectors, &(struct looked_at){ m, k });
    return rc;
}

/* Reads the primary metric where it was evaluated at a moment's step. */
static int read_metric(struct moments *m, struct store *s, struct err *e) {
    struct store_run run;
    struct store_evals v = { 0 };
    int rc = store_run(s, m->run, &run, e);
    if (rc) return rc;
    m->metric = xstrdup(run.metric);
    m->called = run_table_called(&run);
    m->title = run_table_short(&run);
    for (int i = 0; i < m->count; i++) m->moment[i].metric = NAN;
    rc = store_evaluations(s, m->run, &v, e);
    for (size_t k = 0; k < v.count; k++) {
        const struct store_eval_row *row = &v.row[k];
        const char *dot = strrchr(row->name, '.');
        bool own = dot && !strcmp(dot + 1, m->metric) &&
                   !strncmp(row->name, m->split, (size_t)(dot - row->name));
        if (!(m->rows.tasks > 1 ? !strcmp(row->name, run.decides) : own)) continue;
        for (int i = 0; i < m->count; i++)
            if (m->moment[i].step == row->step && !row->value.undefined) m->moment[i].metric = row->value.v;
    }
    store_evals_release(&v);
    store_run_release(&run);
    return rc;
}

int moments_open(struct moments *m, struct store *s, int64_t run, bool retriever, struct crew *crew,
                 struct err *e) {
    *m = (struct moments){ .run = run, .perplexity = 30, .crew = crew };
    int rc = moments_choose(m, s, retriever, e);
    for (int i = 0; !rc && i < m->count; i++) {
        rc = read_moment(m, s, &m->moment[i], e);
        if (rc)
            err_prefix(e, "set %lld of step %lld", (long long)m->moment[i].set, (long long)m->moment[i].step);
    }
    if (!rc) rc = read_metric(m, s, e);
    if (rc) moments_release(m);
    return rc;
}

int moments_open_set(struct moments *m, struct store *s, int64_t set, struct crew *crew, struct err *e) {
    *m = (struct moments){ .perplexity = 30, .count = 1, .crew = crew };
    m->moment = xcalloc(1, sizeof *m->moment);
    m->moment[0] = (struct moment){ .set = set, .metric = NAN };
    int rc = read_moment(m, s, &m->moment[0], e);
    if (!rc && m->run) m->title = xprintf("set %lld: #%lld step %lld, %s", (long long)set, (long long)m->run,
                                       (long long)m->moment[0].step, m->task);
    else if (!rc) m->title = xprintf("set %lld: %s, %s", (long long)set, m->model, m->task);
    if (rc) moments_release(m);
    return rc;
}

int moments_lay(struct moments *m, int i, uint64_t seed, struct err *e) {
    struct moment *k = &m->moment[i];
    struct tsne_options o;
    int n = m->rows.n;
    BUG_IF(i && !m->moment[i - 1].layout);
    tsne_options_init(&o);
    if (i) o.iterations = MOMENTS_ITERATIONS;
    o.perplexity = m->perplexity;
    o.seed = seed;
    o.crew = m->crew;
    o.start = i ? m->moment[i - 1].layout : NULL;
    struct tsne *t = tsne_new(k->vector, n, m->width, &o, e);
    if (!t) return err_prefix(e, "step %lld", (long long)k->step);
    tsne_step(t, o.iterations);
    free(k->layout);
    k->layout = xmalloc((2 * (size_t)n + 1) * sizeof *k->layout);
    memcpy(k->layout, tsne_layout(t), 2 * (size_t)n * sizeof *k->layout);
    k->kl = tsne_divergence(t);
    crew_call(m->crew, rate_map, &(struct looked_at){ m, k });
    m->used = tsne_perplexity(t);
    tsne_free(t);
    return 0;
}

void moments_clear(struct moments *m) {
    for (int i = 0; i < m->count; i++) {
        free(m->moment[i].layout);
        m->moment[i].layout = NULL;
    }
}

void moments_release(struct moments *m) {
    moments_clear(m);
    for (int i = 0; i < m->count; i++) {
        free(m->moment[i].vector);
        free(m->moment[i].predicted);
    }
    free(m->moment);
    free(m->called), free(m->title);
    free(m->model);
    free(m->task);
    free(m->split);
    free(m->pool);
    free(m->metric);
    rowset_release(&m->rows);
    *m = (struct moments){ 0 };
}
