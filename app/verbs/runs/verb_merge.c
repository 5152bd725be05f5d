/* merge: databases are merged into one. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "app/verbs/output.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/run/checkpoint.h"

static const char *const WHAT[] = {
    [STORE_MERGED_NEW] = "new",       [STORE_MERGED_FURTHER] = "further", [STORE_MERGED_SAME] = "same",
    [STORE_MERGED_BEHIND] = "behind", [STORE_MERGED_APART] = "apart",     [STORE_MERGED_BUSY] = "running",
    [STORE_MERGED_DAMAGED] = "damaged",
};

static void as_json(const char *path, const struct store_merge *m, struct buf *b) {
    json_put(b, "{path:%s,runs:[", path);
    for (size_t i = 0; i < m->runs; i++) {
        const struct store_merged *x = &m->run[i];
        json_put(b, "{from:%jd,into:%jd,what:%s,apart:%1jd", x->from, x->into, WHAT[x->what], x->apart);
        if (x->what == STORE_MERGED_APART) json_member_int(b, "step", x->step);
        json_put(b, "lacks_files:%i,damaged:%s}", x->missing_files, x->damaged);
    }
    buf_puts(b, "]");
    json_open(b, "sweeps", '[');
    for (size_t i = 0; i < m->sweeps; i++) {
        json_put(b, "{from:%jd,into:%jd}", m->sweep_from[i], m->sweep_into[i]);
    }
    buf_puts(b, "]}");
}

static void as_text(const char *path, const struct store_merge *m, struct buf *b) {
    if (!m->runs && !m->sweeps) buf_printf(b, "%s: has no runs\n", path);
    for (size_t i = 0; i < m->runs; i++) {
        const struct store_merged *x = &m->run[i];
        buf_printf(b, "%s: run %lld: ", path, (long long)x->from);
        switch (x->what) {
        case STORE_MERGED_NEW:
        case STORE_MERGED_APART: buf_printf(b, "imported as run %lld", (long long)x->into); break;
        case STORE_MERGED_FURTHER:
            buf_printf(b, "updates run %lld, which was at an earlier step", (long long)x->into);
            break;
        case STORE_MERGED_SAME: buf_printf(b, "already present as run %lld", (long long)x->into); break;
        case STORE_MERGED_BEHIND:
            buf_printf(b, "already present as run %lld, at a later step", (long long)x->into);
            break;
        case STORE_MERGED_BUSY:
            buf_puts(b, "skipped: still training; merge again when it has finished");
            break;
        case STORE_MERGED_DAMAGED:
            buf_printf(b,
                       "skipped: it continues run %lld, which remains unchanged",
                       (long long)x->into);
            break;
        }
        if (x->apart)
            buf_printf(b, "; differs from run %lld from step %lld on; both are kept", (long long)x->apart,
                       (long long)x->step);
        if (x->damaged) {
            char *shown = text_visible(x->damaged, strlen(x->damaged));
            buf_printf(b, "; damaged: %s%s", shown, x->what == STORE_MERGED_DAMAGED ? "" : " (skipped)");
            free(shown);
        }
        buf_puts(b, x->missing_files ? "; its files are missing\n" : "\n");
    }
    for (size_t i = 0; i < m->sweeps; i++)
        buf_printf(b, "%s: sweep %lld: imported as sweep %lld\n", path, (long long)m->sweep_from[i],
                   (long long)m->sweep_into[i]);
}

static bool verb_merge_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static bool verb_merge_sound(const char *path) {
    struct err ignored = ERR_INIT;
    return !text_ends(path, ".safetensors") || !checkpoint_verify(path, &ignored);
}

/* *other: whether further databases can be merged after this error. */
static int merge_one(struct store *into, const char *path, bool json, struct buf *out, bool *other,
                     struct err *e) {
    struct store *from;
    struct store_merge m = { 0 };
    if (verb_merge_is_same_file(store_path(into), path))
        return err_set(e, ERR_USAGE, "%s: cannot be merged into itself", path);
    *other = !file_exists(path);
    if (*other) return err_set(e, ERR_NOT_FOUND, "%s: no such database", path);
    int rc = store_open(&from, path, STORE_READ, e);
    *other = rc != 0;
    if (rc) return rc;
    rc = store_merge(into, from, verb_merge_sound, &m, e);
    if (rc) err_prefix(e, "%s", path);
    else (json ? as_json : as_text)(path, &m, out);
    store_merge_release(&m);
    return verb_close(from, rc, e);
}

int verb_merge(const struct args *a, struct err *e) {
    struct store *into;
    struct buf out = BUF_INIT;
    bool json = a->json;
    int rc = store_open(&into, a->positional[0], STORE_WRITE, e);
    if (rc) return rc;
    if (json) {
        json_put(&out, "{into:%s,from:[", store_path(into));
    }
    bool other = true;
    for (int i = 1; other && i < a->count; i++) {
        struct err one = ERR_INIT;
        int rc2 = merge_one(into, a->positional[i], json, &out, &other, &one);
        other |= !rc2;
        if (rc2 && !rc) {
            rc = rc2;
            *e = one;
        } else if (rc2) {
            char *shown = text_visible(one.text, strlen(one.text));
            fprintf(stderr, "petri: %s\n", shown);
            free(shown);
        }
    }
    if (json) buf_puts(&out, "]}");
    if (!rc && json) out_line(&out);
    if (!json) out_lines(buf_text(&out)); /* also after an error: the others are merged */
    buf_release(&out);
    return verb_close(into, rc, e);
}
