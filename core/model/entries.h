/* The tensors of a folder's files under the names that petri gives them, sorted by name.
 * Loading looks tensors up here; what nobody marked as used goes into the report. */
#ifndef CORE_MODEL_ENTRIES_H
#define CORE_MODEL_ENTRIES_H

#include <stdbool.h>

#include "core/model/arch.h"
#include "core/model/weights.h"

struct entry {
    char *name; /* canonical: without a wrapper's and the family's prefix, LayerNorm's gamma and
                 * beta as weight and bias */
    const struct weights_file *file;
    const struct st_tensor *tensor;
    bool used;
};

struct entries {
    const char *folder; /* in messages; the caller's */
    struct entry *entry;
    size_t n;
};

/* Lists all tensors; refuses one that is there under two names.  What a wrapper put before all of
 * the names ("module.", "_orig_mod.") is taken off and said.  `w` and `folder` must outlive *x, which
 * is released also after a failure. */
int entries_list(struct entries *x, const struct weights *w, const struct arch *a,
                 const char *folder, struct buf *report, struct err *e);
void entries_release(struct entries *x);
/* NULL when it is not there. */
struct entry *entries_find(struct entries *x, const char *name);

/* An encoder–decoder model has one word table, which files hold under up to four names.
 * Any one of them will do as "shared.weight"; copies are compared and marked as used.  An
 * lm_head.weight that differs sets a->tied to false, and for T5 one that is missing to
 * true, as transformers does; both are said. */
int entries_tie(struct entries *x, struct arch *a, struct buf *report, struct err *e);

#endif
