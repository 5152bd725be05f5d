/* The pattern of a normalizer or decoder: a text, or a run of one character.
 *
 * Supports the regular expressions used by tokenizer.json files of the known families: one without operators,
 * and a character (or \s) with + or {n,}. */
#ifndef CORE_TEXT_PATTERN_H
#define CORE_TEXT_PATTERN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct pattern {
    char *text;     /* owned; "" for blanks */
    size_t size;
    size_t least;   /* 0: the text itself; otherwise a run of at least this length */
    bool blanks;    /* runs of White_Space, not of `text` */
};
/* Reads {"String": …} or {"Regex": …}; `what` names the component in messages. */
int pattern_read(struct pattern *p, const char *path, const char *what, const json_t *value,
                 struct err *e);
/* Returns how many times longer a text can become when every match is replaced by `size` bytes. */
size_t pattern_growth(const struct pattern *p, size_t size);
void pattern_release(struct pattern *p);
/* Finds the next match in s at or after `at`: true with its span. */
bool pattern_next(const struct pattern *p, const char *s, size_t n, size_t at, size_t *from,
                  size_t *to);
/* Appends s to out with every match replaced by the `size` bytes at `with`. */
void pattern_replace(const struct pattern *p, const char *s, size_t n, const char *with,
                     size_t size, struct buf *out);

#endif
