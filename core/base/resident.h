/* What memory this process has. */
#ifndef CORE_BASE_RESIDENT_H
#define CORE_BASE_RESIDENT_H

#include <stdint.h>

/* Bytes resident now; 0 where the system does not say. */
int64_t resident_bytes(void);
/* The most that ever were; as getrusage counts where the system's own count is not to be had. */
int64_t resident_peak_bytes(void);

#endif
