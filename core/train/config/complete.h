/* Completing a run's description: one place decides what was left to defaults, before anything is stored or
 * shown. */
#ifndef CORE_TRAIN_CONFIG_COMPLETE_H
#define CORE_TRAIN_CONFIG_COMPLETE_H

#include "core/data/task.h"
#include "core/model/model.h"
#include "core/train/config/config.h"

/* The learning rate of a method that was given none, with AdamW: its preset's; where the model's own matrices
 * are trained and it is none, that of full fine-tuning; else 1e-3.  *why (may be NULL) is a static phrase or
 * a preset's name. */
double config_default_lr(const struct method *m, const char **why);

enum { META_STEPS = 1000 }; /* of a run over episodes that says none */
/* Planned steps: those given, or what the epochs come to on so many training rows. */
int64_t config_steps(const struct run_config *c, size_t train_rows);
/* What so many passes over rows come to. */
int64_t epoch_steps(double epochs, size_t rows, int batch);
/* Steps of warm-up of a config with its steps. */
int64_t config_warmup_steps(const struct run_config *c, int64_t steps);

/* Whether a completed config has dev rows. */
bool config_has_dev(const struct run_config *c);
/* Where the rows are; points into *c.  `assets` as in struct task_source. */
struct task_source config_source(const struct run_config *c, const char *assets);

/* Fills in everything that follows from the model and the task (prepared by run_prepare_task), so that the
 * config alone says what is computed: the method as its text reads, form, metric, kind, lengths, rate, steps,
 * names and hashes of the files.  Completing twice changes nothing.  ERR_USAGE names the option. */
int config_complete(struct run_config *c, const struct model *m, const struct run_tasks *tasks,
                    struct err *e);
/* What is known of a run's model and rows, also before they are read for it. */
struct config_facts {
    const struct arch *arch; /* NULL: not known */
    const char *model;       /* as messages name it */
    int64_t steps;           /* planned; 0: not known */
    int tasks;               /* 0: nothing is known of the rows */
    struct config_rows_facts {
        const char *name;
        enum data_kind gold;
        bool dev;            /* there are dev rows */
        int classes;         /* 0: not known, nor the splits */
        struct split_facts { /* to train on, and held out */
            const char *path;
            int rows;          /* that have a label */
            const char *empty; /* a class without a row, or NULL */
        } split[2];
    } of[RUN_TASKS];
};
/* Describes the examples of a task that was opened; points into *t. */
struct config_rows_facts config_rows_known(const char *name, const struct task *t);
/* Refuses, so far as that is known, what does not go together: options of one another, with the method, the
 * model and the rows.  What config_complete and config_check refuse by these rules, in their words; the
 * config need not be complete, and what has no say in it is passed over. */
int config_fits(const struct run_config *c, const struct config_facts *f, struct err *e);
/* Refuses what a new run would not do as asked: paths and names that its record cannot hold (bytes that are
 * not UTF-8), options that have no say in it, a warm-up as long as the run,
 * more micro-batches than rows.  `c` is complete. */
int config_check(const struct run_config *c, const struct run_tasks *tasks, struct err *e);

struct plan;
/* Refuses a plan that trains nothing. */
int config_check_plan(const struct plan *p, struct err *e);

/* Puts options that have no say in such a run (`texts`: text to text) back to their defaults. */
void config_settle(struct run_config *c, bool texts);
/* A stored run's config as a request for a new one that trains the same: steps follow from its epochs again,
 * what had no say is at its default. */
void config_reuse(struct run_config *c);

#endif
