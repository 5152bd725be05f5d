/* The layouts of GLUE, SuperGLUE and SciTail, by folder name or keys of an example.  Constant tables. */
#ifndef CORE_DATA_LAYOUTS_H
#define CORE_DATA_LAYOUTS_H

#include <jansson.h>
#include <stdbool.h>

#include "core/data/dataset.h"
#include "core/data/metrics.h"

struct layout {
    const char *name;        /* original spelling */
    const char *key;         /* lower case, without "-", "_" and "." */
    const char *prefix;      /* names of the task and its texts in text form (core/data/text_form.h) */
    const char *field[DATASET_FIELDS];
    enum data_choice kind;
    int classes;
    const char *class_name[3]; /* in the original numbering */
    const char *positive;
    enum metric_id metric;
    bool superglue;          /* labels may be names or numbers, and are absent in test files */
    bool scitail;            /* file names as in SciTail */
    /* As in struct dataset_options. */
    bool no_header;
    enum data_shape shape;
    const char *text_a, *text_b, *text_c, *label;
    struct other_columns other;
    const char *headless[4];
    const char *alias, *alias_of;
};

/* Returns the layout of a folder name ("SST-2", "sst2", "sst_2"), or NULL. */
const struct layout *layout_find(const char *folder_name);
/* Returns the SuperGLUE task with these distinctive keys, or NULL. */
const struct layout *layout_of_keys(const json_t *row);

#endif
