/* Small helpers of the tasks' tests. */
#ifndef TESTS_DATA_SUPPORT_H
#define TESTS_DATA_SUPPORT_H

#include <string.h>

#include "core/base/buf.h"
#include "core/data/task.h"
#include "tests/support/test.h"

/* Fails unless the task's report holds `part`. */
static inline void says(const struct task *t, const char *part) {
    struct buf b = BUF_INIT;
    task_report(t, &b);
    if (!strstr(buf_text(&b), part)) fail_msg("the report lacks \"%s\":\n%s", part, buf_text(&b));
    buf_release(&b);
}

/* Fails unless the skipped row number `at`, from 0, is of this line, for this reason. */
static inline void skipped(const struct dataset *d, int at, size_t line, const char *why) {
    assert_true(at < d->report.first_count);
    assert_int_equal(d->report.first[at].line, line);
    assert_string_equal(d->report.first[at].why, why);
}

#endif
