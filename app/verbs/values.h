/* What may stand as an option's value, or beside the options: told from its placeholder or the verb's
 * synopsis, so that the
 * ':' line and the shells complete the same, and a new option is completed without more. */
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
    VALUE_FREE = 1 << 16, /* a number or text of one's own */
};

struct values {
    unsigned kinds;   /* enum value_kind; 0 with words alone, or of a placeholder that nothing is known of */
    bool list;        /* several, with commas between */
    struct buf words; /* with blanks between; one that ends with '(', ':' or '=' goes on */
};
/* values_release. */
void values_of_option(const struct option_spec *o, struct values *out);
void values_of_verb(const struct verb *v, struct values *out);
void values_release(struct values *v);

/* Presets, verbs, metrics and screens of a value's kinds, which any shell can be told, behind its words. */
void values_known(const struct values *v, struct buf *out);

#endif
