/* Embeddings and matrices: blocks of float32 with their descriptions. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/db.h"
#include "store/internal.h"

struct block_call {
    const struct store_embedding *embedding;
    const struct store_matrix *matrix;
    int64_t id;
};

/* Binds the block as parameter `at`, runs and finalizes. */
static int embedding_insert(sqlite3 *db, sqlite3_stmt *st, int at, const float *data, int rows, int columns,
                            int64_t *id, struct err *e) {
    if (!st) return e->code;
    size_t bytes = (size_t)rows * (size_t)columns * sizeof *data;
    int rc = bytes > INT_MAX ? SQLITE_TOOBIG : sqlite3_bind_blob(st, at, data, (int)bytes, SQLITE_STATIC);
    if (rc == SQLITE_TOOBIG) rc = err_set(e, ERR_USAGE, "a matrix of %d×%d values is too large to save: the "
                                                        "limit is 2 GB", rows, columns);
    else rc = rc ? db_error(db, e) : db_step(st, e);
    sqlite3_finalize(st);
    if (!rc) *id = sqlite3_last_insert_rowid(db);
    return rc;
}

static int insert_embedding(sqlite3 *db, const struct store_embedding *m, int64_t *id, struct err *e) {
    sqlite3_stmt *st = db_prepare(db, e,
                                  "INSERT INTO "
                                  "embedding(run,step,model,task,split,layer,pool,seed,created,rows,columns,"
                                  "items,model_sha256,rows_sha256,model_fingerprint,data) "
                                  "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
                                  "nitttitiiiitttt", m->run, m->step, m->model, m->task, m->split,
                                  (int64_t)m->layer, m->pool, (int64_t)m->seed, store_now(), (int64_t)m->rows,
                                  (int64_t)m->columns, m->items, m->model_sha256, m->rows_sha256,
                                  m->model_fingerprint);
    return embedding_insert(db, st, 16, m->data, m->rows, m->columns, id, e);
}

static int add_embedding(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct block_call *c = arg;
    return insert_embedding(db, c->embedding, &c->id, e);
}

int embedding_insert_once(sqlite3 *db, const struct store_embedding *m, struct err *e) {
    int64_t there, id;
    int rc = db_int(db, e, &there, 0,
                    "SELECT count(*) FROM embedding WHERE run=? AND step=? AND task=? AND split=? AND layer=?"
                    " AND pool=? AND seed=? AND rows=?",
                    "iittitii", m->run, m->step, m->task, m->split, (int64_t)m->layer, m->pool,
                    (int64_t)m->seed, (int64_t)m->rows);
    return rc || there ? rc : insert_embedding(db, m, &id, e);
}

int store_embedding_put(struct store *s, const struct store_embedding *m) {
    struct payload *p = xcalloc(1, sizeof *p);
    struct store_embedding *to = p->embedding = xmalloc(sizeof *to);
    size_t values = (size_t)m->rows * (size_t)m->columns;
    *to = *m;
    to->model = xstrdup(m->model);
    to->task = xstrdup(m->task);
    to->split = xstrdup(m->split);
    to->pool = xstrdup(m->pool);
    to->items = xstrdup(m->items);
    to->model_sha256 = m->model_sha256 ? xstrdup(m->model_sha256) : NULL;
    to->rows_sha256 = m->rows_sha256 ? xstrdup(m->rows_sha256) : NULL;
    to->model_fingerprint = m->model_fingerprint ? xstrdup(m->model_fingerprint) : NULL;
    to->data = xmalloc((values + 1) * sizeof *to->data);
    memcpy(to->data, m->data, values * sizeof *to->data);
    return writer_put(s, &(struct store_record){ .kind = RECORD_EMBEDDING, .run = m->run, .step = m->step,
                                           .time = store_now(), .payload = p });
}

void embedding_free(struct store_embedding *m) {
    if (m) store_embedding_release(m);
    free(m);
}

int store_embedding_add(struct store *s, const struct store_embedding *m, int64_t *id, struct err *e) {
    struct block_call c = { .embedding = m };
    int rc = writer_call(s, add_embedding, &c, e);
    *id = c.id;
    return rc;
}

static int add_matrix(struct store *s, sqlite3 *db, void *arg, struct err *e) {
    (void)s;
    struct block_call *c = arg;
    const struct store_matrix *m = c->matrix;
    sqlite3_stmt *st = db_prepare(
        db, e,
        "INSERT INTO matrix(run,name,about,created,rows,columns,row_names,column_names,data) "
        "VALUES(?,?,?,?,?,?,?,?,?)",
        "nttiiitt", m->run, m->name, m->about, store_now(), (int64_t)m->rows, (int64_t)m->columns,
        m->row_names, m->column_names);
    return embedding_insert(db, st, 9, m->data, m->rows, m->columns, &c->id, e);
}

int store_matrix_add(struct store *s, const struct store_matrix *m, int64_t *id, struct err *e) {
    struct block_call c = { .matrix = m };
    int rc = writer_call(s, add_matrix, &c, e);
    *id = c.id;
    return rc;
}

/* Returns the block of a column, or ERR_DATABASE when its size is not rows×columns. */
static int embedding_block(struct store *s, sqlite3_stmt *st, int column, int rows, int columns,
                           float **out, struct err *e) {
    size_t bytes = (size_t)sqlite3_column_bytes(st, column), want;
    if (rows < 0 || columns < 0 || !mem_mul((size_t)rows * sizeof **out, (size_t)columns, &want) ||
        want != bytes)
        return err_set(e, ERR_DATABASE, "%s: damaged: a matrix of %d×%d values has %zu bytes", s->path,
                       rows, columns, bytes);
    *out = mem_try(bytes ? bytes : 1, 1);
    if (!*out) return err_set(e, ERR_SYSTEM, "out of memory for %d×%d values", rows, columns);
    if (bytes) memcpy(*out, sqlite3_column_blob(st, column), bytes);
    return 0;
}

#define EMBEDDING_COLUMNS                                                                                    \
    "id,run,step,model,task,split,layer,pool,seed,created,rows,columns,model_sha256,rows_sha256,"            \
    "model_fingerprint"

static void read_embedding(sqlite3_stmt *st, struct store_embedding *out) {
    *out = (struct store_embedding){
        .id = sqlite3_column_int64(st, 0),
        .run = sqlite3_column_int64(st, 1),
        .step = sqlite3_column_int64(st, 2),
        .model = db_text(st, 3, true),
        .task = db_text(st, 4, true),
        .split = db_text(st, 5, true),
        .layer = sqlite3_column_int(st, 6),
        .pool = db_text(st, 7, true),
        .seed = (uint64_t)sqlite3_column_int64(st, 8),
        .created = sqlite3_column_int64(st, 9),
        .rows = sqlite3_column_int(st, 10),
        .columns = sqlite3_column_int(st, 11),
        .model_sha256 = db_text(st, 12, false),
        .rows_sha256 = db_text(st, 13, false),
        .model_fingerprint = db_text(st, 14, false),
    };
}

int store_embedding(struct store *s, int64_t id, struct store_embedding *out, struct err *e) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *st = db_prepare(
        s->reader, e, "SELECT " EMBEDDING_COLUMNS ",items,data FROM embedding WHERE id=?", "i", id);
    int rc = st ? db_step(st, e) : e->code;
    if (!rc)
        rc = err_set(e, ERR_NOT_FOUND, "%s: set of embeddings %lld does not exist", s->path, (long long)id);
    if (rc > 0) {
        read_embedding(st, out);
        out->items = db_text(st, 15, true);
        rc = embedding_block(s, st, 16, out->rows, out->columns, &out->data, e);
    }
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_embedding_release(out);
    return rc;
}

static void take_embedding(void *self, sqlite3_stmt *st) {
    struct store_embeddings *v = self;
    GROW(v->set, v->room, v->count + 1);
    read_embedding(st, &v->set[v->count++]);
}

/* Selects rows of a table by run id. */
#define OF_RUN                                                                                               \
    " WHERE CASE ?1 WHEN -1 THEN run IS NULL OR run IN (SELECT id FROM run WHERE trashed IS NULL)"           \
    " WHEN 0 THEN run IS NULL ELSE run = ?1 END ORDER BY id"

int store_embeddings(struct store *s, int64_t run, struct store_embeddings *out, struct err *e) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_embedding, out, "SELECT " EMBEDDING_COLUMNS " FROM embedding" OF_RUN,
                     "i", run);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_embeddings_release(out);
    return rc;
}

void store_embeddings_release(struct store_embeddings *v) {
    for (size_t i = 0; i < v->count; i++) store_embedding_release(&v->set[i]);
    free(v->set);
    memset(v, 0, sizeof *v);
}

int store_embedding_find(struct store *s, const struct store_embedding *like, int64_t *id, struct err *e) {
    pthread_mutex_lock(&s->reading);
    int rc = db_int(s->reader, e, id, 0,
                    "SELECT max(id) FROM embedding WHERE run IS ?1 AND step=?2 AND layer=?3 AND pool=?4"
                    " AND model_fingerprint=?5 AND rows_sha256=?6 AND rows=?7",
                    "niittti", like->run, like->step, (int64_t)like->layer, like->pool,
                    like->model_fingerprint, like->rows_sha256, (int64_t)like->rows);
    pthread_mutex_unlock(&s->reading);
    return rc;
}

void store_embedding_release(struct store_embedding *m) {
    free(m->model);
    free(m->task);
    free(m->split);
    free(m->pool);
    free(m->items);
    free(m->model_sha256);
    free(m->rows_sha256);
    free(m->model_fingerprint);
    free(m->data);
    memset(m, 0, sizeof *m);
}

static void read_matrix(sqlite3_stmt *st, struct store_matrix *out) {
    *out = (struct store_matrix){
        .id = sqlite3_column_int64(st, 0),
        .run = sqlite3_column_int64(st, 1),
        .name = db_text(st, 2, true),
        .about = db_text(st, 3, true),
        .created = sqlite3_column_int64(st, 4),
        .rows = sqlite3_column_int(st, 5),
        .columns = sqlite3_column_int(st, 6),
    };
}

#define MATRIX_COLUMNS "id,run,name,about,created,rows,columns"

int store_matrix(struct store *s, int64_t id, struct store_matrix *out, struct err *e) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    sqlite3_stmt *st = db_prepare(
        s->reader, e, "SELECT " MATRIX_COLUMNS ",row_names,column_names,data FROM matrix WHERE id=?", "i",
        id);
    int rc = st ? db_step(st, e) : e->code;
    if (!rc) rc = err_set(e, ERR_NOT_FOUND, "%s: matrix %lld does not exist", s->path, (long long)id);
    if (rc > 0) {
        read_matrix(st, out);
        out->row_names = db_text(st, 7, true);
        out->column_names = db_text(st, 8, true);
        rc = embedding_block(s, st, 9, out->rows, out->columns, &out->data, e);
    }
    sqlite3_finalize(st);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_matrix_release(out);
    return rc;
}

static void take_matrix(void *self, sqlite3_stmt *st) {
    struct store_matrices *v = self;
    GROW(v->matrix, v->room, v->count + 1);
    read_matrix(st, &v->matrix[v->count++]);
}

int store_matrices(struct store *s, int64_t run, struct store_matrices *out, struct err *e) {
    memset(out, 0, sizeof *out);
    pthread_mutex_lock(&s->reading);
    int rc = db_each(s->reader, e, take_matrix, out, "SELECT " MATRIX_COLUMNS " FROM matrix" OF_RUN, "i",
                     run);
    pthread_mutex_unlock(&s->reading);
    if (rc) store_matrices_release(out);
    return rc;
}

void store_matrices_release(struct store_matrices *v) {
    for (size_t i = 0; i < v->count; i++) store_matrix_release(&v->matrix[i]);
    free(v->matrix);
    memset(v, 0, sizeof *v);
}

int store_matrix_find(struct store *s, int64_t run, const char *name, const char *about, int64_t *id,
                      struct err *e) {
    pthread_mutex_lock(&s->reading);
    int rc = db_int(s->reader, e, id, 0,
                    "SELECT max(id) FROM matrix WHERE run IS ?1 AND name=?2 AND about=?3", "ntt", run, name,
                    about);
    pthread_mutex_unlock(&s->reading);
    return rc;
}

void store_matrix_release(struct store_matrix *m) {
    free(m->name);
    free(m->about);
    free(m->row_names);
    free(m->column_names);
    free(m->data);
    memset(m, 0, sizeof *m);
}
