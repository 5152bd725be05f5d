/* The whole interface as one state: which screen, its state, prompts, questions, messages.
 *
 * The app feeds keys and pastes, gets an effect back, fills the screens' data and draws
 * into a canvas.  Nothing here touches a terminal, a file or a run.  One thread. */
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

/* A question with single-key answers; anything else is no. */
enum ask_kind { ASK_NONE, ASK_STOP, ASK_DISCARD, ASK_QUIT, ASK_SWEEP_STOP, ASK_PURGE };
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
    USE_NOTE,
    USE_TAGS,
    USE_RUN_NOTE,
    USE_RUN_NAME,
    USE_NEXT_NAME,
    USE_PURGE,
    USE_COLUMNS
};

struct ui;
/* What the app knows of the command line. */
struct ui_words {
    void *self;
    /* Offers words for the end of a line that is no command of the screens, or whose first word is typed, to
     * ui->palette, and says there what the line does. */
    void (*offer)(void *self, struct ui *ui, const char *line);
};

struct ui {
    int w, h;              /* what the screen has: the window, or what a lesson's step leaves of it */
    int window_w, window_h;
    enum screen_id screen, before; /* before: the last one that lay over no other */
    enum glyphs glyphs;
    enum colours colours;
    enum theme theme;      /* mono: without colours */
    bool ascii_only;       /* started in ASCII: nothing finer can be shown */
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
    const struct ui_words *words; /* the app's; NULL: the screens' commands alone */
    struct picker picker;
    struct ask ask;
    char message[900];     /* holds a whole error */
    char line[1200];       /* the last action as a command line, set by the app; "" none */
    bool line_new;         /* it is of the last press */
    bool offers_undo;      /* the message offers to take back the last move of runs, or to make it again */
    bool mouse;            /* the app reports the mouse */
    enum say say;
    int64_t now;           /* of the last press */
    bool flush;            /* a question has opened: drop what was typed ahead */
};

void ui_init(struct ui *ui, enum glyphs glyphs, enum colours colours);
void ui_release(struct ui *ui);
void ui_resize(struct ui *ui, int w, int h);
/* After the app has replaced data of any screen. */
void ui_changed(struct ui *ui);
void ui_show(struct ui *ui, enum screen_id screen);

/* One press.  *out is cleared first; EFFECT_NONE mostly.  After it the app looks at
 * ui->flush (term_flush(), then clears it). */
void ui_press(struct ui *ui, const struct press *p, struct effect *out);
/* Bracketed paste: text in a prompt, otherwise ignored and said. */
void ui_paste(struct ui *ui, const char *text, size_t n, struct effect *out);

/* A click or a turn of the wheel; as ui_press. */
void ui_mouse(struct ui *ui, const struct mouse *m, struct effect *out);

/* The message line; shown until the next press. */
void ui_say(struct ui *ui, enum say say, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The canvas is brought to the interface's size and drawn whole. */
void ui_draw(const struct ui *ui, struct canvas *c);

/* Words for a ':' line, for the app too: runs by their numbers, columns of runs with `after` behind each ("="
 * for a filter), what a column holds behind "COLUMN=". */
void ui_offer_runs(struct ui *ui);
void ui_offer_columns(struct ui *ui, const char *after);
void ui_offer_sweeps(struct ui *ui);
void ui_offer_filter(struct ui *ui);

#endif
