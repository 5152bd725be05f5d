/* Shelves: a record is what was put there or absent, whatever became of the file; and the folder keeps its limit. */
#include "core/base/shelf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"

enum { RECORDS = 20, ALL = RECORDS * (RECORDS + 1) / 2, UNIT = 8, MB = 1 << 20 };
static size_t start[RECORDS + 1];

static int count_up(void **state) {
    (void)state;
    for (size_t i = 0; i < RECORDS; i++) start[i + 1] = start[i] + i + 1;
    return 0;
}

/* Record i of a shelf is i+1 times this. */
static uint64_t value(int of, size_t i) { return (uint64_t)of * 1000 + i; }

static void put(struct shelf *s, int of, size_t i) {
    struct err e = ERR_INIT;
    uint64_t x[RECORDS];
    for (size_t k = 0; k <= i; k++) x[k] = value(of, i);
    test_ok(shelf_write(s, i, x, &e), &e);
}

/* Whether record i is there; then it must be right. */
static bool there(const struct shelf *s, int of, size_t i) {
    uint64_t x[RECORDS];
    if (!shelf_read(s, i, x)) return false;
    for (size_t k = 0; k <= i; k++) assert_true(x[k] == value(of, i));
    return true;
}

static int count_there(const struct shelf *s, int of) {
    int n = 0;
    for (size_t i = 0; i < RECORDS; i++) n += there(s, of, i);
    return n;
}

static struct shelf *opened(const char *folder, const char *text) {
    struct err e = ERR_INIT;
    struct shelf *s = shelf_open(folder, text, RECORDS, start, UNIT, MB, &e);
    if (!s) fail_msg("%s", e.text);
    return s;
}

/* The one shelf's file; caller frees. */
static char *only_file(const char *folder) {
    char *line = xprintf("ls -d %s/*.shelf", folder), path[512];
    FILE *f = popen(line, "r");
    assert_non_null(fgets(path, sizeof path, f));
    pclose(f);
    free(line);
    path[strcspn(path, "\n")] = '\0';
    return xstrdup(path);
}

static void what_is_put_is_there(void **state) {
    (void)state;
    char *folder = test_folder();
    struct shelf *s = opened(folder, "a\n"), *other = opened(folder, "b\n");
    assert_int_equal(count_there(s, 1), 0);
    for (size_t i = 0; i < RECORDS; i += 2) put(s, 1, i);
    put(other, 2, 3);
    assert_int_equal(count_there(s, 1), RECORDS / 2);
    assert_int_equal(count_there(other, 2), 1);
    shelf_close(s);
    s = opened(folder, "a\n");
    assert_int_equal(count_there(s, 1), RECORDS / 2);
    assert_true(there(s, 1, 4) && !there(s, 1, 5));
    size_t n;
    assert_true(shelf_usage(folder, &n) > 0);
    assert_int_equal(n, 2);
    assert_true(shelf_empty(s));
    assert_int_equal(count_there(s, 1), 0);
    shelf_close(s);
    shelf_close(other);
    free(folder);
}

/* A byte anywhere, a cut anywhere: what is read is right, and what is put again is there. */
static void damage_is_absence(void **state) {
    (void)state;
    char *folder = test_folder();
    struct shelf *s = opened(folder, "a\n");
    for (size_t i = 0; i < RECORDS; i++) put(s, 1, i);
    shelf_close(s);
    char *path = only_file(folder);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    for (off_t at = 0; at < st.st_size; at += 97) {
        int fd = open(path, O_RDWR);
        char byte;
        assert_int_equal(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        close(fd);
        s = opened(folder, "a\n");
        assert_int_equal(count_there(s, 1), at < 1024 ? 0 : RECORDS - 1);
        for (size_t i = 0; i < RECORDS; i++) put(s, 1, i);
        assert_int_equal(count_there(s, 1), RECORDS);
        shelf_close(s);
    }
    for (off_t to = st.st_size - 1; to > 0; to = to * 2 / 3) {
        assert_int_equal(truncate(path, to), 0);
        s = opened(folder, "a\n");
        assert_true(count_there(s, 1) < RECORDS);
        shelf_close(s);
    }
    free(path);
    free(folder);
}

/* Another's records under this name: the head is not enough to be believed. */
static void anothers_records_are_absent(void **state) {
    (void)state;
    char *folder = test_folder(), *apart = test_folder();
    struct shelf *s = opened(folder, "a\n"), *other = opened(apart, "b\n");
    for (size_t i = 0; i < RECORDS; i++) put(other, 2, i);
    char *path = only_file(folder), *from = only_file(apart);
    char *line = xprintf("tail -c +1025 %s >> %s", from, path);
    assert_int_equal(system(line), 0);
    assert_int_equal(count_there(s, 1), 0);
    shelf_close(s);
    shelf_close(other);
    free(line);
    line = xprintf("cp %s %s", from, path);
    assert_int_equal(system(line), 0);
    s = opened(folder, "a\n");
    assert_int_equal(count_there(s, 1), 0);
    put(s, 1, 1);
    assert_int_equal(count_there(s, 1), 1);
    shelf_close(s);
    free(line);
    free(path);
    free(from);
    free(apart);
    free(folder);
}

static void what_cannot_be_used_is_told(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_folder(), *elsewhere = test_folder();
    shelf_close(opened(folder, "a\n"));
    char *path = only_file(folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(symlink("/dev/null", path), 0);
    assert_null(shelf_open(folder, "a\n", RECORDS, start, UNIT, MB, &e));
    test_refused(e.code, ERR_SYSTEM, &e, path);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_null(shelf_open(folder, "a\n", RECORDS, start, UNIT, MB, &e));
    test_refused(e.code, ERR_SYSTEM, &e, path);
    test_put(elsewhere, "file", "no folder");
    char *below = xprintf("%s/file/x", elsewhere);
    assert_null(shelf_open(below, "a\n", RECORDS, start, UNIT, MB, &e));
    assert_true(e.code != 0);
    free(below);
    free(path);
    free(elsewhere);
    free(folder);
}

/* Processes that fill one shelf at once, from both ends. */
static void many_fill_one(void **state) {
    (void)state;
    enum { WRITERS = 4, ROUNDS = 30 };
    char *folder = test_folder();
    pid_t child[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w]) continue;
        for (int r = 0; r < ROUNDS; r++) {
            struct shelf *s = opened(folder, "a\n");
            for (size_t i = 0; i < RECORDS; i++) put(s, 1, w % 2 ? i : RECORDS - 1 - i);
            if (count_there(s, 1) < RECORDS) _exit(1);
            shelf_close(s);
        }
        _exit(0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status;
        assert_int_equal(waitpid(child[w], &status, 0), child[w]);
        assert_int_equal(status, 0);
    }
    struct shelf *s = opened(folder, "a\n");
    assert_int_equal(count_there(s, 1), RECORDS);
    shelf_close(s);
    free(folder);
}

/* ---- the limit ---- */

/* Records of 64 KB each. */
enum { LARGE = 32, LARGE_BYTES = 1 << 16 };
static size_t large_start[LARGE + 1];

static struct shelf *large(const char *folder, int of, uint64_t limit) {
    struct err e = ERR_INIT;
    char text[16];
    snprintf(text, sizeof text, "large %d\n", of);
    for (size_t i = 0; i <= LARGE; i++) large_start[i] = i;
    struct shelf *s = shelf_open(folder, text, LARGE, large_start, LARGE_BYTES, limit, &e);
    if (!s) fail_msg("%s", e.text);
    return s;
}

/* Fills as many as are taken; returns how many are there afterwards. */
static int fill(struct shelf *s, struct err *e) {
    char *record = xcalloc(1, LARGE_BYTES), *out = xcalloc(1, LARGE_BYTES);
    int n = 0;
    for (size_t i = 0; i < LARGE; i++) {
        memset(record, (int)i + 1, LARGE_BYTES);
        shelf_write(s, i, record, e);
    }
    for (size_t i = 0; i < LARGE; i++) {
        memset(record, (int)i + 1, LARGE_BYTES);
        if (!shelf_read(s, i, out)) continue;
        assert_memory_equal(out, record, LARGE_BYTES);
        n++;
    }
    free(record);
    free(out);
    return n;
}

static void the_folder_keeps_its_limit(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    size_t n;
    struct shelf *s = large(folder, 1, MB);
    int taken = fill(s, &e);
    assert_true(taken >= 10 && taken < LARGE);
    test_refused(e.code, ERR_SYSTEM, &e, "the cache is full: the limit is 1 MB");
    assert_true(shelf_usage(folder, &n) <= MB);
    /* one that is open stays; once it is closed it makes room for others */
    struct shelf *second = large(folder, 2, MB);
    assert_true(fill(second, &e) < 5);
    shelf_close(second);
    assert_int_equal(fill(s, &e), taken);
    shelf_close(s);
    second = large(folder, 3, MB);
    assert_true(fill(second, &e) >= 10);
    assert_true(shelf_usage(folder, &n) <= MB);
    shelf_close(second);
    free(folder);
}

static void what_was_used_longest_ago_goes_first(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    for (int of = 1; of <= 3; of++) {
        struct shelf *s = large(folder, of, 16 * MB);
        assert_int_equal(fill(s, &e), LARGE);
        shelf_close(s);
        usleep(20000);
    }
    shelf_close(large(folder, 1, 16 * MB)); /* used again */
    usleep(20000);
    struct shelf *s = large(folder, 4, 7 * MB);
    assert_int_equal(fill(s, &e), LARGE);
    shelf_close(s);
    static const int left[] = { 0, LARGE, 0, LARGE, LARGE };
    for (int of = 1; of <= 4; of++) {
        char *record = xmalloc(LARGE_BYTES);
        int n = 0;
        s = large(folder, of, 16 * MB);
        for (size_t i = 0; i < LARGE; i++) n += shelf_read(s, i, record);
        assert_int_equal(n, left[of]);
        shelf_close(s);
        free(record);
    }
    /* a smaller limit holds at once */
    s = large(folder, 4, MB);
    size_t n;
    assert_true(shelf_usage(folder, &n) <= MB);
    shelf_close(s);
    free(folder);
}

/* However small: each is looked at again and again. */
static void small_ones_do_not_pile_up(void **state) {
    (void)state;
    if (!test_slow()) test_skip("so many files are in make test-slow");
    char *folder = test_folder(), *line = xprintf("cd %s && touch $(seq -f %%g.shelf 1100)", folder);
    assert_int_equal(system(line), 0);
    free(line);
    shelf_close(opened(folder, "a\n"));
    size_t n;
    shelf_usage(folder, &n);
    assert_true(n <= 1025);
    free(folder);
}

/* A file that is taken away from under who fills it is not filled on: nobody would count it. */
static void what_was_taken_away_takes_no_more(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    struct shelf *s = large(folder, 1, MB);
    char *path = only_file(folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(fill(s, &e), 0);
    test_refused(e.code, ERR_SYSTEM, &e, "removed while it was being written");
    shelf_close(s);
    free(path);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_put_is_there),
        cmocka_unit_test(damage_is_absence),
        cmocka_unit_test(anothers_records_are_absent),
        cmocka_unit_test(what_cannot_be_used_is_told),
        cmocka_unit_test(many_fill_one),
        cmocka_unit_test(the_folder_keeps_its_limit),
        cmocka_unit_test(what_was_used_longest_ago_goes_first),
        cmocka_unit_test(small_ones_do_not_pile_up),
        cmocka_unit_test(what_was_taken_away_takes_no_more),
    };
    return cmocka_run_group_tests(tests, count_up, NULL);
}
