/* Examples of a causal language model as the model reads them, for reports. */
#include <stdlib.h>

#include "core/base/text.h"
#include "core/data/causal.h"

enum { SPAN = 600 }; /* shown bytes of a span */

/* Returns `at`, or the start of the character that contains it. */
static size_t between_characters(const char *s, size_t at) {
    while (at && ((unsigned char)s[at] & 0xC0) == 0x80) at--;
    return at;
}

static void preview_span(const struct tokenizer *t, const int32_t *ids, size_t n, bool target,
                         struct buf *out) {
    struct buf text = BUF_INIT;
    tokenizer_decode(t, ids, n, false, &text);
    const char *s = buf_text(&text);
    bool cut = text.size > SPAN;
    size_t head = cut ? between_characters(s, SPAN / 2) : text.size;
    size_t tail = cut ? between_characters(s, text.size - SPAN / 2) : text.size;
    char *first = text_visible(s, head), *last = text_visible(s + tail, text.size - tail);
    buf_printf(out, "%c %s%s%s\n", target ? '>' : '|', first, cut ? " \u2026 " : "", last);
    free(first);
    free(last);
    buf_release(&text);
}

void causal_preview(const struct dataset *d, const struct tokenizer *t, size_t row, struct buf *out) {
    const int32_t *ids = d->ids + d->start[row];
    const uint8_t *trained = d->trained + d->start[row];
    size_t n = d->start[row + 1] - d->start[row], targets = d->target_start[row + 1] - d->target_start[row];
    buf_printf(out, "example %zu as the model reads it: %zu token%s, %zu target%s (>)\n", row + 1, n,
               n == 1 ? "" : "s", targets, targets == 1 ? "" : "s");
    for (size_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && !trained[to] == !trained[from];) to++;
        preview_span(t, ids + from, to - from, trained[from], out);
    }
}
