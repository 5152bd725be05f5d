#include "core/exchange/combine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/exchange/assemble.h"
#include "core/method/classifier.h"

const char *const combine_names[COMBINE_HOWS] = { "concat", "linear", "ties" };

/* The change of a map by a module of one part. */
struct change {
    int part, stack, site, layer;
    enum tap write;
    int rank;
    double scale;
    const real *down, *up; /* rank × in, out × rank */
};

struct combining {
    const struct combination *x;
    struct model *m;
    struct imported *out;
    struct assembly to;
    struct change *change;
    size_t changes, room;
    real **made; /* the joined tensors, owned; pieces point to them until the values are copied */
    size_t mades, made_room;
};

/* ---- content of the parts ---- */

static int refuse(const struct combining *c, int part, const char *what, const char *why, struct err *e) {
    return err_set(e, ERR_USAGE, "%s: %s: %s", c->x->part[part].name, what, why);
}

static const real *combine_value_at(const struct predictor *p, int module, enum slot slot, int stack,
                                    int site, int layer) {
    const struct plan_tensor *t = plan_slot(predictor_plan(p), module, slot, stack, site, layer);
    return t ? predictor_params(p) + t->offset : NULL;
}

static void add_change(struct combining *c, int part, int module, int stack, int site, int layer) {
    const struct predictor *p = c->x->part[part].predictor;
    const struct module *m = &predictor_plan(p)->method.module[module];
    const real *learned = combine_value_at(p, module, SLOT_SCALE, stack, site, layer);
    GROW(c->change, c->room, c->changes + 1);
    c->change[c->changes++] = (struct change){
        .part = part, .stack = stack, .site = site, .layer = layer, .write = m->write, .rank = m->size,
        .scale = m->comp == COMP_SCALED ? m->scale : learned ? (double)*learned : 1,
        .down = combine_value_at(p, module, SLOT_DOWN_W, stack, site, layer),
        .up = combine_value_at(p, module, SLOT_UP_W, stack, site, layer),
    };
}

static int add_module(struct combining *c, int part, int module, struct err *e) {
    const struct module *m = &predictor_plan(c->x->part[part].predictor)->method.module[module];
    if (m->fn != FN_LINEAR || !module_is_map(m)) {
        struct method one = { .count = 1 };
        one.module[0] = *m;
        char *text = method_canonical(&one);
        int rc = refuse(c, part, text,
                        "only low-rank updates of a single linear layer (LoRA) can be merged",
                        e);
        free(text);
        return rc;
    }
    struct span span[SPANS];
    int n = module_spans(m, &c->m->arch, span);
    for (int k = 0; k < n; k++)
        for (int layer = span[k].first; layer < span[k].end; layer++)
            add_change(c, part, module, span[k].stack, span[k].site, layer);
    return 0;
}

static int read_part(struct combining *c, int part, struct err *e) {
    const struct combine_part *from = &c->x->part[part];
    const struct model *own = predictor_model(from->predictor);
    if (strcmp(own->sha256, c->m->sha256) || strcmp(own->facts, c->m->facts))
        return refuse(c, part, own->name, "the base model differs from that of the other adapters", e);
    int rc = predictor_make_plain(from->predictor, e);
    const struct method *m = &predictor_plan(from->predictor)->method;
    if (!rc && !m->count) rc = refuse(c, part, "head", "the adapter has no module to merge", e);
    for (int i = 0; i < m->count && !rc; i++) rc = add_module(c, part, i, e);
    return rc;
}

/* ---- heads ---- */

static bool same_labels(const struct predictor *a, const struct predictor *b) {
    if (predictor_classes(a) != predictor_classes(b) || predictor_labels(a) != predictor_labels(b))
        return false;
    for (int i = 0; i < predictor_labels(a); i++)
        if (strcmp(predictor_label(a, i), predictor_label(b, i))) return false;
    return true;
}

/* Returns whether two heads have equal tensors. */
static bool same_values(const struct predictor *a, const struct predictor *b) {
    const struct plan *p = predictor_plan(a), *q = predictor_plan(b);
    if (p->head != q->head) return false;
    for (int i = 0; i < p->tensors; i++) {
        const struct plan_tensor *t = &p->tensor[i], *u = NULL;
        if (t->kind != PLAN_HEAD) continue;
        for (int k = 0; k < q->tensors && !u; k++)
            if (q->tensor[k].kind == PLAN_HEAD && !strcmp(q->tensor[k].name, t->name)) u = &q->tensor[k];
        if (!u || u->count != t->count ||
            memcmp(predictor_params(a) + t->offset, predictor_params(b) + u->offset, t->count * sizeof(real)))
            return false;
    }
    return true;
}

static int check_heads(const struct combining *c, struct err *e) {
    const struct predictor *first = c->x->part[0].predictor;
    for (int i = 1; i < c->x->parts && c->x->head < 0; i++) {
        const struct predictor *p = c->x->part[i].predictor;
        const char *what = !same_labels(first, p) ? "has different classes from"
                           : !network_equal(&classifier_network, &predictor_plan(first)->method,
                                            &predictor_plan(p)->method) ||
                                   !same_values(first, p)
                               ? "has a different head from"
                               : NULL;
        if (what)
            return err_set(e, ERR_USAGE, "%s: %s %s; select one with --head RUN", c->x->part[i].name,
                           what, c->x->part[0].name);
    }
    return 0;
}

static void take_head(struct combining *c, const struct predictor *from) {
    const struct plan *p = predictor_plan(from);
    c->to.classifier = p->method.classifier;
    for (int i = 0; i < p->tensors; i++)
        if (p->tensor[i].kind == PLAN_HEAD)
            assembly_head(&c->to, p->tensor[i].name, predictor_params(from) + p->tensor[i].offset,
                          p->tensor[i].count);
}

/* ---- joining ---- */

static real *keep(struct combining *c, size_t n) {
    GROW(c->made, c->made_room, c->mades + 1);
    return c->made[c->mades++] = xcalloc(n, sizeof(real));
}

static bool same_place(const struct change *a, const struct change *b) {
    return a->stack == b->stack && a->site == b->site && a->layer == b->layer && a->write == b->write;
}

/* Concatenates W_d by rows, each with its weight and scale, and W_u by columns. */
static void concat(const struct combining *c, const struct change *const *at, int n, int in, int out,
                   int rank, real *down, real *up) {
    int row = 0;
    for (int i = 0; i < n; i++) {
        double factor = c->x->part[at[i]->part].weight * at[i]->scale;
        size_t count = (size_t)at[i]->rank * (size_t)in;
        for (size_t k = 0; k < count; k++)
            down[(size_t)row * (size_t)in + k] = (real)(factor * (double)at[i]->down[k]);
        for (int o = 0; o < out; o++)
            memcpy(up + (size_t)o * (size_t)rank + row, at[i]->up + (size_t)o * (size_t)at[i]->rank,
                   (size_t)at[i]->rank * sizeof *up);
        row += at[i]->rank;
    }
}

struct sized {
    real size;
    size_t at;
};

/* Orders by magnitude, largest first; ties by position. */
static int by_size(const void *a, const void *b) {
    const struct sized *x = a, *y = b;
    if (x->size != y->size) return x->size < y->size ? 1 : -1;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Returns a copy with the given share of largest values, the others 0; caller frees. */
static real *pruned(const real *v, size_t n, double density) {
    size_t kept = density < 1 ? (size_t)(density * (double)n) : n;
    real *out = xcalloc(n, sizeof *out);
    struct sized *order = xcalloc(n, sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = (struct sized){ v[i] < 0 ? -v[i] : v[i], i };
    qsort(order, n, sizeof *order, by_size);
    for (size_t i = 0; i < kept; i++) out[order[i].at] = v[order[i].at];
    free(order);
    return out;
}

/* Averages the weighted values whose sign is that of the sum of all, as in TIES. */
static void ties(const real *const *v, const real *factor, int parts, size_t n, double density, real *out) {
    real *kept[COMBINE_RUNS];
    for (int i = 0; i < parts; i++) kept[i] = pruned(v[i], n, density);
    for (size_t k = 0; k < n; k++) {
        real all = 0, sum = 0;
        int agree = 0;
        for (int i = 0; i < parts; i++) all += kept[i][k];
        for (int i = 0; i < parts; i++) {
            if (all >= 0 ? !(kept[i][k] > 0) : !(kept[i][k] < 0)) continue;
            sum += factor[i] * kept[i][k];
            agree++;
        }
        out[k] = agree ? sum / (real)agree : 0;
    }
    for (int i = 0; i < parts; i++) free(kept[i]);
}

static void combine_linear(const real *const *v, const real *factor, int parts, size_t n, real *out) {
    for (size_t k = 0; k < n; k++) {
        real sum = 0;
        for (int i = 0; i < parts; i++) sum += factor[i] * v[i][k];
        out[k] = sum;
    }
}

/* Combines each matrix separately, as PEFT does. */
static void average(const struct combining *c, const struct change *const *at, int n, int in, int out,
                    int rank, real *down, real *up) {
    const real *v[2][COMBINE_RUNS];
    real factor[2][COMBINE_RUNS];
    const size_t size[2] = { (size_t)rank * (size_t)in, (size_t)out * (size_t)rank };
    real *to[2] = { down, up };
    for (int i = 0; i < n; i++) {
        double f = c->x->part[at[i]->part].weight * at[i]->scale;
        v[0][i] = at[i]->down;
        v[1][i] = at[i]->up;
        factor[0][i] = (real)(f < 0 ? -sqrt(-f)
                                    : sqrt(f)); /* the sign is applied to one factor only, or it would cancel
                                                 * in the product */
        factor[1][i] = (real)sqrt(fabs(f));
    }
    for (int k = 0; k < 2; k++) {
        if (c->x->how == COMBINE_LINEAR) combine_linear(v[k], factor[k], n, size[k], to[k]);
        else ties(v[k], factor[k], n, size[k], c->x->density, to[k]);
    }
}

/* Checks the requirements of linear and ties at a place: one change per part, of equal rank. */
static int check_place(const struct combining *c, const struct change *const *at, int n, struct err *e) {
    for (int i = 1; i < n && c->x->how != COMBINE_CONCAT; i++) {
        char *place = xprintf("%s in layer %d", tap_name(at[i]->write), at[i]->layer + 1);
        const char *why = NULL;
        if (at[i]->part == at[i - 1]->part)
            why = "several modules in one adapter, whose matrices cannot be averaged separately; use --how "
                  "concat";
        else if (at[i]->rank != at[0]->rank)
            why = "the ranks differ, and matrices of different sizes cannot be averaged; use --how concat";
        if (why) refuse(c, at[i]->part, place, why, e);
        free(place);
        if (why) return e->code;
    }
    return 0;
}

static int join_place(struct combining *c, const struct change *const *at, int n, struct err *e) {
    if (check_place(c, at, n, e)) return e->code;
    const struct change *first = at[0];
    int i = arch_find(c->m->tensor, c->m->tensors, tap_weight_role(first->write), first->stack, first->site,
                      first->layer);
    BUG_IF(i < 0);
    int out = c->m->tensor[i].rows, in = c->m->tensor[i].cols, rank = first->rank;
    for (int k = 1; k < n && c->x->how == COMBINE_CONCAT; k++) rank += at[k]->rank;
    real *down = keep(c, (size_t)rank * (size_t)in), *up = keep(c, (size_t)out * (size_t)rank);
    (c->x->how == COMBINE_CONCAT ? concat : average)(c, at, n, in, out, rank, down, up);
    struct module m = module_default(FN_LINEAR);
    m.read = tap_map_input(first->write);
    m.write = first->write;
    m.comp = COMP_SCALED;
    m.scale = 1;
    m.size = rank;
    struct placed *p = assembly_piece(&c->to, &m, first->stack, first->site, first->layer);
    piece_add(p, SLOT_DOWN_W, down, (size_t)rank * (size_t)in);
    piece_add(p, SLOT_UP_W, up, (size_t)out * (size_t)rank);
    return 0;
}

static int join_all(struct combining *c, struct err *e) {
    bool *done = xcalloc(c->changes + 1, sizeof *done);
    const struct change **at = xcalloc(c->changes + 1, sizeof *at);
    int rc = 0;
    for (size_t i = 0; i < c->changes && !rc; i++) {
        int n = 0;
        if (done[i]) continue;
        for (size_t k = i; k < c->changes; k++) {
            if (!same_place(&c->change[i], &c->change[k])) continue;
            done[k] = true;
            at[n++] = &c->change[k];
        }
        rc = join_place(c, at, n, e);
    }
    free(at);
    free(done);
    return rc;
}

/* ---- the whole ---- */

static int build(struct combining *c, struct err *e) {
    const struct combine_part *head = &c->x->part[c->x->head < 0 ? 0 : c->x->head];
    const struct predictor *from = head->predictor;
    char **label = xcalloc((size_t)predictor_labels(from) + 1, sizeof *label);
    take_head(c, from);
    config_copy(&c->out->config, head->config);
    int rc = assembly_method(&c->to, "the merged adapter", &c->out->config.method, e);
    c->out->config.method.head = predictor_plan(from)->method.head;
    for (int i = 0; i < predictor_labels(from); i++) label[i] = (char *)(uintptr_t)predictor_label(from, i);
    const struct predictor_parts parts = { .m = c->m, .c = &c->out->config, .label = label,
                                           .label_kind = predictor_label_kind(from),
                                           .labels = predictor_labels(from) };
    if (!rc) c->out->predictor = predictor_new(&parts, e);
    if (!rc && !c->out->predictor) rc = e->code;
    free(label);
    return rc ? rc
              : assembly_fill(&c->to, "the merged adapter", predictor_plan(c->out->predictor),
                              predictor_values(c->out->predictor), e);
}

int combine_adapters(const struct combination *x, struct model *m, struct imported *out, struct err *e) {
    struct combining c = { .x = x, .m = m, .out = out };
    int rc = 0;
    BUG_IF(x->parts < 2 || x->parts > COMBINE_RUNS || x->head >= x->parts);
    *out = (struct imported){ .format = "joined", .model = m };
    assembly_init(&c.to, m);
    for (int i = 0; i < x->parts && !rc; i++) rc = read_part(&c, i, e);
    if (!rc) rc = check_heads(&c, e);
    if (!rc) rc = join_all(&c, e);
    if (!rc) rc = build(&c, e);
    for (size_t i = 0; i < c.mades; i++) free(c.made[i]);
    free(c.made);
    free(c.change);
    assembly_release(&c.to);
    if (rc) import_release(out);
    return rc;
}
