/* The real program in a real terminal: what somebody would live with it (the first minute and a terminal that is lost are
 * in terminal_test), and whatever else is typed. */
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <utmp.h>

#include "tests/bench/bench_history.h"
#include "store/store.h"
#include "tests/app/session/terminal.h"
#include "views/keys.h"

/* The ':' line of a short training; it comes up only once the screen is there. */
static void train_typed(const char *options) {
    char *line = xprintf("\":train --model '%s' --batch 2 --max-length 16 --eval-rows 4 %s\" Enter", stage.model, options);
    type(line);
    free(line);
}

/* So many runs are over. */
static void await_over(size_t wanted) {
    double from = now();
    for (;;) {
        json_t *list = runs();
        size_t over = 0;
        for (size_t i = 0; i < json_array_size(list); i++) over += !strcmp(stage_text(json_array_get(list, i), "state"), "finished");
        json_decref(list);
        if (over == wanted) return;
        if (now() - from > 30 * TEST_PATIENCE) fail_msg("%zu of %zu runs:\n%s", over, wanted, tmux("capture-pane -p -t t"));
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* A new history, shown as soon as there is one. */
static void start_new(const char *before) {
    start(before, "");
    await("Enter    train", true);
}

/* A table of one's own, two methods on it, and the better of them. */
static void own_rows_to_the_best_method(void **state) {
    (void)state;
    need_tmux();
    struct buf csv = BUF_INIT;
    buf_puts(&csv, "text,label\n");
    for (int i = 0; i < 24; i++) buf_printf(&csv, "%s,%s\n", i % 2 ? "good film" : "bad film", i % 2 ? "yes" : "no");
    char *path = test_file(stage.folder, "own.csv", csv.data, csv.size);
    buf_release(&csv);
    start_new("");
    for (int i = 0; i < 2; i++) {
        char *options = xprintf("--train '%s' --dev '%s' --text text --label label --steps 4 --method %s", path, path,
                                i ? "bitfit" : "ln-tuning");
        train_typed(options);
        free(options);
        await_over((size_t)i + 1);
    }
    type("3");
    await(" 2  finished", true);
    type("X");
    await("best accuracy on own", true);
    type("Enter");
    await("majority", true);
    type("q q");
    await("left=0", true);
    free(path);
}

/* Three seeds by one line, marked, side by side. */
static void three_seeds_are_compared(void **state) {
    (void)state;
    need_tmux();
    start_new("");
    char *options = xprintf("--task '%s' --method bitfit --steps 2 --seeds 1,2,3", task);
    train_typed(options);
    free(options);
    await_over(3);
    type("3");
    await(" 3  finished", true);
    type("'*'"); /* not for the shell */
    await("3 marked", true);
    type("4");
    await("3 1, 2, 3", true);
    leave();
}

/* ---- two at once ---- */

static void other_window(void) {
    free(tmux("new-window -t t: \"env ASAN_OPTIONS=detect_leaks=0 LC_ALL=C.UTF-8 PS1='ready> ' bash --norc --noprofile -i\""));
    await("ready>", true);
}

/* Each sees what the other trains, and stops it; neither loses anything. */
static void two_petris_share_a_history(void **state) {
    (void)state;
    need_tmux();
    start_new("");
    char *options = xprintf("--task '%s' --method bitfit --steps 100000000", task);
    train_typed(options);
    free(options);
    stage_wait_step(&stage, 1, 1);
    other_window();
    start("", "");
    await("Compose", true);
    type("3");
    await(" 1  running", true);
    options = xprintf("--task '%s' --method ln-tuning --steps 4", task);
    train_typed(options);
    free(options);
    await_over(1);
    type("3");
    await(" 2  finished", true);
    type("\":stop 1\" Enter");
    await("stop #1?", true);
    while (shows("stop #1?")) type("y"); /* what is typed ahead of a question is no answer */
    await_state(1, "stopped");
    type("Escape 3");
    await(" 1  stopped", true);
    leave();
    free(tmux("select-window -t t:0"));
    type("3");
    await(" 2  finished", true);
    await(" 1  stopped", true);
    leave();
}

/* The process that trains and draws: a child of the program that the shell has started. */
static pid_t trainer_of_shell(void) {
    char *shell = tmux("display-message -p -t t '#{pane_pid}'"), *line = xprintf("pgrep -P $(pgrep -P %d)", atoi(shell)), text[32] = "";
    FILE *f = popen(line, "r");
    assert_true(f && fgets(text, sizeof text, f));
    pclose(f);
    free(line);
    free(shell);
    return atoi(text);
}

/* No file may grow: that is told, the run waits, and goes on as soon as there is room; no step is lost. */
static void a_full_disk_is_waited_for(void **state) {
    (void)state;
    need_tmux();
    start_new("ulimit -S -f 500;");
    char *options = xprintf("--task '%s' --method bitfit --steps 100000000", task);
    train_typed(options);
    free(options);
    await("disk is full", true);
    assert_int_equal(prlimit(trainer_of_shell(), RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }, NULL), 0);
    await("runs continue", true);
    await_state(1, "running");
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    await_state(1, "stopped");
    leave();
    char *lost = stage_out(0, "sql --db '%s' \"SELECT max(step) = count(*) FROM v_points WHERE run=1 AND key='loss'\"", stage.db);
    assert_non_null(strstr(lost, "\n1\n"));
    free(lost);
}

/* A rate far too high: the run's page says so, with the figures. */
static void a_diverged_run_is_explained(void **state) {
    (void)state;
    need_tmux();
    start_new("");
    char *options = xprintf("--task '%s' --method full --steps 30 --lr 300 --clip 0", task);
    train_typed(options);
    free(options);
    await_over(1);
    type("3");
    await(" 1  ", true);
    type("Enter"); /* on its page, and by the verb */
    await("learning rate 300 is", true);
    type("Escape");
    await("learning rate 300 is", false);
    type("\":show 1 --why\" Enter");
    await("learning rate 300 is", true);
    type("q q");
    await("left=0", true);
}

/* Before a class: nothing can be changed, a prefix is drawn where it enters, and explained. */
static void a_class_is_shown_a_prefix(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    start("", "--readonly");
    await(" 1  finished", true);
    type("\":method prefix(l=4)\" Enter");
    type("1");
    await("softmax keys", true);
    await("P_k", true);
    type("E");
    await("overview", true);
    type("Escape");
    await("softmax keys", true);
    type("Enter");
    await("read-only: nothing can be", true);
    type("3");
    await(" 1  finished", true);
    type("d");
    await("read-only: nothing can be", true);
    assert_int_equal(run_count(), 1);
    leave();
}

/* What PEFT makes of the folder, beside what petri says of the same text. */
static void python_says_the_same(const char *python, const char *folder) {
    static const char script[] =
        "import sys, torch\n"
        "from transformers import AutoModelForSequenceClassification as M, AutoTokenizer\n"
        "from peft import PeftModel\n"
        "m = PeftModel.from_pretrained(M.from_pretrained(sys.argv[1], num_labels=2), sys.argv[2]).eval()\n"
        "t = AutoTokenizer.from_pretrained(sys.argv[1])(sys.argv[3], return_tensors='pt')\n"
        "with torch.no_grad(): print('%.5f' % torch.softmax(m(**t).logits[0].double(), -1).max())\n";
    char *path = test_file(stage.folder, "take.py", script, strlen(script)),
         *line = xprintf("'%s' '%s' '%s' '%s' 'a good film' 2>/dev/null", python, path, stage.model, folder), text[64] = "";
    FILE *f = popen(line, "r");
    if (!f || !fgets(text, sizeof text, f)) fail_msg("%s could not take %s", python, folder);
    pclose(f);
    json_t *v = stage_json("predict 1 --db '%s' --text 'a good film' --json", stage.db);
    json_t *each = stage_at(v, "probabilities"), *p;
    double said = 0;
    const char *label;
    json_object_foreach(each, label, p) said = json_number_value(p) > said ? json_number_value(p) : said;
    if (!(said - atof(text) < 1e-4 && atof(text) - said < 1e-4)) fail_msg("%.5f here, %s there", said, text);
    json_decref(v);
    free(line);
    free(path);
}

/* An adapter as files of PEFT, by the ':' line. */
static void an_adapter_is_taken_away(void **state) {
    (void)state;
    need_tmux();
    json_decref(stage_train(&stage, 0, "--steps 2"));
    char *out = file_join(stage.folder, "taken"), *config = file_join(out, "adapter_config.json"),
         *line = xprintf("\":export 1 --to peft '%s'\" Enter", out);
    start("", "");
    await("Compose", true);
    type(line);
    await("taken: written", true);
    await(" done ", true);
    assert_true(file_exists(config));
    type("q q");
    await("left=0", true);
    const char *python = getenv("PETRI_PEER_PYTHON");
    if (python && *python) python_says_the_same(python, out);
    free(line);
    free(config);
    free(out);
}

/* A long history: found by words, sorted, and a run of it by its number on the ':' line. */
static void ten_thousand_runs_are_searched(void **state) {
    (void)state;
    need_tmux();
    struct store *s;
    struct err e = ERR_INIT;
    int n = test_slow() ? 10000 : 300;
    char *all = xprintf("%d", n), *of = xprintf("/%d", n);
    test_ok(store_open(&s, stage.db, STORE_WRITE, &e), &e);
    test_ok(bench_history_make(s, n, 1, &e), &e);
    test_ok(store_close(s, &e), &e);
    start("", "");
    await("Compose", true);
    type("3");
    await(all, true);
    type("\"/method=ia3 lr>0.006 seed=3\" Enter");
    await("filter: method=ia3 lr>0.006 seed=3", true);
    await(of, true);
    type("\":sort best\" Enter");
    await("sort", true);
    type("X");
    await("best accuracy on", true);
    type("F");
    await("filter:", false);
    type("\":show 277\"");
    await("277", true);
    type("Enter");
    await("#277", true);
    type("q q");
    await("left=0", true);
    free(all);
    free(of);
}

/* A story that ends in its middle leaves no petri that trains on. */
static void nothing_is_left_behind(void **state) {
    need_tmux();
    start_new("");
    char *options = xprintf("--task '%s' --method bitfit --steps 100000000", task);
    train_typed(options);
    free(options);
    stage_wait_step(&stage, 1, 1);
    assert_true(left_behind(0) > 0);
    close_shell(state);
    assert_int_equal(left_behind(0), 0);
}

/* ---- whatever comes ---- */

static uint64_t seed = 20261129;

static uint32_t draw(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* A letter of the table of keys, whichever there is; q leaves. */
static char any_letter(void) {
    for (;;) {
        uint32_t key = keys_at((int)draw((uint32_t)keys_count()))->key;
        if (key > ' ' && key < 127 && key != 'q') return (char)key;
    }
}

/* No key that leaves, suspends or says yes to leaving. */
static void any_event(struct buf *b, int fd) {
    static const char letters[] = "hjklhjklhjklgG/nNu?1234567*.z,()ceKKsSfFCRdVeHL+-[]0vmMwaPDTBJXWYopb<> 8.;i^$#@\t\r";
    static const char *const sequences[] = {"\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[5~", "\x1b[6~", "\x1b[Z", "\x1b",
                                            "\x7f", "\x04", "\x15", "\x1bOP", "\x1b[H", "\x1b[F", "\x1bx"};
    static const char *const lines[] = {":runs\r", ":show 1 --why\r", ":sort lr\r", ":\t\t\x1b", ":set theme mono\r", ":set theme safe\r",
                                        ":page\r", ":sho\t", ":methods\r", ":runs task=\t\r", "/lora\r", ":compare 1\r"};
    uint32_t what = draw(100);
    if (what < 20) buf_putc(b, any_letter());
    else if (what < 70) buf_putc(b, letters[draw(sizeof letters - 1)]);
    else if (what < 80) buf_puts(b, sequences[draw(COUNT_OF(sequences))]);
    else if (what < 88) buf_printf(b, "\x1b[<%u;%u;%u%c", draw(4) ? 0 : 64 + draw(2), 1 + draw(310), 1 + draw(110), draw(8) ? 'M' : 'm');
    else if (what < 91) buf_printf(b, "\x1b[200~paste %u\nKy\x1b[2J\xff:\x1b[201~", draw(1000));
    else if (what < 94) buf_puts(b, lines[draw(COUNT_OF(lines))]);
    else if (what < 96) buf_puts(b, "\x1b[<9;"); /* half a report */
    else if (what < 98) buf_putc(b, (char)(0x80 + draw(0x80)));
    else {
        struct winsize size = {.ws_row = (unsigned short)(1 + draw(draw(2) ? 30 : 101)),
                               .ws_col = (unsigned short)(1 + draw(draw(2) ? 90 : 301))};
        ioctl(fd, TIOCSWINSZ, &size);
    }
}

/* Sends it and takes what is painted meanwhile. */
static void feed(int fd, struct buf *b) {
    char seen[8192];
    size_t at = 0;
    for (int idle = 0; at < b->size || idle < 2;) {
        struct pollfd p = {fd, (short)(POLLIN | (at < b->size ? POLLOUT : 0)), 0};
        if (poll(&p, 1, at < b->size ? 1000 : 1) <= 0) idle++;
        if (p.revents & (POLLIN | POLLHUP) && read(fd, seen, sizeof seen) <= 0) return;
        if (!(p.revents & POLLOUT)) continue;
        ssize_t n = write(fd, b->data + at, b->size - at > 64 ? 64 : b->size - at);
        if (n > 0) at += (size_t)n;
    }
    buf_clear(b);
}

/* Keys, pastes, the mouse and sizes by chance (PETRI_SEED=N: by another), a run behind: it stands, and ends as asked. */
static void whatever_is_typed(void **state) {
    (void)state;
    enum { FEW = 2000, EVENTS = 100000, TOGETHER = 25 };
    int fd, slave, status, events = test_slow() ? EVENTS : FEW;
    struct winsize size = {.ws_row = 24, .ws_col = 80};
    struct buf b = BUF_INIT;
    char *folder = test_folder();
    if (getenv("PETRI_SEED")) seed = strtoull(getenv("PETRI_SEED"), NULL, 10);
    if (openpty(&fd, &slave, NULL, NULL, &size)) fail_msg("no pseudo-terminal");
    pid_t pid = fork();
    if (!pid) {
        close(fd);
        login_tty(slave);
        for (int i = 1; i < 32; i++) signal(i, SIG_DFL);
        if (chdir(folder)) _exit(9);
        setenv("TERM", "xterm-256color", 1);
        setenv("LC_ALL", "C.UTF-8", 1);
        setenv("HOME", folder, 1);
        setenv("XDG_CONFIG_HOME", folder, 1);
        setenv("ASAN_OPTIONS", "detect_leaks=0:log_path=asan", 1);
        setenv("PATH", "", 1); /* nothing is fetched */
        execl(petri, "petri", "--model", stage.model, "--task", task, "--db", stage.db, "--workers", "1", (char *)NULL);
        _exit(9);
    }
    close(slave);
    buf_printf(&b, "\r:train --model '%s' --task '%s' --batch 2 --steps 100000000 --method bitfit\r", stage.model, task);
    feed(fd, &b);
    stage_wait_step(&stage, 1, 1);
    for (int i = 0; i < events; i++) {
        any_event(&b, fd);
        if (i % TOGETHER) continue;
        feed(fd, &b);
        if (waitpid(pid, &status, WNOHANG)) fail_msg("it ended after %d events with %d", i, status);
    }
    feed(fd, &b);
    kill(pid, SIGTERM);
    while (waitpid(pid, &status, WNOHANG) == 0) feed(fd, &b);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 130);
    close(fd);
    buf_release(&b);
    free(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(own_rows_to_the_best_method, make, close_shell),
        cmocka_unit_test_setup_teardown(three_seeds_are_compared, make, close_shell),
        cmocka_unit_test_setup_teardown(two_petris_share_a_history, make, close_shell),
        cmocka_unit_test_setup_teardown(a_full_disk_is_waited_for, make, close_shell),
        cmocka_unit_test_setup_teardown(a_diverged_run_is_explained, make, close_shell),
        cmocka_unit_test_setup_teardown(a_class_is_shown_a_prefix, make, close_shell),
        cmocka_unit_test_setup_teardown(an_adapter_is_taken_away, make, close_shell),
        cmocka_unit_test_setup_teardown(ten_thousand_runs_are_searched, make, close_shell),
        cmocka_unit_test_setup_teardown(nothing_is_left_behind, make, close_shell),
        cmocka_unit_test_setup_teardown(whatever_is_typed, make, close_shell),
    };
    return cmocka_run_group_tests(tests, NULL, drop);
}
