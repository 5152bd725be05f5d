/* A steady step asks the system for no memory: the program's own malloc counts. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "tests/support/test.h"
#include "tests/support/tiny.h"
#include "tests/support/trained.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define COUNTS 0
#else
#define COUNTS 1
#endif

static atomic_int asked;

#if COUNTS
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

/* OpenBLAS asks on its own account: its kernels for small products on AVX-512 do. */
static void note(const void *caller) {
    Dl_info info;
    if (dladdr(caller, &info) && info.dli_fname && strstr(info.dli_fname, "openblas")) return;
    atomic_fetch_add(&asked, 1);
}

void *malloc(size_t n) {
    note(__builtin_return_address(0));
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size) {
    note(__builtin_return_address(0));
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n) {
    note(__builtin_return_address(0));
    return __libc_realloc(p, n);
}

int posix_memalign(void **p, size_t align, size_t n) {
    note(__builtin_return_address(0));
    *p = __libc_memalign(align, n);
    return *p ? 0 : 12;
}

void *aligned_alloc(size_t align, size_t n) {
    note(__builtin_return_address(0));
    return __libc_memalign(align, n);
}
#endif

/* Times that memory was asked for by the end of each step. */
static void count(void *self, const struct event *e) {
    int *by_step = self;
    if (e->kind == EVENT_POINT) by_step[e->step] = atomic_load(&asked);
}

static void a_steady_step_asks_for_nothing(void **state) {
    (void)state;
    static const char *const methods[] = {
        "lora(r=2)", "adapter-pfeiffer(r=4)", "prefix(l=3,mlp=6)", "mam(l=3,r=2)", "ia3", "full",
    };
    if (!COUNTS) test_skip("memory cannot be counted in this build");
    char *home = test_folder(), *toy = tiny_toy(home), *model = tiny_bert(home, "tiny", NULL);
    struct ground g;
    ground_open(&g, model, toy, NULL, 16);
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        struct err e = ERR_INIT;
        struct run_config c = ground_config(&g, methods[i / 2], 4, 100);
        c.dropout = 0.1;
        c.recompute = i % 2;
        int by_step[101] = { 0 };
        struct run *r =
            run_new(1, &c, g.model, &g.task, NULL, (struct event_sink){ by_step, count }, &e);
        assert_non_null(r);
        struct pool *p = pool_new(1);
        pool_add(p, r, 0);
        assert_true(pool_wait(p, r, 60));
        assert_true(by_step[1] > 0);
        /* Twelve epochs in, the worker has met every size of part. */
        if (by_step[100] != by_step[60])
            fail_msg("%s: memory was asked for %d times in 40 steps", methods[i / 2],
                     by_step[100] - by_step[60]);
        pool_free(p);
        run_free(r);
        config_release(&c);
    }
    ground_release(&g);
    free(home);
    free(toy);
    free(model);
}

int main(void) {
    const struct CMUnitTest tests[] = { cmocka_unit_test(a_steady_step_asks_for_nothing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
