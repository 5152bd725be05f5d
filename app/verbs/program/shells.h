/* The table of verbs (args.h) as a man page (shells_man.c) and as completions for shells (shells.c).
 * Functions append to a buffer, the same bytes for the same table. */
#ifndef APP_VERBS_PROGRAM_SHELLS_H
#define APP_VERBS_PROGRAM_SHELLS_H

#include "core/base/buf.h"

/* Appends roff for man(1), in ASCII. */
void shells_man(struct buf *b);
/* Append completions of verbs, their options, and the words and files that an option takes. */
void shells_bash(struct buf *b);
void shells_zsh(struct buf *b);
void shells_fish(struct buf *b);

#endif
