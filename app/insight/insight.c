#include "app/insight/insight.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/insight_private.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

enum { FRAME_MS = 100, MOMENT_MS = 400, WORK_MS = 50, LATE_MS = 1000 };
enum { FRAME_ITERATIONS = 15, SMALL_ITERATIONS = 50 };

struct orders {
    bool open, matrices, rewind;
    char *model, *task, *unseen;
    int64_t run[MAP_PANELS], set[MAP_PANELS];
    int runs, sets, play, steps, perplexity, layer[MAP_PANELS];
    int task_at;
    int training, moment;           /* number of toggles; number of moments to move by */
    int beside;                     /* number of exchanges */
    int small;                      /* panel + 1 whose small maps are requested; 0: none */
    int chosen;                     /* with matrices: example of Map + 1, 0: unchanged */
    int row, deeper, head;          /* of the attention */
};

static void orders_release(struct orders *o) {
    free(o->model);
    free(o->task);
    free(o->unseen);
}

struct insight {
    struct store *store;
    bool keep;
    struct crew *crew;
    void (*wake)(void *);
    void *self;
    pthread_mutex_t lock;
    pthread_cond_t asked;
    pthread_t thread;
    bool started, leaving;
    struct orders orders;
    struct insight_map *map;   /* not taken by the screen yet */
    struct insight_heat *heat;
    /* the thread's own */
    struct inside inside;
    struct shared_rows *rows;
    bool playing, small;       /* small: layouts of layers are computed */
    int64_t framed;            /* start of the last frame of the layout, clock_ms; 0: paused */
    char *trouble;             /* error of the last request; until the next */
};

/* ---- pictures ---- */

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

static void insight_show(struct insight *in, const char *busy, const char *failed) {
    publish(in, picture_of(&in->inside, in->rows, in->playing, busy, failed ? failed : in->trouble));
}

/* Publishes a picture without matrices that shows the current work or an error. */
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
    bool wanted = !in->leaving && !in->orders.open; /* later requests come next */
    pthread_mutex_unlock(&in->lock);
    return wanted;
}

static void insight_drop(struct insight *in) {
    inside_release(&in->inside);
    shared_rows_drop(in->rows);
    in->rows = NULL;
    in->playing = in->small = false;
}

static void do_open(struct insight *in, const struct orders *o) {
    struct err e = ERR_INIT;
    insight_drop(in);
    /* What the screen has already reported, such as the checkpoint of a stopped run, may not be in the
     * database yet. */
    (void)store_flush(in->store, &(struct err)ERR_INIT);
    const struct insight_subject what = { .model = o->model,
                                          .task = o->task,
                                          .run = o->run,
                                          .set = o->set,
                                          .runs = o->runs,
                                          .sets = o->sets,
                                          .task_at = o->task_at,
                                          .unseen = o->unseen };
    const struct inside_means by = { in->store, in->keep, in->crew, tell_busy, in };
    int rc = inside_open(&in->inside, &by, &what, &e);
    if (rc == ERR_INTERRUPTED) return;
    /* a run without a checkpoint may have stored vectors */
    if (rc == ERR_NOT_FOUND && in->inside.runs && !inside_training(&in->inside, true, &(struct err)ERR_INIT))
        rc = 0;
    if (rc) {
        insight_show(in, NULL, e.text);
        publish_heat(in, heat_says(NULL, e.text));
        return;
    }
    in->rows = shared_rows_of(&in->inside);
    in->playing = true;
    insight_show(in, NULL, NULL);
    publish_heat(in, heat_says(NULL, NULL)); /* computed on request */
}

static bool insight_done(const struct inside *s) {
    if (s->training) return s->play[0].at >= inside_moments(s) - 1;
    for (int i = 0; i < s->shown; i++)
        if (s->panel[i].tsne && !tsne_done(s->panel[i].tsne)) return false;
    return true;
}

static void advance(struct inside *s, int count) {
    for (int i = 0; i < s->shown; i++)
        if (s->panel[i].tsne) tsne_step(s->panel[i].tsne, count);
}

/* Runs all layouts for the number of iterations that the first panel has time for. */
static void advance_for(struct inside *s, int count, double seconds) {
    struct tsne *first = s->panel[0].tsne;
    if (first) count = tsne_step_for(first, count, seconds / s->shown);
    for (int i = 1; i < s->shown; i++)
        if (s->panel[i].tsne) tsne_step(s->panel[i].tsne, count);
}

/* Returns the shown moment: of several runs, that of the most advanced. */
static int moment_of(const struct inside *s) {
    int at = 0;
    for (int i = 0; i < s->shown; i++)
        if (s->play[i].at > at) at = s->play[i].at;
    return at;
}

static void go_to_moment(struct insight *in, int at) {
    struct err e = ERR_INIT;
    int last = inside_moments(&in->inside) - 1;
    inside_moment(&in->inside, at < 0 ? 0 : at > last ? last : at, &e);
    if (e.code) in->playing = false;
    insight_show(in, NULL, e.code ? e.text : NULL);
}

static void rewind_all(struct insight *in) {
    struct inside *s = &in->inside;
    if (s->training) {
        go_to_moment(in, 0);
        return;
    }
    for (int i = 0; i < s->shown; i++)
        if (s->panel[i].tsne) tsne_rewind(s->panel[i].tsne);
}

/* Moves to the next perplexity of the series; the first one too large for the number of examples may be
 * requested, and is lowered and shown so. */
static double next_perplexity(double now, int by, int n) {
    static const double series[] = { 5, 10, 20, 30, 50, 100 };
    double most = (n - 1) / 3.0;
    for (size_t i = 0; i < COUNT_OF(series); i++) {
        double v = series[by > 0 ? i : COUNT_OF(series) - 1 - i];
        if (by > 0 ? v > now && now < most : v < now) return v;
    }
    return now;
}

/* Restarts the layouts at another perplexity or layer; `panel` -1: all. */
static void lay_anew(struct insight *in, int panel) {
    struct err e = ERR_INIT;
    struct inside *s = &in->inside;
    insight_show(in, "computing the neighbors of all examples", NULL);
    if (panel < 0) inside_perplexity(s, s->perplexity, &e);
    for (int i = 0; panel >= 0 && i < s->shown; i++) {
        if (i != panel) tsne_rewind(s->panel[i].tsne);
        else if (inside_look(s, i, &e)) break;
    }
    in->playing = !e.code && !s->training;
    insight_show(in, NULL, e.code ? e.text : NULL);
}

static void change_layer(struct insight *in, int panel, int by) {
    struct inside *s = &in->inside;
    struct inside_panel *p = &s->panel[panel];
    int to = p->layer + by;
    if (panel >= s->shown || !p->probe || to < 0 || to > p->layers) return;
    p->layer = to;
    matrix_list_drop(s->matrices); /* the previous ones belong to another layer */
    s->matrices = NULL;
    publish_heat(in, heat_says(NULL, NULL));
    lay_anew(in, panel);
}

/* Switches to the moments of training, or back. */
static void insight_turn(struct insight *in) {
    struct err e = ERR_INIT;
    struct inside *s = &in->inside;
    bool on = !s->training || !s->panels; /* without layers it can only be read again */
    insight_show(in,
                 on ? "reading the vectors stored during training" : "computing the neighbors of all "
                                                                     "examples", NULL);
    if (inside_training(s, on, &e)) {
        if (s->training && s->panels) inside_training(s, false, &(struct err)ERR_INIT);
        in->trouble = xstrdup(e.text);
        insight_show(in, NULL, NULL);
        return;
    }
    shared_rows_drop(in->rows);
    in->rows = shared_rows_of(s);
    in->playing = true;
    insight_show(in, NULL, NULL);
}

static void show_matrices(struct insight *in, const struct orders *o) {
    struct err e = ERR_INIT;
    struct inside *s = &in->inside;
    if (o->chosen) inside_attention_row(s, o->chosen - 1);
    if (o->row || o->deeper || o->head) inside_attention(s, o->row, o->deeper, o->head);
    if (!s->matrices) publish_heat(in, heat_says("comparing classes, layers and examples", NULL));
    if (inside_matrices(s, &e)) publish_heat(in, heat_says(NULL, e.text));
    else publish_heat(in, inside_heat(s));
}

static void step_on(struct insight *in, int steps) {
    in->playing = false;
    if (in->inside.training) go_to_moment(in, moment_of(&in->inside) + steps);
    else advance(&in->inside, steps);
}

static void insight_carry_out(struct insight *in, struct orders *o) {
    struct inside *s = &in->inside;
    free(in->trouble);
    in->trouble = NULL;
    if (o->open) do_open(in, o);
    if (!s->panels && !s->runs) return;
    if (o->training % 2) insight_turn(in);
    if (!s->shown) return;
    for (int i = 0; i < MAP_PANELS; i++)
        if (o->layer[i]) change_layer(in, i, o->layer[i]);
    /* Exchanges the panel next to the retriever's vectors; the matrices stay, as they are of both. */
    if (o->beside % 2 && !in->inside.training && inside_beside(&in->inside)) lay_anew(in, 0);
    double perplexity = s->perplexity;
    if (o->perplexity) perplexity = next_perplexity(perplexity, o->perplexity, s->panel[0].rows->n);
    if (perplexity != s->perplexity) {
        s->perplexity = perplexity;
        lay_anew(in, -1);
    }
    if (o->small) inside_small(s, o->small - 1);
    in->small = in->small || o->small || o->perplexity;
    if (o->rewind) rewind_all(in);
    if (o->steps) step_on(in, o->steps);
    if (o->moment && s->training) step_on(in, o->moment);
    if (o->play % 2) {
        if (!in->playing && insight_done(s)) rewind_all(in);
        in->playing = !in->playing;
    }
    if (o->rewind || o->steps || o->play) insight_show(in, NULL, NULL);
    if (o->matrices) show_matrices(in, o);
}

static bool any(const struct orders *o) {
    bool layer = o->layer[0] || o->layer[1];
    bool training = o->training || o->moment || o->beside || o->small;
    return o->open || o->matrices || o->rewind || o->play || o->steps || o->perplexity || layer || training;
}

/* Computes a frame of the layout: a number of iterations, or as many as fit into its time, extended by the
 * time spent waiting for workers to finish their units. */
static void frame(struct insight *in) {
    if (in->inside.training) {
        go_to_moment(in, moment_of(&in->inside) + 1);
        if (in->playing && insight_done(&in->inside)) {
            in->playing = false;
            insight_show(in, NULL, NULL);
        }
        return;
    }
    int64_t now = clock_ms(), since = in->framed ? now - in->framed : FRAME_MS;
    in->framed = now;
    if (since < FRAME_MS) since = FRAME_MS;
    if (since > LATE_MS) since = LATE_MS;
    advance_for(&in->inside, (int)(FRAME_ITERATIONS * since / FRAME_MS), WORK_MS / 1000.0);
    if (insight_done(&in->inside)) in->playing = false;
    insight_show(in, NULL, NULL);
}

/* Continues the small maps, after those that are played. */
static void small_frame(struct insight *in) {
    in->small = inside_small_step(&in->inside, SMALL_ITERATIONS);
    insight_show(in, NULL, NULL);
}

static void wait_ms(struct insight *in, int64_t ms) {
    struct timespec until = clock_after((double)ms / 1000);
    while (!in->leaving && !any(&in->orders))
        if (pthread_cond_timedwait(&in->asked, &in->lock, &until) == ETIMEDOUT) break;
}

static void *insight_work(void *self) {
    struct insight *in = self;
    pthread_mutex_lock(&in->lock);
    while (!in->leaving) {
        if (!in->playing && !in->small) {
            in->framed = 0;
            while (!in->leaving && !any(&in->orders)) pthread_cond_wait(&in->asked, &in->lock);
        }
        if (in->leaving) break;
        struct orders o = in->orders;
        in->orders = (struct orders){ 0 };
        pthread_mutex_unlock(&in->lock);
        int64_t began = clock_ms();
        if (any(&o)) insight_carry_out(in, &o);
        if (in->playing) frame(in);
        else if (in->small) small_frame(in);
        orders_release(&o);
        pthread_mutex_lock(&in->lock);
        int64_t left = (in->inside.training ? MOMENT_MS : FRAME_MS) - (clock_ms() - began);
        if (in->playing && left > 0) wait_ms(in, left);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

/* ---- called by the screen's thread ---- */

struct insight *insight_new(struct store *s, bool keep, struct crew *crew, void (*wake)(void *), void *self) {
    struct insight *in = xcalloc(1, sizeof *in);
    in->store = s;
    in->keep = keep;
    in->crew = crew;
    in->wake = wake;
    in->self = self;
    pthread_mutex_init(&in->lock, NULL);
    clock_cond_init(&in->asked);
    return in;
}

void insight_free(struct insight *in) {
    if (!in) return;
    pthread_mutex_lock(&in->lock);
    in->leaving = true;
    pthread_cond_signal(&in->asked);
    pthread_mutex_unlock(&in->lock);
    if (in->started) pthread_join(in->thread, NULL);
    insight_drop(in);
    orders_release(&in->orders);
    insight_map_free(in->map);
    insight_heat_free(in->heat);
    free(in->trouble);
    pthread_mutex_destroy(&in->lock);
    pthread_cond_destroy(&in->asked);
    free(in);
}

/* The thread starts with the first request. */
static struct orders *begin_order(struct insight *in) {
    pthread_mutex_lock(&in->lock);
    if (!in->started && pthread_create(&in->thread, NULL, insight_work, in))
        BUG("the thread for maps and matrices could not be started");
    in->started = true;
    return &in->orders;
}

static void end_order(struct insight *in) {
    pthread_cond_signal(&in->asked);
    pthread_mutex_unlock(&in->lock);
}

void insight_open(struct insight *in, const struct insight_subject *what) {
    struct orders *o = begin_order(in);
    orders_release(o);
    *o = (struct orders){ .open = true, .model = xstrdup(what->model), .task = xstrdup(what->task) };
    o->task_at = what->task_at;
    o->unseen = what->unseen ? xstrdup(what->unseen) : NULL;
    o->runs = what->runs < MAP_PANELS ? what->runs : MAP_PANELS;
    o->sets = what->sets < MAP_PANELS ? what->sets : MAP_PANELS;
    for (int i = 0; i < o->runs; i++) o->run[i] = what->run[i];
    for (int i = 0; i < o->sets; i++) o->set[i] = what->set[i];
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

void insight_small(struct insight *in, int panel) {
    BUG_IF(panel < 0 || panel >= MAP_PANELS);
    begin_order(in)->small = panel + 1;
    end_order(in);
}

void insight_beside(struct insight *in) {
    begin_order(in)->beside++;
    end_order(in);
}

void insight_training(struct insight *in) {
    begin_order(in)->training++;
    end_order(in);
}

void insight_moment(struct insight *in, int by) {
    begin_order(in)->moment += by;
    end_order(in);
}

void insight_matrices(struct insight *in, int chosen) {
    struct orders *o = begin_order(in);
    o->matrices = true;
    if (chosen >= 0) o->chosen = chosen + 1;
    end_order(in);
}

void insight_attention(struct insight *in, int row, int layer, int head) {
    struct orders *o = begin_order(in);
    o->matrices = true;
    o->row += row;
    o->deeper += layer;
    o->head += head;
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

int insight_now(struct store *s, const struct insight_subject *what, bool training, struct insight_map **map,
                struct insight_heat **heat, struct err *e) {
    struct inside in;
    int rc = inside_open(&in, &(struct inside_means){ .store = s, .busy = say_nothing }, what, e);
    bool opened = !rc;
    if (!rc && training) rc = inside_training(&in, true, e);
    if (!rc && training) rc = inside_moment(&in, inside_moments(&in) - 1, e);
    if (map && !rc)
        while (!insight_done(&in)) advance(&in, FRAME_ITERATIONS);
    struct shared_rows *rows = rc ? NULL : shared_rows_of(&in);
    if (map) *map = picture_of(&in, rows, false, NULL, rc ? e->text : NULL);
    if (heat && !rc) rc = inside_matrices(&in, e);
    if (heat) *heat = rc ? heat_says(NULL, e->text) : inside_heat(&in);
    shared_rows_drop(rows);
    if (opened) inside_release(&in);
    return rc;
}
