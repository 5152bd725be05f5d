/* merge-adapters: adapters of runs joined as the library PEFT joins them, into a run that needs its parents no more. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *db, *rows;

/* Two adapters of one rank, at places of which some are common, imported as runs 1 and 2. */
static int make(void **state) {
    (void)state;
    static const char *const name[] = { "lora", "lora-second" };
    stage_init(&stage);
    db = file_join(stage.folder, "joined.db");
    rows = test_path("tests/reference/adapters/rows.txt");
    char *base = test_path("tests/reference/bert-tiny");
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char *inside = xprintf("tests/reference/adapters/%s", name[i]), *folder = test_path(inside);
        json_decref(stage_json("import '%s' --model '%s' --json --db '%s'", folder, base, db));
        free(inside);
        free(folder);
    }
    free(base);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(db);
    free(rows);
    stage_release(&stage);
    return 0;
}

static real *values(const struct st_file *f, const struct st_tensor *t, size_t *n) {
    struct err e = ERR_INIT;
    *n = t->rank == 2 ? (size_t)(t->shape[0] * t->shape[1]) : 0;
    real *v = xcalloc(*n + 1, sizeof *v);
    test_ok(st_read(f, t, v, &e), &e);
    return v;
}

/* The library pads concatenated ranks with zeros where one adapter has no change: rows of W_d and columns of W_u. */
static void expect_equal(const struct st_file *got, const struct st_tensor *g, const struct st_file *want,
                         const struct st_tensor *w) {
    size_t n, m;
    real *a = values(got, g, &n), *b = values(want, w, &m);
    size_t cols = (size_t)g->shape[1], wide = (size_t)w->shape[1];
    for (size_t i = 0; i < m; i++) {
        size_t r = i / wide, c = i % wide;
        real here = r < n / cols && c < cols ? a[r * cols + c] : 0;
        if (!(fabs((double)(here - b[i])) <= 1e-6)) fail_msg("%s: %zu: %g, not %g", w->name, i, (double)here, (double)b[i]);
    }
    free(a);
    free(b);
}

/* Of the tensors that are called WAY.…: each is in the folder's file under PEFT's own name. */
static void holds_the_librarys(const char *folder, const char *way) {
    struct err e = ERR_INIT;
    char *path = file_join(folder, "adapter_model.safetensors"), *reference = test_path("tests/reference/adapters/merged.safetensors");
    struct st_file *got = st_open(path, &e), *want = st_open(reference, &e);
    assert_non_null(got);
    assert_non_null(want);
    size_t count = 0, has = 0, of_way = strlen(way);
    for (size_t i = 0; i < st_count(want); i++) {
        const struct st_tensor *w = st_at(want, i);
        if (strncmp(w->name, way, of_way) || w->name[of_way] != '.') continue;
        char *name = xprintf("base_model.model.%s.weight", w->name + of_way + 1);
        const struct st_tensor *g = st_find(got, name);
        if (!g) fail_msg("%s is missing", name);
        else expect_equal(got, g, want, w);
        free(name);
        count++;
    }
    for (size_t i = 0; i < st_count(got); i++) has += strstr(st_at(got, i)->name, ".lora_") != NULL;
    assert_int_equal(count, 18);
    assert_int_equal(has, count);
    st_close(got);
    st_close(want);
    free(path);
    free(reference);
}

static void they_are_joined_as_the_library_does(void **state) {
    (void)state;
    static const struct {
        const char *how, *way, *more;
    } cases[] = { { "concat", "cat", "" }, { "linear", "linear", "--head 1" }, { "ties", "ties", "--density 0.4" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *out = xprintf("%s/out-%s", stage.folder, cases[i].how);
        json_t *run = stage_json("merge-adapters 1 2 --weights 0.7,-0.4 --how %s %s --note two --json --db '%s'", cases[i].how,
                                 cases[i].more, db);
        int id = (int)json_integer_value(stage_at(run, "id"));
        assert_string_equal(stage_text(run, "state"), "finished");
        assert_string_equal(stage_text(run, "note"), "two");
        free(stage_out(0, "export %d --to peft '%s' --db '%s'", id, out, db));
        holds_the_librarys(out, cases[i].way);
        char *said = json_dumps(stage_at(run, "imported.assumed"), JSON_COMPACT);
        assert_true(!strstr(said, "W_d and W_u are averaged separately") == !i);
        free(said);
        free(out);
        json_decref(run);
    }
}

/* The probabilities of all rows as text. */
static char *answers(int run) { return stage_out(0, "predict %d --file '%s' --json --db '%s'", run, rows, db); }

/* Both parents are told with their hashes, and neither is needed any more. */
static void a_joined_run_stands_alone(void **state) {
    (void)state;
    json_t *one = stage_train(&stage, 0, "--steps 3 --lr 1e-2"), *two = stage_train(&stage, 0, "--steps 3 --lr 1e-2 --seed 2");
    json_t *run = stage_json("merge-adapters 1 2 --head 2 --json --db '%s'", stage.db);
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 1);
    assert_string_equal(stage_text(run, "method"), "lora(r=4,s=1)");
    assert_string_equal(stage_text(run, "imported.format"), "joined");
    assert_string_equal(stage_text(run, "imported.version"), "concat");
    const json_t *parents = stage_at(run, "imported.parents");
    assert_int_equal(json_array_size(parents), 2);
    for (size_t i = 0; i < 2; i++) {
        const json_t *p = json_array_get(parents, i);
        assert_int_equal(json_integer_value(json_object_get(p, "run")), i + 1);
        assert_string_equal(json_string_value(json_object_get(p, "weights_sha256")), stage_text(i ? two : one, "weights_sha256"));
        assert_float_equal(json_number_value(json_object_get(p, "weight")), 0.5, 0);
    }
    char *was = stage_out(0, "predict 3 --text 'good film' --json --db '%s'", stage.db);
    free(stage_out(0, "trash 1 2 --db '%s'", stage.db));
    char *out = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_imports\"", stage.db);
    char *command = xprintf("rm -rf '%s-files/1' '%s-files/2'", stage.db, stage.db);
    assert_int_equal(system(command), 0);
    char *now = stage_out(0, "predict 3 --text 'good film' --json --db '%s'", stage.db);
    assert_string_equal(now, was);
    stage_refused(2, "run 3 was merged from other runs", "resume 3 --db '%s'", stage.db);
    free(stage_out(0, "train --from 3 --steps 1 --db '%s'", stage.db));
    json_decref(one);
    json_decref(two);
    json_decref(run);
    free(command);
    free(was);
    free(now);
    free(out);
}

/* What a module begins with is the run's whose number it says: at a rate that moves nothing its change is that one's, the
 * others' are their own, and the run is needed no more. */
static void modules_begin_with_a_runs_values(void **state) {
    (void)state;
    struct stage own = stage;
    own.db = file_join(stage.folder, "begun.db");
    json_t *of = stage_train(&own, 0, "--steps 3 --lr 1e-2 --method 'lora(r=2,at=q)'");
    json_t *run = stage_train(&own, 0, "--steps 1 --lr 1e-30 --method 'lora(r=2,at=q,init=run(1),dropout=0.1) + lora(r=3,at=v)'");
    assert_string_equal(stage_text(run, "method"), "lora(at=q,r=2,dropout=0.1,init=run(1)) + lora(at=v,r=3)");
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 1);
    assert_int_equal(json_integer_value(stage_at(run, "config.start.run")), 1);
    assert_string_equal(stage_text(run, "config.start.weights_sha256"), stage_text(of, "weights_sha256"));
    struct err e = ERR_INIT;
    char *file = file_join(stage.folder, "begun.safetensors"), *was = file_join(stage.folder, "was.safetensors");
    free(stage_out(0, "export 1 --to petri '%s' --db '%s'", was, own.db));
    free(stage_out(0, "export 2 --to petri '%s' --db '%s'", file, own.db));
    struct st_file *a = st_open(was, &e), *b = st_open(file, &e);
    assert_true(a && b);
    int same = 0;
    for (size_t i = 0; i < st_count(a); i++) {
        const struct st_tensor *t = st_at(a, i), *u = st_find(b, t->name);
        size_t n, m;
        if (!strstr(t->name, "W_")) continue;
        assert_non_null(u);
        real *v = values(a, t, &n), *w = values(b, u, &m);
        assert_true(n == m && !memcmp(v, w, n * sizeof *v));
        free(v);
        free(w);
        same++;
    }
    assert_int_equal(same, 4); /* two matrices a layer */
    assert_null(strstr(st_meta(b, "method_text"), "run("));
    st_close(a);
    st_close(b);
    stage_refused(2, "run 1 has no module that matches module 1", "train --model '%s' --train '%s' --text text --label label --steps 1 --method "
                  "'lora(r=3,at=q,init=run(1))' --db '%s'", stage.model, stage.toy, own.db);
    stage_refused(2, "run 1 has no module that matches module 1", "train --model '%s' --train '%s' --text text --label label --steps 1 --method "
                  "'lora(r=2,at=v,init=run(1)) + lora(r=3,at=q,init=run(2))' --db '%s'", stage.model, stage.toy, own.db);
    json_decref(stage_train(&own, 0, "--steps 1 --method 'lora(r=2,at=q,init=run(1)) + lora(r=3,at=v,init=run(2))'"));
    stage_refused(3, "run 99", "train --model '%s' --train '%s' --text text --label label --steps 1 --method 'lora(r=2,init=run(99))' "
                  "--db '%s'", stage.model, stage.toy, own.db);
    json_decref(of);
    json_decref(run);
    free(file);
    free(was);
    free(own.db);
}

/* Twice a change and a trace of another, less the change once, is the change: concat is the weighted sum itself. */
static void the_weights_add_up(void **state) {
    (void)state;
    json_decref(stage_json("merge-adapters 1 2 --weights 2,1e-9 --head 1 --json --db '%s'", db));
    json_t *all = stage_json("runs --json --db '%s'", db);
    int doubled = (int)json_integer_value(json_object_get(json_array_get(all, 0), "id"));
    json_t *back = stage_json("merge-adapters %d 1 --weights 1,-1 --head 1 --json --db '%s'", doubled, db);
    char *was = answers(1), *now = answers((int)json_integer_value(stage_at(back, "id"))), *a = was, *b = now, *x, *y;
    int count = 0;
    for (; (x = strsep(&a, "\n")) && (y = strsep(&b, "\n")) && *x; count++) {
        json_t *v = json_loads(x, 0, NULL), *w = json_loads(y, 0, NULL), *p;
        const char *key;
        json_object_foreach(json_object_get(v, "probabilities"), key, p)
            assert_float_equal(json_number_value(p), json_number_value(json_object_get(json_object_get(w, "probabilities"), key)), 1e-6);
        json_decref(v);
        json_decref(w);
    }
    assert_int_equal(count, 64);
    json_decref(all);
    json_decref(back);
    free(was);
    free(now);
}

static void what_cannot_be_joined_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *line, *part;
    } cases[] = {
        { "1 1 --head 1", "run 1: given twice" },
        { "1 2 --weights 1 --head 1", "1 for 2 runs" },
        { "1 2 --weights 1,0 --head 1", "--weights: must be numbers other than 0, found" },
        { "1 2 --weights 1,nan --head 1", "--weights: must be numbers other than 0, found" },
        { "1 2 --how mean --head 1", "--how: must be concat, linear or ties" },
        { "1 2 --how ties --head 1", "--how ties: requires --density" },
        { "1 2 --how ties --density 0 --head 1", "--density: must be a number above 0 and at most 1" },
        { "1 2 --density 0.5 --head 1", "--density: requires --how ties" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) stage_refused(2, cases[i].part, "merge-adapters %s --db '%s'", cases[i].line, db);
    json_t *v = stage_json("runs --json --db '%s'", db);
    size_t runs = json_array_size(v);
    json_decref(v);
    char *rank = file_join(stage.folder, "ranks.db");
    struct stage other = stage;
    other.db = rank;
    json_decref(stage_train(&other, 0, "--steps 1 --method 'lora(r=2)'"));
    json_decref(stage_train(&other, 0, "--steps 1 --method 'lora(r=3)'"));
    json_decref(stage_train(&other, 0, "--steps 1 --method 'lora(r=2) + bitfit'"));
    json_decref(stage_train(&other, 0, "--steps 1 --method 'lora(r=2) + linear(r=2; write=a.q)'"));
    stage_refused(2, "run 2: has a different head from run 1; select one with --head RUN", "merge-adapters 1 2 --db '%s'",
                  rank);
    stage_refused(2, "run 2: a.q in layer 1: the ranks differ", "merge-adapters 1 2 --how linear --head 1 --db '%s'", rank);
    stage_refused(2, "only low-rank updates of a single linear layer (LoRA)", "merge-adapters 1 3 --head 1 --db '%s'", rank);
    stage_refused(2, "run 4: a.q in layer 1: several modules in one adapter", "merge-adapters 1 4 --how linear --head 1 --db '%s'", rank);
    stage_refused(2, "--head: run 3 is not one of the merged runs", "merge-adapters 1 2 --head 3 --db '%s'", rank);
    json_decref(stage_json("merge-adapters 1 2 4 --head 2 --json --db '%s'", rank));
    v = stage_json("runs --json --db '%s'", db);
    assert_int_equal(json_array_size(v), runs);
    json_decref(v);
    free(rank);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_are_joined_as_the_library_does),
        cmocka_unit_test(a_joined_run_stands_alone),
        cmocka_unit_test(the_weights_add_up),
        cmocka_unit_test(modules_begin_with_a_runs_values),
        cmocka_unit_test(what_cannot_be_joined_is_refused),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
