/* A history that was moved: it opens, shows, goes on and is used. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/history.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static struct history h;

/* A copy of its own for each test. */
static int make(void **state) {
    (void)state;
    char *folder = test_folder();
    history_init(&h, folder, true);
    free(folder);
    return 0;
}

static int drop(void **state) {
    (void)state;
    history_release(&h);
    return 0;
}

static double best_of(int run) {
    json_t *v = stage_json("show %d --db '%s' --json", run, h.db);
    double best = json_number_value(stage_at(v, "best.value"));
    json_decref(v);
    return best;
}

static void runs_show(void **state) {
    (void)state;
    static const struct {
        int step;
        const char *state;
    } want[] = { { 30, "finished" }, { 0, "stopped" },   { 0, "interrupted" },
                 { 12, "finished" }, { 12, "finished" }, { 20, "finished" } };
    json_t *list = stage_json("runs --db '%s' --json", h.db);
    assert_int_equal(json_array_size(list), 6); /* the seventh is in the trash */
    json_decref(list);
    for (int i = 0; i < (int)COUNT_OF(want); i++) {
        json_t *v = stage_json("show %d --db '%s' --json", i + 1, h.db);
        assert_string_equal(stage_text(v, "state"), want[i].state);
        if (want[i].step) assert_int_equal(json_integer_value(stage_at(v, "step")), want[i].step);
        json_decref(v);
        free(stage_out(0, "export %d --to csv --db '%s'", i + 1, h.db));
        char *page = stage_out(0, "show %d --db '%s'", i + 1, h.db);
        assert_non_null(strstr(page, want[i].state));
        free(page);
    }
    json_t *v = stage_json("sql --db '%s' --json \"SELECT count(*) AS n FROM v_points WHERE run=1 AND key='loss'\"", h.db);
    assert_int_equal(json_integer_value(stage_at(v, "n")), 30);
    json_decref(v);
    free(stage_out(0, "restore 7 --db '%s'", h.db));
    char *map = stage_out(0, "map 4 --pca --db '%s'", h.db), *matrix = stage_out(0, "similarity --matrix 1 --db '%s'", h.db);
    assert_true(*map && *matrix);
    free(map);
    free(matrix);
}

static void runs_are_used(void **state) {
    (void)state;
    for (int run = 1; run <= 5; run++) {
        char *line = stage_out(0, "predict %d --text 'the cat sat' --db '%s'", run, h.db);
        assert_true(!strncmp(line, "pos\t", 4) || !strncmp(line, "neg\t", 4));
        free(line);
        if (run == 4 || run == 5) continue; /* best of six rows, evaluated on eight here */
        json_t *v = stage_json("eval %d --file '%s/task/dev.tsv' --db '%s' --json", run, h.folder, h.db);
        assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), best_of(run), 1e-12);
        json_decref(v);
    }
    free(stage_out(0, "generate 6 --text 'the cat sat' --db '%s'", h.db));
    free(stage_out(0, "predict 6 --text 'the cat sat' --db '%s'", h.db));
    char *out = stage_out(0, "export 1 --to hf '%s/out' --db '%s'", h.folder, h.db);
    assert_non_null(strstr(out, "largest logit difference"));
    free(out);
}

/* Steps told again need not have the bits of the processor that the history is from. */
static void runs_go_on(void **state) {
    (void)state;
    for (int run = 2; run <= 3; run++) {
        json_t *was = stage_json("show %d --db '%s' --json", run, h.db);
        double best = json_number_value(stage_at(was, "best.value"));
        json_decref(was);
        struct command c;
        command_run(&c, NULL, "resume %d --workers 2 --db '%s'", run, h.db);
        command_expect(&c, 0);
        command_release(&c);
        json_t *v = stage_json("show %d --db '%s' --json", run, h.db);
        assert_string_equal(stage_text(v, "state"), "finished");
        assert_int_equal(json_integer_value(stage_at(v, "step")), run == 2 ? 3000 : 2000);
        assert_true(json_number_value(stage_at(v, "best.value")) >= best);
        json_decref(v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_show, make, drop),
        cmocka_unit_test_setup_teardown(runs_are_used, make, drop),
        cmocka_unit_test_setup_teardown(runs_go_on, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
