/* Using a run or a model: opening it, predict, and export as a Hugging Face folder. */
#include "app/verbs/use.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/history/moved.h"
#include "app/jobs/jobs.h"
#include "app/verbs/export_hf.h"
#include "app/verbs/input.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/complete.h"
#include "core/train/score.h"

struct table_reader user_reader(const struct user *u) {
    const struct task_source s = config_source(&u->config, NULL);
    return (struct table_reader){ s.source ? s.source : s.text, s.header, s.delimiter };
}

void user_release(struct user *u) {
    predictor_free(u->predictor);
    if (u->run) config_release(&u->config);
    free(u->method);
    if (u->model) model_release(u->model);
    free(u->name);
    *u = (struct user){ 0 };
}

/* The best checkpoint, of the task where it has one of its own, or the last when no best one was kept; caller
 * frees.  *step: its own, or 0. */
static char *checkpoint_of(struct store *s, int64_t run, const char *task, int64_t *step, struct err *e) {
    struct store_files files;
    if (store_artifacts(s, run, &files, e)) return NULL;
    const struct store_file *best = NULL, *last = NULL, *own = NULL;
    char *kind = xprintf("best.%s", task ? task : "");
    for (size_t i = files.count; i-- > 0;) {
        if (!strcmp(files.file[i].kind, "best")) best = &files.file[i];
        if (!strcmp(files.file[i].kind, "last")) last = &files.file[i];
        if (!strcmp(files.file[i].kind, kind)) own = &files.file[i];
    }
    free(kind);
    if (own) best = own;
    if (!best) best = last;
    char *path = best ? xstrdup(best->path) : NULL;
    if (step) *step = best ? best->step : 0;
    store_files_release(&files);
    if (!path) err_set(e, ERR_NOT_FOUND, "run %lld has no checkpoint", (long long)run);
    return path;
}

char *user_facts_unknown(int64_t run) {
    return xprintf("run %lld was begun when runs knew their model by the hash of its weights alone: its config.json "
                   "and its tokenizer are taken as they are now", (long long)run);
}

/* Which of a run's tasks is meant, and the config as of that alone.  *name: NULL for a run of one. */
static int choose_task(struct user *u, struct run_config *c, const char *task, char **name, struct err *e) {
    *name = NULL;
    u->several = c->tasks > 0;
    if (!u->several) {
        u->config = *c;
        return 0;
    }
    int i = config_task_find(c, task, e);
    if (i >= 0) {
        *name = xstrdup(config_task_name(c, i));
        config_of_task(c, i, &u->config);
    }
    config_release(c);
    return i < 0 ? e->code : 0;
}

int user_open_run(struct user *u, struct store *s, int64_t id, const char *task, const struct backbone_hint *hint,
                  struct buf *said, struct err *e) {
    struct store_run run;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    struct run_config config;
    char *name;
    rc = config_from_json(run.config, strlen(run.config), &config, e);
    store_run_release(&run);
    if (rc) return rc;
    moved_rows(&config, store_path(s), said);
    u->run = id;
    if (choose_task(u, &config, task, &name, e)) {
        u->run = 0; /* nothing to release */
        return e->code;
    }
    u->method = method_text(&u->config.method);
    char *checkpoint = checkpoint_of(s, id, name, &u->step, e);
    u->model = checkpoint ? backbone_open(&u->config, hint, said, e) : NULL;
    u->predictor = u->model ? predictor_open(checkpoint, name, u->model, e) : NULL;
    free(checkpoint);
    free(name);
    if (u->predictor && !predictor_knows_facts(u->predictor)) {
        char *unknown = user_facts_unknown(id);
        text_line(said, "%s", unknown);
        free(unknown);
    }
    return u->predictor ? 0 : e->code;
}

int user_open_typed(struct user *u, const struct args *a, const char *typed, struct err *e) {
    struct store *s;
    struct err ignored = ERR_INIT;
    int64_t id;
    struct buf said = BUF_INIT;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = store_find(s, typed, &id, e);
    const struct backbone_hint hint = { .given = args_get(a, "model") };
    if (!rc) rc = user_open_run(u, s, id, args_get(a, "task"), &hint, &said, e);
    store_close(s, &ignored);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    return rc;
}

int user_open(struct user *u, const struct args *a, struct err *e) {
    *u = (struct user){ 0 };
    int rc = 0;
    if (a->count) {
        rc = user_open_typed(u, a, a->positional[0], e);
    } else if (args_get(a, "model")) {
        u->model = model_share(args_get(a, "model"), e);
        u->predictor = u->model ? predictor_of_model(u->model, e) : NULL;
        rc = u->predictor ? 0 : e->code;
        if (!rc) out_report(buf_text(&u->model->caution));
    } else {
        rc = err_set(e, ERR_USAGE, "usage: petri %s %s", a->verb->name, a->verb->synopsis);
    }
    if (rc) {
        user_release(u);
        return rc;
    }
    u->names = predictor_labels(u->predictor);
    u->name = xcalloc((size_t)u->names, sizeof *u->name);
    for (int i = 0; i < u->names; i++) u->name[i] = predictor_label(u->predictor, i);
    return 0;
}

int user_max_len(const struct user *u, const struct args *a, int64_t *out, struct err *e) {
    *out = predictor_max_len(u->predictor);
    return args_int(a, "max-len", 2, arch_longest(&u->model->arch), out, e);
}

/* ---- predict ---- */

static void print_prediction(const struct user *u, const struct args *a, const struct dataset_row *row,
                             const double *p) {
    size_t k = (size_t)predictor_classes(u->predictor);
    int best = argmax(p, (int)k);
    if (args_flag(a, "json")) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        if (!u->names) json_member_double(&b, "score", p[0]);
        if (u->names) {
            json_member_string(&b, "label", u->name[best]);
            json_add_key(&b, "probabilities");
            buf_putc(&b, '{');
            for (size_t i = 0; i < k; i++) json_member_double(&b, u->name[i], p[i]);
            buf_putc(&b, '}');
        }
        json_member_bytes(&b, "text", row->a, row->a_size);
        buf_putc(&b, '}');
        out_line(&b);
        buf_release(&b);
        return;
    }
    if (!u->names) printf("%.6f", p[0]);
    if (u->names) {
        out_text(u->name[best]);
        for (size_t i = 0; i < k; i++) {
            printf("\t");
            out_text(u->name[i]);
            printf(" %.4f", p[i]);
        }
    }
    printf("\t");
    out_bytes(row->a, row->a_size);
    putchar('\n');
}

/* The answer of a text-to-text run, parsed back where its task had labels. */
static void print_text(const struct user *u, const struct args *a, const struct dataset_row *row,
                       const char *given, size_t size) {
    bool any = predictor_gold(u->predictor) == DATA_TEXT;
    struct parsed p = { .label = -1 };
    if (!any) p = predictor_parse(u->predictor, given, size);
    if (args_flag(a, "json")) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_bytes(&b, "given", given, size);
        if (!any) json_member_bool(&b, "valid", p.valid);
        if (u->names) json_member_string(&b, "label", p.label >= 0 ? u->name[p.label] : NULL);
        else if (!any && p.valid) json_member_double(&b, "score", p.score);
        json_member_bytes(&b, "text", row->a, row->a_size);
        buf_putc(&b, '}');
        out_line(&b);
        buf_release(&b);
        return;
    }
    if (p.label >= 0) out_text(u->name[p.label]);
    else out_bytes(given, size);
    if (!any && !p.valid) printf("\tno answer");
    printf("\t");
    out_bytes(row->a, row->a_size);
    putchar('\n');
}

static int write_rows(const struct user *u, const struct args *a, struct dataset *d, struct crew *crew,
                      struct err *e) {
    const char *const column[2] = { u->config.text_column, u->config.text_b_column };
    struct dataset_row *row = xmalloc((d->rows + 1) * sizeof *row);
    struct written texts = { 0 };
    int64_t max_len;
    for (size_t i = 0; i < d->rows; i++) row[i] = d->row[i]; /* as given, before it is put as text */
    int rc = user_max_len(u, a, &max_len, e);
    if (!rc && predictor_gold(u->predictor) != DATA_TEXT)
        rc = predictor_as_text(u->predictor, u->config.task, column, d, e);
    if (!rc) rc = dataset_encode(d, u->model->tokenizer, (size_t)max_len, 0, u->model->arch.vocabulary, e);
    if (!rc) input_tell_cut(d);
    if (!rc) rc = predictor_answer(u->predictor, d, crew, &texts, e);
    for (size_t i = 0; !rc && i < d->rows; i++) print_text(u, a, &row[i], texts.text[i], texts.size[i]);
    written_release(&texts);
    free(row);
    return rc;
}

static int predict_rows(const struct user *u, const struct args *a, struct dataset *d, struct crew *crew,
                        struct err *e) {
    int64_t max_len;
    int rc = user_max_len(u, a, &max_len, e);
    if (!rc) rc = dataset_encode(d, u->model->tokenizer, (size_t)max_len, 0, u->model->arch.vocabulary, e);
    if (!rc) input_tell_cut(d);
    size_t k = (size_t)predictor_classes(u->predictor);
    double *p = rc ? NULL : mem_try(d->rows * k, sizeof *p);
    if (!rc && !p) rc = err_set(e, ERR_SYSTEM, "no memory for %zu rows of %zu outputs", d->rows, k);
    if (!rc) rc = predictor_run(u->predictor, d, crew, p, NULL, e);
    for (size_t i = 0; !rc && i < d->rows; i++) print_prediction(u, a, &d->row[i], p + i * k);
    free(p);
    return rc;
}

int verb_predict(const struct args *a, struct err *e) {
    struct user u;
    struct input in;
    struct crew *crew;
    if (!args_get(a, "text") == !args_get(a, "file"))
        return err_set(e, ERR_USAGE, "petri predict needs --text or --file");
    int rc = verb_crew(a, &crew, e);
    if (!rc && !(rc = user_open(&u, a, e))) {
        rc = input_open(&in, a, user_reader(&u), e);
        if (!rc) {
            rc = (predictor_writes(u.predictor) ? write_rows : predict_rows)(&u, a, &in.data, crew, e);
            input_release(&in);
        }
        user_release(&u);
    }
    crew_free(crew);
    return rc;
}

/* ---- export ---- */

int export_hf_quiet(struct store *s, int64_t run, const char *task, const char *model, const char *folder,
                    struct crew *crew, double *worst, struct buf *said, struct err *e) {
    enum { PROBE = 20 };
    struct user u = { 0 };
    *worst = NAN;
    int rc = user_open_run(&u, s, run, task, &(struct backbone_hint){ .given = model }, said, e);
    if (!rc) {
        /* a few training rows show that the folder computes what the run does */
        struct task_source source = config_source(&u.config, paths_assets());
        struct task t;
        struct err ignored = ERR_INIT;
        bool probe = !task_open(&t, &source, &ignored);
        size_t rows = probe ? t.train.rows : 0;
        if (rows > PROBE) t.train.rows = PROBE;
        bool encoded = probe && !dataset_encode(&t.train, u.model->tokenizer,
                                                (size_t)predictor_max_len(u.predictor), 0,
                                                u.model->arch.vocabulary, &ignored);
        rc = predictor_export(u.predictor, folder, encoded ? &t.train : NULL, crew, worst, e);
        if (!encoded) *worst = NAN;
        if (probe) {
            t.train.rows = rows;
            task_release(&t);
        }
    }
    user_release(&u);
    return rc;
}

int export_hf(struct store *s, int64_t run, const char *task, const char *model, const char *folder, bool json,
              struct err *e) {
    double worst;
    struct buf said = BUF_INIT;
    int rc = export_hf_quiet(s, run, task, model, folder, NULL, &worst, &said, e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    if (rc) return rc;
    if (json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_int(&b, "run", run);
        json_member_string(&b, "folder", folder);
        if (!isnan(worst)) json_member_double(&b, "largest_logit_difference", worst);
        buf_putc(&b, '}');
        out_line(&b);
        buf_release(&b);
        return 0;
    }
    out_text(folder);
    if (isnan(worst)) puts(": written; not compared, since the training file is gone");
    else printf(": written; largest logit difference from the run on 20 rows: %.2g\n", worst);
    return 0;
}
