/* Methods that use other runs: fusion(runs=…) joins their adapters by attention, spot(runs=…) begins as the nearest prompt. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* Two adapters, runs 1 and 2 of a database of its own. */
static struct stage two_adapters(const char *name) {
    struct stage own = stage;
    own.db = file_join(stage.folder, name);
    json_decref(stage_train(&own, 0, "--steps 3 --lr 1e-2 --method 'adapter-pfeiffer(r=2)'"));
    json_decref(stage_train(&own, 0, "--steps 3 --lr 1e-2 --seed 2 --method 'adapter-pfeiffer(r=3,s=2)'"));
    return own;
}

static void lose(const struct stage *own, int run) {
    char *command = xprintf("rm -rf '%s-files/%d'", own->db, run);
    free(stage_out(0, "trash %d --db '%s'", run, own->db));
    assert_int_equal(system(command), 0);
    free(command);
}

/* Every tensor of a run's adapters stands in the fused one's file, of which module its number says. */
static void holds_frozen(const struct stage *own, int run, const char *twin, int fused) {
    struct err e = ERR_INIT;
    char *was = xprintf("%s-files/%d/last.safetensors", own->db, run), *now = xprintf("%s-files/%d/last.safetensors", own->db, fused);
    struct st_file *a = st_open(was, &e), *b = st_open(now, &e);
    assert_true(a && b);
    int same = 0;
    for (size_t i = 0; i < st_count(a); i++) {
        const struct st_tensor *t = st_at(a, i);
        const char *last = strrchr(t->name, '.');
        if (strncmp(t->name, "param/", 6) || !strstr(t->name, "/bottleneck.")) continue;
        char *name = xprintf("%.*s%s%s", (int)(last - t->name), t->name, twin, last);
        const struct st_tensor *u = st_find(b, name);
        if (!u) fail_msg("%s is missing", name);
        size_t n = t->end - t->begin;
        char *v = xmalloc(n), *w = xmalloc(n);
        test_ok(st_read_raw(a, t, v, &e), &e);
        test_ok(st_read_raw(b, u, w, &e), &e);
        assert_int_equal(n, u->end - u->begin);
        assert_memory_equal(v, w, n);
        free(name);
        free(v);
        free(w);
        same++;
    }
    assert_int_equal(same, 8); /* four a layer */
    st_close(a);
    st_close(b);
    free(was);
    free(now);
}

static void adapters_of_runs_are_joined(void **state) {
    (void)state;
    struct stage own = two_adapters("fused.db");
    json_t *second = stage_json("show 2 --json --db '%s'", own.db);
    json_t *run = stage_train(&own, 0, "--steps 4 --lr 1e-2 --method 'fusion(runs=1|2)'");
    assert_string_equal(stage_text(run, "method"), "adapter-pfeiffer(r=2,source=fusion,init=run(1)) + "
                                                   "adapter-pfeiffer(r=3,comp=scaled(2),source=fusion,init=run(2)) + fusion");
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 1);
    json_t *starts = stage_at(run, "config.starts"), *last = json_array_get(starts, 1);
    assert_int_equal(json_array_size(starts), 2);
    assert_int_equal(json_integer_value(json_object_get(last, "run")), 2);
    assert_string_equal(json_string_value(json_object_get(last, "weights_sha256")), stage_text(second, "weights_sha256"));
    json_int_t trained = json_integer_value(stage_at(run, "trained"));
    json_t *counts = stage_json("count --model '%s' --method 'fusion(runs=1|2)' --json --db '%s'", own.model, own.db);
    assert_int_equal(json_integer_value(stage_at(counts, "trained")), trained);
    holds_frozen(&own, 1, "", 3);
    holds_frozen(&own, 2, ".2", 3);
    char *terms = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_points WHERE run=3 AND key IN ('loss.identity','loss.task')\"",
                            own.db);
    assert_non_null(strstr(terms, "\n8"));
    char *page = stage_out(0, "explain 'fusion(runs=1|2)' --model '%s' --db '%s'", own.model, own.db);
    assert_non_null(strstr(page, "a = softmax_n((Q x + b_q)"));
    /* The others may go; the same is trained again from the copies, and goes on where it was stopped. */
    char *was = stage_out(0, "predict 3 --text 'good film' --json --db '%s'", own.db);
    const char *more = "--steps 800 --eval-steps 400 --lr 1e-3 --method "
                       "'adapter-pfeiffer(r=2,source=fusion,init=run(1)) + adapter-pfeiffer(r=3,s=2,source=fusion,init=run(2)) + fusion'";
    char *line = stage_line(&own, more);
    json_t *whole = stage_train(&own, 0, more);
    int id = 5;
    while (!stage_stop_midway(&own, command_start(own.folder, "%s", line), id, 20)) id++;
    lose(&own, 1);
    lose(&own, 2);
    free(stage_out(0, "purge 1 --yes --db '%s'", own.db));
    stage_refused(3, "or use --from with a run that was initialized from run 1",
                  "train --model '%s' --train '%s' --text text --label label --steps 1 --method 'adapter-pfeiffer(r=2,init=run(1))' "
                  "--db '%s'", own.model, own.toy, own.db);
    char *now = stage_out(0, "predict 3 --text 'good film' --json --db '%s'", own.db);
    assert_string_equal(now, was);
    free(stage_out(0, "resume %d --db '%s'", id, own.db));
    json_t *done = stage_json("show %d --json --db '%s'", id, own.db);
    assert_string_equal(stage_text(done, "state"), "finished");
    assert_string_equal(stage_text(done, "weights_sha256"), stage_text(whole, "weights_sha256"));
    json_decref(whole);
    json_decref(stage_json("eval 3 --file '%s' --json --db '%s'", own.toy, own.db));
    free(stage_out(0, "train --from 3 --steps 1 --db '%s'", own.db));
    char *task = stage_task(&own, "few", 0); /* on few rows its adapters stay as they are, too */
    free(stage_out(0, "adapt 3 --task '%s' --text text --label label --k 2 --draws 1 --steps 2 --eval-rows 8 --db '%s'", task, own.db));
    free(stage_out(0, "fewshot --from 3 --tasks '%s' --k 2 --draws 1 --steps 2 --eval-rows 8 --db '%s'", task, own.db));
    free(task);
    json_decref(second);
    json_decref(run);
    json_decref(counts);
    json_decref(done);
    free(terms);
    free(page);
    free(was);
    free(now);
    free(line);
    free(own.db);
}

static void what_cannot_be_fused_is_refused(void **state) {
    (void)state;
    struct stage own = two_adapters("refused.db");
    json_decref(stage_train(&own, 0, "--steps 1 --method 'adapter-pfeiffer(r=2) + lora(r=2)'"));
    json_decref(stage_train(&own, 0, "--steps 1 --method 'parallel-adapter-ffn(r=2)'"));
    static const struct {
        int status;
        const char *method, *part;
    } cases[] = {
        { 3, "fusion(runs=1|9)", "run 9" },
        { 2, "fusion(runs=1|1)", "run 1 is repeated" },
        { 2, "fusion(runs=one)", "expected run ids" },
        { 2, "fusion(runs=1)", "at least two adapters" },
        { 2, "fusion(runs=1|3)", "is not a bottleneck adapter" },
        { 2, "fusion(runs=1|4)", "must have the same read=" },
        { 2, "fusion", "needs adapters of other runs" },
        { 2, "adapter-pfeiffer(source=fusion) + adapter-pfeiffer(source=fusion) + fusion", "other runs" },
        { 2, "lora(source=fusion) + fusion", "source=fusion supports only adapters" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        stage_refused(cases[i].status, cases[i].part, "train --model '%s' --train '%s' --text text --label label --steps 1 --method '%s' "
                      "--db '%s'", own.model, own.toy, cases[i].method, own.db);
    json_t *all = stage_json("runs --json --db '%s'", own.db);
    assert_int_equal(json_array_size(all), 4); /* none was begun */
    json_decref(all);
    free(own.db);
}

/* A folder of the library adapters with a fusion of two or three goes out as it came, file by file; an adapter that is not
 * beside it is named.  A run's own comes back with the same answers. */
static void a_fusion_of_adapterhub_goes_there_and_back(void **state) {
    (void)state;
    static const char *const names[] = { "dynamic", "static", "inside" };
    char *db = file_join(stage.folder, "hub.db"), *base = test_path("tests/reference/bert-tiny");
    for (int i = 0; i < 3; i++) {
        char *inside = xprintf("tests/reference/adapters/fused/%s", names[i]), *folder = test_path(inside);
        char *out = file_join(stage.folder, names[i]);
        json_t *run = stage_json("import '%s' --model '%s' --json --db '%s'", folder, base, db);
        free(stage_out(0, "export %d --to hub '%s' --db '%s'", 2 * i + 1, out, db));
        char *command = xprintf("diff -r -x grad -x after -x truth.safetensors '%s' '%s'", folder, out);
        assert_int_equal(system(command), 0);
        json_t *again = stage_json("import '%s' --model '%s' --json --db '%s'", out, base, db);
        assert_string_equal(stage_text(run, "weights_sha256"), stage_text(again, "weights_sha256"));
        json_decref(run);
        json_decref(again);
        free(inside);
        free(folder);
        free(out);
        free(command);
    }
    char *fused = file_join(stage.folder, "dynamic"), *apart = file_join(stage.folder, "apart");
    char *command = xprintf("mkdir '%s' && mv '%s/a' '%s/elsewhere'", apart, fused, apart);
    assert_int_equal(system(command), 0);
    stage_refused(3, "adapter \"a\" not found", "import '%s' --model '%s' --db '%s'", fused, base, db);
    stage_refused(2, "not one of the fused adapters",
                  "import '%s' --model '%s' --adapter '%s/elsewhere' --adapter '%s/static/c' --db '%s'", fused, base, apart, stage.folder,
                  db);
    json_t *named = stage_json("import '%s' --model '%s' --adapter '%s/elsewhere' --json --db '%s'", fused, base, apart, db);
    json_t *first = stage_json("show 1 --json --db '%s'", db);
    assert_string_equal(stage_text(named, "weights_sha256"), stage_text(first, "weights_sha256"));
    char *curve = xprintf("sed -i s/tanh/gelu/ '%s/head_config.json'", fused); /* which the library's version tells apart */
    assert_int_equal(system(curve), 0);
    json_t *curved = stage_json("import '%s' --model '%s' --adapter '%s/elsewhere' --json --db '%s'", fused, base, apart, db);
    assert_non_null(strstr(stage_text(curved, "method"), "classifier(act=gelu)"));
    struct stage own = two_adapters("own.db");
    json_decref(stage_train(&own, 0, "--steps 2 --lr 1e-2 --precision f32 --method 'fusion(runs=1|2)'"));
    char *out = file_join(stage.folder, "of-runs");
    free(stage_out(0, "export 3 --to hub '%s' --db '%s'", out, own.db));
    json_decref(stage_json("import '%s' --model '%s' --json --db '%s'", out, own.model, own.db));
    char *was = stage_out(0, "predict 3 --text 'good film' --db '%s'", own.db);
    char *now = stage_out(0, "predict 4 --text 'good film' --db '%s'", own.db);
    assert_string_equal(now, was);
    json_decref(named);
    json_decref(curved);
    json_decref(first);
    free(curve);
    free(db);
    free(base);
    free(fused);
    free(apart);
    free(command);
    free(own.db);
    free(out);
    free(was);
    free(now);
}

/* The prompt that another run began and went on with a little is the most like it, by either measure; the new run begins so. */
static void a_prompt_begins_as_the_most_like_one(void **state) {
    (void)state;
    struct stage own = stage;
    own.db = file_join(stage.folder, "spot.db");
    json_decref(stage_train(&own, 0, "--steps 1 --lr 1e-4 --seed 1 --method 'prompt(l=3,init=normal)'"));
    json_decref(stage_train(&own, 0, "--steps 1 --lr 1e-4 --seed 2 --method 'prompt(l=4,init=normal)'"));
    json_decref(stage_train(&own, 0, "--steps 2 --lr 1e-4 --method 'prompt(l=4,init=run(2))'"));
    json_decref(stage_train(&own, 0, "--steps 1 --method 'lora(r=2)'"));
    json_t *run = stage_train(&own, 0, "--steps 1 --lr 1e-30 --method 'spot(runs=1|2, run=3)'");
    assert_string_equal(stage_text(run, "method"), "prompt-tuning(l=4,init=run(2))");
    assert_int_equal(json_integer_value(stage_at(run, "parent")), 2);
    const char *by[] = { "", ", by=tokens" };
    for (int i = 0; i < 2; i++) {
        struct command c;
        command_run(&c, NULL, "explain 'spot(runs=1|2, run=3%s)' --model '%s' --db '%s'", by[i], own.model, own.db);
        command_expect(&c, 0);
        assert_non_null(strstr(buf_text(&c.err), "is initialized from run 2, the most similar to run 3"));
        assert_non_null(strstr(buf_text(&c.err), "(run 1 "));
        command_release(&c);
    }
    static const struct {
        int status;
        const char *method, *part;
    } cases[] = {
        { 2, "spot(runs=1|2)", "run= is missing" },
        { 2, "spot(run=3)", "runs= is missing" },
        { 2, "spot(runs=1|4, run=3)", "run 4 has no prompt" },
        { 3, "spot(runs=9)", "run 9" },
        { 2, "spot(runs=1, by=length)", "must be mean or tokens" },
        { 2, "spot(runs=1, of=3)", "spot: unknown key 'of'" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        stage_refused(cases[i].status, cases[i].part, "count --model '%s' --method '%s' --db '%s'", own.model, cases[i].method, own.db);
    json_decref(run);
    free(own.db);
}

/* Prompts of two runs, held still in a run that mixes them with one of its own; it predicts when both are gone. */
static void prompts_of_runs_are_mixed(void **state) {
    (void)state;
    struct stage own = stage;
    own.db = file_join(stage.folder, "attempt.db");
    json_decref(stage_train(&own, 0, "--steps 2 --lr 1e-2 --seed 1 --method 'prompt(l=3,init=normal)'"));
    json_decref(stage_train(&own, 0, "--steps 2 --lr 1e-2 --seed 2 --method 'prompt(l=3,init=normal,source=mlp(4))'"));
    json_decref(stage_train(&own, 0, "--steps 1 --method 'lora(r=2)'"));
    json_t *run = stage_train(&own, 0, "--steps 3 --lr 1e-2 --method 'prompt(l=3,init=run(1)) + attempt(runs=1|2, hidden=4)'");
    assert_non_null(strstr(stage_text(run, "method"), "attempt(hidden=4)"));
    char *was = stage_out(0, "predict 4 --text 'a b' --db '%s'", own.db);
    lose(&own, 1);
    lose(&own, 2);
    char *now = stage_out(0, "predict 4 --text 'a b' --db '%s'", own.db);
    assert_string_equal(now, was);
    static const struct {
        const char *method, *part;
    } cases[] = {
        { "attempt(runs=3)", "its method must be a single prompt and a head" },
        { "attempt(runs=1|1)", "run 1 is repeated" },
        { "prompt(l=4) + attempt(runs=1)", "the same length l" },
        { "prompt(l=3) + attempt", "attempt(runs=3|5)" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        stage_refused(2, cases[i].part, "count --model '%s' --method '%s' --db '%s'", own.model, cases[i].method, own.db);
    stage_refused(2, "V78", "train --model '%s' --train '%s' --text text --label label --steps 1 --db '%s' --method "
                            "'prompt(l=3,source=fusion) + prompt(l=3) + attempt'", own.model, own.toy, own.db);
    stage_refused(2, "cannot be written", "export 4 --to peft '%s/out' --db '%s'", own.folder, own.db);
    stage_refused(2, "cannot be written", "export 4 --to hub '%s/out' --db '%s'", own.folder, own.db);
    free(was);
    free(now);
    json_decref(run);
    free(own.db);
}

/* A run that others taught has copies of them: the same values come of it again when they are gone. */
static void runs_of_one_prompt_teach_another(void **state) {
    (void)state;
    struct stage own = stage;
    own.db = file_join(stage.folder, "taught.db");
    json_decref(stage_train(&own, 0, "--steps 2 --lr 1e-2 --seed 1 --method 'prompt(l=3)'"));
    json_decref(stage_train(&own, 0, "--steps 1 --method 'prompt(l=2)'"));
    json_t *run = stage_train(&own, 0, "--steps 3 --lr 1e-2 --method 'mpt(l=3)' --teachers 1 --distil-hidden 0.5");
    json_t *alone = stage_train(&own, 0, "--steps 3 --lr 1e-2 --method 'mpt(l=3)'");
    assert_string_not_equal(stage_text(run, "weights_sha256"), stage_text(alone, "weights_sha256"));
    char *shown = stage_out(0, "show 3 --db '%s' --json", own.db);
    assert_non_null(strstr(shown, "\"taught_by\":[{\"run\":1,"));
    assert_non_null(strstr(shown, "\"loss.logits\""));
    assert_non_null(strstr(shown, "\"loss.hidden\""));
    assert_non_null(strstr(shown, "\"teachers\":\"1\""));
    free(shown);
    lose(&own, 1);
    free(stage_out(0, "predict 3 --text 'a b' --db '%s'", own.db));
    static const struct {
        int status;
        const char *options, *part;
    } cases[] = {
        { 2, "--method lora --teachers 2", "applies only to factored prompts" },
        { 2, "--method 'mpt(l=3)' --teachers 2", "must have a prompt of the same length (l=3)" },
        { 2, "--method 'mpt(l=2)' --teachers 2,2", "2 teachers for 1 task" },
        { 2, "--method 'mpt(l=2)' --teachers two", "must be run ids" },
        { 2, "--method 'mpt(l=2)' --distil-logits 2", "the run has no teachers" },
        { 3, "--method 'mpt(l=2)' --teachers 9", "run 9" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        stage_refused(cases[i].status, cases[i].part, "train --model '%s' --train '%s' --text text --label label --steps 1 --db '%s' %s",
                      own.model, own.toy, own.db, cases[i].options);
    json_decref(run);
    json_decref(alone);
    free(own.db);
}

/* Each draw of few rows joins the adapters of other runs anew; their copies lie with the run, which is taken up without them. */
static void draws_use_what_others_learned(void **state) {
    (void)state;
    struct stage own = two_adapters("drawn.db");
    char *task = stage_task(&own, "drawn", 0), *other = stage_task(&own, "again", 0), *list = xprintf("%s,%s", task, other);
    free(stage_out(0, "fewshot --model '%s' --tasks '%s' --method 'fusion(runs=1|2)' --k 2 --draws 2 --steps 2 --max-length 16 --db '%s'",
                   own.model, list, own.db));
    json_t *run = stage_json("show 3 --json --db '%s'", own.db);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_int_equal(json_array_size(stage_at(run, "config.starts")), 2);
    json_decref(run);
    char *kept = xprintf("%s-files/3/start.2.safetensors", own.db);
    assert_true(file_exists(kept));
    free(kept);
    lose(&own, 1);
    lose(&own, 2);
    free(stage_out(0, "predict 3 --task drawn --text 'a b' --db '%s'", own.db));
    stage_refused(2, "V75", "fewshot --model '%s' --tasks '%s' --method 'adapter-pfeiffer(source=fusion) + "
                            "adapter-pfeiffer(source=fusion)' --k 2 --draws 2 --steps 2 --max-length 16 "
                            "--db '%s'", own.model, list, own.db);
    free(task);
    free(other);
    free(list);
    free(own.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(adapters_of_runs_are_joined),
        cmocka_unit_test(what_cannot_be_fused_is_refused),
        cmocka_unit_test(a_fusion_of_adapterhub_goes_there_and_back),
        cmocka_unit_test(a_prompt_begins_as_the_most_like_one),
        cmocka_unit_test(prompts_of_runs_are_mixed),
        cmocka_unit_test(runs_of_one_prompt_teach_another),
        cmocka_unit_test(draws_use_what_others_learned),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
