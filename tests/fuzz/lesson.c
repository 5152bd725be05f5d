/* Any bytes as a lesson: refused with a message, or steps whose texts can be filled in and whose values computed, and what
 * is kept of it comes back; and as what is kept of lessons. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/lesson/progress.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static int value_of(void *self, int step, double *out, struct err *e) {
    (void)e;
    *out = ((struct lesson_progress *)self)->of[step].value;
    return 0;
}

static int one(void *self, enum quantity q, const struct expression_argument *argument, const double *number, int count, double *out,
               struct err *e) {
    (void)self;
    (void)argument;
    (void)number;
    (void)e;
    *out = (double)q + count;
    return 0;
}

static void go_through(const struct lesson *l, const char *bytes, size_t n) {
    struct lesson_progress p;
    struct buf kept = BUF_INIT;
    struct err e = ERR_INIT;
    lesson_progress_init(&p, l);
    lesson_progress_read(&p, l, bytes, n);
    for (int i = 0; i < l->steps; i++) {
        const struct lesson_step *s = &l->step[i];
        const struct expression_values from = { &p, value_of, one };
        double v;
        if (s->value && !expression_value(s->value, &from, &v, &e)) lesson_set_value(l, &p, i, v, -INFINITY, INFINITY);
        lesson_choose(l, &p, i, 'a');
        for (int k = 0; k < s->paragraphs; k++) free(lesson_fill(l, &p, i, s->paragraph[k].text, s->paragraph[k].verbatim));
        for (int k = 0; k < s->notes; k++) free(lesson_fill(l, &p, i, s->note[k].text, false));
    }
    free(lesson_played_last(bytes, n));
    lesson_progress_write(&p, l, bytes, n, &kept);
    lesson_progress_restart(&p);
    lesson_progress_read(&p, l, buf_text(&kept), kept.size);
    buf_release(&kept);
    lesson_progress_release(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static const char plain[] = "lesson A\nask q\n  B?\n  a) c\n  b) d\nlet v = 1\nanswer q = a\n  {v}\n";
    struct lesson l;
    struct err e = ERR_INIT;
    if (lesson_parse(&l, "fuzz.lesson", (const char *)bytes, n, &e)) {
        if (!e.code || !e.text[0]) abort();
    } else {
        go_through(&l, "", 0);
        lesson_release(&l);
    }
    if (lesson_parse(&l, "plain.lesson", plain, sizeof plain - 1, &e)) abort();
    go_through(&l, (const char *)bytes, n);
    lesson_release(&l);
    return 0;
}
