#include "tests/support/parity.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"

#define TINY "tests/reference/bert-tiny"
#define TINY_EXPECTED TINY "/expected.safetensors"
#define MINILM "assets/models/all-MiniLM-L6-v2"
#define MINILM_EXPECTED "tests/reference/minilm/expected.safetensors"

static struct parity allowed;

/* ---- full tuning: every tensor a trained leaf ---- */

struct full {
    const struct model *model;
    real **grad;
    node *leaf; /* of this pass */
};

static node full_weight(void *self, struct tape *t, int tensor) {
    struct full *x = self;
    const struct tensor_info *info = &x->model->tensor[tensor];
    if (x->leaf[tensor] == NODE_NONE)
        x->leaf[tensor] =
            tape_trained(t, info->rows, info->cols, x->model->weight[tensor], x->grad[tensor]);
    return x->leaf[tensor];
}

static size_t size_of(const struct tensor_info *t) { return (size_t)t->rows * (size_t)t->cols; }

static void full_open(struct full *x, const struct model *m) {
    x->model = m;
    x->grad = xcalloc((size_t)m->tensors, sizeof *x->grad);
    x->leaf = xcalloc((size_t)m->tensors, sizeof *x->leaf);
    for (int i = 0; i < m->tensors; i++) x->grad[i] = xcalloc(size_of(&m->tensor[i]), sizeof(real));
}

static void full_close(struct full *x) {
    for (int i = 0; i < x->model->tensors; i++) free(x->grad[i]);
    free(x->grad);
    free(x->leaf);
}

/* ---- a pass ---- */

struct head {
    int classes;
    real *w, *b, *dw, *db; /* dw, db NULL: frozen */
};

/* The classifier's mean loss; its logits through *logits. */
static node classify(struct forward *f, const struct head *h, node *logits) {
    struct tape *t = f->tape;
    int d = f->model->arch.width;
    node x = forward_pool(f, forward_encode(f));
    node w =
        h->dw ? tape_trained(t, h->classes, d, h->w, h->dw) : tape_frozen(t, h->classes, d, h->w);
    node b =
        h->db ? tape_trained(t, 1, h->classes, h->b, h->db) : tape_frozen(t, 1, h->classes, h->b);
    *logits = op_linear(t, x, w, b);
    return op_cross_entropy(t, *logits, f->batch->label, f->batch->weight);
}

/* Compares every layer as it is made: all tokens, or each row's first. */
struct watch {
    const struct fixture *fixture;
    struct tape *tape;
    bool first_only;
    int seen;
};

static void compare_layer(void *self, int layer, node output) {
    struct watch *w = self;
    const struct batch *b = &w->fixture->batch;
    const real *v = tape_value(w->tape, output);
    size_t d = (size_t)tape_cols_of(w->tape, output);
    char name[32];
    snprintf(name, sizeof name, "%s.%d", w->first_only ? "cls" : "layer", layer);
    w->seen++;
    if (!w->first_only) {
        fixture_compare(w->fixture, name, v, (size_t)b->tokens * d, allowed.layer);
        return;
    }
    real *rows = xcalloc((size_t)b->rows * d, sizeof *rows);
    for (int i = 0; i < b->rows; i++)
        memcpy(rows + (size_t)i * d, v + (size_t)b->start[i] * d, d * sizeof *v);
    fixture_compare(w->fixture, name, rows, (size_t)b->rows * d, allowed.layer);
    free(rows);
}

static void compare_forward(struct fixture *x, const struct head *h, bool first_only) {
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    tape_reset(t, false, 1, 0);
    struct forward f;
    struct watch w = {x, t, first_only, 0};
    forward_init(&f, t, x->model, &x->batch, NULL);
    f.layer_done = compare_layer;
    f.layer_self = &w;
    node logits, loss = classify(&f, h, &logits);
    assert_int_equal(w.seen, x->model->arch.encoder_layers + 1);
    fixture_compare(x, "logits", tape_value(t, logits), (size_t)x->batch.rows * (size_t)h->classes,
                    allowed.logit);
    fixture_compare(x, "loss", tape_value(t, loss), 1, allowed.loss);
    tape_free(t);
    arena_free(arena);
}

/* A pass with hooks, its logits and loss compared (names after `prefix`), and backward. */
static void run_backward(struct fixture *x, const struct hooks *hooks, const struct head *h,
                         const char *prefix) {
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    tape_reset(t, true, 1, 0);
    struct forward f;
    forward_init(&f, t, x->model, &x->batch, hooks);
    f.dropout = f.attention_dropout = f.activation_dropout = 0;
    node logits, loss = classify(&f, h, &logits);
    char *of_logits = xprintf("%slogits", prefix), *of_loss = xprintf("%sloss", prefix);
    fixture_compare(x, of_logits, tape_value(t, logits), (size_t)x->batch.rows * (size_t)h->classes,
                    allowed.logit);
    fixture_compare(x, of_loss, tape_value(t, loss), 1, allowed.loss);
    tape_backward(t, 1, &loss, NULL);
    free(of_logits);
    free(of_loss);
    tape_free(t);
    arena_free(arena);
}

/* The same with every tensor trained. */
static void run_full(struct fixture *x, struct full *full, const struct head *h) {
    struct hooks hooks = {.self = full, .weight = full_weight};
    full_open(full, x->model);
    run_backward(x, &hooks, h, "");
}

/* The name of a gradient in the expected file. */
static char *gradient_name(const struct fixture *x, const char *tensor) {
    char *name = xprintf("grad.%s", tensor);
    if (st_find(x->expected, name)) return name;
    free(name);
    return xprintf("grad.bert.%s", tensor);
}

/* ---- the tiny model: everything whole ---- */

static void open_tiny(struct fixture *x, struct head *h) {
    fixture_open(x, TINY, TINY_EXPECTED);
    const struct model *m = x->model;
    assert_int_equal(m->head_rows, 3);
    size_t n = 3 * (size_t)m->arch.width;
    *h = (struct head){3, m->head_w, m->head_b, xcalloc(n, sizeof(real)), xcalloc(3, sizeof(real))};
}

static void close_tiny(struct fixture *x, struct head *h) {
    free(h->dw);
    free(h->db);
    fixture_close(x);
}

static void test_tiny_forward(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    open_tiny(&x, &h);
    struct head frozen = {3, h.w, h.b, NULL, NULL};
    compare_forward(&x, &frozen, false);
    close_tiny(&x, &h);
}

static void test_tiny_gradients(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    struct full full;
    open_tiny(&x, &h);
    run_full(&x, &full, &h);
    double largest = fixture_largest(&x, "grad.");
    for (int i = 0; i < x.model->tensors; i++) {
        char *name = gradient_name(&x, x.model->tensor[i].name);
        fixture_compare_gradient(&x, name, full.grad[i], size_of(&x.model->tensor[i]),
                                 allowed.gradient, largest);
        free(name);
    }
    fixture_compare_gradient(&x, "grad.classifier.weight", h.dw, 3 * (size_t)x.model->arch.width,
                             allowed.gradient, largest);
    fixture_compare_gradient(&x, "grad.classifier.bias", h.db, 3, allowed.gradient, largest);
    full_close(&full);
    close_tiny(&x, &h);
}

/* ---- LoRA written at the taps a.q and a.v ---- */

enum { LORA_RANK = 3, LORA_MAPS = 6 };

/* Map 2·layer + (0: query, 1: value). */
struct lora {
    int d;
    real *a[LORA_MAPS], *b[LORA_MAPS], *da[LORA_MAPS], *db[LORA_MAPS];
};

static char *lora_name(const char *before, int map, const char *after) {
    return xprintf("lora.%sencoder.layer.%d.attention.self.%s.%s", before, map / 2,
                   map % 2 ? "value" : "query", after);
}

static node lora_write(void *self, struct tape *t, const struct forward *f, struct site *s,
                       enum tap tap, enum tap_stage stage, node value) {
    struct lora *l = self;
    (void)f;
    if (stage != TAP_RAW || (tap != TAP_A_Q && tap != TAP_A_V)) return value;
    int map = 2 * s->layer + (tap == TAP_A_V);
    node a = tape_trained(t, LORA_RANK, l->d, l->a[map], l->da[map]);
    node b = tape_trained(t, l->d, LORA_RANK, l->b[map], l->db[map]);
    node down = op_linear(t, s->value[TAP_A_IN], a, NODE_NONE);
    return op_linear_add(t, value, down, b, NODE_NONE, 2, NODE_NONE);
}

static real *as_real(const struct fixture *x, char *name) {
    size_t n;
    double *v = fixture_values(x, name, &n);
    real *out = xcalloc(n, sizeof *out);
    for (size_t i = 0; i < n; i++) out[i] = (real)v[i];
    free(v);
    free(name);
    return out;
}

static void lora_open(struct lora *l, const struct fixture *x) {
    size_t n = (size_t)LORA_RANK * (size_t)x->model->arch.width;
    l->d = x->model->arch.width;
    for (int i = 0; i < LORA_MAPS; i++) {
        l->a[i] = as_real(x, lora_name("", i, "a"));
        l->b[i] = as_real(x, lora_name("", i, "b"));
        l->da[i] = xcalloc(n, sizeof(real));
        l->db[i] = xcalloc(n, sizeof(real));
    }
}

static void lora_close(struct lora *l) {
    for (int i = 0; i < LORA_MAPS; i++) {
        free(l->a[i]);
        free(l->b[i]);
        free(l->da[i]);
        free(l->db[i]);
    }
}

static void test_tiny_lora(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    struct lora l;
    open_tiny(&x, &h);
    lora_open(&l, &x);
    struct hooks hooks = {.self = &l, .write = lora_write};
    run_backward(&x, &hooks, &h, "lora.");
    double largest = fixture_largest(&x, "lora.grad.");
    size_t n = (size_t)LORA_RANK * (size_t)l.d;
    for (int i = 0; i < LORA_MAPS; i++) {
        char *a = lora_name("grad.", i, "a"), *b = lora_name("grad.", i, "b");
        fixture_compare_gradient(&x, a, l.da[i], n, allowed.gradient, largest);
        fixture_compare_gradient(&x, b, l.db[i], n, allowed.gradient, largest);
        free(a);
        free(b);
    }
    fixture_compare_gradient(&x, "lora.grad.classifier.weight", h.dw, 3 * (size_t)l.d,
                             allowed.gradient, largest);
    fixture_compare_gradient(&x, "lora.grad.classifier.bias", h.db, 3, allowed.gradient, largest);
    lora_close(&l);
    close_tiny(&x, &h);
}

/* ---- real weights: first tokens, and gradients at 16 places of each tensor ---- */

static bool open_minilm(struct fixture *x, struct head *h) {
    if (!fixture_present(MINILM)) return false;
    fixture_open(x, MINILM, MINILM_EXPECTED);
    size_t n, d = (size_t)x->model->arch.width;
    double *w = fixture_values(x, "head.w", &n), *b = fixture_values(x, "head.b", &n);
    *h = (struct head){2, xcalloc(2 * d, sizeof(real)), xcalloc(2, sizeof(real)),
                       xcalloc(2 * d, sizeof(real)), xcalloc(2, sizeof(real))};
    for (size_t i = 0; i < 2 * d; i++) h->w[i] = (real)w[i];
    for (size_t i = 0; i < 2; i++) h->b[i] = (real)b[i];
    free(w);
    free(b);
    return true;
}

static void close_minilm(struct fixture *x, struct head *h) {
    free(h->w);
    free(h->b);
    free(h->dw);
    free(h->db);
    fixture_close(x);
}

static void test_minilm_forward(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    if (!open_minilm(&x, &h)) skip();
    struct head frozen = {2, h.w, h.b, NULL, NULL};
    compare_forward(&x, &frozen, true);
    close_minilm(&x, &h);
}

/* The expected numbers of one tensor: its largest magnitude, then 16 values. */
static void compare_samples(const struct fixture *x, const char *name, const real *grad,
                            size_t size, double largest) {
    size_t n;
    double *right = fixture_values(x, name, &n), most = 0;
    assert_int_equal(n, 17);
    for (size_t i = 0; i < size; i++)
        most = grad[i] > most ? grad[i] : -grad[i] > most ? -grad[i] : most;
    double scale = right[0] > 1e-5 * largest ? right[0] : 1e-5 * largest;
    double room = allowed.gradient * (right[0] < 1e-12 * largest ? 1e-3 * largest : scale);
    if (most - right[0] > room || right[0] - most > room)
        fail_msg("%s: largest is %.9g, the reference %.9g", name, most, right[0]);
    for (size_t i = 0; i < 16; i++) {
        double d = (double)grad[(i * 7919 + 13) % size] - right[i + 1];
        if (!(d <= room && d >= -room))
            fail_msg("%s: sample %zu is apart by %.3g, allowed %.3g", name, i, d, room);
    }
    free(right);
}

static void test_minilm_gradients(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    struct full full;
    if (!open_minilm(&x, &h)) skip();
    run_full(&x, &full, &h);
    double largest = fixture_largest(&x, "grad.");
    for (int i = 0; i < x.model->tensors; i++) {
        char *name = gradient_name(&x, x.model->tensor[i].name);
        compare_samples(&x, name, full.grad[i], size_of(&x.model->tensor[i]), largest);
        free(name);
    }
    compare_samples(&x, "grad.classifier.weight", h.dw, 2 * (size_t)x.model->arch.width, largest);
    full_close(&full);
    close_minilm(&x, &h);
}

int parity_main(const struct parity *limits) {
    allowed = *limits;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_forward),
        cmocka_unit_test(test_tiny_gradients),
        cmocka_unit_test(test_tiny_lora),
        cmocka_unit_test(test_minilm_forward),
        cmocka_unit_test(test_minilm_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
