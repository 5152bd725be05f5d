/* Compare and Sweep: what is asked for from where, what is shown of it. */
#include <stdlib.h>

#include "tests/support/test.h"
#include "tests/views/scene.h"
#include "views/ui_parts.h"

/* Runs lists these runs alone, as the command line would. */
static void assert_only(const struct ui *ui, const char *filter) {
    char *text = runs_filter_text(&ui->runs);
    assert_string_equal(text, filter);
    free(text);
}

static void begin(struct ui *ui, int w, int h) { scene_init(ui, w, h, GLYPHS_BRAILLE, COLORS_256); }

/* Marked runs, or without marks those that pass the filter. */
static void marked_runs_or_the_filtered(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_RUNS);
    struct effect x = scene_press(&ui, '4');
    assert_int_equal(x.kind, EFFECT_COMPARE);
    assert_int_equal(x.runs, ui.runs.shown);
    assert_int_equal(ui.screen, SCREEN_COMPARE);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, ' ');
    scene_press(&ui, ' ');
    x = scene_press(&ui, '4');
    assert_int_equal(x.runs, 2);
    ui_release(&ui);
}

static void shows_groups(struct ui *ui, const int *group, int n) {
    int *shown;
    assert_int_equal(compare_shown(&ui->compare, &shown), n);
    for (int i = 0; i < n; i++) assert_int_equal(shown[i], group[i]);
    free(shown);
}

/* One kind at a time, best first: that with most groups, the others on tabs, the last of which has all in sections;
 * a group's runs; the same by mouse. */
static void kinds_are_on_tabs(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (int s = 0; s < 2; s++) {
        struct ui ui;
        begin(&ui, size[s][0], size[s][1]);
        ui_show(&ui, SCREEN_COMPARE);
        shows_groups(&ui, (const int[]){1, 0}, 2);
        assert_true(scene_shows(&ui, "\u25B8 reviews accuracy 2"));
        assert_true(scene_shows(&ui, "2 groups \u00B7 4 runs"));
        assert_true(scene_shows(&ui, "83.81"));
        assert_false(scene_shows(&ui, "41.27"));
        scene_press(&ui, 'b');
        shows_groups(&ui, (const int[]){2}, 1);
        assert_true(scene_shows(&ui, "matthews \u00D7100"));
        scene_press(&ui, 'b');
        scene_press(&ui, 'b');
        shows_groups(&ui, (const int[]){1, 0, 2, 3}, 4);
        assert_true(scene_shows(&ui, "\u25B8 all 4"));
        assert_true(scene_shows(&ui, "cola matthews \u2500"));
        scene_click(&ui, "reviews accuracy");
        shows_groups(&ui, (const int[]){1, 0}, 2);
        scene_press(&ui, 'j');
        struct effect x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_FILTER);
        assert_only(&ui, "id=3,4,9");
        assert_int_equal(ui.screen, SCREEN_RUNS);
        ui_release(&ui);
    }
}

/* Without two groups that can be compared, all are shown; a later answer does not change the tab. */
static void the_first_tab_has_something_to_compare(void **state) {
    (void)state;
    struct ui ui;
    static const int64_t run[] = {3, 5};
    struct effect x;
    begin(&ui, 80, 24);
    struct compare_group group[4];
    memcpy(group, ui.compare.data.group, sizeof group);
    ui.compare.data.group = group;
    group[1].kind = 2;
    compare_runs(&ui, run, 2, &x);
    assert_int_equal(ui.compare.kind, COMPARE_CHOOSE); /* the data are still those of other runs */
    ui.compare.busy = false;
    ui_changed(&ui);
    assert_int_equal(ui.compare.kind, 2);
    group[3].kind = 0;
    ui_changed(&ui);
    assert_int_equal(ui.compare.kind, 2);
    group[3].kind = 1, group[2].kind = 0, group[0].kind = 1;
    compare_runs(&ui, run, 2, &x);
    ui.compare.busy = false;
    ui_changed(&ui);
    assert_int_equal(ui.compare.kind, 1);
    ui.compare.data.groups = 2;
    compare_runs(&ui, run, 2, &x);
    ui.compare.busy = false;
    ui_changed(&ui);
    assert_int_equal(ui.compare.kind, COMPARE_ALL);
    ui_release(&ui);
}

/* Settings that differ on the tab and that all its groups have; O adds those of some groups. */
static void settings_of_all_groups_differ(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (int s = 0; s < 2; s++) {
        struct ui ui;
        begin(&ui, size[s][0], size[s][1]);
        ui_show(&ui, SCREEN_COMPARE);
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "2 settings differ \u2501"));
        assert_true(scene_shows(&ui, "main effect of lr: 0.003 83.81 [82.40, 85.22]"));
        assert_true(scene_shows(&ui, "blocked by seed 1"));
        scene_press(&ui, 'j'); /* a setting without an estimate */
        assert_false(scene_shows(&ui, "main effect"));
        scene_press(&ui, 'k');
        assert_true(scene_shows(&ui, "softmax+bottleneck"));
        assert_false(scene_shows(&ui, " task  "));
        assert_false(scene_shows(&ui, "axis init"));
        assert_true(scene_shows(&ui, "O shows 1 more that only some groups have"));
        scene_press(&ui, 'O');
        assert_true(scene_shows(&ui, "3 settings differ"));
        assert_true(scene_shows(&ui, "axis init"));
        scene_press(&ui, 'O');
        for (int i = 0; i < 3; i++) scene_press(&ui, 'b');
        assert_true(scene_shows(&ui, " task  "));
        assert_true(scene_shows(&ui, "O shows 2 more that only some groups have")); /* lr, axis init */
        ui_release(&ui);
    }
}

/* The evidence on the group under the cursor, whole, with the names of its statistics; in a low window Tab shows the
 * settings instead. */
static void the_evidence_is_in_words(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (int s = 0; s < 2; s++) {
        struct ui ui;
        begin(&ui, size[s][0], size[s][1]);
        ui_show(&ui, SCREEN_COMPARE);
        assert_true(scene_shows(&ui, "evidence: mam"));
        assert_true(scene_shows(&ui, "mean 85.10 of 1 seed (1)"));
        scene_press(&ui, 'j');
        assert_true(scene_shows(&ui, "evidence: lora(r=8) #3"));
        assert_true(scene_shows(&ui, "mean 83.81 \u00B1 0.42 sd of 3 seeds (1, 2, 3), 95% CI [82.77, 84.85]"));
        assert_true(scene_shows(&ui, "paired difference from mam(l=16,r=16) #7: -1.29 percentage points"));
        assert_true(scene_shows(&ui, "more seeds."));
        assert_true(scene_shows(&ui, "Tab: 2 settings differ") == !s);
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "softmax+bottleneck"));
        assert_true(scene_shows(&ui, "evidence: lora(r=8) #3") == s);
        ui_resize(&ui, 50, 12); /* no room for the pane: what follows is in the line of the cursor */
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "No conclusion about lora(r=8) #3"));
        ui_release(&ui);
    }
}

/* The curves are smoothed, so that two spikes of the raw loss do not set their range. */
static void spikes_do_not_flatten_the_curves(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 120, 40);
    scene_loss[100] = scene_loss[150] = 9;
    ui_show(&ui, SCREEN_COMPARE);
    assert_true(scene_shows(&ui, "0.5  \u2524"));
    assert_false(scene_shows(&ui, "8    \u2524"));
    ui_release(&ui);
}

/* Groups have curves of their means; w shows those of each run, which are on the same marks. */
static void curves_are_means_of_seeds(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (int s = 0; s < 2; s++) {
        struct ui ui;
        begin(&ui, size[s][0], size[s][1]);
        ui_show(&ui, SCREEN_COMPARE);
        assert_true(scene_shows(&ui, "mean of 1 to 2 seeds \u00B7"));
        assert_false(scene_shows(&ui, "each run \u00B7"));
        scene_press(&ui, 'w');
        assert_true(scene_shows(&ui, "each run; + overlap"));
        assert_false(scene_shows(&ui, "mean of"));
        scene_press(&ui, 'w');
        scene_press(&ui, 'o');
        assert_true(scene_shows(&ui, "mean of 1 to 2 seeds \u00B7 smooth 0.9"));
        ui.compare.data.means = 1; /* all of two seeds */
        assert_true(scene_shows(&ui, "mean of 2 seeds"));
        ui_release(&ui);
    }
}

/* The title and the line of the group name runs that are not counted. */
static void repeated_runs_are_counted_apart(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 200, 60);
    struct compare_group group[4];
    memcpy(group, ui.compare.data.group, sizeof group);
    group[1].repeats = "run 9 repeats run 7";
    group[1].repeated = 1;
    ui.compare.data.group = group;
    ui_show(&ui, SCREEN_COMPARE);
    assert_true(scene_shows(&ui, "4 runs, 1 repeated"));
    assert_true(scene_shows(&ui, "run 9 repeats run 7"));
    ui_release(&ui);
}

/* Another metric, other rows, and the two files. */
static void more_is_asked_for(void **state) {
    (void)state;
    struct ui ui;
    static const int64_t run[] = {3, 7};
    struct effect x;
    begin(&ui, 80, 24);
    compare_runs(&ui, run, 2, &x);
    x = scene_press(&ui, 'n');
    assert_string_equal(x.text, "loss");
    x = scene_press(&ui, 'x');
    assert_true(x.keep);
    assert_int_equal(x.runs, 2);
    ui_release(&ui);
}

/* What e lists on a screen, each with the effect and form that it asks for. */
static void writes(enum screen_id screen, const char *const *item, int items) {
    struct ui ui;
    struct buf name = BUF_INIT;
    begin(&ui, 80, 24);
    for (int i = 0; i < items; i++) {
        ui_show(&ui, screen);
        scene_press(&ui, 'e');
        assert_true(ui.picker.open);
        assert_int_equal(ui.picker.count, items);
        for (int k = 0; k < i; k++) scene_press(&ui, 'j');
        buf_clear(&name);
        buf_printf(&name, "%s: ", ui.picker.item[i].name);
        struct effect x = scene_press(&ui, PRESS_ENTER);
        buf_printf(&name, "%s %s", x.kind == EFFECT_TABLE ? "table" : x.kind == EFFECT_EXPORT ? "run" : "screen", x.text);
        assert_string_equal(buf_text(&name), item[i]);
        assert_int_equal(x.runs, x.kind == EFFECT_EXPORT);
        assert_false(ui.picker.open);
    }
    buf_release(&name);
    ui_release(&ui);
}

static struct effect compare_typed(struct ui *ui, const char *line) {
    scene_type(ui, line);
    return scene_press(ui, PRESS_ENTER);
}

static void all_that_is_shown_can_be_written(void **state) {
    (void)state;
    static const char *const help[] = {"the screen as an SVG picture: screen svg", "the screen as a PNG picture: screen png",
                                       "the screen as text: screen text",
                                       "the screen as text with colors: screen ansi"};
    static const char *const train[] = {
        "the training curves of #3 as CSV: run csv", "the training curves of #3 as JSON Lines: run json", "the training curves of #3 as Markdown: run markdown",
        "#3 as a Hugging Face folder: run hf", "the screen as an SVG picture: screen svg",
        "the screen as a PNG picture: screen png", "the screen as text: screen text", "the screen as text with colors: screen ansi"};
    writes(SCREEN_HELP, help, (int)COUNT_OF(help));
    writes(SCREEN_MAP, help, (int)COUNT_OF(help));
    writes(SCREEN_TRAIN, train, (int)COUNT_OF(train));
    struct ui ui;
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_RUNS);
    struct effect x = compare_typed(&ui, ":export markdown");
    assert_int_equal(x.kind, EFFECT_TABLE); /* the screen's table comes before the run's points */
    assert_string_equal(x.text, "markdown");
    x = compare_typed(&ui, ":export ansi");
    assert_int_equal(x.kind, EFFECT_PICTURE);
    x = compare_typed(&ui, ":export png");
    assert_int_equal(x.kind, EFFECT_PICTURE);
    x = compare_typed(&ui, ":export jpg");
    assert_int_equal(x.kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "svg, png, text or ansi"));
    ui_show(&ui, SCREEN_MAP);
    compare_typed(&ui, ":export csv");
    assert_non_null(strstr(ui.message, "cannot be written as csv"));
    ui_release(&ui);
}

/* From the list to a page, its grid, and a cell's runs. */
static void a_cell_leads_to_its_runs(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    struct effect x = scene_press(&ui, '5');
    assert_int_equal(x.kind, EFFECT_SWEEPS);
    scene_press(&ui, 'j');
    struct sweep_page page = ui.sweep.page;
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_SWEEPS);
    assert_int_equal(x.run[0], 1);
    ui.sweep.page = page; /* as the app answers */
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "12 of 15 runs"));
    assert_int_equal(sweep_at_cursor(&ui.sweep), 0);
    scene_press(&ui, 'j');
    scene_press(&ui, 'l');
    assert_int_equal(sweep_at_cursor(&ui.sweep), 3);
    x = scene_press(&ui, PRESS_ENTER);
    assert_only(&ui, "id=4,10,16");
    ui_show(&ui, SCREEN_SWEEP);
    scene_press(&ui, '>'); /* lr by method */
    struct sweep_grid g;
    sweep_grid(&ui.sweep, &g);
    assert_int_equal(g.data.rows, 2);
    assert_int_equal(g.data.columns, 3);
    assert_int_equal(g.tile[1 * 3 + 1], 3);
    sweep_grid_release(&g);
    x = scene_press(&ui, '4'); /* all of the sweep's side by side */
    assert_int_equal(x.kind, EFFECT_COMPARE);
    assert_int_equal(x.runs, 15);
    ui_show(&ui, SCREEN_SWEEP);
    scene_press(&ui, PRESS_TAB); /* a level's runs */
    x = scene_press(&ui, PRESS_ENTER);
    assert_only(&ui, "id=1,2,7,8,13,14");
    assert_true(scene_shows(&ui, "sweep 1: "));
    ui_release(&ui);
}

/* The best cell and the front have signs in the grid, the list and the lines; the evidence on the cell under the cursor
 * is below them, with its runs and what is left. */
static void the_best_cell_stands_out(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (int s = 0; s < 2; s++) {
        struct ui ui;
        begin(&ui, size[s][0], size[s][1]);
        ui.sweep.open = 1;
        ui_show(&ui, SCREEN_SWEEP);
        ui_changed(&ui);
        assert_true(scene_shows(&ui, "\u25B2 best: lora(r=8) lr=0.001, mean 82.91 \u00B1 1.04 sd; has led since run 6 of 12"));
        assert_true(scene_shows(&ui, "\u25B2 82.9"));
        assert_true(scene_shows(&ui, "\u25CB 81.1"));
        assert_true(scene_shows(&ui, "\u25B2 best  \u25CB Pareto"));
        assert_true(scene_shows(&ui, "cell: lora(r=2) lr=0.001"));
        assert_true(scene_shows(&ui, "paired difference from lora(r=8) lr=0.001: -1.79 percentage points"));
        assert_true(scene_shows(&ui, "seeds narrow the interval."));
        assert_true(scene_shows(&ui, "runs #1 80.10, #7 81.09, #13 82.17"));
        assert_true(scene_shows(&ui, "18,432 trainable"));
        assert_false(scene_shows(&ui, "0:54 left"));
        scene_press(&ui, 'j');
        scene_press(&ui, 'l');
        assert_true(scene_shows(&ui, "cell: lora(r=8) lr=0.01"));
        assert_true(scene_shows(&ui, "about 0:54 left"));
        assert_true(scene_shows(&ui, "\u00D7 none")); /* invalid */
        struct sweep_tile tile[6];
        memcpy(tile, ui.sweep.page.tile, sizeof tile);
        tile[3].n = 0, tile[3].mean = NAN, tile[3].state = "running", tile[4].n = 0, tile[4].mean = NAN, tile[4].state = "waiting";
        tile[3].front[0] = tile[4].front[0] = false, tile[3].kind = tile[4].kind = -1;
        const struct sweep_tile *all = ui.sweep.page.tile;
        ui.sweep.page.tile = tile;
        assert_true(scene_shows(&ui, "\u25B6 running  \u2026 waiting  \u00D7 none"));
        assert_true(scene_shows(&ui, " \u25B6 ") && scene_shows(&ui, " \u2026 "));
        ui.sweep.page.tile = all;
        scene_click(&ui, "\u25B2 82.9");
        assert_int_equal(sweep_at_cursor(&ui.sweep), 2);
        assert_true(scene_shows(&ui, "rank 3 of 5, the best"));
        assert_true(scene_shows(&ui, "the best, Pareto-optimal"));
        scene_click(&ui, "\u25B2 82.9"); /* where the cursor is: its runs */
        assert_only(&ui, "id=3,9,15");
        ui_show(&ui, SCREEN_SWEEP);
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "main effect of method: lora(r=2) 80.73, 95% CI [79.51, 81.95], n 6"));
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "\u2500\u25B2\u2500"));
        assert_true(scene_shows(&ui, "\u2500\u25CB\u2500"));
        scene_press(&ui, PRESS_TAB);
        assert_true(scene_shows(&ui, "\u25B2 82.91"));
        ui_release(&ui);
    }
}

/* By trained values, by time; by memory there is none where runs are of two machines, and the page says so. */
static void a_front_is_by_each_cost(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 200, 60);
    ui.sweep.open = 1;
    ui.sweep.part = PART_FRONT;
    ui_show(&ui, SCREEN_SWEEP);
    assert_true(scene_shows(&ui, "Pareto front: parameters"));
    assert_int_equal(sweep_at_cursor(&ui.sweep), 0);
    scene_press(&ui, 'x');
    assert_true(scene_shows(&ui, "Pareto front: time"));
    assert_true(scene_shows(&ui, "26.0 s"));
    assert_int_equal(sweep_at_cursor(&ui.sweep), 4); /* the quickest */
    scene_press(&ui, 'x');
    assert_true(scene_shows(&ui, "their memory is not compared"));
    assert_true(scene_shows(&ui, "61.0 MB"));
    assert_false(scene_shows(&ui, "Pareto-optimal"));
    assert_int_equal(sweep_at_cursor(&ui.sweep), 0); /* as they are */
    scene_press(&ui, 'x');
    assert_true(scene_shows(&ui, "Pareto front: parameters"));
    ui_release(&ui);
}

/* Going on, stopping after a question, more seeds, an edited line. */
static void a_sweep_is_started_and_stopped(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    scene_press(&ui, '5');
    struct effect x = scene_press(&ui, 'R');
    assert_int_equal(x.kind, EFFECT_SWEEP_GO);
    assert_int_equal(x.run[0], 2);
    scene_press(&ui, 'K');
    assert_int_equal(scene_press(&ui, 'n').kind, EFFECT_NONE);
    scene_press(&ui, 'K');
    assert_int_equal(scene_press(&ui, 'y').kind, EFFECT_SWEEP_STOP);
    scene_press(&ui, '+');
    scene_press(&ui, '7');
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_SWEEP_EXTEND);
    assert_string_equal(x.text, "7");
    scene_press(&ui, 'C');
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_SWEEP_NEW);
    assert_string_equal(x.text, "--lr '{0.001,0.01}'");
    ui_release(&ui);
}

/* Choices marked on an axis are the list of methods; values of an option its list. */
static void marks_become_a_sweep(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_COMPOSE);
    scene_method(&ui, "bitfit");
    scene_press(&ui, ' ');
    scene_method(&ui, "lora(r=4)");
    scene_press(&ui, ' ');
    while (!compose_on_run(&ui.compose)) scene_press(&ui, PRESS_TAB);
    ui.compose.option = compose_option_find(&ui.compose, "batch");
    scene_press(&ui, ' ');
    scene_press(&ui, 'j');
    scene_press(&ui, ' ');
    scene_press(&ui, 'A');
    assert_true(ui.prompt.open);
    assert_non_null(strstr(ui.prompt.text, "--method '{bitfit,lora(r=4)}'"));
    assert_non_null(strstr(ui.prompt.text, "--batch '{32,"));
    assert_null(strstr(ui.prompt.text, "--lr")); /* each method's own */
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_SWEEP_NEW);
    ui_release(&ui);
}

/* Runs of one kind share a mean, with n and seeds; others are groups of their own. */
static void runs_are_joined_by_a_column(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    struct run_row rows[5];
    for (int i = 0; i < 5; i++) {
        rows[i] = scene_rows[1];
        rows[i].id = 10 + i;
        rows[i].seed = (uint64_t)i + 1;
        rows[i].best = 0.80 + 0.01 * i;
        rows[i].decides = "dev.accuracy";
        rows[i].rows_sha256 = i != 3 ? "aa" : "bb"; /* the same number of other rows */
    }
    rows[4].tuning = true; /* it only looked for a rate: beside the others, in no mean */
    ui.runs.row = rows;
    ui.runs.rows = 5;
    ui_show(&ui, SCREEN_RUNS);
    ui_changed(&ui);
    while (ui.runs.column != COL_METHOD) scene_press(&ui, ui.runs.column > COL_METHOD ? 'h' : 'l');
    scene_press(&ui, 'J');
    assert_int_equal(ui.runs.groups, 2);
    assert_int_equal(ui.runs.group[0].runs, 4);
    assert_int_equal(ui.runs.group[0].n, 3);
    assert_true(fabs(ui.runs.group[0].mean - 0.81) < 1e-12);
    assert_true(fabs(ui.runs.group[0].sd - 0.01) < 1e-12);
    assert_true(isnan(ui.runs.group[1].sd));
    assert_true(scene_shows(&ui, "1, 2, 3"));
    assert_true(scene_shows(&ui, "81.00"));
    scene_press(&ui, PRESS_ENTER);
    assert_only(&ui, "id=10,11,12,14");
    assert_false(ui.runs.grouped);
    ui_release(&ui);
}

/* A run that repeats another is no further evidence: of the seeds 1, 2, 1, 1 two count; where weights differ the newest. */
static void a_repeated_run_counts_once(void **state) {
    (void)state;
    for (int differs = 0; differs < 2; differs++) {
        static const uint64_t seed[] = {1, 2, 1, 1};
        struct ui ui;
        struct run_row rows[4];
        begin(&ui, 160, 24);
        for (int i = 0; i < 4; i++) {
            rows[i] = scene_rows[1];
            rows[i].id = 10 + i;
            rows[i].seed = seed[i];
            rows[i].best = seed[i] == 2 ? 0.9 : differs && i == 2 ? 0.7 : 0.8;
            rows[i].decides = "dev.accuracy";
            rows[i].evidence = seed[i] == 2 ? "two" : "one";
            rows[i].weights = differs && i == 2 ? "y" : "x";
            rows[i].ended = i == 2 ? 100 : i;
        }
        ui.runs.row = rows;
        ui.runs.rows = 4;
        ui_show(&ui, SCREEN_RUNS);
        ui_changed(&ui);
        while (ui.runs.column != COL_METHOD) scene_press(&ui, ui.runs.column > COL_METHOD ? 'h' : 'l');
        scene_press(&ui, 'J');
        assert_int_equal(ui.runs.groups, 1);
        assert_int_equal(ui.runs.group[0].runs, 4);
        assert_int_equal(ui.runs.group[0].n, 2);
        assert_true(fabs(ui.runs.group[0].mean - (differs ? 0.8 : 0.85)) < 1e-12);
        assert_true(scene_shows(&ui, "1, 2 "));
        assert_true(scene_shows(&ui, "2 repeated runs excluded"));
        assert_true(scene_shows(&ui, "weights differ, only the newest is used") == differs);
        ui_release(&ui);
    }
}

/* Where a filter leaves few groups, the one under the cursor is shown, however far down the list was. */
static void fewer_groups_stay_in_sight(void **state) {
    enum { MANY = 60 };
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    struct run_row rows[MANY];
    char method[MANY][16];
    for (int i = 0; i < MANY; i++) {
        rows[i] = scene_rows[1];
        rows[i].id = 10 + i;
        snprintf(method[i], sizeof method[i], "lora(r=%d)", i + 1);
        rows[i].method = method[i];
    }
    ui.runs.row = rows;
    ui.runs.rows = MANY;
    ui_show(&ui, SCREEN_RUNS);
    ui_changed(&ui);
    while (ui.runs.column != COL_METHOD) scene_press(&ui, ui.runs.column > COL_METHOD ? 'h' : 'l');
    scene_press(&ui, 'J');
    scene_press(&ui, 'G');
    assert_int_equal(ui.runs.group_cursor, MANY - 1);
    ui.runs.rows = 3;
    ui_changed(&ui);
    assert_int_equal(ui.runs.groups, 3);
    assert_in_range(ui.runs.group_top, 0, ui.runs.group_cursor);
    assert_true(scene_shows(&ui, "\u25B8 lora(r=3)"));
    ui_release(&ui);
}

/* Two keys: to the best of what may be compared, and once more with another seed. */
static void the_best_again_with_another_seed(void **state) {
    (void)state;
    struct ui ui;
    begin(&ui, 80, 24);
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'j'); /* from a run on reviews */
    scene_press(&ui, 'X');
    struct effect x = scene_press(&ui, 'Z');
    assert_int_equal(x.kind, EFFECT_RESEED);
    assert_int_equal(x.run[0], 5);
    x = scene_press(&ui, 'W'); /* and its curves */
    assert_int_equal(x.kind, EFFECT_WATCH);
    assert_int_equal(x.run[0], 5);
    assert_int_equal(ui.screen, SCREEN_TRAIN);
    assert_int_equal(ui.train.focus, 5);
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(marked_runs_or_the_filtered), cmocka_unit_test(kinds_are_on_tabs),
                                       cmocka_unit_test(the_first_tab_has_something_to_compare),
                                       cmocka_unit_test(settings_of_all_groups_differ), cmocka_unit_test(the_evidence_is_in_words),
                                       cmocka_unit_test(spikes_do_not_flatten_the_curves), cmocka_unit_test(more_is_asked_for),
                                       cmocka_unit_test(repeated_runs_are_counted_apart), cmocka_unit_test(curves_are_means_of_seeds),
                                       cmocka_unit_test(all_that_is_shown_can_be_written), cmocka_unit_test(a_cell_leads_to_its_runs),
                                       cmocka_unit_test(a_sweep_is_started_and_stopped), cmocka_unit_test(marks_become_a_sweep),
                                       cmocka_unit_test(a_front_is_by_each_cost), cmocka_unit_test(the_best_cell_stands_out),
                                       cmocka_unit_test(runs_are_joined_by_a_column),
                                       cmocka_unit_test(a_repeated_run_counts_once), cmocka_unit_test(fewer_groups_stay_in_sight),
                                       cmocka_unit_test(the_best_again_with_another_seed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
