/* A run as a JSON object. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/internal.h"

static void json_add_text(struct buf *b, const char *key, const char *s) {
    json_member_string(b, key, s && *s ? s : NULL);
}

static void add_id(struct buf *b, const char *key, int64_t v) {
    json_add_key(b, key);
    if (v) buf_printf(b, "%" PRId64, v);
    else buf_puts(b, "null");
}

static void add_time(struct buf *b, const char *key, int64_t ms) {
    char text[32];
    text_time(ms, text);
    json_add_text(b, key, text);
}

static void json_add_value(struct buf *b, const char *key, const struct store_value *v) {
    json_add_key(b, key);
    if (v->measured) json_add_double(b, v->v);
    else buf_puts(b, "null");
}

/* JSON kept in the database goes in as it is. */
static void add_raw(struct buf *b, const char *key, const char *json) {
    json_add_key(b, key);
    buf_puts(b, json && *json ? json : "null");
}

static void json_add_best(struct buf *b, const struct store_run *r) {
    json_open(b, "best", '{');
    json_add_text(b, "metric", r->metric);
    json_add_value(b, "value", &r->best);
    json_add_key(b, "step");
    if (r->best.measured) buf_printf(b, "%" PRId64, r->best.step);
    else buf_puts(b, "null");
    add_id(b, "rows", r->rows);
    buf_putc(b, '}');
}

static void add_tags(struct buf *b, const char *tags) {
    json_open(b, "tags", '[');
    for (const char *at = tags; *at;) {
        const char *end = strstr(at, ", ");
        char *tag = end ? xstrndup(at, (size_t)(end - at)) : xstrdup(at);
        if (at != tags) buf_putc(b, ',');
        json_add_string(b, tag);
        free(tag);
        at = end ? end + 2 : at + strlen(at);
    }
    buf_putc(b, ']');
}

static void store_json_add_module(struct buf *b, const struct store_module *m) {
    buf_putc(b, '{');
    json_add_text(b, "text", m->text);
    json_add_text(b, "fn", m->fn);
    json_add_text(b, "act", m->act);
    json_add_text(b, "read", m->read);
    json_add_text(b, "write", m->write);
    json_add_text(b, "target", m->target);
    json_add_text(b, "insertion", m->insertion);
    json_add_text(b, "composition", m->composition);
    json_add_key(b, "scale");
    if (m->has_scale) json_add_double(b, m->scale);
    else buf_puts(b, "null");
    json_add_text(b, "source", m->source);
    json_add_text(b, "heads", m->heads);
    json_add_text(b, "init", m->init);
    json_add_text(b, "layers", m->layers);
    add_id(b, "size", m->size);
    add_id(b, "mid", m->mid);
    json_add_key(b, "dropout");
    json_add_double(b, m->dropout);
    json_member_int(b, "trained", m->trained);
    json_member_int(b, "kept", m->kept);
    buf_putc(b, '}');
}

static void json_add_values(struct buf *b, const struct store_run *r) {
    json_open(b, "values", '{');
    for (size_t i = 0; i < r->value_count; i++) {
        const struct store_named_value *v = &r->value[i];
        json_open(b, v->name, '{');
        json_add_value(b, "last", &v->last);
        json_member_int(b, "step", v->last.step);
        if (v->last.undefined) json_add_text(b, "undefined", v->last.undefined);
        if (v->best.measured) {
            json_add_value(b, "best", &v->best);
            json_member_int(b, "best_step", v->best.step);
        }
        buf_putc(b, '}');
    }
    buf_putc(b, '}');
}

static void json_add_whole(struct buf *b, const struct store_run *r) {
    json_add_text(b, "canonical", r->canonical);
    json_add_text(b, "model_folder", r->model_folder);
    json_add_text(b, "model_sha256", r->model_sha256);
    json_add_text(b, "task_folder", r->task_folder);
    json_add_text(b, "train_file", r->train_file);
    json_add_text(b, "train_sha256", r->train_sha256);
    json_add_text(b, "dev_file", r->dev_file);
    json_add_text(b, "dev_sha256", r->dev_sha256);
    json_add_text(b, "kernel", r->kernel);
    json_add_text(b, "folder", r->folder);
    json_open(b, "modules", '[');
    for (int i = 0; i < r->module_count; i++) {
        if (i) buf_putc(b, ',');
        store_json_add_module(b, &r->module[i]);
    }
    buf_putc(b, ']');
    json_add_values(b, r);
    json_member_strings(b, "report", r->report, r->reports);
    if (r->imported) add_raw(b, "imported", r->imported);
    add_raw(b, "config", r->config);
    add_raw(b, "method_json", r->method_json);
}

void store_run_json(const struct store_run *r, struct buf *b) {
    buf_putc(b, '{');
    json_add_key(b, "id");
    buf_printf(b, "%" PRId64, r->id);
    json_add_text(b, "state", store_state_name(r->state));
    json_add_text(b, "reason", r->reason);
    json_add_text(b, "method", r->method);
    json_add_text(b, "preset", r->preset);
    json_add_text(b, "regime", r->regime);
    json_add_text(b, "task", r->task);
    json_add_text(b, "model", r->model);
    json_member_int(b, "trained", r->trained);
    json_member_int(b, "kept", r->kept);
    json_member_int(b, "head", r->head);
    json_member_int(b, "model_values", r->model_values);
    json_add_key(b, "seed");
    buf_printf(b, "%" PRIu64, r->seed);
    json_member_double(b, "lr", r->lr);
    json_add_best(b, r);
    json_add_value(b, "final_loss", &r->loss);
    json_member_bool(b, "constant", r->constant);
    json_member_bool(b, "none_valid", r->none_valid);
    json_add_text(b, "weights_sha256", r->weights_sha256);
    json_member_int(b, "step", r->step);
    json_member_int(b, "steps", r->steps);
    json_add_key(b, "seconds");
    json_add_double(b, r->seconds);
    if (r->estimated_seconds > 0) json_member_double(b, "estimated_seconds", r->estimated_seconds);
    else json_member_string(b, "estimated_seconds", NULL);
    add_id(b, "peak_bytes", r->peak);
    add_id(b, "estimated_bytes", r->estimated_bytes);
    add_time(b, "created", r->created);
    add_time(b, "started", r->started);
    add_time(b, "ended", r->ended);
    add_time(b, "trashed", r->trashed);
    add_id(b, "parent", r->parent);
    add_id(b, "sweep", r->sweep);
    add_tags(b, r->tags ? r->tags : "");
    json_add_text(b, "name", r->name);
    json_add_text(b, "note", r->note);
    json_add_text(b, "version", r->version);
    if (r->config) json_add_whole(b, r);
    buf_putc(b, '}');
}
