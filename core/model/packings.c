#include "core/model/packings.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/clock.h"
#include "core/base/mem.h"

enum { FILES = 64 }; /* that are kept open; the values of a model in more files are not released */

/* A matrix of the file that is in memory for products, in one of its forms. */
struct loan {
    struct lender lender;
    real *value;           /* one of them: it is in memory */
    struct packed *packed;
    double bytes; /* that are counted */
    int users;
    bool made;             /* false while a thread makes it, or it is not in memory */
    bool busy;             /* a thread makes it */
    uint64_t last;         /* larger: used later */
};
enum { LOAN_VALUES, LOAN_PACKED, LOANS };

struct weight_state {
    struct packed *packed;     /* made on first use */
    atomic_bool kept;          /* its float32 values were read: they remain */
    bool released;
    const struct entry *entry; /* NULL: unknown */
    real *own;                 /* of a tensor in the file: its values if they remain in memory */
    struct loan loan[LOANS];
};

struct packings {
    pthread_mutex_t lock;
    bool any; /* under the lock: a tensor was packed */
    pthread_cond_t settled;  /* a loan is made, or cannot be */
    double lent, most;       /* bytes of loans in memory; limit for those not in use */
    uint64_t uses;
    struct weights files;
    struct entries found;
    struct weight_state of[];
};

static size_t weight_count(const struct model *m, int i) {
    return (size_t)m->tensor[i].rows * (size_t)m->tensor[i].cols;
}

void model_make_packings(struct model *m) {
    struct packings *p = xcalloc(1, sizeof *p + (size_t)m->tensors * sizeof *p->of);
    pthread_mutex_init(&p->lock, NULL);
    clock_cond_init(&p->settled);
    m->packings = p;
}

/* ---- releasing and reading again ---- */

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

real *packings_elsewhere(void) {
    static real elsewhere;
    return &elsewhere;
}

int packings_read(const struct model *m, int i, real *out, struct err *e) {
    const struct entry *x = m->packings->of[i].entry;
    return st_read(x->file->st, x->tensor, out, e);
}

/* Reads the values of a tensor in the file, which must not have changed. */
static void read_in_file(const struct model *m, int i, real *out) {
    struct err e = ERR_INIT;
    const struct weights_file *f = m->packings->of[i].entry->file;
    if (packings_read(m, i, out, &e)) BUG("%s", e.text);
    if (st_has_changed(f->st)) BUG("%s: changed while the model was in use; start petri again", f->name);
}

/* Returns the values of a tensor in the file, which then remain in memory. */
static const real *keep_in_memory(const struct model *m, int i) {
    struct packings *p = m->packings;
    struct weight_state *w = &p->of[i];
    pthread_mutex_lock(&p->lock);
    if (!w->own && (w->own = mem_try(weight_count(m, i), sizeof(real)))) {
        read_in_file(m, i, w->own);
        atomic_store(&w->kept, true);
    }
    pthread_mutex_unlock(&p->lock);
    if (!w->own) mem_lack(weight_count(m, i) * sizeof(real));
    return w->own;
}

void model_read_weight(const struct model *m, int i, real *out) {
    if (m->weights_in == WEIGHTS_FILE && !atomic_load(&m->packings->of[i].kept)) read_in_file(m, i, out);
    else memcpy(out, model_weight(m, i), weight_count(m, i) * sizeof *out);
}

const real *model_weight(const struct model *m, int i) {
    struct packings *p = m->packings;
    BUG_IF(i < 0 || i >= m->tensors);
    if (!p || !m->weight[i]) return m->weight[i];
    if (atomic_load(&p->of[i].kept)) return p->of[i].own ? p->of[i].own : m->weight[i];
    if (m->weights_in == WEIGHTS_FILE) return keep_in_memory(m, i);
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

/* ---- lending ---- */

/* At most a quarter of the maps: some layers at a time, which all threads of a step use one after another. */
double model_lent_bytes(double parameters) {
    static const double most = 512 << 20;
    return fmin(most, sizeof(real) * parameters / 4);
}

static struct loan *loan_of(const struct lender *l) {
    const struct model *m = l->self;
    return &m->packings->of[l->index].loan[l->packs ? LOAN_PACKED : LOAN_VALUES];
}

static double loan_bytes(const struct model *m, const struct loan *x) {
    return x->value    ? (double)(weight_count(m, x->lender.index) * sizeof(real))
           : x->packed ? (double)packed_bytes(x->packed)
                       : 0;
}

static void count_loan(struct packings *p, struct loan *x, double bytes) {
    p->lent += bytes - x->bytes;
    x->bytes = bytes;
}

static bool same_shape(const struct model *m, const struct loan *a, const struct loan *b) {
    const struct tensor_info *x = &m->tensor[a->lender.index], *y = &m->tensor[b->lender.index];
    return a->lender.packs == b->lender.packs && x->rows == y->rows && x->cols == y->cols;
}

/* Returns the loan that was not used for the longest time and is not in use, of those with the memory of `of` if
 * there are any. */
static struct loan *oldest_loan(const struct model *m, const struct loan *of) {
    struct loan *oldest = NULL, *alike = NULL;
    for (int i = 0; i < m->tensors; i++)
        for (int k = 0; k < LOANS; k++) {
            struct loan *x = &m->packings->of[i].loan[k];
            if (!x->made || x->users) continue;
            if (!oldest || x->last < oldest->last) oldest = x;
            if (same_shape(m, x, of) && (!alike || x->last < alike->last)) alike = x;
        }
    return alike ? alike : oldest;
}

/* Ends old loans until there is room for a matrix of `bytes`; the new one takes over the memory of one of its form
 * and shape.  The lock is held. */
static void make_loan_room(const struct model *m, struct loan *x, double bytes) {
    struct packings *p = m->packings;
    for (struct loan *old; p->lent + bytes > p->most && (old = oldest_loan(m, x));) {
        bool alike = same_shape(m, old, x);
        count_loan(p, old, 0);
        if (alike) {
            x->value = old->value;
            x->packed = old->packed;
        } else {
            free(old->value);
            packed_free(old->packed);
        }
        old->value = NULL;
        old->packed = NULL;
        old->made = false;
        if (alike) return;
    }
}

/* Returns 0, or the size of a block that could not be allocated. */
static size_t make_loan(const struct model *m, struct loan *x) {
    const int i = x->lender.index;
    size_t n = weight_count(m, i), failed = 0;
    if (!x->lender.packs) {
        if (!x->value && !(x->value = mem_try(n, sizeof *x->value))) return n * sizeof *x->value;
        model_read_weight(m, i, x->value);
        return 0;
    }
    bool kept = atomic_load(&m->packings->of[i].kept);
    real *read = kept ? NULL : mem_try(n, sizeof *read);
    if (!kept && !read) return n * sizeof *read;
    if (read) read_in_file(m, i, read);
    const real *values = read ? read : model_weight(m, i);
    if (x->packed) packed_fill(x->packed, values);
    else x->packed = packed_new(m->tensor[i].rows, m->tensor[i].cols, values, &failed);
    free(read);
    return failed;
}

static struct lent take_loan(const struct lender *l) {
    const struct model *m = l->self;
    struct packings *p = m->packings;
    struct loan *x = loan_of(l);
    double bytes = (double)(weight_count(m, l->index) * sizeof(real)); /* until it is made */
    size_t failed = 0;
    pthread_mutex_lock(&p->lock);
    x->users++;
    while (x->busy) pthread_cond_wait(&p->settled, &p->lock);
    if (!x->made) {
        x->busy = true;
        make_loan_room(m, x, bytes);
        count_loan(p, x, bytes);
        pthread_mutex_unlock(&p->lock);
        failed = make_loan(m, x);
        pthread_mutex_lock(&p->lock);
        x->busy = false;
        x->made = !failed;
        count_loan(p, x, failed ? 0 : loan_bytes(m, x));
        x->users -= failed > 0;
        pthread_cond_broadcast(&p->settled);
    }
    pthread_mutex_unlock(&p->lock);
    if (failed) mem_lack(failed);
    return (struct lent){ x->value, x->packed };
}

static void give_loan(const struct lender *l) {
    const struct model *m = l->self;
    struct packings *p = m->packings;
    struct loan *x = loan_of(l);
    pthread_mutex_lock(&p->lock);
    count_loan(p, x, loan_bytes(m, x)); /* the first backward pass packs more */
    x->users--;
    x->last = ++p->uses;
    pthread_mutex_unlock(&p->lock);
}

const struct lender *model_lender(const struct model *m, int i, enum precision precision) {
    struct packings *p = m->packings;
    bool packs = precision == PRECISION_BF16;
    if (m->weights_in != WEIGHTS_FILE || (!packs && atomic_load(&p->of[i].kept))) return NULL;
    return &p->of[i].loan[packs ? LOAN_PACKED : LOAN_VALUES].lender;
}

void packings_read_from(struct model *m, struct weights *files, struct entries *found) {
    struct packings *p = m->packings;
    if (files->files > FILES && m->weights_in != WEIGHTS_FILE) return;
    p->files = *files;
    p->found = *found;
    *files = (struct weights){ 0 };
    *found = (struct entries){ 0 };
    double parameters = 0;
    for (int i = 0; i < m->tensors; i++) {
        struct weight_state *w = &p->of[i];
        w->entry = entries_find(&p->found, m->tensor[i].name);
        for (int k = 0; k < LOANS; k++)
            w->loan[k].lender = (struct lender){ m, i, k == LOAN_PACKED, take_loan, give_loan };
        if (arch_is_map(&m->arch, m->tensor[i].role)) parameters += (double)weight_count(m, i);
    }
    p->most = model_lent_bytes(parameters);
}

size_t model_bytes(const struct model *m) {
    struct packings *p = m->packings;
    size_t bytes = 0;
    if (p) pthread_mutex_lock(&p->lock);
    for (int i = 0; i < m->tensors; i++) {
        bool elsewhere = p && (p->of[i].released || (m->weights_in == WEIGHTS_FILE && !p->of[i].own));
        if (m->weight[i] && !elsewhere) bytes += weight_count(m, i) * sizeof(real);
        if (p && p->of[i].packed) bytes += packed_bytes(p->of[i].packed);
    }
    if (p) bytes += (size_t)p->lent;
    if (p) pthread_mutex_unlock(&p->lock);
    return bytes;
}

void model_free_packings(struct model *m) {
    struct packings *p = m->packings;
    if (!p) return;
    for (int i = 0; i < m->tensors; i++) {
        packed_free(p->of[i].packed);
        free(p->of[i].own);
        for (int k = 0; k < LOANS; k++) {
            free(p->of[i].loan[k].value);
            packed_free(p->of[i].loan[k].packed);
        }
        if (p->of[i].released) make_accessible(m, i);
    }
    entries_release(&p->found);
    weights_close(&p->files);
    pthread_cond_destroy(&p->settled);
    pthread_mutex_destroy(&p->lock);
    free(p);
}
