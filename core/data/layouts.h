/* GLUE's own file layouts, by the name of the folder.  Constant tables. */
#ifndef CORE_DATA_LAYOUTS_H
#define CORE_DATA_LAYOUTS_H

#include <stdbool.h>

#include "core/data/dataset.h"
#include "core/data/metrics.h"

struct layout {
    const char *name;        /* as GLUE spells it */
    const char *key;         /* lower case, letters and digits only */
    bool no_header;
    const char *text_a, *text_b, *label;
    enum data_choice kind;
    int classes;
    const char *class_name[3]; /* in the order in which GLUE numbers them */
    const char *positive;
    enum metric_id metric;
    const char *prefix;      /* the task's and the texts' names in text form (core/data/text_form.h) */
    const char *field[DATASET_FIELDS];
};

/* The layout that a folder's name means ("SST-2", "sst2", "sst_2"), or NULL. */
const struct layout *layout_find(const char *folder_name);

#endif
