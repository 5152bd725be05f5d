/* fetch: downloads models and tasks with the scripts of a clone or of an installed
 * petri. */
#include "app/verbs/verbs.h"

#include <errno.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "core/base/assets.h"
#include "core/base/mem.h"

extern char **environ;

/* Runs `python3 SCRIPT WORD`; its output is shown to the user. */
static int run_script(const char *name, const char *word, const char *into, struct err *e) {
    char *script = assets_find(name);
    if (!script)
        return err_set(
            e, ERR_NOT_FOUND,
            "fetch: %s not found in the assets of petri; reinstall petri, or run it in a clone of the "
            "project",
            name);
    fflush(stdout);
    char *words[] = { "python3", script, (char *)(uintptr_t)word, NULL };
    pid_t pid;
    int status = 0, failed = setenv("PETRI_ASSETS", into, 1)
                                 ? errno
                                 : posix_spawnp(&pid, words[0], NULL, NULL, words, environ);
    free(script);
    if (failed)
        return err_set(e, ERR_SYSTEM,
                       "fetch: cannot start python3: %s; install the Debian packages python3 and python3-pip",
                       strerror(failed));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return 0;
    return err_set(e, ERR_FAILED, "fetch: %s is incomplete; run the same command to continue",
        word ? word : name);
}

int verb_fetch(const struct args *a, struct err *e) {
    static const struct {
        const char *what, *script, *word;
        bool first; /* for a new machine */
    } all[] = { { "model", "fetch", "model", true },
                { "tasks", "fetch", "task", true },
                { "tasks", "more-tasks", NULL, false },
                { "t5", "t5", NULL, false },
                { "smollm2", "fetch", "smollm2", false } };
    const char *what = a->count ? a->positional[0] : NULL;
    char *into = assets_own_root();
    int rc = 0, known = 0;
    if (!into)
        return err_set(e, ERR_USAGE, "fetch: neither XDG_DATA_HOME nor HOME is set; set one of them to an "
                                     "absolute path");
    for (size_t i = 0; i < COUNT_OF(all) && !rc; i++) {
        bool wanted = what ? !strcmp(what, all[i].what) : all[i].first;
        known += wanted;
        if (wanted) rc = run_script(all[i].script, all[i].word, into, e);
    }
    free(into);
    if (!known) return err_set(e, ERR_USAGE, "fetch: expected model, tasks, t5 or smollm2, found \"%s\"", what);
    return rc;
}
