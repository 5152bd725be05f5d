/* The verbs' entry points (the table is in verbs.c).  Each prints its result to standard
 * output, progress to standard error, and returns 0 or a negative error code.
 *
 * verb_*.c are the verbs. */
#ifndef APP_VERBS_VERBS_H
#define APP_VERBS_VERBS_H

#include "app/sweep/comparison.h"
#include "app/verbs/args.h"
#include "core/base/crew.h"
#include "core/data/task.h"
#include "store/store.h"

/* --model, or the usual one; that petri's own stands in is told. */
const char *verb_model(const struct args *a);
/* The same, and --task or the usual one, without a word: for screens, whose first page says it. */
const char *verb_shown_model(const struct args *a);
const char *verb_shown_task(const struct args *a);
/* Tells, on standard error and once, which of both (NULL: none) are petri's own for want of what is
 * fetched. */
void verb_tell_own(const char *model, const char *task);
/* --db, or the default database; where HOME is not set, says once where that is.  NULL and *e when there
 * is no place for it.  Caller frees. */
char *verb_database(const struct args *a, struct err *e);
/* Opens it. */
int verb_store(const struct args *a, enum store_mode mode, struct store **s, struct err *e);
/* The names of --classes: a list with commas, a file with one a line, or a task's classes.  *names (with its
 * strings the caller's) and *n; NULL and 0 without the option. */
int verb_classes(const struct args *a, char ***names, int *n, struct err *e);
void verb_classes_free(char **names, int n);
/* The run, and what its tasks came to where it has several, as a JSON object. */
int verb_run_add(struct store *s, const struct store_run *r, struct buf *b, struct err *e);
/* The same on a line of standard output. */
int verb_run_json(struct store *s, const struct store_run *r, struct err *e);
/* A run that was just made: with --json as verb_run_json, else "run N: METHOD on MODEL, ENDING" on a line. */
int verb_tell_made(const struct args *a, struct store *s, int64_t id, const char *ending, struct err *e);
/* Prints that a Hugging Face folder was written; `worst`: the largest logit difference from the run, or NaN. */
void verb_tell_folder(const struct args *a, int64_t run, const char *folder, double worst);
/* Closes it; rc, or, when that is 0, what went wrong in closing. */
int verb_close(struct store *s, int rc, struct err *e);
/* The name that --name gives a run, NULL: none; ERR_USAGE where a run cannot be called so. */
int verb_run_name(const struct args *a, const char **name, struct err *e);
/* --header or --no-header. */
enum data_header verb_header(const struct args *a);
/* --task and the columns; files are the caller's. */
struct task_source verb_source(const struct args *a);
/* Returns --workers, or the number of cores. */
int verb_workers(const struct args *a);
/* A crew of so many; NULL for one worker, which is the thread that calls.  crew_free. */
void verb_crew(const struct args *a, struct crew **out);
/* From here on an interrupt or SIGTERM ends nothing by itself: verb_interrupted tells of it. */
void verb_catch_signals(void);
bool verb_interrupted(void);
/* The same for verbs that train: a closed terminal or pipe ends no run. */
void verb_train_signals(void);
/* Of the screens: the file's settings, and the options' in their place; what is wrong with the file is told
 * in *said and left out. */
struct settings;
int verb_shown_settings(const struct args *a, const struct screen_options *o, struct settings *s,
                        struct buf *said, struct err *e);

/* verb_screen.c: no verb at all.  argv without the program's name. */
int verb_screen(int argc, char **argv, struct err *e);

/* The verbs. */
typedef int verb_run(const struct args *a, struct err *e);
verb_run verb_explain, verb_count, verb_methods, verb_tasks, verb_models, verb_encode, verb_train,
    verb_resume, verb_stop;
verb_run verb_pretrain, verb_adapt, verb_fewshot, verb_eval, verb_predict, verb_generate, verb_runs,
    verb_fetch, verb_watch;
verb_run verb_show, verb_trash, verb_restore, verb_sql, verb_settings, verb_help, verb_tag, verb_name,
    verb_note;
verb_run verb_purge, verb_merge, verb_export, verb_import, verb_merge_adapters, verb_embed, verb_map,
    verb_similarity, verb_sweep;
verb_run verb_compare, verb_replicate, verb_learn, verb_plot, verb_doctor, verb_render;

struct arch;
struct method;
struct plan;
/* A method's text as it was said, with what is of runs of the verb's database written out (fused.h, spot.h),
 * caller frees, NULL with *e; and what it means. */
char *verb_method(const struct args *a, const char *text, struct err *e);
int verb_method_of(const struct args *a, const char *text, struct method *out, struct err *e);
/* The plan of as many tasks as --tasks says, with heads as --classes says; plan_free. */
struct plan *verb_plan(const struct method *m, const struct arch *arch, const struct args *a, struct err *e);
/* Goes on with a run of few shots (shots.h), in an open store; prints what it comes to. */
int verb_resume_shots(const struct args *a, struct store *s, int64_t run, struct err *e);
/* The `write` of a store_sink: files and pipes get the bytes as they are, a terminal sees them made
 * visible. */
int verb_to_stdout(void *self, const char *bytes, size_t n);
/* As --json, --csv or Markdown, with --margin and --cost. */
void verb_compared_print(const struct args *a, const struct side_by_side *c);

#endif
