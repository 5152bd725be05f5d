/* A copy of the small history that tests/reference/make_history.py made: seven runs with their checkpoints,
 * two models and a task.
 *
 *   1 lora, finished, sets of vectors and a matrix    4, 5 adapters of two seeds, every option set
 *   2 lora, stopped by the user, to be resumed        6 text to text on T5, finished
 *   3 bitfit, killed long after its last checkpoint   7 head alone, in the trash */
#ifndef TESTS_SUPPORT_HISTORY_H
#define TESTS_SUPPORT_HISTORY_H

#include <stdbool.h>

struct history {
    char *folder;      /* in it: models/bert-tiny, models/t5-tiny, task/toy.tsv, task/dev.tsv */
    char *db;          /* folder/petri.db */
};
/* Makes parent/history.  `found`: its runs are told where the copy lies, so that they find models and
 * rows; else they look at the place where they were made, which is gone. */
void history_init(struct history *h, const char *parent, bool found);
/* Runs SQL on it that changes what it holds. */
void history_change(const struct history *h, const char *sql);
void history_release(struct history *h);

#endif
