/* The text and JSON forms of a method's networks, such as the generator, the retriever, the generated head
 * and the classifier: each has a table of fields (keys.h). The canonical text and the JSON form contain
 * default values too, unless the `text` of the field is KEY_NOT_DEFAULT. */
#ifndef CORE_METHOD_NETWORK_H
#define CORE_METHOD_NETWORK_H

#include <stddef.h>

#include "core/base/buf.h"
#include "core/base/json.h"
#include "core/method/keys.h"
#include "core/method/space.h"

struct network {
    const char *name, *noun; /* "hyper", "generator" */
    size_t offset;           /* in struct method, of a struct whose first member is `bool on` */
    size_t size;
    const void *defaults;    /* the network with default settings */
    const struct key *key;
    int keys;
};

/* Returns the networks in the order of the written forms, NULL past the end. */
const struct network *network_at(int i);
const struct network *network_find(const char *name);

/* Returns the index of the generator (source_generator), -1: none. */
int network_generator(const struct network *n);

bool network_is_on(const struct network *n, const struct method *m);
void network_take_defaults(const struct network *n, struct method *m);
/* Copies the network from *from. */
void network_take(const struct network *n, struct method *m, const struct method *from);
bool network_equal(const struct network *n, const struct method *a, const struct method *b);
/* Writes a key's value in the form that network_set takes. */
void network_value(const struct network *n, const struct method *m, const struct key *k, char out[KEY_TEXT]);
/* Removes a network from a method. */
void network_drop(const struct network *n, struct method *m);
/* Adds generators, a fusion and pruning with default settings if a module needs them, and removes them if
 * none does. */
void network_settle(struct method *m);
/* Sets one key. */
int network_set(const struct network *n, struct method *m, const char *key, const char *value, struct err *e);

/* All networks of a method: as text after the modules, as members of its JSON object, and parsed from
 * JSON. */
bool networks_on(const struct method *m);
bool networks_equal(const struct method *a, const struct method *b);
void networks_text(const struct method *m, bool full, struct buf *out);
/* Returns whether m has all networks of `base`; the second function writes the settings that differ, to
 * follow a text that includes the networks of `base`. */
bool networks_extend(const struct method *m, const struct method *base);
void networks_changes(const struct method *m, const struct method *base, struct buf *out);
void networks_json(const struct method *m, struct buf *out);
int networks_from_json(const json_t *o, struct method *m, struct err *e);

#endif
