/* Rows, vectors, scores: what Insight fetches before anything is drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight_private.h"
#include "app/jobs.h"
#include "app/paths.h"
#include "app/verbs.h"
#include "core/analysis/scores.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/sample.h"

enum { PURITY_K = 10, SLICE = 32 };

/* Two runs are laid side by side only where the same rows mean the same to both. */
static int comparable(const struct user *a, const struct user *b, struct err *e) {
    if (strcmp(a->model->sha256, b->model->sha256))
        return err_set(e, ERR_USAGE, "runs #%lld and #%lld are of different models", (long long)a->run,
                       (long long)b->run);
    int n = predictor_classes(a->predictor);
    bool same = n == predictor_classes(b->predictor);
    for (int i = 0; same && n > 1 && i < n; i++)
        same = !strcmp(predictor_label(a->predictor, i), predictor_label(b->predictor, i));
    if (same) return 0;
    return err_set(e, ERR_USAGE, "runs #%lld and #%lld have different labels", (long long)a->run, (long long)b->run);
}

/* Takes the first dev split, or the training rows, down to rows drawn evenly over the classes. */
static void draw_rows(struct inside *s) {
    struct dataset *d = s->rows_of = s->task.devs ? &s->task.dev[0] : &s->task.train;
    int *pick = xmalloc((d->rows + 1) * sizeof *pick);
    char all[32];
    text_thousands((int64_t)d->rows, all);
    s->n = dataset_pick(d, INSIGHT_ROWS, INSIGHT_SEED, pick);
    dataset_keep(d, pick, s->n);
    s->gold = xmalloc(((size_t)s->n + 1) * sizeof *s->gold);
    for (int i = 0; i < s->n; i++) s->gold[i] = d->row[i].label;
    s->rows = xprintf("%d of %s %s rows", s->n, all, s->task.devs ? s->task.dev_name[0] : "train");
    free(pick);
}

static int open_rows(struct inside *s, const struct user *run, const char *task, const struct model *m,
                     struct err *e) {
    struct task_source from = { .where = task, .assets = paths_assets() };
    const char **name = NULL;
    size_t max_len = (size_t)arch_longest(&m->arch);
    if (run->run) {
        from = jobs_source(&run->config);
        from.no_train = run->config.dev_file != NULL;
        from.dev_rows = 0;
        max_len = (size_t)predictor_max_len(run->predictor);
        if (!predictor_is_regression(run->predictor)) {
            from.name_count = predictor_classes(run->predictor);
            name = xcalloc((size_t)from.name_count, sizeof *name);
            for (int i = 0; i < from.name_count; i++) name[i] = predictor_label(run->predictor, i);
            from.names = name;
            from.names_from = "the run";
        }
    }
    int rc = task_open(&s->task, &from, e);
    free(name);
    if (rc) return rc;
    s->have_task = true;
    s->classes = s->task.kind == DATA_REGRESSION ? 0 : s->task.classes;
    draw_rows(s);
    struct dataset *d = s->rows_of;
    if (s->n < 4) return err_set(e, ERR_INPUT, "%s: %d rows are too few for a map", d->path, s->n);
    if (max_len > 128) max_len = 128; /* as long as a training row by default */
    return dataset_encode(d, m->tokenizer, max_len, 0, m->arch.vocabulary, e);
}

/* Who is told, and asked whether to go on. */
struct listener {
    bool (*busy)(void *, const char *);
    void *self;
};

static int go_on(const struct listener *l, const char *what, struct err *e) {
    return l->busy(l->self, what) ? 0 : err_set(e, ERR_INTERRUPTED, "given up");
}

/* What the run's head says of `d`, whose first row is row `at` of the panel's. */
static int predict(struct inside *s, struct inside_panel *p, const struct user *run, const struct dataset *d,
                   int at, struct err *e) {
    int k = s->classes;
    if (k < 2 || predictor_classes(run->predictor) != k) return 0;
    if (!p->predicted) p->predicted = xcalloc((size_t)s->n, sizeof *p->predicted);
    double *share = xmalloc(d->rows * (size_t)k * sizeof *share);
    int rc = predictor_run(run->predictor, d, 1, share, NULL, e);
    for (int i = 0; !rc && i < (int)d->rows; i++)
        for (int c = 1; c < k; c++)
            if (share[i * k + c] > share[i * k + p->predicted[at + i]]) p->predicted[at + i] = c;
    free(share);
    return rc;
}

/* A few rows at a time, so that leaving never waits for all. */
static int embed(struct inside *s, struct inside_panel *p, const struct user *run, const struct model *m,
                 const struct listener *l, struct err *e) {
    real **to = xcalloc((size_t)p->layers, sizeof *to);
    int rc = 0;
    for (int at = 0; !rc && at < s->n; at += SLICE) {
        struct dataset part = *s->rows_of;
        char *what = xprintf("rows through %s: %d of %d", p->title, at, s->n);
        rc = go_on(l, what, e);
        free(what);
        part.rows = (size_t)(s->n - at < SLICE ? s->n - at : SLICE);
        part.row += at;
        part.start += at;
        for (int i = 0; i < p->layers; i++) to[i] = p->vector[i] + (size_t)at * (size_t)p->width;
        if (!rc && !run) rc = model_embed(m, &part, true, 1, to, e);
        if (!rc && run) rc = predictor_embed(run->predictor, &part, true, 1, to, NULL, e);
        if (!rc && run) rc = predict(s, p, run, &part, at, e);
    }
    free(to);
    return rc;
}

static int fill_panel(struct inside *s, const struct user *run, const struct model *m,
                      const struct listener *l, struct err *e) {
    struct inside_panel *p = &s->panel[s->panels++];
    p->title = run ? xprintf("#%lld %s", (long long)run->run, run->config.method) : xstrdup("model");
    p->width = m->arch.width;
    p->layers = m->arch.encoder_layers + 1;
    p->layer = p->layers - 1;
    p->vector = xcalloc((size_t)p->layers, sizeof *p->vector);
    for (int i = 0; i < p->layers; i++) {
        p->vector[i] = mem_try((size_t)s->n * (size_t)p->width, sizeof **p->vector);
        if (!p->vector[i]) return err_set(e, ERR_SYSTEM, "no memory for the vectors of %d rows", s->n);
    }
    return embed(s, p, run, m, l, e);
}

int inside_open(struct inside *s, struct store *store, const char *model, const char *task,
                const int64_t *run, int runs, bool (*busy)(void *, const char *), void *self,
                struct err *e) {
    struct user from[MAP_PANELS] = { { .run = 0 } };
    struct model *m = NULL;
    int rc = 0;
    *s = (struct inside){ .perplexity = 30 };
    const struct listener l = { busy, self };
    rc = go_on(&l, "opening the model", e);
    for (int i = 0; !rc && i < runs && i < MAP_PANELS; i++) rc = user_open_run(&from[i], store, run[i], e);
    if (!rc && runs > 1) rc = comparable(&from[0], &from[1], e);
    if (!rc && !runs) {
        m = model_share(model, e);
        rc = m ? 0 : e->code;
    }
    const struct model *base = runs && !rc ? from[0].model : m;
    if (!rc) {
        rc = go_on(&l, "reading rows", e);
        if (!rc) rc = open_rows(s, &from[0], task, base, e);
    }
    if (!rc && runs < MAP_PANELS) rc = fill_panel(s, NULL, base, &l, e);
    for (int i = 0; !rc && i < runs; i++) rc = fill_panel(s, &from[i], base, &l, e);
    for (int i = 0; !rc && i < s->panels; i++) {
        rc = go_on(&l, "neighbours of all rows", e);
        if (!rc) rc = inside_layer(s, i, e);
    }
    if (!rc && runs) {
        const struct user *last = &from[runs - 1];
        likeness_of(&s->tensors, &from[0], last);
        s->tensors_title = xprintf("trained tensors: #%lld by #%lld", (long long)from[0].run, (long long)last->run);
    }
    for (int i = 0; i < MAP_PANELS; i++) user_release(&from[i]);
    if (m) model_release(m);
    if (rc) inside_release(s);
    return rc;
}

static void clear_layer(struct inside_panel *p) {
    tsne_free(p->tsne);
    p->tsne = NULL;
    free(p->unit);
    p->unit = NULL;
    free(p->neighbour);
    p->neighbour = NULL;
}

void inside_release(struct inside *s) {
    for (int i = 0; i < MAP_PANELS; i++) {
        clear_layer(&s->panel[i]);
        for (int k = 0; s->panel[i].vector && k < s->panel[i].layers; k++) free(s->panel[i].vector[k]);
        free(s->panel[i].vector);
        free(s->panel[i].title);
        free(s->panel[i].predicted);
    }
    if (s->have_task) task_release(&s->task);
    likeness_release(&s->tensors);
    free(s->tensors_title);
    free(s->gold);
    free(s->rows);
    *s = (struct inside){ .perplexity = 30 };
}

/* ---- one layer of one panel ---- */

static real *unit_vectors(const real *x, int n, int d) {
    real *unit = xmalloc((size_t)n * (size_t)d * sizeof *unit);
    for (int i = 0; i < n; i++) {
        const real *v = x + (size_t)i * (size_t)d;
        double sum = 0;
        for (int j = 0; j < d; j++) sum += (double)v[j] * (double)v[j];
        double by = sum > 0 ? 1 / sqrt(sum) : 0;
        for (int j = 0; j < d; j++) unit[(size_t)i * (size_t)d + (size_t)j] = (real)((double)v[j] * by);
    }
    return unit;
}

/* The nearest rows by cosine, the first of equals. */
static int32_t *nearest(const real *unit, int n, int d) {
    int32_t *out = xmalloc((size_t)n * MAP_NEIGHBOURS * sizeof *out);
    for (int i = 0; i < n; i++) {
        double best[MAP_NEIGHBOURS];
        int32_t *to = out + i * MAP_NEIGHBOURS;
        int have = 0;
        for (int j = 0; j < n; j++) {
            double dot = 0;
            if (j == i) continue;
            for (int k = 0; k < d; k++)
                dot += (double)(unit[(size_t)i * (size_t)d + (size_t)k] * unit[(size_t)j * (size_t)d + (size_t)k]);
            int at = have < MAP_NEIGHBOURS ? have++ : MAP_NEIGHBOURS;
            if (at == MAP_NEIGHBOURS && dot <= best[MAP_NEIGHBOURS - 1]) continue;
            if (at == MAP_NEIGHBOURS) at--;
            for (; at > 0 && best[at - 1] < dot; at--) {
                best[at] = best[at - 1];
                to[at] = to[at - 1];
            }
            best[at] = dot;
            to[at] = j;
        }
        while (have < MAP_NEIGHBOURS) to[have++] = -1;
    }
    return out;
}

static struct map_score shown(int rc, const struct score *s) {
    if (rc) return (struct map_score){ 0, "a zero vector" };
    return (struct map_score){ s->value, s->undefined };
}

int inside_layer(struct inside *s, int panel, struct err *e) {
    struct inside_panel *p = &s->panel[panel];
    int n = s->n, d = p->width;
    const real *x = p->vector[p->layer];
    clear_layer(p);
    p->unit = unit_vectors(x, n, d);
    p->neighbour = nearest(p->unit, n, d);
    p->silhouette = p->purity = (struct map_score){ 0, "no labels" };
    if (s->classes > 0 && s->gold[0] >= 0) {
        struct score score = { 0 };
        struct err why = ERR_INIT;
        p->silhouette = shown(score_silhouette(x, n, d, s->gold, s->classes, &score, &why), &score);
        p->purity = shown(score_purity(x, n, d, s->gold, PURITY_K, &p->purity_k, &score, &why), &score);
    }
    struct tsne_options o;
    tsne_options_init(&o);
    o.perplexity = s->perplexity;
    o.seed = INSIGHT_SEED;
    o.workers = 1;
    p->tsne = tsne_new(p->unit, n, d, &o, e);
    return p->tsne ? 0 : e->code;
}
