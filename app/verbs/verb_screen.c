/* petri alone: opens the terminal workbench. */
#include <stdlib.h>

#include "app/files/paths.h"
#include "app/session/session.h"
#include "app/verbs/verbs.h"
#include "core/base/mem.h"

static const struct option_spec OPTIONS[] = {
    { "model", "DIR|NAME", "the model to begin with" },
    { "task", "NAME|FOLDER", "the task to begin with" },
    { "workers", "N", "worker threads (default: the cores)" },
    { "no-color", NULL, "no colours (NO_COLOR does the same)" },
    { "ascii", NULL, "only ASCII characters" },
    { NULL, NULL, NULL },
};
static const struct verb SELF = { "", "[--db FILE] [--model DIR] [--task FOLDER]", "open the terminal workbench", OPTIONS, 0, 0, NULL };

static int open_screen(const struct args *a, struct err *e) {
    struct session_start with = {
        .model = verb_model(a),
        .task = args_get(a, "task") ? args_get(a, "task") : DEFAULT_TASK,
        .terminal = { args_flag(a, "no-color"), args_flag(a, "ascii") },
    };
    int rc = verb_workers(a, &with.workers, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &with.store, e);
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
