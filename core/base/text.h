/* Text from files and for the terminal: UTF-8, widths, numbers, near names.
 *
 * petri sets only LC_CTYPE, never LC_NUMERIC, so printf and strtod use a point
 * everywhere; text_to_double() refuses what strtod would take in part. */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Decodes one code point of the n bytes at s into *cp and returns how many bytes
 * it took; an invalid byte gives *cp = 0xFFFD and takes 1.  n must be > 0. */
size_t utf8_decode(const char *s, size_t n, uint32_t *cp);
/* Writes cp as 1 to 4 bytes; returns how many. */
size_t utf8_encode(uint32_t cp, char out[4]);
/* Appends cp to b. */
void utf8_add(struct buf *b, uint32_t cp);
bool utf8_valid(const char *s, size_t n);
/* Whether s is one character, not more and not less. */
bool utf8_is_one(const char *s);

/* Columns that a code point takes on a terminal: 0, 1 or 2. */
int text_cp_width(uint32_t cp);
/* Columns of a whole string as text_visible() would show it. */
int text_width(const char *s);
/* Bytes of s that fit in `columns` columns, never cutting a character. */
size_t text_fit(const char *s, int columns);

/* s with control characters (C0, DEL, C1, bidi overrides, invalid bytes) replaced
 * by visible stand-ins one column wide each (as ␛ or ·); caller frees. */
char *text_visible(const char *s, size_t n);

/* A copy of n bytes as a C string: a NUL among them becomes U+2400, the rest stays; caller frees. */
char *text_string(const char *s, size_t n);

/* Adds one line to a report: printf style, made visible, ended by '\n'.  b may be NULL. */
void text_line(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Writes more (printf style) into the array `out` of `size` bytes, behind the `used` that it has; what there
 * is no room for is left out, up to a whole character.  Returns how many it has now, less than `size`. */
size_t text_more(char *out, size_t size, size_t used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Adds a word as a shell reads it, quoted where it needs to be. */
void text_shell_word(struct buf *b, const char *word);
/* Appends " --NAME VALUE" as a shell takes it, nothing where the value is NULL or empty. */
void text_shell_option(struct buf *b, const char *name, const char *value);
/* The next word of a line as a shell reads it, with *at behind it; NULL at its end.  A quote that nothing
 * closes goes to the end; a backslash outside of quotes keeps what follows it.  Caller frees. */
char *text_word(const char **at);
/* A field of a CSV line, made visible, quoted where it must be. */
void text_csv(struct buf *b, const char *s);
/* A cell of a Markdown table, made visible, its bars escaped. */
void text_markdown(struct buf *b, const char *s);
/* The same with what a cell has around it behind its left bar: " text |". */
void text_markdown_cell(struct buf *b, const char *s);

/* Whole-string numbers, without locale, without surrounding blanks.  false when s
 * is not a finite number (or not an integer) or out of range. */
bool text_to_double(const char *s, double *out);
bool text_to_int(const char *s, int64_t *out);

/* s without whitespace at its ends, which is cut off in place. */
char *text_trim(char *s);
/* Returns the next item of a list with commas, without whitespace around it, and sets *rest behind it; NULL
 * at the end. Writes into the list. */
char *text_item(char **rest);
/* Reads integers of a list, which may be in braces: "1,2,3", "{1, 2}", "1..3" (each from 1 to 3), "1..3,8".
 * Returns how many; -1: something else is in the list, or it has more than `room`. */
int text_to_ints(const char *text, int64_t *out, int room);

/* The shortest decimal form that reads back as the same double ("0.1", "1e-05");
 * NaN and infinities give "nan", "inf", "-inf".  Writes at most 32 bytes. */
void text_from_double(double v, char out[32]);
/* The same for a value that was a float. */
void text_from_float(float v, char out[32]);
/* 1234567 → "1,234,567". */
void text_thousands(int64_t v, char out[32]);
/* A time in ms since 1970 → "2026-11-28T00:50:19.123Z"; "" for 0. */
void text_time(int64_t ms, char out[32]);

/* The nearest of `count` names to `s` by edit distance, or NULL when none is near
 * enough to be meant. */
const char *text_nearest(const char *s, const char *const *names, size_t count);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

#endif
