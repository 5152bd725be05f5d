/* What a file's bytes are before anything is read from them. */
#ifndef CORE_DATA_ENCODING_H
#define CORE_DATA_ENCODING_H

#include <stddef.h>

#include "core/base/err.h"

/* ERR_INPUT, naming the file, when the n bytes are UTF-16 or UTF-32 (with a byte order mark, or
 * without one by where their NULs lie), a Git LFS pointer, or a compressed file.  Bytes that are merely not
 * UTF-8 pass: they are read and counted. */
int encoding_check(const char *path, const char *s, size_t n, struct err *e);

#endif
