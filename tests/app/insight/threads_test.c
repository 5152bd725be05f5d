/* One crew: while a run trains and a map is laid out, as many threads compute as there are workers. */
#include <dirent.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/insight/insight.h"
#include "app/jobs/jobs.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

enum { WORKERS = 2, ROWS = 400, MOST = 64 };

/* ---- the threads of this process ---- */

struct threads {
    int count, id[MOST];
    double seconds[MOST]; /* of processor time */
};

/* To the nanosecond: at ticks of 10 ms a thread that wakes often is counted as one that computes. */
static double seconds_of(int id) {
    char path[64];
    long long ns = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", id);
    FILE *f = fopen(path, "r");
    if (f && fscanf(f, "%lld", &ns) != 1) ns = 0;
    if (f) fclose(f);
    return (double)ns / 1e9;
}

static struct threads threads_now(void) {
    struct threads t = { 0 };
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (struct dirent *x; (x = readdir(d));) {
        if (x->d_name[0] == '.') continue;
        assert_true(t.count < MOST);
        t.id[t.count] = atoi(x->d_name);
        t.seconds[t.count] = seconds_of(t.id[t.count]);
        t.count++;
    }
    closedir(d);
    return t;
}

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* What each thread took since `before`, greatest first; returns how many there are. */
static int taken_since(const struct threads *before, double *out) {
    struct threads now = threads_now();
    for (int i = 0; i < now.count; i++) {
        out[i] = now.seconds[i];
        for (int k = 0; k < before->count; k++)
            if (before->id[k] == now.id[i]) out[i] -= before->seconds[k];
    }
    qsort(out, (size_t)now.count, sizeof *out, by_time);
    return now.count;
}

/* ---- a run and a map ---- */

static char *many_rows(void) {
    struct buf b = BUF_INIT;
    static const char *const word[] = { "good", "bad", "film", "cat", "sat", "mat", "the" };
    buf_puts(&b, "text\tlabel\n");
    for (int i = 0; i < ROWS; i++)
        buf_printf(&b, "%s %s %s %s\t%s\n", word[i % 7], word[i / 7 % 7], word[i / 49 % 7], word[i % 5],
                   i % 2 ? "pos" : "neg");
    char *path = test_file(stage.folder, "many.tsv", buf_text(&b), b.size);
    buf_release(&b);
    return path;
}

static int64_t train(struct jobs *j, const char *rows, int64_t steps) {
    struct job_request r = { .config = stage_config(&stage, 32, steps) };
    struct err e = ERR_INIT;
    int64_t id;
    r.config.train_file = xstrdup(rows);
    test_ok(jobs_start(j, &r, &id, &e), &e);
    config_release(&r.config);
    return id;
}

static void nobody(void *self) { (void)self; }

static int64_t step_of(struct jobs *j, int64_t id) {
    struct job_view v;
    assert_true(jobs_view(j, id, &v));
    job_view_release(&v);
    return v.progress.step;
}

/* A map of the run that is there; NULL: none came. */
static struct insight_map *await_map(struct insight *in) {
    for (int i = 0; i < 6000; i++) {
        struct insight_map *m = insight_take_map(in);
        if (m && m->data.failed) fail_msg("%s", m->data.failed);
        if (m && !m->data.busy && m->data.panels) return m;
        insight_map_free(m);
        poll(NULL, 0, 5);
    }
    return NULL;
}

static void a_map_takes_no_thread_from_nowhere(void **state) {
    (void)state;
    if (access("/proc/self/schedstat", R_OK)) test_skip("this kernel tells no thread's time in nanoseconds");
    struct store *store;
    struct err e = ERR_INIT;
    char *rows = many_rows();
    test_ok(store_open(&store, stage.db, STORE_WRITE, &e), &e);
    struct jobs *j = jobs_new(store, WORKERS, (struct jobs_hook){ 0 });
    int64_t looked_at = train(j, rows, 2);
    assert_true(jobs_wait(j, looked_at, 60));
    int64_t trains = train(j, rows, 100000000);
    for (int i = 0; i < 6000 && step_of(j, trains) < 5; i++) poll(NULL, 0, 5);
    int before = threads_now().count;
    struct insight *in = insight_new(store, false, jobs_crew(j), nobody, NULL);
    insight_open(in, &(struct insight_subject){ "", "", .run = &looked_at, .runs = 1 });
    struct insight_map *m = await_map(in);
    assert_true(m && m->data.n == ROWS && m->data.panels == 2);
    insight_map_free(m);
    struct threads start = threads_now();
    int64_t step = step_of(j, trains), maps = 0, most = 0;
    double took[MOST];
    int count = 0;
    do {
        insight_perplexity(in, maps % 2 ? 1 : -1); /* everything is laid out anew */
        m = await_map(in);
        assert_non_null(m);
        insight_map_free(m);
        int now = threads_now().count;
        if (now > most) most = now;
        count = taken_since(&start, took);
    } while (++maps < 4 || took[0] + took[1] < 0.5 || step_of(j, trains) <= step);
    assert_true(count > WORKERS);
    printf("%d threads, of which two took %.2f s and %.2f s, the next %.2f s; %lld maps, %lld steps\n", count, took[0],
           took[1], took[WORKERS], (long long)maps, (long long)(step_of(j, trains) - step));
    assert_int_equal(most, before + 1); /* the insight's, which asks and waits */
    assert_true(took[WORKERS] < 0.5 * took[1]); /* a third that computed would have taken as long */
    insight_free(in);
    jobs_free(j, false);
    test_ok(store_close(store, &e), &e);
    free(rows);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_map_takes_no_thread_from_nowhere) };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
