/* What memory this process has. */
#ifndef CORE_BASE_RESIDENT_H
#define CORE_BASE_RESIDENT_H

#include <stdint.h>

/* The most bytes that ever were resident; as getrusage counts where the system's own count is not to be
 * had. */
int64_t resident_peak_bytes(void);

#endif
