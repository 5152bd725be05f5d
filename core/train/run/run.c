#include "core/train/run/run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/engine/kernel.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/share.h"
#include "core/train/run/state.h"

/* The last checkpoint is written every half minute, and after an evaluation if some seconds have passed, but
 * takes at most a hundredth of the time regardless of its size. */
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

void run_say(struct run *r, const char *text) {
    run_send(r, (struct event){ .kind = EVENT_MESSAGE, .text = text });
}

bool run_fails(struct run *r, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(r->failure, sizeof r->failure, format, args);
    va_end(args);
    return false;
}

static void set_state(struct run *r, enum run_state state, const char *text) {
    struct run_clock *t = &r->clock;
    run_lock(r);
    bool run = state == RUN_RUNNING;
    if (t->running && !run) t->before += clock_seconds() - t->span;
    if (run && !t->running) t->span = clock_seconds();
    t->running = run;
    r->control.state = state;
    run_unlock(r);
    run_send(r, (struct event){ .kind = EVENT_STATE, .state = state, .text = text });
}

static void set_phase(struct run *r, enum phase phase, int count) {
    run_lock(r);
    r->control.phase = phase;
    r->control.next = r->control.done = 0;
    r->control.count = count;
    run_unlock(r);
}

/* ---- calls inside the guard ---- */

/* The work of a worker for a run: a unit, or the end of a phase, done by one worker with exclusive access. */
struct call {
    struct run *run;
    void (*unit)(struct run *r, int index, struct worker *w); /* or NULL */
    int (*alone)(struct run *r);
    int index;
    struct worker *worker;
    int result; /* result of `alone` */
};

static void make_call(void *self) {
    struct call *x = self;
    if (x->unit) x->unit(x->run, x->index, x->worker);
    else x->result = x->alone(x->run);
}

/* Makes the call inside mem_guard(). When an allocation fails, frees the blocks of `memory` (or NULL) and
 * records the size, so that the run fails at the end of the phase; no further call is made then. */
static void guarded(struct call *x, struct arena *memory) {
    struct run *r = x->run;
    run_lock(r);
    size_t bytes = r->control.failed_bytes;
    run_unlock(r);
    if (bytes || !(bytes = mem_guard(make_call, x))) return;
    if (memory) arena_drop(memory);
    run_lock(r);
    if (!r->control.failed_bytes) r->control.failed_bytes = bytes;
    run_unlock(r);
}

/* Returns the result of the call; 0 when the run failed, also because the phase that just ended ran out of
 * memory. */
static int run_close(struct run *r, int (*alone)(struct run *r)) {
    struct call x = { .run = r, .alone = alone };
    struct err e;
    guarded(&x, r->values.prologue_arena);
    if (!r->control.failed_bytes) return x.result;
    bool score = r->control.phase == PHASE_SCORE;
    err_memory(
        &e, r->control.failed_bytes,
        "use a smaller --batch, a smaller --max-length, a higher --gradient-accumulation-steps, or fewer "
        "--workers");
    return run_fails(r, "%s %lld: %.470s", score ? "evaluation after step" : "step",
                     (long long)r->step + !score, e.text);
}

static bool score_begin(struct run *r) {
    int units = run_close(r, evaluation_prepare);
    int64_t rows = 0;
    for (int i = 0; i < units; i++) rows += evaluation_examples(r, i);
    run_lock(r);
    r->evaluation.scored = 0;
    r->evaluation.to_score = rows;
    run_unlock(r);
    if (units) set_phase(r, PHASE_SCORE, units);
    return units;
}

/* ---- phases ---- */

static void pause_here(struct run *r, enum phase resume, const char *why) {
    r->control.resume_phase = resume;
    set_state(r, RUN_PAUSED, why);
    run_lock(r);
    if (resume == PHASE_SCORE) r->control.phase = PHASE_PAUSED; /* completed chunks are not repeated */
    run_unlock(r);
    if (resume != PHASE_SCORE) set_phase(r, PHASE_PAUSED, 0);
}

static void end(struct run *r, enum run_state state, const char *text) {
    if (r->moved && state != RUN_FAILED) moved_tell(r->moved, r);
    set_state(r, state, text);
    set_phase(r, PHASE_OVER, 0);
}

/* Writes a checkpoint; if that fails the run pauses, and tries again when it continues. */
static bool run_save(struct run *r, int which) {
    struct err e = ERR_INIT;
    if (!r->folder) return true;
    double began = clock_seconds();
    if (which == CHECKPOINT_LAST) run_send(r, (struct event){ .kind = EVENT_SAVING });
    if (checkpoint_save(r, which, &e)) return run_fails(r, "cannot save the checkpoint: %.480s", e.text);
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

/* Returns whether there are best checkpoints to save; a task whose metric was never defined has none. */
static bool has_best(const struct run *r) {
    bool has = r->evaluation.best.has;
    for (int i = 0; i < r->tasks && run_keeps_each_best(r); i++) has = has && r->of[i].best.has;
    return has && (r->c.keep & KEEP_BEST);
}

bool run_save_due(double since, double took, bool evaluated) {
    return since > (evaluated ? SAVE_APART : SAVE_SECONDS) && since > SAVE_SHARE * took;
}

/* Saves the best checkpoint of the run, or of each task. */
static bool save_best(struct run *r) {
    if (!(r->c.keep & KEEP_BEST)) return true;
    if (r->evaluation.best_unsaved && !run_save(r, CHECKPOINT_BEST)) return false;
    for (int i = 0; i < r->tasks && run_keeps_each_best(r); i++)
        if (r->of[i].best_unsaved && !run_save(r, i)) return false;
    return true;
}

/* Writes the checkpoints that are due; returns false when that fails. `evaluate`: an evaluation comes next,
 * which may take long and, at the end, determines whether the last checkpoint is needed. */
static bool save_due(struct run *r, bool stopping, bool evaluate) {
    if (!save_best(r)) return false;
    const struct run_clock *t = &r->clock;
    bool due = run_save_due(run_seconds(r) - t->saved_at, t->save_seconds,
                            r->evaluation.evaluated == r->step);
    if (stopping) due = true;
    else if (run_is_done(r) && !evaluate) due = (r->c.keep & KEEP_LAST) || !has_best(r);
    return !due || run_save(r, CHECKPOINT_LAST);
}

/* The last checkpoint is for resuming; a finished run needs it only with --keep last. */
static void run_finish(struct run *r) {
    if (r->folder && !(r->c.keep & KEEP_LAST) && has_best(r)) {
        char *path = checkpoint_path(r->folder, true);
        remove(path);
        free(path);
    }
    if (r->evaluation.early) {
        char text[160];
        snprintf(text, sizeof text, "early stopping: no improvement of %s in %d evaluations",
                 r->c.metric, r->c.early_stop);
        run_say(r, text);
    }
    end(r, RUN_FINISHED, NULL);
}

static void run_fail(struct run *r) { end(r, RUN_FAILED, r->failure); }

static void keep_running(struct run *r) {
    if (!r->clock.running) set_state(r, RUN_RUNNING, NULL);
}

/* Returns whether the step at which to stop is reached and everything due there is done. */
static bool run_is_there(const struct run *r) {
    int64_t at = r->control.stop_at;
    return at && r->step >= at && r->evaluation.evaluated == r->step && !run_is_done(r);
}

/* Starts the phase after a step, an evaluation or the start; called by the worker with exclusive access. */
static void advance_run(struct run *r) {
    share_tell(r);
    run_lock(r);
    bool stop = r->control.want_stop, pause = r->control.want_pause;
    run_unlock(r);
    bool evaluate = evaluation_due(r) || watch_due(r) || samples_due(r);
    bool stopping = (stop && (evaluate || test_due(r) || !run_is_done(r))) || (!evaluate && run_is_there(r));
    bool saved = save_due(r, stopping, evaluate || test_due(r));
    if (!saved && stop) {
        end(r, RUN_STOPPED, r->failure);
    } else if (!saved) {
        run_lock(r);
        r->control.want_pause = true;
        run_unlock(r);
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
    } else if (keep_running(r), (stage_is_over(r) && !stage_next(r)) || !run_close(r, step_prepare)) {
        run_fail(r);
    } else {
        set_phase(r, r->join.on ? PHASE_FORWARD : PHASE_STEP, r->batch.cut.parts);
    }
}

/* ---- units ---- */

static enum run_take take_next(struct run *r, struct unit *u, enum unit_kind kind) {
    *u = (struct unit){ r, kind, kind == UNIT_BEGIN ? 0 : r->control.next++ };
    r->control.in_progress++;
    return RUN_TOOK;
}

static enum run_take take_alone(struct run *r, struct unit *u) {
    return r->control.in_progress ? RUN_BUSY : take_next(r, u, UNIT_BEGIN);
}

static enum run_take take_locked(struct run *r, struct unit *u) {
    static const enum unit_kind kind[] = {
        [PHASE_FORWARD] = UNIT_FORWARD, [PHASE_STEP] = UNIT_PART, [PHASE_UPDATE] = UNIT_UPDATE,
        [PHASE_SCORE] = UNIT_CHUNK
    };
    const struct run_control *k = &r->control;
    switch (k->phase) {
    case PHASE_BEGIN: return take_alone(r, u);
    case PHASE_SCORE:
        if (k->want_stop || k->want_pause) return take_alone(r, u); /* fall through */
    case PHASE_FORWARD: case PHASE_STEP: case PHASE_UPDATE:
        return k->next < k->count ? take_next(r, u, kind[k->phase]) : RUN_BUSY;
    case PHASE_PAUSED: return k->want_stop || !k->want_pause ? take_alone(r, u) : RUN_IDLE;
    case PHASE_OVER: break;
    }
    return RUN_OVER;
}

enum run_take run_take(struct run *r, struct unit *u) {
    run_lock(r);
    enum run_take got = take_locked(r, u);
    run_unlock(r);
    return got;
}

/* Start, end of a pause, or a request during an evaluation. */
static void train_run_begin(struct run *r) {
    run_lock(r);
    enum phase phase = r->control.phase;
    bool stop = r->control.want_stop, pause = r->control.want_pause;
    run_unlock(r);
    if (phase == PHASE_SCORE && !stop) {
        if (pause) pause_here(r, PHASE_SCORE, NULL);
    } else if (phase == PHASE_PAUSED && !stop && r->control.resume_phase == PHASE_SCORE) {
        set_state(r, RUN_RUNNING, NULL);
        run_lock(r);
        r->control.phase = PHASE_SCORE;
        run_unlock(r);
    } else {
        advance_run(r);
    }
}

/* Waits for the preceding parts, then adds the gradients of this part; returns true for the last part. */
static bool add_in_turn(struct run *r, int index, const struct worker *w) {
    struct run_control *k = &r->control;
    run_lock(r);
    while (k->done != index) pthread_cond_wait(&k->turn, &r->lock);
    bool lacks = k->failed_bytes;
    run_unlock(r);
    if (!lacks) values_add(r, index, step_tape(r, index, w), index ? w->grads : r->values.sum);
    run_lock(r);
    bool last = ++k->done == k->count;
    pthread_cond_broadcast(&k->turn);
    run_unlock(r);
    return last;
}

/* `scored`: examples of an evaluation. */
static bool count_unit(struct run *r, int64_t scored) {
    run_lock(r);
    r->evaluation.scored += scored;
    bool last = ++r->control.done == r->control.count;
    run_unlock(r);
    return last;
}

/* Starts the update of the parameters after the last part; a single slice is updated at once.  Returns false
 * when the run failed; *advance: whether the step is finished. */
static bool update_begin(struct run *r, struct worker *w, bool *advance) {
    int slices = run_close(r, step_sum) - 1;
    *advance = slices < 2;
    if (slices < 0) return false;
    if (slices == 1) step_update(r, 0, w);
    if (*advance) return run_close(r, step_finish);
    set_phase(r, PHASE_UPDATE, slices);
    return true;
}

void run_work(struct unit *u, struct worker *w) {
    static void (*const unit[])(struct run *, int, struct worker *) = {
        [UNIT_FORWARD] = step_forward, [UNIT_PART] = step_part, [UNIT_UPDATE] = step_update,
        [UNIT_CHUNK] = evaluation_chunk
    };
    struct run *r = u->run;
    struct call x = { .run = r, .unit = unit[u->kind], .index = (int)u->index, .worker = w };
    bool good = true, advance = false;
    footprint_begin(w);
    if (x.unit) {
        guarded(&x, w->arena);
        footprint_end(r, w);
    }
    switch ((enum unit_kind)u->kind) {
    case UNIT_BEGIN: train_run_begin(r); break;
    case UNIT_FORWARD:
        if (!count_unit(r, 0)) break;
        if ((good = run_close(r, step_join))) set_phase(r, PHASE_STEP, r->batch.cut.parts);
        break;
    case UNIT_PART:
        if (add_in_turn(r, x.index, w)) good = update_begin(r, w, &advance);
        break;
    case UNIT_UPDATE:
        if ((advance = count_unit(r, 0))) good = run_close(r, step_finish);
        break;
    case UNIT_CHUNK:
        if ((advance = count_unit(r, evaluation_examples(r, x.index))))
            good = run_close(r, evaluation_finish);
        break;
    }
    if (!good) run_fail(r);
    else if (advance) advance_run(r);
    run_lock(r);
    r->control.in_progress--;
    run_unlock(r);
}

struct attach *run_attach(struct run *r, struct worker *w) {
    struct attach **a = &r->values.attach[w->index];
    struct mem_guard *guard = mem_guard_pause(); /* many small allocations */
    if (!*a) *a = attach_new(r->plan, r->m);
    mem_guard_resume(guard);
    return *a;
}

/* ---- requests and queries ---- */

static void want(struct run *r, bool *which, bool value) {
    run_lock(r);
    *which = value;
    run_unlock(r);
}

void run_pause(struct run *r) { want(r, &r->control.want_pause, true); }
void run_unpause(struct run *r) { want(r, &r->control.want_pause, false); }
void run_stop(struct run *r) { want(r, &r->control.want_stop, true); }

bool run_wants_stop(struct run *r) {
    run_lock(r);
    bool wants = r->control.want_stop;
    run_unlock(r);
    return wants;
}

void run_stop_at(struct run *r, int64_t step) { r->control.stop_at = step; }

/* Estimates the seconds of remaining evaluations from the last one. */
static double evaluation_seconds_left(const struct run *r) {
    int64_t every = evaluation_every(r);
    int64_t left = (r->c.steps - r->step + every - 1) / every;
    return (double)left * r->evaluation.seconds;
}

void run_progress(struct run *r, struct run_progress *out) {
    struct run_clock *t = &r->clock;
    run_lock(r);
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
    run_unlock(r);
}

const struct plan *run_plan(const struct run *r) { return r->plan; }
const struct run_config *run_config_of(const struct run *r) { return &r->c; }
real *run_params(struct run *r) { return r->values.params; }
