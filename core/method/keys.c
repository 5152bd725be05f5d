#include "core/method/keys.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/match.h"

int key_suggest(const char *given, const char *const *words, int count, struct err *e) {
    const char *near = text_nearest(given, words, (size_t)count);
    struct buf text = BUF_INIT;
    buf_puts(&text, e->text);
    if (near) buf_printf(&text, "; did you mean %s?", near);
    for (int i = 0; i < count; i++) buf_printf(&text, "%s%s", i ? ", " : " (known: ", words[i]);
    err_set(e, e->code, "%s)", buf_text(&text));
    buf_release(&text);
    return e->code;
}

int key_word_of(const char *what, const char *value, const char *const *words, int count, struct err *e) {
    for (int i = 0; i < count; i++)
        if (!strcmp(words[i], value)) return i;
    err_set(e, ERR_USAGE, "%s=%s: unknown value", what, value);
    key_suggest(value, words, count, e);
    return -1;
}

static int keys_whole(const char *key, const char *value, int least, int *out, struct err *e) {
    int64_t v;
    if (!text_to_int(value, &v) || v < least || v > SIZE_LIMIT)
        return err_set(e, ERR_USAGE, "%s=%s: must be an integer between %d and %d", key, value, least,
                       SIZE_LIMIT);
    *out = (int)v;
    return 0;
}

static int keys_number(const char *key, const char *value, double *out, struct err *e) {
    if (!text_to_double(value, out))
        return err_set(e, ERR_USAGE, "%s=%s: must be a finite number such as 0.5", key, value);
    return 0;
}

/* Splits "word" or "word(inner)"; inner is "" if there is none. */
static int call(const char *key, const char *value, char word[32], char inner[64], struct err *e) {
    const char *open = strchr(value, '(');
    size_t n = open ? (size_t)(open - value) : strlen(value), m = 0;
    if (open) {
        m = strlen(open + 1);
        if (!m || open[m] != ')') return err_set(e, ERR_USAGE, "%s=%s: missing ')'", key, value);
        m--;
    }
    if (n >= 32 || m >= 64) return err_set(e, ERR_USAGE, "%s=%s: too long", key, value);
    memcpy(word, value, n);
    word[n] = 0;
    if (m) memcpy(inner, open + 1, m);
    inner[m] = 0;
    return 0;
}

/* ---- setters of fields with their own syntax ---- */

static int set_comp(struct module *m, const char *v, struct err *e) {
    char word[32], inner[64];
    if (call("comp", v, word, inner, e)) return e->code;
    int i = key_word_of("comp", word, comp_names, COMP_COUNT, e);
    if (i < 0) return ERR_USAGE;
    double s = 1;
    if (i == COMP_SCALED && !*inner)
        return err_set(e, ERR_USAGE, "comp=scaled: missing factor, for example comp=scaled(2)");
    if (*inner && !comp_has_scale((enum comp)i))
        return err_set(
            e, ERR_USAGE,
            "comp=%s: only scaled(s), learned(s), learned-channel(s) and input-gate(s) accept a number", v);
    if (*inner && keys_number("comp", inner, &s, e)) return e->code;
    m->comp = (enum comp)i;
    m->scale = s;
    return 0;
}

/* s=2, s=learned, s=learned(4): shorthand for comp. */
static int set_s(struct module *m, const char *v, struct err *e) {
    if (text_starts(v, "learned")) return set_comp(m, v, e);
    double s;
    if (keys_number("s", v, &s, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = s;
    return 0;
}

/* LoRA's α: s = α/r.  Applied after r (parse.c). */
static int set_alpha(struct module *m, const char *v, struct err *e) {
    double alpha;
    if (keys_number("alpha", v, &alpha, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = alpha / m->size;
    return 0;
}

/* rsLoRA: s = α/√r. */
static int set_rsalpha(struct module *m, const char *v, struct err *e) {
    double alpha;
    if (keys_number("rsalpha", v, &alpha, e)) return e->code;
    m->comp = COMP_SCALED;
    m->scale = alpha / sqrt(m->size);
    return 0;
}

/* "512" or "512,relu". */
static int set_mlp(struct module *m, const char *v, struct err *e) {
    char width[64];
    const char *comma = strchr(v, ',');
    size_t n = comma ? (size_t)(comma - v) : strlen(v);
    if (n >= sizeof width) return err_set(e, ERR_USAGE, "mlp=%s: too long", v);
    memcpy(width, v, n);
    width[n] = 0;
    enum act act = ACT_NONE; /* the default */
    if (comma) {
        int i = key_word_of("mlp", comma + 1 + strspn(comma + 1, " "), method_act_names + ACT_RELU,
                            ACT_COUNT - ACT_RELU, e);
        if (i < 0) return ERR_USAGE;
        act = (enum act)(i + ACT_RELU);
    }
    if (keys_whole("mlp", width, 1, &m->mid, e)) return e->code;
    m->source = SOURCE_MLP;
    m->mid_act = act;
    m->init = INIT_DEFAULT; /* the default of such a source; init= is applied later */
    module_normalize(m);
    return 0;
}

static int set_source(struct module *m, const char *v, struct err *e) {
    char word[32], inner[64];
    if (call("source", v, word, inner, e)) return e->code;
    int i = key_word_of("source", word, source_names, SOURCE_COUNT, e);
    if (i < 0) return ERR_USAGE;
    if (i == SOURCE_MLP) return set_mlp(m, *inner ? inner : "512", e);
    int mid = source_width((enum source)i);
    if (*inner && !mid)
        return err_set(e, ERR_USAGE,
                       "source=%s: only mlp, lstm, product, kronecker and prompt-… accept a width", v);
    if (*inner && keys_whole("source", inner, 1, &mid, e)) return e->code;
    m->source = (enum source)i;
    m->mid = mid;
    if (i == SOURCE_KRONECKER) m->factor = 1;
    if (mid) m->init = INIT_DEFAULT; /* the default of such a source; init= is applied later */
    module_normalize(m);
    return 0;
}

/* The inner width of the maps of a prompt. */
static int set_b(struct module *m, const char *v, struct err *e) {
    if (!source_is_prompt(m->source))
        return err_set(
            e, ERR_USAGE,
            "b=%s: applies only to the networks of a prompt: use source=prompt-share, prompt-sep or "
            "prompt-global",
            v);
    return keys_whole("b", v, 1, &m->mid, e);
}

static int set_init(struct module *m, const char *v, struct err *e) {
    int i;
    if ((m->from_run = init_text_run(v))) return 0;
    if (!strncmp(v, "run(", 4))
        return err_set(e, ERR_USAGE, "init=%s: expected a run id, for example run(3)", v);
    i = key_word_of("init", v, init_names + INIT_LORA, INIT_COUNT - INIT_LORA, e);
    if (i >= 0) m->init = (enum init)(i + INIT_LORA);
    return i < 0 ? ERR_USAGE : 0;
}

static int set_layers(struct module *m, const char *v, struct err *e) {
    char first[16] = "", last[16] = "";
    const char *dash = strchr(v, '-');
    size_t n = dash ? (size_t)(dash - v) : strlen(v);
    if (!strcmp(v, "all")) {
        m->first = 1;
        m->last = 0;
        return 0;
    }
    if (n < sizeof first && (!dash || strlen(dash + 1) < sizeof last)) {
        memcpy(first, v, n);
        strcpy(last, dash ? dash + 1 : first);
    }
    int64_t a, b = 0;
    if (!text_to_int(first, &a) || (*last && !text_to_int(last, &b)) || a < 1 || a > LAYER_LIMIT ||
        (*last && (b < a || b > LAYER_LIMIT)))
        return err_set(
            e, ERR_USAGE,
            "layers=%s: must be a range such as 1-6, 4- (to the last), 5 or all; layers count from 1", v);
    m->first = (int)a;
    m->last = (int)b;
    return 0;
}

static int set_site(struct module *m, const char *v, struct err *e) {
    int i = key_word_of("site", v, site_names, SITE_ALL + 1, e);
    if (i < 0) return ERR_USAGE;
    struct module x = *m;
    x.site = i;
    module_normalize(&x);
    bool placed = m->write != TAP_NONE || m->target != TARGET_NONE;
    if (placed && x.site != i)
        return err_set(e, ERR_USAGE, "site=%s: %s is not in that sublayer: %s", v,
                       m->write == TAP_NONE ? target_name(m->target) : tap_name(m->write),
                       module_takes_site(m) ? "use self, cross or all" : "omit site=");
    m->site = i;
    return 0;
}

/* Selects the tensor of the linear map whose output is written. */
static int set_write(struct module *m, const char *v, struct err *e) {
    int i = key_word_of("write", v, tap_names + TAP_NONE + 1, TAP_COUNT - TAP_NONE - 1, e);
    if (i < 0) return ERR_USAGE;
    m->write = (enum tap)(TAP_NONE + 1 + i);
    if (module_takes(m, TAKES_TARGET)) m->target = TARGET_TAP;
    return 0;
}

static void print_init(const struct module *m, char out[KEY_TEXT]) { module_init_text(m, out); }

static void print_source(const struct module *m, char out[KEY_TEXT]) {
    char mlp[KEY_TEXT];
    format_mlp(m, mlp);
    if (m->source == SOURCE_MLP) snprintf(out, KEY_TEXT, "mlp(%.*s)", KEY_TEXT - 6, mlp);
    else if (source_width(m->source)) snprintf(out, KEY_TEXT, "%s(%d)", source_name(m->source), m->mid);
    else snprintf(out, KEY_TEXT, "%s", source_name(m->source));
}

/* ---- descriptions of words ---- */

static const char *const rules[] = { "shared", "own" };
static const char *const acts[ACT_COUNT] = {
    [ACT_RELU] = "max(0, x).", [ACT_GELU] = "x Φ(x), with Φ the standard normal CDF.",
        [ACT_SILU] = "x \u03C3(x).",
    [ACT_TANH] = "Between -1 and 1."
};
static const char *const comps_shown[COMP_COUNT] = { "add", "scaled", "learned s", "gated \u03BB",
                                                     "multiply", "in place", "concat",
                                                     "learned channel", "input gate", "input gates" };
static const char *const comps[COMP_COUNT] = {
    [COMP_ADD] = "h \u2190 h + \u0394h.",
    [COMP_SCALED] = "h ← h + s Δh with a fixed s; with Adam equivalent to a larger learning rate for W_u.",
    [COMP_LEARNED] = "h ← h + s Δh with a trainable s.",
    [COMP_GATED] =
        "h ← (1−λ) h + λ Δh: λ(x) is the share of attention on the trainable keys, so it exists only at "
        "attention heads.",
    [COMP_MULTIPLY] = "h ← h ⊙ l: each channel is rescaled.",
    [COMP_CHANNEL] = "h ← h + s ⊙ Δh with a trainable s per channel.",
    [COMP_GATE] =
        "Multiplies Δh, or the keys and values, by g: the mean of σ(x·w + b) over the tokens of the example.",
    [COMP_GATES] = "One gate for the keys, one for the values."
};
static const char *const heads[HEADS_COUNT] = { "One function over the whole width.",
                                                "Each head reads its own slice of the activation, through "
                                                "the frozen W_q.",
                                                "A separate down-projection per head." };
static const char *const sources[SOURCE_COUNT] = {
    "Separate trainable weights per layer.",
    "One set of weights for all layers.",
    "A small MLP generates the weights during training; only its output is stored.",
    "Separate weights per task of the run; with one task equivalent to free.",
    "The hypernetwork generates the weights per task, layer and position (+ hyper).",
    "One prompt per task; in each layer, small networks shared by all tasks compute keys and values from it.",
    "One prompt per task; in each layer, a separate small network per task computes keys and values from it.",
    "One prompt per task; the hypernetwork generates the networks that compute keys and values from it (+ "
    "hyper).",
    "A second hypernetwork with its own conditions generates the weights (+ hyper2).",
    "An LSTM and two linear layers generate the virtual tokens during training; only the tokens are stored.",
    "One prompt for all tasks times a low-rank product per task.",
    "Sums of Kronecker products of small matrices, one set of which is shared by all linear layers "
    "(Compacter).",
    "Frozen, from another run (init=run(N)), and combined with other adapters at the same tap by attention "
    "(AdapterFusion, + fusion)."
};
static const char *const norms[NORM_COUNT] = {
    "No norm after the bottleneck.", "A LayerNorm on Δh, before the scale.",
    "A LayerNorm on Δh, before the scale, shared by all tasks.", "A LayerNorm on s Δh.",
    "A LayerNorm on the sum, h ← LN(h + s Δh)."
};
static const char *const residuals[RESIDUAL_COUNT] = {
    "Δh is added to the activation that the module changes.",
    "Δh is added to the activation that the module changes and to the "
    "residual stream.",
    "Δh is added to the activation that the module reads."
};
static const char *const ends[END_COUNT] = { "The model's residual and norm follow.",
                                             "Neither follows: the changed activation is the output of the "
                                             "sublayer." };
static const char *const shifts[] = {
    "The positions of the text are unchanged.",
    "The text starts at position l, as in PEFT; the first l positions are unused."
};
static const char *const lengths[LENGTH_COUNT] = {
    "The norm of W + s W_u W_d; the bias is added afterwards.",
    "The norm of W + W_u W_d plus the bias, as in AdapterHub."
};
static const char *const inits[INIT_COUNT] = {
    "The function's default.", "W_d Kaiming-uniform, W_u zero: identity at step 0.",
    "Normal with standard deviation 0.02.",
    "Truncated normal with standard deviation 0.01: near-identity.", "Normal with standard deviation 1.",
    "Normal with standard deviation 0.01: near-identity.", "Truncated normal with standard deviation 0.02.",
    "Uniform between -0.5 and 0.5.",
    "Embeddings of random frequent tokens.", "Embeddings of random tokens.",
    "Embeddings of the first tokens of the vocabulary.",
    "Embeddings of the class names, one vector each, then of frequent tokens.",
    "Embeddings of the tokens of --prompt-text, repeated."
};
static const char *const stacks[] = { "The encoder, which reads the source.",
                                      "The decoder, which generates the target.",
                                      "Encoder and decoder." };
static const char *const sites[] = { "Self-attention: a stack's tokens attend to one another.",
                                     "Cross-attention: the decoder's tokens attend to the encoder's output.",
                                     "The feed-forward networks.",
                                     "Outside the blocks: embeddings and final norms.",
                                     "All sublayers that have the tap." };
static const char *const learns[LEARN_COUNT] = {
    [LEARN_BOTH] =
        "With --regime meta, the inner loop adapts the module and the outer loop learns its initialization.",
    [LEARN_INNER] = "With --regime meta, the inner loop adapts the module from a fixed initialization.",
    [LEARN_OUTER] = "With --regime meta, the outer loop trains the module, which is frozen in the inner loop."
};
static const char *const places[PLACE_COUNT] = { "Before all tokens.", "After the first token." };
static const char *const pools[POOL_COUNT] = {
    "The classifier reads the first token of the text.",
    "The classifier reads position 0, a virtual token, as in PEFT and AdapterHub."
};
static const char *const kept[ROWS_COUNT] = { "Only the virtual tokens that are used.",
                                              "Twice as many virtual tokens, half of them unused, as PEFT "
                                              "stores them." };

/* ---- phrases for differences from a published method ---- */

static const char *const with[] = { "without", "with" };
static const char *const a_norm[] = { "no", "a" };
static const char *const norms_said[NORM_COUNT] = { "no", "own", "shared", "scaled", "sum" };
static const char *const moved[] = { "positions not shifted", "positions shifted" };
static const char *const tokens_read[POOL_COUNT] = { "the first token pooled", "position 0 pooled" };

/* ---- conditions under which a field has an effect ---- */

static bool has_decoder(const struct module *m, const struct arch *a) {
    (void)m;
    return a && a->decoder_layers;
}

static bool is_in_layers(const struct module *m, const struct arch *a) {
    (void)a;
    return function_of(m)->form != FORM_ROWS;
}

static bool has_stacks(const struct module *m, const struct arch *a) {
    return has_decoder(m, a) && is_in_layers(m, a);
}

static bool works_by_head(const struct module *m, const struct arch *a) {
    (void)a;
    return function_of(m)->per_head;
}

static bool has_positions(const struct module *m, const struct arch *a) {
    return a && a->positions && !has_decoder(m, a);
}

static bool pools_tokens(const struct module *m, const struct arch *a) {
    return m->place == PLACE_FIRST && !has_decoder(m, a);
}

/* ---- the table ---- */

#define AT(member) .offset = offsetof(struct module, member)

/* Fields in the order of the written forms, followed by those that are only read. */
static const struct key table[] = {
    { "r", "size", TAKES_R, .kind = KEY_WHOLE, AT(size), .least = 1, .json = KEY_TAKEN,
      .description = "Width of a bottleneck, or rank." },
    { "l", "size", TAKES_L, .kind = KEY_WHOLE, AT(size), .least = 1, .json = KEY_TAKEN,
      .description = "Length of the prefix or prompt: number of virtual tokens." },
    { "act", "activation", TAKES_ACT, KEY_WORDS(method_act_names), AT(act),
      .text = KEY_NOT_DEFAULT | KEY_IN_FULL, .json = KEY_TAKEN, .label = "activation",
      .description = "Nonlinearity of the bottleneck.", .each = acts, .differs = " at " },
    { "biases", "biases", TAKES_BIASES, .kind = KEY_FLAG, AT(biases), .neutral = true, .text = KEY_SET,
      .json = KEY_TAKEN, .label = "biases", .description = "Whether the projections have biases b_d and b_u.",
      .differs = " biases at ", .phrases = with },
    { "read", "read", TAKES_READ, KEY_WORDS(tap_names), AT(read), .first = TAP_NONE + 1, .one_point = true,
      .text = KEY_ALWAYS, .json = KEY_SET, .description = "Activation (tap) that the module reads." },
    { "target", "target", TAKES_TARGET, KEY_WORDS(target_names), AT(target), .first = TARGET_ALL,
      .one_point = true, .text = KEY_NOT_DEFAULT | KEY_IN_FULL, .json = KEY_TAKEN,
      .description = "Existing tensors to train." },
    { "write", "write", TAKES_PLACE, KEY_WORDS(tap_names), AT(write), .first = TAP_NONE + 1,
      .one_point = true, .text = KEY_NOT_DEFAULT | KEY_IN_FULL, .json = KEY_SET, .set = set_write,
      .description = "Activation (tap) that the module changes." },
    { "comp", "composition", TAKES_COMP, KEY_WORDS(comp_names), AT(comp), .one_point = true,
      .text = KEY_NOT_DEFAULT | KEY_IN_FULL, .json = KEY_ALWAYS, .set = set_comp, .print = format_comp,
      .label = "composition", .description = "How the change Δh is combined with the activation h.",
      .each = comps, .shown = comps_shown, .differs = " at " },
    { "heads", "heads", TAKES_HEADS, KEY_WORDS(heads_names), AT(heads), .one_point = true,
      .text = KEY_NOT_DEFAULT, .json = KEY_OF_CHANGE, .label = "heads",
      .description = "Whether the function is applied per attention head.", .each = heads,
      .acts = works_by_head, .differs = " heads at " },
    { "source", "source", TAKES_SOURCE, KEY_WORDS(source_names), AT(source), .one_point = true,
      .text = KEY_SET, .json = KEY_OF_CHANGE, .set = set_source, .print = print_source, .label = "source",
      .description = "Source of the weights.", .each = sources, .differs = " weights at " },
    { "rank", "rank", TAKES_SOURCE, .kind = KEY_WHOLE, AT(factor), .neutral = 1, .text = KEY_SET,
      .json = KEY_TAKEN,
      .description = "Rank of the factors of Kronecker products; 0: the products themselves are trained." },
    { "rule", "rule", TAKES_SOURCE, KEY_WORDS(rules), AT(own_rule), .text = KEY_SET, .json = KEY_TAKEN,
      .description = "Whether all linear layers share one set of A_i, or each has its own." },
    { "norm-before", "norm_before", TAKES_NORM, .kind = KEY_FLAG, AT(norm_before), .text = KEY_SET,
      .json = KEY_SET, .label = "norm before", .description = "Whether a LayerNorm precedes the bottleneck.",
      .differs = " norm before the bottleneck at ", .phrases = a_norm },
    { "norm", "norm", TAKES_NORM, KEY_WORDS(norm_names), AT(norm), .text = KEY_SET, .json = KEY_SET,
      .label = "norm", .description = "LayerNorm after the bottleneck.", .each = norms,
      .differs = " norm after the bottleneck at ", .phrases = norms_said },
    { "residual", "residual", TAKES_RESIDUAL, KEY_WORDS(residual_names), AT(residual), .text = KEY_SET,
      .json = KEY_SET, .label = "residual", .description = "Activation to which the change is added.",
      .each = residuals, .differs = " as residual at " },
    { "end", "end", TAKES_RESIDUAL, KEY_WORDS(ending_names), AT(ending), .text = KEY_SET, .json = KEY_SET,
      .label = "end", .description = "Whether the model's residual and norm follow the sublayer.",
      .each = ends, .differs = " end at " },
    { "shift", "shift", TAKES_SHIFT, .kind = KEY_FLAG, AT(shift), .text = KEY_SET, .json = KEY_SET,
      .label = "shift", .description = "Whether the prefix shifts the positions of the text.", .each = shifts,
      .acts = has_positions, .differs = "", .phrases = moved },
    { "length", "length", TAKES_LENGTH, KEY_WORDS(length_names), AT(length), .text = KEY_SET, .json = KEY_SET,
      .label = "length", .description = "Whether the norm of a decomposed weight includes the bias.",
      .each = lengths, .differs = " norm at " },
    { "seed", "seed", TAKES_SEED, .kind = KEY_WHOLE, AT(seed), .text = KEY_SET, .json = KEY_TAKEN,
      .description = "Seed of the frozen projection." },
    { "init", "init", TAKES_INIT, KEY_WORDS(init_names), AT(init), .first = INIT_LORA, .one_point = true,
      .text = KEY_NOT_DEFAULT | KEY_IN_FULL, .json = KEY_TAKEN, .set = set_init, .print = print_init,
      .label = "init", .description = "Initialization of the weights.", .each = inits,
      .differs = " init at " },
    { "dropout", "dropout", TAKES_DROPOUT, .kind = KEY_SHARE, AT(dropout), .text = KEY_SET, .json = KEY_TAKEN,
      .label = "dropout", .description = "Dropout on the module's input, or inside an adapter." },
    { "layers", NULL, TAKES_PLACE, .kind = KEY_LAYERS, .text = KEY_SET, .set = set_layers,
      .print = key_layers_text, .label = "layers", .description = "Layers of each stack, counted from 1.",
      .acts = is_in_layers },
    { "stack", "stack", TAKES_PLACE, KEY_WORDS(stack_names), AT(stack), .text = KEY_NOT_DEFAULT,
      .label = "stack", .description = "Stack to which the module is added.", .each = stacks,
      .acts = has_stacks, .neutral = STACK_ALL },
    { "place", "place", TAKES_ROWS, KEY_WORDS(place_names), AT(place), .text = KEY_SET, .json = KEY_TAKEN,
      .label = "place", .description = "Where the prompt joins the sequence.", .each = places,
      .differs = " at " },
    { "pool", "pool", TAKES_ROWS, KEY_WORDS(pool_names), AT(pool), .text = KEY_SET, .json = KEY_TAKEN,
      .label = "pooling", .description = "Position that the classifier reads.", .each = pools,
      .acts = pools_tokens, .differs = "", .phrases = tokens_read },
    { "rows", "rows", TAKES_ROWS, KEY_WORDS(rows_names), AT(rows), .text = KEY_SET, .json = KEY_TAKEN,
      .label = "stored", .description = "Virtual tokens stored on a model with a decoder.", .each = kept,
      .acts = has_decoder },
    { "site", "site", TAKES_PLACE, KEY_WORDS(site_names), AT(site), .neutral = SITE_ALL, .text = KEY_SET,
      .set = set_site, .label = "site", .description = "Sublayers to which the module is added.",
      .each = sites, .acts = has_decoder },
    { "learn", "learn", TAKES_PLACE, KEY_WORDS(learn_names), AT(learn), .text = KEY_SET, .json = KEY_SET,
      .label = "learn", .description = "Meta-learning loop that trains the module.", .each = learns },
    { "s", NULL, TAKES_S, .set = set_s, .description = "Fixed scale, short for comp=scaled(s)." },
    { "alpha", NULL, TAKES_ALPHA, .set = set_alpha, .description = "Scale s = alpha/r." },
    { "rsalpha", NULL, TAKES_ALPHA, .set = set_rsalpha, .description = "Scale s = rsalpha/\u221Ar." },
    { "mlp", NULL, TAKES_MLP, .set = set_mlp,
      .description = "Inner width of the MLP that generates the weights, short for source=mlp(N)." },
    { "b", NULL, TAKES_MLP, .set = set_b,
      .description = "Inner width of the networks that compute keys and values from a prompt." },
};

const struct key key_scale = { "scale", "scale", .kind = KEY_REAL, AT(scale), .label = "scale",
                               .description = "Scale s of the change." };
const struct key key_mid = { "inner width",
                             "mid",
                             .kind = KEY_WHOLE,
                             AT(mid),
                             .least = 1,
                             .label = "inner width",
                             .description = "Inner width of the network that generates the weights." };

const struct key *key_at(int i) { return i < (int)COUNT_OF(table) ? &table[i] : NULL; }

const struct key *key_find(const char *name) {
    for (size_t i = 0; i < COUNT_OF(table); i++)
        if (!strcmp(table[i].name, name)) return &table[i];
    return NULL;
}

bool key_takes(const struct key *k, const struct module *m) {
    if (!module_takes(m, k->bit)) return false;
    if (k->offset == offsetof(struct module, factor) || k->offset == offsetof(struct module, own_rule))
        return m->source == SOURCE_KRONECKER;
    if (k->set == set_site) return module_takes_site(m);
    if (k->set == set_s || k->set == set_alpha || k->set == set_rsalpha)
        return m->comp == COMP_ADD || comp_has_scale(m->comp);
    return true;
}

/* ---- values by kind ---- */

static void *place_in(const struct key *k, void *of) { return (char *)of + k->offset; }
static const void *place_of(const struct key *k, const void *of) { return (const char *)of + k->offset; }

static bool is_double(const struct key *k) { return k->kind >= KEY_NUMBER && k->kind <= KEY_REAL; }

bool key_is_number(const struct key *k) {
    return k->kind == KEY_WHOLE || k->kind == KEY_LAYERS || is_double(k);
}

int key_number(const struct key *k, const void *of) {
    const struct module *m = of;
    if (k->kind == KEY_LAYERS) return m->first != 1 || m->last;
    if (k->kind == KEY_FLAG) return *(const bool *)place_of(k, of);
    if (is_double(k)) return *(const double *)place_of(k, of) != 0;
    return *(const int *)place_of(k, of);
}

bool key_same(const struct key *k, const void *a, const void *b) {
    const struct module *x = a, *y = b;
    if (k->kind == KEY_LAYERS) return x->first == y->first && x->last == y->last;
    if (k->set == set_init && x->from_run != y->from_run) return false;
    if (is_double(k)) return *(const double *)place_of(k, a) == *(const double *)place_of(k, b);
    return k->kind == KEY_OTHER || key_number(k, a) == key_number(k, b);
}

void key_copy(const struct key *k, void *to, const void *from) {
    static const size_t size[] = { [KEY_WHOLE] = sizeof(int),
                                   [KEY_WORD] = sizeof(int),
                                   [KEY_FLAG] = sizeof(bool),
                                   [KEY_NUMBER] = sizeof(double),
                                   [KEY_WEIGHT] = sizeof(double),
                                   [KEY_SHARE] = sizeof(double),
                                   [KEY_REAL] = sizeof(double),
                                   [KEY_LAYERS] = 0,
                                   [KEY_OTHER] = 0 };
    memcpy(place_in(k, to), place_of(k, from), size[k->kind]);
}

void key_print(const struct key *k, const void *of, char out[KEY_TEXT]) {
    if (k->print) k->print(of, out);
    else if (is_double(k)) text_from_double(*(const double *)place_of(k, of), out);
    else if (k->kind == KEY_FLAG) strcpy(out, key_number(k, of) ? "yes" : "no");
    else if (k->kind == KEY_WORD) snprintf(out, KEY_TEXT, "%s", k->words[key_number(k, of)]);
    else snprintf(out, KEY_TEXT, "%d", key_number(k, of));
}

const char *key_refuses(const struct key *k, double x) {
    if (k->kind == KEY_NUMBER && !(x > 0)) return "above 0";
    if (k->kind == KEY_WEIGHT && !(x >= 0)) return "at least 0";
    return k->kind == KEY_SHARE && !(x >= 0 && x < 1) ? "at least 0 and below 1" : NULL;
}

const char *key_fault(const struct key *k, const void *of) {
    if (is_double(k)) return key_refuses(k, *(const double *)place_of(k, of));
    if (k->kind != KEY_WHOLE || *(const int *)place_of(k, of) >= k->least) return NULL;
    return k->least ? "at least 1" : "at least 0";
}

static int set_double(const struct key *k, double *to, const char *value, struct err *e) {
    double x;
    if (keys_number(k->name, value, &x, e)) return e->code;
    const char *must = key_refuses(k, x);
    if (must) return err_set(e, ERR_USAGE, "%s=%s: must be %s", k->name, value, must);
    *to = x;
    return 0;
}

void key_choose(const struct key *k, void *of, int value) {
    if (k->kind == KEY_FLAG) *(bool *)place_in(k, of) = value;
    else *(int *)place_in(k, of) = value;
}

int key_set(const struct key *k, void *of, const char *value, struct err *e) {
    if (k->set) return k->set(of, value, e);
    if (k->kind == KEY_WHOLE) return keys_whole(k->name, value, k->least, place_in(k, of), e);
    if (is_double(k)) return set_double(k, place_in(k, of), value, e);
    if (k->kind == KEY_FLAG) {
        bool yes = !strcmp(value, "yes");
        if (!yes && strcmp(value, "no"))
            return err_set(e, ERR_USAGE, "%s=%s: must be yes or no", k->name, value);
        key_choose(k, of, yes);
        return 0;
    }
    int i = key_word_of(k->name, value, k->words + k->first, k->count - k->first, e);
    if (i < 0) return ERR_USAGE;
    key_choose(k, of, k->first + i);
    return 0;
}

void key_layers_text(const struct module *m, char out[KEY_TEXT]) {
    if (m->first == 1 && !m->last) strcpy(out, "all");
    else if (!m->last) snprintf(out, KEY_TEXT, "%d-", m->first);
    else if (m->first == m->last) snprintf(out, KEY_TEXT, "%d", m->first);
    else snprintf(out, KEY_TEXT, "%d-%d", m->first, m->last);
}
