#include "views/compose.h"

#include <math.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"
#include "views/compose_edit.h"
#include "views/ui_parts.h"

void compose_init(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    config_init(&v->config);
    v->config.lr = config_default_lr(&v->config.method, NULL);
    v->note = -1;
    compose_changed(v);
}

static void clear_facts(struct compose_facts *f) {
    free(f->text);
    free(f->canonical);
    free(f->nearest);
    for (int i = 0; i < METHOD_MODULES; i++) {
        free(f->arithmetic[i]);
        free(f->tensors[i]);
    }
    memset(f, 0, sizeof *f);
}

void compose_release(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    clear_facts(&v->facts);
    config_release(&v->config);
    free(v->start_of), free(v->start);
    for (int i = 0; i < v->undo_top; i++) config_release(&v->undo[i].config);
    for (int i = 0; i < v->swepts; i++) free(v->swept[i]);
    for (int i = 0; i < COMPOSE_PRESETS; i++) free(v->bad[i]);
    for (int i = 0; i < COMPOSE_OPTIONS; i++) free(v->stuck[i]);
    memset(v, 0, sizeof *v);
}

/* The shapes that a module adds to its first layer, and how many layers it is on.  NULL
 * for one that trains what is there: too many to list. */
static char *tensors_of(const struct plan *p, int module) {
    struct buf b = BUF_INIT;
    int layers = 0;
    const struct plan_tensor *last = NULL, *start = NULL;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module != module || t->kind != PLAN_OWN) continue;
        if (!last || t->layer != last->layer || t->site != last->site || t->stack != last->stack)
            layers++;
        last = t;
        if (!start) start = t;
        if (layers > 1) continue;
        const char *dot = strrchr(t->name, '.');
        const char *name = dot ? dot + 1 : t->name;
        buf_printf(&b, "%s%s ", b.size ? " \u00B7 " : "", name);
        if (text_starts(name, "W_"))
            buf_printf(&b, "%" PRId64 "\u2192%" PRId64, t->cols, t->rows); /* out × in */
        else if (t->rows > 1) buf_printf(&b, "%" PRId64 "\u00D7%" PRId64, t->rows, t->cols);
        else buf_printf(&b, "%" PRId64, t->cols);
    }
    if (!b.size) return NULL;
    if (layers > 1)
        buf_printf(&b, ", in each of %d %s", layers,
                   start->stack == last->stack && start->site == last->site ? "layers" : "positions");
    return buf_take(&b);
}

int compose_outputs(const struct compose_view *v) {
    if (compose_targets(v)) return 0;
    if (v->config.form == FORM_MASKED && !v->config.tasks) return PLAN_WORDS;
    return v->classes > 0 ? v->classes : 2;
}

static struct plan *plan_of_config(const struct compose_view *v, const struct run_config *c, struct err *e) {
    const char *name[RUN_TASKS];
    int outputs[RUN_TASKS];
    const struct regime regime = config_regime(c);
    const struct plan_meta meta = regime_plan(&regime);
    name[0] = "";
    outputs[0] = compose_outputs(v);
    for (int i = 0; i < c->tasks; i++) {
        name[i] = c->of[i].task_name;
        outputs[i] = compose_targets(v) ? 0 : v->outputs[i] > 0 ? v->outputs[i] : 2;
    }
    return plan_new_tasks(&c->method, v->arch,
                          &(struct plan_tasks){ config_task_count(c), name, outputs, &meta }, e);
}

struct plan *compose_plan(const struct compose_view *v, struct err *e) {
    return plan_of_config(v, &v->config, e);
}

static bool cost_of_plan(const struct compose_view *v, const struct run_config *c, const struct plan *p,
                         struct estimate *out) {
    const struct estimate_of cost = { .c = c, .p = p, .a = v->arch,
                                      .tokens = v->row_tokens, .targets = v->row_targets,
                                      .squares = v->row_squares, .longest = v->longest_row,
                                      .train_rows = v->train_rows, .dev_rows = v->dev_rows,
                                      .data = v->data_bytes,
                                      .workers = v->workers > 0 ? v->workers : 1, .speed = v->speed };
    return estimate_run(&cost, out);
}

bool compose_estimate(const struct compose_view *v, const struct run_config *c, struct estimate *out) {
    struct err ignored = ERR_INIT;
    struct plan *p = v->arch ? plan_of_config(v, c, &ignored) : NULL;
    bool known = p && cost_of_plan(v, c, p, out);
    plan_free(p);
    return known;
}

static void count(struct compose_view *v) {
    struct compose_facts *f = &v->facts;
    struct err e = ERR_INIT;
    struct plan *p = compose_plan(v, &e);
    if (!p || plan_fits(p, &e) || config_check_plan(p, &e))
        snprintf(f->unfit, sizeof f->unfit, "%.299s", e.text);
    if (!p) return;
    f->counted = true;
    f->trained = p->trained_method;
    f->kept = p->stored_method;
    f->head = p->head;
    f->model = p->model;
    cost_of_plan(v, &v->config, p, &f->cost);
    const struct network *n;
    for (int k = 0; k < COMPOSE_NETWORKS && (n = compose_network_at(v, k)); k++) {
        size_t length = strlen(n->name);
        for (int i = 0; i < p->tensors; i++)
            if (p->tensor[i].kind == PLAN_NETWORK && text_starts(p->tensor[i].name, n->name) &&
                p->tensor[i].name[length] == '.')
                f->network_trained[k] += p->tensor[i].count;
    }
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module < 0) continue;
        f->module_trained[t->module] += t->count;
        f->places.trained[t->stack][t->site] += t->count;
    }
    for (int i = 0; i < v->config.method.count; i++) {
        f->arithmetic[i] = plan_arithmetic(p, v->arch, i);
        f->tensors[i] = tensors_of(p, i);
    }
    plan_free(p);
}

/* Adds the findings on the training regime after those on the method; errors come first. */
static void add_regime_findings(struct compose_view *v) {
    struct compose_facts *f = &v->facts;
    struct finding found[COMPOSE_FINDINGS];
    int n = regime_check(&v->config, v->arch, found, COMPOSE_FINDINGS), errors = 0;
    for (int i = 0; i < f->findings; i++) errors += f->finding[i].level == LEVEL_ERROR;
    for (int i = 0; i < n && i < COMPOSE_FINDINGS && f->findings < COMPOSE_FINDINGS; i++) {
        int at = found[i].level == LEVEL_ERROR ? errors++ : f->findings;
        memmove(f->finding + at + 1, f->finding + at, (size_t)(f->findings - at) * sizeof *f->finding);
        f->finding[at] = found[i];
        f->findings++;
    }
}

static void compose_find_facts(struct compose_view *v) {
    struct compose_facts *f = &v->facts;
    clear_facts(f);
    f->cost = (struct estimate){ NAN, NAN, NAN, NAN };
    f->text = method_text(&v->config.method);
    f->canonical = method_canonical(&v->config.method);
    f->preset = method_preset(&v->config.method);
    if (!f->preset) f->nearest = method_nearest(&v->config.method);
    if (!v->arch) return;
    f->findings = method_check(&v->config.method, v->arch, f->finding, COMPOSE_FINDINGS);
    if (f->findings > COMPOSE_FINDINGS) f->findings = COMPOSE_FINDINGS;
    add_regime_findings(v);
    for (int i = 0; i < f->findings; i++) f->errors += f->finding[i].level == LEVEL_ERROR;
    struct err e = ERR_INIT;
    if (f->errors) return;
    count(v);
    if (*v->unread && !v->stale_rows) snprintf(f->unfit, sizeof f->unfit, "%s", v->unread);
    else if (compose_fits(v, &v->config, &e)) snprintf(f->unfit, sizeof f->unfit, "%.299s", e.text);
}

/* Returns the first error of a method on the model, or NULL.  The caller frees it. */
static char *compose_error_of(const struct compose_view *v, const struct method *m) {
    struct finding found[COMPOSE_FINDINGS];
    int n = v->arch ? method_check(m, v->arch, found, COMPOSE_FINDINGS) : 0;
    for (int i = 0; i < n && i < COMPOSE_FINDINGS; i++)
        if (found[i].level == LEVEL_ERROR) return xstrdup(found[i].text);
    return NULL;
}

/* Only when the model changes: it takes longer than anything else that a key does. */
static void check_presets(struct compose_view *v) {
    static const struct arch none;
    const struct arch *on = v->arch ? v->arch : &none;
    /* Differing padding only repeats the check. */
    if (!memcmp(&v->bad_on, on, sizeof *on)) return; /* NOLINT(bugprone-suspicious-memory-comparison) */
    memcpy(&v->bad_on, on, sizeof *on);
    for (int i = 0; i < preset_count() && i < COMPOSE_PRESETS; i++) {
        free(v->bad[i]);
        v->bad[i] = compose_error_of(v, &preset_at(i)->method);
    }
}

void compose_changed(struct compose_view *v) {
    int last = v->config.method.count + compose_networks(v) + v->off.count;
    if (v->seeds && v->config.seed != v->seed[0]) v->seeds = 0;
    check_presets(v);
    if (v->part > last) v->part = last;
    if (v->part < 0) v->part = 0;
    if (v->part < v->config.method.count && !compose_axis_applies(v, v->axis))
        v->axis = AXIS_FUNCTION;
    compose_list_options(v);
    if (v->option >= v->options) v->option = 0;
    compose_find_facts(v);
    if (v->note >= v->facts.findings) v->note = -1;
    compose_list(v);
    compose_find_stuck(v);
}

static void to_start(struct compose_view *v) {
    v->part = 0;
    v->axis = AXIS_FUNCTION;
    v->reach = REACH_DEFAULT;
    v->copies = false;
    v->walking = false;
    compose_changed(v);
}

void compose_take_method(struct compose_view *v, const struct method *m) {
    compose_push(v, NULL);
    v->config.method = *m;
    v->off.count = 0;
    v->config.lr = config_default_lr(m, NULL);
    to_start(v);
}

void compose_start(struct compose_view *v, const char *method, const char *words) {
    xreplace(&v->start_of, method);
    xreplace(&v->start, words);
}

void compose_take_source(struct compose_view *v, const struct run_config *c) {
    compose_push(v, NULL);
    config_take_source(&v->config, c);
    v->walking = false;
    compose_changed(v);
}

void compose_take_config(struct compose_view *v, const struct run_config *c, const char *by) {
    compose_push(v, by);
    config_release(&v->config);
    config_copy(&v->config, c);
    v->off.count = v->seeds = 0;
    if (v->config.lr == 0) v->config.lr = config_default_lr(&v->config.method, NULL);
    to_start(v);
}

void compose_take_preset(struct compose_view *v, const char *name) {
    const struct preset *p = preset_find(name);
    if (p) compose_take_method(v, &p->method);
}

bool compose_targets(const struct compose_view *v) {
    return v->arch && (arch_generates(v->arch) || (v->arch->causal && v->texts));
}

const char *compose_mismatch(const struct compose_view *v) {
    if (!v->texts || !v->arch || compose_targets(v)) return NULL;
    return "this task is text-to-text: press T to choose a T5, BART, mBART or decoder-only model";
}

const char *compose_refusal(const struct compose_view *v) {
    const struct compose_facts *f = &v->facts;
    if (f->errors) return f->finding[0].text;
    if (!v->arch) return "no model: press T to choose one";
    return compose_mismatch(v) ? compose_mismatch(v) : *f->unfit ? f->unfit : NULL;
}

bool compose_lacks_memory(const struct compose_view *v) {
    return v->available > 0 && v->facts.cost.bytes > v->available; /* false for NaN */
}

void compose_config(const struct compose_view *v, struct run_config *out) {
    config_copy(out, &v->config);
    stages_take_method(out);
    config_settle(out, compose_targets(v));
}

void compose_put_seeds(const struct compose_view *v, struct buf *out) {
    buf_puts(out, "--seeds ");
    for (int i = 0; i < v->seeds; i++)
        buf_printf(out, "%s%llu", i ? "," : "", (unsigned long long)v->seed[i]);
}

char *compose_command(const struct compose_view *v) {
    struct run_config c;
    compose_config(v, &c);
    char *command = config_command(&c), *seed = strstr(command, " --seed ");
    struct buf b = BUF_INIT;
    for (char *next; seed && (next = strstr(seed + 1, " --seed ")); seed = next) {}
    config_release(&c);
    if (v->seeds > 1 && seed) *seed = 0; /* --seed is the last option */
    buf_puts(&b, command);
    if (v->seeds > 1) {
        buf_putc(&b, ' ');
        compose_put_seeds(v, &b);
    }
    if (*v->run_name) {
        buf_puts(&b, " --name ");
        text_shell_word(&b, v->run_name);
    }
    if (*v->run_note) {
        buf_puts(&b, " --note ");
        text_shell_word(&b, v->run_note);
    }
    free(command);
    return buf_take(&b);
}
