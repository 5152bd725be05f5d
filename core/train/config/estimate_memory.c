/* Peak memory of a run, from its plan: what run_peak_bytes measures, part by part. */
#include <math.h>
#include <stdlib.h>

#include "core/data/dataset.h"
#include "core/engine/packed.h"
#include "core/method/masked.h"
#include "core/method/slots.h"
#include "core/train/config/complete.h"
#include "core/train/config/estimate.h"

enum {
    CHUNK = 1024,      /* tokens of a part of an evaluation (core/train/run/score.c) */
    LOGITS = 8 << 20,  /* of such a part (core/train/run/text_score.c) and of a block of op_vocabulary.c */
    BLOCK_ROWS = 64,   /* smallest block of op_vocabulary.c */
    KEPT_KEYS = 288,   /* longest sequence whose attention weights are stored (op_attention.c) */
};

/* Tokens that a worker processes together, and attention weights per head. */
struct load {
    double rows, tokens, targets;
    double self, causal, cross;
};

/* `square`: mean of the squares of source lengths. */
static struct load load_of(double rows, double tokens, double targets, double square) {
    double count = fmax(rows, 1);
    return (struct load){ count, tokens, targets, fmax(count * square, tokens * tokens / count),
                          targets * targets / count, tokens * targets / count };
}

/* Returns the load of the largest part of a training step: the examples of a micro-batch are distributed over
 * shards by length, and among the micro-batches of a run some are longer than the mean. */
static struct load largest_part(const struct estimate_of *x) {
    double micro = ceil((double)x->c->batch / x->c->accumulate), shards = fmin(x->c->shards, micro),
           longest = fmax(x->longest, x->tokens), square = fmax(x->squares, x->tokens * x->tokens),
           draws = fmax(2, (double)config_steps(x->c, x->train_rows) * x->c->accumulate),
           tail = sqrt(2 * log(draws) * micro * (square - x->tokens * x->tokens)),
           all = fmin(micro * x->tokens + tail, micro * longest), rows = ceil(micro / shards);
    double part = fmin(fmax(all / shards, longest), rows * longest);
    return load_of(rows, part, rows * x->targets, square * part / (rows * x->tokens));
}

/* Returns the reals of all values of a layer: they are stored until it has finished. */
static double layer_values(const struct arch *a, int stack, const struct load *l, bool dropout) {
    double d = a->width, h = (double)a->heads * a->head_width, n = stack ? l->targets : l->tokens;
    double key = arch_key_width(a), placed = (h + key) * ((a->rope.theta > 0) + a->qk_norm);
    double residual = (stack ? 3 : 2) * (a->pre_norm ? 3 : 2) + (dropout ? (stack ? 3 : 2) : 0);
    double inner = (a->gated ? 3 : 1) + (dropout && a->activation_dropout > 0);
    double all = n * (2 * h + 2 * key + placed + residual * d + inner * a->inner);
    return all + (stack ? 2 * h * (n + l->tokens) : 0);
}

/* Returns the reals that a layer stores for the backward pass; `keys`: of prefixes. */
static double layer_stored(const struct arch *a, int stack, const struct load *l, double keys) {
    double d = a->width, h = (double)a->heads * a->head_width, n = stack ? l->targets : l->tokens;
    double key = arch_key_width(a);
    double stored = n * (h + 2 * key + (stack ? 3 : 2) * d + (a->gated ? 3 : 1) * a->inner);
    if (n / l->rows + keys <= KEPT_KEYS) stored += a->heads * ((stack ? l->causal : l->self) + n * keys);
    if (!stack) return stored;
    return stored + h * (n + 2 * l->tokens) + (l->tokens / l->rows <= KEPT_KEYS ? a->heads * l->cross : 0);
}

/* Reals of the modules: stored for the backward pass, values of all layers, weights made per example. */
struct own {
    double stored, values, made;
};

/* A matrix that maps tokens, trained or generated: rows × cols at a place. */
struct mapping {
    int module, stack, site, layer; /* module -1: of the model */
    double rows, cols;
};

/* Adds one after another; *last and *seen: the one before it, and the widest input of its place. */
static void own_add(const struct estimate_of *x, const struct load *l, struct mapping m, struct mapping *last,
                    double *seen, struct own *sum) {
    double n = m.stack == STACK_DECODER ? l->targets : l->tokens;
    bool attention = m.site == SUB_SELF || m.site == SUB_CROSS;
    const struct module *of = m.module < 0 ? NULL : &x->p->method.module[m.module];
    if (m.layer < 0 || m.rows < 2 || m.cols < 2 || (of && of->fn == FN_SOFTMAX)) return;
    if (m.module != last->module || m.stack != last->stack || m.site != last->site || m.layer != last->layer)
        *seen = 0;
    if (m.cols != *seen) sum->stored += n * m.cols * (!of && attention ? 2 : 1); /* of q, k and v; of o */
    *seen = fmax(*seen, m.cols);
    *last = m;
    if (!of) return;
    bool up = m.rows >= x->a->width, normed = of->norm != NORM_NONE || of->norm_before;
    sum->values += n * m.rows * (up && normed ? 2 : 1);
    if (up && normed) sum->stored += n * m.rows;
    if (module_in_weight(of) && up) sum->stored += 2 * m.rows * x->a->width;
}

/* Every trained matrix stores its input, once where the maps of a place have the same; changed weights and
 * those of an example are made on the tape. */
static struct own own_of(const struct estimate_of *x, const struct load *l) {
    const struct plan *p = x->p;
    struct own sum = { 0, 0, 0 };
    struct mapping last = { .module = -2 };
    double seen = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind != PLAN_MODEL && t->kind != PLAN_OWN) continue;
        own_add(x, l,
                (struct mapping){ t->kind == PLAN_MODEL ? -1 : t->module, t->stack, t->site, t->layer,
                                  (double)t->rows / fmax(t->blocks, 1), (double)t->cols },
                &last, &seen, &sum);
    }
    for (int i = 0; i < p->generated + p->per_example; i++) {
        const struct plan_generated *t =
            i < p->generated ? &p->generated_tensor[i] : &p->example_tensor[i - p->generated];
        own_add(x, l,
                (struct mapping){ t->module, t->stack, t->site, t->layer,
                                  (double)t->rows / fmax(t->blocks, 1), (double)t->cols },
                &last, &seen, &sum);
        /* for the batch, for each example, and hidden values of the generator */
        if (i >= p->generated) sum.made += 2.25 * l->rows * (double)t->count;
    }
    return sum;
}

static double prefix_keys(const struct plan *p) {
    double keys = 0;
    for (int i = 0; i < p->method.count; i++)
        if (p->method.module[i].fn == FN_SOFTMAX) keys += p->method.module[i].size;
    return keys;
}

/* Returns the reals that the layers store for the backward pass: those of all, or with recompute the outputs of
 * all, and those of the largest with the gradients of its values. */
static double layers_stored(const struct estimate_of *x, const struct load *l, double own, double largest) {
    const struct arch *a = x->a;
    double keys = prefix_keys(x->p), encoder = layer_stored(a, STACK_ENCODER, l, keys),
           decoder = a->decoder_layers ? layer_stored(a, STACK_DECODER, l, keys) : 0;
    int trained = a->encoder_layers - (x->p->lowest_layer > 0 ? x->p->lowest_layer : 0);
    if (!x->c->recompute) return own + trained * encoder + a->decoder_layers * decoder;
    return own / (a->encoder_layers + a->decoder_layers) + fmax(encoder, decoder) + largest / 2 +
           a->width * (trained * l->tokens + a->decoder_layers * l->targets);
}

/* Returns the reals of a worker's arena in a training step. */
static double step_reals(const struct estimate_of *x) {
    const struct arch *a = x->a;
    const struct load l = largest_part(x);
    const struct own own = own_of(x, &l);
    bool dropout = (x->c->dropout >= 0 ? x->c->dropout : a->dropout) > 0;
    double encoder = layer_values(a, STACK_ENCODER, &l, dropout),
           decoder = a->decoder_layers ? layer_values(a, STACK_DECODER, &l, dropout) : 0,
           values = encoder + own.values / (a->encoder_layers + a->decoder_layers) + 2 * own.made,
           stored = layers_stored(x, &l, own.stored, fmax(encoder, decoder)), vocabulary = a->vocabulary;
    if (!a->decoder_layers) return stored + values;
    double block = fmin(l.targets, fmax(BLOCK_ROWS, floor(LOGITS / vocabulary)));
    return stored + values + decoder + block * vocabulary;
}

/* Returns the reals of a worker's arena in an evaluation. */
static double evaluation_reals(const struct estimate_of *x) {
    const struct arch *a = x->a;
    double text = x->tokens - method_rows(&x->p->method) + x->targets,
           tokens = fmin(fmax(CHUNK, x->longest), (double)x->dev_rows * text), rows = tokens / fmax(text, 1);
    const struct load l = load_of(rows, rows * x->tokens, rows * x->targets, x->squares);
    const struct own own = own_of(x, &l);
    double values = 2 * l.tokens * a->width + layer_values(a, STACK_ENCODER, &l, false) + own.made +
                    own.values / (a->encoder_layers + a->decoder_layers);
    if (!a->decoder_layers) return values;
    return values + layer_values(a, STACK_DECODER, &l, false) + fmin(LOGITS, l.targets * a->vocabulary);
}

/* Parameters of the model's maps in bfloat16, at 4 bytes each. */
struct packed_maps {
    double own;   /* trained or generated by the run */
    double extra; /* frozen, and in float32 too: the word embeddings as an output map, maps that DoRA reads */
    double start; /* packed first, before their float32 values are released */
};

static struct packed_maps packed_maps_of(const struct estimate_of *x) {
    const struct arch *a = x->a;
    struct packed_maps all = { 0, 0, 0 };
    double table = (double)a->width * a->vocabulary;
    struct tensor_info *tensor;
    if (precision_resolved(x->c->precision) == PRECISION_F32) return all;
    int tensors = arch_tensors(a, &tensor);
    if (a->decoder_layers ? a->tied : x->p->words) all.extra += table;
    else if (a->decoder_layers) all.start = table;
    for (int i = 0; i < x->p->tensors; i++) {
        const struct plan_tensor *t = &x->p->tensor[i];
        if (t->kind == PLAN_MODEL && arch_is_map(a, tensor[t->tensor].role)) all.own += (double)t->count;
        if (t->kind != PLAN_OWN || t->role != SLOT_LENGTH) continue;
        int of = arch_find(tensor, tensors, tap_weight_role(x->p->method.module[t->module].write), t->stack,
                           t->site, t->layer);
        if (of >= 0) all.extra += (double)tensor[of].rows * tensor[of].cols;
    }
    for (int i = 0; i < x->p->generated; i++) {
        const struct plan_generated *t = &x->p->generated_tensor[i];
        if (t->tensor >= 0 && arch_is_map(a, tensor[t->tensor].role)) all.own += (double)t->count;
    }
    free(tensor);
    return all;
}

/* Returns the reals of parameters, gradients and optimizer state; more where masks are learned. */
static double state_reals(const struct estimate_of *x) {
    const struct run_config *c = x->c;
    const struct plan *p = x->p;
    int blocks = 2 + (c->optimizer == OPTIMIZER_ADAMW ? 2 : c->momentum > 0) + 2 * p->method.budget.on +
                 (p->generated > 0);
    return (double)blocks * (double)p->trained + 2 * (double)p->generated_size;
}

/* Returns the bytes of the examples where they are unknown: five characters per token. */
static double guessed_data(const struct estimate_of *x) {
    double tokens = x->tokens + x->targets;
    return (double)(x->train_rows + x->dev_rows) *
           (sizeof(struct example) + tokens * (5 + sizeof(int32_t) + 1));
}

/* Returns the reals of the activations that a contrastive loss stores for all parts of a step. */
static double joined_reals(const struct run_config *c, double parts, double step) {
    bool fits = parts * step * sizeof(real) <= c->join_memory * 1048576.0;
    return config_has_join(c) && (c->join == JOIN_HELD || (c->join == JOIN_AUTO && fits)) ? parts * step : 0;
}

void estimate_memory(const struct estimate_of *x, struct estimate *out) {
    const struct run_config *c = x->c;
    const struct plan *p = x->p;
    double parts = (double)c->shards * c->accumulate, workers = fmin(fmax(x->workers, 1), fmax(c->shards, 1)),
           step = step_reals(x), evaluation = x->dev_rows ? evaluation_reals(x) : 0,
           activations = 1.05 * fmax(step, evaluation); /* small values are not counted */
    double gradients = parts > 1 ? (double)(p->trained + p->generated_size) : 0,
           prologue = p->generated ? 4 * (double)p->generated_size : 0,
           data = x->data > 0 ? x->data : guessed_data(x);
    const struct packed_maps maps = packed_maps_of(x);
    bool in_file = x->a->causal && (x->weights_in ? x->weights_in : c->weights_in) == WEIGHTS_FILE;
    double embedding = (double)x->a->vocabulary * x->a->width; /* the only matrix that remains in memory */
    out->shared = 4 * maps.extra + (in_file ? sizeof(real) * embedding + model_lent_bytes((double)p->model)
                                            : sizeof(real) * (double)p->model);
    out->bytes = out->shared + 4 * maps.own + data + sizeof(real) * state_reals(x) +
                 fmax(4 * maps.start, sizeof(real) * (prologue + joined_reals(c, parts, step) +
                                                      workers * (gradients + activations)));
}
