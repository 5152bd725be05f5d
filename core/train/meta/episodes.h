/* Where a run's episodes come from: labelled tasks, a corpus of sentences (corpus.h), or both.
 *
 * An episode of a task has all its classes: its first `support` rows are cut into batches, of which each
 * class has as many as it goes; the query has other rows.  Held-out episodes are made of the task's dev rows.
 * Which task: by the square root of its rows.  Episode number n is a function of the seed and n alone.  After
 * opening it is only read, by any thread. */
#ifndef CORE_TRAIN_META_EPISODES_H
#define CORE_TRAIN_META_EPISODES_H

#include "core/train/meta/corpus.h"
#include "core/train/meta/meta.h"

enum { EPISODES_HELD = 64 }; /* held-out ones that a run is measured by */

struct episodes;
struct config_rows_facts;
/* Refuses examples and options that make no episodes, as far as that is known without the examples: scores or
 * texts, one class, a class without examples, no validation examples, fewer of them than support and query,
 * more classes or words than the first batch of the support has examples. */
int episodes_fit(const struct run_config *c, const struct regime *r, const struct config_rows_facts *of,
                 int tasks, struct err *e);
/* Of a completed config.  What episodes_fit and corpus_open refuse is refused. */
struct episodes *episodes_open(const struct run_config *c, const struct regime *r, const struct model *m,
                               const struct run_tasks *tasks, struct err *e);
void episodes_free(struct episodes *s);
/* What there is, in lines. */
const char *episodes_report(const struct episodes *s);

/* The --episodes of a run: "smlmt:FILE"; the file of a run that has some. */
extern const struct option_parser episodes_parser;
const char *episodes_file(const struct run_config *c);

/* A worker's own memory, zeroed at first; an episode lives in it until the next is drawn. */
struct episodes_room {
    struct episode episode;
    struct dataset drawn; /* rows that were made: its arrays are the room's */
    struct corpus_row *row;
    uint32_t *pick;
    int *count;
    size_t rows, ids, picks, counts;
};
void episodes_room_release(struct episodes_room *r);
const struct episode *episodes_draw(const struct episodes *s, bool held, uint64_t number,
                                    struct episodes_room *room);

#endif
