#include "app/sweep/sweep_work.h"

#include <stdlib.h>
#include <string.h>

#include "app/sweep/halving.h"
#include "app/sweep/tune.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

/* Interval of polling for changes by other processes when there is nothing to do here. */
enum { LOOK_MS = 200 };

/* A run to start: a cell's run with a seed, or a leader's run at a learning rate. */
struct unit_of_work {
    int cell, seed, rate; /* seed or rate −1 */
    double lr;            /* that learning rate; its index changes when rates are added */
    char key[65];
};
/* A run that this process has started and holds. */
struct in_work {
    struct unit_of_work unit;
    int64_t run;
};

struct sweep_work {
    struct sweep_plan *plan;
    struct store *store;
    struct jobs *jobs;
    struct sweep_worker how;
    struct in_work *live;
    int live_count;
    /* per cell and seed */
    int *tried;      /* started here before: its rung then, plus 1 */
    bool *
        resumable; /* stopped before this work began; runs stopped since then stay stopped */
    int64_t asked;   /* time of the last request to stop all, before this work began */
    int64_t look_at; /* next time to poll for changes by other processes, clock_ms */
    bool stopping;
    bool looked;     /* the last step polled for changes by other processes */
    bool spent;      /* the budget is exhausted: active runs continue, no others are started */
    char (*tried_rate)[65]; /* keys of tuning runs started here before */
    size_t tried_rates, tried_room;
};

static int sweep_work_at(const struct sweep_work *w, int cell, int seed) {
    return cell * w->plan->spec.seeds + seed;
}

static bool was_tried(const struct sweep_work *w, const struct unit_of_work *u) {
    if (u->rate < 0) return w->tried[sweep_work_at(w, u->cell, u->seed)] > halving_level(w->plan, u->cell);
    for (size_t i = 0; i < w->tried_rates; i++)
        if (!strcmp(w->tried_rate[i], u->key)) return true;
    return false;
}

static void try_now(struct sweep_work *w, const struct unit_of_work *u) {
    if (u->rate < 0) {
        w->tried[sweep_work_at(w, u->cell, u->seed)] = halving_level(w->plan, u->cell) + 1;
        return;
    }
    GROW(w->tried_rate, w->tried_room, w->tried_rates + 1);
    memcpy(w->tried_rate[w->tried_rates++], u->key, sizeof u->key);
}

static struct unit_of_work unit(const struct sweep_work *w, int cell, int seed, int rate) {
    const struct sweep_entry *x = &w->plan->entry[cell];
    struct unit_of_work u = {
        .cell = cell, .seed = seed, .rate = rate, .lr = rate >= 0 ? x->tune->rate[rate].rate : 0
    };
    memcpy(u.key, rate >= 0 ? x->tune->rate[rate].key : x->key[seed], sizeof u.key);
    return u;
}

static struct sweep_found found(const struct sweep_work *w, const struct unit_of_work *u) {
    const struct sweep_entry *x = &w->plan->entry[u->cell];
    return u->rate >= 0 ? x->tune->rate[u->rate].found : x->found[u->seed];
}

struct sweep_work *sweep_work_new(struct sweep_plan *p, struct store *s, struct jobs *j,
                                  const struct sweep_worker *how, struct err *e) {
    int64_t asked;
    if (!how->begin && sweep_plan_no_draws(p, e)) return NULL;
    if (sweep_plan_find(p, s, e) || store_sweep_stopped(s, p->id, &asked, e)) return NULL;
    struct sweep_work *w = xcalloc(1, sizeof *w);
    *w = (struct sweep_work){ .plan = p, .store = s, .jobs = j, .how = *how, .asked = asked };
    w->live = xcalloc((size_t)how->at_once, sizeof *w->live);
    size_t n = (size_t)p->cells.count * (size_t)p->spec.seeds + 1;
    w->tried = xcalloc(n, sizeof *w->tried);
    w->resumable = xcalloc(n, sizeof *w->resumable);
    for (int i = 0; i < p->cells.count; i++)
        for (int k = 0; k < p->spec.seeds; k++)
            w->resumable[sweep_work_at(w, i, k)] = p->entry[i].found[k].run &&
                                                   p->entry[i].found[k].state == STORE_STOPPED;
    return w;
}

void sweep_work_free(struct sweep_work *w) {
    if (!w) return;
    for (int i = 0; i < w->live_count; i++) store_let_go(w->store, w->live[i].unit.key);
    free(w->live);
    free(w->tried);
    free(w->tried_rate);
    free(w->resumable);
    free(w);
}

void sweep_work_stop(struct sweep_work *w) {
    struct err ignored = ERR_INIT; /* already ended */
    w->stopping = true;
    for (int i = 0; i < w->live_count; i++) jobs_stop(w->jobs, w->live[i].run, &ignored);
}

int64_t sweep_work_run(const struct sweep_work *w) { return w->live_count ? w->live[0].run : 0; }

/* ---- runs of this process ---- */

/* The reason is stored with the cell. */
static int keep_failure(struct sweep_work *w, const struct unit_of_work *u, const struct err *why,
                        struct err *e) {
    char *what = u->rate >= 0 ? xprintf("learning rate %g", u->lr)
                              : xprintf("seed %llu", (unsigned long long)w->plan->spec.seed[u->seed]);
    char *line = xprintf("cell %d, %s: %s", u->cell + 1, what, why->text);
    w->how.say(w->how.self, line);
    free(line);
    free(what);
    return store_sweep_failure(w->store, w->plan->id, u->key, why->text, e);
}

/* Releases ended runs.  *any: there were some. */
static int sweep_work_put_away(struct sweep_work *w, bool *any, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < w->live_count;) {
        struct in_work x = w->live[i];
        struct err why = ERR_INIT;
        if (!jobs_wait(w->jobs, x.run, 0)) {
            i++;
            continue;
        }
        if (jobs_failure(w->jobs, x.run, &why))
            rc = w->how.begin ? (*e = why, why.code) : keep_failure(w, &x.unit, &why, e);
        else rc = store_flush(w->store, e); /* the next holder reads its results */
        store_let_go(w->store, x.unit.key);
        w->live[i] = w->live[--w->live_count];
        *any = true;
    }
    return rc;
}

static int ask(struct sweep_work *w, const struct unit_of_work *u, int64_t stop_at, int64_t *run,
               struct err *e) {
    struct job_request r = { .sweep = w->plan->id,
                             .note = w->plan->spec.note,
                             .tag = u->rate >= 0 ? TUNE_TAG : NULL,
                             .stop_at = stop_at,
                             .force = w->how.force };
    int rc = u->rate >= 0 ? tune_config(w->plan, u->cell, u->rate, &r.config, e)
                          : sweep_plan_config(w->plan, u->cell, w->plan->spec.seed[u->seed], &r.config, e);
    if (!rc) rc = jobs_start(w->jobs, &r, run, e);
    config_release(&r.config);
    return rc;
}

/* Starts or resumes the run, whose key this process holds and whose state is current.  *started false:
 * another process is working on it. */
static int begin_run(struct sweep_work *w, const struct unit_of_work *u, bool *started, struct err *e) {
    struct err why = ERR_INIT;
    int64_t run = found(w, u).run;
    int rc;
    *started = false;
    if (run) {
        struct store_run stored;
        if (store_run(w->store, run, &stored, e)) return e->code;
        bool live = store_state_is_live(stored.state);
        store_run_release(&stored);
        if (live) return 0;
    }
    try_now(w, u);
    int64_t stop_at = u->rate >= 0 ? 0 : halving_stop_at(w->plan, u->cell);
    rc = w->how.begin ? w->how.begin(w->how.self, u->cell, u->seed, &run, &why)
         : run        ? jobs_resume_to(w->jobs, run, stop_at, w->how.force, &why)
                      : ask(w, u, stop_at, &run, &why);
    if (rc == ERR_DATABASE || (rc && w->how.begin)) return *e = why, rc;
    if (rc) return keep_failure(w, u, &why, e);
    if (!run) return 0;
    w->live[w->live_count++] = (struct in_work){ *u, run };
    *started = true;
    return 0;
}

static bool is_held_here(const struct sweep_work *w, const char *key) {
    for (int i = 0; i < w->live_count; i++)
        if (!strcmp(w->live[i].unit.key, key)) return true;
    return false;
}

/* Returns whether this process could start it, as far as is known. */
static bool is_open(const struct sweep_work *w, const struct unit_of_work *u) {
    struct sweep_found f = found(w, u);
    bool mine = u->rate >= 0 || !w->how.mine || w->how.mine(w->how.self, u->cell, u->seed);
    bool at_rung = u->rate < 0 && halving_is_paused(w->plan, u->cell, u->seed);
    bool stopped = u->rate < 0 && f.run && f.state == STORE_STOPPED && !at_rung &&
                   !w->resumable[sweep_work_at(w, u->cell, u->seed)];
    if (w->spent && !f.run) return false;
    if (u->rate < 0 && !halving_is_open(w->plan, u->cell, u->seed)) return false;
    return *u->key && mine && !f.over && !stopped && !was_tried(w, u) && !is_held_here(w, u->key);
}

/* Checks the budget, and starts a run only while no other process does, so that two do not spend the same
 * budget. */
static int begin_within(struct sweep_work *w, const struct unit_of_work *u, bool *started, struct err *e) {
    char *why = NULL, *name = xprintf("b%015llx", (unsigned long long)w->plan->id);
    bool fresh = !found(w, u).run, held = !fresh;
    int rc = fresh ? store_hold(w->store, name, &held, e) : 0;
    if (!rc && held && fresh) rc = sweep_plan_spent(w->plan, w->store, &why, e);
    if (why && !w->spent) {
        char *line = xprintf(
            "the budget is exhausted: %s; `petri sweep resume %lld --budget …` continues with a new one",
            why, (long long)w->plan->id);
        w->how.say(w->how.self, line);
        free(line);
    }
    w->spent |= why != NULL;
    if (!rc && held && !why) rc = begin_run(w, u, started, e);
    if (fresh && held) store_let_go(w->store, name);
    free(name);
    free(why);
    return rc;
}

/* Returns whether the run at its place is still the same. */
static bool sweep_work_is_there(const struct sweep_work *w, const struct unit_of_work *u) {
    return !strcmp(unit(w, u->cell, u->seed, u->rate).key, u->key);
}

/* Takes the hold and checks again. */
static int try_one(struct sweep_work *w, const struct unit_of_work *u, struct err *e) {
    bool held, started = false;
    int rc = store_hold(w->store, u->key, &held, e);
    if (rc || !held) return rc;
    rc = sweep_plan_find(w->plan, w->store, e);
    if (!rc && sweep_work_is_there(w, u) && is_open(w, u)) rc = begin_within(w, u, &started, e);
    if (!started) store_let_go(w->store, u->key);
    return rc;
}

/* Returns the next open run from *step on: tuning runs first, then seed by seed, so that pairs are complete
 * early. */
static bool next_open(const struct sweep_work *w, int *step, struct unit_of_work *u) {
    int cells = w->plan->cells.count, rates = cells * TUNE_RATES, all = rates + cells * w->plan->spec.seeds;
    while (*step < all) {
        int i = (*step)++, cell = i < rates ? i / TUNE_RATES : (i - rates) % cells,
            rate = i < rates ? i % TUNE_RATES : -1;
        const struct sweep_entry *x = &w->plan->entry[cell];
        if (!x->valid || (rate >= 0 && (!tune_leads(w->plan, cell) || rate >= x->tune->rates))) continue;
        *u = unit(w, cell, rate >= 0 ? -1 : (i - rates) / cells, rate);
        if (is_open(w, u)) return true;
    }
    return false;
}

static int sweep_work_fill(struct sweep_work *w, struct err *e) {
    struct unit_of_work u;
    int rc = 0, step = 0;
    while (!rc && w->live_count < w->how.at_once && next_open(w, &step, &u)) rc = try_one(w, &u, e);
    return rc;
}

/* Returns whether other processes are working on something, or may leave something behind. */
static bool is_left(const struct sweep_work *w) {
    struct unit_of_work u;
    int step = 0;
    return next_open(w, &step, &u);
}

int sweep_work_step(struct sweep_work *w, bool *left, struct err *e) {
    int64_t now = clock_ms(), asked;
    bool any = false;
    int rc = sweep_work_put_away(w, &any, e);
    w->looked = false;
    if (!rc && !w->stopping && (any || now >= w->look_at)) {
        w->look_at = now + LOOK_MS;
        rc = store_sweep_stopped(w->store, w->plan->id, &asked, e);
        if (!rc && asked != w->asked) sweep_work_stop(w);
        w->looked = !rc && w->live_count < w->how.at_once;
        if (w->looked) rc = sweep_plan_find(w->plan, w->store, e);
        if (w->looked && !rc && !w->stopping) rc = sweep_work_fill(w, e);
    }
    *left = w->live_count || (!w->stopping && is_left(w));
    return rc;
}

int sweep_work_through(struct sweep_work *w, bool (*interrupted)(void *self),
                       int (*each)(void *self, struct err *e), struct err *e) {
    bool left = true;
    int rc = 0;
    while (left) {
        struct err more = ERR_INIT, *to = rc ? &more : e;
        if (sweep_work_step(w, &left, to) && !rc) rc = e->code;
        if (each && (w->looked || !left) && each(w->how.self, rc ? &more : e) && !rc) rc = e->code;
        char *said = jobs_message(w->jobs); /* the disk is full, or no longer full */
        if (*said) w->how.say(w->how.self, said);
        free(said);
        if ((rc || interrupted(w->how.self)) && !w->stopping) sweep_work_stop(w);
        if (!left || (rc && !w->live_count)) break;
        if (w->live_count) jobs_wait(w->jobs, w->live[0].run, 0.05);
        else clock_sleep_ms(50);
    }
    return !rc && w->stopping ? err_set(e, ERR_INTERRUPTED, "stopped") : rc;
}
