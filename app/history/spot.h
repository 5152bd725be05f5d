/* SPoT (Vu et al. 2022): initializes a prompt from that of another run; of several candidates, the one most
 * similar to the prompt of a short run on the task itself.  spot(runs=3|5|7, run=9) in a method's text
 * becomes that run's prompt with init=run(N). */
#ifndef APP_HISTORY_SPOT_H
#define APP_HISTORY_SPOT_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "store/store.h"

bool spot_says(const char *text);
/* Returns the text with the prompt in place of spot(…), or a copy; the choice and its reason are added to
 * `notes` as a line. Caller frees; NULL with *e: ERR_NOT_FOUND for a missing run, ERR_USAGE for one without
 * a free prompt or with another width. */
char *spot_text(struct store *s, const char *text, struct buf *notes, struct err *e);

#endif
