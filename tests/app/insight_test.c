/* Looking inside a real run: vectors, layouts, matrices, and the screens drawn of them. */
#include <math.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static struct stage stage;
static struct store *store;
static int64_t runs[2];

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    json_t *first = stage_train(&stage, 0, "--steps 12 --lr 0.02"), *second = stage_train(&stage, 0, "--steps 3 --seed 2");
    json_t *third = stage_train(&stage, 0, "--lr 1e-30 --steps 1");
    runs[0] = 1;
    runs[1] = 2;
    json_decref(first);
    json_decref(second);
    json_decref(third);
    struct err e = ERR_INIT;
    return store_open(&store, stage.db, STORE_READ, &e);
}

static int drop(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    store_close(store, &e);
    stage_release(&stage);
    return 0;
}

static void model_and_run_side_by_side(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct insight_map *map;
    struct insight_heat *heat;
    test_ok(insight_now(store, NULL, NULL, runs, 1, &map, &heat, &e), &e);
    const struct map_data *d = &map->data;
    assert_int_equal(d->panels, 2);
    assert_int_equal(d->n, 20);
    assert_int_equal(d->iteration, d->iterations);
    assert_string_equal(d->panel[0].title, "model");
    assert_non_null(strstr(d->panel[1].title, "#1 lora"));
    assert_true(d->panel[0].predicted == NULL && d->panel[1].predicted != NULL);
    for (int p = 0; p < 2; p++) {
        assert_null(d->panel[p].silhouette.undefined);
        assert_true(d->panel[p].purity.value >= 0 && d->panel[p].purity.value <= 1);
        assert_true(isfinite(d->panel[p].kl));
        for (int i = 0; i < 2 * d->n; i++) assert_true(isfinite(d->panel[p].xy[i]));
        for (int i = 0; i < d->n * MAP_NEIGHBOURS; i++)
            assert_true(d->panel[p].neighbour[i] >= 0 && d->panel[p].neighbour[i] != i / MAP_NEIGHBOURS);
    }
    assert_int_equal(heat->data.matrices, 5);
    const struct heat_matrix *m = &heat->data.matrix[0]; /* layers: embeddings are not adapted */
    assert_int_equal(m->rows, 3);
    assert_true(fabs(m->value[0] - 1) < 1e-6);
    for (int i = 0; i < m->rows * m->columns; i++) assert_true(m->value[i] > -1e-6 && m->value[i] < 1 + 1e-6);
    insight_map_free(map);
    insight_heat_free(heat);
}

/* A run whose update is zero: its cells are undefined, the others not, and the order works. */
static void zero_updates_are_undefined(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct insight_heat *heat;
    int64_t pair[2] = { 1, 3 };
    test_ok(insight_now(store, NULL, NULL, pair, 2, NULL, &heat, &e), &e);
    const struct heat_matrix *m = &heat->data.matrix[2];
    assert_string_equal(m->title, "trained tensors: #1 by #3");
    assert_true(m->rows == m->columns && m->row_cluster);
    int undefined = 0, defined = 0;
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) {
            double v = m->value[i * m->columns + j];
            bool product = strstr(m->row_name[i], "linear") && strstr(m->column_name[j], "linear");
            if (product) assert_true(isnan(v)); /* neither 0 nor 1 */
            undefined += isnan(v);
            defined += !isnan(v);
        }
    assert_true(undefined > 0 && defined > 0);
    bool *seen = xcalloc((size_t)m->rows, sizeof *seen);
    for (int i = 0; i < m->rows; i++) {
        assert_true(m->row_cluster[i] >= 0 && m->row_cluster[i] < m->rows && !seen[m->row_cluster[i]]);
        seen[m->row_cluster[i]] = true;
    }
    free(seen);
    insight_heat_free(heat);
}

static void refusals_say_why(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct insight_map *map;
    int64_t absent = 99;
    assert_true(insight_now(store, NULL, NULL, &absent, 1, &map, NULL, &e) < 0);
    assert_true(map->data.panels == 0 && strstr(map->data.failed, "99"));
    insight_map_free(map);
}

/* ---- the thread ---- */

static atomic_int woken;

static void wake(void *self) {
    (void)self;
    atomic_fetch_add(&woken, 1);
}

/* The newest picture once it is at iteration `at` and nothing goes on; fails after 30 s. */
static struct insight_map *wait_map(struct insight *in, int at) {
    for (int i = 0; i < 3000; i++) {
        struct insight_map *m = insight_take_map(in);
        if (m && !m->data.busy && !m->data.playing && m->data.panels && m->data.iteration == at) return m;
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    fail_msg("no picture at iteration %d", at);
    return NULL;
}

static void steps(struct insight *in, int n) {
    for (int i = 0; i < n; i++) insight_step(in);
}

static void rewinding_gives_the_same_layout(void **state) {
    (void)state;
    enum { SOME = 60 };
    struct insight *in = insight_new(store, wake, NULL);
    insight_open(in, "", "", runs, 2);
    insight_play(in); /* stands still */
    insight_rewind(in);
    insight_map_free(wait_map(in, 0));
    steps(in, SOME);
    struct insight_map *first = wait_map(in, SOME);
    assert_int_equal(first->data.panels, 2);
    assert_non_null(first->data.panel[0].predicted);
    insight_rewind(in);
    insight_map_free(wait_map(in, 0));
    steps(in, SOME);
    struct insight_map *second = wait_map(in, SOME);
    size_t size = 2 * 20 * sizeof(double);
    for (int p = 0; p < 2; p++)
        assert_memory_equal(first->data.panel[p].xy, second->data.panel[p].xy, size);
    insight_layer(in, 0, -1); /* and it runs, from the start */
    insight_play(in);
    insight_rewind(in);
    insight_map_free(wait_map(in, 0));
    steps(in, SOME);
    struct insight_map *layer = wait_map(in, SOME);
    assert_int_equal(layer->data.panel[0].layer, 1);
    assert_int_equal(layer->data.panel[1].layer, 2);
    assert_memory_equal(first->data.panel[1].xy, layer->data.panel[1].xy, size);
    assert_true(memcmp(first->data.panel[0].xy, layer->data.panel[0].xy, size) != 0);
    insight_map_free(first);
    insight_map_free(second);
    insight_map_free(layer);
    insight_matrices(in);
    struct insight_heat *heat = NULL;
    for (int i = 0; i < 3000 && (!heat || !heat->data.matrices); i++) {
        insight_heat_free(heat);
        heat = insight_take_heat(in);
        poll(NULL, 0, 10);
    }
    assert_true(heat && heat->data.matrices > 0);
    insight_heat_free(heat);
    assert_true(atomic_load(&woken) > 5);
    insight_free(in);
}

/* Leaving in the midst of it, and opening anew before the first is done. */
static void leaving_early_is_safe(void **state) {
    (void)state;
    for (int ms = 0; ms < 60; ms += 12) {
        struct insight *in = insight_new(store, wake, NULL);
        insight_open(in, "", "", runs, 1);
        poll(NULL, 0, ms);
        insight_open(in, "", "", runs, 2);
        insight_matrices(in);
        poll(NULL, 0, ms);
        insight_free(in);
    }
    insight_free(insight_new(store, wake, NULL));
}

static void screens_are_rendered(void **state) {
    (void)state;
    char *map = stage_out(0, "render --screen map --db %s --run 1", stage.db);
    assert_non_null(strstr(map, "7 Map"));
    assert_non_null(strstr(map, "model \u00B7 layer 2 of 2"));
    assert_non_null(strstr(map, "silhouette"));
    assert_non_null(strstr(map, "20 of 20"));
    free(map);
    char *again = stage_out(0, "render --screen map --db %s --run 1 --ansi --size 100x40", stage.db);
    char *same = stage_out(0, "render --screen map --db %s --run 1 --ansi --size 100x40", stage.db);
    assert_string_equal(again, same);
    free(again);
    free(same);
    char *svg = stage_out(0, "render --screen heatmap --db %s --run 1 --svg", stage.db);
    assert_true(!strncmp(svg, "<svg", 4) && strstr(svg, "</svg>"));
    free(svg);
    stage_refused(3, "99", "render --screen map --db %s --run 99", stage.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_and_run_side_by_side),
        cmocka_unit_test(zero_updates_are_undefined), cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(rewinding_gives_the_same_layout),
        cmocka_unit_test(leaving_early_is_safe),     cmocka_unit_test(screens_are_rendered),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
