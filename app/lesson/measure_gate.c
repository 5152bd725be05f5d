/* A prefix as a gate of attention. */
#include <math.h>

#include "app/insight/probe.h"
#include "app/lesson/measure_private.h"
#include "core/analysis/gated.h"

static int lesson_measure_counted(const char *what, double v, int most, int *out, struct err *e) {
    if (v != floor(v) || v < 1 || v > most)
        return err_set(e, ERR_USAGE, "%s %g does not exist: must be an integer between 1 and %d", what, v,
                       most);
    *out = (int)v - 1;
    return 0;
}

int lesson_measure_gate(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        const double *number, double *out, struct err *e) {
    const struct probe *probe;
    struct gated_form g;
    int layer = 0, token = 0, head = 0, rc = lesson_measure_probe(p, a, &probe, e);
    if (!rc) rc = lesson_measure_counted("layer", number[1], probe->layers, &layer, e);
    if (!rc)
        rc = gated_form_of(probe->opened.model, probe->opened.predictor, probe->task[0].d, layer + 1, &g, e);
    if (rc) return rc;
    if (q == QUANTITY_LAMBDA) {
        rc = lesson_measure_counted("token", number[2], g.tokens, &token, e);
        if (!rc) rc = lesson_measure_counted("head", number[3], g.heads, &head, e);
        if (!rc) *out = g.share[token * g.heads + head];
    } else {
        *out = q == QUANTITY_LAMBDA_LEAST ? g.least : q == QUANTITY_LAMBDA_MOST ? g.most : g.gap / g.size;
    }
    gated_form_release(&g);
    return rc;
}
