/* Handouts: a lesson as Markdown with pictures. */
#ifndef APP_VERBS_PROGRAM_LEARN_HANDOUT_H
#define APP_VERBS_PROGRAM_LEARN_HANDOUT_H

#include "app/verbs/args.h"
#include "core/lesson/progress.h"

/* Writes FOLDER/NAME.md and a picture FOLDER/NAME-STEP.svg for each screen that the lesson shows.  All steps
 * must be done; answers are at the end.  petri plot and petri render draw the pictures.  Existing files are
 * an error (ERR_USAGE) without --overwrite. */
int learn_handout(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                  const char *folder, struct err *e);

#endif
