#include "app/session/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

/* Splits tags "a, b" and trims blanks; release with kept_list_free. */
struct kept_list {
    char **tag;
    size_t count;
};

static void kept_list_read(const char *text, struct kept_list *out) {
    char *copy = xstrdup(text ? text : ""), *rest = copy, *part;
    *out = (struct kept_list){ 0 };
    while ((part = text_item(&rest))) {
        if (!*part) continue;
        out->tag = xrealloc(out->tag, out->count + 1, sizeof *out->tag);
        out->tag[out->count++] = xstrdup(part);
    }
    free(copy);
}

static bool kept_list_has(const struct kept_list *l, const char *tag) {
    for (size_t i = 0; i < l->count; i++)
        if (!strcmp(l->tag[i], tag)) return true;
    return false;
}

static void kept_list_free(struct kept_list *l) {
    for (size_t i = 0; i < l->count; i++) free(l->tag[i]);
    free(l->tag);
}

bool kept_has_tag(const char *tags, const char *tag) {
    struct kept_list l;
    kept_list_read(tags, &l);
    bool has = kept_list_has(&l, tag);
    kept_list_free(&l);
    return has;
}

static int tags_of(struct store *s, int64_t run, struct kept_list *out, struct err *e) {
    struct store_run r;
    int rc = store_run(s, run, &r, e);
    *out = (struct kept_list){ 0 };
    if (rc) return rc;
    kept_list_read(r.tags, out);
    store_run_release(&r);
    return 0;
}

int kept_pin(struct store *s, const int64_t *run, size_t runs, const char **message, struct err *e) {
    static const char *const pin = KEPT_PIN;
    bool all = true;
    int rc = 0;
    for (size_t i = 0; i < runs && !rc; i++) {
        struct kept_list l;
        rc = tags_of(s, run[i], &l, e);
        all = all && kept_list_has(&l, pin);
        kept_list_free(&l);
    }
    if (!rc) rc = store_tag(s, run, runs, &pin, 1, !all, e);
    *message = all ? "no longer pinned" : "pinned: listed first";
    return rc;
}

/* Removes the tags of the run that are not in `wanted`. */
static int kept_take_others(struct store *s, int64_t run, const struct kept_list *wanted, struct err *e) {
    struct kept_list has;
    int rc = tags_of(s, run, &has, e);
    for (size_t i = 0; i < has.count && !rc; i++)
        if (!kept_list_has(wanted, has.tag[i]))
            rc = store_tag(s, &run, 1, (const char *const *)&has.tag[i], 1, false, e);
    kept_list_free(&has);
    return rc;
}

int kept_tag(struct store *s, const int64_t *run, size_t runs, const char *typed, struct err *e) {
    struct kept_list wanted;
    kept_list_read(typed, &wanted);
    int rc = 0;
    if (wanted.count) rc = store_tag(s, run, runs, (const char *const *)wanted.tag, wanted.count, true, e);
    if (!rc && runs == 1) rc = kept_take_others(s, run[0], &wanted, e);
    kept_list_free(&wanted);
    return rc;
}

void kept_sum_words(size_t runs, const struct purge_sum *sum, char out[128]) {
    char files[32], bytes[32];
    text_thousands(sum->files, files);
    text_thousands(sum->bytes, bytes);
    snprintf(out, 128, "%zu %s, %s %s, %s bytes", runs, runs == 1 ? "run" : "runs", files,
             sum->files == 1 ? "file" : "files", bytes);
}
