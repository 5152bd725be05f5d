/* The tensors of a folder's files under canonical names, sorted by name.  Loading looks up tensors here;
 * those not marked as used are reported. */
#ifndef CORE_MODEL_ENTRIES_H
#define CORE_MODEL_ENTRIES_H

#include <stdbool.h>

#include "core/model/arch.h"
#include "core/model/weights.h"

struct entry {
    char *name; /* canonical: without prefixes of wrapper and family, and with LayerNorm's gamma and beta
                   as weight and bias */
    const struct weights_file *file;
    const struct st_tensor *tensor;
    struct st_tensor *own; /* the tensor, if it is a part of one in the file, or its transpose; otherwise NULL */
    bool used;
};

struct entries {
    const char *folder; /* in messages; owned by the caller */
    struct entry *entry;
    size_t n;
};

/* Lists all tensors; refuses duplicates.  A prefix that a wrapper added to all names ("module.",
 * "_orig_mod.") is removed and reported.  `w` and `folder` must outlive *x, which must be released also after
 * a failure. */
int entries_list(struct entries *x, const struct weights *w, const struct arch *a,
                 const char *folder, struct buf *report, struct err *e);
/* Fails because of a tensor of a GGUF file without a use: unlike in a folder it may change what the model
 * computes. */
int entries_refuse_stray(const char *folder, const char *tensor, struct err *e);
void entries_release(struct entries *x);
/* NULL if absent. */
struct entry *entries_find(struct entries *x, const char *name);

/* Resolves the word embedding of an encoder–decoder model, which files contain under up to four names.  Any
 * of them serves as "shared.weight"; copies are compared and marked as used.  A different lm_head.weight sets
 * a->tied to false, and for T5 a missing one to true, as in transformers; both are reported. */
int entries_tie(struct entries *x, struct arch *a, struct buf *report, struct err *e);

#endif
