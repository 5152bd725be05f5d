/* Long readers, locks that others hold, copies, and trying again and again. */
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/store/support.h"

static void sleep_ms(long ms) { nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL); }

static int64_t journal_of(const char *path) {
    char *wal = xprintf("%s-wal", path);
    struct stat st;
    int64_t bytes = stat(wal, &st) ? 0 : (int64_t)st.st_size;
    free(wal);
    return bytes;
}

static sqlite3 *connection(const char *path, const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    if (sqlite3_exec(db, sql, NULL, NULL, NULL)) fail_msg("%s", sqlite3_errmsg(db));
    return db;
}

static void a_journal_is_cut_once_its_reader_is_gone(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    flush_it(s);
    sqlite3 *reader = connection(path, "BEGIN; SELECT count(*) FROM run");
    enum { TEXT = 1 << 20 };
    char *text = xmalloc(TEXT + 1);
    memset(text, 'x', TEXT);
    text[TEXT] = '\0';
    for (int i = 0; i < 24; i++) {
        assert_int_equal(store_message(s, id, i, text), 0);
        flush_it(s);
    }
    free(text);
    assert_true(journal_of(path) > 20 << 20);
    sleep_ms(1500); /* it cannot be cut yet, and that is no trouble */
    assert_true(journal_of(path) > 20 << 20);
    struct store_status st;
    store_status(s, &st);
    assert_int_equal(st.condition, STORE_OK);
    sqlite3_close(reader);
    for (int tries = 0; tries < 100 && journal_of(path) > 16 << 20; tries++) sleep_ms(100);
    assert_true(journal_of(path) <= 16 << 20); /* though nothing more was written */
    point(s, id, 1, key_of(s, "loss", -1), 1);
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='message'"), 24);
    assert_whole(s);
    close_it(s);
    free(path);
}

struct holder {
    const char *path;
    bool lock; /* the lock file; else SQLite's own */
    pthread_barrier_t held;
};

static void *hold(void *arg) {
    struct holder *h = arg;
    struct err e = ERR_INIT;
    char *lock_path = xprintf("%s-lock", h->path);
    int fd = -1;
    sqlite3 *db = NULL;
    if (h->lock) test_ok(file_lock(lock_path, true, &fd, &e), &e);
    else db = connection(h->path, "BEGIN IMMEDIATE");
    pthread_barrier_wait(&h->held);
    sleep_ms(1600);
    file_unlock(fd);
    sqlite3_close(db);
    free(lock_path);
    return NULL;
}

struct told {
    int times;
    char text[1024];
};

static void listen(void *self, const char *text) {
    struct told *t = self;
    t->times++;
    snprintf(t->text, sizeof t->text, "%s", text);
}

static void waiting_is_said_after_a_second(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    struct told told = { 0 };
    struct store_wait before = store_on_wait((struct store_wait){ &told, listen });
    struct err e = ERR_INIT;
    test_ok(store_note(s, id, "at once", &e), &e);
    assert_int_equal(told.times, 0);
    for (int lock = 0; lock < 2; lock++) {
        struct holder h = { .path = path, .lock = lock };
        pthread_t thread;
        pthread_barrier_init(&h.held, NULL, 2);
        told.times = 0;
        assert_int_equal(pthread_create(&thread, NULL, hold, &h), 0);
        pthread_barrier_wait(&h.held);
        test_ok(store_note(s, id, "later", &e), &e);
        pthread_join(thread, NULL);
        pthread_barrier_destroy(&h.held);
        assert_int_equal(told.times, 1);
        assert_non_null(strstr(told.text, path));
        assert_non_null(strstr(told.text, "locked by another program; waiting"));
    }
    store_on_wait(before);
    close_it(s);
    free(path);
}

struct hammer {
    struct store *store;
    int64_t run;
    atomic_bool stop;
    atomic_int times;
};

static void *write_without_pause(void *arg) {
    struct hammer *h = arg;
    struct err e = ERR_INIT;
    enum { LONG = 4 << 20 }; /* so that the lock is held for nearly all of the time */
    char *text = xmalloc(LONG + 1);
    memset(text, 'x', LONG);
    text[LONG] = '\0';
    for (; !atomic_load(&h->stop); h->times++) test_ok(store_note(h->store, h->run, text, &e), &e);
    free(text);
    return NULL;
}

/* A lock has no queue: who writes without pause leaves it to others now and then. */
static void who_writes_without_pause_keeps_nobody_waiting(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *busy = open_at(path, STORE_WRITE), *other = open_at(path, STORE_WRITE);
    struct hammer h = { .store = busy, .run = new_run(busy) };
    int64_t id = new_run(other), worst = 0;
    pthread_t thread;
    struct err e = ERR_INIT;
    assert_int_equal(pthread_create(&thread, NULL, write_without_pause, &h), 0);
    for (int i = 0; i < 12; i++) {
        while (atomic_load(&h.times) < 2 * i) sleep_ms(1);
        int64_t from = clock_ms();
        test_ok(store_note(other, id, "once", &e), &e);
        if (clock_ms() - from > worst) worst = clock_ms() - from;
    }
    atomic_store(&h.stop, true);
    pthread_join(thread, NULL);
    printf("%d transactions meanwhile; waited at most %lld ms\n", h.times, (long long)worst);
    assert_true(worst < 800 * TEST_PATIENCE);
    close_it(other);
    close_it(busy);
    free(path);
}

static void copy_file(const char *from, const char *to) {
    struct buf bytes;
    struct err e = ERR_INIT;
    test_ok(file_read(from, 1 << 26, &bytes, &e), &e);
    test_ok(file_write(to, bytes.data, bytes.size, &e), &e);
    buf_release(&bytes);
}

/* The run's writer is gone, for who reads the history at `path`. */
static void is_gone(const char *path, int64_t run) {
    struct store *s = open_at(path, STORE_READ);
    struct store_run r = whole(s, run);
    assert_non_null(strstr(r.reason, "ended unexpectedly"));
    store_run_release(&r);
    close_it(s);
}

static void a_copy_made_while_a_run_trains_says_so(void **state) {
    (void)state;
    for (int mode = STORE_READ; mode <= STORE_WRITE; mode++) {
        char *path = fresh_path(), *copy = fresh_path();
        close_it(open_at(copy, STORE_WRITE)); /* makes the folder */
        struct store *s = open_at(path, STORE_WRITE);
        int64_t id = new_run(s), over = new_run(s);
        change(s, id, STORE_RUNNING, NULL);
        finish(s, over);
        char *wal = xprintf("%s-wal", path), *copied_wal = xprintf("%s-wal", copy);
        copy_file(path, copy);
        copy_file(wal, copied_wal);
        struct store *c = open_at(copy, (enum store_mode)mode);
        struct store_run r = whole(c, id);
        assert_int_equal(r.state, STORE_INTERRUPTED);
        assert_non_null(strstr(r.reason, "is a copy"));
        assert_non_null(strstr(r.reason, path));
        store_run_release(&r);
        r = whole(c, over);
        assert_int_equal(r.state, STORE_FINISHED);
        store_run_release(&r);
        close_it(c);
        r = whole(s, id);
        assert_int_equal(r.state, STORE_RUNNING);
        store_run_release(&r);
        /* the copy is a history of its own from here on */
        c = open_at(copy, STORE_WRITE);
        int64_t own = new_run(c);
        close_it(c);
        is_gone(copy, own);
        close_it(s);
        free(copied_wal);
        free(wal);
        free(copy);
        free(path);
    }
}

static void a_moved_history_is_no_copy(void **state) {
    (void)state;
    char *path = fresh_path(), *moved = xprintf("%s.moved", path), *again = xprintf("%s.link", path);
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    close_it(s);
    assert_int_equal(rename(path, moved), 0);
    is_gone(moved, id);
    /* by another name, it is the same file */
    assert_int_equal(symlink(moved, again), 0);
    s = open_at(again, STORE_WRITE);
    int64_t second = new_run(s);
    close_it(s);
    is_gone(moved, second);
    free(again);
    free(moved);
    free(path);
}

static void step_to(struct store *s, int64_t run, int64_t step, enum store_state to, const char *why) {
    struct store_change c = { .run = run, .step = step, .state = to, .seconds = -1, .reason = why };
    assert_int_equal(store_change(s, &c), 0);
}

static void trying_again_does_not_fill_the_log(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    static const char why[] = "no checkpoint: the disk is full";
    step_to(s, id, 0, STORE_RUNNING, NULL);
    for (int i = 0; i < 100; i++) {
        step_to(s, id, 5, STORE_PAUSED, why);
        step_to(s, id, 5, STORE_RUNNING, NULL);
    }
    step_to(s, id, 5, STORE_PAUSED, why);
    flush_it(s);
    struct store_run r = whole(s, id);
    assert_int_equal(r.state, STORE_PAUSED);
    assert_string_equal(r.reason, why);
    store_run_release(&r);
    /* queued, running, paused */
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events"), 3);
    /* what did change something is told: it goes on, stops elsewhere, is paused by its user */
    step_to(s, id, 5, STORE_RUNNING, NULL);
    step_to(s, id, 9, STORE_PAUSED, why);
    for (int i = 0; i < 3; i++) {
        step_to(s, id, 9, STORE_RUNNING, NULL);
        step_to(s, id, 9, STORE_PAUSED, NULL);
    }
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events"), 11);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_journal_is_cut_once_its_reader_is_gone),
        cmocka_unit_test(waiting_is_said_after_a_second),
        cmocka_unit_test(who_writes_without_pause_keeps_nobody_waiting),
        cmocka_unit_test(a_copy_made_while_a_run_trains_says_so),
        cmocka_unit_test(a_moved_history_is_no_copy),
        cmocka_unit_test(trying_again_does_not_fill_the_log),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
