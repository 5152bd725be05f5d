/* Names, tags and notes of runs, and their permanent deletion. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/history/purge.h"
#include "app/history/ready_run.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Finds the typed runs, each once; id has room for n. */
static int find_typed(struct store *s, char *const *typed, int n, int64_t *id, size_t *count, struct err *e) {
    *count = 0;
    for (int i = 0; i < n; i++) {
        size_t k = 0;
        int rc = store_find(s, typed[i], &id[*count], e);
        if (rc) return rc;
        while (id[k] != id[*count]) k++;
        *count += k == *count;
    }
    return 0;
}

/* ---- tags ---- */

/* Counts the leading arguments that are runs: the first, and numbers after it; the rest are tags. */
static int runs_before_tags(const struct args *a) {
    int n = 1;
    for (int64_t id; n < a->count; n++) {
        const char *word = a->positional[n];
        if (strcmp(word, "last") && !text_to_int(word + (*word == '#'), &id)) break;
    }
    return n;
}

static void print_tagged(const struct args *a, const int64_t *id, size_t n, char *const *tags, int count) {
    bool off = a->flag;
    if (a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_ints(&b, off ? "untagged" : "tagged", id, n);
        json_member_strings(&b, "tags", tags, count);
        buf_putc(&b, '}');
        out_line(&b);
        return;
    }
    printf("%zu %s %s ", n, n == 1 ? "run" : "runs", off ? "untagged" : "tagged");
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", stdout);
        out_text(tags[i]);
    }
    putchar('\n');
}

int verb_tag(const struct args *a, struct err *e) {
    int runs = runs_before_tags(a), count = a->count - runs;
    char *const *tags = a->positional + runs;
    if (!count)
        return err_set(e, ERR_USAGE,
                       "petri tag: missing tag: all arguments are runs; give a tag after them (a numeric tag "
                       "must follow another tag)");
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    int64_t *id = xcalloc((size_t)runs, sizeof *id);
    size_t n;
    rc = find_typed(s, a->positional, runs, id, &n, e);
    if (!rc) rc = store_tag(s, id, n, (const char *const *)tags, (size_t)count, !a->flag, e);
    rc = verb_close(s, rc, e);
    if (!rc) print_tagged(a, id, n, tags, count);
    free(id);
    return rc;
}

/* ---- notes ---- */

int verb_note(const struct args *a, struct err *e) {
    const char *text = a->positional[1];
    struct store *s;
    int64_t id;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    rc = store_find(s, a->positional[0], &id, e);
    if (!rc) rc = store_note(s, id, text, e);
    rc = verb_close(s, rc, e);
    if (rc) return rc;
    if (a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{noted:%jd,note:%s}", id, *text ? text : NULL);
        out_line(&b);
    } else {
        printf(*text ? "run %lld: note set\n" : "run %lld: note removed\n", (long long)id);
    }
    return 0;
}

/* ---- names ---- */

/* `petri name RUN --classes A,B` */
static int name_classes(const struct args *a, struct err *e) {
    char **name;
    struct store *s;
    int64_t id = 0;
    int n, rc = verb_classes(a, &name, &n, e);
    if (!rc && !(rc = verb_store(a, STORE_WRITE, &s, e))) {
        rc = store_find(s, a->positional[0], &id, e);
        const struct backbone_hint hint = { .given = a->model };
        if (!rc) rc = ready_run_name_classes(s, id, &hint, (const char *const *)name, n, e);
        rc = verb_close(s, rc, e);
    }
    struct buf b = BUF_INIT;
    json_put(&b, "{named:%jd", id);
    json_member_strings(&b, "classes", name, n);
    buf_putc(&b, '}');
    if (!rc && a->json) out_line(&b);
    else if (!rc) printf("run %lld: %d classes named\n", (long long)id, n);
    buf_release(&b);
    verb_classes_free(name, n);
    return rc;
}

int verb_name(const struct args *a, struct err *e) {
    if (!a->classes && a->count < 2)
        return err_set(e, ERR_USAGE, "petri name: requires a name or --classes; usage: petri %s %s",
                       a->verb->name, a->verb->synopsis);
    if (a->classes && a->count > 1)
        return err_set(e, ERR_USAGE, "--classes: cannot be combined with a name");
    if (a->classes) return name_classes(a, e);
    const char *name = a->positional[1];
    char *before = NULL;
    struct store *s;
    int64_t id;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    rc = store_find(s, a->positional[0], &id, e);
    if (!rc) rc = store_rename(s, id, name, &before, e);
    rc = verb_close(s, rc, e);
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{named:%jd,name:%s,before:%s}", id, *name ? name : NULL, *before ? before : NULL);
        out_line(&b);
    } else if (!rc) {
        printf(*name ? "run %lld: named " : "run %lld: name removed", (long long)id);
        out_text(name);
        fputs(*before && strcmp(before, name) ? " (previously " : "", stdout);
        if (*before && strcmp(before, name)) out_text(before), putchar(')');
        putchar('\n');
    }
    free(before);
    return rc;
}

/* ---- purging ---- */

static void describe_purge(size_t n, const struct purge_sum *sum, char out[128]) {
    char files[32], bytes[32];
    text_thousands(sum->files, files);
    text_thousands(sum->bytes, bytes);
    snprintf(out, 128, "%zu %s, %s %s, %s bytes", n, n == 1 ? "run" : "runs", files,
             sum->files == 1 ? "file" : "files", bytes);
}

/* Asks for confirmation.  *typed: the number of runs that the user typed, or that --yes confirms. */
static int ask_to_purge(const struct args *a, size_t n, const struct purge_sum *sum, int64_t *typed,
                        struct err *e) {
    char what[128], line[64];
    *typed = (int64_t)n;
    if (a->purge.yes) return 0;
    describe_purge(n, sum, what);
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
        return err_set(
            e, ERR_USAGE,
            "petri purge: not confirmed: %s would be deleted permanently; use --yes (nothing was deleted)",
            what);
    fprintf(stderr, "%s will be deleted permanently.  Type %zu to confirm: ", what, n);
    if (!fgets(line, sizeof line, stdin)) line[0] = '\0';
    line[strcspn(line, "\n")] = '\0';
    if (!text_to_int(line, typed) || *typed != (int64_t)n)
        return err_set(e, ERR_USAGE, "petri purge: not confirmed (expected %zu); nothing was deleted", n);
    return 0;
}

static void print_purged(const struct args *a, const int64_t *id, size_t n, const struct purge_sum *sum) {
    if (a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_ints(&b, "purged", id, n);
        json_put(&b, "files:%jd,bytes:%jd}", sum->files, sum->bytes);
        out_line(&b);
    } else {
        char what[128];
        describe_purge(n, sum, what);
        printf("%s deleted\n", what);
    }
}

/* Checked before the confirmation. */
static int must_be_trashed(struct store *s, int64_t id, struct err *e) {
    struct store_run run;
    int rc = store_run(s, id, &run, e);
    if (rc) return rc;
    bool trashed = run.trashed != 0;
    store_run_release(&run);
    if (trashed) return 0;
    return err_set(e, ERR_USAGE, "run %lld: not in the trash; move it there with petri trash %lld",
                   (long long)id, (long long)id);
}

/* Appends the runs of a list to *id. */
static int add_listed(struct store *s, const struct store_list *list, int64_t **id, size_t *n,
                      struct err *e) {
    struct store_runs runs;
    int rc = store_list(s, list, &runs, e);
    if (rc) return rc;
    *id = xrealloc(*id, *n + runs.count + 1, sizeof **id);
    for (size_t i = 0; i < runs.count; i++) (*id)[(*n)++] = runs.run[i].id;
    store_runs_release(&runs);
    return 0;
}

/* Finds the runs that lessons started, in the trash or not. */
static int lessons_to_purge(struct store *s, int64_t **id, size_t *n, struct err *e) {
    static const char tag[] = "tag=" STORE_LESSON_TAG;
    int rc = add_listed(s, &(struct store_list){ .filter = tag }, id, n, e);
    if (!rc) rc = add_listed(s, &(struct store_list){ .filter = tag, .trash = true }, id, n, e);
    return rc || *n ? rc : err_set(e, ERR_NOT_FOUND, "petri purge: no runs of lessons found");
}

/* Finds the given runs, or all in the trash; the caller frees *id. */
static int runs_to_purge(const struct args *a, struct store *s, int64_t **id, size_t *n, struct err *e) {
    *id = NULL;
    *n = 0;
    if (a->purge.lessons) return lessons_to_purge(s, id, n, e);
    if (!a->purge.all) {
        *id = xcalloc((size_t)a->count, sizeof **id);
        int rc = find_typed(s, a->positional, a->count, *id, n, e);
        for (size_t i = 0; !rc && i < *n; i++) rc = must_be_trashed(s, (*id)[i], e);
        return rc;
    }
    int rc = add_listed(s, &(struct store_list){ .trash = true }, id, n, e);
    return rc || *n ? rc : err_set(e, ERR_NOT_FOUND, "petri purge: the trash is empty");
}

int verb_purge(const struct args *a, struct err *e) {
    if (!a->count && !a->purge.all && !a->purge.lessons)
        return err_set(e, ERR_USAGE, "petri purge: requires RUN…, --all or --lessons");
    struct store *s;
    struct purge_sum sum;
    int64_t *id, typed;
    size_t n;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    rc = runs_to_purge(a, s, &id, &n, e);
    if (!rc) rc = purge_count(s, id, n, &sum, e);
    if (!rc) rc = ask_to_purge(a, n, &sum, &typed, e);
    if (!rc && a->purge.lessons) rc = store_trash(s, id, n, e);
    if (!rc) rc = purge_runs(s, id, n, typed, &sum, e);
    rc = verb_close(s, rc, e);
    if (!rc) print_purged(a, id, n, &sum);
    free(id);
    return rc;
}
