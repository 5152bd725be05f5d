#include "app/sweep/expected.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/sweep/halving.h"
#include "app/sweep/tune.h"
#include "core/base/mem.h"
#include "core/train/config/regime.h"

/* The factors of the time of a step, except the method. */
static char *conditions_of(const struct run_config *c) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s %s %d %d %d %d %d %d %d %d", c->model_sha256 ? c->model_sha256 : "",
               config_regime_given(c), c->precision, c->recompute, c->batch, c->accumulate, c->max_len,
               c->max_target, c->eval_every, c->eval_rows);
    for (int i = 0; i < config_task_count(c); i++) {
        const struct run_config *rows = config_data_of(c, i);
        buf_printf(&b, " %s %s", rows->train_sha256 ? rows->train_sha256 : "",
                   rows->dev_sha256 ? rows->dev_sha256 : "");
    }
    return buf_take(&b);
}

void expected_note(struct sweep_entry *x, const struct run_config *c) {
    x->conditions = conditions_of(c);
    x->spelled = method_text(&c->method);
    x->steps = c->steps;
}

/* Per cell: sums of the seconds per step, of its own method and of any. */
struct step_rate {
    double own, any;
    int owns, anys;
};
struct rates_read {
    const struct sweep_plan *plan;
    char *kernel[PRECISION_AUTO]; /* of this machine, by precision */
    struct step_rate *of;
    int runs;
};

static int expected_row(void *self, int count, const struct store_cell *cells) {
    struct rates_read *r = self;
    struct run_config c;
    struct err ignored = ERR_INIT;
    (void)count;
    if (!cells[3].text || record_config_text(cells[0].text, &c, &ignored)) return 0;
    char *conditions = conditions_of(&c);
    bool used = false, here = c.precision < PRECISION_AUTO && !strcmp(cells[3].text, r->kernel[c.precision]);
    for (int i = 0; here && i < r->plan->cells.count; i++) {
        const struct sweep_entry *x = &r->plan->entry[i];
        if (!x->valid || strcmp(x->conditions, conditions)) continue;
        bool own = !strcmp(x->spelled, cells[1].text);
        r->of[i].any += cells[2].real, r->of[i].anys++;
        if (own) r->of[i].own += cells[2].real, r->of[i].owns++;
        used = true;
    }
    r->runs += used;
    free(conditions);
    config_release(&c);
    return 0;
}

/* Returns the seconds per step of the cell; NaN: unknown. */
static double expected_rate(const struct step_rate *r) {
    return r->owns ? r->own / r->owns : r->anys ? r->any / r->anys : NAN;
}

/* Counts the runs of a cell that are to be trained, including those that tune its learning rate. */
static int runs_of(const struct sweep_plan *p, int cell) {
    const struct sweep_entry *x = &p->entry[cell];
    int n = 0;
    for (int k = 0; x->valid && k < p->spec.seeds; k++) n += !x->found[k].over;
    for (int i = 0; tune_leads(p, cell) && i < x->tune->rates; i++) n += !x->tune->rate[i].found.over;
    return n;
}

/* Returns the steps of a cell's runs; with rungs, its equal share of all steps. */
static double expected_steps(const struct sweep_plan *p, int cell, double share) {
    return (double)p->entry[cell].steps * runs_of(p, cell) * share;
}

int expected_time(const struct sweep_plan *p, struct store *s, struct expected_time *out, struct err *e) {
    struct rates_read r = { p, { run_row_kernel(PRECISION_F32), run_row_kernel(PRECISION_BF16) },
                            xcalloc((size_t)p->cells.count + 1, sizeof *r.of), 0 };
    static const char sql[] =
        "SELECT config, method, seconds / step, kernel FROM run WHERE state = 'finished' AND trashed IS NULL "
        "AND step > 0 AND seconds > 0 AND imported IS NULL";
    *out = (struct expected_time){ 0 };
    int rc = store_sql(s, sql, (struct store_rows){ .self = &r, .row = expected_row }, e);
    double share = halving_share_of_steps(p);
    for (int i = 0; !rc && i < p->cells.count; i++) {
        if (!runs_of(p, i)) continue;
        double rate = expected_rate(&r.of[i]);
        out->seconds += rate * expected_steps(p, i, share);
        if (isnan(rate) && !out->why)
            out->why = xprintf("cell %d: no finished run on this machine has the same model, data, batch "
                               "size, sequence lengths and evaluations",
                               i + 1);
    }
    out->runs = r.runs;
    free(r.of), free(r.kernel[PRECISION_F32]), free(r.kernel[PRECISION_BF16]);
    return rc;
}

void expected_release(struct expected_time *t) {
    free(t->why);
    *t = (struct expected_time){ 0 };
}

void expected_json(const struct expected_time *t, struct buf *out) {
    json_put(out, "seconds:%g,no_seconds:%1s", t->seconds, t->why);
    if (!t->why) json_member_int(out, "seconds_of", t->runs);
}

void expected_line(const struct expected_time *t, struct buf *out) {
    if (t->why) buf_printf(out, "the training time cannot be estimated: %s\n", t->why);
    else if (t->seconds > 0)
        buf_printf(
            out, "about %.0f s of training in total, estimated from the time per step of %d finished run%s\n",
            ceil(t->seconds), t->runs, t->runs == 1 ? "" : "s");
}
