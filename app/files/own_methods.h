/* Methods that the user saved by name, one per line as "NAME = TEXT", in a file next to the default
 * database; other lines (comments) are preserved.  A name is only an abbreviation of its text: the text is
 * what is trained and recorded.  Several processes may change the file; each change is atomic. */
#ifndef APP_FILES_OWN_METHODS_H
#define APP_FILES_OWN_METHODS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct own_method {
    char *name, *text;
    char *why; /* why the text is invalid; NULL: it is valid */
};
struct own_methods {
    struct own_method *of;
    int count;
    size_t room;
};

/* Returns the path of the file; caller frees.  NULL with *e when the account has no home folder. */
char *own_methods_path(struct err *e);
/* Reads the methods in the order of the file; a missing file has none.  Call own_methods_release also after
 * a failure. */
int own_methods_read(const char *path, struct own_methods *out, struct err *e);
void own_methods_release(struct own_methods *m);
/* Saves a method and replaces the one of that name (*replaced).  ERR_USAGE for an invalid name (whitespace,
 * characters of a method's text, the name of a published method) or an invalid text. */
int own_methods_save(const char *path, const char *name, const char *text, bool *replaced, struct err *e);
int own_methods_forget(const char *path, const char *name, struct err *e); /* ERR_NOT_FOUND */
/* Adds all methods of another such file and replaces those of the same names; none when one is invalid. */
int own_methods_import(const char *path, const char *from, int *count, struct err *e);
/* Writes all methods in the format of the file. */
int own_methods_text(const char *path, struct buf *out, struct err *e);

#endif
