/* Own data: a file is found, tasks are marked, columns get their roles. */
#include "tests/support/test.h"

#include <string.h>

#include "tests/views/scene.h"
#include "views/ui_parts.h"

static void a_file_is_found_by_typing(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPOSE);
    struct effect x = scene_press(&ui, 'T');
    assert_int_equal(x.kind, EFFECT_FOLDER);
    assert_string_equal(x.text, "");
    scene_folder(&ui);
    assert_true(scene_shows(&ui, "\u25B8 model"));
    assert_true(scene_shows(&ui, "old\u241B[2J/")); /* no control character reaches the screen */
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_LIST_MODELS);
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    scene_press(&ui, 'T');
    scene_press(&ui, PRESS_DOWN);
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_LIST_TASKS);
    scene_press(&ui, 'T');
    scene_type(&ui, "notes");
    assert_false(scene_shows(&ui, "mine.csv"));
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "not a supported format"));
    for (int i = 0; i < 5; i++) scene_press(&ui, PRESS_BACKSPACE);
    x = scene_press(&ui, PRESS_BACKSPACE); /* nothing is typed: the folder above */
    assert_int_equal(x.kind, EFFECT_FOLDER);
    assert_string_equal(x.text, "/home/ada");
    scene_type(&ui, "mi");
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_LOOK);
    assert_string_equal(x.text, "/home/ada/data/mine.csv");
    assert_false(ui.prompt.open);
    ui_release(&ui);
}

/* Space marks tasks, in the list of those found (also while typing) and in a folder; Enter takes them together. */
static void several_tasks_are_marked(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    for (int i = 0; i < 2; i++) {
        ui_resize(&ui, i ? 200 : 80, i ? 60 : 24);
        ui_show(&ui, SCREEN_COMPOSE);
        scene_press(&ui, 'T');
        scene_folder(&ui);
        scene_press(&ui, PRESS_DOWN);
        assert_true(scene_shows(&ui, "Space marks several") && scene_shows(&ui, "Space mark task"));
        assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_LIST_TASKS); /* which the app answers */
        picker_open(&ui.picker, PICK_TASK, "tasks");
        static const char *const names[] = {"cola", "mrpc", "qnli", "rte"};
        for (size_t k = 0; k < COUNT_OF(names); k++) picker_add(&ui.picker, names[k], "", false);
        picker_add(&ui.picker, "sst2", "not downloaded yet", true);
        scene_press(&ui, PRESS_DOWN);
        scene_press(&ui, ' ');
        assert_true(scene_shows(&ui, "\u25CFmrpc") && scene_shows(&ui, "marked: mrpc (1); Enter selects it"));
        scene_press(&ui, ' '); /* qnli, and no longer */
        scene_press(&ui, PRESS_UP);
        scene_press(&ui, ' ');
        scene_type(&ui, "rt ");
        assert_true(scene_shows(&ui, "marked: mrpc,rte (2); Enter selects them together"));
        scene_type(&ui, "sst "); /* which is not here */
        assert_true(ui.prompt.open && !ui.picker.item[4].marked);
        struct effect x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_TASK);
        assert_string_equal(x.text, "mrpc,rte");
        assert_false(ui.picker.open || ui.prompt.open);
        scene_press(&ui, 'T');
        scene_folder(&ui);
        scene_type(&ui, "folk ");
        assert_true(scene_shows(&ui, "1 task marked; Enter selects it") && scene_shows(&ui, "\u25CFfolk/"));
        scene_press(&ui, ' ');
        assert_true(scene_shows(&ui, "no task is marked") && !*ui.data.marked);
        snprintf(ui.data.marked, sizeof ui.data.marked, "/home/ada/data/folk2,/x/folk");
        scene_press(&ui, ' ');
        assert_string_equal(ui.data.marked, "/home/ada/data/folk2,/x/folk,/home/ada/data/folk");
        scene_press(&ui, ' ');
        scene_press(&ui, ' ');
        x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_TASK);
        assert_string_equal(x.text, "/home/ada/data/folk2,/x/folk,/home/ada/data/folk");
        assert_true(ui.screen == SCREEN_COMPOSE && !ui.prompt.open);
    }
    ui_release(&ui);
}

static void columns_are_given_their_meaning(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_press(&ui, 'T');
    scene_folder(&ui);
    scene_own(&ui);
    struct data_view *v = &ui.data;
    assert_string_equal(v->config.label_column, "mood");
    assert_string_equal(v->config.dev_file, "/home/ada/data/dev.csv"); /* named as dev rows */
    assert_true(v->config.split == 0);
    struct effect x = scene_press(&ui, 'l'); /* n is the text: what was it is nothing now */
    assert_int_equal(x.kind, EFFECT_IMPORT);
    assert_string_equal(v->config.text_column, "n");
    assert_int_equal(v->role[1], PEEK_NONE);
    assert_true(scene_shows(&ui, "reading…")); /* the report is of before */
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    scene_press(&ui, 'h');
    scene_press(&ui, 'j');
    for (int i = 0; i < 4; i++) scene_press(&ui, 'l'); /* a source: no label beside it */
    assert_string_equal(v->config.source_column, "remark\x1b[2J");
    assert_null(v->config.label_column);
    scene_press(&ui, 'j');
    scene_press(&ui, 'h');
    assert_string_equal(v->config.target_column, "mood");
    scene_press(&ui, 'j'); /* dev rows: a share held out, in place of the file */
    scene_press(&ui, 'l');
    assert_null(v->config.dev_file);
    assert_true(v->config.split == 0.1);
    assert_true(scene_shows(&ui, "10% of the training set"));
    assert_false(scene_shows(&ui, "stratified")); /* no classes */
    scene_press(&ui, 'G'); /* what stands between columns: looked at anew */
    x = scene_press(&ui, 'l');
    assert_int_equal(x.kind, EFFECT_LOOK);
    assert_string_equal(v->config.delimiter, "tab");
    v->read.asked = v->asked;
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_OWN_ROWS);
    v->read.ok = false;
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    scene_press(&ui, 'q');
    assert_true(scene_shows(&ui, "mine.csv"));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_is_found_by_typing),
        cmocka_unit_test(several_tasks_are_marked),
        cmocka_unit_test(columns_are_given_their_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
