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
enum { TO_STDOUT_OR_FILE, TO_FOLDER, TO_FILE_OR_FOLDER, TO_FILE };
/* The words of --to. */
enum { TO_CSV, TO_JSON, TO_MARKDOWN, TO_HF, TO_PETRI, TO_PEFT, TO_HUB, TO_GGUF, TO_GGUF_MERGED };
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
    [TO_GGUF] = { "gguf", TO_FILE },
    [TO_GGUF_MERGED] = { "gguf-merged", TO_FILE },
};

static bool is_folder(const struct destination *to, const char *path) {
    return to->path == TO_FOLDER || (to->path == TO_FILE_OR_FOLDER && !text_ends(path, ".safetensors"));
}

static int check_words(const struct args *a, const struct destination *to, const char *path, struct err *e) {
    if (!path && to->path != TO_STDOUT_OR_FILE)
        return err_set(e, ERR_USAGE, "--to %s: missing %s; give the path of the %s", to->name,
                       to->path == TO_FOLDER ? "FOLDER"
                       : to->path == TO_FILE ? "FILE.gguf"
                                             : "FILE.safetensors",
                       to->path == TO_FOLDER ? "folder" : "file");
    if (a->overwrite && (!path || is_folder(to, path)))
        return err_set(e, ERR_USAGE, "--overwrite: requires PATH to be a file%s",
                       path ? "; a folder must be new or empty" : "");
    return 0;
}

/* Returns the path of the Modelfile of an adapter: FILE.Modelfile for FILE.gguf; caller frees. */
static char *modelfile_path(const char *path) {
    size_t n = strlen(path) - (text_ends(path, ".gguf") ? strlen(".gguf") : 0);
    return xprintf("%.*s.Modelfile", (int)n, path);
}

/* Writes the file from which Ollama makes a model of the base and the adapter. */
static int write_modelfile(const struct outfile_guard *g, const struct model *m, const char *path,
                           struct err *e) {
    char *file = modelfile_path(path), *base = realpath(m->folder, NULL), *name = file_base_name(path);
    char *text = xprintf("FROM %s\nADAPTER ./%s\n", base ? base : m->folder, name);
    int rc = outfile_write(g, file, text, strlen(text), e);
    free(file);
    free(base);
    free(name);
    free(text);
    return rc;
}

/* Writes an adapter for llama.cpp with its Modelfile, or the merged model. */
static int write_gguf(const struct args *a, const struct outfile_guard *g, struct opened *o, const char *path,
                      struct err *e) {
    static const enum st_type types[] = { ST_F32, ST_F16, ST_Q8_0 }; /* the words of --outtype */
    if (a->to.to == TO_GGUF_MERGED) return export_gguf_merged(o->predictor, types[a->to.outtype], path, e);
    char *file = modelfile_path(path);
    int rc = outfile_check(g, file, e);
    free(file);
    if (!rc) rc = export_gguf(o->predictor, path, e);
    return rc ? rc : write_modelfile(g, o->model, path, e);
}

/* Exports the parameters of one task for another program or another database. */
static int export_values(const struct args *a, const struct outfile_guard *g, struct store *s, int64_t id,
                         const char *path, struct err *e) {
    struct opened o = { 0 };
    struct buf said = BUF_INIT;
    char *file = NULL;
    int rc = opened_run(&o, s, id, a->task, &(struct backbone_hint){ .given = a->model },
                        &said, e);
    if (!rc && a->to.to == TO_PETRI) {
        rc = export_petri(o.predictor, &o.config, path, &file, e);
    } else if (!rc && a->to.to >= TO_GGUF) {
        file = xstrdup(path);
        rc = write_gguf(a, g, &o, path, e);
    } else if (!rc) {
        const char *base = a->to.base;
        file = xstrdup(path);
        rc = (a->to.to == TO_PEFT ? export_peft : export_hub)(o.predictor, base ? base : o.config.model,
                                                              path, e);
    }
    opened_release(&o);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    char *second = a->to.to == TO_GGUF ? modelfile_path(path) : NULL;
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{run:%jd,file:%s", id, file);
        if (second) json_member_string(&b, "modelfile", second);
        buf_putc(&b, '}');
        out_line(&b);
    } else if (!rc) {
        out_text(file);
        puts(": written");
        if (second) out_text(second);
        if (second) puts(": written");
    }
    free(second);
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
    else if (path && to->path >= TO_FILE_OR_FOLDER) rc = outfile_check(g, path, e);
    if (rc) return rc;
    if (a->to.to == TO_HF) return write_folder(a, s, id, path, e);
    if (a->to.to > TO_HF) return export_values(a, g, s, id, path, e);
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
