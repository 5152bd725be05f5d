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
    char **word;     /* what stands behind the program's name, with --db; owned, line_meaning_release */
    size_t words;
};
void line_meaning_release(struct line_meaning *m);

/* The command line, as the screens need it: the verbs know the session, not the other way round. */
struct jobs;
struct session_verbs {
    /* As ui_words.offer. */
    void (*offer)(void *self, struct ui *ui, const char *line);
    /* Of a line without the program's name; `database`: where the verb looks without --db.  ERR_USAGE as the
     * command line says it; out needs no release then. */
    int (*mean)(const char *line, const char *database, struct line_meaning *out, struct err *e);
    /* LINE_TRAINS: asks the jobs for its runs, as `from` describes them where the line says nothing else and
     * names no run to start from; *runs: how many.  May read files and the database. */
    int (*train)(const struct line_meaning *m, const struct run_config *from, struct jobs *j, int *runs,
                 struct err *e);
};

struct session_start {
    const struct session_verbs *verbs; /* NULL: the ':' line has the screens' own commands alone */
    struct store *store;     /* open for writing; the session closes it, also on failure */
    int workers;
    const char *model, *task; /* to begin with */
    const char
        *first_task; /* replaces task while the history is empty, when the first page is shown; NULL: task */
    bool look_only; /* the store is open for reading: runs are shown, and nothing is begun or changed */
    bool watch;              /* begins on Train, */
    const struct settings *settings; /* NULL: the usual ones; copied */
    const char *said;        /* what was wrong with their file, or NULL */
    int64_t run;             /* with this run; 0: the newest living one, as one comes */
    const char *lesson;      /* begins on Learn with this one; NULL: it does not */
    bool notes; /* begins on Learn with the notes to the lesson that another petri leads, and follows it */
    struct term_choice terminal;
};
/* Returns when the user leaves (and, when asked to, all runs have ended). */
int session_run(const struct session_start *with, struct err *e);

#endif
