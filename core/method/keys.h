/* The fields of a module and of a method's networks: one row describes each, and from the rows follow the
 * text form, the
 * JSON form, comparison, normalization, calls of presets and the choices on the screens.  Which fields a
 * function has is
 * in its row (functions.h); those of a network are in its own table (network.h). */
#ifndef CORE_METHOD_KEYS_H
#define CORE_METHOD_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/mem.h"
#include "core/method/functions.h"

enum { KEY_TEXT = 64, SIZE_LIMIT = 1000000, LAYER_LIMIT = 4096 };
enum key_kind {
    KEY_OTHER,  /* a shorthand for other fields */
    KEY_WHOLE,  /* int, from `least` to SIZE_LIMIT */
    KEY_NUMBER, /* double above 0 */
    KEY_WEIGHT, /* double, at least 0 */
    KEY_SHARE,  /* double, at least 0 and below 1 */
    KEY_REAL,   /* double */
    KEY_WORD,   /* an enum (as wide as int) whose values are indices of `words` */
    KEY_FLAG,   /* bool; yes, no */
    KEY_LAYERS, /* first and last layer */
};
enum { /* when a written form has the field, beside key_takes() */
    KEY_ALWAYS = 1,
    KEY_TAKEN = 2,     /* JSON: always */
    KEY_SET = 4,       /* where it differs from `neutral` */
    KEY_UNUSUAL = 8,   /* text: where it differs from the function's usual value */
    KEY_IN_FULL = 16,  /* and in the canonical text */
    KEY_OF_CHANGE = 32 /* JSON: of modules that do not replace weights */
};
struct key {
    const char *name;   /* in the text form */
    const char *member; /* of the JSON form; NULL: written and read by itself */
    unsigned bit;       /* of a module: TAKES_…, the functions that take it */
    enum key_kind kind;
    size_t offset;      /* in struct module, or in the network's struct */
    int least, neutral;
    const char *const *words;
    int first, count;   /* the text form takes words[first … count-1] */
    bool one_point;     /* in a preset: only where all modules that take it are alike */
    int text, json;     /* KEY_… */
    const char *label;  /* its name on the screens; NULL: none chooses it there */
    const char *says;   /* what the field is, a sentence */
    /* Of words and flags a sentence for each value; NULL there: it is not offered.  NULL: `says`. */
    const char *const *each;
    const char *const *shown; /* words as the screens have them; NULL: `words` */
    /* Where a method is compared with a published one: what is between the value (or `said` for it) and the
     * place; "": the
     * value says all.  NULL: "name=value at". */
    const char *differs;
    const char *const *said;
    /* Whether it makes a difference on this model (NULL: none is chosen yet).  NULL: it does. */
    bool (*acts)(const struct module *m, const struct arch *a);
    /* NULL: as the kind says. */
    int (*set)(struct module *m, const char *value, struct err *e);
    void (*print)(const struct module *m, char out[KEY_TEXT]);
};

#define KEY_WORDS(list) .kind = KEY_WORD, .words = list, .count = (int)COUNT_OF(list)

const struct key *key_find(const char *name);
/* The table, for listing; NULL past the end. */
const struct key *key_at(int i);
/* Values that are written inside another field's: s in brackets behind comp, the inner width behind source.
 * */
extern const struct key key_scale, key_mid;
/* Whether this module has what the key sets (s: only where there may be a scale). */
bool key_takes(const struct key *k, const struct module *m);

/* `of`: the module, or the network's struct, that the row's offset is in. */
/* Sets the field from the text form; ERR_USAGE names what is allowed. */
int key_set(const struct key *k, void *of, const char *value, struct err *e);
/* Writes its value as the text form has it. */
void key_print(const struct key *k, const void *of, char out[KEY_TEXT]);
/* Returns its value as an integer: of words the index, of a flag, number or range of layers whether it is
 * set. */
int key_number(const struct key *k, const void *of);
bool key_same(const struct key *k, const void *a, const void *b);
void key_copy(const struct key *k, void *to, const void *from);
/* Returns what the value must be where it is not; NULL: it is allowed. */
const char *key_fault(const struct key *k, const void *of);
/* Returns what a number must be where x is not: "above 0"; NULL: x is allowed. */
const char *key_refuses(const struct key *k, double x);
/* Sets a word by its index, or a flag. */
void key_choose(const struct key *k, void *of, int value);
/* Whether the value is typed rather than chosen from words. */
bool key_is_number(const struct key *k);

/* Appends to an error's message the nearest of the words that are allowed and all of them: "; did you mean
 * gelu? (known: relu, gelu)", `list` being " (known: ".  Returns e->code. */
int key_suggest(const char *given, const char *const *words, int count, const char *list, struct err *e);
/* Returns the index of `value` among `count` words, or -1 with a message that lists them and names the
 * nearest. */
int key_word_of(const char *what, const char *value, const char *const *words, int count, struct err *e);

/* "1-6", "4-", "5" or "all". */
void key_layers_text(const struct module *m, char out[KEY_TEXT]);

#endif
