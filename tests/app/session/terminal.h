/* The real program in a real terminal: tmux, on a server of its own, with a shell in it, and the runs that are
 * looked at there. */
#ifndef TESTS_APP_SESSION_TERMINAL_H
#define TESTS_APP_SESSION_TERMINAL_H

#include <glob.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static char *socket_path, *task, *petri; /* petri: the program by its full path */
static bool have_tmux;
static int databases;

static inline double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Output of tmux with these words; caller frees. */
static inline char *tmux(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline char *tmux(const char *format, ...) {
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

static inline void type(const char *keys) { free(tmux("send-keys -t t %s", keys)); }

static inline bool shows(const char *part) {
    char *screen = tmux("capture-pane -p -t t");
    bool found = strstr(screen, part) != NULL;
    free(screen);
    return found;
}

/* Waits until the screen shows (or no longer shows) `part`; fails after so many seconds (TEST_PATIENCE times). */
static inline double await_within(double seconds, const char *part, bool there) {
    double from = now();
    while (shows(part) != there) {
        if (now() - from > seconds * TEST_PATIENCE) {
            char *screen = tmux("capture-pane -p -t t");
            fprintf(stderr, "%s\n", screen); /* whole: a failure's message is cut */
            fail_msg("%s \"%s\" on the screen above", there ? "no" : "still", part);
        }
        nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
    return now() - from;
}

static inline double await(const char *part, bool there) { return await_within(15, part, there); }

/* A shell in a window of 80 x 24; `locale` and the program's folders are set.  (The terminal
 * library keeps its tables to the end, which a leak checker would print onto the screen.) */
static inline void open_shell(const char *locale) {
    static int servers; /* one that ends may still hold its socket */
    free(tmux("kill-server"));
    free(socket_path);
    socket_path = xprintf("%s/tmux%d", stage.folder, ++servers);
    free(tmux("new-session -d -s t -x 80 -y 24 \"env ASAN_OPTIONS=detect_leaks=0 LC_ALL=%s XDG_DATA_HOME='%s/data%d' PS1='ready> ' "
              "bash --norc --noprofile -i\"", locale, stage.folder, databases));
    await("ready>", true);
}

static inline void start(const char *before, const char *options) {
    char *line = xprintf("\"%s '%s' --model '%s' --task '%s' --db '%s' %s; echo left=\\$?\" Enter", before, petri,
                         stage.model, task, stage.db, options);
    type(line);
    free(line);
}

static inline void first_page(void) {
    start("", "");
    await("Enter    train", true);
}

static inline int make(void **state) {
    (void)state;
    if (!stage.folder) {
        stage_init(&stage);
        socket_path = xstrdup("/nowhere");
        task = stage_task(&stage, "toys", 0);
        petri = realpath(getenv("PETRI_BIN") ? getenv("PETRI_BIN") : "./petri", NULL);
        have_tmux = !system("tmux -V >/dev/null 2>&1");
        unsetenv("TMUX");
    }
    free(stage.db);
    stage.db = xprintf("%s/%d.db", stage.folder, ++databases);
    if (have_tmux) open_shell("C.UTF-8");
    return 0;
}

/* Programs other than this one whose words name the stage's folder: what a test began, wherever it went on; each is sent
 * `signal` (0: none). */
static inline int left_behind(int signal) {
    int found = 0;
    glob_t all = { 0 };
    if (glob("/proc/[0-9]*/cmdline", 0, NULL, &all)) return 0;
    for (size_t i = 0; i < all.gl_pathc; i++) {
        char words[8192];
        pid_t pid = atoi(all.gl_pathv[i] + strlen("/proc/"));
        FILE *f = pid == getpid() ? NULL : fopen(all.gl_pathv[i], "r");
        size_t n = f ? fread(words, 1, sizeof words, f) : 0;
        if (f) fclose(f);
        if (!memmem(words, n, stage.folder, strlen(stage.folder))) continue;
        if (signal) kill(pid, signal);
        found++;
    }
    globfree(&all);
    return found;
}

/* The shell goes, and every petri that is left, as where a test failed: one that trains outlives its terminal. */
static inline int close_shell(void **state) {
    (void)state;
    if (have_tmux) free(tmux("kill-server"));
    double from = now();
    while (left_behind(SIGKILL) && now() - from < 15 * TEST_PATIENCE) nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    return 0;
}

static inline int drop(void **state) {
    (void)state;
    free(socket_path);
    free(task);
    free(petri);
    stage_release(&stage);
    return 0;
}

static inline void need_tmux(void) {
    if (!have_tmux) test_skip("tmux is not installed");
}

static inline json_t *runs(void) { return stage_json("runs --db '%s' --json", stage.db); }

static inline size_t run_count(void) {
    json_t *list = runs();
    size_t n = json_array_size(list);
    json_decref(list);
    return n;
}

/* Another process trains run `id`, which is long. */
static inline pid_t begin_a_long_run(int id, const char *steps) {
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

/* The run may have been asked for only now, and not be listed yet. */
static inline void await_state(int id, const char *wanted) {
    double from = now();
    for (;;) {
        json_t *list = runs(), *v;
        size_t i;
        bool there = false;
        json_array_foreach(list, i, v)
            there = there || (json_integer_value(json_object_get(v, "id")) == id && !strcmp(stage_text(v, "state"), wanted));
        json_decref(list);
        if (there) return;
        if (now() - from > 30 * TEST_PATIENCE) fail_msg("run %d is not %s", id, wanted);
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* Leaves petri.  The screens know a run's end later than the history, and ask until then. */
static inline void leave(void) {
    double from = now();
    type("q");
    while (!shows("left=0")) {
        if (now() - from > 15 * TEST_PATIENCE) await("left=0", true); /* says what is there */
        nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
        if (!shows("Esc stay")) continue;
        nanosleep(&(struct timespec){ 0, 400000000 }, NULL); /* a question takes no key typed ahead of it */
        type("Escape");
        nanosleep(&(struct timespec){ 0, 200000000 }, NULL);
        if (!shows("Esc stay")) type("q");
    }
}

#endif
