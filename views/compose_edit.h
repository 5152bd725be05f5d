/* Editing the method from the keyboard: axes, choices, number fields.  Shared by the
 * files of Compose and the interface; not for the app.
 *
 * In compose_edit.c, compose_undo.c, compose_fits.c, compose_modules.c, compose_choose.c (axes),
 * compose_reach.c, compose_find.c (lists to choose from), compose_network.c (generator, retriever),
 * compose_option.c and compose_draw_options.c (the run's options), compose_sweep.c (marks for a sweep),
 * compose_draw.c, compose_draw_method.c,
 * compose_draw_wide.c and formula.c. */
#ifndef VIEWS_COMPOSE_EDIT_H
#define VIEWS_COMPOSE_EDIT_H

#include "core/method/network.h"
#include "views/compose.h"
#include "views/phrase.h"

struct ui;
enum { FIELD_ROOM = 512 }; /* bytes of a typed value */

int axis_count(void);
const char *axis_name(enum axis a);
/* Returns the field of the axis in this module (may be NULL for a name); NULL: not a field. */
const struct key *axis_key(const struct module *m, enum axis a);
/* Return the short name of an option, its shown value, its description, and whether it is always shown. */
const char *option_name(const struct compose_view *v, int i);
struct phrase option_value(const struct compose_view *v, int i);
struct phrase option_says(const struct compose_view *v, int i);
bool compose_option_shown(const struct compose_view *v, int i);
/* Return the group of an option, and whether it is hidden because its group is folded. */
enum option_group compose_option_group(const struct compose_view *v, int i);
bool compose_option_folded(const struct compose_view *v, int i);
/* Sets "1,2,3" as the seeds of several runs; false: not a list, with the reason in why. */
bool compose_seeds(struct compose_view *v, const char *text, char why[200]);
/* Draw all options by group in r; the learning rate schedule in r. */
void compose_draw_options(const struct compose_view *v, struct canvas *c, struct rect r);
void compose_draw_schedule(const struct compose_view *v, struct canvas *c, struct rect r);
/* Draw the table of modules, and the list of methods at the side. */
void compose_draw_method(const struct compose_view *v, struct canvas *c, struct rect r);
void compose_draw_presets(const struct compose_view *v, struct canvas *c, struct rect r);
/* On a large window: return the rows of, and draw, the other axes of the module, notes and the nearest
 * methods. */
int compose_all_axes(const struct compose_view *v, int w);
void compose_draw_all_axes(const struct compose_view *v, struct canvas *c, struct rect r);
/* compose_find.c: writes the indices of the presets in the order of their families; returns their number. */
int compose_by_family(int order[COMPOSE_PRESETS]);
enum { SIDE_COLUMNS = 70 }; /* width from which the list of methods has two columns */
/* Returns whether the cursor is on an option of the schedule. */
bool compose_on_schedule(const struct compose_view *v);
/* compose_fits.c: returns the planned steps of a run; 0: the data set is unknown, or the run has stages. */
int64_t compose_steps(const struct compose_view *v, const struct run_config *c);
/* Checks that the settings are compatible, as for every run (config_fits); ERR_USAGE with the reason. */
int compose_fits(const struct compose_view *v, const struct run_config *c, struct err *e);
/* Writes the next value of option i for j or k, skipping incompatible ones, and the reason of the first
 * skipped one in why ("": none).  Returns false if no other value exists. */
bool compose_option_next(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM], char why[240]);
/* Finds the options without another compatible value (v->stuck), while the cursor is among them. */
void compose_find_stuck(struct compose_view *v);
/* compose_modules.c: copy the module under the cursor; move it by places; switch it off or on; delete it. */
void compose_copy_module(struct ui *ui);
/* Adds a module before the one at this index, after a question if the method has the same module already. */
void compose_add(struct ui *ui, const struct module *new, int at);
void compose_move_module(struct ui *ui, int by);
void compose_switch(struct ui *ui);
void compose_forget_off(struct ui *ui);
/* Sets a typed value; false with the reason.  Tasks, their weights and the sampling are parsed
 * immediately. */
bool option_enter(struct run_config *c, const char *name, const char *text, char why[200]);
/* Writes the next value for j or k without checking it. */
void option_step(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM]);
double next_double(double value, bool up); /* the next power of two */
/* Returns whether the module has the axis (no activation without a bottleneck).  `arch` may be NULL;
 * stack and site are axes of models with a decoder. */
bool axis_applies(const struct module *m, const struct arch *arch, enum axis a);
/* Returns the same for the module under the cursor and the current run: `learn` only applies to
 * meta-learning runs. */
bool compose_axis_applies(const struct compose_view *v, enum axis a);
/* Return the number of networks of the method, one of them, the one under the cursor (NULL: none), and its
 * key under the cursor; whether the cursor is on the options of the run. */
int compose_networks(const struct compose_view *v);
const struct network *compose_network_at(const struct compose_view *v, int at);
const struct network *compose_network(const struct compose_view *v);
const struct key *compose_network_key(const struct compose_view *v);
bool compose_on_run(const struct compose_view *v);
/* Returns the index of the switched-off module under the cursor; below 0: none. */
int compose_on_off(const struct compose_view *v);
/* Draw the lines of all networks in the diagram (returns their number); list the keys after the cursor. */
int compose_draw_networks(const struct compose_view *v, struct canvas *c, struct rect r);
void network_keys_ahead(const struct compose_view *v, char out[120]);
/* For the key under the cursor: list its words in v->choices; set a typed value, false with the reason;
 * write the next value for j or k. */
void network_list(struct compose_view *v);
bool network_enter(const struct compose_view *v, const char *text, struct method *m, char why[200]);
void network_step(const struct compose_view *v, bool up, char out[64]);
/* Returns the number of outputs of the head in a plan. */
int compose_outputs(const struct compose_view *v);
/* Returns the plan of the method on the current model; plan_free. */
struct plan *compose_plan(const struct compose_view *v, struct err *e);
/* Returns whether the field under the cursor is a typed number. */
bool compose_on_number(const struct compose_view *v);
/* Writes the name and value of the field as text. */
void compose_field(const struct compose_view *v, char label[32], char value[FIELD_ROOM]);
/* Sets the field under the cursor to the typed text; false with the reason. */
bool compose_edit(struct compose_view *v, const char *text, char why[200]);
void compose_take_preset(struct compose_view *v, const char *name);

/* Fills v->choices for the axis under the cursor (nothing for numbers). */
void compose_list(struct compose_view *v);
/* Writes the method with this choice taken, in all modules that the edit changes. */
void compose_choose(const struct compose_view *v, const struct choice *k, struct method *out);

/* compose_reach.c: returns the number of modules with the function of the one under the cursor, itself
 * included; 0: the cursor is on no module. */
int compose_kind(const struct compose_view *v);
/* Returns whether an edit of the axis under the cursor changes this module. */
bool compose_reaches(const struct compose_view *v, int module);
/* Writes " of modules 1, 2 (*: only this)", or nothing if no other module has the function. */
struct phrase compose_reach_words(const struct compose_view *v);
/* Changes whether edits apply to all modules of the function, with a message. */
void compose_turn_reach(struct ui *ui);
/* Fills v->row with the options that apply to the current config. */
void compose_list_options(struct compose_view *v);
/* Returns the value of an axis of a module, as shown in the table. */
struct phrase axis_value(const struct module *m, enum axis a);
/* Returns the site of a module in words: "attn q", "cross q", "ffn out", "all biases". */
struct phrase site_words(const struct module *m);

/* compose_undo.c: saves the current state for undo before a change; `by` as in compose_state. */
void compose_push(struct compose_view *v, const char *by);
/* Undoes or redoes the last edit and writes its changes; false: nothing to undo or redo. */
bool compose_undo(struct compose_view *v, bool redo, struct buf *said);
/* Marks the data set as changed if the model or data differ from `was`. */
void compose_rows_changed(struct compose_view *v, const struct run_config *was);

/* Write Δh of a module on a model (NULL: none chosen), and its composition, in the notation of the field;
 * sub: "₁", "₁,₂". */
void formula_delta(const struct module *m, const struct arch *a, const char *sub, char out[160]);
void formula_compose(const struct module *m, const char *sub, char out[160]);

#endif
