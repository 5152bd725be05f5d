/* Any bytes as what a terminal sends: the same events however they are split over reads, all of them keys that exist and
 * cells of a screen; and a key that comes a while later is that key, whatever was left unfinished. */
#include <locale.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/buf.h"
#include "views/term_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

static const char paste_ends[] = "\033[201~";

static void take(struct term_decoder *d, struct buf *events) {
    for (struct term_input in; term_decoder_next(d, &in);) {
        if (in.kind == INPUT_MOUSE) {
            if (in.mouse.x < 0 || in.mouse.y < 0 || in.mouse.x >= CANVAS_SIDE || in.mouse.y >= CANVAS_SIDE) abort();
            buf_printf(events, "mouse %d %d %d\n", (int)in.mouse.kind, in.mouse.x, in.mouse.y);
        } else if (in.kind == INPUT_PASTE) {
            buf_puts(events, "paste ");
            buf_add(events, in.text, in.size);
            buf_putc(events, '\n');
        } else {
            if (in.kind != INPUT_PRESS || in.press.code > PRESS_OTHER) abort();
            buf_printf(events, "press %x %d\n", in.press.code, in.press.alt);
        }
    }
}

static void decode_in(const char *bytes, size_t n, size_t piece, struct buf *events) {
    struct term_decoder d = {0};
    struct buf later = BUF_INIT;
    term_decoder_key(&d, "\033\t", PRESS_BACKTAB);
    term_decoder_key(&d, "\033A", PRESS_UP);
    for (size_t at = 0; at < n; at += piece) {
        term_decoder_feed(&d, bytes + at, n - at < piece ? n - at : piece, 0);
        take(&d, events);
    }
    term_decoder_feed(&d, paste_ends, sizeof paste_ends - 1, 5000);
    take(&d, &later);
    buf_clear(&later);
    term_decoder_feed(&d, "x", 1, 5000);
    take(&d, &later);
    if (strcmp(buf_text(&later), "press 78 0\n")) abort();
    buf_release(&later);
    term_decoder_release(&d);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n) {
    static const char *locale;
    const char *text = (const char *)bytes;
    if (!locale) locale = setlocale(LC_CTYPE, "C.UTF-8");
    if (!n) return 0;
    struct buf whole = BUF_INIT, split = BUF_INIT;
    const char *mark = memmem(text + 1, n - 1, paste_ends, sizeof paste_ends - 1);
    size_t behind = mark ? n - (size_t)(mark + 1 - text) : 0;
    decode_in(text + 1, n - 1, n, &whole);
    decode_in(text + 1, n - 1, 1 + bytes[0] % 7, &split);
    bool many = mark && memmem(mark + 1, behind, paste_ends, sizeof paste_ends - 1); /* which ends a paste depends on what is there */
    if (!many && (whole.size != split.size || memcmp(buf_text(&whole), buf_text(&split), whole.size))) abort();
    buf_release(&whole);
    buf_release(&split);
    return 0;
}
