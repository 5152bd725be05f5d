/* A file with one text per line, without columns and labels. */
#include <string.h>

#include "core/base/mem.h"
#include "core/data/import.h"

/* Returns whether there are only blanks. */
static bool lines_is_blank(const char *s, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\f\v", s[i]) || !s[i]) return false;
    return true;
}

int lines_read(struct import *m, struct err *e) {
    struct dataset *d = m->d;
    struct import_report *r = &d->report;
    struct buf *file = &d->memory->file;
    char *at = file->data + (r->bom ? 3 : 0), *end = file->data + file->size;
    d->kind = DATA_MASKED;
    d->field[0] = xstrdup("text");
    while (at < end) {
        char *stop = memchr(at, '\n', (size_t)(end - at));
        if (!stop) stop = end;
        char *last = stop > at && stop[-1] == '\r' ? stop - 1 : stop;
        size_t n = (size_t)(last - at);
        r->lines++;
        if (n > DATASET_LINE)
            return err_set(e, ERR_INPUT, "%s: line %zu: longer than %d MB; expected one text per line",
                           d->path, r->lines, DATASET_LINE >> 20);
        *last = '\0'; /* the file's buffer ends with one */
        if (lines_is_blank(at, n)) r->blank++;
        else import_example(m, r->lines, &(struct fields){ .a = { at, n } });
        at = stop + 1;
    }
    return 0;
}
