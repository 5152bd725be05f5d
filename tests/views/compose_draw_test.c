/* Compose on large windows: nothing is cut while there is room, and what is at the side can be chosen. */
#include "tests/support/test.h"

#include <string.h>

#include "core/base/text.h"
#include "tests/views/scene.h"
#include "views/zone.h"

/* Whether some zone of the screen picks this. */
static bool can_pick(const struct ui *ui, int pick, int *x, int *y) {
    struct zones *all = xcalloc(1, sizeof *all);
    struct canvas c;
    bool found = false;
    canvas_init(&c, ui->w, ui->h, GLYPHS_BRAILLE, COLORS_256);
    c.zones = all;
    ui_draw(ui, &c);
    for (int i = 0; i < all->count && !found; i++) {
        const struct rect *at = &all->of[i].at;
        found = all->of[i].pick == pick && zone_at(all, at->x + at->w - 1, at->y)->pick == pick;
        *x = at->x + at->w - 1;
        *y = at->y;
    }
    canvas_release(&c);
    free(all);
    return found;
}

/* Every published method is at the side, or the list says that it goes on; the current one is always in sight, and a click
 * on the end of a name takes it. */
static void methods_at_the_side(void **state) {
    (void)state;
    static const int size[][2] = {{120, 30}, {120, 48}, {200, 30}, {200, 60}};
    struct ui ui;
    scene_compose(&ui, "lora");
    for (size_t s = 0; s < COUNT_OF(size); s++) {
        ui_resize(&ui, size[s][0], size[s][1]);
        int shown = 0, x, y;
        for (int i = 0; i < preset_count(); i++) shown += can_pick(&ui, PICK_PRESET_AT + i, &x, &y);
        if (size[s][1] > 40) assert_int_equal(shown, preset_count());
        else assert_true(shown < preset_count() && scene_shows(&ui, "of ") && scene_shows(&ui, ": P "));
        assert_int_equal(scene_shows(&ui, "multi-head-parallel-adapter  r=16"), size[s][0] == 200 && size[s][1] == 60);
        for (int i = 0; i < preset_count(); i++) {
            scene_method(&ui, preset_at(i)->name);
            assert_true(!ui.compose.facts.preset || can_pick(&ui, PICK_PRESET_AT + i, &x, &y) ||
                        ui.compose.facts.preset != preset_at(i));
        }
        assert_true(can_pick(&ui, PICK_PRESET_AT + 12, &x, &y));
        struct mouse m = {MOUSE_CLICK, x, y, 0};
        struct effect out;
        ui_mouse(&ui, &m, &out);
        assert_ptr_equal(ui.compose.facts.preset, preset_at(12));
        scene_method(&ui, "lora");
    }
    ui_release(&ui);
}

/* A saved method at the side is loaded by a click, or its fault is shown; a line of the list of axes leads to its axis. */
static void what_is_at_the_side_is_clicked(void **state) {
    (void)state;
    static const struct compose_own own[] = {{"mine", "lora(r=4) + bitfit", NULL}, {"odd", "lora(", "expected )"}};
    static const int size[][2] = {{120, 48}, {200, 60}};
    struct ui ui;
    scene_compose(&ui, "lora");
    ui.compose.own = own;
    ui.compose.owns = 2;
    for (size_t s = 0; s < COUNT_OF(size); s++) {
        ui_resize(&ui, size[s][0], size[s][1]);
        struct effect out = scene_click(&ui, "mine");
        assert_int_equal(out.kind, EFFECT_METHOD_TEXT);
        assert_string_equal(out.text, "lora(r=4) + bitfit");
        assert_int_equal(scene_click(&ui, "odd").kind, EFFECT_NONE);
        assert_string_equal(ui.message, "odd: expected )");
    }
    scene_click(&ui, "dropout  ");
    assert_int_equal(ui.compose.axis, AXIS_DROPOUT);
    scene_click(&ui, "vocabulary-all");
    assert_int_equal(ui.compose.axis, AXIS_INIT);
    ui_release(&ui);
}

/* Columns are as wide as their cells and more of them are shown where there is room; narrow windows keep the old ones. */
static void the_table_uses_the_width(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "adapter-houlsby");
    ui.compose.config.method.module[1].act = ui.compose.config.method.module[2].act = ACT_GELU_TANH;
    compose_changed(&ui.compose);
    assert_true(scene_shows(&ui, "r 64 gelu-ta\u2026") && !scene_shows(&ui, "initialization"));
    ui_resize(&ui, 200, 60);
    assert_true(scene_shows(&ui, "r 64 gelu-tanh") && scene_shows(&ui, "297,600") && scene_shows(&ui, "source"));
    ui_resize(&ui, 200, 30);
    assert_true(scene_shows(&ui, "houlsby  ") && scene_shows(&ui, "initialization"));
    scene_click(&ui, "houlsby  ");
    assert_int_equal(ui.compose.axis, AXIS_INIT);
    scene_press(&ui, 'h');
    scene_click(&ui, "297,600");
    assert_int_equal(ui.compose.axis, AXIS_SIZE);
    ui_release(&ui);
}

/* On a wide and low window the formulas are next to the diagram, and all of both is in sight. */
static void formulas_are_beside_the_block(void **state) {
    (void)state;
    static const int size[][2] = {{160, 28}, {200, 30}, {200, 60}};
    struct ui ui;
    scene_compose(&ui, "unipelt");
    for (size_t s = 0; s < COUNT_OF(size); s++) {
        ui_resize(&ui, size[s][0], size[s][1]);
        for (int i = 0; i < 4; i++) assert_true(scene_shows(&ui, phrase("%d: ", i + 1).text));
        static const char *const formulas[] = {"\u0394h\u2081,\u2082 = x W_d W_u", "\u0394h\u2083 = softmax", "\u0394h\u2084 = relu",
                                               "h \u2190 h + g \u0394h\u2081,\u2082"};
        for (size_t k = 0; k < COUNT_OF(formulas); k++)
            if (!scene_shows(&ui, formulas[k])) fail_msg("%dx%d: no %s", size[s][0], size[s][1], formulas[k]);
        assert_false(scene_shows(&ui, "more: Tab") || scene_shows(&ui, ": E "));
    }
    ui_release(&ui);
}

/* All axes of a module are shown on a large window, also while one is a number, and the diagram keeps its rows. */
static void all_axes_leave_room_for_the_block(void **state) {
    (void)state;
    struct ui ui;
    scene_compose(&ui, "lora");
    ui_resize(&ui, 200, 60);
    for (int i = 0; i < 2; i++) {
        ui.compose.axis = i ? AXIS_SIZE : AXIS_FUNCTION;
        compose_changed(&ui.compose);
        assert_true(scene_shows(&ui, "nearest methods") && scene_shows(&ui, "dropout  "));
        assert_true(scene_shows(&ui, "residual") && scene_shows(&ui, "W_d 384\u21928"));
        assert_true(scene_shows(&ui, "lora-ffn, but"));
    }
    ui_release(&ui);
}

/* The command is read whole where there is room. */
static void the_command_is_whole(void **state) {
    (void)state;
    static const int size[][2] = {{100, 30}, {120, 30}, {120, 48}, {200, 60}};
    struct ui ui;
    scene_compose(&ui, "lora(at=q,r=16) + lora(at=v) + adapter-houlsby + bitfit + prefix");
    snprintf(ui.compose.run_note, sizeof ui.compose.run_note, "%s",
             "a note that makes the line longer than two rows of a narrow window, and ENDS");
    for (size_t s = 0; s < COUNT_OF(size); s++) {
        ui_resize(&ui, size[s][0], size[s][1]);
        if (!scene_shows(&ui, "ENDS'")) fail_msg("%dx%d: the command is cut", size[s][0], size[s][1]);
    }
    ui_release(&ui);
}

/* The way from the encoder to cross-attention crosses lines, not their labels. */
static void no_line_runs_through_a_word(void **state) {
    (void)state;
    static const char *const broken[] = {"r\u2502sidual", "re\u2502idual", "res\u2502dual", "resi\u2502ual", "resid\u2502al",
                                         "residu\u2502l", "residua\u2502", "\u2502esidual"};
    struct ui ui;
    struct arch t5 = scene_arch;
    scene_compose(&ui, "lora");
    t5.decoder_layers = 6;
    ui.compose.arch = &t5;
    for (int pre = 0, crossed = 0; pre < 2; pre++) {
        t5.family = pre ? FAMILY_T5 : FAMILY_BART;
        t5.pre_norm = pre;
        compose_changed(&ui.compose);
        for (int w = 170; w <= 230; w += 6) {
            struct buf b = BUF_INIT;
            ui_resize(&ui, w, 60);
            render_ui(&ui, false, &b);
            for (size_t i = 0; i < COUNT_OF(broken); i++) assert_null(strstr(buf_text(&b), broken[i]));
            crossed += strstr(buf_text(&b), "\u253C") != NULL;
            buf_release(&b);
        }
        assert_true(crossed > 2);
    }
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(methods_at_the_side),
        cmocka_unit_test(what_is_at_the_side_is_clicked),
        cmocka_unit_test(the_table_uses_the_width),
        cmocka_unit_test(formulas_are_beside_the_block),
        cmocka_unit_test(all_axes_leave_room_for_the_block),
        cmocka_unit_test(no_line_runs_through_a_word),
        cmocka_unit_test(the_command_is_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
