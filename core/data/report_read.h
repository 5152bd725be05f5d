/* Parses the numbers of an import report stored as text (report_text), as in every run. */
#ifndef CORE_DATA_REPORT_READ_H
#define CORE_DATA_REPORT_READ_H

#include <stdbool.h>
#include <stddef.h>

/* Facts without a line in the text are 0.  Counts of the whole file are not included: only the split
 * matters. */
struct report_facts {
    char *path;               /* of the file; "" if absent */
    size_t examples;          /* used examples of the split; the counts below refer to them */
    size_t split_examples;    /* of the split before a draw for evaluation */
    size_t unlabeled;
    int classes;
    size_t *class_examples;   /* of each class */
    char **class_name;
    size_t same, near, same_other_label;
    size_t across_same, across_near; /* examples that are also in an earlier split */
    size_t max_len, cut_examples, vanished;
    size_t tokens;
    double unknown;           /* of the tokens, in percent with two decimals */
    size_t max_target, cut_targets;
    size_t unwritten;         /* targets that the tokenizer cannot encode */
    char *signs; /* their characters without a token, separated by blanks; NULL: none */
};
/* Parses a report, including those of earlier versions; other lines are ignored.  Released with
 * report_facts_release. */
void report_read(const char *text, struct report_facts *out);
void report_facts_release(struct report_facts *f);

#endif
