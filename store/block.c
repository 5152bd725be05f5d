/* Packed points of a long run: a copy of the rows of `metric` for reading, since stepping through a million
 * rows is slow.
 *
 * A finished run has blocks for each name with many points; a running one has none, so that blocks never
 * differ from replaced rows.  A block is first, last (steps), count, data: the steps (int64, omitted if
 * consecutive) and the values (float64), little-endian. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are little-endian");

enum { BLOCK_POINTS = 1 << 14, BLOCKS_FROM = 4 * BLOCK_POINTS };

static bool consecutive(const int64_t *step, size_t n) { return step[n - 1] - step[0] == (int64_t)n - 1; }

static int put_block(sqlite3_stmt *st, const int64_t *step, const double *value, size_t n, struct err *e) {
    struct buf data = BUF_INIT;
    if (!consecutive(step, n)) buf_add(&data, step, n * sizeof *step);
    buf_add(&data, value, n * sizeof *value);
    sqlite3_bind_int64(st, 3, step[0]);
    sqlite3_bind_int64(st, 4, step[n - 1]);
    sqlite3_bind_int64(st, 5, (int64_t)n);
    sqlite3_bind_blob64(st, 6, data.data, data.size, SQLITE_STATIC);
    int rc = db_step(st, e);
    sqlite3_reset(st);
    sqlite3_clear_bindings(st);
    buf_release(&data);
    return rc;
}

static int pack_key(sqlite3 *db, int64_t run, int64_t key, struct err *e) {
    struct store_points p = { 0 };
    int rc = points_rows(db, run, key, INT64_MIN, &p, e);
    sqlite3_stmt *st =
        rc ? NULL
           : db_prepare(db, e, "INSERT INTO block(run,key,first,last,count,data) VALUES(?,?,?,?,?,?)", "");
    if (!rc && !st) rc = e->code;
    for (size_t at = 0; !rc && at < p.count; at += BLOCK_POINTS) {
        size_t n = p.count - at < BLOCK_POINTS ? p.count - at : BLOCK_POINTS;
        sqlite3_bind_int64(st, 1, run);
        sqlite3_bind_int64(st, 2, key);
        rc = put_block(st, p.step + at, p.value + at, n, e);
    }
    sqlite3_finalize(st);
    store_points_release(&p);
    return rc;
}

struct long_keys {
    int64_t *key;
    size_t count, room;
};
static void block_key(void *self, sqlite3_stmt *st) {
    struct long_keys *k = self;
    GROW(k->key, k->room, k->count + 1);
    k->key[k->count++] = sqlite3_column_int64(st, 0);
}

int blocks_drop(sqlite3 *db, int64_t run, struct err *e) {
    return db_run(db, e, "DELETE FROM block WHERE run=?", "i", run);
}

int blocks_make(sqlite3 *db, int64_t run, struct err *e) {
    struct long_keys k = { 0 };
    int rc = blocks_drop(db, run, e);
    if (!rc)
        rc = db_each(db, e, block_key, &k, "SELECT key FROM summary WHERE run=? AND count>=? ORDER BY key",
                     "ii", run, (int64_t)BLOCKS_FROM);
    for (size_t i = 0; !rc && i < k.count; i++) rc = pack_key(db, run, k.key[i], e);
    free(k.key);
    return rc;
}

/* Appends a block's points from a step on; false: the block is damaged. */
static bool take_block(sqlite3_stmt *st, int64_t from, struct store_points *p) {
    int64_t first = sqlite3_column_int64(st, 0), last = sqlite3_column_int64(st, 1),
            count = sqlite3_column_int64(st, 2);
    const char *data = sqlite3_column_blob(st, 3);
    size_t bytes = (size_t)sqlite3_column_bytes(st, 3), n = (size_t)count;
    bool follow = last - first == count - 1;
    if (count < 1 || count > BLOCK_POINTS || !data || bytes != n * (follow ? 1 : 2) * sizeof(double))
        return false;
    size_t skip = 0;
    int64_t *step = xmalloc(n * sizeof *step);
    if (follow)
        for (size_t i = 0; i < n; i++) step[i] = first + (int64_t)i;
    else
        memcpy(step, data, n * sizeof *step);
    while (skip < n && step[skip] < from) skip++;
    points_room(p, p->count + n);
    memcpy(p->step + p->count, step + skip, (n - skip) * sizeof *step);
    memcpy(p->value + p->count, data + (follow ? 0 : n * sizeof *step) + skip * sizeof(double),
           (n - skip) * sizeof(double));
    p->count += n - skip;
    free(step);
    return true;
}

int blocks_read(sqlite3 *db, int64_t run, int64_t key, int64_t *from, struct store_points *out,
                struct err *e) {
    sqlite3_stmt *st = db_prepare(
        db, e, "SELECT first, last, count, data FROM block WHERE run=? AND key=? AND last>=? ORDER BY first",
        "iii", run, key, *from);
    int rc = st ? 1 : e->code;
    while (rc > 0 && (rc = db_step(st, e)) > 0 && take_block(st, *from, out))
        *from = sqlite3_column_int64(st, 1) + 1;
    sqlite3_finalize(st);
    return rc < 0 ? rc : 0;
}
