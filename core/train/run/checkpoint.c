#include "core/train/run/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/train/run/predictor.h"

enum { ST_REAL = REAL_IS_DOUBLE ? ST_F64 : ST_F32 };

struct checkpoint_writer {
    struct st_write *tensor;
    size_t count, room;
};

char *checkpoint_path(const char *folder, bool last) {
    return file_join(folder, last ? "last.safetensors" : "best.safetensors");
}

char *checkpoint_path_of_task(const char *folder, const char *task) {
    char *name = xprintf("best.%s.safetensors", task), *path = file_join(folder, name);
    free(name);
    return path;
}

/* ---- hashing ---- */

static void hash_tensor(struct sha256 *h, const char *name, int rows, int cols,
                        const real *values) {
    char head[PLAN_NAME + 32];
    int n = snprintf(head, sizeof head, "%s %d %d\n", name, rows, cols);
    sha256_add(h, head, (size_t)n);
    sha256_add(h, values, (size_t)rows * (size_t)cols * sizeof *values);
}

static void weights_sha256(const struct plan *p, const real *params, char out[65]) {
    struct sha256 *h = sha256_start();
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        hash_tensor(h, t->name, t->rows, t->cols, params + t->offset);
    }
    sha256_finish(h, out);
}

void run_weights_sha256(const struct run *r, char out[65]) { weights_sha256(r->plan, r->values.params, out); }

/* Hashes all bytes of the file after its header. */
static void checkpoint_sha256(const struct checkpoint_writer *w, char out[65]) {
    struct sha256 *h = sha256_start();
    for (size_t i = 0; i < w->count; i++) {
        const struct st_write *t = &w->tensor[i];
        sha256_add(h, t->data, t->shape[0] * (t->rank > 1 ? t->shape[1] : 1) * st_type_size(t->type));
    }
    sha256_finish(h, out);
}

/* ---- metadata ---- */

static void checkpoint_add_best(struct buf *b, const struct best *best, const char *metric) {
    if (!best->has) {
        buf_puts(b, "null");
        return;
    }
    buf_printf(b, "{\"metric\":\"%s\",\"step\":%lld,\"value\":", metric, (long long)best->step);
    json_add_double(b, best->value);
    buf_putc(b, '}');
}

static char *state_json(const struct run *r) {
    struct buf b = BUF_INIT;
    bool done = run_is_done(r) && !evaluation_due(r) && !watch_due(r) &&
                !test_due(r);
    buf_printf(&b, "{\"step\":%lld,\"seconds\":", (long long)r->step);
    json_add_double(&b, run_seconds(r));
    buf_puts(&b, ",\"loss\":");
    json_add_double(&b, r->control.loss);
    buf_printf(&b, ",\"evaluated\":%lld,\"worse\":%d,\"finished\":%s,\"best\":",
               (long long)r->evaluation.evaluated, r->evaluation.worse, done ? "true" : "false");
    checkpoint_add_best(&b, &r->evaluation.best, r->c.metric);
    if (r->stages.of) buf_printf(&b, ",\"stage\":%d", r->stages.now);
    if (!run_is_single(r)) {
        buf_puts(&b, ",\"tasks\":[");
        for (int i = 0; i < r->tasks; i++) {
            if (i) buf_putc(&b, ',');
            checkpoint_add_best(&b, &r->of[i].best, metric_name(r->of[i].metric));
        }
        buf_putc(&b, ']');
    }
    buf_putc(&b, '}');
    return buf_take(&b);
}

static void add_labels(struct buf *b, char *const *label, int n) {
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        if (i) buf_putc(b, ',');
        json_add_string(b, label[i]);
    }
    buf_putc(b, ']');
}

static const char *label_kind_name(enum data_kind kind) {
    return kind == DATA_TEXT         ? "text"
           : kind == DATA_MASKED     ? "masked"
           : kind == DATA_REGRESSION ? "scores"
                                     : "classes";
}

static char *checkpoint_tasks_json(const struct run *r) {
    struct buf b = BUF_INIT;
    if (run_is_single(r)) {
        add_labels(&b, r->of[0].task->class_name, r->of[0].task->classes);
        return buf_take(&b);
    }
    buf_putc(&b, '[');
    for (int i = 0; i < r->tasks; i++) {
        buf_puts(&b, i ? ",{\"name\":" : "{\"name\":");
        json_add_string(&b, r->of[i].name);
        buf_printf(&b, ",\"kind\":\"%s\",\"labels\":", label_kind_name(r->of[i].task->label_kind));
        add_labels(&b, r->of[i].task->class_name, r->of[i].task->classes);
        buf_putc(&b, '}');
    }
    buf_putc(&b, ']');
    return buf_take(&b);
}

/* ---- writing ---- */

/* Takes ownership of `name`. */
static void checkpoint_add_tensor(struct checkpoint_writer *w, char *name, int rows, int cols,
                                  const real *data) {
    GROW(w->tensor, w->room, w->count + 1);
    struct st_write *t = &w->tensor[w->count++];
    *t = (struct st_write){ .name = name,
                             .type = (enum st_type)ST_REAL,
                             .rank = 2,
                             .shape = { (size_t)rows, (size_t)cols },
                             .data = data };
    if (rows == 1) {
        t->rank = 1;
        t->shape[0] = (size_t)cols;
    }
}

static void checkpoint_add_state(struct checkpoint_writer *w, const struct plan *p, const char *kind,
                                 const real *values) {
    for (int i = 0; i < p->tensors && values; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        checkpoint_add_tensor(w, xprintf("%s/%s", kind, t->name), t->rows, t->cols, values + t->offset);
    }
}

/* Writes the stored parameters; with `all` also those needed only for training. */
static void add_tensors(struct checkpoint_writer *w, const struct plan *p, const real *params,
                        const real *generated, bool all) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (all || t->stored)
            checkpoint_add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols, params + t->offset);
    }
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        if (t->stored) checkpoint_add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols,
                                           generated + t->offset);
    }
}

/* Writes the metadata other than the method. */
struct about {
    const struct run_config *config;
    const struct model *model;
    const char *state, *tasks, *sha256, *origin;
    bool single;
    enum data_kind label_kind;
};

static int train_checkpoint_save(const char *path, struct checkpoint_writer *w, const struct plan *p,
                                 const struct about *x, struct err *e) {
    char tensors[65], *config = config_json(x->config), *canonical = method_canonical(&p->method),
         *method = method_text(&x->config->method);
    bool unlabeled = x->label_kind == DATA_CLASSES && !strcmp(x->tasks, "[]");
    checkpoint_sha256(w, tensors);
    const struct st_pair meta[] = {
        { "petri", "1" },
        { "method", canonical },
        { "method_text", method },
        { "config", config },
        { "state", x->state },
        { "backbone", x->model->name },
        { "backbone_sha256", x->model->sha256 },
        { "weights_sha256", x->sha256 },
        { "tensors_sha256", tensors },
        { x->single ? "labels" : "tasks", x->tasks },
        { "kind", p->meta.on ? "episodes" : unlabeled ? "none" : label_kind_name(x->label_kind) },
        { "origin", x->origin },
    };
    /* multi-task: the kinds are part of "tasks" */
    size_t count = COUNT_OF(meta) - (x->origin ? 0 : 1) - (x->single ? 0 : 1);
    int rc = st_save(path, w->tensor, w->count, meta, count, e);
    for (size_t i = 0; i < w->count; i++) free((char *)(uintptr_t)w->tensor[i].name);
    free(w->tensor);
    free(config);
    free(canonical);
    free(method);
    return rc;
}

int checkpoint_save(struct run *r, int which, struct err *e) {
    struct checkpoint_writer w = { NULL, 0, 0 };
    bool last = which == CHECKPOINT_LAST;
    char *path = which >= 0 ? checkpoint_path_of_task(r->folder, r->of[which].name)
                            : checkpoint_path(r->folder, last);
    char sha256[65], *state = state_json(r), *tasks = checkpoint_tasks_json(r);
    step_make(r);
    run_weights_sha256(r, sha256);
    add_tensors(&w, r->plan, r->values.params, r->values.generated, last);
    if (last) {
        checkpoint_add_state(&w, r->plan, "adam.m", r->values.adam_m);
        checkpoint_add_state(&w, r->plan, "adam.v", r->values.adam_v);
        checkpoint_add_state(&w, r->plan, "budget.mean", r->values.budget_mean);
        checkpoint_add_state(&w, r->plan, "budget.spread", r->values.budget_spread);
    }
    const struct about about = {
        &r->c, r->m, state, tasks, sha256, NULL, run_is_single(r), r->of[0].task->label_kind
    };
    int rc = train_checkpoint_save(path, &w, r->plan, &about, e);
    if (!rc)
        run_send(r, (struct event){ .kind = EVENT_CHECKPOINT,
                                    .task = which >= 0 ? r->of[which].name : NULL,
                                    .best = !last,
                                    .path = path,
                                    .sha256 = sha256 });
    free(path);
    free(state);
    free(tasks);
    return rc;
}

int predictor_save(const struct predictor *p, const struct run_config *c, const char *path, char sha256[65],
                   struct err *e) {
    static const char state[] = "{\"step\":0,\"seconds\":0,\"loss\":null,\"evaluated\":-1,\"worse\":0,"
                                "\"finished\":true,\"best\":null}";
    struct checkpoint_writer w = { NULL, 0, 0 };
    struct buf labels = BUF_INIT;
    BUG_IF(p->plan->tasks != 1);
    for (int i = 0; i < p->plan->generated; i++) BUG_IF(p->plan->generated_tensor[i].stored);
    add_labels(&labels, p->of->label, p->of->labels);
    weights_sha256(p->plan, p->params, sha256);
    add_tensors(&w, p->plan, p->params, NULL, false);
    const struct about about = {
        c, p->m, state, buf_text(&labels), sha256, p->origin, true, p->of->label_kind
    };
    int rc = train_checkpoint_save(path, &w, p->plan, &about, e);
    buf_release(&labels);
    return rc;
}
