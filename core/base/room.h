/* Memory that this process can still allocate. */
#ifndef CORE_BASE_ROOM_H
#define CORE_BASE_ROOM_H

#include <stdbool.h>

/* The smallest of the machine's available memory, what the limits of its control groups leave (v2 and v1) and
 * two thirds of what its limit of the address space leaves, as part of the allocated address space stays
 * unused. */
struct room {
    double bytes;      /* infinite: nothing is known */
    const char *limit; /* static text: which of them, for messages; NULL where nothing is known */
};

/* Reads it from the files of the kernel below `root`: "" outside of tests.  `swap`: the available memory of
 * the machine includes its free swap space. */
struct room room_left(const char *root, bool swap);
/* Returns what the limit of the address space (ulimit -v) leaves; infinite: no limit. */
double room_of_space(void);

#endif
