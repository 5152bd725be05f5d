#include "core/train/run/text_score.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/data/text_form.h"
#include "core/train/config/target.h"
#include "core/train/run/batch.h"
#include "core/train/run/order.h"
#include "core/train/run/score.h"

enum {
    CHUNK_TOKENS = 1024,       /* as in score.c */
    CHUNK_LOGITS = 8 << 20,    /* maximum of target tokens × vocabulary per chunk */
};

static size_t target_tokens(const struct dataset *d, size_t row) {
    return d->target_start[row + 1] - d->target_start[row];
}

static size_t text_score_tokens_of(const struct dataset *d, size_t row) {
    return d->start[row + 1] - d->start[row] + target_tokens(d, row);
}

/* Divides the examples with targets into chunks, longest first. */
static void cut_chunks(struct text_scoring *s) {
    const struct dataset *d = s->data;
    size_t tokens = 0, targets = 0, rows = 0, most = CHUNK_LOGITS / (size_t)s->model->arch.vocabulary;
    s->order = xmalloc((d->examples + 1) * sizeof *s->order);
    s->first = xmalloc((d->examples + 1) * sizeof *s->first);
    s->loss = xcalloc(d->examples + 1, sizeof *s->loss);
    s->correct = xcalloc(d->examples + 1, sizeof *s->correct);
    order_by_length(s->order, d->examples, d->start, d->target_start);
    s->first[0] = 0;
    for (size_t i = 0; i < d->examples; i++) {
        uint32_t row = s->order[i];
        if (!target_tokens(d, row)) continue;
        bool full = tokens + text_score_tokens_of(d, row) > CHUNK_TOKENS ||
                    targets + target_tokens(d, row) > most;
        if (rows > s->first[s->chunks] && full) {
            s->first[++s->chunks] = (uint32_t)rows;
            tokens = targets = 0;
        }
        tokens += text_score_tokens_of(d, row);
        targets += target_tokens(d, row);
        s->order[rows++] = row;
    }
    if (rows) s->first[++s->chunks] = (uint32_t)rows;
}

/* Returns the length of the prompt of an example of a causal model: what precedes its last answer, or all of an
 * example without an answer. */
static size_t prompt_length(const struct dataset *d, size_t row) {
    const uint8_t *trained = d->trained + d->start[row];
    size_t all = d->start[row + 1] - d->start[row], n = all;
    while (n && trained[n - 1] != TRAINED_ANSWER) n--;
    if (!n) return all;
    while (trained[n - 1] == TRAINED_ANSWER) n--; /* the first token is not a target */
    return n;
}

static void take_prompts(struct text_scoring *s) {
    const struct dataset *d = s->data;
    s->prompt_start = xcalloc(d->examples + 1, sizeof *s->prompt_start);
    s->prompt = xmalloc((d->start[d->examples] + 1) * sizeof *s->prompt);
    for (size_t i = 0; i < d->examples; i++) {
        size_t n = prompt_length(d, i), at = s->prompt_start[i];
        memcpy(s->prompt + at, d->ids + d->start[i], n * sizeof *s->prompt);
        s->prompt_start[i + 1] = at + n;
    }
}

void text_scoring_init(struct text_scoring *s, const struct model *m, const struct dataset *d,
                       bool losses, const struct generate_options *how) {
    *s = (struct text_scoring){ .data = d, .model = m };
    BUG_IF(losses && !d->target_start);
    if (losses) cut_chunks(s);
    if (!how) return;
    s->how = *how;
    if (d->trained) {
        take_prompts(s);
        generate_end_with(&s->how, d->target_end);
    }
    s->sources = d->trained ? (struct generate_sources){ d->examples, s->prompt_start, s->prompt }
                            : (struct generate_sources){ d->examples, d->start, d->ids };
    generation_init(&s->generation, m, &s->how, &s->sources);
    s->ids = xcalloc(d->examples + 1, sizeof *s->ids);
    s->text = xcalloc(d->examples + 1, sizeof *s->text);
    s->text_size = xcalloc(d->examples + 1, sizeof *s->text_size);
}

void text_scoring_release(struct text_scoring *s) {
    if (s->ids) {
        for (size_t i = 0; i < s->data->examples; i++) free(s->text[i]);
        generated_release(s->ids, s->data->examples);
        generation_release(&s->generation);
    }
    free(s->ids);
    free(s->text);
    free(s->text_size);
    free(s->prompt_start);
    free(s->prompt);
    free(s->order);
    free(s->first);
    free(s->loss);
    free(s->correct);
    *s = (struct text_scoring){ 0 };
}

int text_scoring_units(const struct text_scoring *s) { return s->chunks + s->generation.groups; }

static bool losses(struct text_scoring *s, int chunk, struct tape *tape, struct arena *arena,
                   struct attach *attach, const real *params, const real *generated, uint64_t *bad) {
    const uint32_t *rows = s->order + s->first[chunk];
    int n = (int)(s->first[chunk + 1] - s->first[chunk]), vocabulary = s->model->arch.vocabulary;
    const struct arch *arch = &s->model->arch;
    struct batch b;
    struct forward f;
    bool finite = true;
    tape_reset(tape, false, 0, 0);
    batch_pack(&b, arena, arch, s->data, s->frozen, rows, n, true);
    forward_init(&f, tape, s->model, &b, attach_begin(attach, tape, params, generated, NULL));
    node decoded = forward_decode(&f, forward_encode(&f));
    struct tape_mark mark = tape_mark(tape);
    int most = (int)(CHUNK_LOGITS / (size_t)vocabulary), i = 0;
    if (most < 1) most = 1;
    for (int k = 0; k < n; k++) s->loss[rows[k]] = s->correct[rows[k]] = 0;
    for (int from = 0; from < b.target_tokens; from += most) { /* a single text may have more targets */
        int to = from + most < b.target_tokens ? from + most : b.target_tokens;
        node some = to - from < b.target_tokens ? op_rows(tape, decoded, from, to) : decoded;
        const real *v = tape_value(tape, forward_logits(&f, some));
        for (int t = from; t < to; t++, v += vocabulary) {
            bool right;
            while (t >= b.target_start[i + 1]) i++;
            s->loss[rows[i]] += token_loss(v, vocabulary, b.target_out[t], &right);
            s->correct[rows[i]] += right;
        }
        tape_recycle(tape, mark, &decoded);
    }
    for (i = 0; i < n; i++) {
        if (!finite || isfinite(s->loss[rows[i]])) continue;
        finite = false;
        *bad = b.example_id[i];
    }
    return finite;
}

/* ---- texts ---- */

/* A method attached on a tape. */
struct generation_start {
    struct attach *attach;
    const real *params, *generated;
};

static const struct hooks *text_score_begin(void *self, struct tape *t) {
    const struct generation_start *b = self;
    return b->attach ? attach_begin(b->attach, t, b->params, b->generated, NULL) : NULL;
}

static bool texts(struct text_scoring *s, int group, struct tape *tape, struct arena *arena,
                  struct attach *attach, const real *params, const real *generated, uint64_t *bad) {
    struct generation_start b = { attach, params, generated };
    struct err e = ERR_INIT;
    size_t from = s->generation.first[group], to = s->generation.first[group + 1];
    struct generate_memory memory = { .tape = tape, .arena = arena, .cache = cache_new(&s->model->arch),
                                  .begin = text_score_begin, .self = &b };
    for (size_t i = from; i < to; i++) { /* from the previous evaluation */
        free(s->text[i]);
        s->text[i] = NULL;
    }
    generated_release(s->ids + from, to - from);
    int rc = generation_group(&s->generation, group, &memory, s->ids, &e);
    cache_free(memory.cache);
    if (memory.lacks) mem_lack(memory.lacks);
    if (rc) *bad = s->data->example[from].id;
    for (size_t i = from; i < to && !rc; i++) {
        struct buf text = BUF_INIT;
        tokenizer_decode(s->model->tokenizer, s->ids[i].ids, (size_t)s->ids[i].count, true, &text);
        s->text_size[i] = text.size;
        s->text[i] = buf_take(&text);
    }
    return !rc;
}

int64_t text_scoring_examples(const struct text_scoring *s, int unit) {
    const struct generation *g = &s->generation;
    if (unit < g->groups) return (int64_t)(g->first[unit + 1] - g->first[unit]);
    return g->groups ? 0 : (int64_t)s->first[unit + 1] - s->first[unit];
}

bool text_scoring_unit(struct text_scoring *s, int unit, struct tape *tape, struct arena *arena,
                       struct attach *attach, const real *params, const real *generated, uint64_t *bad) {
    int groups = s->generation.groups;
    if (attach) attach_for_task(attach, s->task);
    return unit < groups ? texts(s, unit, tape, arena, attach, params, generated, bad)
                         : losses(s, unit - groups, tape, arena, attach, params, generated, bad);
}

/* Returns the decoder start token of a model whose targets start with their last token: that of any text. */
static int32_t last_token(const struct model *m) {
    struct encoded x;
    struct err e = ERR_INIT;
    if (!m->tokenizer || tokenizer_encode(m->tokenizer, "", 0, NULL, 0, 16, &x, &e)) return 0;
    int32_t id = x.n ? x.ids[x.n - 1] : 0;
    encoded_release(&x);
    return id;
}

bool text_generates(const struct model *m, enum metric_id metric) {
    return !m->arch.causal || metric != METRIC_LOSS;
}

struct metric_value text_perplexity(const struct metrics *m) {
    struct metric_value v = m->value[METRIC_LOSS];
    v.value = v.defined ? exp(v.value) : 0;
    return v;
}

int text_options(const struct model *m, const struct task *t, int beams, int max_target,
                 struct generate_options *out, struct err *e) {
    struct generate_options o;
    int rc = generate_defaults(m, &o, NULL, e);
    if (rc) return rc;
    if (target_begins_with_last(&m->arch)) o.start = last_token(m);
    o.beams = beams;
    o.max_new = max_target;
    o.min_new = 0;
    o.no_repeat = 0;
    o.repetition = 1;
    o.length_penalty = 1;
    o.early = EARLY_HEURISTIC;
    size_t longest = t->has_train ? t->train.report.target_longest : 0;
    for (int i = 0; i < t->devs; i++)
        if (t->dev[i].report.target_longest > longest) longest = t->dev[i].report.target_longest;
    if (t->label_kind != DATA_TEXT && longest && longest < (size_t)max_target) o.max_new = (int)longest;
    *out = o;
    return generate_check(m, &o, e);
}

/* ---- scores ---- */

static void text_scoring_texts(const struct text_scoring *s, const struct task *task, struct metrics *out) {
    struct metric_text *written = xcalloc(s->data->examples + 1, sizeof *written);
    for (size_t i = 0; i < s->data->examples; i++)
        written[i] = (struct metric_text){ s->text[i], s->text_size[i] };
    text_metrics(out, task, s->data, written);
    free(written);
}

void text_scoring_metrics(const struct text_scoring *s, const struct task *task, struct metrics *out,
                          struct metric_value *token_accuracy) {
    double loss = 0;
    size_t tokens = 0, right = 0;
    if (s->text) text_scoring_texts(s, task, out);
    else metrics_of_losses(out, s->data->examples);
    for (size_t i = 0; i < s->data->examples; i++) {
        if (!s->text) out->labeled += target_tokens(s->data, i) > 0;
        loss += s->loss[i];
        right += s->correct[i];
        tokens += target_tokens(s->data, i);
    }
    const struct metric_value undefined = { 0, false, "no example has a target" };
    out->value[METRIC_LOSS] = *token_accuracy = undefined;
    if (!tokens) return;
    out->value[METRIC_LOSS] = (struct metric_value){ loss / (double)tokens, true, NULL };
    *token_accuracy = (struct metric_value){ (double)right / (double)tokens, true, NULL };
}
