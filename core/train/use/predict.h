/* Using what was trained: evaluation, prediction, export.  The units go to a crew, which is waited for, or
 * with `crew` NULL are done on the caller's thread, with the same bits.  One thread at a time uses a
 * predictor; the model must outlive it. */
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

/* A trained method with its head, from a checkpoint file, ready to run. */
struct predictor;
/* `task`: one of the run's by name; NULL: the only one.  Refuses (ERR_INPUT) missing, unexpected or
 * misshapen tensors by name, and a model whose weights, config or tokenizer are not those that the run
 * was trained with; ERR_USAGE, listing the tasks, for another name or, where there are several, none. */
struct predictor *predictor_open(const char *checkpoint, const char *task, struct model *m, struct err *e);
/* The same with all tasks of the run: what belongs to them together (retriever, generator) is there too.  One
 * of them is in use, the first until predictor_use; what is asked below is asked of that one. */
struct predictor *predictor_open_all(const char *checkpoint, struct model *m, struct err *e);
int predictor_tasks(const struct predictor *p);
const char *predictor_task(const struct predictor *p, int task); /* "" where the run has one */
void predictor_use(struct predictor *p, int task);
int predictor_in_use(const struct predictor *p);
/* A method on a model with values that come from elsewhere: at its start, but for a head as many outputs wide
 * as the folder's, which is that; predictor_values are then set.  c: completed as far as its form and
 * lengths; its method is what the plan is made of. */
struct predictor_parts {
    struct model *m;
    const struct run_config *c;
    enum data_kind gold;
    int labels; /* of classes */
    char *const *label;
};
struct predictor *predictor_new(const struct predictor_parts *x, struct err *e);
real *predictor_values(struct predictor *p);
/* Names the classes of its head, in the order of the outputs.  ERR_USAGE where it has another number of them,
 * or a name is empty or there twice. */
int predictor_name_classes(struct predictor *p, const char *const *name, int n, struct err *e);
/* The config that the values came with from another program, kept with them as it was; NULL: none did. */
const char *predictor_origin(const struct predictor *p);
void predictor_set_origin(struct predictor *p, const char *text);
/* The model as its folder gives it, with its own head; refused when it has none. */
struct predictor *predictor_of_model(struct model *m, struct err *e);
/* The model as its folder gives it, with its own head of masked words; refused when it has none. */
struct predictor *predictor_of_words(struct model *m, struct err *e);
void predictor_free(struct predictor *p);
/* False for a run of before facts were kept (facts.h): its config and tokenizer are taken as they are
 * now, which is worth saying. */
bool predictor_knows_facts(const struct predictor *p);
const struct plan *predictor_plan(const struct predictor *p);
const struct model *predictor_model(const struct predictor *p);
/* The trained values by the plan's offsets. */
const real *predictor_params(const struct predictor *p);
/* The made values that go with them (attach.h). */
const real *predictor_made(const struct predictor *p);
/* Outputs of the head: classes, 1 for scores, 0 where it writes. */
int predictor_classes(const struct predictor *p);
bool predictor_is_regression(const struct predictor *p);
/* Whether any number of its labels applies to a text, each with a probability of its own: a model folder of
 * multi_label_classification. */
bool predictor_is_multilabel(const struct predictor *p);
/* Whether it writes texts, also the answers of a labelled task; and what the rows of its run were
 * labelled with (a model with a decoder and no run: DATA_TEXT). */
bool predictor_writes(const struct predictor *p);
enum data_kind predictor_gold(const struct predictor *p);
/* Whether it guesses masked words (fill.h): it labels and writes nothing. */
bool predictor_fills(const struct predictor *p);
/* Whether it has no head: it gives vectors, and is a start for training. */
bool predictor_is_headless(const struct predictor *p);
/* ERR_USAGE where it has none. */
int predictor_needs_head(const struct predictor *p, struct err *e);
/* The classes' names: none with scores and texts. */
int predictor_labels(const struct predictor *p);
const char *predictor_label(const struct predictor *p, int i); /* bytes as in the data */
/* Tokens a row that it was trained with (the most that the model takes, for a folder's own
 * head): encode with it. */
int predictor_max_len(const struct predictor *p);

/* d: encoded by the model's tokenizer.  probabilities: rows × classes (softmax in double; a sigmoid
 * each where it is multilabel), or rows scores for regression; logits likewise; each may be NULL.  ERR_FAILED
 * names the first row whose logits are not finite. */
int predictor_run(struct predictor *p, const struct dataset *d, struct crew *crew, double *probabilities,
                  double *logits, struct err *e);
/* The same and the metrics over all rows (metrics_release); d's labels are the predictor's
 * by number.  positive: class that F1 is of, or -1. */
int predictor_evaluate(struct predictor *p, const struct dataset *d, struct crew *crew, int positive,
                       double *probabilities, double *logits, struct metrics *out, struct err *e);

/* Puts a labelled task into the form that rows are read in: text form with the run's switch where the
 * predictor writes, and for a model as it is (p NULL) the form that training takes by itself.  Other
 * tasks stay as they are.  Not after task_encode. */
int predictor_task_form(const struct predictor *p, const struct model *m, struct task *t, struct err *e);
/* Makes a task that was just opened ready to be scored: in text form where the predictor writes, and
 * encoded with max_len. */
int predictor_prepare_task(const struct predictor *p, struct task *t, int max_len, struct err *e);
/* Texts written for rows. */
struct written {
    size_t rows;
    char **text; /* NUL-terminated */
    size_t *size;
};
void written_release(struct written *w);
/* Of a predictor that writes: scores one dev split of a prepared task, and gives the texts; beams 0:
 * as many as the run's evaluations. */
int predictor_evaluate_texts(struct predictor *p, const struct task *t, int split, int beams,
                             struct crew *crew, struct written *texts, struct metrics *out,
                             struct metric_value *token_accuracy, struct err *e);
/* Puts rows without labels into the form that a labelled task of the run had, so that they can be
 * answered; not after dataset_encode.  `field`: the columns of a and b in that task, or NULL. */
int predictor_as_text(const struct predictor *p, const char *task, const char *const field[2],
                      struct dataset *d, struct err *e);
/* The answer that a text is, by the run's classes or scores. */
struct parsed predictor_parse(const struct predictor *p, const char *text, size_t n);
/* What it writes for encoded rows, as its run's evaluations did. */
int predictor_answer(struct predictor *p, const struct dataset *d, struct crew *crew, struct written *texts,
                     struct err *e);

/* Columns of the retriever's vectors; 0 where the method has none, or the predictor is of one task of
 * several. */
int predictor_retrieved(const struct predictor *p);
/* How vectors are made. */
struct embed_how {
    bool mean;         /* over all of a row's tokens; else the first token's */
    real *retrieved;   /* rows × predictor_retrieved: where the retriever's vectors go; NULL: not wanted */
    struct crew *crew;
    /* Told on the caller's thread how many rows are done; false: the rest is given up (ERR_INTERRUPTED).
     * NULL: never. */
    bool (*watch)(void *self, size_t rows);
    void *self;
};
/* Vectors of d's rows (encoded) inside the model: layer[i], for i from 0 (embeddings) to the
 * model's layers, gets rows×width numbers; NULL: that layer is not wanted.  predictor_embed is the
 * model with the trained method, model_embed as it is.  `probabilities` (NULL: not wanted) as
 * predictor_run gives them, of the same pass.  ERR_FAILED names the first row that is not finite. */
int predictor_embed(struct predictor *p, const struct dataset *d, const struct embed_how *how,
                    real *const *layer, double *probabilities, struct err *e);
int model_embed(const struct model *m, const struct dataset *d, const struct embed_how *how,
                real *const *layer, struct err *e);

/* From here on its plan has no value that a network makes (plan_plain): the same answers from free
 * modules. */
int predictor_make_plain(struct predictor *p, struct err *e);
/* Writes a file that predictor_open reads on the same model, of a plan without made values: what the file is
 * to say of model, rows and method stands in *c, whose method is the plan's.  *sha256: of the values, as
 * run_weights_sha256. */
int predictor_save(const struct predictor *p, const struct run_config *c, const char *path, char sha256[65],
                   struct err *e);

/* Writes a Hugging Face folder (config.json, model.safetensors in F32, or with `half` F16, the tokenizer's
 * files), merged where the method can be, refused (ERR_USAGE) with the reason otherwise.
 * `folder` must not exist, or be empty.  It is read back before it gets its name: *worst is
 * the largest logit difference between run and folder on the rows of `probe` (NULL: not
 * compared), and one that rounding does not explain is ERR_FAILED.  The base folder is only
 * read. */
int predictor_export(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                     struct crew *crew, double *worst, struct err *e);

#endif
