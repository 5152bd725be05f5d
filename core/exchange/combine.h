/* Merges adapters of several runs into one: weighted low-rank changes of the same model's maps. */
#ifndef CORE_EXCHANGE_COMBINE_H
#define CORE_EXCHANGE_COMBINE_H

#include "core/exchange/import.h"

enum { COMBINE_RUNS = 8 };
enum combine_how {
    COMBINE_CONCAT, /* W_d and W_u of all side by side: exactly Σ wᵢ ΔWᵢ, of rank Σ rᵢ */
    COMBINE_LINEAR, /* Σ √(wᵢ sᵢ) W_d and Σ √(wᵢ sᵢ) W_u, with the sign in W_d: not a weighted sum of the
                     * changes */
    COMBINE_TIES,   /* the same for the largest values of each that have the sign of their sum */
    COMBINE_HOWS
};
extern const char *const combine_names[COMBINE_HOWS]; /* "concat", "linear", "ties" */

struct combine_part {
    char *name;                  /* its name in messages: "run 3" */
    struct predictor *predictor; /* of one task; modified here (predictor_make_plain) */
    const struct run_config *config;
    double weight;               /* finite, not 0; negative values subtract */
};
struct combination {
    enum combine_how how;
    const struct combine_part *part;
    int parts;      /* 2 … COMBINE_RUNS */
    double density; /* of ties: share of the values of each tensor that is retained, above 0, at most 1 */
    int head;       /* the part that provides head and config; -1: the first, which all others must equal */
};
/* Merges the parts on the model m, which all share; takes ownership of m in any case. The config is that of
 * the part with the head, with the merged method. ERR_USAGE, after the part's name, for modules other than
 * low-rank changes of one map, different models or heads, and for linear and ties different ranks or several
 * modules at one place. On failure *out is empty. */
int combine_adapters(const struct combination *x, struct model *m, struct imported *out, struct err *e);

#endif
