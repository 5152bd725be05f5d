#include "tests/support/trained.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"

static void keep_point(struct trained *t, const struct event *e) {
    BUG_IF(t->points == TRAINED_POINTS);
    int i = t->points++;
    t->step[i] = e->step;
    t->loss[i] = e->loss;
    t->lr[i] = e->lr;
    t->norm[i] = e->grad_norm;
    t->tokens[i] = e->tokens;
}

static void keep_evaluation(struct trained *t, const struct event *e) {
    BUG_IF(t->evaluations == TRAINED_EVALUATIONS || !e->metrics);
    int i = t->evaluations++;
    t->evaluation[i].step = e->step;
    t->evaluation[i].value = e->metric[0].undefined ? NAN : e->metric[0].value;
    t->evaluation[i].best = e->best;
    t->evaluation[i].constant = e->constant;
    snprintf(t->evaluation[i].split, sizeof t->evaluation[i].split, "%s", e->split);
    snprintf(t->evaluation[i].rows, sizeof t->evaluation[i].rows, "%s", e->rows);
    for (int j = 0; j < e->metrics; j++)
        if (!strcmp(e->metric[j].name, "loss")) t->evaluation[i].loss = e->metric[j].value;
}

static void keep_embedding(struct trained *t, const struct event *e) {
    BUG_IF(t->embeddings == TRAINED_STATES);
    const struct event_embedding *v = e->embedding;
    int i = t->embeddings++, rows = (int)v->rows->rows;
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
    case EVENT_MESSAGE: snprintf(t->message, sizeof t->message, "%s", e->text); break;
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

void ground_open(struct ground *g, const char *model, const char *train_file, const char *dev,
                 int max_len) {
    struct err e = ERR_INIT;
    struct run_config c;
    *g = (struct ground){ 0 };
    g->model = model_load(model, &e);
    if (!g->model) fail_msg("%s", e.text);
    config_init(&c);
    c.max_len = max_len;
    g->max_len = run_max_len(&c, g->model);
    config_release(&c);
    const struct task_source s = {
        .train = train_file, .dev = dev, .text = "text", .label = "label"
    };
    test_ok(task_open(&g->task, &s, &e), &e);
    test_ok(task_encode(&g->task, g->model->tokenizer, (size_t)g->max_len, 0,
                        g->model->arch.vocabulary, &e),
            &e);
}

void ground_release(struct ground *g) {
    task_release(&g->task);
    model_release(g->model);
}

struct run_config ground_config(const struct ground *g, const char *method, int batch, int steps) {
    struct run_config c;
    config_init(&c);
    c.method = xstrdup(method);
    c.max_len = g->max_len;
    c.batch = batch;
    c.steps = steps;
    c.epochs = 0;
    c.dropout = 0;
    return c;
}

static void train_run(struct run *r, int workers, struct trained *out) {
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
    train_run(r, workers, out);
}

/* Stops as a user would, but at a step that is known: the sink asks for it. */
struct stopper {
    struct trained *out;
    struct run *run;
    int64_t step;
};

static void keep_and_stop(void *self, const struct event *e) {
    struct stopper *s = self;
    keep(s->out, e);
    if (e->kind == EVENT_POINT && e->step == s->step) run_stop(s->run);
}

void train_until(struct ground *g, const struct run_config *c, const char *folder, int workers,
                 int64_t step, struct trained *out) {
    struct err e = ERR_INIT;
    struct stopper s = { .out = out, .step = step };
    *out = (struct trained){ 0 };
    s.run =
        run_new(1, c, g->model, &g->task, folder, (struct event_sink){ &s, keep_and_stop }, &e);
    if (!s.run) fail_msg("%s", e.text);
    train_run(s.run, workers, out);
}

void train_on(struct ground *g, const struct run_config *c, const char *folder, int workers,
              struct trained *out) {
    struct err e = ERR_INIT;
    *out = (struct trained){ 0 };
    struct run *r = run_resume_from(1, c, g->model, &g->task, folder, trained_sink(out), &e);
    if (!r) fail_msg("%s", e.text);
    train_run(r, workers, out);
}

void fixture_task_open(struct fixture_task *t, const struct fixture *f) {
    const struct batch *b = &f->batch;
    size_t rows = (size_t)b->rows;
    struct dataset_row *row = xcalloc(rows, sizeof *row);
    size_t *start = xcalloc(rows + 1, sizeof *start);
    uint8_t *types = xmalloc((size_t)b->tokens);
    for (size_t i = 0; i < rows; i++) {
        row[i] = (struct dataset_row){ .label = b->label[i], .gold = true, .id = i };
        start[i + 1] = (size_t)b->start[i + 1];
    }
    for (int i = 0; i < b->tokens; i++) types[i] = (uint8_t)b->types[i];
    int classes = f->model->head_rows ? f->model->head_rows : 2;
    *t = (struct fixture_task){ 0 };
    t->task = (struct task){ .name = xstrdup("fixture"), .kind = DATA_CLASSES, .classes = classes,
                             .positive = -1, .metric = METRIC_ACCURACY, .has_train = true };
    t->task.train = (struct dataset){ .path = t->task.name, .kind = DATA_CLASSES,
                                      .classes = classes, .rows = rows, .row = row,
                                      .start = start, .ids = b->ids, .types = types };
    t->task.train.max_len = (size_t)arch_longest(&f->model->arch);
}

void fixture_task_close(struct fixture_task *t) {
    free(t->task.name);
    free(t->task.train.row);
    free(t->task.train.start);
    free(t->task.train.types);
}
