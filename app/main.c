#include <errno.h>
#include <locale.h>
#include <malloc.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "app/files/paths.h"
#include "app/verbs/verbs.h"
#include "core/base/mem.h"
#include "core/base/room.h"
#include "core/engine/blas.h"
#include "store/store.h"

static int report(int rc, const struct err *e) {
    errno = 0;
    if ((fflush(stdout) || ferror(stdout)) && !*e->text) { /* a full disk behind a redirection */
        fprintf(stderr, "petri: the output could not be written: %s\n", strerror(errno ? errno : EIO));
        return err_exit_code(ERR_SYSTEM);
    }
    if (rc) fprintf(stderr, "petri: %s\n", e->text);
    return err_exit_code(rc);
}

static void say_waiting(void *self, const char *text) {
    (void)self;
    fprintf(stderr, "petri: %s\n", text);
}

/* Raises the limit of open files, often 1024: each queued run holds its lock file open. */
static void open_many(void) {
    enum { MANY = 65536 };
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) || files.rlim_cur >= MANY) return;
    files.rlim_cur = files.rlim_max < MANY ? files.rlim_max : MANY;
    setrlimit(RLIMIT_NOFILE, &files); /* unchanged where not permitted */
}

/* Each thread has a heap of 64 MB of address space otherwise. */
static void share_heap(void) {
#ifdef M_ARENA_MAX
    if (isfinite(room_of_space())) mallopt(M_ARENA_MAX, 1);
#endif
}

int main(int argc, char **argv) {
    setlocale(LC_CTYPE, ""); /* not LC_NUMERIC: the decimal separator is a point */
    blas_start(argv);
    share_heap();
    struct err e = ERR_INIT;
    const char *word = argc > 1 ? argv[1] : NULL;
    if (word && !strcmp(word, "--version")) {
        puts(paths_version());
        return 0;
    }
    if (word && (!strcmp(word, "--help") || !strcmp(word, "-h"))) {
        args_help();
        return 0;
    }
    signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is a write error, like a full disk */
    open_many();
    store_on_wait((struct store_wait){ NULL, say_waiting });
    int at = args_verb_at(argc - 1, argv + 1);
    if (at < 0) return report(verb_screen(argc - 1, argv + 1, &e), &e);
    word = argv[at + 1];
    const struct verb *v = verb_find(word);
    if (!v) return report(verb_unknown(word, &e), &e);
    char **room = xcalloc((size_t)argc, sizeof *room);
    struct args a;
    memmove(argv + 2, argv + 1, (size_t)at * sizeof *argv); /* options before the verb belong to it */
    int rc = args_parse(&a, v, argc - 2, argv + 2, room, &e);
    if (!rc && a.help) args_help_verb(v);
    else if (!rc && !(rc = verb_reserve(&a, &e))) rc = v->run(&a, &e);
    free(room);
    return report(rc, &e);
}
