/* Adding values and seeds to a sweep. */
#include <stdlib.h>
#include <string.h>

#include "app/sweep/halving.h"
#include "app/sweep/sweep_runs.h"
#include "app/sweep/tune.h"
#include "core/base/mem.h"

static bool same_texts(const struct sweep_plan *p, int cell, const struct sweep_plan *other, int at) {
    if (p->cells.options != other->cells.options) return false;
    for (int i = 0; i < p->cells.options; i++)
        if (strcmp(p->cells.cell[cell].text[i], other->cells.cell[at].text[i])) return false;
    return true;
}

static int same_cell(const struct sweep_plan *p, int cell, const struct sweep_plan *other) {
    for (int i = 0; i < other->cells.count; i++)
        if (same_texts(p, cell, other, i)) return i;
    BUG("an extension removed a cell of the sweep");
}

/* Checks that no existing run is lost: the first seed is the same in both. */
static int check_cells(const struct sweep_plan *p, const struct sweep_plan *now, struct err *e) {
    for (int i = 0; i < p->cells.count; i++) {
        if (!p->entry[i].valid) continue;
        const struct sweep_entry *x = &now->entry[same_cell(p, i, now)];
        if (x->twin) continue; /* its runs are also those of another cell */
        if (!x->valid)
            return err_set(e, ERR_USAGE,
                           "cell %d of sweep %lld is no longer valid, so the sweep cannot be extended: %s",
                           i + 1, (long long)p->id, x->reason);
        if (!sweep_entry_same(&p->entry[i], x))
            return err_set(
                e, ERR_USAGE,
                "cell %d of sweep %lld cannot be extended: its data, its model or its default "
                "settings have changed since; start a new sweep",
                i + 1, (long long)p->id);
    }
    return 0;
}

/* Copies it through its record, which is complete. */
static int copy_spec(const struct sweep_plan *p, struct sweep_spec *out, struct err *e) {
    struct buf b = BUF_INIT;
    sweep_json(&p->spec, &b);
    int rc = sweep_from_json("the sweep", buf_text(&b), b.size, out, e);
    buf_release(&b);
    return rc;
}

int sweep_plan_extend(struct sweep_plan *p, const struct sweep_more *more, int n, struct jobs *j,
                      struct err *e) {
    struct sweep_spec spec;
    struct sweep_plan now = { 0 };
    if (sweep_plan_no_draws(p, e)) return e->code;
    int rc = copy_spec(p, &spec, e);
    for (int i = 0; i < n && !rc; i++) rc = sweep_extend(&spec, more[i].option, more[i].text, e);
    if (!rc) rc = sweep_plan_make(&now, &spec, j, e);
    if (!rc) rc = check_cells(p, &now, e);
    sweep_release(&spec);
    if (rc) {
        sweep_plan_release(&now);
        return rc;
    }
    now.id = p->id;
    now.record = p->record;
    p->record = NULL;
    sweep_plan_release(p);
    *p = now;
    return 0;
}
