/* The tasks of jobs: examples are read and encoded once for all runs that share them. */
#include <stdlib.h>
#include <string.h>

#include "app/history/task_results.h"
#include "app/jobs/jobs_private.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

/* The key: data files and the settings with which they are read and encoded. */
static char *rows_key(const struct model *m, const struct run_config *c) {
    char *rows = config_data_key(c), *key = xprintf("%s\n%s", m->fingerprint, rows);
    free(rows);
    return key;
}

static void job_tasks_add_state(struct buf *b, const struct shared_task *t, const struct dataset *d) {
    char *folder = xstrdup(d->path), *slash = strrchr(folder, '/');
    file_stamp(d->path, b);
    if (slash) *slash = '\0';
    if (t->of_folder) file_stamp(slash ? folder : ".", b); /* an added or removed split */
    free(folder);
}

/* Describes the state of a task's files, so that a change of a file or of its folder is detected. */
static char *files_state(const struct shared_task *t) {
    struct buf b = BUF_INIT;
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    int n = task_splits(&t->task, split, name);
    for (int i = 0; i < n; i++) job_tasks_add_state(&b, t, split[i]);
    return buf_take(&b);
}

/* Returns whether the task has the key, with unchanged files. */
static bool is_right(const struct shared_task *t, const char *key) {
    if (strcmp(t->key, key) && (!t->frozen_key || strcmp(t->frozen_key, key))) return false;
    char *now = files_state(t);
    bool same = !strcmp(now, t->state);
    free(now);
    return same;
}

static struct shared_task *take_task(struct jobs *j, struct model *m, const struct run_config *c,
                                     struct err *e) {
    const struct task_source s = config_source(c, NULL);
    char *key = rows_key(m, c);
    pthread_mutex_lock(&j->lock);
    struct shared_task *t = j->tasks;
    while (t && !is_right(t, key)) t = t->next;
    if (t) t->users++;
    pthread_mutex_unlock(&j->lock);
    if (t) {
        free(key);
        return t;
    }
    if (model_needs_tokenizer(m, e)) {
        free(key);
        return NULL;
    }
    t = xcalloc(1, sizeof *t);
    t->key = key;
    t->users = 1;
    int rc = task_open(&t->task, &s, e);
    if (!rc && (rc = run_prepare_task(c, m, &t->task, e))) task_release(&t->task);
    if (rc) {
        free(key);
        free(t);
        return NULL;
    }
    t->of_folder = s.where != NULL;
    t->state = files_state(t);
    pthread_mutex_lock(&j->lock);
    struct shared_task *before = j->tasks && !j->tasks->users ? j->tasks : NULL; /* cached as the latest */
    t->next = before ? before->next : j->tasks;
    j->tasks = t;
    pthread_mutex_unlock(&j->lock);
    if (before) jobs__task_free(before);
    return t;
}

void jobs__task_free(struct shared_task *t) {
    task_release(&t->task);
    free(t->key);
    free(t->frozen_key);
    free(t->state);
    free(t);
}

static void jobs_job_tasks_done(struct jobs *j, struct shared_task *t) {
    pthread_mutex_lock(&j->lock);
    /* the latest task is cached for the next run */
    bool unused = --t->users == 0 && t != j->tasks;
    if (unused) {
        struct shared_task **at = &j->tasks;
        while (*at != t) at = &(*at)->next;
        *at = t->next;
    }
    pthread_mutex_unlock(&j->lock);
    if (!unused) return;
    jobs__task_free(t);
}

/* Registers a task that was requested by name under the files that the name resolved to. */
static void know(struct jobs *j, struct shared_task *t, const struct model *m, const struct run_config *c) {
    char *key = rows_key(m, c);
    pthread_mutex_lock(&j->lock);
    free(t->frozen_key);
    t->frozen_key = key;
    pthread_mutex_unlock(&j->lock);
}

/* ---- all tasks of a run ---- */

int job_tasks_take(struct jobs *j, struct model *m, const struct run_config *c, struct job_tasks *out,
                   struct err *e) {
    int n = config_task_count(c);
    *out = (struct job_tasks){ 0 };
    out->of = xcalloc((size_t)n + 1, sizeof *out->of);
    out->task = xcalloc((size_t)n + 1, sizeof *out->task);
    out->episodes = config_is_meta(c);
    for (int i = 0; i < n; i++) {
        struct run_config one;
        config_of_task(c, i, &one);
        struct shared_task *t = take_task(j, m, &one, e);
        config_release(&one);
        if (!t) {
            if (c->tasks) err_prefix(e, "task %s", config_task_name(c, i));
            job_tasks_done(j, out);
            return e->code;
        }
        out->of[i] = t;
        out->task[i] = &t->task;
        out->count++;
    }
    return 0;
}

void job_tasks_done(struct jobs *j, struct job_tasks *tasks) {
    for (int i = 0; i < tasks->count; i++) jobs_job_tasks_done(j, tasks->of[i]);
    free(tasks->of);
    free(tasks->task);
    *tasks = (struct job_tasks){ 0 };
}

void job_tasks_know(struct jobs *j, const struct job_tasks *tasks, const struct model *m,
                    const struct run_config *c) {
    for (int i = 0; i < tasks->count; i++) {
        struct run_config one;
        config_of_task(c, i, &one);
        know(j, tasks->of[i], m, &one);
        config_release(&one);
    }
}

struct run_tasks job_tasks_of(const struct job_tasks *tasks) {
    return (struct run_tasks){ tasks->count, tasks->task };
}

const char *job_tasks_split(const struct job_tasks *tasks) {
    if (tasks->episodes) return "episodes";
    if (tasks->count > 1) return ALL_TASKS_SPLIT;
    return tasks->task[0]->devs ? task_split(tasks->task[0], 0) : NULL;
}
