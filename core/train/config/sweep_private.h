/* Shared by sweep.c, sweep_text.c, sweep_cells.c and sweep_extend.c. */
#ifndef CORE_TRAIN_CONFIG_SWEEP_PRIVATE_H
#define CORE_TRAIN_CONFIG_SWEEP_PRIVATE_H

#include "core/train/config/sweep.h"

extern const char *const SWEEP_DRAW[];

/* Returns the axis of that name, or -1. */
int sweep__find_axis(const struct sweep_spec *s, const char *key, size_t n);
/* Returns the key, or the key with the first number that makes it unique: "r", "r2". Takes ownership of
 * `key`; caller frees. */
char *sweep__own_key(const struct sweep_spec *s, char *key);
void sweep__add_value(struct sweep_axis *a, const char *value, size_t n);
/* Fills in n evenly spaced values from a->from to a->to; on a logarithmic scale between integers rounded to
 * integers, without duplicates. */
int sweep__fill_range(struct sweep_axis *a, int n, struct err *e);
/* Writes the text with each {AXIS} replaced by the output of `of`. */
typedef void sweep_filler(const struct sweep_spec *s, int axis, void *self, struct buf *out);
void sweep__put_in(const struct sweep_spec *s, const char *text, sweep_filler *of, void *self,
                   struct buf *out);

#endif
