/* The data of Compose: training, copying runs, model and data, saved methods. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/files/paths.h"
#include "app/history/fused.h"
#include "app/history/spot.h"
#include "app/session/session_private.h"
#include "app/session/start_effect.h"
#include "core/base/assets.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/option.h"

/* ---- training ---- */

static void train(struct session *s) {
    struct compose_view *v = &s->ui.compose;
    struct job_request r = { .force = v->forced };
    v->forced = false;
    compose_config(v, &r.config);
    if (*v->run_note) r.note = v->run_note;
    r.name = v->run_name;
    for (int i = 0; i < (v->seeds > 1 ? v->seeds : 1); i++) { /* one run per seed */
        if (v->seeds > 1) r.config.seed = v->seed[i];
        jobs_start_later(s->jobs, &r);
    }
    config_release(&r.config);
    *s->ui.compose.run_name = 0; /* the name applies to one run */
    ui_say(&s->ui, SAY_INFO, "Preparing: reading the model and the data…");
    ui_show(&s->ui, SCREEN_TRAIN);
}

/* Builds the config of the first page's run on the model and task of Compose: it takes seconds and learns;
 * release with config_release. */
static void first_config(const struct session *s, struct run_config *c) {
    config_init(c);
    c->batch = 16;
    c->epochs = 0;
    c->steps = 60;
    c->eval_every = 20;
    c->eval_rows = 256;
    config_take_source(c, &s->ui.compose.config);
}

static void estimate_first(struct session *s) {
    struct run_config c;
    struct estimate cost;
    first_config(s, &c);
    s->ui.first.seconds = compose_estimate(&s->ui.compose, &c, &cost) && cost.seconds > 0 ? cost.seconds : 0;
    config_release(&c);
}

static void do_train_first(struct session *s) {
    struct run_config c;
    first_config(s, &c);
    compose_take_config(&s->ui.compose, &c, "run of the first page");
    config_release(&c);
    const char *why = compose_refusal(&s->ui.compose);
    if (why) ui_say(&s->ui, SAY_ERROR, "%.300s", why);
    else train(s);
}

static void line_train(const struct session *s, struct buf *b, const struct effect *x) {
    char *command = compose_command(&s->ui.compose);
    (void)x;
    buf_puts(b, command);
    free(command);
}

/* ---- model and data ---- */

static int read_source(struct background_work *w) {
    struct source_facts *facts;
    int rc = source_facts_read(&w->config, &facts, &w->e);
    w->made = facts;
    return rc;
}

/* Applies a config that works: one whose model or data cannot be read changes nothing.  flag: the config is
 * already in use, only the facts are new. */
static void take_source(struct session *s, struct background_work *w) {
    struct source_facts *new = w->made, *had = s->compose.source;
    struct compose_view *v = &s->ui.compose;
    struct first_view *f = &s->ui.first;
    bool unread = !new->ok && had && had->ok;
    if (!w->flag)
        unread = unread || !new->rows ||
                 (!new->ok && !option_same(&new->config, &v->config, option_find("model")));
    if (unread) return;
    w->made = had;
    s->compose.source = new;
    v->arch = new->ok ? &new->arch : NULL;
    if (v->arch) config_take_length(&v->config, v->arch);
    v->model = new->model;
    v->task = new->task;
    memcpy(v->outputs, new->outputs, sizeof v->outputs);
    v->classes = new->classes;
    v->texts = new->texts;
    memcpy(v->rows, new->of, sizeof v->rows);
    snprintf(v->unread, sizeof v->unread, "%.239s", new->rows || !new->ok ? "" : w->message);
    if (!w->flag) compose_take_source(v, &new->config);
    v->stale_rows = v->new_rows = false;
    v->train_rows = new->train_rows;
    v->dev_rows = new->dev_rows;
    v->row_tokens = new->tokens;
    v->row_targets = new->targets;
    v->row_squares = new->squares;
    v->longest_row = new->longest;
    v->data_bytes = new->data_bytes;
    compose_changed(v);
    f->model = new->model;
    f->task = new->task;
    f->model_ready = new->ok;
    f->task_ready = new->train_rows > 0;
    f->fetch = new->ok && new->train_rows ? NULL : paths_fetch();
    free(s->compose.stand_in);
    f->stand_in = s->compose.stand_in = paths_stand_in(new->model, new->task);
    estimate_first(s);
}

static void drop_source(struct background_work *w) { source_facts_free(w->made); }

static void ask_source(struct session *s, const struct run_config *c, bool taken) {
    static const struct work_kind kind = { LANE_FILES, read_source, take_source, .drop = drop_source };
    struct background_work *w = work_new(&kind, NULL, 0, NULL);
    config_copy(&w->config, c);
    w->flag = taken;
    background_do(s->background, w);
}

void session__ask_source(struct session *s, const struct run_config *c) { ask_source(s, c, false); }
void session__ask_facts(struct session *s) { ask_source(s, &s->ui.compose.config, true); }

static int measure_machine(struct background_work *w) {
    jobs_speed(w->room->jobs, true);
    return 0;
}

static void take_machine(struct session *s, struct background_work *w) {
    (void)w;
    s->ui.compose.speed = jobs_speed(s->jobs, false);
    s->ui.first.gflops = s->ui.compose.speed.gflops;
    s->ui.compose.workers = crew_width(jobs_crew(s->jobs));
    compose_changed(&s->ui.compose);
    estimate_first(s);
}

void session__ask_machine(struct session *s) {
    static const struct work_kind kind = { LANE_FILES, measure_machine, take_machine, .alone = true };
    session__ask(s, &kind, NULL, 0, NULL);
}

/* Takes ownership of the names. */
static void list_folders(struct session *s, const char *kind, char **name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char *inside = xprintf("%s/%s", kind, name[i]), *folder = assets_find(inside);
        if (folder) folder[strlen(folder) - strlen(inside) + strlen(kind)] = '\0'; /* its parent folder */
        picker_add(&s->ui.picker, name[i], folder ? folder : "", false);
        free(folder);
        free(inside);
    }
    assets_free(name, n);
}

/* An empty list, or one with only petri's own entries, names the command that downloads more. */
static void add_absent(struct session *s, const char *name, const char *usual) {
    char *said = xprintf("not downloaded yet: %s", paths_fetch());
    if (!s->ui.picker.count || strcmp(usual, name)) picker_add(&s->ui.picker, name, said, true);
    free(said);
}

static void do_list_models(struct session *s) {
    picker_open(&s->ui.picker, PICK_MODEL, "models (:models DIR for any folder)");
    char **name;
    size_t n = model_names(&name);
    list_folders(s, "models", name, n);
    add_absent(s, DEFAULT_MODEL, paths_model());
}

static void do_list_tasks(struct session *s) {
    picker_open(&s->ui.picker, PICK_TASK, "tasks (:tasks FOLDER for any folder)");
    char **name;
    size_t n = assets_names("tasks", "train.tsv", &name);
    list_folders(s, "tasks", name, n);
    const struct run_config *c = &s->ui.compose.config;
    for (int i = 0; i < s->ui.picker.count; i++) /* Space marks others */
        for (int k = 0; k < c->tasks; k++)
            if (!strcmp(s->ui.picker.item[i].name, c->of[k].task_name)) s->ui.picker.item[i].marked = true;
    add_absent(s, DEFAULT_TASK, paths_task());
}

/* Several tasks, as petri train --tasks reads them; an existing folder is one task. */
static bool names_tasks(const char *task) {
    return (strchr(task, ',') || text_ends(task, ".json")) && !file_is_folder(task);
}

static void choose(struct session *s, const char *model, const char *task) {
    struct run_config c;
    config_copy(&c, &s->ui.compose.config);
    struct err e = ERR_INIT;
    int rc = 0;
    if (model) config_take_model(&c, model);
    if (task && names_tasks(task)) rc = config_take_tasks(&c, task, &e);
    else if (task) config_take_task(&c, task);
    session__say_error(s, rc, &e);
    if (!rc) session__ask_source(s, &c);
    config_release(&c);
}

static void do_model(struct session *s, const struct effect *x) { choose(s, x->text, NULL); }
static void do_task(struct session *s, const struct effect *x) { choose(s, NULL, x->text); }

/* ---- the method and options of a run ---- */

static int read_clone(struct background_work *w) {
    int rc = session__stored_config(w->store, w->run[0], &w->config, NULL, &w->e);
    if (rc) return rc;
    config_reuse(&w->config);
    work_say(w, SAY_INFO, "copied run #%lld to Compose; change a setting and press Enter",
             (long long)w->run[0]);
    return 0;
}

/* Its model and data are shown when they have been read, and nothing else in the meantime. */
static void take_clone(struct session *s, struct background_work *w) {
    struct compose_view *v = &s->ui.compose;
    if (w->failed) return;
    v->arch = NULL;
    v->model = v->task = NULL;
    v->classes = 0;
    v->texts = false;
    v->train_rows = v->dev_rows = 0;
    *v->unread = 0;
    s->ui.first.model = s->ui.first.task = s->ui.first.stand_in = NULL;
    s->ui.first.model_ready = s->ui.first.task_ready = false;
    source_facts_free(s->compose.source);
    s->compose.source = NULL;
    compose_take_config(v, &w->config, "options of another run");
    ui_show(&s->ui, SCREEN_COMPOSE);
    session__ask_facts(s);
}

static const struct work_kind clone_work = { LANE_SCREENS, read_clone, .done = take_clone };

/* ---- methods ---- */

static void do_method(struct session *s, const struct effect *x) {
    struct method m;
    struct err e = ERR_INIT;
    struct buf said = BUF_INIT;
    char *fused = fused_text(s->store, x->text, &e),
         *whole = fused ? spot_text(s->store, fused, &said, &e) : NULL;
    int rc = whole ? method_parse(whole, &m, &e) : e.code;
    free(fused);
    free(whole);
    buf_release(&said);
    session__say_error(s, rc, &e);
    if (!rc) compose_take_method(&s->ui.compose, &m);
}

/* Computes the effect of Compose's method, the text, at step 0. */
static int measure_start(struct background_work *w) {
    struct start_effect found;
    char words[240];
    if (start_effect(&w->config, jobs_crew(w->room->jobs), &found, &w->e))
        return err_prefix(&w->e, "effect of the method at step 0");
    start_effect_words(&found, words);
    work_say(w, SAY_INFO, "%s", words);
    return 0;
}

static void take_start(struct session *s, struct background_work *w) {
    if (!w->failed) compose_start(&s->ui.compose, w->text, w->message);
}

static void do_start(struct session *s) {
    static const struct work_kind kind = { LANE_FILES, measure_start, .done = take_start };
    struct background_work *w = work_new(&kind, NULL, 0, s->ui.compose.facts.canonical);
    compose_config(&s->ui.compose, &w->config);
    background_do(s->background, w);
}

/* ---- saved methods ---- */

void session__list_own(struct session *s) {
    struct err e = ERR_INIT;
    struct own_methods *own = &s->compose.own;
    char *path = own_methods_path(&e);
    own_methods_release(own);
    free(s->compose.own_rows);
    if (path && own_methods_read(path, own, &e)) ui_say(&s->ui, SAY_ERROR, "%s", e.text);
    struct compose_own *row = s->compose.own_rows = xcalloc((size_t)own->count + 1, sizeof *row);
    for (int i = 0; i < own->count; i++)
        row[i] = (struct compose_own){ own->of[i].name, own->of[i].text, own->of[i].why };
    s->ui.compose.own = row;
    s->ui.compose.owns = own->count;
    free(path);
}

static void do_method_keep(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    bool replaced = false;
    char *path = own_methods_path(&e);
    int rc = !path                ? e.code
             : x->by < 0          ? own_methods_forget(path, x->text, &e)
                                  : own_methods_save(path, x->text, s->ui.compose.facts.text, &replaced, &e);
    session__say_error(s, rc, &e);
    if (!rc && x->by < 0) ui_say(&s->ui, SAY_GOOD, "removed %.100s", x->text);
    else if (!rc)
        ui_say(&s->ui, SAY_GOOD, "saved %.100s%s; press P to list saved methods", x->text,
               replaced ? ", replacing the method of this name" : "");
    free(path);
    session__list_own(s);
}

static void do_methods_out(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    struct buf text = BUF_INIT;
    struct outfile_guard g;
    outfile_guard_init(&g, store_path(s->store), false);
    char *path = own_methods_path(&e);
    int rc = path ? own_methods_text(path, &text, &e) : e.code;
    if (!rc) rc = outfile_write(&g, x->text, buf_text(&text), text.size, &e);
    session__say_error(s, rc, &e);
    if (!rc) ui_say(&s->ui, SAY_GOOD, "wrote %.300s", x->text);
    free(path);
    buf_release(&text);
    outfile_guard_release(&g);
}

static void do_methods_in(struct session *s, const struct effect *x) {
    struct err e = ERR_INIT;
    int count;
    char *path = own_methods_path(&e);
    int rc = path ? own_methods_import(path, x->text, &count, &e) : e.code;
    session__say_error(s, rc, &e);
    if (!rc) ui_say(&s->ui, SAY_GOOD, "imported %d method%s; press P to list saved methods", count,
                    count == 1 ? "" : "s");
    free(path);
    session__list_own(s);
}

static void line_method(const struct session *s, struct buf *b, const struct effect *x) {
    line_verb(s, b, "methods");
    text_shell_option(b, x->by < 0 ? "forget" : "save", x->text);
    if (x->by >= 0) text_shell_option(b, "method", s->ui.compose.facts.text);
}

static void line_methods(const struct session *s, struct buf *b, const struct effect *x) {
    line_verb(s, b, "methods");
    text_shell_option(b, x->kind == EFFECT_METHODS_OUT ? "export" : "import", x->text);
}

/* A selection is included in the line of Compose. */
const struct action compose_actions[] = {
    { EFFECT_TRAIN, .changes = true, .plain = train, .line = line_train },
    { EFFECT_TRAIN_FIRST, .changes = true, .plain = do_train_first, .line = line_train, .late = true },
    { EFFECT_CLONE, .work = &clone_work, .verb = "train --like" },
    { EFFECT_ROWS, .plain = session__ask_facts },
    { EFFECT_LIST_MODELS, .plain = do_list_models },
    { EFFECT_LIST_TASKS, .plain = do_list_tasks },
    { EFFECT_MODEL, .act = do_model },
    { EFFECT_TASK, .act = do_task },
    { EFFECT_METHOD_TEXT, .act = do_method },
    { EFFECT_START, .plain = do_start },
    { EFFECT_METHOD_KEEP, do_method_keep, .changes = true, .line = line_method },
    { EFFECT_METHODS_OUT, do_methods_out, .line = line_methods },
    { EFFECT_METHODS_IN, do_methods_in, .changes = true, .line = line_methods },
    { .kind = EFFECT_NONE },
};

void session__compose_release(struct session *s) {
    source_facts_free(s->compose.source);
    own_methods_release(&s->compose.own);
    free(s->compose.own_rows);
    free(s->compose.stand_in);
}
