/* adapt: a run on a few rows of a new task; fewshot: a table of tasks. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "app/verbs/shots_table.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/train/sweep.h"

/* ---- options ---- */

/* Those that say which rows, and how they are read. */
static int verb_adapt_read_rows(const struct args *a, struct run_config *c, struct err *e) {
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

static int verb_adapt_read_start(const struct args *a, struct shots_request *r, struct err *e) {
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
    int rc = verb_run_name(a, &r->name, e);
    if (!rc) rc = fewshot_parse_ks(k ? k : ks, &r->how, e);
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
    return rc ? rc : verb_adapt_read_start(a, r, e);
}

/* ---- while it trains ---- */

static void verb_adapt_say(void *self, const char *text) {
    (void)self;
    char *shown = text_visible(text, strlen(text));
    fprintf(stderr, "petri: %s\n", shown);
    free(shown);
}

static void verb_adapt_told(void *self, int64_t run, const struct fewshot_result *x, const char *metric) {
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

static bool verb_adapt_stop(void *self) {
    (void)self;
    return verb_interrupted();
}

static const struct shots_hook hook = { NULL, verb_adapt_say, verb_adapt_told, verb_adapt_stop };

/* ---- what it came to ---- */

static void print_shots_json(const struct shots_group *g) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_member_int(&b, "run", g->of[0].run);
    if (g->runs > 1) {
        json_open(&b, "runs", '[');
        for (int i = 0; i < g->runs; i++) json_member_int(&b, NULL, g->of[i].run);
        buf_putc(&b, ']');
    }
    if (g->repeats) json_member_string(&b, "repeats", g->repeats);
    if (g->runs == 1 && !g->of[0].table) json_member_string(&b, "task", g->of[0].of[0].task);
    json_add_key(&b, "results");
    shots_results_list(g->of, g->runs, &b);
    buf_putc(&b, '}');
    out_line(&b);
}

static void print_shots(const struct args *a, const struct shots_group *g) {
    if (args_flag(a, "json")) {
        print_shots_json(g);
    } else if (args_flag(a, "csv")) {
        struct buf b = BUF_INIT;
        shots_group_csv(g, &b);
        out_lines(buf_text(&b));
        buf_release(&b);
    } else {
        fputs(g->runs > 1 ? "runs" : "run", stdout);
        for (int i = 0; i < g->runs; i++) printf(" %lld", (long long)g->of[i].run);
        putchar('\n');
        if (g->repeats) printf("%s\n", g->repeats);
        shots_table_print(g->of, g->runs);
    }
}

static int print_shots_of(const struct args *a, struct store *s, const int64_t *run, int runs, struct err *e) {
    struct shots_group g;
    int rc = shots_group_open(s, run, runs, &g, e);
    if (rc) return rc;
    print_shots(a, &g);
    shots_group_release(&g);
    return 0;
}

/* One after another; those that an interrupt leaves can be resumed like the one it stopped. */
static int train_shots(const struct args *a, struct store *s, struct shots **x, int n, int workers, struct err *e) {
    int64_t *id = xcalloc((size_t)n, sizeof *id);
    int rc = 0;
    verb_catch_signals();
    for (int i = 0; i < n; i++) {
        id[i] = shots_id(x[i]);
        if (!rc) rc = shots_train(x[i], workers, e);
        shots_free(x[i]);
    }
    if (!rc) rc = print_shots_of(a, s, id, n, e);
    free(id);
    return rc;
}

int verb_resume_shots(const struct args *a, struct store *s, int64_t run, int workers, struct err *e) {
    struct shots *x;
    int rc = shots_resume(s, run, args_get(a, "model"), hook, &x, e);
    return rc ? rc : train_shots(a, s, &x, 1, workers, e);
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
    int rc = verb_adapt_read_rows(a, &rows, e);
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
    if (!rc) rc = train_shots(a, s, &x, 1, workers, e);
    return verb_close(s, rc, e);
}

/* ---- tables ---- */

/* A method (NULL: the usual one) and options of its own. */
static int verb_adapt_read_base(const struct args *a, const char *method, struct run_config *c,
                                struct err *e) {
    static const char *const options[] = { "model", "max-len", "max-target", "optimiser", "momentum", "weight-decay", "schedule",
                                           "warmup", "clip", "dropout", "form" };
    int rc = 0;
    config_init(c);
    for (size_t i = 0; i < COUNT_OF(options) && !rc; i++)
        if (args_get(a, options[i])) rc = config_set(c, options[i], args_get(a, options[i]), e);
    char *whole = !rc && method ? verb_method(a, method, e) : NULL;
    if (!rc && method) rc = whole ? config_set(c, "method", whole, e) : e->code;
    free(whole);
    if (!rc && !c->model) config_take_model(c, verb_model(a));
    if (rc) config_release(c);
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

/* The methods that --method lists, {a,b} as in petri sweep; one cell without text where it is not given. */
static int list_methods(const struct args *a, struct sweep_cells *out, struct err *e) {
    struct sweep_spec spec;
    const char *text = args_get(a, "method");
    *out = (struct sweep_cells){ 0 };
    if (!text) return 0;
    sweep_init(&spec);
    int rc = sweep_set(&spec, "method", text, e);
    if (!rc) rc = sweep_expand(&spec, out, e);
    sweep_release(&spec);
    return rc;
}

/* Runs of the methods, all of which can be done before the first has its row. */
static int open_methods(const struct args *a, struct store *s, const struct shots_request *r, const struct sweep_cells *m,
                        struct shots **x, int *opened, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < (m->count ? m->count : 1); i++) {
        struct run_config base;
        rc = verb_adapt_read_base(a, m->count ? m->cell[i].text[0] : NULL, &base, e);
        if (rc) break;
        struct shots_request of_method = *r;
        of_method.base = &base;
        struct shots_hook quiet = hook; /* what is left out is said once */
        if (i) quiet.say = NULL;
        rc = shots_prepare(s, &of_method, quiet, &x[i], e);
        config_release(&base);
        if (!rc) ++*opened;
        else if (m->count > 1) rc = err_prefix(e, "method %s", m->cell[i].text[0]);
    }
    for (int i = 0; !rc && i < *opened; i++) rc = shots_begin(x[i], r, i ? shots_id(x[0]) : 0, e);
    return rc;
}

static int train_table(const struct args *a, struct store *s, struct shots_request *r, int workers, struct err *e) {
    struct sweep_cells m;
    int rc = list_methods(a, &m, e), opened = 0;
    if (rc) return rc;
    struct shots **x = xcalloc((size_t)m.count + 1, sizeof(struct shots *));
    if (args_get(a, "from")) rc = store_find(s, args_get(a, "from"), &r->parent, e);
    if (!rc) rc = open_methods(a, s, r, &m, x, &opened, e);
    if (!rc) rc = train_shots(a, s, x, opened, workers, e);
    else
        for (int i = 0; i < opened; i++) shots_free(x[i]);
    free(x);
    sweep_cells_release(&m);
    return rc;
}

/* Runs that are there: one with all that were asked for with it, or those that are named. */
static int show_tables(const struct args *a, struct err *e) {
    struct store *s;
    struct shots_group g;
    int64_t *run = xcalloc((size_t)a->count, sizeof *run);
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) {
        free(run);
        return rc;
    }
    for (int i = 0; !rc && i < a->count; i++) rc = store_find(s, a->positional[i], &run[i], e);
    if (!rc) rc = a->count > 1 ? shots_group_open(s, run, a->count, &g, e) : shots_group_of(s, run[0], &g, e);
    if (!rc) {
        print_shots(a, &g);
        shots_group_release(&g);
    }
    free(run);
    return verb_close(s, rc, e);
}

int verb_fewshot(const struct args *a, struct err *e) {
    struct shots_request r = { .tasks = args_get(a, "tasks"), .method_said = args_get(a, "method") != NULL,
                               .how = { .draws = 10, .start = FEWSHOT_LOWEST } };
    struct store *s = NULL;
    int workers;
    if (args_flag(a, "json") && args_flag(a, "csv")) return err_set(e, ERR_USAGE, "give --json or --csv, not both");
    if (a->count && (r.tasks || r.method_said || args_get(a, "from")))
        return err_set(e, ERR_USAGE, "give runs to show what they came to, or --tasks to train");
    if (a->count) return show_tables(a, e);
    if (!r.tasks) return err_set(e, ERR_USAGE, "give --tasks: a folder of LEOPARD's layout, one of such, or a list of tasks");
    if (args_get(a, "from")) r.model = args_get(a, "model");
    int rc = read_request(a, &r, "4,8,16", e);
    if (!rc) rc = read_stop(a, &r, e);
    if (!rc) rc = check_alone(a, e);
    if (!r.batch) r.how.per_class = 4;
    if (!rc) rc = verb_workers(a, &workers, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    return verb_close(s, train_table(a, s, &r, workers, e), e);
}
