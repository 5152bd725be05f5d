/* Character classes as the reference tokenizers see them.
 *
 * utf8proc gives Unicode 15; the reference takes categories and decompositions from older
 * tables and lower case from newer ones, so the code points in which they differ are listed
 * here and the ids stay equal for every text.  Pure functions. */
#ifndef CORE_TEXT_UNICODE_H
#define CORE_TEXT_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { UNICODE_PARTS = 32 }; /* most code points that one decomposes to */

bool unicode_is_space(uint32_t cp);       /* White_Space */
bool unicode_is_python_space(
    uint32_t cp); /* what Python's str.isspace() accepts: White_Space and U+001C to U+001F */
bool unicode_is_control(uint32_t cp);     /* Cc, Cf, Co without tab and line ends */
bool unicode_is_punctuation(uint32_t cp); /* ASCII signs and P* */
bool unicode_is_mark(uint32_t cp);        /* Mn */
bool unicode_is_ideograph(uint32_t cp);   /* what BERT sets blanks around */
bool unicode_is_word(uint32_t cp);        /* letter, mark, digit, connector: \w */
bool unicode_is_any_mark(uint32_t cp);    /* M*: what StripAccents takes away */
bool unicode_is_letter(uint32_t cp);      /* \p{L} of the reference's regular expressions */
bool unicode_is_number(uint32_t cp);      /* \p{N} */
int unicode_combining(uint32_t cp);       /* canonical combining class */
/* Returns how many of the n bytes at s Python's str.rstrip() leaves. */
size_t unicode_rstrip(const char *s, size_t n);
/* Removes from the *n bytes at *s what Python's str.strip() removes. */
void unicode_strip(const char **s, size_t *n);
/* Full canonical decomposition of one code point; returns how many (at least 1). */
size_t unicode_decompose(uint32_t cp, uint32_t out[UNICODE_PARTS]);
/* The same with compatibility mappings. */
size_t unicode_decompose_compatible(uint32_t cp, uint32_t out[UNICODE_PARTS]);
/* The code point that a and b compose to, or 0. */
uint32_t unicode_compose(uint32_t a, uint32_t b);
/* Full lower case of one code point, without context; 1 or 2 code points. */
size_t unicode_lower(uint32_t cp, uint32_t out[2]);

/* A code point of a decomposed text. */
struct unicode_point {
    uint32_t cp;
    int combining; /* its class */
    size_t order;  /* its place in the text: points of one class keep it */
};
/* Canonical ordering (Unicode 3.11, D109) of n points without a starter among them. */
void unicode_order(struct unicode_point *point, size_t n);

/* Grapheme clusters (UAX 29) from left to right; all zero at a cluster's first character. */
struct unicode_cluster {
    int32_t state;
    bool begun, consonant, virama;
};
/* Whether the cluster ends between its last character so far and cp. */
bool unicode_breaks(struct unicode_cluster *c, uint32_t last, uint32_t cp);

#endif
