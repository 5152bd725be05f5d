/* Runs from which a new run is initialized: opened before it is created, then stored as copies in its
 * folder. */
#ifndef APP_JOBS_STARTS_H
#define APP_JOBS_STARTS_H

#include "core/base/buf.h"
#include "core/method/plan.h"
#include "core/train/use/predict.h"
#include "store/store.h"

struct job_starts {
    int count;
    bool said; /* named by the method's modules; else the requested parent, of which all modules are used */
    int64_t run[METHOD_MODULES];
    struct predictor *from[METHOD_MODULES];
};

/* Collects the runs that modules of the method name (init=run(N)), without opening them. */
void job_starts_of(const struct method *m, struct job_starts *s);
/* Opens their parameters for p; ERR_USAGE for a run without matching parameters, or if the method combines
 * modules of other runs and names none. */
int job_starts_open(struct job_starts *s, struct store *store, struct model *m, const struct plan *p,
                    struct err *e);
/* Copies them to a run's folder. */
int job_starts_keep(const struct job_starts *s, const struct run_config *c, const char *folder,
                    struct err *e);
void job_starts_release(struct job_starts *s);
/* Writes a run's id, method and hash as a JSON object, which identifies it even after it is deleted. */
int job_starts_say_one(struct store *store, int64_t id, struct buf *b, struct err *e);
/* Writes all of them, as members of a run's config. */
int job_starts_say(const struct job_starts *s, struct store *store, struct buf *b, struct err *e);

#endif
