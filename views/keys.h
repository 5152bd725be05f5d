/* The table of keys, used for dispatch, the hint line and the help screen.
 *
 * A letter has one meaning on all screens.  A key maps to a request; screens handle requests, never keys. */
#ifndef VIEWS_KEYS_H
#define VIEWS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that are not characters; a character is its code point, a control letter 1…26. */
enum press_code {
    PRESS_NONE = 0,
    PRESS_ENTER = 0x110000, PRESS_ESC, PRESS_TAB, PRESS_BACKTAB, PRESS_BACKSPACE, PRESS_DELETE,
    PRESS_INSERT, PRESS_UP, PRESS_DOWN, PRESS_LEFT, PRESS_RIGHT, PRESS_HOME, PRESS_END,
    PRESS_PAGE_UP, PRESS_PAGE_DOWN, PRESS_F1, PRESS_OTHER
};
#define PRESS_CTRL(letter) ((uint32_t)(letter) & 0x1F)

struct press {
    uint32_t code;
    bool alt;     /* came with Alt */
    int64_t ms;   /* monotonic time: a question ignores keys typed before it */
};

/* A mouse event at a cell, counted from 0. */
enum mouse_kind { MOUSE_CLICK, MOUSE_UP, MOUSE_DOWN /* the wheel */ };
struct mouse {
    enum mouse_kind kind;
    int x, y;
    int64_t ms; /* as press.ms */
};

/* The list of screens, in the order of their tabs.  A line NAME, name defines SCREEN_NAME, the table
 * screen_name (screen.h) and the state ui.name, a struct name_view (ui.h). */
#define SCREENS(_)                                                                                           \
    _(FIRST, first)                                                                                          \
    _(COMPOSE, compose)                                                                                      \
    _(TRAIN, train)                                                                                          \
    _(RUNS, runs)                                                                                            \
    _(COMPARE, compare)                                                                                      \
    _(SWEEP, sweep)                                                                                          \
    _(HEATMAP, heatmap)                                                                                      \
    _(MAP, map)                                                                                              \
    _(LEARN, learn)                                                                                          \
    _(TALK, talk)                                                                                            \
    _(DETAIL, detail)                                                                                        \
    _(EXPLAIN, explain)                                                                                      \
    _(DATA, data)                                                                                            \
    _(PAGE, page)                                                                                            \
    _(HELP, help)

#define SCREEN_ID(NAME, name) SCREEN_##NAME,
enum screen_id { SCREENS(SCREEN_ID) SCREEN_COUNT };
#undef SCREEN_ID

enum request {
    REQ_NONE,
    /* everywhere */
    REQ_TO_COMPOSE,
    REQ_TO_TRAIN,
    REQ_TO_RUNS,
    REQ_TO_COMPARE,
    REQ_TO_SWEEP,
    REQ_TO_HEATMAP,
    REQ_TO_MAP,
    REQ_TO_LEARN,
    REQ_TO_TALK,
    REQ_NEXT_PART,
    REQ_PREV_PART,
    REQ_LEFT,
    REQ_RIGHT,
    REQ_UP,
    REQ_DOWN,
    REQ_FIRST,
    REQ_LAST,
    REQ_PAGE_UP,
    REQ_PAGE_DOWN,
    REQ_SEARCH,
    REQ_NEXT,
    REQ_PREV,
    REQ_COMMAND,
    REQ_MENU,
    REQ_LINE,
    REQ_WHOLE,
    REQ_MOUSE,
    REQ_HELP,
    REQ_BACK,
    REQ_QUIT,
    REQ_INTERRUPT,
    REQ_UNDO,
    REQ_REDO,
    REQ_GLYPHS,
    REQ_REDRAW,
    REQ_SUSPEND,
    /* lists and runs */
    REQ_MARK,
    REQ_MARK_ALL,
    REQ_OPEN,
    REQ_SORT,
    REQ_SORT_REVERSE,
    REQ_FILTER_CELL,
    REQ_FILTER_CLEAR,
    REQ_CLONE,
    REQ_RUN,
    REQ_TRASH,
    REQ_TRASH_VIEW,
    REQ_EXPORT,
    REQ_COPY,
    REQ_GROUP,
    REQ_BEST,
    REQ_RESEED,
    REQ_WATCH,
    REQ_PIN,
    REQ_TAGS,
    REQ_NOTE,
    REQ_NAME,
    REQ_COLUMNS,
    REQ_SHELL,
    /* charts and jobs */
    REQ_PAUSE,
    REQ_STOP,
    REQ_EARLIER,
    REQ_LATER,
    REQ_FAST_LEFT,
    REQ_FAST_RIGHT,
    REQ_MORE,
    REQ_LESS,
    REQ_PAN_LEFT,
    REQ_PAN_RIGHT,
    REQ_FIT,
    REQ_LOG,
    REQ_SMOOTH_MORE,
    REQ_SMOOTH_LESS,
    REQ_RAW,
    REQ_FOLLOW,
    REQ_LOG_X,
    REQ_TEXTS,
    REQ_TASKS,
    REQ_UNSEEN,
    REQ_REGION,
    REQ_TERMS,
    /* heatmap and map */
    REQ_STEP,
    REQ_REWIND,
    REQ_COLOR,
    REQ_TRAINING,
    REQ_BESIDE,
    REQ_LAYER_LESS,
    REQ_LAYER_MORE,
    REQ_PERPLEXITY_LESS,
    REQ_PERPLEXITY_MORE,
    /* compose and first page */
    REQ_TRAIN,
    REQ_PRESETS,
    REQ_DESCRIBE,
    REQ_EXPLAIN,
    REQ_COMPOSE,
    REQ_CHOOSE,
    REQ_SWEEP,
    REQ_SWITCH,
    REQ_COUNT
};

/* In the order of Help: what a screen does comes before what all of them do. */
enum key_group { KEYS_COMPOSE, KEYS_LISTS, KEYS_RUNS, KEYS_JOBS, KEYS_CHARTS, KEYS_MAP, KEYS_CURSOR,
                 KEYS_EVERYWHERE, KEYS_GROUPS };
const char *key_group_name(enum key_group g);

struct key_entry {
    enum request request;
    uint32_t key;         /* the key shown */
    bool everywhere;      /* works on all screens; else on those that list the request */
    enum key_group group;
    int rank;             /* hint line: lower comes first, 0 is not shown there */
    const char *hint;     /* two words for the hint line, or NULL */
    const char *help;     /* one sentence of at most KEYS_HELP columns, for screens without another */
    uint32_t pair;        /* shown with it in the hint line ("h/l"), 0: none */
    uint32_t alias[2];    /* alternative keys, 0: none */
    const char *on[SCREEN_COUNT]; /* its sentences on these screens; NULL: help */
};
enum { KEYS_HELP = 65 };  /* fits Help and the list of actions on 80 columns */

int keys_count(void);
const struct key_entry *keys_at(int i);
/* Return whether the key does something on the screen, and whether the screen itself handles the request. */
bool keys_works(enum screen_id screen, const struct key_entry *k);
bool keys_handles(enum screen_id screen, enum request r);
/* Returns the sentence of a key on a screen. */
const char *keys_help(enum screen_id screen, const struct key_entry *k);
/* Returns the request of a press on a screen, or REQ_NONE. */
enum request keys_request(enum screen_id screen, const struct press *p);
/* Writes the name of a key as shown in help and hints: "Enter", "^z", "j". */
void press_name(uint32_t key, char out[16]);

#endif
