#include "app/verbs/program/shells.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/args.h"
#include "core/base/mem.h"
#include "core/base/text.h"

/* Appends text without requests and escapes; other characters than ASCII are written by their code
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
    const char *name, *text;
} MAN_FILES[] = {
    { "./assets", "models and tasks of the working folder, searched first" },
    { "$XDG_DATA_HOME/petri", "the database (petri.db and the folder next to it), and models and tasks, "
                              "searched next (default: ~/.local/share/petri)" },
    { "$XDG_CACHE_HOME/petri",
      "cache of --share-frozen (default: ~/.cache/petri); can be deleted at any time"
      },
    { "PREFIX/share/petri", "files installed with petri, searched last" },
    { "PREFIX/share/doc/petri", "README.md and the documentation to which help and messages refer, for "
                                "example docs/tasks.md; PREFIX is /usr for the Debian package and "
                                "/usr/local for `make install`" },
}, MAN_CODES[] = {
    { "0", "success" }, { "1", "the run failed" }, { "2", "invalid usage" }, { "3", "not found" },
    { "4", "the database is busy, unreadable or corrupt"
      }, { "5", "invalid input file" }, { "130", "interrupted" },
};

static void man_pair(struct buf *b, const char *name, const char *text) {
    buf_puts(b, ".TP\n\\fB");
    add_roff(b, name);
    buf_puts(b, "\\fR\n");
    add_text(b, text);
}

void shells_man(struct buf *b) {
    const struct verb *v;
    buf_printf(b, ".TH PETRI 1 %s \"%s\" \"User Commands\"\n", MAN_DATE, paths_version());
    buf_puts(
        b, ".SH NAME\npetri \\- compose, train, watch and compare parameter\\-efficient fine\\-tuning\n"
           ".SH SYNOPSIS\n.B petri\n.br\n.B petri\n.I VERB\n[options]\n"
           ".SH DESCRIPTION\nWithout a verb, petri opens the terminal workbench.\n"
           "Press ? there for the keys of a screen.\n"
           "With a verb, it runs that command and exits.\n"
           ".SH OPTIONS\nOf all verbs, also before the verb:\n");
    man_options(b, args_common());
    buf_puts(b, ".PP\nWithout a verb:\n");
    man_options(b, verb_alone()->options);
    buf_puts(b, ".TP\n\\fB\\-\\-version\\fR\nprint the version\n.SH VERBS\n");
    for (size_t i = 0; (v = verb_at(i)); i++) man_verb(b, v);
    buf_puts(b, ".SH FILES\n");
    for (size_t i = 0; i < COUNT_OF(MAN_FILES); i++) man_pair(b, MAN_FILES[i].name, MAN_FILES[i].text);
    buf_puts(b, ".SH EXIT STATUS\n");
    for (size_t i = 0; i < COUNT_OF(MAN_CODES); i++) man_pair(b, MAN_CODES[i].name, MAN_CODES[i].text);
}
