/* A one-line editor: filter, command line, number fields, search.
 *
 * It receives presses and pastes.  Pasted text is inserted literally: a newline becomes a blank and
 * does not submit the line, control characters are dropped. */
#ifndef VIEWS_PROMPT_H
#define VIEWS_PROMPT_H

#include <stdbool.h>
#include <stddef.h>

#include "views/canvas.h"
#include "views/keys.h"

enum { PROMPT_ROOM = 2000 };

struct prompt {
    bool open;
    char label[128];        /* "filter", ":", "r" */
    char text[PROMPT_ROOM];
    size_t length, at;     /* bytes; at: the cursor's */
    bool fresh;            /* the first character typed replaces the text */
};

enum prompt_result { PROMPT_GOING, PROMPT_CHANGED, PROMPT_DONE, PROMPT_CANCELLED, PROMPT_COMPLETE };

void prompt_open(struct prompt *p, const char *label, const char *text, bool fresh);
/* Handles a press.  Returns DONE for Enter, CANCELLED for Esc, COMPLETE for Tab; DONE and CANCELLED close the
 * prompt and preserve its text. */
enum prompt_result prompt_press(struct prompt *p, const struct press *k);
enum prompt_result prompt_paste(struct prompt *p, const char *text, size_t n);
void prompt_set(struct prompt *p, const char *text);
void prompt_draw(const struct prompt *p, struct canvas *c, int x, int y, int w);

/* Returns how well a name matches the typed text (all letters in order): higher is better, < 0: no match. */
int prompt_match(const char *typed, const char *name);

#endif
