/* Methods that the user keeps by name, one a line, "NAME = TEXT", in a file of the user's own beside the
 * usual history; other lines (comments) stay as they are.  A name stands for its text and nothing else: what
 * is trained and recorded is the text.  Two programs may change the file; each change is of one moment. */
#ifndef APP_FILES_OWN_METHODS_H
#define APP_FILES_OWN_METHODS_H

#include <stdbool.h>

#include "core/base/buf.h"
#include "core/base/err.h"

struct own_method {
    char *name, *text;
    char *why; /* the text cannot be read: why; NULL: it can */
};
struct own_methods {
    struct own_method *of;
    int count;
    size_t room;
};

/* The file; caller frees; NULL with *e where the account has no home. */
char *own_methods_path(struct err *e);
/* In the file's order; a file that is not there holds none.  own_methods_release also on failure. */
int own_methods_read(const char *path, struct own_methods *out, struct err *e);
void own_methods_release(struct own_methods *m);
/* Keeps a method, in place of the one of that name (*replaced).  ERR_USAGE: a name that is none (blanks,
 * signs of a method's text, a published method's), a text that cannot be read. */
int own_methods_save(const char *path, const char *name, const char *text, bool *replaced, struct err *e);
int own_methods_forget(const char *path, const char *name, struct err *e); /* ERR_NOT_FOUND */
/* All methods of another such file, over those of the same names; none when one of them cannot be taken. */
int own_methods_import(const char *path, const char *from, int *count, struct err *e);
/* Those of the file as such a file. */
int own_methods_text(const char *path, struct buf *out, struct err *e);

#endif
