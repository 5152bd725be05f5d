/* Lists to choose from by typing: methods by family, and the axes and options of Compose. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/text.h"
#include "views/compose_edit.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static void add_preset(struct ui *ui, int i) {
    const struct preset *p = preset_at(i);
    const char *bad = i < COMPOSE_PRESETS ? ui->compose.bad[i] : NULL;
    char note[160];
    bool other = strcasecmp(p->title, p->name) != 0;
    int authors = (int)strcspn(p->paper, ",:");
    if (bad) snprintf(note, sizeof note, "%.159s", bad);
    else snprintf(note, sizeof note, "%-13s  %.*s%s%s", p->sizes, authors, p->paper, other ? " \u00B7 " : "",
                  other ? p->title : "");
    picker_add(&ui->picker, p->name, note, bad != NULL)->group = p->family;
    if (p == ui->compose.facts.preset) ui->picker.cursor = ui->picker.count - 1;
}

int compose_by_family(int order[COMPOSE_PRESETS]) {
    int n = 0, count = preset_count() < COMPOSE_PRESETS ? preset_count() : COMPOSE_PRESETS;
    bool taken[COMPOSE_PRESETS] = { false };
    for (int i = 0; i < count; i++)
        for (int k = i; k < count && !(k == i && taken[i]); k++) {
            if (taken[k] || strcmp(preset_at(k)->family, preset_at(i)->family) != 0) continue;
            taken[k] = true;
            order[n++] = k;
        }
    return n;
}

void compose_presets(struct ui *ui) {
    ui_show(ui, SCREEN_COMPOSE);
    picker_open(&ui->picker, PICK_PRESET, "methods");
    for (int i = 0; i < ui->compose.owns; i++) {
        const struct compose_own *own = &ui->compose.own[i];
        struct pick_item *item = picker_add(&ui->picker, own->name, own->why ? own->why : own->text,
                                            own->why != NULL);
        item->tag = i + 1;
        item->group = "Saved";
    }
    int order[COMPOSE_PRESETS], n = compose_by_family(order);
    for (int i = 0; i < n; i++) add_preset(ui, order[i]);
}

/* ---- axes and options ---- */

/* Tags of the list: an option, an axis of the module under the cursor, a key of the network there. */
enum { AT_OPTION = 0, AT_AXIS = 1000, AT_KEY = 2000 };

static void add_place(struct ui *ui, const char *name, const char *note, int tag, const char *group) {
    struct pick_item *item = picker_add(&ui->picker, name, note, false);
    item->tag = tag;
    item->group = group;
}

void compose_find(struct ui *ui) {
    const struct compose_view *v = &ui->compose;
    const struct network *net = compose_network(v);
    const struct module *m = v->part < v->config.method.count ? &v->config.method.module[v->part] : NULL;
    char value[KEY_TEXT];
    picker_open(&ui->picker, PICK_PLACE, "axes and options");
    for (int a = 0; m && a < axis_count(); a++)
        if (compose_axis_applies(v, (enum axis)a))
            add_place(ui, axis_name((enum axis)a), axis_value(m, (enum axis)a).text, AT_AXIS + a, "Module");
    for (int k = 0; net && k < net->keys; k++) {
        network_value(net, &v->config.method, &net->key[k], value);
        add_place(ui, net->key[k].name, value, AT_KEY + k, "Network");
    }
    for (int i = 0; i < v->options; i++) {
        const char *name = option_name(v, i), *full = compose_option_name(v, i);
        struct phrase note = phrase("%-10.40s  ", option_value(v, i).text);
        if (strcmp(name, full)) phrase_add(&note, "%s: ", full);
        phrase_add(&note, "%s", option_says(v, i).text);
        add_place(ui, name, note.text, AT_OPTION + i, option_group_name(compose_option_group(v, i)));
        if (compose_on_run(v) && v->option == i) ui->picker.cursor = ui->picker.count - 1;
    }
    ui_find(ui, "");
}

void compose_go_to(struct compose_view *v, int tag) {
    v->walking = false;
    if (tag >= AT_KEY) {
        v->key = tag - AT_KEY;
    } else if (tag >= AT_AXIS) {
        v->axis = (enum axis)(tag - AT_AXIS);
    } else {
        v->part = v->config.method.count + compose_networks(v);
        v->option = tag - AT_OPTION;
    }
    compose_changed(v);
}
