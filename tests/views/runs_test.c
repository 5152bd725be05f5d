#include "tests/support/test.h"

#include <string.h>
#include <time.h>

#include "core/base/text.h"
#include "tests/views/scene.h"
#include "views/stored.h"
#include "views/ui_parts.h"

enum { MANY = 10000 };

static int64_t at(const struct ui *ui, int i) { return ui->runs.row[ui->runs.order[i]].id; }

static void newest_first_then_by_column(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    assert_int_equal(at(&ui, 0), 8);
    scene_type(&ui, "lllls"); /* the best metric, best first of each task; no value comes last */
    assert_int_equal(at(&ui, 0), 8);
    assert_int_equal(at(&ui, 1), 5);
    assert_int_equal(at(&ui, 2), 7);
    assert_int_equal(at(&ui, 6), 1);
    scene_type(&ui, "S");
    assert_int_equal(at(&ui, 1), 6);
    assert_int_equal(at(&ui, 6), 1);
    ui_release(&ui);
}

/* Unlike values are not ranked together: the metric and the dev rows are told where they differ,
 * and sorting is within like. */
static void unlike_bests_stand_apart(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    assert_true(scene_shows(&ui, "accuracy"));
    assert_false(scene_shows(&ui, "best"));
    assert_false(scene_shows(&ui, "metric"));
    assert_false(scene_shows(&ui, " examples"));
    assert_true(scene_shows(&ui, "0.003"));
    struct run_row rows[] = {scene_rows[0], scene_rows[1], scene_rows[2], scene_rows[3]};
    rows[0].metric = "f1";
    rows[0].best = 0.99;
    rows[3].best = 1;
    rows[3].rows = 8;
    ui.runs.row = rows;
    ui.runs.rows = 4;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "best") && scene_shows(&ui, "metric") && scene_shows(&ui, " examples"));
    assert_true(scene_shows(&ui, "2,538"));
    scene_type(&ui, "lllls");
    assert_true(at(&ui, 0) == 5 && at(&ui, 1) == 3 && at(&ui, 2) == 6 && at(&ui, 3) == 7);
    ui_release(&ui);
}

static void the_cursor_stays_on_its_run(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    scene_type(&ui, "jj");
    int64_t id = runs_at_cursor(&ui.runs)->id;
    scene_type(&ui, "llls");
    assert_int_equal(runs_at_cursor(&ui.runs)->id, id);
    ui.runs.rows = 5; /* rows were replaced */
    ui_changed(&ui);
    assert_true(ui.runs.cursor >= 0 && ui.runs.cursor < ui.runs.shown);
    ui_release(&ui);
}

/* What fits is told by who reads the history: the screen asks, and shows what fits. */
static void filters(void **state) {
    (void)state;
    struct ui ui;
    struct run_row rows[COUNT_OF(scene_rows)];
    scene_runs(&ui);
    memcpy(rows, scene_rows, sizeof rows);
    ui.runs.row = rows;
    ui_changed(&ui);
    struct effect out;
    scene_type(&ui, "/lr<1e-");
    out = scene_press(&ui, '3');
    assert_int_equal(out.kind, EFFECT_FILTER);
    assert_string_equal(ui.runs.filter, "lr<1e-3");
    for (size_t i = 1; i < COUNT_OF(rows); i++) rows[i].unfit = true;
    ui_changed(&ui);
    scene_press(&ui, PRESS_ENTER);
    assert_int_equal(ui.runs.shown, 1);
    assert_int_equal(scene_press(&ui, 'F').kind, EFFECT_FILTER);
    assert_int_equal(ui.runs.shown, COUNT_OF(rows));
    scene_type(&ui, "/lr<");
    strcpy(ui.runs.filter_error, "\"lr<\": \"\" is not a number");
    scene_press(&ui, PRESS_ENTER);
    assert_true(scene_shows(&ui, "is not a number"));
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_FILTER);
    assert_false(scene_shows(&ui, "is not a number"));
    scene_type(&ui, "G"); /* the oldest but one is on a task whose name holds blanks */
    scene_type(&ui, "k");
    scene_type(&ui, "lllf");
    assert_non_null(strstr(ui.runs.filter, "task=\""));
    scene_type(&ui, "F");
    struct run_row *row = (struct run_row *)(uintptr_t)runs_at_cursor(&ui.runs);
    const char *task = row->task;
    row->task = "the \"big\" one's"; /* in pieces, each in the quotes that it does not hold */
    scene_type(&ui, "f");
    assert_string_equal(ui.runs.filter, "task=\"the \"'\"big\" one'\"'s\"");
    row->task = task;
    scene_type(&ui, "F");
    scene_type(&ui, "lf"); /* the best as it was measured, not as it is shown */
    assert_string_equal(ui.runs.filter, "best=0.701");
    ui_release(&ui);
}

/* The prompt opens empty and offers earlier filters; Esc leaves the filter as it was. */
static void filters_are_remembered(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    scene_type(&ui, "/task=a");
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "/task=b");
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "/");
    assert_string_equal(ui.prompt.text, "");
    assert_string_equal(ui.runs.filter, "task=b"); /* until something is typed */
    assert_true(scene_shows(&ui, "earlier"));
    scene_press(&ui, PRESS_UP);
    scene_press(&ui, PRESS_UP);
    scene_press(&ui, PRESS_UP);
    assert_string_equal(ui.prompt.text, "task=a");
    assert_string_equal(ui.runs.filter, "task=a");
    scene_press(&ui, PRESS_DOWN);
    assert_string_equal(ui.prompt.text, "task=b");
    scene_type(&ui, "c");
    assert_string_equal(ui.runs.filter, "task=bc");
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_FILTER);
    assert_string_equal(ui.runs.filter, "task=b");
    scene_type(&ui, "/");
    scene_press(&ui, PRESS_ENTER);
    assert_string_equal(ui.runs.filter, "task=b");
    scene_type(&ui, "/");
    scene_press(&ui, PRESS_UP);
    scene_press(&ui, PRESS_CTRL('u'));
    scene_press(&ui, PRESS_ENTER);
    assert_string_equal(ui.runs.filter, "");
    for (int i = 0; i < 2 * RUNS_PAST; i++) {
        char text[24];
        snprintf(text, sizeof text, "/lr<%d", i);
        scene_type(&ui, text);
        scene_press(&ui, PRESS_ENTER);
    }
    assert_int_equal(ui.runs.pasts, RUNS_PAST);
    assert_string_equal(ui.runs.past[0], "lr<16");
    ui_release(&ui);
}

/* Hundreds of runs opened from a cell: all are listed, under their name, and a filter narrows them. */
static void runs_of_a_cell_have_a_name(void **state) {
    (void)state;
    enum { DRAWS = 300 };
    static struct run_row rows[DRAWS + 1];
    int64_t draw[DRAWS];
    struct ui ui;
    struct effect x = {0};
    scene_runs(&ui);
    for (int i = 0; i <= DRAWS; i++) {
        rows[i] = scene_rows[1];
        rows[i].id = i + 1;
        rows[i].seed = (uint64_t)i;
        if (i < DRAWS) draw[i] = DRAWS - i;
    }
    ui.runs.row = rows;
    ui.runs.rows = DRAWS + 1;
    ui_changed(&ui);
    ui_show(&ui, SCREEN_SWEEP);
    runs_show_only(&ui, draw, DRAWS, "sweep 2: lora(r=2)", &x);
    assert_int_equal(x.kind, EFFECT_FILTER);
    assert_int_equal(ui.screen, SCREEN_RUNS);
    assert_int_equal(ui.runs.shown, DRAWS);
    assert_string_equal(ui.runs.filter, "");
    assert_true(scene_shows(&ui, "sweep 2: lora(r=2), 300 seeds"));
    scene_type(&ui, "/seed=7");
    for (int i = 0; i <= DRAWS; i++) rows[i].unfit = rows[i].seed != 7;
    scene_press(&ui, PRESS_ENTER);
    ui_changed(&ui);
    assert_int_equal(ui.runs.shown, 1);
    assert_true(scene_shows(&ui, "filter: seed=7"));
    char *text = runs_filter_text(&ui.runs);
    assert_non_null(strstr(text, "299,300 seed=7"));
    free(text);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.runs.shown, DRAWS);
    scene_press(&ui, PRESS_ESC);
    assert_int_equal(ui.runs.shown, DRAWS + 1);
    ui_release(&ui);
}

static void marks_go_with_trash(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    scene_type(&ui, "  ");
    assert_int_equal(ui.runs.marks, 2);
    struct effect out = scene_press(&ui, 'd');
    assert_int_equal(out.kind, EFFECT_TRASH);
    assert_int_equal(out.runs, 2);
    assert_true(out.run[0] == 7 && out.run[1] == 8);
    assert_int_equal(ui.runs.marks, 0);
    assert_int_equal(scene_press(&ui, 'u').kind, EFFECT_UNDO);
    scene_type(&ui, "*");
    assert_int_equal(ui.runs.marks, 7);
    scene_type(&ui, "*");
    assert_int_equal(ui.runs.marks, 0);
    assert_int_equal(scene_press(&ui, 'V').kind, EFFECT_TRASH_VIEW);
    assert_true(ui.runs.trash);
    assert_int_equal(scene_press(&ui, 'd').kind, EFFECT_RESTORE);
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_TRASH_VIEW);
    assert_false(ui.runs.trash);
    ui_release(&ui);
}

/* What is wrong with a run is said without being asked. */
static void flags(void **state) {
    (void)state;
    char text[RUN_FLAG];
    run_flag(&scene_rows[3], text);
    assert_non_null(strstr(text, "one class"));
    run_flag(&scene_rows[4], text);
    assert_non_null(strstr(text, "R resumes"));
    run_flag(&scene_rows[6], text);
    assert_non_null(strstr(text, "not finite"));
    run_flag(&scene_rows[0], text);
    assert_string_equal(text, "");
    struct run_row poor = scene_rows[0];
    poor.best = poor.majority;
    run_flag(&poor, text);
    assert_non_null(strstr(text, "majority baseline"));
}

/* R is refused where there is nothing to go on with, and :resume never trains anew. */
static void runs_go_on_where_they_can(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui); /* the newest runs */
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "#8 is running"));
    scene_type(&ui, "j");
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_AGAIN);
    struct effect out;
    ui_command(&ui, "resume", &out);
    assert_int_equal(out.kind, EFFECT_RESUME);
    ui.runs.trash = true;
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "in the trash"));
    assert_false(scene_shows(&ui, "run again"));
    ui_release(&ui);
}

/* A few-shot run is resumed by a shell's command, which R copies; the key is not offered. */
static void few_shot_runs_go_on_in_a_shell(void **state) {
    (void)state;
    struct ui ui;
    struct run_row rows[] = {scene_rows[1]};
    struct effect x;
    scene_runs(&ui);
    rows[0].state = RUN_STOPPED;
    rows[0].resumable = rows[0].fewshot = true;
    ui.runs.row = rows;
    ui.runs.rows = 1;
    ui_resize(&ui, 200, 60);
    assert_false(scene_shows(&ui, "R resume") || scene_shows(&ui, "R run again"));
    x = scene_press(&ui, 'R');
    assert_int_equal(x.kind, EFFECT_COPY_RUN);
    assert_string_equal(x.text, "resume");
    assert_int_equal(scene_press(&ui, 'Z').kind, EFFECT_NONE);
    rows[0].fewshot = false;
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "R resume"));
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_AGAIN);
    rows[0].fewshot = true;
    rows[0].resumable = false;
    rows[0].state = RUN_FINISHED;
    assert_int_equal(scene_press(&ui, 'R').kind, EFFECT_NONE);
    assert_true(scene_shows(&ui, "petri fewshot"));
    ui_release(&ui);
}

static void what_is_copied_is_chosen(void **state) {
    (void)state;
    struct ui ui;
    struct effect x;
    scene_runs(&ui);
    scene_type(&ui, "j");
    static const char *const name[] = {"command", "method", "folder"};
    for (int i = 0; i < 5; i++) {
        scene_type(&ui, "y");
        assert_true(scene_shows(&ui, "copy of run #7") && scene_shows(&ui, "mam(l=16,r=16)"));
        for (int k = 0; k < i; k++) scene_type(&ui, "j");
        x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, i < 3 ? EFFECT_COPY_RUN : EFFECT_COPY);
        assert_int_equal(x.run[0], 7);
        if (i < 3) assert_string_equal(x.text, name[i]);
        if (i == 3) assert_string_equal(x.text, "7");
        if (i == 4) assert_true(text_starts(x.text, "7\tfinished\tmam(l=16,r=16)\treviews\t0.851\t"));
    }
    scene_type(&ui, "y");
    assert_int_equal(scene_press(&ui, PRESS_ESC).kind, EFFECT_NONE);
    x = scene_press(&ui, '!');
    assert_int_equal(x.kind, EFFECT_SHELL);
    assert_int_equal(x.run[0], 7);
    scene_type(&ui, "\r");
    scene_press(&ui, PRESS_ENTER);
    scene_type(&ui, "y");
    assert_false(scene_shows(&ui, "row  ")); /* the page of a run has no cell under a cursor */
    ui_release(&ui);
}

static const char long_reason[] =
    "layer 3, tensor encoder.layer.3.attention.self.query.lora_A, holds a value that is not finite after "
    "the step's update; a smaller learning rate or clipping would be the first things to try, as the \u201Cend\u201D";

/* A reason is read to its end at 80 columns: on the page, in Train, and as a message. */
static void reasons_are_whole(void **state) {
    (void)state;
    static const char last[] = "\u201Cend\u201D";
    struct ui ui;
    struct run_row failed = scene_rows[6];
    struct job_row job = scene_jobs[2];
    scene_runs(&ui);
    failed.reason = job.reason = long_reason;
    job.id = 3; /* the run whose series is shown */
    ui.detail.run = failed;
    ui.train.job = &job;
    ui.train.jobs = 1;
    ui_changed(&ui);
    scene_press(&ui, '2');
    assert_true(scene_shows(&ui, last));
    ui.train.series.count = 0;
    assert_true(scene_shows(&ui, last));
    ui_show(&ui, SCREEN_DETAIL);
    assert_true(scene_shows(&ui, last));
    ui_show(&ui, SCREEN_COMPOSE);
    assert_false(scene_shows(&ui, last));
    ui_say(&ui, SAY_ERROR, "run #3 failed: %s", long_reason);
    assert_true(scene_shows(&ui, last));
    ui_release(&ui);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void ten_thousand(void **state) {
    (void)state;
    struct ui ui;
    struct run_row *rows = xcalloc(MANY, sizeof *rows);
    for (int i = 0; i < MANY; i++) {
        rows[i] = scene_rows[i % 7];
        rows[i].id = i + 1;
        rows[i].seed = (uint64_t)(i * 7919 % MANY);
        rows[i].unfit = strncmp(rows[i].method, "mam", 3) != 0;
    }
    scene_runs(&ui);
    ui.runs.row = rows;
    ui.runs.rows = MANY;
    double start = seconds();
    ui_changed(&ui);
    scene_type(&ui, "llllllls*");
    scene_type(&ui, "/mam");
    scene_press(&ui, PRESS_ENTER);
    struct buf b = BUF_INIT;
    render_ui(&ui, RENDER_TEXT, &b);
    print_message("10,000 runs shown, sorted, marked, filtered, drawn: %.0f ms\n", (seconds() - start) * 1e3);
    assert_true(ui.runs.shown > 1400 && ui.runs.shown < 1500);
    assert_int_equal(ui.runs.marks, MANY);
    buf_release(&b);
    ui_release(&ui);
    free(rows);
}

/* b gives a column a task: named by it, sorted by its values within one metric, read out whole. */
static void tasks_have_columns(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    scene_task_runs(&ui);
    assert_true(scene_shows(&ui, "b by task") && !scene_shows(&ui, "mrpc  "));
    assert_int_equal(scene_press(&ui, 'b').kind, EFFECT_BY_TASK);
    assert_true(ui.runs.by_task && ui.runs.tasks == 4);
    assert_string_equal(ui.runs.task[0], "cola");
    assert_string_equal(ui.runs.task[2], "rte");
    assert_true(scene_shows(&ui, "0.744") && scene_shows(&ui, "undef.") && scene_shows(&ui, "b no tasks"));
    assert_false(scene_shows(&ui, "\x1b"));
    while ((int)ui.runs.column < COL_COUNT + 1) scene_type(&ui, "l");
    scene_type(&ui, "s"); /* mrpc, best first; the run without it last */
    assert_true(at(&ui, 0) == 7 && at(&ui, 1) == 3 && at(&ui, 2) == 5);
    scene_type(&ui, "sg");
    assert_true(at(&ui, 0) == 3 && at(&ui, 1) == 7 && at(&ui, 2) == 5);
    assert_true(scene_shows(&ui, "#3 mrpc accuracy 0.651 @ 80, majority 0.684, 408 examples"));
    scene_type(&ui, "jh");
    assert_true(scene_shows(&ui, "cola matthews \u2013 @ 240 (undefined: constant predictions), 1,043 examples"));
    struct effect out = scene_press(&ui, 'f'); /* only runs that were trained on the task */
    assert_int_equal(out.kind, EFFECT_FILTER);
    assert_string_equal(ui.runs.filter, "task~cola");
    scene_press(&ui, 'F');
    for (int w = 20; w < 200; w += 7) { /* the column under the cursor stays in sight */
        ui_resize(&ui, w, 24);
        scene_type(&ui, "llllll");
        struct column_places k;
        runs_place(&ui.runs, &k);
        assert_true(k.w[ui.runs.column] > 0);
        scene_type(&ui, "hhhhhhhh");
    }
    scene_type(&ui, "llllllllllb");
    assert_true(!ui.runs.by_task && ui.runs.tasks == 0 && ui.runs.column < COL_COUNT && ui.runs.sort < COL_COUNT);
    ui_release(&ui);
}

/* Pins come first whatever the order; tags and notes are typed on a line. */
static void pins_tags_and_notes(void **state) {
    (void)state;
    struct ui ui;
    struct run_row row[COUNT_OF(scene_rows)];
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    memcpy(row, scene_rows, sizeof row);
    ui.runs.row = row;
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'g');
    struct effect x = scene_press(&ui, 'p');
    assert_int_equal(x.kind, EFFECT_PIN);
    assert_int_equal(x.run[0], 8);
    for (size_t i = 0; i < COUNT_OF(row); i++) /* as the app answers */
        if (row[i].id == 1) row[i].pinned = true, row[i].tags = "pinned, talk", row[i].note = "the one";
    ui_changed(&ui);
    scene_press(&ui, 'g');
    assert_int_equal(runs_at_cursor(&ui.runs)->id, 1);
    scene_press(&ui, 's');
    scene_press(&ui, 'S');
    scene_press(&ui, 'g');
    assert_int_equal(runs_at_cursor(&ui.runs)->id, 1);
    assert_true(scene_shows(&ui, "* prefix(l=30)"));
    scene_press(&ui, 't');
    assert_string_equal(ui.prompt.text, "pinned, talk, ");
    scene_type(&ui, "good");
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_TAGS);
    assert_int_equal(x.runs, 1);
    assert_string_equal(x.text, "pinned, talk, good");
    scene_press(&ui, 'i');
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_NOTE);
    assert_string_equal(x.text, "the one");
    assert_false(scene_shows(&ui, "for talks"));
    scene_press(&ui, 'r');
    scene_type(&ui, "for talks");
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_NAME);
    assert_int_equal(x.run[0], 1);
    assert_string_equal(x.text, "for talks");
    for (size_t i = 0; i < COUNT_OF(row); i++) /* as the app answers */
        if (row[i].id == 1) row[i].name = "for talks";
    ui_changed(&ui);
    assert_true(scene_shows(&ui, "for talks"));
    scene_press(&ui, 'r');
    assert_string_equal(ui.prompt.text, "for talks");
    scene_press(&ui, PRESS_ESC);
    scene_type(&ui, "  t"); /* two marked: tags to add */
    assert_string_equal(ui.prompt.text, "");
    scene_type(&ui, "new");
    x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.runs, 2);
    ui_release(&ui);
}

/* For good only out of the trash, after a number and a y; any other answer keeps them. */
static void deleting_is_asked_twice(void **state) {
    (void)state;
    struct ui ui;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_RUNS);
    scene_type(&ui, ":purge");
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_NONE);
    assert_non_null(strstr(ui.message, "in the trash"));
    scene_press(&ui, 'V');
    scene_press(&ui, ' ');
    scene_press(&ui, ' ');
    for (int round = 0; round < 3; round++) {
        scene_type(&ui, ":purge");
        struct effect x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_PURGE_COUNT);
        assert_int_equal(x.runs, 2);
        runs_purge_ask(&ui, 2, "2 runs, 6 files, 4,096 bytes");
        assert_true(ui.prompt.open);
        scene_type(&ui, round ? "2" : "3");
        x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_NONE);
        if (!round) continue; /* another number */
        assert_true(scene_shows(&ui, "2 runs, 6 files, 4,096 bytes"));
        x = scene_press(&ui, round == 1 ? 'n' : 'y');
        assert_int_equal(x.kind, round == 1 ? EFFECT_NONE : EFFECT_PURGE);
        if (x.kind == EFFECT_PURGE) assert_int_equal(x.by, 2);
    }
    ui_release(&ui);
}

/* Columns are chosen and ordered on a line; none: by what there is a reason and room for. */
static void columns_are_chosen_and_ordered(void **state) {
    (void)state;
    struct ui ui;
    static const double curve[] = {1, 0.8, NAN, 0.5};
    struct run_row row[COUNT_OF(scene_rows)];
    struct buf b = BUF_INIT;
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    memcpy(row, scene_rows, sizeof row);
    for (size_t i = 0; i < COUNT_OF(row); i++) row[i].disk = 11208, row[i].curve = curve, row[i].curve_points = 4, row[i].tags = "talk";
    ui.runs.row = row;
    ui_show(&ui, SCREEN_RUNS);
    scene_press(&ui, 'c');
    assert_string_equal(ui.prompt.text, "id state method task best lr params seed time");
    assert_non_null(strstr(ui.prompt.label, "tags disk curve"));
    prompt_set(&ui.prompt, "seed id curve disk method tags");
    struct effect x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_COLUMNS); /* what takes a look is asked for, and the choice kept */
    assert_string_equal(x.text, "seed id curve disk method tags");
    assert_true(ui.runs.visible[COL_DISK] && ui.runs.visible[COL_CURVE] && !ui.runs.visible[COL_STATE]);
    render_ui(&ui, RENDER_TEXT, &b);
    char *at = strstr(b.data, "seed");
    const char *const order[] = {"id", "curve", "disk", "method", "tags"};
    for (size_t i = 0; i < COUNT_OF(order); i++) {
        assert_non_null(at);
        at = strstr(at, order[i]);
    }
    assert_non_null(strstr(b.data, "11.2 kB"));
    assert_non_null(strstr(b.data, "\u2588\u2585 \u2581"));
    scene_press(&ui, 'g');
    for (int i = 0; i < 9; i++) scene_press(&ui, 'h');
    assert_int_equal(ui.runs.column, COL_SEED);
    scene_press(&ui, 'l');
    assert_int_equal(ui.runs.column, COL_ID);
    scene_press(&ui, 'c');
    prompt_set(&ui.prompt, "id sed");
    scene_press(&ui, PRESS_ENTER);
    assert_non_null(strstr(ui.message, "did you mean seed"));
    assert_int_equal(ui.runs.picks, 6);
    for (int w = 30; w < 120; w++) { /* what there is no room for gives way */
        ui_resize(&ui, w, 24);
        buf_clear(&b);
        render_ui(&ui, RENDER_TEXT, &b);
    }
    scene_press(&ui, 'c');
    prompt_set(&ui.prompt, "");
    scene_press(&ui, PRESS_ENTER);
    assert_true(!ui.runs.picks && ui.runs.visible[COL_STATE] && !ui.runs.visible[COL_CURVE]);
    runs_columns_kept(&ui, "seed of-a-later-petri id"); /* at the next start */
    assert_int_equal(ui.runs.picks, 2);
    assert_true(ui.runs.place[0] == COL_SEED && ui.runs.place[1] == COL_ID);
    runs_columns_kept(&ui, "rows trained examples"); /* two by their old names */
    assert_true(ui.runs.picks == 2 && ui.runs.place[0] == COL_ROWS && ui.runs.place[1] == COL_TRAINED);
    buf_release(&b);
    ui_release(&ui);
}

/* Columns that do not fit are scrolled to, next to id and method; < and > move the column under the cursor, - hides it,
 * + adds one; the pane next to the table gives way to chosen columns. */
static void columns_scroll_and_move(void **state) {
    (void)state;
    struct ui ui;
    scene_runs(&ui);
    assert_true(scene_shows(&ui, "accuracy") && !scene_shows(&ui, "time"));
    while (ui.runs.column != COL_TIME) scene_type(&ui, "l");
    assert_true(scene_shows(&ui, "method") && scene_shows(&ui, "time") && scene_shows(&ui, "mam(l=16,r=16)"));
    assert_false(scene_shows(&ui, "finished"));
    for (int i = 0; i < 20; i++) scene_type(&ui, "h");
    assert_true(scene_shows(&ui, "finished") && ui.runs.column == COL_ID);
    while (ui.runs.column != COL_SEED) scene_type(&ui, "l");
    struct effect x = scene_press(&ui, '<');
    assert_int_equal(x.kind, EFFECT_COLUMNS);
    assert_string_equal(x.text, "id state method task best lr seed params time");
    x = scene_press(&ui, '>');
    assert_string_equal(x.text, "id state method task best lr params seed time");
    x = scene_press(&ui, '-');
    assert_string_equal(x.text, "id state method task best lr params time");
    assert_int_equal(ui.runs.column, COL_TIME);
    scene_type(&ui, "+");
    assert_true(scene_shows(&ui, "add a column") && scene_shows(&ui, "seed") && !scene_shows(&ui, "params"));
    x = scene_press(&ui, PRESS_ENTER); /* the first of them */
    assert_int_equal(x.kind, EFFECT_COLUMNS);
    assert_string_equal(x.text, "id state method task best lr params time name");
    assert_int_equal(ui.runs.column, COL_NAME);
    ui_resize(&ui, 120, 40); /* the summary of a run leaves no room for these */
    assert_false(scene_shows(&ui, "final loss"));
    for (int i = 0; i < 9; i++) scene_press(&ui, 'h');
    assert_true(scene_shows(&ui, "name") && scene_shows(&ui, "finished") && scene_shows(&ui, "time"));
    ui_resize(&ui, 200, 60);
    assert_true(scene_shows(&ui, "final loss") && scene_shows(&ui, "name") && scene_shows(&ui, "time"));
    for (int i = 0; i < 20; i++) x = scene_press(&ui, '-');
    assert_int_equal(ui.runs.picks, 1);
    ui_release(&ui);
}

/* Next to the groups are the runs of the one under the cursor; opened, they have its name. */
static void a_group_lists_its_runs(void **state) {
    (void)state;
    struct ui ui;
    static struct run_row rows[3];
    scene_runs(&ui);
    ui_resize(&ui, 200, 60);
    for (int i = 0; i < 3; i++) {
        rows[i] = scene_rows[1];
        rows[i].id = 21 + i;
        rows[i].seed = 101 + (uint64_t)i;
        rows[i].best = 0.7 + 0.01 * i;
    }
    ui.runs.row = rows;
    ui.runs.rows = 3;
    ui_changed(&ui);
    while (ui.runs.column != COL_METHOD) scene_type(&ui, "l");
    scene_type(&ui, "J");
    assert_true(scene_shows(&ui, "3 runs") && scene_shows(&ui, "    22      102   71.00  finished"));
    assert_true(scene_shows(&ui, "lora(r=8): mean 71.00 of 3 runs, seeds 101, 102, 103"));
    ui_resize(&ui, 200, 5); /* fewer rows than runs */
    assert_true(scene_shows(&ui, "71.00"));
    ui_resize(&ui, 80, 24);
    assert_false(scene_shows(&ui, "finished"));
    assert_int_equal(scene_press(&ui, PRESS_ENTER).kind, EFFECT_FILTER);
    assert_true(scene_shows(&ui, "lora(r=8), 3 seeds"));
    ui_release(&ui);
}

/* Saved filters are chosen from a list, where the one in use can be saved or forgotten. */
/* Filter, order and grouping are the same after a start, as is the drawn list; what a later program wrote is ignored. */
static void the_list_is_restored(void **state) {
    (void)state;
    static const char *const keys[] = {"", "/lora\r", "llls", "llllsS/state=finished\r", "lllJ", "b"};
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        struct ui ui, next;
        struct buf before = BUF_INIT, after = BUF_INIT, shown = BUF_INIT, again = BUF_INIT;
        scene_runs(&ui);
        scene_runs(&next);
        for (const char *k = keys[i]; *k; k++) scene_press(&ui, *k == '\r' ? PRESS_ENTER : (uint32_t)*k);
        scene_press(&ui, 'g');
        stored_write(&ui, &before);
        assert_int_equal(before.size > 0, i > 0);
        buf_puts(&before, "zoom 3\nsort nothing\n");
        stored_read(&next, buf_text(&before));
        next.runs.column = ui.runs.column;
        scene_press(&next, 'g');
        stored_write(&next, &after);
        assert_memory_equal(buf_text(&before), buf_text(&after), after.size);
        *ui.message = *next.message = 0;
        render_ui(&ui, RENDER_TEXT, &shown);
        render_ui(&next, RENDER_TEXT, &again);
        assert_string_equal(buf_text(&shown), buf_text(&again));
        buf_release(&before), buf_release(&after), buf_release(&shown), buf_release(&again);
        ui_release(&ui);
        ui_release(&next);
    }
}

/* The tip of a screen is shown until the next press, and again until its key has been used there; also after a start. */
static void tips_go_away(void **state) {
    (void)state;
    static const int size[][2] = {{80, 24}, {200, 60}};
    for (size_t i = 0; i < COUNT_OF(size); i++) {
        struct ui ui, next;
        struct buf text = BUF_INIT;
        scene_init(&ui, size[i][0], size[i][1], GLYPHS_BRAILLE, COLORS_NONE);
        scene_init(&next, size[i][0], size[i][1], GLYPHS_BRAILLE, COLORS_NONE);
        scene_press(&ui, '3');
        assert_string_equal(ui.message, ""); /* the app has not said yet what was used */
        stored_read(&ui, "used train\nused nothing\n");
        scene_type(&ui, "123");
        assert_true(scene_shows(&ui, "Space marks runs: 4 compares them"));
        scene_type(&ui, "j");
        assert_false(scene_shows(&ui, "Space marks runs"));
        scene_type(&ui, "13");
        assert_true(scene_shows(&ui, "Space marks runs"));
        scene_type(&ui, " 2");
        assert_string_equal(ui.message, "");
        scene_type(&ui, "3");
        assert_string_equal(ui.message, "");
        stored_write(&ui, &text);
        stored_read(&next, buf_text(&text));
        scene_type(&next, "3");
        assert_string_equal(next.message, "");
        scene_type(&next, "1");
        assert_true(scene_shows(&next, "j and k change the value"));
        for (int s = 0; s < SCREEN_COUNT; s++) {
            const char *tip = screen_at((enum screen_id)s)->tip.text;
            if (tip && strlen(tip) > 78) fail_msg("\"%s\" is cut on 80 columns", tip);
        }
        buf_release(&text);
        ui_release(&ui);
        ui_release(&next);
    }
}

static void filters_are_saved(void **state) {
    (void)state;
    struct ui ui;
    static const char *const saved[] = {"lr<1e-3", "task=reviews"};
    scene_init(&ui, 80, 24, GLYPHS_BRAILLE, COLORS_256);
    ui_show(&ui, SCREEN_RUNS);
    assert_int_equal(scene_press(&ui, 'P').kind, EFFECT_SAVED);
    runs_saved(&ui, NULL, 0);
    assert_non_null(strstr(ui.message, "no saved filters"));
    scene_press(&ui, 'P');
    runs_saved(&ui, saved, 2);
    assert_int_equal(ui.picker.count, 2);
    scene_press(&ui, 'j');
    struct effect x = scene_press(&ui, PRESS_ENTER);
    assert_int_equal(x.kind, EFFECT_FILTER);
    assert_string_equal(ui.runs.filter, "task=reviews");
    for (int kept = 1; kept >= 0; kept--) { /* another one, then one that is there */
        snprintf(ui.runs.filter, sizeof ui.runs.filter, "%s", kept ? "seed=1" : "lr<1e-3");
        scene_press(&ui, 'P');
        runs_saved(&ui, saved, 2);
        assert_int_equal(ui.picker.count, 3);
        scene_press(&ui, 'G');
        x = scene_press(&ui, PRESS_ENTER);
        assert_int_equal(x.kind, EFFECT_SAVE);
        assert_int_equal(x.keep, kept);
        assert_string_equal(x.text, kept ? "seed=1" : "lr<1e-3");
    }
    ui_release(&ui);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(newest_first_then_by_column), cmocka_unit_test(unlike_bests_stand_apart),
        cmocka_unit_test(tasks_have_columns),
        cmocka_unit_test(the_cursor_stays_on_its_run),
        cmocka_unit_test(filters),
        cmocka_unit_test(filters_are_remembered),
        cmocka_unit_test(runs_of_a_cell_have_a_name),
        cmocka_unit_test(few_shot_runs_go_on_in_a_shell),
        cmocka_unit_test(what_is_copied_is_chosen),
        cmocka_unit_test(marks_go_with_trash),
        cmocka_unit_test(flags),
        cmocka_unit_test(runs_go_on_where_they_can),   cmocka_unit_test(reasons_are_whole),
        cmocka_unit_test(pins_tags_and_notes),
        cmocka_unit_test(deleting_is_asked_twice),
        cmocka_unit_test(columns_are_chosen_and_ordered),
        cmocka_unit_test(columns_scroll_and_move),
        cmocka_unit_test(a_group_lists_its_runs),
        cmocka_unit_test(filters_are_saved),
        cmocka_unit_test(the_list_is_restored),
        cmocka_unit_test(tips_go_away),
        cmocka_unit_test(ten_thousand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
