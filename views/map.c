#include "views/map.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/ui.h"
#include "views/ui_parts.h"

void map_init(struct ui *ui) {
    struct map_view *v = &ui->map;
    v->chosen = -1;
    v->fresh = true;
    for (int i = 0; i < MAP_PANELS; i++) scatter_look_init(&v->look[i]);
}

int map_focus(const struct map_view *v) {
    int last = v->data.panels - 1;
    return v->part < last ? v->part : last < 0 ? 0 : last;
}

int map_classes(const struct map_view *v) {
    return v->color == MAP_BY_RIGHT ? 2 : v->color == MAP_BY_TASK ? v->data.tasks : v->data.classes;
}

const char *map_class_name(const struct map_view *v, int class) {
    static const char *const right[] = { "correct", "wrong" };
    if (class < 0 || class >= map_classes(v)) return "none";
    if (v->color == MAP_BY_TASK) return v->data.task_name[class];
    return v->color == MAP_BY_RIGHT ? right[class] : v->data.class_name[class];
}

const char *map_name_of(const struct map_data *d, int class) {
    return class < 0 || class >= d->classes ? "none" : d->class_name[class];
}

int32_t *map_labels(const struct map_view *v, int panel) {
    const struct map_data *d = &v->data;
    int32_t *out = xcalloc((size_t)d->n + 1, sizeof *out);
    const int32_t *predicted = d->panel[panel].predicted;
    for (int i = 0; i < d->n; i++) {
        if (v->color == MAP_BY_LABEL) out[i] = d->label[i];
        else if (v->color == MAP_BY_TASK) out[i] = d->of_task[i];
        else if (!predicted || (v->color == MAP_BY_RIGHT && d->label[i] < 0)) out[i] = -1;
        else out[i] = v->color == MAP_BY_PREDICTION ? predicted[i] : predicted[i] != d->label[i];
    }
    return out;
}

/* Returns the points of a panel for the scatter plot; the caller frees *labels. */
static struct scatter_data map_points_of(const struct map_view *v, int panel, int32_t **labels) {
    const struct map_data *d = &v->data;
    *labels = map_labels(v, panel);
    return (struct scatter_data){ d->n, d->panel[panel].xy, *labels, map_classes(v), NULL };
}

/* Keeps the example under the cursor, if it is still there, and moves the cursors of the other panels to
 * it. */
static void map_choose(struct map_view *v) {
    int32_t *labels;
    int at = map_focus(v);
    struct scatter_data points = map_points_of(v, at, &labels);
    if (v->list) scatter_go(v->glyphs, v->pane[at], &points, &v->look[at], v->chosen);
    else if (!scatter_under(v->glyphs, v->pane[at], &points, &v->look[at], v->chosen))
        v->chosen = scatter_nearest(v->glyphs, v->pane[at], &points, &v->look[at]);
    map_region_follow(v, &points);
    free(labels);
    for (int i = 0; i < v->data.panels; i++) {
        if (i == at) continue;
        points = map_points_of(v, i, &labels);
        scatter_go(v->glyphs, v->pane[i], &points, &v->look[i], v->chosen);
        free(labels);
    }
}

/* Called after data or size changed: bounds the parts and finds the example under the cursor. */
static void map_changed(struct map_view *v) {
    const struct map_data *d = &v->data;
    if (v->fresh && d->tasks > 1 && d->panels) v->color = MAP_BY_TASK;
    v->fresh = v->fresh && !d->panels;
    if (v->color == MAP_BY_TASK && d->tasks < 2) v->color = MAP_BY_LABEL;
    if (v->part > d->panels) v->part = d->panels;
    if (v->class >= map_classes(v)) v->class = map_classes(v) ? map_classes(v) - 1 : 0;
    for (int i = 0; i < MAP_PANELS; i++) v->look[i].hidden = v->hidden;
    if (!d->panels || !d->n) v->chosen = -1;
    else map_choose(v);
}

void map_place(struct ui *ui) {
    struct map_view *v = &ui->map;
    struct panes p = ui_panes(ui, SCREEN_MAP);
    bool one = v->alone || p.size == LAYOUT_PANE || v->data.panels < 2;
    for (int i = 0; i < MAP_PANELS; i++) {
        struct rect r = p.at[one || i == 0 ? PANE_MAP : PANE_MAP_2];
        int head = r.h > 4 ? 2 : r.h > 2 ? 1 : 0; /* title and numbers */
        v->pane[i] = rect_down(r, head);
    }
    v->glyphs = ui->glyphs;
    map_changed(v);
}

/* ---- requests ---- */

/* Writes the runs that a key on the current screen refers to: two marked runs, or the one under the cursor;
 * returns their number. */
static int runs_here(const struct ui *ui, int64_t run[MAP_PANELS]) {
    const struct screen *s = screen_at(ui->screen);
    const int64_t *marked;
    if (s->marked && s->marked(ui, &marked) == MAP_PANELS) {
        memcpy(run, marked, MAP_PANELS * sizeof *run);
        return MAP_PANELS;
    }
    run[0] = s->run ? s->run(ui) : 0;
    return run[0] > 0;
}

/* Requests the subjects from the start; `task`: index of the task of a multi-task run. */
static void begin_anew(struct map_view *v, enum effect_kind kind, int task, bool matrices,
                       struct effect *out) {
    v->asked = v->fresh = true;
    v->hidden = 0;
    v->alone = v->list = v->region.on = v->many = false;
    for (int i = 0; i < MAP_PANELS; i++) scatter_look_init(&v->look[i]);
    out->kind = kind;
    out->run = v->subject;
    out->runs = v->subjects;
    out->by = task;
    out->keep = matrices;
}

void inspect_show(struct ui *ui, enum screen_id screen, struct effect *out) {
    struct map_view *v = &ui->map;
    int64_t run[MAP_PANELS] = { 0, 0 };
    int from = screen_at(ui->screen)->inside;
    bool matrices = screen_at(screen)->inside == INSIDE_MATRICES;
    int runs = runs_here(ui, run);
    bool other = runs && (v->sets || runs != v->subjects || memcmp(run, v->subject, sizeof run));
    if (!from && (!v->asked || other)) {
        memcpy(v->subject, run, sizeof run);
        v->subjects = runs;
        v->sets = false;
        *v->unseen = 0;
        begin_anew(v, EFFECT_INSPECT, INSPECT_USUAL, matrices, out);
    } else if (matrices && (!ui->heatmap.data.matrices || from == INSIDE_POINTS)) {
        out->kind = EFFECT_HEATMAP; /* attention of the example under the cursor of Map */
        out->by = from == INSIDE_POINTS ? v->chosen : -1;
    }
    ui_show(ui, screen);
}

void inspect_task_words(const char *task, int at, int tasks, char out[120]) {
    *out = 0;
    if (task && at == tasks) snprintf(out, 120, "all %d tasks", tasks);
    else if (task) snprintf(out, 120, "%.80s, task %d of %d", task, at + 1, tasks);
}

void inspect_next_task(struct ui *ui, int at, int tasks, bool matrices, struct effect *out) {
    struct map_view *v = &ui->map;
    if (tasks < 2) {
        ui_say(ui, SAY_INFO, "single-task run: only multi-task runs are shown by task");
        return;
    }
    *v->unseen = 0;
    begin_anew(v, EFFECT_INSPECT, (at + 1) % (tasks + 1), matrices, out);
}

void inspect_unseen(struct ui *ui, const char *tasks, struct effect *out) {
    struct map_view *v = &ui->map;
    int all = v->data.run_tasks > ui->heatmap.data.run_tasks ? v->data.run_tasks : ui->heatmap.data.run_tasks;
    *out = (struct effect){ .kind = EFFECT_NONE };
    if (!screen_at(ui->screen)->inside || !v->subjects || v->sets || all < 2) {
        ui_say(ui, SAY_ERROR,
               "unseen: only in Map or Heatmap of a multi-task run, for example  :unseen reviews,debates");
        return;
    }
    if (strlen(tasks) >= sizeof v->unseen) {
        ui_say(ui, SAY_ERROR, "unseen: names too long: at most %zu bytes", sizeof v->unseen - 1);
        return;
    }
    strcpy(v->unseen, tasks);
    begin_anew(v, EFFECT_INSPECT, all, screen_at(ui->screen)->inside == INSIDE_MATRICES, out);
    snprintf(out->text, sizeof out->text, "%s", tasks);
}

void map_show_sets(struct ui *ui, const int64_t *set, int sets, struct effect *out) {
    struct map_view *v = &ui->map;
    memset(v->subject, 0, sizeof v->subject);
    for (int i = 0; i < sets; i++) v->subject[i] = set[i];
    v->subjects = sets;
    v->sets = true;
    begin_anew(v, EFFECT_SETS, 0, false, out);
    ui_show(ui, SCREEN_MAP);
}


/* Moves the cursor of the focused panel, or zooms it by a factor other than 1. */
static void map_move(struct map_view *v, int columns, int rows, double factor) {
    int32_t *labels;
    int at = map_focus(v);
    struct scatter_data points = map_points_of(v, at, &labels);
    if (factor != 1) scatter_zoom(v->glyphs, v->pane[at], &points, &v->look[at], factor);
    else scatter_move(v->glyphs, v->pane[at], &points, &v->look[at], columns, rows);
    free(labels);
}

/* Moves the cursor to an example and shows its class. */
static void map_go(struct map_view *v, int i) {
    int32_t *labels;
    int at = map_focus(v);
    struct scatter_data points = map_points_of(v, at, &labels);
    if (labels[i] >= 0 && labels[i] < SCATTER_CLASSES) v->hidden &= ~(UINT64_C(1) << labels[i]);
    scatter_go(v->glyphs, v->pane[at], &points, &v->look[at], i);
    free(labels);
    v->chosen = i;
    map_changed(v);
}

/* Moves to the next misclassified example, in file order. */
static void next_wrong(struct ui *ui, int by) {
    struct map_view *v = &ui->map;
    const struct map_data *d = &v->data;
    int at = map_focus(v), from = v->chosen < 0 ? 0 : v->chosen;
    const int32_t *predicted = d->panel[at].predicted;
    for (int k = 1; predicted && k <= d->n; k++) {
        int i = ((from + by * k) % d->n + d->n) % d->n, class = d->label[i];
        if (class < 0 || predicted[i] == class) continue;
        map_go(v, i);
        return;
    }
    ui_say(ui, SAY_INFO,
           predicted ? "no misclassified examples"
                     : "no predictions: the pretrained model has no trained head");
}

/* Hides all classes but that of the example under the cursor, or of the line of the legend. */
static void only_class(struct map_view *v) {
    int class = v->class;
    if (v->part < v->data.panels) {
        if (v->chosen < 0) return;
        int32_t *labels = map_labels(v, map_focus(v));
        class = labels[v->chosen];
        free(labels);
    }
    if (class >= 0 && class < SCATTER_CLASSES) v->hidden = ~(UINT64_C(1) << class);
}

enum { LIST_PAGE = 10 };

static bool view_request(struct ui *ui, enum request r) {
    struct map_view *v = &ui->map;
    bool legend = v->part >= v->data.panels;
    int down, right;
    if (v->list || r == REQ_FIRST || r == REQ_LAST) {
        bool moved = map_list_request(v, r, LIST_PAGE);
        if (moved && v->chosen >= 0) map_go(v, v->chosen);
        if (r == REQ_OPEN) v->list = false;
        if (moved || r == REQ_OPEN) return true;
    }
    switch (r) {
    case REQ_MORE: map_move(v, 0, 0, 1.5); break;
    case REQ_LESS: map_move(v, 0, 0, 1 / 1.5); break;
    case REQ_FIT: scatter_look_init(&v->look[map_focus(v)]); break;
    case REQ_NEXT_PART: v->part = (v->part + 1) % (v->data.panels + 1); break;
    case REQ_PREV_PART: v->part = (v->part + v->data.panels) % (v->data.panels + 1); break;
    case REQ_OPEN:
        if (v->many) v->many = false;
        else if (!legend) v->alone = !v->alone;
        else if (v->class < SCATTER_CLASSES) v->hidden ^= UINT64_C(1) << v->class;
        break;
    case REQ_FILTER_CELL: only_class(v); break;
    case REQ_FILTER_CLEAR:
        v->hidden = 0;
        v->region.on = false;
        break;
    case REQ_COLOR:
        v->color = (enum map_color)((v->color + 1) % (v->data.tasks > 1 ? MAP_COLORS : MAP_BY_TASK));
        v->hidden = 0;
        break;
    case REQ_REGION: map_region_turn(v); break;
    case REQ_TEXTS:
        v->list = !v->list;
        v->region.extends = false;
        break;
    case REQ_DESCRIBE: v->whole = !v->whole; return true;
    case REQ_NEXT: next_wrong(ui, 1); return true;
    case REQ_PREV: next_wrong(ui, -1); return true;
    case REQ_BACK:
        if (!v->alone && !v->whole && !v->list && !v->region.on && !v->many) return false;
        if (v->whole) v->whole = false;
        else if (v->list) v->list = false;
        else if (v->region.on) v->region.on = false;
        else if (v->many) v->many = false;
        else v->alone = false;
        break;
    default:
        if (!ui_step(r, 5, &down, &right)) return false;
        if (legend && (r == REQ_UP || r == REQ_DOWN)) v->class = v->class + down < 0 ? 0 : v->class + down;
        else map_move(v, right, down, 1);
    }
    ui_changed(ui);
    return true;
}

bool map_request(struct ui *ui, enum request r, struct effect *out) {
    struct map_view *v = &ui->map;
    if (r == REQ_UNSEEN) {
        ui_command_open(ui, "unseen ", v->unseen);
        return true;
    }
    if (r == REQ_TASKS) {
        inspect_next_task(ui, v->data.run_task_at, v->data.run_tasks, false, out);
        return true;
    }
    if (!v->data.panels || !v->data.n) {
        if (r == REQ_BACK) return false;
        if (r == REQ_TRAINING && v->subjects && !v->sets) {
            out->kind = EFFECT_MAP_TRAINING;
            return true;
        }
        ui_say(ui, SAY_INFO, v->data.busy ? "still computing" : "nothing to show yet");
        return true;
    }
    if (view_request(ui, r)) return true;
    switch (r) {
    case REQ_PAUSE: out->kind = EFFECT_MAP_PLAY; break;
    case REQ_STEP: out->kind = EFFECT_MAP_STEP; break;
    case REQ_REWIND: out->kind = EFFECT_MAP_REWIND; break;
    case REQ_PERPLEXITY_LESS:
    case REQ_PERPLEXITY_MORE:
        out->kind = EFFECT_MAP_PERPLEXITY;
        out->by = r == REQ_PERPLEXITY_LESS ? -1 : 1;
        break;
    case REQ_PAN_LEFT:
    case REQ_PAN_RIGHT:
        out->kind = EFFECT_MAP_LAYER;
        out->by = r == REQ_PAN_LEFT ? -1 : 1;
        break;
    case REQ_TERMS:
        v->many = !v->many;
        if (v->many) out->kind = EFFECT_MAP_SMALL;
        break;
    case REQ_BESIDE:
        if (v->data.retriever) out->kind = EFFECT_MAP_BESIDE;
        else ui_say(ui, SAY_INFO, "no retriever: only runs with a retriever (pha) have its vectors");
        break;
    case REQ_TRAINING:
        if (v->data.training || (v->subjects && !v->sets)) out->kind = EFFECT_MAP_TRAINING;
        else ui_say(ui, SAY_INFO, "no run shown: press 3 to list the runs, and 7 there to map one");
        break;
    case REQ_EARLIER:
    case REQ_LATER:
        if (!v->data.training) ui_say(ui, SAY_INFO, "p plays the embeddings recorded during training");
        else out->kind = EFFECT_MAP_MOMENT;
        out->by = r == REQ_EARLIER ? -1 : 1;
        break;
    default: return false;
    }
    return true;
}
