/* --share-frozen: layers below the method run once a row.  The same bits whatever of it is kept, for any workers and
 * runs; the losses of a run without it where nothing is dropped; and what is not shared is told. */
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/shelf.h"
#include "core/method/frozen_layers.h"
#include "core/train/run/frozen.h"
#include "core/train/run/state.h"
#include "tests/support/mixed.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static struct ground ground;
static struct mixed mixed[MIXED_MODELS];

static int open_all(void **state) {
    (void)state;
    ground_open_toy(&ground, true);
    mixed_open_both(mixed, NULL);
    return 0;
}

static int close_all(void **state) {
    (void)state;
    ground_release(&ground);
    mixed_release_both(mixed);
    return 0;
}

/* A cache of its own. */
static int fresh_cache(void **state) {
    char *folder = test_folder();
    (void)state;
    setenv("XDG_CACHE_HOME", folder, 1);
    free(folder);
    return 0;
}

static struct run_config config(const char *method, int steps) {
    struct run_config c = ground_config(&ground, method, 6, steps);
    c.share_frozen = true;
    c.dropout = 0.1;
    c.lr = 1e-2;
    return c;
}

static void same_from(const struct trained *a, const struct trained *b, int from) {
    assert_int_equal(trained_state(b), RUN_FINISHED);
    assert_int_equal(a->points - from, b->points);
    assert_memory_equal(a->loss + from, b->loss, (size_t)b->points * sizeof a->loss[0]);
    assert_memory_equal(a->norm + from, b->norm, (size_t)b->points * sizeof a->norm[0]);
    assert_string_equal(a->sha256, b->sha256);
    assert_true(a->evaluation[a->evaluations - 1].loss == b->evaluation[b->evaluations - 1].loss);
}

static void same_run(const struct trained *a, const struct trained *b) { same_from(a, b, 0); }

/* Trains and compares. */
static void trains_the_same(const struct run_config *c, int workers, const struct trained *as) {
    struct trained t;
    train(&ground, c, NULL, workers, &t);
    same_run(as, &t);
    trained_release(&t);
}

static size_t kept(uint64_t *bytes) {
    char *folder = frozen_folder();
    size_t n;
    *bytes = shelf_usage(folder, &n);
    free(folder);
    return n;
}

/* A line of shell for each kept file, "$f". */
static void each_file(const char *line) {
    char *folder = frozen_folder(), *all = xprintf("for f in %s/*.shelf; do %s; done", folder, line);
    assert_int_equal(system(all), 0);
    free(folder);
    free(all);
}

static void kept_or_not_is_the_same(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2,layers=2-)", "adapter-pfeiffer(r=4,layers=2-)", "full(layers=2-)",
                                           "prefix(l=3,layers=2-)", "head" };
    uint64_t bytes;
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct run_config c = config(methods[i], 12);
        struct trained cold, other;
        fresh_cache(NULL);
        train(&ground, &c, NULL, 1, &cold);
        assert_non_null(strstr(cold.message, strcmp(methods[i], "head") ? "1 of 2 layers" : "2 of 2 layers"));
        assert_int_equal(kept(&bytes), 1); /* train and dev rows are the same here */
        for (int workers = 1; workers <= 3; workers++) trains_the_same(&c, workers, &cold);
        c.cache_limit = 0;
        trains_the_same(&c, 2, &cold);
        c.cache_limit = 4096;
        each_file("rm $f");
        trains_the_same(&c, 3, &cold);
        c.seed = 2;
        train(&ground, &c, NULL, 2, &other);
        assert_string_not_equal(other.sha256, cold.sha256);
        assert_int_equal(kept(&bytes), 1);
        trained_release(&other);
        trained_release(&cold);
        config_release(&c);
    }
}

/* Of what was kept something is broken, cut off, another's, or cannot be reached. */
static void damage_changes_nothing(void **state) {
    (void)state;
    static const char *const harm[] = {
        "printf '\\x55\\x55\\x55\\x55' | dd of=$f bs=1 seek=1500 conv=notrunc status=none",
        "printf x | dd of=$f bs=1 seek=3 conv=notrunc status=none", "truncate -s 1800 $f", "truncate -s 5 $f", "> $f",
        "echo 'a text' > $f", "head -c 5000 /dev/zero > $f", "rm $f; ln -s /dev/null $f", "rm $f; mkdir $f",
    };
    struct run_config c = config("lora(r=2,layers=2-)", 8);
    struct trained cold;
    train(&ground, &c, NULL, 1, &cold);
    for (size_t i = 0; i < COUNT_OF(harm); i++) {
        each_file(harm[i]);
        trains_the_same(&c, 2, &cold);
    }
    trained_release(&cold);
    config_release(&c);
}

/* A shelf that is whole, but holds what this program does not compute. */
static void anothers_values_are_not_believed(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2,layers=2-)", 8);
    struct trained cold;
    const struct dataset *d = &ground.task.train;
    size_t width = (size_t)ground.model->arch.width, unit = width * sizeof(real);
    char *folder = frozen_folder(), head[1024] = "";
    c.cache_limit = 1;
    train(&ground, &c, NULL, 1, &cold);
    char *line = xprintf("head -c 1024 %s/*.shelf", folder);
    FILE *f = popen(line, "r");
    assert_true(fread(head, 1, sizeof head, f) == sizeof head);
    pclose(f);
    *strstr(head, "records") = '\0'; /* what the shelf was opened with */
    real *other = xcalloc(d->start[d->examples], unit);
    struct err e = ERR_INIT;
    for (int in_use = 0; in_use < 2; in_use++) {
        struct shelf *s = shelf_open(folder, head, d->examples, d->start, unit, 1 << 20, &e);
        assert_non_null(s);
        for (size_t i = 0; i < d->examples; i++) test_ok(shelf_write(s, i, other, &e), &e);
        if (!in_use) shelf_close(s);
        struct trained t;
        train(&ground, &c, NULL, 1, &t);
        same_run(&cold, &t);
        assert_true((strstr(t.message, "another version of petri") != NULL) == in_use);
        trained_release(&t);
        if (in_use) shelf_close(s);
    }
    free(other);
    free(line);
    free(folder);
    trained_release(&cold);
    config_release(&c);
}

static void where_nothing_can_be_kept_it_is_told(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2,layers=2-)", 8);
    struct trained cold, t;
    char *folder = test_folder(), *file = test_file(folder, "file", "x", 1);
    train(&ground, &c, NULL, 1, &cold);
    setenv("XDG_CACHE_HOME", file, 1);
    train(&ground, &c, NULL, 2, &t);
    same_run(&cold, &t);
    assert_non_null(strstr(t.message, file));
    trained_release(&t);
    char *home = getenv("HOME") ? xstrdup(getenv("HOME")) : NULL;
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "relative", 1);
    assert_null(frozen_folder());
    train(&ground, &c, NULL, 2, &t);
    same_run(&cold, &t);
    assert_non_null(strstr(t.message, "no cache folder: set XDG_CACHE_HOME or HOME"));
    trained_release(&t);
    setenv("HOME", folder, 1);
    train(&ground, &c, NULL, 2, &t);
    same_run(&cold, &t);
    char *below = frozen_folder();
    assert_int_equal(strncmp(below, folder, strlen(folder)), 0);
    assert_true(file_is_folder(below));
    free(below);
    trained_release(&t);
    if (home) setenv("HOME", home, 1);
    free(home);
    free(file);
    free(folder);
    trained_release(&cold);
    config_release(&c);
}

static void processes_fill_at_once(void **state) {
    (void)state;
    enum { PROCESSES = 3 };
    struct run_config c = config("lora(r=2,layers=2-)", 8);
    struct trained t;
    int pipes[2];
    char sha256[PROCESSES][65];
    assert_int_equal(pipe(pipes), 0);
    for (int i = 0; i < PROCESSES; i++) {
        if (fork()) continue;
        train(&ground, &c, NULL, 1 + i % 2, &t);
        _exit(write(pipes[1], t.sha256, 65) == 65 ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) assert_int_equal(read(pipes[0], sha256[i], 65), 65);
    while (wait(NULL) > 0) continue;
    c.cache_limit = 0;
    train(&ground, &c, NULL, 1, &t);
    for (int i = 0; i < PROCESSES; i++) assert_string_equal(sha256[i], t.sha256);
    close(pipes[0]);
    close(pipes[1]);
    trained_release(&t);
    config_release(&c);
}

static void a_stopped_run_goes_on_the_same(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2,layers=2-)", 9), off;
    struct trained whole, rest;
    struct err e = ERR_INIT;
    char *folder = test_folder();
    train(&ground, &c, NULL, 1, &whole);
    train_until(&ground, &c, folder, 2, 4, &rest);
    trained_release(&rest);
    config_copy(&off, &c);
    off.share_frozen = false;
    struct task *task = &ground.task;
    const struct run_tasks tasks = { 1, &task };
    assert_null(run_go_on(1, &off, ground.model, &tasks, folder, (struct event_sink){ 0 }, &e));
    test_refused(e.code, ERR_USAGE, &e, "--share-frozen: the run was started with on, not off");
    each_file("rm $f");
    train_on(&ground, &c, folder, 3, &rest);
    same_from(&whole, &rest, 4);
    trained_release(&rest);
    trained_release(&whole);
    free(folder);
    config_release(&off);
    config_release(&c);
}

/* Without dropout the two ways are the same sums in another order. */
static void losses_are_those_of_a_run_without(void **state) {
    (void)state;
    static const char *const methods[] = { "lora(r=2,layers=2-)", "full(layers=2-)", "head" };
    for (size_t i = 0; i < COUNT_OF(methods); i++) {
        struct run_config c = config(methods[i], 50);
        struct trained on, off;
        c.dropout = 0;
        train(&ground, &c, NULL, 2, &on);
        c.share_frozen = false;
        train(&ground, &c, NULL, 2, &off);
        for (int k = 0; k < 50; k++) assert_true(fabs(on.loss[k] - off.loss[k]) < 1e-4);
        trained_release(&on);
        trained_release(&off);
        config_release(&c);
    }
}

/* ---- several tasks, texts, losses across the batch ---- */

static const struct {
    int of;
    const char *method;
} shared[] = {
    { BERT, "lora(r=2,layers=2-)" },
    { BERT, "lora(r=2,layers=2-) + retriever(hidden=4, width=3)" },
    { BERT, "bottleneck(r=2; read=f.in, write=f.out, source=task, layers=2-) + retriever(width=3, tap=1)" },
    { BERT, "linear(r=2; read=f.in, write=f.pre, source=hyper, layers=2-) + "
            "hyper(task=3, layer=2, place=0, hidden=4, inner=3, start=fan)" },
    { BERT, "linear(r=2; read=f.in, write=f.pre, source=hyper, layers=2-) + "
            "hyper(task=3, layer=2, place=0, hidden=4, inner=3, instance=pooled, tap=1)" },
    { BERT, "linear(r=2; read=f.in, write=f.pre, source=hyper, layers=2-) + "
            "hyper(task=3, layer=2, place=0, hidden=4, inner=3, instance=pooled, pass=2)" },
    { T5, "lora(r=2,stack=decoder)" },
    { T5, "lora(r=2,stack=decoder) + lora(r=2,stack=encoder,layers=2-)" },
    { T5, "bottleneck(r=2; read=f.in, write=f.out, stack=decoder, source=hyper) + "
          "hyper(task=3, layer=2, place=0, hidden=4, inner=3, instance=pooled)" },
};

static void tasks_and_texts_share_too(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(shared); i++) {
        struct mixed *m = &mixed[shared[i].of];
        struct run_config c = mixed_config(m, shared[i].method, 8, 6);
        struct trained cold, t, off;
        fresh_cache(NULL);
        c.share_frozen = true;
        c.lr = 1e-2;
        mixed_train(m, &c, NULL, 1, 0, &cold);
        if (!strstr(cold.message, "layers")) fail_msg("%s: %s", shared[i].method, cold.message);
        mixed_train(m, &c, NULL, 3, 0, &t);
        same_run(&cold, &t);
        trained_release(&t);
        c.cache_limit = 0;
        c.join = config_has_join(&c) ? JOIN_TWICE : c.join;
        mixed_train(m, &c, NULL, 2, 0, &t);
        same_run(&cold, &t);
        trained_release(&t);
        config_release(&c);
        c = mixed_config(m, shared[i].method, 8, 6);
        c.lr = 1e-2;
        mixed_train(m, &c, NULL, 1, 0, &off);
        for (int k = 0; k < off.points; k++) assert_true(fabs(cold.loss[k] - off.loss[k]) < 1e-4);
        trained_release(&off);
        trained_release(&cold);
        config_release(&c);
    }
}

/* ---- what it is worth ---- */

/* The first rows of a split of reviews as a file; caller frees. */
static char *few_rows(const char *folder, const char *split, int rows) {
    char *from = test_path("assets/tasks/reviews"), *to = xprintf("%s/%s.tsv", folder, split);
    char *line = xprintf("head -n %d %s/%s.tsv | sed '1s/sentence/text/' > %s", rows + 1, from, split, to);
    assert_int_equal(system(line), 0);
    free(from);
    free(line);
    return to;
}

/* Twelve runs of three epochs over MiniLM's top two layers, filling included, in turns with what they cost without. */
static void twelve_runs_cost_about_half(void **state) {
    (void)state;
    if (!test_slow()) test_skip("twelve runs on MiniLM are in make test-slow");
    test_needs("assets/models/all-MiniLM-L6-v2");
    test_needs("assets/tasks/reviews");
    char *folder = test_folder(), *model = test_path("assets/models/all-MiniLM-L6-v2");
    char *rows = few_rows(folder, "train", 48), *dev = few_rows(folder, "dev", 24);
    struct ground g;
    double seconds[2] = { 0 };
    ground_open(&g, model, rows, dev, 128);
    for (int i = 0; i < 12; i++)
        for (int share = 0; share < 2; share++) {
            struct run_config c = ground_config(&g, "lora(r=8,layers=5-6)", 16, 9);
            struct trained t;
            c.share_frozen = share;
            c.dropout = -1;
            c.seed = 1 + (uint64_t)i % 4;
            c.lr = 1e-3 / (1 + i / 4);
            c.eval_every = 3;
            clock_t from = clock();
            train(&g, &c, NULL, 1, &t);
            seconds[share] += (double)(clock() - from) / CLOCKS_PER_SEC;
            trained_release(&t);
            config_release(&c);
        }
    print_message("%.1f s of processor without, %.1f with: %.3f\n", seconds[0], seconds[1], seconds[1] / seconds[0]);
    assert_true(seconds[1] <= 0.55 * seconds[0]);
    ground_release(&g);
    free(rows);
    free(dev);
    free(model);
    free(folder);
}

/* ---- what is shared ---- */

/* On 2 layers, and 2 and 2. */
static void who_shares_how_much(void **state) {
    (void)state;
    static const struct {
        int of;
        const char *method;
        int layers;
        const char *why;
    } rows[] = {
        { BERT, "lora", 0, "linear changes layer 1" },
        { BERT, "lora(layers=2-)", 1, NULL },
        { BERT, "head", 2, NULL },
        { BERT, "bitfit", 0, "the embeddings" },
        { BERT, "bitfit(layers=2-)", 1, NULL },
        { BERT, "full(target=embeddings)", 0, "the embeddings" },
        { BERT, "prompt-tuning(l=2)", 0, "prompt changes the embeddings" },
        { BERT, "prompt-tuning(l=2) + lora(layers=2-)", 0, "prompt changes the embeddings" },
        { BERT, "vera(r=4,layers=2-)", 1, NULL },
        { BERT, "dora(r=2,layers=2-)", 1, NULL },
        { BERT, "prefix-mlp(l=2,mlp=3,layers=2-)", 1, NULL },
        { BERT, "compacter(r=4)", 0, "full changes the embeddings" }, /* norms */
        { BERT, "linear(r=2; read=f.in, write=f.pre, source=hyper) + hyper(task=3, layer=2, place=0, hidden=4, inner=3)", 0,
          "linear changes layer 1" },
        { BERT, "linear(r=2; read=f.in, write=f.pre, source=hyper, layers=2-) + hyper(task=3, layer=2, place=0, hidden=4, "
                "inner=3, instance=pooled, pass=2)", 1, NULL },
        { BERT, "head + retriever(width=3)", 2, NULL },
        { BERT, "head + retriever(width=3, tap=1)", 1, NULL },
        { T5, "lora", 0, "linear changes layer 1" },
        { T5, "lora(stack=decoder)", 2, NULL },
        { T5, "lora(stack=decoder) + lora(stack=encoder,layers=2-)", 1, NULL },
        { T5, "full(target=embeddings)", 0, "the embeddings" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const struct arch *a = &mixed[rows[i].of].model->arch;
        struct err e = ERR_INIT;
        struct method m;
        char why[FROZEN_LAYERS_REASON] = "";
        const char *const names[] = { "a", "b" };
        const int outputs[] = { rows[i].of == T5 ? 0 : 2, rows[i].of == T5 ? 0 : 2 };
        const struct plan_tasks tasks = { 2, names, outputs, NULL };
        test_ok(method_parse(rows[i].method, &m, &e), &e);
        struct plan *p = plan_new_tasks(&m, a, &tasks, &e);
        if (!p) fail_msg("%s: %s", rows[i].method, e.text);
        int layers = method_frozen_layers(p, a, why);
        if (layers != rows[i].layers) fail_msg("%s: %d layers", rows[i].method, layers);
        if (rows[i].why && !strstr(why, rows[i].why)) fail_msg("%s: %s", rows[i].method, why);
        plan_free(p);
    }
}

/* Then it is the run that it would be without, and says so. */
static void where_nothing_is_shared_it_is_told(void **state) {
    (void)state;
    struct run_config c = config("lora(r=2)", 6);
    struct trained on, off;
    uint64_t bytes;
    train(&ground, &c, NULL, 1, &on);
    assert_non_null(strstr(on.message, "no effect: linear changes layer 1"));
    assert_int_equal(kept(&bytes), 0);
    c.share_frozen = false;
    train(&ground, &c, NULL, 1, &off);
    same_run(&off, &on);
    trained_release(&on);
    trained_release(&off);
    config_release(&c);
}

static void it_is_in_the_record_where_it_is_on(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c, back;
    char off[65], on[65];
    config_init(&c);
    char *json = config_json(&c);
    assert_null(strstr(json, "share_frozen"));
    assert_null(strstr(json, "cache_limit"));
    free(json);
    config_key(&c, off);
    assert_true(config_set(&c, "share-frozen", "yes", &e) != 0);
    test_ok(config_set(&c, "share-frozen", "on", &e), &e);
    test_ok(config_set(&c, "cache-limit", "7", &e), &e);
    config_key(&c, on);
    assert_string_not_equal(on, off);
    json = config_json(&c);
    assert_non_null(strstr(json, "\"share_frozen\":\"on\""));
    test_ok(config_from_json(json, strlen(json), &back, &e), &e);
    assert_true(back.share_frozen && back.cache_limit == 7);
    back.cache_limit = 0;
    assert_null(config_difference(&c, &back));
    back.share_frozen = false;
    assert_string_equal(config_difference(&c, &back), "share-frozen");
    config_key(&back, on);
    assert_string_equal(on, off);
    free(json);
    json = config_command(&c);
    assert_non_null(strstr(json, " --share-frozen on --cache-limit 7"));
    free(json);
    config_release(&c);
    config_release(&back);
}

static void a_limit_of_nothing_is_refused(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c = config("lora(r=2,layers=2-)", 6);
    c.share_frozen = false;
    c.cache_limit = 7;
    assert_null(run_new(1, &c, ground.model, &ground.task, NULL, (struct event_sink){ 0 }, &e));
    test_refused(e.code, ERR_USAGE, &e, "--cache-limit: applies only with --share-frozen on");
    config_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(kept_or_not_is_the_same, fresh_cache),
        cmocka_unit_test_setup(damage_changes_nothing, fresh_cache),
        cmocka_unit_test_setup(anothers_values_are_not_believed, fresh_cache),
        cmocka_unit_test_setup(where_nothing_can_be_kept_it_is_told, fresh_cache),
        cmocka_unit_test_setup(processes_fill_at_once, fresh_cache),
        cmocka_unit_test_setup(a_stopped_run_goes_on_the_same, fresh_cache),
        cmocka_unit_test_setup(losses_are_those_of_a_run_without, fresh_cache),
        cmocka_unit_test_setup(tasks_and_texts_share_too, fresh_cache),
        cmocka_unit_test_setup(twelve_runs_cost_about_half, fresh_cache),
        cmocka_unit_test_setup(who_shares_how_much, fresh_cache),
        cmocka_unit_test_setup(where_nothing_is_shared_it_is_told, fresh_cache),
        cmocka_unit_test_setup(it_is_in_the_record_where_it_is_on, fresh_cache),
        cmocka_unit_test_setup(a_limit_of_nothing_is_refused, fresh_cache),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
