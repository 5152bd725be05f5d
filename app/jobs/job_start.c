/* Starting a run: model, task, method and options are checked and fixed, the record is created, then the
 * run is queued, and built when its turn comes.  An error leaves nothing behind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/backbone.h"
#include "app/history/moved.h"
#include "app/history/opened.h"
#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/jobs/jobs_private.h"
#include "app/jobs/starts.h"
#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/plan.h"
#include "core/train/config/complete.h"
#include "core/train/run/distil.h"
#include "core/train/run/head.h"

void request_copy(struct job_request *to, const struct job_request *from) {
    *to = *from;
    config_copy(&to->config, &from->config);
    to->note = xcopy(from->note);
    to->name = xcopy(from->name);
    to->cell = xcopy(from->cell);
}

static void request_release(struct job_request *r) {
    config_release(&r->config);
    free((char *)r->note);
    free((char *)r->name);
    free((char *)r->cell);
}

void job_drop_request(struct job_record *job) {
    if (!job->request) return;
    request_release(job->request);
    free(job->request);
    job->request = NULL;
}

/* Teachers of a new run, one per task; count 0: none. */
struct job_teachers {
    int count;
    int64_t run[RUN_TASKS];
    char *path[RUN_TASKS]; /* paths of their checkpoints */
};

/* Appends the teachers, as a member of the run's config. */
static int job_start_say_teachers(struct jobs *j, const struct job_teachers *s, struct buf *b,
                                  struct err *e) {
    int rc = 0;
    buf_printf(b, "%s\"taught_by\":[", b->size ? "," : "");
    for (int i = 0; !rc && i < s->count; i++) {
        if (i) buf_putc(b, ',');
        rc = job_starts_say_one(j->store, s->run[i], b, e);
    }
    buf_putc(b, ']');
    return rc;
}

static int job_start_create_row(struct job_record *job, const struct job_starts *s,
                                const struct job_teachers *h, const struct run_config *c,
                                const struct plan *p, const struct model *m, const struct job_tasks *t,
                                int64_t *id, struct err *e) {
    struct jobs *j = job->jobs;
    const struct job_request *r = job->request;
    const struct run_tasks tasks = job_tasks_of(t);
    struct history_row row = { .split = job_tasks_split(t),
                               .steps = c->steps,
                               .parent = r->parent,
                               .sweep = r->sweep,
                               .note = r->note,
                               .name = r->name,
                               .cell = r->cell,
                               .tag = r->tag,
                               .tasks = &tasks };
    struct buf more = BUF_INIT;
    int rc = s->count ? job_starts_say(s, j->store, &more, e) : 0;
    if (!rc && h->count) rc = job_start_say_teachers(j, h, &more, e);
    if (more.size) row.more = buf_text(&more);
    if (!rc) job_room_estimate(job, p, m, t, &row);
    if (!rc) rc = run_row_create(j->store, c, p, &row, id, e);
    buf_release(&more);
    return rc;
}

/* ---- preparing a request ---- */

struct job_record *job_new(struct jobs *j) {
    struct job_record *job = xcalloc(1, sizeof *job);
    job->jobs = j;
    job->last = (struct run_progress){ .state = RUN_QUEUED, .loss = NAN };
    return job;
}

void job_free(struct job_record *job) {
    job_drop_request(job);
    free(job->why);
    free(job->method);
    free(job->task_name);
    free(job->reason);
    series_free(job->series);
    free(job);
}

void job_describe(struct job_record *job, const struct run_config *c) {
    job->method = method_text(&c->method);
    job->task_name = xstrdup(c->task);
    job->seed = c->seed;
    job->last.steps = c->steps;
}

/* Writes the import report, and what happens to the classification head of the model's folder. */
static void tell_report(struct jobs *j, const struct model *m, const struct run_config *c,
                        const struct job_tasks *t) {
    struct buf report = BUF_INIT, head = BUF_INIT;
    buf_puts(&report, buf_text(&m->report));
    for (int i = 0; i < t->count; i++) {
        int *row = xcalloc((size_t)run_outputs(t->task[i]) + 1, sizeof *row);
        if (c->tasks) text_line(&report, "task %s:", config_task_name(c, i));
        size_t before = head.size;
        head_rows(m, t->task[i], row, &head);
        if (head.size > before) buf_puts(&report, buf_text(&head) + before);
        task_report(t->task[i], &report);
        free(row);
    }
    if (j->hook.report) {
        j->hook.report(j->hook.self, buf_text(&report));
        buf_release(&report);
        buf_release(&head);
        return;
    }
    if (!job_tasks_split(t))
        buf_puts(&head, "no validation set: the run is not evaluated while it trains; use --split to hold "
                        "out examples\n");
    if (head.size) {
        head.data[head.size - 1] = '\0'; /* its newline */
        jobs__say(j, head.data);
    }
    buf_release(&report);
    buf_release(&head);
}

bool job_taken_back(struct job_record *job) {
    pthread_mutex_lock(&job->jobs->lock);
    bool stop = job->stop;
    pthread_mutex_unlock(&job->jobs->lock);
    return stop;
}

void job_keep(struct jobs *j, struct model *m, const struct job_tasks *t) {
    static const struct job_tasks none;
    pthread_mutex_lock(&j->lock);
    struct model *old = j->cached_model;
    struct job_tasks old_tasks = j->kept_tasks;
    j->cached_model = m;
    j->kept_tasks = t ? *t : none;
    pthread_mutex_unlock(&j->lock);
    job_tasks_done(j, &old_tasks);
    model_release(old);
}

/* Completes and checks a new run's config; returns its plan (plan_free), or NULL with *e. */
static struct plan *job_start_settle(struct run_config *c, const struct model *m,
                                     const struct run_tasks *tasks, struct err *e) {
    if (config_complete(c, m, tasks, e) || run_check(c, m, tasks, e)) return NULL;
    return run_plan_for(c, tasks, &m->arch, e);
}

int jobs_complete(struct jobs *j, struct run_config *c, int64_t *trained, struct err *e) {
    struct model *m = model_share_as(c->model_folder ? c->model_folder : c->model, c->weights_in, e);
    if (!m) return e->code;
    struct job_tasks t;
    int rc = job_tasks_take(j, m, c, &t, e);
    const struct run_tasks tasks = job_tasks_of(&t);
    struct plan *p = rc ? NULL : job_start_settle(c, m, &tasks, e);
    if (p) {
        *trained = (int64_t)p->trained_method;
        job_tasks_know(j, &t, m, c);
        job_keep(j, m, &t);
        plan_free(p);
        return 0;
    }
    job_tasks_done(j, &t);
    model_release(m);
    return e->code;
}

/* Checks that a teacher has the same task, as far as the names tell, and the same labels. */
static int check_teacher(struct job_record *job, int64_t run, const char *path, const struct run_config *c,
                         int task, struct model *m, const struct plan *p, const struct job_tasks *t,
                         struct err *e) {
    struct store_run record;
    struct predictor *x = predictor_open(path, NULL, m, e);
    if (!x) return e->code;
    int rc = distil_fits(x, run, p, task, t->task[task], e);
    predictor_free(x);
    if (!rc) rc = store_run(job->jobs->store, run, &record, e);
    if (rc) return rc;
    const char *own = config_data_of(c, task)->task;
    if (record.task && own && strcmp(record.task, own))
        rc = err_set(
            e, ERR_USAGE,
            "--teachers: run %lld was trained on %s, but task %d of this run is %s; give the teachers in the "
            "order of the tasks",
            (long long)run, record.task, task + 1, own);
    store_run_release(&record);
    return rc;
}

static int open_teachers(struct job_record *job, struct job_teachers *s, const struct run_config *c,
                         struct model *m, const struct plan *p, const struct job_tasks *t, struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && c->teachers && i < c->teachers->count; i++) {
        s->run[i] = c->teachers->run[i];
        char *path = opened_checkpoint(job->jobs->store, s->run[i], NULL, NULL, e);
        if (!path) return e->code;
        s->path[s->count++] = path;
        rc = check_teacher(job, s->run[i], path, c, i, m, p, t, e);
    }
    return rc;
}

/* Copies all files that the run uses of other runs into its folder. */
static int keep_starts(struct job_record *job, const struct job_starts *s, const struct job_teachers *h,
                       const struct run_config *c, int64_t id, struct err *e) {
    char *folder = store_run_folder(job->jobs->store, id);
    int rc = job_starts_keep(s, c, folder, e);
    for (int i = 0; !rc && i < h->count; i++) rc = distil_keep(h->path[i], folder, h->run[i], e);
    free(folder);
    if (!rc) return 0;
    store_change(job->jobs->store,
                 &(struct store_change){ .run = id, .state = STORE_FAILED, .reason = e->text });
    store_disown(job->jobs->store, id, NULL);
    return rc;
}

/* Finds the runs from which the method's modules are initialized, the first of which becomes the parent, or
 * the requested parent. */
static int take_starts(struct job_request *r, struct job_starts *s, struct err *e) {
    job_starts_of(&r->config.method, s);
    if (s->said && r->from_parent && (s->count > 1 || r->parent != s->run[0]))
        return err_set(e, ERR_USAGE, "--from %lld: the method has init=run(%lld); give the same run",
                       (long long)r->parent,
                       (long long)(r->parent != s->run[0] ? s->run[0] : s->run[1]));
    if (s->said) {
        r->parent = s->run[0];
        r->from_parent = true;
    } else if (r->from_parent) {
        s->run[0] = r->parent;
        s->count = 1;
    }
    return 0;
}

/* Creates a new run; model and data have been read. */
static int freeze(struct job_record *job, struct model *m, const struct job_tasks *t, struct err *e) {
    struct jobs *j = job->jobs;
    struct run_config *c = &job->request->config;
    const struct run_tasks tasks = job_tasks_of(t);
    struct job_starts starts = { .count = 0 };
    struct job_teachers teachers = { .count = 0 };
    if (take_starts(job->request, &starts, e)) return e->code;
    struct plan *p = job_start_settle(c, m, &tasks, e);
    if (!p) return e->code;
    int64_t id;
    int rc = job_room_take(job, m, t, e);
    if (!rc) rc = job_starts_open(&starts, job->jobs->store, m, p, e);
    if (!rc) rc = open_teachers(job, &teachers, c, m, p, t, e);
    if (!rc && job_taken_back(job))
        rc = err_set(e, ERR_INTERRUPTED, "canceled before the run was created");
    else if (!rc) rc = job_start_create_row(job, &starts, &teachers, c, p, m, t, &id, e);
    plan_free(p);
    if (!rc && (starts.count || teachers.count)) rc = keep_starts(job, &starts, &teachers, c, id, e);
    for (int i = 0; i < teachers.count; i++) free(teachers.path[i]);
    job_starts_release(&starts);
    if (rc) return rc;
    job_tasks_know(j, t, m, c);
    tell_report(j, m, c, t);
    pthread_mutex_lock(&j->lock);
    job->id = id;
    pthread_mutex_unlock(&j->lock);
    return 0;
}

/* Finds the model and data of a stored run, and updates the paths in the config. */
static struct model *find_model(struct job_record *job, struct err *e) {
    struct run_config *c = &job->request->config;
    struct buf said = BUF_INIT;
    moved_rows(c, store_path(job->jobs->store), &said);
    struct model *m = backbone_open(c, &(struct backbone_hint){ .given = job->given }, &said, e);
    job->given = NULL;
    if (m && strcmp(m->folder, c->model_folder)) {
        char *full = realpath(m->folder, NULL);
        free(c->model_folder);
        c->model_folder = full ? full : xstrdup(m->folder);
    }
    if (said.size) {
        for (char *line = said.data, *next; (next = strchr(line, '\n')); line = next + 1) {
            *next = '\0';
            jobs__say(job->jobs, line);
        }
    }
    buf_release(&said);
    return m;
}

/* Prepares a request; model and data are cached for building the run. */
static int job_start_prepare(struct job_record *job, struct err *e) {
    struct jobs *j = job->jobs;
    struct run_config *c = &job->request->config;
    const char *where = c->model_folder ? c->model_folder : c->model;
    struct model *m = job->resumed ? find_model(job, e) : model_share_as(where, c->weights_in, e);
    if (!m) return e->code;
    struct job_tasks tasks;
    int rc = job_tasks_take(j, m, c, &tasks, e);
    if (!rc && job->resumed) rc = job_room_take(job, m, &tasks, e);
    if (!rc) rc = job->resumed ? store_adopt_run(job->jobs->store, job->id, e) : freeze(job, m, &tasks, e);
    if (!rc) {
        job_describe(job, c);
        job_keep(j, m, &tasks);
        return 0;
    }
    job_tasks_done(j, &tasks);
    model_release(m);
    return rc;
}

static int job_start_check_resumable(const struct store_run *stored, struct err *e) {
    if (stored->state != STORE_FINISHED) return 0;
    if (stored->imported)
        return err_set(e, ERR_USAGE,
                       "run %lld was %s and has no training to resume; petri train --from %lld trains a new "
                       "run from its parameters",
                       (long long)stored->id,
                       strstr(stored->imported, "\"format\":\"joined\"") ? "merged from other runs"
                                                                         : "imported",
                       (long long)stored->id);
    return err_set(e, ERR_USAGE, "run %lld is finished and cannot be resumed", (long long)stored->id);
}

/* Restores the request of a stored run. */
static int job_start_recall(struct job_record *job, struct err *e) {
    struct store_run stored;
    int rc = store_run(job->jobs->store, job->id, &stored, e);
    if (rc) return rc;
    job->request = xcalloc(1, sizeof *job->request);
    rc = record_config_of(&stored, &job->request->config, e);
    if (!rc) rc = job_start_check_resumable(&stored, e);
    bool whole = run_row_is_fewshot(&stored);
    if (!rc && (whole || run_row_is_draw(&stored)))
        rc = err_set(e, ERR_USAGE, "run %lld is %s; use `petri resume %lld` to resume %s", (long long)job->id,
                     whole ? "a few-shot run" : "a sample of a few-shot run", (long long)job->id,
                     whole ? "its samples" : "it");
    job->was = stored.state;
    job->why = xcopy(stored.reason);
    job->last.step = stored.step;
    store_run_release(&stored);
    return rc;
}

int job_prepare(struct job_record *job, struct err *e) {
    int rc = job->resumed ? job_start_recall(job, e) : 0;
    return rc ? rc : job_start_prepare(job, e);
}

void job_queue(struct job_record *job) {
    struct jobs *j = job->jobs;
    pthread_mutex_lock(&j->lock);
    struct job_record **end = &j->first; /* a requested job is already listed */
    while (*end && *end != job) end = &(*end)->next;
    *end = job;
    job->stage = JOB_QUEUED;
    job->turn = ++j->turns;
    jobs__changed(j);
    pthread_mutex_unlock(&j->lock);
    if (j->hook.notify) j->hook.notify(j->hook.self);
}
