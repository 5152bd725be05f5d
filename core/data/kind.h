/* What the rows of a split are labelled with. */
#ifndef CORE_DATA_KIND_H
#define CORE_DATA_KIND_H

enum data_kind {
    DATA_CLASSES,
    DATA_REGRESSION,
    DATA_TEXT, /* a target text to be written */
    DATA_MASKED, /* nothing: words of the text itself are masked and guessed */
};
/* What the label column holds; DATA_KIND_AUTO decides and says why in the report. */
enum data_choice { DATA_KIND_AUTO, DATA_KIND_CLASSES, DATA_KIND_REGRESSION };

#endif
