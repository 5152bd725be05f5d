/* A recipe of README's "How to add", done in a copy: tests/…/recipe/build makes it, its check looks at it. */
#ifndef TESTS_SUPPORT_RECIPE_H
#define TESTS_SUPPORT_RECIPE_H

/* Runs FOLDER/build SCRATCH BUILD, then SCRATCH/check; fails with what either said.  Returns SCRATCH, which the
 * caller frees; skips under a sanitizer. */
char *recipe_run(const char *folder);

#endif
