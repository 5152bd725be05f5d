#include "core/model/generate_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/engine/kernel.h"

struct continuation {
    real score;
    int row;
    int32_t id;
    bool ends;
};

void search_init(struct search *s, const struct generate_options *o, int vocabulary, const int32_t *prompt,
                 int prompted, uint64_t row) {
    size_t beams = (size_t)o->beams, most = (size_t)o->max_new;
    BUG_IF(o->beams < 1 || o->beams > BEAMS_MOST || o->max_new < 1 || o->ends > END_TOKENS || prompted < 1);
    *s = (struct search){ .o = o, .vocabulary = vocabulary, .prompt = prompt, .prompted = prompted,
                          .row = row, .most = o->max_new, .rows = 1 };
    s->ids = xcalloc(beams * most, sizeof *s->ids);
    s->next_ids = xcalloc(beams * most, sizeof *s->next_ids);
    s->score = xcalloc(beams, sizeof *s->score);
    s->found = xcalloc(beams * most, sizeof *s->found);
    s->found_length = xcalloc(beams, sizeof *s->found_length);
    s->found_score = xcalloc(beams, sizeof *s->found_score);
    s->banned = xcalloc((size_t)prompted + most + END_TOKENS, sizeof *s->banned);
    s->candidate = xcalloc((END_TOKENS + 1) * beams, sizeof *s->candidate);
    if (o->repetition != 1) s->penalized = xcalloc((size_t)vocabulary, sizeof *s->penalized);
}

void search_release(struct search *s) {
    free(s->ids);
    free(s->next_ids);
    free(s->score);
    free(s->found);
    free(s->found_length);
    free(s->found_score);
    free(s->banned);
    free(s->candidate);
    free(s->penalized);
    sampled_release(&s->sampled);
    *s = (struct search){ 0 };
}

static int32_t *ids_of(const struct search *s, int row) {
    return s->ids + (size_t)row * (size_t)s->most;
}

int32_t search_token(const struct search *s, int i) {
    return s->length ? ids_of(s, i)[s->length - 1] : s->prompt[s->prompted - 1];
}

static bool is_end(const struct generate_options *o, int32_t id) {
    for (int i = 0; i < o->ends; i++)
        if (o->end[i] == id) return true;
    return false;
}

/* ---- constraints on the next token ---- */

/* Returns the forced next token, or -1. */
static int32_t forced(const struct search *s) {
    const struct generate_options *o = s->o;
    if (o->forced_last >= 0 && s->length == s->most - 1) return o->forced_last;
    return s->length == 0 ? o->forced_first : -1;
}

/* Returns token i of a row, of prompt and new tokens. */
static int32_t whole(const struct search *s, int row, int i) {
    return i < s->prompted ? s->prompt[i] : ids_of(s, row)[i - s->prompted];
}

/* Fills s->banned for a row and returns the number: end tokens while the text is too short, and tokens that
 * would repeat an n-gram. */
static int ban(const struct search *s, int row) {
    const struct generate_options *o = s->o;
    int n = 0, have = s->prompted + s->length, run = o->no_repeat;
    for (int i = 0; s->length < o->min_new && i < o->ends; i++) s->banned[n++] = o->end[i];
    for (int from = 0; run > 0 && from + run <= have; from++) {
        int same = 0;
        while (same < run - 1 &&
               whole(s, row, from + same) == whole(s, row, have - run + 1 + same))
            same++;
        if (same == run - 1) s->banned[n++] = whole(s, row, from + run - 1);
    }
    return n;
}

static bool is_banned(const struct search *s, int n, int32_t id) {
    for (int i = 0; i < n; i++)
        if (s->banned[i] == id) return true;
    return false;
}

/* Returns the logits of a row minus `shift`, after the repetition penalty. */
static const real *penalized(const struct search *s, int row, const real *logits, real shift) {
    double penalty = s->o->repetition;
    if (penalty == 1 && shift == 0) return logits;
    for (int i = 0; i < s->vocabulary; i++) s->penalized[i] = logits[i] - shift;
    sample_penalize(penalty, logits, shift, s->prompt, s->prompted, s->penalized);
    sample_penalize(penalty, logits, shift, ids_of(s, row), s->length, s->penalized);
    return s->penalized;
}

/* ---- one row ---- */

/* Returns the greatest logit that is not banned, the first of equal ones; -1 for NaN or infinite logits. */
static int32_t greatest(struct search *s, const real *logits, int banned) {
    size_t n = (size_t)s->vocabulary, at = 0;
    real top = kernel_largest(n, logits);
    if (!isfinite(top)) return -1;
    while (logits[at] != top) at++;
    if (!is_banned(s, banned, (int32_t)at)) return (int32_t)at;
    bool any = false;
    for (size_t i = 0; i < n; i++) {
        if (is_banned(s, banned, (int32_t)i) || (any && !(logits[i] > top))) continue;
        any = true;
        top = logits[i];
        at = i;
    }
    return any && isfinite(top) ? (int32_t)at : -1;
}

/* Draws a token; -1 for NaN or infinite logits. */
static int32_t drawn(struct search *s, const real *logits, int banned) {
    int n = s->o->words && s->o->words < s->vocabulary ? s->o->words : s->vocabulary;
    sample_tokens(&s->o->sampling, logits, n, s->banned, banned, &s->sampled);
    struct rng_key key = rng_key(s->o->sampling.seed, RNG_TOKEN, s->row, 0);
    return sample_at(&s->sampled, rng_uniform(key, (uint64_t)s->length));
}

void search_end(struct search *s) {
    s->rows = 0;
    s->finished = 1;
    s->found_length[0] = s->length;
    memcpy(s->found, s->ids, (size_t)s->length * sizeof *s->found);
}

static bool one_row(struct search *s, const real *logits, int *parent) {
    int32_t id = forced(s);
    if (id < 0) id = (s->o->sampling.on ? drawn : greatest)(s, penalized(s, 0, logits, 0), ban(s, 0));
    if (id < 0) return false;
    ids_of(s, 0)[s->length++] = id;
    parent[0] = 0;
    if (is_end(s->o, id) || s->length == s->most) search_end(s);
    return true;
}

/* ---- beams ---- */

/* Inserts a candidate into the ranked list of at most `room`, after equal ones. */
static int insert_ranked(struct continuation *list, int n, int room, struct continuation c) {
    int at = n < room ? n++ : room - 1;
    while (at > 0 && c.score > list[at - 1].score) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = c;
    return n;
}

/* Ranks the continuations of a row among those of earlier rows; -1 for NaN or infinite logits. */
static int rank_row(const struct search *s, int row, const real *logits, int n, int room) {
    real before = s->score[row];
    int32_t only = forced(s);
    if (only >= 0) {
        struct continuation c = { before, row, only, false };
        return n < room || before > s->candidate[room - 1].score
                   ? insert_ranked(s->candidate, n, room, c)
                   : n;
    }
    real top = kernel_largest((size_t)s->vocabulary, logits);
    real sum = isfinite(top) ? kernel_log_sum((size_t)s->vocabulary, top, logits) : top;
    if (!isfinite(sum)) return -1;
    if (s->o->repetition != 1) {
        logits = penalized(s, row, logits, top + sum);
        top = sum = 0;
    }
    int banned = ban(s, row);
    for (int32_t id = 0; id < s->vocabulary; id++) {
        real score = (logits[id] - top - sum) + before;
        if (n == room && !(score > s->candidate[room - 1].score)) continue;
        if (is_banned(s, banned, id)) continue;
        n = insert_ranked(s->candidate, n, room, (struct continuation){ score, row, id, false });
    }
    return n;
}

/* Moves a candidate that ends to the finished texts, if it is among the best. */
static void generate_search_finish(struct search *s, const struct continuation *c) {
    const struct generate_options *o = s->o;
    size_t most = (size_t)s->most;
    real score = c->score / (real)pow(s->length + 1, o->length_penalty);
    int at = s->finished;
    if (at == o->beams && !(score > s->found_score[--at])) return;
    if (s->finished < o->beams) s->finished++;
    for (; at > 0 && score > s->found_score[at - 1]; at--) {
        s->found_score[at] = s->found_score[at - 1];
        s->found_length[at] = s->found_length[at - 1];
        memcpy(s->found + (size_t)at * most, s->found + (size_t)(at - 1) * most,
               most * sizeof *s->found);
    }
    int32_t *to = s->found + (size_t)at * most;
    memcpy(to, ids_of(s, c->row), (size_t)s->length * sizeof *to);
    to[s->length] = c->id;
    s->found_score[at] = score;
    s->found_length[at] = s->length + 1;
}

/* Makes the best candidates that do not end the live rows. */
static void generate_search_go_on(struct search *s, int n, int *parent) {
    int32_t *spare = s->ids;
    size_t most = (size_t)s->most;
    s->rows = 0;
    for (int i = 0; i < n && s->rows < s->o->beams; i++) {
        const struct continuation *c = &s->candidate[i];
        if (c->ends) continue;
        int32_t *to = s->next_ids + (size_t)s->rows * most;
        memcpy(to, ids_of(s, c->row), (size_t)s->length * sizeof *to);
        to[s->length] = c->id;
        s->score[s->rows] = c->score;
        parent[s->rows++] = c->row;
    }
    s->ids = s->next_ids;
    s->next_ids = spare;
    s->length++;
}

/* Returns whether a running text could still beat a finished one under the stopping rule. */
static bool may_improve(const struct search *s) {
    const struct generate_options *o = s->o;
    if (s->finished < o->beams) return true;
    if (o->early == EARLY_FULL) return false;
    bool longest = o->early == EARLY_NEVER && o->length_penalty > 0;
    double length = longest ? s->most : s->length;
    return s->score[0] / (real)pow(length, o->length_penalty) > s->found_score[o->beams - 1];
}

static bool beams(struct search *s, const real *logits, int *parent) {
    const struct generate_options *o = s->o;
    int n = 0, room = (o->ends > 1 ? 1 + o->ends : 2) * o->beams;
    for (int i = 0; i < s->rows; i++) {
        n = rank_row(s, i, logits + (size_t)i * (size_t)s->vocabulary, n, room);
        if (n < 0) return false;
    }
    for (int i = 0; i < n; i++) {
        struct continuation *c = &s->candidate[i];
        c->ends = s->length + 1 == s->most || is_end(o, c->id);
        if (c->ends && i < o->beams) generate_search_finish(s, c);
    }
    generate_search_go_on(s, n, parent);
    if (s->rows && !may_improve(s)) s->rows = 0;
    return true;
}

bool search_step(struct search *s, const real *logits, int *parent) {
    BUG_IF(!s->rows);
    if ((s->o->beams == 1 ? one_row : beams)(s, logits, parent)) return true;
    s->rows = 0;
    return false;
}

const int32_t *search_best(const struct search *s, int *n, double *score) {
    *n = s->finished ? s->found_length[0] : 0;
    *score = s->finished ? (double)s->found_score[0] : 0;
    return s->found;
}
