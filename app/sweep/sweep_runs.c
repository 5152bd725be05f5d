#include "app/sweep/sweep_runs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs/typed.h"
#include "app/sweep/expected.h"
#include "app/sweep/halving.h"
#include "app/sweep/tune.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/size.h"
#include "core/train/config/evidence.h"

/* Relative difference of sizes, in percent, above which it is marked. */
static const double SIZE_NEAR = 3;

/* ---- cells ---- */

int sweep_plan_config(const struct sweep_plan *p, int cell, uint64_t seed, struct run_config *c,
                      struct err *e) {
    struct typed_option typed[SWEEP_OPTIONS];
    int n = 0;
    for (int i = 0; i < p->spec.options; i++)
        if (!tune_is_asked(p, cell, i))
            typed[n++] = (struct typed_option){ p->spec.option[i].name, p->cells.cell[cell].text[i] };
    config_init(c);
    int rc = typed_config(typed, n, c, e);
    c->seed = seed;
    if (!rc && p->entry[cell].method) rc = config_set(c, "method", p->entry[cell].method, e);
    if (!rc) tune_apply(p, cell, c);
    return rc;
}

static void entries_make(struct sweep_plan *p) {
    p->entry = xcalloc((size_t)p->cells.count + 1, sizeof *p->entry);
    for (int i = 0; i < p->cells.count; i++) {
        struct sweep_entry *x = &p->entry[i];
        x->key = xcalloc((size_t)p->spec.seeds, sizeof *x->key);
        x->found = xcalloc((size_t)p->spec.seeds, sizeof *x->found);
    }
}

/* Sets the cell's method to the size of --size-of's. */
static int find_size(struct sweep_plan *p, int cell, struct run_config *c, struct err *e) {
    struct sweep_entry *x = &p->entry[cell];
    struct size_fit fit;
    struct method like;
    if (!p->spec.size_of || method_parse(p->spec.size_of, &like, e)) return e->code;
    int tasks = config_task_count(c);
    struct model *m = model_share_as(c->model_folder ? c->model_folder : c->model, c->weights_in, e);
    int rc = m ? method_match_size(&c->method, &like, &m->arch, tasks > 1 ? tasks : 1, &fit, e) : e->code;
    model_release(m);
    if (rc) return err_prefix(e, "--size-of %s", p->spec.size_of);
    x->method = method_text(&c->method);
    x->kept = (int64_t)fit.stored;
    x->wanted = (int64_t)fit.target;
    return 0;
}

/* Returns by how many percent the cell stores more parameters than requested. */
static double size_difference(const struct sweep_entry *x) {
    return x->wanted ? 100.0 * ((double)x->kept / (double)x->wanted - 1) : 0;
}

/* Writes the result of --size-of as members; nothing if the cell is unchanged. */
static void sweep_runs_add_size(const struct sweep_entry *x, struct buf *b) {
    if (!x->method) return;
    json_put(b, "method:%s,kept:%jd,wanted:%jd", x->method, x->kept, x->wanted);
}

static void sweep_runs_add_near(const struct sweep_entry *x, struct buf *b) {
    if (x->method) json_member_bool(b, "near", fabs(size_difference(x)) <= SIZE_NEAR);
}

char *sweep_plan_size(const struct sweep_plan *p, int cell) {
    const struct sweep_entry *x = &p->entry[cell];
    if (!x->method || !x->valid) return NULL;
    return xprintf("%s stores %lld parameters, %+.1f%% compared with the %lld of %s%s", x->method,
                   (long long)x->kept, size_difference(x), (long long)x->wanted, p->spec.size_of,
                   fabs(size_difference(x)) <= SIZE_NEAR ? "" : " (sizes differ)");
}

static void sweep_runs_tell_size(const struct sweep_plan *p, int cell, struct compared_group *g) {
    struct buf b = BUF_INIT;
    g->sized = sweep_plan_size(p, cell);
    if (!g->sized) return;
    buf_putc(&b, '{');
    sweep_runs_add_size(&p->entry[cell], &b);
    sweep_runs_add_near(&p->entry[cell], &b);
    buf_putc(&b, '}');
    g->size = buf_take(&b);
}

/* Completes the config of a cell's run, without creating it. */
static int complete(struct sweep_plan *p, int cell, struct jobs *j, struct err *e) {
    struct sweep_entry *x = &p->entry[cell];
    struct run_config c;
    int rc = sweep_plan_config(p, cell, p->spec.seed[0], &c, e);
    if (!rc) rc = find_size(p, cell, &c, e);
    if (!rc) rc = jobs_complete(j, &c, &x->trained, e);
    double most = p->spec.budget[BUDGET_TRAINED];
    if (!rc && most > 0 && (double)x->trained > most)
        rc = err_set(e, ERR_USAGE, "%lld trainable parameters exceed the budget of %.0f",
                     (long long)x->trained, most);
    if (!rc) expected_note(x, &c);
    if (!rc) rc = halving_prepare(p, cell, &c, e);
    if (!rc) rc = tune_prepare(p, cell, &c, j, e);
    for (int s = 0; !rc && !x->tune && s < p->spec.seeds; s++) {
        c.seed = p->spec.seed[s];
        config_key(&c, x->key[s]);
    }
    config_release(&c);
    x->valid = !rc;
    if (rc) x->reason = xstrdup(e->text);
    return rc;
}

bool sweep_entry_same(const struct sweep_entry *a, const struct sweep_entry *b) {
    if (a->tune || b->tune) return a->tune && b->tune && !strcmp(a->tune->config, b->tune->config);
    return !strcmp(a->key[0], b->key[0]);
}

/* A cell whose runs are those of an earlier one counts once; otherwise its runs would be counted twice. */
static void refuse_twin(struct sweep_plan *p, int cell) {
    struct sweep_entry *x = &p->entry[cell];
    for (int i = 0; i < cell && x->valid; i++) {
        if (!p->entry[i].valid || !sweep_entry_same(&p->entry[i], x)) continue;
        x->valid = false;
        x->twin = true;
        x->reason = xprintf("same runs as cell %d, spelled differently", i + 1);
    }
}

int sweep_plan_make(struct sweep_plan *p, struct sweep_spec *spec, struct jobs *j, struct err *e) {
    *p = (struct sweep_plan){ .spec = *spec };
    sweep_init(spec);
    int rc = halving_check(&p->spec, e), valid = 0;
    if (!rc) rc = sweep_expand(&p->spec, &p->cells, e);
    if (rc) return rc;
    entries_make(p);
    for (int i = 0; i < p->cells.count; i++) {
        struct err one = ERR_INIT;
        int wrong = complete(p, i, j, &one);
        if (!wrong) refuse_twin(p, i);
        if (!wrong)
            valid++;
        else if (!i)
            *e = one;
    }
    if (valid) return e->code = 0;
    return p->cells.count > 1
               ? err_prefix(e, "none of the %d cells is valid; cell 1", p->cells.count)
               : e->code;
}

int sweep_plan_of_draws(struct sweep_plan *p, struct sweep_spec *spec, int64_t trained, struct err *e) {
    *p = (struct sweep_plan){ .spec = *spec, .draws = true };
    sweep_init(spec);
    if (sweep_expand(&p->spec, &p->cells, e)) return e->code;
    entries_make(p);
    for (int i = 0; i < p->cells.count; i++) p->entry[i].valid = true, p->entry[i].trained = trained;
    return 0;
}

int sweep_plan_no_draws(const struct sweep_plan *p, struct err *e) {
    return !p->draws
               ? 0
               : err_set(e, ERR_USAGE,
                         "sweep %lld contains the samples of a few-shot run; use petri resume with that run",
                         (long long)p->id);
}

char *sweep_plan_draw(const struct sweep_plan *p, int cell, int seed) {
    char **value = p->cells.cell[cell].value;
    return xprintf("%s/k%s/d%d", value[0], value[1], seed);
}

static void draw_key(int64_t sweep, const char *cell, char out[65]) {
    char *text = xprintf("%lld/%s", (long long)sweep, cell);
    sha256_hex(text, strlen(text), out);
    free(text);
}

void sweep_plan_release(struct sweep_plan *p) {
    for (int i = 0; p->entry && i < p->cells.count; i++) {
        struct sweep_entry *x = &p->entry[i];
        free(x->reason), free(x->key), free(x->found);
        free(x->method), free(x->conditions), free(x->spelled);
        tune_free(x->tune);
        halving_free(x->rungs);
    }
    free(p->entry), free(p->place), free(p->known), free(p->record);
    sweep_cells_release(&p->cells);
    sweep_release(&p->spec);
    *p = (struct sweep_plan){ 0 };
}

/* ---- the record ---- */

void sweep_plan_record(const struct sweep_plan *p, struct buf *b) {
    buf_puts(b, "{\"spec\":");
    sweep_json(&p->spec, b);
    if (p->draws) json_member_bool(b, "draws", true);
    buf_puts(b, ",\"cells\":[");
    for (int i = 0; i < p->cells.count; i++) {
        const struct sweep_entry *x = &p->entry[i];
        json_put(b, "{valid:%i,reason:%s,trained:%jd,keys:[", x->valid, x->reason, x->trained);
        for (int k = 0; x->valid && !x->tune && k < p->spec.seeds; k++)
            json_member_string(b, NULL, x->key[k]);
        buf_putc(b, ']');
        sweep_runs_add_size(x, b);
        tune_record(x->tune, b);
        halving_record(x->rungs, b);
        buf_putc(b, '}');
    }
    buf_puts(b, "]}");
}

/* Returns its name; a set of draws is named by its note. */
static char *plan_text(const struct sweep_plan *p) {
    return p->draws && p->spec.note ? xstrdup(p->spec.note) : sweep_text(&p->spec);
}

int sweep_plan_store_as(struct sweep_plan *p, struct store *s, const char *uid, struct err *e) {
    struct buf b = BUF_INIT;
    sweep_plan_record(p, &b);
    char *name = plan_text(p);
    int rc = p->id ? store_sweep_change(s, p->id, name, p->record, buf_text(&b), e)
                   : store_sweep(s, name, buf_text(&b), uid, &p->id, e);
    if (!rc) xreplace(&p->record, buf_text(&b));
    free(name);
    buf_release(&b);
    return rc;
}

int sweep_plan_store(struct sweep_plan *p, struct store *s, struct err *e) {
    return sweep_plan_store_as(p, s, NULL, e);
}

struct spec_row {
    char *text;
};
static int take_spec(void *self, int count, const struct store_cell *cells) {
    struct spec_row *r = self;
    (void)count;
    r->text = xstrdup(cells[0].text);
    return 0;
}

static int sweep_runs_read_entries(const char *name, struct sweep_plan *p, const json_t *cells,
                                   struct err *e) {
    if ((int)json_array_size(cells) != p->cells.count)
        return err_set(e, ERR_INPUT, "%s: corrupt record: %zu cells are stored, but its lists define %d",
                       name,
                       json_array_size(cells), p->cells.count);
    for (int i = 0; i < p->cells.count; i++) {
        struct sweep_entry *x = &p->entry[i];
        const json_t *o = json_array_get(cells, (size_t)i), *keys = json_object_get(o, "keys");
        const char *reason = json_string_value(json_object_get(o, "reason"));
        x->valid = json_is_true(json_object_get(o, "valid"));
        x->trained = json_integer_value(json_object_get(o, "trained"));
        if (reason) x->reason = xstrdup(reason);
        for (int k = 0; k < p->spec.seeds; k++) {
            const char *key = json_string_value(json_array_get(keys, (size_t)k));
            if (key && strlen(key) == 64) memcpy(x->key[k], key, 65);
        }
        const char *method = json_string_value(json_object_get(o, "method"));
        if (method) x->method = xstrdup(method);
        x->kept = json_integer_value(json_object_get(o, "kept"));
        x->wanted = json_integer_value(json_object_get(o, "wanted"));
        x->tune = tune_read(p, i, json_object_get(o, "tune"));
        x->rungs = halving_read(p, json_object_get(o, "rungs"));
    }
    return 0;
}

int sweep_plan_read(struct sweep_plan *p, const char *name, const json_t *record, struct err *e) {
    *p = (struct sweep_plan){ .draws = json_is_true(json_object_get(record, "draws")) };
    sweep_init(&p->spec);
    char *spec = json_dumps(json_object_get(record, "spec"), JSON_COMPACT);
    int rc = spec ? sweep_from_json(name, spec, strlen(spec), &p->spec, e)
                  : err_set(e, ERR_INPUT, "%s: corrupt record: \"spec\" is missing", name);
    if (!rc) rc = sweep_expand(&p->spec, &p->cells, e);
    if (!rc) {
        entries_make(p);
        rc = sweep_runs_read_entries(name, p, json_object_get(record, "cells"), e);
    }
    free(spec);
    return rc;
}

int sweep_plan_open(struct sweep_plan *p, struct store *s, int64_t id, struct err *e) {
    *p = (struct sweep_plan){ 0 };
    sweep_init(&p->spec);
    struct spec_row row = { NULL };
    char *sql = xprintf("SELECT spec FROM sweep WHERE id = %lld", (long long)id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &row, .row = take_spec }, e);
    free(sql);
    if (!rc && !row.text)
        rc = err_set(e, ERR_NOT_FOUND, "sweep %lld does not exist; list all sweeps with `petri sweep`",
                     (long long)id);
    if (rc) return rc;
    char *name = xprintf("sweep %lld", (long long)id);
    json_t *root = json_parse(name, row.text, strlen(row.text), e);
    rc = root ? sweep_plan_read(p, name, root, e) : e->code;
    p->id = id;
    free(name);
    free(p->record);
    p->record = row.text;
    json_decref(root);
    return rc;
}

/* ---- runs ---- */

static int sweep_runs_by_key(const void *a, const void *b) {
    return strcmp(((const struct sweep_place *)a)->key, ((const struct sweep_place *)b)->key);
}

/* An index of keys. */
static void index_keys(struct sweep_plan *p) {
    free(p->place);
    p->places = 0;
    p->place = xcalloc((size_t)p->cells.count * (size_t)p->spec.seeds + 1, sizeof *p->place);
    for (int i = 0; p->draws && i < p->cells.count; i++)
        for (int k = 0; k < p->spec.seeds; k++) {
            char *cell = sweep_plan_draw(p, i, k);
            draw_key(p->id, cell, p->entry[i].key[k]);
            free(cell);
        }
    for (int i = 0; i < p->cells.count; i++)
        for (int k = 0; p->entry[i].valid && k < p->spec.seeds; k++)
            if (*p->entry[i].key[k]) p->place[p->places++] = (struct sweep_place){ p->entry[i].key[k], i, k };
    qsort(p->place, p->places, sizeof *p->place, sweep_runs_by_key);
}

static size_t first_place(const struct sweep_plan *p, const char *key) {
    size_t low = 0, high = p->places;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (strcmp(p->place[mid].key, key) < 0) low = mid + 1;
        else high = mid;
    }
    return low;
}

static struct sweep_known *find_known(struct sweep_plan *p, int64_t run) {
    size_t low = 0, high = p->known_count;
    while (low < high) {
        size_t mid = (low + high) / 2;
        if (p->known[mid].run < run) low = mid + 1;
        else high = mid;
    }
    return low < p->known_count && p->known[low].run == run ? &p->known[low] : NULL;
}

static int learn_row(void *self, int count, const struct store_cell *cells) {
    struct sweep_plan *p = self;
    struct err ignored = ERR_INIT;
    (void)count;
    GROW(p->known, p->known_room, p->known_count + 1);
    struct sweep_known *k = &p->known[p->known_count++];
    *k = (struct sweep_known){ .run = cells[0].integer };
    evidence_key(cells[1].text, cells[2].integer, EVIDENCE_RUN, k->key, &ignored);
    return 0;
}

/* The state of a run, in the columns of RUN_STATE. */
#define RUN_STATE "id, state, sweep, step, ended, weights_sha256"
static void take_state(const struct sweep_plan *p, struct sweep_known *k, const struct store_cell *cells) {
    int state = store_state_by_name(cells[1].text);
    if (state < 0) return;
    k->there = true;
    k->state = (enum store_state)state;
    k->own = p->id && cells[2].integer == p->id;
    k->step = cells[3].integer;
    k->ended = cells[4].integer;
    snprintf(k->weights, sizeof k->weights, "%s", cells[5].text ? cells[5].text : "");
}

static int state_row(void *self, int count, const struct store_cell *cells) {
    struct sweep_plan *p = self;
    struct sweep_known *k = find_known(p, cells[0].integer);
    (void)count;
    if (k) take_state(p, k, cells);
    return 0;
}

/* A draw's run with its cell, or, without an id, the key of a dropped one. */
static int draw_row(void *self, int count, const struct store_cell *cells) {
    struct sweep_plan *p = self;
    const char *last = cells[6].text;
    (void)count;
    if (!cells[0].integer) {
        for (size_t at = first_place(p, last); at < p->places && !strcmp(p->place[at].key, last); at++)
            p->entry[p->place[at].cell].found[p->place[at].seed].over = true;
        return 0;
    }
    GROW(p->known, p->known_room, p->known_count + 1);
    struct sweep_known *k = &p->known[p->known_count++];
    *k = (struct sweep_known){ .run = cells[0].integer };
    draw_key(p->id, last, k->key);
    take_state(p, k, cells);
    return 0;
}

/* A single query, because it is run for each draw. */
static int find_draws(struct sweep_plan *p, struct store *s, struct err *e) {
    p->known_count = 0;
    char *sql = xprintf(
        "SELECT " RUN_STATE ", cell FROM run WHERE sweep = %lld AND cell IS NOT NULL AND trashed IS NULL "
        "UNION ALL SELECT 0, '', 0, 0, 0, '', key FROM sweep_failure WHERE sweep = %lld ORDER BY 1",
        (long long)p->id, (long long)p->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = p, .row = draw_row }, e);
    free(sql);
    return rc;
}

/* Reads new runs, then the state of all. */
static int find_runs(struct sweep_plan *p, struct store *s, struct err *e) {
    int64_t newest = p->known_count ? p->known[p->known_count - 1].run : 0;
    char *sql = xprintf(
        "SELECT id, config, parent FROM run WHERE id > %lld AND (sweep IS NULL OR cell IS NULL) ORDER BY id",
        (long long)newest); /* no draws */
    int rc = store_sql(s, sql, (struct store_rows){ .self = p, .row = learn_row }, e);
    free(sql);
    return rc ? rc : store_sql(s, "SELECT " RUN_STATE " FROM run WHERE trashed IS NULL",
                               (struct store_rows){ .self = p, .row = state_row }, e);
}

/* Of finished runs that repeat each other, one counts for a cell. */
static void settle_known(struct sweep_plan *p) {
    struct evidence *of = xcalloc(p->known_count + 1, sizeof *of);
    size_t n = 0;
    for (size_t i = 0; i < p->known_count; i++) {
        const struct sweep_known *k = &p->known[i];
        if (k->there && k->state == STORE_FINISHED)
            of[n++] =
                (struct evidence){ k->key, *k->weights ? k->weights : NULL, k->run, k->ended, 0, false };
    }
    evidence_settle(of, n);
    for (size_t i = 0, at = 0; i < p->known_count; i++) {
        struct sweep_known *k = &p->known[i];
        bool done = k->there && k->state == STORE_FINISHED;
        k->repeat = done && of[at].counted != k->run;
        k->differs = done && of[at].differs;
        at += done;
    }
    free(of);
}

/* Runs that failed elsewhere are tried here. */
static void consider(const struct sweep_known *k, bool draw, struct sweep_found *f) {
    bool done = k->state == STORE_FINISHED;
    if (!k->there || k->repeat || (!k->own && !done) || (f->over && !done)) return;
    *f = (struct sweep_found){ k->run, k->state, done || (k->state == STORE_FAILED && !draw), k->step };
}

void sweep_find_key(const struct sweep_plan *p, const char *key, struct sweep_found *out) {
    *out = (struct sweep_found){ 0 };
    for (size_t i = 0; i < p->known_count; i++)
        if (!strcmp(p->known[i].key, key)) consider(&p->known[i], false, out);
}

static void match(struct sweep_plan *p) {
    for (size_t i = 0; i < p->known_count; i++) {
        const struct sweep_known *k = &p->known[i];
        if (!*k->key || !k->there) continue;
        for (size_t at = first_place(p, k->key); at < p->places && !strcmp(p->place[at].key, k->key); at++)
            consider(k, p->draws, &p->entry[p->place[at].cell].found[p->place[at].seed]);
    }
}

int sweep_plan_find(struct sweep_plan *p, struct store *s, struct err *e) {
    for (int i = 0; i < p->cells.count; i++)
        memset(p->entry[i].found, 0, (size_t)p->spec.seeds * sizeof *p->entry[i].found);
    for (size_t i = 0; i < p->known_count; i++) p->known[i].there = false;
    if (p->draws && !p->place) index_keys(p);
    int rc = p->draws ? find_draws(p, s, e) : find_runs(p, s, e);
    bool news = false;
    if (!rc) settle_known(p);
    if (!rc) rc = tune_settle(p, s, &news, e);
    if (rc) return rc;
    if (!p->place || news) index_keys(p);
    match(p);
    return halving_settle(p, s, e);
}

int sweep_plan_leave_out(struct sweep_plan *p, struct store *s, int cell, int seed, const char *why,
                         struct err *e) {
    p->entry[cell].found[seed].over = true;
    return store_sweep_failure(s, p->id, p->entry[cell].key[seed], why, e);
}

struct leaving {
    struct sweep_plan *plan;
    void (*take)(void *self, int cell, int seed, const char *why);
    void *self;
};
static int left_out_row(void *self, int count, const struct store_cell *cells) {
    const struct leaving *l = self;
    struct sweep_plan *p = l->plan;
    (void)count;
    const char *key = cells[0].text;
    for (size_t at = first_place(p, key); at < p->places && !strcmp(p->place[at].key, key); at++) {
        const struct sweep_place *x = &p->place[at];
        l->take(l->self, x->cell, x->seed, cells[1].text);
    }
    return 0;
}

int sweep_plan_left_out(struct sweep_plan *p, struct store *s,
                        void (*take)(void *self, int cell, int seed, const char *why), void *self,
                        struct err *e) {
    struct leaving l = { p, take, self };
    char *sql = xprintf("SELECT key, reason FROM sweep_failure WHERE sweep = %lld", (long long)p->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &l, .row = left_out_row }, e);
    free(sql);
    return rc;
}

struct spent {
    double of[SWEEP_BUDGETS];
};
static int sweep_runs_spent_row(void *self, int count, const struct store_cell *cells) {
    static const enum sweep_budget column[] = { BUDGET_RUNS, BUDGET_STEPS, BUDGET_MINUTES, BUDGET_TOKENS };
    struct spent *x = self;
    for (int i = 0; i < count; i++)
        x->of[column[i]] = cells[i].type == STORE_REAL      ? cells[i].real
                           : cells[i].type == STORE_INTEGER ? (double)cells[i].integer
                                                            : 0;
    return 0;
}

int sweep_plan_spent(const struct sweep_plan *p, struct store *s, char **why, struct err *e) {
    struct spent spent = { { 0 } };
    *why = NULL;
    bool any = false;
    for (int i = 0; i < SWEEP_BUDGETS; i++) any |= i != BUDGET_TRAINED && p->spec.budget[i] > 0;
    if (!any) return 0;
    char *sql = xprintf(
        "SELECT count(*), sum(steps), sum(seconds) / 60.0, (SELECT sum(m.value) FROM metric m JOIN key k ON "
        "k.id = m.key JOIN run t ON t.id = m.run WHERE t.sweep = %lld AND k.name = 'tokens') FROM run WHERE "
        "sweep = %lld",
        (long long)p->id, (long long)p->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &spent, .row = sweep_runs_spent_row }, e);
    free(sql);
    for (int i = 0; !rc && !*why && i < SWEEP_BUDGETS; i++)
        if (i != BUDGET_TRAINED && p->spec.budget[i] > 0 && spent.of[i] >= p->spec.budget[i])
            *why = xprintf("%.6g of %.6g %s%s", spent.of[i], p->spec.budget[i], SWEEP_BUDGET[i],
                           i == BUDGET_MINUTES ? ", which depend on the machine" : "");
    return rc;
}

int sweep_plan_missing(const struct sweep_plan *p) {
    int n = 0;
    for (int i = 0; i < p->cells.count; i++)
        for (int k = 0; p->entry[i].valid && k < p->spec.seeds; k++)
            n += !p->entry[i].found[k].over && !halving_is_out(p, i);
    return n;
}

/* ---- output ---- */

void sweep_plan_json(const struct sweep_plan *p, const char *taken, const struct expected_time *t,
                     struct buf *out) {
    int runs = 0;
    buf_putc(out, '{');
    json_open(out, "cells", '[');
    for (int i = 0; i < p->cells.count; i++) {
        const struct sweep_entry *x = &p->entry[i];
        json_open(out, NULL, '{');
        json_open(out, "axes", '{');
        for (int a = 0; a < p->cells.axes; a++)
            if (p->cells.cell[i].value[a])
                json_member_string(out, p->spec.axis[a].key, p->cells.cell[i].value[a]);
        buf_putc(out, '}');
        json_put(out, "valid:%i,reason:%s,runs:%d,trained:%jd", x->valid, x->reason,
                 x->valid ? p->spec.seeds : 0, x->trained);
        sweep_runs_add_size(x, out);
        sweep_runs_add_near(x, out);
        buf_putc(out, '}');
        runs += x->valid ? p->spec.seeds : 0;
    }
    buf_putc(out, ']');
    json_put(out, "runs:%d,lacking:%d", runs, sweep_plan_missing(p));
    json_add_key(out, "taken");
    buf_puts(out, taken);
    halving_plan_json(p, out);
    expected_json(t, out);
    buf_putc(out, '}');
}

struct taken_report {
    struct buf *json, *lines;
};
static int taken_row(void *self, int count, const struct store_cell *cells) {
    const struct taken_report *t = self;
    const char *version = cells[0].text, *kernel = cells[1].text;
    int64_t runs = cells[2].integer;
    (void)count;
    json_put(t->json, "{version:%s,kernel:%s,runs:%jd}", version, kernel, runs);
    buf_printf(t->lines, "%lld existing run%s, trained by %s, kernel %s\n", (long long)runs,
               runs == 1 ? "" : "s", version ? version : "an unknown version of petri",
               kernel ? kernel : "unknown");
    return 0;
}

int sweep_plan_taken(const struct sweep_plan *p, struct store *s, struct buf *json, struct buf *lines,
                     struct err *e) {
    struct buf sql = BUF_INIT;
    bool any = false;
    buf_printf(&sql, "SELECT version, kernel, count(*) FROM run WHERE sweep IS NOT %lld AND id IN (",
               (long long)p->id);
    for (int i = 0; i < p->cells.count; i++) {
        for (int k = 0; k < p->spec.seeds; k++) {
            if (!p->entry[i].found[k].run) continue;
            buf_printf(&sql, "%s%lld", any ? "," : "", (long long)p->entry[i].found[k].run);
            any = true;
        }
    }
    for (size_t i = 0; i < p->known_count; i++) {
        const struct sweep_known *k = &p->known[i];
        size_t at = first_place(p, k->key);
        if (k->differs && !k->repeat && at < p->places && !strcmp(p->place[at].key, k->key))
            buf_printf(lines,
                       "run %lld is used for its cell and seed: it is the newest of several runs with "
                       "different weights\n",
                       (long long)k->run);
    }
    buf_puts(&sql, ") GROUP BY 1, 2 ORDER BY 1, 2");
    buf_putc(json, '[');
    int rc = store_sql(s, buf_text(&sql),
                       (struct store_rows){ .self = &(struct taken_report){ json, lines }, .row = taken_row },
                       e);
    buf_putc(json, ']');
    buf_release(&sql);
    return rc;
}

struct failures {
    struct sweep_plan *plan;
    struct side_by_side *out;
};

/* Records the reason of a run that could not be started with its cell, unless it was trained later. */
static int failure_row(void *self, int count, const struct store_cell *cells) {
    const struct failures *f = self;
    struct sweep_plan *p = f->plan;
    (void)count;
    for (size_t at = first_place(p, cells[0].text);
         at < p->places && !strcmp(p->place[at].key, cells[0].text); at++) {
        const struct sweep_place *x = &p->place[at];
        if (!p->entry[x->cell].found[x->seed].over)
            comparison_failed(&f->out->group[x->cell], p->spec.seed[x->seed], cells[1].text);
    }
    return 0;
}

static int take_failures(struct sweep_plan *p, struct store *s, struct side_by_side *c, struct err *e) {
    char *sql = xprintf("SELECT key, reason FROM sweep_failure WHERE sweep = %lld", (long long)p->id);
    int rc = store_sql(s, sql, (struct store_rows){ .self = &(struct failures){ p, c }, .row = failure_row },
                       e);
    free(sql);
    return rc;
}

/* Returns whether the axis is in the text of an option itself, not part of another axis. */
static bool is_outer(const struct sweep_spec *s, int axis) {
    char *mention = xprintf("{%s}", s->axis[axis].key);
    bool found = false;
    for (int i = 0; i < s->options; i++) found |= strstr(s->option[i].text, mention) != NULL;
    free(mention);
    return found;
}

/* "lora(r=2) lr=1e-3" */
static char *cell_name(const struct sweep_plan *p, int cell) {
    struct buf b = BUF_INIT;
    for (int a = 0; a < p->cells.axes; a++) {
        const char *v = p->cells.cell[cell].value[a], *key = p->spec.axis[a].key;
        if (!v || !is_outer(&p->spec, a)) continue;
        bool method = !strcmp(key, "method");
        buf_printf(&b, "%s%s%s%s", b.size ? " " : "", method ? "" : key, method ? "" : "=", v);
    }
    return b.size ? buf_take(&b) : xstrdup("single cell");
}

int sweep_plan_compare(struct sweep_plan *p, struct store *s, struct side_by_side *c, struct err *e) {
    c->id = p->id;
    c->title = plan_text(p);
    for (int a = 0; a < p->spec.axes; a++) {
        comparison_axis(c, p->spec.axis[a].key, p->spec.axis[a].log);
        c->inner[a] = !is_outer(&p->spec, a);
    }
    int rc = 0;
    for (int i = 0; !rc && i < p->cells.count; i++) {
        const struct sweep_entry *x = &p->entry[i];
        char *name = cell_name(p, i);
        struct compared_group *g = comparison_add(c, name);
        free(name);
        g->valid = x->valid;
        g->reason = x->reason ? xstrdup(x->reason) : NULL;
        g->trained = x->trained;
        g->wanted = p->spec.seeds;
        tune_tell(p, i, g);
        sweep_runs_tell_size(p, i, g);
        for (int a = 0; a < c->axes; a++)
            if (p->cells.cell[i].value[a]) g->axis[a] = xstrdup(p->cells.cell[i].value[a]);
        for (int k = 0; !rc && k < p->spec.seeds; k++) {
            struct store_run run;
            struct compared_run one;
            int kind;
            if (!x->found[k].run) continue;
            rc = store_run(s, x->found[k].run, &run, e);
            if (rc) break;
            rc = comparison_read(c, s, &run, &one, &kind, e);
            if (!rc) comparison_take(c, &c->group[i], &one, kind);
            if (!rc && run.state == STORE_FAILED) comparison_failed(&c->group[i], run.seed, run.reason);
            store_run_release(&run);
        }
        halving_tell(p, i, c, g);
    }
    return rc ? rc : take_failures(p, s, c, e);
}
