#include "app/session/page_settings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "views/compose.h"

/* The method is in the heading; names and weights of tasks are in the table of tasks. */
static bool is_setting(const struct option *o) {
    return o->name && o->kind != OPTION_METHOD && strcmp(o->key, "task_name") != 0 &&
           strcmp(o->key, "task_weight") != 0;
}

bool page_settings_have(const char *key) {
    for (size_t i = 0; i < option_count(); i++)
        if (is_setting(option_at(i)) && !strcmp(option_at(i)->key, key)) return true;
    return false;
}

static bool applies(const struct run_config *c, const struct option *o) {
    if (!is_setting(o) || !option_has_say(c, o, c->form == FORM_TEXT)) return false;
    if (o->offset == offsetof(struct run_config, epochs)) return c->epochs > 0;
    if (o->offset == offsetof(struct run_config, steps)) return c->epochs <= 0;
    return !c->tasks || !option_of_one_task(o);
}

/* Whether it is at its default or follows from the model and the task, which are in the heading. */
static bool is_usual(const struct run_config *c, const struct run_config *usual, const struct option *o) {
    if (o->offset == offsetof(struct run_config, lr))
        return fabs(c->lr - config_default_lr(&c->method, NULL)) <= 1e-12 * fabs(c->lr);
    static const char *const given[] = { "model", "task", "form", "metric" };
    static const char *const of_task[] = { "train", "dev" };
    for (size_t i = 0; i < COUNT_OF(given); i++)
        if (!strcmp(o->name, given[i])) return true;
    for (size_t i = 0; i < COUNT_OF(of_task) && c->task_folder; i++)
        if (!strcmp(o->name, of_task[i])) return true;
    return option_same(c, usual, o);
}

int page_settings(const struct run_config *c, struct detail_setting **out) {
    struct run_config usual;
    struct detail_setting *s = xcalloc(option_count(), sizeof *s);
    int n = 0;
    config_init(&usual);
    for (int g = 0; g < OPTION_GROUPS; g++)
        for (size_t i = 0; i < option_count(); i++) {
            const struct option *o = option_at(i);
            bool leads = false;
            const char *name = o->name ? option_label(o, &leads) : NULL;
            if (!name || (leads ? GROUP_RUN : o->group) != (enum option_group)g || !applies(c, o)) continue;
            char *text = o->kind == OPTION_TEXT ? option_print(c, o) : NULL;
            s[n++] = (struct detail_setting){
                .name = name,
                .value = text && *text ? xstrdup(text) : xstrdup(option_value_of(c, o).text),
                .group = (enum option_group)g,
                .usual = is_usual(c, &usual, o),
                .leads = leads,
            };
            free(text);
        }
    config_release(&usual);
    *out = s;
    return n;
}

void page_settings_release(struct detail_setting *s, int settings) {
    for (int i = 0; i < settings; i++) free((char *)(uintptr_t)s[i].value);
    free(s);
}
