/* The space of methods: a method is a set of modules, each a point on the axes
 * function · position (read and write tap, layers) · insertion · composition, with a
 * source (the origin of its weights); a regime (the training procedure) is separate.
 *
 * Plain data without pointers: copied, compared and stored freely.  Insertion is not
 * stored: sequential means that the read tap is the write tap (or, at the FFN, the
 * not-yet-adapted f.norm).  Two methods are the same point when method_canonical() of
 * both are equal byte for byte.
 *
 * In space.c; text and JSON in parse.c, format.c and json.c, published ones in presets.c and nearest.c. */
#ifndef CORE_METHOD_SPACE_H
#define CORE_METHOD_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/err.h"
#include "core/engine/ops.h"
#include "core/model/taps.h"

/* One line per function: its constant, and the NAME of its file core/method/fn_NAME.c with everything else
 * (functions.h). */
#define FUNCTIONS(X)                                                                               \
    X(BOTTLENECK, bottleneck) /* φ(x W_d + b_d) W_u + b_u */                                       \
    X(LINEAR, linear)         /* x W_d W_u */                                                      \
    X(DECOMPOSED, decomposed) /* W = m (W + W_u W_d)/‖W + W_u W_d‖ */                              \
    X(PROJECTED, projected)   /* ((x A) ⊙ d) B ⊙ b, A and B random and frozen */                   \
    X(SVD, svd)               /* (x W_d ⊙ e) W_u */                                                \
    X(SOFTMAX, softmax)       /* softmax(x W_q P_kᵀ/√d_h) P_v */                                   \
    X(SCALE, scale)           /* x ⊙ l */                                                          \
    X(PROMPT, prompt)         /* learned rows that join every sequence of the encoder */           \
    X(LOOKUP, lookup)         /* a row of W_d for each token, times W_u: LoRA of the word embeddings */ \
    X(BIAS, bias)             /* the existing additive vectors, trained */                         \
    X(FULL, full)             /* the existing tensors, trained */                                  \
    X(MASKED, masked)         /* the existing tensors with masked changes */
#define FUNCTION_CONSTANT(constant, file) FN_##constant,
enum fn { FUNCTIONS(FUNCTION_CONSTANT) FN_COUNT };
#undef FUNCTION_CONSTANT

enum comp {
    COMP_ADD,
    COMP_SCALED,
    COMP_LEARNED,
    COMP_GATED,
    COMP_MULTIPLY,
    COMP_IN_WEIGHT,
    COMP_CONCAT, /* rows added to the sequence */
    COMP_CHANNEL, /* a learned s per channel */
    COMP_GATE,    /* g per example: the mean over its tokens of σ(x·w + b) */
    COMP_GATES,   /* one gate for keys, one for values */
    COMP_COUNT
};
enum head_form { HEADS_SHARED, HEADS_FACTORIZED, HEADS_FREE, HEADS_COUNT };
/* The source of a slot's value (core/method/sources.h): separate per place, shared by all layers, a network
 * that is dropped after training, separate per task, the method's generator; maps from one prompt per task,
 * which are shared by the tasks, separate per task, or generated (core/method/prompt.h); the method's second
 * generator. */
enum source {
    SOURCE_FREE,
    SOURCE_SHARED,
    SOURCE_MLP,
    SOURCE_TASK,
    SOURCE_HYPER,
    SOURCE_PROMPT_SHARE,
    SOURCE_PROMPT_SEP,
    SOURCE_PROMPT_GLOBAL,
    SOURCE_HYPER2,
    SOURCE_LSTM, /* as MLP, with an LSTM before it: for the rows of a prompt */
    SOURCE_PRODUCT, /* for the rows of a prompt: one for all tasks, times a low-rank product per task */
    SOURCE_KRONECKER, /* sums of Kronecker products of trained matrices (core/method/kronecker.h) */
    SOURCE_FUSION, /* from another run, frozen, joined with others at the same tap by attention
                      (core/method/fusion.h) */
    SOURCE_COUNT
};
/* A LayerNorm after a bottleneck: none; on Δh, by the module's source or shared by all tasks; on s·Δh; on
 * the sum that s·Δh is added to. */
enum norm { NORM_NONE, NORM_OWN, NORM_SHARED, NORM_SCALED, NORM_SUM, NORM_COUNT };
/* The tensor to which Δh is added: the written tap, that and the sublayer's residual stream, or the read
 * tap. */
enum residual { RESIDUAL_WRITTEN, RESIDUAL_STREAM, RESIDUAL_READ, RESIDUAL_COUNT };
/* The end of the sublayer: the model's residual and norm, or nothing. */
enum ending { END_MODEL, END_BARE, END_COUNT };
/* The norm of a decomposed map: of W + s W_u W_d, without the bias, or as in AdapterHub of W + W_u W_d,
 * over the whole output. */
enum length { LENGTH_MAP, LENGTH_OUTPUT, LENGTH_COUNT };
enum init {
    INIT_DEFAULT,  /* the function's default (docs/methods.md) */
    INIT_LORA,     /* W_d Kaiming-uniform(√5), W_u 0, biases 0 */
    INIT_BERT,     /* N(0, 0.02), biases 0 */
    INIT_HOULSBY,  /* truncated N(0, 0.01), biases 0 */
    INIT_NORMAL,   /* N(0, 1) */
    INIT_HYPERFORMER, /* N(0, 0.01), biases 0 */
    INIT_TRUNCATED,   /* truncated N(0, 0.02), biases 0 */
    /* For the rows of a prompt: U(-0.5, 0.5), or rows of the model's word embeddings. */
    INIT_UNIFORM,
    INIT_VOCABULARY,     /* random, among its 5,000 first tokens */
    INIT_VOCABULARY_ALL, /* random, among all tokens */
    INIT_FIRST_IDS,      /* ids 0, 1, … */
    INIT_LABELS,         /* the class names, one row each; then as VOCABULARY */
    INIT_PROMPT_TEXT,    /* a text of the run (prompt-text), repeated */
    INIT_COUNT
};
/* Meta-training (core/train/config/regime.h): whether a module's tensors are adapted by the inner loop,
 * trained by the outer loop, or adapted from an initialization that the outer loop trains. */
enum learn { LEARN_BOTH, LEARN_INNER, LEARN_OUTER, LEARN_COUNT };
/* The existing tensors that a module trains in place. */
enum target {
    TARGET_NONE,
    TARGET_TAP,        /* those of the linear map whose output is the write tap */
    TARGET_ALL,        /* all tensors (full) or all bias vectors (bias) of the model */
    TARGET_NORMS,      /* LayerNorm weights and biases */
    TARGET_EMBEDDINGS,
    TARGET_POOLER,
    TARGET_COUNT
};

/* For the rows of a prompt: their position, the row that the classifier reads, and the rows stored for a
 * model with a decoder: those that are used, or twice as many as in PEFT. */
enum prompt_place { PLACE_FIRST, PLACE_AFTER_BOS, PLACE_COUNT };
enum prompt_pool { POOL_CLS, POOL_ROW0, POOL_COUNT };
enum prompt_rows { ROWS_ACTING, ROWS_PEFT, ROWS_COUNT };

enum { METHOD_MODULES = 72, METHOD_HEAD_TRAINED = 0, METHOD_HEAD_FROZEN = 1 };
/* Extensions of enum stack and enum sublayer: no restriction. Such a module adapts to the model: on one
 * with only an encoder it is at the encoder's self-attention or FFN. */
enum { STACK_ALL = STACK_DECODER + 1, SITE_ALL = SUB_EMBED + 1 };

struct module {
    enum fn fn;
    enum act act;         /* of a bottleneck */
    enum tap read, write; /* TAP_NONE if the function has none */
    enum target target;
    enum comp comp;
    double
        scale; /* s of COMP_SCALED and COMP_GATE; initial s of COMP_LEARNED and COMP_CHANNEL */
    enum head_form heads;
    enum source source;
    int size;             /* r: bottleneck width or rank; l: prefix length; 0 if there is none */
    int factor; /* of Kronecker products: k of the factors L_i, R_i; 0: the products themselves are trained */
    bool shift; /* of a prefix: the tokens' positions are shifted by its length, as in PEFT */
    int own_rule;         /* 1: separate A_i per map; 0: all maps share one set */
    int mid; /* of a source with an inner width (source_width): m of an MLP, b of a prompt's maps */
    enum act mid_act;     /* tanh */
    bool biases;          /* of a bottleneck: b_d and b_u exist */
    enum norm norm;       /* of a bottleneck: after it */
    bool norm_before;     /* and one on its input */
    enum residual residual;
    enum ending ending;
    enum length length;   /* of a decomposed map */
    enum init init;
    int from_run;         /* the run that provides its initial parameters, init=run(N); 0: none */
    double dropout;       /* on the module's input (LoRA) or inside (adapters): docs/methods.md */
    int first, last;      /* layers of each stack, 1-based inclusive; last 0: the stack's last */
    int stack;            /* enum stack, or STACK_ALL: every stack that the model has */
    int site;             /* enum sublayer, or SITE_ALL: every one where the tap or target is.
                           * Of a tap at the FFN or the embedding it follows from the tap. */
    enum learn learn;
    enum prompt_place place; /* of a prompt, as the next */
    enum prompt_pool pool;
    enum prompt_rows rows;
    int seed;             /* of the random, frozen projection */
};

/* A generator, for modules with source hyper or (the second one) hyper2 (core/method/hyper.h): widths of the
 * embeddings (0: no condition) and of the projection (inner 0: only its first map), whether a norm follows
 * it, heads per stack, per layer and place or per place, initialization, whether its maps have biases. */
enum hyper_net { HYPER_STACK, HYPER_LAYER, HYPER_SITE };
enum hyper_start { HYPER_NORMAL, HYPER_FAN, HYPER_HYPERFAN };
/* The condition on the example: none, h (the mean over its tokens), h mapped by two layers, the retriever's
 * z. */
enum hyper_instance { EXAMPLE_NONE, EXAMPLE_POOLED, EXAMPLE_MLP, EXAMPLE_RETRIEVER, EXAMPLE_COUNT };
struct hyper {
    bool on;
    int task, prototype, layer, place, hidden, inner;
    bool norm;
    enum hyper_net net;
    enum hyper_start start;
    bool biases;
    enum hyper_instance instance;
    int tap;    /* encoder layer of h; 0: the output */
    int passes; /* 2: the encoder runs an extra time first, without generated weights, to compute h */
};

/* A contrastive loss over a whole batch (core/train/run/contrast.h). */
enum instance_loss { INSTANCE_NONE, INSTANCE_SUPCON, INSTANCE_NEGATIVES, INSTANCE_COUNT };
/* A loss between an example and the prototypes of the tasks, or the generator's task embeddings. */
enum prototype_loss { PROTOTYPE_NONE, PROTOTYPE_DECOUPLED, PROTOTYPE_SOFTMAX, PROTOTYPE_COUNT };
/* One vector per example, from the mean of the encoder's output, for such losses
 * (core/method/retriever.h). */
struct retriever {
    bool on;
    int hidden, width;    /* of its network: hidden 0: one linear layer; width 0: no network */
    int tap;              /* h is of this layer of the encoder; 0: of its output */
    enum instance_loss instance;
    enum prototype_loss prototype;
    double weight, temperature; /* λ and τ */
};

/* A head generated from a few labeled examples (core/method/generated.h). */
enum rates { RATES_MOVING, RATES_ALL };
struct generated_head {
    bool on;
    int hidden, width;  /* widths of its networks */
    enum learn learn;   /* of the networks: outer, or both */
    enum rates rates;   /* of the inner loop: for adapted tensors only, or as released */
};

/* The layers between an example's first token and its outputs, if they differ from those of the model
 * family (core/method/classifier.h). */
struct classifier {
    bool on;
    int layers;  /* 1: only the output layer; 2: another layer and an activation before it */
    enum act act;
    bool pooler; /* it reads the model's pooler instead of the first token */
    int hidden;  /* width of the first of two layers; 0: the model's */
};

enum { GENERATORS = 2 };
/* The number of singular values e of all SVDs that remain during training (core/method/budget.h). */
struct budget {
    bool on;
    int target;            /* per SVD, on average */
    int begin, end, every; /* steps before the first pruning, after the last one, and between prunings */
    double beta1, beta2, orthogonal;
};

/* The fusion of modules of source fusion (core/method/fusion.h): its maps, the input of the query, whether
 * the residual is added after V or before it, the initialization of V, and the weight of ‖I − V‖² in the
 * loss. */
enum fusion_of { FUSION_OF_READ, FUSION_OF_WRITTEN };
enum fusion_residual { FUSION_AFTER, FUSION_INSIDE };
enum fusion_start { FUSION_IDENTITY, FUSION_DRAWN };
struct fusion {
    bool on;
    bool query, key, value;
    enum fusion_of of;
    enum fusion_residual residual;
    enum fusion_start start;
    double weight;
};

/* The mask of a masked module (core/method/masked.h): learned gates, with the weight of open ones in the
 * loss, their learning rate and initial value, and optionally a gate per tensor; or a fixed mask of a given
 * share. */
enum mask { MASK_LEARNED, MASK_FIXED };
struct pruning {
    bool on;
    enum mask mask;
    double keep; /* of a fixed one: share of all parameters */
    double weight, rate, start;
    bool groups;
};

/* Attention over prompts of other runs, per example (core/method/attempt.h): the inner width, the
 * temperature of the scores (0: e times the model width), and whether the norm is trained. */
enum attempt_norm { ATTEMPT_NORM_TRAINED, ATTEMPT_NORM_FROZEN };
struct attempt {
    bool on;
    int hidden;
    double temperature;
    enum attempt_norm norm;
};

struct method {
    int count;
    struct module module[METHOD_MODULES];
    int head;             /* METHOD_HEAD_… */
    struct retriever retriever; /* .on false: none */
    struct hyper
        hyper[GENERATORS]; /* likewise; the source of a module determines its generator (source_generator) */
    struct generated_head generated;
    struct classifier classifier;
    struct budget budget;
    struct fusion fusion;
    struct pruning pruning;
    struct attempt attempt;
};

/* The words of the text and JSON forms ("bottleneck", "in-weight", …) by value; the functions return "?"
 * for other values. */
extern const char *const comp_names[COMP_COUNT],
    *const source_names[SOURCE_COUNT],
        *const norm_names[NORM_COUNT],
            *const residual_names[RESIDUAL_COUNT],
                *const ending_names[END_COUNT],
                    *const length_names[LENGTH_COUNT],
                        *const heads_names[HEADS_COUNT],
                            *const init_names[INIT_COUNT],
                                *const learn_names[LEARN_COUNT],
                                    *const place_names[PLACE_COUNT],
                                        *const pool_names[POOL_COUNT],
                                            *const rows_names[ROWS_COUNT],
                                                *const target_names[TARGET_COUNT],
                                                    *const stack_names[STACK_ALL + 1],
                                                        *const site_names[SITE_ALL + 1];
const char *fn_name(enum fn f);
const char *comp_name(enum comp c);
/* Return whether there is a scale s, and the number of input-dependent gates. */
bool comp_has_scale(enum comp c);
int comp_gates(enum comp c);
const char *source_name(enum source s);
/* Returns the default inner width of a source that has one, else 0. */
int source_width(enum source s);
/* Returns whether the source computes keys and values from one prompt per task. */
bool source_is_prompt(enum source s);
/* Returns the index of the generator that takes part, -1: none. */
int source_generator(enum source s);
bool source_is_generated(enum source s);
/* Returns whether the values themselves are trained: free, shared by all layers, or one per task. */
bool source_is_trained(enum source s);
/* Returns whether a generator generates the values themselves, not the maps that compute them. */
bool source_is_hyper(enum source s);
const char *norm_name(enum norm n); /* "none", "own", … */
const char *residual_name(enum residual r); /* "written", "stream", "read" */
const char *ending_name(enum ending e);     /* "model", "bare" */
const char *heads_name(enum head_form h);
/* Returns whether the initialization applies only to the rows of a prompt. */
bool init_is_of_rows(enum init i);
const char *init_name(enum init i);
/* Write "lora" or "run(3)"; return the run of such a text, 0: none. */
enum { INIT_TEXT = 32 };
void module_init_text(const struct module *m, char out[INIT_TEXT]);
int init_text_run(const char *text);
/* Returns the number of runs that provide initial parameters of modules, and their ids, ascending. */
int method_runs(const struct method *m, int run[METHOD_MODULES]);
const char *target_name(enum target t);
const char *stack_name(int stack); /* "encoder", "decoder", "all" */
const char *site_name(int site);   /* "self", "cross", "ffn", "embed", "all" */
const char *method_act_name(enum act a);
extern const char *const method_act_names[ACT_COUNT];
const char *learn_name(enum learn l); /* "both", "inner", "outer" */
bool module_is_sequential(const struct module *m);
const char *module_insertion(const struct module *m); /* "sequential", "parallel", "in-weight" */

/* Returns a module of this function with default settings. */
struct module module_default(enum fn fn);
/* Resets fields that do not apply to the function, so that equivalent modules are equal field by field. */
void module_normalize(struct module *m);
bool module_equal(const struct module *a, const struct module *b);
/* Returns the first module of a function, or NULL. */
const struct module *method_find(const struct method *m, enum fn fn);
/* Returns the tap that the linear map with this output reads (a.q: a.in, f.out: f.act, …), or TAP_NONE if
 * no linear map has this output. */
enum tap tap_map_input(enum tap output);
/* Returns whether the module could be at several kinds of places, so that `site` can restrict it. */
bool module_takes_site(const struct module *m);
/* Returns whether the module is at a sublayer of a stack, on a model that has them. */
bool module_is_at(const struct module *m, int stack, int site);
/* Normalizes modules and sorts those of different taps in the order of the forward pass; modules of one tap
 * keep their order. Equal for equal points. */
void method_normalize(struct method *m);
/* Sets order[n] to the index of the module that is at n in the normalized order. */
void method_order(const struct method *m, int order[METHOD_MODULES]);

/* Parses the text form: presets with sizes, "lora(r=8)", "mam(l=16,r=16)", and explicit modules, joined by
 * '+'; grammar in docs/methods.md. Errors for unknown keys name the nearest known one. A text that begins
 * with '{' is parsed as JSON. */
int method_parse(const char *text, struct method *out, struct err *e);
/* Returns the shortest text that parses to the same point: a preset if the point equals one (alone or in
 * part), explicit modules otherwise. The caller frees it. */
char *method_text(const struct method *m);
/* Returns the canonical text, module by module without preset names. The caller frees it. */
char *method_canonical(const struct method *m);
/* Returns the JSON form, schema in docs/method.schema.json. `decoder`: for a model with a decoder;
 * otherwise version 1 is written, in which the stack is always "encoder". The caller frees it. */
char *method_json(const struct method *m, bool decoder);
int method_from_json(const char *json, size_t n, struct method *out, struct err *e);

/* A published method, from assets/presets. Calls can set its sizes. */
struct preset {
    const char *name;    /* "adapter-pfeiffer" */
    const char *title;   /* "Adapter (Pfeiffer)" */
    const char *family;  /* heading in lists: "Adapters" */
    const char *paper;   /* "Pfeiffer et al. 2021, AdapterFusion, EACL" */
    const char *sizes;   /* the default sizes as text: "r=48" */
    double lr;           /* a learning rate that trains, with AdamW */
    const char *note;    /* description: placement, additional trained tensors, differences of libraries */
    const char *released; /* differences of the published code from the paper or from petri; NULL:
                             none known */
    struct method method;/* at default sizes */
    int root_alpha; /* LoRA's α, divided by the root of r, unless a call sets another; 0: s is that of the
                     * method */
    const char *regime;  /* training regime (core/train/config/regime.h), or NULL: that of its tasks */
    const char *same_as; /* the preset that names it in texts and records: this one is another name of the
                          * same point, or (root_alpha) the point with another scale. Usually NULL */
};
/* Returns the s that a call of the preset without one gives a module of this size. */
double preset_scale(const struct preset *p, const struct module *m);
int preset_count(void);
const struct preset *preset_at(int i);
const struct preset *preset_find(const char *name);
/* Adds the generated head with default sizes. */
void method_take_generated(struct method *m);
/* Returns the preset that equals the point apart from sizes, or NULL. */
const struct preset *method_preset(const struct method *m);
bool method_has_generator(const struct method *m);
/* Returns the formula of a generator (0 … GENERATORS-1), "I = relu(W_1 [g_i; e_ℓ] + b_1), weights = A I + a,
 * g_i = h; for each row". The caller frees it; NULL if there is none. */
char *method_generator_formula(const struct method *m, int generator);
/* Returns the nearest preset and the differences, one phrase ("mam, but sequential at the ffn"); the caller
 * frees it; NULL for an empty method. */
char *method_nearest(const struct method *m);
/* Returns this preset. */
const struct preset *method_nearest_preset(const struct method *m);
const struct preset *method_nearest_preset_except(const struct method *m, const struct preset *but);
/* The same, excluding one preset. */
char *method_nearest_except(const struct method *m, const struct preset *but);

#endif
