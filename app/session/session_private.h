/* What the session's files share: session.c, session_actions.c, session_compose.c, session_data.c,
 * session_fill.c, session_inside.c, session_learn.c, session_line.c, session_moves.c, session_runs.c,
 * session_settings.c, session_sweep.c, session_talk.c, session_verbs.c and written.c. */
#ifndef APP_SESSION_SESSION_PRIVATE_H
#define APP_SESSION_SESSION_PRIVATE_H

#include "app/files/own_methods.h"
#include "app/files/settings.h"
#include "app/insight/insight.h"
#include "app/jobs/jobs.h"
#include "app/session/background.h"
#include "app/session/overlay.h"
#include "app/session/page_scores.h"
#include "app/session/child.h"
#include "app/session/compared.h"
#include "app/session/history_pages.h"
#include "app/session/learning.h"
#include "app/session/others.h"
#include "app/session/own_data.h"
#include "app/session/session.h"
#include "app/session/source.h"
#include "app/session/swept.h"
#include "views/term.h"
#include "views/ui.h"

/* ---- the parts of a session, each filled and freed by one file; the screens point into them ---- */

/* session_fill.c: active runs and curves. */
struct session_train {
    struct job_view *view; /* state of the jobs, which owns the strings, in display order */
    struct job_row *shown; /* the same, as rows of the job list */
    size_t view_count;     /* of this process; other runs follow in `shown` */
    size_t shown_count;
    int64_t last_id;       /* newest run of this process already focused */
    int live_before;
    int64_t discard;       /* run to move to the trash when it ends */
    struct other_runs *others;
    int64_t watched;       /* the watched run, in addition to runs of other processes; 0: none */
    bool following;        /* the newest active run is in focus, until the user chooses another */
    struct run_series *series; /* of the run in focus */
    enum {
        SERIES_HERE,
        SERIES_ASKED,
        SERIES_READ
    } stored;              /* whether the earlier points were read from the store */
    int64_t read_step;     /* step of a run of another process at that time */
    enum run_state read_state;
    struct overlay_runs *overlaid; /* the overlaid runs; NULL: none */
    int64_t overlay[TRAIN_BESIDE]; /* the requested ones */
    int overlays;
    bool overlay_asked;    /* and not answered yet */
    struct {
        bool looking;      /* a poll of the database is running */
        int64_t looked;    /* time of the last poll */
        int64_t news;      /* number of polls that found changes */
    } poll;
};

/* session_runs.c */
struct session_runs {
    struct history_rows *rows;
    struct run_page *page;
    struct page_scores *scores;
    char *stored; /* the state of the screens as it is in the database (views/stored.h); NULL: not read yet */
};

/* session_moves.c: trash, restore and names, with undo. */
enum { MOVES = 32 };
struct move {
    bool trash;
    int64_t *run;
    int runs;
    char *was, *name; /* names of run[0], "": none; NULL: a trash or restore */
};
struct session_moves {
    struct move of[MOVES];
    int done, undone;    /* those below `done` can be undone, up to `undone` redone */
    bool moving;         /* one is in progress */
    int undoing;         /* +1: an undo, -1: a redo in progress, which is not recorded again */
    struct pending_move *pending; /* requests made in the meantime, in order */
};

/* session_sweep.c */
struct session_sweep {
    struct compared_page *compared;
    struct swept_page *swept;
    int sweeps;    /* run by this process */
    bool stepping; /* a step of these was requested */
};

/* session_learn.c */
struct session_lesson {
    struct learn_shelf *shelf;
    struct learn_page *page;
    int ahead;        /* the step from which values were computed ahead */
    bool busy, asked; /* a run of it trains and is polled; a poll is running */
    int64_t looked;   /* time of the last poll */
};

/* session_compose.c */
struct session_compose {
    struct source_facts *source;
    struct own_methods own; /* saved methods, and their form in Compose */
    struct compose_own *own_rows;
    char *stand_in; /* notice of the first page when petri's own model or task is shown */
};

/* session_data.c */
struct session_data {
    struct own_folder *folder;
    struct own_look *look;
    struct own_read *read;
};

/* session_inside.c */
struct session_inside {
    struct insight *insight;
    struct insight_map *map;
    struct insight_heat *heat;
};

/* session_verbs.c: the last command that printed. */
struct session_command {
    struct child *child;
    bool changes; /* it may have changed the database */
    char *line;   /* in shell syntax */
};

/* session_settings.c */
struct session_settings {
    struct settings now;
    bool set[SETTING_COUNT]; /* changed by :set */
};

/* session_talk.c */
struct session_talk {
    struct talking *now; /* NULL: Talk was not opened */
};

struct session {
    struct ui ui;
    struct ui_words words;
    struct canvas canvas;
    struct store *store;
    struct jobs *jobs;
    struct workroom room;
    struct background *background;
    int wake;              /* eventfd, signaled on changes */
    bool leaving, finish;  /* finish: runs continue without a screen */
    bool read_only;        /* the database is read-only: nothing can be started or changed */
    char *database;
    char *named;           /* value of --db for a shell; NULL: the default database */
    struct {
        int64_t news, ms;  /* version at the last refresh; duration of reading its list */
    } filled[SCREEN_COUNT];
    struct session_train train;
    struct session_runs runs;
    struct session_moves moves;
    struct session_sweep sweep;
    struct session_lesson lesson;
    struct session_compose compose;
    struct session_data data;
    struct session_inside inside;
    struct session_talk talk;
    struct session_command command;
    struct session_settings settings;
};

/* ---- actions ---- */

/* The implementation of one of the screens' effects. */
struct action {
    enum effect_kind kind;
    /* One of these carries it out; the last one is background work with the effect's runs and text. */
    void (*act)(struct session *s, const struct effect *x);
    void (*plain)(struct session *s);
    const struct work_kind *work;
    /* The shell command that does the same: "petri VERB RUNS", none if no runs; then `line`.  Both may be
     * NULL. */
    const char *verb;
    void (*line)(const struct session *s, struct buf *b, const struct effect *x);
    bool changes; /* changes the database or user files: refused when read-only */
    bool late;    /* its line is known only after it is done */
};
/* Each list ends with EFFECT_NONE. */
extern const struct action session_actions[], compose_actions[], data_actions[], train_actions[],
    inside_actions[], lesson_actions[], move_actions[], runs_actions[], settings_actions[], sweep_actions[],
    talk_actions[], verb_actions[], written_actions[];
/* Returns the row of an effect; NULL: it has none. */
const struct action *action_of(enum effect_kind kind);
void session__effect(struct session *s, const struct effect *x);
/* Carries out an effect that no key requested: no shell line is shown. */
void session__do(struct session *s, const struct effect *x);
/* Takes the results of the background and of the insight thread. */
void session__answers(struct session *s);
/* Reports that the session is read-only. */
void session__refuse_read_only(struct session *s);
void session__say_error(struct session *s, int rc, const struct err *e);
/* written.c: copies a text to the terminal's clipboard (term_copy) and shows it, after `why` (may be NULL).
 * Where the terminal has no clipboard, a short text is shown for selecting, a long one is written to a new
 * file. */
void session__copy(struct session *s, const char *why, const char *text);
/* As background_ask. */
void session__ask(struct session *s, const struct work_kind *kind, const int64_t *run, int runs,
                  const char *text);

/* session_line.c: returns the shell line of an effect; NULL if it has none.  Caller frees. */
char *session__line(const struct session *s, const struct effect *x);
/* Shows the line next to the message, where Y copies it; frees it; NULL is ignored. */
void session__show_line(struct session *s, char *line);
/* Append the parts of a line: "petri VERB" with the same database as the previous command; the runs; a
 * word; the database of the last command. */
void line_verb(const struct session *s, struct buf *b, const char *verb);
void line_runs(struct buf *b, const int64_t *run, int runs);
void line_word(struct buf *b, const char *word);
void line_db(const struct session *s, struct buf *b);
/* Appends the command that prints the table of a screen; returns false if there is none. */
bool line_printed(const struct session *s, struct buf *b, const struct screen *of);
/* Appends the typed text as one word. */
void line_text(const struct session *s, struct buf *b, const struct effect *x);

/* session_fill.c */
void session__fill_jobs(struct session *s);
/* Reads runs of other processes and the requested runs; `poll`: only if the database has changed. */
void session__ask_others(struct session *s, bool poll);
/* Moves a canceled run to the trash when it ends. */
void session__discard(struct session *s);
/* Polls the database for changes; *wait: lowered to the milliseconds until the next poll. */
void session__follow_history(struct session *s, int64_t now, int *wait);
void session__train_release(struct session *s);
/* session_runs.c; the config that trains a run again, and its state (may be NULL). */
void session__ask_runs(struct session *s);
void session__ask_columns(struct session *s);
/* Restore the state of the screens from the last session; store it if it has changed (leaving: now). */
void session__ask_screens(struct session *s);
void session__store_screens(struct session *s, bool leaving);
int session__stored_config(struct store *s, int64_t id, struct run_config *c, enum store_state *state,
                           struct err *e);
void session__runs_release(struct session *s);
/* session_moves.c: moves runs to or out of the trash, one move after the other. */
void session__move(struct session *s, bool trash, const int64_t *run, int runs);
void session__moves_release(struct session *s);
/* session_sweep.c; the step starts the next runs of sweeps. */
void session__ask_sweeps(struct session *s);
void session__step_sweeps(struct session *s);
void session__sweep_release(struct session *s);
/* session_compose.c: requests the shape and data of a config's model and task; the answer goes to Compose,
 * of which only the facts are updated. */
void session__ask_source(struct session *s, const struct run_config *c);
void session__ask_facts(struct session *s);
/* Reads the hardware facts of this machine. */
void session__ask_machine(struct session *s);
/* Refreshes Compose's list of saved methods. */
void session__list_own(struct session *s);
void session__compose_release(struct session *s);
/* session_data.c */
void session__data_release(struct session *s);
/* session_inside.c: replaces the pictures of Map and Heatmap by new ones. */
void session__take_pictures(struct session *s);
void session__inside_release(struct session *s);
/* session_talk.c: release Talk after the background; show the answers so far. */
void session__talk_release(struct session *s);
void session__fill_talk(struct session *s);
/* Wakes the event loop, from any thread. */
void session__wake(void);
/* written.c: writes a new file named after the screen, and reports it. */
void session__put(struct session *s, const char *end, const struct buf *bytes);
/* session_learn.c: makes Learn show the notes of the lesson that another process leads; polls the running
 * lesson; *wait: lowered to the milliseconds until the next poll. */
void session__follow_lesson(struct session *s);
void session__look_at_lesson(struct session *s, int64_t now, int *wait);
void session__lesson_release(struct session *s);
/* session_settings.c: applies the settings to the screen. */
void session__apply_settings(struct session *s);
/* session_verbs.c: appends the new output of the last command to the page. */
void session__verb_news(struct session *s);
void session__verb_release(struct session *s);

#endif
