#include "tests/support/test.h"

#include <math.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/views/scene.h"
#include "views/svg.h"
#include "views/ui_parts.h"

static const char *const names[] = {"one", "two", "three", "four"};
static const double square[] = {1, 0.5, NAN, 0.25, 0.5, 1, 0, 0.75, NAN, 0, 1, INFINITY, 0.25, 0.75, 0.1, 1};

static struct heat_data matrix(void) {
    return (struct heat_data){.rows = 4, .columns = 4, .value = square, .row_name = names, .column_name = names};
}

/* Undefined cells neither stretch nor break the scale. */
static void the_scale_runs_over_defined_cells(void **state) {
    (void)state;
    struct heat_data d = matrix();
    double lo, hi;
    int undefined;
    assert_true(heat_scale(&d, &lo, &hi, &undefined));
    assert_true(lo == 0 && hi == 1);
    assert_int_equal(undefined, 3);
    d.diverging = true;
    assert_true(heat_scale(&d, &lo, &hi, &undefined));
    assert_true(lo == -1 && hi == 1);
    const double none[] = {NAN, NAN};
    struct heat_data empty = {.rows = 1, .columns = 2, .value = none, .row_name = names, .column_name = names};
    assert_false(heat_scale(&empty, &lo, &hi, &undefined));
    assert_int_equal(undefined, 2);
}

static struct canvas drawn(const struct heat_data *d, const struct heat_look *k, int w, int h, enum glyphs g,
                           enum colors colors) {
    struct canvas c;
    canvas_init(&c, w, h, g, colors);
    heat_draw(&c, (struct rect){0, 0, w, h}, d, k);
    return c;
}

/* Other cells keep their colors whatever is undefined; those that are have the mark. */
static void undefined_cells_are_marked(void **state) {
    (void)state;
    struct heat_data d = matrix();
    struct heat_look k = {.fit = true, .row = 3, .column = 0};
    struct canvas c = drawn(&d, &k, 40, 8, GLYPHS_BRAILLE, COLORS_256);
    struct heat_page p = heat_page(&c, (struct rect){0, 0, 40, 8}, &d, &k);
    assert_int_equal(p.size, HEAT_FULL);
    int marks = 0, ones = 0;
    for (int i = 0; i < 40 * 8; i++) {
        marks += c.cell[i].cp == 0x00D7;
        if (c.cell[i].cp == '1' && c.cell[i].style.bg == 228) ones++;
        if (c.cell[i].cp == 0x00D7) assert_int_equal(c.cell[i].style.bg, -1);
    }
    assert_int_equal(marks, 3);
    assert_int_equal(ones, 4);
    canvas_release(&c);
    struct buf b = BUF_INIT;
    canvas_init(&c, 60, 1, GLYPHS_BRAILLE, COLORS_256);
    heat_legend(&c, 0, 0, 60, &d);
    canvas_to_text(&c, &b);
    assert_non_null(strstr(b.data, "undefined: 3"));
    assert_non_null(strstr(b.data, "0.5"));
    buf_release(&b);
    canvas_release(&c);
}

/* Two rows a line: the upper half's color is the ink, the lower half's the ground. */
static void half_blocks(void **state) {
    (void)state;
    struct heat_data d = matrix();
    struct heat_look k = {.size = HEAT_HALF};
    struct canvas c = drawn(&d, &k, 20, 5, GLYPHS_BRAILLE, COLORS_256);
    const struct cell *at = canvas_at(&c, 6, 1); /* rows 0 and 1 of column 0 */
    assert_int_equal(at->cp, 0x2580);
    assert_int_equal(at->style.fg, 228);
    assert_true(at->style.bg > 0 && at->style.bg != 228);
    at = canvas_at(&c, 8, 1); /* NaN above 0 */
    assert_int_equal(at->cp, 0x2584);
    assert_int_equal(at->style.bg, -1);
    at = canvas_at(&c, 9, 2); /* infinite above 1 */
    assert_int_equal(at->cp, 0x2584);
    canvas_release(&c);
}

static void sizes_fit(void **state) {
    (void)state;
    static double big[100 * 100];
    static const char *many[100];
    for (int i = 0; i < 100; i++) many[i] = "row";
    struct heat_data d = {.rows = 100, .columns = 100, .value = big, .row_name = many, .column_name = many};
    for (int w = 1; w < 220; w += 3)
        for (int h = 1; h < 70; h += 2)
            for (int s = -1; s < HEAT_SIZES; s++) {
                struct canvas c;
                canvas_init(&c, w, h, GLYPHS_BRAILLE, COLORS_256);
                struct heat_look k = {.fit = s < 0, .size = (enum heat_size)(s < 0 ? 0 : s), .row = 99, .column = 99};
                struct rect r = {0, 0, w, h};
                struct heat_page p = heat_page(&c, r, &d, &k);
                assert_true(p.label + 1 + p.columns * p.cell <= w || p.columns == 0);
                heat_settle(&k, &d, &p);
                assert_true(k.row == 99 && k.column == 99 && k.top >= 0 && k.left >= 0);
                assert_true(p.columns == 0 || k.column < k.left + p.columns);
                assert_true(p.rows == 0 || k.row <= k.top + p.rows);
                if ((w + h) % 5 == 0) heat_draw(&c, r, &d, &k);
                canvas_release(&c);
            }
}

/* Three by three cells fill the pane of a large window; a click anywhere in a cell is of it. */
static void small_matrices_fill_the_pane(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct ui ui;
        struct canvas c;
        struct effect out;
        static const double nine[] = {1, 0.5, 0.25, 0.5, 1, NAN, 0.25, NAN, 1};
        struct heat_matrix m = {.title = "t", .what = "w", .rows = 3, .columns = 3, .value = nine, .row_name = names, .column_name = names};
        scene_init(&ui, sizes[i][0], sizes[i][1], GLYPHS_BRAILLE, COLORS_256);
        ui.heatmap.data = (struct heatmap_data){.matrix = &m, .matrices = 1, .attention = 1};
        ui_show(&ui, SCREEN_HEATMAP);
        struct rect r = ui_panes(&ui, SCREEN_HEATMAP).at[PANE_MATRIX];
        canvas_init(&c, ui.w, ui.h, ui.glyphs, ui.colors);
        ui_draw(&ui, &c);
        int filled = 0, marks = 0;
        for (int y = r.y; y < r.y + r.h; y++)
            for (int x = r.x; x < r.x + r.w; x++) {
                const struct cell *at = canvas_at(&c, x, y);
                filled += at->style.bg >= 0;
                marks += at->cp == 0x00D7;
            }
        assert_int_equal(marks, 2);
        assert_true(filled * 9 / 7 > r.w * r.h * 3 / 4); /* seven of the nine cells have a color */
        struct mouse m3 = {MOUSE_CLICK, r.x + r.w * 9 / 10, r.y + r.h * 8 / 10, 0};
        ui_mouse(&ui, &m3, &out);
        assert_true(ui.heatmap.look.row == 2 && ui.heatmap.look.column == 2);
        m3.y = r.y + r.h / 2;
        ui_mouse(&ui, &m3, &out);
        assert_true(ui.heatmap.look.row == 1 && ui.heatmap.look.column == 2);
        assert_true(scene_shows(&ui, "two \u00D7 three = undefined"));
        canvas_release(&c);
        ui_release(&ui);
    }
}

static void order_moves_names_and_values(void **state) {
    (void)state;
    static const int order[] = {3, 1, 0, 2};
    struct heat_data d = matrix();
    d.row_order = d.column_order = order;
    assert_string_equal(heat_row_name(&d, 0), "four");
    assert_true(heat_value(&d, 0, 1) == 0.75);
    assert_true(isnan(heat_value(&d, 3, 2)) && isnan(heat_value(&d, 9, 0)));
}

/* Read-out and requests of the screen. */
static void the_screen_reads_cells(void **state) {
    (void)state;
    struct ui ui;
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_HEATMAP);
    scene_press(&ui, 'j');
    scene_press(&ui, 'l');
    scene_press(&ui, 'l');
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "layer 1 \u00D7 layer 2 = 0.7700"));
    buf_clear(&b);
    scene_press(&ui, 'G');
    scene_press(&ui, 'h');
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "layer 3 \u00D7 layer 2 = undefined: an update is zero"));
    buf_clear(&b);
    scene_press(&ui, ']');
    scene_press(&ui, 's');
    assert_true(ui.heatmap.cluster && ui.heatmap.shown == 1);
    scene_press(&ui, 'j');
    render_ui(&ui, RENDER_TEXT, &b);
    assert_non_null(strstr(b.data, "12 pos \u00D7 0 pos")); /* the second in the order by cluster */
    scene_press(&ui, 'e');
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_PICTURE);
    buf_release(&b);
    ui_release(&ui);
}

/* Every character of a picture is markup or escaped text; dots and blocks are shapes. */
static void svg_is_well_formed(void **state) {
    (void)state;
    struct canvas c;
    struct buf b = BUF_INIT;
    canvas_init(&c, 30, 3, GLYPHS_BRAILLE, COLORS_256);
    canvas_text(&c, 0, 0, INK_TITLE, "a<b & \"c\">");
    canvas_text(&c, 12, 0, INK_TEXT, "\u597D\u2594|");
    canvas_put(&c, 0, 1, (struct style){33, 17, 0}, 0x28FF);
    for (uint32_t cp = 0x2580; cp < 0x25A0; cp++) canvas_put(&c, (int)(cp - 0x2580) % 30, 2, (struct style){33, -1, ATTR_REVERSE}, cp);
    canvas_to_svg(&c, &b);
    assert_non_null(strstr(b.data, "a&lt;b"));
    assert_non_null(strstr(b.data, "&amp;"));
    assert_non_null(strstr(b.data, "#00005f")); /* 17 as ground */
    assert_null(strstr(b.data, "\u28FF"));
    int circles = 0;
    for (const char *p = b.data; (p = strstr(p, "<circle")); p++) circles++;
    assert_int_equal(circles, 8);
    int depth = 0;
    for (const char *p = b.data; *p; p++) {
        depth += *p == '<';
        depth -= *p == '>';
        assert_true(depth == 0 || depth == 1);
    }
    buf_release(&b);
    canvas_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_scale_runs_over_defined_cells), cmocka_unit_test(undefined_cells_are_marked),
        cmocka_unit_test(half_blocks),                       cmocka_unit_test(sizes_fit),
        cmocka_unit_test(order_moves_names_and_values),      cmocka_unit_test(the_screen_reads_cells),
        cmocka_unit_test(svg_is_well_formed),                cmocka_unit_test(small_matrices_fill_the_pane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
