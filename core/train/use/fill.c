#include "core/train/use/fill.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/method/attach.h"
#include "core/train/meta/masking.h"
#include "core/train/run/pool.h"
#include "core/train/run/predictor.h"
#include "core/train/run/score.h"

/* A text and its outputs. */
struct filling {
    struct predictor *p;
    const struct encoded *text;
    int32_t mask;
    int masks;
    double *logits; /* masks × vocabulary */
};

static void filling_pack(const struct filling *x, struct arena *a, struct batch *b) {
    size_t n = x->text->n;
    *b = (struct batch){ .examples = 1, .tokens = (int)n, .ids = x->text->ids, .types = x->text->types };
    b->positions = arena_keep(a, n * sizeof *b->positions);
    b->start = arena_keep(a, 2 * sizeof *b->start);
    b->example_id = arena_keep(a, sizeof *b->example_id);
    b->mask_row = arena_keep(a, (n + 1) * sizeof *b->mask_row);
    b->mask_at = arena_keep(a, (n + 1) * sizeof *b->mask_at);
    arch_positions(&x->p->m->arch, b->ids, n, b->positions);
    b->start[0] = 0;
    b->start[1] = (int)n;
    b->example_id[0] = 0;
    for (size_t i = 0; i < n; i++) {
        if (b->ids[i] != x->mask) continue;
        b->mask_row[b->masks] = 0;
        b->mask_at[b->masks++] = (int32_t)i;
    }
}

static void fill_text(void *self) {
    const struct filling *x = self;
    struct worker w;
    struct batch b;
    struct forward f;
    struct attach *a = attach_new(x->p->plan, x->p->m);
    worker_init(&w, 0);
    tape_reset(w.tape, false, 0, 0);
    filling_pack(x, w.arena, &b);
    forward_init(&f, w.tape, x->p->m, &b, attach_begin(a, w.tape, x->p->params, x->p->generated, NULL));
    const real *v = tape_value(w.tape, attach_words_logits(a, &f, masking_rows(&f, forward_encode(&f))));
    for (size_t i = 0; i < (size_t)b.masks * (size_t)x->p->m->arch.vocabulary; i++)
        x->logits[i] = (double)v[i];
    attach_free(a);
    worker_release(&w);
}

/* Writes the most probable of n tokens; the lower id first where equal. */
static void fill_best(const double *logits, int n, struct filled_word *out, int most, double *room) {
    softmax(logits, n, room);
    for (int k = 0; k < most; k++) {
        int best = argmax(room, n);
        out[k] = (struct filled_word){ best, room[best] };
        room[best] = -1;
    }
}

static int fill_take(const struct filling *x, int most, struct filled *out, struct err *e) {
    int n = x->p->m->arch.vocabulary;
    double *room = xmalloc((size_t)n * sizeof *room);
    int rc = 0;
    *out = (struct filled){ .masks = x->masks, .words = most < n ? most : n };
    out->word = xcalloc((size_t)x->masks * (size_t)out->words, sizeof *out->word);
    for (size_t i = 0; i < (size_t)x->masks * (size_t)n && !rc; i++)
        if (!isfinite(x->logits[i])) rc = err_set(e, ERR_FAILED, "NaN or infinite logits for the text");
    for (int k = 0; k < x->masks && !rc; k++)
        fill_best(x->logits + (size_t)k * (size_t)n, n, out->word + (size_t)k * (size_t)out->words,
                  out->words, room);
    free(room);
    if (rc) filled_release(out);
    return rc;
}

int predictor_fill(struct predictor *p, const char *text, size_t n, int most, struct crew *crew,
                   struct filled *out, struct err *e) {
    struct encoded x;
    *out = (struct filled){ 0 };
    if (!predictor_fills(p))
        return err_set(e, ERR_USAGE, "not a masked language model: the run was trained for %s",
                       p->text ? "text generation" : "classification or regression");
    struct filling f = { .p = p, .text = &x, .mask = masking_token(p->m->tokenizer) };
    if (f.mask < 0) return err_set(e, ERR_INPUT, "%s: the tokenizer has no [MASK] token", p->m->folder);
    int rc = tokenizer_encode(p->m->tokenizer, text, n, NULL, 0, (size_t)p->max_len, &x, e);
    if (rc) return rc;
    for (size_t i = 0; i < x.n; i++) f.masks += x.ids[i] == f.mask;
    if (x.greatest >= p->m->arch.vocabulary)
        rc = err_set(e, ERR_INPUT, "%s: the text has token ids beyond the vocabulary of the model",
                     p->m->folder);
    else if (x.cut_a)
        rc = err_set(e, ERR_USAGE, "the text is too long: %zu tokens; the maximum of %s is %d",
                     x.n + x.cut_a, p->m->name, p->max_len);
    else if (!f.masks) rc = err_set(e, ERR_USAGE, "the text has no [MASK] token");
    f.logits = rc ? NULL : mem_try((size_t)f.masks * (size_t)p->m->arch.vocabulary, sizeof *f.logits);
    if (!rc && !f.logits) rc = err_set(e, ERR_SYSTEM, "out of memory for the logits of %d masks",
                                       f.masks);
    if (!rc) crew_call(crew, fill_text, &f);
    if (!rc) rc = fill_take(&f, most, out, e);
    free(f.logits);
    encoded_release(&x);
    return rc;
}

void filled_release(struct filled *f) {
    free(f->word);
    *f = (struct filled){ 0 };
}
