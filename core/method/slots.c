#include "core/method/slots.h"

#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"

bool tap_is_attention(enum tap t) { return t >= TAP_A_RES && t <= TAP_A_END; }
bool tap_is_ffn(enum tap t) { return t >= TAP_F_RES && t <= TAP_F_END; }

int tap_width(const struct arch *a, enum tap tap) {
    switch (tap) {
    case TAP_A_K: case TAP_A_V: return arch_key_width(a);
    case TAP_A_Q: case TAP_A_HEAD: case TAP_A_CTX: return a->heads * a->head_width;
    case TAP_F_PRE: case TAP_F_UP: case TAP_F_ACT: return a->inner;
    default: return a->width;
    }
}

int arch_layers(const struct arch *a, int stack) {
    return stack == STACK_DECODER ? a->decoder_layers : a->encoder_layers;
}

int module_spans(const struct module *m, const struct arch *a, struct span out[SPANS]) {
    int n = 0;
    if (m->write == TAP_NONE || (m->write == TAP_F_UP && !a->gated)) return 0;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int site = SUB_SELF; site <= SUB_EMBED; site++) {
            int layers = arch_layers(a, stack), last = m->last ? m->last : layers;
            if (!layers || !module_is_at(m, stack, site)) continue;
            if (stack == STACK_ENCODER && site == SUB_CROSS) continue;
            BUG_IF(n == SPANS);
            out[n++] = site == SUB_EMBED ? (struct span){ stack, site, -1, 0 }
                                         : (struct span){ stack, site, m->first - 1, last };
        }
    return n;
}

int method_position_shift(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].shift) return m->module[i].size;
    return 0;
}

int method_rows(const struct method *m) {
    int rows = 0;
    for (int i = 0; i < m->count; i++) {
        bool prompt = function_of(&m->module[i])->form == FORM_ROWS && m->module[i].source != SOURCE_FUSION;
        if (prompt && m->module[i].write == TAP_EMBED_WORDS) rows += m->module[i].size;
    }
    return rows;
}

int method_max_length(const struct method *m, const struct arch *a) {
    int n = arch_max_length(a);
    if (a->positions) n -= method_position_shift(m) + method_rows(m);
    return n < 1 ? 1 : n;
}

bool method_reads_whole_text(const struct method *m) {
    bool reads = m->attempt.on || hyper_per_example(m);
    for (int i = 0; i < m->count; i++) reads |= comp_gates(m->module[i].comp) > 0;
    return reads;
}

bool module_covers(const struct module *m, const struct arch *a, int stack, int site, int layer) {
    struct span span[SPANS];
    int n = module_spans(m, a, span);
    for (int i = 0; i < n; i++)
        if (span[i].stack == stack && span[i].site == site)
            return layer >= span[i].first && layer < span[i].end;
    return false;
}

bool modules_meet(const struct module *x, const struct module *y, const struct arch *a) {
    struct span s[SPANS];
    int n = module_spans(x, a, s);
    for (int i = 0; i < n; i++)
        for (int layer = s[i].first; layer < s[i].end; layer++)
            if (module_covers(y, a, s[i].stack, s[i].site, layer)) return true;
    return false;
}

void method_fit_taps(struct method *m, const struct arch *a) {
    for (int i = 0; i < m->count && !a->gated; i++) {
        struct module *x = &m->module[i];
        bool there = false;
        for (int k = 0; k < m->count; k++)
            there = there || (m->module[k].fn == x->fn && m->module[k].write == TAP_F_PRE);
        if (x->read == TAP_F_UP) x->read = TAP_F_PRE;
        if (x->write == TAP_F_UP && !there) x->write = TAP_F_PRE;
    }
}

enum tap gate_reads(const struct module *m) { return function_of(m)->form == FORM_KEYS ? TAP_A_IN : m->read; }

bool module_is_map(const struct module *m) {
    enum tap read = m->read == TAP_A_HEAD ? TAP_A_CTX : m->read;
    return function_of(m)->linear && m->heads == HEADS_SHARED && tap_map_input(m->write) != TAP_NONE &&
           read == tap_map_input(m->write);
}

enum tensor_role tap_weight_role(enum tap tap) {
    switch (tap) {
    case TAP_A_Q: return ROLE_Q_W;
    case TAP_A_K: return ROLE_K_W;
    case TAP_A_V: return ROLE_V_W;
    case TAP_A_OUT: return ROLE_O_W;
    case TAP_A_END: return ROLE_A_NORM_W;
    case TAP_F_PRE: return ROLE_F1_W;
    case TAP_F_UP: return ROLE_F1G_W;
    case TAP_F_OUT: return ROLE_F2_W;
    case TAP_F_END: return ROLE_F_NORM_W;
    case TAP_EMBED: return ROLE_EMBED_NORM_W;
    default: return ROLE_COUNT;
    }
}

enum tensor_role tap_bias_role(enum tap tap) {
    switch (tap) {
    case TAP_A_Q: return ROLE_Q_B;
    case TAP_A_K: return ROLE_K_B;
    case TAP_A_V: return ROLE_V_B;
    case TAP_A_OUT: return ROLE_O_B;
    case TAP_A_END: return ROLE_A_NORM_B;
    case TAP_F_PRE: return ROLE_F1_B;
    case TAP_F_UP: return ROLE_F1G_B;
    case TAP_F_OUT: return ROLE_F2_B;
    case TAP_F_END: return ROLE_F_NORM_B;
    case TAP_EMBED: return ROLE_EMBED_NORM_B;
    default: return ROLE_COUNT;
    }
}

static bool is_norm(enum tensor_role role) {
    switch (role) {
    case ROLE_EMBED_NORM_W: case ROLE_EMBED_NORM_B: case ROLE_A_NORM_W: case ROLE_A_NORM_B:
    case ROLE_F_NORM_W: case ROLE_F_NORM_B: case ROLE_FINAL_NORM_W: case ROLE_FINAL_NORM_B:
        return true;
    default: return false;
    }
}

static bool is_embedding(enum tensor_role role) {
    switch (role) {
    case ROLE_EMBED_WORD: case ROLE_EMBED_POSITION: case ROLE_EMBED_TYPE: case ROLE_EMBED_NORM_W:
    case ROLE_EMBED_NORM_B:
        return true;
    default: return false;
    }
}

bool module_selects(const struct module *m, const struct arch *a, const struct tensor_info *t) {
    /* no range of layers: tensors outside the layers are included */
    bool whole = m->first == 1 && m->last == 0;
    int end = m->last ? m->last : 1 << 30;
    if (!module_in_weight(m)) return false;
    if (m->stack != STACK_ALL && t->stack != m->stack) return false;
    if (function_of(m)->vectors_only && !t->bias) return false;
    if (t->layer < 0 ? !whole : t->layer < m->first - 1 || t->layer >= end) return false;
    bool pooler = tensor_is_pooler(t);
    if (pooler && a->pooler_absent) return false; /* the head contains it */
    bool site = m->site == SITE_ALL || t->sublayer == m->site;
    switch (m->target) {
    case TARGET_ALL: return site;
    case TARGET_NORMS: return site && is_norm(t->role);
    case TARGET_EMBEDDINGS: return is_embedding(t->role);
    case TARGET_POOLER: return pooler;
    case TARGET_TAP:
        if (!site) return false;
        return t->role == tap_weight_role(m->write) || t->role == tap_bias_role(m->write) ||
               (m->write == TAP_F_PRE && (t->role == ROLE_F1G_W || t->role == ROLE_F1G_B));
    default: return false;
    }
}

const struct plan_tensor *plan_slot(const struct plan *p, int module, enum slot slot, int stack,
                                    int site, int layer) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module == module && t->role == (int)slot && t->stack == stack && t->site == site &&
            (t->layer < 0 || t->layer == layer))
            return t;
    }
    return NULL;
}

const struct plan_tensor *plan_network(const struct plan *p, enum slot slot) {
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].kind == PLAN_NETWORK && p->tensor[i].role == (int)slot) return &p->tensor[i];
    return NULL;
}

const struct plan_tensor *plan_head(const struct plan *p, int task, enum slot slot) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind == PLAN_HEAD && t->task == task && t->role == (int)slot) return t;
    }
    return NULL;
}
