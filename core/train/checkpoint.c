#include "core/train/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"

enum { ST_REAL = REAL_IS_DOUBLE ? ST_F64 : ST_F32 };

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

void run_weights_sha256(const struct run *r, char out[65]) {
    struct sha256 *h = sha256_start();
    for (int i = 0; i < r->plan->tensors; i++) {
        const struct plan_tensor *t = &r->plan->tensor[i];
        hash_tensor(h, t->name, t->rows, t->cols, r->params + t->offset);
    }
    sha256_finish(h, out);
}

/* ---- what is said in the metadata ---- */

static void add_best(struct buf *b, const struct best *best, const char *metric) {
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
    bool done = (r->step >= r->c.steps || r->early) && !evaluation_due(r) && !watch_due(r) &&
                !test_due(r);
    buf_printf(&b, "{\"step\":%lld,\"seconds\":", (long long)r->step);
    json_add_double(&b, run_seconds(r));
    buf_puts(&b, ",\"loss\":");
    json_add_double(&b, r->loss);
    buf_printf(&b, ",\"evaluated\":%lld,\"worse\":%d,\"finished\":%s,\"best\":",
               (long long)r->evaluated, r->worse, done ? "true" : "false");
    add_best(&b, &r->best, r->c.metric);
    if (!run_is_single(r)) {
        buf_puts(&b, ",\"tasks\":[");
        for (int i = 0; i < r->tasks; i++) {
            if (i) buf_putc(&b, ',');
            add_best(&b, &r->of[i].best, metric_name(r->of[i].metric));
        }
        buf_putc(&b, ']');
    }
    buf_putc(&b, '}');
    return buf_take(&b);
}

static void add_labels(struct buf *b, const struct task *t) {
    buf_putc(b, '[');
    for (int i = 0; i < t->classes; i++) {
        if (i) buf_putc(b, ',');
        json_add_string(b, t->class_name[i]);
    }
    buf_putc(b, ']');
}

static const char *gold_name(enum data_kind gold) {
    return gold == DATA_TEXT ? "text" : gold == DATA_REGRESSION ? "scores" : "classes";
}

static char *tasks_json(const struct run *r) {
    struct buf b = BUF_INIT;
    if (run_is_single(r)) {
        add_labels(&b, r->of[0].task);
        return buf_take(&b);
    }
    buf_putc(&b, '[');
    for (int i = 0; i < r->tasks; i++) {
        buf_puts(&b, i ? ",{\"name\":" : "{\"name\":");
        json_add_string(&b, r->of[i].name);
        buf_printf(&b, ",\"kind\":\"%s\",\"labels\":", gold_name(r->of[i].task->gold));
        add_labels(&b, r->of[i].task);
        buf_putc(&b, '}');
    }
    buf_putc(&b, ']');
    return buf_take(&b);
}

/* ---- writing ---- */

struct checkpoint_writer {
    struct st_write *tensor;
    size_t count, room;
};

/* `name` is taken over. */
static void add_tensor(struct checkpoint_writer *w, char *name, int rows, int cols, const real *data) {
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

static void add_state(struct checkpoint_writer *w, const struct plan *p, const char *kind,
                      const real *values) {
    for (int i = 0; i < p->tensors && values; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        add_tensor(w, xprintf("%s/%s", kind, t->name), t->rows, t->cols, values + t->offset);
    }
}

static void add_tensors(struct checkpoint_writer *w, const struct run *r, bool last) {
    const struct plan *p = r->plan;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (last || t->kept)
            add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols, r->params + t->offset);
    }
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *t = &p->made_tensor[i];
        if (t->kept) add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols, r->made + t->offset);
    }
    if (!last) return;
    add_state(w, p, "adam.m", r->adam_m);
    add_state(w, p, "adam.v", r->adam_v);
}

int checkpoint_save(struct run *r, int which, struct err *e) {
    struct checkpoint_writer w = { NULL, 0, 0 };
    bool last = which == CHECKPOINT_LAST, single = run_is_single(r);
    char *path = which >= 0 ? checkpoint_path_of_task(r->folder, r->of[which].name) : checkpoint_path(r->folder, last);
    char sha256[65], *config = config_json(&r->c);
    char *canonical = method_canonical(&r->plan->method), *method = method_text(&r->c.method), *state = state_json(r);
    char *tasks = tasks_json(r);
    step_make(r);
    run_weights_sha256(r, sha256);
    const struct st_pair meta[] = {
        { "petri", "1" },
        { "method", canonical },
        { "method_text", method },
        { "config", config },
        { "state", state },
        { "backbone", r->m->name },
        { "backbone_sha256", r->m->sha256 },
        { "weights_sha256", sha256 },
        { single ? "labels" : "tasks", tasks },
        { "kind", gold_name(r->of[0].task->gold) },
    };
    size_t count = COUNT_OF(meta) - (single ? 0 : 1); /* the kinds of several stand with them */
    add_tensors(&w, r, last);
    int rc = st_save(path, w.tensor, w.count, meta, count, e);
    if (!rc)
        run_send(r, (struct event){
                        .kind = EVENT_CHECKPOINT, .task = which >= 0 ? r->of[which].name : NULL, .best = !last,
                        .path = path, .sha256 = sha256 });
    for (size_t i = 0; i < w.count; i++) free((char *)(uintptr_t)w.tensor[i].name);
    free(w.tensor);
    free(path);
    free(config);
    free(canonical);
    free(method);
    free(state);
    free(tasks);
    return rc;
}
