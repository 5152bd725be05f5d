#include "app/files/paths.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/model/model.h"

/* Returns the account's home folder, for services and containers that set no HOME; NULL when it has none. */
static char *account_home(void) {
    enum { ROOM = 16384 };
    struct passwd entry, *found = NULL;
    char *room = xmalloc(ROOM), *home = NULL;
    if (!getpwuid_r(geteuid(), &entry, room, ROOM, &found) && found && *found->pw_dir == '/' &&
        file_is_folder(found->pw_dir))
        home = xstrdup(found->pw_dir);
    free(room);
    return home;
}

char *paths_database(bool *guessed, struct err *e) {
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    *guessed = false;
    if (data && data[0] == '/') return xprintf("%s/petri/petri.db", data);
    if (home && home[0] == '/') return xprintf("%s/.local/share/petri/petri.db", home);
    char *account = account_home();
    if (!account) {
        err_set(e, ERR_USAGE, "cannot determine the default database: HOME is not set to an absolute path, "
                              "and the account has no home folder; specify the database with --db FILE");
        return NULL;
    }
    char *path = xprintf("%s/.local/share/petri/petri.db", account);
    free(account);
    *guessed = true;
    return path;
}

const char *paths_fetch(void) {
    char *script = assets_find("packages"); /* only a clone has it */
    bool clone = script != NULL;
    free(script);
    return clone ? "make fetch" : "petri fetch";
}

static bool have_model(const char *name) {
    struct err ignored = ERR_INIT;
    char *folder = model_find(name, &ignored);
    free(folder);
    return folder != NULL;
}

static bool have_task(const char *name) {
    char *inside = xprintf("tasks/%s", name), *folder = assets_find(inside);
    bool have = folder || file_is_folder(name); /* a name may also be a path */
    free(folder);
    free(inside);
    return have;
}

const char *paths_model(void) {
    return !have_model(DEFAULT_MODEL) && have_model(OWN_MODEL) ? OWN_MODEL : DEFAULT_MODEL;
}
const char *paths_task(void) {
    return !have_task(DEFAULT_TASK) && have_task(OWN_TASK) ? OWN_TASK : DEFAULT_TASK;
}
const char *paths_first_task(void) { return have_task(OWN_TASK) ? OWN_TASK : paths_task(); }

char *paths_stand_in(const char *model, const char *task) {
    bool own_model = model && !strcmp(model, OWN_MODEL) && !have_model(DEFAULT_MODEL);
    bool own_task = task && !strcmp(task, OWN_TASK) && !have_task(DEFAULT_TASK);
    if (own_model && own_task)
        return xprintf("%s and %s are built in; `%s` downloads more",
                       OWN_MODEL, OWN_TASK, paths_fetch());
    return own_model || own_task ? xprintf("%s is built in; `%s` downloads a larger one",
                                           own_model ? OWN_MODEL : OWN_TASK, paths_fetch())
                                 : NULL;
}

const char *paths_version(void) { return "petri 0.1.0"; }
