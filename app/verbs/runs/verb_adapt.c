/* adapt: a run on a few examples of a new task; fewshot: a table of tasks. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/output.h"
#include "app/verbs/runs/shots_table.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/train/config/sweep.h"

/* ---- options ---- */

/* Reads the options of the data. */
static int verb_adapt_read_rows(const struct args *a, struct run_config *c, struct err *e) {
    if (args_config(a, c, e)) return e->code;
    if (!c->task && !(c->train_file && c->dev_file))
        return err_set(e, ERR_USAGE, "petri adapt: requires --task, or --train with --dev");
    if (c->task && (c->train_file || c->dev_file))
        return err_set(e, ERR_USAGE, "--task: cannot be combined with --train and --dev");
    return 0;
}

static int verb_adapt_read_start(const struct args *a, struct shots_request *r, struct err *e) {
    const char *prototype = a->shots.prototype, *start = a->shots.start,
               *said = prototype ? prototype : start;
    if (prototype && start) return err_set(e, ERR_USAGE, "--prototype: cannot be combined with --start");
    if (!said) return 0;
    static const enum fewshot_start of_prototype[] = { FEWSHOT_VOTE, FEWSHOT_RANDOM, FEWSHOT_WORST },
                                    of_start[] = { FEWSHOT_LOWEST, FEWSHOT_MEAN };
    const enum fewshot_start *known = prototype ? of_prototype : of_start;
    size_t n = prototype ? COUNT_OF(of_prototype) : COUNT_OF(of_start), i = 0;
    while (i < n && strcmp(fewshot_start_name(known[i]), said)) i++;
    r->start_said = true;
    r->how.start = i < n ? known[i] : FEWSHOT_NAMED;
    if (strlen(said) >= sizeof r->how.named)
        return err_set(e, ERR_USAGE, "--%s: unknown task: \"%.80s\" is not a task of the run",
                       prototype ? "prototype" : "start", said);
    strcpy(r->how.named, said);
    return 0;
}

/* Reads the options of both verbs; *r has the defaults. */
static int read_request(const struct args *a, struct shots_request *r, const char *ks, struct err *e) {
    const struct shots_options *o = &a->shots;
    r->steps = o->steps, r->batch = o->batch, r->eval_rows = o->eval_rows, r->seed = a->seed, r->lr = o->lr;
    r->how.draws = (int)o->draws, r->how.zero = o->zero, r->how.keep = o->keep;
    r->note = a->note;
    r->cell = a->cell;
    r->tune_said = o->tune != NULL;
    int rc = verb_run_name(a, &r->name, e);
    if (!rc) rc = fewshot_parse_ks(o->k ? o->k : ks, &r->how, e);
    if (!rc && o->tune) rc = fewshot_parse_parts(o->tune, &r->how.parts, e);
    return rc ? rc : verb_adapt_read_start(a, r, e);
}

/* ---- progress ---- */

static void verb_adapt_say(void *self, const char *text) {
    (void)self;
    char *shown = text_visible(text, strlen(text));
    fprintf(stderr, "petri: %s\n", shown);
    free(shown);
}

static void verb_adapt_told(void *self, int64_t run, const struct fewshot_result *x, const char *metric) {
    (void)self;
    const struct fewshot_metric *m = fewshot_metric(&x->scores, metric),
                                *zero = fewshot_metric(&x->zero, metric);
    if (*x->left_out) {
        char *why = text_visible(x->left_out, strlen(x->left_out));
        fprintf(stderr, "#%lld %s k=%d sample %d skipped: %s\n", (long long)run, x->task, x->k, x->draw,
                why);
        free(why);
        return;
    }
    fprintf(stderr, "#%lld %s k=%d sample %d:  %s ", (long long)run, x->task, x->k, x->draw, metric);
    if (m && !*m->undefined) fprintf(stderr, "%.4f", m->value);
    else fprintf(stderr, "undefined (%s)", m ? m->undefined : "not measured");
    if (zero && !*zero->undefined) fprintf(stderr, "  zero-shot %.4f", zero->value);
    if (*x->start) fprintf(stderr, "  from %s", x->start);
    fprintf(stderr, "  %lld step%s, loss %.4f, %.1f s%s\n", (long long)x->steps,
            x->steps == 1 ? "" : "s", x->loss, x->seconds,
            x->scores.none_valid ? "  no valid output"
            : x->scores.constant ? "  predicts one class only"
                                 : "");
}

static bool verb_adapt_stop(void *self) {
    (void)self;
    return verb_interrupted();
}

static const struct shots_hook hook = { NULL, verb_adapt_say, verb_adapt_told, verb_adapt_stop };

/* ---- results ---- */

static void print_shots_json(const struct shots_group *g) {
    struct buf b = BUF_INIT;
    json_put(&b, "{run:%jd", g->of[0].run);
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
    if (a->json) {
        print_shots_json(g);
    } else if (a->csv) {
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

static int print_shots_of(const struct args *a, struct store *s, const int64_t *run, int runs,
                          struct err *e) {
    struct shots_group g;
    int rc = shots_group_open(s, run, runs, &g, e);
    if (rc) return rc;
    print_shots(a, &g);
    shots_group_release(&g);
    return 0;
}

/* Trains one after another; after an interrupt the others can be resumed like the one that was stopped. */
static int train_shots(const struct args *a, struct store *s, struct shots **x, int n, struct err *e) {
    int64_t *id = xcalloc((size_t)n, sizeof *id);
    int rc = 0;
    verb_catch_signals();
    for (int i = 0; i < n; i++) {
        id[i] = shots_id(x[i]);
        if (!rc) rc = shots_train(x[i], verb_workers(a), a->force, e);
        shots_free(x[i]);
    }
    if (!rc) rc = print_shots_of(a, s, id, n, e);
    free(id);
    return rc;
}

int verb_resume_shots(const struct args *a, struct store *s, int64_t run, struct err *e) {
    struct shots *x;
    int rc = shots_resume(s, run, a->model, hook, &x, e);
    return rc ? rc : train_shots(a, s, &x, 1, e);
}

int verb_adapt(const struct args *a, struct err *e) {
    struct shots_request r = { .model = a->model, .how = { .parts = PLAN_ROW | PLAN_OF_HEAD } };
    struct run_config rows;
    struct store *s = NULL;
    struct shots *x;
    config_init(&rows);
    r.rows = &rows;
    int rc = verb_adapt_read_rows(a, &rows, e);
    if (!rc) rc = read_request(a, &r, "16", e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) {
        config_release(&rows);
        return rc;
    }
    rc = store_find(s, a->positional[0], &r.parent, e);
    if (!rc) rc = shots_new(s, &r, hook, &x, e);
    config_release(&rows);
    if (!rc) rc = train_shots(a, s, &x, 1, e);
    return verb_close(s, rc, e);
}

/* ---- tables ---- */

/* Reads a method (NULL: the default) and its options. */
static int verb_adapt_read_base(const struct args *a, const char *method, struct run_config *c,
                                struct err *e) {
    config_init(c);
    int rc = args_config(a, c, e);
    char *whole = !rc && method ? verb_method(a, method, e) : NULL;
    if (!rc && method) rc = whole ? config_set(c, "method", whole, e) : e->code;
    free(whole);
    if (!rc && !c->model) config_take_model(c, verb_model(a));
    if (rc) config_release(c);
    return rc;
}

static int read_stop(const struct args *a, struct shots_request *r, struct err *e) {
    const struct shots_options *o = &a->shots;
    if (o->stop_loss && o->steps) return err_set(e, ERR_USAGE,
        "--steps: cannot be combined with --stop-loss");
    r->how.default_stop = !o->stop_loss && !o->steps;
    r->how.stop_loss = o->stop_loss;
    return 0;
}

/* Refuses options that --from takes from the run, where --method is not given. */
static int check_alone(const struct args *a, struct err *e) {
    for (int i = 0; a->from && !a->method && i < a->given; i++) {
        const struct option_spec *o = a->option[i].spec;
        if (o->fills == FILLS_CONFIG && !o->member)
            return err_set(e, ERR_USAGE,
                "--%s: requires --method: --from alone uses the options of that run",
                           o->name);
    }
    return 0;
}

/* Lists the methods of --method, {a,b} as in petri sweep; one cell without text where it is not given. */
static int list_methods(const struct args *a, struct sweep_cells *out, struct err *e) {
    struct sweep_spec spec;
    const char *text = a->method;
    *out = (struct sweep_cells){ 0 };
    if (!text) return 0;
    sweep_init(&spec);
    int rc = sweep_set(&spec, "method", text, e);
    if (!rc) rc = sweep_expand(&spec, out, e);
    sweep_release(&spec);
    return rc;
}

/* Prepares a run for each method; all are valid before the first is recorded. */
static int open_methods(const struct args *a, struct store *s, const struct shots_request *r,
                        const struct sweep_cells *m, struct shots **x, int *opened, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < (m->count ? m->count : 1); i++) {
        struct run_config base;
        rc = verb_adapt_read_base(a, m->count ? m->cell[i].text[0] : NULL, &base, e);
        if (rc) break;
        struct shots_request of_method = *r;
        of_method.base = &base;
        struct shots_hook quiet = hook; /* skipped draws are reported once */
        if (i) quiet.say = NULL;
        rc = shots_prepare(s, &of_method, quiet, &x[i], e);
        config_release(&base);
        if (!rc) ++*opened;
        else if (m->count > 1) rc = err_prefix(e, "method %s", m->cell[i].text[0]);
    }
    for (int i = 0; !rc && i < *opened; i++) rc = shots_begin(x[i], r, i ? shots_id(x[0]) : 0, e);
    return rc;
}

static int train_table(const struct args *a, struct store *s, struct shots_request *r, struct err *e) {
    struct sweep_cells m;
    int rc = list_methods(a, &m, e), opened = 0;
    if (rc) return rc;
    struct shots **x = xcalloc((size_t)m.count + 1, sizeof(struct shots *));
    if (a->from) rc = store_find(s, a->from, &r->parent, e);
    if (!rc) rc = open_methods(a, s, r, &m, x, &opened, e);
    if (!rc) rc = train_shots(a, s, x, opened, e);
    else
        for (int i = 0; i < opened; i++) shots_free(x[i]);
    free(x);
    sweep_cells_release(&m);
    return rc;
}

/* Shows recorded runs: one with all others of its command, or those given. */
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
    struct shots_request r = { .tasks = a->shots.tasks, .method_said = a->method != NULL,
                               .how = { .start = FEWSHOT_LOWEST } };
    struct store *s = NULL;
    if (a->count && (r.tasks || r.method_said || a->from))
        return err_set(e, ERR_USAGE,
            "petri fewshot: RUN… cannot be combined with --tasks, --method or --from; give RUN… to show "
            "runs, or "
            "--tasks to train");
    if (a->count) return show_tables(a, e);
    if (!r.tasks)
        return err_set(e, ERR_USAGE,
                       "petri fewshot: requires --tasks: a folder in LEOPARD's layout, a folder of such "
                       "folders, or a list of tasks");
    if (a->from) r.model = a->model;
    int rc = read_request(a, &r, "4,8,16", e);
    if (!rc) rc = read_stop(a, &r, e);
    if (!rc) rc = check_alone(a, e);
    if (!r.batch) r.how.per_class = 4;
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    return verb_close(s, train_table(a, s, &r, e), e);
}
