#include "core/data/causal.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/import.h"
#include "core/data/sample.h"

enum { PREVIEWS = 2 }; /* examples in the report */

/* The split while it is encoded. */
struct causal {
    struct dataset *d;
    const struct tokenizer *tokenizer;
    const struct causal_coding *how;
    struct chat_template joined; /* prompt and completion as they are */
    /* capacities of the arrays of d */
    size_t room, types_room, trained_room, target_room, start_room, target_start_room;
    size_t kept;                 /* examples so far */
};

/* Appends the current example to the split. */
static void keep(struct causal *c, const struct chat_ids *x) {
    struct dataset *d = c->d;
    size_t first = d->start[c->kept], targets = d->target_start[c->kept];
    GROW(d->ids, c->room, first + x->n + 1);
    GROW(d->types, c->types_room, first + x->n + 1);
    GROW(d->trained, c->trained_room, first + x->n + 1);
    GROW(d->target_ids, c->target_room, targets + x->n + 1);
    GROW(d->start, c->start_room, c->kept + 2);
    GROW(d->target_start, c->target_start_room, c->kept + 2);
    memcpy(d->ids + first, x->ids, x->n * sizeof *x->ids);
    memset(d->types + first, 0, x->n);
    memcpy(d->trained + first, x->trained, x->n);
    for (size_t i = 0; i < x->n; i++)
        if (x->trained[i]) d->target_ids[targets++] = x->ids[i];
    c->kept++;
    d->start[c->kept] = first + x->n;
    d->target_start[c->kept] = targets;
}

static int check_ids(const struct causal *c, size_t i, const struct chat_ids *x, struct err *e) {
    int32_t greatest = -1;
    for (size_t k = 0; k < x->n; k++)
        if (x->ids[k] > greatest) greatest = x->ids[k];
    if (!c->how->embedding_rows || greatest < c->how->embedding_rows) return 0;
    return tokens_past_embedding(c->d, c->tokenizer, i, greatest, c->how->embedding_rows, e);
}

/* The template of an example: chats need one. */
static int template_of(const struct causal *c, const struct example *x, const struct chat_template **out,
                       struct err *e) {
    bool chat = x->turn != NULL;
    *out = chat || c->how->wrap ? c->how->chat : &c->joined;
    if (*out && (*out)->form) return 0;
    return err_set(e, ERR_USAGE,
                   "%s: line %zu: chats need a chat template, but the model has none; select one with "
                   "--template: %s",
                   c->d->path, x->line, chat_template_names);
}

/* Counts the tokens of an encoded example. */
static void causal_count(struct causal *c, const struct example *x, const struct chat_ids *ids) {
    struct import_report *r = &c->d->report;
    size_t targets = 0;
    for (size_t i = 0; i < ids->n; i++) targets += ids->trained[i] != 0;
    r->tokens += ids->n - targets;
    r->unknown += ids->unknown;
    r->target_tokens += targets;
    r->target_unknown += ids->target_unknown;
    if (ids->target_unknown) unwritten_count(r, c->tokenizer, x->target_text, x->target_size);
    if (targets > r->target_longest) r->target_longest = targets;
    if (ids->spelled) report_line(&r->spelled, x->line);
    if (ids->blank_start) report_line(&r->blank_start, x->line);
}

/* Encodes the messages from `from` on, after a system message; the last one is an answer if there is a target. */
static int causal_turns(const struct causal *c, const struct chat_template *t, const struct example *x,
                        size_t from, struct chat_ids *ids, struct err *why) {
    const struct chat_turn pair[] = { { CHAT_USER, x->a, x->a_size },
                                      { CHAT_ASSISTANT, x->target_text, x->target_size } };
    const struct chat_turn *turn = x->turn ? x->turn : pair;
    size_t n = x->turn ? x->turns : 1 + (x->target_text != NULL), system = turn[0].role == CHAT_SYSTEM;
    struct chat_turn *some = NULL;
    if (from > system) {
        some = xmalloc((n - from + system) * sizeof *some);
        if (system) some[0] = turn[0];
        memcpy(some + system, turn + from, (n - from) * sizeof *some);
        turn = some;
        n = n - from + system;
    }
    int rc = x->target_text ? chat_encode(c->tokenizer, t, turn, n, false, ids, why)
                            : chat_prompt(c->tokenizer, t, turn, n, ids, why);
    free(some);
    return rc;
}

/* Removes as few of the oldest messages as necessary, up to a user message, so that the chat fits. */
static int causal_shorten(struct causal *c, const struct chat_template *t, const struct example *x,
                          struct chat_ids *ids, struct err *why) {
    size_t *start = xmalloc((x->turns + 1) * sizeof *start), n = 0, low = 0;
    for (size_t i = 1; i + (x->target_text != NULL) < x->turns; i++)
        if (x->turn[i].role == CHAT_USER && x->turn[i - 1].role == CHAT_ASSISTANT) start[n++] = i;
    int rc = 0;
    for (size_t high = n; !rc && low < high;) {
        size_t middle = (low + high) / 2;
        chat_ids_release(ids);
        rc = causal_turns(c, t, x, start[middle], ids, why);
        if (ids->n <= c->how->max_len) high = middle;
        else low = middle + 1;
    }
    if (!rc && low < n) {
        chat_ids_release(ids);
        rc = causal_turns(c, t, x, start[low], ids, why);
        if (!rc) report_line(&c->d->report.shortened, x->line);
    }
    free(start);
    return rc;
}

/* Encodes example i; *fits becomes whether it is part of the split. */
static int causal_example(struct causal *c, size_t i, bool *fits, struct err *e) {
    const struct example *x = &c->d->example[i];
    struct import_report *r = &c->d->report;
    const struct chat_template *t;
    struct chat_ids ids;
    struct err why = ERR_INIT;
    if (template_of(c, x, &t, e)) return e->code;
    int rc = causal_turns(c, t, x, 0, &ids, &why);
    if (!rc && ids.n > c->how->max_len && x->turn) rc = causal_shorten(c, t, x, &ids, &why);
    if (rc) { /* the template cannot write it */
        if (!r->unfit.examples) text_more(r->unfit_why, sizeof r->unfit_why, 0, "%s", why.text);
        report_line(&r->unfit, x->line);
        return 0;
    }
    for (size_t k = 1; k < ids.n && c->how->all; k++)
        if (!ids.trained[k]) ids.trained[k] = TRAINED_CONTEXT;
    rc = ids.n ? check_ids(c, i, &ids, e) : tokens_missing(c->d, i, e);
    *fits = !rc && ids.n <= c->how->max_len;
    if (*fits) {
        keep(c, &ids);
        causal_count(c, x, &ids);
    } else if (!rc) {
        report_line(&r->too_long, x->line);
    }
    chat_ids_release(&ids);
    return rc;
}

/* Cuts the text of example i into windows of at most max_len tokens, of which all but the first are targets. */
static int causal_document(struct causal *c, size_t i, struct err *e) {
    const struct example *x = &c->d->example[i];
    struct chat_ids all = { 0 };
    size_t room = 0, own_room = 0;
    int32_t *own = NULL;
    GROW(all.ids, room, TOKENIZER_LEAD);
    all.n = tokenizer_lead(c->tokenizer, all.ids);
    size_t words = tokenizer_ids(c->tokenizer, x->target_text, x->target_size, &own, &own_room);
    GROW(all.ids, room, all.n + words + 1);
    if (words) memcpy(all.ids + all.n, own, words * sizeof *own);
    all.n += words;
    if (!words || own[words - 1] != c->how->end) all.ids[all.n++] = c->how->end;
    all.trained = xmalloc(all.n);
    memset(all.trained, 1, all.n);
    int rc = check_ids(c, i, &all, e);
    size_t most = c->how->max_len, windows = 0;
    for (size_t from = 0; !rc && from < all.n; from += most) {
        struct chat_ids one = { .ids = all.ids + from, .trained = all.trained + from,
                                .n = all.n - from < most ? all.n - from : most };
        if (one.n < 2) continue; /* nothing to predict */
        one.trained[0] = 0;
        keep(c, &one);
        causal_count(c, x, &one);
        windows++;
    }
    if (!rc && all.n > most) report_line(&c->d->report.windowed, x->line);
    c->d->report.windows += windows;
    chat_ids_release(&all);
    free(own);
    return rc;
}

/* Makes an example of each encoded one: pick[i] is the example that it comes from. */
static void causal_take(struct causal *c, const int *pick) {
    struct dataset *d = c->d;
    struct dataset_memory *m = d->memory;
    size_t all = d->examples, n = c->kept;
    bool windows = false;
    for (size_t i = 0; i < n; i++) windows = windows || pick[i] < (int)i;
    if (!windows) {
        size_t split = d->split_examples - (all - n);
        if (n < all) dataset_keep(d, pick, (int)n);
        d->split_examples = split;
        return;
    }
    struct example *example = xmalloc(n * sizeof *example);
    for (size_t i = 0; i < n; i++) {
        example[i] = d->example[pick[i]];
        example[i].id = i;
    }
    free(d->example);
    free(m->exact); /* repeats were counted */
    free(m->folded);
    m->exact = m->folded = NULL;
    d->example = example;
    d->split_examples += n - all;
    d->examples = n;
}

static int encode_all(struct causal *c, struct err *e) {
    struct dataset *d = c->d;
    size_t all = d->examples, room = 0;
    int *pick = NULL, rc = 0;
    for (size_t i = 0; !rc && i < all; i++) {
        bool fits = false;
        size_t at = c->kept;
        rc = d->shape == DATA_DOCUMENTS ? causal_document(c, i, e) : causal_example(c, i, &fits, e);
        GROW(pick, room, c->kept + 1);
        while (at < c->kept) pick[at++] = (int)i;
    }
    if (!rc && !c->kept && d->report.unfit.examples)
        rc = err_set(e, ERR_INPUT, "%s: line %zu: %s", d->path, d->report.unfit.first[0],
                     d->report.unfit_why);
    else if (!rc && !c->kept)
        rc = err_set(e, ERR_USAGE, "%s: every example is longer than %zu tokens; use a larger --max-length",
                     d->path, c->how->max_len);
    if (!rc) causal_take(c, pick);
    free(pick);
    return rc;
}

int dataset_encode_causal(struct dataset *d, const struct tokenizer *t, const struct causal_coding *how,
                          struct err *e) {
    struct err own = ERR_INIT;
    struct causal c = { .d = d, .tokenizer = t, .how = how };
    if (!e) e = &own;
    BUG_IF(d->kind != DATA_TEXT || d->pair);
    tokens_forget(d);
    GROW(d->start, c.start_room, 1);
    GROW(d->target_start, c.target_start_room, 1);
    d->start[0] = d->target_start[0] = 0;
    int rc = chat_template_by_name(&c.joined, "none", e);
    c.joined.eos = how->end;
    if (!rc) rc = encode_all(&c, e);
    chat_template_release(&c.joined);
    if (rc) {
        tokens_forget(d);
        return rc;
    }
    d->target_end = -1;
    if (how->chat && how->chat->form && (dataset_has_chats(d) || how->wrap)) {
        struct buf b = BUF_INIT;
        chat_template_describe(how->chat, &b);
        d->report.chat_template = buf_take(&b);
        d->target_end = chat_end(t, how->chat);
    }
    for (size_t i = 0; i < d->examples && i < PREVIEWS; i++) causal_preview(d, t, i, &d->report.preview);
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
