#include "core/train/use/retrieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/run/batch.h"
#include "core/train/run/pool.h"
#include "core/train/run/predictor.h"

static const double temperature = 0.1; /* of cosines; the default of the retriever */

/* Resources of passes over a few examples. */
struct retrieving {
    const struct predictor *p;
    struct worker w;
    struct attach *attach;
};

static void passes_open(struct retrieving *x, const struct predictor *p) {
    *x = (struct retrieving){ .p = p, .attach = attach_new(p->plan, p->m) };
    worker_init(&x->w, 0);
}

static void passes_close(struct retrieving *x) {
    attach_free(x->attach);
    worker_release(&x->w);
}

/* Writes the vector of an example with the weights of a task to out[0…width-1]: that of the retriever, or the
 * input of the head. */
static void retrieve_row_vector(struct retrieving *x, const struct dataset *d, uint32_t row, int task,
                                bool retrieved, int width, double *out) {
    struct batch b;
    struct forward f;
    tape_reset(x->w.tape, false, 0, 0);
    batch_pack(&b, x->w.arena, &x->p->m->arch, d, NULL, &row, 1, false);
    attach_for_task(x->attach, task);
    forward_init(&f, x->w.tape, x->p->m, &b,
                 attach_begin(x->attach, x->w.tape, x->p->params, x->p->generated, NULL));
    node encoded = forward_encode(&f);
    node v = retrieved ? attach_retrieve(x->attach, &f, encoded) : attach_pool(x->attach, &f, encoded);
    BUG_IF(tape_cols_of(x->w.tape, v) != width);
    for (int c = 0; c < width; c++) out[c] = (double)tape_value(x->w.tape, v)[c];
}

static double retrieve_dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static double cosine_of(const double *a, const double *b, int n) {
    double length = sqrt(retrieve_dot(a, a, n)) * sqrt(retrieve_dot(b, b, n));
    return length > 0 ? retrieve_dot(a, b, n) / length : 0;
}

static int not_finite(const struct dataset *d, size_t row, struct err *e) {
    return err_set(e, ERR_FAILED, "%s: example %llu: NaN or infinite vector", d->path,
                   (unsigned long long)d->example[row].id + 1);
}

bool retrieve_has_prototypes(const struct predictor *p) {
    const struct plan_tensor *k = plan_prototypes(p->plan);
    const struct retriever *r = &p->plan->method.retriever;
    return k && r->on && r->prototype != PROTOTYPE_NONE &&
           k->cols == attach_retrieved_width(p->plan, &p->m->arch);
}

int retrieve_cosines(const struct predictor *p, const struct dataset *rows, double *cosine, struct err *e) {
    const struct plan_tensor *k = plan_prototypes(p->plan);
    bool by_task = plan_retrieves_by_task(p->plan); /* else one pass serves all tasks */
    int tasks = p->plan->tasks, rc = 0;
    struct retrieving x;
    BUG_IF(!retrieve_has_prototypes(p));
    double *z = xmalloc(2 * (size_t)k->cols * sizeof *z), *own = z + k->cols;
    passes_open(&x, p);
    for (size_t i = 0; i < rows->examples && !rc; i++)
        for (int t = 0; t < tasks && !rc; t++) {
            if (!t || by_task) retrieve_row_vector(&x, rows, (uint32_t)i, t, true, k->cols, z);
            for (int c = 0; c < k->cols; c++)
                own[c] = (double)p->params[k->offset + (size_t)t * (size_t)k->cols + (size_t)c];
            cosine[i * (size_t)tasks + (size_t)t] = cosine_of(z, own, k->cols);
            if (!isfinite(cosine[i * (size_t)tasks + (size_t)t])) rc = not_finite(rows, i, e);
        }
    passes_close(&x);
    free(z);
    return rc;
}

/* ---- losses ---- */

static int text_loss(struct retrieving *x, const struct task *t, int task, double *loss, struct err *e) {
    struct text_scoring s;
    const struct dataset *d = &t->train;
    uint64_t bad = 0;
    size_t tokens = 0;
    bool finite = true;
    double sum = 0;
    text_scoring_init(&s, x->p->m, d, true, NULL);
    s.task = task;
    for (int i = 0; i < text_scoring_units(&s) && finite; i++)
        finite = text_scoring_unit(&s, i, x->w.tape, x->w.arena, x->attach, x->p->params, x->p->generated,
                                   &bad);
    for (size_t i = 0; i < d->examples; i++) {
        sum += s.loss[i];
        tokens += d->target_start[i + 1] - d->target_start[i];
    }
    *loss = tokens ? sum / (double)tokens : 0;
    text_scoring_release(&s);
    return finite ? 0
                  : err_set(e, ERR_FAILED, "%s: example %llu: NaN or infinite logits", d->path,
                            (unsigned long long)bad + 1);
}

/* Returns −log softmax of the cosines with the class means of the other examples, divided by the
 * temperature. */
static double class_loss(const struct dataset *d, const double *v, int width, size_t row, double *mean) {
    double top = -INFINITY, sum = 0, own = 0, *logit = mean + width;
    int32_t label = d->example[row].label;
    for (int c = 0; c < d->classes; c++) {
        int n = 0;
        memset(mean, 0, (size_t)width * sizeof *mean);
        for (int with_self = 0; with_self < 2 && !n; with_self++)
            for (size_t i = 0; i < d->examples; i++) {
                if (d->example[i].label != c || (i == row && !with_self)) continue;
                n++;
                for (int j = 0; j < width; j++) mean[j] += v[i * (size_t)width + (size_t)j];
            }
        logit[c] = n ? cosine_of(v + row * (size_t)width, mean, width) / temperature : -INFINITY;
        if (c == label) own = logit[c];
        if (logit[c] > top) top = logit[c];
    }
    for (int c = 0; c < d->classes; c++) sum += exp(logit[c] - top);
    return top + log(sum) - own;
}

static double score_loss(const struct dataset *d, const double *v, int width, size_t row) {
    double sum = 0, weights = 0;
    for (size_t i = 0; i < d->examples; i++) {
        if (i == row) continue;
        double w = exp((cosine_of(v + row * (size_t)width, v + i * (size_t)width, width) - 1) / temperature);
        sum += w * d->example[i].target;
        weights += w;
    }
    double off = weights > 0 ? sum / weights - d->example[row].target : 0;
    return off * off;
}

static int label_loss(struct retrieving *x, const struct task *t, int task, double *loss, struct err *e) {
    const struct dataset *d = &t->train;
    int width = x->p->m->arch.width;
    double *v = xmalloc((d->examples * (size_t)width + (size_t)width + (size_t)d->classes + 1) * sizeof *v),
           sum = 0;
    double *room = v + d->examples * (size_t)width;
    for (size_t i = 0; i < d->examples; i++) retrieve_row_vector(x, d, (uint32_t)i, task, false, width,
                                                             v + i * (size_t)width);
    for (size_t i = 0; i < d->examples; i++)
        sum += d->kind == DATA_CLASSES ? class_loss(d, v, width, i, room) : score_loss(d, v, width, i);
    free(v);
    *loss = sum / (double)d->examples;
    return isfinite(*loss) ? 0 : err_set(e, ERR_FAILED, "%s: NaN or infinite vectors", d->path);
}

int retrieve_losses(const struct predictor *p, const struct task *t, double *loss, struct err *e) {
    struct retrieving x;
    int rc = 0;
    passes_open(&x, p);
    bool same = t->kind != DATA_TEXT && !plan_encodes_by_task(p->plan);
    for (int i = 0; i < p->plan->tasks && !rc; i++) {
        if (i && same) loss[i] = loss[0];
        else rc = t->kind == DATA_TEXT ? text_loss(&x, t, i, &loss[i], e) : label_loss(&x, t, i, &loss[i], e);
    }
    passes_close(&x);
    return rc;
}
