/* petri without a verb: opens the terminal workbench. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/files/settings.h"
#include "app/session/keeper.h"
#include "app/session/plain.h"
#include "app/session/session.h"
#include "app/verbs/palette.h"
#include "app/verbs/verbs.h"
#include "core/base/clock.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"

int verb_shown_settings(const struct args *a, const struct screen_options *o, struct settings *s,
                        struct buf *said, struct err *e) {
    const struct {
        enum setting setting;
        const char *value;
    } given[] = { { SETTING_THEME, o->theme },
                  { SETTING_MOUSE, o->mouse },
                  { SETTING_MODEL, a->model },
                  { SETTING_TASK, a->task } };
    char *path = settings_path();
    settings_init(s);
    if (path) settings_read(s, path, said);
    free(path);
    int rc = 0;
    for (size_t i = 0; !rc && i < COUNT_OF(given); i++)
        if (given[i].value) rc = settings_set(s, setting_name(given[i].setting), given[i].value, e);
    if (a->ascii) settings_set(s, "glyphs", "ascii", e);
    if (o->readonly) settings_set(s, "readonly", "on", e);
    return rc;
}

static int open_screen(const struct args *a, struct err *e) {
    struct settings s;
    struct buf said = BUF_INIT;
    struct session_start with = {
        .verbs = &palette_verbs,
        .settings = &s,
        .terminal = { a->no_color, a->ascii },
    };
    int rc = verb_shown_settings(a, &a->screen, &s, &said, e);
    int64_t n;
    with.workers = !a->workers && text_to_int(s.value[SETTING_WORKERS], &n) ? (int)n : verb_workers(a);
    with.model = strcmp(s.value[SETTING_MODEL], "auto") ? s.value[SETTING_MODEL] : paths_model();
    bool usual_task = !strcmp(s.value[SETTING_TASK], "auto");
    with.task = usual_task ? paths_task() : s.value[SETTING_TASK];
    with.first_task = usual_task ? paths_first_task() : NULL;
    with.said = buf_text(&said);
    with.read_only = !strcmp(s.value[SETTING_READONLY], "on");
    if (!rc && term_is_plain()) {
        buf_release(&said);
        return plain_run(&palette_verbs, a->db, with.read_only, e);
    }
    if (!rc && !with.read_only) keeper_begin();
    if (!rc) rc = blas_reserve(with.workers, e);
    if (!rc) rc = verb_store(a, with.read_only ? STORE_READ : STORE_WRITE, &with.store, e);
    if (!rc) rc = session_run(&with, e);
    buf_release(&said);
    return rc;
}

/* Waits for a database: the run to watch may be its first. */
static int wait_for_history(const struct args *a, struct store **s, struct err *e) {
    enum { LOOK_MS = 500 };
    bool said = false;
    int rc;
    while ((rc = verb_store(a, STORE_READ, s, e)) == ERR_NOT_FOUND) {
        if (!said) fprintf(stderr, "petri: %s; waiting for the first run (^C quits)\n", e->text);
        said = true;
        *e = (struct err)ERR_INIT;
        clock_sleep_ms(LOOK_MS);
    }
    return rc;
}

int verb_watch(const struct args *a, struct err *e) {
    struct settings s;
    struct buf said = BUF_INIT;
    int rc = verb_shown_settings(a, &(struct screen_options){ NULL }, &s, &said, e);
    struct session_start with = {
        .settings = &s, .said = buf_text(&said),
        .verbs = &palette_verbs,
        .model = paths_model(), .task = paths_task(), .workers = 1, .read_only = true,
        .watch = !a->flag, .notes = a->flag,
        .terminal = { a->no_color, a->ascii },
    };
    if (!rc) rc = wait_for_history(a, &with.store, e);
    if (!rc && a->count) rc = store_find(with.store, a->positional[0], &with.run, e);
    if (!rc && with.notes && term_is_plain())
        rc = err_set(e, ERR_USAGE,
                     "--lesson: requires a full-screen terminal, found TERM=dumb or no terminal");
    if (rc && with.store) rc = verb_close(with.store, rc, e);
    else if (!rc && term_is_plain()) rc = verb_close(with.store, plain_watch(with.store, with.run, e), e);
    else if (!rc) rc = session_run(&with, e);
    buf_release(&said);
    return rc;
}

int verb_screen(int argc, char **argv, struct err *e) {
    struct args a;
    char **room = xcalloc((size_t)argc + 1, sizeof *room);
    int rc = args_parse(&a, verb_alone(), argc, argv, room, e);
    if (!rc && a.help) args_help_verb(verb_alone());
    else if (!rc) rc = open_screen(&a, e);
    free(room);
    return rc;
}
