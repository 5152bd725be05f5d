#include "core/train/config/estimate.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/engine/blas.h"
#include "core/method/masked.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"
#include "core/train/config/stages.h"

/* Fitted constants: throughput of a step relative to a matrix product; share of its time outside of matrix
 * products; seconds per gate and step. */
static const double rate_share = 0.7, outside_share = 0.17, gate_seconds = 57e-9;

struct rate_asked {
    double seconds;
    double *gflops; /* per unit */
};

static void rate_unit(void *self, int index, int worker) {
    const struct rate_asked *r = self;
    (void)worker;
    r->gflops[index] = blas_layer_rate(r->seconds);
}

/* Returns the speed of products in bfloat16 relative to float32. */
static double bf16_speed(double seconds) {
    enum { TOKENS = 128, WIDTH = 768 };
    if (!packed_is_native()) return 1;
    return packed_rate(TOKENS, WIDTH, WIDTH, seconds) / blas_rate(TOKENS, WIDTH, WIDTH, seconds);
}

struct estimate_speed estimate_speed(struct crew *c, double seconds) {
    int n = crew_width(c);
    double sum = 0;
    struct rate_asked r = { seconds, xcalloc((size_t)n, sizeof *r.gflops) };
    crew_do(c, &(struct crew_work){ .self = &r, .units = n, .unit = rate_unit });
    for (int i = 0; i < n; i++) sum += r.gflops[i];
    free(r.gflops);
    return (struct estimate_speed){ sum / n, bf16_speed(seconds / 4) };
}

double estimate_here(double seconds, int workers, double gflops) {
    static const double rate = 100;
    double together = 1 + 0.7 * (fmin(fmax(workers, 1), 4) - 1);
    return gflops > 0 ? seconds * rate / (gflops * together) : 0;
}

double estimate_scaled(double seconds, const struct arch *a, int workers, double gflops) {
    static const double own_layers = 3, own_width = 128, own_inner = 512;
    if (!a) return 0;
    double d = a->width, own = own_layers * (8 * own_width * own_width + 4 * own_width * own_inner);
    double layer = 8 * d * a->heads * a->head_width + (a->gated ? 6 : 4) * d * a->inner;
    double work = (a->encoder_layers + 1.5 * a->decoder_layers) * layer / own;
    return estimate_here(seconds * (outside_share + (1 - outside_share) * work), workers, gflops);
}

/* Floating-point operations of the forward pass of one example, by stack. */
struct row_work {
    double encoder, decoder, logits; /* per layer; the output projection */
};

static struct row_work estimate_row(const struct estimate_of *x) {
    const struct arch *a = x->a;
    double d = a->width, heads = (double)a->heads * a->head_width, n = x->tokens, m = x->targets;
    double maps = 8 * d * heads, inner = (a->gated ? 6 : 4) * d * a->inner;
    return (struct row_work){
        .encoder = n * (maps + inner + 4 * n * heads),
        .decoder = m * (1.5 * maps + inner + 4 * (n + m) * heads) + 0.5 * n * maps,
        .logits = 2 * m * d * a->vocabulary,
    };
}

/* Returns the lowest layer of a stack that needs gradients: the first with trainable parameters, or `layers`
 * where there is none. */
static int lowest_trained(const struct plan *p, int stack, int layers) {
    int lowest = layers;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        bool everywhere = t->kind == PLAN_NETWORK || (t->kind != PLAN_HEAD && t->layer < 0);
        if (t->frozen || t->kind == PLAN_HEAD) continue;
        if (everywhere) return 0;
        if (t->stack == stack && t->layer < lowest) lowest = t->layer;
    }
    return lowest;
}

/* Returns the operations per example of a training step. */
static double step_work(const struct estimate_of *x) {
    const struct row_work w = estimate_row(x);
    int encoder = x->a->encoder_layers, decoder = x->a->decoder_layers;
    int low = lowest_trained(x->p, STACK_ENCODER, encoder),
        low_decoder = lowest_trained(x->p, STACK_DECODER, decoder);
    if (low < encoder) low_decoder = 0; /* the encoder's gradient passes through the whole decoder */
    double work = w.encoder * (2 * encoder - low) + w.decoder * (2 * decoder - low_decoder) +
                  w.logits * (decoder ? 2 : 0);
    if (x->c->recompute) work += w.encoder * (encoder - low) + w.decoder * (decoder - low_decoder);
    for (int i = 0; i < x->p->tensors; i++) { /* gradients of whole matrices, and the modules' own
                                               * operations */
        const struct plan_tensor *t = &x->p->tensor[i];
        bool looked_up = t->rows > 4 * x->a->inner; /* embeddings are lookups */
        bool masked = masked_is_own(t), whole = t->kind == PLAN_MODEL || (masked && t->role == SLOT_MASK_W);
        if (t->kind == PLAN_HEAD || t->frozen || looked_up || (masked && !whole)) continue;
        work += (whole ? 2 : 6) * (double)t->count * (t->stack == STACK_DECODER ? x->targets : x->tokens);
    }
    return work;
}

static double eval_work(const struct estimate_of *x) {
    const struct row_work w = estimate_row(x);
    return w.encoder * x->a->encoder_layers + w.decoder * x->a->decoder_layers + w.logits;
}

/* Returns the number of evaluations of a run with `steps` steps. */
static double estimate_evaluations(const struct run_config *c, double steps, size_t rows) {
    if (c->eval_every > 0) return ceil(steps / c->eval_every);
    double an_epoch = ceil((double)rows / c->batch);
    return an_epoch > 0 ? ceil(steps / an_epoch) : 1;
}

/* Returns the number of parameters with a learned mask: each is trainable, and so is its gate. */
static double values_masked(const struct plan *p) {
    double values = 0;
    for (int i = 0; masked_has_gates(&p->method) && i < p->tensors; i++)
        if (masked_is_own(&p->tensor[i]) && p->tensor[i].role == SLOT_MASK_W)
            values += (double)p->tensor[i].count;
    return values;
}

/* Prompt vectors are processed like tokens. */
static struct estimate_of with_prompts(const struct estimate_of *of) {
    struct estimate_of all = *of;
    double rows = method_rows(&of->p->method);
    if (!(of->tokens > 0)) return all;
    all.squares = fmax(of->squares, of->tokens * of->tokens) + rows * (2 * of->tokens + rows);
    all.longest = fmax(of->longest, of->tokens) + rows;
    all.tokens += rows;
    return all;
}

/* Each worker computes the largest batch of an episode with parameters that were adapted to it. */
static void estimate_episodes(const struct estimate_of *of, struct estimate *out) {
    struct estimate_of x = *of;
    const struct regime r = config_regime(x.c);
    struct run_config c = *x.c;
    int batches = regime_batches(&r), support = (r.support + batches - 1) / batches;
    c.shards = r.tasks < x.workers ? r.tasks : x.workers > 1 ? x.workers : 1;
    c.accumulate = 1;
    x.dev_rows = 0; /* evaluations are episodes too */
    c.batch = c.shards * (r.query > support ? r.query : support);
    x.c = &c;
    estimate_memory(&x, out);
    out->bytes += sizeof(real) * (double)c.shards * (double)x.p->trained *
                  (regime_blocks(&r) + 1); /* and its labels */
}

bool estimate_bytes(const struct estimate_of *of, struct estimate *out) {
    struct estimate_of all = with_prompts(of);
    *out = (struct estimate){ NAN, NAN, NAN, NAN };
    if (!(all.tokens > 0) || !all.train_rows) return false;
    if (config_is_meta(of->c)) estimate_episodes(&all, out);
    else estimate_memory(&all, out);
    return true;
}

bool estimate_run(const struct estimate_of *of, struct estimate *out) {
    const struct run_config *c = of->c;
    const struct estimate_of all = with_prompts(of), *x = &all;
    if (config_is_meta(c) || config_is_staged(c) || !estimate_bytes(of, out)) {
        *out = (struct estimate){ NAN, NAN, NAN, NAN };
        return false;
    }
    double steps = (double)config_steps(c, x->train_rows);
    double dev = (double)(c->eval_rows > 0 && (size_t)c->eval_rows < x->dev_rows ? (size_t)c->eval_rows
                                                                                 : x->dev_rows);
    if (!(x->speed.gflops > 0)) return true;
    double rate = 1e9 * x->speed.gflops * rate_share * fmin(x->workers, c->shards);
    if (x->speed.bf16 > 0 && precision_resolved(c->precision) == PRECISION_BF16)
        rate /= outside_share + (1 - outside_share) / x->speed.bf16;
    out->step_seconds = step_work(x) * c->batch / rate + gate_seconds * values_masked(x->p);
    out->seconds = steps * out->step_seconds +
                   estimate_evaluations(c, steps, x->train_rows) * dev * eval_work(x) / rate;
    return true;
}
