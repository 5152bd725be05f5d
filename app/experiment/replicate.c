#include "app/experiment/replicate.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/evidence.h"

enum { WORDS = 256 };

/* ---- lines ---- */

/* Returns the line with {data} and {run} replaced; caller frees.  NULL with ERR_USAGE if {data} has no
 * value. */
static char *filled(const struct replicate *how, const char *line, int64_t run, struct err *e) {
    struct buf b = BUF_INIT;
    while (*line) {
        if (text_starts(line, "{data}")) {
            if (!how->data) {
                buf_release(&b);
                err_set(e, ERR_USAGE,
                        "the experiment uses {data}; specify the data folder with --data FOLDER");
                return NULL;
            }
            buf_puts(&b, how->data);
            line += 6;
        } else if (text_starts(line, "{run}")) {
            buf_printf(&b, "%lld", (long long)run);
            line += 5;
        } else {
            buf_putc(&b, *line++);
        }
    }
    return buf_take(&b);
}

/* Splits a line into words at whitespace; words in '…' or "…" may contain whitespace. */
struct spoken {
    int count;
    char *word[WORDS + 1];
};

static void spoken_release(struct spoken *w) {
    for (int i = 0; i < w->count; i++) free(w->word[i]);
    w->count = 0;
}

static void add_word(struct spoken *w, const char *s, size_t n) {
    BUG_IF(w->count == WORDS);
    w->word[w->count++] = xstrndup(s, n);
    w->word[w->count] = NULL;
}

static int replicate_add_words(struct spoken *w, const char *line, struct err *e) {
    char *word;
    while ((word = text_word(&line))) {
        bool full = w->count > WORDS - 16;
        if (!full) add_word(w, word, strlen(word));
        free(word);
        if (full) return err_set(e, ERR_INPUT, "the command has more than %d arguments", WORDS - 16);
    }
    return 0;
}

/* ---- child processes ---- */

/* Reads the output until the process ends; after `until` or an interrupt, asks it to stop. */
static void listen_to(const struct replicate *how, pid_t pid, int from, struct buf *out) {
    bool asked = false;
    for (;;) {
        if (!asked && (clock_seconds() > how->until || how->interrupted())) {
            kill(pid, SIGTERM);
            asked = true;
        }
        struct pollfd p = { .fd = from, .events = POLLIN };
        if (poll(&p, 1, 200) <= 0) continue;
        char bytes[4096];
        ssize_t n = read(from, bytes, sizeof bytes);
        if (n <= 0) break;
        if (out->size < (1u << 24)) buf_add(out, bytes, (size_t)n);
    }
}

/* Runs the process to its end; *status is its exit code. */
static int run_petri(const struct replicate *how, const struct spoken *w, struct buf *out, int *status,
                     struct err *e) {
    int ends[2], state;
    pid_t pid;
    extern char **environ;
    if (pipe2(ends, O_CLOEXEC)) return err_set(e, ERR_SYSTEM, "cannot create a pipe: %m");
    posix_spawn_file_actions_t act;
    posix_spawn_file_actions_init(&act);
    posix_spawn_file_actions_adddup2(&act, ends[1], STDOUT_FILENO);
    int failed = posix_spawn(&pid, "/proc/self/exe", &act, NULL, w->word, environ);
    posix_spawn_file_actions_destroy(&act);
    close(ends[1]);
    if (failed) {
        close(ends[0]);
        return err_set(e, ERR_SYSTEM, "cannot start petri: %s", strerror(failed));
    }
    listen_to(how, pid, ends[0], out);
    close(ends[0]);
    while (waitpid(pid, &state, 0) < 0) {}
    *status = WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    return how->interrupted() ? err_set(e, ERR_INTERRUPTED, "stopped; run the same command to continue") : 0;
}

/* ---- runs ---- */

/* The stored cell by which a run is found again: the line as in the file, so that a moved folder does not
 * cause a new run.  The run's note starts with the same text; editing it has no effect. */
static char *cell_of(const struct experiment *x, int cell, int s) {
    const struct experiment_cell *c = &x->cell[cell];
    unsigned long long seed = (unsigned long long)x->seed[s];
    if (c->verb) return xprintf("%s/%s seed %llu: petri %s %s", x->name, c->id, seed, c->verb, c->text);
    return xprintf("%s/%s seed %llu: petri train %s %s", x->name, c->id, seed, x->base, c->text);
}

struct found {
    int64_t finished,
        startable; /* the counting run if any finished, else the newest; 0: none */
    bool differs;                /* finished runs have different weights */
    struct evidence *of;         /* the finished runs */
    size_t count, room;
};
static int found_row(void *self, int count, const struct store_cell *cells) {
    struct found *f = self;
    const char *state = cells[1].text;
    (void)count;
    if (!strcmp(state, "finished")) {
        GROW(f->of, f->room, f->count + 1);
        f->of[f->count++] = (struct evidence){ .key = "the cell",
                                               .run = cells[0].integer,
                                               .ended = cells[2].integer,
                                               .weights = cells[3].text ? xstrdup(cells[3].text) : NULL };
    } else if (strcmp(state, "failed")) {
        f->startable = cells[0].integer;
    }
    return 0;
}

static int find_run(const struct replicate *how, const char *cell, struct found *f, struct err *e) {
    *f = (struct found){ 0 };
    struct buf sql = BUF_INIT;
    buf_puts(
        &sql,
        "SELECT id, state, coalesce(ended, 0), weights_sha256 FROM run WHERE trashed IS NULL AND cell = '");
    for (const char *c = cell; *c; c++) {
        if (*c == '\'') buf_putc(&sql, '\'');
        buf_putc(&sql, *c);
    }
    buf_puts(&sql, "' ORDER BY id");
    int rc = store_sql(how->store, buf_text(&sql), (struct store_rows){ .self = f, .row = found_row }, e);
    buf_release(&sql);
    evidence_settle(f->of, f->count);
    if (f->count) f->finished = f->of[0].counted, f->differs = f->of[0].differs;
    for (size_t i = 0; i < f->count; i++) free((char *)(uintptr_t)f->of[i].weights);
    free(f->of);
    f->of = NULL;
    return rc;
}

/* Reads the results of a few-shot run of several tasks, whose primary metric is "tasks/kK.METRIC":
 * "TASK/kK.METRIC" of each task. */
static void values_of_tasks(const struct store_run *run, double scale, struct experiment_tasks *out) {
    const char *k = strchr(run->decides, '/');
    size_t n = k ? strcspn(k, ".") + 1 : 0;
    if (!k || !text_starts(run->regime, "fewshot(") || !text_starts(run->decides, "tasks/")) return;
    for (size_t i = 0; i < run->value_count; i++) {
        const struct store_named_value *v = &run->value[i];
        const char *at = strchr(v->name, '/');
        if (!at || strncmp(at, k, n) != 0 || text_starts(v->name, "tasks/") || !v->last.measured ||
            v->last.undefined)
            continue;
        if (!strcmp(at + n, "sd") || !strcmp(at + n, "majority")) continue;
        char *task = xstrndup(v->name, (size_t)(at - v->name));
        experiment_add_task(out, task, v->last.v * scale);
        free(task);
    }
}

static int value_of_run(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
                        int cell, int s, int64_t id, struct err *e) {
    struct store_run run;
    int rc = store_run(how->store, id, &run, e);
    if (rc) return rc;
    r->run[cell][s] = id;
    if (run.best.measured && !run.best.undefined) r->value[cell][s] = run.best.v * x->cell[cell].scale;
    values_of_tasks(&run, x->cell[cell].scale, &r->of_task[cell][s]);
    store_run_release(&run);
    return 0;
}

static void start_line(struct spoken *w, const char *verb) {
    add_word(w, "petri", 5);
    add_word(w, verb, strlen(verb));
}

static void end_line(const struct replicate *how, struct spoken *w) {
    add_word(w, "--db", 4);
    add_word(w, how->database, strlen(how->database));
}

/* Builds the command line of the run for the cell and seed, or of `petri resume`.  of: the run that
 * replaces {run}. */
static int run_words(const struct replicate *how, const struct experiment *x, int cell, int s,
                     const char *name, int64_t of, int64_t unfinished, struct spoken *w, struct err *e) {
    const struct experiment_cell *c = &x->cell[cell];
    char number[32], workers[16];
    int n = snprintf(workers, sizeof workers, "%d", how->workers);
    if (unfinished) {
        start_line(w, "resume");
        add_word(w, number, (size_t)snprintf(number, sizeof number, "%lld", (long long)unfinished));
    } else {
        char *line = c->verb ? xstrdup(c->text) : xprintf("%s %s", x->base, c->text),
             *full = filled(how, line, of, e);
        free(line);
        if (!full) return e->code;
        start_line(w, c->verb ? c->verb : "train");
        int rc = replicate_add_words(w, full, e);
        free(full);
        if (rc) return rc;
        if (!c->verb) add_word(w, "--precision", 11), add_word(w, "f32", 3); /* of the stored results */
        add_word(w, "--seed", 6);
        add_word(w, number, (size_t)snprintf(number, sizeof number, "%llu", (unsigned long long)x->seed[s]));
        add_word(w, "--note", 6);
        add_word(w, name, strlen(name));
        add_word(w, "--cell", 6);
        add_word(w, name, strlen(name));
    }
    add_word(w, "--workers", 9);
    add_word(w, workers, (size_t)n);
    end_line(how, w);
    return 0;
}

static int do_run(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
                  int cell, int s, int *missing, struct err *e) {
    struct found f;
    struct spoken w = { 0 };
    struct buf out = BUF_INIT;
    int status = 0;
    int64_t of = x->cell[cell].of < 0 ? 0 : r->run[x->cell[cell].of][s];
    if (x->cell[cell].of >= 0 && !of) return ++*missing, 0;
    char *name = cell_of(x, cell, s);
    int rc = find_run(how, name, &f, e);
    if (!rc && !f.finished && !how->dry && clock_seconds() < how->until) {
        rc = run_words(how, x, cell, s, name, of, f.startable, &w, e);
        if (!rc) how->tell(name);
        if (!rc) rc = run_petri(how, &w, &out, &status, e);
        if (!rc) rc = find_run(how, name, &f, e);
        /* a run that was stopped at the time limit is resumed next time */
        if (!rc && !f.finished && clock_seconds() < how->until)
            rc = err_set(e, ERR_FAILED, "%s: petri failed with exit code %d", name, status);
    }
    if (!rc && f.differs) {
        char *said = xprintf("%s: its %zu runs have different weights; only the newest, run %lld, is used",
                             name, f.count, (long long)f.finished);
        how->tell(said);
        free(said);
    }
    if (!rc && f.finished) rc = value_of_run(how, x, r, cell, s, f.finished, e);
    else if (!rc) ++*missing;
    spoken_release(&w);
    buf_release(&out);
    free(name);
    return rc;
}

/* ---- measures ---- */

/* Returns the number at "a.0.b" of a verb's JSON. */
static int number_at(const char *json, size_t n, const char *path, double *out, struct err *e) {
    json_t *root = json_parse("the JSON output of the command", json, n, e), *at = root;
    if (!root) return e->code;
    char *copy = xstrdup(path), *rest = copy, *part;
    while (at && (part = strsep(&rest, "."))) {
        int64_t i;
        if (json_is_array(at)) at = text_to_int(part, &i) && i >= 0 ? json_array_get(at, (size_t)i) : NULL;
        else at = json_object_get(at, part);
    }
    free(copy);
    int rc = json_is_number(at) ? 0
                                : err_set(e, ERR_INPUT, "the JSON output of the command has no number at "
                                                        "\"%s\"",
                                          path);
    if (!rc) *out = json_number_value(at);
    json_decref(root);
    return rc;
}

/* Returns the name under which a measure is stored, as a point of the run at its last step.  Caller frees. */
static char *measure_name(const struct experiment_cell *c) {
    return xprintf("measure %s at %s", c->text, c->path);
}

/* Reads the stored result of the same measure; *out is unchanged if there is none. */
static int measured(const struct replicate *how, int64_t id, const struct experiment_cell *c, double *out,
                    struct err *e) {
    struct store_run run;
    int rc = store_run(how->store, id, &run, e);
    if (rc) return rc;
    char *name = measure_name(c);
    for (size_t i = 0; i < run.value_count; i++)
        if (!strcmp(run.value[i].name, name) && run.value[i].last.measured) *out = run.value[i].last.v;
    free(name);
    store_run_release(&run);
    return 0;
}

static int do_measure(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
                      int cell, int s, int *missing, struct err *e) {
    const struct experiment_cell *c = &x->cell[cell];
    int64_t run = r->run[c->of][s];
    double value = NAN;
    if (!run) return ++*missing, 0;
    int rc = measured(how, run, c, &value, e), status = 0;
    if (!rc && isnan(value) && !how->dry && clock_seconds() < how->until) {
        struct spoken w = { 0 };
        struct buf out = BUF_INIT;
        char *line = filled(how, c->text, run, e);
        add_word(&w, "petri", 5);
        rc = line ? replicate_add_words(&w, line, e) : e->code;
        end_line(how, &w);
        if (!rc) how->tell(line);
        if (!rc) rc = run_petri(how, &w, &out, &status, e);
        bool late = clock_seconds() >= how->until;
        if (!rc && status && !late)
            rc = err_set(e, ERR_FAILED, "petri %s: failed with exit code %d", line, status);
        if (!rc && !status) rc = number_at(buf_text(&out), out.size, c->path, &value, e);
        char *name = measure_name(c);
        if (!rc && !status) rc = store_measure(how->store, run, name, value, e);
        free(name);
        free(line);
        spoken_release(&w);
        buf_release(&out);
    }
    if (!rc && isnan(value)) ++*missing;
    r->run[cell][s] = run;
    r->value[cell][s] = value * c->scale;
    return rc;
}

int replicate(const struct replicate *how, const struct experiment *x, struct experiment_result *r,
              int *missing, struct err *e) {
    struct replicate reading = *how;
    reading.dry = true;
    experiment_result_init(r);
    *missing = 0;
    /* seed by seed, so that pairs are complete when the time runs out */
    for (int s = 0; s < x->seeds; s++) {
        for (int i = 0; i < x->cells; i++) {
            const struct replicate *by = x->cell[i].skip && !how->all ? &reading : how;
            int before = *missing;
            int rc = !x->cell[i].path ? do_run(by, x, r, i, s, missing, e)
                                      : do_measure(by, x, r, i, s, missing, e);
            if (rc) return rc;
            if (by != how) *missing = before;
        }
    }
    return 0;
}
