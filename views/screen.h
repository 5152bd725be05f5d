/* A screen is one table: what it is called, its keys, what it draws of its state, what it does when asked.
 *
 * The state is ui.NAME (ui.h).  Drawing reads state alone; a request changes it and may ask the app for
 * something through *out.  What may be NULL says so: then nothing is done, or what stands behind the
 * colon. */
#ifndef VIEWS_SCREEN_H
#define VIEWS_SCREEN_H

#include "views/canvas.h"
#include "views/effects.h"
#include "views/keys.h"
#include "views/layout.h"

struct ui;

struct screen {
    const char *name;           /* as `render --screen` takes it */
    const char *about;          /* what it is for, on Help; may be NULL */
    const enum request *keys;   /* what it takes beside what works everywhere; ends with REQ_NONE */
    /* ---- where it stands among the others ---- */
    const char *tab;            /* on line 1; NULL without a tab */
    const struct screen *under; /* whose tab stands for it; may be NULL: its own */
    enum request to;            /* shows it from anywhere; REQ_NONE: nothing does */
    /* Its pictures are made by looking inside a model: they are asked for. */
    enum { OUTSIDE, INSIDE_POINTS, INSIDE_MATRICES } inside;
    bool needs_run;             /* it shows a run that has to be named: not reached by its name alone */
    void (*show)(struct ui *ui, struct effect *out);         /* on `to`; may be NULL: ui_show alone */
    void (*shown)(struct ui *ui, enum screen_id from);       /* it is on from here; may be NULL */
    void (*back)(struct ui *ui); /* it lies over another, to which this goes back; NULL: it does not */
    /* A lesson's step shows it, with these runs; may be NULL: ui_show alone, or `show` of one that looks
     * inside. */
    void (*taught)(struct ui *ui, const int64_t *run, int runs, struct effect *out);
    /* Puts side by side what Compare shows when it is asked for from here; false, or NULL: the runs that are
     * marked, else those of Runs. */
    bool (*compared)(struct ui *ui, struct effect *out);
    /* ---- its state ---- */
    void (*init)(struct ui *ui);    /* from zero; may be NULL */
    void (*release)(struct ui *ui); /* may be NULL */
    void (*changed)(struct ui *ui); /* the window's size or the app's data are others; may be NULL */
    bool (*request)(struct ui *ui, enum request r, struct effect *out); /* false: it means nothing here */
    int64_t (*run)(const struct ui *ui); /* the run its cursor is on, 0: none; may be NULL */
    int (*marked)(const struct ui *ui, const int64_t **run); /* runs that are marked; may be NULL */
    /* A click on what no zone (views/zone.h) was drawn for; false: nothing is there.  And on a zone with a
     * pick.  Both may be NULL. */
    bool (*point)(struct ui *ui, int x, int y, struct effect *out);
    void (*pick)(struct ui *ui, int pick, struct effect *out);
    /* Asks for what is shown anew, after the history has changed; may be NULL.  false: it cannot be other
     * than it is. */
    bool (*refresh)(struct ui *ui, struct effect *out);
    /* ---- what is drawn ---- */
    layout_panes_of panes;      /* may be NULL: one pane, PANE_TEXT */
    void (*need)(const struct ui *ui, const struct layout_frame *f,
                 struct layout_need *need); /* may be NULL */
    void (*line)(const struct ui *ui, struct canvas *c, struct rect area); /* line 1; may be NULL: the tabs */
    void (*draw)(const struct ui *ui, struct canvas *c, struct rect area);
    void (*readout)(const struct ui *ui,
                    struct buf *out); /* above the hints: what the cursor is on; may be NULL */
    /* What a key's hint says here and now; NULL: not shown.  May be NULL: what the table of keys says. */
    const char *(*hint)(const struct ui *ui, const struct key_entry *k);
    void (*pictured)(const struct ui *ui,
                     struct buf *out); /* what is on it, in the names of files of it; may be NULL */
    void (*table)(const struct ui *ui,
                  char out[120]); /* what its table is of, "the 12 runs shown"; "": none; may be NULL */
    enum { TABLE_NONE, TABLE_RUNS, TABLE_GROUPS, TABLE_CELLS } table_of;
    /* ---- the same on the command line ---- */
    /* Appends the verb that prints its table, "sweep 3"; nothing: there is none; may be NULL. */
    void (*printed)(const struct ui *ui, struct buf *out);
    /* Appends the options of petri render for what is shown, " --sweep 3"; may be NULL: of the run that its
     * cursor is on. */
    void (*rendered)(const struct ui *ui, struct buf *out);
    bool unrendered;          /* petri render does not draw it */
    const char *listed;       /* what lists the runs that begin while it is shown; NULL: the key of Runs */
};

#define SCREEN_TABLE(NAME, name) extern const struct screen screen_##name;
SCREENS(SCREEN_TABLE)
#undef SCREEN_TABLE
const struct screen *screen_at(enum screen_id id);
/* By name ("compose"), or SCREEN_COUNT. */
enum screen_id screen_by_name(const char *name);

#endif
