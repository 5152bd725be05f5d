/* Greedy and beam search of one source's text, token by token.
 *
 * It knows no model: it is handed the logits of its live rows and says which rows live
 * on.  The rules are those of the transformers library's generate() (without sampling),
 * so that the same logits give the same text: scores are sums of log-softmax in `real`,
 * 2·beams candidates (more with several end tokens) are ranked, the better half may end,
 * a finished text's score is divided by its length (end token included) to the power of
 * the length penalty.  Of equal scores the lower beam, then the lower id goes first.
 *
 * Plain data of one owner; one thread at a time. */
#ifndef CORE_MODEL_GENERATE_SEARCH_H
#define CORE_MODEL_GENERATE_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine/real.h"

/* When beam search ends before the longest length. */
enum early_stopping {
    EARLY_HEURISTIC, /* all beams finished, and the best running one, as long as it is, scores less */
    EARLY_FULL,      /* or as soon as all beams are finished */
    EARLY_NEVER,     /* the first, with the longest length for a running one when longer is better */
};

enum { END_TOKENS = 4, BEAMS_MOST = 64 };
struct generate_options {
    int beams;             /* 1: greedy */
    int max_new, min_new;  /* tokens after the start token, the end token included; ≥ 1, ≥ 0 */
    double length_penalty;
    enum early_stopping early;
    int no_repeat;         /* no run of this many tokens occurs twice; 0: any may */
    int32_t start;         /* the first token that the decoder is given */
    int32_t end[END_TOKENS];
    int ends;              /* 0: only max_new ends a text */
    int32_t forced_first;  /* the first new token, or -1 */
    int32_t forced_last;   /* the token at max_new, or -1 */
};

struct search {
    const struct generate_options *o;
    int vocabulary;
    int rows;        /* live rows: 1 at first, then up to o->beams; 0 once it is over */
    int length;      /* new tokens so far */
    int32_t *ids;    /* beams × max_new: those of the live rows */
    real *score;     /* beams */
    int finished;    /* texts found, best first */
    int32_t *found;  /* beams × max_new */
    int *found_length;
    real *found_score;
    /* scratch */
    int32_t *next_ids, *banned;
    struct continuation *candidate;
};

/* `o` must outlive the search. */
void search_init(struct search *s, const struct generate_options *o, int vocabulary);
void search_release(struct search *s);
/* The token to feed for live row i: the last one, the start token at first. */
int32_t search_token(const struct search *s, int i);
/* logits: rows × vocabulary, of the live rows in order.  Chooses the next tokens; s->rows
 * are live after it, and row i of them goes on from the row that was parent[i] (room for
 * beams).  False when a row's logits are not finite: the search is then over. */
bool search_step(struct search *s, const real *logits, int *parent);
/* The best text once it is over (rows 0): its ids without the start token, with the end
 * token when it ended by one; *score: its score (0 with one beam). */
const int32_t *search_best(const struct search *s, int *n, double *score);

#endif
