/* A list to choose from, laid over a screen: presets, models, tasks, options. Typing narrows it. */
#ifndef VIEWS_PICKER_H
#define VIEWS_PICKER_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "views/canvas.h"
#include "views/effects.h"

enum { PICKER_ITEMS = 512 };

struct pick_item {
    char name[256];    /* passed in the effect */
    char note[160];    /* shown next to it */
    bool dim;          /* not available; the note holds the reason */
    bool marked;
    int tag;           /* meaning depends on the kind of list */
    const char *group; /* a heading above the first item of a group, static; NULL: none */
};

enum pick_kind {
    PICK_PRESET,
    PICK_MODEL,
    PICK_TASK,
    PICK_WRITE,
    PICK_KEYS,
    PICK_SAVED,
    PICK_COPY,
    PICK_COLUMN,
    PICK_PLACE
};

struct picker {
    bool open;
    enum pick_kind kind;
    char title[64];
    char filter[64];        /* the typed text: items that do not match are hidden */
    struct pick_item *item; /* owned */
    int count, room;
    int cursor, page;       /* cursor: among all items; count: on none */
};

void picker_init(struct picker *p);
void picker_release(struct picker *p);
/* Opens an empty list, to which items are added. */
void picker_open(struct picker *p, enum pick_kind kind, const char *title);
/* Adds an item and returns it; the last one if the list is full. */
struct pick_item *picker_add(struct picker *p, const char *name, const char *note, bool dim);
/* Sets the typed text and moves the cursor to the item that matches it best; if it is empty, the cursor
 * stays. */
void picker_filter(struct picker *p, const char *text);
/* Moves the cursor by this many of the shown items, at most to the first or the last. */
void picker_move(struct picker *p, int by);
/* Returns the item under the cursor, or NULL. */
struct pick_item *picker_at(const struct picker *p);
/* Writes the names of the marked items, "a,b", and returns their number. */
int picker_marked(const struct picker *p, struct buf *out);
void picker_draw(const struct picker *p, struct canvas *c, struct rect area);

#endif
