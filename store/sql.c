/* SQL by users: one read-only statement on a separate connection. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "store/db.h"
#include "store/internal.h"

/* Pragmas that only report. */
static bool telling_pragma(const char *pragma, const char *argument) {
    static const char *const with_argument[] = { "table_info", "table_xinfo", "table_list",
                                                 "index_list", "index_info", "foreign_key_list" };
    static const char *const alone[] = { "user_version", "application_id", "journal_mode",
                                         "table_list", "database_list", "page_count", "page_size",
                                         "compile_options", "function_list" };
    for (size_t i = 0; i < COUNT_OF(with_argument); i++)
        if (!strcasecmp(pragma, with_argument[i])) return true;
    for (size_t i = 0; i < COUNT_OF(alone) && !argument; i++)
        if (!strcasecmp(pragma, alone[i])) return true;
    return false;
}

static int authorise(void *self, int action, const char *a, const char *b, const char *database,
                     const char *trigger) {
    (void)self;
    (void)database;
    (void)trigger;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION: return b && !strcasecmp(b, "load_extension") ? SQLITE_DENY : SQLITE_OK;
    /* checked when a PRAGMA is read as a table; a real one fails on the connection */
    case SQLITE_UPDATE: return a && !strcmp(a, "sqlite_master") ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_PRAGMA: return a && telling_pragma(a, b) ? SQLITE_OK : SQLITE_DENY;
    default: return SQLITE_DENY;
    }
}

static int sql_refused(sqlite3 *db, int code, struct err *e) {
    if ((code & 0xFF) == SQLITE_AUTH)
        return err_set(e, ERR_USAGE,
                       "read-only: expected one SELECT, without ATTACH or PRAGMAs that change settings (%s)",
                       sqlite3_errmsg(db));
    if ((code & 0xFF) == SQLITE_ERROR || (code & 0xFF) == SQLITE_RANGE ||
        (code & 0xFF) == SQLITE_TOOBIG)
        return err_set(e, ERR_USAGE, "%s; docs/schema.md lists the tables and columns", sqlite3_errmsg(db));
    return db_error(db, e);
}

/* Returns whether anything but blanks, comments and semicolons follows. */
static bool only_blank(sqlite3 *db, const char *s) {
    while (*s == ';' || isspace((unsigned char)*s)) s++;
    if (!*s) return true;
    sqlite3_stmt *st = NULL;
    int rc = sqlite3_prepare_v2(db, s, -1, &st, NULL);
    bool blank = rc == SQLITE_OK && !st;
    sqlite3_finalize(st);
    return blank;
}

static int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **st, struct err *e) {
    const char *tail;
    int rc = sqlite3_prepare_v2(db, sql, -1, st, &tail);
    if (rc) return sql_refused(db, rc, e);
    if (!*st) return err_set(e, ERR_USAGE, "missing statement; for example SELECT … FROM v_runs");
    if (!sqlite3_stmt_readonly(*st))
        return err_set(e, ERR_USAGE, "read-only: expected one SELECT");
    if (!only_blank(db, tail))
        return err_set(e, ERR_USAGE, "expected one statement; found after the first: %.60s",
                       tail);
    return 0;
}

static void sql_read_cell(sqlite3_stmt *st, int column, struct store_cell *c) {
    memset(c, 0, sizeof *c);
    switch (sqlite3_column_type(st, column)) {
    case SQLITE_INTEGER:
        c->type = STORE_INTEGER;
        c->integer = sqlite3_column_int64(st, column);
        break;
    case SQLITE_FLOAT:
        c->type = STORE_REAL;
        c->real = sqlite3_column_double(st, column);
        break;
    case SQLITE_TEXT:
        c->type = STORE_TEXT;
        c->text = (const char *)sqlite3_column_text(st, column);
        c->size = (size_t)sqlite3_column_bytes(st, column);
        break;
    case SQLITE_BLOB:
        c->type = STORE_BLOB;
        c->text = sqlite3_column_blob(st, column);
        c->size = (size_t)sqlite3_column_bytes(st, column);
        break;
    default: c->type = STORE_NULL;
    }
}

static int hand_out(sqlite3 *db, sqlite3_stmt *st, struct store_rows rows, struct err *e) {
    int count = sqlite3_column_count(st);
    const char **names = xmalloc(((size_t)count + 1) * sizeof *names);
    struct store_cell *cells = xmalloc(((size_t)count + 1) * sizeof *cells);
    for (int i = 0; i < count; i++) names[i] = sqlite3_column_name(st, i);
    int rc = rows.columns ? rows.columns(rows.self, count, names) : 0;
    while (!rc) {
        int step = sqlite3_step(st);
        if (step == SQLITE_DONE) break;
        if (step != SQLITE_ROW) {
            rc = sql_refused(db, step, e);
            break;
        }
        for (int i = 0; i < count; i++) sql_read_cell(st, i, &cells[i]);
        rc = rows.row(rows.self, count, cells);
    }
    free(names);
    free(cells);
    return rc;
}

/* Takes the store's idle connection, or opens one: to open means to read the schema. */
static int asker_take(struct store *s, sqlite3 **db, struct err *e) {
    pthread_mutex_lock(&s->asking);
    *db = s->asker;
    s->asker = NULL;
    pthread_mutex_unlock(&s->asking);
    if (*db) return 0;
    int rc = db_open_reader(s->path, db, e);
    if (!rc) sqlite3_set_authorizer(*db, authorise, NULL);
    return rc;
}

/* Leaves the connection to the next query, or closes it where another is idle. */
static void asker_leave(struct store *s, sqlite3 *db) {
    pthread_mutex_lock(&s->asking);
    sqlite3 *other = s->asker;
    s->asker = db;
    pthread_mutex_unlock(&s->asking);
    db_close(other);
}

int store_sql(struct store *s, const char *sql, struct store_rows rows, struct err *e) {
    struct err unused = ERR_INIT;
    if (!e) e = &unused;
    sqlite3 *db;
    int rc = asker_take(s, &db, e);
    if (rc) return rc;
    sqlite3_stmt *st = NULL;
    rc = sql_prepare(db, sql, &st, e);
    if (!rc) rc = hand_out(db, st, rows, e);
    sqlite3_finalize(st);
    if (rc) db_close(db);
    else asker_leave(s, db);
    return rc;
}

/* ---- text output ---- */

struct texter {
    struct store_sink sink;
    enum store_format format;
    char **names;
    int count;
    struct buf line;
};

static void csv_text(struct buf *b, const char *s, size_t n) {
    buf_putc(b, '"');
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '"') buf_putc(b, '"');
        buf_putc(b, s[i]);
    }
    buf_putc(b, '"');
}

static void add_hex(struct buf *b, const struct store_cell *c) {
    buf_putc(b, '"');
    for (size_t i = 0; i < c->size; i++) buf_printf(b, "%02x", (unsigned char)c->text[i]);
    buf_putc(b, '"');
}

/* Text is always quoted and numbers never, so the text nan is never read as a number. */
static void csv_cell(struct buf *b, const struct store_cell *c) {
    char number[32];
    switch (c->type) {
    case STORE_NULL: break;
    case STORE_INTEGER: buf_printf(b, "%lld", (long long)c->integer); break;
    case STORE_REAL:
        text_from_double(c->real, number);
        if (isfinite(c->real)) buf_puts(b, number);
        else csv_text(b, number, strlen(number));
        break;
    case STORE_TEXT: csv_text(b, c->text, c->size); break;
    case STORE_BLOB: add_hex(b, c); break;
    }
}

static void json_cell(struct buf *b, const struct store_cell *c) {
    switch (c->type) {
    case STORE_NULL: buf_puts(b, "null"); break;
    case STORE_INTEGER: buf_printf(b, "%lld", (long long)c->integer); break;
    case STORE_REAL: json_add_double(b, c->real); break;
    case STORE_TEXT: json_add_string(b, c->text); break;
    case STORE_BLOB: add_hex(b, c); break;
    }
}

static void markdown_cell(struct buf *b, const struct store_cell *c) {
    char number[32];
    buf_putc(b, ' ');
    switch (c->type) {
    case STORE_NULL: break;
    case STORE_INTEGER: buf_printf(b, "%lld", (long long)c->integer); break;
    case STORE_REAL:
        text_from_double(c->real, number);
        buf_puts(b, number);
        break;
    case STORE_TEXT: text_markdown(b, c->text); break;
    case STORE_BLOB: add_hex(b, c); break;
    }
    buf_puts(b, " |");
}

static int send_line(struct texter *t) {
    buf_putc(&t->line, '\n');
    int rc = t->sink.write(t->sink.self, t->line.data, t->line.size);
    buf_clear(&t->line);
    return rc;
}

/* Returns a unique column name, as SQLite names columns of a subquery: "a", "a:1", "a:2".  Caller frees. */
static char *column_key(const struct texter *t, int column, const char *name) {
    char *key = xstrdup(name);
    for (int i = 0, n = 1; i < column; i++) {
        if (strcmp(t->names[i], key)) continue;
        free(key);
        key = xprintf("%s:%d", name, n++);
        i = -1;
    }
    return key;
}

static int text_columns(void *self, int count, const char *const *names) {
    struct texter *t = self;
    t->count = count;
    t->names = xcalloc((size_t)count + 1, sizeof *t->names);
    for (int i = 0; i < count; i++) t->names[i] = column_key(t, i, names[i]);
    if (t->format == STORE_JSON) return 0;
    if (t->format == STORE_MARKDOWN) buf_putc(&t->line, '|');
    for (int i = 0; i < count; i++) {
        const struct store_cell name = { .type = STORE_TEXT, .text = names[i], .size = strlen(names[i]) };
        if (t->format == STORE_MARKDOWN) markdown_cell(&t->line, &name);
        else if (i) buf_putc(&t->line, ',');
        if (t->format == STORE_CSV) csv_cell(&t->line, &name);
    }
    int rc = send_line(t);
    if (rc || t->format != STORE_MARKDOWN) return rc;
    buf_putc(&t->line, '|');
    for (int i = 0; i < count; i++) buf_puts(&t->line, "---|");
    return send_line(t);
}

static int text_row(void *self, int count, const struct store_cell *cells) {
    struct texter *t = self;
    bool json = t->format == STORE_JSON, markdown = t->format == STORE_MARKDOWN;
    if (json || markdown) buf_putc(&t->line, json ? '{' : '|');
    for (int i = 0; i < count; i++) {
        if (i && !markdown) buf_putc(&t->line, ',');
        if (markdown) {
            markdown_cell(&t->line, &cells[i]);
        } else if (json) {
            json_add_string(&t->line, t->names[i]);
            buf_putc(&t->line, ':');
            json_cell(&t->line, &cells[i]);
        } else {
            csv_cell(&t->line, &cells[i]);
        }
    }
    if (json) buf_putc(&t->line, '}');
    return send_line(t);
}

int store_sql_text(struct store *s, const char *sql, enum store_format format,
                   struct store_sink sink, struct err *e) {
    struct texter t = { .sink = sink, .format = format };
    struct store_rows rows = { &t, text_columns, text_row };
    int rc = store_sql(s, sql, rows, e);
    for (int i = 0; i < t.count; i++) free(t.names[i]);
    free(t.names);
    buf_release(&t.line);
    return rc;
}
