/* Databases are joined: who a run is, which state stays, what follows it. */
#include <sqlite3.h>
#include <stdio.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

static char *folder, *one, *two;

static int make(void **state) {
    (void)state;
    folder = test_folder();
    one = file_join(folder, "one.db");
    two = file_join(folder, "two.db");
    return 0;
}
static int drop(void **state) {
    (void)state;
    free(folder), free(one), free(two);
    return 0;
}

static void steps(struct store *s, int64_t run, int64_t from, int64_t to, double by) {
    for (int64_t i = from; i <= to; i++) point(s, run, i, key_of(s, "loss", -1), by / (double)i);
}

static void keep_file(struct store *s, int64_t run, const char *text) {
    char *to = store_run_folder(s, run), *path = file_join(to, "best.ckpt");
    struct err e = ERR_INIT;
    test_ok(file_write(path, text, strlen(text), &e), &e);
    struct store_artifact a = { .run = run, .step = 1, .kind = "best", .path = path, .bytes = (int64_t)strlen(text) };
    assert_int_equal(store_artifact(s, &a), 0);
    free(path), free(to);
}

static void expect_file(struct store *s, int64_t run, const char *text) {
    struct store_files f;
    struct err e = ERR_INIT;
    struct buf b;
    test_ok(store_artifacts(s, run, &f, &e), &e);
    assert_int_equal(f.count, 1);
    test_ok(file_read(f.file[0].path, 100, &b, &e), &e);
    char *own = store_run_folder(s, run);
    assert_memory_equal(f.file[0].path, own, strlen(own));
    assert_int_equal(f.file[0].bytes, strlen(text));
    assert_string_equal(buf_text(&b), text);
    buf_release(&b), free(own);
    store_files_release(&f);
}

/* The file and its folder, as somebody copies them. */
static void copy(const char *from, const char *to) {
    char *line = xprintf("rm -rf '%s' '%s-files'; cp '%s' '%s' && cp -r '%s-files' '%s-files'", to, to, from, to, from, to);
    assert_int_equal(system(line), 0);
    free(line);
}

/* Nothing is as it was written, as far as this is asked. */
static bool never_sound(const char *path) {
    (void)path;
    return false;
}

static bool (*sound)(const char *path);

static struct store_merge merge(const char *into, const char *from) {
    struct store *a = open_at(into, STORE_WRITE), *b = open_at(from, STORE_READ);
    struct store_merge m;
    struct err e = ERR_INIT;
    test_ok(store_merge(a, b, sound, &m, &e), &e);
    assert_whole(a);
    close_it(a), close_it(b);
    return m;
}

static void expect(struct store_merge m, size_t at, int64_t into, enum store_merged_as what) {
    assert_true(at < m.runs);
    assert_int_equal(m.run[at].into, into);
    assert_int_equal(m.run[at].what, what);
}

static void runs_and_sweeps_get_new_numbers(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct store *s = open_at(one, STORE_WRITE);
    int64_t other = new_run(s), sweep;
    steps(s, other, 1, 3, 1);
    finish(s, other);
    close_it(s);
    s = open_at(two, STORE_WRITE);
    test_ok(store_sweep(s, "petri sweep", "{\"spec\":{\"base\":{}}}", NULL, &sweep, &e), &e);
    test_ok(store_sweep_failure(s, sweep, "3f0c9a", "no such model", &e), &e);
    int64_t parent = new_run(s);
    struct store_new_run n = plain_run();
    n.parent = parent, n.sweep = sweep, n.note = "a note", n.config = "{\"seed\":2}";
    int64_t child;
    test_ok(store_create_run(s, &n, &child, &e), &e);
    steps(s, parent, 1, 4, 1);
    evaluate(s, child, 2, "accuracy", 0.75, 1);
    steps(s, child, 1, 5, 2);
    keep_file(s, child, "values");
    finish(s, parent), finish(s, child);
    test_ok(store_rename(s, child, "the child", NULL, &e), &e);
    test_ok(store_tag(s, &child, 1, (const char *[]){ "good" }, 1, true, &e), &e);
    close_it(s);
    struct store_merge m = merge(one, two);
    expect(m, 0, 2, STORE_MERGED_NEW), expect(m, 1, 3, STORE_MERGED_NEW);
    assert_true(m.sweeps == 1 && m.sweep_into[0] == 1);
    store_merge_release(&m);
    s = open_at(one, STORE_WRITE);
    struct store_run r = whole(s, 3);
    assert_int_equal(r.parent, 2);
    assert_int_equal(r.sweep, 1);
    assert_string_equal(r.tags, "good");
    assert_string_equal(r.note, "a note");
    assert_string_equal(r.name, "the child");
    assert_true(r.best.measured && r.best.v == 0.75);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points WHERE run=3"), 6);
    assert_int_equal(count_of(s, "SELECT count(*) FROM sweep_failure WHERE sweep=1 AND key='3f0c9a' AND reason='no such model'"), 1);
    expect_file(s, 3, "values");
    store_run_release(&r);
    test_ok(store_rename(s, 3, "called otherwise here", NULL, &e), &e);
    close_it(s);
    s = open_at(two, STORE_WRITE);
    test_ok(store_rename(s, parent, "the parent", NULL, &e), &e);
    close_it(s);
    m = merge(one, two); /* once more, and nothing is new but a name where there was none */
    expect(m, 0, 2, STORE_MERGED_SAME), expect(m, 1, 3, STORE_MERGED_SAME);
    store_merge_release(&m);
    s = open_at(one, STORE_READ);
    assert_int_equal(count_of(s, "SELECT count(*) FROM run"), 3);
    assert_int_equal(count_of(s, "SELECT count(*) FROM sweep"), 1);
    assert_int_equal(count_of(s, "SELECT id FROM run WHERE name='the parent'"), 2);
    assert_int_equal(count_of(s, "SELECT id FROM run WHERE name='called otherwise here'"), 3);
    close_it(s);
}

static void the_further_state_wins(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct store *s = open_at(one, STORE_WRITE);
    int64_t id = new_run(s);
    steps(s, id, 1, 3, 1);
    keep_file(s, id, "early");
    change(s, id, STORE_STOPPED, NULL);
    test_ok(store_disown(s, id, &e), &e);
    close_it(s);
    copy(one, two);
    s = open_at(two, STORE_WRITE);
    test_ok(store_adopt_run(s, id, &e), &e);
    steps(s, id, 3, 6, 1);
    keep_file(s, id, "late");
    finish(s, id);
    close_it(s);
    struct store_merge m = merge(two, one);
    expect(m, 0, 1, STORE_MERGED_BEHIND);
    store_merge_release(&m);
    sound = never_sound; /* a further state whose files are damaged takes none that are whole */
    m = merge(one, two);
    sound = NULL;
    expect(m, 0, 1, STORE_MERGED_DAMAGED);
    assert_non_null(m.run[0].damaged);
    store_merge_release(&m);
    s = open_at(one, STORE_READ);
    expect_file(s, 1, "early");
    close_it(s);
    m = merge(one, two);
    expect(m, 0, 1, STORE_MERGED_FURTHER);
    store_merge_release(&m);
    s = open_at(one, STORE_WRITE);
    struct store_run r = whole(s, 1);
    assert_int_equal(r.state, STORE_FINISHED);
    assert_int_equal(r.step, 6);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points"), 6);
    expect_file(s, 1, "late");
    store_run_release(&r);
    close_it(s);
}

static void a_copy_of_another_name_has_its_files(void **state) {
    (void)state;
    char *third = file_join(folder, "three.db");
    struct store *s = open_at(one, STORE_WRITE);
    finish(s, new_run(s));
    int64_t id = new_run(s);
    steps(s, id, 1, 3, 1);
    keep_file(s, id, "values");
    finish(s, id);
    close_it(s);
    copy(one, two);
    s = open_at(third, STORE_WRITE);
    finish(s, new_run(s));
    close_it(s);
    struct store_merge m = merge(third, two);
    expect(m, 1, 3, STORE_MERGED_NEW);
    store_merge_release(&m);
    s = open_at(third, STORE_READ);
    expect_file(s, 3, "values");
    close_it(s), free(third);
}

static void what_went_on_apart_stays(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct store *s = open_at(one, STORE_WRITE);
    int64_t id = new_run(s);
    steps(s, id, 1, 2, 1);
    change(s, id, STORE_STOPPED, NULL);
    test_ok(store_disown(s, id, &e), &e);
    close_it(s);
    copy(one, two);
    for (int i = 0; i < 2; i++) {
        s = open_at(i ? two : one, STORE_WRITE);
        test_ok(store_adopt_run(s, id, &e), &e);
        steps(s, id, 3, 5, i ? 7 : 1);
        finish(s, id);
        close_it(s);
    }
    struct store_merge m = merge(one, two);
    expect(m, 0, 2, STORE_MERGED_APART);
    assert_true(m.run[0].apart == 1 && m.run[0].step == 3);
    store_merge_release(&m);
    m = merge(one, two); /* known by now */
    expect(m, 0, 2, STORE_MERGED_SAME);
    store_merge_release(&m);
    s = open_at(one, STORE_READ);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_runs"), 2);
    assert_int_equal(count_of(s, "SELECT count(DISTINCT uid) FROM v_runs"), 2);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE text LIKE '%and remain separate runs%'"), 2);
    close_it(s);
}

static void files_may_lack_and_come_later(void **state) {
    (void)state;
    struct store *s = open_at(two, STORE_WRITE);
    int64_t id = new_run(s);
    steps(s, id, 1, 2, 1);
    keep_file(s, id, "values");
    finish(s, id);
    close_it(s);
    char *away = xprintf("%s-files", two), *to = xprintf("%s-away", two);
    assert_int_equal(rename(away, to), 0);
    struct store_merge m = merge(one, two);
    expect(m, 0, 1, STORE_MERGED_NEW);
    assert_true(m.run[0].missing_files);
    store_merge_release(&m);
    char *line = xprintf("rm -rf '%s' && mv '%s' '%s'", away, to, away);
    assert_int_equal(system(line), 0);
    m = merge(one, two);
    expect(m, 0, 1, STORE_MERGED_FURTHER);
    assert_false(m.run[0].missing_files);
    store_merge_release(&m);
    s = open_at(one, STORE_READ);
    expect_file(s, 1, "values");
    close_it(s);
    free(line), free(away), free(to);
}

/* A run that is trained meanwhile. */
static void what_is_in_work_is_left_out(void **state) {
    (void)state;
    struct store *s = open_at(two, STORE_WRITE), *into = open_at(one, STORE_WRITE), *from = open_at(two, STORE_READ);
    int64_t id = new_run(s);
    struct store_merge m;
    struct err e = ERR_INIT;
    test_ok(store_merge(into, from, NULL, &m, &e), &e);
    expect(m, 0, 0, STORE_MERGED_BUSY);
    store_merge_release(&m);
    finish(s, id);
    test_ok(store_merge(into, from, NULL, &m, &e), &e);
    expect(m, 0, 1, STORE_MERGED_NEW);
    store_merge_release(&m);
    close_it(s), close_it(into), close_it(from);
}

/* Two copies of a file: neither a run nor what is kept of no run is added again. */
static void copies_are_known(void **state) {
    (void)state;
    struct store *s = open_at(one, STORE_WRITE);
    finish(s, new_run(s));
    close_it(s);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(one, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "INSERT INTO embedding(model,task,split,layer,pool,seed,created,rows,columns,items,data)"
                                  " VALUES('tiny','toys','dev',1,'mean',0,7,1,1,'[]',x'0000803f')", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    copy(one, two);
    struct store_merge m = merge(one, two);
    expect(m, 0, 1, STORE_MERGED_SAME);
    store_merge_release(&m);
    s = open_at(one, STORE_READ);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_embeddings"), 1);
    assert_int_equal(count_of(s, "SELECT count(*) FROM run"), 1);
    close_it(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_and_sweeps_get_new_numbers, make, drop),
        cmocka_unit_test_setup_teardown(the_further_state_wins, make, drop),
        cmocka_unit_test_setup_teardown(a_copy_of_another_name_has_its_files, make, drop),
        cmocka_unit_test_setup_teardown(what_went_on_apart_stays, make, drop),
        cmocka_unit_test_setup_teardown(files_may_lack_and_come_later, make, drop),
        cmocka_unit_test_setup_teardown(copies_are_known, make, drop),
        cmocka_unit_test_setup_teardown(what_is_in_work_is_left_out, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
