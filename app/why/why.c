#include "app/why/why.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void why_add(struct why *w, const char *kind, char *text, ...) {
    struct buf figures = BUF_INIT;
    va_list ap;
    const char *key;
    buf_putc(&figures, '{');
    va_start(ap, text);
    while ((key = va_arg(ap, const char *))) json_member_double(&figures, key, va_arg(ap, double));
    va_end(ap);
    buf_putc(&figures, '}');
    w->of = xrealloc(w->of, (size_t)w->count + 1, sizeof *w->of);
    bool asked = !strncmp(kind, "part-of-", strlen("part-of-"));
    w->of[w->count++] = (struct why_finding){ kind, text_visible(text, strlen(text)), buf_take(&figures),
                                              asked };
    free(text);
}

char *why_of_task(const struct why_task *t) { return *t->name ? xprintf("%s: ", t->name) : xstrdup(""); }

/* Returns the mean of n finite values from either end. */
static double end_mean(const struct why_curve *c, bool last) {
    size_t n = c->count / 10 ? c->count / 10 : 1, taken = 0;
    double sum = 0;
    for (size_t i = 0; i < c->count && taken < n; i++) {
        double v = c->value[last ? c->count - 1 - i : i];
        if (!isfinite(v)) continue;
        sum += v;
        taken++;
    }
    return taken ? sum / (double)taken : NAN;
}

double why_first(const struct why_curve *c) { return end_mean(c, false); }
double why_last(const struct why_curve *c) { return end_mean(c, true); }

double why_share_error(double p, int64_t n) {
    double least = 0.5 / (double)n;
    double q = p < least ? least : p > 1 - least ? 1 - least : p;
    return n > 1 ? sqrt(q * (1 - q) / (double)n) : 0.5;
}

bool why_is_share(const char *metric) {
    return metric && (!strcmp(metric, "accuracy") || !strcmp(metric, "exact"));
}

/* Kinds that are omitted when the first of their row explains them. */
static const char *const why_explained[][9] = {
    { "single-class", "no-gradient", "module-still", "unmoved", "no-gradient-in-tensors", "one-class",
      "no-better", "few-rows" },
};

static void why_free(struct why_finding *f) {
    free(f->text);
    free(f->figures);
}

static bool why_has(const struct why *w, const char *kind) {
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->of[i].kind, kind)) return true;
    return false;
}

static void why_drop(struct why *w, const char *kind) {
    int kept = 0;
    for (int i = 0; i < w->count; i++) {
        if (strcmp(w->of[i].kind, kind)) w->of[kept++] = w->of[i];
        else why_free(&w->of[i]);
    }
    w->count = kept;
}

static void why_drop_explained(struct why *w) {
    for (size_t k = 0; k < COUNT_OF(why_explained); k++)
        for (int i = 1; why_has(w, why_explained[k][0]) && why_explained[k][i]; i++)
            why_drop(w, why_explained[k][i]);
}

int why_of_run(struct store *s, const struct store_run *run, struct why *out, struct err *e) {
    struct why_run r;
    bool shots = run->regime &&
                 text_starts(run->regime, "fewshot"); /* many short trainings, judged over their samples */
    *out = (struct why){ .looked_for = WHY_CURVE_KINDS + WHY_MOVED_KINDS + WHY_PLAN_KINDS + WHY_SCORE_KINDS +
                                       WHY_ROWS_KINDS };
    int rc = shots ? 0 : why_read(s, run, &r, e);
    if (rc || shots) return rc;
    for (int i = 0; why_curve_rules[i]; i++) why_curve_rules[i](&r, out);
    for (int i = 0; why_moved_rules[i]; i++) why_moved_rules[i](&r, out);
    for (int k = 0; k < r.tasks; k++)
        for (int i = 0; why_score_rules[i]; i++) why_score_rules[i](&r, &r.task[k], out);
    for (int k = 0; k < r.tasks; k++)
        for (int i = 0; why_rows_rules[i]; i++) why_rows_rules[i](&r, &r.task[k], out);
    for (int i = 0; why_plan_rules[i]; i++) why_plan_rules[i](&r, out);
    /* the other tasks of a multi-task run have gradients, and so has a text-to-text task */
    if (r.tasks == 1 && r.config.form != FORM_TEXT) why_drop_explained(out);
    why_moved_facts(&r, out);
    why_run_release(&r);
    return 0;
}

void why_release(struct why *w) {
    for (int i = 0; i < w->count; i++) why_free(&w->of[i]);
    for (int i = 0; i < w->facts; i++) free(w->fact[i]);
    free(w->of);
    free(w->fact);
    *w = (struct why){ 0 };
}

void why_json(const struct why *w, struct buf *out) {
    buf_putc(out, '[');
    for (int i = 0; i < w->count; i++) {
        json_put(out, "{kind:%s,text:%s,figures:%p}", w->of[i].kind, w->of[i].text, w->of[i].figures);
    }
    buf_putc(out, ']');
}
