/* Quantities of the representation of a run's examples in a layer or after its retriever, and of the
 * weights of its tasks, as Map and Heatmap compute them. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "app/insight/matrix.h"
#include "app/insight/probe.h"
#include "app/insight/ratings.h"
#include "app/lesson/measure_private.h"
#include "core/base/mem.h"

enum { ROWS = 192, ROWS_SEED = 1 };

/* The labels by which examples are separated: with several tasks, the tasks. */
static int rows_rated(const struct probe *p, int layer, bool purity, double *out, struct err *e) {
    const struct rowset *r = &p->rows;
    bool tasks = r->tasks > 1;
    int place = probe_place(p, layer), columns = probe_columns(p, place);
    size_t all = (size_t)r->n * (size_t)columns;
    real *x = xmalloc((all + 1) * sizeof *x);
    struct ratings ratings;
    for (size_t i = 0; i < all; i++) x[i] = p->layer[place][i];
    ratings_of(&ratings, x, r->n, columns, tasks ? r->of_task : r->label, tasks ? r->tasks : r->classes,
               r->row);
    free(x);
    const struct rating *rating = purity ? &ratings.purity : &ratings.silhouette;
    if (*rating->why) return err_set(e, ERR_USAGE, "%s", rating->why);
    *out = rating->value;
    return 0;
}

static int rows_own_prototype(const struct probe *p, double *out, struct err *e) {
    struct matrix m;
    int rc = matrix_prototypes(&m, p, e);
    if (rc) return rc;
    json_t *about = json_loads(m.about, 0, NULL);
    const json_t *share = json_object_get(about, "argmax_accuracy");
    if (json_is_number(share)) *out = json_number_value(share);
    else rc = err_set(e, ERR_USAGE, "no examples of the run's own tasks");
    json_decref(about);
    matrix_release(&m);
    return rc;
}

/* A row of the matrix is a task in a layer. */
static int rows_alike(const struct probe *p, struct crew *crew, double *out, struct err *e) {
    struct matrix m;
    int rc = matrix_weights(&m, p, crew, e), n = 0;
    if (rc) return rc;
    double sum = 0;
    for (int i = 0; i < m.rows; i++)
        for (int k = i % m.columns + 1; k < m.columns; k++) sum += m.value[i * m.columns + k], n++;
    matrix_release(&m);
    *out = sum / n;
    return isnan(*out) ? err_set(e, ERR_USAGE, "the weights of a task are all 0 in a layer") : 0;
}

/* Returns the layer that the run's retriever reads, from 1; by default the last one. */
static int rows_retriever_layer(const struct probe *p, double *out, struct err *e) {
    const struct retriever *r = &predictor_plan(p->opened.predictor)->method.retriever;
    if (!r->on) return err_set(e, ERR_USAGE, "the run's method has no retriever");
    *out = r->tap ? r->tap : p->layers;
    return 0;
}

int lesson_measure_rows(struct lesson_play *p, enum quantity q, const struct expression_argument *a,
                        double layer, double *out, struct err *e) {
    bool own = q == QUANTITY_OWN_PROTOTYPE, alike = q == QUANTITY_ALIKE;
    bool retrieved = own || q == QUANTITY_RETRIEVED_PURITY || q == QUANTITY_RETRIEVED_SILHOUETTE;
    const struct probe_context look = { .mean = true, .crew = jobs_crew(p->jobs) };
    const struct probe_draw draw = { .most = ROWS, .seed = ROWS_SEED, .retrieved = retrieved };
    const struct lesson_result *r;
    struct probe probe = { 0 };
    int rc = lesson_measure_runs_of(p, a, &r, e);
    if (rc) return rc;
    rc = probe_open_all(&probe, p->store, r->run[0], &(struct backbone_hint){ 0 }, NULL, e);
    if (!rc && q == QUANTITY_RETRIEVER_LAYER) {
        rc = rows_retriever_layer(&probe, out, e);
        probe_release(&probe);
        return rc;
    }
    int at = retrieved ? PROBE_RETRIEVER : (int)layer;
    if (!rc && !retrieved && !alike && (layer != at || at < 1 || at > probe.layers))
        rc = err_set(e, ERR_USAGE, "layer %g does not exist: must be an integer between 1 and %d", layer,
                     probe.layers);
    if (!rc) rc = probe_rows(&probe, NULL, 0, &draw, e);
    if (!rc && !alike) rc = probe_embed(&probe, at, &look, e);
    if (!rc && own) rc = rows_own_prototype(&probe, out, e);
    else if (!rc && alike) rc = rows_alike(&probe, look.crew, out, e);
    else if (!rc) rc = rows_rated(&probe, at, q == QUANTITY_PURITY || q == QUANTITY_RETRIEVED_PURITY, out, e);
    probe_release(&probe);
    return rc;
}
