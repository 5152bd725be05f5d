/* An adapter on its way into a model: what the readers of folders share (reading.c).  Private to
 * core/exchange. */
#ifndef CORE_EXCHANGE_READING_H
#define CORE_EXCHANGE_READING_H

#include <jansson.h>

#include "core/exchange/assemble.h"
#include "core/exchange/bag.h"
#include "core/exchange/import.h"
#include "core/exchange/parts.h"

struct adapter_reading {
    struct model *m;
    struct imported *out;
    struct bag bag;
    struct assembly to;
    int classes;  /* of the head found; 0: none so far */
    bool single;  /* petri wrote it: one label a text, whatever "problem_type" the model's config has */
    bool language; /* it is for a causal language model */
    bool vectors; /* it is for vectors of texts: a head of the model's folder is not its */
    char **label; /* classes of them, as the folder names them; NULL: it does not */
    real **made;  /* values that were made of tensors */
    size_t mades, made_room;
};
/* Ends it; `out` and the model stay. */
void reading_release(struct adapter_reading *r);
/* Returns n values that live as long as the reading, or NULL without memory. */
real *reading_room(struct adapter_reading *r, size_t n);

/* The place of a map by its module's name as a base model has it, or NULL; the tap that is its output,
 * TAP_NONE where no method changes it. */
const struct tensor_info *reading_map(const struct model *m, const char *module);
enum tap reading_tap(const struct tensor_info *map);

/* ERR_INPUT about a tensor. */
int reading_refuse(const struct adapter_reading *r, const struct bag_tensor *t, const char *why,
                   struct err *e);
/* Returns ERR_INPUT with the shape found and `right`, the dimensions required; the hidden size of the model
 * is appended to a `right` that ends with "hidden size". */
int reading_refuse_shape(const struct adapter_reading *r, const struct bag_tensor *t, const char *right,
                         struct err *e);
/* rows 0: of a vector. */
int reading_shape(const struct adapter_reading *r, const struct bag_tensor *t, size_t rows, size_t cols,
                  struct err *e);
/* Takes what the library writes of a tensor that is there under its own name too; false: it is not such a
 * copy. */
bool reading_copy(struct adapter_reading *r, struct bag_tensor *t);
/* What a plan calls a tensor of a classifier, or NULL; takes it as that. */
const char *reading_head_name(const char *name);
int reading_head(struct adapter_reading *r, struct bag_tensor *t, const char *as, struct err *e);
/* Takes a tensor for the model's own of that name. */
int reading_base(struct adapter_reading *r, struct bag_tensor *t, const char *name, struct err *e);

/* ---- configs ---- */

enum { CONFIG_BYTES = 1 << 20 };
#define ADAPTER_CONFIG "adapter_config.json"
/* A folder's config, an object, which the caller owns; NULL with *e.  In either case *path and *text (as it
 * is) are the caller's to free. */
json_t *reading_config(const char *folder, const char *file, char **path, char **text, struct err *e);
/* Returns a member of such a file that is a string, or NULL; caller frees. */
char *reading_member(const char *folder, const char *file, const char *key);
/* Opens a folder's file of tensors, or if it is missing the pickled file of an older library, and notes
 * which file was read. */
int reading_tensors(const char *folder, const char *file, const char *pickled, struct bag *out,
                    struct notes *read, struct err *e);
/* Whether a value is null, false or empty. */
bool reading_is_nothing(const json_t *v);
/* ERR_INPUT, with key and value, for a key that is neither in `known`, a JSON object, nor in the list, which
 * ends with NULL, unless its value is null, false or empty. */
int reading_check_keys(const char *path, const json_t *config, const char *known, const char *const *more,
                       struct err *e);
int reading_refuse_key(const char *path, const char *key, const json_t *v, const char *why, struct err *e);

/* The description and the predictor, of all that was found.  base: what the run is to call its model, or
 * NULL. */
int reading_build(struct adapter_reading *r, const char *base, struct err *e);

#endif
