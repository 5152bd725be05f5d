/* The user's own data for the screen: the contents of folders and files, and the result of importing a
 * file.  Runs on the background's thread; failures are part of what is shown. */
#ifndef APP_SESSION_OWN_DATA_H
#define APP_SESSION_OWN_DATA_H

#include "core/base/buf.h"
#include "core/train/config/config.h"
#include "views/data.h"

/* Each owns the memory of its view. */
struct own_folder {
    struct data_folder view;
    struct data_entry *entry;
};
struct own_look {
    struct data_look view;
    struct peek peek;
    char **beside;
};
struct own_read {
    struct data_read view;
    char **line;
};

/* Returns the entries of a folder, folders first, each kind by name, without hidden ones.  "": the working
 * folder. */
struct own_folder *own_folder_list(const char *path);
/* Examines a file, a task folder, or a task list.  `how`: settings of its header and delimiter; NULL:
 * detect them. */
struct own_look *own_look_at(const char *path, const struct run_config *how);
/* Reads and encodes the examples of a config like a run, and keeps the import report. */
struct own_read *own_read_rows(const struct run_config *c, int64_t asked);
/* Release the results; NULL is ignored. */
void own_folder_free(struct own_folder *f);
void own_look_free(struct own_look *k);
void own_read_free(struct own_read *r);

#endif
