#include "core/analysis/passes.h"

#include <stdlib.h>

#include "core/base/mem.h"
#include "core/train/run/batch.h"

/* Resources of a worker, created with its first unit. */
struct row_pass_seat {
    struct arena *arena;
    struct tape *tape;
    struct attach *attach;
};

int row_passes_units(const struct row_passes *all) {
    return (int)((all->end - all->first + PASS_ROWS - 1) / PASS_ROWS);
}

static void open_pass_seat(const struct row_passes *all, struct row_pass_seat *at) {
    at->arena = arena_new();
    at->tape = tape_new(at->arena);
    at->attach = attach_new(predictor_plan(all->p), all->m);
    attach_for_task(at->attach, predictor_in_use(all->p));
}

static void pass_unit(void *self, int unit, int worker) {
    struct row_passes *all = self;
    struct row_pass_seat *at = &all->seat[worker];
    uint32_t row[PASS_ROWS];
    struct batch b;
    struct forward f;
    if (!at->tape) open_pass_seat(all, at);
    struct row_pass x = { all, unit, all->first + (size_t)unit * PASS_ROWS, 0, &f, at->attach };
    while (x.rows < PASS_ROWS && x.first + (size_t)x.rows < all->end) {
        row[x.rows] = (uint32_t)(x.first + (size_t)x.rows);
        x.rows++;
    }
    tape_reset(at->tape, false, 0, 0);
    batch_pack(&b, at->arena, &all->m->arch, all->d, NULL, row, x.rows, all->decoder);
    forward_init(&f, at->tape, all->m, &b,
                 attach_begin(at->attach, at->tape, predictor_params(all->p), predictor_made(all->p), NULL));
    if (all->before) all->before(all, &x);
    node encoded = forward_encode(&f);
    if (all->decoder) forward_decode(&f, encoded);
    if (all->after) all->after(all, &x);
}

void row_passes_run(struct row_passes *all, struct crew *crew) {
    all->seat = xcalloc(CREW_MOST, sizeof *all->seat);
    crew_do(crew, &(struct crew_work){ all, row_passes_units(all), pass_unit, NULL, NULL });
    for (int i = 0; i < CREW_MOST; i++) {
        if (!all->seat[i].tape) continue;
        attach_free(all->seat[i].attach);
        tape_free(all->seat[i].tape);
        arena_free(all->seat[i].arena);
    }
    free(all->seat);
    all->seat = NULL;
}

/* ---- hooks ---- */

static const struct hooks *inner(void *listener) { return ((struct listener *)listener)->inner; }

bool listener_wants(void *listener, const struct site *s, enum tap tap) {
    const struct hooks *h = inner(listener);
    return !h->wants || h->wants(h->self, s, tap);
}

node listener_write(void *listener, struct tape *t, const struct forward *f, struct site *s, enum tap tap,
                    enum tap_stage stage, node value) {
    const struct hooks *h = inner(listener);
    return h->write ? h->write(h->self, t, f, s, tap, stage, value) : value;
}

int listener_keys(void *listener, struct tape *t, const struct forward *f, struct site *s, struct kv_set *set,
                  int room) {
    const struct hooks *h = inner(listener);
    return h->keys ? h->keys(h->self, t, f, s, set, room) : 0;
}

static node weight(void *listener, struct tape *t, int tensor) {
    const struct hooks *h = inner(listener);
    return h->weight ? h->weight(h->self, t, tensor) : NODE_NONE;
}

static bool reached(void *listener, struct tape *t, const struct forward *f, int layer, node x) {
    const struct hooks *h = inner(listener);
    return h->reached && h->reached(h->self, t, f, layer, x);
}

static node rows(void *listener, struct tape *t, const struct forward *f, node words, int *each,
                 const int **block) {
    const struct hooks *h = inner(listener);
    return h->rows(h->self, t, f, words, each, block);
}

void listener_begin(struct listener *l, struct forward *f) {
    l->inner = f->hooks;
    if (!l->inner) return;
    l->outer = *l->inner;
    l->outer.self = l;
    l->outer.wants = listener_wants;
    l->outer.weight = weight;
    l->outer.write = listener_write;
    l->outer.keys = listener_keys;
    l->outer.reached = reached;
    l->outer.rows = l->inner->rows ? rows : NULL;
    f->hooks = &l->outer;
}
