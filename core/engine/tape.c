#include "core/engine/tape.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/engine/profile.h"
#include "core/engine/record.h"

/* The memory of a gradient.  Referenced by every value whose gradient it is; returned to its free list when
 * no reference is left, so that it is reused while in the cache. */
struct grad {
    real *data;
    size_t size;
    int holders;
    struct grad *next; /* in the list of unused headers */
};

/* Free memory of dead values and gradients, listed by size; the link is in the memory itself. */
struct spare {
    struct spare *next;
};
struct spare_list {
    size_t size; /* elements */
    struct spare *first;
};

/* The rows of a gradient that were written. */
struct row_set {
    int count;
    int32_t *row;
    bool *has;
    bool all;
};

struct value {
    int rows, cols;
    int op;   /* enum op_id of the op, or -1 for a leaf */
    int site;
    const real *data;
    const struct packed *packed; /* of a leaf, or NULL */
    const struct lender *lender; /* of a leaf that is not in memory, or NULL */
    bool needs, watched;
    bool read_back; /* a backward reads the value, or an op that runs again */
    bool inner;     /* computed within a segment, whose end releases the memory (data NULL) */
    bool written;    /* trained leaf: leaf_grad contains a gradient */
    real *leaf_grad; /* trained leaf: memory of the caller */
    struct row_set *set; /* of tape_trained_rows; NULL: all rows are written */
    struct grad *grad;
    struct grad *shown; /* watched: the complete gradient, until the end of the step */
};

struct site_name {
    char name[64];
};

/* Ops that run again before their backward pass.  Their values, and what they store for backward, are in the
 * arena's second one, which contains one segment at a time. */
struct tape_segment {
    size_t first_value, values;   /* its values, up to `values` */
    size_t first_record, records; /* its records, up to `records` */
};

struct tape {
    struct arena *arena;
    bool training, few_rows, thin, done;
    uint64_t seed, step;
    size_t grown;
    struct value *value; /* [0] is unused: NODE_NONE */
    size_t values, value_room;
    struct record *record;
    size_t records, record_room;
    node *leaf; /* the trained leaves */
    size_t leaves, leaf_room;
    struct spare_list *spares;
    size_t spare_lists, spare_room;
    struct grad *headers; /* unused ones */
    size_t settled;       /* values below this were handled by tape_recycle */
    struct site_name *site; /* [0] is unnamed */
    size_t sites, site_room;
    struct tape_segment *segment;
    size_t segments, segment_room;
    size_t present;       /* the number of the segment in the second arena, from 1; 0: none */
    bool recompute, open; /* open: the last segment has not ended */
    bool within;          /* an op of a segment runs forward */
};

#define TAPE_GROW(t, array, room, need)                                                            \
    do {                                                                                           \
        if ((size_t)(need) > (room)) (t)->grown++;                                                 \
        GROW(array, room, need);                                                                   \
    } while (0)

struct tape *tape_new(struct arena *arena) {
    struct tape *t = xcalloc(1, sizeof *t);
    t->arena = arena;
    tape_reset(t, false, 0, 0);
    return t;
}

void tape_free(struct tape *t) {
    if (!t) return;
    free(t->value);
    free(t->record);
    free(t->leaf);
    free(t->spares);
    free(t->site);
    free(t->segment);
    free(t);
}

void tape_reset(struct tape *t, bool training, uint64_t seed, uint64_t step) {
    arena_reset(t->arena);
    t->training = training;
    t->done = t->few_rows = t->thin = t->recompute = t->open = t->within = false;
    t->seed = seed;
    t->step = step;
    t->records = t->leaves = t->spare_lists = t->settled = t->segments = t->present = 0;
    t->headers = NULL;
    TAPE_GROW(t, t->value, t->value_room, 1);
    t->value[0] = (struct value){ 0 };
    t->values = 1;
    TAPE_GROW(t, t->site, t->site_room, 1);
    t->site[0].name[0] = '\0';
    t->sites = 1;
}

bool tape_training(const struct tape *t) { return t->training; }

void tape_few_rows(struct tape *t) {
    BUG_IF(t->training);
    t->few_rows = true;
}

bool tape_has_few_rows(const struct tape *t) { return t->few_rows; }
void tape_thin(struct tape *t) { t->thin = true; }
bool tape_has_thin(const struct tape *t) { return t->thin; }
size_t tape_grown(const struct tape *t) { return t->grown; }

void tape_site(struct tape *t, const char *format, ...) {
    TAPE_GROW(t, t->site, t->site_room, t->sites + 1);
    va_list ap;
    va_start(ap, format);
    vsnprintf(t->site[t->sites].name, sizeof t->site[0].name, format, ap);
    va_end(ap);
    t->sites++;
}

/* ---- memory of values and gradients ---- */

static struct spare_list *spares_of(struct tape *t, size_t size) {
    for (size_t i = 0; i < t->spare_lists; i++)
        if (t->spares[i].size == size) return &t->spares[i];
    TAPE_GROW(t, t->spares, t->spare_room, t->spare_lists + 1);
    t->spares[t->spare_lists] = (struct spare_list){ size, NULL };
    return &t->spares[t->spare_lists++];
}

static real *take_memory(struct tape *t, size_t size) {
    struct spare_list *s = spares_of(t, size);
    struct spare *spare = s->first;
    if (!spare) return arena_keep(t->arena, size * sizeof(real));
    s->first = spare->next;
    return (real *)spare;
}

/* The arena's pieces have at least 64 bytes, enough for the link. */
static void give_memory(struct tape *t, size_t size, const real *memory) {
    struct spare_list *s = spares_of(t, size);
    struct spare *spare = (struct spare *)memory;
    spare->next = s->first;
    s->first = spare;
}

/* ---- values ---- */

static struct value *tape_value_of(const struct tape *t, node n) {
    if (n <= 0 || (size_t)n >= t->values) BUG("value %d does not exist on this tape", (int)n);
    return &t->value[n];
}

static size_t tape_size_of(const struct value *v) { return (size_t)v->rows * (size_t)v->cols; }

static node tape_add_value(struct tape *t, struct value v) {
    BUG_IF(v.rows < 0 || v.cols < 0);
    BUG_IF(t->done);
    TAPE_GROW(t, t->value, t->value_room, t->values + 1);
    v.site = (int)t->sites - 1;
    t->value[t->values] = v;
    return (node)t->values++;
}

node tape_frozen(struct tape *t, int rows, int cols, const real *value) {
    return tape_add_value(t, (struct value){ .rows = rows, .cols = cols, .op = -1, .data = value });
}

node tape_frozen_packed(struct tape *t, int rows, int cols, const real *value, const struct packed *packed) {
    node n = tape_frozen(t, rows, cols, value);
    tape_pack(t, n, packed);
    return n;
}

void tape_pack(struct tape *t, node leaf, const struct packed *packed) {
    BUG_IF(tape_value_of(t, leaf)->op >= 0);
    t->value[leaf].packed = packed;
}

node tape_lent(struct tape *t, int rows, int cols, const struct lender *lender) {
    node n = tape_frozen(t, rows, cols, NULL);
    t->value[n].lender = lender;
    return n;
}

struct lent record_take(const struct tape *t, node n) {
    const struct value *v = tape_value_of(t, n);
    return v->lender ? v->lender->take(v->lender) : (struct lent){ v->data, v->packed };
}

void record_give(const struct tape *t, node n) {
    const struct value *v = tape_value_of(t, n);
    if (v->lender) v->lender->give(v->lender);
}

const struct packed *tape_packed(const struct tape *t, node n) { return tape_value_of(t, n)->packed; }

node tape_trained(struct tape *t, int rows, int cols, const real *value, real *grad) {
    if (!t->training) return tape_frozen(t, rows, cols, value);
    for (size_t i = 0; i < t->leaves; i++) {
        const struct value *v = &t->value[t->leaf[i]];
        if (v->leaf_grad != grad || v->data != value) continue;
        BUG_IF(v->rows != rows || v->cols != cols);
        return t->leaf[i];
    }
    node n = tape_add_value(t, (struct value){ .rows = rows, .cols = cols, .op = -1, .data = value,
                                          .needs = true, .leaf_grad = grad });
    TAPE_GROW(t, t->leaf, t->leaf_room, t->leaves + 1);
    t->leaf[t->leaves++] = n;
    return n;
}

node tape_trained_rows(struct tape *t, int rows, int cols, const real *value, real *grad) {
    node n = tape_trained(t, rows, cols, value, grad);
    struct value *v = &t->value[n];
    if (!v->needs || v->set) return n;
    size_t count = (size_t)rows;
    v->set = arena_keep(t->arena, sizeof *v->set);
    *v->set = (struct row_set){ .row = arena_keep(t->arena, count * sizeof *v->set->row),
                                .has = arena_keep(t->arena, count * sizeof *v->set->has) };
    memset(v->set->has, 0, count * sizeof *v->set->has);
    return n;
}

int tape_rows_written(const struct tape *t, const real *grad, const int32_t **row) {
    for (size_t i = 0; i < t->leaves; i++) {
        const struct value *v = &t->value[t->leaf[i]];
        if (v->leaf_grad != grad) continue;
        if (!v->set || v->set->all) return -1;
        *row = v->set->row;
        return v->set->count;
    }
    return 0;
}

void tape_move_grads(struct tape *t, const real *from, size_t n, real *to) {
    BUG_IF(t->done);
    for (size_t i = 0; i < t->leaves; i++) {
        struct value *v = &t->value[t->leaf[i]];
        BUG_IF(v->leaf_grad < from || v->leaf_grad + tape_size_of(v) > from + n);
        v->leaf_grad = to + (v->leaf_grad - from);
    }
}

int tape_rows_of(const struct tape *t, node n) { return tape_value_of(t, n)->rows; }
int tape_cols_of(const struct tape *t, node n) { return tape_value_of(t, n)->cols; }

const real *tape_value(const struct tape *t, node n) {
    const struct value *v = tape_value_of(t, n);
    if (!v->data) BUG("value %d was recycled", (int)n);
    return v->data;
}

bool tape_needs_grad(const struct tape *t, node n) { return n != NODE_NONE && tape_value_of(t, n)->needs; }

void tape_watch(struct tape *t, node n) { tape_value_of(t, n)->watched = true; }

const real *tape_grad(const struct tape *t, node n) {
    const struct value *v = tape_value_of(t, n);
    if (v->leaf_grad) return t->done ? v->leaf_grad : NULL;
    return t->done && v->shown ? v->shown->data : NULL;
}

struct tape_mark tape_mark(const struct tape *t) {
    return (struct tape_mark){ (int)t->values, arena_mark(t->arena) };
}

/* Frees the memory of the values from `from` on that no backward reads. */
static void tape_settle(struct tape *t, size_t from, node keep) {
    for (size_t i = from > t->settled ? from : t->settled; i < t->values; i++) {
        struct value *v = &t->value[i];
        if (v->op < 0 || v->watched || v->read_back || v->inner || (node)i == keep || !v->data) continue;
        give_memory(t, tape_size_of(v), v->data);
        v->data = NULL;
    }
    /* The value to keep is handled again when it is of an older layer. */
    t->settled = (size_t)keep >= from ? (size_t)keep : t->values;
}

void tape_recycle(struct tape *t, struct tape_mark m, node *keep) {
    size_t from = (size_t)m.value;
    for (size_t i = from; i < t->values; i++)
        if (t->value[i].needs || t->value[i].watched) {
            tape_settle(t, from, *keep);
            return;
        }
    struct value kept = *tape_value_of(t, *keep);
    bool move = (size_t)*keep >= from;
    t->values = from;
    if (t->settled > from) t->settled = from;
    t->spare_lists = 0; /* their memory may be above the mark */
    arena_keep_release(t->arena, m.memory);
    if (!move) return;
    if (kept.op >= 0) {
        /* The released memory is still valid; source and destination may overlap. */
        real *to = arena_keep(t->arena, tape_size_of(&kept) * sizeof(real));
        memmove(to, kept.data, tape_size_of(&kept) * sizeof(real));
        kept.data = to;
    }
    int site = kept.site;
    *keep = tape_add_value(t, kept);
    t->value[*keep].site = site;
}

/* ---- records ---- */

struct arena *record_arena(struct tape *t) { return t->within ? arena_second(t->arena) : t->arena; }
void *tape_keep(struct tape *t, size_t bytes) { return arena_keep(t->arena, bytes); }

struct rng_key record_rng(const struct tape *t, uint64_t site) {
    return rng_key(t->seed, RNG_DROPOUT, t->step, site);
}

bool record_needs(const struct tape *t, const struct record *r) { return t->value[r->out].needs; }

void record_reads(struct tape *t, const struct record *r, node n, bool when) {
    if (when && n != NODE_NONE && record_needs(t, r)) t->value[n].read_back = true;
}

real *record_result(struct tape *t, const struct record *r) { return (real *)t->value[r->out].data; }

static void run_forward(struct tape *t, struct record *r, bool within) {
    t->within = within;
    const struct arena *a = record_arena(t);
    struct arena_mark before = arena_mark(a);
    double begin = profile_begin();
    op_table[r->op].forward(t, r);
    profile_op(r->op, false, begin);
    struct arena_mark after = arena_mark(a);
    r->stores = after.keep_block != before.keep_block || after.low != before.low;
    t->within = false;
}

/* Returns whether a result needs a gradient; operands from before an open segment live until its ops run
 * again. */
static bool take_operands(struct tape *t, int operands, const node *in) {
    const size_t open = t->open ? t->segment[t->segments - 1].first_value : t->values;
    bool needs = false;
    for (int i = 0; i < operands; i++) {
        if (in[i] == NODE_NONE) continue;
        struct value *v = tape_value_of(t, in[i]);
        BUG_IF(v->inner && (size_t)in[i] < open);
        if (t->open && (size_t)in[i] < open) v->read_back = true;
        needs = needs || v->needs;
    }
    return needs;
}

node record_run(struct tape *t, enum op_id op, int rows, int cols, int operands, const node *in,
                const void *params, size_t size) {
    const bool inner = t->open;
    struct value v = { .rows = rows, .cols = cols, .op = (int)op, .inner = inner };
    v.needs = take_operands(t, operands, in);
    v.data = inner ? arena_keep(arena_second(t->arena), tape_size_of(&v) * sizeof(real))
                   : take_memory(t, tape_size_of(&v));
    struct record r = { .op = op, .site = (int)t->sites - 1, .operands = operands, .in = in };
    if (v.needs || inner) {
        node *copy = arena_keep(t->arena, (size_t)operands * sizeof *copy);
        memcpy(copy, in, (size_t)operands * sizeof *copy);
        r.in = copy;
    }
    if (size) {
        r.saved = arena_keep(t->arena, size);
        memcpy(r.saved, params, size);
    }
    r.out = tape_add_value(t, v);
    run_forward(t, &r, inner);
    if (v.needs || inner) {
        TAPE_GROW(t, t->record, t->record_room, t->records + 1);
        t->record[t->records++] = r;
    }
    return r.out;
}

/* ---- segments ---- */

void tape_recompute(struct tape *t) { t->recompute = t->training; }

/* Releases the second arena. */
static void leave_segment(struct tape *t) {
    const struct tape_segment *s = t->present ? &t->segment[t->present - 1] : NULL;
    for (size_t i = s ? s->first_value : 0; s && i < s->values; i++)
        if (t->value[i].inner) t->value[i].data = NULL;
    arena_reset(arena_second(t->arena));
    t->present = 0;
}

void tape_segment_begin(struct tape *t) {
    if (!t->recompute) return;
    BUG_IF(t->open || t->done);
    leave_segment(t);
    TAPE_GROW(t, t->segment, t->segment_room, t->segments + 1);
    t->segment[t->segments++] = (struct tape_segment){ .first_value = t->values, .first_record = t->records };
    t->open = true;
}

/* Selects the ops to run again: those that store something for backward, and those whose value a backward
 * or a selected op reads. */
static void select_again(struct tape *t, const struct tape_segment *s) {
    for (size_t i = s->records; i-- > s->first_record;) {
        struct record *r = &t->record[i];
        const struct value *v = &t->value[r->out];
        r->again = r->stores || (v->inner && v->read_back);
        for (int k = 0; r->again && k < r->operands; k++)
            if (r->in[k] != NODE_NONE) t->value[r->in[k]].read_back = true;
    }
}

void tape_segment_end(struct tape *t, node output) {
    if (!t->open) return;
    struct tape_segment *s = &t->segment[t->segments - 1];
    struct value *kept = tape_value_of(t, output);
    size_t first = s->first_record, needing = first;
    s->values = t->values;
    s->records = t->records;
    t->open = false;
    t->present = t->segments;
    if (kept->inner) {
        const real *from = kept->data;
        kept->data = memcpy(take_memory(t, tape_size_of(kept)), from, tape_size_of(kept) * sizeof(real));
        kept->inner = false;
    }
    while (needing < s->records && !t->value[t->record[needing].out].needs) needing++;
    if (needing < s->records) {
        select_again(t, s);
        return;
    }
    leave_segment(t);
    t->records = first;
    t->segments--;
}

/* Computes the values of a segment that backward reads, or all. */
static void enter_segment(struct tape *t, size_t index, bool all) {
    if (t->present == index + 1) return;
    leave_segment(t);
    t->present = index + 1;
    for (size_t i = t->segment[index].first_record; i < t->segment[index].records; i++) {
        struct record *r = &t->record[i];
        struct value *v = &t->value[r->out];
        if (!all && !r->again) continue;
        if (v->inner) v->data = arena_keep(arena_second(t->arena), tape_size_of(v) * sizeof(real));
        run_forward(t, r, true);
    }
}

/* ---- gradients ---- */

static struct grad *take_grad(struct tape *t, size_t size) {
    struct grad *g = t->headers;
    if (g) t->headers = g->next;
    else g = arena_keep(t->arena, sizeof *g);
    *g = (struct grad){ take_memory(t, size), size, 1, NULL };
    return g;
}

static void drop_grad(struct tape *t, struct value *v) {
    struct grad *g = v->grad;
    v->grad = NULL;
    if (!g || --g->holders) return;
    give_memory(t, g->size, g->data);
    g->next = t->headers;
    t->headers = g;
}

/* Returns v's gradient buffer, unshared, with its content. */
static real *tape_own(struct tape *t, struct value *v) {
    if (v->grad->holders > 1) {
        struct grad *mine = take_grad(t, v->grad->size);
        memcpy(mine->data, v->grad->data, mine->size * sizeof(real));
        v->grad->holders--;
        v->grad = mine;
    }
    return v->grad->data;
}

const real *grad_out(const struct tape *t, const struct record *r) {
    return t->value[r->out].grad->data;
}

real *grad_own(struct tape *t, const struct record *r) { return tape_own(t, &t->value[r->out]); }

/* Clears the rows of the gradient that were not written. */
static void complete_rows(struct value *v) {
    size_t size = (size_t)v->cols * sizeof(real);
    for (int i = 0; i < v->rows; i++)
        if (!v->set->has[i]) memset(v->leaf_grad + (size_t)i * (size_t)v->cols, 0, size);
}

real *grad_slot(struct tape *t, node n, real *beta) {
    if (n == NODE_NONE) return NULL;
    struct value *v = tape_value_of(t, n);
    if (!v->needs) return NULL;
    if (v->leaf_grad) {
        *beta = v->written ? 1 : 0;
        if (v->set && !v->set->all && v->written) complete_rows(v);
        if (v->set) v->set->all = true;
        v->written = true;
        return v->leaf_grad;
    }
    if (v->grad) {
        *beta = 1;
        return tape_own(t, v);
    }
    v->grad = take_grad(t, tape_size_of(v));
    *beta = 0;
    return v->grad->data;
}

real *grad_rows(struct tape *t, node n, int count, const int32_t *row) {
    real beta = 1, *grad;
    if (n == NODE_NONE) return NULL;
    struct value *v = tape_value_of(t, n);
    size_t size = (size_t)v->cols * sizeof(real);
    if (!v->set || v->set->all) {
        grad = grad_slot(t, n, &beta);
        if (grad && beta == 0) memset(grad, 0, (size_t)v->rows * size);
        return grad;
    }
    for (int i = 0; i < count; i++) {
        if (v->set->has[row[i]]) continue;
        v->set->has[row[i]] = true;
        v->set->row[v->set->count++] = row[i];
        memset(v->leaf_grad + (size_t)row[i] * (size_t)v->cols, 0, size);
    }
    v->written = true;
    return v->leaf_grad;
}

static void contribute(struct tape *t, node n, const real *g) {
    real beta, *to = grad_slot(t, n, &beta);
    if (!to) return;
    size_t size = tape_size_of(tape_value_of(t, n));
    if (beta == 0) memcpy(to, g, size * sizeof(real));
    else kernel_add_to(size, 1, g, to);
}

void grad_pass(struct tape *t, const struct record *r, node n) {
    if (n == NODE_NONE) return;
    struct value *v = tape_value_of(t, n), *out = &t->value[r->out];
    if (!v->needs) return;
    BUG_IF(tape_size_of(v) != out->grad->size);
    if (!v->leaf_grad && !v->grad) {
        v->grad = out->grad;
        v->grad->holders++;
    } else {
        contribute(t, n, out->grad->data);
    }
}

void tape_backward(struct tape *t, int n, const node *values, const real *const *seeds) {
    BUG_IF(!t->training || t->done);
    for (int i = 0; i < n; i++) {
        const real *seed = seeds ? seeds[i] : NULL;
        if (!tape_needs_grad(t, values[i])) continue;
        if (seed) {
            contribute(t, values[i], seed);
            continue;
        }
        real beta, *to = grad_slot(t, values[i], &beta);
        size_t size = tape_size_of(tape_value_of(t, values[i]));
        for (size_t j = 0; j < size; j++) to[j] = beta * (beta == 0 ? 0 : to[j]) + 1;
    }
    size_t segments = t->segments;
    for (size_t i = t->records; i-- > 0;) {
        const struct record *r = &t->record[i];
        if (!t->value[r->out].grad) continue;
        while (segments && t->segment[segments - 1].first_record > i) segments--;
        if (segments && i < t->segment[segments - 1].records) enter_segment(t, segments - 1, false);
        struct value *out = &t->value[r->out];
        if (out->watched) {
            out->shown = out->grad;
            out->grad->holders++;
        }
        double begin = profile_begin();
        op_table[r->op].backward(t, r);
        profile_op(r->op, true, begin);
        drop_grad(t, out);
    }
    for (size_t i = 0; i < t->leaves; i++) {
        struct value *v = &t->value[t->leaf[i]];
        if (!v->written && !v->set) memset(v->leaf_grad, 0, tape_size_of(v) * sizeof(real));
    }
    t->done = true;
}

const char *tape_first_bad(struct tape *t, char site[64]) {
    size_t segment = 0;
    for (size_t i = 1; i < t->values; i++) {
        while (segment < t->segments && i >= t->segment[segment].values) segment++;
        if (segment < t->segments && i >= t->segment[segment].first_value) enter_segment(t, segment, true);
        const struct value *v = &t->value[i];
        size_t size = v->data ? tape_size_of(v) : 0, j = 0;
        while (j < size && isfinite(v->data[j])) j++;
        if (j == size) continue;
        memcpy(site, t->site[v->site].name, 64);
        return v->op < 0 ? "leaf" : op_table[v->op].name;
    }
    return NULL;
}
