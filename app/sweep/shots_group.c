#include "app/sweep/shots_group.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/run_row.h"
#include "core/analysis/statistics.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/evidence.h"

/* ---- selecting runs ---- */

/* *of: the evidence that decides whether the run counts; the caller owns its key and weights. */
static int open_results(struct store *s, int64_t id, struct shots_results *out, struct evidence *of,
                        struct err *e) {
    struct store_run run;
    char key[65];
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    if (!run_row_is_fewshot(&run))
        rc = err_set(e, ERR_USAGE,
                     "run %lld is not a few-shot run; petri fewshot and petri adapt create them",
                     (long long)id);
    if (!rc) rc = evidence_key(run.config, run.parent, EVIDENCE_RUN, key, e);
    if (!rc) rc = shots_results(s, &run, out, e);
    bool finished = run.state == STORE_FINISHED;
    if (!rc)
        *of = (struct evidence){ .key = finished ? xstrdup(key) : NULL,
                                 .weights = xcopy(run.weights_sha256),
                                 .run = id,
                                 .ended = run.ended };
    store_run_release(&run);
    return rc;
}

/* Omits runs that repeat another one. */
static void leave_repeats_out(struct shots_group *g, struct evidence *of) {
    struct buf said = BUF_INIT;
    int kept = 0;
    evidence_settle(of, (size_t)g->runs);
    for (int i = 0; i < g->runs; i++) {
        bool twice = false; /* named twice */
        for (int k = 0; k < kept; k++) twice |= g->of[k].run == of[i].run;
        if (of[i].counted == of[i].run && !twice) {
            g->of[kept++] = g->of[i];
            continue;
        }
        shots_results_release(&g->of[i]);
        if (!twice)
            buf_printf(&said, "%srun %lld repeats run %lld (same configuration, seed and data%s)",
                       said.size ? "; " : "", (long long)of[i].run, (long long)of[i].counted,
                       of[i].differs ? "; different weights, only the newest is used" : "");
    }
    g->runs = kept;
    if (said.size) g->repeats = buf_take(&said);
    buf_release(&said);
}

int shots_group_open(struct store *s, const int64_t *run, int runs, struct shots_group *out, struct err *e) {
    struct evidence *of = xcalloc((size_t)runs + 1, sizeof *of);
    *out = (struct shots_group){ .of = xcalloc((size_t)runs + 1, sizeof *out->of) };
    int rc = 0;
    for (int i = 0; i < runs && !rc; i++)
        if (!(rc = open_results(s, run[i], &out->of[i], &of[i], e))) out->runs++;
    if (rc) shots_group_release(out);
    else leave_repeats_out(out, of);
    for (int i = 0; i < runs; i++) free((char *)(uintptr_t)of[i].key), free((char *)(uintptr_t)of[i].weights);
    free(of);
    return rc;
}

struct group_ids {
    int64_t *id;
    size_t count, room;
};
static int take_group_id(void *self, int count, const struct store_cell *cells) {
    struct group_ids *l = self;
    (void)count;
    GROW(l->id, l->room, l->count + 1);
    l->id[l->count++] = cells[0].integer;
    return 0;
}

int shots_group_of(struct store *s, int64_t run, struct shots_group *out, struct err *e) {
    struct group_ids l = { 0 };
    *out = (struct shots_group){ 0 };
    if (shots_group_open(s, &run, 1, out, e)) return e->code;
    int64_t first = out->of[0].with ? out->of[0].with : run;
    shots_group_release(out);
    char *sql = xprintf("SELECT id FROM run WHERE id = %lld OR (trashed IS NULL AND (id = %lld OR "
                        "json_extract(config, '$.fewshot.with') = %lld)) ORDER BY id",
                        (long long)run, (long long)first, (long long)first);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &l, .row = take_group_id }, e);
    free(sql);
    if (!rc) rc = shots_group_open(s, l.id, (int)l.count, out, e);
    free(l.id);
    return rc;
}

void shots_group_release(struct shots_group *g) {
    for (int i = 0; i < g->runs; i++) shots_results_release(&g->of[i]);
    free(g->of), free(g->repeats);
    *g = (struct shots_group){ 0 };
}

char *shots_label(const struct shots_results *r) {
    return r->from ? xprintf("%s from #%lld", r->method, (long long)r->from) : xstrdup(r->method);
}

/* ---- over the tasks ---- */

/* Returns the mean of one draw over the tasks; NaN if one has no value. */
static double draw_over_tasks(const struct shots_results *r, int k, int draw) {
    double sum = 0;
    for (int t = 0; t < r->tasks; t++) {
        const struct fewshot_result *x = fewshot_find(&r->results, r->of[t].task, k, draw);
        const struct fewshot_metric *m = x ? fewshot_metric(&x->scores, r->of[t].metric) : NULL;
        if (!m || *m->undefined) return NAN;
        sum += m->value;
    }
    return r->tasks ? sum / r->tasks : NAN;
}

struct shots_point shots_point(const struct shots_results *r, int k) {
    struct shots_point p = { NAN, NAN, 0, 0 };
    double sum = 0, *of_draw = xcalloc((size_t)r->how.draws + 1, sizeof *of_draw);
    for (int t = 0; t < r->tasks; t++) {
        struct fewshot_summary s = fewshot_sum_up(&r->results, r->of[t].task, k, r->of[t].metric, false);
        if (!s.n) continue;
        sum += s.mean;
        p.tasks++;
    }
    if (p.tasks) p.mean = sum / p.tasks;
    for (int d = 0; d < r->how.draws; d++) {
        double v = draw_over_tasks(r, k, d);
        if (isfinite(v)) of_draw[p.draws++] = v;
    }
    p.sd = spread_of(of_draw, (size_t)p.draws).sd;
    free(of_draw);
    return p;
}

/* ---- task by task ---- */

static int largest_common_k(const struct shots_group *g) {
    for (int i = g->runs ? g->of[0].how.ks - 1 : -1; i >= 0; i--) {
        bool all = true;
        for (int r = 1; r < g->runs; r++) all &= shots_results_have_k(&g->of[r], g->of[0].how.k[i]);
        if (all) return g->of[0].how.k[i];
    }
    return 0;
}

/* Returns false if one of the runs has no value for the task. */
static bool fill_gain(const struct shots_group *g, int k, const char *task, struct shots_gain *x) {
    *x = (struct shots_gain){ .task = task,
                              .value = xcalloc((size_t)g->runs, sizeof *x->value),
                              .majority = NAN };
    bool all = true;
    for (int r = 0; r < g->runs; r++) {
        const struct shots_result_task *t = shots_results_find(&g->of[r], task);
        struct fewshot_summary s = { 0 };
        if (t) s = fewshot_sum_up(&g->of[r].results, task, k, t->metric, false);
        all &= s.n > 0;
        x->value[r] = s.n ? s.mean : NAN;
        if (s.n && isfinite(s.majority)) x->majority = s.majority;
    }
    x->gain = g->runs > 1 ? x->value[g->runs - 1] - x->value[0] : x->value[0] - x->majority;
    return all;
}

static int by_gain(const void *a, const void *b) {
    const struct shots_gain *x = a, *y = b;
    double gx = isnan(x->gain) ? -INFINITY : x->gain, gy = isnan(y->gain) ? -INFINITY : y->gain;
    return gx > gy ? -1 : gx < gy ? 1 : strcmp(x->task, y->task);
}

void shots_gains(const struct shots_group *g, struct shots_gains *out) {
    *out = (struct shots_gains){ .k = largest_common_k(g) };
    if (!out->k) return;
    out->of = xcalloc((size_t)g->of[0].tasks + 1, sizeof *out->of);
    for (int t = 0; t < g->of[0].tasks; t++) {
        struct shots_gain *x = &out->of[out->count];
        if (fill_gain(g, out->k, g->of[0].of[t].task, x)) out->count++;
        else free(x->value);
    }
    if (out->count) qsort(out->of, (size_t)out->count, sizeof *out->of, by_gain);
}

void shots_gains_release(struct shots_gains *g) {
    for (int i = 0; i < g->count; i++) free(g->of[i].value);
    free(g->of);
    *g = (struct shots_gains){ 0 };
}

/* ---- as a table ---- */

const struct report_column shots_line_columns[] = {
    { "run", REPORT_LONG, offsetof(struct shots_line, run), .forms = REPORT_CSV },
    { "method", REPORT_TEXT, offsetof(struct shots_line, method), .forms = REPORT_CSV },
    { "from", REPORT_ID, offsetof(struct shots_line, from), .forms = REPORT_CSV },
    { "task", REPORT_TEXT, .offset = offsetof(struct shots_line, task) },
    { "method", REPORT_TEXT, offsetof(struct shots_line, label), .forms = REPORT_TABLE },
    { "k", REPORT_INT, .offset = offsetof(struct shots_line, k) },
    { "from", REPORT_TEXT, offsetof(struct shots_line, start), .forms = REPORT_TABLE },
    { "metric", REPORT_TEXT, .offset = offsetof(struct shots_line, metric) },
    { "mean", REPORT_DOUBLE, offsetof(struct shots_line, of.mean), .decimals = 4 },
    { "sd", REPORT_DOUBLE, offsetof(struct shots_line, of.sd), .decimals = 4 },
    { "n", REPORT_INT, .offset = offsetof(struct shots_line, of.n) },
    { "majority", REPORT_DOUBLE, offsetof(struct shots_line, of.majority), .decimals = 4 },
    { "f1_macro", REPORT_DOUBLE, offsetof(struct shots_line, f1_macro), .decimals = 4 },
    { "before", REPORT_DOUBLE, offsetof(struct shots_line, before), .decimals = 4, .forms = REPORT_TABLE },
    { 0 },
};

struct shots_line shots_line(const struct shots_results *r, const struct shots_result_task *t, int k) {
    const struct fewshot_results *of = &r->results;
    return (struct shots_line){
        .run = r->run, .from = r->from, .method = r->method, .task = t->task, .metric = t->metric, .k = k,
        .start = fewshot_most(of, t->task, k), .of = fewshot_sum_up(of, t->task, k, t->metric, false),
        .f1_macro = fewshot_sum_up(of, t->task, k, "f1_macro", false).mean,
        .before = fewshot_sum_up(of, t->task, k, t->metric, true).mean,
    };
}

void shots_group_csv(const struct shots_group *g, struct buf *b) {
    struct shots_line *line = NULL;
    size_t n = 0, room = 0;
    for (int r = 0; r < g->runs; r++)
        for (int t = 0; t < g->of[r].tasks; t++)
            for (int k = 0; k < g->of[r].how.ks; k++) {
                GROW(line, room, n + 1);
                line[n++] = shots_line(&g->of[r], &g->of[r].of[t], g->of[r].how.k[k]);
            }
    report_rows(shots_line_columns, REPORT_CSV, line, n, sizeof *line, b);
    free(line);
}
