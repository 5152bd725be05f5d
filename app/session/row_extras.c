#include "app/session/row_extras.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/purge.h"
#include "core/base/mem.h"

static int extras_by_id(const void *a, const void *b) {
    const struct row_extra *x = a, *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

/* Returns the run's entry, found by binary search or appended (the caller sorts); known is false if the run
 * has advanced. */
static struct row_extra *extra_of(struct row_extras *x, size_t sorted, const struct store_run *r) {
    struct row_extra key = { .id = r->id };
    struct row_extra *at = sorted ? bsearch(&key, x->of, sorted, sizeof key, extras_by_id) : NULL;
    if (!at) {
        GROW(x->of, x->room, x->count + 1);
        at = &x->of[x->count++];
        *at = (struct row_extra){ .id = r->id, .step = -1 };
    }
    if (at->step != r->step || at->state != r->state) {
        at->step = r->step;
        at->state = r->state;
        at->disk = at->points = -1;
    }
    return at;
}

/* Computes the mean losses of as many intervals. */
static void read_curve(struct row_extra *x, struct store *s) {
    struct store_points p;
    struct err ignored = ERR_INIT;
    x->points = 0;
    if (store_points(s, x->id, "loss", 0, &p, &ignored)) return;
    int n = p.count < ROW_CURVE ? (int)p.count : ROW_CURVE;
    for (int i = 0; i < n; i++) {
        size_t from = p.count * (size_t)i / (size_t)n, to = p.count * (size_t)(i + 1) / (size_t)n, seen = 0;
        double sum = 0;
        for (size_t k = from; k < to; k++)
            if (isfinite(p.value[k])) sum += p.value[k], seen++;
        x->curve[i] = seen ? sum / (double)seen : NAN;
    }
    x->points = n;
    store_points_release(&p);
}

static void read_disk(struct row_extra *x, struct store *s) {
    struct purge_sum sum;
    struct err ignored = ERR_INIT;
    x->disk = purge_count(s, &x->id, 1, &sum, &ignored) ? -1 : sum.bytes;
}

void row_extras_fill(struct row_extras *x, struct store *s, const struct store_runs *stored,
                     struct run_row *row, bool disk, bool curve, double **curves) {
    size_t sorted = x->count;
    *curves = curve ? xcalloc(stored->count + 1, ROW_CURVE * sizeof **curves) : NULL;
    for (size_t i = 0; i < stored->count; i++) {
        struct row_extra *e = extra_of(x, sorted, &stored->run[i]);
        if (disk && e->disk < 0) read_disk(e, s);
        if (curve && e->points < 0) read_curve(e, s);
        if (disk) row[i].disk = e->disk;
        if (!curve) continue;
        double *mine = *curves + i * ROW_CURVE;
        memcpy(mine, e->curve, sizeof e->curve);
        row[i].curve = mine;
        row[i].curve_points = e->points;
    }
    if (x->count > sorted) qsort(x->of, x->count, sizeof *x->of, extras_by_id);
}

void row_extras_release(struct row_extras *x) { free(x->of); }
