#include "tests/support/mixed.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/train/config/complete.h"
#include "core/train/run/checkpoint.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/writer.h"

static void write_rows(const char *parent, const char *name, const char *label, int rows, void (*add)(struct buf *, int)) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "text\t%s\n", label);
    for (int i = 0; i < rows; i++) add(&b, i);
    free(test_file(parent, name, b.data, b.size));
    buf_release(&b);
}

static void add_two(struct buf *b, int i) {
    buf_printf(b, "%s film%s%s\t%d\n", i % 2 ? "bad" : "good", i % 3 ? " very" : "", i % 5 ? " the mat" : "", i % 2);
}

static void add_three(struct buf *b, int i) {
    static const char *const who[] = { "the cat sat", "a film", "not very good" };
    buf_printf(b, "%s%s%s\t%d\n", who[i % 3], i % 2 ? " on the mat" : "", i % 4 ? "" : " the cat", i % 3);
}

static void add_score(struct buf *b, int i) {
    static const char *const words[] = { "bad", "not good", "very good" };
    buf_printf(b, "the %s %s\t%s\n", words[i % 3], i % 2 ? "mat" : "film", i % 3 == 0 ? "0.0" : i % 2 ? "1.0" : "0.5");
}

char *mixed_list(const char *parent) {
    static const char list[] =
        "[{\"name\":\"two\",\"train\":\"two.tsv\",\"dev\":\"two.tsv\",\"label\":\"label\",\"text\":\"text\","
        "\"kind\":\"classes\"},\n"
        " {\"name\":\"three\",\"train\":\"three.tsv\",\"dev\":\"three.tsv\",\"label\":\"label\",\"text\":\"text\","
        "\"kind\":\"classes\",\"metric\":\"matthews\"},\n"
        " {\"name\":\"score\",\"train\":\"score.tsv\",\"dev\":\"score.tsv\",\"label\":\"score\",\"text\":\"text\","
        "\"kind\":\"scores\"}]\n";
    write_rows(parent, "two.tsv", "label", 20, add_two);
    write_rows(parent, "three.tsv", "label", 13, add_three);
    write_rows(parent, "score.tsv", "score", 9, add_score);
    return test_file(parent, "tasks.json", list, sizeof list - 1);
}

void mixed_open(struct mixed *m, const char *model, const char *list, int max_len, const char *const *set) {
    struct err e = ERR_INIT;
    *m = (struct mixed){ 0 };
    m->model = model_load(model, &e);
    if (!m->model) fail_msg("%s", e.text);
    config_init(&m->config);
    m->config.precision = PRECISION_F32;
    m->config.max_len = max_len;
    m->config.max_len = run_max_len(&m->config, m->model);
    for (; set && *set; set += 2) test_ok(config_set(&m->config, set[0], set[1], &e), &e);
    test_ok(config_set_tasks(&m->config, list, &e), &e);
    BUG_IF(m->config.tasks > TRAINED_TASKS);
    for (int i = 0; i < m->config.tasks; i++) {
        struct run_config one;
        config_of_task(&m->config, i, &one);
        const struct task_source s = config_source(&one, NULL);
        test_ok(task_open(&m->task[i], &s, &e), &e);
        test_ok(run_prepare_task(&one, m->model, &m->task[i], &e), &e);
        config_release(&one);
        m->list[i] = &m->task[i];
    }
    m->tasks = (struct run_tasks){ m->config.tasks, m->list };
}

void mixed_release(struct mixed *m) {
    for (int i = 0; i < m->tasks.count; i++) task_release(&m->task[i]);
    config_release(&m->config);
    model_release(m->model);
}

void mixed_open_both(struct mixed m[MIXED_MODELS], const char *const *set) {
    char *home = test_folder(), *list = mixed_list(home);
    char *bert = tiny_bert(home, "bert", NULL), *t5 = writer_model(home, "t5", FAMILY_T5, NULL);
    mixed_open(&m[BERT], bert, list, 16, set);
    mixed_open(&m[T5], t5, list, 16, set);
    free(bert);
    free(t5);
    free(list);
    free(home);
}

void mixed_release_both(struct mixed m[MIXED_MODELS]) {
    for (int i = 0; i < MIXED_MODELS; i++) mixed_release(&m[i]);
}

struct run_config mixed_config(const struct mixed *m, const char *method, int batch, int steps) {
    struct run_config c;
    struct err e = ERR_INIT;
    config_copy(&c, &m->config);
    test_ok(config_set(&c, "method", method, &e), &e);
    c.batch = batch;
    c.steps = steps;
    c.epochs = 0;
    c.dropout = 0;
    return c;
}

struct run *mixed_begin(struct mixed *m, const struct run_config *c, const char *folder, struct event_sink sink) {
    struct err e = ERR_INIT;
    struct run *r = run_begin(1, c, m->model, &m->tasks, folder, sink, &e);
    if (!r) fail_msg("%s", e.text);
    return r;
}

void mixed_train(struct mixed *m, const struct run_config *c, const char *folder, int workers, int64_t until,
                 struct trained *out) {
    struct step_stopper s = { .out = out, .step = until };
    *out = (struct trained){ 0 };
    s.run = mixed_begin(m, c, folder, step_stopper_sink(&s));
    trained_run(s.run, workers, out);
}

void mixed_go_on(struct mixed *m, const struct run_config *c, const char *folder, int workers, struct trained *out) {
    struct err e = ERR_INIT;
    *out = (struct trained){ 0 };
    struct run *r = run_go_on(1, c, m->model, &m->tasks, folder, trained_sink(out), &e);
    if (!r) fail_msg("%s", e.text);
    trained_run(r, workers, out);
}

/* ---- beside PyTorch ---- */

struct run *mixed_begin_moved(struct mixed *m, const struct run_config *c, const char *folder, struct event_sink sink,
                              double sigma) {
    struct run *r = mixed_begin(m, c, folder, sink);
    struct rng_key key = rng_key(5, RNG_TEST, 0, rng_site("moved"));
    for (size_t i = 0; i < run_plan(r)->trained; i++) run_params(r)[i] += (real)(sigma * rng_normal(key, i));
    return r;
}

/* A descent with momentum keeps the first step's gradient in its state. */
real *mixed_gradient(struct mixed *m, const struct run_config *c, double sigma) {
    struct err e = ERR_INIT;
    struct run_config one;
    struct trained out = { 0 };
    struct step_stopper s = { .out = &out, .step = 1 };
    struct checkpoint k;
    char *folder = test_folder(), *path = checkpoint_path(folder, true);
    config_copy(&one, c);
    one.optimizer = OPTIMIZER_SGD;
    one.momentum = 0.9;
    one.clip = 0;
    one.lr = 1e-6;
    s.run = mixed_begin_moved(m, &one, folder, step_stopper_sink(&s), sigma);
    trained_run(s.run, 2, &out);
    struct plan *p = run_plan_for(&one, &m->tasks, &m->model->arch, &e);
    real *params = xcalloc(p->trained, sizeof *params), *made = xcalloc(p->generated_size + 1, sizeof *made);
    real *g = xcalloc(p->trained, sizeof *g);
    test_ok(checkpoint_open(&k, path, &e), &e);
    test_ok(checkpoint_read(&k, p, true, params, made, g, NULL, &e), &e);
    checkpoint_close(&k);
    trained_release(&out);
    free(params);
    free(made);
    plan_free(p);
    config_release(&one);
    free(path);
    free(folder);
    return g;
}

static void add_ids(struct buf *b, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) buf_printf(b, "%s%d", i ? " " : "", (int)ids[i]);
    buf_putc(b, '\t');
}

static void add_row(struct buf *b, const struct task *t, uint32_t row) {
    const struct dataset *d = &t->train;
    add_ids(b, d->ids + d->start[row], d->start[row + 1] - d->start[row]);
    if (t->kind == DATA_TEXT) add_ids(b, d->target_ids + d->target_start[row], d->target_start[row + 1] - d->target_start[row]);
    else buf_putc(b, '\t');
    if (t->kind == DATA_REGRESSION) buf_printf(b, "%.17g\n", (double)d->example[row].target);
    else buf_printf(b, "%d\n", t->kind == DATA_TEXT ? 0 : (int)d->example[row].label);
}

/* rows[task]: how many it has. */
static struct sampler *sampler_of(const struct mixed *m, const struct run_config *c, size_t rows[TRAINED_TASKS]) {
    const struct sampling how = config_sampling(c);
    for (int i = 0; i < m->tasks.count; i++) rows[i] = m->task[i].train.examples;
    return sampler_new(&how, c->seed, m->tasks.count, rows, c->batch);
}

int mixed_first_rows(const struct mixed *m, const struct run_config *c, struct batch_example *out) {
    size_t rows[TRAINED_TASKS];
    uint32_t *row = xcalloc((size_t)c->batch, sizeof *row), first = 0;
    struct sampler *s = sampler_of(m, c, rows);
    int n = sampler_step(s, 0, row), at = 0;
    for (int t = 0; t < m->tasks.count; first += (uint32_t)rows[t++])
        for (int i = 0; i < n; i++)
            if (row[i] >= first && row[i] < first + rows[t])
                out[at++] = (struct batch_example){ .data = &m->task[t].train, .index = row[i] - first, .task = t };
    BUG_IF(at != n);
    sampler_free(s);
    free(row);
    return n;
}

static void write_order(const struct mixed *m, const struct run_config *c, const char *path, int steps) {
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    size_t rows[TRAINED_TASKS];
    uint32_t *row = xcalloc((size_t)c->batch, sizeof *row);
    struct sampler *s = sampler_of(m, c, rows);
    for (int step = 0; step < steps; step++) {
        int n = sampler_step(s, step, row);
        for (int i = 0; i < n; i++) {
            int t = 0;
            for (; row[i] >= rows[t]; t++) row[i] -= (uint32_t)rows[t];
            buf_printf(&b, "%d\t%d\t", step, t);
            add_row(&b, &m->task[t], row[i]);
        }
    }
    sampler_free(s);
    test_ok(file_write(path, b.data, b.size, &e), &e);
    buf_release(&b);
    free(row);
}

/* `method`: as the run has it. */
static void write_case(const struct mixed *m, const struct run_config *c, const struct method *method, const char *model,
                       const char *path) {
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    buf_puts(&b, "{\"model\":");
    json_add_string(&b, model);
    buf_puts(&b, ",\"rate\":");
    json_add_double(&b, c->lr);
    buf_puts(&b, ",\"clip\":");
    json_add_double(&b, c->clip);
    char *text = method_json(method, true);
    buf_printf(&b, ",\"method\":%s", text);
    free(text);
    for (int i = 0; i < m->tasks.count; i++) {
        buf_puts(&b, i ? ",{\"name\":" : ",\"tasks\":[{\"name\":");
        json_add_string(&b, c->of[i].task_name);
        buf_puts(&b, ",\"weight\":");
        json_add_double(&b, c->of[i].task_weight);
        buf_printf(&b, ",\"outputs\":%d}", run_outputs(&m->task[i]));
    }
    buf_puts(&b, "]}\n");
    test_ok(file_write(path, b.data, b.size, &e), &e);
    buf_release(&b);
}

void mixed_dump(struct mixed *m, const struct run_config *c, const char *model, const char *folder, int steps,
                double sigma) {
    struct err e = ERR_INIT;
    struct run *r = mixed_begin_moved(m, c, folder, (struct event_sink){ NULL, NULL }, sigma);
    test_ok(checkpoint_save(r, CHECKPOINT_LAST, &e), &e);
    char *rows = file_join(folder, "rows.tsv"), *about = file_join(folder, "case.json");
    write_order(m, c, rows, steps);
    write_case(m, c, &run_plan(r)->method, model, about);
    run_free(r);
    free(rows);
    free(about);
}
