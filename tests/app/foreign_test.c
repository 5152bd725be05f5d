/* Folders of adapters that are not what a run of text classification expects. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/adapter.h"
#include "tests/support/edit.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static const char WEIGHTS[] = "adapter_model.safetensors";
static char *base;

static int make(void **state) {
    base = test_path("tests/reference/bert-tiny");
    return stage_make(state);
}

static int drop(void **state) {
    free(base);
    return stage_drop(state);
}

/* A copy of the fixture of LoRA on query and value, as it is. */
static char *same(void) { return adapter_copy(stage.folder, "lora", "\"r\": 2", "\"r\": 2"); }

/* A copy of the adapters' model that names no classes. */
static char *unnamed(const char *name) { return model_copy(base, stage.folder, name, "\"id2label\"", "\"was_id2label\""); }

static void values_that_are_not_finite_are_refused(void **state) {
    (void)state;
    struct edit t;
    char *folder = same();
    edit_open_file(&t, folder, WEIGHTS);
    edit_values(&t, "base_model.model.bert.encoder.layer.1.attention.self.query.lora_A.weight")[23] = (real)NAN;
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    edit_release(&t);
    stage_refused(5, "layer.1.attention.self.query.lora_A.weight\": nan at row 1, column 3 (from 0), the first of 1 ",
                  "import '%s' --model '%s' --db '%s'", folder, base, stage.db);
    free(folder);
}

/* The head of a tagger, of multiple choice or of question answering is called as that of a classifier of texts. */
static void adapters_for_other_tasks_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *from, *to, *part;
    } cases[] = {
        { "\"SEQ_CLS\"", "\"TOKEN_CLS\"", "\"task_type\" is \"TOKEN_CLS\": token classification is not supported" },
        { "\"SEQ_CLS\"", "\"QUESTION_ANS\"", "\"task_type\" is \"QUESTION_ANS\": extractive question answering is not supported" },
        { "\"SEQ_CLS\"", "\"CAUSAL_LM\"", "\"task_type\" is \"CAUSAL_LM\"" },
        { "\"SEQ_CLS\"", "\"SEQ_2_SEQ_LM\"", "\"task_type\" is \"SEQ_2_SEQ_LM\"" },
        { "\"SEQ_CLS\"", "\"TAGGING\"", "\"task_type\" is \"TAGGING\": not a task type of PEFT" },
        { "\"SEQ_CLS\"", "3", "\"task_type\" is 3: not a task type of PEFT" },
        { "\"auto_mapping\": null", "\"auto_mapping\": {\"base_model_class\": \"BertForMultipleChoice\"}",
          "\"base_model_class\" is \"BertForMultipleChoice\"" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *folder = adapter_copy(stage.folder, "lora", cases[i].from, cases[i].to);
        stage_refused(5, cases[i].part, "import '%s' --model '%s' --db '%s'", folder, base, stage.db);
        free(folder);
    }
    char *t5 = test_path("tests/reference/families/t5-odd"), *folder = same();
    stage_refused(5, "\"task_type\" is \"SEQ_CLS\": the adapter is for classification", "import '%s' --model '%s' --db '%s'", folder, t5, stage.db);
    free(t5);
    free(folder);
}

/* A folder of a head with bias (2, 1, -1) whose config has that problem_type. */
static char *problem(const char *name, const char *type, int outputs) {
    static const double bias[] = { 2, 1, -1 };
    static const char *const label[] = { "joy", "anger", "fear" };
    char *more = xprintf(",\"problem_type\":\"%s\"", type),
         *folder = tiny_bert(stage.folder, name, &(struct tiny){ .outputs = outputs, .labels = label, .head_bias = bias, .config = more });
    free(more);
    return folder;
}

static void several_labels_have_a_sigmoid_each(void **state) {
    (void)state;
    char *folder = problem("labels", "multi_label_classification", 3), *task = stage_task(&stage, "toys", 0);
    json_t *v = stage_json("predict --model '%s' --text cat --json", folder), *labels = stage_at(v, "labels");
    const double want[] = { 0.8807970779778823, 0.7310585786300049, 0.2689414213699951 };
    const char *const name[] = { "probabilities.joy", "probabilities.anger", "probabilities.fear" };
    for (int i = 0; i < 3; i++) assert_true(fabs(json_number_value(stage_at(v, name[i])) - want[i]) < 1e-9);
    assert_int_equal(json_array_size(labels), 2);
    assert_string_equal(json_string_value(json_array_get(labels, 1)), "anger");
    char *text = stage_out(0, "predict --model '%s' --text cat", folder);
    assert_string_equal(text, "joy,anger\tjoy 0.8808\tanger 0.7311\tfear 0.2689\tcat\n");
    stage_refused(5, "\"problem_type\" is \"multi_label_classification\"", "eval --model '%s' --task '%s'", folder, task);
    free(text);
    json_decref(v);
    free(folder);
    folder = problem("one-label", "multi_label_classification", 1);
    text = stage_out(0, "predict --model '%s' --text cat", folder);
    assert_string_equal(text, "joy\tjoy 0.8808\tcat\n");
    free(text);
    free(folder);
    free(task);
    char *model = model_copy(base, stage.folder, "several", "{", "{\"problem_type\": \"multi_label_classification\",");
    folder = same();
    stage_refused(5, "the adapter's head is multi-label", "import '%s' --model '%s' --db '%s'", folder, model, stage.db);
    test_put(folder, "petri.json", "{\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}}"); /* as petri's export of a run there */
    free(stage_out(0, "import '%s' --model '%s' --db '%s'", folder, model, stage.db));
    free(folder);
    free(model);
}

/* A task of the same classes gets a head of its own. */
static void a_head_of_several_labels_or_scores_is_not_trained(void **state) {
    (void)state;
    static const char *const type[] = { "multi_label_classification", "regression", "single_label_classification" };
    static const char rows[] = "text\tlabel\ngood film\tjoy\nbad film\tanger\nthe film\tfear\n";
    char *file = test_file(stage.folder, "feelings.tsv", rows, strlen(rows));
    for (size_t i = 0; i < COUNT_OF(type); i++) {
        struct command ran;
        char *folder = problem(type[i], type[i], 3);
        command_run(&ran, NULL, "train --model '%s' --train '%s' --dev '%s' --method head --steps 1 --batch 3 --db '%s'", folder, file,
                    file, stage.db);
        command_expect(&ran, 0);
        const char *made = strstr(buf_text(&ran.err), "head: newly initialized: the classification head of the checkpoint ");
        if (!made != (i == 2)) fail_msg("%s: %s", type[i], buf_text(&ran.err));
        command_release(&ran);
        if (i == 1) stage_refused(5, "several scores", "predict --model '%s' --text cat", folder);
        free(folder);
    }
    free(file);
}

/* Whatever labels evaluation accepts, training begins with the imported head: a class that it never confuses stays as it is. */
static void training_keeps_the_head_that_evaluation_reads(void **state) {
    (void)state;
    static const char *const label[][3] = {
        { "0", "1", "2" }, { "LABEL_0", "LABEL_1", "LABEL_2" }, { "bad", "fair", "good" }, { "1", "2", "3" }, { "2", "0", "1" },
    };
    char *folder = same(), *db = xprintf("%s/keep.db", stage.folder), *model = unnamed("no-names");
    free(stage_out(0, "import '%s' --model '%s' --db '%s'", folder, model, db));
    for (size_t i = 0; i < COUNT_OF(label); i++) {
        struct buf rows = BUF_INIT;
        buf_puts(&rows, "text\tlabel\n");
        for (int k = 0; k < 12; k++) buf_printf(&rows, "good film %d\t%s\n", k, label[i][k % 3]);
        char *file = test_file(stage.folder, "labels.tsv", buf_text(&rows), rows.size);
        json_t *was = stage_json("eval 1 --file '%s' --json --db '%s'", file, db);
        free(stage_out(0, "train --from 1 --train '%s' --dev '%s' --steps 1 --batch 4 --lr 1e-12 --precision f32 --name kept%zu --db '%s'", file, file,
                       i, db));
        json_t *now = stage_json("eval kept%zu --file '%s' --json --db '%s'", i, file, db);
        double x = json_number_value(stage_at(was, "metrics.loss")), y = json_number_value(stage_at(now, "metrics.loss"));
        if (!(fabs(x - y) < 1e-5)) fail_msg("%s: a loss of %g, was %g", label[i][0], y, x);
        json_decref(was);
        json_decref(now);
        buf_release(&rows);
        free(file);
    }
    char *file = test_file(stage.folder, "two.tsv", "text\tlabel\ngood\tyes\nbad\tno\n", 27);
    stage_refused(5, "is not among the classes of the run", "eval 1 --file '%s' --db '%s'", file, db);
    free(file);
    free(model);
    free(folder);
    free(db);
}

/* An adapter for vectors: no head, and tensors named as in a model without one. */
static void an_adapter_without_a_head_gives_vectors_and_a_start(void **state) {
    (void)state;
    struct edit t;
    char *folder = adapter_copy(stage.folder, "lora", "\"SEQ_CLS\"", "\"FEATURE_EXTRACTION\""), *whole = same(),
         *db = xprintf("%s/vectors.db", stage.folder), *task = stage_task(&stage, "vectors", 0);
    edit_open_file(&t, folder, WEIGHTS);
    edit_drop(&t, "base_model.model.classifier.weight");
    edit_drop(&t, "base_model.model.classifier.bias");
    for (size_t i = 0; i < t.tensors; i++) {
        char *name = xprintf("base_model.model.%s", t.tensor[i].name + strlen("base_model.model.bert."));
        edit_rename(&t, i, name);
        free(name);
    }
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    edit_release(&t);
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s'", folder, base, db);
    char *said = json_dumps(stage_at(run, "imported.assumed"), JSON_COMPACT);
    assert_non_null(strstr(said, "no head: "));
    assert_string_equal(stage_text(run, "method"), "lora(r=2,s=2.5,dropout=0.1)");
    free(stage_out(0, "import '%s' --model '%s' --db '%s'", whole, base, db));
    char *vectors[2];
    for (int i = 0; i < 2; i++) vectors[i] = stage_out(0, "similarity %d --of rows --task '%s' --db '%s'", i + 1, task, db);
    assert_string_equal(strchr(vectors[0], '\n'), strchr(vectors[1], '\n')); /* as with the head, which they do not go through */
    free(stage_out(0, "map --run 1 --task '%s' --csv --db '%s'", task, db));
    stage_refused(2, "has no head", "predict 1 --text good --db '%s'", db);
    stage_refused(2, "has no head", "export 1 --to hf '%s/no' --db '%s'", stage.folder, db);
    char *out = xprintf("%s/vectors-out", stage.folder);
    free(stage_out(0, "export 1 --to peft '%s' --db '%s'", out, db));
    json_t *again = stage_json("import '%s' --model '%s' --name again --json --db '%s'", out, base, db);
    assert_string_equal(stage_text(again, "weights_sha256"), stage_text(run, "weights_sha256"));
    edit_open_file(&t, out, WEIGHTS);
    edit_values(&t, "base_model.model.encoder.layer.2.attention.self.value.lora_B.weight"); /* as it came */
    edit_release(&t);
    json_decref(again);
    free(out);
    stage_refused(2, "has no head", "export 1 --to hub '%s/no' --db '%s'", stage.folder, db);
    struct command ran;
    command_run(&ran, NULL, "train --from 1 --task '%s' --steps 1 --batch 4 --name trained --db '%s'", task, db);
    command_expect(&ran, 0);
    assert_non_null(strstr(buf_text(&ran.err), "initialized 480 parameters from another run (without a head)"));
    command_release(&ran);
    free(stage_out(0, "predict trained --text good --db '%s'", db));
    for (int i = 0; i < 2; i++) free(vectors[i]);
    free(said);
    free(folder);
    free(whole);
    free(task);
    free(db);
    json_decref(run);
}

static void names_them(const char *db, const char *run, const char *first) {
    char *said = stage_out(0, "predict %s --text good --db '%s/%s'", run, stage.folder, db);
    if (!strstr(said, first)) fail_msg("run %s: %s is not in %s", run, first, said);
    free(said);
}

static void classes_are_named_at_import_and_later(void **state) {
    (void)state;
    char *model = unnamed("names"), *folder = same(), *out = xprintf("%s/named", stage.folder),
         *file = test_file(stage.folder, "names.txt", "low\nmiddle\r\nhigh\n", 17),
         *task = xprintf("%s/three", stage.folder);
    struct err e = ERR_INIT;
    test_ok(file_make_folder(task, &e), &e);
    test_put(task, "train.tsv", "text\tlabel\na\tk1\nb\tk2\nc\tk3\n");
    const struct {
        const char *given, *first;
    } cases[] = { { "no, so so,yes", "\tso so 0.3885\t" }, { file, "\tmiddle 0.3885\t" }, { task, "\tk2 0.3885\t" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        json_t *run = stage_json("import '%s' --model '%s' --classes '%s' --json --db '%s/names.db'", folder, model, cases[i].given,
                                 stage.folder);
        assert_int_equal(json_array_size(stage_at(run, "imported.assumed")), 0);
        names_them("names.db", "last", cases[i].first);
        json_decref(run);
    }
    free(stage_out(0, "export last --to peft '%s' --db '%s/names.db'", out, stage.folder));
    free(stage_out(0, "import '%s' --model '%s' --db '%s/names.db'", out, model, stage.folder));
    names_them("names.db", "last", "\tk2 0.3885\t"); /* the export carries them */
    free(stage_out(0, "import '%s' --model '%s' --name bare --db '%s/names.db'", folder, model, stage.folder));
    names_them("names.db", "bare", "\tLABEL_1 0.3885\t");
    free(stage_out(0, "name bare --classes a,b,c --db '%s/names.db'", stage.folder));
    names_them("names.db", "bare", "\tb 0.3885\t");
    char *rows = test_file(stage.folder, "abc.tsv", "text\tlabel\ngood\tc\nbad\ta\n", 24);
    free(stage_out(0, "eval bare --file '%s' --db '%s/names.db'", rows, stage.folder));
    stage_refused(2, "found 2 class names, but the head has 3 outputs", "name bare --classes a,b --db '%s/names.db'", stage.folder);
    stage_refused(2, "unique and not empty", "name bare --classes a,b,a --db '%s/names.db'", stage.folder);
    stage_refused(3, "--classes: must be a list (a,b), a file or a task", "import '%s' --model '%s' --classes nothing --db '%s/names.db'", folder,
                  model, stage.folder);
    json_decref(stage_train(&stage, 0, "--steps 1"));
    stage_refused(2, "only classes of imported runs can be renamed", "name last --classes a,b --db '%s'", stage.db);
    test_put(out, "petri.json", "{\"id2label\": {\"0\": \"a\", \"1\": \"b\"}}");
    stage_refused(5, "\"id2label\" has 2 classes, but the head has 3", "import '%s' --model '%s' --db '%s/names.db'", out, model,
                  stage.folder);
    free(model);
    free(folder);
    free(out);
    free(file);
    free(task);
    free(rows);
}

/* Renames tensors of the fixture's file: `part` of a name becomes `to`. */
static char *renamed(const char *part, const char *to) {
    struct edit t;
    char *folder = same();
    edit_open_file(&t, folder, WEIGHTS);
    for (size_t i = 0; i < t.tensors; i++) {
        if (!strstr(t.tensor[i].name, part)) continue;
        char *name = test_with(t.tensor[i].name, part, to);
        edit_rename(&t, i, name);
        free(name);
    }
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    edit_release(&t);
    return folder;
}

static void an_adapters_name_inside_its_tensors_is_left_out(void **state) {
    (void)state;
    struct edit t;
    char *plain = same(), *folder = renamed(".lora_A.", ".lora_A.my-task."), *db = xprintf("%s/inside.db", stage.folder);
    edit_open_file(&t, folder, WEIGHTS);
    for (size_t i = 0; i < t.tensors; i++) {
        static const char *const part[] = { ".lora_B.", ".classifier." },
                                 *const to[] = { ".lora_B.my-task.", ".classifier.modules_to_save.my-task." };
        for (size_t k = 0; k < COUNT_OF(part); k++) {
            if (!strstr(t.tensor[i].name, part[k])) continue;
            char *name = test_with(t.tensor[i].name, part[k], to[k]);
            edit_rename(&t, i, name);
            free(name);
        }
    }
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    json_t *was = stage_json("import '%s' --model '%s' --json --db '%s'", plain, base, db),
           *run = stage_json("import '%s' --model '%s' --json --db '%s'", folder, base, db);
    assert_string_equal(stage_text(run, "weights_sha256"), stage_text(was, "weights_sha256"));
    char *said = json_dumps(stage_at(run, "imported.assumed"), JSON_COMPACT);
    assert_non_null(strstr(said, "\\\"my-task\\\" was removed"));
    char *other = test_with(t.tensor[0].name, ".my-task.", ".second.");
    edit_rename(&t, 0, other);
    edit_save_part(&t, 0, t.tensors, folder, WEIGHTS);
    edit_release(&t);
    stage_refused(5, "contains tensors of several adapters, \"second\" and \"my-task\"", "import '%s' --model '%s' --db '%s'", folder,
                  base, db);
    free(other);
    free(said);
    free(plain);
    free(folder);
    free(db);
    json_decref(was);
    json_decref(run);
}

/* Which of several adapters is read, and which are not. */
static void adapters_beside_each_other_are_named(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *top = file_join(stage.folder, "several"), *source = adapter_folder("lora"), *db = xprintf("%s/several.db", stage.folder);
    test_ok(file_make_folder(top, &e), &e);
    free(folder_copy(source, top, "checkpoint-9"));
    free(folder_copy(source, top, "checkpoint-10"));
    json_t *run = stage_json("import '%s' --model '%s' --json --db '%s'", top, base, db);
    assert_string_equal(json_string_value(json_array_get(stage_at(run, "imported.ignored"), 0)), "the adapters in checkpoint-9");
    json_decref(run);
    free(folder_copy(source, top, "other"));
    stage_refused(5, "use one of them: other, checkpoint-9, checkpoint-10", "import '%s' --model '%s' --db '%s'", top, base, db);
    char *inner = folder_copy(source, stage.folder, "with-others");
    free(folder_copy(source, inner, "second"));
    run = stage_json("import '%s' --model '%s' --json --db '%s'", inner, base, db);
    assert_string_equal(json_string_value(json_array_get(stage_at(run, "imported.ignored"), 0)), "the adapters in second");
    json_decref(run);
    free(inner);
    free(top);
    free(source);
    free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_are_not_finite_are_refused),
        cmocka_unit_test(adapters_for_other_tasks_are_refused),
        cmocka_unit_test(several_labels_have_a_sigmoid_each),
        cmocka_unit_test(training_keeps_the_head_that_evaluation_reads),
        cmocka_unit_test(an_adapter_without_a_head_gives_vectors_and_a_start),
        cmocka_unit_test(classes_are_named_at_import_and_later),
        cmocka_unit_test(an_adapters_name_inside_its_tensors_is_left_out),
        cmocka_unit_test(adapters_beside_each_other_are_named),
        cmocka_unit_test(a_head_of_several_labels_or_scores_is_not_trained),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
