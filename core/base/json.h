/* JSON through jansson, with the limits that files of strangers need: size, depth,
 * no repeated keys, strict UTF-8, no NaN.  Callers use jansson's own json_t. */
#ifndef CORE_BASE_JSON_H
#define CORE_BASE_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

enum { JSON_DEPTH = 64 };

/* Parses n bytes.  `name` (a file) and the line stand in the message.  NULL on
 * failure; the caller owns the result (json_decref).  A number that a json_t does not hold, as an integer
 * beyond 64 bits, becomes a string of its characters: it is an error only for who asks for a number there. */
json_t *json_parse(const char *name, const char *bytes, size_t n, struct err *e);
/* Reads and parses a file of at most `limit` bytes. */
json_t *json_read(const char *path, size_t limit, struct err *e);

/* Typed members: false when the key is absent or null (*out untouched); ERR_INPUT
 * in *e (message names file and key) when it has another type.  e->code tells. */
bool json_get_int(const json_t *o, const char *file, const char *key, json_int_t *out, struct err *e);
bool json_get_double(const json_t *o, const char *file, const char *key, double *out, struct err *e);
bool json_get_bool(const json_t *o, const char *file, const char *key, bool *out, struct err *e);
bool json_get_string(const json_t *o, const char *file, const char *key, const char **out, struct err *e);

/* Writers for output that is built as text.  Numbers are shortest-exact; a number
 * that is not finite is written as the string "nan", "inf" or "-inf". */
void json_add_string(struct buf *b, const char *s);
void json_add_bytes(struct buf *b, const char *s, size_t n); /* a string that may hold NULs */
void json_add_double(struct buf *b, double v);
void json_add_float(struct buf *b, float v);

/* Members of an object (key NULL: elements of an array) under construction: the comma is added
 * where one is due.  A string that is NULL becomes null. */
void json_add_key(struct buf *b, const char *key);
/* Begins a member that is an object ('{') or an array ('['); the caller adds the bracket that closes it. */
void json_open(struct buf *b, const char *key, char bracket);
/* Adds members by a format: JSON with keys without quotes and conversions of printf for the values,
 * "step:%jd,best:{of:%s}". The format may begin or end inside of an object.  %s is a string (NULL: null; %-s:
 * "" too), %d an int, %jd and %ju an int64_t and uint64_t, %zu a size_t (%+d, %+jd: 0 is null), %i a bool, %g
 * a measured double (NaN: null), %f any double, %p JSON as it is (NULL: null; %-p: "" too). With 1, as %1s, %1d
 * and %1g, a member is left out in place of null, and where it is "" or 0. */
void json_put(struct buf *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Arrays, of n strings and of n numbers. */
void json_member_strings(struct buf *b, const char *key, char *const *value, size_t n);
void json_member_ints(struct buf *b, const char *key, const int64_t *value, size_t n);
void json_member_doubles(struct buf *b, const char *key, const double *value, size_t n); /* NaN: null */
void json_member_string(struct buf *b, const char *key, const char *value);
void json_member_bytes(struct buf *b, const char *key, const char *s, size_t n);
void json_member_int(struct buf *b, const char *key, long long value);
void json_member_double(struct buf *b, const char *key, double value);
/* null where v is NaN: nothing was measured. */
void json_member_measured(struct buf *b, const char *key, double v);
void json_member_bool(struct buf *b, const char *key, bool value);

#endif
