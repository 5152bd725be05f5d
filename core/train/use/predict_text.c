/* Predictors that generate text: texts and their metrics. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/layouts.h"
#include "core/train/config/config.h"
#include "core/train/run/pool.h"
#include "core/train/run/predictor.h"

int predictor_task_form(const struct predictor *p, const struct model *m, struct task *t, struct err *e) {
    struct run_config usual;
    config_init(&usual);
    const struct text_form how = { .prefix = p ? p->prefix : usual.prefix };
    config_release(&usual);
    if (t->kind == DATA_TEXT || !(p ? p->text : arch_generates(&m->arch))) return 0;
    return task_as_text(t, &how, e);
}

int predictor_prepare_task(const struct predictor *p, struct task *t, int max_len, struct err *e) {
    if (t->label_kind == DATA_TEXT && !p->text)
        return err_set(e, ERR_USAGE,
                       "%s: a text-to-text task needs an encoder\u2013decoder or decoder-only model, and %s %s",
                       t->name, p->m->name,
                       p->m->arch.causal ? "has a classification head" : "is an encoder");
    if (t->label_kind != DATA_TEXT && p->text && p->m->arch.causal)
        return err_set(e, ERR_USAGE, "%s: the task has labels, and %s has no classification head; use a run that "
                                     "was trained on it", t->name, p->m->name);
    int rc = predictor_task_form(p, p->m, t, e);
    const struct language_coding by = { p->chat_template, p->loss_on_all, (size_t)max_len,
                                        (size_t)p->max_target };
    if (!rc && p->text && p->m->arch.causal) rc = run_encode_language(p->m, t, &by, e);
    else if (!rc)
        rc = task_encode(t, p->m->tokenizer, (size_t)max_len, p->text ? (size_t)p->max_target : 0,
                         p->m->arch.vocabulary, e);
    return rc;
}

/* Returns the task of the run without examples. */
static struct task bare_task(const struct predictor *p) {
    const struct predictor_task *of = &p->of[p->at];
    return (struct task){ .kind = of->label_kind, .label_kind = of->label_kind, .positive = -1,
                          .classes = of->labels, .class_name = of->label, .report = BUF_INIT };
}

int predictor_as_text(const struct predictor *p, const char *task, const char *const field[2],
                      struct dataset *d, struct err *e) {
    const struct text_form how = { .prefix = p->prefix };
    struct task t = bare_task(p);
    BUG_IF(predictor_label_kind(p) == DATA_TEXT);
    t.name = (char *)(uintptr_t)task;
    t.layout = layout_find(task);
    t.pair = d->pair;
    t.devs = 1;
    for (int i = 0; i < 2; i++) {
        if (!field[i]) continue;
        free(d->field[i]);
        d->field[i] = xstrdup(field[i]);
    }
    t.dev[0] = *d;
    int rc = task_as_text(&t, &how, e);
    *d = t.dev[0];
    buf_release(&t.report);
    return rc;
}

int predictor_encode_sources(const struct predictor *p, struct dataset *d, size_t max_len, struct err *e) {
    const struct model *m = p->m;
    if (!m->arch.causal) return dataset_encode(d, m->tokenizer, max_len, 0, m->arch.vocabulary, e);
    if (d->pair) return err_set(e, ERR_USAGE, "%s: a language model reads one text, not a pair", d->path);
    struct task t = bare_task(p);
    size_t examples = d->examples;
    t.devs = 1;
    t.dev[0] = *d;
    t.dev[0].kind = DATA_TEXT;
    const struct language_coding by = { p->chat_template, false, max_len, (size_t)p->max_target };
    int rc = run_encode_language(m, &t, &by, e);
    *d = t.dev[0];
    buf_release(&t.report);
    if (!rc && d->examples < examples && d->report.too_long.examples)
        return err_set(e, ERR_INPUT, "%s: line %zu is longer than %zu tokens; use a larger --max-length", d->path,
                       d->report.too_long.first[0], max_len);
    if (!rc && d->examples < examples)
        return err_set(e, ERR_INPUT, "%s: line %zu: %s", d->path, d->report.unfit.first[0],
                       d->report.unfit_why);
    return rc;
}

struct parsed predictor_parse(const struct predictor *p, const char *text, size_t n) {
    const struct task t = bare_task(p);
    return text_parse(&t, text, n);
}

void written_release(struct written *w) {
    for (size_t i = 0; i < w->examples && w->text; i++) free(w->text[i]);
    free(w->text);
    free(w->size);
    *w = (struct written){ 0 };
}

struct writing {
    struct predictor *p;
    struct text_scoring s;
};

static bool write_unit(void *self, int unit, struct worker *w, struct attach *a, uint64_t *bad) {
    struct writing *x = self;
    return text_scoring_unit(&x->s, unit, w->tape, w->arena, a, x->p->params, x->p->generated, bad);
}

static int run_units(struct writing *x, struct crew *crew, struct err *e) {
    const struct predictor_work work = { x, text_scoring_units(&x->s), write_unit, x->s.data->path, NULL };
    return predictor_units(x->p->m, x->p, &work, crew, e);
}

/* Moves the texts of the scoring to the caller. */
static void predict_text_take_texts(struct text_scoring *s, struct written *out) {
    *out = (struct written){ s->data->examples, s->text, s->text_size };
    s->text = xcalloc(s->data->examples + 1, sizeof *s->text);
    s->text_size = NULL;
}

int predictor_evaluate_texts(struct predictor *p, const struct task *t, int split, int beams,
                             struct crew *crew, struct written *texts, struct metrics *out,
                             struct metric_value *token_accuracy, struct err *e) {
    struct generate_options how;
    struct writing x = { .p = p };
    BUG_IF(!p->text || t->kind != DATA_TEXT);
    *texts = (struct written){ 0 };
    bool generates = text_generates(p->m, t->metric);
    int rc = 0;
    if (generates)
        rc = text_options(p->m, t, beams ? beams : p->beams, p->max_target, &how, e);
    if (rc) return rc;
    text_scoring_init(&x.s, p->m, &t->dev[split], true, generates ? &how : NULL);
    rc = run_units(&x, crew, e);
    if (!rc) {
        text_scoring_metrics(&x.s, t, out, token_accuracy);
        if (generates) predict_text_take_texts(&x.s, texts);
    }
    text_scoring_release(&x.s);
    return rc;
}

/* ---- the method on one thread ---- */

struct predict_text_method {
    const struct predictor *p;
    struct attach *attach;
};

static void *open_method(void *self) {
    const struct predictor *p = self;
    struct predict_text_method *h = xcalloc(1, sizeof *h);
    *h = (struct predict_text_method){ p, attach_new(predictor_plan(p), p->m) };
    return h;
}

static const struct hooks *begin_method(void *opened, struct tape *t) {
    const struct predict_text_method *h = opened;
    return attach_begin(h->attach, t, predictor_params(h->p), predictor_made(h->p), NULL);
}

static void close_method(void *opened) {
    struct predict_text_method *h = opened;
    attach_free(h->attach);
    free(h);
}

struct generate_method predictor_generates(const struct predictor *p) {
    return (struct generate_method){ (void *)(uintptr_t)p, open_method, begin_method, close_method };
}

static void *open_hooks(void *self) { return self; }

static const struct hooks *begin_hooks(void *opened, struct tape *t) {
    (void)t;
    return opened;
}

struct generate_method model_generates(enum precision precision) {
    return (struct generate_method){ (void *)(uintptr_t)hooks_plain(precision), open_hooks, begin_hooks,
                                     NULL };
}

int predictor_answer(struct predictor *p, const struct dataset *d, struct crew *crew, struct written *texts,
                     struct err *e) {
    const struct task t = bare_task(p);
    struct generate_options how;
    struct writing x = { .p = p };
    BUG_IF(!p->text);
    *texts = (struct written){ 0 };
    int rc = text_options(p->m, &t, p->beams, p->max_target, &how, e);
    if (rc) return rc;
    text_scoring_init(&x.s, p->m, d, false, &how);
    rc = run_units(&x, crew, e);
    if (!rc) predict_text_take_texts(&x.s, texts);
    text_scoring_release(&x.s);
    return rc;
}
