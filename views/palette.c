#include "views/palette.h"

#include <stdio.h>
#include <string.h>

#include "core/base/text.h"
#include "views/prompt.h"
#include "views/ui_parts.h"

void palette_begin(struct palette *p, const char *line) {
    const char *blank = strrchr(line, ' ');
    p->count = p->all = p->cursor = 0;
    p->moved = p->refused = false;
    p->does[0] = 0;
    p->from = blank ? (size_t)(blank + 1 - line) : 0;
    snprintf(p->typed, sizeof p->typed, "%s", line + p->from);
}

int palette_score(const char *typed, const char *word, const char *note) {
    int score = !*typed                ? 0
                : !strcmp(typed, word) ? 1 << 20
                                       : prompt_match(typed, word); /* nothing typed: as offered */
    if (score >= 0) return score + 1000; /* before words that match by their note alone */
    return typed[0] && typed[1] && strcasestr(note, typed) ? 0 : -1;
}

void palette_offer(struct palette *p, const char *word, const char *note) {
    if (!note) note = "";
    if (strlen(word) >= sizeof p->row->word) return;
    int score = palette_score(p->typed, word, note);
    if (score < 0) return;
    for (int i = 0; i < p->count; i++)
        if (!strcmp(p->row[i].word, word)) return;
    p->all++;
    int at = p->count; /* the first of equals stays before the others */
    while (at > 0 && p->row[at - 1].score < score) at--;
    if (at == PALETTE_ROWS) return;
    if (p->count < PALETTE_ROWS) p->count++;
    memmove(p->row + at + 1, p->row + at, (size_t)(p->count - 1 - at) * sizeof *p->row);
    struct palette_row *row = &p->row[at];
    snprintf(row->word, sizeof row->word, "%s", word);
    snprintf(row->note, sizeof row->note, "%.199s", note);
    row->score = score;
}

void palette_draw(const struct palette *p, struct canvas *c, struct rect area) {
    enum { ROWS = 12 };
    char many[32] = "";
    int rows = p->count < ROWS ? p->count : ROWS, widest = 10;
    if (rows > area.h - 1) rows = area.h - 1;
    if (rows < 0 || (!rows && !*p->does)) return;
    struct rect box = { area.x, area.y + area.h - rows - 1, area.w, rows + 1 };
    int top = p->cursor >= rows ? p->cursor - rows + 1 : 0;
    canvas_fill(c, box, INK_TEXT, ' ');
    for (int i = top; i < top + rows; i++) {
        int w = canvas_width(c, p->row[i].word);
        if (w > widest) widest = w;
    }
    if (widest > area.w / 2) widest = area.w / 2;
    if (p->all > rows) snprintf(many, sizeof many, "%d of %d", p->cursor + 1, p->all);
    canvas_title(c, box, p->does, *many ? many : NULL);
    if (p->refused) canvas_paint(c, box.x + PANE_EDGE, box.y, canvas_width(c, p->does), INK_WARN);
    for (int i = top; i < top + rows; i++) {
        const struct palette_row *row = &p->row[i];
        int y = box.y + 1 + i - top;
        bool here = ui_row(c, box, y, i - p->cursor);
        canvas_fit(c, box.x + 3, y, widest, here ? INK_ACCENT : INK_TEXT, row->word);
        canvas_fit(c, box.x + 5 + widest, y, box.w - 6 - widest, INK_DIM, row->note);
    }
}
