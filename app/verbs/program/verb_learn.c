/* petri learn: lists lessons, shows one on the screen, or replays it without questions. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/lesson/play.h"
#include "app/session/keeper.h"
#include "app/session/session.h"
#include "app/verbs/output.h"
#include "app/verbs/palette.h"
#include "app/verbs/program/learn_handout.h"
#include "core/base/crew.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/model.h"
#include "core/train/config/estimate.h"

/* ---- the list ---- */

/* Returns "done" or "started" from the stored progress, or "". */
static const char *lesson_done(const struct lesson *l, const char *database) {
    struct lesson_progress p;
    struct err ignored = ERR_INIT;
    lesson_progress_init(&p, l);
    lesson_progress_load(&p, l, database, &ignored);
    const char *done = p.whole ? "done" : p.furthest ? "started" : "";
    lesson_progress_release(&p);
    return done;
}

/* The model and machine for which the computing times of lessons are estimated. */
struct learn_machine {
    struct arch arch;
    bool known; /* the model's architecture was read */
    int workers;
    double gflops;
};

static void learn_measure(const struct args *a, struct learn_machine *m) {
    struct err ignored = ERR_INIT;
    struct crew *crew;
    verb_crew(a, &crew);
    char *folder = model_find(verb_shown_model(a), &ignored);
    *m = (struct learn_machine){ .workers = crew_width(crew), .gflops = estimate_speed(crew, 0.1).gflops };
    m->known = folder && !arch_read(folder, &m->arch, NULL, &ignored);
    free(folder);
    crew_free(crew);
}

struct lesson_row {
    const char *name, *title, *about, *model, *task, *done, *file;
    char *needs, *computing; /* owned */
    int minutes;
    double seconds;
};
static const struct report_column LESSON[] = {
    { "lesson", REPORT_TEXT, .offset = offsetof(struct lesson_row, name) },
    { "title", REPORT_TEXT, offsetof(struct lesson_row, title), .forms = REPORT_DATA },
    { "about", REPORT_TEXT, offsetof(struct lesson_row, about), .forms = REPORT_DATA },
    { "minutes", REPORT_INT, offsetof(struct lesson_row, minutes), .heading = "min" },
    { "seconds", REPORT_DOUBLE, offsetof(struct lesson_row, seconds), .forms = REPORT_DATA },
    { "computing", REPORT_TEXT, offsetof(struct lesson_row, computing), .forms = REPORT_TO_READ,
      .right = true },
    { "needs", REPORT_TEXT, offsetof(struct lesson_row, needs), .forms = REPORT_TO_READ },
    { "model", REPORT_TEXT, offsetof(struct lesson_row, model), .forms = REPORT_DATA },
    { "task", REPORT_TEXT, offsetof(struct lesson_row, task), .forms = REPORT_DATA },
    { "", REPORT_TEXT, offsetof(struct lesson_row, title), .forms = REPORT_TO_READ },
    { "done", REPORT_TEXT, .offset = offsetof(struct lesson_row, done) },
    { "file", REPORT_TEXT, offsetof(struct lesson_row, file), .forms = REPORT_DATA },
    { 0 },
};

static int list_lessons(const struct args *a, struct err *e) {
    struct lesson *list;
    struct learn_machine here;
    struct err unread = ERR_INIT;
    learn_measure(a, &here);
    char *database = verb_database(a, e);
    if (!database) return e->code;
    int n = lesson_list(&list, &unread);
    if (unread.code) out_report(unread.text);
    struct lesson_row *row = xcalloc((size_t)n + 1, sizeof *row);
    for (int i = 0; i < n; i++) {
        const struct lesson *l = &list[i];
        row[i] = (struct lesson_row){ .name = l->name,
                                      .title = l->title,
                                      .about = l->about,
                                      .model = l->model,
                                      .task = l->task,
                                      .done = lesson_done(l, database),
                                      .file = l->path,
                                      .minutes = l->minutes,
                                      .seconds =
                                          l->model ? estimate_here(l->seconds, here.workers, here.gflops)
                                                   : estimate_scaled(l->seconds,
                                                                     here.known ? &here.arch : NULL,
                                                                     here.workers, here.gflops) };
        row[i].computing = xprintf("%.0f s", ceil(row[i].seconds));
        row[i].needs = xprintf("%s%s%s", l->model ? l->model : "", l->model && l->task ? ", " : "",
                               l->task ? l->task : "");
    }
    verb_rows(a, LESSON, row, n, sizeof *row);
    for (int i = 0; i < n; i++) free(row[i].computing), free(row[i].needs);
    free(row);
    lesson_list_free(list, n);
    if (here.known) arch_release(&here.arch);
    free(database);
    return 0;
}

/* ---- replayed ---- */

static void check_json(const struct lesson *l, int step, const struct lesson_result *r) {
    struct buf b = BUF_INIT;
    json_put(&b, "{lesson:%s,step:%d,check:%s,value:%f,low:%f,high:%f,ok:%i}", l->name, step + 1,
             l->step[step].name, r->value, r->low, r->high, r->ok);
    out_line(&b);
}

static void check_text(const struct lesson *l, int step, const struct lesson_result *r) {
    char text[160];
    lesson_check_text(r, text);
    printf("%-6s line %3d  %-16s %s\n", r->ok ? "ok" : "FAILED", l->step[step].line, l->step[step].name,
           text);
}

/* Trains the run of a step; reports it unless the output is JSON. */
static int replay_run(struct lesson_play *p, int step, bool json, struct err *e) {
    const struct lesson_result *r = &p->progress->of[step];
    int rc = lesson_begin(p, step, e);
    bool stopping = false;
    char *options = lesson_fill(p->lesson, p->progress, step, p->lesson->step[step].head, true);
    if (!rc && !json)
        fprintf(stderr, "run %lld: %s %s\n", (long long)r->run[0], p->lesson->step[step].name, options);
    free(options);
    while (!rc && !lesson_over(p, step, 0.1)) {
        if (!verb_interrupted() || stopping) continue;
        stopping = true;
        struct err ignored = ERR_INIT;
        for (int i = 0; i < r->runs; i++) jobs_stop(p->jobs, r->run[i], &ignored);
    }
    if (r->note && !json) fprintf(stderr, "run %lld: %s\n", (long long)r->run[0], r->note);
    if (stopping) return err_set(e, ERR_INTERRUPTED, "stopped");
    return !rc && r->state == LESSON_FAILED
               ? err_set(e, ERR_FAILED, "%s:%d: %s", p->lesson->path, p->lesson->step[step].line, r->why)
               : rc;
}

static int replay(struct lesson_play *p, bool json, struct err *e) {
    const struct lesson *l = p->lesson;
    int rc = 0, all, ok;
    for (int i = 0; !rc && i < l->steps; i++) {
        enum lesson_kind kind = l->step[i].kind;
        if (verb_interrupted()) return err_set(e, ERR_INTERRUPTED, "stopped");
        if (kind == LESSON_RUN) rc = replay_run(p, i, json, e);
        if (lesson_computes(&l->step[i])) rc = lesson_measure(p, i, e);
        if (!rc && kind == LESSON_CHECK) (json ? check_json : check_text)(l, i, &p->progress->of[i]);
        fflush(stdout);
    }
    lesson_checks(l, p->progress, &all, &ok);
    if (!rc && ok < all)
        rc = err_set(e, ERR_FAILED,
                     "%s: %d of %d checks failed: the lesson's text may not apply to this model and task",
                     l->name, all - ok, all);
    return rc;
}

static int replay_lesson(const struct args *a, const struct lesson *l, struct err *e) {
    struct lesson_progress progress;
    struct store *s;
    int workers = verb_workers(a), rc = 0;
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    verb_train_signals();
    lesson_progress_init(&progress, l);
    struct lesson_play p = { .lesson = l,
                             .progress = &progress,
                             .store = s,
                             .model = a->model,
                             .task = a->task,
                             .jobs = jobs_new(s, workers, (struct jobs_hook){ 0 }) };
    lesson_play_on(l, &progress, p.model, p.task);
    verb_tell_own(p.model || l->model ? NULL : paths_model(), p.task || l->task ? NULL : paths_task());
    rc = replay(&p, a->json, e);
    lesson_play_release(&p);
    jobs_free(p.jobs, false);
    rc = verb_close(s, rc, e);
    const char *folder = a->learn.handout;
    if (!rc && folder) rc = learn_handout(a, l, &progress, folder, e);
    lesson_progress_release(&progress);
    return rc;
}

static int learn_on_screen(const struct args *a, const char *lesson, struct err *e) {
    struct settings settings;
    struct buf said = BUF_INIT;
    int rc = verb_shown_settings(a, &(struct screen_options){ NULL }, &settings, &said, e);
    struct session_start with = {
        .verbs = &palette_verbs, .settings = &settings, .said = buf_text(&said),
        .model = verb_shown_model(a), .task = verb_shown_task(a), .lesson = lesson,
        .terminal = { a->no_color, a->ascii },
    };
    with.workers = verb_workers(a);
    if (!rc) keeper_begin();
    if (!rc) rc = verb_store(a, STORE_WRITE, &with.store, e);
    if (!rc) rc = session_run(&with, e);
    buf_release(&said);
    return rc;
}

int verb_learn(const struct args *a, struct err *e) {
    struct lesson l;
    if (a->list) return list_lessons(a, e);
    if (!a->count)
        return err_set(e, ERR_USAGE, "petri learn: missing lesson; petri learn --list shows all lessons");
    char *path = lesson_file(a->positional[0], e);
    int rc = path ? lesson_read(&l, path, e) : e->code;
    free(path);
    if (rc) return rc;
    if (a->learn.replay || a->learn.handout) rc = replay_lesson(a, &l, e);
    else if (isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)) rc = learn_on_screen(a, l.path, e);
    else
        rc = err_set(e, ERR_USAGE,
                     "petri learn: not a terminal; to replay the lesson without questions, use petri learn "
                     "%s --auto",
                     l.name);
    lesson_release(&l);
    return rc;
}
