/* Character classes as in the reference tokenizers.
 *
 * utf8proc implements Unicode 15; the reference takes categories and decompositions from older tables and
 * lower case from newer ones, so the code points that differ are listed here and the ids are equal for every
 * text.  Pure functions. */
#ifndef CORE_TEXT_UNICODE_H
#define CORE_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_PARTS = 32 }; /* maximum code points of a decomposition */

bool unicode_is_space(uint32_t cp);       /* White_Space */
bool unicode_is_python_space(
    uint32_t cp); /* what Python's str.isspace() accepts: White_Space and U+001C to U+001F */
bool unicode_is_control(uint32_t cp);     /* Cc, Cf, Co without tab and line ends */
bool unicode_is_punctuation(uint32_t cp); /* ASCII signs and P* */
bool unicode_is_mark(uint32_t cp);        /* Mn */
bool unicode_is_ideograph(uint32_t cp);   /* characters that BERT surrounds with blanks */
bool unicode_is_word(uint32_t cp);        /* letter, mark, digit, connector: \w */
bool unicode_is_any_mark(uint32_t cp);    /* M*: marks removed by StripAccents */
bool unicode_is_letter(uint32_t cp);      /* \p{L} of the reference's regular expressions */
bool unicode_is_number(uint32_t cp);      /* \p{N} */
bool unicode_is_numeric(uint32_t cp);     /* \p{N} of the reference's newer tables: Digits */
int unicode_combining(uint32_t cp);       /* canonical combining class */
/* Returns the number of bytes of s[0 … n) after Python's str.rstrip(). */
size_t unicode_rstrip(const char *s, size_t n);
/* Removes from the *n bytes at *s what Python's str.strip() removes. */
void unicode_strip(const char **s, size_t *n);
/* Full canonical decomposition of one code point; returns the number of code points (at least 1). */
size_t unicode_decompose(uint32_t cp, uint32_t out[UNICODE_PARTS]);
/* The same with compatibility mappings. */
size_t unicode_decompose_compatible(uint32_t cp, uint32_t out[UNICODE_PARTS]);
/* Returns the canonical composition of a and b, or 0. */
uint32_t unicode_compose(uint32_t a, uint32_t b);
/* Full lower case of one code point, without context: 1 or 2 code points. */
size_t unicode_lower(uint32_t cp, uint32_t out[2]);

/* A code point of a decomposed text. */
struct unicode_point {
    uint32_t cp;
    int combining; /* its class */
    size_t order;  /* its position in the text, preserved among points of one class */
};
/* Canonical ordering (Unicode 3.11, D109) of n points without a starter among them. */
void unicode_order(struct unicode_point *point, size_t n);

/* Grapheme clusters (UAX 29) from left to right; zero at the first character of a cluster. */
struct unicode_cluster {
    int32_t state;
    bool started, consonant, virama;
};
/* Returns whether the cluster ends between its last character so far and cp. */
bool unicode_breaks(struct unicode_cluster *c, uint32_t last, uint32_t cp);

#endif
