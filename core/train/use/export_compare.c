/* Comparison of an exported folder with the run. */
#include <math.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/run/batch.h"
#include "core/train/run/pool.h"
#include "core/train/run/predictor.h"

enum { PROBE_TOKENS = 16 }; /* decoder input tokens per example */

static size_t probe_tokens(const struct dataset *d, size_t row) {
    size_t n = d->start[row + 1] - d->start[row];
    return n < PROBE_TOKENS ? n : PROBE_TOKENS;
}

/* The decoder reads the first tokens of the source: any text is suitable for a comparison. */
static void give_target(struct batch *b, struct arena *a, size_t tokens) {
    b->target_tokens = (int)tokens;
    b->target_in = arena_keep(a, tokens * sizeof *b->target_in);
    b->target_positions = arena_keep(a, tokens * sizeof *b->target_positions);
    b->target_start = arena_keep(a, 2 * sizeof *b->target_start);
    for (size_t i = 0; i < tokens; i++) {
        b->target_in[i] = b->ids[i];
        b->target_positions[i] = (int32_t)i;
    }
    b->target_start[0] = 0;
    b->target_start[1] = (int)tokens;
}

struct logit_reading {
    struct predictor *p;
    const struct dataset *d;
    double *logits;
};

static void export_compare_read_rows(void *self) {
    const struct logit_reading *r = self;
    struct predictor *p = r->p;
    const struct dataset *d = r->d;
    double *logits = r->logits;
    struct worker w;
    struct attach *a = attach_new(p->plan, p->m);
    worker_init(&w, 0);
    for (uint32_t row = 0; row < d->examples; row++) {
        struct batch b;
        struct forward f;
        size_t tokens = probe_tokens(d, row), n = tokens * (size_t)p->m->arch.vocabulary;
        tape_reset(w.tape, false, 0, 0);
        batch_pack(&b, w.arena, &p->m->arch, d, NULL, &row, 1, false);
        if (!p->plan->words) give_target(&b, w.arena, tokens);
        forward_init(&f, w.tape, p->m, &b, attach_begin(a, w.tape, p->params, p->generated, NULL));
        node encoded = forward_encode(&f);
        node x = p->plan->words ? attach_words_logits(a, &f, op_rows(w.tape, encoded, 0, (int)tokens))
                                : forward_logits(&f, forward_decode(&f, encoded));
        const real *v = tape_value(w.tape, x);
        for (size_t i = 0; i < n; i++) *logits++ = (double)v[i];
    }
    attach_free(a);
    worker_release(&w);
}

static size_t logit_count(const struct predictor *p, const struct dataset *d) {
    size_t tokens = 0;
    if (!p->text && !p->plan->words) return d->examples * (size_t)p->plan->classes;
    for (size_t i = 0; i < d->examples; i++) tokens += probe_tokens(d, i);
    return tokens * (size_t)p->m->arch.vocabulary;
}

static int logits_of(struct predictor *p, const struct dataset *d, struct crew *crew, double *logits,
                     struct err *e) {
    if (!p->text && !p->plan->words) return predictor_run(p, d, crew, NULL, logits, e);
    crew_call(crew, export_compare_read_rows, &(struct logit_reading){ p, d, logits });
    return 0;
}

int export_compare(struct predictor *p, const char *folder, bool half, const struct dataset *probe,
                   struct crew *crew, double *worst, struct err *e) {
    size_t n = logit_count(p, probe);
    double *a = xmalloc(n * sizeof *a), *b = xmalloc(n * sizeof *b), size = 1;
    struct model *m = model_load(folder, e);
    struct predictor *q = !m ? NULL : p->plan->words ? predictor_of_words(m, e) : predictor_of_model(m, e);
    enum precision own = p->plan->precision;
    predictor_set_precision(p, PRECISION_F32); /* that of the comparison */
    int rc = q ? logits_of(p, probe, crew, a, e) : e->code;
    predictor_set_precision(p, own);
    if (!rc) rc = logits_of(q, probe, crew, b, e);
    for (size_t i = 0; i < n && !rc; i++) {
        *worst = fmax(*worst, fabs(a[i] - b[i]));
        size = fmax(size, fabs(a[i]));
    }
    /* F16 has 11 significant bits */
    if (!rc && *worst > (half ? 5e-2 : 1e-3) * size)
        rc = err_set(e, ERR_FAILED,
                     "%s: the logits of the exported model differ from those of the run by %.3g, more than "
                     "floating-point noise",
                     folder, *worst);
    predictor_free(q);
    if (m) model_release(m);
    free(a);
    free(b);
    return rc;
}
