/* Reading a few-shot run and its draws from the database. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "app/sweep/shots_private.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

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
        const struct run_config *rows = config_data_of(&c, i);
        const char *name = config_task_name(&c, i);
        char key[PLAN_TASK];
        shots__key_name(*name ? name : c.task ? c.task : "", key);
        out->of[i] = (struct shots_result_task){ xstrdup(key), xstrdup(rows->metric ? rows->metric : "") };
    }
    out->method = method_text(&c.method);
    config_release(&c);
    return 0;
}

/* ---- draws ---- */

static void take_value(const struct store_eval_row *v, size_t split, struct fewshot_result *r) {
    struct fewshot_scores *s = v->step ? &r->scores : &r->zero;
    if (s->count == EVENT_METRICS) return;
    struct fewshot_metric *m = &s->metric[s->count++];
    snprintf(m->name, sizeof m->name, "%s", v->name + split + 1);
    snprintf(m->undefined, sizeof m->undefined, "%s", v->value.undefined ? v->value.undefined : "");
    m->value = v->value.undefined ? 0 : v->value.v;
    s->constant = v->constant;
    s->none_valid = v->none_valid;
    snprintf(r->rows, sizeof r->rows, "%s", v->rows ? v->rows : "");
}

int shots__read_draw(struct store *s, int64_t run, struct fewshot_result *r, struct err *e) {
    struct store_run row;
    struct store_evals v = { 0 };
    int rc = store_run(s, run, &row, e);
    if (rc) return rc;
    json_t *all = json_parse("the draw's config", row.config, strlen(row.config), e);
    rc = all ? store_evaluations(s, run, &v, e) : e->code;
    if (!rc) fewshot_read_draw(json_object_get(all, "draw"), r);
    r->steps = row.step;
    r->seconds = row.seconds;
    r->loss = row.loss.measured ? row.loss.v : NAN;
    size_t split = strcspn(row.decides, ".");
    for (size_t i = 0; !rc && i < v.count; i++)
        if (!strncmp(v.row[i].name, row.decides, split + 1)) take_value(&v.row[i], split, r);
    store_evals_release(&v);
    store_run_release(&row);
    json_decref(all);
    return rc;
}

struct draws_read {
    const struct sweep_plan *plan;
    struct fewshot_results *out;
};

/* A draw of a cell without a run. */
static struct fewshot_result draw_of(const struct sweep_plan *p, int cell, int seed) {
    char **value = p->cells.cell[cell].value;
    int64_t k = 0;
    text_to_int(value[1], &k);
    struct fewshot_result r = { .k = (int)k, .draw = seed };
    snprintf(r.task, sizeof r.task, "%s", value[0]);
    return r;
}

static void read_left_out(void *self, int cell, int seed, const char *why) {
    const struct draws_read *x = self;
    struct fewshot_result r = draw_of(x->plan, cell, seed);
    snprintf(r.left_out, sizeof r.left_out, "%s", why);
    fewshot_add(x->out, &r);
}

static int read_draws(struct store *s, int64_t set, struct fewshot_results *out, struct err *e) {
    struct sweep_plan p;
    int rc = sweep_plan_open(&p, s, set, e);
    if (!rc) rc = sweep_plan_find(&p, s, e);
    if (!rc) rc = sweep_plan_left_out(&p, s, read_left_out, &(struct draws_read){ &p, out }, e);
    for (int i = 0; i < p.cells.count && !rc; i++)
        for (int d = 0; d < p.spec.seeds && !rc; d++) {
            const struct sweep_found *f = &p.entry[i].found[d];
            struct fewshot_result r = draw_of(&p, i, d);
            if (!f->over || !f->run) continue;
            rc = shots__read_draw(s, f->run, &r, e);
            if (!rc) fewshot_add(out, &r);
        }
    sweep_plan_release(&p);
    return rc;
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
    if (!rc) rc = read_draws(s, run->sweep, &out->results, e);
    /* votes refer to known tasks by name: those of another list are dropped */
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
