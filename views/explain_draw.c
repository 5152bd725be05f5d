/* The page of Compose's method, over Compose. */
#include <stdio.h>

#include "core/base/mem.h"
#include "views/compose_edit.h"
#include "views/explain.h"
#include "views/sheet.h"
#include "views/ui.h"
#include "views/ui_parts.h"

/* Rows from `top` on are drawn into r; returns how many there are. */
static int explain_draw_lay(const struct ui *ui, struct canvas *c, struct rect r, int top) {
    const struct explain_page *page = &ui->explain.page;
    struct sheet s = { c, r, top, .glyphs = ui->glyphs, .apart = r.h >= SHEET_ROOM };
    int last = -1;
    if (!page->title) return 0;
    for (size_t i = 0; i < page->count; i++) {
        const struct explain_line *l = &page->line[i];
        if ((int)l->section != last)
            sheet_rule(&s, explain_section_title(l->section), last < 0 ? page->title : NULL);
        last = (int)l->section;
        sheet_text(&s, PANE_EDGE, INK_TEXT, l->text);
    }
    return s.rows;
}

static void draw_explain_screen(const struct ui *ui, struct canvas *c, struct rect r) {
    canvas_push_clip(c, r);
    if (!explain_draw_lay(ui, c, r, ui->explain.top))
        canvas_text(c, r.x + PANE_EDGE, r.y + 1, INK_DIM, "E on Compose explains its method");
    canvas_pop_clip(c);
}

static bool explain_draw_request(struct ui *ui, enum request r, struct effect *out) {
    (void)out;
    if (r == REQ_EXPLAIN) {
        ui_show(ui, SCREEN_COMPOSE);
        return true;
    }
    return ui_scroll(ui, r, explain_draw_lay(ui, NULL, ui_body(ui), 0), &ui->explain.top);
}

static void explain_draw_readout(const struct ui *ui, struct buf *out) {
    struct rect body = ui_body(ui);
    buf_printf(out, "%s   ", ui->compose.facts.text ? ui->compose.facts.text : "");
    ui_lines_seen(ui->explain.top, body.h, explain_draw_lay(ui, NULL, body, 0), "", out);
}

static void explain_draw_shown(struct ui *ui, enum screen_id from) {
    const struct compose_view *v = &ui->compose;
    struct err e = ERR_INIT;
    struct plan *p = v->arch && !v->facts.errors ? compose_plan(v, &e) : NULL;
    (void)from;
    explain_release(&ui->explain.page);
    explain_fill(&ui->explain.page, &v->config.method, NULL, p, v->arch);
    ui->explain.top = 0;
    plan_free(p);
}

static void explain_draw_back(struct ui *ui) { ui_show(ui, SCREEN_COMPOSE); }
static void explain_draw_release(struct ui *ui) { explain_release(&ui->explain.page); }

static const char *explain_draw_hint(const struct ui *ui, const struct key_entry *k) {
    (void)ui;
    return k->request == REQ_DOWN ? "scroll" : k->hint;
}

static const enum request explain_draw_keys[] = {
    REQ_DOWN, REQ_UP, REQ_FIRST, REQ_LAST, REQ_PAGE_DOWN, REQ_PAGE_UP, REQ_EXPLAIN, REQ_NONE
};

const struct screen screen_explain = {
    .name = "explain",
    .rendered = compose_rendered,
    .about =
        "The method on Compose: its axes, formulas, trainable parameters, cost on this model, equivalent "
        "methods, and differences of the published code.",
    .keys = explain_draw_keys,
    .under = &screen_compose,
    .shown = explain_draw_shown,
    .back = explain_draw_back,
    .release = explain_draw_release,
    .request = explain_draw_request,
    .draw = draw_explain_screen,
    .readout = explain_draw_readout,
    .hint = explain_draw_hint,
};
