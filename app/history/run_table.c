#include "app/history/run_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

static const struct {
    const char *word, *end;
} run_table_forms[] = {
    [STORE_CSV] = { "csv", ".csv" },
    [STORE_JSON] = { "json", ".json" },
    [STORE_MARKDOWN] = { "markdown", ".md" },
};

const char *run_table_end(enum store_format form) { return run_table_forms[form].end; }

bool run_table_form(const char *word, enum store_format *form) {
    for (size_t i = 0; i < COUNT_OF(run_table_forms); i++) {
        if (strcmp(word, run_table_forms[i].word)) continue;
        *form = (enum store_format)i;
        return true;
    }
    return false;
}

char *run_table_called(const struct store_run *r) {
    return xprintf("#%lld%s%s", (long long)r->id, r->name ? " " : "", r->name ? r->name : "");
}

char *run_table_short(const struct store_run *r) {
    return xprintf("#%lld %s%s%s", (long long)r->id, r->name ? r->name : "", r->name ? ": " : "", r->method);
}

char *run_table_title(const struct store_run *r) {
    char *short_one = run_table_short(r);
    char *title = xprintf("%s \u00B7 %s \u00B7 seed %llu", short_one, r->task, (unsigned long long)r->seed);
    free(short_one);
    return title;
}

enum { RUN_TABLE_NAME = 12, RUN_TABLE_COLUMNS = 14 };
static const char *const run_table_heading[RUN_TABLE_COLUMNS] = { "id",     "state",   "method", "task",
                                                                  "metric", "best",    "rows",   "step",
                                                                  "lr",     "trained", "time s", "seed",
                                                                  "name",   "" };

/* What a line of the list says beside its numbers: why it ended, as a copy's runs do, or what its best is not
 * worth. */
static const char *run_table_remark(const struct store_run *r) {
    if (r->reason && (r->state == STORE_FAILED || r->state == STORE_INTERRUPTED)) return r->reason;
    return r->none_valid ? "no answer is valid" : r->constant ? "constant predictions" : "";
}

void run_table_value(const struct store_value *v, char out[RUN_VALUE_ROOM]) {
    if (v->undefined) strcpy(out, "undefined");
    else if (!v->measured) strcpy(out, "-");
    else snprintf(out, RUN_VALUE_ROOM, "%.4f", v->v);
}

/* The cells of a run; those without a text of their own point into it. */
struct run_table_cells {
    char text[RUN_TABLE_COLUMNS][48];
    const char *cell[RUN_TABLE_COLUMNS];
};
static void run_table_cells(const struct store_run *r, struct run_table_cells *out) {
    char(*t)[48] = out->text, number[32];
    const char *cell[RUN_TABLE_COLUMNS] = { t[0],
                                            store_state_name(r->state),
                                            r->method,
                                            r->task,
                                            r->metric,
                                            t[5],
                                            t[6],
                                            t[7],
                                            t[8],
                                            t[9],
                                            t[10],
                                            t[11],
                                            r->name ? r->name : "",
                                            run_table_remark(r) };
    memcpy(out->cell, cell, sizeof cell);
    snprintf(t[0], 48, "%lld", (long long)r->id);
    run_table_value(&r->best, t[5]);
    if (r->rows) text_thousands(r->rows, number);
    snprintf(t[6], 48, "%s", r->rows ? number : "-");
    snprintf(t[7], 48, "%lld/%lld", (long long)r->step, (long long)r->steps);
    snprintf(t[8], 48, isnan(r->lr) ? "-" : "%g", r->lr);
    text_thousands(r->trained, number);
    snprintf(t[9], 48, "%s", number);
    snprintf(t[10], 48, "%.1f", r->seconds);
    snprintf(t[11], 48, "%llu", (unsigned long long)r->seed);
}

void run_table_report(const struct store_run *run, size_t n, enum report_form form, struct buf *b) {
    size_t columns = RUN_TABLE_COLUMNS, cells = 0;
    bool names = form != REPORT_TABLE;
    for (size_t i = 0; i < n; i++) names = names || run[i].name;
    char **cell = xcalloc((n + 1) * columns, sizeof *cell);
    for (size_t i = 0; i <= n; i++) {
        struct run_table_cells line;
        if (i) run_table_cells(&run[i - 1], &line);
        for (size_t k = 0; k < columns; k++) {
            const char *s = i ? line.cell[k] : run_table_heading[k];
            if (names || k != RUN_TABLE_NAME) cell[cells++] = text_visible(s, strlen(s));
        }
    }
    report_cells(form, cell, n + 1, cells / (n + 1), names ? "rlllrrrrrrrrll" : "rlllrrrrrrrrl", b);
    while (cells) free(cell[--cells]);
    free(cell);
}

static int markdown(struct store *s, const int64_t *id, size_t runs, struct store_sink sink, struct err *e) {
    struct store_run *run = xcalloc(runs + 1, sizeof *run);
    struct buf b = BUF_INIT;
    size_t n = 0;
    while (n < runs && !store_run(s, id[n], &run[n], e)) n++;
    run_table_report(run, n, REPORT_MARKDOWN, &b);
    int rc = sink.write(sink.self, b.data, b.size);
    for (size_t i = 0; i < n; i++) store_run_release(&run[i]);
    free(run);
    buf_release(&b);
    return n < runs ? e->code : rc;
}

int run_table_write(struct store *s, const int64_t *run, size_t runs, enum store_format form,
                    struct store_sink sink, struct err *e) {
    if (form == STORE_CSV) return store_export(s, STORE_EXPORT_RUNS, STORE_CSV, run, runs, sink, e);
    if (form == STORE_MARKDOWN) return markdown(s, run, runs, sink, e);
    struct buf b = BUF_INIT;
    int rc = 0;
    buf_putc(&b, '[');
    for (size_t i = 0; i < runs && !rc; i++) {
        struct store_run r;
        rc = store_run(s, run[i], &r, e);
        if (rc) break;
        if (i) buf_puts(&b, ",\n");
        store_run_json(&r, &b);
        store_run_release(&r);
        rc = sink.write(sink.self, b.data, b.size);
        buf_clear(&b);
    }
    buf_puts(&b, "]\n");
    if (!rc && b.size) rc = sink.write(sink.self, b.data, b.size);
    buf_release(&b);
    return rc;
}
