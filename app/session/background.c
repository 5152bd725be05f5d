#include "app/session/background.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

struct background_lane {
    struct background *of;
    pthread_cond_t asked;
    pthread_t thread;
    struct background_work *waiting;
};

struct background {
    struct workroom *room;
    void (*wake)(void *);
    void *self;
    pthread_mutex_t lock;
    bool leaving;
    struct background_lane lane[LANES];
    int64_t taken;
    struct background_work *over;
};

void workroom_release(struct workroom *room) {
    result_cache_release(&room->tasks);
    row_extras_release(&room->extras);
    run_keys_release(&room->keys);
}

struct background_work *work_new(const struct work_kind *kind, const int64_t *run, int runs,
                                 const char *text) {
    struct background_work *w = xcalloc(1, sizeof *w);
    w->kind = kind;
    w->run = xcalloc((size_t)runs, sizeof *run);
    w->runs = runs;
    if (runs) memcpy(w->run, run, (size_t)runs * sizeof *run);
    w->text = xstrdup(text ? text : "");
    return w;
}

void work_drop(struct background_work *w) { free(w->made); }

void work_free(struct background_work *w) {
    if (w->kind->drop) w->kind->drop(w);
    config_release(&w->config);
    free(w->run);
    free(w->text);
    free(w);
}

void work_say(struct background_work *w, enum say how, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(w->message, sizeof w->message, format, args);
    va_end(args);
    w->say = how;
}

static void append(struct background_work **list, struct background_work *w) {
    while (*list) list = &(*list)->next;
    *list = w;
}

static struct background_work *first(struct background_work **list) {
    struct background_work *w = *list;
    if (w) *list = w->next;
    if (w) w->next = NULL;
    return w;
}

static void *lane_main(void *self) {
    struct background_lane *l = self;
    struct background *d = l->of;
    pthread_mutex_lock(&d->lock);
    for (;;) {
        while (!l->waiting && !d->leaving) pthread_cond_wait(&l->asked, &d->lock);
        if (d->leaving) break;
        struct background_work *w = first(&l->waiting);
        pthread_mutex_unlock(&d->lock);
        int64_t from = clock_ms();
        w->room = d->room;
        w->store = d->room->store;
        w->failed = w->kind->work(w) != 0;
        if (w->failed) work_say(w, SAY_ERROR, "%s", w->e.text);
        w->ms = clock_ms() - from;
        pthread_mutex_lock(&d->lock);
        append(&d->over, w);
        pthread_mutex_unlock(&d->lock);
        d->wake(d->self);
        pthread_mutex_lock(&d->lock);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

struct background *background_new(struct workroom *room, void (*wake)(void *), void *self) {
    struct background *d = xcalloc(1, sizeof *d);
    d->room = room;
    d->wake = wake;
    d->self = self;
    pthread_mutex_init(&d->lock, NULL);
    for (int i = 0; i < LANES; i++) {
        d->lane[i].of = d;
        clock_cond_init(&d->lane[i].asked);
        if (pthread_create(&d->lane[i].thread, NULL, lane_main, &d->lane[i])) BUG("no background thread");
    }
    return d;
}

static bool is_same(const struct background_work *a, const struct background_work *b) {
    return a->kind == b->kind && a->number == b->number && a->runs == b->runs &&
           !memcmp(a->run, b->run, (size_t)a->runs * sizeof *a->run) && !strcmp(a->text, b->text);
}

void background_do(struct background *d, struct background_work *w) {
    struct background_lane *l = &d->lane[w->kind->lane];
    pthread_mutex_lock(&d->lock);
    bool waiting = false;
    for (const struct background_work *x = l->waiting; x && w->kind->once; x = x->next)
        waiting = waiting || is_same(x, w);
    if (!waiting) {
        append(&l->waiting, w);
        d->taken++;
    }
    pthread_cond_signal(&l->asked);
    pthread_mutex_unlock(&d->lock);
    if (waiting) work_free(w);
}

void background_ask(struct background *d, const struct work_kind *kind, const int64_t *run, int runs,
                    const char *text) {
    if (runs || kind->alone) background_do(d, work_new(kind, run, runs, text));
}

int64_t background_orders(struct background *d) {
    pthread_mutex_lock(&d->lock);
    int64_t n = d->taken;
    pthread_mutex_unlock(&d->lock);
    return n;
}

struct background_work *background_take(struct background *d) {
    pthread_mutex_lock(&d->lock);
    struct background_work *w = first(&d->over);
    pthread_mutex_unlock(&d->lock);
    return w;
}

void background_free(struct background *d) {
    struct background_work *w;
    pthread_mutex_lock(&d->lock);
    d->leaving = true;
    d->room->leaving = true;
    for (int i = 0; i < LANES; i++) pthread_cond_signal(&d->lane[i].asked);
    pthread_mutex_unlock(&d->lock);
    for (int i = 0; i < LANES; i++) {
        pthread_join(d->lane[i].thread, NULL);
        while ((w = first(&d->lane[i].waiting))) work_free(w);
        pthread_cond_destroy(&d->lane[i].asked);
    }
    while ((w = first(&d->over))) work_free(w);
    pthread_mutex_destroy(&d->lock);
    free(d);
}
