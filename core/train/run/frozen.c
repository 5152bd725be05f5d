#include "core/train/run/frozen.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/shelf.h"
#include "core/engine/blas.h"
#include "core/engine/dnnl.h"
#include "core/train/run/batch.h"

/* Version of the forward pass; incremented when its results change in any bit. */
enum { FROZEN_FORM = 1 };

/* Buffers for computing an example; one per concurrent thread. */
struct frozen_bench {
    struct arena *memory;
    struct tape *tape;
    struct frozen_bench *next;
};

struct frozen {
    const struct model *m;
    const struct dataset *d;
    int layers, limit;
    enum precision precision;
    pthread_mutex_t lock;      /* protects the following members */
    bool opened, proven;       /* the cache was opened; a record of it was verified */
    struct shelf *shelf;       /* NULL: not open */
    bool unused;               /* its records are wrong */
    struct frozen_bench *idle;
    struct err trouble;
    bool told;
};

struct frozen *frozen_new(const struct model *m, int layers, enum precision precision,
                          const struct dataset *d, int limit) {
    struct frozen *f = xcalloc(1, sizeof *f);
    BUG_IF(layers < 1 || layers > m->arch.encoder_layers || !d->max_len);
    *f = (struct frozen){ .m = m, .d = d, .layers = layers, .limit = limit,
                          .precision = precision, .trouble = ERR_INIT };
    pthread_mutex_init(&f->lock, NULL);
    return f;
}

void frozen_free(struct frozen *f) {
    if (!f) return;
    for (struct frozen_bench *b = f->idle, *next; b; b = next) {
        next = b->next;
        tape_free(b->tape);
        arena_free(b->memory);
        free(b);
    }
    shelf_close(f->shelf);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

int frozen_layers(const struct frozen *f) { return f->layers; }

char *frozen_folder(void) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (cache && cache[0] == '/') return file_join(cache, "petri/frozen");
    if (home && home[0] == '/') return file_join(home, ".cache/petri/frozen");
    return NULL;
}

/* ---- one example ---- */

static size_t frozen_bytes(const struct frozen *f, uint32_t row) {
    return (f->d->start[row + 1] - f->d->start[row]) * (size_t)f->m->arch.width * sizeof(real);
}

static struct frozen_bench *frozen_take_bench(struct frozen *f) {
    pthread_mutex_lock(&f->lock);
    struct frozen_bench *b = f->idle;
    if (b) f->idle = b->next;
    pthread_mutex_unlock(&f->lock);
    if (b) return b;
    struct mem_guard *guard = mem_guard_pause(); /* many small allocations */
    b = xcalloc(1, sizeof *b);
    b->memory = arena_new();
    b->tape = tape_new(b->memory);
    mem_guard_resume(guard);
    return b;
}

struct frozen_pass {
    struct frozen *f;
    struct frozen_bench *on;
    uint32_t row;
    real *out;
};

static void frozen_forward(void *self) {
    const struct frozen_pass *x = self;
    struct frozen *f = x->f;
    struct batch b;
    struct forward pass;
    tape_reset(x->on->tape, false, 0, 0);
    batch_pack(&b, x->on->memory, &f->m->arch, f->d, NULL, &x->row, 1, false);
    forward_init(&pass, x->on->tape, f->m, &b, NULL);
    pass.precision = f->precision;
    memcpy(x->out, tape_value(x->on->tape, forward_below(&pass, f->layers)), frozen_bytes(f, x->row));
}

static void frozen_compute(struct frozen *f, uint32_t row, real *out) {
    struct frozen_pass x = { f, frozen_take_bench(f), row, out };
    size_t lacks = mem_guard(frozen_forward, &x);
    if (lacks) arena_drop(x.on->memory);
    pthread_mutex_lock(&f->lock);
    x.on->next = f->idle;
    f->idle = x.on;
    pthread_mutex_unlock(&f->lock);
    if (lacks) mem_lack(lacks);
}

/* ---- cache ---- */

static void hash_rows(const struct dataset *d, char out[65]) {
    struct sha256 *h = sha256_start();
    sha256_add(h, d->start, (d->examples + 1) * sizeof *d->start);
    sha256_add(h, d->ids, d->start[d->examples] * sizeof *d->ids);
    sha256_add(h, d->types, d->start[d->examples] * sizeof *d->types);
    sha256_finish(h, out);
}

/* Writes everything that determines the bits of an example's output. */
static void frozen_open(struct frozen *f) {
    const struct blas_facts *blas = blas_facts();
    bool bf16 = f->precision == PRECISION_BF16;
    char rows[65], *folder = frozen_folder();
    if (!folder) {
        err_set(&f->trouble, ERR_SYSTEM, "no cache folder: set XDG_CACHE_HOME or HOME to an absolute path");
        return;
    }
    hash_rows(f->d, rows);
    char *text = xprintf(
        "petri frozen layers %d\nmodel %s\nrows %s\nmax-len %zu\nlayers %d\nkernel %.31s %.63s\nblas %.63s\n"
        "value %zu bytes\n%s%s%s",
        FROZEN_FORM, f->m->fingerprint, rows, f->d->max_len, f->layers, blas->kernel, blas->features,
        blas->version, sizeof(real), bf16 ? "bf16 " : "",
        !bf16              ? ""
        : dnnl_is_native() ? dnnl_name()
                           : "rounded",
        bf16 ? "\n" : "");
    f->shelf = shelf_open(folder, text, f->d->examples, f->d->start, (size_t)f->m->arch.width * sizeof(real),
                          (uint64_t)f->limit << 20, &f->trouble);
    free(text);
    free(folder);
}

/* Returns the cache; NULL: nothing is cached. */
static struct shelf *frozen_shelf(struct frozen *f, bool *proven) {
    pthread_mutex_lock(&f->lock);
    if (!f->opened && f->limit) frozen_open(f);
    f->opened = true;
    *proven = f->proven;
    struct shelf *s = f->unused ? NULL : f->shelf;
    pthread_mutex_unlock(&f->lock);
    return s;
}

/* Returns whether a record equals the computed output. If not, the cache was written by an incompatible
 * program. */
static bool frozen_prove(struct frozen *f, uint32_t row, const real *kept) {
    real *made = xmalloc(frozen_bytes(f, row));
    frozen_compute(f, row, made);
    bool same = !memcmp(made, kept, frozen_bytes(f, row));
    free(made);
    pthread_mutex_lock(&f->lock);
    f->proven = same;
    if (!same && !shelf_empty(f->shelf)) {
        f->unused = true;
        err_set(&f->trouble, ERR_SYSTEM, "the cache is in use by another version of petri");
    }
    pthread_mutex_unlock(&f->lock);
    return same;
}

static void frozen_keep(struct frozen *f, struct shelf *s, uint32_t row, const real *values) {
    struct err e = ERR_INIT;
    if (!shelf_write(s, row, values, &e)) return;
    pthread_mutex_lock(&f->lock);
    f->trouble = e;
    pthread_mutex_unlock(&f->lock);
}

void frozen_row(struct frozen *f, uint32_t row, real *out) {
    bool proven;
    struct shelf *s = frozen_shelf(f, &proven);
    if (s && shelf_read(s, row, out) && (proven || frozen_prove(f, row, out))) return;
    frozen_compute(f, row, out);
    if (s) frozen_keep(f, s, row, out);
}

bool frozen_trouble(struct frozen *f, struct err *out) {
    pthread_mutex_lock(&f->lock);
    bool tell = f->trouble.code && !f->told;
    f->told |= tell;
    if (tell) *out = f->trouble;
    pthread_mutex_unlock(&f->lock);
    return tell;
}
