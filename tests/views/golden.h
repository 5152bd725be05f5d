/* What is drawn, beside files of tests/views/golden. */
#ifndef TESTS_VIEWS_GOLDEN_H
#define TESTS_VIEWS_GOLDEN_H

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/test.h"
#include "views/render.h"

/* PETRI_GOLDEN=update writes the file anew; otherwise it must be equal. */
static inline void golden_text(const char *name, const struct buf *drawn) {
    struct buf file = BUF_INIT;
    struct err e = ERR_INIT;
    char *path = xprintf("tests/views/golden/%s", name), *full = test_path(path);
    const char *mode = getenv("PETRI_GOLDEN");
    if (mode && !strcmp(mode, "update")) {
        test_ok(file_write(full, drawn->data, drawn->size, &e), &e);
    } else {
        test_ok(file_read(full, 1 << 20, &file, &e), &e);
        const char *is = buf_text(drawn), *was = buf_text(&file), *line = is;
        for (; *is && *is == *was; is++, was++)
            if (*is == '\n') line = is + 1;
        if (*is || *was) fail_msg("%s differs, first in \"%.*s\"; what is drawn now:\n%s", path, (int)strcspn(line, "\n"), line,
                                  buf_text(drawn));
    }
    buf_release(&file);
    free(full);
    free(path);
}

static inline void golden_as(const struct ui *ui, enum render_form form, const char *name) {
    struct buf drawn = BUF_INIT;
    char *file = xprintf("%s%s", name, render_end(form));
    render_ui(ui, form, &drawn);
    golden_text(file, &drawn);
    buf_release(&drawn);
    free(file);
}

static inline void golden(const struct ui *ui, const char *name) { golden_as(ui, RENDER_TEXT, name); }

#endif
