#include "core/method/fusion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/kernel.h"
#include "core/method/attempt.h"
#include "core/method/build.h"
#include "core/method/functions.h"
#include "core/method/init.h"
#include "core/method/slots.h"

static const char *const of_words[] = { "read", "written" },
                         *const fusion_residuals[] = { "after", "inside" },
                         *const fusion_starts[] = { "identity", "drawn" };
static const struct fusion defaults = {
    .on = true, .query = true, .key = true, .value = true, .weight = 0.01
};

#define AT(member) .offset = offsetof(struct fusion, member)
static const struct key keys[] = {
    { "query", AT(query), .kind = KEY_FLAG,
      .description = "Whether the query input is projected by Q; no: the query is the input itself." },
    { "key", AT(key), .kind = KEY_FLAG,
      .description = "Whether each adapter's output is projected to a key by K; no: the key is the output "
                     "itself." },
    { "value", AT(value), .kind = KEY_FLAG,
      .description = "Whether the adapters' outputs are projected to values by V; no: the values are the "
                     "outputs themselves." },
    { "of", AT(of), KEY_WORDS(of_words),
      .description = "The input of the query: what the adapters read, or the tap that they write." },
    { "residual", AT(residual), KEY_WORDS(fusion_residuals),
      .description = "Where the written tap is added: after V, or before it, to the input of V." },
    { "start", AT(start), KEY_WORDS(fusion_starts),
      .description = "Whether V is initialized to the identity or at random like Q and K." },
    { "weight", AT(weight), .kind = KEY_WEIGHT,
      .description = "Weight of the regularization ‖I − V‖² in the loss, summed over all fusion layers; 0: "
                     "off." },
};
const struct network fusion_network = { "fusion",
                                        "fusion",
                                        offsetof(struct method, fusion),
                                        sizeof defaults,
                                        &defaults,
                                        keys,
                                        COUNT_OF(keys) };

/* ---- fused modules at one place ---- */

static bool is_fused_at(const struct module *m, const struct arch *a, enum tap tap, int stack, int site,
                        int layer) {
    return m->source == SOURCE_FUSION && m->write == tap && module_covers(m, a, stack, site, layer);
}

/* Returns whether a later (way 1) or earlier (way -1) module is fused with this one there. */
static bool has_other(const struct method *m, const struct arch *a, int module, int way, int stack, int site,
                      int layer) {
    for (int i = module + way; i >= 0 && i < m->count; i += way)
        if (is_fused_at(&m->module[i], a, m->module[module].write, stack, site, layer)) return true;
    return false;
}

/* ---- rules ---- */

static const char *module_fault(const struct module *m) {
    if (m->fn != FN_BOTTLENECK || m->heads != HEADS_SHARED)
        return "source=fusion supports only adapters: bottlenecks with heads=shared";
    if (m->norm != NORM_NONE)
        return "a fusion of adapters with a norm is not supported: use norm=none";
    if (m->comp != COMP_ADD && m->comp != COMP_SCALED && m->comp != COMP_LEARNED)
        return "a fused adapter supports only comp=add, scaled or learned";
    return NULL;
}

/* Checks what modules fused at one place must have in common. */
static const char *pair_fault(const struct module *x, const struct module *y) {
    if (x->read != y->read) return "fused adapters at one tap must have the same read=";
    if (x->residual != y->residual || x->ending != y->ending)
        return "fused adapters at one tap must have the same residual= and end=";
    return NULL;
}

static const char *place_fault(const struct method *m, const struct arch *a, int module, int stack, int site,
                               int layer) {
    const struct module *x = &m->module[module];
    int first = -1, last = -1, count = 0;
    for (int i = 0; i < m->count; i++) {
        if (!is_fused_at(&m->module[i], a, x->write, stack, site, layer)) continue;
        const char *fault = pair_fault(x, &m->module[i]);
        if (fault) return fault;
        if (first < 0) first = i;
        last = i;
        count++;
    }
    if (count < 2) return "a fusion needs at least two adapters in each layer, but one layer has only one";
    if (count > MIX_MOST) return "a fusion combines at most 32 adapters";
    for (int i = first; i < last; i++)
        if (m->module[i].write == x->write && m->module[i].source != SOURCE_FUSION &&
            module_covers(&m->module[i], a, stack, site, layer))
            return "a module without source=fusion is between fused modules: move it before or after them";
    return NULL;
}

const char *fusion_fault(const struct method *m, const struct arch *a, int *module) {
    bool some = false;
    for (*module = 0; *module < m->count; ++*module) {
        const struct module *x = &m->module[*module];
        struct span span[SPANS];
        if (x->source != SOURCE_FUSION || attempt_is_source(x)) continue;
        some = true;
        const char *fault = module_fault(x);
        if (fault) return fault;
        if (!m->fusion.on) return "source=fusion needs a module that combines the adapters: append '+ "
                                  "fusion'";
        int n = module_spans(x, a, span);
        for (int k = 0; k < n && !fault; k++)
            for (int layer = span[k].first; layer < span[k].end && !fault; layer++)
                fault = place_fault(m, a, *module, span[k].stack, span[k].site, layer);
        if (fault) return fault;
    }
    *module = -1;
    const struct fusion *f = &m->fusion;
    if (f->on && !some)
        return "a fusion needs adapters of other runs: use fusion(runs=3|5), or add modules with "
               "source=fusion,init=run(N)";
    return f->on && !f->query && !f->key && !f->value
               ? "a fusion without query, key and value has no parameters: set at least one of them to yes"
               : NULL;
}

/* ---- plan ---- */

void fusion_plan_module(struct build *b, int module, const struct span *s) {
    for (int i = s->first; i < s->end; i++) {
        int before = b->p->tensors;
        build_slots(b, module, s, i, 1);
        for (int k = before; k < b->p->tensors; k++) {
            struct plan_tensor *t = &b->p->tensor[k];
            t->fixed = t->frozen = true;
            t->decays = false;
        }
    }
}

/* "fusion.enc.3.ffn.out.Q" */
static void add_map(struct build *b, const struct span *s, int layer, enum tap tap, enum slot slot, int rows,
                    int cols) {
    static const char *const names[] = { "Q", "b_q", "K", "b_k", "V" };
    struct plan_tensor t = build_part(PLAN_NETWORK, slot, rows, cols);
    t.stack = s->stack;
    t.site = s->site;
    t.layer = layer;
    t.place = (int)tap;
    t.no_gradient = slot == SLOT_FUSION_KEY_B;
    build_network(b, t, "fusion.%s.%d.%s.%s.%s", s->stack == STACK_DECODER ? "dec" : "enc", layer,
                  site_name(s->site), strchr(tap_name(tap), '.') + 1, names[slot - SLOT_FUSION_QUERY_W]);
}

void fusion_plan(struct build *b) {
    const struct method *m = &b->p->method;
    for (int i = 0; i < m->count; i++) {
        const struct module *x = &m->module[i];
        struct span span[SPANS];
        int n = x->source == SOURCE_FUSION && !attempt_is_source(x) ? module_spans(x, b->a, span) : 0,
            d = tap_width(b->a, x->write);
        for (int k = 0; k < n; k++)
            for (int layer = span[k].first; layer < span[k].end; layer++) {
                if (has_other(m, b->a, i, -1, span[k].stack, span[k].site, layer)) continue;
                const struct span *s = &span[k];
                if (m->fusion.query)
                    add_map(b, s, layer, x->write, SLOT_FUSION_QUERY_W, d, tap_width(b->a, x->read));
                if (m->fusion.query) add_map(b, s, layer, x->write, SLOT_FUSION_QUERY_B, 1, d);
                if (m->fusion.key) add_map(b, s, layer, x->write, SLOT_FUSION_KEY_W, d, d);
                if (m->fusion.key) add_map(b, s, layer, x->write, SLOT_FUSION_KEY_B, 1, d);
                if (m->fusion.value) add_map(b, s, layer, x->write, SLOT_FUSION_VALUE, d, d);
            }
    }
}

void fusion_init(const struct method *m, const struct plan_tensor *t, struct rng_key key, real *out) {
    enum { OFF_DIAGONAL_E6 = 1 };
    bool identity = t->role == SLOT_FUSION_VALUE && m->fusion.start == FUSION_IDENTITY;
    if (!identity && t->rows > 1) init_normal(key, out, t->count, 0.02);
    else init_fill(out, t->count, identity ? OFF_DIAGONAL_E6 * 1e-6 : 0);
    for (int i = 0; identity && i < t->rows; i++) out[(size_t)i * (size_t)t->cols + (size_t)i] = 1;
}

/* ---- forward ---- */

static node map_of(const struct use *u, enum slot slot) {
    const struct plan *p = use_plan(u);
    const struct site *s = u->site;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind == PLAN_NETWORK && t->role == (int)slot && t->stack == (int)s->stack &&
            t->site == (int)s->sublayer && t->layer == s->layer && t->place == (int)u->m->write)
            return use_leaf(u, i);
    }
    return NODE_NONE;
}

/* Applies K and V after sums in which they are linear: q·(K z_n + b_k) is (q K)·z_n plus a constant equal for
 * all n, and Σ a_n V z_n is V Σ a_n z_n. The cost of the maps is independent of the number of adapters. */
node fusion_apply(struct tape *t, const struct use *u, node base, node delta) {
    const struct plan *p = use_plan(u);
    const struct fusion *f = &p->method.fusion;
    struct fused *all = u->fused;
    BUG_IF(all->count == MIX_MOST);
    all->z[all->count++] = delta;
    if (has_other(&p->method, u->arch, u->module, 1, (int)u->site->stack, (int)u->site->sublayer,
                  u->site->layer))
        return u->value;
    int count = all->count;
    all->count = 0;
    node q = f->of == FUSION_OF_WRITTEN ? u->value : u->x;
    if (f->query) q = op_linear(t, q, map_of(u, SLOT_FUSION_QUERY_W), map_of(u, SLOT_FUSION_QUERY_B));
    if (f->key) q = op_matmul(t, q, map_of(u, SLOT_FUSION_KEY_W));
    node scores = op_dropout(t, op_dots(t, q, all->z, count), u->rows, u->attention_dropout,
                             use_dropout_site(u));
    node o = op_mix(t, scores, all->z, count);
    if (f->residual == FUSION_INSIDE) o = op_add(t, base, o);
    if (f->value) o = op_linear(t, o, map_of(u, SLOT_FUSION_VALUE), NODE_NONE);
    return f->residual == FUSION_INSIDE ? o : op_add(t, base, o);
}

/* ---- loss component ---- */

bool fusion_has_identity(const struct method *m) {
    return m->fusion.on && m->fusion.value && m->fusion.weight > 0;
}

double fusion_identity(const struct plan *p, const real *params, real *grads) {
    double sum = 0, weight = p->method.fusion.weight;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i];
        if (t->kind != PLAN_NETWORK || t->role != SLOT_FUSION_VALUE || t->frozen) continue;
        const real *v = params + t->offset;
        real *g = grads + t->offset;
        for (int r = 0; r < t->rows; r++)
            for (int c = 0; c < t->cols; c++) {
                size_t at = (size_t)r * (size_t)t->cols + (size_t)c;
                double far = (double)v[at] - (r == c);
                sum += far * far;
                g[at] += (real)(2 * weight * far);
            }
    }
    return sum;
}

/* ---- texts ---- */

char *fusion_formula(const struct method *m) {
    const struct fusion *f = &m->fusion;
    const char *x = f->of == FUSION_OF_WRITTEN ? "h" : "x";
    struct buf b = BUF_INIT;
    buf_printf(&b, f->query ? "a = softmax_n((Q %s + b_q)\u00B7" : "a = softmax_n(%s\u00B7", x);
    buf_puts(&b, f->key ? "(K z_n + b_k)), " : "z_n), ");
    if (f->residual == FUSION_INSIDE)
        buf_puts(&b, f->value ? "h \u2190 V(h + \u03A3 a_n z_n)" : "h \u2190 h + \u03A3 a_n z_n");
    else buf_puts(&b, f->value ? "h \u2190 h + V \u03A3 a_n z_n" : "h \u2190 h + \u03A3 a_n z_n");
    buf_puts(&b, ", z_n: the adapters' \u0394h");
    return buf_take(&b);
}

/* ---- runs=3|5 ---- */

static const char *blanks(const char *s) { return s + strspn(s, " \t\r\n"); }

/* Reads "3|5" from s up to `end`. */
static int read_runs(const char *name, const char *s, const char *end, int run[MIX_MOST], struct err *e) {
    int n = 0;
    while (s < end) {
        int used = 0, v = 0;
        if (sscanf(s, " %9d %n", &v, &used) != 1 || !used || v < 1 || (s + used < end && s[used] != '|'))
            return err_set(e, ERR_USAGE, "%s: runs=%.*s: expected run ids, for example runs=3|5", name,
                           (int)(end - s), s);
        for (int i = 0; i < n; i++)
            if (run[i] == v) return err_set(e, ERR_USAGE, "%s: runs=: run %d is repeated", name, v);
        if (n == MIX_MOST)
            return err_set(e, ERR_USAGE, "%s: runs=: too many runs, at most %d", name, MIX_MOST);
        run[n++] = v;
        s += used + (s + used < end);
    }
    return n ? n : err_set(e, ERR_USAGE, "%s: runs=: expected run ids, for example runs=3|5", name);
}

/* Returns the arguments of the item NAME(…) of a text, after the bracket, or NULL. */
static const char *find_item(const char *name, const char *text) {
    for (const char *at = text; (at = strstr(at, name)); at++) {
        const char *before = at, *open = blanks(at + strlen(name));
        while (before > text && strchr(" \t\r\n", before[-1])) before--;
        if ((before == text || before[-1] == '+') && *open == '(') return open + 1;
    }
    return NULL;
}

int fusion_runs(const char *name, const char *text, int run[MIX_MOST], char **rest, struct err *e) {
    const char *inside = find_item(name, text), *close = inside ? strchr(inside, ')') : NULL;
    *rest = NULL;
    for (const char *at = inside; close && at < close;) {
        const char *arg = blanks(at), *end = at + strcspn(at, ",;)"), *value = blanks(arg + 4);
        if (!strncmp(arg, "runs", 4) && *value == '=') {
            int n = read_runs(name, value + 1, end, run, e);
            if (n < 0) return n;
            const char *next = *end == ')' ? end : end + 1;
            *rest = xprintf("%.*s%s", (int)(at - text), text, next);
            return n;
        }
        at = end < close ? end + 1 : close;
    }
    return 0;
}
