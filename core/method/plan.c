#include "core/method/plan.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attempt.h"
#include "core/method/carry.h"
#include "core/method/classifier.h"
#include "core/method/fusion.h"
#include "core/method/generated.h"
#include "core/method/hyper.h"
#include "core/method/masked.h"
#include "core/method/packing.h"
#include "core/method/projection.h"
#include "core/method/prompt_rows.h"
#include "core/method/retriever.h"
#include "core/method/sources.h"
#include "core/method/words.h"

/* ---- names ---- */

static const char *tap_word(enum tap tap) {
    const char *name = tap_name(tap), *dot = strchr(name, '.');
    return dot ? dot + 1 : name;
}

static bool is_at(const struct module *m, const struct arch *a, const struct span *s) {
    struct span span[SPANS];
    int n = module_spans(m, a, span);
    for (int i = 0; i < n; i++)
        if (span[i].stack == s->stack && span[i].site == s->site) return true;
    return false;
}

/* "enc.3.self/linear.q", "dec.all.ffn/bottleneck.out.2", "enc.embed/scale.embed". The number distinguishes
 * modules of one function at one tap, in their order. */
void build_place(struct build *b, int module, const struct span *s, int layer) {
    const struct module *m = &b->p->method.module[module];
    char layer_text[16] = "all", twin[16] = "";
    int before = 1;
    for (int i = 0; i < module; i++) {
        const struct module *o = &b->p->method.module[i];
        before += o->fn == m->fn && o->write == m->write && is_at(o, b->a, s);
    }
    if (layer >= 0) snprintf(layer_text, sizeof layer_text, "%d", layer);
    if (before > 1) snprintf(twin, sizeof twin, ".%d", before);
    const char *stack = s->stack == STACK_DECODER ? "dec" : "enc";
    if (s->site == SUB_EMBED)
        snprintf(b->place, sizeof b->place, "%s.embed/%s%s", stack, fn_name(m->fn), twin);
    else
        snprintf(b->place, sizeof b->place, "%s.%s.%s/%s.%s%s", stack, layer_text,
                 site_name(s->site), fn_name(m->fn), tap_word(m->write), twin);
}

/* ---- tensors ---- */

/* Limit of counts, so that sums of several do not overflow. */
static const size_t COUNTED = INT64_MAX / 8;

/* Returns the number of values of a tensor and adds it to *sum; sets b->overflow if it is too large. */
static size_t build_count(struct build *b, int64_t rows, int64_t cols, size_t *sum) {
    size_t n;
    if (__builtin_mul_overflow((size_t)rows, (size_t)cols, &n) || n > COUNTED - *sum) b->overflow = true;
    else *sum += n;
    return n;
}

static size_t plan_add_tensor(struct build *b, struct plan_tensor t) {
    struct plan *p = b->p;
    GROW(p->tensor, b->room, p->tensors + 1);
    t.offset = p->trained;
    t.count = build_count(b, t.rows, t.cols, &p->trained);
    p->tensor[p->tensors++] = t;
    return t.count;
}

const struct function_slot *function_slot(const struct module *m, enum slot slot) {
    for (const struct function_slot *s = function_of(m)->slots; s && s->name; s++)
        if (s->slot == slot) return s;
    return NULL;
}

static int64_t dim_of(enum dim d, const struct module *m, const struct arch *a) {
    switch (d) {
    case DIM_ONE: return 1;
    case DIM_SIZE: return m->size;
    case DIM_READ: return tap_width(a, m->read);
    case DIM_WRITE: return tap_width(a, m->write);
    case DIM_KEYS: return tap_width(a, TAP_A_K);
    case DIM_VOCABULARY: return a->vocabulary;
    }
    BUG("unknown slot dimension %d", d);
}

bool function_slot_shape(const struct function_slot *s, const struct module *m, const struct arch *a,
                         struct slot_shape *out) {
    *out = (struct slot_shape){ dim_of(s->rows, m, a), dim_of(s->cols, m, a), false };
    return !s->fit || s->fit(m, a, out);
}

/* Names of slots that belong to no function. */
static const char *network_slot_name(enum slot slot) {
    static const char *const names[SLOT_COUNT] = {
        [SLOT_SCALE] = "s",         [SLOT_CHANNEL] = "s",         [SLOT_GATE_W] = "w_g",
        [SLOT_GATE_B] = "b_g",      [SLOT_MLP_E] = "E",           [SLOT_MLP_W1] = "W_1",
        [SLOT_MLP_B1] = "b_1",      [SLOT_MLP_W2] = "W_2",        [SLOT_MLP_B2] = "b_2",
        [SLOT_PROMPT] = "P",        [SLOT_PROMPT_DOWN_K] = "D_k", [SLOT_PROMPT_UP_K] = "U_k",
        [SLOT_KRON_A] = "A",        [SLOT_KRON_A_DOWN] = "A_d",   [SLOT_KRON_A_UP] = "A_u",
        [SLOT_KRON_L_DOWN] = "L_d", [SLOT_KRON_R_DOWN] = "R_d",   [SLOT_KRON_L_UP] = "L_u",
        [SLOT_KRON_R_UP] = "R_u",   [SLOT_PROMPT_DOWN_V] = "D_v", [SLOT_PROMPT_UP_V] = "U_v",
        [SLOT_MLP_W3] = "W_3",      [SLOT_MLP_B3] = "b_3",        [SLOT_MASK_W] = "w",
        [SLOT_PRODUCT] = "P",       [SLOT_PRODUCT_U] = "u",       [SLOT_PRODUCT_V] = "v"
    };
    if (slot >= SLOT_LSTM && slot <= SLOT_LSTM_LAST) return prompt_lstm_name(slot);
    BUG_IF(!names[slot]);
    return names[slot];
}

static bool network_slot_is_vector(enum slot slot) {
    return slot == SLOT_SCALE || slot == SLOT_CHANNEL || slot == SLOT_GATE_B || slot == SLOT_MLP_B1 ||
           slot == SLOT_MLP_B2 || slot == SLOT_MLP_B3 ||
           (slot >= SLOT_LSTM && slot <= SLOT_LSTM_LAST && prompt_lstm_is_bias(slot));
}

/* "W_d" */
static const char *slot_name(const struct module *m, enum slot slot) {
    const struct function_slot *own = function_slot(m, slot);
    return own ? own->name : network_slot_name(slot);
}

static bool slot_is_vector(const struct module *m, enum slot slot) {
    const struct function_slot *own = function_slot(m, slot);
    return own ? own->rows == DIM_ONE : network_slot_is_vector(slot);
}

void build_own(struct build *b, int module, const struct span *s, int layer, enum slot slot, int blocks,
               int64_t rows, int64_t cols) {
    const struct module *m = &b->p->method.module[module];
    bool in_training = slot >= SLOT_MLP_E && slot <= SLOT_LSTM_LAST;
    struct plan_tensor t = { .kind = PLAN_OWN, .module = module, .stack = s->stack, .site = s->site,
                            .layer = layer, .tensor = -1, .blocks = blocks, .rows = blocks * rows,
                            .cols = cols, .stored = !in_training, .decays = !slot_is_vector(m, slot),
                            .role = (int)slot };
    build_network(b, t, "%s.%s", b->place, slot_name(m, slot));
}

struct plan_tensor build_part(enum plan_kind kind, enum slot slot, int64_t rows, int64_t cols) {
    return (struct plan_tensor){ .kind = kind, .module = -1, .site = SUB_EMBED, .layer = -1, .tensor = -1,
                                 .blocks = 1, .rows = rows, .cols = cols, .stored = true, .decays = rows > 1,
                                 .role = (int)slot };
}

size_t build_network(struct build *b, struct plan_tensor t, const char *name, ...) {
    va_list args;
    va_start(args, name);
    vsnprintf(t.name, sizeof t.name, name, args);
    va_end(args);
    return plan_add_tensor(b, t);
}

void build_retriever(struct build *b, enum slot slot, int64_t rows, int64_t cols) {
    struct plan_tensor t = build_part(PLAN_NETWORK, slot, rows, cols);
    t.decays = !network_slot_is_vector(slot);
    build_network(b, t, "retriever.%s", network_slot_name(slot));
}

static struct plan_generated generated_of(const struct build *b, int module, const struct span *s, int layer,
                                          enum slot slot, int blocks, int64_t rows, int64_t cols) {
    struct plan_generated t = { .module = module,
                                .stack = s->stack,
                                .site = s->site,
                                .layer = layer,
                                .rows = blocks * rows,
                                .cols = cols,
                                .tensor = -1,
                                .slot = (int)slot,
                                .blocks = blocks };
    snprintf(t.name, sizeof t.name, "%s.%s", b->place, slot_name(&b->p->method.module[module], slot));
    return t;
}

void build_generated(struct build *b, int module, const struct span *s, int layer, enum slot slot, int blocks,
                     int64_t rows, int64_t cols) {
    struct plan *p = b->p;
    GROW(p->generated_tensor, b->generated_room, p->generated + 1);
    struct plan_generated *t = &p->generated_tensor[p->generated++];
    *t = generated_of(b, module, s, layer, slot, blocks, rows, cols);
    t->stored = source_row(p->method.module[module].source)->in_training;
    t->offset = p->generated_size;
    t->count = build_count(b, t->rows, cols, &p->generated_size);
}

void build_per_example(struct build *b, int module, const struct span *s, int layer, enum slot slot,
                       int64_t rows, int64_t cols) {
    struct plan *p = b->p;
    size_t ignored = 0;
    GROW(p->example_tensor, b->example_room, p->per_example + 1);
    struct plan_generated *t = &p->example_tensor[p->per_example++];
    *t = generated_of(b, module, s, layer, slot, 1, rows, cols);
    t->count = build_count(b, rows, cols, &ignored);
}

void build_composition(struct build *b, int module, const struct span *s, int layer, int blocks) {
    const struct module *m = &b->p->method.module[module];
    int gates = comp_gates(m->comp);
    if (m->comp == COMP_LEARNED) build_own(b, module, s, layer, SLOT_SCALE, blocks, 1, 1);
    if (m->comp == COMP_CHANNEL)
        build_own(b, module, s, layer, SLOT_CHANNEL, blocks, 1, tap_width(b->a, m->write));
    if (gates) build_own(b, module, s, layer, SLOT_GATE_W, blocks, gates, tap_width(b->a, gate_reads(m)));
    if (gates) build_own(b, module, s, layer, SLOT_GATE_B, blocks, 1, gates);
}

void build_slots(struct build *b, int module, const struct span *s, int layer, int blocks) {
    const struct module *m = &b->p->method.module[module];
    struct slot_shape shape;
    build_place(b, module, s, layer);
    for (const struct function_slot *x = function_of(m)->slots; x->name; x++)
        if (function_slot_shape(x, m, b->a, &shape))
            build_own(b, module, s, layer, x->slot, shape.one ? 1 : blocks, shape.rows, shape.cols);
    build_composition(b, module, s, layer, blocks);
}

static void add_model_tensor(struct build *b, int module, const struct tensor_info *list, int i) {
    const struct tensor_info *t = &list[i];
    struct plan_tensor x = { .kind = PLAN_MODEL, .module = module, .stack = t->stack,
                            .site = t->sublayer, .layer = t->layer, .tensor = i, .blocks = 1, .rows = t->rows,
                            .cols = t->cols, .stored = true, .decays = !t->vector,
                            .role = SLOT_MODEL, .pooler = tensor_is_pooler(t) };
    memcpy(x.name, t->name, sizeof x.name);
    plan_add_tensor(b, x);
}

static void add_module(struct build *b, int module, const struct tensor_info *list, int n) {
    const struct module *m = &b->p->method.module[module];
    struct span span[SPANS];
    if (m->fn == FN_MASKED) {
        masked_plan(b, module, list, n);
        return;
    }
    if (module_in_weight(m)) {
        for (int i = 0; i < n; i++)
            if (module_selects(m, b->a, &list[i])) add_model_tensor(b, module, list, i);
        return;
    }
    int spans = module_spans(m, b->a, span);
    for (int k = 0; k < spans; k++) source_row(m->source)->plan(b, module, &span[k]);
}

/* Adds the head of a task. A frozen head is in the block too, without gradient and weight decay. */
static void add_head(struct build *b, int task, const struct tensor_info *list, int n) {
    const struct arch *a = b->a;
    bool moves = b->p->method.head == METHOD_HEAD_TRAINED, several = b->p->tasks > 1;
    bool generated = b->p->method.generated.on && b->p->meta.on;
    if (!b->p->outputs[task] && !generated) return;
    const struct classifier *own = classifier_of(&b->p->method, a);
    bool dense = own ? own->layers == 2 : a->pooler_absent || (a->family == FAMILY_ROBERTA && !generated);
    bool pooler = a->pooler && !own; /* a pooler missing from the folder */
    int width = classifier_width(own, a);
    const struct {
        const char *name;
        enum slot slot;
        int rows, cols;
        bool there;
    } parts[] = {
        { pooler ? "head.pooler.weight" : "head.dense.weight", SLOT_POOLER_W, width, a->width,
         dense },
        { pooler ? "head.pooler.bias" : "head.dense.bias", SLOT_POOLER_B, 1, width, dense },
        { "head.weight", SLOT_HEAD_W, b->p->outputs[task], width, !generated },
        { "head.bias", SLOT_HEAD_B, 1, b->p->outputs[task],
          !generated && (own || !a->causal) }, /* as in transformers */
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        if (!parts[i].there) continue;
        struct plan_tensor t = build_part(PLAN_HEAD, parts[i].slot, parts[i].rows, parts[i].cols);
        t.task = task;
        t.no_gradient = !moves;
        t.decays = moves && (parts[i].slot == SLOT_HEAD_W || parts[i].slot == SLOT_POOLER_W);
        if (!own && (parts[i].slot == SLOT_POOLER_W || parts[i].slot == SLOT_POOLER_B))
            t.tensor = arch_find(list, n,
                                 parts[i].slot == SLOT_POOLER_W ? ROLE_POOLER_W : ROLE_POOLER_B,
                                 STACK_ENCODER, SUB_EMBED, -1);
        b->p->head += build_network(b, t, "%s%s%s", several ? b->p->task[task] : "", several ? "/" : "",
                                    parts[i].name);
    }
}

/* ---- tensors without a gradient ---- */

/* Returns whether a constant added to all keys of a layer has an effect. It has none on a softmax over these
 * keys only; it has one if a prefix shares the softmax, or if a module after `from` reads the keys, unless
 * linearly onto themselves, or if positions rotate the keys. */
static bool key_shift_matters(const struct plan *p, const struct arch *a, int stack, int site,
                              int layer, int from) {
    if (a->rope.theta > 0) return true;
    for (int i = 0; i < p->method.count; i++) {
        const struct module *m = &p->method.module[i];
        if (!module_covers(m, a, stack, site, layer)) continue;
        if (function_of(m)->form == FORM_KEYS && (m->comp == COMP_GATED || comp_gates(m->comp))) return true;
        bool reads = module_takes(m, TAKES_READ) && m->read == TAP_A_K;
        if (reads && m->write != TAP_A_K) return true;
        if (reads && !function_of(m)->linear && i > from) return true;
    }
    return false;
}

static bool shift_matters_somewhere(const struct plan *p, const struct arch *a,
                                    const struct plan_tensor *t) {
    if (t->layer >= 0) return key_shift_matters(p, a, t->stack, t->site, t->layer, t->module);
    for (int i = 0; i < arch_layers(a, t->stack); i++)
        if (module_covers(&p->method.module[t->module], a, t->stack, t->site, i) &&
            key_shift_matters(p, a, t->stack, t->site, i, t->module))
            return true;
    return false;
}

static bool stands_still(const struct plan *p, const struct arch *a, const struct tensor_info *list,
                         const struct plan_tensor *t) {
    if (t->fixed) return true;
    if (t->kind == PLAN_HEAD || t->kind == PLAN_NETWORK) return t->no_gradient;
    const struct module *m = &p->method.module[t->module];
    const struct classifier *c = classifier_of(&p->method, a);
    /* the output does not depend on it */
    if (t->kind == PLAN_MODEL && t->pooler && c && !c->pooler) return true;
    if (t->tensor >= 0)
        return list[t->tensor].role == ROLE_K_B &&
               !key_shift_matters(p, a, t->stack, t->site, t->layer, -1);
    const struct function *f = function_of(m);
    if (f->no_gradient && f->no_gradient(m, t->role, m->write != TAP_A_K || shift_matters_somewhere(p, a, t)))
        return true;
    /* s = 0 and W_u = 0: every product in the gradient remains 0. */
    return m->comp == COMP_LEARNED && m->scale == 0 && m->init == INIT_LORA;
}

/* ---- the plan ---- */

static int first_use(const struct plan *p, const struct arch *a, const struct tensor_info *list, int n,
                     const struct plan_tensor *t);

/* Returns the first use of masked changes, which can be in any tensor that the module selects. */
static int masked_first_use(const struct plan *p, const struct arch *a, const struct tensor_info *list, int n,
                            int module) {
    int lowest = a->encoder_layers + a->decoder_layers + 1;
    for (int i = 0; i < n; i++) {
        const struct plan_tensor t = {
            .kind = PLAN_MODEL, .module = module, .stack = list[i].stack, .layer = list[i].layer, .tensor = i
        };
        int use = module_selects(&p->method.module[module], a, &list[i]) ? first_use(p, a, list, n, &t)
                                                                         : lowest;
        if (use < lowest) lowest = use;
    }
    return lowest;
}

/* Returns the first layer of the forward pass that uses the tensor, numbered as lowest_layer. */
static int first_use(const struct plan *p, const struct arch *a, const struct tensor_info *list, int n,
                     const struct plan_tensor *t) {
    struct span span[SPANS];
    int layer = t->layer, base = t->stack == STACK_DECODER ? a->encoder_layers + 1 : 0;
    if (masked_is_own(t) && t->tensor < 0) return masked_first_use(p, a, list, n, t->module);
    if (t->kind == PLAN_OWN && t->tensor < 0 && layer < 0) {
        int spans = module_spans(&p->method.module[t->module], a, span);
        for (int i = 0; i < spans; i++)
            if (span[i].stack == t->stack && span[i].site == t->site) layer = span[i].first;
    }
    if (t->tensor >= 0 && layer < 0)
        switch (list[t->tensor].role) {
        case ROLE_POOLER_W: case ROLE_POOLER_B: return a->encoder_layers;
        case ROLE_FINAL_NORM_W: case ROLE_FINAL_NORM_B: case ROLE_LM_HEAD:
            layer = arch_layers(a, t->stack) - (t->stack == STACK_ENCODER);
            break;
        default: break;
        }
    return base + layer;
}

static void sum_up(struct plan *p, const struct arch *a, const struct tensor_info *list, int n) {
    p->lowest_layer = a->encoder_layers + (a->decoder_layers ? a->decoder_layers + 1 : 0);
    for (int i = 0; i < p->tensors; i++) {
        struct plan_tensor *t = &p->tensor[i];
        t->no_gradient = stands_still(p, a, list, t) || (p->meta.on && !t->outer);
        if (t->fixed) p->stored_method += t->count;
        if (t->kind == PLAN_HEAD || t->fixed) continue;
        bool of_rows = t->kind == PLAN_NETWORK && !attempt_is_own(t) &&
                       (t->role < SLOT_FUSION_QUERY_W || t->role > SLOT_FUSION_VALUE);
        int layer = of_rows ? a->encoder_layers : first_use(p, a, list, n, t);
        if (layer < p->lowest_layer) p->lowest_layer = layer;
        p->trained_method += t->count;
        if (t->stored) p->stored_method += t->count;
        if (t->blocks > 1) p->own += t->count;
    }
    for (int i = 0; i < p->generated; i++)
        if (p->generated_tensor[i].stored) p->stored_method += p->generated_tensor[i].count;
    p->model = arch_parameters(a);
}

struct plan *plan_new(const struct method *m, const struct arch *a, int classes, struct err *e) {
    const struct plan_tasks one = { 1, (const char *const[]){ "" }, &classes, NULL };
    return plan_new_tasks(m, a, &one, e);
}

static void set_tasks(struct plan *p, const struct plan_tasks *tasks) {
    BUG_IF(tasks->count < 1);
    p->tasks = tasks->count;
    p->task = xcalloc((size_t)tasks->count, sizeof *p->task);
    p->outputs = xcalloc((size_t)tasks->count, sizeof *p->outputs);
    p->words = tasks->outputs[0] == PLAN_WORDS;
    BUG_IF(p->words && tasks->count > 1);
    for (int i = 0; i < tasks->count; i++) {
        int outputs = p->words ? 0 : tasks->outputs[i];
        BUG_IF(outputs < 0 || strlen(tasks->name[i]) >= PLAN_TASK);
        strcpy(p->task[i], tasks->name[i]);
        p->outputs[i] = outputs;
    }
    p->classes = p->outputs[0];
}

/* Returns what depends on a whole example, and so on the tokens that a language model predicts; or NULL. */
static const char *sees_ahead(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (comp_gates(m->module[i].comp)) return "an input gate";
    return hyper_with_example(m) ? "a hypernetwork with an example condition"
           : m->attempt.on       ? "attempt"
                                 : NULL;
}

static int check_language(const struct method *m, struct err *e) {
    const char *ahead = sees_ahead(m);
    if (ahead)
        return err_set(e, ERR_USAGE,
                       "V73: %s reads all tokens of an example, including those that a language model predicts; use "
                       "another method", ahead);
    return m->classifier.on ? err_set(e, ERR_USAGE, "V60: a model that generates text has no classification "
                                                    "head: remove classifier from the method")
                            : 0;
}

struct plan *plan_new_tasks(const struct method *m, const struct arch *a, const struct plan_tasks *tasks,
                            struct err *e) {
    struct finding first;
    if (method_check(m, a, &first, 1) && first.level == LEVEL_ERROR) {
        if (first.module >= 0)
            err_set(e, ERR_USAGE, "%s: module %d: %s", first.rule, first.module + 1, first.text);
        else err_set(e, ERR_USAGE, "%s: %s", first.rule, first.text);
        return NULL;
    }
    if (a->causal && !tasks->outputs[0] && check_language(m, e)) return NULL;
    struct plan *p = xcalloc(1, sizeof *p);
    struct build b = { .p = p, .a = a };
    struct tensor_info *list;
    int n = arch_tensors(a, &list);
    p->method = *m;
    method_fit_taps(&p->method, a);
    hyper_fit(&p->method, a);
    set_tasks(p, tasks);
    if (tasks->meta) p->meta = *tasks->meta;
    p->decoder = a->decoder_layers > 0;
    p->tied = a->causal && a->tied && !p->outputs[0] && !p->words;
    p->embed_norm = a->embed_norm;
    for (int i = 0; i < m->count; i++) {
        module_normalize(&p->method.module[i]);
        add_module(&b, i, list, n);
    }
    projection_plan(&b);
    fusion_plan(&b);
    attempt_plan(&b);
    hyper_plan(&b);
    retriever_plan(&b);
    generated_plan(&b);
    for (int i = 0; i < p->tasks; i++) add_head(&b, i, list, n);
    if (p->words) words_plan(&b);
    learn_plan(&b);
    sum_up(p, a, list, n);
    free(list);
    if (!b.overflow) return p;
    plan_free(p);
    err_set(e, ERR_USAGE,
            "the method has more parameters on this model than 64 bits can count; use smaller sizes");
    return NULL;
}

static int too_wide(const char *name, int64_t rows, int64_t cols, struct err *e) {
    if (rows <= INT_MAX && cols <= INT_MAX) return 0;
    return err_set(e, ERR_USAGE,
                   "%s: too large to train: %" PRId64 "×%" PRId64
                   ", at most %d rows and columns; "
                   "use a smaller size",
                   name, rows, cols, INT_MAX);
}

int plan_fits(const struct plan *p, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < p->tensors; i++)
        rc = too_wide(p->tensor[i].name, p->tensor[i].rows, p->tensor[i].cols, e);
    for (int i = 0; !rc && i < p->generated; i++)
        rc = too_wide(p->generated_tensor[i].name, p->generated_tensor[i].rows, p->generated_tensor[i].cols,
                      e);
    return rc;
}

void plan_free(struct plan *p) {
    if (!p) return;
    free(p->tensor);
    free(p->generated_tensor);
    free(p->example_tensor);
    free(p->task);
    free(p->outputs);
    packing_free(p->packing);
    free(p);
}

/* ---- one task of several ---- */

bool build_same_place(const struct plan_tensor *x, const struct plan_tensor *y) {
    return x->stack == y->stack && x->site == y->site && x->layer == y->layer && x->tensor == y->tensor &&
           x->generator == y->generator && x->place == y->place && x->of_slot == y->of_slot;
}

/* Converts weights per task to free ones. */
static void narrow(struct method *m) {
    const struct method together = *m;
    carry_method(&together, m);
    for (int g = 0; g < GENERATORS; g++)
        if (&together.hyper[g] != hyper_with_example(&together))
            m->hyper[g] = (struct hyper){ 0 }; /* its generated weights become free */
    for (int i = 0; i < m->count; i++) {
        if (hyper_is_per_example(&together, i)) continue; /* its generator is still used */
        if (source_row(m->module[i].source)->by_task) m->module[i].source = SOURCE_FREE;
        module_normalize(&m->module[i]);
    }
}

/* Returns the tensor of p with the values of a tensor of the narrowed plan. */
static const struct plan_tensor *origin(const struct plan *p, int task, const struct plan_tensor *of) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind != of->kind || t->module != of->module || t->role != of->role) continue;
        if (t->kind == PLAN_HEAD ? t->task == task : build_same_place(t, of)) return t;
    }
    return NULL;
}

static const struct plan_generated *generated_origin(const struct plan *p, int module, int stack, int site,
                                                     int layer, int slot, int tensor) {
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        if (t->module == module && t->stack == stack && t->site == site && t->layer == layer &&
            t->slot == slot && t->tensor == tensor)
            return t;
    }
    return NULL;
}

/* Returns the task's block of `count` values. */
static const real *block_of(const real *values, size_t offset, int blocks, size_t all, int task,
                            size_t count) {
    BUG_IF(all / (size_t)blocks != count);
    return values + offset + (blocks > 1 ? (size_t)task : 0) * count;
}

/* Creates the plan of a narrowed method for one task, with the values of that task. */
static struct plan *narrowed_plan(const struct plan *p, const struct method *m, const struct arch *a,
                                  int task, const real *params, const real *generated, real **own_params,
                                  real **own_generated, struct err *e) {
    BUG_IF(task < 0 || task >= p->tasks);
    struct plan *own = plan_new(m, a, p->words ? PLAN_WORDS : p->outputs[task], e);
    if (!own) return NULL;
    own->precision = p->precision;
    *own_params = xcalloc(own->trained + 1, sizeof **own_params);
    *own_generated = xcalloc(own->generated_size + 1, sizeof **own_generated);
    for (int i = 0; generated && i < own->generated; i++) {
        const struct plan_generated *t = &own->generated_tensor[i],
                                    *from = generated_origin(p, t->module, t->stack, t->site, t->layer,
                                                             t->slot, t->tensor);
        BUG_IF(!from);
        memcpy(*own_generated + t->offset,
               block_of(generated, from->offset, from->blocks, from->count, task, t->count),
               t->count * sizeof **own_generated);
    }
    for (int i = 0; i < own->tensors; i++) {
        const struct plan_tensor *t = &own->tensor[i], *from = origin(p, task, t);
        const struct plan_generated *from_generated =
            from ? NULL : generated_origin(p, t->module, t->stack, t->site, t->layer, t->role, -1);
        BUG_IF(!from && (!from_generated || !generated));
        const real *values = from ? block_of(params, from->offset, from->blocks, from->count, task, t->count)
                                  : block_of(generated, from_generated->offset, from_generated->blocks,
                                             from_generated->count, task, t->count);
        memcpy(*own_params + t->offset, values, t->count * sizeof **own_params);
    }
    return own;
}

struct plan *plan_of_task(const struct plan *p, const struct arch *a, int task, const real *params,
                          const real *generated, real **own_params, real **own_generated, struct err *e) {
    struct method m = p->method;
    narrow(&m);
    return narrowed_plan(p, &m, a, task, params, generated, own_params, own_generated, e);
}

struct plan *plan_plain(const struct plan *p, const struct arch *a, const real *params, const real *generated,
                        real **own_params, struct err *e) {
    struct method m = p->method;
    real *none;
    BUG_IF(p->tasks != 1);
    for (int i = 0; i < m.count; i++)
        if (source_row(m.module[i].source)->in_training) m.module[i].source = SOURCE_FREE;
    narrow(&m);
    struct plan *own = narrowed_plan(p, &m, a, 0, params, generated, own_params, &none, e);
    if (!own) return NULL;
    free(none); /* Kronecker products are recomputed */
    return own;
}
