#include "core/data/text_form.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"
#include "core/data/layouts.h"
#include "core/text/unicode.h"

/* Names of a task and its texts. */
struct field_names {
    const char *task; /* NULL: no prefix */
    const char *field[DATASET_FIELDS];
};

/* The names of a known task, otherwise those of the columns; a position ("#2") is not a name. */
static struct field_names names_of(const struct task *t, const struct dataset *d,
                             const struct text_form *f) {
    static const char *const plain[2][DATASET_FIELDS] = { { "sentence" }, { "sentence1", "sentence2" } };
    struct field_names n = { .task = NULL };
    if (f->prefix) n.task = t->layout ? t->layout->prefix : t->name;
    for (int i = 0; i < DATASET_FIELDS; i++) {
        n.field[i] = t->layout ? t->layout->field[i] : d->field[i];
        if (!n.field[i] || *n.field[i] == '#') n.field[i] = plain[d->pair][i];
    }
    return n;
}

static void text_form_add_field(struct buf *b, const char *name, const char *s, size_t n) {
    if (b->size) buf_putc(b, ' ');
    buf_puts(b, name);
    buf_puts(b, ": ");
    buf_add(b, s, n);
}

static void text_form_add_source(struct buf *b, const struct field_names *names,
                                 const struct example *r) {
    buf_clear(b);
    if (names->task) buf_puts(b, names->task);
    text_form_add_field(b, names->field[0], r->a, r->a_size);
    if (r->b) text_form_add_field(b, names->field[1], r->b, r->third ? r->third - 1 : r->b_size);
    if (r->third) text_form_add_field(b, names->field[2], r->b + r->third, r->b_size - r->third);
}

/* The round() of Python and T5 agrees with printf on ties: to even, of the exact binary value. */
static void add_target(struct buf *b, const struct dataset *d, const struct text_form *f,
                       const struct example *r) {
    buf_clear(b);
    if (d->kind == DATA_CLASSES) buf_printf(b, "%d", r->label);
    else buf_printf(b, "%.1f", f->fifths ? rint(r->target * 5) / 5 : r->target);
}

static void dataset_as_text(struct dataset *d, const struct field_names *names,
                            const struct text_form *f) {
    struct buf b = BUF_INIT;
    if (!d->memory) d->memory = xcalloc(1, sizeof *d->memory); /* examples without a file */
    for (size_t i = 0; i < d->examples; i++) {
        struct example *r = &d->example[i];
        text_form_add_source(&b, names, r);
        r->a_size = b.size;
        r->a = memory_copy(d->memory, buf_text(&b), b.size);
        r->b = NULL;
        r->b_size = r->third = 0;
        if (!r->labeled) continue;
        add_target(&b, d, f, r);
        r->target_size = b.size;
        r->target_text = memory_copy(d->memory, buf_text(&b), b.size);
    }
    buf_release(&b);
    d->kind = DATA_TEXT;
    d->pair = false;
}

static void text_form_say(struct task *t, const struct field_names *names, const struct text_form *f) {
    struct buf b = BUF_INIT;
    if (names->task) buf_puts(&b, names->task);
    for (int i = 0; i < DATASET_FIELDS && (!i || (t->pair && names->field[i])); i++)
        text_form_add_field(&b, names->field[i], "…", strlen("…"));
    text_line(&t->report, "input text: \"%s\", %s the task name prepended", buf_text(&b),
              names->task ? "with" : "without");
    for (int i = 0; i < t->classes; i++)
        text_line(&t->report, "  target text \"%d\": class %s", i, t->class_name[i]);
    if (t->kind == DATA_REGRESSION)
        text_line(&t->report, "  target text: the score, rounded to %s and formatted with one decimal",
                  f->fifths ? "the nearest fifth" : "a tenth");
    buf_release(&b);
}

int task_as_text(struct task *t, const struct text_form *f, struct err *e) {
    if (t->kind == DATA_TEXT)
        return err_set(e, ERR_USAGE, "%s: the task already has source and target texts", t->name);
    const struct dataset *first = t->has_train ? &t->train : &t->dev[0];
    struct field_names names = names_of(t, first, f);
    text_form_say(t, &names, f);
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    int n = task_splits(t, split, name);
    for (int i = 0; i < n; i++) dataset_as_text(split[i], &names, f);
    t->kind = DATA_TEXT;
    t->pair = false;
    return 0;
}

static bool digits(const char *s) { return *s && !s[strspn(s, "0123456789")]; }

struct parsed text_parse(const struct task *t, const char *text, size_t n) {
    BUG_IF(t->label_kind == DATA_TEXT);
    bool scores = t->label_kind == DATA_REGRESSION;
    struct parsed p = { .label = -1, .score = scores ? -1 : 0 };
    char word[48];
    unicode_strip(&text, &n);
    if (!n || n >= sizeof word || memchr(text, '\0', n)) return p;
    memcpy(word, text, n);
    word[n] = '\0';
    int64_t number;
    if (scores) {
        double v;
        p.valid = text_to_double(word, &v);
        if (p.valid) p.score = v;
    } else if (digits(word) && text_to_int(word, &number) && number < t->classes) {
        p.label = (int32_t)number;
        p.valid = true;
    }
    return p;
}

static void metrics_of_answers(struct metrics *m, const struct task *t, const struct dataset *d,
                               const struct metric_text *written) {
    size_t n = d->examples;
    int32_t *label = xcalloc(n + 1, sizeof *label), *pred = xcalloc(n + 1, sizeof *pred);
    double *score = xcalloc(n + 1, sizeof *score), *target = xcalloc(n + 1, sizeof *target);
    bool *has = xcalloc(n + 1, sizeof *has);
    size_t invalid = 0;
    for (size_t i = 0; i < n; i++) {
        struct parsed p = text_parse(t, written[i].s, written[i].n);
        pred[i] = p.label;
        score[i] = p.score;
        invalid += !p.valid;
        label[i] = d->example[i].labeled ? d->example[i].label : -1;
        target[i] = d->example[i].target;
        has[i] = d->example[i].labeled;
    }
    if (t->label_kind == DATA_CLASSES)
        metrics_of_classes(m, label, pred, NULL, n, t->classes, t->positive);
    else metrics_of_scores(m, target, has, score, NULL, n);
    m->invalid = invalid;
    free(label);
    free(pred);
    free(score);
    free(target);
    free(has);
}

void text_metrics(struct metrics *m, const struct task *t, const struct dataset *d,
                  const struct metric_text *written) {
    if (t->label_kind != DATA_TEXT) {
        metrics_of_answers(m, t, d, written);
        return;
    }
    struct metric_text *reference = xcalloc(d->examples + 1, sizeof *reference);
    for (size_t i = 0; i < d->examples; i++)
        reference[i] = (struct metric_text){ d->example[i].target_text, d->example[i].target_size };
    metrics_of_texts(m, reference, written, NULL, d->examples);
    free(reference);
}
