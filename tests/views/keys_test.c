#include "tests/support/test.h"

#include <ctype.h>
#include <string.h>

#include "core/base/text.h"
#include "tests/views/scene.h"

static void every_request_has_a_key_and_help(void **state) {
    (void)state;
    for (int r = REQ_NONE + 1; r < REQ_COUNT; r++) {
        int found = 0;
        for (int i = 0; i < keys_count(); i++) {
            const struct key_entry *k = keys_at(i);
            if ((int)k->request != r) continue;
            found++;
            assert_true(k->help && strlen(k->help) > 5);
            bool works = false;
            for (int s = 0; s < SCREEN_COUNT; s++) works = works || keys_works((enum screen_id)s, k);
            assert_true(works);
            assert_true(!k->rank == !k->hint);
        }
        if (found != 1) fail_msg("request %d is in the table %d times", r, found);
    }
}

/* A letter asks for the same thing wherever it asks for anything; but c, which composes on
 * the first page, where there is nothing to colour yet, and t, p and c on Runs: tags, pin, columns. */
static void a_letter_has_one_meaning(void **state) {
    (void)state;
    for (uint32_t c = '!'; c < 127; c++) {
        enum request meant = REQ_NONE;
        for (int s = 0; s < SCREEN_COUNT; s++) {
            struct press p = {c, false, 0};
            enum request r = keys_request((enum screen_id)s, &p);
            if (r == REQ_NONE || (c == 'c' && s == SCREEN_FIRST) || (strchr("tpc", (int)c) && s == SCREEN_RUNS)) continue;
            if (meant != REQ_NONE && r != meant) fail_msg("'%c' has two meanings", (int)c);
            meant = r;
        }
    }
}

static void no_key_twice_on_a_screen(void **state) {
    (void)state;
    for (int i = 0; i < keys_count(); i++)
        for (int j = 0; j < i; j++) {
            const struct key_entry *a = keys_at(i), *b = keys_at(j);
            bool both = false;
            for (int s = 0; s < SCREEN_COUNT; s++)
                both = both || (keys_works((enum screen_id)s, a) && keys_works((enum screen_id)s, b));
            if (!both) continue;
            uint32_t ka[] = {a->key, a->alias[0], a->alias[1]}, kb[] = {b->key, b->alias[0], b->alias[1]};
            for (int x = 0; x < 9; x++)
                if (ka[x / 3] && ka[x / 3] == kb[x % 3]) fail_msg("key %u is twice", ka[x / 3]);
        }
}

/* No Ctrl letter does harm. */
static void control_letters_are_harmless(void **state) {
    (void)state;
    for (int i = 0; i < keys_count(); i++) {
        const struct key_entry *k = keys_at(i);
        if (k->key >= 27) continue;
        assert_true(k->request != REQ_TRASH && k->request != REQ_STOP && k->request != REQ_LESS);
    }
}

static void hint_line(enum screen_id screen, char out[400]) {
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_NONE);
    ui_show(&ui, screen);
    render_ui(&ui, RENDER_TEXT, &b);
    char *last = strrchr(b.data, '\n');
    *last = 0;
    last = strrchr(b.data, '\n') + 1;
    snprintf(out, 400, "%s", last);
    buf_release(&b);
    ui_release(&ui);
}

/* What ranks 1 to 4 is there at 80 columns, and so is help. */
static void hints_fit_80_columns(void **state) {
    (void)state;
    for (int s = 0; s < SCREEN_COUNT; s++) {
        char line[400];
        hint_line((enum screen_id)s, line);
        assert_true(text_width(line) <= 80);
        assert_non_null(strstr(line, "? help"));
    }
    char line[400];
    hint_line(SCREEN_COMPOSE, line);
    assert_non_null(strstr(line, "Enter train  h/l axis  j/k choice  P presets"));
    hint_line(SCREEN_TRAIN, line);
    assert_non_null(strstr(line, "Space pause  K stop"));
    hint_line(SCREEN_RUNS, line);
    assert_non_null(strstr(line, "Space mark  Enter open"));
}

static void nothing_is_promised_that_does_not_work(void **state) {
    (void)state;
    char line[400];
    struct ui ui;
    struct buf b = BUF_INIT;
    hint_line(SCREEN_DETAIL, line); /* the run has finished: there is nothing to stop */
    assert_null(strstr(line, "stop"));
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_NONE);
    ui.first.model_ready = false;
    ui.first.fetch = "make fetch";
    render_ui(&ui, RENDER_TEXT, &b);
    assert_null(strstr(b.data, "Enter train"));
    assert_non_null(strstr(b.data, "make fetch"));
    struct effect out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_NONE);
    buf_release(&b);
    ui_release(&ui);
}

static void what_stands_in_is_said_whole(void **state) {
    (void)state;
    const char *said = "petri-mini and sections are petri's own; `petri fetch` brings more";
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_NONE);
    ui.first.stand_in = said;
    render_ui(&ui, false, &b);
    assert_non_null(strstr(b.data, said));
    buf_release(&b);
    ui_release(&ui);
}

static void help_searches(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_NONE);
    for (const char *p = "?/smooth"; *p; p++) scene_press(&ui, (unsigned char)*p);
    scene_press(&ui, PRESS_ENTER);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "smooth the curve more"));
    assert_null(strstr(b.data, "to the trash"));
    buf_release(&b);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_HELP);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_FIRST);
    ui_release(&ui);
}

/* The page of Compose's method, and back. */
static void a_method_is_explained(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 100, 40, GLYPHS_BRAILLE, COLOURS_NONE);
    scene_method(&ui, "hyperformer++(r=4)");
    ui_show(&ui, SCREEN_COMPOSE);
    scene_press(&ui, 'E');
    assert_int_equal(ui.screen, SCREEN_EXPLAIN);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "what it is"));
    assert_non_null(strstr(b.data, "reads a.out, writes a.out: sequential"));
    assert_non_null(strstr(b.data, "lines 1–"));
    scene_press(&ui, 'G');
    assert_true(ui.explain.top > 0);
    buf_clear(&b);
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "what the published code does otherwise"));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    buf_release(&b);
    ui_release(&ui);
}

/* Help lists the keys that work where it was asked for, with what that screen is for, and goes
 * back there. */
static void help_is_of_the_screen(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 60, GLYPHS_BRAILLE, COLOURS_NONE);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.screen, SCREEN_DETAIL);
    scene_press(&ui, '?');
    assert_true(scene_shows(&ui, "A run's page"));
    assert_false(scene_shows(&ui, "A method is a set"));
    assert_false(scene_shows(&ui, "smooth the curve more"));
    assert_true(scene_shows(&ui, "to the trash"));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.screen, SCREEN_DETAIL);
    scene_press(&ui, '1');
    scene_press(&ui, '?');
    assert_true(scene_shows(&ui, "A method is a set"));
    scene_press(&ui, 'q');
    assert_int_equal(ui.screen, SCREEN_COMPOSE);
    ui_release(&ui);
}

/* ---- own data ---- */

static void a_file_is_found_by_typing(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_256);
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
    for (const char *p = "notes"; *p; p++) scene_press(&ui, (unsigned char)*p);
    assert_false(scene_shows(&ui, "mine.csv"));
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "does not tell a format"));
    for (int i = 0; i < 5; i++) scene_press(&ui, PRESS_BACKSPACE);
    x = scene_press(&ui, PRESS_BACKSPACE); /* nothing is typed: the folder above */
    assert_int_equal(x.kind, EFFECT_FOLDER);
    assert_string_equal(x.text, "/home/ada");
    for (const char *p = "mi"; *p; p++) scene_press(&ui, (unsigned char)*p);
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_LOOK);
    assert_string_equal(x.text, "/home/ada/data/mine.csv");
    assert_false(ui.prompt.open);
    ui_release(&ui);
}

static void columns_are_given_their_meaning(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLOURS_256);
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
    assert_true(scene_shows(&ui, "reading them")); /* the report is of before */
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
        cmocka_unit_test(every_request_has_a_key_and_help),
        cmocka_unit_test(a_letter_has_one_meaning),
        cmocka_unit_test(no_key_twice_on_a_screen),
        cmocka_unit_test(control_letters_are_harmless),
        cmocka_unit_test(hints_fit_80_columns),
        cmocka_unit_test(what_stands_in_is_said_whole),
        cmocka_unit_test(nothing_is_promised_that_does_not_work),
        cmocka_unit_test(help_searches),
        cmocka_unit_test(a_method_is_explained),
        cmocka_unit_test(help_is_of_the_screen),
        cmocka_unit_test(a_file_is_found_by_typing),
        cmocka_unit_test(columns_are_given_their_meaning),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
