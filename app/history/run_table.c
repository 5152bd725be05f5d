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

/* Returns the remark of a line: the reason for the end of a run, or why its best value is meaningless. */
static const char *run_table_remark(const struct store_run *r) {
    if (r->reason && (r->state == STORE_FAILED || r->state == STORE_INTERRUPTED)) return r->reason;
    return r->none_valid ? "no valid output" : r->constant ? "predicts one class only" : "";
}

void run_table_value(const struct store_value *v, char out[RUN_VALUE_ROOM]) {
    if (v->undefined) strcpy(out, "undefined");
    else if (!v->measured) strcpy(out, "-");
    else snprintf(out, RUN_VALUE_ROOM, "%.4f", v->v);
}

/* A line of the list. */
struct run_line {
    struct store_run r; /* the stored run, owned by the caller */
    const char *state, *remark, *texts[3];
    char best[RUN_VALUE_ROOM], rows[32], step[48];
};

void run_table_report(const struct store_run *run, size_t n, enum report_form form, struct buf *b) {
    bool names = form != REPORT_TABLE;
    for (size_t i = 0; i < n; i++) names = names || run[i].name;
    const struct report_column column[] = {
        { "id", REPORT_LONG, .offset = offsetof(struct run_line, r.id) },
        { "state", REPORT_TEXT, .offset = offsetof(struct run_line, state) },
        { "method", REPORT_TEXT, .offset = offsetof(struct run_line, r.method) },
        { "task", REPORT_TEXT, .offset = offsetof(struct run_line, r.task) },
        { "metric", REPORT_TEXT, .offset = offsetof(struct run_line, r.metric) },
        { "best", REPORT_TEXT, offsetof(struct run_line, texts[0]), .right = true },
        { "examples", REPORT_TEXT, offsetof(struct run_line, texts[1]), .right = true },
        { "step", REPORT_TEXT, offsetof(struct run_line, texts[2]), .right = true },
        { "lr", REPORT_DOUBLE, offsetof(struct run_line, r.lr), .none = "-" },
        { "params", REPORT_COUNT, .offset = offsetof(struct run_line, r.trained) },
        { "time s", REPORT_DOUBLE, offsetof(struct run_line, r.seconds), .decimals = 1 },
        { "seed", REPORT_SEED, .offset = offsetof(struct run_line, r.seed) },
        { "name", REPORT_TEXT, offsetof(struct run_line, r.name), .none = "",
          .forms = names ? 0 : REPORT_JSON },
        { "", REPORT_TEXT, .offset = offsetof(struct run_line, remark) },
        { 0 },
    };
    struct run_line *line = xcalloc(n + 1, sizeof *line);
    for (size_t i = 0; i < n; i++) {
        struct run_line *l = &line[i];
        *l = (struct run_line){ run[i], store_state_name(run[i].state), run_table_remark(&run[i]),
                                { l->best, l->rows, l->step }, .rows = "-" };
        run_table_value(&run[i].best, l->best);
        if (run[i].examples) text_thousands(run[i].examples, l->rows);
        snprintf(l->step, sizeof l->step, "%lld/%lld", (long long)run[i].step, (long long)run[i].steps);
    }
    report_rows(column, form, line, n, sizeof *line, b);
    free(line);
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
