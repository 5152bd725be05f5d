/* The command line: help, refusals, exit codes, and one run through every verb. */
#include <jansson.h>
#include <pwd.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "app/verbs/args.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "tests/method/published.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static int lines_of(const char *text) {
    int n = 0;
    for (; *text; text++) n += *text == '\n';
    return n;
}

/* ---- help and words that are not known ---- */

static void help_fits_a_screen(void **state) {
    (void)state;
    char *help = stage_out(0, "--help"), *same = stage_out(0, "help"), *version = stage_out(0, "--version");
    assert_string_equal(help, same);
    assert_in_range(lines_of(help), 10, 23); /* and the prompt below */
    assert_true(!strncmp(version, "petri ", 6) && lines_of(version) == 1);
    for (size_t i = 0; verb_at(i); i++) {
        const char *name = verb_at(i)->name;
        char *word = xprintf(" %s ", name), *pair = xprintf(" %s, ", name); /* some share a line */
        if (!strstr(help, word) && !strstr(help, pair)) fail_msg("%s is not in the help", name);
        free(word);
        free(pair);
    }
    for (char *line = strtok(help, "\n"); line; line = strtok(NULL, "\n")) assert_in_range(strlen(line), 0, 80);
    free(help);
    free(same);
    free(version);
}

/* What an option does stands in column 25, beside the option or below it. */
static void options_are_aligned(const char *help) {
    for (const char *line = strstr(help, "\n  --"); line; line = strstr(line, "\n  --")) {
        line++;
        const char *end = strchr(line, '\n');
        size_t at = text_fit(line, 25);
        if (end && strspn(end + 1, " ") == 25) continue;
        if (line + at >= end || line[at - 1] != ' ' || line[at] == ' ')
            fail_msg("not aligned: %.*s", (int)(end - line), line);
    }
}

static void every_verb_has_help(void **state) {
    (void)state;
    for (size_t i = 0; verb_at(i); i++) {
        const char *name = verb_at(i)->name;
        char *help = stage_out(0, "%s --help", name), *word = xprintf("petri %s", name);
        assert_true(!strncmp(help, word, strlen(word)));
        assert_non_null(strstr(help, "--db FILE"));
        assert_non_null(strstr(help, "--json"));
        free(word);
        options_are_aligned(help);
        free(help);
    }
    char *stop = stage_out(0, "stop --help"), *resume = stage_out(0, "resume --help");
    assert_null(strstr(stop, "Resume a run")); /* each its own sentence */
    assert_non_null(strstr(resume, "Resume a run"));
    free(stop);
    free(resume);
}

static void unknown_words_name_the_nearest(void **state) {
    (void)state;
    stage_refused(2, "did you mean train?", "trian");
    stage_refused(2, "petri --help", "zzzzzz");
    stage_refused(2, "did you mean --method?", "train --metod lora");
    stage_refused(2, "did you mean --json?", "runs --jsn");
    stage_refused(2, "theme must be safe, dark, light or mono, not \"pink\"", "--theme pink");
    stage_refused(2, "petri: petri: unknown option --frobnicate; see petri --help", "--frobnicate");
    stage_refused(2, "options begin with --", "train -m lora");
    stage_refused(2, "--model: requires a value", "train --model");
    stage_refused(2, "--by: requires a value", "compare 1 --by --db '%s'", stage.db);
    stage_refused(2, "--data: requires a value", "replicate hyperformer --data --db='%s'", stage.db);
    stage_refused(2, "given twice", "train --lr 1 --lr 2");
    stage_refused(2, "does not accept a value", "runs --json=yes");
    stage_refused(2, "run the benchmarks with \"make bench\"", "bench");
    stage_refused(2, "petri show: missing arguments: found 0; usage: petri show RUN", "show");
    stage_refused(2, "petri show: too many arguments: found 2; usage: petri show RUN", "show 1 2");
    stage_refused(2, "did you mean lora?", "count --model '%s' --method lorra", stage.model);
}

/* ---- what needs no database ---- */

static void count_reads_a_config_alone(void **state) {
    (void)state;
    char *only = file_join(stage.folder, "only"), *config = file_join(stage.model, "config.json");
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT;
    test_ok(file_make_folder(only, &e), &e);
    test_ok(file_read(config, 1 << 20, &text, &e), &e);
    free(test_file(only, "config.json", text.data, text.size));
    buf_release(&text);
    json_t *v = stage_json("count --model '%s' --method 'lora(r=2)' --json", only);
    assert_int_equal(json_integer_value(stage_at(v, "trained")), 128);
    assert_int_equal(json_integer_value(stage_at(v, "kept")), 128);
    assert_int_equal(json_integer_value(stage_at(v, "head")), 18);
    assert_int_equal(json_integer_value(stage_at(v, "model")), 1688);
    assert_int_equal(json_array_size(stage_at(v, "modules")), 2);
    json_decref(v);
    v = stage_json("count --model '%s' --method 'prefix-mlp(l=5,mlp=6)' --classes 3 --json", only);
    assert_int_equal(json_integer_value(stage_at(v, "trained")), 318);
    assert_int_equal(json_integer_value(stage_at(v, "kept")), 160);
    assert_int_equal(json_integer_value(stage_at(v, "head")), 27);
    json_decref(v);
    stage_refused(3, "model.safetensors", "encode --model '%s' --text a", only);
    free(test_file(only, "config.json", BART_BASE, strlen(BART_BASE)));
    v = stage_json("count --model '%s' --method 'prefix(l=30)' --json", only);
    assert_int_equal(json_integer_value(stage_at(v, "trained")), 829440);
    assert_int_equal(json_integer_value(stage_at(v, "head")), 0); /* it writes text */
    json_decref(v);
    v = stage_json("count --model '%s' --method head --json", only);
    assert_int_equal(json_integer_value(stage_at(v, "trained")), 0);
    json_decref(v);
    free(only);
    free(config);
}

static void lists_are_json(void **state) {
    (void)state;
    json_t *v = stage_json("methods --json"), *one;
    size_t i;
    assert_in_range(json_array_size(v), 14, 60);
    json_array_foreach(v, i, one) {
        assert_true(*stage_text(one, "name") && *stage_text(one, "paper"));
        assert_true(json_array_size(stage_at(one, "axes.function")) > 0 || !strcmp(stage_text(one, "name"), "head"));
        assert_true(json_is_array(stage_at(one, "axes.position")) && json_is_array(stage_at(one, "axes.insertion")) &&
                    json_is_array(stage_at(one, "axes.composition")));
        assert_true(json_number_value(stage_at(one, "lr")) > 0);
    }
    json_decref(v);
    json_decref(stage_json("tasks --json"));
    json_decref(stage_json("models --json"));
    v = stage_json("encode --model '%s' --text 'the cat' --text-b mat --json", stage.model);
    json_t *ids = stage_at(v, "ids");
    static const int want[] = { 2, 5, 6, 3, 9, 3 }, type[] = { 0, 0, 0, 0, 1, 1 };
    assert_int_equal(json_array_size(ids), 6);
    for (int k = 0; k < 6; k++) {
        assert_int_equal(json_integer_value(json_array_get(ids, (size_t)k)), want[k]);
        assert_int_equal(json_integer_value(json_array_get(stage_at(v, "types"), (size_t)k)), type[k]);
    }
    assert_int_equal(json_array_size(stage_at(v, "cls")), 8);
    assert_int_equal(json_array_size(stage_at(v, "mean")), 8);
    json_decref(v);
}

/* By the tokenizer of each family, with the start token where it has one. */
static void encode_reads_decoder_only_models(void **state) {
    (void)state;
    static const struct {
        const char *folder, *ids;
    } want[] = {
        { "llama", "[59,49,55,9,52,39,263,19,20,21,22,223,129,124,14,296]" },
        { "qwen2", "[59,49,55,9,52,39,223,223,19,20,21,22,223,129,124,14,296]" },
        { "llama3", "[0,59,49,55,9,52,39,223,223,277,21,22,223,129,124,14,297]" },
        { "mistral", "[1,319,92,82,88,282,85,72,319,280,272,319,197,192,285,319,198,172]" },
    };
    char *causal = test_path("tests/reference/causal");
    for (size_t i = 0; i < COUNT_OF(want); i++) {
        json_t *v = stage_json("encode --model '%s/%s' --text \"YOU'RE  1234 \u00bd, \u00e9\" --json", causal,
                               want[i].folder);
        char *ids = json_dumps(stage_at(v, "ids"), JSON_COMPACT);
        assert_string_equal(ids, want[i].ids);
        assert_int_equal(json_array_size(stage_at(v, "mean")), 48);
        free(ids);
        json_decref(v);
    }
    free(causal);
}

static void doctor_tells_the_machine(void **state) {
    (void)state;
    char *cache = xprintf("%s/cache", stage.folder);
    setenv("XDG_CACHE_HOME", cache, 1);
    free(cache);
    json_t *v = stage_json("doctor --json --db '%s/none.db'", stage.folder);
    assert_true(json_is_true(stage_at(v, "ok")));
    assert_true(json_is_true(stage_at(v, "blas.self_test_passed")));
    assert_true(json_number_value(stage_at(v, "blas.sgemm_gflops")) > 0);
    if (json_is_true(stage_at(v, "bfloat16.native"))) assert_true(json_number_value(stage_at(v, "bfloat16.gflops")) > 0);
    assert_true(json_is_false(stage_at(v, "database.exists")));
    assert_true(json_number_value(stage_at(v, "cache.files")) == 0);
    assert_non_null(strstr(stage_text(v, "cache.folder"), "/petri/frozen"));
    assert_true(*stage_text(v, "processor.name") && *stage_text(v, "blas.kernel"));
    json_decref(v);
    char *text = stage_out(0, "doctor --db '%s/none.db'", stage.folder);
    assert_non_null(strstr(text, "self_test"));
    free(text);
    free(stage_out(0, "train --model '%s' --train '%s' --text text --label label --method 'lora(r=2,layers=2-)' --steps 1 "
                      "--share-frozen on --db '%s/shared.db'", stage.model, stage.toy, stage.folder));
    v = stage_json("doctor --json --db '%s/none.db'", stage.folder);
    assert_true(json_number_value(stage_at(v, "cache.files")) == 1);
    assert_true(json_number_value(stage_at(v, "cache.bytes")) > 0);
    json_decref(v);
}

/* ---- a run through every verb ---- */

static void one_run_through_every_verb(void **state) {
    (void)state;
    const char *db = stage.db;
    char *more = xprintf("--steps 10 --dev '%s' --note 'a note'", stage.toy);
    json_t *record = stage_train(&stage, 0, more);
    json_t *list = stage_json("runs --db '%s' --json", db);
    assert_int_equal(json_array_size(list), 1);
    const char *key;
    json_t *value;
    json_object_foreach(json_array_get(list, 0), key, value) {
        if (!json_equal(value, json_object_get(record, key))) fail_msg("%s differs between train and runs", key);
    }
    json_decref(list);
    json_t *v = stage_json("show 1 --db '%s' --json", db);
    assert_true(json_equal(v, record));
    json_decref(v);
    assert_string_equal(stage_text(record, "state"), "finished");
    assert_string_equal(stage_text(record, "note"), "a note");
    assert_int_equal(json_integer_value(stage_at(record, "trained")), 128);
    assert_int_equal(strlen(stage_text(record, "weights_sha256")), 64);
    assert_string_equal(stage_text(record, "best.metric"), "accuracy");
    assert_true(json_is_number(stage_at(record, "final_loss")));

    v = stage_json("predict 1 --db '%s' --text 'good film' --json", db);
    assert_non_null(strstr("neg pos", stage_text(v, "label")));
    assert_float_equal(json_number_value(stage_at(v, "probabilities.neg")) +
                           json_number_value(stage_at(v, "probabilities.pos")), 1, 1e-6);
    json_decref(v);
    char *rows = stage_out(0, "predict 1 --db '%s' --file '%s' --json", db, stage.toy);
    assert_int_equal(stage_json_lines(rows), 20);
    free(rows);
    static const char odd_rows[] = "{\"text\":\"good film\"}\n{\"text\":7}\n";
    char *some = test_file(stage.folder, "odd.jsonl", odd_rows, sizeof odd_rows - 1);
    struct command predict;
    command_run(&predict, NULL, "predict 1 --db '%s' --file '%s' --json", db, some);
    command_expect(&predict, 0);
    assert_int_equal(stage_json_lines(buf_text(&predict.out)), 1);
    assert_non_null(strstr(buf_text(&predict.err), "odd.jsonl: 1 line dropped:\n  line 2: \"text\" must be a string, not a number"));
    command_release(&predict);
    free(some);
    v = stage_json("eval 1 --db '%s' --json", db);
    assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")),
                       json_number_value(stage_at(record, "best.value")), 1e-12);
    json_decref(v);

    char *points = stage_out(0, "export 1 --db '%s' --to csv", db);
    assert_true(!strncmp(points, "\"run\",\"key\",\"step\",\"value\",\"kind\"\n", 34));
    assert_in_range(lines_of(points), 41, 100);
    char *again = stage_out(0, "export 1 --db '%s' --to csv '%s/points.csv'", db, stage.folder);
    assert_string_equal(again, "");
    free(again);
    char *path = file_join(stage.folder, "points.csv");
    struct buf bytes = BUF_INIT;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 20, &bytes, &e), &e);
    assert_string_equal(buf_text(&bytes), points);
    buf_release(&bytes);
    free(path);
    free(points);
    char *json = stage_out(0, "export 1 --db '%s' --to json", db);
    assert_in_range(stage_json_lines(json), 41, 100);
    free(json);
    free(stage_out(0, "export 1 --db '%s' --to hf '%s/hf'", db, stage.folder));
    v = stage_json("predict --model '%s/hf' --text 'good film' --json", stage.folder);
    json_decref(v);
    stage_refused(2, "not empty", "export 1 --db '%s' --to hf '%s/hf'", db, stage.folder);

    char *csv = stage_out(0, "sql --db '%s' 'SELECT id,state,best FROM v_runs'", db);
    assert_true(!strncmp(csv, "\"id\",\"state\",\"best\"\n1,\"finished\",", 32));
    free(csv);
    stage_refused(2, "read-only: expected one SELECT", "sql --db '%s' 'DELETE FROM run'", db);
    stage_refused(2, "petri sql: near \"SELEC\": syntax error;", "sql --db '%s' 'SELEC 1'", db);
    stage_refused(3, "petri compare: no runs match \"method=nothing\"; list all runs with `petri runs`", "compare method=nothing --db '%s'", db);
    stage_refused(2, "--task a,,b: empty task name", "embed --task a,,b --db '%s'", db);
    free(stage_out(0, "trash 1 --db '%s'", db));
    list = stage_json("runs --db '%s' --json", db);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    list = stage_json("runs --trash --db '%s' --json", db);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    free(stage_out(0, "restore 1 --db '%s'", db));
    list = stage_json("runs --db '%s' --json", db);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    json_decref(record);
    free(more);
}

/* The first word that is neither an option nor its value is the verb. */
static void options_may_stand_before_the_verb(void **state) {
    (void)state;
    char *db = file_join(stage.folder, "before.db");
    free(stage_out(0, "--db '%s' --steps 1 train --batch 2 --model '%s' --train '%s'", db, stage.model, stage.toy));
    char *first = stage_out(0, "--db '%s' runs --json", db), *last = stage_out(0, "runs --json --db '%s'", db),
         *equals = stage_out(0, "--json '--db=%s' runs state=finished", db);
    assert_string_equal(first, last);
    assert_string_equal(first, equals);
    assert_non_null(strstr(first, "\"id\":1"));
    stage_refused(2, "given twice", "--db '%s' runs --db '%s'", db, db);
    stage_refused(2, "unknown verb \"rums\"", "--db '%s' rums", db);
    stage_refused(2, "unknown option --steps", "--steps 3 show 1 --db '%s'", db);
    stage_refused(2, "mouse must be on or off", "--theme dark --mouse maybe --db '%s'", db); /* without a verb */
    free(equals);
    free(last);
    free(first);
    free(db);
}

static void seeds_make_one_run_each(void **state) {
    (void)state;
    char *db = file_join(stage.folder, "seeds.db");
    struct stage other = stage;
    other.db = db;
    char *line = stage_line(&other, "--steps 4 --seeds 3,1,2 --json");
    char *out = stage_out(0, "%s", line);
    stage_json_lines(out);
    free(out);
    json_t *list = stage_json("runs --db '%s' --sort seed --json", db);
    assert_int_equal(json_array_size(list), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(json_integer_value(stage_at(json_array_get(list, (size_t)i), "seed")), i + 1);
    json_decref(list);
    stage_refused(2, "--seeds", "train --model '%s' --train '%s' --seeds 1,x --db '%s'", stage.model, stage.toy, db);
    stage_refused(2, "--seed", "train --model '%s' --train '%s' --seeds 1,2 --seed 3 --db '%s'", stage.model,
                  stage.toy, db);
    free(line);
    free(db);
}

static void long_lists_are_quick(void **state) {
    (void)state;
    struct stage many = stage;
    many.db = file_join(stage.folder, "many.db");
    json_decref(stage_train(&many, 0, "--steps 1"));
    sqlite3 *db;
    assert_int_equal(sqlite3_open(many.db, &db), SQLITE_OK);
    /* run 1 as often as it takes; columns by name, as the table has them */
    sqlite3_stmt *q;
    struct buf columns = BUF_INIT;
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info('run') WHERE name <> 'id'", -1, &q, NULL),
                     SQLITE_OK);
    while (sqlite3_step(q) == SQLITE_ROW)
        buf_printf(&columns, "%s\"%s\"", columns.size ? "," : "", (const char *)sqlite3_column_text(q, 0));
    sqlite3_finalize(q);
    char *sql = xprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<9999) "
                        "INSERT INTO run(%s) SELECT %s FROM run, n WHERE run.id=1",
                        buf_text(&columns), buf_text(&columns));
    char *why = NULL;
    if (sqlite3_exec(db, sql, NULL, NULL, &why)) fail_msg("%s", why);
    sqlite3_close(db);
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    char *list = stage_out(0, "runs --db '%s'", many.db);
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_int_equal(lines_of(list), 10002);
    assert_in_range(to.tv_sec - from.tv_sec, 0, 9); /* widths measured anew for each row took 34 s */
    free(list);
    free(sql);
    free(many.db);
    buf_release(&columns);
}

static void waiting_for_a_lock_is_said(void **state) {
    (void)state;
    struct stage other = stage;
    other.db = file_join(stage.folder, "held.db");
    json_decref(stage_train(&other, 0, "--steps 1"));
    char *lock = xprintf("%s-lock", other.db), *folder = test_folder(), *said = file_join(folder, "stderr");
    struct err e = ERR_INIT;
    int fd;
    test_ok(file_lock(lock, true, &fd, &e), &e);
    pid_t pid = command_start(folder, "trash 1 --db '%s'", other.db);
    struct buf text = BUF_INIT;
    for (int tries = 0; tries < 100 && !text.size; tries++) {
        nanosleep(&(struct timespec){ 0, 40000000 }, NULL);
        buf_release(&text);
        test_ok(file_read(said, 4096, &text, &e), &e);
    }
    file_unlock(fd);
    assert_int_equal(command_wait(pid, 20), 0);
    assert_non_null(strstr(buf_text(&text), "petri: "));
    assert_non_null(strstr(buf_text(&text), "held.db-lock: locked by another program; waiting"));
    buf_release(&text);
    free(said);
    free(folder);
    free(lock);
    free(other.db);
}

/* ---- exit codes ---- */

static void exit_codes_tell_the_kind(void **state) {
    (void)state;
    char *bad = test_file(stage.folder, "not.db", "hello, this is no database\n", 27);
    char *nul = test_file(stage.folder, "broken.tsv", "text\tlabel\n\xff\xfe\tpos\n", 18);
    const char *m = stage.model, *db = stage.db;
    stage_refused(3, "run 77 does not exist", "show 77 --db '%s'", db);
    stage_refused(2, "unknown run \"abc\"", "show abc --db '%s'", db);
    stage_refused(3, "nowhere.db", "runs --db '%s/nowhere.db'", stage.folder);
    stage_refused(4, "not a database", "runs --db '%s'", bad);
    stage_refused(4, "not.db/x.db", "runs --db '%s/x.db'", bad);
    stage_refused(4, "not a database", "--db '%s' runs", bad);
    stage_refused(4, "not a database", "train --model '%s' --train '%s' --db '%s'", m, stage.toy, bad);
    stage_refused(3, "nothing.tsv", "train --model '%s' --train nothing.tsv --db '%s'", m, db);
    stage_refused(3, "model folder not found", "train --model /nowhere --train '%s' --db '%s'", stage.toy, db);
    stage_refused(2, "\"txt\"", "train --model '%s' --train '%s' --text txt --label label --db '%s'", m, stage.toy, db);
    stage_refused(2, "--steps", "train --model '%s' --train '%s' --steps 0 --db '%s'", m, stage.toy, db);
    stage_refused(2, "--lr", "train --model '%s' --train '%s' --lr abc --db '%s'", m, stage.toy, db);
    stage_refused(2, "--batch", "train --model '%s' --train '%s' --batch -3 --db '%s'", m, stage.toy, db);
    stage_refused(2, "not both", "train --model '%s' --train '%s' --steps 3 --epochs 2 --db '%s'", m, stage.toy, db);
    stage_refused(2, "--screen", "render --screen nothing");
    stage_refused(2, "0x0", "render --screen runs --size 0x0");
    json_t *run = stage_train(&stage, 1, "--lr 1e30 --steps 20");
    assert_string_equal(stage_text(run, "state"), "failed");
    json_decref(run);
    char *broken = tiny_bert(stage.folder, "broken", NULL);
    free(test_file(broken, "model.safetensors", "\0\0\0\0\0\0\0\0", 8));
    stage_refused(5, "model.safetensors", "encode --model '%s' --text a", broken);
    stage_refused(5, "model.safetensors", "train --model '%s' --train '%s' --db '%s'", broken, stage.toy, db);
    struct command c;
    command_run(&c, NULL, "train --model '%s' --train '%s' --text text --label label --steps 2 --db '%s'", m, nul, db);
    if (c.status != 5 && c.status != 0) fail_msg("exit %d: %s", c.status, buf_text(&c.err));
    command_release(&c);
    static const char *const verb[] = { "runs", "export 1 --to csv", "sql 'SELECT * FROM v_points, v_points AS x'" };
    for (size_t i = 0; i < COUNT_OF(verb); i++) {
        char *said = file_join(stage.folder, "said");
        char *line = xprintf("'%s' %s --db '%s' >/dev/full 2>'%s'", getenv("PETRI_BIN"), verb[i], db, said);
        assert_int_equal(WEXITSTATUS(system(line)), 1);
        struct buf text = BUF_INIT;
        struct err e = ERR_INIT;
        test_ok(file_read(said, 4096, &text, &e), &e);
        assert_non_null(strstr(buf_text(&text), "could not be written"));
        buf_release(&text);
        free(said);
        free(line);
    }
    free(broken);
    free(nul);
    free(bad);
}

/* ---- names ---- */

static void paths_may_hold_anything(void **state) {
    (void)state;
    static const char *const names[] = { "-n x", "\xe6\xa8\xa1\xe5\x9e\x8b \xc3\xa9 \"x\" -n", "a\tb", "%s%n" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        struct stage odd;
        struct err e = ERR_INIT;
        odd.folder = file_join(stage.folder, names[i]);
        test_ok(file_make_folder(odd.folder, &e), &e);
        odd.model = tiny_bert(odd.folder, names[i], NULL);
        odd.toy = tiny_toy(odd.folder);
        odd.db = xprintf("%s/%s.db", odd.folder, names[i]);
        char *more = xprintf("--steps 3 --dev '%s'", odd.toy);
        json_t *run = stage_train(&odd, 0, more);
        char *real = realpath(odd.model, NULL);
        assert_string_equal(stage_text(run, "model_folder"), real);
        free(real);
        json_decref(run);
        json_decref(stage_json("predict 1 --db '%s' --text 'good film' --json", odd.db));
        free(stage_out(0, "export 1 --db '%s' --to hf '%s/out %s'", odd.db, odd.folder, names[i]));
        json_decref(stage_json("predict --model '%s/out %s' --text 'good film' --json", odd.folder, names[i]));
        char *shown = stage_out(0, "show 1 --db '%s'", odd.db);
        assert_null(strchr(shown, '\t'));
        free(shown);
        free(more);
        stage_release(&odd);
    }
}

/* What the record cannot hold is refused before anything is trained. */
static void paths_that_are_not_utf8(void **state) {
    (void)state;
    struct stage odd;
    struct err e = ERR_INIT;
    char *folder = file_join(stage.folder, "n\xffon");
    test_ok(file_make_folder(folder, &e), &e);
    char *model = tiny_bert(folder, "tiny", NULL), *toy = tiny_toy(folder), *db = file_join(folder, "p.db");
    static const char table[] = "caf\xe9\tlabel\na\tx\nb\ty\n";
    char *latin = test_file(stage.folder, "latin.tsv", table, sizeof table - 1);
#define TRAIN "train --model '%s' --train '%s' --text %s --label label --steps 1 --batch 2 --db '%s'"
    stage_refused(2, "path is not valid UTF-8", TRAIN, model, stage.toy, "text", db);
    stage_refused(2, "path is not valid UTF-8", TRAIN, stage.model, toy, "text", db);
    stage_refused(2, "position, for example #2", TRAIN, stage.model, latin, "caf\xe9", db);
#undef TRAIN
    char *list = stage_out(0, "runs --db '%s' --json", db);
    assert_string_equal(list, "[]\n");
    free(list);
    odd = (struct stage){ folder, stage.model, stage.toy, db };
    json_decref(stage_train(&odd, 0, "--steps 2")); /* the history may lie anywhere */
    json_decref(stage_json("predict 1 --db '%s' --text 'good film' --json", db));
    free(stage_out(0, "export 1 --db '%s' --to hf '%s/out'", db, folder));
    json_decref(stage_json("predict --model '%s/out' --text 'good film' --json", folder));
    free(latin);
    free(db);
    free(toy);
    free(model);
    free(folder);
}

/* Services have no HOME: the account's is meant, not the folder they happen to be in, and that is said. */
static void without_home_the_place_is_said(void **state) {
    (void)state;
    const struct passwd *account = getpwuid(geteuid());
    static const char *const homes[] = { "HOME= XDG_DATA_HOME=", "HOME=. XDG_DATA_HOME=data" };
    for (size_t i = 0; i < COUNT_OF(homes); i++) {
        struct command c;
        command_run(&c, homes[i], "runs");
        char *said = xprintf("petri: HOME is not set to an absolute path: using the database %s/.local/share/petri/petri.db; use --db FILE",
                             account ? account->pw_dir : "");
        if (account && file_is_folder(account->pw_dir)) assert_int_equal(strncmp(buf_text(&c.err), said, strlen(said)), 0);
        else command_expect(&c, 2);
        free(said);
        command_release(&c);
        char *named = stage_out(0, "runs --db '%s'", stage.db);
        free(named);
    }
    assert_false(file_exists("./.local"));
}

/* ---- screens as text ---- */

static int columns_of(const char *line, size_t n) {
    int columns = 0;
    for (size_t i = 0; i < n; i++) columns += ((unsigned char)line[i] & 0xC0) != 0x80;
    return columns;
}

static void screens_are_drawn_as_text(void **state) {
    (void)state;
    static const char *const screens[] = { "first", "compose", "train", "runs", "detail", "help" };
    static const struct { int w, h; } size[] = { { 80, 24 }, { 200, 60 }, { 20, 5 }, { 1, 1 } };
    for (size_t i = 0; i < COUNT_OF(screens); i++) {
        for (size_t k = 0; k < COUNT_OF(size); k++) {
            char *out = stage_out(0, "render --screen %s --size %dx%d --db '%s' --model '%s' --task '%s'", screens[i],
                                  size[k].w, size[k].h, stage.db, stage.model, stage.toy);
            assert_int_equal(lines_of(out), size[k].h);
            for (const char *line = out, *end; (end = strchr(line, '\n')); line = end + 1)
                assert_in_range(columns_of(line, (size_t)(end - line)), 0, size[k].w);
            assert_null(strchr(out, '\x1b'));
            free(out);
            out = stage_out(0, "render --screen %s --size %dx%d --ascii --db '%s' --model '%s'", screens[i], size[k].w,
                            size[k].h, stage.db, stage.model);
            for (const char *p = out; *p; p++) assert_true((unsigned char)*p < 127);
            free(out);
        }
    }
    char *runs = stage_out(0, "render --screen runs --db '%s' --model '%s'", stage.db, stage.model);
    assert_non_null(strstr(runs, "lora(r=2)"));
    free(runs);
    runs = stage_out(0, "render --screen runs --run 1 --db '%s' --model '%s'", stage.db, stage.model);
    assert_non_null(strstr(runs, "\u25B8    1 ")); /* the cursor is on the run asked for */
    json_t *v = stage_json("render --screen runs --run 1 --db '%s' --model '%s' --json", stage.db, stage.model);
    assert_string_equal(stage_text(v, "text"), runs);
    assert_string_equal(stage_text(v, "screen"), "runs");
    assert_int_equal(json_integer_value(stage_at(v, "columns")), 80);
    json_decref(v);
    free(runs);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(help_fits_a_screen),
        cmocka_unit_test(every_verb_has_help),
        cmocka_unit_test(unknown_words_name_the_nearest),
        cmocka_unit_test(count_reads_a_config_alone),
        cmocka_unit_test(lists_are_json),
        cmocka_unit_test(encode_reads_decoder_only_models),
        cmocka_unit_test(doctor_tells_the_machine),
        cmocka_unit_test(one_run_through_every_verb),
        cmocka_unit_test(seeds_make_one_run_each),
        cmocka_unit_test(long_lists_are_quick),
        cmocka_unit_test(options_may_stand_before_the_verb),
        cmocka_unit_test(waiting_for_a_lock_is_said),
        cmocka_unit_test(exit_codes_tell_the_kind),
        cmocka_unit_test(paths_may_hold_anything),
        cmocka_unit_test(paths_that_are_not_utf8),
        cmocka_unit_test(without_home_the_place_is_said),
        cmocka_unit_test(screens_are_drawn_as_text),
    };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
