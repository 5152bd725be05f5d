/* A run's life in the store: what goes in comes out, states, requests, trash. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tests/store/support.h"

static void a_run_comes_back_as_it_went_in(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    struct store_module m[2] = {
        { .text = "linear(r=8; read=a.in, write=a.q)",
          .fn = "linear",
          .read = "a.in",
          .write = "a.q",
          .insertion = "parallel",
          .composition = "scaled",
          .source = "free",
          .layers = "all",
          .size = 8,
          .scale = 2,
          .has_scale = true,
          .trained = 100,
          .stored = 100 },
        { .fn = "bias",
          .write = "f.out",
          .composition = "in-weight",
          .layers = "1-3",
          .trained = 7 },
    };
    struct store_new_run n = plain_run();
    n.modules = m;
    n.module_count = 2;
    n.seed = UINT64_MAX;
    n.train_file = "/data/a.tsv";
    n.train_sha256 = "abc";
    int64_t id;
    struct err e = ERR_INIT;
    test_ok(store_create_run(s, &n, &id, &e), &e);
    assert_int_equal(id, 1);
    int loss = key_of(s, "loss", -1);
    change(s, id, STORE_RUNNING, NULL);
    point(s, id, 1, loss, 0.7);
    point(s, id, 2, loss, 0.3);
    evaluate(s, id, 2, "accuracy", 0.8, 1);
    store_message(s, id, 2, "said once");
    store_change(s, &(struct store_change){ .run = id, .step = 2, .state = STORE_FINISHED,
                                            .seconds = 1.5, .weights_sha256 = "feed" });
    test_ok(store_disown(s, id, &e), &e);
    struct store_run r = whole(s, id);
    assert_int_equal(r.state, STORE_FINISHED);
    assert_string_equal(r.method, "lora(r=8)");
    assert_string_equal(r.train_file, "/data/a.tsv");
    assert_string_equal(r.weights_sha256, "feed");
    assert_string_equal(r.config, "{\"seed\":1}");
    assert_true(r.seed == UINT64_MAX);
    assert_int_equal(r.step, 2);
    assert_true(r.seconds == 1.5);
    assert_true(r.best.measured && r.best.v == 0.8 && r.best.step == 2);
    assert_true(r.loss.measured && r.loss.v == 0.3 && r.loss.step == 2);
    assert_true(r.created > 0 && r.started >= r.created && r.ended >= r.started);
    assert_int_equal(r.module_count, 2);
    assert_string_equal(r.module[0].write, "a.q");
    assert_true(r.module[0].has_scale && r.module[0].scale == 2);
    assert_false(r.module[1].has_scale);
    assert_null(r.module[1].read);
    assert_int_equal(r.value_count, 2);
    assert_string_equal(r.value[0].name, "dev.accuracy");
    store_run_release(&r);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void ids_are_never_used_twice(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    int64_t id = new_run(s);
    finish(s, id);
    struct store_paths paths;
    test_ok(store_trash(s, &id, 1, &e), &e);
    test_ok(store_purge(s, NULL, 0, 1, &paths, &e), &e);
    store_paths_release(&paths);
    close_it(s);
    s = open_at(path, STORE_WRITE);
    assert_int_equal(new_run(s), id + 1);
    close_it(s);
    free(path);
}

static void numbers_that_are_not_finite_are_kept(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    int loss = key_of(s, "loss", -1);
    const double values[] = { 3e38, NAN, INFINITY, -INFINITY, 0.0 };
    for (int i = 0; i < 5; i++) point(s, id, i + 1, loss, values[i]);
    struct store_metric m[] = { { "f1", 0, "only one class in the rows", 1 },
                                { "accuracy", NAN, NULL, 1 } };
    store_evaluation(s,
                     &(struct store_evaluation){ .run = id, .step = 5, .count = 2, .metric = m });
    flush_it(s);
    struct store_points p;
    struct err e = ERR_INIT;
    test_ok(store_points(s, id, "loss", 0, &p, &e), &e);
    assert_int_equal(p.count, 5);
    assert_true(p.value[0] == 3e38 && isnan(p.value[1]) && p.value[2] == INFINITY &&
                p.value[3] == -INFINITY && p.value[4] == 0);
    store_points_release(&p);
    test_ok(store_points(s, id, "loss", 4, &p, &e), &e);
    assert_int_equal(p.count, 2);
    store_points_release(&p);
    test_ok(store_points(s, id, "never", 0, &p, &e), &e);
    assert_int_equal(p.count, 0);
    struct store_evals v;
    test_ok(store_evaluations(s, id, &v, &e), &e);
    assert_int_equal(v.count, 2);
    for (size_t i = 0; i < v.count; i++) {
        if (!strcmp(v.row[i].name, "dev.f1")) {
            assert_false(v.row[i].value.measured);
            assert_string_equal(v.row[i].value.undefined, "only one class in the rows");
        } else {
            assert_true(v.row[i].value.measured && isnan(v.row[i].value.v));
        }
    }
    store_evals_release(&v);
    struct store_run r = whole(s, id);
    assert_true(r.loss.v == 0 && r.loss.step == 5);
    assert_false(r.best.measured); /* NaN never wins */
    for (size_t i = 0; i < r.value_count; i++)
        if (!strcmp(r.value[i].name, "loss")) assert_true(r.value[i].best.v == 0);
    store_run_release(&r);
    close_it(s);
    free(path);
}

static void the_best_follows_the_metrics_direction(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    const double loss[] = { 0.9, 0.5, 0.7, NAN }, accuracy[] = { 0.6, 0.7, 0.7, 0.7 },
                 matched[] = { 0.4, 0.3, 0.5, 0.6 };
    for (int i = 0; i < 4; i++) {
        struct store_metric m[] = { { "loss", loss[i], NULL, -1 },
                                    { "accuracy", accuracy[i], NULL, 1 },
                                    { "dev_matched_loss", matched[i], NULL, -1 },
                                    { "majority", 0.5, NULL, 0 } };
        store_evaluation(
            s, &(struct store_evaluation){ .run = id, .step = i + 1, .count = 4, .metric = m });
        if (i == 1) {
            /* stopped here, resumed in the same words */
            struct err e = ERR_INIT;
            change(s, id, STORE_STOPPED, "by the user");
            test_ok(store_disown(s, id, &e), &e);
            test_ok(store_adopt_run(s, id, &e), &e);
        }
    }
    flush_it(s);
    struct store_run r = whole(s, id);
    assert_int_equal(r.value_count, 4);
    for (size_t i = 0; i < r.value_count; i++) {
        if (!strcmp(r.value[i].name, "dev.majority")) assert_false(r.value[i].best.measured);
        else assert_int_equal(r.value[i].best.step, 2);
    }
    assert_true(r.best.v == 0.7 && r.best.step == 2);
    assert_int_equal(r.state, STORE_QUEUED);
    store_run_release(&r);
    close_it(s);
    free(path);
}

static void a_replayed_step_stays_one_point(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    int loss = key_of(s, "loss", -1);
    struct err e = ERR_INIT;
    int rate = store_key(s, "tokens_per_second", 0, true, &e);
    for (int i = 1; i <= 6; i++) point(s, id, i, loss, 1.0 / i);
    point(s, id, 4, rate, 100);
    for (int i = 4; i <= 8; i++) point(s, id, i, loss, 1.0 / i);
    point(s, id, 4, rate, 120);
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_points WHERE key='loss'"), 8);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='differs'"), 0);
    assert_int_equal(count_of(s, "SELECT value FROM v_points WHERE key='tokens_per_second'"), 120);
    /* one that differs is kept, said, and the summary follows it */
    point(s, id, 8, loss, 0.5);
    flush_it(s);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_events WHERE kind='differs' AND step=8"),
                     1);
    struct store_run r = whole(s, id);
    assert_true(r.loss.v == 0.5);
    assert_int_equal(r.value[0].best.step, 7);
    store_run_release(&r);
    assert_whole(s);
    close_it(s);
    free(path);
}

static void requests_reach_the_owner_once(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *owner = open_at(path, STORE_WRITE), *other = open_at(path, STORE_WRITE);
    int64_t id = new_run(owner), second = new_run(owner);
    struct err e = ERR_INIT;
    struct store_request q[4];
    assert_int_equal(store_requests(owner, q, 4, &e), 0);
    test_ok(store_request(other, id, STORE_PAUSE, &e), &e);
    test_ok(store_request(other, second, STORE_STOP, &e), &e);
    assert_int_equal(store_requests(other, q, 4, &e), 0);
    assert_int_equal(store_requests(owner, q, 4, &e), 2);
    assert_true(q[0].run == id && q[0].what == STORE_PAUSE);
    assert_true(q[1].run == second && q[1].what == STORE_STOP);
    test_ok(store_request_taken(owner, &q[0], &e), &e);
    assert_int_equal(store_requests(owner, q, 4, &e), 1);
    assert_int_equal(q[0].run, second);
    test_ok(store_request_taken(owner, &q[0], &e), &e);
    assert_int_equal(store_requests(owner, q, 4, &e), 0);
    test_ok(store_request(other, id, STORE_STOP, &e), &e);
    finish(owner, id);
    test_refused(store_request(other, id, STORE_STOP, &e), ERR_USAGE, &e, "is finished");
    test_refused(store_request(other, 99, STORE_STOP, &e), ERR_NOT_FOUND, &e, "run 99 does not exist");
    /* what came too late does not stop the resumed run */
    test_ok(store_adopt_run(owner, id, &e), &e);
    assert_int_equal(store_requests(owner, q, 4, &e), 0);
    test_refused(store_adopt_run(other, id, &e), ERR_USAGE, &e, "running in another process");
    close_it(other);
    close_it(owner);
    free(path);
}

static void nothing_is_deleted_without_the_typed_number(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t a = new_run(s), b = new_run(s), live = new_run(s);
    struct err e = ERR_INIT;
    char *folder = store_run_folder(s, a);
    char *inside = test_file(folder, "best.safetensors", "x", 1);
    store_artifact(s,
                   &(struct store_artifact){ .run = a, .step = 1, .kind = "best", .path = inside });
    store_artifact(s, &(struct store_artifact){
                          .run = a, .step = 1, .kind = "export", .path = "/etc/passwd" });
    finish(s, a);
    finish(s, b);
    struct store_files files;
    test_ok(store_artifacts(s, a, &files, &e), &e);
    assert_int_equal(files.count, 2);
    assert_true(!strcmp(files.file[0].path, inside) || !strcmp(files.file[1].path, inside));
    store_files_release(&files);
    int64_t both[] = { a, live };
    test_refused(store_trash(s, both, 2, &e), ERR_USAGE, &e, "stop it first");
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_trash"), 0);
    both[1] = b;
    test_ok(store_trash(s, both, 2, &e), &e);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_runs"), 1);
    test_ok(store_restore(s, &b, 1, &e), &e);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_runs"), 2);
    struct store_paths paths;
    test_refused(store_purge(s, &b, 1, 1, &paths, &e), ERR_USAGE, &e, "not in the trash");
    test_refused(store_purge(s, NULL, 0, 2, &paths, &e), ERR_USAGE, &e, "1 run would be deleted");
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_trash"), 1);
    test_ok(store_purge(s, NULL, 0, 1, &paths, &e), &e);
    assert_int_equal(paths.count, 2);
    assert_string_equal(paths.path[0], inside);
    assert_string_equal(paths.path[1], folder);
    store_paths_release(&paths);
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_trash"), 0);
    assert_int_equal(count_of(s, "SELECT count(*) FROM artifact"), 0);
    assert_whole(s);
    close_it(s);
    free(inside);
    free(folder);
    free(path);
}

static void notes_keep_their_bytes_and_json_escapes_them(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    struct err e = ERR_INIT;
    static const char note[] = "a\x1b]52;c;QUJD\x07" "b 好";
    test_ok(store_note(s, id, note, &e), &e);
    test_ok(store_tag(s, &id, 1, (const char *[]){ "good" }, 1, true, &e), &e);
    test_ok(store_tag(s, &id, 1, (const char *[]){ "a b" }, 1, true, &e), &e);
    test_ok(store_tag(s, &id, 1, (const char *[]){ "good" }, 1, true, &e), &e);
    test_refused(store_tag(s, &id, 1, (const char *[]){ "a,b" }, 1, true, &e), ERR_USAGE, &e, "comma");
    /* what is not there is not taken away, and nothing else with it */
    test_refused(store_tag(s, &id, 1, (const char *[]){ "good", "god" }, 2, false, &e), ERR_NOT_FOUND, &e, "no tag \"god\"");
    test_refused(store_tag(s, (int64_t[]){ id, 99 }, 2, (const char *[]){ "new" }, 1, true, &e), ERR_NOT_FOUND, &e, "99");
    int loss = key_of(s, "loss", -1);
    point(s, id, 1, loss, INFINITY);
    flush_it(s);
    struct store_run r = whole(s, id);
    assert_string_equal(r.note, note);
    assert_string_equal(r.tags, "a b, good");
    struct buf b = BUF_INIT;
    store_run_json(&r, &b);
    for (size_t i = 0; i < b.size; i++) assert_true((unsigned char)b.data[i] >= 0x20);
    json_t *o = json_parse("run", b.data, b.size, &e);
    if (!o) fail_msg("%s in %s", e.text, b.data);
    assert_string_equal(json_string_value(json_object_get(o, "note")), note);
    assert_int_equal(json_integer_value(json_object_get(o, "id")), id);
    assert_string_equal(json_string_value(json_object_get(o, "final_loss")), "inf");
    assert_true(json_is_null(json_object_get(json_object_get(o, "best"), "value")));
    assert_string_equal(json_string_value(json_object_get(json_object_get(o, "best"), "metric")),
                        "accuracy");
    assert_int_equal(json_array_size(json_object_get(o, "tags")), 2);
    json_decref(o);
    buf_release(&b);
    store_run_release(&r);
    test_ok(store_note(s, id, "", &e), &e);
    r = whole(s, id);
    assert_null(r.note);
    store_run_release(&r);
    close_it(s);
    free(path);
}

static void times_are_utc_in_any_zone(void **state) {
    (void)state;
    char *path = fresh_path();
    char before[4][32];
    static const char *const zones[] = { "UTC-14", "UTC+12", "America/New_York", "UTC" };
    setenv("TZ", "UTC-14", 1);
    struct store *s = open_at(path, STORE_WRITE);
    int64_t a = new_run(s);
    finish(s, a);
    setenv("TZ", "UTC+12", 1);
    int64_t b = new_run(s);
    finish(s, b);
    struct store_run ra = whole(s, a), rb = whole(s, b);
    assert_true(ra.created <= rb.created && ra.ended >= ra.created);
    for (int i = 0; i < 4; i++) {
        setenv("TZ", zones[i], 1);
        text_time(ra.created, before[i]);
        assert_string_equal(before[i], before[0]);
    }
    text_time(0, before[0]);
    assert_string_equal(before[0], "");
    text_time(1764291019123, before[0]);
    assert_string_equal(before[0], "2025-11-28T00:50:19.123Z");
    /* the clock went back: the views' text is the same as ours, the order is by id */
    assert_int_equal(count_of(s, "SELECT count(*) FROM v_runs r JOIN run x USING(id) WHERE"
                                 " substr(r.created,21,3) = printf('%03d', x.created % 1000)"), 2);
    store_run_release(&ra);
    store_run_release(&rb);
    close_it(s);
    free(path);
}

static void a_run_without_an_owner_takes_no_records(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    int64_t id = new_run(s);
    finish(s, id);
    struct store_step p = { .run = id, .step = 1 };
    assert_int_equal(store_step(s, &p), ERR_USAGE);
    assert_int_equal(store_message(s, id, 1, "late"), ERR_USAGE);
    close_it(s);
    s = open_at(path, STORE_READ);
    struct err e = ERR_INIT;
    test_refused(store_note(s, id, "x", &e), ERR_USAGE, &e, "read-only");
    close_it(s);
    free(path);
}

/* The database was deleted, and not what its runs left. */
static void what_others_left_is_passed_over(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE);
    struct err e = ERR_INIT;
    for (int i = 1; i <= 3; i++) {
        char *folder = store_run_folder(s, i);
        if (i < 3) test_ok(file_make_folder(folder, &e), &e);
        free(folder);
    }
    assert_int_equal(new_run(s), 3);
    assert_int_equal(new_run(s), 4);
    char *folder = store_run_folder(s, 5);
    test_ok(file_make_folder(folder, &e), &e);
    free(folder);
    assert_int_equal(new_run(s), 6);
    close_it(s);
    free(path);
}

/* Every committed change is seen, also one of another connection, and nothing else. */
static void changes_have_a_version(void **state) {
    (void)state;
    char *path = fresh_path();
    struct store *s = open_at(path, STORE_WRITE), *other = open_at(path, STORE_READ);
    int64_t before = store_version(other), here = store_version(s);
    assert_true(before != 0 && here != 0);
    assert_int_equal(store_version(other), before);
    int64_t id = new_run(s);
    assert_true(store_version(other) != before && store_version(s) != here);
    before = store_version(other);
    change(s, id, STORE_RUNNING, NULL);
    flush_it(s);
    assert_true(store_version(other) != before);
    before = store_version(other);
    assert_int_equal(store_version(other), before);
    close_it(other);
    close_it(s);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_have_a_version),
        cmocka_unit_test(a_run_comes_back_as_it_went_in),
        cmocka_unit_test(ids_are_never_used_twice),
        cmocka_unit_test(what_others_left_is_passed_over),
        cmocka_unit_test(numbers_that_are_not_finite_are_kept),
        cmocka_unit_test(the_best_follows_the_metrics_direction),
        cmocka_unit_test(a_replayed_step_stays_one_point),
        cmocka_unit_test(requests_reach_the_owner_once),
        cmocka_unit_test(nothing_is_deleted_without_the_typed_number),
        cmocka_unit_test(notes_keep_their_bytes_and_json_escapes_them),
        cmocka_unit_test(times_are_utc_in_any_zone),
        cmocka_unit_test(a_run_without_an_owner_takes_no_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
