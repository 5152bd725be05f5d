/* Training of every family is PyTorch's: from petri's initial trainables, on the same rows in the
 * same order, with dropout 0, the losses of 20 steps of the tiny models.
 *
 * With PETRI_PARITY_DUMP=DIR the program instead writes starts and rows to DIR, from which
 * tests/reference/text_parity.py makes text_parity.txt. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/train/run/checkpoint.h"
#include "tests/support/test.h"
#include "tests/support/trained.h"

enum { STEPS = 20, BATCH = 6, ROWS = 24, SOURCE = 12, TARGET = 7, CLASSES = 3, FIRST_ID = 4 };

static const struct {
    const char *model, *method;
    enum loss_mean mean;
    double smoothing;
} cases[] = {
    { "t5-tiny", "lora(r=3)", MEAN_TOKENS, 0 },
    { "t5-odd", "lora(r=3)", MEAN_EXAMPLES, 0.1 },
    { "t5-tiny", "parallel-adapter-ffn(r=4)", MEAN_POSITIONS, 0.1 },
    { "bart-tiny", "lora(r=3)", MEAN_TOKENS, 0.1 },
    { "bart-tiny", "parallel-adapter-ffn(r=4)", MEAN_SUM, 0 },
    { "mbart-odd", "lora(r=3)", MEAN_TOKENS, 0 },
    { "roberta-tiny", "lora(r=3)", MEAN_TOKENS, 0 },
};

/* Rows of random ids, none of them special but the target's last. */
static void make_task(struct task *t, const struct model *m) {
    static const char *const names[CLASSES] = { "a", "b", "c" };
    bool text = arch_generates(&m->arch);
    struct rng_key key = rng_key(3, RNG_TEST, 0, 0);
    struct dataset *d = &t->train;
    uint64_t n = 0, ids = (uint64_t)m->arch.vocabulary - FIRST_ID;
    *t = (struct task){ .name = xstrdup("random"), .kind = text ? DATA_TEXT : DATA_CLASSES,
                        .label_kind = text ? DATA_TEXT : DATA_CLASSES, .classes = text ? 0 : CLASSES,
                        .class_name = (char **)(uintptr_t)names,
                        .positive = -1, .metric = METRIC_LOSS, .has_train = true };
    *d = (struct dataset){ .path = t->name, .kind = t->kind, .classes = t->classes, .examples = ROWS };
    d->example = xcalloc(ROWS, sizeof *d->example);
    d->start = xcalloc(ROWS + 1, sizeof *d->start);
    d->target_start = xcalloc(ROWS + 1, sizeof *d->target_start);
    d->ids = xcalloc(ROWS * SOURCE, sizeof *d->ids);
    d->types = xcalloc(ROWS * SOURCE, sizeof *d->types);
    d->target_ids = xcalloc(ROWS * TARGET, sizeof *d->target_ids);
    for (size_t i = 0; i < ROWS; i++) {
        size_t source = 2 + rng_below(key, n++, SOURCE - 1), target = 2 + rng_below(key, n++, TARGET - 1);
        for (size_t j = 0; j < source; j++)
            d->ids[d->start[i] + j] = (int32_t)(FIRST_ID + rng_below(key, n++, ids));
        for (size_t j = 0; j < target; j++)
            d->target_ids[d->target_start[i] + j] =
                j + 1 < target ? (int32_t)(FIRST_ID + rng_below(key, n++, ids)) : m->arch.eos_id;
        d->start[i + 1] = d->start[i] + source;
        d->target_start[i + 1] = d->target_start[i] + target;
        d->example[i] = (struct example){ .label = (int32_t)rng_below(key, n++, CLASSES), .labeled = true, .id = i };
    }
}

static void free_task(struct task *t) {
    free(t->name);
    free(t->train.example);
    free(t->train.start);
    free(t->train.target_start);
    free(t->train.ids);
    free(t->train.types);
    free(t->train.target_ids);
}

static void open_case(struct ground *g, struct run_config *c, size_t i) {
    struct err e = ERR_INIT;
    char *name = xprintf("tests/reference/families/%s", cases[i].model), *folder = test_path(name);
    g->model = model_load(folder, &e);
    if (!g->model) fail_msg("%s", e.text);
    make_task(&g->task, g->model);
    g->max_len = SOURCE;
    *c = ground_config(g, cases[i].method, BATCH, STEPS);
    c->lr = 5e-3;
    if (arch_generates(&g->model->arch)) {
        c->max_target = TARGET;
        c->loss_mean = cases[i].mean;
        c->smoothing = cases[i].smoothing;
        g->task.train.max_target = (size_t)run_max_target(c, g->model);
    }
    g->task.train.max_len = (size_t)run_max_len(c, g->model);
    free(folder);
    free(name);
}

static void add_ids(struct buf *b, const int32_t *ids, size_t n) {
    for (size_t i = 0; i < n; i++) buf_printf(b, "%s%d", i ? " " : "", (int)ids[i]);
}

/* A line a row in the order of training: source ids, target ids, label. */
static void write_rows(const struct ground *g, const struct run_config *c, const char *path) {
    const struct dataset *d = &g->task.train;
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    uint32_t order[ROWS];
    for (int i = 0; i < STEPS * BATCH; i++) {
        if (i % ROWS == 0) order_epoch(c->seed, i / ROWS, order, ROWS);
        uint32_t r = order[i % ROWS];
        add_ids(&b, d->ids + d->start[r], d->start[r + 1] - d->start[r]);
        buf_putc(&b, '\t');
        add_ids(&b, d->target_ids + d->target_start[r], d->target_start[r + 1] - d->target_start[r]);
        buf_printf(&b, "\t%d\n", (int)d->example[r].label);
    }
    test_ok(file_write(path, b.data, b.size, &e), &e);
    buf_release(&b);
}

static void dump(const char *folder, size_t i, struct ground *g, const struct run_config *c) {
    struct err e = ERR_INIT;
    char *to = xprintf("%s/%zu", folder, i), *path = file_join(to, "rows.tsv");
    struct run *r = run_new(1, c, g->model, &g->task, to, (struct event_sink){ NULL, NULL }, &e);
    if (!r) fail_msg("%s", e.text);
    test_ok(checkpoint_save(r, true, &e), &e);
    write_rows(g, c, path);
    run_free(r);
    free(path);
    free(to);
}

/* "MODEL METHOD loss…" lines, in the order of the cases. */
static void compare(size_t i, struct ground *g, const struct run_config *c) {
    struct err e = ERR_INIT;
    struct buf text;
    struct trained t;
    char *path = test_path("tests/reference/text_parity.txt"), *head = xprintf("%s %s ", cases[i].model, cases[i].method);
    test_ok(file_read(path, 1 << 20, &text, &e), &e);
    const char *s = buf_text(&text);
    for (size_t k = 0; k < i; k++) s = strchr(s, '\n') + 1;
    assert_memory_equal(s, head, strlen(head));
    s += strlen(head);
    train(g, c, NULL, 2, &t);
    assert_int_equal(t.points, STEPS);
    double worst = 0;
    for (int k = 0; k < STEPS; k++) {
        char *end;
        double right = strtod(s, &end);
        worst = fmax(worst, fabs(t.loss[k] - right) / fmax(1, right));
        s = end;
    }
    printf("%slosses %.4f … %.4f, largest difference %.2g\n", head, t.loss[0], t.loss[STEPS - 1], worst);
    if (!(worst < 1e-4)) fail_msg("%s: losses differ by %g", head, worst);
    trained_release(&t);
    buf_release(&text);
    free(head);
    free(path);
}

static void training_is_pytorchs(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct ground g = { 0 };
        struct run_config c;
        const char *folder = getenv("PETRI_PARITY_DUMP");
        open_case(&g, &c, i);
        if (folder) dump(folder, i, &g, &c);
        else compare(i, &g, &c);
        free_task(&g.task);
        model_release(g.model);
        config_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(training_is_pytorchs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
