/* Masked-word episodes (SMLMT, Bansal et al. 2020) from an unlabeled corpus of sentences: an episode has a
 * few words, and for each of them sentences in which it is masked; the class of an example is the masked
 * word. One sentence per line. Words are sequences of letters, compared in lower case; those of an episode
 * have distinct stems. A fifth of the stems and a fifth of the sentences are held out: held-out episodes use
 * only these, training episodes none of them. */
#ifndef CORE_TRAIN_META_CORPUS_H
#define CORE_TRAIN_META_CORPUS_H

#include "core/base/rng.h"
#include "core/model/model.h"

enum corpus_rule {
    CORPUS_UNIFORM, /* all words with equal probability */
    CORPUS_FREQUENCY, /* by the logarithm of the word frequency */
    CORPUS_CLUSTERS, /* all words of an episode from one cluster of their embeddings (harder episodes) */
};
/* The --ways of a run, "2-5" or "3", and its --words, "uniform", "frequency" or "clusters(20)". */
struct corpus_ways {
    int least, most; /* words per episode */
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
    int support, query; /* examples per episode */
    int max_len;     /* maximum sequence length */
    uint64_t seed;
};

struct corpus;
/* Opens a corpus. ERR_INPUT names the file: not valid UTF-8, too small for the number of words, or a model
 * without a mask token. */
struct corpus *corpus_open(const char *path, const struct corpus_how *how, const struct model *m,
                           struct err *e);
void corpus_free(struct corpus *c);
/* Returns a one-line summary: "corpus.txt: 10000 sentences; training: 312 words of 280 stems, …". */
const char *corpus_report(const struct corpus *c);

/* A sampled example: the sentence with its word masked, as token ids. Owned by the caller
 * (encoded_release). */
struct corpus_example {
    uint32_t sentence;
    int label;
    struct encoded tokens;
};
/* Samples an episode: returns its number of words and writes its support+query examples to `row`, balanced
 * over the words and alternating. A pure function of the key. Thread-safe. */
int corpus_draw(const struct corpus *c, bool held, struct rng_key key, struct corpus_example *row);

#endif
