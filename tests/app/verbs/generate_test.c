/* petri generate: what it prints, for texts and files, with and without a run; what it
 * refuses; how it stops. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/writer.h"

static char *t5;

static int set_up(void **state) {
    (void)state;
    stage_init(&stage);
    t5 = writer_model(stage.folder, "writer", FAMILY_T5, NULL);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(t5);
    stage_release(&stage);
    return 0;
}

static size_t lines_of(const char *text) {
    size_t n = 0;
    for (; (text = strchr(text, '\n')); text++) n++;
    return n;
}

static char *file_of(const char *name, const char *text) {
    return test_file(stage.folder, name, text, strlen(text));
}

static void prints_text_and_ids(void **state) {
    (void)state;
    json_t *v = stage_json("generate --model '%s' --text 'good film' --max-new 6 --min-new 6 --json", t5);
    assert_int_equal(json_array_size(stage_at(v, "ids")), 6);
    assert_int_equal(json_object_size(v), 3);
    assert_string_equal(stage_text(v, "end"), "length");
    stage_text(v, "text");
    json_decref(v);
    v = stage_json("generate --model '%s' --text 'good film' --max-new 3 --beams 4 --length-penalty 2 --json", t5);
    assert_in_range(json_array_size(stage_at(v, "ids")), 1, 3);
    json_decref(v);
    v = stage_json("generate --model '%s' --text 'good film' --first good --max-new 2 --json", t5);
    char *plain = stage_out(0, "generate --model '%s' --text 'good film' --first good --max-new 2", t5);
    assert_true(!strncmp(stage_text(v, "text"), "good", 4));
    assert_true(!strncmp(plain, stage_text(v, "text"), strlen(plain) - 1));
    free(plain);
    json_decref(v);
}

/* A line a source in the file's order, the same for any number of workers. */
static void reads_files(void **state) {
    (void)state;
    struct buf plain = BUF_INIT, table = BUF_INIT;
    static const char *const word[] = { "good film", "bad", "a good bad film", "film" };
    buf_puts(&table, "n\tsaid\n");
    for (int i = 0; i < 90; i++) {
        buf_printf(&plain, "%s\n", word[i % 4]);
        buf_printf(&table, "%d\t%s\n", i, word[i % 4]);
    }
    char *lines = file_of("sources.txt", buf_text(&plain)), *tsv = file_of("sources.tsv", buf_text(&table));
    for (int beams = 1; beams <= 3; beams += 2) {
        char *one = stage_out(0, "generate --model '%s' --file '%s' --beams %d --workers 1 --json", t5, lines, beams);
        char *many = stage_out(0, "generate --model '%s' --file '%s' --beams %d --workers 4 --json", t5, lines, beams);
        char *column = stage_out(0, "generate --model '%s' --file '%s' --column said --beams %d --json", t5, tsv, beams);
        assert_int_equal(stage_json_lines(one), 90);
        assert_string_equal(one, many);
        assert_string_equal(one, column);
        free(one);
        free(many);
        free(column);
    }
    char *text = stage_out(0, "generate --model '%s' --file '%s'", t5, lines);
    assert_int_equal(lines_of(text), 90);
    free(text);
    free(lines);
    free(tsv);
    buf_release(&plain);
    buf_release(&table);
}

/* Drawn texts depend on the seed and the source, not on the number of workers. */
static void samples(void **state) {
    (void)state;
    struct buf plain = BUF_INIT;
    for (int i = 0; i < 40; i++) buf_puts(&plain, i % 2 ? "good film\n" : "bad\n");
    char *lines = file_of("drawn.txt", buf_text(&plain));
    static const char *const model[] = { NULL, "tests/reference/causal/mistral" };
    for (size_t i = 0; i < COUNT_OF(model); i++) {
        const char *m = model[i] ? model[i] : t5;
        char *one = stage_out(0, "generate --model '%s' --file '%s' --max-new 8 --temperature 1.5 --seed 4 --workers 1 --json", m, lines);
        char *many = stage_out(0, "generate --model '%s' --file '%s' --max-new 8 --temperature 1.5 --seed 4 --workers 4 --json", m, lines);
        char *other = stage_out(0, "generate --model '%s' --file '%s' --max-new 8 --temperature 1.5 --seed 5 --json", m, lines);
        char *best = stage_out(0, "generate --model '%s' --file '%s' --max-new 8 --temperature 0 --json", m, lines);
        char *first = stage_out(0, "generate --model '%s' --file '%s' --max-new 8 --top-k 1 --json", m, lines);
        assert_string_equal(one, many);
        assert_string_not_equal(one, other);
        assert_string_not_equal(one, best);
        assert_string_equal(best, first);
        free(one), free(many), free(other), free(best), free(first);
    }
    stage_refused(2, "sampling with 2 beams is not supported", "generate --model '%s' --text x --top-p 0.9 --beams 2", t5);
    stage_refused(2, "--seed: greedy decoding is deterministic", "generate --model '%s' --text x --seed 3", t5);
    stage_refused(2, "--temperature", "generate --model '%s' --text x --temperature 0.0001", t5);
    stage_refused(2, "--stop: the text is empty", "generate --model '%s' --text x --stop ''", t5);
    free(lines);
    buf_release(&plain);
}

/* A text ends before a stop text, whose characters may be of several tokens. */
static void stops_at_a_text(void **state) {
    (void)state;
    static const char line[] = "generate --model tests/reference/causal/llama --text 'where is' --max-new 20 --json";
    json_t *whole = stage_json("%s", line), *cut = stage_json("%s --stop zzzz --stop hett", line);
    const char *at = strstr(stage_text(whole, "text"), " thett"); /* the token " the", then "t" */
    assert_non_null(at);
    size_t n = (size_t)(at - stage_text(whole, "text")) + 2;
    assert_int_equal(strlen(stage_text(cut, "text")), n);
    assert_memory_equal(stage_text(cut, "text"), stage_text(whole, "text"), n);
    assert_string_equal(stage_text(cut, "end"), "stop");
    json_decref(whole);
    json_decref(cut);
}

/* A trained run writes what the model alone does not. */
static void uses_a_run(void **state) {
    (void)state;
    char *pairs = writer_pairs(stage.folder);
    free(stage_out(0, "train --model '%s' --train '%s' --method full --steps 120 --batch 6 --lr 0.01 "
                   "--db '%s' --max-target 8 --schedule constant --workers 2",
                   t5, pairs, stage.db));
    char *alone = stage_out(0, "generate --model '%s' --file '%s' --column source --max-new 8", t5, pairs);
    char *run = stage_out(0, "generate 1 --db '%s' --file '%s' --column source --max-new 8", stage.db, pairs);
    char *both = stage_out(0, "generate --model '%s' --run 1 --db '%s' --file '%s' --column source --max-new 8 "
                              "--workers 1", t5, stage.db, pairs);
    assert_string_not_equal(alone, run);
    assert_string_equal(run, both);
    char *other = writer_model(stage.folder, "other", FAMILY_BART, NULL);
    stage_refused(5, "wrong model", "generate --model '%s' --run 1 --db '%s' --text x", other, stage.db);
    stage_refused(2, "--run: cannot be combined with RUN", "generate 1 --run 1 --db '%s' --text x", stage.db);
    stage_refused(3, "", "generate --run 77 --db '%s' --text x", stage.db);
    free(other);
    free(alone);
    free(run);
    free(both);
    free(pairs);
}

static void refuses(void **state) {
    (void)state;
    stage_refused(2, "petri predict", "generate --model '%s' --text x", stage.model);
    stage_refused(2, "requires --text or --file", "generate --model '%s'", t5);
    stage_refused(2, "requires RUN", "generate --text x");
    stage_refused(3, "", "generate --model '%s/none' --text x", stage.folder);
    stage_refused(2, "--beams", "generate --model '%s' --text x --beams 0", t5);
    stage_refused(2, "--min-new 9: exceeds the maximum of 4 new tokens; use a higher --max-new", "generate --model '%s' --text x --max-new 4 --min-new 9", t5);
    stage_refused(2, "--length-penalty", "generate --model '%s' --text x --length-penalty long", t5);
    stage_refused(2, "unknown token", "generate --model '%s' --text x --first frobnicate", t5);
}

/* Settings of a stranger's folder: refused by name in every verb that writes. */
static void refuses_broken_settings(void **state) {
    (void)state;
    static const char *const wrong[] = { "[", "[]", "{\"num_beams\": \"x\"}", "{\"max_length\": 1e99}",
                                         "{\"eos_token_id\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "{\"eos_token_id\": 99}",
                                         "{\"early_stopping\": 3}", "{\"decoder_start_token_id\": -1}" };
    char *other = writer_model(stage.folder, "broken", FAMILY_T5, NULL), *pairs = writer_pairs(stage.folder);
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        free(test_file(other, "generation_config.json", wrong[i], strlen(wrong[i])));
        stage_refused(5, "generation_config.json", "generate --model '%s' --text x", other);
        stage_refused(5, "generation_config.json", "predict --model '%s' --text x", other);
        struct command c;
        command_run(&c, NULL, "train --model '%s' --train '%s' --dev '%s' --db '%s'", other, pairs, pairs,
                    stage.db);
        command_expect(&c, 5);
        assert_non_null(strstr(buf_text(&c.err), "generation_config.json"));
        command_release(&c);
    }
    free(other);
    free(pairs);
}

static void stops(void **state) {
    (void)state;
    struct buf many = BUF_INIT;
    for (int i = 0; i < 60000; i++) buf_puts(&many, "a good bad film\n");
    char *file = file_of("many.txt", buf_text(&many)), *out = file_join(stage.folder, "stdout");
    pid_t pid = command_start(stage.folder, "generate --model '%s' --file '%s' --max-new 200 --min-new 200 --json",
                              t5, file);
    struct buf got = BUF_INIT;
    struct err e = ERR_INIT;
    for (int i = 0; i < 400 && !got.size; i++) { /* until a row is out */
        usleep(50000);
        buf_clear(&got);
        if (file_exists(out)) test_ok(file_read(out, 1 << 26, &got, &e), &e);
    }
    assert_true(got.size > 0);
    kill(pid, SIGINT);
    assert_int_equal(command_wait(pid, 10), 130);
    buf_release(&got);
    test_ok(file_read(out, 1 << 26, &got, &e), &e);
    assert_in_range(stage_json_lines(buf_text(&got)), 1, 59999);
    buf_release(&got);
    buf_release(&many);
    free(file);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(prints_text_and_ids), cmocka_unit_test(reads_files), cmocka_unit_test(uses_a_run),
        cmocka_unit_test(samples),             cmocka_unit_test(stops_at_a_text),
        cmocka_unit_test(refuses),             cmocka_unit_test(refuses_broken_settings),
        cmocka_unit_test(stops),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
