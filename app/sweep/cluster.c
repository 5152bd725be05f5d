#include "app/sweep/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { SPEC_MOST = 64 << 20, VERSION = 1 };

/* ---- writing ---- */

struct uid_row {
    char *text;
};
static int take_uid(void *self, int count, const struct store_cell *cells) {
    (void)count;
    ((struct uid_row *)self)->text = xstrdup(cells[0].text);
    return 0;
}

/* Distributes the missing runs, seed by seed, to as few tasks as the array size requires. */
static void cluster_share_out(const struct sweep_plan *p, int longest, struct cluster *c) {
    int runs = sweep_plan_missing(p), each = (runs + longest - 1) / longest;
    c->task = xcalloc((size_t)runs + 1, sizeof *c->task);
    for (int k = 0; k < p->spec.seeds; k++) {
        for (int i = 0; i < p->cells.count; i++) {
            if (!p->entry[i].valid || p->entry[i].found[k].over) continue;
            if (!c->tasks || c->task[c->tasks - 1].runs == each) {
                c->task[c->tasks++].run = xcalloc((size_t)each, sizeof *c->task->run);
            }
            struct cluster_task *t = &c->task[c->tasks - 1];
            t->run[t->runs++] = (struct cluster_run){ i, k };
        }
    }
}

static void spec_text(const struct sweep_plan *p, const struct cluster *c, struct buf *b) {
    json_put(b, "{version:%d,uid:%s,database:%s,working:%s,workers:%d", VERSION, c->uid, c->database,
             c->working, c->workers);
    json_add_key(b, "record");
    sweep_plan_record(p, b);
    json_open(b, "tasks", '[');
    for (int i = 0; i < c->tasks; i++) {
        json_open(b, NULL, '[');
        for (int k = 0; k < c->task[i].runs; k++)
            buf_printf(b, "%s[%d,%d]", k ? "," : "", c->task[i].run[k].cell, c->task[i].run[k].seed);
        buf_putc(b, ']');
    }
    buf_puts(b, "]}\n");
}

/* Writes the common header of both scripts; the user's Slurm options come first. */
static void begin_script(const struct cluster_request *r, const char *name, struct buf *b) {
    buf_printf(b, "#!/bin/sh\n#SBATCH --job-name=petri-%s\n", name);
    if (r->sbatch && *r->sbatch) buf_printf(b, "#SBATCH %s\n", r->sbatch);
}

static void set_word(struct buf *b, const char *name, const char *word) {
    buf_printf(b, "%s=", name);
    text_shell_word(b, word);
    buf_putc(b, '\n');
}

static void job_script(const struct cluster *c, const struct cluster_request *r, struct buf *b) {
    begin_script(r, "sweep", b);
    buf_printf(b, "#SBATCH --array=0-%d%%%d\n#SBATCH --cpus-per-task=%d\n", c->tasks - 1,
               r->at_once ? r->at_once : c->tasks, c->workers);
    buf_printf(b, "#SBATCH --output=\"%s/logs/%%a.log\"\n#SBATCH --open-mode=append\n", c->folder);
    buf_puts(
        b, "#SBATCH --signal=B:TERM@60\n#SBATCH --requeue\n\n"
           "# `sh job.sh` submits the tasks, and a merge that runs after all of them.  Without Slurm, run\n"
           "# petri sweep task FOLDER INDEX\n");
    set_word(b, "folder", c->folder);
    set_word(b, "petri", r->program);
    buf_printf(
        b,
        "if [ -z \"$SLURM_ARRAY_TASK_ID\" ]; then\n"
        "  job=$(sbatch --parsable \"$folder/job.sh\") || exit\n"
        "  echo \"tasks: job ${job%%%%;*}\"\n"
        "  exec sbatch --dependency=\"afterany:${job%%%%;*}\" \"$folder/merge.sh\"\n"
        "fi\n\n"
        "# Slurm signals this shell, which signals petri: it saves a checkpoint, from which the task "
        "continues "
        "later.\n"
        "task=\n"
        "trap '[ -z \"$task\" ] || kill -TERM \"$task\"' TERM\n"
        "\"$petri\" sweep task \"$folder\" \"$SLURM_ARRAY_TASK_ID\" --workers \"${SLURM_CPUS_PER_TASK:-%d}\" "
        "&\n"
        "task=$!\n"
        "wait \"$task\"\n"
        "status=$?\n"
        "while kill -0 \"$task\" 2>/dev/null; do\n"
        "  wait \"$task\"\n"
        "  status=$?\n"
        "done\n"
        "[ \"$status\" != 130 ] || exec scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
        "exit \"$status\"\n",
        c->workers);
}

static void merge_script(const struct cluster *c, const struct cluster_request *r, struct buf *b) {
    begin_script(r, "merge", b);
    buf_printf(
        b,
        "#SBATCH --cpus-per-task=1\n#SBATCH --output=\"%s/logs/merge.log\"\n#SBATCH --open-mode=append\n\n",
        c->folder);
    set_word(b, "folder", c->folder);
    set_word(b, "petri", r->program);
    set_word(b, "database", c->database);
    buf_puts(b, "exec \"$petri\" merge \"$database\" \"$folder\"/tasks/*.db\n");
}

static int write_one(const struct cluster *c, const char *name, struct buf *b, mode_t mode, struct err *e) {
    char *path = file_join(c->folder, name);
    int rc = file_write(path, buf_text(b), b->size, e);
    if (!rc) chmod(path, mode);
    buf_release(b);
    free(path);
    return rc;
}

static int cluster_write_folder(const struct sweep_plan *p, const struct cluster *c,
                                const struct cluster_request *r, struct err *e) {
    char *tasks = file_join(c->folder, "tasks"), *logs = file_join(c->folder, "logs");
    struct buf spec = BUF_INIT, job = BUF_INIT, merge = BUF_INIT;
    int rc = file_make_folder(tasks, e);
    if (!rc) rc = file_make_folder(logs, e);
    spec_text(p, c, &spec);
    job_script(c, r, &job);
    merge_script(c, r, &merge);
    if (!rc) rc = write_one(c, "spec.json", &spec, 0600, e);
    if (!rc) rc = write_one(c, "merge.sh", &merge, 0700, e);
    if (!rc) rc = write_one(c, "job.sh", &job, 0700, e);
    buf_release(&spec), buf_release(&job), buf_release(&merge);
    free(tasks), free(logs);
    return rc;
}

/* Slurm parses the folder in a line where these characters have a special meaning. */
static int check_request(const struct cluster_request *r, const char *folder, struct err *e) {
    if (!*folder) return err_set(e, ERR_USAGE, "--slurm: the path of the folder is empty");
    if (strpbrk(folder, "%\"\\\n"))
        return err_set(
            e, ERR_USAGE,
            "--slurm %s: the path must not contain %%, \", \\ or a newline", folder);
    if (r->sbatch && strpbrk(r->sbatch, "\n\r"))
        return err_set(e, ERR_USAGE, "--sbatch: the options must be on one line");
    return 0;
}

int cluster_write(struct sweep_plan *p, struct store *s, const struct cluster_request *r, int *tasks,
                  int *runs, struct err *e) {
    struct cluster c = { .workers = r->workers, .database = xstrdup(r->database) };
    struct uid_row row = { NULL };
    *runs = sweep_plan_missing(p);
    int rc = *runs ? 0
                   : err_set(e, ERR_USAGE, "--slurm: no runs are missing; `petri sweep %lld` shows the "
                                           "results",
                             (long long)p->id);
    if (!rc) rc = check_request(r, r->folder, e);
    bool there = file_exists(r->folder);
    if (!rc && there && !file_is_empty_folder(r->folder))
        rc = err_set(e, ERR_USAGE, "--slurm %s: already exists; give a new or empty folder",
                     r->folder);
    for (int i = 0; !rc && i < p->cells.count; i++)
        if (p->entry[i].tune && p->entry[i].valid)
            rc = err_set(e, ERR_USAGE,
                         "--slurm: not available with --lr auto; find the learning rate first with petri "
                         "train "
                         "--lr auto, then specify it");
    if (!rc) rc = file_make_folder(r->folder, e);
    if (!rc && !(c.folder = realpath(r->folder, NULL)))
        rc = err_set(e, ERR_SYSTEM, "%s: cannot determine the absolute path: %m", r->folder);
    if (!rc) rc = check_request(r, c.folder, e);
    if (!rc && !(c.working = getcwd(NULL, 0)))
        rc = err_set(e, ERR_SYSTEM, "cannot determine the working folder: %m");
    if (!rc && !p->id) rc = sweep_plan_store(p, s, e);
    char *sql = xprintf("SELECT uid FROM sweep WHERE id = %lld", (long long)p->id);
    if (!rc) rc = store_sql(s, sql, (struct store_rows){ .self = &row, .row = take_uid }, e);
    free(sql);
    if (!rc) {
        c.uid = row.text;
        cluster_share_out(p, r->longest, &c);
        rc = cluster_write_folder(p, &c, r, e);
    }
    if (rc && !there) rmdir(r->folder); /* created here and still empty */
    *tasks = c.tasks;
    cluster_release(&c);
    return rc;
}

/* ---- reading ---- */

void cluster_release(struct cluster *c) {
    for (int i = 0; i < c->tasks; i++) free(c->task[i].run);
    free(c->task), free(c->folder), free(c->database), free(c->working), free(c->uid);
    sweep_plan_release(&c->plan);
    *c = (struct cluster){ 0 };
}

static int cluster_read_task(const struct cluster *c, const char *path, const json_t *list,
                             struct cluster_task *t, struct err *e) {
    t->run = xcalloc(json_array_size(list) + 1, sizeof *t->run);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i);
        json_int_t cell = json_integer_value(json_array_get(pair, 0)),
                   seed = json_integer_value(json_array_get(pair, 1));
        if (json_array_size(pair) != 2 || cell < 0 || cell >= c->plan.cells.count || seed < 0 ||
            seed >= c->plan.spec.seeds || !c->plan.entry[cell].valid)
            return err_set(e, ERR_INPUT, "%s: a task refers to a run that is not in the sweep", path);
        t->run[t->runs++] = (struct cluster_run){ (int)cell, (int)seed };
    }
    return 0;
}

static int cluster_read_spec(struct cluster *c, const char *path, const json_t *root, struct err *e) {
    const char *uid = NULL, *database = NULL, *working = NULL;
    json_int_t version = 0, workers = 1;
    const json_t *tasks = json_object_get(root, "tasks");
    json_get_int(root, path, "version", &version, e);
    json_get_int(root, path, "workers", &workers, e);
    json_get_string(root, path, "uid", &uid, e);
    json_get_string(root, path, "database", &database, e);
    json_get_string(root, path, "working", &working, e);
    if (e->code) return e->code;
    if (version != VERSION || !uid || !database || !working || !json_is_array(tasks))
        return err_set(e, ERR_INPUT,
                       "%s: not a sweep folder of version %d, written by `petri sweep … --slurm DIR`",
                       path, VERSION);
    c->uid = xstrdup(uid), c->database = xstrdup(database), c->working = xstrdup(working);
    c->workers = workers < 1 ? 1 : workers > 64 ? 64 : (int)workers;
    int rc = sweep_plan_read(&c->plan, path, json_object_get(root, "record"), e);
    c->task = xcalloc(json_array_size(tasks) + 1, sizeof *c->task);
    for (size_t i = 0; !rc && i < json_array_size(tasks); i++)
        rc = cluster_read_task(c, path, json_array_get(tasks, i), &c->task[c->tasks++], e);
    return rc;
}

int cluster_read(const char *folder, struct cluster *c, struct err *e) {
    *c = (struct cluster){ 0 };
    char *path = file_join(folder, "spec.json");
    int rc = file_exists(path)
                 ? 0
                 : err_set(e, ERR_NOT_FOUND,
                           "%s: file not found; `petri sweep … --slurm DIR` creates it", path);
    json_t *root = rc ? NULL : json_read(path, SPEC_MOST, e);
    if (!rc && !(c->folder = realpath(folder, NULL)))
        rc = err_set(e, ERR_SYSTEM, "%s: cannot determine the absolute path: %m", folder);
    if (!rc) rc = root ? cluster_read_spec(c, path, root, e) : e->code;
    json_decref(root);
    free(path);
    return rc;
}

char *cluster_database(const struct cluster *c, int task) {
    return xprintf("%s/tasks/%d.db", c->folder, task);
}

/* ---- status ---- */

struct task_run {
    const char *state; /* static text */
    char *reason;
    int64_t id, step, steps;
    double seconds;
};
struct task_look {
    struct cluster *c;
    const struct cluster_task *task;
    struct task_run *at; /* one per run */
};

static int take_failure(void *self, int count, const struct store_cell *cells) {
    struct task_look *l = self;
    (void)count;
    for (int i = 0; i < l->task->runs; i++) {
        const struct cluster_run *r = &l->task->run[i];
        if (l->at[i].id || strcmp(l->c->plan.entry[r->cell].key[r->seed], cells[0].text) != 0) continue;
        l->at[i].state = store_state_name(STORE_FAILED);
        free(l->at[i].reason);
        l->at[i].reason = xstrdup(cells[1].text);
    }
    return 0;
}

static int cluster_look_at(struct task_look *l, const char *path, struct err *e) {
    struct store *s;
    int rc = store_open(&s, path, STORE_READ, e);
    if (rc) return rc;
    struct sweep_plan *p = &l->c->plan;
    p->id = 1; /* a task's database has only this one */
    p->known_count = 0;
    rc = sweep_plan_find(p, s, e);
    for (int i = 0; !rc && i < l->task->runs; i++) {
        int64_t id = p->entry[l->task->run[i].cell].found[l->task->run[i].seed].run;
        struct store_run run;
        if (!id) continue;
        rc = store_run(s, id, &run, e);
        if (rc) break;
        l->at[i] = (struct task_run){
            store_state_name(run.state), xcopy(run.reason), run.id, run.step, run.steps, run.seconds
        };
        store_run_release(&run);
    }
    if (!rc)
        rc = store_sql(s, "SELECT key, reason FROM sweep_failure",
                       (struct store_rows){ .self = l, .row = take_failure }, e);
    struct err ignored = ERR_INIT;
    store_close(s, &ignored);
    return rc;
}

static void task_json(const struct task_look *l, int index, struct buf *b) {
    const char *state = "finished";
    json_put(b, "{index:%d", index);
    for (int i = l->task->runs; i-- > 0;)
        if (strcmp(l->at[i].state, "finished") != 0) state = l->at[i].state;
    json_put(b, "state:%s,runs:[", state);
    for (int i = 0; i < l->task->runs; i++) {
        const struct task_run *x = &l->at[i];
        json_put(b, "{cell:%d,seed:%ju,state:%s,step:%jd,steps:%jd,seconds:%g,reason:%s}",
                 l->task->run[i].cell, l->c->plan.spec.seed[l->task->run[i].seed], x->state, x->step,
                 x->steps, x->seconds, x->reason);
    }
    buf_puts(b, "]}");
}

int cluster_status(struct cluster *c, struct buf *out, struct err *e) {
    static const char waiting[] = "waiting";
    int of[STORE_STATES] = { 0 }, waits = 0, rc = 0;
    json_put(out, "{sweep:%s,database:%s,tasks:[", c->uid, c->database);
    for (int i = 0; !rc && i < c->tasks; i++) {
        struct task_look l = { c, &c->task[i], xcalloc((size_t)c->task[i].runs + 1, sizeof *l.at) };
        for (int k = 0; k < c->task[i].runs; k++) l.at[k].state = waiting;
        char *path = cluster_database(c, i);
        if (file_exists(path)) rc = cluster_look_at(&l, path, e);
        task_json(&l, i, out);
        for (int k = 0; k < c->task[i].runs; k++) {
            if (l.at[k].state == waiting) waits++;
            else of[store_state_by_name(l.at[k].state)]++;
            free(l.at[k].reason);
        }
        free(path);
        free(l.at);
    }
    json_put(out, "],runs:{");
    json_member_int(out, waiting, waits);
    for (int i = 0; i < STORE_STATES; i++) json_member_int(out, store_state_name((enum store_state)i), of[i]);
    buf_puts(out, "}}");
    return rc;
}
