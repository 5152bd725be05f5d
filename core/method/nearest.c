/* The published method nearest to a method, and the differences. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/method/keys.h"
#include "core/method/network.h"
#include "core/method/space.h"

/* Cost of a difference on each axis; sizes cost nothing. */
enum {
    FAR_FUNCTION = 6,
    FAR_PLACE = 4,
    FAR_READ = 2,
    FAR_AXIS = 2,
    FAR_DETAIL = 1,
    FAR_LEFT_OUT = 3, /* a place of the preset is missing, but the function is at another place */
    FAR_MODULE = 7
};

/* Returns whether the field is a word, a flag or the range of layers; taps and targets are compared
 * separately. */
static bool is_compared(const struct key *k) {
    if (k->kind == KEY_LAYERS || k->kind == KEY_FLAG) return true;
    return k->kind == KEY_WORD && k->words != tap_names && k->words != target_names;
}

static bool is_axis(const struct key *k) {
    return k->words == comp_names || k->words == heads_names || k->words == source_names;
}

static int distance(const struct module *a, const struct module *b) {
    const struct key *k;
    int d = 0;
    if (a->fn != b->fn) d += FAR_FUNCTION;
    if (a->write != b->write || a->target != b->target) d += FAR_PLACE;
    if (a->read != b->read) d += FAR_READ;
    for (int i = 0; (k = key_at(i)); i++)
        if (is_compared(k) && !key_same(k, a, b) && (k->words != site_names || a->write == b->write))
            d += is_axis(k) ? FAR_AXIS : FAR_DETAIL;
    return d;
}

struct near_pair {
    int preset, other, distance; /* indices of the modules */
};

/* Returns the nearest pair of modules that are both free; its distance is above FAR_MODULE if there is
 * none. */
static struct near_pair free_pair(const struct method *p, const struct method *m, const int *partner,
                                  const bool *taken) {
    struct near_pair least = { 0, 0, FAR_MODULE + 1 };
    for (int i = 0; i < p->count; i++)
        for (int j = 0; j < m->count; j++) {
            int d = distance(&p->module[i], &m->module[j]);
            if (partner[i] < 0 && !taken[j] && d < least.distance) least = (struct near_pair){ i, j, d };
        }
    return least;
}

/* Pairs modules of `p` with those of `m`, the nearest first: partner[i] is an index in m or -1. Returns the
 * total cost, including unpaired modules. */
static int pair_up(const struct method *p, const struct method *m, int partner[METHOD_MODULES]) {
    bool taken[METHOD_MODULES] = { false };
    int sum = 0, paired = 0;
    for (int k = 0; k < p->count; k++) partner[k] = -1;
    for (struct near_pair x; (x = free_pair(p, m, partner, taken)).distance <= FAR_MODULE; paired++) {
        partner[x.preset] = x.other;
        taken[x.other] = true;
        sum += x.distance;
    }
    /* if m has the function elsewhere, only the place is missing, otherwise the module */
    for (int k = 0; k < p->count; k++)
        if (partner[k] < 0) sum += method_find(m, p->module[k].fn) ? FAR_LEFT_OUT : FAR_MODULE;
    return sum + (m->count - paired) * FAR_MODULE;
}

static const char *where(const struct module *m) {
    return m->write == TAP_NONE ? target_name(m->target) : tap_name(m->write);
}

/* Returns whether the text is in a comma-separated list. */
static bool is_said(const struct buf *list, const char *text) {
    size_t n = strlen(text);
    for (const char *at = buf_text(list); (at = strstr(at, text)); at += n)
        if ((at == buf_text(list) || at[-1] == ' ') && (!at[n] || at[n] == ',')) return true;
    return false;
}

/* Adds "a between c" once, also if it applies to several modules. */
static void phrase(struct buf *b, const char *between, const char *a, const char *c) {
    char *text = xprintf("%s%s%s", a, between, c);
    if (!is_said(b, text)) buf_printf(b, "%s%s", b->size ? ", " : "", text);
    free(text);
}

/* Adds the restriction of `x` to a stack, site or layers; presets are unrestricted. */
static void narrowed(struct buf *b, const struct module *x, const struct module *y) {
    static const char *const sites[] = { "in self-attention", "in cross-attention", "in the FFN",
                                        "outside the blocks" };
    if (x->site != y->site && module_takes_site(x) && x->site != SITE_ALL)
        phrase(b, " only ", where(x), sites[x->site]);
    if (x->stack != y->stack && x->stack != STACK_ALL)
        phrase(b, " only in the ", where(x), stack_name(x->stack));
}

/* Appends the value of a field. */
static void add_field(struct buf *b, const struct key *k, const struct module *x) {
    char value[KEY_TEXT], *pair;
    if (k->phrases) snprintf(value, sizeof value, "%s", k->phrases[key_number(k, x)]);
    else if (k->words == source_names) strcpy(value, source_name(x->source)); /* without the width */
    else key_print(k, x, value);
    pair = xprintf("%s=%s", k->name, value);
    if (!k->differs) phrase(b, " at ", pair, where(x));
    else phrase(b, k->differs, value, *k->differs ? where(x) : "");
    free(pair);
}

/* Adds the differences of `x` from the preset's module `y`. */
static void differences(struct buf *b, const struct module *x, const struct module *y) {
    const struct key *k;
    if (x->fn != y->fn) phrase(b, " instead of ", fn_name(x->fn), fn_name(y->fn));
    if (strcmp(where(x), where(y))) phrase(b, " instead of ", where(x),
                                           where(y));
    if (x->read != y->read && x->fn == y->fn) {
        if (module_is_sequential(x) != module_is_sequential(y))
            phrase(b, " at ", module_is_sequential(x) ? "sequential" : "parallel", where(x));
        else phrase(b, " reads ", where(x), tap_name(x->read));
    }
    for (int i = 0; (k = key_at(i)); i++) {
        bool differs = is_compared(k) && !key_same(k, x, y) && (x->fn == y->fn || k->words == source_names);
        bool narrows = k->kind == KEY_LAYERS || k->words == stack_names || k->words == site_names;
        if (differs && !narrows) add_field(b, k, x);
    }
    if (x->first != y->first || x->last != y->last) {
        char layers[48];
        bool one = x->last == x->first;
        if (one) snprintf(layers, sizeof layers, "%d", x->first);
        else if (x->last) snprintf(layers, sizeof layers, "%d to %d", x->first, x->last);
        else snprintf(layers, sizeof layers, "from %d", x->first);
        phrase(b, one ? " in layer " : " in layers ", where(x), layers);
    }
    narrowed(b, x, y);
}

static int networks_apart(const struct method *p, const struct method *m) {
    const struct network *n;
    int d = 0;
    for (int i = 0; (n = network_at(i)); i++) d += network_equal(n, p, m) ? 0 : FAR_AXIS;
    return d;
}

static void other_networks(struct buf *b, const struct method *m, const struct method *p) {
    const struct network *n;
    for (int i = 0; (n = network_at(i)); i++)
        if (!network_equal(n, m, p))
            phrase(b, " ",
                   !network_is_on(n, m)  ? "without its"
                   : network_is_on(n, p) ? "with another"
                                         : "with a",
                   n->noun);
}

char *method_nearest(const struct method *m) { return method_nearest_except(m, NULL); }

/* Returns the nearest preset except `but`, and which modules of m (normalized) correspond to its modules. */
static const struct preset *of_presets(const struct method *m, const struct preset *but,
                                       int with[METHOD_MODULES]) {
    const struct preset *best = NULL;
    int least = 0, partner[METHOD_MODULES];
    for (int i = 0; i < preset_count(); i++) {
        struct method p = preset_at(i)->method;
        if (p.count == 0 || preset_at(i)->same_as || preset_at(i) == but) continue;
        method_normalize(&p);
        int d = pair_up(&p, m, partner) + networks_apart(&p, m);
        if (best && d >= least) continue;
        best = preset_at(i);
        least = d;
        memcpy(with, partner, sizeof partner);
    }
    return best;
}

const struct preset *method_nearest_preset(const struct method *m) {
    return method_nearest_preset_except(m, NULL);
}

const struct preset *method_nearest_preset_except(const struct method *given, const struct preset *but) {
    struct method m = *given;
    int partner[METHOD_MODULES];
    method_normalize(&m);
    return m.count ? of_presets(&m, but, partner) : NULL;
}

char *method_nearest_except(const struct method *given, const struct preset *but) {
    struct method m = *given;
    int best_partner[METHOD_MODULES];
    if (m.count == 0) return NULL;
    method_normalize(&m);
    const struct preset *best = of_presets(&m, but, best_partner);
    struct method p = best->method;
    method_normalize(&p);
    struct buf b = BUF_INIT;
    bool taken[METHOD_MODULES] = { false };
    for (int i = 0; i < p.count; i++) {
        if (best_partner[i] < 0) {
            phrase(&b, " at ", "without its module", where(&p.module[i]));
            continue;
        }
        taken[best_partner[i]] = true;
        differences(&b, &m.module[best_partner[i]], &p.module[i]);
    }
    for (int j = 0; j < m.count; j++)
        if (!taken[j]) {
            if (b.size) buf_puts(&b, ", ");
            buf_printf(&b, "with an additional %s module at %s", fn_name(m.module[j].fn),
                       where(&m.module[j]));
        }
    other_networks(&b, &m, &p);
    if (m.head == METHOD_HEAD_FROZEN) phrase(&b, "", "a frozen head", "");
    char *text = b.size ? xprintf("%s, but %s", best->name, buf_text(&b)) : xstrdup(best->name);
    buf_release(&b);
    return text;
}
