/* Measuring petri on this machine: whole training steps on made data, and the same work
 * that the reference libraries do in tests/reference/. */
#ifndef APP_VERBS_BENCH_H
#define APP_VERBS_BENCH_H

#include "core/base/err.h"
#include "core/data/task.h"
#include "core/model/model.h"

enum { BENCH_STEPS = 64 };

struct bench_times {
    int steps;
    double second[BENCH_STEPS]; /* wall seconds of each step after the warm-up */
    double median;
    double tokens;              /* tokens of a step, mean over those steps */
    double gemm_seconds;        /* replay of the last step's own matrix products; 0: not asked */
};

/* A model of BERT-base's or RoBERTa-base's kind (or another size) with made weights; free with
 * bench_model_free. */
struct model *bench_model(enum family family, int layers, int width, int heads, int inner);
void bench_model_free(struct model *m);
/* `rows` rows of `length` made tokens, two classes. */
void bench_task(struct task *t, int rows, int length, int vocabulary);
void bench_task_free(struct task *t);

/* Trains `method` for `warm` + `steps` steps of `batch` rows.  workers 0: on the calling
 * thread, with the step's matrix products recorded and replayed. */
int bench_train(struct model *m, struct task *t, const char *method, int batch, int warm, int steps,
                int workers, struct bench_times *out, struct err *e);
/* Sets the median of those steps. */
void bench_median(struct bench_times *t);
/* Sum of GF/s of `callers` threads that call sgemm on their own at once. */
double bench_sgemm(int callers, double seconds);
/* t-SNE iterations a second on `points` made points, set-up left out; about `seconds` long. */
double bench_tsne(int points, int workers, double seconds);
/* Peak resident memory of the process in bytes. */
double bench_peak_memory(void);

#endif
