/* Nothing that was acknowledged is lost: kill -9, a full disk, many writers. */
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "tests/store/support.h"

static void sleep_us(long us) {
    nanosleep(&(struct timespec){ us / 1000000, us % 1000000 * 1000 }, NULL);
}

/* What a child may have written before it is killed: shared with its parent. */
struct shared {
    volatile int64_t run, acknowledged;
};

static struct shared *share(void) {
    void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                   -1, 0);
    assert_true(p != MAP_FAILED);
    return p;
}

/* A child's run of `last` steps; 0 when all went well. */
static int log_run(const char *path, struct shared *shared, int64_t last) {
    struct store *s;
    struct err e = ERR_INIT;
    struct store_new_run n = plain_run();
    int64_t id;
    if (store_open(&s, path, STORE_WRITE, &e) || store_create_run(s, &n, &id, &e)) return 1;
    int key = store_key(s, "loss", -1, false, &e);
    struct store_change c = { .run = id, .step = -1, .state = STORE_RUNNING, .seconds = -1 };
    store_change(s, &c);
    shared->run = id;
    for (int64_t step = 1; step <= last; step++) {
        struct store_step p = { .run = id, .step = step, .count = 1, .key = { key },
                                .value = { (double)step } };
        if (store_step(s, &p)) return 2;
        if (step % 37) continue;
        if (store_flush(s, &e)) return 3;
        shared->acknowledged = step;
    }
    c.state = STORE_FINISHED;
    store_change(s, &c);
    return store_disown(s, id, &e) || store_close(s, &e) ? 4 : 0;
}

static void check_points(struct store *s, int64_t run, int64_t at_least) {
    struct store_points p;
    struct err e = ERR_INIT;
    test_ok(store_points(s, run, "loss", 0, &p, &e), &e);
    assert_true((int64_t)p.count >= at_least);
    for (size_t i = 0; i < p.count; i++) {
        assert_int_equal(p.step[i], i + 1); /* whole, in order, none twice */
        assert_true(p.value[i] == (double)(i + 1));
    }
    struct store_run r = whole(s, run);
    assert_int_equal(r.step, p.count);
    if (p.count) assert_int_equal(r.loss.step, p.count);
    store_run_release(&r);
    store_points_release(&p);
}

static void a_killed_process_loses_nothing_acknowledged(void **state) {
    (void)state;
    char *path = fresh_path();
    struct shared *shared = share();
    for (int round = 0; round < 8; round++) {
        shared->run = shared->acknowledged = 0;
        pid_t child = fork();
        if (!child) _exit(log_run(path, shared, INT64_MAX));
        while (!shared->run) sleep_us(1000);
        struct rng_key key = rng_key(7, RNG_TEST, 0, 0);
        sleep_us((long)rng_below(key, (uint64_t)round, 300000));
        kill(child, SIGKILL);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        /* reading first, as a person would who only looks */
        struct store *s = open_at(path, round % 2 ? STORE_READ : STORE_WRITE);
        struct store_run r = whole(s, shared->run);
        assert_int_equal(r.state, STORE_INTERRUPTED);
        assert_non_null(strstr(r.reason, "ended unexpectedly"));
        assert_true(r.ended >= r.created);
        store_run_release(&r);
        check_points(s, shared->run, shared->acknowledged);
        assert_whole(s);
        close_it(s);
    }
    munmap(shared, sizeof *shared);
    free(path);
}

static void two_processes_and_a_reader_lose_nothing(void **state) {
    (void)state;
    enum { STEPS = 1500, CHILDREN = 2 };
    char *path = fresh_path();
    struct shared *shared[CHILDREN];
    pid_t child[CHILDREN];
    for (int i = 0; i < CHILDREN; i++) {
        shared[i] = share();
        child[i] = fork();
        if (!child[i]) _exit(log_run(path, shared[i], STEPS));
    }
    while (!shared[0]->acknowledged || !shared[1]->acknowledged) sleep_us(1000); /* there is a loss to sort by */
    struct store *s = open_at(path, STORE_READ);
    for (int look = 0; look < 50; look++) {
        struct store_runs list;
        struct err e = ERR_INIT;
        test_ok(store_list(s, &(struct store_list){ .sort = "-loss" }, &list, &e), &e);
        assert_int_equal(list.count, CHILDREN);
        for (size_t i = 0; i < list.count; i++)
            assert_int_not_equal(list.run[i].state, STORE_INTERRUPTED);
        store_runs_release(&list);
        sleep_us(10000);
    }
    for (int i = 0; i < CHILDREN; i++) {
        int status;
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_int_equal(status, 0);
        check_points(s, shared[i]->run, STEPS);
        munmap(shared[i], sizeof **shared);
    }
    assert_whole(s);
    close_it(s);
    free(path);
}

/* A list is older than the look at the locks: a run that ended between the two is finished. */
static void a_run_that_ends_while_it_is_listed_is_not_interrupted(void **state) {
    (void)state;
    char *path = fresh_path();
    struct shared *shared = share();
    close_it(open_at(path, STORE_WRITE));
    pid_t child = fork();
    if (!child) {
        for (int run = 0; run < 60; run++) {
            int failed = log_run(path, shared, 40);
            if (failed) _exit(failed);
        }
        _exit(0);
    }
    while (!shared->run) sleep_us(100);
    struct store *s = open_at(path, STORE_READ);
    int status, looks = 0;
    for (pid_t ended = 0; !ended; looks++) {
        struct store_runs list;
        struct err e = ERR_INIT;
        ended = waitpid(child, &status, WNOHANG);
        test_ok(store_list(s, &(struct store_list){ .sort = "-id" }, &list, &e), &e);
        for (size_t i = 0; i < list.count; i++)
            assert_int_not_equal(list.run[i].state, STORE_INTERRUPTED);
        store_runs_release(&list);
    }
    assert_int_equal(status, 0);
    assert_true(looks > 1);
    munmap(shared, sizeof *shared);
    close_it(s);
    free(path);
}

struct logger {
    struct store *store;
    int64_t run;
    int key;
};

static void *log_many(void *arg) {
    struct logger *l = arg;
    for (int64_t step = 1; step <= 25000; step++) {
        struct store_step p = { .run = l->run, .step = step, .count = 1, .key = { l->key },
                                .value = { (double)step } };
        if (store_step(l->store, &p)) return "failed";
    }
    return NULL;
}

static void four_threads_log_a_hundred_thousand_points(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    pthread_t thread[4];
    struct logger l[4];
    int key = key_of(s, "loss", -1);
    for (int i = 0; i < 4; i++) {
        l[i] = (struct logger){ s, new_run(s), key };
        assert_int_equal(pthread_create(&thread[i], NULL, log_many, &l[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *result;
        pthread_join(thread[i], &result);
        assert_null(result);
    }
    flush_it(s);
    for (int i = 0; i < 4; i++) check_points(s, l[i].run, 25000);
    struct store_status st;
    store_status(s, &st);
    assert_int_equal(st.condition, STORE_OK);
    assert_int_equal(st.waiting, 0);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void a_dead_run_is_marked_while_others_live(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t mine = new_run(s);
    change(s, mine, STORE_RUNNING, NULL);
    flush_it(s);
    int count;
    struct err e = ERR_INIT;
    test_ok(store_reap(s, &count, &e), &e);
    assert_int_equal(count, 0);
    /* another store sees the lock held */
    struct store *other = open_at(path, STORE_WRITE);
    test_ok(store_reap(other, &count, &e), &e);
    assert_int_equal(count, 0);
    struct store_run r = whole(other, mine);
    assert_int_equal(r.state, STORE_RUNNING);
    store_run_release(&r);
    /* its owner leaves without a last word */
    close_it(s);
    r = whole(other, mine);
    assert_int_equal(r.state, STORE_INTERRUPTED);
    store_run_release(&r);
    test_ok(store_reap(other, &count, &e), &e);
    assert_int_equal(count, 1);
    test_ok(store_trash(other, &mine, 1, &e), &e);
    close_it(other);
    free(path);
}

/* Logs until the writer reports a full disk; the last step that was queued. */
static int64_t fill(struct store *s, int64_t run, int key) {
    struct store_status st;
    for (int64_t step = 1; step < 1000000; step++) {
        point(s, run, step, key, (double)step);
        if (step % 500) continue;
        struct err e = ERR_INIT;
        if (!store_flush(s, &e)) continue;
        test_refused(e.code, ERR_SYSTEM, &e, "disk is full");
        store_status(s, &st);
        assert_int_equal(st.condition, STORE_DISK_FULL);
        assert_true(st.waiting > 0 && st.waiting <= 500);
        assert_non_null(strstr(st.text, "disk is full"));
        return step;
    }
    fail_msg("the disk never became full");
    return 0;
}

static void after_a_full_disk(struct store *s, const char *path, int64_t run, int64_t last) {
    flush_it(s);
    struct store_status st;
    store_status(s, &st);
    assert_int_equal(st.condition, STORE_OK);
    check_points(s, run, last);
    assert_whole(s);
    close_it(s);
    s = open_at(path, STORE_READ);
    check_points(s, run, last);
    assert_whole(s);
    close_it(s);
}

static void a_full_disk_keeps_the_batch_until_there_is_room(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t run = new_run(s);
    int key = key_of(s, "loss", -1);
    flush_it(s);
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){ 600000, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int64_t last = fill(s, run, key);
    /* a change that waits is told at once, and nothing queued is dropped */
    struct err e = ERR_INIT;
    test_refused(store_note(s, run, "x", &e), ERR_SYSTEM, &e, "disk is full");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    after_a_full_disk(s, path, run, last);
    free(path);
}

static void a_program_can_leave_while_the_disk_is_full(void **state) {
    (void)state;
    signal(SIGXFSZ, SIG_IGN);
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t run = new_run(s);
    int key = key_of(s, "loss", -1);
    struct rlimit before, small;
    getrlimit(RLIMIT_FSIZE, &before);
    small = (struct rlimit){ 600000, before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int64_t last = fill(s, run, key);
    pthread_t thread;
    struct logger l = { s, run, key };
    assert_int_equal(pthread_create(&thread, NULL, log_many, &l), 0);
    sleep_us(50000);
    store_give_up(s); /* the thread was blocked on a full queue */
    void *result;
    pthread_join(thread, &result);
    assert_string_equal(result, "failed");
    struct err e = ERR_INIT;
    test_refused(store_close(s, &e), ERR_SYSTEM, &e, "could not be written");
    setrlimit(RLIMIT_FSIZE, &before);
    s = open_at(path, STORE_WRITE);
    check_points(s, run, last - 500);
    struct store_run r = whole(s, run);
    assert_int_equal(r.state, STORE_INTERRUPTED);
    store_run_release(&r);
    assert_whole(s);
    close_it(s);
    free(path);
}

/* A real small disk, where the system also counts SQLite's shared memory. */
static void a_small_disk(void **state) {
    (void)state;
    char *folder = test_folder(), *path = file_join(folder, "runs.db");
    pid_t child = fork();
    if (!child) {
        small_disk(folder, "1m");
        char *ballast = file_join(folder, "ballast");
        static char bytes[300000];
        struct store *s;
        struct err e = ERR_INIT;
        struct store_new_run n = plain_run();
        int64_t run;
        if (store_open(&s, path, STORE_WRITE, &e) || store_create_run(s, &n, &run, &e)) _exit(1);
        int key = store_key(s, "loss", -1, false, &e);
        if (file_write(ballast, bytes, sizeof bytes, &e)) _exit(2);
        int64_t step = 0;
        while (!store_flush(s, &e)) {
            for (int i = 0; i < 200; i++) {
                struct store_step p = { .run = run, .step = ++step, .count = 1, .key = { key },
                                        .value = { (double)step } };
                if (store_step(s, &p)) _exit(3);
            }
            if (step > 1000000) _exit(4);
        }
        if (!strstr(e.text, "disk is full")) {
            fprintf(stderr, "%s\n", e.text);
            _exit(5);
        }
        unlink(ballast);
        if (store_flush(s, &e)) {
            fprintf(stderr, "%s\n", e.text);
            _exit(6);
        }
        struct store_points p;
        if (store_points(s, run, "loss", 0, &p, &e) || (int64_t)p.count != step) _exit(7);
        struct store_health h;
        if (store_check(s, &h, &e) || !h.whole) _exit(8);
        _exit(store_close(s, &e) ? 9 : 0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    free(path);
    free(folder);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) test_skip("mounting needs root");
    assert_int_equal(status, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_killed_process_loses_nothing_acknowledged),
        cmocka_unit_test(two_processes_and_a_reader_lose_nothing),
        cmocka_unit_test(a_run_that_ends_while_it_is_listed_is_not_interrupted),
        cmocka_unit_test(four_threads_log_a_hundred_thousand_points),
        cmocka_unit_test(a_dead_run_is_marked_while_others_live),
        cmocka_unit_test(a_full_disk_keeps_the_batch_until_there_is_room),
        cmocka_unit_test(a_program_can_leave_while_the_disk_is_full),
        cmocka_unit_test(a_small_disk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
