/* What others read of the table of verbs (args.h): the man page (shells_man.c), and completions for shells (shells.c).
 * Texts go to the end of a buffer, the same bytes for the same table. */
#ifndef APP_VERBS_SHELLS_H
#define APP_VERBS_SHELLS_H

#include "app/verbs/args.h"
#include "core/base/buf.h"

/* The words that an option takes, with blanks between; "" where it takes any. */
struct buf shells_choices(const struct option_spec *o);
/* Whether a placeholder or synopsis names a file or folder. */
bool shells_takes_file(const char *placeholder);

/* Roff for man(1), in ASCII. */
void shells_man(struct buf *b);
/* Verbs, a verb's options, the words and files that an option takes. */
void shells_bash(struct buf *b);
void shells_zsh(struct buf *b);
void shells_fish(struct buf *b);

#endif
