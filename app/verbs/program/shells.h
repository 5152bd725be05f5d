/* What others read of the table of verbs (args.h): the man page (shells_man.c), and completions for shells
 * (shells.c). Texts go to the end of a buffer, the same bytes for the same table. */
#ifndef APP_VERBS_PROGRAM_SHELLS_H
#define APP_VERBS_PROGRAM_SHELLS_H

#include "core/base/buf.h"

/* Roff for man(1), in ASCII. */
void shells_man(struct buf *b);
/* Verbs, a verb's options, the words and files that an option takes. */
void shells_bash(struct buf *b);
void shells_zsh(struct buf *b);
void shells_fish(struct buf *b);

#endif
