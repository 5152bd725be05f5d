/* compare: runs side by side; what it and the results of a sweep are printed by. */
#include "app/verbs/verbs.h"

#include <stdlib.h>
#include <string.h>

#include "app/sweep/grouping.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

int verb_compared_cost(const struct args *a, enum compared_cost *out, struct err *e) {
    static const char *const costs[] = { "trained", "time", "memory" };
    const char *cost = args_get(a, "cost");
    *out = COST_TRAINED;
    for (size_t i = 0; cost && i < COUNT_OF(costs); i++) {
        if (strcmp(cost, costs[i])) continue;
        *out = (enum compared_cost)i;
        return 0;
    }
    return cost ? err_set(e, ERR_USAGE, "--cost is trained, time or memory, not \"%s\"", cost) : 0;
}

/* --margin and --cost. */
static int verb_compare_read_options(const struct args *a, struct compared_options *o, struct err *e) {
    const char *margin = args_get(a, "margin");
    *o = (struct compared_options){ 0 };
    if (margin && (!text_to_double(margin, &o->margin) || !(o->margin > 0)))
        return err_set(e, ERR_USAGE, "--margin takes a number above 0, not \"%s\"", margin);
    return verb_compared_cost(a, &o->cost, e);
}

int verb_compared_ask(const struct args *a, struct side_by_side *c, struct err *e) {
    struct compared_options o;
    const char *value = args_get(a, "value");
    if (value && strcmp(value, "best") && strcmp(value, "final"))
        return err_set(e, ERR_USAGE, "--value is best or final, not \"%s\"", value);
    c->final = value && !strcmp(value, "final");
    return verb_compare_read_options(a, &o, e);
}

int verb_compared_print(const struct args *a, const struct side_by_side *c, struct err *e) {
    struct buf b = BUF_INIT;
    struct compared_options o;
    if (verb_compare_read_options(a, &o, e)) return e->code;
    if (args_flag(a, "json")) comparison_json(c, &o, &b);
    else if (args_flag(a, "csv")) comparison_csv(c, &b);
    else comparison_markdown(c, &o, &b);
    if (args_flag(a, "json")) out_line(&b);
    else out_lines(buf_text(&b));
    buf_release(&b);
    return 0;
}

/* What the groups differ in, behind the results. */
static void print_differences(const struct args *a, const struct grouping *g) {
    struct grouping_difference *d;
    struct buf b = BUF_INIT;
    size_t n = grouping_differences(g, &d);
    if (n) buf_puts(&b, "\nThe groups differ in:\n\n| |");
    for (int i = 0; n && i < g->of.groups; i++) text_markdown_cell(&b, g->of.group[i].name);
    for (int i = 0; n && i <= g->of.groups; i++) buf_puts(&b, i ? "---|" : "\n|---|");
    for (size_t k = 0; k < n; k++) {
        buf_puts(&b, "\n|");
        text_markdown_cell(&b, d[k].key);
        for (int i = 0; i < g->of.groups; i++) text_markdown_cell(&b, d[k].value[i] ? d[k].value[i] : "\u2013");
        free(d[k].value);
    }
    if (n) buf_putc(&b, '\n');
    free(d);
    if (!args_flag(a, "csv")) out_lines(buf_text(&b));
    buf_release(&b);
}

/* {"differs":{KEY:[of each cell]}} joined to the results. */
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

static int verb_compare_print(const struct args *a, const struct grouping *g, struct err *e) {
    if (!args_flag(a, "json")) {
        int rc = verb_compared_print(a, &g->of, e);
        if (!rc) print_differences(a, g);
        return rc;
    }
    struct compared_options o;
    struct buf b = BUF_INIT;
    if (verb_compare_read_options(a, &o, e)) return e->code;
    comparison_json(&g->of, &o, &b);
    b.size--; /* the closing brace */
    json_differences(g, &b);
    buf_putc(&b, '}');
    out_line(&b);
    return 0;
}

static int add_filtered(struct grouping *g, struct store *s, const struct args *a, struct err *e) {
    struct buf b = BUF_INIT;
    int64_t left;
    for (int i = 0; i < a->count; i++) buf_printf(&b, "%s%s", i ? " " : "", a->positional[i]);
    int rc = grouping_filter(g, s, buf_text(&b), 0, &left, e);
    buf_release(&b);
    return rc;
}

int verb_compare(const struct args *a, struct err *e) {
    struct store *s = NULL;
    struct grouping g;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = grouping_begin(&g, args_get(a, "by"), e);
    if (!rc) rc = verb_compared_ask(a, &g.of, e);
    g.of.asked = xcopy(args_get(a, "metric"));
    g.of.allow_rows = args_flag(a, "mixed");
    int64_t id;
    struct err ignored = ERR_INIT;
    bool numbers = true;
    for (int i = 0; i < a->count; i++) numbers &= !store_find(s, a->positional[i], &id, &ignored);
    for (int i = 0; !rc && numbers && i < a->count; i++) {
        rc = store_find(s, a->positional[i], &id, e);
        if (!rc) rc = grouping_add(&g, s, id, e);
    }
    if (!rc && !numbers) rc = add_filtered(&g, s, a, e);
    if (!rc) rc = verb_compare_print(a, &g, e);
    grouping_release(&g);
    return verb_close(s, rc, e);
}
