#include "core/train/batch.h"

void batch_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                const uint32_t *rows, int n, real weight) {
    size_t count = (size_t)n, tokens = 0;
    for (int i = 0; i < n; i++) tokens += d->start[rows[i] + 1] - d->start[rows[i]];
    *b = (struct batch){
        .rows = n,
        .tokens = (int)tokens,
        .ids = arena_keep(a, tokens * sizeof *b->ids),
        .types = arena_keep(a, tokens * sizeof *b->types),
        .positions = arena_keep(a, tokens * sizeof *b->positions),
        .start = arena_keep(a, (count + 1) * sizeof *b->start),
        .row_id = arena_keep(a, count * sizeof *b->row_id),
        .label = arena_keep(a, count * sizeof *b->label),
        .target = arena_keep(a, count * sizeof *b->target),
        .weight = arena_keep(a, count * sizeof *b->weight),
    };
    int at = 0;
    for (int i = 0; i < n; i++) {
        const struct dataset_row *row = &d->row[rows[i]];
        size_t from = d->start[rows[i]], length = d->start[rows[i] + 1] - from;
        b->start[i] = at;
        arch_positions(arch, d->ids + from, length, b->positions + at);
        for (size_t j = 0; j < length; j++, at++) {
            b->ids[at] = d->ids[from + j];
            b->types[at] = d->types[from + j];
        }
        b->row_id[i] = row->id;
        b->label[i] = row->label;
        b->target[i] = (real)row->target;
        b->weight[i] = weight;
    }
    b->start[n] = at;
}
