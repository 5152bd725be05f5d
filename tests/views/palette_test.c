/* The ':' line: what it offers, in which order, what it takes, and what its commands do. */
#include "tests/support/test.h"

#include "tests/views/scene.h"

static struct ui ui;

static int begin(void **state) {
    (void)state;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
    return 0;
}

static int end(void **state) {
    (void)state;
    ui_release(&ui);
    return 0;
}

static struct effect type(const char *keys) {
    struct effect x = {0};
    for (; *keys; keys++) x = scene_press(&ui, *keys == '\n' ? PRESS_ENTER : *keys == '\t' ? PRESS_TAB : (uint32_t)(unsigned char)*keys);
    return x;
}

static void the_best_comes_first(void **state) {
    (void)state;
    struct palette *p = &ui.palette;
    palette_begin(p, "runs st");
    assert_int_equal(p->from, 5);
    palette_offer(p, "best", "an s and a t");
    palette_offer(p, "state=", "");
    palette_offer(p, "seed=", "one of the first");
    palette_offer(p, "lr=", "no");
    assert_int_equal(p->count, 3); /* the third by its note */
    assert_string_equal(p->row[0].word, "state=");
    assert_string_equal(p->row[2].word, "seed=");
    palette_offer(p, "best", "twice");
    assert_int_equal(p->all, 3);
    for (int i = 0; i < 3 * PALETTE_ROWS; i++) {
        char word[32];
        snprintf(word, sizeof word, "s%dt", i);
        palette_offer(p, word, "");
    }
    assert_int_equal(p->count, PALETTE_ROWS);
    assert_string_equal(p->row[0].word, "state=");
}

static void words_are_completed(void **state) {
    (void)state;
    type(":sor\t");
    assert_string_equal(ui.prompt.text, "sort ");
    type("prms\t");
    assert_string_equal(ui.prompt.text, "sort params ");
    type("\n");
    assert_int_equal(ui.screen, SCREEN_RUNS);
    assert_int_equal(ui.runs.sort, COL_TRAINED);
    type(":runs stte\tfini\t\n");
    assert_string_equal(ui.runs.filter, "state=finished");
    type(":show lora\t"); /* a run by its method */
    assert_string_equal(ui.prompt.text, "show 3 ");
    struct effect x = type("\n");
    assert_int_equal(x.kind, EFFECT_OPEN_RUN);
    assert_int_equal(x.run[0], 3);
}

/* Enter on a word that the cursor was moved to takes it; the line is run by the next. */
static void a_choice_is_not_run_at_once(void **state) {
    (void)state;
    type(":tra");
    assert_true(scene_shows(&ui, "train the method in Compose"));
    scene_press(&ui, PRESS_DOWN);
    struct effect x = type("\n");
    assert_int_equal(x.kind, EFFECT_NONE);
    assert_true(ui.prompt.open);
    assert_string_equal(ui.prompt.text, "trash ");
}

static void what_is_over_is_not_stopped(void **state) {
    (void)state;
    ui_show(&ui, SCREEN_RUNS);
    type(":stop 1\n"); /* it failed */
    assert_int_equal(ui.ask.kind, ASK_NONE);
    assert_true(scene_shows(&ui, "#1 is already failed"));
    type(":stop 99\n"); /* not listed yet */
    assert_int_equal(ui.ask.kind, ASK_STOP);
}

/* A word that nothing begins with is told before Enter is pressed. */
static void what_fits_nothing_is_told(void **state) {
    (void)state;
    type(":xyzzy");
    assert_true(scene_shows(&ui, "no match for \"xyzzy\""));
    scene_press(&ui, PRESS_ESC);
    type(":tra");
    assert_false(scene_shows(&ui, "no match for"));
}

static void other_lines_are_the_command_lines(void **state) {
    (void)state;
    static const char *const lines[] = {"show 3 --why", "train --steps 3", "trash 3 4", "eval 3", "help train", "nonsense", "sweep x.json",
                                        "sweep --lr {1,2} --dry-run", "sweep --lr {1,2} --at-once 1", "sweep 3 --by lr"};
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        char keys[80];
        snprintf(keys, sizeof keys, ":%s\n", lines[i]);
        struct effect x = type(keys);
        assert_int_equal(x.kind, EFFECT_VERB);
        assert_string_equal(x.text, lines[i]);
    }
    struct effect x = type(":sweep --lr {1,2}\n");
    assert_int_equal(x.kind, EFFECT_SWEEP_NEW);
    x = type(":sweep extend 3 --seeds 4\n");
    assert_int_equal(x.kind, EFFECT_SWEEP_EXTEND);
    assert_int_equal(x.run[0], 3);
    assert_string_equal(x.text, "--seeds 4");
    x = type(":compare 3 7\n");
    assert_int_equal(x.kind, EFFECT_COMPARE);
    assert_int_equal(x.runs, 2);
    x = type(":watch 7\n");
    assert_int_equal(x.kind, EFFECT_WATCH);
    assert_int_equal(x.run[0], 7);
}

/* What a command printed is scrolled, shifted and searched. */
static void a_page_is_read(void **state) {
    (void)state;
    static const char *line[100];
    static char text[100][64];
    for (int i = 0; i < 100; i++) {
        snprintf(text[i], sizeof text[i], "line %d of it, with a word at its end", i);
        line[i] = text[i];
    }
    ui_show(&ui, SCREEN_RUNS);
    ui.page = (struct page_view){.command = "petri runs", .line = line, .lines = 100};
    type(":page\n");
    assert_true(scene_shows(&ui, "petri runs") && scene_shows(&ui, "line 0 of") && scene_shows(&ui, "lines 1–"));
    type("G");
    assert_true(scene_shows(&ui, "line 99 of"));
    type("/line 5\n");
    assert_int_equal(ui.page.top, 5);
    type("n");
    assert_int_equal(ui.page.top, 50);
    type("N");
    assert_int_equal(ui.page.top, 5);
    type("l");
    assert_false(scene_shows(&ui, "line 5 of"));
    struct effect x = type("y");
    assert_int_equal(x.kind, EFFECT_COPY);
    assert_string_equal(x.text, "petri runs");
    ui.page.going = true;
    x = type("K");
    assert_int_equal(x.kind, EFFECT_VERB_STOP);
    scene_press(&ui, PRESS_ESC);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_RUNS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_best_comes_first, begin, end),
        cmocka_unit_test_setup_teardown(words_are_completed, begin, end),
        cmocka_unit_test_setup_teardown(a_choice_is_not_run_at_once, begin, end),
        cmocka_unit_test_setup_teardown(other_lines_are_the_command_lines, begin, end),
        cmocka_unit_test_setup_teardown(what_is_over_is_not_stopped, begin, end),
        cmocka_unit_test_setup_teardown(what_fits_nothing_is_told, begin, end),
        cmocka_unit_test_setup_teardown(a_page_is_read, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
