/* The table of verbs, as people, man and shells read it. */
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

static int completion_of(const char *shell, struct buf *b, struct err *e) {
    if (!strcmp(shell, "bash")) shells_bash(b);
    else if (!strcmp(shell, "zsh")) shells_zsh(b);
    else if (!strcmp(shell, "fish")) shells_fish(b);
    else return err_set(e, ERR_USAGE, "--completion is bash, zsh or fish, not \"%s\"", shell);
    return 0;
}

/* The words as one, "learning rate"; caller frees. */
static char *joined_words(const struct args *a) {
    struct buf b = BUF_INIT;
    for (int i = 0; i < a->count; i++) buf_printf(&b, "%s%s", i ? " " : "", a->positional[i]);
    return buf_take(&b);
}

/* What is found of words that are not a verb. */
static int found_help(const struct args *a, struct err *e) {
    struct buf out = BUF_INIT;
    char *word = joined_words(a);
    if (a->json) buf_putc(&out, '[');
    int rc = help_search(word, a->json, &out) ? 0 : verb_unknown(word, e);
    if (a->json) buf_puts(&out, "]\n");
    if (!rc) fwrite(out.data, 1, out.size, stdout);
    free(word);
    buf_release(&out);
    return rc;
}

int verb_help(const struct args *a, struct err *e) {
    const char *shell = a->more.completion, *name = a->count ? a->positional[0] : NULL;
    if ((name != NULL) + a->more.man + (shell != NULL) + (a->json && !name) > 1)
        return err_set(e, ERR_USAGE,
                       "petri help: give one of them: VERB or WORD, --man, or --completion SHELL");
    if (name && (a->count > 1 || !verb_find(name))) return found_help(a, e);
    if (a->json) {
        help_json(name);
    } else if (a->more.man || shell) {
        struct buf b = BUF_INIT;
        int rc = 0;
        if (shell) rc = completion_of(shell, &b, e);
        else shells_man(&b);
        if (!rc) fwrite(b.data, 1, b.size, stdout);
        buf_release(&b);
        return rc;
    } else if (name) {
        args_help_verb(verb_find(name));
    } else {
        args_help();
    }
    return 0;
}
