/* A folder of the library PEFT: its config, checked (peft_config.c, peft_keys.c), and its tensors, read (peft_read.c, peft_names.c) and
 * written (peft_write.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_PEFT_H
#define CORE_EXCHANGE_PEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/exchange/bag.h"
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
/* What becomes of a key of the config (peft_keys.c has all of them): its value is followed; the tensors have what it says; it is used
 * by training or for a start alone; or it changes what is computed in a way that petri does not have, so that it is refused unless it
 * is null, false, empty or `usual` (as JSON). */
enum peft_use { PEFT_FOLLOWED, PEFT_IN_TENSORS, PEFT_UNUSED, PEFT_REFUSED };
struct peft_key {
    const char *name;
    unsigned types; /* bits of enum peft_type that have it so */
    enum peft_use use;
    const char *usual;
};
const struct peft_key *peft_keys(void); /* ends with a NULL name */
/* ERR_INPUT with the key and its value.  A key that the table does not have is refused as well, unless it is null, false or empty, which
 * is how PEFT writes what is off: what a later version switches on by it would be left out unnoticed. */
int peft_check_keys(const struct peft *p, struct err *e);

/* Refuses what a run would not do: other types, and keys by peft_check_keys.  On failure *out is empty. */
int peft_open(const char *folder, struct peft *out, struct err *e);
/* Refuses an adapter for another task than those a model of this shape does: one label or score a text, vectors, or text. */
int peft_check_task(const struct peft *p, const struct arch *a, struct err *e);
/* Whether it was trained for vectors of texts, without a head. */
bool peft_is_for_vectors(const struct peft *p);
void peft_close(struct peft *p);

/* Takes an adapter's name out of the names of its tensors ("lora_A.default.weight"), and says so.  ERR_INPUT where there are several. */
int peft_plain_names(struct bag *b, struct notes *said, struct err *e);

/* α over r (or its root) of a module of this rank, by the module's name in the base model. */
int peft_scale(const struct peft *p, const char *module, int rank, double *out, struct err *e);
/* ERR_INPUT for a module with tensors that the config leaves out (target_modules, exclude_modules, layers_to_transform): PEFT does not
 * load them.  Says where its lists and ranks are otherwise not what the tensors are. */
int peft_compare(const struct peft *p, const char *const *module, const int *rank, size_t modules, struct notes *said,
                 struct err *e);

#endif
