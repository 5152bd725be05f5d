#include "app/history/ready_run.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/history/opened.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/data/metrics.h"

/* Adds the identity of the model to the description, as for a run trained here.  The name that the adapter gives to
 * its model remains, unless it is the path of another one. */
static void name_model(struct imported *x) {
    struct run_config *c = &x->config;
    const struct model *m = x->model;
    char *full = realpath(m->folder, NULL), *named = c->model ? realpath(c->model, NULL) : NULL;
    if (named && full && strcmp(named, full) != 0) xreplace(&c->model, full);
    free(named);
    if (!c->model) c->model = xstrdup(m->name);
    free(c->model_folder);
    c->model_folder = full ? full : xstrdup(m->folder);
    xreplace(&c->model_sha256, m->sha256);
    xreplace(&c->model_facts, m->facts);
}

/* Adds a step of a training elsewhere; values for a step that is already stored are replays and are
 * skipped. */
static void keep_step(struct store *s, int64_t id, const struct curve_entry *x) {
    struct store_step step = { .run = id, .step = x->step };
    for (int i = 0; i < x->count && step.count < STORE_STEP_VALUES; i++) {
        int key = store_key(s, x->name[i], strcmp(x->name[i], "loss") ? 0 : -1, false, NULL);
        if (key < 0) continue;
        step.key[step.count] = key;
        step.value[step.count++] = x->value[i];
    }
    if (step.count) store_step(s, &step);
}

static void keep_evaluation(struct store *s, int64_t id, const struct curve_entry *x) {
    struct store_metric metric[CURVE_VALUES];
    for (int i = 0; i < x->count; i++) {
        int known = metric_find(x->name[i]);
        metric[i] = (struct store_metric){ x->name[i], x->value[i], NULL,
                                           known < 0 ? 0 : metric_direction((enum metric_id)known) };
    }
    store_evaluation(
        s, &(struct store_evaluation){
               .run = id, .step = x->step, .rows = "from the Trainer", .count = x->count, .metric = metric });
}

/* Stores the parameters in the folder of a run whose record exists. */
static int keep_values(struct store *s, int64_t id, const struct imported *x, struct err *e) {
    char *folder = store_run_folder(s, id), *path = file_join(folder, "best.safetensors"), sha256[65];
    struct stat st;
    if (x->origin) predictor_set_origin(x->predictor, x->origin);
    int rc = predictor_save(x->predictor, &x->config, path, sha256, e);
    if (!rc)
        rc = store_artifact(s,
                            &(struct store_artifact){ .run = id,
                                                      .kind = "best",
                                                      .path = path,
                                                      .sha256 = sha256,
                                                      .bytes = stat(path, &st) ? 0 : (int64_t)st.st_size });
    struct store_change change = { .run = id, .seconds = 0, .state = rc ? STORE_FAILED : STORE_FINISHED,
                                   .reason = rc ? e->text : NULL, .weights_sha256 = rc ? NULL : sha256 };
    int changed = store_change(s, &change);
    if (!rc && changed)
        rc = err_set(e, ERR_SYSTEM, "run %lld: its checkpoint could not be saved", (long long)id);
    free(folder);
    free(path);
    return rc;
}

int ready_run(struct store *s, struct imported *x, const struct history_row *more, int64_t *id,
              struct err *e) {
    name_model(x);
    char *imported = import_json(x);
    struct history_row row = *more;
    row.imported = imported;
    struct err closing = ERR_INIT;
    int rc = run_row_create(s, &x->config, predictor_plan(x->predictor), &row, id, e);
    if (!rc) {
        for (size_t i = 0; i < x->curve.count; i++)
            (x->curve.entry[i].evaluation ? keep_evaluation : keep_step)(s, *id, &x->curve.entry[i]);
        rc = keep_values(s, *id, x, e);
        int closed = store_disown(s, *id, &closing);
        if (!rc && closed) {
            *e = closing;
            rc = closed;
        }
    }
    free(imported);
    return rc;
}

int ready_run_name_classes(struct store *s, int64_t id, const struct backbone_hint *hint,
                           const char *const *name, int n, struct err *e) {
    struct store_run record;
    struct opened o = { 0 };
    char sha256[65], *path = NULL;
    int rc = store_run(s, id, &record, e);
    if (rc) return rc;
    bool made = record.imported != NULL;
    store_run_release(&record);
    if (!made)
        return err_set(e, ERR_USAGE,
                       "run %lld: its classes are those of its task; only classes of imported runs can be "
                       "renamed",
                       (long long)id);
    rc = opened_run(&o, s, id, NULL, hint, NULL, e);
    if (!rc) rc = predictor_name_classes(o.predictor, name, n, e);
    if (!rc && !(path = opened_checkpoint(s, id, NULL, NULL, e))) rc = e->code;
    if (!rc) rc = predictor_save(o.predictor, &o.config, path, sha256, e);
    free(path);
    opened_release(&o);
    return rc;
}
