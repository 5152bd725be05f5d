/* Transfer of parameters between plans: from a multi-task run to a plan of one new task, with the parts that
 * are trained there; from one stage of a run to the next; from another run. */
#ifndef CORE_METHOD_CARRY_H
#define CORE_METHOD_CARRY_H

#include "core/method/plan.h"

enum plan_part {
    PLAN_ROW = 1, /* specific to one task: its embedding, its tensors of source task, its prompt
                     and the maps of prompt-sep */
    PLAN_GENERATOR = 2, /* the rest of the hypernetwork */
    PLAN_SHARED = 4, /* shared by all tasks */
    PLAN_OF_HEAD = 8, /* the task's head */
};
enum { PLAN_PARTS = 4 };
const char *plan_part_name(int i); /* "row", "generator", "shared", "head": bit 1 << i */
enum plan_part plan_part_of(const struct plan *p, const struct plan_tensor *t);
/* Returns the parts of which p has tensors. */
unsigned plan_parts(const struct plan *p);

/* Freezes every tensor of a part that is not in `parts`; values generated only from frozen ones get no
 * gradient either. Updates trained_method; returns the number of parameters that are still trainable. */
size_t plan_train_only(struct plan *p, unsigned parts);

/* Copies the method as trained on a single task: without settings that only serve multi-task training. */
void carry_method(const struct method *m, struct method *out);
/* Clears module.from_run of all modules, for parameters from another origin. */
void method_forget_runs(struct method *m);
/* Copies parameters of `from` (after carry_method) to p, a plan of one task: task-specific ones from task
 * number `task`, or the mean over tasks with CARRY_MEAN; those of the head are unchanged. */
enum { CARRY_MEAN = -1 };
void plan_carry(const struct plan *p, real *params, const struct plan *from, const real *values, int task);
/* Copies parameters of another method: those of tensors in both methods, of equal modules. Returns the
 * number of parameters copied. */
size_t plan_carry_common(const struct plan *p, real *params, const struct plan *from, const real *values,
                         int task);
/* Returns whether m has a place for the parameters of module i of `from` in the next stage. */
bool method_carries(const struct method *m, const struct method *from, int i);
/* Copies parameters to the next stage of a run with the same tasks: of modules in both methods (apart from
 * init, dropout and learn), of networks and of the model's tensors (`modules`), and of the heads (`head`).
 * Returns the number of parameters copied. */
size_t plan_carry_stage(const struct plan *p, real *params, const struct plan *from, const real *values,
                        bool modules, bool head);
/* Copies the parameters of the modules with init=run(`run`) from the plan of that run: modules must be
 * equal apart from init, dropout and learn, and a fused module matches the free one that it was. Returns
 * the number of parameters copied; sets *lacking to a module that `from` does not have, else -1. */
size_t plan_carry_run(const struct plan *p, real *params, int run, const struct plan *from,
                      const real *values, int *lacking);

#endif
