/* A lesson on paper: Markdown with pictures, for those without a terminal. */
#ifndef APP_VERBS_PROGRAM_LEARN_HANDOUT_H
#define APP_VERBS_PROGRAM_LEARN_HANDOUT_H

#include "app/verbs/args.h"
#include "core/lesson/progress.h"

/* Writes FOLDER/NAME.md and a picture, FOLDER/NAME-STEP.svg, for each screen that the lesson shows, of a
 * lesson whose steps are done; the answers stand at the end.  The pictures are what petri plot and petri
 * render draw of the database's runs.  Files that are there are refused (ERR_USAGE) unless the verb has
 * --overwrite. */
int learn_handout(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                  const char *folder, struct err *e);

#endif
