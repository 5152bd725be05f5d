/* The order of examples and their division into parts: pure functions of seed, epoch and lengths, so that a
 * resumed run continues exactly. */
#ifndef CORE_TRAIN_RUN_ORDER_H
#define CORE_TRAIN_RUN_ORDER_H

#include <stddef.h>
#include <stdint.h>

/* Writes the order of an epoch (from 0), a new permutation each, to order[0…rows-1]. */
void order_epoch(uint64_t seed, int64_t epoch, uint32_t *order, size_t rows);

/* The examples of a step in parts; part p has row[start[p]] … row[start[p+1]-1]. The arrays belong to the
 * caller: row of n, start of micro·shards+1, scratch of n. */
struct row_parts {
    int parts;
    int *start;
    uint32_t *row;
    uint64_t *scratch;
};
/* Divides n examples with tokens[0…n-1] into `micro` micro-batches of nearly equal count, and each of these
 * into `shards` parts with nearly equal tokens: longest example first, always to the part with the fewest
 * tokens. No part is empty: fewer examples than parts give fewer parts. */
void order_cut(struct row_parts *c, const uint32_t *rows, const uint32_t *tokens, int n, int micro,
               int shards);
/* Returns the task of an example by its number over all tasks: task t has the numbers first[t] …
 * first[t+1]-1. */
int order_task(int tasks, const uint32_t *first, uint32_t row);
/* Sorts the examples of each part by task; stable. */
void order_by_task(struct row_parts *c, int tasks, const uint32_t *first);

/* Writes all examples of a split to order[0…rows-1], longest first (ties by number). start_of: token offsets
 * (dataset.h); target_of: those of the targets, which are added, or NULL. */
void order_by_length(uint32_t *order, size_t rows, const size_t *start_of, const size_t *target_of);

#endif
