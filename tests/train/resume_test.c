/* Checkpoints: what a resume refuses, what a file holds, what a full disk does. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/model/safetensors.h"
#include "core/train/run/predictor.h"
#include "core/train/run/state.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

/* A run of 10 steps stopped after 5, with all its files in `home`. */
struct stopped {
    char *home, *model, *toy, *folder, *last;
    char sha256[65]; /* of the checkpoint's bytes */
    struct run_config c;
};

static void hash_file(const char *path, char out[65]) {
    struct err e = ERR_INIT;
    test_ok(file_sha256(path, out, &e), &e);
}

static void stop_half_way(struct stopped *s, const char *method) {
    struct ground g;
    struct trained t;
    s->home = test_folder();
    s->model = tiny_bert(s->home, "tiny", NULL);
    s->toy = tiny_toy(s->home);
    s->folder = file_join(s->home, "run");
    ground_open(&g, s->model, s->toy, s->toy, 16);
    s->c = ground_config(&g, method, 2, 10);
    s->c.lr = 1e-5;
    s->c.eval_every = 2;
    train_until(&g, &s->c, s->folder, 1, 5, &t);
    assert_int_equal(trained_state(&t), RUN_STOPPED);
    trained_release(&t);
    ground_release(&g);
    s->last = file_join(s->folder, "last.safetensors");
    hash_file(s->last, s->sha256);
}

static void release(struct stopped *s) {
    char now[65];
    hash_file(s->last, now);
    assert_string_equal(now, s->sha256);
    config_release(&s->c);
    free(s->home);
    free(s->model);
    free(s->toy);
    free(s->folder);
    free(s->last);
}

static void told_nothing(void *self, const struct event *e) {
    (void)self;
    fail_msg("a refused resume told of step %lld", (long long)e->step);
}

/* Tries to resume with the files as they now are; `part` is in the refusal. */
static void refused(const struct stopped *s, int code, const char *part) {
    struct ground g;
    struct err e = ERR_INIT;
    ground_open(&g, s->model, s->toy, s->toy, 16);
    struct task *task = &g.task;
    struct run *r = run_go_on(1, &s->c, g.model, &(struct run_tasks){ 1, &task }, s->folder,
                              (struct event_sink){ NULL, told_nothing }, &e);
    assert_null(r);
    test_refused(e.code, code, &e, part);
    ground_release(&g);
}

static void changed_options_are_refused_by_name(void **state) {
    (void)state;
    struct stopped s;
    struct err e = ERR_INIT;
    stop_half_way(&s, "lora(r=2)");
    s.c.steps = 20;
    refused(&s, ERR_USAGE, "--steps: the run was started with 10, not 20");
    s.c.steps = 10;
    s.c.batch = 4;
    refused(&s, ERR_USAGE, "--batch: the run was started with 2, not 4");
    s.c.batch = 2;
    test_ok(config_set(&s.c, "method", "lora(r=4)", &e), &e);
    refused(&s, ERR_USAGE, "--method");
    release(&s);
}

static void changed_files_are_refused_by_name(void **state) {
    (void)state;
    struct stopped s;
    struct buf rows;
    struct err e = ERR_INIT;
    stop_half_way(&s, "lora(r=2)");
    test_ok(file_read(s.toy, 1 << 20, &rows, &e), &e);
    char *old = xstrndup(rows.data, rows.size);
    buf_puts(&rows, "cat sat\tpos\n");
    free(test_file(s.home, "toy.tsv", rows.data, rows.size));
    refused(&s, ERR_INPUT, "toy.tsv: changed since step 5");
    strstr(old, "good")[0] = 'f';
    free(test_file(s.home, "toy.tsv", old, strlen(old)));
    refused(&s, ERR_INPUT, "toy.tsv: changed since step 5");
    strstr(old, "food")[0] = 'g';
    free(test_file(s.home, "toy.tsv", old, strlen(old)));
    const struct tiny other = { .mul = 103 };
    tiny_weights(s.model, &other);
    refused(&s, ERR_INPUT, "model.safetensors: changed since step 5");
    tiny_weights(s.model, NULL);
    struct ground g;
    struct trained t;
    ground_open(&g, s.model, s.toy, s.toy, 16);
    train_on(&g, &s.c, s.folder, 1, &t);
    assert_int_equal(t.points, 5);
    trained_release(&t);
    hash_file(s.last, s.sha256);
    refused(&s, ERR_USAGE, "finished");
    ground_release(&g);
    free(old);
    buf_release(&rows);
    release(&s);
}

static void damaged_and_absent_checkpoints_are_refused(void **state) {
    (void)state;
    struct stopped s;
    struct buf bytes;
    struct err e = ERR_INIT;
    stop_half_way(&s, "lora(r=2)");
    test_ok(file_read(s.last, 1 << 24, &bytes, &e), &e);
    free(test_file(s.folder, "last.safetensors", bytes.data, bytes.size - 4));
    refused(&s, ERR_INPUT, "last.safetensors");
    assert_int_equal(remove(s.last), 0);
    refused(&s, ERR_NOT_FOUND, "last.safetensors");
    const float one = 1;
    const struct st_write t = {
        .name = "param/x", .type = ST_F32, .rank = 1, .shape = { 1 }, .data = &one
    };
    test_ok(st_save(s.last, &t, 1, NULL, 0, &e), &e);
    refused(&s, ERR_INPUT, "not a checkpoint of petri");
    free(test_file(s.folder, "last.safetensors", bytes.data, bytes.size));
    buf_release(&bytes);
    release(&s);
}

static void values_that_are_not_finite_are_refused(void **state) {
    (void)state;
    static const float bad = NAN;
    struct stopped s;
    struct buf bytes;
    struct err e = ERR_INIT;
    stop_half_way(&s, "lora(r=2)");
    test_ok(file_read(s.last, 1 << 24, &bytes, &e), &e);
    char *was = xmalloc(bytes.size), *said = memmem(bytes.data, bytes.size, "tensors_sha256", 14);
    memcpy(was, bytes.data, bytes.size);
    assert_non_null(said);
    said[0] = 'T'; /* as of a version that did not write it */
    memcpy(bytes.data + bytes.size - sizeof bad, &bad, sizeof bad);
    free(test_file(s.folder, "last.safetensors", bytes.data, bytes.size));
    refused(&s, ERR_INPUT, "nan at");
    free(test_file(s.folder, "last.safetensors", was, bytes.size));
    free(was);
    buf_release(&bytes);
    release(&s);
}

/* The file to predict from has what is kept; the one to resume from all and the optimizer. */
static void files_hold_what_they_should(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2)", "prefix(l=5)", "full",
                                           "prefix(l=5,mlp=6)" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct stopped s;
        struct err e = ERR_INIT;
        stop_half_way(&s, methods[i]);
        struct ground g;
        ground_open(&g, s.model, s.toy, s.toy, 16);
        struct run *r =
            run_new(1, &s.c, g.model, &g.task, NULL, (struct event_sink){ NULL, NULL }, &e);
        assert_non_null(r);
        const struct plan *p = run_plan(r);
        char *best = file_join(s.folder, "best.safetensors");
        struct st_file *b = st_open(best, &e), *l = st_open(s.last, &e);
        assert_non_null(b);
        assert_non_null(l);
        size_t kept = 0, all = 0;
        for (size_t j = 0; j < st_count(b); j++) kept += st_at(b, j)->count;
        for (size_t j = 0; j < st_count(l); j++) all += st_at(l, j)->count;
        assert_int_equal(kept, p->stored_method + p->head);
        assert_int_equal(all, 3 * p->trained + p->generated_size);
        assert_non_null(st_meta(b, "weights_sha256"));
        assert_string_equal(st_meta(b, "labels"), "[\"neg\",\"pos\"]");
        assert_string_equal(st_meta(b, "backbone_sha256"), g.model->sha256);
        st_close(b);
        st_close(l);
        run_free(r);
        ground_release(&g);
        free(best);
        release(&s);
    }
}

static void best_survives_a_resume(void **state) {
    (void)state;
    struct stopped s;
    struct ground g;
    struct trained whole, rest;
    stop_half_way(&s, "lora(r=2)");
    ground_open(&g, s.model, s.toy, s.toy, 16);
    train(&g, &s.c, NULL, 1, &whole);
    train_on(&g, NULL, s.folder, 1, &rest);
    assert_int_equal(whole.evaluations, 5);
    assert_int_equal(rest.evaluations, 3);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rest.evaluation[i].step, whole.evaluation[i + 2].step);
        assert_true(rest.evaluation[i].best == whole.evaluation[i + 2].best);
        assert_true(rest.evaluation[i].loss == whole.evaluation[i + 2].loss);
    }
    hash_file(s.last, s.sha256);
    trained_release(&whole);
    trained_release(&rest);
    ground_release(&g);
    release(&s);
}

struct stopper {
    struct trained told;
    struct run *run;
};

static void stop_after_evaluation(void *self, const struct event *e) {
    struct stopper *s = self;
    struct event_sink sink = trained_sink(&s->told);
    sink.send(sink.self, e);
    if (e->kind == EVENT_EVALUATION && e->step == 4) run_stop(s->run);
}

/* What was evaluated is not evaluated again, and what was due when the stop came is made up. */
static void evaluations_are_told_once(void **state) {
    (void)state;
    struct stopped s;
    struct ground g;
    struct trained rest;
    struct err e = ERR_INIT;
    struct stopper told = { 0 };
    stop_half_way(&s, "lora(r=2)");
    ground_open(&g, s.model, s.toy, s.toy, 16);
    char *folder = file_join(s.home, "again");
    told.run = run_new(1, &s.c, g.model, &g.task, folder,
                       (struct event_sink){ &told, stop_after_evaluation }, &e);
    assert_non_null(told.run);
    struct pool *p = pool_new(1);
    pool_add(p, told.run, 0);
    assert_true(pool_wait(p, told.run, 30));
    pool_free(p);
    run_free(told.run);
    assert_int_equal(told.told.points, 4);
    assert_int_equal(told.told.evaluations, 2);
    train_on(&g, &s.c, folder, 1, &rest);
    assert_int_equal(rest.evaluations, 3);
    assert_int_equal(rest.evaluation[0].step, 6);
    trained_release(&rest);

    char *third = file_join(s.home, "third");
    struct trained first;
    train_until(&g, &s.c, third, 1, 4, &first);
    assert_int_equal(first.evaluations, 1);
    train_on(&g, &s.c, third, 1, &rest);
    assert_int_equal(rest.evaluations, 4);
    assert_int_equal(rest.evaluation[0].step, 4);
    trained_release(&first);
    trained_release(&rest);
    ground_release(&g);
    free(folder);
    free(third);
    release(&s);
}

/* One that is to stop at a step is evaluated there first, and comes out as if it had never stopped. */
static void it_stops_after_an_evaluation(void **state) {
    (void)state;
    struct ground g;
    struct trained whole, half = { 0 }, rest;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    ground_open_toy(&g, true);
    struct run_config c = ground_config(&g, "lora(r=2)", 2, 10);
    c.lr = 1e-3;
    c.eval_every = 2;
    train(&g, &c, NULL, 1, &whole);
    struct run *r = run_new(1, &c, g.model, &g.task, folder, trained_sink(&half), &e);
    assert_non_null(r);
    run_stop_at(r, 3);
    trained_run(r, 1, &half);
    assert_int_equal(trained_state(&half), RUN_STOPPED);
    assert_int_equal(half.points, 4);
    assert_int_equal(half.evaluations, 2);
    train_on(&g, &c, folder, 2, &rest);
    assert_int_equal(rest.points, 6);
    assert_int_equal(rest.evaluations, 3);
    assert_string_equal(rest.sha256, whole.sha256);
    trained_release(&whole), trained_release(&half), trained_release(&rest);
    config_release(&c);
    ground_release(&g);
    free(folder);
}

static void only_what_was_asked_for_is_kept(void **state) {
    (void)state;
    for (int keep = KEEP_BEST; keep <= (KEEP_BEST | KEEP_LAST); keep++) {
        struct ground g;
        struct trained t;
        char *home = test_folder(), *model = tiny_bert(home, "tiny", NULL), *toy = tiny_toy(home);
        char *folder = file_join(home, "run"), *best = file_join(folder, "best.safetensors");
        char *last = file_join(folder, "last.safetensors");
        ground_open(&g, model, toy, toy, 16);
        struct run_config c = ground_config(&g, "bitfit", 4, 6);
        c.keep = keep;
        train(&g, &c, folder, 1, &t);
        assert_int_equal(trained_state(&t), RUN_FINISHED);
        assert_int_equal(file_exists(best), (keep & KEEP_BEST) != 0);
        assert_int_equal(file_exists(last), (keep & KEEP_LAST) != 0);
        trained_release(&t);
        config_release(&c);
        ground_release(&g);
        free(home);
        free(model);
        free(toy);
        free(folder);
        free(best);
        free(last);
    }
}

/* A checkpoint that cannot be written pauses the run; set going, it tries again. */
static void a_disk_that_refuses_pauses_the_run(void **state) {
    (void)state;
    struct ground g;
    struct trained t = { 0 };
    struct err e = ERR_INIT;
    char *home = test_folder(), *model = tiny_bert(home, "tiny", NULL), *toy = tiny_toy(home);
    char *folder = file_join(home, "run");
    ground_open(&g, model, toy, toy, 16);
    struct run_config c = ground_config(&g, "bitfit", 4, 6);
    struct run *r = run_new(1, &c, g.model, &g.task, folder, trained_sink(&t), &e);
    assert_non_null(r);
    /* A file in the folder's place refuses writers of any user. */
    assert_int_equal(rmdir(folder), 0);
    free(test_file(home, "run", "", 0));
    struct pool *p = pool_new(1);
    struct run_progress now;
    pool_add(p, r, 0);
    do assert_false(pool_wait(p, r, 0.001));
    while (run_progress(r, &now), now.state != RUN_PAUSED);
    assert_non_null(strstr(t.reason, "cannot save the checkpoint"));
    assert_int_equal(now.step, 5);
    assert_int_equal(remove(folder), 0);
    assert_int_equal(mkdir(folder, 0700), 0);
    run_unpause(r);
    pool_wake(p);
    assert_true(pool_wait(p, r, 30));
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_int_equal(t.points, 6);
    pool_free(p);
    run_free(r);
    config_release(&c);
    ground_release(&g);
    free(home);
    free(model);
    free(toy);
    free(folder);
}

/* A run that was killed before its first checkpoint: its stored config gives the same bits.  What writers
 * that were killed left behind goes, and nothing else. */
static void a_run_without_checkpoint_begins_anew(void **state) {
    (void)state;
    struct stopped s;
    struct ground g;
    struct trained whole, again;
    struct err e = ERR_INIT;
    stop_half_way(&s, "lora(r=2)");
    ground_open(&g, s.model, s.toy, s.toy, 16);
    train(&g, &s.c, NULL, 1, &whole);
    struct run *r = run_new(1, &s.c, g.model, &g.task, NULL, (struct event_sink){ NULL, NULL }, &e);
    struct run_config stored;
    config_copy(&stored, run_config_of(r));
    run_free(r);
    char *young = file_join(s.home, "young");
    test_ok(file_make_folder(young, &e), &e);
    assert_false(run_has_checkpoint(young));
    char *left = test_file(young, "last.safetensors.tmp-4711", "x", 1);
    char *mine = test_file(young, "notes.tmp-b", "x", 1);
    train_on(&g, &stored, young, 2, &again);
    assert_false(file_exists(left));
    assert_true(file_exists(mine));
    assert_true(run_has_checkpoint(young));
    assert_int_equal(again.points, whole.points);
    assert_memory_equal(again.loss, whole.loss, (size_t)whole.points * sizeof whole.loss[0]);
    assert_string_equal(again.sha256, whole.sha256);
    ground_release(&g);

    char *none = file_join(s.home, "none");
    tiny_weights(s.model, &(struct tiny){ .mul = 103 });
    ground_open(&g, s.model, s.toy, s.toy, 16);
    struct task *task = &g.task;
    assert_null(run_go_on(1, &stored, g.model, &(struct run_tasks){ 1, &task }, none,
                          (struct event_sink){ NULL, told_nothing }, &e));
    test_refused(e.code, ERR_INPUT, &e, "model.safetensors: changed since the run was started");
    tiny_weights(s.model, NULL);
    ground_release(&g);
    trained_release(&whole);
    trained_release(&again);
    config_release(&stored);
    free(young);
    free(left);
    free(mine);
    free(none);
    release(&s);
}

static const real *values_of(const struct plan *p, const struct trained *t, const char *name, size_t *count) {
    for (int i = 0; i < p->tensors; i++)
        if (!strcmp(p->tensor[i].name, name)) {
            *count = p->tensor[i].count;
            return t->params + p->tensor[i].offset;
        }
    fail_msg("no tensor %s", name);
    return NULL;
}

/* The first stage is what a run of its method alone is; the second begins with its values and a rate of its own, and trains
 * the head alone.  Stopped inside either, or between them, it goes on to the same bits. */
static void stages_go_on_from_each_other(void **state) {
    (void)state;
    struct ground g;
    struct trained alone, whole, part;
    struct err e = ERR_INIT;
    ground_open_toy(&g, true);
    struct run_config c = ground_config(&g, "lora(r=2)", 2, 5), plain;
    c.eval_every = 2;
    c.lr = 0.01;
    config_copy(&plain, &c);
    train(&g, &plain, NULL, 1, &alone);
    test_ok(config_set(&c, "regime", "stages(lora(r=2), steps=5, lr=0.01; lora(r=2) + ia3, train=head, steps=6, lr=0.02)", &e), &e);
    train(&g, &c, NULL, 2, &whole);
    assert_int_equal(whole.points, 11);
    assert_memory_equal(whole.loss, alone.loss, 5 * sizeof alone.loss[0]);
    assert_memory_equal(whole.lr, alone.lr, 5 * sizeof alone.lr[0]);
    assert_true(whole.lr[5] == 0.02);
    assert_non_null(strstr(whole.message, "stage 2 of 2 started"));
    for (int i = 0; i < whole.evaluations; i++) assert_true(!whole.evaluation[i].best || whole.evaluation[i].step > 5);

    struct plan *p = plan_new(&plain.method, &g.model->arch, g.task.classes, &e),
                *q = plan_new(&c.method, &g.model->arch, g.task.classes, &e);
    size_t n, m;
    for (int i = 0; i < p->tensors; i++) {
        const real *x = values_of(p, &alone, p->tensor[i].name, &n);
        if (p->tensor[i].kind == PLAN_HEAD) assert_memory_not_equal(x, values_of(q, &whole, p->tensor[i].name, &m), n * sizeof *x);
    }
    assert_memory_equal(values_of(p, &alone, "enc.1.self/linear.q.W_u", &n), values_of(q, &whole, "enc.1.self/linear.q.W_u", &m),
                        n * sizeof(real));
    plan_free(p);
    plan_free(q);
    char *home = test_folder();
    for (int stop = 2; stop <= 8; stop += 3) { /* in the first, at its end, in the second */
        char name[16], *folder;
        snprintf(name, sizeof name, "run%d", stop);
        folder = file_join(home, name);
        train_until(&g, &c, folder, 1, stop, &part);
        assert_int_equal(trained_state(&part), RUN_STOPPED);
        trained_release(&part);
        char *last = file_join(folder, "last.safetensors");
        struct predictor *open = predictor_open(last, NULL, g.model, &e); /* of the stage that it was stopped in */
        test_ok(open ? 0 : e.code, &e);
        assert_int_equal(predictor_plan(open)->method.count, stop > 5 ? c.method.count : plain.method.count);
        predictor_free(open);
        train_on(&g, &c, folder, 2, &part);
        assert_int_equal(part.points, 11 - stop);
        assert_memory_equal(part.loss, whole.loss + stop, (size_t)part.points * sizeof part.loss[0]);
        assert_string_equal(part.sha256, whole.sha256);
        trained_release(&part);
        free(last);
        free(folder);
    }
    trained_release(&alone);
    trained_release(&whole);
    config_release(&c);
    config_release(&plain);
    ground_release(&g);
    free(home);
}

/* The second stage of diff pruning changes as many values as its mask has places, those that the first one changed most, and
 * goes on from inside either stage to the same bits. */
static void a_mask_is_kept(void **state) {
    (void)state;
    struct ground g;
    struct trained whole, part;
    struct err e = ERR_INIT;
    ground_open_toy(&g, true);
    struct run_config c = ground_config(&g, "lora(r=2)", 2, 5);
    test_ok(config_set(&c, "regime",
                       "stages(diff-pruning, steps=5, lr=0.01; diff-pruning + pruning(mask=fixed, keep=0.1), steps=4, lr=0.02)",
                       &e), &e);
    train(&g, &c, NULL, 2, &whole);
    assert_int_equal(whole.points, 9);
    struct plan *p = plan_new(&c.method, &g.model->arch, g.task.classes, &e);
    size_t values, places, changed = 0;
    const real *v = values_of(p, &whole, "masked.values", &values), *at = values_of(p, &whole, "masked.places", &places);
    assert_int_equal(values, p->trained_method);
    assert_int_equal(places, 2 * values);
    for (size_t i = 1; i < values; i++) /* in order, each once */
        assert_true(at[2 * i] > at[2 * i - 2] || (at[2 * i] == at[2 * i - 2] && at[2 * i + 1] > at[2 * i - 1]));
    real **folded = xcalloc((size_t)g.model->tensors, sizeof *folded);
    test_ok(attach_merge(p, g.model, whole.params, folded, &e), &e);
    for (int i = 0; i < g.model->tensors; i++)
        for (int k = 0; folded[i] && k < g.model->tensor[i].rows * g.model->tensor[i].cols; k++)
            changed += folded[i][k] != g.model->weight[i][k];
    assert_true(changed <= values && changed > values * 9 / 10 && *v != 0);
    for (int i = 0; i < g.model->tensors; i++) free(folded[i]);
    free(folded);
    plan_free(p);
    char *home = test_folder();
    for (int stop = 2; stop <= 8; stop += 3) {
        char name[16], *folder;
        snprintf(name, sizeof name, "run%d", stop);
        folder = file_join(home, name);
        train_until(&g, &c, folder, 1, stop, &part);
        trained_release(&part);
        train_on(&g, &c, folder, 2, &part);
        assert_int_equal(part.points, 9 - stop);
        assert_memory_equal(part.loss, whole.loss + stop, (size_t)part.points * sizeof part.loss[0]);
        assert_string_equal(part.sha256, whole.sha256);
        trained_release(&part);
        free(folder);
    }
    trained_release(&whole);
    config_release(&c);
    ground_release(&g);
    free(home);
}

/* Stopped before its first cut, between two and behind the last one, a budget of ranks goes on as if it had not been. */
static void a_budget_goes_on_inside_its_schedule(void **state) {
    (void)state;
    struct ground g;
    struct trained whole, part;
    char *home = test_folder();
    ground_open_toy(&g, true);
    struct run_config c = ground_config(&g, "svd(r=4) + budget(target=2, begin=2, end=2, every=2)", 2, 10);
    c.lr = 0.01;
    train(&g, &c, NULL, 1, &whole);
    for (int stop = 1; stop < 10; stop += 2) {
        char name[16], *folder;
        snprintf(name, sizeof name, "run%d", stop);
        folder = file_join(home, name);
        train_until(&g, &c, folder, 2, stop, &part);
        trained_release(&part);
        train_on(&g, &c, folder, 1, &part);
        assert_int_equal(part.points, 10 - stop);
        assert_memory_equal(part.loss, whole.loss + stop, (size_t)part.points * sizeof part.loss[0]);
        assert_string_equal(part.sha256, whole.sha256);
        trained_release(&part);
        free(folder);
    }
    trained_release(&whole);
    config_release(&c);
    ground_release(&g);
    free(home);
}

/* Each half minute or with an evaluation, but never more than a hundredth of the time. */
static void checkpoints_take_little_of_the_time(void **state) {
    (void)state;
    assert_false(run_save_due(29, 0.01, false));
    assert_true(run_save_due(31, 0.01, false));
    assert_false(run_save_due(31, 0.5, false));
    assert_true(run_save_due(51, 0.5, false));
    assert_true(run_save_due(3, 0.01, true));
    assert_false(run_save_due(3, 0.5, true));
    assert_false(run_save_due(1, 0.001, true));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_options_are_refused_by_name),
        cmocka_unit_test(changed_files_are_refused_by_name),
        cmocka_unit_test(damaged_and_absent_checkpoints_are_refused),
        cmocka_unit_test(values_that_are_not_finite_are_refused),
        cmocka_unit_test(files_hold_what_they_should),
        cmocka_unit_test(best_survives_a_resume),
        cmocka_unit_test(evaluations_are_told_once),
        cmocka_unit_test(it_stops_after_an_evaluation),
        cmocka_unit_test(only_what_was_asked_for_is_kept),
        cmocka_unit_test(a_run_without_checkpoint_begins_anew),
        cmocka_unit_test(stages_go_on_from_each_other),
        cmocka_unit_test(a_mask_is_kept),
        cmocka_unit_test(a_budget_goes_on_inside_its_schedule),
        cmocka_unit_test(checkpoints_take_little_of_the_time),
        cmocka_unit_test(a_disk_that_refuses_pauses_the_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
