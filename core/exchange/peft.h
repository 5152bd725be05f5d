/* A folder of the library PEFT: its config, checked (peft_config.c, peft_keys.c), and its tensors, read
 * (peft_read.c, peft_names.c) and written (peft_write.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_PEFT_H
#define CORE_EXCHANGE_PEFT_H

#include <jansson.h>
#include <stdbool.h>

#include "core/exchange/bag.h"
#include "core/exchange/import.h"
#include "core/exchange/parts.h"

/* petri's file next to those of PEFT, which PEFT ignores: {"id2label": {"0": NAME, …}}, as config.json
 * of a model names classes. */
#define PEFT_NAMES_FILE "petri.json"

enum peft_type {
    PEFT_LORA,
    PEFT_IA3,
    PEFT_PREFIX,
    PEFT_PROMPT,
    PEFT_P_TUNING,
    PEFT_MULTITASK,
    PEFT_VERA,
    PEFT_LN,
    PEFT_ADALORA,
    PEFT_TYPES
};
const char *peft_type_name(enum peft_type t); /* "LORA" */

/* Fields of a run by their keys of the config, in both directions. */
struct peft_values {
    bool root, dora; /* the scale is over the root of r; maps are decomposed */
    bool projected;  /* a prefix had a network behind it */
    double alpha, dropout;
    int seed, rows;  /* of VeRA's projection; of a prompt */
};
struct peft {
    char *path; /* of adapter_config.json */
    char *text; /* of it, as it is */
    json_t *config;
    enum peft_type type;
    struct peft_values values;
};
/* The effect of a key of the config (peft_keys.c has all of them): its value is followed; the tensors contain
 * its effect; it matters only for training or initialization; or it changes the computation in an unsupported
 * way, so that it is refused unless it is null, false, empty or `usual` (as JSON). */
enum peft_use { PEFT_FOLLOWED, PEFT_IN_TENSORS, PEFT_UNUSED, PEFT_REFUSED };
enum peft_kind { PEFT_NONE, PEFT_FLAG, PEFT_WHOLE, PEFT_NUMBER };
struct peft_key {
    const char *name;
    unsigned types; /* bits of enum peft_type that have it so */
    enum peft_use use;
    const char *usual;
    const char *written; /* JSON, in all that petri writes; NULL: the field's value, or nothing */
    enum peft_kind kind; /* of its field; PEFT_NONE: it has none */
    size_t offset;       /* in struct peft_values */
};
const struct peft_key *peft_keys(void); /* ends with a NULL name */
/* ERR_INPUT with the key and its value.  A key that the table does not have is refused as well, unless it is
 * null, false or empty, which is how PEFT writes what is off: what a later version switches on by it would be
 * left out unnoticed. */
int peft_check_keys(const struct peft *p, struct err *e);
/* Fills p->values from the config. */
int peft_read_values(struct peft *p, struct err *e);
/* Returns ERR_USAGE for a model whose PEFT adapters are not supported, otherwise 0. */
int peft_takes(const struct model *m, struct err *e);
/* Returns what the table writes of a type; the caller owns it. */
json_t *peft_write_values(enum peft_type type, const struct peft_values *values);
/* Returns a whole number where x is one but for rounding. */
json_t *peft_number(double x);

/* The tensors of a module of a function at a place, in folders of a type.  The first part's name tells the
 * place. */
enum { FORM_PARTS = 3 };
struct peft_form {
    enum fn fn;
    enum peft_type type;
    bool input; /* of a scale: of what the map reads */
    struct file_part part[FORM_PARTS];
};
const struct peft_form *peft_form_at(int i); /* NULL: past the end */
/* The map that a module of this form is at by the tap that it writes, and the tap by the map's output;
 * TAP_NONE: none. */
enum tap peft_form_map(const struct peft_form *f, enum tap write);
enum tap peft_form_write(const struct peft_form *f, enum tap map);
/* Returns what an alpha is divided by to give the scale. */
double peft_over(enum peft_type type, int rank, bool root);

/* Refuses what a run would not do: other types, and keys by peft_check_keys.  On failure *out is empty. */
int peft_open(const char *folder, struct peft *out, struct err *e);
/* Refuses an adapter for another task than those a model of this shape does: one label or score a text,
 * vectors, or text. */
int peft_check_task(const struct peft *p, const struct arch *a, struct err *e);
/* Whether it was trained for vectors of texts, without a head. */
bool peft_is_for_vectors(const struct peft *p);
/* Returns whether it is for the language model m: by its task, or if it names none, by the class of m. */
bool peft_is_for_language(const struct peft *p, const struct model *m);
void peft_close(struct peft *p);

/* Removes an adapter's name from the names of its tensors ("lora_A.default.weight") and adds a note.
 * ERR_INPUT if there are several. */
int peft_plain_names(struct bag *b, struct notes *said, struct err *e);

/* α over r (or its root) of a module of this rank, by the module's name in the base model. */
int peft_scale(const struct peft *p, const char *module, int rank, double *out, struct err *e);
/* ERR_INPUT for a module with tensors that the config leaves out (target_modules, exclude_modules,
 * layers_to_transform): PEFT does not load them.  Says where its lists and ranks are otherwise not what the
 * tensors are. */
int peft_compare(const struct peft *p, const char *const *module, const int *rank, size_t modules,
                 struct notes *said, struct err *e);

#endif
