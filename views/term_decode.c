#include "views/term_decode.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"

enum {
    ESC = 0x1B,
    BEL = 0x07,
    QUIET_MS = 1000,
    PASTE_LIMIT = 65536,
    OLD_MOUSE_BYTES = 3,
    WHEEL = 64,
    REPLACED = 0xFFFD
};

static const char paste_begin[] = "\033[200~", paste_end[] = "\033[201~";

void term_decoder_release(struct term_decoder *d) {
    buf_release(&d->input);
    buf_release(&d->paste);
    memset(d, 0, sizeof *d);
}

void term_decoder_key(struct term_decoder *d, const char *bytes, uint32_t code) {
    if (!bytes || bytes[0] != ESC || !bytes[1] || d->keys == DECODER_KEYS) return;
    d->key[d->keys].bytes = bytes;
    d->key[d->keys++].code = code;
}

void term_decoder_feed(struct term_decoder *d, const char *bytes, size_t n, int64_t ms) {
    if (d->at == d->input.size) {
        buf_clear(&d->input);
        d->at = 0;
        if (ms - d->ms > QUIET_MS) term_decoder_expire(d);
    }
    buf_add(&d->input, bytes, n);
    d->ms = ms;
}

bool term_decoder_has_escape(const struct term_decoder *d) {
    return d->state == DECODE_ESCAPE && !d->expired && d->at == d->input.size;
}

void term_decoder_expire(struct term_decoder *d) { d->expired = d->state != DECODE_TEXT; }

/* A press, or a character of a paste; true when it is an event. */
static bool decoded(struct term_decoder *d, uint32_t code, bool alt, struct term_input *out) {
    if (!d->pasting) {
        out->kind = INPUT_PRESS;
        out->press = (struct press){ code, alt, d->ms };
        return true;
    }
    uint32_t cp = code == PRESS_ENTER ? '\n' : code == PRESS_TAB ? '\t' : code;
    if (cp < PRESS_ENTER && d->paste.size < PASTE_LIMIT) utf8_add(&d->paste, cp);
    return false;
}

static uint32_t character_key(uint32_t cp) {
    switch (cp) {
    case '\r':
    case '\n': return PRESS_ENTER;
    case '\t': return PRESS_TAB;
    case '\b':
    case 0x7F: return PRESS_BACKSPACE;
    default: return cp;
    }
}

/* What the sequence is to terminfo; PRESS_NONE when nothing. */
static uint32_t named_key(const struct term_decoder *d) {
    for (int i = 0; i < d->keys; i++)
        if (d->size == strlen(d->key[i].bytes) && d->size < sizeof d->sequence &&
            !memcmp(d->sequence, d->key[i].bytes, d->size))
            return d->key[i].code;
    return PRESS_NONE;
}

/* Keys that terminals agree on, by the final byte of SS3 or CSI (the number then being 1 or absent), and by
 * the number before '~'. */
static uint32_t numbered_key(char introducer, long number, char final) {
    static const struct {
        char final;
        long number;
        uint32_t code;
    } key[] = {
        { 'A', 1, PRESS_UP },      { 'B', 1, PRESS_DOWN },      { 'C', 1, PRESS_RIGHT },
        { 'D', 1, PRESS_LEFT },    { 'E', 1, PRESS_OTHER },     { 'F', 1, PRESS_END },
        { 'H', 1, PRESS_HOME },    { 'P', 1, PRESS_F1 },        { 'Q', 1, PRESS_OTHER },
        { 'S', 1, PRESS_OTHER },   { 'Z', 1, PRESS_BACKTAB },   { '~', 1, PRESS_HOME },
        { '~', 2, PRESS_INSERT },  { '~', 3, PRESS_DELETE },    { '~', 4, PRESS_END },
        { '~', 5, PRESS_PAGE_UP }, { '~', 6, PRESS_PAGE_DOWN }, { '~', 7, PRESS_HOME },
        { '~', 8, PRESS_END },     { '~', 11, PRESS_F1 },
    };
    for (size_t i = 0; i < COUNT_OF(key); i++)
        if (key[i].final == final && key[i].number == number) return key[i].code;
    if (final == '~' && number > 11 && number <= 34) return PRESS_OTHER; /* further function keys */
    if (introducer != 'O') return PRESS_NONE;
    if (final == 'M') return PRESS_ENTER; /* the keypad */
    if (final == 'R') return PRESS_OTHER; /* F3; behind CSI it is the cursor's position */
    return final >= 'j' && final <= 'y' ? (uint32_t)final - 'j' + '*' : PRESS_NONE;
}

/* "<button;column;row" and M: pressed. */
static bool decode_mouse(struct term_decoder *d, struct term_input *out) {
    char *at = d->sequence + 3;
    long button = strtol(at, &at, 10), x = *at == ';' ? strtol(at + 1, &at, 10) : 0,
         y = *at == ';' ? strtol(at + 1, &at, 10) : 0;
    bool wheel = button >= WHEEL && button < WHEEL + 4,
         left = button >= 0 && (button & ~28L) == 0; /* with any of Shift, Alt, Ctrl */
    if (*at != 'M' || (!wheel && !left) || x < 1 || y < 1 || x > CANVAS_SIDE || y > CANVAS_SIDE || d->pasting)
        return false;
    out->kind = INPUT_MOUSE;
    out->mouse = (struct mouse){ wheel ? button & 1 ? MOUSE_DOWN : MOUSE_UP : MOUSE_CLICK, (int)x - 1,
                                 (int)y - 1, d->ms };
    return true;
}

/* The end mark of a paste.  A paste may hold an end mark of its own: what is before a later one among the
 * bytes that came with it is still pasted. */
static bool end_paste(struct term_decoder *d, struct term_input *out) {
    size_t left = d->input.size - d->at;
    if (!d->pasting || (left && memmem(d->input.data + d->at, left, paste_end, sizeof paste_end - 1)))
        return false;
    d->pasting = false;
    out->kind = INPUT_PASTE;
    out->text = buf_text(&d->paste);
    out->size = d->paste.size;
    return true;
}

/* The sequence has its final byte. */
static bool decode_control(struct term_decoder *d, struct term_input *out) {
    char final = d->sequence[d->size - 1], *at;
    bool csi = d->sequence[1] == '[';
    if (csi && d->size == 3 && final == '[') { /* the function keys of Linux: one more letter */
        d->state = DECODE_LINUX;
        return false;
    }
    if (csi && d->size == 3 && final == 'M') {
        d->state = DECODE_OLD_MOUSE;
        d->old_mouse = OLD_MOUSE_BYTES;
        return false;
    }
    if (csi && d->sequence[2] == '<') return decode_mouse(d, out);
    if (strspn(d->sequence + 2, "0123456789;") != d->size - 3)
        return false; /* private, or with intermediate bytes */
    long number = strtol(d->sequence + 2, &at, 10), modifiers = *at == ';' ? strtol(at + 1, &at, 10) : 1;
    if (at != d->sequence + d->size - 1) return false; /* more parameters than a key has */
    if (!strcmp(d->sequence, paste_begin)) {
        if (!d->pasting) buf_clear(&d->paste);
        d->pasting = true;
        return false;
    }
    if (!strcmp(d->sequence, paste_end)) return end_paste(d, out);
    uint32_t code = numbered_key(d->sequence[1], number ? number : 1, final);
    bool alt = modifiers == 3;
    if (code != PRESS_NONE && modifiers > 1 && !alt)
        code = PRESS_OTHER; /* with Shift or Ctrl it is another key */
    return code != PRESS_NONE && decoded(d, code, alt, out);
}

static void begin_sequence(struct term_decoder *d) {
    d->state = DECODE_ESCAPE;
    d->sequence[0] = ESC;
    d->size = 1;
}

static void add_to_sequence(struct term_decoder *d, uint32_t cp) {
    if (d->size < sizeof d->sequence - 1) {
        d->sequence[d->size] = (char)cp;
        d->sequence[d->size + 1] = '\0';
    }
    d->size++;
}

/* The character behind an Escape; *again: it does not belong to it. */
static bool decode_escape(struct term_decoder *d, uint32_t cp, struct term_input *out, bool *again) {
    uint32_t named;
    add_to_sequence(d, cp);
    d->state = DECODE_TEXT;
    if ((named = named_key(d)) != PRESS_NONE) return decoded(d, named, false, out);
    if (cp < 0x20 || cp == 0x7F) {
        *again = true;
        return decoded(d, PRESS_ESC, false, out);
    }
    if (cp == '[' || cp == 'O') d->state = DECODE_CONTROL;
    else if (cp < 0x80 && strchr("]P_^X", (int)cp)) d->state = DECODE_STRING;
    else if (cp != '\\') return decoded(d, cp, true, out); /* a string's end without its begin is no key */
    return false;
}

/* One character; true when it completes an event.  *again: it ended what was before it and is still to be
 * decoded. */
static bool decode(struct term_decoder *d, uint32_t cp, struct term_input *out, bool *again) {
    uint32_t named;
    bool ends = cp < 0x20 || cp == 0x7F; /* it belongs to no sequence */
    switch (d->state) {
    case DECODE_TEXT:
        if (cp == ESC) {
            begin_sequence(d);
            return false;
        }
        if (cp == REPLACED && !d->pasting) return false;
        if (cp < 0x80 || cp >= 0xA0) return decoded(d, character_key(cp), false, out);
        if (!strchr("[O]P_^X", (int)cp - 0x40))
            return false; /* a control of 8 bits is Escape and the one of 7 */
        begin_sequence(d);
        return decode_escape(d, cp - 0x40, out, again);
    case DECODE_ESCAPE: return decode_escape(d, cp, out, again);
    case DECODE_CONTROL:
        if (ends || cp > 0x7F) {
            d->state = DECODE_TEXT;
            *again = true;
            return false;
        }
        add_to_sequence(d, cp);
        if ((named = named_key(d)) != PRESS_NONE) {
            d->state = DECODE_TEXT;
            return decoded(d, named, false, out);
        }
        /* rxvt ends keys with Shift by '$', which is no final byte */
        bool shifted = cp == '$' && d->size >= 4 && d->size < sizeof d->sequence &&
                       strspn(d->sequence + 2, "0123456789") == d->size - 3;
        if (cp < 0x40 && !shifted) return false;
        d->state = DECODE_TEXT;
        if (shifted) return decoded(d, PRESS_OTHER, false, out);
        return d->size < sizeof d->sequence && decode_control(d, out);
    case DECODE_LINUX:
        d->state = DECODE_TEXT;
        *again = ends;
        return !ends && decoded(d, cp == 'A' ? PRESS_F1 : PRESS_OTHER, false, out);
    case DECODE_STRING:
        add_to_sequence(d, cp);
        if (cp == ESC) {
            d->state = DECODE_STRING_END;
        } else if (cp == BEL || cp == 0x9C || ends) {
            d->state = DECODE_TEXT;
            *again = ends && cp != BEL;
        }
        return false;
    case DECODE_STRING_END:
        if (cp == '\\') {
            d->state = DECODE_TEXT;
        } else {
            begin_sequence(d);
            *again = true;
        }
        return false;
    case DECODE_OLD_MOUSE: break; /* takes bytes, not characters */
    }
    return false;
}

/* Decodes one byte in the locale's encoding. */
static bool decode_byte(struct term_decoder *d, struct term_input *out) {
    wchar_t c = 0;
    bool inside = !mbsinit(&d->shift), again;
    if (d->state == DECODE_OLD_MOUSE) {
        d->at++;
        if (!--d->old_mouse) d->state = DECODE_TEXT;
        return false;
    }
    size_t n = mbrtowc(&c, d->input.data + d->at, 1, &d->shift);
    bool valid = n != (size_t)-1 &&
                 (uint32_t)c < PRESS_ENTER; /* the C library knows characters of 5 bytes, too */
    if (valid || !inside) d->at++; /* else a character was cut short, and this byte begins another */
    if (n == (size_t)-2) return false;
    if (!valid) {
        memset(&d->shift, 0, sizeof d->shift);
        c = REPLACED;
    }
    do {
        again = false;
        if (decode(d, (uint32_t)c, out, &again)) {
            if (again) d->at--;
            return true;
        }
    } while (again);
    return false;
}

bool term_decoder_next(struct term_decoder *d, struct term_input *out) {
    memset(out, 0, sizeof *out);
    if (d->expired) {
        d->expired = false;
        d->state = DECODE_TEXT;
        if (d->size == 1 && decoded(d, PRESS_ESC, false, out)) return true;
        if (d->size == 2 && decoded(d, (unsigned char)d->sequence[1], true, out)) return true;
    }
    while (d->at < d->input.size)
        if (decode_byte(d, out)) return true;
    return false;
}

void term_decoder_drop(struct term_decoder *d) {
    struct term_input dropped;
    while (term_decoder_next(d, &dropped)) {}
    buf_clear(&d->paste);
}
