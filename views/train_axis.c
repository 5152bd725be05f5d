/* What a run's points may be drawn over: steps, tokens, seconds of training, passes over the rows (train.h). */
#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "views/plot_raster.h"
#include "views/train.h"

const char *series_lacks(const struct series *s, enum plot_x x) {
    size_t last = s->count ? s->count - 1 : 0;
    switch (x) {
    case PLOT_X_TOKENS:
        if (!s->count || (s->tokens && isfinite(s->tokens[last]))) return NULL;
        return "its points do not say how many tokens they took";
    case PLOT_X_TIME: /* those from before it was kept come first */
        if (!s->count || (s->seconds && isfinite(s->seconds[0]) && isfinite(s->seconds[last]))) return NULL;
        return "its points have no seconds of training: they are of a petri that did not keep them";
    case PLOT_X_EPOCH:
        if (!s->count || s->epoch > 0) return NULL;
        return "how many steps are a pass over its rows is not known, or it has no such passes";
    default: return NULL;
    }
}

double series_x(const struct series *s, enum plot_x x, double step) {
    if (x == PLOT_X_STEP) return step;
    if (x == PLOT_X_EPOCH) return step / s->epoch;
    const double *of = x == PLOT_X_TOKENS ? s->tokens : s->seconds;
    struct plot_data d = {s->step, s->loss, s->count};
    size_t at = plot_lower(&d, step);
    if (at < s->count && s->step[at] == step) return of[at];
    return at ? of[at - 1] : 0; /* evaluated before the first step, or where no point was kept */
}

const double *series_xs(const struct series *s, enum plot_x x, const double *step, size_t count, double **own) {
    *own = NULL;
    if (x == PLOT_X_STEP) return step;
    if (step == s->step && x == PLOT_X_TOKENS) return s->tokens;
    if (step == s->step && x == PLOT_X_TIME) return s->seconds;
    *own = xmalloc((count + 1) * sizeof **own);
    for (size_t i = 0; i < count; i++) (*own)[i] = series_x(s, x, step[i]);
    return *own;
}
