/* The runs of a history that a fusion is over: fusion(runs=3|5) written out as the modules that they trained;
 * attempt(runs=3|5) likewise as their prompts, and one of the method's own where it says none. */
#ifndef APP_HISTORY_FUSED_H
#define APP_HISTORY_FUSED_H

#include "core/base/err.h"
#include "store/store.h"

/* Whether the text says runs of a history (fusion_runs); below 0 with *e where they are no list. */
int fused_says(const char *text, struct err *e);
/* The text with each run's adapters as modules with source=fusion,init=run(N) in place of runs=; a text
 * without it as it is. Caller frees; NULL with *e: ERR_NOT_FOUND for a run that is not there, ERR_USAGE for
 * one that trained anything but adapters. */
char *fused_text(struct store *s, const char *text, struct err *e);

#endif
