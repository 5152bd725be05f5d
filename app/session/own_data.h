/* Own data for the screen: what is in a folder, what a file holds, how its rows read.  On the background's
 * thread; failures are part of what is shown. */
#ifndef APP_SESSION_OWN_DATA_H
#define APP_SESSION_OWN_DATA_H

#include "core/base/buf.h"
#include "core/train/config/config.h"
#include "views/data.h"

/* Each owns what its view points to. */
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

/* A folder's entries, folders first, each kind by name; hidden ones are left out.  "": where the program
 * is. */
struct own_folder *own_folder_list(const char *path);
/* A file, a folder that is a task, or a list of tasks.  `how`: what was set of its first line and
 * delimiter, NULL: nothing. */
struct own_look *own_look_at(const char *path, const struct run_config *how);
/* Reads and encodes the rows of a config as a run would, and keeps what the report says of them. */
struct own_read *own_read_rows(const struct run_config *c, int64_t asked);
/* NULL is no work. */
void own_folder_free(struct own_folder *f);
void own_look_free(struct own_look *k);
void own_read_free(struct own_read *r);

#endif
