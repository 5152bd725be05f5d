#include "tests/support/parity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/optim.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/tuned.h"

#define MINILM "assets/models/all-MiniLM-L6-v2"
#define MINILM_EXPECTED "tests/reference/minilm/expected.safetensors"

static struct parity allowed;

/* ---- the tiny models: everything whole ---- */

struct tiny {
    const char *folder;
    struct fixture fixture;
    struct head head;
    struct arena *arena;
    struct tape *tape;
    struct forward forward;
};

static void open_tiny(struct tiny *x, const char *folder) {
    char *expected = xprintf("%s/expected.safetensors", folder);
    *x = (struct tiny){.folder = folder};
    fixture_open(&x->fixture, folder, expected);
    head_open(&x->head, x->fixture.model);
    x->arena = arena_new();
    x->tape = tape_new(x->arena);
    free(expected);
}

static void close_tiny(struct tiny *x) {
    tape_free(x->tape);
    arena_free(x->arena);
    head_close(&x->head);
    fixture_close(&x->fixture);
}

/* A forward pass without dropout; with `hooks` or without. */
static struct passed run(struct tiny *x, bool training, const struct hooks *hooks,
                         double smoothing) {
    struct forward *f = &x->forward;
    tape_reset(x->tape, training, 1, 0);
    forward_init(f, x->tape, x->fixture.model, &x->fixture.batch, hooks);
    f->dropout = f->attention_dropout = f->activation_dropout = 0;
    return pass(f, &x->head, smoothing);
}

static void compare_node(const struct tiny *x, const char *name, node n, double most) {
    size_t size = (size_t)tape_rows_of(x->tape, n) * (size_t)tape_cols_of(x->tape, n);
    fixture_compare(&x->fixture, name, tape_value(x->tape, n), size, most);
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
        size_t tokens = (size_t)tape_rows_of(w->tape, output);
        fixture_compare(w->fixture, name, v, tokens * d, allowed.layer);
        return;
    }
    real *rows = xcalloc((size_t)b->examples * d, sizeof *rows);
    for (int i = 0; i < b->examples; i++)
        memcpy(rows + (size_t)i * d, v + (size_t)b->start[i] * d, d * sizeof *v);
    fixture_compare(w->fixture, name, rows, (size_t)b->examples * d, allowed.layer);
    free(rows);
}

/* Layers, logits and loss of the model as it is. */
static void compare_forward(struct fixture *fixture, struct head *h, bool first_only) {
    const struct model *m = fixture->model;
    struct tiny x = {.fixture = *fixture, .arena = arena_new()};
    x.tape = tape_new(x.arena);
    tape_reset(x.tape, false, 1, 0);
    struct watch w = {fixture, x.tape, first_only, 0};
    forward_init(&x.forward, x.tape, m, &fixture->batch, NULL);
    x.forward.layer_done = compare_layer;
    x.forward.layer_self = &w;
    struct passed p = pass(&x.forward, h, 0);
    int stacks = arch_generates(&m->arch) ? 2 : 1;
    assert_int_equal(w.seen, m->arch.encoder_layers + m->arch.decoder_layers + stacks);
    compare_node(&x, "logits", p.logits, allowed.logit);
    compare_node(&x, "loss", p.loss, allowed.loss);
    if (st_find(fixture->expected, "encoded")) compare_node(&x, "encoded", p.encoded, allowed.layer);
    if (p.decoded != NODE_NONE) compare_node(&x, "decoded", p.decoded, allowed.layer);
    tape_free(x.tape);
    arena_free(x.arena);
}

static void check_forward(const char *folder) {
    struct tiny x;
    open_tiny(&x, folder);
    head_freeze(&x.head);
    compare_forward(&x.fixture, &x.head, false);
    close_tiny(&x);
}

static void compare_tensors(const struct tiny *x, const struct full *full) {
    const struct fixture *f = &x->fixture;
    double largest = fixture_largest(f, "grad.");
    for (int i = 0; i < f->model->tensors; i++) {
        const struct tensor_info *t = &f->model->tensor[i];
        char *name = fixture_name(f, "grad.", t->name, "");
        fixture_compare_gradient(f, name, full->grad[i], tensor_size(t), allowed.gradient, largest);
        free(name);
    }
    for (int i = 0; i < x->head.parts; i++) {
        const struct head_part *p = &x->head.part[i];
        char *name = fixture_name(f, "grad.", p->name, "");
        size_t size = (size_t)p->rows * (size_t)p->cols;
        fixture_compare_gradient(f, name, p->grad, size, allowed.gradient, largest);
        free(name);
    }
}

static void check_gradients(const char *folder) {
    struct tiny x;
    struct full full;
    open_tiny(&x, folder);
    full_open(&full, x.fixture.model);
    struct passed p = run(&x, true, &full.hooks, 0);
    compare_node(&x, "logits", p.logits, allowed.logit);
    compare_node(&x, "loss", p.loss, allowed.loss);
    tape_backward(x.tape, 1, &p.loss, NULL);
    compare_tensors(&x, &full);
    full_close(&full);
    close_tiny(&x);
}

/* ---- the loss over the vocabulary with smoothing ---- */

static void check_smoothing(const char *folder) {
    struct tiny x;
    struct full full;
    open_tiny(&x, folder);
    full_open(&full, x.fixture.model);
    struct batch *b = &x.fixture.batch;
    for (int i = 0; i < b->target_tokens; i++) b->target_weight[i] = 1;
    struct passed p = run(&x, true, &full.hooks, 0.1);
    compare_node(&x, "smooth.sum", p.loss, 50 * allowed.loss);
    tape_watch(x.tape, p.decoded);
    tape_backward(x.tape, 1, &p.loss, NULL);
    size_t size = (size_t)b->target_tokens * (size_t)x.fixture.model->arch.width;
    double largest = fixture_largest(&x.fixture, "smooth.decoded.grad");
    fixture_compare_gradient(&x.fixture, "smooth.decoded.grad", tape_grad(x.tape, p.decoded), size,
                             allowed.gradient, largest);
    full_close(&full);
    close_tiny(&x);
}

/* ---- ten steps of AdamW on all tensors ---- */

struct block {
    real *value, *grad, *m, *v;
    size_t size;
    bool matrix;
};

static int list_blocks(struct tiny *x, struct full *full, struct block *out) {
    const struct model *model = x->fixture.model;
    int n = 0;
    for (int i = 0; i < model->tensors; i++)
        out[n++] = (struct block){model->weight[i], full->grad[i], NULL, NULL,
                                  tensor_size(&model->tensor[i]), !model->tensor[i].vector};
    for (int i = 0; i < x->head.parts; i++) {
        const struct head_part *p = &x->head.part[i];
        out[n++] = (struct block){p->value, p->grad, NULL, NULL,
                                  (size_t)p->rows * (size_t)p->cols, p->rows > 1};
    }
    for (int i = 0; i < n; i++) {
        out[i].m = xcalloc(out[i].size, sizeof(real));
        out[i].v = xcalloc(out[i].size, sizeof(real));
    }
    return n;
}

static void step(struct block *b, int n, int number) {
    const struct adamw how = ADAMW_DEFAULT;
    for (int i = 0; i < n; i++) {
        struct optim_group all = {0, b[i].size, 1, b[i].matrix};
        optim_adamw(&how, 1e-3, (uint64_t)number, 1, &all, b[i].value, b[i].grad, b[i].m, b[i].v);
    }
}

/* The expected numbers of one tensor: its largest magnitude, then 16 values. */
static void compare_after(const struct tiny *x, int tensor) {
    const struct tensor_info *t = &x->fixture.model->tensor[tensor];
    const real *got = x->fixture.model->weight[tensor];
    char *name = fixture_name(&x->fixture, "after.", t->name, "");
    size_t n, size = tensor_size(t);
    double *right = fixture_values(&x->fixture, name, &n);
    assert_int_equal(n, 17);
    for (size_t i = 0; i < 16; i++) {
        double d = (double)got[(i * 7919 + 13) % size] - right[i + 1];
        if (!(fabs(d) <= allowed.step)) fail_msg("%s: sample %zu is apart by %.3g", name, i, d);
    }
    free(right);
    free(name);
}

static void check_steps(const char *folder) {
    struct tiny x;
    struct full full;
    open_tiny(&x, folder);
    full_open(&full, x.fixture.model);
    const struct model *m = x.fixture.model;
    struct block *block = xcalloc((size_t)m->tensors + 4, sizeof *block);
    int blocks = list_blocks(&x, &full, block);
    size_t n;
    double *right = fixture_values(&x.fixture, "adamw", &n);
    assert_int_equal(n, 10);
    for (int i = 0; i < 10; i++) {
        memset(full.leaf, 0, (size_t)m->tensors * sizeof *full.leaf);
        struct passed p = run(&x, true, &full.hooks, 0);
        double loss = (double)*tape_value(x.tape, p.loss);
        if (!(fabs(loss - right[i]) <= 10 * allowed.loss))
            fail_msg("%s, step %d: loss %.9g, the reference %.9g", folder, i + 1, loss, right[i]);
        tape_backward(x.tape, 1, &p.loss, NULL);
        step(block, blocks, i + 1);
    }
    /* The gradient of a key's bias is rounding alone, and AdamW makes steps of it. */
    for (int i = 0; i < m->tensors; i++)
        if (m->tensor[i].role != ROLE_K_B && st_find(x.fixture.expected, "encoded"))
            compare_after(&x, i);
    for (int i = 0; i < blocks; i++) {
        free(block[i].m);
        free(block[i].v);
    }
    free(right);
    free(block);
    full_close(&full);
    close_tiny(&x);
}

/* ---- LoRA at every attention ---- */

static char *lora_name(const struct fixture *f, const char *before, int tensor, const char *after) {
    const char *name = f->model->tensor[tensor].name;
    char *map = xstrndup(name, strlen(name) - strlen(".weight"));
    char *out = fixture_name(f, before, map, after);
    free(map);
    return out;
}

/* Copies the factor of that name, which this frees; its number of values. */
static size_t read_factor(const struct fixture *f, char *name, real *to, size_t room) {
    size_t n;
    double *v = fixture_values(f, name, &n);
    for (size_t i = 0; i < n && i < room; i++) to[i] = (real)v[i];
    free(v);
    free(name);
    return n;
}

static void read_factors(struct lora *l, const struct fixture *f) {
    for (int i = 0; i < f->model->tensors; i++) {
        const struct tensor_info *t = &f->model->tensor[i];
        if (t->role != ROLE_Q_W && t->role != ROLE_V_W) continue;
        size_t n = read_factor(f, lora_name(f, "lora.", i, ".a"), NULL, 0);
        lora_put(l, i, (int)n / t->cols);
        read_factor(f, lora_name(f, "lora.", i, ".a"), l->a[i], n);
        read_factor(f, lora_name(f, "lora.", i, ".b"), l->b[i], n / (size_t)t->cols * (size_t)t->rows);
    }
}

static void check_lora(const char *folder) {
    struct tiny x;
    struct lora l;
    open_tiny(&x, folder);
    const struct fixture *f = &x.fixture;
    lora_open(&l, f->model);
    read_factors(&l, f);
    struct passed p = run(&x, true, &l.hooks, 0);
    compare_node(&x, "lora.logits", p.logits, allowed.logit);
    compare_node(&x, "lora.loss", p.loss, allowed.loss);
    tape_backward(x.tape, 1, &p.loss, NULL);
    double largest = fixture_largest(f, "lora.grad.");
    for (int i = 0; i < f->model->tensors; i++) {
        const struct tensor_info *t = &f->model->tensor[i];
        if (!l.rank[i]) continue;
        char *a = lora_name(f, "lora.grad.", i, ".a"), *b = lora_name(f, "lora.grad.", i, ".b");
        size_t rank = (size_t)l.rank[i];
        fixture_compare_gradient(f, a, l.da[i], rank * (size_t)t->cols, allowed.gradient, largest);
        fixture_compare_gradient(f, b, l.db[i], rank * (size_t)t->rows, allowed.gradient, largest);
        free(a);
        free(b);
    }
    lora_close(&l);
    close_tiny(&x);
}

/* ---- all tiny models ---- */

#define EACH(test, check, first)                                                                   \
    static void test(void **state) {                                                               \
        (void)state;                                                                               \
        for (int i = first; fixture_tiny(i); i++) check(fixture_tiny(i));                          \
    }
EACH(test_tiny_forward, check_forward, 0)
EACH(test_tiny_gradients, check_gradients, 0)
EACH(test_tiny_lora, check_lora, 0)
EACH(test_tiny_steps, check_steps, 0)
EACH(test_smoothing, check_smoothing, TINY_DECODERS)

/* ---- real weights: first tokens, and gradients at 16 places of each tensor ---- */

static void open_minilm(struct fixture *x, struct head *h) {
    test_needs(MINILM);
    fixture_open(x, MINILM, MINILM_EXPECTED);
    struct model *m = x->model; /* takes the file's head for its own */
    size_t n, d = (size_t)m->arch.width;
    double *w = fixture_values(x, "head.w", &n), *b = fixture_values(x, "head.b", &n);
    m->head_w = xcalloc(2 * d, sizeof(real));
    m->head_b = xcalloc(2, sizeof(real));
    m->head_rows = 2;
    for (size_t i = 0; i < 2 * d; i++) m->head_w[i] = (real)w[i];
    for (size_t i = 0; i < 2; i++) m->head_b[i] = (real)b[i];
    head_open(h, m);
    free(w);
    free(b);
}

static void close_minilm(struct fixture *x, struct head *h) {
    head_close(h);
    fixture_close(x);
}

static void test_minilm_forward(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    open_minilm(&x, &h);
    head_freeze(&h);
    compare_forward(&x, &h, true);
    close_minilm(&x, &h);
}

static void test_minilm_gradients(void **state) {
    (void)state;
    struct fixture x;
    struct head h;
    struct full full;
    open_minilm(&x, &h);
    full_open(&full, x.model);
    struct tiny t = {.fixture = x, .head = h, .arena = arena_new()};
    t.tape = tape_new(t.arena);
    struct passed p = run(&t, true, &full.hooks, 0);
    tape_backward(t.tape, 1, &p.loss, NULL);
    tape_free(t.tape);
    arena_free(t.arena);
    double largest = fixture_largest(&x, "grad.");
    for (int i = 0; i < x.model->tensors; i++) {
        char *name = fixture_name(&x, "grad.", x.model->tensor[i].name, "");
        fixture_compare_samples(&x, name, full.grad[i], tensor_size(&x.model->tensor[i]),
                                allowed.gradient, largest);
        free(name);
    }
    fixture_compare_samples(&x, "grad.classifier.weight", h.part[0].grad,
                            2 * (size_t)x.model->arch.width, allowed.gradient, largest);
    full_close(&full);
    close_minilm(&x, &h);
}

int parity_main(const struct parity *limits) {
    allowed = *limits;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_forward),
        cmocka_unit_test(test_tiny_gradients),
        cmocka_unit_test(test_tiny_lora),
        cmocka_unit_test(test_tiny_steps),
        cmocka_unit_test(test_smoothing),
        cmocka_unit_test(test_minilm_forward),
        cmocka_unit_test(test_minilm_gradients),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
