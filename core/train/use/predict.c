#include "core/train/use/predict.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/packing.h"
#include "core/train/config/regime.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/head.h"
#include "core/train/run/predictor.h"
#include "core/train/run/score.h"

/* ---- opening ---- */

static int predict_allocate(struct predictor *p, struct err *e) {
    size_t generated = p->plan->generated_size;
    p->params = mem_try(p->plan->trained ? p->plan->trained : 1, sizeof *p->params);
    p->generated = mem_try(generated ? generated : 1, sizeof *p->generated);
    if (!p->params || !p->generated)
        return err_set(e, ERR_SYSTEM, "out of memory for %zu trainable parameters", p->plan->trained);
    memset(p->params, 0, p->plan->trained * sizeof *p->params);
    return 0;
}

static struct plan *plan_of_checkpoint(const struct predictor *p, const struct checkpoint *k, struct err *e) {
    const char *name[RUN_TASKS];
    int outputs[RUN_TASKS];
    for (int i = 0; i < k->tasks; i++) {
        const struct checkpoint_task *t = &k->task[i];
        name[i] = t->name;
        outputs[i] = p->text                      ? 0
                     : t->label_kind == DATA_MASKED     ? PLAN_WORDS
                     : t->label_kind == DATA_REGRESSION ? 1
                                                  : t->labels;
    }
    const struct plan_tasks all = { k->tasks, name, outputs, NULL };
    struct plan *plan = plan_new_tasks(&k->method, &p->m->arch, &all, e);
    if (plan) plan->precision = k->config.precision;
    return plan;
}

/* Reduces a multi-task predictor to one task. */
static int predict_narrow(struct predictor *p, int task, struct err *e) {
    real *params, *generated;
    struct plan *own = plan_of_task(p->plan, &p->m->arch, task, p->params, p->generated, &params, &generated,
                                    e);
    if (!own) return e->code;
    plan_free(p->plan);
    free(p->params);
    free(p->generated);
    p->plan = own;
    p->params = params;
    p->generated = generated;
    packing_set(own, p->m, params, generated);
    return 0;
}

static void set_description(struct predictor *p, const struct run_config *c) {
    p->text = c->form == FORM_TEXT;
    predictor_set_template(p, c->chat_template);
    p->loss_on_all = c->loss_on == LOSS_ON_ALL;
    p->prefix = c->prefix;
    p->beams = c->beams;
    p->max_len = run_max_len(c, p->m);
    p->max_target = run_max_target(c, p->m);
}

/* Returns the index of the task of that name, or of the only one. */
static int predict_find_task(const struct checkpoint *k, const char *name, struct err *e) {
    if (!name && k->tasks == 1) return 0;
    return config_task_find(&k->config, name, e);
}

static void predict_take_tasks(struct predictor *p, const struct checkpoint_task *task, int n) {
    p->tasks = n;
    p->of = xcalloc((size_t)n, sizeof *p->of);
    for (int i = 0; i < n; i++) {
        struct predictor_task *to = &p->of[i];
        *to = (struct predictor_task){ xstrdup(task[i].name ? task[i].name : ""), task[i].label_kind,
                                       task[i].labels, NULL };
        to->label = xcalloc((size_t)to->labels + 1, sizeof *to->label);
        for (int j = 0; j < to->labels; j++) to->label[j] = xstrdup(task[i].label[j]);
    }
}

enum { ALL_TASKS = -1 };

/* task: its index, or ALL_TASKS. */
static int open_checkpoint(struct predictor *p, const struct checkpoint *k, int task, struct err *e) {
    if (checkpoint_is_of(k, p->m, e)) return e->code;
    if (config_is_meta(&k->config))
        return err_set(
            e, ERR_USAGE,
            "%s: trained over episodes, without fixed classes; adapt it to a task first (petri adapt RUN "
            "--task NEW)",
            k->path);
    p->facts_known = k->config.model_facts != NULL;
    set_description(p, &k->config);
    xreplace(&p->origin, st_meta(k->file, "origin"));
    if (task == ALL_TASKS) predict_take_tasks(p, k->task, k->tasks);
    else predict_take_tasks(p, &k->task[task], 1);
    p->plan = plan_of_checkpoint(p, k, e);
    if (!p->plan) return e->code;
    if (predict_allocate(p, e)) return e->code;
    int rc = checkpoint_read(k, p->plan, false, p->params, p->generated, NULL, NULL, e);
    if (!rc) attach_regenerate(p->plan, p->m, p->params, p->generated);
    packing_set(p->plan, p->m, p->params, p->generated);
    bool alone = k->tasks == 1 &&
                 !method_has_generator(&p->plan->method); /* generated weights are reduced to the task as
                                                           * well */
    return rc || alone || task == ALL_TASKS ? rc : predict_narrow(p, task, e);
}

static struct predictor *predict_open_run(const char *checkpoint, bool all, const char *task,
                                          struct model *m, struct err *e) {
    struct err own = ERR_INIT;
    struct checkpoint k;
    if (!e) e = &own;
    if (checkpoint_open(&k, checkpoint, e)) return NULL;
    struct predictor *p = xcalloc(1, sizeof *p);
    p->m = m;
    int at = all ? ALL_TASKS : predict_find_task(&k, task, e), rc = all || at >= 0 ? 0 : e->code;
    if (!rc) rc = open_checkpoint(p, &k, at, e);
    checkpoint_close(&k);
    if (!rc) return p;
    predictor_free(p);
    return NULL;
}

struct predictor *predictor_new(const struct predictor_parts *x, struct err *e) {
    struct predictor *p = xcalloc(1, sizeof *p);
    int outputs = x->c->form == FORM_TEXT ? 0 : x->label_kind == DATA_REGRESSION ? 1 : x->labels;
    p->m = x->m;
    p->facts_known = true;
    set_description(p, x->c);
    predict_take_tasks(p, &(struct checkpoint_task){ .label_kind = x->label_kind, .labels = x->labels,
                                                    .label = (char **)(uintptr_t)x->label }, 1);
    p->plan = plan_new(&x->c->method, &x->m->arch, outputs, e);
    if (!p->plan || predict_allocate(p, e)) {
        predictor_free(p);
        return NULL;
    }
    p->plan->precision = x->c->precision;
    packing_set(p->plan, p->m, p->params, p->generated);
    plan_init(p->plan, x->m, 0, p->params);
    return p;
}

real *predictor_values(struct predictor *p) {
    packing_changed(p->plan);
    return p->params;
}
const char *predictor_origin(const struct predictor *p) { return p->origin; }
void predictor_set_template(struct predictor *p, const char *name) { xreplace(&p->chat_template, name); }
const char *predictor_template(const struct predictor *p) { return p->chat_template; }
void predictor_set_origin(struct predictor *p, const char *text) { xreplace(&p->origin, text); }

int predictor_name_classes(struct predictor *p, const char *const *name, int n, struct err *e) {
    struct predictor_task *t = &p->of[p->at];
    if (!t->labels || p->text) return err_set(e, ERR_USAGE, "the run has no classification head");
    if (n != t->labels)
        return err_set(e, ERR_USAGE, "found %d class names, but the head has %d outputs", n, t->labels);
    for (int i = 0; i < n; i++)
        for (int k = 0; k <= i; k++)
            if (!*name[i] || (k < i && !strcmp(name[i], name[k])))
                return err_set(e, ERR_USAGE, "class names must be unique and not empty: \"%.60s\"",
                               name[i]);
    for (int i = 0; i < n; i++) xreplace(&t->label[i], name[i]);
    return 0;
}

int predictor_make_plain(struct predictor *p, struct err *e) {
    real *params;
    struct plan *plain = plan_plain(p->plan, &p->m->arch, p->params, p->generated, &params, e);
    if (!plain) return e->code;
    plan_free(p->plan);
    free(p->params);
    free(p->generated);
    p->plan = plain;
    p->params = params;
    p->generated = xcalloc(plain->generated_size + 1, sizeof *p->generated);
    attach_regenerate(plain, p->m, params, p->generated);
    packing_set(plain, p->m, params, p->generated);
    return 0;
}

struct predictor *predictor_open(const char *checkpoint, const char *task, struct model *m, struct err *e) {
    return predict_open_run(checkpoint, false, task, m, e);
}

struct predictor *predictor_open_all(const char *checkpoint, struct model *m, struct err *e) {
    return predict_open_run(checkpoint, true, NULL, m, e);
}

/* Opens an encoder–decoder or causal language model, with an empty method. */
static int predict_open_writer(struct predictor *p, struct err *e) {
    struct run_config usual;
    config_init(&usual);
    usual.form = FORM_TEXT;
    set_description(p, &usual);
    predict_take_tasks(p, &(struct checkpoint_task){ .label_kind = DATA_TEXT }, 1);
    config_release(&usual);
    p->plan = plan_new(&preset_find("head")->method, &p->m->arch, 0, e);
    return p->plan ? predict_allocate(p, e) : e->code;
}

/* Opens the model's classification head as a method without other modules. */
static int open_model(struct predictor *p, struct err *e) {
    const struct preset *head = preset_find("head");
    struct model *m = p->m;
    if (arch_generates(&m->arch) || (m->arch.causal && !m->head_w)) return predict_open_writer(p, e);
    if (!m->head_w)
        return err_set(e, ERR_INPUT,
                       "%s: the model has no classification head; use a run that was trained on it",
                       m->folder);
    if (m->arch.pooler_absent)
        return err_set(
            e, ERR_INPUT,
            "%s: the model has a classifier, but its pooler is missing (pooler.dense.weight and .bias); use "
            "a run that was trained on it, which stores a trained pooler",
            m->folder);
    BUG_IF(!head);
    p->several = m->arch.problem == PROBLEM_LABELS;
    if (!p->several && head_other(&m->arch, m->head_rows))
        return err_set(e, ERR_INPUT, "%s/config.json: the head %s; petri predicts one score", m->folder,
                       head_other(&m->arch, m->head_rows));
    p->max_len = arch_max_length(&m->arch);
    bool scores = m->head_rows == 1 && !p->several;
    predict_take_tasks(p, &(struct checkpoint_task){ .label_kind = scores ? DATA_REGRESSION : DATA_CLASSES },
                       1);
    if (!scores) {
        free(p->of->label);
        p->of->labels = m->head_rows;
        p->of->label = head_labels(m);
    }
    p->plan = plan_new(&head->method, &m->arch, m->head_rows, e);
    if (!p->plan) return e->code;
    if (predict_allocate(p, e)) return e->code;
    plan_init(p->plan, m, 0, p->params);
    return 0;
}

struct predictor *predictor_of_model(struct model *m, struct err *e) {
    struct err own = ERR_INIT;
    struct predictor *p = xcalloc(1, sizeof *p);
    p->m = m;
    if (!open_model(p, e ? e : &own)) return p;
    predictor_free(p);
    return NULL;
}

/* Opens the model's masked language modeling head in the same way. */
static int predict_open_words(struct predictor *p, struct err *e) {
    struct model *m = p->m;
    if (!m->words.w)
        return err_set(e, ERR_INPUT,
                       "%s: the model has no masked language modeling head (cls.predictions.\u2026); use "
                       "petri pretrain or petri train --form masked to train one",
                       m->folder);
    p->max_len = arch_max_length(&m->arch);
    predict_take_tasks(p, &(struct checkpoint_task){ .label_kind = DATA_MASKED }, 1);
    p->plan = plan_new(&preset_find("head")->method, &m->arch, PLAN_WORDS, e);
    if (!p->plan || predict_allocate(p, e)) return e->code;
    plan_init(p->plan, m, 0, p->params);
    return 0;
}

struct predictor *predictor_of_words(struct model *m, struct err *e) {
    struct err own = ERR_INIT;
    struct predictor *p = xcalloc(1, sizeof *p);
    p->m = m;
    if (!predict_open_words(p, e ? e : &own)) return p;
    predictor_free(p);
    return NULL;
}

bool predictor_is_headless(const struct predictor *p) {
    return !predictor_classes(p) && !p->text && !p->plan->words;
}

int predictor_needs_head(const struct predictor *p, struct err *e) {
    if (!predictor_is_headless(p)) return 0;
    return err_set(
        e, ERR_USAGE,
        "the run has no head: it was imported for embeddings (embed, map, similarity); use petri train "
        "--from RUN --task T to train one");
}

void predictor_set_precision(struct predictor *p, enum precision precision) {
    p->plan->precision = precision;
    packing_set(p->plan, p->m, p->params, p->generated);
}

bool predictor_fills(const struct predictor *p) { return p->plan->words; }

void predictor_free(struct predictor *p) {
    if (!p) return;
    for (int t = 0; t < p->tasks; t++) {
        for (int i = 0; i < p->of[t].labels; i++) free(p->of[t].label[i]);
        free(p->of[t].label);
        free(p->of[t].name);
    }
    free(p->of);
    free(p->origin);
    free(p->chat_template);
    if (p->plan) plan_free(p->plan);
    free(p->params);
    free(p->generated);
    free(p);
}

const struct plan *predictor_plan(const struct predictor *p) { return p->plan; }
const struct model *predictor_model(const struct predictor *p) { return p->m; }
const real *predictor_params(const struct predictor *p) { return p->params; }
const real *predictor_made(const struct predictor *p) { return p->generated; }
int predictor_classes(const struct predictor *p) { return p->plan->outputs[p->at]; }
bool predictor_writes(const struct predictor *p) { return p->text; }
enum data_kind predictor_label_kind(const struct predictor *p) { return p->of[p->at].label_kind; }
bool predictor_is_multilabel(const struct predictor *p) { return p->several; }
bool predictor_is_regression(const struct predictor *p) { return predictor_label_kind(p) == DATA_REGRESSION; }
int predictor_retrieved(const struct predictor *p) { return attach_retrieved_width(p->plan, &p->m->arch); }
int predictor_max_len(const struct predictor *p) { return p->max_len; }

bool predictor_knows_facts(const struct predictor *p) { return p->facts_known; }

int predictor_labels(const struct predictor *p) { return p->of[p->at].labels; }

const char *predictor_label(const struct predictor *p, int i) {
    BUG_IF(i < 0 || i >= predictor_labels(p));
    return p->of[p->at].label[i];
}

int predictor_tasks(const struct predictor *p) { return p->tasks; }

const char *predictor_task(const struct predictor *p, int task) {
    BUG_IF(task < 0 || task >= p->tasks);
    return p->of[task].name;
}

void predictor_use(struct predictor *p, int task) {
    BUG_IF(task < 0 || task >= p->tasks);
    p->at = task;
}

int predictor_in_use(const struct predictor *p) { return p->at; }

/* ---- scoring by a crew ---- */

/* Resources of a worker, created with its first unit. */
struct predict_seat {
    bool open;
    struct worker w;
    struct attach *a;
};

struct scorer {
    const struct model *m;
    const struct predictor *p;
    const struct predictor_work *work;
    struct predict_seat *seat;   /* by worker */
    atomic_int bad_unit; /* the first with NaN or infinite logits; `units`: none */
    uint64_t *bad_row;   /* by unit */
    atomic_size_t lacks; /* size of a failed allocation in bytes; 0: none */
};

struct unit_call {
    struct scorer *j;
    int unit;
    struct predict_seat *at;
    bool good;
};

static void predict_unit(void *self) {
    struct unit_call *x = self;
    const struct predictor_work *work = x->j->work;
    x->good = work->unit(work->self, x->unit, &x->at->w, x->at->a, &x->j->bad_row[x->unit]);
}

static void do_unit(void *self, int unit, int worker) {
    struct scorer *j = self;
    struct predict_seat *at = &j->seat[worker];
    if (!at->open) {
        at->open = true;
        worker_init(&at->w, worker);
        at->a = j->p ? attach_new(j->p->plan, j->m) : NULL;
        if (at->a) attach_for_task(at->a, j->p->at);
    }
    struct unit_call x = { j, unit, at, true };
    size_t lacks = mem_guard(predict_unit, &x);
    if (lacks) {
        arena_drop(at->w.arena);
        atomic_store(&j->lacks, lacks);
    }
    if (x.good) return;
    int first = atomic_load(&j->bad_unit);
    while (unit < first && !atomic_compare_exchange_weak(&j->bad_unit, &first, unit)) continue;
}

static bool watch_units(void *self, int done) {
    const struct scorer *j = self;
    return j->work->watch(j->work->self, done);
}

int predictor_units(const struct model *m, const struct predictor *p, const struct predictor_work *work,
                    struct crew *crew, struct err *e) {
    int workers = crew_width(crew), rc = 0;
    struct scorer j = { .m = m, .p = p, .work = work };
    j.bad_row = xcalloc((size_t)work->units, sizeof *j.bad_row);
    j.seat = xcalloc((size_t)workers, sizeof *j.seat);
    atomic_init(&j.bad_unit, work->units);
    atomic_init(&j.lacks, 0);
    if (!crew_do(crew,
                 &(struct crew_work){ &j, work->units, do_unit, NULL, work->watch ? watch_units : NULL }))
        rc = err_set(e, ERR_INTERRUPTED, "canceled");
    for (int i = 0; i < workers; i++) {
        if (!j.seat[i].open) continue;
        if (j.seat[i].a) attach_free(j.seat[i].a);
        worker_release(&j.seat[i].w);
    }
    int bad = atomic_load(&j.bad_unit);
    size_t lacks = atomic_load(&j.lacks);
    if (!rc && lacks) {
        err_memory(e, lacks, "use a smaller --max-length or fewer --workers");
        rc = err_prefix(e, "%s", work->path ? work->path : "text");
    }
    if (!rc && bad < work->units)
        rc = err_set(e, ERR_FAILED, "%s: example %llu: NaN or infinite logits",
                     work->path ? work->path : "text", (unsigned long long)j.bad_row[bad] + 1);
    free(j.seat);
    free(j.bad_row);
    return rc;
}

/* Scoring of a split. */
struct headed {
    const struct model *m;
    const struct predictor *p;
    struct scoring *s;
    const struct embed_how *how; /* NULL: only scores */
    atomic_size_t rows;          /* completed */
};

static bool score_unit(void *self, int unit, struct worker *w, struct attach *a, uint64_t *bad) {
    struct headed *h = self;
    bool finite = scoring_chunk(h->s, unit, w->tape, w->arena, a, h->m, h->p ? h->p->params : NULL,
                                h->p ? h->p->generated : NULL, bad);
    atomic_fetch_add(&h->rows, h->s->first[unit + 1] - h->s->first[unit]);
    return finite;
}

static bool predict_tell_rows(void *self, int done) {
    struct headed *h = self;
    (void)done;
    return h->how->watch(h->how->self, atomic_load(&h->rows));
}

static int score_all(const struct model *m, const struct predictor *p, struct scoring *s, struct crew *crew,
                     const struct embed_how *how, struct err *e) {
    struct headed h = { .m = m, .p = p, .s = s, .how = how };
    atomic_init(&h.rows, 0);
    const struct predictor_work work = { &h, s->chunks, score_unit, s->data->path,
                                         how && how->watch ? predict_tell_rows : NULL };
    return predictor_units(m, p, &work, crew, e);
}

static void copy_out(const struct predictor *p, const struct scoring *s, double *probabilities,
                     double *logits) {
    size_t n = (size_t)s->outputs, rows = s->data->examples;
    if (logits) memcpy(logits, s->logits, rows * n * sizeof *logits);
    for (size_t i = 0; i < rows && probabilities; i++) {
        if (predictor_is_regression(p)) probabilities[i] = s->logits[i];
        else if (p->several)
            for (size_t k = 0; k < n; k++) probabilities[i * n + k] = 1 / (1 + exp(-s->logits[i * n + k]));
        else softmax(s->logits + i * n, s->outputs, probabilities + i * n);
    }
}

static int run_scoring(struct predictor *p, const struct dataset *d, struct crew *crew,
                       double *probabilities, double *logits, struct scoring *s, struct err *e) {
    scoring_init(s, d, predictor_classes(p));
    s->task = p->at;
    int rc = score_all(p->m, p, s, crew, NULL, e);
    if (!rc) copy_out(p, s, probabilities, logits);
    return rc;
}

int predictor_run(struct predictor *p, const struct dataset *d, struct crew *crew, double *probabilities,
                  double *logits, struct err *e) {
    struct scoring s;
    int rc = run_scoring(p, d, crew, probabilities, logits, &s, e);
    scoring_release(&s);
    return rc;
}

int predictor_evaluate(struct predictor *p, const struct dataset *d, struct crew *crew, int positive,
                       double *probabilities, double *logits, struct metrics *out, struct err *e) {
    struct scoring s;
    if (d->kind != predictor_label_kind(p))
        return err_set(e, ERR_USAGE,
                       "%s: incompatible labels: the file has %s, but the run or model predicts %s", d->path,
                       task_kind_name(d->kind), task_kind_name(predictor_label_kind(p)));
    int rc = run_scoring(p, d, crew, probabilities, logits, &s, e);
    if (!rc) scoring_metrics(&s, positive, out);
    scoring_release(&s);
    return rc;
}

/* ---- embeddings ---- */

/* layer -1: that of the retriever. */
static int bad_vector(const struct scoring *s, size_t row, int layer, struct err *e) {
    char where[32] = "of the retriever";
    if (layer >= 0) snprintf(where, sizeof where, "at layer %d", layer);
    return err_set(e, ERR_FAILED, "%s: example %llu: NaN or infinite vector %s",
                   s->data->path ? s->data->path : "text", (unsigned long long)s->data->example[row].id + 1,
                   where);
}

static int check_vectors(const struct scoring *s, const struct model *m, size_t retrieved, struct err *e) {
    size_t width = (size_t)m->arch.width;
    for (size_t i = 0; i < s->data->examples * width; i++)
        for (int l = 0; l <= m->arch.encoder_layers; l++)
            if (s->layer[l] && !isfinite(s->layer[l][i])) return bad_vector(s, i / width, l, e);
    for (size_t i = 0; s->retrieved && i < s->data->examples * retrieved; i++)
        if (!isfinite(s->retrieved[i])) return bad_vector(s, i / retrieved, -1, e);
    return 0;
}

static int predict_embed(const struct model *m, const struct predictor *p, const struct dataset *d,
                         const struct embed_how *how,
                         real *const *layer, double *probabilities, struct err *e) {
    struct scoring s;
    struct err logits = ERR_INIT;
    BUG_IF(!d->max_len);
    BUG_IF(how->retrieved && (!p || !predictor_retrieved(p)));
    scoring_init(&s, d, p ? predictor_classes(p) : 1);
    s.task = p ? p->at : 0;
    s.layer = layer;
    s.mean = how->mean;
    s.precision = how->precision;
    s.retrieved = how->retrieved;
    int scored = score_all(m, p, &s, how->crew, how, &logits), rc = 0;
    bool given_up = scored == ERR_INTERRUPTED;
    if (!given_up)
        rc = check_vectors(&s, m, p ? (size_t)predictor_retrieved(p) : 0,
                           e); /* reports the first row */
    if (!rc && scored && (probabilities || given_up)) {
        rc = scored;
        *e = logits;
    }
    if (!rc && probabilities) copy_out(p, &s, probabilities, NULL);
    scoring_release(&s);
    return rc;
}

int predictor_embed(struct predictor *p, const struct dataset *d, const struct embed_how *how,
                    real *const *layer, double *probabilities, struct err *e) {
    return predict_embed(p->m, p, d, how, layer, probabilities, e);
}

int model_embed(const struct model *m, const struct dataset *d, const struct embed_how *how,
                real *const *layer, struct err *e) {
    return predict_embed(m, NULL, d, how, layer, NULL, e);
}
