#include "views/page.h"

#include <stdio.h>
#include <string.h>

#include "views/ui.h"
#include "views/ui_parts.h"

enum { PAGE_SHIFT = 8 }; /* columns a key moves */

static bool page_fits(const struct page_view *v, int i) {
    return *v->search && strcasestr(v->line[i], v->search);
}

static void page_draw(const struct ui *ui, struct canvas *c, struct rect r) {
    const struct page_view *v = &ui->page;
    char how[48];
    if (v->going) snprintf(how, sizeof how, "running");
    else snprintf(how, sizeof how, v->code ? "exit code %d" : "done", v->code);
    canvas_title(c, r, v->command ? v->command : "no output yet", v->command ? how : NULL);
    canvas_push_clip(c, rect_down(r, 1));
    for (int i = v->top; i < v->lines && i - v->top < r.h - 1; i++)
        canvas_text(c, r.x + PANE_EDGE - v->left, r.y + 1 + i - v->top,
                    page_fits(v, i) ? INK_ACCENT : INK_TEXT, v->line[i]);
    if (!v->lines)
        canvas_text(c, r.x + 3, r.y + 2, INK_DIM,
                    !v->command ? "the output of commands such as :doctor is shown here"
                    : v->going  ? "…"
                                : "no output");
    canvas_pop_clip(c);
}

/* To the next line that fits, `by` 1 or -1, beginning with `from`. */
static void page_seek(struct ui *ui, int from, int by) {
    struct page_view *v = &ui->page;
    for (int i = from; i >= 0 && i < v->lines; i += by)
        if (page_fits(v, i)) {
            v->top = i;
            return;
        }
    if (*v->search)
        ui_say(ui, SAY_INFO, "no %s line matches \"%s\"", by > 0 ? "later" : "earlier", v->search);
    else ui_say(ui, SAY_INFO, "no search: press / first");
}

void page_searched(struct ui *ui) {
    ui->page.top = 0;
    if (*ui->page.search) page_seek(ui, 0, 1);
}

static bool page_asked(struct ui *ui, enum request r, struct effect *out) {
    struct page_view *v = &ui->page;
    switch (r) {
    case REQ_SEARCH:
        prompt_open(&ui->prompt, "/", v->search, true);
        ui->use = USE_SEARCH;
        return true;
    case REQ_NEXT: page_seek(ui, v->top + 1, 1); return true;
    case REQ_PREV: page_seek(ui, v->top - 1, -1); return true;
    case REQ_LEFT: v->left = v->left > PAGE_SHIFT ? v->left - PAGE_SHIFT : 0; return true;
    case REQ_RIGHT: v->left += v->left < CANVAS_SIDE ? PAGE_SHIFT : 0; return true;
    case REQ_STOP:
        if (v->going) out->kind = EFFECT_VERB_STOP;
        else ui_say(ui, SAY_INFO, "the command has already finished");
        return true;
    case REQ_COPY:
        if (!v->command) return false;
        out->kind = EFFECT_COPY;
        snprintf(out->text, sizeof out->text, "%s", v->command);
        return true;
    default: return ui_scroll(ui, r, v->lines + 1, &v->top);
    }
}

static void page_readout(const struct ui *ui, struct buf *out) {
    const struct page_view *v = &ui->page;
    ui_lines_seen(v->top, ui_body(ui).h - 1, v->lines, "   ", out);
    if (*v->search) buf_printf(out, "\"%s\": n goes to the next match   ", v->search);
    if (v->cut) buf_puts(out, v->cut);
}

static void page_back(struct ui *ui) {
    if (*ui->page.search) *ui->page.search = 0;
    else ui_show(ui, ui->before);
}

static const char *page_hint(const struct ui *ui, const struct key_entry *k) {
    switch (k->request) {
    case REQ_DOWN: return "scroll";
    case REQ_LEFT: return "sideways";
    case REQ_SEARCH: return "search";
    case REQ_NEXT: return *ui->page.search ? "next" : NULL;
    case REQ_STOP: return ui->page.going ? "stop" : NULL;
    default: return k->hint;
    }
}

static const enum request page_keys[] = { REQ_DOWN, REQ_UP,        REQ_LEFT,    REQ_RIGHT,  REQ_FIRST,
                                          REQ_LAST, REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_SEARCH, REQ_NEXT,
                                          REQ_PREV, REQ_STOP,      REQ_COPY,    REQ_NONE };

void page_over(struct ui *ui) {
    if (ui->screen != SCREEN_PAGE)
        ui_say(ui, SAY_INFO, "%.300s: done; :page shows the output", ui->page.command);
}

const struct screen screen_page = {
    .name = "page",
    .unrendered = true,
    .about = "The output of a command entered with ':', a verb of the command line on this database.",
    .keys = page_keys,
    .back = page_back,
    .request = page_asked,
    .draw = page_draw,
    .readout = page_readout,
    .hint = page_hint,
};
