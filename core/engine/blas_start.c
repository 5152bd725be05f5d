#include <cblas.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "core/base/mem.h"
#include "core/base/room.h"
#include "core/engine/blas.h"

/* OpenBLAS selects its kernel before main runs, and old versions do not know newer processors: they fall back
 * to kernels of 2004 that are five times slower.  The variable below selects another one, but only in a
 * process that starts with it. */
static const char core_variable[] = "OPENBLAS_CORETYPE";
/* Set in the re-executed process, which must not re-execute itself again. */
static const char chosen_variable[] = "PETRI_BLAS_CHOSEN";
/* Set in the child process that only tests a kernel and exits. */
static const char probe_variable[] = "PETRI_BLAS_PROBE";

enum vector_unit { VECTORS_NONE, VECTORS_AVX2, VECTORS_AVX512 };

/* ---- the processor ---- */

#if defined(__x86_64__)
/* The register state saved by the operating system: without it the instructions fault even if CPUID lists
 * them. */
static uint64_t saved_state(void) {
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static enum vector_unit processor_vectors(void) {
    unsigned a, b, c, d, b7, c7, d7;
    if (!__get_cpuid(1, &a, &b, &c, &d)) return VECTORS_NONE;
    bool xsave = c & bit_OSXSAVE, avx = c & bit_AVX, fma = c & bit_FMA;
    if (!xsave || !avx || !fma || !__get_cpuid_count(7, 0, &a, &b7, &c7, &d7)) return VECTORS_NONE;
    uint64_t state = saved_state();
    if ((state & 0x06) != 0x06 || !(b7 & bit_AVX2)) return VECTORS_NONE;
    /* SkylakeX kernels use F, DQ, BW and VL. */
    unsigned wide = bit_AVX512F | bit_AVX512DQ | bit_AVX512BW | bit_AVX512VL;
    return (b7 & wide) == wide && (state & 0xE6) == 0xE6 ? VECTORS_AVX512 : VECTORS_AVX2;
}

static void processor_name(char *out, size_t size) {
    unsigned r[12];
    char brand[49] = "";
    for (unsigned i = 0; i < 3; i++)
        if (!__get_cpuid(0x80000002u + i, &r[4 * i], &r[4 * i + 1], &r[4 * i + 2], &r[4 * i + 3])) {
            snprintf(out, size, "x86-64");
            return;
        }
    memcpy(brand, r, 48);
    snprintf(out, size, "%s", brand + strspn(brand, " "));
}
#else
static enum vector_unit processor_vectors(void) { return VECTORS_NONE; }

static void processor_name(char *out, size_t size) {
#if defined(__aarch64__)
    snprintf(out, size, "arm64");
#else
    snprintf(out, size, "unknown");
#endif
}
#endif

static const char *vectors_name(enum vector_unit v) {
    if (v == VECTORS_AVX512) return "avx512";
    if (v == VECTORS_AVX2) return "avx2";
#if defined(__aarch64__)
    return "neon";
#else
    return "sse2";
#endif
}

/* ---- the kernel in use ---- */

/* Instruction sets used by the core that OpenBLAS selected. */
static enum vector_unit core_vectors(const char *core) {
    static const char *const wide[] = { "SkylakeX", "Cooperlake", "SapphireRapids" };
    static const char *const middle[] = { "Haswell", "Zen", "Excavator" };
    for (size_t i = 0; i < COUNT_OF(wide); i++)
        if (!strcasecmp(core, wide[i])) return VECTORS_AVX512;
    for (size_t i = 0; i < COUNT_OF(middle); i++)
        if (!strcasecmp(core, middle[i])) return VECTORS_AVX2;
    return VECTORS_NONE;
}

/* One product compared with a plain loop; C starts as NaN, which beta 0 must not read. */
static bool product_is_right(bool ta, bool tb, int m, int n, int k, real beta) {
    enum { MOST = 97 * 97 };
    static _Thread_local real a[MOST], b[MOST], c[MOST];
    for (int i = 0; i < m * k; i++) a[i] = (real)((i * 7) % 13 - 6) / 8;
    for (int i = 0; i < k * n; i++) b[i] = (real)((i * 5) % 11 - 5) / 8;
    for (int i = 0; i < m * n; i++) c[i] = beta == 0 ? (real)NAN : (real)(i % 3);
    blas_gemm(ta, tb, m, n, k, (real)0.5, a, ta ? m : k, b, tb ? k : n, beta, c, n);
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int p = 0; p < k; p++)
                sum += (double)a[ta ? p * m + i : i * k + p] * (double)b[tb ? j * k + p : p * n + j];
            double want = 0.5 * sum + (double)beta * ((i * n + j) % 3);
            if (!(fabs((double)c[i * n + j] - want) <= 1e-4 * (1 + fabs(want)))) return false;
        }
    return true;
}

/* Writes the result of the test to `what` in either case. */
static bool self_test(char *what, size_t size) {
    static const int sizes[] = { 1, 2, 3, 7, 16, 17, 33, 64, 97 };
    int count = 0;
    for (size_t x = 0; x < COUNT_OF(sizes); x++)
        for (size_t y = 0; y < COUNT_OF(sizes); y++)
            for (int trans = 0; trans < 4; trans++) {
                int m = sizes[x], n = sizes[y], k = sizes[(x * 2 + y + (size_t)trans) % COUNT_OF(sizes)];
                real beta = (x + y) % 2 ? 0 : 1;
                if (!product_is_right(trans & 1, trans & 2, m, n, k, beta)) {
                    snprintf(what, size, "wrong matrix product %d×%d×%d%s%s, beta %d", m, n, k,
                             trans & 1 ? ", A transposed" : "", trans & 2 ? ", B transposed" : "",
                             (int)beta);
                    return false;
                }
                count++;
            }
    snprintf(what, size, "%d matrix products match a reference implementation", count);
    return true;
}

/* ---- selection ---- */

/* Runs this program as a child process with the kernel forced; the child tests itself and exits.  A crash or
 * a wrong result there does not affect this process. */
static bool core_passes(const char *core, char **argv) {
    pid_t child = fork();
    if (child < 0) return false;
    if (!child) {
        setenv(core_variable, core, 1);
        setenv(probe_variable, core, 1);
        execv("/proc/self/exe", argv);
        _exit(127);
    }
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return false;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void probe_and_exit(const char *core) {
    char what[96];
    struct err ignored = ERR_INIT;
    bool same = !strcasecmp(openblas_get_corename(), core) && !blas_reserve(1, &ignored);
    _exit(same && self_test(what, sizeof what) ? 0 : 1);
}

/* The threads that the library started before main are not used. */
static void without_threads(char **argv) {
    static const char threads_variable[] = "OPENBLAS_NUM_THREADS";
    const char *threads = getenv(threads_variable);
    if (isinf(room_of_space()) || (threads && !strcmp(threads, "1"))) return;
    setenv(threads_variable, "1", 1);
    execv("/proc/self/exe", argv);
}

void blas_start(char **argv) {
    without_threads(argv);
    openblas_set_num_threads(1);
    const char *probe = getenv(probe_variable);
    if (probe) probe_and_exit(probe);
    /* An empty value counts as set. */
    if (getenv(core_variable) || getenv(chosen_variable)) return;
    enum vector_unit can = processor_vectors();
    if (core_vectors(openblas_get_corename()) >= can) return;
    const char *better = can == VECTORS_AVX512 ? "SkylakeX" : "Haswell";
    if (!core_passes(better, argv)) {
        if (can != VECTORS_AVX512 || core_vectors(openblas_get_corename()) >= VECTORS_AVX2) return;
        better = "Haswell";
        if (!core_passes(better, argv)) return;
    }
    setenv(core_variable, better, 1);
    setenv(chosen_variable, better, 1);
    execv("/proc/self/exe", argv);
    /* The program continues with its current kernel. */
    unsetenv(core_variable);
    unsetenv(chosen_variable);
}

static struct blas_facts facts;

static void blas_start_find_facts(void) {
    openblas_set_num_threads(1); /* even if blas_start() was not called */
    processor_name(facts.processor, sizeof facts.processor);
    snprintf(facts.features, sizeof facts.features, "%s", vectors_name(processor_vectors()));
    snprintf(facts.kernel, sizeof facts.kernel, "%s", openblas_get_corename());
    snprintf(facts.version, sizeof facts.version, "%s", openblas_get_config());
    snprintf(facts.chosen_by, sizeof facts.chosen_by, "%s",
             getenv(chosen_variable) ? "petri" : getenv(core_variable) ? "environment" : "library");
    facts.self_test_passed = self_test(facts.self_test, sizeof facts.self_test);
}

const struct blas_facts *blas_facts(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, blas_start_find_facts);
    return &facts;
}
