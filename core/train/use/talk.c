#include "core/train/use/talk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/engine/kernel.h"

struct talker {
    const struct model *m;
    struct generate_method method;
    void *opened; /* the method on the thread that answers */
    struct chat_template template;
    struct generate_options options;
    struct generate_memory memory;
    struct generate_stored stored;
};

void talk_answer_release(struct talk_answer *a) {
    buf_release(&a->text);
    free(a->token);
    *a = (struct talk_answer){ 0 };
}

void talk_answer_copy(struct talk_answer *to, const struct talk_answer *from) {
    talk_answer_release(to);
    *to = *from;
    to->text = (struct buf)BUF_INIT;
    buf_add(&to->text, buf_text(&from->text), from->text.size);
    to->room = (size_t)from->tokens;
    to->token = xcalloc(to->room + 1, sizeof *to->token);
    if (from->tokens) memcpy(to->token, from->token, to->room * sizeof *to->token);
}

void talk_chat_add(struct talk_chat *c, enum chat_role role, const char *text, size_t size) {
    GROW(c->turn, c->room, c->n + 1);
    char *own = xmalloc(size + 1);
    if (size) memcpy(own, text, size);
    own[size] = '\0';
    c->turn[c->n++] = (struct chat_turn){ role, own, size };
}

void talk_chat_cut(struct talk_chat *c, size_t n) {
    while (c->n > n) free((void *)(uintptr_t)c->turn[--c->n].text);
}

void talk_chat_release(struct talk_chat *c) {
    talk_chat_cut(c, 0);
    free(c->turn);
    *c = (struct talk_chat){ 0 };
}

int talk_template(const struct model *m, const struct predictor *p, const char *name,
                  struct chat_template *out, struct err *e) {
    if (!name && p) name = predictor_template(p);
    int rc = name ? chat_template_by_name(out, name, e) : model_chat_template(m->folder, out, e);
    out->eos = m->arch.eos_id;
    if (rc || out->form) return rc;
    return err_set(e, ERR_USAGE, "%s: the model has no chat template; select one with --template: %s", m->name,
                   chat_template_names);
}

static int can_talk(const struct model *m, const struct predictor *p, struct err *e) {
    if (!m->arch.causal)
        return err_set(e, ERR_USAGE, "%s: only a decoder-only model answers messages; use petri generate or petri "
                                     "predict", m->name);
    if (p && method_reads_whole_text(&predictor_plan(p)->method))
        return err_set(e, ERR_USAGE, "the method of the run reads a text as a whole, and a decoder-only model "
                                     "generates token by token; use petri predict");
    return model_needs_tokenizer(m, e);
}

struct talker *talker_new(const struct model *m, const struct predictor *p, enum precision precision,
                          const char *template, struct err *e) {
    struct talker *t = xcalloc(1, sizeof *t);
    t->m = m;
    t->method = p ? predictor_generates(p) : model_generates(precision);
    if (can_talk(m, p, e) || talk_template(m, p, template, &t->template, e) ||
        generate_defaults(m, &t->options, NULL, e)) {
        talker_free(t);
        return NULL;
    }
    t->options.beams = 1;
    generate_end_with(&t->options, chat_end(m->tokenizer, &t->template));
    t->opened = t->method.open(t->method.self);
    struct arena *arena = arena_new();
    t->memory = (struct generate_memory){ .tape = tape_new(arena), .arena = arena,
                                          .cache = cache_new(&m->arch), .begin = t->method.begin,
                                          .self = t->opened, .stored = &t->stored };
    return t;
}

void talker_free(struct talker *t) {
    if (!t) return;
    if (t->memory.tape) {
        cache_free(t->memory.cache);
        tape_free(t->memory.tape);
        arena_free(t->memory.arena);
    }
    if (t->opened && t->method.close) t->method.close(t->opened);
    free(t->stored.ids);
    chat_template_release(&t->template);
    free(t);
}

struct generate_options *talker_options(struct talker *t) { return &t->options; }
const struct chat_template *talker_template(const struct talker *t) { return &t->template; }

/* ---- one answer ---- */

struct answering {
    struct talker *t;
    struct generation g;
    const struct talk_watch *watch;
    struct talk_answer *out;
    int32_t *ids; /* of the answer so far */
    size_t room;
    struct err *e;
    int rc;
};

/* Returns the bytes of a text that later tokens cannot change: without the replacement characters of an
 * incomplete character, and without the beginning of a stop text, at the end. */
static size_t settled(const struct generate_options *o, const char *text, size_t n) {
    static const char replacement[] = "\xEF\xBF\xBD";
    while (n >= 3 && !memcmp(text + n - 3, replacement, 3)) n -= 3;
    size_t least = n;
    for (int i = 0; i < o->stops; i++)
        for (size_t k = strlen(o->stop[i]); k > 0; k--)
            if (k <= n && !memcmp(text + n - k, o->stop[i], k) && n - k < least) least = n - k;
    return least;
}

static void rank(struct talk_token *to, const real *logits, int n) {
    real top = kernel_largest((size_t)n, logits);
    double sum = (double)top + (double)kernel_log_sum((size_t)n, top, logits);
    int have = 0;
    to->p = exp((double)logits[to->id] - sum);
    for (int32_t id = 0; id < n; id++) {
        double p = (double)logits[id];
        if (have == TALK_OTHERS && !(p > to->best[have - 1].p)) continue;
        int at = have < TALK_OTHERS ? have++ : have - 1;
        for (; at > 0 && p > to->best[at - 1].p; at--) to->best[at] = to->best[at - 1];
        to->best[at].id = id;
        to->best[at].p = p;
    }
    for (int i = 0; i < have; i++) to->best[i].p = exp(to->best[i].p - sum);
}

/* Decodes the answer so far; `all`: also what later tokens could have changed. */
static void decode(struct answering *x, bool all) {
    struct talk_answer *a = x->out;
    const struct generate_options *o = &x->t->options;
    buf_clear(&a->text);
    bool stopped = generated_text(x->t->m, o, x->ids, a->tokens, &a->text);
    if (!all && !stopped) a->text.size = settled(o, buf_text(&a->text), a->text.size);
    if (a->text.data) a->text.data[a->text.size] = '\0';
}

static void take_token(void *self, size_t row, int32_t id, const real *logits) {
    struct answering *x = self;
    struct talk_answer *a = x->out;
    (void)row;
    GROW(a->token, a->room, (size_t)a->tokens + 1);
    GROW(x->ids, x->room, (size_t)a->tokens + 1);
    struct talk_token *to = &a->token[a->tokens];
    *to = (struct talk_token){ .id = id };
    rank(to, logits, x->t->m->arch.vocabulary);
    x->ids[a->tokens++] = id;
    decode(x, false);
    to->end = a->text.size;
    if (x->watch && x->watch->token) x->watch->token(x->watch->self, a);
}

static bool talk_stopped(void *self) {
    const struct answering *x = self;
    return x->watch && x->watch->stop && x->watch->stop(x->watch->self);
}

static void answer_unit(void *self) {
    struct answering *x = self;
    struct generate_memory *m = &x->t->memory;
    struct generated text = { 0 };
    m->token = take_token;
    m->stop = talk_stopped;
    m->token_self = m->stop_self = x;
    x->rc = generation_group(&x->g, 0, m, &text, x->e);
    x->out->ended = !x->rc;
    x->out->end = text.end;
    decode(x, true);
    if (x->out->tokens) x->out->token[x->out->tokens - 1].end = x->out->text.size;
    generated_release(&text, 1);
}

int talker_answer(struct talker *t, const struct chat_turn *turn, size_t n, struct crew *crew,
                  const struct talk_watch *watch, struct talk_answer *out, struct err *e) {
    struct chat_ids chat;
    struct err own = ERR_INIT;
    struct answering x = { .t = t, .watch = watch, .out = out, .e = e ? e : &own };
    *out = (struct talk_answer){ 0 };
    int rc = chat_prompt(t->m->tokenizer, &t->template, turn, n, &chat, e);
    if (rc) return rc;
    if (chat.n > (size_t)arch_max_length(&t->m->arch)) {
        rc = err_set(e, ERR_INPUT, "the chat has %zu tokens, more than the context of %s (%d): start a new chat",
                     chat.n, t->m->name, arch_max_length(&t->m->arch));
        chat_ids_release(&chat);
        return rc;
    }
    const size_t start[2] = { 0, chat.n };
    const struct generate_sources sources = { 1, start, chat.ids };
    out->prompt = chat.n;
    generation_init(&x.g, t->m, &t->options, &sources);
    crew_call(crew, answer_unit, &x);
    generation_release(&x.g);
    free(x.ids);
    chat_ids_release(&chat);
    return x.rc;
}
