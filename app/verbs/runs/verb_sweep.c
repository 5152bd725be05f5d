/* sweep: runs over lists of values. */
#include "app/verbs/runs/verb_sweep.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs/jobs.h"
#include "app/sweep/expected.h"
#include "app/sweep/grouping.h"
#include "app/sweep/halving.h"
#include "app/verbs/output.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { SPEC_MOST = 1 << 20 };

/* ---- results ---- */

static int results(const struct args *a, struct store *s, int64_t id, struct err *e) {
    struct sweep_plan p;
    struct side_by_side c = { 0 };
    int rc = sweep_plan_open(&p, s, id, e);
    if (!rc) rc = sweep_plan_find(&p, s, e);
    c.final = a->final;
    if (!rc) rc = sweep_plan_compare(&p, s, &c, e);
    if (!rc && a->by) rc = comparison_by(&c, s, a->by, e);
    if (!rc) verb_compared_print(a, &c);
    comparison_release(&c);
    sweep_plan_release(&p);
    return rc;
}

/* ---- the list of sweeps ---- */

struct listing {
    bool json;
    struct buf out;
};
static int list_row(void *self, int count, const struct store_cell *cells) {
    struct listing *l = self;
    (void)count;
    if (l->json) {
        json_put(&l->out, "{id:%jd,spec:%s,runs:%jd}", cells[0].integer, cells[1].text, cells[2].integer);
    } else {
        buf_printf(&l->out, "%4lld  %4lld runs  %s\n", (long long)cells[0].integer,
                   (long long)cells[2].integer, cells[1].text);
    }
    return 0;
}

static int verb_sweep_list(const struct args *a, struct store *s, struct err *e) {
    struct listing l = { a->json, BUF_INIT };
    if (l.json) buf_putc(&l.out, '[');
    int rc = store_sql(s,
                       "SELECT s.id, s.name, (SELECT count(*) FROM run r WHERE r.sweep = s.id AND r.trashed "
                       "IS NULL AND r.regime NOT LIKE 'fewshot(%') FROM sweep s ORDER BY s.id",
                       (struct store_rows){ .self = &l, .row = list_row }, e);
    if (l.json) buf_putc(&l.out, ']');
    if (!rc && l.json) {
        out_line(&l.out);
    } else if (!rc) {
        if (!l.out.size) puts(
            "no sweeps yet; start one: petri sweep --method 'lora(r={2,4,8})' --seeds 1,2,3");
        out_lines(buf_text(&l.out));
    }
    buf_release(&l.out);
    return rc;
}

/* ---- running ---- */

/* A run that pauses by itself (a full disk) is retried every few seconds: reported immediately, then once a
 * minute. */
static bool reports_pause(void) {
    static atomic_llong reported = -60000;
    long long last = atomic_load(&reported), now = clock_ms();
    return now - last >= 60000 && atomic_compare_exchange_strong(&reported, &last, now);
}

static void verb_sweep_tell(void *self, const struct event *e) {
    bool why = e->text && *e->text;
    (void)self;
    if (e->kind != EVENT_STATE) return;
    if (e->state == RUN_PAUSED
            ? !why || !reports_pause()
            : e->state != RUN_FINISHED && e->state != RUN_FAILED && e->state != RUN_STOPPED)
        return;
    char *text = why ? text_visible(e->text, strlen(e->text)) : xprintf("at step %lld", (long long)e->step);
    fprintf(stderr, "run %lld %s%s %s%s\n", (long long)e->run, run_state_name(e->state), why ? ":" : "", text,
            e->state == RUN_PAUSED ? "; retrying" : "");
    free(text);
}

static void no_report(void *self, const char *text) { (void)self, (void)text; }

static void say_line(void *self, const char *text) {
    (void)self;
    fprintf(stderr, "%s\n", text);
}

struct jobs_hook verb_sweep_hook(void) {
    return (struct jobs_hook){ .event = verb_sweep_tell, .report = no_report };
}

static bool is_interrupted(void *self) {
    (void)self;
    return verb_interrupted();
}

int verb_sweep_work(const struct args *a, struct sweep_plan *p, struct store *s, struct jobs *j, int workers,
                    int at_once, bool (*mine)(void *self, int cell, int seed), void *self, struct err *e) {
    const struct sweep_worker how = { .force = a->force,
                                      .at_once = at_once       ? at_once
                                                 : workers > 1 ? workers
                                                               : 2,
                                      .mine = mine,
                                      .say = say_line,
                                      .self = self };
    struct sweep_work *w = sweep_work_new(p, s, j, &how, e);
    int rc = w ? sweep_work_through(w, is_interrupted, NULL, e) : e->code;
    if (rc == ERR_INTERRUPTED)
        err_set(e, rc, "stopped; continue with `petri sweep resume %lld`", (long long)p->id);
    sweep_work_free(w);
    return rc;
}

/* Reports runs that are reused from elsewhere. */
static int verb_sweep_taken(const struct sweep_plan *p, struct store *s, struct err *e) {
    struct buf json = BUF_INIT, lines = BUF_INIT;
    int rc = sweep_plan_taken(p, s, &json, &lines, e);
    if (!rc) out_report(buf_text(&lines));
    buf_release(&json);
    buf_release(&lines);
    return rc;
}

/* Trains the missing runs and prints the results. */
static int verb_sweep_carry_out(const struct args *a, struct sweep_plan *p, struct store *s, struct jobs *j,
                                int workers, struct err *e) {
    if (a->sweep.slurm && p->spec.halving)
        return err_set(
            e, ERR_USAGE,
            "--slurm: cannot be combined with --halving: a rung waits for all cells, and each task has a "
            "separate database; remove one of the two");
    if (a->sweep.slurm) return verb_sweep_slurm(a, p, s, workers, e);
    int rc = sweep_plan_find(p, s, e), lacking = sweep_plan_missing(p);
    if (!rc && !p->id) rc = sweep_plan_store(p, s, e);
    if (!rc)
        fprintf(stderr, "sweep %lld: %d cell%s, %d run%s to train\n", (long long)p->id, p->cells.count,
            p->cells.count == 1 ? "" : "s", lacking, lacking == 1 ? "" : "s");
    if (!rc) rc = verb_sweep_taken(p, s, e);
    if (!rc) rc = verb_sweep_work(a, p, s, j, workers, (int)a->sweep.at_once, NULL, NULL, e);
    if (!rc) rc = store_flush(s, e);
    return rc ? rc : results(a, s, p->id, e);
}

static int dry_run(const struct args *a, struct sweep_plan *p, struct store *s, struct err *e) {
    struct buf b = BUF_INIT, taken = BUF_INIT, lines = BUF_INIT;
    int rc = sweep_plan_find(p, s, e);
    struct expected_time time = { 0 };
    if (!rc) rc = sweep_plan_taken(p, s, &taken, &lines, e);
    if (!rc) rc = expected_time(p, s, &time, e);
    if (!rc && a->json) {
        sweep_plan_json(p, buf_text(&taken), &time, &b);
        out_line(&b);
    }
    for (int i = 0; !rc && !a->json && i < p->cells.count; i++) {
        const struct sweep_entry *x = &p->entry[i];
        for (int k = 0; k < p->cells.axes; k++) {
            const char *v = p->cells.cell[i].value[k];
            if (!v) continue;
            char *text = xprintf("%s=%s  ", p->spec.axis[k].key, v);
            out_text(text);
            free(text);
        }
        char *size = sweep_plan_size(p, i);
        if (x->valid)
            printf("%d run%s, %lld trainable parameters%s", p->spec.seeds, p->spec.seeds == 1 ? "" : "s",
                   (long long)x->trained, size ? ": " : "");
        out_text(!x->valid ? x->reason : size ? size : "");
        putchar('\n');
        free(size);
    }
    if (!rc && !a->json) {
        out_lines(buf_text(&lines));
        halving_plan_lines(p, &b);
        expected_line(&time, &b);
        out_lines(buf_text(&b));
    }
    if (!rc && !a->json) {
        int missing = sweep_plan_missing(p);
        printf("%d run%s missing\n", missing, missing == 1 ? " is" : "s are");
    }
    expected_release(&time);
    buf_release(&b), buf_release(&taken), buf_release(&lines);
    return rc;
}

/* Whether a given option belongs to the specification of the sweep; the others control output and
 * execution. */
static bool of_spec(const struct args *a, int given) { return a->option[given].spec->fills == FILLS_CONFIG; }

/* The spec of the options, or of a file. */
static int read_spec(const struct args *a, struct sweep_spec *spec, struct err *e) {
    sweep_init(spec);
    if (a->count) {
        struct buf b = BUF_INIT;
        int rc = file_read(a->positional[0], SPEC_MOST, &b, e);
        if (!rc) rc = sweep_from_json(a->positional[0], buf_text(&b), b.size, spec, e);
        buf_release(&b);
        return rc;
    }
    int rc = 0;
    for (int i = 0; !rc && i < a->given; i++)
        if (of_spec(a, i)) rc = sweep_set(spec, a->option[i].name, args_typed(a, i), e);
    return rc;
}

static void tell_what_stands_in(const struct sweep_plan *p) {
    struct run_config c;
    struct err ignored = ERR_INIT;
    if (!p->cells.count) return;
    if (!sweep_plan_config(p, 0, 1, &c, &ignored)) verb_tell_own(c.model, c.task);
    config_release(&c);
}

static int new_sweep(const struct args *a, struct store *s, struct jobs *j, int workers, struct err *e) {
    struct sweep_spec spec;
    struct sweep_plan p = { 0 };
    int rc = read_spec(a, &spec, e);
    if (!rc) rc = sweep_plan_make(&p, &spec, j, e);
    if (!rc) tell_what_stands_in(&p);
    if (!rc)
        rc = a->sweep.dry_run ? dry_run(a, &p, s, e) : verb_sweep_carry_out(a, &p, s, j, workers, e);
    sweep_release(&spec);
    sweep_plan_release(&p);
    return rc;
}

/* Adds seeds, and values of options. */
static int extend(const struct args *a, struct sweep_plan *p, struct jobs *j, struct err *e) {
    struct sweep_more more[ARGS_OPTIONS];
    int n = 0;
    for (int i = 0; i < a->given; i++)
        if (of_spec(a, i) && a->option[i].value != a->sweep.budget)
            more[n++] = (struct sweep_more){ a->option[i].spec->name, args_typed(a, i) };
    if (!n)
        return err_set(
            e, ERR_USAGE,
            "petri sweep extend: nothing to add; specify more seeds (--seeds 4,5) or more values of an "
            "option "
            "of the sweep, for example --lr '{1e-2,3e-2}'");
    return sweep_plan_extend(p, more, n, j, e);
}

/* Refuses options that results, resume and stop would ignore. */
static int check_of_history(const struct args *a, const char *word, int64_t id, struct err *e) {
    for (int i = 0; strcmp(word, "extend") && i < a->given; i++) {
        const char *name = a->option[i].spec->name;
        if (!of_spec(a, i) || (a->option[i].value == a->sweep.budget && !strcmp(word, "resume"))) continue;
        return err_set(
            e, ERR_USAGE,
            "--%s: not an option of `petri sweep %s%s%lld`; use `petri sweep extend %lld --%s …` to add "
            "values, or omit the id to start a new sweep",
            name, word, *word ? " " : "", (long long)id, (long long)id, name);
    }
    return 0;
}

static int of_history(const struct args *a, struct store *s, struct jobs *j, int workers, struct err *e) {
    const char *word = a->positional[0];
    int64_t id;
    struct sweep_plan p;
    if (!text_to_int(a->positional[1], &id))
        return err_set(e, ERR_USAGE, "petri sweep %s: expected a sweep id, found \"%s\"", word,
                       a->positional[1]);
    if (check_of_history(a, word, id, e)) return e->code;
    int rc = sweep_plan_open(&p, s, id, e);
    if (!rc && strcmp(word, "stop")) rc = sweep_plan_no_draws(&p, e);
    if (!rc && !strcmp(word, "extend")) {
        rc = extend(a, &p, j, e);
        if (!rc) rc = sweep_plan_store(&p, s, e);
    }
    if (!rc && a->sweep.budget) {
        rc = sweep_set(&p.spec, "budget", a->sweep.budget, e);
        if (!rc) rc = halving_check(&p.spec, e);
        if (!rc) rc = sweep_plan_store(&p, s, e);
    }
    bool stops = !strcmp(word, "stop");
    if (!rc) rc = stops ? store_sweep_stop(s, id, e) : verb_sweep_carry_out(a, &p, s, j, workers, e);
    if (!rc && stops)
        printf("sweep %lld: stop requested; each run saves a checkpoint\n", (long long)id);
    sweep_plan_release(&p);
    return rc;
}

int verb_sweep(const struct args *a, struct err *e) {
    int64_t id;
    bool lone = a->count == 1 && text_to_int(a->positional[0], &id), known = false;
    static const char *const does[] = { "resume", "stop", "extend" };
    bool task = a->count == 3 && !strcmp(a->positional[0], "task"),
         status = a->count == 2 && !strcmp(a->positional[0], "status");
    for (size_t i = 0; a->count == 2 && i < COUNT_OF(does); i++) known |= !strcmp(a->positional[0], does[i]);
    if (a->count > 1 && !known && !task && !status)
        return err_set(e, ERR_USAGE,
                       "petri sweep: expected options, a file, an id, resume|stop|extend ID, task DIR "
                       "INDEX or status DIR, found \"%s %s\"; quote lists in braces: --lr '{1e-3,3e-3}'",
                       a->positional[0], a->positional[1]);
    if (a->count == 1 && !lone && !file_exists(a->positional[0]))
        return err_set(
            e, ERR_NOT_FOUND,
            "%s: neither a file nor a sweep id; quote lists in braces: --lr '{1e-3,3e-3}'",
            a->positional[0]);
    struct store *s = NULL;
    int workers = verb_workers(a);
    if (task) return verb_sweep_task(a, workers, e);
    if (status) return verb_sweep_status(a, e);
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    bool options = a->sweep.seeds != NULL;
    for (int i = 0; i < a->given; i++) options |= config_option_name(a->option[i].spec->name) != NULL;
    if (!a->count && !options) {
        rc = verb_sweep_list(a, s, e);
    } else if (lone) {
        rc = check_of_history(a, "", id, e);
        if (!rc) rc = results(a, s, id, e);
    } else {
        verb_train_signals();
        struct jobs *j = jobs_new(s, workers, verb_sweep_hook());
        rc = known ? of_history(a, s, j, workers, e) : new_sweep(a, s, j, workers, e);
        jobs_free(j, false);
    }
    return verb_close(s, rc, e);
}
