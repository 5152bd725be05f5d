/* Writes the text form: canonical, and as short as presets allow. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/keys.h"
#include "core/method/match.h"
#include "core/method/network.h"
#include "core/method/space.h"

void format_comp(const struct module *m, char out[64]) {
    char s[32];
    text_from_double(m->scale, s);
    if (m->comp == COMP_SCALED || (comp_has_scale(m->comp) && m->scale != 1))
        snprintf(out, 64, "%s(%s)", comp_name(m->comp), s);
    else
        snprintf(out, 64, "%s", comp_name(m->comp));
}

void format_mlp(const struct module *m, char out[64]) {
    struct module defaults = *m;
    defaults.mid_act = ACT_NONE;
    module_normalize(&defaults);
    if (m->mid_act == defaults.mid_act) snprintf(out, 64, "%d", m->mid);
    else snprintf(out, 64, "%d,%s", m->mid, method_act_name(m->mid_act));
}

/* Returns whether the text contains the field; `full`: also with the function's default value. */
static bool has(const struct key *k, const struct module *m, const struct module *defaults, bool full) {
    const struct function *f = function_of(m);
    int v = key_number(k, m), text = k->text;
    if (!text || !key_takes(k, m)) return false;
    if (k->words == tap_names && !v) return false;                            /* no tap */
    if (k->words == target_names && v == TARGET_TAP) return false;            /* determined by the tap */
    if (k->words == init_names && (m->from_run || !v)) return m->from_run;    /* INIT_DEFAULT */
    if (k->words == comp_names && !(f->comps & (f->comps - 1))) full = false; /* the only one supported */
    if (k->bit == TAKES_PLACE && k->words == tap_names && f->form != FORM_KEYS && f->form != FORM_ROWS)
        return true;
    return text & KEY_ALWAYS || (text & KEY_IN_FULL && full) ||
           (text & KEY_NOT_DEFAULT && !key_same(k, m, defaults)) || (text & KEY_SET && v != k->neutral);
}

static void add_module(struct buf *b, const struct module *m, bool full) {
    struct module defaults = module_default(m->fn);
    const struct key *k;
    if (source_width(m->source)) {
        defaults.source = m->source;
        defaults.init = INIT_DEFAULT;
        module_normalize(&defaults);
    }
    buf_printf(b, "%s(", fn_name(m->fn));
    size_t open = b->size;
    if (module_is_sized(m)) buf_printf(b, "%c=%d; ", module_takes(m, TAKES_L) ? 'l' : 'r', m->size);
    for (int i = 0; (k = key_at(i)); i++) {
        char value[KEY_TEXT];
        if (!has(k, m, &defaults, full)) continue;
        key_print(k, m, value);
        char last = b->size ? b->data[b->size - 1] : 0;
        buf_printf(b, "%s%s=%s", last == '(' || last == ' ' ? "" : ", ", k->name, value);
    }
    if (b->size == open) { /* no settings: no brackets */
        b->data[--b->size] = 0;
        return;
    }
    if (b->data[b->size - 1] == ' ') b->size -= 2; /* only a size */
    b->data[b->size] = 0;
    buf_putc(b, ')');
}

char *format_module(const struct module *m, bool full) {
    struct buf b = BUF_INIT;
    struct module x = *m;
    module_normalize(&x);
    add_module(&b, &x, full);
    return buf_take(&b);
}

static void add_head(struct buf *b, const struct method *m) {
    if (m->head == METHOD_HEAD_FROZEN) buf_printf(b, "%shead(frozen)", b->size ? " + " : "");
    else if (!m->count) buf_puts(b, "head");
}

/* Appends the networks after the modules. */
static void add_rest(struct buf *b, const struct method *m, bool full) {
    add_head(b, m);
    networks_text(m, full, b);
}

char *method_canonical(const struct method *m) {
    struct method x = *m;
    struct buf b = BUF_INIT;
    method_normalize(&x);
    for (int i = 0; i < x.count; i++) {
        if (i) buf_puts(&b, " + ");
        add_module(&b, &x.module[i], true);
    }
    add_rest(&b, &x, true);
    return buf_take(&b);
}

/* Finds the shortest text of modules 0 … n-1 as presets and single modules: best[n] is the minimum length,
 * from[n] the start of its last part, part[n] the text of that part. */
static void add_parts(struct buf *b, const struct method *m) {
    enum {
        PRESET_WORTH = 12,
        LONGEST = 24
    }; /* a preset name is preferred up to this many characters; no call expands to more modules */
    long best[METHOD_MODULES + 1] = { 0 };
    int from[METHOD_MODULES + 1] = { 0 };
    char *part[METHOD_MODULES + 1] = { NULL };
    for (int n = 1; n <= m->count; n++) {
        best[n] = -1;
        for (int i = n > LONGEST ? n - LONGEST : 0; i < n; i++) {
            char *text = match_run(m->module + i, n - i, NULL);
            long cost = text ? (long)strlen(text) - PRESET_WORTH : 0;
            if (!text && n - i == 1) {
                text = format_module(&m->module[i], false);
                cost = (long)strlen(text);
            }
            if (!text) continue;
            cost += best[i] + 3 + PRESET_WORTH;
            if (best[n] < 0 || cost < best[n]) {
                best[n] = cost;
                from[n] = i;
                free(part[n]);
                part[n] = text;
            } else {
                free(text);
            }
        }
    }
    const char *order[METHOD_MODULES];
    int parts = 0;
    for (int n = m->count; n > 0; n = from[n]) order[parts++] = part[n];
    while (parts > 0) {
        buf_puts(b, order[--parts]);
        if (parts) buf_puts(b, " + ");
    }
    for (int n = 1; n <= m->count; n++) free(part[n]);
}

char *method_text(const struct method *m) {
    struct method x = *m;
    struct buf b = BUF_INIT;
    if (x.count == 0) {
        add_rest(&b, &x, false);
        return buf_take(&b);
    }
    struct match found;
    char *published = match_networks(&x, &found);
    if (published) {
        buf_puts(&b, published);
        free(published);
        add_head(&b, &x);
        return buf_take(&b);
    }
    for (int i = 0; i < x.count; i++) module_normalize(&x.module[i]);
    struct method sorted = x;
    method_normalize(&sorted);
    char *whole = match_run(sorted.module, sorted.count, NULL);
    if (whole) buf_puts(&b, whole);
    else add_parts(&b, &x);
    free(whole);
    add_rest(&b, &x, false);
    return buf_take(&b);
}
