#include "app/session/others.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"

struct living {
    int64_t id[OTHERS_MOST + OTHERS_ASKED];
    int count;
};

static int others_take_id(void *self, int count, const struct store_cell *cell) {
    struct living *f = self;
    (void)count;
    if (f->count < OTHERS_MOST) f->id[f->count++] = cell[0].integer;
    return 0;
}

static struct job_row others_row(const struct store_run *r) {
    return (struct job_row){
        .id = r->id,
        .state = (enum run_state)r->state,
        .name = r->name,
        .method = r->method,
        .task = r->task,
        .seed = r->seed,
        .step = r->step,
        .steps = r->steps,
        .seconds_left = -1,
        .best = r->best.measured ? r->best.v : NAN,
        .loss = r->loss.measured ? r->loss.v : NAN,
        .reason = r->reason,
        .constant = r->constant,
        .none_valid = r->none_valid,
        .elsewhere = true,
    };
}

static int by_state(const void *a, const void *b) {
    const struct store_run *x = a, *y = b;
    int over = !store_state_is_live(x->state) - !store_state_is_live(y->state);
    return over ? over : (x->id < y->id) - (x->id > y->id);
}

static int others_take_name(void *self, int count, const struct store_cell *cell) {
    struct other_runs *o = self;
    (void)count;
    o->name = xrealloc(o->name, (size_t)o->names + 1, sizeof *o->name);
    o->name[o->names++] = (struct other_name){ cell[0].integer, xstrdup(cell[1].text) };
    return 0;
}

static int others_read_names(struct store *s, int64_t from, struct other_runs *o, struct err *e) {
    char *sql = xprintf("SELECT id, name FROM v_runs WHERE name IS NOT NULL AND id >= %lld ORDER BY id",
                        (long long)from);
    int rc = from ? store_sql(s, sql, (struct store_rows){ .self = o, .row = others_take_name }, e) : 0;
    free(sql);
    return rc;
}

int other_runs_read(struct store *s, const int64_t asked[OTHERS_ASKED], int64_t from, struct other_runs **out,
                    struct err *e) {
    struct living f = { 0 };
    int64_t version = store_version(s);
    int rc = store_sql(s,
                       "SELECT id FROM v_runs WHERE state IN ('queued','running','paused') ORDER BY id DESC",
                       (struct store_rows){ .self = &f, .row = others_take_id }, e);
    if (rc) return rc;
    for (int a = 0; asked && a < OTHERS_ASKED; a++) {
        bool there = !asked[a];
        for (int i = 0; i < f.count; i++) there = there || f.id[i] == asked[a];
        if (!there) f.id[f.count++] = asked[a];
    }
    struct other_runs *o = xcalloc(1, sizeof *o);
    o->version = version;
    o->stored = xcalloc((size_t)f.count + 1, sizeof *o->stored);
    o->row = xcalloc((size_t)f.count + 1, sizeof *o->row);
    for (int i = 0; i < f.count; i++) {
        struct err gone = ERR_INIT; /* purged in the meantime */
        if (!store_run(s, f.id[i], &o->stored[o->rows], &gone)) o->rows++;
    }
    qsort(o->stored, (size_t)o->rows, sizeof *o->stored, by_state);
    for (int i = 0; i < o->rows; i++) o->row[i] = others_row(&o->stored[i]);
    rc = others_read_names(s, from, o, e);
    if (rc) other_runs_free(o);
    else *out = o;
    return rc;
}

void other_runs_free(struct other_runs *o) {
    if (!o) return;
    for (int i = 0; i < o->rows; i++) store_run_release(&o->stored[i]);
    for (int i = 0; i < o->names; i++) free(o->name[i].name);
    free(o->name);
    free(o->stored);
    free(o->row);
    free(o);
}

static int others_by_run(const void *key, const void *at) {
    int64_t run = *(const int64_t *)key, other = ((const struct other_name *)at)->run;
    return (run > other) - (run < other);
}

const char *other_runs_name(const struct other_runs *o, int64_t run) {
    const struct other_name *n =
        o && o->names ? bsearch(&run, o->name, (size_t)o->names, sizeof *o->name, others_by_run) : NULL;
    return n ? n->name : NULL;
}

bool other_runs_living(const struct other_runs *o) {
    for (int i = 0; o && i < o->rows; i++)
        if (o->row[i].state <= RUN_PAUSED) return true;
    return false;
}

bool other_runs_differ(const struct other_runs *a, const struct other_runs *b) {
    if (!a || !b || a->version != b->version || a->rows != b->rows) return true;
    for (int i = 0; i < a->rows; i++)
        if (a->row[i].id != b->row[i].id || a->row[i].state != b->row[i].state) return true;
    return false;
}

const struct job_row *other_runs_find(const struct other_runs *o, int64_t run) {
    for (int i = 0; o && i < o->rows; i++)
        if (o->row[i].id == run) return &o->row[i];
    return NULL;
}
