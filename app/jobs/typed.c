#include "app/jobs/typed.h"

#include <string.h>

#include "app/files/paths.h"
#include "core/train/regime.h"

static bool is_given(const struct typed_option *o, int n, const char *name) {
    for (int i = 0; i < n; i++)
        if (!strcmp(config_option_name(o[i].spelling), name)) return true;
    return false;
}

static int set_all(const struct typed_option *o, int n, struct run_config *c, struct err *e) {
    for (int i = 0; i < n; i++) {
        const char *name = config_option_name(o[i].spelling);
        for (int k = 0; name && k < i; k++)
            if (!strcmp(name, config_option_name(o[k].spelling)))
                return err_set(e, ERR_USAGE, "--%s and --%s are the same option; give one", o[k].spelling, o[i].spelling);
        if (config_set(c, o[i].spelling, o[i].value, e)) return e->code;
    }
    return 0;
}

int typed_config(const struct typed_option *o, int n, struct run_config *c, struct err *e) {
    if (set_all(o, n, c, e)) return e->code;
    if (regime_is_fewshot(c->regime))
        return err_set(e, ERR_USAGE, "--regime %s: petri train takes all rows of its tasks; single, multi and meta are its "
                                     "regimes", c->regime);
    if (!c->model) config_take_model(c, DEFAULT_MODEL);
    if (is_given(o, n, "steps") && is_given(o, n, "epochs"))
        return err_set(e, ERR_USAGE, "give --steps or --epochs, not both");
    if (c->train_file && c->task)
        return err_set(e, ERR_USAGE, "give --task, or --train with --dev, not both");
    if (c->dev_file && !c->train_file) return err_set(e, ERR_USAGE, "--dev needs --train with it");
    if (c->header && c->no_header) return err_set(e, ERR_USAGE, "give --header or --no-header, not both");
    if (c->tasks_given && (c->train_file || c->task))
        return err_set(e, ERR_USAGE, "give --tasks, or %s, not both", c->task ? "--task" : "--train with --dev");
    if (c->tasks_given) return config_set_tasks(c, c->tasks_given, e);
    if (!c->train_file && !c->task && !c->episodes) return config_set(c, "task", DEFAULT_TASK, e);
    return 0;
}
