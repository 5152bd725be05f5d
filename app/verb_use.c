/* Using a run or a model: eval, predict, and export as a Hugging Face folder. */
#include "app/use.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/export_hf.h"
#include "app/input.h"
#include "app/jobs.h"
#include "app/output.h"
#include "app/paths.h"
#include "app/verbs.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void user_release(struct user *u) {
    predictor_free(u->predictor);
    if (u->run) config_release(&u->config);
    if (u->model) model_release(u->model);
    free(u->name);
    *u = (struct user){ 0 };
}

/* The best checkpoint, or the last when no best one was kept; caller frees.  *step: its own, or 0. */
static char *checkpoint_of(struct store *s, int64_t run, int64_t *step, struct err *e) {
    struct store_files files;
    if (store_artifacts(s, run, &files, e)) return NULL;
    const struct store_file *best = NULL, *last = NULL;
    for (size_t i = files.count; i-- > 0;) {
        if (!strcmp(files.file[i].kind, "best")) best = &files.file[i];
        if (!strcmp(files.file[i].kind, "last")) last = &files.file[i];
    }
    if (!best) best = last;
    char *path = best ? xstrdup(best->path) : NULL;
    if (step) *step = best ? best->step : 0;
    store_files_release(&files);
    if (!path) err_set(e, ERR_NOT_FOUND, "run %lld has no checkpoint", (long long)run);
    return path;
}

int user_open_run(struct user *u, struct store *s, int64_t id, struct err *e) {
    struct store_run run;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    rc = config_from_json(run.config, strlen(run.config), &u->config, e);
    store_run_release(&run);
    if (rc) return rc;
    u->run = id;
    char *checkpoint = checkpoint_of(s, id, &u->step, e);
    u->model = checkpoint ? model_share(u->config.model_folder, e) : NULL;
    u->predictor = u->model ? predictor_open(checkpoint, u->model, e) : NULL;
    free(checkpoint);
    return u->predictor ? 0 : e->code;
}

/* RUN, or --model. */
static int user_open(struct user *u, const struct args *a, struct err *e) {
    *u = (struct user){ 0 };
    int rc = 0;
    if (a->count && args_get(a, "model")) return err_set(e, ERR_USAGE, "give RUN or --model, not both");
    if (a->count) {
        struct store *s;
        int64_t id;
        rc = verb_store(a, STORE_READ, &s, e);
        if (rc) return rc;
        rc = store_find(s, a->positional[0], &id, e);
        if (!rc) rc = user_open_run(u, s, id, e);
        struct err ignored = ERR_INIT;
        store_close(s, &ignored);
    } else if (args_get(a, "model")) {
        u->model = model_share(args_get(a, "model"), e);
        u->predictor = u->model ? predictor_of_model(u->model, e) : NULL;
        rc = u->predictor ? 0 : e->code;
    } else {
        rc = err_set(e, ERR_USAGE, "usage: petri %s %s", a->verb->name, a->verb->synopsis);
    }
    if (rc) {
        user_release(u);
        return rc;
    }
    if (!predictor_is_regression(u->predictor)) u->names = predictor_classes(u->predictor);
    u->name = xcalloc((size_t)u->names, sizeof *u->name);
    for (int i = 0; i < u->names; i++) u->name[i] = predictor_label(u->predictor, i);
    return 0;
}

static int user_max_len(const struct user *u, const struct args *a, int64_t *out, struct err *e) {
    *out = predictor_max_len(u->predictor);
    return args_int(a, "max-len", 2, arch_longest(&u->model->arch), out, e);
}

/* ---- eval ---- */

/* The rows to score: --file, --task, or what the run was evaluated on. */
static int eval_task(const struct user *u, const struct args *a, struct task *t, struct err *e) {
    struct task_source s;
    int rc = verb_source(a, &s, e);
    if (rc) return rc;
    s.dev = args_get(a, "file");
    s.no_train = true;
    if (s.dev && s.where) return err_set(e, ERR_USAGE, "give --task or --file, not both");
    if (!s.dev && !s.where) {
        if (!u->run) return err_set(e, ERR_USAGE, "petri eval --model DIR needs --task T or --file F");
        if (!u->config.dev_file)
            return err_set(e, ERR_USAGE, "run %lld had no dev rows: give --task T or --file F",
                           (long long)u->run);
        s.where = u->config.task_folder;
        if (!s.where) s.dev = u->config.dev_file;
        s.official_dev = text_ends(u->config.dev_file, "/dev_official.tsv");
    }
    if (u->run) {
        if (!s.text) s.text = u->config.text_column;
        if (!s.text_b) s.text_b = u->config.text_b_column;
        if (!s.label) s.label = u->config.label_column;
    }
    s.names = u->names ? u->name : NULL;
    s.name_count = u->names;
    s.names_from = u->run ? "the run" : "the model's id2label";
    if (predictor_is_regression(u->predictor)) s.kind = DATA_KIND_REGRESSION;
    return task_open(t, &s, e);
}

static void add_value(struct buf *b, const char *key, struct metric_value v) {
    if (v.defined) json_member_double(b, key, v.value);
    else json_member_string(b, key, NULL);
}

static void eval_json(const struct user *u, const struct task *t, const struct dataset *d,
                      const struct metrics *m, const char *split, size_t wrong) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    if (u->run) json_member_int(&b, "run", u->run);
    json_member_string(&b, "model", u->model->name);
    json_member_string(&b, "file", d->path);
    json_member_string(&b, "split", split);
    json_member_int(&b, "rows", (long long)m->rows);
    json_member_int(&b, "gold", (long long)m->gold);
    json_add_key(&b, "metrics");
    buf_putc(&b, '{');
    for (int i = 0; i < METRIC_COUNT; i++) add_value(&b, metric_name((enum metric_id)i), m->value[i]);
    add_value(&b, "majority", m->majority);
    buf_putc(&b, '}');
    json_add_key(&b, "undefined");
    buf_putc(&b, '{');
    for (int i = 0; i < METRIC_COUNT; i++)
        if (!m->value[i].defined) json_member_string(&b, metric_name((enum metric_id)i), m->value[i].why);
    buf_putc(&b, '}');
    json_member_string(&b, "metric", metric_name(t->metric));
    json_member_bool(&b, "constant", m->constant);
    json_member_bool(&b, "as_majority", m->as_majority);
    json_member_int(&b, "wrong", (long long)wrong);
    if (m->classes) {
        json_add_key(&b, "classes");
        buf_putc(&b, '[');
        for (int i = 0; i < m->classes; i++) json_member_string(&b, NULL, t->class_name[i]);
        buf_putc(&b, ']');
        json_member_string(&b, "positive", m->positive >= 0 ? t->class_name[m->positive] : NULL);
        json_add_key(&b, "f1");
        buf_putc(&b, '{');
        for (int i = 0; i < m->classes; i++) add_value(&b, t->class_name[i], m->f1[i]);
        buf_putc(&b, '}');
        json_add_key(&b, "confusion");
        buf_putc(&b, '[');
        for (int g = 0; g < m->classes; g++) {
            json_add_key(&b, NULL);
            buf_putc(&b, '[');
            for (int p = 0; p < m->classes; p++)
                json_member_int(&b, NULL, (long long)m->confusion[(size_t)g * (size_t)m->classes + (size_t)p]);
            buf_putc(&b, ']');
        }
        buf_putc(&b, ']');
    }
    buf_putc(&b, '}');
    out_line(&b);
    buf_release(&b);
}

static void eval_text(const struct task *t, const struct dataset *d, const struct metrics *m,
                      const char *split) {
    printf("%s, %zu rows of ", split, m->rows);
    out_text(d->path);
    putchar('\n');
    if (!m->gold) puts("no gold labels: nothing to score; `petri predict` shows the predictions");
    for (int i = 0; m->gold && i < METRIC_COUNT; i++) {
        struct metric_value v = m->value[i];
        if (i == METRIC_F1 && m->positive >= 0 && v.defined) {
            printf("  %-10s %.6f  of ", metric_name((enum metric_id)i), v.value);
            out_text(t->class_name[m->positive]);
            putchar('\n');
        } else if (v.defined) {
            printf("  %-10s %.6f\n", metric_name((enum metric_id)i), v.value);
        } else if (metric_fits((enum metric_id)i, t->gold)) {
            printf("  %-10s undefined (%s)\n", metric_name((enum metric_id)i), v.why);
        }
    }
    if (m->majority.defined) printf("  %-10s %.6f  accuracy of the commonest class\n", "majority", m->majority.value);
    if (m->constant) puts("  every prediction is the same");
    if (!m->classes || m->classes > 20) return;
    const char **heading = xcalloc((size_t)m->classes + 1, sizeof *heading);
    char *align = xcalloc((size_t)m->classes + 2, 1);
    heading[0] = "gold \\ predicted";
    align[0] = 'l';
    char **shown = xcalloc((size_t)m->classes, sizeof *shown);
    for (int i = 0; i < m->classes; i++) {
        shown[i] = text_visible(t->class_name[i], strlen(t->class_name[i]));
        heading[i + 1] = shown[i];
        align[i + 1] = 'r';
    }
    struct table table;
    table_init(&table, (size_t)m->classes + 1, heading, align);
    const char **cell = xcalloc((size_t)m->classes + 1, sizeof *cell);
    for (int g = 0; g < m->classes; g++) {
        char number[64][24];
        cell[0] = t->class_name[g];
        for (int p = 0; p < m->classes; p++) {
            snprintf(number[p], sizeof number[p], "%zu", m->confusion[(size_t)g * (size_t)m->classes + (size_t)p]);
            cell[p + 1] = number[p];
        }
        table_add(&table, cell);
    }
    table_print(&table);
    for (int i = 0; i < m->classes; i++) free(shown[i]);
    free(shown);
    free(cell);
    free(heading);
    free(align);
}

/* A TSV field: no tab, no line end, nothing that moves a terminal. */
static void add_field(struct buf *b, const char *s, size_t n) {
    char *shown = text_visible(s, n);
    buf_puts(b, shown);
    free(shown);
}

static size_t wrong_rows(const struct user *u, const struct dataset *d, const double *probability,
                         struct buf *b) {
    size_t wrong = 0, k = (size_t)predictor_classes(u->predictor);
    buf_puts(b, "line\tgold\tpredicted");
    for (size_t i = 0; i < k; i++) {
        buf_puts(b, "\tp(");
        add_field(b, u->name[i], strlen(u->name[i]));
        buf_putc(b, ')');
    }
    buf_puts(b, d->pair ? "\ttext\ttext_b\n" : "\ttext\n");
    for (size_t r = 0; r < d->rows; r++) {
        const struct dataset_row *row = &d->row[r];
        const double *p = probability + r * k;
        size_t best = 0;
        for (size_t i = 1; i < k; i++)
            if (p[i] > p[best]) best = i;
        if (!row->gold || (size_t)row->label == best) continue;
        wrong++;
        buf_printf(b, "%zu\t", row->line);
        add_field(b, u->name[row->label], strlen(u->name[row->label]));
        buf_putc(b, '\t');
        add_field(b, u->name[best], strlen(u->name[best]));
        for (size_t i = 0; i < k; i++) buf_printf(b, "\t%.6f", p[i]);
        buf_putc(b, '\t');
        add_field(b, row->a, row->a_size);
        if (d->pair) {
            buf_putc(b, '\t');
            add_field(b, row->b, row->b_size);
        }
        buf_putc(b, '\n');
    }
    return wrong;
}

static int eval_split(const struct user *u, const struct args *a, struct task *t, int i, int workers,
                      struct err *e) {
    struct dataset *d = &t->dev[i];
    size_t k = (size_t)predictor_classes(u->predictor);
    double *probability = mem_try(d->rows * k, sizeof *probability);
    if (!probability) return err_set(e, ERR_SYSTEM, "no memory for %zu rows of %zu outputs", d->rows, k);
    struct metrics m;
    int rc = predictor_evaluate(u->predictor, d, workers, t->positive, probability, NULL, &m, e);
    if (!rc) {
        struct buf tsv = BUF_INIT;
        size_t wrong = u->names ? wrong_rows(u, d, probability, &tsv) : 0;
        if (args_flag(a, "json")) eval_json(u, t, d, &m, t->dev_name[i], wrong);
        else eval_text(t, d, &m, t->dev_name[i]);
        const char *path = args_get(a, "wrong");
        if (path && !u->names) rc = err_set(e, ERR_USAGE, "--wrong needs classes; this predicts scores");
        else if (path && !strcmp(path, "-")) fputs(buf_text(&tsv), stdout);
        else if (path) rc = file_write(path, buf_text(&tsv), tsv.size, e);
        buf_release(&tsv);
        metrics_release(&m);
    }
    free(probability);
    return rc;
}

int verb_eval(const struct args *a, struct err *e) {
    struct user u;
    struct task t;
    int workers;
    int64_t max_len, batch = 1;
    int rc = verb_workers(a, &workers, e);
    if (!rc) rc = args_int(a, "batch", 1, 1 << 20, &batch, e); /* results never depend on it */
    if (!rc) rc = user_open(&u, a, e);
    if (rc) return rc;
    rc = user_max_len(&u, a, &max_len, e);
    if (!rc && !(rc = eval_task(&u, a, &t, e))) {
        rc = task_encode(&t, u.model->tokenizer, (size_t)max_len, 0, u.model->arch.vocabulary, e);
        if (!rc) {
            struct buf report = BUF_INIT;
            task_report(&t, &report);
            out_report(buf_text(&report));
            buf_release(&report);
        }
        for (int i = 0; !rc && i < t.devs; i++) rc = eval_split(&u, a, &t, i, workers, e);
        task_release(&t);
    }
    user_release(&u);
    return rc;
}

/* ---- predict ---- */

static void print_prediction(const struct user *u, const struct args *a, const struct dataset_row *row,
                             const double *p) {
    size_t k = (size_t)predictor_classes(u->predictor), best = 0;
    for (size_t i = 1; i < k; i++)
        if (p[i] > p[best]) best = i;
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
        json_member_string(&b, "text", row->a);
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
    out_text(row->a);
    putchar('\n');
}

static int predict_rows(const struct user *u, const struct args *a, struct dataset *d, int workers,
                        struct err *e) {
    int64_t max_len;
    int rc = user_max_len(u, a, &max_len, e);
    if (!rc) rc = dataset_encode(d, u->model->tokenizer, (size_t)max_len, 0, u->model->arch.vocabulary, e);
    size_t k = (size_t)predictor_classes(u->predictor);
    double *p = rc ? NULL : mem_try(d->rows * k, sizeof *p);
    if (!rc && !p) rc = err_set(e, ERR_SYSTEM, "no memory for %zu rows of %zu outputs", d->rows, k);
    if (!rc) rc = predictor_run(u->predictor, d, workers, p, NULL, e);
    for (size_t i = 0; !rc && i < d->rows; i++) print_prediction(u, a, &d->row[i], p + i * k);
    free(p);
    return rc;
}

int verb_predict(const struct args *a, struct err *e) {
    struct user u;
    struct input in;
    int workers;
    if (!args_get(a, "text") == !args_get(a, "file"))
        return err_set(e, ERR_USAGE, "petri predict needs --text or --file");
    int rc = verb_workers(a, &workers, e);
    if (!rc) rc = user_open(&u, a, e);
    if (rc) return rc;
    rc = input_open(&in, a, u.run ? u.config.text_column : NULL, e);
    if (!rc) {
        rc = predict_rows(&u, a, &in.data, workers, e);
        input_release(&in);
    }
    user_release(&u);
    return rc;
}

/* ---- export ---- */

int export_hf_quiet(struct store *s, int64_t run, const char *folder, double *worst, struct err *e) {
    enum { PROBE = 20 };
    struct user u = { 0 };
    *worst = NAN;
    int rc = user_open_run(&u, s, run, e);
    if (!rc) {
        /* a few training rows show that the folder computes what the run does */
        struct task_source source = jobs_source(&u.config);
        struct task t;
        struct err ignored = ERR_INIT;
        bool probe = !task_open(&t, &source, &ignored);
        size_t rows = probe ? t.train.rows : 0;
        if (rows > PROBE) t.train.rows = PROBE;
        bool encoded = probe && !dataset_encode(&t.train, u.model->tokenizer,
                                                (size_t)predictor_max_len(u.predictor), 0,
                                                u.model->arch.vocabulary, &ignored);
        rc = predictor_export(u.predictor, folder, encoded ? &t.train : NULL, worst, e);
        if (!encoded) *worst = NAN;
        if (probe) {
            t.train.rows = rows;
            task_release(&t);
        }
    }
    user_release(&u);
    return rc;
}

int export_hf(struct store *s, int64_t run, const char *folder, bool json, struct err *e) {
    double worst;
    int rc = export_hf_quiet(s, run, folder, &worst, e);
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
