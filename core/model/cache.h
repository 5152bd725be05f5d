/* Cached keys and values of a decoder, or of the stack of a decoder-only model, for autoregressive generation.
 *
 * A cache serves several sources concurrently, each with one live row (greedy, or the first step of a beam
 * search) or up to `beams` rows of the same length.  Keys and values of the self-attention are appended in
 * each step, for one token per row or more (a prompt); those of the cross-attention are computed in the first
 * step, once per source, and shared by its rows.  The cache stores the values of the taps a.k and a.v after
 * the hooks of the method, keys after their norm and rotation, so that a method behaves as on complete texts.
 *
 * One owner, one thread at a time, one tape that is not training.  Memory is reused for later texts and grows
 * with the actual length, not the maximum length. */
#ifndef CORE_MODEL_CACHE_H
#define CORE_MODEL_CACHE_H

#include "core/base/err.h"
#include "core/engine/ops.h"
#include "core/model/arch.h"

struct decode_cache;
enum { CACHE_BEAMS = 64 }; /* maximum */

/* Creates a cache for a model that generates text; does not reference `a` afterwards.  Caller frees. */
struct decode_cache *cache_new(const struct arch *a);
void cache_free(struct decode_cache *c);

/* Restarts with one live row per source and no stored tokens.  sources ≥ 1, beams 1 … CACHE_BEAMS. */
void cache_begin(struct decode_cache *c, int sources, int beams);
/* Continues after the first `length` tokens that a cache of one source and one beam has stored, as its only live
 * row. */
void cache_keep(struct decode_cache *c, int length);
/* Updates the rows after each step.  Live source i, in order, has rows[i] live rows from now on (0: the
 * source is finished), and row j of a source continues the row that was its parent[j]; `parent` lists the new
 * rows of all live sources consecutively. */
void cache_step(struct decode_cache *c, const int *rows, const int *parent);

/* Returns the live rows of all sources. */
int cache_rows(const struct decode_cache *c);
/* Return the number of sources with live rows; and for live source i its initial index, its rows, which are
 * consecutive, and the stored tokens of each: the position of the next one. */
int cache_sources(const struct decode_cache *c);
int cache_source(const struct decode_cache *c, int i);
int cache_source_rows(const struct decode_cache *c, int i);
int cache_length(const struct decode_cache *c, int i);

/* ---- interface for the transformer ---- */

/* Starts a step: reserves memory for the new tokens of each live row.  Ends the innermost mem_guard() when out
 * of memory. */
void cache_open(struct decode_cache *c, const struct tape_rows *tokens);
/* Self-attention of a layer: stores k and v of the new tokens and replaces them by all keys and values, also
 * in *how. */
void cache_self(struct decode_cache *c, struct tape *t, int layer, node *k, node *v,
                struct attention *how);
/* Cross-attention: returns whether keys and values of the layer are stored … */
bool cache_has_cross(const struct decode_cache *c, int layer);
/* … and stores them the first time (*k and *v over `sources`, the packed source tokens), or returns them (*k
 * is NODE_NONE). */
void cache_cross(struct decode_cache *c, struct tape *t, int layer, const struct tape_rows *sources,
                 node *k, node *v, struct attention *how);

#endif
