/* The texts of a text-to-text run: what it gave for drawn rows, beside what it should have. */
#include <stdio.h>
#include <string.h>

#include "core/base/mem.h"
#include "views/table.h"
#include "views/train.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { SHORT = 14 }; /* columns up to which answers stand in a table */

/* The set at the cursor: the last one not after it, or the newest.  Returns how many. */
static size_t set_at(const struct train_view *v, size_t *first) {
    const struct series *s = &v->series;
    size_t end = s->samples;
    while (v->cursor >= 0 && end > 0 && s->sample[end - 1].step > v->cursor) end--;
    if (!end) { /* before the first set: that one */
        while (end < s->samples && s->sample[end].step == s->sample[0].step) end++;
        *first = 0;
        return end;
    }
    size_t at = end - 1;
    while (at > 0 && s->sample[at - 1].step == s->sample[end - 1].step) at--;
    *first = at;
    return end - at;
}

size_t train_texts(const struct train_view *v) {
    size_t first;
    return set_at(v, &first);
}

/* ✓ as it should be, ✗ another answer, ! no answer at all. */
static const char *train_texts_mark(const struct canvas *c, const struct train_sample *x, enum ink *ink) {
    bool ascii = c->glyphs == GLYPHS_ASCII;
    if (!x->valid) {
        *ink = INK_BAD;
        return "!";
    }
    if (!x->target) {
        *ink = INK_DIM;
        return ascii ? "-" : "\u00B7";
    }
    bool right = !strcmp(x->target, x->generated);
    *ink = right ? INK_GOOD : x->valid > 0 ? INK_BAD : INK_WARN;
    return right ? ascii ? "=" : "\u2713" : ascii ? "x" : "\u2717";
}

static bool are_short(const struct canvas *c, const struct train_sample *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (canvas_width(c, x[i].generated) > SHORT || (x[i].target && canvas_width(c, x[i].target) > SHORT))
            return false;
    return true;
}

/* A line each: mark, what was given, what should have been, and the source. */
static void draw_table(struct canvas *c, struct rect r, const struct train_sample *x, size_t n) {
    const struct table_column column[] = { { "output", SHORT, 1, false }, { "label", SHORT, 1, false },
                                          { "source", r.w - 6 - 2 * SHORT, 0, false } };
    table_heads((struct table){ c, column, r.x + 3, r.y }, COUNT_OF(column));
    for (size_t i = 0; i < n && (int)i + 1 < r.h; i++) {
        int y = r.y + 1 + (int)i;
        enum ink ink;
        const char *sign = train_texts_mark(c, &x[i], &ink);
        canvas_text(c, r.x + 1, y, ink, sign);
        struct table t = { c, column, r.x + 3, y };
        table_cell(&t, ink == INK_GOOD ? INK_TEXT : ink, "%s", x[i].generated);
        table_cell(&t, INK_TEXT, "%s", x[i].target ? x[i].target : "");
        table_cell(&t, INK_DIM, "%s", x[i].source);
    }
}

/* One labeled text, wrapped where it may take more lines; returns those used. */
static int draw_text(struct canvas *c, struct rect r, int y, int most, enum ink ink, const char *label,
                     const char *text) {
    int left = r.y + r.h - y;
    if (left < 1) return 0;
    canvas_text(c, r.x + 3, y, INK_DIM, label);
    struct rect to = { r.x + 11, y, r.w - 12, left < most ? left : most };
    if (to.w < 1) return 1;
    int rows = canvas_wrap_rows(c, to.w, text);
    if (to.h < 2 || rows < 2) {
        canvas_fit(c, to.x, y, to.w, ink, text);
        return 1;
    }
    canvas_push_clip(c, to);
    canvas_wrap(c, to, ink, text);
    canvas_pop_clip(c);
    return rows < to.h ? rows : to.h;
}

/* Three texts each; in a tall pane they may take several lines. */
static void draw_long(struct canvas *c, struct rect r, const struct train_sample *x, size_t n) {
    int most = r.h >= 9 * (int)n ? 3 : r.h >= 6 * (int)n ? 2 : 1, y = r.y;
    for (size_t i = 0; i < n && y < r.y + r.h; i++) {
        enum ink ink;
        const char *sign = train_texts_mark(c, &x[i], &ink);
        canvas_text(c, r.x + 1, y, ink, sign);
        y += draw_text(c, r, y, most, INK_DIM, "source", x[i].source);
        if (x[i].target) y += draw_text(c, r, y, most, INK_TEXT, "label", x[i].target);
        y += draw_text(c, r, y, most, x[i].valid ? INK_ACCENT : INK_BAD, "output", x[i].generated);
        if (most > 1) y++;
    }
}

void train_draw_texts(const struct train_view *v, struct canvas *c, struct rect r) {
    size_t first, n = set_at(v, &first), top = (size_t)v->text_top;
    char right[80] = "";
    if (n) {
        if (top >= n) top = n - 1;
        snprintf(right, sizeof right, "step %lld%s", (long long)v->series.sample[first].step,
                 top ? " \u00B7 n/N scroll" : "");
    }
    canvas_title(c, r, "texts", right);
    struct rect body = rect_down(r, 1);
    if (!n) {
        canvas_fit(c, r.x + 3, r.y + 1, r.w - 4, INK_DIM,
                   "no texts yet: texts generated for sampled validation examples appear here");
        return;
    }
    const struct train_sample *x = v->series.sample + first;
    if (are_short(c, x, n)) draw_table(c, body, x + top, n - top);
    else draw_long(c, body, x + top, n - top);
}
