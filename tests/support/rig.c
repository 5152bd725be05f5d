#include "tests/support/rig.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

void rig_open_at(struct rig *r, const char *folder) {
    *r = (struct rig){0};
    char *expected = xprintf("%s/expected.safetensors", folder);
    fixture_open(&r->fixture, folder, expected);
    free(expected);
    r->m = r->fixture.model;
    r->classes = arch_generates(&r->m->arch) ? 0 : r->m->arch.causal ? 2 : r->m->head_rows;
    r->arena = arena_new();
    r->prologue_arena = arena_new();
    r->tape = tape_new(r->arena);
    r->prologue = tape_new(r->prologue_arena);
}

void rig_open(struct rig *r) { rig_open_at(r, "tests/reference/bert-tiny"); }

void rig_close(struct rig *r) {
    tape_free(r->tape);
    tape_free(r->prologue);
    arena_free(r->arena);
    arena_free(r->prologue_arena);
    fixture_close(&r->fixture);
}

void rig_mix(struct rig *r, bool absent) {
    struct batch *b = &r->fixture.batch;
    BUG_IF(b->examples < RIG_RANGES);
    r->tasks = RIG_RANGES;
    r->range[0] = (struct task_range){ 0, 0, 1 };
    r->range[1] = (struct task_range){ absent ? 2 : 1, 1, absent ? b->examples : b->examples - 1 };
    r->range[2] = (struct task_range){ 2, b->examples - 1, b->examples };
    b->range = r->range;
    b->ranges = absent ? 2 : 3;
}

void rig_unmix(struct rig *r) {
    r->tasks = 0;
    r->fixture.batch.range = NULL;
    r->fixture.batch.ranges = 0;
}

struct plan *rig_plan(const struct rig *r, const char *text) {
    static const char *const names[RIG_RANGES] = { "a", "b", "c" };
    const int outputs[RIG_RANGES] = { r->classes, r->classes, r->classes };
    const struct plan_tasks several = { r->tasks, names, outputs, NULL };
    struct method m;
    struct err e = ERR_INIT;
    struct plan *p = NULL;
    if (method_parse(text, &m, &e) == 0)
        p = r->tasks ? plan_new_tasks(&m, &r->m->arch, &several, &e) : plan_new(&m, &r->m->arch, r->classes, &e);
    if (!p) fail_msg("%s: %s", text, e.text);
    return p;
}

bool rig_has_place(const struct rig *r, const char *text) {
    static const char *const rules[] = {"V7", "V11", "V19", "V25", "V40", "V46", "V73"};
    struct method m;
    struct finding f;
    struct err e = ERR_INIT;
    test_ok(method_parse(text, &m, &e), &e);
    if (!method_check(&m, &r->m->arch, &f, 1) || f.level != LEVEL_ERROR) return true;
    for (size_t i = 0; i < COUNT_OF(rules); i++)
        if (!strcmp(f.rule, rules[i])) return false;
    fail_msg("%s: %s %s", text, f.rule, f.text);
    return false;
}

const char *rig_folder(int i) { return fixture_tiny(i); }

struct plan *rig_bare(const struct rig *r) { return r->classes ? rig_plan(r, "head") : NULL; }

real *rig_params(const struct rig *r, const struct plan *p, uint64_t seed, double sigma) {
    if (!p) return NULL;
    real *x = xcalloc(p->trained, sizeof *x);
    struct rng_key key = rng_key(seed, RNG_TEST, 0, rng_site("rig"));
    plan_init(p, r->m, seed, x);
    for (int k = 0; sigma > 0 && k < p->tensors; k++) {
        const struct plan_tensor *t = &p->tensor[k];
        for (size_t i = t->offset; !t->fixed && i < t->offset + t->count; i++) x[i] += (real)(sigma * rng_normal(key, i));
    }
    return x;
}

/* The losses of a head's rows, a node a range of them. */
static int head_losses(struct rig *r, struct attach *a, struct forward *f, node pooled, node *loss, node *out) {
    const struct batch *b = &r->fixture.batch;
    const struct task_range whole = { 0, 0, b->examples }, *range = b->ranges ? b->range : &whole;
    int n = b->ranges ? b->ranges : 1;
    for (int i = 0; i < n; i++) {
        *out = attach_head(a, f, pooled, range[i], 0);
        loss[i] = op_cross_entropy(r->tape, *out, b->label + range[i].first, b->weight + range[i].first);
    }
    return n;
}

struct batch rig_batch(struct rig *r, const struct plan *p) {
    const struct batch *from = &r->fixture.batch;
    struct batch b = *from;
    int most = p ? method_max_length(&p->method, &r->m->arch) : from->tokens;
    size_t room = (size_t)from->tokens + 1;
    b.start = arena_keep(r->arena, ((size_t)b.examples + 1) * sizeof *b.start);
    b.ids = arena_keep(r->arena, room * sizeof *b.ids);
    b.types = arena_keep(r->arena, room * sizeof *b.types);
    b.positions = arena_keep(r->arena, room * sizeof *b.positions);
    b.tokens = b.start[0] = 0;
    for (int i = 0; i < b.examples; i++) {
        for (int k = from->start[i]; k < from->start[i + 1] && k - from->start[i] < most; k++, b.tokens++) {
            b.ids[b.tokens] = from->ids[k];
            b.types[b.tokens] = from->types ? from->types[k] : 0;
            b.positions[b.tokens] = from->positions[k];
        }
        b.start[i + 1] = b.tokens;
    }
    return b;
}

/* One step; its loss.  *out is the logits (of several tasks the last one's). */
static double run(struct rig *r, const struct model *m, const struct plan *p, bool training,
                const real *params, real *grads, node *generated_node, node *out) {
    real *made = arena_keep(r->arena, ((p ? p->generated_size : 0) + 1) * sizeof *made);
    struct attach *a = p ? attach_new(p, m) : NULL;
    struct forward f;
    struct batch batch;
    if (p && p->generated) {
        tape_reset(r->prologue, training, 3, 5);
        attach_prologue(p, m, r->prologue, params, grads, generated_node);
        for (int i = 0; i < p->generated; i++)
            memcpy(made + p->generated_tensor[i].offset, tape_value(r->prologue, generated_node[i]),
                   p->generated_tensor[i].count * sizeof *made);
    }
    batch = rig_batch(r, p);
    forward_init(&f, r->tape, m, &batch,
                 p ? attach_begin(a, r->tape, params, made, grads) : NULL);
    f.dropout = r->dropout;
    f.attention_dropout = r->attention_dropout;
    f.activation_dropout = 0;
    node loss[RIG_RANGES], encoded = forward_encode(&f);
    int losses = 0;
    if (r->classes) {
        losses = head_losses(r, a, &f, attach_pool(a, &f, encoded), loss, out);
    } else {
        node decoded = forward_decode(&f, encoded);
        *out = training ? decoded : forward_logits(&f, decoded);
        if (training) loss[losses++] = forward_lm_loss(&f, decoded, 0);
    }
    if (training && r->more) loss[0] = r->more(r->more_self, &f, encoded, *out, loss[0]);
    double value = 0;
    for (int i = 0; i < losses; i++) value += (double)*tape_value(r->tape, loss[i]);
    if (grads) {
        const real *seed[RIG_RANGES] = { NULL };
        tape_backward(r->tape, losses, loss, seed);
        attach_end(a, grads);
    }
    attach_free(a);
    return value;
}

size_t rig_logit_count(const struct rig *r) {
    const struct batch *b = &r->fixture.batch;
    if (r->classes) return (size_t)b->examples * (size_t)r->classes;
    return (size_t)b->target_tokens * (size_t)r->m->arch.vocabulary;
}

real *rig_logits_of(struct rig *r, const struct model *m, const struct plan *p,
                    const real *params) {
    node *made = xcalloc((size_t)(p ? p->generated : 0) + 1, sizeof *made), out;
    size_t n = rig_logit_count(r);
    real *copy = xcalloc(n, sizeof *copy);
    tape_reset(r->tape, false, 3, 5);
    run(r, m, p, false, params, NULL, made, &out);
    memcpy(copy, tape_value(r->tape, out), n * sizeof *copy);
    free(made);
    return copy;
}

real *rig_logits(struct rig *r, const struct plan *p, const real *params) {
    return rig_logits_of(r, r->m, p, params);
}

double rig_loss(struct rig *r, const struct plan *p, const real *params, real *grads) {
    node *made = xcalloc((size_t)(p ? p->generated : 0) + 1, sizeof *made), out;
    real *all = grads ? xcalloc(p->trained + p->generated_size, sizeof *all) : NULL;
    for (size_t i = 0; all && i < p->trained + p->generated_size; i++) all[i] = 1000;
    tape_reset(r->tape, true, 3, 5);
    if (r->recompute) tape_recompute(r->tape);
    double value = run(r, r->m, p, true, params, all, made, &out);
    if (grads) { /* `all` began as numbers that are no gradients */
        memcpy(grads, all, p->trained * sizeof *grads);
        if (p->generated) {
            const real **seeds = xcalloc((size_t)p->generated, sizeof *seeds);
            real *more = xcalloc(p->trained, sizeof *more);
            for (int i = 0; i < p->generated; i++)
                seeds[i] = all + p->trained + p->generated_tensor[i].offset;
            tape_reset(r->prologue, true, 3, 5);
            attach_prologue(p, r->m, r->prologue, params, more, made);
            tape_backward(r->prologue, p->generated, made, seeds);
            for (size_t i = 0; i < p->trained; i++) grads[i] += more[i];
            free(seeds);
            free(more);
        }
    }
    free(all);
    free(made);
    return value;
}

const struct plan_tensor *rig_tensor(const struct plan *p, const char *name) {
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) return &p->tensor[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

double rig_apart(const struct rig *r, const real *a, const real *b) {
    double most = 0;
    for (size_t i = 0; i < rig_logit_count(r); i++)
        most = fmax(most, fabs((double)a[i] - (double)b[i]));
    return most;
}
