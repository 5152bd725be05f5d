/* fetch: the default model and tasks, brought by the scripts that stand in a clone and beside an installed
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

/* Runs `python3 SCRIPT WORD`; its output is the user's to see. */
static int run_script(const char *name, const char *word, const char *into, struct err *e) {
    char *script = assets_find(name);
    if (!script)
        return err_set(e, ERR_NOT_FOUND,
                       "fetch: the script %s is neither in a clone's assets nor beside an installed petri",
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
                       "fetch: python3 does not start: %s (Debian's packages python3 and python3-pip)",
                       strerror(failed));
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && !WEXITSTATUS(status)) return 0;
    return err_set(e, ERR_FAILED, "fetch: %s is not whole; the same line goes on", word ? word : name);
}

int verb_fetch(const struct args *a, struct err *e) {
    static const struct {
        const char *what, *script, *word;
    } all[] = { { "model", "fetch", "model" },
                { "tasks", "fetch", "task" },
                { "tasks", "more-tasks", NULL },
                { "t5", "t5", NULL } };
    const char *what = a->count ? a->positional[0] : NULL;
    char *into = assets_own_root();
    int rc = 0, known = 0;
    if (!into)
        return err_set(e, ERR_USAGE, "fetch: neither XDG_DATA_HOME nor HOME names a folder to fetch into");
    for (size_t i = 0; i < COUNT_OF(all) && !rc; i++) {
        /* what a new machine begins with: the model and the task that stand where nobody says another */
        bool wanted = what ? !strcmp(what, all[i].what) : !strcmp(all[i].script, "fetch");
        known += wanted;
        if (wanted) rc = run_script(all[i].script, all[i].word, into, e);
    }
    free(into);
    if (!known) return err_set(e, ERR_USAGE, "fetch: \"%s\" is none of model, tasks, t5", what);
    return rc;
}
