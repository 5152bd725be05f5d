/* adapt: a run on a few rows of a new task. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs/shots.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"

/* ---- options ---- */

/* Those that say which rows, and how they are read. */
static int read_rows(const struct args *a, struct run_config *c, struct err *e) {
    static const char *const rows[] = { "task", "train", "dev", "text", "text-b", "label", "source", "target", "kind",
                                        "positive", "delimiter", "no-gold", "metric" };
    static const char *const flags[] = { "header", "no-header", "official-dev" };
    int rc = 0;
    for (size_t i = 0; i < COUNT_OF(rows) && !rc; i++)
        if (args_get(a, rows[i])) rc = config_set(c, rows[i], args_get(a, rows[i]), e);
    for (size_t i = 0; i < COUNT_OF(flags) && !rc; i++)
        if (args_flag(a, flags[i])) rc = config_set(c, flags[i], "on", e);
    if (rc) return rc;
    if (!c->task && !(c->train_file && c->dev_file))
        return err_set(e, ERR_USAGE, "give the new task: --task, or --train with --dev");
    if (c->task && (c->train_file || c->dev_file))
        return err_set(e, ERR_USAGE, "give --task, or --train with --dev, not both");
    return 0;
}

static int read_start(const struct args *a, struct shots_request *r, struct err *e) {
    const char *prototype = args_get(a, "prototype"), *start = args_get(a, "start"), *said = prototype ? prototype : start;
    if (prototype && start) return err_set(e, ERR_USAGE, "give --prototype or --start, not both");
    if (!said) return 0;
    static const enum fewshot_start of_prototype[] = { FEWSHOT_VOTE, FEWSHOT_RANDOM, FEWSHOT_WORST },
                                    of_start[] = { FEWSHOT_LOWEST, FEWSHOT_MEAN };
    const enum fewshot_start *known = prototype ? of_prototype : of_start;
    size_t n = prototype ? COUNT_OF(of_prototype) : COUNT_OF(of_start), i = 0;
    while (i < n && strcmp(fewshot_start_name(known[i]), said)) i++;
    r->start_said = true;
    r->how.start = i < n ? known[i] : FEWSHOT_NAMED;
    if (strlen(said) >= sizeof r->how.named) return err_set(e, ERR_USAGE, "\"%.80s\" is no task of the run", said);
    strcpy(r->how.named, said);
    return 0;
}

static int read_request(const struct args *a, struct shots_request *r, struct err *e) {
    int64_t draws = 5, steps = 100;
    const char *tune = args_get(a, "tune"), *lr = args_get(a, "lr");
    r->eval_rows = r->seed = -1;
    r->how.parts = PLAN_ROW | PLAN_OF_HEAD;
    r->how.zero = args_flag(a, "zero");
    r->how.keep = args_flag(a, "keep");
    r->note = args_get(a, "note");
    r->model = args_get(a, "model");
    const char *k = args_get(a, "k");
    int rc = fewshot_parse_ks(k ? k : "16", &r->how, e);
    if (!rc) rc = args_int(a, "draws", 1, FEWSHOT_DRAWS, &draws, e);
    if (!rc) rc = args_int(a, "steps", 1, 1000000000, &steps, e);
    if (!rc) rc = args_int(a, "batch", 1, 65536, &r->batch, e);
    if (!rc) rc = args_int(a, "eval-rows", 0, 1000000000, &r->eval_rows, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &r->seed, e);
    if (!rc && tune) rc = fewshot_parse_parts(tune, &r->how.parts, e);
    if (!rc && lr && (!text_to_double(lr, &r->lr) || !(r->lr > 0) || !isfinite(r->lr)))
        rc = err_set(e, ERR_USAGE, "--lr %s: must be a number above 0", lr);
    r->how.draws = (int)draws;
    r->steps = steps;
    return rc ? rc : read_start(a, r, e);
}

/* ---- while it trains ---- */

static void say(void *self, const char *text) {
    (void)self;
    char *shown = text_visible(text, strlen(text));
    fprintf(stderr, "petri: %s\n", shown);
    free(shown);
}

static void told(void *self, int64_t run, const struct fewshot_result *x, const char *metric) {
    (void)self;
    const struct fewshot_metric *m = fewshot_metric(&x->scores, metric), *zero = fewshot_metric(&x->zero, metric);
    fprintf(stderr, "#%lld %s k=%d draw %d:  %s ", (long long)run, x->task, x->k, x->draw, metric);
    if (m && !*m->undefined) fprintf(stderr, "%.4f", m->value);
    else fprintf(stderr, "undefined (%s)", m ? m->undefined : "not measured");
    if (zero && !*zero->undefined) fprintf(stderr, "  before %.4f", zero->value);
    if (*x->start) fprintf(stderr, "  from %s", x->start);
    fprintf(stderr, "  %lld steps, loss %.4f, %.1f s%s\n", (long long)x->steps, x->loss, x->seconds,
            x->scores.none_valid ? "  no answer is valid!" : x->scores.constant ? "  constant predictions!" : "");
}

static bool stop(void *self) {
    (void)self;
    return verb_interrupted();
}

static const struct shots_hook hook = { NULL, say, told, stop };

/* ---- what it came to ---- */

static void number(double v, bool has, char out[32]) {
    if (has) snprintf(out, 32, "%.4f", v);
    else snprintf(out, 32, "-");
}

void verb_shots_print(const struct shots_results *r) {
    static const char *const heading[] = { "task", "k", "from", "metric", "mean", "sd", "n", "majority", "before" };
    struct table t;
    table_init(&t, COUNT_OF(heading), heading, "lrllrrrrr");
    for (int i = 0; i < r->how.ks; i++) {
        struct fewshot_summary s = fewshot_sum_up(&r->results, r->task, r->how.k[i], r->metric, false);
        struct fewshot_summary zero = fewshot_sum_up(&r->results, r->task, r->how.k[i], r->metric, true);
        char k[32], mean[32], sd[32], n[32], majority[32], before[32];
        snprintf(k, sizeof k, "%d", r->how.k[i]);
        snprintf(n, sizeof n, "%d", s.n);
        number(s.mean, s.n > 0, mean);
        number(s.sd, s.n > 1, sd);
        number(s.majority, !isnan(s.majority), majority);
        number(zero.mean, zero.n > 0, before);
        const char *from = fewshot_most(&r->results, r->task, r->how.k[i]);
        table_add(&t, (const char *[]){ r->task, k, from ? from : "-", r->metric, mean, sd, n, majority, before });
    }
    table_print(&t);
}

static int print(struct store *s, int64_t id, bool json, struct err *e) {
    struct store_run run;
    struct shots_results results;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    rc = shots_results(s, &run, &results, e);
    store_run_release(&run);
    if (rc) return rc;
    if (json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_int(&b, "run", (long long)id);
        json_member_string(&b, "task", results.task);
        json_add_key(&b, "results");
        shots_results_list(&results, &b);
        buf_putc(&b, '}');
        out_line(&b);
        buf_release(&b);
    } else {
        printf("run %lld\n", (long long)id);
        verb_shots_print(&results);
    }
    shots_results_release(&results);
    return 0;
}

static int train(const struct args *a, struct store *s, struct shots *x, int workers, struct err *e) {
    int64_t id = shots_id(x);
    verb_catch_signals();
    int rc = shots_train(x, workers, e);
    shots_free(x);
    return rc ? rc : print(s, id, args_flag(a, "json"), e);
}

int verb_resume_shots(const struct args *a, struct store *s, int64_t run, int workers, struct err *e) {
    struct shots *x;
    int rc = shots_resume(s, run, args_get(a, "model"), hook, &x, e);
    return rc ? rc : train(a, s, x, workers, e);
}

int verb_adapt(const struct args *a, struct err *e) {
    struct shots_request r = { 0 };
    struct run_config rows;
    struct store *s = NULL;
    struct shots *x;
    int workers;
    config_init(&rows);
    r.rows = &rows;
    int rc = read_rows(a, &rows, e);
    if (!rc) rc = read_request(a, &r, e);
    if (!rc) rc = verb_workers(a, &workers, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) {
        config_release(&rows);
        return rc;
    }
    rc = store_find(s, a->positional[0], &r.parent, e);
    if (!rc) rc = shots_new(s, &r, hook, &x, e);
    config_release(&rows);
    if (!rc) rc = train(a, s, x, workers, e);
    return verb_close(s, rc, e);
}
