/* Lessons that come with petri, replayed by the real program on the tiny model, and their runs in the history. */
#include <stdlib.h>
#include <string.h>

#include "app/verbs/palette.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/lesson/progress.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *task;

static int make(void **state) {
    stage_make(state);
    task = stage_task(&stage, "toys", 0);
    return 0;
}

static int drop(void **state) {
    free(task);
    return stage_drop(state);
}

/* Replays it on a model and task; every check's line is as the docs have it, and ok. */
static int replay_on(const char *lesson, const char *options) {
    char *out = stage_out(0, "learn '%s' --auto --json %s --workers 2 --db '%s'", lesson, options, stage.db), *rest = out, *line;
    int n = 0;
    while ((line = strsep(&rest, "\n"))) {
        if (!*line) continue;
        json_t *v = json_loads(line, 0, NULL);
        assert_non_null(v);
        assert_true(json_is_true(json_object_get(v, "ok")));
        assert_true(json_is_integer(json_object_get(v, "step")) && json_is_string(json_object_get(v, "check")));
        assert_true(json_is_number(json_object_get(v, "value")));
        assert_non_null(json_object_get(v, "low"));
        assert_non_null(json_object_get(v, "high"));
        json_decref(v);
        n++;
    }
    free(out);
    return n;
}

static int replay(const char *lesson) {
    char *options = xprintf("--model '%s' --task '%s'", stage.model, task);
    int n = replay_on(lesson, options);
    free(options);
    return n;
}

/* On a model of two layers: what they say does not hang on the model. */
static const struct { const char *name; int checks; } on_any_model[] = { { "delta-h", 5 }, { "lora", 5 }, { "prefix", 5 },
                                                                         { "counted", 6 }, { "where", 4 }, { "scale", 3 } };

static void lessons_hold_on_the_tiny_model(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(on_any_model); i++) assert_int_equal(replay(on_any_model[i].name), on_any_model[i].checks);
}

static bool held_on_any_model(const char *name) {
    for (size_t i = 0; i < COUNT_OF(on_any_model); i++)
        if (!strcmp(on_any_model[i].name, name)) return true;
    return false;
}

static void replay_all_on(const char *model) {
    struct lesson *list;
    struct err e = ERR_INIT;
    if (TEST_PATIENCE > 1) test_skip("a sanitizer makes some hundred small runs slow");
    char *options = xprintf("--model %s", model);
    int n = lesson_list(&list, &e);
    for (int i = 0; i < n; i++)
        if (!list[i].model && (test_slow() || !held_on_any_model(list[i].name)))
            assert_true(replay_on(list[i].name, options) >= 3);
    free(options);
    lesson_list_free(list, n);
}

/* The lessons of petri, on the model that comes with it; in make test-slow also those that hold on any. */
static void lessons_hold_on_the_miniature(void **state) {
    (void)state;
    test_needs("assets/models/petri-mini/model.safetensors");
    replay_all_on("petri-mini");
}

/* And on the default model. */
static void lessons_hold_on_the_default_model(void **state) {
    (void)state;
    test_needs("assets/models/all-MiniLM-L6-v2/model.safetensors");
    if (!test_slow()) test_skip("twelve lessons on the default model take minutes (make test-slow)");
    replay_all_on("all-MiniLM-L6-v2");
}

/* And those of a model of their own on it. */
static void lessons_hold_on_their_own_model(void **state) {
    (void)state;
    test_needs("assets/models/smollm2");
    if (!test_slow()) test_skip("a lesson on 135 million parameters takes a minute (make test-slow)");
    assert_int_equal(replay_on("chat", ""), 4);
}

/* A run of a lesson may read files next to it. */
static void runs_read_files_next_to_the_lesson(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    char *folder = file_join(stage.folder, "a lesson"), *options = xprintf("'%s/own.lesson' --handout '%s/own-out'", folder, stage.folder);
    test_ok(file_make_folder(folder, &e), &e);
    test_put(folder, "rows.tsv", "sentence\tlabel\na good film\t1\na bad film\t0\nso good\t1\nso bad\t0\n");
    test_put(folder, "own.lesson", "lesson Own\nrun a = --train {folder}/rows.tsv --dev {folder}/rows.tsv --method bitfit --steps 1 --batch 2\n"
                                   "check n = steps(a) is 1\n");
    free(stage_out(0, "learn %s --model '%s' --task '%s' --db '%s'", options, stage.model, task, stage.db));
    char *out = xprintf("%s/own-out", stage.folder), *page = test_text(out, "own.md"), *shown = xprintf("--train '%s/rows.tsv'", folder);
    if (!strstr(page, shown)) fail_msg("no %s in:\n%s", shown, page);
    free(shown);
    free(page);
    free(out);
    free(options);
    free(folder);
}

/* The answer to a question follows from what is counted on the model. */
static void an_answer_is_computed(void **state) {
    (void)state;
    test_put(stage.folder, "answer.lesson",
             "lesson Answer\nask q\n  Which?\n  a) x\n  b) y\nanswer q = a if layers() above 2, else b\n  So.\n"
             "ask p\n  Which?\n  a) x\n  b) y\nanswer p = a if layers() is 2, else b\n  So.\n");
    free(stage_out(0, "learn '%s/answer.lesson' --handout '%s/answers' --model '%s' --task '%s' --db '%s'", stage.folder, stage.folder,
                   stage.model, task, stage.db));
    char *folder = xprintf("%s/answers", stage.folder), *page = test_text(folder, "answer.md");
    assert_non_null(strstr(page, "**Question 1: b.**"));
    assert_non_null(strstr(page, "**Question 2: a.**"));
    free(page);
    free(folder);
}

/* The line that a handout has behind `from`, without petri in front; its end is in *from. */
static char *shown_command(const char **from) {
    const char *at = strstr(*from, "petri train "), *end = at ? strchr(at, '\n') : NULL;
    if (!end) fail_msg("no command in:\n%s", *from);
    *from = end;
    return xstrndup(at + strlen("petri "), (size_t)(end - at) - strlen("petri "));
}

/* The commands that a lesson shows train what it trained; a run that learned nothing is marked. */
static void shown_commands_reproduce_the_runs(void **state) {
    (void)state;
    char *db = xprintf("%s/shown.db", stage.folder);
    test_put(stage.folder, "shown.lesson",
             "lesson Shown\nrun a = --method lora(r=2) --steps 2 --batch 4 --eval-steps 1 --lr 1e-9\n  A.\nrun b = again a --lr 0.01\n"
             "change Try\n  |  petri train --like {b} --model {model} --task {task} --lr 0.02\n"
             "run c = again b --lr 0.02\n  C.\ncheck folded = same(a, c) is 0\n  In {folder}.\n");
    free(stage_out(0, "learn '%s/shown.lesson' --handout '%s/shown' --model '%s' --task '%s' --db '%s'", stage.folder, stage.folder,
                   stage.model, task, db));
    char *folder = xprintf("%s/shown", stage.folder), *page = test_text(folder, "shown.md"), *in = xprintf("In %s.", stage.folder);
    const char *at = page, *like = strstr(page, "--like ");
    assert_non_null(like);
    for (int i = 0; i < 4; i++) { /* a, b, the line of Try, c */
        char *line = shown_command(&at);
        free(stage_out(0, "%s --db '%s'", line, db));
        json_t *made = stage_json("show %d --json --db '%s'", atoi(like + 7) + (i < 3 ? i : 2), db);
        json_t *again = stage_json("show last --json --db '%s'", db);
        assert_string_equal(stage_text(again, "weights_sha256"), stage_text(made, "weights_sha256"));
        assert_int_not_equal(json_integer_value(stage_at(again, "id")), json_integer_value(stage_at(made, "id")));
        json_decref(made);
        json_decref(again);
        free(line);
    }
    assert_non_null(strstr(page, in));
    const char *note = strstr(page, "*Note: accuracy 0.");
    assert_true(note && note < strstr(page, "--lr 0.01"));
    free(in);
    free(page);
    free(folder);
    free(db);
}

/* Every command that a lesson of petri shows is one that petri takes. */
static void shown_commands_are_taken(void **state) {
    (void)state;
    struct lesson *list;
    struct err e = ERR_INIT;
    int n = lesson_list(&list, &e), commands = 0;
    for (int i = 0; i < n; i++) {
        struct lesson_progress p;
        lesson_progress_init(&p, &list[i]);
        lesson_progress_on(&p, "petri-mini", "sections");
        for (int k = 0; k < list[i].steps; k++) p.of[k].runs = list[i].step[k].kind == LESSON_RUN, p.of[k].run[0] = 1;
        for (int k = 0; k < list[i].steps; k++) {
            const struct lesson_step *s = &list[i].step[k];
            for (int m = 0; m < s->paragraphs; m++) {
                char *line = s->paragraph[m].verbatim ? lesson_fill(&list[i], &p, k, s->paragraph[m].text, true) : xstrdup("");
                const char *at = line + strspn(line, " ");
                struct line_meaning meaning;
                if (text_starts(at, "petri ")) {
                    commands++;
                    test_ok(palette_verbs.mean(at + strlen("petri "), stage.db, &meaning, &e), &e);
                    line_meaning_release(&meaning);
                    bool whole = strstr(at, "--like 1") || strstr(at, "--model petri-mini");
                    if (text_starts(at, "petri train") && !whole) fail_msg("%s:%d: %s", list[i].path, s->line, at);
                }
                free(line);
            }
        }
        lesson_progress_release(&p);
    }
    assert_true(commands >= 10);
    lesson_list_free(list, n);
}

/* A lesson as a page with pictures, made of what it came to. */
static void a_lesson_is_handed_out(void **state) {
    (void)state;
    test_put(stage.folder, "paper.lesson",
             "lesson On paper\nrun a = --method bitfit --steps 3 --batch 4\nask q\n  What *is* it?\n  a) x\n  b) y\n"
             "check n = steps(a) is 3\n  It made {n} steps.\n  |  a  kept  line\nanswer q = b\n  So.\nshow heatmap a\n  Look.\nshow train a\n  Look.\n");
    free(stage_out(0, "learn '%s/paper.lesson' --handout '%s/out' --model '%s' --task '%s' --db '%s'", stage.folder, stage.folder,
                   stage.model,
                   task, stage.db));
    char *folder = xprintf("%s/out", stage.folder), *page = test_text(folder, "paper.md"), *picture = test_text(folder, "paper-6.svg");
    static const char *const has[] = { "# On paper", "**Question 1.** What \\*is\\* it?", "- **b)** y", "*measured 3, expected 3*",
                                       "It made 3 steps.",
                                       "```\n  a  kept  line\n```", "![heatmap](paper-5.svg)", "![train](paper-6.svg)",
                                       "**Question 1: b.** So." };
    for (size_t i = 0; i < COUNT_OF(has); i++)
        if (!strstr(page, has[i])) fail_msg("no \"%s\" in:\n%s", has[i], page);
    assert_true(strstr(page, "*measured 3") > strstr(page, "## Answers")); /* not before who reads it has answered */
    assert_non_null(strstr(picture, "<svg"));
    free(page);
    free(picture);
    struct command c; /* what is there is not written over unasked */
    command_run(&c, NULL, "learn '%s/paper.lesson' --handout '%s' --model '%s' --task '%s' --db '%s'", stage.folder, folder, stage.model,
                task,
                stage.db);
    command_expect(&c, 2);
    command_release(&c);
    free(folder);
}

static void lessons_leave_the_history_alone(void **state) {
    (void)state;
    json_t *own = stage_train(&stage, 0, "--steps 1");
    int id = (int)json_integer_value(json_object_get(own, "id"));
    json_decref(own);
    test_put(stage.folder, "short.lesson",
             "lesson Short\nrun a = --method bitfit --steps 1 --batch 4 --seeds 1,2\ncheck n = steps(a) is 1\n");
    char *file = xprintf("%s/short.lesson", stage.folder);
    assert_int_equal(replay(file), 1);
    free(file);
    json_t *list = stage_json("runs --json --db '%s'", stage.db);
    assert_int_equal(json_array_size(list), 1);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "id")), id);
    json_decref(list);
    json_t *last = stage_json("show last --json --db '%s'", stage.db);
    assert_int_equal(json_integer_value(json_object_get(last, "id")), id);
    json_decref(last);
    list = stage_json("runs tag=lesson 'seed=2' --json --db '%s'", stage.db);
    assert_true(json_array_size(list) >= 1);
    json_decref(list);
    free(stage_out(0, "purge --lessons --yes --db '%s'", stage.db));
    list = stage_json("runs tag=lesson --json --db '%s'", stage.db);
    assert_int_equal(json_array_size(list), 0);
    json_decref(list);
    list = stage_json("runs --json --db '%s'", stage.db);
    assert_int_equal(json_array_size(list), 1);
    json_decref(list);
    stage_refused(3, "no runs of lessons found", "purge --lessons --yes --db '%s'", stage.db);
}

/* What is computed over seeds is what the runs' own values give. */
static void seeds_are_compared(void **state) {
    (void)state;
    test_put(stage.folder, "seeds.lesson",
             "lesson Seeds\n"
             "run a = --method lora --lr 0.02 --steps 6 --batch 4 --seeds 1,2,3\n"
             "run b = --method bitfit --lr 0.02 --steps 6 --batch 4 --seeds 3,1,2\n"
             "run low = again a --metric loss --seeds 1,2,3\n"
             "run lower = again b --metric loss --seeds 1,2,3\n"
             "let each = 1e-9\n"
             "check mean = gap(low, lower) - (best(lower) - best(low)) in -each to each\n"
             "check turned = gap(low, lower) + gap(lower, low) in -each to each\n"
             "check middle = (gap_low(low, lower) + gap_high(low, lower)) / 2 - gap(low, lower) in -each to each\n"
             "check ends = gap_high(low, lower) - gap_low(low, lower) above 0\n"
             "check wins = wins(low, lower) + wins(lower, low) is 3\n"
             "check first = gap(low, lower, 1) - (lowest(lower, 1) - lowest(low, 1)) in -each to each\n"
             "check between = (highest(low) - best(low)) * (best(low) - lowest(low)) above 0\n"
             "check higher = gap(a, b) - (best(a) - best(b)) in -each to each\n"
             "check last = record(a, \"loss\", 6) - loss(a, 6) is 0\n"
             "check few = why(a, \"few-rows\") is 1\n"
             "check fine = why(a, \"rate-low\") is 0\n");
    char *file = xprintf("%s/seeds.lesson", stage.folder);
    assert_int_equal(replay(file), 11);
    free(file);
}

/* Rows by their task, prototypes, and what tasks have for themselves. */
static void tasks_are_compared(void **state) {
    (void)state;
    char *other = stage_task(&stage, "others", 0);
    char *text = xprintf("lesson Tasks\n"
                         "run a = --tasks %s,%s --method pha --steps 2 --batch 4 --lr 1e-3\n"
                         "run b = again a --method adapter-per-task\n"
                         "run one = --method adapter-per-task --steps 1 --batch 4\n"
                         "check own = own_prototype(a) in 0 to 1\n"
                         "check near = retrieved_purity(a) in 0 to 1\n"
                         "check apart = retrieved_silhouette(a) in -1 to 1\n"
                         "check near_h = purity(a, 1) in 0 to 1\n"
                         "check apart_h = silhouette(one, 2) in -1 to 1\n"
                         "check made = alike(a) in -1 to 1\n"
                         "check unlike = alike(b) in -0.5 to 0.5\n"
                         "check taken = retriever_layer(a) is 1\n"
                         "check three = count(\"adapter-per-task\", 3) - 3 * count(\"adapter-per-task\") is 0\n"
                         "check two = trained(b) - count(\"adapter-per-task\", 2) is 0\n", task, other),
         *file = xprintf("%s/tasks.lesson", stage.folder);
    test_put(stage.folder, "tasks.lesson", text);
    assert_int_equal(replay(file), 10);
    free(file);
    free(text);
    free(other);
}

/* Points beside the lesson's own file, as they are and as a map has them. */
static void points_are_measured(void **state) {
    (void)state;
    struct buf points = BUF_INIT;
    buf_puts(&points, "class\tx\ty\n");
    for (int i = 0; i < 12; i++) buf_printf(&points, "%s\t%d\t%d\n", i < 6 ? "low" : "high", i < 6 ? i % 2 * 2 : 40, i < 6 ? 0 : 30 + i);
    test_put(stage.folder, "points.tsv", buf_text(&points));
    buf_release(&points);
    test_put(stage.folder, "points.lesson",
             "lesson Points\n"
             "check size = map_size(\"points.tsv\", \"low\", 0) is 1\n"
             "check gap = map_gap(\"points.tsv\", \"low\", \"high\", 0) - 54.8019 in -0.001 to 0.001\n"
             "check kept = map_kept(\"points.tsv\", 3) in 0.5 to 1\n"
             "check again = map_kl(\"points.tsv\", 3) - map_kl(\"points.tsv\", 3) is 0\n"
             "check near = map_gap(\"points.tsv\", \"low\", \"high\", 3, 1) above 0\n"
             "ask q\n  Where?\n  a) x\n  b) y\nmap points.tsv 3 2:1\n  Twelve points.\nanswer q = a\n  So.\n");
    char *file = xprintf("%s/points.lesson", stage.folder);
    assert_int_equal(replay(file), 5);
    free(stage_out(0, "learn '%s' --handout '%s/points' --model '%s' --task '%s' --db '%s'", file, stage.folder, stage.model, task,
                   stage.db));
    char *folder = xprintf("%s/points", stage.folder), *page = test_text(folder, "points.md"), *picture = test_text(folder, "points-7.svg");
    assert_true(strstr(page, "![map](points-7.svg)") > strstr(page, "## Answers")); /* an answer's map is with it */
    assert_non_null(strstr(picture, "<svg"));
    free(folder);
    free(page);
    free(picture);
    free(file);
}

static void what_fails_says_where(void **state) {
    (void)state;
    static const struct { const char *steps, *says; int status; } cases[] = {
        { "run a = --methd x\n", "bad.lesson:2: unknown option of petri train: \"--methd\"", 2 },
        { "run a = --method lora(q=1)\n", "bad.lesson:2: ", 2 },
        { "let a = count(\"lorra\")\n", "bad.lesson:2: ", 2 },
        { "let a = delta(\"lora\", 9)\n", "layer 9 does not exist: must be an integer between 1 and 2", 2 },
        { "run a = --method head --steps 1\nlet b = rank(a, 1)\n", "merging changes no matrix in layer 1", 2 },
        { "run a = --method head --steps 1\nlet b = record(a, \"dev.acuracy\")\n", "did you mean \"dev.accuracy\"?", 2 },
        { "run a = --method head --steps 1\nlet b = gap_low(a, a)\n", "the confidence interval of 1 paired difference is undefined", 2 },
        { "run a = --method head --steps 1\nlet b = record(a, \"loss\", 7)\n", "\"loss\" was not recorded at step 7", 2 },
        { "run a = --method head --steps 1\nlet b = purity(a, 3)\n", "layer 3 does not exist: must be an integer between 1 and 2", 2 },
        { "run a = --method head --steps 1\nlet b = own_prototype(a)\n", "has no retriever", 2 },
        { "run a = --method head --steps 1\nlet b = retriever_layer(a)\n", "method has no retriever", 2 },
        { "let b = count(\"lora\", 17)\n", "17 tasks: must be an integer between 1 and 16", 2 },
        { "let a = map_kl(\"none.tsv\", 5)\n", "none.tsv: cannot be opened", 3 },
        { "let a = map_size(\"points.tsv\", \"mid\", 0)\n", "class \"mid\" has no points", 2 },
        { "map none.tsv 5\n  x\n", "bad.lesson:2: ", 3 },
        { "let a = map_kl(\"points.tsv\", 0)\n", "the perplexity of a map must be at least 1", 2 },
        { "text\n  a\n  {b}\n", "bad.lesson:4: ", 5 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char *text = xprintf("lesson Bad\n%s", cases[i].steps), *file = xprintf("%s/bad.lesson", stage.folder);
        test_put(stage.folder, "bad.lesson", text);
        struct command c;
        command_run(&c, NULL, "learn '%s' --auto --json --model '%s' --task '%s' --db '%s'", file, stage.model, task, stage.db);
        if (c.status != cases[i].status || !strstr(buf_text(&c.err), cases[i].says))
            fail_msg("%s: exit %d: %s", text, c.status, buf_text(&c.err));
        command_release(&c);
        free(text);
        free(file);
    }
}

static void a_check_outside_its_range_fails(void **state) {
    (void)state;
    test_put(stage.folder, "off.lesson", "lesson Off\ncheck w = width() below 8\n  {w}\ncheck l = layers() is 2\n");
    struct command c;
    command_run(&c, NULL, "learn '%s/off.lesson' --auto --model '%s' --task '%s' --db '%s'", stage.folder, stage.model, task, stage.db);
    command_expect(&c, 1);
    assert_non_null(strstr(buf_text(&c.out), "FAILED line   2  w                measured "));
    assert_non_null(strstr(buf_text(&c.out), ", expected below 8"));
    assert_non_null(strstr(buf_text(&c.err), "off: 1 of 2 checks failed: the lesson's text may not apply to this model and task"));
    command_release(&c);
    stage_refused(3, "did you mean \"lora\"?", "learn lorra --db '%s'", stage.db);
}

static void all_are_listed(void **state) {
    (void)state;
    json_t *list = stage_json("learn --list --json --model '%s' --db '%s'", stage.model, stage.db);
    assert_true(json_array_size(list) >= 2);
    for (size_t i = 0; i < json_array_size(list); i++) /* of a smaller model than the one that the files' seconds are of */
        assert_true(json_number_value(stage_at(json_array_get(list, i), "seconds")) > 0);
    assert_string_equal(json_string_value(json_object_get(json_array_get(list, 0), "lesson")), "delta-h");
    json_decref(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lessons_hold_on_the_tiny_model),
        cmocka_unit_test(lessons_hold_on_the_miniature),
        cmocka_unit_test(lessons_hold_on_the_default_model),
        cmocka_unit_test(lessons_hold_on_their_own_model),
        cmocka_unit_test(runs_read_files_next_to_the_lesson),
        cmocka_unit_test(an_answer_is_computed),
        cmocka_unit_test(shown_commands_reproduce_the_runs),
        cmocka_unit_test(shown_commands_are_taken),
        cmocka_unit_test(a_lesson_is_handed_out),
        cmocka_unit_test(lessons_leave_the_history_alone),
        cmocka_unit_test(seeds_are_compared),
        cmocka_unit_test(tasks_are_compared),
        cmocka_unit_test(points_are_measured),
        cmocka_unit_test(what_fails_says_where),
        cmocka_unit_test(a_check_outside_its_range_fails),
        cmocka_unit_test(all_are_listed),
    };
    return cmocka_run_group_tests(tests, make, drop);
}
