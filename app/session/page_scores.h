/* Predictions of a stored run on its validation set, as the page of a run shows them. */
#ifndef APP_SESSION_PAGE_SCORES_H
#define APP_SESSION_PAGE_SCORES_H

#include "core/base/crew.h"
#include "core/train/use/predict.h"
#include "store/store.h"
#include "views/detail.h"

/* A view with its memory. */
struct page_scores {
    struct detail_scores view;
    char *task, *split;
    struct detail_class *class;
    struct detail_error *error;
    struct metrics metrics;
};

/* Evaluates the best checkpoint of a run on the first validation set of its task number `task` (modulo their
 * number): the confusion matrix, the scores of each class, and the worst errors.  `how`: where it is
 * computed, and what can cancel it.  ERR_USAGE for a run that generates text.  Takes seconds. */
int page_scores_compute(struct store *s, int64_t run, int task, const struct embed_how *how,
                        struct page_scores **out, struct err *e);
void page_scores_free(struct page_scores *p); /* NULL is ignored */

#endif
