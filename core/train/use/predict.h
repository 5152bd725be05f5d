/* Evaluation, prediction and export with a trained method. Work runs on a crew, which is waited for, or with
 * `crew` NULL on the caller's thread, with the same result. A predictor may be used by one thread at a time;
 * the model must outlive it. */
#ifndef CORE_TRAIN_USE_PREDICT_H
#define CORE_TRAIN_USE_PREDICT_H

#include <stdbool.h>

#include "core/base/crew.h"
#include "core/data/dataset.h"
#include "core/data/metrics.h"
#include "core/data/text_form.h"
#include "core/method/plan.h"
#include "core/model/model.h"
#include "core/train/config/config.h"
#include "core/train/run/text_score.h"

/* A trained method with its head. */
struct predictor;
/* Opens a checkpoint. `task`: a task of the run by name; NULL: the only one. ERR_INPUT names missing and
 * unexpected tensors and wrong shapes, or a model whose weights, config or tokenizer differ from those in
 * training; ERR_USAGE lists the tasks for an unknown name or, with a multi-task run, NULL. */
struct predictor *predictor_open(const char *checkpoint, const char *task, struct model *m, struct err *e);
/* Opens a checkpoint with all tasks of the run, including shared parts (retriever, generator). The functions
 * below refer to the current task: the first until predictor_use. */
struct predictor *predictor_open_all(const char *checkpoint, struct model *m, struct err *e);
int predictor_tasks(const struct predictor *p);
const char *predictor_task(const struct predictor *p, int task); /* "" in a single-task run */
void predictor_use(struct predictor *p, int task);
int predictor_in_use(const struct predictor *p);
/* Creates a predictor with the method of `c` on a model, for parameters that are set afterwards
 * (predictor_values): initialized as for training, with the model's head where it has the same number of
 * outputs. c: form and lengths are complete. */
struct predictor_parts {
    struct model *m;
    const struct run_config *c;
    enum data_kind label_kind;
    int labels; /* number of classes */
    char *const *label;
};
struct predictor *predictor_new(const struct predictor_parts *x, struct err *e);
real *predictor_values(struct predictor *p);
/* Sets the class names of the head, in the order of its outputs. ERR_USAGE for a wrong number of names, or an
 * empty or duplicate name. */
int predictor_name_classes(struct predictor *p, const char *const *name, int n, struct err *e);
/* Returns the original config of imported parameters; NULL: not imported. */
const char *predictor_origin(const struct predictor *p);
void predictor_set_origin(struct predictor *p, const char *text);
/* Opens the model of a folder with its own head; fails if it has none. */
struct predictor *predictor_of_model(struct model *m, struct err *e);
/* Opens the model of a folder with its own masked language modeling head; fails if it has none. */
struct predictor *predictor_of_words(struct model *m, struct err *e);
/* Sets the chat template by name or file, instead of the run's or the model's; predictor_template returns it,
 * NULL for that of the model. */
void predictor_set_template(struct predictor *p, const char *name);
const char *predictor_template(const struct predictor *p);
/* Sets the precision of products with the frozen weights; that of the run, or float32 for a model. */
void predictor_set_precision(struct predictor *p, enum precision precision);
void predictor_free(struct predictor *p);
/* Returns false for a run of an older version that did not record config and tokenizer of the model
 * (facts.h); the current ones are used, which callers report. */
bool predictor_knows_facts(const struct predictor *p);
const struct plan *predictor_plan(const struct predictor *p);
const struct model *predictor_model(const struct predictor *p);
/* Returns the trainable parameters, by the offsets of the plan. */
const real *predictor_params(const struct predictor *p);
/* Returns the generated weights (attach.h). */
const real *predictor_made(const struct predictor *p);
/* Returns the number of outputs of the head: classes, 1 for scores, 0 for text-to-text. */
int predictor_classes(const struct predictor *p);
bool predictor_is_regression(const struct predictor *p);
/* Returns whether it is multi-label, with a separate probability per label: a model folder with
 * multi_label_classification. */
bool predictor_is_multilabel(const struct predictor *p);
/* Returns whether it generates text, also for labeled tasks. predictor_label_kind returns the kind of the
 * labels of its run (an encoder–decoder model without a run: DATA_TEXT). */
bool predictor_writes(const struct predictor *p);
enum data_kind predictor_label_kind(const struct predictor *p);
/* Returns whether it is a masked language model (fill.h), without labels and generated text. */
bool predictor_fills(const struct predictor *p);
/* Returns whether it has no head: it can compute embeddings and initialize a run. */
bool predictor_is_headless(const struct predictor *p);
/* Refuses a predictor without a head (ERR_USAGE). */
int predictor_needs_head(const struct predictor *p, struct err *e);
/* Returns the number of class names: 0 with scores and texts. */
int predictor_labels(const struct predictor *p);
const char *predictor_label(const struct predictor *p, int i); /* bytes as in the data */
/* Returns the maximum sequence length of training (that of the model, for the head of a folder), by which to
 * tokenize. */
int predictor_max_len(const struct predictor *p);

/* Predicts for the examples of d, tokenized by the model's tokenizer. probabilities: rows × classes (softmax
 * in double; sigmoids if multi-label), or one score per row for regression; logits likewise; each may be
 * NULL. ERR_FAILED names the first row with NaN or infinite logits. */
int predictor_run(struct predictor *p, const struct dataset *d, struct crew *crew, double *probabilities,
                  double *logits, struct err *e);
/* Does the same and computes the metrics (metrics_release); labels of d are those of the predictor by number.
 * positive: the class for which F1 is computed, or -1. */
int predictor_evaluate(struct predictor *p, const struct dataset *d, struct crew *crew, int positive,
                       double *probabilities, double *logits, struct metrics *out, struct err *e);

/* Converts a labeled task to the form of the predictor: text-to-text with the run's --prefix where it
 * generates text, and for a model without a run (p NULL) the default form of training. Other tasks are
 * unchanged. Call before task_encode. */
int predictor_task_form(const struct predictor *p, const struct model *m, struct task *t, struct err *e);
/* Prepares an opened task for evaluation: converted to text-to-text where the predictor generates text, and
 * tokenized with max_len. ERR_USAGE where the predictor does not fit the task. */
int predictor_prepare_task(const struct predictor *p, struct task *t, int max_len, struct err *e);
/* Generated texts. */
struct written {
    size_t examples;
    char **text; /* NUL-terminated */
    size_t *size;
};
void written_release(struct written *w);
/* Evaluates a predictor that generates text on a dev split of a prepared task, and returns the texts; beams
 * 0: as in the evaluations of the run. A causal model generates only if t->metric compares texts; otherwise
 * *texts is empty. */
int predictor_evaluate_texts(struct predictor *p, const struct task *t, int split, int beams,
                             struct crew *crew, struct written *texts, struct metrics *out,
                             struct metric_value *token_accuracy, struct err *e);
/* Converts unlabeled examples to the text-to-text form of a labeled task of the run. Call before
 * dataset_encode. `field`: names of the two text columns of that task, or NULL. */
int predictor_as_text(const struct predictor *p, const char *task, const char *const field[2],
                      struct dataset *d, struct err *e);
/* Tokenizes unlabeled examples for predictor_answer: those of a decoder-only model as in its training, with the
 * chat template of the run.  ERR_INPUT names the line of one that is too long. */
int predictor_encode_sources(const struct predictor *p, struct dataset *d, size_t max_len, struct err *e);
/* Parses a generated text as a class or score of the run. */
struct parsed predictor_parse(const struct predictor *p, const char *text, size_t n);
/* Generates texts for tokenized examples, as in the evaluations of the run. */
int predictor_answer(struct predictor *p, const struct dataset *d, struct crew *crew, struct written *texts,
                     struct err *e);

/* Returns the trained method for generate_rows and others that call its functions. */
struct generate_method predictor_generates(const struct predictor *p);
/* Likewise of a pretrained model in a precision. */
struct generate_method model_generates(enum precision precision);

/* Returns the width of the retriever's vectors; 0 without a retriever, or where the predictor was reduced to
 * one of several tasks. */
int predictor_retrieved(const struct predictor *p);
/* Options of embeddings. */
struct embed_how {
    bool mean;         /* mean over all tokens; else the first token */
    real *retrieved;   /* rows × predictor_retrieved: output for the retriever's vectors, or NULL */
    enum precision precision; /* of model_embed */
    struct crew *crew;
    /* Called on the caller's thread with the number of completed examples; returning false cancels
     * (ERR_INTERRUPTED). May be NULL. */
    bool (*watch)(void *self, size_t rows);
    void *self;
};
/* Computes embeddings of the tokenized examples of d: layer[i], for i from 0 (embeddings) to the number of
 * layers, receives rows×width numbers; NULL: skip that layer. predictor_embed uses the model with the trained
 * method, model_embed the model alone. `probabilities` (or NULL) as in predictor_run, from the same pass.
 * ERR_FAILED names the first row that is NaN or infinite. */
int predictor_embed(struct predictor *p, const struct dataset *d, const struct embed_how *how,
                    real *const *layer, double *probabilities, struct err *e);
int model_embed(const struct model *m, const struct dataset *d, const struct embed_how *how,
                real *const *layer, struct err *e);

/* Replaces generated weights by free modules with the same values (plan_plain); predictions are unchanged. */
int predictor_make_plain(struct predictor *p, struct err *e);
/* Writes a checkpoint for predictor_open, of a plan without generated weights. *c describes model, data and
 * method, which is that of the plan. *sha256: as in run_weights_sha256. */
int predictor_save(const struct predictor *p, const struct run_config *c, const char *path, char sha256[65],
                   struct err *e);

/* Writes a Hugging Face folder (config.json, model.safetensors in F32, or with `half` F16, tokenizer files)
 * with merged weights; ERR_USAGE with the reason where the method cannot be merged. `folder` must not exist,
 * or be empty. The result is verified before the folder is renamed to its final name: *worst is the largest
 * difference of logits between run and folder on the examples of `probe` (NULL: not compared); a difference
 * larger than floating-point noise is ERR_FAILED. The base folder is only read. */
int predictor_export(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                     struct crew *crew, double *worst, struct err *e);

#endif
