#include "app/lesson/play.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/history/record.h"
#include "app/jobs/typed.h"
#include "app/lesson/measure_private.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"

enum { OPTIONS = 64 };

/* ---- the config of a run ---- */

/* The words of a run's options. */
struct lesson_words {
    int count;
    char *word[2 * OPTIONS];
};

static void words_release(struct lesson_words *w) {
    for (int i = 0; i < w->count; i++) free(w->word[i]);
}

static int take_words(struct lesson_words *w, const char *line, struct err *e) {
    char *word;
    while ((word = text_word(&line))) {
        if (w->count == 2 * OPTIONS) {
            free(word);
            return err_set(e, ERR_USAGE, "too many words: at most %d are supported", 2 * OPTIONS);
        }
        w->word[w->count++] = word;
    }
    return 0;
}

/* Parses "--lr 0.1 --method x" and "--lr=0.1" as options; a switch has the value "on". */
static int typed_of(const struct lesson_words *w, struct typed_option *o, int *n, const char **seeds,
                    struct err *e) {
    *n = 0;
    for (int i = 0; i < w->count; i++) {
        char *word = w->word[i], *equals = strchr(word, '=');
        if (!text_starts(word, "--"))
            return err_set(e, ERR_USAGE, "unknown option of petri train: \"%s\"", word);
        if (equals) *equals = '\0';
        bool many = !strcmp(word + 2, "seeds");
        const char *name = many ? "seeds" : config_option_name(word + 2);
        if (!name) return err_set(e, ERR_USAGE, "unknown option of petri train: \"%s\"", word);
        bool takes = many;
        takes = many || option_find(name)->values;
        const char *value = equals                      ? equals + 1
                            : takes && i + 1 < w->count ? w->word[++i]
                            : takes                     ? NULL
                                                        : "on";
        if (!value) return err_set(e, ERR_USAGE, "%s: requires a value", word);
        if (many) *seeds = value;
        else if (*n == OPTIONS) return err_set(e, ERR_USAGE, "too many options: at most %d are supported",
                                               OPTIONS);
        else o[(*n)++] = (struct typed_option){ word + 2, value };
    }
    return 0;
}

static int config_like(const struct lesson_play *p, int64_t like, struct run_config *c, struct err *e) {
    struct run_config own;
    int rc = record_config(p->store, like, &own, e);
    if (rc) return rc;
    config_release(c);
    *c = own;
    config_reuse(c);
    return 0;
}

static bool says(const struct typed_option *o, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (config_option_name(o[i].spelling) && !strcmp(config_option_name(o[i].spelling), name))
            return true;
    return false;
}

int lesson_config(const struct lesson_play *p, const struct typed_option *o, int n, int64_t like,
                  struct run_config *c, struct err *e) {
    struct typed_option all[OPTIONS + 2];
    const char *model = p->model ? p->model : p->lesson->model, *task = p->task ? p->task : p->lesson->task;
    int count = 0;
    config_init(c);
    config_put(c, "precision", LESSON_PRECISION);
    if (like) {
        int rc = config_like(p, like, c, e);
        return rc ? rc : typed_onto(o, n, c, e);
    }
    if (model && !says(o, n, "model")) all[count++] = (struct typed_option){ "model", model };
    if (task && !says(o, n, "task") && !says(o, n, "tasks") && !says(o, n, "train"))
        all[count++] = (struct typed_option){ "task", task };
    memcpy(all + count, o, (size_t)n * sizeof *o);
    return typed_config(all, count + n, c, e);
}

void lesson_play_on(const struct lesson *l, struct lesson_progress *p, const char *model, const char *task) {
    lesson_progress_on(p,
                       model      ? model
                       : l->model ? l->model
                                  : paths_model(),
                       task      ? task
                       : l->task ? l->task
                                 : paths_task());
}

/* ---- runs ---- */

static int begin_seeds(struct lesson_play *p, int step, struct run_config *c, const char *seeds,
                       struct err *e) {
    struct lesson_result *r = &p->progress->of[step];
    uint64_t seed[LESSON_SEEDS] = { c->seed };
    int n = seeds ? config_parse_seeds(seeds, seed, LESSON_SEEDS, e) : 1, rc = n < 0 ? n : 0;
    char *note = xprintf("lesson %s: %s", p->lesson->name, p->lesson->step[step].name);
    r->runs = 0;
    for (int i = 0; !rc && i < n; i++) {
        struct job_request q = { .config = *c, .note = note, .tag = STORE_LESSON_TAG };
        q.config.seed = seed[i];
        rc = jobs_start(p->jobs, &q, &r->run[r->runs], e);
        if (!rc) r->runs++;
    }
    free(note);
    return rc;
}

int lesson_begin(struct lesson_play *p, int step, struct err *e) {
    const struct lesson_step *s = &p->lesson->step[step];
    struct lesson_result *r = &p->progress->of[step];
    struct lesson_words words = { 0 };
    struct typed_option o[OPTIONS];
    struct run_config c;
    const char *seeds = NULL;
    int n = 0;
    BUG_IF(s->kind != LESSON_RUN);
    char *line = lesson_fill(p->lesson, p->progress, step, s->head, true);
    int rc = take_words(&words, line, e);
    if (!rc) rc = typed_of(&words, o, &n, &seeds, e);
    int64_t like = s->of >= 0 && p->progress->of[s->of].runs ? p->progress->of[s->of].run[0] : 0;
    if (!rc && s->of >= 0 && !like)
        rc = err_set(e, ERR_USAGE, "\"%s\" has not been run yet", p->lesson->step[s->of].name);
    if (!rc) {
        rc = lesson_config(p, o, n, like, &c, e);
        if (!rc) rc = begin_seeds(p, step, &c, seeds, e);
        config_release(&c);
    }
    words_release(&words);
    free(line);
    if (!rc) r->state = LESSON_BUSY;
    if (!rc) return 0;
    err_prefix(e, "%s:%d", p->lesson->path, s->line);
    lesson_set_failed(p->progress, step, e->text);
    return rc;
}

/* Notes the runs of a step that end at or below the majority baseline; multi-task runs are skipped. */
static void note_majority(struct lesson_result *r, const struct store_run *run, int *flat) {
    double majority = NAN;
    char *name = store_name_other(run->decides, "majority");
    for (size_t i = 0; i < run->value_count; i++)
        if (!strcmp(run->value[i].name, name)) majority = run->value[i].last.v;
    free(name);
    if (strcmp(run->metric, "accuracy") || !run->best.measured || !(run->best.v <= majority)) return;
    ++*flat;
    free(r->note);
    if (r->runs > 1)
        r->note = xprintf(
            "%d of %d runs are not above the majority baseline of %.3f: they have learned nothing yet", *flat,
            r->runs, majority);
    else
        r->note = xprintf(
            "accuracy %.3f is not above the majority baseline of %.3f: the run has learned nothing yet",
            run->best.v, majority);
}

/* Only finished runs are used in lessons. */
static void judge_runs(struct lesson_play *p, int step) {
    struct lesson_result *r = &p->progress->of[step];
    struct err e = ERR_INIT;
    store_flush(p->store, &e);
    int flat = 0;
    r->state = LESSON_DONE;
    for (int i = 0; i < r->runs && r->state == LESSON_DONE; i++) {
        struct store_run run;
        int rc = jobs_failure(p->jobs, r->run[i], &e);
        if (!rc) rc = store_run(p->store, r->run[i], &run, &e);
        if (rc) {
            lesson_set_failed(p->progress, step, e.text);
            return;
        }
        if (run.state != STORE_FINISHED) {
            char *why = xprintf("run %lld is %s%s%s", (long long)run.id, store_state_name(run.state),
                                run.reason ? ": " : "", run.reason ? run.reason : "");
            lesson_set_failed(p->progress, step, why);
            free(why);
        }
        note_majority(r, &run, &flat);
        store_run_release(&run);
    }
}

bool lesson_over(struct lesson_play *p, int step, double seconds) {
    const struct lesson_result *r = &p->progress->of[step];
    if (r->state != LESSON_BUSY) return true;
    for (int i = 0; i < r->runs; i++)
        if (!jobs_wait(p->jobs, r->run[i], seconds)) return false;
    judge_runs(p, step);
    return true;
}

/* ---- values ---- */

static int value_of_step(void *self, int step, double *out, struct err *e) {
    const struct lesson_play *p = self;
    const struct lesson_result *r = &p->progress->of[step];
    if (r->state != LESSON_DONE)
        return err_set(e, ERR_FAILED, "\"%s\" has not been computed yet", p->lesson->step[step].name);
    *out = r->value;
    return 0;
}

int lesson_measure(struct lesson_play *p, int step, struct err *e) {
    const struct lesson_step *s = &p->lesson->step[step];
    const struct expression_values from = { p, value_of_step, lesson_quantity };
    double value, low = -INFINITY, high = INFINITY;
    BUG_IF(!lesson_computes(s));
    int rc = s->value ? expression_value(s->value, &from, &value, e) : lesson_measure_layouts(p, step, e);
    if (!rc && s->low) rc = expression_value(s->low, &from, &low, e);
    if (!rc && s->high) rc = expression_value(s->high, &from, &high, e);
    if (!rc && !s->value) return 0;
    if (!rc) {
        lesson_set_value(p->lesson, p->progress, step, value, low, high);
        return 0;
    }
    err_prefix(e, "%s:%d", p->lesson->path, s->line);
    lesson_set_failed(p->progress, step, e->text);
    return rc;
}

/* ---- saved progress ---- */

enum { PROGRESS_BYTES = 1 << 22 };

static char *lesson_progress_path(const char *database) {
    return xprintf("%s-files/lessons.json", database);
}

int lesson_progress_load(struct lesson_progress *p, const struct lesson *l, const char *database,
                         struct err *e) {
    char *path = lesson_progress_path(database);
    struct buf all = BUF_INIT;
    int rc = file_exists(path) ? file_read(path, PROGRESS_BYTES, &all, e) : 0;
    if (!rc) lesson_progress_read(p, l, buf_text(&all), all.size);
    buf_release(&all);
    free(path);
    return rc;
}

int lesson_progress_last(const char *database, char **found, struct err *e) {
    char *path = lesson_progress_path(database);
    struct buf all = BUF_INIT;
    int rc = file_exists(path) ? file_read(path, PROGRESS_BYTES, &all, e) : 0;
    *found = rc ? NULL : lesson_played_last(buf_text(&all), all.size);
    buf_release(&all);
    free(path);
    return rc;
}

bool lesson_progress_changed(const char *database, struct buf *stamp) {
    char *path = lesson_progress_path(database);
    struct buf now = BUF_INIT;
    file_stamp(path, &now);
    bool changed = strcmp(buf_text(&now), buf_text(stamp)) != 0;
    buf_release(stamp);
    *stamp = now;
    free(path);
    return changed;
}

int lesson_progress_store(const struct lesson_progress *p, const struct lesson *l, const char *database,
                      struct err *e) {
    char *path = lesson_progress_path(database), *lock = xprintf("%s-lock", path),
         *folder = xprintf("%s-files", database);
    struct buf all = BUF_INIT, now = BUF_INIT;
    int fd = -1, rc = file_make_folder(folder, e);
    if (!rc) rc = file_lock(lock, true, &fd, e); /* another process may save another lesson */
    if (!rc && file_exists(path)) rc = file_read(path, PROGRESS_BYTES, &all, e);
    if (!rc) lesson_progress_write(p, l, buf_text(&all), all.size, &now);
    if (!rc) rc = file_write(path, buf_text(&now), now.size, e);
    if (fd >= 0) file_unlock(fd);
    buf_release(&all);
    buf_release(&now);
    free(path);
    free(lock);
    free(folder);
    return rc;
}
