#include "tests/support/test.h"

#include "tests/views/scene.h"

static char *text_of(const struct ui *ui) {
    struct buf b = BUF_INIT;
    render_ui(ui, false, &b);
    return buf_take(&b);
}

static void assert_shows(const struct ui *ui, const char *part) {
    char *text = text_of(ui);
    if (!strstr(text, part)) fail_msg("\"%s\" is not in\n%s", part, text);
    free(text);
}

static void numbers_come_with_their_caution(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 100, 30, GLYPHS_BRAILLE, COLOURS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_shows(&ui, "silhouette 0.012 purity 0.581 KL 1.21");
    assert_shows(&ui, "silhouette \u2013 (1 class) purity 0.934");
    assert_shows(&ui, "Distances between clusters and their sizes say nothing: purity is measured before.");
    assert_shows(&ui, "perplexity 30  iteration 310 of 750  seed 1  120 of 2,538 dev rows");
    ui_release(&ui);
}

static void requests_become_effects(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_MAP_PLAY);
    assert_int_equal(scene_press(&ui, '.').kind, EFFECT_MAP_STEP);
    assert_int_equal(scene_press(&ui, 'z').kind, EFFECT_MAP_REWIND);
    struct effect x = scene_press(&ui, '(');
    assert_true(x.kind == EFFECT_MAP_PERPLEXITY && x.by == -1);
    x = scene_press(&ui, ']');
    assert_true(x.kind == EFFECT_MAP_LAYER && x.by == 1);
    assert_int_equal(map_focus(&ui.map), 1);
    scene_press(&ui, PRESS_TAB);
    scene_press(&ui, PRESS_TAB);
    assert_int_equal(map_focus(&ui.map), 0);
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.map.alone);
    scene_press(&ui, PRESS_ESC);
    assert_true(!ui.map.alone && ui.screen == SCREEN_MAP);
    ui_release(&ui);
}

static void the_legend_hides_classes(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_ASCII, COLOURS_NONE);
    ui_show(&ui, SCREEN_MAP);
    scene_press(&ui, PRESS_TAB);
    scene_press(&ui, 'j');
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.map.hidden == 2);
    assert_shows(&ui, "positive 60 hidden");
    assert_true(ui.map.chosen >= 0 && scene_gold[ui.map.chosen] == 0);
    scene_press(&ui, 'F');
    assert_true(ui.map.hidden == 0);
    scene_press(&ui, 'f');
    assert_true(ui.map.hidden == ~UINT64_C(2));
    scene_press(&ui, 'c');
    assert_true(ui.map.hidden == 0);
    assert_shows(&ui, "by prediction");
    ui_release(&ui);
}

static void n_goes_to_what_is_wrong(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 120, 40, GLYPHS_BRAILLE, COLOURS_256);
    ui_show(&ui, SCREEN_MAP);
    for (int i = 0; i < 10; i++) {
        scene_press(&ui, 'n');
        int at = ui.map.chosen;
        assert_true(at >= 0 && scene_gold[at] != scene_predicted[at]);
    }
    assert_shows(&ui, scene_gold[ui.map.chosen] ? "positive \u2192 negative" : "negative \u2192 positive");
    scene_press(&ui, 'c');
    scene_press(&ui, 'c');
    assert_shows(&ui, "wrong 7"); /* every 17th row from the 4th on */
    ui_release(&ui);
}

/* 7 looks at the run under the cursor, once; two marked runs stand side by side. */
static void seven_inspects_the_run_under_the_cursor(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_256);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'g');
    int64_t id = runs_at_cursor(&ui.runs)->id;
    struct effect x = scene_press(&ui, '7');
    assert_true(x.kind == EFFECT_INSPECT && x.runs == 1 && x.run[0] == id && !x.keep);
    assert_int_equal(ui.screen, SCREEN_MAP);
    x = scene_press(&ui, '6');
    assert_int_equal(ui.screen, SCREEN_HEATMAP);
    assert_int_equal(x.kind, EFFECT_NONE); /* matrices are there */
    scene_press(&ui, '3');
    assert_int_equal(scene_press(&ui, '7').kind, EFFECT_NONE); /* the same run again */
    scene_press(&ui, '3');
    scene_press(&ui, ' ');
    scene_press(&ui, 'j');
    scene_press(&ui, ' ');
    x = scene_press(&ui, '6');
    assert_true(x.kind == EFFECT_INSPECT && x.runs == 2 && x.keep);
    ui_release(&ui);
}

static void empty_maps_say_why(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_256);
    ui_show(&ui, SCREEN_MAP);
    ui.map.data = (struct map_data){.failed = "run 4 has no checkpoint"};
    ui_changed(&ui);
    assert_shows(&ui, "run 4 has no checkpoint");
    ui.map.data = (struct map_data){.busy = "rows through the model"};
    ui_changed(&ui);
    assert_shows(&ui, "rows through the model");
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_NONE);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_come_with_their_caution),
        cmocka_unit_test(requests_become_effects),
        cmocka_unit_test(the_legend_hides_classes),
        cmocka_unit_test(n_goes_to_what_is_wrong),
        cmocka_unit_test(seven_inspects_the_run_under_the_cursor),
        cmocka_unit_test(empty_maps_say_why),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
