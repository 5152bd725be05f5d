/* The keys of the text form: one table says how the value of each is read; which a
 * function takes stands in its row (functions.h).  For the text form's files; key_layers_text also for who keeps methods. */
#ifndef CORE_METHOD_KEYS_H
#define CORE_METHOD_KEYS_H

#include <stdbool.h>

#include "core/method/functions.h"

struct key {
    const char *name;
    unsigned bit;     /* TAKES_…: of the functions that take it */
    bool one_point;   /* in a preset: only where all modules that take it are alike */
    int (*set)(struct module *m, const char *value, struct err *e);
};

const struct key *key_find(const char *name);
/* The table, for listing; NULL past the end. */
const struct key *key_at(int i);
/* Whether this module has what the key sets (s: only where there may be a scale). */
bool key_takes(const struct key *k, const struct module *m);

/* The value's word in a list of `count` names, or -1 with a message that lists them and
 * names the nearest. */
int key_word(const char *what, const char *value, const char *(*name)(int), int count,
             struct err *e);

/* The same of words that are listed. */
int key_word_of(const char *what, const char *value, const char *const *words, int count, struct err *e);

/* "1-6", "4-", "5" or "all". */
void key_layers_text(const struct module *m, char out[32]);

#endif
