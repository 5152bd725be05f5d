#include "tests/bench/bench_history.h"

#include <stdlib.h>
#include <string.h>

#include "app/session/history_pages.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/scratch.h"
#include "core/train/config/config.h"
#include "views/render.h"
#include "views/ui_parts.h"

enum { MADE_SEEDS = 5 };

/* A run that is over: method, task, rate and seed vary with i; `steps` points of its loss. */
static int made_run(struct store *s, int i, int steps, int64_t *id, struct err *e) {
    static const char *const methods[] = { "lora(r=8)", "bitfit", "mam(l=16,r=16)", "lora(r=2)", "adapter-pfeiffer(r=48)", "ia3" };
    static const char *const tasks[] = { "reviews", "subjectivity", "debates" };
    struct run_config c;
    config_init(&c);
    c.precision = PRECISION_F32;
    c.lr = 1e-3 * (1 + i % 7);
    c.seed = (uint64_t)(i % MADE_SEEDS) + 1;
    char *json = config_json(&c);
    config_release(&c);
    struct store_new_run n = { .config = json, .method = methods[i / MADE_SEEDS % 6], .model = "made", .task = tasks[i % 3],
                               .metric = "accuracy", .direction = 1, .seed = (uint64_t)(i % MADE_SEEDS) + 1, .trained = 1000 * (i % 6 + 1),
                               .steps = steps, .version = "bench", .dev_sha256 = tasks[i % 3] };
    int rc = store_create_run(s, &n, id, e), key = rc ? -1 : store_key(s, "loss", 0, false, e);
    free(json);
    if (rc || key < 0) return e->code;
    for (int k = 1; k <= steps && !rc; k++) {
        struct store_step p = { .run = *id, .step = k, .seconds = k, .count = 1, .key = { key } };
        p.value[0] = 1.0 / (1 + 0.001 * k) + 0.01 * (double)((k * 7919) % 101) / 101;
        rc = store_step(s, &p);
    }
    struct store_metric m = { "accuracy", 0.5 + 0.4 * (double)((i * 7919) % 1009) / 1009, NULL, 1 };
    struct store_evaluation v = { .run = *id, .step = steps, .rows = "dev 256", .best = true, .count = 1, .metric = &m };
    if (!rc) rc = store_evaluation(s, &v);
    struct store_change end = { .run = *id, .step = steps, .state = STORE_FINISHED, .seconds = 60 };
    if (!rc) rc = store_change(s, &end);
    return rc ? err_set(e, rc, "the synthetic history cannot be written") : store_disown(s, *id, e);
}

static double seconds_since(double from) { return clock_thread_seconds() - from; }

static void draw_timed(struct ui *ui, enum screen_id screen, double *seconds) {
    struct buf b = BUF_INIT;
    double from = clock_thread_seconds();
    ui_show(ui, screen);
    render_ui(ui, false, &b);
    *seconds = seconds_since(from);
    buf_release(&b);
}

static int look(struct store *s, int64_t long_run, struct bench_history_time out[BENCH_HISTORY_TIMES], struct err *e) {
    struct history_rows *rows = NULL, *fit = NULL;
    struct ui ui;
    ui_init(&ui, GLYPHS_BRAILLE, COLORS_256);
    ui_resize(&ui, 200, 60);
    double from = clock_thread_seconds();
    int rc = history_rows_read(s, false, false, "", NULL, &rows, e);
    if (!rc) {
        ui.runs.row = rows->row;
        ui.runs.rows = rows->rows;
        runs_changed(&ui.runs);
        out[0].seconds = seconds_since(from);
        from = clock_thread_seconds();
        ui.runs.sort = COL_BEST;
        runs_changed(&ui.runs);
        out[1].seconds = seconds_since(from);
        from = clock_thread_seconds();
        rc = history_rows_read(s, false, false, "method=lora* lr>0.002 best>0.6", NULL, &fit, e);
        out[2].seconds = seconds_since(from);
    }
    if (!rc) {
        from = clock_thread_seconds();
        ui.runs.grouped = true;
        ui.runs.group_by = COL_METHOD;
        runs_find_groups(&ui.runs);
        out[3].seconds = seconds_since(from);
        ui.runs.grouped = false;
        draw_timed(&ui, SCREEN_RUNS, &out[4].seconds);
    }
    struct store_run run;
    if (!rc) rc = store_run(s, long_run, &run, e);
    if (!rc) {
        from = clock_thread_seconds();
        struct run_series *series = series_new(long_run);
        rc = series_read(series, s, &run, e);
        out[5].seconds = seconds_since(from);
        ui.train.focus = long_run;
        ui.train.series = series->view;
        ui_changed(&ui);
        draw_timed(&ui, SCREEN_TRAIN, &out[6].seconds);
        ui.train.series = (struct series){ 0 };
        series_free(series);
        store_run_release(&run);
    }
    ui_release(&ui);
    history_rows_free(rows);
    history_rows_free(fit);
    return rc;
}

int bench_history_make(struct store *s, int runs, int points, struct err *e) {
    int64_t id;
    int rc = 0;
    for (int i = 0; i < runs && !rc; i++) rc = made_run(s, i, i ? 1 : points, &id, e);
    return rc ? rc : store_flush(s, e);
}

int bench_history(int runs, int points, struct bench_history_time out[BENCH_HISTORY_TIMES], struct err *e) {
    static const struct bench_history_time times[BENCH_HISTORY_TIMES] = {
        { "runs_open", "all runs: opened and listed", 0 }, { "runs_sort", "sorted by the best value", 0 },
        { "runs_filter", "filtered by three terms", 0 },      { "runs_group", "grouped by method, with means", 0 },
        { "runs_draw", "drawn, 200x60", 0 },                  { "points_open", "the long run: read", 0 },
        { "points_draw", "the long run: drawn, 200x60", 0 },
    };
    memcpy(out, times, sizeof times);
    struct scratch at;
    if (scratch_make(&at, "history", e)) return e->code;
    char *path = file_join(at.folder, "made.db");
    struct store *s = NULL;
    int rc = store_open(&s, path, STORE_WRITE, e);
    if (!rc) rc = bench_history_make(s, runs, points, e);
    if (!rc) rc = look(s, 1, out, e);
    if (s && store_close(s, rc ? &(struct err){ 0 } : e) && !rc) rc = e->code;
    scratch_drop(&at);
    free(path);
    return rc;
}
