/* Finding the data files of a run after they were moved, and the model in the same folder. */
#ifndef APP_HISTORY_MOVED_H
#define APP_HISTORY_MOVED_H

#include "core/base/buf.h"
#include "core/train/config/config.h"

/* Searches for missing data files of the run: at the same relative path below the working folder, the
 * database's folder, and the program's or its parent, as when a whole tree was moved.  Only a file with the
 * stored SHA-256 is used; *c then names it, and `notes` (may be NULL) gets a line.  Files that are not
 * found stay unchanged. A missing model that was in the data files' folder (petri pretrain) is taken from
 * there too.  `history`: the database's path. */
void moved_rows(struct run_config *c, const char *history, struct buf *notes);

#endif
