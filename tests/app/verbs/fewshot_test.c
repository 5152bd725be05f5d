/* petri fewshot: a method on a few rows of several tasks, in LEOPARD's layout and any other, and what is left out. */
#include <jansson.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/store.h"
#include "tests/support/mixed.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static char *leopard;

/* One JSON list of `rows` rows of two classes; `classes` 1: of the first alone. */
static void put(const char *task, const char *name, int rows, int classes) {
    struct err e = ERR_INIT;
    struct buf b = BUF_INIT;
    char *folder = file_join(leopard, task);
    test_ok(file_make_folder(folder, &e), &e);
    buf_putc(&b, '[');
    for (int i = 0; i < rows; i++)
        buf_printf(&b, "%s{\"sentence1\": \"%s film %d\", \"label\": \"%s\", \"processed_sent\": \"x\"}", i ? ", " : "",
                   i % classes ? "good" : "bad", i % 7, i % classes ? "up" : "down");
    buf_puts(&b, "]");
    test_put(folder, name, buf_text(&b));
    buf_release(&b);
    free(folder);
}

static int make(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    stage_init(&stage);
    leopard = file_join(stage.folder, "leopard");
    test_ok(file_make_folder(leopard, &e), &e);
    put("alpha", "alpha_c_train_0_2.json", 4, 2); /* its files have another name */
    put("alpha", "alpha_c_train_1_2.json", 4, 2);
    put("alpha", "alpha_c_eval.json", 120, 2);
    put("beta", "beta_train_0_2.json", 0, 2);
    put("beta", "beta_train_1_2.json", 4, 2);
    put("beta", "beta_train_2_2.json", 4, 1);
    put("beta", "beta_eval.json", 100, 2);
    put("gamma", "gamma_train_0_2.json", 4, 2);
    put("gamma", "gamma_eval.json", 99, 2);
    put("delta", "delta_train_0_2.json", 4, 2);
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(leopard);
    stage_release(&stage);
    return 0;
}

#define RUN "fewshot --model '%s' --db '%s' --k 2 --max-length 16 --eval-rows 12 --lr 1e-3 "

static json_t *result(json_t *v, const char *task) {
    json_t *x;
    size_t i;
    json_array_foreach(stage_at(v, "results"), i, x) {
        if (!strcmp(stage_text(x, "task"), task)) return x;
    }
    fail_msg("no result of %s", task);
    return NULL;
}

/* The database by hand, as no petri leaves it. */
static void change(const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static void a_folder_of_tasks(void **state) {
    (void)state;
    json_t *v = stage_json(RUN "--tasks '%s' --draws 4 --steps 3 --method 'lora(r=2)' --json", stage.model, stage.db, leopard);
    assert_int_equal(json_array_size(stage_at(v, "results")), 2);
    json_t *alpha = result(v, "alpha"), *beta = result(v, "beta");
    assert_int_equal(json_integer_value(stage_at(alpha, "n")), 2); /* the others' files are not there */
    assert_int_equal(json_array_size(stage_at(alpha, "left_out")), 2);
    assert_int_equal(json_integer_value(stage_at(beta, "n")), 1);
    json_t *why = stage_at(beta, "left_out");
    assert_non_null(strstr(stage_text(json_array_get(why, 0), "why"), "the file has no examples"));
    assert_non_null(strstr(stage_text(json_array_get(why, 1), "why"), "it has no examples of class up"));
    assert_string_equal(stage_text(alpha, "method"), "lora(r=2)");
    assert_true(json_is_number(stage_at(alpha, "f1_macro")) && json_is_number(stage_at(alpha, "majority")) &&
                json_is_null(stage_at(beta, "sd")));
    int id = (int)json_integer_value(stage_at(v, "run"));
    char *shown = stage_out(0, "show %d --db '%s'", id, stage.db);
    assert_non_null(strstr(shown, "gamma skipped: the eval file has 99 examples, fewer than 100"));
    assert_non_null(strstr(shown, "delta skipped: the eval file is missing"));
    json_t *run = stage_json("show %d --db '%s' --json", id, stage.db);
    double mean = (json_number_value(stage_at(alpha, "mean")) + json_number_value(stage_at(beta, "mean"))) / 2;
    assert_true(json_number_value(stage_at(run, "best.value")) - mean < 1e-12);
    assert_string_equal(stage_text(run, "regime"), "fewshot(k=2, draws=4, from=none)");
    assert_non_null(strstr(shown, "sample 0 skipped: "));
    assert_null(strstr(shown, "published")); /* of k = 4, 8 and 16 alone */
    free(shown);
    shown = stage_out(0, "predict %d --task beta --text 'good film' --db '%s'", id, stage.db);
    assert_true(!strncmp(shown, "up", 2) || !strncmp(shown, "down", 4));
    free(shown);
    json_t *told = stage_json("eval %d --task beta --db '%s' --json", id, stage.db); /* its rows are one JSON list */
    assert_int_equal(json_integer_value(stage_at(told, "rows")), 100);
    json_decref(told);
    json_decref(run);
    json_decref(v);
}

/* Of the seeds 1, 2, 1, 1 two count, in means and in tables; other draws are other evidence. */
static void a_seed_counts_once(void **state) {
    (void)state;
    static const int seed[] = { 1, 2, 1, 1 };
    char *db = file_join(stage.folder, "seeds.db");
    for (int i = 0; i < 5; i++)
        free(stage_out(0, RUN "--tasks '%s/alpha' --draws %d --steps 1 --method 'lora(r=2)' --seed %d", stage.model, db, leopard,
                       i < 4 ? 2 : 1, i < 4 ? seed[i] : 1));
    json_t *v = stage_json("compare 1 4 7 10 13 --db '%s' --json", db);
    json_t *first = json_array_get(stage_at(v, "cells"), 0);
    assert_int_equal(json_array_size(stage_at(v, "cells")), 2);
    assert_int_equal(json_integer_value(stage_at(first, "n")), 2);
    assert_int_equal(json_array_size(stage_at(first, "seeds")), 2);
    assert_int_equal(json_array_size(stage_at(first, "runs")), 4);
    json_decref(v);
    v = stage_json("fewshot 1 4 7 10 --db '%s' --json", db);
    assert_int_equal(json_array_size(stage_at(v, "runs")), 2);
    assert_int_equal(json_array_size(stage_at(v, "results")), 2);
    assert_non_null(strstr(stage_text(v, "repeats"), "run 7 repeats run 1 (same configuration, seed and data)"));
    json_decref(v);
    free(db);
}

/* One task's folder; the usual stop; and from that run, alone and by another method. */
static void from_a_run(void **state) {
    (void)state;
    json_t *v = stage_json(RUN "--tasks '%s/alpha' --draws 2 --stop-loss 9 --method 'lora(r=2)' --json", stage.model, stage.db,
                           leopard);
    json_t *draw = json_array_get(stage_at(result(v, "alpha"), "draws"), 0);
    assert_int_equal(json_integer_value(stage_at(draw, "steps")), 1);
    int id = (int)json_integer_value(stage_at(v, "run"));
    json_decref(v);
    v = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 1 --steps 2 --from %d --json", stage.db, leopard, id);
    assert_string_equal(stage_text(result(v, "alpha"), "method"), "lora(r=2)");
    json_decref(v);
    v = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 1 --steps 2 --from %d --method 'lora(r=2) + "
                   "bitfit' --json", stage.db, leopard, id);
    json_decref(v);
    stage_refused(2, "the methods have no module in common", "fewshot --db '%s' --k 2 --tasks '%s/alpha' --from %d "
                  "--method bitfit", stage.db, leopard, id);
    stage_refused(2, "--clip: requires --method: --from alone uses", "fewshot --db '%s' --k 2 --tasks '%s/alpha' --from %d "
                  "--clip 1", stage.db, leopard, id);
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    char *sql = xprintf("DELETE FROM artifact WHERE run = %d", id);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    free(sql);
    stage_refused(3, "has no checkpoint; use one of its samples", "predict %d --text x --db '%s'", id, stage.db);
}

/* Their tensors are those of an ordinary head, which tells the rows as the draw did; other forms take them too. */
static void draws_by_an_inner_rule_are_kept(int id, const char *toy) {
    json_t *v = stage_json("adapt %d --db '%s' --task '%s' --k 2 --draws 2 --steps 9 --keep --json", id, stage.db, toy);
    json_t *draws = stage_at(json_array_get(stage_at(v, "results"), 0), "draws");
    int adapted = (int)json_integer_value(stage_at(v, "run"));
    json_t *told = stage_json("eval %d --db '%s' --json", adapted, stage.db);
    assert_true(json_number_value(stage_at(told, "metrics.accuracy")) == json_number_value(stage_at(json_array_get(draws, 0), "value")));
    json_decref(told);
    json_t *run = stage_json("show %d --db '%s' --json", adapted, stage.db);
    assert_int_equal(strlen(stage_text(run, "weights_sha256")), 64);
    json_decref(run);
    char *file = xprintf("%s-files/%d/k2.d1/best.safetensors", stage.db, adapted);
    assert_true(file_exists(file));
    free(file);
    char *out = file_join(stage.folder, "adapted"), *text = stage_out(0, "export %d --db '%s' --to petri '%s'", adapted, stage.db, out);
    free(text);
    stage_refused(2, "hidden layers of its heads have the hidden size, 8, but that of this head is 384", "export %d --db '%s' --to hub '%s/hub'", adapted, stage.db,
                  stage.folder);
    told = stage_json("import '%s' --model '%s' --db '%s' --json", out, stage.model, stage.db);
    json_decref(told);
    free(out);
    json_decref(v);
}

/* A run that was learned over episodes adapts by its own rule: the same for any workers, whose last pass may end it; with
 * another method its values are a start. */
static void from_episodes(void **state) {
    (void)state;
    struct command c;
    char *toy = stage_task(&stage, "toys", 0);
    command_run(&c, NULL, "train --model '%s' --task '%s' --db '%s' --regime 'meta(support=6, query=2, inner=2, tasks=2, "
                          "inner-lr=learned(0.5))' --method 'lora(r=2)' --steps 3 --lr 1e-2 --max-length 16 --json", stage.model, toy,
                stage.db);
    command_expect(&c, 0);
    json_t *run = command_json(&c, 1), *v[2];
    int id = (int)json_integer_value(stage_at(run, "id"));
    command_release(&c);
    for (int i = 0; i < 2; i++)
        v[i] = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 2 --steps 9 --zero --from %d --workers %d --json",
                          stage.db, leopard, id, i + 1);
    assert_true(json_equal(stage_at(v[0], "results"), stage_at(v[1], "results")));
    json_t *alpha = result(v[0], "alpha"), *draw = json_array_get(stage_at(alpha, "draws"), 0);
    assert_int_equal(json_integer_value(stage_at(alpha, "n")), 2);
    assert_int_equal(json_integer_value(stage_at(draw, "steps")), 9);
    assert_true(json_is_number(stage_at(alpha, "zero.mean")) && json_is_number(stage_at(alpha, "f1_macro")));
    json_decref(v[0]);
    json_decref(v[1]);
    v[0] = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 1 --stop-loss 9 --from %d --json", stage.db, leopard, id);
    draw = json_array_get(stage_at(result(v[0], "alpha"), "draws"), 0);
    assert_int_equal(json_integer_value(stage_at(draw, "steps")), 1);
    json_decref(v[0]);
    v[0] = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 1 --steps 2 --from %d --method 'lora(r=2)' --json",
                      stage.db, leopard, id);
    json_decref(v[0]);
    stage_refused(2, "--lr: not available: run", "adapt %d --db '%s' --task '%s' --lr 1", id, stage.db, toy);
    draws_by_an_inner_rule_are_kept(id, toy);
    json_decref(run);
    free(toy);
}

/* Over a BERT without a pooler an inner rule's draws have no ordinary head, which is said. */
static void draws_without_a_pooler_keep_nothing(void **state) {
    (void)state;
    char *toy = stage_task(&stage, "bare-toy", 0), *model = tiny_bert(stage.folder, "bare", &(struct tiny){ .no_pooler = true });
    struct command c;
    char *train = xprintf("train --model '%s' --task '%s' --db '%s' --regime 'meta(support=6, query=2, inner=2, tasks=1)' --method "
                          "'lora(r=2)' --steps 1 --max-length 16 --json", model, toy, stage.db);
    command_run(&c, NULL, "%s", train);
    command_expect(&c, 0);
    json_t *run = command_json(&c, 1);
    int id = (int)json_integer_value(stage_at(run, "id"));
    command_release(&c);
    stage_refused(2, "the tensors of samples cannot be stored: the two-layer classifier uses a pooler", "adapt %d --db '%s' --task '%s' --k 2 --keep", id,
                  stage.db, toy);
    command_run(&c, NULL, "adapt %d --db '%s' --task '%s' --k 2 --draws 1 --steps 2", id, stage.db, toy);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "the tensors of samples are not stored"));
    command_release(&c);
    json_decref(run);
    free(train);
    free(model);
    free(toy);
}

/* The same of a preset that names its regime: a draw is a run of its own, of one task and that one's metric. */
static void from_a_preset_of_episodes(void **state) {
    (void)state;
    char *toy = stage_task(&stage, "toyish", 0);
    struct command c;
    command_run(&c, NULL, "train --model '%s' --task '%s' --db '%s' --regime 'meta(support=6, query=2, inner=2, tasks=1)' "
                          "--method 'meta-adapters(m=2)' --steps 1 --max-length 16 --json", stage.model, toy, stage.db);
    command_expect(&c, 0);
    json_t *run = command_json(&c, 1);
    command_release(&c);
    int id = (int)json_integer_value(stage_at(run, "id"));
    json_t *v = stage_json("fewshot --db '%s' --k 2 --tasks '%s' --draws 2 --stop-loss 9 --eval-rows 12 --from %d --json",
                           stage.db, leopard, id);
    json_t *alpha = result(v, "alpha");
    assert_string_equal(stage_text(alpha, "metric"), "accuracy");
    assert_true(json_is_number(stage_at(alpha, "mean")));
    json_decref(v);
    stage_refused(2, "must be meta-trained first; run petri train --regime meta", "fewshot --db '%s' --k 2 --tasks '%s/alpha' "
                  "--from %d --method 'meta-adapters(m=2)'", stage.db, leopard, id);
    json_decref(run);
    free(toy);
}

/* Several methods: a run each, one table, which any of them shows again; nothing is stored where one of them cannot be. */
static void several_methods(void **state) {
    (void)state;
    json_t *v = stage_json(RUN "--tasks '%s' --draws 2 --steps 2 --method '{lora(r={1,2}),head}' --json", stage.model, stage.db,
                           leopard);
    assert_int_equal(json_array_size(stage_at(v, "runs")), 3);
    assert_int_equal(json_array_size(stage_at(v, "results")), 6);
    int first = (int)json_integer_value(stage_at(v, "run"));
    json_t *last = json_array_get(stage_at(v, "results"), 5);
    assert_string_equal(stage_text(last, "method"), "head");
    assert_int_equal(json_integer_value(stage_at(last, "run")), first + 2);
    json_t *again = stage_json("fewshot %d --db '%s' --json", first + 1, stage.db);
    assert_true(json_equal(v, again));
    json_decref(again);
    json_decref(v);
    char *text = stage_out(0, "fewshot %d --db '%s'", first, stage.db);
    assert_non_null(strstr(text, "alpha  lora(r=1)  2"));
    assert_non_null(strstr(text, "difference at k = 2: head \u2212 lora(r=1)"));
    free(text);
    text = stage_out(0, "render --screen detail --run %d --size 100x60 --db '%s'", first + 1, stage.db);
    assert_non_null(strstr(text, "tasks by gain at k = 2: head \u2212 lora(r=1)"));
    assert_non_null(strstr(text, " c head  "));
    free(text);
    change("UPDATE sweep SET spec = '{' || spec"); /* a set that cannot be read takes nothing else of the page away */
    text = stage_out(0, "render --screen detail --run %d --size 100x90 --db '%s'", first + 1, stage.db);
    assert_true(!strstr(text, "tasks by gain") && strstr(text, "fixed at step 0"));
    free(text);
    change("UPDATE sweep SET spec = substr(spec, 2)");
    text = stage_out(0, "fewshot %d %d --db '%s' --csv", first, first + 2, stage.db);
    assert_true(!strncmp(text, "run,method,from,task,k,metric,mean,sd,n,majority,f1_macro\n", 55));
    assert_null(strstr(text, "lora(r=2)"));
    free(text);
    text = stage_out(0, "sql 'SELECT count(*) FROM run' --db '%s'", stage.db);
    stage_refused(2, "method lora(r=2,site=cross)", RUN "--tasks '%s/alpha' --method '{head,lora(r=2,site=cross)}'", stage.model, stage.db,
                  leopard);
    char *same = stage_out(0, "sql 'SELECT count(*) FROM run' --db '%s'", stage.db);
    assert_string_equal(text, same);
    free(text);
    free(same);
    stage_refused(2, "RUN… cannot be combined with --tasks, --method or --from", "fewshot %d --method head --db '%s'", first, stage.db);
}

/* What is published beside such a table: the head, the adapter baseline with its head of two maps, LoRA and mam; and each
 * that has values begins with those of a run. */
static void the_baselines(void **state) {
    (void)state;
    static const char *const from[] = { "adapter-pfeiffer(r=48) + classifier(layers=2)", "lora(r=2)", "mam(l=2,r=3)" };
    json_t *v = stage_json(RUN "--tasks '%s/alpha' --draws 1 --steps 2 --method '{head,%s,%s,%s}' --json", stage.model, stage.db, leopard,
                           from[0], from[1], from[2]);
    int first = (int)json_integer_value(stage_at(v, "run"));
    assert_int_equal(json_array_size(stage_at(v, "results")), 4);
    json_decref(v);
    for (int i = 0; i < 3; i++) {
        v = stage_json("fewshot --db '%s' --k 2 --tasks '%s/alpha' --draws 1 --steps 2 --eval-rows 12 --from %d --method '%s' --json",
                       stage.db, leopard, first + 1 + i, from[i]);
        json_t *row = json_array_get(stage_at(v, "results"), 0);
        assert_int_equal(json_integer_value(stage_at(row, "from")), first + 1 + i);
        json_decref(v);
    }
}

/* Any tasks, drawn from train and scored on dev. */
static void a_list_of_tasks(void **state) {
    (void)state;
    char *list = mixed_list(stage.folder);
    json_t *v = stage_json(RUN "--tasks '%s' --draws 2 --steps 2 --method head --json", stage.model, stage.db, list);
    assert_string_equal(stage_text(result(v, "three"), "metric"), "matthews");
    assert_int_equal(json_array_size(stage_at(result(v, "score"), "draws")), 2);
    json_decref(v);
    stage_refused(5, "task two: ", "fewshot --model '%s' --db '%s' --tasks '%s' --k 50", stage.model, stage.db, list);
    free(list);
}

static void what_cannot_be_is_refused(void **state) {
    (void)state;
    stage_refused(2, "requires --tasks", "fewshot --db '%s'", stage.db);
    stage_refused(3, "alpha: no support set with 8 examples per class found", "fewshot --model '%s' --db '%s' --tasks '%s' --k 8", stage.model,
                  stage.db, leopard);
    stage_refused(2, "--steps: cannot be combined with --stop-loss",
                  RUN "--tasks '%s' --steps 2 --stop-loss 1", stage.model, stage.db, leopard);
}

/* ---- the draws as runs ---- */

/* Four draws of one worker under way in a database of its own, run 1 and its draws 2 to 5, of which that one has begun. */
static pid_t begin_draws(const char *db, int run) {
    pid_t pid = command_start(stage.folder, RUN "--tasks '%s/toys' --draws 4 --steps 2000 --method 'lora(r=2)' --seed 1 "
                              "--workers 1", stage.model, db, stage.folder);
    const struct stage of = { .db = (char *)(uintptr_t)db };
    stage_wait_step(&of, run, 1);
    return pid;
}

/* Waits until so many draws are in the state at once. */
static void wait_for(const char *db, const char *draws, int count) {
    for (int tries = 0, n = 0; n < count; tries++) {
        sqlite3 *c = NULL;
        sqlite3_stmt *st = NULL;
        if (tries > 10000) fail_msg("never %d draws %s", count, draws);
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
        char *sql = xprintf("SELECT count(*) FROM run WHERE sweep = 1 AND cell IS NOT NULL AND %s", draws);
        if (!sqlite3_open_v2(db, &c, SQLITE_OPEN_READONLY, NULL) && !sqlite3_prepare_v2(c, sql, -1, &st, NULL) &&
            sqlite3_step(st) == SQLITE_ROW)
            n = sqlite3_column_int(st, 0);
        sqlite3_finalize(st);
        sqlite3_close(c);
        free(sql);
    }
}

/* What such a table comes to that nobody interrupts, again and again. */
static json_t *whole_table(void) {
    static json_t *v;
    free(stage_task(&stage, "toys", 12));
    if (!v) {
        char *db = file_join(stage.folder, "whole.db");
        v = stage_json(RUN "--tasks '%s/toys' --draws 4 --steps 2000 --method 'lora(r=2)' --seed 1 --json", stage.model, db,
                       stage.folder);
        free(db);
    }
    return json_incref(v);
}

static char *asked(const char *db, const char *sql) { return stage_out(0, "sql --db '%s' \"%s\"", db, sql); }

#define DRAWS "FROM run WHERE sweep = 1 AND cell IS NOT NULL"

/* Killed midway it goes on: what had finished is as it was, each draw is a run, and the table is the same. */
static void killed_and_resumed(void **state) {
    (void)state;
    json_t *whole = whole_table();
    char *db = file_join(stage.folder, "killed.db");
    pid_t pid = begin_draws(db, 4);
    kill(pid, SIGKILL);
    command_wait(pid, 30);
    free(stage_out(0, "runs --db '%s'", db)); /* opening it marks what lost its owner */
    char *ids = asked(db, "SELECT group_concat(id) " DRAWS " AND state = 'finished'"), *end = strrchr(ids, '"');
    assert_true(end && strchr(ids, '2') && !strchr(ids, '5'));
    *end = 0;
    char *sql = xprintf("SELECT id, started, ended, weights_sha256 FROM run WHERE id IN (%s) ORDER BY id", strrchr(ids, '"') + 1),
         *before = asked(db, sql);
    json_t *v = stage_json("resume 1 --db '%s' --json", db);
    char *after = asked(db, sql), *count = asked(db, "SELECT count(*), count(DISTINCT cell) " DRAWS " AND state = 'finished'");
    assert_true(json_equal(stage_at(v, "results"), stage_at(whole, "results")));
    assert_string_equal(before, after);
    assert_non_null(strstr(count, "4,4"));
    json_decref(v);
    json_decref(whole);
    free(ids), free(sql), free(before), free(after), free(count);
    free(db);
}

/* A draw is stopped and gone on with like any run, and is in no list but one that asks for it. */
static void a_draw_is_a_run(void **state) {
    (void)state;
    json_t *whole = whole_table();
    char *db = file_join(stage.folder, "stopped.db");
    pid_t pid = begin_draws(db, 2);
    struct err e = ERR_INIT;
    struct store *store;
    test_ok(store_open(&store, db, STORE_WRITE, &e), &e);
    wait_for(db, "id = 3 AND state = 'queued'", 1);
    test_ok(store_request(store, 3, STORE_STOP, &e), &e);
    test_ok(store_close(store, &e), &e);
    char *live = stage_out(0, "runs sweep=1 state=running --db '%s'", db);
    assert_non_null(strstr(live, "toys"));
    assert_int_equal(command_wait(pid, 60), 130);
    json_t *v = stage_json("runs --db '%s' --json", db), *draws = stage_json("runs tag=draw --db '%s' --json", db);
    assert_int_equal(json_array_size(v), 1);
    assert_int_equal(json_array_size(draws), 4);
    assert_string_equal(stage_text(json_array_get(v, 0), "state"), "stopped");
    json_decref(v);
    json_decref(draws);
    free(stage_out(0, "resume 3 --db '%s'", db));
    v = stage_json("fewshot 1 --db '%s' --json", db);
    assert_true(json_equal(stage_at(v, "results"), stage_at(whole, "results")));
    json_decref(v);
    v = stage_json("sweep 1 --db '%s' --json", db);
    assert_int_equal(json_array_size(stage_at(json_array_get(stage_at(v, "cells"), 0), "runs")), 4);
    json_decref(v);
    stage_refused(2, "use petri resume with that run", "sweep resume 1 --db '%s'", db);
    free(stage_out(0, "trash 1 --db '%s'", db));
    draws = stage_json("runs tag=draw --db '%s' --json", db); /* they go with it */
    assert_int_equal(json_array_size(draws), 0);
    json_decref(draws);
    free(stage_out(0, "restore 1 --db '%s'", db));
    draws = stage_json("runs parent=1 --db '%s' --json", db);
    assert_int_equal(json_array_size(draws), 4);
    json_decref(draws);
    free(stage_out(0, "trash 1 --db '%s'", db));
    free(stage_out(0, "purge 1 --yes --db '%s'", db));
    char *left = asked(db, "SELECT count(*) AS n FROM run");
    assert_non_null(strstr(left, "\n0"));
    json_decref(whole);
    free(left), free(live), free(db);
}

/* A second process trains draws too, and goes on alone when the first is gone; none is trained twice. */
static void two_processes_share_a_table(void **state) {
    (void)state;
    json_t *whole = whole_table();
    char *db = file_join(stage.folder, "shared.db");
    pid_t first = begin_draws(db, 2), second = command_start(stage.folder, "resume 1 --workers 1 --db '%s'", db);
    wait_for(db, "state = 'running'", 2); /* each trains one at a time */
    kill(first, SIGKILL);
    command_wait(first, 30);
    assert_int_equal(command_wait(second, 60), 0);
    char *twice = asked(db, "SELECT count(*) AS n FROM (SELECT cell, count(*) AS runs " DRAWS " GROUP BY cell HAVING runs > 1)");
    assert_non_null(strstr(twice, "\n0"));
    json_t *v = stage_json("resume 1 --db '%s' --json", db);
    assert_true(json_equal(stage_at(v, "results"), stage_at(whole, "results")));
    v = (json_decref(v), stage_json("show 1 --db '%s' --json", db));
    assert_string_equal(stage_text(v, "state"), "finished");
    json_decref(v);
    json_decref(whole);
    free(twice);
    free(db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_of_tasks),
        cmocka_unit_test(a_seed_counts_once),
        cmocka_unit_test(from_a_run),
        cmocka_unit_test(from_episodes),
        cmocka_unit_test(from_a_preset_of_episodes),
        cmocka_unit_test(draws_without_a_pooler_keep_nothing),
        cmocka_unit_test(several_methods),
        cmocka_unit_test(the_baselines),
        cmocka_unit_test(a_list_of_tasks),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(killed_and_resumed),
        cmocka_unit_test(a_draw_is_a_run),
        cmocka_unit_test(two_processes_share_a_table),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
