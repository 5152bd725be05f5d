/* Completions of the ':' line: words that match the typed text, the best first, and a description of the
 * line.
 *
 * The part after the last blank of the line is completed. */
#ifndef VIEWS_PALETTE_H
#define VIEWS_PALETTE_H

#include <stdbool.h>
#include <stddef.h>

#include "views/canvas.h"

enum { PALETTE_ROWS = 60 }; /* the best matches */

struct palette_row {
    char word[256];
    char note[200];
    int score;
};

struct palette {
    struct palette_row row[PALETTE_ROWS];
    int count, all;   /* all: number of matches */
    int cursor;       /* the word that Tab inserts */
    bool moved;       /* the cursor was moved: Enter inserts the word, like Tab */
    size_t from;      /* byte of the line where the word begins */
    char typed[256];  /* the word so far */
    char does[300];   /* the effect of Enter, "": unknown */
    bool refused;     /* the line is invalid: `does` holds the reason */
};

/* Clears the palette for a line. */
void palette_begin(struct palette *p, const char *line);
/* Returns how well a word and its note match the typed text: higher is better, below 0: no match. */
int palette_score(const char *typed, const char *word, const char *note);
/* Adds the word if it matches (its letters in order, or the note contains the typed text) and is new. */
void palette_offer(struct palette *p, const char *word, const char *note);
/* Draws the list above the line, over the last rows of `area`. */
void palette_draw(const struct palette *p, struct canvas *c, struct rect area);

#endif
