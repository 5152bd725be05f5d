#include "core/model/packings.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/mem.h"

enum { FILES = 64 }; /* that are kept open; the values of a model in more files are not released */

struct weight_state {
    struct packed *packed;     /* made on first use */
    atomic_bool kept;          /* its float32 values were read: they remain */
    bool released;
    const struct entry *entry; /* NULL: unknown */
};

struct packings {
    pthread_mutex_t lock;
    bool any; /* under the lock: a tensor was packed */
    struct weights files;
    struct entries found;
    struct weight_state of[];
};

void model_make_packings(struct model *m) {
    struct packings *p = xcalloc(1, sizeof *p + (size_t)m->tensors * sizeof *p->of);
    pthread_mutex_init(&p->lock, NULL);
    m->packings = p;
}

void packings_read_from(struct model *m, struct weights *files, struct entries *found) {
    struct packings *p = m->packings;
    if (files->files > FILES) return;
    p->files = *files;
    p->found = *found;
    *files = (struct weights){ 0 };
    *found = (struct entries){ 0 };
    for (int i = 0; i < m->tensors; i++) p->of[i].entry = entries_find(&p->found, m->tensor[i].name);
}

/* ---- releasing and reading again ---- */

static size_t weight_count(const struct model *m, int i) {
    return (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols;
}

/* Returns the first of the pages that contain only values of tensor i, and their bytes. */
static void *own_pages(const struct model *m, int i, size_t *bytes) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)m->weight[i],
                    from = (first + page - 1) & ~(page - 1),
                    to = (first + weight_count(m, i) * sizeof(real)) & ~(page - 1);
    *bytes = to > from ? to - from : 0;
    return (void *)from;
}

/* Released pages cannot be accessed, so that no reader takes zeros for values. */
static void release_values(const struct model *m, int i) {
    struct weight_state *w = &m->packings->of[i];
    size_t bytes;
    void *pages = own_pages(m, i, &bytes);
    if (!bytes || w->kept || !w->entry || !st_has_parts(w->entry->tensor)) return;
    if (st_has_changed(w->entry->file->st)) return;
    madvise(pages, bytes, MADV_NOHUGEPAGE);
    if (mprotect(pages, bytes, PROT_NONE)) return;
    madvise(pages, bytes, MADV_DONTNEED);
    w->released = true;
}

static void make_accessible(const struct model *m, int i) {
    size_t bytes;
    void *pages = own_pages(m, i, &bytes);
    BUG_IF(mprotect(pages, bytes, PROT_READ | PROT_WRITE));
    m->packings->of[i].released = false;
}

static int read_again(const struct model *m, int i, size_t first, size_t n, real *to, struct err *e) {
    const struct entry *x = m->packings->of[i].entry;
    int rc = st_read_part(x->file->st, x->tensor, first, n, to, e);
    if (rc || !st_has_changed(x->file->st)) return rc;
    char *path = weights_path(m->folder, x->file);
    rc = err_set(e, ERR_INPUT, "%s: changed while the model was in use; start petri again", path);
    free(path);
    return rc;
}

const real *model_weight(const struct model *m, int i) {
    struct packings *p = m->packings;
    BUG_IF(i < 0 || i >= m->tensors);
    if (!p || !m->weight[i] || atomic_load(&p->of[i].kept)) return m->weight[i];
    struct err e = ERR_INIT;
    struct mem_guard *guard = mem_guard_pause();
    pthread_mutex_lock(&p->lock);
    if (p->of[i].released) {
        make_accessible(m, i);
        if (read_again(m, i, 0, weight_count(m, i), m->weight[i], &e)) BUG("%s", e.text);
    }
    atomic_store(&p->of[i].kept, true);
    pthread_mutex_unlock(&p->lock);
    mem_guard_resume(guard);
    return m->weight[i];
}

const real *packings_look(const struct model *m, int i, size_t first, size_t n, real *room) {
    struct packings *p = m->packings;
    struct err ignored = ERR_INIT;
    if (!p || !p->of[i].entry) return m->weight[i] + first;
    pthread_mutex_lock(&p->lock);
    bool released = p->of[i].released;
    if (!released) atomic_store(&p->of[i].kept, true);
    pthread_mutex_unlock(&p->lock);
    if (!released) return m->weight[i] + first;
    return read_again(m, i, first, n, room, &ignored) ? NULL : room;
}

/* ---- packing ---- */

/* Packs tensor i; returns 0, or the size of a block that could not be allocated.  The lock is held. */
static size_t pack_weight(const struct model *m, int i) {
    struct weight_state *w = &m->packings->of[i];
    size_t failed = 0;
    if (w->packed) return 0;
    w->packed = packed_new(m->tensor[i].rows, m->tensor[i].cols, m->weight[i], &failed);
    if (w->packed) release_values(m, i);
    return failed;
}

/* The output map of an encoder–decoder model is larger than all others: it is packed before the first of
 * them, while the memory of a pass is small. */
static size_t pack_largest(const struct model *m) {
    struct packings *p = m->packings;
    int i = p->any ? -1 : arch_find(m->tensor, m->tensors, ROLE_LM_HEAD, STACK_DECODER, SUB_EMBED, -1);
    p->any = true;
    return i < 0 ? 0 : pack_weight(m, i);
}

const struct packed *model_packed(const struct model *m, int i) {
    struct packings *p = m->packings;
    BUG_IF(i < 0 || i >= m->tensors || !m->weight[i]);
    if (!p) return NULL;
    pthread_mutex_lock(&p->lock);
    size_t failed = pack_largest(m);
    if (!failed) failed = pack_weight(m, i);
    const struct packed *packed = p->of[i].packed;
    pthread_mutex_unlock(&p->lock);
    if (failed) mem_lack(failed);
    return packed;
}

size_t model_bytes(const struct model *m) {
    struct packings *p = m->packings;
    size_t bytes = 0;
    if (p) pthread_mutex_lock(&p->lock);
    for (int i = 0; i < m->tensors; i++) {
        if (m->weight[i] && !(p && p->of[i].released)) bytes += weight_count(m, i) * sizeof(real);
        if (p && p->of[i].packed) bytes += packed_bytes(p->of[i].packed);
    }
    if (p) pthread_mutex_unlock(&p->lock);
    return bytes;
}

void model_free_packings(struct model *m) {
    struct packings *p = m->packings;
    if (!p) return;
    for (int i = 0; i < m->tensors; i++) {
        packed_free(p->of[i].packed);
        if (p->of[i].released) make_accessible(m, i);
    }
    entries_release(&p->found);
    weights_close(&p->files);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
