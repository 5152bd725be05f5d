#include "core/train/start.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/method/carry.h"
#include "core/method/classifier.h"
#include "core/method/slots.h"
#include "core/train/state.h"

/* Caller frees. */
static char *start_path(const char *folder) { return file_join(folder, "start.safetensors"); }

/* Of modules that say so, or of all that both have. */
static size_t carry_start(const struct plan *p, real *params, const struct predictor *from, int *lacking) {
    bool said = false;
    for (int i = 0; i < p->method.count; i++) said = said || p->method.module[i].from_run;
    *lacking = -1;
    if (said) return plan_carry_run(p, params, predictor_plan(from), predictor_params(from), lacking);
    return plan_carry_common(p, params, predictor_plan(from), predictor_params(from), 0);
}

size_t start_values(const struct plan *p, const struct predictor *from, int *lacking) {
    real *values = mem_try(p->trained + 1, sizeof *values);
    size_t n = values ? carry_start(p, values, from, lacking) : 0;
    if (*lacking >= 0) n = 0;
    free(values);
    return n;
}

int start_keep(const struct predictor *from, const struct run_config *c, const char *folder, struct err *e) {
    char *path = start_path(folder), sha256[65];
    int rc = predictor_save(from, c, path, sha256, e);
    free(path);
    return rc;
}

bool start_is_kept(const char *folder) {
    char *path = start_path(folder);
    bool there = file_exists(path);
    free(path);
    return there;
}

/* Which row of the other head is the task's output i; false where one has none. */
static bool match_head(const struct task *t, const struct predictor *from, int outputs, int *row) {
    int classes = predictor_labels(from);
    row[0] = 0;
    if (!classes) return outputs == 1 && predictor_classes(from) == 1 && t->kind == DATA_REGRESSION;
    if (classes != outputs || t->kind != DATA_CLASSES) return false;
    for (int i = 0; i < outputs; i++) {
        int k = 0;
        while (k < classes && strcmp(t->class_name[i], predictor_label(from, k))) k++;
        if (k == classes) return false;
        row[i] = k;
    }
    return true;
}

/* Whether both heads have the same maps. */
static bool same_classifier(const struct run *r, const struct predictor *from) {
    const struct classifier *x = classifier_of(&r->plan->method, &r->m->arch),
                            *y = classifier_of(&predictor_plan(from)->method, &r->m->arch);
    return (!x && !y) || (x && y && x->layers == y->layers && x->act == y->act && x->pooler == y->pooler);
}

static void take_head(struct run *r, const struct predictor *from, const int *row) {
    static const enum slot slots[] = { SLOT_POOLER_W, SLOT_POOLER_B, SLOT_HEAD_W, SLOT_HEAD_B };
    for (size_t k = 0; k < COUNT_OF(slots); k++) {
        const struct plan_tensor *to = plan_head(r->plan, 0, slots[k]), *of = plan_head(predictor_plan(from), 0, slots[k]);
        if (!to || !of || to->count != of->count) continue;
        const real *values = predictor_params(from) + of->offset;
        size_t width = slots[k] == SLOT_HEAD_W ? (size_t)to->cols : slots[k] == SLOT_HEAD_B ? 1 : to->count;
        for (size_t i = 0; i < to->count / width; i++)
            memcpy(r->params + to->offset + i * width, values + (width == to->count ? 0 : (size_t)row[i]) * width,
                   width * sizeof *values);
    }
}

int start_take(struct run *r, const char *folder, struct err *e) {
    int said = method_from_run(&r->plan->method, e), lacking;
    if (said < 0) return said;
    if (said && (!folder || !start_is_kept(folder)))
        return err_set(e, ERR_USAGE, "init=run(%d): another run's values are a start for `petri train` alone, which keeps a copy of them",
                       said);
    if (!folder || !start_is_kept(folder)) return 0;
    char *path = start_path(folder);
    struct predictor *from = predictor_open(path, NULL, r->m, e);
    free(path);
    if (!from) return e->code;
    int outputs = r->plan->outputs[0], *row = xcalloc((size_t)outputs + 1, sizeof *row);
    size_t taken = carry_start(r->plan, r->params, from, &lacking);
    bool head = !said && outputs && same_classifier(r, from) && match_head(r->of[0].task, from, outputs, row);
    if (head) take_head(r, from, row);
    const char *of_head = said ? ", those of its modules that say so"
                          : head ? " and its head"
                          : outputs ? "; its head is another's, for other classes or of other maps"
                                    : "";
    char *text = xprintf("begins with %zu values of another run%s", taken, of_head);
    run_send(r, (struct event){ .kind = EVENT_MESSAGE, .text = text });
    free(text);
    free(row);
    predictor_free(from);
    return 0;
}
