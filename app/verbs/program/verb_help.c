/* help: the table of verbs as text, JSON, a man page or shell completions. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "app/verbs/program/help_search.h"
#include "app/verbs/program/shells.h"
#include "core/base/json.h"

static void options_json(struct buf *b, const struct option_spec *o) {
    for (; o && o->name; o++) {
        if (!o->help) continue;
        json_put(b, "{name:%s,value:%s,help:%s}", o->name, o->value, o->help);
    }
}

static void help_json(const char *only) {
    struct buf b = BUF_INIT;
    const struct verb *v;
    buf_putc(&b, '[');
    for (size_t i = 0; (v = verb_at(i)); i++) {
        if (only && strcmp(only, v->name)) continue;
        json_put(&b, "{verb:%s,synopsis:%s,help:%s,options:[", v->name, v->synopsis, v->help);
        options_json(&b, v->options);
        options_json(&b, args_common());
        buf_puts(&b, "]}");
    }
    buf_putc(&b, ']');
    out_line(&b);
}

/* Prints the matches of words that are not a verb. */
static int found_help(const struct args *a, struct err *e) {
    struct buf out = BUF_INIT;
    char *word = args_words(a);
    if (a->json) buf_putc(&out, '[');
    int rc = help_search(word, a->json, &out) ? 0 : verb_unknown(word, e);
    if (a->json) buf_puts(&out, "]\n");
    if (!rc) fwrite(out.data, 1, out.size, stdout);
    free(word);
    buf_release(&out);
    return rc;
}

int verb_help(const struct args *a, struct err *e) {
    static void (*const shells[])(struct buf *) = { shells_bash, shells_zsh, shells_fish };
    const char *name = a->count ? a->positional[0] : NULL;
    int shell = a->more.completion;
    if (name && (a->count > 1 || !verb_find(name))) return found_help(a, e);
    if (a->json) {
        help_json(name);
    } else if (a->more.man || shell >= 0) {
        struct buf b = BUF_INIT;
        (shell < 0 ? shells_man : shells[shell])(&b);
        fwrite(b.data, 1, b.size, stdout);
        buf_release(&b);
    } else if (name) {
        args_help_verb(verb_find(name));
    } else {
        args_help();
    }
    return 0;
}
