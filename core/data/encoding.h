/* Detects unsupported encodings of a file. */
#ifndef CORE_DATA_ENCODING_H
#define CORE_DATA_ENCODING_H

#include <stddef.h>

#include "core/base/err.h"

/* Returns ERR_INPUT, naming the file, for UTF-16 or UTF-32 (with a byte order mark, or detected by NULs), a
 * Git LFS pointer, or a compressed file.  Invalid UTF-8 is accepted: it is read and counted. */
int encoding_check(const char *path, const char *s, size_t n, struct err *e);

#endif
