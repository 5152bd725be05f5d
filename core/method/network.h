/* The written forms of a method's networks, the generator, the retriever, the generated head and the
 * classifier: of each a table of fields (keys.h).  The canonical text and the JSON form have a field at its
 * usual value too, unless its `text` is KEY_UNUSUAL. */
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
    const void *usual;       /* one that is there and says nothing */
    const struct key *key;
    int keys;
};

/* In the order of the written forms, NULL past the end. */
const struct network *network_at(int i);
const struct network *network_find(const char *name);

/* Which generator it is (source_generator), -1: none. */
int network_generator(const struct network *n);

bool network_is_on(const struct network *n, const struct method *m);
void network_take_usual(const struct network *n, struct method *m);
/* The same as *from has. */
void network_take(const struct network *n, struct method *m, const struct method *from);
bool network_equal(const struct network *n, const struct method *a, const struct method *b);
/* A key's value as network_set takes it. */
void network_value(const struct network *n, const struct method *m, const struct key *k, char out[KEY_TEXT]);
/* Takes a network out of a method. */
void network_drop(const struct network *n, struct method *m);
/* A generator, the second, a fusion, or a pruning, at its usual values where a module needs it and it is not
 * there, and none where nothing is made by it. */
void network_settle(struct method *m);
/* Sets one key. */
int network_set(const struct network *n, struct method *m, const char *key, const char *value, struct err *e);

/* All that a method has: behind the modules of a text, as members of its JSON object, and out of that. */
bool networks_on(const struct method *m);
bool networks_equal(const struct method *a, const struct method *b);
void networks_text(const struct method *m, bool full, struct buf *out);
/* Whether m has all that `base` has; then what it has otherwise, behind a text that brings those of
 * `base`. */
bool networks_extend(const struct method *m, const struct method *base);
void networks_changes(const struct method *m, const struct method *base, struct buf *out);
void networks_json(const struct method *m, struct buf *out);
int networks_from_json(const json_t *o, struct method *m, struct err *e);

#endif
