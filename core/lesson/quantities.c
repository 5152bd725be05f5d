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
    [QUANTITY_WIDTH] = { "width", { 0 }, 0, "width()" },
    [QUANTITY_LAYERS] = { "layers", { 0 }, 0, "layers()" },
    [QUANTITY_HEADS] = { "heads", { 0 }, 0, "heads()" },
    [QUANTITY_INNER] = { "inner", { 0 }, 0, "inner()" },
    [QUANTITY_VALUES] = { "values", { 0 }, 0, "values()" },
    [QUANTITY_COUNT] = { "count", { M, N }, 1, "count(\"METHOD\"[, TASKS])" },
    [QUANTITY_TRAINED] = { "trained", { R }, 1, "trained(RUN)" },
    [QUANTITY_STEPS] = { "steps", { R }, 1, "steps(RUN)" },
    [QUANTITY_BEST] = { "best", { R }, 1, "best(RUN)" },
    [QUANTITY_LOSS] = { "loss", { R, N }, 2, "loss(RUN, STEP)" },
    [QUANTITY_LOSS_MEAN] = { "loss_mean", { R, N, N }, 3, "loss_mean(RUN, FROM, TO)" },
    [QUANTITY_RECORD] = { "record", { R, W, N }, 2, "record(RUN, \"NAME\"[, STEP])" },
    [QUANTITY_SAME] = { "same", { R, R }, 2, "same(RUN, RUN)" },
    [QUANTITY_WHY] = { "why", { R, W }, 2, "why(RUN, \"KIND\")" },
    [QUANTITY_LOWEST] = { "lowest", { R, N }, 1, "lowest(RUN[, SEEDS])" },
    [QUANTITY_HIGHEST] = { "highest", { R, N }, 1, "highest(RUN[, SEEDS])" },
    [QUANTITY_WINS] = { "wins", { R, R, N }, 2, "wins(RUN, RUN[, SEEDS])" },
    [QUANTITY_GAP] = { "gap", { R, R, N }, 2, "gap(RUN, RUN[, SEEDS])" },
    [QUANTITY_GAP_LOW] = { "gap_low", { R, R, N }, 2, "gap_low(RUN, RUN[, SEEDS])" },
    [QUANTITY_GAP_HIGH] = { "gap_high", { R, R, N }, 2, "gap_high(RUN, RUN[, SEEDS])" },
    [QUANTITY_GAP_WIDTH] = { "gap_width", { R, R, N }, 3, "gap_width(RUN, RUN, SEEDS)" },
    [QUANTITY_PURITY] = { "purity", { R, N }, 2, "purity(RUN, LAYER)" },
    [QUANTITY_SILHOUETTE] = { "silhouette", { R, N }, 2, "silhouette(RUN, LAYER)" },
    [QUANTITY_RETRIEVED_PURITY] = { "retrieved_purity", { R }, 1, "retrieved_purity(RUN)" },
    [QUANTITY_RETRIEVED_SILHOUETTE] = { "retrieved_silhouette", { R }, 1, "retrieved_silhouette(RUN)" },
    [QUANTITY_RETRIEVER_LAYER] = { "retriever_layer", { R }, 1, "retriever_layer(RUN)" },
    [QUANTITY_OWN_PROTOTYPE] = { "own_prototype", { R }, 1, "own_prototype(RUN)" },
    [QUANTITY_ALIKE] = { "alike", { R }, 1, "alike(RUN)" },
    [QUANTITY_MAP_SIZE] = { "map_size", { W, W, N, N }, 3,
                            "map_size(\"FILE\", \"CLASS\", PERPLEXITY[, SEED])" },
    [QUANTITY_MAP_GAP] = { "map_gap", { W, W, W, N, N }, 4,
                           "map_gap(\"FILE\", \"CLASS\", \"CLASS\", PERPLEXITY[, SEED])" },
    [QUANTITY_MAP_KEPT] = { "map_kept", { W, N, N }, 2, "map_kept(\"FILE\", PERPLEXITY[, SEED])" },
    [QUANTITY_MAP_KL] = { "map_kl", { W, N, N }, 2, "map_kl(\"FILE\", PERPLEXITY[, SEED])" },
    [QUANTITY_DELTA] = { "delta", { S, N }, 2, "delta(RUN|\"METHOD\", LAYER)" },
    [QUANTITY_DELTA_SHARE] = { "delta_share", { S, N }, 2, "delta_share(RUN|\"METHOD\", LAYER)" },
    [QUANTITY_DW] = { "dw", { R, N }, 2, "dw(RUN, LAYER)" },
    [QUANTITY_UV] = { "uv", { R, N }, 2, "uv(RUN, LAYER)" },
    [QUANTITY_RANK] = { "rank", { R, N }, 2, "rank(RUN, LAYER)" },
    [QUANTITY_FOLDED] = { "folded", { R }, 1, "folded(RUN)" },
    [QUANTITY_LAMBDA] = { "lambda", { S, N, N, N }, 4, "lambda(RUN|\"METHOD\", LAYER, TOKEN, HEAD)" },
    [QUANTITY_LAMBDA_LEAST] = { "lambda_least", { S, N }, 2, "lambda_least(RUN|\"METHOD\", LAYER)" },
    [QUANTITY_LAMBDA_MOST] = { "lambda_most", { S, N }, 2, "lambda_most(RUN|\"METHOD\", LAYER)" },
    [QUANTITY_GATE_GAP] = { "gate_gap", { S, N }, 2, "gate_gap(RUN|\"METHOD\", LAYER)" },
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
