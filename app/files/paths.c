#include "app/files/paths.h"

#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* The account's home, where services and containers set no HOME; NULL when it has none. */
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
        err_set(e, ERR_USAGE, "HOME is not set to an absolute path and the account has no home folder: "
                              "say with --db FILE where the history is");
        return NULL;
    }
    char *path = xprintf("%s/.local/share/petri/petri.db", account);
    free(account);
    *guessed = true;
    return path;
}

const char *paths_fetch(void) {
    char *script = assets_find("packages"); /* it is in a clone alone */
    bool clone = script != NULL;
    free(script);
    return clone ? "make fetch" : "petri fetch";
}

const char *paths_version(void) { return "petri 0.1.0"; }
