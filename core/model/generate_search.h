/* Greedy search, sampling and beam search of the text for one source, token by token.
 *
 * Independent of the model: receives the logits of its live rows and decides which rows live on.  The rules
 * are those of generate() in transformers, so that equal logits give equal texts (other random numbers are
 * drawn): scores
 * are sums of log-softmax in `real`, 2·beams candidates (more with several end tokens) are ranked, the better
 * half may end, and the score of a finished text is divided by its length (end token included) to the power
 * of the length penalty.  Ties go to the lower beam, then the lower id.
 *
 * Plain data of one owner; one thread at a time. */
#ifndef CORE_MODEL_GENERATE_SEARCH_H
#define CORE_MODEL_GENERATE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/real.h"
#include "core/model/generate_sample.h"
#include "core/model/arch.h"

/* When beam search stops before the maximum length. */
enum early_stopping {
    EARLY_HEURISTIC, /* all beams finished, and the best running one scores less at its current length */
    EARLY_FULL,      /* as soon as all beams are finished */
    EARLY_NEVER,     /* like the first, but with the maximum length for a running one when longer is better */
};

enum { BEAMS_MOST = 64, STOP_TEXTS = 16 };
struct generate_options {
    int beams;             /* 1: greedy */
    int max_new, min_new;  /* new tokens, end token included; ≥ 1, ≥ 0 */
    double length_penalty;
    enum early_stopping early;
    int no_repeat;         /* size of n-grams that must not repeat; 0: no limit */
    double repetition;     /* penalty for tokens of the prompt and the text (sample_penalize); 1: none */
    struct token_sampling sampling; /* with one beam */
    int words;             /* ids that may be drawn; the others are rows of the vocabulary without a token */
    int32_t start;         /* decoder start token; unused by decoder-only models */
    int32_t end[END_TOKENS];
    int ends;              /* 0: texts end only at max_new */
    int32_t forced_first;  /* the first new token, or -1 */
    int32_t forced_last;   /* the token at max_new, or -1 */
    const char *stop[STOP_TEXTS]; /* the text ends before any of these, with one beam */
    int stops;
};

struct search {
    const struct generate_options *o;
    int vocabulary;
    const int32_t *prompt; /* tokens before the first new one: the start token, or the whole prompt */
    int prompted;    /* their number, at least 1 */
    uint64_t row;    /* index of the source, a part of the key of its random numbers */
    int most;        /* new tokens: o->max_new; may be lowered before the first step */
    int rows;        /* live rows: 1 at first, then up to o->beams; 0 when finished */
    int length;      /* new tokens so far */
    int32_t *ids;    /* beams × most: those of the live rows */
    real *score;     /* beams */
    bool stopped;    /* ended by search_end from outside */
    int finished;    /* finished texts, best first */
    int32_t *found;  /* beams × most */
    int *found_length;
    real *found_score;
    /* scratch */
    int32_t *next_ids, *banned;
    real *penalized; /* vocabulary */
    struct sampled sampled;
    struct continuation *candidate;
};

/* Starts a search of the tokens after those of `prompt`, of source `row`.  `o` and `prompt` must outlive it. */
void search_init(struct search *s, const struct generate_options *o, int vocabulary, const int32_t *prompt,
                 int prompted, uint64_t row);
void search_release(struct search *s);
/* Returns the input token of live row i: the last one, at first that of the prompt. */
int32_t search_token(const struct search *s, int i);
/* Chooses the next tokens from logits: rows × vocabulary, of the live rows in order.  s->rows are live
 * afterwards, and row i continues the row that was parent[i] (room for beams).  Returns false for NaN or
 * infinite logits, which end the search. */
bool search_step(struct search *s, const real *logits, int *parent);
/* Ends a search with one beam after the current token. */
void search_end(struct search *s);
/* Returns the best text of a finished search (rows 0): its new ids, with the end
 * token if it ended with one; *score: its score (0 with one beam). */
const int32_t *search_best(const struct search *s, int *n, double *score);

#endif
