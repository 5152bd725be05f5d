/* export --to petri and import: one task's values in another history, with the same answers. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *alpha, *beta;

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    alpha = stage_task(&stage, "alpha", 0);
    beta = stage_task(&stage, "beta", 0);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(alpha);
    free(beta);
    stage_release(&stage);
    return 0;
}

static char *here(const char *name) { return file_join(stage.folder, name); }

/* What a run of a database says of three texts. */
static char *answers(const char *db, int run, const char *task) {
    static const char *const text[] = { "good film", "bad film , bad", "the the good" };
    struct buf all = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(text); i++) {
        char *one = stage_out(0, "predict %d --text '%s' %s%s --json --db '%s/%s'", run, text[i], task ? "--task " : "",
                              task ? task : "", stage.folder, db);
        buf_puts(&all, one);
        free(one);
    }
    return buf_take(&all);
}

/* Trains, exports a task's modules, imports them into another history: the same answers to the bit. */
static void carried(const char *name, const char *options, const char *task, const char *method, const char *to) {
    char *db = xprintf("%s.db", name), *other = xprintf("%s-too.db", name), *path = here(to);
    free(stage_out(0, "train --model '%s' %s --steps 3 --batch 4 --lr 1e-2 --db '%s/%s' --json", stage.model, options,
                   stage.folder, db));
    char *of = task ? xprintf("--task %s", task) : xstrdup("");
    free(stage_out(0, "export 1 %s --to petri '%s' --db '%s/%s'", of, path, stage.folder, db));
    json_t *run = stage_json("import '%s' --json --db '%s/%s'", path, stage.folder, other);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_int_equal(json_integer_value(stage_at(run, "step")), 0);
    assert_string_equal(stage_text(run, "method"), method);
    assert_string_equal(stage_text(run, "imported.format"), "petri");
    char *was = answers(db, 1, task), *now = answers(other, 1, NULL);
    assert_string_equal(now, was);
    json_decref(run);
    stage_refused(2, "run 1 was imported", "resume 1 --db '%s/%s'", stage.folder, other);
    free(stage_out(0, "eval 1 --json --db '%s/%s'", stage.folder, other));
    free(was);
    free(now);
    free(of);
    free(db);
    free(other);
    free(path);
}

static void made_modules_become_plain_ones(void **state) {
    (void)state;
    char *both = xprintf("--tasks '%s,%s'", alpha, beta), *by_net, *by_mlp;
    by_net = xprintf("%s --method 'hyperformer++(r=2)'", both);
    carried("net", by_net, "beta", "adapter-houlsby(r=2,act=gelu-tanh,norm=own,site=self)",
            "net.safetensors");
    by_mlp = xprintf("--task '%s' --method 'prefix-mlp(l=2)'", alpha);
    carried("mlp", by_mlp, NULL, "prefix(l=2)", "mlp-folder");
    free(both);
    free(by_net);
    free(by_mlp);
}

static void a_run_of_one_task_keeps_its_weights(void **state) {
    (void)state;
    json_t *run = stage_train(&stage, 0, "--steps 3");
    char *file = here("one.safetensors"), *other = here("one.db");
    free(stage_out(0, "export 1 --to petri '%s' --db '%s'", file, stage.db));
    json_t *same = stage_json("import '%s' --json --note brought --db '%s'", file, other);
    assert_string_equal(stage_text(same, "weights_sha256"), stage_text(run, "weights_sha256"));
    assert_string_equal(stage_text(same, "method"), stage_text(run, "method"));
    assert_string_equal(stage_text(same, "note"), "brought");
    json_t *shown = stage_json("show 1 --json --db '%s'", other);
    assert_true(json_equal(stage_at(shown, "imported"), stage_at(same, "imported")));
    char *rows = stage_out(0, "sql \"SELECT run, json_extract(imported, '$.format') AS format FROM v_imports\" --db '%s'", other);
    assert_string_equal(rows, "\"run\",\"format\"\n1,\"petri\"\n");
    free(rows);
    json_decref(run);
    json_decref(same);
    json_decref(shown);
    free(file);
    free(other);
}

/* With a rate that moves nothing a run that begins with another's values gives that one's answers. */
static void a_run_begins_with_anothers_values(void **state) {
    (void)state;
    char *file = here("begun.safetensors"), *db = here("begun.db");
    json_decref(stage_train(&stage, 0, "--steps 3 --lr 1e-2"));
    free(stage_out(0, "export last --to petri '%s' --db '%s'", file, stage.db));
    json_decref(stage_json("import '%s' --json --db '%s'", file, db));
    free(stage_out(0, "train --from 1 --steps 1 --lr 1e-30 --dropout 0 --json --db '%s'", db));
    char *was = answers("begun.db", 1, NULL), *now = answers("begun.db", 2, NULL);
    assert_string_equal(now, was);
    json_t *run = stage_json("show 2 --json --db '%s'", db), *other;
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 1);
    char *said = stage_out(0, "sql \"SELECT text FROM v_events WHERE run = 2 AND text LIKE 'initialized%%'\" --db '%s'", db);
    assert_non_null(strstr(said, "parameters from another run and the head"));
    /* other rows, another rate, more modules: what both have is taken */
    free(stage_out(0, "train --from 1 --task '%s' --method 'lora(r=2) + ia3' --steps 1 --json --db '%s'", alpha, db));
    other = stage_json("show 3 --json --db '%s'", db);
    assert_string_equal(stage_text(other, "task"), "alpha");
    stage_refused(2, "has no module that matches module 1", "train --from 1 --method 'prefix(l=2)' --steps 1 --db '%s'", db);
    stage_refused(2, "a run of several tasks", "train --from 1 --tasks '%s,%s' --steps 1 --db '%s'", alpha, beta, db);
    stage_refused(3, "run 77 does not exist", "train --from 77 --steps 1 --db '%s'", db);
    json_decref(run);
    json_decref(other);
    free(was);
    free(now);
    free(said);
    free(file);
    free(db);
}

static void what_cannot_be_carried_is_refused(void **state) {
    (void)state;
    char *file = here("refused.safetensors"), *nothing = here("nothing"), *db = here("refused.db");
    json_decref(stage_train(&stage, 0, "--steps 2"));
    stage_refused(2, "missing FILE.safetensors; give the path of the file", "export 1 --to petri --db '%s'", stage.db);
    stage_refused(3, "no such file or folder", "import '%s' --db '%s'", nothing, db);
    test_put(stage.folder, "refused.safetensors", "no weights");
    stage_refused(5, "unknown format: expected a file written by", "import '%s' --db '%s'", file, db);
    stage_refused(2, "exists", "export 1 --to petri '%s' --db '%s'", file, stage.db);
    stage_refused(2, "not empty", "export 1 --to petri '%s' --db '%s'", stage.model, stage.db);
    assert_false(file_exists(db)); /* refused before a history is made */
    free(file);
    free(nothing);
    free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(made_modules_become_plain_ones),
        cmocka_unit_test(a_run_of_one_task_keeps_its_weights),
        cmocka_unit_test(a_run_begins_with_anothers_values),
        cmocka_unit_test(what_cannot_be_carried_is_refused),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
