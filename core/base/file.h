/* Files: reading whole, writing so that a crash leaves the old one, hashes, locks. */
#ifndef CORE_BASE_FILE_H
#define CORE_BASE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/err.h"

/* Reads a regular file of at most `limit` bytes.  On success the caller owns
 * *out (buf_release). */
int file_read(const char *path, size_t limit, struct buf *out, struct err *e);
/* The first `most` bytes of it; *whole: those are all.  *out ends with a NUL that is no part of it. */
int file_read_start(const char *path, size_t most, struct buf *out, bool *whole, struct err *e);
/* The same of an open file of any kind, to its end; `name` stands in messages.  fd stays open. */
int file_read_fd(int fd, const char *name, size_t limit, struct buf *out, struct err *e);

/* Writes bytes to "path.tmp-PID", flushes it to disk, renames it to `path` and
 * flushes the folder; mode 0600.  On failure nothing of it stays behind. */
int file_write(const char *path, const void *bytes, size_t n, struct err *e);

/* The same in pieces: open, add…, then commit or abandon.  `fresh` may be set after opening:
 * commit then fails (ERR_USAGE) when there is a file of that name, whenever it was made. */
struct file_aside {
    int fd;
    char *path, *temporary;
    bool fresh;
};
int file_aside_open(struct file_aside *f, const char *path, struct err *e);
int file_aside_add(struct file_aside *f, const void *bytes, size_t n, struct err *e);
int file_aside_commit(struct file_aside *f, struct err *e); /* abandons on failure */
void file_aside_abandon(struct file_aside *f);
/* Removes what writers that were killed left of this in a folder.  For one that nobody else writes into. */
void file_sweep_aside(const char *folder);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* Makes a folder and those above it; fine when it exists. */
int file_make_folder(const char *path, struct err *e);
/* Removes a folder and all that is in it, as far as that goes; follows no link. */
void file_remove_folder(const char *path);
bool file_is_empty_folder(const char *path); /* false also for what is none, or cannot be read */
/* "a/b"; caller frees. */
char *file_join(const char *folder, const char *name);
/* The last part of a path, without final slashes; caller frees. */
char *file_base_name(const char *path);
/* The folder of the running program; caller frees.  NULL when the system does not tell. */
char *file_program_folder(void);
/* A name that is safe to join to a folder: no '/', '\\', NUL, control character,
 * "." or "..", no leading '.', not empty. */
bool file_name_is_safe(const char *name);

/* Adds to `out` what changes whenever the file's content may have (which file it is, its size, when it
 * was written and when its entry was last touched), or "absent". */
void file_stamp(const char *path, struct buf *out);

/* Lower-case hexadecimal SHA-256, 64 characters and NUL. */
void sha256_hex(const void *bytes, size_t n, char out[65]);
int file_sha256(const char *path, char out[65], struct err *e);
/* In pieces. */
struct sha256;
struct sha256 *sha256_start(void);
void sha256_add(struct sha256 *h, const void *bytes, size_t n);
void sha256_finish(struct sha256 *h, char out[65]); /* frees h */

/* An exclusive lock on a file (created when absent), held until file_unlock or the
 * death of the process.  *fd is -1 and the result 0 when somebody else holds it and
 * `wait` is false. */
int file_lock(const char *path, bool wait, int *fd, struct err *e);
void file_unlock(int fd);

#endif
