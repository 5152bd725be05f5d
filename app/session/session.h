/* The terminal workbench.  One thread makes every curses call and never waits for a run, the database or a
 * file. */
#ifndef APP_SESSION_SESSION_H
#define APP_SESSION_SESSION_H

#include "app/files/settings.h"
#include "app/session/line_kind.h"
#include "core/base/err.h"
#include "store/store.h"
#include "views/term.h"
#include "views/ui.h"

struct line_meaning {
    enum line_kind kind;
    const char *why; /* LINE_ELSEWHERE */
    char **word;     /* the program's arguments, with --db; owned, release with line_meaning_release */
    size_t words;
};
void line_meaning_release(struct line_meaning *m);

/* The interface of the screens to the command line: verbs depend on the session, not vice versa. */
struct jobs;
struct session_verbs {
    /* As ui_words.offer. */
    void (*offer)(void *self, struct ui *ui, const char *line);
    /* Parses a line without the program's name; `database`: the default of --db.  ERR_USAGE with the
     * message of the command line; out needs no release then. */
    int (*mean)(const char *line, const char *database, struct line_meaning *out, struct err *e);
    /* LINE_TRAINS: requests its runs from the jobs; `from` supplies the settings that the line does not
     * give, unless it names a run to start from; *runs: how many.  May read files and the database. */
    int (*train)(const struct line_meaning *m, const struct run_config *from, struct jobs *j, int *runs,
                 struct err *e);
};

struct session_start {
    const struct session_verbs *verbs; /* NULL: the ':' line has only the screens' own commands */
    struct store *store;     /* open for writing; the session closes it, also on failure */
    int workers;
    const char *model, *task; /* initial selection */
    const char
        *first_task; /* replaces task while the history is empty, when the first page is shown; NULL: task */
    bool read_only; /* the store is read-only: nothing can be started or changed */
    bool watch;              /* starts on Train, */
    const struct settings *settings; /* NULL: the defaults; copied */
    const char *said;        /* warnings about their file, or NULL */
    int64_t run;             /* with this run; 0: the newest active one, when there is one */
    const char *lesson;      /* starts on Learn with this lesson; NULL: does not */
    bool notes; /* starts on Learn with the notes of the lesson that another process leads, and follows it */
    struct term_choice terminal;
};
/* Runs the workbench; returns when the user leaves (and, if requested, all runs have ended). */
int session_run(const struct session_start *with, struct err *e);

#endif
