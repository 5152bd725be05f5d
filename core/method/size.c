#include "core/method/size.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mem.h"

/* The number of stored parameters is about linear in the size: the sizes near the linear solution are
 * tried. */
enum { AROUND = 8, LARGEST = 1 << 20, NAMES = 64 };

static int kept_of(const struct method *m, const struct arch *a, int tasks, size_t *out, struct err *e) {
    char names[NAMES][8];
    const char *name[NAMES];
    int outputs[NAMES];
    BUG_IF(tasks < 1 || tasks > NAMES);
    for (int i = 0; i < tasks; i++) {
        snprintf(names[i], sizeof names[i], "%d", i + 1);
        name[i] = names[i];
        outputs[i] = arch_generates(a) ? 0 : 2;
    }
    const struct plan_tasks all = { tasks, name, outputs, NULL };
    struct plan *p = plan_new_tasks(m, a, &all, e);
    if (!p) return e->code;
    *out = p->stored_method;
    plan_free(p);
    return 0;
}

static int first_size(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].size > 0) return m->module[i].size;
    return 0;
}

static struct method at_size(const struct method *m, int size) {
    struct method out = *m;
    double by = (double)size / first_size(m);
    for (int i = 0; i < out.count; i++)
        if (out.module[i].size > 0)
            out.module[i].size = (int)fmin(fmax(1, round(out.module[i].size * by)), LARGEST);
    return out;
}

/* Returns the stored parameters per unit of size; 0: unknown. */
static double growth(const struct method *m, const struct arch *a, int tasks, size_t kept) {
    int size = first_size(m);
    const int other[] = { 2 * size, size + 1, (size + 1) / 2 };
    for (size_t i = 0; i < COUNT_OF(other); i++) {
        struct method x = at_size(m, other[i]);
        struct err ignored = ERR_INIT;
        size_t n;
        if (other[i] != size && !kept_of(&x, a, tasks, &n, &ignored))
            return ((double)n - (double)kept) / (other[i] - size);
    }
    return 0;
}

int method_match_size(struct method *m, const struct method *like, const struct arch *a, int tasks,
                     struct size_fit *out, struct err *e) {
    int size = first_size(m);
    if (kept_of(like, a, tasks, &out->target, e) || kept_of(m, a, tasks, &out->stored, e)) return e->code;
    double by = size ? growth(m, a, tasks, out->stored) : 0;
    if (!(by > 0)) return 0;
    double guess = round(size + ((double)out->target - (double)out->stored) / by);
    int middle = (int)fmin(fmax(guess, 1), LARGEST);
    struct method best = *m;
    for (int s = middle - AROUND; s <= middle + AROUND; s++) {
        if (s < 1) continue;
        struct method x = at_size(m, s);
        struct err ignored = ERR_INIT; /* a size that is invalid for the method */
        size_t n;
        if (kept_of(&x, a, tasks, &n, &ignored)) continue;
        double far = fabs((double)n - (double)out->target),
               before = fabs((double)out->stored - (double)out->target);
        if (far >= before) continue;
        best = x;
        out->stored = n;
    }
    *m = best;
    return 0;
}
