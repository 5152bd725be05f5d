/* The numbers of docs/finding.md, computed anew. */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/command.h"
#include "tests/support/test.h"

enum { LAYERS = 7, COLUMNS = 5 };

/* Columns of the table. */
enum { SILHOUETTE_MODEL, SILHOUETTE_RUN, PURITY_MODEL, PURITY_RUN, CKA };

static void read_table(double value[LAYERS][COLUMNS]) {
    struct buf text;
    struct err e = ERR_INIT;
    char *path = test_path("docs/finding.md");
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    int found = 0;
    for (char *line = text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int layer;
        double v[COLUMNS];
        if (sscanf(line, "| %d | %lf | %lf | %lf | %lf | %lf |", &layer, v, v + 1, v + 2, v + 3, v + 4) != 6)
            continue;
        assert_in_range(layer, 0, LAYERS - 1);
        memcpy(value[layer], v, sizeof v);
        found++;
    }
    assert_int_equal(found, LAYERS);
    buf_release(&text);
    free(path);
}

/* Keeps the vectors of a layer and scores them; `whose` is "--run 1" or "". */
static void score(const char *db, const char *whose, int layer, double *silhouette, double *purity) {
    struct command c;
    command_run(&c, NULL, "embed --task reviews --rows 400 --layer %d %s --db %s --json", layer, whose, db);
    command_expect(&c, 0);
    json_t *set = command_json(&c, 1);
    long long id = json_integer_value(json_object_get(set, "set"));
    json_decref(set);
    command_release(&c);
    command_run(&c, NULL, "map %lld --pca --db %s --json", id, db);
    command_expect(&c, 0);
    json_t *map = command_json(&c, 1);
    *silhouette = json_number_value(json_object_get(map, "silhouette"));
    *purity = json_number_value(json_object_get(map, "purity"));
    json_decref(map);
    command_release(&c);
}

static void is_near(int layer, const char *what, double page, double now, double allowed) {
    if (fabs(page - now) > allowed)
        fail_msg("layer %d, %s: the page says %.3f, now it is %.4f", layer, what, page, now);
}

static void need_model_and_task(void) {
    if (!test_slow()) test_skip("the page's numbers are computed in make test-slow");
    test_needs("assets/models/all-MiniLM-L6-v2");
    test_needs("assets/tasks/reviews");
}

/* The page's lines of steps against the maps of the run. */
static void check_steps(const json_t *steps) {
    struct buf text;
    struct err e = ERR_INIT;
    char *path = test_path("docs/finding.md");
    size_t at = 0;
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    for (char *line = text.data; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        int step, set;
        double silhouette, purity;
        if (sscanf(line, " %d %d %lf %lf", &step, &set, &silhouette, &purity) != 4) continue;
        const json_t *k = json_array_get(steps, at++);
        assert_int_equal(json_integer_value(json_object_get(k, "step")), step);
        is_near(step, "silhouette of a step", silhouette, json_number_value(json_object_get(k, "silhouette")), 0.03);
        is_near(step, "purity of a step", purity, json_number_value(json_object_get(k, "purity")), 0.03);
    }
    assert_true(at == 7 && json_array_size(steps) == 7);
    buf_release(&text);
    free(path);
}

/* The model's own vectors: rounding to three decimals, and one neighbor among 4,000 that
 * another kernel's last digits may exchange. */
static void the_models_columns(void **state) {
    (void)state;
    need_model_and_task();
    double page[LAYERS][COLUMNS], silhouette, purity;
    read_table(page);
    char *folder = test_folder(), *db = file_join(folder, "runs.db");
    for (int layer = 0; layer < LAYERS; layer++) {
        score(db, "", layer, &silhouette, &purity);
        is_near(layer, "silhouette of the model", page[layer][SILHOUETTE_MODEL], silhouette, 0.0006);
        is_near(layer, "purity of the model", page[layer][PURITY_MODEL], purity, 0.001);
    }
    free(db);
    free(folder);
}

/* The run's: 120 steps let rounding of another processor's kernels grow. */
static void the_runs_columns(void **state) {
    (void)state;
    need_model_and_task();
    double page[LAYERS][COLUMNS], silhouette, purity;
    read_table(page);
    char *folder = test_folder(), *db = file_join(folder, "runs.db");
    struct command c;
    command_run(&c, NULL, "train --method 'lora(r=8)' --steps 120 --seed 1 --eval-rows 400 --embed-every 20 --db %s", db);
    command_expect(&c, 0);
    command_release(&c);
    for (int layer = 0; layer < LAYERS; layer++) {
        score(db, "--run 1", layer, &silhouette, &purity);
        is_near(layer, "silhouette of the run", page[layer][SILHOUETTE_RUN], silhouette, 0.02);
        is_near(layer, "purity of the run", page[layer][PURITY_RUN], purity, 0.02);
    }
    command_run(&c, NULL, "similarity 1 --model all-MiniLM-L6-v2 --of layers --rows 400 --db %s --json", db);
    command_expect(&c, 0);
    json_t *matrix = command_json(&c, 1);
    const json_t *rows = json_object_get(matrix, "values");
    assert_int_equal(json_array_size(rows), LAYERS);
    for (size_t layer = 0; layer < LAYERS; layer++) {
        double now = json_number_value(json_array_get(json_array_get(rows, layer), layer));
        is_near((int)layer, "CKA", page[layer][CKA], now, 0.03);
    }
    json_decref(matrix);
    command_release(&c);
    command_run(&c, NULL, "map --run 1 --steps --db %s --json", db);
    command_expect(&c, 0);
    json_t *map = command_json(&c, 1);
    check_steps(json_object_get(map, "steps"));
    json_decref(map);
    command_release(&c);
    free(db);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_models_columns),
        cmocka_unit_test(the_runs_columns),
    };
    return cmocka_run_group_tests_name("app/finding", tests, NULL, NULL);
}
