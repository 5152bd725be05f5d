/* Texts given to predict, generate and encode: lists of them, what their bytes are, what is cut. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    json_decref(stage_train(&stage, 0, "--steps 2"));
    return 0;
}

static char *file(const char *name, const char *bytes, size_t n) { return test_file(stage.folder, name, bytes, n); }
#define FILE_OF(name, bytes) file(name, bytes, sizeof(bytes) - 1)

static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) n++;
    return n;
}

/* What Windows PowerShell writes is no list of letters. */
static void lists_of_other_encodings_are_refused(void **state) {
    (void)state;
    char *list[] = {
        FILE_OF("mark.txt", "\xff\xfeg\0o\0o\0d\0\n\0b\0a\0d\0\n\0"), FILE_OF("bare.txt", "g\0o\0o\0d\0\n\0b\0a\0d\0\n\0"),
        FILE_OF("mark.tsv", "\xfe\xff\0t\0e\0x\0t\0\n\0a\0\n"),
    };
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        stage_refused(5, "UTF-16", "predict 1 --file '%s' --json --db '%s'", list[i], stage.db);
        stage_refused(5, "UTF-16", "map --vectors '%s' --pca", list[i]);
        free(list[i]);
    }
}

/* A NUL belongs to its text: shown, in JSON as it is, and no end of it. */
static void a_nul_ends_no_text(void **state) {
    (void)state;
    char *list[] = { FILE_OF("n.txt", "good\0 film very very\nbad film\n"),
                     FILE_OF("n.tsv", "text\tx\ngood\0 film very very\t1\nbad film\t2\n"),
                     FILE_OF("last.txt", "bad film\r\ngood\0 film very very") };
    for (size_t i = 0; i < COUNT_OF(list); i++) {
        char *out = stage_out(0, "predict 1 --file '%s' --json --db '%s'", list[i], stage.db);
        assert_non_null(strstr(out, "\"text\":\"good\\u0000 film very very\""));
        assert_int_equal(count(out, "\"text\":"), 2);
        free(out);
        out = stage_out(0, "predict 1 --file '%s' --db '%s'", list[i], stage.db);
        assert_non_null(strstr(out, "\tgood\xe2\x90\x80 film very very\n"));
        free(out);
        free(list[i]);
    }
}

static void bytes_that_are_not_utf8_are_told(void **state) {
    (void)state;
    char *list = FILE_OF("latin.txt", "caf\xe9\nbad film\n");
    struct command c;
    command_run(&c, NULL, "predict 1 --file '%s' --db '%s'", list, stage.db);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "latin.txt: 1 of 2 examples contain invalid UTF-8"));
    command_release(&c);
    free(list);
}

static void a_list_may_come_through_a_pipe(void **state) {
    (void)state;
    char *out = file_join(stage.folder, "piped");
    char *line = xprintf("printf 'good film\\nbad film\\n' | '%s' predict 1 --file - --db '%s' > '%s'", getenv("PETRI_BIN"),
                         stage.db, out);
    assert_int_equal(system(line), 0);
    struct buf bytes;
    struct err e = ERR_INIT;
    test_ok(file_read(out, 1 << 16, &bytes, &e), &e);
    assert_int_equal(count(buf_text(&bytes), "\n"), 2);
    assert_non_null(strstr(buf_text(&bytes), "\tbad film\n"));
    buf_release(&bytes);
    stage_refused(2, "must have one text per line", "predict 1 --file - --column text --db '%s'", stage.db);
    free(line);
    free(out);
}

/* Every verb that cuts says so; tokens alone take no pass through the model. */
static void what_is_cut_is_said(void **state) {
    (void)state;
    char *text = xprintf("%0300d", 0), *list;
    for (char *c = text; *c; c++) *c = (c - text) % 2 ? ' ' : 'a';
    list = xprintf("good film\n%s\n", text);
    char *path = file("long.txt", list, strlen(list));
    static const struct {
        const char *verb, *of, *said;
    } verb[] = {
        { "predict 1", "db", "petri: 1 of 1 examples truncated to 8 tokens (" },
        { "encode", "model", "petri: truncated to 8 tokens (" },
        { "encode --json", "model", "petri: truncated to 8 tokens (" },
    };
    for (size_t i = 0; i < COUNT_OF(verb); i++) {
        struct command c;
        command_run(&c, NULL, "%s --text '%s' --max-length 8 --%s '%s'", verb[i].verb, text, verb[i].of,
                    i ? stage.model : stage.db);
        command_expect(&c, 0);
        if (!strstr(buf_text(&c.err), verb[i].said)) fail_msg("%s\n%s", verb[i].verb, buf_text(&c.err));
        command_release(&c);
    }
    struct command c;
    command_run(&c, NULL, "predict 1 --file '%s' --max-length 8 --db '%s'", path, stage.db);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "petri: 1 of 2 examples truncated to 8 tokens ("));
    command_release(&c);
    command_run(&c, NULL, "predict 1 --text 'good film' --db '%s'", stage.db);
    assert_string_equal(buf_text(&c.err), "");
    command_release(&c);
    json_t *whole = stage_json("encode --text 'good film' --model '%s' --json", stage.model);
    json_t *bare = stage_json("encode --text 'good film' --model '%s' --json --tokens", stage.model);
    assert_true(json_equal(stage_at(whole, "ids"), stage_at(bare, "ids")));
    assert_int_equal(json_integer_value(stage_at(whole, "cut")), 0);
    assert_non_null(json_object_get(whole, "cls"));
    assert_null(json_object_get(bare, "cls"));
    json_decref(whole);
    json_decref(bare);
    json_t *scored = stage_json("eval 1 --max-length 3 --file '%s' --db '%s' --json", stage.toy, stage.db);
    assert_int_equal(json_integer_value(stage_at(scored, "cut_rows")), 20);
    json_decref(scored);
    free(path);
    free(list);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_other_encodings_are_refused),
        cmocka_unit_test(a_nul_ends_no_text),
        cmocka_unit_test(bytes_that_are_not_utf8_are_told),
        cmocka_unit_test(a_list_may_come_through_a_pipe),
        cmocka_unit_test(what_is_cut_is_said),
    };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
