/* JSON through jansson, with limits for untrusted files: size, depth, no repeated keys, strict UTF-8, no NaN.
 * Callers use jansson's json_t. */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum { JSON_DEPTH = 64 };

/* Parses n bytes.  Messages contain `name` (a file) and the line.  Returns NULL on failure; the caller owns
 * the result (json_decref).  A number that json_t cannot represent, such as an integer beyond 64 bits,
 * becomes a string of its characters, which is an error only where a number is expected. */
json_t *json_parse(const char *name, const char *bytes, size_t n, struct err *e);
/* Reads and parses a file of at most `limit` bytes. */
json_t *json_read(const char *path, size_t limit, struct err *e);

/* Read typed members: return false when the key is absent or null (*out unchanged), or when it has another
 * type (ERR_INPUT in *e; the message names file and key).  e->code distinguishes the two. */
bool json_get_int(const json_t *o, const char *file, const char *key, json_int_t *out, struct err *e);
bool json_get_double(const json_t *o, const char *file, const char *key, double *out, struct err *e);
bool json_get_bool(const json_t *o, const char *file, const char *key, bool *out, struct err *e);
bool json_get_string(const json_t *o, const char *file, const char *key, const char **out, struct err *e);

/* Writers for JSON built as text.  Numbers are shortest-exact; NaN and infinities are written as the strings
 * "nan", "inf" or "-inf". */
void json_add_string(struct buf *b, const char *s);
void json_add_double(struct buf *b, double v);
void json_add_float(struct buf *b, float v);

/* Append members of an object (key NULL: elements of an array), with the comma where needed.  A NULL string
 * becomes null. */
void json_add_key(struct buf *b, const char *key);
/* Opens a member that is an object ('{') or an array ('['); the caller appends the closing bracket. */
void json_open(struct buf *b, const char *key, char bracket);
/* Appends members by a format: JSON with unquoted keys and printf conversions as values,
 * "step:%jd,best:{of:%s}".  The format may begin or end within an object.  %s is a string (NULL: null; %-s:
 * "" too), %d an int, %jd and %ju an int64_t and uint64_t, %zu a size_t (%+d, %+jd: 0 is null), %i a bool, %g
 * a measured double (NaN: null), %f any double, %p raw JSON (NULL: null; %-p: "" too).  With 1, as in %1s,
 * %1d and %1g, a member is omitted instead of null, "" or 0. */
void json_put(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Append arrays of n strings or numbers. */
void json_member_strings(struct buf *b, const char *key, char *const *value, size_t n);
void json_member_ints(struct buf *b, const char *key, const int64_t *value, size_t n);
void json_member_doubles(struct buf *b, const char *key, const double *value, size_t n); /* NaN: null */
void json_member_string(struct buf *b, const char *key, const char *value);
void json_member_bytes(struct buf *b, const char *key, const char *s, size_t n);
void json_member_int(struct buf *b, const char *key, long long value);
void json_member_double(struct buf *b, const char *key, double value);
/* Appends null if v is NaN (not measured). */
void json_member_measured(struct buf *b, const char *key, double v);
void json_member_bool(struct buf *b, const char *key, bool value);

#endif
