/* Runs whose values a new one begins with: opened before it is made, then kept as copies in its folder. */
#ifndef APP_JOBS_STARTS_H
#define APP_JOBS_STARTS_H

#include "core/base/buf.h"
#include "core/method/plan.h"
#include "core/train/use/predict.h"
#include "store/store.h"

struct job_starts {
    int count;
    bool said; /* by its method's modules; else it is the parent that was asked for, of which all is taken */
    int64_t run[METHOD_MODULES];
    struct predictor *from[METHOD_MODULES];
};

/* The runs that modules of the method say (init=run(N)); their values are not opened yet. */
void job_starts_of(const struct method *m, struct job_starts *s);
/* Their values, each of use for p; ERR_USAGE where one has none for it, or the method joins others' modules
 * and says none. */
int job_starts_open(struct job_starts *s, struct store *store, struct model *m, const struct plan *p,
                    struct err *e);
/* Copies in a run's folder. */
int job_starts_keep(const struct job_starts *s, const struct run_config *c, const char *folder,
                    struct err *e);
void job_starts_release(struct job_starts *s);
/* A run's number, method and hash as a JSON object, so that it is known whatever becomes of it. */
int job_starts_say_one(struct store *store, int64_t id, struct buf *b, struct err *e);
/* All of them, as members of a run's description. */
int job_starts_say(const struct job_starts *s, struct store *store, struct buf *b, struct err *e);

#endif
