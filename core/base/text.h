/* Text from files and for the terminal: UTF-8, widths, numbers, nearest names.
 *
 * petri sets only LC_CTYPE, never LC_NUMERIC, so printf and strtod use a decimal point everywhere;
 * text_to_double() rejects what strtod would accept partially. */
#ifndef CORE_BASE_TEXT_H
#define CORE_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"

/* Decodes one code point of the n bytes at s into *cp and returns the number of bytes read; an invalid byte
 * yields *cp = 0xFFFD and counts as 1.  n must be > 0. */
size_t utf8_decode(const char *s, size_t n, uint32_t *cp);
/* Encodes cp as 1 to 4 bytes; returns their number. */
size_t utf8_encode(uint32_t cp, char out[4]);
/* Appends cp to b. */
void utf8_add(struct buf *b, uint32_t cp);
bool utf8_valid(const char *s, size_t n);
/* Returns whether s is exactly one character. */
bool utf8_is_one(const char *s);

/* Returns the columns of a code point on a terminal: 0, 1 or 2. */
int text_cp_width(uint32_t cp);
/* Returns the columns of a string as text_visible() shows it. */
int text_width(const char *s);
/* Returns the bytes of s that fit in `columns` columns, without cutting a character. */
size_t text_fit(const char *s, int columns);

/* Returns s with control characters (C0, DEL, C1, bidi overrides, invalid bytes) replaced by visible
 * placeholders of one column each (such as ␛ or ·); caller frees. */
char *text_visible(const char *s, size_t n);
/* Does the same for each line of s: line ends stay. */
char *text_visible_lines(const char *s, size_t n);

/* Returns a copy of n bytes as a C string, with each NUL replaced by U+2400; caller frees. */
char *text_string(const char *s, size_t n);

/* Appends one line to a report: printf style, made visible, ended by '\n'.  b may be NULL. */
void text_line(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Appends text (printf style) to the array `out` of `size` bytes, of which `used` are in use; what does not
 * fit is cut at a whole character.  Returns the new number of used bytes, less than `size`. */
size_t text_more(char *out, size_t size, size_t used, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Appends a word as a shell reads it, quoted where needed. */
void text_shell_word(struct buf *b, const char *word);
/* Appends " --NAME VALUE" as a shell reads it; nothing if the value is NULL or empty. */
void text_shell_option(struct buf *b, const char *name, const char *value);
/* Returns the next word of a line as a shell reads it and moves *at behind it; NULL at the end.  An unclosed
 * quote extends to the end; a backslash outside of quotes escapes the next character.  Caller frees. */
char *text_word(const char **at);
/* Appends a field of a CSV line, made visible, quoted where needed. */
void text_csv(struct buf *b, const char *s);
/* Appends a cell of a Markdown table, made visible, with bars escaped. */
void text_markdown(struct buf *b, const char *s);
/* Appends the same with its surroundings after the left bar: " text |". */
void text_markdown_cell(struct buf *b, const char *s);

/* Parse a whole string as a number, without locale and surrounding blanks.  false if s is not a finite number
 * (or not an integer) or is out of range. */
bool text_to_double(const char *s, double *out);
bool text_to_int(const char *s, int64_t *out);

/* Returns s without whitespace at its ends, which is removed in place. */
char *text_trim(char *s);
/* Returns the next item of a comma-separated list, without whitespace around it, and moves *rest behind it;
 * NULL at the end.  Modifies the list. */
char *text_item(char **rest);
/* Parses integers of a list, optionally in braces: "1,2,3", "{1, 2}", "1..3" (each from 1 to 3), "1..3,8".
 * Returns their number; -1 if the list contains something else or more than `room` values. */
int text_to_ints(const char *text, int64_t *out, int room);

/* Formats the shortest decimal that reads back as the same double ("0.1", "1e-05"); NaN and infinities become
 * "nan", "inf", "-inf".  Writes at most 32 bytes. */
void text_from_double(double v, char out[32]);
/* Formats a value that was a float in the same way. */
void text_from_float(float v, char out[32]);
/* 1234567 → "1,234,567". */
void text_thousands(int64_t v, char out[32]);
/* Formats a time in ms since 1970 as "2026-11-28T00:50:19.123Z"; "" for 0. */
void text_time(int64_t ms, char out[32]);

/* Returns the nearest of `count` names to `s` by edit distance, or NULL when none is similar enough. */
const char *text_nearest(const char *s, const char *const *names, size_t count);

bool text_starts(const char *s, const char *prefix);
bool text_ends(const char *s, const char *suffix);

#endif
