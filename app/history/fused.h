/* Expansion of methods that use other runs: fusion(runs=3|5) becomes the adapters that these runs trained,
 * attempt(runs=3|5) their prompts, plus a new prompt if the method has none. */
#ifndef APP_HISTORY_FUSED_H
#define APP_HISTORY_FUSED_H

#include "core/base/err.h"
#include "store/store.h"

/* Returns whether the text names runs of the database (fusion_runs); below 0 with *e when their list is
 * invalid. */
int fused_says(const char *text, struct err *e);
/* Returns the text with each run's adapters as modules with source=fusion,init=run(N) in place of runs=; a
 * text without it is copied.  Caller frees; NULL with *e: ERR_NOT_FOUND for a missing run, ERR_USAGE for
 * one that trained anything but adapters. */
char *fused_text(struct store *s, const char *text, struct err *e);

#endif
