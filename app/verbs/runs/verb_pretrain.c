/* pretrain: a vocabulary and a model from unlabeled text. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/history/export_hf.h"
#include "app/verbs/output.h"
#include "app/verbs/runs/verb_train.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/text/vocab_train.h"
#include "core/train/meta/pretrain.h"

/* Reads the model shape and the text files. */
static int pretrain_asked(const struct args *a, const struct run_config *c, struct option_texts *text,
                          struct pretrain *p, struct err *e) {
    const struct pretrain_options *o = &a->pretrain;
    *text = o->text;
    for (int i = 0; i < a->count && text->count < OPTION_TEXTS; i++)
        text->at[text->count++] = a->positional[i];
    if (!text->count) return err_set(e, ERR_USAGE,
        "petri pretrain: requires --text FILE, with one text per line");
    *p = (struct pretrain){
        .text = text->at, .texts = text->count, .dev = o->dev, .vocabulary = (int)o->vocab
    };
    p->model = (struct fresh){ .layers = (int)o->layers, .width = (int)o->width, .heads = (int)o->heads,
                               .inner = 4 * (int)o->width, .positions = c->max_len, .seed = c->seed };
    return fresh_check(&p->model, e);
}

/* Checks the output folder before the long training. */
static int check_out(const struct args *a, const struct pretrain *p, const char *database, struct err *e) {
    const char *out = a->out;
    struct outfile_guard g;
    if (file_exists(out) && !file_is_empty_folder(out))
        return err_set(e, ERR_USAGE, "--out %s: already exists and is not empty; give a new or empty folder",
                       out);
    outfile_guard_init(&g, database, false);
    for (int i = 0; i < p->texts; i++) outfile_guard_reads(&g, p->text[i]);
    int rc = outfile_check_folder(&g, out, e);
    outfile_guard_release(&g);
    return rc;
}

static int pretrain_write(const struct args *a, struct store *s, int64_t run, struct err *e) {
    const char *out = a->out;
    double worst;
    struct buf said = BUF_INIT;
    int rc = export_hf(s, run, NULL, NULL, out, a->half > 0, NULL, &worst, &said, e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    if (!rc) verb_tell_folder(a, run, out, worst);
    return rc;
}

/* Trains the run in the open store and writes the folder. */
static int pretrain_run(const struct args *a, struct store *s, const struct pretrain *p,
                        struct job_request *r, struct err *e) {
    struct buf report = BUF_INIT;
    int64_t id = 0;
    bool made;
    char *parent = xprintf("%s-files/models", store_path(s)), *name = file_base_name(a->out);
    int rc = pretrain_begin(p, parent, name, &r->config, &made, &report, e);
    if (!rc) out_report(buf_text(&report));
    buf_release(&report);
    free(parent);
    free(name);
    const uint64_t seed = r->config.seed;
    if (!rc) rc = verb_train_runs(a, s, r, &seed, 1, &id, e);
    if (rc && !id && made) pretrain_undo(&r->config); /* nothing was started */
    if (rc && e->code == ERR_INTERRUPTED && id)
        return err_set(e, ERR_INTERRUPTED,
                       "stopped; continue with `petri resume %lld`, then write the model with `petri export "
                       "%lld --to hf %s`",
                       (long long)id, (long long)id, a->out);
    return rc ? rc : pretrain_write(a, s, id, e);
}

int verb_pretrain(const struct args *a, struct err *e) {
    struct job_request r = { .note = a->note };
    struct option_texts text;
    struct pretrain p;
    struct store *s = NULL;
    config_init(&r.config);
    pretrain_defaults(&r.config);
    int rc = verb_run_name(a, &r.name, e);
    if (!rc) rc = args_config(a, &r.config, e);
    if (!rc) rc = pretrain_asked(a, &r.config, &text, &p, e);
    char *database = rc ? NULL : verb_database(a, e);
    if (!rc) rc = database ? check_out(a, &p, database, e) : e->code;
    free(database);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) rc = pretrain_run(a, s, &p, &r, e);
    config_release(&r.config);
    return s ? verb_close(s, rc, e) : rc;
}
