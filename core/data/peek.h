/* A preview of a table or JSON Lines file before import: column names, first rows, and the probable role of
 * each column.  The guess has no effect by itself: it is shown, can be changed, and only task_open
 * (core/data/task.h) reads the file. */
#ifndef CORE_DATA_PEEK_H
#define CORE_DATA_PEEK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/data/dataset.h"

/* The role of a column. */
enum peek_role { PEEK_NONE, PEEK_TEXT, PEEK_TEXT_B, PEEK_LABEL, PEEK_SOURCE, PEEK_TARGET, PEEK_ROLES };
const char *peek_role_name(enum peek_role r); /* "–", "text", "text-b", "label", … */

enum { PEEK_ROWS = 6, PEEK_COLUMNS = 200, PEEK_CELL = 240 /* stored bytes of a cell */ };

struct peek_column {
    char *name;               /* as in the file, "#1", … without a header */
    enum peek_role role;      /* guessed */
    char *cell[PEEK_ROWS];    /* of the first rows; NULL: absent */
};

struct peek {
    enum data_format format;  /* never DATA_AUTO */
    const char *delimiter;    /* of a table, static: "semicolon"; NULL: the one that its name tells */
    bool header;              /* its first line names the columns */
    int columns;
    struct peek_column column[PEEK_COLUMNS];
    int more_columns;         /* beyond those */
    int rows;                 /* of cells */
    bool whole;               /* the rows are the complete file */
};

struct peek_how {
    enum data_header header;  /* DATA_HEADER_AUTO: guessed */
    const char *delimiter; /* as struct dataset_options.delimiter; NULL: the one that splits the first line
                              into most fields */
};

/* Examines the first megabyte of a file.  ERR_USAGE (unsupported format), ERR_INPUT (not text, or empty),
 * ERR_NOT_FOUND, ERR_SYSTEM.  Released with peek_release; *p is empty on failure. */
int peek_file(struct peek *p, const char *path, const struct peek_how *how, struct err *e);
void peek_release(struct peek *p);

/* Returns whether files with that name are supported ("a.CSV"). */
bool peek_reads(const char *name);
/* Returns the training file of a task folder; NULL for other folders.  *known: its layout is known by name,
 * so that its columns need not be chosen.  Caller frees. */
char *peek_train_file(const char *folder, bool *known);

#endif
