/* The space of methods: a method is a set of modules, each a point on the axes
 * function · position (read and write tap, layers) · insertion · composition, with a
 * source (who makes its weights); later a regime (how it is learned).
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

/* One line a function: its constant, and the NAME of its file core/method/fn_NAME.c, which says all else
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
    COMP_CONCAT, /* rows beside the sequence's own */
    COMP_CHANNEL, /* a learned s for each channel */
    COMP_GATE,    /* g of each row's own tokens: the mean of σ(x·w + b) */
    COMP_GATES,   /* one for keys, one for values */
    COMP_COUNT
};
enum head_form { HEADS_SHARED, HEADS_FACTORISED, HEADS_FREE, HEADS_COUNT };
/* Who makes a slot's value (core/method/sources.h): each place its own, one for all layers, a network
 * that is dropped after training, each task its own, the method's generator; maps from one prompt a task,
 * which are shared by the tasks, each task's, or the generator's (core/method/prompt.h); the method's second
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
    SOURCE_LSTM, /* as MLP, an LSTM before it: of a prompt's rows */
    SOURCE_PRODUCT, /* of a prompt's rows: one for all tasks, times each task's own of low rank */
    SOURCE_KRONECKER, /* sums of Kronecker products of what is trained (core/method/kronecker.h) */
    SOURCE_FUSION, /* another run's, frozen, joined with others at the same tap by attention
                      (core/method/fusion.h) */
    SOURCE_COUNT
};
/* A LayerNorm behind a bottleneck: none; on Δh, by the module's source or one for all tasks; on s·Δh; on the
 * sum that s·Δh is added to. */
enum norm { NORM_NONE, NORM_OWN, NORM_SHARED, NORM_SCALED, NORM_SUM, NORM_COUNT };
/* What Δh is added to: the tap that is written, that and the sublayer's residual stream, or what the module
 * reads. */
enum residual { RESIDUAL_WRITTEN, RESIDUAL_STREAM, RESIDUAL_READ, RESIDUAL_COUNT };
/* What follows at the end of the sublayer: the model's residual and norm, or nothing. */
enum ending { END_MODEL, END_BARE, END_COUNT };
/* What a decomposed map's length is of: of W + s W_u W_d and without the bias, or, as the library AdapterHub
 * has it, of W + W_u W_d and over all that the map gives. */
enum length { LENGTH_MAP, LENGTH_OUTPUT, LENGTH_COUNT };
enum init {
    INIT_DEFAULT,  /* what the function's paper says (docs/methods.md) */
    INIT_LORA,     /* W_d Kaiming-uniform(√5), W_u 0, biases 0 */
    INIT_BERT,     /* N(0, 0.02), biases 0 */
    INIT_HOULSBY,  /* truncated N(0, 0.01), biases 0 */
    INIT_NORMAL,   /* N(0, 1) */
    INIT_HYPERFORMER, /* N(0, 0.01), biases 0 */
    INIT_TRUNCATED,   /* truncated N(0, 0.02), biases 0 */
    /* Of a prompt's rows: U(-0.5, 0.5), or rows of the model's word table. */
    INIT_UNIFORM,
    INIT_VOCABULARY,     /* drawn from its 5,000 first words */
    INIT_VOCABULARY_ALL, /* from all of its ids */
    INIT_FIRST_IDS,      /* ids 0, 1, … */
    INIT_LABELS,         /* the classes' names, a row each; then as VOCABULARY */
    INIT_PROMPT_TEXT,    /* a text of the run's (prompt-text), again and again */
    INIT_COUNT
};
/* Over episodes (core/train/config/regime.h): whether the inner loop adapts a module's tensors, the outer one learns
 * them, or the inner one adapts them from a start that the outer one learns. */
enum learn { LEARN_BOTH, LEARN_INNER, LEARN_OUTER, LEARN_COUNT };
/* Which existing tensors a module takes that trains them in their place. */
enum target {
    TARGET_NONE,
    TARGET_TAP,        /* of the linear map whose output is the write tap */
    TARGET_ALL,        /* every tensor (full) or every additive vector (bias) of the model */
    TARGET_NORMS,      /* LayerNorm weights and biases */
    TARGET_EMBEDDINGS,
    TARGET_POOLER,
    TARGET_COUNT
};

/* Of rows that join a sequence: where, which row the classifier then reads, and how many of a model with a
 * decoder are kept: those that act, or as many again that nothing reads, as the library PEFT has it. */
enum prompt_place { PLACE_FIRST, PLACE_AFTER_BOS, PLACE_COUNT };
enum prompt_pool { POOL_CLS, POOL_ROW0, POOL_COUNT };
enum prompt_rows { ROWS_ACTING, ROWS_PEFT, ROWS_COUNT };

enum { METHOD_MODULES = 72, METHOD_HEAD_TRAINED = 0, METHOD_HEAD_FROZEN = 1 };
/* Beside enum stack and enum sublayer: no narrowing.  Such a module adapts to the model:
 * on one with an encoder alone it is at the encoder's self-attention or FFN. */
enum { STACK_ALL = STACK_DECODER + 1, SITE_ALL = SUB_EMBED + 1 };

struct module {
    enum fn fn;
    enum act act;         /* of a bottleneck */
    enum tap read, write; /* TAP_NONE where the function has none */
    enum target target;
    enum comp comp;
    double
        scale; /* s of COMP_SCALED and beside the gate of COMP_GATE; start of COMP_LEARNED and COMP_CHANNEL */
    enum head_form heads;
    enum source source;
    int size;             /* r: bottleneck or rank; l: prefix length; 0 where there is none */
    int factor; /* of Kronecker products: k of the factors L_i, R_i; 0: the products themselves are trained */
    bool shift; /* of a prefix: the tokens' positions move on by its length, as the library PEFT has it */
    int own_rule;         /* 1: each map has its own A_i; 0: all share one set */
    int mid; /* of a source with an inner width (source_width): m of an MLP, b of a prompt's maps */
    enum act mid_act;     /* tanh */
    bool biases;          /* of a bottleneck: b_d and b_u exist */
    enum norm norm;       /* of a bottleneck: behind it */
    bool norm_before;     /* and one on what it reads */
    enum residual residual;
    enum ending ending;
    enum length length;   /* of a decomposed map */
    enum init init;
    int from_run;         /* the run of the history whose values it begins with, init=run(N); 0: none */
    double dropout;       /* on the module's input (LoRA) or inside (adapters): docs/methods.md */
    int first, last;      /* layers of each stack, 1-based inclusive; last 0: the stack's last */
    int stack;            /* enum stack, or STACK_ALL: every stack that the model has */
    int site;             /* enum sublayer, or SITE_ALL: every one where the tap or target is.
                           * Of a tap at the FFN or the embedding it follows from the tap. */
    enum learn learn;
    enum prompt_place place; /* of a prompt, as the next */
    enum prompt_pool pool;
    enum prompt_rows rows;
    int seed;             /* of a projection that is random and frozen */
};

/* A generator, of modules with source hyper, or (the second one) hyper2 (core/method/hyper.h): widths of the
 * embeddings (0: no condition), of the projection (inner 0: its first map alone), whether a norm is behind
 * it, its heads for a stack, for each layer and place or for each place, how it starts, whether its maps have
 * biases. */
enum hyper_net { HYPER_STACK, HYPER_LAYER, HYPER_SITE };
enum hyper_start { HYPER_NORMAL, HYPER_FAN, HYPER_HYPERFAN };
/* A condition of each row's own: none, h (the mean over its tokens), h behind two maps, the retriever's z. */
enum hyper_instance { ROW_NONE, ROW_POOLED, ROW_MLP, ROW_RETRIEVER, ROW_COUNT };
struct hyper {
    bool on;
    int task, prototype, layer, place, hidden, inner;
    bool norm;
    enum hyper_net net;
    enum hyper_start start;
    bool biases;
    enum hyper_instance instance;
    int tap;    /* h is of this layer of the encoder; 0: of its output */
    int passes; /* 2: the encoder runs first for h alone, without what is made */
};

/* A loss between the rows of a whole batch (core/train/run/contrast.h). */
enum instance_loss { INSTANCE_NONE, INSTANCE_SUPCON, INSTANCE_NEGATIVES, INSTANCE_COUNT };
/* And one between a row and the tasks' prototypes, the generator's task embeddings. */
enum prototype_loss { PROTOTYPE_NONE, PROTOTYPE_DECOUPLED, PROTOTYPE_SOFTMAX, PROTOTYPE_COUNT };
/* One vector a row, of the mean of the encoder's output, for such losses (core/method/retriever.h). */
struct retriever {
    bool on;
    int hidden, width;    /* of its network: hidden 0: one linear map; width 0: no network */
    int tap;              /* h is of this layer of the encoder; 0: of its output */
    enum instance_loss instance;
    enum prototype_loss prototype;
    double weight, temperature; /* λ and τ */
};

/* A head made from a few labelled rows (core/method/generated.h). */
enum rates { RATES_MOVING, RATES_ALL };
struct made_head {
    bool on;
    int hidden, width;  /* of its maps */
    enum learn learn;   /* of the maps: outer, or both */
    enum rates rates;   /* of the inner loop: for what moves alone, or as released */
};

/* The maps between a row's first token and its outputs, where they are not those of the model's family
 * (core/method/classifier.h). */
struct classifier {
    bool on;
    int layers;  /* 1: the outputs' map alone; 2: another and an activation before it */
    enum act act;
    bool pooler; /* it reads the model's pooler, not the first token itself */
    int hidden;  /* width of the first of two maps; 0: the model's */
};

enum { GENERATORS = 2 };
/* How many of the values e of all SVDs stay while it trains (core/method/budget.h). */
struct budget {
    bool on;
    int target;            /* of each SVD, on the mean */
    int begin, end, every; /* steps before the first cut, after the last one, and between two */
    double beta1, beta2, orthogonal;
};

/* What joins the modules of source fusion (core/method/fusion.h): which maps there are, what the query is of,
 * whether the residual is added behind V or before it, how V starts, and what ‖I − V‖² counts in the loss. */
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

/* What masks the changes of a masked module (core/method/masked.h): gates that are learned, with what an open
 * one counts in the loss, their rate and start, one more for each tensor; or a mask that is fixed, of so many
 * places. */
enum mask { MASK_LEARNED, MASK_FIXED };
struct pruning {
    bool on;
    enum mask mask;
    double keep; /* of a fixed one: share of all values */
    double weight, rate, start;
    bool groups;
};

/* What joins prompts of other runs to the method's own, for each row (core/method/attempt.h): the width
 * between its maps, what scores are divided by (0: e times the model's width), and whether its norm
 * trains. */
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
        hyper[GENERATORS]; /* likewise; which of them makes a module its source says (source_generator) */
    struct made_head generated;
    struct classifier classifier;
    struct budget budget;
    struct fusion fusion;
    struct pruning pruning;
    struct attempt attempt;
};

/* The words of text and JSON form ("bottleneck", "in-weight", …), by value; the functions return "?" beyond
 * the last. */
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
/* Whether there is an s; how many gates of the input there are. */
bool comp_has_scale(enum comp c);
int comp_gates(enum comp c);
const char *source_name(enum source s);
/* The usual inner width of a source that has one, else 0. */
int source_width(enum source s);
/* Makes keys and values of one prompt a task. */
bool source_is_prompt(enum source s);
/* Which of the method's generators takes part, -1: none. */
int source_generator(enum source s);
bool source_is_generated(enum source s);
/* Whether the values themselves are trained: free, one for all layers, or one a task. */
bool source_is_trained(enum source s);
/* Whether one makes the values themselves, not what makes them. */
bool source_is_hyper(enum source s);
const char *norm_name(enum norm n); /* "none", "own", … */
const char *residual_name(enum residual r); /* "written", "stream", "read" */
const char *ending_name(enum ending e);     /* "model", "bare" */
const char *heads_name(enum head_form h);
/* Starts that are for a prompt's rows alone. */
bool init_is_of_rows(enum init i);
const char *init_name(enum init i);
/* "lora", or "run(3)"; and the run of such a text, 0: it is none. */
enum { INIT_TEXT = 32 };
void module_init_text(const struct module *m, char out[INIT_TEXT]);
int init_text_run(const char *text);
/* The runs that modules of the method begin with the values of, each once and ascending; returns how many. */
int method_runs(const struct method *m, int run[METHOD_MODULES]);
const char *target_name(enum target t);
const char *stack_name(int stack); /* "encoder", "decoder", "all" */
const char *site_name(int site);   /* "self", "cross", "ffn", "embed", "all" */
const char *method_act_name(enum act a);
extern const char *const method_act_names[ACT_COUNT];
const char *learn_name(enum learn l); /* "both", "inner", "outer" */
bool module_is_sequential(const struct module *m);
const char *module_insertion(const struct module *m); /* "sequential", "parallel", "in-weight" */

/* A module of this function with its usual values: where editing starts. */
struct module module_default(enum fn fn);
/* Puts the fields that have no meaning for the function to neutral values, so that
 * modules which are the same are equal field by field. */
void module_normalise(struct module *m);
bool module_equal(const struct module *a, const struct module *b);
/* The first module of a function, or NULL. */
const struct module *method_find(const struct method *m, enum fn fn);
/* The tap that the linear map with this output reads (a.q: a.in, f.out: f.act, …), or
 * TAP_NONE when the tap is no linear map's output. */
enum tap tap_map_input(enum tap output);
/* Whether there are places of more than one kind at which the module could be: then
 * `site` can narrow it. */
bool module_takes_site(const struct module *m);
/* Whether the module is at a sublayer of a stack, on a model that has them. */
bool module_is_at(const struct module *m, int stack, int site);
/* Normalised modules, those of different taps in the order of the forward pass; modules
 * of one tap keep their order where they meet.  Equal for equal points. */
void method_normalise(struct method *m);
/* order[n]: the module that method_normalise would put at n. */
void method_order(const struct method *m, int order[METHOD_MODULES]);

/* Text form.  A preset with sizes set in place, "lora(r=8)", "mam(l=16,r=16)", and
 * modules spelled out, joined by '+'; grammar in docs/methods.md.  Unknown keys are
 * refused with the nearest known one.  A text that begins with '{' is taken for the JSON
 * form. */
int method_parse(const char *text, struct method *out, struct err *e);
/* The shortest text that parses back to the same point: a preset when the point equals
 * one (alone or as a part), modules spelled out otherwise.  Caller frees. */
char *method_text(const struct method *m);
/* Always module by module, no preset names: the canonical text.  Caller frees. */
char *method_canonical(const struct method *m);
/* JSON form, schema in docs/method.schema.json.  `decoder`: for a model that has one.
 * Without, version 1 is written, which says "encoder" for all there is.  Caller frees. */
char *method_json(const struct method *m, bool decoder);
int method_from_json(const char *json, size_t n, struct method *out, struct err *e);

/* A published method, from assets/presets.  Its sizes may be set by their letters. */
struct preset {
    const char *name;    /* "adapter-pfeiffer" */
    const char *title;   /* "Adapter (Pfeiffer)" */
    const char *paper;   /* "Pfeiffer et al. 2021, AdapterFusion, EACL" */
    const char *sizes;   /* the default sizes as text: "r=48" */
    double lr;           /* a learning rate that trains, with AdamW */
    const char *note;    /* what is trained besides, what a library does otherwise */
    const char *released; /* where the published code differs from the paper, or from this; NULL: nothing is
                             recorded */
    struct method method;/* at default sizes */
    int root_alpha; /* LoRA's α over the root of r, unless a call says another; 0: s is what the method has */
    const char *regime;  /* how it is learned (core/train/config/regime.h), or NULL: as its tasks are */
    const char
        *same_as; /* the preset that names it in texts and records: of the same point, for which this one is
                   * another word, or (root_alpha) of the point with another scale.  Usually NULL */
};
/* Returns the s that a call of the preset without one gives a module of this size. */
double preset_scale(const struct preset *p, const struct module *m);
int preset_count(void);
const struct preset *preset_at(int i);
const struct preset *preset_find(const char *name);
/* Gives it the head of episodes at its usual sizes. */
void method_take_generated(struct method *m);
/* The preset that the point equals up to its sizes, or NULL. */
const struct preset *method_preset(const struct method *m);
bool method_has_generator(const struct method *m);
/* "I = relu(W_1 [g_i; e_ℓ] + b_1), values = A I + a, g_i = h; for each row": what a generator (0 …
 * GENERATORS-1) computes.  Caller frees; NULL where it is not there. */
char *method_generator_formula(const struct method *m, int generator);
/* The nearest preset and what differs, one phrase ("mam, but sequential at the ffn");
 * caller frees; NULL for an empty method. */
char *method_nearest(const struct method *m);
/* That preset. */
const struct preset *method_nearest_preset(const struct method *m);
const struct preset *method_nearest_preset_but(const struct method *m, const struct preset *but);
/* The same among the others. */
char *method_nearest_but(const struct method *m, const struct preset *but);

#endif
