/* Changed and frozen parameters, as the run reported them at its end. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/why/why_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { STILL_STEPS = 100, TELLING_STEPS = 3 /* after which every trainable tensor has changed */ };

static struct why_group *group_named(struct why_moved *m, const char *name) {
    for (int i = 0; i < m->groups; i++)
        if (!strcmp(m->group[i].name, name)) return &m->group[i];
    m->group = xrealloc(m->group, (size_t)m->groups + 1, sizeof *m->group);
    m->group[m->groups] = (struct why_group){ .name = xstrdup(name) };
    return &m->group[m->groups++];
}

static void moved_number(struct why_moved *m, const char *name, double v) {
    const char *what = strrchr(name, '_');
    char group[32];
    if (!what || (size_t)(what - name) >= sizeof group) return;
    memcpy(group, name, (size_t)(what - name));
    group[what++ - name] = '\0';
    if (!strcmp(group, "frozen")) {
        *(strcmp(what, "values") ? &m->unchanged : &m->frozen) = v;
        return;
    }
    struct why_group *g = group_named(m, group);
    static const char *const number[] = { "from", "to", "tensors", "same", "still", "unreached" };
    double *const place[] = { &g->from, &g->to, &g->tensors, &g->same, &g->still, &g->unreached };
    for (size_t i = 0; i < COUNT_OF(number); i++)
        if (!strcmp(what, number[i])) *place[i] = v;
}

/* Returns a readable name of "module2", with its method. */
static void name_group(const struct why_run *r, struct why_group *g) {
    int k;
    char *name = NULL;
    if (sscanf(g->name, "module%d", &k) == 1) {
        const char *text = k >= 1 && k <= r->run->module_count ? r->run->module[k - 1].text : NULL;
        name = text ? xprintf("module %d, %s", k, text) : xprintf("module %d", k);
    } else {
        name = xprintf("the %s", g->name);
    }
    free(g->name);
    g->name = name;
}

void why_moved_read(const struct why_run *r, struct why_moved *out) {
    static const char split[] = "moved.";
    *out = (struct why_moved){ .frozen = NAN, .unchanged = NAN };
    int64_t last = -1;
    for (size_t i = 0; i < r->evals.count; i++)
        if (text_starts(r->evals.row[i].name, split) && r->evals.row[i].step > last)
            last = r->evals.row[i].step;
    for (size_t i = 0; i < r->evals.count; i++) {
        const struct store_eval_row *v = &r->evals.row[i];
        if (!text_starts(v->name, split) || v->step != last) continue;
        out->since = v->rows;
        moved_number(out, v->name + strlen(split), v->value.v);
    }
    for (int i = 0; i < out->groups; i++) name_group(r, &out->group[i]);
}

void why_moved_release(struct why_moved *m) {
    for (int i = 0; i < m->groups; i++) free(m->group[i].name);
    free(m->group);
    *m = (struct why_moved){ 0 };
}

static void no_module_gradient(const struct why_run *r, struct why *w) {
    const struct why_moved *m = &r->moved;
    for (int i = 0; i < m->groups; i++) {
        const struct why_group *g = &m->group[i];
        if (g->still >= STILL_STEPS)
            why_add(w, "module-still",
                    xprintf("the gradient of %s was zero for %.0f steps", g->name, g->still), "steps",
                    g->still, NULL);
    }
}

static void unmoved(const struct why_run *r, struct why *w) {
    const struct why_moved *m = &r->moved;
    for (int i = 0; i < m->groups; i++) {
        const struct why_group *g = &m->group[i];
        bool all = g->same == g->tensors;
        if (!(g->same > 0) || r->run->step < TELLING_STEPS) continue;
        struct buf b = BUF_INIT;
        if (all) buf_printf(&b, "no parameter of %s changed %s", g->name, m->since ? m->since : "");
        else
            buf_printf(&b, "%.0f of the %.0f tensors of %s did not change %s", g->same, g->tensors, g->name,
                       m->since ? m->since : "");
        buf_printf(&b, ", although %s trainable", all ? "it is" : "they are");
        why_add(w, "unmoved", buf_take(&b), "same", g->same, "tensors", g->tensors, NULL);
    }
}

/* Weight decay may change parameters without a gradient. */
static void never_reached(const struct why_run *r, struct why *w) {
    const struct why_moved *m = &r->moved;
    for (int i = 0; i < m->groups; i++) {
        const struct why_group *g = &m->group[i];
        if (!(g->unreached > 0) || r->run->step < TELLING_STEPS) continue;
        why_add(w, "no-gradient-in-tensors",
                xprintf("%.0f of the %.0f tensors of %s had a gradient of exactly zero at every step: "
                        "they do not contribute to the loss",
                        g->unreached, g->tensors, g->name),
                "unreached", g->unreached, "tensors", g->tensors, NULL);
    }
}

static void thawed(const struct why_run *r, struct why *w) {
    const struct why_moved *m = &r->moved;
    if (m->unchanged == 0)
        why_add(w, "thawed",
                xprintf("the frozen parameters of the model changed %s: this is a bug in petri",
                        m->since ? m->since : ""),
                "values", m->frozen, NULL);
}

why_rule *const why_moved_rules[WHY_MOVED_KINDS + 1] = { no_module_gradient, unmoved, never_reached, thawed,
                                                         NULL };

static void add_fact(struct why *w, char *text) {
    w->fact = xrealloc(w->fact, (size_t)w->facts + 1, sizeof *w->fact);
    w->fact[w->facts++] = text_visible(text, strlen(text));
    free(text);
}

void why_moved_facts(const struct why_run *r, struct why *w) {
    const struct why_moved *m = &r->moved;
    char values[32];
    for (int i = 0; i < m->groups; i++) {
        const struct why_group *g = &m->group[i];
        add_fact(w, xprintf("changed %s: %s: norm %.4g to %.4g; %.0f of %.0f tensors changed",
                            m->since ? m->since : "", g->name, g->from, g->to, g->tensors - g->same,
                            g->tensors));
    }
    if (m->unchanged == 1 && m->frozen >= 0) {
        text_thousands((int64_t)m->frozen, values);
        add_fact(
            w, xprintf(
                   "frozen: the %s parameters of %s; their SHA-256 did not change (%.12s\u2026)",
                   values, *r->run->model ? r->run->model : "the model",
                   r->run->model_sha256 ? r->run->model_sha256 : ""));
    }
}
