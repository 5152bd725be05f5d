/* Adapters of several runs joined into one: low-rank changes of the same model's maps, weighted. */
#ifndef CORE_EXCHANGE_COMBINE_H
#define CORE_EXCHANGE_COMBINE_H

#include "core/exchange/import.h"

enum { COMBINE_RUNS = 8 };
enum combine_how {
    COMBINE_CONCAT, /* W_d and W_u of all side by side: exactly Σ wᵢ ΔWᵢ, of rank Σ rᵢ */
    COMBINE_LINEAR, /* Σ √(wᵢ sᵢ) W_d and Σ √(wᵢ sᵢ) W_u, the sign with W_d: no weighted sum of the changes */
    COMBINE_TIES,   /* the same of the largest values of each, of those that have the sign of their sum */
    COMBINE_HOWS
};
extern const char *const combine_names[COMBINE_HOWS]; /* "concat", "linear", "ties" */

struct combine_part {
    char *name;                  /* what messages call it: "run 3" */
    struct predictor *predictor; /* of one task; made plain here (predictor_make_plain) */
    const struct run_config *config;
    double weight;               /* finite, not 0; below 0 it takes away */
};
struct combination {
    enum combine_how how;
    const struct combine_part *part;
    int parts;      /* 2 … COMBINE_RUNS */
    double density; /* of ties: the share of values that is kept of each tensor, above 0, at most 1 */
    int head;       /* whose head and description: a part's number; -1: the first's, which all must equal */
};
/* m: that of all parts, taken over in either case.  The description is that of the part with the head, with
 * the method of the whole.  ERR_USAGE, after the part's name, for modules other than low-rank changes of
 * one map, other models, heads that differ, and for linear and ties other ranks at one place or several
 * modules there.  On failure *out is empty. */
int combine_adapters(const struct combination *x, struct model *m, struct imported *out, struct err *e);

#endif
