#include "app/session/page_scores.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "app/insight/probe.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/run/score.h"
#include "views/phrase.h"

/* An example and how wrong its prediction is. */
struct miss {
    int example;
    double by;
};

static int by_miss(const void *pa, const void *pb) {
    const struct miss *a = pa, *b = pb;
    return a->by != b->by ? (a->by > b->by ? -1 : 1) : a->example - b->example;
}

static char *visible(const char *text) { return text_visible(text, strlen(text)); }

static char *number(double v) { return xstrdup(show_value(v).text); }

/* Adds the worst of the errors, of which the predictions are rows of `outputs` numbers. */
static void add_errors(struct page_scores *s, struct probe *p, const struct miss *miss, int misses,
                       const double *prediction, int outputs) {
    const struct predictor *u = p->opened.predictor;
    int n = misses < DETAIL_ERRORS ? misses : DETAIL_ERRORS;
    s->error = xcalloc((size_t)n + 1, sizeof *s->error);
    for (int i = 0; i < n; i++) {
        int at = miss[i].example;
        const struct example *x = &p->task[0].d->example[at];
        const double *v = prediction + (size_t)at * (size_t)outputs;
        char *text = rowset_text(&p->rows, at);
        int best = outputs > 1 ? argmax(v, outputs) : 0;
        s->error[i] = (struct detail_error){
            .line = (int64_t)x->line,
            .text = visible(text),
            .label = outputs > 1 ? visible(predictor_label(u, x->label)) : number(x->target),
            .predicted = outputs > 1 ? visible(predictor_label(u, best)) : number(v[0]),
            .label_share = outputs > 1 ? v[x->label] : NAN,
            .predicted_share = outputs > 1 ? v[best] : NAN,
        };
        free(text);
    }
    s->view.error = s->error;
    s->view.errors = n;
}

static void take_score(struct page_scores *s, enum metric_id metric) {
    const struct metric_value *v = &s->metrics.value[metric];
    s->view.metric = metric_name(metric);
    s->view.score = v->defined ? v->value : NAN;
}

static void score_classes(struct page_scores *s, struct probe *p, const double *share, int classes) {
    const struct dataset *d = p->task[0].d;
    int32_t *label = xcalloc(d->examples + 1, sizeof *label);
    int32_t *predicted = xcalloc(d->examples + 1, sizeof *predicted);
    struct miss *miss = xcalloc(d->examples + 1, sizeof *miss);
    int misses = 0;
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *x = &d->example[i];
        label[i] = x->labeled ? x->label : -1;
        predicted[i] = argmax(share + i * (size_t)classes, classes);
        if (label[i] >= 0 && label[i] != predicted[i])
            miss[misses++] = (struct miss){ (int)i, -share[i * (size_t)classes + (size_t)label[i]] };
    }
    metrics_of_classes(&s->metrics, label, predicted, NULL, d->examples, classes, -1);
    take_score(s, METRIC_ACCURACY);
    s->class = xcalloc((size_t)classes, sizeof *s->class);
    for (int c = 0; c < classes; c++) {
        struct detail_class *k = &s->class[c];
        const struct metrics *m = &s->metrics;
        const struct metric_value *of[] = { &m->precision[c], &m->recall[c], &m->f1[c] };
        double *to[] = { &k->precision, &k->recall, &k->f1 };
        for (size_t i = 0; i < COUNT_OF(of); i++) *to[i] = of[i]->defined ? of[i]->value : NAN;
        k->name = visible(predictor_label(p->opened.predictor, c));
        for (int i = 0; i < classes; i++) {
            k->examples += (int64_t)s->metrics.confusion[c * classes + i];
            k->predicted += (int64_t)s->metrics.confusion[i * classes + c];
        }
    }
    s->view.class = s->class;
    s->view.classes = classes;
    s->view.confusion = s->metrics.confusion;
    s->view.labeled = (int64_t)s->metrics.labeled;
    s->view.wrong = misses;
    qsort(miss, (size_t)misses, sizeof *miss, by_miss);
    add_errors(s, p, miss, misses, share, classes);
    free(label);
    free(predicted);
    free(miss);
}

static void score_numbers(struct page_scores *s, struct probe *p, const double *score) {
    const struct dataset *d = p->task[0].d;
    double *target = xcalloc(d->examples + 1, sizeof *target);
    bool *has = xcalloc(d->examples + 1, sizeof *has);
    struct miss *miss = xcalloc(d->examples + 1, sizeof *miss);
    int misses = 0;
    for (size_t i = 0; i < d->examples; i++) {
        target[i] = d->example[i].target;
        has[i] = d->example[i].labeled;
        if (has[i]) miss[misses++] = (struct miss){ (int)i, fabs(score[i] - target[i]) };
    }
    metrics_of_scores(&s->metrics, target, has, score, NULL, d->examples);
    take_score(s, METRIC_PEARSON);
    s->view.labeled = misses;
    qsort(miss, (size_t)misses, sizeof *miss, by_miss);
    add_errors(s, p, miss, misses, score, 1);
    free(target);
    free(has);
    free(miss);
}

/* Opens the run with one of its tasks and all examples of its validation set. */
static int open_examples(struct store *s, int64_t run, int task, struct probe *p, struct err *e) {
    struct run_config c;
    const struct probe_draw all = { .most = INT_MAX };
    int rc = record_config(s, run, &c, e);
    *p = (struct probe){ 0 };
    if (rc) return rc;
    const char *name = c.tasks ? config_task_name(&c, task % config_task_count(&c)) : NULL;
    rc = probe_open_run(p, s, run, name, NULL, NULL, e);
    config_release(&c);
    if (!rc && predictor_writes(p->opened.predictor))
        rc = err_set(e, ERR_USAGE,
                     "run #%lld generates text; `petri eval %lld --wrong FILE` lists its errors",
                     (long long)run, (long long)run);
    if (!rc) rc = predictor_needs_head(p->opened.predictor, e);
    return rc ? rc : probe_rows(p, NULL, 0, &all, e);
}

int page_scores_compute(struct store *s, int64_t run, int task, const struct embed_how *how,
                        struct page_scores **out, struct err *e) {
    struct probe p;
    int rc = open_examples(s, run, task, &p, e);
    if (!rc) {
        const struct dataset *d = p.task[0].d;
        int outputs = predictor_classes(p.opened.predictor);
        real **none = xcalloc((size_t)p.layers + 2, sizeof *none);
        double *v = mem_try(d->examples * (size_t)outputs, sizeof *v);
        if (!v) rc = err_set(e, ERR_SYSTEM, "out of memory for %zu predictions", d->examples);
        else rc = predictor_embed(p.opened.predictor, d, how, none, v, e);
        if (!rc) {
            struct page_scores *x = *out = xcalloc(1, sizeof *x);
            x->task = xstrdup(p.task[0].t.name);
            x->split = xstrdup(p.split);
            x->view = (struct detail_scores){ .run = run,
                                              .step = p.opened.step,
                                              .task = x->task,
                                              .split = x->split,
                                              .examples = (int64_t)d->examples };
            if (outputs > 1) score_classes(x, &p, v, outputs);
            else score_numbers(x, &p, v);
        }
        free(none);
        free(v);
    }
    probe_release(&p);
    return rc;
}

void page_scores_free(struct page_scores *p) {
    if (!p) return;
    for (int i = 0; i < p->view.classes; i++) free((char *)(uintptr_t)p->class[i].name);
    for (int i = 0; i < p->view.errors; i++) {
        free((char *)(uintptr_t)p->error[i].text);
        free((char *)(uintptr_t)p->error[i].label);
        free((char *)(uintptr_t)p->error[i].predicted);
    }
    metrics_release(&p->metrics);
    free(p->class);
    free(p->error);
    free(p->task);
    free(p->split);
    free(p);
}
