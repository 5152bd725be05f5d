/* SQL from people, the examples of docs/schema.md, and text that leaves the store. */
#include <locale.h>
#include <math.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

static int64_t filled_run(struct store *s, const char *method, double best, const char *hash) {
    struct store_module m = { .fn = "linear", .insertion = "parallel", .composition = "scaled" };
    struct store_new_run n = plain_run();
    n.method = method;
    n.modules = &m;
    n.module_count = 1;
    int64_t id;
    struct err e = ERR_INIT;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    int loss = key_of(s, "loss", -1);
    change(s, id, STORE_RUNNING, NULL);
    for (int i = 1; i <= 4; i++) point(s, id, i, loss, i == 3 ? NAN : 1.0 / i);
    struct store_metric metric = { "accuracy", best, NULL, 1 };
    store_evaluation(s, &(struct store_evaluation){ .run = id,
                                                    .step = 4,
                                                    .rows = "dev 256 of 2,538",
                                                    .constant = best < 0.6,
                                                    .count = 1,
                                                    .metric = &metric });
    store_change(s, &(struct store_change){ .run = id, .step = 4, .seconds = 2,
                                            .state = best < 0.6 ? STORE_FAILED : STORE_FINISHED,
                                            .reason = best < 0.6 ? "loss is nan at step 3" : NULL,
                                            .weights_sha256 = hash });
    test_ok(store_disown(s, id, &e), &e);
    return id;
}

static struct store *filled(char **path) {
    *path = fresh_path();
    struct store *s = open_at(*path, STORE_WRITE);
    filled_run(s, "lora(r=8)", 0.8, "aa");
    filled_run(s, "lora(r=8)", 0.8, "aa");
    filled_run(s, "bitfit", 0.5, "bb");
    return s;
}

static int count_row(void *self, int count, const struct store_cell *cells) {
    (void)count;
    (void)cells;
    ++*(int *)self;
    return 0;
}

static int append(void *self, const char *bytes, size_t n) {
    buf_add(self, bytes, n);
    return 0;
}

static int refuse(void *self, const char *bytes, size_t n) {
    (void)self;
    (void)bytes;
    (void)n;
    return ERR_INTERRUPTED;
}

static void the_ten_queries_of_the_docs_run(void **state) {
    (void)state;
    char *path, *file = test_path("docs/schema.md");
    struct store *s = filled(&path);
    struct buf text;
    struct err e = ERR_INIT;
    test_ok(file_read(file, 1 << 20, &text, &e), &e);
    int queries = 0;
    for (const char *at = buf_text(&text); (at = strstr(at, "```sql\n"));) {
        at += 7;
        const char *end = strstr(at, "```");
        assert_non_null(end);
        char *sql = xstrndup(at, (size_t)(end - at));
        int rows = 0;
        int rc = store_sql(s, sql, (struct store_rows){ &rows, NULL, count_row }, &e);
        if (rc) fail_msg("%s\n%s", e.text, sql);
        if (!rows) fail_msg("no row for\n%s", sql);
        free(sql);
        queries++;
        at = end + 3;
    }
    assert_int_equal(queries, 10);
    buf_release(&text);
    close_it(s);
    free(file);
    free(path);
}

/* The docs' table of views names each column that there is, in order. */
static void the_docs_name_every_column(void **state) {
    (void)state;
    char *path, *file = test_path("docs/schema.md");
    struct store *s = filled(&path);
    struct buf text, names = BUF_INIT;
    struct err e = ERR_INIT;
    test_ok(file_read(file, 1 << 20, &text, &e), &e);
    struct store_sink sink = { &names, append };
    test_ok(store_sql_text(s, "SELECT v.name AS view, group_concat(c.name, ', ') AS columns FROM"
                              " sqlite_schema v, pragma_table_info(v.name) c WHERE v.type='view'"
                              " GROUP BY v.name", STORE_JSON, sink, &e), &e);
    int views = 0;
    char *rest;
    for (char *line = strtok_r(names.data, "\n", &rest); line;
         line = strtok_r(NULL, "\n", &rest), views++) {
        json_t *o = json_parse("row", line, strlen(line), &e);
        assert_non_null(o);
        char *head = xprintf("| `%s` |", json_string_value(json_object_get(o, "view")));
        char *tail = xprintf("| %s |\n", json_string_value(json_object_get(o, "columns")));
        const char *row = strstr(buf_text(&text), head);
        if (!row) fail_msg("docs/schema.md lacks the view %s", head);
        const char *columns = strstr(row, tail), *end = strchr(row, '\n');
        if (!columns || columns > end) fail_msg("docs/schema.md: %s has not %s", head, tail);
        free(head);
        free(tail);
        json_decref(o);
    }
    assert_int_equal(views, 13);
    buf_release(&names);
    buf_release(&text);
    close_it(s);
    free(file);
    free(path);
}

static void only_reading_is_allowed(void **state) {
    (void)state;
    char *path;
    struct store *s = filled(&path);
    static const char *const bad[] = {
        "DELETE FROM run",
        "UPDATE run SET state='queued'",
        "INSERT INTO meta VALUES('a','b')",
        "DROP TABLE run",
        "CREATE TABLE x(a)",
        "CREATE TEMP TABLE x(a)",
        "ATTACH ':memory:' AS b",
        "DETACH main",
        "PRAGMA journal_mode=DELETE",
        "PRAGMA query_only=OFF",
        "PRAGMA user_version=9",
        "PRAGMA writable_schema=ON",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "BEGIN",
        "COMMIT",
        "VACUUM",
        "VACUUM INTO '/tmp/petri-copy'",
        "REINDEX",
        "ANALYZE",
        "SELECT load_extension('x')",
        "SELECT 1; DELETE FROM run",
        "SELECT 1; SELECT 2",
        "",
        "  -- nothing\n",
        "SELEC 1",
        "SELECT nothing FROM v_runs",
        "SELECT * FROM no_table",
        "WITH a AS (SELECT 1) DELETE FROM run",
        "UPDATE sqlite_master SET type='x'",
        "UPDATE sqlite_schema SET sql=''",
        "SELECT * FROM pragma_journal_mode('delete')",
        "SELECT * FROM pragma_user_version(3)",
        "SELECT writefile('/tmp/petri-x', 'a')",
    };
    struct err e = ERR_INIT;
    int rows = 0;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        int rc = store_sql(s, bad[i], (struct store_rows){ &rows, NULL, count_row }, &e);
        if (rc != ERR_USAGE) fail_msg("%d for %s: %s", rc, bad[i], e.text);
    }
    assert_int_equal(rows, 0);
    assert_false(file_exists("/tmp/petri-copy"));
    static const char *const good[] = {
        "SELECT * FROM v_runs",
        "SELECT * FROM v_runs;",
        "SELECT 1; -- and no more\n ;",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5) SELECT i FROM n",
        "PRAGMA table_info(run)",
        "SELECT * FROM pragma_table_info('run')",
        "PRAGMA user_version",
        "EXPLAIN QUERY PLAN SELECT * FROM run",
        "SELECT json_extract(config,'$.seed') FROM run",
        "VALUES(1),(2)",
    };
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        rows = 0;
        int rc = store_sql(s, good[i], (struct store_rows){ &rows, NULL, count_row }, &e);
        if (rc || !rows) fail_msg("%d, %d rows for %s: %s", rc, rows, good[i], e.text);
    }
    assert_int_equal(store_sql_text(s, "SELECT * FROM v_runs", STORE_CSV,
                                    (struct store_sink){ NULL, refuse }, &e), ERR_INTERRUPTED);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void export_of(struct store *s, enum store_what what, enum store_format format,
                      struct buf *out) {
    struct err e = ERR_INIT;
    buf_clear(out);
    test_ok(store_export(s, what, format, NULL, 0, (struct store_sink){ out, append }, &e), &e);
}

/* Each line is strict JSON; how many there are. */
static int strict_lines(const struct buf *b) {
    int lines = 0;
    struct err e = ERR_INIT;
    for (const char *at = buf_text(b); *at; lines++) {
        const char *end = strchr(at, '\n');
        assert_non_null(end);
        json_t *o = json_parse("line", at, (size_t)(end - at), &e);
        if (!o) fail_msg("%s", e.text);
        json_decref(o);
        at = end + 1;
    }
    return lines;
}

static void what_is_not_finite_is_told_in_every_format(void **state) {
    (void)state;
    char *path;
    struct store *s = filled(&path);
    struct buf out = BUF_INIT;
    export_of(s, STORE_EXPORT_POINTS, STORE_CSV, &out);
    assert_non_null(
        strstr(out.data, "1,\"loss\",2,0.5,\n1,\"loss\",3,,\"nan\"\n1,\"loss\",4,0.25,\n"));
    for (const char *p = out.data; (p = strstr(p, "nan")); p += 3)
        assert_true(p[-1] == '"' && p[3] == '"');
    export_of(s, STORE_EXPORT_POINTS, STORE_JSON, &out);
    assert_int_equal(strict_lines(&out), 15);
    assert_non_null(strstr(
        out.data, "{\"run\":1,\"key\":\"loss\",\"step\":3,\"value\":null,\"kind\":\"nan\"}"));
    export_of(s, STORE_EXPORT_RUNS, STORE_JSON, &out);
    assert_int_equal(strict_lines(&out), 3);
    assert_non_null(strstr(out.data, "\"final_loss\":0.25"));
    export_of(s, STORE_EXPORT_RUNS, STORE_CSV, &out);
    assert_non_null(strstr(out.data, "\"loss is nan at step 3\""));
    export_of(s, STORE_EXPORT_EVALUATIONS, STORE_CSV, &out);
    assert_non_null(strstr(out.data, "\"dev 256 of 2,538\""));
    export_of(s, STORE_EXPORT_EVALUATIONS, STORE_JSON, &out);
    assert_int_equal(strict_lines(&out), 3);
    struct err e = ERR_INIT;
    int64_t one = 2;
    buf_clear(&out);
    test_ok(store_export(s, STORE_EXPORT_POINTS, STORE_JSON, &one, 1,
                         (struct store_sink){ &out, append }, &e),
            &e);
    assert_int_equal(strict_lines(&out), 5);
    buf_clear(&out);
    test_ok(store_sql_text(
                s, "SELECT 9e999 AS a, -9e999 AS b, 0.1 AS c, NULL AS d, 'x\"y' AS e, x'00ff' AS f",
                STORE_JSON, (struct store_sink){ &out, append }, &e),
            &e);
    assert_string_equal(
        out.data,
        "{\"a\":\"inf\",\"b\":\"-inf\",\"c\":0.1,\"d\":null,\"e\":\"x\\\"y\",\"f\":\"00ff\"}\n");
    buf_clear(&out);
    test_ok(store_sql_text(s, "SELECT 9e999 AS a, 0.1 AS c, NULL AS d, 'x\"y' AS e", STORE_CSV,
                           (struct store_sink){ &out, append }, &e), &e);
    assert_string_equal(out.data, "\"a\",\"c\",\"d\",\"e\"\n\"inf\",0.1,,\"x\"\"y\"\n");
    buf_release(&out);
    close_it(s);
    free(path);
}

static void json_of_a_whole_run_is_strict(void **state) {
    (void)state;
    char *path;
    struct store *s = filled(&path);
    struct store_run r = whole(s, 3);
    struct buf b = BUF_INIT;
    store_run_json(&r, &b);
    struct err e = ERR_INIT;
    json_t *o = json_parse("run", b.data, b.size, &e);
    if (!o) fail_msg("%s in %s", e.text, b.data);
    assert_string_equal(json_string_value(json_object_get(o, "state")), "failed");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(o, "config"), "seed")), 1);
    assert_int_equal(json_array_size(json_object_get(o, "modules")), 1);
    assert_true(json_is_true(json_object_get(o, "constant")));
    json_t *values = json_object_get(o, "values");
    assert_int_equal(json_integer_value(json_object_get(json_object_get(values, "loss"), "step")),
                     4);
    json_decref(o);
    buf_release(&b);
    store_run_release(&r);
    close_it(s);
    free(path);
}

int main(void) {
    setlocale(LC_CTYPE, "");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_ten_queries_of_the_docs_run),
        cmocka_unit_test(the_docs_name_every_column),
        cmocka_unit_test(only_reading_is_allowed),
        cmocka_unit_test(what_is_not_finite_is_told_in_every_format),
        cmocka_unit_test(json_of_a_whole_run_is_strict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
