#include "core/data/causal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/import.h"
#include "core/data/sample.h"

/* The split while it is encoded. */
struct causal {
    struct dataset *d;
    const struct tokenizer *tokenizer;
    const struct causal_coding *how;
    int32_t lead[TOKENIZER_LEAD];
    size_t leads;
    size_t room, types_room, trained_room, target_room; /* capacities of the arrays of d */
    size_t kept;     /* examples so far */
    int32_t *ids;    /* the current example: its tokens, of which the last `targets` are targets */
    size_t n, targets, ids_room;
};

static void put(struct causal *c, const int32_t *ids, size_t n) {
    GROW(c->ids, c->ids_room, c->n + n + 1);
    if (n) memcpy(c->ids + c->n, ids, n * sizeof *ids);
    c->n += n;
}

/* Encodes a text without the special tokens around it; x->ids + c->leads is its first token. */
static int causal_text(struct causal *c, size_t i, const char *s, size_t n, struct encoded *x,
                       struct err *e) {
    int rc = tokenizer_encode(c->tokenizer, s, n, NULL, 0, SIZE_MAX, x, e);
    if (rc || !c->how->embedding_rows || x->greatest < c->how->embedding_rows) return rc;
    rc = tokens_past_embedding(c->d, c->tokenizer, i, x->greatest, c->how->embedding_rows, e);
    encoded_release(x);
    return rc;
}

static bool begins_with(const struct encoded *whole, const struct encoded *first, size_t leads) {
    size_t bytes = first->plain * sizeof *first->ids;
    return whole->plain >= first->plain && (!bytes || !memcmp(whole->ids + leads, first->ids + leads, bytes));
}

/* Puts the target after the source: encoded together, or apart where a token would span both. */
static int put_target(struct causal *c, size_t i, const struct encoded *source, struct err *e) {
    const struct example *x = &c->d->example[i];
    struct import_report *r = &c->d->report;
    struct encoded whole, own;
    char *text = xmalloc(x->a_size + x->target_size + 1);
    if (x->a_size) memcpy(text, x->a, x->a_size);
    memcpy(text + x->a_size, x->target_text, x->target_size);
    int rc = causal_text(c, i, x->target_text, x->target_size, &own, e);
    if (rc) goto free_text;
    rc = causal_text(c, i, text, x->a_size + x->target_size, &whole, e);
    if (rc) goto free_own;
    if (begins_with(&whole, source, c->leads))
        put(c, whole.ids + c->leads + source->plain, whole.plain - source->plain);
    else put(c, own.ids + c->leads, own.plain);
    put(c, &c->how->end, 1);
    size_t before = c->leads + source->plain;
    c->targets = c->n - (before ? before : 1); /* nothing predicts the first token */
    r->target_tokens += own.plain;
    r->target_unknown += own.unknown;
    if (own.unknown) unwritten_count(r, c->tokenizer, x->target_text, x->target_size);
    if (c->targets > r->target_longest) r->target_longest = c->targets;
    encoded_release(&whole);
free_own:
    encoded_release(&own);
free_text:
    free(text);
    return rc;
}

/* Appends the current example to the split. */
static void keep(struct causal *c) {
    struct dataset *d = c->d;
    size_t first = d->start[c->kept], of_targets = d->target_start[c->kept], plain = c->n - c->targets;
    GROW(d->ids, c->room, first + c->n);
    GROW(d->types, c->types_room, first + c->n);
    GROW(d->trained, c->trained_room, first + c->n);
    GROW(d->target_ids, c->target_room, of_targets + c->targets + 1);
    memcpy(d->ids + first, c->ids, c->n * sizeof *c->ids);
    memset(d->types + first, 0, c->n);
    memset(d->trained + first, 0, plain);
    memset(d->trained + first + plain, 1, c->targets);
    memcpy(d->target_ids + of_targets, c->ids + plain, c->targets * sizeof *c->ids);
    c->kept++;
    d->start[c->kept] = first + c->n;
    d->target_start[c->kept] = of_targets + c->targets;
}

/* Encodes example i; *fits tells whether it was kept. */
static int causal_example(struct causal *c, size_t i, bool *fits, struct err *e) {
    const struct example *x = &c->d->example[i];
    struct encoded source;
    c->n = c->targets = 0;
    int rc = causal_text(c, i, x->a, x->a_size, &source, e);
    if (rc) return rc;
    put(c, c->lead, c->leads);
    put(c, source.ids + c->leads, source.plain);
    if (x->target_text) rc = put_target(c, i, &source, e);
    *fits = !rc && c->n && c->n <= c->how->max_len;
    if (*fits) {
        keep(c);
        tokens_count(&c->d->report, &source, x->line);
    } else if (!rc) {
        report_line(&c->d->report.too_long, x->line);
    }
    encoded_release(&source);
    return rc;
}

static int encode_all(struct causal *c, struct err *e) {
    struct dataset *d = c->d;
    int *pick = xmalloc((d->examples + 1) * sizeof *pick), rc = 0;
    size_t split = d->split_examples, all = d->examples;
    for (size_t i = 0; !rc && i < all; i++) {
        bool fits = false;
        size_t at = c->kept;
        rc = causal_example(c, i, &fits, e);
        if (fits) pick[at] = (int)i;
    }
    if (!rc && !c->kept)
        rc = err_set(e, ERR_USAGE, "%s: every example is longer than %zu tokens; use a larger --max-length",
                     d->path, c->how->max_len);
    if (!rc && c->kept < all) {
        dataset_keep(d, pick, (int)c->kept);
        d->split_examples = split - (all - c->kept);
    }
    free(pick);
    return rc;
}

int dataset_encode_causal(struct dataset *d, const struct tokenizer *t, const struct causal_coding *how,
                          struct err *e) {
    struct err own = ERR_INIT;
    struct causal c = { .d = d, .tokenizer = t, .how = how };
    BUG_IF(d->kind != DATA_TEXT || d->pair);
    tokens_forget(d);
    d->start = xcalloc(d->examples + 1, sizeof *d->start);
    d->target_start = xcalloc(d->examples + 1, sizeof *d->target_start);
    c.leads = tokenizer_lead(t, c.lead);
    int rc = encode_all(&c, e ? e : &own);
    free(c.ids);
    if (rc) {
        tokens_forget(d);
        return rc;
    }
    d->max_len = d->report.max_len = how->max_len;
    d->max_target = d->report.max_target = how->max_target;
    return 0;
}

int task_encode_causal(struct task *t, const struct tokenizer *k, const struct causal_coding *how,
                       struct err *e) {
    struct dataset *split[TASK_SPLITS];
    const char *name[TASK_SPLITS];
    int n = task_splits(t, split, name), rc = 0;
    for (int i = 0; !rc && i < n; i++) rc = dataset_encode_causal(split[i], k, how, e);
    return rc;
}
