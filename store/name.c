/* Names of points: composed and parsed here only. */
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "store/internal.h"

char *store_name(const char *split, const char *metric) {
    return split ? xprintf("%s.%s", split, metric) : xstrdup(metric);
}

char *store_name_other(const char *name, const char *metric) {
    /* a task's name may contain dots, so the last one ends the split */
    const char *slash = strrchr(name, '/');
    const char *dot = strrchr(slash ? slash : name, '.');
    char *split = dot ? xstrndup(name, (size_t)(dot - name)) : NULL;
    char *made = store_name(split, metric);
    free(split);
    return made;
}

const char *store_name_metric(const char *name, const char *task) {
    size_t n = strlen(task);
    const char *dot = strncmp(name, task, n) || name[n] != '/' ? NULL : strrchr(name + n, '.');
    return dot ? dot + 1 : NULL;
}

int64_t store_rows_count(const char *rows) {
    const char *space = rows ? strchr(rows, ' ') : NULL;
    return space ? strtoll(space + 1, NULL, 10) : 0;
}
