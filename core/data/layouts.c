#include "core/data/layouts.h"

#include <ctype.h>
#include <string.h>

#include "core/base/mem.h"

#define ZERO_ONE 2, {"0", "1"}, "1"
#define ENTAILMENT 2, {"entailment", "not_entailment"}, "entailment"

static const struct layout known[] = {
    {"CoLA", "cola", true, "#4", NULL, "#2", DATA_KIND_CLASSES, ZERO_ONE, METRIC_MATTHEWS,
     "cola", {"sentence"}},
    {"SST-2", "sst2", false, "sentence", NULL, "label", DATA_KIND_CLASSES, ZERO_ONE,
     METRIC_ACCURACY, "sst2", {"sentence"}},
    {"MRPC", "mrpc", false, "#1 String", "#2 String", "Quality", DATA_KIND_CLASSES, ZERO_ONE,
     METRIC_F1, "mrpc", {"sentence1", "sentence2"}},
    {"STS-B", "stsb", false, "sentence1", "sentence2", "score", DATA_KIND_REGRESSION, 0,
     {NULL}, NULL, METRIC_PEARSON, "stsb", {"sentence1", "sentence2"}},
    {"QQP", "qqp", false, "question1", "question2", "is_duplicate", DATA_KIND_CLASSES, ZERO_ONE,
     METRIC_F1, "qqp", {"question1", "question2"}},
    {"MNLI", "mnli", false, "sentence1", "sentence2", "gold_label", DATA_KIND_CLASSES, 3,
     {"entailment", "neutral", "contradiction"}, NULL, METRIC_ACCURACY, "mnli",
     {"premise", "hypothesis"}},
    {"QNLI", "qnli", false, "question", "sentence", "label", DATA_KIND_CLASSES, ENTAILMENT,
     METRIC_ACCURACY, "qnli", {"question", "sentence"}},
    {"RTE", "rte", false, "sentence1", "sentence2", "label", DATA_KIND_CLASSES, ENTAILMENT,
     METRIC_ACCURACY, "rte", {"sentence1", "sentence2"}},
};

const struct layout *layout_find(const char *folder_name) {
    char key[16];
    size_t n = 0;
    for (const char *p = folder_name; *p; p++) {
        if (*p == '-' || *p == '_') continue;
        if (n + 1 == sizeof key) return NULL;
        key[n++] = (char)tolower((unsigned char)*p);
    }
    key[n] = '\0';
    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (!strcmp(known[i].key, key)) return &known[i];
    return NULL;
}
