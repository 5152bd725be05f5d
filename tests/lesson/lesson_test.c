/* Lessons as files: parsing, errors, expressions, and stored progress. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/lesson/progress.h"
#include "tests/support/test.h"

static const char head[] = "lesson A title\n";

static int parse(struct lesson *l, const char *steps, struct err *e) {
    char *whole = xprintf("%s%s", head, steps);
    int rc = lesson_parse(l, "a/b/mine.lesson", whole, strlen(whole), e);
    free(whole);
    return rc;
}

static void refused(const char *steps, const char *part) {
    struct lesson l;
    struct err e = ERR_INIT;
    test_refused(parse(&l, steps, &e), ERR_INPUT, &e, part);
    assert_int_equal(l.steps, 0);
}

static void a_lesson_is_read(void **state) {
    (void)state;
    struct lesson l;
    struct err e = ERR_INIT;
    test_ok(parse(&l,
                  "about Something\nminutes 4\nmodel default\ntask mine\n"
                  "# a comment\n"
                  "text Heading\n  one\n  two\n\n  three\n  |  kept  as is\n"
                  "let a = 2 * (3 - 1)\n"
                  "ask q\n  What?\n  > Wait for\n  a) this\n     or so\n  b) that\n  > {a} hands.\n  >\n  > All of them.\n"
                  "run r = --steps 3\n"
                  "run s = again r --seed 2\n"
                  "check c = loss(s, 3) in a / 4 to 7\n  It is {c}, {a%} of {r}.\n"
                  "answer q = b\n  Why.\n"
                  "show compare r s\n  Look.\n"
                  "code core/a.c f\n  There.\n", &e), &e);
    assert_string_equal(l.name, "mine");
    assert_string_equal(l.title, "A title");
    assert_null(l.model);
    assert_string_equal(l.task, "mine");
    assert_int_equal(l.minutes, 4);
    assert_int_equal(l.steps, 9);
    assert_int_equal(l.step[0].paragraphs, 3);
    assert_string_equal(l.step[0].paragraph[0].text, "one two");
    assert_true(l.step[0].paragraph[2].verbatim);
    assert_string_equal(l.step[0].paragraph[2].text, "  kept  as is");
    assert_int_equal(l.step[2].choices, 2);
    assert_string_equal(l.step[2].choice[0].text, "this or so");
    assert_string_equal(l.step[2].choice[1].text, "that");
    assert_int_equal(l.step[2].paragraphs, 1);
    assert_int_equal(l.step[2].notes, 2);
    assert_string_equal(l.step[2].note[0].text, "Wait for {a} hands.");
    assert_string_equal(l.step[2].note[1].text, "All of them.");
    assert_int_equal(l.step[4].of, 3);
    assert_int_equal(l.step[6].right, 'b');
    assert_int_equal(l.step[7].shows, 2);
    lesson_release(&l);
}

static void errors_name_line_and_word(void **state) {
    (void)state;
    refused("txt\n  a\n", "a/b/mine.lesson:2: unknown keyword \"txt\"; did you mean \"text\"?");
    refused("text\n", "mine.lesson:2: \"text\": missing text; write it in the next lines, indented by two spaces");
    refused("text\n a\n", ":3: \"a\": indent the lines of a step by two spaces or more");
    refused("  a\n", ":2: \"a\": indented line before the first step");
    refused("text\n\ta\n", ":3: unexpected control character (code 9); indent lines with spaces");
    refused("text\n  a {b}\n", "{b}: unknown value or run");
    refused("text\n  a\n  > {b}\n", ":4: {b}: unknown value or run");
    refused("text\n  > a\n", "\"text\": missing text; write it in the next lines, indented by two spaces");
    refused("let a = 1\n  > a\n", ":2: \"let\": a note (\"> \xE2\x80\xA6\") needs a step with text");
    refused("text\n  a { b }\n", "\"{ b }\": invalid placeholder; write {name}");
    refused("let A = 1\n", "\"A\": invalid name; use at most 39 lowercase letters");
    refused("let a 1\n", "expected \"=\" after \"let a\", found \"1\"");
    refused("let a\n", "expected \"=\" after \"let a\", found the end of the line");
    refused("let a = 1\nlet a = 2\n", ":3: \"a\": name already used in line 2");
    refused("let a = laers()\n", "unknown quantity \"laers\"; did you mean \"layers\"?");
    refused("let a = 1 +\n", "expected a number, a name or \"(\", found the end of the line");
    refused("let a = 1 2\n", "expected an operator (+ - * /) or the end of the line, found \"2\"");
    refused("let a = loss(r, 1)\n", "unknown run \"r\"; it must be defined in an earlier step");
    refused("run rate = --steps 3\nlet a = loss(rat, 1)\n", "unknown run \"rat\"; did you mean \"rate\"?");
    refused("let a = count(lora)\n", "expected a quoted string");
    refused("run r = --steps 3\nlet a = loss(r)\n", "loss: wrong number of arguments; expected loss(RUN, STEP)");
    refused("run r = --steps 3\nlet a = loss(r, 1, 2)\n", "loss: wrong number of arguments; expected loss(RUN, STEP)");
    refused("check a = 1\n", "\"1\": missing range; add \"is X\", \"in X to Y\", \"above X\" or \"below X\"");
    refused("check a = 1 in 2\n", "\"in 2\": incomplete range; write \"in X to Y\"");
    refused("run r = lora\n", "expected \"again NAME\" or options of petri train, such as --steps 40, found \"lora\"");
    refused("run r = again s\n", "unknown run \"s\"; it must be defined in an earlier step");
    refused("ask q\n  What?\n  a) x\nanswer q = a\n  y\n", "a question needs at least two choices");
    refused("ask q\n  What?\n  a) x\n  c) y\n", "expected b) as the next choice, found \"c)\"");
    refused("ask q\n  What?\n  a) x\n  b) y\n", "\"q\": question without an answer; add \"answer q = LETTER\" after it");
    refused("ask q\n  What?\n  a) x\n  b) y\nanswer q = c\n  z\n", "\"c\": not a choice of \"q\"; use a letter from a to b");
    refused("ask q\n  What?\n  a) x\n  b) y\nanswer q = a if 1 is 1, else d\n  z\n", "\"d\": not a choice of \"q\"; use a letter from a to b");
    refused("ask q\n  What?\n  a) x\n  b) y\nanswer q = a if 1 is 1\n  z\n", "incomplete condition; write \"LETTER if EXPRESSION RANGE, else LETTER\"");
    refused("ask q\n  What?\n  a) x\n  b) y\nanswer q = a if 1, else b\n  z\n", "\"1\": missing range");
    refused("ask q\n  a)x\n", "a question needs at least two choices"); /* no choice, but text */
    refused("show\n  x\n", "\"show\" must be followed by a screen: compose, train, runs");
    refused("show heatmp\n  x\n", "did you mean \"heatmap\"?");
    refused("map\n  x\n", "\"map\" must be followed by a file of points and the perplexity of each map");
    refused("map a.tsv 0\n  x\n", "\"0\": invalid perplexity; must be a number of at least 1, as in 30 or 30:7 (PERPLEXITY:SEED)");
    refused("map a.tsv 5:x\n  x\n", "\"x\": invalid seed after \"5:\"; must be an integer of at least 0");
    refused("map a.tsv 5:-1\n  x\n", "\"-1\": invalid seed after \"5:\"; must be an integer of at least 0");
    refused("map a.tsv 1 2 3 4 5\n  x\n", "\"5\": too many maps; a step shows at most 4");
    refused("map a.tsv 5\n", "\"map\": missing text; write it in the next lines");
    refused("", "no steps; a lesson needs at least one");
    refused("seconds many\n", "\"many\": seconds must be a number between 0 and 1000");
    struct lesson l;
    struct err e = ERR_INIT;
    test_refused(lesson_parse(&l, "x", "text\n  a\n", 9, &e), ERR_INPUT, &e, "x:1: \"text\": a lesson must start with \"lesson TITLE\"");
    test_refused(lesson_parse(&l, "x", "lesson a\0b", 10, &e), ERR_INPUT, &e, "NUL");
    test_refused(lesson_parse(&l, "x", "lesson \xFF", 8, &e), ERR_INPUT, &e, "x: not valid UTF-8");
}

/* A value computed after a question is in texts of checks and after the answer, in no other text. */
static void no_text_gives_an_answer_away(void **state) {
    (void)state;
    static const char open[] = "let before = 1\nask q\n  What?\n  a) x\n  b) y\nlet n = 2\ncheck c = n is 2\n  {n}, {c}\n",
                      closed[] = "answer q = a\n  {c}\ntext\n  {n}\n";
    static const char *const told[] = { "text\n  a\n  {c%}\n", "show train\n  {n}\n", "ask p\n  Is {c} it?\n  a) x\n  b) y\n" };
    for (size_t i = 0; i < COUNT_OF(told); i++) {
        char *steps = xprintf("%s%s%s", open, told[i], closed);
        refused(steps, "reveals the answer to the open question \"q\"; use it in the text of a check");
        free(steps);
    }
    struct lesson l;
    struct err e = ERR_INIT;
    char *steps = xprintf("%stext\n  {before}\n  > {c}\n%s", open, closed);
    test_ok(parse(&l, steps, &e), &e);
    lesson_release(&l);
    free(steps);
}

/* Deep and long ones end, with a word for what is too deep. */
static void nested_expressions_end(void **state) {
    (void)state;
    struct buf b = BUF_INIT;
    buf_puts(&b, "let a = ");
    for (int i = 0; i < 200; i++) buf_putc(&b, '(');
    buf_puts(&b, "1\n");
    refused(buf_text(&b), "nested deeper than");
    buf_release(&b);
}

static int no_value(void *self, int step, double *out, struct err *e) {
    (void)self;
    (void)e;
    *out = step;
    return 0;
}

static int sum_of_numbers(void *self, enum quantity q, const struct expression_argument *argument, const double *number, int count,
                          double *out, struct err *e) {
    (void)self;
    (void)e;
    (void)argument;
    *out = q == QUANTITY_WIDTH ? 8 : 0;
    for (int i = 0; i < count; i++) *out += number[i];
    return 0;
}

static void expressions_have_values(void **state) {
    (void)state;
    static const struct { const char *text; double value; } cases[] = {
        { "1 + 2 * 3", 7 },  { "(1 + 2) * 3", 9 },        { "8 / 2 / 2", 2 },      { "7 - 2 - 1", 4 },
        { "-2 * -(1)", 2 },  { "2*width() + 1e-1", 16.1 }, { "loss(r, width() + 1)", 9 }, { "1e3", 1000 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct lesson l;
        struct err e = ERR_INIT;
        char *text = xprintf("run r = --steps 1\nlet a = %s\n", cases[i].text);
        test_ok(parse(&l, text, &e), &e);
        double v;
        test_ok(expression_value(l.step[1].value, &(struct expression_values){ NULL, no_value, sum_of_numbers }, &v, &e), &e);
        assert_true(fabs(v - cases[i].value) < 1e-12);
        free(text);
        lesson_release(&l);
    }
}

static void what_is_kept_comes_back(void **state) {
    (void)state;
    static const char steps[] = "let a = 1\nask q\n  What?\n  a) x\n  b) y\n"
                                "run r = --method lora(r=2) --steps 1\ncheck c = a above 0\n  {c} {a%} {r}\n"
                                "answer q = a if a above 0.2, else b\n  z\n";
    struct lesson l;
    struct lesson_progress p, q;
    struct err e = ERR_INIT;
    struct buf json = BUF_INIT;
    test_ok(parse(&l, steps, &e), &e);
    lesson_progress_init(&p, &l);
    assert_false(lesson_passed(&l, &p, 1));
    assert_true(lesson_choose(&l, &p, 1, 'a') && lesson_choose(&l, &p, 1, 'b'));
    assert_false(lesson_choose(&l, &p, 1, 'c'));
    assert_int_equal(p.of[1].given[0], 0); /* the first answer was taken back */
    char *open = lesson_fill(&l, &p, 3, "{c}, {r}", false);
    assert_string_equal(open, "\xE2\x80\xA6, \xE2\x80\xA6");
    free(open);
    lesson_set_value(&l, &p, 0, 0.25, -INFINITY, INFINITY);
    lesson_set_value(&l, &p, 3, 12345, 0, INFINITY);
    assert_int_equal(lesson_right(&l, &p, 4), 0); /* not computed yet */
    assert_false(lesson_passed(&l, &p, 4));
    lesson_set_value(&l, &p, 4, 0.1, 0.2, INFINITY);
    assert_int_equal(lesson_right(&l, &p, 4), 'b');
    lesson_set_value(&l, &p, 4, 0.25, 0.2, INFINITY);
    p.of[2].runs = 1;
    p.of[2].run[0] = 7;
    p.of[2].state = LESSON_DONE;
    p.at = p.furthest = 3;
    lesson_progress_write(&p, &l, "not json", 8, &json);
    lesson_progress_init(&q, &l);
    lesson_progress_read(&q, &l, buf_text(&json), json.size);
    assert_int_equal(q.at, 3);
    assert_int_equal(q.of[1].chosen, 'b');
    assert_int_equal(q.of[1].given[1], 1);
    assert_int_equal(lesson_right(&l, &q, 4), 'a');
    char said[160];
    lesson_check_text(&q.of[3], said);
    assert_string_equal(said, "measured 12,345, expected above 0");
    char *text = lesson_fill(&l, &q, 3, "{c} {a%} {r} {x", false);
    assert_string_equal(text, "12,345 25.0% #7 {x");
    free(text);
    char *command = lesson_command(&l, &q, 2);
    assert_string_equal(command, "petri train --method 'lora(r=2)' --steps 1 --precision f32");
    free(command);
    struct lesson_progress other; /* on another model: what it came to there is no result here */
    lesson_progress_on(&p, "a model", "task s");
    xreplace(&p.of[2].note, "it has learned nothing");
    struct buf on = BUF_INIT;
    lesson_progress_write(&p, &l, "", 0, &on);
    static const struct { const char *model; int at; } models[] = { { NULL, 3 }, { "a model", 3 }, { "another", 0 } };
    for (size_t i = 0; i < COUNT_OF(models); i++) {
        lesson_progress_init(&other, &l);
        lesson_progress_on(&other, models[i].model, NULL);
        lesson_progress_read(&other, &l, buf_text(&on), on.size);
        assert_int_equal(other.at, models[i].at);
        assert_int_equal(other.of[2].runs, models[i].at != 0);
        assert_int_equal(other.of[1].given[1], 1);
        assert_int_equal(other.of[1].chosen, models[i].at ? 'b' : 0);
        assert_true(!other.of[2].note == !models[i].at);
        lesson_progress_release(&other);
    }
    buf_release(&on);
    command = lesson_command(&l, &p, 2);
    assert_string_equal(command, "petri train --model 'a model' --task 'task s' --method 'lora(r=2)' --steps 1 --precision f32");
    free(command);
    text = lesson_fill(&l, &p, 3, "{r} {model} {task} {folder}", true);
    assert_string_equal(text, "7 'a model' 'task s' a/b");
    free(text);
    int all, ok;
    lesson_checks(&l, &q, &all, &ok);
    assert_true(all == 1 && ok == 1);
    lesson_progress_release(&q);
    l.sha256[0] ^= 1; /* another file: nothing of it */
    lesson_progress_init(&q, &l);
    lesson_progress_read(&q, &l, buf_text(&json), json.size);
    assert_int_equal(q.at, 0);
    assert_int_equal(q.of[0].state, LESSON_OPEN);
    lesson_progress_release(&q);
    lesson_progress_release(&p);
    lesson_release(&l);
    buf_release(&json);
}

/* Every lesson that comes with petri can be read; the example in the docs too, and they list every quantity. */
static void what_comes_with_petri_is_read(void **state) {
    (void)state;
    struct lesson *list, l;
    struct err e = ERR_INIT;
    int n = lesson_list(&list, &e);
    test_ok(e.code, &e);
    assert_true(n >= 2);
    for (int i = 0; i < n; i++) {
        assert_non_null(list[i].about);
        assert_true(list[i].minutes >= 1 && list[i].minutes <= 5 && list[i].seconds <= 60);
    }
    lesson_list_free(list, n);
    char *docs = test_text(test_root(), "docs/lessons.md"), *from = strstr(docs, "# A line that begins"), *to = strstr(from, "```");
    test_ok(lesson_parse(&l, "docs", from, (size_t)(to - from), &e), &e);
    lesson_release(&l);
    for (int q = 0; q < QUANTITIES; q++) {
        char *name = xprintf("| `%s(", quantity_row((enum quantity)q)->name);
        if (!strstr(docs, name)) fail_msg("docs/lessons.md lacks %s", name);
        free(name);
    }
    free(docs);
}

/* FILE FUNCTION: a line of the file begins a function or a table of that name. */
static bool stands_in(const char *file, const char *name) {
    char *path = xprintf("%s/%s", test_root(), file);
    bool there = file_exists(path);
    free(path);
    if (!there) return false;
    char *text = test_text(test_root(), file);
    size_t n = strlen(name);
    bool found = false;
    for (char *at = text; !found && (at = strstr(at, name)); at += n) {
        char *line = at;
        while (line > text && line[-1] != '\n') line--;
        bool word = at == line || !strchr("abcdefghijklmnopqrstuvwxyz_", at[-1]);
        found = word && *line != ' ' && *line != '/' && *line != '#' && at[n] && (strchr("([", at[n]) || !strncmp(at + n, " =", 2));
    }
    free(text);
    return found;
}

/* What lessons point at is there: functions of the code, kinds of sentences of `petri show --why`. */
static void what_lessons_name_is_there(void **state) {
    (void)state;
    struct lesson *list;
    struct err e = ERR_INIT;
    int n = lesson_list(&list, &e);
    char *why = test_text(test_root(), "docs/why.md");
    test_ok(e.code, &e);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < list[i].steps; k++) {
            const struct lesson_step *s = &list[i].step[k];
            if (s->kind != LESSON_CODE) continue;
            char *file = xstrdup(s->head), *name = strchr(file, ' ');
            *name++ = '\0';
            if (!stands_in(file, name)) fail_msg("%s:%d: %s has no %s", list[i].path, s->line, file, name);
            free(file);
        }
        char *text = test_text("", list[i].path);
        for (char *at = text; (at = strstr(at, "why(")); at++) {
            char *from = strchr(at, '"'), *to = strchr(from + 1, '"'), *row = xprintf("| `%.*s` |", (int)(to - from - 1), from + 1);
            if (!strstr(why, row)) fail_msg("%s: docs/why.md has no %s", list[i].path, row);
            free(row);
        }
        free(text);
    }
    free(why);
    lesson_list_free(list, n);
    assert_false(stands_in("core/engine/optim.c", "optim_stp"));
}

static void a_name_leads_to_a_file(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *path = lesson_file("lora", &e);
    assert_true(path && text_ends(path, "lessons/lora.lesson"));
    free(path);
    assert_null(lesson_file("lorra", &e));
    test_refused(e.code, ERR_NOT_FOUND, &e, "did you mean \"lora\"?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lesson_is_read),
        cmocka_unit_test(errors_name_line_and_word),
        cmocka_unit_test(no_text_gives_an_answer_away),
        cmocka_unit_test(nested_expressions_end),
        cmocka_unit_test(expressions_have_values),
        cmocka_unit_test(what_is_kept_comes_back),
        cmocka_unit_test(what_comes_with_petri_is_read),
        cmocka_unit_test(what_lessons_name_is_there),
        cmocka_unit_test(a_name_leads_to_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
