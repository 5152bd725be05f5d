/* Source of the episodes of a run: labeled tasks, a corpus of sentences (corpus.h), or both. An episode of a
 * task has all classes of the task: its `support` examples are divided into batches, balanced over the
 * classes; the query has other examples. Held-out episodes use the validation set of the task. Tasks are
 * sampled in proportion to the square root of their number of examples. Episode n depends only on the seed
 * and n. Read-only and thread-safe after opening. */
#ifndef CORE_TRAIN_META_EPISODES_H
#define CORE_TRAIN_META_EPISODES_H

#include "core/train/meta/corpus.h"
#include "core/train/meta/meta.h"

enum { EPISODES_HELD = 64 }; /* number of held-out episodes in an evaluation */

struct episodes;
struct config_data_facts;
/* Refuses data and options that do not support episodes, as far as that is known without the examples: scores
 * or texts, one class, a class without examples, no validation examples, fewer of them than support and
 * query, more classes or words than the first batch of the support has examples. */
int episodes_fit(const struct run_config *c, const struct regime *r, const struct config_data_facts *of,
                 int tasks, struct err *e);
/* Opens the episodes of a completed config. Fails as episodes_fit and corpus_open do. */
struct episodes *episodes_open(const struct run_config *c, const struct regime *r, const struct model *m,
                               const struct run_tasks *tasks, struct err *e);
void episodes_free(struct episodes *s);
/* Returns a summary of the sources, one per line. */
const char *episodes_report(const struct episodes *s);

/* The --episodes of a run, "smlmt:FILE"; episodes_file returns the file of a run that has it set. */
extern const struct option_parser episodes_parser;
const char *episodes_file(const struct run_config *c);

/* Memory of a worker, initially zeroed; an episode in it is valid until the next is sampled. */
struct episodes_room {
    struct episode episode;
    struct dataset drawn; /* generated examples; owns its arrays */
    struct corpus_example *example;
    uint32_t *pick;
    int *count;
    size_t examples, ids, picks, counts;
};
void episodes_room_release(struct episodes_room *r);
const struct episode *episodes_draw(const struct episodes *s, bool held, uint64_t number,
                                    struct episodes_room *room);

#endif
