/* Search paths of models, tasks and experiments that are named without a path. */
#ifndef CORE_BASE_ASSETS_H
#define CORE_BASE_ASSETS_H

#include <stddef.h>

/* Returns the folders that are searched, in this order: "assets" of the working folder; "assets" next to the
 * program or above it, as in a clone; $XDG_DATA_HOME/petri, or ~/.local/share/petri; ../share/petri of the
 * installed program.  They need not exist.  Freed with assets_free. */
size_t assets_roots(char ***out);
/* Returns the root of the user among them; NULL where neither variable names a folder.  Caller frees. */
char *assets_own_root(void);
/* Returns the first root/inside that exists ("models/NAME"); NULL for none.  Caller frees. */
char *assets_find(const char *inside);
/* Returns the subfolders of KIND in all roots that contain `marker` (NULL: any), sorted, without duplicates
 * and hidden folders.  Freed with assets_free. */
size_t assets_names(const char *kind, const char *marker, char ***out);
/* Returns the folders in one folder, in the same form. */
size_t assets_folders(const char *folder, char ***out);
/* Returns the names, without `end`, of the files in KIND of all roots that end in it, in the same form. */
size_t assets_files(const char *kind, const char *end, char ***out);
void assets_free(char **list, size_t n);

#endif
