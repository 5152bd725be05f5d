/* petri's own format: a checkpoint of one task's stored parameters, with its description. */
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/export.h"
#include "core/exchange/import.h"
#include "core/method/carry.h"
#include "core/model/safetensors.h"
#include "core/train/config/regime.h"
#include "core/train/run/checkpoint.h"

static const char own_name[] = "petri.safetensors";

/* Members that are meaningless in another database: run ids, and the sampling of the few-shot draws that
 * include the run. */
static void forget_history(struct run_config *c) {
    method_forget_runs(&c->method);
    if (config_is_fewshot(c)) config_put(c, "regime", NULL);
}

/* ---- import ---- */

static bool is_own(const char *file) {
    struct err ignored = ERR_INIT;
    struct st_file *f = st_open(file, &ignored);
    bool own = f && st_meta(f, "petri");
    if (f) st_close(f);
    return own;
}

char *import_petri_file(const char *path) {
    char *file = file_is_folder(path) ? file_join(path, own_name) : xstrdup(path);
    if (file_exists(file) && is_own(file)) return file;
    free(file);
    return NULL;
}

int import_petri_config(const char *file, struct run_config *out, struct err *e) {
    struct checkpoint k;
    if (checkpoint_open(&k, file, e)) return e->code;
    config_copy(out, &k.config);
    checkpoint_close(&k);
    if (config_task_count(out) == 1) return 0;
    config_release(out);
    return err_set(e, ERR_INPUT,
                   "%s: contains several tasks; export one with `petri export RUN --task T --to petri`",
                   file);
}

int import_petri(const char *file, struct model *m, struct imported *out, struct err *e) {
    *out = (struct imported){ .format = "petri", .version = xstrdup("1"), .model = m };
    char *name = file_base_name(file);
    notes_add(&out->read, "%s", name);
    free(name);
    int rc = import_petri_config(file, &out->config, e);
    if (!rc) out->predictor = predictor_open(file, NULL, m, e);
    if (!rc) rc = out->predictor ? predictor_make_plain(out->predictor, e) : e->code;
    if (rc) {
        import_release(out);
        return rc;
    }
    out->config.method = predictor_plan(out->predictor)->method;
    forget_history(&out->config);
    if (!out->config.task) notes_add(&out->assumed, "the file does not name a task");
    return 0;
}

/* ---- export ---- */

int export_petri(struct predictor *p, const struct run_config *c, const char *path, char **file,
                 struct err *e) {
    struct run_config plain;
    char sha256[65];
    bool folder = !text_ends(path, ".safetensors");
    int rc = predictor_make_plain(p, e);
    if (rc) return rc;
    *file = folder ? file_join(path, own_name) : xstrdup(path);
    if (folder) rc = export_folder(path, e);
    config_copy(&plain, c);
    plain.method = predictor_plan(p)->method;
    forget_history(&plain);
    if (!rc) rc = predictor_save(p, &plain, *file, sha256, e);
    config_release(&plain);
    return rc;
}
