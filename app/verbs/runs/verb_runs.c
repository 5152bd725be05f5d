/* The recorded runs: runs, show, trash, restore, sql. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/history/purge.h"
#include "app/history/run_row.h"
#include "app/history/run_table.h"
#include "app/history/task_results.h"
#include "app/verbs/output.h"
#include "app/verbs/runs/shots_table.h"
#include "app/why/why.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

char *verb_database(const struct args *a, struct err *e) {
    static bool said;
    const char *given = a->db;
    bool guessed = false;
    char *path = given ? xstrdup(given) : paths_database(&guessed, e);
    if (!guessed || said) return path;
    char *shown = text_visible(path, strlen(path));
    fprintf(stderr,
            "petri: HOME is not set to an absolute path: using the database %s; use --db FILE for another\n",
            shown);
    free(shown);
    said = true;
    return path;
}

int verb_store(const struct args *a, enum store_mode mode, struct store **s, struct err *e) {
    char *path = verb_database(a, e);
    if (!path) return e->code;
    int rc = store_open(s, path, mode, e);
    free(path);
    return rc;
}

/* Appends the results of a few-shot run. */
static int add_shots(struct store *s, const struct store_run *r, struct buf *b, struct err *e) {
    struct shots_results results;
    if (!run_row_is_fewshot(r)) return 0;
    if (shots_results(s, r, &results, e)) return e->code;
    b->data[--b->size] = '\0'; /* the closing brace: more members follow */
    json_add_key(b, "results");
    shots_results_list(&results, 1, b);
    buf_putc(b, '}');
    shots_results_release(&results);
    return 0;
}

int verb_run_add(struct store *s, const struct store_run *r, struct buf *b, struct err *e) {
    struct task_results tasks;
    store_run_json(r, b);
    int rc = task_results(s, r, &tasks, e);
    if (!rc && tasks.count) {
        b->data[--b->size] = '\0'; /* the closing brace: more members follow */
        task_results_json(&tasks, r, b);
        buf_putc(b, '}');
    }
    task_results_release(&tasks);
    return rc || !r->config ? rc : add_shots(s, r, b, e);
}

int verb_run_json(struct store *s, const struct store_run *r, struct err *e) {
    struct buf b = BUF_INIT;
    int rc = verb_run_add(s, r, &b, e);
    if (!rc) out_line(&b);
    buf_release(&b);
    return rc;
}

int verb_report_run(const struct args *a, struct store *s, int64_t id, const char *ending, struct err *e) {
    struct store_run run;
    int rc = store_flush(s, e);
    if (!rc) rc = store_run(s, id, &run, e);
    if (rc) return rc;
    if (a->json) {
        rc = verb_run_json(s, &run, e);
    } else {
        printf("run %lld: ", (long long)id);
        out_text(run.method);
        printf(" on ");
        out_text(run.model);
        printf(", %s\n", ending);
    }
    store_run_release(&run);
    return rc;
}

int verb_close(struct store *s, int rc, struct err *e) {
    struct err closing = ERR_INIT;
    int closed = store_close(s, &closing);
    if (rc || !closed) return rc;
    *e = closing;
    return closed;
}

/* A missing database is reported as a database without runs. */
static int open_to_read(const struct args *a, struct store **s, struct err *e) {
    int rc = verb_store(a, STORE_READ, s, e);
    if (rc != ERR_NOT_FOUND || a->db) return rc;
    return err_prefix(e, "no runs yet");
}

static int verb_runs_print_table(struct store *s, const struct store_runs *runs, enum store_format form,
                                 struct err *e) {
    int64_t *id = xcalloc(runs->count + 1, sizeof *id);
    for (size_t i = 0; i < runs->count; i++) id[i] = runs->run[i].id;
    int rc = run_table_write(s, id, runs->count, form, (struct store_sink){ NULL, verb_to_stdout }, e);
    free(id);
    return rc;
}

/* Returns the form of --csv, --json or --markdown, else `usual`. */
static enum store_format form_of(const struct args *a, enum store_format usual) {
    return a->csv ? STORE_CSV : a->markdown ? STORE_MARKDOWN : a->json ? STORE_JSON : usual;
}

int verb_runs(const struct args *a, struct err *e) {
    struct store *s;
    char *filter = args_words(a);
    struct store_list list = { .filter = filter, .sort = a->runs.sort,
                               .trash = a->runs.trash, .limit = a->runs.limit };
    enum store_format form = form_of(a, STORE_JSON);
    int rc = open_to_read(a, &s, e);
    if (rc) {
        free(filter);
        return rc;
    }
    struct store_runs runs;
    rc = store_list(s, &list, &runs, e);
    bool listed = !rc;
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '[');
        for (size_t i = 0; i < runs.count && !rc; i++) {
            if (i) buf_putc(&b, ',');
            rc = verb_run_add(s, &runs.run[i], &b, e);
        }
        buf_putc(&b, ']');
        if (!rc) out_line(&b);
        buf_release(&b);
    } else if (!rc && form != STORE_JSON) {
        rc = verb_runs_print_table(s, &runs, form, e);
    } else if (!rc) {
        struct buf b = BUF_INIT;
        run_table_report(runs.run, runs.count, REPORT_TABLE, &b);
        buf_printf(&b, "%zu of %lld runs", runs.count, (long long)runs.all);
        out_line(&b);
    }
    if (listed) store_runs_release(&runs);
    free(filter);
    return verb_close(s, rc, e);
}

static void show_line(const char *key, const char *value) {
    if (!value || !*value) return;
    printf("%-14s ", key);
    out_text(value);
    putchar('\n');
}

/* Prints each line separately, so that text of a file cannot contain control sequences. */
static void show_lines(const char *text) {
    for (const char *end; *text; text = end + (*end == '\n')) {
        end = text + strcspn(text, "\n");
        char *line = xstrndup(text, (size_t)(end - text));
        fputs("  ", stdout);
        out_text(line);
        putchar('\n');
        free(line);
    }
}

/* Prints saved sets of vectors and matrices of the run. */
static void show_kept(struct store *s, int64_t run) {
    struct store_embeddings sets;
    struct store_matrices matrices;
    struct err e = ERR_INIT;
    if (!store_embeddings(s, run, &sets, &e)) {
        for (size_t i = 0; i < sets.count; i++) {
            const struct store_embedding *m = &sets.set[i];
            printf("set %-10lld step %lld  %d examples of ", (long long)m->id, (long long)m->step, m->rows);
            out_text(m->task);
            printf(" (%s), layer %d, %s\n", m->split, m->layer, m->pool);
        }
        store_embeddings_release(&sets);
    }
    if (!store_matrices(s, run, &matrices, &e)) {
        for (size_t i = 0; i < matrices.count; i++) {
            const struct store_matrix *m = &matrices.matrix[i];
            printf("matrix %-7lld %s, %d by %d\n", (long long)m->id, m->name, m->rows, m->columns);
        }
        store_matrices_release(&matrices);
    }
}

/* Prints one line per task of a multi-task run. */
static void show_tasks(struct store *s, const struct store_run *r) {
    struct task_results t;
    struct err e = ERR_INIT;
    if (task_results(s, r, &t, &e)) return; /* the stored points are shown below in any case */
    for (int i = 0; i < t.count; i++) {
        const struct task_result *x = &t.of[i];
        printf("task %-9s %s ", x->task, x->metric);
        if (isnan(x->value)) printf("%s", x->undefined ? "undefined" : "-");
        else printf("%.4f", x->value);
        if (x->undefined) printf(" (%s)", x->undefined);
        printf(" at step %lld", (long long)x->step);
        if (!isnan(x->majority)) printf(", majority %.4f", x->majority);
        if (x->rows) printf(", %lld examples", (long long)x->rows);
        putchar('\n');
    }
    task_results_release(&t);
}

/* Prints one line per k of a few-shot run. */
static void show_shots(struct store *s, const struct store_run *r) {
    struct shots_results results;
    struct err e = ERR_INIT;
    if (!run_row_is_fewshot(r) || shots_results(s, r, &results, &e))
        return; /* the stored points are shown below in any case */
    shots_table_print(&results, 1);
    shots_results_release(&results);
}

static void show_disk(struct store *s, int64_t run) {
    struct purge_sum sum;
    struct err e = ERR_INIT; /* an unreadable folder has no size */
    char files[32], bytes[32];
    if (purge_count(s, &run, 1, &sum, &e)) return;
    text_thousands(sum.files, files);
    text_thousands(sum.bytes, bytes);
    printf("%-14s %s bytes in %s %s\n", "on disk", bytes, files, sum.files == 1 ? "file" : "files");
}

static void show_text(struct store *s, const struct store_run *r) {
    char trained[32], kept[32], head[32], model[32], at[32];
    text_thousands(r->trained, trained);
    text_thousands(r->stored, kept);
    text_thousands(r->head, head);
    text_thousands(r->model_values, model);
    show_line("name", r->name);
    printf("run %lld, %s, step %lld of %lld\n", (long long)r->id, store_state_name(r->state),
           (long long)r->step, (long long)r->steps);
    char *took = run_row_time(r), *memory = run_row_memory(r);
    show_line("time", took);
    show_line("peak memory", memory);
    free(took);
    free(memory);
    show_line("reason", r->reason);
    show_line("method", r->method);
    show_line("modules", r->canonical);
    show_line("regime", r->regime);
    show_line("model", r->model_folder);
    show_line("model sha256", r->model_sha256);
    show_line("task", r->task);
    show_line("train", r->train_file);
    show_line("dev", r->dev_file);
    printf("%-14s %s trainable, %s stored, head %s, model %s\n", "parameters", trained, kept, head, model);
    printf("%-14s %llu\n", "seed", (unsigned long long)r->seed);
    text_time(r->created, at);
    show_line("created", at);
    show_line("weights sha256", r->weights_sha256);
    show_line("imported", r->imported);
    if (r->parent) printf("%-14s %lld\n", "parent", (long long)r->parent);
    show_line("tags", r->tags);
    show_line("note", r->note);
    show_line("train sha256", r->train_sha256);
    show_line("dev sha256", r->dev_sha256);
    show_line("kernel", r->kernel);
    show_line("config", r->config);
    for (int i = 0; i < r->reports; i++) {
        puts(i ? "" : "import report:");
        show_lines(r->report[i]);
    }
    show_tasks(s, r);
    show_shots(s, r);
    struct store_evals evals;
    struct err e = ERR_INIT;
    if (!store_evaluations(s, r->id, &evals, &e)) {
        for (size_t i = 0; i < evals.count; i++) {
            const struct store_eval_row *v = &evals.row[i];
            char value[RUN_VALUE_ROOM];
            bool decides = !strcmp(v->name, r->decides);
            run_table_value(&v->value, value);
            printf("step %-9lld %-16s %s", (long long)v->step, v->name, value);
            if (v->value.undefined) printf(" (%s)", v->value.undefined);
            printf("  %s%s%s\n", v->rows ? v->rows : "", decides && v->best ? "  best" : "",
                   !decides        ? ""
                   : v->none_valid ? "  no valid output"
                   : v->constant   ? "  predicts one class only"
                                   : "");
        }
        store_evals_release(&evals);
    }
    struct store_files files;
    if (!store_artifacts(s, r->id, &files, &e)) {
        for (size_t i = 0; i < files.count; i++) {
            printf("file %-9s step %lld  ", files.file[i].kind, (long long)files.file[i].step);
            out_text(files.file[i].path);
            putchar('\n');
        }
        store_files_release(&files);
    }
    show_disk(s, r->id);
    show_kept(s, r->id);
}

/* Prints the diagnostics, one per line or as a JSON array. */
static int show_why(struct store *s, const struct store_run *r, bool json, struct err *e) {
    struct why why;
    int rc = why_of_run(s, r, &why, e);
    if (rc) return rc;
    if (json) {
        struct buf b = BUF_INIT;
        why_json(&why, &b);
        out_line(&b);
    } else {
        for (int i = 0; i < why.count; i++) printf("%s\n", why.of[i].text);
        if (!why.count) printf("no problems found (%d diagnostics checked)\n", why.looked_for);
        for (int i = 0; i < why.facts; i++) printf("%s%s\n", i ? "" : "\n", why.fact[i]);
    }
    why_release(&why);
    return 0;
}

int verb_show(const struct args *a, struct err *e) {
    struct store *s;
    int rc = open_to_read(a, &s, e);
    if (rc) return rc;
    int64_t id;
    struct store_run run;
    rc = store_find(s, a->positional[0], &id, e);
    if (!rc) rc = store_run(s, id, &run, e);
    if (!rc) {
        if (a->flag) {
            rc = show_why(s, &run, a->json, e);
        } else if (a->json) {
            rc = verb_run_json(s, &run, e);
        } else {
            show_text(s, &run);
        }
        store_run_release(&run);
    }
    return verb_close(s, rc, e);
}

static int move_runs(const struct args *a, struct err *e,
                     int (*move)(struct store *, const int64_t *, size_t, struct err *), const char *said) {
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    int64_t *id = xcalloc((size_t)a->count, sizeof *id);
    for (int i = 0; !rc && i < a->count; i++) rc = store_find(s, a->positional[i], &id[i], e);
    if (!rc) rc = move(s, id, (size_t)a->count, e);
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        buf_printf(&b, "{\"%s\":[", said);
        for (int i = 0; i < a->count; i++) json_member_int(&b, NULL, id[i]);
        buf_puts(&b, "]}");
        out_line(&b);
    } else if (!rc) {
        printf("%d %s %s\n", a->count, a->count == 1 ? "run" : "runs", said);
    }
    free(id);
    return verb_close(s, rc, e);
}

int verb_trash(const struct args *a, struct err *e) { return move_runs(a, e, store_trash, "trashed"); }
int verb_restore(const struct args *a, struct err *e) { return move_runs(a, e, store_restore, "restored"); }

/* Control characters are made visible on a terminal. */
int verb_to_stdout(void *self, const char *bytes, size_t n) {
    (void)self;
    if (!isatty(STDOUT_FILENO)) return fwrite(bytes, 1, n, stdout) == n ? 0 : ERR_SYSTEM;
    for (const char *end = bytes + n; bytes < end;) {
        const char *stop = memchr(bytes, '\n', (size_t)(end - bytes));
        char *line = text_visible(bytes, (size_t)((stop ? stop : end) - bytes));
        int rc = fputs(line, stdout);
        free(line);
        if (rc < 0 || (stop && putchar('\n') < 0)) return ERR_SYSTEM;
        bytes = stop ? stop + 1 : end;
    }
    return 0;
}

int verb_sql(const struct args *a, struct err *e) {
    struct store *s;
    int rc = open_to_read(a, &s, e);
    if (rc) return rc;
    rc = store_sql_text(s, a->positional[0], form_of(a, STORE_CSV),
                        (struct store_sink){ NULL, verb_to_stdout }, e);
    if (rc == ERR_USAGE) err_prefix(e, "petri sql");
    return verb_close(s, rc, e);
}
