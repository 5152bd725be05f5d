/* Undo and redo of the edits of Compose, and a description of what each changed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/train/config/option.h"
#include "views/compose_edit.h"

/* ---- what changed ---- */

enum { CHANGES_SHOWN = 4 }; /* of one step; the rest are counted */

static void add_change(struct buf *out, int *n, const char *name, const char *was, const char *now,
                       const char *of) {
    if (++*n > CHANGES_SHOWN) return;
    buf_printf(out, "%s%s %s \u2192 %s%s", *n > 1 ? ", " : "", name, *was ? was : "none", *now ? now : "none",
               of);
}

/* Lists the modules with the change that module i has on an axis, "1, 2"; 0: listed with an earlier one. */
static int same_change(const struct method *from, const struct method *to, int i, enum axis a,
                       struct phrase *out) {
    int count = 0;
    for (int k = 0; k < from->count; k++) {
        bool same = !strcmp(axis_value(&from->module[k], a).text, axis_value(&from->module[i], a).text) &&
                    !strcmp(axis_value(&to->module[k], a).text, axis_value(&to->module[i], a).text);
        if (same && k < i) return 0;
        if (same) phrase_add(out, "%s%d", count++ ? ", " : "", k + 1);
    }
    return count;
}

/* Lists the axes that differ; of a module with another function only the function. */
static void add_axes(struct buf *out, int *n, const struct method *from, const struct method *to) {
    for (int i = 0; i < from->count; i++) {
        bool function = from->module[i].fn != to->module[i].fn;
        for (int a = 0; a < (function ? AXIS_FUNCTION + 1 : axis_count()); a++) {
            int letter = a == AXIS_SIZE ? 2 : 0; /* "r 8" */
            struct phrase was = axis_value(&from->module[i], (enum axis)a),
                          now = axis_value(&to->module[i], (enum axis)a), of = { "" };
            int modules = strcmp(was.text, now.text) ? same_change(from, to, i, (enum axis)a, &of) : 0;
            if (modules)
                add_change(out, n, axis_name((enum axis)a), was.text + letter, now.text + letter,
                           from->count < 2 ? ""
                                           : phrase(" (module%s %s)", modules > 1 ? "s" : "", of.text).text);
        }
    }
}

/* Lists up to two axes, else both methods as text. */
static void add_method(struct buf *out, int *n, const struct method *from, const struct method *to) {
    char *was = method_text(from), *now = method_text(to);
    struct buf axes = BUF_INIT;
    int changed = *n;
    if (from->count == to->count && strcmp(was, now) != 0) add_axes(&axes, &changed, from, to);
    if (changed > *n && changed <= *n + 2) {
        buf_puts(out, buf_text(&axes));
        *n = changed;
    } else if (strcmp(was, now) != 0) {
        add_change(out, n, "method", was, now, "");
    }
    buf_release(&axes);
    free(was);
    free(now);
}

void compose_difference(const struct run_config *from, const struct run_config *to, struct buf *out) {
    int n = 0;
    add_method(out, &n, &from->method, &to->method);
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        if (!o->name || o->kind == OPTION_METHOD || option_same(from, to, o)) continue;
        char *was = option_print(from, o), *now = option_print(to, o);
        add_change(out, &n, o->name, was, now, "");
        free(was);
        free(now);
    }
    if (n > CHANGES_SHOWN) buf_printf(out, " and %d more", n - CHANGES_SHOWN);
}

/* ---- back and forth ---- */

static struct compose_state present(const struct compose_view *v, const char *by) {
    struct compose_state s = { .config = v->config, .off = v->off, .seeds = v->seeds, .by = by };
    memcpy(s.seed, v->seed, sizeof s.seed);
    return s;
}

static bool same_tasks(const struct run_config *a, const struct run_config *b) {
    bool same = a->tasks == b->tasks;
    for (int i = 0; same && i < a->tasks; i++) same = config_same_source(&a->of[i], &b->of[i]);
    return same;
}

/* Returns whether the model and the data options of single tasks are equal. */
static bool same_rows(const struct run_config *a, const struct run_config *b) {
    bool same = true;
    for (size_t i = 0; i < option_count(); i++) {
        const struct option *o = option_at(i);
        bool here = (o->is & (OPTION_MODEL | OPTION_ROWS)) && o->scope != OPTION_OF_TASKS && o->name;
        same = same && (!here || option_same(a, b, o));
    }
    return same;
}

void compose_rows_changed(struct compose_view *v, const struct run_config *was) {
    if (same_tasks(was, &v->config) && same_rows(was, &v->config)) return;
    v->new_rows = v->stale_rows = true;
}

static void put_seeds(const struct compose_state *s, struct buf *out) {
    for (int i = 0; i < (s->seeds ? s->seeds : 1); i++)
        buf_printf(out, "%s%llu", i ? "," : "", (unsigned long long)(s->seeds ? s->seed[i] : s->config.seed));
}

static void step_words(const struct compose_state *from, const struct compose_state *to, struct buf *out) {
    struct buf was = BUF_INIT, now = BUF_INIT;
    put_seeds(from, &was);
    put_seeds(to, &now);
    compose_difference(&from->config, &to->config, out);
    if ((from->seeds || to->seeds) && strcmp(buf_text(&was), buf_text(&now)) != 0)
        buf_printf(out, "%sseeds %s \u2192 %s", out->size ? ", " : "", buf_text(&was), buf_text(&now));
    if (!out->size && memcmp(&from->off, &to->off, sizeof from->off) != 0)
        buf_puts(out, "modules switched off");
    buf_release(&was);
    buf_release(&now);
}

void compose_push(struct compose_view *v, const char *by) {
    while (v->undo_top > v->undo_at) config_release(&v->undo[--v->undo_top].config);
    if (v->undo_at == COMPOSE_UNDO) {
        config_release(&v->undo[0].config);
        memmove(v->undo, v->undo + 1, sizeof v->undo - sizeof *v->undo);
        v->undo_at--;
    }
    struct compose_state *s = &v->undo[v->undo_at];
    *s = present(v, by);
    config_copy(&s->config, &v->config);
    v->undo_top = ++v->undo_at;
}

/* Exchanges the present state with the one at i. */
static void exchange(struct compose_view *v, int i) {
    struct compose_state now = present(v, v->undo[i].by), *other = &v->undo[i];
    v->config = other->config;
    v->off = other->off;
    v->seeds = other->seeds;
    memcpy(v->seed, other->seed, sizeof v->seed);
    *other = now;
    compose_rows_changed(v, &now.config);
    v->walking = false;
    compose_changed(v);
}

bool compose_undo(struct compose_view *v, bool redo, struct buf *said) {
    while (redo ? v->undo_at < v->undo_top : v->undo_at > 0) {
        int i = redo ? v->undo_at++ : --v->undo_at;
        struct buf what = BUF_INIT;
        exchange(v, i);
        const struct compose_state now = present(v, NULL), *other = &v->undo[i];
        step_words(redo ? other : &now, redo ? &now : other, &what);
        if (what.size && other->by) buf_printf(said, "%s (%s)", other->by, buf_text(&what));
        else buf_puts(said, buf_text(&what));
        buf_release(&what);
        if (said->size) return true; /* a walk that returned to its start is skipped */
    }
    return false;
}
