/* How tables are read, on the command line: header, delimiter and the label that is none go with a run
 * through training, scoring, prediction, resuming and the insight verbs. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *file(const char *name, const char *bytes) {
    return test_file(stage.folder, name, bytes, strlen(bytes));
}

/* Trains on a file that is its own dev split; returns what standard error said. */
static char *train(const char *path, const char *options) {
    struct command c;
    command_run(&c, NULL, "train --model '%s' --db '%s' --method head --steps 2 --batch 2 --train '%s' --dev '%s' %s",
                stage.model, stage.db, path, path, options);
    command_expect(&c, 0);
    char *said = xstrdup(buf_text(&c.err));
    command_release(&c);
    return said;
}

static void expect(char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("\"%s\" is not in:\n%s", part, text);
    free(text);
}

static size_t lines(char *text) {
    size_t n = 0;
    for (const char *s = text; (s = strchr(s, '\n')); s++) n++;
    free(text);
    return n;
}

static void a_file_without_header(void **state) {
    (void)state;
    char *path = file("nh.tsv", "good film\tpos\nbad film\tneg\nvery good\tpos\n");
    expect(train(path, "--text #1 --label #2"), "3 examples from 3 lines\n");
    assert_int_equal(lines(stage_out(0, "predict 1 --file '%s' --column #1 --db '%s'", path, stage.db)), 3);
    assert_int_equal(lines(stage_out(0, "predict 1 --file '%s' --db '%s'", path, stage.db)), 3);
    assert_int_equal(lines(stage_out(0, "predict 1 --file '%s' --header --db '%s'", path, stage.db)), 2);
    expect(stage_out(0, "eval 1 --json --db '%s'", stage.db), "\"rows\":3");
    expect(stage_out(0, "eval 1 --file '%s' --json --db '%s'", path, stage.db), "\"rows\":3");
    expect(stage_out(0, "embed --run 1 --json --db '%s'", stage.db), "\"rows\":3");
    expect(train(path, "--text #1 --label #2 --header"), "2 examples from 3 lines (1 header line)");
    expect(stage_out(0, "eval 2 --file '%s' --json --db '%s'", path, stage.db), "\"rows\":2");
    expect(stage_out(0, "show 2 --json --db '%s'", stage.db), "\"header\":\"on\"");
    stage_refused(2, "--header or --no-header", "train --train '%s' --header --no-header --db '%s'", path, stage.db);
    stage_refused(2, "--no-header: requires --file", "predict 1 --text x --no-header --db '%s'", stage.db);
    free(path);
}

static void another_delimiter(void **state) {
    (void)state;
    char *path = file("s.csv", "text;label\ngood, film;pos\nbad film;neg\n");
    char *plain = file("s.data", "good, film;pos\nbad film;neg\nbad bad;neg\n");
    stage_refused(2, "--delimiter ';'", "train --model '%s' --train '%s' --db '%s'", stage.model, path, stage.db);
    expect(train(path, "--delimiter ;"), "2 examples from 3 lines");
    expect(stage_out(0, "eval 1 --json --db '%s'", stage.db), "\"rows\":2");
    expect(stage_out(0, "predict 1 --file '%s' --db '%s'", path, stage.db), "good, film");
    expect(stage_out(0, "embed --run 1 --json --db '%s'", stage.db), "\"rows\":2");
    expect(train(plain, "--no-header --delimiter ; --text #1 --label #2"), "3 examples from 3 lines");
    expect(stage_out(0, "eval 2 --json --db '%s'", stage.db), "\"rows\":3");
    char *vectors = file("v.csv", "1;2;a\n2;1;b\n3;5;a\n4;4;b\n");
    expect(stage_out(0, "map --vectors '%s' --delimiter ; --labels #3 --pca --csv", vectors), "a");
    free(vectors);
    free(plain);
    free(path);
}

static void a_label_that_is_none(void **state) {
    (void)state;
    char *path = file("m.tsv", "text\tlabel\ngood\t1\nbad\t0\nfilm\t-1\nvery good\t1\n");
    stage_refused(5, "line 4", "train --model '%s' --train '%s' --db '%s'", stage.model, path, stage.db);
    stage_refused(5, "--unlabeled -1", "train --model '%s' --train '%s' --db '%s'", stage.model, path, stage.db);
    expect(train(path, "--unlabeled -1"), "line 4: unlabeled (-1)");
    expect(stage_out(0, "eval 1 --json --db '%s'", stage.db), "\"gold\":3");
    expect(train(path, "--kind classes"), "class 0: -1, 1 example");
    expect(stage_out(0, "eval 2 --json --db '%s'", stage.db), "\"gold\":4");
    char *likert = file("l.tsv", "text\tlabel\ngood\t1\nbad\t-1\nfilm\t-2\nvery good\t2\n");
    expect(train(likert, ""), "class 1: -1, 1 example");
    char *latin = file("e.tsv", "text\tlabel\ngood\tcaf\xe9\nbad\tbad\n");
    expect(train(latin, ""), "invalid UTF-8");
    expect(stage_out(0, "eval 4 --json --db '%s'", stage.db), "\"gold\":2");
    free(latin);
    free(likert);
    free(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_without_header, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(another_delimiter, stage_make, stage_drop),
        cmocka_unit_test_setup_teardown(a_label_that_is_none, stage_make, stage_drop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
