/* The record of draws that are done (fewshot.h). */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/fewshot/fewshot.h"

enum { RECORD_BYTES = 256 << 20 };

char *fewshot_record_path(const char *folder) { return file_join(folder, "draws.jsonl"); }

/* ---- a line ---- */

static void scores_json(const struct fewshot_scores *s, const char *key, struct buf *b) {
    json_open(b, key, '{');
    json_put(b, "constant:%i,none_valid:%i,metrics:[", s->constant, s->none_valid);
    for (int i = 0; i < s->count; i++) {
        const struct fewshot_metric *m = &s->metric[i];
        json_put(b, "{name:%s", m->name);
        if (*m->undefined) json_member_string(b, "undefined", m->undefined);
        else json_member_double(b, "value", m->value);
        buf_putc(b, '}');
    }
    buf_puts(b, "]}");
}

static char *line_of(const struct fewshot_result *x) {
    struct buf b = BUF_INIT;
    json_put(&b, "{task:%s,k:%d,draw:%d,start:%s,near:[", x->task, x->k, x->draw, x->start);
    for (int i = 0; i < x->known; i++) json_member_double(&b, NULL, x->near[i]);
    buf_putc(&b, ']');
    if (x->votes) {
        json_open(&b, "votes", '[');
        for (int i = 0; i < x->known; i++) json_member_int(&b, NULL, x->votes[i]);
        buf_putc(&b, ']');
    }
    json_put(&b, "steps:%jd,seconds:%f,loss:%f,rows:%s", x->steps, x->seconds, x->loss, x->rows);
    if (*x->left_out) json_member_string(&b, "left_out", x->left_out);
    scores_json(&x->scores, "scores", &b);
    if (x->zero.count) scores_json(&x->zero, "zero", &b);
    buf_puts(&b, "}\n");
    return buf_take(&b);
}

/* ---- reading it ---- */

/* A number, or one that JSON has no word for. */
static double number_of(const json_t *v) {
    const char *s = json_string_value(v);
    if (s) return !strcmp(s, "inf") ? INFINITY : !strcmp(s, "-inf") ? -INFINITY : NAN;
    return json_is_number(v) ? json_number_value(v) : NAN;
}

static void fewshot_record_text_of(const json_t *o, const char *key, char *out, size_t room) {
    const char *s = json_string_value(json_object_get(o, key));
    strncpy(out, s ? s : "", room - 1);
    out[room - 1] = '\0';
}

static void fewshot_record_read_scores(const json_t *o, struct fewshot_scores *s) {
    const json_t *list = json_object_get(o, "metrics"), *item;
    size_t i;
    s->constant = json_is_true(json_object_get(o, "constant"));
    s->none_valid = json_is_true(json_object_get(o, "none_valid"));
    json_array_foreach(list, i, item) {
        if (s->count == EVENT_METRICS) break;
        struct fewshot_metric *m = &s->metric[s->count++];
        fewshot_record_text_of(item, "name", m->name, sizeof m->name);
        fewshot_record_text_of(item, "undefined", m->undefined, sizeof m->undefined);
        m->value = *m->undefined ? 0 : number_of(json_object_get(item, "value"));
    }
}

static void fewshot_record_read_line(const json_t *o, struct fewshot_result *x) {
    const json_t *near = json_object_get(o, "near"), *votes = json_object_get(o, "votes");
    *x = (struct fewshot_result){ .k = (int)json_integer_value(json_object_get(o, "k")),
                                  .draw = (int)json_integer_value(json_object_get(o, "draw")),
                                  .steps = json_integer_value(json_object_get(o, "steps")),
                                  .seconds = number_of(json_object_get(o, "seconds")),
                                  .loss = number_of(json_object_get(o, "loss")) };
    fewshot_record_text_of(o, "task", x->task, sizeof x->task);
    fewshot_record_text_of(o, "start", x->start, sizeof x->start);
    fewshot_record_text_of(o, "left_out", x->left_out, sizeof x->left_out);
    fewshot_record_text_of(o, "rows", x->rows, sizeof x->rows);
    x->known = (int)json_array_size(near);
    if (x->known) x->near = xcalloc((size_t)x->known, sizeof *x->near);
    if (x->known && votes) x->votes = xcalloc((size_t)x->known, sizeof *x->votes);
    for (int i = 0; i < x->known; i++) {
        x->near[i] = number_of(json_array_get(near, (size_t)i));
        if (x->votes) x->votes[i] = (int)json_integer_value(json_array_get(votes, (size_t)i));
    }
    fewshot_record_read_scores(json_object_get(o, "scores"), &x->scores);
    fewshot_record_read_scores(json_object_get(o, "zero"), &x->zero);
}

static int fewshot_record_compare(const struct fewshot_result *a, const struct fewshot_result *b) {
    int task = strcmp(a->task, b->task);
    return task ? task : a->k != b->k ? a->k - b->k : a->draw - b->draw;
}

/* In the order of task, k and draw, whichever was done first: sums over them are then the same. */
static void insert_result(struct fewshot_results *r, const struct fewshot_result *x) {
    r->of = xrealloc(r->of, (size_t)r->count + 1, sizeof *r->of);
    int at = r->count++;
    for (; at > 0 && fewshot_record_compare(&r->of[at - 1], x) > 0; at--) r->of[at] = r->of[at - 1];
    r->of[at] = *x;
}

int fewshot_record_read(const char *path, struct fewshot_results *r, struct err *e) {
    struct buf all = BUF_INIT;
    int rc = 0;
    *r = (struct fewshot_results){ 0 };
    if (!file_exists(path)) return 0;
    if (file_read(path, RECORD_BYTES, &all, e)) return e->code;
    const char *at = buf_text(&all), *end;
    for (; !rc && (end = strchr(at, '\n')); at = end + 1) {
        json_t *o = json_parse(path, at, (size_t)(end - at), e);
        struct fewshot_result x;
        if (!o) rc = e->code;
        if (rc) break;
        fewshot_record_read_line(o, &x);
        json_decref(o);
        insert_result(r, &x);
    }
    buf_release(&all);
    if (rc) fewshot_results_release(r);
    return rc;
}

/* ---- adding to it ---- */

static int failed(const char *path, struct err *e) {
    return err_set(e, ERR_SYSTEM, "%s: cannot be written: %s", path, strerror(errno));
}

/* What a killed writer left of a line is cut off. */
static int whole_lines(int fd, off_t *size) {
    char last;
    *size = lseek(fd, 0, SEEK_END);
    while (*size > 0 && pread(fd, &last, 1, *size - 1) == 1 && last != '\n') --*size;
    return *size < 0 || ftruncate(fd, *size) ? -1 : 0;
}

int fewshot_record_add(const char *path, struct fewshot_results *r, struct fewshot_result *x, struct err *e) {
    char *line = line_of(x);
    size_t n = strlen(line);
    off_t size = 0;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600), rc = 0;
    if (fd < 0) rc = failed(path, e);
    else if (whole_lines(fd, &size) || pwrite(fd, line, n, size) != (ssize_t)n || fsync(fd))
        rc = failed(path, e);
    if (rc && fd >= 0 && size >= 0 && ftruncate(fd, size))
        errno = 0; /* half a line is cut off with the next */
    if (fd >= 0) close(fd);
    free(line);
    if (rc) return rc;
    insert_result(r, x);
    *x = (struct fewshot_result){ 0 };
    return 0;
}
