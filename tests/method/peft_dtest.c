/* Methods compared with the library peft (prompts also with adapters), on tiny models of every family, in 64
 * bits: with its weights, logits and gradients are equal. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "core/method/budget.h"
#include "core/method/masked.h"
#include "core/train/run/distil.h"
#include "tests/support/rig.h"
#include "tests/support/test.h"

/* The form of the library's method as petri's text; NULL: the library does not support it there. */
static const struct {
    const char *folder, *lora, *ia3, *prefix;
} models[] = {
#define LORA "lora(r=3,s=2)"
#define PREFIX "prefix(l=3,stack=decoder,site=self)"
    {"roberta-tiny", LORA, "ia3(peft)", NULL},   {"roberta-odd", LORA, "ia3(peft)", NULL},
    {"t5-tiny", LORA, "ia3", NULL},              {"t5-odd", LORA, "ia3", NULL},
    {"bart-tiny", LORA, "ia3(at=q+v+act)", PREFIX}, {"bart-odd", LORA, "ia3(at=q+v+act)", PREFIX},
    {"mbart-tiny", LORA, "ia3", PREFIX},         {"mbart-odd", LORA, "ia3", PREFIX},
};
enum { PREFIX_LENGTH = 3 };

static struct rig rig;
static struct fixture peft; /* only its expected values */

static void open_model(const char *name, const char *values) {
    struct err e = ERR_INIT;
    char *folder = xprintf("tests/reference/families/%s", name);
    char *file = xprintf("%s/%s.safetensors", folder, values), *path = test_path(file);
    rig_open_at(&rig, folder);
    peft = (struct fixture){.expected = st_open(path, &e)};
    if (!peft.expected) fail_msg("%s", e.text);
    free(folder);
    free(file);
    free(path);
}

static void close_model(void) {
    rig_close(&rig);
    st_close(peft.expected);
}

/* Exactly the trained tensors have values in the fixture. */
static real *values_of(const struct plan *p, const char *method) {
    char name[PLAN_NAME + 32], prefix[32];
    real *x = rig_params(&rig, p, 1, 0);
    int found = 0;
    snprintf(prefix, sizeof prefix, "%s.value.", method);
    for (size_t i = 0; i < st_count(peft.expected); i++)
        found += !strncmp(st_at(peft.expected, i)->name, prefix, strlen(prefix));
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        size_t n;
        snprintf(name, sizeof name, "%s%s", prefix, t->name);
        if (t->kind == PLAN_HEAD && !st_find(peft.expected, name)) continue;
        double *v = fixture_values(&peft, name, &n);
        assert_int_equal(n, t->count);
        for (size_t k = 0; k < n; k++) x[t->offset + k] = (real)v[k];
        free(v);
        found--;
    }
    assert_int_equal(found, 0);
    return x;
}

/* The library's prefixes are shared by layers whose doubled indices are equal modulo the number of layers;
 * their common gradient is expected at the first. */
static void gather_shared(const struct plan *p, real *g) {
    for (int i = 0; i < p->tensors; i++)
        for (int j = i + 1; j < p->tensors; j++) {
            const struct plan_tensor *x = &p->tensor[i], *y = &p->tensor[j];
            int layers = rig.m->arch.decoder_layers;
            if (x->role != y->role || 2 * x->layer % layers != 2 * y->layer % layers) continue;
            for (size_t k = 0; k < x->count; k++) g[x->offset + k] += g[y->offset + k];
        }
}

static void agrees(const char *method, const char *text) {
    char name[PLAN_NAME + 32], prefix[32];
    size_t n;
    if (!text) return;
    struct plan *p = rig_plan(&rig, text);
    real *x = values_of(p, method), *g = xcalloc(p->trained, sizeof *g);
    snprintf(name, sizeof name, "%s.loss", method);
    double *want = fixture_values(&peft, name, &n), loss = rig_loss(&rig, p, x, g);
    /* T5 computes norms and softmaxes in 32 bits there */
    double exact = rig.m->arch.rms_norm ? 1e-6 : 1e-10;
    if (!(fabs(loss - *want) < exact)) fail_msg("%s: loss %.12g, not %.12g", text, loss, *want);
    free(want);
    if (!strcmp(method, "prefix")) gather_shared(p, g);
    real *logits = rig_logits(&rig, p, x);
    snprintf(name, sizeof name, "%s.logits", method);
    fixture_compare(&peft, name, logits, rig_logit_count(&rig), 10 * exact);
    snprintf(prefix, sizeof prefix, "%s.grad.", method);
    double largest = fixture_largest(&peft, prefix);
    int compared = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        snprintf(name, sizeof name, "%s%s", prefix, t->name);
        if (!st_find(peft.expected, name)) continue; /* values_of() has checked that the others are present */
        fixture_compare_gradient(&peft, name, g + t->offset, t->count, 100 * exact, largest);
        compared++;
    }
    assert_true(compared > 0);
    free(logits);
    free(x);
    free(g);
    plan_free(p);
}

/* Ten steps of AdamW from the library's values produce its losses. */
static void steps_agree(const char *method, const char *text) {
    static const struct adamw how = ADAMW_DEFAULT;
    char name[32];
    size_t n, groups = 0;
    struct plan *p = rig_plan(&rig, text);
    real *x = values_of(p, method), *g = xcalloc(p->trained, sizeof *g), *m = xcalloc(2 * p->trained, sizeof *m);
    struct optim_group *group = xcalloc((size_t)p->tensors, sizeof *group);
    for (int i = 0; i < p->tensors; i++)
        group[groups++] = (struct optim_group){p->tensor[i].offset, p->tensor[i].count, 1, p->tensor[i].decays};
    snprintf(name, sizeof name, "%s.steps", method);
    double *want = fixture_values(&peft, name, &n), exact = rig.m->arch.rms_norm ? 1e-5 : 1e-9;
    for (size_t k = 0; k < n; k++) {
        double loss = rig_loss(&rig, p, x, g);
        if (!(fabs(loss - want[k]) < exact)) fail_msg("%s: step %zu: loss %.12g, not %.12g", text, k, loss, want[k]);
        optim_adamw(&how, 1e-2, k + 1, groups, group, x, g, m, m + p->trained);
    }
    free(want);
    free(group);
    free(x);
    free(g);
    free(m);
    plan_free(p);
}

/* Prompts of PEFT and of the library adapters, whose classifiers read row 0. */
static void prompts_are_those_of_the_libraries(void **state) {
    (void)state;
    static const char *const folders[] = {"roberta-tiny", "roberta-odd", "t5-tiny", "t5-odd", "bart-tiny", "mbart-tiny"};
    static const char *const methods[][2] = {
        {"prompt", "prompt(l=3,rows=peft,pool=row0)"},
        {"mlp", "prompt(l=3,source=mlp(4),rows=peft,pool=row0)"},
        {"lstm", "prompt(l=3,source=lstm(3),rows=peft,pool=row0)"},
        {"product", "prompt(l=3,source=product(2),pool=row0)"},
        {"hub", "prompt(l=3,write=embed,pool=row0)"},
        {"after", "prompt(l=3,write=embed,place=after-bos)"}};
    int agreed = 0;
    for (size_t i = 0; i < COUNT_OF(folders); i++) {
        open_model(folders[i], "prompts");
        for (size_t k = 0; k < COUNT_OF(methods); k++) {
            char *name = xprintf("%s.loss", methods[k][0]);
            bool has = st_find(peft.expected, name) != NULL;
            free(name);
            if (!has) continue;
            agrees(methods[k][0], methods[k][1]);
            steps_agree(methods[k][0], methods[k][1]);
            agreed++;
        }
        close_model();
    }
    assert_int_equal(agreed, 2 * 6 + 4 * 3);
}

static void lora_is_that_of_peft(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        open_model(models[i].folder, "peft");
        agrees("lora", models[i].lora);
        close_model();
    }
}

static void ia3_is_that_of_peft(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        open_model(models[i].folder, "peft");
        agrees("ia3", models[i].ia3);
        close_model();
    }
}

/* The library's prefix uses positions, petri's does not: the text is shifted. */
static void a_prefix_is_that_of_peft(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        open_model(models[i].folder, "peft");
        struct batch *b = &rig.fixture.batch;
        for (int k = 0; k < b->target_tokens; k++) b->target_positions[k] += PREFIX_LENGTH;
        agrees("prefix", models[i].prefix);
        close_model();
    }
}

/* ---- tests/reference/tuned ---- */

static const struct {
    const char *file, *text;
} tuned[] = {
    {"rslora.bert-tiny", "linear(r=4; write=a.q, rsalpha=6, layers=1) + linear(r=2; write=a.q, rsalpha=6, layers=2) + "
                         "linear(r=4; write=a.q, rsalpha=6, layers=3) + linear(r=4; write=a.v, rsalpha=3)"},
    {"vera.bert-tiny", "vera(r=5,seed=7,at=q+w1)"},
    {"vera.t5-odd", "vera(r=5,seed=7,at=q+w2)"},
    {"ln-tuning.bert-tiny", "ln-tuning"},
    {"ln-tuning.t5-odd", "ln-tuning"},
    {"adalora.bert-tiny", "svd(r=4; write=a.q, s=0.749998125004687) + svd(r=4; write=f.pre, s=0.749998125004687) + "
                          "budget(target=2, begin=2, end=3, every=2, orthogonal=0.1)"},
    {"dora.bert-tiny", "dora(r=3,alpha=6,at=q+o+w1)"},
    {"dora.t5-odd", "dora(r=3,alpha=6)"},
    {"lora-embedding.bert-tiny", "lookup(r=3, alpha=6) + linear(r=3; write=a.v, alpha=6)"},
};

static void open_tuned(const char *file) {
    struct err e = ERR_INIT;
    const char *model = strrchr(file, '.') + 1;
    bool bert = !strcmp(model, "bert-tiny");
    char *folder = xprintf("tests/reference/%s%s", bert ? "" : "families/", model);
    char *inside = xprintf("tests/reference/tuned/%s.safetensors", file), *path = test_path(inside);
    rig_open_at(&rig, folder);
    peft = (struct fixture){.expected = st_open(path, &e)};
    if (!peft.expected) fail_msg("%s", e.text);
    free(folder);
    free(inside);
    free(path);
}

/* Writes its own name if present, otherwise "value.enc.1.self/linear.q.W_d", for a tensor of the second
 * module there "….q.2.W_d". */
static const char *name_in(const char *what, const struct plan_tensor *t, char name[PLAN_NAME + 32]) {
    snprintf(name, PLAN_NAME + 32, "%s.%s", what, t->name);
    if (st_find(peft.expected, name)) return name;
    char *last = strrchr(name, '.');
    if (t->kind == PLAN_OWN && last - name > 2 && last[-2] == '.' && last[-1] >= '2' && last[-1] <= '9')
        memmove(last - 2, last, strlen(last) + 1);
    return name;
}

static real *tuned_values(const struct plan *p) {
    char name[PLAN_NAME + 32];
    real *x = rig_params(&rig, p, 1, 0);
    int left = 0;
    for (size_t i = 0; i < st_count(peft.expected); i++) left += !strncmp(st_at(peft.expected, i)->name, "value.", 6);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        size_t n;
        if (t->fixed && !st_find(peft.expected, name_in("value", t, name))) continue;
        double *v = fixture_values(&peft, name_in("value", t, name), &n);
        if (n != t->count) fail_msg("%s: %zu values, not %zu", name, n, t->count);
        for (size_t k = 0; k < n; k++) x[t->offset + k] = (real)v[k];
        free(v);
        left--;
    }
    assert_int_equal(left, 0);
    return x;
}

enum { TUNED_STEPS = 10 };

/* Records each loss before its step. */
static void tune(const struct plan *p, real *x, real *g, double *loss) {
    const struct adamw o = { 0.9, 0.999, 1e-8, 0.01 };
    struct optim_group *group = xcalloc((size_t)p->tensors, sizeof *group);
    real *m = xcalloc(p->trained, sizeof *m), *v = xcalloc(p->trained, sizeof *v);
    real *mean = xcalloc(p->trained, sizeof *mean), *spread = xcalloc(p->trained, sizeof *spread);
    for (int i = 0; i < p->tensors; i++)
        group[i] = (struct optim_group){p->tensor[i].offset, p->tensor[i].count, !p->tensor[i].fixed, p->tensor[i].decays};
    for (int i = 0; i < TUNED_STEPS; i++) {
        loss[i] = rig_loss(&rig, p, x, g);
        double open;
        if (p->method.budget.on) budget_orthogonality(p, x, g);
        if (masked_has_gates(&p->method)) masked_expected(p, x, g, &open);
        optim_adamw(&o, 1e-2, (uint64_t)i + 1, (size_t)p->tensors, group, x, g, m, v);
        budget_step(p, i + 1, TUNED_STEPS, x, g, mean, spread);
    }
    free(group);
    free(mean);
    free(spread);
    free(m);
    free(v);
}

/* The model and its values are already open. */
static void is_as_tuned_here(const char *file, const char *text) {
    char name[PLAN_NAME + 32];
    double exact, losses[TUNED_STEPS];
    size_t n;
    exact = rig.m->arch.rms_norm ? 1e-6 : 1e-10; /* T5 computes norms and softmaxes in 32 bits there */
    struct plan *p = rig_plan(&rig, text);
    real *x = tuned_values(p), *g = xcalloc(p->trained, sizeof *g), *logits = rig_logits(&rig, p, x);
    double *want = fixture_values(&peft, "loss", &n), loss = rig_loss(&rig, p, x, g);
    if (!(fabs(loss - *want) < exact)) fail_msg("%s: loss %.12g, not %.12g", file, loss, *want);
    fixture_compare(&peft, "logits", logits, rig_logit_count(&rig), 10 * exact);
    double largest = fixture_largest(&peft, "grad.");
    for (int i = 0; i < p->tensors; i++)
        if (!p->tensor[i].fixed)
            fixture_compare_gradient(&peft, name_in("grad", &p->tensor[i], name), g + p->tensor[i].offset, p->tensor[i].count,
                                 100 * exact, largest);
    free(want);
    want = fixture_values(&peft, "adamw", &n);
    assert_int_equal(n, TUNED_STEPS);
    tune(p, x, g, losses);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(losses[i] - want[i]) < 1000 * exact)) fail_msg("%s: loss %.12g, not %.12g, at step %zu", file, losses[i], want[i], i);
    free(want);
    free(logits);
    free(x);
    free(g);
    plan_free(p);
}

static void is_as_tuned(const char *file, const char *text) {
    open_tuned(file);
    is_as_tuned_here(file, text);
    close_model();
}

#define ATTEMPT "prompt(l=3,source=fusion) + prompt(l=3,source=fusion) + prompt(l=3) + attempt(hidden=4, temperature=2)"
/* Methods without a library implementation, restated in PyTorch (tests/reference/make_restated.py). */
static void others_are_as_restated(void **state) {
    (void)state;
    static const char *const of[][2] = {{"diff.bert-tiny", "masked(write=f.pre) + pruning(weight=0.01)"},
                                        {"diff.t5-odd", "masked(write=f.pre) + pruning(weight=0.01)"},
                                        {"attempt.bert-tiny", ATTEMPT}, {"attempt.t5-odd", ATTEMPT}};
    for (size_t i = 0; i < COUNT_OF(of); i++) is_as_tuned(of[i][0], of[i][1]);
}

/* The teacher's outputs for the examples of the fixture, and the loss components of a student run. */
struct lesson {
    struct run_config c;
    struct distil_output said;
    struct distil_terms terms;
};

static void ask_teacher(struct lesson *x) {
    struct plan *p = rig_plan(&rig, "prompt(l=3)");
    real *values = rig_params(&rig, p, 1, 0);
    struct attach *a = attach_new(p, rig.m);
    struct forward f;
    char name[PLAN_NAME + 32];
    for (int i = 0; i < p->tensors; i++) {
        size_t n;
        snprintf(name, sizeof name, "teacher.%s", p->tensor[i].name);
        /* the pooler belongs to the model */
        if (p->tensor[i].kind == PLAN_HEAD && !st_find(peft.expected, name)) continue;
        double *v = fixture_values(&peft, name, &n);
        assert_int_equal(n, p->tensor[i].count);
        for (size_t k = 0; k < n; k++) values[p->tensor[i].offset + k] = (real)v[k];
        free(v);
    }
    tape_reset(rig.tape, false, 0, 0);
    struct batch batch = rig_batch(&rig, p);
    forward_init(&f, rig.tape, rig.m, &batch, attach_begin(a, rig.tape, values, NULL, NULL));
    distil_compute(a, &f, !rig.classes, rig.prologue_arena, &x->said);
    /* The arena is that of the prologue's tape, which is reset. */
    size_t logits = (size_t)x->said.answers * (size_t)x->said.outputs, states = (size_t)x->said.states * (size_t)x->said.width;
    real *kept = xcalloc(logits + states, sizeof *kept);
    memcpy(kept, x->said.logits, logits * sizeof *kept);
    memcpy(kept + logits, x->said.hidden, states * sizeof *kept);
    x->said.logits = kept;
    x->said.hidden = kept + logits;
    attach_free(a);
    free(values);
    plan_free(p);
}

static node taught(void *self, struct forward *f, node encoded, node answers, node loss) {
    struct lesson *x = self;
    const struct batch *b = f->batch;
    bool text = !rig.classes;
    node states = text ? answers : encoded;
    size_t n = (size_t)tape_rows_of(f->tape, states);
    real *weight = tape_keep(f->tape, (n + 1) * sizeof *weight);
    for (int i = 0; i < b->examples; i++)
        for (int k = text ? b->target_start[i] : f->rows.start[i]; k < (text ? b->target_start[i + 1] : f->rows.start[i + 1]); k++)
            weight[k] = (text ? b->target_weight[k] : b->weight[i] / (real)(f->rows.start[i + 1] - f->rows.start[i])) /
                        (real)rig.m->arch.width;
    x->terms = (struct distil_terms){0};
    return distil_add(f->tape, &x->c, &x->said, loss, text ? forward_logits(f, answers) : answers, text ? b->target_weight : b->weight,
                      states, weight, &x->terms);
}

/* MPT's loss components: both distances, the whole gradient, and ten steps; the first loss also equals the
 * sum of the reported components. */
static void taught_ones_are_as_restated(void **state) {
    (void)state;
    static const char *const of[] = {"distil.bert-tiny", "distil.t5-odd"};
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        struct lesson x = {.c = {.distil_logits = 0.7, .distil_hidden = 0.9}};
        size_t n;
        open_tuned(of[i]);
        ask_teacher(&x);
        rig.more = taught;
        rig.more_self = &x;
        double exact = rig.m->arch.rms_norm ? 1e-6 : 1e-10;
        double *apart = fixture_values(&peft, "apart", &n), *far = fixture_values(&peft, "far", &n);
        struct plan *p = rig_plan(&rig, "prompt(l=3,source=product(1))");
        real *values = tuned_values(p);
        rig_loss(&rig, p, values, NULL);
        if (!(fabs(x.terms.logits - *apart) < exact)) fail_msg("%s: answers %.12g apart, not %.12g", of[i], x.terms.logits, *apart);
        if (!(fabs(x.terms.hidden - *far) < exact)) fail_msg("%s: states %.12g apart, not %.12g", of[i], x.terms.hidden, *far);
        free(values);
        plan_free(p);
        is_as_tuned_here(of[i], "prompt(l=3,source=product(1))");
        free(apart);
        free(far);
        free((real *)(uintptr_t)x.said.logits);
        close_model();
    }
}

static void tuned_ones_are_those_of_peft(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(tuned); i++) is_as_tuned(tuned[i].file, tuned[i].text);
}

/* Copies the values of a one-task plan to each task of another plan. */
static void spread_over_tasks(const struct plan *one, const real *x, const struct plan *p, real *y) {
    for (int i = 0; i < one->tensors; i++) {
        const struct plan_tensor *t = &one->tensor[i];
        if (t->kind != PLAN_OWN) continue;
        const struct plan_tensor *u = rig_tensor(p, t->name);
        assert_int_equal(u->count, RIG_RANGES * t->count);
        for (size_t b = 0; b < RIG_RANGES; b++) memcpy(y + u->offset + b * t->count, x + t->offset, t->count * sizeof *y);
    }
}

/* The SVDs of each task are separate places: if all tasks have the values and gradients of one, each is
 * regularized and pruned like that one. */
static void a_budget_is_of_each_task(void **state) {
    (void)state;
    rig_open(&rig);
    struct plan *one = rig_plan(&rig, "svd(r=4; write=a.q) + svd(r=3; write=f.pre) + budget(target=2, every=9)");
    rig_mix(&rig, false);
    struct plan *p = rig_plan(&rig, "svd(r=4; write=a.q, source=task) + svd(r=3; write=f.pre, source=task) + "
                                    "budget(target=2, every=9)");
    real *x = rig_params(&rig, one, 3, 0.5), *y = rig_params(&rig, p, 1, 0);
    real *g = xcalloc(one->trained, sizeof *g), *h = xcalloc(p->trained, sizeof *h), *want = xcalloc(p->trained, sizeof *want);
    real *mean = xcalloc(one->trained, sizeof *mean), *spread = xcalloc(one->trained, sizeof *spread);
    real *means = xcalloc(p->trained, sizeof *means), *spreads = xcalloc(p->trained, sizeof *spreads);
    spread_over_tasks(one, x, p, y);
    double held = budget_orthogonality(one, x, g);
    assert_true(fabs(budget_orthogonality(p, y, h) - held) < 1e-12 * held);
    spread_over_tasks(one, g, p, want);
    for (size_t i = 0; i < p->trained; i++) assert_true(fabs(RIG_RANGES * h[i] - want[i]) < 1e-12);
    real *change = rig_params(&rig, one, 4, 0.5);
    spread_over_tasks(one, change, p, h);
    for (int i = 1; i <= TUNED_STEPS; i++) {
        budget_step(one, i, TUNED_STEPS, x, change, mean, spread);
        budget_step(p, i, TUNED_STEPS, y, h, means, spreads);
    }
    int places = 0;
    for (int i = 0; i < one->tensors; i++) places += strstr(one->tensor[i].name, ".e") != NULL;
    assert_int_equal(budget_left(one, x), 2 * places);
    memcpy(want, y, p->trained * sizeof *want);
    spread_over_tasks(one, x, p, want);
    assert_memory_equal(y, want, p->trained * sizeof *want);
    real *all[] = {x, y, g, h, want, mean, spread, means, spreads, change};
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
    plan_free(one);
    plan_free(p);
    rig_close(&rig);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lora_is_that_of_peft),
        cmocka_unit_test(ia3_is_that_of_peft),
        cmocka_unit_test(a_prefix_is_that_of_peft),
        cmocka_unit_test(tuned_ones_are_those_of_peft),
        cmocka_unit_test(taught_ones_are_as_restated),
        cmocka_unit_test(others_are_as_restated),
        cmocka_unit_test(a_budget_is_of_each_task),
        cmocka_unit_test(prompts_are_those_of_the_libraries),
    };
    return cmocka_run_group_tests_name("peft", tests, NULL, NULL);
}
