#include "core/exchange/import.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/json.h"
#include "core/base/mem.h"

void notes_add(struct notes *n, const char *format, ...) {
    va_list args;
    char *line;
    va_start(args, format);
    if (vasprintf(&line, format, args) < 0) BUG("out of memory");
    va_end(args);
    GROW(n->line, n->room, n->count + 1);
    n->line[n->count++] = line;
}

void notes_release(struct notes *n) {
    for (size_t i = 0; i < n->count; i++) free(n->line[i]);
    free(n->line);
    *n = (struct notes){ 0 };
}

void import_release(struct imported *x) {
    predictor_free(x->predictor);
    if (x->model) model_release(x->model);
    config_release(&x->config);
    free(x->version);
    free(x->parents);
    free(x->origin);
    curve_release(&x->curve);
    notes_release(&x->read);
    notes_release(&x->ignored);
    notes_release(&x->assumed);
    *x = (struct imported){ 0 };
}

int import_name_classes(struct imported *x, const char *const *name, int n, struct err *e) {
    int rc = predictor_name_classes(x->predictor, name, n, e);
    if (rc || !x->named) return rc;
    size_t at = x->named - 1;
    free(x->assumed.line[at]);
    memmove(x->assumed.line + at, x->assumed.line + at + 1,
            (--x->assumed.count - at) * sizeof *x->assumed.line);
    x->named = 0;
    return 0;
}

char *import_json(const struct imported *x) {
    struct buf b = BUF_INIT;
    json_put(&b, "{format:%s,version:%s", x->format, x->version);
    json_member_strings(&b, "read", x->read.line, x->read.count);
    json_member_strings(&b, "ignored", x->ignored.line, x->ignored.count);
    json_member_strings(&b, "assumed", x->assumed.line, x->assumed.count);
    if (x->parents) {
        json_add_key(&b, "parents");
        buf_puts(&b, x->parents);
    }
    buf_putc(&b, '}');
    return buf_take(&b);
}
