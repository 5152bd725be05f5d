/* The fields of a module and of a method's networks: one row describes each. The text form, the JSON form,
 * comparison, normalization, calls of presets and the choices on the screens are derived from the rows. The
 * fields of a function are in its row (functions.h), those of a network in the table of the network
 * (network.h). */
#ifndef CORE_METHOD_KEYS_H
#define CORE_METHOD_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/method/functions.h"

enum { KEY_TEXT = 64, SIZE_LIMIT = 1000000, LAYER_LIMIT = 4096 };
enum key_kind {
    KEY_OTHER,  /* shorthand for other fields */
    KEY_WHOLE,  /* int, from `least` to SIZE_LIMIT */
    KEY_NUMBER, /* double above 0 */
    KEY_WEIGHT, /* double, at least 0 */
    KEY_SHARE,  /* double, at least 0 and below 1 */
    KEY_REAL,   /* double */
    KEY_WORD,   /* an enum (as wide as int) whose values are indices of `words` */
    KEY_FLAG,   /* bool; yes, no */
    KEY_LAYERS, /* first and last layer */
};
enum { /* when a written form contains the field, in addition to key_takes() */
    KEY_ALWAYS = 1,
    KEY_TAKEN = 2,     /* JSON: always */
    KEY_SET = 4,       /* if it differs from `neutral` */
    KEY_NOT_DEFAULT = 8, /* text: if it differs from the function's default */
    KEY_IN_FULL = 16,  /* and in the canonical text */
    KEY_OF_CHANGE = 32 /* JSON: of modules that do not replace weights */
};
struct key {
    const char *name;   /* in the text form */
    const char *member; /* in the JSON form; NULL: written and read separately */
    unsigned bit;       /* of a module: TAKES_…, the functions that take it */
    enum key_kind kind;
    size_t offset;      /* in struct module, or in the network's struct */
    int least, neutral;
    const char *const *words;
    int first, count;   /* the text form takes words[first … count-1] */
    bool one_point;     /* in a preset: only if all modules that take it have the same value */
    int text, json;     /* KEY_… */
    const char *label;  /* label on the screens; NULL: not shown there */
    const char *description; /* description of the field, one sentence */
    /* For words and flags a sentence per value; NULL there: not offered. NULL: the description. */
    const char *const *each;
    const char *const *shown; /* words as shown on the screens; NULL: `words` */
    /* For comparison with a published method: the text between the value (or its word) and the place; "":
     * only the value. NULL: "name=value at". */
    const char *differs;
    const char *const *phrases;
    /* Returns whether it has an effect on this model (NULL: none is selected). NULL: it has. */
    bool (*acts)(const struct module *m, const struct arch *a);
    /* NULL: by the kind. */
    int (*set)(struct module *m, const char *value, struct err *e);
    void (*print)(const struct module *m, char out[KEY_TEXT]);
};

#define KEY_WORDS(list) .kind = KEY_WORD, .words = list, .count = (int)COUNT_OF(list)

const struct key *key_find(const char *name);
/* Returns a row of the table; NULL past the end. */
const struct key *key_at(int i);
/* Values that are part of another field's text: s in parentheses after comp, the inner width after source. */
extern const struct key key_scale, key_mid;
/* Returns whether this module has the field of the key (s: only if it can have a scale). */
bool key_takes(const struct key *k, const struct module *m);

/* `of`: the module, or the network's struct, to which the row's offset applies. */
/* Sets the field from its text; ERR_USAGE lists the allowed values. */
int key_set(const struct key *k, void *of, const char *value, struct err *e);
/* Writes the value in the text form. */
void key_print(const struct key *k, const void *of, char out[KEY_TEXT]);
/* Returns the value as an integer: the index of a word; for a flag, number or range of layers whether it is
 * set. */
int key_number(const struct key *k, const void *of);
bool key_same(const struct key *k, const void *a, const void *b);
void key_copy(const struct key *k, void *to, const void *from);
/* Returns the requirement that the value violates ("at least 1"); NULL: it is valid. */
const char *key_fault(const struct key *k, const void *of);
/* Returns the requirement that x violates ("above 0"); NULL: x is valid. */
const char *key_refuses(const struct key *k, double x);
/* Sets a word by its index, or a flag. */
void key_choose(const struct key *k, void *of, int value);
/* Returns whether the value is typed rather than selected from words. */
bool key_is_number(const struct key *k);

/* Appends to an error's message the nearest allowed word and all allowed words: "; did you mean gelu?
 * (known: relu, gelu)".  Returns e->code. */
int key_suggest(const char *given, const char *const *words, int count, struct err *e);
/* Returns the index of `value` among `count` words, or -1 with a message that lists them and names the
 * nearest. */
int key_word_of(const char *what, const char *value, const char *const *words, int count, struct err *e);

/* Writes "1-6", "4-", "5" or "all". */
void key_layers_text(const struct module *m, char out[KEY_TEXT]);

#endif
