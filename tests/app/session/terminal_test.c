/* The real program in a real terminal: the first minute, sizes, leaving, kinds of terminals. */
#include <signal.h>

#include "app/verbs/args.h"
#include "tests/app/session/terminal.h"
#include "views/ui_parts.h"

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

/* Leaves run 1, long, stopped after some steps. */
static void leave_a_long_run(const char *steps) {
    pid_t pid = begin_a_long_run(1, steps);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    command_wait(pid, 20);
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
    await("Prefixes and prompts", true);
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
    await("trainable parameters", true);
    type("Escape");
    await("trainable parameters", false);
    type("C");
    await("function", true);
    type("q");
    await("left=0", true);
    expect_restored(before);
    free(before);
}

/* Trains an installed petri's own model on its own task with nothing fetched and an empty home: the first page estimates the time,
 * and the run learns. */
static void the_first_minute_without_a_network(void **state) {
    (void)state;
    need_tmux();
    test_needs("assets/models/petri-mini/model.safetensors");
    char *tasks = test_path("assets/tasks/sections"), *at = file_join(stage.folder, "alone"), *mini = test_path("assets/models/petri-mini");
    char *line = xprintf("mkdir -p '%s/bin' '%s/home' '%s/share/petri/models' '%s/share/petri/tasks' && cp '%s' '%s/bin/petri' && "
                         "cp -r '%s' '%s/share/petri/models/petri-mini' && cp -r '%s' '%s/share/petri/tasks'",
                         at, at, at, at, petri, at, mini, at, tasks, at);
    assert_int_equal(system(line), 0);
    free(line);
    free(mini);
    line = xprintf("\"cd '%s/home' && env -u XDG_DATA_HOME -u HF_HUB_CACHE -u HF_HOME -u XDG_CACHE_HOME HOME='%s/home' '%s/bin/petri'; "
                   "echo left=\\$?\" Enter", at, at, at);
    type(line);
    free(line);
    await("train a LoRA on sections", true);
    await("petri-mini and sections are built in; `petri fetch` downloads more", true);
    await("petri-mini \xe2\x9c\x93", true);
    await("s on this machine", true);
    type("T"); /* what is here, and what would bring the others */
    await("Enter lists the available tasks", true);
    type("Enter");
    await("all-MiniLM-L6-v2", true);
    await("not downloaded yet: petri fetch", true);
    type("Escape");
    await("train a LoRA on sections", true);
    type("Enter");
    await("60/60", true);
    type("3");
    await(" 1  finished", true);
    type("q");
    await("left=0", true);
    json_t *list = stage_json("runs --db '%s/home/.local/share/petri/petri.db' --json", at);
    assert_int_equal(json_array_size(list), 1);
    json_t *first = json_array_get(list, 0);
    assert_string_equal(stage_text(first, "model"), "petri-mini");
    double best = json_number_value(json_object_get(json_object_get(first, "best"), "value"));
    assert_true(best > 0.4); /* eight sections, the most frequent of them 14% */
    json_decref(list);
    static const char *const shown[][2] = { { "first", "train a LoRA on sections" }, { "compose", "reviews" } };
    for (size_t i = 0; i < COUNT_OF(shown); i++) { /* with reviews fetched, only the first page stays on sections */
        line = xprintf("cd '%s' && cp -r -n '%s' share/petri/tasks/reviews && "
                       "env -u XDG_DATA_HOME HOME='%s/home' bin/petri render --screen %s | grep -q '%s'",
                       at, task, at, shown[i][0], shown[i][1]);
        if (system(line)) fail_msg("%s", line);
        free(line);
    }
    free(at);
    free(tasks);
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

/* Leaves while runs train, and lets them go on. */
static void leave_them(void) {
    type("q");
    await("y quit", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes no key typed ahead of it */
    type("y");
    await("left=0", true);
}

static char *weights_of(int run) {
    json_t *v = stage_json("show %d --db '%s' --json", run, stage.db);
    char *sha256 = xstrdup(stage_text(v, "weights_sha256"));
    json_decref(v);
    return sha256;
}

/* The shell comes back while they train, its end is not theirs, and their weights are those of runs that nobody left: of the
 * one that trained, of which no file is kept, and of the one that was queued. */
static void runs_go_on_after_leaving(void **state) {
    (void)state;
    need_tmux();
    char *before = line_settings(), *options[2], *weights[4];
    start("", "--workers 1");
    await("Enter    train", true);
    for (int i = 0; i < 2; i++) {
        options[i] = xprintf("--model '%s' --task '%s' --method lora --batch 2 --max-length 16 --eval-rows 4 --steps %d --seed %d --keep %s",
                             stage.model, task, i ? 40 : 20000, 7 + i, i ? "best" : "none");
        char *line = xprintf("\":train %s\" Enter", options[i]);
        type(line);
        free(line);
        await_state(1, "running");
    }
    await_state(2, "queued");
    leave_them();
    await("training continues in the background: 2 runs", true);
    expect_restored(before);
    await_state(1, "running");
    type("exit Enter");
    await_state(1, "finished");
    await_state(2, "finished");
    for (int i = 0; i < 2; i++) free(stage_out(0, "train --workers 1 --db '%s' %s", stage.db, options[i]));
    for (int i = 0; i < 4; i++) weights[i] = weights_of(i + 1);
    assert_string_equal(weights[0], weights[2]);
    assert_string_equal(weights[1], weights[3]);
    for (int i = 0; i < 2; i++) free(options[i]);
    for (int i = 0; i < 4; i++) free(weights[i]);
    free(before);
}

/* And `petri stop` ends the process that they went on in; so does a signal to the one that the shell waits for, and where
 * that is killed the runs go on. */
static void runs_left_behind_can_be_stopped(void **state) {
    (void)state;
    need_tmux();
    leave_a_long_run("100000000");
    for (int i = 0; i < 3; i++) {
        start("", "");
        await("Compose", true);
        type("3");
        await(" 1  stopped", true);
        type("R");
        await_state(1, "running");
        char *pid = tmux("display-message -p -t t '#{pane_pid}'"), *kill = xprintf("pkill -%s -P %d", i == 1 ? "TERM" : "KILL", atoi(pid));
        if (!i) leave_them();
        else assert_int_equal(system(kill), 0);
        if (i) await(i == 1 ? "left=130" : "left=137", true);
        if (i != 1) await_state(1, "running");
        free(stage_out(i == 1 ? 2 : 0, "stop 1 --db '%s'", stage.db));
        await_state(1, "stopped");
        double from = now();
        while (left_behind(0) > 1) { /* tmux, whose words name it, too */
            if (now() - from > 15 * TEST_PATIENCE) fail_msg("a process is left");
            nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
        }
        free(pid);
        free(kill);
        type("reset Enter");
        await("left=", false);
    }
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

/* A sweep goes on with all that it lacks, not with the runs alone that were begun. */
static void a_closed_terminal_ends_no_sweep(void **state) {
    (void)state;
    need_tmux();
    first_page();
    char *line = xprintf("\":sweep --model '%s' --task '%s' --method bitfit --seeds 1,2,3,4,5,6 --steps 400 --batch 2 --max-length 16 "
                         "--eval-rows 4\" Enter", stage.model, task);
    type(line);
    free(line);
    await(" of 6 runs", true);
    free(tmux("kill-server"));
    await_state(6, "finished");
}

/* Where the setting says so runs stop with a checkpoint, also when no signal tells of it. */
static void a_lost_terminal_may_stop_runs(void **state) {
    (void)state;
    need_tmux();
    leave_a_long_run("100000000");
    char *set = xprintf("mkdir -p '%s/conf/petri'; echo hangup = stop >'%s/conf/petri/config'; trap '' HUP; XDG_CONFIG_HOME='%s/conf'",
                        stage.folder, stage.folder, stage.folder);
    start(set, "");
    free(set);
    await("Compose", true);
    type("3");
    await("stopped", true);
    type("R");
    await_state(1, "running");
    free(tmux("kill-server"));
    await_state(1, "stopped");
    json_t *v = stage_json("show 1 --db '%s' --json", stage.db);
    assert_true(json_integer_value(stage_at(v, "step")) > 1);
    json_decref(v);
}

/* ---- from another terminal ---- */

/* It is there before the history is, follows what begins, changes nothing, and stays when the run is over. */
static void a_run_is_watched(void **state) {
    (void)state;
    need_tmux();
    char *line = xprintf("\"%s watch --db '%s'; echo left=\\$?\" Enter", petri, stage.db);
    type(line);
    free(line);
    await("waiting for the first run", true);
    pid_t pid = begin_a_long_run(1, "400000");
    await("running (other process)", true);
    await("\xe2\x94\xa4", true);
    type("K");
    await("stop #1?", true);
    nanosleep(&(struct timespec){ 0, 700000000 }, NULL); /* what is typed ahead of a question is no answer */
    type("y");
    await("read-only: nothing can be", true);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    command_wait(pid, 20);
    await("stopped", true);
    type("3");
    await(" 1  stopped", true);
    type("d");
    await("read-only: nothing can be", true);
    assert_int_equal(run_count(), 1);
    type("W");
    await("jobs ", true);
    await("stopped", true);
    type("q");
    await("left=0", true);
}

/* What another process does with a run shows on every screen by itself: on Compose, Train, Runs and the run's page; and a
 * run that is stopped keeps its row and its curves. */
static void a_run_of_another_petri_is_followed(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "");
    await("Compose", true);
    pid_t pid = begin_a_long_run(2, "100000000");
    type("2");
    await("running (other process)", true);
    await("#2 ", true);
    type("1");
    await("function", true);
    kill(pid, SIGKILL);
    command_wait(pid, 20);
    await("run #2 is interrupted", true);
    type("3");
    await(" 2  interrupted", true);
    type("g Enter");
    await("trainable parameters", true);
    await("interrupted", true);
    pid = command_start(stage.folder, "resume 2 --db '%s'", stage.db);
    await("interrupted", false);
    await("running", true);
    type("2 K");
    await("stop #2?", true);
    nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes no key typed ahead of it */
    type("y");
    await("run #2 is stopped", true);
    command_wait(pid, 20);
    json_t *v = stage_json("show 2 --db '%s' --json", stage.db);
    char *step = xprintf("%lld/", (long long)json_integer_value(stage_at(v, "step")));
    await(step, true);
    await("#2 ", true);
    json_decref(v);
    free(step);
    type("q");
    await("left=0", true);
}

/* A run whose process was killed is told at the next start, once. */
static void an_interrupted_run_is_told(void **state) {
    (void)state;
    need_tmux();
    pid_t pid = begin_a_long_run(1, "15000");
    kill(pid, SIGKILL);
    command_wait(pid, 20);
    start("", "");
    await("run #1 was interrupted after the last session", true);
    type("q");
    await("left=0", true);
    type("clear Enter");
    start("", "");
    await("Compose", true);
    assert_false(shows("after the last session"));
    type("q");
    await("left=0", true);
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
        if (strstr(kind[i].set, "linux")) assert_non_null(strstr(bytes, "[36m")); /* the console is black */
        if (!strcmp(kind[i].locale, "C") || strstr(kind[i].set, "linux")) /* and its font has few signs */
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

/* A prompt, which begins with why: commands one a line, each as the command line has it. */
static void a_dumb_terminal_has_a_prompt(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    start("TERM=dumb", "");
    await("cannot position the cursor", true);
    await("petri>", true);
    type("\"runs state=finished\" Enter");
    await("finished", true);
    type("\":go help\" Enter");
    await("quit (asks only if runs are training)", true);
    type("\"watch 1\" Enter");
    await("step 2  loss", true);
    await("run 1 is finished at step 2", true);
    type("\"trash 1\" Enter");
    await("petri>", true);
    const char *name, *help;
    for (int i = 0; ui_command_at(i, &name, &help); i++) { /* the screens' own commands do the same here, or say what does */
        if (verb_find(name) || !strcmp(name, "quit") || !strcmp(name, "save-settings")) continue;
        char *line = xprintf("\"%s\" Enter", name), *typed = xprintf("petri> %s", name);
        type(line);
        await(typed, true);
        free(typed);
        free(line);
    }
    type("\"models one\" Enter");
    await("train --model NAME", true);
    if (shows("unknown verb")) fail_msg("%s", tmux("capture-pane -p -t t"));
    type("\"nonsense\" Enter");
    await("unknown verb", true);
    type("\"show 99\" Enter");
    await("exit code 3", true);
    type("quit Enter");
    await("left=0", true);
    assert_int_equal(run_count(), 0); /* it is in the trash */
    start("TERM=dumb", "--readonly");
    await("petri>", true);
    type("\"restore 1\" Enter");
    await("read-only: nothing can be", true);
    type("C-d");
    await("left=0", true);
    struct command c;
    command_run(&c, NULL, "--db '%s'", stage.db); /* no terminal at all */
    assert_int_not_equal(c.status, 0);
    assert_true(!strncmp(buf_text(&c.err), "petri: ", 7) && !strchr(buf_text(&c.err), '\x1b') && !c.out.size);
    command_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_first_minute, make, close_shell),
        cmocka_unit_test_setup_teardown(the_first_minute_without_a_network, make, close_shell),
        cmocka_unit_test_setup_teardown(any_size_will_do, make, close_shell),
        cmocka_unit_test_setup_teardown(every_way_out_restores_the_terminal, make, close_shell),
        cmocka_unit_test_setup_teardown(runs_go_on_after_leaving, make, close_shell),
        cmocka_unit_test_setup_teardown(runs_left_behind_can_be_stopped, make, close_shell),
        cmocka_unit_test_setup_teardown(a_closed_terminal_ends_no_run, make, close_shell),
        cmocka_unit_test_setup_teardown(a_closed_terminal_ends_no_sweep, make, close_shell),
        cmocka_unit_test_setup_teardown(a_lost_terminal_may_stop_runs, make, close_shell),
        cmocka_unit_test_setup_teardown(a_run_is_watched, make, close_shell),
        cmocka_unit_test_setup_teardown(a_run_of_another_petri_is_followed, make, close_shell),
        cmocka_unit_test_setup_teardown(an_interrupted_run_is_told, make, close_shell),
        cmocka_unit_test_setup_teardown(other_terminals, make, close_shell),
        cmocka_unit_test_setup_teardown(a_dumb_terminal_has_a_prompt, make, close_shell),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
