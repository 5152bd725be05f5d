/* Where models, tasks and experiments lie that are named without a path. */
#ifndef CORE_BASE_ASSETS_H
#define CORE_BASE_ASSETS_H

#include <stddef.h>

/* The folders that are looked through, in this order: "assets" of the working folder; "assets" beside the
 * program or above it, as in a clone; $XDG_DATA_HOME/petri, or ~/.local/share/petri; ../share/petri of the
 * program, as it is installed. They need not exist.  Owned: assets_free. */
size_t assets_roots(char ***out);
/* The user's own among them; NULL where neither variable names a folder.  Caller frees. */
char *assets_own_root(void);
/* The first root/inside that exists ("models/NAME"); NULL: none.  Caller frees. */
char *assets_find(const char *inside);
/* What has `marker` (NULL: anything) in a folder of its own below KIND of any root, sorted, each name once,
 * none that begins with a dot.  Owned: assets_free. */
size_t assets_names(const char *kind, const char *marker, char ***out);
/* The folders in one folder, the same way. */
size_t assets_folders(const char *folder, char ***out);
/* What stands before `end` in the names of the files that end so below KIND of any root, the same way. */
size_t assets_files(const char *kind, const char *end, char ***out);
void assets_free(char **list, size_t n);

#endif
