/* A folder in which the real program is run: the tiny model, the toy task, a database. */
#ifndef TESTS_SUPPORT_STAGE_H
#define TESTS_SUPPORT_STAGE_H

#include <stdbool.h>
#include <sys/types.h>

#include "tests/support/command.h"

struct run_config; /* core/train/config/config.h */

struct stage {
    char *folder, *model, *toy, *db; /* owned: stage_release */
};
void stage_init(struct stage *s);
void stage_release(struct stage *s);

/* The one of a test program, and cmocka's fixtures that open and close it. */
extern struct stage stage;
int stage_make(void **state);
int stage_drop(void **state);

/* A task folder of the toy's rows below the stage's: dev.tsv has all, train.tsv the first `rows`, or all (0).  Caller
 * frees the path. */
char *stage_task(const struct stage *s, const char *name, size_t rows);

/* petri train on the toy task (batch 2, lora(r=2), learning rate 1e-5) with `more` options;
 * fails unless it exits with `status`.  The record: json_decref. */
json_t *stage_train(const struct stage *s, int status, const char *more);
/* The same as a text with the options' start, for command_start: caller frees. */
char *stage_line(const struct stage *s, const char *more);

/* The model with lora(r=2), learning rate 1e-5, batch and steps, for what starts runs without the program; rows are
 * the caller's to add, and config_release. */
struct run_config stage_config(const struct stage *s, int batch, int64_t steps);

/* Runs a line, expects the status, gives standard output; caller frees. */
char *stage_out(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Expects the status and `part` in the one line on standard error, nothing on standard
 * output. */
void stage_refused(int status, const char *part, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Runs a line that must exit 0 and gives its whole output as one JSON value. */
json_t *stage_json(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless each line that is not empty is JSON of its own; returns how many.  (NaN and
 * Infinity are no JSON.) */
int stage_json_lines(const char *text);
/* Fails when the text holds a bare nan, inf or infinity of any case. */
void stage_no_nan(const char *text);
/* Member by dotted path, "best.value"; fails when it is absent. */
json_t *stage_at(json_t *v, const char *path);
const char *stage_text(json_t *v, const char *path);

/* Polls until the database has run `id` at `step` or later; fails after 20 s (TEST_PATIENCE times). */
void stage_wait_step(const struct stage *s, int id, int step);
/* Stops the program `pid` when its run `id` has come to `step`, and waits for its end.  False: the run was over
 * before. */
bool stage_stop_midway(const struct stage *s, pid_t pid, int id, int step);

#endif
