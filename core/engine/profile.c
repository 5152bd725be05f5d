#include "core/engine/profile.h"

#include <stddef.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

static _Thread_local struct profile *profiling;

void profile_start(struct profile *p) {
    BUG_IF(profiling);
    profiling = p;
}

void profile_stop(void) { profiling = NULL; }

double profile_begin(void) { return profiling ? clock_seconds() : 0; }

void profile_op(enum op_id op, bool backward, double begin) {
    if (profiling) profiling->op[op][backward] += clock_seconds() - begin;
}

void profile_part(enum profile_part part, double begin) {
    if (profiling) profiling->part[part] += clock_seconds() - begin;
}
