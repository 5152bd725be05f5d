/* Why a run came out as it did: sentences that are computed from its record, each with the figures it is made
 * of.
 *
 * Read from the history alone (description, points, evaluations, what was found when its rows were read), so
 * that old runs and other machines' runs have them too.  What the record does not hold is not guessed. */
#ifndef APP_WHY_WHY_H
#define APP_WHY_WHY_H

#include "core/base/buf.h"
#include "core/base/err.h"
#include "store/store.h"

struct why_finding {
    const char *kind; /* static: "rate-high", "one-class", … (docs/why.md) */
    char *text;       /* a sentence without its full stop; control characters are made visible */
    char *figures;    /* a JSON object of numbers, and of strings where they name something */
    bool asked; /* follows from how long, or on how many rows, it was told to run: no trouble that came by
                   itself */
};
struct why {
    int count;        /* 0: nothing looks wrong */
    struct why_finding *of;
    int looked_for;   /* kinds there are */
    int facts; /* what stayed frozen and what moved, by module; not findings.  0: the record has none */
    char **fact;
};
/* Of a run that was read whole (store_run).  ERR_INPUT for a description that cannot be read; then *out is
 * empty. why_release frees. */
int why_of_run(struct store *s, const struct store_run *run, struct why *out, struct err *e);
void why_release(struct why *w);
/* [{"kind","text","figures":{…}}] */
void why_json(const struct why *w, struct buf *out);

#endif
