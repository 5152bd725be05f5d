#include "app/session/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/session/keeper.h"
#include "app/session/session_private.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "views/ui_parts.h"

enum { FRAME_MS = 100, STEP_MS = 300 };

static volatile sig_atomic_t session_hung_up, told_to_end;
static int wake_fd = -1;

void session__wake(void) {
    uint64_t one = 1;
    ssize_t ignored = write(wake_fd, &one, sizeof one);
    (void)ignored;
}

static void session_on_signal(int n) {
    int saved = errno;
    if (n == SIGHUP) session_hung_up = 1;
    else if (n != SIGWINCH) told_to_end = n;
    session__wake();
    errno = saved;
}

static void notify(void *self) {
    (void)self;
    session__wake();
}

/* Called by the thread that waits while another program locks the database; shown on the status line. */
static pthread_mutex_t waits_lock = PTHREAD_MUTEX_INITIALIZER;
static char waits[400];

static void on_wait(void *self, const char *text) {
    (void)self;
    pthread_mutex_lock(&waits_lock);
    snprintf(waits, sizeof waits, "%s", text);
    pthread_mutex_unlock(&waits_lock);
    session__wake();
}

static void say_waits(struct session *s) {
    pthread_mutex_lock(&waits_lock);
    if (waits[0]) ui_say(&s->ui, SAY_WARNING, "%s", waits);
    waits[0] = '\0';
    pthread_mutex_unlock(&waits_lock);
}

static void handle_input(struct session *s) {
    struct term_input in;
    for (term_read(&in); in.kind != INPUT_NONE; term_read(&in)) {
        struct effect x = { .kind = EFFECT_NONE };
        if (in.kind == INPUT_RESIZE) ui_resize(&s->ui, in.w, in.h);
        else if (in.kind == INPUT_PRESS) ui_press(&s->ui, &in.press, &x);
        else if (in.kind == INPUT_MOUSE) ui_mouse(&s->ui, &in.mouse, &x);
        else if (in.kind == INPUT_PASTE) ui_paste(&s->ui, in.text, in.size, &x);
        else if (in.kind == INPUT_HANGUP) session_hung_up = 1;
        if (s->ui.flush) {
            term_flush();
            s->ui.flush = false;
        }
        session__effect(s, &x);
        if (session_hung_up || s->leaving) return;
    }
}

static void session_draw(struct session *s) {
    ui_draw(&s->ui, &s->canvas);
    term_show(&s->canvas, -1, -1);
}

static void loop(struct session *s) {
    int64_t frame = 0, stepped = 0;
    bool dirty = true;
    while (!s->leaving && !session_hung_up && !told_to_end) {
        int64_t now = clock_ms();
        if (dirty && now - frame >= FRAME_MS) {
            session__fill_jobs(s);
            say_waits(s);
            session__discard(s);
            session_draw(s);
            session__store_screens(s, false);
            frame = now;
            dirty = false;
        }
        if (s->sweep.sweeps && !s->sweep.stepping && now - stepped >= STEP_MS) {
            stepped = now;
            session__step_sweeps(s);
        }
        int wait = dirty ? (int)(FRAME_MS - (now - frame)) : -1;
        session__follow_history(s, now, &wait);
        if (s->sweep.sweeps && (wait < 0 || wait > STEP_MS)) wait = STEP_MS;
        session__look_at_lesson(s, now, &wait);
        struct pollfd fd[3] = { { .fd = term_fd(), .events = POLLIN }, { .fd = s->wake, .events = POLLIN },
                                { .fd = child_fd(s->command.child), .events = POLLIN } };
        int n = poll(fd, 3, wait < 0 && dirty ? 0 : wait);
        if (n < 0 && errno != EINTR) break;
        if (n > 0 && fd[2].revents) {
            session__verb_news(s);
            dirty = true;
        }
        if (n > 0 && fd[1].revents) {
            uint64_t count;
            ssize_t ignored = read(s->wake, &count, sizeof count);
            (void)ignored;
            session__answers(s);
            session__fill_talk(s);
            dirty = true;
        }
        bool keys = n < 0 || fd[0].revents;
        if (n > 0 && fd[0].revents & (POLLHUP | POLLERR | POLLNVAL)) session_hung_up = 1;
        if (keys || (n > 0 && fd[1].revents)) handle_input(s); /* the size may have changed */
        if (keys) { /* are handled immediately */
            if (!session_hung_up) session_draw(s);
            dirty = true;
        }
    }
}

/* Reports a run that another process trains, possibly one whose terminal was lost. */
static void say_elsewhere(struct session *s) {
    struct store_runs runs;
    struct err ignored = ERR_INIT;
    if (store_list(s->store, &(struct store_list){ .filter = "state=running", .limit = 1 }, &runs, &ignored))
        return;
    if (runs.total)
        ui_say(
            &s->ui, SAY_INFO,
            "run #%lld%s in another process (press 2 to show it, then K to stop it)",
            (long long)runs.run[0].id, runs.total > 1 ? " and others are training" : " is training");
    store_runs_release(&runs);
}

/* Reports runs whose interruption was detected when the database was opened, once. */
static void say_lost(struct session *s) {
    int64_t first = 0;
    size_t n = store_lost(s->store, &first, 1);
    if (!n) say_elsewhere(s);
    if (n == 1)
        ui_say(&s->ui, SAY_WARNING,
               "run #%lld was interrupted after the last session (press 3, then R to resume it)",
               (long long)first);
    else if (n)
        ui_say(&s->ui, SAY_WARNING,
               "%zu runs were interrupted after the last session, #%lld and others (press 3, then R to "
               "resume them)",
               n, (long long)first);
}

/* Shows the first screen: the requested lesson, watched run or notes; otherwise Compose, or the first page
 * while the database is empty. */
static void session_begin(struct session *s, const struct session_start *with) {
    const char *lesson = with->lesson;
    struct first_view *f = &s->ui.first;
    struct term_abilities t;
    term_abilities(&t);
    f->cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    f->kernel = blas_facts()->kernel;
    f->terminal_colors = t.colors;
    s->ui.database = s->database;
    struct err e = ERR_INIT;
    struct store_runs runs;
    if (!store_list(s->store, &(struct store_list){ .limit = 1 }, &runs, &e)) {
        s->ui.total_runs = (int)runs.all;
        store_runs_release(&runs);
    }
    config_take_model(&s->ui.compose.config, with->model);
    config_take_task(&s->ui.compose.config,
                     with->first_task && !s->ui.total_runs ? with->first_task : with->task);
    session__ask_facts(s);
    session__ask_machine(s);
    ui_show(&s->ui, s->ui.total_runs ? SCREEN_COMPOSE : SCREEN_FIRST);
    if (s->read_only) ui_show(&s->ui, SCREEN_RUNS);
    session__ask_columns(s);
    session__ask_screens(s);
    session__ask_runs(s);
    session__list_own(s);
    say_lost(s);
    if (lesson) {
        struct effect open = { .kind = EFFECT_LESSON };
        snprintf(open.text, sizeof open.text, "%s", lesson);
        snprintf(s->ui.learn.opening, sizeof s->ui.learn.opening, "%s", lesson);
        ui_show(&s->ui, SCREEN_LEARN);
        session__effect(s, &open);
    }
    if (!with->watch && !with->notes) return;
    if (with->notes) {
        session__follow_lesson(s);
        return;
    }
    s->train.following = !with->run;
    s->train.watched = s->ui.train.focus = with->run;
    ui_show(&s->ui, SCREEN_TRAIN);
    session__ask_others(s, false);
}

/* Returns the database part of a line for a shell. */
static char *name_database(const char *path) {
    bool guessed;
    struct err ignored = ERR_INIT;
    char *usual = paths_database(&guessed, &ignored);
    bool is = usual && !strcmp(usual, path);
    free(usual);
    return is ? NULL : xstrdup(path);
}

/* ---- actions ---- */

/* Leaves, unless a run has started since the screen was last filled: then the question about running runs is
 * asked first. */
static void do_quit(struct session *s, const struct effect *x) {
    if (!s->ui.running && !s->ui.queued && jobs_live(s->jobs)) {
        struct effect asked = { 0 };
        session__fill_jobs(s);
        ui_quit(&s->ui, &asked);
        if (asked.kind != EFFECT_QUIT) return;
    }
    s->leaving = true;
    s->finish = x->keep;
}

static void do_suspend(struct session *s) {
    (void)s;
    term_suspend();
}

static void do_redraw(struct session *s) {
    (void)s;
    term_redraw();
}

static void do_copy(struct session *s, const struct effect *x) { session__copy(s, NULL, x->text); }

const struct action session_actions[] = {
    { EFFECT_QUIT, .act = do_quit },
    { EFFECT_SUSPEND, .plain = do_suspend },
    { EFFECT_REDRAW, .plain = do_redraw },
    { EFFECT_COPY, .act = do_copy },
    { .kind = EFFECT_NONE },
};

static void session_release(struct session *s) {
    session__verb_release(s);
    session__runs_release(s);
    session__sweep_release(s);
    session__lesson_release(s);
    session__compose_release(s);
    session__data_release(s);
    session__inside_release(s);
    session__talk_release(s);
    session__train_release(s);
    session__moves_release(s);
    workroom_release(&s->room);
    free(s->named);
    free(s->database);
    canvas_release(&s->canvas);
    ui_release(&s->ui);
    close(s->wake);
}

/* A window size change wakes the loop like any event: the terminal library's own handler only sets a flag,
 * which goes unnoticed when a worker thread receives the signal. */
static void catch_signals(void) {
    struct sigaction act = { .sa_handler = session_on_signal };
    sigaction(SIGHUP, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGWINCH, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* Returns whether runs and sweeps continue in the background: as chosen on leaving, or by the setting when
 * the terminal is lost. */
static bool goes_on(const struct session *s) {
    bool lost = session_hung_up && !strcmp(s->settings.now.value[SETTING_HANGUP], "finish");
    return (s->finish || lost) && !told_to_end;
}

static void say_goes_on(const struct session *s, int live) {
    struct buf database = BUF_INIT, what = BUF_INIT;
    if (s->named) buf_puts(&database, " --db ");
    if (s->named) text_shell_word(&database, s->named);
    if (live || !s->sweep.sweeps)
        buf_printf(&what, "%d %s%s", live, live == 1 ? "run" : "runs", s->sweep.sweeps ? " and " : "");
    if (s->sweep.sweeps) buf_puts(&what, "the rest of the sweep");
    fprintf(stderr,
            "petri: training continues in the background: %s\n       list runs: petri runs%s   stop one: "
            "petri stop ID%s\n",
            buf_text(&what), buf_text(&database), buf_text(&database));
    buf_release(&database);
    buf_release(&what);
}

/* After the screen is closed, runs that were asked to continue do so here, and sweeps start their missing
 * runs. */
static void finish_runs(struct session *s) {
    int live = jobs_live(s->jobs);
    if (!goes_on(s) || !(live || s->sweep.sweeps)) return;
    if (!session_hung_up) {
        say_goes_on(s, live);
        if (!keeper_let_go()) fprintf(stderr, "petri: ^C stops the runs with a checkpoint\n");
    }
    struct sigaction act = { .sa_handler = session_on_signal };
    sigaction(SIGINT, &act, NULL);
    while ((jobs_live(s->jobs) || s->sweep.sweeps) && !told_to_end) {
        struct pollfd fd = { .fd = s->wake, .events = POLLIN };
        if (s->sweep.sweeps && !s->sweep.stepping) session__step_sweeps(s);
        poll(&fd, 1, STEP_MS);
        uint64_t count;
        if (fd.revents && read(s->wake, &count, sizeof count) < 0) break;
        session__answers(s);
    }
}

int session_run(const struct session_start *with, struct err *e) {
    struct session s = { .store = with->store, .read_only = with->read_only };
    int rc = term_start(&with->terminal, e);
    if (rc) {
        struct err ignored = ERR_INIT;
        store_close(s.store, &ignored);
        return rc;
    }
    mem_on_abort(term_emergency);
    catch_signals();
    s.wake = wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct store_wait told_before = store_on_wait((struct store_wait){ NULL, on_wait });
    s.database = file_base_name(store_path(s.store));
    s.named = name_database(store_path(s.store));
    s.jobs = jobs_new(s.store, with->workers, (struct jobs_hook){ .notify = notify });
    s.room = (struct workroom){ .store = s.store, .jobs = s.jobs, .verbs = with->verbs,
                                .sweeping = sweeping_new(s.store, s.jobs),
                                .learning = learning_new(s.store, s.jobs) };
    s.background = background_new(&s.room, notify, NULL);
    s.inside.insight = insight_new(s.store, !s.read_only, jobs_crew(s.jobs), notify, NULL);
    ui_init(&s.ui, term_glyphs(), term_colors());
    if (with->verbs) {
        s.words = (struct ui_words){ NULL, with->verbs->offer };
        s.ui.words = &s.words;
    }
    int w, h;
    term_size(&w, &h);
    canvas_init(&s.canvas, w, h, term_glyphs(), term_colors());
    ui_resize(&s.ui, w, h);
    if (with->settings) s.settings.now = *with->settings;
    else settings_init(&s.settings.now);
    session__apply_settings(&s);
    session_begin(&s, with);
    if (with->said && *with->said) ui_say(&s.ui, SAY_WARNING, "%s", with->said);
    loop(&s);
    if (!session_hung_up) term_stop();
    session__store_screens(&s, true);
    store_on_wait(told_before);
    finish_runs(&s);
    background_free(s.background);
    insight_free(s.inside.insight);
    jobs_free(s.jobs, goes_on(&s));
    rc = store_close(s.store, e);
    session_release(&s);
    if (!rc && told_to_end)
        rc = err_set(e, ERR_INTERRUPTED, "terminated by a signal; the runs were stopped with a checkpoint");
    return rc;
}
