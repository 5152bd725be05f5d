/* Runs over episodes from the command line to the history. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* Sentences of two of 40 words, by rule. */
static char *corpus(void) {
    static const char *const first[] = { "ba", "co", "di", "fu", "gra", "ho", "ki", "lo" },
                             *const last[] = { "rdon", "lmat", "npok", "stuv", "gorb" };
    struct buf b = BUF_INIT;
    for (int i = 0; i < 800; i++)
        for (int k = 0; k < 2; k++) {
            int n = (i * 7 + k * 11 + i / 40) % 40;
            buf_printf(&b, "%s%s%s", first[n % 8], last[n / 8], k ? "\n" : " a ");
        }
    char *path = test_file(stage.folder, "corpus.txt", b.data, b.size);
    buf_release(&b);
    return path;
}

static const char small[] = "--regime 'meta(inner=2, support=8, query=4, tasks=2)' "
                            "--method 'lora(r=2) + generated-head(hidden=6, width=5)'";

static void a_corpus_is_trained_on_and_kept(void **state) {
    (void)state;
    char *file = corpus();
    free(stage_out(0, "train --model %s %s --episodes smlmt:%s --ways 2-3 --steps 2 --db %s", stage.model, small, file, stage.db));
    json_t *run = stage_json("show last --db %s --json", stage.db);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_string_equal(stage_text(run, "task"), "smlmt:corpus.txt");
    assert_string_equal(stage_text(run, "best.metric"), "after");
    assert_string_equal(stage_text(run, "regime"),
                        "meta(order=first, inner=2, inner-lr=learned(0.01), clip=none, support=8, query=4, tasks=2, "
                        "outer=shared+start+rates, losses=last, labels=within)");
    json_decref(run);
    /* the inner loop of first held-out episode ends as its query did, and a rate a layer stands beside it */
    char *points = stage_out(0, "sql \"SELECT count(*) FROM v_evaluations WHERE split = 'inner' AND step = 2\" --db %s", stage.db);
    assert_non_null(strstr(points, "7")); /* query 0…2, support 1 and 2 before and after */
    free(points);
    points = stage_out(0, "sql \"SELECT metric FROM v_evaluations WHERE split = 'rates' AND step = 2\" --db %s", stage.db);
    assert_true(strstr(points, "layer_1") && strstr(points, "layer_2") && strstr(points, "labels"));
    free(points);
    char *page = stage_out(0, "render --screen detail --size 100x60 --db %s", stage.db);
    assert_true(strstr(page, "first held-out episode, step 2") && strstr(page, " layer_2 "));
    free(page);
    char *shown = stage_out(0, "show last --db %s", stage.db);
    assert_non_null(strstr(shown, "regime         meta(order=first"));
    assert_non_null(strstr(shown, "episodes.after"));
    free(shown);
    free(stage_out(0, "runs 'regime=meta*' 'after>=0' --db %s", stage.db));
    /* it has no classes of its own */
    stage_refused(2, "adapt it to a task first", "predict last --text good --db %s", stage.db);
    stage_refused(2, "adapt it to a task first", "eval last --db %s", stage.db);
    free(file);
}

static void what_cannot_be_is_refused_before_anything_is_stored(void **state) {
    (void)state;
    char *file = corpus(), *db = xprintf("%s/none.db", stage.folder);
    stage_refused(3, "/nowhere", "train --model %s %s --episodes smlmt:/nowhere --db %s", stage.model, small, db);
    stage_refused(2, "applies only to episodic training", "train --model %s --train %s --dev %s --method 'lora(r=2)' --episodes smlmt:%s --db %s",
                  stage.model, stage.toy, stage.toy, file, db);
    stage_refused(2, "use --steps", "train --model %s %s --episodes smlmt:%s --epochs 7 --db %s", stage.model, small, file, db);
    stage_refused(2, "stage 1", "train --model %s --regime 'stages(a, b)' --db %s", stage.model, db);
    stage_refused(2, "omit --method", "train --model %s --train %s --dev %s --method ia3 --regime 'stages(lora; head)' --db %s",
                  stage.model, stage.toy, stage.toy, db);
    char *list = stage_out(0, "runs --db %s", db);
    assert_non_null(strstr(list, "0 of 0 runs"));
    free(list);
    free(file);
    free(db);
}

/* Rows of a task beside a corpus; stopped midway and gone on with by another number of workers: the same bits. */
static void a_resumed_run_has_the_same_bits(void **state) {
    (void)state;
    char *file = corpus(), *whole = xprintf("%s/whole.db", stage.folder);
    struct stage part = stage;
    part.db = file_join(stage.folder, "part.db");
    char *line = xprintf("train --model %s %s --train %s --dev %s --text text --label label --episodes smlmt:%s --ways 2 "
                         "--mix 0.5 --steps 1000 --eval-steps 5000 --workers 2 --db", stage.model, small, stage.toy, stage.toy, file);
    free(stage_out(0, "%s %s", line, whole));
    int id = 0;
    for (bool stopped = false; !stopped;) {
        pid_t pid = command_start(stage.folder, "%s %s", line, part.db);
        stopped = stage_stop_midway(&part, pid, ++id, 50);
        if (id == 5 && !stopped) fail_msg("no run could be stopped midway");
    }
    free(stage_out(0, "resume %d --workers 1 --db %s", id, part.db));
    json_t *one = stage_json("show 1 --db %s --json", whole), *two = stage_json("show %d --db %s --json", id, part.db);
    assert_string_equal(stage_text(two, "state"), "finished");
    assert_string_equal(stage_text(one, "weights_sha256"), stage_text(two, "weights_sha256"));
    json_decref(one);
    json_decref(two);
    free(line);
    free(file);
    free(whole);
    free(part.db);
}

/* From the text to the history: stored, found, counted by stage, marked on the curve, "best" of the last stage; the line that
 * would train it again does. */
static void stages_are_trained_and_kept(void **state) {
    (void)state;
    static const char stages[] = "stages(lora(r=2), steps=20, lr=0.001; lora(r=2), train=head, steps=10, lr=0.002)";
    free(stage_out(0, "train --model %s --train %s --dev %s --text text --label label --regime '%s' --eval-steps 5 --batch 4 --db %s",
                   stage.model, stage.toy, stage.toy, stages, stage.db));
    json_t *run = stage_json("show last --db %s --json", stage.db);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_string_equal(stage_text(run, "regime"), "stages(lora(r=2), train=all, lr=0.001, steps=20; lora(r=2), carry=all, train=head, "
                                                   "lr=0.002, steps=10)");
    assert_true(json_integer_value(stage_at(run, "best.step")) > 20);
    json_decref(run);
    free(stage_out(0, "runs 'regime=stages*' --db %s", stage.db));
    char *early = stage_out(0, "sql \"SELECT count(*) FROM v_evaluations WHERE run = (SELECT max(id) FROM v_runs) AND split = 'stage1/dev' "
                               "AND metric = 'accuracy'\" --db %s", stage.db);
    assert_non_null(strstr(early, "4"));
    free(early);
    char *screen = stage_out(0, "render --screen train --run last --size 100x30 --db %s", stage.db);
    assert_non_null(strstr(screen, "stage 2"));
    free(screen);
    screen = stage_out(0, "render --screen detail --run last --size 100x40 --db %s", stage.db);
    assert_non_null(strstr(screen, "stage 2"));
    free(screen);
    free(stage_out(0, "predict last --text good --db %s", stage.db));
    json_t *count = stage_json("count --model %s --regime '%s' --json", stage.model, stages);
    assert_int_equal(json_array_size(stage_at(count, "stages")), 2);
    json_decref(count);
}

static void counts(void **state) {
    (void)state;
    json_t *count = stage_json("count --model %s --method 'meta-adapters(m=2)' --json", stage.model);
    assert_int_equal(json_integer_value(stage_at(count, "rates")), 9);
    assert_true(json_integer_value(stage_at(count, "meta_trained")) > json_integer_value(stage_at(count, "adapted")));
    json_decref(count);
    count = stage_json("count --model %s --method 'lora(r=2)' --json", stage.model);
    assert_null(json_object_get(count, "adapted"));
    json_decref(count);
}

/* A number of the run's evaluations over held-out episodes. */
static double of_episodes(int step, const char *metric) {
    double v;
    char *text = stage_out(0, "sql \"SELECT value FROM v_evaluations WHERE run = (SELECT max(id) FROM v_runs) AND split = 'episodes' AND "
                              "step = %d AND metric = '%s'\" --db %s", step, metric, stage.db);
    char *line = strchr(text, '\n');
    if (!line || sscanf(line + 1, "%lf", &v) != 1) fail_msg("step %d has no %s: %s", step, metric, text);
    free(text);
    return v;
}

/* After 200 outer steps on MiniLM the inner loop tells more rows right than the label vectors that it begins with, by two
 * standard errors, and more than adapting does without them.  Episodes of twelve classes, one row of each in the first batch. */
static void meta_training_pays(void **state) {
    (void)state;
    if (!test_slow()) test_skip("200 outer steps of MiniLM are made in make test-slow");
    test_needs("assets/models/all-MiniLM-L6-v2");
    test_needs("assets/tasks/sections12/train.tsv");
    char *model = test_path("assets/models/all-MiniLM-L6-v2"), *sections = test_path("assets/tasks/sections12");
    free(stage_out(0, "train --model '%s' --task '%s' --method 'meta-adapters(m=8)' --regime 'meta(inner=6, support=72, query=24, "
                      "tasks=2, inner-lr=learned(0.5), clip=1)' --steps 200 --max-length 24 --lr 1e-3 --eval-steps 200 --seed 1 --db %s",
                   model, sections, stage.db));
    double after = of_episodes(200, "after"), before = of_episodes(200, "before"), error = of_episodes(200, "gain_error");
    print_message("after %.4f, before %.4f, error %.4f, without meta-training %.4f\n", after, before, error, of_episodes(0, "after"));
    assert_true(after > before + 2 * error);
    assert_true(after > of_episodes(0, "after") + 2 * error);
    assert_true(of_episodes(200, "loss") < of_episodes(200, "loss_before"));
    free(model);
    free(sections);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_corpus_is_trained_on_and_kept),
        cmocka_unit_test(what_cannot_be_is_refused_before_anything_is_stored),
        cmocka_unit_test(a_resumed_run_has_the_same_bits),
        cmocka_unit_test(stages_are_trained_and_kept),
        cmocka_unit_test(counts),
        cmocka_unit_test(meta_training_pays),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
