/* adapt: a run on a few rows of a new task; fewshot: a table of tasks. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs/shots.h"
#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/leopard.h"
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

/* What both verbs ask for; *r has the defaults. */
static int read_request(const struct args *a, struct shots_request *r, const char *ks, struct err *e) {
    int64_t draws = r->how.draws;
    const char *tune = args_get(a, "tune"), *lr = args_get(a, "lr");
    r->eval_rows = r->seed = -1;
    r->how.zero = args_flag(a, "zero");
    r->how.keep = args_flag(a, "keep");
    r->note = args_get(a, "note");
    const char *k = args_get(a, "k");
    int rc = fewshot_parse_ks(k ? k : ks, &r->how, e);
    if (!rc) rc = args_int(a, "draws", 1, FEWSHOT_DRAWS, &draws, e);
    if (!rc) rc = args_int(a, "steps", 1, 1000000000, &r->steps, e);
    if (!rc) rc = args_int(a, "batch", 1, 65536, &r->batch, e);
    if (!rc) rc = args_int(a, "eval-rows", 0, 1000000000, &r->eval_rows, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &r->seed, e);
    if (!rc && tune) rc = fewshot_parse_parts(tune, &r->how.parts, e);
    if (!rc && lr && (!text_to_double(lr, &r->lr) || !(r->lr > 0) || !isfinite(r->lr)))
        rc = err_set(e, ERR_USAGE, "--lr %s: must be a number above 0", lr);
    r->how.draws = (int)draws;
    r->tune_said = tune != NULL;
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
    if (*x->left_out) {
        char *why = text_visible(x->left_out, strlen(x->left_out));
        fprintf(stderr, "#%lld %s k=%d draw %d is left out: %s\n", (long long)run, x->task, x->k, x->draw, why);
        free(why);
        return;
    }
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

static void add_line(struct table *t, const struct shots_results *r, const struct shots_result_task *of, int k) {
    struct fewshot_summary s = fewshot_sum_up(&r->results, of->task, k, of->metric, false);
    struct fewshot_summary zero = fewshot_sum_up(&r->results, of->task, k, of->metric, true);
    struct fewshot_summary f1 = fewshot_sum_up(&r->results, of->task, k, "f1_macro", false);
    char rows[32], mean[32], sd[32], n[32], majority[32], before[32], macro[32];
    snprintf(rows, sizeof rows, "%d", k);
    snprintf(n, sizeof n, "%d", s.n);
    number(s.mean, s.n > 0, mean);
    number(s.sd, s.n > 1, sd);
    number(s.majority, !isnan(s.majority), majority);
    number(f1.mean, f1.n > 0, macro);
    number(zero.mean, zero.n > 0, before);
    const char *from = fewshot_most(&r->results, of->task, k);
    table_add(t, (const char *[]){ of->task, rows, from ? from : "-", of->metric, mean, sd, n, majority, macro, before });
}

static bool has_k(const struct shots_results *r, int k) {
    for (int i = 0; i < r->how.ks; i++)
        if (r->how.k[i] == k) return true;
    return false;
}

static bool has_task(const struct shots_results *r, const char *task) {
    for (int i = 0; i < r->tasks; i++)
        if (!strcmp(r->of[i].task, task)) return true;
    return false;
}

static bool same_cell(const struct leopard_cell *a, const struct leopard_cell *b) {
    return a->k == b->k && (a->task && b->task ? !strcmp(a->task, b->task) : a->task == b->task);
}

/* What was published of the table's tasks and, never beside their mean here, over all 17. */
static void print_published(const struct shots_results *r) {
    const struct leopard_cell *x, *last = NULL;
    for (int i = 0; (x = leopard_cell(i)); i++) {
        if (!has_k(r, x->k) || (x->task && !has_task(r, x->task))) continue;
        if (last && same_cell(last, x)) fputs(", ", stdout);
        else if (x->task) printf("%spublished, BERT-base: %s k=%d accuracy in %%: ", last ? "\n" : "", x->task, x->k);
        else printf("%spublished means over all 17 tasks, not those %d: k=%d: ", last ? "\n" : "", r->tasks, x->k);
        printf("%s %.1f", x->method, x->mean);
        if (!isnan(x->sd)) printf(" \u00b1 %.1f", x->sd);
        if (x->remark) printf(" (%s)", x->remark);
        last = x;
    }
    if (last) putchar('\n');
}

void verb_shots_print(const struct shots_results *r) {
    static const char *const heading[] = { "task", "k", "from", "metric", "mean", "sd", "n", "majority", "f1_macro",
                                           "before" };
    struct table t;
    table_init(&t, COUNT_OF(heading), heading, "lrllrrrrrr");
    for (int i = 0; i < r->tasks; i++)
        for (int k = 0; k < r->how.ks; k++) add_line(&t, r, &r->of[i], r->how.k[k]);
    table_print(&t);
    for (int i = 0; i < r->left_outs; i++) {
        out_text(r->left_out[i].task);
        fputs(" is left out: ", stdout);
        out_text(r->left_out[i].why);
        putchar('\n');
    }
    for (int i = 0; i < r->results.count; i++) {
        const struct fewshot_result *x = &r->results.of[i];
        if (!*x->left_out) continue;
        out_text(x->task);
        printf(" k=%d draw %d is left out: ", x->k, x->draw);
        out_text(x->left_out);
        putchar('\n');
    }
    if (r->table && r->how.files) print_published(r);
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
        if (!results.table) json_member_string(&b, "task", results.of[0].task);
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
    struct shots_request r = { .steps = 100, .model = args_get(a, "model"),
                               .how = { .draws = 5, .parts = PLAN_ROW | PLAN_OF_HEAD } };
    struct run_config rows;
    struct store *s = NULL;
    struct shots *x;
    int workers;
    config_init(&rows);
    r.rows = &rows;
    int rc = read_rows(a, &rows, e);
    if (!rc) rc = read_request(a, &r, "16", e);
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

/* ---- tables ---- */

/* A method and options of its own. */
static int read_base(const struct args *a, struct run_config *c, struct err *e) {
    static const char *const options[] = { "model", "method", "max-len", "max-target", "optimiser", "momentum",
                                           "weight-decay", "schedule", "warmup", "clip", "dropout", "form" };
    int rc = 0;
    config_init(c);
    for (size_t i = 0; i < COUNT_OF(options) && !rc; i++)
        if (args_get(a, options[i])) rc = config_set(c, options[i], args_get(a, options[i]), e);
    if (!rc && !c->model) config_take_model(c, DEFAULT_MODEL);
    return rc;
}

static int read_stop(const struct args *a, struct shots_request *r, struct err *e) {
    const char *stop = args_get(a, "stop-loss");
    if (stop && args_get(a, "steps")) return err_set(e, ERR_USAGE, "give --steps or --stop-loss, not both");
    r->how.usual_stop = !stop && !args_get(a, "steps");
    if (stop && (!text_to_double(stop, &r->how.stop_loss) || !(r->how.stop_loss > 0)))
        return err_set(e, ERR_USAGE, "--stop-loss %s: must be a number above 0", stop);
    return 0;
}

/* Options that a run brings along, where no method of its own is given. */
static int check_alone(const struct args *a, struct err *e) {
    static const char *const own[] = { "max-len", "max-target", "optimiser", "momentum", "weight-decay", "schedule",
                                       "warmup", "clip", "dropout", "form" };
    if (!args_get(a, "from") || args_get(a, "method")) return 0;
    for (size_t i = 0; i < COUNT_OF(own); i++)
        if (args_get(a, own[i]))
            return err_set(e, ERR_USAGE, "--%s: --from alone learns as that run did; give --method too", own[i]);
    return 0;
}

int verb_fewshot(const struct args *a, struct err *e) {
    struct shots_request r = { .tasks = args_get(a, "tasks"), .method_said = args_get(a, "method") != NULL,
                               .how = { .draws = 10, .start = FEWSHOT_LOWEST } };
    struct run_config base;
    struct store *s = NULL;
    struct shots *x;
    int workers;
    if (!r.tasks) return err_set(e, ERR_USAGE, "give --tasks: a folder of LEOPARD's layout, one of such, or a list of tasks");
    int rc = read_base(a, &base, e);
    r.base = &base;
    if (args_get(a, "from")) r.model = args_get(a, "model");
    if (!rc) rc = read_request(a, &r, "4,8,16", e);
    if (!rc) rc = read_stop(a, &r, e);
    if (!rc) rc = check_alone(a, e);
    if (!r.batch) r.how.per_class = 4;
    if (!rc) rc = verb_workers(a, &workers, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) {
        config_release(&base);
        return rc;
    }
    if (args_get(a, "from")) rc = store_find(s, args_get(a, "from"), &r.parent, e);
    if (!rc) rc = shots_new(s, &r, hook, &x, e);
    config_release(&base);
    if (!rc) rc = train(a, s, x, workers, e);
    return verb_close(s, rc, e);
}
