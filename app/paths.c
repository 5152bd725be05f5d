#include "app/paths.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

const char *paths_assets(void) {
    static char found[4096];
    if (found[0]) return found;
    char program[4000];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    memcpy(found, "assets", sizeof "assets");
    if (file_is_folder("assets") || n <= 0) return found;
    program[n] = '\0';
    char *slash = strrchr(program, '/');
    if (slash) *slash = '\0';
    char *beside = file_join(program, "assets");
    char *above = file_join(program, "../assets"); /* build/petri */
    const char *best = file_is_folder(beside) ? beside : file_is_folder(above) ? above : "assets";
    if (strlen(best) < sizeof found) memcpy(found, best, strlen(best) + 1);
    free(beside);
    free(above);
    return found;
}

char *paths_database(void) {
    const char *data = getenv("XDG_DATA_HOME");
    if (data && data[0] == '/') return xprintf("%s/petri/petri.db", data);
    const char *home = getenv("HOME");
    return xprintf("%s/.local/share/petri/petri.db", home && *home ? home : ".");
}

const char *paths_version(void) { return "petri 0.1.0"; }
