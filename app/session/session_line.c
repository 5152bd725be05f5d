/* What the screens did, as a line for a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static void add_runs(struct buf *b, const int64_t *run, int runs) {
    for (int i = 0; i < runs; i++) buf_printf(b, " %lld", (long long)run[i]);
}

static void session_line_option(struct buf *b, const char *name, const char *value) {
    if (!value || !*value) return;
    buf_printf(b, " --%s ", name);
    text_shell_word(b, value);
}

/* What stopped goes on, what is over is trained again. */
static void add_again(const struct session *s, struct buf *b, const int64_t *run, int runs) {
    for (int i = 0; i < runs; i++) {
        const struct run_row *row = NULL;
        for (int k = 0; k < s->ui.runs.rows && !row; k++)
            if (s->ui.runs.row[k].id == run[i]) row = &s->ui.runs.row[k];
        bool over = row && (row->state == RUN_FINISHED || !row->resumable);
        buf_printf(b, "%spetri %s %lld", i ? "; " : "", over ? "train --like" : "resume", (long long)run[i]);
    }
}

static void add_filter(const struct session *s, struct buf *b) {
    char *filter = xstrdup(s->ui.runs.filter), *rest = filter, *word;
    buf_puts(b, "petri runs");
    while ((word = strsep(&rest, " "))) {
        if (!*word) continue;
        buf_putc(b, ' ');
        text_shell_word(b, word);
    }
    if (s->ui.runs.trash) buf_puts(b, " --trash");
    free(filter);
}

static void add_inside(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_config *c = &s->ui.compose.config;
    buf_puts(b, x->keep ? "petri similarity" : "petri map");
    if (x->runs && x->keep) add_runs(b, x->run, x->runs);
    else if (x->runs) buf_printf(b, " --run %lld", (long long)x->run[0]);
    else session_line_option(b, "model", c->model);
    if (!x->runs) session_line_option(b, "task", c->task);
    session_line_option(b, "unseen", x->text);
    if (x->keep) buf_puts(b, " --of classes");
}

static void add_compare(struct buf *b, const struct effect *x) {
    buf_puts(b, "petri compare");
    add_runs(b, x->run, x->runs);
    session_line_option(b, "metric", x->text);
    if (x->keep) buf_puts(b, " --mixed");
}

static void add_move(const struct session *s, struct buf *b, bool redo) {
    if (redo ? s->done == s->undone : s->done == 0) return;
    const struct move *m = &s->moves[redo ? s->done : s->done - 1];
    buf_puts(b, m->trash == redo ? "petri trash" : "petri restore");
    add_runs(b, m->run, m->runs);
}

/* A verb and the runs. */
static void add_verb(struct buf *b, const char *verb, const struct effect *x) {
    if (!x->runs) return;
    buf_printf(b, "petri %s", verb);
    add_runs(b, x->run, x->runs);
}

char *session__line(const struct session *s, const struct effect *x) {
    struct buf b = BUF_INIT;
    char *command;
    switch (x->kind) {
    case EFFECT_TRAIN:
    case EFFECT_TRAIN_FIRST:
        command = compose_command(&s->ui.compose);
        buf_puts(&b, command);
        free(command);
        break;
    case EFFECT_STOP: add_verb(&b, "stop", x); break;
    case EFFECT_RESUME: add_verb(&b, "resume", x); break;
    case EFFECT_TRASH: add_verb(&b, "trash", x); break;
    case EFFECT_RESTORE: add_verb(&b, "restore", x); break;
    case EFFECT_WATCH: add_verb(&b, "watch", x); break;
    case EFFECT_OPEN_RUN: add_verb(&b, "show", x); break;
    case EFFECT_CLONE: add_verb(&b, "train --like", x); break;
    case EFFECT_SETS:
        if (x->runs == 1) add_verb(&b, "map", x);
        break;
    case EFFECT_SWEEP_GO: add_verb(&b, "sweep resume", x); break;
    case EFFECT_SWEEP_STOP: add_verb(&b, "sweep stop", x); break;
    case EFFECT_SWEEP_EXTEND:
        add_verb(&b, "sweep extend", x);
        if (b.size && *x->text) buf_printf(&b, " %s", x->text);
        break;
    case EFFECT_SWEEP_NEW: buf_printf(&b, "petri sweep %s", x->text); break;
    case EFFECT_AGAIN: add_again(s, &b, x->run, x->runs); break;
    case EFFECT_EXPORT:
        add_verb(&b, "export", x);
        session_line_option(&b, "to", x->text);
        break;
    case EFFECT_UNDO:
    case EFFECT_REDO: add_move(s, &b, x->kind == EFFECT_REDO); break;
    case EFFECT_FILTER:
    case EFFECT_TRASH_VIEW: add_filter(s, &b); break;
    case EFFECT_INSPECT: add_inside(s, &b, x); break;
    case EFFECT_COMPARE: add_compare(&b, x); break;
    case EFFECT_PICTURE:
        buf_printf(&b, "petri render --screen %s --size %dx%d%s", screen_at(s->ui.screen)->name, s->ui.w, s->ui.h,
                   !strcmp(x->text, "svg")    ? " --svg"
                   : !strcmp(x->text, "ansi") ? " --ansi"
                   : !strcmp(x->text, "png")  ? " --out screen.png"
                                              : "");
        break;
    default: break;
    }
    if (b.size) session_line_option(&b, "db", s->named);
    if (b.size) return buf_take(&b);
    buf_release(&b);
    return NULL;
}
