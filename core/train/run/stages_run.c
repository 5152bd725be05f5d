/* Training in stages: transition from one stage to the next. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/method/masked.h"
#include "core/train/config/stages.h"
#include "core/train/run/state.h"

void stage_span_take(struct run *r, int k) {
    struct run_stages *s = &r->stages;
    s->now = k;
    s->span = (struct stage_span){ 0, r->c.steps, r->c.lr };
    if (s->of)
        s->span = (struct stage_span){ stages_first(s->of, k), s->of->stage[k].steps,
                                          s->of->stage[k].lr };
}

bool stage_decides(const struct run *r) { return !r->stages.of || r->stages.now == r->stages.of->count - 1; }

bool stage_is_over(const struct run *r) {
    return !stage_decides(r) && r->step >= r->stages.span.first + r->stages.span.steps;
}

int stage_narrow(const struct stages *s, int k, struct plan *p, struct err *e) {
    static const unsigned parts[] = {
        [STAGE_MODULES] = PLAN_ROW | PLAN_GENERATOR | PLAN_SHARED, [STAGE_HEAD] = PLAN_OF_HEAD
    };
    enum stage_parts train = s->stage[k].train;
    if (train == STAGE_ALL || plan_train_only(p, parts[train])) return 0;
    return err_set(e, ERR_USAGE,
                   "--regime stages: stage %d: train=%s: no trainable parameters: the method has none of "
                   "these parts on this model",
                   k + 1, stage_parts_name(train));
}

/* Reports the start of a stage. */
static void stage_say(struct run *r, size_t taken, size_t left) {
    char *text = stages_text_of(r->stages.of, r->stages.now), number[32], rest[32];
    text_thousands((int64_t)taken, number);
    text_thousands((int64_t)left, rest);
    char *line = xprintf("stage %d of %d started: %s; %s parameters copied from the previous stage%s%s%s",
                         r->stages.now + 1,
                         r->stages.of->count, text, number, left ? ", " : "",
                         left ? rest : "", left ? " dropped" : "");
    run_say(r, line);
    free(text);
    free(line);
}

/* Returns the plan of stage k for the run's tasks, with the other parts frozen. */
static struct plan *stage_plan(const struct run *r, int k, struct err *e) {
    struct task *task[RUN_TASKS];
    for (int i = 0; i < r->tasks; i++) task[i] = r->of[i].task;
    const struct run_tasks tasks = { r->tasks, task };
    struct plan *p = run_plan_for_stage(&r->c, r->stages.of, k, &tasks, &r->m->arch, e);
    if (!p || !stage_narrow(r->stages.of, k, p, e)) return p;
    plan_free(p);
    return NULL;
}

/* Returns the number of parameters trained by the previous stage that are not copied, without heads that are
 * not requested. */
static size_t left_behind(const struct plan *from, size_t taken, enum stage_parts carry) {
    size_t all = 0;
    for (int i = 0; i < from->tensors; i++) {
        bool head = from->tensor[i].kind == PLAN_HEAD;
        if (carry == STAGE_ALL || (carry == STAGE_HEAD) == head) all += from->tensor[i].count;
    }
    return all > taken ? all - taken : 0;
}

bool stage_next(struct run *r) {
    struct err e = ERR_INIT;
    struct plan *from = r->plan, *p = stage_plan(r, r->stages.now + 1, &e);
    real *values = r->values.params;
    if (!p) return run_fails(r, "%.500s", e.text);
    if (r->moved) moved_tell(r->moved, r);
    r->values.params = NULL; /* needed until they are copied */
    run_values_release(r);
    r->plan = p;
    stage_span_take(r, r->stages.now + 1);
    if (run_values_init(r, &e)) {
        plan_free(from);
        free(values);
        return run_fails(r, "stage %d: %.480s", r->stages.now + 1, e.text);
    }
    run_values_start(r);
    enum stage_parts carry = r->stages.of->stage[r->stages.now].carry;
    size_t taken =
        plan_carry_stage(p, r->values.params, from, values, carry != STAGE_HEAD, carry != STAGE_MODULES);
    if (carry != STAGE_HEAD) taken += masked_choose(p, r->values.params, from, values);
    moved_free(r->moved);
    r->moved = moved_new(r);
    stage_say(r, taken, left_behind(from, taken, carry));
    plan_free(from);
    free(values);
    return true;
}
