/* The memory of a step: one block with two ends.
 *
 * The low end holds what must live until backward has finished; it grows and is cut back to a mark.  The high
 * end is a stack of scratch memory.  The block is reserved once and grows between steps (never within one:
 * blocks are chained until the next reset, which reserves their sum), so a steady step calls no malloc.
 * Everything is 64-byte aligned.  One thread at a time uses an arena. */
#ifndef CORE_ENGINE_ARENA_H
#define CORE_ENGINE_ARENA_H

#include <stddef.h>

struct arena;

struct arena *arena_new(void);
void arena_free(struct arena *a);
/* Returns the second arena of `a`, created on first use: it is reset, dropped and freed with `a`, which counts
 * its use in the peak; arena_reset releases it alone. */
struct arena *arena_second(struct arena *a);
/* Releases everything; keeps (and consolidates) the memory. */
void arena_reset(struct arena *a);
/* Releases everything and returns the memory to the system. */
void arena_drop(struct arena *a);

/* Allocates `bytes` from the low end, not cleared.  Ends the innermost mem_guard() when the system is out of
 * memory. */
void *arena_keep(struct arena *a, size_t bytes);
/* Allocates `bytes` from the high end, not cleared. */
void *arena_scratch(struct arena *a, size_t bytes);

struct arena_mark {
    size_t keep_block, low, scratch_block, high;
};
struct arena_mark arena_mark(const struct arena *a);
/* Releases what was allocated from the low end since the mark. */
void arena_keep_release(struct arena *a, struct arena_mark m);
/* Releases the scratch memory allocated since the mark. */
void arena_scratch_release(struct arena *a, struct arena_mark m);

/* Return the peak number of bytes in use since arena_new or arena_peak_restart, and the number of system
 * allocations. */
size_t arena_peak(const struct arena *a);
void arena_peak_restart(struct arena *a);
size_t arena_grown(const struct arena *a);

#endif
