/* Trained methods of every family, exported as plain folders: the names that the family's files
 * have, and the same logits. */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/model/safetensors.h"
#include "core/train/run/predictor.h"
#include "tests/support/rig.h"
#include "tests/support/writer.h"

enum { ROWS = 3, LENGTH = 5 };

/* A predictor with values that nobody trained. */
static struct predictor *made_up(struct model *m, const char *text) {
    struct err e = ERR_INIT;
    struct method method;
    struct predictor *p = xcalloc(1, sizeof *p);
    test_ok(method_parse(text, &method, &e), &e);
    p->m = m;
    p->text = arch_generates(&m->arch);
    struct predictor_task *of = p->of = xcalloc(1, sizeof *p->of);
    p->tasks = 1;
    of->name = xstrdup("");
    of->label_kind = p->text ? DATA_TEXT : DATA_CLASSES;
    of->labels = p->text ? 0 : m->head_rows;
    of->label = xcalloc((size_t)of->labels + 1, sizeof *of->label);
    for (int i = 0; i < of->labels; i++) of->label[i] = xprintf("kind %d", i);
    p->plan = plan_new(&method, &m->arch, of->labels, &e);
    if (!p->plan) fail_msg("%s: %s", text, e.text);
    p->params = xcalloc(p->plan->trained, sizeof *p->params);
    p->generated = xcalloc(1, sizeof *p->generated);
    plan_init(p->plan, m, 3, p->params);
    for (size_t i = 0; i < p->plan->trained; i++)
        p->params[i] += (real)(0.1 * rng_normal(rng_key(4, RNG_TEST, 0, 0), i));
    return p;
}

/* Rows as encoded. */
static size_t starts[ROWS + 1];
static int32_t ids[ROWS * LENGTH];
static uint8_t types[ROWS * LENGTH];
static struct example rows[ROWS];
static char path[] = "none";

static struct dataset encoded(void) {
    for (int i = 0; i <= ROWS; i++) starts[i] = (size_t)(i * LENGTH);
    for (int i = 0; i < ROWS * LENGTH; i++) ids[i] = 5 + (i * 7) % 40;
    for (int i = 0; i < ROWS; i++) rows[i] = (struct example){ .id = (uint64_t)i };
    return (struct dataset){ .path = path, .kind = DATA_CLASSES, .classes = 2, .examples = ROWS,
                             .example = rows, .max_len = LENGTH, .start = starts, .ids = ids,
                             .types = types };
}

/* What is written has the names and shapes of the files that it came from. */
static void names_are_the_familys(const char *folder, const char *out, bool aliases) {
    struct err e = ERR_INIT;
    char *a = file_join(folder, "model.safetensors"), *b = file_join(out, "model.safetensors");
    struct st_file *from = st_open(a, &e), *to = st_open(b, &e);
    if (!from || !to) fail_msg("%s", e.text);
    for (size_t i = 0; i < st_count(to); i++) {
        const struct st_tensor *t = st_at(to, i), *s = st_find(from, t->name);
        bool own = !strncmp(t->name, "classifier.", 11) || !strncmp(t->name, "bert.", 5);
        if (!s && own) continue; /* BERT's folder has neither */
        if (!s) fail_msg("%s: %s is not a name of this family", folder, t->name);
        assert_int_equal(s->rank, t->rank);
        assert_int_equal(s->count, t->count);
    }
    if (!aliases) assert_in_range(st_count(to), st_count(from), st_count(from) + 2);
    st_close(from);
    st_close(to);
    free(a);
    free(b);
}

static void config_is_the_familys(const char *out, const struct arch *a, int labels) {
    static const char *const names[FAMILY_COUNT] = {
        "BertForSequenceClassification", "RobertaForSequenceClassification",
        "BartForConditionalGeneration", "MBartForConditionalGeneration",
        "T5ForConditionalGeneration"};
    struct err e = ERR_INIT;
    char *config = file_join(out, "config.json");
    json_t *c = json_read(config, 1 << 20, &e);
    if (!c) fail_msg("%s", e.text);
    assert_string_equal(json_string_value(json_array_get(json_object_get(c, "architectures"), 0)),
                        names[a->family]);
    if (arch_generates(a)) {
        assert_int_equal(json_is_true(json_object_get(c, "tie_word_embeddings")), a->tied);
        assert_null(json_string_value(json_object_get(c, "problem_type")));
    } else {
        assert_int_equal(json_object_size(json_object_get(c, "id2label")), labels);
    }
    json_decref(c);
    free(config);
}

static void every_family_is_exported(void **state) {
    (void)state;
    static const char *const methods[] = {"lora(r=2,at=q+k+v+o+w1+w2)", "ia3", "full",
                                          "lora(r=2,stack=decoder,site=cross)", "bitfit"};
    struct dataset d = encoded();
    int done = 0;
    for (int i = 0; rig_folder(i); i++)
        for (size_t k = 0; k < COUNT_OF(methods); k++) {
            struct err e = ERR_INIT;
            struct method method;
            struct finding f;
            char *folder = test_path(rig_folder(i)), *home = test_folder();
            struct model *m = model_load(folder, &e);
            if (!m) fail_msg("%s", e.text);
            test_ok(method_parse(methods[k], &method, &e), &e);
            bool valid = !method_check(&method, &m->arch, &f, 1) || f.level != LEVEL_ERROR;
            if (valid) {
                char *out = file_join(home, "out");
                struct predictor *p = made_up(m, methods[k]);
                double worst = -1;
                int rc = predictor_export(p, out, false, &d, NULL, &worst, &e);
                if (rc) fail_msg("%s, %s: %s", rig_folder(i), methods[k], e.text);
                assert_true(worst >= 0 && worst < 1e-4);
                names_are_the_familys(folder, out, strstr(folder, "t5-tiny"));
                config_is_the_familys(out, &m->arch, p->of[0].labels);
                predictor_free(p);
                free(out);
                done++;
            }
            model_release(m);
            free(folder);
            free(home);
        }
    assert_int_equal(done, 9 * 5 - 2 - 3); /* T5's biases; a decoder where there is none */
}

/* A T5 that config.json calls untied while its weights are tied: no scale, which a tied one has. */
static void the_scale_is_kept(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf config = BUF_INIT;
    struct dataset d = encoded();
    char *home = test_folder(), *folder = writer_model(home, "t5", FAMILY_T5, NULL);
    char *out = file_join(home, "out"), *file = file_join(folder, "config.json");
    test_ok(file_read(file, 1 << 20, &config, &e), &e);
    char *tie = strstr(buf_text(&config), "embeddings\":true");
    assert_non_null(tie);
    char *untied = xprintf("%.*sembeddings\":false%s", (int)(tie - buf_text(&config)), buf_text(&config),
                           tie + strlen("embeddings\":true"));
    free(test_file(folder, "config.json", untied, strlen(untied)));
    for (size_t i = 0; i < COUNT_OF(ids); i++) ids[i] %= 30;
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    assert_true(m->arch.tied && m->arch.decoded_scale == 1);
    struct predictor *p = made_up(m, "full");
    double worst = -1;
    test_ok(predictor_export(p, out, false, &d, NULL, &worst, &e), &e);
    assert_true(worst >= 0 && worst < 1e-4);
    predictor_free(p);
    model_release(m);
    buf_release(&config);
    free(untied);
    free(file);
    free(out);
    free(folder);
    free(home);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family_is_exported),
        cmocka_unit_test(the_scale_is_kept),
    };
    return cmocka_run_group_tests_name("export", tests, NULL, NULL);
}
