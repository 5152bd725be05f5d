/* Which rows a step takes, and how they fall into parts: pure functions of seed, epoch
 * and row lengths, so that a resumed run goes on where it stopped. */
#ifndef CORE_TRAIN_RUN_ORDER_H
#define CORE_TRAIN_RUN_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* order[0…rows-1] becomes the order of an epoch (from 0): a fresh permutation each. */
void order_epoch(uint64_t seed, int64_t epoch, uint32_t *order, size_t rows);

/* A step's rows in parts; part p has row[start[p]] … row[start[p+1]-1].  The arrays are the
 * caller's: row of n, start of micro·shards+1, scratch of n. */
struct row_parts {
    int parts;
    int *start;
    uint32_t *row;
    uint64_t *scratch;
};
/* Cuts n rows, of tokens[0…n-1], into `micro` runs of nearly equal count, and each of them into
 * `shards` parts of nearly equal tokens: the longest row first, always to the lightest part.  No
 * part is empty: fewer rows than parts make fewer parts. */
void order_cut(struct row_parts *c, const uint32_t *rows, const uint32_t *tokens, int n, int micro,
               int shards);
/* The task of a row by its number among those of all: task t has the numbers first[t] … first[t+1]-1. */
int order_task(int tasks, const uint32_t *first, uint32_t row);
/* Within each part, rows of one task next to each other, in the order of tasks, else as they were. */
void order_by_task(struct row_parts *c, int tasks, const uint32_t *first);

/* order[0…rows-1] becomes all rows of a split, longest first (ties by number).  start_of: its token
 * offsets (dataset.h); target_of: those of its targets, which count as well, or NULL. */
void order_by_length(uint32_t *order, size_t rows, const size_t *start_of, const size_t *target_of);

#endif
