/* petri eval: a run or a model evaluated on labeled examples, or on source and target texts. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/verbs/open.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/run/head.h"
#include "core/train/run/score.h"

/* Opens the examples: --file, --task, or the validation set of the run. */
static int eval_task(const struct opened *o, const struct args *a, struct task *t, struct err *e) {
    struct task_source s = verb_source(a), own = config_source(&o->config, NULL);
    if (o->several) s.where = NULL; /* --task is a task of the run */
    s.dev = a->file;
    if (s.dev && s.where) return err_set(e, ERR_USAGE, "--task: cannot be combined with --file");
    if (!s.dev && !s.where) {
        if (!o->run) return err_set(e, ERR_USAGE, "petri eval: requires --task or --file with --model");
        if (!config_has_dev(&o->config))
            return err_set(e, ERR_USAGE, "run %lld: has no validation set; use --task or --file",
                           (long long)o->run);
        s.where = own.where;
        s.train = own.train;
        s.dev = own.dev;
        s.format = own.format;
        s.split = own.split;
        s.split_validation = own.split_validation;
        s.split_seed = own.split_seed;
        s.official_dev = own.official_dev;
    }
    s.no_train = true;
    if (o->run) {
        if (!s.text) s.text = own.text;
        if (!s.text_b) s.text_b = own.text_b;
        if (!s.label) s.label = own.label;
        if (!s.source) s.source = own.source;
        if (!s.target) s.target = own.target;
        if (!s.positive) s.positive = own.positive;
        if (s.header == DATA_HEADER_AUTO) s.header = own.header;
        if (!s.delimiter) s.delimiter = own.delimiter;
        if (!s.unlabeled) s.unlabeled = own.unlabeled;
    }
    bool language = o->model->arch.causal && predictor_writes(o->predictor);
    s.metric = a->metric;
    if (!s.metric && language) s.metric = o->run ? o->config.metric : metric_name(METRIC_LOSS);
    s.names = o->names ? o->name : NULL;
    s.name_count = o->names;
    s.names_from = o->run ? "the run" : "the model's id2label";
    if (predictor_is_regression(o->predictor)) s.kind = DATA_KIND_REGRESSION;
    int rc = task_open(t, &s, e);
    if (!rc && o->run && (!a->task || o->several) &&
        o->config.task) { /* the name at the start of a text form */
        free(t->name);
        t->name = xstrdup(o->config.task);
    }
    return rc;
}

static void verb_eval_add_value(struct buf *b, const char *key, struct metric_value v) {
    json_member_measured(b, key, v.defined ? v.value : NAN);
}

static void eval_json(const struct opened *o, const struct task *t, const struct dataset *d,
                      const struct metrics *m, const struct metric_value *tokens, const char *split,
                      size_t wrong) {
    struct buf b = BUF_INIT;
    json_put(&b, "{run:%1jd,model:%s,file:%s,split:%s,rows:%zu,gold:%zu,cut_rows:%zu,", o->run,
             o->model->name, d->path, split, m->examples, m->labeled, d->report.cut_examples);
    if (d->trained) json_put(&b, "targets:%zu,", d->target_start[d->examples]);
    json_open(&b, "metrics", '{');
    for (int i = 0; i < METRIC_COUNT; i++) verb_eval_add_value(&b, metric_name((enum metric_id)i),
                                                               m->value[i]);
    verb_eval_add_value(&b, "majority", m->majority);
    if (tokens) verb_eval_add_value(&b, "token_accuracy", *tokens);
    if (d->trained) verb_eval_add_value(&b, "perplexity", text_perplexity(m));
    buf_putc(&b, '}');
    if (tokens && t->label_kind != DATA_TEXT) json_member_int(&b, "invalid", m->invalid);
    json_open(&b, "undefined", '{');
    for (int i = 0; i < METRIC_COUNT; i++)
        if (!m->value[i].defined) json_member_string(&b, metric_name((enum metric_id)i), m->value[i].why);
    json_put(&b, "},metric:%s,constant:%i,none_valid:%i,as_majority:%i,wrong:%zu", metric_name(t->metric),
             m->constant, m->examples && m->invalid == m->examples, m->as_majority, wrong);
    if (m->classes) {
        json_member_strings(&b, "classes", t->class_name, m->classes);
        json_put(&b, "positive:%s,f1:{", m->positive >= 0 ? t->class_name[m->positive] : NULL);
        for (int i = 0; i < m->classes; i++) verb_eval_add_value(&b, t->class_name[i], m->f1[i]);
        json_put(&b, "},confusion:[");
        for (int g = 0; g < m->classes; g++) {
            json_open(&b, NULL, '[');
            for (int p = 0; p < m->classes; p++)
                json_member_int(&b, NULL,
                                (long long)m->confusion[(size_t)g * (size_t)m->classes + (size_t)p]);
            buf_putc(&b, ']');
        }
        buf_putc(&b, ']');
    }
    buf_putc(&b, '}');
    out_line(&b);
}

static void print_confusion(const struct task *t, const struct metrics *m) {
    int side = m->classes + 1, n = 0;
    char **cell = xcalloc((size_t)(side * side), sizeof *cell), *align = xcalloc((size_t)side + 1, 1);
    struct buf b = BUF_INIT;
    memset(align, 'r', (size_t)side);
    align[0] = 'l';
    for (int i = 0; i < side * side; i++) {
        int label = i / side - 1, predicted = i % side - 1, name = label < 0 ? predicted : label;
        if (!i) cell[n++] = xstrdup("label \\ predicted");
        else if (label < 0 || predicted < 0)
            cell[n++] = text_visible(t->class_name[name], strlen(t->class_name[name]));
        else cell[n++] = xprintf("%zu", m->confusion[label * m->classes + predicted]);
    }
    report_cells(REPORT_TABLE, cell, side, side, align, &b);
    fputs(buf_text(&b), stdout);
    buf_release(&b);
    while (n) free(cell[--n]);
    free(cell), free(align);
}

static void eval_text(const struct task *t, const struct dataset *d, const struct metrics *m,
                      const struct metric_value *tokens, const char *split) {
    printf("%s, %zu example%s of ", split, m->examples, m->examples == 1 ? "" : "s");
    out_text(d->path);
    putchar('\n');
    if (!m->labeled) puts("no labels: nothing to evaluate; print the predictions with `petri predict`");
    for (int i = 0; m->labeled && i < METRIC_COUNT; i++) {
        struct metric_value v = m->value[i];
        if (i == METRIC_F1 && m->positive >= 0 && v.defined) {
            printf("  %-10s %.6f  for the class ", metric_name((enum metric_id)i), v.value);
            out_text(t->class_name[m->positive]);
            putchar('\n');
        } else if (v.defined) {
            printf("  %-10s %.6f\n", metric_name((enum metric_id)i), v.value);
        } else if (metrics_have(m, (enum metric_id)i, t->label_kind)) {
            printf("  %-10s undefined (%s)\n", metric_name((enum metric_id)i), v.why);
        }
    }
    if (m->majority.defined)
        printf("  %-10s %.6f  accuracy of the majority class\n", "majority", m->majority.value);
    struct metric_value perplexity = text_perplexity(m);
    if (d->trained && perplexity.defined) printf("  %-10s %.4f\n", "perplexity", perplexity.value);
    if (tokens && tokens->defined)
        printf("  %-10s %.6f  accuracy of the target tokens\n", "tokens", tokens->value);
    if (tokens && t->label_kind != DATA_TEXT)
        printf("  %-10s %zu of %zu outputs, counted as errors\n", "invalid", m->invalid, m->examples);
    if (m->constant) puts("  all predictions are equal");
    if (m->examples && m->invalid == m->examples) puts("  no valid output");
    if (!m->classes || m->classes > 20) return;
    print_confusion(t, m);
}

/* Appends a TSV field, with control characters made visible. */
static void verb_eval_add_field(struct buf *b, const char *s, size_t n) {
    char *shown = text_visible(s, n);
    buf_puts(b, shown);
    free(shown);
}

/* The misclassified examples of all validation sets; with more than one, each line begins with its name. */
struct wrong {
    const char *split; /* of the next examples; NULL with a single one */
    struct buf tsv;
};

static void begin_line(struct wrong *w, const char *first, size_t line) {
    if (w->split) {
        verb_eval_add_field(&w->tsv, first ? first : w->split, strlen(first ? first : w->split));
        buf_putc(&w->tsv, '\t');
    }
    if (first) buf_puts(&w->tsv, "line");
    else buf_printf(&w->tsv, "%zu", line);
    buf_putc(&w->tsv, '\t');
}

static size_t wrong_rows(const struct opened *o, const struct dataset *d, const double *probability,
                         struct wrong *w) {
    struct buf *b = &w->tsv;
    size_t wrong = 0, k = (size_t)predictor_classes(o->predictor);
    if (!b->size) {
        begin_line(w, "split", 0);
        buf_puts(b, "gold\tpredicted");
        for (size_t i = 0; i < k; i++) {
            buf_puts(b, "\tp(");
            verb_eval_add_field(b, o->name[i], strlen(o->name[i]));
            buf_putc(b, ')');
        }
        buf_puts(b, d->pair ? "\ttext\ttext_b\n" : "\ttext\n");
    }
    for (size_t r = 0; r < d->examples; r++) {
        const struct example *row = &d->example[r];
        const double *p = probability + r * k;
        int best = argmax(p, (int)k);
        if (!row->labeled || row->label == best) continue;
        wrong++;
        begin_line(w, NULL, row->line);
        verb_eval_add_field(b, o->name[row->label], strlen(o->name[row->label]));
        buf_putc(b, '\t');
        verb_eval_add_field(b, o->name[best], strlen(o->name[best]));
        for (size_t i = 0; i < k; i++) buf_printf(b, "\t%.6f", p[i]);
        buf_putc(b, '\t');
        verb_eval_add_field(b, row->a, row->a_size);
        if (d->pair) {
            buf_putc(b, '\t');
            verb_eval_add_field(b, row->b, row->b_size);
        }
        buf_putc(b, '\n');
    }
    return wrong;
}

/* Appends the examples whose generated text differs from the reference. */
static size_t wrong_texts(const struct task *t, const struct dataset *d, const struct written *texts,
                          struct wrong *w) {
    struct buf *b = &w->tsv;
    size_t wrong = 0;
    if (!b->size) {
        begin_line(w, "split", 0);
        buf_puts(b, "wanted\tgiven\tsource\n");
    }
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *row = &d->example[i];
        if (!row->target_text) continue;
        bool right = row->target_size == texts->size[i] &&
                     !memcmp(row->target_text, texts->text[i], row->target_size);
        if (t->label_kind == DATA_CLASSES)
            right = text_parse(t, texts->text[i], texts->size[i]).label == row->label;
        if (right) continue;
        wrong++;
        begin_line(w, NULL, row->line);
        verb_eval_add_field(b, row->target_text, row->target_size);
        buf_putc(b, '\t');
        verb_eval_add_field(b, texts->text[i], texts->size[i]);
        buf_putc(b, '\t');
        verb_eval_add_field(b, row->a, row->a_size);
        buf_putc(b, '\n');
    }
    return wrong;
}

/* Checks the file of --wrong before the evaluation. */
static int guard_wrong(const struct opened *o, const struct args *a, const struct task *t,
                       struct outfile_guard *g, struct err *e) {
    const char *path = a->eval.wrong;
    *g = (struct outfile_guard){ 0 };
    if (!path) return 0;
    if (!o->names && !predictor_writes(o->predictor))
        return err_set(e, ERR_USAGE, "--wrong: requires classes; the model predicts scores");
    if (predictor_writes(o->predictor) && !text_generates(o->model, t->metric))
        return err_set(e, ERR_USAGE, "--wrong: requires generated texts; add --metric exact");
    if (!strcmp(path, "-")) return 0;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    outfile_guard_init(g, database, a->overwrite);
    free(database);
    if (o->run) outfile_guard_run(g, o->whole.tasks ? &o->whole : &o->config);
    outfile_guard_reads(g, o->model->folder);
    for (int i = 0; i < t->devs; i++) outfile_guard_reads(g, t->dev[i].path);
    if (t->has_test) outfile_guard_reads(g, t->test.path);
    return outfile_check(g, path, e);
}

static int eval_texts(const struct opened *o, const struct args *a, struct task *t, int i, struct crew *crew,
                      struct wrong *w, struct err *e) {
    struct dataset *d = &t->dev[i];
    struct metrics m;
    struct metric_value tokens;
    struct written texts;
    int rc = predictor_evaluate_texts(o->predictor, t, i, (int)a->eval.beams, crew, &texts, &m, &tokens, e);
    if (rc) return rc;
    size_t wrong = texts.examples ? wrong_texts(t, d, &texts, w) : 0;
    if (a->json) eval_json(o, t, d, &m, &tokens, t->dev_name[i], wrong);
    else eval_text(t, d, &m, &tokens, t->dev_name[i]);
    metrics_release(&m);
    written_release(&texts);
    return 0;
}

static int eval_split(const struct opened *o, const struct args *a, struct task *t, int i, struct crew *crew,
                      struct wrong *w, struct err *e) {
    struct dataset *d = &t->dev[i];
    size_t k = (size_t)predictor_classes(o->predictor);
    double *probability = mem_try(d->examples * k, sizeof *probability);
    if (!probability)
        return err_set(e, ERR_SYSTEM, "out of memory for predictions: %zu examples × %zu outputs",
                       d->examples, k);
    struct metrics m;
    int rc = predictor_evaluate(o->predictor, d, crew, t->positive, probability, NULL, &m, e);
    if (!rc) {
        size_t wrong = o->names ? wrong_rows(o, d, probability, w) : 0;
        if (a->json) eval_json(o, t, d, &m, NULL, t->dev_name[i], wrong);
        else eval_text(t, d, &m, NULL, t->dev_name[i]);
        metrics_release(&m);
    }
    free(probability);
    return rc;
}

/* Evaluates all validation sets, then writes the misclassified examples of all. */
static int eval_all(const struct opened *o, const struct args *a, struct task *t, struct crew *crew,
                    const struct outfile_guard *g, struct err *e) {
    struct wrong w = { .tsv = BUF_INIT };
    struct buf report = BUF_INIT;
    int rc = 0;
    task_report(t, &report);
    out_report(buf_text(&report));
    buf_release(&report);
    bool texts = predictor_writes(o->predictor);
    for (int i = 0; !rc && i < t->devs; i++) {
        if (t->devs > 1) w.split = t->dev_name[i];
        rc = (texts ? eval_texts : eval_split)(o, a, t, i, crew, &w, e);
    }
    const char *path = a->eval.wrong;
    if (!rc && path && !strcmp(path, "-")) fputs(buf_text(&w.tsv), stdout);
    else if (!rc && path) rc = outfile_write(g, path, buf_text(&w.tsv), w.tsv.size, e);
    buf_release(&w.tsv);
    return rc;
}

int verb_eval(const struct args *a, struct err *e) {
    struct opened o;
    struct task t;
    struct crew *crew;
    int64_t max_len;
    verb_crew(a, &crew);
    int rc = verb_open(&o, a, e);
    if (!rc) {
        rc = verb_max_len(&o, a, &max_len, e);
        if (!rc && predictor_is_multilabel(o.predictor))
            rc = err_set(e, ERR_INPUT,
                         "%s: cannot be evaluated: its head %s, but the metrics require one label per "
                         "example; print the probabilities with `petri predict`",
                         o.model->folder, head_other(&o.model->arch, o.names));
        if (!rc && !(rc = eval_task(&o, a, &t, e))) {
            struct outfile_guard g;
            rc = guard_wrong(&o, a, &t, &g, e);
            if (a->chat_template) predictor_set_template(o.predictor, a->chat_template);
            if (!rc) rc = predictor_prepare_task(o.predictor, &t, (int)max_len, e);
            if (!rc) rc = eval_all(&o, a, &t, crew, &g, e);
            outfile_guard_release(&g);
            task_release(&t);
        }
        opened_release(&o);
    }
    crew_free(crew);
    return rc;
}

