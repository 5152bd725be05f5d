/* Learn: the list, a lesson's steps, keys that answer and go on, a step beside another screen; drawn at all sizes. */
#include "tests/support/test.h"

#include "tests/views/golden.h"
#include "tests/views/scene.h"
#include "views/learn_parts.h"

static const char lesson_text[] =
    "lesson What a rate is\nabout A sentence about it, long enough that it has to be broken where the line ends in the list of lessons.\n"
    "minutes 3\nseconds 20\n"
    "let d = width()\n"
    "text How large\n  A vector of {d} values. The text is long enough that it takes two lines at eighty columns.\n\n"
    "  |    h  \xE2\x86\x90  h + \xCE\x94h\n"
    "ask which\n  Which is it?\n  a) The first.\n  b) The second, which is told at some length so that it goes on in the next line of it.\n"
    "  > Wait for hands. Who presses b thinks of {d} values, which is what a token's vector has, and says so at some length.\n"
    "  >\n  > Then press.\n"
    "run lora = --method lora(r=8) --steps 40\n  While it runs, look at the curve.\n"
    "check part = loss(lora, 1) / 4 above 0.1\n  The share is {part%} of {lora}.\n"
    "answer which = b\n  Because it is.\n"
    "show train lora\n  Look at the left end of the curve.\n"
    "code core/engine/optim.c optim_step\n  There.\n";

static const struct learn_row rows[] = {
    { "rate", "What a rate is", "A sentence about it, long enough that it has to be broken where the line ends in the list of lessons.",
      "", "done", 3, 20, false },
    { "own", "A teacher's own, \x1b[2J with a title that is a good deal longer than the room there is for it on the screen", "Short.",
      "tiny, toys", "started", 12, 5, false },
    { "third", "Third", NULL, "", "", 4, 60, false },
};

struct scene_lesson {
    struct ui ui;
    struct lesson lesson;
    struct lesson_progress progress;
};

static void begin(struct scene_lesson *s, int w, int h, enum glyphs g, enum colors k, bool open) {
    struct err e = ERR_INIT;
    scene_init(&s->ui, w, h, g, k);
    test_ok(lesson_parse(&s->lesson, "rate.lesson", lesson_text, strlen(lesson_text), &e), &e);
    lesson_progress_init(&s->progress, &s->lesson);
    s->ui.learn.row = rows;
    s->ui.learn.rows = COUNT_OF(rows);
    s->ui.learn.listed = true;
    if (open) {
        s->ui.learn.lesson = &s->lesson;
        s->ui.learn.progress = &s->progress;
    }
    ui_show(&s->ui, SCREEN_LEARN);
    ui_changed(&s->ui);
}

static void end(struct scene_lesson *s) {
    ui_release(&s->ui);
    lesson_progress_release(&s->progress);
    lesson_release(&s->lesson);
}

static struct effect press(struct scene_lesson *s, uint32_t key) {
    struct effect out;
    ui_press(&s->ui, &(struct press){ .code = key, .ms = 100000 }, &out);
    return out;
}

static void value(struct scene_lesson *s, int step, double v) { lesson_set_value(&s->lesson, &s->progress, step, v,
                                                                                 step == 4 ? 0.1 : -INFINITY, INFINITY); }

static void ran(struct scene_lesson *s) {
    s->progress.of[3].state = LESSON_DONE;
    s->progress.of[3].runs = 1;
    s->progress.of[3].run[0] = 3;
}

/* To a step, with all that came before done. */
static void at_step(struct scene_lesson *s, int step) {
    value(s, 0, 384);
    lesson_choose(&s->lesson, &s->progress, 2, 'a');
    if (step > 3) ran(s);
    if (step > 4) value(s, 4, 0.1725);
    s->progress.at = s->progress.furthest = step;
    ui_changed(&s->ui);
}

static void golden_learn(const struct ui *ui, const char *name, const char *suffix) {
    char *whole = xprintf("learn-%s-%s", name, suffix);
    golden(ui, whole);
    free(whole);
}

static void draw(int w, int h, enum glyphs g, enum colors k, const char *suffix) {
    struct scene_lesson s;
    begin(&s, w, h, g, k, false);
    s.ui.compose.workers = 2;
    s.ui.compose.speed.gflops = 50;
    golden_learn(&s.ui, "list", suffix);
    end(&s);
    begin(&s, w, h, g, k, true);
    at_step(&s, 2);
    golden_learn(&s.ui, "ask", suffix);
    at_step(&s, 5);
    golden_learn(&s.ui, "answer", suffix);
    at_step(&s, 6);
    press(&s, PRESS_ENTER);
    golden_learn(&s.ui, "beside", suffix);
    press(&s, '8');
    press(&s, '+');
    golden_learn(&s.ui, "large", suffix);
    end(&s);
    begin(&s, w, h, g, k, true);
    s.ui.learn.notes = true;
    at_step(&s, 2);
    lesson_choose(&s.lesson, &s.progress, 2, 'b');
    golden_learn(&s.ui, "notes", suffix);
    s.ui.learn.lesson = NULL;
    s.ui.learn.progress = NULL;
    golden_learn(&s.ui, "no-notes", suffix);
    end(&s);
}

static void drawn_at_all_sizes(void **state) {
    (void)state;
    draw(80, 24, GLYPHS_BRAILLE, COLORS_256, "80x24");
    draw(120, 40, GLYPHS_BRAILLE, COLORS_256, "120x40");
    draw(160, 40, GLYPHS_BRAILLE, COLORS_256, "160x40");
    draw(200, 60, GLYPHS_BRAILLE, COLORS_256, "200x60");
    draw(80, 24, GLYPHS_ASCII, COLORS_NONE, "ascii");
}

/* Any size, any step, beside any screen: nothing is drawn outside and nothing breaks. */
static void any_size_holds(void **state) {
    (void)state;
    static const enum screen_id over[] = { SCREEN_LEARN, SCREEN_MAP };
    int wide = test_slow() ? 300 : 189, high = test_slow() ? 100 : 59; /* there all of them */
    for (int w = 1; w <= wide; w += test_slow() ? 1 : 43)
        for (int h = 1; h <= high; h += test_slow() ? 1 : 12)
            for (size_t k = 0; k < COUNT_OF(over); k++) {
                struct scene_lesson s;
                struct canvas c;
                begin(&s, w, h, GLYPHS_BRAILLE, COLORS_256, true);
                at_step(&s, (w + h) % 8);
                s.ui.learn.notes = w / 43 % 2;
                ui_show(&s.ui, over[k]);
                canvas_init(&c, w, h, GLYPHS_BRAILLE, COLORS_256);
                ui_draw(&s.ui, &c);
                assert_int_equal(c.w, w);
                assert_int_equal(c.h, h);
                canvas_release(&c);
                end(&s);
            }
}

/* What follows a lesson does nothing to it. */
static void notes_only_follow(void **state) {
    (void)state;
    static const uint32_t keys[] = { PRESS_ENTER, 'l', 'h', 'b', 'R', '+', PRESS_ESC, 'j', 'k', '8' };
    struct scene_lesson s;
    begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, true);
    s.ui.learn.notes = true;
    at_step(&s, 2);
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        assert_int_equal(press(&s, keys[i]).kind, EFFECT_NONE);
        assert_int_equal(s.progress.at, 2);
        assert_int_equal(s.progress.of[2].chosen, 'a');
    }
    ui_show(&s.ui, SCREEN_TRAIN); /* and nothing stands beside other screens */
    assert_false(s.ui.learn.beside);
    end(&s);
}

static void enter_opens_and_letters_answer(void **state) {
    (void)state;
    struct scene_lesson s;
    begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, false);
    press(&s, 'j');
    struct effect x = press(&s, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_LESSON);
    assert_string_equal(x.text, "own");
    assert_true(scene_shows(&s.ui, "opening own \u2026"));
    assert_int_equal(press(&s, PRESS_ENTER).kind, EFFECT_NONE); /* it is asked for once */
    end(&s);
    begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, true);
    assert_int_equal(s.progress.at, 1); /* the value before it is computed on the way */
    assert_int_equal(press(&s, PRESS_ENTER).kind, EFFECT_NONE); /* which has not come yet */
    value(&s, 0, 384);
    x = press(&s, PRESS_ENTER);
    assert_true(x.kind == EFFECT_LESSON_STEP && x.by == 2 && s.progress.at == 2);
    assert_int_equal(press(&s, PRESS_ENTER).kind, EFFECT_NONE); /* a question is answered first */
    assert_int_equal(s.progress.at, 2);
    press(&s, 'c'); /* no choice: Compose's key has no say here either */
    assert_int_equal(s.progress.of[2].chosen, 0);
    x = press(&s, 'b');
    assert_true(x.kind == EFFECT_LESSON_STEP && s.progress.of[2].chosen == 'b');
    press(&s, PRESS_ENTER);
    assert_int_equal(s.progress.at, 3);
    x = press(&s, PRESS_ENTER);
    assert_true(x.kind == EFFECT_LESSON_STEP && x.by == 3 && x.keep);
    assert_int_equal(press(&s, PRESS_ENTER).kind, EFFECT_NONE); /* it trains */
    ran(&s);
    press(&s, PRESS_ENTER);
    assert_int_equal(s.progress.at, 4);
    press(&s, 'h');
    assert_int_equal(s.progress.at, 3);
    x = press(&s, 'R');
    assert_true(x.kind == EFFECT_LESSON_STEP && x.by < 0 && s.progress.of[2].given[1] == 1 && !s.progress.of[2].chosen);
    assert_int_equal(press(&s, PRESS_ESC).kind, EFFECT_LESSON_CLOSE);
    end(&s);
}

/* Opens another lesson than that of begin. */
static void other_lesson(struct scene_lesson *s, const char *text) {
    struct err e = ERR_INIT;
    lesson_progress_release(&s->progress);
    lesson_release(&s->lesson);
    test_ok(lesson_parse(&s->lesson, "a.lesson", text, strlen(text), &e), &e);
    lesson_progress_init(&s->progress, &s->lesson);
    s->ui.learn.lesson = &s->lesson;
    s->ui.learn.progress = &s->progress;
}

/* Compare shows the losses, which a lesson's text calls the curves. */
static void a_lesson_compares_curves(void **state) {
    (void)state;
    struct scene_lesson s;
    begin(&s, 120, 40, GLYPHS_BRAILLE, COLORS_256, false);
    other_lesson(&s, "lesson A\nrun a = --steps 3\nrun b = again a --seed 2\nshow compare a b\n  Look.\n");
    for (int i = 0; i < 2; i++) s.progress.of[i] = (struct lesson_result){ .state = LESSON_DONE, .runs = 1, .run = { 3 + i } };
    s.progress.at = s.progress.furthest = 2;
    ui_changed(&s.ui);
    struct effect x = press(&s, PRESS_ENTER);
    assert_true(x.kind == EFFECT_COMPARE && x.runs == 2);
    assert_true(s.ui.screen == SCREEN_COMPARE && s.ui.compare.losses);
    end(&s);
}

/* A run that trains shows its loss once it has one, or how far an evaluation is. */
static void a_run_shows_where_it_is(void **state) {
    (void)state;
    static const struct { int64_t step, scored, to_score; const char *shows, *not; } cases[] = {
        { 0, 0, 0, "#3  step 0 of 40", "loss" },
        { 0, 3, 64, "step 0 of 40  evaluating 3/64", "loss" },
        { 7, 0, 0, "step 7 of 40  loss 0.5", "evaluating" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct scene_lesson s;
        begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, false);
        other_lesson(&s, "lesson A\nrun a = --steps 40\n  Look.\n");
        struct job_row job = { .id = 3, .state = RUN_RUNNING, .step = cases[i].step, .steps = 40, .loss = 0.5, .scored = cases[i].scored,
                               .to_score = cases[i].to_score };
        s.ui.train.job = &job;
        s.ui.train.jobs = 1;
        s.progress.of[0] = (struct lesson_result){ .state = LESSON_BUSY, .runs = 1, .run = { 3 } };
        ui_changed(&s.ui);
        assert_true(scene_shows(&s.ui, cases[i].shows));
        assert_false(scene_shows(&s.ui, cases[i].not));
        end(&s);
    }
}

/* Maps are drawn side by side, each with its title; at any size nothing breaks. */
static void maps_are_drawn(void **state) {
    (void)state;
    static const int size[][2] = { { 80, 24 }, { 200, 60 }, { 20, 5 }, { 3, 2 } };
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        struct scene_lesson s;
        begin(&s, size[i][0], size[i][1], GLYPHS_BRAILLE, COLORS_256, false);
        other_lesson(&s, "lesson A\nmap points.tsv 10 29:2\n  Where they are.\n");
        ui_changed(&s.ui);
        if (!i) assert_true(scene_shows(&s.ui, "computing"));
        assert_false(lesson_passed(&s.lesson, &s.progress, 0));
        struct lesson_map *map = xcalloc(1, sizeof *map);
        *map = (struct lesson_map){ .n = 3, .classes = 2, .label = { 0, 1, 1 }, .class_name = { "tight", "wide" } };
        for (int k = 0; k < 6; k++) map->xy[0][k] = map->xy[1][k] = k * k;
        lesson_set_map(&s.progress, 0, map);
        struct lesson_progress *copy = lesson_progress_clone(&s.progress); /* as the background hands it over */
        assert_true(copy->of[0].map != map && copy->of[0].map->n == 3);
        lesson_progress_release(copy);
        free(copy);
        static const char *const shown[] = { "perplexity 10", "perplexity 29, seed 2", "tight", "wide", "Where they are." };
        for (size_t k = 0; k < COUNT_OF(shown); k++) assert_true(scene_shows(&s.ui, shown[k]) || i > 1);
        end(&s);
    }
}

/* A check without text is passed over only while it holds; steps are counted as they are seen. */
static void a_failed_check_is_a_step(void **state) {
    (void)state;
    static const char steps[] = "lesson A\ntext B\n  One.\nlet a = 1\ncheck c = a above 2\ntext D\n  Two.\n";
    for (int fails = 0; fails < 2; fails++) {
        struct scene_lesson s;
        begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, false);
        other_lesson(&s, steps);
        lesson_set_value(&s.lesson, &s.progress, 1, 1, -INFINITY, INFINITY);
        lesson_set_value(&s.lesson, &s.progress, 2, fails ? 1 : 3, 2, INFINITY);
        ui_changed(&s.ui);
        assert_true(scene_shows(&s.ui, fails ? "1 of 3" : "1 of 2"));
        press(&s, PRESS_ENTER);
        assert_int_equal(s.progress.at, fails ? 2 : 3);
        if (fails) press(&s, PRESS_ENTER);
        assert_true(scene_shows(&s.ui, "Two."));
        for (int large = 0; large < 2; large++, press(&s, '+')) {
            assert_true(scene_shows(&s.ui, "\u2717 measured 1, expected above 2") == fails);
            assert_true(scene_shows(&s.ui, "may not apply to this") == fails);
        }
        end(&s);
    }
}

static void a_step_lies_beside_the_screen_it_shows(void **state) {
    (void)state;
    struct scene_lesson s;
    begin(&s, 80, 24, GLYPHS_BRAILLE, COLORS_256, true);
    at_step(&s, 6);
    struct effect x = press(&s, PRESS_ENTER);
    assert_true(x.kind == EFFECT_WATCH && x.runs == 1 && x.run[0] == 3);
    assert_int_equal(s.ui.screen, SCREEN_TRAIN);
    assert_true(s.ui.learn.beside && s.ui.h == 16 && s.ui.w == 80);
    ui_resize(&s.ui, 160, 40);
    assert_true(s.ui.learn.beside && s.ui.h == 40 && s.ui.w < 120);
    ui_resize(&s.ui, 60, 16); /* no room for both */
    assert_true(!s.ui.learn.beside && s.ui.h == 16);
    ui_resize(&s.ui, 80, 24);
    x = press(&s, '8');
    assert_true(s.ui.screen == SCREEN_LEARN && !s.ui.learn.beside && s.ui.h == 24);
    assert_int_equal(s.progress.at, 7); /* what was shown was seen */
    press(&s, '2');
    assert_true(s.ui.screen == SCREEN_TRAIN && s.ui.learn.beside);
    press(&s, '8');
    assert_int_equal(s.progress.at, 7);
    assert_int_equal(press(&s, PRESS_ENTER).kind, EFFECT_LESSON_STEP);
    assert_true(s.progress.whole);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawn_at_all_sizes),
        cmocka_unit_test(any_size_holds),
        cmocka_unit_test(enter_opens_and_letters_answer),
        cmocka_unit_test(notes_only_follow),
        cmocka_unit_test(a_failed_check_is_a_step),
        cmocka_unit_test(a_lesson_compares_curves),
        cmocka_unit_test(a_run_shows_where_it_is),
        cmocka_unit_test(maps_are_drawn),
        cmocka_unit_test(a_step_lies_beside_the_screen_it_shows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
