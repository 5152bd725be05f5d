/* Runs side by side: what is compared, what stands beside one another, what each axis is worth. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/sweep/comparison.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static void sweep(const char *task, const char *more) {
    json_decref(stage_json("sweep --model '%s' --task '%s/%s' --db '%s' --batch 2 --workers 2 --json %s", stage.model,
                           stage.folder, task, stage.db, more));
}

/* One history for all: three seeds of two methods on two tasks; one of these methods by another metric, on fewer rows,
 * and at another rate. */
static int make(void **state) {
    (void)state;
    stage_init(&stage);
    free(stage_task(&stage, "toys", 12));
    free(stage_task(&stage, "others", 9));
    sweep("toys", "--method '{lora(r=2),bitfit}' --lr 3e-2 --steps 8 --eval-steps 4 --seeds 1,2,3");
    sweep("others", "--method '{lora(r=2),bitfit}' --lr 3e-2 --steps 8 --eval-steps 4 --seeds 1,2,3");
    sweep("toys", "--method bitfit --lr 3e-2 --steps 4 --metric loss");
    sweep("toys", "--method bitfit --lr 3e-2 --steps 4 --eval-rows 4");
    sweep("toys", "--method bitfit --lr 1e-3 --steps 8 --eval-steps 4");
    return 0;
}

static json_t *compare(const char *what) { return stage_json("compare %s --db '%s' --json", what, stage.db); }
static json_t *cell(json_t *v, size_t i) { return json_array_get(stage_at(v, "cells"), i); }
static size_t count(json_t *v, const char *key) { return json_array_size(stage_at(v, key)); }

static void equal_runs_but_for_the_seed_are_a_group(void **state) {
    (void)state;
    json_t *v = compare("method=bitfit task=toys lr=0.03 metric=accuracy rows!=4");
    assert_int_equal(count(v, "cells"), 1);
    assert_int_equal(json_integer_value(stage_at(cell(v, 0), "n")), 3);
    json_decref(v);
    v = compare("sweep=1 --by method --margin 2");
    assert_int_equal(count(v, "cells"), 2);
    assert_int_equal(count(v, "pairs"), 1);
    assert_true(json_is_null(stage_at(v, "mixed")));
    json_decref(v);
    v = compare("sweep=1 --by task,method");
    assert_string_equal(stage_text(cell(v, 0), "axes.task"), "toys");
    assert_string_equal(stage_text(cell(v, 1), "name"), "toys; bitfit");
    json_decref(v);
}

/* A group is called as its first run that has a name; bars in a name, as in a method, are no cells of a table. */
static void a_group_has_its_runs_name(void **state) {
    (void)state;
    const char *some = "method~lora task=toys";
    json_t *v = compare(some);
    long long last = json_integer_value(json_array_get(stage_at(cell(v, 0), "runs"), 2));
    assert_string_equal(stage_text(cell(v, 0), "name"), "lora(r=2) #1");
    json_decref(v);
    free(stage_out(0, "name %lld 'a|b' --db '%s'", last, stage.db));
    v = compare("method~lora task=toys --by method");
    assert_string_equal(stage_text(cell(v, 0), "name"), "lora(r=2)");
    json_decref(v);
    v = compare(some);
    char *called = xprintf("a|b: lora(r=2) #%lld", last), *shown = xprintf("\n| a\\|b: lora(r=2) #%lld", last);
    assert_string_equal(stage_text(cell(v, 0), "name"), called);
    json_decref(v);
    char *text = stage_out(0, "compare %s --db '%s'", some, stage.db);
    assert_non_null(strstr(text, shown));
    assert_null(strstr(text, "a|b"));
    free(text), free(called), free(shown);
    free(stage_out(0, "name %lld '' --db '%s'", last, stage.db));
}

/* Lists the settings in which groups differ, and no others; options among them are in their names. */
static void what_differs_is_named(void **state) {
    (void)state;
    json_t *v = compare("method=bitfit task=toys steps=8 rows!=4"), *d = stage_at(v, "differs");
    assert_int_equal(count(v, "cells"), 2);
    assert_int_equal(json_object_size(d), 1);
    assert_string_equal(json_string_value(json_array_get(json_object_get(d, "lr"), 1)), "0.001");
    assert_int_equal(strncmp(stage_text(cell(v, 1), "name"), "bitfit lr=0.001 #", 17), 0);
    json_decref(v);
    v = compare("sweep=1"), d = stage_at(v, "differs");
    assert_string_equal(json_string_value(json_array_get(json_object_get(d, "axis fn"), 0)), "linear");
    assert_string_equal(json_string_value(json_array_get(json_object_get(d, "axis fn"), 1)), "bias");
    json_decref(v);
}

/* A run that is trained again is no further evidence: of the seeds 1, 2, 1, 1 two count, in a history of its own, in any
 * order of the groups, and after another history with the same runs was merged. */
static void a_seed_counts_once(void **state) {
    (void)state;
    char *db = file_join(stage.folder, "again.db"), *other = file_join(stage.folder, "other.db");
    static const char *const lora[] = { "1", "2", "1", "1" }, *const bitfit[] = { "3", "2", "1" };
    for (int i = 0; i < 7; i++)
        free(stage_out(0, "train --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 2 --lr 3e-2 --steps 8 --eval-steps 4"
                       " --method '%s' --seed %s", stage.model, stage.folder, db, i < 4 ? "lora(r=2)" : "bitfit",
                       i < 4 ? lora[i] : bitfit[i - 4]));
    json_t *once = stage_json("compare 1 2 5 6 7 --db '%s' --json", db);
    for (int turn = 0; turn < 4; turn++) {
        static const char *const order[] = { "1 2 3 4 5 6 7", "7 6 5 4 3 2 1", "1 2 3 4 5 6 7 --by method", "3 1 2 4 7 6 5" };
        json_t *v = stage_json("compare %s --db '%s' --json", order[turn], db), *x = cell(v, turn == 1);
        json_t *pair = json_array_get(stage_at(v, "pairs"), 0), *single = json_array_get(stage_at(once, "pairs"), 0);
        assert_int_equal(count(v, "cells"), 2);
        assert_int_equal(count(x, "runs"), 4);
        assert_int_equal(count(x, "seeds"), 2);
        assert_int_equal(count(x, "repeats"), 2);
        assert_int_equal(json_integer_value(stage_at(x, "n")), 2);
        static const char *const same[] = { "mean", "sd", "low", "high", "final" };
        for (size_t i = 0; i < COUNT_OF(same); i++)
            assert_true(fabs(json_number_value(stage_at(x, same[i])) - json_number_value(stage_at(cell(once, 0), same[i]))) < 1e-12);
        assert_int_equal(json_integer_value(stage_at(pair, "n")), 2);
        assert_true(fabs(fabs(json_number_value(stage_at(pair, "diff"))) - fabs(json_number_value(stage_at(single, "diff")))) < 1e-12);
        assert_int_equal(strncmp(stage_text(v, "effects_of"), "5 runs", 6), 0);
        json_decref(v);
    }
    json_decref(once);
    char *text = stage_out(0, "compare method~lora --db '%s'", db);
    assert_non_null(strstr(text, "runs 3, 4 repeat run 1 (same configuration, seed and data; used once)"));
    assert_non_null(strstr(text, "| 2 | 1, 2 |"));
    free(text);
    text = stage_out(0, "render --screen compare --filter method~lora --size 200x60 --db '%s'", db);
    assert_non_null(strstr(text, "4 runs, 2 repeated"));
    assert_non_null(strstr(text, "runs 3, 4 repeat run 1"));
    assert_null(strstr(text, "of 4 runs")); /* repeats are not left out for want of room */
    free(text);
    text = stage_out(0, "compare method~lora --db '%s' --csv", db);
    assert_non_null(strstr(text, ",1 2 3 4,1 2,2,"));
    free(text);
    for (int i = 0; i < 2; i++)
        free(stage_out(0, "train --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 2 --lr 3e-2 --steps 8 --eval-steps 4"
                       " --method 'lora(r=2)' --name again --note here --seed %d", stage.model, stage.folder, other, i + 2));
    free(stage_out(0, "merge '%s' '%s'", db, other));
    json_t *v = stage_json("compare method~lora --db '%s' --json", db), *x = cell(v, 0);
    assert_int_equal(count(v, "cells"), 1);
    assert_int_equal(count(x, "runs"), 6);
    assert_int_equal(count(x, "seeds"), 3);
    assert_int_equal(json_integer_value(stage_at(x, "n")), 3);
    json_decref(v);
    free(db), free(other);
}

/* Other tasks, metrics and rows are in no mean, difference or rank with these, unless rows are allowed. */
static void kinds_stand_side_by_side(void **state) {
    (void)state;
    json_t *v = compare("method=bitfit task=toys --by method");
    assert_non_null(strstr(stage_text(v, "mixed"), "ranks, differences and means are not computed"));
    assert_int_equal(count(v, "cells"), 3); /* by accuracy, by loss, on four rows */
    assert_int_equal(count(v, "pairs"), 0);
    assert_int_equal(count(v, "effects"), 0);
    assert_int_equal(json_object_size(stage_at(v, "ranks")), 0);
    assert_int_equal(json_integer_value(stage_at(cell(v, 0), "n")), 4);
    assert_int_equal(json_integer_value(stage_at(cell(v, 1), "n")), 1);
    assert_true(json_is_null(stage_at(cell(v, 1), "sd")));
    assert_true(json_is_null(stage_at(cell(v, 1), "low")));
    json_decref(v);
    v = compare("method=bitfit task=toys metric=accuracy --by method --mixed");
    assert_int_equal(count(v, "cells"), 1);
    assert_true(json_is_true(stage_at(cell(v, 0), "other_rows")));
    json_decref(v);
    v = compare("method=bitfit task=toys rows!=4 --by method --metric loss");
    assert_int_equal(count(v, "cells"), 1);
    assert_true(json_is_null(stage_at(v, "mixed")));
    assert_string_equal(stage_text(v, "metric"), "loss");
    json_decref(v);
    stage_refused(3, "run 1 has no dev.pearson; available: ", "compare sweep=1 --metric pearson --db '%s'", stage.db);
}

/* Over tasks there are ranks, and effects with tasks as blocks, but no mean and no difference. */
static void tasks_are_blocks(void **state) {
    (void)state;
    json_t *v = compare("sweep<3 --by task,method"), *ranks = stage_at(v, "ranks"), *x;
    double sum = 0;
    const char *name;
    assert_int_equal(count(v, "cells"), 4);
    assert_int_equal(count(v, "pairs"), 2);
    assert_int_equal(json_object_size(ranks), 2);
    json_object_foreach(ranks, name, x) sum += json_number_value(x);
    assert_true(fabs(sum - 3) < 1e-12);
    assert_int_equal(count(v, "effects"), 2); /* of the method alone */
    assert_string_equal(stage_text(v, "effects_of"), "12 runs; blocked by task (2 tasks); blocked by seed 1, 2, 3");
    json_decref(v);
    v = compare("sweep<3 --by fn,task");
    assert_string_equal(stage_text(json_array_get(stage_at(v, "effects"), 0), "level"), "linear");
    json_decref(v);
}

/* The last value in place of the best; times of one machine. */
static void a_value_is_the_best_or_the_last(void **state) {
    (void)state;
    json_t *best = compare("sweep=1"), *last = compare("sweep=1 --value final --cost time");
    for (size_t i = 0; i < 2; i++)
        assert_true(json_number_value(stage_at(cell(last, i), "mean")) == json_number_value(stage_at(cell(best, i), "final")));
    assert_string_equal(stage_text(last, "cost"), "seconds");
    assert_true(count(last, "pareto") >= 1);
    json_decref(best), json_decref(last);
    stage_refused(2, "--cost: must be trained, time or memory", "compare sweep=1 --cost money --db '%s'", stage.db);
}

static void slips_are_named(void **state) {
    (void)state;
    stage_refused(2, "duplicate column method", "compare sweep=1 --by method,method --db '%s'", stage.db);
    stage_refused(2, "unknown column \"colour\"", "compare sweep=1 --by colour --db '%s'", stage.db);
    stage_refused(2, "unknown column", "compare nonsense=3 --db '%s'", stage.db);
    stage_refused(2, "--value: must be best or final", "compare sweep=1 --value mean --db '%s'", stage.db);
}

/* ---- made comparisons ---- */

static void add(struct side_by_side *c, const char *name, const char *const *axis, int kind, uint64_t seed, double value) {
    struct compared_group *g = NULL;
    for (int i = 0; i < c->groups; i++)
        if (!strcmp(c->group[i].name, name)) g = &c->group[i];
    if (!g) {
        g = comparison_add(c, name);
        for (int i = 0; i < c->axes; i++) g->axis[i] = xcopy(axis[i]);
    }
    comparison_take(c, g, &(struct compared_run){ .id = 1, .seed = seed, .value = value, .state = STORE_FINISHED }, kind);
}

static void one_kind(struct side_by_side *c) {
    c->kind = xcalloc(1, sizeof *c->kind);
    c->kind[0] = (struct compared_kind){ xstrdup("accuracy"), xstrdup("dev"), xstrdup("toys"), xstrdup("dev of toys"), 1, 1 };
    c->kinds = 1;
}

/* Of runs that have other weights the newest counts; where a group has several descriptions of a seed, as by a column, a
 * pair is of their means, whichever group comes first. */
static void pairs_are_of_seeds(void **state) {
    (void)state;
    static const struct {
        const char *group, *evidence, *weights;
        uint64_t seed;
        double value;
    } run[] = { { "a", "a1", "x", 1, 0.1 }, { "a", "a2", "x", 2, 0.2 }, { "a", "a1", "y", 1, 0.3 }, { "a", "other1", "x", 1, 0.5 },
                { "b", "b1", "x", 1, 0.6 }, { "b", "b1", "x", 1, 0.6 }, { "b", "b2", "x", 2, 0.7 }, { "b", "b3", "x", 3, 0.9 } };
    for (int turn = 0; turn < 2; turn++) {
        struct side_by_side c = { 0 };
        struct compared_pair *pair;
        one_kind(&c);
        for (int i = 0; i < 2; i++) comparison_add(&c, turn == i ? "a" : "b");
        for (size_t i = 0; i < COUNT_OF(run); i++) {
            struct compared_run r = { .id = (int64_t)i + 1, .seed = run[i].seed, .value = run[i].value, .final = run[i].value,
                                      .state = STORE_FINISHED, .ended = 9 - (int64_t)i + (i == 2 ? 9 : 0) };
            snprintf(r.evidence, sizeof r.evidence, "%s", run[i].evidence);
            r.weights = xstrdup(run[i].weights);
            comparison_take(&c, &c.group[!strcmp(c.group[0].name, run[i].group) ? 0 : 1], &r, 0);
        }
        const struct compared_group *a = &c.group[turn], *b = &c.group[!turn];
        assert_true(a->value.n == 3 && fabs(a->value.mean - (0.3 + 0.2 + 0.5) / 3) < 1e-12);
        assert_true(b->value.n == 3 && fabs(b->value.mean - (0.6 + 0.7 + 0.9) / 3) < 1e-12);
        char *said = comparison_repeats(a);
        assert_string_equal(said, "run 1 repeats run 3 (same configuration, seed and data; different weights, only the newest is used)");
        free(said);
        assert_int_equal(comparison_pairs(&c, 0, &pair), 1);
        assert_int_equal(pair->s.n, 2);
        assert_true(fabs(fabs(pair->s.mean) - ((0.6 - 0.4) + (0.7 - 0.2)) / 2) < 1e-12);
        free(pair);
        comparison_release(&c);
    }
}

/* A claim tells its interval from its test; groups without a common seed are named. */
static void a_claim_says_how_it_was_tested(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    struct compared_pair *pair;
    struct buf text = BUF_INIT, json = BUF_INIT;
    const struct compared_options o = { .margin = 0.05, .cost = COST_TRAINED };
    static const double noise[] = { 0, 0.004, -0.003, 0.001 };
    one_kind(&c);
    for (uint64_t seed = 1; seed <= 4; seed++) add(&c, "a", NULL, 0, seed, 0.9 + noise[seed - 1]);
    for (uint64_t seed = 1; seed <= 4; seed++) add(&c, "b", NULL, 0, seed, 0.7);
    for (uint64_t seed = 1; seed <= 4; seed++) add(&c, "c", NULL, 0, seed, 0.7 + noise[4 - seed]);
    add(&c, "d", NULL, 0, 9, 0.8);
    assert_int_equal(comparison_pairs(&c, o.margin, &pair), 3);
    static const char *const said[] = {
        "a > b: +20.05 percentage points, 95% interval [19.59, 20.51], not adjusted, 4 shared seeds; adjusted p below 0.0001 (Holm, 3 "
        "comparisons)",
        "a > c: +20.00 percentage points, 95% interval [19.08, 20.92], not adjusted, 4 shared seeds; adjusted p below 0.0001 (Holm, 3 "
        "comparisons)",
        "b and c are equal within 5 percentage points, 4 shared seeds; adjusted p below 0.0001 (Holm, 3 equality tests as a separate "
        "family)",
    };
    for (size_t i = 0; i < 3; i++) {
        char *claim = comparison_claim(&c, &pair[i], 3, o.margin);
        assert_string_equal(claim, said[i]);
        free(claim);
    }
    free(pair);
    comparison_markdown(&c, &o, &text);
    for (size_t i = 0; i < 3; i++) assert_non_null(strstr(buf_text(&text), said[i]));
    assert_non_null(strstr(buf_text(&text), "- a and d: no common seeds, so their difference is not tested\n"));
    comparison_json(&c, &o, &json);
    json_t *v = json_loads(buf_text(&json), 0, NULL), *third = json_array_get(stage_at(v, "pairs"), 2);
    assert_int_equal(count(v, "unpaired"), 3);
    assert_true(json_number_value(stage_at(third, "p")) > 0.05 && json_number_value(stage_at(third, "p_equal")) < 0.05);
    json_decref(v);
    buf_release(&text), buf_release(&json);
    comparison_release(&c);
}

static void follows(const struct side_by_side *c, int group, const char *mean, const char *difference, const char *sentence) {
    struct compared_evidence *e = comparison_evidence(c);
    if (mean) assert_string_equal(e[group].mean, mean);
    if (difference) assert_string_equal(e[group].difference, difference);
    else assert_null(e[group].difference);
    if (sentence) assert_string_equal(e[group].follows, sentence);
    else assert_null(e[group].follows);
    comparison_evidence_release(e, c->groups);
}

/* Each group is compared with the best other one; the sentence says what its interval and the adjusted test allow. */
static void evidence_ends_in_a_conclusion(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    static const double noise[] = { 0, 0.004, -0.003, 0.001 };
    one_kind(&c);
    add(&c, "b", NULL, 0, 1, 0.7);
    follows(&c, 0, "mean 70.00 of 1 seed (1)", NULL, NULL);
    add(&c, "a", NULL, 0, 1, 0.9);
    follows(&c, 0, NULL, "paired difference from a: -20.00 percentage points, 1 shared seed; no test: needs at least 2 shared seeds",
            "No conclusion about b and a from one shared seed: train both with more seeds.");
    for (uint64_t seed = 2; seed <= 4; seed++) add(&c, "b", NULL, 0, seed, 0.7);
    for (uint64_t seed = 2; seed <= 4; seed++) add(&c, "a", NULL, 0, seed, 0.9 + noise[seed - 1]);
    static const char *const better = "a is better than b: its accuracy is higher by 19.59 to 20.51 percentage points.";
    follows(&c, 0, "mean 70.00 \u00B1 0.00 sd of 4 seeds (1, 2, 3, 4)",
            "paired difference from a: -20.05 percentage points, 95% CI [-20.51, -19.59], 4 shared seeds; adjusted p below 0.0001 "
            "(Holm, 1 comparison)", better);
    follows(&c, 1, "mean 90.05 \u00B1 0.29 sd of 4 seeds (1, 2, 3, 4), 95% CI [89.59, 90.51]",
            "paired difference from b: +20.05 percentage points, 95% CI [19.59, 20.51], 4 shared seeds; adjusted p below 0.0001 "
            "(Holm, 1 comparison)", better);
    for (uint64_t seed = 1; seed <= 4; seed++) add(&c, "c", NULL, 0, seed, 0.901 - noise[seed - 1]);
    follows(&c, 2, NULL,
            "paired difference from a: 0.00 percentage points, 95% CI [-0.92, 0.92], 4 shared seeds; adjusted p 1 (Holm, 3 comparisons)",
            "No difference is shown: differences from -0.92 to 0.92 percentage points are compatible with these runs; more seeds "
            "narrow the interval.");
    static const double near[] = { 0.0032, 0.0035, 0.001, 0.0055 };
    for (uint64_t seed = 1; seed <= 4; seed++) add(&c, "d", NULL, 0, seed, 0.901 - noise[seed - 1] + near[seed - 1]);
    follows(&c, 2, NULL,
            "paired difference from d: -0.33 percentage points, 95% CI [-0.62, -0.04], 4 shared seeds; adjusted p 0.11 (Holm, 6 "
            "comparisons)",
            "No difference is shown after adjustment for 6 comparisons, although the interval excludes 0: compare fewer groups, or "
            "train more seeds.");
    add(&c, "e", NULL, 0, 9, 0.8);
    follows(&c, 4, NULL, NULL, "e and d: no common seeds, so their difference is not tested");
    c.kind[0].direction = -1; /* a loss, not in points */
    xreplace(&c.kind[0].metric, "loss");
    follows(&c, 3, NULL,
            "paired difference from b: +0.204, 95% CI [0.2, 0.207], 4 shared seeds; adjusted p below 0.0001 (Holm, 6 comparisons)",
            "b is better than d: its loss is lower by 0.2 to 0.207.");
    comparison_release(&c);
}

/* Each axis has a line of the effects of its levels; one that others determine says which. */
static void effects_are_lines_of_their_axes(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    static const char *const axis[][3] = { { "a", "1", "x" }, { "a", "2", "x" }, { "b", "1", "y" }, { "b", "2", "y" } };
    static const double value[] = { 0.5, 0.6, 0.7, 0.8 };
    char *line[3];
    one_kind(&c);
    comparison_axis(&c, "method", false), comparison_axis(&c, "lr", false), comparison_axis(&c, "batch", false);
    for (uint64_t seed = 1; seed <= 2; seed++)
        for (int i = 0; i < 4; i++) {
            char *name = xprintf("%d", i);
            add(&c, name, axis[i], 0, seed, value[i] + (seed == 2 ? 0.01 * (i % 2) : 0));
            free(name);
        }
    comparison_effect_lines(&c, line);
    assert_int_equal(strncmp(line[0], "main effect of method: aliased with batch; ", 43), 0);
    assert_non_null(strstr(line[1], "; 95% CI, 8 runs; blocked by seed 1, 2"));
    assert_int_equal(strncmp(line[1], "main effect of lr: 1 60.00 [", 28), 0);
    assert_non_null(strstr(line[1], ", 2 70.50 ["));
    assert_int_equal(strncmp(line[2], "main effect of batch: aliased with method", 41), 0);
    for (int i = 0; i < 3; i++) free(line[i]);
    comparison_release(&c);
}

/* The leader is the best mean of the runs so far, in the order in which they ended. */
static void the_leader_leads_since_a_run(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    one_kind(&c);
    assert_null(comparison_leader(&c));
    static const struct {
        const char *name;
        double value;
        const char *leader;
    } run[] = { { "a", 0.6, "best: a, mean 60.00; has led since run 1 of 1" },
                { "b", 0.7, "best: b, mean 70.00; has led since run 2 of 2" },
                { "b", 0.3, "best: a, mean 60.00; has led since run 3 of 3" },
                { "a", 0.6, "best: a, mean 60.00 \u00B1 0.00 sd; has led since run 3 of 4" } };
    for (size_t i = 0; i < COUNT_OF(run); i++) {
        struct compared_group *g = NULL;
        for (int k = 0; k < c.groups; k++)
            if (!strcmp(c.group[k].name, run[i].name)) g = &c.group[k];
        if (!g) g = comparison_add(&c, run[i].name);
        struct compared_run r = { .id = 9 - (int64_t)i, .seed = i, .value = run[i].value, .state = STORE_FINISHED, .ended = (int64_t)i };
        snprintf(r.evidence, sizeof r.evidence, "%zu", i);
        comparison_take(&c, g, &r, 0);
        char *leader = comparison_leader(&c);
        assert_string_equal(leader, run[i].leader);
        free(leader);
    }
    comparison_release(&c);
}

/* Rates that are even in the log are a line in their log: what each tenfold gives is the same. */
static void rates_are_lines_in_their_log(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    struct compared_effects f;
    static const char *const rates[] = { "1e-6", "1e-5", "1e-4", "1e-3", "1e-2", "1e-1" };
    one_kind(&c);
    comparison_axis(&c, "lr", true);
    for (int i = 0; i < 6; i++) add(&c, rates[i], &rates[i], 0, 1, 0.1 * i + (i % 2 ? 0.001 : 0));
    comparison_effects(&c, &f);
    assert_int_equal(f.count, 1);
    assert_null(f.effect[0].level);
    assert_true(f.effect[0].log && fabs(f.effect[0].value * log(10) - 0.1) < 1e-3);
    comparison_effects_release(&f);
    comparison_release(&c);
}

/* An incomplete seed is a run like others, but no block of its own. */
static void only_complete_seeds_are_blocks(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    struct compared_effects f;
    const char *a = "a", *b = "b";
    one_kind(&c);
    comparison_axis(&c, "method", false);
    for (uint64_t seed = 1; seed <= 3; seed++) add(&c, "a", &a, 0, seed, 0.5 + 0.01 * (double)seed);
    for (uint64_t seed = 1; seed <= 2; seed++) add(&c, "b", &b, 0, seed, 0.6 + 0.02 * (double)seed);
    comparison_effects(&c, &f);
    assert_string_equal(f.about, "5 runs; blocked by seed 1, 2, and one block for all seeds without a run in every group");
    assert_true(f.df == 1);
    comparison_effects_release(&f);
    comparison_release(&c);
}

/* Shares of rows are not exact in binary: equal differences make no claim, equal means are a tie. */
static void rounding_is_no_spread(void **state) {
    (void)state;
    struct side_by_side c = { 0 };
    struct compared_effects f;
    const char *a = "a", *b = "b", *d = "d", *e = "e";
    one_kind(&c);
    comparison_axis(&c, "method", false);
    add(&c, "a", &a, 0, 1, 0.39), add(&c, "a", &a, 0, 2, 0.47);
    add(&c, "b", &b, 0, 1, 0.20), add(&c, "b", &b, 0, 2, 0.28);
    assert_true(0.39 - 0.20 != 0.47 - 0.28);
    struct compared_pair *pair;
    assert_int_equal(comparison_pairs(&c, 0.3, &pair), 1);
    assert_true(pair->s.sd == 0 && !pair->differs && !pair->equal);
    free(pair);
    comparison_effects(&c, &f);
    assert_true(f.count == 2 && f.df == 1 && isnan(f.effect[0].low));
    comparison_effects_release(&f);
    add(&c, "d", &d, 0, 1, 0.1), add(&c, "d", &d, 0, 2, 0.2), add(&c, "d", &d, 0, 3, 0.3);
    add(&c, "e", &e, 0, 1, 0.3), add(&c, "e", &e, 0, 2, 0.2), add(&c, "e", &e, 0, 3, 0.1);
    assert_true(c.group[2].value.mean != c.group[3].value.mean); /* the order of the sum */
    assert_true(comparison_rank(&c, 2) == 3.5 && comparison_rank(&c, 3) == 3.5);
    c.group[0].trained = c.group[1].trained = 9;
    assert_true(comparison_on_front(&c, 2, COST_TRAINED) && comparison_on_front(&c, 3, COST_TRAINED));
    comparison_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_runs_but_for_the_seed_are_a_group),
        cmocka_unit_test(a_group_has_its_runs_name),
        cmocka_unit_test(what_differs_is_named),
        cmocka_unit_test(a_seed_counts_once),
        cmocka_unit_test(kinds_stand_side_by_side),
        cmocka_unit_test(tasks_are_blocks),
        cmocka_unit_test(a_value_is_the_best_or_the_last),
        cmocka_unit_test(slips_are_named),
        cmocka_unit_test(pairs_are_of_seeds),
        cmocka_unit_test(a_claim_says_how_it_was_tested),
        cmocka_unit_test(evidence_ends_in_a_conclusion),
        cmocka_unit_test(the_leader_leads_since_a_run),
        cmocka_unit_test(effects_are_lines_of_their_axes),
        cmocka_unit_test(rates_are_lines_in_their_log),
        cmocka_unit_test(only_complete_seeds_are_blocks),
        cmocka_unit_test(rounding_is_no_spread),
    };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
