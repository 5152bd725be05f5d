/* The table of verbs and their options. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/insight/probe.h"
#include "app/verbs/drawing.h"
#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/model/generate.h"
#include "core/text/vocab_train.h"
#include "core/train/config/config.h"
#include "core/train/config/sweep.h"
#include "core/train/fewshot/fewshot.h"
#include "core/train/meta/pretrain.h"
#include "views/keys.h"

#define END { NULL }

#define SCREEN_WORD(NAME, name) "|" #name
#define SCREEN_NAMES &SCREENS(SCREEN_WORD)[1]

#define COLUMNS "text text-b label source target kind positive header no-header delimiter unlabeled"
#define COMPARED { .name = "by value cost margin csv markdown" }
#define MOVED { "model", "DIR|NAME", .help = "path of the run's model if it was moved" }
/* Options of adapt and fewshot. */
#define ZERO_SHOT                                                                                            \
    {                                                                                                        \
        "zero", NULL, "also evaluate before the first training step (zero-shot)", GROUP_EVALUATION,          \
            AT(shots.zero)                                                                                   \
    }
#define KEEP_DRAWS                                                                                           \
    {                                                                                                        \
        "keep", NULL, "save the tensors of every sample, not only of the first", GROUP_CHECKPOINTS,          \
            AT(shots.keep)                                                                                   \
    }
#define INITIALIZED_FROM                                                                                     \
    { "prototype", "vote|random|worst|NAME",                                                                 \
      "for runs with prototypes: prototype from which adaptation starts (default vote)", GROUP_FEWSHOT,      \
      AT(shots.prototype) },                                                                                 \
    {                                                                                                        \
        "start", "lowest|mean|NAME",                                                                         \
            "for other runs: initialize from the training task with the lowest loss on the support set, "    \
            "from the mean of all training tasks, or from a named one (default lowest)",                     \
            GROUP_FEWSHOT, AT(shots.start)                                                                   \
    }
#define HEAD_OR_MOVED                                                                                        \
    {                                                                                                        \
        "model", "DIR|NAME",                                                                                 \
            .help = "model, instead of RUN: decoder-only, or with its own classification head; with RUN: "   \
                    "path of its model if it was moved"                                                      \
    }
/* Examples of tasks. */
#define TASK_ROWS                                                                                            \
    { "task", "NAME|FOLDER,\u2026",                                                                          \
      .help = "tasks whose examples are used, prepared as for training; a multi-task run accepts only its "  \
              "own tasks (default: all tasks of the run, or " DEFAULT_TASK ", else " OWN_TASK ")" },         \
    {                                                                                                        \
        .name = COLUMNS " official-dev split unseen"                                                         \
    }

static const struct option_spec TRAIN[] = {
    { "model", NULL, NULL, GROUP_METHOD, AT(model), FILLS_CONFIG },
    { "task", NULL, NULL, GROUP_DATA, AT(task), FILLS_CONFIG },
    { "train", NULL, NULL, GROUP_DATA, AT(train.train), FILLS_CONFIG },
    { "tasks", NULL, NULL, GROUP_TASKS, AT(train.tasks), FILLS_CONFIG },
    { "method", NULL, NULL, GROUP_METHOD, AT(method), FILLS_CONFIG },
    { "seed", NULL, NULL, GROUP_OPTIMIZATION, AT(train.seed), FILLS_CONFIG, .excludes = "seeds" },
    { ARGS_REST, .fills = FILLS_CONFIG },
    { "seeds", "N,N,\u2026", "train one run per seed", GROUP_OPTIMIZATION, AT(train.seeds) },
    { .name = "workers force name note cell" },
    { "like", "RUN", "copy all options of this run; options given here override them",
      GROUP_METHOD, AT(train.like), .excludes = "from" },
    { "from", "RUN",
      .help = "initialize from the parameters of this run (its method, model and data are the defaults)" },
    END,
};

static const struct option_spec PRETRAIN[] = {
    { "text", "FILE" ARGS_AGAIN, "text file for training, one text per line", GROUP_DATA, AT(pretrain.text),
     FILLS_TEXTS },
    { "out", "DIR", .help = "new folder for the model (transformers can open it too)", .required = 1 },
    { "dev", "FILE", "text file for validation, one text per line, instead of --split", GROUP_DATA,
     AT(pretrain.dev) },
    { "layers", "N", "number of transformer layers", GROUP_METHOD, AT(pretrain.layers), FILLS_INTEGER, 1, 48,
      4 },
    { "width", "N", "hidden size; the inner size of the FFN is four times as large", GROUP_METHOD,
      AT(pretrain.width), FILLS_INTEGER, 4, 4096, 128 },
    { "heads", "N", "number of attention heads", GROUP_METHOD, AT(pretrain.heads), FILLS_INTEGER, 1, 4096,
      4 },
    { "vocab", "N", "maximum vocabulary size in tokens", GROUP_METHOD, AT(pretrain.vocab), FILLS_INTEGER,
      VOCAB_TRAIN_LEAST, VOCAB_TRAIN_MOST, 6000 },
    { .name = "dtype workers name note" },
    { "split split-seed lr batch gradient-accumulation-steps epochs steps max-length schedule warmup "
      "optimizer beta1 beta2 epsilon momentum weight-decay clip dropout eval-steps eval-rows early-stop keep "
      "whole-words shards seed",
      .fills = FILLS_CONFIG },
    END,
};

/* The runs of a sweep are not initialized from another run, and share no name. */
static const struct option_spec SWEEP[] = {
    { ARGS_REST, .fills = FILLS_CONFIG },
    { "seeds", "N,N,\u2026", "train one run per seed", GROUP_OPTIMIZATION, AT(sweep.seeds), FILLS_CONFIG },
    { .name = "workers force" },
    { "note", "TEXT", "note stored with the runs", GROUP_OUTPUT, .fills = FILLS_CONFIG },
    { "draw", "grid|random|latin", "how combinations are selected (default grid: all of them)",
      GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "cells", "N", "number of combinations to sample (random, latin)", GROUP_SCHEDULE,
      .fills = FILLS_CONFIG },
    { "draw-seed", "N", "seed of the sampling (default 1)", GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "budget", "runs=N,steps=N,tokens=N,trained=N,minutes=N",
      "budget, after which no further runs are started; trained: maximum trainable parameters of a run",
      GROUP_SCHEDULE, AT(sweep.budget), FILLS_CONFIG },
    { "halving", NULL,
      "successive halving: stop runs at 1/9 and 1/3 of their steps; the best third of the cells continues",
      GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "size-of", "METHOD",
      "scale the method of each cell to the number of parameters that this method stores", GROUP_SCHEDULE,
      .fills = FILLS_CONFIG },
    { "dry-run", NULL, "list the cells without training, with the reason for each invalid one",
      GROUP_OUTPUT, AT(sweep.dry_run), .reads = true },
    { "slurm", "DIR",
      "write the missing runs as Slurm tasks to a new folder instead of training (docs/sweep.md)",
      GROUP_PERFORMANCE, AT(sweep.slurm), .changes = true },
    { "sbatch", "ARGS", "with --slurm: additional arguments for sbatch", GROUP_PERFORMANCE, AT(sweep.sbatch),
      .needs = "slurm" },
    { "at-once", "N",
      "maximum number of concurrent runs (default: the number of workers); with --slurm: of concurrent tasks "
      "(default: all)",
      GROUP_PERFORMANCE, AT(sweep.at_once), FILLS_INTEGER, 1, SWEEP_CELLS },
    { "max-array", "N", "with --slurm: maximum tasks per job array (default: Slurm's MaxArraySize, or 1001)",
      GROUP_PERFORMANCE, AT(sweep.max_array), FILLS_INTEGER, 1, 1 << 30, .needs = "slurm" },
    COMPARED,
    END,
};

static const struct option_spec COMPARE[] = {
    COMPARED,
    { "metric", "NAME", .help = "metric to compare, instead of the primary metric of each run" },
    { "mixed", NULL, "also compare runs of a task that were evaluated on different examples, and mark them",
      GROUP_EVALUATION, AT(flag) },
    END,
};

static const struct option_spec RESUME[] = {
    MOVED,
    { .name = "workers force" },
    { "batch", "N", "must match the value of the run",
      GROUP_OPTIMIZATION, AT(resume.batch), FILLS_INTEGER, 1, OPTION_MOST,
      ALIASES_OF_RUN },
    { "steps", "N", "must match the value of the run",
      GROUP_SCHEDULE, AT(resume.steps), FILLS_INTEGER, 1, OPTION_MOST,
      ALIASES_OF_RUN },
    END,
};
static const struct option_spec ADAPT[] = {
    { "task", "NAME|FOLDER", "the new task", GROUP_DATA, .fills = FILLS_CONFIG },
    { "train", "FILE", "training set from which support sets are sampled, instead of --task", GROUP_DATA,
      .fills = FILLS_CONFIG },
    { "dev", "FILE", "validation set, with --train", GROUP_DATA, .fills = FILLS_CONFIG },
    { "text text-b label source target kind positive header no-header delimiter unlabeled official-dev "
      "metric",
      .fills = FILLS_CONFIG },
    { "k", "N,N,\u2026", "examples per class; for generated texts and scores, in total (default 16)",
      GROUP_FEWSHOT, AT(shots.k) },
    { "draws", "N", "number of sampled support sets for each k", GROUP_FEWSHOT, AT(shots.draws),
      FILLS_INTEGER, 1, FEWSHOT_DRAWS, 5 },
    INITIALIZED_FROM,
    { "tune", "row,generator,shared,head",
      "parameter groups to train; all others are frozen (default row,head)", GROUP_FEWSHOT, AT(shots.tune) },
    ZERO_SHOT,
    { "steps", "N", "number of training steps per support set", GROUP_SCHEDULE, AT(shots.steps),
      FILLS_INTEGER, 1, 1e9, 100, ALIASES_OF_RUN },
    { "lr", "X", "learning rate (default: the run's)", GROUP_OPTIMIZATION, AT(shots.lr), FILLS_NUMBER, 0,
      OPTION_MOST, .above = true, ALIASES_OF_RUN },
    { "batch", "N", "batch size (default: the run's)", GROUP_OPTIMIZATION, AT(shots.batch), FILLS_INTEGER, 1,
      65536, ALIASES_OF_RUN },
    { "eval-rows", "N", "number of validation examples, sampled once; 0: all (default: the run's)",
      GROUP_EVALUATION, AT(shots.eval_rows), FILLS_INTEGER, 0, 1e9, -1 },
    { "seed", "N", "seed of the support sets (default: the run's)", GROUP_FEWSHOT, AT(seed), FILLS_INTEGER, 0,
      OPTION_MOST, -1 },
    KEEP_DRAWS,
    MOVED,
    { .name = "workers force name note" },
    END,
};
static const struct option_spec FEWSHOT[] = {
    { "tasks", "WHAT",
      "folder in LEOPARD's layout, folder of such folders, or a list of tasks as in petri train", GROUP_DATA,
      AT(shots.tasks) },
    { "k", "N,N,\u2026", "examples per class; for generated texts and scores, in total (default 4,8,16)",
      GROUP_FEWSHOT, AT(shots.k) },
    { "draws", "N", "number of sampled support sets for each k", GROUP_FEWSHOT, AT(shots.draws),
      FILLS_INTEGER, 1, FEWSHOT_DRAWS, 10 },
    { "from", "RUN",
      .help = "run to adapt, with its method, options and parameters; with --method: only initialize shared "
              "parameters from it" },
    { "model", "DIR|NAME",
      "model folder or name (default " DEFAULT_MODEL ", else " OWN_MODEL
      "); with --from: path of the run's model if it was moved",
      GROUP_RUN, AT(model), FILLS_CONFIG },
    { "method", "TEXT", .help = "preset or modules (default lora); {a,b}: several methods, one run each" },
    { "steps", "N", "number of training steps per support set", GROUP_SCHEDULE, AT(shots.steps),
      FILLS_INTEGER, 1, 1e9, ALIASES_OF_RUN },
    { "stop-loss", "X",
      "instead of --steps: stop when the mean loss of an epoch is below X, after at most 100 epochs (default "
      "1e-3 for k up to 4, 1e-2 above)",
      GROUP_SCHEDULE, AT(shots.stop_loss), FILLS_NUMBER, 0, OPTION_MOST, .above = true },
    { "lr", "X", "learning rate (default: the method's; with --from and without --method, the run's)",
      GROUP_OPTIMIZATION, AT(shots.lr), FILLS_NUMBER, 0, OPTION_MOST, .above = true, ALIASES_OF_RUN },
    { "batch", "N", "batch size (default: 4 per class)", GROUP_OPTIMIZATION, AT(shots.batch), FILLS_INTEGER,
      1, 65536, ALIASES_OF_RUN },
    { "eval-rows", "N", "number of test examples, sampled once; 0: all", GROUP_EVALUATION,
      AT(shots.eval_rows), FILLS_INTEGER, 0, 1e9, -1 },
    { "seed", "N", "seed of support sets, initialization and example order", GROUP_FEWSHOT, AT(seed),
      FILLS_INTEGER, 0, OPTION_MOST, -1 },
    INITIALIZED_FROM,
    { "tune", "row,generator,shared,head",
      "parameter groups to train; all others are frozen (default: all)", GROUP_FEWSHOT, AT(shots.tune) },
    { "max-length max-target form optimizer momentum weight-decay schedule warmup clip dropout",
      .fills = FILLS_CONFIG },
    ZERO_SHOT,
    KEEP_DRAWS,
    { .name = "workers force name note cell" },
    { "csv", .help = "print CSV, one line per run, task and k" },
    END,
};
static const struct option_spec EVAL[] = {
    HEAD_OR_MOVED,
    { "task", "NAME|FOLDER",
      .help = "evaluate on the validation set of this task; for a multi-task run: one of its tasks" },
    { "file", "FILE", .help = "evaluate on this file" },
    { .name = COLUMNS },
    { "official-dev", .help = "evaluate on dev_official.tsv of a GLUE folder" },
    { "batch", "N", "batch size for inference; does not change the result",
      GROUP_PERFORMANCE, AT(eval.batch), FILLS_INTEGER, 1, 1 << 20, 1,
      ALIASES("batch-size", "per-device-eval-batch-size") },
    { "max-length", "N", .help = "maximum sequence length in tokens (default: the run's, or 128)" },
    { "metric", "NAME", .help = "primary metric; decoder-only models generate texts for rouge1, exact, \u2026" },
    { .name = "template" },
    { "wrong", "FILE", "write misclassified examples with their probabilities as TSV (-: standard output)",
      GROUP_OUTPUT, AT(eval.wrong) },
    { "overwrite", .help = "allow --wrong to overwrite an existing file", .needs = "wrong" },
    { .name = "precision weights-in workers" },
    { "beams", "N", "text-to-text: number of beams (default: the run's)",
      GROUP_GENERATION, AT(eval.beams), FILLS_INTEGER, 1, BEAMS_MOST,
      ALIASES_OF_RUN },
    END,
};
static const struct option_spec PREDICT[] = {
    { .name = "task" },
    HEAD_OR_MOVED,
    { "text", "TEXT", .help = "input text", .excludes = "file", .required = 1 },
    { "text-b", "TEXT", .help = "second text of a pair (with --file: its column)" },
    { "file", "FILE", .help = "TSV with a header, or a file with one text per line (-: standard input)",
      .required = 1 },
    { "column", "NAME", .help = "column of the text in --file", .needs = "file" },
    { "fill", "TEXT", "predict each [MASK] of this text, with a masked language modeling run or head",
      GROUP_DATA, AT(predict.fill), .excludes = "text file", .required = 1 },
    { "top", "N", "number of predictions for each [MASK]",
      GROUP_OUTPUT, AT(predict.top), FILLS_INTEGER, 1, 1000, 5,
      .needs = "fill" },
    { .name = "header no-header delimiter", .needs = "file" },
    { .name = "max-length precision workers" },
    END,
};
/* With any of the first four, tokens are drawn. */
#define SAMPLING                                                                                             \
    { "temperature", "X", "sampling temperature (default 1 if sampling, else greedy); 0: greedy decoding",      \
      GROUP_GENERATION, AT(generate.temperature), FILLS_NUMBER, 0, SAMPLE_MOST, NAN },                       \
    { "top-k", "N", "sample from the N most probable tokens; 0: all (default: as in the model's config, "    \
      "or 50)", GROUP_GENERATION, AT(generate.top_k), FILLS_INTEGER, 0, 1 << 22, -1 },                       \
    { "top-p", "X", "nucleus sampling: sample from the most probable tokens with total probability X",       \
      GROUP_GENERATION, AT(generate.top_p), FILLS_NUMBER, 0, 1, NAN },                                       \
    { "min-p", "X", "sample from tokens at least X times as probable as the most probable one",              \
      GROUP_GENERATION, AT(generate.min_p), FILLS_NUMBER, 0, 1, NAN },                                       \
    { "repetition-penalty", "X", "penalty for tokens of the prompt and the text; 1: none",                   \
      GROUP_GENERATION, AT(generate.repetition), FILLS_NUMBER, SAMPLE_LEAST, SAMPLE_MOST, NAN },             \
    { "seed", "N", "random seed of sampling (default 1)", GROUP_GENERATION, AT(seed), FILLS_INTEGER, 0,      \
      OPTION_MOST, -1 },                                                                                     \
    { "stop", "TEXT" ARGS_AGAIN, "stop text: generation ends before it",                                     \
      GROUP_GENERATION, AT(generate.stop), FILLS_TEXTS }
static const struct option_spec GENERATE[] = {
    { .name = "task" },
    { "model", "DIR|NAME",
      .help = "encoder–decoder or decoder-only model; with a run: path of its model if it was moved" },
    { "run", "RUN", .help = "generate with the best checkpoint of this run", .excludes = "RUN" },
    { "text", "TEXT",
      .help = "input text, used verbatim (petri predict formats it as the run's labeled task)",
      .excludes = "file", .required = 1 },
    { "text-b", "TEXT", .help = "second text of a pair (with --file: its column)", .excludes = "chat" },
    { "file", "FILE",
      .help = "table with a header, or a file with one input text per line (-: standard input)",
      .required = 1 },
    { "column", "NAME", .help = "column of the input text in --file", .needs = "file" },
    { .name = "header no-header delimiter", .needs = "file" },
    { "chat", NULL, "format the input as a user message with the chat template",
      GROUP_GENERATION, AT(generate.chat), FILLS_FLAG, .excludes = "max-length" },
    { "system", "TEXT", "system prompt of the chat (default: that of the template)", GROUP_GENERATION,
      AT(generate.system), .needs = "chat" },
    { "template", "NAME|FILE", .help = "chat template of --chat (default: that of the run or model)",
      .needs = "chat" },
    { "beams", "N", "number of beams; 1: greedy decoding (default: as in the model's config)",
      GROUP_GENERATION, AT(generate.beams), FILLS_INTEGER, 1, BEAMS_MOST,
      ALIASES_OF_RUN },
    { "max-new", "N", "maximum number of generated tokens (default: as in the model's config, or 20; decoder-only: 256)",
      GROUP_GENERATION, AT(generate.max_new), FILLS_INTEGER, 1, GENERATE_MOST,
      ALIASES("max-new-tokens", "max-tokens") },
    { "min-new", "N", "minimum number of generated tokens (default: as in the model's config)",
      GROUP_GENERATION, AT(generate.min_new), FILLS_INTEGER, 0, GENERATE_MOST, -1,
      ALIASES("min-new-tokens") },
    { "length-penalty", "X", "exponent of the length in beam scores; above 0 favors long texts (default 1)",
      GROUP_GENERATION, AT(generate.length_penalty), FILLS_NUMBER, -OPTION_MOST, OPTION_MOST, NAN },
    SAMPLING,
    { "start", "TOKEN", "decoder start token, a name or an id (mBART: a language)",
      GROUP_GENERATION, AT(generate.start) },
    { "first", "TOKEN", "token that is forced as the first one generated",
      GROUP_GENERATION, AT(generate.first) },
    { "max-length", "N", .help = "maximum length of the input text in tokens" },
    { .name = "precision weights-in workers" },
    END,
};
static const struct option_spec CHAT[] = {
    { "model", "DIR|NAME", .help = "decoder-only model; with a run: path of its model if it was moved" },
    { "file", "FILE", .help = "file with one message per line (default: standard input)" },
    { "system", "TEXT", "system prompt (default: that of the template)", GROUP_GENERATION,
      AT(generate.system) },
    { .name = "template" },
    { "max-new", "N", "maximum number of tokens of an answer (default: as in the model's config, or 256)",
      GROUP_GENERATION, AT(generate.max_new), FILLS_INTEGER, 1, GENERATE_MOST,
      ALIASES("max-new-tokens", "max-tokens") },
    SAMPLING,
    { .name = "task precision weights-in workers" },
    END,
};
static const struct option_spec ENCODE[] = {
    { .name = "model" },
    { "text", "TEXT", .help = "input text", .required = 1 },
    { "text-b", "TEXT", .help = "second text of a pair" },
    { "max-length", "N", .help = "maximum sequence length in tokens (default: the model's)" },
    { "tokens", NULL, "with --json: omit the vectors",
      GROUP_OUTPUT, AT(encode.tokens) },
    { "chat", NULL, "encode the text as a user message with the chat template, followed by the start of an answer",
      GROUP_DATA, AT(encode.chat), .excludes = "text-b" },
    { "system", "TEXT", "system prompt of --chat (default: that of the template)",
      GROUP_DATA, AT(encode.system), .needs = "chat" },
    { "template", "NAME|FILE", .help = "chat template of --chat (default: that of the run or model)",
      .needs = "chat" },
    END,
};
static const struct option_spec RUNS[] = {
    { "sort", "COLUMN", "sort by a column, an option or a metric; -COLUMN: descending",
      GROUP_OUTPUT, AT(runs.sort) },
    { "limit", "N", "list at most N runs", GROUP_OUTPUT, AT(runs.limit), FILLS_INTEGER, 1, INT32_MAX },
    { "trash", NULL, "list the runs in the trash", GROUP_OUTPUT, AT(runs.trash) },
    { "csv", .help = "print every column as CSV, one line per run" },
    { "markdown", .help = "print the list as a Markdown table" },
    END,
};
static const struct option_spec SQL[] = {
    { "csv", .help = "print CSV with a header line (the default)" },
    { "markdown", .help = "print a Markdown table" },
    END,
};
static const struct option_spec WATCH[] = {
    { .name = "no-color" },
    { "ascii", .help = "use only ASCII characters" },
    { "lesson", NULL, "show the notes of the lesson that runs in another terminal",
      GROUP_OUTPUT, AT(flag), .excludes = "RUN" },
    END,
};
static const struct option_spec SHOW[] = {
    { "why", NULL, "print the diagnostics of the run with their numbers",
      GROUP_OUTPUT, AT(flag) },
    END,
};
static const struct option_spec PURGE[] = {
    { "all", NULL, "delete all runs in the trash", GROUP_OUTPUT, AT(purge.all), .excludes = "RUN lessons" },
    { "lessons", NULL, "delete all runs that lessons started, in the trash or not",
      GROUP_OUTPUT, AT(purge.lessons), .excludes = "RUN" },
    { "yes", NULL, "do not ask for confirmation (required without a terminal)", GROUP_OUTPUT, AT(purge.yes) },
    END,
};
static const struct option_spec HELP[] = {
    { "man", NULL, "print the manual page", GROUP_OUTPUT, AT(more.man),
      .excludes = "VERB completion json" },
    { "completion", "bash|zsh|fish", "print the completion script for a shell",
      GROUP_OUTPUT, AT(more.completion), FILLS_WORD, .default_value = -1, .excludes = "VERB json" },
    END,
};
static const struct option_spec TAG[] = {
    { "remove", NULL, "remove the tags", GROUP_OUTPUT, AT(flag) },
    END,
};
static const struct option_spec COUNT[] = {
    { .name = "model" },
    { "method", "TEXT", .help = "preset or modules, for example 'lora(r=8)'" },
    { "classes", "N[,N…]", .help = "number of outputs of the head, or of each task's head (default 2)" },
    { .name = "tasks regime" },
    { "batch gradient-accumulation-steps max-length optimizer precision shards", .fills = FILLS_CONFIG },
    END,
};
static const struct option_spec REPLICATE[] = {
    { "data", "FOLDER", "folder with the data files of the experiment ({data} in its options)",
      GROUP_DATA, AT(replicate.data) },
    { "budget", "MINUTES",
      "time limit, after which running runs are stopped with a checkpoint (default: no limit)",
      GROUP_SCHEDULE, AT(replicate.budget), FILLS_INTEGER, 1, 100000 },
    { "all", NULL, "also train cells that are not run by default",
      GROUP_SCHEDULE, AT(replicate.all) },
    { "dry-run", NULL, "show the existing results without training",
      GROUP_OUTPUT, AT(replicate.dry_run) },
    { "from", "RESULTS.json",
      .help = "use the results in this file, written by --out, instead of the database's" },
    { "out", "RESULTS.json", .help = "write the results as JSON" },
    { "page", "PAGE.md", "write the results as a Markdown page", GROUP_OUTPUT, AT(replicate.page) },
    { "overwrite", .help = "allow --out and --page to overwrite existing files" },
    { .name = "workers" },
    END,
};
static const struct option_spec EXPLAIN[] = {
    { .name = "model" },
    { "classes", "N[,N…]", .help = "number of outputs of the head, or of each task's head (default 2)" },
    { .name = "tasks regime" },
    { "beside", "NAME|METHOD", "second method to compare: list the axes in which the methods differ",
      GROUP_METHOD, AT(beside) },
    END,
};
/* The options of a run that determine the composition of a multi-task batch. */
static const struct option_spec TASKS[] = {
    { "sampling batch limit limit-seed split split-seed split-validation official-dev",
      .fills = FILLS_CONFIG, .needs = "A,B,C" },
    { .name = "csv markdown" },
    END,
};
static const struct option_spec SETTINGS[] = {
    { "write", NULL,
      "write the settings file with a comment for each setting, preserving existing values",
      GROUP_OUTPUT, AT(flag), .changes = true },
    END,
};
static const struct option_spec MODELS[] = {
    { .name = "csv markdown" },
    END,
};
static const struct option_spec RENDER[] = {
    { "screen", SCREEN_NAMES, "screen to print", GROUP_OUTPUT, AT(render.screen), FILLS_WORD, .required = 1 },
    { .name = "size" },
    { "method", "TEXT", .help = "method on the Compose screen" },
    { "run", "RUN", .help = "selected run" },
    { "filter", "FILTER", "runs, compare: filter, as in petri runs", GROUP_DATA, AT(render.filter),
      .needs = "screen=runs|compare" },
    { "trash", NULL, "runs: show the trash", GROUP_DATA, AT(render.trash), .needs = "screen=runs" },
    { "sweep", "ID", "sweep: the sweep to show (default: the list of sweeps)", GROUP_DATA, AT(render.sweep),
      FILLS_INTEGER, 1, OPTION_MOST, .needs = "screen=sweep" },
    { "part", "grid|effects|front|lines", "sweep: view to show if only one fits on the screen", GROUP_OUTPUT,
      AT(render.part), FILLS_WORD, .needs = "screen=sweep" },
    { "cost", "trained|time|memory", "sweep: cost axis of the Pareto front", GROUP_EVALUATION, AT(cost),
      FILLS_WORD, .needs = "screen=sweep" },
    { "steps", NULL, "map: show the last set of vectors saved during training", GROUP_DATA, AT(render.steps),
      .excludes = "set", .needs = "screen=map run" },
    { "set", "N[,N]", "map: saved sets of vectors", GROUP_DATA, AT(render.set) },
    { "matrix", "N", "heatmap: a saved matrix, such as attention", GROUP_DATA, AT(render.matrix),
      FILLS_INTEGER, 1, OPTION_MOST, .needs = "screen=heatmap" },
    { .name = "model" },
    { "task", "NAME|FOLDER",
      .help =
          "task on the Compose screen; map, heatmap: task whose examples are shown (for a multi-task run: "
          "one of its tasks, or all)" },
    { "unseen", "NAME|FOLDER,…",
      .help = "map, heatmap: add examples of tasks on which a multi-task run was not trained",
      .needs = "run" },
    { "loss", "parts|tasks|NAME",
      "train: loss per component or per task, or the name of one (loss.instance, reviews)", GROUP_OUTPUT,
      AT(render.loss), .needs = "screen=train" },
    { .name = "ascii ansi svg out" },
    { .name = "overwrite", .needs = "out" },
    END,
};
static const struct option_spec PLOT[] = {
    { "key", "NAME", "series to plot: loss, lr, grad_norm, accuracy or another recorded one (default loss)",
      GROUP_DATA, AT(plot.key) },
    { "x", "step|tokens|time|epoch", "x axis; time: seconds of training",
      GROUP_OUTPUT, AT(plot.x), FILLS_WORD },
    { "smooth", "X",
      "smoothing weight: 0, 0.5, 0.8, 0.9, 0.95, 0.98 or 0.99 (default 0.9; for evaluations 0)",
      GROUP_OUTPUT, AT(plot.smooth), FILLS_NUMBER, 0, 1, -1 },
    { "raw", NULL, "draw raw points behind the smoothed curves (always drawn for a single run)",
      GROUP_OUTPUT, AT(plot.raw) },
    { "log", NULL, "logarithmic y axis", GROUP_OUTPUT, AT(plot.log) },
    { "log-x", NULL, "logarithmic x axis", GROUP_OUTPUT, AT(plot.log_x) },
    { .name = "size ascii ansi svg out" },
    { .name = "overwrite", .needs = "out" },
    { "csv", .help = "print the plotted values, raw and smoothed, as CSV; --json likewise",
      .excludes = "json out" },
    END,
};
static const struct option_spec EMBED[] = {
    { .name = "model" },
    { "run", "RUN",
      .help = "use the best checkpoint of this run; --model is then the path of its model if it was moved"
      },
    { "list", .help = "list saved sets (of --run) instead of embedding" },
    TASK_ROWS,
    { .name = "rows" },
    { "layer", "L|retriever",
      .help = "layer, from 0 (embeddings) to the last (default); retriever: output of the run's retriever" },
    { .name = "pool seed precision workers" },
    { .name = "csv markdown", .needs = "list" },
    END,
};
static const struct option_spec SIMILARITY[] = {
    { "of", "classes|rows|layers|tensors|attention|prototypes|tasks|weights|mass",
      "what to compare; of one run only: prototypes (examples with task prototypes), tasks (task embeddings "
      "of the generator), weights (task-specific weights by layer), mass (attention on the prefix by layer)",
      GROUP_METHOD, AT(similarity.of), FILLS_WORD },
    { "row", "N", "attention: row number of the example in its file", GROUP_DATA, AT(similarity.row),
      FILLS_INTEGER, 1, OPTION_MOST, .needs = "of=attention" },
    { "head", "N|first",
      "attention: token-by-token matrix of one head; first: attention of the first token, by head (default)",
      GROUP_METHOD, AT(similarity.head), FILLS_INTEGER, 1, 1024, -1, .needs = "of=attention" },
    { "measure", "cosine|cka|debiased-cka",
      "layers: cka (default) or debiased-cka, for few examples; otherwise cosine", GROUP_METHOD,
      AT(similarity.measure), FILLS_WORD, .default_value = -1 },
    { "order", "name|cluster", "order of rows and columns", GROUP_OUTPUT, AT(similarity.cluster),
      FILLS_WORD },
    { "model", "DIR|NAME", .help = "pretrained model to use instead of a run, or to compare with one RUN" },
    TASK_ROWS,
    { "rows", "N",
      "maximum number of examples, stratified by task and class (default 1000, at least 64 per task; --of "
      "rows: 40)",
      GROUP_DATA, AT(rows), FILLS_INTEGER, 1, 1 << 20 },
    { "layer", "L|retriever",
      .help = "classes, rows: layer 0 to the last (default), or retriever; attention: layer 1 to the last" },
    { .name = "pool seed" },
    { "csv", .help = "print CSV, one line per cell" },
    { "list", .help = "list saved matrices (of RUN) instead of comparing" },
    { "matrix", "N", "print a saved matrix", GROUP_DATA, AT(similarity.matrix), FILLS_INTEGER, 1, OPTION_MOST,
      .reads = true },
    { .name = "precision weights-in workers" },
    { .name = "markdown", .needs = "list" },
    END,
};
static const struct option_spec MAP[] = {
    { "vectors", "FILE", "CSV or TSV of vectors, instead of SET", GROUP_DATA, AT(map.vectors) },
    { "labels", "COLUMN", "column of the labels in --vectors (a name or #N)", GROUP_DATA, AT(map.labels),
      .needs = "vectors" },
    { "columns", "LIST",
      "columns of the coordinates: names, #N, #N-#M, separated by commas (default: all others)", GROUP_DATA,
      AT(map.columns), .excludes = "skip", .needs = "vectors" },
    { "skip", "LIST", "columns to ignore", GROUP_DATA, AT(map.skip), .needs = "vectors" },
    { "run", "RUN",
      .help = "embed examples with this run and save them, as petri embed does; --model is then the path of "
              "its model if it was moved" },
    { "steps", NULL, "map each set that the run saved during training, initialized from the previous map",
      GROUP_DATA, AT(map.steps), .excludes = "pca iterations", .needs = "run" },
    { "model", "DIR|NAME", .help = "embed examples with this model" },
    TASK_ROWS,
    { "rows", "N", "maximum number of examples, stratified by task and class", GROUP_DATA, AT(rows),
      FILLS_INTEGER, 1, 1 << 20 },
    { "layer", "L|retriever", .help = "layer, as in petri embed; with --steps only retriever" },
    { "pool", "cls|mean", "pooling: first token, or mean over all tokens", GROUP_METHOD, AT(pool), FILLS_WORD,
      .default_value = OVER_USUAL },
    { "by", "label|task", "groups for which the cluster scores are computed", GROUP_EVALUATION,
      AT(map.by_task), FILLS_WORD },
    { "perplexity", "P", "perplexity of t-SNE: effective number of neighbors", GROUP_METHOD,
      AT(map.perplexity), FILLS_NUMBER, 1, OPTION_MOST, 30 },
    { "iterations", "N", "number of t-SNE iterations (default 750)", GROUP_METHOD, AT(map.iterations),
      FILLS_INTEGER, 1, 1000000 },
    { "seed", "N", .help = "seed of the sampling and of t-SNE" },
    { "pca", NULL, "project to two principal components instead of t-SNE", GROUP_METHOD, AT(map.pca) },
    { "csv", .help = "print CSV, one line per point" },
    { .name = "precision weights-in workers" },
    END,
};
static const struct option_spec EXPORT[] = {
    { .name = "task" },
    { "to", "csv|json|markdown|hf|petri|peft|hub|gguf|gguf-merged",
      "csv, markdown: points; json: the run and its points as JSON Lines; hf: Hugging Face folder; "
      "petri: file for `petri import`; peft, hub: PEFT or AdapterHub folder; gguf: LoRA for llama.cpp and "
      "Ollama; gguf-merged: GGUF file of the merged model",
      GROUP_OUTPUT, AT(to.to), FILLS_WORD, .required = 1 },
    { "base", "NAME", "with --to peft or hub: name of the base model in the config (default: as in the run)",
      GROUP_OUTPUT, AT(to.base), .needs = "to=peft|hub" },
    { "outtype", "f32|f16|q8_0", "with --to gguf-merged: format of the matrices", GROUP_OUTPUT,
      AT(to.outtype), FILLS_WORD, .default_value = 1, .needs = "to=gguf-merged" },
    { "overwrite", .help = "allow PATH to be an existing file (never the database or an input of a run)" },
    { .name = "dtype", .needs = "to=hf" },
    MOVED,
    END,
};
static const struct option_spec NAME[] = {
    { .name = "classes" },
    MOVED,
    END,
};
static const struct option_spec IMPORT[] = {
    { "model", "DIR|NAME", .help = "base model of the adapter (default: as in its config)" },
    { "adapter", "DIR" ARGS_AGAIN,
      "folder of a fused adapter, one option per adapter (default: those in DIR or next to it)",
      GROUP_METHOD, AT(adapter), FILLS_TEXTS },
    { .name = "classes name note" },
    END,
};
static const struct option_spec MERGE_ADAPTERS[] = {
    { "weights", "W,W…",
      "one weight per run; negative weights subtract (default: equal weights that sum to 1)", GROUP_METHOD,
      AT(merge.weights) },
    { "how", "concat|linear|ties",
      "concat: exact weighted sum of the updates; linear: weighted average of each matrix; ties: TIES "
      "merging (trim, elect signs, merge)",
      GROUP_METHOD, AT(merge.how), FILLS_WORD },
    { "density", "D", "ties: share of parameters to retain, above 0 and at most 1",
      GROUP_METHOD, AT(merge.density), FILLS_NUMBER, 0, 1, .above = true, .needs = "how=ties" },
    { "head", "RUN", "run that provides the head and its description (default: all heads must be equal)",
      GROUP_METHOD, AT(merge.head) },
    { .name = "name note" },
    MOVED,
    END,
};

static const struct option_spec LEARN[] = {
    { "handout", "DIR", "replay the lesson and write it to this folder as Markdown with SVG images",
      GROUP_OUTPUT, AT(learn.handout) },
    { "overwrite", .help = "allow --handout to overwrite existing files of DIR", .needs = "handout" },
    { "list", .help = "list all lessons with their duration and your progress", .excludes = "LESSON" },
    { "auto", NULL, "replay the lesson without questions and print its checks; fail if one is out of range",
      GROUP_OUTPUT, AT(learn.replay) },
    { "model", "DIR|NAME", .help = "model to use instead of the lesson's" },
    { "task", "NAME|FOLDER", .help = "task to use instead of the lesson's" },
    { .name = "workers" },
    { .name = "csv markdown", .needs = "list" },
    END,
};

static const struct option_spec METHODS[] = {
    { "save", "NAME", "save --method under this name", GROUP_METHOD, AT(methods.save), .needs = "method",
      .excludes = "forget export import", .changes = true },
    { "method", "TEXT", .help = "method to save", .needs = "save" },
    { "forget", "NAME", "delete this saved method", GROUP_METHOD, AT(methods.forget),
      .excludes = "export import",
      .changes = true },
    { "export", "FILE", "write all saved methods to a new file, one per line: NAME = TEXT",
      GROUP_OUTPUT, AT(methods.to), .excludes = "import" },
    { "import", "FILE", "add the methods of a file written by --export",
      GROUP_DATA, AT(methods.from), .changes = true },
    { .name = "csv markdown" },
    END,
};

static const struct option_spec ALONE[] = {
    { "model", "DIR|NAME", .help = "initial model" },
    { "task", "NAME|FOLDER", .help = "initial task" },
    { .name = "workers no-color" },
    { "ascii", .help = "use only ASCII characters" },
    { "theme", "safe|dark|light|mono", "color theme; overrides the setting (petri settings)",
      GROUP_OUTPUT, AT(screen.theme) },
    { "mouse", "on|off",
      "enable mouse clicks and the wheel", GROUP_OUTPUT, AT(screen.mouse) },
    { "readonly", NULL,
      "read-only: nothing can be started or changed; new files are written on request",
      GROUP_OUTPUT, AT(screen.readonly) },
    { NULL },
};

static const struct verb VERBS[] = {
    { "train", "[options]", "Train a method on a task and record the run",
      TRAIN, 0, 0, .run = verb_train, LINE_TRAINS },
    { "pretrain", "--text FILE --out DIR [options]",
      "Pretrain a model and its vocabulary on unlabeled text by masked language modeling",
      PRETRAIN, 0, -1, verb_pretrain, LINE_ELSEWHERE,
      "it trains in a separate process" },
    { "stop", "RUN", "Stop a training run and save a checkpoint", NULL, 1, 1, .run = verb_stop },
    { "resume", "RUN", "Resume a run that was stopped or interrupted", RESUME, 1, 1, verb_resume,
      LINE_ELSEWHERE,
      "with options it trains in a separate process; without options it resumes here" },
    { "adapt", "RUN --task NEW [--k N,N,\u2026] [--draws N]",
      "Adapt a run to a new task from a few examples, over several sampled support sets", ADAPT, 1, 1,
      verb_adapt, LINE_ELSEWHERE,
      "it trains many small runs in a separate process" },
    { "fewshot", "--tasks WHAT [--from RUN] [--method TEXT] | RUN\u2026",
      "Evaluate methods on few-shot tasks, or compare few-shot runs",
      FEWSHOT, 0, -1, verb_fewshot, LINE_ELSEWHERE,
      "it trains many small runs in a separate process" },
    { "eval", "RUN | --model DIR [--task T | --file F]", "Evaluate a run or a model on labeled examples",
      EVAL, 0, 1, .run = verb_eval, LINE_READS },
    { "predict", "RUN --text TEXT | --file FILE | --fill TEXT",
      "Predict labels and probabilities with a run, or fill masks", PREDICT, 0, 1,
      .run = verb_predict, LINE_READS },
    { "generate", "RUN | --model DIR [--run RUN] --text TEXT | --file FILE",
      "Generate text with an encoder\u2013decoder or decoder-only model, or a run",
      GENERATE, 0, 1, .run = verb_generate, LINE_READS },
    { "chat", "[RUN|MODEL]", "Chat with a decoder-only model or a run, or answer each line of standard input",
      CHAT, 0, 1, verb_chat, LINE_ELSEWHERE, "it reads messages; the screen Talk does the same here" },
    { "encode", "--text TEXT", "Encode a text as token ids and vectors",
      ENCODE, 0, 0, .run = verb_encode, LINE_READS },
    { "runs", "[FILTER…]", "List runs, with filters: task=reviews state=finished lora",
      RUNS, 0, -1, .run = verb_runs, LINE_READS },
    { "watch", "[RUN]",
      "Watch the curves of a run from another terminal, read-only (default: the newest running one)",
      WATCH, 0, 1, verb_watch, LINE_ELSEWHERE,
      "it opens a separate screen; without options it watches the run here" },
    { "show", "RUN", "Show everything about one run; --why adds diagnostics",
      SHOW, 1, 1, .run = verb_show, LINE_READS },
    { "trash", "RUN…", "Move runs to the trash", NULL, 1, -1, .run = verb_trash },
    { "restore", "RUN…", "Restore runs from the trash", NULL, 1, -1, .run = verb_restore },
    { "purge", "RUN… | --all | --lessons",
      "Delete runs in the trash permanently, with their files", PURGE, 0, -1, .run = verb_purge },
    { "tag", "RUN… TAG… [--remove]",
      "Add tags to runs, or remove them; petri runs tag=good finds them", TAG, 2, -1, .run = verb_tag },
    { "name", "RUN [TEXT] [--classes A,B]",
      "Name a run (the name can replace RUN; \"\" removes it), or name its classes",
      NAME, 1, 2, .run = verb_name },
    { "note", "RUN TEXT",
      "Set the note of a run; \"\" removes it", NULL, 2, 2, .run = verb_note },
    { "sql", "\"SELECT …\"", "Query the database with SQL (read-only; docs/schema.md)",
      SQL, 1, 1, .run = verb_sql, LINE_READS },
    { "count", "--method TEXT", "Count the parameters of a method on a model",
      COUNT, 0, 0, .run = verb_count, LINE_READS },
    { "explain", "NAME | METHOD",
      "Explain a method: its definition, its cost on a model, equivalent methods",
      EXPLAIN, 1, 1, .run = verb_explain, LINE_READS },
    { "methods", "",
      "List published methods with their axes, and saved methods",
      METHODS, 0, 0, .run = verb_methods, LINE_READS },
    { "tasks", "[A,B,C | FILE.json [--sampling RULE]]",
      "List known tasks, or show how a multi-task batch is composed",
      TASKS, 0, 1, .run = verb_tasks, LINE_READS },
    { "fetch", "[model|tasks|t5|smollm2]",
      "Fetch the default model and task, more tasks, flan-t5-small or SmolLM2-135M-Instruct", NULL, 0, 1, .run = verb_fetch },
    { "models", "", "List available models", MODELS, 0, 0, .run = verb_models, LINE_READS },
    { "embed", "--task T[,T…] [--model DIR | --run RUN] | --list",
      "Embed the examples of tasks and save the vectors", EMBED, 0, 0, .run = verb_embed },
    { "map", "SET | --run RUN [--steps] | --model DIR --task T | --vectors FILE [--labels COLUMN]",
      "Map vectors to two dimensions and score the clusters", MAP, 0, 1, .run = verb_map },
    { "similarity", "[RUN [RUN]] --of classes|rows|layers|tensors|attention|prototypes|tasks|weights|mass",
      "Compute and save a similarity matrix",
      SIMILARITY, 0, 2, .run = verb_similarity },
    { "render", "--screen NAME", "Render a screen as text or SVG",
      RENDER, 0, 0, .run = verb_render, LINE_READS },
    { "plot", "RUN\u2026 | FILTER [--key NAME] [--x step|tokens|time|epoch] [--out FILE.svg]",
      "Plot the curves of runs in one chart, as text or SVG", PLOT, 1, -1, .run = verb_plot, LINE_READS },
    { "export", "RUN --to csv|json|markdown|hf|petri|peft|hub|gguf|gguf-merged [PATH]",
      "Export the points, the record or the weights of a run", EXPORT, 1, 2,
      .run = verb_export, LINE_READS },
    { "import", "FILE|DIR",
      "Import an adapter trained elsewhere as a run (docs/interchange.md)",
      IMPORT, 1, 1, .run = verb_import },
    { "merge-adapters", "RUN RUN… [--weights W,W] [--how concat|linear|ties]",
      "Merge the adapters of runs into a new run",
      MERGE_ADAPTERS, 2, -1, .run = verb_merge_adapters },
    { "merge", "INTO FROM…", "Merge databases into one", NULL, 2, -1, .run = verb_merge },
    { "sweep", "OPTIONS | FILE.json | ID | resume|stop|extend ID | task DIR INDEX | status DIR",
      "Sweep over lists of values in braces, or show the results of a sweep", SWEEP, 0, 3,
      verb_sweep, LINE_ELSEWHERE,
      "sweep files, Slurm tasks and options such as --at-once and --workers require a separate process; "
      "a sweep over the options of a run starts here" },
    { "compare", "RUN… | FILTER",
      "Compare runs: means, confidence intervals, differences",
      COMPARE, 1, -1, .run = verb_compare, LINE_READS },
    { "replicate", "FILE|EXPERIMENT…",
      "Replicate an experiment of a paper: train the missing runs, compare with the published results",
          REPLICATE, 1, -1,
      verb_replicate, LINE_ELSEWHERE,
      "it trains the runs of a paper in a separate process" },
    { "learn", "LESSON | FILE | --list",
      "Learn with interactive lessons that train real models (docs/lessons.md)", LEARN, 0, 1,
      .run = verb_learn },
    { "settings", "[NAME=VALUE…] [--write]",
      "Show or change the settings", SETTINGS, 0, -1, .run = verb_settings, LINE_READS },
    { "help", "[VERB] | WORD\u2026 | --man | --completion SHELL",
      "Show all verbs, one verb with its options, or everything that matches a word", HELP,
      0, -1, .run = verb_help, LINE_READS },
    { "doctor", "", "Check processor, kernels, terminal and database",
      NULL, 0, 0, .run = verb_doctor, LINE_READS },
    { "", "[--db FILE] [--model DIR] [--task FOLDER]", "Open the terminal workbench",
      ALONE, 0, 0, .run = NULL },
};

/* petri without a verb comes last; verb_at does not return it. */
enum { LISTED = COUNT_OF(VERBS) - 1 };
static struct verb made[LISTED + 1];

static void make(void) {
    for (size_t i = 0; i < COUNT_OF(VERBS); i++) {
        struct run_config defaults;
        config_init(&defaults);
        config_take_model(&defaults, DEFAULT_MODEL ", else " OWN_MODEL);
        config_take_task(&defaults, DEFAULT_TASK ", else " OWN_TASK);
        if (VERBS[i].run == verb_pretrain) pretrain_defaults(&defaults);
        made[i] = VERBS[i];
        made[i].options = args_table(&VERBS[i], &defaults);
        config_release(&defaults);
    }
}

static const struct verb *at(size_t i) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &made[i];
}

const struct verb *verb_at(size_t i) { return i < LISTED ? at(i) : NULL; }
const struct verb *verb_alone(void) { return at(LISTED); }

int verb_reserve(const struct args *a, struct err *e) {
    /* verbs that compute matrix products and have no --workers */
    static verb_run *const alone[] = { verb_encode, verb_watch, verb_render, verb_export, verb_import,
                                       verb_merge_adapters, verb_doctor };
    const struct option_spec *o = a->verb->options;
    int threads = 0;
    for (size_t i = 0; i < COUNT_OF(alone); i++) threads |= a->verb->run == alone[i];
    while (o->name && strcmp(o->name, "workers")) o++;
    if (o->name) threads = verb_workers(a);
    return threads ? blas_reserve(threads, e) : 0;
}
