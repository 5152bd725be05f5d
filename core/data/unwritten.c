/* Targets with characters that the tokenizer does not cover, so that no model with it can generate them. */
#include <stdlib.h>

#include "core/base/text.h"
#include "core/data/import.h"

static bool is_listed(const struct import_report *r, uint32_t cp) {
    for (int i = 0; i < r->unwritten_signs; i++)
        if (r->unwritten_sign[i] == cp) return true;
    return false;
}

/* Returns whether a character alone has no token. */
static bool unwritten_alone(const struct tokenizer *t, const char *s, size_t n) {
    enum { ROOM = 16 };
    struct encoded x;
    struct err ignored = ERR_INIT;
    if (tokenizer_encode(t, s, n, NULL, 0, ROOM, &x, &ignored)) return false;
    bool none = x.unknown > 0;
    encoded_release(&x);
    return none;
}

void unwritten_count(struct import_report *r, const struct tokenizer *t, const char *s, size_t n) {
    r->unwritten++;
    for (size_t i = 0; i < n && r->unwritten_signs < REPORT_FIRST;) {
        uint32_t cp;
        size_t size = utf8_decode(s + i, n - i, &cp);
        if (!is_listed(r, cp) && unwritten_alone(t, s + i, size))
            r->unwritten_sign[r->unwritten_signs++] = cp;
        i += size;
    }
}

void unwritten_text(const struct import_report *r, size_t rows, struct buf *out) {
    struct buf signs = BUF_INIT;
    for (int i = 0; i < r->unwritten_signs; i++) {
        if (i) buf_putc(&signs, ' ');
        utf8_add(&signs, r->unwritten_sign[i]);
    }
    char *shown = text_visible(buf_text(&signs), signs.size);
    buf_printf(out,
               "warning: %zu of %zu targets have characters that the tokenizer cannot encode%s%s%s: no "
               "generated text can equal them, so exact match cannot reach 1\n",
               r->unwritten, rows, signs.size ? " (" : "", shown, signs.size ? ")" : "");
    free(shown);
    buf_release(&signs);
}
