/* Sweeps, and comparisons of runs. */
#include <stdio.h>
#include <stdlib.h>

#include "app/session/session_private.h"
#include "core/base/text.h"

/* ---- Compare ---- */

/* By the metric in text, "": the primary metric of each; flag: also across different evaluation sets. */
static int read_compared(struct background_work *w) {
    struct compared_page *page = NULL;
    int rc = compared_page_read(w->store, w->run, w->runs, w->text, w->flag, &page, &w->e);
    w->made = page;
    return rc;
}

static void take_compared(struct session *s, struct background_work *w) {
    struct compare_view *v = &s->ui.compare;
    struct compared_page *page = w->made;
    v->busy = false;
    snprintf(v->failed, sizeof v->failed, "%s", page ? "" : w->message);
    v->data = page ? page->data : (struct compare_data){ 0 };
    w->made = s->sweep.compared;
    s->sweep.compared = page;
}

static void drop_compared(struct background_work *w) { compared_page_free(w->made); }

static void do_compare(struct session *s, const struct effect *x) {
    static const struct work_kind kind = {
        LANE_SCREENS, read_compared, take_compared, .drop = drop_compared, .fills = true
    };
    struct background_work *w = work_new(&kind, x->run, x->runs, x->text);
    w->flag = x->keep;
    background_do(s->background, w);
}

static void line_compare(const struct session *s, struct buf *b, const struct effect *x) {
    line_verb(s, b, "compare");
    line_runs(b, x->run, x->runs);
    text_shell_option(b, "metric", x->text);
    if (x->keep) buf_puts(b, " --mixed");
}

/* ---- the list of sweeps, and the page of run 0 (0: none) ---- */

static int read_swept(struct background_work *w) {
    struct swept_page *page = NULL;
    int rc = swept_page_read(w->store, w->run[0], w->room->sweeping, &page, &w->e);
    w->made = page;
    return rc;
}

static void take_swept(struct session *s, struct background_work *w) {
    struct sweep_view *v = &s->ui.sweep;
    struct swept_page *page = w->made;
    snprintf(v->failed, sizeof v->failed, "%s", page ? "" : w->message);
    if (!page) return;
    v->item = page->item;
    v->items = page->items;
    v->page = page->page;
    w->made = s->sweep.swept;
    s->sweep.swept = page;
}

static void drop_swept(struct background_work *w) { swept_page_free(w->made); }

void session__ask_sweeps(struct session *s) {
    static const struct work_kind kind = {
        LANE_SCREENS, read_swept, take_swept, .drop = drop_swept, .once = true, .fills = true
    };
    session__ask(s, &kind, &s->ui.sweep.open, 1, NULL);
}

/* ---- sweeps of this process ---- */

/* Starts the next runs after the request; count: sweeps run by this process. */
static int step(struct background_work *w, int rc) {
    char *said = NULL;
    struct err own = ERR_INIT;
    int stepped =
        sweeping_step(w->room->sweeping, &w->count, &said, rc ? &own : &w->e);
    if (!rc && !stepped && said) work_say(w, SAY_ERROR, "%s", said);
    free(said);
    return rc ? rc : stepped;
}

static int work_on(struct background_work *w) {
    return step(w, 0);
}

static int begin(struct background_work *w) {
    int rc = sweeping_begin(w->room->sweeping, w->text, &w->number, &w->e);
    if (!rc) work_say(w, SAY_GOOD, "sweep %lld started (R: continue, K: stop)", (long long)w->number);
    return step(w, rc);
}

static int go_on(struct background_work *w, const char *more) {
    int rc = sweeping_go(w->room->sweeping, w->run[0], more, &w->e);
    if (!rc) work_say(w, SAY_INFO, "sweep %lld continues", (long long)w->run[0]);
    return step(w, rc);
}

static int go(struct background_work *w) {
    return go_on(w, NULL);
}
static int extend(struct background_work *w) {
    return go_on(w, w->text);
}

static int stop(struct background_work *w) {
    int rc = sweeping_stop(w->room->sweeping, w->run[0], &w->e);
    if (!rc)
        work_say(w, SAY_INFO, "asked all processes of sweep %lld to stop; each run saves a checkpoint",
                 (long long)w->run[0]);
    return step(w, rc);
}

/* Started and ended runs are shown immediately. */
static void take_working(struct session *s, struct background_work *w) {
    s->sweep.sweeps = w->count;
    if (w->number) {
        sweep_open(&s->ui.sweep, w->number);
        ui_show(&s->ui, SCREEN_SWEEP);
    }
    session__ask_sweeps(s);
}

static void take_step(struct session *s, struct background_work *w) {
    s->sweep.stepping = false;
    if (s->sweep.sweeps != w->count) take_working(s, w);
}

void session__step_sweeps(struct session *s) {
    static const struct work_kind kind = { LANE_SCREENS, work_on, take_step, .alone = true };
    s->sweep.stepping = true;
    session__ask(s, &kind, NULL, 0, NULL);
}

static const struct work_kind begin_work = { LANE_SCREENS, begin, take_working, .alone = true },
                              go_work = { LANE_SCREENS, go, .done = take_working },
                              stop_work = { LANE_SCREENS, stop, .done = take_working },
                              extend_work = { LANE_SCREENS, extend, .done = take_working };

static void line_begin(const struct session *s, struct buf *b, const struct effect *x) {
    line_verb(s, b, "sweep ");
    buf_puts(b, x->text);
}

static void line_extend(const struct session *s, struct buf *b, const struct effect *x) {
    (void)s;
    if (*x->text) buf_printf(b, " %s", x->text);
}

const struct action sweep_actions[] = {
    { EFFECT_COMPARE, do_compare, .line = line_compare },
    { EFFECT_SWEEPS, .plain = session__ask_sweeps },
    { EFFECT_SWEEP_NEW, .changes = true, .work = &begin_work, .line = line_begin },
    { EFFECT_SWEEP_GO, .changes = true, .work = &go_work, .verb = "sweep resume" },
    { EFFECT_SWEEP_STOP, .changes = true, .work = &stop_work, .verb = "sweep stop" },
    {
        EFFECT_SWEEP_EXTEND, .changes = true, .work = &extend_work, .verb = "sweep extend", .line =
        line_extend
    },
    { .kind = EFFECT_NONE },
};

void session__sweep_release(struct session *s) {
    compared_page_free(s->sweep.compared);
    swept_page_free(s->sweep.swept);
    sweeping_free(s->room.sweeping);
}
