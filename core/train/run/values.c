/* The flat blocks of a run's plan, the parameter groups of the optimizer, and the prologue of generated
 * weights. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/method/attach.h"
#include "core/method/masked.h"
#include "core/method/packing.h"
#include "core/train/config/complete.h"
#include "core/train/run/head.h"
#include "core/train/run/state.h"

static real *block(size_t n) {
    real *p = mem_try(n ? n : 1, sizeof *p);
    if (p) memset(p, 0, (n ? n : 1) * sizeof *p);
    return p;
}

int run_values_init(struct run *r, struct err *e) {
    struct run_values *v = &r->values;
    const struct plan *p = r->plan;
    bool adam = r->c.optimizer == OPTIMIZER_ADAMW, budget = p->method.budget.on;
    const struct {
        bool needed;
        size_t size;
        real **at;
    } blocks[] = {
        { true, p->trained, &v->params },
        { true, p->generated_size, &v->generated },
        { true, p->trained + p->generated_size, &v->sum },
        { adam || r->c.momentum > 0, p->trained, &v->adam_m },
        { adam, p->trained, &v->adam_v },
        { p->generated, p->trained, &v->prologue_grad },
        { budget, p->trained, &v->budget_mean },
        { budget, p->trained, &v->budget_spread },
    };
    for (size_t i = 0; i < COUNT_OF(blocks); i++)
        if (blocks[i].needed && !(*blocks[i].at = block(blocks[i].size)))
            return err_set(e, ERR_SYSTEM,
                           "out of memory for %zu trainable parameters, their gradients and the "
                           "optimizer state", p->trained);
    if (!p->meta.on && (v->table.of = attach_table(p, r->m))) {
        v->table.row = xcalloc((size_t)v->table.of->rows, sizeof *v->table.row);
        v->table.has = xcalloc((size_t)v->table.of->rows, sizeof *v->table.has);
    }
    if (!p->meta.on) packing_set(r->plan, r->m, v->params, v->generated);
    footprint_values(r);
    v->group = xcalloc((size_t)p->tensors, sizeof *v->group);
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        bool still = t->fixed || t->frozen;
        v->group[i] = (struct optim_group){ t->offset, t->count,
                                            still ? 0 : masked_rate(p, t, r->stages.span.lr),
                                            t->decays && !still ? 1 : 0 };
    }
    if (!p->generated) return 0;
    v->prologue_arena = arena_new();
    v->prologue = tape_new(v->prologue_arena);
    v->generated_node = xcalloc((size_t)p->generated, sizeof *v->generated_node);
    v->generated_seed = xcalloc((size_t)p->generated, sizeof *v->generated_seed);
    return 0;
}

void table_clear(struct run *r) {
    struct table_rows *x = &r->values.table;
    if (!x->of) return;
    real *sum = r->values.sum + x->of->offset;
    size_t cols = (size_t)x->of->cols;
    if (x->all) memset(sum, 0, x->of->count * sizeof *sum);
    for (int i = 0; i < x->count; i++) {
        if (!x->all) memset(sum + (size_t)x->row[i] * cols, 0, cols * sizeof *sum);
        x->has[x->row[i]] = false;
    }
    x->count = 0;
    x->all = false;
}

static void table_add(struct run *r, int index, const struct tape *t, const real *grads) {
    struct table_rows *x = &r->values.table;
    const int32_t *row;
    size_t cols = (size_t)x->of->cols;
    real *sum = r->values.sum + x->of->offset;
    int rows = tape_rows_written(t, grads + x->of->offset, &row);
    if (rows < 0) x->all = true;
    if (rows < 0 && index) kernel_add_to(x->of->count, 1, grads + x->of->offset, sum);
    for (int i = 0; i < rows; i++) {
        size_t at = (size_t)row[i] * cols;
        if (index) kernel_add_to(cols, 1, grads + x->of->offset + at, sum + at);
        if (!x->has[row[i]]) x->row[x->count++] = row[i];
        x->has[row[i]] = true;
    }
}

void values_add(struct run *r, int index, const struct tape *t, const real *grads) {
    const struct plan_tensor *x = r->values.table.of;
    size_t all = r->plan->trained + r->plan->generated_size, before = x ? x->offset : all,
           after = x ? before + x->count : all;
    real *sum = r->values.sum;
    if (index) kernel_add_to(before, 1, grads, sum);
    if (index) kernel_add_to(all - after, 1, grads + after, sum + after);
    if (x) table_add(r, index, t, grads);
}

void run_values_release(struct run *r) {
    struct run_values *v = &r->values;
    real *const blocks[] = { v->params, v->generated,   v->sum,           v->adam_m,
                             v->adam_v, v->budget_mean, v->budget_spread, v->prologue_grad };
    for (int i = 0; i < CREW_MOST; i++) attach_free(v->attach[i]);
    tape_free(v->prologue);
    arena_free(v->prologue_arena);
    free(v->group);
    free(v->table.row);
    free(v->table.has);
    free(v->generated_node);
    free(v->generated_seed);
    for (size_t i = 0; i < COUNT_OF(blocks); i++) free(blocks[i]);
    *v = (struct run_values){ 0 };
}

void run_values_start(struct run *r) {
    int *row[RUN_TASKS];
    const int *rows[RUN_TASKS];
    for (int i = 0; i < r->tasks; i++) {
        row[i] = xcalloc((size_t)r->plan->outputs[i] + 1, sizeof **row);
        rows[i] = !r->plan->meta.on && head_rows(r->m, r->of[i].task, row[i], NULL) ? row[i] : NULL;
    }
    const char *const *label[RUN_TASKS];
    int labels[RUN_TASKS];
    for (int i = 0; i < r->tasks; i++) {
        label[i] = (const char *const *)r->of[i].task->class_name;
        labels[i] = r->of[i].task->classes;
    }
    const struct plan_words words = { r->c.prompt_text, labels, label };
    plan_init_head(r->plan, r->m, rows, &words, r->c.seed, r->values.params);
    for (int i = 0; i < r->tasks; i++) free(row[i]);
}

