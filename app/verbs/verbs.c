/* The table of verbs and their options. */
#include "app/verbs/verbs.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/drawing.h"
#include "core/base/mem.h"
#include "core/train/config.h"
#include "core/train/pretrain.h"

#define END { NULL, NULL, NULL }
#define MODEL { "model", "DIR|NAME", "model folder or name (default " DEFAULT_MODEL ", else " OWN_MODEL ")" }
/* How a table is read. */
#define READER                                                                                     \
    { "header", NULL, "a table's first line names the columns, also where all are chosen by number" }, \
        { "no-header", NULL, "a table's first line is a row; the columns are #1, #2, …" },          \
        { "delimiter", "CHAR|tab", "what stands between a table's columns (default: by the file's name)" }
#define MOVED { "model", "DIR|NAME", "where the run's model lies now, when it was moved" }
#define HEAD_OR_MOVED                                                                              \
    { "model", "DIR|NAME", "a folder with its own head, in place of RUN; beside RUN: where its model lies now" }
#define COLUMNS                                                                                    \
    { "text", "COLUMN", "the text's column" }, { "text-b", "COLUMN", "the second text's column" }, \
        { "label", "COLUMN", "the label's column" },                                               \
        { "source", "COLUMN", "the source text's column, of texts to texts" },                     \
        { "target", "COLUMN", "the target text's column" },                                        \
        { "kind", "classes|scores", "what the label is (default: decided and said)" },             \
        { "positive", "NAME", "the class that F1 is of" }, READER,                                  \
        { "no-gold", "LABEL", "the label of rows without one" }
#define DTYPE { "dtype", "f32|f16", "how the weights are stored (f32)" }
#define NAMED { "name", "TEXT", "what the run is called (petri name)" }, { "note", "TEXT", "kept with the run" }
#define WORKERS { "workers", "N", "worker threads (default: the cores)" }

/* What `petri train` has besides a run's options. */
static const struct option_spec TRAIN_MORE[] = {
    { "seeds", "N,N,\u2026", "one run a seed" },
    WORKERS,
    NAMED,
    { "like", "RUN", "take every option of this run; what is said beside it replaces its own" },
    { "from", "RUN", "begin with this run's values, by its method unless one is given, on its model and rows unless others are" },
};
enum { TRAIN_ROOM = 128 };
static struct option_spec TRAIN[TRAIN_ROOM];

/* What `petri pretrain` has besides some of them. */
static const struct option_spec PRETRAIN_MORE[] = {
    { "text", "FILE" ARGS_AGAIN, "texts, one a line" },
    { "out", "DIR", "where the model goes, a new folder (transformers opens it too)" },
    { "dev", "FILE", "texts to measure on, in place of --split" },
    { "layers", "N", "of the transformer (4)" },
    { "width", "N", "of it (128); the FFN's is four times that" },
    { "heads", "N", "of attention (4)" },
    { "vocab", "N", "tokens of the vocabulary at most (6000)" },
    DTYPE,
    WORKERS,
    NAMED,
};
static const char *const PRETRAIN_TAKES[] = {
    "split", "split-seed", "lr", "batch", "accumulate", "epochs", "steps", "max-len", "schedule", "warmup", "optimiser", "beta1", "beta2",
    "epsilon", "momentum", "weight-decay", "clip", "dropout", "eval-every", "eval-rows", "early-stop", "keep", "whole-words", "shards",
    "seed",
};
static struct option_spec PRETRAIN[TRAIN_ROOM];

/* What is told of runs side by side. */
#define COMPARED                                                                                                     \
    { "by", "AXIS[,AXIS\u2026]",                                                                                     \
      "the columns that make a group and are axes of effects: method, task, model, fn, write, comp, \u2026, or an option" }, \
        { "value", "best|final", "a run's value (best, chosen on the same rows)" },                                  \
        { "cost", "trained|time|memory", "what the front of cheap and good is by (trained)" },                              \
        { "margin", "X", "also claim what is equal within X, in the metric's own unit" },                            \
        { "csv", NULL, "the cells as CSV" }, { "markdown", NULL, "the results as Markdown" }

/* What `petri sweep` has besides these. */
static const struct option_spec SWEEP_MORE[] = {
    { "draw", "grid|random|latin", "which combinations (grid: all)" },
    { "cells", "N", "how many of them, when they are drawn" },
    { "draw-seed", "N", "seed of that draw (1)" },
    { "budget", "runs=N,steps=N,tokens=N,trained=N,minutes=N", "begin nothing once so much was spent; trained: of each run" },
    { "halving", NULL, "stop the runs at 1/9 and at 1/3 of their steps; the best third of the cells goes on, as the same runs" },
    { "size-of", "METHOD", "each cell's method in the size that keeps as many values as this one" },
    { "dry-run", NULL, "run nothing: the cells, which are no runs and why" },
    { "slurm", "DIR", "run nothing here: what lacks as tasks for Slurm, in a new folder (docs/sweep.md)" },
    { "sbatch", "ARGS", "with --slurm: what sbatch is to have besides" },
    { "at-once", "N", "runs begun at once at most (as many as workers); with --slurm: tasks (all)" },
    { "max-array", "N", "with --slurm: tasks of an array at most (what Slurm's MaxArraySize says, or 1001)" },
    COMPARED,
};
static struct option_spec SWEEP[TRAIN_ROOM];

/* An option of a run, with its default. */
static struct option_spec option_of_run(const struct run_config *usual, struct config_option o) {
    char *value = config_get(usual, o.name);
    bool told = o.values && *value && strcmp(value, "default") && strcmp(value, "auto");
    struct option_spec out = { o.name, o.values, told ? xprintf("%s (%s)", o.help, value) : o.help };
    free(value);
    return out;
}

static void fill_pretrain(void) {
    struct run_config usual;
    size_t n = COUNT_OF(PRETRAIN_MORE);
    config_init(&usual);
    pretrain_usual(&usual);
    memcpy(PRETRAIN, PRETRAIN_MORE, sizeof PRETRAIN_MORE);
    for (size_t k = 0; k < COUNT_OF(PRETRAIN_TAKES); k++)
        for (int i = 0; i < config_option_count(); i++) {
            struct config_option o = config_option_at(i);
            if (!strcmp(o.name, PRETRAIN_TAKES[k])) PRETRAIN[n++] = option_of_run(&usual, o);
        }
    config_release(&usual);
}

/* The table of a run's options (core/train/option.h), each with its default, then those. */
static void fill_train(void) {
    struct run_config usual;
    size_t n = 0;
    config_init(&usual);
    config_take_model(&usual, DEFAULT_MODEL ", else " OWN_MODEL);
    config_take_task(&usual, DEFAULT_TASK ", else " OWN_TASK);
    for (int i = 0; i < config_option_count(); i++) {
        BUG_IF(n == TRAIN_ROOM);
        TRAIN[n++] = option_of_run(&usual, config_option_at(i));
    }
    fill_pretrain();
    for (size_t i = 0; i < COUNT_OF(TRAIN_MORE); i++) TRAIN[n++] = TRAIN_MORE[i];
    const char *name, *spelling;
    for (int i = 0; (spelling = config_spelling_at(i, &name)); i++) TRAIN[n++] = (struct option_spec){ spelling, "X", NULL };
    BUG_IF(n + COUNT_OF(SWEEP_MORE) >= TRAIN_ROOM); /* the last is END */
    size_t sweep = 0;
    for (size_t i = 0; i < n; i++) /* a sweep's runs begin with no other run, and are too many for a name */
        if (strcmp(TRAIN[i].name, "like") && strcmp(TRAIN[i].name, "from") && strcmp(TRAIN[i].name, "name")) SWEEP[sweep++] = TRAIN[i];
    memcpy(SWEEP + sweep, SWEEP_MORE, sizeof SWEEP_MORE);
    config_release(&usual);
}

static const struct option_spec COMPARE[] = {
    COMPARED,
    { "metric", "NAME", "in place of the metric that decided each run, one that all have" },
    { "mixed", NULL, "runs of a task on other rows are compared too, and marked" },
    END,
};

static const struct option_spec RESUME[] = { MOVED,
                                             WORKERS,
                                             { "batch", "N", "refused unless it is the run's" },
                                             { "steps", "N", "refused unless it is the run's" },
                                             END };
static const struct option_spec ADAPT[] = {
    { "task", "NAME|FOLDER", "the new task" },
    { "train", "FILE", "or its rows to draw shots from" },
    { "dev", "FILE", "and those that score" },
    COLUMNS,
    { "official-dev", NULL, "score on dev_official.tsv of a GLUE folder" },
    { "metric", "NAME", "what is told (default: the task's)" },
    { "k", "N,N,\u2026", "rows a class, of texts and scores in all (16)" },
    { "draws", "N", "draws of each k, by seed (5)" },
    { "prototype", "vote|random|worst|NAME", "of a method with prototypes: which one a draw begins from (vote)" },
    { "start", "lowest|mean|NAME", "else: the known task with the lowest loss on the shots, the mean of all, or one (lowest)" },
    { "tune", "row,generator,shared,head", "what trains (row,head)" },
    { "zero", NULL, "score each draw before its first step too" },
    { "steps", "N", "steps of each draw (100)" },
    { "lr", "X", "learning rate (default: the run's)" },
    { "batch", "N", "rows a step (default: the run's)" },
    { "eval-rows", "N", "dev rows, drawn once; 0: all (default: the run's)" },
    { "seed", "N", "of the draws (default: the run's)" },
    { "keep", NULL, "keep every draw's tensors, not the first one's alone" },
    MOVED,
    WORKERS,
    NAMED,
    END,
};
static const struct option_spec FEWSHOT[] = {
    { "tasks", "WHAT", "a folder of LEOPARD's layout, a folder of such, or tasks as petri train takes several" },
    { "k", "N,N,\u2026", "rows a class, of texts and scores in all (4,8,16)" },
    { "draws", "N", "draws of each k (10)" },
    { "from", "RUN", "its method, options and values; with --method: its values as the start of what both have" },
    { "model", "DIR|NAME", "a model folder or name (" DEFAULT_MODEL ", else " OWN_MODEL "); with --from: where the run's model lies now" },
    { "method", "TEXT", "a preset or modules (lora); {a,b}: several, a run each" },
    { "steps", "N", "steps of each draw" },
    { "stop-loss", "X", "or until a pass over the shots has a lower mean loss, at most 100 (1e-3 up to k = 4, else 1e-2)" },
    { "lr", "X", "learning rate, one for all (default: the method's, of --from alone the run's)" },
    { "batch", "N", "rows a step (default: 4 for each class)" },
    { "eval-rows", "N", "rows that are scored, drawn once; 0: all" },
    { "seed", "N", "of draws, starts and orders" },
    { "prototype", "vote|random|worst|NAME", "of --from with prototypes: which known task a draw begins from (vote)" },
    { "start", "lowest|mean|NAME", "else: the one with the lowest loss on the shots, the mean of all, or one (lowest)" },
    { "tune", "row,generator,shared,head", "what trains (all)" },
    { "max-len", "N", "tokens a row" },
    { "max-target", "N", "tokens of a target text" },
    { "form", "auto|classes|text", "labels by a head, or as text to text" },
    { "optimiser", "adamw|sgd", "how parameters follow gradients" },
    { "momentum", "X", "SGD's" },
    { "weight-decay", "X", "of matrices" },
    { "schedule", "linear|cosine|constant", "how the rate falls" },
    { "warmup", "X", "below 1 a share of the steps, else steps" },
    { "clip", "X", "largest gradient norm" },
    { "dropout", "X|published", "of the model" },
    { "zero", NULL, "score each draw before its first step too" },
    { "keep", NULL, "keep every draw's tensors, not the first one's alone" },
    WORKERS,
    NAMED,
    { "csv", NULL, "a line a run, task and k" },
    END,
};
static const struct option_spec EVAL[] = {
    HEAD_OR_MOVED,
    { "task", "NAME|FOLDER", "evaluate on this task's dev rows; of a run of several tasks: which one" },
    { "file", "FILE", "evaluate on a file" },
    COLUMNS,
    { "official-dev", NULL, "evaluate on dev_official.tsv of a GLUE folder" },
    { "batch", "N", "rows at a time; never changes the result" },
    { "max-len", "N", "tokens a row (default: the run's, or 128)" },
    { "wrong", "FILE", "write the wrong rows with probabilities as TSV (- for standard output)" },
    { "overwrite", NULL, "--wrong may write over a file that exists" },
    WORKERS,
    { "beams", "N", "text form: beams of the texts written (default: the run's)" },
    END,
};
/* Rows of tasks to look at. */
#define TASK_ROWS                                                                                                    \
    { "task", "NAME|FOLDER,…", "whose rows (default: the run's, or " DEFAULT_TASK ", else " OWN_TASK "), read as training reads them; " \
                               "of a run of several tasks: which of them (default: all)" },                        \
        COLUMNS, { "official-dev", NULL, "dev_official.tsv of a GLUE folder" },                                       \
        { "split", "dev|train|NAME", "dev (default), train, or a dev split's name" }
#define UNSEEN { "unseen", "NAME|FOLDER,…", "and rows of tasks that a run of several tasks was not trained on" }
#define OF_TASK { "task", "NAME", "of a run of several tasks: which one" }
static const struct option_spec PREDICT[] = {
    OF_TASK,
    HEAD_OR_MOVED,
    { "text", "TEXT", "a text" },
    { "text-b", "TEXT", "the second text of a pair (with --file: its column)" },
    { "file", "FILE", "a TSV with a header, or one text a line (- for standard input)" },
    { "column", "NAME", "the text's column in --file" },
    { "fill", "TEXT", "words for each [MASK] of a text, by a run of masked words or a model's head of them" },
    { "top", "N", "with --fill: how many (5)" },
    READER,
    { "max-len", "N", "tokens a row" },
    WORKERS,
    END,
};
static const struct option_spec GENERATE[] = {
    OF_TASK,
    { "model", "DIR|NAME", "a model with a decoder (T5, BART, mBART); with a run: where its model lies now" },
    { "run", "RUN", "with a run's best weights" },
    { "text", "TEXT", "a source text, taken as it is (petri predict puts it in the form of a run's labelled task)" },
    { "text-b", "TEXT", "the second text of a pair (with --file: its column)" },
    { "file", "FILE", "a table with a header, or one source a line (- for standard input)" },
    { "column", "NAME", "the source's column in --file" },
    READER,
    { "beams", "N", "1: greedy (default: as the model's folder says)" },
    { "max-new", "N", "tokens of a text, at most (default: the folder's, or 20)" },
    { "min-new", "N", "and at least" },
    { "length-penalty", "X", "score by length^X with beams; above 0 favours long texts (1)" },
    { "start", "TOKEN", "what the decoder begins with, a name or an id (mBART: a language)" },
    { "first", "TOKEN", "the first token of every text" },
    { "max-len", "N", "tokens of a source" },
    WORKERS,
    END,
};
static const struct option_spec ENCODE[] = { MODEL,
                                             { "text", "TEXT", "a text" },
                                             { "text-b", "TEXT", "the second text of a pair" },
                                             { "max-len", "N", "tokens (default: the model's longest)" },
                                             { "tokens", NULL, "the tokens alone: --json without vectors, which take long of long texts" },
                                             END };
static const struct option_spec RUNS[] = { { "sort", "COLUMN", "by a column, an option or a metric; -COLUMN: descending" },
                                           { "limit", "N", "at most N" },
                                           { "trash", NULL, "those in the trash" },
                                           { "csv", NULL, "all that is known of each, a line a run" },
                                           { "markdown", NULL, "the list as a Markdown table" },
                                           END };
static const struct option_spec SQL[] = { { "csv", NULL, "a head line, then a line a row (this is usual)" },
                                          { "markdown", NULL, "a Markdown table" },
                                          END };
static const struct option_spec WATCH[] = { { "no-color", NULL, "no colours (NO_COLOR does the same)" }, { "ascii", NULL,
        "only ASCII characters" }, { "lesson", NULL, "the notes to the lesson that is led in another terminal" }, END };
static const struct option_spec SHOW[] = { { "why", NULL, "what looks wrong with it, a sentence each with its figures" }, END };
static const struct option_spec PURGE[] = { { "all", NULL, "all that are in the trash" },
                                            { "lessons", NULL, "all that lessons made, in the trash or not" },
                                            { "yes", NULL, "do not ask (no terminal: needed)" },
                                            END };
static const struct option_spec HELP[] = { { "man", NULL, "all of it as a page for man" },
                                           { "completion", "bash|zsh|fish", "what completes petri's words in a shell" },
                                           END };
static const struct option_spec TAG[] = { { "remove", NULL, "take the tags away" }, END };
static const struct option_spec COUNT[] = { MODEL,
                                            { "method", "TEXT", "a preset or modules" },
                                            { "classes", "N[,N…]", "outputs of the head (default 2), or of each task's" },
                                            { "tasks", "N", "of a run of so many tasks (default 1)" },
                                            { "regime", "TEXT", "how it is learned, where that counts: meta" },
                                            END };
static const struct option_spec REPLICATE[] = {
    { "data", "FOLDER", "where the rows lie that the experiment names as {data}/…" },
    { "budget", "MINUTES", "begin nothing and stop what runs, with a checkpoint, after so long (default: no limit)" },
    { "all", NULL, "also the cells that are ready to run but not run unasked" },
    { "dry-run", NULL, "run nothing: what is there already" },
    { "from", "RESULTS.json", "take the values of this file, which --out made, in place of the history's" },
    { "out", "RESULTS.json", "write the results as JSON" },
    { "page", "PAGE.md", "write them as a page" },
    { "overwrite", NULL, "--out and --page may write over files that exist" },
    WORKERS,
    END,
};
static const struct option_spec EXPLAIN[] = { MODEL,
                                              { "classes", "N[,N…]", "outputs of the head (default 2), or of each task's" },
                                              { "tasks", "N", "of a run of so many tasks (default 1)" },
                                              { "regime", "TEXT", "how it is learned, where that counts: meta" },
                                              { "beside", "NAME|METHOD", "and how far that one is from it: the axes that differ" },
                                              END };
/* Of a run's options those that say what a batch of several tasks holds. */
static const struct option_spec TASKS[] = {
    { "sampling", "proportional|temperature(T)|one-task(T)|stratified(T)", "which tasks a batch's rows are of (proportional)" },
    { "batch", "N", "rows a step (32)" },
    { "limit", "N|P%|none", "low data: so many train rows of each task" },
    { "limit-seed", "N", "seed of that draw (0)" },
    { "split", "P%|none", "without a part that is held out as dev rows" },
    { "split-seed", "N", "seed by which these are drawn (0)" },
    { "split-validation", NULL, "as train has it: large tasks train on 1000 rows less" },
    { "official-dev", NULL, "dev_official.tsv of GLUE folders" },
    END,
};
static const struct option_spec SETTINGS[] = {
    { "write", NULL, "write the file of settings, with a comment to each; what is there is kept" },
    END,
};
static const struct option_spec RENDER[] = {
    { "screen", "NAME", "first, compose, explain, train, runs, compare, sweep, heatmap, map, detail or help" },
    { "size", "WxH", "columns and rows (default 80x24)" },
    { "method", "TEXT", "the method on the Compose screen" },
    { "run", "RUN", "the run in focus" },
    { "filter", "FILTER", "of runs and compare: which runs, as petri runs takes them" },
    { "trash", NULL, "of runs: those in the trash" },
    { "sweep", "ID", "of sweep: which one (default: the list)" },
    { "part", "grid|effects|front|lines", "of sweep: what is shown where there is room for one" },
    { "cost", "trained|time|memory", "of sweep: what the front of cheap and good is by (trained)" },
    { "steps", NULL, "of map: the last of what the run kept while it trained" },
    { "set", "N[,N]", "of map: kept sets of vectors" },
    { "matrix", "N", "of heatmap: a kept matrix, as an attention" },
    MODEL,
    { "task", "NAME|FOLDER", "the task on the Compose screen; of map and heatmap whose rows: of a run of several tasks one, or all" },
    { "unseen", "NAME|FOLDER,…", "of map and heatmap: and rows of tasks that a run of several tasks was not trained on" },
    { "loss", "parts|tasks|NAME", "of train: the loss by its parts or tasks, or one of them (loss.instance, reviews)" },
    { "ascii", NULL, "only ASCII" },
    DRAWING_OPTIONS,
    END,
};
static const struct option_spec PLOT[] = {
    { "key", "NAME", "what is drawn: loss (default), lr, grad_norm, accuracy or another point of the runs" },
    { "x", "step|tokens|time|epoch", "over what (step); time: seconds of training" },
    { "smooth", "X", "weight of what came before: 0, 0.5, 0.8, 0.9, 0.95, 0.98 or 0.99 (0.9; of evaluations 0)" },
    { "raw", NULL, "the raw points behind the smoothed curves, which one run alone always has" },
    { "log", NULL, "y logarithmic" },
    { "log-x", NULL, "x logarithmic" },
    { "size", "WxH", "columns and rows (default 80x24)" },
    { "ascii", NULL, "only ASCII" },
    DRAWING_OPTIONS,
    { "csv", NULL, "in place of a drawing its numbers, raw and smoothed; --json too" },
    END,
};
static const struct option_spec EMBED[] = {
    MODEL,
    { "run", "RUN", "a run's best weights; --model is then where its model lies now" },
    { "list", NULL, "what is kept (of --run) in place of embedding" },
    TASK_ROWS,
    UNSEEN,
    { "rows", "N", "at most, drawn evenly over tasks and classes (default 1000)" },
    { "layer", "L|retriever", "0: embeddings … the last (default); or what a run's retriever makes of it" },
    { "pool", "cls|mean", "first token, or mean over all (default)" },
    { "seed", "N", "of the draw (default 1)" },
    WORKERS,
    END,
};
static const struct option_spec SIMILARITY[] = {
    { "of", "classes|rows|layers|tensors|attention|prototypes|tasks|weights|mass",
      "what is compared (default classes); the last four are of one run: rows by the tasks' prototypes, the generator's "
      "task embeddings, each task's own weights by layer, softmax mass on a prefix by layer" },
    { "row", "N", "of attention: the row's number in its file" },
    { "head", "N|first", "of attention: tokens by tokens, or all heads by what the first token sees (default)" },
    { "measure", "cosine|cka|debiased-cka", "for layers cka (default) or debiased-cka, for few rows; else cosine" },
    { "order", "name|cluster", "of rows and columns (default name)" },
    { "model", "DIR|NAME", "without RUN, or against one RUN: the model as it is" },
    TASK_ROWS,
    UNSEEN,
    { "rows", "N", "at most, drawn evenly over tasks and classes (1000, at least 64 a task; 40 of rows)" },
    { "layer", "L|retriever", "of classes and rows: 0 … the last (default), or retriever; of attention: from 1" },
    { "pool", "cls|mean", "first token, or mean over all (default)" },
    { "seed", "N", "of the draw (default 1)" },
    { "csv", NULL, "a line a cell" },
    { "list", NULL, "what is kept (of RUN) in place of comparing" },
    { "matrix", "N", "a kept one again" },
    WORKERS,
    END,
};
static const struct option_spec MAP[] = {
    { "vectors", "FILE", "a CSV or TSV of numbers, in place of SET" },
    { "labels", "COLUMN", "its column of labels (a name, or #N)" },
    { "columns", "LIST", "the columns that are coordinates: names, #N, #N-#M, with commas (default: all others)" },
    { "skip", "LIST", "columns that are none" },
    { "run", "RUN", "rows through this run, kept as petri embed keeps them; --model is then where its model lies now" },
    { "steps", NULL, "the sets that the run kept while it trained: a map of each, begun from the one before" },
    { "model", "DIR|NAME", "rows through this model as it is" },
    TASK_ROWS,
    UNSEEN,
    { "rows", "N", "at most, drawn evenly over tasks and classes (default 1000)" },
    { "layer", "L|retriever", "as petri embed has it; with --steps retriever alone" },
    { "pool", "cls|mean", "first token, or mean over all (default)" },
    { "by", "label|task", "what the scores are of (default label)" },
    { "perplexity", "P", "neighbours that a point keeps, about (default 30)" },
    { "iterations", "N", "in all (default 750)" },
    { "seed", "N", "of draw, jitter and sample (default 1)" },
    { "pca", NULL, "two principal components in place of t-SNE" },
    { "csv", NULL, "a line a point" },
    WORKERS,
    END,
};
static const struct option_spec EXPORT[] = {
    OF_TASK,
    { "to", "csv|json|markdown|hf|petri|peft|hub",
      "points as CSV or Markdown; the run, then its points, as JSON Lines; a Hugging Face folder; a file "
      "for `petri import`; or a folder of PEFT or AdapterHub" },
    { "base", "NAME", "with --to peft and hub: what its config calls the model (default: as the run does)" },
    { "overwrite", NULL, "PATH may be a file that exists (never the database or what a run reads)" },
    DTYPE,
    MOVED,
    END,
};
#define CLASS_NAMES                                                                                \
    { "classes", "A,B,…|FILE|TASK", "class names in the order of the outputs: a list, a file with one a line, or a task's" }
static const struct option_spec NAME[] = { CLASS_NAMES, MOVED, END };
static const struct option_spec IMPORT[] = {
    { "model", "DIR|NAME", "the model that it is for (default: as it says itself)" },
    { "adapter", "DIR" ARGS_AGAIN, "an adapter that DIR's fusion joins; may be given for each (default: those in DIR or beside it)" },
    CLASS_NAMES,
    NAMED,
    END,
};
static const struct option_spec MERGE_ADAPTERS[] = {
    { "weights", "W,W…", "one a run (default: all the same, in sum 1); below 0 takes away" },
    { "how", "concat|linear|ties", "exactly the weighted sum of the changes (default); each matrix averaged; of its largest "
                                   "values those of one sign" },
    { "density", "D", "with ties: the share of values that is kept, above 0, at most 1" },
    { "head", "RUN", "whose head and description (default: all heads are equal)" },
    NAMED,
    MOVED,
    END,
};

static const struct option_spec LEARN[] = {
    { "handout", "DIR", "replay it, then write it there as Markdown with SVG pictures" },
    { "overwrite", NULL, "files of DIR may exist" },
    { "list", NULL, "all lessons, with what they take and what was done" },
    { "auto", NULL, "replay it without questions and print its checks; fails unless all are in their bands" },
    { "model", "DIR|NAME", "in place of the lesson's" },
    { "task", "NAME|FOLDER", "in place of the lesson's" },
    WORKERS,
    END,
};

static const struct option_spec METHODS[] = {
    { "save", "NAME", "keep --method by this name" },
    { "method", "TEXT", "what is kept" },
    { "forget", "NAME", "keep it no longer" },
    { "export", "FILE", "what is kept by name into a new file, a line each: NAME = TEXT" },
    { "import", "FILE", "what such a file holds beside what is kept" },
    END,
};

static const struct verb VERBS[] = {
    { "train", "[options]", "train a method on a task; the run is kept", TRAIN, 0, 0, verb_train },
    { "pretrain", "--text FILE --out DIR [options]", "a vocabulary and a model of texts alone, by masked words; a run like any other",
      PRETRAIN, 0, -1, verb_pretrain },
    { "stop", "RUN", "stop a run that trains; it keeps a checkpoint", NULL, 1, 1, verb_stop },
    { "resume", "RUN", "go on with a run that stopped or was interrupted", RESUME, 1, 1, verb_resume },
    { "adapt", "RUN --task NEW [--k N,N,\u2026] [--draws N]", "a run on a few rows of a new task, drawn again and again", ADAPT, 1, 1,
      verb_adapt },
    { "fewshot", "--tasks WHAT [--from RUN] [--method TEXT] | RUN\u2026", "methods on a few rows of several tasks",
      FEWSHOT, 0, -1, verb_fewshot },
    { "eval", "RUN | --model DIR [--task T | --file F]", "score a run or a model on labelled rows",
      EVAL, 0, 1, verb_eval },
    { "predict", "RUN --text TEXT | --file FILE | --fill TEXT", "labels and probabilities from a run, or words for masks", PREDICT, 0, 1,
      verb_predict },
    { "generate", "RUN | --model DIR [--run RUN] --text TEXT | --file FILE",
      "texts from a model that writes, or a run on it", GENERATE, 0, 1, verb_generate },
    { "encode", "--text TEXT", "token ids and vectors of a text", ENCODE, 0, 0, verb_encode },
    { "runs", "[FILTER…]", "the history: task=reviews state=finished lora", RUNS, 0, -1, verb_runs },
    { "watch", "[RUN]", "a run's curves on the screen, from another terminal: reads only; the newest living one", WATCH, 0, 1, verb_watch },
    { "show", "RUN", "everything about one run; --why: what looks wrong with it", SHOW, 1, 1, verb_show },
    { "trash", "RUN…", "put runs into the trash", NULL, 1, -1, verb_trash },
    { "restore", "RUN…", "take runs out of the trash", NULL, 1, -1, verb_restore },
    { "purge", "RUN… | --all | --lessons", "delete runs in the trash for good, with their files", PURGE, 0, -1, verb_purge },
    { "tag", "RUN… TAG… [--remove]", "tag runs, or take tags away: petri runs tag=good", TAG, 2, -1, verb_tag },
    { "name", "RUN [TEXT] [--classes A,B]",
      "call a run something, which then stands for RUN; \"\" takes the name away; or name its classes",
      NAME, 1, 2, verb_name },
    { "note", "RUN TEXT", "a run's note in place of the one it has; \"\" takes it away", NULL, 2, 2, verb_note },
    { "sql", "\"SELECT …\"", "ask the database (read-only; docs/schema.md)", SQL, 1, 1, verb_sql },
    { "count", "--method TEXT", "parameters of a method on a model", COUNT, 0, 0, verb_count },
    { "explain", "NAME | METHOD", "what a method is, what it costs on a model, what equals it", EXPLAIN, 1, 1, verb_explain },
    { "methods", "", "the published methods and their axes, and methods kept by name", METHODS, 0, 0, verb_methods },
    { "tasks", "[A,B,C | FILE.json [--sampling RULE]]", "the tasks known by name, or what a batch of several holds",
      TASKS, 0, 1, verb_tasks },
    { "fetch", "[model|tasks|t5]", "the default model and task, more tasks or flan-t5-small", NULL, 0, 1, verb_fetch },
    { "models", "", "the models at hand", NULL, 0, 0, verb_models },
    { "embed", "--task T[,T…] [--model DIR | --run RUN] | --list", "keep vectors of tasks' rows", EMBED, 0, 0, verb_embed },
    { "map", "SET | --run RUN [--steps] | --model DIR --task T | --vectors FILE [--labels COLUMN]",
      "vectors in two dimensions, with scores", MAP, 0, 1, verb_map },
    { "similarity", "[RUN [RUN]] --of classes|rows|layers|tensors|attention|prototypes|tasks|weights|mass",
      "a matrix of similarities, kept",
      SIMILARITY, 0, 2, verb_similarity },
    { "render", "--screen NAME", "print a screen as text", RENDER, 0, 0, verb_render },
    { "plot", "RUN\u2026 | FILTER [--key NAME] [--x step|tokens|time|epoch] [--out FILE.svg]",
      "curves of runs in one chart, as text or SVG", PLOT, 1, -1, verb_plot },
    { "export", "RUN --to csv|json|markdown|hf|petri|peft|hub [PATH]", "points, record or weights of a run", EXPORT, 1, 2,
      verb_export },
    { "import", "FILE|DIR", "what was trained elsewhere becomes a run (docs/interchange.md)", IMPORT, 1, 1, verb_import },
    { "merge-adapters", "RUN RUN… [--weights W,W] [--how concat|linear|ties]", "adapters of runs joined into one, a run of its own",
      MERGE_ADAPTERS, 2, -1, verb_merge_adapters },
    { "merge", "INTO FROM…", "what other databases have, into one", NULL, 2, -1, verb_merge },
    { "sweep", "OPTIONS | FILE.json | ID | resume|stop|extend ID | task DIR INDEX | status DIR",
      "runs over lists of values in braces; a sweep's results", SWEEP, 0, 3,
      verb_sweep },
    { "compare", "RUN… | FILTER", "runs side by side: means, intervals, differences", COMPARE, 1, -1, verb_compare },
    { "replicate", "FILE|EXPERIMENT…", "a paper's experiment: run what is missing, ours beside what was published", REPLICATE, 1, -1,
      verb_replicate },
    { "learn", "LESSON | FILE | --list", "lessons that run the real engine (docs/lessons.md)", LEARN, 0, 1, verb_learn },
    { "settings", "[NAME=VALUE…] [--write]", "what petri does each time it starts; written only so", SETTINGS, 0, -1, verb_settings },
    { "help", "[VERB] | --man | --completion SHELL", "all verbs, or one with its options", HELP, 0, 1, verb_help },
    { "doctor", "", "check processor, kernels, terminal and database", NULL, 0, 0, verb_doctor },
};

const struct verb *verb_at(size_t i) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, fill_train);
    return i < COUNT_OF(VERBS) ? &VERBS[i] : NULL;
}
