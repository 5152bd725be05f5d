#include "core/model/joined.h"

#include "core/base/mem.h"

bool joined_on(const struct forward *f) {
    return f->hooks && f->hooks->joined.count && f->batch->start && !f->batch->past;
}

void joined_init(struct forward *f) {
    if (!joined_on(f)) return;
    int *start = tape_keep(f->tape, ((size_t)f->tokens.count + 1) * sizeof *start);
    for (int i = 0; i <= f->tokens.count; i++) start[i] = f->tokens.start[i] + i * f->hooks->joined.count;
    f->rows.start = start;
}

/* Rows of a sequence before the joined ones. */
static int before(const struct forward *f, int sequence) {
    return f->hooks->joined.after_first && joined_tokens(f, sequence) > 0;
}

int joined_tokens(const struct forward *f, int sequence) {
    return f->tokens.start[sequence + 1] - f->tokens.start[sequence];
}

int joined_token(const struct forward *f, int sequence, int token) {
    bool behind = joined_on(f) && token >= before(f, sequence);
    return f->rows.start[sequence] + token + (behind ? f->hooks->joined.count : 0);
}

int joined_read(const struct forward *f, int sequence) {
    if (f->model->arch.causal) return f->rows.start[sequence + 1] - 1;
    bool first = joined_on(f) && f->hooks->joined.first_read;
    return first ? f->rows.start[sequence] : joined_token(f, sequence, 0);
}

/* Fills the entries of each sequence: those of joined rows by `of_row` (sequence, index), those of tokens by
 * theirs. */
static int32_t *lay_out(const struct forward *f,
                        int32_t (*of_row)(const struct forward *, int, int, const void *),
                        int32_t (*of_token)(const struct forward *, int, int, const void *),
                        const void *with) {
    int count = f->hooks->joined.count;
    int32_t *out = tape_keep(f->tape, (size_t)f->rows.start[f->rows.count] * sizeof *out);
    for (int i = 0; i < f->rows.count; i++) {
        int32_t *to = out + f->rows.start[i];
        for (int k = 0; k < joined_tokens(f, i); k++) out[joined_token(f, i, k)] = of_token(f, i, k, with);
        for (int k = 0; k < count; k++) to[before(f, i) + k] = of_row(f, i, k, with);
    }
    return out;
}

/* Concatenates joined rows and tokens. */
struct picking {
    int blocks, each; /* of joined rows */
    const int *block;
};

static int32_t pick_row(const struct forward *f, int sequence, int k, const void *with) {
    const struct picking *p = with;
    (void)f;
    int block = p->block ? p->block[sequence] : 0;
    BUG_IF(block < 0 || block >= p->blocks);
    return block * p->each + k;
}

static int32_t pick_token(const struct forward *f, int sequence, int token, const void *with) {
    const struct picking *p = with;
    return p->blocks * p->each + f->tokens.start[sequence] + token;
}

node joined_put(const struct forward *f, node x, node words) {
    struct tape *t = f->tape;
    struct picking p = { 0 };
    BUG_IF(tape_rows_of(t, x) != f->tokens.start[f->tokens.count]);
    node rows = f->hooks->rows(f->hooks->self, t, f, words, &p.each, &p.block);
    p.blocks = tape_rows_of(t, rows) / p.each;
    BUG_IF(p.each < f->hooks->joined.count || tape_rows_of(t, rows) != p.blocks * p.each);
    const struct embed_table all = { op_concat_rows(t, rows, x), lay_out(f, pick_row, pick_token, &p), 0 };
    return op_embed_sum(t, f->rows.start[f->rows.count], &all, 1);
}

static int32_t row_position(const struct forward *f, int sequence, int k, const void *with) {
    (void)with;
    return before(f, sequence) + k;
}

static int32_t token_position(const struct forward *f, int sequence, int token, const void *with) {
    (void)with;
    return joined_token(f, sequence, token) - f->rows.start[sequence];
}

const int32_t *joined_positions(const struct forward *f) {
    return lay_out(f, row_position, token_position, NULL);
}

static int32_t row_type(const struct forward *f, int sequence, int k, const void *with) {
    (void)f, (void)sequence, (void)k, (void)with;
    return 0;
}

static int32_t token_type(const struct forward *f, int sequence, int token, const void *with) {
    (void)with;
    return f->batch->types[f->tokens.start[sequence] + token];
}

const int32_t *joined_types(const struct forward *f) { return lay_out(f, row_type, token_type, NULL); }

node joined_mean(const struct forward *f, node x) {
    if (!joined_on(f)) return op_pool_mean(f->tape, x, &f->rows);
    int n = f->tokens.start[f->tokens.count], at = 0;
    int32_t *ids = tape_keep(f->tape, (size_t)n * sizeof *ids);
    for (int i = 0; i < f->tokens.count; i++)
        for (int k = 0; k < joined_tokens(f, i); k++) ids[at++] = joined_token(f, i, k);
    const struct embed_table own = { x, ids, 0 };
    return op_pool_mean(f->tape, op_embed_sum(f->tape, n, &own, 1), &f->tokens);
}
