/* A list to choose from, laid over a screen: presets, models, tasks. */
#ifndef VIEWS_PICKER_H
#define VIEWS_PICKER_H

#include <stdbool.h>

#include "views/canvas.h"
#include "views/effects.h"

enum { PICKER_ITEMS = 512 };

struct pick_item {
    char name[256];   /* passed in the effect */
    char note[160];   /* shown next to it */
    bool dim;         /* not available; the note holds the reason */
    int tag;          /* meaning depends on the kind of list */
};

enum pick_kind { PICK_PRESET, PICK_MODEL, PICK_TASK, PICK_WRITE, PICK_KEYS, PICK_SAVED, PICK_COPY };

struct picker {
    bool open;
    enum pick_kind kind;
    char title[64];
    struct pick_item *item; /* owned */
    int count, room;
    int cursor, page;
};

void picker_init(struct picker *p);
void picker_release(struct picker *p);
/* Opens an empty list, to which items are added. */
void picker_open(struct picker *p, enum pick_kind kind, const char *title);
/* Adds an item and returns it; the last one if the list is full. */
struct pick_item *picker_add(struct picker *p, const char *name, const char *note, bool dim);
void picker_draw(const struct picker *p, struct canvas *c, struct rect area);

#endif
