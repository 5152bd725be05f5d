/* Output files whose path the user gives (exports, misclassified examples, pictures): all are opened here.
 *
 * An existing file is an error unless the user asked to overwrite it.  Never overwritten: the database and
 * its associated files (its lock, SQLite's files, the folders of the runs), any other SQLite database,
 * input files (data, a model's folder), and anything but a regular file. */
#ifndef APP_FILES_OUTFILE_H
#define APP_FILES_OUTFILE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/err.h"
#include "core/base/file.h"
#include "core/train/config/config.h"

struct outfile_guard {
    char *database; /* owned, as all below */
    char **read;    /* files, and folders whose files are read */
    size_t reads, room;
    bool overwrite;
};
/* Initializes the guard; `database`: path of the database, which may not exist. */
void outfile_guard_init(struct outfile_guard *g, const char *database, bool overwrite);
void outfile_guard_release(struct outfile_guard *g);
/* Protects an input file or folder; NULL is ignored. */
void outfile_guard_reads(struct outfile_guard *g, const char *path);
/* Protects the model and the data of a run, of all its tasks. */
void outfile_guard_run(struct outfile_guard *g, const struct run_config *c);

/* Checks whether a file can be created at `path`: returns 0, ERR_USAGE with the reason, or ERR_NOT_FOUND or
 * ERR_SYSTEM for its folder.  Call it before long work; opening checks again. */
int outfile_check(const struct outfile_guard *g, const char *path, struct err *e);
/* Checks a new folder in the same way; the function that creates it ensures that it is new or empty. */
int outfile_check_folder(const struct outfile_guard *g, const char *path, struct err *e);
/* Checks and opens; add, commit and abandon as for file_atomic.  A file that appears in the meantime is not
 * replaced and commit fails, unless the guard allows overwriting. */
int outfile_open(struct file_atomic *f, const struct outfile_guard *g, const char *path, struct err *e);
/* Commits what was added, or removes it when rc is not 0.  Returns rc, or the error of the commit. */
int outfile_end(struct file_atomic *f, int rc, struct err *e);
/* An open output file that is written in pieces: outfile_sink_add is the `write` of a store_sink whose
 * `self` points to this. */
struct outfile_sink {
    struct file_atomic file;
    struct err *e; /* set when adding fails */
};
int outfile_sink_add(void *self, const char *bytes, size_t n);
/* Writes a whole file. */
int outfile_write(const struct outfile_guard *g, const char *path, const void *bytes, size_t n,
                  struct err *e);

/* Returns the first of STEM+END, STEM-2+END, STEM-3+END … that does not exist; caller frees. */
char *outfile_new_name(const char *stem, const char *end);
/* Returns the letters and digits of s in lower case, joined by single dashes, for a file name; caller
 * frees. */
char *outfile_slug(const char *s);

#endif
