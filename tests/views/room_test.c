/* On wide windows no text is cut off while there is room. */
#include "tests/support/test.h"

#include "core/base/text.h"
#include "tests/views/scenes.h"

static void open_a_sweep(struct ui *ui) {
    ui->sweep.open = 1;
    ui_changed(ui);
}
static void show_options(struct ui *ui) {
    scene_press(ui, 'O');
    ui->compose.part = ui->compose.config.method.count;
    compose_changed(&ui->compose);
}
static void take_tasks(struct ui *ui) {
    struct err e = ERR_INIT;
    test_ok(config_take_tasks(&ui->compose.config, "mrpc,rte,\u597D-debates", &e), &e);
    test_ok(config_set(&ui->compose.config, "sampling", "temperature(10)", &e), &e);
    compose_changed(&ui->compose);
}
static void group_runs(struct ui *ui) { scene_press(ui, 'J'); }
static void read_columns(struct ui *ui) {
    find_a_file(ui);
    scene_own(ui);
    scene_press(ui, 'j');
}

static const struct scene more[] = {
    {"sweep-open", SCREEN_SWEEP, NULL, open_a_sweep, false},
    {"compose-options", SCREEN_COMPOSE, "mam(l=16,r=16)", show_options, false},
    {"compose-tasks", SCREEN_COMPOSE, NULL, take_tasks, false},
    {"runs-groups", SCREEN_RUNS, NULL, group_runs, false},
    {"runs-tasks", SCREEN_RUNS, NULL, scene_task_runs, false},
    {"detail-tasks", SCREEN_DETAIL, NULL, scene_task_runs, false},
    {"train-tasks", SCREEN_TRAIN, NULL, scene_tasks, false},
    {"train-components", SCREEN_TRAIN, NULL, scene_terms, false},
    {"train-overlaid", SCREEN_TRAIN, NULL, scene_beside, false},
    {"map-retriever", SCREEN_MAP, NULL, scene_retriever, false},
    {"heatmap-prototypes", SCREEN_HEATMAP, NULL, scene_retriever, false},
    {"data-columns", SCREEN_DATA, NULL, read_columns, false},
};

/* Counts the cells of a row that are blank or part of a rule, and the texts that are cut off in it. */
static void count_row(const struct canvas *c, int y, int *blanks, int *cuts) {
    *blanks = *cuts = 0;
    for (int x = 0; x < c->w; x++) {
        const struct cell *k = canvas_at(c, x, y);
        *blanks += k->cp == ' ' || k->cp == 0x2500 || k->cp == 0x2501;
        *cuts += k->cut;
    }
}

/* Returns whether a row of the scene between line 1 and the hints has both a text that is cut off and 40 % of its
 * columns blank; *text is that row, which the caller releases. */
static bool wastes_room(const struct scene *s, int w, int h, struct buf *text) {
    struct ui ui;
    struct canvas c;
    bool wastes = false;
    scene_open(&ui, s, w, h, GLYPHS_BRAILLE, COLORS_256);
    canvas_init(&c, w, h, GLYPHS_BRAILLE, COLORS_256);
    ui_draw(&ui, &c);
    for (int y = 1; y < h - 1 && !wastes; y++) {
        int blanks, cuts;
        count_row(&c, y, &blanks, &cuts);
        wastes = cuts && blanks * 10 >= w * 4;
        for (int x = 0; x < w && wastes; x++) {
            char one[4];
            uint32_t cp = canvas_at(&c, x, y)->cp;
            if (cp) buf_add(text, one, utf8_encode(cp, one));
        }
    }
    canvas_release(&c);
    ui_release(&ui);
    return wastes;
}

static void check(const struct scene *s) {
    static const int size[][2] = {{120, 30}, {200, 60}};
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        struct buf text = BUF_INIT;
        if (wastes_room(s, size[i][0], size[i][1], &text))
            fail_msg("%s, %dx%d: cut off next to blank columns: %s", s->name, size[i][0], size[i][1], buf_text(&text));
        buf_release(&text);
    }
}

static void no_text_is_cut_off_next_to_blank_columns(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++) check(&scenes[i]);
    for (size_t i = 0; i < COUNT_OF(more); i++) check(&more[i]);
}

/* Titles begin at the left edge of their pane, and the focused one differs without colors too. */
static void titles_begin_at_the_left_edge(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(scenes); i++) {
        struct ui ui;
        struct canvas c;
        int focused = 0;
        scene_open(&ui, &scenes[i], 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
        canvas_init(&c, 80, 24, GLYPHS_BRAILLE, COLORS_NONE);
        ui_draw(&ui, &c);
        for (int y = 1; y < 22; y++) {
            uint32_t rule = canvas_at(&c, 0, y)->cp;
            if (rule != 0x2500 && rule != 0x2501) continue;
            const struct cell *title = canvas_at(&c, PANE_EDGE, y);
            if (title->cp == rule) continue;
            assert_true(canvas_at(&c, PANE_EDGE - 1, y)->cp == ' ' && title->cp != ' ');
            assert_int_equal((title->style.attr & ATTR_REVERSE) != 0, rule == 0x2501);
            focused += rule == 0x2501;
        }
        if (focused > 1) fail_msg("%s: %d titles are highlighted", scenes[i].name, focused);
        if (!focused && !ui.picker.open && screen_at(ui.screen)->focus && ui.screen != SCREEN_SWEEP && ui.screen != SCREEN_MAP)
            fail_msg("%s: no title is highlighted", scenes[i].name);
        canvas_release(&c);
        ui_release(&ui);
    }
}

/* One key shows all that is cut off, whole, on every screen; the next key takes it away. */
static void one_key_shows_texts_whole(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    int cut_somewhere = 0;
    for (size_t i = 0; i < 2 * COUNT_OF(scenes); i++) {
        struct ui ui;
        struct canvas c;
        int w = size[i % 2][0], h = size[i % 2][1], cuts = 0, blanks, here;
        scene_open(&ui, &scenes[i / 2], w, h, GLYPHS_BRAILLE, COLORS_256);
        canvas_init(&c, w, h, GLYPHS_BRAILLE, COLORS_256);
        ui_draw(&ui, &c);
        for (int y = 0; y < h; y++) {
            count_row(&c, y, &blanks, &here);
            cuts += here;
        }
        bool typed = ui.picker.open || ui.prompt.open || ui.ask.kind;
        if (!typed) {
            scene_press(&ui, 'I');
            assert_int_equal(!strcmp(ui.message, "no text is truncated on this screen"), cuts == 0);
            cut_somewhere += cuts > 0;
            if (!strcmp(scenes[i / 2].name, "train") && w == 80)
                assert_true(scene_shows(&ui, "\u00B7 failed: loss is not finite at step 118 (op cross_entropy)"));
            scene_press(&ui, 'j');
            assert_false(!strncmp(ui.message, "\u00B7", 2));
        }
        canvas_release(&c);
        ui_release(&ui);
    }
    assert_true(cut_somewhere > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_is_cut_off_next_to_blank_columns),
        cmocka_unit_test(one_key_shows_texts_whole),
        cmocka_unit_test(titles_begin_at_the_left_edge),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
