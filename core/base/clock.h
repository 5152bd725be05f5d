/* The clock of durations and deadlines.  It is monotonic: setting the machine's time does not change it.
 * (Times of day, as in records, come from store_now.) */
#ifndef CORE_BASE_CLOCK_H
#define CORE_BASE_CLOCK_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Return seconds and milliseconds since a fixed moment, the same for all processes until the next boot. */
double clock_seconds(void);
int64_t clock_ms(void);
/* Returns the processor time of the calling thread in seconds, without the load of other processes. */
double clock_thread_seconds(void);
/* Returns likewise the processor time of all threads of the process. */
double clock_process_seconds(void);

/* Returns a deadline `seconds` (≥ 0) from now, for pthread_cond_timedwait on a condition of
 * clock_cond_init. */
struct timespec clock_after(double seconds);
/* Initializes a condition whose timed waits use this clock.  Freed with pthread_cond_destroy. */
void clock_cond_init(pthread_cond_t *c);

/* Sleeps; a signal may end it early. */
void clock_sleep_ms(int ms);

#endif
