/* Every number in a sentence about a run is that of its run: real runs with a split, a limit, a draw, several tasks, an
 * imported adapter, and each number computed anew from the examples, from the order of steps or by SQL. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/model.h"
#include "core/train/config/complete.h"
#include "core/train/config/config.h"
#include "core/train/config/sampling.h"
#include "store/store.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

/* A run and one of its tasks, as they were read again. */
struct read {
    struct store *s;
    struct store_run run;
    struct run_config c;
    int task;
    struct task *of;     /* each task's examples */
    const char *split;   /* "dev", "a/dev" */
};
struct facts {
    double v[64];
    int count;
};

static void fact(struct facts *f, double v) {
    assert_true(f->count < 64);
    f->v[f->count++] = v;
}

static int take_real(void *self, int count, const struct store_cell *cell) {
    (void)count;
    *(double *)self = cell[0].type == STORE_INTEGER ? (double)cell[0].integer : cell[0].real;
    return 0;
}

static double sql(const struct read *r, char *query) {
    struct err e = ERR_INIT;
    double v = NAN;
    test_ok(store_sql(r->s, query, (struct store_rows){ .self = &v, .row = take_real }, &e), &e);
    free(query);
    return v;
}

/* An aggregate of the evaluations of the task's first dev split. */
static double scored(const struct read *r, const char *what, const char *metric) {
    return sql(r, xprintf("SELECT %s FROM v_evaluations WHERE run=%lld AND split='%s' AND metric='%s' AND step>0", what,
                          (long long)r->run.id, r->split, metric));
}

/* ---- from the examples ---- */

static size_t without_first(const struct dataset *d, bool other_label) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++)
        for (size_t k = 0; k < i; k++) {
            if (strcmp(d->example[i].a, d->example[k].a)) continue;
            n += !other_label || d->example[i].label != d->example[k].label;
            break;
        }
    return n;
}

static size_t also_in(const struct dataset *d, const struct dataset *other) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++) {
        bool there = false;
        for (size_t k = 0; k < other->examples; k++) there = there || !strcmp(d->example[i].a, other->example[k].a);
        n += there;
    }
    return n;
}

static size_t of_class(const struct dataset *d, int c) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++) n += d->example[i].label == c;
    return n;
}

static size_t most_of_a_class(const struct dataset *d) {
    size_t most = 0;
    for (int c = 0; c < d->classes; c++) most = of_class(d, c) > most ? of_class(d, c) : most;
    return most;
}

/* Those with more words than max_len has room for: every word of the data is one token. */
static size_t longer(const struct dataset *d, size_t max_len) {
    size_t n = 0;
    for (size_t i = 0; i < d->examples; i++) {
        size_t words = 1;
        for (const char *s = d->example[i].a; *s; s++) words += *s == ' ';
        n += words + 2 > max_len;
    }
    return n;
}

/* Rows that the steps took: distinct ones, or all. */
static double taken(const struct read *r, bool distinct) {
    struct sampling how = { SAMPLING_PROPORTIONAL, 1 };
    size_t rows[RUN_TASKS], all = 0;
    double n = 0;
    int tasks = config_task_count(&r->c);
    for (int i = 0; i < tasks; i++) all += rows[i] = r->of[i].train.examples;
    uint32_t *row = xcalloc((size_t)r->c.batch, sizeof *row);
    bool *seen = xcalloc(all, sizeof *seen);
    struct sampler *s = sampler_new(&how, r->c.seed, tasks, rows, r->c.batch);
    for (int64_t step = 0; step < r->run.step; step++)
        for (int i = sampler_step(s, step, row); i-- > 0;) {
            n += !distinct || !seen[row[i]];
            seen[row[i]] = true;
        }
    sampler_free(s);
    free(seen), free(row);
    return n;
}

static double rows_to_train(const struct read *r) {
    double n = 0;
    for (int i = 0; i < config_task_count(&r->c); i++) n += (double)r->of[i].train.examples;
    return n;
}

/* ---- what a sentence of a kind may hold ---- */

static void of_a_part(struct facts *f, size_t part, size_t all) {
    fact(f, (double)part), fact(f, (double)all), fact(f, 100.0 * (double)part / (double)all);
}

/* Means of a tenth at either end, and the highest. */
static void of_the_loss(const struct read *r, struct facts *f) {
    long long id = (long long)r->run.id;
    long long points = (long long)sql(r, xprintf("SELECT count(*) FROM v_points WHERE run=%lld AND key='loss'", id));
    static const char *const end[] = { "", "DESC" };
    for (int i = 0; i < 2; i++)
        fact(f, sql(r, xprintf("SELECT avg(value) FROM (SELECT value FROM v_points WHERE run=%lld AND key='loss' ORDER BY step %s "
                               "LIMIT %lld)", id, end[i], points / 10 ? points / 10 : 1)));
    fact(f, sql(r, xprintf("SELECT max(value) FROM v_points WHERE run=%lld AND key='loss'", id)));
    fact(f, sql(r, xprintf("SELECT step FROM v_points WHERE run=%lld AND key='loss' ORDER BY value DESC LIMIT 1", id)));
    fact(f, (double)points);
}

/* False: this kind is not known here. */
static bool numbers_of(const struct read *r, const char *kind, struct facts *f) {
    const struct dataset *train = &r->of[r->task].train, *dev = r->of[r->task].devs ? &r->of[r->task].dev[0] : train;
    const char *metric = "accuracy";
    double best = scored(r, "max(value)", metric), n = (double)dev->examples, rows = rows_to_train(r);
    fact(f, n);
    if (!strcmp(kind, "few-rows")) {
        double p = fmin(fmax(best, 0.5 / n), 1 - 0.5 / n);
        fact(f, 95), fact(f, n > 1 ? 196 * sqrt(p * (1 - p) / n) : 98);
    } else if (!strcmp(kind, "part-of-dev")) {
        fact(f, (double)dev->split_examples);
    } else if (!strcmp(kind, "no-better")) {
        fact(f, best), fact(f, (double)most_of_a_class(dev) / n);
    } else if (!strcmp(kind, "one-class")) {
        double from = sql(r, xprintf("SELECT coalesce(min(step),0) FROM v_evaluations WHERE run=%lld AND split='%s' AND step > (SELECT "
                                     "coalesce(max(step),-1) FROM v_evaluations WHERE run=%lld AND split='%s' AND NOT constant)",
                                     (long long)r->run.id, r->split, (long long)r->run.id, r->split));
        char *count = xprintf("count(DISTINCT step) FILTER (WHERE step >= %.0f)", from);
        fact(f, from), fact(f, scored(r, count, metric));
        free(count);
    } else if (!strcmp(kind, "leak")) {
        of_a_part(f, also_in(dev, train), dev->examples);
    } else if (!strcmp(kind, "contradicting")) {
        of_a_part(f, without_first(train, true), train->examples);
    } else if (!strcmp(kind, "one-sided") || !strcmp(kind, "single-class")) {
        of_a_part(f, most_of_a_class(train), train->examples);
    } else if (!strcmp(kind, "unlearnable")) {
        for (int c = 0; c < dev->classes; c++)
            if (!of_class(train, c)) fact(f, (double)of_class(dev, c));
    } else if (!strcmp(kind, "cut")) {
        of_a_part(f, longer(train, (size_t)r->c.max_len), train->examples), of_a_part(f, longer(dev, (size_t)r->c.max_len), dev->examples);
        fact(f, r->c.max_len);
    } else if (!strcmp(kind, "part-of-rows")) {
        fact(f, taken(r, true)), fact(f, rows), fact(f, 100 * taken(r, true) / rows), fact(f, (double)r->run.step);
        fact(f, r->c.batch);
    } else if (!strcmp(kind, "many-passes")) {
        fact(f, rows), fact(f, taken(r, false) / rows);
    } else if (!strcmp(kind, "batch-beyond-rows")) {
        fact(f, rows), fact(f, r->c.batch);
    } else if (!strcmp(kind, "long-warmup")) {
        double warm = ceil(r->c.warmup * (double)r->run.steps);
        fact(f, warm), fact(f, (double)r->run.steps), fact(f, 100 * warm / (double)r->run.steps);
    } else if (!strcmp(kind, "best-of-many")) {
        fact(f, sql(r, xprintf("SELECT count(*) FROM v_runs v JOIN run x ON x.id = v.id WHERE v.method='%s' AND v.dev_sha256='%s' AND "
                               "json_extract(x.config,'$.eval_rows')=%d", r->run.method, r->c.dev_sha256, r->c.eval_rows)));
    } else if (!strcmp(kind, "rate-high")) {
        const double own = 0.003; /* LoRA's */
        long long id = (long long)r->run.id;
        double at = sql(r, xprintf("SELECT step FROM v_points WHERE run=%lld AND key='loss' ORDER BY value DESC LIMIT 1", id));
        char *before = xprintf("FROM v_points WHERE run=%lld AND key='loss' AND step<=%.0f ORDER BY value LIMIT 1", id, at);
        fact(f, r->c.lr), fact(f, own), fact(f, r->c.lr / own), of_the_loss(r, f);
        fact(f, sql(r, xprintf("SELECT value %s", before))), fact(f, at - sql(r, xprintf("SELECT step %s", before)));
        free(before);
    } else if (!strcmp(kind, "not-learning") || !strcmp(kind, "loss-rose")) {
        of_the_loss(r, f);
    } else if (!strcmp(kind, "still-rising") || !strcmp(kind, "best-first") || !strcmp(kind, "overfit")) {
        for (int64_t step = 0; step <= r->run.step; step++) {
            char *loss = xprintf("max(value) FILTER (WHERE step=%lld)", (long long)step);
            double v[] = { scored(r, loss, "loss"), scored(r, loss, metric) };
            for (size_t i = 0; i < COUNT_OF(v) && isfinite(v[i]) && f->count < 60; i++) fact(f, v[i]), fact(f, (double)step);
            free(loss);
        }
    } else {
        return false;
    }
    return true;
}

/* Fails on a number of the sentence that is none of the facts, as far as it is printed. */
static void holds(const char *kind, const char *text, const struct facts *f) {
    for (const char *s = text; *s;) {
        bool inside = s > text && (isalnum((unsigned char)s[-1]) || s[-1] == '_' || s[-1] == '=');
        if (!isdigit((unsigned char)*s) || inside) {
            s++;
            continue;
        }
        double v = 0, tolerance = 0.5000001;
        for (; isdigit((unsigned char)*s) || (*s == ',' && isdigit((unsigned char)s[1])); s++)
            if (*s != ',') v = 10 * v + (*s - '0');
        if (*s == '.' && isdigit((unsigned char)s[1])) {
            s++;
            for (double place = 0.1; isdigit((unsigned char)*s); place /= 10) {
                v += place * (*s++ - '0');
                tolerance = 0.5000001 * place;
            }
        }
        bool found = false;
        for (int i = 0; i < f->count; i++) found = found || fabs(f->v[i] - v) <= tolerance;
        if (!found) fail_msg("%s: \"%s\": %g is none of the run's numbers", kind, text, v);
    }
}

/* ---- runs ---- */

static const char *found[200];
static int kinds_found;

static bool was_found(const char *kind) {
    for (int i = 0; i < kinds_found; i++)
        if (!strcmp(found[i], kind)) return true;
    return false;
}

static void read_run(struct read *r, struct store *s, int64_t id) {
    struct err e = ERR_INIT;
    *r = (struct read){ .s = s };
    test_ok(store_run(s, id, &r->run, &e), &e);
    test_ok(config_from_json(r->run.config, strlen(r->run.config), &r->c, &e), &e);
    int tasks = config_task_count(&r->c);
    r->of = xcalloc((size_t)tasks, sizeof *r->of);
    for (int i = 0; i < tasks; i++) {
        struct task_source source = config_source(config_data_of(&r->c, i), NULL);
        source.dev_rows = (size_t)r->c.eval_rows;
        test_ok(task_open(&r->of[i], &source, &e), &e);
    }
}

static void release_run(struct read *r) {
    for (int i = 0; i < config_task_count(&r->c); i++) task_release(&r->of[i]);
    free(r->of);
    config_release(&r->c);
    store_run_release(&r->run);
}

/* The sentences about a run, of which there are some unless `none`. */
static void all_true(struct store *s, int64_t id, bool none) {
    struct read r;
    struct why w;
    struct err e = ERR_INIT;
    read_run(&r, s, id);
    test_ok(why_of_run(s, &r.run, &w, &e), &e);
    if (!none && !w.count) fail_msg("run %lld: nothing is said of it", (long long)id);
    for (int i = 0; i < w.count; i++) {
        const char *text = w.of[i].text, *kind = w.of[i].kind;
        struct facts f = { 0 };
        char *split = xstrdup("dev");
        for (int k = 0; k < r.c.tasks; k++) {
            char *start = xprintf("%s: ", r.c.of[k].task_name);
            if (text_starts(text, start)) {
                r.task = k;
                free(split);
                split = xprintf("%s/dev", r.c.of[k].task_name);
            }
            free(start);
        }
        r.split = split;
        if (!numbers_of(&r, kind, &f)) fail_msg("%s: \"%s\": how its numbers come about is not known here", kind, text);
        holds(kind, text, &f);
        found[kinds_found++] = kind;
        free(split);
    }
    why_release(&w);
    release_run(&r);
}

/* Texts of one token a word, 120 of them; the second time with another label now and then.  One of `one_of` is "neg". */
static char *examples(const char *folder, const char *name, int rows, int one_of) {
    static const char *const word[] = { "the", "cat", "sat", "on", "mat", "not", "good", "bad", "film", "very" };
    struct buf b = BUF_INIT;
    buf_puts(&b, "text,label\n");
    for (int i = 0; i < rows; i++) {
        int k = i % 120;
        buf_printf(&b, "%s %s %s", word[k % 10], word[k / 10 % 10], word[k / 100]);
        for (int j = 0; j < k % 5; j++) buf_puts(&b, " very");
        buf_printf(&b, ",%s\n", (k + (i > 120 && i % 7 == 0)) % one_of ? "pos" : "neg");
    }
    char *path = test_file(folder, name, b.data, b.size);
    buf_release(&b);
    return path;
}

/* A folder with examples to train on and dev examples, of which some are the same. */
static char *task_of(const char *name, int rows, int one_of) {
    char *folder = file_join(stage.folder, name);
    struct err e = ERR_INIT;
    test_ok(file_make_folder(folder, &e), &e);
    free(examples(folder, "train.csv", rows, one_of));
    free(examples(folder, "dev.csv", rows / 3, one_of));
    return folder;
}

static void every_number_is_the_runs_own(void **state) {
    (void)state;
    char *even = examples(stage.folder, "even.csv", 240, 2), *sided = examples(stage.folder, "sided.csv", 200, 20);
    char *a = task_of("a", 240, 2), *b = task_of("b", 150, 3), *file = file_join(stage.folder, "adapter");
    const struct {
        const char *data, *options;
    } runs[] = {
        { even, "--split 20% --steps 4 --batch 8 --eval-steps 1" },
        { even, "--split 20% --limit 50 --steps 2 --batch 8" },
        { even, "--split 60% --eval-rows 20 --steps 3 --batch 8 --eval-steps 1" },
        { even, "--split 20% --limit 9 --steps 220 --batch 8 --lr 1e-3" },
        { sided, "--split 20% --limit 5 --steps 20 --batch 8 --warmup 0.6 --max-length 5" },
        { even, "--split 30% --limit 40 --eval-rows 25 --steps 6 --batch 8 --max-length 6 --eval-steps 1 --lr 0.1" },
    };
    int64_t id = 0;
    struct err e = ERR_INIT;
    struct store *s;
    for (size_t i = 0; i < COUNT_OF(runs); i++)
        free(stage_out(0, "train --model '%s' --db '%s' --method 'lora(r=2)' --seed 1 --train '%s' %s", stage.model, stage.db, runs[i].data,
                       runs[i].options));
    free(stage_out(0, "train --model '%s' --db '%s' --method 'lora(r=2)' --tasks '%s,%s' --limit 60 --eval-rows 20 --steps 3 --batch 8 "
                      "--eval-steps 1 --seed 1", stage.model, stage.db, a, b));
    free(stage_out(0, "export 1 --to petri '%s' --db '%s'", file, stage.db));
    free(stage_out(0, "import '%s' --model '%s' --db '%s'", file, stage.model, stage.db));
    test_ok(store_open(&s, stage.db, STORE_READ, &e), &e);
    for (id = 1; id <= (int64_t)COUNT_OF(runs) + 1; id++) all_true(s, id, false);
    all_true(s, id, true);
    test_ok(store_close(s, &e), &e);
    static const char *const wanted[] = { "few-rows", "part-of-dev", "part-of-rows", "leak", "contradicting", "one-sided", "cut",
                                          "many-passes", "batch-beyond-rows", "long-warmup" };
    for (size_t i = 0; i < COUNT_OF(wanted); i++)
        if (!was_found(wanted[i])) fail_msg("no run has a sentence of %s", wanted[i]);
    free(even), free(sided), free(a), free(b), free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_number_is_the_runs_own, stage_make, stage_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
