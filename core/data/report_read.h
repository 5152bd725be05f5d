/* The numbers of an import report that was kept as text (report_text), as every run keeps it. */
#ifndef CORE_DATA_REPORT_READ_H
#define CORE_DATA_REPORT_READ_H

#include <stdbool.h>
#include <stddef.h>

/* What the text has no line for is 0.  The file's rows are not among them: nothing is trained or scored on
 * those. */
struct report_facts {
    char *path;               /* of the file; "" where no line names one */
    size_t
        rows; /* examples of the split that are used: its counts of classes, repeats and tokens are of them */
    size_t split_rows;        /* of the split before a draw for evaluation */
    size_t unlabelled;
    int classes;
    size_t *class_rows;       /* of each class */
    char **class_name;
    size_t same, near, same_other_label;
    size_t across_same, across_near; /* rows that stand in an earlier split too */
    size_t max_len, cut_rows, vanished;
    size_t tokens;
    double unknown;           /* of the tokens, in percent with two decimals */
    size_t max_target, cut_targets;
    size_t unwritten;         /* targets that the tokenizer cannot write */
    char *signs; /* characters of theirs that it lacks, with blanks between; NULL: none is named */
};
/* Lines that are none of report_text's are passed over.  report_facts_release frees. */
void report_read(const char *text, struct report_facts *out);
void report_facts_release(struct report_facts *f);

#endif
