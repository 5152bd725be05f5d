/* What could not be written is told, waits or is left out by itself: nothing is lost in silence. */
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

/* No file may grow: as on a full disk. */
static void disk_is_full(bool full) {
    static struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    if (full) assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    struct rlimit none = { 0, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, full ? &none : &before), 0);
}

static void names_of_points_wait_for_room(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    disk_is_full(true);
    int early = key_of(s, "early", -1);
    disk_is_full(false);
    int64_t id = new_run(s);
    flush_it(s);
    disk_is_full(true);
    int late = key_of(s, "late", -1);
    assert_int_not_equal(early, late);
    assert_int_equal(key_of(s, "early", -1), early);
    for (int i = 1; i <= 5; i++) {
        point(s, id, i, early, i);
        point(s, id, i, late, i);
    }
    struct err e = ERR_INIT;
    test_refused(store_flush(s, &e), ERR_SYSTEM, &e, "disk is full");
    disk_is_full(false);
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points WHERE key='early'"), 5);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points WHERE key='late'"), 5);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void a_run_that_could_not_be_made_leaves_nothing(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct store_new_run n = plain_run();
    struct err e = ERR_INIT;
    int64_t id = 0;
    n.note = "a note";
    disk_is_full(true);
    test_refused(store_create_run(s, &n, &id, &e), ERR_SYSTEM, &e, "disk is full");
    disk_is_full(false);
    char *folder = store_run_folder(s, 1);
    assert_false(file_exists(folder));
    assert_int_equal(count_of(s, "SELECT count(*) FROM run"), 0);
    /* a note that cannot be kept keeps the run from being made: none stays queued without it */
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "CREATE TRIGGER t BEFORE INSERT ON note BEGIN SELECT abs(-9223372036854775808); END",
                                  NULL, NULL, NULL), SQLITE_OK);
    test_refused(store_create_run(s, &n, &id, &e), ERR_DATABASE, &e, "overflow");
    assert_false(file_exists(folder));
    assert_int_equal(count_of(s, "SELECT count(*) FROM run"), 0);
    assert_int_equal(sqlite3_exec(db, "DROP TRIGGER t", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    test_ok(store_create_run(s, &n, &id, &e), &e);
    struct store_run r = whole(s, id);
    assert_string_equal(r.note, "a note");
    store_run_release(&r);
    close_it(s);
    free(folder);
    free(path);
}

/* `sql` makes the record of step 7 one that can never be written. */
static void expect_left_out(const char *sql, const char *why) {
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    int loss = key_of(s, "loss", -1);
    flush_it(s);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(db));
    sqlite3_close(db);
    for (int i = 1; i <= 20; i++) point(s, id, i, loss, i);
    change(s, id, STORE_FINISHED, NULL);
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points"), 19);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points WHERE step=7"), 0);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_runs WHERE state='finished'"), 1);
    char *told = xprintf("SELECT count(*) FROM v_events WHERE step=7 AND text LIKE '%%was dropped%%%s%%'", why);
    assert_int_equal(count_of(s, told), 1);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='message'"), 1);
    struct store_status st;
    store_status(s, &st);
    assert_int_equal(st.condition, STORE_OK);
    assert_int_equal(st.waiting, 0);
    assert_int_equal(st.left_out, 1);
    assert_non_null(strstr(st.left_out_why, why));
    assert_whole(s);
    struct err e = ERR_INIT;
    test_refused(store_close(s, &e), ERR_DATABASE, &e, "could not be saved");
    free(told);
    free(path);
}

static void a_record_that_can_never_be_written_holds_up_no_other(void **state) {
    (void)state;
    expect_left_out("CREATE TRIGGER t BEFORE INSERT ON metric WHEN new.step=7"
                    " BEGIN SELECT abs(-9223372036854775808); END", "overflow");
    expect_left_out("CREATE TRIGGER t BEFORE INSERT ON metric WHEN new.step=7"
                    " BEGIN SELECT RAISE(ABORT,'not this one'); END", "not this one");
}

static void records_of_a_deleted_run_are_passed_over(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t gone = new_run(s), stays = new_run(s);
    int loss = key_of(s, "loss", -1);
    flush_it(s);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "PRAGMA foreign_keys=ON; DELETE FROM run WHERE id=1", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    for (int i = 1; i <= 3; i++) {
        point(s, gone, i, loss, i);
        point(s, stays, i, loss, i);
    }
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points"), 3);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='message'"), 0);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_of_points_wait_for_room),
        cmocka_unit_test(a_run_that_could_not_be_made_leaves_nothing),
        cmocka_unit_test(a_record_that_can_never_be_written_holds_up_no_other),
        cmocka_unit_test(records_of_a_deleted_run_are_passed_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
