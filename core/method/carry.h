/* A task that comes after its method was trained: what of the run of several tasks is taken over into a plan
 * of the new task alone, and which parts of that train. */
#ifndef CORE_METHOD_CARRY_H
#define CORE_METHOD_CARRY_H

#include "core/method/plan.h"

enum plan_part {
    PLAN_ROW = 1, /* what each task has for itself: its embedding, its tensors of source task, its prompt and
                     prompt-sep's maps */
    PLAN_GENERATOR = 2, /* the rest of the network that makes modules */
    PLAN_SHARED = 4, /* what all tasks use */
    PLAN_OF_HEAD = 8, /* the task's head */
};
enum { PLAN_PARTS = 4 };
const char *plan_part_name(int i); /* "row", "generator", "shared", "head": bit 1 << i */
enum plan_part plan_part_of(const struct plan *p, const struct plan_tensor *t);
/* The parts that p has tensors of. */
unsigned plan_parts(const struct plan *p);

/* Freezes every tensor of a part that is not among `parts`; values that are made of frozen ones alone get no
 * gradient either.  trained_method counts the rest; returns how many values are left to train. */
size_t plan_train_only(struct plan *p, unsigned parts);

/* The method as one task learns it from the first step on: without what serves training together alone. */
void carry_method(const struct method *m, struct method *out);
/* What modules begin with is no run's any more (module.from_run): of values that come from elsewhere. */
void method_forget_runs(struct method *m);
/* Values of `from` (its method carried) for p, a plan of one task: what each task has for itself is task
 * number `task`'s, or with CARRY_MEAN the mean over all; the head's stay as they are. */
enum { CARRY_MEAN = -1 };
void plan_carry(const struct plan *p, real *params, const struct plan *from, const real *values, int task);
/* The same of another method's values: those of tensors that both have, of modules that are the same. Returns
 * how many values were taken over. */
size_t plan_carry_common(const struct plan *p, real *params, const struct plan *from, const real *values,
                         int task);
/* Whether m has the place for values of module i of `from` that the next stage takes over. */
bool method_carries(const struct method *m, const struct method *from, int i);
/* Values for the next stage of a run, of the same tasks: those of modules that both have (but for start,
 * dropout and learning), of networks and of the model's own tensors (`modules`), those of the heads (`head`).
 * Returns how many were taken. */
size_t plan_carry_stage(const struct plan *p, real *params, const struct plan *from, const real *values,
                        bool modules, bool head);
/* Values of the modules that begin with run number `run` (module.from_run), out of that run's plan: modules
 * are the same but for start, dropout and learning, and a fused one is the free one that it was.  Returns how
 * many values were taken; *lacking: a module that `from` has not, else -1. */
size_t plan_carry_run(const struct plan *p, real *params, int run, const struct plan *from,
                      const real *values, int *lacking);

#endif
