/* Rows, vectors, scores: what Insight fetches before anything is drawn. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/task_results.h"
#include "app/insight/insight_private.h"
#include "core/base/mem.h"
#include "core/train/complete.h"
#include "core/base/text.h"

/* Two runs are laid side by side only where the same rows mean the same to both. */
static int comparable(const struct opened *a, const struct opened *b, struct err *e) {
    if (strcmp(a->model->fingerprint, b->model->fingerprint))
        return err_set(e, ERR_USAGE, "runs #%lld and #%lld are of different models", (long long)a->run,
                       (long long)b->run);
    int n = predictor_classes(a->predictor);
    bool same = n == predictor_classes(b->predictor);
    for (int i = 0; same && n > 1 && i < n; i++)
        same = !strcmp(predictor_label(a->predictor, i), predictor_label(b->predictor, i));
    if (same) return 0;
    return err_set(e, ERR_USAGE, "runs #%lld and #%lld have different labels", (long long)a->run, (long long)b->run);
}

/* ---- layers of a model and of runs ---- */

/* Which probe shows the model: with one run it stands before it. */
static int sides_of(const struct insight_subject *what) { return what->runs < 1 ? 1 : MAP_PANELS; }

/* The task of the run that is looked at: of several the one chosen, which the first run with several decides. */
static int find_task(struct inside *s, const struct insight_subject *what, int64_t id, const char **task, struct err *e) {
    struct store_run run;
    struct run_config c;
    int rc = store_run(s->store, id, &run, e);
    *task = NULL;
    if (rc) return rc;
    if (task_results_several(&run) && !(rc = config_from_json(run.config, strlen(run.config), &c, e))) {
        int at = c.tasks ? what->task_at % c.tasks : 0;
        if (!s->run_task && c.tasks) {
            s->run_tasks = c.tasks;
            s->run_task_at = at;
            s->run_task = xstrdup(c.of[at].task_name);
        }
        *task = s->run_task;
        config_release(&c);
    }
    store_run_release(&run);
    return rc;
}

static int open_sides(struct inside *s, const struct insight_subject *what, struct err *e) {
    int sides = sides_of(what), first_run = sides - what->runs, rc = 0;
    for (int i = first_run; what->runs && !rc && i < sides; i++) {
        const char *task;
        rc = find_task(s, what, what->run[i - first_run], &task, e);
        if (!rc) rc = probe_open_run(&s->probe[i], s->store, what->run[i - first_run], task, NULL, NULL, e);
    }
    if (rc) return rc;
    if (what->runs > 1) return comparable(&s->probe[0].opened, &s->probe[1].opened, e);
    return probe_open_model(&s->probe[0], what->runs ? s->probe[1].opened.model->folder : what->model, e);
}

/* The same rows on both sides: those of the first run, or of the task named. */
static int draw_sides(struct inside *s, const struct insight_subject *what, struct err *e) {
    int sides = sides_of(what);
    const struct opened *run = what->runs ? &s->probe[sides - what->runs].opened : NULL;
    const struct task_source source = { .where = what->task };
    struct probe_draw draw = { .most = INSIGHT_ROWS, .seed = INSIGHT_SEED, .max_len = PROBE_MODEL_LEN };
    if (run) {
        draw.own = run;
        if (predictor_max_len(run->predictor) < draw.max_len) draw.max_len = predictor_max_len(run->predictor);
        if (!config_has_dev(&run->config)) draw.split = "train";
    }
    int rc = 0;
    for (int i = 0; !rc && i < sides; i++) rc = probe_rows(&s->probe[i], &source, run ? 0 : 1, &draw, e);
    if (!rc && sides > 1) rc = rowset_same(&s->probe[0].rows, &s->probe[1].rows, e);
    int n = s->probe[0].rows.n;
    if (!rc && n < 4)
        rc = err_set(e, ERR_INPUT, "%s: %d rows are too few for a map", s->probe[0].task[0].d->path, n);
    return rc;
}

static int open_layers(struct inside *s, const struct inside_means *by, const struct insight_subject *what, struct err *e) {
    struct probe_look look = { .mean = true, .crew = s->crew, .store = s->store, .keep = s->keep, .seed = INSIGHT_SEED,
                               .busy = by->busy, .self = by->self };
    int rc = open_sides(s, what, e);
    if (!rc && !by->busy(by->self, "reading rows")) rc = err_set(e, ERR_INTERRUPTED, "given up");
    if (!rc) rc = draw_sides(s, what, e);
    for (int i = 0; !rc && i < sides_of(what); i++) {
        struct probe *p = &s->probe[i];
        struct inside_panel *to = &s->live[i];
        rc = probe_embed(p, -1, &look, e);
        *to = (struct inside_panel){ .rows = &p->rows, .layer = p->layers, .layers = p->layers, .width = p->width,
                                     .probe = p, .predicted = p->predicted };
        to->title = p->opened.run ? xprintf("#%lld %s", (long long)p->opened.run, p->opened.method) : xstrdup("model");
        s->panels++;
    }
    if (rc) return rc;
    char all[32];
    text_thousands((int64_t)s->probe[0].all, all);
    s->drawn = xprintf("%d of %s %s rows%s", s->probe[0].rows.n, all, s->probe[0].split,
                       s->probe[s->panels - 1].task[0].form ? " as text" : "");
    return 0;
}

/* ---- kept sets ---- */

static int open_sets(struct inside *s, const struct insight_subject *what, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < what->sets && i < MAP_PANELS; i++) {
        struct moments *m = &s->moments[i];
        rc = moments_open_set(m, s->store, what->set[i], s->crew, e);
        if (rc) break;
        s->live[i] = (struct inside_panel){ .rows = &m->rows, .layer = m->layer, .layers = m->layer, .width = m->width,
                                            .moments = m, .predicted = m->moment[0].predicted,
                                            .title = xstrdup(m->title) };
        s->panels++;
        if (i) rc = rowset_same(&s->moments[0].rows, &m->rows, e);
        if (m->rows.n > TSNE_MOST)
            rc = err_set(e, ERR_USAGE, "set %lld has %d rows; a map takes %d", (long long)what->set[i], m->rows.n,
                         TSNE_MOST);
    }
    if (!rc) s->drawn = xprintf("%d %s rows", s->moments[0].rows.n, s->moments[0].split);
    return rc;
}

/* Nothing opened yet. */
static void begin(struct inside *s, const struct inside_means *by, const struct insight_subject *what) {
    *s = (struct inside){ .store = by->store, .keep = by->keep, .crew = by->crew, .perplexity = 30, .runs = what->sets ? 0 : what->runs };
    s->panel = s->live;
    for (int i = 0; i < s->runs; i++) s->run[i] = what->run[i];
}

int inside_open(struct inside *s, const struct inside_means *by, const struct insight_subject *what, struct err *e) {
    begin(s, by, what);
    int rc = by->busy(by->self, "opening the model") ? 0 : err_set(e, ERR_INTERRUPTED, "given up");
    if (!rc) rc = what->sets ? open_sets(s, what, e) : open_layers(s, by, what, e);
    s->shown = s->panels;
    for (int i = 0; !rc && i < s->panels; i++) {
        if (!by->busy(by->self, "neighbours of all rows")) rc = err_set(e, ERR_INTERRUPTED, "given up");
        if (!rc) rc = inside_look(s, i, e);
    }
    if (!rc) return 0;
    inside_release(s); /* but what a run kept while it trained can be played */
    begin(s, by, what);
    return rc;
}

static void clear_look(struct inside_panel *p) {
    tsne_free(p->tsne);
    p->tsne = NULL;
    free(p->neighbour);
    p->neighbour = NULL;
}

void inside_release(struct inside *s) {
    for (int i = 0; i < MAP_PANELS; i++) {
        clear_look(&s->live[i]);
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
    *s = (struct inside){ .perplexity = 30 };
    s->panel = s->live;
}

/* ---- what a panel shows ---- */

struct looking {
    struct inside_panel *p;
    const real *x; /* the vectors as they are */
    real *unit;    /* and of length 1: cosine geometry */
};

static void look_near(void *self) {
    const struct looking *l = self;
    struct inside_panel *p = l->p;
    int n = p->rows->n;
    make_unit(l->unit, n, p->width);
    score_neighbours(l->unit, n, p->width, p->near, p->neighbour);
    if (p->probe) ratings_of(&p->ratings, l->x, n, p->width, p->rows->label, p->rows->classes, p->rows->row);
    else p->ratings = p->moments->moment[p->at].ratings;
}

int inside_look(struct inside *s, int panel, struct err *e) {
    struct inside_panel *p = &s->panel[panel];
    int n = p->rows->n;
    size_t all = (size_t)n * (size_t)p->width;
    const real *x = p->probe ? p->probe->layer[p->layer] : p->moments->moment[p->at].vector;
    clear_look(p);
    real *unit = xmalloc((all + 1) * sizeof *unit);
    memcpy(unit, x, all * sizeof *unit);
    p->kl = p->kept = NAN;
    p->rated = 0;
    p->near = n - 1 < RATINGS_NEAR ? n - 1 : RATINGS_NEAR;
    p->neighbour = xmalloc(((size_t)n * (size_t)p->near + 1) * sizeof *p->neighbour);
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

/* ---- moments of training ---- */

int inside_moments(const struct inside *s) {
    int most = 0;
    for (int i = 0; s->training && i < s->shown; i++)
        if (s->play[i].moments->count > most) most = s->play[i].moments->count;
    return most;
}

static int turn_on(struct inside *s, struct err *e) {
    int rc = s->runs ? 0 : err_set(e, ERR_USAGE, "no run is looked at: 3 lists the runs, 7 there maps one");
    for (int i = 0; !rc && i < s->runs; i++) {
        struct moments *m = &s->played[i];
        struct inside_panel *p = &s->play[i];
        moments_release(m); /* what came since is read too */
        rc = moments_open(m, s->store, s->run[i], s->crew, e);
        if (rc) break;
        clear_look(p);
        free(p->title);
        *p = (struct inside_panel){ .rows = &m->rows, .layer = m->layer, .layers = m->layer, .width = m->width,
                                    .moments = m, .title = xstrdup(m->title) };
        if (i) rc = rowset_same(&s->played[0].rows, &m->rows, e);
    }
    return rc;
}

int inside_training(struct inside *s, bool on, struct err *e) {
    int rc = on ? turn_on(s, e) : 0;
    if (rc && s->training) { /* what was played has been dropped */
        s->training = false;
        s->panel = s->live;
        s->shown = s->panels;
    }
    if (rc) return rc;
    s->training = on;
    s->panel = on ? s->play : s->live;
    s->shown = on ? s->runs : s->panels;
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
    for (int i = 0; i < MAP_PANELS; i++) moments_clear(&s->played[i]);
    if (s->training) return inside_moment(s, s->play[0].at, e);
    for (int i = 0; !rc && i < s->shown; i++) rc = inside_look(s, i, e);
    return rc;
}
