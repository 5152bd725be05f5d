/* Compare: what is asked for from where, what is shown of it. */
#include "tests/support/test.h"
#include "tests/views/scene.h"
#include "views/ui_parts.h"

static void begin(struct ui *ui, int w, int h) { scene_init(ui, w, h, GLYPHS_BRAILLE, COLOURS_256); }

/* Marked runs, or without marks those that pass the filter. */
static void marked_runs_or_the_filtered(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_RUNS);
    struct effect x = scene_press(&ui, '4');
    assert_int_equal(x.kind, EFFECT_COMPARE);
    assert_int_equal(x.runs, ui.runs.shown);
    assert_int_equal(ui.screen, SCREEN_COMPARE);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, ' ');
    scene_press(&ui, ' ');
    x = scene_press(&ui, '4');
    assert_int_equal(x.runs, 2);
    ui_release(&ui);
}

/* Best first within a kind, those without a value last; a kind alone; a group's runs. */
static void kinds_keep_apart(void **state) {
    (void)state;
    struct ui ui;
    int shown[4];
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_COMPARE);
    assert_int_equal(compare_shown(&ui.compare, shown), 4);
    assert_int_equal(shown[0], 1);
    assert_int_equal(shown[1], 0);
    assert_int_equal(shown[3], 3);
    assert_true(scene_shows(&ui, "83.81"));
    assert_true(scene_shows(&ui, "no rank, difference or mean"));
    scene_press(&ui, 'b');
    assert_int_equal(compare_shown(&ui.compare, shown), 2);
    scene_press(&ui, 'j');
    struct effect x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_FILTER);
    assert_string_equal(ui.runs.filter, "id=3,4,9");
    assert_int_equal(ui.screen, SCREEN_RUNS);
    ui_release(&ui);
}

/* Another metric, other rows, and the two files. */
static void more_is_asked_for(void **state) {
    (void)state;
    struct ui ui;
    static const int64_t run[] = {3, 7};
    struct effect x;
    begin(&ui, 80, 24);
    compare_runs(&ui, run, 2, &x);
    x = scene_press(&ui, 'n');
    assert_string_equal(x.text, "loss");
    x = scene_press(&ui, 'x');
    assert_true(x.keep);
    assert_int_equal(x.runs, 2);
    scene_press(&ui, 'e');
    assert_int_equal(scene_press(&ui, 'c').kind, EFFECT_TABLE);
    scene_press(&ui, 'e');
    assert_int_equal(scene_press(&ui, 's').kind, EFFECT_PICTURE);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(marked_runs_or_the_filtered), cmocka_unit_test(kinds_keep_apart),
                                       cmocka_unit_test(more_is_asked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
