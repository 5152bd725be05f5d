/* Model shapes for tests without weights. */
#ifndef TESTS_METHOD_SHAPES_H
#define TESTS_METHOD_SHAPES_H

#include "core/model/arch.h"

static inline struct arch shape_bert(int d, int heads, int inner, int layers, int vocabulary,
                                     int positions) {
    return (struct arch){.family = FAMILY_BERT,
                         .model_type = "bert",
                         .width = d,
                         .heads = heads,
                         .head_width = d / heads,
                         .inner = inner,
                         .encoder_layers = layers,
                         .vocabulary = vocabulary,
                         .positions = positions,
                         .types = 2,
                         .norm_eps = 1e-12,
                         .act = ACT_GELU,
                         .biases = true,
                         .scale_scores = true,
                         .embed_norm = true,
                         .tied = true,
                         .dropout = 0.1,
                         .attention_dropout = 0.1,
                         .pooler = true};
}
static inline struct arch shape_bert_base(void) {
    return shape_bert(768, 12, 3072, 12, 30522, 512);
}
static inline struct arch shape_tiny(void) { return shape_bert(8, 2, 16, 2, 32, 16); }

static inline struct arch shape_roberta(int d, int heads, int layers) {
    struct arch a = shape_bert(d, heads, 4 * d, layers, 50265, 514);
    a.family = FAMILY_ROBERTA;
    a.types = 1;
    a.position_offset = 2;
    a.pooler = false;
    return a;
}

/* The encoder of T5-small, for counts: no biases. */
static inline struct arch shape_t5(void) {
    struct arch a = shape_bert(512, 8, 2048, 6, 32128, 0);
    a.family = FAMILY_T5;
    a.decoder_layers = 6;
    a.buckets = 32;
    a.biases = a.embed_norm = a.scale_scores = a.pooler = false;
    a.pre_norm = a.rms_norm = true;
    a.act = ACT_RELU;
    return a;
}

#endif
