#include "tests/support/test.h"

#include <string.h>

#include "core/base/text.h"
#include "tests/views/scene.h"

static void type(struct prompt *p, const char *text) {
    while (*text) {
        uint32_t cp;
        text += utf8_decode(text, strlen(text), &cp);
        struct press k = {cp, false, 0};
        prompt_press(p, &k);
    }
}

static enum prompt_result hit(struct prompt *p, uint32_t code) {
    struct press k = {code, false, 0};
    return prompt_press(p, &k);
}

static void editing(void **state) {
    (void)state;
    struct prompt p;
    prompt_open(&p, "/", "", false);
    type(&p, "a好b");
    hit(&p, PRESS_LEFT);
    hit(&p, PRESS_BACKSPACE); /* a whole character, not a byte */
    assert_string_equal(p.text, "ab");
    hit(&p, PRESS_HOME);
    type(&p, "x");
    hit(&p, PRESS_CTRL('k'));
    assert_string_equal(p.text, "x");
    type(&p, " two three");
    hit(&p, PRESS_CTRL('w'));
    assert_string_equal(p.text, "x two ");
    assert_int_equal(hit(&p, PRESS_ENTER), PROMPT_DONE);
    assert_false(p.open);
}

static void first_key_replaces_a_fresh_value(void **state) {
    (void)state;
    struct prompt p;
    prompt_open(&p, "r", "8", true);
    type(&p, "16");
    assert_string_equal(p.text, "16");
    prompt_open(&p, "r", "8", true);
    hit(&p, PRESS_END);
    type(&p, "0");
    assert_string_equal(p.text, "80");
}

static void a_paste_is_text(void **state) {
    (void)state;
    struct prompt p;
    prompt_open(&p, "/", "", false);
    static const char text[] = "ddd\n:purge\n3\nKy\x1b[201~\x07qq\xc2\x9b";
    prompt_paste(&p, text, sizeof text - 1);
    assert_true(p.open);
    assert_string_equal(p.text, "ddd :purge 3 Ky[201~qq");
}

static void room_is_kept(void **state) {
    (void)state;
    struct prompt p;
    prompt_open(&p, "/", "", false);
    for (int i = 0; i < 2000; i++) type(&p, "好");
    assert_true(p.length < PROMPT_ROOM);
    assert_true(utf8_valid(p.text, p.length));
    char long_text[2 * PROMPT_ROOM];
    memset(long_text, 'x', sizeof long_text);
    prompt_paste(&p, long_text, sizeof long_text);
    assert_true(p.length < PROMPT_ROOM);
}

static void matching(void **state) {
    (void)state;
    assert_true(prompt_match("tr", "train") > prompt_match("tr", "restore"));
    assert_true(prompt_match("rs", "restore") >= 0);
    assert_true(prompt_match("zz", "train") < 0);
}

/* Pasted keys do nothing on any screen; the same typed in one burst throws nothing away. */
static void pasting_where_no_line_is_open(void **state) {
    (void)state;
    static const char text[] = "ddd\n:purge\n3\nKy\nqq";
    struct ui ui;
    struct effect out;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_RUNS);
    ui_paste(&ui, text, sizeof text - 1, &out);
    assert_int_equal(out.kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_NONE);
    assert_non_null(strstr(ui.message, "pasted"));
    ui_release(&ui);
}

static void a_burst_answers_no_question(void **state) {
    (void)state;
    struct ui ui;
    struct effect out;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_TRAIN);
    struct press k = {'K', false, 5000}, y = {'y', false, 5001};
    ui_press(&ui, &k, &out);
    assert_int_equal(ui.ask.kind, ASK_STOP);
    assert_true(ui.flush);
    ui_press(&ui, &y, &out);
    assert_int_equal(out.kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_STOP);
    y.ms = 6000;
    ui_press(&ui, &y, &out);
    assert_int_equal(out.kind, EFFECT_STOP);
    assert_true(out.keep && out.runs == 1 && out.run[0] == 3);
    ui_release(&ui);
}

static void stopping_asks_twice_before_it_loses_anything(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_TRAIN);
    static const uint32_t refused[] = {PRESS_ENTER, PRESS_ESC, 'K', 'n', ' '};
    for (size_t i = 0; i < COUNT_OF(refused); i++) {
        scene_press(&ui, 'K');
        assert_int_equal(scene_press(&ui, refused[i]).kind, EFFECT_NONE);
        assert_int_equal(ui.ask.kind, ASK_NONE);
    }
    scene_press(&ui, 'K');
    assert_int_equal(scene_press(&ui, 'x').kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_DISCARD);
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    scene_press(&ui, 'K');
    scene_press(&ui, 'x');
    struct effect out = scene_press(&ui, 'y');
    assert_int_equal(out.kind, EFFECT_STOP);
    assert_false(out.keep);
    ui_release(&ui);
}

static void leaving_asks_only_when_runs_go(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    assert_int_equal(scene_press(&ui, 'q').kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_QUIT);
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_NONE);
    scene_press(&ui, 'q');
    struct effect out = scene_press(&ui, 'y');
    assert_true(out.kind == EFFECT_QUIT && out.keep);
    ui.running = ui.queued = 0;
    assert_int_equal(scene_press(&ui, PRESS_CTRL('c')).kind, EFFECT_QUIT);
    ui_release(&ui);
}

static void commands(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    scene_type(&ui, ":met");
    scene_press(&ui, PRESS_TAB);
    assert_true(text_starts(ui.prompt.text, "method"));
    scene_press(&ui, PRESS_ESC);
    scene_type(&ui, ":method lora(r=4)");
    struct effect out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_METHOD_TEXT);
    assert_string_equal(out.text, "lora(r=4)");
    scene_type(&ui, ":trash 5");
    out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_TRASH);
    assert_int_equal(out.run[0], 5);
    scene_type(&ui, ":purge 5");
    out = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(out.kind, EFFECT_VERB); /* the command line's, which asks for a yes */
    ui_release(&ui);
}

/* Methods of one's own are kept, taken to a file and brought from one on the line. */
static void own_methods_are_commands(void **state) {
    (void)state;
    static const struct {
        const char *line;
        enum effect_kind kind;
        int by;
        const char *text;
    } cases[] = {{"methods save mine", EFFECT_METHOD_KEEP, 0, "mine"}, {"methods forget mine", EFFECT_METHOD_KEEP, -1, "mine"},
                 {"methods export a b.json", EFFECT_METHODS_OUT, 0, "a b.json"}, {"methods import m.json", EFFECT_METHODS_IN, 0, "m.json"},
                 {"methods steal mine", EFFECT_NONE, 0, NULL}, {"methods save", EFFECT_NONE, 0, NULL},
                 {"methods --json", EFFECT_VERB, 0, "methods --json"}};
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct effect out = {.kind = EFFECT_NONE};
        ui_command(&ui, cases[i].line, &out);
        assert_int_equal(out.kind, cases[i].kind);
        if (!cases[i].text) assert_non_null(strstr(ui.message, "save NAME"));
        else assert_string_equal(out.text, cases[i].text);
        if (cases[i].text) assert_int_equal(out.by, cases[i].by);
    }
    struct effect out = {.kind = EFFECT_NONE};
    ui_command(&ui, "methods", &out);
    assert_true(ui.picker.open && ui.picker.kind == PICK_PRESET);
    ui_release(&ui);
}

/* What the next run of Compose is called is a part of its line, not of a sweep's. */
static void the_next_run_has_a_name(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_type(&ui, "rtalk");
    struct effect out = scene_press(&ui, PRESS_ENTER);
    assert_true(out.kind == EFFECT_NAME && !out.runs);
    assert_string_equal(out.text, "talk");
    snprintf(ui.compose.run_name, sizeof ui.compose.run_name, "for the talk");
    char *line = compose_command(&ui.compose);
    assert_non_null(strstr(line, " --name 'for the talk'"));
    free(line);
    ui.compose.seed[0] = 4, ui.compose.seed[1] = 5, ui.compose.seeds = 2;
    scene_press(&ui, 'A');
    assert_null(strstr(ui.prompt.text, "--name"));
    assert_non_null(strstr(ui.prompt.text, "--seeds 4,5 "));
    assert_null(strstr(strstr(ui.prompt.text, "--seeds") + 1, "--seeds"));
    ui_release(&ui);
}

/* A run is named by its number, or by what it alone is called. */
static void a_command_takes_a_runs_name(void **state) {
    (void)state;
    struct run_row row[COUNT_OF(scene_rows)];
    struct effect out = {.kind = EFFECT_NONE};
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    memcpy(row, scene_rows, sizeof row);
    row[1].name = "talk";
    ui.runs.row = row;
    ui_command(&ui, "show talk", &out);
    assert_int_equal(out.kind, EFFECT_OPEN_RUN);
    assert_int_equal(out.run[0], row[1].id);
    row[2].name = "talk";
    out = (struct effect){.kind = EFFECT_NONE};
    ui_command(&ui, "trash talk", &out);
    assert_int_equal(out.kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "no run specified"));
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(editing),
        cmocka_unit_test(first_key_replaces_a_fresh_value),
        cmocka_unit_test(a_paste_is_text),
        cmocka_unit_test(room_is_kept),
        cmocka_unit_test(matching),
        cmocka_unit_test(pasting_where_no_line_is_open),
        cmocka_unit_test(a_burst_answers_no_question),
        cmocka_unit_test(stopping_asks_twice_before_it_loses_anything),
        cmocka_unit_test(leaving_asks_only_when_runs_go),
        cmocka_unit_test(commands),
        cmocka_unit_test(own_methods_are_commands), cmocka_unit_test(a_command_takes_a_runs_name),
        cmocka_unit_test(the_next_run_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
