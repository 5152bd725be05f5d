#include "core/train/run/score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/model/joined.h"
#include "core/train/run/batch.h"
#include "core/train/run/order.h"

enum { CHUNK_TOKENS = 1024 }; /* large enough for efficient matrix products, small enough for the cache */

void scoring_init(struct scoring *s, const struct dataset *d, int outputs) {
    *s = (struct scoring){ .data = d, .outputs = outputs };
    s->order = xmalloc(d->examples * sizeof *s->order);
    s->first = xmalloc((d->examples + 1) * sizeof *s->first);
    s->logits = xcalloc(d->examples * (size_t)outputs, sizeof *s->logits);
    s->loss = xcalloc(d->examples, sizeof *s->loss);
    order_by_length(s->order, d->examples, d->start, NULL);
    size_t tokens = 0;
    s->first[0] = 0;
    for (size_t i = 0; i < d->examples; i++) {
        size_t length = d->start[s->order[i] + 1] - d->start[s->order[i]];
        if (i > s->first[s->chunks] && tokens + length > CHUNK_TOKENS) {
            s->first[++s->chunks] = (uint32_t)i;
            tokens = 0;
        }
        tokens += length;
    }
    if (d->examples) s->first[++s->chunks] = (uint32_t)d->examples;
}

void scoring_release(struct scoring *s) {
    free(s->order);
    free(s->first);
    free(s->logits);
    free(s->loss);
    *s = (struct scoring){ 0 };
}

double softmax(const double *logits, int n, double *p) {
    double top = logits[0], sum = 0;
    for (int i = 1; i < n; i++)
        if (logits[i] > top) top = logits[i];
    for (int i = 0; i < n; i++) sum += p[i] = exp(logits[i] - top);
    for (int i = 0; i < n; i++) p[i] /= sum;
    return top + log(sum);
}

int argmax(const double *v, int n) {
    int best = 0;
    for (int i = 1; i < n; i++)
        if (v[i] > v[best]) best = i;
    return best;
}

double token_loss(const real *logits, int n, int32_t label, bool *right) {
    real top = kernel_largest((size_t)n, logits);
    *right = logits[label] == top;
    for (int32_t i = 0; i < label && *right; i++) *right = logits[i] < top;
    return (double)top - (double)logits[label] + (double)kernel_log_sum((size_t)n, top, logits);
}

/* Returns −log softmax(logits)[label] without computing the probabilities. */
static double cross_entropy(const double *logits, int n, int32_t label) {
    double top = logits[argmax(logits, n)], sum = 0;
    for (int i = 0; i < n; i++) sum += exp(logits[i] - top);
    return top + log(sum) - logits[label];
}

static double score_row_loss(const struct scoring *s, const struct example *row, const double *logits) {
    if (!row->labeled) return 0;
    if (s->data->kind == DATA_CLASSES) return cross_entropy(logits, s->outputs, row->label);
    return (logits[0] - row->target) * (logits[0] - row->target);
}

/* Copies the vectors of a batch from a layer's output: that of sequence i to out[row[i]·width …]. */
static void score_pool_rows(const struct forward *f, node output, const uint32_t *row, bool mean, real *out) {
    size_t d = (size_t)f->model->arch.width;
    const real *v = tape_value(f->tape, output);
    for (int i = 0; i < f->rows.count; i++) {
        real *to = out + (size_t)row[i] * d;
        int count = mean ? joined_tokens(f, i) : 1;
        size_t first = (size_t)(mean ? joined_token(f, i, 0) : joined_read(f, i));
        size_t rest = (size_t)joined_token(f, i, 1) - 1; /* where the others are consecutive */
        for (size_t j = 0; j < d; j++) {
            double sum = count ? (double)v[first * d + j] : 0;
            for (int t = 1; t < count; t++) sum += (double)v[(rest + (size_t)t) * d + j];
            to[j] = (real)(sum / (double)count);
        }
    }
}

/* Scores a chunk and stores the outputs of layers. */
struct kept {
    const struct forward *f;
    const struct scoring *s;
    const uint32_t *row;
};

static void keep_layer(void *self, int layer, node output) {
    const struct kept *k = self;
    if (k->s->layer[layer]) score_pool_rows(k->f, output, k->row, k->s->mean, k->s->layer[layer]);
}

static void keep_retrieved(struct attach *a, struct forward *f, node encoded, const uint32_t *row,
                           real *out) {
    node z = attach_retrieve(a, f, encoded);
    size_t width = (size_t)tape_cols_of(f->tape, z);
    const real *v = tape_value(f->tape, z);
    for (int i = 0; i < f->rows.count; i++)
        memcpy(out + (size_t)row[i] * width, v + (size_t)i * width, width * sizeof *v);
}

bool scoring_chunk(struct scoring *s, int chunk, struct tape *tape, struct arena *arena,
                   struct attach *attach, const struct model *m, const real *params,
                   const real *generated, uint64_t *bad) {
    const uint32_t *rows = s->order + s->first[chunk];
    int n = (int)(s->first[chunk + 1] - s->first[chunk]);
    struct batch b;
    struct forward f;
    tape_reset(tape, false, 0, 0);
    batch_pack(&b, arena, &m->arch, s->data, s->frozen, rows, n, false);
    if (attach) attach_for_task(attach, s->task);
    forward_init(&f, tape, m, &b,
                 attach ? attach_begin(attach, tape, params, generated, NULL) : hooks_plain(s->precision));
    struct kept kept = { &f, s, rows };
    if (s->layer) {
        f.layer_done = keep_layer;
        f.layer_self = &kept;
    }
    node encoded = forward_encode(&f);
    if (s->retrieved) keep_retrieved(attach, &f, encoded, rows, s->retrieved);
    if (!attach || !s->outputs) return true;
    node out = attach_head(attach, &f, attach_pool(attach, &f, encoded), (struct task_range){ s->task, 0, n },
                           0);
    const real *v = tape_value(tape, out);
    bool finite = true;
    for (int i = 0; i < n; i++) {
        double *logits = s->logits + (size_t)rows[i] * (size_t)s->outputs;
        for (int j = 0; j < s->outputs; j++) {
            logits[j] = (double)v[(size_t)i * (size_t)s->outputs + (size_t)j];
            if (finite && !isfinite(logits[j])) {
                finite = false;
                *bad = b.example_id[i];
            }
        }
        s->loss[rows[i]] = score_row_loss(s, &s->data->example[rows[i]], logits);
    }
    return finite;
}

static void metrics_of_regression(struct scoring *s, struct metrics *out) {
    size_t n = s->data->examples;
    double *target = xmalloc(n * sizeof *target);
    bool *has = xmalloc(n * sizeof *has);
    for (size_t i = 0; i < n; i++) {
        target[i] = s->data->example[i].target;
        has[i] = s->data->example[i].labeled;
    }
    metrics_of_scores(out, target, has, s->logits, s->loss, n);
    free(target);
    free(has);
}

void scoring_metrics(struct scoring *s, int positive, struct metrics *out) {
    if (s->data->kind == DATA_REGRESSION) {
        metrics_of_regression(s, out);
        return;
    }
    size_t n = s->data->examples;
    int32_t *label = xmalloc(n * sizeof *label), *pred = xmalloc(n * sizeof *pred);
    for (size_t i = 0; i < n; i++) {
        label[i] = s->data->example[i].labeled ? s->data->example[i].label : -1;
        pred[i] = argmax(s->logits + i * (size_t)s->outputs, s->outputs);
    }
    metrics_of_classes(out, label, pred, s->loss, n, s->outputs, positive);
    free(label);
    free(pred);
}
