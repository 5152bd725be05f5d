/* Reading the input of the diagnostics from the database. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/evidence.h"

static int why_read_curve(struct store *s, int64_t run, const char *name, struct why_curve *out,
                          struct err *e) {
    struct store_points p = { 0 };
    int rc = store_points(s, run, name, 0, &p, e);
    if (rc) return rc;
    *out = (struct why_curve){ p.count, p.step, p.value };
    return 0;
}

/* ---- evaluations ---- */

static struct why_eval *eval_at(struct why_task *t, int64_t step) {
    if (t->evals && t->eval[t->evals - 1].step == step) return &t->eval[t->evals - 1];
    t->eval = xrealloc(t->eval, (size_t)t->evals + 1, sizeof *t->eval);
    t->eval[t->evals] = (struct why_eval){ .step = step, .value = NAN, .loss = NAN };
    return &t->eval[t->evals++];
}

/* Returns the name of the metric if the point belongs to this split. */
static const char *metric_in(const char *name, const char *split) {
    size_t n = strlen(split);
    return !strncmp(name, split, n) && name[n] == '.' ? name + n + 1 : NULL;
}

static void take_eval(struct why_task *t, const struct store_eval_row *v) {
    const char *metric = metric_in(v->name, t->split);
    if (!metric) return;
    if (!strcmp(metric, "majority")) {
        t->majority = v->value.v;
        return;
    }
    struct why_eval *e = eval_at(t, v->step);
    e->constant = v->constant;
    e->none_valid = v->none_valid;
    e->best = v->best;
    if (v->rows) t->rows = store_rows_count(v->rows);
    if (!strcmp(metric, "invalid")) t->invalid = v->value.v;
    if (!strcmp(metric, "loss")) {
        e->loss = v->value.v;
        e->has_loss = !v->value.undefined;
    }
    if (t->metric && !strcmp(metric, t->metric)) {
        e->value = v->value.v;
        e->has_value = !v->value.undefined;
        e->undefined = v->value.undefined;
    }
}

/* Reads the result on the test set. */
static void take_test(struct why_task *t, const struct store_evals *v) {
    char *split = *t->name ? xprintf("%s/test", t->name) : xstrdup("test");
    for (size_t i = 0; i < v->count; i++) {
        const char *metric = metric_in(v->row[i].name, split);
        if (metric && t->metric && !strcmp(metric, t->metric)) t->test = v->row[i].value.v;
    }
    free(split);
}

/* The first split of a task is the first one whose name starts with the task. */
static char *first_split(const struct store_evals *v, const char *task, const char *metric) {
    char *start = xprintf("%s/", task), *found = NULL;
    for (size_t i = 0; i < v->count && !found; i++) {
        const char *name = v->row[i].name, *dot = strrchr(name, '.');
        if (text_starts(name, start) && dot && metric && !strcmp(dot + 1, metric) &&
            !text_starts(name + strlen(start), "test."))
            found = xstrndup(name, (size_t)(dot - name));
    }
    free(start);
    return found;
}

static void why_read_task(struct why_run *r, struct why_task *t, const char *name, const char *metric) {
    const char *dot = strrchr(r->run->decides, '.');
    *t = (struct why_task){ .name = name, .metric = metric, .majority = NAN, .invalid = NAN, .test = NAN };
    if (*name) t->split_name = first_split(&r->evals, name, metric);
    else if (dot) t->split_name = xstrndup(r->run->decides, (size_t)(dot - r->run->decides));
    if (!t->split_name) t->split_name = xstrdup("dev");
    t->split = t->split_name;
    for (size_t i = 0; i < r->evals.count; i++) take_eval(t, &r->evals.row[i]);
    take_test(t, &r->evals);
}

/* ---- import reports ---- */

/* The training set comes first, then the first validation split. */
static void take_reports(struct why_run *r) {
    r->reports = r->run->reports;
    r->report = xcalloc((size_t)r->reports + 1, sizeof *r->report);
    for (int i = 0; i < r->reports; i++) {
        const char *text = r->run->report[i];
        report_read(text, &r->report[i]);
        for (int k = 0; k < r->tasks; k++) {
            struct why_task *t = &r->task[k];
            char *start = *t->name ? xprintf("task %s\n", t->name) : xstrdup("");
            if (text_starts(text, start)) {
                if (!t->train) t->train = &r->report[i];
                else if (!t->dev) t->dev = &r->report[i];
            }
            free(start);
        }
    }
}

static int take_integer(void *self, int count, const struct store_cell *cell) {
    (void)count;
    *(int64_t *)self = cell[0].integer;
    return 0;
}

static int read_differs(struct store *s, struct why_run *r, struct err *e) {
    char *sql = xprintf("SELECT count(*) FROM v_events WHERE run = %lld AND kind = 'differs'",
                        (long long)r->run->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &r->differs, .row = take_integer }, e);
    free(sql);
    return rc;
}

/* Finished runs compared with this one, and the fields that decide which of them count. */
struct why_compared {
    struct why_other {
        char key[65], weights[65];
        double best;
        bool alike; /* differs from this run only in the seed */
    } *run;
    struct evidence *of; /* of each; `key` and `weights` are set by settle_beside */
    size_t count, room, of_room;
};

static int why_take_beside(void *self, int count, const struct store_cell *cell) {
    struct why_compared *x = self;
    struct err ignored = ERR_INIT;
    (void)count;
    GROW(x->run, x->room, x->count + 1);
    GROW(x->of, x->of_room, x->count + 1);
    struct why_other *r = &x->run[x->count];
    *r = (struct why_other){ .best = cell[3].real, .alike = cell[6].integer != 0 };
    if (cell[2].text) snprintf(r->weights, sizeof r->weights, "%s", cell[2].text);
    evidence_key(cell[4].text, cell[5].integer, EVIDENCE_RUN, r->key, &ignored);
    x->of[x->count++] = (struct evidence){ .run = cell[0].integer, .ended = cell[1].integer };
    return 0;
}

/* Selects finished runs x with a value, compared with run r, for which `where` holds. */
static int why_read_beside(struct store *s, const struct why_run *r, const char *where,
                           struct why_compared *out, struct err *e) {
    *out = (struct why_compared){ 0 };
    char *sql = xprintf(
        "SELECT x.id, coalesce(x.ended,0), x.weights_sha256, v.best, x.config, coalesce(x.parent,0), "
        "json_remove(x.config, '$.seed') = json_remove(r.config, '$.seed') FROM run r JOIN run x ON x.method "
        "= r.method AND x.imported IS NULL AND %s JOIN v_runs v ON v.id = x.id AND v.state = 'finished' AND "
        "v.best IS NOT NULL WHERE r.id = %lld ORDER BY x.id",
        where, (long long)r->run->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = out, .row = why_take_beside }, e);
    free(sql);
    for (size_t i = 0; i < out->count; i++) {
        out->of[i].key = out->run[i].key;
        out->of[i].weights = *out->run[i].weights ? out->run[i].weights : NULL;
    }
    evidence_settle(out->of, out->count);
    return rc;
}

static void beside_release(struct why_compared *x) {
    free(x->run), free(x->of);
}

/* Returns the first run with the key of this one, if it is an earlier one. */
static void find_repeated(struct why_run *r, const struct why_compared *x) {
    const struct why_other *own = NULL;
    for (size_t i = 0; i < x->count; i++)
        if (x->of[i].run == r->run->id) own = &x->run[i], r->repeats_differ = x->of[i].differs;
    for (size_t i = 0; own && *own->key && !r->repeats && x->of[i].run < r->run->id; i++)
        if (!strcmp(x->run[i].key, own->key)) r->repeats = x->of[i].run;
}

/* Finds the runs that differ only in the seed, and those that this one repeats. */
static int read_seeds(struct store *s, struct why_run *r, struct err *e) {
    struct why_compared x;
    struct why_seeds *v = &r->seeds;
    if (r->run->state != STORE_FINISHED) return 0;
    int rc = why_read_beside(s, r,
                             "x.train_sha256 IS r.train_sha256 AND x.steps = r.steps AND (x.seed = r.seed OR "
                             "json_remove(x.config, '$.seed') = json_remove(r.config, '$.seed'))",
                             &x, e);
    for (size_t i = 0; i < x.count; i++) {
        double best = x.run[i].best;
        if (!x.run[i].alike || x.of[i].counted != x.of[i].run) continue;
        v->low = v->seeds ? fmin(v->low, best) : best;
        v->high = v->seeds ? fmax(v->high, best) : best;
        v->mean += (best - v->mean) / (double)++v->seeds;
    }
    find_repeated(r, &x);
    beside_release(&x);
    return rc;
}

/* Counts runs of the method on the same validation set, with any other settings; none if another is
 * better. */
static int read_tries(struct store *s, struct why_run *r, struct err *e) {
    static const char where[] =
        "x.dev_sha256 = r.dev_sha256 AND x.model_sha256 = r.model_sha256 AND x.metric_key = r.metric_key AND "
        "json_extract(x.config, '$.eval_rows') IS json_extract(r.config, '$.eval_rows') AND "
        "json_extract(x.config, '$.split_validation') IS json_extract(r.config, '$.split_validation') AND "
        "json_extract(x.config, '$.split_seed') IS json_extract(r.config, '$.split_seed')";
    struct why_compared x;
    int64_t is_best = 0; /* checked first: parsing descriptions takes longer */
    if (r->run->state != STORE_FINISHED) return 0;
    char *sql = xprintf(
        "SELECT coalesce(max((v.best - m.best) * k.direction) <= 0, 0) FROM run r JOIN key k ON k.id = "
        "r.metric_key JOIN v_runs m ON m.id = r.id JOIN run x ON x.method = r.method AND %s JOIN v_runs v ON "
        "v.id = x.id AND v.state = 'finished' AND v.best IS NOT NULL WHERE r.id = %lld",
        where, (long long)r->run->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &is_best, .row = take_integer }, e);
    free(sql);
    if (rc || !is_best) return rc;
    rc = why_read_beside(s, r, where, &x, e);
    for (size_t i = 0; i < x.count; i++) r->tries += x.of[i].counted == x.of[i].run;
    beside_release(&x);
    return rc;
}

int why_read(struct store *s, const struct store_run *run, struct why_run *out, struct err *e) {
    *out = (struct why_run){ .run = run, .last_rate = NAN };
    for (size_t i = 0; i < run->value_count; i++)
        if (!strcmp(run->value[i].name, "lr")) out->last_rate = run->value[i].last.v;
    int rc = record_config_of(run, &out->config, e);
    if (!rc) rc = why_read_curve(s, run->id, "loss", &out->loss, e);
    if (!rc) rc = why_read_curve(s, run->id, "grad_norm", &out->norm, e);
    if (!rc) rc = store_evaluations(s, run->id, &out->evals, e);
    if (!rc) rc = read_differs(s, out, e);
    if (!rc) rc = read_seeds(s, out, e);
    if (!rc) rc = read_tries(s, out, e);
    if (!rc) {
        const struct run_config *c = &out->config;
        out->tasks = c->tasks ? c->tasks : 1;
        out->task = xcalloc((size_t)out->tasks, sizeof *out->task);
        for (int i = 0; i < c->tasks; i++)
            why_read_task(out, &out->task[i], c->of[i].task_name, c->of[i].metric);
        if (!c->tasks) why_read_task(out, &out->task[0], "", run->metric);
        take_reports(out);
        why_moved_read(out, &out->moved);
    }
    if (rc) why_run_release(out);
    return rc;
}

void why_run_release(struct why_run *r) {
    for (int i = 0; i < r->tasks; i++) {
        free(r->task[i].split_name);
        free(r->task[i].eval);
    }
    free(r->task);
    for (int i = 0; i < r->reports; i++) report_facts_release(&r->report[i]);
    free(r->report);
    free(r->loss.step), free(r->loss.value);
    why_moved_release(&r->moved);
    free(r->norm.step), free(r->norm.value);
    store_evals_release(&r->evals);
    config_release(&r->config);
    *r = (struct why_run){ 0 };
}
