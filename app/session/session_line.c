/* The actions of the screens as lines for a shell. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/session/session_private.h"
#include "core/base/text.h"

void line_word(struct buf *b, const char *word) {
    buf_putc(b, ' ');
    text_shell_word(b, word);
}

void line_text(const struct session *s, struct buf *b, const struct effect *x) {
    (void)s;
    line_word(b, x->text);
}

/* Each command of a line names its database, unless it is the default one. */
void line_db(const struct session *s, struct buf *b) {
    if (b->size) text_shell_option(b, "db", s->named);
}

void line_verb(const struct session *s, struct buf *b, const char *verb) {
    line_db(s, b);
    buf_printf(b, "%spetri %s", b->size ? "; " : "", verb);
}

bool line_printed(const struct session *s, struct buf *b, const struct screen *of) {
    struct buf verb = BUF_INIT;
    if (of->printed) of->printed(&s->ui, &verb);
    bool any = verb.size != 0;
    if (any) line_verb(s, b, buf_text(&verb));
    buf_release(&verb);
    return any;
}

void line_runs(struct buf *b, const int64_t *run, int runs) {
    for (int i = 0; i < runs; i++) buf_printf(b, " %lld", (long long)run[i]);
}

char *session__line(const struct session *s, const struct effect *x) {
    struct buf b = BUF_INIT;
    const struct action *a = action_of(x->kind);
    if (!a || (a->verb && !x->runs)) return NULL;
    if (a->verb) {
        line_verb(s, &b, a->verb);
        line_runs(&b, x->run, x->runs);
    }
    if (a->line) a->line(s, &b, x);
    line_db(s, &b);
    if (b.size) return buf_take(&b);
    buf_release(&b);
    return NULL;
}

void session__show_line(struct session *s, char *line) {
    if (!line) return;
    snprintf(s->ui.line, sizeof s->ui.line, "%s", strlen(line) < sizeof s->ui.line ? line : "");
    s->ui.line_new = *s->ui.line != 0;
    free(line);
}
