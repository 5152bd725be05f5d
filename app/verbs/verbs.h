/* Entry points of the verbs (table: verbs.c; files: verb_*.c).  Each prints its result to standard
 * output and progress to standard error, and returns 0 or a negative error code. */
#ifndef APP_VERBS_VERBS_H
#define APP_VERBS_VERBS_H

#include "app/sweep/comparison.h"
#include "app/verbs/args.h"
#include "core/base/crew.h"
#include "core/data/task.h"
#include "store/store.h"

/* Returns --model or the default model; reports the use of the bundled model. */
const char *verb_model(const struct args *a);
/* Return the same, and --task or the default task, without a report, for screens, whose first page has it. */
const char *verb_shown_model(const struct args *a);
const char *verb_shown_task(const struct args *a);
/* Reports once on standard error which of both (NULL: none) are bundled with petri, used until the defaults
 * are fetched. */
void verb_tell_own(const char *model, const char *task);
/* Returns --db or the path of the default database, which the caller frees; reports it once where HOME is not
 * set.  NULL and *e where no path is available. */
char *verb_database(const struct args *a, struct err *e);
/* Opens that database. */
int verb_store(const struct args *a, enum store_mode mode, struct store **s, struct err *e);
/* Reads the names of --classes: a list with commas, a file with one per line, or the classes of a task.  The
 * caller frees *names with verb_classes_free; NULL and 0 without the option. */
int verb_classes(const struct args *a, char ***names, int *n, struct err *e);
void verb_classes_free(char **names, int n);
/* Appends the run, with the results of its tasks where it has several, as a JSON object. */
int verb_run_add(struct store *s, const struct store_run *r, struct buf *b, struct err *e);
/* Prints the same as a line. */
int verb_run_json(struct store *s, const struct store_run *r, struct err *e);
/* Prints a new run: with --json as verb_run_json, else "run N: METHOD on MODEL, ENDING" on a line. */
int verb_report_run(const struct args *a, struct store *s, int64_t id, const char *ending, struct err *e);
/* Prints that a Hugging Face folder was written; `worst`: the largest logit difference from the run, or
 * NaN. */
void verb_tell_folder(const struct args *a, int64_t run, const char *folder, double worst);
/* Closes the database; returns rc or, if that is 0, the error of closing. */
int verb_close(struct store *s, int rc, struct err *e);
/* Reads --name, NULL: none; ERR_USAGE where it is not a valid name of a run. */
int verb_run_name(const struct args *a, const char **name, struct err *e);
/* Returns the choice of --header and --no-header. */
enum data_header verb_header(const struct args *a);
/* Returns --task and the columns; the caller fills in files. */
struct task_source verb_source(const struct args *a);
/* Returns --workers, or the number of cores. */
int verb_workers(const struct args *a);
/* Reserves the address space of the matrix products of a verb; ERR_USAGE where a limit does not leave it. */
int verb_reserve(const struct args *a, struct err *e);
/* Makes a crew of that many, freed with crew_free; NULL for one worker, which is the calling thread. */
void verb_crew(const struct args *a, struct crew **out);
/* Makes interrupts and SIGTERM set a flag, which verb_interrupted returns. */
void verb_catch_signals(void);
bool verb_interrupted(void);
/* Returns whether there was an interrupt, which is then forgotten; a SIGTERM remains. */
bool verb_take_interrupt(void);
/* Does the same for verbs that train, and ignores a closed terminal or pipe. */
void verb_train_signals(void);
/* Reads the settings of the screens: the file's, overridden by options; problems of the file are reported in
 * the buffer and ignored. */
struct settings;
int verb_shown_settings(const struct args *a, const struct screen_options *o, struct settings *s,
                        struct buf *said, struct err *e);

/* Runs petri without a verb (verb_screen.c).  argv without the name of the program. */
int verb_screen(int argc, char **argv, struct err *e);

/* The verbs. */
typedef int verb_run(const struct args *a, struct err *e);
verb_run verb_explain, verb_count, verb_methods, verb_tasks, verb_models, verb_encode, verb_train,
    verb_resume, verb_stop;
verb_run verb_pretrain, verb_adapt, verb_fewshot, verb_eval, verb_predict, verb_generate, verb_chat,
    verb_runs,
    verb_fetch, verb_watch;
verb_run verb_show, verb_trash, verb_restore, verb_sql, verb_settings, verb_help, verb_tag, verb_name,
    verb_note;
verb_run verb_purge, verb_merge, verb_export, verb_import, verb_merge_adapters, verb_embed, verb_map,
    verb_similarity, verb_sweep;
verb_run verb_compare, verb_replicate, verb_learn, verb_plot, verb_doctor, verb_render;

struct arch;
struct method;
struct plan;
/* Returns the text of a method with its references to runs expanded (fused.h, spot.h), which the caller
 * frees; NULL with *e.  The second function parses it. */
char *verb_method(const struct args *a, const char *text, struct err *e);
int verb_method_of(const struct args *a, const char *text, struct method *out, struct err *e);
/* Makes the plan for the number of --tasks, with heads of --classes; freed with plan_free. */
struct plan *verb_plan(const struct method *m, const struct arch *arch, const struct args *a, struct err *e);
/* Resumes a few-shot run (shots.h) in an open store and prints its results. */
int verb_resume_shots(const struct args *a, struct store *s, int64_t run, struct err *e);
/* Is the `write` of a store_sink: files and pipes get the bytes unchanged, a terminal with control characters
 * made visible. */
int verb_to_stdout(void *self, const char *bytes, size_t n);
/* Prints a comparison as JSON, CSV or Markdown, with --margin and --cost. */
void verb_compared_print(const struct args *a, const struct side_by_side *c);

#endif
