/* Each kind of sentence about a run: a record that has it, and one that falls just short of it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why.h"
#include "core/base/mem.h"
#include "core/method/space.h"
#include "core/train/config/complete.h"
#include "core/train/config/config.h"
#include "tests/store/support.h"
#include "tests/support/command.h"

static struct store *history;

/* A record as it is to be. */
struct record {
    const char *option[8];      /* pairs: "lr", "3" */
    const char *report[2];      /* of train and dev */
    enum store_state state;
    const char *reason;
    int64_t step, steps;        /* 0: as many as points; as step */
    int points;
    double (*loss)(int i), (*norm)(int i);
    int evals;
    const char *metric, *rows;  /* of the evaluations, "accuracy", "dev 200" */
    double value[8], eval_loss[8], majority;
    bool constant_from[8];      /* of each evaluation, whether it is constant */
    const char *undefined;      /* of the last evaluation */
    const char *beside;         /* a further metric of each evaluation, and its value */
    double beside_value;
    const char *same_sha;       /* of both files */
    const char *dev_sha;        /* as the history has it */
    const char *test_metric;
    double test;
    const char *moved[4];       /* numbers of the run's end */
    double moved_value[4];
    const char *weights;        /* SHA-256 of the parameters at its end */
};

static void add_points(int64_t id, const struct record *x) {
    int loss = key_of(history, "loss", -1), norm = key_of(history, "grad_norm", 0);
    for (int i = 0; i < x->points; i++) {
        point(history, id, i + 1, loss, x->loss ? x->loss(i) : 1.0 / (i + 2));
        point(history, id, i + 1, norm, x->norm ? x->norm(i) : 0.5);
    }
}

static void add_split(int64_t id, int64_t step, const char *split, const char *rows, const struct store_metric *m, int count, bool constant,
                      bool best) {
    const struct store_evaluation v = { .run = id, .step = step, .split = split, .rows = rows, .constant = constant, .best = best,
                                        .count = count, .metric = m };
    assert_int_equal(store_evaluation(history, &v), 0);
}

static void add_evals(int64_t id, const struct record *x) {
    const char *metric = x->metric ? x->metric : "accuracy";
    for (int i = 0; i < x->evals; i++) {
        struct store_metric m[4] = { { metric, x->value[i], i + 1 == x->evals ? x->undefined : NULL, 1 },
                                     { "loss", x->eval_loss[i] ? x->eval_loss[i] : 0.5, NULL, -1 },
                                     { "majority", x->majority ? x->majority : 0.4, NULL, 0 },
                                     { x->beside, x->beside_value, NULL, 0 } };
        add_split(id, 10 * (i + 1), "dev", x->rows ? x->rows : "dev 400", m, x->beside ? 4 : 3, x->constant_from[i], false);
    }
    if (x->test_metric) add_split(id, 1000, "test", "test 400", &(struct store_metric){ x->test_metric, x->test, NULL, 1 }, 1, false,
                                  false);
    for (int i = 0; i < 4 && x->moved[i]; i++)
        add_split(id, 1000, "moved", "since step 0", &(struct store_metric){ x->moved[i], x->moved_value[i], NULL, 0 }, 1, false, false);
}

static struct why looked_at(const struct record *x) {
    struct err e = ERR_INIT;
    struct run_config c;
    struct why w;
    int64_t id = 0;
    config_init(&c);
    c.lr = config_default_lr(&c.method, NULL);
    c.steps = x->steps ? x->steps : x->step ? x->step : x->points;
    for (int i = 0; i < 8 && x->option[i]; i += 2) test_ok(config_set(&c, x->option[i], x->option[i + 1], &e), &e);
    if (x->same_sha) xreplace(&c.train_sha256, x->same_sha), xreplace(&c.dev_sha256, x->same_sha);
    char *config = config_json(&c);
    struct store_new_run n = plain_run();
    n.config = config;
    n.steps = c.steps;
    n.seed = (int64_t)c.seed;
    n.dev_sha256 = x->dev_sha;
    n.model_sha256 = x->dev_sha ? "a model" : NULL;
    n.metric = x->metric ? x->metric : "accuracy";
    n.report = x->report;
    n.reports = x->report[1] ? 2 : x->report[0] ? 1 : 0;
    test_ok(store_create_run(history, &n, &id, &e), &e);
    change(history, id, STORE_RUNNING, NULL);
    add_points(id, x);
    add_evals(id, x);
    const struct store_change over = { .run = id, .step = x->step ? x->step : x->points, .state = x->state ? x->state : STORE_FINISHED,
                                       .seconds = -1, .reason = x->reason, .weights_sha256 = x->weights };
    assert_int_equal(store_change(history, &over), 0);
    flush_it(history);
    struct store_run r = whole(history, id);
    test_ok(why_of_run(history, &r, &w, &e), &e);
    store_run_release(&r);
    config_release(&c);
    free(config);
    return w;
}

static const char *sentence(const struct why *w, const char *kind) {
    for (int i = 0; i < w->count; i++)
        if (!strcmp(w->of[i].kind, kind)) return w->of[i].text;
    return NULL;
}

/* Kinds that are held here, both ways. */
static const char *held[100];
static int kinds_held;

static void hold(const char *kind) {
    for (int i = 0; i < kinds_held; i++)
        if (!strcmp(held[i], kind)) return;
    held[kinds_held++] = kind;
}

/* `has` says it, in words that hold `words`; `short_of` does not. */
static void told(const char *kind, const char *words, const struct record *has, const struct record *short_of) {
    hold(kind);
    struct why w = looked_at(has);
    const char *text = sentence(&w, kind);
    if (!text) fail_msg("%s: not found (%d found, the first: %s)", kind, w.count, w.count ? w.of[0].text : "");
    if (!strstr(text, words)) fail_msg("%s: \"%s\" has no \"%s\"", kind, text, words);
    why_release(&w);
    w = looked_at(short_of);
    text = sentence(&w, kind);
    if (text) fail_msg("%s: \"%s\" is said of what falls short", kind, text);
    why_release(&w);
}

/* ---- curves ---- */

static double rising(int i) { return i < 3 ? 0.69 : 26; }
static double falling(int i) { return 1.0 / (i + 2); }
static double flat(int i) { return 0.5 + 0 * i; }
static double slowly(int i) { return 0.5 - 0.001 * i; }
static double doubling(int i) { return i < 60 ? 0.5 : 1.1; }
static double nearly(int i) { return i < 60 ? 0.5 : 0.9; }
static double guess(int i) { return i < 60 ? 0.9 : 0.694; }
static double below_guess(int i) { return i < 60 ? 0.9 : 0.68; }
static double jumping(int i) { return i == 50 ? 9 : 0.3; }
static double hopping(int i) { return i == 50 ? 2.9 : 0.3; }
static double large_norm(int i) { return 14 + 0 * i; }
static double norm_of_nine(int i) { return 9.9 + 0 * i; }
static double no_norm(int i) { return i < 20 ? 1 : 0; }
static double nearly_no_norm(int i) { return i < 20 ? 1 : i < 119 ? 0 : 1; }
static double broken(int i) { return i == 40 ? NAN : 0.5; }

static const char two_classes[] = "a/train.tsv (sha256 0123…)\n1000 rows from 1000 lines\nclass 0: no, 500 rows\nclass 1: yes, 500 rows\n";

static const char three_classes[] = "a/train.tsv (sha256 0123…)\n300 rows from 300 lines\nclass 0: a, 100 rows\nclass 1: b, 100 rows\n"
                                    "class 2: c, 100 rows\n",
                  three_of_dev[] = "a/dev.tsv (sha256 4567…)\n200 rows from 200 lines\nclass 0: a, 60 rows\nclass 1: b, 70 rows\n"
                                   "class 2: c, 70 rows\n";

static void of_the_curves(void **state) {
    (void)state;
    told("rate-high", "times the default of this method", &(struct record){ .option = { "lr", "10" }, .points = 10, .loss = rising },
         &(struct record){ .option = { "lr", "0.01" }, .points = 10, .loss = rising });
    told("rate-low", "is 1/6,000 of the default", &(struct record){ .option = { "lr", "5e-7" }, .points = 40, .loss = flat },
         &(struct record){ .option = { "lr", "5e-7" }, .points = 40, .loss = falling });
    told("loss-rose", "to 1.1, with a maximum", &(struct record){ .points = 100, .loss = doubling }, &(struct record){ .points = 100,
            .loss = nearly });
    told("diverged", "step 4: the loss is not a number",
         &(struct record){ .points = 4, .state = STORE_FAILED, .reason = "step 4: the loss is not a number" },
         &(struct record){ .points = 4, .state = STORE_FAILED, .reason = "step 4: no memory" });
    told("not-learning", "0.5 at the end", &(struct record){ .points = 100, .loss = flat }, &(struct record){ .points = 100,
            .loss = slowly });
    told("guessing", "ln 2 = 0.6931", &(struct record){ .points = 100, .loss = guess, .report = { two_classes } },
         &(struct record){ .points = 100, .loss = below_guess, .report = { two_classes } });
    told("spike", "9 at step 51, from a median of 0.3", &(struct record){ .points = 100, .loss = jumping }, &(struct record){ .points = 100,
            .loss = hopping });
    told("clipped", "in 100% of the steps", &(struct record){ .points = 30, .norm = large_norm, .loss = flat },
         &(struct record){ .points = 30, .norm = norm_of_nine, .loss = flat });
    told("clipped", "in 100% of the steps", &(struct record){ .points = 30, .norm = large_norm, .loss = flat },
         &(struct record){ .points = 30, .norm = large_norm, .loss = falling });
    told("no-gradient", "for 100 steps, up to step 120", &(struct record){ .points = 120, .norm = no_norm },
         &(struct record){ .points = 120, .norm = nearly_no_norm });
    told("points-not-finite", "1 of 100 points", &(struct record){ .points = 100, .loss = broken }, &(struct record){ .points = 100,
            .loss = flat });
}

/* ---- scores ---- */

static void of_the_scores(void **state) {
    (void)state;
    told("one-class", "since step 20", &(struct record){ .points = 40, .evals = 3, .value = { 0.6, 0.5, 0.5 }, .constant_from = { 0, 1,
            1 } },
         &(struct record){ .points = 40, .evals = 3, .value = { 0.6, 0.5, 0.5 }, .constant_from = { 0, 1, 0 } });
    told("no-better", "0.5500", &(struct record){ .points = 40, .evals = 2, .value = { 0.5, 0.55 }, .majority = 0.55 },
         &(struct record){ .points = 40, .evals = 2, .value = { 0.5, 0.56 }, .majority = 0.55 });
    told("few-rows", "40 dev examples: \u00B1 15 percentage points (95% CI)",
         &(struct record){ .points = 40, .evals = 1, .value = { 0.6 }, .rows = "dev 40" },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.6 }, .rows = "dev 100" });
    told("swapped", "is 0.21, and 0.79 with them exchanged", &(struct record){ .points = 40, .evals = 1, .value = { 0.21 },
                                                                      .report = { two_classes } },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.44 }, .report = { two_classes } });
    told("swapped", "is 0.20, and 0.70 with them exchanged",
         &(struct record){ .points = 40, .evals = 1, .value = { 0.2 }, .beside = "invalid", .beside_value = 40, .report = { two_classes } },
         &(struct record){ .points = 40, .evals = 1, .value = { 0 }, .beside = "invalid", .beside_value = 200, .report = { two_classes } });
    told("misnamed", "the rarest of 3 classes (0.30", &(struct record){ .points = 40, .evals = 1, .value = { 0.15 }, .rows = "dev 200",
                                                                       .report = { three_classes, three_of_dev } },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.21 }, .rows = "dev 200", .report = { three_classes, three_of_dev } });
    told("part-of-dev", "evaluated on 49 of 200 validation examples", &(struct record){ .points = 40, .evals = 1, .value = { 0.6 },
                                                                          .rows = "dev 49 of 200 (seed 0)",
                                                                          .report = { three_classes, three_of_dev } },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.6 }, .rows = "dev 50 of 200 (seed 0)",
                           .report = { three_classes, three_of_dev } });
    told("overfit", "lowest at step 20", &(struct record){ .points = 40, .evals = 4, .value = { 0.6, 0.7, 0.6, 0.6 }, .eval_loss = { 0.6,
            0.4, 0.5, 0.7 } },
         &(struct record){ .points = 40, .evals = 4, .value = { 0.6, 0.7, 0.6, 0.6 }, .eval_loss = { 0.6, 0.4, 0.5, 0.59 } });
    told("still-rising", "try more steps", &(struct record){ .points = 50, .evals = 5, .value = { 0.5, 0.55, 0.6, 0.65, 0.8 } },
         &(struct record){ .points = 50, .evals = 5, .value = { 0.5, 0.55, 0.6, 0.65, 0.7 } });
    told("best-first", "0.8000 at step 10, 0.7000", &(struct record){ .points = 50, .evals = 5, .value = { 0.8, 0.75, 0.7, 0.7, 0.7 } },
         &(struct record){ .points = 50, .evals = 5, .value = { 0.8, 0.75, 0.7, 0.7, 0.76 } });
    told("undefined", "at 1 of 2 evaluations: only one class is predicted",
         &(struct record){ .points = 40, .evals = 2, .metric = "matthews", .undefined = "only one class is predicted",
                           .value = { 0.1, 0 } },
         &(struct record){ .points = 40, .evals = 2, .metric = "matthews", .value = { 0.1, 0 } });
    told("invalid-answers", "20% of the outputs", &(struct record){ .points = 40, .evals = 1, .value = { 0.5 }, .beside = "invalid",
                                                                     .beside_value = 80 },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.5 }, .beside = "invalid", .beside_value = 79 });
    told("below-dev", "0.7000 on the test set", &(struct record){ .points = 40, .evals = 1, .value = { 0.8 }, .test_metric = "accuracy",
                                                                   .test = 0.7 },
         &(struct record){ .points = 40, .evals = 1, .value = { 0.8 }, .test_metric = "accuracy", .test = 0.75 });
}

/* ---- rows ---- */

#define TRAIN "a/train.tsv (sha256 0123…)\n1000 rows from 1000 lines\n"
#define DEV "a/dev.tsv (sha256 4567…)\n200 rows from 200 lines\n"

static void of_rows(const char *kind, const char *words, const char *train, const char *dev, const char *less_train, const char *less_dev) {
    told(kind, words, &(struct record){ .points = 40, .report = { train, dev } },
         &(struct record){ .points = 40, .report = { less_train, less_dev } });
}

static void of_the_rows(void **state) {
    (void)state;
    of_rows("cut", "92% of the examples were truncated to 64 tokens", TRAIN "920 rows cut to 64 tokens: 9000 tokens\n", DEV,
            TRAIN "329 rows cut to 64 tokens: 9000 tokens\n", DEV);
    of_rows("cut", "(70 of 200 dev examples)", TRAIN, DEV "70 rows cut to 64 tokens: 9000 tokens\n", TRAIN,
            DEV "65 rows cut to 64 tokens: 9 tokens\n");
    of_rows("text-cut-away", "10 of 1,000", TRAIN "warning: in 10 rows a whole text was cut away\n", DEV,
            TRAIN "warning: in 9 rows a whole text was cut away\n", DEV);
    of_rows("unknown-tokens", "5.0%", TRAIN "20000 tokens, 5.00 % unknown\n", DEV, TRAIN "20000 tokens, 4.99 % unknown\n", DEV);
    of_rows("leak", "4 of 200 dev examples", TRAIN, DEV "warning: 3 rows also in train, 1 more but for case and blanks (lines 1, 2, 3)\n",
            TRAIN,
            DEV "warning: 2 rows also in train, 1 more but for case and blanks (lines 1, 2)\n");
    of_rows("contradicting", "20 of 1,000", TRAIN "warning: 20 of the repeats have another label than the first (lines 1)\n", DEV,
            TRAIN "warning: 19 of the repeats have another label than the first (lines 1)\n", DEV);
    of_rows("one-sided", "of class no, or so", TRAIN "class 0: no, or so, 900 rows\nclass 1: yes, 100 rows\n", DEV,
            TRAIN "class 0: no, or so, 899 rows\nclass 1: yes, 101 rows\n", DEV);
    of_rows("single-class", "all 1,000 training examples are of class no:", TRAIN "class 0: no, 1000 rows\n", DEV,
            TRAIN "class 0: no, 999 rows\nclass 1: yes, 1 row\n", DEV);
    of_rows("unlearnable", "class maybe has no training examples, and 7 of 200", TRAIN "class 0: no, 500 rows\nclass 1: maybe, 0 rows\n",
            DEV "class 0: no, 193 rows\nclass 1: maybe, 7 rows\n", TRAIN "class 0: no, 500 rows\nclass 1: maybe, 1 row\n",
            DEV "class 0: no, 193 rows\nclass 1: maybe, 7 rows\n");
    of_rows("cut-targets", "5% of the training targets", TRAIN "warning: 50 targets cut to 12 tokens: 60 tokens\n", DEV,
            TRAIN "warning: 49 targets cut to 12 tokens: 60 tokens\n", DEV);
    of_rows("unwritten", "of 12 of 200 dev examples have characters that the tokenizer cannot encode ({ ( )): exact match is at most 0.94",
            TRAIN,
            DEV "warning: 12 of 200 targets have characters that the tokenizer cannot write ({ ( )): no generated text can equal them\n",
            TRAIN, DEV);
    told("same-file", "is the training file", &(struct record){ .points = 40, .same_sha = "abcdefabcdefabcdef" },
         &(struct record){ .points = 40 });
}

/* What follows from one class is not said again. */
static void one_class_explains_the_rest(void **state) {
    (void)state;
    struct record x = { .points = 120, .norm = no_norm, .report = { "t.csv (sha256 01…)\n1 row from 2 lines\nclass 0: no, 1 row\n",
                                                                    "d.csv (sha256 01…)\n1 row from 2 lines\nclass 0: no, 1 row\n" },
                        .evals = 2, .value = { 1, 1 }, .constant_from = { 1, 1 }, .rows = "dev 1", .majority = 1,
                        .moved = { "head_tensors", "head_same", "head_unreached" }, .moved_value = { 4, 4, 4 } };
    struct why w = looked_at(&x);
    assert_string_equal(sentence(&w, "single-class"), "the only training example is of class no: with one class the model cannot learn");
    static const char *const none[] = { "no-gradient", "unmoved", "no-gradient-in-tensors", "one-class", "few-rows" };
    for (size_t i = 0; i < COUNT_OF(none); i++) assert_null(sentence(&w, none[i]));
    why_release(&w);
    x.report[0] = two_classes;
    w = looked_at(&x);
    for (size_t i = 0; i < COUNT_OF(none); i++) assert_non_null(sentence(&w, none[i]));
    why_release(&w);
}

/* ---- the plan, and what moved ---- */

/* That a run was told to be short is on its page, not news at its end. */
static void what_was_asked_for(void **state) {
    (void)state;
    struct why w = looked_at(&(struct record){ .points = 15, .loss = rising, .option = { "batch", "32" }, .report = { TRAIN } });
    int asked = 0;
    for (int i = 0; i < w.count; i++) {
        assert_int_equal(w.of[i].asked, !strcmp(w.of[i].kind, "part-of-rows") || !strcmp(w.of[i].kind, "part-of-dev"));
        asked += w.of[i].asked;
    }
    assert_int_equal(asked, 1);
    assert_true(w.count > 1);
    why_release(&w);
}

static void of_the_plan(void **state) {
    (void)state;
    told("part-of-rows", "at most 480 of 1,000", &(struct record){ .points = 15, .option = { "batch", "32" }, .report = { TRAIN } },
         &(struct record){ .points = 16, .option = { "batch", "32" }, .report = { TRAIN } });
    told("many-passes", "100 epochs over 1,000",
         &(struct record){ .points = 20, .step = 3200, .option = { "batch", "32" }, .report = { TRAIN } },
         &(struct record){ .points = 20, .step = 3199, .option = { "batch", "32" }, .report = { TRAIN } });
    told("batch-beyond-rows", "the batch size 1001 is above the 1000 training examples",
         &(struct record){ .points = 20, .option = { "batch", "1001" }, .report = { TRAIN } },
         &(struct record){ .points = 20, .option = { "batch", "1000" }, .report = { TRAIN } });
    told("long-warmup", "50 of 100 steps", &(struct record){ .points = 100, .option = { "warmup", "0.5" } },
         &(struct record){ .points = 100, .option = { "warmup", "0.49" } });
    told("unfinished", "step 40 of 200", &(struct record){ .points = 40, .steps = 200, .state = STORE_STOPPED },
         &(struct record){ .points = 40 });
    told("stopped-early", "step 50 of 200", &(struct record){ .points = 50, .steps = 200, .option = { "early-stop", "2" } },
         &(struct record){ .points = 51, .steps = 200, .option = { "early-stop", "2" } });
    told("module-still", "was zero for 100 steps",
         &(struct record){ .points = 120, .moved = { "module1_tensors", "module1_still" }, .moved_value = { 2, 100 } },
         &(struct record){ .points = 120, .moved = { "module1_tensors", "module1_still" }, .moved_value = { 2, 99 } });
    told("unmoved", "no parameter of the head changed since step 0",
         &(struct record){ .points = 20, .moved = { "head_tensors", "head_same" }, .moved_value = { 2, 2 } },
         &(struct record){ .points = 20, .moved = { "head_tensors", "head_same" }, .moved_value = { 2, 0 } });
    told("unmoved", "1 of the 2 tensors of the head did not change",
         &(struct record){ .points = 3, .moved = { "head_tensors", "head_same" }, .moved_value = { 2, 1 } },
         &(struct record){ .points = 2, .moved = { "head_tensors", "head_same" }, .moved_value = { 2, 1 } });
    told("no-gradient-in-tensors", "1 of the 2 tensors of module 1",
         &(struct record){ .points = 3, .moved = { "module1_tensors", "module1_unreached" }, .moved_value = { 2, 1 } },
         &(struct record){ .points = 2, .moved = { "module1_tensors", "module1_unreached" }, .moved_value = { 2, 1 } });
    told("begun-elsewhere", "was initialized from run 3", &(struct record){ .points = 20, .option = { "method", "lora(init=run(3))" } },
         &(struct record){ .points = 20, .option = { "method", "lora" } });
    told("thawed", "the frozen parameters of the model changed",
         &(struct record){ .points = 20, .moved = { "frozen_values", "frozen_same" }, .moved_value = { 1000, 0 } },
         &(struct record){ .points = 20, .moved = { "frozen_values", "frozen_same" }, .moved_value = { 1000, 1 } });
}

static void other_numbers_after_a_resume(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct why w;
    int64_t id = new_run(history);
    int loss = key_of(history, "loss", -1);
    point(history, id, 1, loss, 0.5);
    flush_it(history);
    point(history, id, 1, loss, 0.625);
    change(history, id, STORE_FINISHED, NULL);
    flush_it(history);
    struct store_run r = whole(history, id);
    test_ok(why_of_run(history, &r, &w, &e), &e);
    assert_non_null(sentence(&w, "differs"));
    hold("differs"); /* of the others here, which were resumed by nobody, none has it */
    store_run_release(&r);
    why_release(&w);
}

/* Runs that differ in the seed alone. */
static void of_several_seeds(void **state) {
    (void)state;
    for (int far = 0; far < 2; far++) {
        struct why w = { 0 };
        for (int seed = 1; seed <= 3; seed++) {
            char *text = xprintf("%d", seed);
            why_release(&w);
            w = looked_at(&(struct record){ .option = { "lr", far ? "0.0011" : "0.0012", "seed", text }, .points = 40, .evals = 1,
                                            .value = { seed < 3 ? 0.6 : far ? 0.7 : 0.69 } });
            free(text);
        }
        const char *said = sentence(&w, "seeds-apart");
        if (far) assert_string_equal(said ? said : "nothing",
                                     "3 seeds of this run differ by 10 percentage points, accuracy 0.6000 to 0.7000 (mean 0.6333): "
                                           "one seed is not representative");
        else assert_null(said);
        why_release(&w);
    }
    hold("seeds-apart");
}

/* Runs of one method on the same dev rows, the last of them the best. */
static void of_many_tries(void **state) {
    (void)state;
    for (int n = 9; n <= 10; n++) {
        struct why w = { 0 };
        for (int i = 0; i < n; i++) {
            char *rate = xprintf("%g", 0.001 * (i + 1));
            why_release(&w);
            w = looked_at(&(struct record){ .option = { "lr", rate }, .points = 40, .evals = 1, .value = { 0.6 + 0.01 * i },
                                            .dev_sha = n == 9 ? "nine" : "ten" });
            free(rate);
            if (n == 10 && i == 9) assert_string_equal(sentence(&w, "best-of-many") ? "said" : "not said", "said");
            else assert_null(sentence(&w, "best-of-many"));
        }
        why_release(&w);
    }
    hold("best-of-many");
}

/* A seed counts once, whatever it is run for: of equal runs the first is counted, of those whose weights differ the newest. */
static void of_a_repeat(void **state) {
    (void)state;
    for (int differs = 0; differs < 2; differs++) {
        static const char *const seed[] = { "1", "2", "1", "1" };
        struct why w = { 0 };
        for (int i = 0; i < 4; i++) {
            why_release(&w);
            w = looked_at(&(struct record){ .option = { "lr", differs ? "0.0014" : "0.0013", "seed", seed[i] }, .points = 40, .evals = 1,
                                            .value = { i == 1 ? 0.8 : i == 3 && differs ? 0.64 : 0.6 },
                                            .weights = i == 3 && differs ? "b" : "a" });
            assert_true(!sentence(&w, "repeat") == (i < 2));
        }
        const char *said = sentence(&w, "repeat"), *seeds = sentence(&w, "seeds-apart");
        assert_non_null(strstr(said, differs ? "different weights" : "identical configuration, seed, data and weights"));
        assert_non_null(strstr(seeds, "2 seeds"));
        assert_non_null(strstr(seeds, differs ? "0.6400 to 0.8000 (mean 0.7200)" : "0.6000 to 0.8000 (mean 0.7000)"));
        why_release(&w);
    }
    for (int i = 0; i < 12; i++) {
        struct why w = looked_at(&(struct record){ .points = 40, .evals = 1, .value = { 0.6 }, .dev_sha = "once", .weights = "a" });
        assert_null(sentence(&w, "best-of-many"));
        why_release(&w);
    }
    hold("repeat");
}

/* No kind without a run that has it and one that falls short, nor without a row of docs/why.md. */
static void every_kind_is_held_and_told(void **state) {
    (void)state;
    struct why w = looked_at(&(struct record){ .points = 1 });
    char *docs = test_path("docs"), *page = test_text(docs, "why.md");
    int rows = 0;
    assert_int_equal(kinds_held, w.looked_for);
    for (int i = 0; i < kinds_held; i++) {
        char *row = xprintf("\n| `%s` | ", held[i]);
        if (!strstr(page, row)) fail_msg("docs/why.md has no row of %s", held[i]);
        free(row);
    }
    for (const char *at = page; (at = strstr(at, "\n| `")); at++) rows++;
    assert_int_equal(rows, w.looked_for);
    free(docs);
    free(page);
    why_release(&w);
}

static void as_json(void **state) {
    (void)state;
    struct why w = looked_at(&(struct record){ .points = 40, .evals = 1, .value = { 0.5 }, .rows = "dev 25",
                                               .option = { "lr", "0.0021" } });
    struct buf b = BUF_INIT;
    why_json(&w, &b);
    assert_string_equal(buf_text(&b), "[{\"kind\":\"few-rows\",\"text\":\"25 dev examples: \u00B1 20 percentage points (95% CI)"
                                      "\",\"figures\":{\"rows\":25,\"half_width\":0.196}}]");
    buf_release(&b);
    why_release(&w);
    w = looked_at(&(struct record){ .points = 40, .evals = 1, .value = { 0.8 }, .option = { "lr", "0.0022" },
                                    .moved = { "head_tensors", "head_to", "frozen_values", "frozen_same" },
                                    .moved_value = { 2, 3, 1000, 1 } });
    assert_int_equal(w.count, 0);
    assert_int_equal(w.facts, 2);
    assert_string_equal(w.fact[0], "changed since step 0: the head: norm 0 to 3; 2 of 2 tensors changed");
    why_release(&w);
}

/* Presets of the usual regime on petri's own model at their own rate and length, three seeds each: nothing is said.  Those of
 * several tasks, on three tasks of 60 dev rows, of which is said that they are few. */
static void default_runs_are_above_suspicion(void **state) {
    (void)state;
    if (!test_slow()) test_skip("every preset is trained with three seeds in make test-slow");
    char *model = test_path("assets/models/petri-mini"), *sections = test_path("assets/tasks/sections"), *folder = test_folder();
    int said = 0;
    char *tasks = xstrndup(sections, strlen(sections) - strlen("/sections"));
    for (int i = 0; i < preset_count() * 3; i++) {
        const struct preset *p = preset_at(i / 3);
        if (p->regime) continue; /* learned over episodes, in hours */
        struct command c;
        char *db = xprintf("%s/%d.db", folder, i / 3), *rest = xprintf("--model '%s' --method '%s' --seed %d --db '%s'", model, p->name,
                                                                      1 + i % 3, db);
        command_run(&c, NULL, "train --task '%s' %s", sections, rest);
        if (c.status == 2) {
            command_release(&c);
            command_run(&c, NULL, "train --tasks '%s/games-sound,%s/admin-net,%s/science-text' %s", tasks, tasks, tasks, rest);
        }
        command_expect(&c, 0);
        command_release(&c);
        command_run(&c, NULL, "show last --why --json --db '%s'", db); /* beside the seeds before it */
        json_t *list = command_json(&c, 0), *one;
        size_t k;
        json_array_foreach(list, k, one) {
            if (!strcmp(json_string_value(json_object_get(one, "kind")), "few-rows")) continue;
            print_message("%s, seed %d: %s\n", p->name, 1 + i % 3, json_string_value(json_object_get(one, "text")));
            said++;
        }
        json_decref(list);
        command_release(&c);
        free(db);
        free(rest);
    }
    assert_int_equal(said, 0);
    free(model);
    free(sections);
    free(tasks);
    free(folder);
}

static int open_history(void **state) {
    (void)state;
    char *path = fresh_path();
    history = open_at(path, STORE_WRITE);
    free(path);
    return 0;
}

static int close_history(void **state) {
    (void)state;
    close_it(history);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_the_curves),
        cmocka_unit_test(of_the_scores),
        cmocka_unit_test(of_the_rows),
        cmocka_unit_test(one_class_explains_the_rest),
        cmocka_unit_test(of_the_plan),
        cmocka_unit_test(what_was_asked_for),
        cmocka_unit_test(other_numbers_after_a_resume),
        cmocka_unit_test(of_several_seeds),
        cmocka_unit_test(of_many_tries),
        cmocka_unit_test(of_a_repeat),
        cmocka_unit_test(every_kind_is_held_and_told),
        cmocka_unit_test(as_json),
        cmocka_unit_test(default_runs_are_above_suspicion),
    };
    return cmocka_run_group_tests(tests, open_history, close_history);
}
