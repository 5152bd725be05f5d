/* A folder of the library PEFT: its config, checked (peft_config.c), and its tensors, read (peft_read.c) and
 * written (peft_write.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_PEFT_H
#define CORE_EXCHANGE_PEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/exchange/import.h"

/* A file of petri's own beside PEFT's, which PEFT does not read: {"id2label": {"0": NAME, …}}, as config.json of a model names classes. */
#define PEFT_NAMES_FILE "petri.json"

enum peft_type {
    PEFT_LORA, PEFT_IA3, PEFT_PREFIX, PEFT_PROMPT, PEFT_P_TUNING, PEFT_MULTITASK, PEFT_VERA, PEFT_LN, PEFT_ADALORA, PEFT_TYPES
};
const char *peft_type_name(enum peft_type t); /* "LORA" */

struct peft {
    char *path; /* of adapter_config.json */
    char *text; /* of it, as it is */
    json_t *config;
    enum peft_type type;
};
/* Refuses what a run would not do: other types, and keys that are neither read nor at a value without effect, each
 * by name.  On failure *out is empty. */
int peft_open(const char *folder, struct peft *out, struct err *e);
/* Refuses an adapter for another task than those a model of this shape does: one label or score a text, vectors, or text. */
int peft_check_task(const struct peft *p, const struct arch *a, struct err *e);
/* Whether it was trained for vectors of texts, without a head. */
bool peft_is_for_vectors(const struct peft *p);
void peft_close(struct peft *p);

/* α over r (or its root) of a module of this rank, by the module's name in the base model. */
int peft_scale(const struct peft *p, const char *module, int rank, double *out, struct err *e);
/* Says where the config's lists and patterns are not what the tensors are. */
int peft_compare(const struct peft *p, const char *const *module, const int *rank, size_t modules, struct notes *said,
                 struct err *e);

#endif
