/* Encodes the examples of causal language models: prompt and completion as one sequence (causal.c), and shows them as
 * the model reads them, for reports (causal_preview.c). */
#ifndef CORE_DATA_CAUSAL_H
#define CORE_DATA_CAUSAL_H

#include "core/data/task.h"

struct causal_coding {
    size_t max_len;     /* longer examples are removed from the split */
    size_t max_target;  /* maximum length of generated texts, as in dataset_encode */
    int embedding_rows; /* as in dataset_encode */
    int32_t end;        /* appended to every completion */
    const struct chat_template *chat; /* of chats; NULL or without a form: they are refused */
    bool wrap;          /* prompts and completions are also written by it */
    bool all;           /* all tokens are targets, not only answers */
};

/* Encodes every example of a split (DATA_TEXT) with its chat template: the special tokens before a text, the
 * messages, and the end tokens.  Without a template a source and its target are concatenated.  The
 * targets are marked in d->trained and copied to d->target_ids; the first token is never a target.  Chats that
 * are longer than max_len lose their oldest messages; longer examples, and those that the template cannot
 * write, are removed and reported.  Texts without a source (DATA_DOCUMENTS) are read with control tokens and
 * cut into windows of max_len tokens, an example each, of which all but the first are targets.  ERR_USAGE or ERR_INPUT where none is left. */
int dataset_encode_causal(struct dataset *d, const struct tokenizer *t, const struct causal_coding *how,
                          struct err *e);
/* Appends an example as the model reads it, special tokens included: a heading, then a line per span of tokens,
 * which starts with "> " where they are targets and with "| " where not.  Long spans are shortened. */
void causal_preview(const struct dataset *d, const struct tokenizer *t, size_t row, struct buf *out);
/* Encodes all splits of a task. */
int task_encode_causal(struct task *t, const struct tokenizer *k, const struct causal_coding *how,
                       struct err *e);

#endif
