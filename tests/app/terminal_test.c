/* The real program in a real terminal (tmux, on a server of its own). */
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "store/store.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"

static char *socket_path, *task, *petri; /* petri: the program by its full path */
static bool have_tmux;
static int databases;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Output of tmux with these words; caller frees. */
static char *tmux(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *tmux(const char *format, ...) {
    va_list args;
    char words[4096];
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    char *line = xprintf("tmux -S '%s' -f /dev/null %s 2>/dev/null", socket_path, words);
    FILE *f = popen(line, "r");
    struct buf out = BUF_INIT;
    char chunk[4096];
    size_t n;
    while (f && (n = fread(chunk, 1, sizeof chunk, f))) buf_add(&out, chunk, n);
    if (f) pclose(f);
    char *text = xstrdup(buf_text(&out));
    buf_release(&out);
    free(line);
    return text;
}

static void type(const char *keys) { free(tmux("send-keys -t t %s", keys)); }

static bool shows(const char *part) {
    char *screen = tmux("capture-pane -p -t t");
    bool found = strstr(screen, part) != NULL;
    free(screen);
    return found;
}

/* Waits until the screen shows (or no longer shows) `part`; fails after 15 seconds (TEST_PATIENCE times). */
static double await(const char *part, bool there) {
    double from = now();
    while (shows(part) != there) {
        if (now() - from > 15 * TEST_PATIENCE) {
            char *screen = tmux("capture-pane -p -t t");
            fail_msg("%s \"%s\" on the screen:\n%s", there ? "no" : "still", part, screen);
        }
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    return now() - from;
}

/* A shell in a window of 80 x 24; `locale` and the program's folders are set.  (The terminal
 * library keeps its tables to the end, which a leak checker would print onto the screen.) */
static void open_shell(const char *locale) {
    static int servers; /* one that ends may still hold its socket */
    free(tmux("kill-server"));
    free(socket_path);
    socket_path = xprintf("%s/tmux%d", stage.folder, ++servers);
    free(tmux("new-session -d -s t -x 80 -y 24 \"env ASAN_OPTIONS=detect_leaks=0 LC_ALL=%s XDG_DATA_HOME='%s/data%d' PS1='ready> ' "
              "bash --norc --noprofile -i\"", locale, stage.folder, databases));
    await("ready>", true);
}

static void start(const char *before, const char *options) {
    char *line = xprintf("\"%s '%s' --model '%s' --task '%s' --db '%s' %s; echo left=\\$?\" Enter", before, petri,
                         stage.model, task, stage.db, options);
    type(line);
    free(line);
}

static void first_page(void) {
    start("", "");
    await("Enter    train", true);
}

static int make(void **state) {
    (void)state;
    if (!stage.folder) {
        stage_init(&stage);
        socket_path = xstrdup("/nowhere");
        task = file_join(stage.folder, "toys");
        struct err e = ERR_INIT;
        if (file_make_folder(task, &e)) return -1;
        struct buf rows = BUF_INIT;
        if (file_read(stage.toy, 1 << 20, &rows, &e)) return -1;
        free(test_file(task, "train.tsv", rows.data, rows.size));
        free(test_file(task, "dev.tsv", rows.data, rows.size));
        buf_release(&rows);
        petri = realpath(getenv("PETRI_BIN") ? getenv("PETRI_BIN") : "./petri", NULL);
        have_tmux = !system("tmux -V >/dev/null 2>&1");
        unsetenv("TMUX");
    }
    free(stage.db);
    stage.db = xprintf("%s/%d.db", stage.folder, ++databases);
    if (have_tmux) open_shell("C.UTF-8");
    return 0;
}

static int close_shell(void **state) {
    (void)state;
    if (have_tmux) free(tmux("kill-server"));
    return 0;
}

static int drop(void **state) {
    (void)state;
    free(socket_path);
    free(task);
    free(petri);
    stage_release(&stage);
    return 0;
}

static void need_tmux(void) {
    if (!have_tmux) test_skip("tmux is not installed");
}

/* The shell's line settings, told by `stty -a`. */
static char *line_settings(void) {
    static int told;
    char *path = xprintf("%s/settings%d", stage.folder, ++told), *done = xprintf("told %d\n", told);
    char *line = xprintf("\"clear; stty -a > '%s'; echo to'l'd %d\" Enter", path, told);
    type(line);
    await(done, true);
    struct buf b = BUF_INIT;
    struct err e = ERR_INIT;
    test_ok(file_read(path, 4096, &b, &e), &e);
    char *text = xstrdup(buf_text(&b));
    buf_release(&b);
    free(line);
    free(done);
    free(path);
    return text;
}

/* The shell is back as it was: its settings, its cursor, its own screen. */
static void expect_restored(const char *before) {
    char *flags = tmux("display-message -p -t t '#{cursor_flag} #{alternate_on} #{keypad_flag}'");
    assert_string_equal(flags, "1 0 0\n");
    free(flags);
    char *after = line_settings();
    assert_string_equal(before, after);
    free(after);
}

static json_t *runs(void) { return stage_json("runs --db '%s' --json", stage.db); }

static size_t run_count(void) {
    json_t *list = runs();
    size_t n = json_array_size(list);
    json_decref(list);
    return n;
}

/* Another process trains run `id`, which is long. */
static pid_t begin_a_long_run(int id, const char *steps) {
    char *line = stage_line(&stage, "");
    char *whole = xprintf("%s --batch 20 --steps %s", line, steps);
    char *batch = strstr(whole, "--batch 2 "); /* the kit's own */
    memset(batch, ' ', strlen("--batch 2 "));
    pid_t pid = command_start(stage.folder, "%s", whole);
    stage_wait_step(&stage, id, 1);
    free(whole);
    free(line);
    return pid;
}

/* Leaves run 1, long, stopped after some steps. */
static void leave_a_long_run(const char *steps) {
    pid_t pid = begin_a_long_run(1, steps);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    command_wait(pid, 20);
}

static void await_state(int id, const char *wanted) {
    double from = now();
    for (;;) {
        json_t *v = stage_json("show %d --db '%s' --json", id, stage.db);
        bool there = !strcmp(stage_text(v, "state"), wanted);
        json_decref(v);
        if (there) return;
        if (now() - from > 30 * TEST_PATIENCE) fail_msg("run %d is not %s", id, wanted);
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* ---- the first minute ---- */

static void the_first_minute(void **state) {
    (void)state;
    need_tmux();
    char *before = line_settings();
    first_page();
    type("Enter");
    double first = await("\xe2\x94\xa4", true); /* the axis of a curve */
    if (first > 2) fail_msg("the curve came after %.1f s", first);
    await("60/60", true);
    type("1");
    await("function", true);
    type("P"); /* a preset, then one axis of it */
    await("bitfit", true);
    type("Escape");
    await("Run ", true);
    type("l l h j Enter");
    await("#2", true);
    type("3");
    await("accuracy", true);
    double from = now();
    while (run_count() < 2 && now() - from < 10) nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    await_state(1, "finished");
    await_state(2, "finished");
    json_t *list = runs();
    assert_int_equal(json_array_size(list), 2);
    const char *a = stage_text(json_array_get(list, 0), "method"), *b = stage_text(json_array_get(list, 1), "method");
    assert_string_not_equal(a, b);
    json_decref(list);
    await(" 2  finished", true);
    await(" 1  finished", true);
    type("g d");
    await(" 2  finished", false);
    assert_int_equal(run_count(), 1);
    type("u");
    await(" 2  finished", true);
    assert_int_equal(run_count(), 2);
    type("Enter"); /* its page */
    await("numbers", true);
    type("Escape");
    await("numbers", false);
    type("C");
    await("function", true);
    type("q");
    await("left=0", true);
    expect_restored(before);
    free(before);
}

/* ---- sizes ---- */

static void any_size_will_do(void **state) {
    (void)state;
    need_tmux();
    leave_a_long_run("100000000");
    start("", "");
    await("Compose", true);
    type("3");
    await(" 1  stopped", true);
    type("R");
    await_state(1, "running");
    type("2");
    await("#1", true);
    static const int size[][2] = { { 80, 24 }, { 20, 5 }, { 1, 1 }, { 200, 60 }, { 10, 3 }, { 300, 100 }, { 80, 2 } };
    for (size_t i = 0; i < COUNT_OF(size); i++) free(tmux("resize-window -t t -x %d -y %d", size[i][0], size[i][1]));
    unsigned seed = 7;
    for (int i = 0; i < 100; i++) {
        seed = seed * 1103515245u + 12345u;
        free(tmux("resize-window -t t -x %u -y %u", 1 + (seed >> 16) % 200, 1 + (seed >> 8) % 60));
        if (i % 10 == 0) type("1 3 2");
    }
    free(tmux("resize-window -t t -x 20 -y 5"));
    type("2");
    await("loss", true);
    free(tmux("resize-window -t t -x 200 -y 60"));
    await("loss", true);
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(v, "state"), "running");
    json_decref(v);
    char *lost = stage_out(0, "sql --db '%s' \"SELECT max(step) = count(*) FROM v_points WHERE run=1 AND key='loss'\"",
                           stage.db);
    assert_non_null(strstr(lost, "\n1\n"));
    free(lost);
    free(tmux("resize-window -t t -x 80 -y 24"));
    await("loss", true);
    char *pid = tmux("display-message -p -t t '#{pane_pid}'");
    char *kill = xprintf("pkill -TERM -P %d", atoi(pid));
    assert_int_equal(system(kill), 0);
    await("left=130", true);
    await_state(1, "stopped");
    free(kill);
    free(pid);
}

/* ---- leaving ---- */

static void every_way_out_restores_the_terminal(void **state) {
    (void)state;
    need_tmux();
    char *before = line_settings();
    static const char *const how[] = { "q", "C-c", "TERM", "C-z" };
    for (size_t i = 0; i < COUNT_OF(how); i++) {
        first_page();
        if (!strcmp(how[i], "TERM")) {
            char *pid = tmux("display-message -p -t t '#{pane_pid}'");
            char *kill = xprintf("pkill -TERM -P %d", atoi(pid));
            assert_int_equal(system(kill), 0);
            await("left=130", true);
            free(kill);
            free(pid);
        } else {
            type(how[i]);
            await(!strcmp(how[i], "C-z") ? "Stopped" : "left=0", true);
        }
        expect_restored(before);
        if (strcmp(how[i], "C-z")) continue;
        type("fg Enter");
        await("Enter    train", true);
        type("q");
        await("left=0", false);
        await("ready>", true);
        expect_restored(before);
    }
    free(before);
}

static void a_closed_terminal_ends_no_run(void **state) {
    (void)state;
    need_tmux();
    leave_a_long_run("15000");
    start("", "");
    await("Compose", true);
    type("3");
    await("stopped", true);
    type("R");
    await_state(1, "running");
    free(tmux("kill-server"));
    await_state(1, "finished");
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(v, "step")), 15000);
    json_decref(v);
}

/* ---- terminals ---- */

static void other_terminals(void **state) {
    (void)state;
    need_tmux();
    static const struct {
        const char *set, *locale;
        bool starts;
    } kind[] = {
        { "TERM=vt100", "C.UTF-8", true },   { "TERM=xterm", "C.UTF-8", true },
        { "TERM=linux", "C.UTF-8", true },   { "TERM=nonsense", "C.UTF-8", false },
        { "env -u TERM", "C.UTF-8", false }, { "NO_COLOR=1", "C.UTF-8", true },
        { "", "C", true },                   { "LINES=7 COLUMNS=9", "C.UTF-8", true },
    };
    for (size_t i = 0; i < COUNT_OF(kind); i++) {
        open_shell(kind[i].locale);
        char *path = xprintf("%s/bytes%zu", stage.folder, i), *before = line_settings();
        free(tmux("pipe-pane -t t \"cat > '%s'\"", path));
        start(kind[i].set, "");
        if (kind[i].starts) {
            await("Enter    train", true);
            type("1");
            await("function", true);
            type("? q q");
            await("left=0", true);
        } else {
            await("petri: ", true);
            await("left=", true);
            assert_false(shows("left=0"));
        }
        free(tmux("pipe-pane -t t"));
        struct buf b = BUF_INIT;
        struct err e = ERR_INIT;
        test_ok(file_read(path, 1 << 24, &b, &e), &e);
        const char *bytes = buf_text(&b);
        if (!strcmp(kind[i].locale, "C"))
            for (size_t k = 0; k < b.size; k++) assert_in_range((unsigned char)b.data[k], 0, 127);
        if (strstr(kind[i].set, "NO_COLOR")) {
            assert_null(strstr(bytes, "\x1b[38;"));
            assert_null(strstr(bytes, "\x1b[31m"));
        }
        buf_release(&b);
        expect_restored(before);
        free(before);
        free(path);
    }
}

static void a_dumb_terminal_is_told(void **state) {
    (void)state;
    need_tmux();
    start("TERM=dumb", "");
    await("left=", true);
    assert_false(shows("left=0"));
    await("petri: ", true);
    struct command c;
    command_run(&c, NULL, "--db '%s'", stage.db); /* no terminal at all */
    assert_int_not_equal(c.status, 0);
    assert_true(!strncmp(buf_text(&c.err), "petri: ", 7) && !strchr(buf_text(&c.err), '\x1b') && !c.out.size);
    command_release(&c);
}

/* ---- keys typed ahead ---- */

static void await_runs(size_t wanted) {
    double from = now();
    size_t there;
    while ((there = run_count()) != wanted) {
        if (now() - from > 15 * TEST_PATIENCE)
            fail_msg("%zu runs, not %zu:\n%s", there, wanted, tmux("capture-pane -p -t t"));
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* Undo that is typed before the trash has answered undoes what was typed before it. */
static void undo_can_be_typed_ahead(void **state) {
    (void)state;
    need_tmux();
    for (int i = 0; i < 3; i++) json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 3  finished", true);
    /* one after the other, and all at once, so that none is answered before the last is typed */
    for (int i = 0; i < 5; i++) type("d u");
    type("d");
    await_runs(2);
    type("u");
    await_runs(3);
    await(" 3  finished", true);
    type("d u d u d u d u d");
    await_runs(2);
    type("d u u");
    await_runs(3);
    type("C-r");
    await_runs(2);
    type("u");
    await_runs(3);
    type("q");
    await("left=0", true);
}

/* What a message offers works: the key that takes a move back, resume, stopping a run that
 * another process trains. */
static void messages_offer_what_works(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    pid_t pid = begin_a_long_run(2, "100000000");
    start("", "");
    await("Compose", true);
    type("3");
    await(" 1  finished", true);
    type("Enter"); /* the page of the newest, of another process */
    await("numbers trained", true);
    type("K");
    await("stop #2?", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes nothing typed ahead */
    type("y");
    await("in another process", true);
    await_state(2, "stopped");
    command_wait(pid, 20);
    await("stopped", true); /* the page moves by itself */
    type("Escape");
    await(" 1  finished", true);
    type("j");
    type("\":resume\" Enter");
    await("nothing is left to resume", true);
    type("d");
    await("u brings back", true);
    type("u");
    await("restored; ^r puts back", true);
    type("C-r");
    await("u brings back", true);
    type("V");
    await(" 1  finished", true);
    type("d");
    await("restored; u puts back", true);
    assert_int_equal(run_count(), 2);
    type("q");
    await("left=0", true);
}

/* ---- pastes ---- */

static void a_paste_is_no_command(void **state) {
    (void)state;
    need_tmux();
    for (int i = 0; i < 3; i++) json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    type("3");
    await(" 3  finished", true);
    char *text = test_file(stage.folder, "paste", "ddd\n:purge\n3\nKy\nqq", 18);
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    type("g");
    await(" 3  finished", true);
    assert_int_equal(run_count(), 3);
    free(test_file(stage.folder, "paste", "\x1b[201~ddd", 9));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    type("g");
    await(" 3  finished", true);
    type("/");
    free(test_file(stage.folder, "paste", "lora\nddd", 8));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -p -b p -t t"));
    await("lora", true);
    type("Escape Escape");
    type("3");
    await("Runs", true);
    /* without marks a paste is typing: all of it can be undone, nothing is deleted */
    free(test_file(stage.folder, "paste", "dddKy", 5));
    free(tmux("load-buffer -b p '%s'", text));
    free(tmux("paste-buffer -b p -t t"));
    double from = now();
    json_t *all;
    for (;;) {
        all = stage_json("sql --json --db '%s' 'SELECT count(*) AS n FROM run'", stage.db);
        assert_int_equal(json_integer_value(stage_at(all, "n")), 3);
        json_decref(all);
        if (run_count() < 3 || now() - from > 5) break;
    }
    type("Escape u u u u");
    await_runs(3);
    type("q");
    await("left=0", true);
    free(text);
}

/* What a database holds is shown and never obeyed. */
static void the_database_sends_no_orders(void **state) {
    (void)state;
    need_tmux();
    char *line = xprintf("\"clear; '%s' sql --db '%s' 'SELECT 7||char(27)||char(91)||8' \" Enter", petri, stage.db);
    struct err e = ERR_INIT;
    struct store *s;
    test_ok(store_open(&s, stage.db, STORE_WRITE, &e), &e);
    test_ok(store_close(s, &e), &e);
    type(line);
    await("7\xe2\x90\x9b[8", true);
    free(line);
}

/* The command that a list names is one. */
static void lists_name_their_command(void **state) {
    (void)state;
    need_tmux();
    static const char *const name[] = { "models", "tasks" };
    first_page();
    for (size_t i = 0; i < COUNT_OF(name); i++) {
        char *said = xprintf("(:%s ", name[i]), *typed = xprintf("\":%s\" Enter", name[i]);
        type(i ? "T j Enter" : "T Enter");
        await(said, true);
        type("Escape");
        await(said, false);
        type(typed);
        await(said, true);
        type("Escape");
        await(said, false);
        free(said);
        free(typed);
    }
}

/* Pictures say what they show, and none takes another's place. */
static void pictures_are_new_files(void **state) {
    (void)state;
    need_tmux();
    char *folder = file_join(stage.folder, "pictures"), *go = xprintf("mkdir '%s'; cd '%s';", folder, folder);
    start(go, "");
    await("Enter    train", true);
    type("7");
    await("silhouette", true);
    type("e");
    await("written: petri-map-tiny.svg", true);
    type("e");
    await("written: petri-map-tiny-2.svg", true);
    type("6");
    await("layers: model", true);
    type("e");
    await("written: petri-heatmap-tiny-", true);
    type("q");
    await("left=0", true);
    free(go);
    free(folder);
}

/* Walks the options with l until `shown` stands there, and types a value. */
static void set_option(const char *shown, const char *value) {
    for (int i = 0; i < 80 && !shows(shown); i++) {
        type("l");
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    await(shown, true);
    char *typed = xprintf("Enter \"%s\" Enter", value);
    type(typed);
    free(typed);
}

/* Three tasks from Compose to Train, Runs, a run's page and Map, by keys, while they are trained. */
static void several_tasks_by_keys(void **state) {
    (void)state;
    need_tmux();
    char *go = xprintf("cd '%s'; cp -r toys toys2; cp -r toys toys3;", stage.folder);
    start(go, "");
    await("Enter    train", true);
    type("1 BTab");
    set_option("   epochs  3 ", "100000");
    set_option("   tasks  none", "toys,toys2,toys3");
    await("3 tasks 60 / 60 rows", true);
    await("--tasks", true);
    type("R");
    await(" of batch ", true);
    await("33.3 %", true);
    type("b");
    await("loss of toys rows", true);
    type("b b b");
    await("loss by task", true);
    type("3 b");
    await("toys2", true);
    type("Enter");
    await("at the kept checkpoint", true);
    type("2 K");
    await("keep a checkpoint", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes no key typed ahead of it */
    type("y");
    await("stopped", true);
    type("7");
    await("toys, task 1 of 3", true);
    type("b");
    await("toys2, task 2 of 3", true);
    type("q");
    await("left=0", true);
    free(go);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_minute, make, close_shell),
        cmocka_unit_test_setup_teardown(any_size_will_do, make, close_shell),
        cmocka_unit_test_setup_teardown(several_tasks_by_keys, make, close_shell),
        cmocka_unit_test_setup_teardown(every_way_out_restores_the_terminal, make, close_shell),
        cmocka_unit_test_setup_teardown(a_closed_terminal_ends_no_run, make, close_shell),
        cmocka_unit_test_setup_teardown(other_terminals, make, close_shell),
        cmocka_unit_test_setup_teardown(a_dumb_terminal_is_told, make, close_shell),
        cmocka_unit_test_setup_teardown(undo_can_be_typed_ahead, make, close_shell),
        cmocka_unit_test_setup_teardown(messages_offer_what_works, make, close_shell),
        cmocka_unit_test_setup_teardown(a_paste_is_no_command, make, close_shell),
        cmocka_unit_test_setup_teardown(the_database_sends_no_orders, make, close_shell),
        cmocka_unit_test_setup_teardown(lists_name_their_command, make, close_shell),
        cmocka_unit_test_setup_teardown(pictures_are_new_files, make, close_shell),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
