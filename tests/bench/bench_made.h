/* Models and tasks that need no files: shapes of published ones, weights and rows made by a rule. */
#ifndef TESTS_BENCH_BENCH_MADE_H
#define TESTS_BENCH_BENCH_MADE_H

#include "core/data/task.h"
#include "core/model/model.h"

/* Small numbers without pattern; a full normal draw of 110 M values would cost seconds. */
void bench_fill(real *v, size_t n, uint32_t state, double spread);

/* A model of BERT-base's, RoBERTa-base's or T5-small's kind, T5 with so many layers in each stack, and a folder
 * below TMPDIR.  ERR_SYSTEM without room; bench_model_free. */
struct model *bench_model(enum family family, int layers, int width, int heads, int inner, struct err *e);
void bench_model_free(struct model *m);

/* `rows` rows of `length` made tokens, at most BENCH_LONGEST, two classes; bench_task_free. */
void bench_task(struct task *t, int rows, int length, int vocabulary);
/* Rows of these lengths, the longest at most BENCH_LONGEST, with targets of `target` tokens, the last one `end`. */
enum { BENCH_LONGEST = 128 };
void bench_texts(struct task *t, int rows, const int *length, int target, int vocabulary, int32_t end);
void bench_task_free(struct task *t);

/* GLUE's eight tasks as texts, as long as theirs are, with a digit for a target: a batch of all rows is the same in
 * every step, four of each task. */
enum { BENCH_TASKS = 8, BENCH_OF_TASK = 4, BENCH_GLUE = BENCH_TASKS * BENCH_OF_TASK };
void bench_glue(struct task t[BENCH_TASKS], const struct arch *a);

#endif
