/* A sweep from its line to its results, killed midway, extended. */
#include <jansson.h>
#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static int databases;

static int make(void **state) {
    (void)state;
    if (!stage.folder) stage_init(&stage);
    free(stage.db);
    stage.db = xprintf("%s/%d.db", stage.folder, ++databases);
    free(stage_task(&stage, "toys", 12));
    return 0;
}

static json_t *sweep(const char *more) {
    return stage_json("sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 2 --json %s", stage.model,
                      stage.folder, stage.db, more);
}

static size_t runs(void) {
    json_t *v = stage_json("runs --db '%s' --json", stage.db);
    size_t n = json_array_size(v);
    json_decref(v);
    return n;
}

static char *ask(const char *sql) { return stage_out(0, "sql --db '%s' \"%s\"", stage.db, sql); }

/* The database by hand, as no petri leaves it. */
static void change(const char *sql) {
    sqlite3 *db;
    assert_int_equal(sqlite3_open(stage.db, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

static json_t *cell(json_t *result, size_t i) { return json_array_get(stage_at(result, "cells"), i); }

static void lists_become_runs(void **state) {
    (void)state;
    const char *line = "--method '{lora(r={2,4}),bitfit,nothing(r=1)}' --lr '{1e-3,3e-2}' --steps 8 --seeds 1,2";
    char *dry = xprintf("%s --dry-run", line);
    json_t *plan = sweep(dry);
    assert_int_equal(json_integer_value(stage_at(plan, "runs")), 12);
    assert_int_equal(json_integer_value(stage_at(plan, "lacking")), 12);
    assert_int_equal(json_array_size(stage_at(plan, "cells")), 8);
    assert_true(json_is_false(stage_at(cell(plan, 6), "valid")));
    assert_non_null(strstr(stage_text(cell(plan, 6), "reason"), "nothing"));
    assert_null(json_object_get(stage_at(cell(plan, 4), "axes"), "r")); /* bitfit has none */
    assert_int_equal(runs(), 0);
    json_t *done = sweep(line);
    assert_int_equal(runs(), 12);
    assert_string_equal(stage_text(cell(done, 0), "name"), "lora(r=2) lr=1e-3");
    /* the cell's mean is its runs' */
    json_t *ids = stage_at(cell(done, 1), "runs");
    double sum = 0;
    for (size_t i = 0; i < 2; i++) {
        json_t *run =
            stage_json("show %lld --db '%s' --json", (long long)json_integer_value(json_array_get(ids, i)), stage.db);
        sum += json_number_value(stage_at(run, "best.value"));
        json_decref(run);
    }
    assert_true(fabs(json_number_value(stage_at(cell(done, 1), "mean")) - sum / 2) < 1e-12);
    assert_int_equal(json_integer_value(stage_at(cell(done, 1), "n")), 2);
    assert_string_equal(stage_text(cell(done, 7), "state"), "invalid");
    json_t *effects = stage_at(done, "effects"); /* r is a part of the method */
    assert_string_equal(stage_text(json_array_get(effects, 0), "level"), "lora(r=2)");
    assert_null(json_object_get(json_array_get(effects, 0), "aliased"));
    /* the same again takes what is there, in a sweep of its own */
    json_t *seen = sweep(dry), *taken = json_array_get(stage_at(seen, "taken"), 0), *one = stage_json("show 1 --db '%s' --json", stage.db);
    assert_int_equal(json_array_size(stage_at(plan, "taken")), 0);
    assert_int_equal(json_integer_value(stage_at(taken, "runs")), 12);
    assert_string_equal(stage_text(taken, "version"), stage_text(one, "version"));
    assert_string_equal(stage_text(taken, "kernel"), stage_text(one, "kernel"));
    json_decref(one);
    /* and how long more would take is told by it */
    json_t *further = sweep("--method '{lora(r=2),lora(r=3)}' --lr 1e-3 --steps 8 --seeds 1,2 --dry-run");
    assert_true(json_is_null(stage_at(plan, "seconds")) && strstr(stage_text(plan, "no_seconds"), "no finished run"));
    assert_true(json_number_value(stage_at(seen, "seconds")) == 0);
    assert_true(json_number_value(stage_at(further, "seconds")) > 0);
    assert_int_equal(json_integer_value(stage_at(further, "seconds_of")), 12);
    json_decref(seen), json_decref(further);
    json_t *again = sweep(line);
    assert_int_equal(json_integer_value(stage_at(again, "id")), 2);
    assert_int_equal(runs(), 12);
    assert_true(json_equal(stage_at(again, "cells"), stage_at(done, "cells")));
    free(stage_out(0, "sweep extend 2 --seeds 7 --db '%s'", stage.db));
    assert_int_equal(runs(), 18);
    json_t *more = stage_json("sweep 2 --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(cell(more, 0), "n")), 3);
    json_decref(plan), json_decref(done), json_decref(again), json_decref(more);
    free(dry);
}

static int cell_named(json_t *result, const char *name) {
    for (size_t i = 0; i < json_array_size(stage_at(result, "cells")); i++)
        if (!strcmp(stage_text(cell(result, i), "name"), name)) return (int)i;
    fail_msg("no cell %s", name);
    return -1;
}

/* Further values: the cells that were there keep their runs, and only what lacks is trained. */
static void a_sweep_grows_by_values(void **state) {
    (void)state;
    json_decref(sweep("--method 'lora(r={2,4})' --lr 1e-3 --steps 4"));
    json_t *more = stage_json("sweep extend 1 --method 'lora(r={4,8})' --lr 3e-3 --seeds 2 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 3 * 2 * 2);
    json_t *first = cell(more, (size_t)cell_named(more, "r=2 lr=1e-3"));
    assert_int_equal(json_integer_value(json_array_get(stage_at(first, "runs"), 0)), 1);
    for (size_t i = 0; i < 6; i++) assert_int_equal(json_integer_value(stage_at(cell(more, i), "n")), 2);
    /* nothing of it is lost where the rows are others by now, or gone */
    char *spec = ask("SELECT spec FROM sweep");
    free(stage_task(&stage, "toys", 10));
    stage_refused(2, "cannot be extended", "sweep extend 1 --seeds 3 --db '%s'", stage.db);
    char *folder = file_join(stage.folder, "toys"), *away = file_join(stage.folder, "away");
    assert_int_equal(rename(folder, away), 0);
    stage_refused(3, "none of the 6 cells", "sweep extend 1 --seeds 3 --db '%s'", stage.db);
    assert_int_equal(rename(away, folder), 0);
    char *now = ask("SELECT spec FROM sweep");
    assert_string_equal(spec, now);
    stage_refused(2, "extend 1", "sweep 1 --lr 3e-2 --db '%s'", stage.db);
    stage_refused(2, "extend 1", "sweep resume 1 --lr 3e-2 --db '%s'", stage.db);
    free(spec), free(folder), free(away), free(now);
    json_decref(more);
}

/* The peak memory of a run is its own, also while others train.  It depends on how many workers have taken part, so the
 * methods are compared on one. */
static void memory_is_a_cost(void **state) {
    (void)state;
    json_t *v = stage_json("sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 1 --json --method '{lora(r=2),full}' "
                           "--lr 1e-3 --steps 40 --at-once 1 --cost memory", stage.model, stage.folder, stage.db);
    double alone = json_number_value(stage_at(cell(v, 0), "memory"));
    assert_true(alone > 1e4 && alone < 1e6 && json_number_value(stage_at(cell(v, 1), "memory")) > alone);
    assert_null(json_object_get(v, "no_pareto"));
    assert_string_equal(stage_text(v, "cost"), "memory");
    json_t *run = stage_json("show 1 --db '%s' --json", stage.db);
    assert_true(json_number_value(stage_at(run, "peak_bytes")) == json_number_value(stage_at(cell(v, 0), "memory")));
    static const char front[] = "render --screen sweep --sweep 1 --part front --size 80x24 --cost %s --db '%s'";
    char *page = stage_out(0, front, "memory", stage.db);
    assert_true(strstr(page, "Pareto front: memory") && strstr(page, " MB ") && strstr(page, "Pareto-optimal"));
    free(page);
    page = stage_out(0, "render --screen detail --run 1 --size 200x60 --db '%s'", stage.db);
    assert_true(strstr(page, "peak memory") && strstr(page, "time") && strstr(page, "(estimated 0."));
    free(page);
    char *more = stage_out(0, "sweep extend 1 --seeds 2 --db '%s' --workers 2 --cost memory", stage.db);
    char *beside = ask("SELECT max(peak) FROM run WHERE seed = 2 AND canonical NOT LIKE '%full%'");
    double other = strtod(strchr(beside, '\n') + 1, NULL);
    if (!(other > alone / 3 && other < 3 * alone)) fail_msg("%g bytes alone, %g beside another run", alone, other);
    assert_non_null(strstr(more, "MB peak"));
    free(beside), free(more);
    change("UPDATE run SET peak = NULL WHERE canonical NOT LIKE '%full%'");
    page = stage_out(0, front, "memory", stage.db);
    assert_true(strstr(page, "no Pareto front by memory: the peak memory of the runs of lora(r=2) is unknown") && !strstr(page, "Pareto-optimal"));
    free(page);
    /* elsewhere neither time nor memory is compared */
    change("UPDATE run SET kernel = 'other; elsewhere' WHERE canonical LIKE '%full%'");
    page = stage_out(0, front, "time", stage.db);
    assert_non_null(strstr(page, "no Pareto front by time: lora(r=2) ran on "));
    free(page);
    json_decref(v), json_decref(run);
}

/* Killed at any point, it loses and repeats nothing. */
static void a_killed_sweep_goes_on(void **state) {
    (void)state;
    pid_t pid = command_start(
        stage.folder,
        "sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --lr 1e-3 --steps 800 --workers 1 --method "
        "'{lora(r=2),bitfit}' --seeds 1,2",
        stage.model, stage.folder, stage.db);
    stage_wait_step(&stage, 1, 20);
    kill(pid, SIGKILL);
    command_wait(pid, 10);
    json_t *done = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 4);
    for (size_t i = 0; i < 2; i++) assert_string_equal(stage_text(cell(done, i), "state"), "finished");
    json_decref(done);
}

static pid_t begin(const char *words, int workers) {
    return command_start(stage.folder, "sweep %s --db '%s' --workers %d", words, stage.db, workers);
}

/* No file may grow: a run that cannot keep its checkpoint pauses and says why; once there is room all come out as ever. */
static void a_full_disk_pauses_it(void **state) {
    (void)state;
    if (!getenv("PETRI_SLOW")) test_skip("a disk is full for some seconds in make test-slow");
    static const char *const what = "--lr 1e-3 --steps 400 --eval-steps 20 --method '{full,bitfit}' --seeds 1,2";
    static const char *const weights = "SELECT method, seed, state, weights_sha256 FROM v_runs ORDER BY 1, 2";
    json_decref(sweep(what));
    char *whole = ask(weights);
    make(NULL);
    char *line = xprintf("--model '%s' --task '%s/toys' --batch 2 %s", stage.model, stage.folder, what);
    char *said = file_join(stage.folder, "stderr");
    pid_t pid = begin(line, 1);
    stage_wait_step(&stage, 1, 5);
    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, &(struct rlimit){ 8192, RLIM_INFINITY }, NULL), 0);
    bool told = false;
    for (int i = 0; i < 200 * TEST_PATIENCE && !told; i++) {
        struct buf text = BUF_INIT;
        struct err e = ERR_INIT;
        test_ok(file_read(said, 1 << 20, &text, &e), &e);
        told = strstr(buf_text(&text), " paused: cannot save the checkpoint: ") && strstr(buf_text(&text), "retrying");
        buf_release(&text);
        usleep(50000);
    }
    assert_true(told);
    assert_int_equal(prlimit(pid, RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }, NULL), 0);
    assert_int_equal(command_wait(pid, 60), 0);
    char *now = ask(weights);
    assert_string_equal(now, whole);
    free(now), free(whole), free(line), free(said);
}

/* Each run is one process's; what one that was killed held, another goes on with, as the same run. */
static void processes_share_a_sweep(void **state) {
    (void)state;
    char *line = xprintf("--model '%s' --task '%s/toys' --batch 2 --lr 1e-3 --steps 300 --method '{lora(r=2),bitfit}' "
                         "--seeds 1,2", stage.model, stage.folder);
    static const char *const weights = "SELECT method, seed, weights_sha256 FROM v_runs ORDER BY 1, 2";
    json_decref(sweep("--lr 1e-3 --steps 300 --method '{lora(r=2),bitfit}' --seeds 1,2"));
    char *alone = ask(weights);
    make(NULL);
    pid_t first = begin(line, 1);
    stage_wait_step(&stage, 1, 5);
    pid_t second = begin("resume 1", 1);
    stage_wait_step(&stage, 3, 5); /* one process has but two in work */
    kill(first, SIGKILL);
    command_wait(first, 10);
    assert_int_equal(command_wait(second, 60), 0);
    char *shared = ask(weights), *points = ask("SELECT count(*) FROM v_points WHERE key='loss'");
    assert_int_equal(runs(), 4);
    assert_string_equal(shared, alone);
    assert_non_null(strstr(points, "\n1200\n"));
    free(line), free(alone), free(shared), free(points);
}

/* One that was stopped by hand stays so until it is gone on with; all stop when the sweep is told to. */
static void a_sweep_is_stopped_from_elsewhere(void **state) {
    (void)state;
    char *line = xprintf("--model '%s' --task '%s/toys' --batch 2 --lr 1e-3 --steps 100000 --method 'lora(r=2)' --seeds 1,2,3",
                         stage.model, stage.folder);
    pid_t pid = begin(line, 2);
    stage_wait_step(&stage, 2, 5);
    free(stage_out(0, "stop 1 --db '%s'", stage.db));
    stage_wait_step(&stage, 3, 5);
    free(stage_out(0, "sweep stop 1 --db '%s'", stage.db));
    assert_int_equal(command_wait(pid, 20), 130);
    char *states = ask("SELECT id, state FROM v_runs ORDER BY 1");
    assert_non_null(strstr(states, "1,\"stopped\"\n2,\"stopped\"\n3,\"stopped\""));
    free(states), free(line);
}

/* What cannot be begun says why beside its cell, and the others are done. */
static void a_failed_cell_keeps_its_reason(void **state) {
    (void)state;
    char *rows = stage_task(&stage, "fleeting", 10), *away = xprintf("%s-away", rows);
    json_decref(stage_json("sweep --model '%s' --task '{%s/toys,%s}' --db '%s' --batch 2 --lr 1e-3 --steps 4 --method "
                           "'lora(r=2)' --workers 2 --json --seeds 1,2", stage.model, stage.folder, rows, stage.db));
    change("DELETE FROM run WHERE id > 1");
    assert_int_equal(rename(rows, away), 0);
    json_t *v = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(cell(v, 0), "state"), "finished");
    assert_int_equal(json_integer_value(stage_at(cell(v, 0), "n")), 2);
    assert_string_equal(stage_text(cell(v, 1), "state"), "failed");
    assert_non_null(strstr(stage_text(cell(v, 1), "reason"), "seed 1: "));
    assert_non_null(strstr(stage_text(cell(v, 1), "reason"), "fleeting"));
    json_decref(v);
    assert_int_equal(rename(away, rows), 0);
    v = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    assert_string_equal(stage_text(cell(v, 1), "state"), "finished");
    assert_true(json_is_null(stage_at(cell(v, 1), "reason")));
    assert_int_equal(runs(), 4);
    json_decref(v), free(rows), free(away);
    /* one that fails at work says why as it does */
    struct command c;
    command_run(&c, NULL, "sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --lr 1e30 --steps 4 --method full --workers 1",
                stage.model, stage.folder, stage.db);
    command_expect(&c, 0);
    assert_non_null(strstr(buf_text(&c.err), " failed: step "));
    command_release(&c);
}

/* A Slurm that only notes what it is asked for. */
static void put_slurm(const char *folder) {
    static const char *const name[] = { "scontrol", "sbatch" };
    for (int i = 0; i < 2; i++) {
        char *text = xprintf("#!/bin/sh\necho \"$(basename $0) $*\" >> '%s/asked'\necho 41\n", folder), *path = file_join(folder, name[i]);
        test_put(folder, name[i], text);
        assert_int_equal(chmod(path, 0700), 0);
        free(text), free(path);
    }
}

/* `sh job.sh` as the task of that index, in the background where a signal is to come. */
static pid_t start_job(const char *cluster, const char *bin, int index) {
    pid_t pid = fork();
    if (pid) return pid;
    char *job = file_join(cluster, "job.sh"), *path = xprintf("%s:%s", bin, getenv("PATH")), *at = xprintf("%d", index);
    setenv("PATH", path, 1);
    setenv("SLURM_ARRAY_JOB_ID", "41", 1);
    if (index >= 0) setenv("SLURM_ARRAY_TASK_ID", at, 1);
    freopen("/dev/null", "w", stdout);
    freopen("/dev/null", "w", stderr);
    execl("/bin/sh", "sh", job, (char *)NULL);
    _exit(127);
}

static json_t *status(const char *cluster) { return stage_json("sweep status '%s' --json", cluster); }

/* The scripts that Slurm gets, by hand: a task that is told to end keeps a checkpoint and asks to be put into the queue
 * again; what all of them came to is merged into the sweep. */
static void a_sweep_runs_as_tasks(void **state) {
    (void)state;
    char *cluster = file_join(stage.folder, "a cluster"), *bin = test_folder(), *task = file_join(cluster, "tasks/0.db");
    put_slurm(bin);
    char *line = xprintf("--method '{lora(r=2),bitfit}' --lr 1e-3 --steps 3000 --seeds 1 --slurm '%s' --at-once 2 "
                      "--max-array 2 --sbatch '--partition=tiny'", cluster);
    json_t *v = sweep(line);
    assert_int_equal(json_integer_value(stage_at(v, "tasks")), 2);
    assert_int_equal(json_integer_value(stage_at(v, "runs")), 2);
    json_decref(v);
    v = stage_json("sweep resume 1 --db '%s' --slurm '%s/other' --max-array 1 --json", stage.db, stage.folder);
    assert_int_equal(json_integer_value(stage_at(v, "tasks")), 1); /* it has both */
    json_decref(v);
    char *job = test_text(cluster, "job.sh");
    static const char *const lines[] = { "#SBATCH --partition=tiny\n", "#SBATCH --array=0-1%2\n", "#SBATCH --signal=B:TERM@60\n" };
    for (int i = 0; i < 3; i++) assert_non_null(strstr(job, lines[i]));
    assert_int_equal(command_wait(start_job(cluster, bin, -1), 20), 0);
    v = status(cluster);
    assert_int_equal(json_integer_value(stage_at(v, "runs.waiting")), 2);
    json_decref(v);
    pid_t pid = start_job(cluster, bin, 0);
    struct stage own = stage;
    own.db = task;
    stage_wait_step(&own, 1, 20);
    kill(pid, SIGTERM);
    assert_int_equal(command_wait(pid, 20), 0);
    char *asked = test_text(bin, "asked");
    assert_non_null(strstr(asked, "/job.sh\nsbatch --dependency=afterany:41 "));
    assert_non_null(strstr(asked, "scontrol requeue 41_0\n"));
    v = status(cluster);
    assert_string_equal(stage_text(json_array_get(stage_at(v, "tasks"), 0), "state"), "stopped");
    json_decref(v);
    assert_int_equal(command_wait(start_job(cluster, bin, 0), 60), 0);
    free(stage_out(0, "sweep task '%s' 1", cluster));
    v = status(cluster);
    assert_int_equal(json_integer_value(stage_at(v, "runs.finished")), 2);
    json_decref(v);
    free(stage_out(0, "merge '%s' '%s' '%s/tasks/1.db'", stage.db, task, cluster));
    v = stage_json("sweep 1 --db '%s' --json", stage.db);
    for (size_t i = 0; i < 2; i++) assert_int_equal(json_integer_value(stage_at(cell(v, i), "n")), 1);
    assert_int_equal(runs(), 2);
    stage_refused(2, "INDEX must be an integer between 0 and 1", "sweep task '%s' 2", cluster);
    stage_refused(2, "already exists", "sweep --lr 1e-4 --slurm '%s' --model '%s' --task '%s/toys' --db '%s'", cluster, stage.model,
                  stage.folder, stage.db);
    stage_refused(2, "the path must not contain", "sweep --lr 1e-4 --slurm '%s/a%%b' --model '%s' --task '%s/toys' --db '%s'",
                  stage.folder, stage.model, stage.folder, stage.db);
    stage_refused(2, "the path of the folder is empty", "sweep --lr 1e-4 --slurm '' --model '%s' --task '%s/toys' --db '%s'", stage.model,
                  stage.folder, stage.db);
    free(cluster);
    cluster = xprintf("%s/a%%b", stage.folder);
    assert_false(file_exists(cluster));
    free(cluster);
    cluster = xprintf("%s/a b", stage.folder);
    char *said = stage_out(0, "sweep --lr 1e-4 --slurm '%s' --model '%s' --task '%s/toys' --db '%s'", cluster, stage.model,
                           stage.folder, stage.db), *quoted = xprintf("`sh '%s/job.sh'`", cluster);
    assert_non_null(strstr(said, quoted));
    free(said), free(quoted);
    stage_refused(3, "file not found", "sweep status '%s'", bin);
    json_decref(v), free(line), free(job), free(asked), free(cluster), free(bin), free(task);
}

__attribute__((format(printf, 1, 2))) static int shell(const char *format, ...) {
    char line[4096];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    return system(line);
}

/* A Slurm of one node, begun and ended here: one task is told to end, another is killed and queued again, and the merge
 * comes when all are over. */
static void a_real_slurm_runs_it(void **state) {
    (void)state;
    if (!getenv("PETRI_SLOW")) test_skip("a Slurm is started in make test-slow");
    if (geteuid() || shell("command -v %s >/dev/null && command -v %s >/dev/null", "slurmctld", "munged"))
        test_skip("SLURM IS NOT TESTED: it needs root and Debian's packages slurm-wlm and munge");
    char *folder = test_folder(), *script = test_path("tests/support/slurm"), *conf = file_join(folder, "slurm.conf"),
         *cluster = file_join(folder, "cluster"), *task0 = file_join(cluster, "tasks/0.db"), *task1 = file_join(cluster, "tasks/1.db");
    assert_int_equal(shell("'%s' start '%s' >/dev/null", script, folder), 0);
    setenv("SLURM_CONF", conf, 1);
    char *line = xprintf("--method '{lora(r=2),bitfit}' --lr 1e-3 --steps 3000 --seeds 1,2,3 --workers 1 --slurm '%s' "
                         "--sbatch '--time=0:10:00'", cluster);
    json_t *v = stage_json("sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --json %s", stage.model, stage.folder, stage.db, line);
    assert_int_equal(json_integer_value(stage_at(v, "tasks")), 3); /* MaxArraySize is 4 */
    json_decref(v);
    assert_int_equal(shell("sh '%s/job.sh' >'%s/said'", cluster, folder), 0);
    struct stage own = stage;
    own.db = task0;
    stage_wait_step(&own, 1, 50);
    assert_int_equal(shell("scancel --signal=TERM --batch 1_0"), 0);
    own.db = task1;
    stage_wait_step(&own, 1, 50);
    assert_int_equal(shell("scontrol requeue 1_1"), 0);
    int busy = 1;
    for (int i = 0; i < 240 && busy; i++) busy = shell("sleep 0.5; test -z \"$(squeue -h)\"");
    shell("'%s' stop '%s'", script, folder);
    unsetenv("SLURM_CONF");
    assert_int_equal(busy, 0);
    v = stage_json("sweep 1 --db '%s' --json", stage.db);
    for (size_t i = 0; i < 2; i++) assert_int_equal(json_integer_value(stage_at(cell(v, i), "n")), 3);
    assert_int_equal(runs(), 6);
    char *resumed = ask("SELECT count(DISTINCT run) FROM v_events WHERE text='resumed'");
    assert_null(strstr(resumed, "\n0\n")); /* the same runs went on */
    json_decref(v), free(resumed), free(line), free(folder), free(script), free(conf), free(cluster), free(task0), free(task1);
}

/* What was spent is what the sweep's runs say; more may be spent later. */
static void a_budget_ends_it(void **state) {
    (void)state;
    static const char *const cells = "--method '{lora(r=2),bitfit,full}' --lr 1e-3 --steps 4 --seeds 1,2";
    char *line = xprintf("%s --dry-run", cells);
    json_t *v = sweep(line);
    long long most = (long long)json_integer_value(stage_at(cell(v, 2), "trained")) - 1;
    json_decref(v), free(line);
    line = xprintf("%s --budget runs=3,trained=%lld", cells, most);
    v = sweep(line);
    assert_int_equal(runs(), 3);
    assert_string_equal(stage_text(cell(v, 1), "state"), "waiting");
    assert_non_null(strstr(stage_text(cell(v, 2), "reason"), "exceed the budget of "));
    json_decref(v), free(line);
    free(stage_out(0, "sweep resume 1 --db '%s'", stage.db));
    assert_int_equal(runs(), 3);
    free(stage_out(0, "sweep resume 1 --budget steps=16 --db '%s'", stage.db));
    assert_int_equal(runs(), 4);
    stage_refused(2, "--budget hours=3: must be runs, steps", "sweep --lr 1e-3 --budget hours=3 --db '%s'", stage.db);
}

static int cells_in(json_t *v, const char *state) {
    int n = 0;
    for (size_t i = 0; i < json_array_size(stage_at(v, "cells")); i++) n += !strcmp(stage_text(cell(v, i), "state"), state);
    return n;
}

static bool has_line(const char *text, const char *line) {
    char *whole = xprintf("\n%s\n", line);
    bool has = strstr(text, whole) != NULL;
    free(whole);
    return has;
}

static const char *const how_all_stand = "SELECT json_extract(config, '$.method'), json_extract(config, '$.lr'), seed, state, step,"
                                         " weights_sha256 FROM run ORDER BY 1, 2, 3";

/* Rungs stop the runs, the best third goes on as the same runs, which come out as if they had never stopped. */
static void the_best_third_goes_on(void **state) {
    (void)state;
    const char *line = "--method 'lora(r={1,2})' --lr '{3e-2,1e-3}' --steps 9 --eval-steps 1 --seeds 1,2 --halving";
    char *dry = xprintf("%s --dry-run", line);
    json_t *plan = sweep(dry);
    static const int cells[3] = { 4, 2, 1 }, steps[3] = { 8, 8, 12 };
    for (size_t i = 0; i < 3; i++) {
        json_t *rung = json_array_get(stage_at(plan, "rungs"), i);
        assert_int_equal(json_integer_value(stage_at(rung, "cells")), cells[i]);
        assert_int_equal(json_integer_value(stage_at(rung, "runs")), 2 * cells[i]);
        assert_int_equal(json_integer_value(stage_at(rung, "steps")), steps[i]);
    }
    assert_int_equal(json_integer_value(stage_at(plan, "steps")), 28);
    json_t *done = sweep(line);
    char *points = ask("SELECT count(*) FROM v_points WHERE key='loss'"), *halved = ask(how_all_stand);
    assert_true(has_line(points, "28"));
    assert_int_equal(runs(), 8);
    assert_int_equal(cells_in(done, "finished"), 1);
    assert_int_equal(cells_in(done, "stopped at rung 2 of 3"), 1);
    assert_int_equal(cells_in(done, "stopped at rung 1 of 3"), 2);
    double best = -1, on = -1; /* at the first rung */
    for (size_t i = 0; i < 4; i++) {
        json_t *first = json_array_get(stage_at(cell(done, i), "rungs"), 0);
        bool goes = strcmp(stage_text(cell(done, i), "state"), "stopped at rung 1 of 3") != 0;
        double mean = json_number_value(stage_at(first, "mean"));
        assert_int_equal(json_integer_value(stage_at(first, "n")), 2);
        assert_int_equal(json_integer_value(stage_at(cell(done, i), "n")), !strcmp(stage_text(cell(done, i), "state"), "finished") ? 2 : 0);
        if (mean > best) best = mean;
        if (goes && mean > on) on = mean;
    }
    assert_true(on == best);
    free(stage_out(0, "sweep resume 1 --db '%s'", stage.db));
    char *again = ask(how_all_stand);
    assert_string_equal(again, halved);
    /* ended at their rung before the record knew: they stop there again */
    change("UPDATE run SET state='running', weights_sha256=NULL WHERE state='stopped'");
    free(again);
    free(stage_out(0, "sweep resume 1 --db '%s'", stage.db));
    again = ask(how_all_stand);
    assert_string_equal(again, halved);
    /* the rungs are drawn, the end in the metric's name */
    char *lines = stage_out(0, "render --screen sweep --sweep 1 --part lines --size 120x40 --db '%s'", stage.db);
    assert_true(strstr(lines, "rung 1") && strstr(lines, "rung 2") && !strstr(lines, "rung 3"));
    free(lines);
    make(NULL); /* the same in one go */
    json_decref(sweep("--method 'lora(r={1,2})' --lr '{3e-2,1e-3}' --steps 9 --eval-steps 1 --seeds 1,2"));
    char *straight = ask(how_all_stand), *rest = straight, *row;
    int equal = 0;
    while ((row = strsep(&rest, "\n"))) equal += strstr(row, "finished") && has_line(halved, row);
    assert_int_equal(equal, 2);
    json_decref(plan), json_decref(done);
    free(dry), free(points), free(halved), free(again), free(straight);
}

/* Killed, and worked on by two, it comes to the same; further seeds are put to the same rungs. */
static void rungs_are_read_from_the_history(void **state) {
    (void)state;
    const char *line = "--method 'lora(r={1,2})' --lr '{3e-2,1e-3}' --steps 90 --eval-steps 5 --seeds 1,2 --halving";
    json_decref(sweep(line));
    char *alone = ask(how_all_stand);
    make(NULL);
    char *words = xprintf("--model '%s' --task '%s/toys' --batch 2 %s", stage.model, stage.folder, line);
    pid_t first = begin(words, 1);
    stage_wait_step(&stage, 3, 5);
    pid_t second = begin("resume 1", 1);
    stage_wait_step(&stage, 6, 2);
    kill(first, SIGKILL);
    command_wait(first, 10);
    assert_int_equal(command_wait(second, 60), 0);
    char *shared = ask(how_all_stand), *twice = ask("SELECT count(*) FROM (SELECT run, step FROM v_points WHERE key='loss'"
                                                    " GROUP BY 1, 2 HAVING count(*) > 1)");
    assert_string_equal(shared, alone);
    assert_true(has_line(twice, "0"));
    json_t *more = stage_json("sweep extend 1 --seeds 3 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 12);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(json_integer_value(stage_at(json_array_get(stage_at(cell(more, i), "rungs"), 0), "n")), 3);
    json_decref(more);
    free(words), free(alone), free(shared), free(twice);
}

static void what_rungs_cannot_do_is_refused(void **state) {
    (void)state;
    char *words = xprintf("sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 --lr '{1e-3,3e-3}' --halving", stage.model,
                          stage.folder, stage.db);
    stage_refused(2, "--eval-steps N, at most 2", "%s --steps 18", words);
    stage_refused(2, "too far apart for rungs", "%s --steps 18 --eval-steps 6", words);
    stage_refused(2, "--halving: cannot be combined with --budget runs", "%s --steps 18 --eval-steps 1 --budget runs=3", words);
    stage_refused(2, "--slurm: cannot be combined with --halving", "%s --steps 18 --eval-steps 1 --slurm '%s/rungs'", words, stage.folder);
    assert_int_equal(runs(), 0);
    free(words);
}

static json_t *shown(const json_t *id) { return stage_json("show %lld --db '%s' --json", (long long)json_integer_value(id), stage.db); }

/* Every method keeps about as many values; where none of its sizes does, that is marked. */
static void methods_get_one_size(void **state) {
    (void)state;
    const char *line = "--method '{lora-ffn,adapter-pfeiffer,bitfit}' --lr 1e-3 --steps 2 --size-of 'lora(r=8)' --seeds 1";
    char *dry = stage_out(0, "sweep --model '%s' --task '%s/toys' --db '%s' %s --dry-run", stage.model, stage.folder, stage.db, line);
    assert_non_null(strstr(dry, "trainable parameters: bitfit stores"));
    assert_non_null(strstr(dry, "of lora(r=8) (sizes differ)"));
    free(dry);
    json_decref(sweep(line));
    json_t *v = stage_json("sweep 1 --db '%s' --json", stage.db);
    for (size_t i = 0; i < 3; i++) {
        double kept = json_number_value(stage_at(cell(v, i), "size.kept")), wanted = json_number_value(stage_at(cell(v, i), "size.wanted"));
        json_t *run = shown(json_array_get(stage_at(cell(v, i), "runs"), 0));
        assert_true(json_is_true(stage_at(cell(v, i), "size.near")) == (fabs(kept / wanted - 1) <= 0.03));
        assert_true(json_integer_value(stage_at(run, "kept")) == (json_int_t)kept);
        json_decref(run);
    }
    assert_true(json_is_false(stage_at(cell(v, 2), "size.near")));
    json_decref(v);
    v = sweep(line);
    assert_int_equal(runs(), 3);
    json_decref(v);
    stage_refused(2, "--size-of", "sweep --lr 1e-3 --size-of 'no(r=2)' --db '%s'", stage.db);
}

/* The rate comes of runs that hold rows out, enter no mean and are not made twice; where it is an edge, more are made. */
static void a_rate_is_found(void **state) {
    (void)state;
    json_decref(sweep("--method '{lora(r=2),bitfit}' --lr auto --steps 6 --seeds 1,2"));
    json_t *v = stage_json("sweep 1 --db '%s' --json", stage.db), *list = stage_json("runs tag=tune --db '%s' --json", stage.db);
    for (size_t i = 0; i < 2; i++) {
        json_t *rates = stage_at(cell(v, i), "tune.rates");
        double best = -1, at = 0, chosen = json_number_value(stage_at(cell(v, i), "tune.lr"));
        assert_int_equal(json_integer_value(stage_at(cell(v, i), "n")), 2);
        assert_in_range(json_array_size(rates), 5, 9);
        for (size_t k = 0; k < json_array_size(rates); k++) {
            double value = json_number_value(stage_at(json_array_get(rates, k), "value"));
            if (value > best) best = value, at = json_number_value(stage_at(json_array_get(rates, k), "lr"));
            if (json_number_value(stage_at(json_array_get(rates, k), "lr")) == chosen) assert_true(value >= best);
        }
        json_t *run = shown(json_array_get(stage_at(cell(v, i), "runs"), 0));
        assert_true(json_number_value(stage_at(run, "config.lr")) == chosen);
        assert_true(at > 0);
        json_decref(run);
    }
    size_t tuning = json_array_size(list), all = runs();
    assert_int_equal(all, tuning + 4);
    for (size_t i = 0; i < tuning; i++) {
        json_t *run = shown(stage_at(json_array_get(list, i), "id"));
        assert_int_equal(json_integer_value(stage_at(run, "seed")), 9999);
        assert_true(json_number_value(stage_at(run, "config.split")) == 0.1);
        assert_string_equal(stage_text(run, "config.no_dev"), "on");
        json_decref(run);
    }
    json_decref(sweep("--method '{lora(r=2),bitfit}' --lr auto --steps 6 --seeds 1,2"));
    assert_int_equal(runs(), all);
    json_t *mean = stage_json("compare tag=tune --db '%s' --json", stage.db);
    assert_int_equal(json_integer_value(stage_at(cell(mean, 0), "n")), 0);
    json_decref(v), json_decref(list), json_decref(mean);
    stage_refused(2, "find the learning rate first", "sweep --lr auto --steps 2 --model '%s' --task '%s/toys' --db '%s' --slurm '%s/tuned'", stage.model,
                  stage.folder, stage.db, stage.folder);
}

/* The last checkpoint is written, what the record says of the end is not: nothing is left to go on from. */
static void a_run_killed_at_its_end_begins_anew(void **state) {
    (void)state;
    json_t *whole = sweep("--method 'lora(r=2)' --lr 1e-3 --steps 8");
    json_t *run = stage_json("show 1 --db '%s' --json", stage.db);
    change("UPDATE run SET state='running', step=5, weights_sha256=NULL; DELETE FROM metric WHERE step > 5");
    json_t *again = stage_json("sweep resume 1 --db '%s' --json", stage.db);
    json_t *now = stage_json("show 1 --db '%s' --json", stage.db);
    assert_int_equal(runs(), 1);
    assert_string_equal(stage_text(cell(again, 0), "state"), "finished");
    assert_string_equal(stage_text(now, "weights_sha256"), stage_text(run, "weights_sha256"));
    char *count = stage_out(0, "sql --db '%s' \"SELECT count(*) FROM v_points WHERE key='loss'\"", stage.db);
    assert_non_null(strstr(count, "\n8\n"));
    free(count);
    json_decref(whole), json_decref(run), json_decref(again), json_decref(now);
}

static void slips_are_named(void **state) {
    (void)state;
    stage_refused(2, "unmatched { at {1e-3", "sweep --lr '{1e-3' --db '%s'", stage.db);
    stage_refused(2, "--cells N", "sweep --lr '{1e-3,1e-2}' --draw latin --db '%s'", stage.db);
    stage_refused(3, "sweep 9 does not exist", "sweep 9 --db '%s'", stage.db);
    stage_refused(2, "--margin: must be a number above 0", "sweep --lr 1e-3 --margin wide --db '%s'", stage.db);
    stage_refused(2, "give --steps or --epochs", "sweep --lr 1e-3 --steps 3 --epochs 2 --db '%s'", stage.db);
    stage_refused(2, "quote lists in braces", "sweep --lr 1e-3 3e-3 1e-2 --db '%s'", stage.db);
}

/* A method that is spelled twice is one cell, whose runs count once; it can be extended. */
static void two_spellings_are_one_cell(void **state) {
    (void)state;
    json_t *done = sweep("--method '{lora(r=2),lora(r=2,s=2)}' --steps 2 --seeds 1,2");
    assert_int_equal(runs(), 2);
    assert_int_equal(json_integer_value(stage_at(cell(done, 0), "n")), 2);
    assert_true(json_is_false(stage_at(cell(done, 1), "valid")));
    assert_non_null(strstr(stage_text(cell(done, 1), "reason"), "same runs as cell 1, spelled differently"));
    json_decref(done);
    free(stage_out(0, "sweep extend 1 --seeds 3 --db '%s'", stage.db));
    assert_int_equal(runs(), 3);
}

/* A run that began with another's values has the other's options, and is no seed of it. */
static void what_began_elsewhere_is_another_run(void **state) {
    (void)state;
    const char *same = "--method 'lora(r=2)' --lr 3e-2 --steps 8";
    char *model = xprintf("--model '%s'", stage.model);
    for (int from = 0; from < 2; from++)
        free(stage_out(0, "train %s --task '%s/toys' --db '%s' --batch 2 --seed 1 %s", from ? "--from 1" : model, stage.folder,
                       stage.db, same));
    free(model);
    json_t *done = sweep(same), *v = stage_json("compare state=finished --db '%s' --json", stage.db);
    assert_int_equal(runs(), 2);
    assert_int_equal(json_integer_value(json_array_get(stage_at(cell(done, 0), "runs"), 0)), 1);
    assert_int_equal(json_array_size(stage_at(v, "cells")), 2);
    json_decref(done), json_decref(v);
}

/* Of runs that were trained again a cell takes one for each seed: the first, or where their weights differ the newest. */
static void a_seed_counts_once(void **state) {
    (void)state;
    static const int seed[] = { 1, 2, 1, 1 };
    const char *same = "--method 'lora(r=2)' --lr 3e-2 --steps 4";
    for (int i = 0; i < 4; i++)
        free(stage_out(0, "train --model '%s' --task '%s/toys' --db '%s' --batch 2 --workers 2 --seed %d %s", stage.model,
                       stage.folder, stage.db, seed[i], same));
    for (int differs = 0; differs < 2; differs++) {
        if (differs) change("UPDATE run SET weights_sha256 = 'other' WHERE id = 3");
        if (differs) change("UPDATE run SET ended = ended + 100000 WHERE id = 3");
        json_t *done = sweep("--method 'lora(r=2)' --lr 3e-2 --steps 4 --seeds 1,2"), *run = stage_at(cell(done, 0), "runs");
        assert_int_equal(runs(), 4);
        assert_int_equal(json_array_size(run), 2);
        assert_int_equal(json_integer_value(json_array_get(run, 0)), differs ? 3 : 1);
        assert_int_equal(json_integer_value(json_array_get(run, 1)), 2);
        assert_int_equal(json_integer_value(stage_at(cell(done, 0), "n")), 2);
        json_decref(done);
    }
    char *said = stage_out(0, "sweep --model '%s' --task '%s/toys' --db '%s' --batch 2 %s --seeds 1,2 --dry-run", stage.model,
                           stage.folder, stage.db, same);
    assert_non_null(strstr(said, "run 3 is used for its cell and seed: it is the newest of several runs"));
    free(said);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(lists_become_runs, make),
        cmocka_unit_test_setup(a_sweep_grows_by_values, make),
        cmocka_unit_test_setup(memory_is_a_cost, make),
        cmocka_unit_test_setup(a_killed_sweep_goes_on, make),
        cmocka_unit_test_setup(a_full_disk_pauses_it, make),
        cmocka_unit_test_setup(processes_share_a_sweep, make),
        cmocka_unit_test_setup(a_sweep_is_stopped_from_elsewhere, make),
        cmocka_unit_test_setup(a_failed_cell_keeps_its_reason, make),
        cmocka_unit_test_setup(a_sweep_runs_as_tasks, make),
        cmocka_unit_test_setup(a_budget_ends_it, make),
        cmocka_unit_test_setup(the_best_third_goes_on, make),
        cmocka_unit_test_setup(rungs_are_read_from_the_history, make),
        cmocka_unit_test_setup(what_rungs_cannot_do_is_refused, make),
        cmocka_unit_test_setup(methods_get_one_size, make),
        cmocka_unit_test_setup(a_rate_is_found, make),
        cmocka_unit_test_setup(a_real_slurm_runs_it, make),
        cmocka_unit_test_setup(a_run_killed_at_its_end_begins_anew, make),
        cmocka_unit_test_setup(slips_are_named, make),
        cmocka_unit_test_setup(two_spellings_are_one_cell, make),
        cmocka_unit_test_setup(a_seed_counts_once, make),
        cmocka_unit_test_setup(what_began_elsewhere_is_another_run, make),
    };
    return cmocka_run_group_tests(tests, NULL, stage_drop);
}
