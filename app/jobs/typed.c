#include "app/jobs/typed.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "core/base/mem.h"
#include "core/train/config/regime.h"

static bool is_given(const struct typed_option *o, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(config_option_name(o[i].spelling), name)) return true;
    return false;
}

/* Settings of stages are applied before the other options. */
static bool typed_is_first(const struct typed_option *o) {
    const char *name = config_option_name(o->spelling);
    return name && !strcmp(name, "regime");
}

/* The run's method is that of its last stage: a given method must be equal. */
static int check_stages_method(const struct typed_option *o, int n, const struct run_config *c,
                               struct err *e) {
    const struct stages *s = is_given(o, n, "method") ? config_stages(c) : NULL;
    int rc = 0;
    if (s && !stages_has_method(s, &c->method)) {
        char *text = method_text(&s->stage[s->count - 1].method);
        rc = err_set(e, ERR_USAGE, "--method: the last stage has method %s; omit --method", text);
        free(text);
    }
    return rc;
}

static int check_spellings(const struct typed_option *o, int n, struct err *e) {
    for (int i = 0; i < n; i++) {
        const char *name = config_option_name(o[i].spelling);
        for (int k = 0; name && k < i; k++)
            if (!strcmp(name, config_option_name(o[k].spelling)))
                return err_set(e, ERR_USAGE, "--%s and --%s are the same option; give one", o[k].spelling,
                               o[i].spelling);
    }
    return 0;
}

/* Options that reset dependent options. */
static bool typed_takes_place(const char *name) {
    return name && (!strcmp(name, "model") || !strcmp(name, "task") || !strcmp(name, "tasks"));
}

static int put_in_place(const char *name, const char *value, struct run_config *c, struct err *e) {
    if (!strcmp(name, "tasks")) return config_take_tasks(c, value, e);
    if (!strcmp(name, "model")) config_take_model(c, value);
    else config_take_task(c, value);
    return 0;
}

/* Applies the options onto the config of another run: first those that reset others, then stages, then the
 * rest. */
static int set_all(const struct typed_option *o, int n, bool onto, struct run_config *c, struct err *e) {
    if (check_spellings(o, n, e)) return e->code;
    for (int turn = 0; turn < 3; turn++)
        for (int i = 0; i < n; i++) {
            const char *name = config_option_name(o[i].spelling);
            int of = onto && typed_takes_place(name) ? 0 : typed_is_first(&o[i]) ? 1 : 2;
            if (of == turn &&
                (turn ? config_set(c, o[i].spelling, o[i].value, e) : put_in_place(name, o[i].value, c, e)))
                return e->code;
        }
    return check_stages_method(o, n, c, e);
}

/* Options that exclude each other. */
static int check_pairs(const struct typed_option *o, int n, struct err *e) {
    static const char *const pair[][2] = { { "steps", "epochs" },
                                           { "header", "no-header" },
                                           { "dev", "no-dev" } };
    for (size_t i = 0; i < COUNT_OF(pair); i++)
        if (is_given(o, n, pair[i][0]) && is_given(o, n, pair[i][1]))
            return err_set(e, ERR_USAGE, "give --%s or --%s, not both", pair[i][0], pair[i][1]);
    return 0;
}

int typed_config(const struct typed_option *o, int n, struct run_config *c, struct err *e) {
    if (set_all(o, n, false, c, e)) return e->code;
    if (config_is_fewshot(c))
        return err_set(
            e, ERR_USAGE,
            "--regime %s: not a regime of petri train; use single, multi, meta or stages, or petri fewshot",
            c->regime->text);
    if (!c->model) config_take_model(c, paths_model());
    if (check_pairs(o, n, e)) return e->code;
    if (c->train_file && c->task)
        return err_set(e, ERR_USAGE, "give --task, or --train with --dev, not both");
    if (c->dev_file && !c->train_file) return err_set(e, ERR_USAGE, "--dev requires --train");
    if (c->tasks_given && (c->train_file || c->task))
        return err_set(e, ERR_USAGE, "give --tasks, or %s, not both",
                       c->task ? "--task" : "--train with --dev");
    if (c->tasks_given) return config_set_tasks(c, c->tasks_given, e);
    if (!c->train_file && !c->task && !c->episodes) return config_set(c, "task", paths_task(), e);
    return 0;
}

int typed_onto(const struct typed_option *o, int n, struct run_config *c, struct err *e) {
    int rows = is_given(o, n, "task") + is_given(o, n, "train") + is_given(o, n, "tasks");
    if (check_spellings(o, n, e)) return e->code;
    if (rows > 1)
        return err_set(e, ERR_USAGE, "give only one of --task, --tasks, and --train with --dev");
    if (check_pairs(o, n, e)) return e->code;
    if (is_given(o, n, "train")) {
        config_take_task(c, "");
        xreplace(&c->task, NULL);
    }
    if (is_given(o, n, "header")) c->no_header = false;
    if (is_given(o, n, "no-header")) c->header = false;
    if (is_given(o, n, "dev")) c->no_dev = false;
    if (set_all(o, n, true, c, e)) return e->code;
    if (is_given(o, n, "no-dev") && c->no_dev) xreplace(&c->dev_file, NULL);
    if (c->tasks) config_copy_each(c);
    return 0;
}
