/* Keys and values of a decoder that makes texts token by token.
 *
 * A cache serves some sources at once, each with one live row (greedy, or a beam search's
 * first step) or up to `beams` of them.  All live rows have the same length.  Keys and
 * values of the self-attention are stored as they are made; those of the cross-attention
 * are made at the first step, once a source, and all its rows read them.  What is stored
 * is what the taps a.k and a.v held after the method's hooks, so that a method works as
 * on whole texts.
 *
 * One owner, one thread at a time, one tape that is not training.  Memory is kept for the
 * next texts and grows with the length that is reached, not with the one that is allowed. */
#ifndef CORE_MODEL_CACHE_H
#define CORE_MODEL_CACHE_H

#include "core/base/err.h"
#include "core/engine/ops.h"
#include "core/model/arch.h"

struct decode_cache;
enum { CACHE_BEAMS = 64 }; /* at most */

/* For a model with a decoder; nothing of `a` is kept.  Caller frees. */
struct decode_cache *cache_new(const struct arch *a);
void cache_free(struct decode_cache *c);

/* Starts anew with one live row a source, nothing stored.  sources ≥ 1, beams 1 … CACHE_BEAMS. */
void cache_begin(struct decode_cache *c, int sources, int beams);
/* Makes room for one more token a row, before each step.  Ends the innermost mem_guard() when there is no
 * memory. */
void cache_room(struct decode_cache *c);
/* After each step.  The live sources in order have rows[i] live rows from now on (0: the
 * source is done with), and row j of a source goes on from the row that was its parent[j];
 * `parent` has the new rows of all live sources one after the other. */
void cache_step(struct decode_cache *c, const int *rows, const int *parent);

/* Tokens stored a row: the position of the next one. */
int cache_length(const struct decode_cache *c);
/* Live rows of all sources: the query tokens of a step. */
int cache_rows(const struct decode_cache *c);
/* How many sources have live rows; of live source i its number among those of the beginning, and its rows,
 * which follow one another. */
int cache_sources(const struct decode_cache *c);
int cache_source(const struct decode_cache *c, int i);
int cache_source_rows(const struct decode_cache *c, int i);

/* ---- what the transformer does with it ---- */

/* Self-attention of a decoder layer: stores the new token's k and v (live rows × H·d_h)
 * and puts all keys and values in their places, in *how too. */
void cache_self(struct decode_cache *c, struct tape *t, int layer, node *k, node *v,
                struct attention *how);
/* Cross-attention: whether keys and values of the layer are there already … */
bool cache_has_cross(const struct decode_cache *c, int layer);
/* … and stores them the first time (*k and *v over `sources`, the packed source tokens), or
 * gives them again (*k is NODE_NONE). */
void cache_cross(struct decode_cache *c, struct tape *t, int layer, const struct tape_rows *sources,
                 node *k, node *v, struct attention *how);

#endif
