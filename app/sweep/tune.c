#include "app/sweep/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/regime.h"

enum { USUAL_SEED = 9999 };
static const double HELD = 0.1;

bool tune_is_tagged(const char *tags) {
    const char *at = tags;
    while (at && (at = strstr(at, TUNE_TAG))) {
        size_t n = strlen(TUNE_TAG);
        bool begins = at == tags || at[-1] == ' ', ends = !at[n] || at[n] == ',';
        if (begins && ends) return true;
        at += n;
    }
    return false;
}

bool tune_is_asked(const struct sweep_plan *p, int cell, int option) {
    const char *name = config_option_name(p->spec.option[option].name);
    return name && !strcmp(name, "lr") && !strcmp(p->cells.cell[cell].text[option], "auto");
}

static bool asks(const struct sweep_plan *p, int cell) {
    for (int i = 0; i < p->spec.options; i++)
        if (tune_is_asked(p, cell, i)) return true;
    return false;
}

bool tune_leads(const struct sweep_plan *p, int cell) {
    const struct sweep_tune *t = p->entry[cell].tune;
    return t && p->entry[cell].valid && t->leader == cell;
}

static const struct sweep_tune *leader_of(const struct sweep_plan *p, int cell) {
    const struct sweep_tune *t = p->entry[cell].tune;
    return t ? p->entry[t->leader].tune : NULL;
}

/* Returns a seed that is not used for reported runs. */
static uint64_t seed_of(const struct sweep_plan *p) {
    uint64_t seed = USUAL_SEED;
    for (int i = 0; i < p->spec.seeds; i++)
        if (p->spec.seed[i] == seed) seed--, i = -1;
    return seed;
}

/* ---- configs ---- */

static void tune_hold_out(struct run_config *c) {
    c->split = HELD;
    c->no_dev = true;
    c->official_dev = false;
    free(c->dev_file);
    c->dev_file = NULL;
}

/* Uses a tenth of the training set instead of the validation set. */
static int make_held(const struct sweep_plan *p, int cell, struct run_config *c, struct err *e) {
    int rc = sweep_plan_config(p, cell, seed_of(p), c, e);
    if (rc) return rc;
    if (c->split > 0 || c->split_validation)
        return err_set(e, ERR_USAGE,
                       "--lr auto: holds out part of the training set itself; omit --split and "
                       "--split-validation, or specify the learning rate");
    if (c->episodes || config_is_meta(c))
        return err_set(e, ERR_USAGE,
                       "--lr auto: not available for training on episodes; specify the learning rate");
    for (int i = 0; i < config_task_count(c); i++) tune_hold_out(config_data(c, i));
    tune_hold_out(c);
    return 0;
}

/* Three digits are sufficient for a learning rate, and can be typed. */
static double times(double usual, int thirds) {
    char text[32];
    double v = usual * pow(3, thirds);
    snprintf(text, sizeof text, "%.3g", v);
    text_to_double(text, &v);
    return v;
}

static void key_at(const char *config, double rate, uint64_t seed, char key[65]) {
    struct run_config c;
    struct err ignored = ERR_INIT;
    *key = '\0';
    if (record_config_text(config, &c, &ignored)) return;
    c.lr = rate;
    c.seed = seed;
    config_key(&c, key);
    config_release(&c);
}

static void add_rate(const struct sweep_plan *p, struct sweep_tune *t, int thirds, bool below) {
    int at = below ? 0 : t->rates;
    memmove(t->rate + at + 1, t->rate + at, (size_t)(t->rates - at) * sizeof *t->rate);
    t->rates++;
    t->rate[at] = (struct tune_rate){ .rate = times(t->usual, thirds), .value = NAN };
    key_at(t->held, t->rate[at].rate, seed_of(p), t->rate[at].key);
}

static void begin_rates(const struct sweep_plan *p, struct sweep_tune *t) {
    t->chosen = -1;
    for (int i = -2; t->held && i <= 2; i++) add_rate(p, t, i, false);
}

/* Returns whether two cells share a learning rate: same method, model and task. */
static char *group_of(const struct run_config *c) {
    char *method = method_text(&c->method);
    char *text = xprintf("%s %s %s %s %s", method, c->model_sha256 ? c->model_sha256 : "",
                         c->task ? c->task : "", c->train_sha256 ? c->train_sha256 : "",
                         config_regime_given(c));
    free(method);
    return text;
}

static int find_leader(const struct sweep_plan *p, int cell, const struct run_config *c) {
    char *own = group_of(c);
    int found = cell;
    for (int i = 0; i < cell && found == cell; i++) {
        struct run_config other;
        struct err ignored = ERR_INIT;
        if (!tune_leads(p, i)) continue;
        if (record_config_text(p->entry[i].tune->config, &other, &ignored)) continue;
        char *group = group_of(&other);
        if (!strcmp(group, own)) found = i;
        config_release(&other);
        free(group);
    }
    free(own);
    return found;
}

int tune_prepare(struct sweep_plan *p, int cell, const struct run_config *c, struct jobs *j, struct err *e) {
    if (!asks(p, cell)) return 0;
    struct sweep_tune *t = p->entry[cell].tune = xcalloc(1, sizeof *t);
    t->usual = c->lr;
    t->config = config_json(c);
    t->leader = find_leader(p, cell, c);
    int rc = 0;
    if (t->leader == cell) {
        struct run_config held;
        int64_t trained;
        rc = make_held(p, cell, &held, e);
        if (!rc) rc = jobs_complete(j, &held, &trained, e);
        if (!rc) t->held = config_json(&held);
        config_release(&held);
    }
    begin_rates(p, t);
    return rc;
}

void tune_free(struct sweep_tune *t) {
    if (!t) return;
    free(t->config);
    free(t->held);
    free(t);
}

void tune_record(const struct sweep_tune *t, struct buf *b) {
    if (!t) return;
    json_put(b, "tune:{leader:%d,usual:%f,config:%s,held:%s}", t->leader, t->usual, t->config, t->held);
}

struct sweep_tune *tune_read(const struct sweep_plan *p, int cell, const json_t *record) {
    const char *config = json_string_value(json_object_get(record, "config")),
               *held = json_string_value(json_object_get(record, "held"));
    json_int_t leader = json_integer_value(json_object_get(record, "leader"));
    if (!config || leader < 0 || leader > cell || (leader == cell && !held) ||
        (leader < cell && !p->entry[leader].tune))
        return NULL;
    struct sweep_tune *t = xcalloc(1, sizeof *t);
    t->leader = (int)leader;
    t->usual = json_number_value(json_object_get(record, "usual"));
    t->config = xstrdup(config);
    t->held = xcopy(held);
    begin_rates(p, t);
    return t;
}

/* ---- reading the database ---- */

static int look_at_rates(const struct sweep_plan *p, struct store *s, struct sweep_tune *t, bool *all,
                         struct err *e) {
    *all = true;
    for (int i = 0; i < t->rates; i++) {
        struct tune_rate *r = &t->rate[i];
        struct store_run run;
        sweep_find_key(p, r->key, &r->found);
        *all &= r->found.over;
        if (!r->found.over || r->found.state != STORE_FINISHED) continue;
        if (store_run(s, r->found.run, &run, e)) return e->code;
        r->value = run.best.measured && !run.best.undefined ? run.best.v : NAN;
        r->seconds = run.seconds;
        t->direction = run.direction;
        store_run_release(&run);
    }
    return 0;
}

/* Returns the best; of equal ones the nearest to the default; −1: none has a value. */
static int best_rate(const struct sweep_tune *t) {
    int best = -1;
    for (int i = 0; i < t->rates; i++) {
        double v = t->rate[i].value;
        if (!isfinite(v)) continue;
        double far = fabs(log(t->rate[i].rate / t->usual)),
               of_best = best < 0 ? 0 : fabs(log(t->rate[best].rate / t->usual));
        double more = best < 0 ? 1 : t->direction * (v - t->rate[best].value);
        if (more > 0 || (more == 0 && far < of_best)) best = i;
    }
    return best;
}

/* Adds two learning rates beyond the best one at an edge; returns false if it is not at an edge, or there
 * were enough. */
static bool go_beyond(const struct sweep_plan *p, struct sweep_tune *t, int best) {
    if (best < 0 || (best > 0 && best < t->rates - 1) || t->rates + 2 > TUNE_RATES) return false;
    bool below = !best;
    int edge = (int)lround(log(t->rate[best].rate / t->usual) / log(3));
    for (int i = 1; i <= 2; i++) add_rate(p, t, below ? edge - i : edge + i, below);
    return true;
}

static int settle_one(struct sweep_plan *p, struct store *s, struct sweep_tune *t, struct err *e) {
    bool all;
    int best = -1, rc;
    do {
        rc = look_at_rates(p, s, t, &all, e);
        best = best_rate(t);
    } while (!rc && all && go_beyond(p, t, best));
    if (rc || !all) return rc;
    t->chosen = best;
    t->none = best < 0;
    return 0;
}

int tune_settle(struct sweep_plan *p, struct store *s, bool *news, struct err *e) {
    for (int i = 0; i < p->cells.count; i++) {
        struct sweep_entry *x = &p->entry[i];
        if (tune_leads(p, i) && x->tune->chosen < 0 && !x->tune->none && settle_one(p, s, x->tune, e))
            return e->code;
        const struct sweep_tune *t = leader_of(p, i);
        if (!t || !x->valid || t->chosen < 0 || *x->key[0]) continue;
        for (int k = 0; k < p->spec.seeds; k++)
            key_at(x->tune->config, t->rate[t->chosen].rate, p->spec.seed[k], x->key[k]);
        *news = true;
    }
    return 0;
}

void tune_apply(const struct sweep_plan *p, int cell, struct run_config *c) {
    const struct sweep_tune *t = leader_of(p, cell);
    if (t && t->chosen >= 0) c->lr = t->rate[t->chosen].rate;
}

bool tune_has_none(const struct sweep_plan *p, int cell) {
    const struct sweep_tune *t = leader_of(p, cell);
    return t && t->none;
}

int tune_config(const struct sweep_plan *p, int cell, int rate, struct run_config *c, struct err *e) {
    int rc = make_held(p, cell, c, e);
    c->lr = p->entry[cell].tune->rate[rate].rate;
    return rc;
}

void tune_tell(const struct sweep_plan *p, int cell, struct compared_group *g) {
    const struct sweep_tune *t = leader_of(p, cell);
    struct buf b = BUF_INIT, line = BUF_INIT;
    double seconds = 0;
    if (!t || !p->entry[cell].valid) return;
    json_put(&b, "{lr:%g,usual:%f,seed:%jd,rates:[", t->chosen < 0 ? NAN : t->rate[t->chosen].rate, t->usual,
             (int64_t)seed_of(p));
    for (int i = 0; i < t->rates; i++) {
        const struct tune_rate *r = &t->rate[i];
        json_put(&b, "{lr:%f,run:%jd,value:%g,seconds:%g}", r->rate, r->found.run, r->value, r->seconds);
        seconds += r->seconds;
    }
    buf_puts(&b, "]}");
    if (t->chosen >= 0)
        buf_printf(&line, "lr %g, best of %d values (default %g), %.1f s of tuning runs",
                   t->rate[t->chosen].rate, t->rates, t->usual, seconds);
    else
        buf_puts(&line, t->none ? "no learning rate produced a score" : "the learning rate is not known yet");
    if (t->none && !g->reason) g->reason = xstrdup("--lr auto: no learning rate produced a score");
    g->tune = buf_take(&b);
    g->tuned = buf_take(&line);
}
