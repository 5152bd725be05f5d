#include "app/session/tags.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

/* Splits tags "a, b" and trims blanks; release with tag_list_free. */
struct tag_list {
    char **tag;
    size_t count;
};

static void tag_list_read(const char *text, struct tag_list *out) {
    char *copy = xstrdup(text ? text : ""), *rest = copy, *part;
    *out = (struct tag_list){ 0 };
    while ((part = text_item(&rest))) {
        if (!*part) continue;
        out->tag = xrealloc(out->tag, out->count + 1, sizeof *out->tag);
        out->tag[out->count++] = xstrdup(part);
    }
    free(copy);
}

static bool tag_list_has(const struct tag_list *l, const char *tag) {
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->tag[i], tag)) return true;
    return false;
}

static void tag_list_free(struct tag_list *l) {
    for (size_t i = 0; i < l->count; i++) free(l->tag[i]);
    free(l->tag);
}

bool tags_have(const char *tags, const char *tag) {
    struct tag_list l;
    tag_list_read(tags, &l);
    bool has = tag_list_has(&l, tag);
    tag_list_free(&l);
    return has;
}

static int tags_of(struct store *s, int64_t run, struct tag_list *out, struct err *e) {
    struct store_run r;
    int rc = store_run(s, run, &r, e);
    *out = (struct tag_list){ 0 };
    if (rc) return rc;
    tag_list_read(r.tags, out);
    store_run_release(&r);
    return 0;
}

int tags_pin(struct store *s, const int64_t *run, size_t runs, const char **message, struct err *e) {
    static const char *const pin = TAG_PINNED;
    bool all = true;
    int rc = 0;
    for (size_t i = 0; i < runs && !rc; i++) {
        struct tag_list l;
        rc = tags_of(s, run[i], &l, e);
        all = all && tag_list_has(&l, pin);
        tag_list_free(&l);
    }
    if (!rc) rc = store_tag(s, run, runs, &pin, 1, !all, e);
    *message = all ? "no longer pinned" : "pinned to the top of the list";
    return rc;
}

/* Removes the tags of the run that are not in `wanted`. */
static int tags_remove_others(struct store *s, int64_t run, const struct tag_list *wanted, struct err *e) {
    struct tag_list has;
    int rc = tags_of(s, run, &has, e);
    for (size_t i = 0; i < has.count && !rc; i++)
        if (!tag_list_has(wanted, has.tag[i]))
            rc = store_tag(s, &run, 1, (const char *const *)&has.tag[i], 1, false, e);
    tag_list_free(&has);
    return rc;
}

int tags_set(struct store *s, const int64_t *run, size_t runs, const char *typed, struct err *e) {
    struct tag_list wanted;
    tag_list_read(typed, &wanted);
    int rc = 0;
    if (wanted.count) rc = store_tag(s, run, runs, (const char *const *)wanted.tag, wanted.count, true, e);
    if (!rc && runs == 1) rc = tags_remove_others(s, run[0], &wanted, e);
    tag_list_free(&wanted);
    return rc;
}

void purge_sum_text(size_t runs, const struct purge_sum *sum, char out[128]) {
    char files[32], bytes[32];
    text_thousands(sum->files, files);
    text_thousands(sum->bytes, bytes);
    snprintf(out, 128, "%zu %s, %s %s, %s bytes", runs, runs == 1 ? "run" : "runs", files,
             sum->files == 1 ? "file" : "files", bytes);
}
