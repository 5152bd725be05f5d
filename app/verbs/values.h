/* The possible values of options and positional arguments, derived from placeholders and the synopsis of the
 * verb, so that the ':' line and the shells complete the same without further declarations. */
#ifndef APP_VERBS_VALUES_H
#define APP_VERBS_VALUES_H

#include <stdbool.h>

#include "app/verbs/args.h"
#include "core/base/buf.h"

enum value_kind {
    VALUE_FILE = 1 << 0,
    VALUE_RUN = 1 << 1,
    VALUE_SWEEP = 1 << 2,
    VALUE_MODEL = 1 << 3,
    VALUE_TASK = 1 << 4,
    VALUE_METHOD = 1 << 5,
    VALUE_OWN_METHOD = 1 << 6,
    VALUE_FILTER = 1 << 7,
    VALUE_COLUMN = 1 << 8, /* of runs */
    VALUE_METRIC = 1 << 9,
    VALUE_SETTING = 1 << 11, /* NAME=VALUE */
    VALUE_TAG = 1 << 12,
    VALUE_VERB = 1 << 13,
    VALUE_LESSON = 1 << 14,
    VALUE_EXPERIMENT = 1 << 15,
    VALUE_FREE = 1 << 16, /* any number or text */
};

struct values {
    unsigned kinds;   /* enum value_kind; 0 with words only, or for an unknown placeholder */
    bool list;        /* several values separated by commas */
    struct buf words; /* separated by blanks; one that ends with '(', ':' or '=' continues */
};
/* Fill *out, which the caller frees with values_release. */
void values_of_option(const struct option_spec *o, struct values *out);
void values_of_verb(const struct verb *v, struct values *out);
void values_release(struct values *v);

/* Appends the words, and the presets, verbs and metrics of the value's kinds. */
void values_known(const struct values *v, struct buf *out);

#endif
