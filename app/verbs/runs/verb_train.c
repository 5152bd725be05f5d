/* train, resume, stop: runs without a screen. */
#include "app/verbs/runs/verb_train.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/history/moved.h"
#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/jobs/jobs.h"
#include "app/sweep/shots.h"
#include "app/jobs/typed.h"
#include "app/verbs/output.h"
#include "app/why/why.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/carry.h"
#include "core/train/config/complete.h"

/* ---- options ---- */

/* Reads all given options of a run, by any of their names.  `onto`: changes the options of another run. */
static int verb_train_read_config(const struct args *a, bool onto, struct run_config *c, struct err *e) {
    struct typed_option typed[ARGS_OPTIONS];
    int n = 0;
    char *method = a->method ? verb_method(a, a->method, e) : NULL;
    if (a->method && !method) return e->code;
    for (int i = 0; i < a->given; i++) {
        const char *value = args_typed(a, i);
        if (a->option[i].spec->fills == FILLS_CONFIG)
            typed[n++] = (struct typed_option){ a->option[i].name, value == a->method ? method : value };
    }
    int rc = onto ? typed_onto(typed, n, c, e) : typed_config(typed, n, c, e);
    free(method);
    if (!rc && !onto) verb_tell_own(a->model ? NULL : c->model, a->task ? NULL : c->task);
    return rc;
}

int verb_run_name(const struct args *a, const char **name, struct err *e) {
    *name = a->name;
    return *name ? store_check_name(*name, e) : 0;
}

enum data_header verb_header(const struct args *a) {
    return a->header ? DATA_HEADER_YES : a->no_header ? DATA_HEADER_NO : DATA_HEADER_AUTO;
}

struct task_source verb_source(const struct args *a) {
    return (struct task_source){ .where = a->task,
                                 .text = a->text, .text_b = a->text_b,
                                 .label = a->label, .source = a->source,
                                 .target = a->target, .positive = a->positive,
                                 .metric = a->metric,
                                 .delimiter = a->delimiter, .unlabeled = a->no_gold,
                                 .official_dev = a->official_dev, .kind = (enum data_choice)a->kind,
                                 .header = verb_header(a) };
}

/* ---- progress ---- */

struct watcher {
    pthread_mutex_t lock;
    bool json, tty;
    bool reported; /* all seeds use the same model and data */
    double shown; /* when the progress line was last written */
};

static void metrics_json(struct buf *b, const struct event *e) {
    json_open(b, "metrics", '{');
    for (int i = 0; i < e->metrics; i++) {
        const struct event_metric *m = &e->metric[i];
        json_member_measured(b, m->name, m->undefined ? NAN : m->value);
    }
    json_put(b, "},undefined:{");
    for (int i = 0; i < e->metrics; i++)
        if (e->metric[i].undefined) json_member_string(b, e->metric[i].name, e->metric[i].undefined);
    buf_putc(b, '}');
}

/* The further values of a step, under the names of the database. */
static void values_json(struct buf *b, const struct event *e) {
    if (!e->terms) return;
    json_add_key(b, "values");
    buf_putc(b, '{');
    for (int i = 0; i < e->terms; i++) {
        char *name = event_term_name(&e->term[i]);
        json_member_double(b, name, e->term[i].value);
        free(name);
    }
    buf_putc(b, '}');
}

static void samples_json(struct buf *b, const struct event_samples *v) {
    json_open(b, "samples", '[');
    for (int i = 0; i < v->count; i++) {
        const struct event_sample *x = &v->sample[i];
        json_put(b, "{row:%ju,source:%s,target:%s,generated:%s", x->row, x->source, x->target, x->generated);
        if (x->valid >= 0) json_member_bool(b, "valid", x->valid);
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
}

static void event_json(const struct event *e) {
    static const char *const kind[] = { "state", "point", "evaluation", "checkpoint", "message",
                                        "embedding", "samples" };
    struct buf b = BUF_INIT;
    json_put(&b, "{event:%s,run:%jd,step:%jd,task:%1s", kind[e->kind], e->run, e->step, e->task);
    if (e->kind == EVENT_POINT) {
        json_put(&b, "loss:%f,lr:%f,grad_norm:%f,tokens:%f", e->loss, e->lr, e->grad_norm, e->tokens);
        values_json(&b, e);
    } else if (e->kind == EVENT_EVALUATION) {
        json_put(&b, "split:%s,rows:%s", e->split, e->examples);
        metrics_json(&b, e);
        json_put(&b, "constant:%i,none_valid:%i,best:%i,stage:%1d", e->constant, e->none_valid, e->best,
                 e->stage);
    } else if (e->kind == EVENT_CHECKPOINT) {
        json_put(&b, "path:%s,best:%i", e->path, e->best);
    } else if (e->kind == EVENT_EMBEDDING) {
        json_put(&b, "rows:%zu,columns:%d,layer:%d", e->embedding->examples, e->embedding->columns,
                 e->embedding->layer);
    } else if (e->kind == EVENT_SAMPLE) {
        samples_json(&b, e->samples);
    } else if (e->kind == EVENT_STATE) {
        json_member_string(&b, "state", run_state_name(e->state));
    }
    if (e->text) json_member_string(&b, "text", e->text);
    json_put(&b, "seconds:%f}", e->seconds);
    out_line(&b);
}

static void event_text(struct watcher *w, const struct event *e) {
    if (e->kind == EVENT_POINT) {
        double t = clock_seconds();
        if (t - w->shown < (w->tty ? 0.1 : 5)) return;
        w->shown = t;
        fprintf(stderr, "%s#%lld step %lld  loss %.4f  lr %.3g  %.0f s%s", w->tty ? "\r\033[K" : "",
                (long long)e->run, (long long)e->step, e->loss, e->lr, e->seconds, w->tty ? "" : "\n");
    } else if (e->kind == EVENT_EVALUATION) {
        if (e->auxiliary) return;
        fprintf(stderr, "%s#%lld step %lld  ", w->tty ? "\r\033[K" : "", (long long)e->run,
                (long long)e->step);
        if (e->stage) fprintf(stderr, "stage %d  ", e->stage);
        fprintf(stderr, "%s%s%s:", e->task ? e->task : "", e->task ? " " : "",
                e->examples ? e->examples : "dev");
        for (int i = 0; i < e->metrics; i++) {
            const struct event_metric *m = &e->metric[i];
            if (m->undefined) fprintf(stderr, "  %s undefined (%s)", m->name, m->undefined);
            else fprintf(stderr, "  %s %.4f", m->name, m->value);
        }
        fprintf(stderr, "%s%s\n",
                e->none_valid ? "  no valid output"
                : e->constant ? "  predicts one class only"
                              : "",
                e->best ? "  best" : "");
    } else if (e->kind == EVENT_SAMPLE && e->samples->count) {
        const struct event_sample *x = &e->samples->sample[0];
        char *given = text_visible(x->generated, strlen(x->generated)),
             *wanted = x->target ? text_visible(x->target, strlen(x->target)) : NULL;
        fprintf(stderr, "%s#%lld step %lld  generated \"%.200s\"%s%.200s%s\n", w->tty ? "\r\033[K" : "",
                (long long)e->run, (long long)e->step, given, wanted ? ", reference \""
                    : "", wanted ? wanted : "",
                wanted ? "\"" : "");
        free(given);
        free(wanted);
    } else if (e->text && *e->text) {
        char *shown = text_visible(e->text, strlen(e->text));
        fprintf(stderr, "%s#%lld %s\n", w->tty ? "\r\033[K" : "", (long long)e->run, shown);
        free(shown);
    }
}

static void verb_train_on_event(void *self, const struct event *e) {
    struct watcher *w = self;
    pthread_mutex_lock(&w->lock);
    if (w->json) event_json(e);
    event_text(w, e);
    pthread_mutex_unlock(&w->lock);
}

static void on_report(void *self, const char *text) {
    struct watcher *w = self;
    pthread_mutex_lock(&w->lock);
    if (!w->reported) out_report(text);
    w->reported = true;
    pthread_mutex_unlock(&w->lock);
}

/* ---- a run on the command line ---- */

/* Set by the signal handler, on any thread; read by all. */
static atomic_int verb_train_asked_to_stop;
static void verb_train_on_signal(int n) { atomic_store(&verb_train_asked_to_stop, n); }

void verb_catch_signals(void) {
    struct sigaction stop = { .sa_handler = verb_train_on_signal };
    sigaction(SIGINT, &stop, NULL);
    sigaction(SIGTERM, &stop, NULL);
}

bool verb_interrupted(void) { return atomic_load(&verb_train_asked_to_stop) != 0; }

bool verb_take_interrupt(void) {
    int interrupt = SIGINT;
    return atomic_compare_exchange_strong(&verb_train_asked_to_stop, &interrupt, 0);
}

void verb_train_signals(void) {
    verb_catch_signals();
    signal(SIGHUP, SIG_IGN); /* a closed terminal does not end a run */
    signal(SIGPIPE, SIG_IGN);
}

int verb_workers(const struct args *a) {
    int64_t n = a->workers ? a->workers : sysconf(_SC_NPROCESSORS_ONLN);
    return n > 64 ? 64 : (int)n;
}

void verb_crew(const struct args *a, struct crew **out) {
    int workers = verb_workers(a);
    *out = workers < 2 ? NULL : crew_new(workers, NULL);
}

/* Waits for all runs; a signal stops them (with a checkpoint), and true is returned. */
static bool verb_wait(struct jobs *j, const int64_t *id, int n) {
    bool stopping = false;
    for (int i = 0; i < n;) {
        bool over = jobs_wait(j, id[i], 0.1);
        char *said = jobs_message(j); /* the disk is full, or no longer */
        if (*said) fprintf(stderr, "petri: %s\n", said);
        free(said);
        if (over) {
            i++;
            continue;
        }
        if (!verb_interrupted() || stopping) continue;
        stopping = true;
        struct err ignored = ERR_INIT;
        for (int k = 0; k < n; k++) jobs_stop(j, id[k], &ignored);
    }
    return stopping;
}

/* Prints the diagnostics of a finished run. */
static int tell_why(struct store *s, const struct store_run *run, struct err *e) {
    struct why why;
    int rc = why_of_run(s, run, &why, e);
    if (rc) return rc;
    for (int i = 0; i < why.count; i++) printf("  %s\n", why.of[i].text);
    why_release(&why);
    return 0;
}

/* *left: whether the run can be resumed. */
static int show_result(struct store *s, int64_t id, bool json, bool *left, struct err *e) {
    struct store_run run;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    if (json) {
        rc = verb_run_json(s, &run, e);
    } else {
        printf("run %lld %s", (long long)run.id, store_state_name(run.state));
        if (run.best.measured && !run.best.undefined)
            printf(", best %s %.4f at step %lld", run.metric, run.best.v, (long long)run.best.step);
        printf(", %.1f s\n", run.seconds);
        rc = tell_why(s, &run, e);
    }
    *left = *left || run.state != STORE_FINISHED;
    if (run.state == STORE_FAILED)
        rc = err_set(e, ERR_FAILED, "run %lld failed: %s", (long long)id, run.reason ? run.reason : "");
    store_run_release(&run);
    return rc;
}

static int verb_train_finish(struct jobs *j, struct store *s, const int64_t *id, int n, bool json,
                             struct err *e) {
    bool stopped = verb_wait(j, id, n), left = false;
    int rc = 0;
    for (int i = 0; !rc && i < n; i++) rc = jobs_failure(j, id[i], e);
    jobs_free(j, true);
    if (rc) return rc;
    rc = store_flush(s, e);
    for (int i = 0; i < n; i++) {
        int one = show_result(s, id[i], json, &left, e);
        if (!rc) rc = one;
    }
    if (!rc && stopped && left)
        rc = err_set(e, ERR_INTERRUPTED, "stopped; continue with `petri resume RUN`");
    return rc;
}

/* Reads the options of a typed run; `moved`: finds its data where it was moved to.  *parent: its number.
   The caller calls config_release, also after a failure. */
static int options_of(const struct args *a, const char *typed, bool moved, struct run_config *c,
                      int64_t *parent, struct err *e) {
    struct store *s;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = store_find(s, typed, parent, e);
    if (!rc) rc = record_config(s, *parent, c, e);
    if (!rc && moved) moved_rows(c, store_path(s), NULL);
    return verb_close(s, rc, e);
}

/* --from: takes method and model of a run; the other options come after it.  *parent: its number. */
static int begin_from(const struct args *a, struct run_config *c, struct run_config *from, int64_t *parent,
                      struct err *e) {
    if (!a->from) return 0;
    if (a->model)
        return err_set(e, ERR_USAGE, "--from: uses the model of the run; remove --model");
    if (options_of(a, a->from, false, from, parent, e)) return e->code;
    c->method = from->method;
    method_forget_runs(&c->method); /* it is initialized from that run */
    config_take_model(c, from->model_folder ? from->model_folder : from->model);
    c->max_len = from->max_len;
    return 0;
}

/* --like: takes all options of a run; the other options come after it.  *parent: its number. */
static int begin_like(const struct args *a, struct run_config *c, int64_t *parent, struct err *e) {
    struct run_config like = { 0 };
    if (!a->train.like) return 0;
    if (options_of(a, a->train.like, true, &like, parent, e)) {
        config_release(&like);
        return e->code;
    }
    config_release(c);
    *c = like;
    config_reuse(c);
    return 0;
}

int verb_train_runs(const struct args *a, struct store *s, struct job_request *r, const uint64_t *seed,
                    int seeds, int64_t *first, struct err *e) {
    int64_t id[VERB_SEEDS];
    int started = 0, rc = 0;
    *first = 0;
    verb_train_signals();
    struct watcher w = { .lock = PTHREAD_MUTEX_INITIALIZER, .json = a->json,
                         .tty = isatty(STDERR_FILENO) };
    struct jobs *j = jobs_new(
        s, verb_workers(a),
        (struct jobs_hook){ .self = &w, .event = verb_train_on_event, .report = on_report });
    for (; !rc && started < seeds; started += !rc) {
        r->config.seed = seed[started];
        rc = jobs_start(j, r, &id[started], e);
    }
    struct err why = *e;
    int ended = verb_train_finish(j, s, id, started, w.json, e);
    if (started) *first = id[0];
    if (!rc) return ended;
    *e = why;
    return rc;
}

int verb_train_request(const struct args *a, const struct run_config *base, struct job_request *r,
                       uint64_t seed[VERB_SEEDS], int *seeds, struct err *e) {
    struct run_config from = { 0 };
    bool like = a->train.like != NULL;
    if (like || a->from) base = NULL;
    *r = (struct job_request){ .note = a->note, .cell = a->cell, .force = a->force };
    if (base) config_copy(&r->config, base);
    else config_init(&r->config);
    int rc = verb_run_name(a, &r->name, e);
    if (!rc) rc = begin_from(a, &r->config, &from, &r->parent, e);
    if (!rc) rc = begin_like(a, &r->config, &r->parent, e);
    if (!rc) rc = verb_train_read_config(a, like || base, &r->config, e);
    r->from_parent = a->from != NULL;
    bool rows = a->task || a->train.train || a->train.tasks;
    if (!rc && r->from_parent && !rows && (from.train_file || from.task)) config_take_data(&r->config, &from);
    config_release(&from);
    *seeds = 0;
    if (!rc && a->train.seeds) {
        *seeds = config_parse_seeds(a->train.seeds, seed, VERB_SEEDS, e);
        rc = *seeds < 0 ? *seeds : 0;
    }
    if (rc) {
        config_release(&r->config);
        return rc;
    }
    if (!*seeds) seed[(*seeds)++] = r->config.seed;
    return 0;
}

int verb_train(const struct args *a, struct err *e) {
    struct job_request r;
    uint64_t seed[VERB_SEEDS];
    int64_t first;
    int seeds, rc = verb_train_request(a, NULL, &r, seed, &seeds, e);
    if (rc) return rc;
    struct store *s = NULL;
    rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) {
        config_release(&r.config);
        return rc;
    }
    rc = verb_train_runs(a, s, &r, seed, seeds, &first, e);
    config_release(&r.config);
    return verb_close(s, rc, e);
}

int verb_resume(const struct args *a, struct err *e) {
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    int64_t id;
    rc = store_find(s, a->positional[0], &id, e);
    static const char *const fixed[] = { "batch", "steps" };
    struct run_record r;
    bool shots = false;
    if (!rc && !(rc = record_open(s, id, &r, e))) {
        shots = run_row_is_fewshot(&r.row) || run_row_is_draw(&r.row);
        for (size_t i = 0; !rc && i < COUNT_OF(fixed); i++) {
            int64_t was = i ? r.config.steps : r.config.batch, v = i ? a->resume.steps : a->resume.batch;
            if (v && v != was)
                rc = err_set(e, ERR_USAGE,
                             "--%s: cannot be changed in a resumed run: found %lld, run %lld has %lld; start "
                             "a new run",
                             fixed[i], (long long)v, (long long)id, (long long)was);
        }
        record_release(&r);
    }
    if (!rc && shots) {
        rc = verb_resume_shots(a, s, id, e);
    } else if (!rc) {
        verb_train_signals();
        struct watcher w = { .lock = PTHREAD_MUTEX_INITIALIZER, .json = a->json,
                             .tty = isatty(STDERR_FILENO) };
        struct jobs *j = jobs_new(s, verb_workers(a),
                                  (struct jobs_hook){ .self = &w, .event = verb_train_on_event });
        rc = jobs_resume(j, id, a->model, verb_workers(a), a->force, e);
        if (rc) jobs_free(j, false);
        else rc = verb_train_finish(j, s, &id, 1, w.json, e);
    }
    return verb_close(s, rc, e);
}

int verb_stop(const struct args *a, struct err *e) {
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    int64_t id;
    rc = store_find(s, a->positional[0], &id, e);
    if (!rc) rc = store_request(s, id, STORE_STOP, e);
    /* the owner polls four times a second and saves a checkpoint at the end of the step */
    for (int i = 0; !rc && i < 100; i++) {
        struct store_run run;
        if ((rc = store_run(s, id, &run, e))) break;
        bool live = store_state_is_live(run.state);
        if (!live) {
            if (a->json) {
                rc = verb_run_json(s, &run, e);
            } else {
                printf("run %lld is %s at step %lld\n", (long long)id, store_state_name(run.state),
                       (long long)run.step);
            }
        }
        store_run_release(&run);
        if (!live) break;
        if (i == 99) rc = err_set(e, ERR_FAILED,
            "run %lld: still running 10 s after the request to stop; try again",
            (long long)id);
        clock_sleep_ms(100);
    }
    return verb_close(s, rc, e);
}
