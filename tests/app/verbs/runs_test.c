/* The list of runs: every option a run was made with is found again. */
#include <jansson.h>
#include <pty.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/session/page_settings.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "core/train/config/option.h"
#include "store/store.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "views/plot.h"

static int make(void **state) {
    (void)state;
    stage_init(&stage);
    char *more = xprintf("--dev '%s' --steps 2 --eval-rows 3 --schedule cosine --decay 0.1 --seed 3", stage.toy);
    json_decref(stage_train(&stage, 0, more));
    free(more);
    char *other = xprintf("train --model '%s' --train '%s' --text text --label label --method 'lora(r=2,layers=1)' "
                          "--steps 1 --db '%s'", stage.model, stage.toy, stage.db);
    free(stage_out(0, "%s", other));
    free(other);
    return 0;
}

static bool finds(const char *filter, int64_t id) {
    json_t *list = stage_json("runs '%s' --db '%s' --json", filter, stage.db);
    bool found = false;
    for (size_t i = 0; i < json_array_size(list); i++)
        found = found || json_integer_value(json_object_get(json_array_get(list, i), "id")) == id;
    json_decref(list);
    return found;
}

static void every_option_is_a_column(void **state) {
    (void)state;
    struct store *s;
    struct store_run run;
    struct run_config c;
    struct err e = ERR_INIT;
    test_ok(store_open(&s, stage.db, STORE_READ, &e), &e);
    test_ok(store_run(s, 1, &run, &e), &e);
    test_ok(config_from_json(run.config, strlen(run.config), &c, &e), &e);
    for (size_t i = 0; i < option_count(); i++) {
        const char *name = option_at(i)->name;
        if (!name || !strcmp(name, "weights")) continue; /* the column of that name is the hash */
        char *member = xprintf("\"%s\"", name);
        for (char *at = member; *at; at++)
            if (*at == '-') *at = '_';
        bool absent = !strstr(run.config, member);
        free(member);
        bool renamed = !strcmp(name, "text") || !strcmp(name, "label") || !strcmp(name, "source") ||
                       !strcmp(name, "target") || !strcmp(name, "train") || !strcmp(name, "dev") ||
                       !strcmp(name, "text-b") || !strcmp(name, "kind") || !strcmp(name, "decay");
        if (absent && !renamed) continue; /* kept only where it was given */
        /* those of a module stand for the module; the config's is then named as in the record */
        bool module = !strcmp(name, "source") || !strcmp(name, "target");
        char *value = config_get(&c, name), *column = xprintf("%s%s", name, module ? "_column" : "");
        const char *said = strcmp(value, "published") ? value : "-1";
        if (!strcmp(name, "train") || !strcmp(name, "dev") || !strcmp(name, "task") || !strcmp(name, "model"))
            said = "*"; /* paths and names that the app completes */
        if (!strcmp(name, "regime")) said = "single"; /* the column says it in every run */
        if (!strcmp(name, "epochs") || !strcmp(name, "split") || !strcmp(name, "limit")) said = "0"; /* not given */
        struct store_list l = { .filter = NULL };
        char *filter = xprintf("%s=\"%s\"", column, said);
        l.filter = filter;
        struct store_runs list;
        int rc = store_list(s, &l, &list, &e);
        if (rc) fail_msg("%s: %s", filter, e.text);
        bool found = false;
        for (size_t k = 0; k < list.count; k++) found = found || list.run[k].id == 1;
        if (!found) fail_msg("%s does not find the run that was made with it", filter);
        store_runs_release(&list);
        l = (struct store_list){ .sort = column };
        rc = module ? 0 : store_list(s, &l, &list, &e);
        if (rc) fail_msg("sorting by %s: %s", column, e.text);
        if (!module) store_runs_release(&list);
        free(filter);
        free(column);
        free(value);
    }
    config_release(&c);
    store_run_release(&run);
    test_ok(store_close(s, &e), &e);
}

static void what_a_run_was_made_with_finds_it(void **state) {
    (void)state;
    assert_true(finds("lr=1e-5", 1));
    assert_false(finds("lr=1e-5", 2));
    assert_true(finds("layers=1", 2) && !finds("layers=1", 1));
    assert_true(finds("init=lora", 1) && finds("stack=encoder", 1));
    assert_true(finds("rows=3 metric=accuracy", 1) && finds("examples=3 metric=accuracy", 1) && !finds("rows=3", 2));
    char *table = stage_out(0, "runs --db '%s'", stage.db);
    assert_true(strstr(table, "examples") && strstr(table, "params"));
    assert_non_null(strstr(table, "1e-05"));
    free(table);
    stage_refused(2, "metric, best, examples, rows", "runs 'zzzzzzzzz>1' --db '%s'", stage.db);
}

/* What was found when the rows were read stays with the run; the page and `show` hide nothing of what it
 * was made with. */
static void everything_about_a_run_is_kept_and_shown(void **state) {
    (void)state;
    static const char rows[] = "text\tlabel\ngood\tpos\nbad\tneg\nGOOD \tpos\nbad\tneg\n";
    char *path = test_file(stage.folder, "again.tsv", rows, sizeof rows - 1);
    char *more = xprintf("--train '%s' --dev '%s' --text text --label label --method 'lora(r=2)' --batch 2 --steps 1 "
                         "--note 'a note' --eval-steps 1", path, path);
    free(stage_out(0, "train --model '%s' %s --db '%s' --json", stage.model, more, stage.db));
    json_t *v = stage_json("show last --db '%s' --json", stage.db), *report = stage_at(v, "report");
    assert_int_equal(json_array_size(report), 2);
    assert_non_null(strstr(json_string_value(json_array_get(report, 0)), " differ only in case or whitespace (lines 4, 5)\n"));
    assert_non_null(strstr(json_string_value(json_array_get(report, 1)), "warning: 4 examples also in"));
    char *shown = stage_out(0, "show last --db '%s'", stage.db);
    assert_non_null(strstr(shown, "warning: 4 examples also in"));
    assert_non_null(strstr(shown, "a note"));
    char *page = stage_out(0, "render --screen detail --run last --size 120x120 --db '%s' --model '%s'", stage.db, stage.model);
    const char *key;
    json_t *value, *config = stage_at(v, "config");
    json_object_foreach(config, key, value) {
        char *word = xprintf(" %s ", key);
        if (!strstr(page, word) && !page_settings_have(key)) fail_msg("the page hides %s", key);
        free(word);
    }
    assert_non_null(strstr(page, stage_text(v, "train_sha256"))); /* whole */
    assert_non_null(strstr(page, "a note"));
    assert_non_null(strstr(page, "warning: 4 examples also in"));
    free(page);
    free(shown);
    json_decref(v);
    free(more);
    free(path);
}

/* ---- what people make of runs ---- */

/* What was estimated when a run was started is stored, and shown beside what was measured, the same ever after. */
static void estimates_are_of_the_start(void **state) {
    (void)state;
    static const char line[] = "train --model '%s' --task '%s' --method 'lora(r=2)' --batch 2 --db '%s' --workers 1 --steps %d %s";
    char *db = file_join(stage.folder, "estimates.db"), *task = stage_task(&stage, "estimated", 12);
    free(stage_out(0, line, stage.model, task, db, 4, ""));
    free(stage_out(0, line, stage.model, task, db, 1000000, "--eval-steps 1 --early-stop 1"));
    json_t *quick = stage_json("show 1 --db '%s' --json", db), *slow = stage_json("show 2 --db '%s' --json", db);
    double bytes = json_number_value(stage_at(quick, "estimated_bytes"));
    assert_true(bytes > 1e4 && bytes < 1e6 && bytes == json_number_value(stage_at(slow, "estimated_bytes")));
    assert_true(json_is_null(stage_at(quick, "estimated_seconds"))); /* less than a second: the machine is not measured for it */
    assert_true(json_number_value(stage_at(slow, "estimated_seconds")) > 1);
    json_decref(quick), json_decref(slow);
    sqlite3 *by_hand;
    assert_int_equal(sqlite3_open(db, &by_hand), SQLITE_OK);
    assert_int_equal(sqlite3_exec(by_hand, "UPDATE run SET seconds=14.2, estimated_seconds=15.1, peak=39.4e6, estimated_bytes=37e6"
                                  " WHERE id=1; UPDATE run SET seconds=0, estimated_seconds=5400, peak=NULL WHERE id=2",
                                  NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(by_hand);
    static const char *const said[][2] = { { "14.2 s (estimated 15 s)", "39 MB (estimated 37 MB)" },
                                           { "estimated 1:30:00", "estimated 0." } };
    for (int i = 0; i < 2; i++) {
        char *shown = stage_out(0, "show %d --db '%s'", i + 1, db);
        char *page = stage_out(0, "render --screen detail --run %d --size 200x60 --db '%s'", i + 1, db);
        for (int k = 0; k < 2; k++) assert_true(strstr(shown, said[i][k]) && strstr(page, said[i][k]));
        assert_true(strstr(shown, "time ") && strstr(page, "time ") && strstr(shown, "peak memory") && strstr(page, "peak memory"));
        free(shown), free(page);
    }
    free(task), free(db);
}

/* Tables for other programs, and drawings into files whose names say the form. */
static void tables_and_pictures_go_into_files(void **state) {
    (void)state;
    struct err e = ERR_INIT;
    struct buf bytes = BUF_INIT;
    char *text = stage_out(0, "runs --csv --db '%s'", stage.db);
    assert_true(text_starts(text, "\"id\",\"state\","));
    assert_non_null(strstr(text, "\n2,\"finished\"")); /* newest first, as the list is */
    assert_non_null(strstr(strstr(text, "\n2,"), "\n1,\"finished\""));
    free(text);
    text = stage_out(0, "runs --markdown --sort id --db '%s'", stage.db);
    assert_true(text_starts(text, "| id | state | method |"));
    assert_non_null(strstr(text, "---|\n| 1 | finished |"));
    free(text);
    text = stage_out(0, "sql --markdown \"SELECT 'a|b' AS x, 1 AS n\" --db '%s'", stage.db);
    assert_string_equal(text, "| x | n |\n|---|---|\n| a\\|b | 1 |\n");
    free(text);
    text = stage_out(0, "export 1 --to markdown --db '%s'", stage.db);
    assert_true(text_starts(text, "| run | key | step | value | kind |\n"));
    free(text);
    stage_refused(2, "--csv: cannot be combined with --json", "runs --csv --json --db '%s'", stage.db);
    struct command c;
    text = stage_line(&stage, "--method 'lora(init=run(99))'");
    command_run(&c, NULL, "%s", text);
    command_expect(&c, 3);
    assert_non_null(strstr(buf_text(&c.err), "run 99 does not exist"));
    command_release(&c);
    free(text);
    json_t *twice = stage_json("sql 'SELECT 1 AS a, 2 AS a, 3 AS b, 4 AS a' --json --db '%s'", stage.db); /* no key is there twice */
    assert_int_equal(json_object_size(twice), 4);
    assert_int_equal(json_integer_value(stage_at(twice, "a:2")), 4);
    json_decref(twice);
    char *path = file_join(stage.folder, "runs.svg");
    free(stage_out(0, "render --screen runs --out '%s' --db '%s'", path, stage.db));
    test_ok(file_read(path, 1 << 20, &bytes, &e), &e);
    assert_true(text_starts(buf_text(&bytes), "<svg "));
    stage_refused(2, "exists", "render --screen runs --out '%s' --db '%s'", path, stage.db);
    free(stage_out(0, "render --screen runs --out '%s' --overwrite --db '%s'", path, stage.db));
    stage_refused(2, "the extension does not match --ansi", "render --screen runs --ansi --out '%s' --overwrite --db '%s'", path, stage.db);
    stage_refused(2, ".txt, .ans", "render --screen runs --out '%s/runs.jpg' --db '%s'", stage.folder, stage.db);
    buf_release(&bytes);
    free(path);
}

/* What somebody chose for the list holds for its picture. */
static void a_picture_has_the_columns_that_are_kept(void **state) {
    (void)state;
    struct store *s;
    struct err e = ERR_INIT;
    test_ok(store_open(&s, stage.db, STORE_WRITE, &e), &e);
    test_ok(store_save_text(s, "columns", "seed disk curve id", &e), &e);
    char *text = stage_out(0, "render --screen runs --filter seed=3 --db '%s'", stage.db);
    const char *seed = strstr(text, "seed"), *disk = strstr(text, "disk");
    assert_true(seed && disk && seed < disk && !strstr(text, "method"));
    assert_non_null(strstr(text, "kB"));
    free(text);
    text = stage_out(0, "render --screen runs --trash --db '%s'", stage.db);
    assert_non_null(strstr(text, "the trash is empty"));
    free(text);
    test_ok(store_save_text(s, "columns", "", &e), &e);
    test_ok(store_close(s, &e), &e);
    stage_refused(2, "--filter: ", "render --screen runs --filter 'nothing=' --db '%s'", stage.db);
    stage_refused(2, "--filter: requires --screen runs or compare", "render --screen map --filter lora --db '%s'", stage.db);
}

/* A program of that name on PATH takes the SVG; what it makes of it is the file, or there is none. */
static void a_png_is_made_by_another_program(void **state) {
    (void)state;
    static const struct {
        const char *does;
        int status;
        const char *said;
    } all[] = { { "exit 1 # $FAKE", 1, "failed without a message" },
                { "echo 'no such font' >&2; exit 1", 1, "rsvg-convert: no such font" },
                { "printf '\\211PNG\\r\\n\\032\\n'", 1, "incomplete output" },
                { "kill -9 $$", 1, "failed without a message" },
                { "printf '\\211PNG\\r\\n\\032\\n1234IEND\\256B`\\202'", 0, "" } };
    char *bin = file_join(stage.folder, "bin"), *maker = file_join(bin, "rsvg-convert"), *path = xprintf("PATH=%s", bin),
         *to = file_join(stage.folder, "runs.png");
    struct command c;
    struct err e = ERR_INIT;
    test_ok(file_make_folder(bin, &e), &e);
    command_run(&c, path, "plot 1 --out '%s' --db '%s'", to, stage.db);
    command_expect(&c, 3);
    assert_non_null(strstr(buf_text(&c.err), "librsvg2-bin"));
    command_release(&c);
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        char *script = xprintf("#!/bin/sh\nread first\ncase $first in '<svg '*) ;; *) exit 9 ;; esac\n%s\n", all[i].does);
        test_put(bin, "rsvg-convert", script);
        assert_int_equal(chmod(maker, 0700), 0);
        command_run(&c, path, "%s --out '%s' --db '%s'", i % 2 ? "plot 1" : "render --screen runs", to, stage.db);
        command_expect(&c, all[i].status);
        assert_non_null(strstr(buf_text(&c.err), all[i].said));
        assert_true(file_exists(to) == !all[i].status);
        command_release(&c);
        free(script);
    }
    free(to), free(path), free(maker), free(bin);
}

/* Several runs in one chart, over what each step took, with the numbers that are drawn. */
static void runs_are_drawn(void **state) {
    (void)state;
    char *text = stage_out(0, "plot 1 2 --db '%s' --size 70x16", stage.db);
    assert_true(text_starts(text, "\u2500\u2500 loss \u2500"));
    assert_non_null(strstr(text, "\n 1 #1 "));
    assert_non_null(strstr(text, "\n 2 #2 "));
    free(text);
    for (int i = 0; i < PLOT_XS; i++) {
        text = stage_out(0, "plot 1 --x %s --log --log-x --smooth 0 --db '%s'", plot_x_name((enum plot_x)i), stage.db);
        char *unit = xprintf(" %s\n", plot_x_unit((enum plot_x)i));
        assert_non_null(strstr(text, unit));
        free(unit);
        free(text);
    }
    json_t *v = stage_json("plot 1 --x tokens --json --db '%s'", stage.db), *run = json_array_get(stage_at(v, "runs"), 0);
    assert_int_equal(json_array_size(json_object_get(run, "x")), 2);
    double first = json_number_value(json_array_get(json_object_get(run, "x"), 0));
    double both = json_number_value(json_array_get(json_object_get(run, "x"), 1));
    assert_true(first > 0 && both > first); /* in sum */
    json_decref(v);
    v = stage_json("plot 1 --x epoch --json --db '%s'", stage.db);  /* 20 rows, two a step */
    assert_true(json_number_value(json_array_get(json_object_get(json_array_get(stage_at(v, "runs"), 0), "x"), 1)) == 0.2);
    json_decref(v);
    text = stage_out(0, "plot 1 --key accuracy --csv --db '%s'", stage.db);
    assert_true(text_starts(text, "run,step,value,smooth_0\n1,2,"));
    free(text);
    stage_refused(3, "; available: ", "plot 1 --key nothing --db '%s'", stage.db);
    stage_refused(2, "step, tokens, time or epoch", "plot 1 --x hours --db '%s'", stage.db);
    stage_refused(2, "0.9", "plot 1 --smooth 0.7 --db '%s'", stage.db);
    stage_refused(3, "no runs match", "plot method=nothing --db '%s'", stage.db);
}

static void tags_come_and_go(void **state) {
    (void)state;
    json_t *v = stage_json("tag 1 '#2' good 'two words' --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(stage_at(v, "tagged")), 2);
    assert_string_equal(json_string_value(json_array_get(stage_at(v, "tags"), 1)), "two words");
    json_decref(v);
    assert_true(finds("tag=good", 1) && finds("tag=good", 2));
    char *out = stage_out(0, "tag 1 good 7 --db '%s'", stage.db); /* behind a word a number is a tag */
    assert_string_equal(out, "1 run tagged good, 7\n");
    free(out);
    stage_refused(3, "run 2 has no tag \"7\"", "tag 1 2 good 7 --remove --db '%s'", stage.db);
    assert_true(finds("tag=good", 1));
    out = stage_out(0, "tag 1 good --remove --db '%s'", stage.db);
    assert_string_equal(out, "1 run untagged good\n");
    free(out);
    assert_false(finds("tag=good", 1));
    stage_refused(2, "missing tag", "tag 1 2 --db '%s'", stage.db);
    stage_refused(2, "unknown run \"good\"", "tag good better --db '%s'", stage.db);
    stage_refused(2, "contain a comma", "tag 1 'a,b' --db '%s'", stage.db);
    stage_refused(3, "run 99 does not exist", "tag 99 good --db '%s'", stage.db);
}

static void a_note_is_replaced(void **state) {
    (void)state;
    json_t *v = stage_json("note 1 'for the talk' --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "note"), "for the talk");
    json_decref(v);
    assert_true(finds("note~talk", 1));
    char *out = stage_out(0, "note 1 '' --db '%s'", stage.db);
    assert_string_equal(out, "run 1: note removed\n");
    free(out);
    assert_false(finds("note~talk", 1));
    stage_refused(2, "petri note: missing arguments: found 1; usage: petri note RUN TEXT", "note 1 --db '%s'", stage.db);
}

/* A name stands for its run wherever one is asked for. */
static void a_name_stands_for_its_run(void **state) {
    (void)state;
    json_t *v = stage_json("name 1 'for the talk' --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "name"), "for the talk");
    assert_true(json_is_null(json_object_get(v, "before")));
    json_decref(v);
    v = stage_json("show 'for the talk' --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(json_object_get(v, "id")), 1);
    assert_string_equal(stage_text(v, "name"), "for the talk");
    json_decref(v);
    assert_true(finds("name~talk", 1));
    char *out = stage_out(0, "runs id=1 --db '%s'", stage.db);
    assert_non_null(strstr(out, "for the talk"));
    free(out);
    out = stage_out(0, "runs id=1 --csv --db '%s'", stage.db);
    assert_non_null(strstr(out, "\"for the talk\""));
    free(out);
    out = stage_out(0, "plot 'for the talk' --size 70x16 --db '%s'", stage.db);
    assert_non_null(strstr(out, "#1 for the talk: "));
    free(out);
    free(stage_out(0, "tag 'for the talk' named --db '%s'", stage.db));
    assert_true(finds("tag=named", 1));
    stage_refused(2, "must not be a number", "name 1 7 --db '%s'", stage.db);
    stage_refused(2, "must not contain line breaks", "name 1 'a\xC2\x9B" "2J' --db '%s'", stage.db);
    stage_refused(2, "must not contain line breaks", "name 1 'a\xE2\x80\xAE' --db '%s'", stage.db);
    stage_refused(3, "run 99 does not exist", "name 99 a --db '%s'", stage.db);
    out = stage_out(0, "name 'for the talk' '' --db '%s'", stage.db);
    assert_string_equal(out, "run 1: name removed (previously for the talk)\n");
    free(out);
    stage_refused(2, "unknown run", "show 'for the talk' --db '%s'", stage.db);
}

/* A run is made with its name, each of several seeds with it; what is trained like it has none, and a sweep's runs have
 * the sweep's note. */
static void a_run_is_made_with_its_name(void **state) {
    (void)state;
    char *made = xprintf("--model '%s' --train '%s' --text text --label label --steps 1 --db '%s'", stage.model, stage.toy, stage.db);
    free(stage_out(0, "train %s --seeds 1,2 --name early", made));
    json_t *v = stage_json("runs name=early --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(v), 2);
    json_decref(v);
    stage_refused(2, "is the name of 2 runs", "show early --db '%s'", stage.db);
    stage_refused(2, "must not contain line breaks", "train %s --name 'a\033b'", made);
    stage_refused(2, "must not be a number", "train %s --name last", made);
    stage_refused(2, "unknown option --name", "sweep %s --name a --lr '{1,2}'", made);
    free(stage_out(0, "sweep %s --lr '{1e-3,2e-3}' --note 'of a sweep'", made));
    v = stage_json("show last --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "note"), "of a sweep");
    assert_true(json_is_null(json_object_get(v, "name")));
    json_decref(v);
    free(made);
}

/* Runs petri purge 2 on a pseudo-terminal and types `answer`; what it said, caller frees. */
static char *purge_typing(const char *answer, int *status) {
    int fd;
    pid_t pid = forkpty(&fd, NULL, NULL, NULL);
    if (!pid) {
        execl(getenv("PETRI_BIN"), "petri", "purge", "2", "--db", stage.db, (char *)NULL);
        _exit(127);
    }
    assert_true(pid > 0);
    assert_int_equal(write(fd, answer, strlen(answer)), strlen(answer));
    struct buf said = BUF_INIT;
    char piece[256];
    for (ssize_t n; (n = read(fd, piece, sizeof piece)) > 0;) buf_add(&said, piece, (size_t)n);
    assert_int_equal(waitpid(pid, status, 0), pid);
    *status = WEXITSTATUS(*status);
    close(fd);
    return buf_take(&said);
}

/* The last: run 2 is gone afterwards. */
static void purging_is_asked_and_told(void **state) {
    (void)state;
    char *folder = file_join(stage.folder, "p.db-files/2");
    int status;
    assert_true(file_is_folder(folder));
    stage_refused(2, "run 2: not in the trash", "purge 2 --yes --db '%s'", stage.db);
    stage_refused(3, "the trash is empty", "purge --all --yes --db '%s'", stage.db);
    stage_refused(2, "requires RUN", "purge --yes --db '%s'", stage.db);
    free(stage_out(0, "trash 2 --db '%s'", stage.db));
    stage_refused(2, "bytes would be deleted permanently; use --yes", "purge 2 --db '%s'", stage.db);
    char *said = purge_typing("yes\n", &status);
    assert_non_null(strstr(said, "Type 1 to confirm"));
    assert_int_equal(status, 2);
    free(said);
    assert_true(file_is_folder(folder));
    said = purge_typing("1\n", &status);
    assert_int_equal(status, 0);
    const char *told = strstr(said, "1 run, ");
    assert_non_null(told);
    assert_null(strstr(told, " 0 bytes"));
    assert_non_null(strstr(said, "bytes deleted"));
    free(said);
    assert_false(file_exists(folder));
    stage_refused(3, "run 2 does not exist", "show 2 --db '%s'", stage.db);
    free(stage_out(0, "trash 1 --db '%s'", stage.db));
    json_t *v = stage_json("purge 1 1 --yes --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(stage_at(v, "purged")), 1);
    assert_true(json_integer_value(stage_at(v, "bytes")) > json_integer_value(stage_at(v, "files")));
    json_decref(v);
    free(folder);
}

/* What stands beside a database that cannot be merged is merged, and told. */
static void merging_tells_what_it_did(void **state) {
    (void)state;
    char *none = xprintf("%s/none.db", stage.folder);
    char *said = stage_out(3, "merge '%s/all.db' '%s' '%s'", stage.folder, none, stage.db);
    assert_non_null(strstr(said, "run 1: imported as run 1"));
    free(said);
    stage_refused(3, "no such database", "merge '%s/all.db' '%s'", stage.folder, none);
    said = stage_out(0, "merge '%s/all.db' '%s'", stage.folder, stage.db);
    assert_non_null(strstr(said, "run 1: already present as run 1"));
    free(said);
    test_put(stage.folder, "none.db", "");
    said = stage_out(0, "merge '%s/all.db' '%s'", stage.folder, none);
    assert_non_null(strstr(said, "none.db: has no runs"));
    free(said);
    /* a byte of what a run learned, and nothing reads it unseen */
    struct buf bytes = BUF_INIT;
    struct err e = ERR_INIT;
    char *best = xprintf("%s-files/1/best.safetensors", stage.db), *other = xprintf("%s/other.db", stage.folder);
    test_ok(file_read(best, 1 << 24, &bytes, &e), &e);
    bytes.data[bytes.size - 5] ^= 1;
    test_ok(file_write(best, bytes.data, bytes.size, &e), &e);
    stage_refused(5, "best.safetensors: damaged: the SHA-256 of the tensors is", "predict 1 --db '%s' --text good", stage.db);
    said = stage_out(0, "merge '%s' '%s'", other, stage.db);
    assert_non_null(strstr(said, "run 1: imported as run 1; damaged: best.safetensors (skipped)"));
    free(said);
    said = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM event WHERE text LIKE '%%except for damaged files%%'\"", other);
    assert_non_null(strstr(said, "1"));
    free(said);
    bytes.data[bytes.size - 5] ^= 1;
    test_ok(file_write(best, bytes.data, bytes.size, &e), &e);
    buf_release(&bytes);
    free(best), free(other);
    free(none);
}

/* What moved and what stayed frozen is told by every run when it is over, and why it looks as it does. */
static void what_looks_wrong_is_said(void **state) {
    (void)state;
    char *text = stage_out(0, "show 1 --why --db '%s'", stage.db);
    assert_non_null(strstr(text, "3 dev examples: "));
    assert_non_null(strstr(text, "changed since step 0: module 1, linear("));
    assert_non_null(strstr(text, "the head: norm "));
    assert_non_null(strstr(text, "their SHA-256 did not change"));
    free(text);
    json_t *list = stage_json("show 1 --why --json --db '%s'", stage.db);
    assert_true(json_array_size(list) > 0);
    json_t *first = json_array_get(list, 0);
    assert_true(json_is_string(json_object_get(first, "kind")) && json_is_string(json_object_get(first, "text")));
    assert_true(json_is_object(json_object_get(first, "figures")));
    json_decref(list);
    list = stage_json("sql \"SELECT value FROM v_latest WHERE run = 1 AND key = 'moved.frozen_same'\" --db '%s' --json", stage.db);
    assert_true(json_number_value(json_object_get(list, "value")) == 1);
    json_decref(list);
}

/* A run of another's options, some replaced; equal ones come to the same weights. */
static void a_run_like_another(void **state) {
    (void)state;
    json_t *a = stage_json("show 1 --db '%s' --json", stage.db);
    free(stage_out(0, "train --like 1 --db '%s'", stage.db));
    json_t *b = stage_json("show last --db '%s' --json", stage.db);
    assert_string_equal(stage_text(a, "weights_sha256"), stage_text(b, "weights_sha256"));
    assert_int_equal(json_integer_value(stage_at(b, "parent")), 1);
    json_decref(b);
    free(stage_out(0, "train --like 1 --lr 0.25 --epochs 1 --method 'lora(r=1)' --note other --db '%s'", stage.db));
    b = stage_json("show last --db '%s' --json", stage.db);
    json_t *was = stage_at(a, "config"), *now = stage_at(b, "config");
    assert_true(json_number_value(json_object_get(now, "lr")) == 0.25);
    assert_true(json_number_value(json_object_get(now, "epochs")) == 1);
    assert_string_equal(stage_text(b, "method"), "lora(r=1)");
    static const char *const kept[] = { "schedule", "weight_decay", "seed", "eval_rows", "train_file", "dev_file", "batch" };
    for (size_t i = 0; i < COUNT_OF(kept); i++)
        if (!json_equal(json_object_get(was, kept[i]), json_object_get(now, kept[i]))) fail_msg("%s was not taken", kept[i]);
    json_decref(a);
    json_decref(b);
    char *other = xprintf("train --like 1 --train '%s' --text text --label label --db '%s'", stage.toy, stage.db);
    free(stage_out(0, "%s", other));
    free(other);
    b = stage_json("show last --db '%s' --json", stage.db);
    assert_true(json_is_null(json_object_get(stage_at(b, "config"), "dev_file")));
    json_decref(b);
    static const char *const header[] = { "--header", "--header=off" }; /* a switch is taken back too */
    for (int i = 0; i < 2; i++) {
        free(stage_out(0, "train --like last --steps 1 %s --db '%s'", header[i], stage.db));
        b = stage_json("show last --db '%s' --json", stage.db);
        assert_string_equal(stage_text(stage_at(b, "config"), "header"), i ? "off" : "on");
        json_decref(b);
    }
    stage_refused(2, "not both", "train --like last --header --no-header --db '%s'", stage.db);
    stage_refused(2, "does not accept a value", "train --like 1 --header=maybe --db '%s'", stage.db);
    stage_refused(2, "--like: cannot be combined with --from", "train --like 1 --from 1 --db '%s'", stage.db);
    stage_refused(2, "give only one of", "train --like 1 --train a --task b --db '%s'", stage.db);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_looks_wrong_is_said),
        cmocka_unit_test(a_run_like_another),
        cmocka_unit_test(every_option_is_a_column),
        cmocka_unit_test(what_a_run_was_made_with_finds_it),
        cmocka_unit_test(everything_about_a_run_is_kept_and_shown),
        cmocka_unit_test(estimates_are_of_the_start),
        cmocka_unit_test(tables_and_pictures_go_into_files),
        cmocka_unit_test(a_picture_has_the_columns_that_are_kept),
        cmocka_unit_test(a_png_is_made_by_another_program),
        cmocka_unit_test(runs_are_drawn),
        cmocka_unit_test(tags_come_and_go),
        cmocka_unit_test(a_note_is_replaced),
        cmocka_unit_test(a_name_stands_for_its_run),
        cmocka_unit_test(merging_tells_what_it_did),
        cmocka_unit_test(purging_is_asked_and_told),
        cmocka_unit_test(a_run_is_made_with_its_name),
    };
    return cmocka_run_group_tests(tests, make, stage_drop);
}
