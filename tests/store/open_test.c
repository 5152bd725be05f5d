/* Opening: what is refused, what is made, what an older or newer file becomes. */
#include <fcntl.h>
#include <sched.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/db.h"
#include "store/schema.h"
#include "tests/store/support.h"

static void sql_on(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why) != SQLITE_OK) fail_msg("%s", why);
    sqlite3_close(db);
}

static void refused_untouched(const char *path, enum store_mode mode, const char *part) {
    char before[65], after[65];
    struct err e = ERR_INIT;
    struct store *s;
    test_ok(file_sha256(path, before, &e), &e);
    test_refused(store_open(&s, path, mode, &e), ERR_DATABASE, &e, part);
    assert_null(s);
    assert_int_equal(err_exit_code(e.code), 4);
    test_ok(file_sha256(path, after, &e), &e);
    assert_string_equal(before, after);
    char *lock = xprintf("%s-lock", path), *files = xprintf("%s-files", path);
    assert_false(file_exists(lock));
    assert_false(file_exists(files));
    free(lock);
    free(files);
}

static void strangers_files_stay_as_they_are(void **state) {
    (void)state;
    char *folder = test_folder();
    static const char text[] =
        "sentence\tlabel\nsome text that is long enough to fill more than the "
        "hundred bytes of a header, so that only its content tells\t1\n";
    static char zeros[5000];
    char *paths[] = { test_file(folder, "short", "hello", 5),
                      test_file(folder, "text", text, sizeof text),
                      test_file(folder, "zeros", zeros, sizeof zeros) };
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        refused_untouched(paths[i], STORE_WRITE, "not a database");
        refused_untouched(paths[i], STORE_READ, "not a database");
        free(paths[i]);
    }
    char *other = file_join(folder, "other.db");
    sql_on(other, "CREATE TABLE a(b); PRAGMA user_version=7");
    refused_untouched(other, STORE_WRITE, "another program");
    refused_untouched(other, STORE_READ, "another program");
    struct err e = ERR_INIT;
    struct store *s;
    test_refused(store_open(&s, folder, STORE_WRITE, &e), ERR_DATABASE, &e, "a folder, not a database");
    test_refused(store_open(&s, folder, STORE_READ, &e), ERR_DATABASE, &e, "a folder, not a database");
    free(other);
    free(folder);
}

static void an_absent_file_is_made_only_for_writing(void **state) {
    (void)state;
    char *path = fresh_path();
    struct err e = ERR_INIT;
    struct store *s;
    test_refused(store_open(&s, path, STORE_READ, &e), ERR_NOT_FOUND, &e, "the database does not exist yet");
    assert_false(file_exists(path));
    close_it(open_at(path, STORE_WRITE));
    char *wal = xprintf("%s-wal", path);
    assert_false(file_exists(wal)); /* the last one to close moved it into the file */
    close_it(open_at(path, STORE_READ));
    /* one of no bytes is an empty database: what a start that was cut off leaves */
    char *folder = test_folder(), *empty = test_file(folder, "e.db", "", 0);
    close_it(open_at(empty, STORE_WRITE));
    close_it(open_at(empty, STORE_READ));
    free(empty);
    free(folder);
    free(wal);
    free(path);
}

static void a_newer_schema_is_refused(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    finish(s, new_run(s));
    close_it(s);
    char *newer = xprintf("PRAGMA user_version=%d", SCHEMA_VERSION + 1);
    sql_on(path, newer);
    free(newer);
    struct err e = ERR_INIT;
    test_refused(store_open(&s, path, STORE_WRITE, &e), ERR_DATABASE, &e, "newer version of petri");
    s = open_at(path, STORE_READ); /* it says that schema 1 still reads it */
    struct store_run r = whole(s, 1);
    assert_int_equal(r.state, STORE_FINISHED);
    store_run_release(&r);
    close_it(s);
    newer = xprintf("UPDATE meta SET value='%d' WHERE name='oldest_reader'", SCHEMA_VERSION + 1);
    sql_on(path, newer);
    free(newer);
    test_refused(store_open(&s, path, STORE_READ, &e), ERR_DATABASE, &e, "newer version of petri");
    test_refused(store_open(&s, path, STORE_WRITE, &e), ERR_DATABASE, &e, "newer version of petri");
    free(path);
}

/* Tables and version number come in one transaction: a file that another one is in the way of stays without both. */
static void tables_are_made_whole_or_not_at_all(void **state) {
    (void)state;
    char *folder = test_folder(), *path = test_file(folder, "m.db", "", 0);
    struct err e = ERR_INIT;
    sqlite3 *db;
    int64_t n;
    test_ok(db_open_writer(path, &db, &e), &e);
    test_ok(db_exec(db, "CREATE TABLE meta(a)", &e), &e);
    test_refused(schema_make(db, &e), ERR_DATABASE, &e, "meta");
    test_ok(db_int(db, &e, &n, -1, "PRAGMA user_version", ""), &e);
    assert_int_equal(n, 0);
    test_ok(db_exec(db, "DROP TABLE meta; CREATE TABLE matrix(a)", &e), &e);
    test_refused(schema_make(db, &e), ERR_DATABASE, &e, "matrix");
    test_ok(db_int(db, &e, &n, -1, "SELECT count(*) FROM sqlite_schema", ""), &e);
    assert_int_equal(n, 1);
    test_ok(db_exec(db, "DROP TABLE matrix", &e), &e);
    test_ok(schema_make(db, &e), &e);
    test_ok(db_int(db, &e, &n, -1, "PRAGMA user_version", ""), &e);
    assert_int_equal(n, SCHEMA_VERSION);
    db_close(db);
    free(path);
    free(folder);
}

/* A file of an earlier version, which had another application_id, is refused with what to do, and stays as it is. */
static void a_file_of_an_earlier_version_is_refused(void **state) {
    (void)state;
    char *folder = test_folder(), *path = file_join(folder, "old.db");
    sql_on(path, "CREATE TABLE run(a); PRAGMA application_id=0x50545249; PRAGMA user_version=1");
    refused_untouched(path, STORE_WRITE, "written by an earlier version of petri; export its runs with that version");
    refused_untouched(path, STORE_READ, "petri import FILE");
    free(path);
    free(folder);
}

static void two_that_start_at_once_make_one_file(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        char *path = fresh_path();
        pid_t child[4];
        int start[2];
        assert_int_equal(pipe(start), 0);
        for (int i = 0; i < 4; i++) {
            child[i] = fork();
            if (child[i]) continue;
            char go;
            close(start[1]);
            if (read(start[0], &go, 1) < 0) _exit(2);
            struct store *s;
            struct err e = ERR_INIT;
            struct store_new_run n = plain_run();
            int64_t id;
            if (store_open(&s, path, STORE_WRITE, &e) || store_create_run(s, &n, &id, &e) ||
                store_close(s, &e)) {
                fprintf(stderr, "%s\n", e.text);
                _exit(1);
            }
            _exit(0);
        }
        close(start[0]);
        close(start[1]);
        for (int i = 0; i < 4; i++) {
            int status;
            assert_int_equal(waitpid(child[i], &status, 0), child[i]);
            assert_int_equal(status, 0);
        }
        struct store *s = open_at(path, STORE_WRITE);
        struct store_runs list;
        struct err e = ERR_INIT;
        test_ok(store_list(s, &(struct store_list){ 0 }, &list, &e), &e);
        assert_int_equal(list.count, 4);
        for (size_t i = 0; i < 4; i++) assert_int_equal(list.run[i].state, STORE_INTERRUPTED);
        store_runs_release(&list);
        assert_whole(s);
        close_it(s);
        free(path);
    }
}

static void a_folder_that_cannot_be_written(void **state) {
    (void)state;
    char *folder = test_folder(), *path = file_join(folder, "runs.db");
    pid_t child = fork();
    if (!child) {
        small_disk(folder, "4m");
        struct store *s;
        struct err e = ERR_INIT;
        struct store_new_run n = plain_run();
        struct store_runs list;
        int64_t id;
        if (store_open(&s, path, STORE_WRITE, &e) || store_create_run(s, &n, &id, &e) ||
            store_close(s, &e))
            _exit(1);
        if (mount("none", folder, NULL, MS_REMOUNT | MS_RDONLY, NULL)) _exit(77);
        if (store_open(&s, path, STORE_WRITE, &e) != ERR_SYSTEM ||
            !strstr(e.text, "not writable") || !strstr(e.text, "--db")) {
            fprintf(stderr, "%s\n", e.text);
            _exit(2);
        }
        if (store_open(&s, path, STORE_READ, &e) ||
            store_list(s, &(struct store_list){ 0 }, &list, &e)) {
            fprintf(stderr, "%s\n", e.text);
            _exit(3);
        }
        /* the mark could not be written, but no dead run is shown as running */
        if (list.count != 1 || list.run[0].state != STORE_INTERRUPTED) _exit(4);
        char *fresh = file_join(folder, "other/new.db");
        if (store_open(&s, fresh, STORE_WRITE, &e) != ERR_SYSTEM) _exit(5);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(path);
    free(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) test_skip("mounting needs root");
    assert_int_equal(status, 0);
}

static void damage_is_found(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    int loss = key_of(s, "loss", -1);
    for (int i = 1; i <= 3000; i++) point(s, id, i, loss, i);
    close_it(s);
    s = open_at(path, STORE_READ);
    struct store_health h;
    struct err e = ERR_INIT;
    test_ok(store_check(s, &h, &e), &e);
    assert_true(h.whole);
    assert_int_equal(h.points, 3000);
    assert_int_equal(h.schema, SCHEMA_VERSION);
    assert_string_equal(h.journal, "wal");
    close_it(s);
    sql_on(path, "UPDATE summary SET count=7");
    s = open_at(path, STORE_READ);
    test_ok(store_check(s, &h, &e), &e);
    assert_false(h.whole);
    assert_non_null(strstr(h.problem, "counts 7"));
    close_it(s);
    int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    struct stat st;
    fstat(fd, &st);
    static const char junk[4096] = { 42, 42, 42 };
    for (off_t at = st.st_size - 5 * 4096; at < st.st_size - 4096; at += 4096)
        assert_int_equal(pwrite(fd, junk, sizeof junk, at), sizeof junk);
    close(fd);
    s = open_at(path, STORE_READ);
    test_ok(store_check(s, &h, &e), &e);
    assert_false(h.whole);
    assert_true(h.problem[0]);
    close_it(s);
    free(path);
}

static void refused_by_name(const char *path, enum store_mode mode, const char *name, const char *part) {
    struct err e = ERR_INIT;
    struct store *s;
    test_refused(store_open(&s, path, mode, &e), ERR_DATABASE, &e, part);
    if (strncmp(e.text, name, strlen(name))) fail_msg("not of %s: %s", name, e.text);
}

/* SQLite names only the database, or begins a journal that is none anew. */
static void what_stands_beside_it_is_named(void **state) {
    (void)state;
    for (int shm = 0; shm < 2; shm++) {
        char *path = fresh_path(), *file = xprintf("%s-%s", path, shm ? "shm" : "wal");
        struct err e = ERR_INIT;
        close_it(open_at(path, STORE_WRITE));
        test_ok(file_make_folder(file, &e), &e);
        refused_by_name(path, STORE_WRITE, file, "not a regular file");
        if (!shm) refused_by_name(path, STORE_READ, file, "not a regular file");
        assert_int_equal(rmdir(file), 0);
        if (!shm) {
            static const char text[] = "no journal, but more than its header of 32 bytes";
            char *folder = xstrndup(path, (size_t)(strrchr(path, '/') - path));
            free(test_file(folder, "runs.db-wal", text, sizeof text));
            free(folder);
            refused_by_name(path, STORE_WRITE, file, "not an SQLite write-ahead log");
            refused_by_name(path, STORE_READ, file, "not an SQLite write-ahead log");
            struct buf kept;
            test_ok(file_read(file, 4096, &kept, &e), &e);
            assert_memory_equal(kept.data, text, sizeof text);
            buf_release(&kept);
            /* one that was made and not yet written */
            assert_int_equal(truncate(file, 0) || truncate(file, 4096), 0);
            close_it(open_at(path, STORE_WRITE));
        }
        free(file);
        free(path);
    }
}

/* As another user than the superuser, who may read everything. */
static void what_may_not_be_read_is_named(void **state) {
    (void)state;
    char *folder = test_folder(), *path = file_join(folder, "runs.db"), *below = file_join(path, "x.db");
    close_it(open_at(path, STORE_WRITE));
    refused_by_name(below, STORE_READ, below, "Not a directory");
    refused_by_name(below, STORE_WRITE, below, "Not a directory");
    refused_by_name("/dev/null", STORE_READ, "/dev/null", "not a regular file");
    assert_int_equal(chmod(path, 0), 0);
    pid_t child = fork();
    if (!child) {
        if (!geteuid() && (chmod(folder, 0755) || setuid(65534))) _exit(77);
        struct store *s;
        struct err e = ERR_INIT;
        if (store_open(&s, path, STORE_READ, &e) != ERR_DATABASE || !strstr(e.text, path)) {
            fprintf(stderr, "%d %s\n", e.code, e.text);
            _exit(access(folder, X_OK) ? 77 : 1);
        }
        _exit(store_open(&s, path, STORE_WRITE, &e) == ERR_DATABASE && strstr(e.text, path) ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(below);
    free(path);
    free(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) test_skip("the folder cannot be entered by another user");
    assert_int_equal(status, 0);
}

static void network_folders_are_known(void **state) {
    (void)state;
    assert_true(db_is_network_magic(0x6969));
    assert_true(db_is_network_magic(0xFF534D42));
    assert_true(db_is_network_magic((unsigned long)(int32_t)0xFF534D42)); /* as a signed word */
    assert_false(db_is_network_magic(0xEF53)); /* ext4 */
    assert_false(db_is_network_magic(0x01021994)); /* tmpfs */
    assert_string_equal(db_journal_for("/proc"), "wal");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strangers_files_stay_as_they_are),
        cmocka_unit_test(an_absent_file_is_made_only_for_writing),
        cmocka_unit_test(a_newer_schema_is_refused),
        cmocka_unit_test(tables_are_made_whole_or_not_at_all),
        cmocka_unit_test(a_file_of_an_earlier_version_is_refused),
        cmocka_unit_test(two_that_start_at_once_make_one_file),
        cmocka_unit_test(a_folder_that_cannot_be_written),
        cmocka_unit_test(damage_is_found),
        cmocka_unit_test(what_stands_beside_it_is_named),
        cmocka_unit_test(what_may_not_be_read_is_named),
        cmocka_unit_test(network_folders_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
