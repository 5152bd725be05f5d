#include "core/train/run/batch.h"

#include "core/base/mem.h"
#include "core/train/config/target.h"

enum { TASK_SHIFT = 40 }; /* row numbers in a file are far below */

static void batch_add_range(struct batch *b, int task, int row) {
    struct task_range *last = b->ranges ? &b->range[b->ranges - 1] : NULL;
    if (last && last->task == task) {
        last->end = row + 1;
        return;
    }
    BUG_IF(last && last->task > task);
    b->range[b->ranges++] = (struct task_range){ task, row, row + 1 };
}

static size_t batch_length_of(const struct batch_example *r) {
    return r->data->start[r->index + 1] - r->data->start[r->index];
}

/* Fills in the outputs of the shared frozen layers. */
static void batch_take_below(struct batch *b, struct arena *a, const struct arch *arch,
                             const struct batch_example *rows) {
    size_t width = (size_t)arch->width;
    real *below = arena_keep(a, (size_t)b->tokens * width * sizeof *below);
    for (int i = 0; i < b->examples; i++)
        frozen_row(rows[i].frozen, rows[i].index, below + (size_t)b->start[i] * width);
    b->below = below;
    b->below_layers = frozen_layers(rows[0].frozen);
}

void batch_pack_examples(struct batch *b, struct arena *a, const struct arch *arch,
                         const struct batch_example *rows, int n) {
    size_t count = (size_t)n, tokens = 0;
    for (int i = 0; i < n; i++) tokens += batch_length_of(&rows[i]);
    *b = (struct batch){
        .examples = n,
        .tokens = (int)tokens,
        .range = arena_keep(a, count * sizeof *b->range),
        .ids = arena_keep(a, tokens * sizeof *b->ids),
        .types = arena_keep(a, tokens * sizeof *b->types),
        .positions = arena_keep(a, tokens * sizeof *b->positions),
        .start = arena_keep(a, (count + 1) * sizeof *b->start),
        .example_id = arena_keep(a, count * sizeof *b->example_id),
        .label = arena_keep(a, count * sizeof *b->label),
        .target = arena_keep(a, count * sizeof *b->target),
        .weight = arena_keep(a, count * sizeof *b->weight),
    };
    int at = 0;
    for (int i = 0; i < n; i++) {
        const struct dataset *d = rows[i].data;
        const struct example *row = &d->example[rows[i].index];
        size_t from = d->start[rows[i].index], length = batch_length_of(&rows[i]);
        b->start[i] = at;
        arch_positions(arch, d->ids + from, length, b->positions + at);
        for (size_t j = 0; j < length; j++, at++) {
            b->ids[at] = d->ids[from + j];
            b->types[at] = d->types[from + j];
        }
        b->example_id[i] = row->id + ((uint64_t)rows[i].task << TASK_SHIFT);
        b->label[i] = row->label;
        b->target[i] = (real)row->target;
        b->weight[i] = rows[i].weight;
        batch_add_range(b, rows[i].task, i);
    }
    b->start[n] = at;
    if (n && rows[0].frozen) batch_take_below(b, a, arch, rows);
}

/* Fills in the targets of a causal model, which are tokens of the example itself. */
static void pack_trained(struct batch *b, const struct batch_example *rows, int n) {
    int at = 0;
    for (int i = 0; i < n; i++) {
        const struct dataset *d = rows[i].data;
        size_t from = d->start[rows[i].index], length = batch_length_of(&rows[i]);
        b->target_start[i] = at;
        for (size_t j = 0; j < length; j++) {
            if (!d->trained[from + j]) continue;
            BUG_IF(!j);
            b->target_positions[at] = (int32_t)j - 1;
            b->target_out[at] = d->ids[from + j];
            b->target_weight[at++] = rows[i].token_weight;
        }
    }
    b->target_start[n] = at;
}

void batch_pack_targets(struct batch *b, struct arena *a, const struct arch *arch,
                        const struct batch_example *rows, int n) {
    size_t tokens = 0;
    for (int i = 0; i < n; i++) tokens += target_length(rows[i].data, rows[i].index);
    BUG_IF(b->examples != n);
    b->target_tokens = (int)tokens;
    b->target_positions = arena_keep(a, tokens * sizeof *b->target_positions);
    b->target_out = arena_keep(a, tokens * sizeof *b->target_out);
    b->target_weight = arena_keep(a, tokens * sizeof *b->target_weight);
    b->target_start = arena_keep(a, ((size_t)n + 1) * sizeof *b->target_start);
    if (arch->causal) {
        pack_trained(b, rows, n);
        return;
    }
    b->target_in = arena_keep(a, tokens * sizeof *b->target_in);
    int at = 0;
    for (int i = 0; i < n; i++) {
        const struct dataset *d = rows[i].data;
        const int32_t *ids = d->target_ids + d->target_start[rows[i].index];
        size_t length = target_length(d, rows[i].index);
        BUG_IF(!length);
        int32_t start = target_begins_with_last(arch) ? ids[length - 1] : arch->decoder_start;
        b->target_start[i] = at;
        for (size_t j = 0; j < length; j++, at++) {
            b->target_in[at] = j ? ids[j - 1] : start;
            b->target_positions[at] = (int32_t)j;
            b->target_out[at] = ids[j];
            b->target_weight[at] = rows[i].token_weight;
        }
    }
    b->target_start[n] = at;
}

void batch_pack(struct batch *b, struct arena *a, const struct arch *arch, const struct dataset *d,
                struct frozen *frozen, const uint32_t *rows, int n, bool targets) {
    struct batch_example *all = arena_keep(a, (size_t)n * sizeof *all);
    for (int i = 0; i < n; i++)
        all[i] = (struct batch_example){ .data = d, .frozen = frozen, .index = rows[i] };
    batch_pack_examples(b, a, arch, all, n);
    if (targets) batch_pack_targets(b, a, arch, all, n);
    b->ranges = 0;
}
