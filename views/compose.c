#include "views/compose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/compose_edit.h"

void compose_options_init(struct compose_options *o) {
    struct run_config c;
    config_init(&c);
    *o = (struct compose_options){.batch = c.batch,
                                  .max_len = c.max_len,
                                  .epochs = c.epochs,
                                  .steps = c.steps,
                                  .seed = c.seed,
                                  .eval_every = c.eval_every,
                                  .eval_rows = c.eval_rows,
                                  .embed_every = c.embed_every,
                                  .warmup = c.warmup,
                                  .weight_decay = c.weight_decay,
                                  .clip = c.clip,
                                  .dropout = c.dropout,
                                  .schedule = c.schedule,
                                  .max_target = c.max_target,
                                  .beams = c.beams,
                                  .smoothing = c.smoothing,
                                  .loss_mean = c.loss_mean,
                                  .prefix = c.prefix};
    config_release(&c);
}

void compose_init(struct compose_view *v) {
    memset(v, 0, sizeof *v);
    compose_options_init(&v->options);
    v->note = -1;
    const struct preset *p = preset_find("lora");
    if (p) v->method = p->method;
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

void compose_release(struct compose_view *v) {
    clear_facts(&v->facts);
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
        if (text_starts(name, "W_")) buf_printf(&b, "%d\u2192%d", t->cols, t->rows); /* out × in */
        else if (t->rows > 1) buf_printf(&b, "%d\u00D7%d", t->rows, t->cols);
        else buf_printf(&b, "%d", t->cols);
    }
    if (!b.size) return NULL;
    if (layers > 1)
        buf_printf(&b, ", in each of %d %s", layers,
                   start->stack == last->stack && start->site == last->site ? "layers" : "places");
    return buf_take(&b);
}

int compose_outputs(const struct compose_view *v) {
    if (v->arch && v->arch->decoder_layers) return 0;
    return v->classes > 0 ? v->classes : 2;
}

static void count(struct compose_view *v) {
    struct compose_facts *f = &v->facts;
    struct err e = ERR_INIT;
    struct plan *p = plan_new(&v->method, v->arch, compose_outputs(v), &e);
    if (!p) return;
    f->counted = true;
    f->trained = p->trained_method;
    f->kept = p->kept_method;
    f->head = p->head;
    f->model = p->model;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module < 0) continue;
        f->module_trained[t->module] += t->count;
        f->places.trained[t->stack][t->site] += t->count;
    }
    for (int i = 0; i < v->method.count; i++) {
        f->arithmetic[i] = plan_arithmetic(p, v->arch, i);
        f->tensors[i] = tensors_of(p, i);
    }
    plan_free(p);
}

static void find_facts(struct compose_view *v) {
    struct compose_facts *f = &v->facts;
    clear_facts(f);
    f->text = method_text(&v->method);
    f->canonical = method_canonical(&v->method);
    f->preset = method_preset(&v->method);
    if (!f->preset) f->nearest = method_nearest(&v->method);
    if (!v->arch) return;
    f->findings = method_check(&v->method, v->arch, f->finding, COMPOSE_FINDINGS);
    if (f->findings > COMPOSE_FINDINGS) f->findings = COMPOSE_FINDINGS;
    for (int i = 0; i < f->findings; i++) f->errors += f->finding[i].level == LEVEL_ERROR;
    if (!f->errors) count(v);
}

void compose_changed(struct compose_view *v) {
    if (v->part > v->method.count) v->part = v->method.count;
    if (v->part < 0) v->part = 0;
    if (v->part < v->method.count && !axis_applies(&v->method.module[v->part], v->arch, v->axis))
        v->axis = AXIS_FUNCTION;
    if ((int)v->option >= compose_option_count(v)) v->option = OPTION_LR;
    find_facts(v);
    if (v->note >= v->facts.findings) v->note = -1;
    compose_list(v);
}

void compose_push(struct compose_view *v) {
    if (v->undo_at == COMPOSE_UNDO) {
        memmove(v->undo, v->undo + 1, sizeof v->undo - sizeof *v->undo);
        v->undo_at--;
    }
    v->undo[v->undo_at].method = v->method;
    v->undo[v->undo_at].options = v->options;
    v->undo_top = ++v->undo_at;
}

/* Exchanges the present state with the one at i. */
static void swap_state(struct compose_view *v, int i) {
    struct compose_state now = {v->method, v->options};
    v->method = v->undo[i].method;
    v->options = v->undo[i].options;
    v->undo[i] = now;
    v->walking = false;
    compose_changed(v);
}

bool compose_undo(struct compose_view *v) {
    if (!v->undo_at) return false;
    swap_state(v, --v->undo_at);
    return true;
}

bool compose_redo(struct compose_view *v) {
    if (v->undo_at == v->undo_top) return false;
    swap_state(v, v->undo_at++);
    return true;
}

void compose_set(struct compose_view *v, const struct method *m, const struct compose_options *o) {
    compose_push(v);
    v->method = *m;
    if (o) v->options = *o;
    v->part = 0;
    v->axis = AXIS_FUNCTION;
    v->walking = false;
    compose_changed(v);
}

void compose_take_preset(struct compose_view *v, const char *name) {
    const struct preset *p = preset_find(name);
    if (!p) return;
    struct compose_options o = v->options;
    o.lr = 0;
    compose_set(v, &p->method, &o);
}

double compose_lr(const struct compose_view *v) {
    if (v->options.lr > 0) return v->options.lr;
    return v->facts.preset ? v->facts.preset->lr : 1e-3;
}

/* A word for the shell; quoted where it needs to be. */
static void add_word(struct buf *b, const char *word) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                               "-_./:,+=@%";
    if (*word && strspn(word, safe) == strlen(word)) {
        buf_puts(b, word);
        return;
    }
    buf_putc(b, '\'');
    for (; *word; word++) {
        if (*word == '\'') buf_puts(b, "'\\''");
        else buf_putc(b, *word);
    }
    buf_putc(b, '\'');
}

int compose_option_count(const struct compose_view *v) {
    return v->arch && arch_generates(v->arch) ? OPTION_COUNT : OPTION_TARGET;
}

const char *compose_mismatch(const struct compose_view *v) {
    if (!v->texts || !v->arch || arch_generates(v->arch)) return NULL;
    return "this task has texts to write: T chooses a T5, BART or mBART";
}

static void add_number(struct buf *b, const char *option, double value) {
    char text[32];
    if (value == (double)(int64_t)value) snprintf(text, sizeof text, "%lld", (long long)value);
    else text_from_double(value, text); /* would write 60 as 6e+01 */
    buf_printf(b, " --%s %s", option, text);
}

char *compose_command(const struct compose_view *v) {
    struct buf b = BUF_INIT;
    struct compose_options usual;
    const struct compose_options *o = &v->options;
    compose_options_init(&usual);
    buf_puts(&b, "petri train");
    if (v->model_arg) {
        buf_puts(&b, " --model ");
        add_word(&b, v->model_arg);
    }
    if (v->task_arg) {
        buf_puts(&b, " --task ");
        add_word(&b, v->task_arg);
    }
    buf_puts(&b, " --method ");
    add_word(&b, v->facts.text ? v->facts.text : "head");
    add_number(&b, "lr", compose_lr(v));
    if (o->batch != usual.batch) add_number(&b, "batch", o->batch);
    if (o->steps > 0) add_number(&b, "steps", (double)o->steps);
    else if (o->epochs != usual.epochs) add_number(&b, "epochs", o->epochs);
    if (o->max_len != usual.max_len) add_number(&b, "max-len", o->max_len);
    if (o->schedule != usual.schedule)
        buf_printf(&b, " --schedule %s", o->schedule == SCHEDULE_COSINE     ? "cosine"
                                         : o->schedule == SCHEDULE_CONSTANT ? "constant"
                                                                            : "linear");
    if (o->warmup != usual.warmup) add_number(&b, "warmup", o->warmup);
    if (o->weight_decay != usual.weight_decay) add_number(&b, "weight-decay", o->weight_decay);
    if (o->clip != usual.clip) add_number(&b, "clip", o->clip);
    if (o->dropout != usual.dropout) add_number(&b, "dropout", o->dropout);
    if (o->eval_every != usual.eval_every) add_number(&b, "eval-every", o->eval_every);
    if (o->eval_rows != usual.eval_rows) add_number(&b, "eval-rows", o->eval_rows);
    if (o->embed_every != usual.embed_every) add_number(&b, "embed-every", o->embed_every);
    if (compose_option_count(v) == OPTION_COUNT) {
        if (o->max_target != usual.max_target) add_number(&b, "max-target", o->max_target);
        if (o->smoothing != usual.smoothing) add_number(&b, "smoothing", o->smoothing);
        if (o->loss_mean != usual.loss_mean) buf_printf(&b, " --loss-mean %s", loss_mean_name(o->loss_mean));
        if (o->beams != usual.beams) add_number(&b, "beams", o->beams);
        if (!o->prefix) buf_puts(&b, " --prefix off");
    }
    buf_printf(&b, " --seed %llu", (unsigned long long)o->seed);
    return buf_take(&b);
}
