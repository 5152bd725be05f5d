/* compare: runs side by side, and the printing of results of a sweep. */
#include "app/verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "app/sweep/grouping.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static struct compared_options options(const struct args *a) {
    return (struct compared_options){ .margin = a->margin, .cost = (enum compared_cost)a->cost };
}

void verb_compared_print(const struct args *a, const struct side_by_side *c) {
    struct buf b = BUF_INIT;
    const struct compared_options o = options(a);
    if (a->json) comparison_json(c, &o, &b);
    else if (a->csv) comparison_csv(c, &b);
    else comparison_markdown(c, &o, &b);
    if (a->json) out_line(&b);
    else out_lines(buf_text(&b));
    buf_release(&b);
}

/* Prints the options in which the groups differ, after the results. */
static void print_differences(const struct grouping *g) {
    struct grouping_difference *d;
    struct buf b = BUF_INIT;
    size_t n = grouping_differences(g, &d), columns = (size_t)g->of.groups + 1;
    const char **cell = xcalloc((n + 1) * columns, sizeof *cell);
    for (size_t i = 0; i < (n + 1) * columns; i++) {
        size_t line = i / columns, group = i % columns;
        const char *value = !line ? group ? g->of.group[group - 1].name : ""
                            : group ? d[line - 1].value[group - 1]
                                    : d[line - 1].key;
        cell[i] = value ? value : "\u2013";
    }
    if (n) buf_puts(&b, "\nThe groups differ in:\n\n");
    if (n) report_cells(REPORT_MARKDOWN, (char *const *)cell, n + 1, columns, NULL, &b);
    while (n) free(d[--n].value);
    free(d), free(cell);
    out_lines(buf_text(&b));
    buf_release(&b);
}

/* Appends {"differs":{KEY:[of each cell]}} to the results. */
static void json_differences(const struct grouping *g, struct buf *b) {
    struct grouping_difference *d;
    size_t n = grouping_differences(g, &d);
    json_open(b, "differs", '{');
    for (size_t k = 0; k < n; k++) {
        json_member_strings(b, d[k].key, (char *const *)d[k].value, g->of.groups);
        free(d[k].value);
    }
    buf_putc(b, '}');
    free(d);
}

static void verb_compare_print(const struct args *a, const struct grouping *g) {
    if (!a->json) {
        verb_compared_print(a, &g->of);
        if (!a->csv) print_differences(g);
        return;
    }
    const struct compared_options o = options(a);
    struct buf b = BUF_INIT;
    comparison_json(&g->of, &o, &b);
    b.size--; /* the closing brace */
    json_differences(g, &b);
    buf_putc(&b, '}');
    out_line(&b);
}

static int add_filtered(struct grouping *g, struct store *s, const struct args *a, struct err *e) {
    int64_t left;
    char *filter = args_words(a);
    int rc = grouping_filter(g, s, filter, 0, &left, e);
    free(filter);
    return rc;
}

int verb_compare(const struct args *a, struct err *e) {
    struct store *s = NULL;
    struct grouping g;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = grouping_begin(&g, a->by, e);
    g.of.final = a->final;
    g.of.asked = xcopy(a->metric);
    g.of.allow_rows = a->flag;
    int64_t id;
    struct err ignored = ERR_INIT;
    bool numbers = true;
    for (int i = 0; i < a->count; i++) numbers &= !store_find(s, a->positional[i], &id, &ignored);
    for (int i = 0; !rc && numbers && i < a->count; i++) {
        rc = store_find(s, a->positional[i], &id, e);
        if (!rc) rc = grouping_add(&g, s, id, e);
    }
    if (!rc && !numbers) rc = add_filtered(&g, s, a, e);
    if (!rc) grouping_name(&g);
    if (!rc) verb_compare_print(a, &g);
    grouping_release(&g);
    return verb_close(s, rc, e);
}
