/* What the screens did, as a line for a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/kept.h"
#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/render.h"

static void session_line_option(struct buf *b, const char *name, const char *value) {
    if (!value || !*value) return;
    buf_printf(b, " --%s ", name);
    text_shell_word(b, value);
}

static void session_line_word(struct buf *b, const char *word) {
    buf_putc(b, ' ');
    text_shell_word(b, word);
}

/* Each command of a line says which database it is about, where that is not the usual one. */
static void session_line_db(const struct session *s, struct buf *b) {
    if (b->size) session_line_option(b, "db", s->named);
}

static void session_line_verb(const struct session *s, struct buf *b, const char *verb) {
    session_line_db(s, b);
    buf_printf(b, "%spetri %s", b->size ? "; " : "", verb);
}

static void add_runs(struct buf *b, const int64_t *run, int runs) {
    for (int i = 0; i < runs; i++) buf_printf(b, " %lld", (long long)run[i]);
}

/* A verb and the runs; without any nothing. */
static void add_verb(const struct session *s, struct buf *b, const char *verb, const struct effect *x) {
    if (!x->runs) return;
    session_line_verb(s, b, verb);
    add_runs(b, x->run, x->runs);
}

static const struct run_row *session_line_row(const struct session *s, int64_t run) {
    for (int k = 0; k < s->ui.runs.rows; k++)
        if (s->ui.runs.row[k].id == run) return &s->ui.runs.row[k];
    return NULL;
}

/* What stopped goes on, what is over is trained again. */
static void add_again(const struct session *s, struct buf *b, const int64_t *run, int runs) {
    for (int i = 0; i < runs; i++) {
        const struct run_row *row = session_line_row(s, run[i]);
        bool over = row && (row->state == RUN_FINISHED || !row->resumable);
        session_line_verb(s, b, over ? "train --like" : "resume");
        add_runs(b, &run[i], 1);
    }
}

/* ---- words of one's own ---- */

static void add_pin(const struct session *s, struct buf *b, const struct effect *x) {
    bool all = true;
    for (int i = 0; i < x->runs; i++) {
        const struct run_row *row = session_line_row(s, x->run[i]);
        all = all && row && row->pinned;
    }
    add_verb(s, b, "tag", x);
    session_line_word(b, KEPT_PIN);
    if (all) buf_puts(b, " --remove");
}

/* Those of `tags` that `others` lack. */
static bool session_line_tags(struct buf *b, const char *tags, const char *others) {
    char *copy = xstrdup(tags ? tags : ""), *rest = copy, *tag;
    bool any = false;
    while ((tag = text_item(&rest))) {
        if (!*tag || kept_has_tag(others, tag)) continue;
        session_line_word(b, tag);
        any = true;
    }
    free(copy);
    return any;
}

/* Of one run what it had goes, where it was not typed again. */
static void add_tagging(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_row *row = x->runs == 1 ? session_line_row(s, x->run[0]) : NULL;
    struct buf more = BUF_INIT, less = BUF_INIT;
    if (session_line_tags(&more, x->text, row ? row->tags : NULL)) {
        add_verb(s, b, "tag", x);
        buf_puts(b, buf_text(&more));
    }
    if (row && session_line_tags(&less, row->tags, x->text)) {
        add_verb(s, b, "tag", x);
        buf_printf(b, "%s --remove", buf_text(&less));
    }
    buf_release(&more);
    buf_release(&less);
}

static void add_words(const struct session *s, struct buf *b, const char *verb, const struct effect *x) {
    if (!x->runs) return;
    add_verb(s, b, verb, x);
    session_line_word(b, x->text);
}

static void add_move(const struct session *s, struct buf *b, bool redo) {
    if (redo ? s->done == s->undone : s->done == 0) return;
    const struct move *m = &s->moves[redo ? s->done : s->done - 1];
    session_line_verb(s, b, m->name ? "name" : m->trash == redo ? "trash" : "restore");
    add_runs(b, m->run, m->runs);
    if (m->name) session_line_word(b, redo ? m->name : m->was);
}

/* ---- what is looked at ---- */

static void add_filter(const struct session *s, struct buf *b) {
    char *filter = xstrdup(s->ui.runs.filter), *rest = filter, *word;
    session_line_verb(s, b, "runs");
    while ((word = strsep(&rest, " ")))
        if (*word) session_line_word(b, word);
    if (s->ui.runs.trash) buf_puts(b, " --trash");
    free(filter);
}

static void add_inside(const struct session *s, struct buf *b, const struct effect *x) {
    const struct run_config *c = &s->ui.compose.config;
    session_line_verb(s, b, x->keep ? "similarity" : "map");
    if (x->runs && x->keep) add_runs(b, x->run, x->runs);
    else if (x->runs) buf_printf(b, " --run %lld", (long long)x->run[0]);
    else session_line_option(b, "model", c->model);
    if (!x->runs) session_line_option(b, "task", c->task);
    session_line_option(b, "unseen", x->text);
    if (x->keep) buf_puts(b, " --of classes");
}

/* The matrices of what Map shows, or a row's attention. */
static void add_matrices(const struct session *s, struct buf *b, int row) {
    const struct map_view *v = &s->ui.map;
    const struct effect of = { .run = v->subject, .runs = v->subjects, .keep = true };
    if (v->sets) return;
    if (row < 0) {
        add_inside(s, b, &of);
        return;
    }
    session_line_verb(s, b, "similarity");
    if (v->subjects) add_runs(b, v->subject, 1);
    else session_line_option(b, "model", s->ui.compose.config.model);
    buf_puts(b, " --of attention");
}

static void add_compare(const struct session *s, struct buf *b, const struct effect *x) {
    session_line_verb(s, b, "compare");
    add_runs(b, x->run, x->runs);
    session_line_option(b, "metric", x->text);
    if (x->keep) buf_puts(b, " --mixed");
}

/* ---- what is written ---- */

static void add_export(const struct session *s, struct buf *b, const struct effect *x) {
    if (!x->runs) return;
    add_verb(s, b, "export", x);
    session_line_option(b, "to", x->text);
    if (!strcmp(x->text, "hf")) buf_printf(b, " petri-run%lld-hf", (long long)x->run[0]);
}

static void add_table(const struct session *s, struct buf *b, const char *form) {
    const struct ui *ui = &s->ui;
    if (ui->screen == SCREEN_RUNS) {
        add_filter(s, b);
    } else if (ui->screen == SCREEN_COMPARE) {
        session_line_verb(s, b, "compare");
        add_runs(b, ui->compare.run, ui->compare.runs);
    } else if (ui->screen == SCREEN_SWEEP && ui->sweep.open) {
        session_line_verb(s, b, "sweep");
        add_runs(b, &ui->sweep.open, 1);
    } else return;
    buf_printf(b, " --%s", form);
}

/* What petri render is told of what is on the screen. */
static void add_shown(const struct session *s, struct buf *b) {
    const struct ui *ui = &s->ui;
    const struct screen *shown = screen_at(ui->screen);
    const struct map_view *v = &ui->map;
    int64_t run = shown->run ? shown->run(ui) : 0;
    if (ui->screen == SCREEN_COMPOSE || ui->screen == SCREEN_EXPLAIN) {
        session_line_option(b, "method", ui->compose.facts.text);
        session_line_option(b, "model", ui->compose.config.model);
        session_line_option(b, "task", ui->compose.config.task);
    } else if (ui->screen == SCREEN_RUNS) {
        session_line_option(b, "filter", ui->runs.filter);
        if (ui->runs.trash) buf_puts(b, " --trash");
    } else if (ui->screen == SCREEN_COMPARE) {
        for (int i = 0; i < ui->compare.runs; i++)
            buf_printf(b, "%s%lld", i ? "," : " --filter id=", (long long)ui->compare.run[i]);
    } else if (ui->screen == SCREEN_SWEEP) {
        if (ui->sweep.open) buf_printf(b, " --sweep %lld", (long long)ui->sweep.open);
    } else if (shown->inside) {
        for (int i = 0; i < v->subjects && v->sets; i++)
            buf_printf(b, "%s%lld", i ? "," : " --set ", (long long)v->subject[i]);
        if (v->subjects && !v->sets) buf_printf(b, " --run %lld", (long long)v->subject[0]);
        if (!v->subjects) session_line_option(b, "model", ui->compose.config.model);
        if (!v->subjects) session_line_option(b, "task", ui->compose.config.task);
        if (v->data.training && ui->screen == SCREEN_MAP) buf_puts(b, " --steps");
    } else if (run > 0) {
        buf_printf(b, " --run %lld", (long long)run);
    }
}

static void add_picture(const struct session *s, struct buf *b, const char *word) {
    const struct ui *ui = &s->ui;
    enum render_form form;
    if (ui->screen == SCREEN_PAGE || ui->screen == SCREEN_LEARN || !render_form_named(word, &form))
        return; /* no verb draws them */
    session_line_verb(s, b, "render --screen ");
    buf_printf(b, "%s --size %dx%d", screen_at(ui->screen)->name, ui->w, ui->h);
    add_shown(s, b);
    if (ui->glyphs == GLYPHS_ASCII) buf_puts(b, " --ascii");
    buf_printf(b, " --out %s%s", screen_at(ui->screen)->name, render_end(form));
}

static void add_settings(const struct session *s, struct buf *b) {
    session_line_verb(s, b, "settings");
    for (int i = 0; i < SETTING_COUNT; i++) {
        const char *now = session__setting_set(s, (enum setting)i);
        if (!now) continue;
        char *word = xprintf("%s=%s", setting_name((enum setting)i), now);
        session_line_word(b, word);
        free(word);
    }
    buf_puts(b, " --write");
}

static void add_method(const struct session *s, struct buf *b, const struct effect *x) {
    session_line_verb(s, b, "methods");
    session_line_option(b, x->by < 0 ? "forget" : "save", x->text);
    if (x->by >= 0) session_line_option(b, "method", s->ui.compose.facts.text);
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
    case EFFECT_STOP:
        add_verb(s, &b, "stop", x);
        if (!x->keep) add_verb(s, &b, "trash", x);
        break;
    case EFFECT_RESUME: add_verb(s, &b, "resume", x); break;
    case EFFECT_TRASH: add_verb(s, &b, "trash", x); break;
    case EFFECT_RESTORE: add_verb(s, &b, "restore", x); break;
    case EFFECT_PURGE: add_verb(s, &b, "purge", x); break;
    case EFFECT_PIN: add_pin(s, &b, x); break;
    case EFFECT_TAGS: add_tagging(s, &b, x); break;
    case EFFECT_NOTE: add_words(s, &b, "note", x); break;
    case EFFECT_NAME: add_words(s, &b, "name", x); break;
    case EFFECT_WATCH: add_verb(s, &b, "watch", x); break;
    case EFFECT_BESIDE: add_verb(s, &b, "plot", x); break;
    case EFFECT_OPEN_RUN: add_verb(s, &b, "show", x); break;
    case EFFECT_CLONE: add_verb(s, &b, "train --like", x); break;
    case EFFECT_SETS:
        if (x->runs == 1) add_verb(s, &b, "map", x);
        break;
    case EFFECT_SWEEP_GO: add_verb(s, &b, "sweep resume", x); break;
    case EFFECT_SWEEP_STOP: add_verb(s, &b, "sweep stop", x); break;
    case EFFECT_SWEEP_EXTEND:
        add_verb(s, &b, "sweep extend", x);
        if (b.size && *x->text) buf_printf(&b, " %s", x->text);
        break;
    case EFFECT_SWEEP_NEW:
        session_line_verb(s, &b, "sweep ");
        buf_puts(&b, x->text);
        break;
    case EFFECT_AGAIN: add_again(s, &b, x->run, x->runs); break;
    case EFFECT_EXPORT: add_export(s, &b, x); break;
    case EFFECT_TABLE: add_table(s, &b, x->text); break;
    case EFFECT_PICTURE: add_picture(s, &b, x->text); break;
    case EFFECT_UNDO:
    case EFFECT_REDO: add_move(s, &b, x->kind == EFFECT_REDO); break;
    case EFFECT_FILTER:
    case EFFECT_TRASH_VIEW: add_filter(s, &b); break;
    case EFFECT_INSPECT: add_inside(s, &b, x); break;
    case EFFECT_HEATMAP: add_matrices(s, &b, x->by); break;
    case EFFECT_MAP_TRAINING:
        if (!s->ui.map.subjects || s->ui.map.sets) break;
        session_line_verb(s, &b, "map");
        buf_printf(&b, " --run %lld --steps", (long long)s->ui.map.subject[0]);
        break;
    case EFFECT_COMPARE: add_compare(s, &b, x); break;
    case EFFECT_METHOD_KEEP: add_method(s, &b, x); break;
    case EFFECT_METHODS_OUT:
    case EFFECT_METHODS_IN:
        session_line_verb(s, &b, "methods");
        session_line_option(&b, x->kind == EFFECT_METHODS_OUT ? "export" : "import", x->text);
        break;
    case EFFECT_LESSONS: session_line_verb(s, &b, "learn --list"); break;
    case EFFECT_LESSON:
        session_line_verb(s, &b, "learn");
        session_line_word(&b, x->text);
        break;
    case EFFECT_SAVE_SETTINGS: add_settings(s, &b); break;
    /* what is of the screens alone, or has its line already: what is composed has one on Compose */
    case EFFECT_NONE:
    case EFFECT_RESEED: /* its seed is found in the background: session__line_reseeded */
    case EFFECT_PAUSE:
    case EFFECT_QUEUE:
    case EFFECT_COLUMNS:
    case EFFECT_SAVED:
    case EFFECT_SAVE:
    case EFFECT_PURGE_COUNT:
    case EFFECT_FOCUS:
    case EFFECT_BY_TASK:
    case EFFECT_ROWS:
    case EFFECT_FOLDER:
    case EFFECT_LOOK:
    case EFFECT_IMPORT:
    case EFFECT_OWN_ROWS:
    case EFFECT_LIST_MODELS:
    case EFFECT_LIST_TASKS:
    case EFFECT_MODEL:
    case EFFECT_TASK:
    case EFFECT_METHOD_TEXT:
    case EFFECT_START:
    case EFFECT_COPY:
    case EFFECT_ATTENTION_ROW:
    case EFFECT_ATTENTION_LAYER:
    case EFFECT_ATTENTION_HEAD:
    case EFFECT_MAP_MOMENT:
    case EFFECT_MAP_PLAY:
    case EFFECT_MAP_STEP:
    case EFFECT_MAP_REWIND:
    case EFFECT_MAP_PERPLEXITY:
    case EFFECT_MAP_BESIDE:
    case EFFECT_MAP_LAYER:
    case EFFECT_SWEEPS:
    case EFFECT_VERB:
    case EFFECT_VERB_STOP:
    case EFFECT_LESSON_CLOSE:
    case EFFECT_LESSON_STEP:
    case EFFECT_SET:
    case EFFECT_MOUSE:
    case EFFECT_QUIT:
    case EFFECT_SUSPEND:
    case EFFECT_REDRAW:
    case EFFECT_KINDS: break;
    }
    session_line_db(s, &b);
    if (b.size) return buf_take(&b);
    buf_release(&b);
    return NULL;
}

char *session__line_reseeded(const struct session *s, int64_t run, uint64_t seed) {
    struct buf b = BUF_INIT;
    session_line_verb(s, &b, "train --like");
    buf_printf(&b, " %lld --seed %llu", (long long)run, (unsigned long long)seed);
    session_line_db(s, &b);
    return buf_take(&b);
}
