#include "tests/support/trained.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

const char *const trained_term[TRAINED_TERMS] = { "loss.task", "loss.instance", "loss.prototype" };

static int task_of(struct trained *t, const char *name) {
    for (int i = 0; i < t->tasks; i++)
        if (!strcmp(t->task[i], name)) return i;
    BUG_IF(t->tasks == TRAINED_TASKS);
    snprintf(t->task[t->tasks], sizeof t->task[0], "%s", name);
    return t->tasks++;
}

static void keep_point(struct trained *t, const struct event *e) {
    BUG_IF(t->points == TRAINED_POINTS);
    int i = t->points++;
    t->step[i] = e->step;
    t->loss[i] = e->loss;
    t->lr[i] = e->lr;
    t->norm[i] = e->grad_norm;
    t->tokens[i] = e->tokens;
    for (int k = 0; k < TRAINED_TASKS; k++) t->task_loss[k][i] = NAN;
    for (int k = 0; k < TRAINED_TERMS; k++) t->term[k][i] = NAN;
    for (int k = 0; k < e->terms; k++) {
        const struct event_term *x = &e->term[k];
        if (x->task && !strcmp(x->name, "loss")) t->task_loss[task_of(t, x->task)][i] = x->value;
        for (int j = 0; j < TRAINED_TERMS; j++)
            if (!x->task && !strcmp(x->name, trained_term[j])) t->term[j][i] = x->value;
    }
}

static void keep_evaluation(struct trained *t, const struct event *e) {
    if (e->auxiliary) return;
    BUG_IF(t->evaluations == TRAINED_EVALUATIONS || !e->metrics);
    int i = t->evaluations++;
    t->evaluation[i].step = e->step;
    t->evaluation[i].value = e->metric[0].undefined ? NAN : e->metric[0].value;
    t->evaluation[i].best = e->best;
    t->evaluation[i].constant = e->constant;
    snprintf(t->evaluation[i].split, sizeof t->evaluation[i].split, "%s", e->split ? e->split : "");
    snprintf(t->evaluation[i].task, sizeof t->evaluation[i].task, "%s", e->task ? e->task : "");
    snprintf(t->evaluation[i].rows, sizeof t->evaluation[i].rows, "%s", e->examples);
    for (int j = 0; j < e->metrics; j++)
        if (!strcmp(e->metric[j].name, "loss")) t->evaluation[i].loss = e->metric[j].value;
    BUG_IF(e->metrics > TRAINED_METRICS);
    t->evaluation[i].metrics = e->metrics;
    memcpy(t->evaluation[i].metric, e->metric, sizeof e->metric);
    t->metrics = e->metrics;
    for (int j = 0; j < e->metrics; j++) {
        t->metric[j] = e->metric[j].undefined ? NAN : e->metric[j].value;
        snprintf(t->metric_name[j], sizeof t->metric_name[j], "%s", e->metric[j].name);
    }
}

double trained_metric(const struct trained *t, const char *name) {
    for (int i = 0; i < t->metrics; i++)
        if (!strcmp(t->metric_name[i], name)) return t->metric[i];
    return NAN;
}

static void keep_samples(struct trained *t, const struct event *e) {
    BUG_IF(t->samples == TRAINED_EVALUATIONS);
    const struct event_samples *v = e->samples;
    int i = t->samples++;
    t->sample[i].step = e->step;
    t->sample[i].count = v->count;
    for (int j = 0; j < v->count; j++) {
        const struct event_sample *x = &v->sample[j];
        t->sample[i].right += x->target && !strcmp(x->target, x->generated);
        t->sample[i].valid += x->valid != 0;
    }
    snprintf(t->sample[i].first, sizeof t->sample[i].first, "%s", v->sample[0].generated);
}

static void keep_embedding(struct trained *t, const struct event *e) {
    BUG_IF(t->embeddings == TRAINED_STATES);
    const struct event_embedding *v = e->embedding;
    int i = t->embeddings++, rows = (int)v->examples;
    const unsigned char *bytes = (const unsigned char *)v->vector;
    uint64_t sum = 14695981039346656037u; /* FNV-1a */
    for (size_t k = 0; k < (size_t)rows * (size_t)v->columns * sizeof *v->vector; k++)
        sum = (sum ^ bytes[k]) * 1099511628211u;
    t->embedding[i].step = e->step;
    t->embedding[i].rows = rows;
    t->embedding[i].columns = v->columns;
    t->embedding[i].sum = sum;
}

static void keep(void *self, const struct event *e) {
    struct trained *t = self;
    switch (e->kind) {
    case EVENT_POINT: keep_point(t, e); break;
    case EVENT_EVALUATION: keep_evaluation(t, e); break;
    case EVENT_CHECKPOINT: t->checkpoints++; break;
    case EVENT_EMBEDDING: keep_embedding(t, e); break;
    case EVENT_SAMPLE: keep_samples(t, e); break;
    case EVENT_MESSAGE: snprintf(t->message, sizeof t->message, "%s", e->text); break;
    case EVENT_SAVING: break;
    case EVENT_STATE:
        BUG_IF(t->states == TRAINED_STATES);
        t->state[t->states++] = e->state;
        snprintf(t->reason, sizeof t->reason, "%s", e->text ? e->text : "");
        break;
    }
}

struct event_sink trained_sink(struct trained *t) {
    return (struct event_sink){ .self = t, .send = keep };
}

void trained_release(struct trained *t) {
    free(t->params);
    t->params = NULL;
}

enum run_state trained_state(const struct trained *t) {
    BUG_IF(!t->states);
    return t->state[t->states - 1];
}

static void open_source(struct ground *g, const char *model, const struct task_source *source, int max_len) {
    struct err e = ERR_INIT;
    struct run_config c;
    *g = (struct ground){ 0 };
    g->model = model_load(model, &e);
    if (!g->model) fail_msg("%s", e.text);
    config_init(&c);
    c.max_len = max_len;
    g->max_len = run_max_len(&c, g->model);
    test_ok(task_open(&g->task, source, &e), &e);
    test_ok(run_prepare_task(&c, g->model, &g->task, &e), &e);
    config_release(&c);
}

void ground_open(struct ground *g, const char *model, const char *train_file, const char *dev,
                 int max_len) {
    const struct task_source s = { .train = train_file, .dev = dev, .text = "text", .label = "label" };
    open_source(g, model, &s, max_len);
}

void ground_open_pairs(struct ground *g, const char *model, const char *train_file, const char *dev,
                       int max_len) {
    const struct task_source s = { .train = train_file, .dev = dev, .source = "source", .target = "target" };
    open_source(g, model, &s, max_len);
}

void ground_open_toy(struct ground *g, bool dev) {
    char *folder = test_folder(), *toy = tiny_toy(folder), *model = tiny_bert(folder, "tiny", NULL);
    ground_open(g, model, toy, dev ? toy : NULL, 16);
    free(model);
    free(toy);
    free(folder);
}

void ground_release(struct ground *g) {
    task_release(&g->task);
    model_release(g->model);
}

struct run_config ground_config(const struct ground *g, const char *method, int batch, int steps) {
    struct run_config c;
    config_init(&c);
    struct err e = ERR_INIT;
    test_ok(config_set(&c, "method", method, &e), &e);
    c.max_len = g->max_len;
    c.batch = batch;
    c.steps = steps;
    c.epochs = 0;
    c.dropout = 0;
    c.precision = PRECISION_F32;
    return c;
}

void trained_run(struct run *r, int workers, struct trained *out) {
    struct pool *p = pool_new(workers);
    pool_add(p, r, 0);
    assert_true(pool_wait(p, r, 120));
    pool_free(p);
    run_weights_sha256(r, out->sha256);
    out->params_count = run_plan(r)->trained;
    out->params = xmalloc(out->params_count * sizeof *out->params);
    memcpy(out->params, run_params(r), out->params_count * sizeof *out->params);
    run_free(r);
}

void train(struct ground *g, const struct run_config *c, const char *folder, int workers,
           struct trained *out) {
    struct err e = ERR_INIT;
    *out = (struct trained){ 0 };
    struct run *r = run_new(1, c, g->model, &g->task, folder, trained_sink(out), &e);
    if (!r) fail_msg("%s", e.text);
    trained_run(r, workers, out);
}

static void keep_and_stop(void *self, const struct event *e) {
    struct step_stopper *s = self;
    keep(s->out, e);
    if (e->kind == EVENT_POINT && e->step == s->step) run_stop(s->run);
}

struct event_sink step_stopper_sink(struct step_stopper *s) {
    return (struct event_sink){ .self = s, .send = keep_and_stop };
}

void train_until(struct ground *g, const struct run_config *c, const char *folder, int workers,
                 int64_t step, struct trained *out) {
    struct err e = ERR_INIT;
    struct step_stopper s = { .out = out, .step = step };
    *out = (struct trained){ 0 };
    s.run = run_new(1, c, g->model, &g->task, folder, step_stopper_sink(&s), &e);
    if (!s.run) fail_msg("%s", e.text);
    trained_run(s.run, workers, out);
}

void train_on(struct ground *g, const struct run_config *c, const char *folder, int workers,
              struct trained *out) {
    struct err e = ERR_INIT;
    *out = (struct trained){ 0 };
    struct task *task = &g->task;
    struct run *r = run_go_on(1, c, g->model, &(struct run_tasks){ 1, &task }, folder, trained_sink(out), &e);
    if (!r) fail_msg("%s", e.text);
    trained_run(r, workers, out);
}

void fixture_task_open(struct fixture_task *t, const struct fixture *f) {
    const struct batch *b = &f->batch;
    size_t rows = (size_t)b->examples;
    struct example *row = xcalloc(rows, sizeof *row);
    size_t *start = xcalloc(rows + 1, sizeof *start);
    uint8_t *types = xmalloc((size_t)b->tokens);
    for (size_t i = 0; i < rows; i++) {
        row[i] = (struct example){ .label = b->label[i], .labeled = true, .id = i };
        start[i + 1] = (size_t)b->start[i + 1];
    }
    for (int i = 0; i < b->tokens; i++) types[i] = (uint8_t)b->types[i];
    int classes = f->model->head_rows ? f->model->head_rows : 2;
    *t = (struct fixture_task){ 0 };
    t->task = (struct task){ .name = xstrdup("fixture"), .kind = DATA_CLASSES, .classes = classes,
                             .positive = -1, .metric = METRIC_ACCURACY, .has_train = true };
    t->task.train = (struct dataset){ .path = t->task.name, .kind = DATA_CLASSES,
                                      .classes = classes, .examples = rows, .example = row,
                                      .start = start, .ids = b->ids, .types = types };
    t->task.train.max_len = (size_t)arch_max_length(&f->model->arch);
    t->task.class_name = xcalloc((size_t)classes, sizeof *t->task.class_name);
    for (int i = 0; i < classes; i++) t->task.class_name[i] = xprintf("%d", i);
}

void fixture_task_close(struct fixture_task *t) {
    for (int i = 0; i < t->task.classes; i++) free(t->task.class_name[i]);
    free(t->task.class_name);
    free(t->task.name);
    free(t->task.train.example);
    free(t->task.train.start);
    free(t->task.train.types);
}
