#include "core/base/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum { YOUNG_SECONDS = 60 }; /* a new folder may not be locked yet */

/* Locks a folder that no other process has locked; −1 on failure. */
static int scratch_hold(const char *folder) {
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Whether it is a folder of ours of that kind, not just created, that nobody has locked. */
static void remove_left(const char *parent, const char *start) {
    DIR *d = opendir(parent);
    time_t now = time(NULL);
    for (struct dirent *x; d && (x = readdir(d));) {
        struct stat st;
        if (!text_starts(x->d_name, start) || strlen(x->d_name) != strlen(start) + 6) continue;
        char *path = file_join(parent, x->d_name);
        bool ours = !lstat(path, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
                    st.st_mtime < now - YOUNG_SECONDS;
        int fd = ours ? scratch_hold(path) : -1;
        if (fd >= 0) {
            file_remove_folder(path);
            close(fd);
        }
        free(path);
    }
    if (d) closedir(d);
}

int scratch_make(struct scratch *s, const char *what, struct err *e) {
    const char *parent = getenv("TMPDIR");
    if (!parent || !*parent) parent = "/tmp";
    char *start = xprintf("petri-%s-", what);
    remove_left(parent, start);
    *s = (struct scratch){ xprintf("%s/%sXXXXXX", parent, start), -1 };
    free(start);
    if (!mkdtemp(s->folder)) {
        err_set(e, ERR_SYSTEM, "%s: cannot be created: %s", s->folder, strerror(errno));
        free(s->folder);
        s->folder = NULL;
        return e->code;
    }
    s->hold = scratch_hold(s->folder);
    return 0;
}

void scratch_drop(struct scratch *s) {
    if (!s->folder) return;
    file_remove_folder(s->folder);
    if (s->hold >= 0) close(s->hold);
    free(s->folder);
    *s = (struct scratch){ NULL, -1 };
}
