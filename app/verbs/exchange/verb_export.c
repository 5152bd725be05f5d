/* export: points, record and weights of a run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/history/export_hf.h"
#include "app/history/record.h"
#include "app/history/run_table.h"
#include "app/verbs/open.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/export.h"

/* Writes points as CSV or Markdown, or the record and points of a run as JSON Lines.  path NULL: to standard
 * output. */
static int export_text(const struct outfile_guard *g, struct store *s, int64_t id, enum store_format form,
                       const char *path, struct err *e) {
    struct outfile_sink f = { .e = e };
    struct store_sink sink = { NULL, verb_to_stdout };
    int rc = path ? outfile_open(&f.file, g, path, e) : 0;
    if (rc) return rc;
    if (path) sink = (struct store_sink){ &f, outfile_sink_add };
    if (form == STORE_JSON) {
        struct store_run run;
        struct buf b = BUF_INIT;
        rc = store_run(s, id, &run, e);
        if (!rc) {
            rc = verb_run_add(s, &run, &b, e);
            buf_putc(&b, '\n');
            if (!rc) rc = sink.write(sink.self, b.data, b.size);
            store_run_release(&run);
        }
        buf_release(&b);
    }
    if (!rc) rc = store_export(s, STORE_EXPORT_POINTS, form, &id, 1, sink, e);
    return path ? outfile_end(&f.file, rc, e) : rc;
}

static int guard_run(struct outfile_guard *g, struct store *s, int64_t id, struct err *e) {
    struct store_run run;
    struct run_config c;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    if (!record_config_of(&run, &c, NULL)) { /* points can be exported without it */
        outfile_guard_run(g, &c);
        config_release(&c);
    }
    store_run_release(&run);
    return 0;
}

/* What PATH is for an export, and whether it is required. */
enum { TO_STDOUT_OR_FILE, TO_FOLDER, TO_FILE_OR_FOLDER };
enum { TO_CSV, TO_JSON, TO_MARKDOWN, TO_HF, TO_PETRI, TO_PEFT, TO_HUB }; /* the words of --to */
static const struct destination {
    const char *name;
    int path;
} destinations[] = {
    [TO_CSV] = { "csv", TO_STDOUT_OR_FILE },
    [TO_JSON] = { "json", TO_STDOUT_OR_FILE },
    [TO_MARKDOWN] = { "markdown", TO_STDOUT_OR_FILE },
    [TO_HF] = { "hf", TO_FOLDER },
    [TO_PETRI] = { "petri", TO_FILE_OR_FOLDER },
    [TO_PEFT] = { "peft", TO_FOLDER },
    [TO_HUB] = { "hub", TO_FOLDER },
};

static bool is_folder(const struct destination *to, const char *path) {
    return to->path == TO_FOLDER || (to->path == TO_FILE_OR_FOLDER && !text_ends(path, ".safetensors"));
}

static int check_words(const struct args *a, const struct destination *to, const char *path, struct err *e) {
    if (!path && to->path != TO_STDOUT_OR_FILE)
        return err_set(e, ERR_USAGE, "--to %s: missing %s; give the path of the %s", to->name,
                       to->path == TO_FOLDER ? "FOLDER" : "FILE.safetensors",
                       to->path == TO_FOLDER ? "folder" : "file");
    if (a->overwrite && (!path || is_folder(to, path)))
        return err_set(e, ERR_USAGE, "--overwrite: requires PATH to be a file%s",
                       path ? "; a folder must be new or empty" : "");
    return 0;
}

/* Exports the parameters of one task for another program or another database. */
static int export_values(const struct args *a, struct store *s, int64_t id, const char *path, struct err *e) {
    struct opened o = { 0 };
    struct buf said = BUF_INIT;
    char *file = NULL;
    int rc = opened_run(&o, s, id, a->task, &(struct backbone_hint){ .given = a->model },
                        &said, e);
    if (!rc && a->to.to == TO_PETRI) {
        rc = export_petri(o.predictor, &o.config, path, &file, e);
    } else if (!rc) {
        const char *base = a->to.base;
        file = xstrdup(path);
        rc = (a->to.to == TO_PEFT ? export_peft : export_hub)(o.predictor, base ? base : o.config.model,
                                                              path, e);
    }
    opened_release(&o);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{run:%jd,file:%s}", id, file);
        out_line(&b);
    } else if (!rc) {
        out_text(file);
        puts(": written");
    }
    free(file);
    return rc;
}

void verb_tell_folder(const struct args *a, int64_t run, const char *folder, double worst) {
    if (a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{run:%jd,folder:%s,largest_logit_difference:%1g}", run, folder, worst);
        out_line(&b);
        return;
    }
    out_text(folder);
    if (isnan(worst))
        puts(": written; not compared with the run: its training data is missing");
    else printf(": written; largest logit difference from the run on 20 examples: %.2g\n", worst);
}

static int write_folder(const struct args *a, struct store *s, int64_t run, const char *folder,
                        struct err *e) {
    double worst;
    struct buf said = BUF_INIT;
    int rc = export_hf(s, run, a->task, a->model, folder, a->half > 0, NULL, &worst, &said, e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    if (!rc) verb_tell_folder(a, run, folder, worst);
    return rc;
}

static int write_to(const struct args *a, const struct outfile_guard *g, struct store *s, int64_t id,
                    const struct destination *to, const char *path, struct err *e) {
    int rc = 0;
    if (path && is_folder(to, path)) rc = outfile_check_folder(g, path, e);
    else if (path && to->path == TO_FILE_OR_FOLDER) rc = outfile_check(g, path, e);
    if (rc) return rc;
    if (a->to.to == TO_HF) return write_folder(a, s, id, path, e);
    if (a->to.to > TO_HF) return export_values(a, s, id, path, e);
    enum store_format form = STORE_CSV;
    run_table_form(to->name, &form);
    return export_text(g, s, id, form, path, e);
}

int verb_export(const struct args *a, struct err *e) {
    const char *path = a->count > 1 ? a->positional[1] : NULL;
    const struct destination *to = &destinations[a->to.to];
    struct store *s;
    int rc = check_words(a, to, path, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    int64_t id;
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(s), a->overwrite);
    rc = store_find(s, a->positional[0], &id, e);
    if (!rc) rc = guard_run(&g, s, id, e);
    if (!rc) rc = write_to(a, &g, s, id, to, path, e);
    outfile_guard_release(&g);
    return verb_close(s, rc, e);
}
