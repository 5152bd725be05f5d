#include "views/talk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/ui.h"
#include "views/ui_parts.h"

static const struct talk_round *last_round(const struct talk_view *v) {
    return v->page && v->page->rounds ? &v->page->round[v->page->rounds - 1] : NULL;
}

static int side_of(const struct talk_view *v) {
    return v->page && v->side < v->page->sides ? v->side : 0;
}

/* Returns the token under the cursor, or NULL. */
static const struct talk_token *talk_token(const struct talk_view *v) {
    const struct talk_round *r = last_round(v);
    const struct talk_answer *a = r ? &r->answer[side_of(v)] : NULL;
    return a && v->token >= 0 && v->token < a->tokens ? &a->token[v->token] : NULL;
}

/* ---- the text in rows ---- */

/* Where the rows of a side are drawn, counted from the first; those outside top … top+h-1 are skipped. */
struct talk_rows {
    struct canvas *c; /* NULL: only counts */
    struct rect r;
    int row, top;
    size_t from, to;  /* bytes of the text that are under the cursor */
};

static void put_row(struct talk_rows *x, enum ink ink, const char *lead, const char *text, size_t from,
                    size_t to) {
    int y = x->row++ - x->top;
    if (!x->c || y < 0 || y >= x->r.h) return;
    int at = x->r.x + canvas_text(x->c, x->r.x, x->r.y + y, INK_DIM, lead);
    const size_t cut[4] = { from, x->from < from ? from : x->from > to ? to : x->from,
                            x->to < from ? from : x->to > to ? to : x->to, to };
    for (int i = 0; i < 3; i++) {
        if (cut[i + 1] <= cut[i]) continue;
        char *part = text_visible(text + cut[i], cut[i + 1] - cut[i]);
        at += canvas_text(x->c, at, x->r.y + y, i == 1 ? INK_CURSOR : ink, part);
        free(part);
    }
}

/* Wraps a text at blanks and line ends. */
static void put_text(struct talk_rows *x, enum ink ink, const char *lead, const char *text, size_t n) {
    char indent[8] = "";
    int room = x->r.w - (int)strlen(lead);
    snprintf(indent, sizeof indent, "%*s", (int)strlen(lead), "");
    for (size_t from = 0; from < n || from == 0;) {
        size_t end = from;
        while (end < n && text[end] != '\n') end++;
        char *line = text_string(text + from, end - from);
        size_t fits = text_fit(line, room < 1 ? 1 : room), to = from + fits;
        free(line);
        if (to < end) {
            size_t blank = to;
            while (blank > from && text[blank] != ' ') blank--;
            if (blank > from) to = blank + 1;
            if (to == from) to = from + 1; /* a character wider than the pane */
        }
        put_row(x, ink, from ? indent : lead, text, from, to);
        from = to == end ? end + 1 : to;
        if (!n) break;
    }
}

static const char *end_note(const struct talk_answer *a, bool busy) {
    if (busy || !a->tokens) return NULL;
    if (!a->ended) return "(stopped)";
    return a->end == GENERATED_FULL      ? "(context full: z starts a new chat)"
           : a->end == GENERATED_LONGEST ? "(stopped at the maximum length)"
                                         : NULL;
}

/* Lays out a side; returns its rows. */
static int lay_side(const struct talk_view *v, int side, struct canvas *c, struct rect r, int top) {
    const struct talk_page *p = v->page;
    struct talk_rows x = { .c = c, .r = r, .top = top };
    for (int i = 0; i < p->rounds; i++) {
        const struct talk_round *q = &p->round[i];
        const struct talk_answer *a = &q->answer[side];
        bool last = i == p->rounds - 1, busy = last && p->busy;
        const struct talk_token *at = last && side == side_of(v) ? talk_token(v) : NULL;
        if (i) put_row(&x, INK_TEXT, "", "", 0, 0);
        put_text(&x, INK_TITLE, "> ", q->said, strlen(q->said));
        if (at) {
            x.from = at == a->token ? 0 : at[-1].end;
            x.to = at->end;
        }
        if (a->text.size) put_text(&x, INK_TEXT, "", buf_text(&a->text), a->text.size);
        x.from = x.to = 0;
        const char *note = q->failed[side] ? q->failed[side] : busy ? "\u2026" : end_note(a, busy);
        if (!note && !a->tokens) note = "(no answer)";
        if (note) put_text(&x, q->failed[side] ? INK_BAD : INK_DIM, "", note, strlen(note));
    }
    return x.row;
}

/* ---- drawing ---- */

static struct rect side_rect(const struct talk_page *p, struct rect body, int side) {
    int w = body.w / p->sides;
    return (struct rect){ body.x + side * w, body.y, side + 1 < p->sides ? w - 1 : body.w - side * w,
                          body.h };
}

static void talk_draw(const struct ui *ui, struct canvas *c, struct rect body) {
    const struct talk_view *v = &ui->talk;
    const struct talk_page *p = v->page;
    if (!p || !p->sides) {
        canvas_title(c, body, "talk", NULL);
        ui_none(c, rect_down(body, 1), p ? p->failed : NULL,
                p && p->opening ? "Loading the model\u2026" : "no model is open");
        return;
    }
    for (int side = 0; side < p->sides; side++) {
        struct rect r = side_rect(p, body, side);
        struct rect text = rect_in(rect_down(r, 1), PANE_EDGE, 0);
        canvas_title(c, r, p->name[side], p->busy ? "answering" : NULL);
        int rows = lay_side(v, side, NULL, text, 0), top = rows - text.h - v->up;
        canvas_push_clip(c, text);
        lay_side(v, side, c, text, top < 0 ? 0 : top);
        canvas_pop_clip(c);
        if (!p->rounds)
            canvas_wrap(c, text, INK_DIM, "Press Enter and write a message. The model answers word by word.");
    }
}

static void put_token(struct buf *out, const struct tokenizer *t, int32_t id, double p) {
    struct buf text = BUF_INIT;
    tokenizer_decode(t, &id, 1, true, &text);
    char *shown = text_visible(buf_text(&text), text.size);
    buf_printf(out, "\"%.40s\" %.3f", text.size ? shown : tokenizer_token(t, id), p);
    free(shown);
    buf_release(&text);
}

static void talk_readout(const struct ui *ui, struct buf *out) {
    const struct talk_view *v = &ui->talk;
    const struct talk_token *at = talk_token(v);
    const struct tokenizer *t = at ? v->page->tokenizer[side_of(v)] : NULL;
    if (!t) return;
    put_token(out, t, at->id, at->p);
    buf_puts(out, "   most probable:");
    for (int i = 0; i < TALK_OTHERS; i++) {
        buf_puts(out, "  ");
        put_token(out, t, at->best[i].id, at->best[i].p);
    }
}

/* ---- requests ---- */

/* Stores the runs of the screen that it is opened from: two marked ones, or the one under the cursor. */
static int runs_of_screen(const struct ui *ui, int64_t run[TALK_SIDES]) {
    const struct screen *s = screen_at(ui->screen);
    const int64_t *marked;
    if (s->marked && s->marked(ui, &marked) == TALK_SIDES) {
        memcpy(run, marked, TALK_SIDES * sizeof *run);
        return TALK_SIDES;
    }
    run[0] = s->run ? s->run(ui) : 0;
    return run[0] > 0;
}

static void ask_open(struct talk_view *v, struct effect *out) {
    v->asked = true;
    v->token = -1;
    v->side = v->up = 0;
    out->kind = EFFECT_TALK;
    out->run = v->run;
    out->runs = v->runs;
    out->keep = v->beside;
}

static void talk_show(struct ui *ui, struct effect *out) {
    struct talk_view *v = &ui->talk;
    int64_t run[TALK_SIDES] = { 0 };
    int runs = runs_of_screen(ui, run);
    bool other = runs && (runs != v->runs || memcmp(run, v->run, sizeof run));
    if (!v->asked || other) {
        if (v->page && v->page->busy && v->asked) {
            ui_say(ui, SAY_INFO, "an answer is being generated: K stops it");
        } else {
            memcpy(v->run, run, sizeof run);
            v->runs = runs;
            v->beside = runs == 1;
            ask_open(v, out);
        }
    }
    ui_show(ui, SCREEN_TALK);
}

/* Talk itself refers to the runs that it shows. */
static int64_t talk_run(const struct ui *ui) { return ui->talk.runs == 1 ? ui->talk.run[0] : 0; }

static int talk_marked(const struct ui *ui, const int64_t **run) {
    *run = ui->talk.run;
    return ui->talk.runs == TALK_SIDES ? TALK_SIDES : 0;
}

static void talk_init(struct ui *ui) { ui->talk.token = -1; }

/* Returns whether a message can be sent, or says why not. */
static bool can_say(struct ui *ui) {
    const struct talk_page *p = ui->talk.page;
    if (!p || !p->sides)
        ui_say(ui, SAY_INFO, "%s", p && p->opening ? "the model is still loading" : "no model is open");
    else if (p->busy) ui_say(ui, SAY_INFO, "an answer is being generated: K stops it");
    return p && p->sides && !p->busy;
}

void talk_typed(struct ui *ui, const char *text, bool again, struct effect *out) {
    if (!*text || !can_say(ui)) return;
    if (strlen(text) >= sizeof out->text) {
        ui_say(ui, SAY_ERROR, "the message is longer than %d bytes", (int)sizeof out->text - 1);
        return;
    }
    ui->talk.token = -1;
    ui->talk.up = 0;
    out->kind = EFFECT_TALK_SAY;
    out->keep = again;
    snprintf(out->text, sizeof out->text, "%s", text);
}

static void move_token(struct talk_view *v, int by) {
    const struct talk_round *r = last_round(v);
    int n = r ? r->answer[side_of(v)].tokens : 0;
    v->token = v->token < 0 ? (by < 0 ? n - 1 : 0) : v->token + by;
    v->token = ui_into(v->token, n - 1);
    if (!n) v->token = -1;
}

static bool talk_request(struct ui *ui, enum request r, struct effect *out) {
    struct talk_view *v = &ui->talk;
    const struct talk_page *p = v->page;
    const struct talk_round *last = last_round(v);
    struct rect body = ui_body(ui);
    int down, right;
    switch (r) {
    case REQ_OPEN:
    case REQ_NOTE:
        if (!can_say(ui)) return true;
        if (r == REQ_NOTE && !last) {
            ui_say(ui, SAY_INFO, "no message to edit yet");
            return true;
        }
        prompt_open(&ui->prompt, r == REQ_OPEN ? "message" : "edit", r == REQ_OPEN ? "" : last->said, false);
        ui->use = r == REQ_OPEN ? USE_TALK : USE_TALK_EDIT;
        return true;
    case REQ_RUN:
        if (!can_say(ui)) return true;
        if (last) out->kind = EFFECT_TALK_AGAIN;
        else ui_say(ui, SAY_INFO, "no message to answer again yet");
        v->token = -1;
        return true;
    case REQ_STOP:
        if (p && p->busy) out->kind = EFFECT_TALK_STOP;
        else ui_say(ui, SAY_INFO, "no answer is being generated");
        return true;
    case REQ_REWIND:
        if (can_say(ui)) out->kind = EFFECT_TALK_NEW;
        v->token = -1, v->up = 0;
        return true;
    case REQ_BESIDE:
        if (v->runs != 1) ui_say(ui, SAY_INFO, "open Talk on a run to see its base model next to it");
        else if (can_say(ui)) {
            v->beside = !v->beside;
            ask_open(v, out);
        }
        return true;
    case REQ_EXPORT:
        if (last) out->kind = EFFECT_TALK_WRITE;
        else ui_say(ui, SAY_INFO, "the chat is empty: nothing to export");
        return true;
    case REQ_NEXT_PART:
        if (p && p->sides) v->side = (side_of(v) + 1) % p->sides;
        move_token(v, 0);
        return true;
    case REQ_LEFT: move_token(v, -1); return true;
    case REQ_RIGHT: move_token(v, 1); return true;
    default:
        if (!ui_step(r, body.h - 2, &down, &right)) return false;
        if (!p || !p->sides) return true;
        struct rect text = rect_in(rect_down(side_rect(p, body, 0), 1), PANE_EDGE, 0);
        int most = 0;
        for (int side = 0; side < p->sides; side++) {
            int rows = lay_side(v, side, NULL, text, 0) - text.h;
            if (rows > most) most = rows;
        }
        v->up = ui_into(v->up - down, most);
        return true;
    }
}

static const char *talk_hint(const struct ui *ui, const struct key_entry *k) {
    const struct talk_page *p = ui->talk.page;
    bool ready = p && p->sides && !p->busy, said = ready && p->rounds;
    switch (k->request) {
    case REQ_OPEN: return ready ? "message" : NULL;
    case REQ_STOP: return p && p->busy ? "stop" : NULL;
    case REQ_RUN: return said ? "again" : NULL;
    case REQ_NOTE: return said ? "edit" : NULL;
    case REQ_REWIND: return said ? "new" : NULL;
    case REQ_LEFT: return said ? "token" : NULL;
    case REQ_DOWN: return "scroll";
    case REQ_BESIDE: return ready && ui->talk.runs == 1 ? "base" : NULL;
    case REQ_NEXT_PART: return p && p->sides > 1 ? "side" : NULL;
    default: return k->hint;
    }
}

static const enum request talk_keys[] = {
    REQ_OPEN, REQ_NOTE, REQ_RUN,   REQ_STOP, REQ_REWIND,  REQ_BESIDE,    REQ_EXPORT,  REQ_LEFT,
    REQ_RIGHT, REQ_DOWN, REQ_UP,   REQ_FIRST, REQ_LAST,   REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_NEXT_PART,
    REQ_NONE
};

const struct screen screen_talk = {
    .name = "talk",
    .about = "Talk chats with a decoder-only model or a run and shows the answers word by word, those of a "
             "run next to those of its base model. Open it on a run, on two marked runs, or on the model of "
             "Compose.",
    .keys = talk_keys,
    .tab = "9 Talk",
    .to = REQ_TO_TALK,
    .show = talk_show,
    .init = talk_init,
    .request = talk_request,
    .run = talk_run,
    .marked = talk_marked,
    .draw = talk_draw,
    .readout = talk_readout,
    .hint = talk_hint,
    .unrendered = true,
};
