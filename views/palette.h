/* What the ':' line offers: words that fit what is typed, the best first, and what the line would do as it
 * stands.
 *
 * The part of the line behind its last blank is what a word is sought for. */
#ifndef VIEWS_PALETTE_H
#define VIEWS_PALETTE_H

#include <stdbool.h>
#include <stddef.h>

#include "views/canvas.h"

enum { PALETTE_ROWS = 60 }; /* of those that fit the best are kept */

struct palette_row {
    char word[256];
    char note[200];
    int score;
};

struct palette {
    struct palette_row row[PALETTE_ROWS];
    int count, all;   /* all: that fit */
    int cursor;       /* the one that Tab takes */
    bool moved;       /* the cursor was moved: Enter takes the word as Tab does */
    size_t from;      /* byte of the line where the word begins */
    char typed[256];  /* the word so far */
    char does[300];   /* what Enter does with the line, "" not known */
    bool refused;     /* it does not: `does` says why */
};

/* Empties it for a line. */
void palette_begin(struct palette *p, const char *line);
/* Kept when it fits (its letters in order, or what was typed stands in the note) and is not there yet. */
void palette_offer(struct palette *p, const char *word, const char *note);
/* The list above the line, over the last rows of `area`. */
void palette_draw(const struct palette *p, struct canvas *c, struct rect area);

#endif
