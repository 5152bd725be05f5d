/* Rules for a method on a model's shape; rules for one function are in the file of the function. Each rule
 * has an id, listed in docs/methods.md; each finding states the reason and the remedy. */
#include "core/method/check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/method/attempt.h"
#include "core/method/classifier.h"
#include "core/method/fusion.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/keys.h"
#include "core/method/kronecker.h"
#include "core/method/masked.h"
#include "core/method/retriever.h"
#include "core/method/sources.h"

void check_find(struct check *c, enum level level, const char *rule, const char *format, ...) {
    GROW(c->list, c->room, c->count + 1);
    struct finding *f = &c->list[c->count++];
    *f = (struct finding){ .level = level, .module = c->at };
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    va_list args;
    va_start(args, format);
    vsnprintf(f->text, sizeof f->text, format, args);
    va_end(args);
}

void check_memory(struct check *c, const struct module *m, double bytes, bool always) {
    double values = 0, memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < c->tensors; i++)
        if (module_selects(m, c->a, &c->tensor[i])) values += (double)c->tensor[i].rows * c->tensor[i].cols;
    bool more = values * bytes > memory;
    if (!more && !always) return;
    check_find(c, more ? LEVEL_WARNING : LEVEL_INFO, "V33",
               "training %.0f parameters needs %.1f GB for parameters, gradients and optimizer state; this "
               "machine has %.1f GB",
               values, values * bytes * 1e-9, memory * 1e-9);
}

/* ---- places ---- */

static bool is_writable(enum tap t) {
    switch (t) {
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: case TAP_A_HEAD: case TAP_A_CTX: case TAP_A_OUT:
    case TAP_F_PRE: case TAP_F_UP: case TAP_F_ACT: case TAP_F_OUT: case TAP_EMBED:
        return true;
    default: return false;
    }
}

/* Returns the order of computation within a sublayer; q, k and v have the same rank. */
static int tap_rank(enum tap t) {
    switch (t) {
    case TAP_A_RES: case TAP_F_RES: return 0;
    case TAP_A_IN: case TAP_F_IN: return 1;
    case TAP_A_Q: case TAP_A_K: case TAP_A_V: case TAP_F_PRE: case TAP_F_UP: return 2;
    case TAP_A_HEAD: case TAP_A_CTX: case TAP_F_ACT: return 3;
    case TAP_A_OUT: case TAP_F_OUT: return 4;
    case TAP_F_NORM: case TAP_A_NORM: return 5;
    default: return 6;
    }
}

static void check_write(struct check *c, const struct module *m) {
    if (module_in_weight(m)) {
        if (m->target == TARGET_TAP && tap_weight_role(m->write) == ROLE_COUNT)
            ERROR(c, "V38",
                  "%s is not the output of a linear layer or LayerNorm: use write=a.q, a.k, a.v, a.out, "
                  "a.end, f.pre, f.up, f.out, f.end or embed",
                  tap_name(m->write));
        return;
    }
    bool rows = function_of(m)->form == FORM_ROWS, words = function_of(m)->of_words;
    if (words && m->write != TAP_EMBED_WORDS)
        ERROR(c, "V38", "a %s applies to the word embeddings (embed.words), not to %s: omit write=",
              function_of(m)->name, tap_name(m->write));
    else if (words && (m->first != 1 || m->last))
        ERROR(c, "V13", "the embedding does not belong to a layer: omit layers=");
    else if (words)
        return;
    else if (rows && m->write != TAP_EMBED && m->write != TAP_EMBED_WORDS)
        ERROR(c, "V38", "a prompt can be inserted only at embed.words or embed, not at %s",
              tap_name(m->write));
    else if (!rows && m->write == TAP_EMBED_WORDS)
        ERROR(c, "V38", "only prompt and lookup can write embed.words: use write=embed, the output of the "
                        "embedding");
    else if (!rows && !is_writable(m->write))
        ERROR(c, "V38",
              "%s is not writable: the writable taps are a.q, a.k, a.v, a.head, a.ctx, a.out, f.pre, f.up, "
              "f.act, f.out and embed",
              tap_name(m->write));
    else if ((rows || m->write == TAP_EMBED) && (m->first != 1 || m->last))
        ERROR(c, "V13", "the embedding does not belong to a layer: omit layers=");
}

static void check_read(struct check *c, const struct module *m) {
    if (!module_takes(m, TAKES_READ) || !is_writable(m->write)) return;
    const char *read = tap_name(m->read), *write = tap_name(m->write);
    bool same = (tap_is_attention(m->read) && tap_is_attention(m->write)) ||
                (tap_is_ffn(m->read) && tap_is_ffn(m->write)) || m->read == m->write;
    bool pfeiffer = (m->read == TAP_F_NORM && m->write == TAP_F_OUT) ||
                    (m->read == TAP_A_NORM && m->write == TAP_A_OUT);
    if (!same)
        ERROR(c, "V39",
              "%s and %s are in different sublayers: read a tap of the sublayer that is written", read,
              write);
    else if (!pfeiffer && m->read != m->write && tap_rank(m->read) > tap_rank(m->write))
        ERROR(c, "V6", "%s is computed from %s, so the module would depend on its own output: read a tap "
                       "before %s", read, write, write);
    else if (m->read != m->write && tap_rank(m->read) == tap_rank(m->write) && tap_rank(m->read) == 2)
        ERROR(c, "V39", "%s and %s are computed in parallel: use read=%s", read, write,
              tap_is_ffn(m->read) ? "f.in" : "a.in");
}

static void check_place(struct check *c, const struct module *m) {
    bool cross = m->site == SUB_CROSS;
    if ((m->stack == STACK_DECODER || cross) && !c->a->decoder_layers)
        ERROR(c, "V7", "this model has no %s: omit %s",
              cross ? "cross-attention" : "decoder", cross ? "site=cross" : "stack=decoder");
    else if (m->stack == STACK_ENCODER && cross)
        ERROR(c, "V7", "an encoder has no cross-attention: omit stack=encoder or site=cross");
}

static void check_layers(struct check *c, const struct module *m) {
    char range[KEY_TEXT];
    key_layers_text(m, range);
    check_place(c, m);
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++) {
        int layers = arch_layers(c->a, stack);
        bool here = m->stack == STACK_ALL ? layers > 0 && (stack || m->site != SUB_CROSS)
                                          : m->stack == stack && layers > 0;
        if (!here || (m->first <= layers && m->last <= layers)) continue;
        if (!c->a->decoder_layers)
            ERROR(c, "V40", "layers=%s: this model has layers 1 to %d", range, layers);
        else
            ERROR(c, "V40",
                  "layers=%s: the %s has layers 1 to %d%s", range, stack_name(stack), layers,
                  m->stack == STACK_ALL ? "; a range applies to both stacks: select one with stack=" : "");
        return;
    }
}

/* In cross-attention, keys and values have the encoder's rows and all other taps the decoder's. */
static void check_rows(struct check *c, const struct module *m) {
    bool cross = m->site == SUB_CROSS || (m->site == SITE_ALL && tap_is_attention(m->write));
    if (!module_takes(m, TAKES_READ)) return;
    if (!cross || !c->a->decoder_layers || m->stack == STACK_ENCODER) return;
    bool to_keys = m->write == TAP_A_K || m->write == TAP_A_V;
    bool from_keys = m->read == TAP_A_K || m->read == TAP_A_V;
    if (m->read == m->write || !tap_is_attention(m->read)) return;
    if (from_keys ? !to_keys : to_keys && m->read != TAP_A_IN)
        ERROR(c, "V46",
              "in cross-attention, a.k and a.v are computed from the encoder's tokens and other taps from "
              "the decoder's: a module cannot read %s and write %s; use site=self",
              tap_name(m->read), tap_name(m->write));
}

/* ---- function, composition, heads, source ---- */

/* Returns whether the function supports the composition; adds errors for invalid combinations. */
static bool check_form(struct check *c, const struct module *m) {
    const struct function *f = function_of(m);
    bool takes = f->comps >> m->comp & 1;
    if (f->check && !f->check(c, m)) return takes;
    if (m->comp == COMP_GATED && !(takes && m->write == TAP_A_HEAD))
        ERROR(c, "V1",
              "comp=gated is available only for a prefix (softmax) at a.head, where λ is the share of "
              "attention on the prefix: use comp=add or comp=scaled");
    else if (!takes)
        ERROR(c, "V42", "a %s does not support the composition %s: use %s", f->name,
              m->comp == COMP_MULTIPLY    ? "multiply"
              : m->comp == COMP_IN_WEIGHT ? "in-weight"
                                          : comp_name(m->comp),
              f->comps & COMPS_GATED    ? "add, scaled, learned or gated"
              : f->comps & COMPS_ADDING ? "add, scaled or learned"
                                        : comp_name(f->defaults.comp));
    return takes;
}

/* Checks norms and residuals that change the end of the sublayer. */
static void check_end(struct check *c, const struct module *m) {
    bool moved = m->residual != RESIDUAL_WRITTEN || m->ending != END_MODEL || m->norm == NORM_SUM;
    bool normed = m->norm_before || m->norm == NORM_SCALED || m->norm == NORM_SUM;
    if (moved && m->write != TAP_A_OUT && m->write != TAP_F_OUT)
        ERROR(c, "V61",
              "residual=, end=bare and norm=sum apply only at the end of a sublayer: use write=a.out or "
              "write=f.out instead of %s",
              tap_name(m->write));
    else if ((moved || normed) && m->heads != HEADS_SHARED)
        ERROR(
            c, "V61",
            "a bottleneck per head does not support norms, residual= or end=: use heads=shared");
    else if (normed && source_is_generated(m->source))
        ERROR(c, "V61", "generated weights support only norm=own and norm=shared");
    else if (m->residual == RESIDUAL_READ && tap_width(c->a, m->read) != tap_width(c->a, m->write))
        ERROR(c, "V61", "%s and %s differ in width, so the residual cannot be added: omit residual=read",
              tap_name(m->read), tap_name(m->write));
}

static void check_comp(struct check *c, const struct module *m) {
    bool gates = comp_gates(m->comp) > 0;
    if (module_in_weight(m) || !check_form(c, m)) return;
    if (comp_has_scale(m->comp) && !isfinite(m->scale))
        ERROR(c, "V16", "the scale must be finite");
    else if ((m->comp == COMP_SCALED || gates) && m->scale == 0)
        ERROR(c, "V16", "with scale 0 the module has no effect and no gradient: use another scale");
    if (m->comp == COMP_LEARNED && m->scale != 1 && m->scale != 0)
        WARN(c, "V22",
             "a trainable scale initialized to %g is equivalent to one initialized to 1 with a rescaled "
             "W_u: initialize it to 1 unless you compare the two",
             m->scale);
    if (m->comp == COMP_LEARNED && m->scale == 0 && m->init == INIT_LORA)
        WARN(c, "V24",
             "s = 0 and W_u = 0: all gradients of the module stay zero; initialize s to 1");
}

static void check_heads(struct check *c, const struct module *m) {
    const struct function *f = function_of(m);
    if (f->form == FORM_KEYS || m->heads == HEADS_SHARED) return;
    if (tap_is_ffn(m->write))
        ERROR(c, "V5", "the FFN has no heads: use heads=shared");
    else if (!f->per_head)
        ERROR(c, "V42", "a %s per head is not supported: use heads=shared", f->name);
    else if (m->write != TAP_A_HEAD)
        ERROR(c, "V43", "a module per head needs write=a.head, not %s", tap_name(m->write));
    else if (m->heads == HEADS_FACTORIZED && m->read != TAP_A_Q && m->read != TAP_A_HEAD)
        ERROR(c, "V43",
              "heads=factorised can read only a.q or a.head, which are split by head, not %s; use "
              "heads=free to read another tap",
              tap_name(m->read));
}

/* Prompts provide keys and values of self-attention only. */
static void check_prompt(struct check *c, const struct module *m) {
    struct span span[SPANS];
    int n = module_spans(m, c->a, span);
    if (function_of(m)->form != FORM_KEYS)
        ERROR(c, "V54",
              "only a prefix (softmax) can be computed from a task prompt: use source=task or source=hyper");
    for (int i = 0; i < n; i++)
        if (span[i].site == SUB_CROSS) {
            ERROR(c, "V54",
                  "a prefix computed from a task prompt is supported only in self-attention: use site=self");
            return;
        }
}

/* A gate is a mean over a whole sequence: during generation it would depend on later tokens. */
static void check_gate(struct check *c, const struct module *m) {
    struct span span[SPANS];
    bool gate = comp_gates(m->comp) > 0, keys = function_of(m)->form == FORM_KEYS;
    int n = gate || m->comp == COMP_CHANNEL ? module_spans(m, c->a, span) : 0;
    if (n &&
        (source_is_hyper(m->source) || source_is_prompt(m->source) || (keys && m->source == SOURCE_TASK)))
        ERROR(c, "V47", "comp=%s with weights per task is not supported: use source=free",
              comp_name(m->comp));
    if (n && !gate && (m->norm == NORM_SCALED || m->norm == NORM_SUM))
        ERROR(c, "V47", "comp=%s with norm=scaled or norm=sum is not supported: use norm=own",
              comp_name(m->comp));
    for (int i = 0; i < n && gate; i++)
        if (span[i].stack == STACK_DECODER) {
            ERROR(c, "V73",
                  "the gate averages over all tokens of an example; in the decoder it would see future "
                  "tokens: use stack=encoder");
            return;
        }
}

static void check_source(struct check *c, const struct module *m) {
    const struct key *k;
    const struct function *f = function_of(m);
    bool keys = f->form == FORM_KEYS, by_task = source_row(m->source)->by_task;
    bool rows = f->form == FORM_ROWS, of_rows = m->source == SOURCE_LSTM || m->source == SOURCE_PRODUCT;
    if (m->source == SOURCE_MLP && !module_takes(m, TAKES_MLP))
        ERROR(c, "V42", "an MLP can generate only a prefix or a prompt: use source=free or source=shared");
    if (of_rows && !rows)
        ERROR(c, "V42", "source=%s applies only to prompts: use source=free", source_name(m->source));
    if (m->source == SOURCE_HYPER && rows)
        ERROR(c, "V42",
              "a prompt cannot be generated by the hypernetwork: use source=free, source=task or "
              "source=product");
    if (init_is_of_rows(m->init) && !rows)
        ERROR(c, "V42", "init=%s applies only to prompts: use init=bert or init=normal", init_name(m->init));
    if (rows && m->init == INIT_LORA)
        ERROR(c, "V42", "init=lora does not apply to prompts: use init=vocabulary, uniform or normal");
    if (source_is_prompt(m->source)) check_prompt(c, m);
    if (m->source == SOURCE_KRONECKER) kronecker_check(c, m);
    if (by_task && f->per_head && m->heads != HEADS_SHARED)
        ERROR(c, "V47", "a %s per task and per head is not supported: use heads=shared", f->name);
    else if (by_task && m->comp == COMP_LEARNED && (keys || m->norm != NORM_NONE))
        ERROR(c, "V47", "a trainable scale per task %s is not supported: use comp=add or comp=scaled",
              keys ? "for a prefix" : "with a norm");
    check_gate(c, m);
    if (m->norm != NORM_NONE && m->heads != HEADS_SHARED)
        ERROR(c, "V48", "a norm after a bottleneck per head is not supported: use heads=shared");
    if (keys && m->init == INIT_LORA)
        ERROR(c, "V42",
              "init=lora does not apply to keys and values (zeros are not the identity there): use "
              "init=bert or init=normal");
    for (int i = 0; (k = key_at(i)); i++) {
        const char *fault = key_takes(k, m) ? key_fault(k, m) : NULL;
        if (fault) ERROR(c, "V16", "%s must be %s", k->name, fault);
    }
}

/* ---- existing tensors ---- */

static void check_selection(struct check *c, const struct module *m) {
    bool vectors = function_of(m)->vectors_only;
    int n = 0;
    if (!module_in_weight(m)) return;
    for (int i = 0; i < c->tensors; i++) n += module_selects(m, c->a, &c->tensor[i]);
    if (n == 0 && vectors && !c->a->biases)
        ERROR(c, "V11",
              "this model has no bias vectors to train%s: use full(target=norms), which has about as few "
              "parameters",
              c->a->buckets ? " (relative_attention_bias is an embedding of relative positions)" : "");
    else if (n == 0)
        ERROR(c, "V11",
              "no tensor of the model is selected: widen layers= or choose another target");
}

/* Returns whether module y, of existing tensors, selects a tensor of this role at a place of x. */
static bool takes_role(const struct check *c, const struct module *y, const struct module *x,
                       enum tensor_role role) {
    for (int i = 0; i < c->tensors; i++) {
        const struct tensor_info *t = &c->tensor[i];
        if (t->role == role && module_selects(y, c->a, t) &&
            module_covers(x, c->a, t->stack, t->sublayer, t->layer))
            return true;
    }
    return false;
}

/* Checks a pair of modules; c->at is the later one. */
static void check_pair(struct check *c, const struct module *x, int first, const struct module *y) {
    for (int i = 0; i < c->tensors; i++)
        if (module_selects(x, c->a, &c->tensor[i]) && module_selects(y, c->a, &c->tensor[i])) {
            ERROR(c, "V12",
                  "%s is also trained by module %d: restrict one of the two modules",
                  c->tensor[i].name, first + 1);
            break;
        }
    for (int turn = 0; turn < 2; turn++) { /* either order */
        const struct module *owner = turn ? y : x, *user = turn ? x : y;
        if (!function_of(owner)->vectors_only && module_is_map(user) &&
            takes_role(c, owner, user, tap_weight_role(user->write)))
            ERROR(c, "V12",
                  "the weight matrix of %s is trained in full, so a low-rank update of it is redundant: "
                  "remove one of the two",
                  tap_name(user->write));
        if (user->biases && takes_role(c, owner, user, tap_bias_role(user->write)))
            WARN(c, "V30", "two biases are added at %s, the model's and b_u: use biases=no",
                 tap_name(user->write));
    }
    if (!modules_meet(x, y, c->a) || x->write != y->write) return;
    if (x->fn == y->fn && function_of(x)->pair) function_of(x)->pair(c, x, first, y);
}

static bool too_many_sets(struct check *c, int stack, int site, int layer) {
    int sets = 0;
    for (int i = 0; i < c->m->count; i++)
        sets += function_of(&c->m->module[i])->form == FORM_KEYS &&
                module_covers(&c->m->module[i], c->a, stack, site, layer);
    if (sets <= HOOK_SETS) return false;
    ERROR(c, "V45", "%d prefixes at layer %d: an attention sublayer supports at most %d", sets,
          layer + 1, HOOK_SETS);
    return true;
}

/* An attention accepts at most HOOK_SETS additional sets of keys. */
static void check_sets(struct check *c) {
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int site = SUB_SELF; site <= SUB_CROSS; site++)
            for (int layer = 0; layer < arch_layers(c->a, stack); layer++)
                if (too_many_sets(c, stack, site, layer)) return;
}

/* Only one prompt can add rows to a sequence. */
static void check_prompts(struct check *c) {
    int first = -1;
    for (int i = 0; i < c->m->count; i++) {
        if (function_of(&c->m->module[i])->form != FORM_ROWS || attempt_is_source(&c->m->module[i])) continue;
        if (first >= 0) {
            c->at = i;
            ERROR(c, "V55", "module %d is also a prompt: two prompts are equivalent to one whose length is "
                            "their sum: use one",
                  first + 1);
            return;
        }
        first = i;
    }
}

static void check_whole(struct check *c) {
    const struct method *m = c->m;
    check_prompts(c);
    c->at = -1;
    check_sets(c);
    const char *rule, *fault = hyper_fault(m, c->a, &rule);
    if (fault) ERROR(c, rule, "%s", fault);
    const char *fused = fusion_fault(m, c->a, &c->at);
    if (fused) ERROR(c, "V75", "%s", fused);
    const char *joined = attempt_fault(m, &c->at);
    if (joined) ERROR(c, "V78", "%s", joined);
    c->at = -1;
    const char *masked = masked_fault(m, &c->at);
    if (masked) ERROR(c, "V77", "%s", masked);
    c->at = -1;
    const char *other = classifier_fault(m, c->a);
    if (other) ERROR(c, "V60", "%s", other);
    const struct retriever *r = &m->retriever;
    if (r->on && r->instance == INSTANCE_NONE && r->prototype == PROTOTYPE_NONE)
        WARN(c, "V49", "a retriever without a loss has no effect: use instance=supcon");
    int of = hyper_of_prototypes(m), own = of < 0 ? 0 : m->hyper[of].prototype,
        prototype = of < 0 || own ? own : m->hyper[of].task;
    if (r->on && r->prototype != PROTOTYPE_NONE && (of < 0 || prototype != retriever_width(r, c->a)))
        ERROR(c, "V51",
              "a prototype loss needs the prototypes or task embeddings of a hypernetwork, as wide as the "
              "vectors of the retriever: use hyper(%s=%d)",
              own ? "prototype" : "task", retriever_width(r, c->a));
    if (r->on && r->tap > c->a->encoder_layers)
        ERROR(c, "V52", "retriever: tap=%d: the encoder has layers 1 to %d", r->tap,
              c->a->encoder_layers);
    if (m->budget.on && !method_find(m, FN_SVD))
        ERROR(c, "V74",
              "a budget prunes the singular values of svd modules, and the method has none: append '+ "
              "svd(write=…)'");
    if (m->head == METHOD_HEAD_FROZEN && !m->count)
        ERROR(c, "V41", "nothing is trained: add a module or train the head");
    /* a text-to-text model has no separate head */
    else if (m->head == METHOD_HEAD_FROZEN && !c->a->decoder_layers)
        WARN(c, "V32",
             "the head is frozen: unless the model folder contains a trained head, it is random and the "
             "predictions are meaningless");
}

static int worse_first(const void *a, const void *b) {
    const struct finding *x = a, *y = b;
    if (x->level != y->level) return x->level > y->level ? -1 : 1;
    return x->module < y->module ? -1 : x->module > y->module;
}

int method_check(const struct method *given, const struct arch *a, struct finding *out, int room) {
    struct method m = *given;
    struct tensor_info *list;
    for (int i = 0; i < m.count; i++) module_normalize(&m.module[i]);
    method_fit_taps(&m, a);
    bool halves = hyper_fit(&m, a);
    struct check c = { .m = &m, .a = a };
    c.tensors = arch_tensors(a, &list);
    c.tensor = list;
    for (c.at = 0; c.at < m.count; c.at++) {
        const struct module *x = &m.module[c.at];
        check_write(&c, x);
        check_read(&c, x);
        check_layers(&c, x);
        check_rows(&c, x);
        check_comp(&c, x);
        check_heads(&c, x);
        check_end(&c, x);
        check_source(&c, x);
        if (function_of(x)->advise) function_of(x)->advise(&c, x);
        check_selection(&c, x);
        for (int i = 0; i < c.at; i++) check_pair(&c, &m.module[i], i, x);
    }
    check_whole(&c);
    if (halves)
        check_find(&c, LEVEL_INFO, "V53",
                   "this model has no decoder: layers 1 to %d are treated as the encoder and the layers "
                   "above as the decoder; example vectors are read at layer %d unless tap= is set",
                   a->encoder_layers / 2, a->encoder_layers / 2);
    if (c.count) qsort(c.list, c.count, sizeof *c.list, worse_first);
    for (int i = 0; i < room && i < (int)c.count; i++) out[i] = c.list[i];
    free(c.list);
    free(list);
    return (int)c.count;
}
