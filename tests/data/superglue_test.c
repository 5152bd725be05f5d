/* SuperGLUE's and SciTail's layouts, for encoders and in text form. */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/text_form.h"
#include "tests/data/support.h"

/* A folder of a given name with the files of name/text pairs, ended by NULL; caller frees. */
static char *make_folder(const char *name, const char *const *files) {
    char *root = test_folder(), *folder = file_join(root, name);
    struct err e = ERR_INIT;
    for (; *files; files += 2) {
        char *path = file_join(folder, files[0]), *slash = strrchr(path, '/');
        *slash = '\0';
        test_ok(file_make_folder(path, &e), &e);
        free(test_file(path, slash + 1, files[1], strlen(files[1])));
        free(path);
    }
    free(root);
    return folder;
}

static void open_folder(struct task *t, const char *name, const char *const *files) {
    struct err e = ERR_INIT;
    char *folder = make_folder(name, files);
    test_ok(task_open(t, &(struct task_source){.where = folder}, &e), &e);
    free(folder);
}

static void adds_up(const struct dataset *d) {
    const struct import_report *r = &d->report;
    assert_int_equal(r->examples + r->blank + r->skipped + r->header + r->continued, r->lines + r->spread);
}

#define BOOLQ_ROW "{\"question\":\"is it\",\"passage\":\"It -- is.\",\"idx\":0,\"label\":true}\n"
#define CB_ROW "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":\"neutral\",\"idx\":1}\n"
#define WIC_ROW                                                                                    \
    "{\"word\":\"bed\",\"sentence1\":\"A bed.\",\"sentence2\":\"Sea bed.\",\"idx\":0,"              \
    "\"label\":false,\"start1\":2,\"start2\":4,\"end1\":5,\"end2\":7,\"version\":1.1}\n"
#define WSC_ROW                                                                                    \
    "{\"text\":\"Mark told Pete that he won.\",\"target\":{\"span2_index\":4,\"span1_index\":0,"   \
    "\"span1_text\":\"Mark\",\"span2_text\":\"he\"},\"idx\":0,\"label\":true}\n"
#define RC_ROW                                                                                     \
    "{\"idx\":0,\"passage\":{\"text\":\"<b>Sent 1: </b>A.<br>B.\",\"questions\":["                \
    "{\"question\":\"Q?\",\"idx\":0,\"answers\":[{\"text\":\"yes\",\"idx\":0,\"label\":1},"       \
    "{\"text\":\"no\",\"idx\":1,\"label\":0}]},"                                                   \
    "{\"question\":\"R?\",\"idx\":1,\"answers\":[{\"text\":\"x\",\"idx\":2,\"label\":0}]}]}}\n"

struct expected {
    const char *folder, *file, *name, *a, *b, *source, *target;
    int classes, label, positive;
    size_t rows;
};

static void layouts(void **state) {
    (void)state;
    static const struct expected want[] = {
        {"BoolQ", BOOLQ_ROW, "BoolQ", "is it", "It -- is.",
         "superglue-boolq question: is it passage: It -- is.", "1", 2, 1, 1, 1},
        {"boolq", "{\"question\":\"is it\",\"title\":\"It\",\"answer\":false,\"passage\":\"P.\"}\n",
         "BoolQ", "is it", "P.", "superglue-boolq question: is it passage: P.", "0", 2, 0, 1, 1},
        {"CB", CB_ROW, "CB", "p", "h", "superglue-cb premise: p hypothesis: h", "2", 3, 2, -1, 1},
        {"wic", WIC_ROW, "WiC", "A bed.", "Sea bed. bed",
         "superglue-wic sentence1: A bed. sentence2: Sea bed. word: bed", "0", 2, 0, 1, 1},
        {"WSC", WSC_ROW, "WSC", "* Mark * told Pete that # he # won.", NULL,
         "superglue-wsc.fixed text: * Mark * told Pete that # he # won.", "1", 2, 1, 1, 1},
        {"wsc.fixed", "{\"text\":\"it is a cat\",\"span1_text\":\"a cat\",\"span1_index\":2,"
                      "\"span2_text\":\"it\",\"span2_index\":0,\"label\":0}\n",
         "WSC", "# it # is * a cat *", NULL, "superglue-wsc.fixed text: # it # is * a cat *", "0", 2,
         0, 1, 1},
        {"MultiRC", RC_ROW, "MultiRC", "Q?", "yes Sent 1: A. B.",
         "superglue-multirc question: Q? answer: yes paragraph: Sent 1: A. B.", "1", 2, 1, 1, 3},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        const struct expected *w = &want[i];
        const char *const files[] = {"train.jsonl", w->file, "val.jsonl", w->file, NULL};
        struct task t;
        struct err e = ERR_INIT;
        open_folder(&t, w->folder, files);
        assert_string_equal(t.name, w->name);
        assert_int_equal(t.classes, w->classes);
        assert_int_equal(t.positive, w->positive);
        assert_string_equal(t.dev_name[0], "val");
        assert_int_equal(t.train.examples, w->rows);
        assert_int_equal(t.dev[0].examples, w->rows);
        assert_string_equal(t.train.example[0].a, w->a);
        if (w->b) assert_string_equal(t.train.example[0].b, w->b);
        assert_int_equal(t.pair, w->b != NULL);
        assert_int_equal(t.train.example[0].label, w->label);
        adds_up(&t.train);
        test_ok(task_as_text(&t, &(struct text_form){.prefix = true}, &e), &e);
        assert_string_equal(t.train.example[0].a, w->source);
        assert_string_equal(t.dev[0].example[0].target_text, w->target);
        task_release(&t);
    }
}

/* The test files have no labels; a file alone is known by its keys. */
static void without_labels(void **state) {
    (void)state;
    static const struct {
        const char *text, *name;
    } want[] = {
        {"{\"question\":\"q\",\"passage\":\"p\",\"idx\":0}\n", "boolq"},
        {"{\"word\":\"w\",\"sentence1\":\"a\",\"sentence2\":\"b\",\"idx\":0}\n", "wic"},
        {"{\"text\":\"a b\",\"target\":{\"span1_text\":\"a\",\"span1_index\":0,\"span2_text\":\"b\","
         "\"span2_index\":1},\"idx\":0}\n",
         "wsc.fixed"},
        {"{\"passage\":{\"text\":\"t\",\"questions\":[{\"question\":\"q\",\"answers\":"
         "[{\"text\":\"a\",\"idx\":0}]}]}}\n",
         "multirc"},
    };
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        char *folder = test_folder(),
             *path = test_file(folder, "t.jsonl", want[i].text, strlen(want[i].text));
        struct task t;
        struct err e = ERR_INIT;
        test_ok(task_open(&t, &(struct task_source){.dev = path}, &e), &e);
        assert_int_equal(t.classes, 2);
        assert_int_equal(t.dev[0].examples, 1);
        assert_int_equal(t.dev[0].example[0].label, -1);
        assert_false(t.dev[0].example[0].labeled);
        assert_int_equal(t.dev[0].report.unlabeled, 1);
        says(&t, "1 example without a label");
        says(&t, "the keys of the examples match ");
        test_ok(task_as_text(&t, &(struct text_form){.prefix = true}, &e), &e);
        assert_non_null(strstr(t.dev[0].example[0].a, want[i].name));
        assert_null(t.dev[0].example[0].target_text);
        task_release(&t);
        struct dataset d;
        assert_int_equal(task_examples_by_keys(&d, path, &e), 1);
        assert_int_equal(d.examples, 1);
        dataset_release(&d);
        /* such a file cannot be trained on */
        bool flat = i < 2; /* the other keys are within objects, and each line is looked at */
        test_refused(task_open(&t, &(struct task_source){.train = path}, &e), flat ? ERR_USAGE : ERR_INPUT, &e,
                     flat ? "column \"label\" not found" : "line 1: unlabeled");
        free(path);
        free(folder);
    }
}

static void broken_rows(void **state) {
    (void)state;
    struct task t;
    open_folder(&t, "wsc",
                (const char *const[]){
                    "val.jsonl", WSC_ROW, "train.jsonl",
                    WSC_ROW
                    "{\"text\":\"a b\",\"label\":true}\n"
                    "{\"text\":\"a b\",\"label\":true,\"target\":{\"span1_text\":\"a\"}}\n"
                    "{\"text\":\"a b\",\"label\":true,\"target\":{\"span1_text\":7,\"span1_index\":0}}\n"
                    "{\"text\":\"a b\",\"label\":true,\"target\":{\"span1_text\":\"a\",\"span1_index\":-1}}\n"
                    "{\"text\":\"a b\",\"label\":true,\"target\":{\"span1_text\":\"a\",\"span1_index\":0,"
                    "\"span2_text\":\"a\",\"span2_index\":1}}\n"
                    "{\"text\":\"a b\",\"label\":true,\"target\":{\"span1_text\":\"a\",\"span1_index\":0,"
                    "\"span2_text\":\"b\",\"span2_index\":99}}\n"
                    "{\"text\":\"a b\",\"label\":{},\"target\":{\"span1_text\":\"a\",\"span1_index\":0,"
                    "\"span2_text\":\"b\",\"span2_index\":1}}\n",
                    NULL});
    assert_int_equal(t.train.examples, 3);
    skipped(&t.train, 0, 2, "\"span1_text\" is missing");
    skipped(&t.train, 1, 3, "\"span1_index\" is missing");
    skipped(&t.train, 2, 4, "\"span1_text\" must be a string, not a number");
    skipped(&t.train, 3, 5, "\"span1_index\" must be a non-negative integer (a word index)");
    skipped(&t.train, 4, 8, "the label must be a string, a number or a boolean, not an object");
    assert_string_equal(t.train.example[1].a, "* a * b");
    says(&t, "in 2 examples a span does not match the text at its word index and is not marked; the first "
             "is in line 6");
    adds_up(&t.train);
    task_release(&t);

    open_folder(&t, "multirc",
                (const char *const[]){
                    "val.jsonl", RC_ROW, "train.jsonl",
                    RC_ROW
                    "{\"idx\":1}\n"
                    "{\"passage\":\"t\"}\n"
                    "{\"passage\":{\"text\":\"t\"}}\n"
                    "{\"passage\":{\"text\":\"t\",\"questions\":[]}}\n"
                    "{\"passage\":{\"text\":\"t\",\"questions\":[7,{\"question\":\"q\"},"
                    "{\"question\":\"q\",\"answers\":[{\"text\":\"a\"},{\"text\":\"b\",\"label\":1}]}]}}\n",
                    NULL});
    assert_int_equal(t.train.examples, 4);
    skipped(&t.train, 0, 2, "\"passage\" is missing");
    skipped(&t.train, 1, 3, "\"passage\" must be an object, not a string");
    skipped(&t.train, 2, 4, "\"questions\" is missing");
    skipped(&t.train, 3, 5, "\"questions\" must be a non-empty array, not an empty array");
    skipped(&t.train, 4, 6, "\"question\" is missing");
    skipped(&t.train, 5, 6, "\"answers\" is missing");
    skipped(&t.train, 6, 6, "unlabeled");
    assert_int_equal(t.train.report.spread, 5);
    says(&t, "5 additional examples from lines with several examples");
    adds_up(&t.train);
    task_release(&t);

    struct err e = ERR_INIT;
    char *folder = make_folder("CB", (const char *const[]){
        "train.jsonl", CB_ROW "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":\"maybe\"}\n",
        "val.jsonl", CB_ROW, NULL});
    test_refused(task_open(&t, &(struct task_source){.where = folder}, &e), ERR_INPUT, &e,
                 "line 2: the label \"maybe\" is not among the classes of CB: \"entailment\", \"contradiction\", "
                 "\"neutral\"");
    free(folder);
}

/* Labels as the datasets library numbers them. */
static void numbered(void **state) {
    (void)state;
    struct task t;
    open_folder(&t, "CB",
                (const char *const[]){
                    "train.jsonl", "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":1}\n",
                    "validation.jsonl", "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":-1}\n",
                    NULL});
    assert_int_equal(t.train.example[0].label, 1);
    assert_string_equal(t.class_name[1], "contradiction");
    assert_false(t.dev[0].example[0].labeled);
    says(&t, "used as the class indices of CB");
    task_release(&t);
    open_folder(&t, "CB",
                (const char *const[]){
                    "train.jsonl", "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":1}\n",
                    "valid.jsonl", "{\"premise\":\"p\",\"hypothesis\":\"h\",\"label\":0}\n",
                    NULL});
    assert_string_equal(t.dev_name[0], "valid");
    task_release(&t);
    char *with = make_folder("own", (const char *const[]){ "train.jsonl", "", "valid.jsonl", "", NULL }),
         *without = make_folder("own", (const char *const[]){ "train.jsonl", "", "invalid.jsonl", "", NULL });
    assert_true(task_folder_has_dev(with) && !task_folder_has_dev(without));
    free(with), free(without);
}

static void scitail(void **state) {
    (void)state;
    static const char tsv[] = "p\th\tentails\nq \"x\ti\tneutral\n",
                      json[] = "{\"sentence1\":\"p\",\"sentence2\":\"h\",\"gold_label\":\"entailment\"}\n"
                               "{\"sentence1\":\"q\",\"sentence2\":\"i\",\"gold_label\":\"neutral\"}\n",
                      head[] = "premise\thypothesis\tlabel\np\th\tentailment\nq\ti\tneutral\n";
    static const char *const files[][5] = {
        {"tsv_format/scitail_1.0_train.tsv", tsv, "tsv_format/scitail_1.0_dev.tsv", tsv, NULL},
        {"scitail_1.0_train.tsv", tsv, "scitail_1.0_dev.tsv", tsv, NULL},
        {"snli_format/scitail_1.0_train.txt", json, "snli_format/scitail_1.0_dev.txt", json, NULL},
        {"predictor_format/scitail_1.0_structure_train.jsonl", json,
         "predictor_format/scitail_1.0_structure_dev.jsonl", json, NULL},
        {"train.tsv", head, "dev.tsv", tsv, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        struct task t;
        struct err e = ERR_INIT;
        open_folder(&t, i % 2 ? "scitail" : "SciTailV1.1", files[i]);
        assert_string_equal(t.name, "SciTail");
        for (int k = 0; k < 2; k++) {
            const struct dataset *d = k ? &t.train : &t.dev[0];
            assert_int_equal(d->examples, 2);
            assert_int_equal(d->example[0].label, 0);
            assert_int_equal(d->example[1].label, 1);
            assert_string_equal(d->example[0].b, "h");
            adds_up(d);
        }
        assert_string_equal(t.class_name[0], "entailment");
        test_ok(task_as_text(&t, &(struct text_form){.prefix = true}, &e), &e);
        assert_string_equal(t.train.example[0].a, "scitail sentence1: p sentence2: h");
        assert_string_equal(t.train.example[1].target_text, "1");
        task_release(&t);
    }
}

/* BoolQ's dev rows in Google's form and FewGLUE's 32 in SuperGLUE's. */
static void real_files(void **state) {
    (void)state;
    const char *shared = test_shared_data();
    struct task t;
    struct err e = ERR_INIT;
    char *train = file_join(shared, "boolq/fewglue-train.jsonl"),
         *dev = file_join(shared, "boolq/dev.jsonl");
    test_ok(task_open(&t, &(struct task_source){.train = train, .dev = dev}, &e), &e);
    assert_int_equal(t.train.examples, 32);
    assert_int_equal(t.dev[0].examples, 3270);
    assert_int_equal(t.dev[0].report.skipped, 0);
    assert_int_equal(t.dev[0].class_examples[1], 2033);
    assert_string_equal(t.class_name[1], "true");
    adds_up(&t.dev[0]);
    task_release(&t);
    free(train);
    free(dev);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts),  cmocka_unit_test(without_labels), cmocka_unit_test(broken_rows),
        cmocka_unit_test(numbered), cmocka_unit_test(scitail),        cmocka_unit_test(real_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
