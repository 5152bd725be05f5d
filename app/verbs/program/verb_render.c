/* petri render: a screen as text, drawn by the same code as the live one. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/files/paths.h"
#include "app/insight/insight.h"
#include "app/session/history_pages.h"
#include "app/session/own_data.h"
#include "app/session/row_extras.h"
#include "app/session/session_private.h"
#include "app/verbs/drawing.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/model/model.h"

/* Everything to which a drawn screen may point. */
struct scene {
    struct ui ui;
    struct arch arch;
    bool have_arch;
    struct task task;
    bool have_task;
    char *model, *stand_in;
    struct history_rows *runs;
    struct row_extras extras;
    struct run_page *detail;
    struct insight_map *map;
    struct insight_heat *heat;
    struct compared_page *compared;
    struct swept_page *swept;
    struct job_row job;
    struct own_folder *folder;
};

static int place_method(struct scene *s, const struct args *a, bool first, struct err *e) {
    struct method m;
    const char *text = a->method;
    int rc = method_parse(text ? text : "lora", &m, e);
    if (rc) return rc;
    struct err missing = ERR_INIT;
    const char *model = verb_shown_model(a);
    char *folder = model_find(model, &missing);
    if (folder && !model_shape(folder, &s->arch, &missing)) s->have_arch = true;
    const char *task = first && !a->task ? paths_first_task() : verb_shown_task(a);
    s->have_task = !task_open(&s->task, &(struct task_source){ .where = task }, &missing);
    struct compose_view *v = &s->ui.compose;
    v->arch = s->have_arch ? &s->arch : NULL;
    v->model = model;
    v->task = task;
    config_take_model(&v->config, v->model);
    config_take_task(&v->config, task);
    if (s->have_task) {
        v->classes = s->task.classes;
        v->texts = s->task.label_kind == DATA_TEXT;
        v->train_rows = s->task.train.examples;
        v->dev_rows = s->task.devs ? s->task.dev[0].examples : 0;
    }
    compose_take_method(v, &m);
    s->ui.first = (struct first_view){
        .model = model,
        .task = task,
        .model_ready = s->have_arch,
        .task_ready = s->have_task,
        .fetch = s->have_arch && s->have_task ? NULL : paths_fetch(),
        .stand_in = s->stand_in = paths_stand_in(model, task),
        .cores = (int)sysconf(_SC_NPROCESSORS_ONLN),
        .kernel = blas_facts()->kernel,
        .terminal_colors = a->ansi ? 256 : 0,
    };
    free(folder);
    return 0;
}

/* Fills the rows of Runs or of the trash, filtered by --filter, and the saved columns. */
static int place_rows(struct scene *s, struct store *store, const struct args *a, enum screen_id screen,
                      struct err *e) {
    struct runs_view *v = &s->ui.runs;
    char *columns;
    bool list = screen == SCREEN_RUNS;
    const char *filter = list && a->render.filter ? a->render.filter : "";
    v->trash = list && a->render.trash;
    if (strlen(filter) >= sizeof v->filter)
        return err_set(e, ERR_USAGE, "--filter: too long: at most %zu bytes are supported",
                       sizeof v->filter - 1);
    snprintf(v->filter, sizeof v->filter, "%s", filter);
    int rc = history_rows_read(store, v->trash, false, filter, NULL, &s->runs, e);
    if (!rc && *s->runs->error) rc = err_set(e, ERR_USAGE, "--filter: %s", s->runs->error);
    if (!rc) rc = store_saved_text(store, "columns", &columns, e);
    if (rc) return rc;
    v->row = s->runs->row;
    v->rows = s->runs->rows;
    if (!v->trash) s->ui.total_runs = v->rows;
    runs_columns_kept(&s->ui, columns);
    free(columns);
    return 0;
}

/* Called when the visible columns are known. */
static void place_extras(struct scene *s, struct store *store) {
    const struct runs_view *v = &s->ui.runs;
    if (s->ui.screen != SCREEN_RUNS || !s->runs || (!v->visible[COL_DISK] && !v->visible[COL_CURVE])) return;
    row_extras_fill(&s->extras, store, &s->runs->stored, s->runs->row, v->visible[COL_DISK],
                    v->visible[COL_CURVE], &s->runs->curves);
}

/* Fills Runs and the selected run: that of --run, or the newest. */
static int place_runs(struct scene *s, struct store *store, const struct args *a, enum screen_id screen,
                      struct err *e) {
    int rc = place_rows(s, store, a, screen, e);
    if (rc) return rc;
    int64_t id = 0;
    if (a->run) rc = store_find(store, a->run, &id, e);
    else if (s->runs->rows) id = s->runs->row[0].id;
    if (rc || !id) return rc;
    s->ui.runs.cursor_id = id;
    rc = run_page_read(store, id, &s->detail, e);
    if (rc) return rc;
    const struct run_row *r = &s->detail->view.run;
    s->ui.detail = s->detail->view;
    s->job = (struct job_row){ .id = id,
                               .state = r->state,
                               .method = r->method,
                               .task = r->task,
                               .seed = r->seed,
                               .step = r->step,
                               .steps = r->steps,
                               .seconds_left = -1,
                               .best = r->best,
                               .loss = r->final_loss,
                               .reason = r->reason,
                               .constant = r->constant,
                               .none_valid = r->none_valid };
    s->ui.train.job = &s->job;
    s->ui.train.jobs = 1;
    s->ui.train.focus = id;
    s->ui.train.series = s->detail->series->view;
    return 0;
}

/* Selects the curves of Train: --loss parts, tasks, or the name of a component or task. */
static int choose_loss(struct train_view *v, const struct args *a, struct err *e) {
    const char *of = a->render.loss;
    const struct series *s = &v->series;
    if (!of) return 0;
    if (!strcmp(of, "parts") && s->terms) v->shown_term = s->terms + 1;
    if (!strcmp(of, "tasks") && s->tasks) v->shown_task = s->tasks + 1;
    for (int i = 0; i < s->terms; i++)
        if (!strcmp(of, s->term[i].name)) v->shown_term = i + 1;
    for (int i = 0; i < s->tasks; i++)
        if (!strcmp(of, s->task[i].name)) v->shown_task = i + 1;
    if (v->shown_term || v->shown_task) {
        v->shown_run = s->run; /* keeps the choice of this run */
        return 0;
    }
    struct buf has = BUF_INIT;
    for (int i = 0; i < s->terms; i++) buf_printf(&has, "%s%s", i ? ", " : "parts, ", s->term[i].name);
    for (int i = 0; i < s->tasks; i++)
        buf_printf(&has, "%s%s", i ? ", " : has.size ? ", tasks, " : "tasks, ", s->task[i].name);
    err_set(e, ERR_USAGE, "--loss %s: not recorded by the run; available: %s", of,
            has.size ? buf_text(&has) : "none (the run has a single loss)");
    buf_release(&has);
    return e->code;
}

/* --set N or N,M */
static int read_sets(const struct args *a, int64_t *set, int *sets, struct err *e) {
    const char *typed = a->render.set;
    *sets = typed ? text_to_ints(typed, set, MAP_PANELS) : 0;
    if (*sets >= 0) return 0;
    return err_set(e, ERR_USAGE, "--set: must be one or two ids of saved sets, found \"%s\"", typed);
}

/* Fills Map or Heatmap from the model, a run, or saved sets. */
static int place_insight(struct scene *s, struct store *store, const struct args *a, enum screen_id screen,
                         struct err *e) {
    int64_t id = 0, set[MAP_PANELS];
    bool map = screen == SCREEN_MAP, steps = a->render.steps;
    struct insight_subject what = {
        .model = verb_shown_model(a), .run = &id, .set = set, .task_at = INSPECT_USUAL
    };
    int rc = read_sets(a, set, &what.sets, e);
    if (!rc && a->run) rc = store_find(store, a->run, &id, e);
    if (!rc && what.sets && !store) rc = err_set(e, ERR_NOT_FOUND, "--set: no sets of vectors are saved "
                                                                   "yet; petri embed saves one");
    if (!rc && a->render.matrix && !store) rc = err_set(e, ERR_NOT_FOUND,
                                                        "--matrix: no matrices are saved yet; petri "
                                                        "similarity saves one");
    if (!rc && a->render.matrix && !(rc = insight_stored(store, a->render.matrix, &s->heat, e)))
        s->ui.heatmap.data = s->heat->data;
    if (rc || a->render.matrix) return rc;
    what.task = verb_shown_task(a);
    what.runs = id > 0;
    what.run_task = id > 0 ? a->task : NULL;
    what.unseen = a->unseen;
    rc = insight_now(store, &what, steps, map ? &s->map : NULL, map ? NULL : &s->heat, e);
    s->ui.map.subject[0] = what.sets ? set[0] : id;
    s->ui.map.subjects = what.sets ? what.sets : what.runs;
    s->ui.map.sets = what.sets > 0;
    if (s->map) s->ui.map.data = s->map->data;
    if (s->heat) s->ui.heatmap.data = s->heat->data;
    return rc;
}

/* Fills Compare with the runs that match --filter, or all. */
static int place_compare(struct scene *s, struct store *store, const struct args *a, struct err *e) {
    struct store_runs runs;
    const struct store_list list = { .filter = a->render.filter, .sort = "id", .limit = COMPARE_RUNS };
    if (!store) return err_set(e, ERR_NOT_FOUND, "no runs yet; petri train starts one");
    int rc = store_list(store, &list, &runs, e);
    if (rc) return rc;
    int64_t *id = xcalloc(runs.count + 1, sizeof *id);
    for (size_t i = 0; i < runs.count; i++) id[i] = runs.run[i].id;
    rc = compared_page_read(store, id, (int)runs.count, "", false, &s->compared, e);
    if (!rc) s->ui.compare.data = s->compared->data;
    free(id);
    store_runs_release(&runs);
    return rc;
}

/* Fills the list of sweeps, or the page of --sweep with --part. */
static int place_sweep(struct scene *s, struct store *store, const struct args *a, struct err *e) {
    int64_t id = a->render.sweep;
    if (!store) return err_set(e, ERR_NOT_FOUND, "no sweeps yet; petri sweep starts one");
    int rc = swept_page_read(store, id, NULL, &s->swept, e);
    if (rc) return rc;
    struct sweep_view *v = &s->ui.sweep;
    sweep_open(v, id);
    v->cost = (enum sweep_cost)a->cost;
    v->item = s->swept->item;
    v->items = s->swept->items;
    v->page = s->swept->page;
    v->part = (enum sweep_part)a->render.part;
    return 0;
}

static int verb_render_print(const struct ui *ui, enum render_form form, const struct args *a,
                             struct err *e) {
    static const char *const names[RENDER_FORMS] = { "text", "ansi", "svg", "png" };
    struct buf out = BUF_INIT, json = BUF_INIT;
    int rc = 0;
    render_ui(ui, form, &out);
    if (a->json && !a->out) {
        json_put(&json, "{screen:%s,columns:%d,rows:%d", screen_at(ui->screen)->name, ui->w, ui->h);
        json_member_string(&json, names[form], buf_text(&out));
        buf_putc(&json, '}');
        out_line(&json);
    } else {
        rc = drawing_put(a, &out, e);
    }
    buf_release(&out);
    return rc;
}

int verb_render(const struct args *a, struct err *e) {
    struct scene s = { 0 };
    int w = 80, h = 24;
    enum screen_id screen = (enum screen_id)a->render.screen;
    enum render_form form;
    int rc = a->size ? render_size(a->size, &w, &h, e) : 0;
    if (!rc) rc = drawing_form(a, &form, e);
    if (rc) return rc;
    ui_init(&s.ui, a->ascii ? GLYPHS_ASCII : GLYPHS_BRAILLE,
            form == RENDER_TEXT ? COLORS_NONE : COLORS_256);
    struct store *store = NULL;
    struct err absent = ERR_INIT;
    char *path = verb_database(a, &absent);
    int opened = path ? store_open(&store, path, STORE_READ, &absent) : ERR_NOT_FOUND;
    if (opened && (a->db || opened != ERR_NOT_FOUND)) {
        *e = absent;
        rc = opened;
    }
    if (!rc) rc = place_method(&s, a, screen == SCREEN_FIRST, e);
    if (!rc && store) rc = place_runs(&s, store, a, screen, e);
    if (!rc && !store && a->run) rc = err_set(e, ERR_NOT_FOUND, "no runs yet; petri train starts one");
    if (!rc && a->render.loss) rc = choose_loss(&s.ui.train, a, e);
    if (!rc && screen == SCREEN_DATA) {
        s.folder = own_folder_list("");
        s.ui.data.here = s.folder->view;
    }
    if (!rc && screen == SCREEN_SWEEP) rc = place_sweep(&s, store, a, e);
    if (!rc && screen == SCREEN_COMPARE) rc = place_compare(&s, store, a, e);
    if (!rc && screen_at(screen)->inside) rc = place_insight(&s, store, a, screen, e);
    if (!rc) {
        char *slash = path ? strrchr(path, '/') : NULL;
        s.ui.database = slash ? slash + 1 : path ? path : "petri.db";
        ui_resize(&s.ui, w, h);
        ui_changed(&s.ui);
        ui_show(&s.ui, screen);
        place_extras(&s, store);
        rc = verb_render_print(&s.ui, form, a, e);
    }
    if (store) store_close(store, &absent);
    free(path);
    history_rows_free(s.runs);
    row_extras_release(&s.extras);
    run_page_free(s.detail);
    insight_map_free(s.map);
    insight_heat_free(s.heat);
    compared_page_free(s.compared);
    swept_page_free(s.swept);
    own_folder_free(s.folder);
    if (s.have_arch) arch_release(&s.arch);
    if (s.have_task) task_release(&s.task);
    free(s.stand_in);
    ui_release(&s.ui);
    return rc;
}
