/* Files: reading, atomic writing, hashes and locks. */
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
/* Reads the first `most` bytes; *whole tells whether these are all.  *out is followed by a NUL. */
int file_read_start(const char *path, size_t most, struct buf *out, bool *whole, struct err *e);
/* Reads an open file of any kind to its end; `name` is used in messages.  fd stays open. */
int file_read_fd(int fd, const char *name, size_t limit, struct buf *out, struct err *e);

/* Writes bytes to "path.tmp-PID", flushes it to disk, renames it to `path` and flushes the folder; mode 0600.
 * On failure the temporary file is removed. */
int file_write(const char *path, const void *bytes, size_t n, struct err *e);

/* Writes a file atomically in pieces: open, add…, then commit or abandon.  With `fresh`, set after opening,
 * commit fails (ERR_USAGE) if the file exists by then. */
struct file_atomic {
    int fd;
    char *path, *temporary;
    bool fresh;
};
int file_atomic_open(struct file_atomic *f, const char *path, struct err *e);
int file_atomic_add(struct file_atomic *f, const void *bytes, size_t n, struct err *e);
int file_atomic_commit(struct file_atomic *f, struct err *e); /* abandons on failure */
void file_atomic_abandon(struct file_atomic *f);
/* Removes temporary files of killed writers from a folder to which no other process writes. */
void file_sweep_temporary(const char *folder);

bool file_exists(const char *path);
bool file_is_folder(const char *path);
/* Creates a folder and its parents; succeeds if it exists. */
int file_make_folder(const char *path, struct err *e);
/* Removes a folder and its content as far as possible; does not follow links. */
void file_remove_folder(const char *path);
bool file_is_empty_folder(const char *path); /* false also if it is not a folder or cannot be read */
/* Returns "a/b"; caller frees. */
char *file_join(const char *folder, const char *name);
/* Returns the last component of a path, without trailing slashes; caller frees. */
char *file_base_name(const char *path);
/* Returns the folder of the running program, NULL when the system does not report it; caller frees. */
char *file_program_folder(void);
/* Returns whether a name can be joined to a folder safely: no '/', '\\', NUL, control character, "." or "..",
 * no leading '.', not empty. */
bool file_name_is_safe(const char *name);

/* Appends a fingerprint that changes whenever the file's content may have changed (identity, size, times of
 * the last write and of the last change of its entry), or "absent". */
void file_stamp(const char *path, struct buf *out);

/* Computes the lower-case hexadecimal SHA-256, 64 characters and NUL. */
void sha256_hex(const void *bytes, size_t n, char out[65]);
int file_sha256(const char *path, char out[65], struct err *e);
/* Computes it in pieces. */
struct sha256;
struct sha256 *sha256_start(void);
void sha256_add(struct sha256 *h, const void *bytes, size_t n);
void sha256_finish(struct sha256 *h, char out[65]); /* frees h */

/* Takes an exclusive lock on a file (created when absent), released by file_unlock or at the end of the
 * process.  With `wait` false, *fd is -1 and the result 0 when another process has the lock. */
int file_lock(const char *path, bool wait, int *fd, struct err *e);
void file_unlock(int fd);

#endif
