/* A screen: how it draws its state and what it does when asked.
 *
 * Drawing reads state alone.  `request` changes the state and may ask the app for
 * something through *out; it returns false when the request means nothing here. */
#ifndef VIEWS_SCREEN_H
#define VIEWS_SCREEN_H

#include "views/canvas.h"
#include "views/effects.h"
#include "views/keys.h"

struct ui;

struct screen {
    const char *name;   /* as `render --screen` takes it */
    const char *tab;    /* on line 1, NULL without a tab */
    void (*draw)(const struct ui *ui, struct canvas *c, struct rect area);
    bool (*request)(struct ui *ui, enum request r, struct effect *out);
    /* The line above the hints: what the cursor is on.  May be NULL. */
    void (*readout)(const struct ui *ui, struct buf *out);
};

extern const struct screen screen_first, screen_compose, screen_train, screen_runs, screen_heatmap,
    screen_map, screen_detail, screen_help;
const struct screen *screen_at(enum screen_id id);
/* By name ("compose"), or SCREEN_COUNT. */
enum screen_id screen_by_name(const char *name);

#endif
