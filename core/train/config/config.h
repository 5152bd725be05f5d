/* The config of a run: everything that determines its result. Compose, the verbs, clone and resume share this
 * one struct; complete.h resolves defaults before a config is stored or shown, and the config of a stored run
 * never changes. Two runs with equal configs and equal files give the same bits.
 *
 * All its texts follow from one table of options (option.h): the options of `petri train` and their help, the
 * JSON, the command line. A new option is a member here and a row there.
 *
 * In config.c; multi-task runs in config_tasks.c. */
#ifndef CORE_TRAIN_CONFIG_CONFIG_H
#define CORE_TRAIN_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/engine/packed.h"
#include "core/model/arch.h"
#include "core/method/space.h"

enum schedule { SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_CONSTANT };
enum optimizer { OPTIMIZER_ADAMW, OPTIMIZER_SGD };
enum { KEEP_BEST = 1, KEEP_LAST = 2 };
/* How a model is trained on a task: with a classification head on the encoder, text-to-text, or masked
 * language modeling on a file with one text per line. */
enum form { FORM_AUTO, FORM_CLASSES, FORM_TEXT, FORM_MASKED };
/* Reduction of the losses of a step's target tokens (docs/text.md). */
enum loss_mean { MEAN_TOKENS, MEAN_EXAMPLES, MEAN_SUM, MEAN_POSITIONS };
/* Targets of a causal model: completions and answers, or all tokens. */
enum loss_on { LOSS_ON_ANSWER, LOSS_ON_ALL };
/* Multi-task runs: whether the best checkpoint is selected by the average or per task, and whether the
 * average is over each task's primary metric or over every metric. */
enum best_of { BEST_AVERAGE, BEST_PER_TASK };
enum average { AVERAGE_ONE, AVERAGE_ALL };
/* Contrastive (whole-batch) losses: whether activations of the shards are stored until the loss is known, or
 * the encoder runs twice; the result is the same. */
enum join_way { JOIN_AUTO, JOIN_HELD, JOIN_TWICE };
enum { RUN_TASKS = 64 }; /* maximum number of tasks of a run */

/* Parsed values of options with their text (struct option_parser). */
struct sampling_given;
struct regime_given;
struct teachers;
struct corpus_ways;
struct corpus_words;

/* The tasks of a run, prepared by run_prepare_task, in the order of its config. Borrowed. */
struct task;
struct run_tasks {
    int count;
    struct task *const *task;
};

struct run_config {
    struct method method;
    char *model; /* as the user named it; model_folder is the resolved folder */
    char *model_folder, *model_sha256;
    char *model_facts; /* properties besides the weights (facts.h); NULL: unknown, in runs of older
                        * versions */
    /* The data: a task's folder, or files (config_source). */
    char *task;                  /* a name or folder; completed: the displayed name, "reviews" or "a.tsv" */
    char *task_folder;           /* or NULL */
    char *train_file, *dev_file; /* the files read */
    char *train_sha256, *dev_sha256;
    char *second_dev_sha256; /* of a task with two dev files; NULL: one, or unknown in runs of older
                              * versions */
    bool official_dev;           /* dev_official.tsv instead of dev.tsv */
    bool no_dev;                 /* ignore the validation set of the folder */
    double split;                /* share of the training set held out for validation; 0: none */
    bool split_validation;       /* split the validation set into validation and test set (struct
                                  * task_source) */
    uint64_t split_seed;
    double limit;                /* of the remaining training set: below 1 a share, else a number of examples;
                                  * 0: all */
    uint64_t limit_seed;
    char *text_column, *text_b_column, *label_column; /* NULL: inferred from the layout */
    char *source_column, *target_column; /* of text-to-text tasks */
    bool header, no_header; /* whether the first line of a table is a header; neither: struct
                             * dataset_options.header */
    char *delimiter;        /* of a table; NULL: by the file name */
    char *no_gold;          /* label of unlabeled examples; NULL: struct dataset_options.unlabeled */
    int regression; /* -1: inferred from the data, 0: classes, 1: scores */
    char *positive; /* the class for which F1 is computed; NULL: the task's */
    char *metric;   /* primary metric, which selects the best checkpoint */

    /* Multi-task runs (config_tasks.c): one config per task, of which only the data options apply, with the
     * task's name in this run and its loss weight. The data members above are then unused, except `task`,
     * which names all tasks. */
    int tasks;      /* 0: the data are those above */
    struct run_config *of;
    char *task_name; /* of an element of `of`: unique, "mrpc" */
    double task_weight;
    char *tasks_given; /* as given: "A,B,C", or a list file */
    char *weights;  /* "rte=2,cola=0.5"; NULL: 1 each */
    struct sampling_given *sampling; /* sampling.h; NULL: proportional */
    enum average average;
    enum best_of best_of;

    char *prompt_text; /* initialization text of prompts with init=text; NULL: none */
    struct teachers *teachers; /* single-task runs that are teachers of this one (distil.h); NULL: none */
    double distil_logits, distil_hidden; /* weights of the distillation losses */
    struct regime_given *regime; /* training regime (regime.h); NULL: single or multi, by the tasks */
    /* runs over episodes (episodes.h) */
    char *episodes; /* "smlmt:FILE"; NULL: the examples of the tasks */
    char *episodes_sha256;
    struct corpus_ways *ways;   /* number of words per episode of a corpus (corpus.h); NULL: 2-5 */
    struct corpus_words *words; /* how they are sampled; NULL: uniform */
    double mix;     /* share of episodes drawn from tasks when a corpus is also used */
    uint64_t seed;
    int batch;      /* batch size: examples per step over all micro-batches */
    int accumulate; /* gradient accumulation steps: micro-batches per step */
    int64_t steps;  /* number of training steps, from --steps or --epochs */
    double epochs;  /* as given; 0 when steps were given */
    int max_len;    /* maximum sequence length in tokens, special tokens included */
    bool max_len_given; /* false: the default, which config_take_length adapts to the model */
    /* text-to-text */
    enum form form; /* completed: never FORM_AUTO */
    bool whole_words; /* masked language modeling: mask all tokens of a word together */
    char *chat_template; /* by name, or a file, also for prompts and completions; NULL: the model's, for chats */
    bool prefix;    /* prepend the task's name to the source texts of a labeled task */
    int max_target; /* maximum length of a target or generated text in tokens, end token included */
    enum loss_mean loss_mean;
    enum loss_on loss_on;
    double smoothing; /* label smoothing */
    int beams;      /* of evaluations; 1: greedy */
    int samples;    /* validation examples whose generated texts are saved */
    int sample_every; /* steps between these, from step 0; 0: only at evaluations */

    int eval_every; /* steps between evaluations; 0: at the end of each epoch and of the run */
    int eval_rows;  /* validation examples, sampled once; 0: all */
    int early_stop; /* evaluations without improvement before stopping; 0: never */
    int keep;       /* KEEP_ bits */
    int embed_every; /* steps between sets of embeddings, from step 0 to the last step; 0: none */
    int embed_rows; /* validation examples in a set, sampled once, stratified by class */
    enum weights_in weights_in; /* where the weights of a decoder-only model are */
    bool recompute; /* compute the activations of each layer again in the backward pass */
    enum join_way join;
    int join_memory; /* MB for stored activations */
    enum precision precision; /* of products with weights of the model; a stored run has no PRECISION_AUTO */
    bool share_frozen; /* compute layers below the method once per example, in evaluation mode (share.h) */
    int cache_limit; /* MB on disk for these, over all runs; 0: no cache */
    int shards;     /* shards per step; the result does not depend on the number of workers */

    enum optimizer optimizer;
    double lr; /* learning rate; 0: the method's default (config_default_lr) */
    double beta1, beta2, epsilon, momentum, weight_decay, clip; /* clip 0: no gradient clipping */
    enum schedule schedule;
    double warmup;  /* < 1: share of the steps; ≥ 1: steps */
    double dropout; /* hidden, attention and classifier dropout; -1: from the model's config */
};

/* Sets the defaults: lora with its default learning rate, batch size 32, 3 epochs, maximum length 128, AdamW
 * (0.9, 0.999, 1e-8), no weight decay, gradient clipping at 1, linear schedule without warm-up, dropout of
 * the model's config, 4 shards, best and last checkpoint, seed 1, no embeddings (of 200 examples); target
 * length 128, loss averaged over tokens, no label smoothing, greedy decoding, 6 samples every 50 steps. */
void config_init(struct run_config *c);
void config_copy(struct run_config *to, const struct run_config *from);
void config_release(struct run_config *c);
char *config_json(const struct run_config *c); /* caller frees */
int config_from_json(const char *json, size_t n, struct run_config *out, struct err *e);

/* Returns the number of tasks: 0 where all episodes come from a corpus. config_data returns the config that
 * describes the data of task i: *c itself in a single-task run. */
int config_task_count(const struct run_config *c);
struct run_config *config_data(struct run_config *c, int i);
const struct run_config *config_data_of(const struct run_config *c, int i);
/* Returns the name of task i, "" in a single-task run. */
const char *config_task_name(const struct run_config *c, int i);
/* Returns the index of the task `name`, or -1 with *e (ERR_USAGE), which lists the names; name NULL: not
 * given. */
int config_task_find(const struct run_config *c, const char *name, struct err *e);
/* Removes the tasks: c becomes a single-task config, described by its own members. */
void config_drop_tasks(struct run_config *c);
/* Writes a single-task copy of c with the data of task i, by which that task is opened, prepared and
 * completed. Release it with config_release. */
void config_of_task(const struct run_config *c, int i, struct run_config *out);
/* Parses --tasks: names and folders separated by commas, or a list file with paths relative to it:
 * [{"name","task"} or {"name","train","dev","text","text_b","label","source","target","kind","metric"}]; more
 * keys in docs/tasks.md. ERR_USAGE, also for options that describe the data of one task; ERR_INPUT. Call
 * once, after the other options are set. */
int config_set_tasks(struct run_config *c, const char *text, struct err *e);
/* Appends a task with the data of `rows`; the data options of c itself are reset. ERR_USAGE for an invalid or
 * duplicate name. */
int config_add_task(struct run_config *c, const struct run_config *rows, const char *name, struct err *e);
/* Copies the data options of a single-task config (config_of_task) back to task i. */
void config_put_task(struct run_config *c, int i, const struct run_config *one);
/* Copies the OPTION_EACH options of c to its tasks, after one of them was changed. */
void config_copy_each(struct run_config *c);
/* Replaces the tasks by those of `text` (config_set_tasks): sampling and averaging are preserved, and
 * --weights where it names only existing tasks. "" or "none": a single-task run on the first task. On failure
 * *c is unchanged. */
int config_take_tasks(struct run_config *c, const char *text, struct err *e);
/* Replaces the loss weights of the tasks; "" or "none": 1 each. On failure *c is unchanged. */
int config_take_weights(struct run_config *c, const char *text, struct err *e);
/* Returns the command line of the config, "petri train …", quoted for a shell, without options that have
 * their defaults, except method, learning rate and seed. Caller frees. */
char *config_command(const struct run_config *c);

/* Sets one option by its command-line name without dashes ("lr", "early-stop"). ERR_USAGE names the option as
 * it was given and the valid range. Setting steps resets epochs and vice versa. */
int config_set(struct run_config *c, const char *option, const char *value, struct err *e);
/* Sets one option to a value that is known to be valid, and no other; NULL resets it. */
void config_put(struct run_config *c, const char *option, const char *value);
/* Sets the default maximum length for a model, unless one was given: 1,024 tokens for a causal one, which
 * skips longer examples, otherwise 128. */
struct arch;
enum { USUAL_LENGTH = 128, USUAL_CAUSAL_LENGTH = 1024 };
void config_take_length(struct run_config *c, const struct arch *a);
/* Returns the option's value in the form of config_set; caller frees; NULL for an unknown option. */
char *config_get(const struct run_config *c, const char *option);

/* Returns the canonical name for an option's name or alias; NULL for an unknown option. */
const char *config_option_name(const char *spelling);

/* Returns the name of an option in which two configs differ and would train differently, or NULL. File names,
 * saved checkpoints and embeddings do not count. */
const char *config_difference(const struct run_config *a, const struct run_config *b);

/* Writes the SHA-256 of everything in a completed config that determines the result, including the seed and
 * the hashes of model and data. File names, saved checkpoints and embeddings do not count: runs with the same
 * key repeat each other. */
void config_key(const struct run_config *c, char out[65]);

/* Parses "1,2,3" or "1..3" into at most `room` seeds; returns their number, or ERR_USAGE. */
int config_parse_seeds(const char *text, uint64_t *seed, int room, struct err *e);

/* Returns a key that is equal for configs whose data are read and tokenized the same way. Caller frees. */
char *config_data_key(const struct run_config *c);

/* Replaces the data by a task, given by name or folder, and resets the other data options (files, columns,
 * kind, metric). */
void config_take_task(struct run_config *c, const char *task);
/* Replaces the model, given by name or folder, and resets the form, except FORM_MASKED, which follows from
 * the data. */
void config_take_model(struct run_config *c, const char *model);
/* Copies the data options of *from, including those of multi-task runs. */
void config_take_data(struct run_config *c, const struct run_config *from);
/* Copies the model and the data options of *from. */
void config_take_source(struct run_config *c, const struct run_config *from);
bool config_same_source(const struct run_config *a, const struct run_config *b);

/* Returns whether the config names data: a run over episodes of a corpus may have none. */
bool config_has_data(const struct run_config *c);
/* Returns whether the method has a contrastive (whole-batch) loss. */
bool config_has_join(const struct run_config *c);
/* Returns whether a prompt of the method is initialized from prompt_text. */
bool config_takes_prompt_text(const struct run_config *c);

const char *optimizer_name(enum optimizer o);

#endif
