/* Command lines inside the screens: output is shown on a page, runs become jobs. */
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

/* Returns the line in shell syntax. */
static char *shell_line(char *const *word, size_t words) {
    struct buf b = BUF_INIT;
    buf_puts(&b, "petri");
    for (size_t i = 0; i < words; i++) {
        buf_putc(&b, ' ');
        text_shell_word(&b, word[i]);
    }
    return buf_take(&b);
}

static void fill(struct session *s) {
    struct page_view *v = &s->ui.page;
    bool cut;
    v->line = child_lines(s->command.child, &v->lines, &cut);
    v->cut = cut ? "output truncated; run the command in a shell to see all of it" : NULL;
    v->going = child_fd(s->command.child) >= 0;
    v->code = v->going ? 0 : child_code(s->command.child);
    v->command = s->command.line;
}

/* Shows its line, and copies it if the terminal supports it. */
static void refuse(struct session *s, const struct line_meaning *m) {
    char *line = shell_line(m->word, m->words);
    char *why = xprintf("not available inside the screens (%s)", m->why);
    session__copy(s, why, line);
    free(line);
    free(why);
}

static void begin(struct session *s, const struct line_meaning *m) {
    struct err e = ERR_INIT;
    if (child_fd(s->command.child) >= 0) {
        ui_say(&s->ui, SAY_WARNING, "another command is still running (use :page to show it, then K to stop "
                                    "it)");
        return;
    }
    struct child *c = child_new(m->word, m->words, &e);
    if (!c) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
        return;
    }
    session__verb_release(s);
    s->command.child = c;
    s->command.changes = m->kind == LINE_CHANGES;
    s->command.line = shell_line(m->word, m->words);
    s->ui.page.top = s->ui.page.left = 0;
    *s->ui.page.search = 0;
    fill(s);
    snprintf(s->ui.line, sizeof s->ui.line, "%s",
             strlen(s->command.line) < sizeof s->ui.line ? s->command.line : "");
    ui_show(&s->ui, SCREEN_PAGE);
}

/* ---- commands that train ---- */

/* Its runs become jobs; the config supplies the settings that the line does not give. */
static int train_line(struct background_work *w) {
    struct line_meaning m;
    int runs, rc = w->room->verbs->mean(w->text, store_path(w->store), &m, &w->e);
    if (rc) return rc;
    rc = w->room->verbs->train(&m, &w->config, w->room->jobs, &runs, &w->e);
    line_meaning_release(&m);
    if (!rc)
        work_say(w, SAY_INFO, "Preparing %d %s: reading the model and the data…", runs,
                 runs == 1 ? "run" : "runs");
    return rc;
}

/* Uses the seeds of Compose unless the line gives some. */
static void train(struct session *s, const char *line, const struct line_meaning *m) {
    static const struct work_kind kind = { LANE_FILES, .work = train_line };
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
    struct background_work *w = work_new(&kind, NULL, 0, buf_text(&b));
    compose_config(&s->ui.compose, &w->config);
    background_do(s->background, w);
    buf_release(&b);
    ui_show(&s->ui, SCREEN_TRAIN);
}

static void do_verb(struct session *s, const struct effect *x) {
    const char *line = x->text;
    struct line_meaning m;
    struct err e = ERR_INIT;
    if (!s->room.verbs) {
        ui_say(&s->ui, SAY_ERROR, "unknown command \"%.40s\"; press Tab to complete, ? to list the keys",
               line);
        return;
    }
    if (s->room.verbs->mean(line, s->named, &m, &e)) {
        ui_say(&s->ui, SAY_ERROR, "%s", e.text);
        return;
    }
    bool changes = m.kind == LINE_CHANGES || m.kind == LINE_TRAINS;
    if (s->read_only && changes) session__refuse_read_only(s);
    else if (m.kind == LINE_ELSEWHERE) refuse(s, &m);
    else if (m.kind == LINE_TRAINS) train(s, line, &m);
    else begin(s, &m);
    line_meaning_release(&m);
}

void session__verb_news(struct session *s) {
    bool over = child_read(s->command.child);
    fill(s);
    ui_changed(&s->ui);
    if (!over) return;
    page_over(&s->ui);
    if (!s->command.changes) return;
    session__ask_runs(s);
    session__ask_sweeps(s);
}

void session__verb_release(struct session *s) {
    child_free(s->command.child);
    free(s->command.line);
    s->command.child = NULL;
    s->command.line = NULL;
    s->ui.page.line = NULL;
    s->ui.page.lines = 0;
    s->ui.page.command = NULL;
}

static void do_stop(struct session *s) {
    if (s->command.child) child_stop(s->command.child);
}

const struct action verb_actions[] = {
    { EFFECT_VERB, .act = do_verb }, /* its kind decides whether it changes anything */
    { EFFECT_VERB_STOP, .plain = do_stop },
    { .kind = EFFECT_NONE },
};
