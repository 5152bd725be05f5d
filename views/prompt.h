/* A one-line editor: filter, command line, number fields, search.
 *
 * It is fed presses and pastes.  A paste is text and nothing else: a newline in it becomes
 * a blank and submits nothing, control characters are dropped. */
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
    bool fresh;            /* the first character typed replaces what stands there */
};

enum prompt_result { PROMPT_GOING, PROMPT_CHANGED, PROMPT_DONE, PROMPT_CANCELLED, PROMPT_COMPLETE };

void prompt_open(struct prompt *p, const char *label, const char *text, bool fresh);
/* Enter gives DONE, Esc CANCELLED, Tab COMPLETE; both of the first leave it closed with the
 * text still there. */
enum prompt_result prompt_press(struct prompt *p, const struct press *k);
enum prompt_result prompt_paste(struct prompt *p, const char *text, size_t n);
void prompt_set(struct prompt *p, const char *text);
void prompt_draw(const struct prompt *p, struct canvas *c, int x, int y, int w);

/* How well a name fits what was typed: all letters in order; higher is better, < 0 no. */
int prompt_match(const char *typed, const char *name);

#endif
