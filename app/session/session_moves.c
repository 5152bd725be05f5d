/* Trash, restore and names of runs: one after the other, with undo and redo. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"

/* A request that arrived during another move: a move, or an undo or redo of the latest move at its turn. */
struct pending_move {
    enum { PENDING_MOVE, PENDING_UNDO, PENDING_REDO } kind;
    struct move move; /* PENDING_MOVE */
    struct pending_move *next;
};

static void move_free(struct move *m) {
    free(m->run);
    free(m->was);
    free(m->name);
    *m = (struct move){ 0 };
}

/* Queues a request; requests are carried out one by one, each after the previous one has finished. */
static void queue_move(struct session *s, int kind, const int64_t *run, int runs, bool trash,
                       const char *name) {
    struct pending_move *w = xcalloc(1, sizeof *w), **end = &s->moves.pending;
    w->kind = kind;
    w->move = (struct move){ trash, runs ? xcalloc((size_t)runs, sizeof *run) : NULL, runs, NULL,
                             xcopy(name) };
    if (runs) memcpy(w->move.run, run, (size_t)runs * sizeof *run);
    while (*end) end = &(*end)->next;
    *end = w;
}

static struct pending_move *next_pending(struct session *s) {
    struct pending_move *w = s->moves.pending;
    if (w) s->moves.pending = w->next;
    return w;
}

static void pending_free(struct pending_move *w) {
    move_free(&w->move);
    free(w);
}

/* ---- in the background; text: the key that undoes it ---- */

static void answered(struct session *s, struct background_work *w, struct move *m);

static int move_runs(struct background_work *w) {
    bool trash = w->kind->what;
    int rc = (trash ? store_trash : store_restore)(w->store, w->run, (size_t)w->runs, &w->e);
    char what[48];
    if (rc) return rc;
    if (w->runs == 1) snprintf(what, sizeof what, "run #%lld", (long long)w->run[0]);
    else snprintf(what, sizeof what, "%d runs", w->runs);
    work_say(w, SAY_GOOD, trash ? "moved %s to the trash; press %s to undo" : "restored %s; press %s to undo",
             what,
             w->text);
    return 0;
}

static void moved(struct session *s, struct background_work *w) {
    answered(s, w, &(struct move){ .trash = w->kind->what });
}

static const struct work_kind trash_work = { LANE_SCREENS, move_runs, moved, .what = true },
                              restore_work = { LANE_SCREENS, move_runs, moved, .what = false };

static int rename_run(struct background_work *w) {
    struct move *m = w->made; /* its names */
    int rc = store_rename(w->store, w->run[0], m->name, &m->was, &w->e);
    if (rc) return rc;
    const char *back = !strcmp(m->was, m->name) ? "" : w->text;
    if (*m->name)
        work_say(w, SAY_GOOD, "named #%lld %s%s%s%s", (long long)w->run[0], m->name, *back ? " (press " : "",
                 back, *back ? " to undo)" : "");
    else
        work_say(w, SAY_GOOD, "removed the name of #%lld%s%s%s", (long long)w->run[0],
                 *back ? " (press " : "", back, *back ? " to undo)" : "");
    return 0;
}

static void renamed(struct session *s, struct background_work *w) {
    answered(s, w, w->made);
    session__ask_others(s, false);
}

static void drop_name(struct background_work *w) {
    move_free(w->made);
    free(w->made);
}

static void ask_move(struct session *s, bool trash, const int64_t *run, int runs, const char *back) {
    s->moves.moving = true;
    session__ask(s, trash ? &trash_work : &restore_work, run, runs, back);
}

static void ask_name(struct session *s, int64_t run, const char *name, const char *back) {
    static const struct work_kind kind = { LANE_SCREENS, rename_run, renamed, .drop = drop_name };
    struct background_work *w = work_new(&kind, &run, 1, back);
    struct move *m = w->made = xcalloc(1, sizeof *m);
    m->name = xcopy(name);
    s->moves.moving = true;
    background_do(s->background, w);
}

void session__move(struct session *s, bool trash, const int64_t *run, int runs) {
    if (s->moves.moving) queue_move(s, PENDING_MOVE, run, runs, trash, NULL);
    else ask_move(s, trash, run, runs, "u");
}

static void move_name(struct session *s, int64_t run, const char *name) {
    if (s->moves.moving) queue_move(s, PENDING_MOVE, &run, 1, false, name);
    else ask_name(s, run, name, "u");
}

/* Returns the move of an undo or a redo, or NULL. */
static const struct move *move_at(const struct session_moves *m, bool redo) {
    if (redo) return m->done < m->undone ? &m->of[m->done] : NULL;
    return m->done ? &m->of[m->done - 1] : NULL;
}

static void undo(struct session *s, bool redo) {
    const struct move *m = move_at(&s->moves, redo);
    const char *back = redo ? "u" : "^r";
    if (s->moves.moving) {
        queue_move(s, redo ? PENDING_REDO : PENDING_UNDO, NULL, 0, false, NULL);
        return;
    }
    if (!m) {
        ui_say(&s->ui, SAY_INFO, redo ? "nothing to redo" : "nothing to undo");
        return;
    }
    s->moves.undoing = redo ? -1 : 1;
    if (m->name) ask_name(s, m->run[0], redo ? m->name : m->was, back);
    else ask_move(s, m->trash == redo, m->run, m->runs, back);
}

/* ---- results of moves ---- */

/* A key typed before the list showed the previous move: the runs are already there. */
static bool is_same_again(const struct session_moves *m, const struct move *now,
                          const struct background_work *w) {
    const struct move *last = move_at(m, false);
    if (now->name) return !strcmp(now->was, now->name);
    return last && !last->name && last->trash == now->trash && last->runs == w->runs &&
           !memcmp(last->run, w->run, (size_t)last->runs * sizeof *last->run);
}

/* Takes ownership of the runs and names. */
static void record(struct session_moves *m, struct background_work *w, struct move *now) {
    if (m->undoing) {
        m->done -= m->undoing;
        m->undoing = 0;
        return;
    }
    if (is_same_again(m, now, w)) return;
    for (int i = m->done; i < m->undone; i++) move_free(&m->of[i]);
    if (m->done == MOVES) {
        move_free(&m->of[0]);
        memmove(m->of, m->of + 1, (MOVES - 1) * sizeof *m->of);
        m->done--;
    }
    m->of[m->done++] = (struct move){ now->trash, w->run, w->runs, now->was, now->name };
    m->undone = m->done;
    w->run = NULL;
    now->was = now->name = NULL;
}

static void answered(struct session *s, struct background_work *w, struct move *m) {
    struct pending_move *next;
    if (w->failed) s->moves.undoing = 0;
    else record(&s->moves, w, m);
    s->ui.offers_undo = !w->failed;
    s->moves.moving = false;
    while (!s->moves.moving && (next = next_pending(s))) {
        if (next->move.name) move_name(s, next->move.run[0], next->move.name);
        else if (next->kind == PENDING_MOVE)
            session__move(s, next->move.trash, next->move.run, next->move.runs);
        else undo(s, next->kind == PENDING_REDO);
        pending_free(next);
    }
    session__ask_runs(s);
}

/* ---- actions ---- */

static void do_move(struct session *s, const struct effect *x) {
    if (x->runs) session__move(s, x->kind == EFFECT_TRASH, x->run, x->runs);
}

static void name_next(struct session *s, const char *name) {
    struct err e = ERR_INIT;
    struct compose_view *v = &s->ui.compose;
    if (store_check_name(name, &e)) {
        session__say_error(s, e.code, &e);
        return;
    }
    snprintf(v->run_name, sizeof v->run_name, "%.*s", STORE_NAME_MOST, name);
    ui_say(&s->ui, SAY_INFO, *name ? "the next run will be named %s" : "the next run will have no name",
           name);
}

static void do_name(struct session *s, const struct effect *x) {
    if (x->runs) move_name(s, x->run[0], x->text);
    else name_next(s, x->text);
}

static void do_undo(struct session *s, const struct effect *x) { undo(s, x->kind == EFFECT_REDO); }

static void line_undo(const struct session *s, struct buf *b, const struct effect *x) {
    bool redo = x->kind == EFFECT_REDO;
    const struct move *m = move_at(&s->moves, redo);
    if (!m) return;
    line_verb(s, b, m->name ? "name" : m->trash == redo ? "trash" : "restore");
    line_runs(b, m->run, m->runs);
    if (m->name) line_word(b, redo ? m->name : m->was);
}

const struct action move_actions[] = {
    { EFFECT_TRASH, do_move, .changes = true, .verb = "trash" },
    { EFFECT_RESTORE, do_move, .changes = true, .verb = "restore" },
    { EFFECT_NAME, do_name, .changes = true, .verb = "name", .line = line_text },
    { EFFECT_UNDO, do_undo, .changes = true, .line = line_undo },
    { EFFECT_REDO, do_undo, .changes = true, .line = line_undo },
    { .kind = EFFECT_NONE },
};

void session__moves_release(struct session *s) {
    struct pending_move *w;
    for (int i = 0; i < s->moves.undone; i++) move_free(&s->moves.of[i]);
    while ((w = next_pending(s))) pending_free(w);
}
