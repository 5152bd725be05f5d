#include "core/exchange/bag.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/safetensors.h"

static int read_one(const struct st_file *f, const struct st_tensor *from, struct bag_tensor *to,
                    struct err *e) {
    to->name = xstrdup(from->name);
    to->rank = from->rank;
    memcpy(to->shape, from->shape, sizeof to->shape);
    to->count = from->count;
    to->values = mem_try(from->count ? from->count : 1, sizeof *to->values);
    if (!to->values) return err_set(e, ERR_SYSTEM, "out of memory for tensor \"%s\"", from->name);
    return st_read(f, from, to->values, e);
}

int bag_open(const char *path, struct bag *out, struct err *e) {
    *out = (struct bag){ .path = xstrdup(path) };
    struct st_file *f = st_open(path, e);
    int rc = f ? 0 : e->code;
    if (f) {
        out->tensor = xcalloc(st_count(f) + 1, sizeof *out->tensor);
        for (size_t i = 0; !rc && i < st_count(f); i++)
            rc = read_one(f, st_at(f, i), &out->tensor[out->count++], e);
        st_close(f);
    }
    if (rc) bag_release(out);
    return rc;
}

void bag_release(struct bag *b) {
    for (size_t i = 0; i < b->count; i++) {
        free(b->tensor[i].name);
        free(b->tensor[i].values);
    }
    free(b->tensor);
    free(b->path);
    *b = (struct bag){ 0 };
}

struct bag_tensor *bag_find(struct bag *b, const char *name) {
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->tensor[i].name, name)) return &b->tensor[i];
    return NULL;
}

struct bag_tensor *bag_find_end(struct bag *b, const char *end) {
    for (size_t i = 0; i < b->count; i++)
        if (text_ends(b->tensor[i].name, end)) return &b->tensor[i];
    return NULL;
}

int bag_check_used(const struct bag *b, struct err *e) {
    for (size_t i = 0; i < b->count; i++) {
        if (b->tensor[i].used) continue;
        char *shown = text_visible(b->tensor[i].name, strlen(b->tensor[i].name));
        int rc = err_set(e, ERR_INPUT, "%s: unexpected tensor \"%s\": neither the adapter nor the "
                                       "model has it",
                         b->path, shown);
        free(shown);
        return rc;
    }
    return 0;
}
