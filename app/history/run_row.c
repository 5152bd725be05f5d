#include "app/history/run_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/metrics.h"
#include "core/data/task.h"
#include "core/engine/blas.h"
#include "core/engine/dnnl.h"
#include "core/method/functions.h"
#include "core/method/keys.h"
#include "core/train/config/regime.h"
#include "views/ui_parts.h"

/* Converts each module to a record of the database. */
static void fill_module(struct store_module *row, const struct method *method, int i,
                        const struct plan *p, char layers[KEY_TEXT], char **text) {
    struct module own = method->module[i];
    const struct module *m = &own;
    module_normalize(&own);
    struct method single = { .count = 1, .module = { *m } };
    *text = method_canonical(&single);
    int64_t trained = 0, kept = 0;
    for (int k = 0; k < p->tensors; k++) {
        if (p->tensor[k].module != i) continue;
        if (!p->tensor[k].frozen) trained += (int64_t)p->tensor[k].count;
        if (p->tensor[k].stored) kept += (int64_t)p->tensor[k].count;
    }
    for (int k = 0; k < p->generated; k++)
        if (p->generated_tensor[k].module == i) kept += (int64_t)p->generated_tensor[k].count;
    key_layers_text(m, layers);
    *row = (struct store_module){
        .text = *text, .fn = fn_name(m->fn),
        .act = module_takes(m, TAKES_ACT) ? method_act_name(m->act) : NULL,
        .read = m->read ? tap_name(m->read) : NULL, .write = m->write ? tap_name(m->write) : NULL,
        .insertion = module_insertion(m),
        .composition = comp_name(m->comp), .source = source_name(m->source),
        .heads = heads_name(m->heads),
        .init = m->from_run ? "run" : module_takes(m, TAKES_INIT) ? init_name(m->init) : NULL,
        .target = module_in_weight(m) ? target_name(m->target) : NULL,
        .layers = layers, .size = m->size, .mid = m->mid, .scale = m->scale,
        .dropout = m->dropout, .has_scale = m->comp == COMP_SCALED || m->comp == COMP_LEARNED,
        .trained = trained, .stored = kept,
    };
}

static int direction_of(const struct run_config *c) {
    if (c->tasks || config_is_meta(c)) return 1;
    int metric = c->metric ? metric_find(c->metric) : -1;
    return metric < 0 ? 0 : metric_direction((enum metric_id)metric);
}

/* Returns the description's JSON with its additional members; caller frees. */
static char *whole_config(const struct run_config *c, const char *more) {
    struct buf b = BUF_INIT;
    char *config = config_json(c);
    if (!more) return config;
    buf_puts(&b, config);
    free(config);
    b.data[--b.size] = '\0'; /* the closing brace */
    buf_printf(&b, ",%s}", more);
    return buf_take(&b);
}

/* Returns the import reports of all splits as *n texts, owned by the caller. */
static char **reports_of(const struct run_config *c, const struct run_tasks *t, int *n) {
    char **report = xcalloc((size_t)(t ? t->count : 0) * TASK_SPLITS + 1, sizeof *report);
    *n = 0;
    for (int i = 0; t && i < t->count; i++) {
        struct dataset *split[TASK_SPLITS];
        const char *name[TASK_SPLITS];
        int splits = task_splits(t->task[i], split, name);
        for (int k = 0; k < splits; k++) {
            struct buf b = BUF_INIT;
            if (c->tasks) text_line(&b, "task %s", config_task_name(c, i));
            report_text(split[k], &b);
            report[(*n)++] = buf_take(&b);
        }
    }
    return report;
}

static char *with_estimate(double measured, double estimated,
                             void (*text)(double v, bool estimated, char out[32])) {
    char took[32] = "", of[32] = "";
    if (measured > 0) text(measured, false, took);
    if (!(estimated > 0)) return *took ? xstrdup(took) : NULL;
    text(estimated, true, of);
    return *took ? xprintf("%s (estimated %s)", took, of) : xprintf("estimated %s", of);
}

static void time_text(double s, bool estimated, char out[32]) {
    if (s < 100) snprintf(out, 32, "%.*f s", !estimated || s < 9.95, s);
    else snprintf(out, 32, "%.31s", show_seconds(s).text);
}

static void bytes_text(double bytes, bool estimated, char out[32]) {
    (void)estimated;
    snprintf(out, 32, "%.*f MB", bytes < 9.95e6, bytes / 1e6);
}

bool run_row_is_fewshot(const struct store_run *r) {
    return r->regime && text_starts(r->regime, regime_kind_name(REGIME_FEWSHOT));
}

bool run_row_is_draw(const struct store_run *r) { return r->parent && strstr(r->config, "\"draw\":{"); }

char *run_row_time(const struct store_run *r) {
    return with_estimate(r->seconds, r->estimated_seconds, time_text);
}

char *run_row_memory(const struct store_run *r) {
    return with_estimate((double)r->peak, (double)r->estimated_bytes, bytes_text);
}

char *run_row_kernel(enum precision precision) {
    const struct blas_facts *facts = blas_facts();
    bool bf16 = precision == PRECISION_BF16;
    BUG_IF(precision == PRECISION_AUTO);
    return xprintf("%s; %s; %s%s%s", facts->kernel, facts->version, facts->processor,
                   bf16 ? "; bf16 by " : "", !bf16 ? "" : dnnl_is_native() ? dnnl_name() : "rounding");
}

int run_row_create(struct store *s, const struct run_config *c, const struct plan *p,
                   const struct history_row *x, int64_t *id, struct err *e) {
    const struct method *method = &c->method;
    struct store_module row[METHOD_MODULES];
    char layers[METHOD_MODULES][32], *text[METHOD_MODULES];
    for (int i = 0; i < method->count; i++) fill_module(&row[i], method, i, p, layers[i], &text[i]);
    char *config = whole_config(c, x->more), *text_form = method_text(method),
         *canonical = method_canonical(method);
    char *json = method_json(method, p->decoder), *regime = config_regime_text(c);
    const struct preset *preset = method_preset(method);
    char *kernel = run_row_kernel(c->precision);
    int reports;
    char **report = reports_of(c, x->tasks, &reports);
    const struct store_new_run n = {
        .config = config,
        .method = text_form,
        .canonical = canonical,
        .method_json = json,
        .preset = preset ? preset->name : NULL,
        .model = c->model,
        .model_folder = c->model_folder,
        .model_sha256 = c->model_sha256,
        .task = c->task,
        .task_folder = c->task_folder,
        .train_file = c->train_file,
        .dev_file = c->dev_file,
        .train_sha256 = c->train_sha256,
        .dev_sha256 = c->dev_sha256,
        .metric = c->metric,
        .direction = direction_of(c),
        .split = x->split,
        .seed = c->seed,
        .trained = (int64_t)p->trained_method,
        .stored = (int64_t)p->stored_method,
        .head = (int64_t)p->head,
        .model_values = (int64_t)p->model,
        .steps = x->steps,
        .estimated_seconds = x->estimated_seconds,
        .estimated_bytes = x->estimated_bytes,
        .regime = regime,
        .version = paths_version(),
        .kernel = kernel,
        .parent = x->parent,
        .sweep = x->sweep,
        .modules = row,
        .module_count = method->count,
        .note = x->note,
        .name = x->name,
        .cell = x->cell,
        .tag = x->tag,
        .report = (const char *const *)report,
        .reports = reports,
        .imported = x->imported,
    };
    int rc = store_create_run(s, &n, id, e);
    for (int i = 0; i < reports; i++) free(report[i]);
    free(report);
    free(config);
    free(text_form);
    free(canonical);
    free(json);
    free(kernel);
    free(regime);
    for (int i = 0; i < method->count; i++) free(text[i]);
    return rc;
}
