/* Time and memory that runs are estimated to need, and whether the memory is available. */
#include <math.h>
#include <stdlib.h>

#include "app/history/run_row.h"
#include "app/jobs/jobs_private.h"
#include "core/base/mem.h"
#include "core/base/room.h"
#include "core/method/plan.h"
#include "core/train/config/estimate.h"
#include "core/train/config/stages.h"

/* Sets the lengths and the numbers of the examples; returns false where the run has no examples of its own
 * (masked-word episodes). */
static bool job_room_examples(const struct run_tasks *t, struct estimate_of *x) {
    for (int i = 0; i < t->count; i++) {
        const struct dataset *d = &t->task[i]->train;
        if (!d->start) return false;
        for (size_t k = 0; k < d->examples; k++) {
            double tokens = (double)(d->start[k + 1] - d->start[k]);
            x->tokens += tokens;
            x->squares += tokens * tokens;
            x->longest = fmax(x->longest, tokens);
        }
        x->data += (double)task_bytes(t->task[i]);
        x->targets += d->max_target ? (double)d->target_start[d->examples] : 0;
        x->train_rows += d->examples;
        x->dev_rows += t->task[i]->devs ? t->task[i]->dev[0].examples : 0;
    }
    x->tokens /= (double)x->train_rows;
    x->squares /= (double)x->train_rows;
    x->targets /= (double)x->train_rows;
    return true;
}

static struct estimate_of job_room_of(struct jobs *j, const struct run_config *c, int workers,
                                      const struct model *m) {
    return (struct estimate_of){ .c = c, .a = &m->arch, .weights_in = m->weights_in,
                                 .workers = workers > 0 ? workers : crew_width(jobs_crew(j)) };
}

/* The speed of the machine is measured only if the run would take a second or more at a typical one. */
void job_room_estimate(struct job_record *job, const struct plan *p, const struct model *m,
                       const struct job_tasks *t, struct history_row *row) {
    static const double common_rate = 100;
    const struct run_tasks tasks = job_tasks_of(t);
    struct estimate_of x = job_room_of(job->jobs, &job->request->config, job->workers, m);
    struct estimate cost;
    x.p = p;
    x.speed.gflops = common_rate;
    if (job->room.needed > 0) row->estimated_bytes = (int64_t)(job->room.needed + job->room.loaded);
    if (!job_room_examples(&tasks, &x) || !estimate_run(&x, &cost)) return;
    x.speed = jobs_speed(job->jobs, cost.seconds >= 1);
    if (estimate_run(&x, &cost) && cost.seconds > 0) row->estimated_seconds = cost.seconds;
}

/* Returns the estimated bytes of a run, of its largest stage where it has several; 0: unknown. */
static double job_room_bytes(struct jobs *j, const struct run_config *c, int workers, const struct model *m,
                             const struct run_tasks *tasks) {
    const struct stages *s = config_stages(c);
    struct estimate_of x = job_room_of(j, c, workers, m);
    double most = 0;
    if (!job_room_examples(tasks, &x)) return 0;
    for (int k = 0; k < (s ? s->count : 1); k++) {
        struct err ignored = ERR_INIT; /* reported when the run is checked */
        struct estimate cost;
        struct plan *p = s ? run_plan_for_stage(c, s, k, tasks, &m->arch, &ignored)
                           : run_plan_for(c, tasks, &m->arch, &ignored);
        if (p && s) stage_narrow(s, k, p, &ignored);
        x.p = p;
        if (p && estimate_bytes(&x, &cost)) most = fmax(most, cost.bytes);
        plan_free(p);
    }
    return most;
}

/* Returns what a run that was built occupies beyond its model and examples; with the lock. */
static double job_room_used(const struct job_record *job) {
    if (job->stage != JOB_IN_WORK || !job->run) return 0;
    return fmin(fmax((double)run_peak_bytes(job->run) - job->room.loaded, 0), job->room.needed);
}

int jobs_fits(struct jobs *j, const struct run_config *c, int workers, const struct model *m,
              const struct run_tasks *tasks, struct job_memory *out, struct err *e) {
    double loaded = (double)model_bytes(m), bytes = job_room_bytes(j, c, workers, m, tasks);
    for (int i = 0; i < tasks->count; i++) loaded += (double)task_bytes(tasks->task[i]);
    *out = (struct job_memory){ bytes > 0 ? fmax(bytes - loaded, 0) : 0, loaded };
    const struct room room = room_left("", false);
    double free_alone = room.bytes, needed = out->needed;
    pthread_mutex_lock(&j->lock);
    for (const struct job_record *x = j->first; x; x = x->next) free_alone += job_room_used(x);
    pthread_mutex_unlock(&j->lock);
    if (needed <= free_alone) return 0;
    return err_set(
        e, ERR_USAGE,
        "not enough memory: the run needs about %.0f MB in addition to its model and data, %.0f MB "
        "available (%s); reduce --batch or --max-length, increase --gradient-accumulation-steps%s%s, "
        "or start it anyway with --force",
        needed / 1e6, free_alone / 1e6, room.limit,
        c->recompute ? "" : ", use --recompute on",
        c->precision == PRECISION_BF16 ? ", use --precision f32" : "");
}

int job_room_take(struct job_record *job, const struct model *m, const struct job_tasks *t, struct err *e) {
    struct jobs *j = job->jobs;
    struct err why = ERR_INIT;
    struct job_memory memory;
    const struct run_tasks tasks = job_tasks_of(t);
    int rc = jobs_fits(j, &job->request->config, job->workers, m, &tasks, &memory, &why);
    pthread_mutex_lock(&j->lock);
    job->room = memory;
    pthread_mutex_unlock(&j->lock);
    if (!rc || job->force) return 0;
    *e = why;
    return rc;
}

bool job_room_is_free(struct job_record *job) {
    struct jobs *j = job->jobs;
    double reserved = 0;
    int others = 0;
    for (const struct job_record *x = j->first; x; x = x->next) {
        if (x == job || (x->stage != JOB_BUILDING && x->stage != JOB_IN_WORK)) continue;
        reserved += x->room.needed - job_room_used(x);
        others++;
    }
    if (!others || !(job->room.needed > 0)) return true;
    if (job->room.needed + reserved <= room_left("", false).bytes) return true;
    if (!job->waits) {
        free(j->message);
        j->message = xprintf("run %lld waits until other runs have released memory: it needs about %.0f MB",
                             (long long)job->id, job->room.needed / 1e6);
    }
    job->waits = true;
    return false;
}
