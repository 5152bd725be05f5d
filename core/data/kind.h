/* What the rows of a split are labelled with. */
#ifndef CORE_DATA_KIND_H
#define CORE_DATA_KIND_H

enum data_kind {
    DATA_CLASSES,
    DATA_REGRESSION,
    DATA_TEXT, /* a target text to be written */
};
/* What the label column holds; DATA_KIND_AUTO decides and says why in the report. */
enum data_choice { DATA_KIND_AUTO, DATA_KIND_CLASSES, DATA_KIND_REGRESSION };

#endif
