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

static char *state_json(const struct run *r) {
    struct buf b = BUF_INIT;
    bool done = (r->step >= r->c.steps || r->early) && !evaluation_due(r) && !watch_due(r);
    buf_printf(&b, "{\"step\":%lld,\"seconds\":", (long long)r->step);
    json_add_double(&b, run_seconds(r));
    buf_puts(&b, ",\"loss\":");
    json_add_double(&b, r->loss);
    buf_printf(&b, ",\"evaluated\":%lld,\"worse\":%d,\"finished\":%s,\"best\":",
               (long long)r->evaluated, r->worse, done ? "true" : "false");
    if (r->best.has) {
        buf_printf(&b, "{\"metric\":\"%s\",\"step\":%lld,\"value\":", metric_name(r->metric),
                   (long long)r->best.step);
        json_add_double(&b, r->best.value);
        buf_puts(&b, "}}");
    } else {
        buf_puts(&b, "null}");
    }
    return buf_take(&b);
}

static char *labels_json(const struct task *t) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '[');
    for (int i = 0; i < t->classes; i++) {
        if (i) buf_putc(&b, ',');
        json_add_string(&b, t->class_name[i]);
    }
    buf_putc(&b, ']');
    return buf_take(&b);
}

static const char *gold_name(enum data_kind gold) {
    return gold == DATA_TEXT ? "text" : gold == DATA_REGRESSION ? "scores" : "classes";
}

/* ---- writing ---- */

struct writer {
    struct st_write *tensor;
    size_t count, room;
};

/* `name` is taken over. */
static void add_tensor(struct writer *w, char *name, int rows, int cols, const real *data) {
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

static void add_state(struct writer *w, const struct plan *p, const char *kind,
                      const real *values) {
    for (int i = 0; i < p->tensors && values; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        add_tensor(w, xprintf("%s/%s", kind, t->name), t->rows, t->cols, values + t->offset);
    }
}

static void add_tensors(struct writer *w, const struct run *r, bool last) {
    const struct plan *p = r->plan;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (last || t->kept)
            add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols, r->params + t->offset);
    }
    for (int i = 0; i < p->made; i++) {
        const struct plan_made *t = &p->made_tensor[i];
        add_tensor(w, xprintf("param/%s", t->name), t->rows, t->cols, r->made + t->offset);
    }
    if (!last) return;
    add_state(w, p, "adam.m", r->adam_m);
    add_state(w, p, "adam.v", r->adam_v);
}

int checkpoint_save(struct run *r, bool last, struct err *e) {
    struct writer w = { NULL, 0, 0 };
    char sha256[65], *path = checkpoint_path(r->folder, last), *config = config_json(&r->c);
    char *canonical = method_canonical(&r->plan->method), *method = method_text(&r->c.method), *state = state_json(r);
    char *labels = labels_json(r->task);
    step_make(r);
    run_weights_sha256(r, sha256);
    const struct st_pair meta[] = {
        { "petri", "1" },
        { "method", canonical },
        { "method_text", method },
        { "config", config },
        { "state", state },
        { "labels", labels },
        { "kind", gold_name(r->task->gold) },
        { "backbone", r->m->name },
        { "backbone_sha256", r->m->sha256 },
        { "weights_sha256", sha256 },
    };
    add_tensors(&w, r, last);
    int rc = st_save(path, w.tensor, w.count, meta, COUNT_OF(meta), e);
    if (!rc)
        run_send(r, (struct event){
                        .kind = EVENT_CHECKPOINT, .best = !last, .path = path, .sha256 = sha256 });
    for (size_t i = 0; i < w.count; i++) free((char *)(uintptr_t)w.tensor[i].name);
    free(w.tensor);
    free(path);
    free(config);
    free(canonical);
    free(method);
    free(state);
    free(labels);
    return rc;
}
