#include "core/method/carry.h"

#include <string.h>

#include "core/base/mem.h"
#include "core/method/hyper.h"
#include "core/method/slots.h"

static const char *const names[PLAN_PARTS] = { "row", "generator", "shared", "head" };

const char *plan_part_name(int i) { return names[i]; }

/* Returns whether each of several tasks has a separate tensor of this kind. */
static bool is_one_a_task(const struct module *m, const struct plan_tensor *t) {
    return m->source == SOURCE_TASK || m->source == SOURCE_PROMPT_SEP || t->role == SLOT_PROMPT;
}

enum plan_part plan_part_of(const struct plan *p, const struct plan_tensor *t) {
    switch (t->kind) {
    case PLAN_HEAD: return PLAN_OF_HEAD;
    case PLAN_NETWORK:
        if (t->role == SLOT_HYPER_TASK || t->role == SLOT_HYPER_PROTOTYPE) return PLAN_ROW;
        return t->role > SLOT_HYPER_TASK ? PLAN_GENERATOR : PLAN_SHARED;
    case PLAN_OWN: return is_one_a_task(&p->method.module[t->module], t) ? PLAN_ROW : PLAN_SHARED;
    case PLAN_MODEL: break;
    }
    return PLAN_SHARED;
}

unsigned plan_parts(const struct plan *p) {
    unsigned all = 0;
    for (int i = 0; i < p->tensors; i++) all |= plan_part_of(p, &p->tensor[i]);
    return all;
}

size_t plan_train_only(struct plan *p, unsigned parts) {
    size_t left = 0;
    p->generated_frozen = true;
    p->trained_method = 0;
    for (int i = 0; i < p->tensors; i++) {
        struct plan_tensor *t = &p->tensor[i];
        t->frozen = t->fixed || !(parts & plan_part_of(p, t));
        if (t->frozen) continue;
        left += t->count;
        if (t->kind != PLAN_HEAD) p->trained_method += t->count;
        if (plan_in_prologue(p, t)) p->generated_frozen = false;
    }
    return left;
}

void carry_method(const struct method *m, struct method *out) {
    *out = *m;
    if (!hyper_per_example(m)) out->retriever = (struct retriever){ 0 };
    out->retriever.instance = INSTANCE_NONE; /* a generator may still read its vectors */
    out->retriever.prototype = PROTOTYPE_NONE;
}

void method_forget_runs(struct method *m) {
    for (int i = 0; i < m->count; i++) m->module[i].from_run = 0;
}

/* Returns whether two modules are equal apart from the run that provided their initial parameters. */
static bool is_same_module(const struct module *a, const struct module *b) {
    struct module x = *a, y = *b;
    x.from_run = y.from_run = 0;
    return module_equal(&x, &y);
}

/* Returns the module of `from` that corresponds to p's module: another text can list them in another
 * order. */
static int module_origin(const struct plan *p, const struct plan *from, int module) {
    const struct method *m = &p->method;
    int before = 0;
    if (module < 0) return module;
    for (int i = 0; i < module; i++) before += is_same_module(&m->module[i], &m->module[module]);
    for (int i = 0; i < from->method.count; i++)
        if (is_same_module(&from->method.module[i], &m->module[module]) && !before--) return i;
    return -2;
}

/* Returns the corresponding tensor of the plan from which values are copied, or NULL. */
static const struct plan_tensor *origin(const struct plan *p, const struct plan *from,
                                        const struct plan_tensor *of) {
    int module = module_origin(p, from, of->module);
    for (int i = 0; i < from->tensors; i++) {
        const struct plan_tensor *t = &from->tensor[i];
        if (t->kind == of->kind && t->module == module && t->role == of->role && build_same_place(t, of))
            return t;
    }
    return NULL;
}

/* Copies values; task: which block of a tensor with one block per task, or their mean. */
static void take_values(const struct plan_tensor *t, real *to, const struct plan_tensor *o,
                        const real *values, int task) {
    const real *from = values + o->offset;
    if (o->blocks == 1 || task >= 0) {
        memcpy(to, from + (o->blocks > 1 ? (size_t)task * t->count : 0), t->count * sizeof *to);
        return;
    }
    for (size_t k = 0; k < t->count; k++) {
        double sum = 0;
        for (int b = 0; b < o->blocks; b++) sum += (double)from[(size_t)b * t->count + k];
        to[k] = (real)(sum / o->blocks);
    }
}

size_t plan_carry_common(const struct plan *p, real *params, const struct plan *from, const real *values,
                         int task) {
    size_t taken = 0;
    BUG_IF(p->tasks != 1 || task >= from->tasks);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i], *o = t->kind == PLAN_HEAD
            ? NULL : origin(p, from, t);
        if (!o || o->count != t->count * (size_t)o->blocks) continue;
        take_values(t, params + t->offset, o, values, task);
        taken += t->count;
    }
    return taken;
}

void plan_carry(const struct plan *p, real *params, const struct plan *from, const real *values, int task) {
    size_t all = 0;
    for (int i = 0; i < p->tensors; i++) all += p->tensor[i].kind == PLAN_HEAD ? 0 : p->tensor[i].count;
    BUG_IF(plan_carry_common(p, params, from, values, task) != all);
}

/* Returns the module without the settings on which its parameters do not depend. */
static struct module as_start(const struct module *m) {
    struct module x = *m;
    if (x.source == SOURCE_FUSION) x.source = SOURCE_FREE; /* as in the run that trained it */
    x.from_run = 0;
    x.init = INIT_DEFAULT;
    x.dropout = 0;
    x.learn = LEARN_BOTH;
    module_normalize(&x);
    return x;
}

/* Returns the index of the module of `from` with the initial parameters of this one. Equal modules correspond
 * in order; all: count all modules, not only those initialized from the same run. */
static int start_origin(const struct method *m, const struct method *from, int module, bool all) {
    struct module own = as_start(&m->module[module]);
    int before = 0;
    /* a run has one prompt, which can both initialize a prompt and be frozen in the method */
    bool rows = own.fn == FN_PROMPT;
    for (int i = 0; i < module && !rows; i++) {
        struct module x = as_start(&m->module[i]);
        before += (all || m->module[i].from_run == m->module[module].from_run) && module_equal(&x, &own);
    }
    for (int i = 0; i < from->count; i++) {
        struct module x = as_start(&from->module[i]);
        if (module_equal(&x, &own) && !before--) return i;
    }
    return -1;
}

size_t plan_carry_run(const struct plan *p, real *params, int run, const struct plan *from,
                      const real *values, int *lacking) {
    size_t taken = 0;
    *lacking = -1;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i], *o = NULL;
        if (t->kind != PLAN_OWN || p->method.module[t->module].from_run != run) continue;
        int module = start_origin(&p->method, &from->method, t->module, false);
        if (module >= 0) o = plan_slot(from, module, (enum slot)t->role, t->stack, t->site, t->layer);
        if (!o || o->count != t->count) {
            *lacking = t->module;
            continue;
        }
        memcpy(params + t->offset, values + o->offset, t->count * sizeof *params);
        taken += t->count;
    }
    return taken;
}

bool method_carries(const struct method *m, const struct method *from, int i) {
    return start_origin(from, m, i, true) >= 0;
}

/* Returns the tensor of the previous stage that corresponds to this one, or NULL. */
static const struct plan_tensor *stage_origin(const struct plan *p, const struct plan *from,
                                              const struct plan_tensor *of) {
    int module = of->kind == PLAN_OWN ? start_origin(&p->method, &from->method, of->module, true) : -1;
    if (of->kind == PLAN_OWN && module < 0) return NULL;
    for (int i = 0; i < from->tensors; i++) {
        const struct plan_tensor *t = &from->tensor[i];
        if (t->kind != of->kind || t->rows != of->rows || t->cols != of->cols) continue;
        bool same = of->kind == PLAN_OWN
                        ? t->module == module && t->role == of->role && build_same_place(t, of)
                        : !strcmp(t->name, of->name);
        if (same) return t;
    }
    return NULL;
}

size_t plan_carry_stage(const struct plan *p, real *params, const struct plan *from, const real *values,
                        bool modules, bool head) {
    size_t taken = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i], *o = (t->kind == PLAN_HEAD ? head : modules)
                                                              ? stage_origin(p, from, t)
                                                              : NULL;
        if (!o) continue;
        memcpy(params + t->offset, values + o->offset, t->count * sizeof *params);
        taken += t->count;
    }
    return taken;
}
