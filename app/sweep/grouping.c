#include "app/sweep/grouping.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/record.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/config.h"
#include "core/train/config/evidence.h"
#include "core/train/config/option.h"

static const char *const run_columns[] = { "method", "task", "model", "preset", "regime", "tags" };
static const char *const module_columns[] = { "fn",     "act",         "read",   "write", "insertion",
                                              "comp",   "composition", "source", "heads", "init",
                                              "target", "layers",      "size",   "mid",   "scale" };

/* ---- columns ---- */

static int place_in(const char *const *names, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(names[i], name)) return (int)i;
    return -1;
}

static void module_value(const struct store_module *m, int column, char out[64]) {
    const char *const text[] = { m->fn,          m->act,    m->read,  m->write, m->insertion, m->composition,
                                 m->composition, m->source, m->heads, m->init,  m->target,    m->layers };
    if (column < (int)COUNT_OF(text)) snprintf(out, 64, "%s", text[column] ? text[column] : "");
    else if (column < (int)COUNT_OF(text) + 2)
        snprintf(out, 64, "%lld", (long long)(column == (int)COUNT_OF(text) ? m->size : m->mid));
    else if (m->has_scale) text_from_double(m->scale, out);
    else *out = 0;
}

/* Joins the values of a run's modules, each once: "linear", "bottleneck+linear". */
static char *modules_value(const struct store_run *r, int column) {
    struct buf b = BUF_INIT;
    char first[64] = "", one[64];
    bool same = true;
    for (int i = 0; i < r->module_count; i++) {
        module_value(&r->module[i], column, one);
        if (!i) memcpy(first, one, sizeof first);
        same &= !strcmp(one, first);
        buf_printf(&b, "%s%s", i ? "+" : "", *one ? one : "\u2013");
    }
    if (same) {
        buf_release(&b);
        return *first ? xstrdup(first) : NULL;
    }
    return buf_take(&b);
}

/* Caller frees; NULL: the run has no value. */
static char *column_value(const struct store_run *r, const char *column) {
    const char *const text[] = { r->method, r->task, r->model, r->preset, r->regime, r->tags };
    int at = place_in(run_columns, COUNT_OF(run_columns), column);
    if (at >= 0) return text[at] && *text[at] ? xstrdup(text[at]) : NULL;
    at = place_in(module_columns, COUNT_OF(module_columns), column);
    if (at >= 0) return modules_value(r, at);
    struct run_config c;
    struct err ignored = ERR_INIT;
    if (record_config_of(r, &c, &ignored)) return NULL;
    char *value = config_get(&c, column);
    config_release(&c);
    return value;
}

static int check_column(const char *by, const char *column, struct err *e) {
    if (place_in(run_columns, COUNT_OF(run_columns), column) >= 0 ||
        place_in(module_columns, COUNT_OF(module_columns), column) >= 0)
        return 0;
    if (config_option_name(column)) return 0;
    return err_set(
        e, ERR_USAGE,
        "--by %s: unknown column \"%s\"; use method, task, model, preset, regime, tags; fn, act, read, "
        "write, insertion, comp, source, heads, init, target, layers, size, mid or scale of a method's "
        "modules; or an option (lr)",
        by, column);
}

/* Adds the columns as axes. */
static int grouping_add_axes(struct side_by_side *c, const char *by, struct err *e) {
    char *copy = xstrdup(by), *rest = copy, *part;
    int rc = 0;
    while (!rc && (part = text_item(&rest))) {
        rc = check_column(by, part, e);
        const char *option = config_option_name(part), *axis = option ? option : part;
        for (int k = 0; k < c->axes && !rc; k++)
            if (!strcmp(c->axis[k], axis))
                rc = err_set(e, ERR_USAGE, "--by %s: duplicate column %s", by, part);
        if (!rc) comparison_axis(c, axis, false);
    }
    free(copy);
    return rc;
}

int comparison_by(struct side_by_side *c, struct store *s, const char *by, struct err *e) {
    for (int i = 0; i < c->groups; i++)
        for (int a = 0; a < c->axes; a++) free(c->group[i].axis[a]);
    while (c->axes) free(c->axis[--c->axes]);
    int rc = grouping_add_axes(c, by, e);
    for (int i = 0; i < c->groups && !rc; i++) {
        struct store_run run;
        if (!c->group[i].runs) continue;
        rc = store_run(s, c->group[i].run[0].id, &run, e);
        if (rc) break;
        for (int a = 0; a < c->axes; a++) c->group[i].axis[a] = column_value(&run, c->axis[a]);
        store_run_release(&run);
    }
    return rc;
}

/* ---- groups ---- */

int grouping_begin(struct grouping *g, const char *by, struct err *e) {
    *g = (struct grouping){ .asked = by };
    return grouping_add_axes(&g->of, by ? by : "method", e);
}

void grouping_release(struct grouping *g) {
    for (int i = 0; i < g->of.groups; i++) {
        free(g->key[i]), free(g->task[i]);
        json_decref(g->options[i]);
    }
    free(g->key), free(g->task), free(g->options), free(g->called);
    json_decref(g->metrics);
    comparison_release(&g->of);
}

/* Returns the key of a run's group; NULL with *e if its record cannot be read. */
static char *grouping_key_of(const struct grouping *g, const struct store_run *r, struct err *e) {
    struct buf b = BUF_INIT;
    char key[65];
    if (!g->asked) return evidence_key(r->config, r->parent, EVIDENCE_ANY_SEED, key, e) ? NULL : xstrdup(key);
    for (int i = 0; i < g->of.axes; i++) {
        char *value = column_value(r, g->of.axis[i]);
        buf_part(&b, "%s", value ? value : "none");
        free(value);
    }
    return buf_take(&b);
}

/* ---- settings of the runs ---- */

static void put_text(json_t *all, const char *key, const char *text) {
    const char *now = json_string_value(json_object_get(all, key));
    if (!now) json_object_set_new(all, key, json_string(text));
    else if (strcmp(now, text)) json_object_set_new(all, key, json_string("several"));
}

static void put_value(json_t *all, const char *key, const json_t *v) {
    char *text = json_is_string(v) || json_is_null(v)
                     ? NULL
                     : json_dumps(v, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(9));
    put_text(all, key, text ? text : json_is_null(v) ? "\u2013" : json_string_value(v));
    free(text);
}

/* Adds the members of the config, for several tasks those of each, and the method's axes. */
static int put_options(json_t *all, const struct store_run *r, struct err *e) {
    json_t *o = json_parse("the config of the run", r->config, strlen(r->config), e), *v, *task;
    const char *key, *inner;
    size_t i;
    if (!o) return e->code;
    json_object_foreach(o, key, v) {
        if (!strcmp(key, "seed")) continue;
        if (strcmp(key, "tasks") || !json_is_array(v)) {
            put_value(all, key, v);
            continue;
        }
        json_array_foreach(v, i, task) {
            const char *name = json_string_value(json_object_get(task, "task_name"));
            json_t *of;
            json_object_foreach(task, inner, of) {
                char *both = xprintf("%s %s", name ? name : "task", inner);
                put_value(all, both, of);
                free(both);
            }
        }
    }
    for (size_t k = 0; k < option_count(); k++) { /* the config omits these at their first word, and without one */
        const struct option *late = option_at(k);
        if (!(late->is & OPTION_LATE) || json_object_get(o, late->key)) continue;
        if (late->word) put_text(all, late->key, late->word[0]);
        else put_value(all, late->key, json_null());
    }
    json_decref(o);
    for (size_t k = 0; k < COUNT_OF(module_columns); k++) {
        char *value = strcmp(module_columns[k], "comp") ? modules_value(r, (int)k)
                                                        : NULL; /* a short name of the next */
        char *name = xprintf("axis %s", module_columns[k]);
        if (value) put_text(all, name, value);
        free(name);
        free(value);
    }
    if (r->version) put_text(all, "version", r->version);
    if (r->kernel) put_text(all, "kernel", r->kernel);
    return 0;
}

/* Keeps the metrics that the run also has. */
static void keep_metrics(struct grouping *g, const struct store_run *r) {
    const char *dot = strrchr(r->decides, '.');
    json_t *mine = json_object();
    for (size_t i = 0; i < r->value_count && dot; i++) {
        const char *name = r->value[i].name;
        size_t n = (size_t)(dot - r->decides) + 1;
        if (strncmp(name, r->decides, n) || strchr(name + n, '.')) continue;
        if (!g->metrics || json_object_get(g->metrics, name + n))
            json_object_set_new(mine, name + n, json_true());
    }
    if (dot && r->best.measured) {
        json_decref(g->metrics);
        g->metrics = mine;
    } else {
        json_decref(mine);
    }
}

/* ---- adding ---- */

/* Returns the group of the key that fits the run's kind, or -1. */
static int find_group(const struct grouping *g, const char *key, int kind) {
    for (int i = 0; i < g->of.groups; i++) {
        int has = g->of.group[i].kind;
        if (!strcmp(g->key[i], key) && (has == kind || has == KIND_NONE || kind == KIND_NONE)) return i;
    }
    return -1;
}

/* Returns "lora #3"; for a named run "the best: lora #3". */
static char *group_name(const struct store_run *r) {
    return xprintf("%s%s%s #%lld", r->name ? r->name : "", r->name ? ": " : "", r->method, (long long)r->id);
}

/* Takes ownership of the key. */
static int new_group(struct grouping *g, char *key, const struct store_run *r) {
    char *name = g->asked ? xstrdup(key) : group_name(r);
    struct compared_group *x = comparison_add(&g->of, name);
    int at = g->of.groups - 1;
    free(name);
    for (int i = 0; i < g->of.axes; i++) x->axis[i] = column_value(r, g->of.axis[i]);
    g->key = xrealloc(g->key, (size_t)g->of.groups, sizeof *g->key);
    g->options = xrealloc(g->options, (size_t)g->of.groups, sizeof *g->options);
    g->called = xrealloc(g->called, (size_t)g->of.groups, sizeof *g->called);
    g->called[at] = g->asked || r->name;
    g->task = xrealloc(g->task, (size_t)g->of.groups, sizeof *g->task);
    g->key[at] = key;
    g->task[at] = xstrdup(r->task);
    g->options[at] = json_object();
    return at;
}

int grouping_add(struct grouping *g, struct store *s, int64_t id, struct err *e) {
    struct store_run r;
    struct compared_run x = { 0 };
    int kind, rc = store_run(s, id, &r, e);
    if (rc) return rc;
    char *key = grouping_key_of(g, &r, e);
    rc = key ? comparison_read(&g->of, s, &r, &x, &kind, e) : e->code;
    if (!rc) {
        int at = find_group(g, key, kind);
        if (at < 0) at = new_group(g, xstrdup(key), &r);
        if (!g->called[at] && r.name) { /* it represents those without a name */
            free(g->of.group[at].name);
            g->of.group[at].name = group_name(&r);
            g->called[at] = true;
        }
        comparison_take(&g->of, &g->of.group[at], &x, kind);
        rc = put_options(g->options[at], &r, e);
        keep_metrics(g, &r);
        g->runs++;
    }
    free(key);
    store_run_release(&r);
    return rc;
}

int grouping_filter(struct grouping *g, struct store *s, const char *filter, int64_t most, int64_t *left,
                    struct err *e) {
    struct store_runs runs;
    const struct store_list l = { .filter = filter, .sort = "id", .limit = most };
    int rc = store_list(s, &l, &runs, e);
    *left = 0;
    if (rc) return rc;
    for (size_t i = 0; !rc && i < runs.count; i++) rc = grouping_add(g, s, runs.run[i].id, e);
    if (!rc && !runs.count)
        rc = err_set(e, ERR_NOT_FOUND, "petri compare: no runs match \"%s\"; list all runs with `petri runs`",
                     filter);
    *left = runs.total - (int64_t)runs.count;
    store_runs_release(&runs);
    return rc;
}

static const char *option_of(const struct grouping *g, int group, const char *key) {
    return json_string_value(json_object_get(g->options[group], key));
}

static bool differs(const struct grouping *g, const char *key) {
    const char *first = option_of(g, 0, key);
    for (int i = 0; i < g->of.groups; i++) {
        const char *v = option_of(g, i, key);
        if (!v != !first || (v && strcmp(v, first)) || (v && !strcmp(v, "several"))) return true;
    }
    return false;
}

enum { NO_OPTION = 1000, NO_AXIS = 2000 };

/* Returns the place of a setting in the list: the option's number, NO_OPTION and above for axes, NO_AXIS for
 * the rest.  *name: its name on the command line, else its key. */
static int setting_place(const char *key, const char **name) {
    *name = key;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (strcmp(o->key, key) || !o->name) continue;
        *name = o->name;
        return (int)i;
    }
    if (!text_starts(key, "axis ")) return NO_AXIS;
    return NO_OPTION + place_in(module_columns, COUNT_OF(module_columns), key + strlen("axis "));
}

static int by_place(const void *pa, const void *pb) {
    const struct grouping_difference *a = pa, *b = pb;
    const char *name;
    int x = setting_place(a->key, &name), y = setting_place(b->key, &name);
    return x != y ? x - y : strcmp(a->key, b->key);
}

/* Returns whether the value belongs in the group's name: the option can change what is learned, and groups of
 * its task have other values. */
static bool names_group(const struct grouping *g, int group, const struct grouping_difference *d) {
    const struct option *o = option_find(d->name);
    const char *own = d->value[group];
    bool differ = false;
    if (!o || !(o->is & (OPTION_DECIDES | OPTION_MODEL))) return false;
    if (o->kind == OPTION_METHOD || o->group == GROUP_EVALUATION) return false;
    if (!own || !strcmp(own, "several") || !strcmp(own, "\u2013")) return false;
    for (int i = 0; i < g->of.groups; i++)
        differ |= !strcmp(g->task[i], g->task[group]) && d->value[i] && strcmp(d->value[i], own);
    return differ;
}

void grouping_name(struct grouping *g) {
    enum { NAMED = 3 };
    struct grouping_difference *d;
    size_t n = g->asked ? 0 : grouping_differences(g, &d);
    for (int i = 0; i < g->of.groups && n; i++) {
        struct compared_group *x = &g->of.group[i];
        char *number = strrchr(x->name, '#');
        struct buf b = BUF_INIT;
        int named = 0;
        buf_printf(&b, "%.*s", (int)(number - x->name), x->name);
        for (size_t k = 0; k < n && named < NAMED; k++)
            if (names_group(g, i, &d[k])) buf_printf(&b, "%s=%s ", d[k].name, d[k].value[i]), named++;
        buf_puts(&b, number);
        xreplace(&x->name, buf_text(&b));
        buf_release(&b);
    }
    for (size_t k = 0; k < n; k++) free(d[k].value);
    if (n) free(d);
}

size_t grouping_differences(const struct grouping *g, struct grouping_difference **out) {
    json_t *seen = json_object();
    size_t n = 0, room = 0;
    *out = NULL;
    for (int i = 0; i < g->of.groups; i++) {
        const char *key;
        json_t *v;
        json_object_foreach(g->options[i], key, v) {
            if (json_object_get(seen, key)) continue;
            json_object_set_new(seen, key, json_true());
            if (!differs(g, key)) continue;
            GROW(*out, room, n + 1);
            struct grouping_difference *d = &(*out)[n];
            *d = (struct grouping_difference){ .key = key };
            setting_place(key, &d->name);
            d->value = xcalloc((size_t)g->of.groups, sizeof *d->value);
            for (int k = 0; k < g->of.groups; k++) d->value[k] = option_of(g, k, key);
            n++;
        }
    }
    json_decref(seen);
    if (n) qsort(*out, n, sizeof **out, by_place);
    return n;
}

/* Returns whether the setting is an axis of the groups of a kind: an option that can change what is learned,
 * of which all of them have a value. */
static bool is_axis(const struct grouping *g, int kind, const struct grouping_difference *d) {
    const struct option *o = option_find(d->name);
    const char *first = NULL;
    bool differ = false;
    if (!o || !(o->is & (OPTION_DECIDES | OPTION_MODEL)) || o->group == GROUP_EVALUATION) return false;
    for (int i = 0; i < g->of.groups; i++) {
        if (g->of.group[i].kind != kind) continue;
        if (!d->value[i]) return false;
        if (!first) first = d->value[i];
        differ |= strcmp(first, d->value[i]) != 0;
    }
    return differ;
}

char **grouping_effects(const struct grouping *g, int kind, const struct grouping_difference *d, size_t n) {
    enum { AXES = 6 };
    char **out = xcalloc(n + 1, sizeof *out), *line[AXES] = { NULL }, *name[AXES];
    bool log[AXES] = { false }, inner[AXES] = { false };
    size_t at[AXES];
    struct side_by_side c = { .final = g->of.final, .kinds = 1, .kind = &g->of.kind[kind], .axis = name,
                              .log = log, .inner = inner };
    for (size_t i = 0; i < n && c.axes < AXES; i++)
        if (is_axis(g, kind, &d[i])) name[c.axes] = (char *)d[i].name, at[c.axes++] = i;
    c.group = xcalloc((size_t)g->of.groups + 1, sizeof *c.group);
    for (int i = 0; i < g->of.groups; i++) {
        if (g->of.group[i].kind != kind) continue;
        struct compared_group *x = &c.group[c.groups++];
        *x = g->of.group[i]; /* its runs are shared */
        x->kind = 0;
        x->axis = xcalloc(AXES, sizeof *x->axis);
        for (int k = 0; k < c.axes; k++) x->axis[k] = (char *)d[at[k]].value[i];
    }
    if (c.axes) comparison_effect_lines(&c, line);
    for (int k = 0; k < c.axes; k++) out[at[k]] = line[k];
    for (int i = 0; i < c.groups; i++) free(c.group[i].axis);
    free(c.group);
    return out;
}
