#include "app/insight.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "app/insight_private.h"
#include "core/base/mem.h"

enum { FRAME_MS = 100, WORK_MS = 50, FRAME_ITERATIONS = 15, NICE = 5 };

/* Texts and labels, which pictures share. */
struct shelf {
    atomic_int refs;
    int n, classes;
    char **text, **class_name, *rows;
    int32_t *gold;
};

/* What a map's picture owns. */
struct picture {
    struct shelf *shelf;
    double *xy[MAP_PANELS];
    int32_t *predicted[MAP_PANELS], *neighbour[MAP_PANELS];
    char *title[MAP_PANELS], *busy, *failed;
};

struct orders {
    bool open, matrices, rewind;
    char *model, *task;
    int64_t run[MAP_PANELS];
    int runs, play, steps, perplexity, layer[MAP_PANELS];
};

struct insight {
    struct store *store;
    void (*wake)(void *);
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    pthread_t thread;
    bool started, leaving;
    struct orders orders;
    struct insight_map *map;   /* not taken yet */
    struct insight_heat *heat;
    /* the thread's own */
    struct inside inside;
    struct shelf *shelf;
    bool playing;
};

/* ---- pictures ---- */

static void shelf_drop(struct shelf *s) {
    if (!s || atomic_fetch_sub(&s->refs, 1) > 1) return;
    for (int i = 0; i < s->n; i++) free(s->text[i]);
    for (int i = 0; i < s->classes; i++) free(s->class_name[i]);
    free(s->text);
    free(s->class_name);
    free(s->gold);
    free(s->rows);
    free(s);
}

static struct shelf *shelf_of(const struct inside *in) {
    struct shelf *s = xcalloc(1, sizeof *s);
    const struct dataset *d = in->rows_of;
    atomic_init(&s->refs, 1);
    s->n = in->n;
    s->classes = in->classes;
    s->text = xcalloc((size_t)s->n, sizeof *s->text);
    s->gold = xcalloc((size_t)s->n, sizeof *s->gold);
    s->class_name = xcalloc((size_t)s->classes + 1, sizeof *s->class_name);
    for (int i = 0; i < s->n; i++) {
        const struct dataset_row *r = &d->row[i];
        s->text[i] = r->b ? xprintf("%s | %s", r->a, r->b) : xstrdup(r->a);
        s->gold[i] = in->gold[i];
    }
    for (int i = 0; i < s->classes; i++) s->class_name[i] = xstrdup(in->task.class_name[i]);
    s->rows = xstrdup(in->rows);
    return s;
}

void insight_map_free(struct insight_map *m) {
    if (!m) return;
    struct picture *p = m->memory;
    shelf_drop(p->shelf);
    for (int i = 0; i < MAP_PANELS; i++) {
        free(p->xy[i]);
        free(p->predicted[i]);
        free(p->neighbour[i]);
        free(p->title[i]);
    }
    free(p->busy);
    free(p->failed);
    free(p);
    free(m);
}

static int32_t *copied(const int32_t *from, int n) {
    if (!from) return NULL;
    int32_t *to = xcalloc((size_t)n, sizeof *to);
    memcpy(to, from, (size_t)n * sizeof *to);
    return to;
}

static void picture_panel(struct insight_map *m, struct picture *p, const struct inside *in, int i) {
    const struct inside_panel *from = &in->panel[i];
    struct map_panel *to = &m->data.panel[i];
    p->title[i] = xstrdup(from->title);
    p->predicted[i] = copied(from->predicted, in->n);
    p->neighbour[i] = copied(from->neighbour, in->n * MAP_NEIGHBOURS);
    *to = (struct map_panel){ .title = p->title[i], .layer = from->layer, .layers = from->layers - 1,
                              .predicted = p->predicted[i], .neighbour = p->neighbour[i],
                              .silhouette = from->silhouette, .purity = from->purity,
                              .purity_k = from->purity_k, .kl = NAN };
    if (!from->tsne) return;
    const real *xy = tsne_layout(from->tsne);
    p->xy[i] = xcalloc(2 * (size_t)in->n, sizeof *p->xy[i]);
    for (int k = 0; k < 2 * in->n; k++) p->xy[i][k] = (double)xy[k];
    to->xy = p->xy[i];
    to->kl = tsne_iteration(from->tsne) ? tsne_divergence(from->tsne) : NAN;
}

static struct insight_map *picture_of(const struct inside *in, struct shelf *shelf, bool playing,
                                      const char *busy, const char *failed) {
    struct insight_map *m = xcalloc(1, sizeof *m);
    struct picture *p = xcalloc(1, sizeof *p);
    m->memory = p;
    m->data.playing = playing;
    m->data.busy = p->busy = busy ? xstrdup(busy) : NULL;
    m->data.failed = p->failed = failed ? xstrdup(failed) : NULL;
    if (!shelf) return m;
    atomic_fetch_add(&shelf->refs, 1);
    p->shelf = shelf;
    const struct tsne *t = in->panel[0].tsne;
    struct tsne_options o;
    tsne_options_init(&o);
    m->data.n = shelf->n;
    m->data.text = (const char *const *)shelf->text;
    m->data.gold = shelf->gold;
    m->data.classes = shelf->classes;
    m->data.class_name = (const char *const *)shelf->class_name;
    m->data.rows = shelf->rows;
    m->data.pool = "mean of tokens";
    m->data.perplexity = t ? tsne_perplexity(t) : 0;
    m->data.iteration = t ? tsne_iteration(t) : 0;
    m->data.iterations = o.iterations;
    m->data.seed = INSIGHT_SEED;
    m->data.panels = in->panels;
    for (int i = 0; i < in->panels; i++) picture_panel(m, p, in, i);
    return m;
}

static void publish(struct insight *in, struct insight_map *m) {
    pthread_mutex_lock(&in->lock);
    struct insight_map *old = in->map;
    in->map = m;
    pthread_mutex_unlock(&in->lock);
    insight_map_free(old);
    in->wake(in->self);
}

static void publish_heat(struct insight *in, struct insight_heat *h) {
    pthread_mutex_lock(&in->lock);
    struct insight_heat *old = in->heat;
    in->heat = h;
    pthread_mutex_unlock(&in->lock);
    insight_heat_free(old);
    in->wake(in->self);
}

static void show(struct insight *in, const char *busy, const char *failed) {
    publish(in, picture_of(&in->inside, in->shelf, in->playing, busy, failed));
}

/* A picture without matrices, that says what is being done or why there is none. */
static struct insight_heat *heat_says(const char *busy, const char *failed) {
    struct insight_heat *h = xcalloc(1, sizeof *h);
    if (busy) h->data.busy = xstrdup(busy);
    if (failed) h->data.failed = xstrdup(failed);
    return h;
}

/* ---- the thread ---- */

static bool tell_busy(void *self, const char *what) {
    struct insight *in = self;
    publish(in, picture_of(&in->inside, NULL, false, what, NULL));
    publish_heat(in, heat_says(what, NULL));
    pthread_mutex_lock(&in->lock);
    bool wanted = !in->leaving && !in->orders.open; /* what was asked for later is next */
    pthread_mutex_unlock(&in->lock);
    return wanted;
}

static void drop(struct insight *in) {
    inside_release(&in->inside);
    shelf_drop(in->shelf);
    in->shelf = NULL;
    in->playing = false;
}

static void do_open(struct insight *in, const struct orders *o) {
    struct err e = ERR_INIT;
    drop(in);
    int rc = inside_open(&in->inside, in->store, o->model, o->task, o->run, o->runs, tell_busy, in, &e);
    if (rc == ERR_INTERRUPTED) return;
    if (rc) {
        show(in, NULL, e.text);
        publish_heat(in, heat_says(NULL, e.text));
        return;
    }
    in->shelf = shelf_of(&in->inside);
    in->playing = true;
    show(in, NULL, NULL);
    publish_heat(in, heat_says(NULL, NULL)); /* computed when they are asked for */
}

static bool done(const struct inside *s) {
    for (int i = 0; i < s->panels; i++)
        if (s->panel[i].tsne && !tsne_done(s->panel[i].tsne)) return false;
    return true;
}

static void advance(struct inside *s, int count) {
    for (int i = 0; i < s->panels; i++)
        if (s->panel[i].tsne) tsne_step(s->panel[i].tsne, count);
}

static void rewind_all(struct inside *s) {
    for (int i = 0; i < s->panels; i++)
        if (s->panel[i].tsne) tsne_rewind(s->panel[i].tsne);
}

/* The next perplexity of the series, at most what so many rows allow. */
static double next_perplexity(double now, int by, int n) {
    static const double series[] = { 5, 10, 20, 30, 50, 100 };
    double most = (n - 1) / 3.0, best = now;
    for (size_t i = 0; i < COUNT_OF(series); i++) {
        double v = series[by > 0 ? i : COUNT_OF(series) - 1 - i];
        if (v <= most && (by > 0 ? v > now : v < now)) {
            best = v;
            break;
        }
    }
    return best;
}

/* Layouts anew, at another perplexity or layer; `panel` -1: of all. */
static void lay_anew(struct insight *in, int panel) {
    struct err e = ERR_INIT;
    show(in, "neighbours of all rows", NULL);
    for (int i = 0; i < in->inside.panels; i++) {
        if (panel >= 0 && i != panel) tsne_rewind(in->inside.panel[i].tsne);
        else if (inside_layer(&in->inside, i, &e)) break;
    }
    in->playing = !e.code;
    show(in, NULL, e.code ? e.text : NULL);
}

static void change_layer(struct insight *in, int panel, int by) {
    struct inside_panel *p = &in->inside.panel[panel];
    int to = p->layer + by;
    if (panel >= in->inside.panels || to < 0 || to >= p->layers) return;
    p->layer = to;
    publish_heat(in, heat_says(NULL, NULL)); /* those there were are of another layer */
    lay_anew(in, panel);
}

static void carry_out(struct insight *in, struct orders *o) {
    if (o->open) do_open(in, o);
    if (!in->inside.panels) return;
    for (int i = 0; i < MAP_PANELS; i++)
        if (o->layer[i]) change_layer(in, i, o->layer[i]);
    double perplexity = in->inside.perplexity;
    if (o->perplexity) perplexity = next_perplexity(perplexity, o->perplexity, in->inside.n);
    if (perplexity != in->inside.perplexity) {
        in->inside.perplexity = perplexity;
        lay_anew(in, -1);
    }
    if (o->rewind) rewind_all(&in->inside);
    if (o->steps) {
        in->playing = false;
        advance(&in->inside, o->steps);
    }
    if (o->play % 2) {
        if (!in->playing && done(&in->inside)) rewind_all(&in->inside);
        in->playing = !in->playing;
    }
    if (o->rewind || o->steps || o->play) show(in, NULL, NULL);
    if (!o->matrices) return;
    publish_heat(in, heat_says("comparing classes, layers and rows", NULL));
    publish_heat(in, inside_matrices(&in->inside));
}

static bool any(const struct orders *o) {
    bool layer = o->layer[0] || o->layer[1];
    return o->open || o->matrices || o->rewind || o->play || o->steps || o->perplexity || layer;
}

static int64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* A frame of the layout: so many iterations, or as many as its time allows. */
static void frame(struct insight *in) {
    int64_t began = now_ms();
    for (int i = 0; i < FRAME_ITERATIONS && now_ms() - began < WORK_MS; i++) advance(&in->inside, 1);
    if (done(&in->inside)) in->playing = false;
    show(in, NULL, NULL);
}

static void wait_ms(struct insight *in, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += ms * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    while (!in->leaving && !any(&in->orders))
        if (pthread_cond_timedwait(&in->asked, &in->lock, &until) == ETIMEDOUT) break;
}

static void *work(void *self) {
    struct insight *in = self;
    setpriority(PRIO_PROCESS, (id_t)gettid(), NICE); /* of this thread alone */
    pthread_mutex_lock(&in->lock);
    while (!in->leaving) {
        if (!in->playing)
            while (!in->leaving && !any(&in->orders)) pthread_cond_wait(&in->asked, &in->lock);
        if (in->leaving) break;
        struct orders o = in->orders;
        in->orders = (struct orders){ 0 };
        pthread_mutex_unlock(&in->lock);
        int64_t began = now_ms();
        if (any(&o)) carry_out(in, &o);
        if (in->playing) frame(in);
        free(o.model);
        free(o.task);
        pthread_mutex_lock(&in->lock);
        int64_t left = FRAME_MS - (now_ms() - began);
        if (in->playing && left > 0) wait_ms(in, left);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

/* ---- for the screen's thread ---- */

struct insight *insight_new(struct store *s, void (*wake)(void *), void *self) {
    struct insight *in = xcalloc(1, sizeof *in);
    in->store = s;
    in->wake = wake;
    in->self = self;
    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->asked, NULL);
    return in;
}

void insight_free(struct insight *in) {
    if (!in) return;
    pthread_mutex_lock(&in->lock);
    in->leaving = true;
    pthread_cond_signal(&in->asked);
    pthread_mutex_unlock(&in->lock);
    if (in->started) pthread_join(in->thread, NULL);
    drop(in);
    free(in->orders.model);
    free(in->orders.task);
    insight_map_free(in->map);
    insight_heat_free(in->heat);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->asked);
    free(in);
}

/* The thread begins with the first order: who never looks inside pays nothing. */
static struct orders *begin_order(struct insight *in) {
    pthread_mutex_lock(&in->lock);
    if (!in->started && pthread_create(&in->thread, NULL, work, in)) BUG("no thread for the insight");
    in->started = true;
    return &in->orders;
}

static void end_order(struct insight *in) {
    pthread_cond_signal(&in->asked);
    pthread_mutex_unlock(&in->lock);
}

void insight_open(struct insight *in, const char *model, const char *task, const int64_t *run, int runs) {
    struct orders *o = begin_order(in);
    free(o->model);
    free(o->task);
    *o = (struct orders){ .open = true, .model = xstrdup(model), .task = xstrdup(task) };
    o->runs = runs < MAP_PANELS ? runs : MAP_PANELS;
    for (int i = 0; i < o->runs; i++) o->run[i] = run[i];
    end_order(in);
}

void insight_play(struct insight *in) {
    begin_order(in)->play++;
    end_order(in);
}

void insight_step(struct insight *in) {
    begin_order(in)->steps++;
    end_order(in);
}

void insight_rewind(struct insight *in) {
    begin_order(in)->rewind = true;
    end_order(in);
}

void insight_perplexity(struct insight *in, int by) {
    begin_order(in)->perplexity = by;
    end_order(in);
}

void insight_layer(struct insight *in, int panel, int by) {
    BUG_IF(panel < 0 || panel >= MAP_PANELS);
    begin_order(in)->layer[panel] += by;
    end_order(in);
}

void insight_matrices(struct insight *in) {
    begin_order(in)->matrices = true;
    end_order(in);
}

struct insight_map *insight_take_map(struct insight *in) {
    pthread_mutex_lock(&in->lock);
    struct insight_map *m = in->map;
    in->map = NULL;
    pthread_mutex_unlock(&in->lock);
    return m;
}

struct insight_heat *insight_take_heat(struct insight *in) {
    pthread_mutex_lock(&in->lock);
    struct insight_heat *h = in->heat;
    in->heat = NULL;
    pthread_mutex_unlock(&in->lock);
    return h;
}

/* ---- without a thread ---- */

static bool say_nothing(void *self, const char *what) {
    (void)self;
    (void)what;
    return true;
}

int insight_now(struct store *s, const char *model, const char *task, const int64_t *run, int runs,
                struct insight_map **map, struct insight_heat **heat, struct err *e) {
    struct inside in;
    int rc = inside_open(&in, s, model, task, run, runs, say_nothing, NULL, e);
    if (map && !rc)
        while (!done(&in)) advance(&in, FRAME_ITERATIONS);
    struct shelf *shelf = rc ? NULL : shelf_of(&in);
    if (map) *map = picture_of(&in, shelf, false, NULL, rc ? e->text : NULL);
    if (heat) *heat = rc ? heat_says(NULL, e->text) : inside_matrices(&in);
    shelf_drop(shelf);
    inside_release(&in);
    return rc;
}
