#include "core/lesson/quantities.h"

#include <stddef.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

#define N QUANTITY_NUMBER
#define R QUANTITY_RUN
#define M QUANTITY_METHOD
#define S QUANTITY_SUBJECT
#define W QUANTITY_WORD

static const struct quantity_row rows[QUANTITIES] = {
    [QUANTITY_WIDTH] = { "width", { 0 }, 0, "width()", "values of a token's vector h" },
    [QUANTITY_LAYERS] = { "layers", { 0 }, 0, "layers()", "layers of the model's encoder" },
    [QUANTITY_HEADS] = { "heads", { 0 }, 0, "heads()", "heads of an attention" },
    [QUANTITY_INNER] = { "inner", { 0 }, 0, "inner()", "inner width of the FFN" },
    [QUANTITY_VALUES] = { "values", { 0 }, 0, "values()", "values of the model, each tensor once" },
    [QUANTITY_COUNT] = { "count",
                         { M, N },
                         1,
                         "count(\"METHOD\"[, TASKS])",
                         "values that the method trains on the model, without the head; for so many tasks "
                         "together" },
    [QUANTITY_TRAINED] = { "trained",
                           { R },
                           1,
                           "trained(RUN)",
                           "values that the run trained, without the head" },
    [QUANTITY_STEPS] = { "steps", { R }, 1, "steps(RUN)", "steps that it made" },
    [QUANTITY_BEST] = { "best",
                        { R },
                        1,
                        "best(RUN)",
                        "the best value of the metric that decides; of several seeds the mean" },
    [QUANTITY_LOSS] = { "loss", { R, N }, 2, "loss(RUN, STEP)", "the training loss at a step" },
    [QUANTITY_LOSS_MEAN] = { "loss_mean",
                             { R, N, N },
                             3,
                             "loss_mean(RUN, FROM, TO)",
                             "its mean over these steps" },
    [QUANTITY_RECORD] = { "record",
                          { R, W, N },
                          2,
                          "record(RUN, \"NAME\"[, STEP])",
                          "the last value of any name in the run's record: \"dev.accuracy\", "
                          "\"moved.frozen_same\" (`petri show RUN --json` lists them); or the one at a "
                          "step" },
    [QUANTITY_SAME] = { "same",
                        { R, R },
                        2,
                        "same(RUN, RUN)",
                        "1 where both ended with the same bits in every trained value, else 0" },
    [QUANTITY_WHY] = { "why",
                       { R, W },
                       2,
                       "why(RUN, \"KIND\")",
                       "1 where `petri show RUN --why` says a sentence of that kind, else 0 (docs/why.md "
                       "lists the kinds)" },
    [QUANTITY_LOWEST] = { "lowest",
                          { R, N },
                          1,
                          "lowest(RUN[, SEEDS])",
                          "the least of the seeds' best values; of the first SEEDS alone" },
    [QUANTITY_HIGHEST] = { "highest", { R, N }, 1, "highest(RUN[, SEEDS])", "the greatest of them" },
    [QUANTITY_WINS] = { "wins",
                        { R, R, N },
                        2,
                        "wins(RUN, RUN[, SEEDS])",
                        "of the seeds that both have: how often the first is better" },
    [QUANTITY_GAP] = { "gap",
                       { R, R, N },
                       2,
                       "gap(RUN, RUN[, SEEDS])",
                       "by how much the first is better, the mean over the seeds that both have" },
    [QUANTITY_GAP_LOW] = { "gap_low",
                           { R, R, N },
                           2,
                           "gap_low(RUN, RUN[, SEEDS])",
                           "the lower end of the 95 % interval of that mean, as Compare has it" },
    [QUANTITY_GAP_HIGH] = { "gap_high", { R, R, N }, 2, "gap_high(RUN, RUN[, SEEDS])", "its upper end" },
    [QUANTITY_GAP_WIDTH] = { "gap_width",
                             { R, R, N },
                             3,
                             "gap_width(RUN, RUN, SEEDS)",
                             "the width of that interval with so many seeds: the mean over groups of the "
                             "seeds in their order" },
    [QUANTITY_PURITY] = { "purity",
                          { R, N },
                          2,
                          "purity(RUN, LAYER)",
                          "of a row's ten nearest in that layer, the share with its label; of several tasks, "
                          "with its task" },
    [QUANTITY_SILHOUETTE] = { "silhouette",
                              { R, N },
                              2,
                              "silhouette(RUN, LAYER)",
                              "how far labels (or tasks) lie apart there, -1 … 1" },
    [QUANTITY_RETRIEVED_PURITY] = { "retrieved_purity",
                                    { R },
                                    1,
                                    "retrieved_purity(RUN)",
                                    "the share of tasks among the ten nearest, of what the method's "
                                    "retriever makes of a row" },
    [QUANTITY_RETRIEVED_SILHOUETTE] = { "retrieved_silhouette",
                                        { R },
                                        1,
                                        "retrieved_silhouette(RUN)",
                                        "how far tasks lie apart there" },
    [QUANTITY_RETRIEVER_LAYER] = { "retriever_layer",
                                   { R },
                                   1,
                                   "retriever_layer(RUN)",
                                   "the encoder layer whose output the method's retriever reads" },
    [QUANTITY_OWN_PROTOTYPE] = { "own_prototype",
                                 { R },
                                 1,
                                 "own_prototype(RUN)",
                                 "the share of rows that are nearest to the prototype of their own task" },
    [QUANTITY_ALIKE] = { "alike",
                         { R },
                         1,
                         "alike(RUN)",
                         "cosine of what two tasks have for themselves in a layer, made or trained; mean "
                         "over layers and pairs" },
    [QUANTITY_MAP_SIZE] = { "map_size",
                            { W, W, N, N },
                            3,
                            "map_size(\"FILE\", \"CLASS\", PERPLEXITY[, SEED])",
                            "how far the class's points lie from their middle in the map (root of the mean "
                            "square)" },
    [QUANTITY_MAP_GAP] = { "map_gap",
                           { W, W, W, N, N },
                           4,
                           "map_gap(\"FILE\", \"CLASS\", \"CLASS\", PERPLEXITY[, SEED])",
                           "how far the middles of two classes lie apart there" },
    [QUANTITY_MAP_KEPT] = { "map_kept",
                            { W, N, N },
                            2,
                            "map_kept(\"FILE\", PERPLEXITY[, SEED])",
                            "the share of a point's ten nearest that are among its ten nearest in the map" },
    [QUANTITY_MAP_KL] = { "map_kl",
                          { W, N, N },
                          2,
                          "map_kl(\"FILE\", PERPLEXITY[, SEED])",
                          "the divergence that the map was made to lower" },
    [QUANTITY_DELTA] = { "delta",
                         { S, N },
                         2,
                         "delta(RUN|\"METHOD\", LAYER)",
                         "max|Δh|: the largest that the method adds to any value of a tap "
                         "that it writes in that layer, over the rows" },
    [QUANTITY_DELTA_SHARE] = { "delta_share",
                               { S, N },
                               2,
                               "delta_share(RUN|\"METHOD\", LAYER)",
                               "|Δh|/|h|: the length of what is added beside the "
                               "length of what was there" },
    [QUANTITY_DW] = { "dw",
                      { R, N },
                      2,
                      "dw(RUN, LAYER)",
                      "|ΔW|: the Frobenius norm of what folding adds to the layer's first changed matrix" },
    [QUANTITY_UV] = { "uv",
                      { R, N },
                      2,
                      "uv(RUN, LAYER)",
                      "|W_u W_d|: that of the two trained matrices' product, without the scale" },
    [QUANTITY_RANK] = { "rank",
                        { R, N },
                        2,
                        "rank(RUN, LAYER)",
                        "rank of that ΔW: independent rows down to 1/1000 of the largest" },
    [QUANTITY_FOLDED] = { "folded",
                          { R },
                          1,
                          "folded(RUN)",
                          "largest difference of an output (logit) between the run and its folder with the "
                          "method folded into the weights" },
    [QUANTITY_LAMBDA] = { "lambda",
                          { S, N, N, N },
                          4,
                          "lambda(RUN|\"METHOD\", LAYER, TOKEN, HEAD)",
                          "λ of the first row's token and head, both from 1: the share of the softmax mass "
                          "on the prefix" },
    [QUANTITY_LAMBDA_LEAST] = { "lambda_least",
                                { S, N },
                                2,
                                "lambda_least(RUN|\"METHOD\", LAYER)",
                                "the smallest λ of any row, token and head of the layer" },
    [QUANTITY_LAMBDA_MOST] = { "lambda_most",
                               { S, N },
                               2,
                               "lambda_most(RUN|\"METHOD\", LAYER)",
                               "the largest" },
    [QUANTITY_GATE_GAP] = { "gate_gap",
                            { S, N },
                            2,
                            "gate_gap(RUN|\"METHOD\", LAYER)",
                            "largest difference of a head's output under one softmax from (1 − λ) h + λ Δh, "
                            "computed apart, over all rows, tokens, heads and values, beside the largest "
                            "output" },
};

const struct quantity_row *quantity_row(enum quantity q) {
    BUG_IF(q < 0 || q >= QUANTITIES);
    return &rows[q];
}

enum quantity quantity_by_name(const char *name) {
    int i = 0;
    while (i < QUANTITIES && strcmp(rows[i].name, name) != 0) i++;
    return (enum quantity)i;
}

const char *quantity_nearest(const char *name) {
    const char *names[QUANTITIES];
    for (int i = 0; i < QUANTITIES; i++) names[i] = rows[i].name;
    return text_nearest(name, names, QUANTITIES);
}
