#include "views/compose_edit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "views/ui.h"
#include "views/ui_parts.h"

bool compose_on_number(const struct compose_view *v) {
    if (compose_on_off(v) >= 0) return false;
    if (compose_network(v)) return key_is_number(compose_network_key(v));
    if (compose_on_run(v)) return true;
    const struct key *k = axis_key(&v->config.method.module[v->part], v->axis);
    return k && key_is_number(k);
}

void compose_field(const struct compose_view *v, char label[32], char value[FIELD_ROOM]) {
    if (compose_network(v)) {
        snprintf(label, 32, "%s", compose_network_key(v)->name);
        network_value(compose_network(v), &v->config.method, compose_network_key(v), value);
        return;
    }
    if (compose_on_run(v)) {
        snprintf(label, 32, "%s", option_name(v, v->option));
        char *text = config_get(&v->config, compose_option_name(v, v->option));
        snprintf(value, FIELD_ROOM, "%s", text);
        free(text);
        return;
    }
    const struct module *m = &v->config.method.module[v->part];
    snprintf(label, 32, "%s", axis_name(v->axis));
    const struct key *k = axis_key(m, v->axis);
    if (k) key_print(k, m, value);
    else snprintf(value, FIELD_ROOM, "%s", axis_value(m, v->axis).text);
}

/* One network a stack makes modules of one size, one projection is of one, and one rule of Kronecker products
 * has as many terms: what one of them gets, all have. */
static void one_size(struct method *m, const struct module *changed) {
    for (int i = 0; i < m->count; i++)
        if (changed->fn == FN_PROJECTED && m->module[i].fn == FN_PROJECTED) m->module[i].size = changed->size;
    for (int i = 0; i < m->count; i++) {
        struct module *x = &m->module[i];
        if (changed->source == SOURCE_KRONECKER && x->source == SOURCE_KRONECKER && !changed->own_rule &&
            !x->own_rule)
            x->mid = changed->mid;
    }
    int g = source_is_hyper(changed->source) ? source_generator(changed->source) : -1;
    if (g < 0 || !m->hyper[g].on || m->hyper[g].net != HYPER_STACK) return;
    for (int i = 0; i < m->count; i++)
        if (m->module[i].source == changed->source && m->module[i].fn == changed->fn)
            m->module[i].size = changed->size;
}

/* Sets the value of the field under the cursor in *c. */
static bool take_field(const struct compose_view *v, const char *text, struct run_config *c, char why[200]) {
    if (compose_network(v)) return network_enter(v, text, &c->method, why);
    if (compose_on_run(v)) {
        bool good = option_enter(c, compose_option_name(v, v->option), text, why);
        if (c->lr == 0) c->lr = config_default_lr(&c->method, NULL);
        return good;
    }
    struct err e = ERR_INIT;
    if (!compose_on_number(v)) snprintf(why, 200, "%s: choose with j and k", axis_name(v->axis));
    if (!compose_on_number(v)) return false;
    for (int i = 0; i < c->method.count; i++) {
        struct module *m = &c->method.module[i];
        if (!compose_reaches(v, i) || (i != v->part && !axis_applies(m, v->arch, v->axis))) continue;
        if (key_set(axis_key(m, v->axis), m, text, &e)) {
            snprintf(why, 200, "%.190s", e.text);
            return false;
        }
    }
    if (v->axis == AXIS_SIZE || v->axis == AXIS_MID) one_size(&c->method, &c->method.module[v->part]);
    return true;
}

/* Saves an undo step: one per walk through a list, one per typed value. */
static void before_change(struct compose_view *v, bool walk) {
    if (!walk || !v->walking) compose_push(v, NULL);
    v->walking = walk;
}

static bool compose_edit_change(struct compose_view *v, const char *text, bool walk, char why[200]) {
    struct run_config next;
    bool seed = compose_on_run(v) && !strcmp(compose_option_name(v, v->option), "seed");
    if (seed && strpbrk(text, ",{.")) return compose_seeds(v, text, why);
    config_copy(&next, &v->config);
    bool taken = take_field(v, text, &next, why);
    if (taken) {
        before_change(v, walk);
        if (seed) v->seeds = 0;
        const char *option = compose_on_run(v) ? compose_option_name(v, v->option) : NULL;
        struct run_config was = v->config;
        v->config = next;
        compose_rows_changed(v, &was);
        config_release(&was);
        compose_list_options(v);
        int at = option ? compose_option_find(v, option) : -1; /* others may come before it now */
        if (at >= 0) v->option = at;
        compose_changed(v);
    } else {
        config_release(&next);
    }
    return taken;
}

bool compose_edit(struct compose_view *v, const char *text, char why[200]) {
    return compose_edit_change(v, text, false, why);
}

/* Returns the number of layers of the shortest stack that the module is in. */
static int fewest_layers(const struct module *m, const struct arch *a) {
    bool encoder = m->stack != STACK_DECODER, decoder = m->stack != STACK_ENCODER && a->decoder_layers;
    if (!encoder || (decoder && a->decoder_layers < a->encoder_layers)) return a->decoder_layers;
    return a->encoder_layers;
}

/* Writes the next value of a number for j or k. */
static void compose_edit_step_text(const struct compose_view *v, bool up, char out[FIELD_ROOM]) {
    char label[32], text[FIELD_ROOM], number[32];
    double value = 0;
    if (compose_network(v)) {
        network_step(v, up, out);
        return;
    }
    compose_field(v, label, text);
    if (v->axis == AXIS_LAYERS) {
        const struct module *m = &v->config.method.module[v->part];
        int first = up ? m->first + 1 : m->first - 1;
        if (first < 1 || (v->arch && first > fewest_layers(m, v->arch))) first = m->first;
        if (m->last) snprintf(out, 64, "%d-%d", first, m->last < first ? first : m->last);
        else snprintf(out, 64, first > 1 ? "%d-" : "all", first);
        return;
    }
    text_to_double(text, &value);
    if (v->axis == AXIS_DROPOUT) value += up ? 0.05 : -0.05;
    else if (v->axis == AXIS_SCALE) value = up ? value * 2 : value / 2;
    else value = next_double(value, up);
    if (v->axis == AXIS_DROPOUT) value = value < 0 ? 0 : value > 0.9 ? 0.9 : value;
    text_from_double(floor(value * 1e9 + 0.5) / 1e9, number);
    snprintf(out, 64, "%s", number);
}

static void walk(struct compose_view *v, int by) {
    if (compose_on_number(v)) {
        char text[FIELD_ROOM], why[200];
        if (compose_on_run(v)) {
            char refused[240];
            bool goes = compose_option_next(v, v->option, by < 0, text, refused);
            if (goes) compose_edit_change(v, text, true, why);
            memcpy(v->refused, refused, sizeof v->refused);
            return;
        }
        compose_edit_step_text(v, by < 0, text);
        compose_edit_change(v, text, true, why);
        return;
    }
    int to = v->choice + by;
    if (to < 0 || to >= v->choice_count) return;
    v->choice = to;
    const struct choice *c = &v->choices[to];
    if (!c->allowed || c->current) return;
    if (compose_network(v)) {
        char text[sizeof c->name], why[200];
        memcpy(text, c->name, sizeof text);
        compose_edit_change(v, text, true, why);
        return;
    }
    struct method taken;
    compose_choose(v, c, &taken);
    before_change(v, true);
    v->config.method = taken;
    compose_changed(v);
}

static void walk_axis(struct compose_view *v, int by) {
    v->walking = false;
    if (compose_network(v)) {
        int k = v->key + by;
        if (k >= 0 && k < compose_network(v)->keys) v->key = k;
        compose_list(v);
        return;
    }
    if (compose_on_run(v)) {
        int o = v->option + by;
        while (o >= 0 && o < compose_option_count(v) && compose_option_folded(v, o)) o += by;
        if (o >= 0 && o < compose_option_count(v)) v->option = o;
        return;
    }
    if (compose_on_off(v) >= 0) return;
    int a = (int)v->axis;
    do a += by;
    while (a >= 0 && a < axis_count() && !compose_axis_applies(v, (enum axis)a));
    if (a >= 0 && a < axis_count()) v->axis = (enum axis)a;
    compose_list(v);
}

static void next_part(struct compose_view *v, int by) {
    int parts = v->config.method.count + compose_networks(v) + 1 + v->off.count;
    v->part = (v->part + by + parts) % parts;
    v->key = 0;
    v->walking = false;
    compose_changed(v);
}

static void compose_edit_add_module(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    struct module m = v->part < v->config.method.count ? v->config.method.module[v->part]
                                                       : module_default(FN_LINEAR);
    /* not a copy of the module: the next position along the block */
    if (m.fn == FN_LINEAR && m.write == TAP_A_Q) m.write = TAP_A_V;
    else m = module_default(FN_BOTTLENECK);
    compose_add(ui, &m, v->config.method.count);
}

static void remove_module(struct ui *ui) {
    struct compose_view *v = &ui->compose;
    const struct network *n = compose_network(v);
    if (compose_on_off(v) >= 0) {
        compose_forget_off(ui);
        return;
    }
    if (n && network_generator(n) < 0) {
        compose_push(v, NULL);
        network_drop(n, &v->config.method);
        v->walking = false;
        compose_changed(v);
        ui_say(ui, SAY_INFO, "%s removed; u undoes", n->noun);
        return;
    }
    if (n)
        ui_say(ui, SAY_INFO,
               "a hypernetwork is removed with the last module that uses it: remove that module or change "
               "its source");
    if (v->part >= v->config.method.count) return;
    compose_push(v, NULL);
    int gone = v->part + 1;
    for (int i = v->part; i + 1 < v->config.method.count; i++)
        v->config.method.module[i] = v->config.method.module[i + 1];
    v->config.method.count--;
    network_settle(&v->config.method);
    if (v->part == v->config.method.count && v->part) v->part--;
    v->walking = false;
    compose_changed(v);
    ui_say(ui, SAY_INFO, "module %d removed; u undoes", gone);
}

static void compose_edit_train(struct ui *ui, struct effect *out) {
    const char *why = compose_refusal(&ui->compose);
    if (why) ui_say(ui, SAY_ERROR, "%s%.300s", ui->compose.facts.errors ? "cannot train: " : "", why);
    else if (compose_lacks_memory(&ui->compose))
        ui_ask(ui, ASK_MEMORY, 0, "needs about %.0f MB, %.0f MB available. Train anyway?   y yes   Esc no",
               ui->compose.facts.cost.bytes / 1e6, ui->compose.available / 1e6);
    else out->kind = EFFECT_TRAIN;
}

void compose_force(struct ui *ui, bool yes, struct effect *out) {
    if (!yes) {
        ui_say(ui, SAY_INFO, "not started: reduce batch or max-length, or increase gradient accumulation");
        return;
    }
    ui->compose.forced = true;
    out->kind = EFFECT_TRAIN;
}

static void next_note(struct ui *ui, int by) {
    struct compose_view *v = &ui->compose;
    int n = v->facts.findings;
    if (!n) ui_say(ui, SAY_INFO, "no notes about this method");
    else v->note = v->note < 0 ? (by > 0 ? 0 : n - 1) : (v->note + by + n) % n;
}

static bool move_request(struct compose_view *v, enum request r) {
    switch (r) {
    case REQ_LEFT: walk_axis(v, -1); return true;
    case REQ_RIGHT: walk_axis(v, 1); return true;
    case REQ_DOWN: walk(v, 1); return true;
    case REQ_UP: walk(v, -1); return true;
    case REQ_FIRST:
        for (int i = v->choice_count; i > 0; i--) walk(v, -1);
        return true;
    case REQ_LAST:
        for (int i = v->choice_count; i > 0; i--) walk(v, 1);
        return true;
    case REQ_NEXT_PART: next_part(v, 1); return true;
    case REQ_PREV_PART: next_part(v, -1); return true;
    default: return false;
    }
}

/* After an edit: the learning rate stays, and a message names another default. */
static void offer_rate(struct ui *ui, double usual_before) {
    const struct run_config *c = &ui->compose.config;
    const char *why;
    double lr = config_default_lr(&c->method, &why);
    if (lr == usual_before || lr == c->lr) return;
    ui_say(ui, SAY_INFO, "lr stays %s; the default is now %s (%s): set lr to default to use it",
           show_short(c->lr).text, show_short(lr).text, why);
}

void compose_tell_rows(struct ui *ui, struct effect *out) {
    if (ui->compose.new_rows) out->kind = EFFECT_ROWS;
    ui->compose.new_rows = false;
}

/* Moves directly to a choice, without applying those between. */
static void pick_choice(struct compose_view *v, int to) {
    int by = to < v->choice ? -1 : 1;
    if (to == v->choice || to >= v->choice_count) return;
    v->choice = to - by;
    walk(v, by);
}

void compose_pick(struct ui *ui, int pick, struct effect *out) {
    struct compose_view *v = &ui->compose;
    double usual = config_default_lr(&v->config.method, NULL);
    int at = pick % 10000, kind = pick - at;
    v->note = -1;
    if (kind != 0) v->walking = false;
    if (kind == PICK_PRESET_AT && at >= COMPOSE_PRESETS) { /* a saved method */
        const struct compose_own *own = &v->own[at - COMPOSE_PRESETS];
        if (own->why) ui_say(ui, SAY_WARNING, "%.150s: %.150s", own->name, own->why);
        else out->kind = EFFECT_METHOD_TEXT;
        snprintf(out->text, sizeof out->text, "%s", own->text);
        return;
    }
    if (kind == PICK_PRESET_AT) {
        if (!v->bad[at]) compose_take_preset(v, preset_at(at)->name);
        else ui_say(ui, SAY_WARNING, "%.150s: %.150s", preset_at(at)->name, v->bad[at]);
        return;
    }
    if (kind == 0) {
        pick_choice(v, pick - PICK_CHOICE);
        offer_rate(ui, usual);
        return;
    }
    if (kind == PICK_OPTION_AT) v->part = v->config.method.count + compose_networks(v);
    else v->part = kind == PICK_CELL ? at / PICK_AXES : at;
    v->key = 0;
    if (kind == PICK_OPTION_AT) v->option = at;
    for (int a = at % PICK_AXES; kind == PICK_CELL && a < axis_count(); a++) {
        v->axis = (enum axis)a;
        if (compose_axis_applies(v, v->axis)) break;
    }
    compose_changed(v);
}

bool compose_request(struct ui *ui, enum request r, struct effect *out) {
    struct compose_view *v = &ui->compose;
    double usual = config_default_lr(&v->config.method, NULL);
    if (r != REQ_NEXT && r != REQ_PREV) v->note = -1;
    *v->refused = 0;
    if (move_request(v, r)) {
        offer_rate(ui, usual);
        return true;
    }
    v->walking = false;
    switch (r) {
    case REQ_TRAIN:
        if (compose_on_number(v)) {
            char label[32], value[FIELD_ROOM];
            compose_field(v, label, value);
            prompt_open(&ui->prompt, label, value, true);
            ui->use = USE_NUMBER;
        } else {
            compose_edit_train(ui, out);
        }
        return true;
    case REQ_RUN: compose_edit_train(ui, out); return true;
    case REQ_MORE: compose_edit_add_module(ui); return true;
    case REQ_CLONE: compose_copy_module(ui); return true;
    case REQ_EARLIER:
    case REQ_LATER: compose_move_module(ui, r == REQ_LATER ? 1 : -1); return true;
    case REQ_SWITCH: compose_switch(ui); return true;
    case REQ_NOTE:
        prompt_open(&ui->prompt, "note for the next runs", v->run_note, false);
        ui->use = USE_NOTE;
        return true;
    case REQ_NAME:
        prompt_open(&ui->prompt, "name for the next run", v->run_name, false);
        ui->use = USE_NEXT_NAME;
        return true;
    case REQ_LESS: remove_module(ui); return true;
    case REQ_PRESETS: compose_presets(ui); return true;
    case REQ_SEARCH: compose_find(ui); return true;
    case REQ_MARK: compose_mark(ui); return true;
    case REQ_MARK_ALL: compose_turn_reach(ui); return true;
    case REQ_SWEEP: {
        char *line = compose_sweep_line(v);
        sweep_prompt(ui, "petri sweep ", line, USE_SWEEP);
        free(line);
        return true;
    }
    case REQ_EXPLAIN: ui_show(ui, SCREEN_EXPLAIN); return true;
    case REQ_DESCRIBE:
        v->describe = !v->describe;
        if (v->describe && v->arch && !v->facts.errors) out->kind = EFFECT_START;
        return true;
    case REQ_NEXT: next_note(ui, 1); return true;
    case REQ_PREV: next_note(ui, -1); return true;
    case REQ_UNDO:
    case REQ_REDO: {
        bool redo = r == REQ_REDO;
        struct buf said = BUF_INIT;
        if (compose_undo(v, redo, &said))
            ui_say(ui, SAY_INFO, "%s: %.400s", redo ? "redone" : "undone", buf_text(&said));
        else ui_say(ui, SAY_INFO, "nothing to %s", redo ? "redo" : "undo");
        buf_release(&said);
        compose_tell_rows(ui, out);
        return true;
    }
    case REQ_COPY: {
        char *command = compose_command(v);
        out->kind = EFFECT_COPY;
        snprintf(out->text, sizeof out->text, "%s", command);
        ui_say(ui, SAY_INFO, "copied: %.380s", command);
        free(command);
        return true;
    }
    case REQ_BACK:
        if (!v->describe) return false;
        v->describe = false;
        return true;
    default: return false;
    }
}
