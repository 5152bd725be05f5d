/* Modules of the method as a list: copied, moved, switched off and on. */
#include <string.h>

#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Returns whether the cursor is on a module; if not, a message says so. */
static bool compose_modules_here(struct ui *ui, const char *what) {
    const struct compose_view *v = &ui->compose;
    if (v->part < v->config.method.count) return true;
    ui_say(ui, SAY_INFO, "%s: select a module first (Tab)", what);
    return false;
}

static void insert_module(struct method *m, int at, const struct module *new) {
    for (int i = m->count; i > at; i--) m->module[i] = m->module[i - 1];
    m->module[at] = *new;
    m->count++;
}

static void take_module_out(struct method *m, int at) {
    for (int i = at; i + 1 < m->count; i++) m->module[i] = m->module[i + 1];
    m->count--;
}

static void compose_modules_done(struct compose_view *v, int part) {
    network_settle(&v->config.method);
    v->part = part;
    v->walking = false;
    compose_changed(v);
}

static bool compose_modules_full(struct ui *ui) {
    bool full = ui->compose.config.method.count == METHOD_MODULES;
    if (full) ui_say(ui, SAY_WARNING, "a method has at most %d modules", METHOD_MODULES);
    return full;
}

/* Returns the index of an equal module of the method, below 0: none. */
static int same_module(const struct method *m, const struct module *x) {
    for (int i = 0; i < m->count; i++)
        if (module_equal(&m->module[i], x)) return i;
    return -1;
}

static void compose_modules_put(struct ui *ui, const struct module *new, int at) {
    struct compose_view *v = &ui->compose;
    bool copy = same_module(&v->config.method, new) >= 0;
    compose_push(v, NULL);
    insert_module(&v->config.method, at, new);
    v->axis = copy ? AXIS_POSITION : AXIS_FUNCTION;
    compose_modules_done(v, at);
    ui_say(ui, SAY_INFO, "module %d %s; u undoes", at + 1, copy ? "is a copy: change its position" : "added");
}

void compose_add(struct ui *ui, const struct module *new, int at) {
    struct compose_view *v = &ui->compose;
    int same = same_module(&v->config.method, new);
    if (compose_modules_full(ui)) return;
    if (same < 0 || v->copies) {
        compose_modules_put(ui, new, at);
        return;
    }
    v->adding = *new;
    v->adding_at = at;
    ui_ask(ui, ASK_COPY, 0, "add a copy of module %d (to change its position)?   y yes   Esc no",
           same + 1);
}

void compose_add_copy(struct ui *ui) {
    ui->compose.copies = true;
    compose_modules_put(ui, &ui->compose.adding, ui->compose.adding_at);
}

void compose_copy_module(struct ui *ui) {
    const struct compose_view *v = &ui->compose;
    if (compose_modules_here(ui, "copy")) compose_add(ui, &v->config.method.module[v->part], v->part + 1);
}

void compose_move_module(struct ui *ui, int by) {
    struct compose_view *v = &ui->compose;
    if (!compose_modules_here(ui, "move")) return;
    int to = v->part + by;
    if (to < 0 || to >= v->config.method.count) return;
    compose_push(v, NULL);
    const struct module moved = v->config.method.module[v->part];
    take_module_out(&v->config.method, v->part);
    insert_module(&v->config.method, to, &moved);
    compose_modules_done(v, to);
}

/* Returns the part of the first module that is switched off: it follows the options of the run. */
static int first_off(const struct compose_view *v) {
    return v->config.method.count + compose_networks(v) + 1;
}

static void switch_off(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    if (v->off.count == COMPOSE_OFF) {
        ui_say(ui, SAY_WARNING, "at most %d modules can be off; - deletes one", COMPOSE_OFF);
        return;
    }
    int part = v->part;
    compose_push(v, NULL);
    v->off.module[v->off.count++] = v->config.method.module[part];
    take_module_out(&v->config.method, part);
    compose_modules_done(v, part < v->config.method.count || !part ? part : part - 1);
    ui_say(ui, SAY_INFO, "module %d is off and listed below; O there switches it on again", part + 1);
}

static void switch_on(struct ui *ui, int at) {
    struct compose_view *v = &ui->compose;
    if (compose_modules_full(ui)) return;
    compose_push(v, NULL);
    insert_module(&v->config.method, v->config.method.count, &v->off.module[at]);
    v->off.count--;
    for (int i = at; i < v->off.count; i++) v->off.module[i] = v->off.module[i + 1];
    compose_modules_done(v, v->config.method.count - 1);
    ui_say(ui, SAY_INFO, "module %d is on again", v->config.method.count);
}

void compose_switch(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    int off = compose_on_off(v);
    if (off >= 0) {
        switch_on(ui, off);
    } else if (compose_on_run(v)) {
        bool *folded = &v->folded[compose_option_group(v, v->option)];
        *folded = !*folded;
    } else if (compose_modules_here(ui, "off")) {
        switch_off(ui);
    }
}

void compose_forget_off(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    int at = compose_on_off(v);
    compose_push(v, NULL);
    v->off.count--;
    for (int i = at; i < v->off.count; i++) v->off.module[i] = v->off.module[i + 1];
    compose_modules_done(v, v->off.count ? first_off(v) : v->config.method.count + compose_networks(v));
    ui_say(ui, SAY_INFO, "deleted; u undoes");
}
