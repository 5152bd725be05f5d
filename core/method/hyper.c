#include "core/method/hyper.h"

#include <math.h>
#include <stdio.h>

#include "core/base/mem.h"
#include "core/method/init.h"
#include "core/method/prompt.h"
#include "core/method/retriever.h"

static const struct hyper defaults = { .on = true,
                                       .task = 64,
                                       .layer = 64,
                                       .place = 64,
                                       .hidden = 128,
                                       .inner = 64,
                                       .norm = true,
                                       .net = HYPER_STACK,
                                       .start = HYPER_NORMAL,
                                       .biases = true,
                                       .passes = 1 };
static const char *const nets[] = { "stack", "layer", "site" };
static const char *const starts[] = { "normal", "fan", "hyperfan" };
static const char *const instances[EXAMPLE_COUNT] = { "none", "pooled", "mlp", "retriever" };

#define AT(member) .offset = offsetof(struct hyper, member)
static const struct key keys[] = {
    { "task", AT(task), .kind = KEY_WHOLE,
      .description = "Width of the task embeddings z; 0: no condition on the task." },
    { "prototype", AT(prototype), .kind = KEY_WHOLE, .text = KEY_NOT_DEFAULT,
      .description = "Width of the task prototypes k, used by the losses of the retriever; 0: none." },
    { "layer", AT(layer), .kind = KEY_WHOLE,
      .description = "Width of the layer embeddings; 0: no condition on the layer." },
    { "place", AT(place), .kind = KEY_WHOLE,
      .description = "Width of the position embeddings; 0: no condition on the position of the adapter." },
    { "instance", AT(instance), KEY_WORDS(instances), .text = KEY_NOT_DEFAULT,
      .description =
          "Condition on the example: the mean of its token vectors, that mean after two linear layers, or "
          "the retriever's vector." },
    { "tap", AT(tap), .kind = KEY_WHOLE, .text = KEY_NOT_DEFAULT,
      .description = "Encoder layer from whose output the example's condition is computed; 0: the last." },
    { "pass", AT(passes), .kind = KEY_WHOLE, .least = 1, .text = KEY_NOT_DEFAULT,
      .description = "Number of encoder passes; 2: the first computes the conditions of the examples." },
    { "hidden", AT(hidden), .kind = KEY_WHOLE, .least = 1, .description = "Inner width of the projection." },
    { "inner", AT(inner), .kind = KEY_WHOLE,
      .description = "Input width of the output heads; 0: no second linear layer." },
    { "norm", AT(norm), .kind = KEY_FLAG, .description = "Whether a LayerNorm follows the projection." },
    { "net", AT(net), KEY_WORDS(nets),
      .description = "Number of output heads: one per stack, one per adapter position in the stack, or one "
                     "per layer and position." },
    { "start", AT(start), KEY_WORDS(starts),
      .description = "Initialization: normal with standard deviation 0.01, or as in the released code." },
    { "biases", AT(biases), .kind = KEY_FLAG, .text = KEY_NOT_DEFAULT,
      .description = "Whether the linear layers have biases." },
};
#define GENERATOR(name, noun, at)                                                                            \
    {                                                                                                        \
        name, noun, offsetof(struct method, hyper) + (at) * sizeof defaults, sizeof defaults,          \
            &defaults, keys, COUNT_OF(keys)                                                   \
    }
const struct network hyper_network = GENERATOR("hyper", "generator", 0),
                     hyper2_network = GENERATOR("hyper2", "second generator", 1);

/* ---- places ---- */

static bool reads_rows(const struct hyper *h) { return h->on && h->instance != EXAMPLE_NONE; }

/* Returns the index of the generator that is conditioned on the example, -1: none. */
static int generator_of_rows(const struct method *m) {
    for (int g = 0; g < GENERATORS; g++)
        if (reads_rows(&m->hyper[g])) return g;
    return -1;
}

const struct hyper *hyper_with_example(const struct method *m) {
    int g = generator_of_rows(m);
    return g < 0 ? NULL : &m->hyper[g];
}

bool hyper_per_example(const struct method *m) { return hyper_with_example(m) != NULL; }

static bool makes(const struct method *m, int g, int module) {
    return source_generator(m->module[module].source) == g;
}

bool hyper_is_per_example(const struct method *m, int module) {
    return hyper_per_example(m) && makes(m, generator_of_rows(m), module);
}

bool hyper_generates(const struct plan *p, int g, const struct plan_generated *of) {
    return makes(&p->method, g, of->module);
}

struct plan_generated *hyper_values(const struct plan *p, int g, int *n) {
    bool row = reads_rows(&p->method.hyper[g]);
    *n = row ? p->per_example : p->generated;
    return row ? p->example_tensor : p->generated_tensor;
}

int hyper_example_width(const struct method *m, const struct arch *a) {
    const struct hyper *h = hyper_with_example(m);
    return h && h->instance == EXAMPLE_RETRIEVER ? retriever_width(&m->retriever, a) : a->width;
}

/* Returns the layer from which the layers of g's modules are counted and, for an example condition, from
 * which h is read. */
static int tap_of(const struct method *m, int g) {
    return m->hyper[g].instance == EXAMPLE_RETRIEVER ? m->retriever.tap : m->hyper[g].tap;
}

int hyper_tap(const struct method *m) { return hyper_per_example(m) ? tap_of(m, generator_of_rows(m)) : 0; }

int hyper_of_prototypes(const struct method *m) {
    int with_tasks = -1;
    for (int g = 0; g < GENERATORS; g++) {
        if (m->hyper[g].on && m->hyper[g].prototype) return g;
        if (m->hyper[g].on && m->hyper[g].task && with_tasks < 0) with_tasks = g;
    }
    return with_tasks;
}

/* Returns the width of I. */
static int inner_width(const struct hyper *h) { return h->inner ? h->inner : h->hidden; }

/* What is generated for a module at one layer: the slots of its function, except those shared by all tasks,
 * and its learned s; or the maps of its prompts. */
struct head_slot {
    enum slot slot;
    const char *name;
    int64_t rows, cols;
    bool vector;
};
enum { HEAD_SLOTS = 10 };
static int head_slots(const struct module *m, const struct arch *a, struct head_slot out[HEAD_SLOTS]) {
    struct slot_shape shape;
    struct prompt_map map[PROMPT_MAPS];
    int n = 0;
    if (source_is_prompt(m->source)) {
        prompt_maps(m, a, map);
        for (; n < PROMPT_MAPS; n++)
            out[n] = (struct head_slot){ map[n].slot, map[n].name, map[n].rows, map[n].cols, false };
        return n;
    }
    for (const struct function_slot *s = function_of(m)->slots; s->name; s++) {
        if (!function_slot_shape(s, m, a, &shape) || shape.one) continue;
        BUG_IF(n == HEAD_SLOTS);
        out[n++] = (struct head_slot){ s->slot, s->name, shape.rows, shape.cols,
                                      s->rows == DIM_ONE };
    }
    BUG_IF(n == HEAD_SLOTS);
    if (m->comp == COMP_LEARNED) out[n++] = (struct head_slot){ SLOT_SCALE, "s", 1, 1, true };
    return n;
}

/* A module at one sublayer of a stack. */
struct module_place {
    int module, site;
};
enum { PLACES = METHOD_MODULES * SPANS };

/* Lists the modules in the order of the canonical text, so that the result does not depend on the order in
 * which a method lists them. */
static int places_in(const struct method *m, int g, const struct arch *a, int stack,
                     struct module_place out[PLACES]) {
    struct span span[SPANS];
    int order[METHOD_MODULES], n = 0;
    method_order(m, order);
    for (int i = 0; i < m->count; i++) {
        int module = order[i], spans = makes(m, g, module) ? module_spans(&m->module[module], a, span) : 0;
        for (int k = 0; k < spans; k++)
            if (span[k].stack == stack) out[n++] = (struct module_place){ module, span[k].site };
    }
    return n;
}

static int place_index(const struct module_place *place, int n, const struct plan_generated *of) {
    int i = 0;
    while (i < n && (place[i].module != of->module || place[i].site != of->site)) i++;
    BUG_IF(i == n);
    return i;
}

/* Returns the first encoder layer for which g generates something (-1: the embedding), or the number of
 * layers if there is none. */
static int lowest_generated(const struct method *m, int g, const struct arch *a) {
    struct span span[SPANS];
    int lowest = a->encoder_layers;
    for (int i = 0; i < m->count; i++) {
        int n = makes(m, g, i) ? module_spans(&m->module[i], a, span) : 0;
        for (int k = 0; k < n; k++)
            if (span[k].stack == STACK_ENCODER && span[k].first < lowest) lowest = span[k].first;
    }
    return lowest;
}

/* Returns whether modules of a decoder are generated on a model without one. */
static bool needs_halves(const struct method *m, const struct arch *a) {
    bool generated = false;
    for (int i = 0; i < m->count; i++) {
        int g = source_generator(m->module[i].source);
        generated |= g >= 0 && m->hyper[g].on && m->module[i].stack == STACK_DECODER;
    }
    return generated && !a->decoder_layers && a->encoder_layers > 1;
}

bool hyper_fit(struct method *m, const struct arch *a) {
    int half = a->encoder_layers / 2;
    if (!needs_halves(m, a)) return false;
    for (int i = 0; i < m->count; i++) {
        struct module *x = &m->module[i];
        if (module_in_weight(x) || x->stack == STACK_ALL) continue;
        if (x->stack == STACK_DECODER) {
            x->first += half;
            if (x->last) x->last += half;
        } else if (!x->last) {
            x->last = half;
        }
        x->stack = STACK_ENCODER;
    }
    bool once = true; /* the encoder runs only once */
    for (int g = 0; g < GENERATORS; g++) {
        struct hyper *h = &m->hyper[g];
        /* without an example condition the tap only sets the first counted layer */
        bool taps = h->instance == EXAMPLE_NONE ? lowest_generated(m, g, a) >= half
                                            : h->instance != EXAMPLE_RETRIEVER;
        if (h->on && taps && !h->tap && h->passes == 1) h->tap = half;
        once &= !h->on || h->passes == 1;
    }
    if (m->retriever.on && !m->retriever.tap && once) m->retriever.tap = half;
    return true;
}

/* Returns whether all places of a stack have the same slots, so that one head can generate them. */
static bool alike(const struct method *m, int g, const struct arch *a, int stack) {
    struct module_place place[PLACES];
    struct head_slot x[HEAD_SLOTS], y[HEAD_SLOTS];
    int n = places_in(m, g, a, stack, place), slots = n ? head_slots(&m->module[place[0].module], a, x) : 0;
    for (int i = 1; i < n; i++) {
        if (head_slots(&m->module[place[i].module], a, y) != slots) return false;
        for (int k = 0; k < slots; k++)
            if (x[k].slot != y[k].slot || x[k].rows != y[k].rows || x[k].cols != y[k].cols) return false;
    }
    return true;
}

/* Returns whether the example condition is read below all layers for which g generates something. */
static bool instance_comes_first(const struct method *m, int g, const struct arch *a) {
    int tap = tap_of(m, g), lowest = lowest_generated(m, g, a);
    return lowest == a->encoder_layers || (tap && lowest >= tap);
}

static const char *instance_fault(const struct method *m, int g, const struct arch *a) {
    const struct hyper *h = &m->hyper[g];
    bool z = h->instance == EXAMPLE_RETRIEVER;
    if (h->passes > 2)
        return "pass= must be 1 or 2 (2: an additional encoder pass computes the vector of the example)";
    if (h->instance == EXAMPLE_NONE && h->passes > 1)
        return "pass=2 needs an instance: use instance=pooled, mlp or retriever";
    if (z && !m->retriever.on)
        return "instance=retriever needs a retriever: append '+ retriever', or use instance=pooled or mlp";
    if (z && h->tap)
        return "with instance=retriever the tap is a setting of the retriever: use retriever(tap=…)";
    if (tap_of(m, g) > a->encoder_layers) return "tap= is above the last layer of the encoder";
    if (h->passes == 2 && lowest_generated(m, g, a) == a->encoder_layers)
        return "pass=2 needs a generated module in the encoder, and the method has none: omit pass=2";
    if (h->passes == 2 && tap_of(m, g)) return "pass=2 uses the encoder's output: omit tap=";
    if (h->instance == EXAMPLE_NONE && h->tap && !instance_comes_first(m, g, a))
        return "with tap=N, generated modules must be in layers above N: restrict them with layers=";
    if (reads_rows(h) && h->passes == 1 && !instance_comes_first(m, g, a))
        return "the condition on the example (instance=) is computed after a generated module: restrict "
               "modules to layers above tap=N (layers=) or to the decoder, or use pass=2, which runs the "
               "encoder twice";
    return NULL;
}

/* Checks one generator. */
static const char *fault_of(const struct method *m, int g, const struct arch *a, const char **rule) {
    const struct hyper *h = &m->hyper[g];
    bool some = false, prompts = false;
    *rule = "V50";
    for (int i = 0; i < m->count; i++) {
        some |= makes(m, g, i);
        prompts |= makes(m, g, i) && source_is_prompt(m->module[i].source);
    }
    if (some && !h->on)
        return g ? "source=hyper2 needs a second generator: append '+ hyper2(task=64,layer=64,place=64)', "
                   "for example"
                 : "source=hyper and source=prompt-global need a generator: append '+ "
                   "hyper(task=64,layer=64,place=64)', for example";
    if (!some && h->on)
        return g ? "the second generator is unused: set source=hyper2 in a module"
                 : "the generator is unused: set source=hyper in a module";
    if (!h->on) return NULL;
    if (!h->task && !h->prototype && h->instance == EXAMPLE_NONE)
        return "a generator needs a condition: set task=, prototype= or instance=";
    if (h->net == HYPER_STACK &&
        (!alike(m, g, a, STACK_ENCODER) || !alike(m, g, a, STACK_DECODER)))
        return "with net=stack all generated modules of a stack must have the same function and sizes: "
               "change them, or use net=site or net=layer";
    *rule = "V54";
    if (prompts && reads_rows(h))
        return "prompts depend on the task, not on the example: omit instance=";
    *rule = "V52";
    return instance_fault(m, g, a);
}

const char *hyper_fault(const struct method *m, const struct arch *a, const char **rule) {
    int rows = 0;
    for (int g = 0; g < GENERATORS; g++) {
        const char *fault = fault_of(m, g, a, rule);
        if (fault) return fault;
        rows += reads_rows(&m->hyper[g]);
    }
    *rule = "V50";
    return rows > 1
               ? "only one of two generators can depend on the example: omit instance= in hyper or hyper2"
               : NULL;
}

char *method_generator_formula(const struct method *m, int generator) {
    static const char *const rows[EXAMPLE_COUNT] = { "", ", g_i = h", ", g_i = V_2 relu(V_1 h + c_1) + c_2",
                                                     ", g_i = z of the retriever" };
    const struct hyper *h = &m->hyper[generator];
    const struct {
        const char *sign;
        bool there;
    } conditions[] = { { "z_\u03C4", h->task > 0 },
                       { "k_\u03C4", h->prototype > 0 },
                       { "g_i", h->instance != EXAMPLE_NONE },
                       { "e_\u2113", h->layer > 0 },
                       { "e_p", h->place > 0 } };
    struct buf b = BUF_INIT;
    bool some = false;
    if (!h->on) return NULL;
    buf_printf(&b, "I = %s%srelu(W_1 [", h->norm ? "LN(" : "", h->inner ? "W_2 " : "");
    for (size_t i = 0; i < COUNT_OF(conditions); i++) {
        if (!conditions[i].there) continue;
        buf_printf(&b, "%s%s", some ? "; " : "", conditions[i].sign);
        some = true;
    }
    buf_printf(&b, "]%s)%s%s, weights = A I%s%s; for each %s", h->biases ? " + b_1" : "",
               h->inner && h->biases ? " + b_2" : "", h->norm ? ")" : "", h->biases ? " + a" : "",
               rows[h->instance], reads_rows(h) ? "row" : "task");
    if (reads_rows(h) && tap_of(m, generator)) buf_printf(&b, ", h of layer %d", tap_of(m, generator));
    if (h->passes == 2) buf_puts(&b, ", the encoder runs twice");
    return buf_take(&b);
}

/* ---- tensors ---- */

/* Returns the first encoder layer with a layer embedding: with a tap, the first for which something is
 * generated. */
static int first_layer(const struct method *m, int g, const struct arch *a) {
    int lowest = lowest_generated(m, g, a);
    return tap_of(m, g) && lowest < a->encoder_layers ? lowest : 0;
}

bool hyper_one_projection(const struct hyper *h) {
    return !h->layer && !h->place && h->instance == EXAMPLE_NONE;
}

/* Prefixes of the tensor names. */
static const char *const network_names[GENERATORS] = { "hyper", "hyper2" };

/* Returns a tensor of a generator that belongs to no layer of the stack, without role and shape. */
static struct plan_tensor outside(int g, int stack) {
    struct plan_tensor t = build_part(PLAN_NETWORK, 0, 0, 0);
    t.generator = g;
    t.stack = stack;
    return t;
}

/* A tensor "WORD.NAME"; absent if rows or cols is 0. */
struct hyper_part {
    enum slot role;
    int64_t rows, cols;
    bool vector;
    const char *name;
};

static void hyper_add(struct build *b, struct plan_tensor t, const char *word,
                      const struct hyper_part *x) {
    if (!x->rows || !x->cols) return;
    t.blocks = x->role == SLOT_HYPER_TASK || x->role == SLOT_HYPER_PROTOTYPE ? (int)x->rows : 1;
    t.role = (int)x->role;
    t.rows = x->rows;
    t.cols = x->cols;
    t.decays = !x->vector;
    build_network(b, t, "%s.%s", word, x->name);
}

static void add_projection(struct build *b, int g, int stack, const char *word) {
    const struct hyper *h = &b->p->method.hyper[g];
    int hidden = h->hidden, biases = h->biases, norm = h->norm * inner_width(h),
        row = h->instance == EXAMPLE_NONE ? 0 : hyper_example_width(&b->p->method, b->a);
    const struct hyper_part parts[] = {
        { SLOT_HYPER_W_TASK, hidden, h->task, false, "W_1.task" },
        { SLOT_HYPER_W_PROTOTYPE, hidden, h->prototype, false, "W_1.prototype" },
        { SLOT_HYPER_W_ROW, hidden, row, false, "W_1.instance" },
        { SLOT_HYPER_W_LAYER, hidden, h->layer, false, "W_1.layer" },
        { SLOT_HYPER_W_PLACE, hidden, h->place, false, "W_1.place" },
        { SLOT_HYPER_B1, biases, hidden, true, "b_1" },
        { SLOT_HYPER_W2, h->inner, hidden, false, "W_2" },
        { SLOT_HYPER_B2, biases, h->inner, true, "b_2" },
        { SLOT_HYPER_NORM_W, 1, norm, true, "norm.gamma" },
        { SLOT_HYPER_NORM_B, 1, norm, true, "norm.beta" },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) hyper_add(b, outside(g, stack), word, &parts[i]);
}

/* Adds the two maps of the example condition. */
static void add_row_maps(struct build *b, int g, int stack, const char *word) {
    const struct hyper *h = &b->p->method.hyper[g];
    int d = h->instance == EXAMPLE_MLP ? b->a->width : 0, biases = h->biases;
    const struct hyper_part parts[] = {
        { SLOT_HYPER_ROW_W1, d, d, false, "instance.W_1" },
        { SLOT_HYPER_ROW_B1, biases, d, true, "instance.b_1" },
        { SLOT_HYPER_ROW_W2, d, d, false, "instance.W_2" },
        { SLOT_HYPER_ROW_B2, biases, d, true, "instance.b_2" },
    };
    for (size_t i = 0; i < COUNT_OF(parts); i++) hyper_add(b, outside(g, stack), word, &parts[i]);
}

/* Adds the heads of the slots of a module. */
static void add_heads(struct build *b, const struct module *m, struct plan_tensor at, const char *word) {
    const struct hyper *h = &b->p->method.hyper[at.generator];
    struct head_slot slot[HEAD_SLOTS];
    int n = head_slots(m, b->a, slot);
    char name[64];
    for (int i = 0; i < n; i++) {
        const struct head_slot *s = &slot[i];
        at.of_slot = (int)s->slot;
        at.fan = s->vector ? 1 : s->cols;
        /* initial value: 1 for a factor, s for a scale, otherwise (a change and the norm after it) near 0 */
        at.start = s->slot == SLOT_CHANNEL ? 1 : s->slot == SLOT_SCALE ? m->scale : 0;
        snprintf(name, sizeof name, "%s.%s", word, s->name);
        const struct hyper_part parts[] = {
            { SLOT_HYPER_HEAD_W, s->rows * s->cols, inner_width(h), false, "weight" },
            { SLOT_HYPER_HEAD_B, h->biases, s->rows * s->cols, true, "bias" },
        };
        for (int k = 0; k < 2; k++) hyper_add(b, at, name, &parts[k]);
    }
}

/* Adds the heads of one place of a stack: separate per layer, or one for all layers. */
static void add_place_heads(struct build *b, struct plan_tensor at, const struct module_place *place,
                            const char *word) {
    struct span span[SPANS];
    const struct module *m = &b->p->method.module[place->module];
    int n = module_spans(m, b->a, span);
    char name[48];
    for (int k = 0; k < n; k++) {
        if (span[k].stack != at.stack || span[k].site != place->site) continue;
        bool each = b->p->method.hyper[at.generator].net == HYPER_LAYER && span[k].first >= 0;
        snprintf(name, sizeof name, "%s.all.%d", word, at.place);
        if (!each) add_heads(b, m, at, name);
        for (at.layer = span[k].first; each && at.layer < span[k].end; at.layer++) {
            snprintf(name, sizeof name, "%s.%d.%d", word, at.layer, at.place);
            add_heads(b, m, at, name);
        }
    }
}

static void plan_stack(struct build *b, int g, int stack) {
    const struct method *m = &b->p->method;
    const struct hyper *h = &m->hyper[g];
    struct module_place place[PLACES];
    int places = places_in(m, g, b->a, stack, place), values;
    int layers = arch_layers(b->a, stack) - (stack == STACK_ENCODER ? b->p->hyper_first_layer[g] : 0);
    struct plan_tensor at = outside(g, stack);
    char word[16];
    snprintf(word, sizeof word, "%s.%s", network_names[g], stack == STACK_DECODER ? "dec" : "enc");
    if (!places) return;
    struct plan_generated *of = hyper_values(b->p, g, &values);
    for (int i = 0; i < values; i++)
        if (of[i].stack == stack && hyper_generates(b->p, g, &of[i]))
            of[i].place = place_index(place, places, &of[i]);
    add_row_maps(b, g, stack, word);
    hyper_add(b, at, word, &(struct hyper_part){ SLOT_HYPER_LAYER, layers, h->layer, false, "layer" });
    hyper_add(b, at, word, &(struct hyper_part){ SLOT_HYPER_PLACE, places, h->place, false, "place" });
    if (!hyper_one_projection(h)) add_projection(b, g, stack, word);
    if (h->net == HYPER_STACK) add_heads(b, &m->module[place[0].module], at, word);
    for (at.place = 0; h->net != HYPER_STACK && at.place < places; at.place++)
        add_place_heads(b, at, &place[at.place], word);
}

static void plan_generator(struct build *b, int g) {
    const struct hyper *h = &b->p->method.hyper[g];
    const char *name = network_names[g];
    char all[16];
    snprintf(all, sizeof all, "%s.all", name);
    b->p->hyper_first_layer[g] = first_layer(&b->p->method, g, b->a);
    const struct hyper_part parts[] = {
        { SLOT_HYPER_TASK, b->p->tasks, h->task, false, "task" },
        { SLOT_HYPER_PROTOTYPE, b->p->tasks, h->prototype, false, "prototype" },
    };
    for (int i = 0; i < 2; i++) hyper_add(b, outside(g, STACK_ENCODER), name, &parts[i]);
    if (hyper_one_projection(h)) add_projection(b, g, STACK_ENCODER, all);
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++) plan_stack(b, g, stack);
}

void hyper_plan(struct build *b) {
    for (int g = 0; g < GENERATORS; g++)
        if (b->p->method.hyper[g].on) plan_generator(b, g);
}

/* ---- initialization ---- */

/* Initializes a head so that generated values have their usual magnitude (start=hyperfan) or about a
 * thousandth of it (start=fan, as in the released generators): U(±s·√(3/(inner·fan))), with fan the columns
 * of the generated tensor, 1 for a vector. */
static void fan(const struct hyper *h, const struct plan_tensor *t, struct rng_key key, real *out) {
    const double s = h->start == HYPER_FAN ? 1e-3 : 1;
    init_uniform(key, out, t->count, s * sqrt(3.0 / ((double)t->cols * t->fan)));
}

/* Returns the input width of the first map: all conditions concatenated. */
static double conditions_width(const struct plan *p, const struct plan_tensor *t) {
    const struct hyper *h = &p->method.hyper[t->generator];
    double in = h->task + h->prototype + h->layer + h->place;
    for (int i = 0; i < p->tensors && h->instance != EXAMPLE_NONE; i++)
        if (p->tensor[i].kind == PLAN_NETWORK && p->tensor[i].role == SLOT_HYPER_W_ROW &&
            p->tensor[i].stack == t->stack && p->tensor[i].generator == t->generator)
            return in + p->tensor[i].cols;
    return in;
}

/* Initializes the weights and biases of a map, as PyTorch does or as in the paper. */
static void map_init(const struct hyper *h, const struct plan_tensor *t, struct rng_key key, double in,
                     real *out) {
    if (h->start != HYPER_NORMAL) init_uniform(key, out, t->count, 1 / sqrt(in));
    else if (t->decays) init_normal(key, out, t->count, 0.01);
    else init_uniform(key, out, t->count, 0);
}

void hyper_init(const struct plan *p, const struct plan_tensor *t, struct rng_key key, real *out) {
    const struct hyper *h = &p->method.hyper[t->generator];
    switch ((enum slot)t->role) {
    case SLOT_HYPER_TASK: case SLOT_HYPER_PROTOTYPE: case SLOT_HYPER_LAYER: case SLOT_HYPER_PLACE:
        init_normal(key, out, t->count, 1);
        return;
    case SLOT_HYPER_ROW_W1: case SLOT_HYPER_ROW_B1: case SLOT_HYPER_ROW_W2: case SLOT_HYPER_ROW_B2:
        map_init(h, t, key, p->tensor[t - p->tensor - (t->rows == 1)].cols, out);
        return;
    case SLOT_HYPER_W_TASK: case SLOT_HYPER_W_PROTOTYPE: case SLOT_HYPER_W_ROW: case SLOT_HYPER_W_LAYER:
    case SLOT_HYPER_W_PLACE: case SLOT_HYPER_B1:
        map_init(h, t, key, conditions_width(p, t), out);
        return;
    case SLOT_HYPER_W2: case SLOT_HYPER_B2: map_init(h, t, key, h->hidden, out); return;
    case SLOT_HYPER_HEAD_W:
        if (h->start != HYPER_NORMAL) fan(h, t, key, out);
        else init_normal(key, out, t->count, 0.01);
        return;
    case SLOT_HYPER_NORM_W: init_fill(out, t->count, 1); return;
    case SLOT_HYPER_HEAD_B: init_fill(out, t->count, t->start); return;
    case SLOT_HYPER_NORM_B: init_fill(out, t->count, 0); return;
    default: BUG("unknown generator slot %d", t->role);
    }
}
