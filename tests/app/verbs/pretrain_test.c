/* petri pretrain: from texts to a folder, and what goes on from it. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *text;

static int make(void **state) {
    stage_make(state);
    struct buf b = BUF_INIT;
    static const char *const word[] = { "editor", "images", "network", "server", "games", "library", "sound" };
    for (size_t i = 0; i < 40; i++)
        buf_printf(&b, "%s for %s and %s%s", word[i % 7], word[(i * 3 + 1) % 7], word[(i * 5 + 2) % 7], i % 4 ? "\n" : "\r\n\n");
    text = test_file(stage.folder, "texts.txt", b.data, b.size);
    buf_release(&b);
    return 0;
}

static int drop(void **state) {
    free(text);
    return stage_drop(state);
}

static const char shape[] = "--layers 1 --width 8 --heads 2 --vocab 60 --max-length 12 --batch 8 --eval-steps 3 --workers 2";

static void texts_become_a_model(void **state) {
    (void)state;
    struct command c;
    command_run(&c, NULL, "pretrain --text '%s' --out '%s/mini' --db '%s' %s --steps 6 --dtype f16 --json", text, stage.folder, stage.db,
                shape);
    command_expect(&c, 0);
    stage_json_lines(buf_text(&c.out));
    json_t *last = command_json(&c, 1);
    assert_true(json_number_value(stage_at(last, "largest_logit_difference")) < 0.01);
    json_decref(last);
    command_release(&c);
    json_t *run = stage_json("show 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(run, "state"), "finished");
    json_decref(run);
    /* by the run, and by its folder */
    json_t *a = stage_json("predict 1 --fill 'a [MASK] for [MASK]' --top 3 --db '%s' --json", stage.db);
    json_t *b = stage_json("predict --model '%s/mini' --fill 'a [MASK] for [MASK]' --top 3 --json", stage.folder);
    for (size_t i = 0; i < 2; i++) {
        json_t *x = json_array_get(stage_at(a, "masks"), i), *y = json_array_get(stage_at(b, "masks"), i);
        assert_int_equal(json_array_size(x), 3);
        assert_int_equal(json_array_size(y), 3);
        assert_string_equal(stage_text(json_array_get(x, 0), "word"), stage_text(json_array_get(y, 0), "word"));
    }
    json_decref(a);
    json_decref(b);
    char *said = stage_out(0, "predict 1 --fill 'a [MASK]' --top 1 --db '%s'", stage.db);
    assert_non_null(strchr(said, '\t'));
    free(said);
    stage_refused(2, "petri predict 1 --fill", "predict 1 --text editor --db '%s'", stage.db);
    stage_refused(2, "petri predict 1 --fill", "eval 1 --db '%s'", stage.db);
    stage_refused(2, "has no [MASK] token", "predict 1 --fill 'a word' --db '%s'", stage.db);
    stage_refused(5, "has no masked language modeling head", "predict --model '%s' --fill 'a [MASK]'", stage.model);
}

/* The folder, and the run's values, for a task with labels; the run's for other texts, with its head. */
static void a_task_goes_on_from_it(void **state) {
    (void)state;
    free(stage_out(0, "train --model '%s/mini' --train '%s' --dev '%s' --method lora --steps 2 --batch 4 --db '%s'", stage.folder,
                   stage.toy, stage.toy, stage.db));
    free(stage_out(0, "train --from 1 --train '%s' --dev '%s' --kind classes --method full --steps 2 --batch 4 --db '%s'", stage.toy,
                   stage.toy,
                   stage.db));
    struct command c;
    command_run(&c, NULL, "train --from 1 --steps 2 --batch 4 --db '%s'", stage.db);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "from another run and the head"));
    command_release(&c);
}

/* The history with what lies beside it, in another place. */
static void a_history_that_was_moved_finds_its_start(void **state) {
    (void)state;
    char *line = xprintf("mkdir '%s/moved' && mv '%s'* '%s/moved/'", stage.folder, stage.db, stage.folder);
    assert_int_equal(system(line), 0);
    free(stage_out(0, "predict 1 --fill 'a [MASK]' --db '%s/moved/p.db'", stage.folder));
    free(stage_out(0, "train --like 1 --steps 2 --db '%s/moved/p.db'", stage.folder));
    free(line);
}

/* A line of junk is named with its file; lines of a text of few lines are not. */
static void a_line_that_is_much_of_the_text_is_named(void **state) {
    (void)state;
    static const char *const long_word = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo0NTY3ODk", *path;
    struct buf b = BUF_INIT;
    buf_puts(&b, "games and sound\nnetwork server\n");
    for (int i = 0; i < 200; i++) buf_puts(&b, long_word);
    buf_puts(&b, "\nimages\n");
    path = test_file(stage.folder, "junk.txt", b.data, b.size);
    struct command c;
    command_run(&c, NULL, "pretrain --text '%s' --text '%s' --out '%s/junk' --db '%s' %s --steps 1", text, path, stage.folder,
                stage.db, shape);
    command_expect(&c, 0);
    const char *first = strstr(buf_text(&c.err), "this line is ");
    if (!first || strstr(first + 1, "this line is ")) fail_msg("one line is to be named: %s", buf_text(&c.err));
    assert_non_null(strstr(buf_text(&c.err), "junk.txt:3: this line is "));
    assert_non_null(strstr(first, "% of the text (8600 of "));
    command_release(&c);
    command_run(&c, NULL, "pretrain --text '%s' --out '%s/few' --db '%s' %s --steps 1", text, stage.folder, stage.db, shape);
    command_expect(&c, 0);
    assert_null(strstr(buf_text(&c.err), "this line is "));
    command_release(&c);
    free((char *)(uintptr_t)path);
    buf_release(&b);
}

static void what_cannot_be_is_refused_and_leaves_nothing(void **state) {
    (void)state;
    char *out = xprintf("pretrain --text '%s' --db '%s' %s", text, stage.db, shape), *blank = test_file(stage.folder, "blank", "\n\n", 2);
    stage_refused(2, "requires --out", "%s", out);
    stage_refused(2, "is not empty", "%s --out '%s'", out, stage.folder);
    stage_refused(2, "is not empty", "%s --out '%s'", out, text);
    stage_refused(2, "--dtype: must be f32 or f16, found \"f8\"", "%s --out '%s/new' --dtype f8", out, stage.folder);
    stage_refused(2, "omit one of them", "%s --out '%s/new' --dev '%s' --split 10%%", out, stage.folder, text);
    stage_refused(5, "the text contains no words", "pretrain --text '%s' --out '%s/new' --db '%s'", blank, stage.folder, stage.db);
    stage_refused(2, "requires --text", "pretrain --out '%s/new'", stage.folder);
    stage_refused(2, "must divide the width", "pretrain --text '%s' --out '%s/new' --heads 3", text, stage.folder);
    /* a run that cannot be begun: its start is taken away again */
    char *models = xprintf("%s-files/models", stage.db), *new = file_join(stage.folder, "new");
    struct command c;
    command_run(&c, NULL, "pretrain --text '%s' --out '%s' --db '%s' --max-length 12 --heads 1 --vocab 60 --batch 4 --gradient-accumulation-steps 8", text, new,
                stage.db);
    command_expect(&c, 2);
    command_release(&c);
    char *left = stage_out(0, "sql \"SELECT count(*) AS n FROM v_runs WHERE model LIKE '%%/new-%%'\" --db '%s'", stage.db);
    assert_string_equal(left, "\"n\"\n0\n");
    free(left);
    assert_false(file_exists(new));
    free(new);
    free(models);
    free(blank);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_become_a_model),
        cmocka_unit_test(a_task_goes_on_from_it),
        cmocka_unit_test(what_cannot_be_is_refused_and_leaves_nothing),
        cmocka_unit_test(a_history_that_was_moved_finds_its_start),
        cmocka_unit_test(a_line_that_is_much_of_the_text_is_named),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
