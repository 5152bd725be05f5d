#include "core/analysis/mass.h"

#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/batch.h"

enum { UNIT_ROWS = 8 };
static const double NONE = -1;

/* What a worker works on, made with its first unit. */
struct mass_seat {
    struct arena *arena;
    struct tape *tape;
    struct attach *attach;
};

struct mass_rows {
    const struct model *m;
    const struct predictor *p;
    const struct dataset *d;
    int layers, heads;
    double *share; /* rows × layers × heads; NONE where there are no such keys */
    struct mass_seat seat[CREW_MOST];
};

/* A unit's forward pass that is looked at. */
struct mass_look {
    const struct mass_rows *all;
    const struct forward *f;
    size_t first; /* row */
};

static void seen(void *self, const struct site *site, int sequence, int head, int queries, int columns, const real *p) {
    const struct mass_look *l = self;
    const struct mass_rows *a = l->all;
    int own = l->f->rows.start[sequence + 1] - l->f->rows.start[sequence], extra = columns - own;
    if (site->stack != STACK_ENCODER || site->sublayer != SUB_SELF || extra <= 0) return;
    double sum = 0;
    for (int i = 0; i < queries; i++)
        for (int j = 0; j < extra; j++) sum += (double)p[(size_t)i * (size_t)columns + (size_t)j];
    a->share[((l->first + (size_t)sequence) * (size_t)a->layers + (size_t)site->layer) * (size_t)a->heads + (size_t)head] =
        sum / queries;
}

static void open_seat(const struct mass_rows *a, struct mass_seat *at) {
    at->arena = arena_new();
    at->tape = tape_new(at->arena);
    at->attach = attach_new(predictor_plan(a->p), a->m);
    attach_for_task(at->attach, predictor_in_use(a->p));
}

static void look_at_rows(void *self, int unit, int worker) {
    struct mass_rows *a = self;
    struct mass_seat *at = &a->seat[worker];
    uint32_t row[UNIT_ROWS];
    struct batch b;
    struct forward f;
    struct mass_look look = { a, &f, (size_t)unit * UNIT_ROWS };
    int n = 0;
    for (size_t i = look.first; n < UNIT_ROWS && i < a->d->rows; i++) row[n++] = (uint32_t)i;
    if (!at->tape) open_seat(a, at);
    tape_reset(at->tape, false, 0, 0);
    batch_pack(&b, at->arena, &a->m->arch, a->d, row, n, false);
    forward_init(&f, at->tape, a->m, &b,
                 attach_begin(at->attach, at->tape, predictor_params(a->p), predictor_made(a->p), NULL));
    f.attention_seen = seen;
    f.seen_self = &look;
    forward_encode(&f);
}

/* The mean over rows.  A layer has such keys for all rows or for none. */
static int sum_up(const struct mass_rows *a, struct attention_mass *out, struct err *e) {
    size_t each = (size_t)a->layers * (size_t)a->heads;
    for (size_t i = 0; i < a->d->rows * each; i++)
        if (!isfinite(a->share[i]))
            return err_set(e, ERR_FAILED, "%s: row %llu: its attention is not finite", a->d->path ? a->d->path : "text",
                           (unsigned long long)a->d->row[i / each].id + 1);
    for (size_t k = 0; k < each; k++) {
        double sum = 0;
        for (size_t i = 0; i < a->d->rows; i++) sum += a->share[i * each + k];
        out->share[k] = a->share[k] < 0 ? NAN : sum / (double)a->d->rows;
    }
    return 0;
}

int attention_mass(const struct model *m, const struct predictor *p, const struct dataset *d, struct crew *crew,
                   struct attention_mass *out, struct err *e) {
    BUG_IF(!d->rows || !d->max_len);
    struct mass_rows *a = xcalloc(1, sizeof *a);
    *a = (struct mass_rows){ .m = m, .p = p, .d = d, .layers = m->arch.encoder_layers, .heads = m->arch.heads };
    size_t all = d->rows * (size_t)a->layers * (size_t)a->heads;
    *out = (struct attention_mass){ .layers = a->layers, .heads = a->heads };
    out->share = xcalloc((size_t)a->layers * (size_t)a->heads, sizeof *out->share);
    a->share = xmalloc(all * sizeof *a->share);
    for (size_t i = 0; i < all; i++) a->share[i] = NONE;
    crew_do(crew, &(struct crew_work){ a, (int)((d->rows + UNIT_ROWS - 1) / UNIT_ROWS), look_at_rows, NULL, NULL });
    for (int i = 0; i < CREW_MOST; i++) {
        if (!a->seat[i].tape) continue;
        attach_free(a->seat[i].attach);
        tape_free(a->seat[i].tape);
        arena_free(a->seat[i].arena);
    }
    int rc = sum_up(a, out, e);
    free(a->share);
    free(a);
    if (rc) attention_mass_release(out);
    return rc;
}

void attention_mass_release(struct attention_mass *a) {
    free(a->share);
    *a = (struct attention_mass){ 0 };
}
