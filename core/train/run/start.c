#include "core/train/run/start.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/method/carry.h"
#include "core/method/classifier.h"
#include "core/method/slots.h"
#include "core/train/run/head.h"
#include "core/train/run/state.h"

/* Returns the path of the copy of a run (0: the first); caller frees. */
static char *start_path(const char *folder, int run) {
    if (!run) return file_join(folder, "start.safetensors");
    char *name = xprintf("start.%d.safetensors", run), *path = file_join(folder, name);
    free(name);
    return path;
}

/* Initializes modules with init=run(N) of this run, or (0) all modules that both have. */
static size_t carry_start(const struct plan *p, real *params, int run, const struct predictor *from,
                          int *lacking) {
    *lacking = -1;
    if (run) return plan_carry_run(p, params, run, predictor_plan(from), predictor_params(from), lacking);
    return plan_carry_common(p, params, predictor_plan(from), predictor_params(from), 0);
}

size_t start_values(const struct plan *p, int run, const struct predictor *from, int *lacking) {
    real *values = mem_try(p->trained + 1, sizeof *values);
    size_t n = values ? carry_start(p, values, run, from, lacking) : 0;
    if (*lacking >= 0) n = 0;
    free(values);
    return n;
}

int start_keep(const struct predictor *from, const struct run_config *c, const char *folder, int run,
               struct err *e) {
    char *path = start_path(folder, run), sha256[65];
    int rc = predictor_save(from, c, path, sha256, e);
    free(path);
    return rc;
}

/* Returns whether the folder of a run has copies of other runs; then the config alone does not determine the
 * result. */
static bool start_is_kept(const char *folder) {
    char *path = start_path(folder, 0);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* Maps the outputs of the task to rows of the other head; returns false where one has none. */
static bool start_match_head(const struct task *t, const struct predictor *from, int *row, struct buf *said) {
    int n = predictor_labels(from);
    if (!n && predictor_classes(from) != 1) return false;
    char **label = xcalloc((size_t)n + 1, sizeof *label);
    for (int i = 0; i < n; i++) label[i] = (char *)(uintptr_t)predictor_label(from, i);
    bool taken = head_match(label, n, t, row, said);
    free(label);
    return taken;
}

/* Returns whether both heads have the same layers. */
static bool same_classifier(const struct run *r, const struct predictor *from) {
    const struct classifier *x = classifier_of(&r->plan->method, &r->m->arch),
                            *y = classifier_of(&predictor_plan(from)->method, &r->m->arch);
    return (!x && !y) || (x && y && x->layers == y->layers && x->act == y->act && x->pooler == y->pooler &&
                          x->hidden == y->hidden);
}

static void take_head(struct run *r, const struct predictor *from, const int *row) {
    static const enum slot slots[] = { SLOT_POOLER_W, SLOT_POOLER_B, SLOT_HEAD_W, SLOT_HEAD_B };
    for (size_t k = 0; k < COUNT_OF(slots); k++) {
        const struct plan_tensor *to = plan_head(r->plan, 0, slots[k]),
                                 *of = plan_head(predictor_plan(from), 0, slots[k]);
        if (!to || !of || to->count != of->count) continue;
        const real *values = predictor_params(from) + of->offset;
        size_t width = slots[k] == SLOT_HEAD_W ? (size_t)to->cols : slots[k] == SLOT_HEAD_B ? 1 : to->count;
        for (size_t i = 0; i < to->count / width; i++)
            memcpy(r->values.params + to->offset + i * width,
                   values + (width == to->count ? 0 : (size_t)row[i]) * width, width * sizeof *values);
    }
}

/* Copies the head if both are masked language models; returns whether they are. */
static bool start_take_words(struct run *r, const struct predictor *from) {
    if (!r->plan->words || !predictor_fills(from)) return false;
    for (int slot = SLOT_WORDS_W; slot <= SLOT_WORDS_BIAS; slot++) {
        const struct plan_tensor *to = plan_head(r->plan, 0, (enum slot)slot),
                                 *of = plan_head(predictor_plan(from), 0, (enum slot)slot);
        BUG_IF(!to || !of || to->count != of->count);
        memcpy(r->values.params + to->offset, predictor_params(from) + of->offset, to->count * sizeof(real));
    }
    return true;
}

/* Reports the initialization in the log of the run. */
static void start_say(struct run *r, size_t taken, int runs, const char *of_head) {
    char *others = runs > 1 ? xprintf("%d runs", runs) : xstrdup("another run");
    char *text = xprintf("initialized %zu parameters from %s%s", taken, others, of_head);
    run_say(r, text);
    free(others);
    free(text);
}

/* Initializes all modules that both have, and the head. */
static int take_all(struct run *r, const char *folder, struct err *e) {
    int lacking, outputs = r->plan->outputs[0];
    char *path = start_path(folder, 0);
    struct predictor *from = predictor_open(path, NULL, r->m, e);
    free(path);
    if (!from) return e->code;
    int *row = xcalloc((size_t)outputs + 1, sizeof *row);
    size_t taken = carry_start(r->plan, r->values.params, 0, from, &lacking);
    struct buf said = BUF_INIT, told = BUF_INIT;
    bool head = outputs && same_classifier(r, from) && start_match_head(r->of[0].task, from, row, &said);
    if (head) take_head(r, from, row);
    head = head || start_take_words(r, from);
    if (head) buf_printf(&told, " and the head%s", buf_text(&said));
    else if (predictor_is_headless(from)) buf_puts(&told, " (without a head)");
    else if (outputs || r->plan->words)
        buf_puts(&told,
                 "; the head is newly initialized: that of the other run has different classes or layers");
    start_say(r, taken, 1, buf_text(&told));
    buf_release(&said);
    buf_release(&told);
    free(row);
    predictor_free(from);
    return 0;
}

int start_take(struct run *r, const char *folder, struct err *e) {
    int run[METHOD_MODULES], n = method_runs(&r->plan->method, run), lacking;
    bool kept = folder && start_is_kept(folder);
    if (n && !kept)
        return err_set(e, ERR_USAGE,
                       "init=run(%d): the copy of that run is missing in the folder of this run; use petri "
                       "train, which creates it",
                       run[0]);
    if (!kept) return 0;
    if (!n) return take_all(r, folder, e);
    size_t taken = 0;
    for (int i = 0; i < n; i++) {
        char *path = start_path(folder, i ? run[i] : 0);
        struct predictor *from = predictor_open(path, NULL, r->m, e);
        free(path);
        if (!from) return e->code;
        taken += carry_start(r->plan, r->values.params, run[i], from, &lacking);
        predictor_free(from);
    }
    start_say(r, taken, n, ", for the modules with init=run(N)");
    return 0;
}
