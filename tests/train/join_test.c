/* A loss across the whole batch: the same bits with tapes held or the encoder run twice, for any number of
 * workers and after a stop; and what such a run refuses. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/run/state.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"

enum { STEPS = 5 };
static struct mixed mixed[MIXED_MODELS];

static int open_all(void **state) {
    (void)state;
    mixed_open_both(mixed, NULL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    mixed_release_both(mixed);
    return 0;
}

static struct run_config config(int of, const char *method) {
    struct run_config c = mixed_config(&mixed[of], method, 8, STEPS);
    c.dropout = 0.1;
    c.lr = 1e-2;
    c.eval_every = 1000;
    return c;
}

static void same_run(const struct trained *a, const struct trained *b, int from) {
    assert_int_equal(trained_state(b), RUN_FINISHED);
    assert_int_equal(a->points - from, b->points);
    assert_memory_equal(a->loss + from, b->loss, (size_t)b->points * sizeof a->loss[0]);
    assert_memory_equal(a->norm + from, b->norm, (size_t)b->points * sizeof a->norm[0]);
    assert_string_equal(a->sha256, b->sha256);
}

static const char *const methods[] = {
    "lora(r=2) + bottleneck(r=2; read=f.in, write=f.out, source=task) + retriever(hidden=4, width=3)",
    "prefix-mlp(l=2,mlp=3) + retriever(hidden=0, width=5, instance=negatives, weight=0.5)",
    "bottleneck(r=2; read=f.in, write=f.out) + retriever(width=0)",
    "lora(r=2) + linear(r=2; read=f.in, write=f.pre, source=hyper) + hyper(task=3, layer=2, place=0, hidden=4, inner=3, start=fan) + "
    "retriever(hidden=4, width=3, prototype=decoupled)",
};

static void same_bits(int of, const char *method, int accumulate) {
    struct run_config c = config(of, method);
    struct trained first, other;
    c.accumulate = accumulate;
    c.join = JOIN_HELD;
    mixed_train(&mixed[of], &c, NULL, 1, 0, &first);
    for (int way = JOIN_AUTO; way <= JOIN_TWICE; way++)
        for (int workers = 1; workers <= 3; workers++) {
            c.join = (enum join_way)way;
            c.recompute = workers == 3; /* which changes nothing */
            mixed_train(&mixed[of], &c, NULL, workers, 0, &other);
            same_run(&first, &other, 0);
            trained_release(&other);
        }
    char *folder = test_folder();
    c.join = JOIN_TWICE;
    mixed_train(&mixed[of], &c, folder, 2, 2, &other);
    trained_release(&other);
    c.join = JOIN_HELD;
    mixed_go_on(&mixed[of], &c, folder, 3, &other);
    same_run(&first, &other, 2);
    trained_release(&other);
    trained_release(&first);
    free(folder);
    config_release(&c);
}

static void held_or_twice_is_the_same(void **state) {
    (void)state;
    for (size_t m = 0; m < COUNT_OF(methods); m++)
        for (int of = 0; of < MIXED_MODELS; of++) same_bits(of, methods[m], m == 0 ? 2 : 1);
}

struct watched {
    struct run *run;
    int held, too_large, kept;
};

/* From the third step on the tapes find no room. */
static void look(void *self, const struct event *e) {
    struct watched *s = self;
    if (e->kind != EVENT_POINT) return;
    struct join *j = &s->run->join;
    s->held += j->store_activations;
    for (int i = 0; i < j->parts; i++) {
        const struct arena *memory = j->stored[i].memory;
        s->too_large += memory && arena_peak(memory) > j->peak;
        s->kept += memory && e->step > 3;
    }
    if (e->step == 3) s->run->c.join_memory = 0;
}

/* With --join auto the room is looked at in every step, by the largest part of all before it, and tapes that find
 * none are given back. */
static void held_tapes_are_given_back(void **state) {
    (void)state;
    struct run_config c = config(BERT, methods[0]);
    struct watched s = { 0 };
    struct trained out = { 0 };
    c.shards = 1;
    c.seed = 3;
    s.run = mixed_begin(&mixed[BERT], &c, NULL, (struct event_sink){ &s, look });
    trained_run(s.run, 1, &out);
    assert_int_equal(s.held, 2);
    assert_int_equal(s.too_large, 0);
    assert_int_equal(s.kept, 0);
    trained_release(&out);
    config_release(&c);
}

/* The loss moves what lies below it: with it the run is another one, and it falls. */
static void the_loss_is_in_the_step(void **state) {
    (void)state;
    struct run_config c = config(BERT, "lora(r=2) + retriever(hidden=4, width=3, weight=2)");
    struct run_config without = config(BERT, "lora(r=2) + retriever(hidden=4, width=3, instance=none)");
    struct trained a, b;
    c.steps = without.steps = 30;
    mixed_train(&mixed[BERT], &c, NULL, 1, 0, &a);
    mixed_train(&mixed[BERT], &without, NULL, 1, 0, &b);
    assert_true(a.loss[0] > b.loss[0] + 0.5); /* log of seven others, and the tasks' losses */
    assert_string_not_equal(a.sha256, b.sha256);
    trained_release(&a);
    trained_release(&b);
    config_release(&c);
    config_release(&without);
}

static void count_messages(void *self, const struct event *e) {
    if (e->kind == EVENT_MESSAGE && strstr(e->text, "no two examples of the same task")) ++*(int *)self;
}

/* A batch in which no row has another of its task is said, once. */
static void a_batch_without_a_positive_is_said(void **state) {
    (void)state;
    struct run_config c = config(BERT, methods[0]);
    struct err e = ERR_INIT;
    struct trained out = { 0 };
    int said = 0;
    c.batch = 1;
    test_ok(config_set(&c, "sampling", "proportional", &e), &e);
    struct run *r = mixed_begin(&mixed[BERT], &c, NULL, (struct event_sink){ &said, count_messages });
    trained_run(r, 1, &out);
    assert_int_equal(said, 1);
    trained_release(&out);
    config_release(&c);
}

static void refuse(struct run_config *c, const char *why) {
    struct err e = ERR_INIT;
    struct run *r = run_begin(1, c, mixed[BERT].model, &mixed[BERT].tasks, NULL, (struct event_sink){ NULL, NULL }, &e);
    assert_null(r);
    assert_int_equal(e.code, ERR_USAGE);
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
    config_release(c);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c = config(BERT, methods[0]);
    test_ok(config_set(&c, "sampling", "one-task(3)", &e), &e);
    refuse(&c, "several tasks in a batch");
    c = config(BERT, "lora(r=2)");
    c.join = JOIN_TWICE;
    refuse(&c, "add + retriever to the method");
    /* one task */
    c = config(BERT, methods[0]);
    struct run_config one;
    config_of_task(&c, 0, &one);
    assert_null(run_new(1, &one, mixed[BERT].model, &mixed[BERT].task[0], NULL, (struct event_sink){ NULL, NULL }, &e));
    assert_non_null(strstr(e.text, "this run has one"));
    config_release(&one);
    config_release(&c);
    /* which loss it is; a prototype loss alone may have one task in a batch */
    c = config(T5, "hyperdecoder(r=2) + hyper(task=3) + retriever(hidden=4, width=3, instance=none, prototype=softmax)");
    config_of_task(&c, 0, &one);
    assert_null(run_new(1, &one, mixed[T5].model, &mixed[T5].task[0], NULL, (struct event_sink){ NULL, NULL }, &e));
    assert_non_null(strstr(e.text, "the prototype loss"));
    test_ok(config_set(&c, "sampling", "one-task(3)", &e), &e);
    run_free(mixed_begin(&mixed[T5], &c, NULL, (struct event_sink){ NULL, NULL }));
    config_release(&one);
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_or_twice_is_the_same),
        cmocka_unit_test(held_tapes_are_given_back),
        cmocka_unit_test(the_loss_is_in_the_step),
        cmocka_unit_test(a_batch_without_a_positive_is_said),
        cmocka_unit_test(what_cannot_be_is_refused),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
