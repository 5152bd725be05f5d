/* Full-text search of help: verbs, their options, keys of the screens and settings (petri help WORD). */
#ifndef APP_VERBS_PROGRAM_HELP_SEARCH_H
#define APP_VERBS_PROGRAM_HELP_SEARCH_H

#include <stdbool.h>

#include "core/base/buf.h"

/* Appends every verb, option, key and setting whose name, alias or help contains the word, as lines for a
 * terminal or as the objects of a JSON array.  Case does not matter, '-', '_' and blanks are equal, and an
 * older term finds the entries of the term that replaced it.  Returns how many there are. */
int help_search(const char *word, bool json, struct buf *out);

#endif
