/* How far an edit of a module goes: to the module under the cursor, or to all modules of its function. */
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Axes that say where a module is; the same value for all would make copies of one module. */
static bool is_place(enum axis a) { return a == AXIS_POSITION || a == AXIS_SITE || a == AXIS_STACK; }

/* Returns whether two modules differ at most in their place. */
static bool alike(const struct module *a, const struct module *b) {
    struct module moved = *b;
    moved.read = a->read, moved.write = a->write;
    moved.site = a->site, moved.stack = a->stack;
    return module_is_sequential(a) == module_is_sequential(b) && module_equal(a, &moved);
}

static bool to_kind(const struct compose_view *v) {
    const struct method *m = &v->config.method;
    if (v->reach != REACH_DEFAULT) return v->reach == REACH_KIND;
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == m->module[v->part].fn && !alike(&m->module[i], &m->module[v->part]))
            return false;
    return true;
}

int compose_kind(const struct compose_view *v) {
    const struct method *m = &v->config.method;
    int n = 0;
    for (int i = 0; v->part < m->count && i < m->count; i++) n += m->module[i].fn == m->module[v->part].fn;
    return n;
}

bool compose_reaches(const struct compose_view *v, int module) {
    const struct method *m = &v->config.method;
    if (v->part >= m->count || module == v->part) return module == v->part;
    return !is_place(v->axis) && m->module[module].fn == m->module[v->part].fn && to_kind(v);
}

struct phrase compose_reach_words(const struct compose_view *v) {
    enum { LISTED = 4 };
    struct phrase out = { "" };
    int n = 0, kind = compose_kind(v);
    if (kind < 2 || is_place(v->axis)) return out;
    for (int i = 0; i < v->config.method.count; i++) n += compose_reaches(v, i);
    if (n < 2) return phrase(" of module %d (*: all %d)", v->part + 1, kind);
    if (n > LISTED) return phrase(" of %d modules (*: only this)", n);
    phrase_add(&out, " of modules ");
    for (int i = 0, k = 0; i < v->config.method.count; i++)
        if (compose_reaches(v, i)) phrase_add(&out, "%s%d", k++ ? ", " : "", i + 1);
    phrase_add(&out, " (*: only this)");
    return out;
}

void compose_turn_reach(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    int kind = compose_kind(v);
    if (kind < 2) {
        ui_say(ui, SAY_INFO, "*: no other module has this function");
        return;
    }
    bool all = !to_kind(v);
    v->reach = all ? REACH_KIND : REACH_ONE;
    compose_changed(v);
    if (all)
        ui_say(ui, SAY_INFO, "changes apply to all %d modules of this function, except their position", kind);
    else ui_say(ui, SAY_INFO, "changes apply to module %d only", v->part + 1);
}
