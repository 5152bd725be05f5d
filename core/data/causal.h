/* Encodes the examples of causal language models: prompt and completion as one sequence. */
#ifndef CORE_DATA_CAUSAL_H
#define CORE_DATA_CAUSAL_H

#include "core/data/task.h"

struct causal_coding {
    size_t max_len;     /* longer examples are removed from the split */
    size_t max_target;  /* maximum length of generated texts, as in dataset_encode */
    int embedding_rows; /* as in dataset_encode */
    int32_t end;        /* appended to every completion */
};

/* Encodes every example of a split (DATA_TEXT): the special tokens that precede a text, the source, and if
 * there is a target, the target and the end token, which are marked in d->trained and copied to
 * d->target_ids.  Source and target are encoded together where the tokens of the source remain the same,
 * otherwise apart.  The first token of a sequence is never a target.  Examples longer than max_len are removed and reported.  ERR_USAGE where none is left. */
int dataset_encode_causal(struct dataset *d, const struct tokenizer *t, const struct causal_coding *how,
                          struct err *e);
/* Encodes every split. */
int task_encode_causal(struct task *t, const struct tokenizer *k, const struct causal_coding *how,
                       struct err *e);

#endif
