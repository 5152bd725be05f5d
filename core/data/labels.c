#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"
#include "core/text/vocab.h"

/* The distinct labels of a split, in order of appearance. */
struct distinct {
    struct vocab vocab;
    size_t *first; /* first example */
    size_t *rows;  /* number of examples */
    size_t room, rows_room;
    int32_t *of;   /* of each example */
};

static const char *known_from(const struct dataset_options *o) {
    return o->names_from ? o->names_from : "the task";
}

static bool labels_whole(const char *s) {
    int64_t v;
    return text_to_int(s, &v);
}

/* A number with a decimal comma, such as "2,6". */
static bool comma_number(const char *s) {
    s += *s == '-' || *s == '+';
    size_t head = strspn(s, "0123456789");
    if (!head || s[head] != ',') return false;
    size_t tail = strspn(s + head + 1, "0123456789");
    return tail && !s[head + 1 + tail];
}

/* Two labels that are equal only because invalid UTF-8 is replaced. */
static bool other_bytes(const struct import *m, size_t i, size_t k) {
    const struct field *a = &m->raw_label[i], *b = &m->raw_label[k];
    return a->n != b->n || memcmp(a->s, b->s, a->n) != 0;
}

static int odd_labels(const struct import *m, size_t i, size_t k, struct err *e) {
    char *shown = text_visible(m->label[i].s, m->label[i].n);
    err_set(e, ERR_INPUT,
            "%s: the labels of lines %zu and %zu differ only in invalid UTF-8 (\"%.60s\"); save the file "
            "as UTF-8",
            m->d->path, m->d->example[i].line, m->d->example[k].line, shown);
    free(shown);
    return e->code;
}

/* A number surrounded by whitespace is read as the number; other labels are unchanged. */
static bool trim_number(struct import *m, size_t i) {
    struct field *l = &m->label[i];
    size_t begin = 0, end = l->n;
    double v;
    label_trim(l->s, &begin, &end);
    if (end - begin == l->n) return false;
    char *bare = memory_copy(m->d->memory, l->s + begin, end - begin);
    if (!text_to_double(bare, &v)) return false;
    *l = m->raw_label[i] = (struct field){ bare, end - begin };
    return true;
}

static int labels_collect(struct import *m, struct distinct *x, struct err *e) {
    struct dataset *d = m->d;
    struct report_lines trimmed = { 0 };
    vocab_init(&x->vocab);
    x->of = xmalloc((d->examples + 1) * sizeof *x->of);
    for (size_t i = 0; i < d->examples; i++) {
        const struct field *l = &m->label[i];
        x->of[i] = -1;
        if (!l->s) continue;
        if (trim_number(m, i)) report_line(&trimmed, d->example[i].line);
        int32_t id = vocab_find(&x->vocab, l->s, l->n);
        if (id < 0) {
            id = (int32_t)x->vocab.count;
            if (vocab_add(&x->vocab, d->path, l->s, l->n, id, e)) return e->code;
            GROW(x->first, x->room, x->vocab.count);
            GROW(x->rows, x->rows_room, x->vocab.count);
            x->first[id] = i;
            x->rows[id] = 0;
        } else if (other_bytes(m, x->first[id], i)) {
            return odd_labels(m, x->first[id], i, e);
        }
        x->of[i] = id;
        x->rows[id]++;
    }
    if (trimmed.examples) {
        struct buf lines = BUF_INIT;
        report_lines_text(&trimmed, &lines);
        text_line(&d->report.notes, "whitespace around %zu numeric label%s is ignored%s", trimmed.examples,
                  trimmed.examples == 1 ? "" : "s", buf_text(&lines));
        buf_release(&lines);
    }
    return 0;
}

static void labels_release(struct distinct *x) {
    vocab_release(&x->vocab);
    free(x->first);
    free(x->rows);
    free(x->of);
}

/* ---- the label that marks unlabeled examples ---- */
static bool among_names(const struct dataset_options *o, const char *s) {
    for (int i = 0; i < o->name_count; i++)
        if (!strcmp(o->names[i], s)) return true;
    return false;
}

/* -1 among labels that are not integers, or next to other negative ones, or with 1 alone. */
static bool minus_is_class(const struct distinct *x) {
    bool one = false, others = false;
    for (size_t i = 0; i < x->vocab.count; i++) {
        const char *s = vocab_text(&x->vocab, (int32_t)i);
        int64_t v;
        if (!strcmp(s, "-1")) continue;
        if (!text_to_int(s, &v) || v < 0) return true;
        one = one || v == 1;
        others = others || v != 1;
    }
    return one && !others;
}

/* Training examples whose label -1 or - is ambiguous. */
static int mark_is_unclear(const struct import *m, const struct distinct *x, int32_t mark, struct err *e) {
    enum { OTHERS = 4 };
    const char *s = vocab_text(&x->vocab, mark);
    struct buf lines = BUF_INIT, others = BUF_INIT;
    struct report_lines at = { 0 };
    size_t named = 0;
    for (size_t i = 0; i < m->d->examples; i++)
        if (x->of[i] == mark) report_line(&at, m->d->example[i].line);
    report_lines_text(&at, &lines);
    for (size_t i = 0; i < x->vocab.count && named <= OTHERS; i++) {
        if ((int32_t)i == mark) continue;
        buf_puts(&others, named ? ", " : "; the other labels are ");
        if (named < OTHERS) label_spell(vocab_text(&x->vocab, (int32_t)i), &others);
        else buf_puts(&others, "…");
        named++;
    }
    err_set(
        e, ERR_INPUT,
        "%s: ambiguous label %s in %zu example%s%s: a class, or a mark for unlabeled examples%s; use --kind "
        "classes to read %s as a class, or --unlabeled %s to ignore these examples",
        m->d->path, s, at.examples, at.examples == 1 ? "" : "s", buf_text(&lines), buf_text(&others), s, s);
    buf_release(&lines);
    buf_release(&others);
    return e->code;
}

/* Sets m->none if the label `mark` marks unlabeled examples: if the known classes do not contain it, or,
 * without training, if the other labels do not make it a class. */
static int find_mark(struct import *m, const struct distinct *x, const char *mark, struct err *e) {
    const struct dataset_options *o = m->o;
    int32_t id = vocab_find(&x->vocab, mark, strlen(mark));
    if (id < 0 || (o->names && among_names(o, mark))) return 0;
    if (!o->names) {
        bool minus = !strcmp(mark, "-1");
        if (o->kind == DATA_KIND_CLASSES || (minus ? minus_is_class(x) : vocab_find(&x->vocab, "+", 1) >= 0))
            return 0;
        if (o->need_labels) return mark_is_unclear(m, x, id, e);
    }
    m->none = mark;
    return 0;
}

/* Sets m->none to the label that marks unlabeled examples, or leaves it NULL: that of --unlabeled, otherwise
 * -1 or - (find_mark). */
static int find_none(struct import *m, const struct distinct *x, struct err *e) {
    const struct dataset_options *o = m->o;
    static const char *const marks[] = { "-1", "-" };
    if (o->unlabeled && vocab_find(&x->vocab, o->unlabeled, strlen(o->unlabeled)) >= 0) {
        m->none = o->unlabeled;
        if (o->names && among_names(o, m->none)) {
            text_line(&m->d->report.notes, "warning: the label %s is one of the classes of %s, so it "
                                           "does not mark unlabeled examples",
                      m->none, known_from(o));
            m->none = NULL;
        }
    }
    for (size_t i = 0; !o->unlabeled && !m->none && i < COUNT_OF(marks); i++)
        if (find_mark(m, x, marks[i], e)) return e->code;
    if (m->none) text_line(&m->d->report.notes, "the label %s marks unlabeled examples", m->none);
    return 0;
}

static int32_t none_id(const struct import *m, const struct distinct *x) {
    return m->none ? vocab_find(&x->vocab, m->none, strlen(m->none)) : -1;
}

/* ---- classes or scores ---- */
/* Reports a label that is not a number among scores, or among labels that are numbers with few exceptions. */
static int odd_cell(const struct import *m, size_t row, const char *more, struct err *e) {
    const struct field *l = &m->label[row];
    struct buf shown = BUF_INIT, mark = BUF_INIT;
    buf_puts(&shown, *more ? "label \"" : "score \"");
    label_spell(l->s, &shown);
    text_shell_word(&mark, l->s);
    if (comma_number(l->s))
        err_set(e, ERR_INPUT,
                "%s: line %zu: the %.60s\" is not a number; use a decimal point instead of a comma (or, "
                "for two labels in a cell, --kind classes, where each combination is a class)",
                m->d->path, m->d->example[row].line, buf_text(&shown));
    else if (m->o->unlabeled)
        err_set(e, ERR_INPUT,
                "%s: line %zu: the %.60s\" is not a finite number%s; correct it, or write %s "
                "(--unlabeled) if the score is missing",
                m->d->path, m->d->example[row].line, buf_text(&shown), more, m->o->unlabeled);
    else
        err_set(
            e, ERR_INPUT,
            "%s: line %zu: the %.60s\" is not a finite number%s; use --unlabeled %.60s to treat such "
            "examples as unlabeled, or --kind classes to read every label as a class",
            m->d->path, m->d->example[row].line, buf_text(&shown), more, buf_text(&mark));
    buf_release(&shown);
    buf_release(&mark);
    return e->code;
}

/* A common spelling of a missing value. */
static bool is_missing(const char *s) {
    static const char *const known[] = { "-", "--", "?", "na", "n/a", "#n/a", "<na>", "nan", "none", "null" };
    char *folded = label_fold(s, false);
    size_t i = 0;
    while (i < COUNT_OF(known) && strcmp(folded, known[i])) i++;
    free(folded);
    return i < COUNT_OF(known);
}

/* Examples by the form of their labels. */
struct looks {
    size_t all, whole, fractions, commas, odd, missing; /* missing: of the odd ones */
    size_t first_odd;                                   /* an example */
};

static struct looks look_at_labels(const struct import *m, const struct distinct *x) {
    struct looks k = { 0 };
    for (size_t i = 0; i < x->vocab.count; i++) {
        const char *s = vocab_text(&x->vocab, (int32_t)i);
        double v;
        if (m->o->unlabeled && !strcmp(s, m->o->unlabeled)) continue;
        k.all += x->rows[i];
        if (comma_number(s)) k.commas += x->rows[i];
        else if (text_to_double(s, &v)) *(v == floor(v) ? &k.whole : &k.fractions) += x->rows[i];
        else {
            if (!k.odd) k.first_odd = x->first[i];
            k.odd += x->rows[i];
            if (is_missing(s)) k.missing += x->rows[i];
        }
    }
    return k;
}

/* Infers the kind of the labels.  ERR_INPUT if all but a few are fractions, or if numbers are mixed with
 * missing values, whose meaning is then unknown. */
static int decide(const struct import *m, const struct distinct *x, enum data_kind *kind, struct err *e) {
    struct import_report *r = &m->d->report;
    *kind = m->o->kind == DATA_KIND_REGRESSION ? DATA_REGRESSION : DATA_CLASSES;
    if (m->o->kind != DATA_KIND_AUTO || m->o->names) return 0;
    struct looks k = look_at_labels(m, x);
    size_t numbers = k.whole + k.fractions + k.commas;
    bool scores = k.fractions || 2 * k.commas > numbers;
    if (k.odd && numbers && (k.odd == k.missing || (scores && 4 * k.odd <= numbers))) {
        char more[96];
        snprintf(more, sizeof more, ", unlike %zu of the %zu labels", numbers, k.all);
        return odd_cell(m, k.first_odd, more, e);
    }
    if (numbers && !k.odd && (k.fractions || k.commas)) {
        *kind = DATA_REGRESSION;
        text_line(
            &r->notes,
            "labels are scores, because all are numbers and some are not integers; --kind classes reads "
            "them as class names");
        return 0;
    }
    text_line(&r->notes, !k.odd && numbers
                             ? "labels are classes, because all are integers; --kind scores reads them as "
                               "scores"
                             : "labels are classes, because some are not numbers");
    if (!k.odd && x->vocab.count > 20)
        text_line(&r->notes,
                  "warning: %zu different integers are used as classes; for regression use --kind scores",
                  x->vocab.count);
    return 0;
}

static int labels_read_scores(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    for (size_t i = 0; i < d->examples; i++) {
        const char *s = m->label[i].s;
        struct example *row = &d->example[i];
        if (!s || (m->none && !strcmp(s, m->none))) continue;
        if (!text_to_double(s, &row->target)) return odd_cell(m, i, "", e);
        row->labeled = true;
    }
    return 0;
}

/* ---- classes ---- */
static int labels_by_bytes(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int labels_by_number(const void *a, const void *b) {
    int64_t x = 0, y = 0;
    text_to_int(*(char *const *)a, &x);
    text_to_int(*(char *const *)b, &y);
    return x != y ? x < y ? -1 : 1 : labels_by_bytes(a, b);
}

static int own_classes(struct import *m, const struct distinct *x, int32_t none, struct err *e) {
    struct dataset *d = m->d;
    size_t n = x->vocab.count;
    d->class_name = xcalloc(n + 1, sizeof *d->class_name);
    bool numbers = true;
    for (size_t i = 0; i < n; i++) {
        const char *s = vocab_text(&x->vocab, (int32_t)i);
        if ((int32_t)i == none) continue;
        if (d->classes == DATASET_CLASSES)
            return err_set(e, ERR_INPUT,
                           "%s: more than %d different labels; check the label column, or use --kind scores",
                           d->path, DATASET_CLASSES);
        numbers = numbers && labels_whole(s);
        d->class_name[d->classes++] = xstrdup(s);
    }
    qsort(d->class_name, (size_t)d->classes, sizeof *d->class_name,
          numbers ? labels_by_number : labels_by_bytes);
    return 0;
}

/* ---- known classes ---- */
static int32_t labels_class_of(const char *const *names, int n, const char *s, bool number) {
    int64_t v;
    int32_t found = -1;
    if (number) return text_to_int(s, &v) && v >= 0 && v < n ? (int32_t)v : -1;
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], s)) continue;
        if (found >= 0) return -1; /* two suffice */
        found = i;
    }
    return found;
}

static bool all_have_one(const char *const *names, int n, bool number, const char *const *label,
                         size_t labels, int32_t *to) {
    size_t i = 0;
    while (i < labels && (to[i] = labels_class_of(names, n, label[i], number)) >= 0) i++;
    return i == labels;
}

static char **fold_all(const char *const *s, size_t n) {
    char **folded = xcalloc(n + 1, sizeof *folded);
    for (size_t i = 0; i < n; i++) folded[i] = label_fold(s[i], false);
    return folded;
}

static void free_all(char **s, size_t n) {
    for (size_t i = 0; i < n; i++) free(s[i]);
    free(s);
}

bool labels_unnamed(const char *const *names, int n) {
    char number[32];
    for (int i = 0; i < n; i++) {
        snprintf(number, sizeof number, "LABEL_%d", i);
        if (strcmp(names[i], number)) return false;
    }
    return true;
}

enum label_match labels_match(const char *const *names, int n, bool numbers, const char *const *label,
                              size_t labels, int32_t *to) {
    if (all_have_one(names, n, false, label, labels, to)) return LABELS_BY_NAME;
    if (numbers && all_have_one(names, n, true, label, labels, to)) return LABELS_BY_NUMBER;
    char **name = fold_all(names, (size_t)n), **folded = fold_all(label, labels);
    bool all = all_have_one((const char *const *)name, n, false, (const char *const *)folded, labels, to);
    free_all(name, (size_t)n);
    free_all(folded, labels);
    if (all) return LABELS_BY_FOLDED;
    if (!numbers || labels != (size_t)n || !labels_unnamed(names, n)) return LABELS_OTHER;
    for (int i = 0; i < n; i++) to[i] = i;
    return LABELS_BY_ORDER;
}

/* The name of the class for a label of the file. */
static const char *labels_name_of(const struct dataset_options *o, const char *s) {
    return o->alias && !strcmp(s, o->alias) ? o->alias_of : s;
}

static int unknown_label(const struct import *m, const struct distinct *x, int32_t none,
                         struct err *e) {
    const struct dataset_options *o = m->o;
    const char *from = known_from(o);
    for (size_t i = 0; i < x->vocab.count; i++) {
        const char *s = vocab_text(&x->vocab, (int32_t)i);
        if ((int32_t)i == none || labels_class_of(o->names, o->name_count, labels_name_of(o, s), false) >= 0)
            continue;
        char *known = names_text((char *const *)o->names, o->name_count, 8);
        struct buf shown = BUF_INIT;
        label_spell(s, &shown);
        err_set(e, ERR_INPUT, "%s: line %zu: the label \"%.60s\" is not among the classes of %s: %s",
                m->d->path, m->d->example[x->first[i]].line, buf_text(&shown), from, known);
        buf_release(&shown);
        free(known);
        return e->code;
    }
    BUG("an unknown label was expected");
}

/* A distinct label in normalized form, and its index. */
struct spelled {
    const char *s;
    int32_t id;
};

/* Returns the distinct labels of a split except `none`, integers in numeric order, others in byte order.
 * Caller frees. */
static struct spelled *labels_in_order(const struct dataset_options *o, const struct distinct *x,
                                       int32_t none, size_t *n) {
    struct spelled *l = xcalloc(x->vocab.count + 1, sizeof *l);
    bool whole = true;
    *n = 0;
    for (size_t i = 0; i < x->vocab.count; i++) {
        if ((int32_t)i == none) continue;
        l[*n] = (struct spelled){ labels_name_of(o, vocab_text(&x->vocab, (int32_t)i)), (int32_t)i };
        whole = labels_whole(l[(*n)++].s) && whole;
    }
    qsort(l, *n, sizeof *l,
          whole ? labels_by_number : labels_by_bytes); /* compared by its first member */
    return l;
}

/* Returns whether all labels belong to a known task, whose order is then that of the outputs of a head with
 * default names. */
static bool labels_of_task(const struct dataset_options *o, const struct spelled *l, size_t n) {
    size_t known = 0;
    for (size_t i = 0; i < n && o->order; i++)
        known += labels_class_of(o->order, o->order_count, l[i].s, false) >= 0;
    return o->order && known == n && labels_unnamed(o->names, o->name_count);
}

static void labels_say_match(const struct dataset_options *o, enum label_match how, const char *const *label,
                             struct buf *notes) {
    const char *from = known_from(o);
    if (how == LABELS_BY_NUMBER) {
        text_line(notes, "the labels are numbers and are used as the class indices of %s:", from);
        for (int i = 0; i < o->name_count; i++) text_line(notes, "  %d is \"%s\"", i, o->names[i]);
    } else if (how == LABELS_BY_FOLDED) {
        text_line(notes, "the labels match the classes of %s, ignoring case, whitespace, invisible "
                         "characters and Unicode form",
                  from);
    } else if (how == LABELS_BY_ORDER) {
        text_line(
            notes,
            "warning: the classes of %s have no names; the labels are assigned to its outputs in order:",
            from);
        for (int i = 0; i < o->name_count; i++) text_line(notes, "  %s is \"%s\"", o->names[i], label[i]);
    }
}

/* *map: class of each distinct label. */
static int map_known(struct import *m, const struct distinct *x, int32_t none, int32_t *map,
                     struct err *e) {
    const struct dataset_options *o = m->o;
    size_t n;
    struct spelled *l = labels_in_order(o, x, none, &n);
    bool of_task = labels_of_task(o, l, n);
    size_t labels = of_task ? (size_t)o->order_count : n;
    const char **label = xcalloc(labels + 1, sizeof *label);
    int32_t *to = xcalloc(labels + 1, sizeof *to);
    for (size_t i = 0; i < labels; i++) label[i] = of_task ? o->order[i] : l[i].s;
    enum label_match how = labels_match(o->names, o->name_count, o->names_or_numbers, label, labels, to);
    if (none >= 0) map[none] = -1;
    for (size_t i = 0; i < n; i++)
        map[l[i].id] = to[of_task ? labels_class_of(label, o->order_count, l[i].s, false) : (int32_t)i];
    if (how != LABELS_OTHER) labels_say_match(o, how, label, &m->d->report.notes);
    free(l);
    free(label);
    free(to);
    if (how == LABELS_OTHER) return unknown_label(m, x, none, e);
    m->d->classes = o->name_count;
    m->d->class_name = xcalloc((size_t)o->name_count + 1, sizeof *m->d->class_name);
    for (int i = 0; i < o->name_count; i++) m->d->class_name[i] = xstrdup(o->names[i]);
    return 0;
}

static void map_own(struct dataset *d, const struct distinct *x, int32_t none, int32_t *map) {
    for (size_t i = 0; i < x->vocab.count; i++) map[i] = none;
    for (int c = 0; c < d->classes; c++)
        map[vocab_find(&x->vocab, d->class_name[c], strlen(d->class_name[c]))] = c;
    if (none >= 0) map[none] = -1;
}

static int labels_read_classes(struct import *m, struct distinct *x, struct err *e) {
    struct dataset *d = m->d;
    int32_t none = none_id(m, x);
    int32_t *map = xcalloc(x->vocab.count + 1, sizeof *map);
    int rc = m->o->names ? map_known(m, x, none, map, e) : own_classes(m, x, none, e);
    if (!rc && !m->o->names) map_own(d, x, none, map);
    for (size_t i = 0; !rc && i < d->examples; i++) {
        d->example[i].label = x->of[i] < 0 ? -1 : map[x->of[i]];
        d->example[i].labeled = d->example[i].label >= 0;
    }
    free(map);
    if (rc) return rc;
    labels_warn(d);
    return 0;
}

/* Unlabeled examples cannot be used for training: they are reported and skipped. */
static void drop_unlabeled(struct import *m) {
    struct dataset *d = m->d;
    size_t kept = 0;
    for (size_t i = 0; i < d->examples; i++) {
        if (d->example[i].labeled) d->example[kept++] = d->example[i];
        else if (d->kind == DATA_TEXT) report_skip(&d->report, d->example[i].line, "no target text");
        else report_skip(&d->report, d->example[i].line, "unlabeled%s%.60s%s", m->none ? " (" : "",
                         m->none ? m->none : "", m->none ? ")" : "");
    }
    d->examples = kept;
}

int labels_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct distinct x = { 0 };
    int rc = 0;
    if (d->kind == DATA_TEXT || d->kind == DATA_MASKED) {
        for (size_t i = 0; i < d->examples; i++)
            d->example[i].labeled = d->kind == DATA_MASKED || d->example[i].target_text != NULL;
    } else if (m->o->label) {
        rc = labels_collect(m, &x, e);
        if (!rc) {
            rc = decide(m, &x, &d->kind, e);
            if (!rc && (d->kind == DATA_CLASSES || m->o->unlabeled)) rc = find_none(m, &x, e);
            if (!rc)
                rc = d->kind == DATA_REGRESSION ? labels_read_scores(m, e) : labels_read_classes(m, &x, e);
        }
        labels_release(&x);
    } else if (m->o->kind == DATA_KIND_REGRESSION) {
        d->kind = DATA_REGRESSION;
    } else if (m->o->names) {
        int32_t no_map;
        rc = map_known(m, &x, -1, &no_map, e);
    }
    if (rc) return rc;
    if (m->o->need_labels) drop_unlabeled(m);
    d->class_examples = xcalloc((size_t)d->classes + 1, sizeof *d->class_examples);
    for (size_t i = 0; i < d->examples; i++) {
        d->example[i].id = i;
        if (!d->example[i].labeled) d->report.unlabeled++;
        else if (d->kind == DATA_CLASSES) d->class_examples[d->example[i].label]++;
    }
    if (m->o->need_labels) labels_warn_rare(d);
    return 0;
}
