#include "app/session/swept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/sweep/halving.h"
#include "app/sweep/sweep_work.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "core/train/config/option.h"

struct sweeping {
    struct store *store;
    struct jobs *jobs;
    struct swept_work {
        struct sweep_plan *plan;
        struct sweep_work *work;
    } *of;
    int count;
    char *message; /* message of the last run that could not be started */
};

/* ---- the list and a page ---- */

static char *swept_keep(struct swept_page *p, char *text) {
    p->text = xrealloc(p->text, (size_t)p->texts + 1, sizeof *p->text);
    return p->text[p->texts++] = text;
}

static int swept_list_row(void *self, int count, const struct store_cell *cells) {
    struct swept_page *p = self;
    (void)count;
    p->item = xrealloc(p->item, (size_t)p->items + 1, sizeof *p->item);
    p->item[p->items++] = (struct sweep_item){ cells[0].integer,
                                               swept_keep(p, xstrdup(cells[1].text ? cells[1].text : "")),
                                               cells[2].integer, cells[3].integer, cells[4].integer };
    return 0;
}

static int read_list(struct swept_page *p, struct store *s, struct err *e) {
    return store_sql(
        s,
        "SELECT s.id, s.name, count(r.id), coalesce(sum(r.state IN ('queued','running','paused')),0), "
        "coalesce(sum(r.state = 'finished'),0) FROM sweep s LEFT JOIN run r ON r.sweep = s.id AND r.trashed "
        "IS NULL AND r.regime NOT LIKE 'fewshot(%' "
        "GROUP BY s.id ORDER BY s.id DESC",
        (struct store_rows){ .self = p, .row = swept_list_row }, e);
}

_Static_assert((int)SWEEP_SECONDS == (int)COST_SECONDS && (int)SWEEP_COSTS == (int)COST_MEMORY + 1,
               "costs in order");

static void fill_tile(struct swept_page *p, int i) {
    const struct side_by_side *c = &p->cells;
    const struct compared_group *g = &c->group[i];
    const struct compared_evidence *e = &p->evidence[i];
    bool best = isfinite(e->rank);
    for (int k = 0; k < c->groups; k++)
        best &= c->group[k].kind != g->kind || !(p->evidence[k].rank < e->rank);
    char seeds[256];
    comparison_seeds(c, g, seeds, sizeof seeds);
    p->run[i] = comparison_run_ids(g);
    p->tile[i] = (struct sweep_tile){
        .name = g->name,
        .state = comparison_state(g),
        .seeds = swept_keep(p, xstrdup(seeds)),
        .reason = g->reason,
        .axis = (const char *const *)g->axis,
        .valid = g->valid,
        .best = best,
        .kind = g->kind,
        .n = (int)g->value.n,
        .mean = g->value.mean,
        .sd = g->value.sd,
        .low = g->interval.low,
        .high = g->interval.high,
        .cost = { (double)g->trained, comparison_seconds(g), comparison_memory(g) },
        .rank = e->rank,
        .run = p->run[i],
        .runs = g->runs,
        .rung = g->rungs ? g->rung : NULL,
        .evidence = e->mean,
        .difference = e->difference,
        .follows = e->follows,
        .list = e->runs,
    };
    for (int k = 0; k < SWEEP_COSTS; k++)
        p->tile[i].front[k] = !p->page.no_cost[k] && comparison_on_front(c, i, (enum compared_cost)k);
}

/* Returns the mean time of the finished runs of cells `from` to `to` - 1; without one, that at which
 * unfinished ones would finish at their pace; NaN if none has done a tenth of its steps. */
static double mean_seconds(const struct side_by_side *c, int from, int to) {
    double sum = 0, pace = 0;
    int finished = 0, paced = 0;
    for (int i = from; i < to; i++) {
        for (int k = 0; k < c->group[i].runs; k++) {
            const struct compared_run *r = &c->group[i].run[k];
            if (r->state == STORE_FINISHED) sum += r->seconds, finished++;
            else if (r->done >= 0.1) pace += r->seconds / r->done, paced++;
        }
    }
    return finished ? sum / finished : paced ? pace / paced : NAN;
}

/* Returns how much is left of the runs of a cell, counted in whole runs. */
static double runs_left(const struct sweep_plan *plan, const struct compared_group *g, int cell) {
    const struct sweep_entry *x = &plan->entry[cell];
    double left = 0;
    for (int s = 0; x->valid && s < plan->spec.seeds && !halving_is_out(plan, cell); s++) {
        if (x->found[s].over) continue;
        left += 1;
        for (int k = 0; k < g->runs; k++)
            if (g->run[k].id == x->found[s].run) left -= g->run[k].done;
    }
    return left;
}

/* Counts requested, ended and active runs.  Estimates the remaining time from the runs of each cell, without
 * one from those of all cells. */
static void fill_progress(struct swept_page *p, const struct sweep_plan *plan) {
    const struct side_by_side *c = &p->cells;
    struct sweep_page *page = &p->page;
    double any = mean_seconds(c, 0, c->groups), seconds = 0;
    for (int i = 0; i < c->groups; i++) {
        const struct compared_group *g = &c->group[i];
        for (int k = 0; k < g->runs; k++) {
            page->live += store_state_is_live(g->run[k].state);
            page->failed += g->run[k].state == STORE_FAILED;
        }
        if (plan->entry[i].valid) page->wanted += plan->spec.seeds;
        double own = mean_seconds(c, i, i + 1), left = runs_left(plan, g, i);
        p->tile[i].seconds_left = left > 0 ? left * (isfinite(own) ? own : any) : 0;
        seconds += p->tile[i].seconds_left;
    }
    page->draws = plan->draws;
    page->over = page->wanted - sweep_plan_missing(plan);
    page->seconds_left = seconds / (page->live > 1 ? page->live : 1);
}

static void fill_effects(struct swept_page *p) {
    const struct side_by_side *c = &p->cells;
    struct sweep_page *page = &p->page;
    comparison_effects(c, &p->effects);
    p->effect = xcalloc((size_t)p->effects.count + 1, sizeof *p->effect);
    for (int i = 0; i < p->effects.count; i++) {
        const struct compared_effect *x = &p->effects.effect[i];
        if (x->axis2 >= 0) continue; /* petri sweep ID --json prints pairs */
        p->effect[page->effects++] = (struct sweep_effect){ c->axis[x->axis], x->level, x->aliased, x->axis,
                                                         (int)x->n,        x->value, x->low,     x->high };
    }
    page->effect = p->effect;
    page->effects_of = p->effects.about;
    page->no_effects = p->effects.why;
}

static void fill_page(struct swept_page *p, const struct sweep_plan *plan, const struct sweeping *work) {
    const struct side_by_side *c = &p->cells;
    struct sweep_page *page = &p->page;
    p->tile = xcalloc((size_t)c->groups + 1, sizeof *p->tile);
    p->run = xcalloc((size_t)c->groups + 1, sizeof *p->run);
    p->shown_axis = xcalloc((size_t)c->axes + 1, sizeof *p->shown_axis);
    for (int i = 0; i < c->axes; i++)
        if (!c->inner[i]) p->shown_axis[page->shown_axes++] = i;
    for (int i = 0; i < SWEEP_COSTS; i++) {
        char *why = comparison_no_cost(c, (enum compared_cost)i);
        page->no_cost[i] = why ? swept_keep(p, why) : NULL;
    }
    p->evidence = comparison_evidence(c);
    page->leader = comparison_leader(c);
    if (page->leader) swept_keep(p, (char *)page->leader);
    for (int i = 0; i < c->groups; i++) fill_tile(p, i);
    fill_progress(p, plan);
    fill_effects(p);
    page->rungs = plan->spec.halving ? COMPARED_RUNGS : 0;
    page->id = c->id;
    page->text = c->title;
    page->metric = c->kinds == 1 ? c->kind[0].metric : NULL;
    page->rows = c->kinds == 1 ? c->kind[0].rows : NULL;
    page->mixed = c->mixed;
    page->points = c->kinds == 1 && comparison_in_points(c, 0);
    page->axis = (const char *const *)c->axis;
    page->axes = c->axes;
    page->shown_axis = p->shown_axis;
    page->tile = p->tile;
    page->tiles = c->groups;
    for (int i = 0; work && i < work->count; i++) page->working |= work->of[i].plan->id == c->id;
}

int swept_page_read(struct store *s, int64_t id, const struct sweeping *work, struct swept_page **out,
                    struct err *e) {
    struct swept_page *p = xcalloc(1, sizeof *p);
    struct sweep_plan plan = { 0 };
    int rc = read_list(p, s, e);
    if (!rc && id) rc = sweep_plan_open(&plan, s, id, e);
    if (!rc && id) rc = sweep_plan_find(&plan, s, e);
    if (!rc && id) rc = sweep_plan_compare(&plan, s, &p->cells, e);
    if (!rc && id) fill_page(p, &plan, work);
    sweep_plan_release(&plan);
    if (rc) swept_page_free(p);
    else *out = p;
    return rc;
}

void swept_page_free(struct swept_page *p) {
    if (!p) return;
    for (int i = 0; i < p->cells.groups && p->run; i++) free(p->run[i]);
    for (int i = 0; i < p->texts; i++) free(p->text[i]);
    comparison_effects_release(&p->effects);
    comparison_evidence_release(p->evidence, p->cells.groups);
    comparison_release(&p->cells);
    free(p->run), free(p->text), free(p->tile), free(p->effect), free(p->shown_axis), free(p->item);
    free(p);
}

/* ---- running sweeps ---- */

struct sweeping *sweeping_new(struct store *s, struct jobs *j) {
    struct sweeping *w = xcalloc(1, sizeof *w);
    *w = (struct sweeping){ .store = s, .jobs = j };
    return w;
}

static void work_free(struct swept_work *w) {
    sweep_work_free(w->work);
    sweep_plan_release(w->plan);
    free(w->plan);
}

void sweeping_free(struct sweeping *w) {
    if (!w) return;
    for (int i = 0; i < w->count; i++) work_free(&w->of[i]);
    free(w->of), free(w->message);
    free(w);
}

static void say(void *self, const char *text) { xreplace(&((struct sweeping *)self)->message, text); }

/* Takes ownership of the plan. */
static int work_on(struct sweeping *w, struct sweep_plan *plan, struct err *e) {
    int workers = crew_width(jobs_crew(w->jobs));
    const struct sweep_worker how = { .at_once = workers > 1 ? workers : 2, .say = say, .self = w };
    struct swept_work x = { xcalloc(1, sizeof *x.plan), NULL };
    *x.plan = *plan;
    x.work = sweep_work_new(x.plan, w->store, w->jobs, &how, e);
    if (!x.work) {
        work_free(&x);
        return e->code;
    }
    w->of = xrealloc(w->of, (size_t)w->count + 1, sizeof *w->of);
    w->of[w->count++] = x;
    return 0;
}

/* ---- parsing a line ---- */

struct typed_line {
    struct sweep_more *of; /* texts are owned */
    int count;
};

static void typed_line_free(struct typed_line *l) {
    for (int i = 0; i < l->count; i++) free((char *)l->of[i].option), free((char *)l->of[i].text);
    free(l->of);
}

/* Returns the value of "--lr" or "--lr=1e-3", which may be the next word; NULL: it has none. */
static int take_option(struct typed_line *l, char *word, const char **at, struct err *e) {
    char *equals = strchr(word, '='), *value = NULL;
    if (word[0] != '-' || word[1] != '-')
        return err_set(
            e, ERR_USAGE,
            "\"%s\": not an option; options begin with -- (if a list in braces contains spaces, quote it)",
            word);
    if (equals) *equals = 0;
    bool has_value = !sweep_is_flag(word + 2);
    const struct option *o = option_find(word + 2);
    if (o) has_value = o->values != NULL;
    if (equals) value = xstrdup(equals + 1);
    else if (has_value) value = text_word(at);
    if (has_value && !value) return err_set(e, ERR_USAGE, "%s: requires a value", word);
    l->of = xrealloc(l->of, (size_t)l->count + 1, sizeof *l->of);
    l->of[l->count++] = (struct sweep_more){ xstrdup(word + 2), value ? value : xstrdup("on") };
    return 0;
}

static int read_line(const char *line, struct typed_line *out, struct err *e) {
    int rc = 0, words = 0;
    char *word;
    *out = (struct typed_line){ 0 };
    while (!rc && (word = text_word(&line))) {
        bool prefix = words < 2 && (!strcmp(word, "petri") || !strcmp(word, "sweep"));
        words++;
        if (!prefix) rc = take_option(out, word, &line, e);
        free(word);
    }
    return rc;
}

/* Releases sweeps that have ended, so that they can be started again. */
static int settle_done(struct sweeping *w, struct err *e) {
    int left;
    char *message = NULL;
    int rc = sweeping_step(w, &left, &message, e);
    if (message) say(w, message); /* reported by the next step */
    free(message);
    return rc;
}

int sweeping_begin(struct sweeping *w, const char *line, int64_t *id, struct err *e) {
    struct sweep_spec spec;
    struct sweep_plan p = { 0 };
    struct typed_line l;
    sweep_init(&spec);
    int rc = read_line(line, &l, e);
    for (int i = 0; !rc && i < l.count; i++) rc = sweep_set(&spec, l.of[i].option, l.of[i].text, e);
    if (!rc) rc = sweep_plan_make(&p, &spec, w->jobs, e);
    if (!rc) rc = sweep_plan_store(&p, w->store, e);
    typed_line_free(&l);
    sweep_release(&spec);
    if (rc) {
        sweep_plan_release(&p);
        return rc;
    }
    *id = p.id;
    return work_on(w, &p, e);
}

/* "4,5": seeds; else a line of options. */
static int sweeping_extend(struct sweeping *w, struct sweep_plan *p, const char *text, struct err *e) {
    const struct sweep_more seeds = { "seeds", text };
    struct typed_line l = { 0 };
    bool options = text_starts(text, "-");
    int rc = options ? read_line(text, &l, e) : 0;
    if (!rc) rc = sweep_plan_extend(p, options ? l.of : &seeds, options ? l.count : 1, w->jobs, e);
    if (!rc) rc = sweep_plan_store(p, w->store, e);
    typed_line_free(&l);
    return rc;
}

int sweeping_go(struct sweeping *w, int64_t id, const char *more, struct err *e) {
    struct sweep_plan p;
    if (settle_done(w, e)) return e->code;
    for (int i = 0; i < w->count; i++)
        if (w->of[i].plan->id == id)
            return err_set(e, ERR_USAGE, "sweep %lld is already running in this process; stop it first (K)",
                           (long long)id);
    int rc = sweep_plan_open(&p, w->store, id, e);
    if (!rc && more) rc = sweeping_extend(w, &p, more, e);
    if (!rc) return work_on(w, &p, e);
    sweep_plan_release(&p);
    return rc;
}

int sweeping_stop(struct sweeping *w, int64_t id, struct err *e) { return store_sweep_stop(w->store, id, e); }

int sweeping_step(struct sweeping *w, int *left, char **message, struct err *e) {
    int rc = 0;
    for (int i = 0; i < w->count;) {
        bool more = true;
        struct err one = ERR_INIT;
        if (sweep_work_step(w->of[i].work, &more, &one)) {
            if (!rc) *e = one;
            rc = one.code;
            sweep_work_stop(w->of[i].work);
            more = sweep_work_run(w->of[i].work) != 0;
        }
        if (more) {
            i++;
            continue;
        }
        work_free(&w->of[i]);
        w->of[i] = w->of[--w->count];
    }
    *left = w->count;
    *message = w->message;
    w->message = NULL;
    return rc;
}
