#include "core/data/task.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"
#include "core/data/layouts.h"
#include "core/data/task_files.h"
#include "core/data/splits.h"

static struct dataset_options task_options(const struct task_files *p, const struct task_source *s) {
    struct dataset_options o = { .format = s->format, .text_a = s->text, .text_b = s->text_b,
                                .label = s->label ? s->label : "label", .kind = s->kind,
                                .header = s->header, .delimiter = s->delimiter,
                                .unlabeled = s->unlabeled,
                                .names = s->names, .name_count = s->name_count,
                                .names_from = s->names_from ? s->names_from : "the task",
                                .names_or_numbers = s->names != NULL };
    const struct layout *l = p->layout;
    o.guess_texts = !l && !s->text && !s->text_b && !s->label && !s->names &&
                    s->kind == DATA_KIND_AUTO;
    if (s->source) {
        o.text_a = s->source;
        o.target = s->target;
    }
    if (!l) return o;
    if (l->no_header) o.header = DATA_HEADER_NO;
    o.headless = l->headless[0] ? l->headless : NULL;
    o.text_option = "";
    o.text_a = l->text_a;
    o.text_b = l->text_b;
    o.text_c = l->text_c;
    o.label = l->label;
    o.other = l->other;
    o.shape = l->shape;
    o.alias = l->alias;
    o.alias_of = l->alias_of;
    o.missing_labels = l->superglue;
    o.kind = l->kind;
    if (l->kind == DATA_KIND_REGRESSION) {
        o.names = NULL;
        o.names_or_numbers = false;
    } else if (!o.names) {
        o.names = l->class_name;
        o.name_count = l->classes;
        o.names_from = l->name;
        o.names_or_numbers = l->superglue;
    } else {
        o.order = l->class_name;
        o.order_count = l->classes;
    }
    return o;
}

static int find_positive(struct task *t, const struct task_files *p, const struct task_source *s,
                         struct err *e) {
    const char *name = s->positive ? s->positive : p->layout ? p->layout->positive : NULL;
    t->positive = t->kind == DATA_CLASSES && t->classes == 2 ? 1 : -1;
    for (int i = 0; name && i < t->classes; i++)
        if (!strcmp(t->class_name[i], name)) {
            t->positive = i;
            return 0;
        }
    if (!s->positive) return 0;
    char *known = names_text(t->class_name, t->classes, 8);
    err_set(e, ERR_USAGE, "%s: --positive %s: unknown class; the classes are %s", t->name, s->positive,
            known);
    free(known);
    return e->code;
}

const char *task_split(const struct task *t, int i) { return t->devs == 1 ? "dev" : t->dev_name[i]; }

const char *task_kind_name(enum data_kind kind) {
    static const char *const name[] = { "classes", "scores", "target texts", "masked words" };
    return name[kind];
}

static int task_find_metric(struct task *t, const struct task_files *p, const struct task_source *s,
                            struct err *e) {
    static const enum metric_id usual[] = { METRIC_ACCURACY, METRIC_PEARSON, METRIC_ROUGEL, METRIC_LOSS };
    t->metric = p->layout ? p->layout->metric : usual[t->kind];
    if (!s->metric) return 0;
    int id = metric_find(s->metric);
    if (id < 0)
        return err_set(e, ERR_USAGE,
                       "unknown metric %s; must be %s", s->metric, metric_names);
    if (!metric_fits((enum metric_id)id, t->kind))
        return err_set(e, ERR_USAGE, "metric %s is not defined for %s", metric_name((enum metric_id)id),
                       task_kind_name(t->kind));
    if (id == METRIC_F1 && t->positive < 0)
        return err_set(e, ERR_USAGE,
                       "f1 needs a positive class; set one of the %d classes with --positive, or use "
                       "f1_macro",
                       t->classes);
    t->metric = (enum metric_id)id;
    return 0;
}

static int task_settle(struct task *t, const struct task_files *p, const struct task_source *s,
                       struct err *e) {
    const struct dataset *first = t->has_train ? &t->train : &t->dev[0];
    t->kind = t->label_kind = first->kind;
    t->layout = p->layout;
    t->pair = first->pair;
    t->classes = first->classes;
    t->class_name = xcalloc((size_t)t->classes + 1, sizeof *t->class_name);
    for (int i = 0; i < t->classes; i++) t->class_name[i] = xstrdup(first->class_name[i]);
    if (find_positive(t, p, s, e) || task_find_metric(t, p, s, e)) return e->code;
    text_line(&t->report, "%s: %s, %s, primary metric %s", t->name,
              t->pair ? "pairs of texts" : "single texts", task_kind_name(t->kind),
              metric_name(t->metric));
    if (t->layout && strcmp(t->layout->name, t->name))
        text_line(&t->report, "the keys of the examples match %s, whose layout is used", t->layout->name);
    if (t->positive >= 0) text_line(&t->report, "positive class: %s", t->class_name[t->positive]);
    if (t->has_train && !t->devs)
        text_line(&t->report,
                  "warning: no validation set, so runs are not evaluated during training; --split 10%% "
                  "holds out a part of the training set");
    if (t->has_train && t->kind == DATA_CLASSES && t->classes < 2)
        text_line(&t->report, "warning: the training set has only one class");
    return 0;
}

void task_take_metric(struct task *t, enum metric_id metric) {
    char *was = xprintf("primary metric %s", metric_name(t->metric)), *all = buf_take(&t->report);
    char *at = strstr(all, was);
    buf_add(&t->report, all, at ? (size_t)(at - all) : 0);
    if (at) buf_printf(&t->report, "primary metric %s", metric_name(metric));
    buf_puts(&t->report, at ? at + strlen(was) : all);
    t->metric = metric;
    free(was);
    free(all);
}

int task_open(struct task *t, const struct task_source *s, struct err *e) {
    struct err own = ERR_INIT;
    if (!e) e = &own;
    memset(t, 0, sizeof *t);
    struct task_files p = { 0 };
    if (!s->source != !s->target)
        return err_set(e, ERR_USAGE, "--source and --target: must be used together");
    if (s->source && (s->text || s->text_b || s->label))
        return err_set(e, ERR_USAGE,
                       "--source and --target: cannot be combined with --text, --text-b or --label");
    if (s->split > 0 && s->split_validation)
        return err_set(e, ERR_USAGE, "--split and --split-validation: mutually exclusive; use one");
    int rc = task_files_find(&p, s, &t->name, e);
    if (!rc) {
        const struct dataset_options o = task_options(&p, s);
        rc = splits_read(t, &p, s, &o, e);
    }
    if (!rc) rc = task_settle(t, &p, s, e);
    task_files_release(&p);
    if (rc) task_release(t);
    return rc;
}

int task_examples_by_keys(struct dataset *d, const char *path, struct err *e) {
    const struct task_source s = { .dev = path };
    struct task_files p;
    char *name = NULL;
    memset(d, 0, sizeof *d);
    int rc = task_files_find(&p, &s, &name, e);
    if (!rc && p.layout) {
        struct dataset_options o = task_options(&p, &s);
        o.path = path;
        rc = dataset_read(d, &o, e);
        if (!rc) rc = 1;
    }
    task_files_release(&p);
    free(name);
    return rc;
}

void task_release(struct task *t) {
    for (int i = 0; i < t->classes && t->class_name; i++) free(t->class_name[i]);
    free(t->class_name);
    free(t->name);
    dataset_release(&t->train);
    dataset_release(&t->test);
    for (int i = 0; i < TASK_DEVS; i++) {
        dataset_release(&t->dev[i]);
        free(t->dev_name[i]);
    }
    buf_release(&t->report);
    memset(t, 0, sizeof *t);
}

int task_encode(struct task *t, const struct tokenizer *k, size_t max_len, size_t max_target,
                int embedding_rows, struct err *e) {
    int rc = 0;
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    int n = task_splits(t, split, name);
    for (int i = 0; !rc && i < n; i++)
        rc = dataset_encode(split[i], k, max_len, max_target, embedding_rows, e);
    return rc;
}

int task_splits(const struct task *t, struct dataset *split[TASK_SPLITS], const char *name[TASK_SPLITS]) {
    struct task *of = (struct task *)(uintptr_t)t;
    int n = 0;
    if (t->has_train) {
        name[n] = "train";
        split[n++] = &of->train;
    }
    for (int i = 0; i < t->devs; i++) {
        name[n] = t->dev_name[i];
        split[n++] = &of->dev[i];
    }
    if (t->has_test) {
        name[n] = "test";
        split[n++] = &of->test;
    }
    return n;
}

static size_t split_bytes(const struct dataset *d) {
    size_t bytes = d->examples * sizeof *d->example;
    for (size_t i = 0; d->example && i < d->examples; i++)
        bytes += d->example[i].a_size + d->example[i].b_size + d->example[i].target_size;
    if (d->start) bytes += d->start[d->examples] * (sizeof *d->ids + sizeof *d->types);
    if (d->target_start) bytes += d->target_start[d->examples] * sizeof *d->target_ids;
    return bytes;
}

size_t task_bytes(const struct task *t) {
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    size_t bytes = 0;
    int n = task_splits(t, split, name);
    for (int i = 0; i < n; i++) bytes += split_bytes(split[i]);
    return bytes;
}

size_t task_names(const char *assets, char ***names) {
    char *folder = assets ? file_join(assets, "tasks") : NULL, **list;
    size_t n = folder ? assets_folders(folder, &list) : assets_names("tasks", NULL, &list), kept = 0;
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("tasks/%s", list[i]),
             *path = folder ? file_join(folder, list[i]) : assets_find(inside);
        char *train = path ? task_files_split(path, "train") : NULL;
        if (train) list[kept++] = list[i];
        else free(list[i]);
        free(train);
        free(path);
        free(inside);
    }
    free(folder);
    *names = list;
    return kept;
}

void task_report(const struct task *t, struct buf *out) {
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    int n = task_splits(t, split, name);
    buf_puts(out, buf_text(&t->report));
    for (int i = 0; i < n; i++) {
        buf_printf(out, "\n%s: ", name[i]);
        report_text(split[i], out);
    }
}
