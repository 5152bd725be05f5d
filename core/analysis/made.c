#include "core/analysis/made.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/analysis/passes.h"
#include "core/base/mem.h"

enum { PASSES_AT_ONCE = 8 }; /* Observes a sum of each generated tensor. */

size_t generated_per_example(const struct plan *p) {
    size_t n = 0;
    for (int i = 0; i < p->per_example; i++) n += p->example_tensor[i].count;
    return n;
}

struct made_sums {
    size_t values;
    double *sum; /* one per pass */
};

static void add_generated(const struct row_passes *all, const struct row_pass *x) {
    const struct made_sums *s = all->self;
    const struct plan *p = predictor_plan(all->p);
    double *to = s->sum + (size_t)x->unit * s->values;
    memset(to, 0, s->values * sizeof *to);
    for (int i = 0; i < p->per_example; to += p->example_tensor[i++].count)
        for (int row = 0; row < x->rows; row++) {
            const real *v = attach_generated_for_example(x->attach, i, row);
            for (size_t k = 0; k < p->example_tensor[i].count; k++) to[k] += (double)v[k];
        }
}

int generated_mean(const struct model *m, const struct predictor *p, const struct dataset *d,
                  struct crew *crew, real **out, struct err *e) {
    struct made_sums s = { .values = generated_per_example(predictor_plan(p)) };
    BUG_IF(!d->examples || !d->max_len || !s.values);
    double *sum = xcalloc(s.values, sizeof *sum);
    bool finite = true;
    s.sum = xmalloc(PASSES_AT_ONCE * s.values * sizeof *s.sum);
    for (size_t first = 0; first < d->examples; first += PASSES_AT_ONCE * PASS_ROWS) {
        size_t end = first + PASSES_AT_ONCE * PASS_ROWS;
        struct row_passes all = { .m = m,
                                  .p = p,
                                  .d = d,
                                  .first = first,
                                  .end = end < d->examples ? end : d->examples,
                                  .after = add_generated,
                                  .self = &s };
        row_passes_run(&all, crew);
        for (int u = 0; u < row_passes_units(&all); u++)
            for (size_t k = 0; k < s.values; k++) sum[k] += s.sum[(size_t)u * s.values + k];
    }
    free(s.sum);
    *out = xmalloc(s.values * sizeof **out);
    for (size_t k = 0; k < s.values; k++) {
        (*out)[k] = (real)(sum[k] / (double)d->examples);
        finite &= isfinite(sum[k]) != 0;
    }
    free(sum);
    if (finite) return 0;
    free(*out);
    *out = NULL;
    return err_set(e, ERR_FAILED, "%s: the weights generated for its examples are NaN or infinite",
                                  d->path ? d->path : "text");
}
