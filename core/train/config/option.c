#include "core/train/config/option.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/regime.h"
#include "core/train/meta/episodes.h"
#include "core/train/run/distil.h"

static const char *const schedules[] = { "linear", "cosine", "constant", NULL };
static const char *const optimizers[] = { "adamw", "sgd", NULL };
/* The values of `regression` are -1 … 1: the index of the word minus one. */
static const char *const option_kinds[] = { "auto", "classes", "scores", NULL };
static const char *const forms[] = { "auto", "classes", "text", "masked", NULL };
static const char *const switches[] = { "off", "on", NULL };
static const char *const loss_ons[] = { "answer", "all", NULL };
static const char *const means[] = { "tokens", "rows", "sum", "positions", NULL };
static const char *const option_joins[] = { "auto", "held", "twice", NULL };
const char *const option_averages[] = { "one", "all", NULL };
const char *const option_bests[] = { "average", "per-task", NULL };
static const char *const precisions[] = { "f32", "bf16", "auto", NULL };
static const char *const weights_ins[] = { "auto", "packed", "file", NULL };
static const char *const keeps[] = { "best", "last", NULL };

const char *optimizer_name(enum optimizer o) { return optimizers[o]; }

#define MEMBER(member) .key = #member, .offset = offsetof(struct run_config, member)
#define TEXT(member) MEMBER(member), .kind = OPTION_TEXT
#define PARSED(member) TEXT(member), .parser = &member##_parser
#define INTEGER(member, from, to) MEMBER(member), .kind = OPTION_INT, .low = from, .high = to
#define REAL(member, from, to) MEMBER(member), .kind = OPTION_DOUBLE, .low = from, .high = to
#define WORD(member, words) MEMBER(member), .kind = OPTION_WORD, .word = words
#define ALIASES(...) .aliases = (const char *const[]) { __VA_ARGS__, NULL }
#define DECIDES .is = OPTION_DECIDES
#define HELP(text_of_values, phrase) .values = text_of_values, .help = phrase

/* In the order of the help text and of the command line. */
static const struct option option_options[] = {
    { TEXT(model), .name = "model", .group = GROUP_METHOD, .is = OPTION_MODEL,
      HELP("DIR|NAME", "model folder, or a model name in the local cache"),
      ALIASES("model-name-or-path", "base-model-name-or-path") },
    { TEXT(model_folder), .is = OPTION_MODEL },
    { TEXT(model_sha256), .is = OPTION_MODEL },
    { TEXT(model_facts), .is = OPTION_MODEL },
    { TEXT(task), .name = "task", .group = GROUP_DATA, .is = OPTION_ROWS,
      HELP("NAME|FOLDER", "task by name or folder (GLUE layouts are recognized)") },
    { TEXT(task_folder), .is = OPTION_ROWS },
    { TEXT(train_file), .name = "train", .group = GROUP_DATA, .is = OPTION_ROWS,
      HELP("FILE", "training set (TSV, CSV or JSON Lines)"), ALIASES("train-file") },
    { TEXT(dev_file), .name = "dev", .group = GROUP_DATA, .is = OPTION_ROWS,
      HELP("FILE", "validation set (TSV, CSV or JSON Lines)"), ALIASES("validation-file") },
    { TEXT(train_sha256), .is = OPTION_ROWS },
    { TEXT(dev_sha256), .is = OPTION_ROWS },
    { TEXT(second_dev_sha256), .is = OPTION_ROWS | OPTION_RARE },
    { MEMBER(official_dev), .name = "official-dev", .group = GROUP_DATA, .kind = OPTION_FLAG,
      .is = OPTION_EACH | OPTION_ROWS, .word = switches,
      .help = "evaluate on dev_official.tsv of a GLUE folder" },
    { MEMBER(no_dev), .name = "no-dev", .group = GROUP_DATA, .kind = OPTION_FLAG,
      .is = OPTION_EACH | OPTION_ROWS | OPTION_RARE, .word = switches,
      .help = "ignore the validation set of the task's folder; --split holds out another" },
    { MEMBER(split), .kind = OPTION_SHARE, .low = 0, .high = 0.99, .above = true, .name = "split",
      .group = GROUP_DATA, .is = OPTION_EACH | OPTION_ROWS | OPTION_DECIDES, .has_unset = true,
      .unset_word = "none",
      HELP("P%|none", "hold out this share of the training set for validation, stratified if the labels are "
                     "classes") },
    { MEMBER(split_validation), .name = "split-validation", .group = GROUP_DATA, .kind = OPTION_FLAG,
      .is = OPTION_EACH | OPTION_ROWS | OPTION_DECIDES, .word = switches,
      .help = "also hold out a test set: half of the validation set, or all of it for large tasks "
              "(docs/data.md)" },
    { MEMBER(split_seed), .kind = OPTION_UINT64, .low = 0, .high = 9.0e15, .name = "split-seed",
      .group = GROUP_DATA, .is = OPTION_EACH | OPTION_ROWS | OPTION_DECIDES, HELP("N", "seed of the split") },
    { MEMBER(limit), .kind = OPTION_SHARE, .low = 0, .high = 1e9, .above = true, .name = "limit",
      .group = GROUP_DATA, .is = OPTION_EACH | OPTION_ROWS | OPTION_DECIDES, .has_unset = true,
      .unset_word = "none",
      HELP("N ≥ 1|P%|none", "train on a random sample of N (or P%) training examples of each task") },
    { MEMBER(limit_seed), .kind = OPTION_UINT64, .low = 0, .high = 9.0e15, .name = "limit-seed",
      .group = GROUP_DATA, .is = OPTION_EACH | OPTION_ROWS | OPTION_DECIDES,
      HELP("N", "seed of the sample of --limit") },
    { TEXT(text_column), .name = "text", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("COLUMN", "column of the text") },
    { TEXT(text_b_column), .name = "text-b", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("COLUMN", "column of the second text of a pair") },
    { TEXT(label_column), .name = "label", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("COLUMN", "column of the label or score") },
    { TEXT(source_column), .name = "source", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("COLUMN", "column of the source text (text-to-text)") },
    { TEXT(target_column), .name = "target", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("COLUMN", "column of the target text (text-to-text)") },
    { MEMBER(header), .name = "header", .group = GROUP_DATA, .kind = OPTION_FLAG,
      .is = OPTION_ROWS | OPTION_DECIDES, .word = switches,
      .help = "treat the first line of a table as a header, even if all columns are selected by number" },
    { MEMBER(no_header), .name = "no-header", .group = GROUP_DATA, .kind = OPTION_FLAG,
      .is = OPTION_ROWS | OPTION_DECIDES, .word = switches,
      .help = "treat the first line of a table as an example; the columns are #1, #2, \u2026" },
    { TEXT(delimiter), .name = "delimiter", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("CHAR|tab", "column delimiter (default: inferred from the file name)") },
    { TEXT(no_gold), .name = "unlabeled", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("LABEL", "label that marks unlabeled examples, excluded from training and evaluation"),
      ALIASES("no-gold") },
    { WORD(regression, option_kinds), .name = "kind", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      .first = -1,
      HELP("auto|classes|scores", "kind of the label; auto: inferred from the data and reported") },
    { TEXT(positive), .name = "positive", .group = GROUP_DATA, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("NAME", "the class for which F1 is computed") },
    { TEXT(metric), .name = "metric", .group = GROUP_EVALUATION, .is = OPTION_ROWS | OPTION_DECIDES,
      HELP("NAME", "primary metric, used to select the best checkpoint (default: the task's)"),
      ALIASES("metric-for-best-model") },
    { TEXT(tasks_given), .name = "tasks", .group = GROUP_TASKS, .is = OPTION_ROWS, .scope = OPTION_OF_TASKS,
      HELP("A,B,C|FILE", "multi-task: task names, folders, or a list file (docs/tasks.md)") },
    { TEXT(task_name), .is = OPTION_ROWS },
    { REAL(task_weight, 0, 1e9), .is = OPTION_ROWS, .has_unset = true },
    { TEXT(weights), .name = "weights", .group = GROUP_TASKS, .is = OPTION_ROWS | OPTION_DECIDES,
      .scope = OPTION_OF_TASKS, HELP("A=X,B=Y", "loss weight of each task (default 1)") },
    { PARSED(sampling), .name = "sampling", .group = GROUP_TASKS, .is = OPTION_ROWS | OPTION_DECIDES,
      .scope = OPTION_OF_TASKS,
      HELP("proportional|temperature(T)|one-task(T)|stratified(T)", "task sampling strategy") },
    { WORD(average, option_averages), .name = "average", .group = GROUP_TASKS,
      .is = OPTION_ROWS | OPTION_DECIDES, .scope = OPTION_OF_TASKS,
      HELP("one|all", "multi-task average over each task's primary metric, or over every metric") },
    { WORD(best_of, option_bests), .name = "best", .group = GROUP_TASKS, .is = OPTION_ROWS | OPTION_DECIDES,
      .scope = OPTION_OF_TASKS,
      HELP("average|per-task", "multi-task: one best checkpoint by the average, or one per task") },
    { MEMBER(method), .name = "method", .group = GROUP_METHOD, .kind = OPTION_METHOD,
      .is = OPTION_DECIDES | OPTION_SHOWN, HELP("TEXT", "preset or modules, for example 'lora(r=8)'") },
    { TEXT(prompt_text), .name = "prompt-text", .group = GROUP_METHOD, .is = OPTION_DECIDES | OPTION_RARE,
      .scope = OPTION_OF_PROMPT_TEXT, HELP("TEXT", "initialization text of prompts with init=text"),
      ALIASES("prompt-tuning-init-text") },
    { PARSED(teachers), .name = "teachers", .group = GROUP_TASKS, DECIDES, .scope = OPTION_OF_PRODUCT,
      HELP("RUN[,RUN\u2026]", "mpt: teacher runs (single prompt, single task), one per task, in the order of "
                              "the tasks") },
    { REAL(distil_logits, 0, 1e6), .name = "distil-logits", .group = GROUP_TASKS, DECIDES,
      .scope = OPTION_OF_TEACHERS,
      HELP("X \u2265 0", "weight of the distillation loss on the teachers' logits") },
    { REAL(distil_hidden, 0, 1e6), .name = "distil-hidden", .group = GROUP_TASKS, DECIDES,
      .scope = OPTION_OF_TEACHERS,
      HELP("X \u2265 0", "weight of the distillation loss on the teachers' hidden states") },
    { PARSED(regime), .name = "regime", .group = GROUP_METHOD, DECIDES,
      HELP("single|multi(\u2026)|fewshot(\u2026)|meta(\u2026)|stages(\u2026)",
           "training regime (docs/meta.md); default: inferred from the tasks") },
    { REAL(lr, 0, FLT_MAX), .above = true, .name = "lr", .group = GROUP_OPTIMIZATION,
      .is = OPTION_DECIDES | OPTION_SHOWN, .has_unset = true, .unset_word = "default",
      HELP("X > 0|default", "learning rate; default: the method's"), ALIASES("learning-rate") },
    { PARSED(episodes), .name = "episodes", .group = GROUP_FEWSHOT, .scope = OPTION_OF_META,
      HELP("smlmt:FILE",
           "masked-word (SMLMT) episodes from a file with one sentence per line (docs/meta.md)") },
    { TEXT(episodes_sha256), .scope = OPTION_OF_META },
    { PARSED(ways), .name = "ways", .group = GROUP_FEWSHOT, DECIDES, .scope = OPTION_OF_META,
      HELP("A-B", "number of words per episode (default 2-5)") },
    { PARSED(words), .name = "words", .group = GROUP_FEWSHOT, DECIDES, .scope = OPTION_OF_META,
      HELP("uniform|frequency|clusters(K)", "how the words of an episode are sampled (default uniform)") },
    { REAL(mix, 0, 1), .name = "mix", .group = GROUP_FEWSHOT, DECIDES, .scope = OPTION_OF_META,
      HELP("0 \u2264 X \u2264 1",
           "share of episodes sampled from tasks; the others are masked-word episodes") },
    { INTEGER(batch, 1, 65536), .name = "batch", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_ROWS, HELP("N ≥ 1", "batch size: examples per training step"),
      ALIASES("batch-size", "per-device-train-batch-size") },
    { INTEGER(accumulate, 1, 65536), .name = "gradient-accumulation-steps", .group = GROUP_OPTIMIZATION,
      DECIDES, .scope = OPTION_OF_ROWS,
      HELP("N ≥ 1", "gradient accumulation: divide each batch into N micro-batches"),
      ALIASES("accumulate", "grad-accumulation-steps") },
    { REAL(epochs, 0, 1e6), .above = true, .name = "epochs", .group = GROUP_SCHEDULE, DECIDES,
      .has_unset = true, HELP("X > 0", "number of training epochs"), ALIASES("num-train-epochs") },
    { MEMBER(steps), .kind = OPTION_INT64, .low = 1, .high = 1e9, .name = "steps", .group = GROUP_SCHEDULE,
      DECIDES, .has_unset = true, HELP("N ≥ 1", "number of training steps, instead of epochs"),
      ALIASES("max-steps", "iters") },
    { INTEGER(max_len, 2, 1 << 20), .name = "max-length", .group = GROUP_DATA,
      .is = OPTION_DECIDES | OPTION_READ,
      HELP("N ≥ 2", "maximum sequence length in tokens, special tokens included (decoder-only models: 1024)"),
      ALIASES("max-len", "max-seq-length", "max-source-length") },
    { WORD(schedule, schedules), .name = "schedule", .group = GROUP_SCHEDULE, DECIDES,
      HELP("linear|cosine|constant", "learning rate schedule after warm-up"), ALIASES("lr-scheduler-type") },
    { REAL(warmup, 0, 1e9), .name = "warmup", .group = GROUP_SCHEDULE, DECIDES,
      HELP("X ≥ 0", "warm-up: a share of the steps (below 1) or a number of steps"),
      ALIASES("warm-up", "warmup-steps", "warmup-ratio") },
    { .key = "optimiser",
      .offset = offsetof(struct run_config, optimizer),
      .kind = OPTION_WORD,
      .word = optimizers,
      .name = "optimizer",
      .group = GROUP_OPTIMIZATION,
      DECIDES,
      HELP("adamw|sgd", "optimizer"),
      ALIASES("optimiser", "optim") },
    { REAL(beta1, 0, 0.999999), .name = "beta1", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_ADAMW, HELP("0 ≤ X < 1", "AdamW's \u03b21 (decay rate of the first moment)"),
      ALIASES("adam-beta1") },
    { REAL(beta2, 0, 0.99999999), .name = "beta2", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_ADAMW, HELP("0 ≤ X < 1", "AdamW's \u03b22 (decay rate of the second moment)"),
      ALIASES("adam-beta2") },
    { REAL(epsilon, 0, 1), .above = true, .name = "epsilon", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_ADAMW, HELP("0 < X ≤ 1", "AdamW's \u03b5"), ALIASES("adam-epsilon") },
    { REAL(momentum, 0, 0.999999), .name = "momentum", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_SGD, HELP("0 ≤ X < 1", "SGD's momentum") },
    { REAL(weight_decay, 0, 1e6), .name = "weight-decay", .group = GROUP_OPTIMIZATION, DECIDES,
      HELP("X ≥ 0", "decoupled weight decay, applied to matrices only"), ALIASES("decay", "wd") },
    { REAL(clip, 0, 1e30), .name = "clip", .group = GROUP_OPTIMIZATION, DECIDES,
      HELP("X ≥ 0", "clip the gradient norm to X; 0 disables"), ALIASES("max-grad-norm") },
    { REAL(dropout, 0, 0.999999), .name = "dropout", .group = GROUP_METHOD, DECIDES, .has_unset = true,
      .unset = -1, .unset_word = "published",
      HELP("0 ≤ X < 1|published", "dropout of the model; published: as in the model's config") },
    { INTEGER(eval_every, 0, 1e9), .name = "eval-steps", .group = GROUP_EVALUATION, DECIDES,
      HELP("N ≥ 0", "evaluate every N steps; 0: after each epoch"), ALIASES("eval-every", "steps-per-eval") },
    { INTEGER(eval_rows, 0, 1e9), .name = "eval-rows", .group = GROUP_EVALUATION,
      .is = OPTION_DECIDES | OPTION_READ,
      HELP("N ≥ 0", "evaluate on N validation examples, sampled once; 0: all") },
    { INTEGER(early_stop, 0, 1e9), .name = "early-stop", .group = GROUP_EVALUATION, DECIDES,
      HELP("N ≥ 0", "stop after N evaluations without improvement; 0 disables"),
      ALIASES("early-stopping", "early-stopping-patience") },
    { MEMBER(keep), .name = "keep", .group = GROUP_CHECKPOINTS, .kind = OPTION_KEEP, .word = keeps,
      .first = 1, HELP("best,last|none", "checkpoints to save") },
    { INTEGER(embed_every, 0, 1e9), .name = "embed-every", .group = GROUP_EVALUATION,
      HELP("N ≥ 0", "save embeddings of validation examples every N steps, for petri map; 0 disables") },
    { INTEGER(embed_rows, 4, 15000), .name = "embed-rows", .group = GROUP_EVALUATION,
      HELP("4 … 15000", "number of examples for --embed-every, stratified by class") },
    { WORD(form, forms), .name = "form", .group = GROUP_DATA, .is = OPTION_DECIDES | OPTION_READ,
      HELP("auto|classes|text|masked",
           "classification head or text-to-text (auto: by the model); masked: masked "
           "language modeling on a file with one text per line") },
    { MEMBER(whole_words), .name = "whole-words", .group = GROUP_DATA, .kind = OPTION_SWITCH,
      .word = switches, .is = OPTION_DECIDES | OPTION_LATE, .scope = OPTION_OF_MASKED,
      HELP("on|off", "masked language modeling: mask whole words") },
    { TEXT(chat_template), .name = "template", .group = GROUP_DATA,
      .is = OPTION_DECIDES | OPTION_READ | OPTION_RARE | OPTION_LATE, .scope = OPTION_OF_TEXTS,
      HELP("NAME|FILE", "chat template for chats, prompts and completions (default: the model's, for chats only)"),
      ALIASES("chat-template") },
    { MEMBER(prefix), .name = "prefix", .group = GROUP_DATA, .kind = OPTION_SWITCH, .word = switches,
      .is = OPTION_DECIDES | OPTION_READ, .scope = OPTION_OF_TEXTS,
      HELP("on|off", "text-to-text: prepend the task's name to the text") },
    { INTEGER(max_target, 2, 1 << 20), .name = "max-target", .group = GROUP_DATA,
      .is = OPTION_DECIDES | OPTION_READ, .scope = OPTION_OF_TEXTS,
      HELP("N ≥ 2", "maximum length of a target text in tokens, end token included"),
      ALIASES("max-target-length") },
    { WORD(loss_mean, means), .name = "loss-mean", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_TEXTS,
      HELP("tokens|rows|sum|positions", "text-to-text: reduction of the loss over target tokens") },
    { WORD(loss_on, loss_ons), .name = "loss-on", .group = GROUP_DATA,
      .is = OPTION_DECIDES | OPTION_READ | OPTION_LATE, .scope = OPTION_OF_TEXTS,
      HELP("answer|all", "decoder-only models: compute the loss on completions and answers, or on all tokens") },
    { REAL(smoothing, 0, 0.999999), .name = "smoothing", .group = GROUP_OPTIMIZATION, DECIDES,
      .scope = OPTION_OF_TEXTS, HELP("0 ≤ X < 1", "label smoothing of target tokens"),
      ALIASES("label-smoothing", "label-smoothing-factor") },
    { INTEGER(beams, 1, 64), .name = "beams", .group = GROUP_GENERATION, DECIDES, .scope = OPTION_OF_TEXTS,
      HELP("1 … 64", "number of beams for generation in evaluations; 1: greedy"), ALIASES("num-beams") },
    { INTEGER(samples, 0, 1000), .name = "samples", .group = GROUP_GENERATION, .scope = OPTION_OF_TEXTS,
      HELP("0 … 1000", "number of validation examples whose generated texts are saved") },
    { INTEGER(sample_every, 0, 1e9), .name = "sample-every", .group = GROUP_GENERATION,
      .scope = OPTION_OF_TEXTS, HELP("N ≥ 0", "save generated texts every N steps; 0: at evaluations") },
    { MEMBER(recompute), .name = "recompute", .group = GROUP_PERFORMANCE, .kind = OPTION_SWITCH,
      .word = switches, .is = OPTION_LATE,
      HELP("on|off", "gradient checkpointing: recompute the activations of each layer in the backward pass; "
                     "less memory, more time, "
                     "same results"),
      ALIASES("gradient-checkpointing") },
    { WORD(join, option_joins), .name = "join", .group = GROUP_PERFORMANCE, .scope = OPTION_OF_JOIN,
      HELP("auto|held|twice", "contrastive (whole-batch) loss: store activations or recompute them") },
    { INTEGER(join_memory, 1, 1 << 20), .name = "join-memory", .group = GROUP_PERFORMANCE,
      .scope = OPTION_OF_JOIN, HELP("N ≥ 1", "memory limit in MB for stored activations (--join auto)") },
    { MEMBER(share_frozen), .name = "share-frozen", .group = GROUP_PERFORMANCE, .kind = OPTION_SWITCH,
      .word = switches, .is = OPTION_DECIDES | OPTION_LATE, .scope = OPTION_OF_ROWS,
      HELP("on|off",
           "cache the outputs of the frozen layers below the method for all runs; disables their dropout "
           "(docs/sharing.md)") },
    { WORD(precision, precisions), .name = "precision", .group = GROUP_PERFORMANCE,
      .is = OPTION_DECIDES | OPTION_LATE,
      HELP("f32|bf16|auto", "precision of products with the model's weights; auto (default): bf16 "
                            "where the processor supports it") },
    { WORD(weights_in, weights_ins), .name = "weights-in", .group = GROUP_PERFORMANCE, .is = OPTION_LATE,
      HELP("auto|packed|file", "weights of a decoder-only model: in memory, or read from its file when they are "
                               "used; auto: from the file if they do not fit into memory") },
    { INTEGER(cache_limit, 0, 1 << 30), .name = "cache-limit", .group = GROUP_PERFORMANCE,
      .scope = OPTION_OF_SHARED,
      HELP("N ≥ 0", "disk limit in MB for --share-frozen, over all runs; 0 disables the cache") },
    { INTEGER(shards, 1, 64), .name = "shards", .group = GROUP_PERFORMANCE, DECIDES, .scope = OPTION_OF_ROWS,
      HELP("1 … 64", "shards per step, each computed by one worker") },
    { MEMBER(seed), .kind = OPTION_UINT64, .low = 0, .high = 9.0e15, .name = "seed",
      .group = GROUP_OPTIMIZATION, .is = OPTION_DECIDES | OPTION_SHOWN, HELP("N", "random seed") },
};

const char *option_spelling(const char *name, const char *const *aliases, const char *given) {
    for (const char *at = name; at; at = aliases ? *aliases++ : NULL) {
        size_t n = 0;
        while (at[n] && (given[n] == at[n] || (given[n] == '_' && at[n] == '-'))) n++;
        if (!at[n] && !given[n]) return at;
    }
    return NULL;
}

void option_add_names(const char *name, const char *const *aliases, const char **list, size_t room,
                      size_t *n) {
    for (const char *at = name; at && *n < room; at = aliases ? *aliases++ : NULL) list[(*n)++] = at;
}

const char *option_group_name(enum option_group g) {
    static const char *const names[OPTION_GROUPS] = {
        "Run",         "Data",        "Model and method", "Optimization", "Schedule",
        "Evaluation",  "Checkpoints", "Generation",       "Multi-task",   "Few-shot and meta-learning",
        "Performance", "Output",
    };
    return names[g];
}

size_t option_count(void) { return COUNT_OF(option_options); }
const struct option *option_at(size_t i) { return &option_options[i]; }

const struct option *option_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(option_options); i++)
        if (option_spelling(option_options[i].name, option_options[i].aliases, name))
            return &option_options[i];
    return NULL;
}

bool config_has_join(const struct run_config *c) {
    const struct retriever *r = &c->method.retriever;
    return r->on && (r->instance != INSTANCE_NONE || r->prototype != PROTOTYPE_NONE);
}

static bool starts_of_text(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].init == INIT_PROMPT_TEXT) return true;
    return false;
}

bool config_takes_prompt_text(const struct run_config *c) {
    const struct stages *s = config_stages(c);
    bool takes = starts_of_text(&c->method);
    for (int k = 0; s && k < s->count; k++) takes = takes || starts_of_text(&s->stage[k].method);
    return takes;
}

/* Returns whether the run can have teachers: one of its prompts is the product of a shared and a per-task
 * factor. */
static bool config_takes_teachers(const struct run_config *c) {
    for (int i = 0; i < c->method.count; i++)
        if (c->method.module[i].source == SOURCE_PRODUCT) return true;
    return false;
}

bool option_of_one_task(const struct option *o) {
    return (o->is & OPTION_ROWS) && !(o->is & OPTION_EACH) && o->scope != OPTION_OF_TASKS;
}

bool option_has_say(const struct run_config *c, const struct option *o, bool texts) {
    switch (o->scope) {
    case OPTION_EVERY: return true;
    case OPTION_OF_ADAMW: return c->optimizer == OPTIMIZER_ADAMW;
    case OPTION_OF_SGD: return c->optimizer == OPTIMIZER_SGD;
    case OPTION_OF_TEXTS: return texts;
    case OPTION_OF_TASKS: return c->tasks > 0;
    case OPTION_OF_JOIN: return config_has_join(c);
    case OPTION_OF_META: return config_is_meta(c);
    case OPTION_OF_ROWS: return !config_is_meta(c);
    case OPTION_OF_PROMPT_TEXT: return config_takes_prompt_text(c);
    case OPTION_OF_SHARED: return c->share_frozen;
    case OPTION_OF_MASKED: return c->form == FORM_MASKED;
    case OPTION_OF_PRODUCT: return config_takes_teachers(c);
    case OPTION_OF_TEACHERS: return c->teachers && config_takes_teachers(c);
    }
    BUG("unknown option scope %d", o->scope);
}

/* ---- access to values ---- */

static size_t text_at(const struct option_parser *p) { return p ? p->text : 0; }

void **option_member(const struct run_config *c, const struct option *o) {
    return (void **)((char *)(uintptr_t)c + o->offset);
}

const char *option_text(const struct run_config *c, const struct option *o) {
    const char *value = *option_member(c, o);
    return value ? value + text_at(o->parser) : NULL;
}

/* Returns a copy of a parsed value and its text; NULL for NULL. */
static void *copy_value(const void *value, size_t at) {
    if (!value) return NULL;
    size_t size = at + strlen((const char *)value + at) + 1;
    return memcpy(xmalloc(size), value, size);
}

void *option_parse(const struct option_parser *p, const char *text, struct err *e) {
    char *value = xcalloc(1, text_at(p) + strlen(text) + 1);
    strcpy(value + text_at(p), text);
    if (!p || !p->parse(text, value, e)) return value;
    free(value);
    return NULL;
}

static void replace_value(void **member, void *value) {
    free(*member);
    *member = value;
}

static bool is_bool(const struct option *o) { return o->kind == OPTION_SWITCH || o->kind == OPTION_FLAG; }
static bool is_real(const struct option *o) { return o->kind == OPTION_DOUBLE || o->kind == OPTION_SHARE; }
static bool option_is_word(const struct option *o) { return o->kind == OPTION_WORD || is_bool(o); }

double option_number(const void *of, const struct option *o) {
    const char *p = (const char *)of + o->offset;
    if (is_bool(o)) return *(const bool *)p;
    switch (o->kind) {
    case OPTION_INT64: return (double)*(const int64_t *)p;
    case OPTION_UINT64: return (double)*(const uint64_t *)p;
    case OPTION_DOUBLE:
    case OPTION_SHARE: return *(const double *)p;
    default: return (double)*(const int *)p;
    }
}

void option_set_number(void *of, const struct option *o, double v) {
    char *p = (char *)of + o->offset;
    if (is_bool(o)) *(bool *)p = v != 0;
    else if (o->kind == OPTION_INT64) *(int64_t *)p = (int64_t)v;
    else if (o->kind == OPTION_UINT64) *(uint64_t *)p = (uint64_t)v;
    else if (is_real(o)) *(double *)p = v;
    else *(int *)p = (int)v;
}

bool option_in_range(const struct option *o, double v) {
    return isfinite(v) && v >= o->low && v <= o->high && !(o->above && v == o->low) &&
           (o->kind == OPTION_DOUBLE || (o->kind == OPTION_SHARE && v < 1) || v == floor(v));
}

bool option_is_left_out(const struct run_config *c, const struct option *o) {
    if (o->scope == OPTION_OF_PRODUCT || o->scope == OPTION_OF_TEACHERS) return !c->teachers;
    if (!(o->is & OPTION_LATE)) return false;
    return o->kind == OPTION_TEXT ? !option_text(c, o) : !option_number(c, o);
}

bool option_same(const struct run_config *a, const struct run_config *b, const struct option *o) {
    if (o->kind == OPTION_TEXT) {
        const char *x = option_text(a, o), *y = option_text(b, o);
        return !strcmp(x ? x : "", y ? y : "");
    }
    if (o->kind != OPTION_METHOD) return option_number(a, o) == option_number(b, o);
    char *x = method_canonical(&a->method), *y = method_canonical(&b->method);
    bool same = !strcmp(x, y);
    free(x);
    free(y);
    return same;
}

bool option_is_length(const struct option *o) {
    return o->kind == OPTION_INT && o->key && !strcmp(o->key, "max_len");
}

void option_copy(struct run_config *to, const struct run_config *from, const struct option *o) {
    if (option_is_length(o)) to->max_len_given = from->max_len_given;
    if (o->kind == OPTION_TEXT)
        replace_value(option_member(to, o), copy_value(*option_member(from, o), text_at(o->parser)));
    else if (o->kind == OPTION_METHOD) to->method = from->method;
    else option_set_number(to, o, option_number(from, o));
}

void option_reset(struct run_config *c, const struct option *o) {
    struct run_config usual;
    config_init(&usual);
    option_copy(c, &usual, o);
    config_release(&usual);
}

/* ---- as text ---- */

static int option_find_word(const struct option *o, const char *word, size_t n) {
    for (int i = 0; o->word[i]; i++)
        if (strlen(o->word[i]) == n && !memcmp(o->word[i], word, n)) return i;
    return -1;
}

static char *print_bits(const struct option *o, int bits) {
    struct buf b = BUF_INIT;
    for (int i = 0; o->word[i]; i++)
        if (bits & (1 << i)) buf_printf(&b, "%s%s", b.size ? o->joined ? o->joined : "," : "", o->word[i]);
    if (!b.size) buf_puts(&b, "none");
    return buf_take(&b);
}

/* Returns the bits of the listed words; -1 for an unknown word. */
static int take_bits(const struct option *o, const char *value) {
    if (!strcmp(value, "none")) return 0;
    int bits = 0;
    for (const char *s = value;; s++) {
        size_t n = strcspn(s, o->joined ? o->joined : ",");
        int i = option_find_word(o, s, n);
        if (i < 0) return -1;
        bits |= 1 << i;
        s += n;
        if (!*s) return bits;
    }
}

/* Parses "10%" as 0.1; a number without % may be a count of examples. */
static bool take_share(const char *value, double *v) {
    size_t n = strlen(value);
    if (!n || value[n - 1] != '%') return text_to_double(value, v);
    char *number = xstrndup(value, n - 1);
    bool good = text_to_double(number, v);
    free(number);
    *v /= 100;
    return good && *v < 1;
}

static char *option_print_number(double v, const char *behind) {
    char text[32];
    if (v == floor(v) && fabs(v) < 1e16) return xprintf("%.0f%s", v, behind);
    text_from_double(v, text);
    return xprintf("%s%s", text, behind);
}

static char *print_share(double v) {
    double again;
    char *text = option_print_number(100 * v, "%");
    if (take_share(text, &again) && again == v) return text;
    free(text);
    return option_print_number(v, "");
}

/* One of the values that a row lists, in words. */
static void value_in_words(const char *s, size_t n, struct buf *out) {
    static const char *const words[][2] = {
        { "X > 0", "a number above 0" },
        { "X \u2265 0", "a number of at least 0" },
        { "0 \u2264 X \u2264 1", "a number between 0 and 1" },
        { "0 \u2264 X < 1", "a number of at least 0 and below 1" },
        { "0 < X \u2264 1", "a number above 0 and at most 1" },
        { "N", "an integer of at least 0" },
        { "P%", "a percentage below 100%" },
    };
    static const char least[] = "N \u2265 ", to[] = " \u2026 ";
    const char *range = memmem(s, n, to, strlen(to));
    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strlen(words[i][0]) == n && !memcmp(words[i][0], s, n)) {
            buf_puts(out, words[i][1]);
            return;
        }
    if (range)
        buf_printf(out, "an integer between %.*s and %.*s", (int)(range - s), s,
                   (int)(n - strlen(to)) - (int)(range - s), range + strlen(to));
    else if (n > strlen(least) && text_starts(s, least))
        buf_printf(out, "an integer of at least %.*s", (int)(n - strlen(least)), s + strlen(least));
    else buf_add(out, s, n);
}

char *option_values(const struct option *o) {
    const char *values = o->values ? o->values : "on|off";
    const char *or = strpbrk(values, " %") ? ", or " : " or ";
    struct buf b = BUF_INIT;
    for (const char *s = values; *s;) {
        size_t n = strcspn(s, "|");
        if (b.size) buf_puts(&b, strchr(s, '|') ? ", " : or);
        value_in_words(s, n, &b);
        s += n + (s[n] == '|');
    }
    return buf_take(&b);
}

char *option_print_value(const void *of, const struct option *o) {
    double v = option_number(of, o);
    if (option_is_word(o)) return xstrdup(o->word[(int)v - o->first]);
    if (o->kind == OPTION_KEEP) return print_bits(o, (int)v);
    if (o->has_unset && v == o->unset) return xstrdup(o->unset_word ? o->unset_word : "");
    return o->kind == OPTION_SHARE && v < 1 ? print_share(v) : option_print_number(v, "");
}

char *option_print(const struct run_config *c, const struct option *o) {
    if (o->kind == OPTION_TEXT) return xstrdup(option_text(c, o) ? option_text(c, o) : "");
    return o->kind == OPTION_METHOD ? method_text(&c->method) : option_print_value(c, o);
}

bool option_take_value(void *of, const struct option *o, const char *value) {
    double v;
    if (o->kind == OPTION_KEEP || option_is_word(o)) {
        int i = o->kind == OPTION_KEEP ? take_bits(o, value) : option_find_word(o, value, strlen(value));
        if (i < 0) return false;
        option_set_number(of, o, option_is_word(o) ? i + o->first : i);
        return true;
    }
    if (o->unset_word && !strcmp(value, o->unset_word)) v = o->unset;
    else if (!(o->kind == OPTION_SHARE ? take_share(value, &v) : text_to_double(value, &v)) ||
             !option_in_range(o, v))
        return false;
    option_set_number(of, o, v);
    return true;
}

bool option_take(struct run_config *c, const struct option *o, const char *value, struct err *e) {
    if (o->kind == OPTION_TEXT) {
        void *parsed = *value ? option_parse(o->parser, value, e) : NULL;
        if (parsed) replace_value(option_member(c, o), parsed);
        return parsed != NULL;
    }
    if (o->kind == OPTION_METHOD) {
        struct method m;
        if (method_parse(value, &m, e)) return false;
        c->method = m;
        return true;
    }
    bool taken = option_take_value(c, o, value);
    c->max_len_given |= taken && option_is_length(o);
    return taken;
}
