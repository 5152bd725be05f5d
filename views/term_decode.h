/* Decodes the bytes that a terminal sends into keys, pastes and the mouse.  Knows no curses and reads nothing
 * itself. Private to term.c.
 *
 * Control sequences follow ECMA-48: CSI and SS3 with any parameters up to their final byte; OSC, DCS, APC, PM
 * and SOS up to BEL or ST, in their forms of 7 and of 8 bits.  Those that are not a key, a paste or the mouse
 * (answers to somebody's questions, reports of focus and modes) are dropped whole, however many reads they
 * were split over.  A control character ends an unfinished sequence and is taken by itself, so that no
 * sequence can hold back Enter or ^C. */
#ifndef VIEWS_TERM_DECODE_H
#define VIEWS_TERM_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

#include "core/base/buf.h"
#include "views/term.h"

enum { DECODER_KEYS = 16, DECODER_KEPT = 48 };

struct term_decoder {
    struct {
        const char *bytes;
        uint32_t code;
    } key[DECODER_KEYS];                /* strings of this terminal that no rule below knows */
    int keys;
    struct buf input;
    size_t at;                          /* how much of input was decoded */
    int64_t ms;                         /* when the last bytes came */
    enum term_decoder_state {
        DECODE_TEXT,
        DECODE_ESCAPE,
        DECODE_CONTROL,
        DECODE_LINUX,
        DECODE_STRING,
        DECODE_STRING_END,
        DECODE_OLD_MOUSE
    } state;
    char sequence[DECODER_KEPT];        /* the unfinished one from its Escape on */
    size_t size;                        /* of it, also where it is longer than what is kept */
    int old_mouse;                      /* bytes of an old report that are still to come */
    bool expired;                       /* nothing more belongs to it */
    mbstate_t shift;                    /* inside a character of several bytes, in the locale's encoding */
    bool pasting;
    struct buf paste;
};

/* An all-zero decoder is ready.  Frees what it holds. */
void term_decoder_release(struct term_decoder *d);
/* Adds a key's string as terminfo has it, which must live on; NULL and what is a single byte are ignored. */
void term_decoder_key(struct term_decoder *d, const char *bytes, uint32_t code);
/* Appends bytes that were read at `ms`.  A sequence that was left unfinished for a second is dropped
 * first. */
void term_decoder_feed(struct term_decoder *d, const char *bytes, size_t n, int64_t ms);
/* Takes the next press, paste or mouse event; false when what is left is unfinished.  out->text is valid
 * until the next call. */
bool term_decoder_next(struct term_decoder *d, struct term_input *out);
/* Returns whether all that is left is an Escape: the key, unless more bytes come soon. */
bool term_decoder_has_escape(const struct term_decoder *d);
/* Ends an unfinished sequence: a lone Escape becomes the key, an introducer alone the key with Alt that sends
 * the same. */
void term_decoder_expire(struct term_decoder *d);
/* Drops all complete keys, and of a paste what came so far; an unfinished sequence remains, so that its rest
 * is not read as keys. */
void term_decoder_drop(struct term_decoder *d);

#endif
