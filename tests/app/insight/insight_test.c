/* Looking inside a real run: vectors, layouts, matrices, and the screens drawn of them. */
#include <math.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/insight.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static struct store *store;
static struct crew *crew;
static int64_t runs[2];

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    json_t *first = stage_train(&stage, 0, "--steps 12 --lr 0.02"), *second = stage_train(&stage, 0, "--steps 3 --seed 2");
    json_t *third = stage_train(&stage, 0, "--lr 1e-30 --steps 1");
    runs[0] = 1;
    runs[1] = 2;
    char *more = xprintf("--dev %s --steps 6 --lr 0.02 --embed-every 2 --embed-rows 12 --eval-steps 2", stage.toy);
    json_t *fourth = stage_train(&stage, 0, more);
    free(more);
    json_decref(first);
    json_decref(second);
    json_decref(third);
    json_decref(fourth);
    struct err e = ERR_INIT;
    crew = crew_new(2, NULL);
    return store_open(&store, stage.db, STORE_READ, &e);
}

static int drop(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    store_close(store, &e);
    crew_free(crew);
    stage_release(&stage);
    return 0;
}

static void model_and_run_side_by_side(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct insight_map *map;
    struct insight_heat *heat;
    test_ok(insight_now(store, &(struct insight_subject){ .run = runs, .runs = 1 }, false, &map, &heat, &e), &e);
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
        assert_true(d->panel[p].kept >= 0 && d->panel[p].kept <= 1);
        for (int i = 0; i < 2 * d->n; i++) assert_true(isfinite(d->panel[p].xy[i]));
        for (int i = 0; i < d->n * MAP_NEIGHBORS; i++)
            assert_true(d->panel[p].neighbor[i] >= 0 && d->panel[p].neighbor[i] != i / MAP_NEIGHBORS);
    }
    assert_int_equal(heat->data.matrices, 9);
    assert_int_equal(heat->data.attention, 5); /* of both sides, by head and of one head */
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
    test_ok(insight_now(store, &(struct insight_subject){ .run = pair, .runs = 2 }, false, NULL, &heat, &e), &e);
    const struct heat_matrix *m = &heat->data.matrix[2];
    assert_string_equal(m->title, "trainable tensors: #1 by #3");
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
    assert_true(insight_now(store, &(struct insight_subject){ .run = &absent, .runs = 1 }, false, &map, NULL, &e) < 0);
    assert_true(map->data.panels == 0 && strstr(map->data.failed, "99"));
    insight_map_free(map);
}

/* ---- the thread ---- */

static atomic_int woken;

static void wake(void *self) {
    (void)self;
    atomic_fetch_add(&woken, 1);
}

static void open_runs(struct insight *in, int n) {
    insight_open(in, &(struct insight_subject){ "", "", .run = runs, .runs = n });
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
    struct insight *in = insight_new(store, false, crew, wake, NULL);
    open_runs(in, 2);
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
    insight_matrices(in, -1);
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

/* A small map of a layer is the map of that layer; another perplexity computes them again. */
static void small_maps_are_of_the_layers(void **state) {
    (void)state;
    struct insight *in = insight_new(store, false, crew, wake, NULL);
    static const double asked[] = { 30, 20, 10, 5 };
    open_runs(in, 1);
    insight_small(in, 1);
    double before = 0;
    for (size_t turn = 0; turn < COUNT_OF(asked); turn++) {
        steps(in, 750);
        struct insight_map *m = NULL;
        bool all = false;
        for (int i = 0; i < 3000 && !all; i++) {
            struct insight_map *next = insight_take_map(in);
            poll(NULL, 0, next ? 0 : 10);
            if (!next) continue;
            insight_map_free(m);
            m = next;
            const struct map_panel *p = m->data.panels > 1 ? &m->data.panel[1] : NULL;
            all = p && p->smalls == 3 && !m->data.busy && m->data.iteration == m->data.iterations && m->data.asked == asked[turn];
            for (int k = 0; all && k < 3; k++) all = p->small[k].xy && p->small[k].at == k;
        }
        assert_true(all);
        const struct map_panel *p = &m->data.panel[1];
        assert_null(m->data.panel[0].small);
        assert_memory_equal(p->small[p->layer].xy, p->xy, 2 * 20 * sizeof(double));
        assert_true(memcmp(p->small[0].xy, p->xy, 2 * 20 * sizeof(double)) != 0);
        assert_true(turn + 1 < COUNT_OF(asked) || p->small[0].xy[0] != before); /* of 20 examples, 6 at most */
        before = p->small[0].xy[0];
        insight_map_free(m);
        insight_perplexity(in, -1);
    }
    insight_free(in);
    struct insight_map *map;
    struct err e = ERR_INIT;
    int64_t fourth = 4;
    test_ok(insight_now(store, &(struct insight_subject){ .run = &fourth, .runs = 1 }, true, &map, NULL, &e), &e);
    const struct map_panel *p = &map->data.panel[0];
    assert_true(p->smalls == p->moments && p->smalls == 4); /* all steps were played */
    for (int k = 0; k < 4; k++) assert_true(p->small[k].xy && p->small[k].at == p->moment[k].step);
    assert_memory_equal(p->small[p->at].xy, p->xy, 2 * 12 * sizeof(double));
    insight_map_free(map);
}

/* Leaving in the midst of it, and opening anew before the first is done. */
static void leaving_early_is_safe(void **state) {
    (void)state;
    for (int ms = 0; ms < 60; ms += 12) {
        struct insight *in = insight_new(store, false, crew, wake, NULL);
        open_runs(in, 1);
        poll(NULL, 0, ms);
        open_runs(in, 2);
        insight_matrices(in, -1);
        poll(NULL, 0, ms);
        insight_free(in);
    }
    insight_free(insight_new(store, false, crew, wake, NULL));
}

/* Takes pictures until one is of this moment and stands still. */
static struct insight_map *wait_moment(struct insight *in, int at) {
    for (int i = 0; i < 3000; i++) {
        struct insight_map *m = insight_take_map(in);
        bool there = m && m->data.training && !m->data.busy && !m->data.playing && m->data.panel[0].at == at;
        if (there && m->data.panel[0].xy) return m;
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    fail_msg("no picture of moment %d", at);
    return NULL;
}

/* A run that kept its rows plays to its last step, is stepped through, and gives the same layouts again. */
static void training_is_played(void **state) {
    (void)state;
    int64_t both[] = { 4, 1 };
    struct insight *in = insight_new(store, false, crew, wake, NULL);
    insight_open(in, &(struct insight_subject){ "", "", .run = both, .runs = 1 });
    insight_training(in);
    struct insight_map *last = wait_moment(in, 3);
    const struct map_panel *p = &last->data.panel[0];
    assert_int_equal(last->data.panels, 1);
    assert_int_equal(last->data.n, 12);
    assert_int_equal(p->moments, 4);
    static const int64_t steps[] = { 0, 2, 4, 6 };
    for (int i = 0; i < 4; i++) {
        assert_int_equal(p->moment[i].step, steps[i]);
        assert_true(p->moment[i].purity >= 0 && p->moment[i].purity <= 1);
    }
    assert_true(isfinite(p->moment[3].metric) && isnan(p->moment[0].metric));
    assert_true(p->predicted && isfinite(p->kl) && isfinite(p->kept));
    assert_true(last->data.perplexity < last->data.asked); /* 12 rows allow (12 - 1)/3 */
    insight_moment(in, -2);
    struct insight_map *second = wait_moment(in, 1);
    size_t size = 2 * 12 * sizeof(double);
    assert_true(memcmp(second->data.panel[0].xy, p->xy, size) != 0);
    insight_moment(in, 9);
    struct insight_map *again = wait_moment(in, 3);
    assert_memory_equal(again->data.panel[0].xy, p->xy, size);
    insight_training(in); /* back to the layers */
    bool back = false;
    for (int i = 0; i < 3000 && !back; i++) {
        struct insight_map *m = insight_take_map(in);
        back = m && !m->data.training && m->data.panels == 2;
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    assert_true(back);
    insight_open(in, &(struct insight_subject){ "", "", .run = both + 1, .runs = 1 });
    insight_training(in); /* run 1 kept none: it says so and shows what it showed */
    back = false;
    for (int i = 0; i < 3000 && !back; i++) {
        struct insight_map *m = insight_take_map(in);
        back = m && m->data.failed && strstr(m->data.failed, "--embed-every") && m->data.panels == 2;
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    assert_true(back);
    insight_map_free(last);
    insight_map_free(second);
    insight_map_free(again);
    insight_free(in);
}

/* What was looked at is kept, and read in place of being computed anew: vectors that were changed in
 * the database are the ones that are shown. */
static void what_is_kept_is_read(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct store *s;
    struct store_embeddings sets;
    struct store_matrices matrices;
    test_ok(store_open(&s, stage.db, STORE_WRITE, &e), &e);
    struct insight *in = insight_new(s, true, crew, wake, NULL);
    open_runs(in, 1);
    insight_matrices(in, -1);
    struct insight_heat *heat = NULL;
    for (int i = 0; i < 3000 && (!heat || !heat->data.matrices); i++) {
        insight_heat_free(heat);
        heat = insight_take_heat(in);
        poll(NULL, 0, 10);
    }
    assert_true(heat && heat->data.matrices);
    insight_heat_free(heat);
    insight_free(in);
    test_ok(store_embeddings(s, runs[0], &sets, &e), &e);
    test_ok(store_matrices(s, runs[0], &matrices, &e), &e);
    assert_int_equal(sets.count, 3);     /* a layer each */
    assert_int_equal(matrices.count, 4); /* layers, classes, tensors, rows */
    store_embeddings_release(&sets);
    store_matrices_release(&matrices);
    store_close(s, &e);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "UPDATE embedding SET data=(SELECT data FROM embedding e WHERE e.run=1 AND"
                                      " e.layer=0 AND e.rows=20) WHERE run=1 AND layer=2 AND rows=20",
                                  NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    struct insight_map *map;
    test_ok(insight_now(store, &(struct insight_subject){ .run = runs, .runs = 1 }, false, &map, &heat, &e), &e);
    double last = map->data.panel[1].silhouette.value;
    insight_map_free(map);
    insight_heat_free(heat);
    test_ok(insight_now(store, &(struct insight_subject){ .run = runs, .runs = 1 }, false, NULL, &heat, &e), &e);
    insight_heat_free(heat);
    char *text = stage_out(0, "embed --list --run 1 --db %s --json", stage.db);
    json_t *list = json_loads(text, 0, NULL);
    long long embeddings = json_integer_value(json_object_get(json_array_get(list, 0), "set"));
    json_t *layer0 = stage_json("map %lld --db %s --json", embeddings, stage.db);
    double first = json_number_value(json_object_get(layer0, "silhouette"));
    if (!(fabs(first - last) < 1e-6)) fail_msg("%g is not the kept %g", last, first);
    json_decref(layer0);
    json_decref(list);
    free(text);
}

static void screens_are_rendered(void **state) {
    (void)state;
    char *map = stage_out(0, "render --screen map --db %s --run 1", stage.db);
    assert_non_null(strstr(map, "7 Map"));
    assert_non_null(strstr(map, "model \u00B7 layer 2 of 2"));
    assert_true(strstr(map, "silh ") && strstr(map, " pres") && strstr(map, " KL "));
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
    char *steps = stage_out(0, "render --screen map --db %s --run 4 --steps --size 160x50", stage.db);
    assert_true(strstr(steps, "step 6, 4 of 4") && strstr(steps, "training steps"));
    assert_non_null(strstr(steps, "perplexity 3.67 (requested 30)"));
    free(steps);
    char *set = stage_out(0, "render --screen map --db %s --set 1,2", stage.db); /* two moments of run 4 */
    assert_true(strstr(set, "set 1: #4") && strstr(set, "set 2: #4"));
    free(set);
    stage_refused(3, "--embed-every", "render --screen map --db %s --run 1 --steps", stage.db);
    stage_refused(2, "--set", "render --screen map --db %s --set 1,2,3", stage.db);
}

/* A run that has no checkpoint yet, as while it trains, is played at once; asked again it is read anew. */
static void a_run_without_checkpoint_is_played(void **state) {
    (void)state;
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM artifact WHERE run IN (1,4)", NULL, NULL, NULL), SQLITE_OK);
    int64_t run = 4;
    struct insight *in = insight_new(store, false, crew, wake, NULL);
    insight_open(in, &(struct insight_subject){ "", "", .run = &run, .runs = 1 });
    insight_map_free(wait_moment(in, 3));
    assert_int_equal(sqlite3_exec(db, "DELETE FROM embedding WHERE run=4 AND step=6", NULL, NULL, NULL), SQLITE_OK);
    insight_training(in);
    struct insight_map *m = wait_moment(in, 2);
    assert_int_equal(m->data.panel[0].moments, 3);
    insight_map_free(m);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM embedding WHERE run=4", NULL, NULL, NULL), SQLITE_OK);
    insight_training(in); /* nothing is left to look at */
    bool said = false;
    for (int i = 0; i < 3000 && !said; i++) {
        m = insight_take_map(in);
        said = m && !m->data.panels && m->data.failed && strstr(m->data.failed, "--embed-every");
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    assert_true(said);
    insight_open(in, &(struct insight_subject){ "", "", .run = runs, .runs = 1 });
    said = false;
    for (int i = 0; i < 3000 && !said; i++) {
        m = insight_take_map(in);
        said = m && !m->data.panels && m->data.failed && strstr(m->data.failed, "no checkpoint; train it again with --keep best");
        insight_map_free(m);
        poll(NULL, 0, 10);
    }
    assert_true(said);
    insight_free(in);
    sqlite3_close(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(model_and_run_side_by_side),
        cmocka_unit_test(zero_updates_are_undefined), cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(rewinding_gives_the_same_layout),
        cmocka_unit_test(small_maps_are_of_the_layers),
        cmocka_unit_test(leaving_early_is_safe),     cmocka_unit_test(training_is_played),
        cmocka_unit_test(screens_are_rendered),      cmocka_unit_test(what_is_kept_is_read),
        cmocka_unit_test(a_run_without_checkpoint_is_played), /* the last: it takes files away */
    };
    return cmocka_run_group_tests(tests, make, drop);
}
