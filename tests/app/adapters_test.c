/* Folders of other libraries: imported they answer as the library does; what would not is refused by name. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "tests/support/adapter.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char *const peft[] = { "lora", "lora-patterns", "lora-layers", "lora-all", "lora-words", "ia3",
                                    "prompt", "p-tuning", "p-tuning-lstm", "mpt", "dora", "dora-pooler",
                                    "vera", "vera-seed", "ln-tuning", "adalora", "lora-embedding", "prefix", "prefix-projection" };

static const char *const hub[] = { "hub-pfeiffer", "hub-houlsby", "hub-parallel", "hub-learned", "hub-lora", "hub-ia3",
                                   "hub-prefix", "hub-prefix-flat", "hub-mam",
                                   "hub-gate", "hub-lora-gate", "hub-prefix-gates", "hub-unipelt", "hub-dora", "hub-vera",
                                   "hub-prompt", "hub-prompt-after", "hub-head-one", "hub-head-pooled", "hub-compacter",
                                   "hub-channel", "hub-channel-gate", "hub-products-shared", "hub-products-own" };

/* Of the libraries' answers some are compared always, all with PETRI_SLOW. */
static bool is_left_out(const char *name) {
    static const char *const always[] = { "prompt", "mpt", "hub-prompt-after", "hub-unipelt", "hub-dora", "hub-vera",
                                          "lora-embedding", "prefix", "dora-pooler",
                                          "lora-patterns", "lora-all", "ia3", "hub-houlsby", "hub-learned", "hub-lora", "hub-mam",
                                          "hub-head-one", "hub-head-pooled",
                                          "hub-channel", "hub-channel-gate", "hub-products-shared", "hub-products-own" };
    for (size_t i = 0; i < COUNT_OF(always); i++)
        if (!strcmp(always[i], name)) return false;
    return !test_slow();
}

static char *base, *rows;

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    base = test_path("tests/reference/bert-tiny");
    rows = test_path("tests/reference/adapters/rows.txt");
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(base);
    free(rows);
    stage_release(&stage);
    return 0;
}

/* The largest distance of what was said of the rows from what the library said; frees it. */
static double distance_of(const char *name, char *got) {
    char *folder = adapter_folder(name), *want = test_text(folder, "probabilities.txt"), *at = want, *end, *line = got;
    double worst = 0;
    int count = 0;
    for (char *next; (next = strchr(line, '\n')); line = next + 1, count++) {
        const char *key;
        json_t *v, *row = json_loadb(line, (size_t)(next - line), 0, NULL);
        json_object_foreach(json_object_get(row, "probabilities"), key, v) {
            double p = strtod(at, &end);
            assert_true(end > at);
            at = end;
            worst = fmax(worst, fabs(p - json_number_value(v)));
        }
        json_decref(row);
    }
    assert_int_equal(count, 64);
    assert_int_equal(strspn(at, " \n"), strlen(at));
    free(folder);
    free(want);
    free(got);
    return worst;
}

/* The same of a run. */
static double distance(const char *name, const char *db, int run) {
    return distance_of(name, stage_out(0, "predict %d --file '%s' --json --db '%s/%s'", run, rows, stage.folder, db));
}

static json_t *import_named(const char *name, const char *db) {
    char *folder = adapter_folder(name);
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s/%s'", folder, base, stage.folder, db);
    free(folder);
    return run;
}

static void peft_answers_are_the_librarys(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(peft); i++) {
        if (is_left_out(peft[i])) continue;
        json_t *run = import_named(peft[i], "peft.db");
        int id = (int)json_integer_value(stage_at(run, "id"));
        assert_string_equal(stage_text(run, "imported.format"), "peft");
        assert_string_equal(stage_text(run, "state"), "finished");
        double d = distance(peft[i], "peft.db", id);
        if (!(d < 1e-5)) fail_msg("%s: %g from the library's", peft[i], d);
        json_decref(run);
    }
}

static void hub_answers_are_the_librarys(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(hub); i++) {
        if (is_left_out(hub[i])) continue;
        json_t *run = import_named(hub[i], "hub.db");
        double d = distance(hub[i], "hub.db", (int)json_integer_value(stage_at(run, "id")));
        if (!(d < 1e-5)) fail_msg("%s: %g from the library's", hub[i], d);
        assert_string_equal(stage_text(run, "imported.format"), "adapterhub");
        assert_string_equal(stage_text(run, "imported.version"), "adapters.1.3.0");
        json_decref(run);
    }
    char *said = stage_out(0, "predict 1 --text good --db '%s/hub.db'", stage.folder);
    assert_true(strstr(said, "\tlow ") && strstr(said, "\tmiddle ") && strstr(said, "\thigh ")); /* label2id's order */
    assert_true(strstr(said, "\tlow ") < strstr(said, "\tmiddle ") && strstr(said, "\tmiddle ") < strstr(said, "\thigh "));
    free(said);
}

/* As the library named and packed an adapter when it was called adapter-transformers: in a pickle, with another name of the place, and
 * an invertible adapter in its config that a task's adapter never had. */
static void an_old_adapter_is_read(void **state) {
    (void)state;
    json_t *run = import_named("hub-old", "old.db");
    double d = distance("hub-old", "old.db", (int)json_integer_value(stage_at(run, "id")));
    if (!(d < 1e-5)) fail_msg("%g from the library's", d);
    json_t *aside = stage_at(run, "imported.ignored");
    assert_int_equal(json_array_size(aside), 1);
    assert_string_equal(json_string_value(json_array_get(aside, 0)), "invertible_adapter: nice has no tensors in the file");
    json_decref(run);
}

static void an_imported_run_is_used_as_any_other(void **state) {
    (void)state;
    json_decref(import_named("lora", "used.db"));
    char *task = stage_task(&stage, "toys", 0);
    free(stage_out(0, "embed --run 1 --task '%s' --rows 20 --db '%s/used.db'", task, stage.folder));
    free(task);
    stage_refused(2, "run 1: has no validation set", "eval 1 --db '%s/used.db'", stage.folder);
    char *file = file_join(stage.folder, "carried.safetensors");
    free(stage_out(0, "export 1 --to petri '%s' --db '%s/used.db'", file, stage.folder));
    free(stage_out(0, "import '%s' --model '%s' --db '%s/used.db'", file, base, stage.folder));
    assert_true(distance("lora", "used.db", 2) < 1e-5);
    free(file);
}

/* Folded into a plain model they answer as the library did. */
static void folded_ones_answer_alike(void **state) {
    (void)state;
    static const char *const some[] = { "dora", "vera", "adalora", "ia3" };
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        json_t *run = import_named(some[i], "folded.db");
        int id = (int)json_integer_value(stage_at(run, "id"));
        char *out = xprintf("%s/folded-%s", stage.folder, some[i]);
        free(stage_out(0, "export %d --to hf '%s' --db '%s/folded.db'", id, out, stage.folder));
        double d = distance_of(some[i], stage_out(0, "predict --model '%s' --file '%s' --json", out, rows));
        if (!(d < 1e-5)) fail_msg("%s: folded it is %g from the library's", some[i], d);
        json_decref(run);
        free(out);
    }
}

/* Every tensor of one folder's file is in the other's with the same bytes. */
static void holds_the_same(const char *folder, const char *other, const char *file) {
    struct err e = ERR_INIT;
    char *a_path = file_join(folder, file), *b_path = file_join(other, file);
    struct st_file *a = st_open(a_path, &e), *b = st_open(b_path, &e);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(st_count(a), st_count(b));
    for (size_t i = 0; i < st_count(a); i++) {
        const struct st_tensor *x = st_at(a, i), *y = st_find(b, x->name);
        if (!y) fail_msg("%s is missing", x->name);
        assert_int_equal(x->rank, y->rank);
        assert_memory_equal(x->shape, y->shape, (size_t)x->rank * sizeof *x->shape);
        size_t n = x->end - x->begin;
        char *v = xmalloc(n), *w = xmalloc(n);
        test_ok(st_read_raw(a, x, v, &e), &e);
        test_ok(st_read_raw(b, y, w, &e), &e);
        assert_memory_equal(v, w, n);
        free(v);
        free(w);
    }
    st_close(a);
    st_close(b);
    free(a_path);
    free(b_path);
}

static void exported_it_is_what_was_imported(void **state) {
    (void)state;
    static const char *const some[] = { "lora-patterns", "lora-words", "lora-all", "ia3", "prompt",
                                         "p-tuning", "dora",
                                    "vera", "vera-seed", "ln-tuning", "adalora", "lora-embedding", "prefix" };
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        json_t *run = import_named(some[i], "round.db"), *again;
        char *folder = adapter_folder(some[i]), *out = xprintf("%s/out-%s", stage.folder, some[i]);
        int id = (int)json_integer_value(stage_at(run, "id"));
        free(stage_out(0, "export %d --to peft '%s' --db '%s/round.db'", id, out, stage.folder));
        again = stage_json("import '%s' --model '%s' --json --db '%s/round.db'", out, base, stage.folder);
        assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
        assert_string_equal(stage_text(again, "method"), stage_text(run, "method"));
        if (strcmp(some[i], "lora-all")) { /* whose pooler's LoRA was folded */
            holds_the_same(folder, out, "adapter_model.safetensors");
            char *was = test_text(folder, "adapter_config.json"), *now = test_text(out, "adapter_config.json");
            assert_string_equal(now, was);
            free(was);
            free(now);
        }
        json_decref(run);
        json_decref(again);
        free(folder);
        free(out);
    }
}

/* On the picture of attention a prompt's rows have names of their own, and the text's tokens theirs. */
static void rows_of_a_prompt_are_named(void **state) {
    (void)state;
    char *task = stage_task(&stage, "named", 0);
    json_decref(import_named("prompt", "named.db"));
    json_t *one = stage_json("similarity 1 --of attention --row 3 --layer 2 --head 1 --task '%s' --json --db '%s/named.db'", task,
                             stage.folder),
           *all = stage_json("similarity 1 --of attention --row 3 --layer 2 --task '%s' --json --db '%s/named.db'", task, stage.folder);
    json_t *lines = stage_at(one, "rows"), *columns = stage_at(one, "columns");
    size_t n = json_array_size(lines);
    assert_true(n > 4 && n == json_array_size(columns));
    assert_string_equal(json_string_value(json_array_get(lines, 0)), "prompt 1");
    assert_string_equal(json_string_value(json_array_get(columns, 2)), "prompt 3");
    assert_string_equal(json_string_value(json_array_get(columns, 3)), "1 [CLS]");
    assert_non_null(strstr(json_string_value(json_array_get(lines, n - 1)), "[SEP]"));
    /* "first" is the text's own first token */
    for (size_t j = 0; j < n; j++) {
        double x = json_number_value(json_array_get(json_array_get(stage_at(one, "values"), 3), j)),
               y = json_number_value(json_array_get(json_array_get(stage_at(all, "values"), 0), j));
        assert_true(x > y - 1e-9 && x < y + 1e-9);
    }
    json_decref(one);
    json_decref(all);
    free(task);
}

static void hub_folders_go_out_and_come_back(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool same; /* config and tensors, else what was made by a network is flat */
    } some[] = { { "hub-houlsby", true }, { "hub-mam", false }, { "hub-head-one", true }, { "hub-head-pooled", true },
                 { "hub-compacter", true }, { "hub-gate", true }, { "hub-dora", true }, { "hub-prompt", true }, { "hub-unipelt", false },
                 { "hub-channel", true }, { "hub-channel-gate", false }, { "hub-products-shared", false }, { "hub-products-own", false } };
    for (size_t i = 0; i < COUNT_OF(some); i++) {
        json_t *run = import_named(some[i].name, "hubs.db"), *again;
        char *out = xprintf("%s/out-%s", stage.folder, some[i].name), *folder = adapter_folder(some[i].name);
        free(stage_out(0, "export last --to hub '%s' --db '%s/hubs.db'", out, stage.folder));
        again = stage_json("import '%s' --model '%s' --json --db '%s/hubs.db'", out, base, stage.folder);
        assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
        assert_string_equal(stage_text(again, "method"), stage_text(run, "method"));
        if (some[i].same) {
            holds_the_same(folder, out, "adapter.safetensors");
            char *was = test_text(folder, "adapter_config.json"), *now = test_text(out, "adapter_config.json");
            assert_string_equal(now, was);
            free(was);
            free(now);
        }
        json_decref(run);
        json_decref(again);
        free(folder);
        free(out);
    }
    char *out = xprintf("%s/out-trained", stage.folder);
    json_t *run = stage_train(&stage, 0, "--steps 2 --method 'lora(r=2,s=1.5,layers=2)'"), *again;
    free(stage_out(0, "export last --to hub '%s' --db '%s'", out, stage.db));
    again = stage_json("import '%s' --model '%s' --json --db '%s'", out, stage.model, stage.db);
    assert_string_equal(stage_text(again, "method"), "lora(r=2,s=1.5,layers=2-)"); /* the pooler is the model's own */
    assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
    json_decref(run);
    run = stage_train(&stage, 0, "--steps 2 --method ia3");
    stage_refused(2, "AdapterHub scales only q, k, v", "export %d --to hub '%s-no' --db '%s'",
                  (int)json_integer_value(stage_at(run, "id")), out, stage.db);
    json_decref(run);
    json_decref(again);
    free(out);
}

/* A model whose folder has no pooler has nothing that such a head could be compared with. */
static void a_head_comes_to_a_model_without_pooler(void **state) {
    (void)state;
    char *mini = test_path("assets/models/petri-mini"), *task = stage_task(&stage, "mini", 0), *out = xprintf("%s/out-mini", stage.folder);
    free(stage_out(0, "train --model '%s' --task '%s' --steps 1 --batch 4 --eval-rows 4 --method 'lora(r=1)' --db '%s/mini.db'", mini,
                   task, stage.folder));
    free(stage_out(0, "export last --to hub '%s' --db '%s/mini.db'", out, stage.folder));
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s/mini.db'", out, mini, stage.folder);
    assert_string_equal(stage_text(run, "method"), "lora(r=1) + classifier");
    json_decref(run);
    free(mini);
    free(task);
    free(out);
}

/* A run that was trained here, to PEFT and back. */
static void a_trained_run_goes_there_and_back(void **state) {
    (void)state;
    static const char *const method[] = { "lora(r=2) + lora(at=w1,r=3,s=0.5,layers=2)", "ia3(at=k+v+act)",
                                         "full(write=a.end) + full(write=f.end, layers=2-)" };
    for (size_t i = 0; i < COUNT_OF(method); i++) {
        char *out = xprintf("%s/trained-%zu", stage.folder, i), *more = xprintf("--steps 2 --method '%s'", method[i]);
        json_t *run = stage_train(&stage, 0, more), *again;
        int id = (int)json_integer_value(stage_at(run, "id"));
        free(stage_out(0, "export %d --to peft '%s' --base some/model --db '%s'", id, out, stage.db));
        again = stage_json("import '%s' --model '%s' --json --db '%s'", out, stage.model, stage.db);
        assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
        assert_string_equal(stage_text(again, "model"), "some/model");
        json_decref(run);
        json_decref(again);
        free(out);
        free(more);
    }
    json_t *run = stage_train(&stage, 0, "--steps 2 --method 'adapter-pfeiffer(r=2)'");
    stage_refused(2, "module 1 (bottleneck): PEFT has no equivalent", "export %d --to peft '%s/no' --db '%s'",
                  (int)json_integer_value(stage_at(run, "id")), stage.folder, stage.db);
    json_decref(run);
}

/* What a folder would not say as it is: nothing of it is written. */
static void what_a_library_has_no_place_for_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *method, *to, *part;
    } cases[] = {
        { "linear(r=2; write=a.q) + linear(r=3; write=a.q)", "peft", "supports one module per layer: two modules have" },
        { "scale(write=f.act) + scale(write=f.out)", "peft", "supports one module per layer: two modules have" },
        { "bottleneck(r=2; write=f.out) + bottleneck(r=2; write=f.out)", "hub", "supports one module per layer: two modules have" },
        { "lora(at=o,r=2)", "hub", "AdapterHub supports LoRA on q, k, v and the linear layers of the FFN, "
                                   "not on W_o" },
        { "prefix(l=2)", "peft", "PEFT's prefix shifts the positions of the text" },
        { "dora(r=2)", "hub", "AdapterHub's DoRA norm includes the bias" },
        { "dora(r=2,length=output)", "peft", "its DoRA norm includes the bias" },
        { "prompt(l=2; pool=row0)", "hub", "AdapterHub inserts virtual tokens after the norm of the "
                                           "embedding" },
        { "bottleneck(r=2; write=a.out, layers=1) + bottleneck(r=2; write=f.out, layers=2)", "hub",
          "layer 1 has bottlenecks of width 2 after attention and 0 after the FFN" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *more = xprintf("--steps 1 --method '%s'", cases[i].method), *out = xprintf("%s/none-%zu", stage.folder, i);
        json_decref(stage_train(&stage, 0, more));
        stage_refused(2, cases[i].part, "export last --to %s '%s' --db '%s'", cases[i].to, out, stage.db);
        assert_false(file_exists(out));
        free(more);
        free(out);
    }
}

/* What a Trainer left beside the adapter is its curve. */
static void a_trainers_curve_comes_along(void **state) {
    (void)state;
    static const char told[] = "{\"log_history\":[{\"epoch\":0.5,\"loss\":0.9,\"learning_rate\":0.001,\"step\":10},"
                               "{\"eval_loss\":0.8,\"eval_accuracy\":0.25,\"eval_runtime\":3.5,\"step\":10},"
                               "{\"loss\":0.7,\"grad_norm\":1.5,\"step\":20},{\"train_runtime\":9.0,\"step\":20}]}";
    char *folder = adapter_copy(stage.folder, "lora", "\"r\": 2", "\"r\": 2");
    test_put(folder, "trainer_state.json", told);
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s/curve.db'", folder, base, stage.folder);
    char *read = json_dumps(stage_at(run, "imported.read"), JSON_COMPACT);
    char *points = stage_out(0, "export 1 --to csv --db '%s/curve.db'", stage.folder);
    assert_non_null(strstr(read, "trainer_state.json"));
    assert_non_null(strstr(points, "\"loss\",10,0.9"));
    assert_non_null(strstr(points, "\"loss\",20,0.7"));
    assert_non_null(strstr(points, "\"dev.accuracy\",10,0.25"));
    assert_null(strstr(points, "runtime"));
    free(read);
    free(points);
    free(folder);
    json_decref(run);
}

/* Scales that the library takes times alpha go out as they act, with an alpha of 1. */
static void scales_go_out_as_they_act(void **state) {
    (void)state;
    char *folder = adapter_copy(stage.folder, "hub-ia3", "\"alpha\": 1", "\"alpha\": 3"), *out = xprintf("%s/out-scales", stage.folder);
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s/scales.db'", folder, base, stage.folder), *again;
    free(stage_out(0, "export last --to hub '%s' --db '%s/scales.db'", out, stage.folder));
    again = stage_json("import '%s' --model '%s' --json --db '%s/scales.db'", out, base, stage.folder);
    assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
    json_decref(run);
    json_decref(again);
    free(folder);
    free(out);
}

static void what_is_not_computed_is_refused(void **state) {
    (void)state;
    static const struct {
        const char *name, *from, *to, *part;
    } cases[] = {
        { "lora", "\"peft_type\": \"LORA\"", "\"peft_type\": \"LOHA\"", "unsupported \"peft_type\": \"LOHA\"" },
        { "lora", "\"use_dora\": false", "\"use_dora\": true", "lora_magnitude_vector is missing" },
        { "lora", "\"fan_in_fan_out\": false", "\"fan_in_fan_out\": true", "\"fan_in_fan_out\" is true" },
        { "lora", "\"lora_bias\": false", "\"lora_bias\": true", "\"lora_bias\" is true" },
        { "lora", "\"layer_replication\": null", "\"layer_replication\": [[0,2]]", "\"layer_replication\" is [[0,2]]" },
        { "lora", "\"qalora_group_size\": 16", "\"qalora_group_size\": 8", "\"qalora_group_size\" is 8" },
        { "lora", "\"use_qalora\": false", "\"a_new_key\": 3", "\"a_new_key\" is 3" },
        { "lora", "\"init_lora_weights\": true", "\"init_lora_weights\": \"pissa\"", "\"init_lora_weights\" is \"pissa\"" },
        { "lora", "\"lora_alpha\": 5", "\"lora_alpha\": \"5\"", "\"lora_alpha\" must be a number" },
        { "lora", "\"lora_dropout\": 0.1", "\"lora_dropout\": \"0.1\"", "\"lora_dropout\" must be a number" },
        { "hub-lora", "\"version\": \"adapters.1.3.0\"", "\"version\": 1", "\"version\" must be" },
        { "hub-lora", "\"alpha\": 6", "\"alpha\": \"6\"", "\"alpha\" must be a number" },
        { "lora", "\"alpha_pattern\": {}", "\"alpha_pattern\": {\"(\": 3}", "is not a valid regular expression" },
        { "hub-pfeiffer", "\"ln_before\": false", "\"ln_before\": true", "neither the adapter nor the model has it" },
        { "hub-pfeiffer", "\"phm_layer\": false", "\"phm_layer\": true", "neither the adapter nor the model has it" },
        { "hub-compacter", "\"shared_W_phm\": false", "\"shared_W_phm\": true",
          "the other tensors of its module are missing" },
        { "hub-products-shared", "\"phm_bias\": true", "\"phm_bias\": false", "\"phm_bias\" is false" },
        { "hub-channel", "\"scaling\": \"channel\"", "\"scaling\": \"row\"", "\"scaling\" is \"row\"" },
        { "hub-pfeiffer", "\"use_gating\": false", "\"use_gating\": true", "contradicts \"use_gating\" in the config" },
        { "hub-gate", "\"use_gating\": true", "\"use_gating\": false", "contradicts \"use_gating\" in the config" },
        { "hub-ia3", "\"use_gating\": false", "\"use_gating\": true", "petri does not support gating of IA3 scales" },
        { "hub-houlsby", "\"residual_before_ln\": true", "\"residual_before_ln\": \"post_add\"", "\"residual_before_ln\" is" },
        { "hub-pfeiffer", "\"non_linearity\": \"relu\"", "\"non_linearity\": \"selu\"", "\"non_linearity\" is \"selu\"" },
        { "hub-lora", "\"architecture\": \"lora\"", "\"architecture\": \"reft\"", "\"architecture\" is \"reft\"" },
        { "hub-lora", "\"use_dora\": false", "\"use_dora\": true", "contradicts \"use_dora\" in the config" },
        { "lora", "\"peft_type\": \"LORA\"", "\"peft_type\": \"IA3\"", "\"bias\" is \"none\"" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = adapter_copy(stage.folder, cases[i].name, cases[i].from, cases[i].to);
        stage_refused(5, cases[i].part, "import '%s' --model '%s' --db '%s/no.db'", folder, base, stage.folder);
        free(folder);
    }
    char *folder = adapter_folder("lora");
    stage_refused(3, "specify it with --model DIR", "import '%s' --db '%s/no.db'", folder, stage.folder);
    stage_refused(5, "as in the model", "import '%s' --model '%s' --db '%s/no.db'", folder, stage.model, stage.folder);
    free(folder);
}

/* What the config says beside the tensors is only told. */
static void the_tensors_say_places_and_ranks(void **state) {
    (void)state;
    char *folder = adapter_copy(stage.folder, "lora", "\"r\": 2", "\"r\": 4");
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s/other.db'", folder, base, stage.folder);
    char *said = json_dumps(stage_at(run, "imported.assumed"), JSON_COMPACT);
    assert_non_null(strstr(said, "the rank is 4 in the config and 2 in the tensors; that of the tensors is used"));
    assert_string_equal(stage_text(run, "method"), "lora(r=2,s=2.5,dropout=0.1)");
    free(said);
    free(folder);
    json_decref(run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peft_answers_are_the_librarys),
        cmocka_unit_test(hub_answers_are_the_librarys),
        cmocka_unit_test(an_old_adapter_is_read),
        cmocka_unit_test(an_imported_run_is_used_as_any_other),
        cmocka_unit_test(exported_it_is_what_was_imported),
        cmocka_unit_test(folded_ones_answer_alike),
        cmocka_unit_test(rows_of_a_prompt_are_named),
        cmocka_unit_test(hub_folders_go_out_and_come_back),
        cmocka_unit_test(a_head_comes_to_a_model_without_pooler),
        cmocka_unit_test(a_trained_run_goes_there_and_back),
        cmocka_unit_test(what_a_library_has_no_place_for_is_refused),
        cmocka_unit_test(scales_go_out_as_they_act),
        cmocka_unit_test(what_is_not_computed_is_refused),
        cmocka_unit_test(the_tensors_say_places_and_ranks),
        cmocka_unit_test(a_trainers_curve_comes_along),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
