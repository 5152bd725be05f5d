#include "app/verbs/runs/shots_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "core/base/mem.h"
#include "core/data/leopard.h"

static bool shots_table_same_cell(const struct leopard_cell *a, const struct leopard_cell *b) {
    return a->k == b->k && (a->task && b->task ? !strcmp(a->task, b->task) : a->task == b->task);
}

/* Prints published results of the tasks and, never next to the mean computed here, over all 17. */
static void print_published(const struct shots_results *r) {
    const struct leopard_cell *x, *last = NULL;
    for (int i = 0; (x = leopard_cell(i)); i++) {
        if (!shots_results_have_k(r, x->k) || (x->task && !shots_results_find(r, x->task))) continue;
        if (last && shots_table_same_cell(last, x)) fputs(", ", stdout);
        else if (x->task)
            printf("%spublished results of BERT-base on %s, k=%d (accuracy in %%, mean \u00b1 sd): ",
                   last ? "\n" : "", x->task, x->k);
        else
            printf("%spublished means over all 17 tasks (here %d), k=%d: ", last ? "\n" : "", r->tasks,
                   x->k);
        printf("%s %.1f", x->method, x->mean);
        if (!isnan(x->sd)) printf(" \u00b1 %.1f", x->sd);
        if (x->remark) printf(" (%s)", x->remark);
        last = x;
    }
    if (last) putchar('\n');
}

/* Prints skipped tasks and draws; of each run those that the runs before it did not skip too. */
static void print_left_out(const struct shots_results *r, int runs) {
    for (int i = 0; i < r->left_outs; i++) {
        out_text(r->left_out[i].task);
        fputs(" skipped: ", stdout);
        out_text(r->left_out[i].why);
        putchar('\n');
    }
    for (int k = 0; k < runs; k++)
        for (int i = 0; i < r[k].results.count; i++) {
            const struct fewshot_result *x = &r[k].results.of[i];
            const struct fewshot_result *first = k ? fewshot_find(&r->results, x->task, x->k, x->draw) : NULL;
            if (!*x->left_out || (first && *first->left_out)) continue;
            out_text(x->task);
            printf(" k=%d sample %d skipped: ", x->k, x->draw);
            out_text(x->left_out);
            putchar('\n');
        }
}

/* A line per method and k. */
struct over_tasks {
    const char *label;
    int k;
    struct shots_point of;
};
static const struct report_column OVER_TASKS[] = {
    { "method", REPORT_TEXT, .offset = offsetof(struct over_tasks, label) },
    { "k", REPORT_INT, .offset = offsetof(struct over_tasks, k) },
    { "mean", REPORT_DOUBLE, offsetof(struct over_tasks, of.mean), .decimals = 4 },
    { "sd over samples", REPORT_DOUBLE, offsetof(struct over_tasks, of.sd), .decimals = 4 },
    { "tasks", REPORT_INT, .offset = offsetof(struct over_tasks, of.tasks) },
    { "samples", REPORT_INT, .offset = offsetof(struct over_tasks, of.draws) },
    { 0 },
};

static void print_over_tasks(const struct shots_results *r, int runs, char *const *label) {
    struct over_tasks *row = NULL;
    size_t n = 0, room = 0;
    for (int i = 0; i < runs; i++)
        for (int k = 0; k < r[i].how.ks; k++) {
            GROW(row, room, n + 1);
            row[n++] = (struct over_tasks){ label[i], r[i].how.k[k], shots_point(&r[i], r[i].how.k[k]) };
        }
    out_rows(OVER_TASKS, REPORT_TABLE, row, n, sizeof *row);
    free(row);
}

/* Tasks by gain. */
struct gain_line {
    const char *task;
    double first, last, majority, gain;
};
static const struct report_column GAIN[] = {
    { "task by gain", REPORT_TEXT, .offset = offsetof(struct gain_line, task) },
    { "first", REPORT_DOUBLE, offsetof(struct gain_line, first), .decimals = 4 },
    { "last", REPORT_DOUBLE, offsetof(struct gain_line, last), .decimals = 4, .none = "" },
    { "majority", REPORT_DOUBLE, offsetof(struct gain_line, majority), .decimals = 4 },
    { "gain", REPORT_SIGNED, offsetof(struct gain_line, gain), .decimals = 4 },
    { 0 },
};

static void print_gains(const struct shots_results *r, int runs, char *const *label) {
    const struct shots_group g = { .runs = runs, .of = (struct shots_results *)(uintptr_t)r };
    struct shots_gains x;
    shots_gains(&g, &x);
    struct gain_line *row = xcalloc((size_t)x.count + 1, sizeof *row);
    for (int i = 0; i < x.count; i++) {
        const struct shots_gain *y = &x.of[i];
        row[i] = (struct gain_line){ y->task, y->value[0], runs > 1 ? y->value[runs - 1] : NAN, y->majority,
                                     y->gain };
    }
    if (x.count && runs > 1) printf("difference at k = %d: %s − %s\n", x.k, label[runs - 1], label[0]);
    else if (x.count) printf("difference at k = %d: %s − majority baseline\n", x.k, label[0]);
    out_rows(GAIN, REPORT_TABLE, row, x.count, sizeof *row);
    free(row);
    shots_gains_release(&x);
}

void shots_table_print(const struct shots_results *r, int runs) {
    struct shots_line *line = NULL;
    size_t n = 0, room = 0;
    char **label = xcalloc((size_t)runs, sizeof *label);
    for (int i = 0; i < runs; i++) label[i] = shots_label(&r[i]);
    for (int i = 0; i < r->tasks; i++)
        for (int k = 0; k < r->how.ks; k++)
            for (int j = 0; j < runs; j++)
                if (shots_results_find(&r[j], r->of[i].task) && shots_results_have_k(&r[j], r->how.k[k])) {
                    GROW(line, room, n + 1);
                    line[n] = shots_line(&r[j], &r->of[i], r->how.k[k]);
                    line[n++].label = label[j];
                }
    out_rows(shots_line_columns, REPORT_TABLE, line, n, sizeof *line);
    free(line);
    print_left_out(r, runs);
    if (r->tasks > 1) print_over_tasks(r, runs, label);
    if (r->tasks > 1) print_gains(r, runs, label);
    if (r->table && r->how.files) print_published(r);
    for (int i = 0; i < runs; i++) free(label[i]);
    free(label);
}
