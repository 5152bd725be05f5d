/* A corpus of sentences as a source of episodes without labels (SMLMT, Bansal et al. 2020): a few words are
 * drawn, of each some sentences, in which the word is masked; the class of a row is which word it was.
 *
 * One sentence a line.  Words are runs of letters, told apart in lower case; those of an episode have
 * distinct stems.  A fifth of the stems and a fifth of the sentences are held out: held episodes have only
 * these, others none of them. */
#ifndef CORE_TRAIN_META_CORPUS_H
#define CORE_TRAIN_META_CORPUS_H

#include "core/base/rng.h"
#include "core/model/model.h"

enum corpus_rule {
    CORPUS_UNIFORM, /* each word alike */
    CORPUS_FREQUENCY, /* by the logarithm of how often it occurs */
    CORPUS_CLUSTERS, /* all words of an episode from one cluster of their embeddings, which makes it harder */
};
/* The --ways of a run, "2-5" or "3", and its --words, "uniform", "frequency" or "clusters(20)". */
struct corpus_ways {
    int least, most; /* words an episode */
    char text[];
};
struct corpus_words {
    enum corpus_rule rule;
    int clusters;
    char text[];
};
extern const struct option_parser ways_parser, words_parser;
struct corpus_how {
    enum corpus_rule rule;
    int clusters;
    int least, most;
    int support, query; /* rows of it in all */
    int max_len;     /* tokens a row */
    uint64_t seed;
};

struct corpus;
/* ERR_INPUT, naming the file: no UTF-8, too small for so many words, or a model without a mask token. */
struct corpus *corpus_open(const char *path, const struct corpus_how *how, const struct model *m,
                           struct err *e);
void corpus_free(struct corpus *c);
/* "10,000 sentences, 312 words of 280 stems for training, …": what there is; a line. */
const char *corpus_report(const struct corpus *c);

/* A row that was drawn: the sentence with its word masked, as ids.  Owned by the caller (encoded_release). */
struct corpus_row {
    uint32_t sentence;
    int label;
    struct encoded tokens;
};
/* How many words the episode has; its rows, support+query of them, into row: how many of the support and of
 * the query each word has is as even as it goes, and they take turns.  A pure function of the key.  Any
 * thread. */
int corpus_draw(const struct corpus *c, bool held, struct rng_key key, struct corpus_row *row);

#endif
