/* What the screens ask for, done. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/fused.h"
#include "app/history/spot.h"
#include "app/files/outfile.h"
#include "app/files/own_methods.h"
#include "app/files/paths.h"
#include "app/session/session_private.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"

static void session_effects_train(struct session *s) {
    struct job_request r = { 0 };
    const struct compose_view *v = &s->ui.compose;
    compose_config(v, &r.config);
    if (*v->run_note) r.note = v->run_note;
    r.name = v->run_name;
    for (int i = 0; i < (v->seeds > 1 ? v->seeds : 1); i++) { /* a run for each seed */
        if (v->seeds > 1) r.config.seed = v->seed[i];
        jobs_start_later(s->jobs, &r);
    }
    config_release(&r.config);
    *s->ui.compose.run_name = 0; /* another run is another's */
    ui_say(&s->ui, SAY_INFO, "preparing: reading model and rows");
    ui_show(&s->ui, SCREEN_TRAIN);
}

/* Describes the first page's run on the model and task of Compose: it takes seconds and learns something;
 * config_release. */
static void first_config(const struct session *s, struct run_config *c) {
    config_init(c);
    c->batch = 16;
    c->epochs = 0;
    c->steps = 60;
    c->eval_every = 20;
    c->eval_rows = 256;
    config_take_source(c, &s->ui.compose.config);
}

void session__estimate_first(struct session *s) {
    struct run_config c;
    struct estimate cost;
    first_config(s, &c);
    s->ui.first.seconds = compose_estimate(&s->ui.compose, &c, &cost) && cost.seconds > 0 ? cost.seconds : 0;
    config_release(&c);
}

static void train_first(struct session *s) {
    struct run_config c;
    first_config(s, &c);
    compose_take_config(&s->ui.compose, &c, "the first page's run");
    config_release(&c);
    const char *why = compose_refusal(&s->ui.compose);
    if (why) ui_say(&s->ui, SAY_ERROR, "%.300s", why);
    else session_effects_train(s);
}

static void say_error(struct session *s, int rc, const struct err *e) {
    if (rc) ui_say(&s->ui, SAY_ERROR, "%s", e->text);
}

static void pause(struct session *s, int64_t id) {
    struct err e = ERR_INIT;
    const struct job_row *j = NULL;
    for (int i = 0; i < s->ui.train.jobs; i++)
        if (s->ui.train.job[i].id == id) j = &s->ui.train.job[i];
    bool paused = j && j->state == RUN_PAUSED;
    int rc = paused ? jobs_unpause(s->jobs, id, &e) : jobs_pause(s->jobs, id, &e);
    say_error(s, rc, &e);
    if (rc) return;
    ui_say(&s->ui, SAY_INFO, "run #%lld %s", (long long)id, paused ? "goes on" : "pauses after this step");
}

/* Whether the run trains in this process. */
static bool is_ours(const struct session *s, int64_t id) {
    for (size_t i = 0; i < s->view_count; i++)
        if (s->shown[i].id == id && s->shown[i].state <= RUN_PAUSED) return true;
    return false;
}

static void session_effects_name_next(struct session *s, const char *name) {
    struct err e = ERR_INIT;
    struct compose_view *v = &s->ui.compose;
    if (store_check_name(name, &e)) {
        say_error(s, e.code, &e);
        return;
    }
    snprintf(v->run_name, sizeof v->run_name, "%.*s", STORE_NAME_MOST, name);
    ui_say(&s->ui, SAY_INFO, *name ? "the next run is called %s" : "the next run has no name", name);
}

static void session_effects_stop(struct session *s, int64_t id, bool keep) {
    struct err e = ERR_INIT;
    if (!is_ours(s, id)) { /* another process trains it: it is asked, and keeps a checkpoint */
        background_ask(s->background,
                       &(struct background_order){ .kind = BACKGROUND_STOP, .run = &id, .runs = 1 });
        return;
    }
    int rc = jobs_stop(s->jobs, id, &e);
    say_error(s, rc, &e);
    if (rc) return;
    if (!keep) s->discard = id;
    ui_say(&s->ui, SAY_INFO, "run #%lld stops %s", (long long)id,
           keep ? "with a checkpoint; R goes on later" : "and goes to the trash");
}

static void order_runs(struct session *s, enum background_kind kind, const struct effect *x) {
    if (!x->runs) return;
    if (kind == BACKGROUND_TRASH || kind == BACKGROUND_RESTORE)
        session__move(s, kind == BACKGROUND_TRASH, x->run, x->runs);
    else
        background_ask(s->background, &(struct background_order){ .kind = kind, .run = (int64_t *)x->run,
                                                                  .runs = x->runs, .text = x->text });
}

/* ---- moves into and out of the trash, and names, one after the other ---- */

void move_free(struct move *m) {
    free(m->run);
    free(m->was);
    free(m->name);
    *m = (struct move){ 0 };
}

/* Keys typed ahead mean what they would mean had each been typed after the answer to the one before. */
static void wish(struct session *s, int kind, const int64_t *run, int runs, bool trash, const char *name) {
    struct wish *w = xcalloc(1, sizeof *w), **end = &s->wishes;
    w->kind = kind;
    w->move = (struct move){ trash, runs ? xcalloc((size_t)runs, sizeof *run) : NULL, runs, NULL,
                             xcopy(name) };
    if (runs) memcpy(w->move.run, run, (size_t)runs * sizeof *run);
    while (*end) end = &(*end)->next;
    *end = w;
}

static void ask_move(struct session *s, bool trash, int64_t *run, int runs, const char *back) {
    s->moving = true;
    enum background_kind kind = trash ? BACKGROUND_TRASH : BACKGROUND_RESTORE;
    background_ask(s->background,
                   &(struct background_order){ .kind = kind, .run = run, .runs = runs, .text = back });
}

void session__move(struct session *s, bool trash, const int64_t *run, int runs) {
    if (s->moving) wish(s, WISH_MOVE, run, runs, trash, NULL);
    else ask_move(s, trash, (int64_t *)run, runs, "u");
}

static void session_effects_ask_name(struct session *s, int64_t run, const char *name, const char *back) {
    s->moving = true;
    background_ask(s->background,
                   &(struct background_order){
                       .kind = BACKGROUND_NAME, .run = &run, .runs = 1, .text = back, .name = name });
}

/* the same of a name */
static void session__name(struct session *s, int64_t run, const char *name) {
    if (s->moving) wish(s, WISH_MOVE, &run, 1, false, name);
    else session_effects_ask_name(s, run, name, "u");
}

static void undo(struct session *s, bool redo) {
    if (s->moving) {
        wish(s, redo ? WISH_REDO : WISH_UNDO, NULL, 0, false, NULL);
        return;
    }
    if (redo ? s->done == s->undone : s->done == 0) {
        ui_say(&s->ui, SAY_INFO, redo ? "nothing to redo" : "nothing to undo");
        return;
    }
    const struct move *m = &s->moves[redo ? s->done : s->done - 1];
    s->undoing = redo ? -1 : 1;
    if (m->name) session_effects_ask_name(s, m->run[0], redo ? m->name : m->was, redo ? "u" : "^r");
    else ask_move(s, m->trash == redo, m->run, m->runs, redo ? "u" : "^r");
}

static struct wish *next_wish(struct session *s) {
    struct wish *w = s->wishes;
    if (w) s->wishes = w->next;
    return w;
}

static void wish_free(struct wish *w) {
    move_free(&w->move);
    free(w);
}

void session__moved(struct session *s) {
    struct wish *w;
    s->moving = false;
    while (!s->moving && (w = next_wish(s))) {
        if (w->move.name) session__name(s, w->move.run[0], w->move.name);
        else if (w->kind == WISH_MOVE) session__move(s, w->move.trash, w->move.run, w->move.runs);
        else undo(s, w->kind == WISH_REDO);
        wish_free(w);
    }
}

void session__drop_wishes(struct session *s) {
    struct wish *w;
    while ((w = next_wish(s))) wish_free(w);
}

static void list_folders(struct session *s, const char *kind, const char *marker) {
    char **name;
    size_t n = assets_names(kind, marker, &name);
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("%s/%s/%s", kind, name[i], marker), *folder = assets_find(inside);
        if (folder) folder[strlen(folder) - strlen(inside) + strlen(kind)] = '\0'; /* the one that holds it */
        picker_add(&s->ui.picker, name[i], folder ? folder : "", false);
        free(folder);
        free(inside);
    }
    assets_free(name, n);
}

/* A list that is empty, or has what stands in for this name alone, says what would bring it. */
static void add_absent(struct session *s, const char *name, const char *usual) {
    char *said = xprintf("not here yet: %s", paths_fetch());
    if (!s->ui.picker.count || strcmp(usual, name)) picker_add(&s->ui.picker, name, said, true);
    free(said);
}

static void list_models(struct session *s) {
    picker_open(&s->ui.picker, PICK_MODEL, "models (:models DIR takes any folder)");
    list_folders(s, "models", "config.json");
    add_absent(s, DEFAULT_MODEL, paths_model());
}

static void list_tasks(struct session *s) {
    picker_open(&s->ui.picker, PICK_TASK, "tasks (:tasks FOLDER takes any folder)");
    list_folders(s, "tasks", "train.tsv");
    add_absent(s, DEFAULT_TASK, paths_task());
}

/* Several, as petri train --tasks takes them; a folder that is there is one. */
static bool names_tasks(const char *task) {
    return (strchr(task, ',') || text_ends(task, ".json")) && !file_is_folder(task);
}

static void session_effects_choose(struct session *s, const char *model, const char *task) {
    struct run_config c;
    config_copy(&c, &s->ui.compose.config);
    struct err e = ERR_INIT;
    int rc = 0;
    if (model) config_take_model(&c, model);
    if (task && names_tasks(task)) rc = config_take_tasks(&c, task, &e);
    else if (task) config_take_task(&c, task);
    say_error(s, rc, &e);
    if (!rc) session__ask_source(s, &c);
    config_release(&c);
}

static void session_effects_own_rows(struct session *s) {
    struct run_config c;
    config_copy(&c, &s->ui.compose.config);
    config_take_rows(&c, &s->ui.data.config);
    session__ask_source(s, &c);
    config_release(&c);
    ui_show(&s->ui, SCREEN_COMPOSE);
    ui_say(&s->ui, SAY_GOOD, "these rows are taken: Enter trains on them");
}

static void method_text_typed(struct session *s, const char *text) {
    struct method m;
    struct err e = ERR_INIT;
    struct buf said = BUF_INIT;
    char *fused = fused_text(s->store, text, &e),
         *whole = fused ? spot_text(s->store, fused, &said, &e) : NULL;
    int rc = whole ? method_parse(whole, &m, &e) : e.code;
    free(fused);
    free(whole);
    buf_release(&said);
    say_error(s, rc, &e);
    if (!rc) compose_take_method(&s->ui.compose, &m);
}

static void session_effects_start(struct session *s) {
    struct run_config c;
    compose_config(&s->ui.compose, &c);
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_START, .config = &c,
                                                              .text = s->ui.compose.facts.canonical });
    config_release(&c);
}

/* ---- methods that the user keeps by name ---- */

void session__list_own(struct session *s) {
    struct err e = ERR_INIT;
    char *path = own_methods_path(&e);
    own_methods_release(&s->own);
    free(s->own_rows);
    if (path && own_methods_read(path, &s->own, &e)) ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    s->own_rows = xcalloc((size_t)s->own.count + 1, sizeof *s->own_rows);
    for (int i = 0; i < s->own.count; i++)
        s->own_rows[i] = (struct compose_own){ s->own.of[i].name, s->own.of[i].text, s->own.of[i].why };
    s->ui.compose.own = s->own_rows;
    s->ui.compose.owns = s->own.count;
    free(path);
}

static void session_effects_keep(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    bool replaced = false;
    char *path = own_methods_path(&e);
    int rc = !path                ? e.code
             : x->by < 0          ? own_methods_forget(path, x->text, &e)
                                  : own_methods_save(path, x->text, s->ui.compose.facts.text, &replaced, &e);
    say_error(s, rc, &e);
    if (!rc && x->by < 0) ui_say(&s->ui, SAY_GOOD, "%.100s is forgotten", x->text);
    else if (!rc)
        ui_say(&s->ui, SAY_GOOD, "%.100s is kept%s: P lists it", x->text,
               replaced ? ", in place of what had the name" : "");
    free(path);
    session__list_own(s);
}

static void session_effects_methods_out(struct session *s, const char *to) {
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT;
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(s->store), false);
    char *path = own_methods_path(&e);
    int rc = path ? own_methods_text(path, &text, &e) : e.code;
    if (!rc) rc = outfile_write(&g, to, buf_text(&text), text.size, &e);
    say_error(s, rc, &e);
    if (!rc) ui_say(&s->ui, SAY_GOOD, "written: %.300s", to);
    free(path);
    buf_release(&text);
    outfile_guard_release(&g);
}

static void session_effects_methods_in(struct session *s, const char *from) {
    struct err e = ERR_INIT;
    int count;
    char *path = own_methods_path(&e);
    int rc = path ? own_methods_import(path, from, &count, &e) : e.code;
    say_error(s, rc, &e);
    if (!rc) ui_say(&s->ui, SAY_GOOD, "%d method%s taken: P lists them", count, count == 1 ? "" : "s");
    free(path);
    session__list_own(s);
}

static void session_effects_sweep(struct session *s, enum background_kind kind, const struct effect *x) {
    background_ask(s->background,
                   &(struct background_order){
                       .kind = kind, .run = (int64_t *)x->run, .runs = x->runs, .text = x->text });
}

static void session_effects_compare(struct session *s, const struct effect *x) {
    background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_COMPARE,
                                                              .run = (int64_t *)x->run,
                                                              .runs = x->runs,
                                                              .text = x->text,
                                                              .trash = x->keep });
}

static void look_inside(struct session *s, const struct effect *x) {
    const struct run_config *c = &s->ui.compose.config, *rows = config_rows_of(c, 0);
    struct insight_subject what = { .model = c->model_folder ? c->model_folder : c->model,
                                    .task = rows->task_folder ? rows->task_folder : rows->task };
    if (x->kind == EFFECT_SETS) {
        what.set = x->run;
        what.sets = x->runs;
    } else {
        what.run = x->run;
        what.runs = x->runs;
        what.task_at = x->by;
        what.unseen = *x->text ? x->text : NULL;
    }
    insight_open(s->insight, &what);
    if (x->keep) insight_matrices(s->insight, -1);
}

/* What leaves everything as it is. */
static bool only_looks(enum effect_kind kind) {
    switch (kind) {
    case EFFECT_TRAIN:
    case EFFECT_TRAIN_FIRST:
    case EFFECT_PAUSE:
    case EFFECT_STOP:
    case EFFECT_RESUME:
    case EFFECT_AGAIN:
    case EFFECT_RESEED:
    case EFFECT_SAVE:
    case EFFECT_PIN:
    case EFFECT_TAGS:
    case EFFECT_NOTE:
    case EFFECT_NAME:
    case EFFECT_PURGE_COUNT:
    case EFFECT_PURGE:
    case EFFECT_QUEUE:
    case EFFECT_TRASH:
    case EFFECT_RESTORE:
    case EFFECT_UNDO:
    case EFFECT_REDO:
    case EFFECT_SWEEP_NEW:
    case EFFECT_SWEEP_GO:
    case EFFECT_SWEEP_STOP:
    case EFFECT_SWEEP_EXTEND:
    case EFFECT_METHOD_KEEP:
    case EFFECT_METHODS_IN: return false;
    /* files of their own, where that is asked for, are no change of what is looked at */
    case EFFECT_NONE:
    case EFFECT_COLUMNS:
    case EFFECT_SAVED:
    case EFFECT_WATCH:
    case EFFECT_FOCUS:
    case EFFECT_BESIDE:
    case EFFECT_OPEN_RUN:
    case EFFECT_CLONE:
    case EFFECT_TRASH_VIEW:
    case EFFECT_FILTER:
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
    case EFFECT_METHODS_OUT:
    case EFFECT_EXPORT:
    case EFFECT_COPY:
    case EFFECT_INSPECT:
    case EFFECT_SETS:
    case EFFECT_HEATMAP:
    case EFFECT_ATTENTION_ROW:
    case EFFECT_ATTENTION_LAYER:
    case EFFECT_ATTENTION_HEAD:
    case EFFECT_MAP_TRAINING:
    case EFFECT_MAP_MOMENT:
    case EFFECT_MAP_PLAY:
    case EFFECT_MAP_STEP:
    case EFFECT_MAP_REWIND:
    case EFFECT_MAP_PERPLEXITY:
    case EFFECT_MAP_BESIDE:
    case EFFECT_MAP_LAYER:
    case EFFECT_COMPARE:
    case EFFECT_SWEEPS:
    case EFFECT_PICTURE:
    case EFFECT_TABLE:
    case EFFECT_VERB:
    case EFFECT_VERB_STOP:
    case EFFECT_LESSONS:
    case EFFECT_LESSON:
    case EFFECT_LESSON_CLOSE:
    case EFFECT_LESSON_STEP:
    case EFFECT_SET:
    case EFFECT_SAVE_SETTINGS:
    case EFFECT_MOUSE:
    case EFFECT_QUIT:
    case EFFECT_SUSPEND:
    case EFFECT_REDRAW:
    case EFFECT_KINDS: return true;
    }
    BUG("effect %d", kind);
}

static void session_effects_watch(struct session *s, const struct effect *x) {
    s->following = false;
    s->watched = s->ui.train.focus = x->run[0];
    session__ask_others(s, false);
}

void session__only_looks(struct session *s) {
    ui_say(
        &s->ui, SAY_INFO,
        "this petri only looks: nothing is begun or changed here (petri without watch and --readonly does)");
}

/* None: the run in focus alone again. */
static void session_effects_beside(struct session *s, const struct effect *x) {
    s->overlays = x->runs;
    memcpy(s->overlay, x->run, (size_t)x->runs * sizeof *x->run);
    s->overlay_asked = false;
    s->ui.train.beside = NULL;
    s->ui.train.besides = 0;
    beside_free(s->beside);
    s->beside = NULL;
    if (x->runs) session_effects_watch(s, x);
    if (x->runs) session__ask_beside(s);
    ui_changed(&s->ui);
}

void session__do(struct session *s, const struct effect *x) {
    switch (x->kind) {
    case EFFECT_NONE:
    case EFFECT_KINDS: break;
    case EFFECT_TRAIN: session_effects_train(s); break;
    case EFFECT_TRAIN_FIRST: train_first(s); break;
    case EFFECT_PAUSE: pause(s, x->run[0]); break;
    case EFFECT_STOP: session_effects_stop(s, x->run[0], x->keep); break;
    case EFFECT_RESUME: order_runs(s, BACKGROUND_RESUME, x); break;
    case EFFECT_AGAIN: order_runs(s, BACKGROUND_AGAIN, x); break;
    case EFFECT_RESEED: order_runs(s, BACKGROUND_RESEED, x); break;
    case EFFECT_QUEUE: jobs_move(s->jobs, x->run[0], x->by); break;
    case EFFECT_TRASH: order_runs(s, BACKGROUND_TRASH, x); break;
    case EFFECT_RESTORE: order_runs(s, BACKGROUND_RESTORE, x); break;
    case EFFECT_SAVED:
        background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_SAVED });
        break;
    case EFFECT_SAVE:
        background_ask(s->background, &(struct background_order){
                                          .kind = BACKGROUND_SAVE, .text = x->text, .trash = !x->keep });
        break;
    case EFFECT_PIN: order_runs(s, BACKGROUND_PIN, x); break;
    case EFFECT_TAGS: order_runs(s, BACKGROUND_TAGS, x); break;
    case EFFECT_NOTE: order_runs(s, BACKGROUND_NOTE, x); break;
    case EFFECT_NAME:
        if (x->runs) session__name(s, x->run[0], x->text);
        else session_effects_name_next(s, x->text);
        break;
    case EFFECT_PURGE_COUNT: order_runs(s, BACKGROUND_PURGE_COUNT, x); break;
    case EFFECT_PURGE:
        background_ask(s->background, &(struct background_order){ .kind = BACKGROUND_PURGE,
                                                                  .run = (int64_t *)x->run,
                                                                  .runs = x->runs,
                                                                  .typed = x->by });
        break;
    case EFFECT_UNDO: undo(s, false); break;
    case EFFECT_REDO: undo(s, true); break;
    case EFFECT_FOCUS:
        s->following = false;
        session__fill_jobs(s);
        break;
    case EFFECT_WATCH: session_effects_watch(s, x); break;
    case EFFECT_BESIDE: session_effects_beside(s, x); break;
    case EFFECT_OPEN_RUN: order_runs(s, BACKGROUND_PAGE, x); break;
    case EFFECT_CLONE: order_runs(s, BACKGROUND_CLONE, x); break;
    case EFFECT_ROWS: session__ask_facts(s); break;
    case EFFECT_TRASH_VIEW:
    case EFFECT_BY_TASK:
    case EFFECT_FILTER: session__ask_runs(s); break;
    case EFFECT_COLUMNS:
        session__ask_runs(s); /* some take a look at files or points */
        if (!store_is_readonly(s->store))
            background_ask(s->background,
                           &(struct background_order){ .kind = BACKGROUND_KEEP_COLUMNS, .text = x->text });
        break;
    case EFFECT_FOLDER:
        background_ask(s->background,
                       &(struct background_order){ .kind = BACKGROUND_FOLDER, .text = x->text });
        break;
    case EFFECT_LOOK:
        background_ask(s->background,
                       &(struct background_order){ .kind = BACKGROUND_LOOK,
                                                   .text = x->text,
                                                   .config = s->ui.data.again ? &s->ui.data.config : NULL });
        break;
    case EFFECT_IMPORT: session__ask_import(s); break;
    case EFFECT_OWN_ROWS: session_effects_own_rows(s); break;
    case EFFECT_LIST_MODELS: list_models(s); break;
    case EFFECT_LIST_TASKS: list_tasks(s); break;
    case EFFECT_MODEL: session_effects_choose(s, x->text, NULL); break;
    case EFFECT_TASK: session_effects_choose(s, NULL, x->text); break;
    case EFFECT_METHOD_TEXT: method_text_typed(s, x->text); break;
    case EFFECT_START: session_effects_start(s); break;
    case EFFECT_METHOD_KEEP: session_effects_keep(s, x); break;
    case EFFECT_METHODS_OUT: session_effects_methods_out(s, x->text); break;
    case EFFECT_METHODS_IN: session_effects_methods_in(s, x->text); break;
    case EFFECT_EXPORT: order_runs(s, BACKGROUND_EXPORT, x); break;
    case EFFECT_COPY:
        ui_say(&s->ui, SAY_INFO, "%s: %s", term_copy(x->text) ? "copied" : "to copy", x->text);
        break;
    case EFFECT_INSPECT:
    case EFFECT_SETS: look_inside(s, x); break;
    case EFFECT_HEATMAP: insight_matrices(s->insight, x->by); break;
    case EFFECT_ATTENTION_ROW: insight_attention(s->insight, x->by, 0, 0); break;
    case EFFECT_ATTENTION_LAYER: insight_attention(s->insight, 0, x->by, 0); break;
    case EFFECT_ATTENTION_HEAD: insight_attention(s->insight, 0, 0, x->by); break;
    case EFFECT_MAP_TRAINING: insight_training(s->insight); break;
    case EFFECT_MAP_MOMENT: insight_moment(s->insight, x->by); break;
    case EFFECT_MAP_PLAY: insight_play(s->insight); break;
    case EFFECT_MAP_STEP: insight_step(s->insight); break;
    case EFFECT_MAP_REWIND: insight_rewind(s->insight); break;
    case EFFECT_MAP_PERPLEXITY: insight_perplexity(s->insight, x->by); break;
    case EFFECT_MAP_BESIDE: insight_beside(s->insight); break;
    case EFFECT_MAP_LAYER: insight_layer(s->insight, map_focus(&s->ui.map), x->by); break;
    case EFFECT_COMPARE: session_effects_compare(s, x); break;
    case EFFECT_SWEEPS: session__ask_sweeps(s); break;
    case EFFECT_SWEEP_NEW: session_effects_sweep(s, BACKGROUND_SWEEP_NEW, x); break;
    case EFFECT_SWEEP_GO: session_effects_sweep(s, BACKGROUND_SWEEP_GO, x); break;
    case EFFECT_SWEEP_STOP: session_effects_sweep(s, BACKGROUND_SWEEP_STOP, x); break;
    case EFFECT_SWEEP_EXTEND: session_effects_sweep(s, BACKGROUND_SWEEP_EXTEND, x); break;
    case EFFECT_PICTURE: session__picture(s, x->text); break;
    case EFFECT_TABLE: session__table(s, x->text); break;
    case EFFECT_VERB: session__verb(s, x->text); break;
    case EFFECT_VERB_STOP:
        if (s->child) child_stop(s->child);
        break;
    case EFFECT_LESSONS:
    case EFFECT_LESSON:
    case EFFECT_LESSON_CLOSE:
    case EFFECT_LESSON_STEP: session__lesson(s, x); break;
    case EFFECT_QUIT:
        s->leaving = true;
        s->finish = x->keep;
        break;
    case EFFECT_SET: session__set(s, x->text); break;
    case EFFECT_SAVE_SETTINGS: session__save_settings(s); break;
    case EFFECT_MOUSE: term_mouse(s->ui.mouse); break;
    case EFFECT_SUSPEND: term_suspend(); break;
    case EFFECT_REDRAW: term_redraw(); break;
    }
}

void session__show_line(struct session *s, char *line) {
    if (!line) return;
    snprintf(s->ui.line, sizeof s->ui.line, "%s", strlen(line) < sizeof s->ui.line ? line : "");
    s->ui.line_new = *s->ui.line != 0;
    free(line);
}

/* An action and its line: of the first page's run it is known only once Compose holds that. */
void session__effect(struct session *s, const struct effect *x) {
    if (s->look_only && !only_looks(x->kind)) {
        session__only_looks(s);
        return;
    }
    char *line = x->kind == EFFECT_TRAIN_FIRST ? NULL : session__line(s, x);
    session__do(s, x);
    if (x->kind == EFFECT_TRAIN_FIRST) line = session__line(s, x);
    session__show_line(s, line);
}
