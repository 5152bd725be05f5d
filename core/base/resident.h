/* Resident memory of this process. */
#ifndef CORE_BASE_RESIDENT_H
#define CORE_BASE_RESIDENT_H

#include <stdint.h>

/* Returns the peak number of resident bytes, from getrusage where the kernel's own count is not available. */
int64_t resident_peak_bytes(void);

#endif
