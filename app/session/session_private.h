/* What the session's files share: session.c, session_actions.c, session_compose.c, session_data.c,
 * session_fill.c, session_inside.c, session_learn.c, session_line.c, session_moves.c, session_runs.c,
 * session_settings.c, session_sweep.c, session_verbs.c and written.c. */
#ifndef APP_SESSION_SESSION_PRIVATE_H
#define APP_SESSION_SESSION_PRIVATE_H

#include "app/files/own_methods.h"
#include "app/files/settings.h"
#include "app/insight/insight.h"
#include "app/jobs/jobs.h"
#include "app/session/background.h"
#include "app/session/beside.h"
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

/* session_fill.c: the runs that go, and curves. */
struct session_train {
    struct job_view *view; /* what the jobs tell, owning the strings, in the order shown */
    struct job_row *shown; /* the same as rows of the job list */
    size_t view_count;     /* of this process; others follow in `shown` */
    size_t shown_count;
    int64_t last_id;       /* newest run of this process already focused */
    int live_before;
    int64_t discard;       /* run to put into the trash when it is over */
    struct other_runs *others;
    int64_t watched;       /* the run asked for beside what others train; 0: none */
    bool following;        /* the newest living run is in focus, until another is chosen */
    struct run_series *series; /* of the run in focus */
    enum {
        SERIES_HERE,
        SERIES_ASKED,
        SERIES_READ
    } stored;              /* whether the store was asked for what came before */
    int64_t read_step;     /* and of a run that another process trains, how far it was then */
    enum run_state read_state;
    struct beside_runs *beside; /* what Train lays over one another; NULL: nothing */
    int64_t overlay[TRAIN_BESIDE]; /* what of it was asked for */
    int overlays;
    bool overlay_asked;    /* and is not answered yet */
    struct {
        bool looking;      /* the history is asked for what is new */
        int64_t looked;    /* when that was */
        int64_t news;      /* how often something was new */
    } poll;
};

/* session_runs.c */
struct session_runs {
    struct history_rows *rows;
    struct run_page *page;
};

/* session_moves.c: trash, restore and names, one after the other, and back. */
enum { MOVES = 32 };
struct move {
    bool trash;
    int64_t *run;
    int runs;
    char *was, *name; /* of run[0], "": none; NULL: a trash or restore */
};
struct session_moves {
    struct move of[MOVES];
    int done, undone;    /* those below `done` can be undone, up to `undone` redone */
    bool moving;         /* one is not answered yet */
    int undoing;         /* +1 an undo, -1 a redo under way: it is not recorded anew */
    struct wish *wishes; /* asked for meanwhile, in order */
};

/* session_sweep.c */
struct session_sweep {
    struct compared_page *compared;
    struct swept_page *swept;
    int sweeps;    /* worked on here */
    bool stepping; /* a step of these is asked for */
};

/* session_learn.c */
struct session_lesson {
    struct learn_shelf *shelf;
    struct learn_page *page;
    int ahead;        /* the place from which on values were computed ahead */
    bool busy, asked; /* a run of it goes, and is looked at again; that is under way */
    int64_t looked;   /* when */
};

/* session_compose.c */
struct session_compose {
    struct source_facts *source;
    struct own_methods own; /* methods kept by name, and how Compose has them */
    struct compose_own *own_rows;
    char *stand_in; /* of the model and task shown: what the first page says of petri's own */
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

/* session_verbs.c: the last line that printed. */
struct session_command {
    struct child *child;
    bool changes; /* it may have changed the history */
    char *line;   /* as a shell takes it */
};

/* session_settings.c */
struct session_settings {
    struct settings now;
    bool set[SETTING_COUNT]; /* was changed here, by :set */
};

struct session {
    struct ui ui;
    struct ui_words words;
    struct canvas canvas;
    struct store *store;
    struct jobs *jobs;
    struct workroom room;
    struct background *background;
    int wake;              /* eventfd: something has changed */
    bool leaving, finish;  /* finish: runs go on without a screen */
    bool look_only;        /* the history was opened for reading: nothing is begun or changed */
    char *database;
    char *named;           /* what --db has to name in a shell; NULL: it is the usual database */
    struct {
        int64_t news, ms;  /* up to which it was asked for anew; what its list took to read */
    } filled[SCREEN_COUNT];
    struct session_train train;
    struct session_runs runs;
    struct session_moves moves;
    struct session_sweep sweep;
    struct session_lesson lesson;
    struct session_compose compose;
    struct session_data data;
    struct session_inside inside;
    struct session_command command;
    struct session_settings settings;
};

/* ---- actions ---- */

/* What is done for one of the screens' effects. */
struct action {
    enum effect_kind kind;
    /* One of these does it; the last is asked for, of the effect's runs and text. */
    void (*act)(struct session *s, const struct effect *x);
    void (*plain)(struct session *s);
    const struct work_kind *work;
    /* What does the same in a shell, appended: "petri VERB RUNS", nothing without runs; then `line`.  Both
     * may be NULL. */
    const char *verb;
    void (*line)(const struct session *s, struct buf *b, const struct effect *x);
    bool changes; /* the history, or what the user keeps: refused where the history is only looked at */
    bool late;    /* its line is known only once it is done */
};
/* Each ends with EFFECT_NONE. */
extern const struct action session_actions[], compose_actions[], data_actions[], train_actions[],
    inside_actions[], lesson_actions[], move_actions[], runs_actions[], settings_actions[], sweep_actions[],
    verb_actions[], written_actions[];
/* NULL: nothing is done for it. */
const struct action *action_of(enum effect_kind kind);
void session__effect(struct session *s, const struct effect *x);
/* The same of what nobody asked for by a key: it has no line for a shell. */
void session__do(struct session *s, const struct effect *x);
/* Takes what the background and Map's thread have made. */
void session__answers(struct session *s);
/* Says that nothing is changed here. */
void session__only_looks(struct session *s);
void session__say_error(struct session *s, int rc, const struct err *e);
/* As background_ask. */
void session__ask(struct session *s, const struct work_kind *kind, const int64_t *run, int runs,
                  const char *text);

/* session_line.c: what an effect does, as a line for a shell; NULL where none does it.  Caller frees. */
char *session__line(const struct session *s, const struct effect *x);
/* The line is shown beside what is said, and is what Y copies; frees it; NULL is no work. */
void session__show_line(struct session *s, char *line);
/* Its parts: "petri VERB", of the same database as the one before; the runs; a word; which
 * database the last one is about. */
void line_verb(const struct session *s, struct buf *b, const char *verb);
void line_runs(struct buf *b, const int64_t *run, int runs);
void line_word(struct buf *b, const char *word);
void line_db(const struct session *s, struct buf *b);
/* What prints the table of a screen; false: nothing does. */
bool line_printed(const struct session *s, struct buf *b, const struct screen *of);
/* Of what is typed, as a word. */
void line_text(const struct session *s, struct buf *b, const struct effect *x);

/* session_fill.c */
void session__fill_jobs(struct session *s);
/* What others train, and the runs asked for, as they are now; `poll`: unless the history is as it was. */
void session__ask_others(struct session *s, bool poll);
/* A cancelled run goes to the trash when it is over. */
void session__discard(struct session *s);
/* Asks for what is new in the history; *wait: milliseconds until then, where that is sooner. */
void session__follow_history(struct session *s, int64_t now, int *wait);
void session__train_release(struct session *s);
/* session_runs.c; the config with which a run can be trained anew, and its state (may be NULL). */
void session__ask_runs(struct session *s);
void session__ask_columns(struct session *s);
int session__stored_config(struct store *s, int64_t id, struct run_config *c, enum store_state *state,
                           struct err *e);
void session__runs_release(struct session *s);
/* session_moves.c: moves runs into or out of the trash, one move after the other. */
void session__move(struct session *s, bool trash, const int64_t *run, int runs);
void session__moves_release(struct session *s);
/* session_sweep.c; the step: the next runs of sweeps are begun. */
void session__ask_sweeps(struct session *s);
void session__step_sweeps(struct session *s);
void session__sweep_release(struct session *s);
/* session_compose.c: asks for the shape and the rows of a config's model and task; the answer goes to
 * Compose.  Of what Compose holds only the facts are taken. */
void session__ask_source(struct session *s, const struct run_config *c);
void session__ask_facts(struct session *s);
/* What this machine can do. */
void session__ask_machine(struct session *s);
/* Compose's list of methods kept by name, anew. */
void session__list_own(struct session *s);
void session__compose_release(struct session *s);
/* session_data.c */
void session__data_release(struct session *s);
/* session_inside.c: new pictures of Map and Heatmap take the place of the old ones. */
void session__take_pictures(struct session *s);
void session__inside_release(struct session *s);
/* session_learn.c: Learn is the notes to the lesson that another petri leads, from now on; a run of a lesson
 * that goes; *wait: milliseconds until it is looked at again, where that is sooner. */
void session__follow_lesson(struct session *s);
void session__look_at_lesson(struct session *s, int64_t now, int *wait);
void session__lesson_release(struct session *s);
/* session_settings.c: what of the settings the screen shows. */
void session__apply_settings(struct session *s);
/* session_verbs.c: what the line that was done has printed since, onto the page. */
void session__verb_news(struct session *s);
void session__verb_release(struct session *s);

#endif
