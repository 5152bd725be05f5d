/* Parameter counts as JSON, and the arithmetic behind the count of each module. */
#include "core/method/count.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/functions.h"
#include "core/method/hyper.h"
#include "core/method/kronecker.h"
#include "core/method/masked.h"
#include "core/method/match.h"
#include "core/method/network.h"
#include "core/method/prompt_rows.h"
#include "core/method/sources.h"

static void totals(const struct plan *p, int module, size_t *trained, size_t *kept, int *tensors) {
    *trained = *kept = 0;
    *tensors = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module != module) continue;
        *trained += t->fixed ? 0 : t->count;
        *kept += t->stored ? t->count : 0;
        ++*tensors;
    }
    for (int i = 0; i < p->generated; i++)
        if (p->generated_tensor[i].module == module && p->generated_tensor[i].stored)
            *kept += p->generated_tensor[i].count;
}

/* Returns whether the output of the encoder's first `layers` layers depends on the task. */
static bool encodes_by_task(const struct plan *p, int layers) {
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind == PLAN_OWN && t->blocks > 1 && t->stack == STACK_ENCODER && t->layer < layers)
            return true;
    }
    for (int i = 0; i < p->generated; i++) {
        const struct plan_generated *t = &p->generated_tensor[i];
        if (t->blocks > 1 && t->stack == STACK_ENCODER && t->layer < layers) return true;
    }
    /* per-example weights can also depend on the task */
    const struct hyper *of_rows = hyper_with_example(&p->method);
    bool by_task = p->tasks > 1 && of_rows && (of_rows->task || of_rows->prototype);
    for (int i = 0; i < p->per_example; i++)
        if (by_task && p->example_tensor[i].stack == STACK_ENCODER && p->example_tensor[i].layer < layers)
            return true;
    return false;
}

bool plan_encodes_by_task(const struct plan *p) { return encodes_by_task(p, INT_MAX); }

bool plan_retrieves_by_task(const struct plan *p) {
    int tap = p->method.retriever.tap;
    return encodes_by_task(p, tap ? tap : INT_MAX);
}

size_t plan_trained_at(const struct plan *p, int module, int stack, int site) {
    size_t n = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module == module && t->stack == stack && t->site == site && !t->fixed) n += t->count;
    }
    return n;
}

/* "encoder layers 1-6", "decoder layer 2", "encoder embedding". */
static void add_span(struct buf *b, const char *stack, int first, int end) {
    if (end == 0) buf_printf(b, "%s embedding", stack);
    else if (end - first == 1) buf_printf(b, "%s layer %d", stack, end);
    else buf_printf(b, "%s layers %d-%d", stack, first + 1, end);
}

/* Writes each stack once, with the names of its attentions if there are two kinds. */
static void add_spans(struct buf *b, const struct module *m, const struct arch *a) {
    struct span s[SPANS];
    int n = module_spans(m, a, s);
    for (int i = 0; i < n; i++) {
        if (i) buf_puts(b, " and ");
        add_span(b, stack_name(s[i].stack), s[i].first, s[i].end);
        bool two = i + 1 < n && s[i + 1].stack == s[i].stack;
        if (two) buf_puts(b, " self and cross");
        else if (s[i].stack == STACK_DECODER && s[i].site < SUB_FFN)
            buf_printf(b, " %s", site_name(s[i].site));
        i += two;
    }
}

/* "encoder layers 1-6: a.in to a.q", "the whole model: biases". */
static void add_where(struct buf *b, const struct module *m, const struct arch *a) {
    bool in_weight = module_in_weight(m), vectors = function_of(m)->vectors_only;
    if (m->write == TAP_F_UP && !a->gated) {
        buf_puts(b, "no layer (the feed-forward sublayers are not gated)");
    } else if (!in_weight || m->target == TARGET_TAP) {
        add_spans(b, m, a);
    } else if (m->first == 1 && !m->last) {
        buf_puts(b, m->stack == STACK_ALL || !a->decoder_layers ? "the whole model" : "the ");
        if (m->stack != STACK_ALL && a->decoder_layers) buf_puts(b, stack_name(m->stack));
    } else {
        for (int k = STACK_ENCODER; k <= STACK_DECODER; k++) {
            if (!arch_layers(a, k) || (m->stack != STACK_ALL && m->stack != k)) continue;
            if (k && m->stack == STACK_ALL) buf_puts(b, " and ");
            add_span(b, stack_name(k), m->first - 1, m->last ? m->last : arch_layers(a, k));
        }
    }
    if (in_weight && m->target != TARGET_TAP && m->site != SITE_ALL)
        buf_printf(b, " at %s", site_name(m->site));
    if (in_weight && m->target == TARGET_TAP)
        buf_printf(b, ": %s of the layer that outputs %s", vectors ? "bias" : "weights",
                   tap_name(m->write));
    else if (in_weight)
        buf_printf(b, ": %s%s", m->target == TARGET_ALL ? "" : target_name(m->target),
                   m->target == TARGET_ALL ? (vectors ? "biases" : "all tensors")
                                           : (vectors ? " biases" : ""));
    else if (m->read == m->write || m->read == TAP_NONE) buf_printf(b, ": %s", tap_name(m->write));
    else buf_printf(b, ": %s to %s", tap_name(m->read), tap_name(m->write));
}

/* Adds the trainable parameters at each kind of place, for models with more than one kind. */
static void add_sites(struct buf *b, const struct plan *p, const struct arch *a, int module) {
    bool some = false;
    if (!a->decoder_layers) return;
    buf_puts(b, ",\"sites\":{");
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int site = SUB_SELF; site <= SUB_EMBED; site++) {
            size_t n = plan_trained_at(p, module, stack, site);
            if (!n) continue;
            buf_printf(b, "%s\"%s %s\":%zu", some ? "," : "", stack_name(stack), site_name(site),
                       n);
            some = true;
        }
    buf_putc(b, '}');
}

/* Returns whether tensors differ only in their place. */
static bool alike(const struct plan_tensor *x, const struct plan_tensor *y) {
    return x->kind == y->kind && x->generator == y->generator && x->role == y->role && x->rows == y->rows &&
           x->cols == y->cols;
}

static bool is_of(const struct plan_tensor *t, const char *network) {
    size_t n = strlen(network);
    return t->kind == PLAN_NETWORK && !strncmp(t->name, network, n) && t->name[n] == '.';
}

static void add_networks(struct buf *b, const struct plan *p) {
    const struct network *n;
    bool some = false;
    for (int i = 0; (n = network_at(i)); i++) {
        char *sum = plan_network_arithmetic(p, n->name);
        size_t trained = 0;
        if (!sum) continue;
        for (int k = 0; k < p->tensors; k++)
            trained += is_of(&p->tensor[k], n->name) ? p->tensor[k].count : 0;
        buf_printf(b, "%s{\"name\":\"%s\",\"trained\":%zu,\"arithmetic\":", some ? "," : "", n->name,
                   trained);
        json_add_string(b, sum);
        if (network_generator(n) >= 0) {
            char *formula = method_generator_formula(&p->method, network_generator(n));
            buf_puts(b, ",\"formula\":");
            json_add_string(b, formula);
            free(formula);
        }
        buf_putc(b, '}');
        some = true;
        free(sum);
    }
}

char *plan_counts_json(const struct plan *p, const struct arch *a) {
    struct buf b = BUF_INIT, where = BUF_INIT;
    buf_printf(&b,
               "{\"trained\":%zu,\"kept\":%zu,\"head\":%zu,\"head_trained\":%s,\"model\":%zu,"
               "\"modules\":[",
               p->trained_method, p->stored_method, p->head,
               p->method.head == METHOD_HEAD_TRAINED ? "true" : "false", p->model);
    for (int i = 0; i < p->method.count; i++) {
        size_t trained, kept;
        int tensors;
        totals(p, i, &trained, &kept, &tensors);
        char *text = format_module(&p->method.module[i], true), *sum = plan_arithmetic(p, a, i);
        buf_clear(&where);
        add_where(&where, &p->method.module[i], a);
        buf_printf(&b, "%s{\"index\":%d,\"text\":", i ? "," : "", i);
        json_add_string(&b, text);
        buf_printf(&b, ",\"trained\":%zu,\"kept\":%zu,\"tensors\":%d,\"where\":", trained, kept,
                   tensors);
        json_add_string(&b, buf_text(&where));
        buf_puts(&b, ",\"arithmetic\":");
        json_add_string(&b, sum);
        add_sites(&b, p, a, i);
        buf_putc(&b, '}');
        free(text);
        free(sum);
    }
    buf_puts(&b, "],\"networks\":[");
    add_networks(&b, p);
    buf_printf(&b, "],\"tasks\":%d,\"per_task\":", p->tasks);
    json_add_double(&b, (double)p->trained_method / p->tasks);
    buf_printf(&b, ",\"shared\":%zu,\"own\":%zu", p->trained_method - p->own, p->own);
    if (p->meta.on)
        buf_printf(&b, ",\"meta_trained\":%zu,\"adapted\":%zu,\"rates\":%d,\"label_values\":%d",
                   p->meta_trained, p->adapted, p->rates, p->label_width);
    buf_putc(&b, '}');
    buf_release(&where);
    return buf_take(&b);
}

/* ---- arithmetic ---- */

const char *terms_letter(const struct arch *a, enum tap t) {
    int w = tap_width(a, t);
    if (t == TAP_A_K || t == TAP_A_V)
        return w == a->width ? "d" : w < a->heads * a->head_width ? "H_k·d_h" : "H·d_h";
    return w == a->width ? "d" : w == a->inner ? "f" : "H·d_h";
}

void terms_add(struct terms *t, const char *letters, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    buf_printf(&t->letters, "%s%s", t->letters.size ? " + " : "", letters);
    buf_printf(&t->numbers, "%s%s", t->numbers.size ? " + " : "", text);
}

void terms_matrices(struct terms *t, const struct module *m, const struct arch *a) {
    char letters[64];
    int in = tap_width(a, m->read), out = tap_width(a, m->write), r = m->size;
    const char *x = terms_letter(a, m->read), *y = terms_letter(a, m->write);
    if (m->heads == HEADS_FREE) {
        snprintf(letters, sizeof letters, "H·r·%s + r·%s", x, y);
        terms_add(t, letters, "%d·%d·%d + %d·%d", a->heads, r, in, r, out);
    } else if (in == out) {
        snprintf(letters, sizeof letters, "2·r·%s", x);
        terms_add(t, letters, "2·%d·%d", r, in);
    } else {
        snprintf(letters, sizeof letters, "r·(%s+%s)", x, y);
        terms_add(t, letters, "%d·(%d+%d)", r, in, out);
    }
}

static void norm_terms(struct terms *t, const struct arch *a, enum tap tap) {
    char letters[64];
    snprintf(letters, sizeof letters, "2·%s", terms_letter(a, tap));
    terms_add(t, letters, "2·%d", tap_width(a, tap));
}

/* Multiplies the terms so far by the number of tasks; shared terms follow. */
static void for_each_task(struct terms *t, int tasks) {
    char *letters = xprintf("T·(%s)", buf_text(&t->letters));
    char *shown = xprintf("%d·(%s)", tasks, buf_text(&t->numbers));
    buf_clear(&t->letters);
    buf_clear(&t->numbers);
    terms_add(t, letters, "%s", shown);
    free(letters);
    free(shown);
}

/* Adds the terms of channel scales and of gates. */
static void composition_terms(struct terms *t, const struct arch *a, const struct module *m) {
    int gates = comp_gates(m->comp), in = tap_width(a, gate_reads(m));
    char letters[32];
    if (m->comp == COMP_CHANNEL) terms_add(t, terms_letter(a, m->write), "%d", tap_width(a, m->write));
    snprintf(letters, sizeof letters, "%s%s+1%s", gates > 1 ? "2·(" : "", terms_letter(a, gate_reads(m)),
             gates > 1 ? ")" : "");
    if (gates > 1) terms_add(t, letters, "2·(%d+1)", in);
    else if (gates) terms_add(t, letters, "%d+1", in);
}

/* Adds the terms of a module in one layer. With several tasks each has separate tensors, except for a shared
 * norm. */
static void layer_terms(struct terms *t, const struct plan *p, const struct arch *a, const struct module *m) {
    function_of(m)->terms(t, m, a);
    if (m->norm_before) norm_terms(t, a, m->read);
    if (m->norm != NORM_NONE && m->norm != NORM_SHARED) norm_terms(t, a, m->write);
    if (m->comp == COMP_LEARNED) terms_add(t, "1", "1");
    composition_terms(t, a, m);
    if (p->tasks > 1 && source_row(m->source)->by_task) for_each_task(t, p->tasks);
    if (m->norm == NORM_SHARED) norm_terms(t, a, m->write);
}

/* Returns whether the text has a sum outside brackets. */
static bool is_sum(const char *s) {
    int depth = 0;
    for (; *s; s++) {
        depth += (*s == '(') - (*s == ')');
        if (!depth && text_starts(s, " + ")) return true;
    }
    return false;
}

void terms_label(const struct module *m, const struct arch *a, char out[64]) {
    if (!a) snprintf(out, 64, "r %d", m->size);
    else if (m->heads != HEADS_SHARED)
        snprintf(out, 64, "%d heads × %d→%d→%d", a->heads, m->read == TAP_A_Q ? a->head_width : a->width,
                 m->size, a->head_width);
    else snprintf(out, 64, "%d→%d→%d", tap_width(a, m->read), m->size, tap_width(a, m->write));
}

/* Returns the sum of the terms, multiplied by `times` (NULL: 1). */
static char *with_sum(struct terms *t, const char *times_letters, const char *times, size_t sum,
                      const char *tail) {
    char shown[32];
    bool many = is_sum(buf_text(&t->letters));
    const char *open = many ? "(" : "", *close = many ? ")" : "";
    text_thousands((int64_t)sum, shown);
    char *s = times_letters
                  ? xprintf("%s%s%s·%s = %s%s%s·%s = %s%s", open, buf_text(&t->letters), close,
                            times_letters, open, buf_text(&t->numbers), close, times, shown, tail)
                  : xprintf("%s = %s = %s%s", buf_text(&t->letters), buf_text(&t->numbers), shown,
                            tail);
    buf_release(&t->letters);
    buf_release(&t->numbers);
    return s;
}

/* "L" and "6" for one stack; "(L_e + 2·L_d)" and "(6 + 2·6)" for two, "2·L" for a decoder's
 * two attentions. */
static void layers_text(const struct module *m, const struct arch *a, char letters[32],
                        char numbers[64]) {
    struct span s[SPANS];
    int n = module_spans(m, a, s), encoder = 0, decoder = 0, spans = 0;
    for (int i = 0; i < n; i++) {
        if (s[i].stack == STACK_ENCODER) encoder = s[i].end - s[i].first;
        else decoder = s[i].end - s[i].first;
        spans += s[i].stack == STACK_DECODER;
    }
    const char *twice = spans > 1 ? "2·" : "";
    if (encoder && decoder) {
        snprintf(letters, 32, "(L_e + %sL_d)", twice);
        snprintf(numbers, 64, "(%d + %s%d)", encoder, twice, decoder);
    } else {
        snprintf(letters, 32, "%sL", twice);
        snprintf(numbers, 64, "%s%d", twice, encoder + decoder);
    }
}

/* One network per span of the module; L is the sum of their layers. */
static char *mlp_arithmetic(const struct module *m, const struct arch *a, size_t trained,
                            size_t kept) {
    struct terms t = { BUF_INIT, BUF_INIT };
    struct span s[SPANS];
    char tail[96], shown[32], letters[32], many[16] = "";
    int d = a->width, dq = tap_width(a, TAP_A_K), mid = m->mid, layers = 0;
    int n = module_spans(m, a, s);
    for (int i = 0; i < n; i++) layers += s[i].end - s[i].first;
    if (n > 1) snprintf(many, sizeof many, "%d·", n);
    snprintf(letters, sizeof letters, "%sl·d", many);
    terms_add(&t, letters, "%s%d·%d", many, m->size, d);
    snprintf(letters, sizeof letters, "%s(d+1)·mid", many);
    terms_add(&t, letters, "%s%d·%d", many, d + 1, mid);
    terms_add(&t, "(mid+1)·2·L·d", "%d·2·%d·%d", mid + 1, layers, dq);
    if (m->comp == COMP_LEARNED) terms_add(&t, "L", "%d", layers);
    if (comp_gates(m->comp)) terms_add(&t, comp_gates(m->comp) > 1 ? "2·(d+1)·L" : "(d+1)·L", "%d·%d·%d",
                                       comp_gates(m->comp), d + 1, layers);
    text_thousands((int64_t)kept, shown);
    snprintf(tail, sizeof tail, "; stored 2·l·d·L = %s", shown);
    return with_sum(&t, NULL, NULL, trained, tail);
}

/* The parameters from which the rows of a prompt are computed. */
static char *rows_arithmetic(const struct plan *p, const struct arch *a, const struct module *m,
                             size_t trained, size_t kept) {
    struct terms t = { BUF_INIT, BUF_INIT };
    char tail[96] = "", shown[32];
    prompt_rows_terms(&t, p, m, a);
    text_thousands((int64_t)kept, shown);
    if (source_row(m->source)->in_training)
        snprintf(tail, sizeof tail, "; stored %s = %s", prompt_rows_kept(m, a) > m->size ? "2·l·d" : "l·d",
                 shown);
    return with_sum(&t, NULL, NULL, trained, tail);
}

/* One prompt per task and span; maps at each layer, unless the generator generates them. */
static char *prompt_arithmetic(const struct plan *p, const struct arch *a, const struct module *m,
                               size_t trained) {
    struct terms t = { BUF_INIT, BUF_INIT };
    char letters[32], layers[64], text[96], shown[96];
    struct span span[SPANS];
    int n = module_spans(m, a, span), d = a->width, dq = tap_width(a, TAP_A_K);
    const char *many = n > 1 ? "2·" : "", *each = m->source == SOURCE_PROMPT_SEP ? "T·" : "";
    layers_text(m, a, letters, layers);
    snprintf(text, sizeof text, "%sT·l·d", many);
    terms_add(&t, text, "%s%d·%d·%d", many, p->tasks, m->size, d);
    if (m->source != SOURCE_PROMPT_GLOBAL) {
        snprintf(text, sizeof text, "%s%s·%s", each, dq == d ? "4·b·d" : "2·b·(d+H·d_h)", letters);
        if (dq == d) snprintf(shown, sizeof shown, "4·%d·%d·%s", m->mid, d, layers);
        else snprintf(shown, sizeof shown, "2·%d·(%d+%d)·%s", m->mid, d, dq, layers);
        if (*each) terms_add(&t, text, "%d·%s", p->tasks, shown);
        else terms_add(&t, text, "%s", shown);
    }
    return with_sum(&t, NULL, NULL, trained,
                    m->source == SOURCE_PROMPT_GLOBAL ? ", linear layers generated by the hypernetwork" : "");
}

/* What the generator generates for a module per task or example; the module itself trains at most a shared
 * norm. */
static char *generated_arithmetic(const struct plan *p, const struct arch *a, int module, size_t trained) {
    const struct module *m = &p->method.module[module];
    struct terms t = { BUF_INIT, BUF_INIT };
    char letters[32], layers[64], shown[32], tail[96];
    size_t generated = 0;
    int values;
    const struct plan_generated *of = hyper_values(p, source_generator(m->source), &values);
    for (int i = 0; i < values; i++)
        if (of[i].module == module) generated += of[i].count / (size_t)of[i].blocks;
    function_of(m)->terms(&t, m, a);
    if (m->norm == NORM_OWN) norm_terms(&t, a, m->write);
    if (m->comp == COMP_LEARNED) terms_add(&t, "1", "1");
    layers_text(m, a, letters, layers);
    text_thousands((int64_t)trained, shown);
    snprintf(tail, sizeof tail, " generated per %s; trainable in the module: %s",
             hyper_is_per_example(&p->method, module) ? "example" : "task", shown);
    bool once = m->site == SUB_EMBED;
    return with_sum(&t, once ? NULL : letters, layers, generated, tail);
}

char *plan_network_arithmetic(const struct plan *p, const char *network) {
    struct buf b = BUF_INIT;
    size_t sum = 0;
    char shown[32];
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        bool first = is_of(t, network);
        int many = 0;
        for (int k = 0; k < i && first; k++) first = !alike(&p->tensor[k], t);
        for (int k = i; k < p->tensors && first; k++) many += alike(&p->tensor[k], t);
        if (!first) continue;
        sum += (size_t)many * t->count;
        buf_puts(&b, b.size ? " + " : "");
        if (many > 1) buf_printf(&b, "%d·", many);
        if (t->rows == 1) buf_printf(&b, "%" PRId64, t->cols);
        else buf_printf(&b, "%" PRId64 "·%" PRId64, t->rows, t->cols);
    }
    if (!b.size) return NULL;
    text_thousands((int64_t)sum, shown);
    buf_printf(&b, " = %s", shown);
    return buf_take(&b);
}

char *plan_arithmetic(const struct plan *p, const struct arch *a, int module) {
    const struct module *m = &p->method.module[module];
    struct terms t = { BUF_INIT, BUF_INIT };
    struct span span[SPANS];
    size_t trained, kept;
    int tensors;
    char letters[32], layers[64];
    totals(p, module, &trained, &kept, &tensors);
    if (m->fn == FN_MASKED) return masked_arithmetic(p, module, trained);
    if (module_in_weight(m)) {
        char shown[32];
        text_thousands((int64_t)trained, shown);
        return xprintf("total size of %d existing tensor%s = %s", tensors, tensors == 1 ? "" : "s",
                       shown);
    }
    if (function_of(m)->form == FORM_ROWS && source_width(m->source))
        return rows_arithmetic(p, a, m, trained, kept);
    if (m->source == SOURCE_KRONECKER) return kronecker_arithmetic(p, a, module, trained);
    if (m->source == SOURCE_MLP) return mlp_arithmetic(m, a, trained, kept);
    if (source_is_prompt(m->source)) return prompt_arithmetic(p, a, m, trained);
    if (source_is_hyper(m->source)) return generated_arithmetic(p, a, module, trained);
    layer_terms(&t, p, a, m);
    layers_text(m, a, letters, layers);
    if (m->source == SOURCE_FUSION)
        return with_sum(&t, letters, layers, kept, " stored, frozen; trainable: 0");
    if (m->source != SOURCE_SHARED && m->site != SUB_EMBED)
        return with_sum(&t, letters, layers, trained, "");
    int n = module_spans(m, a, span);
    const char *tail = n > 1 ? ", shared across layers, once per stack and site" : ", shared across all "
                                                                                   "layers";
    snprintf(layers, sizeof layers, "%d", n);
    return with_sum(&t, n > 1 ? layers : NULL, layers, trained, tail);
}
