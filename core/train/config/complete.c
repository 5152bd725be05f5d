#include "core/train/config/complete.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/causal.h"
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

int run_max_len(const struct run_config *given, const struct model *m) {
    struct run_config c[1] = { *given };
    config_take_length(c, &m->arch);
    int longest = method_max_length(&c->method, &m->arch);
    const struct stages *s = config_stages(c);
    for (int k = 0; s && k < s->count; k++) {
        int own = method_max_length(&s->stage[k].method, &m->arch);
        if (own < longest) longest = own;
    }
    return c->max_len < longest ? c->max_len : longest;
}

int run_max_target(const struct run_config *c, const struct model *m) {
    int longest = arch_max_length(&m->arch);
    return c->max_target < longest ? c->max_target : longest;
}

double run_dropout(const struct run_config *c, double published) {
    return c->dropout < 0 ? published : c->dropout;
}

/* Refuses a form that the model or the task does not support. */
static int form_fits(enum form form, const struct arch *a, const char *model, const char *task, bool texts,
                     struct err *e) {
    bool writes = arch_generates(a);
    const char *family = family_name(a->family), *kind = a->causal ? "decoder-only" : "an encoder";
    if (texts && !writes && !a->causal)
        return err_set(
            e, ERR_USAGE,
            "%s: a text-to-text task needs an encoder\u2013decoder or decoder-only model: %s (%s) is %s; use a "
            "T5, BART or mBART model or a decoder-only model, or a task with labels",
            task, model, family, kind);
    if (texts && form == FORM_CLASSES)
        return err_set(e, ERR_USAGE,
                       "--form classes: %s has source and target texts instead of labels; omit --form", task);
    if (form == FORM_CLASSES && writes)
        return err_set(e, ERR_USAGE,
                       "--form classes: not supported for encoder\u2013decoder models: %s (%s); use --form "
                       "text to generate the label, or a BERT or RoBERTa model for a classification head",
                       model, family);
    if (form == FORM_TEXT && !writes && !(texts && a->causal))
        return err_set(
            e, ERR_USAGE,
            "--form text: needs an encoder\u2013decoder model: %s (%s) is %s; use a T5, BART or "
            "mBART model, or --form classes",
            model, family, kind);
    return 0;
}

/* Returns the form in which the model is trained on the task; FORM_AUTO with *e when there is none. */
static enum form form_of(const struct run_config *c, const struct model *m, const struct task *t,
                         struct err *e) {
    if (t->label_kind == DATA_MASKED) {
        struct masking *k = masking_new(m, c->whole_words, e);
        masking_free(k);
        return k ? FORM_MASKED : FORM_AUTO;
    }
    if (form_fits(c->form, &m->arch, m->name, t->name, t->label_kind == DATA_TEXT, e)) return FORM_AUTO;
    bool language = m->arch.causal && t->label_kind == DATA_TEXT;
    return arch_generates(&m->arch) || language ? FORM_TEXT : FORM_CLASSES;
}

/* Selects the chat template; that of the model only where a split has chats. */
static int find_template(const struct model *m, const struct task *t, const char *chat,
                         struct chat_template *c, struct err *e) {
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    bool chats = false;
    memset(c, 0, sizeof *c);
    if (chat) return chat_template_by_name(c, chat, e);
    for (int i = task_splits(t, split, name) - 1; i >= 0; i--) chats = chats || dataset_has_chats(split[i]);
    return chats ? model_chat_template(m->folder, c, e) : 0;
}

int run_encode_language(const struct model *m, struct task *t, const struct language_coding *by,
                        struct err *e) {
    struct chat_template c;
    const struct causal_coding how = { .max_len = by->max_len, .max_target = by->max_target, .chat = &c,
                                       .end = m->arch.eos_id, .embedding_rows = m->arch.vocabulary,
                                       .wrap = by->chat != NULL, .all = by->all };
    if (how.end < 0) {
        char *place = model_config_file(m);
        err_set(e, ERR_INPUT, "%s: \"eos_token_id\" is missing: a language model is trained to end its output with "
                              "this token", place);
        free(place);
        return e->code;
    }
    if (model_needs_tokenizer(m, e)) return e->code;
    int rc = find_template(m, t, by->chat, &c, e);
    c.eos = m->arch.eos_id;
    if (!rc) rc = task_encode_causal(t, m->tokenizer, &how, e);
    chat_template_release(&c);
    return rc;
}

int run_prepare_task(const struct run_config *c, const struct model *m, struct task *t, struct err *e) {
    enum form form = form_of(c, m, t, e);
    if (form == FORM_AUTO) return e->code;
    const struct text_form how = { .prefix = c->prefix };
    int rc = form == FORM_TEXT && t->kind != DATA_TEXT ? task_as_text(t, &how, e) : 0;
    size_t max_len = (size_t)run_max_len(c, m);
    size_t max_target = form == FORM_TEXT ? (size_t)run_max_target(c, m) : 0;
    if (rc) return rc;
    if (c->loss_on == LOSS_ON_ALL && !(form == FORM_TEXT && m->arch.causal))
        return err_set(e, ERR_USAGE, "--loss-on all: applies only to prompts, chats and texts with a decoder-only "
                                     "model");
    if (t->train.shape == DATA_DOCUMENTS && !m->arch.causal)
        return err_set(e, ERR_USAGE, "%s: texts without labels or targets need a decoder-only model: %s (%s) is not "
                                     "one", t->name, m->name, family_name(m->arch.family));
    if (form != FORM_TEXT || !m->arch.causal)
        return task_encode(t, m->tokenizer, max_len, max_target, m->arch.vocabulary, e);
    if (!c->metric) task_take_metric(t, METRIC_LOSS);
    const struct language_coding by = { c->chat_template, c->loss_on == LOSS_ON_ALL, max_len, max_target };
    return run_encode_language(m, t, &by, e);
}

int run_outputs(const struct task *t) {
    return t->kind == DATA_TEXT         ? 0
           : t->kind == DATA_MASKED     ? PLAN_WORDS
           : t->kind == DATA_REGRESSION ? 1
                                        : t->classes;
}

/* ---- defaults ---- */

double config_default_lr(const struct method *m, const char **why) {
    struct method usual = *m;
    /* The pruning schedule of ranks depends on the number of steps; it does not make another method. */
    if (usual.budget.on) network_take_defaults(network_find("budget"), &usual);
    const struct preset *p = method_preset(&usual);
    const char *reason = p ? p->name : "custom method";
    double lr = p ? p->lr : 1e-3;
    for (int i = 0; !p && i < m->count; i++) {
        const struct module *x = &m->module[i];
        if (!module_in_weight(x) || function_of(x)->vectors_only || x->target == TARGET_NORMS) continue;
        lr = preset_find("full")->lr;
        reason = "full weight matrices";
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
        .unlabeled = c->no_gold,
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
        .metric = config_is_meta(c) ? NULL : c->metric, /* episodes have their own metric */
    };
}

/* Refuses a metric that is not defined for this kind of label; NULL: the default metric. */
static int check_metric(const char *metric, enum data_kind labels, const char *task, struct err *e) {
    int id = metric ? metric_find(metric) : -1;
    if (metric && id < 0) return err_set(e, ERR_USAGE, "--metric %s: unknown metric; must be %s", metric,
                                             metric_names);
    if (metric && !metric_fits((enum metric_id)id, labels))
        return err_set(e, ERR_USAGE, "--metric %s: not defined for %s, which has %s", metric, task,
                       task_kind_name(labels));
    return 0;
}

static int resolve_metric(struct run_config *rows, const struct task *t, struct err *e) {
    if (check_metric(rows->metric, t->label_kind, t->name, e)) return e->code;
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

/* Returns the absolute path, or the path itself where the file does not exist; caller frees. */
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
    /* the field names in source texts, for later examples */
    for (int i = 0; i < 2 && t->kind == DATA_TEXT && t->label_kind != DATA_TEXT && !t->layout; i++) {
        char **column = i ? &c->text_b_column : &c->text_column;
        if (!*column && t->train.field[i] && *t->train.field[i] != '#') xreplace(column, t->train.field[i]);
    }
}

/* Completes the data options of one task; `rows` is the part of c that describes them. */
static int complete_complete_task(struct run_config *c, struct run_config *rows, const struct model *m,
                                  const struct task *t, struct err *e) {
    if (!t->has_train) return err_set(e, ERR_USAGE, "%s: the task has no training set", t->name);
    if (!t->train.examples) return err_set(e, ERR_INPUT, "%s: no training examples", t->train.path);
    if (!t->train.max_len || t->train.max_len != (size_t)c->max_len)
        BUG("the task is encoded at %zu tokens, not %d", t->train.max_len, c->max_len);
    if (resolve_form(c, m, t, e) || resolve_metric(rows, t, e)) return e->code;
    complete_files(rows, t);
    return 0;
}

/* Completes the options of a multi-task run: sampling, joint name and metric. */
static int complete_together(struct run_config *c, const struct run_tasks *tasks, struct err *e) {
    struct sampling s = config_sampling(c);
    char text[48];
    struct buf name = BUF_INIT;
    if (!c->tasks) return 0;
    for (int i = 1; i < tasks->count; i++)
        if ((tasks->task[i]->label_kind == DATA_TEXT) != (tasks->task[0]->label_kind == DATA_TEXT))
            return err_set(
                e, ERR_USAGE,
                "--tasks: labeled and text-to-text tasks cannot be trained in one run: %s has %s and %s has "
                "%s",
                c->of[0].task_name, task_kind_name(tasks->task[0]->label_kind), c->of[i].task_name,
                task_kind_name(tasks->task[i]->label_kind));
    if (!c->sampling && config_has_join(c))
        s = (struct sampling){ SAMPLING_STRATIFIED, 10 }; /* each example has a positive */
    sampling_text(&s, text);
    config_put(c, "sampling", text);
    for (int i = 0; i < c->tasks; i++) buf_printf(&name, "%s%s", i ? "+" : "", c->of[i].task_name);
    hold_text(&c->task, buf_take(&name));
    xreplace(&c->metric, "average");
    return 0;
}

/* Completes the corpus of episodes: absolute path, hash, and the task name of a run without tasks. */
static int complete_corpus(struct run_config *c, struct err *e) {
    const char *file = episodes_file(c), *slash;
    char sha256[65], *full;
    if (file_sha256(file, sha256, e)) return e->code;
    xreplace(&c->episodes_sha256, sha256);
    full = complete_absolute(file);
    hold_text(&c->episodes, xprintf("smlmt:%s", full));
    free(full);
    if (config_has_data(c)) return 0;
    slash = strrchr(c->episodes, '/');
    hold_text(&c->task, xprintf("smlmt:%s", slash + 1));
    return 0;
}

/* Refuses --epochs: the length of a run over episodes is given in steps. */
static int check_epochs(const struct run_config *c, struct err *e) {
    struct run_config usual;
    config_init(&usual);
    bool epochs = c->epochs > 0 && c->epochs != usual.epochs;
    config_release(&usual);
    return epochs ? err_set(e, ERR_USAGE, "--epochs: not available in episodic training; use --steps") : 0;
}

/* Completes a run over episodes: generated head, number of steps, form, metric and corpus. */
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
    if (config_is_meta(c)) xreplace(&c->metric, NULL); /* set below */
    c->max_len = run_max_len(c, m);
    c->max_len_given = true;
    c->precision = precision_resolved(c->precision);
    for (int i = 0; i < tasks->count; i++) {
        rows += tasks->task[i]->train.examples;
        if (!complete_complete_task(c, config_data(c, i), m, tasks->task[i], e)) continue;
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
    if (c->steps < 1)
        return err_set(e, ERR_USAGE,
                       "--epochs %g: less than one training step; use a larger value or --steps", c->epochs);
    return 0;
}

/* ---- consistency ---- */

/* Refuses an option that is set but has no effect. */
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
        return err_set(
            e, ERR_USAGE,
            "--%s: applies only to contrastive (whole-batch) losses; add + retriever to the method",
            idle->name);
    if (idle->scope == OPTION_OF_SHARED)
        return err_set(e, ERR_USAGE, "--%s: applies only with --share-frozen on", idle->name);
    if (idle->scope == OPTION_OF_ROWS)
        return err_set(e, ERR_USAGE,
                       "--%s: does not apply to episodic training; use --regime 'meta(tasks=N, support=N, "
                       "query=N)'",
                       idle->name);
    if (idle->scope == OPTION_OF_META)
        return err_set(e, ERR_USAGE, "--%s: applies only to episodic training (--regime meta)", idle->name);
    if (idle->scope == OPTION_OF_PROMPT_TEXT)
        return err_set(e, ERR_USAGE,
                       "--%s: applies only to prompts initialized from text; use prompt(init=text)",
                       idle->name);
    if (idle->scope == OPTION_OF_PRODUCT)
        return err_set(e, ERR_USAGE,
                       "--%s: applies only to factored prompts (mpt, or prompt(source=product))", idle->name);
    if (idle->scope == OPTION_OF_TEACHERS)
        return err_set(e, ERR_USAGE, "--%s: the run has no teachers; add --teachers", idle->name);
    if (idle->scope == OPTION_OF_MASKED)
        return err_set(e, ERR_USAGE, "--%s: applies only to masked language modeling (--form masked)",
                       idle->name);
    if (idle->scope == OPTION_OF_TASKS)
        return err_set(e, ERR_USAGE, "--%s: applies only to multi-task runs, and this run has one task; use "
                                     "--tasks A,B",
                       idle->name);
    if (idle->scope == OPTION_OF_TEXTS)
        return err_set(e, ERR_USAGE, "--%s: applies only to text-to-text runs; %s is trained with a "
                                     "classification head on %s",
                       idle->name, c->task, c->model);
    return err_set(e, ERR_USAGE, "--%s: applies only to --optimizer %s; this run has --optimizer %s",
                   idle->name,
                   idle->scope == OPTION_OF_SGD ? "sgd" : "adamw", optimizer_name(c->optimizer));
}

/* Refuses paths and columns that are not UTF-8: the run is stored as JSON, and they could not be read
 * back. */
static int refuse_bytes(const struct run_config *c, struct err *e) {
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        const char *text = o->kind == OPTION_TEXT ? option_text(c, o) : NULL;
        if (!text || utf8_valid(text, strlen(text))) continue;
        if (o->is & OPTION_DECIDES)
            return err_set(e, ERR_USAGE,
                           "--%s: not valid UTF-8: \"%s\"; select the column by position, for example #2",
                           o->name, text);
        return err_set(e, ERR_USAGE,
                       "%s: the path is not valid UTF-8 and cannot be recorded; rename it", text);
    }
    return 0;
}

/* Refuses a seed for sampling that does not happen. */
static int check_draws(const struct run_config *c, struct err *e) {
    if (c->split_seed && !(c->split > 0) && !c->split_validation)
        return err_set(e, ERR_USAGE, "--split-seed: requires --split or --split-validation");
    if (c->limit_seed && !(c->limit > 0)) return err_set(e, ERR_USAGE, "--limit-seed: requires --limit");
    return 0;
}

/* Refuses regimes that petri train does not support. */
static int check_regime(const struct run_config *c, struct err *e) {
    const struct regime r = config_regime(c);
    if (r.kind == REGIME_FEWSHOT)
        return err_set(
            e, ERR_USAGE,
            "--regime fewshot: not available in petri train; use petri adapt or petri fewshot");
    if (r.kind != REGIME_META && c->method.generated.on)
        return err_set(
            e, ERR_USAGE,
            "--method: a generated head needs the classes of an episode; use --regime meta, or remove + "
            "generated-head");
    if (r.kind == REGIME_META && c->embed_every)
        return err_set(e, ERR_USAGE, "--embed-every: not available in episodic training");
    return 0;
}

/* Refuses options that masked language modeling does not support. */
static int check_masked(const struct run_config *c, struct err *e) {
    if (c->form != FORM_MASKED) return 0;
    if (c->tasks)
        return err_set(e, ERR_USAGE, "--form masked: --tasks is not supported; use --train FILE");
    if (config_is_meta(c))
        return err_set(e, ERR_USAGE,
                       "--form masked: not available in episodic training; use --episodes smlmt:FILE for "
                       "masked-word episodes");
    if (config_has_join(c))
        return err_set(e, ERR_USAGE, "--form masked: contrastive (whole-batch) losses are not supported; "
                                     "remove + retriever");
    if (c->share_frozen)
        return err_set(e, ERR_USAGE, "--share-frozen: not available with --form masked, where inputs change "
                                     "at each step; use --share-frozen off");
    return 0;
}

static int check_prompt_text(const struct run_config *c, struct err *e) {
    if (!config_takes_prompt_text(c) || (c->prompt_text && *c->prompt_text)) return 0;
    return err_set(e, ERR_USAGE,
                   "--method: a prompt with init=text is initialized from a text; add --prompt-text TEXT");
}

/* Refuses teachers where distillation is not supported; there is one teacher per task. */
static int check_teachers(const struct run_config *c, int tasks, struct err *e) {
    if (!c->teachers) return 0;
    int n = c->teachers->count;
    if (config_is_meta(c) || config_is_staged(c))
        return err_set(e, ERR_USAGE, "--teachers: not supported in episodic training or in stages");
    if (config_has_join(c))
        return err_set(e, ERR_USAGE,
                       "--teachers: not supported with contrastive (whole-batch) losses; remove + retriever");
    if (c->form == FORM_MASKED)
        return err_set(e, ERR_USAGE, "--teachers: not supported with --form masked");
    if (n == tasks || !tasks) return 0;
    return err_set(e, ERR_USAGE,
                   "--teachers %s: %d teachers for %d task%s; give one run per task, in the order of the "
                   "tasks",
                   c->teachers->text, n, tasks, tasks == 1 ? "" : "s");
}

/* Refuses options that contradict each other, the method or the data; unknown facts about the data are
 * skipped. */
static int check_together(const struct run_config *c, const struct config_facts *f, struct err *e) {
    if (c->accumulate > c->batch)
        return err_set(e, ERR_USAGE, "--gradient-accumulation-steps %d: more than the batch size of %d",
                       c->accumulate, c->batch);
    if (check_draws(c, e) || check_regime(c, e) || check_masked(c, e) || check_prompt_text(c, e) ||
        check_teachers(c, f->tasks, e))
        return e->code;
    if (stages_check(c, e)) return e->code;
    const char *fault = config_is_staged(c) || !f->steps ? NULL : budget_fault(&c->method, f->steps);
    if (fault) return err_set(e, ERR_USAGE, "%s", fault);
    if (!config_is_staged(c) && masked_is_fixed(&c->method))
        return err_set(
            e, ERR_USAGE,
            "--method: pruning(mask=fixed) needs the mask of a previous stage; use --regime "
            "'stages(diff-pruning; diff-pruning + pruning(mask=fixed))'");
    bool instances = c->method.retriever.instance != INSTANCE_NONE;
    if (config_has_join(c) && !c->tasks)
        return err_set(
            e, ERR_USAGE,
            "retriever: the %s loss discriminates between tasks, and this run has one task; use --tasks A,B, "
            "or %s=none",
            instances ? "instance" : "prototype", instances ? "instance" : "prototype");
    if (config_has_join(c) && instances && config_sampling(c).rule == SAMPLING_ONE_TASK)
        return err_set(e, ERR_USAGE,
                       "--sampling %s: the retriever's instance loss needs several tasks in a batch; use "
                       "stratified, proportional or temperature",
                       c->sampling->text);
    if (c->embed_every && f->tasks && !f->of[0].dev)
        return err_set(e, ERR_USAGE, "--embed-every: %s has no validation set",
                       c->task ? c->task : f->of[0].name);
    for (int i = 0; i < f->tasks && c->tasks; i++)
        if (!f->of[i].dev)
            return err_set(e, ERR_USAGE,
                           "--tasks: %s has no validation set: the best checkpoint is selected over all "
                           "tasks; add --split 10%%",
                           f->of[i].name);
    if (f->steps && c->warmup >= 1 && config_warmup_steps(c, f->steps) >= f->steps)
        return err_set(
            e, ERR_USAGE,
            "--warmup %.0f: the run has only %lld step%s, so the learning rate would not reach its peak; use "
            "fewer warm-up steps, or a share such as 0.1",
            floor(c->warmup), (long long)f->steps, f->steps == 1 ? "" : "s");
    return 0;
}

/* Counts the labeled examples of a split. */
static struct split_facts split_known(const struct task *t, const struct dataset *d) {
    struct split_facts x = { .path = d->path };
    size_t *rows = xcalloc((size_t)t->classes + 1, sizeof *rows);
    for (size_t i = 0; i < d->examples; i++)
        if (d->example[i].label >= 0 && d->example[i].label < t->classes)
            rows[d->example[i].label]++, x.examples++;
    for (int k = t->classes - 1; k >= 0; k--)
        if (!rows[k]) x.empty = t->class_name[k];
    free(rows);
    return x;
}

struct config_data_facts config_data_known(const char *name, const struct task *t) {
    struct config_data_facts f = { .name = name, .label_kind = t->label_kind, .dev = t->devs > 0 };
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
        const struct config_data_facts *r = &f->of[i];
        if (f->arch && r->label_kind != DATA_MASKED &&
            form_fits(c->form, f->arch, f->model, r->name, r->label_kind == DATA_TEXT, e))
            return e->code;
        if (check_metric(config_data_of(c, i)->metric, r->label_kind, r->name, e)) return e->code;
    }
    return check_together(c, f, e);
}

int config_check(const struct run_config *c, const struct run_tasks *tasks, struct err *e) {
    struct config_facts f = {
        .steps = c->steps, .tasks = tasks->count
    }; /* form and metric were checked by config_complete */
    if (c->header && c->no_header) return err_set(e, ERR_USAGE,
                                                  "--header and --no-header: mutually exclusive; use one");
    if (refuse_bytes(c, e) || refuse_idle(c, e)) return e->code;
    for (int i = 0; i < tasks->count; i++)
        f.of[i] = config_data_known(config_task_name(c, i), tasks->task[i]);
    return check_together(c, &f, e);
}

int config_check_plan(const struct plan *p, struct err *e) {
    if (p->trained) return 0;
    return err_set(e, ERR_USAGE,
                   "V41: no trainable parameters: a model that generates text has no classification head; add a "
                   "module, for example lora");
}

void config_settle(struct run_config *c, bool texts) {
    for (size_t i = 0; i < option_count(); i++)
        if (!option_has_say(c, option_at(i), texts)) option_reset(c, option_at(i));
}

void config_reuse(struct run_config *c) {
    config_settle(c, c->form == FORM_TEXT);
    /* older versions reduced it to this when training */
    if (c->warmup >= 1 && config_warmup_steps(c, c->steps) >= c->steps && c->steps > 0)
        c->warmup = (double)(c->steps - 1);
    if (c->epochs > 0) c->steps = 0;
    if (config_is_fewshot(c)) config_put(c, "regime", NULL); /* on the full training set it is an ordinary
                                                              * run */
}
