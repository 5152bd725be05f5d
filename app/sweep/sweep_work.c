#include "app/sweep/sweep_work.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

/* How often what others do is looked at, where there is nothing to do here. */
enum { LOOK_MS = 200 };

/* A run that this process has begun and holds. */
struct in_work {
    int cell, seed;
    int64_t run;
};

struct sweep_work {
    struct sweep_plan *plan;
    struct store *store;
    struct jobs *jobs;
    struct sweep_worker how;
    struct in_work *live;
    int live_count;
    /* of each cell and seed */
    bool *tried;     /* begun here before */
    bool *resumable; /* what stands there as stopped was so before this began: what is stopped since stays so */
    int64_t asked;   /* when all were asked to stop, before this began */
    int64_t look_at; /* when to look for what others did, clock_ms */
    bool stopping;
};

static int sweep_work_at(const struct sweep_work *w, int cell,
                         int seed) { return cell * w->plan->spec.seeds + seed; }

static bool is_mine(const struct sweep_work *w, int cell, int seed) {
    return w->plan->entry[cell].valid && (!w->how.mine || w->how.mine(w->how.self, cell, seed));
}

struct sweep_work *sweep_work_new(struct sweep_plan *p, struct store *s, struct jobs *j, const struct sweep_worker *how,
                                  struct err *e) {
    int64_t asked;
    if (sweep_plan_find(p, s, e) || store_sweep_stopped(s, p->id, &asked, e)) return NULL;
    struct sweep_work *w = xcalloc(1, sizeof *w);
    *w = (struct sweep_work){ .plan = p, .store = s, .jobs = j, .how = *how, .asked = asked };
    w->live = xcalloc((size_t)how->at_once, sizeof *w->live);
    size_t n = (size_t)p->cells.count * (size_t)p->spec.seeds + 1;
    w->tried = xcalloc(n, sizeof *w->tried);
    w->resumable = xcalloc(n, sizeof *w->resumable);
    for (int i = 0; i < p->cells.count; i++)
        for (int k = 0; k < p->spec.seeds; k++)
            w->resumable[sweep_work_at(w, i,
                                       k)] = p->entry[i].run[k] && p->entry[i].state[k] == STORE_STOPPED;
    return w;
}

void sweep_work_free(struct sweep_work *w) {
    if (!w) return;
    for (int i = 0; i < w->live_count; i++)
        store_let_go(w->store, w->plan->entry[w->live[i].cell].key[w->live[i].seed]);
    free(w->live);
    free(w->tried);
    free(w->resumable);
    free(w);
}

void sweep_work_stop(struct sweep_work *w) {
    struct err ignored = ERR_INIT; /* over already */
    w->stopping = true;
    for (int i = 0; i < w->live_count; i++) jobs_stop(w->jobs, w->live[i].run, &ignored);
}

bool sweep_work_stopped(const struct sweep_work *w) { return w->stopping; }

int64_t sweep_work_run(const struct sweep_work *w) { return w->live_count ? w->live[0].run : 0; }

/* ---- runs of this process ---- */

/* The reason stays with the cell. */
static int keep_failure(struct sweep_work *w, int cell, int seed, const struct err *why, struct err *e) {
    char *line = xprintf("cell %d, seed %llu: %s", cell + 1, (unsigned long long)w->plan->spec.seed[seed], why->text);
    w->how.say(w->how.self, line);
    free(line);
    return store_sweep_failure(w->store, w->plan->id, w->plan->entry[cell].key[seed], why->text, e);
}

/* Lets go of what is over.  *any: something was. */
static int sweep_work_put_away(struct sweep_work *w, bool *any, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < w->live_count;) {
        struct in_work x = w->live[i];
        struct err why = ERR_INIT;
        if (!jobs_wait(w->jobs, x.run, 0)) {
            i++;
            continue;
        }
        if (jobs_failure(w->jobs, x.run, &why)) rc = keep_failure(w, x.cell, x.seed, &why, e);
        else rc = store_flush(w->store, e); /* whoever has the hold next reads what came of it */
        store_let_go(w->store, w->plan->entry[x.cell].key[x.seed]);
        w->live[i] = w->live[--w->live_count];
        *any = true;
    }
    return rc;
}

/* The hold is ours, and what the history has is known: begins the run, or goes on with it.  *begun false: another
 * process has it in work. */
static int sweep_work_begin(struct sweep_work *w, int cell, int seed, bool *begun, struct err *e) {
    struct sweep_entry *x = &w->plan->entry[cell];
    struct err why = ERR_INIT;
    int rc;
    *begun = false;
    if (x->run[seed]) {
        struct store_run run;
        if (store_run(w->store, x->run[seed], &run, e)) return e->code;
        bool live = store_state_is_live(run.state);
        store_run_release(&run);
        if (live) return 0;
        w->tried[sweep_work_at(w, cell, seed)] = true;
        rc = jobs_resume(w->jobs, x->run[seed], NULL, 0, &why);
    } else {
        struct job_request r = { .sweep = w->plan->id };
        w->tried[sweep_work_at(w, cell, seed)] = true;
        rc = sweep_plan_config(w->plan, cell, w->plan->spec.seed[seed], &r.config, &why);
        if (!rc) rc = jobs_start(w->jobs, &r, &x->run[seed], &why);
        config_release(&r.config);
    }
    if (rc == ERR_DATABASE) return *e = why, rc;
    if (rc) return keep_failure(w, cell, seed, &why, e);
    w->live[w->live_count++] = (struct in_work){ cell, seed, x->run[seed] };
    *begun = true;
    return 0;
}

static bool is_held_here(const struct sweep_work *w, const char *key) {
    for (int i = 0; i < w->live_count; i++)
        if (!strcmp(w->plan->entry[w->live[i].cell].key[w->live[i].seed], key)) return true;
    return false;
}

/* Whether this process could begin it, by what is known. */
static bool is_open(const struct sweep_work *w, int cell, int seed) {
    const struct sweep_entry *x = &w->plan->entry[cell];
    bool stopped = x->run[seed] && x->state[seed] == STORE_STOPPED && !w->resumable[sweep_work_at(w, cell,
                                                                                                  seed)];
    return is_mine(w, cell, seed) && !x->over[seed] && !stopped && !w->tried[sweep_work_at(w, cell, seed)] &&
           !is_held_here(w, x->key[seed]);
}

/* Takes the hold and looks once more. */
static int try_one(struct sweep_work *w, int cell, int seed, struct err *e) {
    const char *key = w->plan->entry[cell].key[seed];
    bool held, begun = false;
    int rc = store_hold(w->store, key, &held, e);
    if (rc || !held) return rc;
    rc = sweep_plan_find(w->plan, w->store, e);
    if (!rc && is_open(w, cell, seed)) rc = sweep_work_begin(w, cell, seed, &begun, e);
    if (!begun) store_let_go(w->store, key);
    return rc;
}

/* Seed by seed, so that whole pairs are there early. */
static int sweep_work_fill(struct sweep_work *w, struct err *e) {
    int rc = 0;
    for (int k = 0; !rc && k < w->plan->spec.seeds; k++)
        for (int i = 0; !rc && i < w->plan->cells.count && w->live_count < w->how.at_once; i++)
            if (is_open(w, i, k)) rc = try_one(w, i, k, e);
    return rc;
}

/* Something that others do, or that they leave when they end. */
static bool is_left(const struct sweep_work *w) {
    for (int i = 0; i < w->plan->cells.count; i++)
        for (int k = 0; k < w->plan->spec.seeds; k++)
            if (is_open(w, i, k)) return true;
    return false;
}

int sweep_work_step(struct sweep_work *w, bool *left, struct err *e) {
    int64_t now = clock_ms(), asked;
    bool any = false;
    int rc = sweep_work_put_away(w, &any, e);
    if (!rc && !w->stopping && (any || now >= w->look_at)) {
        w->look_at = now + LOOK_MS;
        rc = store_sweep_stopped(w->store, w->plan->id, &asked, e);
        if (!rc && asked != w->asked) sweep_work_stop(w);
        if (!rc && !w->stopping) rc = sweep_plan_find(w->plan, w->store, e);
        if (!rc && !w->stopping) rc = sweep_work_fill(w, e);
    }
    *left = w->live_count || (!w->stopping && is_left(w));
    return rc;
}
