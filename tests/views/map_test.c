#include "tests/support/test.h"

#include "tests/views/scene.h"
#include "views/ui_parts.h"

static char *text_of(const struct ui *ui) {
    struct buf b = BUF_INIT;
    render_ui(ui, RENDER_TEXT, &b);
    return buf_take(&b);
}

static void assert_shows(const struct ui *ui, const char *part) {
    char *text = text_of(ui);
    if (!strstr(text, part)) fail_msg("\"%s\" is not in\n%s", part, text);
    free(text);
}

static void numbers_come_with_their_caution(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 100, 30, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_shows(&ui, "silhouette 0.012 purity 0.581 pres 0.42 KL 1.21");
    assert_shows(&ui, "silhouette \u2013 (1 class) purity 0.934");
    assert_shows(&ui, "Distances and sizes of clusters are not meaningful; purity is measured before t-SNE.");
    assert_shows(&ui, "perplexity 30  iteration 310/750  seed 1  120 of 2,538 dev examples");
    ui_release(&ui);
}

static void requests_become_effects(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_MAP_PLAY);
    assert_int_equal(scene_press(&ui, '.').kind, EFFECT_MAP_STEP);
    assert_int_equal(scene_press(&ui, 'z').kind, EFFECT_MAP_REWIND);
    struct effect x = scene_press(&ui, '(');
    assert_true(x.kind == EFFECT_MAP_PERPLEXITY && x.by == -1);
    x = scene_press(&ui, ']');
    assert_true(x.kind == EFFECT_MAP_LAYER && x.by == 1);
    assert_int_equal(map_focus(&ui.map), 1);
    scene_press(&ui, PRESS_TAB);
    scene_press(&ui, PRESS_TAB);
    assert_int_equal(map_focus(&ui.map), 0);
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.map.alone);
    scene_press(&ui, PRESS_ESC);
    assert_true(!ui.map.alone && ui.screen == SCREEN_MAP);
    ui_release(&ui);
}

static void the_legend_hides_classes(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_ASCII, COLORS_NONE);
    ui_show(&ui, SCREEN_MAP);
    scene_press(&ui, PRESS_TAB);
    scene_press(&ui, 'j');
    scene_press(&ui, PRESS_ENTER);
    assert_true(ui.map.hidden == 2);
    assert_shows(&ui, "positive 60 hidden");
    assert_true(ui.map.chosen >= 0 && scene_label[ui.map.chosen] == 0);
    scene_press(&ui, 'F');
    assert_true(ui.map.hidden == 0);
    scene_press(&ui, 'f');
    assert_true(ui.map.hidden == ~UINT64_C(2));
    scene_press(&ui, 'c');
    assert_true(ui.map.hidden == 0);
    assert_shows(&ui, "by prediction");
    ui_release(&ui);
}

static void n_goes_to_what_is_wrong(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 120, 40, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    for (int i = 0; i < 10; i++) {
        scene_press(&ui, 'n');
        int at = ui.map.chosen;
        assert_true(at >= 0 && scene_label[at] != scene_predicted[at]);
    }
    assert_shows(&ui, scene_label[ui.map.chosen] ? "positive \u2192 negative" : "negative \u2192 positive");
    scene_press(&ui, 'c');
    scene_press(&ui, 'c');
    assert_shows(&ui, "wrong 7"); /* every 17th row from the 4th on */
    ui_release(&ui);
}

/* 7 looks at the run under the cursor, once; two marked runs stand side by side. */
static void seven_inspects_the_run_under_the_cursor(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'g');
    int64_t id = runs_at_cursor(&ui.runs)->id;
    struct effect x = scene_press(&ui, '7');
    assert_true(x.kind == EFFECT_INSPECT && x.runs == 1 && x.run[0] == id && !x.keep);
    assert_int_equal(ui.screen, SCREEN_MAP);
    x = scene_press(&ui, '6');
    assert_int_equal(ui.screen, SCREEN_HEATMAP);
    assert_true(x.kind == EFFECT_HEATMAP && x.by == ui.map.chosen); /* for the attention of its row */
    scene_press(&ui, '3');
    assert_int_equal(scene_press(&ui, '6').kind, EFFECT_NONE); /* matrices are there */
    scene_press(&ui, '3');
    assert_int_equal(scene_press(&ui, '7').kind, EFFECT_NONE); /* the same run again */
    scene_press(&ui, '3');
    scene_press(&ui, ' ');
    scene_press(&ui, 'j');
    scene_press(&ui, ' ');
    x = scene_press(&ui, '6');
    assert_true(x.kind == EFFECT_INSPECT && x.runs == 2 && x.keep);
    ui_release(&ui);
}

/* p plays what was kept, < and > take one step; without a run it says what to do. */
static void training_is_asked_for(void **state) {
    (void)state;
    static const struct map_moment moments[] = {
        { 0, 0.01, 0.52, NAN, NAN, NAN }, { 40, 0.05, 0.61, 0.7, NAN, NAN }, { 80, 0.2, 0.74, 0.81, NAN, NAN } };
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_int_equal(scene_press(&ui, '<').kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "p plays"));
    assert_int_equal(scene_press(&ui, 'p').kind, EFFECT_MAP_TRAINING);
    ui.map.data.panel[0] = ui.map.data.panel[1];
    ui.map.data.panels = 1;
    ui.map.data.training = true;
    ui.map.data.metric = "accuracy";
    ui.map.data.panel[0].moment = moments;
    ui.map.data.panel[0].moments = 3;
    ui.map.data.panel[0].at = 1;
    ui.map.data.panel[0].layer = 6;
    ui_changed(&ui);
    struct effect x = scene_press(&ui, '>');
    assert_true(x.kind == EFFECT_MAP_MOMENT && x.by == 1);
    x = scene_press(&ui, '<');
    assert_true(x.kind == EFFECT_MAP_MOMENT && x.by == -1);
    assert_shows(&ui, "#3 lora(r=8) \u00B7 step 40");
    assert_shows(&ui, "dev 0.700");
    assert_shows(&ui, "step 40, 2 of 3  purity \u2581\u2583\u25C2\u2588");
    ui_resize(&ui, 160, 50);
    assert_shows(&ui, "training steps");
    assert_shows(&ui, "80     0.2000 0.7400   0.8100");
    ui.glyphs = GLYPHS_ASCII;
    ui_resize(&ui, 80, 24);
    assert_shows(&ui, "purity 03<9");
    ui.map.subjects = 0;
    ui.map.data.training = false;
    assert_int_equal(scene_press(&ui, 'p').kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "no run shown"));
    ui_release(&ui);
}

/* Rows of several tasks are colored by task as well. */
static void tasks_are_a_color(void **state) {
    (void)state;
    static const char *const tasks[] = { "reviews", "snips" };
    static int32_t of_task[SCENE_ROWS];
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    for (int i = 0; i < 3; i++) scene_press(&ui, 'c');
    assert_int_equal(ui.map.color, MAP_BY_LABEL); /* one task: three colors */
    for (int i = 0; i < SCENE_ROWS; i++) of_task[i] = i >= 50;
    ui.map.data.tasks = 2;
    ui.map.data.task_name = tasks;
    ui.map.data.of_task = of_task;
    for (int i = 0; i < 3; i++) scene_press(&ui, 'c');
    assert_int_equal(ui.map.color, MAP_BY_TASK);
    assert_shows(&ui, "reviews 50");
    assert_shows(&ui, "snips 70");
    ui.map.data.tasks = 1;
    ui_changed(&ui);
    assert_int_equal(ui.map.color, MAP_BY_LABEL);
    ui_release(&ui);
}

/* :map 12 13 shows kept sets; what is no number is said. */
static void sets_are_asked_for(void **state) {
    (void)state;
    struct ui ui;
    struct effect x = {.kind = EFFECT_NONE};
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_command(&ui, "map 12  13", &x);
    assert_true(x.kind == EFFECT_SETS && x.runs == 2 && x.run[0] == 12 && x.run[1] == 13);
    assert_true(ui.screen == SCREEN_MAP && ui.map.sets);
    static const char *const wrong[] = {"map 1 2 3", "map x", "map 0", "map 3 -1"};
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        x = (struct effect){.kind = EFFECT_NONE};
        ui_command(&ui, wrong[i], &x);
        assert_int_equal(x.kind, EFFECT_NONE);
        assert_non_null(strstr(ui.message, "embedding sets"));
    }
    ui_release(&ui);
}

/* In Heatmap the keys for the attention bring it into sight. */
static void attention_is_walked(void **state) {
    (void)state;
    static const struct { uint32_t key; enum effect_kind kind; int by; } want[] = {
        {'n', EFFECT_ATTENTION_ROW, 1},    {'N', EFFECT_ATTENTION_ROW, -1}, {'}', EFFECT_ATTENTION_LAYER, 1},
        {'{', EFFECT_ATTENTION_LAYER, -1}, {'>', EFFECT_ATTENTION_HEAD, 1}, {'<', EFFECT_ATTENTION_HEAD, -1}};
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_HEATMAP);
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        ui.heatmap.shown = 0;
        struct effect x = scene_press(&ui, want[i].key);
        if (x.kind != want[i].kind || x.by != want[i].by) fail_msg("%c gives %d, %d", (int)want[i].key, (int)x.kind, x.by);
        assert_int_equal(ui.heatmap.shown, 1);
    }
    ui.heatmap.data.attention = ui.heatmap.data.matrices;
    assert_int_equal(scene_press(&ui, 'n').kind, EFFECT_NONE);
    ui_release(&ui);
}

static void empty_maps_say_why(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    ui.map.data = (struct map_data){.failed = "run 4 has no checkpoint"};
    ui_changed(&ui);
    assert_shows(&ui, "run 4 has no checkpoint");
    ui.map.data = (struct map_data){.busy = "rows through the model"};
    ui_changed(&ui);
    assert_shows(&ui, "rows through the model");
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_NONE);
    ui_release(&ui);
}

/* Of a run with several tasks one is looked at, named on the screen; b goes on to the next, to all, round. */
static void the_task_is_named_and_switched(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    assert_int_equal(scene_press(&ui, 'b').kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "single-task run: only multi-task runs"));
    assert_false(scene_shows(&ui, "b next task"));
    ui.map.data.run_task = "be\x1b[2Jta";
    ui.map.data.run_task_at = 1;
    ui.map.data.run_tasks = 3;
    ui_changed(&ui);
    scene_press(&ui, 'h');
    assert_true(scene_shows(&ui, "ta, task 2 of 3  perplexity") && scene_shows(&ui, "b next task"));
    assert_false(scene_shows(&ui, "\x1b"));
    struct effect out = scene_press(&ui, 'b');
    assert_true(out.kind == EFFECT_INSPECT && out.runs == 1 && out.run[0] == 3 && out.by == 2 && !out.keep);
    ui_show(&ui, SCREEN_HEATMAP);
    ui.heatmap.data.run_task = "gamma";
    ui.heatmap.data.run_task_at = 2;
    ui.heatmap.data.run_tasks = 3;
    scene_press(&ui, 'h');
    assert_true(scene_shows(&ui, "gamma, task 3 of 3 \u00B7 ") && scene_shows(&ui, "b next task"));
    out = scene_press(&ui, 'b');
    assert_true(out.kind == EFFECT_INSPECT && out.by == 3 && out.keep);
    ui.heatmap.data.run_task_at = 3;
    scene_press(&ui, 'h');
    assert_true(scene_shows(&ui, "all 3 tasks \u00B7 "));
    assert_int_equal(scene_press(&ui, 'b').by, 0);
    ui_release(&ui);
}

/* U asks for tasks that the run does not know; :unseen without names is without them again. */
static void unseen_tasks_are_asked_for(void **state) {
    (void)state;
    struct ui ui;
    struct effect out;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_HEATMAP);
    ui_command(&ui, "unseen cb", &out);
    assert_true(out.kind == EFFECT_NONE && scene_shows(&ui, "unseen: only in Map or Heatmap of a multi-task run"));
    ui.heatmap.data.run_task = "all tasks";
    ui.heatmap.data.run_task_at = ui.heatmap.data.run_tasks = 3;
    scene_press(&ui, 'h');
    scene_press(&ui, 'U');
    assert_true(ui.prompt.open && !strcmp(ui.prompt.text, "unseen "));
    scene_press(&ui, 'c');
    scene_press(&ui, 'b');
    out = scene_press(&ui, PRESS_ENTER);
    assert_true(out.kind == EFFECT_INSPECT && out.run[0] == 3 && out.by == 3 && out.keep);
    assert_string_equal(out.text, "cb");
    scene_press(&ui, 'U');
    assert_string_equal(ui.prompt.text, "unseen cb"); /* to be changed */
    scene_press(&ui, PRESS_ESC);
    scene_press(&ui, 'b');
    assert_string_equal(ui.map.unseen, ""); /* another task's rows alone */
    ui_release(&ui);
}

/* A class's name is next to its points, with its mark, and covers few of them. */
static void names_are_next_to_their_points(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (int k = 0; k < 2; k++) {
            struct ui ui;
            struct canvas c;
            scene_init(&ui, sizes[i][0], sizes[i][1], GLYPHS_BRAILLE, k ? COLORS_NONE : COLORS_256);
            ui_show(&ui, SCREEN_MAP);
            canvas_init(&c, ui.w, ui.h, ui.glyphs, ui.colors);
            ui_draw(&ui, &c);
            for (int panel = 0; panel < 2; panel++) {
                struct rect r = ui.map.pane[panel];
                int names = 0;
                for (int y = r.y; y < r.y + r.h; y++)
                    for (int x = r.x; x < r.x + r.w; x++) {
                        const struct cell *at = canvas_at(&c, x, y);
                        if (at->cp != (k ? 'o' : 0x25CF) || canvas_at(&c, x + 2, y)->cp != 'n') continue;
                        names += canvas_at(&c, x + 4, y)->cp == 'g' && (at->style.fg == 33 || k);
                    }
                assert_int_equal(names, 1); /* negative */
            }
            canvas_release(&c);
            ui_release(&ui);
        }
}

/* D shows what the cursor is on in full: long texts, and the neighbors. */
static void a_text_is_shown_in_full(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    static const char long_text[] = "a text of more words than the line above the keys has columns for, which goes on and on, "
                                    "and whose end is the word periwinkle";
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        struct ui ui;
        const char *text[SCENE_ROWS];
        scene_init(&ui, sizes[i][0], sizes[i][1], GLYPHS_BRAILLE, COLORS_256);
        ui_show(&ui, SCREEN_MAP);
        for (int k = 0; k < SCENE_ROWS; k++) text[k] = long_text;
        ui.map.data.text = text;
        ui_changed(&ui);
        if (ui.w == 80) assert_false(scene_shows(&ui, "periwinkle"));
        scene_press(&ui, 'D');
        assert_true(scene_shows(&ui, "periwinkle") && scene_shows(&ui, "example under the cursor"));
        scene_press(&ui, PRESS_ESC);
        assert_true(ui.screen == SCREEN_MAP && !scene_shows(&ui, "example under the cursor"));
        struct effect out;
        int x, y;
        scatter_cell(ui.map.pane[1], &ui.map.look[1], &x, &y);
        ui_mouse(&ui, &(struct mouse){ MOUSE_CLICK, ui.map.pane[1].x + x, ui.map.pane[1].y + y, 0 }, &out);
        assert_true(scene_shows(&ui, "example under the cursor")); /* a click on the cursor */
        ui_release(&ui);
    }
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_HEATMAP);
    struct heat_matrix m = ui.heatmap.data.matrix[0];
    const char *text[] = {long_text, long_text, long_text, long_text, long_text, long_text, long_text};
    m.text = text;
    ui.heatmap.data.matrix = &m;
    ui.heatmap.data.matrices = ui.heatmap.data.attention = 1;
    ui_changed(&ui);
    scene_press(&ui, 'D');
    assert_true(scene_shows(&ui, "cell under the cursor") && scene_shows(&ui, "periwinkle"));
    scene_press(&ui, PRESS_ESC);
    assert_false(scene_shows(&ui, "cell under the cursor"));
    ui_release(&ui);
}

/* The cursor of the other panel is on the same example, whichever panel it is moved in. */
static void two_maps_have_one_cursor(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 200, 60, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_MAP);
    for (int i = 0; i < 20; i++) {
        scene_press(&ui, i % 5 ? "hjklL"[i % 5] : PRESS_TAB);
        if (ui.map.part >= 2) scene_press(&ui, PRESS_TAB);
        int at = ui.map.chosen, other = 1 - map_focus(&ui.map), x, y;
        const double *xy = ui.map.data.panel[other].xy;
        struct scatter_data d = {SCENE_ROWS, xy, scene_label, 2, NULL};
        assert_true(scatter_under(GLYPHS_BRAILLE, ui.map.pane[other], &d, &ui.map.look[other], at));
        scatter_cell(ui.map.pane[other], &ui.map.look[other], &x, &y);
        scene_press(&ui, PRESS_TAB);
        if (ui.map.part >= 2) scene_press(&ui, PRESS_TAB);
        assert_int_equal(ui.map.chosen, at);
    }
    ui_release(&ui);
}

/* Whether a point is inside by the drawing: between the cells of the anchor and the cursor. */
static bool between_cells(const struct ui *ui, int panel, int i, int x0, int y0, int x1, int y1) {
    struct rect r = {0, 0, 1, 1};
    for (int y = y0; y <= y1; y++)
        for (int x = x0; x <= x1; x++) {
            struct scatter_look look = ui->map.look[panel];
            struct scatter_data d = {SCENE_ROWS, ui->map.data.panel[panel].xy, scene_label, 2, NULL};
            r = ui->map.pane[panel];
            look.u = (x + 0.5) / r.w;
            look.v = (y + 0.5) / r.h;
            if (scatter_under(GLYPHS_BRAILLE, r, &d, &look, i)) return true;
        }
    return false;
}

/* # and moves of the cursor select the examples between two cells; t lists them, and leads to each. */
static void a_region_is_listed(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    for (size_t z = 0; z < COUNT_OF(sizes); z++) {
        struct ui ui;
        struct effect out;
        int x0, y0, x1, y1, count, inside = 0;
        scene_init(&ui, sizes[z][0], sizes[z][1], GLYPHS_BRAILLE, COLORS_256);
        ui_show(&ui, SCREEN_MAP);
        int panel = map_focus(&ui.map);
        struct rect r = ui.map.pane[panel];
        ui_mouse(&ui, &(struct mouse){ MOUSE_CLICK, r.x + r.w / 5, r.y + r.h / 5, 0 }, &out);
        scatter_cell(r, &ui.map.look[panel], &x0, &y0);
        scene_press(&ui, '#');
        scene_press(&ui, 'L');
        scene_press(&ui, PRESS_PAGE_DOWN);
        ui_mouse(&ui, &(struct mouse){ MOUSE_CLICK, r.x + r.w * 3 / 4, r.y + r.h * 2 / 3, 0 }, &out); /* by mouse */
        scatter_cell(r, &ui.map.look[panel], &x1, &y1);
        assert_true(x1 > x0 && y1 > y0);
        for (int i = 0; i < SCENE_ROWS; i++) {
            bool in = between_cells(&ui, panel, i, x0, y0, x1, y1);
            if (in != map_in_region(&ui.map, i)) fail_msg("example %d is%s in the region", i, in ? " not" : "");
            inside += in;
        }
        assert_true(inside > 5 && inside < SCENE_ROWS - 5);
        char words[60];
        snprintf(words, sizeof words, "region: %d examples", inside);
        assert_shows(&ui, words);
        scene_press(&ui, 't');
        assert_shows(&ui, "examples in the region");
        snprintf(words, sizeof words, "of %d \u2501", inside);
        assert_shows(&ui, words);
        int *list = map_listed(&ui.map, &count);
        assert_int_equal(count, inside);
        scene_press(&ui, 'g');
        for (int i = 0; i < count; i++) {
            assert_int_equal(ui.map.chosen, list[i]);
            scene_press(&ui, 'j');
        }
        assert_int_equal(ui.map.chosen, list[count - 1]);
        free(list);
        scene_press(&ui, PRESS_ENTER);
        assert_true(!ui.map.list && ui.map.region.on && ui.map.chosen >= 0);
        scene_press(&ui, 'h');
        list = map_listed(&ui.map, &count); /* once listed it no longer follows the cursor */
        assert_int_equal(count, inside);
        free(list);
        scene_press(&ui, PRESS_ESC);
        assert_true(!ui.map.region.on && ui.screen == SCREEN_MAP);
        scene_press(&ui, 't'); /* all in sight */
        assert_shows(&ui, "visible examples");
        list = map_listed(&ui.map, &count);
        assert_int_equal(count, SCENE_ROWS);
        free(list);
        scene_press(&ui, PRESS_ESC);
        for (int i = 0; i < 5; i++) scene_press(&ui, '+');
        list = map_listed(&ui.map, &count);
        assert_true(count > 0 && count < SCENE_ROWS / 2);
        free(list);
        ui_release(&ui);
    }
}

/* o shows a small map of each layer or step, all with the example under the cursor; a click goes to one. */
static void layers_and_steps_are_small_maps(void **state) {
    (void)state;
    static const int sizes[][2] = {{80, 24}, {200, 60}};
    static const struct map_moment moments[] = {
        { 0, 0.01, 0.52, NAN, NAN, NAN }, { 40, 0.05, 0.61, 0.7, NAN, NAN }, { 80, 0.2, 0.74, 0.81, NAN, NAN } };
    for (size_t z = 0; z < COUNT_OF(sizes); z++) {
        struct ui ui;
        struct map_small small[7];
        struct effect out;
        char word[20];
        scene_init(&ui, sizes[z][0], sizes[z][1], GLYPHS_BRAILLE, COLORS_256);
        ui_show(&ui, SCREEN_MAP);
        assert_int_equal(scene_press(&ui, 'o').kind, EFFECT_MAP_SMALL);
        assert_shows(&ui, "all layers");
        assert_shows(&ui, "computing the layouts");
        for (int i = 0; i < 7; i++) small[i] = (struct map_small){ i, i < 6 ? scene_xy[1] : NULL };
        struct map_panel *p = &ui.map.data.panel[map_focus(&ui.map)];
        p->small = small;
        p->smalls = 7;
        ui_changed(&ui);
        for (int i = 0; i < 7; i++) {
            snprintf(word, sizeof word, "layer %d", i);
            assert_shows(&ui, word);
        }
        assert_shows(&ui, "computing\u2026"); /* the last */
        struct canvas c;
        canvas_init(&c, ui.w, ui.h, ui.glyphs, ui.colors);
        ui_draw(&ui, &c);
        int chosen = 0, x3 = 0, y3 = 0;
        for (int i = 0; i < c.w * c.h; i++) {
            chosen += c.cell[i].cp == 0x25CF && (c.cell[i].style.attr & ATTR_REVERSE);
            if (c.cell[i].cp == 'l' && i + 6 < c.w * c.h && c.cell[i + 4].cp == 'r' && c.cell[i + 6].cp == '3') x3 = i % c.w, y3 = i / c.w;
        }
        assert_int_equal(chosen, 6); /* in each */
        ui_mouse(&ui, &(struct mouse){ MOUSE_CLICK, x3 + 1, y3 + 1, 0 }, &out);
        assert_true(out.kind == EFFECT_MAP_LAYER && out.by == 3 - p->layer);
        p->layer = 3;
        ui_mouse(&ui, &(struct mouse){ MOUSE_CLICK, x3 + 1, y3 + 1, 0 }, &out);
        assert_true(out.kind == EFFECT_NONE && !ui.map.many); /* there already: opened */
        scene_press(&ui, 'o');
        p->moment = moments;
        p->moments = p->smalls = 3;
        ui.map.data.training = true;
        for (int i = 0; i < 3; i++) small[i] = (struct map_small){ moments[i].step, i ? NULL : scene_xy[1] };
        ui_changed(&ui);
        assert_shows(&ui, "all steps");
        assert_shows(&ui, "step 40");
        assert_shows(&ui, "not computed yet");
        scene_press(&ui, PRESS_ESC);
        assert_true(!ui.map.many && ui.screen == SCREEN_MAP);
        canvas_release(&c);
        ui_release(&ui);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unseen_tasks_are_asked_for),
        cmocka_unit_test(the_task_is_named_and_switched),
        cmocka_unit_test(numbers_come_with_their_caution),
        cmocka_unit_test(requests_become_effects),
        cmocka_unit_test(the_legend_hides_classes),
        cmocka_unit_test(n_goes_to_what_is_wrong),
        cmocka_unit_test(seven_inspects_the_run_under_the_cursor),
        cmocka_unit_test(empty_maps_say_why),
        cmocka_unit_test(training_is_asked_for),
        cmocka_unit_test(tasks_are_a_color),
        cmocka_unit_test(sets_are_asked_for),
        cmocka_unit_test(attention_is_walked),
        cmocka_unit_test(names_are_next_to_their_points),
        cmocka_unit_test(a_text_is_shown_in_full),
        cmocka_unit_test(two_maps_have_one_cursor),
        cmocka_unit_test(a_region_is_listed),
        cmocka_unit_test(layers_and_steps_are_small_maps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
