#include "tests/support/test.h"

#include <math.h>
#include <stdlib.h>

#include "views/scatter.h"

static const double corners[] = {-1, -1, 1, 1, -1, 1, 1, -1, 0.05, 0};
static const int32_t label[] = {0, 1, 0, 1, 0};

static struct scatter_data points(void) { return (struct scatter_data){5, corners, label, 2, NULL}; }

static int marks_in(const struct canvas *c, int x0, int x1) {
    int n = 0;
    for (int y = 0; y < c->h; y++)
        for (int x = x0; x < x1; x++) n += canvas_at(c, x, y)->cp != ' ';
    return n;
}

static struct canvas drawn(enum glyphs g, enum colors k, int w, int h, const struct scatter_data *d,
                           const struct scatter_look *look) {
    struct canvas c;
    canvas_init(&c, w, h, g, k);
    scatter_draw(&c, (struct rect){0, 0, w, h}, d, look, -1, false);
    return c;
}

/* Both directions share one scale: a square of points stays one in a wide pane. */
static void the_scale_is_shared(void **state) {
    (void)state;
    struct scatter_look look;
    struct scatter_data d = points();
    scatter_look_init(&look);
    struct canvas c = drawn(GLYPHS_ASCII, COLORS_NONE, 60, 11, &d, &look);
    int left = 60, right = 0, top = 11, bottom = 0;
    for (int y = 0; y < 11; y++)
        for (int x = 0; x < 60; x++) {
            if (canvas_at(&c, x, y)->cp == ' ') continue;
            if (x < left) left = x;
            if (x > right) right = x;
            if (y < top) top = y;
            if (y > bottom) bottom = y;
        }
    int wide = right - left, tall = 2 * (bottom - top); /* a character is twice as high as wide */
    assert_true(wide > 0 && abs(wide - tall) <= 2);
    assert_int_equal(marks_in(&c, 0, 60), 5);
    canvas_release(&c);
}

/* The class with most points in a cell gives it its color or letter. */
static void most_points_win(void **state) {
    (void)state;
    const double xy[] = {0, 0, 0, 0, 0, 0, 10, 10};
    const int32_t class[] = {0, 1, 1, 0};
    struct scatter_data d = {4, xy, class, 2, NULL};
    struct scatter_look look;
    scatter_look_init(&look);
    struct canvas c = drawn(GLYPHS_ASCII, COLORS_NONE, 20, 10, &d, &look);
    int o = 0, x = 0;
    for (int i = 0; i < 200; i++) {
        o += c.cell[i].cp == 'o';
        x += c.cell[i].cp == 'x';
    }
    assert_int_equal(o, 1);
    assert_int_equal(x, 1);
    canvas_release(&c);
    c = drawn(GLYPHS_BRAILLE, COLORS_256, 20, 10, &d, &look);
    bool found = false;
    for (int i = 0; i < 200; i++)
        if (c.cell[i].style.fg == scatter_mark_style(&c, 2, 1).fg) found = true;
    assert_true(found);
    canvas_release(&c);
}

static void hidden_classes_are_gone(void **state) {
    (void)state;
    struct scatter_data d = points();
    struct scatter_look look;
    scatter_look_init(&look);
    look.hidden = 2;
    struct canvas c = drawn(GLYPHS_ASCII, COLORS_NONE, 40, 12, &d, &look);
    assert_int_equal(marks_in(&c, 0, 40), 3);
    canvas_release(&c);
    struct rect r = {0, 0, 40, 12};
    look.u = 0.99; /* right above: point 1, were it not hidden */
    look.v = 0;
    int at = scatter_nearest(GLYPHS_ASCII, r, &d, &look);
    assert_true(at >= 0 && label[at] == 0);
    look.hidden = 3;
    assert_int_equal(scatter_nearest(GLYPHS_ASCII, r, &d, &look), -1);
}

static void the_cursor_finds_every_point(void **state) {
    (void)state;
    struct scatter_data d = points();
    struct rect r = {3, 2, 40, 12};
    for (int g = 0; g < GLYPHS_COUNT; g++)
        for (int zoom = 0; zoom < 4; zoom++) {
            struct scatter_look look;
            scatter_look_init(&look);
            for (int z = 0; z < zoom; z++) scatter_zoom((enum glyphs)g, r, &d, &look, 2);
            for (int i = 0; i < d.n; i++) {
                scatter_go((enum glyphs)g, r, &d, &look, i);
                assert_int_equal(scatter_nearest((enum glyphs)g, r, &d, &look), i);
            }
        }
}

/* Zooming in and out again gives the first picture back. */
static void zoom_goes_back(void **state) {
    (void)state;
    struct scatter_data d = points();
    struct rect r = {0, 0, 40, 12};
    struct scatter_look look, first;
    scatter_look_init(&look);
    first = look;
    scatter_zoom(GLYPHS_BRAILLE, r, &d, &look, 2);
    assert_true(look.zoom == 2);
    scatter_zoom(GLYPHS_BRAILLE, r, &d, &look, 0.5);
    assert_memory_equal(&look, &first, sizeof look);
    for (int i = 0; i < 50; i++) scatter_zoom(GLYPHS_BRAILLE, r, &d, &look, 2);
    assert_true(look.zoom <= 64);
    for (int i = 0; i < 500; i++) scatter_move(GLYPHS_BRAILLE, r, &d, &look, 7, 3);
    assert_true(fabs(look.x) <= 1 && fabs(look.y) <= 1 && look.u >= 0 && look.u < 1 && look.v < 1);
}

/* Numbers that are none, one place for all, no points, no room: nothing breaks. */
static void odd_points(void **state) {
    (void)state;
    const double bad[] = {NAN, 0, INFINITY, 1, 2, 2, 2, 2};
    const int32_t class[] = {0, 0, -1, 99};
    struct scatter_data d = {4, bad, class, 2, NULL}, none = {0, bad, class, 0, NULL}, unset = {4, NULL, class, 2, NULL};
    struct scatter_look look;
    scatter_look_init(&look);
    for (int w = 0; w < 12; w++)
        for (int g = 0; g < GLYPHS_COUNT; g++) {
            const struct scatter_data *all[] = {&d, &none, &unset};
            for (int i = 0; i < 3; i++) {
                struct canvas c = drawn((enum glyphs)g, COLORS_256, w, w / 2, all[i], &look);
                canvas_release(&c);
                struct rect r = {0, 0, w, w / 2};
                int at = scatter_nearest((enum glyphs)g, r, all[i], &look);
                assert_true(i == 0 && w > 1 ? at == 2 : at == -1);
                scatter_move((enum glyphs)g, r, all[i], &look, 1, 1);
            }
        }
}

static void many_classes_are_letters(void **state) {
    (void)state;
    struct canvas c;
    canvas_init(&c, 1, 1, GLYPHS_BRAILLE, COLORS_256);
    assert_false(scatter_letters(&c, 8));
    assert_true(scatter_letters(&c, 9));
    for (int a = 0; a < 60; a++)
        for (int b = 0; b < a; b++) assert_true(scatter_mark(&c, 60, a) != scatter_mark(&c, 60, b));
    canvas_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scale_is_shared),      cmocka_unit_test(most_points_win),
        cmocka_unit_test(hidden_classes_are_gone),  cmocka_unit_test(the_cursor_finds_every_point),
        cmocka_unit_test(zoom_goes_back),           cmocka_unit_test(odd_points),
        cmocka_unit_test(many_classes_are_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
