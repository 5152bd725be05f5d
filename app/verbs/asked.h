/* What the verbs that look inside are asked for: options to a probe's terms. */
#ifndef APP_VERBS_ASKED_H
#define APP_VERBS_ASKED_H

#include "app/insight/probe.h"
#include "app/verbs/args.h"

struct asked {
    struct probe_draw draw;
    struct probe_look look;
    struct task_source source[ROWSET_TASKS], unseen[ROWSET_TASKS];
    int sources;   /* 0: the run's own tasks */
    int unseens;
    int own[ROWSET_TASKS]; /* the sources as tasks of a run with several */
    char *tasks, *others;  /* owned: what the sources' names point into */
};

/* --task A,B (a folder's name may hold commas), --unseen A,B, --split, --rows, --seed, --pool, --workers.
 * asked_release, also after a failure. */
int asked_read(struct asked *q, const struct args *a, struct err *e);
void asked_release(struct asked *q);
/* Opens a run with all its tasks; with one alone that --task names where that has a best checkpoint of its
 * own, unless `all`. */
int asked_open_run(struct probe *p, const struct args *a, struct store *s, int64_t run, bool all,
                   const struct backbone_hint *hint, struct buf *said, struct err *e);
/* verb_embed.c: keeps the rows' vectors, of --run, of --model or the default one, at --layer, or finds them
 * kept (not *new); their set. */
int verb_embed_rows(const struct args *a, struct asked *q, struct store *s, int64_t *set, bool *new,
                    struct err *e);
/* --layer: a number up to `most` of the model, or "retriever"; *out is as it was without it. */
int asked_layer(const struct args *a, int64_t least, int most, int64_t *out, struct err *e);
/* The rows of a probe; without --task those of draw.own or the run, or of the default task.  Says on standard
 * error in which text form a task is read. */
int asked_rows(struct asked *q, struct probe *p, struct err *e);

#endif
