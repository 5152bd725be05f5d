/* The roles of a plan's tensors, and the model tensors that a module selects.  Private to
 * core/method. */
#ifndef CORE_METHOD_SLOTS_H
#define CORE_METHOD_SLOTS_H

#include "core/method/plan.h"

/* plan_tensor.role.  Matrices are out×in, as in PyTorch files. */
enum slot {
    SLOT_MODEL,
    /* Of functions (fn_NAME.c). A function uses SLOT_OWN + k for other tensors. */
    SLOT_DOWN_W,
    SLOT_DOWN_B,
    SLOT_UP_W,
    SLOT_UP_B, /* of linear and bottleneck */
    SLOT_SCALE, /* the learned s, 1×1 */
    SLOT_KEY,
    SLOT_VALUE, /* of softmax, l×dq */
    SLOT_CHANNEL, /* of scale, 1×width */
    SLOT_NORM_W,
    SLOT_NORM_B, /* γ and β after a bottleneck, 1×width */
    SLOT_BEFORE_W,
    SLOT_BEFORE_B, /* and of its input */
    SLOT_GATE_W,
    SLOT_GATE_B, /* of gates, gates×width read and gates×1 */
    SLOT_INNER,
    SLOT_OUTER, /* of projected, 1×r and 1×width */
    SLOT_SINGULAR, /* e of an SVD, 1×r */
    SLOT_LENGTH, /* of decomposed, 1×width */
    SLOT_OWN,
    SLOT_OWN_LAST = SLOT_OWN + 3,
    SLOT_PROMPT,
    SLOT_PROMPT_DOWN_K,
    SLOT_PROMPT_UP_K,
    SLOT_PROMPT_DOWN_V,
    SLOT_PROMPT_UP_V, /* prompt.h */
    SLOT_KRON_A,
    SLOT_KRON_A_DOWN,
    SLOT_KRON_A_UP,
    SLOT_KRON_L_DOWN,
    SLOT_KRON_R_DOWN,
    SLOT_KRON_L_UP,
    SLOT_KRON_R_UP, /* kronecker.h */
    SLOT_MLP_E,
    SLOT_MLP_W1,
    SLOT_MLP_B1,
    SLOT_MLP_W2,
    SLOT_MLP_B2,
    SLOT_MLP_W3,
    SLOT_MLP_B3,
    SLOT_LSTM,
    SLOT_LSTM_LAST = SLOT_LSTM + 15, /* prompt_rows.h */
    SLOT_MASK_W,
    SLOT_MASK_GATE,
    SLOT_MASK_GROUP,
    SLOT_MASK_VALUES,
    SLOT_MASK_PLACES, /* masked.h */
    SLOT_PRODUCT,
    SLOT_PRODUCT_U,
    SLOT_PRODUCT_V,
    SLOT_HEAD_W,
    SLOT_HEAD_B,
    SLOT_POOLER_W,
    SLOT_POOLER_B,
    SLOT_WORDS_W,
    SLOT_WORDS_B,
    SLOT_WORDS_NORM_W,
    SLOT_WORDS_NORM_B,
    SLOT_WORDS_BIAS, /* words.h */
    SLOT_PROJECTION_A,
    SLOT_PROJECTION_B, /* projection.h */
    SLOT_ATTEMPT_DOWN,
    SLOT_ATTEMPT_UP,
    SLOT_ATTEMPT_NORM_W,
    SLOT_ATTEMPT_NORM_B, /* attempt.h */
    SLOT_FUSION_QUERY_W,
    SLOT_FUSION_QUERY_B,
    SLOT_FUSION_KEY_W,
    SLOT_FUSION_KEY_B,
    SLOT_FUSION_VALUE, /* fusion.h */
    /* Of the generator (hyper.h). */
    SLOT_HYPER_TASK,
    SLOT_HYPER_PROTOTYPE,
    SLOT_HYPER_LAYER,
    SLOT_HYPER_PLACE,
    SLOT_HYPER_ROW_W1,
    SLOT_HYPER_ROW_B1,
    SLOT_HYPER_ROW_W2,
    SLOT_HYPER_ROW_B2,
    SLOT_HYPER_W_TASK,
    SLOT_HYPER_W_PROTOTYPE,
    SLOT_HYPER_W_ROW,
    SLOT_HYPER_W_LAYER,
    SLOT_HYPER_W_PLACE,
    SLOT_HYPER_B1,
    SLOT_HYPER_W2,
    SLOT_HYPER_B2,
    SLOT_HYPER_NORM_W,
    SLOT_HYPER_NORM_B,
    SLOT_HYPER_HEAD_W,
    SLOT_HYPER_HEAD_B,
    /* Of a generated head (generated.h), and the inner loop's rates. */
    SLOT_FEATURE_W1,
    SLOT_FEATURE_B1,
    SLOT_FEATURE_W2,
    SLOT_FEATURE_B2,
    SLOT_LABEL_W1,
    SLOT_LABEL_B1,
    SLOT_LABEL_W2,
    SLOT_LABEL_B2,
    SLOT_RATES,
    SLOT_COUNT
};

bool tap_is_attention(enum tap t);
bool tap_is_ffn(enum tap t);
/* Adapts a method to a model whose feed-forward sublayers are not gated: there f.up is f.pre. A module at f.up
 * next to one of its function at f.pre (at=all-linear) stays, and has no place. */
void method_fit_taps(struct method *m, const struct arch *a);
/* Returns the width of a tap. */
int tap_width(const struct arch *a, enum tap tap);
/* The layers first … end-1 (0-based) of one sublayer of one stack; [-1, 0) is the
 * embedding. */
struct span {
    int stack, site, first, end;
};
enum { SPANS = 3 }; /* a module's: encoder self, decoder self, decoder cross */
/* Returns the number of spans of the module on this model, and the spans in the order of the forward pass.
 * For existing tensors only if the target is a tap. */
int module_spans(const struct module *m, const struct arch *a, struct span out[SPANS]);
bool module_covers(const struct module *m, const struct arch *a, int stack, int site, int layer);
/* Returns whether two modules share a layer of a sublayer. */
bool modules_meet(const struct module *x, const struct module *y, const struct arch *a);
int arch_layers(const struct arch *a, int stack);
/* Returns whether a module of existing tensors selects this one. */
bool module_selects(const struct module *m, const struct arch *a, const struct tensor_info *t);
/* Return the roles of weight and bias of the map whose output is `tap`, ROLE_COUNT if none. */
enum tensor_role tap_weight_role(enum tap tap);
enum tensor_role tap_bias_role(enum tap tap);
/* Returns the tap from which an input-dependent gate is computed. */
enum tap gate_reads(const struct module *m);
/* Returns whether read and write tap are input and output of one linear map. */
bool module_is_map(const struct module *m);

/* Returns the tensor of a slot of a module at a layer (any layer for shared ones), or NULL. */
const struct plan_tensor *plan_slot(const struct plan *p, int module, enum slot slot, int stack,
                                    int site, int layer);
/* Returns the tensor of a slot of the method as a whole (PLAN_NETWORK), or NULL. */
const struct plan_tensor *plan_network(const struct plan *p, enum slot slot);
/* The same for a task's head. */
const struct plan_tensor *plan_head(const struct plan *p, int task, enum slot slot);

#endif
