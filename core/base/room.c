#include "core/base/room.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { ROOM_FILE = 1 << 20 };

/* Allocated per used address space: an arena grows by half of its size (core/engine/arena.c). */
static const double unused_share = 1.5;

static void room_take(struct room *r, double bytes, const char *limit) {
    if (!(bytes < r->bytes)) return;
    *r = (struct room){ fmax(bytes, 0), limit };
}

/* Returns the number after `name` at the start of a line of a file, or at its start where name is ""; NaN
 * without one, such as "max". */
static double room_number(const char *root, const char *path, const char *name) {
    struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    char *full = xprintf("%s%s", root, path), *end;
    double value = NAN;
    if (!file_read(full, ROOM_FILE, &text, &ignored))
        for (const char *line = buf_text(&text); line; line = strchr(line, '\n')) {
            line += *line == '\n';
            if (!text_starts(line, name)) continue;
            const char *at = line + strlen(name);
            double found = strtod(at, &end);
            if (end != at) value = found;
            break;
        }
    buf_release(&text);
    free(full);
    return value;
}

/* The files of a version of control groups.  Usage includes cached files, part of which can be dropped. */
static const struct room_group {
    const char *mark, *folder, *limit, *usage, *dropped;
} room_groups[] = {
    { "0::", "/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file " },
    { ":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
      "total_inactive_file " },
};

/* Takes what the limits of a group and of all groups above it leave.  In a container, its group can be the
 * root of what is mounted. */
static void room_of_group(const char *root, const struct room_group *g, char *path, struct room *r) {
    for (bool top = false; !top;) {
        top = !*path || !strcmp(path, "/");
        char *folder = xprintf("%s%s", g->folder, top ? "" : path), *limit = file_join(folder, g->limit),
             *usage = file_join(folder, g->usage), *stat = file_join(folder, "memory.stat");
        double dropped = room_number(root, stat, g->dropped);
        double used = room_number(root, usage, "") - (dropped > 0 ? dropped : 0);
        room_take(r, room_number(root, limit, "") - used, "cgroup memory limit");
        free(folder);
        free(limit);
        free(usage);
        free(stat);
        char *slash = strrchr(path, '/');
        if (slash) *slash = '\0';
    }
}

static void room_of_groups(const char *root, struct room *r) {
    struct buf text = BUF_INIT;
    struct err ignored = ERR_INIT;
    char *file = xprintf("%s/proc/self/cgroup", root);
    int rc = file_read(file, ROOM_FILE, &text, &ignored);
    for (size_t i = 0; !rc && i < COUNT_OF(room_groups); i++) {
        const char *at = strstr(buf_text(&text), room_groups[i].mark);
        if (!at) continue;
        at += strlen(room_groups[i].mark);
        char *path = xstrndup(at, strcspn(at, "\n"));
        room_of_group(root, &room_groups[i], path, r);
        free(path);
    }
    buf_release(&text);
    free(file);
}

double room_of_space(void) {
    struct rlimit space;
    double pages = room_number("", "/proc/self/statm", "");
    if (getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY || isnan(pages)) return INFINITY;
    return fmax((double)space.rlim_cur - (double)sysconf(_SC_PAGESIZE) * pages, 0);
}

struct room room_left(const char *root, bool swap) {
    struct room r = { INFINITY, NULL };
    double swapped = swap ? room_number(root, "/proc/meminfo", "SwapFree:") : 0;
    room_take(&r, 1024 * (room_number(root, "/proc/meminfo", "MemAvailable:") + (swapped > 0 ? swapped : 0)),
              "MemAvailable");
    room_of_groups(root, &r);
    room_take(&r, room_of_space() / unused_share, "ulimit -v");
    return r;
}
