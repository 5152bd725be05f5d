/* A run and its model: what changed is noticed, what moved is found, what is missing is said. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/history.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static struct stage stage;

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    return 0;
}

static int drop(void **state) {
    (void)state;
    stage_release(&stage);
    return 0;
}

static char *read_text(const char *folder, const char *name) {
    struct buf b;
    struct err e = ERR_INIT;
    char *path = file_join(folder, name);
    test_ok(file_read(path, 1 << 20, &b, &e), &e);
    free(path);
    return buf_take(&b);
}

static void put_text(const char *folder, const char *name, const char *text) {
    free(test_file(folder, name, text, strlen(text)));
}

/* `text` with the first `from` as `to`; caller frees. */
static char *with(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!at) fail_msg("no %s in %s", from, text);
    return xprintf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

/* The line runs, and `part` is among what it says on standard error (NULL: nothing is). */
static void says(const char *part, const char *line) {
    struct command c;
    command_run(&c, NULL, "%s", line);
    command_expect(&c, 0);
    const char *said = buf_text(&c.err);
    if (part ? !strstr(said, part) : *said) fail_msg("%s\nwanted %s in: %s", line, part ? part : "nothing", said);
    command_release(&c);
}

/* ---- what a model is ---- */

/* Stops run 1 where it can be resumed. */
static void leave_a_stopped_run(void) {
    char *more = xprintf("--steps 100000 --eval-every 10 --dev '%s'", stage.toy), *line = stage_line(&stage, more);
    pid_t pid = command_start(stage.folder, "%s", line);
    stage_wait_step(&stage, 1, 20);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    command_wait(pid, 20);
    free(line);
    free(more);
}

static void a_changed_model_is_noticed(void **state) {
    (void)state;
    static const struct {
        const char *file, *from, *to, *part;
    } cases[] = {
        { "vocab.txt", "good\nbad\n", "bad\ngood\n", "/vocab.txt: has changed since" },
        { "tokenizer_config.json", "true", "false", "/tokenizer_config.json: has changed since" },
        { "config.json", "\"gelu\"", "\"relu\"", "/config.json: activation has changed since" },
        { "config.json", "_heads\":2", "_heads\":4", "/config.json: heads has changed since" },
        { "config.json", "1e-12", "1e-5", "/config.json: norm_epsilon has changed since" },
    };
    leave_a_stopped_run();
    char *right = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *was = read_text(stage.model, cases[i].file), *now = with(was, cases[i].from, cases[i].to);
        put_text(stage.model, cases[i].file, now);
        stage_refused(5, cases[i].part, "predict 1 --text 'good film' --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "eval 1 --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "embed --run 1 --db '%s'", stage.db);
        stage_refused(5, cases[i].part, "export 1 --to hf '%s/out' --db '%s'", stage.folder, stage.db);
        stage_refused(5, cases[i].part, "resume 1 --db '%s'", stage.db);
        put_text(stage.model, cases[i].file, was);
        free(was);
        free(now);
    }
    /* what takes the place of a file that was read */
    put_text(stage.model, "vocab.json", "{\"a\":0}");
    char *again = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db); /* merges.txt is missing: not read */
    assert_string_equal(again, right);
    free(again);
    /* names of labels and the stored type decide nothing here */
    char *was = read_text(stage.model, "config.json"),
         *now = with(was, "{", "{\"id2label\":{\"0\":\"x\"},\"torch_dtype\":\"float16\",\"transformers_version\":\"9\",");
    put_text(stage.model, "config.json", now);
    again = stage_out(0, "predict 1 --text 'good film' --db '%s'", stage.db);
    assert_string_equal(again, right);
    put_text(stage.model, "config.json", was);
    free(was);
    free(now);
    free(again);
    free(right);
}

/* Vectors that were kept of the model are not those of the model under another vocabulary. */
static void kept_vectors_are_of_one_model(void **state) {
    (void)state;
    char *task = file_join(stage.folder, "toys"), *rows = read_text(stage.folder, "toy.tsv");
    struct err e = ERR_INIT;
    test_ok(file_make_folder(task, &e), &e);
    put_text(task, "train.tsv", rows);
    put_text(task, "dev.tsv", rows);
    char *line = xprintf("embed --model '%s' --task '%s' --db '%s'", stage.model, task, stage.db);
    char *first = stage_out(0, "%s", line), *second = stage_out(0, "%s", line);
    assert_non_null(strstr(second, "kept before"));
    char *was = read_text(stage.model, "vocab.txt"), *now = with(was, "good\nbad\n", "bad\ngood\n");
    put_text(stage.model, "vocab.txt", now);
    char *third = stage_out(0, "%s", line);
    assert_null(strstr(third, "kept before"));
    char *all[] = { task, rows, line, first, second, third, was, now };
    for (size_t i = 0; i < COUNT_OF(all); i++) free(all[i]);
}

static void a_run_of_before_is_taken_and_that_is_said(void **state) {
    (void)state;
    struct history h;
    history_init(&h, stage.folder, true);
    char *old = xprintf("predict 1 --text cat --db '%s'", h.db), *resume = xprintf("resume 2 --db '%s'", h.db);
    says("knew their model by the hash of its weights alone", old);
    says("knew their model by the hash of its weights alone", resume);
    json_decref(stage_train(&stage, 0, "--steps 2"));
    char *new = xprintf("predict 1 --text cat --db '%s'", stage.db);
    says(NULL, new);
    free(old);
    free(new);
    free(resume);
    history_release(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_changed_model_is_noticed, make, drop),
        cmocka_unit_test_setup_teardown(kept_vectors_are_of_one_model, make, drop),
        cmocka_unit_test_setup_teardown(a_run_of_before_is_taken_and_that_is_said, make, drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
