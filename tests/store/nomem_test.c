/* SQLite without memory: each call fails with a sentence, or works; nothing is damaged. */
#include <sqlite3.h>
#include <stdatomic.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "tests/store/support.h"

static sqlite3_mem_methods real;
static atomic_long until_failure; /* 0: never; 1: the next one fails */
static atomic_long failures;

static bool fails(void) {
    long left = atomic_load(&until_failure);
    if (left <= 0) return false;
    if (atomic_fetch_sub(&until_failure, 1) != 1) return false;
    atomic_fetch_add(&failures, 1);
    return true;
}

static void *failing_malloc(int n) { return fails() ? NULL : real.xMalloc(n); }
static void *failing_realloc(void *p, int n) { return fails() ? NULL : real.xRealloc(p, n); }

/* Everything that a session does; the points that were acknowledged. */
static int session(const char *path, int *rc) {
    struct store *s;
    struct err e = ERR_INIT;
    int acknowledged = 0;
    *rc = store_open(&s, path, STORE_WRITE, &e);
    if (*rc) {
        assert_true(e.text[0]);
        return 0;
    }
    struct store_new_run n = plain_run();
    int64_t id;
    struct store_runs list = { 0 };
    *rc = store_create_run(s, &n, &id, &e);
    int key = *rc ? -1 : store_key(s, "loss", -1, false, &e);
    if (key < 0) *rc = -1;
    for (int step = 1; !*rc && step <= 3; step++) {
        struct store_step p = {
            .run = id, .step = step, .count = 1, .key = { key }, .value = { step }
        };
        assert_int_equal(store_step(s, &p), 0);
        *rc = store_flush(s, &e);
        if (!*rc) acknowledged++;
    }
    if (!*rc) evaluate(s, id, 3, "accuracy", 0.5, 1);
    if (!*rc)
        *rc = store_list(s, &(struct store_list){ .filter = "acc>0 lora", .sort = "-acc" }, &list,
                         &e);
    store_runs_release(&list);
    if (*rc) assert_true(e.text[0]);
    struct err last = ERR_INIT;
    int closed = store_close(s, &last);
    if (!*rc) *rc = closed;
    return acknowledged;
}

static void nothing_breaks_without_memory(void **state) {
    (void)state;
    int refused = 0;
    /* every place early on, then in growing strides, until a session outlives the count */
    for (long at = 1;; at += at < 24 ? 1 : at / 8) {
        char *path = fresh_path();
        atomic_store(&failures, 0);
        atomic_store(&until_failure, at);
        int rc;
        int acknowledged = session(path, &rc);
        atomic_store(&until_failure, 0);
        refused += rc != 0;
        struct store *s = open_at(path, STORE_WRITE);
        struct err e = ERR_INIT;
        struct store_points p;
        test_ok(store_points(s, 1, "loss", 0, &p, &e), &e);
        assert_true((int)p.count >= acknowledged);
        store_points_release(&p);
        assert_whole(s);
        close_it(s);
        unlink(path);
        free(path);
        if (!atomic_load(&failures)) {
            assert_int_equal(rc, 0);
            assert_int_equal(acknowledged, 3);
            break;
        }
    }
    assert_true(refused > 10);
}

int main(void) {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &real);
    sqlite3_mem_methods m = real;
    m.xMalloc = failing_malloc;
    m.xRealloc = failing_realloc;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &m);
    /* no cache that hides allocations */
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 0, 0);
    const struct CMUnitTest tests[] = { cmocka_unit_test(nothing_breaks_without_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
