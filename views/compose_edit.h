/* Changing the method from the keyboard: axes, choices, number fields.  Shared by the
 * files of Compose and the interface; not for the app.
 *
 * In compose_edit.c, compose_undo.c, compose_fits.c, compose_modules.c, compose_choose.c (axes),
 * compose_network.c (generator, retriever), compose_option.c and compose_draw_options.c (the run's options),
 * compose_sweep.c (marks for a sweep), compose_draw.c, compose_draw_wide.c and formula.c. */
#ifndef VIEWS_COMPOSE_EDIT_H
#define VIEWS_COMPOSE_EDIT_H

#include "core/method/network.h"
#include "views/compose.h"
#include "views/phrase.h"

struct ui;
enum { FIELD_ROOM = 512 }; /* bytes of a field's value as it is typed */

int axis_count(void);
const char *axis_name(enum axis a);
/* The field that the axis is, in this module (which may be NULL for a name); NULL: it is none. */
const struct key *axis_key(const struct module *m, enum axis a);
/* An option's short name, its value as shown, what it is, and whether it is among those shown at first
 * glance. */
const char *option_name(const struct compose_view *v, int i);
struct phrase option_value(const struct compose_view *v, int i);
struct phrase option_says(const struct compose_view *v, int i);
bool compose_option_shown(const struct compose_view *v, int i);
/* Options by group: which one, its title, whether it is hidden with its group. */
enum option_group compose_option_group(const struct compose_view *v, int i);
bool compose_option_folded(const struct compose_view *v, int i);
/* Takes "1,2,3" as the seeds of several runs; false: it is no list.  What is wrong with it is in why. */
bool compose_seeds(struct compose_view *v, const char *text, char why[200]);
/* All options by group in r, the schedule of the rate in r. */
void compose_draw_options(const struct compose_view *v, struct canvas *c, struct rect r);
void compose_draw_schedule(const struct compose_view *v, struct canvas *c, struct rect r);
/* On a large window: the module's other axes, the rules that have a say, the methods that are nearest. */
void compose_draw_all_axes(const struct compose_view *v, struct canvas *c, struct rect r);
/* Whether the cursor is on what the schedule is made of. */
bool compose_on_schedule(const struct compose_view *v);
/* compose_fits.c: planned steps of a run so, 0: the rows are not known, or each of its stages has its own. */
int64_t compose_steps(const struct compose_view *v, const struct run_config *c);
/* Whether what is asked for goes together, by the check that every run passes (config_fits); ERR_USAGE with
 * the reason. */
int compose_fits(const struct compose_view *v, const struct run_config *c, struct err *e);
/* The value of option i that j or k goes to, past those that do not go with the rest: why the first of these
 * does not is in why, "" where there was none.  false: there is no other. */
bool compose_option_next(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM], char why[240]);
/* Finds for each option whether neither key leads anywhere (v->stuck), while the cursor is among them. */
void compose_find_stuck(struct compose_view *v);
/* compose_modules.c: a copy behind the module under the cursor; by places earlier or later; off, or on
 * again. */
void compose_copy_module(struct ui *ui);
void compose_move_module(struct ui *ui, int by);
void compose_switch(struct ui *ui);
void compose_forget_off(struct ui *ui);
/* Takes a value as it is typed; false with the reason.  Tasks, their weights and the sampling are read at
 * once. */
bool option_enter(struct run_config *c, const char *name, const char *text, char why[200]);
/* The value that a step of j or k is, whatever becomes of it. */
void option_step(const struct compose_view *v, int i, bool up, char out[FIELD_ROOM]);
double next_double(double value, bool up); /* the next power of two */
/* An axis that the module has (no activation without a bottleneck).  `arch` may be NULL;
 * stack and site are axes of models with a decoder. */
bool axis_applies(const struct module *m, const struct arch *arch, enum axis a);
/* The same of the module under the cursor, and whether the run has a say on it: who learns it is of runs over
 * episodes. */
bool compose_axis_applies(const struct compose_view *v, enum axis a);
/* The method's networks that are there: how many, one of them, the one under the cursor (NULL: it is
 * elsewhere), and its key there; whether the cursor is on the run's options. */
int compose_networks(const struct compose_view *v);
const struct network *compose_network_at(const struct compose_view *v, int at);
const struct network *compose_network(const struct compose_view *v);
const struct key *compose_network_key(const struct compose_view *v);
bool compose_on_run(const struct compose_view *v);
/* Of the modules that are off the one under the cursor; below 0: it is on none. */
int compose_on_off(const struct compose_view *v);
/* The diagram's lines of all networks (returns how many); the keys behind the cursor's. */
int compose_draw_networks(const struct compose_view *v, struct canvas *c, struct rect r);
void network_keys_ahead(const struct compose_view *v, char out[120]);
/* Of the key under the cursor: its words into v->choices; a value that is typed, false with the reason; the
 * value that j or k goes to. */
void network_list(struct compose_view *v);
bool network_enter(const struct compose_view *v, const char *text, struct method *m, char why[200]);
void network_step(const struct compose_view *v, bool up, char out[64]);
/* Outputs of the head that a plan is made for. */
int compose_outputs(const struct compose_view *v);
/* What would be trained on the model that is there; plan_free. */
struct plan *compose_plan(const struct compose_view *v, struct err *e);
/* Is the field under the cursor a number, to be typed? */
bool compose_on_number(const struct compose_view *v);
/* The field's name and value as text. */
void compose_field(const struct compose_view *v, char label[32], char value[FIELD_ROOM]);
/* Takes what was typed into the field under the cursor; false with the reason. */
bool compose_edit(struct compose_view *v, const char *text, char why[200]);
void compose_take_preset(struct compose_view *v, const char *name);

/* Fills v->choices for the axis under the cursor (nothing for numbers). */
void compose_list(struct compose_view *v);
/* Fills v->row with the options that have a say in the config as it is. */
void compose_list_options(struct compose_view *v);
/* The value of an axis of a module, as the table shows it. */
struct phrase axis_value(const struct module *m, enum axis a);
/* The site of a module in words: "attn q", "cross q", "ffn out", "all biases". */
struct phrase site_words(const struct module *m);

/* compose_undo.c: remembers the present state, so that the change that follows can be undone; `by` as in
 * compose_state. */
void compose_push(struct compose_view *v, const char *by);
/* Takes the last edit back, or makes it again, and writes what it changed; false: there is none. */
bool compose_undo(struct compose_view *v, bool redo, struct buf *said);
/* Marks the rows as others where model or rows differ from those of `was`. */
void compose_rows_changed(struct compose_view *v, const struct run_config *was);

/* Writes Δh of a module on a model (NULL: before one is chosen), and how it is composed, in the field's
 * notation; sub: "₁", "₁,₂". */
void formula_delta(const struct module *m, const struct arch *a, const char *sub, char out[160]);
void formula_compose(const struct module *m, const char *sub, char out[160]);

#endif
