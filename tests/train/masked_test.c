/* Masked words: agreement with transformers' BertForMaskedLM, what is drawn, and the run that petri pretrain begins. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/optim.h"
#include "core/train/config/complete.h"
#include "core/train/meta/masking.h"
#include "core/train/meta/pretrain.h"
#include "core/train/use/fill.h"
#include "core/train/use/predict.h"
#include "tests/support/fixture.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

/* ---- parity ---- */

static const double near_logit = 1e-4, near_loss = 1e-5, near_gradient = 1e-4, near_step = 1e-4;
static const char folder_of_truth[] = "tests/reference/masked";

/* The head's tensors as transformers calls them. */
static const char *const head_names[][2] = {
    { "head.words.weight", "cls.predictions.transform.dense.weight" },
    { "head.words.bias", "cls.predictions.transform.dense.bias" },
    { "head.words.norm.weight", "cls.predictions.transform.LayerNorm.weight" },
    { "head.words.norm.bias", "cls.predictions.transform.LayerNorm.bias" },
    { "head.words.vocabulary.bias", "cls.predictions.bias" },
};

struct truth {
    struct fixture fixture;
    struct plan *plan;
    struct attach *attach;
    struct arena *arena;
    struct tape *tape;
    struct forward forward;
    real *params, *grads;
};

static int32_t *whole(const struct fixture *f, const char *name, int *n) {
    struct err e = ERR_INIT;
    const struct st_tensor *t = st_find(f->expected, name);
    int64_t wide[64];
    assert_non_null(t);
    assert_in_range(t->count, 1, COUNT_OF(wide));
    test_ok(st_read_raw(f->expected, t, wide, &e), &e);
    int32_t *out = xcalloc(t->count, sizeof *out);
    for (size_t i = 0; i < t->count; i++) out[i] = (int32_t)wide[i];
    *n = (int)t->count;
    return out;
}

static void open_truth(struct truth *x) {
    struct err e = ERR_INIT;
    struct method m;
    int n;
    *x = (struct truth){ 0 };
    fixture_open(&x->fixture, folder_of_truth, "tests/reference/masked/expected.safetensors");
    test_ok(method_parse("full", &m, &e), &e);
    x->plan = plan_new(&m, &x->fixture.model->arch, PLAN_WORDS, &e);
    if (!x->plan) fail_msg("%s", e.text);
    x->attach = attach_new(x->plan, x->fixture.model);
    x->arena = arena_new();
    x->tape = tape_new(x->arena);
    x->params = xcalloc(x->plan->trained, sizeof *x->params);
    x->grads = xcalloc(x->plan->trained, sizeof *x->grads);
    plan_init(x->plan, x->fixture.model, 1, x->params);
    struct batch *b = &x->fixture.batch;
    b->mask_row = whole(&x->fixture, "mask_row", &b->masks);
    b->mask_at = whole(&x->fixture, "mask_at", &n);
    b->mask_id = whole(&x->fixture, "mask_id", &n);
    b->mask_weight = xcalloc((size_t)b->masks, sizeof *b->mask_weight);
    for (int i = 0; i < b->masks; i++) b->mask_weight[i] = 1 / (real)b->masks;
}

static void close_truth(struct truth *x) {
    struct batch *b = &x->fixture.batch;
    void *const own[] = { b->mask_row, b->mask_at, b->mask_id, b->mask_weight, x->params, x->grads };
    tape_free(x->tape);
    arena_free(x->arena);
    attach_free(x->attach);
    plan_free(x->plan);
    for (size_t i = 0; i < COUNT_OF(own); i++) free(own[i]);
    fixture_close(&x->fixture);
}

/* The encoder's rows of the masked tokens, of the parameters as they are. */
static node masked_rows(struct truth *x, bool training) {
    tape_reset(x->tape, training, 1, 0);
    forward_init(&x->forward, x->tape, x->fixture.model, &x->fixture.batch,
                 attach_begin(x->attach, x->tape, x->params, NULL, training ? x->grads : NULL));
    return masking_rows(&x->forward, forward_encode(&x->forward));
}

static double backward(struct truth *x) {
    node loss = attach_words_loss(x->attach, &x->forward, masked_rows(x, true), NULL);
    double v = (double)*tape_value(x->tape, loss);
    tape_backward(x->tape, 1, &loss, NULL);
    attach_end(x->attach, x->grads);
    return v;
}

/* BEFORE and the name that the tensor has in the file of transformers; caller frees. */
static char *name_of(const struct truth *x, const char *before, const struct plan_tensor *t) {
    for (size_t i = 0; i < COUNT_OF(head_names); i++)
        if (!strcmp(t->name, head_names[i][0])) return xprintf("%s%s", before, head_names[i][1]);
    return fixture_name(&x->fixture, before, t->name, "");
}

static void logits_and_gradients_are_transformers(void **state) {
    (void)state;
    struct truth x;
    open_truth(&x);
    node logits = attach_words_logits(x.attach, &x.forward, masked_rows(&x, false));
    size_t n = (size_t)tape_rows_of(x.tape, logits) * (size_t)tape_cols_of(x.tape, logits);
    fixture_compare(&x.fixture, "logits", tape_value(x.tape, logits), n, near_logit);
    real loss = (real)backward(&x);
    fixture_compare(&x.fixture, "loss", &loss, 1, near_loss);
    double largest = fixture_largest(&x.fixture, "grad.");
    assert_int_equal(x.plan->tensors, 42); /* every one that the file has */
    for (int i = 0; i < x.plan->tensors; i++) {
        const struct plan_tensor *t = &x.plan->tensor[i];
        char *name = name_of(&x, "grad.", t);
        fixture_compare_gradient(&x.fixture, name, x.grads + t->offset, t->count, near_gradient, largest);
        free(name);
    }
    close_truth(&x);
}

static void ten_steps_are_pytorchs(void **state) {
    (void)state;
    const struct adamw how = ADAMW_DEFAULT;
    struct truth x;
    size_t n;
    open_truth(&x);
    real *m = xcalloc(x.plan->trained, sizeof *m), *v = xcalloc(x.plan->trained, sizeof *v);
    struct optim_group *group = xcalloc((size_t)x.plan->tensors, sizeof *group);
    double *right = fixture_values(&x.fixture, "adamw", &n);
    assert_int_equal(n, 10);
    for (int i = 0; i < x.plan->tensors; i++) {
        const struct plan_tensor *t = &x.plan->tensor[i];
        group[i] = (struct optim_group){ t->offset, t->count, 1, t->decays ? 1 : 0 };
    }
    for (int i = 0; i < 10; i++) {
        double loss = backward(&x);
        if (!(fabs(loss - right[i]) < 10 * near_loss)) fail_msg("step %d: loss %.9g, not %.9g", i + 1, loss, right[i]);
        optim_adamw(&how, 1e-3, (uint64_t)i + 1, (size_t)x.plan->tensors, group, x.params, x.grads, m, v);
    }
    for (int i = 0; i < x.plan->tensors; i++) {
        const struct plan_tensor *t = &x.plan->tensor[i];
        if (t->no_gradient) continue; /* rounding alone, of which AdamW makes steps */
        char *name = name_of(&x, "after.", t);
        fixture_compare(&x.fixture, name, x.params + t->offset, t->count, near_step);
        free(name);
    }
    free(right);
    free(group);
    free(m);
    free(v);
    close_truth(&x);
}

/* ---- what is drawn ---- */

static void draws_are_as_they_should_be(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = test_path(folder_of_truth);
    struct model *m = model_load(folder, &e);
    if (!m) fail_msg("%s", e.text);
    enum { N = 42 };
    int32_t ids[N] = { 2 };
    struct masked out[N];
    int kept = 0, other = 0, masked = 0, rows = 3000;
    ids[N - 1] = 3;
    for (int i = 1; i < N - 1; i++) ids[i] = i % 3 ? 10 : 11; /* "edit ##ing edit" */
    for (int whole = 0; whole < 2; whole++) {
        struct masking *k = masking_new(m, whole, &e);
        for (int r = 0; r < rows; r++) {
            size_t n = masking_draw(k, masking_key(7, 1, (uint64_t)r), ids, N, out);
            assert_in_range(n, whole ? 5 : 6, 6); /* 15 % of 40 */
            for (size_t i = 0; i < n; i++) {
                assert_in_range(out[i].at, i ? out[i - 1].at + 1 : 1, N - 2);
                if (whole && ids[out[i].at] == 11) assert_true(i && out[i - 1].at == out[i].at - 1); /* with its word */
                masked += out[i].put == 4;
                kept += out[i].put == ids[out[i].at];
                other += out[i].put != 4 && out[i].put != ids[out[i].at];
                assert_true(out[i].put >= 4);
            }
        }
        masking_free(k);
    }
    double all = masked + kept + other;
    assert_true(fabs(masked / all - 0.8) < 0.01);
    assert_true(fabs(kept / all - (0.1 + 0.1 / 18)) < 0.01); /* any token may be the same one */
    struct masking *k = masking_new(m, false, &e);
    struct masked again[3][N];
    for (uint64_t i = 0; i < 3; i++) masking_draw(k, masking_key(7 + (i == 2), 1 + (i == 1), 5), ids, N, again[i]);
    assert_int_equal(masking_draw(k, masking_key(7, 1, 5), ids, N, out), 6);
    assert_memory_equal(out, again[0], 6 * sizeof *out);
    assert_memory_not_equal(out, again[1], 6 * sizeof *out); /* another step */
    assert_memory_not_equal(out, again[2], 6 * sizeof *out); /* another seed */
    const int32_t unknown[] = { 2, 1, 1, 3 };
    assert_int_equal(masking_draw(k, masking_key(7, 1, 0), unknown, COUNT_OF(unknown), out), 0);
    masking_free(k);
    model_release(m);
    free(folder);
}

/* ---- the run ---- */

static char *write_texts(const char *folder) {
    static const char *const word[] = { "editor", "editing", "images", "network", "server", "games", "library", "sound" };
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < 24; i++)
        buf_printf(&b, "%s for %s and the %s%s", word[i % 8], word[(i * 3 + 1) % 8], word[(i * 5 + 2) % 8], i % 5 ? "\n" : ".\r\n\n");
    for (int i = 0; i < 120; i++) buf_putc(&b, 'x'); /* no token of it is masked */
    char *path = test_file(folder, "texts.txt", b.data, b.size);
    buf_release(&b);
    return path;
}

struct begun {
    char *home, *text;
    struct run_config c;
    struct ground g;
};

static struct pretrain asked(const char *const *text) {
    return (struct pretrain){ .text = text, .texts = 1, .vocabulary = 60,
                              .model = { .layers = 1, .width = 16, .heads = 2, .inner = 32, .positions = 12, .seed = 3 } };
}

static void begin(struct begun *x) {
    struct err e = ERR_INIT;
    x->home = test_folder();
    x->text = write_texts(x->home);
    const char *const text[] = { x->text };
    bool made;
    struct pretrain p = asked(text);
    config_init(&x->c);
    pretrain_defaults(&x->c);
    x->c.split = 0.2;
    x->c.max_len = 12;
    x->c.batch = 3;
    x->c.shards = 3;
    x->c.whole_words = true;
    test_ok(config_set(&x->c, "steps", "20", &e), &e);
    x->c.eval_every = 5;
    x->c.seed = 3;
    test_ok(pretrain_begin(&p, x->home, "mini", &x->c, &made, NULL, &e), &e);
    struct task_source s = config_source(&x->c, NULL);
    x->g.model = model_load(x->c.model, &e);
    if (!x->g.model) fail_msg("%s", e.text);
    test_ok(task_open(&x->g.task, &s, &e), &e);
    test_ok(run_prepare_task(&x->c, x->g.model, &x->g.task, &e), &e);
}

static void end(struct begun *x) {
    task_release(&x->g.task);
    model_release(x->g.model);
    config_release(&x->c);
    free(x->text);
    free(x->home);
}

static void a_run_is_the_same_with_any_workers_and_resumed(void **state) {
    (void)state;
    struct begun x;
    struct trained alone, three, half, rest;
    begin(&x);
    assert_int_equal(x.g.task.train.examples + x.g.task.dev[0].examples, 25);
    train(&x.g, &x.c, NULL, 1, &alone);
    train(&x.g, &x.c, NULL, 3, &three);
    assert_int_equal(trained_state(&alone), RUN_FINISHED);
    assert_string_equal(alone.sha256, three.sha256);
    assert_int_equal(alone.evaluations, 4);
    assert_true(alone.evaluation[3].loss < alone.evaluation[0].loss);
    assert_true(trained_metric(&alone, "accuracy") >= 0 && trained_metric(&alone, "accuracy") <= 1);
    char *folder = file_join(x.home, "run");
    train_until(&x.g, &x.c, folder, 2, 7, &half);
    train_on(&x.g, &x.c, folder, 1, &rest);
    assert_string_equal(alone.sha256, rest.sha256);
    trained_release(&alone);
    trained_release(&three);
    trained_release(&half);
    trained_release(&rest);
    free(folder);
    end(&x);
}

/* The names of the tensors in a folder's file, sorted by the reader. */
static void assert_same_names(const char *a, const char *b) {
    struct err e = ERR_INIT;
    char *path[] = { file_join(a, "model.safetensors"), file_join(b, "model.safetensors") };
    struct st_file *f[] = { st_open(path[0], &e), st_open(path[1], &e) };
    assert_true(f[0] && f[1]);
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < st_count(f[k]); i++)
            if (!strstr(st_at(f[k], i)->name, "layer.1.") && !st_find(f[!k], st_at(f[k], i)->name))
                fail_msg("%s: only one has it", st_at(f[k], i)->name);
    for (size_t k = 0; k < 2; k++) {
        st_close(f[k]);
        free(path[k]);
    }
}

static void the_folder_is_what_the_run_is(void **state) {
    (void)state;
    struct begun x;
    struct trained t;
    struct err e = ERR_INIT;
    begin(&x);
    char *folder = file_join(x.home, "run"), *last = file_join(folder, "last.safetensors"), *truth = test_path(folder_of_truth);
    train(&x.g, &x.c, folder, 1, &t);
    struct predictor *p = predictor_open(last, NULL, x.g.model, &e);
    if (!p) fail_msg("%s", e.text);
    assert_true(predictor_fills(p));
    for (int half = 0; half < 2; half++) {
        char *out = file_join(x.home, half ? "half" : "full");
        double worst = 1;
        test_ok(predictor_export(p, out, half, &x.g.task.dev[0], NULL, &worst, &e), &e);
        assert_true(worst < (half ? 1e-2 : 1e-6));
        assert_same_names(out, truth);
        struct model *m = model_load(out, &e);
        if (!m) fail_msg("%s", e.text);
        assert_string_equal(m->arch.torch_dtype, half ? "float16" : "float32");
        struct predictor *q = predictor_of_words(m, &e);
        struct filled a, b;
        static const char text[] = "[MASK] for editing [MASK]";
        test_ok(predictor_fill(p, text, strlen(text), 3, NULL, &a, &e), &e);
        test_ok(predictor_fill(q, text, strlen(text), 3, NULL, &b, &e), &e);
        assert_int_equal(a.masks, 2);
        for (int i = 0; i < 6; i++) assert_true(fabs(a.word[i].probability - b.word[i].probability) < (half ? 1e-3 : 1e-6));
        filled_release(&a);
        filled_release(&b);
        test_refused(predictor_fill(q, "no mask", 7, 3, NULL, &a, &e), ERR_USAGE, &e, "no [MASK]");
        predictor_free(q);
        model_release(m);
        free(out);
    }
    /* a run that goes on from that folder begins with its head */
    predictor_free(p);
    trained_release(&t);
    free(folder);
    free(last);
    free(truth);
    end(&x);
}

/* One line of petri-mini.tsv: text, ids, which mask, five times a token and the logarithm of its probability. */
static void compare_line(struct predictor *p, char *line) {
    struct err e = ERR_INIT;
    struct encoded x;
    struct filled f;
    char *text = strsep(&line, "\t"), *ids = strsep(&line, "\t");
    int mask = atoi(strsep(&line, "\t"));
    const struct model *m = predictor_model(p);
    test_ok(tokenizer_encode(m->tokenizer, text, strlen(text), NULL, 0, 128, &x, &e), &e);
    for (size_t i = 0; i < x.n; i++) assert_int_equal(x.ids[i], strtol(ids, &ids, 10));
    assert_int_equal(*ids, 0);
    test_ok(predictor_fill(p, text, strlen(text), 5, NULL, &f, &e), &e);
    assert_in_range(mask, 0, f.masks - 1);
    for (int k = 0; k < 5; k++) {
        char *end, *one = strsep(&line, "\t");
        const struct filled_word *w = &f.word[mask * f.words + k];
        assert_int_equal(w->id, strtol(one, &end, 10));
        assert_true(fabs(log(w->probability) - strtod(end, NULL)) < 1e-4);
    }
    filled_release(&f);
    encoded_release(&x);
}

static void the_miniature_is_transformers(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf file;
    char *folder = test_path("assets/models/petri-mini"), *path = test_path("tests/reference/petri-mini.tsv");
    struct model *m = model_load(folder, &e);
    struct predictor *p = m ? predictor_of_words(m, &e) : NULL;
    if (!p) fail_msg("%s", e.text);
    test_ok(file_read(path, 1 << 16, &file, &e), &e);
    int lines = 0;
    for (char *rest = file.data, *line; (line = strsep(&rest, "\n")) && *line; lines++) compare_line(p, line);
    assert_int_equal(lines, 5);
    predictor_free(p);
    model_release(m);
    buf_release(&file);
    free(folder);
    free(path);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *home = test_folder(), *good = write_texts(home), *empty = test_file(home, "empty.txt", "", 0),
         *blank = test_file(home, "blank.txt", "\n \n\t\n", 5), *bad = test_file(home, "bad.txt", "a\xff b\0c\x1b[31m\nd\n", 13);
    const char *const text[][1] = { { good }, { empty }, { blank }, { bad } };
    struct pretrain p = asked(text[0]);
    struct run_config c;
    bool made;
    config_init(&c);
    pretrain_defaults(&c);
    p.vocabulary = 20;
    test_refused(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), ERR_USAGE, &e, "--vocab 20: too small");
    p = asked(text[0]);
    p.model.heads = 3;
    test_refused(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), ERR_USAGE, &e, "--heads 3: must divide the width, 16");
    p = asked(text[1]);
    test_refused(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), ERR_INPUT, &e, "empty.txt: empty file");
    p = asked(text[2]);
    test_refused(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), ERR_INPUT, &e, "blank.txt: the text contains no words");
    p = asked(text[3]); /* bytes that are no text leave no sign behind */
    test_ok(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), &e);
    char *vocab = test_text(c.model, "vocab.txt");
    assert_string_equal(vocab, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n##1\n##c\n##m\n3\n[\na\nb\nd\n");
    assert_true(made);
    char *before = xstrdup(c.model);
    test_ok(pretrain_begin(&p, home, "x", &c, &made, NULL, &e), &e);
    assert_string_equal(c.model, before); /* made once */
    assert_false(made);
    pretrain_undo(&c);
    assert_false(file_exists(c.model));
    free(before);
    free(vocab);
    config_release(&c);
    free(home);
    free(good);
    free(empty);
    free(blank);
    free(bad);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logits_and_gradients_are_transformers),
        cmocka_unit_test(ten_steps_are_pytorchs),
        cmocka_unit_test(draws_are_as_they_should_be),
        cmocka_unit_test(a_run_is_the_same_with_any_workers_and_resumed),
        cmocka_unit_test(the_folder_is_what_the_run_is),
        cmocka_unit_test(the_miniature_is_transformers),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
