/* Scoring a split of texts: the losses of its targets, each token after the right ones (teacher
 * forcing), and what the model writes by itself.  Both fall into fixed units that any worker may
 * take; a row's numbers depend neither on who takes its unit nor on the other units.  What training
 * and use afterwards share. */
#ifndef CORE_TRAIN_RUN_TEXT_SCORE_H
#define CORE_TRAIN_RUN_TEXT_SCORE_H

#include "core/data/metrics.h"
#include "core/data/task.h"
#include "core/method/attach.h"
#include "core/model/generate.h"
#include "core/train/run/frozen.h"

struct text_scoring {
    const struct dataset *data;
    int task;             /* of the run, whose weights are used (attach_for_task); 0 unless set */
    struct frozen
        *frozen; /* of `data`: where losses are scored its lowest layers do not run; NULL unless set */
    const struct model *model;
    int chunks;           /* of the losses; 0: only texts are wanted */
    uint32_t *order;      /* rows that have a target, longest first */
    uint32_t *first;      /* chunks+1: chunk c is order[first[c]] … order[first[c+1]-1] */
    double *loss;         /* rows: Σ −log p of the target's tokens */
    uint32_t *right;      /* rows: target tokens that are the likeliest */
    /* The texts; their groups come before the chunks, since they take longer. */
    struct generate_options how;
    struct generate_sources sources;
    struct generation generation; /* groups 0: no texts are wanted */
    struct generated *ids;        /* rows */
    char **given;         /* rows: the text written, NUL-terminated; NULL before */
    size_t *given_size;
};

/* Losses need an encoded target side.  how NULL: no texts.  A text_scoring stays where it is until
 * released. */
void text_scoring_init(struct text_scoring *s, const struct model *m, const struct dataset *d,
                       bool losses, const struct generate_options *how);
void text_scoring_release(struct text_scoring *s);
int text_scoring_units(const struct text_scoring *s);
/* Rows that are done with this unit: those whose texts it writes or, where none are wanted, scores. */
int64_t text_scoring_rows(const struct text_scoring *s, int unit);
/* False when a logit is not finite; *bad is then that row's number in its file, or the first one's of
 * those whose texts are written together. */
bool text_scoring_unit(struct text_scoring *s, int unit, struct tape *tape, struct arena *arena,
                       struct attach *attach, const real *params, const real *made, uint64_t *bad);

/* All scores, once every unit was taken; released by metrics_release.  `task` says how answers are
 * read.  The loss is the mean over target tokens; *token_accuracy: how many of these are the
 * likeliest after the right ones. */
void text_scoring_metrics(const struct text_scoring *s, const struct task *task, struct metrics *out,
                          struct metric_value *token_accuracy);

/* The options of the texts that a run's evaluations write: max_new is the longest target that the
 * classes of a labelled task have, else max_target.  An error where the folder's own settings are
 * broken, or the model cannot write so (beams of a small vocabulary, no token to start with). */
int text_options(const struct model *m, const struct task *t, int beams, int max_target,
                 struct generate_options *out, struct err *e);

#endif
