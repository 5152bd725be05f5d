#include "app/verbs/program/shells.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/args.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Text of a line: nothing in it is a request or an escape, and what is no ASCII is named by its code
 * point. */
static void add_roff(struct buf *b, const char *s) {
    static const struct {
        char c;
        const char *roff;
    } named[] = { { '\\', "\\e" },  { '-', "\\-" },   { '\'', "\\(aq" }, { '`', "\\(ga" },
                  { '^', "\\(ha" }, { '~', "\\(ti" }, { '"', "\\(dq" } };
    if (*s == '.') buf_puts(b, "\\&");
    for (size_t left = strlen(s), n; left; s += n, left -= n) {
        uint32_t cp;
        size_t i = 0;
        n = utf8_decode(s, left, &cp);
        while (i < COUNT_OF(named) && named[i].c != *s) i++;
        if (i < COUNT_OF(named)) buf_puts(b, named[i].roff);
        else if (cp < 128) buf_putc(b, (char)cp);
        else buf_printf(b, "\\[u%04X]", (unsigned)cp);
    }
}

/* Appends words, one blank between them, in lines of at most LINE bytes. */
static void add_text(struct buf *b, const char *s) {
    enum { LINE = 78 };
    struct buf word = BUF_INIT;
    size_t at = 0;
    for (size_t n; s += strspn(s, " "), (n = strcspn(s, " ")) > 0; s += n) {
        char *part = xstrndup(s, n);
        buf_clear(&word);
        add_roff(&word, part);
        free(part);
        bool fits = at + 1 + word.size <= LINE;
        if (at) buf_putc(b, fits ? ' ' : '\n');
        at = at && fits ? at + 1 + word.size : word.size;
        buf_puts(b, buf_text(&word));
    }
    buf_release(&word);
    buf_putc(b, '\n');
}

static void man_options(struct buf *b, const struct option_spec *o) {
    for (; o && o->name; o++) {
        if (!o->help) continue;
        buf_puts(b, ".TP\n\\fB\\-\\-");
        add_roff(b, o->name);
        buf_puts(b, "\\fR");
        if (o->value) {
            buf_puts(b, " \\fI");
            add_roff(b, o->value);
            buf_puts(b, "\\fR");
        }
        buf_putc(b, '\n');
        add_text(b, o->help);
    }
}

static void man_verb(struct buf *b, const struct verb *v) {
    buf_puts(b, ".SS \"petri ");
    add_roff(b, v->name);
    buf_puts(b, "\"\n.B petri ");
    add_roff(b, v->name);
    buf_putc(b, '\n');
    if (*v->synopsis) add_text(b, v->synopsis);
    buf_puts(b, ".PP\n");
    add_text(b, v->help);
    man_options(b, v->options);
}

static const char MAN_DATE[] = "2026-11-30"; /* of the last change of the page's own text */

static const struct {
    const char *name, *says;
} MAN_FILES[] = {
    { "./assets", "models and tasks of the working folder, looked at first" },
    { "$XDG_DATA_HOME/petri", "the history (petri.db and the folder beside it), and models and tasks, looked at next; "
                              "without the variable ~/.local/share/petri" },
    { "$XDG_CACHE_HOME/petri", "what --share-frozen keeps, without the variable ~/.cache/petri; may be removed at any time" },
    { "PREFIX/share/petri", "what was installed with petri, looked at last" },
    { "PREFIX/share/doc/petri", "README.md and the documentation that help and messages name, for example docs/tasks.md; PREFIX is /usr "
                                "for a package of Debian and /usr/local for `make install`" },
}, MAN_CODES[] = {
    { "0", "it was done" }, { "1", "the run failed" }, { "2", "wrong usage" }, { "3", "not found" },
    { "4", "the database is busy, unreadable or corrupt" }, { "5", "a bad input file" }, { "130", "interrupted" },
};

static void man_pair(struct buf *b, const char *name, const char *says) {
    buf_puts(b, ".TP\n\\fB");
    add_roff(b, name);
    buf_puts(b, "\\fR\n");
    add_text(b, says);
}

void shells_man(struct buf *b) {
    const struct verb *v;
    buf_printf(b, ".TH PETRI 1 %s \"%s\" \"User Commands\"\n", MAN_DATE, paths_version());
    buf_puts(
        b, ".SH NAME\npetri \\- compose, train, watch and compare parameter\\-efficient fine\\-tuning\n"
           ".SH SYNOPSIS\n.B petri\n.br\n.B petri\n.I VERB\n[options]\n"
           ".SH DESCRIPTION\nAlone, petri opens the terminal workbench; ? lists the keys of a screen there.\n"
           "With a verb it does one thing and ends.\n"
           ".SH OPTIONS\nEverywhere, before the verb too:\n");
    man_options(b, args_common());
    buf_puts(b, ".PP\nOf petri alone:\n");
    man_options(b, verb_alone()->options);
    buf_puts(b, ".TP\n\\fB\\-\\-version\\fR\nthe version, and nothing else\n.SH VERBS\n");
    for (size_t i = 0; (v = verb_at(i)); i++) man_verb(b, v);
    buf_puts(b, ".SH FILES\n");
    for (size_t i = 0; i < COUNT_OF(MAN_FILES); i++) man_pair(b, MAN_FILES[i].name, MAN_FILES[i].says);
    buf_puts(b, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT_OF(MAN_CODES); i++) man_pair(b, MAN_CODES[i].name, MAN_CODES[i].says);
}
