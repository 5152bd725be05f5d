#include "tests/support/test.h"

#include <string.h>

#include "tests/views/scene.h"
#include "views/ui_parts.h"

static void open(struct ui *ui) {
    scene_init(ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(ui, SCREEN_TRAIN);
}

/* The cursor stands on logged steps, and the read-out says exactly what was logged. */
static void the_cursor_reads_out_logged_steps(void **state) {
    (void)state;
    struct ui ui;
    char text[64];
    open(&ui);
    assert_int_equal(ui.train.cursor, -1);
    scene_type(&ui, "hhH");
    int64_t step = ui.train.cursor;
    assert_true(step > 100 && step < 241);
    snprintf(text, sizeof text, "step %lld  loss %.4f", (long long)step, scene_loss[step - 1]);
    assert_true(scene_shows(&ui, text));
    scene_type(&ui, "g");
    assert_int_equal(ui.train.cursor, 1);
    scene_type(&ui, "h");
    assert_int_equal(ui.train.cursor, 1);
    scene_type(&ui, "G");
    assert_int_equal(ui.train.cursor, 241);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.train.cursor, -1);
    ui_release(&ui);
}

static void the_window_zooms_and_follows(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_type(&ui, "+");
    struct plot_look *k = &ui.train.look;
    double span = k->to - k->from;
    assert_true(span > 100 && span < 130 && k->to >= 240);
    ui.train.series.count = 300; /* more steps came */
    ui_changed(&ui);
    assert_true(k->to == 300 && k->to - k->from == span);
    scene_type(&ui, "[");
    assert_true(k->to < 300);
    scene_type(&ui, "0");
    assert_true(k->to <= k->from);
    for (int i = 0; i < 20; i++) scene_type(&ui, "+");
    assert_true(k->to - k->from >= 8);
    for (int i = 0; i < 20; i++) scene_type(&ui, "-");
    assert_true(k->to <= k->from);
    ui_release(&ui);
}

static void smoothing_and_scale(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_type(&ui, "MMMM");
    assert_int_equal(ui.train.look.smooth, 0);
    assert_false(scene_shows(&ui, "smooth 0"));
    scene_type(&ui, "mmmmmmmmm");
    assert_int_equal(ui.train.look.smooth, PLOT_SMOOTH_MAX);
    assert_true(scene_shows(&ui, "(smooth 0."));
    scene_type(&ui, "v");
    assert_true(ui.train.look.y.log);
    assert_true(scene_shows(&ui, "loss (log)"));
    ui_release(&ui);
}

/* x is steps, tokens, seconds or epochs; what the run lacks is passed over and said; the cursor stays on its step. */
static void curves_run_over_what_steps_took(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_type(&ui, "x");
    assert_int_equal(ui.train.look.x, PLOT_X_STEP);
    assert_non_null(strstr(ui.message, "token counts"));
    scene_beside(&ui);
    ui.train.besides = 0;
    scene_type(&ui, "x");
    assert_int_equal(ui.train.look.x, PLOT_X_TOKENS);
    scene_type(&ui, "hh");
    int64_t step = ui.train.cursor;
    char text[64];
    snprintf(text, sizeof text, "step %lld (%.5g tokens)", (long long)step, 320.0 * (double)step);
    assert_true(scene_shows(&ui, text));
    scene_type(&ui, "x");
    assert_int_equal(ui.train.look.x, PLOT_X_TIME);
    assert_int_equal(ui.train.cursor, step);
    assert_true(scene_shows(&ui, " seconds"));
    scene_type(&ui, "+");
    assert_true(ui.train.look.to - ui.train.look.from < 40);
    scene_type(&ui, "x");
    assert_int_equal(ui.train.look.x, PLOT_X_EPOCH);
    assert_true(ui.train.look.to <= ui.train.look.from); /* another x: all of it */
    scene_type(&ui, "_");
    assert_true(ui.train.look.log_x);
    scene_type(&ui, "hhhhhlHL+-[]0");
    ui.train.series.epoch = 0; /* another run that has none: steps again */
    ui_changed(&ui);
    assert_int_equal(ui.train.look.x, PLOT_X_STEP);
    ui_release(&ui);
}

/* From 120 columns on four charts stand side by side; below, one large one, and the metric's. */
static void the_grid_begins_at_120_columns(void **state) {
    (void)state;
    static const char *const title[] = {"loss \u2501", "accuracy \u2500", "learning rate \u2500", "gradient norm \u2500"};
    struct ui ui;
    open(&ui);
    for (int w = 119; w <= 121; w++) {
        ui_resize(&ui, w, 40);
        for (size_t i = 0; i < COUNT_OF(title); i++) assert_int_equal(scene_shows(&ui, title[i]), w >= 120 || i < 2);
    }
    ui_release(&ui);
}

static void the_large_chart_has_other_curves(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_press(&ui, PRESS_TAB);
    assert_true(scene_shows(&ui, "learning rate"));
    scene_press(&ui, PRESS_TAB);
    scene_type(&ui, "hh");
    char text[64];
    snprintf(text, sizeof text, "step %lld  gradient norm %.4f", (long long)ui.train.cursor, scene_norm[ui.train.cursor - 1]);
    assert_true(scene_shows(&ui, text));
    scene_press(&ui, PRESS_ESC);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.train.chart, CHART_LOSS);
    ui_release(&ui);
}

/* Marked runs over one another, read at one place; Esc has the one in focus alone again. */
static void marked_runs_lie_over_one_another(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    ui_show(&ui, SCREEN_RUNS);
    struct effect x = scene_press(&ui, 'o');
    assert_int_equal(x.kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "mark two or more runs"));
    scene_press(&ui, ' ');
    scene_press(&ui, ' ');
    x = scene_press(&ui, 'o');
    assert_int_equal(x.kind, EFFECT_BESIDE);
    assert_int_equal(x.runs, 2);
    assert_int_equal(ui.screen, SCREEN_TRAIN);
    assert_int_equal(ui.train.focus, x.run[0]);
    ui.train.focus = 3;
    scene_beside(&ui);
    assert_true(scene_shows(&ui, "2 runs overlaid"));
    ui.train.cursor = 100;
    char text[80];
    snprintf(text, sizeof text, "step 100  1 #3 %.4f  2 #5 %.4f", scene_loss[99], scene_other[99]);
    assert_true(scene_shows(&ui, text));
    x = scene_press(&ui, 'j');
    assert_int_equal(x.kind, EFFECT_FOCUS);
    assert_int_equal(x.run[0], 5);
    scene_press(&ui, PRESS_ESC);
    x = scene_press(&ui, PRESS_ESC);
    assert_int_equal(x.kind, EFFECT_BESIDE);
    assert_int_equal(x.runs, 0);
    ui.train.besides = 0;
    x = scene_press(&ui, '*'); /* those of the list that have begun */
    assert_int_equal(x.runs, 2);
    ui_release(&ui);
}

/* Two spikes of the raw loss leave the curves their room: of one run, runs, tasks and parts. */
static void spikes_leave_the_curves_their_room(void **state) {
    (void)state;
    static void (*const scene[])(struct ui *) = {ui_changed, scene_beside, scene_tasks, scene_terms};
    for (size_t i = 0; i < COUNT_OF(scene); i++) {
        struct ui ui;
        open(&ui);
        scene_loss[100] = scene_loss[200] = 9;
        ui.train.look.y.set = false;
        scene[i](&ui);
        if (i == 2) ui.train.shown_task = ui.train.series.tasks + 1;
        if (i == 3) ui.train.shown_term = ui.train.series.terms + 1;
        ui_changed(&ui);
        assert_true(ui.train.look.y.set && ui.train.look.y.hi <= 2);
        assert_true(scene_shows(&ui, "\u25B4"));
        scene_type(&ui, "w"); /* without raw points */
        assert_false(scene_shows(&ui, "\u25B4"));
        ui_release(&ui);
    }
}

static void jobs_are_walked_and_asked_about(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    struct effect out = scene_press(&ui, ' ');
    assert_true(out.kind == EFFECT_PAUSE && out.run[0] == 3);
    out = scene_press(&ui, 'j');
    assert_true(out.kind == EFFECT_FOCUS && out.run[0] == 4);
    out = scene_press(&ui, '<');
    assert_true(out.kind == EFFECT_QUEUE && out.run[0] == 4 && out.by == -1);
    out = scene_press(&ui, 'j');
    assert_true(out.kind == EFFECT_FOCUS && out.run[0] == 2);
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_NONE);
    assert_int_equal(scene_press(&ui, 'K').kind, EFFECT_NONE);
    assert_int_equal(ui.ask.kind, ASK_NONE); /* it has failed already */
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_AGAIN);
    assert_true(scene_shows(&ui, "not finite at step 118"));
    ui_release(&ui);
}

/* The list says which seed, how the queue stands, and how far an evaluation has come. */
static void jobs_say_how_they_stand(void **state) {
    (void)state;
    struct ui ui;
    struct job_row job[3] = { scene_jobs[0], scene_jobs[1], scene_jobs[1] };
    open(&ui);
    job[0].scored = 120;
    job[0].to_score = 256;
    job[0].seed = 11;
    job[2].id = 5;
    job[2].seed = 12;
    job[2].place = 2;
    ui.train.job = job;
    ui.train.jobs = 3;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "evaluating 120/256") && !scene_shows(&ui, "left"));
    assert_true(scene_shows(&ui, "s11") && scene_shows(&ui, "s12"));
    assert_true(scene_shows(&ui, "queued, next") && scene_shows(&ui, "queued, 1 ahead"));
    job[0].scored = job[0].to_score = 0;
    assert_true(scene_shows(&ui, "0:38 left"));
    ui_release(&ui);
}

/* Nothing is drawn, and no axis made up, where no value is finite. */
/* What a run is called stands in its row and in the chart's title, never a control character of it. */
static void a_run_is_called_by_its_name(void **state) {
    (void)state;
    struct job_row job[COUNT_OF(scene_jobs)];
    struct ui ui;
    open(&ui);
    memcpy(job, scene_jobs, sizeof job);
    job[0].name = "\u6F22\u5B57 \x1b[2J";
    ui.train.job = job;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "#3 \u6F22\u5B57 \u241B[2J: lora(r=8) \u00B7 reviews"));
    assert_true(scene_shows(&ui, "\u241B[2J: lora(\u2026 s1"));
    ui_release(&ui);
}

static void a_curve_of_nan_says_so(void **state) {
    (void)state;
    struct ui ui;
    double nans[SCENE_POINTS];
    open(&ui);
    for (int i = 0; i < SCENE_POINTS; i++) nans[i] = NAN;
    ui.train.series.loss = nans;
    ui.train.look.y.set = false;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "no finite values"));
    ui_release(&ui);
}

static void a_finished_run_is_summed_up(void **state) {
    (void)state;
    struct ui ui;
    struct job_row done = scene_jobs[0];
    open(&ui);
    done.state = RUN_FINISHED;
    ui.train.job = &done;
    ui.train.jobs = 1;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "#3 finished: loss 0."));
    assert_true(scene_shows(&ui, "accuracy 0.838 at step 240 (majority 0.578)"));
    ui.train.jobs = 0;
    ui.train.focus = 0;
    memset(&ui.train.series, 0, sizeof ui.train.series);
    ui_changed(&ui);
    ui.total_runs = 0;
    assert_true(scene_shows(&ui, "No runs yet"));
    ui.total_runs = 4; /* of other processes, or of before: where they are found */
    assert_true(scene_shows(&ui, "No run selected. Press 3"));
    assert_int_equal(scene_press(&ui, ' ').kind, EFFECT_NONE);
    ui_release(&ui);
}

/* t puts the texts in the metric's place; n and N walk through a set; the cursor chooses the set. */
static void texts_stand_beside_those_wanted(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_type(&ui, "t");
    assert_true(scene_shows(&ui, "no texts yet"));
    ui.train.series.sample = scene_digits;
    ui.train.series.samples = COUNT_OF(scene_digits);
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "step 200") && scene_shows(&ui, "label") && scene_shows(&ui, "quiet power"));
    assert_false(scene_shows(&ui, "\x1b"));
    scene_type(&ui, "n");
    assert_false(scene_shows(&ui, "quiet power"));
    scene_type(&ui, "nnnnn");
    assert_true(scene_shows(&ui, "nobody has said"));
    scene_type(&ui, "NNNNN");
    assert_true(scene_shows(&ui, "quiet power"));
    scene_type(&ui, "g"); /* the cursor at step 1: the set of step 0 */
    assert_true(scene_shows(&ui, "film ") && !scene_shows(&ui, "nobody has said"));
    scene_type(&ui, "t");
    assert_true(scene_shows(&ui, "accuracy") && !scene_shows(&ui, "label"));
    ui_release(&ui);
}

/* b goes from the average to each task and to all at once, Esc back; each says whose figures it shows. */
static void several_tasks_are_switched(void **state) {
    (void)state;
    struct ui ui;
    open(&ui);
    scene_type(&ui, "b");
    assert_true(scene_shows(&ui, "single-task run: multi-task runs"));
    assert_int_equal(ui.train.shown_task, 0);
    scene_tasks(&ui);
    scene_type(&ui, "0");
    assert_true(scene_shows(&ui, "average ") && scene_shows(&ui, "3 metrics of 3 tasks"));
    assert_true(scene_shows(&ui, "mrpc") && scene_shows(&ui, "25.0%") && scene_shows(&ui, "undef."));
    assert_true(scene_shows(&ui, "b next task"));
    scene_type(&ui, "b");
    assert_true(scene_shows(&ui, "loss of mrpc ") && scene_shows(&ui, "mrpc accuracy "));
    assert_true(scene_shows(&ui, "best 0.744 @ 240 \u00B7 majority 0.684"));
    assert_true(scene_shows(&ui, "step 241  mrpc loss "));
    assert_false(scene_shows(&ui, "lr ")); /* of the whole step */
    scene_type(&ui, "bb");
    assert_true(scene_shows(&ui, "no evaluation yet"));
    assert_false(scene_shows(&ui, "\x1b"));
    assert_true(scene_shows(&ui, "b all tasks"));
    scene_type(&ui, "b");
    assert_true(scene_shows(&ui, "loss by task") && scene_shows(&ui, "1 mrpc accuracy 0.744   2 cola matthews"));
    scene_type(&ui, "h"); /* the cursor, then back to the average */
    scene_press(&ui, PRESS_ESC);
    assert_true(train_all_tasks(&ui.train));
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.train.shown_task, 0);
    scene_type(&ui, "b");
    ui.train.series.run = 99; /* another run begins with what is of all */
    ui_changed(&ui);
    assert_int_equal(ui.train.shown_task, 0);
    ui.train.series.tasks = 0;
    scene_type(&ui, "b");
    assert_int_equal(ui.train.shown_task, 0);
    ui_release(&ui);
}

/* The one that is shown stays in sight in a list that is longer than its pane. */
/* o goes from the whole loss to each of its parts, to all at once, and back; b and o are of one chart. */
static void parts_of_the_loss_are_chosen(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 120, 30, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_TRAIN);
    scene_press(&ui, 'o');
    assert_true(scene_shows(&ui, "the loss has one component") && !scene_shows(&ui, "o next component"));
    scene_terms(&ui);
    scene_press(&ui, 'o');
    assert_true(ui.train.shown_term == 1 && scene_shows(&ui, "loss.task \u2501") && scene_shows(&ui, "o next component"));
    scene_press(&ui, 'h');
    assert_true(scene_shows(&ui, "loss.task 0."));
    scene_press(&ui, 'o');
    scene_press(&ui, 'o');
    assert_true(scene_shows(&ui, "loss.prototype \u2501") && ui.train.look.y.lo < 0);
    scene_press(&ui, 'o');
    assert_true(scene_shows(&ui, "loss components  1 task  2 instance  3 prototype") && scene_shows(&ui, "o total loss"));
    assert_true(scene_shows(&ui, "   2 instance 0.") && scene_shows(&ui, "   3 prototype -0."));
    scene_press(&ui, 'b');
    assert_true(ui.train.shown_task == 1 && !train_all_terms(&ui.train) && scene_shows(&ui, "loss of mrpc "));
    scene_press(&ui, 'o');
    assert_true(!ui.train.shown_task && ui.train.shown_term == 1);
    scene_press(&ui, 'a');
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.train.shown_term, 0);
    ui_release(&ui);
}

static void a_long_list_of_tasks_scrolls(void **state) {
    (void)state;
    struct ui ui;
    struct series_task many[64];
    open(&ui);
    scene_tasks(&ui);
    for (int i = 0; i < 64; i++) {
        many[i] = ui.train.series.task[0];
        many[i].name = i == 40 ? "the-forty-first" : "other";
    }
    ui.train.series.task = many;
    ui.train.series.tasks = 64;
    ui_changed(&ui);
    assert_false(scene_shows(&ui, "the-forty-"));
    for (int i = 0; i < 41; i++) scene_type(&ui, "b");
    assert_true(scene_shows(&ui, "the-forty-") && scene_shows(&ui, "/64"));
    for (int i = 0; i < 24; i++) scene_type(&ui, "b");
    assert_true(scene_shows(&ui, "loss by task"));
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cursor_reads_out_logged_steps),
        cmocka_unit_test(the_window_zooms_and_follows),
        cmocka_unit_test(smoothing_and_scale),
        cmocka_unit_test(curves_run_over_what_steps_took),
        cmocka_unit_test(the_grid_begins_at_120_columns),
        cmocka_unit_test(the_large_chart_has_other_curves),
        cmocka_unit_test(marked_runs_lie_over_one_another),
        cmocka_unit_test(spikes_leave_the_curves_their_room),
        cmocka_unit_test(jobs_are_walked_and_asked_about),
        cmocka_unit_test(jobs_say_how_they_stand),
        cmocka_unit_test(a_run_is_called_by_its_name),
        cmocka_unit_test(a_curve_of_nan_says_so), cmocka_unit_test(a_finished_run_is_summed_up),
        cmocka_unit_test(texts_stand_beside_those_wanted),
        cmocka_unit_test(several_tasks_are_switched),
        cmocka_unit_test(parts_of_the_loss_are_chosen),
        cmocka_unit_test(a_long_list_of_tasks_scrolls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
