/* The clock of durations and deadlines.  It is monotonic: setting the machine's time moves none of
 * them.  (Times of day, as in records, are the store's: store_now.) */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Seconds and milliseconds since a moment that stays the same while the machine is up. */
double clock_seconds(void);
int64_t clock_ms(void);
/* Seconds of processor that the calling thread has had: what others of the machine do is not in them. */
double clock_thread_seconds(void);

/* A deadline `seconds` (≥ 0) from now, for pthread_cond_timedwait on a condition of clock_cond_init. */
struct timespec clock_after(double seconds);
/* Makes a condition whose timed waits end by this clock.  pthread_cond_destroy. */
void clock_cond_init(pthread_cond_t *c);

/* Sleeps, shorter only where a signal comes. */
void clock_sleep_ms(int ms);

#endif
