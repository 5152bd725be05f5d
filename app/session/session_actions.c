/* Carries out the requests of the screens: each effect by its row, and results of background work. */
#include "app/session/session_private.h"
#include "core/base/mem.h"

static const struct action *const groups[] = { session_actions, compose_actions, data_actions, talk_actions,
                                               train_actions,   inside_actions,  lesson_actions,
                                               move_actions,    runs_actions,    settings_actions,
                                               sweep_actions,   verb_actions,    written_actions };

const struct action *action_of(enum effect_kind kind) {
    for (size_t i = 0; i < COUNT_OF(groups); i++)
        for (const struct action *a = groups[i]; a->kind != EFFECT_NONE; a++)
            if (a->kind == kind) return a;
    return NULL;
}

void session__say_error(struct session *s, int rc, const struct err *e) {
    if (rc) ui_say(&s->ui, SAY_ERROR, "%s", e->text);
}

void session__refuse_read_only(struct session *s) {
    ui_say(
        &s->ui, SAY_INFO,
        "read-only: nothing can be started or changed (start petri without watch or --readonly)");
}

void session__ask(struct session *s, const struct work_kind *kind, const int64_t *run, int runs,
                  const char *text) {
    background_ask(s->background, kind, run, runs, text);
}

void session__do(struct session *s, const struct effect *x) {
    const struct action *a = action_of(x->kind);
    if (!a) return;
    if (a->act) a->act(s, x);
    else if (a->plain) a->plain(s);
    else session__ask(s, a->work, x->run, x->runs, x->text);
}

void session__effect(struct session *s, const struct effect *x) {
    const struct action *a = action_of(x->kind);
    if (a && a->changes && s->read_only) {
        session__refuse_read_only(s);
        return;
    }
    char *line = a && a->late ? NULL : session__line(s, x);
    session__do(s, x);
    if (a && a->late) line = session__line(s, x);
    session__show_line(s, line);
}

void session__answers(struct session *s) {
    struct background_work *w;
    session__take_pictures(s);
    while ((w = background_take(s->background))) {
        if (w->kind->fills && !w->failed) s->filled[s->ui.screen].ms = w->ms;
        if (*w->message) ui_say(&s->ui, w->say, "%s", w->message);
        if (w->kind->done) w->kind->done(s, w);
        work_free(w);
        ui_changed(&s->ui);
    }
}
