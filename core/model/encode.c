#include "core/model/encode.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/tape.h"

static int check_ids(const struct model *m, const struct encoded *x, struct err *e) {
    if (x->greatest >= m->arch.vocabulary)
        return err_set(e, ERR_INPUT,
                       "%s: the text contains the token \"%s\" (id %d), but the model has embeddings for "
                       "only %d tokens",
                       m->name, tokenizer_token(m->tokenizer, x->greatest), (int)x->greatest,
                       m->arch.vocabulary);
    for (size_t i = 0; m->arch.types && i < x->n; i++)
        if (x->types[i] >= m->arch.types)
            return err_set(e, ERR_INPUT, "%s: a text pair needs %d token types, but the model has %d",
                           m->name, (int)x->types[i] + 1, m->arch.types);
    return 0;
}

static real *copy_values(const struct tape *t, node x) {
    size_t bytes = (size_t)tape_cols_of(t, x) * sizeof(real);
    return memcpy(xmalloc(bytes), tape_value(t, x), bytes);
}

/* Runs one input through the encoder. */
static void encode_run(const struct model *m, const struct encoded *x, real **cls, real **mean) {
    int start[2] = { 0, (int)x->n };
    uint64_t id = 0;
    int32_t *positions = xcalloc(x->n, sizeof *positions);
    arch_positions(&m->arch, x->ids, x->n, positions);
    const struct batch batch = {
        .examples = 1,
        .tokens = (int)x->n,
        .ids = x->ids,
        .types = x->types,
        .positions = positions,
        .start = start,
        .example_id = &id,
    };
    struct arena *arena = arena_new();
    struct tape *t = tape_new(arena);
    tape_reset(t, false, 0, 0);
    struct forward f;
    forward_init(&f, t, m, &batch, NULL);
    node last = forward_encode(&f);
    *cls = copy_values(t, forward_first(&f, last));
    *mean = copy_values(t, op_pool_mean(t, last, &f.rows));
    tape_free(t);
    arena_free(arena);
    free(positions);
}

int model_encode_text(const struct model *m, const char *a, const char *b, size_t max_len,
                      struct encoded *out, real **cls, real **mean, struct err *e) {
    size_t longest = (size_t)arch_max_length(&m->arch);
    if (model_needs_tokenizer(m, e)) return e->code;
    if (!max_len) max_len = longest;
    if (max_len > longest)
        return err_set(e, ERR_USAGE, "%s: the maximum sequence length %zu exceeds that of the model, %zu",
                       m->name, max_len, longest);
    int rc = tokenizer_encode(m->tokenizer, a, strlen(a), b, b ? strlen(b) : 0, max_len, out, e);
    if (rc) return rc;
    rc = check_ids(m, out, e);
    if (!rc && cls && !out->n)
        rc = err_set(e, ERR_INPUT, "the text has no tokens, so it has no vectors; give another text");
    if (rc) {
        encoded_release(out);
        return rc;
    }
    if (cls) encode_run(m, out, cls, mean);
    return 0;
}
