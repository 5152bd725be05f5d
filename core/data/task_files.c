#include "core/data/task_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void task_files_release(struct task_files *p) {
    free(p->train);
    for (int i = 0; i < TASK_DEVS; i++) free(p->dev[i]);
}

static char *first_there(const char *folder, const char *before, const char *stem,
                         const char *const *ending, size_t endings) {
    for (size_t i = 0; i < endings; i++) {
        char *path = xprintf("%s/%s%s%s", folder, before, stem, ending[i]);
        if (file_exists(path)) return path;
        free(path);
    }
    return NULL;
}

char *task_files_split(const char *folder, const char *stem) {
    static const char *const ending[] = { ".tsv", ".csv", ".jsonl" };
    return first_there(folder, "", stem, ending, COUNT_OF(ending));
}

/* SciTail is a folder of folders, each with the same examples in another format. */
static char *scitail_split(const char *folder, const char *stem) {
    static const char *const before[] = { "tsv_format/scitail_1.0_", "scitail_1.0_",
                                         "snli_format/scitail_1.0_",
                                         "predictor_format/scitail_1.0_structure_",
                                         "scitail_1.0_structure_" },
                             *const ending[] = { ".tsv", ".txt", ".jsonl" };
    char *path = NULL;
    for (size_t i = 0; !path && i < COUNT_OF(before); i++)
        path = first_there(folder, before[i], stem, ending, COUNT_OF(ending));
    return path;
}

static char *find_split(const struct task_files *p, const char *folder, const char *stem) {
    char *path = task_files_split(folder, stem);
    if (!path && p->layout && p->layout->scitail) path = scitail_split(folder, stem);
    return path;
}

static void task_files_add_dev(struct task_files *p, const char *folder, const char *stem) {
    char *path = find_split(p, folder, stem);
    if (!path) return;
    p->dev[p->devs] = path;
    p->dev_name[p->devs++] = stem;
}

static void add_devs(struct task_files *p, const char *folder) {
    static const char *const usual[] = { "dev", "val", "valid", "validation" };
    task_files_add_dev(p, folder, "dev_matched");
    task_files_add_dev(p, folder, "dev_mismatched");
    for (size_t i = 0; i < COUNT_OF(usual) && !p->devs; i++) task_files_add_dev(p, folder, usual[i]);
}

bool task_folder_has_dev(const char *folder) {
    struct task_files p = { 0 };
    add_devs(&p, folder);
    bool any = p.devs > 0;
    task_files_release(&p);
    return any;
}

/* Returns the folder of `where`; caller frees; NULL with *e. */
static char *find_folder(const struct task_source *s, struct err *e) {
    if (file_is_folder(s->where)) return xstrdup(s->where);
    char *inside = xprintf("tasks/%s", s->where), *path = NULL;
    if (file_name_is_safe(s->where)) path = s->assets ? file_join(s->assets, inside) : assets_find(inside);
    free(inside);
    if (path && file_is_folder(path)) return path;
    free(path);
    if (file_exists(s->where)) {
        err_set(e, ERR_USAGE, "%s: a file, not a task; use a task name or folder, or --train for a file",
                s->where);
        return NULL;
    }
    char **names;
    size_t n = task_names(s->assets, &names);
    const char *near = text_nearest(s->where, (const char *const *)names, n);
    err_set(e, ERR_NOT_FOUND, "%s: task or folder not found%s%s%s", s->where,
            near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    for (size_t i = 0; i < n; i++) free(names[i]);
    free(names);
    return NULL;
}

/* Explicit column names exclude a known layout. */
static bool columns_named(const struct task_source *s) {
    return s->text || s->text_b || s->label || s->source;
}

/* Returns whether the training file is read, possibly only for held-out examples. */
static bool wants_train(const struct task_source *s) {
    return !s->no_train || s->split > 0 || s->split_validation;
}

static int files_of_folder(struct task_files *p, const struct task_source *s, char **name, struct err *e) {
    if (s->no_dev && (s->official_dev || s->split_validation))
        return err_set(e, ERR_USAGE,
                       "--no-dev ignores the validation set, but %s uses it; use only one of them",
                       s->split_validation ? "--split-validation" : "--official-dev");
    if (s->format == DATA_LINES)
        return err_set(e, ERR_USAGE,
                       "--form masked: needs a file with one text per line (--train FILE), not the task %s",
                       s->where);
    char *folder = find_folder(s, e);
    if (!folder) return e->code;
    *name = file_base_name(folder);
    if (!columns_named(s)) p->layout = layout_find(*name);
    if (p->layout) {
        free(*name);
        *name = xstrdup(p->layout->name);
    }
    if (wants_train(s)) p->train = find_split(p, folder, "train");
    if (s->official_dev || s->split_validation) task_files_add_dev(p, folder, "dev_official");
    if (!s->no_dev && !s->official_dev && !p->devs) add_devs(p, folder);
    int rc = 0;
    if (!p->train && wants_train(s))
        rc = err_set(e, ERR_NOT_FOUND, "%s: train.tsv, train.csv or train.jsonl is missing", folder);
    else if (p->devs && s->split > 0)
        rc = err_set(
            e, ERR_USAGE,
            "--split: %s already has a validation set, %s; omit --split, or ignore that set with --no-dev",
            folder, p->dev[0]);
    else if (!p->devs && !s->no_dev && !(s->split > 0))
        rc = err_set(e, ERR_NOT_FOUND, "%s: %s.tsv, .csv or .jsonl is missing%s", folder,
                     s->official_dev ? "dev_official" : "dev",
                     s->official_dev
                         ? ""
                         : " (val and validation are searched as well); --split 10% holds out a part of "
                           "the training set");
    free(folder);
    return rc;
}

static int files_named(struct task_files *p, const struct task_source *s, char **name, struct err *e) {
    if (!s->train && !s->dev) return err_set(e, ERR_USAGE, "a task or a file is required: use --task, or "
                                                           "--train or --dev");
    *name = file_base_name(s->train ? s->train : s->dev);
    char *dot = strrchr(*name, '.');
    if (dot && dot != *name) *dot = '\0';
    if (s->dev && s->split > 0)
        return err_set(e, ERR_USAGE, "--split: the validation set is %s (--dev); use only one of them",
                       s->dev);
    if (!s->dev && s->split_validation)
        return err_set(e, ERR_USAGE,
                       "--split-validation: needs a validation set; give its file with --dev");
    if (!s->train && s->split_validation)
        return err_set(
            e, ERR_USAGE,
            "--split-validation: needs the training set (--train), whose size determines the split");
    if (s->train && wants_train(s)) p->train = xstrdup(s->train);
    if (s->dev) {
        p->dev[0] = xstrdup(s->dev);
        p->dev_name[p->devs++] = "dev";
    }
    return 0;
}

/* Returns the layout of a JSON Lines file by the keys of its first example, or NULL. */
static const struct layout *layout_of_file(const char *path) {
    char *line = NULL;
    size_t room = 0;
    FILE *f = text_ends(path, ".jsonl") || text_ends(path, ".ndjson") ? fopen(path, "r") : NULL;
    ssize_t n = f ? getline(&line, &room, f) : -1;
    json_t *o = n > 0 && n < DATASET_LINE ? json_parse("", line, (size_t)n, NULL) : NULL;
    const struct layout *l = json_is_object(o) ? layout_of_keys(o) : NULL;
    json_decref(o);
    free(line);
    if (f) fclose(f);
    return l;
}

int task_files_find(struct task_files *p, const struct task_source *s, char **name, struct err *e) {
    memset(p, 0, sizeof *p);
    int rc = s->where ? files_of_folder(p, s, name, e) : files_named(p, s, name, e);
    if (!rc && !p->layout && !columns_named(s) && (s->format == DATA_AUTO || s->format == DATA_JSONL))
        p->layout = layout_of_file(p->train ? p->train : p->dev[0]);
    if (p->layout && !s->where && s->kind != DATA_KIND_AUTO && s->kind != p->layout->kind) p->layout = NULL;
    return rc;
}
