#include "core/data/layouts.h"

#include <ctype.h>
#include <string.h>

#include "core/base/mem.h"

#define CLASSES(n, ...) .kind = DATA_KIND_CLASSES, .classes = n, .class_name = { __VA_ARGS__ }
#define ZERO_ONE CLASSES(2, "0", "1"), .positive = "1"
#define ENTAILMENT CLASSES(2, "entailment", "not_entailment"), .positive = "entailment"
#define SUPERGLUE .superglue = true, .label = "label"
#define FALSE_TRUE                                                                                 \
    SUPERGLUE, CLASSES(2, "false", "true"), .positive = "true", .metric = METRIC_ACCURACY

static const struct layout layouts_known[] = {
    { .name = "CoLA", .key = "cola", .no_header = true, .text_a = "#4", .label = "#2", ZERO_ONE,
     .metric = METRIC_MATTHEWS, .prefix = "cola", .field = { "sentence" } },
    { .name = "SST-2", .key = "sst2", .text_a = "sentence", .label = "label", ZERO_ONE,
     .metric = METRIC_ACCURACY, .prefix = "sst2", .field = { "sentence" } },
    { .name = "MRPC", .key = "mrpc", .text_a = "#1 String", .text_b = "#2 String",
     .label = "Quality", ZERO_ONE, .metric = METRIC_F1, .prefix = "mrpc",
     .field = { "sentence1", "sentence2" } },
    { .name = "STS-B", .key = "stsb", .text_a = "sentence1", .text_b = "sentence2",
     .label = "score", .kind = DATA_KIND_REGRESSION, .metric = METRIC_PEARSON, .prefix = "stsb",
     .field = { "sentence1", "sentence2" } },
    { .name = "QQP", .key = "qqp", .text_a = "question1", .text_b = "question2",
     .label = "is_duplicate", ZERO_ONE, .metric = METRIC_F1, .prefix = "qqp",
     .field = { "question1", "question2" } },
    { .name = "MNLI", .key = "mnli", .text_a = "sentence1", .text_b = "sentence2",
     .label = "gold_label", CLASSES(3, "entailment", "neutral", "contradiction"),
     .metric = METRIC_ACCURACY, .prefix = "mnli", .field = { "premise", "hypothesis" } },
    { .name = "QNLI", .key = "qnli", .text_a = "question", .text_b = "sentence", .label = "label",
     ENTAILMENT, .metric = METRIC_ACCURACY, .prefix = "qnli", .field = { "question", "sentence" } },
    { .name = "RTE", .key = "rte", .text_a = "sentence1", .text_b = "sentence2", .label = "label",
     ENTAILMENT, .metric = METRIC_ACCURACY, .prefix = "rte", .field = { "sentence1", "sentence2" } },
    { .name = "BoolQ", .key = "boolq", .text_a = "question", .text_b = "passage", FALSE_TRUE,
     .other = { .label = "answer" }, .prefix = "superglue-boolq", .field = { "question", "passage" } },
    { .name = "CB", .key = "cb", .text_a = "premise", .text_b = "hypothesis", SUPERGLUE,
     CLASSES(3, "entailment", "contradiction", "neutral"), .metric = METRIC_ACCURACY,
     .prefix = "superglue-cb", .field = { "premise", "hypothesis" } },
    { .name = "WiC", .key = "wic", .text_a = "sentence1", .text_b = "sentence2", .text_c = "word",
     FALSE_TRUE, .prefix = "superglue-wic", .field = { "sentence1", "sentence2", "word" } },
    { .name = "WSC", .key = "wsc", .shape = DATA_WSC, .text_a = "text", FALSE_TRUE,
     .prefix = "superglue-wsc.fixed", .field = { "text" } },
    { .name = "MultiRC", .key = "multirc", .shape = DATA_MULTIRC, .text_a = "question",
     .text_b = "answer", .text_c = "paragraph", SUPERGLUE, ZERO_ONE, .metric = METRIC_F1,
     .prefix = "superglue-multirc", .field = { "question", "answer", "paragraph" } },
    { .name = "SciTail", .key = "scitail", .scitail = true, .text_a = "premise",
     .text_b = "hypothesis", .label = "label", CLASSES(2, "entailment", "neutral"),
     .headless = { "premise", "hypothesis", "label" },
     .other = { "sentence1", "sentence2", "gold_label" }, .alias = "entails",
     .alias_of = "entailment", .positive = "entailment", .metric = METRIC_ACCURACY,
     .prefix = "scitail", .field = { "sentence1", "sentence2" } },
};

/* Alternative spellings of folders. */
static const char *const spelling[][2] = {
    { "stsbenchmark", "stsb" }, { "wscfixed", "wsc" }, { "scitailv1", "scitail" },
    { "scitailv11", "scitail" },
};

static const struct layout *with_key(const char *key) {
    for (size_t i = 0; i < COUNT_OF(spelling); i++)
        if (!strcmp(spelling[i][0], key)) key = spelling[i][1];
    for (size_t i = 0; i < COUNT_OF(layouts_known); i++)
        if (!strcmp(layouts_known[i].key, key)) return &layouts_known[i];
    return NULL;
}

const struct layout *layout_find(const char *folder_name) {
    char key[16];
    size_t n = 0;
    for (const char *p = folder_name; *p; p++) {
        if (strchr("-_.", *p)) continue;
        if (n + 1 == sizeof key) return NULL;
        key[n++] = (char)tolower((unsigned char)*p);
    }
    key[n] = '\0';
    return with_key(key);
}

const struct layout *layout_of_keys(const json_t *row) {
    static const char *const keys[][4] = {
        { "boolq", "question", "passage", NULL },
        { "wic", "word", "sentence1", "sentence2" },
        { "wsc", "text", "target", NULL },
        { "multirc", "passage", NULL, NULL },
    };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        bool all = true;
        for (int k = 1; k < 4 && keys[i][k]; k++) all = all && json_object_get(row, keys[i][k]);
        const struct layout *l = with_key(keys[i][0]);
        const json_t *passage = json_object_get(row, "passage"),
                     *target = json_object_get(row, "target");
        if (l->shape == DATA_WSC) all = all && json_object_get(target, "span1_text");
        if (l->shape == DATA_MULTIRC) all = all && json_object_get(passage, "questions");
        if (all && (l->shape == DATA_MULTIRC || !json_is_object(passage))) return l;
    }
    return NULL;
}
