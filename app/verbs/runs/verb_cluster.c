/* sweep on a Slurm cluster: --slurm, task, status. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/jobs/jobs.h"
#include "app/sweep/cluster.h"
#include "app/verbs/output.h"
#include "app/verbs/runs/verb_sweep.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"

/* Slurm's own default of MaxArraySize; indices are below it. */
enum { USUAL_ARRAY = 1001 };

/* Returns MaxArraySize of the Slurm on this machine, or Slurm's default. */
static int longest_array(void) {
    FILE *p = popen("scontrol show config 2>/dev/null", "re");
    char line[512];
    int64_t n = USUAL_ARRAY;
    while (p && fgets(line, sizeof line, p)) {
        const char *equals = strchr(line, '=');
        if (!text_starts(line, "MaxArraySize") || !equals) continue;
        char *word = xstrndup(equals + 1 + strspn(equals + 1, " "),
                              strcspn(equals + 1 + strspn(equals + 1, " "), " \n"));
        int64_t v;
        if (text_to_int(word, &v) && v > 1 && v < 1 << 30) n = v;
        free(word);
    }
    if (p) pclose(p);
    return (int)n;
}

int verb_sweep_slurm(const struct args *a, struct sweep_plan *p, struct store *s, int workers,
                     struct err *e) {
    const struct sweep_options *o = &a->sweep;
    int tasks, runs;
    char *program = realpath("/proc/self/exe", NULL);
    if (!program) return err_set(e, ERR_SYSTEM,
        "/proc/self/exe: cannot determine the path of this program: %m");
    const struct cluster_request r = {
        .folder = o->slurm,
        .database = store_path(s),
        .program = program,
        .sbatch = o->sbatch,
        .workers = workers,
        .at_once = (int)o->at_once,
        .longest = o->max_array ? (int)o->max_array : longest_array(),
    };
    int rc = sweep_plan_find(p, s, e);
    if (!rc) rc = cluster_write(p, s, &r, &tasks, &runs, e);
    if (!rc && a->json) {
        struct buf b = BUF_INIT;
        json_put(&b, "{id:%jd,folder:%s,tasks:%d,runs:%d}", p->id, r.folder, tasks, runs);
        out_line(&b);
    } else if (!rc) {
        char *script = file_join(r.folder, "job.sh");
        struct buf b = BUF_INIT;
        buf_printf(&b, "sweep %lld: %d run%s in %d task%s; `sh ", (long long)p->id, runs,
                   runs == 1 ? "" : "s", tasks, tasks == 1 ? "" : "s");
        text_shell_word(&b, script);
        buf_puts(&b, "` submits them and the final merge\n");
        out_lines(buf_text(&b));
        buf_release(&b);
        free(script);
    }
    free(program);
    return rc;
}

/* ---- a task ---- */

static bool is_own(void *self, int cell, int seed) {
    const struct cluster_task *t = self;
    for (int i = 0; i < t->runs; i++)
        if (t->run[i].cell == cell && t->run[i].seed == seed) return true;
    return false;
}

/* A failed run fails its task; the results of the others remain. */
static int say_end(struct cluster *c, const struct cluster_task *t, struct store *s, struct err *e) {
    int done = 0, rc = sweep_plan_find(&c->plan, s, e);
    for (int i = 0; !rc && i < t->runs; i++) {
        const struct sweep_found *f = &c->plan.entry[t->run[i].cell].found[t->run[i].seed];
        done += f->run && f->state == STORE_FINISHED;
    }
    if (rc) return rc;
    printf("%d of %d run%s finished\n", done, t->runs, t->runs == 1 ? "" : "s");
    return done == t->runs ? 0
                           : err_set(e, ERR_FAILED, "%d of %d run%s did not finish; see `petri sweep "
                                                    "status %s`",
                                     t->runs - done, t->runs, t->runs == 1 ? "" : "s", c->folder);
}

int verb_sweep_task(const struct args *a, int workers, struct err *e) {
    struct cluster c;
    int64_t index;
    int rc = cluster_read(a->positional[1], &c, e);
    if (!rc && (!text_to_int(a->positional[2], &index) || index < 0 || index >= c.tasks))
        rc = err_set(e, ERR_USAGE,
            "petri sweep task: INDEX must be an integer between 0 and %d, found \"%s\"",
            c.tasks - 1,
                     a->positional[2]);
    if (!rc && chdir(c.working))
        rc = err_set(e, ERR_NOT_FOUND,
                     "%s: cannot enter the working folder of the sweep, to which its paths are relative: %m",
                     c.working);
    struct store *s = NULL;
    char *path = rc ? NULL : cluster_database(&c, (int)index);
    if (!rc && !a->workers) rc = blas_reserve(workers = c.workers, e);
    if (!rc) rc = store_open(&s, path, STORE_WRITE, e);
    if (!rc) rc = sweep_plan_store_as(&c.plan, s, c.uid, e);
    if (!rc) {
        verb_train_signals();
        struct jobs *j = jobs_new(s, workers, verb_sweep_hook());
        rc = verb_sweep_work(a, &c.plan, s, j, workers, 0, is_own, &c.task[index], e);
        jobs_free(j, false);
        if (!rc) rc = say_end(&c, &c.task[index], s, e);
    }
    cluster_release(&c);
    free(path);
    return s ? verb_close(s, rc, e) : rc;
}

/* ---- status ---- */

static void print_status(const json_t *root) {
    size_t i, k;
    json_t *task, *run;
    const char *name;
    json_t *count;
    json_object_foreach(json_object_get(root, "runs"), name, count)
        if (json_integer_value(count)) printf("%lld %s\n", (long long)json_integer_value(count), name);
    json_array_foreach(json_object_get(root, "tasks"), i, task) {
        json_array_foreach(json_object_get(task, "runs"), k, run) {
            const char *state = json_string_value(json_object_get(run, "state")),
                       *reason = json_string_value(json_object_get(run, "reason"));
            if (!strcmp(state, "finished") || !strcmp(state, "waiting")) continue;
            char *line = xprintf("task %zu: cell %lld, seed %lld: %s at step %lld of %lld%s%s\n", i,
                                 (long long)json_integer_value(json_object_get(run, "cell")),
                                 (long long)json_integer_value(json_object_get(run, "seed")), state,
                                 (long long)json_integer_value(json_object_get(run, "step")),
                                 (long long)json_integer_value(json_object_get(run, "steps")),
                                 reason ? ": " : "", reason ? reason : "");
            out_lines(line);
            free(line);
        }
    }
}

int verb_sweep_status(const struct args *a, struct err *e) {
    struct cluster c;
    struct buf b = BUF_INIT;
    int rc = cluster_read(a->positional[1], &c, e);
    if (!rc) rc = cluster_status(&c, &b, e);
    if (!rc && a->json) {
        out_line(&b);
    } else if (!rc) {
        json_t *root = json_parse("status", buf_text(&b), b.size, e);
        if (root) print_status(root);
        rc = e->code;
        json_decref(root);
    }
    buf_release(&b);
    cluster_release(&c);
    return rc;
}
