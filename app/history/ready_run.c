#include "app/history/ready_run.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/mem.h"

/* The description says which model it is, as that of a run which was trained here. */
static void name_model(struct imported *x) {
    struct run_config *c = &x->config;
    const struct model *m = x->model;
    char *full = realpath(m->folder, NULL);
    if (!c->model) c->model = xstrdup(m->name);
    free(c->model_folder);
    c->model_folder = full ? full : xstrdup(m->folder);
    xreplace(&c->model_sha256, m->sha256);
    xreplace(&c->model_facts, m->facts);
}

/* Its values, in the folder of a run that has its row. */
static int keep_values(struct store *s, int64_t id, const struct imported *x, struct err *e) {
    char *folder = store_run_folder(s, id), *path = file_join(folder, "best.safetensors"), sha256[65];
    struct stat st;
    if (x->origin) predictor_set_origin(x->predictor, x->origin);
    int rc = predictor_save(x->predictor, &x->config, path, sha256, e);
    if (!rc)
        rc = store_artifact(s, &(struct store_artifact){ .run = id, .kind = "best", .path = path, .sha256 = sha256,
                                                         .bytes = stat(path, &st) ? 0 : (int64_t)st.st_size });
    struct store_change change = { .run = id, .seconds = 0, .state = rc ? STORE_FAILED : STORE_FINISHED,
                                   .reason = rc ? e->text : NULL, .weights_sha256 = rc ? NULL : sha256 };
    int changed = store_change(s, &change);
    if (!rc && changed) rc = err_set(e, ERR_SYSTEM, "run %lld: its state could not be stored", (long long)id);
    free(folder);
    free(path);
    return rc;
}

int ready_run(struct store *s, struct imported *x, const struct history_row *more, int64_t *id, struct err *e) {
    name_model(x);
    char *imported = import_json(x);
    struct history_row row = *more;
    row.imported = imported;
    struct err closing = ERR_INIT;
    int rc = run_row_create(s, &x->config, predictor_plan(x->predictor), &row, id, e);
    if (!rc) {
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
