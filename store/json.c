/* A run as a JSON object. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/internal.h"

static void add_time(struct buf *b, const char *key, int64_t ms) {
    char text[32];
    text_time(ms, text);
    json_member_string(b, key, *text ? text : NULL);
}

static void json_add_value(struct buf *b, const char *key, const struct store_value *v) {
    if (v->measured) json_member_double(b, key, v->v);
    else json_member_string(b, key, NULL);
}

static void json_add_best(struct buf *b, const struct store_run *r) {
    json_put(b, "best:{metric:%-s", r->metric);
    json_add_value(b, "value", &r->best);
    if (r->best.measured) json_member_int(b, "step", r->best.step);
    else json_member_string(b, "step", NULL);
    json_put(b, "rows:%+jd}", r->examples);
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
    json_put(b, "{text:%-s,fn:%-s,act:%-s,read:%-s,write:%-s,target:%-s,insertion:%-s,composition:%-s",
             m->text, m->fn, m->act, m->read, m->write, m->target, m->insertion, m->composition);
    if (m->has_scale) json_member_double(b, "scale", m->scale);
    else json_member_string(b, "scale", NULL);
    json_put(b,
             "source:%-s,heads:%-s,init:%-s,layers:%-s,size:%+jd,mid:%+jd,dropout:%f,trained:%jd,kept:%jd}",
             m->source, m->heads, m->init, m->layers, m->size, m->mid, m->dropout, m->trained, m->stored);
}

static void json_add_values(struct buf *b, const struct store_run *r) {
    json_open(b, "values", '{');
    for (size_t i = 0; i < r->value_count; i++) {
        const struct store_named_value *v = &r->value[i];
        json_open(b, v->name, '{');
        json_add_value(b, "last", &v->last);
        json_member_int(b, "step", v->last.step);
        if (v->last.undefined) json_put(b, "undefined:%-s", v->last.undefined);
        if (v->best.measured) {
            json_add_value(b, "best", &v->best);
            json_member_int(b, "best_step", v->best.step);
        }
        buf_putc(b, '}');
    }
    buf_putc(b, '}');
}

static void json_add_whole(struct buf *b, const struct store_run *r) {
    json_put(b, "canonical:%-s,model_folder:%-s,model_sha256:%-s,task_folder:%-s,train_file:%-s,"
             "train_sha256:%-s,dev_file:%-s,dev_sha256:%-s,kernel:%-s,folder:%-s,modules:[", r->canonical,
             r->model_folder, r->model_sha256, r->task_folder, r->train_file, r->train_sha256, r->dev_file,
             r->dev_sha256, r->kernel, r->folder);
    for (int i = 0; i < r->module_count; i++) {
        store_json_add_module(b, &r->module[i]);
    }
    buf_putc(b, ']');
    json_add_values(b, r);
    json_member_strings(b, "report", r->report, r->reports);
    if (r->imported) json_put(b, "imported:%-p", r->imported);
    json_put(b, "config:%-p,method_json:%-p", r->config, r->method_json);
}

void store_run_json(const struct store_run *r, struct buf *b) {
    buf_putc(b, '{');
    json_put(b,
             "id:%jd,state:%-s,reason:%-s,method:%-s,preset:%-s,regime:%-s,task:%-s,model:%-s,trained:%jd,"
             "kept:%jd,head:%jd,model_values:%jd,seed:%ju,lr:%f",
             r->id, store_state_name(r->state), r->reason, r->method, r->preset, r->regime, r->task, r->model,
             r->trained, r->stored, r->head, r->model_values, r->seed, r->lr);
    json_add_best(b, r);
    json_add_value(b, "final_loss", &r->loss);
    json_put(b,
             "constant:%i,none_valid:%i,weights_sha256:%-s,step:%jd,steps:%jd,seconds:%f,estimated_seconds:%"
             "g,peak_bytes:%+jd,estimated_bytes:%+jd",
             r->constant, r->none_valid, r->weights_sha256, r->step, r->steps, r->seconds,
             r->estimated_seconds > 0 ? r->estimated_seconds : NAN, r->peak, r->estimated_bytes);
    add_time(b, "created", r->created);
    add_time(b, "started", r->started);
    add_time(b, "ended", r->ended);
    add_time(b, "trashed", r->trashed);
    json_put(b, "parent:%+jd,sweep:%+jd", r->parent, r->sweep);
    add_tags(b, r->tags ? r->tags : "");
    json_put(b, "name:%-s,note:%-s,version:%-s", r->name, r->note, r->version);
    if (r->config) json_add_whole(b, r);
    buf_putc(b, '}');
}
