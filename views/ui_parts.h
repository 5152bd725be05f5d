/* Shared by the files of the interface; not for the app.
 *
 * In ui.c, ui_draw.c, ui_command.c, ui_palette.c, ui_menu.c, ui_mouse.c, and the screens' own files, detail.c
 * among them. */
#ifndef VIEWS_UI_PARTS_H
#define VIEWS_UI_PARTS_H

#include "views/layout.h"
#include "views/ui.h"
#include "views/phrase.h"

/* Returns the panes of a screen at the interface's size, and the rectangle that they share. */
struct panes ui_panes(const struct ui *ui, enum screen_id screen);
struct rect ui_body(const struct ui *ui);
/* What the keys of lists and grids move, in rows and columns, a page being so many rows; far beyond both ends
 * for the first and the last.  false: r moves nothing. */
bool ui_step(enum request r, int page, int *down, int *right);
/* Moves the cursor of a list, 0 to `last`, as they say. */
bool ui_walk(enum request r, int page, int last, int *at);
/* Row y of a list, so many lines below its cursor: clicked, and with the cursor's sign.  Returns whether it
 * is the cursor's. */
bool ui_row(struct canvas *c, struct rect r, int y, int down);
/* The same of a part of the screen, so many Tabs from the one in use; `key` as a zone's. */
bool ui_part_row(struct canvas *c, struct rect r, int y, int part, int down, uint32_t key);
/* Says in place of a screen's data why there is none: that reading it failed, or what brings some. */
void ui_none(struct canvas *c, struct rect body, const char *failed, const char *says);
/* Appends "lines 1–20 of 57" where not all of them are seen in so many rows; whether it did. */
bool ui_lines_seen(int top, int rows, int lines, const char *after, struct buf *out);
/* Of a page of so many rows that is read by scrolling: moves the first row shown.  false: r is no
 * scrolling. */
bool ui_scroll(const struct ui *ui, enum request r, int rows, int *top);
/* A cursor of a list whose last entry is `last` (-1: it is empty, 0 then); the first row shown, so that the
 * cursor's is among `rows`. */
int ui_into(int cursor, int last);
void ui_in_sight(int *top, int cursor, int rows);

/* Opens a question; what was typed ahead is dropped. */
void ui_ask(struct ui *ui, enum ask_kind kind, int64_t run, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Asks whether to stop a run, or says that it is over. */
void ui_ask_stop(struct ui *ui, int64_t run, enum run_state state);
/* What keys ask of a run wherever it is shown; the caller has put it into *out.  false: r is none of that. */
bool ui_run_request(struct ui *ui, enum request r, enum run_state state, const char *method,
                    struct effect *out);
/* out->run[0] on Train. */
void ui_watch(struct ui *ui, struct effect *out);
/* Leaves, asking when runs go. */
void ui_quit(struct ui *ui, struct effect *out);
/* The screens' states from zero and at their end; what the screens do when asked, and draw where it is a file
 * of its own. */
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
/* Train's texts: how many there are at the cursor, and their pane. */
size_t train_texts(const struct train_view *v);
void train_draw_texts(const struct train_view *v, struct canvas *c, struct rect r);
/* Several tasks on Train.  The one in the large charts, NULL: their average, or all at once; and whether it
 * is all. */
const struct series_task *train_task(const struct train_view *v);
bool train_all_tasks(const struct train_view *v);

/* train_axis.c: the curve that the large chart has of a series, in steps; data of the run in focus with x as
 * the look has it (*own: as series_xs); the stretch shown; what keys do to cursor and stretch; to the next x
 * that there is, which is said. */
struct plot_look train_chart_look(
    const struct train_view *v); /* a schedule has no noise: neither smoothed nor cut */
struct plot_data train_chart_of(const struct train_view *v, const struct series *s);
struct plot_data train_over(const struct train_view *v, struct plot_data d, double **own);
const char *train_chart_name(const struct train_view *v); /* NULL: losses */
void train_window(const struct train_view *v, double *from, double *to);
void train_move_cursor(struct train_view *v, int columns);
void train_zoom(struct train_view *v, double by);
void train_pan(struct train_view *v, int direction);
void train_follow(struct train_view *v);
void train_next_x(struct ui *ui);
double train_cursor_x(const struct train_view *v); /* -1: there is none */

/* train_beside.c: several curves in one chart, of the runs overlaid, of all tasks or of all parts of the
 * loss: whether there are; where the longest of the runs ends; the y axes' ranges, of one curve too; their
 * chart; values of runs at an x; the list in place of the jobs; and the runs that Runs has marked. */
bool train_many(const struct train_view *v);
double train_beside_end(const struct train_view *v);
void train_fit(struct train_view *v, const struct plot_span *losses, const struct plot_span *metrics);
void train_fit_many(struct train_view *v);
void train_draw_many(const struct train_view *v, struct canvas *c, struct rect r, struct plot_look look,
                     bool metric);
void train_beside_readout(const struct train_view *v, double x, struct buf *out);
void train_beside_list(const struct train_view *v, struct canvas *c, struct rect r);
void train_overlay(struct ui *ui, const int64_t *run, int runs, struct effect *out);

/* train_terms.c: the part of the loss that is shown, or NULL; whether all are; the next of them; what the key
 * does now; the curve of one; the title of the chart with all, and what they are at a step. */
const struct series_term *train_term(const struct train_view *v);
bool train_all_terms(const struct train_view *v);
void train_next_term(struct train_view *v);
const char *train_terms_hint(const struct train_view *v);
struct plot_data train_term_data(const struct series_term *t);
void train_terms_title(const struct train_view *v, struct buf *out);
void train_terms_readout(const struct train_view *v, double step, struct buf *out);

/* What the large charts are of: the loss and the metric of what is shown (of all: of them together). */
struct plot_data train_loss(const struct train_view *v);
struct plot_data train_metric(const struct train_view *v);
/* To the next: average, each task, all. */
void train_next_task(struct train_view *v);
const char *train_tasks_hint(
    const struct train_view *v); /* what the key does next; NULL: the run has one task */
struct plot_data train_task_data(const struct series_task *t,
                                 bool losses); /* of one task: losses, or evaluations */
void train_draw_tasks(const struct train_view *v, struct canvas *c, struct rect r);
/* The latest values of all, "1 cola 0.41  2 rte 0.57"; at the cursor. */
void train_tasks_readout(const struct train_view *v, struct buf *out);
/* Panes of Map at the interface's size, and what follows from them. */
void map_place(struct ui *ui);
/* Kept sets side by side on Map. */
void map_show_sets(struct ui *ui, const int64_t *set, int sets, struct effect *out);
/* Map and Heatmap (matrices) of a run with several tasks, of which `at` is shown: the next one's rows; what
 * is shown, "beta, task 2 of 3". */
void inspect_next_task(struct ui *ui, int at, int tasks, bool matrices, struct effect *out);
/* The runs that are looked at, with rows of these tasks beside their own ("" : without). */
void inspect_unseen(struct ui *ui, const char *tasks, struct effect *out);
/* As rendered of a screen (screen.h). */
void inspect_rendered(const struct ui *ui, struct buf *out);
void compose_rendered(const struct ui *ui, struct buf *out);
void inspect_task_words(const char *task, int at, int tasks, char out[120]);
/* These runs on Compare. */
void compare_runs(struct ui *ui, const int64_t *run, int runs, struct effect *out);
void compare_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need);
void compare_draw(const struct ui *ui, struct canvas *c, struct rect body);
void compare_readout(const struct ui *ui, struct buf *out);
/* Sweep: its panes' sizes, drawing, what stands above the hints. */
void sweep_need(const struct ui *ui, const struct layout_frame *f, struct layout_need *need);
void sweep_draw(const struct ui *ui, struct canvas *c, struct rect body);
void sweep_readout(const struct ui *ui, struct buf *out);
const char *sweep_options(const char *text); /* a sweep as it is typed, without the words "petri sweep" */
struct phrase sweep_value(const struct sweep_page *p, double x); /* in points where values are */
void sweep_draw_worth(const struct sweep_view *v, struct canvas *c, struct rect r);
void sweep_draw_front(const struct sweep_view *v, struct canvas *c, struct rect r);
void sweep_draw_lines(const struct sweep_view *v, struct canvas *c, struct rect r);
/* A line to be edited; refused where it is too long for the prompt.  What was typed is asked for. */
void sweep_prompt(struct ui *ui, const char *label, const char *text, enum prompt_use use);
void sweep_typed(struct ui *ui, const char *text, bool more, struct effect *out);
/* Marks what the cursor is on for a sweep, or takes the mark away; whether a choice is marked; the options of
 * `petri sweep` for what is marked, or of what is there (caller frees). */
void compose_mark(struct ui *ui);
bool compose_is_marked(const struct compose_view *v, const struct choice *k);
char *compose_sweep_line(const struct compose_view *v);
/* Runs by a column: the groups anew; drawn; where they lead; what stands above the hints. */
void runs_find_groups(struct runs_view *v);
void runs_draw_groups(const struct runs_view *v, struct canvas *c, struct rect r);
bool runs_groups_request(struct ui *ui, enum request r, struct effect *out);
void runs_groups_readout(const struct runs_view *v, struct buf *out);
/* What a column of a run holds, as a filter says it; false: nothing.  Whether best values may be compared. */
bool runs_cell_value(const struct run_row *r, int column, char out[256]);
int runs_by_kind(const struct run_row *a, const struct run_row *b);
/* runs_columns.c: which of the columns that were picked there is room for; those visible from left to right;
 * a line of them to be edited, and what was typed. */
void runs_place_picked(struct runs_view *v);
void runs_order_columns(struct runs_view *v);
void runs_ask_columns(struct ui *ui);
void runs_columns_typed(struct ui *ui, const char *text, struct effect *out);
/* The marked runs where `marked` (without any: the one under the cursor) into out; how many. */
int runs_choose(struct runs_view *v, bool marked, struct effect *out);
/* runs_keep.c: pins, tags and notes; what was typed of them; and deleting for good: begun, asked (the app has
 * counted), the number typed, the answer to the last question. */
void runs_saved_picked(struct ui *ui, struct effect *out); /* of the list of saved filters */
bool runs_keep_request(struct ui *ui, enum request r, struct effect *out);
void runs_keep_typed(struct ui *ui, const char *text, struct effect *out);
void runs_purge(struct ui *ui, struct effect *out);
void runs_purge_typed(struct ui *ui, const char *text);
void runs_purge_answer(struct ui *ui, uint32_t code, struct effect *out);
/* Another filter, which the app is told; one that these runs alone pass. */
void runs_set_filter(struct runs_view *v, const char *text, struct effect *out);
void runs_show_only(struct ui *ui, const int64_t *run, int runs, struct effect *out);
/* To Map or Heatmap, with what the cursor is on where that is a run. */
void inspect_show(struct ui *ui, enum screen_id screen, struct effect *out);
/* Columns that the visible ones leave to method and task together, and what these should have. */
enum { RUNS_NAMES = 22 };
int runs_rest(const struct runs_view *v);
extern const char *const runs_column_name[COL_COUNT]; /* as filters and sorting call them */
/* A column: how wide (0: method and task share what is left), and what it shows of a run, or of its result in
 * a task. */
struct runs_column {
    int width;
    bool right;
    enum { HOLDS_TEXT, HOLDS_WHOLE, HOLDS_REAL, HOLDS_STATE, HOLDS_SEED, HOLDS_RESULT } kind;
    size_t offset;
    const char *task; /* NULL: of no task */
};
struct runs_column runs_column_at(const struct runs_view *v, int column);
/* Sorts by a column, or a task's; where that was so, the other way round. */
void runs_sort(struct runs_view *v, int column);
/* A column a task: their names from the rows shown, those that fit; and the row's result in such a column,
 * NULL without, or of another. */
void runs_name_tasks(struct runs_view *v);
void runs_place_tasks(struct runs_view *v);
const struct task_row *runs_task_at(const struct runs_view *v, const struct run_row *r, int column);
/* Keeps the column under the cursor in sight. */
void runs_show_column(struct runs_view *v);
const char *runs_tasks_hint(
    const struct runs_view *v); /* what the key does; NULL: no run shown has several tasks */
/* "mrpc accuracy 0.744 @ 240, majority 0.684, 408 dev rows" */
void runs_task_words(const struct task_row *t, struct buf *out);
/* A run in a few lines, for the pane beside the table; returns the rows used. */
int runs_summary(struct canvas *c, struct rect r, const struct run_row *row);
/* What looks wrong about a run, one sentence, or "". */
enum { RUN_FLAG = 900 }; /* holds a whole reason */
void run_flag(const struct run_row *row, char out[RUN_FLAG]);
/* Whether the run can be gone on with or trained again; else that is said. */
bool runs_can_go(struct ui *ui, const struct run_row *row);

/* What the key that runs it again is called: "resume", or `hint`; NULL: it cannot. */
const char *runs_again_hint(const struct ui *ui, const struct run_row *row, const char *hint);
/* What a method is, for Help. */
extern const char method_about[];

/* Opens the command prompt with a command and its words, to be changed. */
void ui_command_open(struct ui *ui, const char *command, const char *words);
/* Carries out a line of the command prompt. */
void ui_command(struct ui *ui, const char *line, struct effect *out);
/* ui_menu.c: the list of what works here now, and what was chosen in it; the answer to a press that asks for
 * nothing; what the hint of a key says here and now, NULL: not shown. */
void ui_menu_open(struct ui *ui);
void ui_menu_take(struct ui *ui, struct effect *out);
void ui_answer(struct ui *ui, const struct press *p, enum request r);
/* What moves or fits leaves all as it is, at its end, without a word. */
bool ui_moves(enum request r);
const char *ui_hint(const struct ui *ui, const struct key_entry *k);
/* A click: a step of the charts; what Compose draws, of these picks. */
enum {
    PICK_CHOICE = 1,
    PICK_CELL = 10000 /* a module, and the first axis of a column of its table */,
    PICK_PART = 20000,
    PICK_OPTION_AT = 30000,
    PICK_PRESET_AT = 40000,
    PICK_AXES = 64
};
void compose_pick(struct ui *ui, int pick, struct effect *out);
/* Train's rows, jobs or runs that lie over one another; Compare's curves, each of a group; Sweep's lines,
 * each of a cell. */
enum { PICK_RUN = 1, PICK_GROUP = 1, PICK_TILE = 1 };
void train_pick(struct ui *ui, int pick, struct effect *out);
bool train_point(struct ui *ui, int x, int y, struct effect *out);
/* What the screens' commands are followed by. */
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
/* Command i of the screens; false: there are no more. */
bool ui_command_at(int i, const char **name, const char **help);
/* What the screens do with a line; NULL: it is none of theirs. */
const char *ui_command_of(const char *line, enum command_takes *takes);
/* ui_palette.c: offers anew after the line has changed; the cursor's word into the line (Tab); a press in the
 * list: false, it is none. */
void ui_palette_changed(struct ui *ui);
void ui_palette_take(struct ui *ui);
bool ui_palette_press(struct ui *ui, const struct press *p);
/* The page was searched for page.search. */
void page_searched(struct ui *ui);
/* Sweep's list anew, and the one that is open. */
void sweep_show_list(struct ui *ui, struct effect *out);
/* Where a change gave Compose other rows, the app is asked for what is known of them. */
void compose_tell_rows(struct ui *ui, struct effect *out);
/* Opens the list of published methods. */
void compose_presets(struct ui *ui);

/* One column: how a run stands. */
const char *state_sign(enum run_state s);
enum ink state_ink(enum run_state s);

#endif
