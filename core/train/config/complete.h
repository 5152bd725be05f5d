/* Completion of a run's config: resolves defaults before the config is stored or shown. */
#ifndef CORE_TRAIN_CONFIG_COMPLETE_H
#define CORE_TRAIN_CONFIG_COMPLETE_H

#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/config.h"

/* Returns the default learning rate of a method with AdamW: that of its preset; else that of full fine-tuning
 * where matrices of the model are trained; else 1e-3. *why (may be NULL) is set to the reason: a static
 * phrase or the name of the preset. */
double config_default_lr(const struct method *m, const char **why);

enum { META_STEPS = 1000 }; /* default number of steps of a run over episodes */
/* Returns the number of training steps: --steps, or --epochs over train_rows training examples. */
int64_t config_steps(const struct run_config *c, size_t train_rows);
/* Returns the number of steps of `epochs` epochs over `rows` examples. */
int64_t epoch_steps(double epochs, size_t rows, int batch);
/* Returns the number of warm-up steps of a run with `steps` steps. */
int64_t config_warmup_steps(const struct run_config *c, int64_t steps);

/* Returns whether a completed config has a validation set. */
bool config_has_dev(const struct run_config *c);
/* Returns the source of the data; points into *c. `assets` as in struct task_source. */
struct task_source config_source(const struct run_config *c, const char *assets);

/* Fills in everything that follows from the model and the task (prepared by run_prepare_task), so that the
 * config alone determines the result: the method as its text reads, form, metric, kind, sequence lengths,
 * learning rate, steps, names and hashes of the files. Idempotent. ERR_USAGE names the option. */
int config_complete(struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                    struct err *e);
/* Known facts about the model and the data of a run, which need not be loaded yet. */
struct config_facts {
    const struct arch *arch; /* NULL: unknown */
    const char *model;       /* name in messages */
    int64_t steps;           /* planned; 0: unknown */
    int tasks;               /* 0: nothing is known about the data */
    struct config_data_facts {
        const char *name;
        enum data_kind label_kind;
        bool dev;            /* has a validation set */
        int classes;         /* 0: unknown, like the splits */
        struct split_facts { /* training and validation set */
            const char *path;
            int examples;          /* labeled examples */
            const char *empty; /* a class without an example, or NULL */
        } split[2];
    } of[RUN_TASKS];
};
/* Describes the examples of a task that was opened; points into *t. */
struct config_data_facts config_data_known(const char *name, const struct task *t);
/* Refuses, as far as the facts are known, options that contradict each other, the method, the model or the
 * data, with the errors of config_complete and config_check. The config need not be complete; options that do
 * not apply to it are skipped. */
int config_fits(const struct run_config *c, const struct config_facts *f, struct err *e);
/* Refuses a new run that could not honor its options: paths and names that are not UTF-8 and cannot be
 * recorded, options that do not apply, a warm-up as long as the run, more micro-batches than examples in a
 * batch. `c` is complete. */
int config_check(const struct run_config *c, const struct run_tasks *tasks, struct err *e);

struct plan;
/* Refuses a plan without trainable parameters. */
int config_check_plan(const struct plan *p, struct err *e);

/* Resets the options that do not apply to the run (`texts`: text-to-text) to their defaults. */
void config_settle(struct run_config *c, bool texts);
/* Converts the config of a stored run to a request for a new run that trains the same: the number of steps
 * follows from the epochs again, and options that do not apply have their defaults. */
void config_reuse(struct run_config *c);

#endif
