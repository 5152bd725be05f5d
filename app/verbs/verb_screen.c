/* petri alone: opens the terminal workbench. */
#include <stdio.h>
#include <stdlib.h>

#include "app/files/paths.h"
#include "app/session/session.h"
#include "app/verbs/palette.h"
#include "app/verbs/verbs.h"
#include "core/base/clock.h"
#include "core/base/mem.h"

static const struct option_spec OPTIONS[] = {
    { "model", "DIR|NAME", "the model to begin with" },
    { "task", "NAME|FOLDER", "the task to begin with" },
    { "workers", "N", "worker threads (default: the cores)" },
    { "no-color", NULL, "no colours (NO_COLOR does the same)" },
    { "ascii", NULL, "only ASCII characters" },
    { "readonly", NULL, "look only: the history is opened for reading, and nothing is begun or changed" },
    { NULL, NULL, NULL },
};
static const struct verb SELF = { "", "[--db FILE] [--model DIR] [--task FOLDER]", "open the terminal workbench", OPTIONS, 0, 0, NULL };

static int open_screen(const struct args *a, struct err *e) {
    struct session_start with = {
        .verbs = &palette_verbs,
        .model = verb_shown_model(a),
        .task = verb_shown_task(a),
        .terminal = { args_flag(a, "no-color"), args_flag(a, "ascii") },
    };
    int rc = verb_workers(a, &with.workers, e);
    with.look_only = args_flag(a, "readonly");
    if (!rc) rc = verb_store(a, with.look_only ? STORE_READ : STORE_WRITE, &with.store, e);
    return rc ? rc : session_run(&with, e);
}

/* A run that is yet to begin may be the history's first. */
static int wait_for_history(const struct args *a, struct store **s, struct err *e) {
    enum { LOOK_MS = 500 };
    bool said = false;
    int rc;
    while ((rc = verb_store(a, STORE_READ, s, e)) == ERR_NOT_FOUND) {
        if (!said) fprintf(stderr, "petri: %s; waiting for the first run (^C leaves)\n", e->text);
        said = true;
        *e = (struct err)ERR_INIT;
        clock_sleep_ms(LOOK_MS);
    }
    return rc;
}

int verb_watch(const struct args *a, struct err *e) {
    struct session_start with = {
        .verbs = &palette_verbs,
        .model = paths_model(), .task = paths_task(), .workers = 1, .look_only = true, .watch = true,
        .terminal = { args_flag(a, "no-color"), args_flag(a, "ascii") },
    };
    int rc = wait_for_history(a, &with.store, e);
    if (!rc && a->count) rc = store_find(with.store, a->positional[0], &with.run, e);
    if (rc && with.store) return verb_close(with.store, rc, e);
    return rc ? rc : session_run(&with, e);
}

int verb_screen(int argc, char **argv, struct err *e) {
    struct args a;
    char **room = xcalloc((size_t)argc + 1, sizeof *room);
    int rc = args_parse(&a, &SELF, argc, argv, room, e);
    if (!rc && args_flag(&a, "help")) args_help_verb(&SELF);
    else if (!rc) rc = open_screen(&a, e);
    free(room);
    return rc;
}
