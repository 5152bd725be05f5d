/* Trouble that people met with programs like this one, tried on the real program. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static int databases;

/* A database of its own for each test. */
static int make(void **state) {
    (void)state;
    if (!stage.folder) stage_init(&stage);
    free(stage.db);
    stage.db = xprintf("%s/%d.db", stage.folder, ++databases);
    return 0;
}

static void read_whole(const char *path, struct buf *b) {
    struct err e = ERR_INIT;
    test_ok(file_read(path, 1 << 26, b, &e), &e);
}

static char *write_text(const char *name, const char *text) {
    return test_file(stage.folder, name, text, strlen(text));
}

static char *state_of(int id) {
    json_t *v = stage_json("show %d --db '%s' --json", id, stage.db);
    char *state = xstrdup(stage_text(v, "state"));
    json_decref(v);
    return state;
}

static void expect_state(int id, const char *wanted) {
    char *state = state_of(id);
    assert_string_equal(state, wanted);
    free(state);
}

static char *weights_of(json_t *run) {
    char *w = xstrdup(stage_text(run, "weights_sha256"));
    json_decref(run);
    return w;
}

/* The losses of a run as text, one a line. */
static char *losses(int id) {
    return stage_out(0, "sql --db '%s' \"SELECT step, value FROM v_points WHERE run=%d AND key='loss' ORDER BY step\"",
                     stage.db, id);
}

static int start(const char *more) {
    char *line = stage_line(&stage, more);
    pid_t pid = command_start(stage.folder, "%s", line);
    free(line);
    return pid;
}

/* ---- labels ---- */

static void labels_are_matched_by_name(void **state) {
    (void)state;
    static const char *const labels[] = { "neutral", "contradiction", "entailment" };
    static const double bias[] = { 0, 0, 5 };
    char *m = tiny_bert(stage.folder, "nli", &(struct tiny){ .outputs = 3, .labels = labels, .head_bias = bias });
    char *names = write_text("nli.tsv", "text\tlabel\ngood\tentailment\nbad\tentailment\ncat\tentailment\nmat\tneutral\n");
    json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --json", m, names);
    assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), 0.75, 1e-12);
    json_decref(v);
    char *numbers = write_text("nli2.tsv", "text\tlabel\ngood\t2\nbad\t2\ncat\t2\nmat\t0\n");
    struct command c;
    command_run(&c, NULL, "eval --model '%s' --file '%s' --text text --label label --json", m, numbers);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), "entailment"));
    v = command_json(&c, 0);
    assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), 0.75, 1e-12);
    json_decref(v);
    command_release(&c);
    free(m);
    free(names);
    free(numbers);
}

/* ---- the same bits ---- */

static void equal_seeds_give_equal_runs(void **state) {
    (void)state;
    char *a = weights_of(stage_train(&stage, 0, "--steps 10 --workers 1"));
    char *b = weights_of(stage_train(&stage, 0, "--steps 10 --workers 2"));
    json_decref(stage_train(&stage, 0, "--steps 3 --method bitfit"));
    char *c = weights_of(stage_train(&stage, 0, "--steps 10 --workers 3"));
    char *d = weights_of(stage_train(&stage, 0, "--steps 10 --seed 2"));
    assert_string_equal(a, b);
    assert_string_equal(a, c);
    assert_string_not_equal(a, d);
    char *la = losses(1), *lb = losses(2), *ld = losses(5);
    assert_string_equal(la, lb);
    char first_a[32] = "", first_d[32] = "";
    sscanf(la, "%*s 1,%31s", first_a);
    sscanf(ld, "%*s 1,%31s", first_d);
    assert_string_not_equal(first_a, first_d);
    char *line = stage_line(&stage, "--steps 10 --seeds 5,1 --json");
    free(stage_out(0, "%s", line)); /* two in one session */
    json_t *run = stage_json("show 7 --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(run, "seed")), 1);
    assert_string_equal(stage_text(run, "weights_sha256"), a);
    json_decref(run);
    char *more = xprintf("--steps 10 --eval-steps 1 --dev '%s'", stage.toy);
    char *e = weights_of(stage_train(&stage, 0, more)); /* evaluation leaves training alone */
    assert_string_equal(a, e);
    free(more);
    free(line);
    free(a), free(b), free(c), free(d), free(e), free(la), free(lb), free(ld);
}

/* Starts run `id` and stops it at or after `step`.  When it was over sooner than it could
 * be stopped the next one is tried; returns the number of the one that was stopped. */
static int stop_midway(const char *more, int id, int step) {
    for (int tries = 0; tries < 5; tries++, id++) {
        pid_t pid = start(more);
        if (!stage_stop_midway(&stage, pid, id, step)) continue;
        expect_state(id, "stopped");
        return id;
    }
    fail_msg("no run could be stopped midway");
    return 0;
}

static void a_resumed_run_ends_the_same(void **state) {
    (void)state;
    const char *line = "--steps 1600 --lr 1e-4 --batch 20 --gradient-accumulation-steps 5";
    char *whole = weights_of(stage_train(&stage, 0, line));
    int id = stop_midway(line, 2, 50);
    struct command c;
    command_run(&c, NULL, "resume %d --workers 1 --db '%s' --json", id, stage.db);
    command_expect(&c, 0);
    stage_json_lines(buf_text(&c.out));
    json_t *run = command_json(&c, 1);
    assert_string_equal(stage_text(run, "state"), "finished");
    assert_string_equal(stage_text(run, "weights_sha256"), whole);
    json_decref(run);
    command_release(&c);
    char *a = losses(1), *b = losses(id);
    assert_string_equal(a, b);
    char *count = stage_out(0, "sql --db '%s' \"SELECT count(*), count(DISTINCT step) FROM v_points WHERE "
                            "key='loss' AND run=%d\"", stage.db, id);
    assert_non_null(strstr(count, "\n1600,1600\n"));
    char *rates = stage_out(0, "sql --db '%s' \"SELECT step, value FROM v_points WHERE key='lr' AND step=801 AND "
                            "run=%d\"", stage.db, id);
    assert_non_null(strstr(rates, "\n801,5e-05"));
    free(rates);
    free(count);
    free(a);
    free(b);
    free(whole);
}

/* Killed before any checkpoint, and before it had begun: both begin anew and end as if nothing had been. */
static void a_run_killed_young_goes_on(void **state) {
    (void)state;
    const char *line = "--steps 1200 --lr 1e-4 --batch 20 --seeds 1,2 --workers 1";
    char *whole = weights_of(stage_train(&stage, 0, "--steps 1200 --lr 1e-4 --batch 20"));
    pid_t pid = start(line);
    stage_wait_step(&stage, 3, 0); /* it is there */
    stage_wait_step(&stage, 2, 3);
    kill(pid, SIGKILL);
    command_wait(pid, 10);
    expect_state(2, "interrupted");
    expect_state(3, "interrupted");
    char *list = stage_out(0, "runs --db '%s'", stage.db); /* its lines say why */
    assert_non_null(strstr(list, "ended unexpectedly"));
    free(list);
    char *left = xprintf("%s-files/2/last.safetensors.tmp-99", stage.db);
    struct err e = ERR_INIT;
    test_ok(file_write(left, "x", 1, &e), &e);
    for (int id = 2; id <= 3; id++) {
        struct command c;
        command_run(&c, NULL, "resume %d --db '%s' --json", id, stage.db);
        command_expect(&c, 0);
        assert_non_null(strstr(buf_text(&c.err), "restarts from the beginning"));
        json_t *run = command_json(&c, 1);
        assert_string_equal(stage_text(run, "state"), "finished");
        assert_true(!strcmp(stage_text(run, "weights_sha256"), whole) == (id == 2));
        json_decref(run);
        command_release(&c);
    }
    assert_false(file_exists(left));
    char *a = losses(1), *b = losses(2);
    assert_string_equal(a, b);
    char *said = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM event WHERE kind='differs'\"", stage.db);
    assert_non_null(strstr(said, "\n0\n"));
    free(said);
    free(a);
    free(b);
    free(left);
    free(whole);
}

/* ---- the ways a run ends ---- */

static void runs_end_as_they_are_called(void **state) {
    (void)state;
    struct rlimit usual, few, files;
    getrlimit(RLIMIT_NOFILE, &usual);
    few = usual;
    few.rlim_cur = 256;
    setrlimit(RLIMIT_NOFILE, &few);
    pid_t pid = start("--steps 10000000");
    setrlimit(RLIMIT_NOFILE, &usual);
    stage_wait_step(&stage, 1, 3);
    assert_int_equal(prlimit(pid, RLIMIT_NOFILE, NULL, &files), 0); /* a queued run holds a file each */
    assert_true(files.rlim_cur == (files.rlim_max < 65536 ? files.rlim_max : 65536));
    kill(pid, SIGKILL);
    assert_int_equal(command_wait(pid, 10), 128 + SIGKILL);
    expect_state(1, "interrupted");
    pid = start("--steps 10000000");
    stage_wait_step(&stage, 2, 3);
    kill(pid, SIGTERM);
    assert_int_equal(command_wait(pid, 20), 130);
    expect_state(2, "stopped");
    pid = start("--steps 10000000");
    stage_wait_step(&stage, 3, 3);
    kill(pid, SIGHUP); /* a closed terminal ends no run */
    json_t *v = stage_json("stop 3 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "state"), "stopped");
    json_decref(v);
    assert_int_equal(command_wait(pid, 20), 0);
    v = stage_train(&stage, 1, "--steps 20 --lr 1e30");
    assert_string_equal(stage_text(v, "state"), "failed");
    assert_true(!strncmp(stage_text(v, "reason"), "step ", 5));
    json_decref(v);
    v = stage_json("show 1 --db '%s' --json", stage.db);
    assert_true(json_integer_value(stage_at(v, "step")) >= 3);
    json_decref(v);
    stage_refused(2, "nothing to stop", "stop 1 --db '%s'", stage.db);
    char *list = stage_out(0, "runs state=running --db '%s' --json", stage.db);
    assert_string_equal(list, "[]\n");
    free(list);
    free(stage_out(0, "trash 1 2 3 4 --db '%s'", stage.db));
    list = stage_out(0, "runs --db '%s' --json", stage.db);
    assert_string_equal(list, "[]\n");
    free(list);
}

/* ---- resuming what has changed ---- */

static void checkpoint_unchanged(const char *path, const struct buf *before) {
    struct buf now = BUF_INIT;
    read_whole(path, &now);
    assert_int_equal(now.size, before->size);
    assert_memory_equal(now.data, before->data, now.size);
    buf_release(&now);
}

static void only_the_same_run_is_resumed(void **state) {
    (void)state;
    stop_midway("--steps 10000000", 1, 5);
    char *last = xprintf("%s-files/1/last.safetensors", stage.db);
    struct buf before = BUF_INIT, toy = BUF_INIT;
    read_whole(last, &before);
    read_whole(stage.toy, &toy);
    char *points = losses(1);

    stage_refused(2, "--steps: cannot be changed in a resumed run: found 20", "resume 1 --steps 20 --db '%s'", stage.db);
    stage_refused(2, "--batch: cannot be changed in a resumed run: found 4", "resume 1 --batch 4 --db '%s'", stage.db);
    stage_refused(2, "did you mean", "resume 1 --step 20 --db '%s'", stage.db);
    buf_puts(&toy, "cat sat\tpos\n");
    free(test_file(stage.folder, "toy.tsv", toy.data, toy.size));
    stage_refused(5, "toy.tsv", "resume 1 --db '%s'", stage.db);
    stage_refused(5, "changed since step", "resume 1 --db '%s'", stage.db);
    toy.size -= strlen("cat sat\tpos\n");
    char *letter = strstr(buf_text(&toy), "good film very very");
    *letter = 'm'; /* another word, the same length */
    free(test_file(stage.folder, "toy.tsv", toy.data, toy.size));
    stage_refused(5, "changed since step", "resume 1 --db '%s'", stage.db);
    remove(stage.toy);
    stage_refused(3, "toy.tsv", "resume 1 --db '%s'", stage.db);
    *letter = 'g';
    free(test_file(stage.folder, "toy.tsv", toy.data, toy.size));
    tiny_weights(stage.model, &(struct tiny){ .mul = 103 });
    stage_refused(5, "changed since step", "resume 1 --db '%s'", stage.db);
    tiny_weights(stage.model, NULL);

    checkpoint_unchanged(last, &before);
    char *again = losses(1);
    assert_string_equal(points, again);
    expect_state(1, "stopped");
    json_decref(stage_train(&stage, 0, "--steps 5"));
    stage_refused(2, "finished", "resume 2 --db '%s'", stage.db);
    free(points);
    free(again);
    free(last);
    buf_release(&toy);
    buf_release(&before);
}

/* ---- the order of rows ---- */

static int distinct(const double *v, int n) {
    int count = 0;
    for (int i = 0; i < n; i++) {
        bool seen = false;
        for (int k = 0; k < i; k++) seen = seen || fabs(v[k] - v[i]) < 1e-9;
        count += !seen;
    }
    return count;
}

static void read_losses(int id, double *out, int n) {
    char *text = losses(id), *rest = strchr(text, '\n');
    for (int i = 0; i < n; i++) {
        int step;
        if (!rest || sscanf(rest, "\n%d,%lf", &step, &out[i]) != 2 || step != i + 1) fail_msg("%s", text);
        rest = strchr(rest + 1, '\n');
    }
    free(text);
}

static void epochs_have_orders_of_their_own(void **state) {
    (void)state;
    char *rows = write_text("eight.tsv", "text\tlabel\nthe cat\tpos\ncat sat on\tneg\nsat\tpos\non the mat .\tneg\n"
                            "mat mat\tpos\ngood film\tneg\nbad\tpos\nnot very good film\tneg\n");
    double a[24], b[24], c[24];
    const char *more = "--batch 1 --lr 1e-30 --steps 24 --dropout 0";
    static const char *const tail[] = { "--seed 1 --workers 1", "--seed 1 --workers 2", "--seed 2" };
    for (int i = 0; i < 3; i++) {
        char *line = xprintf("train --model '%s' --train '%s' --text text --label label --method 'lora(r=2)' --db '%s' "
                             "%s %s", stage.model, rows, stage.db, more, tail[i]);
        free(stage_out(0, "%s", line));
        free(line);
    }
    read_losses(1, a, 24);
    read_losses(2, b, 24);
    read_losses(3, c, 24);
    assert_memory_equal(a, b, sizeof a);
    assert_int_not_equal(memcmp(a, c, sizeof a), 0);
    assert_int_equal(distinct(a, 24), 8);
    for (int epoch = 0; epoch < 3; epoch++) assert_int_equal(distinct(a + 8 * epoch, 8), 8);
    assert_true(memcmp(a, a + 8, 8 * sizeof *a) || memcmp(a, a + 16, 8 * sizeof *a));
    free(rows);
}

/* ---- numbers ---- */

static void the_loss_of_a_split_is_the_mean_of_its_rows(void **state) {
    (void)state;
    static const char *const labels[] = { "ham", "spam" };
    static const double bias[] = { 0, 2 };
    char *m = tiny_bert(stage.folder, "spam", &(struct tiny){ .outputs = 2, .labels = labels, .head_bias = bias });
    char *dev = write_text("spam.tsv", "text\tlabel\ngood film\tspam\nbad film\tspam\ncat\tspam\nmat\tspam\nsat\tham\n");
    for (int batch = 1; batch <= 5; batch++) {
        json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --batch %d --json", m, dev, batch);
        assert_float_equal(json_number_value(stage_at(v, "metrics.loss")), 0.526928, 5e-7);
        assert_float_equal(json_number_value(stage_at(v, "metrics.accuracy")), 0.8, 1e-12);
        assert_float_equal(json_number_value(stage_at(v, "metrics.f1_macro")), 4.0 / 9, 1e-12);
        assert_float_equal(json_number_value(stage_at(v, "f1.spam")), 8.0 / 9, 1e-12);
        assert_float_equal(json_number_value(stage_at(v, "f1.ham")), 0, 1e-12);
        assert_true(json_is_true(stage_at(v, "constant")) && json_is_true(stage_at(v, "as_majority")));
        assert_string_equal(stage_text(v, "positive"), "spam");
        json_decref(v);
    }
    json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --positive ham --json", m, dev);
    assert_string_equal(stage_text(v, "positive"), "ham");
    json_decref(v);
    stage_refused(2, "--positive eggs: unknown class", "eval --model '%s' --file '%s' --text text --label label --positive eggs", m, dev);
    free(m);
    free(dev);
}

static void nothing_prints_nan(void **state) {
    (void)state;
    json_decref(stage_train(&stage, 1, "--lr 1e30 --steps 20"));
    json_decref(stage_train(&stage, 1, "--lr 1e38 --clip 0 --steps 20"));
    json_decref(stage_train(&stage, 1, "--lr 3e38 --clip 0 --steps 20 --optimizer sgd"));
    for (int id = 1; id <= 3; id++) {
        expect_state(id, "failed");
        static const char *const verb[] = {
            "show 9 --json --db", "export 9 --to csv --db", "export 9 --to json --db", "show 9 --db",
            "sql 'SELECT * FROM v_points' --db", "sql --json 'SELECT * FROM v_points' --db",
            "runs --json --db", "render --screen detail --run 9 --db",
        };
        for (size_t i = 0; i < COUNT_OF(verb); i++) {
            char *line = xstrdup(verb[i]), *nine = strchr(line, '9');
            if (nine) *nine = (char)('0' + id);
            char *out = stage_out(0, "%s '%s'", line, stage.db);
            stage_no_nan(out);
            if (strstr(line, "json")) stage_json_lines(out);
            free(out);
            free(line);
        }
    }
    static const char *const labels[] = { "a", "b" };
    static const double bias[] = { 0, 3e38 };
    char *dev = write_text("one.tsv", "text\tlabel\ngood film\ta\n");
    char *big = tiny_bert(stage.folder, "big", &(struct tiny){ .outputs = 2, .labels = labels, .head_bias = bias });
    json_t *v = stage_json("eval --model '%s' --file '%s' --text text --label label --json", big, dev);
    assert_float_equal(json_number_value(stage_at(v, "metrics.loss")) / 3e38, 1, 1e-6);
    json_decref(v);
    char *huge = tiny_bert(stage.folder, "huge", &(struct tiny){ .outputs = 2, .labels = labels, .head_weight = 3e38 });
    struct command c;
    command_run(&c, NULL, "eval --model '%s' --file '%s' --text text --label label --json", huge, dev);
    if (c.status != 0 && c.status != 1) command_expect(&c, 1);
    stage_json_lines(buf_text(&c.out));
    stage_no_nan(buf_text(&c.out));
    command_release(&c);
    free(huge);
    free(big);
    free(dev);
}

/* ---- merging into halves ---- */

static void exports_of_halves_agree(void **state) {
    (void)state;
    static const enum tiny_type types[] = { TINY_BF16, TINY_F16 };
    for (int t = 0; t < 2; t++) {
        struct stage half = stage;
        half.model = tiny_bert(stage.folder, t ? "f16" : "bf16", &(struct tiny){ .type = types[t] });
        char *file = file_join(half.model, "model.safetensors");
        struct buf before = BUF_INIT, after = BUF_INIT;
        read_whole(file, &before);
        json_decref(stage_train(&half, 0, "--method 'lora(r=2,alpha=16)' --dropout 0 --precision f32 --steps 10"));
        char *to = xprintf("%s/out%d", stage.folder, t);
        free(stage_out(0, "export %d --db '%s' --to hf '%s'", t + 1, stage.db, to));
        char *a = stage_out(0, "predict %d --db '%s' --file '%s' --json", t + 1, stage.db, stage.toy);
        char *b = stage_out(0, "predict --model '%s' --file '%s' --json", to, stage.toy);
        char *la, *lb, *ra = a, *rb = b;
        int rows = 0;
        while ((la = strsep(&ra, "\n")) && (lb = strsep(&rb, "\n")) && *la) {
            json_t *x = json_loads(la, 0, NULL), *y = json_loads(lb, 0, NULL);
            assert_float_equal(json_number_value(stage_at(x, "probabilities.pos")),
                               json_number_value(stage_at(y, "probabilities.pos")), 1e-5);
            json_decref(x);
            json_decref(y);
            rows++;
        }
        assert_int_equal(rows, 20);
        read_whole(file, &after);
        assert_int_equal(before.size, after.size);
        assert_memory_equal(before.data, after.data, after.size);
        char *config = file_join(to, "config.json");
        buf_release(&after);
        read_whole(config, &after);
        assert_null(strstr(buf_text(&after), "float16"));
        free(config);
        buf_release(&before);
        buf_release(&after);
        free(a);
        free(b);
        free(to);
        free(file);
        free(half.model);
    }
}

/* ---- clocks, locales ---- */

static void times_are_utc(void **state) {
    (void)state;
    struct command c;
    char *line = stage_line(&stage, "--steps 10");
    command_run(&c, "TZ=UTC-14", "%s", line);
    command_expect(&c, 0);
    command_release(&c);
    command_run(&c, "TZ=UTC+12", "%s", line);
    command_expect(&c, 0);
    command_release(&c);
    struct command a, b;
    command_run(&a, "TZ=America/New_York", "runs --db '%s' --json", stage.db);
    command_run(&b, "TZ=UTC", "runs --db '%s' --json", stage.db);
    assert_string_equal(buf_text(&a.out), buf_text(&b.out));
    json_t *v = command_json(&a, 0); /* the newest first */
    json_t *second = json_array_get(v, 0), *first = json_array_get(v, 1);
    assert_int_equal(json_integer_value(stage_at(first, "id")), 1);
    assert_true(strcmp(stage_text(first, "created"), stage_text(second, "created")) < 0);
    assert_true(json_number_value(stage_at(first, "seconds")) >= 0);
    json_decref(v);
    command_release(&a);
    command_release(&b);
    free(line);
}

/* Seconds are the only points that differ between equal runs. */
static void drop_seconds(char *csv) {
    for (char *at; (at = strstr(csv, ",\"seconds\","));) {
        char *next = at + strcspn(at, "\n");
        while (at > csv && at[-1] != '\n') at--;
        memmove(at, next + (*next != '\0'), strlen(next + (*next != '\0')) + 1);
    }
}

static void numbers_have_points_in_every_locale(void **state) {
    (void)state;
    static const char numbers[] = "LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n";
    char *where = file_join(stage.folder, "locales");
    mkdir(where, 0700);
    /* All but the numbers is the system's own: a whole locale takes seconds to make. */
    free(test_file(where, "numbers", numbers, sizeof numbers - 1));
    char *made = xprintf("exec 2>/dev/null; cd '%s' && cp -rL /usr/lib/locale/C.utf8 de_DE && "
                         "{ localedef -c -i ./numbers -f ANSI_X3.4-1968 ./made >/dev/null; "
                         "cp made/LC_NUMERIC de_DE/; } && LOCPATH=\"$PWD\" LC_ALL=de_DE locale decimal_point | "
                         "grep -qx ,", where);
    int failed = system(made);
    free(made);
    if (failed) {
        free(where);
        test_skip("localedef cannot make a locale with decimal commas here");
    }
    char *setting[2] = { xprintf("LOCPATH=%s LC_ALL=de_DE", where), xstrdup("LC_ALL=C.UTF-8") };
    char *out[2][4];
    struct command c;
    for (int i = 0; i < 2; i++) {
        make(NULL);
        char *line = stage_line(&stage, "--lr 0.001 --method 'scaled-parallel-adapter(s=0.5)' --steps 5");
        command_run(&c, setting[i], "%s", line);
        command_expect(&c, 0);
        command_release(&c);
        free(line);
        static const char *const verb[] = { "export 1 --to csv --db", "predict 1 --text 'good film' --json --db",
                                            "show 1 --json --db", "runs --db" };
        for (int k = 0; k < 4; k++) {
            command_run(&c, setting[i], "%s '%s'", verb[k], stage.db);
            command_expect(&c, 0);
            out[i][k] = xstrdup(buf_text(&c.out));
            command_release(&c);
        }
    }
    drop_seconds(out[0][0]);
    drop_seconds(out[1][0]);
    assert_string_equal(out[0][0], out[1][0]);
    assert_string_equal(out[0][1], out[1][1]);
    for (int i = 0; i < 2; i++) {
        stage_json_lines(out[i][2]);
        assert_non_null(strstr(out[i][2], "\"lr\":0.001"));
        assert_non_null(strstr(out[i][2], "\"scale\":0.5"));
        assert_null(strstr(out[i][3], "0,"));
    }
    char *scores = write_text("scores.tsv", "text\tscore\ngood film\t2.6\nbad film\t2,6\n");
    command_run(&c, setting[0], "train --model '%s' --train '%s' --text text --label score --kind scores --db '%s'",
                stage.model, scores, stage.db);
    if (!c.status || !strstr(buf_text(&c.err), "2,6") || !strstr(buf_text(&c.err), "3"))
        fail_msg("%d %s", c.status, buf_text(&c.err));
    command_release(&c);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 4; k++) free(out[i][k]);
        free(setting[i]);
    }
    free(scores);
    free(where);
}

/* ---- texts from files ---- */

static void files_never_steer_the_terminal(void **state) {
    (void)state;
    static const char rows[] = "text\tlabel\ngood \x1b]0;X\x07" "film\tp\x1b[2Jos\nbad \xc2\x9b" "31mfilm\tneg\n";
    char *evil = test_file(stage.folder, "evil.tsv", rows, sizeof rows - 1);
    struct command c;
    command_run(&c, NULL, "train --model '%s' --train '%s' --dev '%s' --text text --label label --steps 2 --batch 2 "
                "--lr 1e-5 --note 'a\x1b]52;c;QUJD\x07" "b' --db '%s'", stage.model, evil, evil, stage.db);
    command_expect(&c, 0);
    assert_null(strchr(buf_text(&c.err), '\x1b'));
    assert_null(strstr(buf_text(&c.err), "\xc2\x9b"));
    command_release(&c);
    static const char *const line[] = {
        "show 1 --db", "runs --db", "eval 1 --wrong - --db", "predict 1 --text 'a\x1b[2J\xc2\x9b' --db",
        "render --screen runs --db", "render --screen detail --db", "render --screen train --ansi --db",
        "show '\x1b[2J' --db", "runs 'x\x1b[2J=1' --db", "show 1 --json --db", "eval 1 --json --db",
    };
    for (size_t i = 0; i < COUNT_OF(line); i++) {
        command_run(&c, NULL, "%s '%s'", line[i], stage.db);
        for (int k = 0; k < 2; k++) {
            const char *text = buf_text(k ? &c.err : &c.out);
            static const char *const bad[] = { "\x1b]", "\x1b[2J", "\xc2\x9b", "\x07" };
            for (size_t b = 0; b < COUNT_OF(bad); b++)
                if (strstr(text, bad[b])) fail_msg("%s prints a control sequence: %s", line[i], text);
        }
        command_release(&c);
    }
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "note"), "a\x1b]52;c;QUJD\x07" "b");
    json_decref(v);
    free(evil);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(labels_are_matched_by_name, make),
        cmocka_unit_test_setup(equal_seeds_give_equal_runs, make),
        cmocka_unit_test_setup(a_resumed_run_ends_the_same, make),
        cmocka_unit_test_setup(a_run_killed_young_goes_on, make),
        cmocka_unit_test_setup(runs_end_as_they_are_called, make),
        cmocka_unit_test_setup(only_the_same_run_is_resumed, make),
        cmocka_unit_test_setup(epochs_have_orders_of_their_own, make),
        cmocka_unit_test_setup(the_loss_of_a_split_is_the_mean_of_its_rows, make),
        cmocka_unit_test_setup(nothing_prints_nan, make),
        cmocka_unit_test_setup(exports_of_halves_agree, make),
        cmocka_unit_test_setup(times_are_utc, make),
        cmocka_unit_test_setup(numbers_have_points_in_every_locale, make),
        cmocka_unit_test_setup(files_never_steer_the_terminal, make),
    };
    return cmocka_run_group_tests(tests, NULL, stage_drop);
}
