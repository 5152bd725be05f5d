/* Diagnostics from the import reports. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static double rows_share(size_t part, size_t all) { return all ? (double)part / (double)all : 0; }

/* Returns "n of m train examples"; caller frees. */
static char *rows_text(size_t n, size_t of, const char *split) {
    char some[32], all[32];
    text_thousands((int64_t)n, some);
    text_thousands((int64_t)of, all);
    return xprintf("%s of %s %s examples", some, all, split);
}

static void cut_in(const struct why_task *t, const struct report_facts *f, const char *split, struct why *w) {
    double share = f ? rows_share(f->cut_examples, f->examples) : 0;
    if (share < 0.33) return;
    char *of = why_of_task(t), *rows = rows_text(f->cut_examples, f->examples, split);
    why_add(w, "cut",
            xprintf("%s%.0f%% of the examples were truncated to %zu tokens (%s)", of, 100 * share, f->max_len,
                    rows),
            "rows", (double)f->cut_examples, "of", (double)f->examples, "tokens", (double)f->max_len, NULL);
    free(of), free(rows);
}

static void cut(const struct why_run *r, const struct why_task *t, struct why *w) {
    (void)r;
    cut_in(t, t->train, "train", w);
    if (t->train && rows_share(t->train->cut_examples, t->train->examples) < 0.33)
        cut_in(t, t->dev, t->split, w);
}

static void vanished(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    (void)r;
    if (!f || rows_share(f->vanished, f->examples) < 0.01) return;
    char *of = why_of_task(t), *rows = rows_text(f->vanished, f->examples, "train");
    why_add(w, "text-cut-away", xprintf("%sin %s one of the two texts was truncated entirely", of, rows),
            "rows", (double)f->vanished, "of", (double)f->examples, NULL);
    free(of), free(rows);
}

static void unknown(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    (void)r;
    if (!f || f->unknown < 5 || !f->tokens) return;
    char *of = why_of_task(t);
    why_add(w, "unknown-tokens",
            xprintf("%s%.1f%% of the training tokens are not in the model's vocabulary", of, f->unknown),
            "percent", f->unknown, "tokens", (double)f->tokens, NULL);
    free(of);
}

static void leak(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->dev;
    size_t both = f ? f->across_same + f->across_near : 0;
    (void)r;
    if (!f || both < 3 || rows_share(both, f->examples) < 0.02) return;
    char *of = why_of_task(t), *rows = rows_text(both, f->examples, t->split);
    why_add(w, "leak", xprintf("%s%s are also in the training set: the score is too high", of, rows),
            "rows", (double)both, "of", (double)f->examples, NULL);
    free(of), free(rows);
}

static void contradicting(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    (void)r;
    if (!f || rows_share(f->same_other_label, f->examples) < 0.02) return;
    char *of = why_of_task(t), *rows = rows_text(f->same_other_label, f->examples, "train");
    why_add(w, "contradicting", xprintf("%s%s repeat an earlier text with a different label", of, rows),
            "rows", (double)f->same_other_label, "of", (double)f->examples, NULL);
    free(of), free(rows);
}

static void one_sided(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    size_t most = 0, all = 0;
    int at = 0;
    (void)r;
    for (int i = 0; f && i < f->classes; i++) {
        all += f->class_examples[i];
        if (f->class_examples[i] > most) most = f->class_examples[i], at = i;
    }
    if (!all || f->classes < 2 || rows_share(most, all) < 0.9) return;
    char *of = why_of_task(t), *rows = rows_text(most, all, "train");
    why_add(
        w, "one-sided",
        xprintf("%s%.0f%% of the training examples are of class %s (%s): accuracy is not informative, use "
                "f1_macro or matthews",
                of, 100 * rows_share(most, all), f->class_name[at], rows),
        "rows", (double)most, "of", (double)all, NULL);
    free(of), free(rows);
}

static void single_class(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    (void)r;
    if (!f || f->classes != 1) return;
    char *of = why_of_task(t), all[32];
    text_thousands((int64_t)f->class_examples[0], all);
    why_add(
        w, "single-class",
        f->class_examples[0] == 1
            ? xprintf("%sthe only training example is of class %s: with one class the model cannot learn",
                      of, f->class_name[0])
            : xprintf("%sall %s training examples are of class %s: with one class the model cannot learn",
                      of, all, f->class_name[0]),
        "rows", (double)f->class_examples[0], NULL);
    free(of);
}

/* Returns the number of training examples of a class of the validation set. */
static size_t rows_of_class(const struct report_facts *f, const char *name) {
    for (int i = 0; i < f->classes; i++)
        if (!strcmp(f->class_name[i], name)) return f->class_examples[i];
    return 0;
}

static void unlearnable(const struct why_run *r, const struct why_task *t, struct why *w) {
    (void)r;
    if (!t->train || !t->dev || !t->train->classes) return;
    for (int i = 0; i < t->dev->classes; i++) {
        if (!t->dev->class_examples[i] || rows_of_class(t->train, t->dev->class_name[i])) continue;
        char *of = why_of_task(t), *rows = rows_text(t->dev->class_examples[i], t->dev->examples, t->split);
        why_add(w, "unlearnable",
                xprintf("%sclass %s has no training examples, and %s", of, t->dev->class_name[i], rows),
                "rows",
                (double)t->dev->class_examples[i], "of", (double)t->dev->examples, NULL);
        free(of), free(rows);
        return;
    }
}

static void cut_targets(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct report_facts *f = t->train;
    (void)r;
    if (!f || rows_share(f->cut_targets, f->examples) < 0.05) return;
    char *of = why_of_task(t);
    why_add(
        w, "cut-targets",
        xprintf(
            "%s%.0f%% of the training targets were truncated to %zu tokens: the model never sees their end",
            of, 100 * rows_share(f->cut_targets, f->examples), f->max_target),
        "targets", (double)f->cut_targets, "of", (double)f->examples, "tokens", (double)f->max_target, NULL);
    free(of);
}

/* Checks the validation targets, which are scored; else the training targets, which are then incomplete. */
static void unwritten(const struct why_run *r, const struct why_task *t, struct why *w) {
    bool dev = t->dev && t->dev->unwritten;
    const struct report_facts *f = dev ? t->dev : t->train;
    (void)r;
    if (!f || !f->unwritten) return;
    char *of = why_of_task(t), *rows = rows_text(f->unwritten, f->examples, dev ? t->split : "train");
    double most = 1 - rows_share(f->unwritten, f->examples);
    struct buf b = BUF_INIT;
    buf_printf(&b, "%sthe targets of %s have characters that the tokenizer cannot encode", of, rows);
    if (f->signs) buf_printf(&b, " (%s)", f->signs);
    if (dev) buf_printf(&b, ": exact match is at most %.2f", most);
    why_add(w, "unwritten", buf_take(&b), "rows", (double)f->unwritten, "of", (double)f->examples, NULL);
    free(of), free(rows);
}

static void same_file(const struct why_run *r, const struct why_task *t, struct why *w) {
    const struct run_config *c = r->config.tasks ? &r->config.of[t - r->task] : &r->config;
    if (!c->train_sha256 || !c->dev_sha256 || strcmp(c->train_sha256, c->dev_sha256) || c->split > 0) return;
    char *of = why_of_task(t);
    why_add(
        w, "same-file",
        xprintf("%sthe validation file (%s) is the training file (SHA-256 %.12s\u2026): the score measures "
                "memorization",
                of, t->split, c->train_sha256),
        "rows", (double)t->rows, NULL);
    free(of);
}

why_task_rule *const why_rows_rules[WHY_ROWS_KINDS + 1] = { cut,          vanished,      unknown,
                                                            leak,         contradicting, one_sided,
                                                            single_class, unlearnable,   cut_targets,
                                                            unwritten,    same_file,     NULL };
