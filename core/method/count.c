/* Counts for people: as JSON, and as the arithmetic behind each module's number. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/match.h"
#include "core/method/slots.h"

static void totals(const struct plan *p, int module, size_t *trained, size_t *kept, int *tensors) {
    *trained = *kept = 0;
    *tensors = 0;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->module != module) continue;
        *trained += t->count;
        *kept += t->kept ? t->count : 0;
        ++*tensors;
    }
    for (int i = 0; i < p->made; i++)
        if (p->made_tensor[i].module == module) *kept += p->made_tensor[i].count;
}

/* "encoder layers 1-6: a.in to a.q", "the whole model: biases". */
static void add_where(struct buf *b, const struct module *m, const struct arch *a) {
    int first, end;
    module_layers(m, a, &first, &end);
    bool in_weight = m->fn == FN_BIAS || m->fn == FN_FULL;
    const char *stack = m->stack == STACK_DECODER ? "decoder" : "encoder";
    if (in_weight && m->target != TARGET_TAP && m->first == 1 && !m->last)
        buf_puts(b, "the whole model");
    else if (m->site == SUB_EMBED) buf_printf(b, "%s embedding", stack);
    else if (end - first == 1) buf_printf(b, "%s layer %d", stack, end);
    else buf_printf(b, "%s layers %d-%d", stack, first + 1, end);
    if (in_weight && m->target == TARGET_TAP)
        buf_printf(b, ": %s of the map to %s", m->fn == FN_BIAS ? "bias" : "weights",
                   tap_name(m->write));
    else if (in_weight)
        buf_printf(b, ": %s%s", m->target == TARGET_ALL ? "" : target_name(m->target),
                   m->target == TARGET_ALL ? (m->fn == FN_BIAS ? "biases" : "every tensor")
                                           : (m->fn == FN_BIAS ? " biases" : ""));
    else if (m->read == m->write) buf_printf(b, ": %s", tap_name(m->write));
    else buf_printf(b, ": %s to %s", tap_name(m->read), tap_name(m->write));
}

char *plan_counts_json(const struct plan *p, const struct arch *a) {
    struct buf b = BUF_INIT, where = BUF_INIT;
    buf_printf(&b,
               "{\"trained\":%zu,\"kept\":%zu,\"head\":%zu,\"head_trained\":%s,\"model\":%zu,"
               "\"modules\":[",
               p->trained_method, p->kept_method, p->head,
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
        buf_putc(&b, '}');
        free(text);
        free(sum);
    }
    buf_puts(&b, "]}");
    buf_release(&where);
    return buf_take(&b);
}

/* ---- arithmetic ---- */

/* The letter of a tap's width. */
static const char *letter(const struct arch *a, enum tap t) {
    int w = tap_width(a, t);
    return w == a->width ? "d" : w == a->inner ? "f" : "H·d_h";
}

struct terms {
    struct buf letters, numbers;
};

static void term(struct terms *t, const char *letters, const char *numbers) {
    buf_printf(&t->letters, "%s%s", t->letters.size ? " + " : "", letters);
    buf_printf(&t->numbers, "%s%s", t->numbers.size ? " + " : "", numbers);
}

__attribute__((format(printf, 3, 4)))
static void numbers(struct terms *t, const char *letters, const char *format, ...) {
    char text[128];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    term(t, letters, text);
}

/* r·(in + out), shorter when both widths are one letter. */
static void matrices(struct terms *t, const struct arch *a, const struct module *m) {
    char letters[64];
    int in = tap_width(a, m->read), out = tap_width(a, m->write), r = m->size;
    const char *x = letter(a, m->read), *y = letter(a, m->write);
    if (m->heads == HEADS_FREE) {
        snprintf(letters, sizeof letters, "H·r·%s + r·%s", x, y);
        numbers(t, letters, "%d·%d·%d + %d·%d", a->heads, r, in, r, out);
    } else if (in == out) {
        snprintf(letters, sizeof letters, "2·r·%s", x);
        numbers(t, letters, "2·%d·%d", r, in);
    } else {
        snprintf(letters, sizeof letters, "r·(%s+%s)", x, y);
        numbers(t, letters, "%d·(%d+%d)", r, in, out);
    }
}

static void own_terms(struct terms *t, const struct arch *a, const struct module *m) {
    char letters[64];
    int out = tap_width(a, m->write);
    if (m->fn == FN_SCALE) {
        numbers(t, letter(a, m->write), "%d", out);
    } else if (m->fn == FN_SOFTMAX) {
        snprintf(letters, sizeof letters, "2·l·%s", letter(a, m->write));
        numbers(t, letters, "2·%d·%d", m->size, out);
    } else {
        matrices(t, a, m);
    }
    if (m->biases) {
        snprintf(letters, sizeof letters, "%s + %s", m->heads == HEADS_SHARED ? "r" : "H·r",
                 letter(a, m->write));
        numbers(t, letters, "%d + %d", m->heads == HEADS_SHARED ? m->size : a->heads * m->size,
                out);
    }
    if (m->comp == COMP_LEARNED) numbers(t, "1", "1");
}

static char *with_sum(struct terms *t, const char *times_letter, int times, size_t sum,
                      const char *tail) {
    char shown[32];
    bool many = strstr(buf_text(&t->letters), " + ") != NULL;
    const char *open = many ? "(" : "", *close = many ? ")" : "";
    text_thousands((int64_t)sum, shown);
    char *s = times_letter
                  ? xprintf("%s%s%s·%s = %s%s%s·%d = %s%s", open, buf_text(&t->letters), close,
                            times_letter, open, buf_text(&t->numbers), close, times, shown, tail)
                  : xprintf("%s = %s = %s%s", buf_text(&t->letters), buf_text(&t->numbers), shown,
                            tail);
    buf_release(&t->letters);
    buf_release(&t->numbers);
    return s;
}

static char *mlp_arithmetic(const struct arch *a, const struct module *m, int layers,
                            size_t trained, size_t kept) {
    struct terms t = {BUF_INIT, BUF_INIT};
    char tail[96], shown[32];
    int d = a->width, dq = tap_width(a, TAP_A_Q), mid = m->mid;
    numbers(&t, "l·d", "%d·%d", m->size, d);
    numbers(&t, "(d+1)·mid", "%d·%d", d + 1, mid);
    numbers(&t, "(mid+1)·2·L·d", "%d·2·%d·%d", mid + 1, layers, dq);
    if (m->comp == COMP_LEARNED) numbers(&t, "L", "%d", layers);
    text_thousands((int64_t)kept, shown);
    snprintf(tail, sizeof tail, "; kept 2·l·d·L = %s", shown);
    return with_sum(&t, NULL, 1, trained, tail);
}

char *plan_arithmetic(const struct plan *p, const struct arch *a, int module) {
    const struct module *m = &p->method.module[module];
    struct terms t = {BUF_INIT, BUF_INIT};
    size_t trained, kept;
    int tensors, first, end;
    totals(p, module, &trained, &kept, &tensors);
    module_layers(m, a, &first, &end);
    if (m->fn == FN_BIAS || m->fn == FN_FULL) {
        char shown[32];
        text_thousands((int64_t)trained, shown);
        return xprintf("the sizes of %d existing tensors = %s", tensors, shown);
    }
    if (m->source == SOURCE_MLP) return mlp_arithmetic(a, m, end - first, trained, kept);
    own_terms(&t, a, m);
    bool once = m->source == SOURCE_SHARED || m->site == SUB_EMBED;
    return with_sum(&t, once ? NULL : "L", end - first, trained,
                    once ? ", once for all layers" : "");
}
