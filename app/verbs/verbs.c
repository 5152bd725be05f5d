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
#define MOVED { "model", "DIR|NAME", .help = "where the run's model lies now, when it was moved" }
#define HEAD_OR_MOVED                                                                                        \
    {                                                                                                        \
        "model", "DIR|NAME",                                                                                 \
            .help = "a folder with its own head, in place of RUN; beside RUN: where its model lies now"      \
    }
/* Rows of tasks to look at. */
#define TASK_ROWS                                                                                            \
    { "task", "NAME|FOLDER,\u2026",                                                                          \
      .help = "whose rows (default: the run's, or " DEFAULT_TASK ", else " OWN_TASK                          \
              "), read as training reads them; "                                                             \
              "of a run of several tasks: which of them (default: all)" },                                   \
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
    { "seeds", "N,N,\u2026", "one run a seed", GROUP_OPTIMIZATION, AT(train.seeds) },
    { .name = "workers name note cell" },
    { "like", "RUN", "take every option of this run; what is said beside it replaces its own",
      GROUP_METHOD, AT(train.like), .excludes = "from" },
    { "from", "RUN",
      .help = "begin with this run's values, by its method unless one is given, on its model and rows "
      "unless others are" },
    END,
};

static const struct option_spec PRETRAIN[] = {
    { "text", "FILE" ARGS_AGAIN, "texts, one a line", GROUP_DATA, AT(pretrain.text), FILLS_TEXTS },
    { "out", "DIR", .help = "where the model goes, a new folder (transformers opens it too)", .required = 1 },
    { "dev", "FILE", "texts to measure on, in place of --split", GROUP_DATA, AT(pretrain.dev) },
    { "layers", "N", "of the transformer", GROUP_METHOD, AT(pretrain.layers), FILLS_INTEGER, 1, 48, 4 },
    { "width", "N", "of it; the FFN's is four times that", GROUP_METHOD, AT(pretrain.width), FILLS_INTEGER, 4,
      4096, 128 },
    { "heads", "N", "of attention", GROUP_METHOD, AT(pretrain.heads), FILLS_INTEGER, 1, 4096, 4 },
    { "vocab", "N", "tokens of the vocabulary at most", GROUP_METHOD, AT(pretrain.vocab), FILLS_INTEGER,
      VOCAB_TRAIN_LEAST, VOCAB_TRAIN_MOST, 6000 },
    { .name = "dtype workers name note" },
    { "split split-seed lr batch gradient-accumulation-steps epochs steps max-length schedule warmup optimizer beta1 beta2 "
      "epsilon momentum weight-decay clip dropout eval-steps eval-rows early-stop keep whole-words shards "
      "seed",
      .fills = FILLS_CONFIG },
    END,
};

/* A sweep's runs begin with no other run, and are too many for a name. */
static const struct option_spec SWEEP[] = {
    { ARGS_REST, .fills = FILLS_CONFIG },
    { "seeds", "N,N,\u2026", "one run a seed", GROUP_OPTIMIZATION, AT(sweep.seeds), FILLS_CONFIG },
    { .name = "workers" },
    { "note", "TEXT", "kept with the run", GROUP_OUTPUT, .fills = FILLS_CONFIG },
    { "draw", "grid|random|latin", "which combinations (grid: all)",
      GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "cells", "N", "how many of them, when they are drawn", GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "draw-seed", "N", "seed of that draw (1)", GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "budget", "runs=N,steps=N,tokens=N,trained=N,minutes=N",
      "begin nothing once so much was spent; trained: of each run",
      GROUP_SCHEDULE, AT(sweep.budget), FILLS_CONFIG },
    { "halving", NULL,
      "stop the runs at 1/9 and at 1/3 of their steps; the best third of the cells goes on, as the same runs",
      GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "size-of", "METHOD", "each cell's method in the size that keeps as many values as this one",
      GROUP_SCHEDULE, .fills = FILLS_CONFIG },
    { "dry-run", NULL, "run nothing: the cells, which are no runs and why",
      GROUP_OUTPUT, AT(sweep.dry_run), .reads = true },
    { "slurm", "DIR", "run nothing here: what lacks as tasks for Slurm, in a new folder (docs/sweep.md)",
      GROUP_PERFORMANCE, AT(sweep.slurm), .changes = true },
    { "sbatch", "ARGS", "with --slurm: what sbatch is to have besides",
      GROUP_PERFORMANCE, AT(sweep.sbatch), .needs = "slurm" },
    { "at-once", "N", "runs begun at once at most (as many as workers); with --slurm: tasks (all)",
      GROUP_PERFORMANCE, AT(sweep.at_once), FILLS_INTEGER, 1, SWEEP_CELLS },
    { "max-array", "N", "with --slurm: tasks of an array at most (what Slurm's MaxArraySize says, or 1001)",
      GROUP_PERFORMANCE, AT(sweep.max_array), FILLS_INTEGER, 1, 1 << 30, .needs = "slurm" },
    COMPARED,
    END,
};

static const struct option_spec COMPARE[] = {
    COMPARED,
    { "metric", "NAME", .help = "in place of the metric that decided each run, one that all have" },
    { "mixed", NULL, "runs of a task on other rows are compared too, and marked",
      GROUP_EVALUATION, AT(flag) },
    END,
};

static const struct option_spec RESUME[] = {
    MOVED,
    { .name = "workers" },
    { "batch", "N", "refused unless it is the run's",
      GROUP_OPTIMIZATION, AT(resume.batch), FILLS_INTEGER, 1, OPTION_MOST,
      ALIASES_OF_RUN },
    { "steps", "N", "refused unless it is the run's",
      GROUP_SCHEDULE, AT(resume.steps), FILLS_INTEGER, 1, OPTION_MOST,
      ALIASES_OF_RUN },
    END,
};
static const struct option_spec ADAPT[] = {
    { "task", "NAME|FOLDER", "the new task", GROUP_DATA, .fills = FILLS_CONFIG },
    { "train", "FILE", "or its rows to draw shots from", GROUP_DATA, .fills = FILLS_CONFIG },
    { "dev", "FILE", "and those that score", GROUP_DATA, .fills = FILLS_CONFIG },
    { "text text-b label source target kind positive header no-header delimiter unlabeled official-dev metric",
      .fills = FILLS_CONFIG },
    { "k", "N,N,\u2026", "rows a class, of texts and scores in all (16)",
      GROUP_FEWSHOT, AT(shots.k) },
    { "draws", "N", "draws of each k, by seed",
      GROUP_FEWSHOT, AT(shots.draws), FILLS_INTEGER, 1, FEWSHOT_DRAWS, 5 },
    { "prototype",
      "vote|random|worst|NAME", "of a method with prototypes: which one a draw begins from (vote)",
      GROUP_FEWSHOT, AT(shots.prototype) },
    { "start", "lowest|mean|NAME",
      "else: the known task with the lowest loss on the shots, the mean of all, or one (lowest)",
      GROUP_FEWSHOT, AT(shots.start) },
    { "tune", "row,generator,shared,head", "what trains (row,head)",
      GROUP_FEWSHOT, AT(shots.tune) },
    { "zero", NULL, "score each draw before its first step too",
      GROUP_EVALUATION, AT(shots.zero) },
    { "steps", "N", "steps of each draw", GROUP_SCHEDULE, AT(shots.steps), FILLS_INTEGER, 1, 1e9, 100,
      ALIASES_OF_RUN },
    { "lr", "X", "learning rate (default: the run's)",
      GROUP_OPTIMIZATION, AT(shots.lr), FILLS_NUMBER, 0, OPTION_MOST, .above = true,
      ALIASES_OF_RUN },
    { "batch", "N", "rows a step (default: the run's)",
      GROUP_OPTIMIZATION, AT(shots.batch), FILLS_INTEGER, 1, 65536,
      ALIASES_OF_RUN },
    { "eval-rows", "N", "dev rows, drawn once; 0: all (default: the run's)",
      GROUP_EVALUATION, AT(shots.eval_rows), FILLS_INTEGER, 0, 1e9, -1 },
    { "seed", "N", "of the draws (default: the run's)",
      GROUP_FEWSHOT, AT(seed), FILLS_INTEGER, 0, OPTION_MOST, -1 },
    { "keep", NULL, "keep every draw's tensors, not the first one's alone",
      GROUP_CHECKPOINTS, AT(shots.keep) },
    MOVED,
    { .name = "workers name note" },
    END,
};
static const struct option_spec FEWSHOT[] = {
    { "tasks", "WHAT",
      "a folder of LEOPARD's layout, a folder of such, or tasks as petri train takes several", GROUP_DATA,
      AT(shots.tasks) },
    { "k", "N,N,\u2026", "rows a class, of texts and scores in all (4,8,16)", GROUP_FEWSHOT, AT(shots.k) },
    { "draws", "N", "draws of each k", GROUP_FEWSHOT, AT(shots.draws), FILLS_INTEGER, 1, FEWSHOT_DRAWS, 10 },
    { "from", "RUN",
      .help = "its method, options and values; with --method: its values as the start of what both have" },
    { "model", "DIR|NAME",
      "a model folder or name (" DEFAULT_MODEL ", else " OWN_MODEL
      "); with --from: where the run's model lies now",
      GROUP_RUN, AT(model), FILLS_CONFIG },
    { "method", "TEXT", .help = "a preset or modules (lora); {a,b}: several, a run each" },
    { "steps", "N", "steps of each draw", GROUP_SCHEDULE, AT(shots.steps), FILLS_INTEGER, 1, 1e9,
      ALIASES_OF_RUN },
    { "stop-loss", "X",
      "or until a pass over the shots has a lower mean loss, at most 100 (1e-3 up to k = 4, else 1e-2)",
      GROUP_SCHEDULE, AT(shots.stop_loss), FILLS_NUMBER, 0, OPTION_MOST, .above = true },
    { "lr", "X", "learning rate, one for all (default: the method's, of --from alone the run's)",
      GROUP_OPTIMIZATION, AT(shots.lr), FILLS_NUMBER, 0, OPTION_MOST, .above = true,
      ALIASES_OF_RUN },
    { "batch", "N", "rows a step (default: 4 for each class)", GROUP_OPTIMIZATION, AT(shots.batch),
      FILLS_INTEGER, 1, 65536, ALIASES_OF_RUN },
    { "eval-rows", "N", "rows that are scored, drawn once; 0: all", GROUP_EVALUATION, AT(shots.eval_rows),
      FILLS_INTEGER, 0, 1e9, -1 },
    { "seed", "N", "of draws, starts and orders", GROUP_FEWSHOT, AT(seed), FILLS_INTEGER, 0, OPTION_MOST,
      -1 },
    { "prototype", "vote|random|worst|NAME",
      "of --from with prototypes: which known task a draw begins from (vote)", GROUP_FEWSHOT,
      AT(shots.prototype) },
    { "start", "lowest|mean|NAME",
      "else: the one with the lowest loss on the shots, the mean of all, or one (lowest)", GROUP_FEWSHOT,
      AT(shots.start) },
    { "tune", "row,generator,shared,head", "what trains (all)", GROUP_FEWSHOT, AT(shots.tune) },
    { "max-length max-target form optimizer momentum weight-decay schedule warmup clip dropout",
      .fills = FILLS_CONFIG },
    { "zero", NULL, "score each draw before its first step too", GROUP_EVALUATION, AT(shots.zero) },
    { "keep", NULL, "keep every draw's tensors, not the first one's alone", GROUP_CHECKPOINTS,
      AT(shots.keep) },
    { .name = "workers name note cell" },
    { "csv", .help = "a line a run, task and k" },
    END,
};
static const struct option_spec EVAL[] = {
    HEAD_OR_MOVED,
    { "task", "NAME|FOLDER",
      .help = "evaluate on this task's dev rows; of a run of several tasks: which one" },
    { "file", "FILE", .help = "evaluate on a file" },
    { .name = COLUMNS },
    { "official-dev", .help = "evaluate on dev_official.tsv of a GLUE folder" },
    { "batch", "N", "rows at a time; never changes the result",
      GROUP_PERFORMANCE, AT(eval.batch), FILLS_INTEGER, 1, 1 << 20, 1,
      ALIASES("batch-size", "per-device-eval-batch-size") },
    { "max-length", "N", .help = "maximum sequence length in tokens (default: the run's, or 128)" },
    { "wrong", "FILE", "write the wrong rows with probabilities as TSV (- for standard output)",
      GROUP_OUTPUT, AT(eval.wrong) },
    { "overwrite", .help = "--wrong may write over a file that exists", .needs = "wrong" },
    { .name = "workers" },
    { "beams", "N", "text form: beams of the texts written (default: the run's)",
      GROUP_GENERATION, AT(eval.beams), FILLS_INTEGER, 1, BEAMS_MOST,
      ALIASES_OF_RUN },
    END,
};
static const struct option_spec PREDICT[] = {
    { .name = "task" },
    HEAD_OR_MOVED,
    { "text", "TEXT", .help = "a text", .excludes = "file", .required = 1 },
    { "text-b", "TEXT", .help = "the second text of a pair (with --file: its column)" },
    { "file", "FILE", .help = "a TSV with a header, or one text a line (- for standard input)",
      .required = 1 },
    { "column", "NAME", .help = "the text's column in --file", .needs = "file" },
    { "fill", "TEXT", "words for each [MASK] of a text, by a run of masked words or a model's head of them",
      GROUP_DATA, AT(predict.fill), .excludes = "text file", .required = 1 },
    { "top", "N", "how many of them", GROUP_OUTPUT, AT(predict.top), FILLS_INTEGER, 1, 1000, 5,
      .needs = "fill" },
    { .name = "header no-header delimiter", .needs = "file" },
    { .name = "max-length workers" },
    END,
};
static const struct option_spec GENERATE[] = {
    { .name = "task" },
    { "model", "DIR|NAME",
      .help = "a model with a decoder (T5, BART, mBART); with a run: where its model lies now" },
    { "run", "RUN", .help = "with a run's best weights", .excludes = "RUN" },
    { "text", "TEXT",
      .help = "a source text, taken as it is (petri predict puts it in the form of a run's labelled task)",
      .excludes = "file", .required = 1 },
    { "text-b", "TEXT", .help = "the second text of a pair (with --file: its column)" },
    { "file", "FILE", .help = "a table with a header, or one source a line (- for standard input)",
      .required = 1 },
    { "column", "NAME", .help = "the source's column in --file", .needs = "file" },
    { .name = "header no-header delimiter", .needs = "file" },
    { "beams", "N", "1: greedy (default: as the model's folder says)",
      GROUP_GENERATION, AT(generate.beams), FILLS_INTEGER, 1, BEAMS_MOST,
      ALIASES_OF_RUN },
    { "max-new", "N", "tokens of a text, at most (default: the folder's, or 20)",
      GROUP_GENERATION, AT(generate.max_new), FILLS_INTEGER, 1, GENERATE_MOST,
      ALIASES("max-new-tokens", "max-tokens") },
    { "min-new", "N", "and at least",
      GROUP_GENERATION, AT(generate.min_new), FILLS_INTEGER, 0, GENERATE_MOST, -1,
      ALIASES("min-new-tokens") },
    { "length-penalty", "X", "score by length^X with beams; above 0 favours long texts (1)",
      GROUP_GENERATION, AT(generate.length_penalty), FILLS_NUMBER, -OPTION_MOST, OPTION_MOST, NAN },
    { "start", "TOKEN", "what the decoder begins with, a name or an id (mBART: a language)",
      GROUP_GENERATION, AT(generate.start) },
    { "first", "TOKEN", "the first token of every text", GROUP_GENERATION, AT(generate.first) },
    { "max-length", "N", .help = "maximum length of the input text in tokens" },
    { .name = "workers" },
    END,
};
static const struct option_spec ENCODE[] = {
    { .name = "model" },
    { "text", "TEXT", .help = "a text", .required = 1 },
    { "text-b", "TEXT", .help = "the second text of a pair" },
    { "max-length", "N", .help = "maximum sequence length in tokens (default: the model's)" },
    { "tokens", NULL, "the tokens alone: --json without vectors, which take long of long texts",
      GROUP_OUTPUT, AT(flag) },
    END,
};
static const struct option_spec RUNS[] = {
    { "sort", "COLUMN", "by a column, an option or a metric; -COLUMN: descending",
      GROUP_OUTPUT, AT(runs.sort) },
    { "limit", "N", "at most N", GROUP_OUTPUT, AT(runs.limit), FILLS_INTEGER, 1, INT32_MAX },
    { "trash", NULL, "those in the trash", GROUP_OUTPUT, AT(runs.trash) },
    { "csv", .help = "all that is known of each, a line a run" },
    { "markdown", .help = "the list as a Markdown table" },
    END,
};
static const struct option_spec SQL[] = {
    { "csv", .help = "a head line, then a line a row (this is usual)" },
    { "markdown", .help = "a Markdown table" },
    END,
};
static const struct option_spec WATCH[] = {
    { .name = "no-color" },
    { "ascii", .help = "only ASCII characters" },
    { "lesson", NULL, "the notes to the lesson that is led in another terminal",
      GROUP_OUTPUT, AT(flag), .excludes = "RUN" },
    END,
};
static const struct option_spec SHOW[] = {
    { "why", NULL, "what looks wrong with it, a sentence each with its figures",
      GROUP_OUTPUT, AT(flag) },
    END,
};
static const struct option_spec PURGE[] = {
    { "all", NULL, "all that are in the trash", GROUP_OUTPUT, AT(purge.all), .excludes = "RUN lessons" },
    { "lessons", NULL, "all that lessons made, in the trash or not",
      GROUP_OUTPUT, AT(purge.lessons), .excludes = "RUN" },
    { "yes", NULL, "do not ask (no terminal: needed)", GROUP_OUTPUT, AT(purge.yes) },
    END,
};
static const struct option_spec HELP[] = {
    { "man", NULL, "all of it as a page for man", GROUP_OUTPUT, AT(more.man),
      .excludes = "VERB completion json" },
    { "completion", "bash|zsh|fish", "what completes petri's words in a shell",
      GROUP_OUTPUT, AT(more.completion), FILLS_WORD, .usual = -1, .excludes = "VERB json" },
    END,
};
static const struct option_spec TAG[] = {
    { "remove", NULL, "take the tags away", GROUP_OUTPUT, AT(flag) },
    END,
};
static const struct option_spec COUNT[] = {
    { .name = "model" },
    { "method", "TEXT", .help = "a preset or modules" },
    { "classes", "N[,N…]", .help = "outputs of the head (default 2), or of each task's" },
    { .name = "tasks regime" },
    END,
};
static const struct option_spec REPLICATE[] = {
    { "data", "FOLDER", "where the rows lie that the experiment names as {data}/…",
      GROUP_DATA, AT(replicate.data) },
    { "budget", "MINUTES",
      "begin nothing and stop what runs, with a checkpoint, after so long (default: no limit)",
      GROUP_SCHEDULE, AT(replicate.budget), FILLS_INTEGER, 1, 100000 },
    { "all", NULL, "also the cells that are ready to run but not run unasked",
      GROUP_SCHEDULE, AT(replicate.all) },
    { "dry-run", NULL, "run nothing: what is there already",
      GROUP_OUTPUT, AT(replicate.dry_run) },
    { "from", "RESULTS.json",
      .help = "take the values of this file, which --out made, in place of the history's" },
    { "out", "RESULTS.json", .help = "write the results as JSON" },
    { "page", "PAGE.md", "write them as a page", GROUP_OUTPUT, AT(replicate.page) },
    { "overwrite", .help = "--out and --page may write over files that exist" },
    { .name = "workers" },
    END,
};
static const struct option_spec EXPLAIN[] = {
    { .name = "model" },
    { "classes", "N[,N…]", .help = "outputs of the head (default 2), or of each task's" },
    { .name = "tasks regime" },
    { "beside", "NAME|METHOD", "and how far that one is from it: the axes that differ",
      GROUP_METHOD, AT(beside) },
    END,
};
/* Of a run's options those that say what a batch of several tasks holds. */
static const struct option_spec TASKS[] = {
    { "sampling batch limit limit-seed split split-seed split-validation official-dev",
      .fills = FILLS_CONFIG, .needs = "A,B,C" },
    { .name = "csv markdown" },
    END,
};
static const struct option_spec SETTINGS[] = {
    { "write", NULL, "write the file of settings, with a comment to each; what is there is kept",
      GROUP_OUTPUT, AT(flag), .changes = true },
    END,
};
static const struct option_spec MODELS[] = {
    { .name = "csv markdown" },
    END,
};
static const struct option_spec RENDER[] = {
    { "screen", SCREEN_NAMES, "the screen to print", GROUP_OUTPUT, AT(render.screen), FILLS_WORD,
      .required = 1 },
    { .name = "size" },
    { "method", "TEXT", .help = "the method on the Compose screen" },
    { "run", "RUN", .help = "the run in focus" },
    { "filter", "FILTER", "of runs and compare: which runs, as petri runs takes them",
      GROUP_DATA, AT(render.filter), .needs = "screen=runs|compare" },
    { "trash", NULL, "of runs: those in the trash", GROUP_DATA, AT(render.trash), .needs = "screen=runs" },
    { "sweep", "ID", "of sweep: which one (default: the list)",
      GROUP_DATA, AT(render.sweep), FILLS_INTEGER, 1, OPTION_MOST, .needs = "screen=sweep" },
    { "part", "grid|effects|front|lines", "of sweep: what is shown where there is room for one",
      GROUP_OUTPUT, AT(render.part), FILLS_WORD, .needs = "screen=sweep" },
    { "cost", "trained|time|memory", "of sweep: what the front of cheap and good is by",
      GROUP_EVALUATION, AT(cost), FILLS_WORD, .needs = "screen=sweep" },
    { "steps", NULL, "of map: the last of what the run kept while it trained",
      GROUP_DATA, AT(render.steps), .excludes = "set", .needs = "screen=map run" },
    { "set", "N[,N]", "of map: kept sets of vectors", GROUP_DATA, AT(render.set) },
    { "matrix", "N", "of heatmap: a kept matrix, as an attention",
      GROUP_DATA, AT(render.matrix), FILLS_INTEGER, 1, OPTION_MOST, .needs = "screen=heatmap" },
    { .name = "model" },
    { "task", "NAME|FOLDER",
      .help = "the task on the Compose screen; of map and heatmap whose rows: of a run of several tasks "
      "one, or all" },
    { "unseen", "NAME|FOLDER,…",
      .help = "of map and heatmap: and rows of tasks that a run of several tasks was not trained on",
      .needs = "run" },
    { "loss", "parts|tasks|NAME",
      "of train: the loss by its parts or tasks, or one of them (loss.instance, reviews)",
      GROUP_OUTPUT, AT(render.loss), .needs = "screen=train" },
    { .name = "ascii ansi svg out" },
    { .name = "overwrite", .needs = "out" },
    END,
};
static const struct option_spec PLOT[] = {
    { "key", "NAME", "what is drawn: loss (default), lr, grad_norm, accuracy or another point of the runs",
      GROUP_DATA, AT(plot.key) },
    { "x", "step|tokens|time|epoch", "over what; time: seconds of training",
      GROUP_OUTPUT, AT(plot.x), FILLS_WORD },
    { "smooth", "X",
      "weight of what came before: 0, 0.5, 0.8, 0.9, 0.95, 0.98 or 0.99 (0.9; of evaluations 0)",
      GROUP_OUTPUT, AT(plot.smooth), FILLS_NUMBER, 0, 1, -1 },
    { "raw", NULL, "the raw points behind the smoothed curves, which one run alone always has",
      GROUP_OUTPUT, AT(plot.raw) },
    { "log", NULL, "y logarithmic", GROUP_OUTPUT, AT(plot.log) },
    { "log-x", NULL, "x logarithmic", GROUP_OUTPUT, AT(plot.log_x) },
    { .name = "size ascii ansi svg out" },
    { .name = "overwrite", .needs = "out" },
    { "csv", .help = "in place of a drawing its numbers, raw and smoothed; --json too",
      .excludes = "json out" },
    END,
};
static const struct option_spec EMBED[] = {
    { .name = "model" },
    { "run", "RUN", .help = "a run's best weights; --model is then where its model lies now" },
    { "list", .help = "what is kept (of --run) in place of embedding" },
    TASK_ROWS,
    { .name = "rows" },
    { "layer", "L|retriever",
      .help = "0: embeddings … the last (default); or what a run's retriever makes of it" },
    { .name = "pool seed workers" },
    { .name = "csv markdown", .needs = "list" },
    END,
};
static const struct option_spec SIMILARITY[] = {
    { "of", "classes|rows|layers|tensors|attention|prototypes|tasks|weights|mass",
      "what is compared; the last four are of one run: rows by the tasks' prototypes, the generator's "
      "task embeddings, each task's own weights by layer, softmax mass on a prefix by layer",
      GROUP_METHOD, AT(similarity.of), FILLS_WORD },
    { "row", "N", "of attention: the row's number in its file",
      GROUP_DATA, AT(similarity.row), FILLS_INTEGER, 1, OPTION_MOST, .needs = "of=attention" },
    { "head", "N|first",
      "of attention: tokens by tokens, or all heads by what the first token sees (default)",
      GROUP_METHOD, AT(similarity.head), FILLS_INTEGER, 1, 1024, -1, .needs = "of=attention" },
    { "measure",
      "cosine|cka|debiased-cka", "for layers cka (default) or debiased-cka, for few rows; else cosine",
      GROUP_METHOD, AT(similarity.measure), FILLS_WORD, .usual = -1 },
    { "order", "name|cluster", "of rows and columns",
      GROUP_OUTPUT, AT(similarity.cluster), FILLS_WORD },
    { "model", "DIR|NAME", .help = "without RUN, or against one RUN: the model as it is" },
    TASK_ROWS,
    { "rows", "N",
      "at most, drawn evenly over tasks and classes (default 1000, at least 64 a task; 40 of rows)",
      GROUP_DATA, AT(rows), FILLS_INTEGER, 1, 1 << 20 },
    { "layer", "L|retriever",
      .help = "of classes and rows: 0 … the last (default), or retriever; of attention: from 1" },
    { .name = "pool seed" },
    { "csv", .help = "a line a cell" },
    { "list", .help = "what is kept (of RUN) in place of comparing" },
    { "matrix", "N", "a kept one again", GROUP_DATA, AT(similarity.matrix), FILLS_INTEGER, 1, OPTION_MOST,
      .reads = true },
    { .name = "workers" },
    { .name = "markdown", .needs = "list" },
    END,
};
static const struct option_spec MAP[] = {
    { "vectors", "FILE", "a CSV or TSV of numbers, in place of SET",
      GROUP_DATA, AT(map.vectors) },
    { "labels", "COLUMN", "its column of labels (a name, or #N)", GROUP_DATA, AT(map.labels),
      .needs = "vectors" },
    { "columns",
      "LIST", "the columns that are coordinates: names, #N, #N-#M, with commas (default: all others)",
      GROUP_DATA, AT(map.columns), .excludes = "skip", .needs = "vectors" },
    { "skip", "LIST", "columns that are none", GROUP_DATA, AT(map.skip), .needs = "vectors" },
    { "run", "RUN",
      .help = "rows through this run, kept as petri embed keeps them; --model is then where its model "
      "lies now" },
    { "steps", NULL, "the sets that the run kept while it trained: a map of each, begun from the one before",
      GROUP_DATA, AT(map.steps), .excludes = "pca iterations", .needs = "run" },
    { "model", "DIR|NAME", .help = "rows through this model as it is" },
    TASK_ROWS,
    { "rows", "N", "at most, drawn evenly over tasks and classes",
      GROUP_DATA, AT(rows), FILLS_INTEGER, 1, 1 << 20 },
    { "layer", "L|retriever", .help = "as petri embed has it; with --steps retriever alone" },
    { "pool", "cls|mean", "first token, or mean over all",
      GROUP_METHOD, AT(pool), FILLS_WORD, .usual = OVER_USUAL },
    { "by", "label|task", "what the scores are of",
      GROUP_EVALUATION, AT(map.by_task), FILLS_WORD },
    { "perplexity", "P", "neighbours that a point keeps, about",
      GROUP_METHOD, AT(map.perplexity), FILLS_NUMBER, 1, OPTION_MOST, 30 },
    { "iterations", "N", "in all (default 750)",
      GROUP_METHOD, AT(map.iterations), FILLS_INTEGER, 1, 1000000 },
    { "seed", "N", .help = "of draw, jitter and sample" },
    { "pca", NULL, "two principal components in place of t-SNE", GROUP_METHOD, AT(map.pca) },
    { "csv", .help = "a line a point" },
    { .name = "workers" },
    END,
};
static const struct option_spec EXPORT[] = {
    { .name = "task" },
    { "to", "csv|json|markdown|hf|petri|peft|hub",
      "points as CSV or Markdown; the run, then its points, as JSON Lines; a Hugging Face folder; a file "
      "for `petri import`; or a folder of PEFT or AdapterHub",
      GROUP_OUTPUT, AT(to.to), FILLS_WORD, .required = 1 },
    { "base", "NAME", "with --to peft and hub: what its config calls the model (default: as the run does)",
      GROUP_OUTPUT, AT(to.base), .needs = "to=peft|hub" },
    { "overwrite", .help = "PATH may be a file that exists (never the database or what a run reads)" },
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
    { "model", "DIR|NAME", .help = "the model that it is for (default: as it says itself)" },
    { "adapter", "DIR" ARGS_AGAIN,
      "an adapter that DIR's fusion joins; may be given for each (default: those in DIR or beside it)",
      GROUP_METHOD, AT(adapter), FILLS_TEXTS },
    { .name = "classes name note" },
    END,
};
static const struct option_spec MERGE_ADAPTERS[] = {
    { "weights", "W,W…", "one a run (default: all the same, in sum 1); below 0 takes away",
      GROUP_METHOD, AT(merge.weights) },
    { "how", "concat|linear|ties",
      "exactly the weighted sum of the changes; each matrix averaged; of its largest "
      "values those of one sign",
      GROUP_METHOD, AT(merge.how), FILLS_WORD },
    { "density", "D", "with ties: the share of values that is kept, above 0, at most 1",
      GROUP_METHOD, AT(merge.density), FILLS_NUMBER, 0, 1, .above = true, .needs = "how=ties" },
    { "head", "RUN", "whose head and description (default: all heads are equal)",
      GROUP_METHOD, AT(merge.head) },
    { .name = "name note" },
    MOVED,
    END,
};

static const struct option_spec LEARN[] = {
    { "handout", "DIR", "replay it, then write it there as Markdown with SVG pictures",
      GROUP_OUTPUT, AT(learn.handout) },
    { "overwrite", .help = "files of DIR may exist", .needs = "handout" },
    { "list", .help = "all lessons, with what they take and what was done", .excludes = "LESSON" },
    { "auto", NULL, "replay it without questions and print its checks; fails unless all are in their bands",
      GROUP_OUTPUT, AT(learn.replay) },
    { "model", "DIR|NAME", .help = "in place of the lesson's" },
    { "task", "NAME|FOLDER", .help = "in place of the lesson's" },
    { .name = "workers" },
    { .name = "csv markdown", .needs = "list" },
    END,
};

static const struct option_spec METHODS[] = {
    { "save", "NAME", "keep --method by this name", GROUP_METHOD, AT(methods.save), .needs = "method",
      .excludes = "forget export import", .changes = true },
    { "method", "TEXT", .help = "what is kept", .needs = "save" },
    { "forget", "NAME", "keep it no longer", GROUP_METHOD, AT(methods.forget), .excludes = "export import",
      .changes = true },
    { "export", "FILE", "what is kept by name into a new file, a line each: NAME = TEXT",
      GROUP_OUTPUT, AT(methods.to), .excludes = "import" },
    { "import", "FILE", "what such a file holds beside what is kept",
      GROUP_DATA, AT(methods.from), .changes = true },
    { .name = "csv markdown" },
    END,
};

static const struct option_spec ALONE[] = {
    { "model", "DIR|NAME", .help = "the model to begin with" },
    { "task", "NAME|FOLDER", .help = "the task to begin with" },
    { .name = "workers no-color" },
    { "ascii", .help = "only ASCII characters" },
    { "theme", "safe|dark|light|mono", "colours, in place of the setting (petri settings)",
      GROUP_OUTPUT, AT(screen.theme) },
    { "mouse", "on|off",
      "whether clicks and the wheel work here", GROUP_OUTPUT, AT(screen.mouse) },
    { "readonly", NULL,
      "look only: nothing of the history is begun or changed; new files are written where that is asked",
      GROUP_OUTPUT, AT(screen.readonly) },
    { NULL },
};

static const struct verb VERBS[] = {
    { "train", "[options]", "Train a method on a task and record the run",
      TRAIN, 0, 0, .run = verb_train, LINE_TRAINS },
    { "pretrain", "--text FILE --out DIR [options]",
      "Pretrain a vocabulary and a model on unlabeled text by masked language modeling",
      PRETRAIN, 0, -1, verb_pretrain, LINE_ELSEWHERE,
      "it makes a model in a process of its own" },
    { "stop", "RUN", "Stop a training run and save a checkpoint", NULL, 1, 1, .run = verb_stop },
    { "resume", "RUN", "Resume a run that was stopped or interrupted", RESUME, 1, 1, verb_resume,
      LINE_ELSEWHERE,
      "with options it trains in a process of its own; without them it goes on here" },
    { "adapt", "RUN --task NEW [--k N,N,\u2026] [--draws N]",
      "Adapt a run to a new task from a few examples, over several sampled support sets", ADAPT, 1, 1,
      verb_adapt, LINE_ELSEWHERE,
      "it trains many small runs in a process of its own" },
    { "fewshot", "--tasks WHAT [--from RUN] [--method TEXT] | RUN\u2026",
      "Evaluate methods on few-shot tasks, or compare such runs",
      FEWSHOT, 0, -1, verb_fewshot, LINE_ELSEWHERE,
      "it trains many small runs in a process of its own" },
    { "eval", "RUN | --model DIR [--task T | --file F]", "Evaluate a run or a model on labeled examples",
      EVAL, 0, 1, .run = verb_eval, LINE_READS },
    { "predict", "RUN --text TEXT | --file FILE | --fill TEXT",
      "Predict labels and probabilities with a run, or fill masks", PREDICT, 0, 1,
      .run = verb_predict, LINE_READS },
    { "generate", "RUN | --model DIR [--run RUN] --text TEXT | --file FILE",
      "Generate text with an encoder\u2013decoder model or a run",
      GENERATE, 0, 1, .run = verb_generate, LINE_READS },
    { "encode", "--text TEXT", "Encode a text as token ids and vectors",
      ENCODE, 0, 0, .run = verb_encode, LINE_READS },
    { "runs", "[FILTER…]", "List runs, with filters: task=reviews state=finished lora",
      RUNS, 0, -1, .run = verb_runs, LINE_READS },
    { "watch", "[RUN]",
      "Watch the curves of a run from another terminal, read-only (default: the newest running one)",
      WATCH, 0, 1, verb_watch, LINE_ELSEWHERE,
      "it is a screen of its own; with a number alone it is shown here" },
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
    { "fetch", "[model|tasks|t5]",
      "Fetch the default model and task, more tasks, or flan-t5-small", NULL, 0, 1, .run = verb_fetch },
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
    { "export", "RUN --to csv|json|markdown|hf|petri|peft|hub [PATH]",
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
      "a file's sweep, tasks of Slurm and --at-once, --workers and the like are of a process of its own; "
      "with a run's options it is begun here" },
    { "compare", "RUN… | FILTER",
      "Compare runs: means, confidence intervals, differences",
      COMPARE, 1, -1, .run = verb_compare, LINE_READS },
    { "replicate", "FILE|EXPERIMENT…",
      "Replicate an experiment of a paper: train the missing runs, compare with the published results", REPLICATE, 1, -1,
      verb_replicate, LINE_ELSEWHERE,
      "it trains a paper's runs in a process of its own" },
    { "learn", "LESSON | FILE | --list",
      "Learn with interactive lessons on the real engine (docs/lessons.md)", LEARN, 0, 1, .run = verb_learn },
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

/* petri alone comes last, and is none of those that verb_at counts. */
enum { LISTED = COUNT_OF(VERBS) - 1 };
static struct verb made[LISTED + 1];

static void make(void) {
    for (size_t i = 0; i < COUNT_OF(VERBS); i++) {
        struct run_config usual;
        config_init(&usual);
        config_take_model(&usual, DEFAULT_MODEL ", else " OWN_MODEL);
        config_take_task(&usual, DEFAULT_TASK ", else " OWN_TASK);
        if (VERBS[i].run == verb_pretrain) pretrain_usual(&usual);
        made[i] = VERBS[i];
        made[i].options = args_table(&VERBS[i], &usual);
        config_release(&usual);
    }
}

static const struct verb *at(size_t i) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make);
    return &made[i];
}

const struct verb *verb_at(size_t i) { return i < LISTED ? at(i) : NULL; }
const struct verb *verb_alone(void) { return at(LISTED); }
