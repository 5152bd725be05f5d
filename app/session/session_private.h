/* What session.c, session_effects.c, session_fill.c, session_learn.c, session_line.c, session_settings.c,
 * session_verbs.c and written.c share. */
#ifndef APP_SESSION_SESSION_PRIVATE_H
#define APP_SESSION_SESSION_PRIVATE_H

#include "app/files/own_methods.h"
#include "app/files/settings.h"
#include "app/insight/insight.h"
#include "app/jobs/jobs.h"
#include "app/session/background.h"
#include "app/session/child.h"
#include "app/session/compared.h"
#include "app/session/learning.h"
#include "app/session/own_data.h"
#include "app/session/session.h"
#include "app/session/swept.h"
#include "views/term.h"
#include "views/ui.h"

enum { MOVES = 32 };

/* One trash or restore, or a change of a run's name, for undo. */
struct move {
    bool trash;
    int64_t *run;
    int runs;
    char *was, *name; /* of run[0], "": none; NULL: a trash or restore */
};
void move_free(struct move *m);

/* What was asked for while another move was under way: a move, or an undo or redo of what is then the
 * last. */
struct wish {
    enum { WISH_MOVE, WISH_UNDO, WISH_REDO } kind;
    struct move move; /* WISH_MOVE */
    struct wish *next;
};

struct session {
    struct ui ui;
    struct canvas canvas;
    struct store *store;
    struct jobs *jobs;
    struct background *background;
    struct insight *insight;
    int wake;              /* eventfd: something has changed */
    bool leaving, finish;  /* finish: runs go on without a screen */
    char *database;
    /* what the screens' pointers point into */
    struct history_rows *runs;
    struct run_page *detail;
    struct run_series *series; /* of the run in focus */
    struct compared_page *compared;
    struct swept_page *swept;
    struct sweeping *sweeping; /* the background's while that is there */
    int sweeps;                /* worked on here */
    bool stepping;             /* a step of these is asked for */
    struct learn_shelf *shelf;
    struct learn_page *lesson;
    struct learning *learning; /* the background's while that is there */
    int lesson_ahead;      /* the place from which on values were computed ahead */
    bool lesson_busy, lesson_asked; /* a run of it goes, and is looked at again; that is under way */
    int64_t lesson_looked;          /* when */
    struct source_facts *source;
    struct own_methods own; /* methods kept by name, and how Compose has them */
    struct compose_own *own_rows;
    struct own_folder *folder;
    struct own_look *look;
    struct own_read *read;
    char *stand_in; /* of the model and task shown: what the first page says of petri's own */
    struct insight_map *map;
    struct insight_heat *heat;
    struct job_view *view; /* what the jobs tell, owning the strings, in the order shown */
    struct job_row *shown;     /* the same as rows of the job list */
    size_t view_count;     /* of this process; others follow in `shown` */
    size_t shown_count;
    struct other_runs *others;
    struct beside_runs *beside; /* what Train lays over one another; NULL: nothing */
    int64_t overlay[TRAIN_BESIDE]; /* what of it was asked for */
    int overlays;
    bool overlay_asked;    /* and is not answered yet */
    int64_t watched;       /* the run asked for beside what others train; 0: none */
    /* what is polled, session__follow_history: */
    bool looking;          /* the history is asked for what is new */
    int64_t looked;        /* when that was */
    int64_t news;          /* how often something was new */
    struct {
        int64_t news, ms;  /* up to which it was asked for anew; what its list took to read */
    } filled[SCREEN_COUNT];
    bool look_only;        /* the history was opened for reading: nothing is begun or changed */
    bool following;        /* the newest living run is in focus, until another is chosen */
    enum {
        SERIES_HERE,
        SERIES_ASKED,
        SERIES_READ
    } stored; /* whether the store was asked for what came before */
    int64_t read_step;     /* and of a run that another process trains, how far it was then */
    enum run_state read_state;
    int64_t last_id;       /* newest run of this process already focused */
    int live_before;
    struct move moves[MOVES];
    int done, undone;      /* moves below `done` can be undone, up to `undone` redone */
    bool moving;           /* a move or a name is not answered yet */
    int undoing;           /* +1 an undo, -1 a redo under way: it is not recorded anew */
    struct wish *wishes;   /* asked for meanwhile, in order */
    struct settings settings;
    bool set[SETTING_COUNT]; /* was changed here, by :set */
    const struct session_verbs *verbs; /* NULL: none */
    struct ui_words words;
    struct child *child;   /* the last line that printed */
    bool child_changes;    /* it may have changed the history */
    char *child_line;      /* as a shell takes it */
    char *named;           /* what --db has to name in a shell; NULL: it is the usual database */
    int64_t discard;       /* run to put into the trash when it is over */
};

/* session_fill.c */
void session__fill_jobs(struct session *s);
void session__answers(struct session *s);
void session__ask_runs(struct session *s);
void session__ask_sweeps(struct session *s);
/* The runs to be overlaid, as they stand now. */
void session__ask_beside(struct session *s);
/* What others train, and the runs asked for, as they are now; `poll`: unless the history is as it was. */
void session__ask_others(struct session *s, bool poll);
/* Asks for the shape and the rows of a config's model and task; the answer goes to Compose. */
void session__ask_source(struct session *s, const struct run_config *c);
/* Estimates the first page's run from what is known of the model, the examples and the machine. */
void session__estimate_first(struct session *s);
/* The same of what Compose holds: only the facts are taken. */
void session__ask_facts(struct session *s);
/* Compose's list of methods kept by name, anew. */
void session__list_own(struct session *s);
/* Reads the rows of ui.data's config. */
void session__ask_import(struct session *s);
/* session_learn.c: what the lessons ask for, their answers, and a run of a lesson that goes; *wait:
 * milliseconds until it is looked at again, where that is sooner. */
void session__lesson(struct session *s, const struct effect *x);
/* Learn is the notes to the lesson that another petri leads, from now on. */
void session__follow_lesson(struct session *s);
void session__take_lessons(struct session *s, struct background_answer *a);
void session__look_at_lesson(struct session *s, int64_t now, int *wait);
/* session_effects.c */
void session__effect(struct session *s, const struct effect *x);
/* The same of what nobody asked for by a key: it has no line for a shell. */
void session__do(struct session *s, const struct effect *x);
/* written.c: the screen, or its table, in a form that is named, as a new file. */
void session__picture(struct session *s, const char *form);
void session__table(struct session *s, const char *form);
/* Says that nothing is changed here. */
void session__only_looks(struct session *s);
/* Moves runs into or out of the trash, one move after the other; an answer ends with session__moved. */
void session__move(struct session *s, bool trash, const int64_t *run, int runs);
void session__moved(struct session *s);
void session__drop_wishes(struct session *s);

/* session_line.c: what an effect does, as a line for a shell; NULL where none does it.  Caller frees. */
char *session__line(const struct session *s, const struct effect *x);
/* Of an EFFECT_RESEED, once its seed was found. */
char *session__line_reseeded(const struct session *s, int64_t run, uint64_t seed);
/* The line is shown beside what is said, and is what Y copies; frees it; NULL is no work. */
void session__show_line(struct session *s, char *line);
/* session_settings.c: what of the settings the screen shows; one of them by "name value"; all to their
 * file. */
void session__apply_settings(struct session *s);
void session__set(struct session *s, const char *text);
/* The value that a setting was given here, by whatever means; NULL: none. */
const char *session__setting_set(const struct session *s, enum setting k);
void session__save_settings(struct session *s);
/* session_verbs.c: a line of the command line, done; what it has printed since, onto the page. */
void session__verb(struct session *s, const char *line);
void session__verb_news(struct session *s);
void session__verb_release(struct session *s);

#endif
