/* Runs over episodes: the same bits for any number of workers and after a stop, measured by held-out episodes, and what
 * makes none is refused by name. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/sample.h"
#include "core/engine/blas.h"
#include "core/train/config/complete.h"
#include "core/train/fewshot/fewshot_run.h"
#include "core/train/meta/episodes.h"
#include "core/train/run/checkpoint.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

static struct ground ground; /* the toy's rows */
static char *home, *corpus;

/* Sentences of three of 48 words, by rule. */
static void write_corpus(void) {
    static const char *const first[] = { "ba", "co", "di", "fu", "gra", "ho", "ki", "lo" },
                             *const last[] = { "rdon", "lmat", "npok", "stuv", "gorb", "mild" };
    struct buf b = BUF_INIT;
    for (int i = 0; i < 900; i++) {
        for (int k = 0; k < 3; k++) {
            int n = (i * 7 + k * k * 5 + i / 48) % 48;
            buf_printf(&b, "%s%s%s", k ? " a " : "", first[n % 8], last[n / 8]);
        }
        buf_putc(&b, '\n');
    }
    corpus = test_file(home, "corpus.txt", b.data, b.size);
    buf_release(&b);
}

static int open_ground(void **state) {
    (void)state;
    home = test_folder();
    char *model = tiny_bert(home, "tiny", NULL), *toy = tiny_toy(home);
    ground_open(&ground, model, toy, toy, 16);
    write_corpus();
    free(model);
    free(toy);
    return 0;
}

static int close_ground(void **state) {
    (void)state;
    ground_release(&ground);
    free(corpus);
    free(home);
    return 0;
}

/* Meta-Adapters with a small head. */
static const char method[] = "full(target=norms) + bottleneck(r=2; act=gelu, read=a.out, write=a.out, learn=outer) + "
                             "bottleneck(r=2; act=gelu, read=a.out, write=a.out) + "
                             "generated-head(hidden=6, width=5, rates=all)";
static const char usual[] = "meta(inner=2, support=8, query=4, tasks=3, inner-lr=learned(0.05))";

static struct run_config config(const char *regime, int64_t steps) {
    struct run_config c = ground_config(&ground, method, 32, steps);
    struct err e = ERR_INIT;
    test_ok(config_set(&c, "regime", regime, &e), &e);
    c.eval_every = 2;
    c.lr = 1e-2;
    return c;
}

static void same(const struct trained *a, const struct trained *b) {
    assert_string_equal(a->sha256, b->sha256);
    assert_true(a->evaluations > 0 && b->evaluations > 0);
    assert_true(a->evaluation[a->evaluations - 1].value == b->evaluation[b->evaluations - 1].value);
}

static void the_same_bits(void **state) {
    (void)state;
    static const char *const regimes[] = { usual, "meta(inner=2, support=8, query=4, tasks=3, order=fd, clip=0.5, "
                                                  "losses=every(1), inner-lr=0.1)" };
    for (size_t i = 0; i < COUNT_OF(regimes); i++) {
        struct trained one, two, half, rest;
        struct run_config c = config(regimes[i], 4);
        char *folder = test_folder();
        train(&ground, &c, NULL, 1, &one);
        assert_int_equal(trained_state(&one), RUN_FINISHED);
        assert_int_equal(one.points, 4);
        c.recompute = true; /* which changes nothing */
        train(&ground, &c, NULL, 2, &two);
        c.recompute = false;
        same(&one, &two);
        assert_memory_equal(one.loss, two.loss, 4 * sizeof *one.loss);
        train_until(&ground, &c, folder, 2, 3, &half);
        assert_int_equal(trained_state(&half), RUN_STOPPED);
        train_on(&ground, &c, folder, 1, &rest);
        assert_int_equal(trained_state(&rest), RUN_FINISHED);
        same(&one, &rest);
        assert_true(rest.loss[rest.points - 1] == one.loss[3]);
        trained_release(&one);
        trained_release(&two);
        trained_release(&half);
        trained_release(&rest);
        config_release(&c);
        free(folder);
    }
}

/* What is told, and that the rates stay in their range and are kept. */
static void it_is_measured_by_held_out_episodes(void **state) {
    (void)state;
    struct trained t;
    struct run_config c = config("meta(inner=2, support=8, query=4, tasks=2, inner-lr=learned(0.9))", 6);
    c.lr = 0.5; /* rates run into their bounds */
    train(&ground, &c, NULL, 2, &t);
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_true(t.evaluation[0].step == 0 && t.evaluation[1].step == 2); /* without meta-training, first */
    assert_string_equal(t.evaluation[0].split, "episodes");
    assert_string_equal(t.evaluation[0].rows, "64 held-out episodes");
    double after = trained_metric(&t, "after"), before = trained_metric(&t, "before");
    assert_true(after >= 0 && after <= 1 && before >= 0 && before <= 1);
    assert_true(isfinite(trained_metric(&t, "loss")) && isfinite(trained_metric(&t, "gain_error")));
    size_t rates = t.params_count - 9; /* two layers, outside of them, the pooler, label vectors, four maps */
    for (size_t i = rates; i < t.params_count; i++)
        assert_true(t.params[i] >= (real)1e-8 && t.params[i] <= 1);
    trained_release(&t);
    config_release(&c);
}

/* Meta-training makes adapting worth something: on the toy, whose classes are one word each. */
static void it_learns(void **state) {
    (void)state;
    struct trained t;
    struct run_config c = config("meta(inner=2, support=8, query=4, tasks=4, inner-lr=learned(0.1))", 60);
    c.eval_every = 60;
    c.lr = 2e-2;
    train(&ground, &c, NULL, 2, &t);
    assert_int_equal(trained_state(&t), RUN_FINISHED);
    assert_int_equal(t.evaluations, 2);
    assert_true(t.evaluation[1].value > t.evaluation[0].value + 0.2);
    trained_release(&t);
    config_release(&c);
}

/* ---- episodes ---- */

static struct episodes *opened(const char *regime, bool task, const char *options, struct err *e) {
    struct run_config c = config(regime, 1);
    struct task *of = &ground.task;
    const struct run_tasks tasks = { task, &of };
    char *copy = xstrdup(options), *rest = copy, *name;
    c.max_len = 16;
    while (!e->code && (name = strsep(&rest, " ")) && *name) config_set(&c, name, strsep(&rest, " "), e);
    const struct regime r = config_regime(&c);
    struct episodes *s = e->code ? NULL : episodes_open(&c, &r, ground.model, &tasks, e);
    free(copy);
    config_release(&c);
    return s;
}

/* Classes as even as they go in each batch and in the query; no row twice; and the same episode for the same number. */
static void episodes_are_even_and_pure(void **state) {
    (void)state;
    char *options = xprintf("episodes smlmt:%s ways 2-3", corpus);
    for (int kind = 0; kind < 2; kind++) {
        struct err e = ERR_INIT;
        struct episodes *s = opened(usual, !kind, kind ? options : "", &e);
        if (!s) fail_msg("%s", e.text);
        struct episodes_room a = { 0 }, b = { 0 };
        bool differ = false;
        for (uint64_t n = 0; n < 40; n++)
            for (int held = 0; held < 2; held++) {
                const struct episode *x = episodes_draw(s, held, n, &a);
                int rows = x->start[x->batches + 1], count[2][8] = { { 0 } };
                assert_int_equal(rows, 12);
                for (int i = 0; i < rows; i++) {
                    count[i >= 8][x->example[i].label]++;
                    for (int k = 0; k < i; k++)
                        assert_true(x->example[i].data->example[x->example[i].index].id !=
                                        x->example[k].data->example[x->example[k].index].id);
                }
                for (int of = 0; of < 2; of++)
                    for (int k = 1; k < x->classes; k++) assert_in_range(count[of][0] - count[of][k] + 1, 0, 2);
                for (int k = 0; k < x->classes; k++) { /* the first batch makes the label vectors */
                    int found = 0;
                    for (int i = 0; i < x->start[1]; i++) found += x->example[i].label == k;
                    assert_true(found > 0);
                }
                const struct episode *y = episodes_draw(s, held, n, &b), *z;
                assert_int_equal(x->classes, y->classes);
                for (int i = 0; i < rows; i++) assert_int_equal(x->example[i].index, y->example[i].index);
                z = episodes_draw(s, held, n + 1, &b);
                for (int i = 0; i < rows; i++)
                    differ = differ || x->example[i].data->example[x->example[i].index].id !=
                              z->example[i].data->example[z->example[i].index].id;
            }
        assert_true(differ);
        episodes_room_release(&a);
        episodes_room_release(&b);
        episodes_free(s);
    }
    free(options);
}

/* A corpus alone, and beside a task. */
static void a_run_on_a_corpus(void **state) {
    (void)state;
    for (int k = 0; k < 2; k++) {
        struct trained t[2];
        struct run_config c = config(usual, 2);
        struct task *task = &ground.task;
        const struct run_tasks tasks = { k, &task };
        c.episodes = xprintf("smlmt:%s", corpus);
        config_put(&c, "ways", "2-3");
        config_put(&c, "words", k ? "clusters(3)" : "frequency");
        c.mix = 0.5;
        if (k) c.task = xstrdup("toy");
        for (int i = 0; i < 2; i++) {
            struct err e = ERR_INIT;
            memset(&t[i], 0, sizeof t[i]);
            struct run *r = run_begin(1, &c, ground.model, &tasks, NULL, trained_sink(&t[i]), &e);
            if (!r) fail_msg("%s", e.text);
            if (!k) assert_string_equal(run_config_of(r)->task, "smlmt:corpus.txt");
            trained_run(r, i + 1, &t[i]);
            if (trained_state(&t[i]) != RUN_FINISHED) fail_msg("%s", t[i].reason);
        }
        same(&t[0], &t[1]);
        assert_non_null(strstr(t[0].message, "900 sentences"));
        trained_release(&t[0]);
        trained_release(&t[1]);
        config_release(&c);
    }
}

static void refused_episodes(const char *regime, bool task, const char *options, const char *why) {
    struct err e = ERR_INIT;
    assert_null(opened(regime, task, options, &e));
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
}

static void what_makes_no_episodes_is_named(void **state) {
    (void)state;
    char *options = xprintf("episodes smlmt:%s ways 4", corpus), *few = test_file(home, "few.txt", "one two three\n", 14),
         *small = xprintf("episodes smlmt:%s ways 2", few), *bytes = test_file(home, "bytes.txt", "good\n\xff\n", 7),
         *bad = xprintf("episodes smlmt:%s ways 2", bytes);
    refused_episodes("meta(support=12, query=10, inner=2)", true, "", "need 12 + 10");
    refused_episodes("meta(support=8, query=4, inner=8)", true, "", "too many classes for an episode: found 2");
    refused_episodes("meta(support=8, query=4, inner=4)", false, options, "the first support batch has 2 examples");
    refused_episodes("meta(support=10, query=4, inner=2)", false, small, "too small");
    refused_episodes(usual, false, bad, "line 2: not valid UTF-8");
    refused_episodes(usual, false, "episodes smlmt:/nowhere ways 2", "/nowhere");
    refused_episodes(usual, false, "episodes corpus.txt", "must be smlmt:FILE");
    refused_episodes(usual, false, "episodes smlmt:x ways 1-2", "--ways 1-2");
    refused_episodes(usual, false, "episodes smlmt:x words odd", "--words odd");
    free(options);
    free(few);
    free(small);
    free(bytes);
    free(bad);
}

/* Too few rows: the support and query that the message names make episodes. */
static void too_few_rows_name_what_works(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    assert_null(opened("meta(support=120, query=10, inner=2)", true, "", &e));
    const char *way = strstr(e.text, "'meta(");
    if (!way || !strstr(e.text, "--regime")) fail_msg("%s", e.text);
    char *regime = xprintf("%.*s, inner=2)", (int)strcspn(way + 1, ")"), way + 1);
    struct err none = ERR_INIT;
    struct episodes *s = opened(regime, true, "", &none);
    if (!s) fail_msg("%s: %s", regime, none.text);
    episodes_free(s);
    free(regime);
    /* known before, in the same words, by what is known of the rows */
    struct run_config c = config("meta(support=120, query=10, inner=2)", 2);
    struct config_facts f = { .tasks = 1, .of = { config_data_known("toy", &ground.task) } };
    assert_int_equal(config_fits(&c, &f, &none), ERR_INPUT);
    assert_string_equal(none.text, e.text);
    config_release(&c);
}

static void refused_run(const char *text, const char *regime, const char *why) {
    struct err e = ERR_INIT;
    struct run_config c = config(regime, 2);
    struct task *task = &ground.task;
    const struct run_tasks tasks = { 1, &task };
    test_ok(config_set(&c, "method", text, &e), &e);
    int rc = config_complete(&c, ground.model, &tasks, &e);
    if (!rc) rc = run_check(&c, ground.model, &tasks, &e);
    assert_true(rc < 0);
    if (!strstr(e.text, why)) fail_msg("\"%s\" does not say \"%s\"", e.text, why);
    config_release(&c);
}

static void what_has_no_inner_loop_is_named(void **state) {
    (void)state;
    refused_run("prefix-mlp(l=2)", usual, "source=mlp");
    refused_run("softmax(l=2; site=self, source=prompt-sep)", usual, "source=prompt-sep");
    refused_run("softmax(l=2; site=self, source=prompt-global) + hyper", usual, "source=prompt-global");
    refused_run("adapter-pfeiffer(r=2)", "meta(inner=2, support=8, query=4, order=fd)", "act=relu");
    refused_run("lora(r=2) + generated-head", "single", "use --regime meta");
}

/* Compose tells by the same rules what petri train refuses. */
static void a_budget_is_told_beside_the_rest(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c = config(usual, 2);
    struct finding found[4];
    test_ok(config_set(&c, "method", "adalora", &e), &e);
    assert_int_equal(regime_check(&c, &ground.model->arch, found, 4), 1);
    assert_string_equal(found[0].rule, "R8");
    assert_int_equal(found[0].level, LEVEL_ERROR);
    config_release(&c);
    refused_run("adalora", usual, "--regime meta: rank budgets are not supported in episodic training");
}

/* A model of the same weights that reads texts otherwise is not the run's. */
static void it_is_adapted_on_its_own_model(void **state) {
    (void)state;
    struct trained t;
    struct err e = ERR_INIT;
    struct run_config c = config(usual, 2);
    char *folder = test_folder(), *last = checkpoint_path(folder, true), *cased = tiny_bert(home, "cased", NULL);
    train(&ground, &c, folder, 1, &t);
    struct fewshot_meta *x = fewshot_meta_open(last, ground.model, &e);
    if (!x) fail_msg("%s", e.text);
    fewshot_meta_free(x);
    free(test_file(cased, "tokenizer_config.json", "{\"do_lower_case\":false}", 23));
    struct model *m = model_load(cased, &e);
    if (!m) fail_msg("%s", e.text);
    assert_string_equal(m->sha256, ground.model->sha256);
    assert_null(fewshot_meta_open(last, m, &e));
    test_refused(e.code, ERR_INPUT, &e, "tokenizer_config.json");
    model_release(m);
    trained_release(&t);
    config_release(&c);
    free(folder);
    free(last);
    free(cased);
}

/* A draw of all train rows, scored on these: accuracy and loss. */
static void adapt_and_score(const struct fewshot_meta *x, const struct run_config *c, const struct dataset *dev, double out[2]) {
    struct task task = ground.task;
    struct fewshot how = { .ks = 1, .k = { 1 }, .draws = 1 };
    struct fewshot_result result = { .k = 1 };
    struct fewshot_meta_draw draw = { .task = &task, .result = &result };
    struct pool *pool = pool_new(1);
    task.dev[0] = *dev;
    fewshot_meta_draws(x, c, &how, &draw, 1, pool_crew(pool));
    assert_string_equal(draw.failure, "");
    out[0] = fewshot_metric(&result.scores, "accuracy")->value;
    out[1] = fewshot_metric(&result.scores, "loss")->value;
    pool_free(pool);
}

/* Rows without a label are in no score. */
static void rows_without_a_label_are_not_scored(void **state) {
    (void)state;
    struct trained t;
    struct err e = ERR_INIT;
    struct run_config c = config(usual, 2);
    struct dataset without;
    int pick[64], n = 0;
    double some[2], all[2];
    char *folder = test_folder(), *last = checkpoint_path(folder, true);
    train(&ground, &c, folder, 1, &t);
    struct fewshot_meta *x = fewshot_meta_open(last, ground.model, &e);
    if (!x) fail_msg("%s", e.text);
    struct dataset *d = &ground.task.dev[0];
    struct example was = d->example[1];
    for (int i = 0; i < (int)d->examples; i++)
        if (i != 1) pick[n++] = i;
    dataset_view(&without, d, pick, n);
    d->example[1].labeled = false;
    d->example[1].label = -1;
    adapt_and_score(x, &c, d, some);
    adapt_and_score(x, &c, &without, all);
    assert_true(some[0] == all[0] && fabs(some[1] - all[1]) < 1e-6);
    d->example[1] = was;
    dataset_view_release(&without);
    fewshot_meta_free(x);
    trained_release(&t);
    config_release(&c);
    free(folder);
    free(last);
}

/* Draw 1 has no file. */
static int draw_of(void *self, int k, int draw, struct task *out, char why[200], struct err *e) {
    static const int pick[] = { 0, 1, 2, 3 };
    (void)self;
    (void)k;
    (void)e;
    *out = (struct task){ 0 };
    if (draw == 1) snprintf(why, 200, "its file is not there");
    else dataset_view(&out->train, &ground.task.train, pick, COUNT_OF(pick));
    return 0;
}

/* A draw that is left out says why; the others are trained by the inner rule and keep their tensors. */
static void a_draw_is_left_out(void **state) {
    (void)state;
    struct trained t;
    struct err e = ERR_INIT;
    struct run_config c = config(usual, 2);
    const struct fewshot how = { .ks = 1, .k = { 4 }, .draws = 3, .per_class = 1 };
    char *folder = test_folder(), *last = checkpoint_path(folder, true), *kept = file_join(folder, "draws"),
         *first = checkpoint_path(kept, false);
    train(&ground, &c, folder, 1, &t);
    struct pool *pool = pool_new(2);
    struct fewshot_meta *x = fewshot_meta_open(last, ground.model, &e);
    if (!x) fail_msg("%s", e.text);
    struct fewshot_work w = { .how = &how, .task_name = "toy", .c = &c, .m = ground.model, .task = &ground.task, .rows = draw_of,
                              .meta = x };
    assert_true(fewshot_by_rule(&w));
    for (int draw = 0; draw < 3; draw++) {
        struct fewshot_draw d;
        test_ok(fewshot_open(&w, 4, draw, &d, &e), &e);
        assert_string_equal(d.result.left_out, draw == 1 ? "its file is not there" : "");
        struct fewshot_meta_draw m = { .task = &d.task, .result = &d.result, .folder = draw ? NULL : kept };
        if (draw != 1) fewshot_meta_draws(x, &c, &how, &m, 1, pool_crew(pool));
        assert_int_equal(d.result.steps, draw == 1 ? 0 : 2);
        free(m.path);
        if (draw != 1) dataset_view_release(&d.task.train);
        d.task = (struct task){ 0 };
        fewshot_close(&d);
    }
    assert_true(file_exists(first));
    fewshot_meta_free(x);
    pool_free(pool);
    trained_release(&t);
    config_release(&c);
    free(folder);
    free(last);
    free(kept);
    free(first);
}

/* Any method has the head of episodes; the description that comes of it is complete. */
static void any_method(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct run_config c = config(usual, 2), again;
    struct task *task = &ground.task;
    const struct run_tasks tasks = { 1, &task };
    test_ok(config_set(&c, "method", "lora(r=2)", &e), &e);
    c.steps = 0;
    test_ok(config_complete(&c, ground.model, &tasks, &e), &e);
    assert_true(c.method.generated.on && c.steps == 1000 && c.epochs == 0);
    assert_string_equal(c.metric, "after");
    config_copy(&again, &c);
    test_ok(config_complete(&again, ground.model, &tasks, &e), &e);
    assert_null(config_difference(&c, &again));
    char *json = config_json(&c);
    struct run_config read;
    test_ok(config_from_json(json, strlen(json), &read, &e), &e);
    assert_null(config_difference(&c, &read));
    free(json);
    config_release(&read);
    config_release(&again);
    config_release(&c);
}

int main(int argc, char **argv) {
    (void)argc;
    blas_start(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_bits),
        cmocka_unit_test(it_is_measured_by_held_out_episodes),
        cmocka_unit_test(it_learns),
        cmocka_unit_test(episodes_are_even_and_pure),
        cmocka_unit_test(a_run_on_a_corpus),
        cmocka_unit_test(what_makes_no_episodes_is_named),
        cmocka_unit_test(too_few_rows_name_what_works),
        cmocka_unit_test(what_has_no_inner_loop_is_named),
        cmocka_unit_test(a_budget_is_told_beside_the_rest),
        cmocka_unit_test(it_is_adapted_on_its_own_model),
        cmocka_unit_test(rows_without_a_label_are_not_scored),
        cmocka_unit_test(a_draw_is_left_out),
        cmocka_unit_test(any_method),
    };
    return cmocka_run_group_tests(tests, open_ground, close_ground);
}
