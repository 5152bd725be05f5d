#include "core/train/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/share.h"
#include "core/train/run/state.h"

/* The file to resume from is written each half minute, and with an evaluation where some seconds lie
 * between, but takes at most a hundredth of the time, however large it is. */
enum { SAVE_SECONDS = 30, SAVE_APART = 2, SAVE_SHARE = 100 };

double run_seconds(const struct run *r) {
    return r->clock.before + (r->clock.running ? clock_seconds() - r->clock.span : 0);
}

void run_send(struct run *r, struct event e) {
    if (!r->sink.send) return;
    e.run = r->id;
    e.step = r->step;
    e.seconds = run_seconds(r);
    struct mem_guard *guard = mem_guard_pause(); /* the receiver takes locks */
    r->sink.send(r->sink.self, &e);
    mem_guard_resume(guard);
}

void run_set_state(struct run *r, enum run_state state, const char *text) {
    struct run_clock *t = &r->clock;
    pthread_mutex_lock(&r->lock);
    bool run = state == RUN_RUNNING;
    if (t->running && !run) t->before += clock_seconds() - t->span;
    if (run && !t->running) t->span = clock_seconds();
    t->running = run;
    r->control.state = state;
    pthread_mutex_unlock(&r->lock);
    run_send(r, (struct event){ .kind = EVENT_STATE, .state = state, .text = text });
}

static void set_phase(struct run *r, enum phase phase, int count) {
    pthread_mutex_lock(&r->lock);
    r->control.phase = phase;
    r->control.next = r->control.done = 0;
    r->control.count = count;
    pthread_mutex_unlock(&r->lock);
}

bool run_guarded(struct run *r, struct arena *memory, void (*call)(void *self), void *self) {
    pthread_mutex_lock(&r->lock);
    size_t lacks = r->control.lacks;
    pthread_mutex_unlock(&r->lock);
    if (lacks) return false; /* the run fails when the phase ends */
    if (!(lacks = mem_guard(call, self))) return true;
    if (memory) arena_drop(memory);
    pthread_mutex_lock(&r->lock);
    if (!r->control.lacks) r->control.lacks = lacks;
    pthread_mutex_unlock(&r->lock);
    return false;
}

/* Whether a unit of the phase that has just ended ran out of memory; r->failure then says so. */
static bool run_lacks(struct run *r) {
    if (!r->control.lacks) return false;
    snprintf(r->failure, sizeof r->failure,
             "%s %lld: out of memory: a block of %zu bytes could not be allocated; use a smaller --batch, a "
             "smaller --max-length, a higher --gradient-accumulation-steps, or fewer --workers",
             r->control.phase == PHASE_SCORE ? "evaluation after step" : "step",
             (long long)r->step + (r->control.phase != PHASE_SCORE), r->control.lacks);
    return true;
}

/* ---- calls inside the guard ---- */

/* What a worker does for a run, and whether the run goes on. */
struct call {
    struct run *run;
    int index;
    struct worker *worker;
    int units;
    bool good;
};

static void call_step_prepare(void *self) { step_prepare(((struct call *)self)->run); }
static void call_evaluation_prepare(void *self) {
    struct call *x = self;
    x->units = evaluation_prepare(x->run);
}
static void call_step_forward(void *self) {
    struct call *x = self;
    step_forward(x->run, x->index, x->worker);
}
static void call_step_join(void *self) { step_join(((struct call *)self)->run); }
static void call_step_part(void *self) {
    struct call *x = self;
    step_part(x->run, x->index, x->worker);
}
static void call_step_finish(void *self) {
    struct call *x = self;
    x->good = step_finish(x->run);
}
static void call_evaluation_chunk(void *self) {
    struct call *x = self;
    evaluation_chunk(x->run, x->index, x->worker);
}
static void call_evaluation_finish(void *self) {
    struct call *x = self;
    x->good = evaluation_finish(x->run);
}

/* A call by the worker that holds the run alone, after all units of a phase: true when the run goes on. */
static bool run_close(struct run *r, void (*call)(void *self)) {
    struct call x = { .run = r, .good = true };
    run_guarded(r, r->values.prologue_arena, call, &x);
    return !run_lacks(r) && x.good;
}

static bool score_begin(struct run *r) {
    struct call x = { .run = r };
    if (!run_guarded(r, r->values.prologue_arena, call_evaluation_prepare, &x)) return !run_lacks(r);
    int64_t rows = 0;
    for (int i = 0; i < x.units; i++) rows += evaluation_rows(r, i);
    pthread_mutex_lock(&r->lock);
    r->evaluation.scored = 0;
    r->evaluation.to_score = rows;
    pthread_mutex_unlock(&r->lock);
    set_phase(r, PHASE_SCORE, x.units);
    return true;
}

/* ---- what comes next ---- */

static void pause_here(struct run *r, enum phase resume, const char *why) {
    r->control.resume_phase = resume;
    run_set_state(r, RUN_PAUSED, why);
    pthread_mutex_lock(&r->lock);
    if (resume == PHASE_SCORE) r->control.phase = PHASE_PAUSED; /* chunks done stay done */
    pthread_mutex_unlock(&r->lock);
    if (resume != PHASE_SCORE) set_phase(r, PHASE_PAUSED, 0);
}

static void end(struct run *r, enum run_state state, const char *text) {
    if (r->moved && state != RUN_FAILED) moved_tell(r->moved, r);
    run_set_state(r, state, text);
    set_phase(r, PHASE_OVER, 0);
}

/* Writes one checkpoint; when it cannot be written the run pauses, and tries again when it
 * is set going. */
static bool run_save(struct run *r, int which) {
    struct err e = ERR_INIT;
    if (!r->folder) return true;
    double began = clock_seconds();
    if (which == CHECKPOINT_LAST) run_send(r, (struct event){ .kind = EVENT_SAVING });
    if (checkpoint_save(r, which, &e)) {
        snprintf(r->failure, sizeof r->failure, "no checkpoint: %.480s", e.text);
        return false;
    }
    if (which == CHECKPOINT_LAST) {
        r->clock.saved_at = run_seconds(r);
        r->clock.save_seconds = clock_seconds() - began;
    } else if (which == CHECKPOINT_BEST) {
        r->evaluation.best_unsaved = false;
    } else {
        r->of[which].best_unsaved = false;
    }
    return true;
}

/* Whether there is a best state for whoever asks; a task whose metric never had a value has none of its
 * own. */
static bool has_best(const struct run *r) {
    bool has = r->evaluation.best.has;
    for (int i = 0; i < r->tasks && run_keeps_each_best(r); i++) has = has && r->of[i].best.has;
    return has && (r->c.keep & KEEP_BEST);
}

bool run_save_due(double since, double took, bool evaluated) {
    return since > (evaluated ? SAVE_APART : SAVE_SECONDS) && since > SAVE_SHARE * took;
}

/* The run's best state, or each task's own. */
static bool save_best(struct run *r) {
    if (!(r->c.keep & KEEP_BEST)) return true;
    if (r->evaluation.best_unsaved && !run_save(r, CHECKPOINT_BEST)) return false;
    for (int i = 0; i < r->tasks && run_keeps_each_best(r); i++)
        if (r->of[i].best_unsaved && !run_save(r, i)) return false;
    return true;
}

/* Writes what is due; false when the disk refuses.  `evaluate`: an evaluation comes next, which may take
 * long and, at the end, decides whether the last file is wanted. */
static bool save_due(struct run *r, bool stopping, bool evaluate) {
    if (!save_best(r)) return false;
    const struct run_clock *t = &r->clock;
    bool due = run_save_due(run_seconds(r) - t->saved_at, t->save_seconds,
                            r->evaluation.evaluated == r->step);
    if (stopping) due = true;
    else if (run_is_done(r) && !evaluate) due = (r->c.keep & KEEP_LAST) || !has_best(r);
    return !due || run_save(r, CHECKPOINT_LAST);
}

/* The last checkpoint is for resuming; a finished run needs it only when it was asked for. */
static void run_finish(struct run *r) {
    if (r->folder && !(r->c.keep & KEEP_LAST) && has_best(r)) {
        char *path = checkpoint_path(r->folder, true);
        remove(path);
        free(path);
    }
    if (r->evaluation.early) {
        char text[160];
        snprintf(text, sizeof text, "stopped early: no better %s for %d evaluations",
                 r->c.metric, r->c.early_stop);
        run_send(r, (struct event){ .kind = EVENT_MESSAGE, .text = text });
    }
    end(r, RUN_FINISHED, NULL);
}

static void run_fail(struct run *r) { end(r, RUN_FAILED, r->failure); }

static void keep_running(struct run *r) {
    if (!r->clock.running) run_set_state(r, RUN_RUNNING, NULL);
}

/* Whether it has come to where it is to stop, and all is done that is due there. */
static bool run_is_there(const struct run *r) {
    int64_t at = r->control.stop_at;
    return at && r->step >= at && r->evaluation.evaluated == r->step && !run_is_done(r);
}

void run_advance(struct run *r) {
    share_tell(r);
    pthread_mutex_lock(&r->lock);
    bool stop = r->control.want_stop, pause = r->control.want_pause;
    pthread_mutex_unlock(&r->lock);
    bool evaluate = evaluation_due(r) || watch_due(r) || samples_due(r);
    bool stopping = (stop && (evaluate || test_due(r) || !run_is_done(r))) || (!evaluate && run_is_there(r));
    bool saved = save_due(r, stopping, evaluate || test_due(r));
    if (!saved && stop) {
        end(r, RUN_STOPPED, r->failure);
    } else if (!saved) {
        pthread_mutex_lock(&r->lock);
        r->control.want_pause = true;
        pthread_mutex_unlock(&r->lock);
        pause_here(r, PHASE_BEGIN, r->failure);
    } else if (stopping) {
        end(r, RUN_STOPPED, NULL);
    } else if (!evaluate && run_is_done(r) && !test_ready(r)) {
        run_finish(r);
    } else if (pause) {
        pause_here(r, PHASE_BEGIN, NULL);
    } else if (evaluate || r->final.on) {
        keep_running(r);
        if (!score_begin(r)) run_fail(r);
    } else if (keep_running(r), (stage_is_over(r) && !stage_next(r)) || !run_close(r, call_step_prepare)) {
        run_fail(r);
    } else {
        set_phase(r, r->join.on ? PHASE_FORWARD : PHASE_STEP, r->batch.cut.parts);
    }
}

/* ---- units ---- */

static enum run_take take_next(struct run *r, struct unit *u, enum unit_kind kind) {
    *u = (struct unit){ r, kind, kind == UNIT_BEGIN ? 0 : r->control.next++ };
    r->control.in_hand++;
    return RUN_TOOK;
}

static enum run_take take_alone(struct run *r, struct unit *u) {
    return r->control.in_hand ? RUN_BUSY : take_next(r, u, UNIT_BEGIN);
}

enum run_take run_take(struct run *r, struct unit *u) {
    enum run_take got = RUN_BUSY;
    pthread_mutex_lock(&r->lock);
    switch (r->control.phase) {
    case PHASE_BEGIN: got = take_alone(r, u); break;
    case PHASE_FORWARD:
        if (r->control.next < r->control.count) got = take_next(r, u, UNIT_FORWARD);
        break;
    case PHASE_STEP:
        if (r->control.next < r->control.count) got = take_next(r, u, UNIT_PART);
        break;
    case PHASE_SCORE:
        if (r->control.want_stop || r->control.want_pause) got = take_alone(r, u);
        else if (r->control.next < r->control.count) got = take_next(r, u, UNIT_CHUNK);
        break;
    case PHASE_PAUSED:
        got = r->control.want_stop || !r->control.want_pause ? take_alone(r, u) : RUN_IDLE;
        break;
    case PHASE_OVER: got = RUN_OVER; break;
    }
    pthread_mutex_unlock(&r->lock);
    return got;
}

/* Start, end of a pause, or a request that came during an evaluation. */
static void train_run_begin(struct run *r) {
    pthread_mutex_lock(&r->lock);
    enum phase phase = r->control.phase;
    bool stop = r->control.want_stop, pause = r->control.want_pause;
    pthread_mutex_unlock(&r->lock);
    if (phase == PHASE_SCORE && !stop) {
        if (pause) pause_here(r, PHASE_SCORE, NULL);
    } else if (phase == PHASE_PAUSED && !stop && r->control.resume_phase == PHASE_SCORE) {
        run_set_state(r, RUN_RUNNING, NULL);
        pthread_mutex_lock(&r->lock);
        r->control.phase = PHASE_SCORE;
        pthread_mutex_unlock(&r->lock);
    } else {
        run_advance(r);
    }
}

/* Waits for the parts before it, then adds this one's gradients; true for the last. */
static bool add_in_turn(struct run *r, int index, const struct worker *w) {
    struct run_control *k = &r->control;
    pthread_mutex_lock(&r->lock);
    while (k->done != index) pthread_cond_wait(&k->turn, &r->lock);
    bool lacks = k->lacks;
    pthread_mutex_unlock(&r->lock);
    if (index && !lacks)
        kernel_add_to(r->plan->trained + r->plan->made_size, 1, w->grads, r->values.sum);
    pthread_mutex_lock(&r->lock);
    bool last = ++k->done == k->count;
    pthread_cond_broadcast(&k->turn);
    pthread_mutex_unlock(&r->lock);
    return last;
}

/* `scored`: rows of an evaluation. */
static bool count_unit(struct run *r, int64_t scored) {
    pthread_mutex_lock(&r->lock);
    r->evaluation.scored += scored;
    bool last = ++r->control.done == r->control.count;
    pthread_mutex_unlock(&r->lock);
    return last;
}

void run_work(struct unit *u, struct worker *w) {
    struct run *r = u->run;
    int index = (int)u->index;
    struct call x = { r, index, w, 0, true };
    bool good = true, advance = false;
    footprint_begin(w);
    switch ((enum unit_kind)u->kind) {
    case UNIT_BEGIN: train_run_begin(r); break;
    case UNIT_FORWARD:
        run_guarded(r, w->arena, call_step_forward, &x);
        footprint_end(r, w);
        if (!count_unit(r, 0)) break;
        if ((good = run_close(r, call_step_join))) set_phase(r, PHASE_STEP, r->batch.cut.parts);
        break;
    case UNIT_PART:
        run_guarded(r, w->arena, call_step_part, &x);
        footprint_end(r, w);
        if ((advance = add_in_turn(r, index, w))) good = run_close(r, call_step_finish);
        break;
    case UNIT_CHUNK:
        run_guarded(r, w->arena, call_evaluation_chunk, &x);
        footprint_end(r, w);
        if ((advance = count_unit(r, evaluation_rows(r, index)))) good = run_close(r, call_evaluation_finish);
        break;
    }
    if (!good) run_fail(r);
    else if (advance) run_advance(r);
    pthread_mutex_lock(&r->lock);
    r->control.in_hand--;
    pthread_mutex_unlock(&r->lock);
}

struct attach *run_attach(struct run *r, struct worker *w) {
    struct attach **a = &r->values.attach[w->index];
    struct mem_guard *guard = mem_guard_pause(); /* small, and of many pieces */
    if (!*a) *a = attach_new(r->plan, r->m);
    mem_guard_resume(guard);
    return *a;
}

/* ---- requests and answers ---- */

void run_pause(struct run *r) {
    pthread_mutex_lock(&r->lock);
    r->control.want_pause = true;
    pthread_mutex_unlock(&r->lock);
}

void run_unpause(struct run *r) {
    pthread_mutex_lock(&r->lock);
    r->control.want_pause = false;
    pthread_mutex_unlock(&r->lock);
}

bool run_wants_stop(struct run *r) {
    pthread_mutex_lock(&r->lock);
    bool wants = r->control.want_stop;
    pthread_mutex_unlock(&r->lock);
    return wants;
}

void run_stop(struct run *r) {
    pthread_mutex_lock(&r->lock);
    r->control.want_stop = true;
    pthread_mutex_unlock(&r->lock);
}

void run_stop_at(struct run *r, int64_t step) { r->control.stop_at = step; }

/* What evaluations will still take, from the last one. */
static double evaluation_seconds_left(const struct run *r) {
    int64_t every = evaluation_every(r);
    int64_t left = (r->c.steps - r->step + every - 1) / every;
    return (double)left * r->evaluation.seconds;
}

void run_progress(struct run *r, struct run_progress *out) {
    struct run_clock *t = &r->clock;
    pthread_mutex_lock(&r->lock);
    *out = (struct run_progress){
        .state = r->control.state, .step = r->step, .steps = r->c.steps, .loss = r->control.loss,
        .seconds = run_seconds(r),
    };
    if (r->control.phase == PHASE_SCORE) {
        out->scored = r->evaluation.scored;
        out->to_score = r->evaluation.to_score;
    }
    out->tokens_per_second = t->rate_seconds > 0 ? t->rate_tokens / t->rate_seconds : 0;
    if (t->rate_steps > 0)
        out->seconds_left = (double)(r->c.steps - r->step) * t->rate_seconds / t->rate_steps +
                            evaluation_seconds_left(r);
    if (r->control.phase == PHASE_OVER) out->seconds_left = 0;
    pthread_mutex_unlock(&r->lock);
}

const struct plan *run_plan(const struct run *r) { return r->plan; }
const struct run_config *run_config_of(const struct run *r) { return &r->c; }
real *run_params(struct run *r) { return r->values.params; }
