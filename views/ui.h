/* The state of the whole interface: the current screen, the states of all screens, prompts, questions,
 * messages.
 *
 * The app feeds keys and pastes, receives an effect, fills the data of the screens and draws into a canvas.
 * Nothing here accesses a terminal, a file or a run.  Single-threaded. */
#ifndef VIEWS_UI_H
#define VIEWS_UI_H

#include "views/effects.h"
#include "views/keys.h"
#include "views/palette.h"
#include "views/picker.h"
#include "views/prompt.h"
#include "views/screen.h"
#include "views/screens.h" /* by make: the header of each line of SCREENS (keys.h) */

enum say { SAY_INFO, SAY_GOOD, SAY_WARNING, SAY_ERROR };

/* A question with single-key answers; any other key means no. */
enum ask_kind { ASK_NONE, ASK_STOP, ASK_DISCARD, ASK_QUIT, ASK_SWEEP_STOP, ASK_PURGE, ASK_COPY, ASK_MEMORY };
struct ask {
    enum ask_kind kind;
    char text[200];
    int64_t since;         /* press.ms when it opened */
    int64_t run[1];
};

enum prompt_use {
    USE_FILTER,
    USE_COMMAND,
    USE_NUMBER,
    USE_SEARCH,
    USE_SWEEP,
    USE_MORE,
    USE_FILES,
    USE_PICK,
    USE_NOTE,
    USE_TAGS,
    USE_RUN_NOTE,
    USE_RUN_NAME,
    USE_NEXT_NAME,
    USE_PURGE,
    USE_COLUMNS,
    USE_TALK,
    USE_TALK_EDIT
};

struct ui;
/* Completions of the command line, provided by the app. */
struct ui_words {
    void *self;
    /* Adds completions for the last word of a line that is not a command of the screens, or of which the
     * first word is typed, to ui->palette, with a description of the line. */
    void (*offer)(void *self, struct ui *ui, const char *line);
};

struct ui {
    int w, h;              /* size of the screen: the window, or its part next to a lesson */
    int window_w, window_h;
    enum screen_id screen, before; /* before: the last screen that covered no other */
    enum glyphs glyphs;
    enum colors colors;
    enum theme theme;      /* mono: without colors */
    bool ascii_only;       /* the terminal shows ASCII only */
    /* shared facts, set by the app */
    const char *database;  /* file name shown on line 1 */
    int running, queued;   /* jobs */
    int total_runs;
    /* screens */
#define SCREEN_STATE(NAME, name) struct name##_view name;
    SCREENS(SCREEN_STATE)
#undef SCREEN_STATE
    /* above the hints */
    struct prompt prompt;
    enum prompt_use use;
    struct palette palette; /* of a ':' line */
    const struct ui_words *words; /* the app's; NULL: only the commands of the screens */
    struct picker picker;
    struct ask ask;
    char message[4000];    /* holds a whole error, and the texts of a screen that are cut off */
    char line[1200];       /* the last action as a command line, set by the app; "": none */
    bool line_new;         /* it belongs to the last press */
    bool offers_undo;      /* the message offers to undo or redo the last change of runs */
    bool mouse;            /* the app reports the mouse */
    bool tips;             /* tips are shown (screen.h); `tipped`: a bit per screen whose tip has been used */
    uint32_t tipped;
    enum say say;
    int64_t now;           /* of the last press */
    bool flush;            /* a question has opened: drop what was typed ahead */
};

void ui_init(struct ui *ui, enum glyphs glyphs, enum colors colors);
void ui_release(struct ui *ui);
void ui_resize(struct ui *ui, int w, int h);
/* Updates the screens after the app has replaced data. */
void ui_changed(struct ui *ui);
void ui_show(struct ui *ui, enum screen_id screen);
/* Shows the tip of the current screen, unless there is a message. */
void ui_tip(struct ui *ui);

/* Handles one press.  *out is cleared first and is mostly EFFECT_NONE.  Afterwards the app checks ui->flush
 * (calls term_flush(), then clears it). */
void ui_press(struct ui *ui, const struct press *p, struct effect *out);
/* Handles a bracketed paste: inserts it into an open prompt, otherwise shows that it was ignored. */
void ui_paste(struct ui *ui, const char *text, size_t n, struct effect *out);

/* Handles a click or a turn of the wheel, like ui_press. */
void ui_mouse(struct ui *ui, const struct mouse *m, struct effect *out);

/* Shows a message until the next press. */
void ui_say(struct ui *ui, enum say say, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Resizes the canvas to the interface and draws everything. */
void ui_draw(const struct ui *ui, struct canvas *c);

/* Add completions for a ':' line: runs by id, columns of Runs, each followed by `after` ("=" for a filter),
 * sweeps by id, and the values of a column after "COLUMN=". */
void ui_offer_runs(struct ui *ui);
void ui_offer_columns(struct ui *ui, const char *after);
void ui_offer_sweeps(struct ui *ui);
void ui_offer_filter(struct ui *ui);

#endif
