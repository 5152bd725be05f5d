/* petri explain: the page of a method, as on Compose. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/distance.h"
#include "core/method/plan.h"
#include "core/model/model.h"
#include "views/explain.h"

enum { PAGE_WIDTH = 96, PAGE_INDENT = 2 };

static void print_page(const struct explain_page *page) {
    int last = -1;
    out_wrapped(page->title, 0, PAGE_WIDTH);
    for (size_t i = 0; i < page->count; i++) {
        if ((int)page->line[i].section != last)
            printf("\n%s\n", explain_section_title(page->line[i].section));
        last = (int)page->line[i].section;
        out_wrapped(page->line[i].text, PAGE_INDENT, PAGE_WIDTH);
    }
}

static void verb_explain_print_json(const struct explain_page *page, const struct method *m,
                                    const struct preset *named, const struct plan *p,
                                    const struct arch *arch, const char *beside) {
    const struct preset *is = named ? named : method_preset(m);
    char *text = method_text(m), *counts = p ? plan_counts_json(p, arch) : NULL;
    struct buf b = BUF_INIT;
    json_put(&b, "{name:%s,method:%s", is ? is->name : NULL, text);
    explain_json(page, &b);
    json_put(&b, "counts:%p,beside:%1s}", counts, beside);
    out_line(&b);
    free(text);
    free(counts);
}

/* --beside: "2 axes apart: function, composition", which the caller frees; NULL without the option. */
static int beside_text(const struct args *a, const struct method *m, char **out, struct err *e) {
    const char *other = a->beside;
    struct method b;
    *out = NULL;
    if (!other) return 0;
    int rc = method_parse(other, &b, e);
    if (!rc) *out = method_difference(m, &b);
    return rc;
}

int verb_explain(const struct args *a, struct err *e) {
    struct method m;
    struct arch arch;
    struct finding first;
    const struct preset *named = preset_find(a->positional[0]);
    char *beside;
    int rc = verb_method_of(a, a->positional[0], &m, e);
    if (!rc) rc = beside_text(a, &m, &beside, e);
    if (rc) return rc;
    char *folder = model_find(verb_model(a), e);
    rc = folder ? model_shape(folder, &arch, e) : e->code;
    free(folder);
    if (rc) {
        free(beside);
        return rc;
    }
    /* A method that is invalid on this model is explained too, with the reason. */
    bool can = !method_check(&m, &arch, &first, 1) || first.level != LEVEL_ERROR;
    struct plan *p = can ? verb_plan(&m, &arch, a, e) : NULL;
    if (can && !p) {
        rc = e->code;
    } else {
        struct explain_page page;
        explain_fill(&page, &m, named, p, &arch);
        if (a->json) verb_explain_print_json(&page, &m, named, p, &arch, beside);
        else print_page(&page);
        if (beside && !a->json) printf("\ncompared with %s\n  %s\n", a->beside, beside);
        explain_release(&page);
    }
    plan_free(p);
    arch_release(&arch);
    free(beside);
    return rc;
}
