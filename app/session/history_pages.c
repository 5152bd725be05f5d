#include "app/session/history_pages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/session/page_settings.h"
#include "app/session/tags.h"
#include "app/sweep/tune.h"
#include "app/why/why.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/ui_parts.h"

static char *local_time(int64_t ms) {
    if (!ms) return xstrdup("");
    time_t seconds = (time_t)(ms / 1000);
    struct tm when;
    char text[32];
    localtime_r(&seconds, &when);
    strftime(text, sizeof text, "%Y-%m-%d %H:%M", &when);
    return xstrdup(text);
}

static struct run_row row_of(const struct store_run *r, const char *started) {
    bool over = r->state == STORE_STOPPED || r->state == STORE_INTERRUPTED;
    return (struct run_row){
        .id = r->id,
        .state = (enum run_state)r->state,
        .step = r->step,
        .steps = r->steps,
        .method = r->method,
        .task = r->task,
        .model = r->model,
        .metric = r->best.measured ? r->metric : NULL,
        .smaller_better = r->direction < 0,
        .best = r->best.v,
        .best_step = r->best.step,
        .majority = NAN,
        .final_loss = r->loss.v,
        .trained = r->trained,
        .seconds = r->seconds,
        .seed = r->seed,
        .started = started,
        .reason = r->reason,
        .constant = r->constant,
        .none_valid = r->none_valid,
        .tuning = tune_is_tagged(r->tags),
        .resumable = over,
        .fewshot = run_row_is_fewshot(r) || (r->tags && tags_have(r->tags, STORE_DRAW_TAG)),
        .rows = r->examples,
        .lr = r->lr,
        .unfit = r->unfit,
        .decides = r->decides,
        .rows_sha256 = r->dev_sha256,
        .name = r->name,
        .tags = r->tags && *r->tags ? r->tags : NULL,
        .note = r->note && *r->note ? r->note : NULL,
        .weights = r->weights_sha256,
        .ended = r->ended,
        .pinned = tags_have(r->tags, TAG_PINNED),
        .disk = -1,
    };
}

/* Lists all runs and flags those that match the filter.  An invalid filter matches all, and its error is
 * reported. */
static int list_rows(struct store *s, struct history_rows *d, struct err *e) {
    struct err why = ERR_INIT;
    struct store_list list = { .trash = d->trash, .all = d->all, .filter = d->filter, .mark = true };
    int rc = store_list(s, &list, &d->stored, &why);
    if (rc != ERR_USAGE) {
        if (rc) *e = why;
        return rc;
    }
    memcpy(d->error, why.text, strlen(why.text) + 1);
    list.filter = NULL;
    list.mark = false;
    return store_list(s, &list, &d->stored, e);
}

/* Collects the results of the runs' tasks. */
static int add_tasks(struct store *s, struct history_rows *d, struct result_cache *tasks,
                                     struct err *e) {
    int rc = 0;
    if (!tasks) return 0;
    d->results = xcalloc((size_t)d->rows, sizeof *d->results);
    d->task = xcalloc((size_t)d->rows, sizeof *d->task);
    for (int i = 0; i < d->rows && !rc; i++) {
        rc = result_cache_of(tasks, s, &d->stored.run[i], &d->results[i], e);
        if (rc || !d->results[i].count) continue;
        d->row[i].task_result = d->task[i] = result_cache_rows(&d->results[i]);
        d->row[i].task_results = d->results[i].count;
    }
    return rc;
}

int history_rows_read(struct store *s, bool trash, bool all, const char *filter, struct result_cache *tasks,
                     struct history_rows **out, struct err *e) {
    struct history_rows *d = xcalloc(1, sizeof *d);
    d->trash = trash;
    d->all = all;
    d->filter = xstrdup(filter ? filter : "");
    int rc = list_rows(s, d, e);
    if (rc) {
        history_rows_free(d);
        return rc;
    }
    d->rows = (int)d->stored.count;
    d->row = xcalloc(d->stored.count, sizeof *d->row);
    d->started = xcalloc(d->stored.count, sizeof *d->started);
    for (int i = 0; i < d->rows; i++) {
        d->started[i] = local_time(d->stored.run[i].created);
        d->row[i] = row_of(&d->stored.run[i], d->started[i]);
    }
    rc = add_tasks(s, d, tasks, e);
    if (rc) history_rows_free(d);
    else *out = d;
    return rc;
}

void history_rows_free(struct history_rows *r) {
    if (!r) return;
    for (int i = 0; i < r->rows; i++) free(r->started[i]);
    for (int i = 0; i < r->rows && r->results; i++) {
        task_results_release(&r->results[i]);
        free(r->task[i]);
    }
    free(r->results);
    free(r->task);
    free(r->started);
    free(r->curves);
    free(r->keys);
    free(r->row);
    free(r->filter);
    store_runs_release(&r->stored);
    free(r);
}

/* ---- the page of a run ---- */

static char *keep(struct run_page *d, char *text) {
    d->text = xrealloc(d->text, (size_t)d->texts + 1, sizeof *d->text);
    return d->text[d->texts++] = text;
}

/* Pointers are stored as the texts are added; d->view points to the array when it is complete. */
static void pair(struct run_page *d, const char *key, char *value) {
    GROW(d->pair, d->pair_room, d->pairs + 1);
    d->pair[d->pairs++] = (struct detail_pair){ key, keep(d, value) };
}

static void pair_text(struct run_page *d, const char *key, const char *value) {
    if (value && *value) pair(d, key, xstrdup(value));
}

static char *thousands(int64_t v) {
    char text[32];
    text_thousands(v, text);
    return xstrdup(text);
}

static char *member_text(const json_t *v) {
    if (json_is_string(v)) return xstrdup(json_string_value(v));
    char *text = json_is_null(v) ? NULL
                                 : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    char *own = xstrdup(text ? text : "\u2013");
    free(text);
    return own;
}

/* Adds the settings of one of several tasks, "mrpc train_file". */
static void fill_task_config(struct run_page *d, const json_t *o) {
    const char *name = json_string_value(json_object_get(o, "task_name")), *key;
    json_t *v;
    json_object_foreach((json_t *)o, key, v) {
        bool off = json_is_string(v) && !strcmp(json_string_value(v), "off");
        if (json_is_null(v) || off || (json_is_number(v) && json_number_value(v) == 0)) continue;
        pair(d, keep(d, xprintf("%s %s", name ? name : "", key)),
                             member_text(v));
    }
}

/* Adds the settings, and the members of the stored config that are not among them. */
static int fill_config(struct run_page *d, const struct store_run *r, struct err *e) {
    json_t *o = json_parse("the config of the run", r->config, strlen(r->config), e), *v;
    const char *key;
    struct run_config c;
    struct err ignored = ERR_INIT; /* then all members are listed */
    if (!o) return e->code;
    if (!record_config_of(r, &c, &ignored)) {
        d->view.settings = page_settings(&c, &d->setting);
        d->view.setting = d->setting;
        config_release(&c);
    }
    json_object_foreach(o, key, v) {
        size_t i;
        json_t *task;
        if (d->setting && page_settings_have(key)) continue;
        if (strcmp(key, "tasks") || !json_is_array(v)) {
            pair(d, keep(d, xstrdup(key)), member_text(v));
            continue;
        }
        json_array_foreach(v, i, task) {
            fill_task_config(d, task);
        }
    }
    json_decref(o);
    return 0;
}

static void fill_record(struct run_page *d, const struct store_run *r) {
    char at[32];
    pair_text(d, "modules", r->canonical);
    pair_text(d, "preset", r->preset);
    pair_text(d, "regime", r->regime);
    if (r->parent) pair(d, "parent", xprintf("#%lld", (long long)r->parent));
    pair_text(d, "version", r->version);
    pair_text(d, "kernel", r->kernel);
    pair_text(d, "weights_sha256", r->weights_sha256);
    text_time(r->created, at);
    pair_text(d, "created", at);
    text_time(r->ended, at);
    pair_text(d, "ended", at);
}

/* Adds time and memory, measured and estimated. */
static void fill_costs(struct run_page *d, const struct store_run *r) {
    char *seconds = run_row_time(r), *memory = run_row_memory(r);
    if (seconds) pair(d, "time", seconds);
    if (memory) pair(d, "peak memory", memory);
}

/* Adds the size of the run's folder. */
static void fill_disk(struct run_page *d, struct store *s) {
    struct purge_sum sum;
    struct err ignored = ERR_INIT; /* the size of an unreadable folder is omitted */
    char words[128];
    if (purge_count(s, &d->stored.id, 1, &sum, &ignored)) return;
    d->view.run.disk = sum.bytes;
    purge_sum_text(1, &sum, words);
    pair(d, "on disk", xstrdup(words + strlen("1 run, ")));
}

/* Adds the stored settings of the run, its parameter counts, and its files. */
static int fill_pairs(struct run_page *d, struct store *s, const struct store_run *r,
                      const struct store_files *files, struct err *e) {
    fill_record(d, r);
    int rc = fill_config(d, r, e), counts = d->pairs;
    pair(d, "trainable, without head", thousands(r->trained));
    pair(d, "stored after training", thousands(r->stored));
    pair(d, "head", thousands(r->head));
    pair(d, "model", thousands(r->model_values));
    fill_costs(d, r);
    int artifacts = d->pairs;
    for (size_t i = 0; i < files->count; i++) {
        char *what = keep(d, xprintf("%s, step %lld", files->file[i].kind,
                                                     (long long)files->file[i].step));
        pair(d, what, xstrdup(files->file[i].path));
    }
    fill_disk(d, s);
    d->view.record = d->pair;
    d->view.records = counts;
    d->view.count = d->pair + counts;
    d->view.counts = artifacts - counts;
    d->view.artifact = d->pair + artifacts;
    d->view.artifacts = d->pairs - artifacts;
    return rc;
}

/* Adds the import reports, line by line. */
static void fill_reports(struct run_page *d, const struct store_run *r) {
    size_t room = 0;
    for (int i = 0; i < r->reports; i++)
        for (const char *at = r->report[i], *end; *at; at = end + (*end == '\n')) {
            end = at + strcspn(at, "\n");
            GROW(d->line, room, d->view.lines_read + 1);
            d->line[d->view.lines_read++] = keep(d, xstrndup(at, (size_t)(end - at)));
        }
    d->view.line_read = (const char *const *)d->line;
}

/* Adds the diagnostics; a failure to compute them is ignored. */
static void fill_why(struct store *s, struct run_page *d) {
    struct err lost = ERR_INIT;
    struct why why;
    if (store_state_is_live(d->stored.state) || why_of_run(s, &d->stored, &why, &lost)) return;
    d->sentence = xcalloc((size_t)why.count + 1, sizeof *d->sentence);
    for (int i = 0; i < why.count; i++) d->sentence[i] = keep(d, xstrdup(why.of[i].text));
    d->view.warning = (const char *const *)d->sentence;
    d->view.warnings = why.count;
    why_release(&why);
}

static void fill_detail_evals(struct run_page *d) {
    const struct series *from = &d->series->view;
    d->eval = xcalloc(from->evals, sizeof *d->eval);
    for (size_t i = 0; i < from->evals; i++)
        d->eval[i] = (struct detail_eval){ .step = (int64_t)from->eval_step[i],
                                           .loss = d->series->eval_loss[i],
                                           .value = from->eval_value[i],
                                           .best = from->best_step == (int64_t)from->eval_step[i] };
    d->view.eval = d->eval;
    d->view.evals = (int)from->evals;
}

static void fill_detail_tests(struct run_page *d) {
    d->tests = xcalloc((size_t)d->test.count + 1, sizeof *d->tests);
    for (int i = 0; i < d->test.count; i++) {
        const struct test_result *t = &d->test.of[i];
        d->tests[i] = (struct detail_test){ t->task, t->metric,   t->rows,     t->value,
                                            t->loss, t->majority, t->undefined };
    }
    d->view.test = d->tests;
    d->view.tests = d->test.count;
}

int run_page_read(struct store *s, int64_t run, struct run_page **out, struct err *e) {
    struct run_page *d = xcalloc(1, sizeof *d);
    struct store_files files = { 0 };
    int rc = store_run(s, run, &d->stored, e);
    if (rc) {
        free(d);
        return rc;
    }
    d->series = series_new(run);
    if (!rc) rc = series_read(d->series, s, &d->stored, e);
    if (!rc) rc = store_artifacts(s, run, &files, e);
    if (!rc) rc = task_results(s, &d->stored, &d->results, e);
    if (!rc) rc = test_results(s, &d->stored, &d->test, e);
    struct err lost =
        ERR_INIT; /* if a record cannot be read, the rest of the page is shown nevertheless */
    if (!rc) page_few_read(s, &d->stored, &d->few, &lost);
    if (!rc) {
        char *started = local_time(d->stored.created);
        memcpy(d->started, started, strlen(started) + 1);
        free(started);
        d->view.run = row_of(&d->stored, d->started);
        d->view.run.majority = d->series->view.majority;
        d->view.run.task_result = d->task = result_cache_rows(&d->results);
        d->view.run.task_results = d->results.count;
        rc = fill_pairs(d, s, &d->stored, &files, e);
        fill_reports(d, &d->stored);
        fill_why(s, d);
        fill_detail_evals(d);
        fill_detail_tests(d);
        d->view.series = d->series->view;
        d->view.few = d->few.few;
        d->view.episode = d->few.episode;
    }
    store_files_release(&files);
    if (rc) {
        run_page_free(d);
        return rc;
    }
    *out = d;
    return 0;
}

void run_page_free(struct run_page *d) {
    if (!d) return;
    for (int i = 0; i < d->texts; i++) free(d->text[i]);
    free(d->text);
    free(d->pair);
    free(d->line);
    free(d->sentence);
    free(d->eval);
    free(d->task);
    free(d->tests);
    page_settings_release(d->setting, d->view.settings);
    task_results_release(&d->results);
    test_results_release(&d->test);
    series_free(d->series);
    page_few_release(&d->few);
    store_run_release(&d->stored);
    free(d);
}
