/* Prompts and prefixes in folders of PEFT: PREFIX_TUNING, PROMPT_TUNING, P_TUNING (whose network such a
 * folder does not hold) and MULTITASK_PROMPT_TUNING of one task, which is read as the prompt that it makes.
 * Private to core/exchange. */
#ifndef CORE_EXCHANGE_PEFT_PROMPT_H
#define CORE_EXCHANGE_PEFT_PROMPT_H

#include "core/exchange/peft.h"
#include "core/exchange/reading.h"
#include "core/exchange/writing.h"

bool peft_is_prompt(enum peft_type type);
/* All tensors of the bag, the head's too. */
int peft_prompt_read(struct adapter_reading *in, const struct peft *p, struct err *e);

/* The method's prompt or first prefix, or -1; why such a folder cannot hold the method that has one, or
 * NULL.  `language`: of a language model. */
int peft_prompt_of(const struct method *m);
const char *peft_prompt_why_not(const struct method *m, const struct arch *a, bool language);
void peft_prompt_write(struct adapter_writing *to, const struct plan *p, const struct model *model,
                       const real *params);
/* Returns the keys of the config that are its own; the caller owns them. */
json_t *peft_prompt_keys(const struct plan *p, const struct model *model);

#endif
