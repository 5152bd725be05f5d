/* Scoring of masked language modeling (masking.h). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/metrics.h"
#include "core/train/meta/masking.h"
#include "core/train/run/batch.h"
#include "core/train/run/score.h"

void masked_scoring_init(struct masked_scoring *s, const struct masking *k, const struct dataset *d) {
    struct scoring cut; /* the same chunks as for other scores */
    scoring_init(&cut, d, 0);
    *s = (struct masked_scoring){ .masking = k,
                                  .data = d,
                                  .chunks = cut.chunks,
                                  .order = cut.order,
                                  .first = cut.first,
                                  .loss = cut.loss };
    free(cut.logits);
    s->masks = xcalloc(d->examples + 1, sizeof *s->masks);
    s->right = xcalloc(d->examples + 1, sizeof *s->right);
}

void masked_scoring_release(struct masked_scoring *s) {
    free(s->order);
    free(s->first);
    free(s->loss);
    free(s->masks);
    free(s->right);
    *s = (struct masked_scoring){ 0 };
}

int64_t masked_scoring_examples(const struct masked_scoring *s, int chunk) {
    return (int64_t)s->first[chunk + 1] - s->first[chunk];
}

bool masked_scoring_chunk(struct masked_scoring *s, int chunk, struct tape *tape, struct arena *arena,
                          struct attach *attach, const struct model *m, const real *params,
                          const real *generated, uint64_t *bad) {
    const uint32_t *rows = s->order + s->first[chunk];
    int n = (int)masked_scoring_examples(s, chunk), vocabulary = m->arch.vocabulary;
    struct batch b;
    struct forward f;
    bool finite = true;
    tape_reset(tape, false, 0, 0);
    batch_pack(&b, arena, &m->arch, s->data, NULL, rows, n, false);
    masking_apply(s->masking, arena, &b, 0, 0, 1);
    forward_init(&f, tape, m, &b, attach_begin(attach, tape, params, generated, NULL));
    for (int i = 0; i < n; i++) {
        s->loss[rows[i]] = 0;
        s->masks[rows[i]] = s->right[rows[i]] = 0;
    }
    const real *v = tape_value(tape, attach_words_logits(attach, &f, masking_rows(&f, forward_encode(&f))));
    for (int i = 0; i < b.masks; i++, v += vocabulary) {
        uint32_t row = rows[b.mask_row[i]];
        bool right;
        double loss = token_loss(v, vocabulary, b.mask_id[i], &right);
        s->loss[row] += loss;
        s->masks[row]++;
        s->right[row] += right;
        if (finite && !isfinite(loss)) {
            finite = false;
            *bad = b.example_id[b.mask_row[i]];
        }
    }
    return finite;
}

void masked_scoring_metrics(const struct masked_scoring *s, struct metrics *out) {
    double loss = 0;
    size_t masks = 0, right = 0;
    for (size_t i = 0; i < s->data->examples; i++) {
        loss += s->loss[i];
        masks += s->masks[i];
        right += s->right[i];
    }
    metrics_of_masked(out, s->data->examples, masks, right, loss);
}
