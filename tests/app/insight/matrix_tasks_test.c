/* Matrices of a run's tasks, against loops; and Map and Heatmap of a run with a retriever. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/insight.h"
#include "app/insight/matrix.h"
#include "app/insight/ratings.h"
#include "core/analysis/attention.h"
#include "core/analysis/made.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/writer.h"

/* Runs: 1 pha and 2 adapters of each task on a tiny T5, 3 hyperformer++ on a tiny BERT, 4 a prefix on it, 5 a retriever
 * alone, 6 hyperdecoder and 7 a prefix on the T5, 8 pha on
 * the BERT, in whose upper half modules are each task's. */
enum { PHA = 1, ADAPTERS, HYPERFORMER, PREFIX, RETRIEVER, HYPERDECODER, BOTH_STACKS, PHA_ALONE };
static struct store *store;

static void train(const char *model, const char *tasks, const char *method) {
    free(stage_out(0, "train --model '%s' %s --method '%s' --db '%s' --steps 3 --batch 8 --lr 1e-2 --seed 1", model, tasks,
                   method, stage.db));
}

static int make(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    stage_init(&stage);
    char *t5 = writer_model(stage.folder, "t5", FAMILY_T5, NULL);
    free(stage_task(&stage, "alpha", 20));
    free(stage_task(&stage, "beta", 10));
    free(stage_task(&stage, "gamma", 10));
    char *both = xprintf("--tasks '%s/alpha,%s/beta' --eval-rows 4", stage.folder, stage.folder);
    train(t5, both, "pha(r=2)' --embed-every '1");
    train(t5, both, "adapter-per-task(r=2)");
    train(stage.model, both, "hyperformer++(r=2)");
    char *one = xprintf("--task '%s/alpha'", stage.folder);
    train(stage.model, one, "mam(l=3,r=2)");
    both[strlen(both) - strlen(" --eval-rows 4")] = '\0'; /* vectors are kept of rows that are evaluated */
    train(stage.model, both, "lora(r=2) + retriever(hidden=5, width=4)' --embed-every 2 --embed-rows '24");
    free(one);
    free(both);
    both = xprintf("--tasks '%s/alpha,%s/beta' --eval-rows 4", stage.folder, stage.folder);
    train(t5, both, "hyperdecoder(r=2)");
    train(t5, both, "prefix(l=2)");
    train(stage.model, both, "pha(r=2)");
    free(both);
    free(t5);
    return store_open(&store, stage.db, STORE_WRITE, &e);
}

static int drop(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    int rc = store_close(store, &e);
    stage_release(&stage);
    return rc;
}

/* 12 rows of each of the run's tasks and its vectors at a layer. */
static void open_run(struct probe *p, int64_t run, int layer) {
    struct err e = ERR_INIT;
    const struct probe_draw draw = { .most = 24, .seed = 1 };
    const struct probe_context look = { .mean = true, .seed = 1 };
    test_ok(probe_open_all(p, store, run, NULL, NULL, &e), &e);
    test_ok(probe_rows(p, NULL, 0, &draw, &e), &e);
    assert_int_equal(p->rows.n, run == PREFIX ? 20 : 24);
    test_ok(probe_embed(p, layer, &look, &e), &e);
}

static double cosine(const real *a, const real *b, size_t n) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t i = 0; i < n; i++) {
        ab += (double)a[i] * (double)b[i];
        aa += (double)a[i] * (double)a[i];
        bb += (double)b[i] * (double)b[i];
    }
    return ab / sqrt(aa * bb);
}

static void near(double a, double b) {
    if (!(fabs(a - b) < 1e-5)) fail_msg("%.9g is not %.9g", a, b);
}

/* Each cell is the mean over the task's rows; beside it, how many rows are nearest to their own. */
static void rows_are_compared_with_prototypes(void **state) {
    (void)state;
    struct probe p;
    struct matrix m, kept;
    struct err e = ERR_INIT;
    double sum[2][2] = { { 0 } }, margin = 0;
    int right = 0;
    open_run(&p, PHA, PROBE_RETRIEVER);
    const struct plan_tensor *k = plan_prototypes(predictor_plan(p.opened.predictor));
    const real *prototype = predictor_params(p.opened.predictor) + k->offset;
    assert_int_equal(p.retrieved, k->cols);
    for (int i = 0; i < p.rows.n; i++) {
        double c[2];
        for (int j = 0; j < 2; j++)
            sum[p.rows.of_task[i]][j] += c[j] = cosine(p.layer[p.layers + 1] + i * p.retrieved, prototype + j * k->cols,
                                                       (size_t)k->cols);
        right += (c[1] > c[0]) == p.rows.of_task[i];
        margin += fabs(c[0] - c[1]);
    }
    test_ok(matrix_prototypes(&m, &p, &e), &e);
    assert_true(m.rows == 2 && m.columns == 2 && m.run == PHA);
    assert_string_equal(m.row_name[1], "beta");
    assert_string_equal(m.column_name[0], "alpha");
    for (int t = 0; t < 2; t++)
        for (int j = 0; j < 2; j++) near(m.value[2 * t + j], sum[t][j] / 12);
    char *wanted = xprintf("nearest prototype correct %d of 24 (%.3f)   margin %.2f", right, right / 24.0, margin / 24);
    assert_memory_equal(m.beside, wanted, strlen(wanted));
    test_ok(matrix_store(&m, store, true, &e), &e);
    test_ok(matrix_read(&kept, store, m.id, &e), &e);
    assert_int_equal(kept.of, OF_PROTOTYPES);
    assert_string_equal(kept.beside, m.beside);
    assert_string_equal(kept.row_note[1], m.row_note[1]);
    free(wanted);
    matrix_release(&m);
    matrix_release(&kept);
    probe_release(&p);
}

/* The retriever's vector is its network over the mean of the last layer (BERT has no norm behind that). */
static void a_retrieved_vector_is_of_the_pooled_one(void **state) {
    (void)state;
    struct probe p;
    real x[5];
    open_run(&p, RETRIEVER, PROBE_ALL_LAYERS);
    const struct plan *plan = predictor_plan(p.opened.predictor);
    const real *w[4], *params = predictor_params(p.opened.predictor);
    static const char *const name[] = { "retriever.W_1", "retriever.b_1", "retriever.W_2", "retriever.b_2" };
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < plan->tensors; i++)
            if (!strcmp(plan->tensor[i].name, name[k])) w[k] = params + plan->tensor[i].offset;
    for (int i = 0; i < p.rows.n; i++) {
        const real *h = p.layer[p.layers] + i * p.width, *z = p.layer[p.layers + 1] + i * p.retrieved;
        for (int a = 0; a < 5; a++) {
            x[a] = w[1][a];
            for (int j = 0; j < p.width; j++) x[a] += w[0][a * p.width + j] * h[j];
            if (x[a] < 0) x[a] = 0;
        }
        for (int b = 0; b < p.retrieved; b++) {
            double v = (double)w[3][b];
            for (int a = 0; a < 5; a++) v += (double)w[2][b * 5 + a] * (double)x[a];
            near((double)z[b], v);
        }
    }
    probe_release(&p);
}

/* What a task has in a layer of the decoder, out of the plan of that task alone. */
static size_t values_in(const struct opened *u, int layer, real *out) {
    const struct plan *p = predictor_plan(u->predictor);
    size_t n = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind != PLAN_OWN || t->stack != STACK_DECODER || t->layer != layer) continue;
        memcpy(out + n, predictor_params(u->predictor) + t->offset, t->count * sizeof *out);
        n += t->count;
    }
    return n;
}

/* Made by a generator or per task: what two tasks have in a layer, as one vector each. */
static void weights_are_compared_by_layer(void **state) {
    (void)state;
    static const int64_t runs[] = { PHA, ADAPTERS };
    static real a[8192], b[8192];
    for (int k = 0; k < 2; k++) {
        struct probe p;
        struct opened alpha = { 0 }, beta = { 0 };
        struct matrix m;
        struct err e = ERR_INIT;
        test_ok(probe_open_all(&p, store, runs[k], NULL, NULL, &e), &e);
        test_ok(opened_run(&alpha, store, runs[k], "alpha", NULL, NULL, &e), &e);
        test_ok(opened_run(&beta, store, runs[k], "beta", NULL, NULL, &e), &e);
        test_ok(matrix_weights(&m, &p, NULL, &e), &e);
        int first = m.rows - 4; /* two layers of the decoder come last */
        assert_true(m.columns == 2 && first == (k ? 4 : 0));
        assert_string_equal(m.row_name[first + 3], "dec 2 beta");
        for (int layer = 0; layer < 2; layer++) {
            size_t n = values_in(&alpha, layer, a);
            assert_true(n > 0 && values_in(&beta, layer, b) == n);
            near(m.value[2 * (first + 2 * layer)], 1);
            near(m.value[2 * (first + 2 * layer) + 1], cosine(a, b, n));
            near(m.value[2 * (first + 2 * layer + 1)], cosine(a, b, n));
        }
        matrix_release(&m);
        opened_release(&alpha);
        opened_release(&beta);
        probe_release(&p);
    }
}

/* The mean over rows of what is made for each alone, whoever makes it; tasks are compared by it. */
static void what_is_made_for_rows_is_averaged(void **state) {
    (void)state;
    struct probe p;
    struct matrix m;
    struct err e = ERR_INIT;
    struct crew *crew = crew_new(2, NULL);
    real *mean[2];
    open_run(&p, HYPERDECODER, 1);
    size_t n = generated_per_example(predictor_plan(p.opened.predictor));
    for (int t = 0; t < 2; t++) {
        const struct dataset *d = p.task[t].d;
        double *sum = xcalloc(n, sizeof *sum);
        probe_use(&p, t);
        for (size_t i = 0; i < d->examples; i++) {
            struct dataset alone = *d;
            real *own;
            alone.examples = 1;
            alone.example += i;
            alone.start += i;
            test_ok(generated_mean(p.opened.model, p.opened.predictor, &alone, NULL, &own, &e), &e);
            for (size_t k = 0; k < n; k++) sum[k] += (double)own[k] / (double)d->examples;
            free(own);
        }
        test_ok(generated_mean(p.opened.model, p.opened.predictor, d, crew, &mean[t], &e), &e);
        for (size_t k = 0; k < n; k++) near((double)mean[t][k], sum[k]);
        free(sum);
    }
    test_ok(matrix_weights(&m, &p, crew, &e), &e);
    crew_free(crew);
    assert_true(m.rows == 4 && m.columns == 2);
    assert_string_equal(m.row_name[3], "dec 2 beta");
    const struct plan *plan = predictor_plan(p.opened.predictor);
    size_t first = 0; /* of layer 1, whose values come before those of layer 2 */
    for (int i = 0; i < plan->per_example; i++) first += plan->example_tensor[i].layer == 0 ? plan->example_tensor[i].count : 0;
    near(m.value[1], cosine(mean[0], mean[1], first));
    near(m.value[5], cosine(mean[0] + first, mean[1] + first, n - first));
    assert_non_null(strstr(m.about, "\"drawn\":24"));
    for (int t = 0; t < 2; t++) free(mean[t]);
    matrix_release(&m);
    probe_release(&p);
}

/* Of a model that writes, the decoder's attentions have lines of their own. */
static void a_decoder_looks_at_prefixes_too(void **state) {
    (void)state;
    json_t *j = stage_json("similarity %d --of mass --db '%s' --json", BOTH_STACKS, stage.db);
    const json_t *rows = json_object_get(j, "rows"), *values = json_object_get(j, "values");
    assert_int_equal(json_array_size(rows), 2 * 3 * 2); /* tasks, attentions, layers */
    assert_string_equal(json_string_value(json_array_get(rows, 0)), "enc 1 alpha");
    assert_string_equal(json_string_value(json_array_get(rows, 3)), "dec 2 self alpha");
    assert_string_equal(json_string_value(json_array_get(rows, 11)), "dec 2 cross beta");
    for (size_t i = 0; i < json_array_size(values); i++) {
        double v = json_number_value(json_array_get(json_array_get(values, i), 0));
        assert_true(v > 0 && v < 1);
    }
    json_decref(j);
}

static void the_mass_is_the_mean_of_the_rows_shares(void **state) {
    (void)state;
    struct probe p;
    struct matrix m;
    struct err e = ERR_INIT;
    struct crew *crew = crew_new(2, NULL);
    open_run(&p, PREFIX, 1);
    test_ok(matrix_mass(&m, &p, crew, &e), &e);
    crew_free(crew);
    assert_true(m.rows == p.layers && m.columns == 1 + p.opened.model->arch.heads);
    for (int layer = 0; layer < p.layers; layer++) {
        double sum = 0, all = 0;
        for (int h = 1; h < m.columns; h++) all += m.value[layer * m.columns + h] / (m.columns - 1);
        for (int i = 0; i < p.rows.n; i++) {
            struct attention_map a;
            test_ok(attention_of_row(p.opened.model, p.opened.predictor, PRECISION_F32, p.task[0].d, (size_t)i, layer + 1, &a, &e), &e);
            int columns = a.extra + a.tokens;
            assert_int_equal(a.extra, 3);
            for (int q = 0; q < a.tokens; q++)
                for (int j = 0; j < a.extra; j++) sum += a.p[q * columns + j] / a.tokens / p.rows.n;
            attention_map_release(&a);
        }
        near(m.value[layer * m.columns + 1], sum);
        near(m.value[layer * m.columns], all);
        assert_true(sum > 0 && sum < 1);
    }
    matrix_release(&m);
    probe_release(&p);
}

static void what_a_run_has_not_is_said(void **state) {
    (void)state;
    static const struct {
        const char *words, *part;
    } at[] = {
        { "similarity 3 --of prototypes", "has no retriever; use --of tasks" },
        { "similarity 5 --of prototypes", "has no prototypes (task embeddings of a generator)" },
        { "similarity 2 --of tasks", "has no task embeddings: it has no generator" },
        { "similarity 4 --of tasks", "--of tasks requires a run with several tasks" },
        { "similarity 5 --of weights", "has no task-specific weights" },
        { "similarity 1 --of mass", "adds no prefix to the keys of attention" },
        { "similarity 1 2 --of weights", "--of weights: requires exactly one run" },
        { "similarity 3 --of classes --layer retriever", "has no retriever" },
        { "similarity 1 --of layers --layer retriever", "--layer retriever: requires --of classes or rows" },
        { "similarity 1 --of prototypes --task gamma", "unknown task; the run has alpha, beta" },
        { "embed --run 1 --rows 1", "--rows 1: must be at least the number of tasks, 2" },
        { "embed --run 4 --unseen x", "--unseen: requires a multi-task run" },
    };
    for (size_t i = 0; i < COUNT_OF(at); i++)
        stage_refused(2, at[i].part, "%s --db '%s'", at[i].words, stage.db);
    stage_refused(2, "its encoder has modules per task", "embed --run 3 --unseen '%s/gamma' --db '%s'", stage.folder,
                  stage.db);
}

/* Rows of a task that the run does not know have no prototype of their own. */
static void unseen_tasks_stand_beside(void **state) {
    (void)state;
    json_t *j = stage_json("similarity 1 --of prototypes --unseen '%s/gamma' --db '%s' --json", stage.folder, stage.db);
    assert_string_equal(json_string_value(json_array_get(json_object_get(j, "rows"), 2)), "gamma (unseen)");
    assert_int_equal(json_array_size(json_object_get(j, "columns")), 2);
    const json_t *of = json_array_get(json_object_get(j, "by_task"), 2);
    assert_true(json_is_false(json_object_get(of, "seen")) && json_is_null(json_object_get(of, "argmax_accuracy")));
    assert_true(json_is_string(json_object_get(of, "nearest")) && json_is_number(json_object_get(of, "margin")));
    json_decref(j);
}

/* Below the retriever an encoder alone treats all tasks alike: there their rows have a vector, above they have none. */
static void unseen_tasks_have_a_retrieved_vector(void **state) {
    (void)state;
    json_t *j = stage_json("similarity %d --of prototypes --unseen '%s/gamma' --db '%s' --json", PHA_ALONE, stage.folder, stage.db);
    assert_int_equal(json_array_size(json_object_get(j, "rows")), 3);
    json_decref(j);
    char *out = stage_out(0, "render --screen heatmap --run %d --unseen '%s/gamma' --db '%s'", PHA_ALONE, stage.folder, stage.db);
    assert_non_null(strstr(out, "gamma (unseen)"));
    free(out);
    stage_refused(2, "its encoder has modules per task", "embed --run %d --unseen '%s/gamma' --db '%s'", PHA_ALONE,
                  stage.folder, stage.db);
    free(stage_out(0, "embed --run %d --layer retriever --unseen '%s/gamma' --db '%s'", PHA_ALONE, stage.folder, stage.db));
}

/* Both panels show one run: pooled vectors, and what the retriever makes of the same rows of all tasks. */
static void a_retriever_stands_beside_what_it_reads(void **state) {
    (void)state;
    const int64_t run = PHA;
    const struct insight_subject what = { .run = &run, .runs = 1, .task_at = INSPECT_USUAL };
    struct insight_map *map;
    struct insight_heat *heat;
    struct err e = ERR_INIT;
    test_ok(insight_now(store, &what, false, &map, &heat, &e), &e);
    const struct map_data *d = &map->data;
    assert_true(d->panels == 2 && d->tasks == 2 && d->n == 40 && d->retriever);
    assert_true(!d->panel[0].retriever && d->panel[1].retriever);
    assert_string_equal(d->panel[0].title, d->panel[1].title);
    assert_string_equal(d->run_task, "all tasks");
    struct probe p;
    struct ratings by_task;
    const struct probe_draw draw = { .most = 400, .seed = 1, .max_len = 128 };
    const struct probe_context look = { .mean = true, .seed = 1 };
    test_ok(probe_open_all(&p, store, PHA, NULL, NULL, &e), &e);
    test_ok(probe_rows(&p, NULL, 0, &draw, &e), &e);
    test_ok(probe_embed(&p, PROBE_ALL_LAYERS, &look, &e), &e);
    for (int i = 0; i < 2; i++) {
        ratings_of(&by_task, p.layer[p.layers + i], p.rows.n, probe_columns(&p, p.layers + i), p.rows.of_task, 2, NULL);
        near(d->panel[i].task_silhouette.value, by_task.silhouette.value);
        near(d->panel[i].task_purity.value, by_task.purity.value);
    }
    probe_release(&p);
    assert_string_equal(heat->data.matrix[0].title, "examples by prototypes of #1, cosine");
    assert_string_equal(heat->data.matrix[1].title, "task embeddings of #1");
    assert_string_equal(heat->data.matrix[2].title, "task-specific weights by layer of #1");
    assert_non_null(heat->data.matrix[0].beside);
    insight_map_free(map);
    insight_heat_free(heat);
}

/* What a run of several tasks keeps while it trains is what its last values make of the same rows: of these the same
 * sets, which are read in place of being made. */
static void training_keeps_the_same_vectors(void **state) {
    (void)state;
    struct probe p, again;
    struct err e = ERR_INIT;
    const struct probe_draw draw = { .most = 24, .seed = 1 };
    const struct probe_context look = { .mean = true, .store = store, .seed = 1 };
    open_run(&p, RETRIEVER, PROBE_ALL_LAYERS);
    test_ok(probe_open_all(&again, store, RETRIEVER, NULL, NULL, &e), &e);
    test_ok(probe_rows(&again, NULL, 0, &draw, &e), &e);
    for (int i = 0; i < 2; i++) {
        int place = p.layers + i;
        test_ok(probe_embed(&again, i ? PROBE_RETRIEVER : p.layers, &look, &e), &e);
        assert_true(again.made == 0 && again.set[place] > 0);
        for (int k = 0; k < p.rows.n * probe_columns(&p, place); k++)
            near((double)p.layer[place][k], (double)again.layer[place][k]);
    }
    for (int i = 0; i < p.rows.n; i++) assert_int_equal(p.predicted[i], again.predicted[i]);
    probe_release(&p);
    probe_release(&again);
}

/* Both vectors at all steps, each with the tasks' scores. */
static void both_vectors_are_played(void **state) {
    (void)state;
    const int64_t run = PHA;
    const struct insight_subject what = { .run = &run, .runs = 1, .task_at = INSPECT_USUAL };
    struct insight_map *map;
    struct err e = ERR_INIT;
    test_ok(insight_now(store, &what, true, &map, NULL, &e), &e);
    const struct map_data *d = &map->data;
    assert_true(d->panels == 2 && d->training && d->tasks == 2 && d->retriever);
    assert_true(!d->panel[0].retriever && d->panel[1].retriever);
    for (int i = 0; i < 2; i++) {
        assert_true(d->panel[i].moments == 4 && d->panel[i].at == 3);
        assert_true(isfinite(d->panel[i].moment[0].task_purity) && isfinite(d->panel[i].moment[3].task_silhouette));
        assert_true(isnan(d->panel[i].moment[0].metric) && isfinite(d->panel[i].moment[3].metric));
    }
    insight_map_free(map);
}

/* The same from the command line: a line a step, with what the retriever made of the rows; and rows drawn at once. */
static void maps_tell_both(void **state) {
    (void)state;
    json_t *j = stage_json("map --run 1 --steps --by task --db '%s' --json", stage.db);
    json_t *steps = json_object_get(j, "steps");
    assert_int_equal(json_array_size(steps), 4);
    assert_string_equal(stage_text(j, "by"), "task");
    for (size_t i = 0; i < 4; i++) {
        const json_t *z = json_object_get(json_array_get(steps, i), "retriever");
        assert_true(json_is_number(json_object_get(z, "silhouette")) && json_is_number(json_object_get(z, "purity")));
    }
    json_t *own = stage_json("map --run 1 --steps --by task --layer retriever --db '%s' --json", stage.db);
    const json_t *last = json_array_get(json_object_get(own, "steps"), 3);
    assert_null(json_object_get(last, "retriever"));
    near(json_number_value(json_object_get(last, "purity")),
         json_number_value(json_object_get(json_object_get(json_array_get(steps, 3), "retriever"), "purity")));
    json_decref(own);
    json_decref(j);
    j = stage_json("map --run 5 --layer retriever --rows 24 --by task --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(j, "columns")), 4);
    assert_int_equal(json_integer_value(stage_at(j, "n")), 24);
    char *set = xprintf("map %lld --by task --db '%s' --json", json_integer_value(stage_at(j, "set")), stage.db);
    json_t *again = stage_json("%s", set);
    near(json_number_value(stage_at(j, "silhouette")), json_number_value(stage_at(again, "silhouette")));
    free(set);
    json_decref(again);
    json_decref(j);
    stage_refused(2, "--task: cannot be combined with SET", "map 1 --task alpha --db '%s'", stage.db);
    stage_refused(2, "--layer: with --steps, must be retriever or omitted", "map --run 1 --steps --layer 1 --db '%s'", stage.db);
    stage_refused(2, "--labels: requires --vectors", "map --run 1 --labels x --db '%s'", stage.db);
}

static void shows(const char *words, const char *part) {
    char *out = stage_out(0, "render %s --db '%s'", words, stage.db);
    if (!strstr(out, part)) fail_msg("%s: no \"%s\" in\n%s", words, part, out);
    free(out);
}

/* Pictures of a task, of all, and of a loss's parts, from the command line. */
static void pictures_are_of_what_was_asked(void **state) {
    (void)state;
    shows("--screen map --run 1 --task beta", "beta, task 2 of 2");
    shows("--screen map --run 3 --task all", "all 2 tasks");
    shows("--screen heatmap --run 1 --task alpha", "examples by prototypes of #1, cosine");
    char *unseen = xprintf("--screen heatmap --run 1 --unseen '%s/gamma'", stage.folder);
    shows(unseen, "gamma (unseen)");
    free(unseen);
    stage_refused(2, "its encoder has modules per task", "render --screen heatmap --run 3 --task all --unseen x --db '%s'",
                  stage.db);
    stage_refused(2, "--unseen: requires --run", "render --screen heatmap --unseen x --db '%s'", stage.db);
    shows("--screen train --run 1 --loss parts", "loss components  1 task  2 instance  3 prototype");
    shows("--screen train --run 1 --loss loss.prototype", "loss.prototype");
    shows("--screen train --run 1 --loss beta", "loss of beta ");
    stage_refused(2, "--loss x: not recorded by the run; available: parts, loss.task, loss.instance", "render --screen train --run 1 --loss x --db '%s'",
                  stage.db);
    stage_refused(2, "unknown task; the run has alpha, beta", "render --screen map --run 1 --task x --db '%s'", stage.db);
    stage_refused(2, "--loss: requires --screen train", "render --screen runs --loss parts --db '%s'", stage.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_compared_with_prototypes),
        cmocka_unit_test(a_retrieved_vector_is_of_the_pooled_one),
        cmocka_unit_test(weights_are_compared_by_layer),
        cmocka_unit_test(the_mass_is_the_mean_of_the_rows_shares),
        cmocka_unit_test(what_is_made_for_rows_is_averaged),
        cmocka_unit_test(a_decoder_looks_at_prefixes_too),
        cmocka_unit_test(what_a_run_has_not_is_said),
        cmocka_unit_test(unseen_tasks_stand_beside),
        cmocka_unit_test(unseen_tasks_have_a_retrieved_vector),
        cmocka_unit_test(a_retriever_stands_beside_what_it_reads),
        cmocka_unit_test(training_keeps_the_same_vectors),
        cmocka_unit_test(both_vectors_are_played),
        cmocka_unit_test(maps_tell_both),
        cmocka_unit_test(pictures_are_of_what_was_asked),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
