#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/facts.h"
#include "core/train/run/checkpoint.h"

static const char *meta(const struct checkpoint *c, const char *key, struct err *e) {
    const char *s = st_meta(c->file, key);
    if (!s)
        err_set(e, ERR_INPUT, "%s: not a checkpoint of petri: its metadata has no \"%s\"", c->path,
                key);
    return s;
}

static int checkpoint_read_wrong(const struct checkpoint *c, const char *key, struct err *e) {
    return err_set(e, ERR_INPUT, "%s: damaged metadata: invalid \"%s\"", c->path, key);
}

static int read_best(const struct checkpoint *c, const json_t *o, struct best *best, struct err *e) {
    json_int_t step = 0;
    if (!json_is_object(o)) return 0;
    if (!json_get_double(o, c->path, "value", &best->value, e) ||
        !json_get_int(o, c->path, "step", &step, e))
        return checkpoint_read_wrong(c, "state", e);
    best->has = true;
    best->step = step;
    return 0;
}

static int read_bests(struct checkpoint *c, const json_t *o, struct err *e) {
    int rc = read_best(c, json_object_get(o, "best"), &c->best, e);
    const json_t *list = json_object_get(o, "tasks");
    for (int i = 0; i < c->tasks && list && !rc; i++)
        rc = read_best(c, json_array_get(list, (size_t)i), &c->task[i].best, e);
    return rc;
}

static int checkpoint_read_state(struct checkpoint *c, struct err *e) {
    const char *s = meta(c, "state", e);
    if (!s) return e->code;
    json_t *o = json_parse(c->path, s, strlen(s), e);
    if (!o) return e->code;
    json_int_t step = -1, evaluated = -1, worse = 0, stage = 0;
    bool good = json_is_object(o) && json_get_int(o, c->path, "step", &step, e) &&
                json_get_int(o, c->path, "evaluated", &evaluated, e) &&
                json_get_int(o, c->path, "worse", &worse, e) &&
                json_get_double(o, c->path, "seconds", &c->seconds, e) &&
                json_get_bool(o, c->path, "finished", &c->finished, e);
    if (good && json_object_get(o, "stage")) good = json_get_int(o, c->path, "stage", &stage, e);
    good = good && stage >= 0 && stage < STAGES_MOST && step >= 0 && evaluated <= step && evaluated >= -1 &&
           worse >= 0 && worse <= INT32_MAX && c->seconds >= 0;
    json_t *loss = good ? json_object_get(o, "loss") : NULL;
    if (json_is_number(loss)) c->loss = json_number_value(loss);
    int rc = good ? read_bests(c, o, e) : checkpoint_read_wrong(c, "state", e);
    json_decref(o);
    c->step = step;
    c->evaluated = evaluated;
    c->worse = (int)worse;
    c->stage = (int)stage;
    return rc;
}

/* Returns the kind of the labels of a task. */
static int read_task(const struct checkpoint *c, struct checkpoint_task *t, const char *kind,
                     const json_t *list, struct err *e) {
    size_t i;
    json_t *item;
    bool episodes = !strcmp(kind, "episodes") ||
                    !strcmp(kind, "none"); /* classes of episodes, or without a head */
    if (episodes || !strcmp(kind, "classes")) t->label_kind = DATA_CLASSES;
    else if (!strcmp(kind, "scores")) t->label_kind = DATA_REGRESSION;
    else if (!strcmp(kind, "text") && c->config.form == FORM_TEXT) t->label_kind = DATA_TEXT;
    else if (!strcmp(kind, "masked")) t->label_kind = DATA_MASKED;
    else return checkpoint_read_wrong(c, "kind", e);
    if (!json_is_array(list) || (json_array_size(list) > 0) != (t->label_kind == DATA_CLASSES && !episodes))
        return checkpoint_read_wrong(c, "labels", e);
    t->label = xcalloc(json_array_size(list) + 1, sizeof *t->label);
    json_array_foreach(list, i, item) {
        if (!json_is_string(item)) return checkpoint_read_wrong(c, "labels", e);
        t->label[t->labels++] = xstrdup(json_string_value(item));
    }
    return 0;
}

static int read_one_task(struct checkpoint *c, struct err *e) {
    const char *s = meta(c, "labels", e), *kind = meta(c, "kind", e);
    if (!s || !kind) return e->code;
    json_t *list = json_parse(c->path, s, strlen(s), e);
    if (!list) return e->code;
    c->tasks = 1;
    c->task = xcalloc(1, sizeof *c->task);
    c->task[0].name = xstrdup("");
    int rc = read_task(c, &c->task[0], kind, list, e);
    json_decref(list);
    return rc;
}

static int checkpoint_read_tasks(struct checkpoint *c, struct err *e) {
    const char *s = st_meta(c->file, "tasks");
    if (!s) return read_one_task(c, e);
    json_t *list = json_parse(c->path, s, strlen(s), e), *item;
    if (!list) return e->code;
    size_t i, n = json_is_array(list) ? json_array_size(list) : 0;
    int rc = n == (size_t)c->config.tasks && n > 1 ? 0 : checkpoint_read_wrong(c, "tasks", e);
    if (!rc) c->task = xcalloc(n, sizeof *c->task);
    json_array_foreach(list, i, item) {
        const char *name = json_string_value(json_object_get(item, "name"));
        const char *kind = json_string_value(json_object_get(item, "kind"));
        if (rc) break;
        if (!name || !kind || strcmp(name, c->config.of[i].task_name)) {
            rc = checkpoint_read_wrong(c, "tasks", e);
            break;
        }
        struct checkpoint_task *t = &c->task[c->tasks++];
        t->name = xstrdup(name);
        rc = read_task(c, t, kind, json_object_get(item, "labels"), e);
    }
    json_decref(list);
    return rc;
}

static int checkpoint_read_meta(struct checkpoint *c, struct err *e) {
    const char *format = meta(c, "petri", e), *method, *config;
    if (!format) return e->code;
    if (strcmp(format, "1")) {
        char *shown = text_visible(format, strlen(format));
        err_set(e, ERR_INPUT, "%s: unsupported checkpoint format: %s; this version of petri reads format 1",
                c->path, shown);
        free(shown);
        return e->code;
    }
    if (!(method = meta(c, "method", e)) || !(config = meta(c, "config", e))) return e->code;
    if (method_parse(method, &c->method, e)) return err_prefix(e, "%s", c->path);
    if (config_from_json(config, strlen(config), &c->config, e))
        return err_prefix(e, "%s", c->path);
    if (checkpoint_read_tasks(c, e)) return e->code;
    return checkpoint_read_state(c, e);
}

static int check_bytes(const struct st_file *f, const char *path, struct err *e) {
    const char *said = st_meta(f, "tensors_sha256");
    char found[65];
    if (!said) return 0; /* an older version that did not record it */
    int rc = st_data_sha256(f, found, e);
    if (rc || !strcmp(said, found)) return rc;
    return err_set(
        e, ERR_INPUT,
        "%s: damaged: the SHA-256 of the tensors is %.12s\u2026 instead of %.12s\u2026",
        path, found, said);
}

int checkpoint_verify(const char *path, struct err *e) {
    struct st_file *f = st_open(path, e);
    if (!f) return e->code;
    int rc = check_bytes(f, path, e);
    st_close(f);
    return rc;
}

int checkpoint_open(struct checkpoint *c, const char *path, struct err *e) {
    *c = (struct checkpoint){ .path = xstrdup(path) };
    c->file = st_open(path, e);
    int rc = c->file ? checkpoint_read_meta(c, e) : e->code;
    if (!rc) rc = check_bytes(c->file, path, e);
    if (rc) checkpoint_close(c);
    return rc;
}

void checkpoint_close(struct checkpoint *c) {
    for (int k = 0; k < c->tasks; k++) {
        for (int i = 0; i < c->task[k].labels; i++) free(c->task[k].label[i]);
        free(c->task[k].label);
        free(c->task[k].name);
    }
    free(c->task);
    config_release(&c->config);
    if (c->file) st_close(c->file);
    free(c->path);
    *c = (struct checkpoint){ 0 };
}

int checkpoint_is_of(const struct checkpoint *c, const struct model *m, struct err *e) {
    const char *sha256 = st_meta(c->file, "backbone_sha256"), *backbone = st_meta(c->file, "backbone");
    const char *facts = c->config.model_facts;
    if (!sha256 || strcmp(sha256, m->sha256))
        return err_set(e, ERR_INPUT,
                       "%s: trained on a different backbone: %.64s (SHA-256 %.12s…) instead of %s (%.12s…)",
                       c->path,
                       backbone ? backbone : "unnamed", sha256 ? sha256 : "not given", m->folder, m->sha256);
    return facts ? facts_check(m, facts, "the run was trained", e) : 0;
}

/* ---- tensors ---- */

static int read_tensor(const struct checkpoint *c, const char *kind, const char *name, int rows,
                       int cols, real *out, size_t *read, struct err *e) {
    char *full = xprintf("%s/%s", kind, name);
    const struct st_tensor *t = st_find(c->file, full);
    size_t first = rows == 1 ? (size_t)cols : (size_t)rows;
    int rc;
    if (!t) rc = err_set(e, ERR_INPUT, "%s: tensor \"%s\" is missing", c->path, full);
    else if (t->rank != (rows == 1 ? 1 : 2) || t->shape[0] != first ||
             (rows != 1 && t->shape[1] != (size_t)cols))
        rc = err_set(e, ERR_INPUT, "%s: tensor \"%s\": wrong shape; the method requires %d × %d",
                     c->path, full, rows, cols);
    else rc = st_read(c->file, t, out, e);
    if (!rc) ++*read;
    free(full);
    return rc;
}

static int read_block(const struct checkpoint *c, const struct plan *p, const char *kind, bool all,
                      real *out, size_t *read, struct err *e) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        /* tensors needed only for training are only in the last checkpoint */
        char *full = xprintf("%s/%s", kind, t->name);
        bool there = st_find(c->file, full) != NULL;
        free(full);
        if (!all && !t->stored && !there) continue;
        if (read_tensor(c, kind, t->name, t->rows, t->cols, out + t->offset, read, e))
            return e->code;
    }
    return 0;
}

/* Refuses a tensor that the method does not have. */
static int refuse_unexpected(const struct checkpoint *c, const struct plan *p, struct err *e) {
    for (size_t i = 0; i < st_count(c->file); i++) {
        const char *name = st_at(c->file, i)->name, *slash = strchr(name, '/');
        bool known = false;
        for (int j = 0; j < p->tensors && slash && !known; j++)
            known = !strcmp(slash + 1, p->tensor[j].name);
        for (int j = 0; j < p->generated && slash && !known; j++)
            known = !strcmp(slash + 1, p->generated_tensor[j].name);
        known = known &&
                (text_starts(name, "param/") || text_starts(name, "adam.m/") ||
                 text_starts(name, "adam.v/") || (p->method.budget.on && text_starts(name, "budget.")));
        if (known) continue;
        char *shown = text_visible(name, strlen(name));
        err_set(e, ERR_INPUT, "%s: unexpected tensor \"%s\": not part of the method", c->path, shown);
        free(shown);
        return e->code;
    }
    return 0;
}

int checkpoint_read(const struct checkpoint *c, const struct plan *p, bool training, real *params,
                    real *generated, real *adam_m, real *adam_v, struct err *e) {
    size_t read = 0;
    if (refuse_unexpected(c, p, e)) return e->code;
    if (read_block(c, p, "param", training, params, &read, e)) return e->code;
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        if (!t->stored) continue;
        if (read_tensor(c, "param", t->name, t->rows, t->cols, generated + t->offset, &read, e))
            return e->code;
    }
    if (training && adam_m && read_block(c, p, "adam.m", true, adam_m, &read, e)) return e->code;
    if (training && adam_v && read_block(c, p, "adam.v", true, adam_v, &read, e)) return e->code;
    if (p->method.budget.on) read += 2 * (size_t)p->tensors; /* read by checkpoint_read_budget */
    if (training && read != st_count(c->file))
        return err_set(e, ERR_INPUT, "%s: cannot be resumed: %zu tensors found, %zu expected", c->path,
                       st_count(c->file), read);
    return 0;
}

int checkpoint_read_budget(const struct checkpoint *c, const struct plan *p, real *mean, real *spread,
                           struct err *e) {
    size_t read = 0;
    if (mean && read_block(c, p, "budget.mean", true, mean, &read, e)) return e->code;
    return spread ? read_block(c, p, "budget.spread", true, spread, &read, e) : 0;
}
