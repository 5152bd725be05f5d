#include "tests/support/episodes.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "tests/support/test.h"

void episode_make(struct made_episode *e, int number, int classes, int batches, int rows, int query, int vocabulary) {
    int n = batches * rows + query, at = 0;
    *e = (struct made_episode){ .episode = { .classes = classes, .batches = batches } };
    e->episode.start = xcalloc((size_t)batches + 2, sizeof *e->episode.start);
    e->episode.example = xcalloc((size_t)n, sizeof *e->episode.example);
    e->data.example = xcalloc((size_t)n, sizeof *e->data.example);
    e->data.start = xcalloc((size_t)n + 1, sizeof *e->data.start);
    e->data.ids = xcalloc((size_t)n * 6, sizeof *e->data.ids);
    e->data.types = xcalloc((size_t)n * 6, sizeof *e->data.types);
    e->data.examples = (size_t)n;
    for (int b = 0; b < batches; b++) e->episode.start[b + 1] = (b + 1) * rows;
    e->episode.start[batches + 1] = n;
    for (int i = 0; i < n; i++) {
        int length = 3 + (i * 7 + number) % 4, label = i % classes;
        e->data.example[i].id = (uint64_t)i;
        e->data.start[i] = (size_t)at;
        for (int k = 0; k < length; k++) e->data.ids[at++] = (i * 31 + k * 17 + label * 5 + number * 13) % vocabulary;
        e->episode.example[i] = (struct episode_example){ &e->data, (uint32_t)i, label };
    }
    e->data.start[n] = (size_t)at;
}

void episode_release(struct made_episode *e) {
    free(e->episode.start);
    free(e->episode.example);
    free(e->data.example);
    free(e->data.start);
    free(e->data.ids);
    free(e->data.types);
}

void meta_rig_open(struct meta_rig *r, const struct model *m, const char *method, const char *regime) {
    struct err e = ERR_INIT;
    struct method parsed;
    *r = (struct meta_rig){ .meta = { .model = m, .seed = 5, .regime = regime_default(REGIME_META) } };
    test_ok(regime_take(regime, &r->meta.regime, &e), &e);
    test_ok(method_parse(method, &parsed, &e), &e);
    const struct plan_meta meta = regime_plan(&r->meta.regime);
    const struct plan_tasks one = { 1, (const char *const[]){ "" }, (const int[]){ 0 }, &meta };
    r->plan = plan_new_tasks(&parsed, &m->arch, &one, &e);
    if (!r->plan) fail_msg("%s: %s", method, e.text);
    r->meta.plan = r->plan;
    r->params = xcalloc(r->plan->trained, sizeof *r->params);
    plan_init(r->plan, m, 3, r->params);
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        struct rng_key key = rng_key(9, RNG_TEST, 0, rng_site(t->name));
        for (size_t k = 0; k < t->count && i != r->plan->rate_tensor; k++)
            r->params[t->offset + k] += (real)(0.1 * rng_normal(key, k));
    }
    r->bench = (struct meta_bench){ .arena = arena_new(), .room = &r->room };
    r->bench.tape = tape_new(r->bench.arena);
    r->bench.attach = attach_new(r->plan, m);
}

void meta_rig_close(struct meta_rig *r) {
    meta_room_release(&r->room);
    attach_free(r->bench.attach);
    tape_free(r->bench.tape);
    arena_free(r->bench.arena);
    free(r->params);
    plan_free(r->plan);
}
