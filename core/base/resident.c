#include "core/base/resident.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* The kernel's count for this program; that of getrusage includes memory used before exec. */
int64_t resident_peak_bytes(void) {
    FILE *f = fopen("/proc/self/status", "r");
    int64_t kilobytes = 0;
    char line[256];
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, "VmHWM:", 6)) kilobytes = strtoll(line + 6, NULL, 10);
    if (f) fclose(f);
    struct rusage usage;
    if (kilobytes <= 0 && !getrusage(RUSAGE_SELF, &usage)) kilobytes = usage.ru_maxrss;
    return 1024 * kilobytes;
}
