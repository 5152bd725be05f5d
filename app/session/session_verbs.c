/* Lines of the command line inside the screens: what prints does so on a page, what trains becomes jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/mem.h"
#include "core/base/text.h"

void line_meaning_release(struct line_meaning *m) {
    for (size_t i = 0; i < m->words; i++) free(m->word[i]);
    free(m->word);
    *m = (struct line_meaning){ 0 };
}

/* As a shell takes it. */
static char *session_verbs_line(char *const *word, size_t words) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "petri");
    for (size_t i = 0; i < words; i++) {
        buf_putc(&b, ' ');
        text_shell_word(&b, word[i]);
    }
    return buf_take(&b);
}

static void session_verbs_fill(struct session *s) {
    struct page_view *v = &s->ui.page;
    bool cut;
    v->line = child_lines(s->child, &v->lines, &cut);
    v->cut = cut ? "more was printed than is kept here; a shell shows all" : NULL;
    v->going = child_fd(s->child) >= 0;
    v->code = v->going ? 0 : child_code(s->child);
    v->command = s->child_line;
}

/* Its line is shown, and copied where the terminal can. */
static void session_verbs_refuse(struct session *s, const struct line_meaning *m) {
    char *line = session_verbs_line(m->word, m->words);
    ui_say(&s->ui, SAY_WARNING, "not inside the screens (%s). %s: %s", m->why,
           term_copy(line) ? "copied" : "to copy", line);
    free(line);
}

static void begin(struct session *s, const struct line_meaning *m) {
    struct err e = ERR_INIT;
    if (child_fd(s->child) >= 0) {
        ui_say(&s->ui, SAY_WARNING, "another command still runs: :page shows it, K there stops it");
        return;
    }
    struct child *c = child_new(m->word, m->words, &e);
    if (!c) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
        return;
    }
    session__verb_release(s);
    s->child = c;
    s->child_changes = m->kind == LINE_CHANGES;
    s->child_line = session_verbs_line(m->word, m->words);
    s->ui.page.top = s->ui.page.left = 0;
    *s->ui.page.search = 0;
    session_verbs_fill(s);
    snprintf(s->ui.line, sizeof s->ui.line, "%s",
             strlen(s->child_line) < sizeof s->ui.line ? s->child_line : "");
    ui_show(&s->ui, SCREEN_PAGE);
}

/* As on Compose, whose seeds are many where the line gives none. */
static void train(struct session *s, const char *line, const struct line_meaning *m) {
    struct run_config c;
    struct buf b = BUF_INIT;
    bool own = s->ui.compose.seeds < 2;
    for (size_t i = 0; i < m->words; i++)
        own = own || text_starts(m->word[i], "--seed") || text_starts(m->word[i], "--like") ||
              text_starts(m->word[i], "--from");
    buf_puts(&b, line);
    if (!own) {
        buf_putc(&b, ' ');
        compose_put_seeds(&s->ui.compose, &b);
    }
    compose_config(&s->ui.compose, &c);
    background_ask(s->background,
                   &(struct background_order){ .kind = BACKGROUND_LINE, .text = buf_text(&b), .config = &c });
    config_release(&c);
    buf_release(&b);
    ui_show(&s->ui, SCREEN_TRAIN);
}

void session__verb(struct session *s, const char *line) {
    struct line_meaning m;
    struct err e = ERR_INIT;
    if (!s->verbs) {
        ui_say(&s->ui, SAY_ERROR, "no command \"%.40s\"; Tab completes, ? lists the keys", line);
        return;
    }
    if (s->verbs->mean(line, s->named, &m, &e)) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
        return;
    }
    bool changes = m.kind == LINE_CHANGES || m.kind == LINE_TRAINS;
    if (s->look_only && changes) session__only_looks(s);
    else if (m.kind == LINE_ELSEWHERE) session_verbs_refuse(s, &m);
    else if (m.kind == LINE_TRAINS) train(s, line, &m);
    else begin(s, &m);
    line_meaning_release(&m);
}

void session__verb_news(struct session *s) {
    bool over = child_read(s->child);
    session_verbs_fill(s);
    ui_changed(&s->ui);
    if (!over) return;
    if (s->ui.screen != SCREEN_PAGE)
        ui_say(&s->ui, SAY_INFO, "%.300s: done; :page shows what it printed", s->child_line);
    if (!s->child_changes) return;
    session__ask_runs(s);
    session__ask_sweeps(s);
}

void session__verb_release(struct session *s) {
    child_free(s->child);
    free(s->child_line);
    s->child = NULL;
    s->child_line = NULL;
    s->ui.page.line = NULL;
    s->ui.page.lines = 0;
    s->ui.page.command = NULL;
}
