#include "tests/support/test.h"

#include <string.h>

#include "tests/views/scene.h"
#include "views/ui_parts.h"

static void detail_opens_and_goes_back(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    struct effect out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_OPEN_RUN);
    assert_int_equal(out.run[0], 8);
    assert_int_equal(ui.screen, SCREEN_DETAIL);
    scene_type(&ui, "jjjGg");
    assert_int_equal(ui.detail.top, 0);
    assert_int_equal(scene_press(&ui, 'C').kind, EFFECT_CLONE);
    scene_press(&ui, 'q');
    assert_int_equal(ui.screen, SCREEN_RUNS);
    ui_release(&ui);
}

/* The page of a run has its name in the heading, and settings as in Compose: defaults on request, long values whole. */
static void settings_of_a_run_are_shown(void **state) {
    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        struct ui ui;
        scene_runs(&ui);
        ui_resize(&ui, wide ? 200 : 80, wide ? 60 : 24);
        scene_press(&ui, PRESS_ENTER);
        ui.detail.run.name = "for the talk";
        ui.detail.run.note = "a remark";
        ui_changed(&ui);
        assert_true(scene_shows(&ui, "#3  for the talk \u00B7 lora(r=8)") && scene_shows(&ui, "a remark"));
        assert_true(scene_shows(&ui, "lr 0.003   batch 32   steps 320   seed 1"));
        assert_true(scene_shows(&ui, "Data              split 0.1"));
        assert_true(scene_shows(&ui, "reviews/train.tsv"));
        assert_true(scene_shows(&ui, "O shows 2 defaults"));
        assert_false(scene_shows(&ui, "optimizer"));
        scene_type(&ui, "O");
        assert_true(scene_shows(&ui, "Optimization      optimizer adamw   clip 1"));
        assert_true(scene_shows(&ui, "O hides defaults"));
        scene_type(&ui, "O");
        assert_false(scene_shows(&ui, "optimizer"));
        ui_release(&ui);
    }
    struct ui ui;
    scene_runs(&ui);
    ui_resize(&ui, 60, 40);
    scene_press(&ui, PRESS_ENTER);
    assert_true(scene_shows(&ui, "text /a/folder/whose/name/is/l")); /* the rest of it on the next row */
    assert_true(scene_shows(&ui, "train.tsv"));
    ui_release(&ui);
}

/* The evaluations of a run whose primary metric is the loss have one column. */
static void a_loss_is_shown_once(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    ui_resize(&ui, 200, 60);
    scene_press(&ui, PRESS_ENTER);
    assert_true(scene_shows(&ui, "step      loss     accuracy"));
    ui.detail.run.metric = "loss";
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "step      loss"));
    assert_false(scene_shows(&ui, "step      loss         loss"));
    ui_release(&ui);
}

/* D evaluates; the answer is shown at once: next to the matrix, or above it, or with the most frequent confusions. */
static void a_run_is_evaluated(void **state) {
    (void)state;
    static const struct {
        int w, h, classes;
        const char *shows[3];
    } at[] = {{80, 24, 8, {"confusion matrix", " 3 class-2  40  \u00B7 20", "worst errors"}},
              {200, 60, 8, {"   F1", "  1  2  3  4  5  6  7  8 predicted", "worst errors"}},
              {80, 60, 30, {"most frequent: class-2 \u2192 class-0 40, class-0 \u2192 class-1 7", "30 class-29", "line 17: label"}}};
    for (size_t i = 0; i < COUNT_OF(at); i++) {
        struct ui ui;
        scene_runs(&ui);
        ui_resize(&ui, at[i].w, at[i].h);
        scene_press(&ui, PRESS_ENTER);
        struct effect x = scene_press(&ui, 'D');
        assert_int_equal(x.kind, EFFECT_SCORES);
        assert_int_equal(x.run[0], 3);
        assert_int_equal(scene_press(&ui, 'D').kind, EFFECT_NONE);
        assert_true(scene_shows(&ui, "still evaluating"));
        scene_scores(&ui, at[i].classes);
        detail_scored(&ui);
        assert_true(scene_shows(&ui, "accuracy 0.709 on 2,538 labeled examples, 738 misclassified"));
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 60 && !scene_shows(&ui, at[i].shows[k]); j++) scene_press(&ui, 'j');
            if (!scene_shows(&ui, at[i].shows[k])) fail_msg("%dx%d: no \"%s\"", at[i].w, at[i].h, at[i].shows[k]);
        }
        ui.detail.run.id = 5; /* another run's */
        scene_type(&ui, "g");
        assert_false(scene_shows(&ui, "738 misclassified"));
        ui_release(&ui);
    }
    struct ui ui;
    scene_runs(&ui);
    scene_press(&ui, PRESS_ENTER);
    ui.detail.run.state = RUN_RUNNING;
    assert_int_equal(scene_press(&ui, 'D').kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "no final checkpoint"));
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(detail_opens_and_goes_back),
        cmocka_unit_test(settings_of_a_run_are_shown),
        cmocka_unit_test(a_loss_is_shown_once),
        cmocka_unit_test(a_run_is_evaluated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
