/* Scores of written texts: ROUGE and BLEU beside the reference libraries, and answers that are
 * parsed back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/bleu.h"
#include "core/data/rouge.h"
#include "core/data/text_form.h"
#include "core/text/unicode.h"
#include "tests/support/test.h"

enum { PAIRS = 500, BLOCK = 50 };

static void near(size_t pair, const char *what, double got, double want) {
    if (!(fabs(got - want) <= 1e-6))
        fail_msg("pair %zu: %s is %.9g, not %.9g", pair, what, got, want);
}

static struct metric_text text_at(const json_t *o, const char *key) {
    const json_t *v = json_object_get(o, key);
    return (struct metric_text){json_string_value(v), json_string_length(v)};
}

static double number_at(const json_t *o, const char *key) {
    return json_number_value(json_object_get(o, key));
}

static double bleu_of(const struct metric_text *reference, const struct metric_text *text, size_t n) {
    struct bleu b = {0};
    for (size_t i = 0; i < n; i++) bleu_add(&b, reference[i].s, reference[i].n, text[i].s, text[i].n);
    return bleu_value(&b);
}

static void reference_pairs(void **state) {
    (void)state;
    static struct metric_text reference[PAIRS], text[PAIRS];
    static json_t *kept[PAIRS];
    double sum[3] = {0};
    size_t n = 0;
    char *path = test_path("tests/reference/text_metrics.jsonl");
    struct buf file;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &file, &e), &e);
    char *rest = file.data;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) {
        json_t *o = json_parse(path, line, strlen(line), &e);
        if (!o) fail_msg("%s", e.text);
        if (json_object_get(o, "corpus")) {
            near(n, "corpus bleu", bleu_of(reference + n - BLOCK, text + n - BLOCK, BLOCK),
                 number_at(o, "corpus"));
            near(n, "bleu so far", bleu_of(reference, text, n), number_at(o, "all"));
            json_decref(o);
            continue;
        }
        kept[n] = o;
        reference[n] = text_at(o, "gold");
        text[n] = text_at(o, "text");
        struct rouge r = rouge_of(reference[n].s, reference[n].n, text[n].s, text[n].n);
        const double got[3] = {r.one, r.two, r.longest};
        for (size_t i = 0; i < 3; i++) {
            double want = json_number_value(json_array_get(json_object_get(o, "rouge"), i));
            near(n, "rouge", got[i], want);
            sum[i] += want / PAIRS;
        }
        near(n, "bleu", bleu_of(&reference[n], &text[n], 1), number_at(o, "bleu"));
        n++;
    }
    assert_int_equal(n, PAIRS);
    struct metrics m;
    metrics_of_texts(&m, reference, text, NULL, n);
    near(n, "mean rouge1", m.value[METRIC_ROUGE1].value, sum[0]);
    near(n, "mean rouge2", m.value[METRIC_ROUGE2].value, sum[1]);
    near(n, "mean rougeL", m.value[METRIC_ROUGEL].value, sum[2]);
    near(n, "bleu", m.value[METRIC_BLEU].value, bleu_of(reference, text, n));
    assert_false(m.value[METRIC_ACCURACY].defined || m.constant);
    metrics_release(&m);
    for (size_t i = 0; i < n; i++) json_decref(kept[i]);
    buf_release(&file);
    free(path);
}

#define TEXT(s) {s, sizeof(s) - 1}

static void texts_of_a_split(void **state) {
    (void)state;
    static const struct metric_text reference[] = {TEXT("a b c d"), {NULL, 0}, TEXT("x"), TEXT("no")},
                                    text[] = {TEXT(" a b c d\n"), TEXT("q"), TEXT("X"), TEXT("")};
    static const double loss[] = {1, 100, 2, 3};
    struct metrics m;
    metrics_of_texts(&m, reference, text, loss, 4);
    assert_int_equal(m.examples, 4);
    assert_int_equal(m.labeled, 3);
    near(0, "exact", m.value[METRIC_EXACT].value, 1.0 / 3);
    near(0, "rouge1", m.value[METRIC_ROUGE1].value, 2.0 / 3);
    near(0, "loss", m.value[METRIC_LOSS].value, 2);
    metrics_release(&m);
    metrics_of_texts(&m, reference + 1, text + 1, NULL, 1);
    assert_false(m.value[METRIC_BLEU].defined);
    assert_string_equal(m.value[METRIC_BLEU].why, "no target texts");
    metrics_release(&m);
    const struct metric_text nothing = TEXT("");
    metrics_of_texts(&m, &nothing, &nothing, NULL, 1);
    near(0, "bleu of nothing", m.value[METRIC_BLEU].value, 0);
    near(0, "exact of nothing", m.value[METRIC_EXACT].value, 1);
    metrics_release(&m);
}

/* Exact match strips what Python's str.strip() does, at both ends and nowhere else: all code points, beside Python's list. */
static void exact_strips_as_python_does(void **state) {
    (void)state;
    enum { LAST = 0x10FFFF };
    static bool listed[LAST + 1];
    char *path = test_path("tests/reference/strip.txt");
    struct buf file;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &file, &e), &e);
    char *rest = file.data;
    for (char *line; (line = strsep(&rest, "\n")) && *line;) listed[strtoul(line, NULL, 16)] = true;
    for (uint32_t cp = 0; cp <= LAST; cp++) {
        char text[16], c[4];
        if (cp >= 0xD800 && cp <= 0xDFFF) continue;
        size_t used = utf8_encode(cp, c), n = (size_t)snprintf(text, sizeof text, "%.*sa%.*s", (int)used, c, (int)used, c);
        const char *s = text;
        if (!cp) continue;
        unicode_strip(&s, &n);
        if ((n == 1) != listed[cp]) fail_msg("U+%04X: %zu bytes left", cp, n);
    }
    const struct metric_text reference[] = {TEXT("1\u00A02"), TEXT("yes"), TEXT("\u2003"), TEXT("\u200Bno")},
                             text[] = {TEXT("\u00A0 1\u00A02\x1F\u3000\n"), TEXT("yes\xC2\x85"), TEXT(""), TEXT("no")};
    struct metrics m;
    metrics_of_texts(&m, reference, text, NULL, 4);
    near(0, "exact", m.value[METRIC_EXACT].value, 3.0 / 4);
    metrics_release(&m);
    buf_release(&file);
    free(path);
}

/* Labels and answers of a split; expected values by scikit-learn, F1 with an invalid answer
 * taken as the other class. */
static void score(struct metrics *m, const struct task *t, const double *reference,
                  const struct metric_text *text, size_t n) {
    struct example row[8];
    struct dataset d = {.kind = DATA_TEXT, .examples = n, .example = row};
    for (size_t i = 0; i < n; i++) {
        bool scores = t->label_kind == DATA_REGRESSION, none = reference[i] < 0;
        row[i] = (struct example){.labeled = !none, .label = scores || none ? -1 : (int32_t)reference[i],
                                      .target = scores ? reference[i] : 0};
    }
    text_metrics(m, t, &d, text);
}

static void invalid_answers(void **state) {
    (void)state;
    struct task t = {.kind = DATA_TEXT, .label_kind = DATA_CLASSES, .classes = 2, .positive = 1};
    static const double reference[] = {1, 1, 0, 0, 1, -1};
    static const struct metric_text text[] = {TEXT("yes"), TEXT("1"), TEXT(""),
                                              TEXT("0"),   TEXT("0"), TEXT("2")};
    struct metrics m;
    score(&m, &t, reference, text, 6);
    assert_int_equal(m.invalid, 3);
    assert_int_equal(m.labeled, 5);
    assert_int_equal(m.unanswered[0], 1);
    assert_int_equal(m.unanswered[1], 1);
    near(0, "accuracy", m.value[METRIC_ACCURACY].value, 0.4);
    near(0, "f1", m.value[METRIC_F1].value, 2.0 * 1 / (3 + 2));
    near(0, "matthews", m.value[METRIC_MATTHEWS].value, 0.21650635094610968);
    near(0, "majority", m.majority.value, 0.6);
    metrics_release(&m);

    t.classes = 3;
    t.positive = -1;
    static const double gold3[] = {0, 1, 2, 2};
    static const struct metric_text text3[] = {TEXT("0"), TEXT("5"), TEXT("2"), TEXT("1")};
    score(&m, &t, gold3, text3, 4);
    assert_int_equal(m.invalid, 1);
    near(0, "macro f1", m.value[METRIC_F1_MACRO].value, 5.0 / 9);
    near(0, "matthews", m.value[METRIC_MATTHEWS].value, 0.3651483716701107);
    metrics_release(&m);

    t.label_kind = DATA_REGRESSION;
    static const double scores[] = {1, 2, 3, 4.5};
    static const struct metric_text said[] = {TEXT("1.0"), TEXT("two"), TEXT("2.5"), TEXT("4")};
    score(&m, &t, scores, said, 4);
    assert_int_equal(m.invalid, 1);
    near(0, "pearson", m.value[METRIC_PEARSON].value, 0.7773793770458997);
    near(0, "spearman", m.value[METRIC_SPEARMAN].value, 0.8);
    metrics_release(&m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reference_pairs),
        cmocka_unit_test(texts_of_a_split),
        cmocka_unit_test(exact_strips_as_python_does),
        cmocka_unit_test(invalid_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
