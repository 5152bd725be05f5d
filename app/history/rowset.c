#include "app/history/rowset.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static void rowset_make_room(struct rowset *r, int n) {
    size_t room = (size_t)n + 1;
    r->of_task = xcalloc(room, sizeof *r->of_task);
    r->label = xcalloc(room, sizeof *r->label);
    r->row = xcalloc(room, sizeof *r->row);
    r->a = xcalloc(room, sizeof *r->a);
    r->b = xcalloc(room, sizeof *r->b);
}

int rowset_class(const struct rowset *r, int task, const char *label) {
    for (int c = 0; c < r->classes; c++)
        if (r->class_task[c] == task && !strcmp(r->label_name[c], label)) return c;
    return -1;
}

static int add_class(struct rowset *r, int task, const char *label) {
    int c = r->classes++;
    r->label_name = xrealloc(r->label_name, (size_t)r->classes, sizeof *r->label_name);
    r->class_task = xrealloc(r->class_task, (size_t)r->classes, sizeof *r->class_task);
    r->label_name[c] = xstrdup(label);
    r->class_task[c] = task;
    return c;
}

static int rowset_class_of(struct rowset *r, int task, const char *label) {
    int c = rowset_class(r, task, label);
    return c < 0 ? add_class(r, task, label) : c;
}

static void name_classes(struct rowset *r) {
    r->class_name = xcalloc((size_t)r->classes + 1, sizeof *r->class_name);
    for (int c = 0; c < r->classes; c++)
        r->class_name[c] = r->tasks > 1 ? xprintf("%s: %s", r->task[r->class_task[c]], r->label_name[c])
                                        : xstrdup(r->label_name[c]);
}

void rowset_of(struct rowset *r, const struct dataset *const *d, const char *const *task, int tasks) {
    struct sha256 *h = sha256_start();
    size_t all = 0;
    BUG_IF(tasks > ROWSET_TASKS);
    for (int t = 0; t < tasks; t++) all += d[t]->examples;
    *r = (struct rowset){ .tasks = tasks };
    rowset_make_room(r, (int)all);
    for (int t = 0; t < tasks; t++) {
        r->task[t] = xstrdup(task[t]);
        int first = r->classes;
        for (int c = 0; c < d[t]->classes; c++) add_class(r, t, d[t]->class_name[c]);
        for (size_t i = 0; i < d[t]->examples; i++) {
            const struct example *row = &d[t]->example[i];
            char numbers[64];
            int at = r->n++;
            r->of_task[at] = t;
            r->label[at] = row->labeled && row->label >= 0 ? first + row->label : -1;
            r->row[at] = (int64_t)row->id + 1;
            r->a[at] = text_string(row->a, row->a_size);
            r->b[at] = row->b ? text_string(row->b, row->b_size) : NULL;
            int n = snprintf(numbers, sizeof numbers, "%llu %zu", (unsigned long long)row->id,
                             d[t]->start[i + 1] - d[t]->start[i]);
            sha256_add(h, numbers, (size_t)n + 1);
            sha256_add(h, row->a, row->a_size + 1);
            if (row->b) sha256_add(h, row->b, row->b_size + 1);
        }
    }
    sha256_finish(h, r->sha256);
    name_classes(r);
}

void rowset_release(struct rowset *r) {
    for (int i = 0; i < r->n; i++) {
        free(r->a[i]);
        free(r->b[i]);
    }
    for (int c = 0; c < r->classes; c++) {
        free(r->label_name[c]);
        if (r->class_name) free(r->class_name[c]);
    }
    for (int t = 0; t < r->tasks; t++) free(r->task[t]);
    free(r->label_name);
    free(r->class_name);
    free(r->class_task);
    free(r->of_task);
    free(r->label);
    free(r->row);
    free(r->a);
    free(r->b);
    *r = (struct rowset){ 0 };
}

/* ---- JSON ---- */

/* Returns the number of bytes of s that are stored, without splitting a character. */
static size_t kept_size(const char *s) {
    size_t n = strlen(s);
    if (n <= ROWSET_TEXT) return n;
    for (n = ROWSET_TEXT; n && ((unsigned char)s[n] & 0xC0) == 0x80;) n--;
    return n;
}

static void rowset_add_text(struct buf *b, const char *key, const char *s) {
    char *part = xstrndup(s, kept_size(s));
    json_member_string(b, key, part);
    free(part);
}

void rowset_items(const struct rowset *r, const int32_t *predicted, struct buf *out) {
    buf_putc(out, '[');
    for (int i = 0; i < r->n; i++) {
        const char *name = predicted && predicted[i] >= 0 ? r->label_name[predicted[i]] : NULL;
        json_put(out, "{row:%jd,task:%1s,label:%s", r->row[i], r->tasks > 1 ? r->task[r->of_task[i]] : NULL,
                 r->label[i] < 0 ? NULL : r->label_name[r->label[i]]);
        rowset_add_text(out, "text", r->a[i]);
        if (r->b[i]) rowset_add_text(out, "text_b", r->b[i]);
        json_put(out, "prediction:%s}", name);
    }
    buf_putc(out, ']');
}

static const char *rowset_text_of(const json_t *o,
                                  const char *key) { return json_string_value(json_object_get(o, key)); }

static int rowset_task_of(struct rowset *r, const char *name) {
    for (int t = 0; t < r->tasks; t++)
        if (!strcmp(r->task[t], name)) return t;
    if (r->tasks == ROWSET_TASKS) return ROWSET_TASKS - 1;
    r->task[r->tasks] = xstrdup(name);
    return r->tasks++;
}

int rowset_read(struct rowset *r, int32_t **predicted, const char *items, int n, const char *task,
                struct err *e) {
    *r = (struct rowset){ 0 };
    *predicted = NULL;
    json_t *list = json_parse("items", items, strlen(items), e);
    if (!list) return e->code;
    if (!json_is_array(list) || json_array_size(list) != (size_t)n) {
        json_decref(list);
        return err_set(e, ERR_DATABASE, "the stored set of %d vectors is corrupt: the descriptions of its "
                                        "examples are missing", n);
    }
    int32_t *out = xcalloc((size_t)n + 1, sizeof *out);
    bool any = false;
    rowset_make_room(r, n);
    for (int i = 0; i < n; i++) {
        const json_t *o = json_array_get(list, (size_t)i);
        const char *own = rowset_text_of(o, "task"), *label = rowset_text_of(o, "label"),
                   *prediction = rowset_text_of(o, "prediction");
        const char *a = rowset_text_of(o, "text"), *b = rowset_text_of(o, "text_b");
        int t = rowset_task_of(r, own ? own : task);
        r->n++;
        r->of_task[i] = t;
        r->row[i] = json_integer_value(json_object_get(o, "row"));
        r->a[i] = xstrdup(a ? a : "");
        r->b[i] = b ? xstrdup(b) : NULL;
        r->label[i] = label ? rowset_class_of(r, t, label) : -1;
        out[i] = prediction ? rowset_class_of(r, t, prediction) : -1;
        any = any || prediction;
    }
    json_decref(list);
    name_classes(r);
    if (any) *predicted = out;
    else free(out);
    return 0;
}

/* ---- comparing ---- */

static bool rowset_same_text(const char *a, const char *b) {
    if (!a || !b) return !a && !b;
    size_t n = kept_size(a), m = kept_size(b); /* stored sets contain no more */
    return n == m && !memcmp(a, b, n);
}

int rowset_same(const struct rowset *a, const struct rowset *b, struct err *e) {
    for (int i = 0; i < a->n && i < b->n; i++) {
        if (a->row[i] != b->row[i])
            return err_set(
                e, ERR_USAGE,
                "cannot compare different examples: at position %d, example %lld and example %lld; give the "
                "same "
                "--task",
                i + 1, (long long)a->row[i], (long long)b->row[i]);
        if (!rowset_same_text(a->a[i], b->a[i]) || !rowset_same_text(a->b[i], b->b[i]))
            return err_set(e, ERR_USAGE,
                           "cannot compare different examples: the texts of example %lld differ; give the "
                           "same --task",
                           (long long)a->row[i]);
    }
    if (a->n == b->n) return 0;
    return err_set(e, ERR_USAGE,
                   "cannot compare different numbers of examples: %d and %d; give the same --task", a->n,
                   b->n);
}

char *rowset_text(const struct rowset *r, int i) {
    return r->b[i] ? xprintf("%s | %s", r->a[i], r->b[i]) : xstrdup(r->a[i]);
}
