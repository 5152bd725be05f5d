/* The description of a run: everything that decides what it computes.  Compose, the verbs, a
 * clone and a resume hold this one struct; complete.h fills in what was left to defaults before
 * anything is stored or shown, and it is frozen with the run.  Two runs with equal configs and
 * equal files give equal bits.
 *
 * Its texts are views of it, made by one table of options (option.h): the options of
 * `petri train` and their help, the JSON, the command line.  A new option is a member here and
 * a row there.
 *
 * In config.c; several tasks in config_tasks.c. */
#ifndef CORE_TRAIN_CONFIG_CONFIG_H
#define CORE_TRAIN_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/method/space.h"

enum schedule { SCHEDULE_LINEAR, SCHEDULE_COSINE, SCHEDULE_CONSTANT };
enum optimizer { OPTIMIZER_ADAMW, OPTIMIZER_SGD };
enum { KEEP_BEST = 1, KEEP_LAST = 2 };
/* How a task with labels is put: by a head over the encoder, or as text to text.  Or a file of texts, a line
 * each, of which words are masked and guessed. */
enum form { FORM_AUTO, FORM_CLASSES, FORM_TEXT, FORM_MASKED };
/* What the losses of a step's target tokens are divided by (docs/text.md). */
enum loss_mean { MEAN_TOKENS, MEAN_ROWS, MEAN_SUM, MEAN_POSITIONS };
/* Of several tasks: what "best" is of, their average or each task's own; and what the average takes, each
 * task's deciding metric or all metrics flat. */
enum best_of { BEST_AVERAGE, BEST_PER_TASK };
enum average { AVERAGE_ONE, AVERAGE_ALL };
/* Where a loss looks across the batch: whether the parts' tapes are held until it is known, or the encoder
 * runs twice; the same numbers. */
enum join_way { JOIN_AUTO, JOIN_HELD, JOIN_TWICE };
enum { RUN_TASKS = 64 }; /* most tasks of a run */

/* Values of options that travel parsed, with the text that they were given as (struct option_parser). */
struct sampling_said;
struct regime_said;
struct teachers;
struct corpus_ways;
struct corpus_words;

/* The tasks of a run, prepared by run_prepare_task, in the order of its description.  Borrowed. */
struct task;
struct run_tasks {
    int count;
    struct task *const *task;
};

struct run_config {
    struct method method;
    char *model; /* as the user named it; the folder it stands for is beside it */
    char *model_folder, *model_sha256;
    char *model_facts; /* what it is beside its weights (facts.h); NULL: not known, in runs of before */
    /* Which rows: a task's folder, or files (config_source). */
    char *task;                  /* a name or folder; completed, the name shown: "reviews", "a.tsv" */
    char *task_folder;           /* or NULL */
    char *train_file, *dev_file; /* the files read */
    char *train_sha256, *dev_sha256;
    char *second_dev_sha256; /* of a task with two dev files; NULL: one, or not known, in runs of before */
    bool official_dev;           /* dev_official.tsv in place of dev.tsv */
    bool no_dev;                 /* the folder's dev rows are not read */
    double split;                /* share of the train rows that is held out as dev rows; 0: none */
    bool split_validation;       /* dev and test rows of the dev rows (struct task_source) */
    uint64_t split_seed;
    double limit;                /* of the train rows that are left: below 1 a share, else how many; 0: all */
    uint64_t limit_seed;
    char *text_column, *text_b_column, *label_column; /* NULL: by layout */
    char *source_column, *target_column; /* of texts to texts */
    bool header, no_header; /* of a table: its first line names the columns, or does not; neither: struct
                             * dataset_options.header */
    char *delimiter;        /* of a table; NULL: by its name */
    char *no_gold;          /* the label that stands for none; NULL: struct dataset_options.no_gold */
    int regression; /* as asked: -1 decided by the data and said, 0 classes, 1 scores */
    char *positive; /* the class that F1 is of; NULL: the task's */
    char *metric;   /* the one that decides "best" */

    /* Several tasks (config_tasks.c): of each, in its order, a description in which only what says its rows
     * has a say, with its name in this run and its weight in the loss.  The members above are then those of
     * none, but `task`, which names them all. */
    int tasks;      /* 0: the run's rows are those above */
    struct run_config *of;
    char *task_name; /* of an element of `of`: unlike the others', "mrpc" */
    double task_weight;
    char *tasks_given; /* as asked for: "A,B,C", or a list file */
    char *weights;  /* "rte=2,cola=0.5"; NULL: 1 each */
    struct sampling_said *sampling; /* sampling.h; NULL: proportional */
    enum average average;
    enum best_of best_of;

    char *prompt_text; /* that a prompt with init=text starts from; NULL: none */
    struct teachers *teachers; /* runs of one task that teach this one (distil.h); NULL: none */
    double distil_logits, distil_hidden; /* what their answers and their hidden states count in the loss */
    struct regime_said *regime; /* how it is learned, where the tasks do not say it (regime.h); NULL: single,
                                 * or multi */
    /* over episodes (episodes.h) */
    char *episodes; /* "smlmt:FILE"; NULL: the tasks' own rows */
    char *episodes_sha256;
    struct corpus_ways *ways;   /* words of an episode of such a corpus (corpus.h); NULL: 2-5 */
    struct corpus_words *words; /* how they are drawn; NULL: uniform */
    double mix;     /* the share of the tasks' own episodes beside a corpus */
    uint64_t seed;
    int batch;      /* rows a step, all micro-batches together */
    int accumulate; /* micro-batches a step; 1 */
    int64_t steps;  /* planned steps, whichever way they were given */
    double epochs;  /* as given, 0 when steps were given */
    int max_len;    /* tokens a row, special ones included */
    /* text to text */
    enum form form; /* resolved to another than FORM_AUTO */
    bool whole_words; /* masked words: those of several tokens are masked as one */
    bool prefix;    /* a labelled task's sources begin with its name */
    int max_target; /* tokens of a target, its end included; also of a text generated */
    enum loss_mean loss_mean;
    double smoothing; /* share of the loss that is spread over the vocabulary */
    int beams;      /* of evaluations; 1: greedy */
    int samples;    /* dev rows whose generated texts are told */
    int sample_every; /* steps between these, begun at step 0; 0: at evaluations alone */

    int eval_every; /* steps between evaluations; 0: at the end of each epoch and of the run */
    int eval_rows;  /* dev rows, drawn once and fixed; 0: all */
    int early_stop; /* evaluations without a better one before stopping; 0: never */
    int keep;       /* KEEP_ bits */
    int embed_every; /* steps between sets of vectors, begun at step 0 and ended with the run; 0: none */
    int embed_rows; /* dev rows of such a set, drawn once, evenly over the classes */
    enum join_way join;
    int join_memory; /* MB: held as long as all parts fit */
    bool share_frozen; /* layers below the method run once a row, as in evaluation (share.h) */
    int cache_limit; /* MB that these rows may take on disk, of all runs; 0: they are not kept */
    int shards;     /* S: parts of a step; same bits for any number of workers */

    enum optimizer optimizer;
    double lr; /* 0: the method's usual one (config_default_lr) */
    double beta1, beta2, epsilon, momentum, weight_decay, clip; /* clip 0: none */
    enum schedule schedule;
    double warmup;  /* < 1: share of the steps; ≥ 1: steps */
    double dropout; /* hidden, attention and classifier; -1: as published in the model's config */
};

/* Defaults: lora at its usual rate, batch 32, epochs 3, max_len 128, AdamW (0.9, 0.999, 1e-8), decay 0,
 * clip 1, linear without warm-up, dropout as published, 4 shards, keep best and last, seed 1, no vectors
 * (of 200 rows); max_target 128, loss the mean over tokens, no smoothing, greedy, 6 samples every 50
 * steps. */
void config_init(struct run_config *c);
void config_copy(struct run_config *to, const struct run_config *from);
void config_release(struct run_config *c);
char *config_json(const struct run_config *c); /* caller frees */
int config_from_json(const char *json, size_t n, struct run_config *out, struct err *e);

/* The tasks of a run: 1, or as many as it was given, or 0 where a corpus makes its episodes;
 * and the description of task i's rows (of *c itself
 * with one task). */
int config_task_count(const struct run_config *c);
struct run_config *config_rows(struct run_config *c, int i);
const struct run_config *config_rows_of(const struct run_config *c, int i);
/* The task's name among several, "" where there is one. */
const char *config_task_name(const struct run_config *c, int i);
/* The task of that name, or -1 with *e (ERR_USAGE), which lists them; name NULL: none was said. */
int config_task_find(const struct run_config *c, const char *name, struct err *e);
/* Takes the tasks away: c is of one, whose rows its own members say. */
void config_drop_tasks(struct run_config *c);
/* Everything of c, with task i alone: what its rows are opened, prepared and completed by.  Released by
 * config_release. */
void config_of_task(const struct run_config *c, int i, struct run_config *out);
/* Reads --tasks: names and folders with commas, or a list file, paths in it relative to the file:
 * [{"name","task"} or {"name","train","dev","text","text_b","label","source","target","kind","metric"}]; more
 * keys in docs/tasks.md.  ERR_USAGE, also for options that say how one task's rows are read; ERR_INPUT.
 * Once, after the other options are set. */
int config_set_tasks(struct run_config *c, const char *text, struct err *e);
/* Adds a task whose rows `rows` says, to those there are; its own rows are then none's.  ERR_USAGE for a name
 * that no task can have, or one has. */
int config_add_task(struct run_config *c, const struct run_config *rows, const char *name, struct err *e);
/* Takes over what a config of task i alone (config_of_task) says of its rows by now. */
void config_put_task(struct run_config *c, int i, const struct run_config *one);
/* After a change of an option that is said once for each task (OPTION_EACH): hands it to them. */
void config_tell_each(struct run_config *c);
/* Other tasks, as config_set_tasks reads them, in place of the rows there were, whenever: how they are
 * sampled and averaged stays, --weights too where all their names are among the tasks.  "" or "none": the
 * first of them alone.  On failure *c is as it was. */
int config_take_tasks(struct run_config *c, const char *text, struct err *e);
/* Other weights of the tasks there are; "" or "none": 1 each.  On failure *c is as it was. */
int config_take_weights(struct run_config *c, const char *text, struct err *e);
/* The line that would train this: "petri train …", words quoted for a shell, what is at its default left
 * out, but method, rate and seed.  Caller frees. */
char *config_command(const struct run_config *c);

/* Sets one option by its command-line name without dashes ("lr", "early-stop"); the value
 * is checked and refused with its range.  ERR_USAGE names the option as it was given.  Setting
 * steps takes back epochs, and the other way round. */
int config_set(struct run_config *c, const char *option, const char *value, struct err *e);
/* Sets one option to a value that is known to be good, and nothing besides; NULL resets it. */
void config_put(struct run_config *c, const char *option, const char *value);
/* The option's value as config_set would take it; caller frees; NULL for an unknown option. */
char *config_get(const struct run_config *c, const char *option);

/* Returns the option's own name for its name or an alias; NULL for an unknown option. */
const char *config_option_name(const char *spelling);

/* The option in which two configs would train differently, or NULL.  Names of files,
 * what is kept and vectors do not count. */
const char *config_difference(const struct run_config *a, const struct run_config *b);

/* SHA-256 of what a completed config computes: everything that decides, with the hashes of model and rows,
 * the seed too. Names of files, what is kept and vectors do not count: two runs of the same key are the same
 * run twice. */
void config_key(const struct run_config *c, char out[65]);

/* Reads "1,2,3" or "1..3" into at most `room` seeds; returns how many, or ERR_USAGE. */
int config_parse_seeds(const char *text, uint64_t *seed, int room, struct err *e);

/* A text that is the same for configs whose rows are read and encoded the same way.  Caller frees. */
char *config_rows_key(const struct run_config *c);

/* Other rows: a task by name or folder in place of whatever was there; what said how the old rows are read
 * (files, columns, kind, metric) goes with them. */
void config_take_task(struct run_config *c, const char *task);
/* Another model, by name or folder; the form is decided anew, but masked words, which are of the rows. */
void config_take_model(struct run_config *c, const char *model);
/* The same rows as *from, with what is of several tasks together. */
void config_take_rows(struct run_config *c, const struct run_config *from);
/* The same model and rows as *from. */
void config_take_source(struct run_config *c, const struct run_config *from);
bool config_same_source(const struct run_config *a, const struct run_config *b);

/* Whether it names rows: a run on a corpus of episodes may have none. */
bool config_has_rows(const struct run_config *c);
/* Whether a loss of the method looks across the whole batch. */
bool config_has_join(const struct run_config *c);
/* Whether a prompt starts from prompt_text. */
bool config_takes_prompt_text(const struct run_config *c);

const char *optimizer_name(enum optimizer o);

#endif
