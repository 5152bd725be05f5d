/* Files that the user names or asks for (exports, wrong rows, pictures): every one is opened here.
 *
 * A file that exists is refused unless the user asked to write over it.  Never written over, whatever is
 * asked: the database and what stands beside it (its lock, SQLite's files, the runs' folders), any other
 * SQLite database, what is being read (data files, a model's folder), and what is no regular file. */
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
/* `database`: the file of the history, there or not. */
void outfile_guard_init(struct outfile_guard *g, const char *database, bool overwrite);
void outfile_guard_release(struct outfile_guard *g);
/* A file or a folder that is read; NULL is no work. */
void outfile_guard_reads(struct outfile_guard *g, const char *path);
/* A run's model and data, of all its tasks. */
void outfile_guard_run(struct outfile_guard *g, const struct run_config *c);

/* Whether a file may be made at `path`: 0, or ERR_USAGE with the reason, ERR_NOT_FOUND or ERR_SYSTEM for
 * its folder.  Asked for before long work; opening asks again. */
int outfile_check(const struct outfile_guard *g, const char *path, struct err *e);
/* The same for a new folder, whose maker sees to it that it is new or empty. */
int outfile_check_folder(const struct outfile_guard *g, const char *path, struct err *e);
/* Checks and opens; add, commit and abandon as of file_aside.  A file that appears in the meantime is
 * left alone and commit fails, unless the guard lets files be written over. */
int outfile_open(struct file_aside *f, const struct outfile_guard *g, const char *path, struct err *e);
/* Commits what was added; where rc says that it is not whole, nothing of it stays.  rc, or what the commit
 * came to. */
int outfile_end(struct file_aside *f, int rc, struct err *e);
/* An open file that text goes to bit by bit: outfile_sink_add is the `write` of a store_sink whose `self` is
 * this. */
struct outfile_sink {
    struct file_aside file;
    struct err *e; /* of what goes wrong in adding */
};
int outfile_sink_add(void *self, const char *bytes, size_t n);
/* All at once. */
int outfile_write(const struct outfile_guard *g, const char *path, const void *bytes, size_t n,
                  struct err *e);

/* The first of STEM+END, STEM-2+END, STEM-3+END … that is not there; caller frees. */
char *outfile_new_name(const char *stem, const char *end);
/* Letters, digits and single dashes of s, in lower case, for a file's name; caller frees. */
char *outfile_slug(const char *s);

#endif
