/* The kinds of labels of a split. */
#ifndef CORE_DATA_KIND_H
#define CORE_DATA_KIND_H

enum data_kind {
    DATA_CLASSES,
    DATA_REGRESSION,
    DATA_TEXT, /* a target text to generate */
    DATA_MASKED, /* none: words of the text are masked and predicted */
};
/* The content of the label column; DATA_KIND_AUTO infers it and reports the reason. */
enum data_choice { DATA_KIND_AUTO, DATA_KIND_CLASSES, DATA_KIND_REGRESSION };

#endif
