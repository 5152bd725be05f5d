/* A screen is one table of its name, its keys, and functions that draw its state and handle requests.
 *
 * The state is ui.NAME (ui.h).  Drawing only reads the state; a request changes it and may ask the app for an
 * effect through *out.  Members that may be NULL are marked; then nothing is done, or the default after the
 * colon applies. */
#ifndef VIEWS_SCREEN_H
#define VIEWS_SCREEN_H

#include "views/canvas.h"
#include "views/effects.h"
#include "views/keys.h"
#include "views/layout.h"

struct ui;
struct copy_list;

struct screen {
    const char *name;           /* as in `render --screen` */
    const char *about;          /* its purpose, shown on Help; may be NULL */
    /* Shown when `to` shows the screen, until its key has been used there once; text NULL: none. */
    struct {
        enum request used;
        const char *text;
    } tip;
    const enum request *keys;   /* requests handled besides the global ones; ends with REQ_NONE */
    /* ---- navigation ---- */
    const char *tab;            /* on line 1; NULL without a tab */
    const struct screen *under; /* the screen whose tab it uses; may be NULL: its own */
    enum request to;            /* shows it from any screen; REQ_NONE: no request does */
    /* Whether its data are computed from a model on request. */
    enum { OUTSIDE, INSIDE_POINTS, INSIDE_MATRICES } inside;
    bool needs_run;             /* it shows a given run, so its name alone does not open it */
    void (*show)(struct ui *ui, struct effect *out);         /* on `to`; may be NULL: ui_show alone */
    void (*shown)(struct ui *ui, enum screen_id from);       /* called when it is shown; may be NULL */
    void (*back)(struct ui *ui); /* returns to the screen below; NULL: it covers no other */
    /* Shows it with these runs for a step of a lesson; may be NULL: ui_show, or `show` of a screen with
     * `inside`. */
    void (*taught)(struct ui *ui, const int64_t *run, int runs, struct effect *out);
    /* Selects the runs that Compare shows when it is opened from here; false, or NULL: the marked runs, else
     * those of Runs. */
    bool (*compared)(struct ui *ui, struct effect *out);
    /* ---- its state ---- */
    void (*init)(struct ui *ui);    /* from zero; may be NULL */
    void (*release)(struct ui *ui); /* may be NULL */
    void (*changed)(struct ui *ui); /* the window's size or the app's data changed; may be NULL */
    bool (*request)(struct ui *ui, enum request r, struct effect *out); /* false: not handled here */
    int64_t (*run)(const struct ui *ui); /* the run under the cursor, 0: none; may be NULL */
    int (*marked)(const struct ui *ui, const int64_t **run); /* the marked runs; may be NULL */
    /* Handle a click outside all zones (views/zone.h), false: nothing is there; and a click on a zone with a
     * pick.  Both may be NULL. */
    bool (*point)(struct ui *ui, int x, int y, struct effect *out);
    void (*pick)(struct ui *ui, int pick, struct effect *out);
    /* Requests the shown data again after the database has changed; may be NULL.  false: the data cannot have
     * changed. */
    bool (*refresh)(struct ui *ui, struct effect *out);
    /* ---- drawing ---- */
    layout_panes_of panes;      /* may be NULL: one pane, PANE_TEXT */
    void (*need)(const struct ui *ui, const struct layout_frame *f,
                 struct layout_need *need); /* may be NULL */
    /* Returns the pane that the keys act on, whose title is highlighted; may be NULL: none. */
    enum pane_id (*focus)(const struct ui *ui);
    void (*line)(const struct ui *ui, struct canvas *c, struct rect area); /* line 1; may be NULL: the tabs */
    void (*draw)(const struct ui *ui, struct canvas *c, struct rect area);
    void (*readout)(const struct ui *ui,
                    struct buf *out); /* the line above the hints: the item under the cursor; may be NULL */
    /* Returns the hint of a key in the current state; NULL: not shown.  May be NULL: the hint of the table of
     * keys. */
    const char *(*hint)(const struct ui *ui, const struct key_entry *k);
    void (*pictured)(const struct ui *ui,
                     struct buf *out); /* a description for the names of exported files; may be NULL */
    void (*table)(const struct ui *ui,
                  char out[120]); /* a description of its table, "the 12 runs shown"; "": none; may be NULL */
    enum { TABLE_NONE, TABLE_RUNS, TABLE_GROUPS, TABLE_CELLS } table_of;
    /* Offers texts to copy: a value, a row (copy_add); may be NULL: none. */
    void (*copies)(const struct ui *ui, struct copy_list *to);
    /* ---- equivalents on the command line ---- */
    /* Appends the verb that prints its table, "sweep 3"; nothing if there is none; may be NULL. */
    void (*printed)(const struct ui *ui, struct buf *out);
    /* Appends the options of petri render for what is shown, " --sweep 3"; may be NULL: those of the run
     * under the cursor. */
    void (*rendered)(const struct ui *ui, struct buf *out);
    bool unrendered;          /* petri render does not draw it */
    const char *listed;       /* the key that lists runs started while it is shown; NULL: the key of Runs */
};

#define SCREEN_TABLE(NAME, name) extern const struct screen screen_##name;
SCREENS(SCREEN_TABLE)
#undef SCREEN_TABLE
const struct screen *screen_at(enum screen_id id);
/* Returns the screen of this name ("compose"), or SCREEN_COUNT. */
enum screen_id screen_by_name(const char *name);

#endif
