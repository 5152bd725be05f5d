/* The one table of keys: dispatch, hint line and help screen all read it.
 *
 * A letter has one meaning on all screens.  Requests are what a key asks for; screens
 * handle requests, never keys. */
#ifndef VIEWS_KEYS_H
#define VIEWS_KEYS_H

#include <stdbool.h>
#include <stdint.h>

/* Keys that are no characters; characters are their code points, control letters 1…26. */
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
    int64_t ms;   /* when, monotonic: a question does not take keys typed ahead of it */
};

/* What the mouse did at a cell, from 0. */
enum mouse_kind { MOUSE_CLICK, MOUSE_UP, MOUSE_DOWN /* the wheel */ };
struct mouse {
    enum mouse_kind kind;
    int x, y;
    int64_t ms; /* as press.ms */
};

/* The list of screens, in the order of their tabs.  From a line NAME, name follow SCREEN_NAME, the table
 * screen_name (screen.h) and the state ui.name, a struct name_view (ui.h). */
#define SCREENS(_)                                                                                  \
    _(FIRST, first)                                                                                 \
    _(COMPOSE, compose)                                                                             \
    _(TRAIN, train)                                                                                 \
    _(RUNS, runs)                                                                                   \
    _(COMPARE, compare)                                                                             \
    _(SWEEP, sweep)                                                                                 \
    _(HEATMAP, heatmap)                                                                             \
    _(MAP, map)                                                                                     \
    _(LEARN, learn)                                                                                 \
    _(DETAIL, detail)                                                                               \
    _(EXPLAIN, explain)                                                                             \
    _(DATA, data)                                                                                   \
    _(PAGE, page)                                                                                   \
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
    REQ_TERMS,
    /* heatmap and map */
    REQ_STEP,
    REQ_REWIND,
    REQ_COLOUR,
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

enum key_group { KEYS_EVERYWHERE, KEYS_LISTS, KEYS_RUNS, KEYS_CHARTS, KEYS_JOBS, KEYS_MAP, KEYS_COMPOSE,
                 KEYS_GROUPS };
const char *key_group_name(enum key_group g);

struct key_entry {
    enum request request;
    uint32_t key;         /* the one shown */
    bool everywhere;      /* on all screens; else on those that name the request among their keys */
    enum key_group group;
    int rank;             /* hint line: lower comes first, 0 is not shown there */
    const char *hint;     /* two words for the hint line, or NULL */
    const char *help;     /* one line for the help screen */
    uint32_t pair;        /* shown beside it in the hint line ("h/l"), 0: none */
    uint32_t alias[2];    /* further ones, 0 when none */
};

int keys_count(void);
const struct key_entry *keys_at(int i);
bool keys_works(enum screen_id screen, const struct key_entry *k);
/* What a press asks for on a screen; REQ_NONE when nothing. */
enum request keys_request(enum screen_id screen, const struct press *p);
/* "Enter", "^z", "j" – as help and hints write it. */
void press_name(uint32_t key, char out[16]);

#endif
