/* SPoT (Vu et al. 2022): a prompt begins as that of another run, of several the one whose prompt is most like
 * the one that was trained a little on the task itself.  spot(runs=3|5|7, run=9) in a method's text is
 * written out as that run's prompt with init=run(N). */
#ifndef APP_HISTORY_SPOT_H
#define APP_HISTORY_SPOT_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "store/store.h"

bool spot_says(const char *text);
/* The text with the prompt in place of spot(…), or as it is; what was chosen and why goes to `said`, a line.
 * Caller frees; NULL with *e: ERR_NOT_FOUND for a run that is not there, ERR_USAGE for one without a prompt
 * of its own or another width. */
char *spot_text(struct store *s, const char *text, struct buf *said, struct err *e);

#endif
