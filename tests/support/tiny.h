/* A BERT of 1,688 values whose numbers are known by rule, and a toy task for it.
 *
 * Value i of the k-th tensor in the order of names is ((37·i + mul·k) mod 201 − 100)/256,
 * LayerNorms are 1 and 0: F32, F16 and BF16 copies hold exactly the same numbers.  Width 8,
 * 2 layers, 2 heads, inner width 16, 32 tokens, 16 positions. */
#ifndef TESTS_SUPPORT_TINY_H
#define TESTS_SUPPORT_TINY_H

#include <stdbool.h>

enum tiny_type { TINY_F32, TINY_F16, TINY_BF16 };

/* Zeroed: as described above. */
struct tiny {
    int mul;               /* 0: 101 */
    enum tiny_type type;
    const char *prefix;    /* before each name, as "bert."; NULL: none */
    bool old_norms;        /* LayerNorm.gamma and .beta in place of .weight and .bias */
    bool no_pooler;
    int outputs;           /* of a classifier in the folder; 0: none */
    double head_weight;    /* each of its weights */
    const double *head_bias;         /* outputs of them; NULL: 0 */
    const char *const *labels;       /* outputs of them, for id2label; NULL: none */
    const char *config;    /* further members of config.json, as ",\"foo\":1" */
};

/* Makes parent/name with config.json, model.safetensors, vocab.txt, tokenizer_config.json;
 * t NULL: all as described.  Caller frees the path. */
char *tiny_bert(const char *parent, const char *name, const struct tiny *t);
/* Writes only folder/model.safetensors anew. */
void tiny_weights(const char *folder, const struct tiny *t);
/* Makes parent/toy.tsv: 20 rows of columns text and label; caller frees the path. */
char *tiny_toy(const char *parent);

#endif
