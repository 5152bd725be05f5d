#include "views/prompt.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

void prompt_set(struct prompt *p, const char *text) {
    size_t n = strlen(text);
    if (n >= PROMPT_ROOM) {
        n = PROMPT_ROOM - 1;
        while (n && ((unsigned char)text[n] & 0xC0) == 0x80) n--;
    }
    memmove(p->text, text, n);
    p->text[n] = 0;
    p->length = p->at = n;
}

void prompt_open(struct prompt *p, const char *label, const char *text, bool fresh) {
    memset(p, 0, sizeof *p);
    snprintf(p->label, sizeof p->label, "%s", label);
    prompt_set(p, text);
    p->fresh = fresh && p->length;
    p->open = true;
}

static size_t prompt_before(const struct prompt *p, size_t at) {
    if (at) at--;
    while (at && ((unsigned char)p->text[at] & 0xC0) == 0x80) at--;
    return at;
}

static size_t after(const struct prompt *p, size_t at) {
    if (at < p->length) at++;
    while (at < p->length && ((unsigned char)p->text[at] & 0xC0) == 0x80) at++;
    return at;
}

static void prompt_cut(struct prompt *p, size_t from, size_t to) {
    memmove(p->text + from, p->text + to, p->length - to + 1);
    p->length -= to - from;
    p->at = from;
}

static bool prompt_insert(struct prompt *p, const char *bytes, size_t n) {
    if (p->fresh) prompt_cut(p, 0, p->length);
    p->fresh = false;
    if (p->length + n >= PROMPT_ROOM) return false;
    memmove(p->text + p->at + n, p->text + p->at, p->length - p->at + 1);
    memcpy(p->text + p->at, bytes, n);
    p->length += n;
    p->at += n;
    return true;
}

static size_t prompt_word_before(const struct prompt *p) {
    size_t at = p->at;
    while (at && p->text[at - 1] == ' ') at--;
    while (at && p->text[at - 1] != ' ') at--;
    return at;
}

/* Moves and deletions; false when the press is none of them. */
static bool edit(struct prompt *p, uint32_t code) {
    switch (code) {
    case PRESS_LEFT:
    case PRESS_CTRL('b'): p->at = prompt_before(p, p->at); break;
    case PRESS_RIGHT:
    case PRESS_CTRL('f'): p->at = after(p, p->at); break;
    case PRESS_HOME:
    case PRESS_CTRL('a'): p->at = 0; break;
    case PRESS_END:
    case PRESS_CTRL('e'): p->at = p->length; break;
    case PRESS_BACKSPACE: prompt_cut(p, prompt_before(p, p->at), p->at); break;
    case PRESS_DELETE:
    case PRESS_CTRL('d'): prompt_cut(p, p->at, after(p, p->at)); break;
    case PRESS_CTRL('u'): prompt_cut(p, 0, p->at); break;
    case PRESS_CTRL('k'): prompt_cut(p, p->at, p->length); break;
    case PRESS_CTRL('w'): prompt_cut(p, prompt_word_before(p), p->at); break;
    default: return false;
    }
    p->fresh = false;
    return true;
}

enum prompt_result prompt_press(struct prompt *p, const struct press *k) {
    if (k->code == PRESS_ENTER || k->code == PRESS_ESC || k->code == PRESS_CTRL('c')) {
        p->open = false;
        return k->code == PRESS_ENTER ? PROMPT_DONE : PROMPT_CANCELLED;
    }
    if (k->code == PRESS_TAB) return PROMPT_COMPLETE;
    if (edit(p, k->code)) return PROMPT_CHANGED;
    if (k->code < 0x20 || k->code >= 0x110000 || k->alt) return PROMPT_GOING;
    char bytes[4];
    prompt_insert(p, bytes, utf8_encode(k->code, bytes));
    return PROMPT_CHANGED;
}

enum prompt_result prompt_paste(struct prompt *p, const char *text, size_t n) {
    size_t at = 0;
    while (at < n) {
        uint32_t cp;
        size_t used = utf8_decode(text + at, n - at, &cp);
        if (cp == '\n' || cp == '\t' || cp == '\r') {
            if (p->length && p->at && p->text[p->at - 1] != ' ') prompt_insert(p, " ", 1);
        } else if (cp >= 0x20 && !(cp >= 0x7F && cp < 0xA0)) {
            char bytes[4];
            if (!prompt_insert(p, bytes, utf8_encode(cp, bytes))) break;
        }
        at += used;
    }
    return PROMPT_CHANGED;
}

void prompt_draw(const struct prompt *p, struct canvas *c, int x, int y, int w) {
    struct rect line = { x, y, w, 1 };
    canvas_push_clip(c, line);
    int label = canvas_text(c, x, y, INK_KEY, p->label);
    if (label && p->label[strlen(p->label) - 1] != ':' && p->label[0] != '/') label++;
    int room = w - label - 1;
    /* The part that is shown ends a little behind the cursor. */
    size_t from = 0;
    char head[PROMPT_ROOM];
    memcpy(head, p->text, p->at);
    head[p->at] = 0;
    while (from < p->at && canvas_width(c, head + from) > room) from = after(p, from);
    int cursor = x + label + canvas_width(c, head + from);
    canvas_text(c, x + label, y, p->fresh ? INK_CURSOR : INK_TEXT, p->text + from);
    if (!p->fresh) canvas_paint(c, cursor, y, 1, INK_CURSOR);
    canvas_pop_clip(c);
}

int prompt_match(const char *typed, const char *name) {
    int score = 0, run = 0;
    const char *at = name;
    for (; *typed; typed++) {
        const char *hit = at;
        while (*hit && tolower((unsigned char)*hit) != tolower((unsigned char)*typed)) hit++;
        if (!*hit) return -1;
        run = hit == at ? run + 1 : 0;
        if (hit == name) score += 8;                    /* a start counts most */
        else if (hit[-1] == '-' || hit[-1] == ' ') score += 4;
        score += run - (int)(hit - at);
        at = hit + 1;
    }
    score = 64 + 4 * score - (int)strlen(at);
    return score < 0 ? 0 : score;
}
