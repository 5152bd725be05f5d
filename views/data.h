/* Own data on the screen: a file is found (folders and files, narrowed by typing), looked at (its columns
 * with their first rows, what each is read as, where the dev rows come from), and read as training would read
 * it, so that the import report is seen before anything trains.  What is taken is a description of rows, as
 * the command line gives it.
 *
 * The app lists a folder (EFFECT_FOLDER), looks at what was chosen (EFFECT_LOOK) and reads it (EFFECT_IMPORT)
 * into the pointers below, which are its own.  Finding is data_files.c, the rest data.c; data_rows.c joins
 * the two to a config. */
#ifndef VIEWS_DATA_H
#define VIEWS_DATA_H

#include <stdint.h>

#include "core/data/peek.h"
#include "core/train/config/config.h"
#include "views/canvas.h"

enum { DATA_PATH = 1024, DATA_OPTIONS = 4 };

struct data_entry {
    const char *name;
    bool folder, task;   /* a folder; one that is a task */
    bool read;           /* a file whose name tells a format that is read */
    int64_t bytes;
};

/* A folder's entries, in the order shown. */
struct data_folder {
    const char *path;    /* absolute; NULL: not listed yet */
    const struct data_entry *entry;
    int entries;
    int left_out;        /* beyond those that are listed */
    const char *failed;  /* why it cannot be listed, or NULL */
};

/* What was chosen, as it was looked at. */
struct data_look {
    const char *path;          /* NULL: nothing is chosen */
    bool folder;               /* a task's folder */
    bool known;                /* of a known layout: its columns are not asked for */
    bool list;                 /* a list of tasks */
    bool own_dev;              /* the folder has dev rows */
    const struct peek *peek;   /* NULL: a list, a known folder, or it cannot be looked at */
    const char *const *beside; /* other files of its folder that dev rows may come from, likely ones first */
    int besides;
    int likely;                /* so many of them are dev rows by their names */
    const char *failed;
};

/* What reading it gave. */
struct data_read {
    int64_t asked;             /* data_view.asked when it was asked for; 0: nothing was read yet */
    bool ok;
    const char *const *line;   /* the report, or why not */
    int lines;
};

struct data_view {
    /* ---- set by the app ---- */
    struct data_folder here;
    struct data_look look;
    struct data_read read;
    /* ---- finding ---- */
    char filter[256];          /* what was typed */
    int cursor, top;           /* among the entries that fit */
    /* ---- looking ---- */
    struct run_config config;  /* the rows as they would be taken; owned */
    enum peek_role role[PEEK_COLUMNS];
    int at;                    /* column under the cursor; behind the columns: an option */
    int first;                 /* first line shown */
    int dev;                   /* place in the list of where dev rows come from */
    bool again; /* the same file is looked at anew: what was set of its first line and kind stays */
    int64_t asked;             /* readings asked for so far */
    int report_top;
};

#endif
