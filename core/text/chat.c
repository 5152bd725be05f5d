#include "core/text/chat.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/chat_forms.h"
#include "core/text/parts.h"
#include "core/text/unicode.h"

const char *chat_template_at(size_t i) { return i < chat_forms_count ? chat_forms[i].name : NULL; }

const char *chat_role_name(enum chat_role r) {
    static const char *const name[] = { "system", "user", "assistant" };
    return name[r];
}

void chat_ids_release(struct chat_ids *x) {
    free(x->ids);
    free(x->trained);
    memset(x, 0, sizeof *x);
}

/* ---- ids of a template's text and of messages ---- */

enum { CHAT_CONTROLS = 64 }; /* more than the tokens of any template */

struct chat_writer {
    const struct tokenizer *t;
    const struct chat_template *c;
    int32_t control[CHAT_CONTROLS]; /* tokens that the template writes */
    struct added_off off;
    struct id_list out;
    struct buf trained; /* a byte per id */
    struct buf run;     /* text since the last control token */
    enum text_place place; /* of the run */
    bool target;
    size_t unknown, target_unknown;
};

/* The end token of a template is that of the tokenizer, that of joined texts the model's. */
static int32_t chat_eos(const struct tokenizer *t, const struct chat_template *c) {
    return t->eos < 0 || (c->form->single && c->eos >= 0) ? c->eos : t->eos;
}

/* The token that the tokenizer names, or the first of those that it adds before a text. */
static int32_t chat_bos(const struct tokenizer *t) {
    bool adds = t->single.pieces && t->single.piece[0].text < 0;
    return t->bos < 0 && adds ? t->single.piece[0].id : t->bos;
}

static void mark(struct chat_writer *w) {
    while (w->trained.size < w->out.n) buf_putc(&w->trained, w->target);
}

static void end_run(struct chat_writer *w) {
    if (!w->run.size) return;
    size_t unknown = tokenizer_plain_ids(w->t, w->run.data, w->run.size, w->place, &w->off, &w->out);
    w->unknown += unknown;
    if (w->target) w->target_unknown += unknown;
    mark(w);
    buf_clear(&w->run);
    w->place = TEXT_CONTINUED;
}

static void chat_control(struct chat_writer *w, int32_t id) {
    end_run(w);
    id_list_add(&w->out, id);
    mark(w);
    w->place = TEXT_LATER;
}

/* Finds the first control token in a template's text: its span and id; false when the rest is plain. */
static bool next_control(const struct tokenizer *t, const struct chat_template *c, const char *s, size_t n,
                         size_t *from, size_t *to, int32_t *id) {
    const struct added_token named[] = { { .text = (char *)"{bos}", .size = 5, .id = chat_bos(t) },
                                         { .text = (char *)"{eos}", .size = 5, .id = chat_eos(t, c) } };
    const struct added_set *const sets[] = { &t->raw, &t->normalized };
    *from = n;
    for (size_t i = 0; i < COUNT_OF(named) + COUNT_OF(sets); i++) {
        const struct added_token *token = &named[i % COUNT_OF(named)];
        size_t a, b; /* a span with whitespace around the token */
        if (i >= COUNT_OF(named) &&
            !added_next(sets[i - COUNT_OF(named)], NULL, s, n, 0, 0, &a, &b, &token))
            continue;
        const char *at = memmem(s, n, token->text, token->size);
        if (!at || (size_t)(at - s) >= *from) continue;
        *from = (size_t)(at - s);
        *to = *from + token->size;
        *id = token->id;
    }
    return *from < n;
}

static void chat_literal(struct chat_writer *w, const char *s) {
    size_t n = s ? strlen(s) : 0, from, to = 0;
    int32_t id = -1;
    while (n && next_control(w->t, w->c, s, n, &from, &to, &id)) {
        buf_add(&w->run, s, from);
        if (id >= 0) chat_control(w, id);
        s += to;
        n -= to;
    }
    if (n) buf_add(&w->run, s, n);
}

static void chat_controls_of(struct chat_writer *w, const char *s) {
    size_t n = s ? strlen(s) : 0, from, to;
    int32_t id;
    while (n && next_control(w->t, w->c, s, n, &from, &to, &id)) {
        if (id >= 0 && w->off.n < CHAT_CONTROLS) w->control[w->off.n++] = id;
        s += to;
        n -= to;
    }
}

static const char thought_start[] = "<think>\n", thought_end[] = "\n</think>\n\n";

static void chat_begin(struct chat_writer *w) {
    const struct chat_form *f = w->c->form;
    const struct template *own = &w->t->single;
    const char *const all[] = { f->begin, f->lead, f->tail, f->opening, f->closing, "{bos}{eos}",
                                f->thinks ? thought_start : NULL, f->thinks ? thought_end : NULL };
    w->off.id = w->control;
    for (size_t i = 0; i < COUNT_OF(all); i++) chat_controls_of(w, all[i]);
    for (int r = 0; r < CHAT_ROLES; r++) {
        chat_controls_of(w, f->head[r]);
        chat_controls_of(w, f->foot[r]);
    }
    /* the tokens that the tokenizer adds before a text, unless the template writes them itself */
    bool writes = (f->begin && *f->begin) || (f->head[CHAT_USER] && text_starts(f->head[CHAT_USER], "{bos}"));
    for (int i = 0; !writes && i < own->pieces && own->piece[i].text < 0; i++)
        id_list_add(&w->out, own->piece[i].id);
    mark(w);
    chat_literal(w, f->begin);
}

static void chat_content(struct chat_writer *w, const char *s, size_t n, bool trim) {
    if (trim) unicode_strip(&s, &n);
    if (n) buf_add(&w->run, s, n);
}

/* ---- messages ---- */

struct chat {
    struct chat_writer *w;
    const struct chat_form *form;
    const struct chat_turn *turn;
    size_t n;
    struct chat_turn system; /* the message within a user's; text NULL: none */
    size_t first, last;      /* the first and the last user message */
    bool all, answers;       /* all ids are targets; answers are */
};

static int refuse_order(const struct chat_template *c, const char *what, struct err *e) {
    return err_set(e, ERR_INPUT, "the chat template %s %s", c->form->name, what);
}

/* Checks the end token and the order of the messages; `answers`: the last one must be an answer. */
static int chat_check(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                      size_t n, bool answers, struct err *e) {
    const struct chat_form *f = c->form;
    size_t systems = n && turn[0].role == CHAT_SYSTEM;
    for (size_t i = 0; i < n; i++) {
        if (turn[i].role != CHAT_SYSTEM) {
            if (f->alternate && turn[i].role != ((i - systems) % 2 ? CHAT_ASSISTANT : CHAT_USER))
                return refuse_order(c, "requires user and assistant messages that alternate, starting with "
                                       "the user", e);
            continue;
        }
        if (f->where == CHAT_SYSTEM_NONE)
            return refuse_order(c, "does not support system messages; select another template with --template", e);
        if (i && f->where != CHAT_SYSTEM_TURN)
            return refuse_order(c, "supports a system message only before all other messages", e);
    }
    if (strstr(f->foot[CHAT_ASSISTANT], "{eos}") && chat_eos(t, c) < 0)
        return refuse_order(c, "uses the end-of-sequence token, but the tokenizer has none; add \"eos_token\" to "
                               "tokenizer_config.json", e);
    if (f->single && n > 2)
        return refuse_order(
            c, "joins one prompt and one completion; for chats, select another template with --template", e);
    if (!n || (turn[n - 1].role == CHAT_ASSISTANT) != answers)
        return err_set(e, ERR_INPUT, answers ? "the last message must be from the assistant"
                                             : "the last message must be from the user");
    return 0;
}

static void chat_system(struct chat *x, const char *s, size_t n, bool first) {
    struct chat_writer *w = x->w;
    chat_literal(w, x->form->head[CHAT_SYSTEM]);
    if (first) chat_literal(w, x->form->opening);
    chat_content(w, s, n, x->form->trim);
    chat_literal(w, x->form->foot[CHAT_SYSTEM]);
}

static void chat_user(struct chat *x, size_t i) {
    const struct chat_form *f = x->form;
    const struct chat_turn *turn = &x->turn[i];
    chat_literal(x->w, f->head[CHAT_USER]);
    if (x->system.text && i == (f->where == CHAT_SYSTEM_FIRST ? x->first : x->last)) {
        struct buf both = BUF_INIT; /* stripped together */
        buf_puts(&both, f->opening ? f->opening : "");
        buf_add(&both, x->system.text, x->system.size);
        buf_puts(&both, f->closing);
        buf_add(&both, turn->text, turn->size);
        chat_content(x->w, buf_text(&both), both.size, f->trim);
        buf_release(&both);
    } else {
        chat_content(x->w, turn->text, turn->size, f->trim);
    }
    chat_literal(x->w, f->foot[CHAT_USER]);
}

/* Splits an answer into its thought and the rest, as Qwen3's template does. */
static bool chat_thought(const struct chat_turn *turn, struct chat_turn *thought, struct chat_turn *rest) {
    const char *end = NULL, *s = turn->text, *last = turn->text + turn->size, *next = s;
    static const char open[] = "<think>", close[] = "</think>";
    const char *first = memmem(s, turn->size, close, sizeof close - 1);
    while ((next = memmem(next, (size_t)(last - next), close, sizeof close - 1)))
        end = next += sizeof close - 1;
    *rest = *turn;
    if (!end) return false;
    const char *from = s;
    while ((next = memmem(from, (size_t)(first - from), open, sizeof open - 1)))
        from = next + sizeof open - 1;
    while (from < first && *from == '\n') from++;
    while (first > from && first[-1] == '\n') first--;
    while (end < last && *end == '\n') end++;
    *thought = (struct chat_turn){ turn->role, from, (size_t)(first - from) };
    *rest = (struct chat_turn){ turn->role, end, (size_t)(last - end) };
    return true;
}

/* Starts an answer: what is in front of it is not a target. */
static void chat_answer_begins(struct chat *x, bool target) {
    end_run(x->w);
    x->w->target = (target && x->answers) || x->all;
}

static void chat_answer(struct chat *x, size_t i) {
    const struct chat_form *f = x->form;
    struct chat_writer *w = x->w;
    struct chat_turn thought = { 0 }, rest = x->turn[i];
    bool final = i + 1 == x->n, thinks = f->thinks && chat_thought(&x->turn[i], &thought, &rest);
    chat_literal(w, f->head[CHAT_ASSISTANT]);
    if (f->thinks && final && !thought.size) {
        chat_literal(w, thought_start);
        chat_literal(w, thought_end);
        thinks = false;
    }
    chat_answer_begins(x, final || !f->thinks);
    if (thinks && i > x->last && thought.size) {
        chat_literal(w, thought_start);
        chat_content(w, thought.text, thought.size, false);
        chat_literal(w, thought_end);
    }
    chat_literal(w, f->lead);
    chat_content(w, rest.text, rest.size, f->trim || f->trim_answer);
    chat_literal(w, f->foot[CHAT_ASSISTANT]);
    end_run(w);
    w->target = x->all;
    if (!final) chat_literal(w, f->tail);
}

static void chat_turns(struct chat *x) {
    const struct chat_form *f = x->form;
    const char *own = x->w->c->system;
    bool starts = x->n && x->turn[0].role == CHAT_SYSTEM, apart = f->where == CHAT_SYSTEM_TURN;
    x->first = x->n;
    for (size_t i = x->n; i-- > 0;)
        if (x->turn[i].role == CHAT_USER) x->first = i;
    for (size_t i = 0; i < x->n; i++)
        if (x->turn[i].role == CHAT_USER) x->last = i;
    if (starts && !apart) x->system = x->turn[0];
    if (!starts && own && apart) chat_system(x, own, strlen(own), true);
    for (size_t i = starts && !apart; i < x->n; i++) {
        if (x->turn[i].role == CHAT_SYSTEM) chat_system(x, x->turn[i].text, x->turn[i].size, !i);
        else if (x->turn[i].role == CHAT_USER) chat_user(x, i);
        else chat_answer(x, i);
    }
}

static bool blank_first(const struct chat_turn *turn, bool trim) {
    uint32_t cp;
    if (trim || turn->role != CHAT_ASSISTANT || !turn->size) return false;
    utf8_decode(turn->text, turn->size, &cp);
    return unicode_is_space(cp);
}

static void chat_take(struct chat *x, struct chat_ids *out) {
    struct chat_writer *w = x->w;
    end_run(w);
    out->n = w->out.n;
    out->ids = w->out.ids ? w->out.ids : xcalloc(1, sizeof *out->ids);
    out->trained = (uint8_t *)(w->trained.size ? buf_take(&w->trained) : xcalloc(1, 1));
    out->trained[0] = 0;
    out->spelled = w->off.found;
    out->unknown = w->unknown;
    out->target_unknown = w->target_unknown;
    for (size_t i = 0; i < x->n; i++)
        out->blank_start |=
            blank_first(&x->turn[i], x->form->trim || x->form->trim_answer || x->form->thinks);
    buf_release(&w->run);
    buf_release(&w->trained);
}

static int chat_ids(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                    size_t n, bool all, bool answers, struct chat_ids *out, struct err *e) {
    memset(out, 0, sizeof *out);
    if (chat_check(t, c, turn, n, answers, e)) return e->code;
    struct chat_writer w = { .t = t, .c = c, .place = TEXT_START, .target = all };
    struct chat x = { .w = &w, .form = c->form, .turn = turn, .n = n, .all = all, .answers = answers };
    chat_begin(&w);
    chat_turns(&x);
    if (!answers) {
        chat_literal(&w, c->form->head[CHAT_ASSISTANT]);
        if (c->form->thinks) {
            chat_literal(&w, thought_start);
            chat_literal(&w, thought_end);
        }
    }
    chat_take(&x, out);
    return 0;
}

int chat_encode(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                size_t n, bool all, struct chat_ids *out, struct err *e) {
    return chat_ids(t, c, turn, n, all, true, out, e);
}

int chat_prompt(const struct tokenizer *t, const struct chat_template *c, const struct chat_turn *turn,
                size_t n, struct chat_ids *out, struct err *e) {
    return chat_ids(t, c, turn, n, false, false, out, e);
}

int32_t chat_end(const struct tokenizer *t, const struct chat_template *c) {
    const char *foot = c->form->foot[CHAT_ASSISTANT];
    size_t from, to = 0, n = strlen(foot);
    int32_t id = -1;
    bool found = next_control(t, c, foot, n, &from, &to, &id);
    return found && to == n ? id : -1;
}
