#include "app/session/start_effect.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/complete.h"
#include "core/train/run/run.h"
#include "core/train/use/predict.h"

static const double no_change = 1e-6; /* floating-point noise of another order of summation */

/* Opens the examples: a fixed sample of the validation set, if there is one. */
static int start_rows(const struct run_config *c, const struct model *m, struct task *t,
                      struct dataset **rows, struct err *e) {
    struct task_source s = config_source(c, NULL);
    s.limit = 0;
    s.dev_rows = START_ROWS;
    int rc = task_open(t, &s, e);
    if (rc) return rc;
    *rows = t->devs ? &t->dev[0] : &t->train;
    dataset_draw(*rows, START_ROWS);
    return dataset_encode(*rows, m->tokenizer, (size_t)run_max_len(c, m), 0, m->arch.vocabulary, e);
}

static double start_distance(const real *with, const real *without, int width) {
    double apart = 0, size = 0;
    for (int i = 0; i < width; i++) {
        apart += ((double)with[i] - without[i]) * ((double)with[i] - without[i]);
        size += (double)without[i] * without[i];
    }
    return size > 0 ? sqrt(apart / size) : 0;
}

static int start_measure(struct model *m, const struct run_config *c, const struct task *t,
                         const struct dataset *rows, struct crew *crew, struct start_effect *out,
                         struct err *e) {
    struct run_config own;
    config_copy(&own, c);
    own.form = arch_generates(&m->arch) ? FORM_TEXT : FORM_CLASSES;
    own.max_len = run_max_len(c, m);
    const struct predictor_parts parts = { m, &own, t->label_kind, t->classes, t->class_name };
    struct predictor *p = predictor_new(&parts, e);
    int layers = m->arch.encoder_layers, width = m->arch.width, rc = p ? 0 : e->code;
    real *with = xcalloc(rows->examples * (size_t)width, sizeof *with),
         *without = xcalloc(rows->examples * (size_t)width, sizeof *without);
    real **layer = xcalloc((size_t)layers + 1, sizeof *layer);
    const struct embed_how how = { .mean = true, .crew = crew };
    layer[layers] = with;
    if (!rc) rc = predictor_embed(p, rows, &how, layer, NULL, e);
    layer[layers] = without;
    if (!rc) rc = model_embed(m, rows, &how, layer, e);
    *out = (struct start_effect){ .rows = (int)rows->examples };
    for (size_t i = 0; i < rows->examples && !rc; i++)
        out->change += start_distance(with + i * (size_t)width, without + i * (size_t)width, width) /
                       (double)rows->examples;
    predictor_free(p);
    config_release(&own);
    free(with), free(without), free(layer);
    return rc;
}

int start_effect(const struct run_config *c, struct crew *crew, struct start_effect *out, struct err *e) {
    struct run_config one;
    struct task t = { 0 };
    struct dataset *rows = NULL;
    int run[METHOD_MODULES];
    if (c->method.fusion.on || method_runs(&c->method, run))
        return err_set(e, ERR_USAGE,
                       "not available for a method that is initialized from other runs; see their scores");
    struct model *m = model_share_as(c->model_folder ? c->model_folder : c->model, c->weights_in, e);
    if (!m) return e->code;
    config_of_task(c, 0, &one);
    int rc = model_needs_tokenizer(m, e);
    if (!rc) rc = start_rows(&one, m, &t, &rows, e);
    if (!rc) rc = start_measure(m, &one, &t, rows, crew, out, e);
    task_release(&t);
    config_release(&one);
    model_release(m);
    return rc;
}

void start_effect_words(const struct start_effect *x, char out[240]) {
    if (x->change <= no_change)
        snprintf(out, 240,
                 "identity at initialization (last encoder layer on %d examples: relative difference %.0e)",
                 x->rows, x->change);
    else
        snprintf(out, 240,
                 "not an identity at initialization: the last encoder layer differs by %.2g%% (%d examples)",
                 100 * x->change, x->rows);
}
