/* State of Data: a file is chosen (folders and files, filtered by typing), inspected (its columns with their
 * first examples, their roles, the source of the validation set), and read as training reads it, so that the
 * import report is visible before training.  The result is a description of a data set, as on the command
 * line.
 *
 * The app lists a folder (EFFECT_FOLDER), inspects the chosen file (EFFECT_LOOK) and reads it
 * (EFFECT_IMPORT) into the pointers below, which it owns.  Choosing is in data_files.c, the rest in data.c;
 * data_rows.c builds the config. */
#ifndef VIEWS_DATA_H
#define VIEWS_DATA_H

#include <stdint.h>

#include "core/data/peek.h"
#include "core/train/config/config.h"
#include "views/canvas.h"

enum { DATA_PATH = 1024, DATA_OPTIONS = 4 };

struct data_entry {
    const char *name;
    bool folder, task;   /* a folder; a folder that is a task */
    bool read;           /* a file with the extension of a supported format */
    int64_t bytes;
};

/* A folder's entries, in the order shown. */
struct data_folder {
    const char *path;    /* absolute; NULL: not listed yet */
    const struct data_entry *entry;
    int entries;
    int left_out;        /* entries that are not listed */
    const char *failed;  /* why it cannot be listed, or NULL */
};

/* The chosen file or folder after inspection. */
struct data_look {
    const char *path;          /* NULL: nothing is chosen */
    bool folder;               /* a task's folder */
    bool known;                /* of a known layout, with known columns */
    bool list;                 /* a list of tasks */
    bool own_dev;              /* the folder has a validation set */
    const struct peek *peek;   /* NULL: a list, a known folder, or unreadable */
    /* other files of its folder that may be the validation set, likely ones first */
    const char *const *beside;
    int besides;
    int likely;                /* how many of them are validation sets by their names */
    const char *failed;
};

/* The result of reading it. */
struct data_read {
    int64_t asked;             /* data_view.asked at the time of the request; 0: not read yet */
    bool ok;
    const char *const *line;   /* the report, or the error */
    int lines;
};

struct data_view {
    /* ---- set by the app ---- */
    struct data_folder here;
    struct data_look look;
    struct data_read read;
    /* ---- finding ---- */
    char filter[256];          /* the typed text */
    char marked[2048];         /* paths of task folders, to train on several: "a,b" */
    int cursor, top;           /* among the matching entries */
    /* ---- looking ---- */
    struct run_config config;  /* the resulting description of the data; owned */
    enum peek_role role[PEEK_COLUMNS];
    int at;                    /* column under the cursor; after the columns: an option */
    int first;                 /* first line shown */
    int dev;                   /* index in the list of sources of the validation set */
    bool again; /* the same file is inspected again: the header and label settings remain */
    int64_t asked;             /* number of read requests so far */
    int report_top;
};

#endif
