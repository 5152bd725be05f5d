#include "core/analysis/attention.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/run/batch.h"

/* The recorded layer and its attention probabilities. */
struct look {
    int layer; /* of the site, from 0 */
    struct attention_map *out;
};

static void analysis_attention_seen(void *self, const struct site *site, int sequence, int head,
                                    int queries, int columns, const real *p) {
    const struct look *l = self;
    struct attention_map *a = l->out;
    (void)sequence;
    if (site->layer != l->layer || site->stack != STACK_ENCODER || site->sublayer != SUB_SELF) return;
    size_t size = (size_t)queries * (size_t)columns;
    if (!a->p) {
        a->tokens = queries;
        a->extra = columns - queries;
        a->p = xcalloc((size_t)a->heads * size, sizeof *a->p);
    }
    for (size_t i = 0; i < size; i++) a->p[(size_t)head * size + i] = (double)p[i];
}

static int attention_check(struct attention_map *a, const struct dataset *d, size_t row, struct err *e) {
    size_t n = (size_t)a->heads * (size_t)a->tokens * (size_t)(a->extra + a->tokens);
    for (size_t i = 0; i < n; i++)
        if (!isfinite(a->p[i]))
            return err_set(e, ERR_FAILED, "%s: example %llu: the attention weights are NaN or infinite",
                           d->path ? d->path : "text", (unsigned long long)d->example[row].id + 1);
    return 0;
}

int attention_of_row(const struct model *m, const struct predictor *p, enum precision precision,
                     const struct dataset *d, size_t row, int layer, struct attention_map *out,
                     struct err *e) {
    BUG_IF(row >= d->examples || !d->max_len || layer < 1 || layer > m->arch.encoder_layers);
    *out = (struct attention_map){ .heads = m->arch.heads };
    struct look look = { layer - 1, out };
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    struct attach *a = p ? attach_new(predictor_plan(p), m) : NULL;
    if (a) attach_for_task(a, predictor_in_use(p));
    struct batch b;
    struct forward f;
    const uint32_t rows[1] = { (uint32_t)row };
    tape_reset(t, false, 0, 0);
    batch_pack(&b, arena, &m->arch, d, NULL, rows, 1, false);
    const struct hooks *hooks = a ? attach_begin(a, t, predictor_params(p), predictor_made(p), NULL)
                                  : hooks_plain(precision);
    out->joined = hooks ? hooks->joined.count : 0;
    out->joined_at = hooks && hooks->joined.count && hooks->joined.after_first ? 1 : 0;
    forward_init(&f, t, m, &b, hooks);
    f.attention_seen = analysis_attention_seen;
    f.seen_self = &look;
    forward_encode(&f);
    if (a) attach_free(a);
    tape_free(t);
    arena_free(arena);
    BUG_IF(!out->p);
    int rc = attention_check(out, d, row, e);
    if (rc) attention_map_release(out);
    return rc;
}

void attention_map_release(struct attention_map *a) {
    free(a->p);
    *a = (struct attention_map){ 0 };
}
