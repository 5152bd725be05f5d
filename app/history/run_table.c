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

const char *const run_table_heading[RUN_TABLE_COLUMNS] = { "id",   "state", "method", "task",    "metric", "best", "rows",
                                                           "step", "lr",    "trained", "time s", "seed",   "name",    "" };

/* What a line of the list says beside its numbers: why it ended, as a copy's runs do, or what its best is not
 * worth. */
static const char *run_table_remark(const struct store_run *r) {
    if (r->reason && (r->state == STORE_FAILED || r->state == STORE_INTERRUPTED)) return r->reason;
    return r->none_valid ? "no answer is valid" : r->constant ? "constant predictions" : "";
}

static void run_table_best(const struct store_value *v, char out[48]) {
    if (v->undefined) snprintf(out, 48, "undefined");
    else if (!v->measured) snprintf(out, 48, "-");
    else snprintf(out, 48, "%.4f", v->v);
}

void run_table_cells(const struct store_run *r, struct run_table_cells *out) {
    char(*t)[48] = out->text, number[32];
    const char *cell[RUN_TABLE_COLUMNS] = { t[0], store_state_name(r->state), r->method, r->task, r->metric, t[5], t[6], t[7],
                                            t[8], t[9], t[10], t[11], r->name ? r->name : "", run_table_remark(r) };
    memcpy(out->cell, cell, sizeof cell);
    snprintf(t[0], 48, "%lld", (long long)r->id);
    run_table_best(&r->best, t[5]);
    if (r->rows) text_thousands(r->rows, number);
    snprintf(t[6], 48, "%s", r->rows ? number : "-");
    snprintf(t[7], 48, "%lld/%lld", (long long)r->step, (long long)r->steps);
    snprintf(t[8], 48, isnan(r->lr) ? "-" : "%g", r->lr);
    text_thousands(r->trained, number);
    snprintf(t[9], 48, "%s", number);
    snprintf(t[10], 48, "%.1f", r->seconds);
    snprintf(t[11], 48, "%llu", (unsigned long long)r->seed);
}

static void markdown_line(const struct store_run *r, struct buf *b) {
    struct run_table_cells cells;
    run_table_cells(r, &cells);
    buf_putc(b, '|');
    for (int i = 0; i < RUN_TABLE_COLUMNS; i++) text_markdown_cell(b, cells.cell[i]);
}

static void markdown_head(struct buf *b) {
    buf_putc(b, '|');
    for (int i = 0; i < RUN_TABLE_COLUMNS; i++) buf_printf(b, " %s |", run_table_heading[i]);
    buf_puts(b, "\n|");
    for (int i = 0; i < RUN_TABLE_COLUMNS; i++) buf_puts(b, "---|");
    buf_putc(b, '\n');
}

int run_table_write(struct store *s, const int64_t *run, size_t runs, enum store_format form, struct store_sink sink,
                    struct err *e) {
    if (form == STORE_CSV) return store_export(s, STORE_EXPORT_RUNS, STORE_CSV, run, runs, sink, e);
    struct buf b = BUF_INIT;
    bool json = form == STORE_JSON;
    int rc = 0;
    if (json) buf_putc(&b, '[');
    else markdown_head(&b);
    for (size_t i = 0; i < runs && !rc; i++) {
        struct store_run r;
        rc = store_run(s, run[i], &r, e);
        if (rc) break;
        if (json && i) buf_puts(&b, ",\n");
        if (json) store_run_json(&r, &b);
        else markdown_line(&r, &b);
        if (!json) buf_putc(&b, '\n');
        store_run_release(&r);
        rc = sink.write(sink.self, b.data, b.size);
        buf_clear(&b);
    }
    if (json) buf_puts(&b, "]\n");
    if (!rc && b.size) rc = sink.write(sink.self, b.data, b.size);
    buf_release(&b);
    return rc;
}
