#include "app/history/backbone.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static bool is_runs(const struct run_config *c, const struct model *m) {
    return c->model_sha256 && !strcmp(c->model_sha256, m->sha256);
}

static struct model *given(const struct run_config *c, const char *where, enum weights_in in,
                           struct buf *notes, struct err *e) {
    struct model *m = model_share_as(where, in, e);
    if (!m) return NULL;
    if (is_runs(c, m)) {
        if (strcmp(m->folder, c->model_folder))
            text_line(notes, "model: using %s, which has the weights of the run", m->folder);
        return m;
    }
    err_set(e, ERR_INPUT,
            "%s: wrong model: its weights have SHA-256 %.12s…, but the run was trained on %s (%.12s…)",
            m->folder, m->sha256, c->model_folder, c->model_sha256 ? c->model_sha256 : "unknown");
    model_release(m);
    return NULL;
}

/* Returns the model at `name` if its weights are those of the run; else appends the reason to `looked`. */
static struct model *backbone_by_name(const struct run_config *c, const char *name, enum weights_in in,
                                      struct buf *looked) {
    struct err why = ERR_INIT;
    if (!name || !*name) return NULL;
    struct model *m = model_share_as(name, in, &why);
    if (m && is_runs(c, m)) return m;
    if (m) buf_printf(looked, "; %s has different weights", m->folder);
    else if (why.code != ERR_NOT_FOUND) buf_printf(looked, "; %s", why.text);
    else if (name != c->model_folder && !strchr(name, '/'))
        buf_printf(looked, "; no model named %s was found", name);
    if (m) model_release(m);
    return NULL;
}

struct model *backbone_open(const struct run_config *c, const struct backbone_hint *hint, struct buf *notes,
                            struct err *e) {
    static const struct backbone_hint none;
    if (!hint) hint = &none;
    enum weights_in in = hint->weights_in ? hint->weights_in : c->weights_in;
    if (hint->given) return given(c, hint->given, in, notes, e);
    if (file_exists(c->model_folder)) return model_share_as(c->model_folder, in, e);
    char *last = file_base_name(c->model_folder);
    const char *const name[] = { c->model, last, hint->spare };
    struct buf looked = BUF_INIT;
    struct model *m = NULL;
    for (size_t i = 0; !m && i < COUNT_OF(name); i++)
        if (!i || !name[i] || !c->model || strcmp(name[i], c->model))
            m = backbone_by_name(c, name[i], in, &looked);
    if (m)
        text_line(notes, "model: %s does not exist; using %s, which has the weights of the run",
                  c->model_folder, m->folder);
    else
        err_set(e, ERR_NOT_FOUND,
                "%s: the model folder of the run does not exist%s; give its new path with --model DIR",
                c->model_folder, buf_text(&looked));
    buf_release(&looked);
    free(last);
    return m;
}
