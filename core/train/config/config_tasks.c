/* The tasks of a multi-task config (config.h). */
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/task.h"
#include "core/method/plan.h"
#include "core/train/config/config.h"
#include "core/train/config/option.h"

enum { LIST_BYTES = 1 << 20 };

bool config_has_data(const struct run_config *c) {
    bool stands_for_corpus = c->task && !strncmp(c->task, "smlmt:", 6);
    return c->tasks || c->task_folder || c->train_file || c->dev_file || (c->task && !stands_for_corpus);
}

int config_task_count(const struct run_config *c) {
    return c->tasks ? c->tasks : c->episodes && !config_has_data(c) ? 0 : 1;
}

struct run_config *config_data(struct run_config *c, int i) { return c->tasks ? &c->of[i] : c; }
const struct run_config *config_data_of(const struct run_config *c, int i) {
    return c->tasks ? &c->of[i] : c;
}

const char *config_task_name(const struct run_config *c, int i) { return c->tasks ? c->of[i].task_name : ""; }

static int config_tasks_find(const struct run_config *c, const char *name) {
    int i = 0;
    while (i < c->tasks && strcmp(c->of[i].task_name, name)) i++;
    return i < c->tasks ? i : -1;
}

/* "alpha, beta"; caller frees. */
static char *config_tasks_names(const struct run_config *c) {
    struct buf list = BUF_INIT;
    for (int i = 0; i < c->tasks; i++) buf_printf(&list, "%s%s", i ? ", " : "", c->of[i].task_name);
    return buf_take(&list);
}

int config_task_find(const struct run_config *c, const char *name, struct err *e) {
    int found = name ? config_tasks_find(c, name) : -1;
    if (found >= 0) return found;
    char *list = config_tasks_names(c);
    if (c->tasks && !name)
        err_set(e, ERR_USAGE, "--task: required for a multi-task run; choose one of %s", list);
    else if (c->tasks) err_set(e, ERR_USAGE, "--task %s: unknown task; the run has %s", name, list);
    else
        err_set(e, ERR_USAGE, "--task %s: not applicable: the run has one task, %s", name,
                c->task ? c->task : "unnamed");
    free(list);
    return -1;
}

void config_of_task(const struct run_config *c, int i, struct run_config *out) {
    struct run_config one = *c;
    one.of = NULL;
    one.tasks = 0;
    config_copy(out, &one);
    if (!c->tasks) return;
    for (size_t k = 0; k < option_count(); k++) {
        const struct option *o = option_at(k);
        if (o->scope == OPTION_OF_TASKS) option_reset(out, o);
        else if (o->is & OPTION_ROWS) option_copy(out, &c->of[i], o);
    }
}

/* ---- reading --tasks ---- */

static void take_each(struct run_config *of, const struct run_config *c) {
    for (size_t i = 0; i < option_count(); i++)
        if (option_at(i)->is & OPTION_EACH) option_copy(of, c, option_at(i));
}

static struct run_config *config_tasks_add(struct run_config *c) {
    c->of = xrealloc(c->of, (size_t)c->tasks + 1, sizeof *c->of);
    struct run_config *of = &c->of[c->tasks++];
    config_init(of);
    take_each(of, c);
    return of;
}

void config_copy_each(struct run_config *c) {
    for (int i = 0; i < c->tasks; i++) take_each(&c->of[i], c);
}

/* Sets the name of a task and takes ownership of it; it must be valid in events, file names and columns. */
static int name_task(struct run_config *c, struct run_config *of, char *name, struct err *e) {
    of->task_name = name;
    of->task_weight = 1;
    bool good = *name && strlen(name) < PLAN_TASK && utf8_valid(name, strlen(name));
    for (const char *s = name; *s && good; s++) good = (unsigned char)*s > ' ' && !strchr("/.,=:\"'", *s);
    if (!good) {
        char *shown = text_visible(name, strlen(name));
        err_set(e, ERR_USAGE,
                "--tasks: invalid task name \"%.80s\": must have at most %d bytes, without spaces, quotes "
                "and / . , = :; set \"name\" in a list file",
                shown, PLAN_TASK - 1);
        free(shown);
        return e->code;
    }
    for (int i = 0; &c->of[i] < of; i++)
        if (!strcmp(c->of[i].task_name, name))
            return err_set(
                e, ERR_USAGE,
                "--tasks: duplicate task name %s; set a different \"name\" in a list file",
                name);
    return 0;
}

int config_add_task(struct run_config *c, const struct run_config *rows, const char *name, struct err *e) {
    if (c->tasks == RUN_TASKS) return err_set(e, ERR_USAGE, "--tasks: more than %d tasks", RUN_TASKS);
    for (size_t k = 0; k < option_count() && !c->tasks; k++)
        if (option_of_one_task(option_at(k))) option_reset(c, option_at(k));
    struct run_config *of = config_tasks_add(c);
    config_take_data(of, rows);
    return name_task(c, of, xstrdup(name), e);
}

void config_put_task(struct run_config *c, int i, const struct run_config *one) {
    for (size_t k = 0; k < option_count(); k++) {
        const struct option *o = option_at(k);
        bool of_all = o->scope == OPTION_OF_TASKS || o->offset == offsetof(struct run_config, task_name) ||
                      o->offset == offsetof(struct run_config, task_weight);
        if (o->is & OPTION_ROWS && !of_all) option_copy(config_data(c, i), one, o);
    }
}

static int config_tasks_read_names(struct run_config *c, const char *text, struct err *e) {
    char *copy = xstrdup(text), *rest = copy, *part;
    int rc = 0;
    while (!rc && (part = text_item(&rest))) {
        if (!*part) rc = err_set(e, ERR_USAGE, "--tasks %s: empty name", text);
        else if (c->tasks == RUN_TASKS) rc = err_set(e, ERR_USAGE, "--tasks: more than %d tasks", RUN_TASKS);
        if (rc) break;
        struct run_config *of = config_tasks_add(c);
        of->task = xstrdup(part);
        rc = name_task(c, of, file_base_name(part), e);
    }
    free(copy);
    return rc;
}

/* Returns a path relative to the list file; caller frees. */
static char *config_tasks_beside(const char *list, const char *path) {
    const char *slash = strrchr(list, '/');
    if (*path == '/' || !slash) return xstrdup(path);
    char *folder = xstrndup(list, (size_t)(slash - list)), *full = file_join(folder, path);
    free(folder);
    return full;
}

/* Keys of an entry of a list file besides its name, and the options that they set. */
static const struct {
    const char *key, *option;
    bool path;
} config_tasks_known[] = {
    { "task", "task", true },           { "train", "train", true },   { "dev", "dev", true },
    { "text", "text", false },          { "text_b", "text-b", false }, { "label", "label", false },
    { "source", "source", false },      { "target", "target", false }, { "kind", "kind", false },
    { "metric", "metric", false },      { "positive", "positive", false }, { "no_gold", "unlabeled", false },
    { "delimiter", "delimiter", false }, { "header", "header", false }, { "no_header", "no-header", false },
};

static int config_tasks_read_member(struct run_config *of, const char *list, const char *key,
                                    const char *value, struct err *e) {
    struct buf keys = BUF_INIT;
    for (size_t i = 0; i < COUNT_OF(config_tasks_known); i++) {
        buf_printf(&keys, ", %s", config_tasks_known[i].key);
        if (strcmp(config_tasks_known[i].key, key)) continue;
        char *path = config_tasks_known[i].path ? config_tasks_beside(list, value) : NULL;
        /* a task's name is not a path where the list has no such folder next to it */
        bool name = path && !strcmp(key, "task") && !file_exists(path);
        int rc = config_set(of, config_tasks_known[i].option, path && !name ? path : value, e);
        free(path);
        buf_release(&keys);
        return rc;
    }
    err_set(e, ERR_INPUT, "unknown key \"%s\"; valid keys: name%s", key, buf_text(&keys));
    buf_release(&keys);
    return e->code;
}

static int read_entry(struct run_config *c, const char *list, const json_t *o, struct err *e) {
    const char *key, *name = NULL;
    json_t *value;
    if (!json_is_object(o)) return err_set(e, ERR_INPUT, "must be a JSON object");
    struct run_config *of = config_tasks_add(c);
    json_object_foreach((json_t *)o, key, value) {
        if (!json_is_string(value)) return err_set(e, ERR_INPUT, "\"%s\": must be a string", key);
        if (!strcmp(key, "name")) name = json_string_value(value);
        else if (config_tasks_read_member(of, list, key, json_string_value(value), e)) return e->code;
    }
    if (!of->task == !of->train_file)
        return err_set(e, ERR_INPUT, "must have either \"task\", or \"train\" and \"dev\"");
    if (!name && of->train_file) return err_set(e, ERR_INPUT, "missing \"name\"");
    return name_task(c, of, name ? xstrdup(name) : file_base_name(of->task), e);
}

static int config_tasks_read_list(struct run_config *c, const char *path, struct err *e) {
    json_t *all = json_read(path, LIST_BYTES, e), *item;
    size_t i;
    if (!all) return e->code;
    int rc = json_is_array(all) ? 0 : err_set(e, ERR_INPUT, "%s: must be a JSON array of tasks", path);
    if (!rc && json_array_size(all) > RUN_TASKS)
        rc = err_set(e, ERR_INPUT, "%s: too many tasks: %zu; the maximum is %d", path, json_array_size(all),
                     RUN_TASKS);
    json_array_foreach(all, i, item) {
        if (rc) break;
        if ((rc = read_entry(c, path, item, e))) rc = err_prefix(e, "%s: task %zu", path, i + 1);
    }
    json_decref(all);
    return rc;
}

static int read_weight(struct run_config *c, char *part, bool *said, struct err *e) {
    char *equals = strchr(part, '=');
    double v = 0;
    if (!equals || !text_to_double(equals + 1, &v) || !(v > 0) || v > 1e9)
        return err_set(e, ERR_USAGE, "--weights %s: must be TASK=NUMBER pairs with numbers above 0, for "
                                     "example rte=2,cola=0.5", c->weights);
    *equals = 0;
    int i = config_tasks_find(c, part);
    if (i < 0) {
        char *list = config_tasks_names(c);
        err_set(e, ERR_USAGE, "--weights %s: unknown task %s; the run has %s", c->weights, part, list);
        free(list);
        return e->code;
    }
    if (said[i]) return err_set(e, ERR_USAGE, "--weights %s: duplicate task %s", c->weights, part);
    said[i] = true;
    c->of[i].task_weight = v;
    return 0;
}

/* --weights: "rte=2,cola=0.5". */
static int read_weights(struct run_config *c, struct err *e) {
    char *copy = c->weights ? xstrdup(c->weights) : NULL, *rest = copy, *part;
    bool said[RUN_TASKS] = { false };
    int rc = 0;
    while (!rc && (part = text_item(&rest))) rc = read_weight(c, part, said, e);
    free(copy);
    return rc;
}

/* Refuses options that describe the data of one task. */
static int refuse_of_one(const struct run_config *c, struct err *e) {
    struct run_config usual;
    const struct option *found = NULL;
    config_init(&usual);
    for (size_t i = 0; i < option_count() && !found; i++) {
        const struct option *o = option_at(i);
        if (o->name && option_of_one_task(o) && !option_same(c, &usual, o)) found = o;
    }
    config_release(&usual);
    if (!found) return 0;
    return err_set(e, ERR_USAGE,
                   "--%s: applies to a single task; with --tasks set it per task in a list file "
                   "(docs/tasks.md)",
                   found->name);
}

int config_set_tasks(struct run_config *c, const char *text, struct err *e) {
    bool list = text_ends(text, ".json") && file_exists(text);
    BUG_IF(c->tasks);
    if (refuse_of_one(c, e)) return e->code;
    char *given = list ? realpath(text, NULL) : xstrdup(text);
    if (!given) return err_set(e, ERR_SYSTEM, "%s: cannot resolve the path", text);
    free(c->tasks_given);
    c->tasks_given = given;
    int rc = list ? config_tasks_read_list(c, given, e) : config_tasks_read_names(c, given, e);
    if (!rc && c->tasks < 2)
        rc = err_set(e, ERR_USAGE, "--tasks %s: must name at least two tasks; use --task for one", given);
    return rc ? rc : read_weights(c, e);
}

/* ---- changing them ---- */

static bool is_none(const char *text) { return !*text || !strcmp(text, "none"); }

/* Makes c a single-task config with the data of its first task. */
static void take_first(struct run_config *c) {
    struct run_config one;
    if (!c->tasks) return;
    config_of_task(c, 0, &one);
    xreplace(&one.task_name, NULL);
    one.task_weight = 0;
    config_take_data(c, &one);
    config_release(&one);
}

/* Resets the data options of single tasks; those for all tasks are preserved. */
static void forget_rows(struct run_config *c) {
    config_drop_tasks(c);
    for (size_t k = 0; k < option_count(); k++)
        if (option_of_one_task(option_at(k))) option_reset(c, option_at(k));
}

int config_take_tasks(struct run_config *c, const char *text, struct err *e) {
    struct run_config next;
    char *given = xstrdup(text); /* it may point into *c */
    config_copy(&next, c);
    int rc = 0;
    if (is_none(given)) {
        take_first(&next);
    } else {
        char *weights = next.weights;
        next.weights = NULL;
        forget_rows(&next);
        rc = config_set_tasks(&next, given, e);
        struct err other = ERR_INIT;
        if (!rc && weights)
            config_take_weights(&next, weights, &other); /* dropped where they name other tasks */
        free(weights);
    }
    free(given);
    if (rc) {
        config_release(&next);
        return rc;
    }
    config_release(c);
    *c = next;
    return 0;
}

int config_take_weights(struct run_config *c, const char *text, struct err *e) {
    struct run_config next;
    config_copy(&next, c);
    for (int i = 0; i < next.tasks; i++) next.of[i].task_weight = 1;
    xreplace(&next.weights, is_none(text) ? NULL : text);
    int rc = read_weights(&next, e);
    if (rc) {
        config_release(&next);
        return rc;
    }
    config_release(c);
    *c = next;
    return 0;
}
