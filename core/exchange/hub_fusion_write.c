/* Writes a fusion run as AdapterHub folders: the fusion's maps and head, and a subfolder per adapter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/exchange/export.h"
#include "core/exchange/hub.h"
#include "core/exchange/hub_writer.h"
#include "core/method/slots.h"

struct hub_fusion {
    struct predictor *p;
    const struct plan *plan;
    const char *base, *folder;
    struct hub_parts parts;
    json_t *came;                  /* configs stored at import (hub_fusion.c), or NULL */
    char *name[METHOD_MODULES];    /* of the adapters */
    char *below[METHOD_MODULES];   /* their folders */
    char *joined;                  /* "a,b" */
};

/* ---- adapters ---- */

static bool share_a_place(const struct module *x, const struct module *y, const struct arch *a) {
    struct span s[SPANS];
    int n = x->write == y->write ? module_spans(x, a, s) : 0;
    for (int k = 0; k < n; k++)
        for (int layer = s[k].first; layer < s[k].end; layer++)
            if (module_covers(y, a, s[k].stack, s[k].site, layer)) return true;
    return false;
}

/* Assigns a module to the adapter of its run; without run ids, to the first adapter without a module at its
 * places. */
static void parts_of(const struct method *m, const struct arch *a, struct hub_parts *out) {
    int run[METHOD_MODULES], runs = method_runs(m, run);
    *out = (struct hub_parts){ .count = runs };
    for (int i = 0; i < m->count; i++) {
        int part = 0;
        out->of[i] = -1;
        if (m->module[i].source != SOURCE_FUSION) continue;
        if (m->module[i].from_run) {
            while (run[part] != m->module[i].from_run) part++;
        } else {
            for (int k = 0; k < i; k++)
                if (out->of[k] == part && share_a_place(&m->module[k], &m->module[i], a)) part++, k = -1;
        }
        out->of[i] = part;
        if (part >= out->count) out->count = part + 1;
    }
}

static int check_rest(const struct hub_fusion *x, struct err *e) {
    const struct method *m = &x->plan->method;
    for (int i = 0; i < m->count; i++)
        if (x->parts.of[i] < 0)
            return err_set(e, ERR_USAGE,
                           "cannot be written for AdapterHub: module %d is not fused, and AdapterHub "
                           "cannot combine it with a fusion; use --to petri",
                           i + 1);
    return 0;
}

/* ---- names ---- */

static const char *came_text(const struct hub_fusion *x, int part) {
    return json_string_value(json_array_get(json_object_get(x->came, "adapters"), (size_t)part));
}

/* Returns the name of an adapter: that of its import, or of its run. */
static char *name_of(const struct hub_fusion *x, int part) {
    const char *text = came_text(x, part);
    json_t *config = text ? json_loads(text, 0, NULL) : NULL;
    const char *own = json_string_value(json_object_get(config, "name"));
    char *name = own && file_name_is_safe(own) ? xstrdup(own) : NULL;
    json_decref(config);
    for (int i = 0; !name && i < x->plan->method.count; i++)
        if (x->parts.of[i] == part && x->plan->method.module[i].from_run)
            name = xprintf("run%d", x->plan->method.module[i].from_run);
    return name ? name : xprintf("adapter%d", part + 1);
}

static void name_all(struct hub_fusion *x) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < x->parts.count; i++) {
        x->name[i] = name_of(x, i);
        x->below[i] = file_join(x->folder, x->name[i]);
        buf_printf(&b, "%s%s", i ? "," : "", x->name[i]);
    }
    x->joined = buf_take(&b);
}

/* ---- files ---- */

static int write_maps(const struct hub_fusion *x, const char *path, struct err *e) {
    struct adapter_writing to = { 0 };
    const struct model *m = predictor_model(x->p);
    for (int i = 0; i < x->plan->tensors; i++) {
        const struct plan_tensor *t = &x->plan->tensor[i];
        const struct file_part *p = hub_fusion_parts;
        while (p->name && (t->kind != PLAN_NETWORK || (int)p->slot != t->role)) p++;
        if (!p->name) continue;
        char *place = hub_place(m, (enum tap)t->place, t->stack, t->site, t->layer);
        writing_part(&to, xprintf("%s.adapter_fusion_layer.%s.%s", place, x->joined, p->name), p, t,
                     predictor_params(x->p), 0);
        free(place);
    }
    int rc = writing_order(&to, "AdapterHub", e);
    if (!rc) rc = st_save(path, to.tensor, to.tensors, NULL, 0, e);
    writing_release(&to);
    return rc;
}

static json_t *fusion_config(const struct fusion *f) {
    json_t *c = json_loads(hub_usual_fusion, 0, NULL);
    json_object_update_new(c, json_pack("{s:b,s:b,s:b,s:b,s:b,s:b,s:b}", "key", f->key, "query", f->query,
                                        "query_before_ln", f->of == FUSION_OF_WRITTEN, "regularization",
                                        f->weight > 0, "residual_before", f->residual == FUSION_INSIDE,
                                        "value", f->value, "value_initialized", f->start == FUSION_IDENTITY));
    return c;
}

static int hub_fusion_write_config(const struct hub_fusion *x, const struct hub_job *job, const char *path,
                                   struct err *e) {
    const char *came = json_string_value(json_object_get(x->came, "fusion"));
    char *text = came ? xstrdup(came)
                      : hub_writer_wrapped(job, fusion_config(&x->plan->method.fusion),
                                           (const char *const *)x->name, x->parts.count);
    int rc = file_write(path, text, strlen(text), e);
    free(text);
    return rc;
}

static const char *const fusion_files[] = { "adapter_fusion_config.json", "model_adapter_fusion.safetensors",
                                            "head_config.json", "model_head.safetensors", NULL };
static const char *const part_files[] = { "adapter_config.json", "adapter.safetensors", NULL };

static int write_all(const struct hub_fusion *x, struct err *e) {
    const char *head = json_string_value(json_object_get(x->came, "head"));
    const struct hub_job whole = { .p = x->p, .name = x->joined, .base = x->base };
    const struct hub_job of_head = { .p = x->p, .name = head ? head : x->joined, .base = x->base };
    char *config = file_join(x->folder, fusion_files[0]), *maps = file_join(x->folder, fusion_files[1]);
    int rc = 0;
    for (int i = 0; !rc && i < x->parts.count; i++) {
        const struct hub_job job = {
            .p = x->p, .name = x->name[i], .base = x->base, .parts = &x->parts, .part = i
        };
        rc = file_make_folder(x->below[i], e);
        if (!rc) rc = hub_writer_adapter(&job, came_text(x, i), x->below[i], e);
    }
    if (!rc) rc = write_maps(x, maps, e);
    if (!rc) rc = hub_writer_head(&of_head, x->folder, e);
    if (!rc) rc = hub_fusion_write_config(x, &whole, config, e);
    free(config);
    free(maps);
    return rc;
}

int hub_export_fusion(struct predictor *p, const char *base, const char *folder, struct err *e) {
    const char *origin = predictor_origin(p);
    json_t *came = origin ? json_loads(origin, 0, NULL) : NULL;
    struct hub_fusion x = { .p = p, .plan = predictor_plan(p), .base = base, .folder = folder };
    if (json_is_string(json_object_get(came, "fusion"))) x.came = came;
    parts_of(&x.plan->method, &predictor_model(p)->arch, &x.parts);
    int rc = check_rest(&x, e);
    if (!rc) rc = export_folder(folder, e);
    if (!rc) {
        name_all(&x);
        rc = write_all(&x, e);
        for (int i = 0; rc && i < x.parts.count; i++) export_undo(x.below[i], part_files);
        if (rc) export_undo(folder, fusion_files);
    }
    for (int i = 0; i < x.parts.count; i++) {
        free(x.name[i]);
        free(x.below[i]);
    }
    free(x.joined);
    json_decref(came);
    return rc;
}
