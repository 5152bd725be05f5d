/* pretrain: a vocabulary and a model of texts alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/history/export_hf.h"
#include "app/verbs/output.h"
#include "app/verbs/verb_train.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/text/vocab_train.h"
#include "core/train/pretrain.h"

/* The options of the run that were given; what says its rows is none of them. */
static int pretrain_options(const struct args *a, struct run_config *c, struct err *e) {
    int rc = 0;
    for (int i = 0; i < a->given && !rc; i++) {
        const struct option_spec *o = a->option[i].spec;
        const char *name = config_option_name(o->name);
        if (name && strcmp(name, "text") && strcmp(name, "dev")) rc = config_set(c, name, o->value ? a->option[i].value : "on", e);
    }
    return rc;
}

/* The shape, and the texts. */
static int pretrain_asked(const struct args *a, const struct run_config *c, const char *text[ARGS_OPTIONS], struct pretrain *p,
                          struct err *e) {
    int64_t layers = 4, width = 128, heads = 4, vocabulary = 6000;
    if (args_int(a, "layers", 1, 48, &layers, e) || args_int(a, "width", 4, 4096, &width, e) ||
        args_int(a, "heads", 1, 4096, &heads, e) ||
        args_int(a, "vocab", VOCAB_TRAIN_LEAST, VOCAB_TRAIN_MOST, &vocabulary, e))
        return e->code;
    bool half;
    if (verb_half(a, &half, e)) return e->code;
    int n = args_all(a, "text", text);
    for (int i = 0; i < a->count && n < ARGS_OPTIONS; i++) text[n++] = a->positional[i];
    if (!n) return err_set(e, ERR_USAGE, "petri pretrain needs --text FILE, with a text a line");
    *p = (struct pretrain){ .text = text, .texts = n, .dev = args_get(a, "dev"), .vocabulary = (int)vocabulary };
    p->model = (struct fresh){ .layers = (int)layers, .width = (int)width, .heads = (int)heads, .inner = 4 * (int)width,
                               .positions = c->max_len, .seed = c->seed };
    return fresh_check(&p->model, e);
}

/* Where the model is to go: it must be free before the long work. */
static int check_out(const struct args *a, const struct pretrain *p, const char *database, struct err *e) {
    const char *out = args_get(a, "out");
    struct outfile_guard g;
    if (!out || !*out) return err_set(e, ERR_USAGE, "petri pretrain needs --out DIR, a new folder");
    if (file_exists(out) && !file_is_empty_folder(out))
        return err_set(e, ERR_USAGE, "--out %s: exists and is not empty; name a new folder", out);
    outfile_guard_init(&g, database, false);
    for (int i = 0; i < p->texts; i++) outfile_guard_reads(&g, p->text[i]);
    int rc = outfile_check_folder(&g, out, e);
    outfile_guard_release(&g);
    return rc;
}

static int pretrain_write(const struct args *a, struct store *s, int64_t run, struct err *e) {
    const char *out = args_get(a, "out");
    double worst;
    bool half;
    struct buf said = BUF_INIT;
    int rc = verb_half(a, &half, e);
    if (!rc) rc = export_hf(s, run, NULL, NULL, out, half, NULL, &worst, &said, e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    if (rc) return rc;
    if (args_flag(a, "json")) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_int(&b, "run", run);
        json_member_string(&b, "folder", out);
        if (!isnan(worst)) json_member_double(&b, "largest_logit_difference", worst);
        buf_putc(&b, '}');
        out_line(&b);
        return 0;
    }
    out_text(out);
    printf(": written from run %lld; largest logit difference from the run on 20 rows: %.2g\n", (long long)run, worst);
    return 0;
}

/* The run in the open store, to its end, and the folder. */
static int pretrain_run(const struct args *a, struct store *s, const struct pretrain *p, struct job_request *r, struct err *e) {
    struct buf report = BUF_INIT;
    int64_t id = 0;
    bool made;
    char *parent = xprintf("%s-files/models", store_path(s)), *name = file_base_name(args_get(a, "out"));
    int rc = pretrain_begin(p, parent, name, &r->config, &made, &report, e);
    if (!rc) out_report(buf_text(&report));
    buf_release(&report);
    free(parent);
    free(name);
    const uint64_t seed = r->config.seed;
    if (!rc) rc = verb_train_runs(a, s, r, &seed, 1, &id, e);
    if (rc && !id && made) pretrain_undo(&r->config); /* nothing was begun */
    if (rc && e->code == ERR_INTERRUPTED && id)
        return err_set(e, ERR_INTERRUPTED, "stopped; `petri resume %lld` goes on from there, and `petri export %lld --to hf %s` then "
                                           "writes the model", (long long)id, (long long)id, args_get(a, "out"));
    return rc ? rc : pretrain_write(a, s, id, e);
}

int verb_pretrain(const struct args *a, struct err *e) {
    struct job_request r = { .note = args_get(a, "note") };
    const char *text[ARGS_OPTIONS];
    struct pretrain p;
    struct store *s = NULL;
    config_init(&r.config);
    pretrain_usual(&r.config);
    int workers, rc = verb_workers(a, &workers, e);
    if (!rc) rc = verb_run_name(a, &r.name, e);
    if (!rc) rc = pretrain_options(a, &r.config, e);
    if (!rc) rc = pretrain_asked(a, &r.config, text, &p, e);
    char *database = rc ? NULL : verb_database(a, e);
    if (!rc) rc = database ? check_out(a, &p, database, e) : e->code;
    free(database);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) rc = pretrain_run(a, s, &p, &r, e);
    config_release(&r.config);
    return s ? verb_close(s, rc, e) : rc;
}
