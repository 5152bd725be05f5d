#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "views/canvas.h"

static void expect(const struct canvas *c, const char *text) {
    struct buf b = BUF_INIT;
    canvas_to_text(c, &b);
    assert_string_equal(buf_text(&b), text);
    buf_release(&b);
}

static void text_by_columns(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 8, 3, GLYPHS_BRAILLE, COLORS_256);
    assert_int_equal(canvas_text(&c, 0, 0, INK_TEXT, "好a"), 3);
    canvas_text(&c, 3, 0, INK_TEXT, "|");
    /* the last column has no room for a wide one: it is left out whole */
    canvas_text(&c, 7, 1, INK_TEXT, "好");
    canvas_fit(&c, 0, 2, 4, INK_TEXT, "好好好");
    expect(&c, "好a|\n\n好…\n");
    canvas_release(&c);
}

static void writing_over_half_of_a_wide_one(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 6, 1, GLYPHS_BRAILLE, COLORS_256);
    canvas_text(&c, 0, 0, INK_TEXT, "好好");
    canvas_text(&c, 1, 0, INK_TEXT, "x");
    assert_int_equal(canvas_at(&c, 0, 0)->cp, ' ');
    canvas_text(&c, 2, 0, INK_TEXT, "y");
    assert_int_equal(canvas_at(&c, 3, 0)->cp, ' ');
    expect(&c, " xy\n");
    canvas_release(&c);
}

static void controls_are_shown(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 40, 2, GLYPHS_BRAILLE, COLORS_256);
    int used = canvas_text(&c, 0, 0, INK_TEXT, "a\x1b]0;X\x07\xc2\x9b" "31m\n");
    assert_int_equal(used, 12);
    struct buf b = BUF_INIT;
    canvas_to_text(&c, &b);
    for (const char *p = b.data; *p; p++) assert_true(*p == '\n' || (unsigned char)*p >= 0x20);
    assert_null(strstr(b.data, "\xc2\x9b"));
    buf_release(&b);
    canvas_release(&c);
}

static void joiners_do_not_melt(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 10, 1, GLYPHS_BRAILLE, COLORS_256);
    /* two people joined to a family: four columns here, whatever the terminal thinks */
    assert_int_equal(canvas_text(&c, 0, 0, INK_TEXT, "\U0001F468\u200D\U0001F469|"), 5);
    assert_int_equal(canvas_at(&c, 4, 0)->cp, '|');
    canvas_text(&c, 6, 0, INK_TEXT, "e\u0301");
    assert_int_equal(canvas_at(&c, 6, 0)->mark[0], 0x301);
    canvas_release(&c);
}

static void clipping(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 10, 3, GLYPHS_BRAILLE, COLORS_256);
    canvas_push_clip(&c, (struct rect){2, 1, 4, 1});
    canvas_text(&c, 0, 1, INK_TEXT, "0123456789");
    canvas_text(&c, 0, 0, INK_TEXT, "0123456789");
    canvas_push_clip(&c, (struct rect){0, 0, 3, 3});
    canvas_fill(&c, (struct rect){0, 0, 10, 3}, INK_TEXT, '#');
    canvas_pop_clip(&c);
    canvas_pop_clip(&c);
    expect(&c, "\n  #345\n\n");
    canvas_release(&c);
}

static void ascii_alone(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 60, 4, GLYPHS_ASCII, COLORS_NONE);
    canvas_text(&c, 0, 0, INK_TEXT, "Δh ← (1−λ) h");
    canvas_text(&c, 0, 1, INK_TEXT, "好|é|\u28FF|");
    canvas_rule(&c, 0, 2, 20, "title", NULL);
    canvas_bar(&c, 0, 3, 10, 0.5);
    expect(&c, "dh <- (1-lambda) h\n??|?|?|\n-- title -----------\n#####.....\n");
    for (int i = 0; i < c.w * c.h; i++) assert_true(c.cell[i].cp < 0x80);
    canvas_release(&c);
}

static void ansi_only_where_styled(void **state) {
    (void)state;
    struct canvas c;
    struct buf b = BUF_INIT;
    canvas_init(&c, 5, 1, GLYPHS_BRAILLE, COLORS_256);
    canvas_text(&c, 0, 0, INK_TEXT, "a");
    canvas_text(&c, 1, 0, INK_GOOD, "b");
    canvas_to_ansi(&c, &b);
    assert_string_equal(b.data, "a\x1b[0;38;5;29mb\x1b[0m\n");
    buf_release(&b);
    canvas_release(&c);
    /* without colors no sequence names one */
    canvas_init(&c, INK_COUNT, 1, GLYPHS_BRAILLE, COLORS_NONE);
    for (int i = 0; i < INK_COUNT; i++) canvas_text(&c, i, 0, (enum ink)i, "x");
    canvas_to_ansi(&c, &b);
    assert_null(strstr(b.data, "38;5"));
    assert_null(strstr(b.data, ";3"));
    buf_release(&b);
    canvas_release(&c);
}

static void wrapping(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 12, 4, GLYPHS_BRAILLE, COLORS_256);
    const char *text = "one two three averyverylongword";
    assert_int_equal(canvas_wrap(&c, (struct rect){0, 0, 9, 4}, INK_TEXT, text), 4);
    assert_int_equal(canvas_wrap_rows(&c, 9, text), 4);
    expect(&c, "one two\nthree\naveryvery\nlongword\n");
    canvas_release(&c);
}

static void no_size(void **state) {
    (void)state;
    static const int sizes[] = {-5, 0, 1};
    for (int i = 0; i < 9; i++) {
        struct canvas c;
        canvas_init(&c, sizes[i % 3], sizes[i / 3], GLYPHS_BRAILLE, COLORS_256);
        canvas_text(&c, -3, 0, INK_TEXT, "好好好");
        canvas_rule(&c, 0, 0, 80, "title", "right");
        canvas_bar(&c, 0, 0, 9, 0.0 / 0.0);
        canvas_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_by_columns),  cmocka_unit_test(writing_over_half_of_a_wide_one),
        cmocka_unit_test(controls_are_shown), cmocka_unit_test(joiners_do_not_melt),
        cmocka_unit_test(clipping),         cmocka_unit_test(ascii_alone),
        cmocka_unit_test(ansi_only_where_styled), cmocka_unit_test(wrapping),
        cmocka_unit_test(no_size),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
