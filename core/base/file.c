#include "core/base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/mem.h"
#include "core/base/text.h"

static int file_system_error(struct err *e, const char *what, const char *path) {
    int code = errno == ENOENT ? ERR_NOT_FOUND : ERR_SYSTEM;
    return err_set(e, code, "%s: %s: %s", path, what, strerror(errno));
}

int file_read_fd(int fd, const char *name, size_t limit, struct buf *out, struct err *e) {
    char chunk[1 << 16];
    int rc = 0;
    *out = (struct buf)BUF_INIT;
    while (!rc) {
        ssize_t n = read(fd, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) rc = file_system_error(e, "cannot be read", name);
        if (n <= 0) break;
        buf_add(out, chunk, (size_t)n);
        if (out->size > limit)
            rc = err_set(e, ERR_INPUT, "%s: too large: the limit is %zu bytes", name, limit);
    }
    if (rc) buf_release(out);
    return rc;
}

/* Opens a regular file as *fd; *size is its size in bytes. */
static int file_open_regular(const char *path, int *fd, uint64_t *size, struct err *e) {
    struct stat st;
    int rc = 0;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0) return file_system_error(e, "cannot be opened", path);
    if (fstat(*fd, &st)) rc = file_system_error(e, "cannot be accessed", path);
    else if (!S_ISREG(st.st_mode)) rc = err_set(e, ERR_INPUT, "%s: not a regular file", path);
    else *size = (uint64_t)st.st_size;
    if (rc) close(*fd);
    return rc;
}

int file_read(const char *path, size_t limit, struct buf *out, struct err *e) {
    *out = (struct buf)BUF_INIT;
    uint64_t size;
    int fd, rc = file_open_regular(path, &fd, &size, e);
    if (rc) return rc;
    if (size > limit)
        rc = err_set(e, ERR_INPUT, "%s: too large: %lld bytes; the limit is %zu bytes", path, (long long)size,
                     limit);
    if (!rc) rc = file_read_fd(fd, path, limit, out, e);
    close(fd);
    return rc;
}

int file_read_start(const char *path, size_t most, struct buf *out, bool *whole, struct err *e) {
    *out = (struct buf)BUF_INIT;
    *whole = false;
    uint64_t size;
    int fd, rc = file_open_regular(path, &fd, &size, e);
    if (rc) return rc;
    char *chunk = xmalloc(most + 1);
    size_t have = 0;
    while (!rc && have <= most) { /* one more byte shows whether the file continues */
        ssize_t n = read(fd, chunk + have, most + 1 - have);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) rc = file_system_error(e, "cannot be read", path);
        if (n <= 0) break;
        have += (size_t)n;
    }
    *whole = have <= most;
    if (!rc) buf_add(out, chunk, have < most ? have : most);
    free(chunk);
    close(fd);
    return rc;
}

int file_atomic_open(struct file_atomic *f, const char *path, struct err *e) {
    f->path = xstrdup(path);
    f->temporary = xprintf("%s.tmp-%ld", path, (long)getpid());
    f->fresh = false;
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (f->fd >= 0) return 0;
    int rc = file_system_error(e, "cannot be created", f->temporary);
    free(f->path);
    free(f->temporary);
    return rc;
}

int file_atomic_add(struct file_atomic *f, const void *bytes, size_t n, struct err *e) {
    const char *at = bytes;
    while (n) {
        ssize_t done = write(f->fd, at, n > (1u << 30) ? 1u << 30 : n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return file_system_error(e, "cannot be written", f->temporary);
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

static void aside_free(struct file_atomic *f) {
    free(f->path);
    free(f->temporary);
    f->path = f->temporary = NULL;
    f->fd = -1;
}

void file_atomic_abandon(struct file_atomic *f) {
    if (!f->path) return;
    if (f->fd >= 0) close(f->fd);
    unlink(f->temporary);
    aside_free(f);
}

/* Makes a rename durable; folders that cannot be opened or synced are skipped. */
static void sync_folder_of(const char *path) {
    char *folder = xstrdup(path);
    char *slash = strrchr(folder, '/');
    if (slash == folder) slash[1] = '\0';
    else if (slash) *slash = '\0';
    int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    free(folder);
}

/* Renames the temporary file; with `fresh` it never replaces another file, even on file systems without such
 * a rename (where a link is refused as well). */
static int give_name(const struct file_atomic *f, struct err *e) {
    if (!f->fresh)
        return rename(f->temporary, f->path) ? file_system_error(e, "cannot be renamed to", f->path) : 0;
    if (!renameat2(AT_FDCWD, f->temporary, AT_FDCWD, f->path, RENAME_NOREPLACE)) return 0;
    if ((errno == EINVAL || errno == ENOSYS) && !link(f->temporary, f->path)) {
        unlink(f->temporary);
        return 0;
    }
    if (errno == EEXIST) return err_set(e, ERR_USAGE, "%s: already exists", f->path);
    return file_system_error(e, "cannot be renamed to", f->path);
}

int file_atomic_commit(struct file_atomic *f, struct err *e) {
    int rc = 0;
    if (fsync(f->fd)) rc = file_system_error(e, "cannot be flushed", f->temporary);
    if (close(f->fd) && !rc) rc = file_system_error(e, "cannot be closed", f->temporary);
    f->fd = -1;
    if (!rc) rc = give_name(f, e);
    if (rc) {
        file_atomic_abandon(f);
        return rc;
    }
    sync_folder_of(f->path);
    aside_free(f);
    return 0;
}

void file_sweep_temporary(const char *folder) {
    DIR *d = opendir(folder);
    for (struct dirent *f; d && (f = readdir(d));) {
        const char *mark = strstr(f->d_name, ".tmp-");
        if (!mark || !mark[5] || strspn(mark + 5, "0123456789") != strlen(mark + 5)) continue;
        unlinkat(dirfd(d), f->d_name, 0);
    }
    if (d) closedir(d);
}

int file_write(const char *path, const void *bytes, size_t n, struct err *e) {
    struct file_atomic f;
    int rc = file_atomic_open(&f, path, e);
    if (rc) return rc;
    rc = file_atomic_add(&f, bytes, n, e);
    if (rc) {
        file_atomic_abandon(&f);
        return rc;
    }
    return file_atomic_commit(&f, e);
}

bool file_exists(const char *path) {
    struct stat st;
    return stat(path, &st) == 0;
}

void file_stamp(const char *path, struct buf *out) {
    struct stat st;
    if (stat(path, &st)) {
        buf_puts(out, " absent");
        return;
    }
    buf_printf(out, " %llu %llu %lld %lld.%09ld %lld.%09ld", (unsigned long long)st.st_dev,
               (unsigned long long)st.st_ino, (long long)st.st_size, (long long)st.st_mtim.tv_sec,
               st.st_mtim.tv_nsec, (long long)st.st_ctim.tv_sec, st.st_ctim.tv_nsec);
}

bool file_is_folder(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int file_remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at) {
    (void)st, (void)at;
    if (kind == FTW_DP) rmdir(path);
    else unlink(path);
    return 0;
}

void file_remove_folder(const char *path) { nftw(path, file_remove_entry, 32, FTW_DEPTH | FTW_PHYS); }

bool file_is_empty_folder(const char *path) {
    DIR *d = opendir(path);
    if (!d) return false;
    bool empty = true;
    for (struct dirent *x; empty && (x = readdir(d));)
        empty = !strcmp(x->d_name, ".") || !strcmp(x->d_name, "..");
    closedir(d);
    return empty;
}

int file_make_folder(const char *path, struct err *e) {
    char *part = xstrdup(path);
    int rc = 0;
    for (char *p = part + 1; !rc; p++) {
        if (*p != '/' && *p) continue;
        char end = *p;
        *p = '\0';
        if (mkdir(part, 0700) && errno != EEXIST) rc = file_system_error(e, "cannot be created", part);
        *p = end;
        if (!end) break;
    }
    if (!rc && !file_is_folder(path))
        rc = err_set(e, ERR_SYSTEM, "%s: exists and is not a folder", path);
    free(part);
    return rc;
}

char *file_join(const char *folder, const char *name) {
    return xprintf("%s%s%s", folder, text_ends(folder, "/") || !*folder ? "" : "/", name);
}

char *file_base_name(const char *path) {
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/') n--;
    size_t start = n;
    while (start && path[start - 1] != '/') start--;
    return xstrndup(path + start, n - start);
}

char *file_program_folder(void) {
    char path[4096];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0) return NULL;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (!slash || slash == path) return NULL;
    *slash = '\0';
    return xstrdup(path);
}

bool file_name_is_safe(const char *name) {
    if (!*name || *name == '.') return false;
    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        if (*p < 0x20 || *p == 0x7F || *p == '/' || *p == '\\') return false;
    return true;
}

struct sha256 {
    EVP_MD_CTX *context;
};

struct sha256 *sha256_start(void) {
    struct sha256 *h = xmalloc(sizeof *h);
    h->context = EVP_MD_CTX_new();
    if (!h->context || !EVP_DigestInit_ex(h->context, EVP_sha256(), NULL))
        BUG("the crypto library does not provide SHA-256");
    return h;
}

void sha256_add(struct sha256 *h, const void *bytes, size_t n) {
    if (!EVP_DigestUpdate(h->context, bytes, n)) BUG("SHA-256 failed");
}

void sha256_finish(struct sha256 *h, char out[65]) {
    unsigned char digest[32];
    if (!EVP_DigestFinal_ex(h->context, digest, NULL)) BUG("SHA-256 failed");
    for (int i = 0; i < 32; i++) {
        out[2 * i] = "0123456789abcdef"[digest[i] >> 4];
        out[2 * i + 1] = "0123456789abcdef"[digest[i] & 15];
    }
    out[64] = '\0';
    EVP_MD_CTX_free(h->context);
    free(h);
}

void sha256_hex(const void *bytes, size_t n, char out[65]) {
    struct sha256 *h = sha256_start();
    sha256_add(h, bytes, n);
    sha256_finish(h, out);
}

int file_sha256(const char *path, char out[65], struct err *e) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return file_system_error(e, "cannot be opened", path);
    struct sha256 *h = sha256_start();
    char *chunk = xmalloc(1 << 20);
    int rc = 0;
    for (;;) {
        ssize_t n = read(fd, chunk, 1 << 20);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) rc = file_system_error(e, "cannot be read", path);
        if (n <= 0) break;
        sha256_add(h, chunk, (size_t)n);
    }
    sha256_finish(h, out);
    free(chunk);
    close(fd);
    return rc;
}

int file_lock(const char *path, bool wait, int *fd, struct err *e) {
    *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (*fd < 0) return file_system_error(e, "cannot be opened", path);
    while (flock(*fd, LOCK_EX | (wait ? 0 : LOCK_NB))) {
        if (errno == EINTR) continue;
        int why = errno;
        close(*fd);
        *fd = -1;
        errno = why;
        return why == EWOULDBLOCK ? 0 : file_system_error(e, "cannot be locked", path);
    }
    return 0;
}

void file_unlock(int fd) {
    if (fd >= 0) close(fd);
}
