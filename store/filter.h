/* Translates a filter line and a sort key to SQL with bound values.  Private to store/. */
#ifndef STORE_FILTER_H
#define STORE_FILTER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* For run r, its primary metric's key d and its summary b: the number of validation examples of its best
 * value, which is the number at the end of "dev 256" or before the end of "my file.tsv 256 of 2551 (seed 0)";
 * and a member of its config. */
#define FILTER_DIGITS "'0123456789'"
#define FILTER_ROWS                                                                                \
    "(SELECT CAST(substr(t, length(rtrim(t, " FILTER_DIGITS ")) + 1) AS INTEGER) FROM"             \
    " (SELECT CASE WHEN v.rows GLOB '* of *(seed *)' THEN rtrim(rtrim(rtrim(rtrim(rtrim(v.rows,"   \
    " ')'), " FILTER_DIGITS "), ' (sed'), " FILTER_DIGITS "), ' of') ELSE v.rows END AS t"         \
    " FROM evaluation v WHERE v.run = r.id AND v.step = b.best_step"                               \
    " AND v.split = d.split))"
#define FILTER_OPTION(name) "iif(json_valid(r.config), json_extract(r.config, '$." name "'), NULL)"

struct filter_value {
    char *text; /* NULL: the number */
    double number;
};

struct filter {
    struct buf where; /* "1" and its terms, over run r, key d, summary b, note n */
    struct filter_value *value;
    size_t count, room;
    struct buf order; /* of ORDER BY */
    char sort_key[256]; /* SQL of the sort key, over key d; "0" for none */
    int sort_best;      /* by its best value; else by its last */
    bool lessons;       /* a term selects the tag of lessons' runs, or runs by their ids */
    bool draws; /* a term selects the tag of draws, runs by their ids, or a sweep's or a parent's runs */
};

/* db: to look up metric names.  ERR_USAGE names the term. */
int filter_read(struct filter *f, sqlite3 *db, const char *filter, const char *sort, struct err *e);
bool filter_is_any(const struct filter *f); /* without terms: every run matches */
void filter_bind(const struct filter *f, sqlite3_stmt *st); /* ?1 … */
void filter_release(struct filter *f);

#endif
