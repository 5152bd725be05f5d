/* Estimated and measured peak memory of runs. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "core/base/mem.h"
#include "core/base/room.h"
#include "tests/support/stage.h"
#include "tests/support/test.h"

static const char mini[] = "--model petri-mini --task sections", pair[] = "--model petri-mini --tasks sections,sections12",
                  lm[] = "--model all-MiniLM-L6-v2 --task sections", lm_long[] = "--model all-MiniLM-L6-v2 --task reviews --eval-rows 100",
                  mini_again[] = "--model petri-mini --task sections --recompute on",
                  lm_again[] = "--model all-MiniLM-L6-v2 --task reviews --eval-rows 100 --recompute on",
                  t5_again[] = "--model flan-t5-small --task reviews --eval-rows 64 --recompute on",
                  t5[] = "--model flan-t5-small --task reviews --eval-rows 64";

struct need {
    const char *data, *method, *precision;
    int workers, batch;
};

/* Returns the measured peak of a run of two steps. */
static double peak_of(const struct need *x) {
    static int id;
    free(stage_out(0, "train %s --method '%s' --precision %s --workers %d --batch %d --steps 2 --eval-steps 2 --seed 1 --db '%s'",
                   x->data, x->method, x->precision, x->workers, x->batch, stage.db));
    json_t *run = stage_json("show %d --db '%s' --json", ++id, stage.db);
    double peak = json_number_value(stage_at(run, "peak_bytes")), estimated = json_number_value(stage_at(run, "estimated_bytes"));
    json_decref(run);
    if (!(estimated >= peak && estimated <= 1.25 * peak))
        fail_msg("%s %s %s, batch size %d, %d workers: measured %.1f MB, estimated %.1f MB", x->data, x->method, x->precision, x->batch,
                 x->workers, peak / 1e6, estimated / 1e6);
    return peak;
}

static void estimates_cover_the_peak(void **state) {
    (void)state;
    static const struct need quick[] = {
        { mini, "lora", "f32", 1, 16 },     { mini, "lora", "bf16", 1, 16 },  { mini, "adapter-pfeiffer", "f32", 1, 256 },
        { mini, "prefix", "f32", 2, 128 },  { mini, "full", "f32", 2, 4 },    { mini, "full", "f32", 1, 256 },
        { mini_again, "full", "f32", 1, 256 }, { mini_again, "lora", "bf16", 2, 256 },
    };
    static const struct need slow[] = {
        { lm, "lora", "f32", 1, 16 },      { lm, "lora", "bf16", 2, 16 },   { lm, "full", "f32", 2, 16 },
        { lm_long, "lora", "f32", 1, 128 }, { lm_long, "prefix", "bf16", 2, 64 }, { t5, "lora", "f32", 1, 16 },
        { lm_again, "lora", "f32", 1, 128 }, { lm_again, "adapter-houlsby", "f32", 2, 64 }, { t5_again, "lora", "f32", 1, 64 },
    };
    double peak[COUNT_OF(quick)];
    for (size_t i = 0; i < COUNT_OF(quick); i++) peak[i] = peak_of(&quick[i]);
    assert_true(peak[1] < peak[0] + 1e5); /* frozen maps in bfloat16 instead of float32 */
    assert_true(peak[6] < 0.85 * peak[5]);
    for (size_t i = 0; i < COUNT_OF(slow) && test_slow(); i++) peak_of(&slow[i]);
}

/* Episodes, and stages, of which the largest counts. */
static void of_regimes_too(void **state) {
    (void)state;
    static const char *const regime[] = {
        "--method 'meta-adapters(m=4)' --regime 'meta(inner=2, support=16, query=8, tasks=2)' --steps 1 --workers 2",
        "--regime 'stages(full, steps=1; lora, train=head, steps=1)' --batch 64 --workers 1",
        "--method 'meta-adapters(m=4)' --regime 'meta(inner=2, support=16, query=32, tasks=2, order=fd)' --steps 1 --workers 1",
    };
    for (size_t i = 0; i < COUNT_OF(regime) - !test_slow(); i++) {
        free(stage_out(0, "train %s %s --seed 1 --db '%s'", mini, regime[i], stage.db));
        json_t *run = stage_json("show last --db '%s' --json", stage.db);
        double peak = json_number_value(stage_at(run, "peak_bytes")), estimated = json_number_value(stage_at(run, "estimated_bytes"));
        if (!(estimated >= peak && estimated <= 1.25 * peak))
            fail_msg("%s: measured %.1f MB, estimated %.1f MB", regime[i], peak / 1e6, estimated / 1e6);
        json_decref(run);
    }
}

static void of_several_tasks_too(void **state) {
    (void)state;
    static const struct need need[] = { { pair, "hyperformer", "f32", 1, 64 }, { pair, "shared-adapter", "bf16", 1, 64 },
                                        { pair, "hyperdecoder", "f32", 1, 64 } };
    test_needs("assets/tasks/sections12");
    for (size_t i = 0; i < COUNT_OF(need) - !test_slow(); i++) peak_of(&need[i]);
}

/* Writes a file below the folder, with the folders above it. */
static void kernel_file(const char *folder, const char *path, const char *text) {
    char *name = xprintf("%s%s", folder, path);
    for (char *at = name + strlen(folder) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(name, 0755);
    }
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    free(name);
}

/* The smallest of all limits counts; groups of version 2 and 1, also those above. */
static void room_is_the_smallest_limit(void **state) {
    (void)state;
    char *folder = test_folder();
    assert_true(isinf(room_left(folder, false).bytes) || !strcmp(room_left(folder, false).limit, "ulimit -v"));
    kernel_file(folder, "/proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n");
    assert_true(room_left(folder, false).bytes == 5000 * 1024.0);
    kernel_file(folder, "/proc/meminfo", "MemAvailable:    5000 kB\nSwapTotal: 90 kB\nSwapFree: 7 kB\n");
    assert_true(room_left(folder, false).bytes == 5000 * 1024.0 && room_left(folder, true).bytes == 5007 * 1024.0);
    kernel_file(folder, "/proc/self/cgroup", "0::/a/b\n");
    kernel_file(folder, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    kernel_file(folder, "/sys/fs/cgroup/a/b/memory.current", "10000\n");
    assert_true(room_left(folder, false).bytes == 5000 * 1024.0);
    kernel_file(folder, "/sys/fs/cgroup/a/memory.max", "4000000\n");
    kernel_file(folder, "/sys/fs/cgroup/a/memory.current", "1000000\n");
    assert_true(room_left(folder, false).bytes == 3000000);
    kernel_file(folder, "/sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 250000\n");
    assert_true(room_left(folder, false).bytes == 3250000);
    kernel_file(folder, "/proc/self/cgroup", "4:memory:/gone\n0::/\n");
    kernel_file(folder, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
    kernel_file(folder, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "1500000\n");
    assert_true(room_left(folder, false).bytes == 500000);
    assert_string_equal(room_left(folder, false).limit, "cgroup memory limit");
    free(folder);
}

/* The program under ulimit -v, in MB: its exit code, 137 where it does not end.  *said: its output; the caller frees. */
static int run_limited(int megabytes, const char *words, char **said) {
    char *folder = test_folder();
    char *line = xprintf("ulimit -v %d; exec timeout -s KILL 20 \"$PETRI_BIN\" %s >'%s/out' 2>&1", 1000 * megabytes, words, folder);
    int status = system(line);
    *said = test_text(folder, "out");
    free(line);
    free(folder);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* OpenBLAS retries a buffer that it cannot allocate forever: the program ends before. */
static void too_little_address_space_is_reported(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int megabytes, status;
        const char *part;
    } limited[] = {
        { "--version", 200, 0, "petri " },
        { "doctor", 200, 2, "petri: ulimit -v: not enough address space for 1 worker: " },
        { "train --model petri-mini --task sections --workers 2", 200, 2, "address space for 2 workers: " },
        { "train --model petri-mini --task sections --workers 8", 800, 2, "MB needed; reduce --workers or raise the limit" },
        { "predict 1 --text x --workers 2", 200, 2, "not enough address space" },
        { "render --screen compose", 200, 2, "not enough address space" },
        { "encode --model petri-mini --text 'a word' --tokens", 500, 0, "word" },
    };
    if (TEST_PATIENCE > 1) test_skip("a sanitizer needs all of the address space");
    for (size_t i = 0; i < COUNT_OF(limited); i++) {
        char *said, *words = xprintf("%s --db '%s'", limited[i].words, stage.db);
        int status = run_limited(limited[i].megabytes, i ? words : limited[i].words, &said);
        if (status != limited[i].status || !strstr(said, limited[i].part))
            fail_msg("%s: exit code %d: %s", words, status, said);
        free(words);
        free(said);
    }
}

#define LARGE "train --model petri-mini --task sections --steps 1 --eval-rows 16 --batch 512 --shards 1"

/* Estimated memory that is not available: refused, forced, a cell of a sweep, a run that fits when another has ended. */
static void what_does_not_fit_is_not_started(void **state) {
    (void)state;
    static const struct {
        const char *words;
        int megabytes, status;
        const char *part;
    } limited[] = {
        { LARGE " --workers 1", 400, 2, " MB available (ulimit -v); reduce --batch or --max-length, increase" },
        { "sweep --model petri-mini --task sections --steps 1 --method lora --batch '{512,8}' --shards 1 --workers 1", 400, 0,
          "cell 1, seed 1: not enough memory: the run needs about " },
        { "fewshot --tasks sections --model petri-mini --method full --k 64 --draws 1 --steps 1 --batch 512 --workers 1", 345, 2,
          "petri: sections: not enough memory: the run needs about " },
        { LARGE " --workers 2 --seeds 1,2", 720, 0, "waits until other runs have released memory" },
    };
    if (TEST_PATIENCE > 1) test_skip("a sanitizer needs all of the address space");
    char *said, *forced = xprintf(LARGE " --workers 1 --force --db '%s'", stage.db);
    for (size_t i = 0; i < COUNT_OF(limited); i++) {
        char *words = xprintf("%s --db '%s'", limited[i].words, stage.db);
        int status = run_limited(limited[i].megabytes, words, &said);
        if (status != limited[i].status || !strstr(said, limited[i].part)) fail_msg("%s: exit code %d: %s", words, status, said);
        free(words);
        free(said);
    }
    assert_int_equal(run_limited(400, forced, &said), 1);
    assert_non_null(strstr(said, "step 1: out of memory: "));
    free(said);
    free(forced);
    forced = xprintf("resume last --workers 1 --db '%s'", stage.db);
    assert_int_equal(run_limited(400, forced, &said), 2);
    assert_non_null(strstr(said, "petri: not enough memory: the run needs about "));
    free(said);
    free(forced);
}

static void a_model_that_does_not_fit_is_not_loaded(void **state) {
    (void)state;
    char *said;
    test_needs("assets/models/all-MiniLM-L6-v2");
    if (TEST_PATIENCE > 1) test_skip("a sanitizer needs all of the address space");
    assert_int_equal(run_limited(330, "encode --model all-MiniLM-L6-v2 --text x", &said), 2);
    assert_non_null(strstr(said, "all-MiniLM-L6-v2: not enough memory for its 22713216 parameters: 91 MB needed, "));
    free(said);
}

/* What count prints is compared with what is available. */
static void count_shows_the_memory(void **state) {
    (void)state;
    char *text = stage_out(0, "count --model petri-mini --method lora --batch 8");
    json_t *small = stage_json("count --model petri-mini --method lora --batch 8 --json"),
           *large = stage_json("count --model petri-mini --method lora --batch 64 --json");
    double need = json_number_value(stage_at(small, "memory_need")), more = json_number_value(stage_at(large, "memory_need"));
    assert_non_null(strstr(text, " MB for batch size 8 \u00D7 128 tokens and "));
    assert_true(need > 3e6 && more > 1.5 * need && json_number_value(stage_at(small, "memory_free")) > 0);
    json_decref(small);
    json_decref(large);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(estimates_cover_the_peak), cmocka_unit_test(of_several_tasks_too),
                                        cmocka_unit_test(of_regimes_too),
                                        cmocka_unit_test(room_is_the_smallest_limit),
                                        cmocka_unit_test(what_does_not_fit_is_not_started),
                                        cmocka_unit_test(a_model_that_does_not_fit_is_not_loaded), cmocka_unit_test(count_shows_the_memory),
                                        cmocka_unit_test(too_little_address_space_is_reported) };
    return cmocka_run_group_tests(tests, stage_make, stage_drop);
}
