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
#include "core/base/rng.h"
#include "core/base/text.h"

enum { PURITY_K = 10 };

/* One run, opened for reading its layers. */
struct looked {
    struct run_config config;
    bool have_config;
    struct model *model;
    struct predictor *predictor;
    int64_t run;
};

static void source_release(struct looked *s) {
    predictor_free(s->predictor);
    if (s->model) model_release(s->model);
    if (s->have_config) config_release(&s->config);
}

static int source_open(struct looked *s, struct store *store, int64_t id, struct err *e) {
    struct store_run run;
    int rc = store_run(store, id, &run, e);
    if (rc) return rc;
    rc = config_from_json(run.config, strlen(run.config), &s->config, e);
    store_run_release(&run);
    if (rc) return rc;
    s->have_config = true;
    s->run = id;
    char *checkpoint = verb_checkpoint(store, id, NULL, e);
    s->model = checkpoint ? model_share(s->config.model_folder, e) : NULL;
    s->predictor = s->model ? predictor_open(checkpoint, s->model, e) : NULL;
    free(checkpoint);
    return s->predictor ? 0 : e->code;
}

/* Two runs are laid side by side only where the same rows mean the same to both. */
static int comparable(const struct looked *a, const struct looked *b, struct err *e) {
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

/* The split that is drawn from: the first dev split, or the training rows. */
static struct dataset *split_of(struct inside *s) { return s->task.devs ? &s->task.dev[0] : &s->task.train; }

/* Rows drawn evenly over the classes: each class's in a permuted order, in turn.  Rows
 * without a label are taken only where none has one. */
static void draw_rows(struct inside *s) {
    const struct dataset *d = split_of(s);
    size_t n = d->rows, labelled = 0, taken = 0;
    for (size_t i = 0; i < n; i++) labelled += d->row[i].label >= 0;
    int classes = labelled ? s->classes : 1;
    uint32_t *order = xmalloc((n + 1) * sizeof *order);
    size_t *at = xcalloc((size_t)classes, sizeof *at), want = labelled ? labelled : n;
    rng_permute(rng_key(INSIGHT_SEED, RNG_DRAW, 0, rng_site("insight")), order, n);
    if (want > INSIGHT_ROWS) want = INSIGHT_ROWS;
    s->row = xmalloc((want + 1) * sizeof *s->row);
    s->gold = xmalloc((want + 1) * sizeof *s->gold);
    while (taken < want)
        for (int k = 0; k < classes && taken < want; k++) {
            size_t i = at[k];
            while (i < n && labelled && d->row[order[i]].label != k) i++;
            at[k] = i + 1;
            if (i >= n) continue;
            s->gold[taken] = labelled ? d->row[order[i]].label : -1;
            s->row[taken++] = order[i];
        }
    s->n = (int)taken;
    free(at);
    free(order);
    char all[32];
    text_thousands((int64_t)n, all);
    s->rows = xprintf("%d of %s %s rows", s->n, all, s->task.devs ? s->task.dev_name[0] : "train");
}

static int open_rows(struct inside *s, const struct looked *run, const char *task, const struct model *m,
                     struct err *e) {
    struct task_source from = { .where = task, .assets = paths_assets() };
    const char **name = NULL;
    size_t max_len = (size_t)arch_longest(&m->arch);
    if (run->have_config) {
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
    struct dataset *d = split_of(s);
    if (max_len > 128) max_len = 128; /* as long as a training row by default */
    rc = dataset_encode(d, m->tokenizer, max_len, m->arch.vocabulary, e);
    if (rc) return rc;
    draw_rows(s);
    if (s->n < 4) return err_set(e, ERR_INPUT, "%s: %d rows are too few for a map", d->path, s->n);
    return 0;
}

static int fill_panel(struct inside *s, const struct looked *run, const struct model *m, struct err *e) {
    struct inside_panel *p = &s->panel[s->panels];
    const struct dataset *d = split_of(s);
    int rc = run ? states_of_run(&p->states, run->predictor, d, s->row, s->n, POOL_MEAN, e)
                 : states_of_model(&p->states, m, d, s->row, s->n, POOL_MEAN, e);
    if (rc) return rc;
    p->title = run ? xprintf("#%lld %s", (long long)run->run, run->config.method) : xstrdup("model");
    p->layer = p->states.layers - 1;
    if (run && s->classes > 1 && p->states.outputs == s->classes) {
        p->predicted = xmalloc((size_t)s->n * sizeof *p->predicted);
        for (int i = 0; i < s->n; i++) {
            const double *logits = p->states.logits + i * s->classes;
            int best = 0;
            for (int k = 1; k < s->classes; k++)
                if (logits[k] > logits[best]) best = k;
            p->predicted[i] = best;
        }
    }
    s->panels++;
    return 0;
}

int inside_open(struct inside *s, struct store *store, const char *model, const char *task,
                const int64_t *run, int runs, void (*busy)(void *, const char *), void *self,
                struct err *e) {
    struct looked from[MAP_PANELS] = { { .have_config = false } };
    struct model *m = NULL;
    int rc = 0;
    *s = (struct inside){ .perplexity = 30 };
    busy(self, "opening the model");
    for (int i = 0; !rc && i < runs && i < MAP_PANELS; i++) rc = source_open(&from[i], store, run[i], e);
    if (!rc && runs > 1) rc = comparable(&from[0], &from[1], e);
    if (!rc && !runs) {
        m = model_share(model, e);
        rc = m ? 0 : e->code;
    }
    const struct model *base = runs && !rc ? from[0].model : m;
    if (!rc) {
        busy(self, "reading rows");
        rc = open_rows(s, &from[0], task, base, e);
    }
    if (!rc && runs < MAP_PANELS) {
        busy(self, "rows through the model");
        rc = fill_panel(s, NULL, base, e);
    }
    for (int i = 0; !rc && i < runs; i++) {
        busy(self, "rows through the run");
        rc = fill_panel(s, &from[i], base, e);
    }
    for (int i = 0; !rc && i < s->panels; i++) {
        busy(self, "neighbours of all rows");
        rc = inside_layer(s, i, e);
    }
    for (int i = 0; i < MAP_PANELS; i++) source_release(&from[i]);
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
        states_release(&s->panel[i].states);
        free(s->panel[i].title);
        free(s->panel[i].predicted);
    }
    if (s->have_task) task_release(&s->task);
    free(s->row);
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
    int n = s->n, d = p->states.width;
    const real *x = states_layer(&p->states, p->layer);
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
