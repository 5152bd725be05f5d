/* replicate: experiments of papers; trains missing runs and compares with the published results. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/experiment/replicate.h"
#include "app/files/outfile.h"
#include "app/verbs/output.h"
#include "core/base/assets.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Finds a file, or an experiment that comes with petri by its name; NULL on failure.  The caller frees. */
static char *find_file(const char *typed, struct err *e) {
    if (file_exists(typed)) return xstrdup(typed);
    char *inside = xprintf("experiments/%s.json", typed), *found = assets_find(inside), **name;
    free(inside);
    if (found) return found;
    struct buf all = BUF_INIT;
    size_t n = assets_files("experiments", ".json", &name);
    for (size_t i = 0; i < n; i++) buf_printf(&all, "%s%s", i ? ", " : "; available: ", name[i]);
    err_set(e, ERR_NOT_FOUND, "\"%s\": neither a file nor an experiment%s", typed, buf_text(&all));
    buf_release(&all);
    assets_free(name, n);
    return NULL;
}

static void verb_replicate_tell(const char *line) {
    char *shown = text_visible(line, strlen(line));
    fprintf(stderr, "replicate: %s\n", shown);
    free(shown);
}

static void print_tables(const struct experiment *x, const struct experiment_result *r) {
    struct experiment_cell_line *cell = xcalloc((size_t)x->cells + 1, sizeof *cell);
    struct experiment_contrast_line *contrast = xcalloc((size_t)x->contrasts + 1, sizeof *contrast);
    for (int i = 0; i < x->cells; i++)
        cell[i] = (struct experiment_cell_line){ x->cell[i].id, x->cell[i].published,
                                                 experiment_cell_spread(x, r, i) };
    for (int i = 0; i < x->contrasts; i++) contrast[i] = experiment_contrast_line(x, r, i);
    char *head = xprintf("%s: %s", x->name, x->claim);
    out_text(head);
    putchar('\n');
    out_rows(experiment_cell_columns, REPORT_TABLE, cell, x->cells, sizeof *cell);
    if (x->contrasts)
        out_rows(experiment_contrast_columns, REPORT_TABLE, contrast, x->contrasts, sizeof *contrast);
    free(head), free(cell), free(contrast);
}

enum { FILES = 2 };

/* Checks the output files before anything is trained. */
static int verb_replicate_check_files(const struct args *a, const struct outfile_guard *g, struct err *e) {
    for (int i = 0; i < FILES; i++) {
        const char *path = i ? a->replicate.page : a->out;
        if (path && outfile_check(g, path, e)) return e->code;
    }
    return 0;
}

/* Writes JSON and page. */
static int verb_replicate_write_files(const struct args *a, const struct outfile_guard *g,
                                      const struct buf *json, const struct buf *page, struct err *e) {
    const struct buf *what[FILES] = { json, page };
    int rc = 0;
    for (int i = 0; !rc && i < FILES; i++) {
        struct file_atomic f;
        const char *path = i ? a->replicate.page : a->out;
        if (!path) continue;
        rc = outfile_open(&f, g, path, e);
        if (rc) break;
        rc = file_atomic_add(&f, buf_text(what[i]), what[i]->size, e);
        if (rc) file_atomic_abandon(&f);
        else rc = file_atomic_commit(&f, e);
    }
    return rc;
}

/* Runs one experiment after another; their results form one list. */
static int run_all(const struct args *a, const struct replicate *how, struct buf *json, struct buf *page,
                   int *lacking, struct err *e) {
    const char *from = a->from;
    struct experiment *x = xcalloc(1, sizeof *x);
    struct experiment_result *r = xcalloc(1, sizeof *r);
    int rc = 0;
    buf_putc(json, '[');
    buf_puts(page, EXPERIMENT_PAGE);
    for (int i = 0; !rc && i < a->count; i++) {
        char *path = find_file(a->positional[i], e);
        int lacks = 0;
        rc = path ? experiment_read(x, path, e) : e->code;
        free(path);
        if (rc) break;
        rc = from ? experiment_result_read(x, from, r, e) : replicate(how, x, r, &lacks, e);
        *lacking += lacks;
        experiment_result_json(x, r, json);
        experiment_page(x, r, page);
        if (!a->json && (!rc || rc == ERR_INTERRUPTED)) print_tables(x, r);
        experiment_release(x);
    }
    buf_putc(json, ']');
    experiment_result_release(r);
    free(x);
    free(r);
    return rc;
}

int verb_replicate(const struct args *a, struct err *e) {
    int64_t minutes = a->replicate.budget;
    struct replicate how = { .data = a->replicate.data,
                             .dry = a->replicate.dry_run,
                             .all = a->replicate.all,
                             .workers = verb_workers(a),
                             .interrupted = verb_interrupted,
                             .tell = verb_replicate_tell };
    how.until = minutes ? clock_seconds() + 60.0 * (double)minutes : INFINITY;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    how.database = database;
    struct buf json = BUF_INIT, page = BUF_INIT;
    int lacking = 0;
    bool stored = !a->from;
    struct outfile_guard g;
    outfile_guard_init(&g, database, a->overwrite);
    int rc = verb_replicate_check_files(a, &g, e);
    if (!rc && stored) rc = verb_store(a, STORE_WRITE, &how.store, e);
    if (!rc) {
        verb_catch_signals();
        rc = run_all(a, &how, &json, &page, &lacking, e);
        if (!rc) rc = verb_replicate_write_files(a, &g, &json, &page, e);
        if (!rc && a->json) out_line(&json);
        if (!rc && lacking)
            fprintf(stderr,
                "replicate: runs and measurements missing: %d; run the same command to continue\n",
                lacking);
        if (stored) rc = verb_close(how.store, rc, e);
    }
    buf_release(&json);
    buf_release(&page);
    outfile_guard_release(&g);
    free(database);
    return rc;
}
