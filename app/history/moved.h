/* The rows of a run, wherever they lie now, and the model that lies with them. */
#ifndef APP_HISTORY_MOVED_H
#define APP_HISTORY_MOVED_H

#include "core/base/buf.h"
#include "core/train/config/config.h"

/* Looks for the files of rows that are no longer where the run read them: in the same place below the working
 * folder, the history's folder, and the program's or the one above it, as when a tree was moved as a whole.
 * Only a file with the stored SHA-256 is taken; then *c names it, and `said` (may be NULL) has a line.  What
 * is not found stays as it was.  Where the model is gone and lay in the folder of the rows (petri pretrain),
 * it is taken from there too.  `history`: the database's path. */
void moved_rows(struct run_config *c, const char *history, struct buf *said);

#endif
