#include "core/base/clock.h"

#include "core/base/mem.h"

static struct timespec now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t;
}

double clock_seconds(void) {
    struct timespec t = now();
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int64_t clock_ms(void) {
    struct timespec t = now();
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static double processor_seconds(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double clock_thread_seconds(void) { return processor_seconds(CLOCK_THREAD_CPUTIME_ID); }
double clock_process_seconds(void) { return processor_seconds(CLOCK_PROCESS_CPUTIME_ID); }

struct timespec clock_after(double seconds) {
    struct timespec t = now();
    t.tv_sec += (time_t)seconds;
    t.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    if (t.tv_nsec >= 1000000000) {
        t.tv_sec++;
        t.tv_nsec -= 1000000000;
    }
    return t;
}

void clock_cond_init(pthread_cond_t *c) {
    pthread_condattr_t a;
    if (pthread_condattr_init(&a) || pthread_condattr_setclock(&a, CLOCK_MONOTONIC) ||
        pthread_cond_init(c, &a))
        BUG("a condition variable with the monotonic clock could not be created");
    pthread_condattr_destroy(&a);
}

void clock_sleep_ms(int ms) {
    nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000L }, NULL);
}
