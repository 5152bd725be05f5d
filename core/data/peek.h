/* A look at a table or JSON Lines file before anything is read from it as rows: what its columns are called,
 * how its first rows look, and what each column probably is.  Nothing follows from the guess by itself: it is
 * shown, may be changed, and what is asked for is read by task_open (core/data/task.h) alone. */
#ifndef CORE_DATA_PEEK_H
#define CORE_DATA_PEEK_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/data/dataset.h"

/* What a column is read as. */
enum peek_role { PEEK_NONE, PEEK_TEXT, PEEK_TEXT_B, PEEK_LABEL, PEEK_SOURCE, PEEK_TARGET, PEEK_ROLES };
const char *peek_role_name(enum peek_role r); /* "–", "text", "text-b", "label", … */

enum { PEEK_ROWS = 6, PEEK_COLUMNS = 200, PEEK_CELL = 240 /* bytes of a cell that are kept */ };

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
    bool whole;               /* the rows looked at are all there are */
};

struct peek_how {
    enum data_header header;  /* DATA_HEADER_AUTO: guessed */
    const char *delimiter; /* as struct dataset_options.delimiter; NULL: what most separates the first line */
};

/* Looks at the first megabyte of a file.  ERR_USAGE (no format that is read), ERR_INPUT (not text, nothing in
 * it), ERR_NOT_FOUND, ERR_SYSTEM.  peek_release; *p is empty on failure. */
int peek_file(struct peek *p, const char *path, const struct peek_how *how, struct err *e);
void peek_release(struct peek *p);

/* Whether files of that name are read ("a.CSV"). */
bool peek_reads(const char *name);
/* The train file of a folder that is a task; NULL: it is none.  *known: its layout is one of those that are
 * known by the folder's name, so that its columns are not asked for.  Caller frees. */
char *peek_train_file(const char *folder, bool *known);

#endif
