/* Options of the verbs that inspect representations, as requests to a probe. */
#ifndef APP_VERBS_PROBE_OPTIONS_H
#define APP_VERBS_PROBE_OPTIONS_H

#include "app/insight/probe.h"
#include "app/verbs/args.h"

struct probe_options {
    struct probe_draw draw;
    struct probe_context look;
    struct task_source source[ROWSET_TASKS], unseen[ROWSET_TASKS];
    int sources;   /* 0: the tasks of the run */
    int unseens;
    int own[ROWSET_TASKS]; /* the sources as tasks of a multi-task run */
    char *tasks, *others;  /* owned; names of sources point into them */
};

/* Reads --task A,B (folder names may contain commas), --unseen A,B, --split, --rows, --seed, --pool,
 * --workers. The caller calls probe_options_release, also after a failure. */
int probe_options_read(struct probe_options *q, const struct args *a, struct err *e);
void probe_options_release(struct probe_options *q);
/* Opens a run with all its tasks; with only the task of --task where that has a separate best checkpoint,
 * unless `all`. */
int probe_options_open_run(struct probe *p, const struct args *a, struct store *s, int64_t run, bool all,
                   const struct backbone_hint *hint, struct buf *said, struct err *e);
/* Embeds examples with --run, --model or the default model at --layer and saves the set, or finds the saved
 * one (not *new); verb_embed.c. */
int verb_embed_rows(const struct args *a, struct probe_options *q, struct store *s, int64_t *set, bool *new,
                    struct err *e);
/* Reads --layer, a number up to `most` or "retriever"; without the option *out is unchanged. */
int probe_options_layer(const struct args *a, int64_t least, int most, int64_t *out, struct err *e);
/* Draws the examples of a probe; without --task those of draw.own, of the run, or of the default task.
 * Reports the text form of a task on standard error. */
int probe_options_draw(struct probe_options *q, struct probe *p, struct err *e);

#endif
