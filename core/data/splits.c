#include "core/data/splits.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/sample.h"

/* Decisions on the training set apply to the other splits. */
static void splits_follow(struct dataset_options *o, const struct dataset *train) {
    o->guess_texts = false;
    if (train->kind == DATA_MASKED) return;
    if (train->kind == DATA_TEXT) {
        o->text_a = train->field[0];
        o->target = train->target_field;
        o->shape = train->shape;
        return;
    }
    o->kind = train->kind == DATA_CLASSES ? DATA_KIND_CLASSES : DATA_KIND_REGRESSION;
    if (train->kind != DATA_CLASSES || o->names) return;
    o->names = (const char *const *)train->class_name;
    o->name_count = train->classes;
    o->names_from = "the training set";
}

/* Samples the --limit of the training examples, before other splits are compared with them. */
static int limit(struct task *t, const struct task_source *s, struct err *e) {
    struct dataset *d = &t->train;
    size_t all = d->examples;
    if (!(s->limit > 0) || s->no_train) return 0;
    double n = s->limit < 1 ? floor(s->limit * (double)all + 0.5) : s->limit;
    if (n < 1)
        return err_set(e, ERR_USAGE,
                       "--limit %.10g%%: selects none of the %zu examples of %s; use a larger value",
                       100 * s->limit, all, d->path);
    bool *drawn = xcalloc(all + 1, sizeof *drawn);
    if (n < (double)all) {
        sample_examples(all, (size_t)n, s->limit_seed, "limit", drawn);
        dataset_keep_chosen(d, drawn, true);
    }
    free(drawn);
    text_line(&d->report.notes, "--limit: sampled %zu of the %zu examples at random (seed %llu)", d->examples,
              all, (unsigned long long)s->limit_seed);
    return 0;
}

static struct dataset *splits_add_dev(struct task *t, const char *name) {
    t->dev_name[t->devs] = xstrdup(name);
    return &t->dev[t->devs++];
}

/* Reads a file again whose examples are split. */
static int read_again(struct dataset *d, const struct dataset_options *o, size_t rows, struct err *e) {
    if (dataset_read(d, o, e)) return e->code;
    return d->examples == rows ? 0 : err_set(e, ERR_INPUT, "%s: changed while it was read; try "
                                                           "again", o->path);
}

/* Moves the held-out training examples to the validation set. */
static int hold_out(struct task *t, const struct dataset_options *o, const bool *held, struct err *e) {
    struct dataset *dev = splits_add_dev(t, "dev");
    if (read_again(dev, o, t->train.examples, e)) return e->code;
    dataset_keep_chosen(dev, held, true);
    dataset_keep_chosen(&t->train, held, false);
    return 0;
}

static int split_train(struct task *t, const struct task_source *s, const struct dataset_options *o,
                       struct err *e) {
    size_t all = t->train.examples;
    bool *held = xcalloc(all + 1, sizeof *held);
    size_t n = dataset_hold_out(&t->train, s->split, s->split_seed, held);
    int rc = n == 0 || n == all ? err_set(e, ERR_USAGE, "--split %.10g%%: holds out %zu of the %zu "
                                                        "examples of %s; both parts need examples",
                                          100 * s->split, n, all, t->train.path)
                                : hold_out(t, o, held, e);
    free(held);
    if (!rc)
        text_line(&t->dev[0].report.notes,
                  "%zu of the %zu training examples, held out by --split %.10g%% (seed %llu)", n, all,
                  100 * s->split, (unsigned long long)s->split_seed);
    return rc;
}

/* A large task: its validation set becomes the test set, and some training examples become the validation
 * set. */
static int hold_some(struct task *t, const struct task_files *p, const struct task_source *s,
                     struct dataset_options *o, struct err *e) {
    size_t all = t->train.examples;
    bool *held = xcalloc(all + 1, sizeof *held);
    sample_examples(all, TASK_HELD, s->split_seed, "validation", held);
    int rc = hold_out(t, o, held, e);
    free(held);
    o->path = p->dev[0];
    o->need_labels = false;
    if (!rc) rc = dataset_read(&t->test, o, e);
    if (!rc)
        text_line(&t->dev[0].report.notes,
                  "%d of the %zu training examples, held out by --split-validation (seed %llu); %s is the "
                  "test set",
                  TASK_HELD, all, (unsigned long long)s->split_seed, p->dev_name[0]);
    return rc;
}

/* A small task: one half of its validation set remains, the other becomes the test set. */
static int halve(struct task *t, const struct task_files *p, const struct task_source *s,
                 struct dataset_options *o, struct err *e) {
    struct dataset *dev = splits_add_dev(t, "dev");
    o->path = p->dev[0];
    o->need_labels = false;
    if (dataset_read(dev, o, e)) return e->code;
    size_t all = dev->examples;
    if (all < 2)
        return err_set(e, ERR_INPUT, "--split-validation: %s has only one example; at least two are required",
                       dev->path);
    int rc = read_again(&t->test, o, all, e);
    bool *first = xcalloc(all + 1, sizeof *first);
    sample_examples(all, all / 2, s->split_seed, "validation", first);
    if (!rc) {
        dataset_keep_chosen(dev, first, true);
        dataset_keep_chosen(&t->test, first, false);
        text_line(&dev->report.notes,
                  "%zu of the %zu examples, sampled by --split-validation (seed %llu); the others are the "
                  "test set",
                  dev->examples, all, (unsigned long long)s->split_seed);
    }
    free(first);
    return rc;
}

static int take_both(struct task *t, const struct task_files *p, struct dataset_options *o, struct err *e) {
    o->need_labels = false;
    o->path = p->dev[1];
    if (dataset_read(splits_add_dev(t, p->dev_name[1]), o, e)) return e->code;
    o->path = p->dev[0];
    if (dataset_read(&t->test, o, e)) return e->code;
    text_line(&t->dev[0].report.notes, "--split-validation: %s is the test set", p->dev_name[0]);
    return 0;
}

static int split_validation(struct task *t, const struct task_files *p, const struct task_source *s,
                            struct dataset_options *o, struct err *e) {
    t->has_test = true;
    int rc = p->devs > 1                  ? take_both(t, p, o, e)
             : t->train.examples < TASK_LARGE ? halve(t, p, s, o, e)
                                          : hold_some(t, p, s, o, e);
    if (!rc)
        text_line(&t->test.report.notes,
                  "the test set has %zu example%s and is evaluated once, at the end of a run",
                  t->test.examples, t->test.examples == 1 ? "" : "s");
    return rc;
}

static int read_devs(struct task *t, const struct task_files *p, struct dataset_options *o, struct err *e) {
    o->need_labels = false;
    for (int i = 0; i < p->devs; i++) {
        struct dataset *dev = splits_add_dev(t, p->dev_name[i]);
        o->path = p->dev[i];
        if (dataset_read(dev, o, e)) return e->code;
        if (i == 0 && !t->has_train) splits_follow(o, dev);
        if (t->has_train && !strcmp(dev->sha256, t->train.sha256))
            text_line(&t->report, "warning: %s is the same file as the training set", t->dev_name[i]);
    }
    return 0;
}

int splits_read(struct task *t, const struct task_files *p, const struct task_source *s,
                const struct dataset_options *how, struct err *e) {
    struct dataset_options o = *how;
    int rc = 0;
    if (p->train) {
        o.path = p->train;
        o.need_labels = true;
        rc = dataset_read(&t->train, &o, e);
        if (rc) return rc;
        t->has_train = true;
        splits_follow(&o, &t->train);
    }
    if (s->split > 0) rc = split_train(t, s, &o, e);
    else if (s->split_validation) rc = split_validation(t, p, s, &o, e);
    else rc = read_devs(t, p, &o, e);
    if (!rc && t->has_train) rc = limit(t, s, e);
    if (rc) return rc;
    for (int i = 0; i < t->devs; i++) {
        dataset_draw(&t->dev[i], s->dev_rows);
        if (t->has_train) dataset_compare(&t->dev[i], &t->train);
    }
    if (t->has_test && t->has_train) dataset_compare(&t->test, &t->train);
    if (t->has_train && s->no_train) {
        dataset_release(&t->train);
        t->has_train = false;
    }
    return 0;
}
