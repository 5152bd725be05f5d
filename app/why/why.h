/* Diagnostics of a run: sentences computed from its record, each with the numbers it contains.
 *
 * They are computed only from the database (description, points, evaluations, import reports), so that old
 * runs and runs of other machines have them too.  What the record does not contain is not guessed. */
#ifndef APP_WHY_WHY_H
#define APP_WHY_WHY_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "store/store.h"

struct why_finding {
    const char *kind; /* static: "rate-high", "one-class", … (docs/why.md) */
    char *text;       /* a sentence without its period; control characters are escaped */
    char *figures;    /* a JSON object of numbers, and of strings for names */
    bool asked; /* follows from the requested number of steps or examples; not a problem that
                   arose in the run */
};
struct why {
    int count;        /* 0: no problem was found */
    struct why_finding *of;
    int looked_for;   /* number of kinds that were checked */
    int facts; /* changes and frozen parameters, by module; not diagnostics.  0: not recorded */
    char **fact;
};
/* Computes the diagnostics of a run that was read whole (store_run).  ERR_INPUT for an invalid description;
 * then *out is empty.  Release with why_release. */
int why_of_run(struct store *s, const struct store_run *run, struct why *out, struct err *e);
void why_release(struct why *w);
/* Writes [{"kind","text","figures":{…}}]. */
void why_json(const struct why *w, struct buf *out);

#endif
