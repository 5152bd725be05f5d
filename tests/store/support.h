/* Small helpers of the store's tests. */
#ifndef TESTS_STORE_SUPPORT_H
#define TESTS_STORE_SUPPORT_H

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "store/store.h"
#include "tests/support/test.h"

/* A path for a database in a fresh folder; caller frees. */
static inline char *fresh_path(void) {
    char *folder = test_folder(), path[4096];
    snprintf(path, sizeof path, "%s/sub/runs.db", folder);
    free(folder);
    return strdup(path);
}

static inline struct store *open_at(const char *path, enum store_mode mode) {
    struct err e = ERR_INIT;
    struct store *s;
    test_ok(store_open(&s, path, mode, &e), &e);
    return s;
}

static inline void close_it(struct store *s) {
    struct err e = ERR_INIT;
    test_ok(store_close(s, &e), &e);
}

static inline void flush_it(struct store *s) {
    struct err e = ERR_INIT;
    test_ok(store_flush(s, &e), &e);
}

static inline struct store_new_run plain_run(void) {
    return (struct store_new_run){
        .config = "{\"seed\":1}", .method = "lora(r=8)", .preset = "lora", .model = "MiniLM",
        .task = "reviews", .metric = "accuracy", .direction = 1, .seed = 1, .trained = 73728,
        .stored = 73728, .head = 770, .model_values = 22713216, .steps = 100, .version = "0.1",
    };
}

static inline int64_t new_run(struct store *s) {
    struct store_new_run n = plain_run();
    struct err e = ERR_INIT;
    int64_t id = 0;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    return id;
}

static inline void change(struct store *s, int64_t run, enum store_state state,
                          const char *reason) {
    struct store_change c = {
        .run = run, .step = -1, .state = state, .seconds = -1, .reason = reason
    };
    assert_int_equal(store_change(s, &c), 0);
}

static inline void point(struct store *s, int64_t run, int64_t step, int key, double value) {
    struct store_step p = { .run = run, .step = step, .seconds = (double)step, .count = 1,
                            .key = { key }, .value = { value } };
    assert_int_equal(store_step(s, &p), 0);
}

static inline int key_of(struct store *s, const char *name, int direction) {
    struct err e = ERR_INIT;
    int key = store_key(s, name, direction, false, &e);
    if (key < 0) fail_msg("no key: %s", e.text);
    return key;
}

static inline void evaluate(struct store *s, int64_t run, int64_t step, const char *metric,
                            double value, int direction) {
    struct store_metric m = { metric, value, NULL, direction };
    struct store_evaluation v = {
        .run = run, .step = step, .rows = "dev 256", .count = 1, .metric = &m
    };
    assert_int_equal(store_evaluation(s, &v), 0);
}

static inline struct store_run whole(struct store *s, int64_t id) {
    struct store_run r;
    struct err e = ERR_INIT;
    test_ok(store_run(s, id, &r, &e), &e);
    return r;
}

static inline int take_integer(void *self, int count, const struct store_cell *c) {
    assert_true(count >= 1);
    *(int64_t *)self = c[0].type == STORE_REAL ? (int64_t)c[0].real : c[0].integer;
    return 0;
}

/* The first column of the last row, -1 without a row. */
static inline int64_t count_of(struct store *s, const char *sql) {
    int64_t n = -1;
    struct err e = ERR_INIT;
    test_ok(store_sql(s, sql, (struct store_rows){ &n, NULL, take_integer }, &e), &e);
    return n;
}

static inline void finish(struct store *s, int64_t run) {
    struct err e = ERR_INIT;
    change(s, run, STORE_FINISHED, NULL);
    test_ok(store_disown(s, run, &e), &e);
}

static inline void assert_whole(struct store *s) {
    struct store_health h;
    struct err e = ERR_INIT;
    test_ok(store_check(s, &h, &e), &e);
    if (!h.whole) fail_msg("the database is not whole: %s", h.problem);
}

/* In a child alone: a disk of `size` ("4m") over the folder, in a mount space of its own, so
 * that nothing stays mounted; leaves with 77 where the system forbids it. */
static inline void small_disk(const char *folder, const char *size) {
    char options[32];
    snprintf(options, sizeof options, "size=%s", size);
    if (unshare(CLONE_NEWNS) || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", folder, "tmpfs", 0, options))
        _exit(77);
}

#endif
