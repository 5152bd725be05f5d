/* Contrast of all that is drawn on the grounds of its theme, and series for color-blind readers. */
#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "tests/views/scene.h"
#include "views/heat.h"
#include "views/scatter.h"
#include "views/svg.h"
#include "views/theme.h"

enum { BLACK = 0x000000, WHITE = 0xffffff, UNSET = -1 };

static const struct {
    int ground[2];
} grounds[THEME_MONO] = {
    [THEME_SAFE] = {{BLACK, WHITE}}, [THEME_DARK] = {{BLACK, 0x303030}}, [THEME_LIGHT] = {{WHITE, 0xe4e4e4}}};

static double linear(int part) {
    double v = part / 255.0;
    return v <= 0.04045 ? v / 12.92 : pow((v + 0.055) / 1.055, 2.4);
}

static void linear_of(int rgb, double out[3]) {
    for (int i = 0; i < 3; i++) out[i] = linear(rgb >> (16 - 8 * i) & 255);
}

static double luminance(int rgb) {
    double v[3];
    linear_of(rgb, v);
    return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2];
}

/* WCAG's contrast, 1 to 21. */
static double contrast(int a, int b) {
    double x = luminance(a), y = luminance(b);
    return (fmax(x, y) + 0.05) / (fmin(x, y) + 0.05);
}

/* What xterm shows for a color number: bold text of the first 8 is that of the second 8. */
static int xterm_rgb(int index, bool bold) {
    static const int first[16] = {0x000000, 0xcd0000, 0x00cd00, 0xcdcd00, 0x0000ee, 0xcd00cd, 0x00cdcd, 0xe5e5e5,
                                  0x7f7f7f, 0xff0000, 0x00ff00, 0xffff00, 0x5c5cff, 0xff00ff, 0x00ffff, 0xffffff};
    if (index < 0) return UNSET;
    return index >= 16 ? theme_rgb(index) : first[index < 8 && bold ? index + 8 : index];
}

/* The least contrast of a style on the theme's grounds; of 8 colors on xterm's black or white alone.  The terminal's own colors
 * are its user's choice. */
static double least(struct style s, enum theme theme, enum colors colors) {
    int front = xterm_rgb(s.fg, s.attr & ATTR_BOLD), back = xterm_rgb(s.bg, false);
    double worst = 21;
    if (front == UNSET) return worst;
    if (back != UNSET) return contrast(front, back);
    for (int i = 0; i < (colors == COLORS_8 && theme != THEME_SAFE ? 1 : 2); i++)
        worst = fmin(worst, contrast(front, grounds[theme].ground[i]));
    return worst;
}

static void the_measure_is_that_of_wcag(void **state) {
    (void)state;
    assert_float_equal(contrast(BLACK, WHITE), 21, 1e-9);
    assert_float_equal(contrast(0x777777, WHITE), 4.478, 1e-3);
    assert_int_equal(theme_rgb(16), BLACK);
    assert_int_equal(theme_rgb(63), 0x5f5fff);
    assert_int_equal(theme_rgb(231), WHITE);
    assert_int_equal(theme_rgb(232), 0x080808);
    assert_int_equal(theme_rgb(255), 0xeeeeee);
}

static const enum colors modes[] = {COLORS_256, COLORS_8};

static void every_ink_is_readable(void **state) {
    (void)state;
    for (int t = 0; t < THEME_MONO; t++)
        for (size_t m = 0; m < COUNT_OF(modes); m++) {
            for (int i = 0; i < INK_COUNT; i++) {
                double at = least(theme_style((enum ink)i, (enum theme)t, modes[m]), (enum theme)t, modes[m]);
                if (at < 4.5) fail_msg("ink %d in %s: %.2f", i, theme_name((enum theme)t), at);
            }
            for (int i = 0; i < theme_series((enum theme)t, modes[m]); i++)
                for (int text = 0; text < 2; text++) {
                    double at = least(theme_series_style(i, text, (enum theme)t, modes[m]), (enum theme)t, modes[m]);
                    if (at < (text || (t != THEME_SAFE && modes[m] == COLORS_256) ? 4.5 : 3))
                        fail_msg("series %d in %s: %.2f", i, theme_name((enum theme)t), at);
                }
        }
}

static bool is_text(uint32_t cp) { return cp > ' ' && cp != 0x00D7 && !(cp >= 0x2500 && cp < 0x2600) && !(cp >= 0x2800 && cp < 0x2900); }

/* Whatever a screen draws, tinted rows and cells with a ground of their own included. */
static void every_drawn_text_is_readable(void **state) {
    (void)state;
    for (int t = 0; t < THEME_MONO; t++)
        for (size_t m = 0; m < COUNT_OF(modes); m++)
            for (int s = 0; s < SCREEN_COUNT; s++) {
                struct ui ui;
                struct canvas c;
                scene_init(&ui, 120, 40, GLYPHS_BRAILLE, modes[m]);
                ui.theme = (enum theme)t;
                ui_show(&ui, (enum screen_id)s);
                canvas_init(&c, 120, 40, GLYPHS_BRAILLE, modes[m]);
                ui_draw(&ui, &c);
                for (int i = 0; i < c.w * c.h; i++) {
                    double at = is_text(c.cell[i].cp) ? least(c.cell[i].style, c.theme, modes[m]) : 21;
                    if (at < 3 || (at < 4.5 && c.cell[i].cp != 0x25CF))
                        fail_msg("%s in %s, row %d column %d: %.2f", screen_at((enum screen_id)s)->name, theme_name((enum theme)t),
                                 i / c.w, i % c.w, at);
                }
                canvas_release(&c);
                ui_release(&ui);
            }
}

/* A number in a cell of a matrix, whatever its value and the scale. */
static void numbers_are_readable_in_their_cells(void **state) {
    (void)state;
    enum { N = 101 };
    static double value[N];
    static const char *const name[1] = {"a"};
    static const char *columns[N];
    for (int diverging = 0; diverging < 2; diverging++) {
        for (int i = 0; i < N; i++) {
            value[i] = diverging ? (i - 50) / 50.0 : i / 100.0;
            columns[i] = "b";
        }
        struct heat_data d = {.rows = 1, .columns = N, .value = value, .row_name = name, .column_name = columns, .diverging = diverging};
        struct heat_look k = {.size = HEAT_FULL};
        struct canvas c;
        canvas_init(&c, 700, 3, GLYPHS_BRAILLE, COLORS_256);
        heat_draw(&c, (struct rect){0, 0, 700, 3}, &d, &k);
        for (int i = c.w; i < 2 * c.w; i++)
            if (is_text(c.cell[i].cp) && least(c.cell[i].style, THEME_SAFE, COLORS_256) < 4.5)
                fail_msg("column %d: %.2f", i - c.w, least(c.cell[i].style, THEME_SAFE, COLORS_256));
        canvas_release(&c);
    }
}

/* Color as seen with normal eyes and without one kind of cones (Machado, Oliveira and Fernandes 2009), in CIELAB. */
static void seen(int rgb, int how, double lab[3]) {
    static const double lost[4][3][3] = {
        {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}},
        {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}},
        {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}},
        {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};
    static const double xyz[3][3] = {{0.4339, 0.3762, 0.1899}, {0.2126729, 0.7151522, 0.0721750}, {0.0178, 0.1095, 0.8727}};
    double from[3], to[3], f[3];
    linear_of(rgb, from);
    for (int i = 0; i < 3; i++) {
        to[i] = 0;
        for (int k = 0; k < 3; k++) to[i] += lost[how][i][k] * from[k];
        to[i] = fmin(fmax(to[i], 0), 1);
    }
    for (int i = 0; i < 3; i++) {
        double v = 0;
        for (int k = 0; k < 3; k++) v += xyz[i][k] * to[k];
        f[i] = v > 0.008856 ? cbrt(v) : 7.787 * v + 16.0 / 116;
    }
    lab[0] = 116 * f[1] - 16;
    lab[1] = 500 * (f[0] - f[1]);
    lab[2] = 200 * (f[1] - f[2]);
}

static double apart(struct style a, struct style b) {
    double worst = INFINITY;
    for (int how = 0; how < 4; how++) {
        double x[3], y[3];
        seen(theme_rgb(a.fg), how, x);
        seen(theme_rgb(b.fg), how, y);
        worst = fmin(worst, sqrt(pow(x[0] - y[0], 2) + pow(x[1] - y[1], 2) + pow(x[2] - y[2], 2)));
    }
    return worst;
}

static void series_differ_without_some_cones(void **state) {
    (void)state;
    for (int t = 0; t < THEME_MONO; t++) {
        enum theme theme = (enum theme)t;
        for (int a = 0; a < THEME_SERIES; a++)
            for (int b = 0; b < a; b++) {
                double at = apart(theme_series_style(a, false, theme, COLORS_256), theme_series_style(b, false, theme, COLORS_256));
                if (at < 18) fail_msg("series %d and %d of %s: %.1f apart", b, a, theme_name(theme), at);
            }
        for (int a = INK_MODULE_1; a <= INK_MODULE_3; a++)
            for (int b = INK_MODULE_1; b < a; b++)
                assert_true(apart(theme_style((enum ink)a, theme, COLORS_256), theme_style((enum ink)b, theme, COLORS_256)) > 20);
        assert_true(apart(theme_style(INK_GOOD, theme, COLORS_256), theme_style(INK_BAD, theme, COLORS_256)) > 15);
    }
}

/* A picture is drawn on the ground of its theme, with texts that are readable there. */
static void pictures_have_the_theme_s_ground(void **state) {
    (void)state;
    for (int t = 0; t < THEME_COUNT; t++)
        for (size_t m = 0; m < COUNT_OF(modes); m++) {
            struct ui ui;
            struct buf b = BUF_INIT;
            unsigned ground, ink;
            scene_init(&ui, 100, 30, GLYPHS_BRAILLE, modes[m]);
            ui.theme = (enum theme)t;
            ui_show(&ui, SCREEN_RUNS);
            render_ui(&ui, RENDER_SVG, &b);
            const char *at = strstr(b.data, "fill=\"#");
            assert_int_equal(sscanf(at, "fill=\"#%6x", &ground), 1);
            assert_int_equal(ground, t == THEME_DARK ? 0x1c1c1c : WHITE);
            int texts = 0;
            for (at = b.data; (at = strstr(at, "<text y=")); at++) {
                int y;
                assert_int_equal(sscanf(at, "<text y=\"%d\" fill=\"#%6x", &y, &ink), 2);
                if (ink == ground) continue; /* in reverse: on a rectangle of the text's color */
                if (contrast((int)ink, (int)ground) < 4.5) fail_msg("#%06x on #%06x", ink, ground);
                texts++;
            }
            assert_true(texts > 50);
            buf_release(&b);
            ui_release(&ui);
        }
}

/* Every letter and digit that is drawn in colors is there without them, and with 8. */
static void no_content_is_in_colors_alone(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    for (size_t z = 0; z < COUNT_OF(sizes); z++)
        for (int s = 0; s < SCREEN_COUNT; s++) {
            struct canvas c[3];
            int w = sizes[z][0], h = sizes[z][1];
            if (s == SCREEN_HEATMAP || s == SCREEN_MAP || s == SCREEN_SWEEP) continue; /* shades and letters in place of colors */
            for (int k = 0; k < 3; k++) {
                struct ui ui;
                scene_init(&ui, w, h, GLYPHS_BRAILLE, (enum colors)k);
                ui_show(&ui, (enum screen_id)s);
                canvas_init(&c[k], w, h, GLYPHS_BRAILLE, (enum colors)k);
                ui_draw(&ui, &c[k]);
                ui_release(&ui);
            }
            for (int i = 0; i < w * h; i++) {
                uint32_t cp[3] = {c[0].cell[i].cp, c[1].cell[i].cp, c[2].cell[i].cp};
                if (cp[0] != cp[1] || cp[0] != cp[2])
                    fail_msg("%s at %dx%d, row %d column %d: U+%04X, U+%04X, U+%04X", screen_at((enum screen_id)s)->name, w, h, i / w,
                             i % w, cp[0], cp[1], cp[2]);
            }
            for (int k = 0; k < 3; k++) canvas_release(&c[k]);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_measure_is_that_of_wcag),
        cmocka_unit_test(every_ink_is_readable),
        cmocka_unit_test(every_drawn_text_is_readable),
        cmocka_unit_test(numbers_are_readable_in_their_cells),
        cmocka_unit_test(series_differ_without_some_cones),
        cmocka_unit_test(pictures_have_the_theme_s_ground),
        cmocka_unit_test(no_content_is_in_colors_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
