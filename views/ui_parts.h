/* Shared by the files of the interface; not for the app.
 *
 * In ui.c, ui_draw.c, ui_command.c, ui_palette.c, ui_menu.c, ui_mouse.c, and the screens' own files, detail.c
 * among them. */
#ifndef VIEWS_UI_PARTS_H
#define VIEWS_UI_PARTS_H

#include "views/layout.h"
#include "views/ui.h"
#include "views/phrase.h"

struct sheet;

/* Return the panes of a screen at the size of the interface, and the rectangle that they divide. */
struct panes ui_panes(const struct ui *ui, enum screen_id screen);
struct rect ui_body(const struct ui *ui);
/* Writes the rows and columns that a key moves in lists and grids, with `page` rows per page; far beyond both
 * ends for first and last.  Returns false if r is not a move. */
bool ui_step(enum request r, int page, int *down, int *right);
/* Moves the cursor of a list, 0 to `last`, by the request; false if r is not a move. */
bool ui_walk(enum request r, int page, int last, int *at);
/* Adds the zone and the cursor sign of row y of a list, `down` lines below its cursor.  Returns whether the
 * row has the cursor. */
bool ui_row(struct canvas *c, struct rect r, int y, int down);
/* Does the same in a part of the screen, `part` Tabs from the current one; `key` as in struct zone. */
bool ui_part_row(struct canvas *c, struct rect r, int y, int part, int down, uint32_t key);
/* Shows the texts of the screen that are cut off, until the next press. */
void ui_show_whole(struct ui *ui);
/* Wraps the lines (NULL: none) below the title of a pane, number `strong` set off, in as many rows as it has;
 * c NULL draws nothing.  Returns their rows. */
int ui_lines(struct canvas *c, struct rect r, const char *const *line, int lines, int strong);
/* Replaces each of the lines `longest` that is shorter than its one of `line`. */
void ui_longest(const char **longest, const char *const *line, int lines);
/* Draws the reason for missing data: the error, or the keys that provide data. */
void ui_none(struct canvas *c, struct rect body, const char *failed, const char *says);
/* Appends "lines 1–20 of 57" if the lines exceed `rows`; returns whether it did. */
bool ui_lines_seen(int top, int rows, int lines, const char *after, struct buf *out);
/* Scrolls a page of `rows` rows by moving the first shown row.  Returns false if r does not scroll. */
bool ui_scroll(const struct ui *ui, enum request r, int rows, int *top);
/* Opens the line that narrows the open list by typing, with what is typed already. */
void ui_find(struct ui *ui, const char *typed);
/* Clamps a cursor to a list with the last entry `last` (-1: empty list, returns 0); adjusts the first shown
 * row so that the cursor is within `rows`. */
int ui_into(int cursor, int last);
void ui_in_sight(int *top, int cursor, int rows);

/* Opens a question and drops keys typed before it. */
void ui_ask(struct ui *ui, enum ask_kind kind, int64_t run, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Asks whether to stop a run, or reports that it has finished. */
void ui_ask_stop(struct ui *ui, int64_t run, enum run_state state);
/* Handles the requests of a run on any screen; the caller has stored the run in *out.  Returns false if r is
 * another request. */
bool ui_run_request(struct ui *ui, enum request r, enum run_state state, struct effect *out);
/* Shows out->run[0] on Train. */
void ui_watch(struct ui *ui, struct effect *out);
/* Quits, after a question if runs are training. */
void ui_quit(struct ui *ui, struct effect *out);
/* Initialize and release the states of screens; handle their requests. */
void train_init(struct ui *ui);
void runs_init(struct ui *ui);
void runs_release(struct ui *ui);
void map_init(struct ui *ui);
void compose_init(struct ui *ui);
void compose_release(struct ui *ui);
bool train_request(struct ui *ui, enum request r, struct effect *out);
bool runs_request(struct ui *ui, enum request r, struct effect *out);
bool compose_request(struct ui *ui, enum request r, struct effect *out);
bool map_request(struct ui *ui, enum request r, struct effect *out);
void train_taught(struct ui *ui, const int64_t *run, int runs, struct effect *out);
/* Return the number of generated texts at the cursor of Train, and draw their pane. */
size_t train_texts(const struct train_view *v);
void train_draw_texts(const struct train_view *v, struct canvas *c, struct rect r);
/* Return the task of the large charts of Train (NULL: the average, or all tasks), and whether all are
 * shown. */
const struct series_task *train_task(const struct train_view *v);
bool train_all_tasks(const struct train_view *v);

/* train_axis.c: the curve of the large chart of a series, in steps; data of the focused run over the chosen
 * x (*own: as series_xs); the shown range; moves of cursor and range; the next available x axis, with a
 * message. */
struct plot_look train_chart_look(
    const struct train_view *v); /* a schedule has no noise: neither smoothed nor clipped */
struct plot_data train_chart_of(const struct train_view *v, const struct series *s);
struct plot_data train_over(const struct train_view *v, struct plot_data d, double **own);
const char *train_chart_name(const struct train_view *v); /* NULL: losses */
void train_window(const struct train_view *v, double *from, double *to);
void train_move_cursor(struct train_view *v, int columns);
void train_zoom(struct train_view *v, double by);
void train_pan(struct train_view *v, int direction);
void train_follow(struct train_view *v);
void train_next_x(struct ui *ui);
double train_cursor_x(const struct train_view *v); /* -1: none */

/* train_beside.c: several curves in one chart, of overlaid runs, of all tasks or of all loss components:
 * whether there are several; the end of the longest run; the ranges of the y axes, also of one curve; their
 * chart; values of runs at an x; the list shown instead of the jobs; overlaying the runs marked in Runs. */
bool train_many(const struct train_view *v);
double train_beside_end(const struct train_view *v);
void train_fit(struct train_view *v, const struct plot_span *losses, const struct plot_span *metrics);
void train_fit_many(struct train_view *v);
void train_draw_many(const struct train_view *v, struct canvas *c, struct rect r, struct plot_look look,
                     bool metric);
void train_beside_readout(const struct train_view *v, double x, struct buf *out);
void train_beside_list(const struct train_view *v, struct canvas *c, struct rect r);
void train_overlay(struct ui *ui, const int64_t *run, int runs, struct effect *out);

/* train_terms.c: the shown loss component, or NULL; whether all are shown; the next one; the hint of the key;
 * the curve of one; the title of the chart of all, and their values at a step. */
const struct series_term *train_term(const struct train_view *v);
bool train_all_terms(const struct train_view *v);
void train_next_term(struct train_view *v);
const char *train_terms_hint(const struct train_view *v);
struct plot_data train_term_data(const struct series_term *t);
void train_terms_title(const struct train_view *v, struct buf *out);
void train_terms_readout(const struct train_view *v, double step, struct buf *out);

/* Return the data of the large charts: loss and metric of the shown task (all: of all tasks together). */
struct plot_data train_loss(const struct train_view *v);
struct plot_data train_metric(const struct train_view *v);
/* Shows the next of: average, each task, all tasks. */
void train_next_task(struct train_view *v);
const char *train_tasks_hint(
    const struct train_view *v); /* the hint of the key; NULL: single-task run */
struct plot_data train_task_data(const struct series_task *t,
                                 bool losses); /* of one task: losses, or evaluations */
void train_draw_tasks(const struct train_view *v, struct canvas *c, struct rect r);
/* Appends the values of all tasks at the cursor, "1 cola 0.41  2 rte 0.57". */
void train_tasks_readout(const struct train_view *v, struct buf *out);
/* Computes the panes of Map at the size of the interface. */
void map_place(struct ui *ui);
/* Shows embedding sets side by side on Map. */
void map_show_sets(struct ui *ui, const int64_t *set, int sets, struct effect *out);
/* Shows the examples of the next task on Map or Heatmap (`matrices`) of a multi-task run, after task `at`. */
void inspect_next_task(struct ui *ui, int at, int tasks, bool matrices, struct effect *out);
/* Adds examples of these tasks to those of the shown runs ("": none). */
void inspect_unseen(struct ui *ui, const char *tasks, struct effect *out);
/* Implement `rendered` (screen.h). */
void inspect_rendered(const struct ui *ui, struct buf *out);
void compose_rendered(const struct ui *ui, struct buf *out);
void inspect_task_words(const char *task, int at, int tasks, char out[120]);
/* Draws what `write` writes in full over r, at its top or bottom, away from row y. */
void inspect_card(struct canvas *c, struct rect r, int y, void (*write)(const struct ui *ui, struct sheet *s),
                  const struct ui *ui);
/* Shows these runs on Compare. */
void compare_runs(struct ui *ui, const int64_t *run, int runs, struct effect *out);
void compare_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need);
void compare_draw(const struct ui *ui, struct canvas *c, struct rect body);
void compare_readout(const struct ui *ui, struct buf *out);
/* Returns the rows for main effects at the bottom of the pane of settings. */
int compare_effect_rows(const struct compare_view *v, struct rect r);
/* Sweep: sizes of its panes, drawing, the line above the hints. */
void sweep_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need);
void sweep_draw(const struct ui *ui, struct canvas *c, struct rect body);
void sweep_readout(const struct ui *ui, struct buf *out);
const char *sweep_options(const char *text); /* the command line of a sweep without "petri sweep" */
struct phrase sweep_value(const struct sweep_page *p, double x); /* ×100 if values are shares */
void sweep_draw_effects(const struct sweep_view *v, struct canvas *c, struct rect r);
void sweep_draw_front(const struct sweep_view *v, struct canvas *c, struct rect r);
void sweep_draw_lines(const struct sweep_view *v, struct canvas *c, struct rect r);
/* Opens a line for editing, unless it is too long for the prompt; starts or extends the typed sweep. */
void sweep_prompt(struct ui *ui, const char *label, const char *text, enum prompt_use use);
void sweep_typed(struct ui *ui, const char *text, bool more, struct effect *out);
/* Mark or unmark the item under the cursor for a sweep; return whether a choice is marked; return the
 * options of `petri sweep` for the marked choices, or for the current method (caller frees). */
void compose_mark(struct ui *ui);
bool compose_is_marked(const struct compose_view *v, const struct choice *k);
char *compose_sweep_line(const struct compose_view *v);
/* Runs grouped by a column: compute the groups; draw them, and the runs of the one under the cursor in the
 * pane next to them; handle requests; the line above the hints. */
void runs_find_groups(struct runs_view *v);
void runs_group_summary(const struct runs_view *v, struct canvas *c, struct rect r);
void runs_draw_groups(const struct runs_view *v, struct canvas *c, struct rect r);
bool runs_groups_request(struct ui *ui, enum request r, struct effect *out);
void runs_groups_readout(const struct runs_view *v, struct buf *out);
/* Writes the value of a column in the syntax of filters; false: empty.  Orders runs by whether their best
 * values are comparable, 0: they are. */
bool runs_cell_value(const struct run_row *r, int column, char out[256]);
int runs_by_kind(const struct run_row *a, const struct run_row *b);
/* runs_columns.c: order the columns from left to right; compute the widths of method and task; scroll to the
 * column under the cursor; the places of those in sight. */
struct column_places {
    int x[COL_COUNT + RUNS_TASKS], w[COL_COUNT + RUNS_TASKS]; /* w 0: out of sight */
    bool more_left, more_right;
};
void runs_order_columns(struct runs_view *v);
void runs_size_columns(struct runs_view *v);
void runs_show_column(struct runs_view *v);
void runs_place(const struct runs_view *v, struct column_places *out);
/* Handles requests about columns; adds the picked column; opens a line of the columns for editing, and
 * applies it. */
bool runs_columns_request(struct ui *ui, enum request r, struct effect *out);
void runs_column_picked(struct ui *ui, struct effect *out);
void runs_ask_columns(struct ui *ui);
void runs_columns_typed(struct ui *ui, const char *text, struct effect *out);
/* Stores the marked runs if `marked`, else or without any the run under the cursor, in out; returns the
 * number. */
int runs_choose(struct runs_view *v, bool marked, struct effect *out);
void runs_saved_picked(struct ui *ui, struct effect *out); /* from the list of saved filters */
/* runs_keep.c: pins, tags, notes and names, and the typed text; permanent deletion: the request, the typed
 * number, the answer to the last question. */
bool runs_keep_request(struct ui *ui, enum request r, struct effect *out);
void runs_keep_typed(struct ui *ui, const char *text, struct effect *out);
void runs_purge(struct ui *ui, struct effect *out);
void runs_purge_typed(struct ui *ui, const char *text);
void runs_purge_answer(struct ui *ui, uint32_t code, struct effect *out);
/* runs_filter.c: return whether a run matches the filter; set a filter and notify the app; remove all
 * restrictions; list only these runs, with a description, on Runs; add the value under the cursor to the
 * filter. */
bool runs_are_listed(const struct runs_view *v, const struct run_row *r);
void runs_set_filter(struct runs_view *v, const char *text, struct effect *out);
void runs_list_all(struct runs_view *v, struct effect *out);
void runs_show_only(struct ui *ui, const int64_t *run, int runs, const char *what, struct effect *out);
void runs_filter_cell(struct ui *ui, struct effect *out);
/* Count the seeds of the restricted runs; append "lora(r=2), 3 seeds"; return the filter of the command line
 * that lists the same runs (caller frees). */
void runs_count_seeds(struct runs_view *v);
void runs_only_words(const struct runs_view *v, struct buf *out);
char *runs_filter_text(const struct runs_view *v);
/* The prompt of the filter: opens it empty; handles Up and Down, which show earlier filters (false: another
 * press); ends it, canceled: with the filter from before. */
void runs_filter_open(struct ui *ui);
bool runs_filter_press(struct ui *ui, const struct press *p, struct effect *out);
void runs_filter_done(struct ui *ui, bool canceled, struct effect *out);
/* Opens Map or Heatmap, for the run under the cursor if there is one. */
void inspect_show(struct ui *ui, enum screen_id screen, struct effect *out);
extern const char *const runs_column_name[COL_COUNT]; /* names in filters and sorting */
/* Returns the column with this name or alias of n bytes; COL_COUNT if there is none. */
int runs_column_by_name(const char *name, size_t n);
/* A column: its width (0: method and task share the rest), and the member of a run, or of its result on a
 * task, that it shows. */
struct runs_column {
    int width;
    bool right;
    enum { HOLDS_TEXT, HOLDS_WHOLE, HOLDS_REAL, HOLDS_STATE, HOLDS_SEED, HOLDS_RESULT } kind;
    size_t offset;
    const char *task; /* NULL: not of a task */
    const char *alias; /* its name in older databases and filters; NULL: none */
};
struct runs_column runs_column_at(const struct runs_view *v, int column);
/* Return the heading of a column, and the text of a cell. */
const char *runs_column_title(const struct runs_view *v, int column);
struct phrase runs_cell_text(const struct runs_view *v, const struct run_row *r, int column);
/* Sorts by a column, also of a task; if already sorted by it, reverses the order. */
void runs_sort(struct runs_view *v, int column);
/* Columns of tasks: collect their names from the shown runs; return the result of a run in such a column, or
 * NULL. */
void runs_name_tasks(struct runs_view *v);
const struct task_row *runs_task_at(const struct runs_view *v, const struct run_row *r, int column);
const char *runs_tasks_hint(
    const struct runs_view *v); /* the hint of the key; NULL: only single-task runs are shown */
/* Appends "mrpc accuracy 0.744 @ 240, majority 0.684, 408 examples". */
void runs_task_words(const struct task_row *t, struct buf *out);
struct sheet;
/* detail_scores.c: puts the predictions of the run on its page, or how to request them. */
void detail_put_scores(struct sheet *p, const struct detail_view *v);
/* Draws a summary of a run for the pane next to the table; returns the rows used. */
int runs_summary(struct canvas *c, struct rect r, const struct run_row *row);
/* Writes a diagnostic of a run in one sentence, or "". */
enum { RUN_FLAG = 900 }; /* holds a whole reason */
void run_flag(const struct run_row *row, char out[RUN_FLAG]);
/* Requests that a run is resumed or trained again, or shows why it cannot be. */
void runs_again(struct ui *ui, const struct run_row *row, struct effect *out);

/* Returns the hint of the key that runs it again: "resume", or `hint`; NULL: not possible. */
const char *runs_again_hint(const struct ui *ui, const struct run_row *row, const char *hint);
/* The description of a method, for Help. */
extern const char method_about[];

/* Sends a typed message of Talk; `again`: instead of the last one. */
void talk_typed(struct ui *ui, const char *text, bool again, struct effect *out);
/* Opens the command prompt with a command and its words for editing. */
void ui_command_open(struct ui *ui, const char *command, const char *words);
/* Executes a line of the command prompt. */
void ui_command(struct ui *ui, const char *line, struct effect *out);
/* ui_menu.c: open the list of available actions; run the chosen one; answer a press without an action;
 * return the current hint of a key, NULL: not shown. */
void ui_menu_open(struct ui *ui);
void ui_menu_take(struct ui *ui, struct effect *out);
void ui_answer(struct ui *ui, const struct press *p, enum request r);
/* Returns whether the request is a move or fit, which may have no effect without a message. */
bool ui_moves(enum request r);
const char *ui_hint(const struct ui *ui, const struct key_entry *k);
/* Clicks on items of Compose, by these picks. */
enum {
    PICK_CHOICE = 1,
    PICK_CELL = 10000 /* a module, and the first axis of a column of its table */,
    PICK_PART = 20000,
    PICK_OPTION_AT = 30000,
    PICK_PRESET_AT = 40000,
    PICK_AXES = 64
};
void compose_pick(struct ui *ui, int pick, struct effect *out);
/* Clicks on the jobs or overlaid runs of Train, on the curves of groups and the tabs of Compare, on the lines
 * of cells of Sweep. */
enum { PICK_RUN = 1, PICK_GROUP = 1, PICK_TAB = 10000, PICK_TILE = 1 };
void train_pick(struct ui *ui, int pick, struct effect *out);
bool train_point(struct ui *ui, int x, int y, struct effect *out);
/* The arguments of a command of the screens. */
enum command_takes {
    TAKES_NOTHING,
    TAKES_METHOD,
    TAKES_MODEL,
    TAKES_TASK,
    TAKES_FILTER,
    TAKES_RUN,
    TAKES_RUNS,
    TAKES_SWEEP,
    TAKES_FORM,
    TAKES_SETS,
    TAKES_COLUMN,
    TAKES_SCREEN,
    TAKES_SETTING
};
/* Writes command i of the screens; false: past the end. */
bool ui_command_at(int i, const char **name, const char **help);
/* Returns the description of a line of the screens; NULL: not a command of the screens. */
const char *ui_command_of(const char *line, enum command_takes *takes);
/* ui_palette.c: recompute the completions after the line has changed; insert the word under the cursor (Tab);
 * handle a press in the list, false: not handled. */
void ui_palette_changed(struct ui *ui);
void ui_palette_take(struct ui *ui);
bool ui_palette_press(struct ui *ui, const struct press *p);
/* Scrolls the page to the first match of page.search. */
void page_searched(struct ui *ui);
/* Requests the list of sweeps and the open sweep again. */
void sweep_show_list(struct ui *ui, struct effect *out);
/* Asks the app for the facts of the data set if a change in Compose replaced it. */
void compose_tell_rows(struct ui *ui, struct effect *out);
/* Open the list of methods; the list of axes and options, to go to one by typing. */
void compose_presets(struct ui *ui);
void compose_find(struct ui *ui);
/* Answers the question ASK_MEMORY. */
void compose_force(struct ui *ui, bool yes, struct effect *out);
/* Adds the module of the question ASK_COPY. */
void compose_add_copy(struct ui *ui);
/* Moves the cursor to a place of that list. */
void compose_go_to(struct compose_view *v, int tag);

/* Return the sign of a state, one column wide, and its ink. */
const char *state_sign(enum run_state s);
enum ink state_ink(enum run_state s);

#endif
