/* Checks which values of the options are compatible with the method, the model, the data and each other, with
 * the checks of a run (core/train/config/complete.h), before it is started. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"
#include "core/train/config/regime.h"
#include "views/compose_edit.h"

int64_t compose_steps(const struct compose_view *v, const struct run_config *c) {
    if (config_is_staged(c)) return 0;
    if (c->steps > 0) return c->steps;
    return config_is_meta(c) ? META_STEPS : v->train_rows ? config_steps(c, v->train_rows) : 0;
}

int compose_fits(const struct compose_view *v, const struct run_config *c, struct err *e) {
    struct config_facts f = { .arch = v->arch,
                              .model = v->model ? v->model : "the model",
                              .steps = compose_steps(v, c) };
    bool known = v->train_rows && !v->stale_rows && c->tasks == v->config.tasks;
    int tasks = known ? config_task_count(c) : 0;
    if (!v->arch || compose_mismatch(v)) return 0; /* reported separately */
    for (f.tasks = 0; f.tasks < tasks; f.tasks++) {
        struct config_data_facts *x = &f.of[f.tasks];
        *x = v->rows[f.tasks];
        x->name = c->tasks ? config_task_name(c, f.tasks) : v->task ? v->task : "the task";
        if (v->texts) x->label_kind = DATA_TEXT;
        if (!x->classes) x->dev = v->dev_rows > 0;
        if (c->eval_rows && x->split[1].examples > c->eval_rows)
            x->split[1].examples = (int)c->eval_rows; /* as many are sampled */
    }
    return config_fits(c, &f, e);
}

/* ---- j and k ---- */

static void compose_fits_why(const struct err *e, char why[240]) {
    if (!*why) snprintf(why, 240, "%.239s", e->text);
}

bool compose_option_next(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM], char why[240]) {
    enum { WORDS_MOST = 24 };
    const struct option *o = option_find(compose_option_name(v, i));
    struct compose_view from = *v; /* shallow copy; only its config is owned */
    struct err e = ERR_INIT, none = ERR_INIT;
    char unread[200];
    bool fits = !compose_fits(v, &v->config, &none), found = false;
    config_copy(&from.config, &v->config);
    *why = 0;
    for (int k = 0; k < (o->word || o->kind == OPTION_TEXT ? WORDS_MOST : 1) && !found; k++) {
        option_step(&from, i, up, out);
        if (!option_enter(&from.config, o->name, out, unread) || option_same(&from.config, &v->config, o))
            break;
        found = !fits || !compose_fits(v, &from.config, &e);
        if (!found) compose_fits_why(&e, why);
    }
    config_release(&from.config);
    return found;
}

void compose_find_stuck(struct compose_view *v) {
    char text[FIELD_ROOM], up[240], down[240];
    for (int i = 0; i < COMPOSE_OPTIONS; i++) xreplace(&v->stuck[i], NULL);
    for (int i = 0; compose_on_run(v) && i < v->options; i++) {
        bool goes = compose_option_next(v, i, true, text, up) || compose_option_next(v, i, false, text, down);
        if (!goes && (*up || *down)) v->stuck[i] = xstrdup(*up ? up : down);
    }
}
