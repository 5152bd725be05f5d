#include "app/verbs/shots_table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "core/base/mem.h"
#include "core/data/leopard.h"

static void table_number(double v, bool has, char out[32]) {
    if (has) snprintf(out, 32, "%.4f", v);
    else snprintf(out, 32, "-");
}

static void add_task_line(struct table *t, const struct shots_results *r, const char *label, const struct shots_result_task *of, int k) {
    struct fewshot_summary s = fewshot_sum_up(&r->results, of->task, k, of->metric, false);
    struct fewshot_summary zero = fewshot_sum_up(&r->results, of->task, k, of->metric, true);
    struct fewshot_summary f1 = fewshot_sum_up(&r->results, of->task, k, "f1_macro", false);
    char rows[32], mean[32], sd[32], n[32], majority[32], before[32], macro[32];
    snprintf(rows, sizeof rows, "%d", k);
    snprintf(n, sizeof n, "%d", s.n);
    table_number(s.mean, s.n > 0, mean);
    table_number(s.sd, s.n > 1, sd);
    table_number(s.majority, !isnan(s.majority), majority);
    table_number(f1.mean, f1.n > 0, macro);
    table_number(zero.mean, zero.n > 0, before);
    const char *from = fewshot_most(&r->results, of->task, k);
    table_add(t, (const char *[]){ of->task, label, rows, from ? from : "-", of->metric, mean, sd, n, majority, macro, before });
}

static bool shots_table_same_cell(const struct leopard_cell *a, const struct leopard_cell *b) {
    return a->k == b->k && (a->task && b->task ? !strcmp(a->task, b->task) : a->task == b->task);
}

/* What was published of the table's tasks and, never beside their mean here, over all 17. */
static void print_published(const struct shots_results *r) {
    const struct leopard_cell *x, *last = NULL;
    for (int i = 0; (x = leopard_cell(i)); i++) {
        if (!shots_results_have_k(r, x->k) || (x->task && !shots_results_find(r, x->task))) continue;
        if (last && shots_table_same_cell(last, x)) fputs(", ", stdout);
        else if (x->task)
            printf("%spublished, BERT-base: %s k=%d accuracy in %%, mean \u00b1 sd as published: ", last ? "\n" : "", x->task, x->k);
        else printf("%spublished means over all 17 tasks, not those %d: k=%d: ", last ? "\n" : "", r->tasks, x->k);
        printf("%s %.1f", x->method, x->mean);
        if (!isnan(x->sd)) printf(" \u00b1 %.1f", x->sd);
        if (x->remark) printf(" (%s)", x->remark);
        last = x;
    }
    if (last) putchar('\n');
}

/* What was left out, of each run what those before it did not leave out too. */
static void print_left_out(const struct shots_results *r, int runs) {
    for (int i = 0; i < r->left_outs; i++) {
        out_text(r->left_out[i].task);
        fputs(" is left out: ", stdout);
        out_text(r->left_out[i].why);
        putchar('\n');
    }
    for (int k = 0; k < runs; k++)
        for (int i = 0; i < r[k].results.count; i++) {
            const struct fewshot_result *x = &r[k].results.of[i];
            const struct fewshot_result *first = k ? fewshot_find(&r->results, x->task, x->k, x->draw) : NULL;
            if (!*x->left_out || (first && *first->left_out)) continue;
            out_text(x->task);
            printf(" k=%d draw %d is left out: ", x->k, x->draw);
            out_text(x->left_out);
            putchar('\n');
        }
}

/* A line a method and k. */
static void print_over_tasks(const struct shots_results *r, int runs, char *const *label) {
    static const char *const heading[] = { "over the tasks", "k", "mean", "sd over draws", "tasks", "draws" };
    struct table t;
    table_init(&t, COUNT_OF(heading), heading, "lrrrrr");
    for (int i = 0; i < runs; i++)
        for (int k = 0; k < r[i].how.ks; k++) {
            struct shots_point p = shots_point(&r[i], r[i].how.k[k]);
            char rows[32], mean[32], sd[32], tasks[32], draws[32];
            snprintf(rows, sizeof rows, "%d", r[i].how.k[k]);
            table_number(p.mean, p.tasks > 0, mean);
            table_number(p.sd, !isnan(p.sd), sd);
            snprintf(tasks, sizeof tasks, "%d", p.tasks);
            snprintf(draws, sizeof draws, "%d", p.draws);
            table_add(&t, (const char *[]){ label[i], rows, mean, sd, tasks, draws });
        }
    table_print(&t);
}

/* Tasks by gain. */
static void print_gains(const struct shots_results *r, int runs, char *const *label) {
    const struct shots_group g = { .runs = runs, .of = (struct shots_results *)(uintptr_t)r };
    struct shots_gains x;
    shots_gains(&g, &x);
    static const char *const heading[] = { "task by gain", "first", "last", "majority", "gain" };
    struct table t;
    table_init(&t, COUNT_OF(heading), heading, "lrrrr");
    for (int i = 0; i < x.count; i++) {
        const struct shots_gain *y = &x.of[i];
        char first[32], last[32] = "", majority[32], gain[32] = "-";
        table_number(y->value[0], true, first);
        if (runs > 1) table_number(y->value[runs - 1], true, last);
        table_number(y->majority, !isnan(y->majority), majority);
        if (!isnan(y->gain)) snprintf(gain, sizeof gain, "%+.4f", y->gain);
        table_add(&t, (const char *[]){ y->task, first, last, majority, gain });
    }
    if (x.count && runs > 1) printf("at k = %d, %s less %s\n", x.k, label[runs - 1], label[0]);
    else if (x.count) printf("at k = %d, %s less the majority's share\n", x.k, label[0]);
    table_print(&t);
    shots_gains_release(&x);
}

void shots_table_print(const struct shots_results *r, int runs) {
    static const char *const heading[] = { "task", "method", "k", "from", "metric", "mean", "sd", "n", "majority", "f1_macro",
                                           "before" };
    struct table t;
    char **label = xcalloc((size_t)runs, sizeof *label);
    for (int i = 0; i < runs; i++) label[i] = shots_label(&r[i]);
    table_init(&t, COUNT_OF(heading), heading, "llrllrrrrrr");
    for (int i = 0; i < r->tasks; i++)
        for (int k = 0; k < r->how.ks; k++)
            for (int j = 0; j < runs; j++)
                if (shots_results_find(&r[j], r->of[i].task) && shots_results_have_k(&r[j], r->how.k[k]))
                    add_task_line(&t, &r[j], label[j], &r->of[i], r->how.k[k]);
    table_print(&t);
    print_left_out(r, runs);
    if (r->tasks > 1) print_over_tasks(r, runs, label);
    if (r->tasks > 1) print_gains(r, runs, label);
    if (r->table && r->how.files) print_published(r);
    for (int i = 0; i < runs; i++) free(label[i]);
    free(label);
}
