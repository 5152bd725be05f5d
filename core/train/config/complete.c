#include "core/train/config/complete.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/leopard.h"
#include "core/data/text_form.h"
#include "core/method/budget.h"
#include "core/method/functions.h"
#include "core/method/masked.h"
#include "core/method/network.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"
#include "core/train/config/sampling.h"
#include "core/train/meta/episodes.h"
#include "core/train/meta/masking.h"
#include "core/train/run/distil.h"
#include "core/train/run/run.h"

/* ---- model and task together ---- */

int run_max_len(const struct run_config *c, const struct model *m) {
    int longest = method_longest(&c->method, &m->arch);
    const struct stages *s = config_stages(c);
    for (int k = 0; s && k < s->count; k++) {
        int own = method_longest(&s->stage[k].method, &m->arch);
        if (own < longest) longest = own;
    }
    return c->max_len < longest ? c->max_len : longest;
}

int run_max_target(const struct run_config *c, const struct model *m) {
    int longest = arch_longest(&m->arch);
    return c->max_target < longest ? c->max_target : longest;
}

double run_dropout(const struct run_config *c, double published) {
    return c->dropout < 0 ? published : c->dropout;
}

/* Whether a model can take a task in the form that is asked for. */
static int form_fits(enum form form, const struct arch *a, const char *model, const char *task, bool texts,
                     struct err *e) {
    bool writes = arch_generates(a);
    const char *family = family_name(a->family);
    if (texts && !writes)
        return err_set(
            e, ERR_USAGE,
            "%s: has source and target texts, and %s (%s) is an encoder, which writes none; give a T5, BART "
            "or mBART, or a task with labels",
            task, model, family);
    if (texts && form == FORM_CLASSES)
        return err_set(e, ERR_USAGE,
                       "--form classes: %s has source and target texts, no labels; leave --form out", task);
    if (form == FORM_CLASSES && writes)
        return err_set(e, ERR_USAGE,
                       "--form classes: %s (%s) is an encoder\u2013decoder, which petri trains text to text; "
                       "--form text has it write the label, a BERT or RoBERTa takes a head",
                       model, family);
    if (form == FORM_TEXT && !writes)
        return err_set(
            e, ERR_USAGE,
            "--form text: %s (%s) is an encoder, which writes no text; give a T5, BART or mBART, or --form "
            "classes",
            model, family);
    return 0;
}

/* Which form a task is to take; FORM_AUTO when it cannot (*e says what could). */
static enum form form_of(const struct run_config *c, const struct model *m, const struct task *t,
                         struct err *e) {
    if (t->gold == DATA_MASKED) {
        struct masking *k = masking_new(m, c->whole_words, e);
        masking_free(k);
        return k ? FORM_MASKED : FORM_AUTO;
    }
    if (form_fits(c->form, &m->arch, m->name, t->name, t->gold == DATA_TEXT, e)) return FORM_AUTO;
    return arch_generates(&m->arch) ? FORM_TEXT : FORM_CLASSES;
}

int run_prepare_task(const struct run_config *c, const struct model *m, struct task *t, struct err *e) {
    enum form form = form_of(c, m, t, e);
    if (form == FORM_AUTO) return e->code;
    const struct text_form how = { .prefix = c->prefix };
    int rc = form == FORM_TEXT && t->kind != DATA_TEXT ? task_as_text(t, &how, e) : 0;
    size_t max_target = form == FORM_TEXT ? (size_t)run_max_target(c, m) : 0;
    if (!rc)
        rc = task_encode(t, m->tokenizer, (size_t)run_max_len(c, m), max_target, m->arch.vocabulary, e);
    return rc;
}

int run_outputs(const struct task *t) {
    return t->kind == DATA_TEXT         ? 0
           : t->kind == DATA_MASKED     ? PLAN_WORDS
           : t->kind == DATA_REGRESSION ? 1
                                        : t->classes;
}

/* ---- what was left to defaults ---- */

double config_default_lr(const struct method *m, const char **why) {
    struct method usual = *m;
    /* When ranks are pruned depends on a run's length: it is no other method for that. */
    if (usual.budget.on) network_take_usual(network_find("budget"), &usual);
    const struct preset *p = method_preset(&usual);
    const char *reason = p ? p->name : "no published method";
    double lr = p ? p->lr : 1e-3;
    for (int i = 0; !p && i < m->count; i++) {
        const struct module *x = &m->module[i];
        if (!module_in_weight(x) || function_of(x)->vectors_only || x->target == TARGET_NORMS) continue;
        lr = preset_find("full")->lr;
        reason = "whole matrices are trained";
    }
    if (why) *why = reason;
    return lr;
}

int64_t epoch_steps(double epochs, size_t rows, int batch) {
    int64_t per_epoch = ((int64_t)rows + batch - 1) / batch;
    return (int64_t)ceil(epochs * (double)per_epoch - 1e-9);
}

int64_t config_steps(const struct run_config *c, size_t train_rows) {
    return c->steps > 0 ? c->steps : epoch_steps(c->epochs, train_rows, c->batch);
}

int64_t config_warmup_steps(const struct run_config *c, int64_t steps) {
    return (int64_t)(c->warmup < 1 ? ceil(c->warmup * (double)steps) : floor(c->warmup));
}

bool config_has_dev(const struct run_config *c) { return c->dev_file || c->split > 0; }

struct task_source config_source(const struct run_config *c, const char *assets) {
    bool files = !c->task_folder && (c->train_file || c->dev_file);
    bool draws = files && c->train_file && config_is_fewshot(c) && leopard_is_draw(c->train_file);
    return (struct task_source){
        .where = c->task_folder ? c->task_folder : files ? NULL : c->task,
        .train = files ? c->train_file : NULL,
        .dev = files ? c->dev_file : NULL,
        .format = c->form == FORM_MASKED ? DATA_LINES : draws ? DATA_LIST : DATA_AUTO,
        .assets = assets,
        .text = c->text_column,
        .text_b = c->text_b_column,
        .label = c->label_column,
        .source = c->source_column,
        .target = c->target_column,
        .header = c->header ? DATA_HEADER_YES : c->no_header ? DATA_HEADER_NO : DATA_HEADER_AUTO,
        .delimiter = c->delimiter,
        .no_gold = c->no_gold,
        .kind = c->regression < 0   ? DATA_KIND_AUTO
                : c->regression > 0 ? DATA_KIND_REGRESSION
                                    : DATA_KIND_CLASSES,
        .official_dev = c->official_dev,
        .no_dev = c->no_dev,
        .split = c->split,
        .split_validation = c->split_validation,
        .split_seed = c->split_seed,
        .limit = c->limit,
        .limit_seed = c->limit_seed,
        .dev_rows = (size_t)c->eval_rows,
        .positive = c->positive,
        .metric = config_is_meta(c) ? NULL : c->metric, /* over episodes it is none of the rows' */
    };
}

/* Whether rows labelled so have the metric; NULL: no metric is asked for. */
static int check_metric(const char *metric, enum data_kind gold, const char *task, struct err *e) {
    int id = metric ? metric_find(metric) : -1;
    if (metric && id < 0) return err_set(e, ERR_USAGE, "--metric %s: no such metric", metric);
    if (metric && !metric_fits((enum metric_id)id, gold))
        return err_set(e, ERR_USAGE, "--metric %s: %s has %s", metric, task, task_kind_name(gold));
    return 0;
}

static int resolve_metric(struct run_config *rows, const struct task *t, struct err *e) {
    if (check_metric(rows->metric, t->gold, t->name, e)) return e->code;
    int id = rows->metric ? metric_find(rows->metric) : (int)t->metric;
    xreplace(&rows->metric, metric_name((enum metric_id)id));
    return 0;
}

static int resolve_form(struct run_config *c, const struct model *m, const struct task *t, struct err *e) {
    enum form form = form_of(c, m, t, e);
    if (form == FORM_AUTO) return e->code;
    BUG_IF((form == FORM_TEXT) != (t->kind == DATA_TEXT));
    c->form = form;
    if (form == FORM_TEXT) {
        c->max_target = run_max_target(c, m);
        BUG_IF(t->train.max_target != (size_t)c->max_target);
    }
    return 0;
}

/* realpath's, or the path itself where there is no such file; caller frees. */
static char *complete_absolute(const char *path) {
    char *full = path ? realpath(path, NULL) : NULL;
    return full ? full : path ? xstrdup(path) : NULL;
}

static char *complete_folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash != path ? xstrndup(path, (size_t)(slash - path)) : xstrdup(path);
}

static void hold_text(char **to, char *value) {
    free(*to);
    *to = value;
}

static void complete_files(struct run_config *c, const struct task *t) {
    const struct dataset *dev = t->has_test ? &t->test : t->devs && !(c->split > 0) ? &t->dev[0] : NULL;
    bool folder = config_source(c, NULL).where != NULL;
    hold_text(&c->train_file, complete_absolute(t->train.path));
    hold_text(&c->dev_file, dev ? complete_absolute(dev->path) : NULL);
    xreplace(&c->train_sha256, t->train.sha256);
    xreplace(&c->dev_sha256, dev ? dev->sha256 : NULL);
    xreplace(&c->second_dev_sha256, dev == &t->dev[0] && t->devs > 1 ? t->dev[1].sha256 : NULL);
    hold_text(&c->task_folder, folder && c->train_file ? complete_folder_of(c->train_file) : NULL);
    xreplace(&c->task, t->name);
    /* the names that stand in sources, for rows that come later */
    for (int i = 0; i < 2 && t->kind == DATA_TEXT && t->gold != DATA_TEXT && !t->layout; i++) {
        char **column = i ? &c->text_b_column : &c->text_column;
        if (!*column && t->train.field[i] && *t->train.field[i] != '#') xreplace(column, t->train.field[i]);
    }
}

/* One task's rows; `rows` is where c describes them. */
static int complete_complete_task(struct run_config *c, struct run_config *rows, const struct model *m,
                                  const struct task *t, struct err *e) {
    if (!t->has_train) return err_set(e, ERR_USAGE, "%s: has no rows to train on", t->name);
    if (!t->train.rows) return err_set(e, ERR_INPUT, "%s: no row to train on", t->train.path);
    if (!t->train.max_len || t->train.max_len != (size_t)c->max_len)
        BUG("the task is encoded at %zu tokens, not %d", t->train.max_len, c->max_len);
    if (resolve_form(c, m, t, e) || resolve_metric(rows, t, e)) return e->code;
    complete_files(rows, t);
    return 0;
}

/* Lists of several tasks: what only they have, and the name that they have together. */
static int complete_together(struct run_config *c, const struct run_tasks *tasks, struct err *e) {
    struct sampling s = config_sampling(c);
    char text[48];
    struct buf name = BUF_INIT;
    if (!c->tasks) return 0;
    for (int i = 1; i < tasks->count; i++)
        if ((tasks->task[i]->gold == DATA_TEXT) != (tasks->task[0]->gold == DATA_TEXT))
            return err_set(
                e, ERR_USAGE,
                "--tasks: %s has %s and %s has %s: labelled tasks and source/target texts are not trained in "
                "one run",
                c->of[0].task_name, task_kind_name(tasks->task[0]->gold), c->of[i].task_name,
                task_kind_name(tasks->task[i]->gold));
    if (!c->sampling && config_has_join(c))
        s = (struct sampling){ SAMPLING_STRATIFIED, 10 }; /* each row has a positive */
    sampling_text(&s, text);
    config_put(c, "sampling", text);
    for (int i = 0; i < c->tasks; i++) buf_printf(&name, "%s%s", i ? "+" : "", c->of[i].task_name);
    hold_text(&c->task, buf_take(&name));
    xreplace(&c->metric, "average");
    return 0;
}

/* Its corpus: where it lies, what is in it, and that the run is called by it where it has no tasks. */
static int complete_corpus(struct run_config *c, struct err *e) {
    const char *file = episodes_file(c), *slash;
    char sha256[65], *full;
    if (file_sha256(file, sha256, e)) return e->code;
    xreplace(&c->episodes_sha256, sha256);
    full = complete_absolute(file);
    hold_text(&c->episodes, xprintf("smlmt:%s", full));
    free(full);
    if (config_has_rows(c)) return 0;
    slash = strrchr(c->episodes, '/');
    hold_text(&c->task, xprintf("smlmt:%s", slash + 1));
    return 0;
}

/* Episodes have steps alone. */
static int check_epochs(const struct run_config *c, struct err *e) {
    struct run_config usual;
    config_init(&usual);
    bool epochs = c->epochs > 0 && c->epochs != usual.epochs;
    config_release(&usual);
    return epochs ? err_set(e, ERR_USAGE, "--epochs: episodes have no passes over rows; say --steps") : 0;
}

/* What a run over episodes has by itself: a head for their classes, so many steps, a name of its corpus. */
static int complete_meta(struct run_config *c, const struct model *m, struct err *e) {
    if (!config_is_meta(c)) return 0;
    if (regime_refuse(c, &m->arch, e) || check_epochs(c, e)) return e->code;
    if (!c->method.generated.on) method_take_generated(&c->method);
    if (!c->steps) c->steps = META_STEPS;
    c->epochs = 0;
    c->form = FORM_CLASSES;
    xreplace(&c->metric, "after");
    return c->episodes ? complete_corpus(c, e) : 0;
}

int config_complete(struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                    struct err *e) {
    size_t rows = 0;
    BUG_IF(tasks->count != config_task_count(c));
    char *text = method_text(&c->method);
    int rc = method_parse(text, &c->method, e);
    free(text);
    if (!rc) rc = config_complete_regime(c, e);
    if (rc) return rc;
    if (config_is_meta(c)) xreplace(&c->metric, NULL); /* said anew below */
    c->max_len = run_max_len(c, m);
    for (int i = 0; i < tasks->count; i++) {
        rows += tasks->task[i]->train.rows;
        if (!complete_complete_task(c, config_rows(c, i), m, tasks->task[i], e)) continue;
        return c->tasks ? err_prefix(e, "task %s", c->of[i].task_name) : e->code;
    }
    if (!c->model) xreplace(&c->model, m->folder);
    hold_text(&c->model_folder, complete_absolute(m->folder));
    xreplace(&c->model_sha256, m->sha256);
    xreplace(&c->model_facts, m->facts);
    if (complete_together(c, tasks, e) || complete_meta(c, m, e) || stages_complete(c, rows, e))
        return e->code;
    if (c->lr == 0) c->lr = config_default_lr(&c->method, NULL);
    c->steps = config_steps(c, rows);
    if (c->steps < 1) return err_set(e, ERR_USAGE, "--epochs: at least one step must come of it");
    return 0;
}

/* ---- what goes together ---- */

/* An option that was set and would change nothing. */
static int refuse_idle(const struct run_config *c, struct err *e) {
    struct run_config usual;
    const struct option *idle = NULL;
    config_init(&usual);
    for (size_t i = 0; i < option_count() && !idle; i++) {
        const struct option *o = option_at(i);
        if (o->scope != OPTION_EVERY && !option_has_say(c, o, c->form == FORM_TEXT) &&
            !option_same(c, &usual, o))
            idle = o;
    }
    config_release(&usual);
    if (!idle) return 0;
    if (idle->scope == OPTION_OF_JOIN)
        return err_set(e, ERR_USAGE,
                       "--%s: is of a loss across the batch; this method has none (+ retriever)", idle->name);
    if (idle->scope == OPTION_OF_SHARED)
        return err_set(e, ERR_USAGE, "--%s: is of --share-frozen on; nothing else is kept there", idle->name);
    if (idle->scope == OPTION_OF_ROWS)
        return err_set(e, ERR_USAGE,
                       "--%s: an outer step takes episodes, not rows: say --regime 'meta(tasks=N, support=N, "
                       "query=N)'",
                       idle->name);
    if (idle->scope == OPTION_OF_META)
        return err_set(e, ERR_USAGE, "--%s: is of a run over episodes (--regime meta)", idle->name);
    if (idle->scope == OPTION_OF_PROMPT_TEXT)
        return err_set(e, ERR_USAGE, "--%s: no module starts from it: say prompt(init=text)", idle->name);
    if (idle->scope == OPTION_OF_PRODUCT)
        return err_set(e, ERR_USAGE, "--%s: is of prompts that are products (mpt, or prompt(source=product))",
                       idle->name);
    if (idle->scope == OPTION_OF_TEACHERS)
        return err_set(e, ERR_USAGE, "--%s: nobody teaches this run: say --teachers", idle->name);
    if (idle->scope == OPTION_OF_MASKED)
        return err_set(e, ERR_USAGE, "--%s: is of masked words (--form masked)", idle->name);
    if (idle->scope == OPTION_OF_TASKS)
        return err_set(e, ERR_USAGE, "--%s: is of several tasks; this run has one (--tasks A,B names more)",
                       idle->name);
    if (idle->scope == OPTION_OF_TEXTS)
        return err_set(e, ERR_USAGE, "--%s: is of text to text; %s is trained with a head over %s",
                       idle->name, c->task, c->model);
    return err_set(e, ERR_USAGE, "--%s: is of %s; this run has --optimizer %s", idle->name,
                   idle->scope == OPTION_OF_SGD ? "sgd" : "adamw", optimizer_name(c->optimizer));
}

/* The record is JSON, which is UTF-8: a path or column that is not would be another one when it is read
 * back, and the run could be trained but not used. */
static int refuse_bytes(const struct run_config *c, struct err *e) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        const char *text = o->kind == OPTION_TEXT ? option_text(c, o) : NULL;
        if (!text || utf8_valid(text, strlen(text))) continue;
        if (o->is & OPTION_DECIDES)
            return err_set(e, ERR_USAGE,
                           "--%s: \"%s\" is not UTF-8, and the record of a run is; name a column by its "
                           "position, as #2",
                           o->name, text);
        return err_set(e, ERR_USAGE,
                       "%s: the path is not UTF-8, and the run could not find it again; rename it", text);
    }
    return 0;
}

/* A seed without a draw. */
static int check_draws(const struct run_config *c, struct err *e) {
    if (c->split_seed && !(c->split > 0) && !c->split_validation)
        return err_set(e, ERR_USAGE, "--split-seed: needs --split or --split-validation with it");
    if (c->limit_seed && !(c->limit > 0)) return err_set(e, ERR_USAGE, "--limit-seed: needs --limit with it");
    return 0;
}

/* What a run can be learned by so far. */
static int check_regime(const struct run_config *c, struct err *e) {
    const struct regime r = config_regime(c);
    if (r.kind == REGIME_FEWSHOT)
        return err_set(
            e, ERR_USAGE,
            "--regime fewshot: is of petri adapt and petri fewshot, whose draws are runs of their own");
    if (r.kind != REGIME_META && c->method.generated.on)
        return err_set(
            e, ERR_USAGE,
            "--method: its generated head is made for the classes of an episode: say --regime meta, or leave "
            "+ generated-head out");
    if (r.kind == REGIME_META && c->embed_every)
        return err_set(e, ERR_USAGE, "--embed-every: is of a run with one task, not over episodes");
    return 0;
}

/* What does not go with masked words, which are others at each step. */
static int check_masked(const struct run_config *c, struct err *e) {
    if (c->form != FORM_MASKED) return 0;
    if (c->tasks)
        return err_set(e, ERR_USAGE, "--form masked: is of one file of texts, not of several tasks");
    if (config_is_meta(c))
        return err_set(e, ERR_USAGE,
                       "--form masked: is not over episodes; --episodes smlmt:FILE masks words of those");
    if (config_has_join(c))
        return err_set(e, ERR_USAGE, "--form masked: has no loss across the batch; leave + retriever out");
    if (c->share_frozen)
        return err_set(e, ERR_USAGE, "--share-frozen: masked words are others at each step; leave it off");
    return 0;
}

static int check_prompt_text(const struct run_config *c, struct err *e) {
    if (!config_takes_prompt_text(c) || (c->prompt_text && *c->prompt_text)) return 0;
    return err_set(e, ERR_USAGE,
                   "--method: a prompt with init=text starts from a text: say --prompt-text TEXT");
}

/* Teachers, one for each task, of what is learned step by step from rows. */
static int check_teachers(const struct run_config *c, int tasks, struct err *e) {
    if (!c->teachers) return 0;
    int n = c->teachers->count;
    if (config_is_meta(c) || config_is_staged(c))
        return err_set(e, ERR_USAGE, "--teachers: teachers over episodes or in stages are not built");
    if (config_has_join(c))
        return err_set(e, ERR_USAGE,
                       "--teachers: teachers beside a loss across the batch (+ retriever) are not built");
    if (c->form == FORM_MASKED)
        return err_set(e, ERR_USAGE, "--teachers: teachers of masked words are not built");
    if (n == tasks || !tasks) return 0;
    return err_set(e, ERR_USAGE,
                   "--teachers %s: names %d, and the run has %d task%s: one for each, in their order",
                   c->teachers->text, n, tasks, tasks == 1 ? "" : "s");
}

/* What options, method and rows are to one another; what is not known of the rows is passed over. */
static int check_together(const struct run_config *c, const struct config_facts *f, struct err *e) {
    if (c->accumulate > c->batch)
        return err_set(e, ERR_USAGE, "--gradient-accumulation-steps %d: more than the batch of %d rows", c->accumulate,
                       c->batch);
    if (check_draws(c, e) || check_regime(c, e) || check_masked(c, e) || check_prompt_text(c, e) ||
        check_teachers(c, f->tasks, e))
        return e->code;
    if (stages_check(c, e)) return e->code;
    const char *fault = config_is_staged(c) || !f->steps ? NULL : budget_fault(&c->method, f->steps);
    if (fault) return err_set(e, ERR_USAGE, "%s", fault);
    if (!config_is_staged(c) && masked_is_fixed(&c->method))
        return err_set(
            e, ERR_USAGE,
            "--method: pruning(mask=fixed) keeps the largest changes that a stage before it learned: say "
            "--regime 'stages(diff-pruning; diff-pruning + pruning(mask=fixed))'");
    bool instances = c->method.retriever.instance != INSTANCE_NONE;
    if (config_has_join(c) && !c->tasks)
        return err_set(
            e, ERR_USAGE,
            "retriever: its %s loss tells tasks apart, and this run has one: --tasks A,B names more, or say "
            "%s=none",
            instances ? "instance" : "prototype", instances ? "instance" : "prototype");
    if (config_has_join(c) && instances && config_sampling(c).rule == SAMPLING_ONE_TASK)
        return err_set(e, ERR_USAGE,
                       "--sampling %s: the retriever's instance loss needs rows of several tasks in a batch: "
                       "say stratified, proportional or temperature",
                       c->sampling->text);
    if (c->embed_every && f->tasks && !f->of[0].dev)
        return err_set(e, ERR_USAGE, "--embed-every: %s has no dev rows to embed",
                       c->task ? c->task : f->of[0].name);
    for (int i = 0; i < f->tasks && c->tasks; i++)
        if (!f->of[i].dev)
            return err_set(e, ERR_USAGE,
                           "--tasks: %s has no dev rows: \"best\" is of all tasks, so each needs some",
                           f->of[i].name);
    if (f->steps && c->warmup >= 1 && config_warmup_steps(c, f->steps) >= f->steps)
        return err_set(
            e, ERR_USAGE,
            "--warmup %.0f: the run has %lld steps, so its rate would never be reached; give fewer, or a "
            "share below 1, as 0.1",
            floor(c->warmup), (long long)f->steps);
    return 0;
}

/* The labelled rows of a split. */
static struct split_facts split_known(const struct task *t, const struct dataset *d) {
    struct split_facts x = { .path = d->path };
    size_t *rows = xcalloc((size_t)t->classes + 1, sizeof *rows);
    for (size_t i = 0; i < d->rows; i++)
        if (d->row[i].label >= 0 && d->row[i].label < t->classes) rows[d->row[i].label]++, x.rows++;
    for (int k = t->classes - 1; k >= 0; k--)
        if (!rows[k]) x.empty = t->class_name[k];
    free(rows);
    return x;
}

struct config_rows_facts config_rows_known(const char *name, const struct task *t) {
    struct config_rows_facts f = { .name = name, .gold = t->gold, .dev = t->devs > 0 };
    if (t->kind != DATA_CLASSES) return f;
    f.classes = t->classes;
    f.split[0] = split_known(t, &t->train);
    if (f.dev) f.split[1] = split_known(t, &t->dev[0]);
    return f;
}

int config_fits(const struct run_config *c, const struct config_facts *f, struct err *e) {
    const struct regime regime = config_regime(c);
    bool meta = regime.kind == REGIME_META;
    if (meta && (regime_agrees(&regime, e) || regime_refuse(c, f->arch, e) || check_epochs(c, e) ||
                 episodes_fit(c, &regime, f->of, f->tasks, e)))
        return e->code;
    for (int i = 0; i < f->tasks && !meta; i++) {
        const struct config_rows_facts *r = &f->of[i];
        if (f->arch && r->gold != DATA_MASKED &&
            form_fits(c->form, f->arch, f->model, r->name, r->gold == DATA_TEXT, e))
            return e->code;
        if (check_metric(config_rows_of(c, i)->metric, r->gold, r->name, e)) return e->code;
    }
    return check_together(c, f, e);
}

int config_check(const struct run_config *c, const struct run_tasks *tasks, struct err *e) {
    struct config_facts f = {
        .steps = c->steps, .tasks = tasks->count
    }; /* its form and metric were checked when it was completed */
    if (c->header && c->no_header) return err_set(e, ERR_USAGE, "--header and --no-header: give one");
    if (refuse_bytes(c, e) || refuse_idle(c, e)) return e->code;
    for (int i = 0; i < tasks->count; i++)
        f.of[i] = config_rows_known(config_task_name(c, i), tasks->task[i]);
    return check_together(c, &f, e);
}

int config_check_plan(const struct plan *p, struct err *e) {
    if (p->trained) return 0;
    return err_set(e, ERR_USAGE,
                   "V41: nothing is trained: a model that writes text has no head of its own, so add a "
                   "module, as lora");
}

void config_settle(struct run_config *c, bool texts) {
    for (size_t i = 0; i < option_count(); i++)
        if (!option_has_say(c, option_at(i), texts)) option_reset(c, option_at(i));
}

void config_reuse(struct run_config *c) {
    config_settle(c, c->form == FORM_TEXT);
    /* such a one was cut to this when it was trained */
    if (c->warmup >= 1 && config_warmup_steps(c, c->steps) >= c->steps && c->steps > 0)
        c->warmup = (double)(c->steps - 1);
    if (c->epochs > 0) c->steps = 0;
    if (config_is_fewshot(c)) config_put(c, "regime", NULL); /* on all rows it is an ordinary run */
}
