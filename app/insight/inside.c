/* Examples, vectors, scores: the data that Insight prepares before anything is drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/task_results.h"
#include "app/insight/insight_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"

/* ---- layers of a model and of runs ---- */

/* Returns the index of the probe of a run: with one run, the model comes first. */
static int sides_of(const struct insight_subject *what) { return what->runs < 1 ? 1 : MAP_PANELS; }
static int first_run(const struct insight_subject *what) { return sides_of(what) - what->runs; }

/* The selected tasks, by their indices in the run; none for a run with one task. */
struct own_tasks {
    int task[ROWSET_TASKS], count;
};

/* Selects the tasks: the first run with several tasks decides. */
static int inside_choose_task(struct inside *s, const struct insight_subject *what, struct err *e) {
    const struct opened *u = NULL;
    for (int i = first_run(what); what->runs && i < sides_of(what) && !u; i++)
        if (s->probe[i].opened.several) u = &s->probe[i].opened;
    if (!u) return 0;
    s->run_tasks = u->config.tasks;
    bool apart = predictor_retrieved(u->predictor) > 0;
    s->run_task_at = what->task_at != INSPECT_USUAL ? what->task_at % (s->run_tasks + 1)
                     : apart                        ? s->run_tasks
                                                    : 0;
    if (what->run_task)
        s->run_task_at = !strcmp(what->run_task, "all") ? s->run_tasks
                                                        : config_task_find(&u->config, what->run_task, e);
    if (s->run_task_at < 0) return e->code;
    bool all = s->run_task_at == s->run_tasks;
    s->run_task = xstrdup(all ? "all tasks" : config_task_name(&u->config, s->run_task_at));
    for (int i = 0; i < s->run_tasks; i++)
        if (all || i == s->run_task_at)
            s->task_name[s->task_names++] = xstrdup(config_task_name(&u->config, i));
    return 0;
}

static int find_tasks(const struct inside *s, const struct opened *u, struct own_tasks *out, struct err *e) {
    out->count = 0;
    for (int i = 0; u->several && u->all && i < s->task_names; i++) {
        int at = config_task_find(&u->config, s->task_name[i], e);
        if (at < 0) return err_prefix(e, "run #%lld", (long long)u->run);
        out->task[out->count++] = at;
    }
    return 0;
}

/* Two runs are compared only when the same examples have the same meaning for both. */
static int inside_comparable(const struct inside *s, const struct opened *a, const struct opened *b,
                             struct err *e) {
    struct own_tasks x, y;
    if (strcmp(a->model->fingerprint, b->model->fingerprint))
        return err_set(e, ERR_USAGE, "runs #%lld and #%lld are of different models", (long long)a->run,
                       (long long)b->run);
    int rc = find_tasks(s, a, &x, e);
    if (!rc) rc = find_tasks(s, b, &y, e);
    if (rc) return rc;
    for (int k = 0; k < s->task_names || !k; k++) {
        if (x.count) predictor_use(a->predictor, x.task[k]);
        if (y.count) predictor_use(b->predictor, y.task[k]);
        int n = predictor_classes(a->predictor);
        bool same = n == predictor_classes(b->predictor);
        for (int i = 0; same && n > 1 && i < n; i++)
            same = !strcmp(predictor_label(a->predictor, i), predictor_label(b->predictor, i));
        if (!same)
            return err_set(e, ERR_USAGE, "runs #%lld and #%lld have different labels", (long long)a->run,
                           (long long)b->run);
    }
    return 0;
}

/* A single task uses its own best checkpoint, if the run stored one per task. */
static int take_own_best(struct inside *s, struct probe *p, struct err *e) {
    if (!p->opened.several || p->opened.config.best_of != BEST_PER_TASK || s->task_names != 1) return 0;
    int64_t run = p->opened.run;
    probe_release(p);
    return probe_open_run(p, s->store, run, s->task_name[0], NULL, NULL, e);
}

static int inside_open_sides(struct inside *s, const struct insight_subject *what, struct err *e) {
    int from = first_run(what), rc = 0;
    s->sides = sides_of(what);
    for (int i = from; what->runs && !rc && i < s->sides; i++)
        rc = probe_open_all(&s->probe[i], s->store, what->run[i - from], NULL, NULL, e);
    if (rc) return rc;
    rc = inside_choose_task(s, what, e);
    for (int i = from; what->runs && !rc && i < s->sides; i++) rc = take_own_best(s, &s->probe[i], e);
    if (rc) return rc;
    if (what->runs > 1) return inside_comparable(s, &s->probe[0].opened, &s->probe[1].opened, e);
    return probe_open_model(&s->probe[0], what->runs ? s->probe[1].opened.model->folder : what->model, e);
}

/* Returns whether all selected tasks have a validation set. */
static bool have_dev(const struct opened *u, const struct own_tasks *t) {
    for (int i = 0; i < t->count; i++)
        if (!config_has_dev(config_data_of(&u->config, t->task[i]))) return false;
    return t->count || config_has_dev(&u->config);
}

/* Returns whether examples of other tasks have a vector at the run's retriever, but not above it, because
 * modules are per task. */
static bool is_retrieved_alone(const struct opened *run) {
    const struct plan *p = predictor_plan(run->predictor);
    return predictor_retrieved(run->predictor) > 0 && plan_encodes_by_task(p) && !plan_retrieves_by_task(p);
}

/* Adds examples of unseen tasks to those of all tasks of a run: to the sample, whose names are *names (to
 * be freed), or for later. */
static int add_unseen(struct inside *s, const struct opened *run, const char *unseen,
                      struct task_source *source, struct probe_draw *draw, char **names, struct err *e) {
    *names = NULL;
    if (!unseen) return 0;
    if (s->task_names < 2)
        return err_set(
            e, ERR_USAGE,
            "unseen tasks can only be added to all tasks of a multi-task run; press b to select all of them");
    if (is_retrieved_alone(run)) {
        s->unseen = xstrdup(unseen);
        return 0;
    }
    draw->unseen = source;
    return probe_sources("unseen", unseen, &(struct task_source){ 0 }, source, &draw->unseens, names, e);
}

/* Opens the same examples on both sides: those of the first run, or of the named task. */
static int inside_draw_sides(struct inside *s, const struct insight_subject *what, struct err *e) {
    const struct opened *run = what->runs ? &s->probe[first_run(what)].opened : NULL;
    const struct task_source source = { .where = what->task };
    struct probe_draw draw = { .most = INSIGHT_ROWS, .seed = INSIGHT_SEED, .max_len = PROBE_MODEL_LEN };
    struct task_source unseen[ROWSET_TASKS];
    struct own_tasks own;
    char *names;
    int rc = add_unseen(s, run, what->unseen, unseen, &draw, &names, e), tasks = s->task_names + draw.unseens;
    if (draw.most < INSIGHT_TASK_ROWS * tasks) draw.most = INSIGHT_TASK_ROWS * tasks;
    if (run && !rc) {
        rc = find_tasks(s, run, &own, e);
        draw.own = run;
        draw.task = own.task;
        draw.tasks = own.count;
        if (predictor_max_len(run->predictor) < draw.max_len)
            draw.max_len = predictor_max_len(run->predictor);
        if (!rc && !have_dev(run, &own)) draw.split = "train";
    }
    for (int i = 0; !rc && i < s->sides; i++) rc = probe_rows(&s->probe[i], &source, run ? 0 : 1, &draw, e);
    if (!rc && s->sides > 1) rc = rowset_same(&s->probe[0].rows, &s->probe[1].rows, e);
    free(names);
    int n = s->probe[0].rows.n;
    if (!rc && n < 4)
        rc = err_set(e, ERR_INPUT, "%s: too few examples for a map: found %d, at least 4 are required",
                     s->probe[0].task[0].d->path, n);
    return rc;
}

int inside_open_unseen(const struct inside *s, int64_t run, struct probe *p, struct err *e) {
    struct task_source unseen[ROWSET_TASKS];
    struct probe_draw draw = {
        .most = INSIGHT_ROWS, .seed = INSIGHT_SEED, .unseen = unseen, .retrieved = true
    };
    const struct probe_context look = {
        .mean = true, .crew = s->crew, .store = s->store, .keep = s->keep, .seed = INSIGHT_SEED
    };
    char *names = NULL;
    int rc = probe_open_all(p, s->store, run, NULL, NULL, e);
    if (!rc)
        rc = probe_sources("unseen", s->unseen, &(struct task_source){ 0 }, unseen, &draw.unseens, &names, e);
    if (!rc) {
        int tasks = predictor_tasks(p->opened.predictor) + draw.unseens,
            longest = predictor_max_len(p->opened.predictor);
        draw.max_len = longest < PROBE_MODEL_LEN ? longest : PROBE_MODEL_LEN;
        if (draw.most < INSIGHT_TASK_ROWS * tasks) draw.most = INSIGHT_TASK_ROWS * tasks;
        if (!strcmp(s->probe[s->sides - 1].split, "train")) draw.split = "train";
        rc = probe_rows(p, NULL, 0, &draw, e);
    }
    if (!rc) rc = probe_embed(p, PROBE_RETRIEVER, &look, e);
    free(names);
    return rc;
}

/* Initializes a panel of a probe at a layer, without neighbors. */
static void set_panel(struct inside_panel *to, struct probe *p, int place) {
    free(to->title);
    to->title = p->opened.run ? xstrdup(p->opened.title) : xstrdup("model");
    to->rows = &p->rows;
    to->predicted = p->predicted;
    to->probe = p;
    to->layer = place;
    to->layers = p->layers + (p->retrieved > 0);
}

/* The run whose retriever is shown next to its pooled vectors: the only one. */
static struct probe *with_retriever(struct inside *s) {
    return s->runs == 1 && s->probe[1].retrieved ? &s->probe[1] : NULL;
}

static void clear_small(struct inside_panel *p) {
    for (int i = 0; p->small && i < inside_small_maps(p); i++) free(p->small[i]);
    free(p->small);
    tsne_free(p->small_now);
    p->small = NULL;
    p->small_now = NULL;
}

bool inside_beside(struct inside *s) {
    struct probe *run = with_retriever(s);
    if (!run || s->panels < MAP_PANELS) return false;
    struct probe *other = s->live[0].probe == run ? &s->probe[0] : run;
    clear_small(&s->live[0]);
    set_panel(&s->live[0], other, other->layers);
    return true;
}

static int open_layers(struct inside *s, const struct inside_means *by, const struct insight_subject *what,
                       struct err *e) {
    struct probe_context look = { .mean = true,
                               .crew = s->crew,
                               .store = s->store,
                               .keep = s->keep,
                               .seed = INSIGHT_SEED,
                               .busy = by->busy,
                               .self = by->self };
    int rc = inside_open_sides(s, what, e);
    if (!rc && !by->busy(by->self, "reading examples")) rc = err_set(e, ERR_INTERRUPTED, "canceled");
    if (!rc) rc = inside_draw_sides(s, what, e);
    for (int i = 0; !rc && i < s->sides; i++) {
        struct probe *p = &s->probe[i];
        rc = probe_embed(p, PROBE_ALL_LAYERS, &look, e);
        set_panel(&s->live[i], p, p->layers + (p->retrieved && with_retriever(s)));
        s->panels++;
    }
    if (rc) return rc;
    inside_beside(s);
    char all[32];
    text_thousands((int64_t)s->probe[0].all, all);
    s->drawn = xprintf("%d of %s %s examples%s", s->probe[0].rows.n, all, s->probe[0].split,
                       s->probe[s->sides - 1].task[0].form ? " (text-to-text)" : "");
    return 0;
}

/* ---- stored sets ---- */

static int open_sets(struct inside *s, const struct insight_subject *what, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < what->sets && i < MAP_PANELS; i++) {
        struct moments *m = &s->moments[i];
        rc = moments_open_set(m, s->store, what->set[i], s->crew, e);
        if (rc) break;
        s->live[i] = (struct inside_panel){ .rows = &m->rows,
                                            .layer = m->layer,
                                            .layers = m->layer,
                                            .width = m->width,
                                            .moments = m,
                                            .predicted = m->moment[0].predicted,
                                            .title = xstrdup(m->title) };
        s->panels++;
        if (i) rc = rowset_same(&s->moments[0].rows, &m->rows, e);
        if (m->rows.n > TSNE_MOST)
            rc = err_set(e, ERR_USAGE, "set %lld has %d examples; a map supports at most %d",
                         (long long)what->set[i], m->rows.n, TSNE_MOST);
    }
    if (!rc) s->drawn = xprintf("%d %s examples", s->moments[0].rows.n, s->moments[0].split);
    return rc;
}

/* Initializes without opening anything. */
static void inside_begin(struct inside *s, const struct inside_means *by,
                         const struct insight_subject *what) {
    *s = (struct inside){ .store = by->store,
                          .keep = by->keep,
                          .crew = by->crew,
                          .perplexity = 30,
                          .runs = what->sets ? 0 : what->runs };
    s->panel = s->live;
    for (int i = 0; i < s->runs; i++) s->run[i] = what->run[i];
}

int inside_open(struct inside *s, const struct inside_means *by, const struct insight_subject *what,
                struct err *e) {
    inside_begin(s, by, what);
    int rc = by->busy(by->self, "opening the model") ? 0 : err_set(e, ERR_INTERRUPTED, "canceled");
    if (!rc) rc = what->sets ? open_sets(s, what, e) : open_layers(s, by, what, e);
    s->shown = s->panels;
    for (int i = 0; !rc && i < s->panels; i++) {
        if (!by->busy(by->self, "computing the neighbors of all examples")) rc = err_set(e, ERR_INTERRUPTED,
                                                                                         "canceled");
        if (!rc) rc = inside_look(s, i, e);
    }
    if (!rc) return 0;
    inside_release(s); /* but the vectors stored during training can be played */
    inside_begin(s, by, what);
    return rc;
}

static void clear_look(struct inside_panel *p) {
    tsne_free(p->tsne);
    p->tsne = NULL;
    free(p->neighbor);
    p->neighbor = NULL;
}

void inside_release(struct inside *s) {
    for (int i = 0; i < MAP_PANELS; i++) {
        clear_look(&s->live[i]);
        clear_small(&s->live[i]);
        clear_look(&s->play[i]);
        free(s->live[i].title);
        free(s->play[i].title);
        probe_release(&s->probe[i]);
        moments_release(&s->moments[i]);
        moments_release(&s->played[i]);
    }
    matrix_list_drop(s->matrices);
    matrix_list_drop(s->attention);
    free(s->drawn);
    free(s->run_task);
    free(s->unseen);
    for (int i = 0; i < s->task_names; i++) free(s->task_name[i]);
    *s = (struct inside){ .perplexity = 30 };
    s->panel = s->live;
}

/* ---- the data of a panel ---- */

struct looking {
    struct inside_panel *p;
    const real *x; /* the vectors */
    real *unit;    /* normalized to length 1: cosine geometry */
};

static void look_near(void *self) {
    const struct looking *l = self;
    struct inside_panel *p = l->p;
    int n = p->rows->n;
    make_unit(l->unit, n, p->width);
    score_neighbors(l->unit, n, p->width, p->near, p->neighbor);
    if (!p->probe) {
        p->ratings = p->moments->moment[p->at].ratings;
        p->by_task = p->moments->moment[p->at].by_task;
        return;
    }
    ratings_of(&p->ratings, l->x, n, p->width, p->rows->label, p->rows->classes, p->rows->row);
    if (p->rows->tasks > 1)
        ratings_of(&p->by_task, l->x, n, p->width, p->rows->of_task, p->rows->tasks, p->rows->row);
}

int inside_look(struct inside *s, int panel, struct err *e) {
    struct inside_panel *p = &s->panel[panel];
    int n = p->rows->n;
    if (p->probe) p->width = probe_columns(p->probe, p->layer);
    size_t all = (size_t)n * (size_t)p->width;
    const real *x = p->probe ? p->probe->layer[p->layer] : p->moments->moment[p->at].vector;
    clear_look(p);
    real *unit = xmalloc((all + 1) * sizeof *unit);
    memcpy(unit, x, all * sizeof *unit);
    p->kl = p->preservation = NAN;
    p->rated = 0;
    p->near = n - 1 < RATINGS_NEAR ? n - 1 : RATINGS_NEAR;
    p->neighbor = xmalloc(((size_t)n * (size_t)p->near + 1) * sizeof *p->neighbor);
    crew_call(s->crew, look_near, &(struct looking){ p, x, unit });
    if (!s->training) {
        struct tsne_options o;
        tsne_options_init(&o);
        o.perplexity = s->perplexity;
        o.seed = INSIGHT_SEED;
        o.crew = s->crew;
        p->tsne = tsne_new(unit, n, p->width, &o, e);
    }
    free(unit);
    return s->training || p->tsne ? 0 : e->code;
}

/* ---- small maps ---- */

int inside_small_maps(const struct inside_panel *p) {
    return p->probe ? p->probe->layers + 1 + (p->probe->retrieved > 0) : 0;
}

void inside_small(struct inside *s, int panel) {
    struct inside_panel *p = &s->live[panel];
    if (panel < s->panels && !p->small && inside_small_maps(p))
        p->small = xcalloc((size_t)inside_small_maps(p), sizeof *p->small);
}

/* Begins the layout of the next layer without one; false: there is none. */
static bool next_small(struct inside *s, struct inside_panel *p) {
    struct err e = ERR_INIT;
    int n = p->rows->n;
    for (int i = 0; p->small && i < inside_small_maps(p); i++) {
        if (p->small[i] || !p->probe->layer[i]) continue;
        int width = probe_columns(p->probe, i);
        size_t all = (size_t)n * (size_t)width;
        real *unit = xmalloc((all + 1) * sizeof *unit);
        struct tsne_options o;
        memcpy(unit, p->probe->layer[i], all * sizeof *unit);
        make_unit(unit, n, width);
        tsne_options_init(&o);
        o.perplexity = s->perplexity;
        o.seed = INSIGHT_SEED;
        o.crew = s->crew;
        p->small_now = tsne_new(unit, n, width, &o, &e);
        p->small_at = i;
        free(unit);
        return p->small_now != NULL;
    }
    return false;
}

bool inside_small_step(struct inside *s, int iterations) {
    for (int i = 0; i < s->panels; i++) {
        struct inside_panel *p = &s->live[i];
        size_t numbers = 2 * (size_t)p->rows->n;
        if (!p->small_now && !next_small(s, p)) continue;
        tsne_step(p->small_now, iterations);
        if (!tsne_done(p->small_now)) return true;
        const real *xy = tsne_layout(p->small_now);
        double *made = xcalloc(numbers + 1, sizeof *made);
        for (size_t k = 0; k < numbers; k++) made[k] = (double)xy[k];
        p->small[p->small_at] = made;
        tsne_free(p->small_now);
        p->small_now = NULL;
        return true;
    }
    return false;
}

/* ---- moments of training ---- */

int inside_moments(const struct inside *s) {
    int most = 0;
    for (int i = 0; s->training && i < s->shown; i++)
        if (s->play[i].moments->count > most) most = s->play[i].moments->count;
    return most;
}

/* Reads a run's series again as panel i, including new moments. */
static int play_series(struct inside *s, int i, int64_t run, bool retriever, struct err *e) {
    struct moments *m = &s->played[i];
    struct inside_panel *p = &s->play[i];
    moments_release(m);
    int rc = moments_open(m, s->store, run, retriever, s->crew, e);
    if (rc) return rc;
    clear_look(p);
    free(p->title);
    *p = (struct inside_panel){ .rows = &m->rows, .layer = m->layer, .layers = m->layer, .width = m->width,
                                .moments = m };
    p->title = retriever ? xprintf("%s retriever", m->called) : xstrdup(m->title);
    return i ? rowset_same(&s->played[0].rows, &m->rows, e) : 0;
}

static int turn_on(struct inside *s, struct err *e) {
    int rc = s->runs ? 0 : err_set(e, ERR_USAGE, "no run is selected; press 3 to list the runs, then 7 to "
                                                 "map one");
    for (int i = 0; !rc && i < s->runs; i++) rc = play_series(s, i, s->run[i], false, e);
    s->plays = rc ? 0 : s->runs;
    /* for a single run, also the retriever's vectors of the same examples, if they were stored */
    struct err none = ERR_INIT;
    if (!rc && s->runs == 1 && !play_series(s, 1, s->run[0], true, &none)) s->plays = 2;
    return rc;
}

int inside_training(struct inside *s, bool on, struct err *e) {
    int rc = on ? turn_on(s, e) : 0;
    if (rc && s->training) { /* the played moments have been dropped */
        s->training = false;
        s->panel = s->live;
        s->shown = s->panels;
    }
    if (rc) return rc;
    s->training = on;
    s->panel = on ? s->play : s->live;
    s->shown = on ? s->plays : s->panels;
    if (on) return inside_moment(s, 0, e);
    for (int i = 0; !rc && i < s->shown; i++) rc = inside_look(s, i, e);
    return rc;
}

int inside_moment(struct inside *s, int at, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < s->shown; i++) {
        struct inside_panel *p = &s->play[i];
        struct moments *m = p->moments;
        m->perplexity = s->perplexity;
        p->at = at < m->count ? at : m->count - 1;
        for (int k = 0; !rc && k <= p->at; k++)
            if (!m->moment[k].layout) rc = moments_lay(m, k, INSIGHT_SEED, e);
        p->predicted = m->moment[p->at].predicted;
        if (!rc) rc = inside_look(s, i, e);
    }
    return rc;
}

int inside_perplexity(struct inside *s, double perplexity, struct err *e) {
    int rc = 0;
    s->perplexity = perplexity;
    for (int i = 0; i < MAP_PANELS; i++) {
        bool small = s->live[i].small != NULL;
        moments_clear(&s->played[i]);
        clear_small(&s->live[i]);
        if (small) inside_small(s, i);
    }
    if (s->training) return inside_moment(s, s->play[0].at, e);
    for (int i = 0; !rc && i < s->shown; i++) rc = inside_look(s, i, e);
    return rc;
}
