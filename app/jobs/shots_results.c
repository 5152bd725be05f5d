/* Looking at a run of few shots in the history. */
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "app/jobs/shots_private.h"
#include "core/base/json.h"
#include "core/base/mem.h"

static void take_names(const json_t *list, struct shots_results *out) {
    const json_t *item;
    size_t i;
    out->known_name = xcalloc(json_array_size(list) + 1, sizeof *out->known_name);
    json_array_foreach(list, i, item) {
        out->known_name[out->known++] = xstrdup(json_is_string(item) ? json_string_value(item) : "");
    }
}

static void take_left_out(const json_t *list, struct shots_results *out) {
    const json_t *item;
    size_t i;
    out->left_out = xcalloc(json_array_size(list) + 1, sizeof *out->left_out);
    json_array_foreach(list, i, item) {
        const char *task = json_string_value(json_object_get(item, "task")),
                   *why = json_string_value(json_object_get(item, "why"));
        out->left_out[out->left_outs++] = (struct shots_left_out){ xstrdup(task ? task : ""),
                                                                   xstrdup(why ? why : "") };
    }
}

static int shots_results_take_tasks(const struct store_run *run, struct shots_results *out, struct err *e) {
    struct run_config c;
    if (record_config_of(run, &c, e)) return e->code;
    out->tasks = config_task_count(&c);
    out->of = xcalloc((size_t)out->tasks, sizeof *out->of);
    for (int i = 0; i < out->tasks; i++) {
        const struct run_config *rows = config_rows_of(&c, i);
        const char *name = config_task_name(&c, i);
        char key[PLAN_TASK];
        shots__key_name(*name ? name : c.task ? c.task : "", key);
        out->of[i] = (struct shots_result_task){ xstrdup(key), xstrdup(rows->metric ? rows->metric : "") };
    }
    out->method = method_text(&c.method);
    config_release(&c);
    return 0;
}

int shots_results(struct store *s, const struct store_run *run, struct shots_results *out, struct err *e) {
    json_t *all;
    *out = (struct shots_results){ 0 };
    if (shots__read_how(run, &out->how, &all, e)) return e->code;
    const json_t *o = json_object_get(all, "fewshot");
    out->run = run->id;
    out->from = run->parent;
    out->with = json_integer_value(json_object_get(o, "with"));
    out->table = json_is_true(json_object_get(o, "table"));
    take_names(json_object_get(o, "known"), out);
    take_left_out(json_object_get(o, "left_out"), out);
    json_decref(all);
    int rc = shots_results_take_tasks(run, out, e);
    char *folder = store_run_folder(s, run->id), *path = fewshot_record_path(folder);
    if (!rc) rc = fewshot_record_read(path, &out->results, e);
    free(folder);
    free(path);
    /* a vote is told by names: a record of other tasks has none */
    for (int r = 0; r < out->results.count; r++)
        if (out->results.of[r].known > out->known) out->results.of[r].known = 0;
    if (rc) shots_results_release(out);
    return rc;
}

void shots_results_release(struct shots_results *r) {
    for (int i = 0; i < r->known; i++) free(r->known_name[i]);
    for (int i = 0; i < r->tasks; i++) {
        free(r->of[i].task);
        free(r->of[i].metric);
    }
    for (int i = 0; i < r->left_outs; i++) {
        free(r->left_out[i].task);
        free(r->left_out[i].why);
    }
    free(r->known_name);
    free(r->of);
    free(r->left_out);
    free(r->method);
    fewshot_results_release(&r->results);
    *r = (struct shots_results){ 0 };
}

bool shots_results_have_k(const struct shots_results *r, int k) {
    for (int i = 0; i < r->how.ks; i++)
        if (r->how.k[i] == k) return true;
    return false;
}

const struct shots_result_task *shots_results_find(const struct shots_results *r, const char *task) {
    for (int i = 0; i < r->tasks; i++)
        if (!strcmp(r->of[i].task, task)) return &r->of[i];
    return NULL;
}

void shots_results_list(const struct shots_results *r, int runs, struct buf *b) {
    buf_putc(b, '[');
    for (int i = 0; i < runs; i++)
        for (int k = 0; k < r[i].tasks; k++) {
            const struct fewshot_table t = { r[i].of[k].task,
                                             r[i].of[k].metric,
                                             r[i].table || runs > 1 ? r[i].method : NULL,
                                             (const char *const *)r[i].known_name,
                                             runs > 1 ? r[i].run : 0,
                                             r[i].from };
            fewshot_results_json(&r[i].results, &r[i].how, &t, b);
        }
    buf_putc(b, ']');
}
