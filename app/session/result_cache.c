#include "app/session/result_cache.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"

struct kept_results {
    int64_t run, step, best; /* step and best step when read; reloaded when they change */
    enum store_state state; /* also reloaded when the run ends: its last evaluation changes neither step */
    struct task_results of;
};

void result_cache_release(struct result_cache *t) {
    for (size_t i = 0; i < t->count; i++) task_results_release(&t->kept[i].of);
    free(t->kept);
    *t = (struct result_cache){ 0 };
}

static int by_run(const void *key, const void *kept) {
    int64_t run = *(const int64_t *)key, other = ((const struct kept_results *)kept)->run;
    return run < other ? -1 : run > other;
}

/* Returns the entry of the run, sorted by id; adds it if it is missing. */
static struct kept_results *result_cache_place_of(struct result_cache *t, int64_t run) {
    struct kept_results *found = t->count ? bsearch(&run, t->kept, t->count, sizeof *t->kept, by_run) : NULL;
    if (found) return found;
    GROW(t->kept, t->room, t->count + 1);
    size_t at = t->count++;
    for (; at && t->kept[at - 1].run > run; at--) t->kept[at] = t->kept[at - 1];
    t->kept[at] = (struct kept_results){ .run = run, .step = -1 };
    return &t->kept[at];
}

int result_cache_of(struct result_cache *t, struct store *s, const struct store_run *row,
                    struct task_results *out, struct err *e) {
    *out = (struct task_results){ 0 };
    if (!task_results_several(row)) return 0;
    struct kept_results *k = result_cache_place_of(t, row->id);
    int64_t best = row->best.measured ? row->best.step : -1;
    if (k->step != row->step || k->best != best || k->state != row->state) {
        task_results_release(&k->of);
        int rc = task_results(s, row, &k->of, e);
        k->step = rc ? -1 : row->step;
        k->best = best;
        k->state = row->state;
        if (rc) return rc;
    }
    task_results_copy(out, &k->of);
    return 0;
}

struct task_row *result_cache_rows(const struct task_results *r) {
    struct task_row *v = xcalloc((size_t)r->count, sizeof *v);
    for (int i = 0; i < r->count; i++) {
        const struct task_result *t = &r->of[i];
        v[i] = (struct task_row){ t->task, t->metric, t->value, t->undefined, t->step, t->majority, t->rows };
    }
    return v;
}
