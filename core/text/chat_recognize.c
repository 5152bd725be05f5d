#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/text/chat.h"
#include "core/text/chat_forms.h"

enum { CHAT_FILE = 1 << 18 }; /* a Jinja text, bytes */

/* ---- Jinja text as literals and code ---- */

static bool is_word(char c) {
    return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

/* Appends a literal, starting at its quote; returns the position after it. */
static size_t jinja_literal(const char *s, size_t n, size_t at, struct buf *out) {
    static const char escapes[] = "n\nt\tr\r\\\\'\'\"\"";
    char quote = s[at++];
    buf_putc(out, '\1');
    for (; at < n && s[at] != quote; at++) {
        const char *known = NULL;
        if (s[at] == '\\' && at + 1 < n)
            for (const char *p = escapes; *p && !known; p += 2)
                if (*p == s[at + 1]) known = p + 1;
        if (known) at++;
        buf_putc(out, known ? *known : s[at]);
    }
    buf_putc(out, '\1');
    return at < n ? at + 1 : n;
}

/* Appends the code of a tag without whitespace, except between words, and its literals; returns the position
 * after the tag. */
static size_t jinja_tag(const char *s, size_t n, size_t at, char close, struct buf *out) {
    buf_putc(out, '\2');
    while (at < n && !(s[at] == close && at + 1 < n && s[at + 1] == '}')) {
        if (s[at] == '\'' || s[at] == '"') {
            buf_putc(out, '\2');
            at = jinja_literal(s, n, at, out);
            buf_putc(out, '\2');
            continue;
        }
        size_t from = at;
        while (at < n && strchr(" \t\r\n", s[at])) at++;
        if (at == n) break;
        if (at > from && from && is_word(s[from - 1]) && is_word(s[at])) buf_putc(out, ' ');
        if (at == from) buf_putc(out, s[at++]);
    }
    buf_putc(out, '\2');
    return at + 2 < n ? at + 2 : n;
}

/* Reduces a Jinja text to literals (also text outside of tags), each between \1, and code, between \2. */
static void jinja_reduce(const char *s, size_t n, struct buf *out) {
    size_t at = 0;
    while (at < n) {
        const char *tag = memchr(s + at, '{', n - at);
        while (tag && (tag + 1 == s + n || !strchr("{%#", tag[1])))
            tag = memchr(tag + 1, '{', n - (size_t)(tag + 1 - s));
        size_t to = tag ? (size_t)(tag - s) : n;
        if (to > at) buf_printf(out, "\1%.*s\1", (int)(to - at), s + at);
        if (!tag) return;
        if (tag[1] == '#') {
            const char *end = memmem(tag, n - to, "#}", 2);
            at = end ? (size_t)(end + 2 - s) : n;
        } else {
            at = jinja_tag(s, n, to + 2, tag[1] == '{' ? '}' : '%', out);
        }
    }
}

/* ---- recognition ---- */

static bool form_fits(const struct chat_form *f, const char *text) {
    if (!f->proof) return false;
    for (size_t i = 0; f->proof[i]; i++)
        if (!strstr(text, f->proof[i])) return false;
    for (size_t i = 0; f->never[i]; i++)
        if (strstr(text, f->never[i])) return false;
    return true;
}

/* Finds the default system message of a template, written as one literal with the head and the foot of a
 * system message.  *out is owned; NULL: none.  Returns false if there are several, or one that is composed. */
static bool default_system(const struct chat_form *f, const char *text, char **out) {
    const char *head = f->head[CHAT_SYSTEM];
    *out = NULL;
    if (f->where != CHAT_SYSTEM_TURN || f->begin || f->thinks) return true;
    for (const char *at = text; (at = strstr(at, head)); at++) {
        const char *from = at + strlen(head), *foot = f->foot[CHAT_SYSTEM];
        size_t n = strcspn(from, "\1\2"), end = strlen(foot) - (text_ends(foot, "\n") != 0);
        char *literal = xstrndup(from, n), *stop = NULL;
        for (size_t i = 0; !stop && i + end <= n; i++)
            if (!strncmp(literal + i, foot, end)) stop = literal + i;
        if (stop) *stop = '\0';
        bool code = !n, same = *out && !strcmp(*out, literal);
        if (code) { /* then the message of the chat must follow, or the end of the tag */
            const char *next = from + strspn(from, "\1");
            if (*next == '\2') next++;
            bool ends = !*next || *next == '\2' || text_starts(next, "-\2");
            free(literal);
            next += strspn(next, "+-");
            if (!ends && !text_starts(next, "message")) return false;
        } else if (stop && !*out) {
            *out = literal;
        } else {
            free(literal);
            if (!same) return false;
        }
    }
    return true;
}

static void chat_set(struct chat_template *c, const struct chat_form *f, const char *system) {
    c->form = f;
    c->eos = -1;
    c->system = xcopy(system);
}

static const struct chat_form *form_find(const char *name) {
    for (size_t i = 0; i < chat_forms_count; i++)
        if (!strcmp(chat_forms[i].name, name)) return &chat_forms[i];
    return NULL;
}

int chat_template_recognize(struct chat_template *c, const char *place, const char *text, size_t n,
                            struct err *e) {
    struct buf reduced = BUF_INIT;
    char sha[65], *system = NULL;
    memset(c, 0, sizeof *c);
    sha256_hex(text, n, sha);
    if (n <= CHAT_FILE && !memchr(text, '\0', n)) jinja_reduce(text, n, &reduced);
    for (size_t i = 0; !c->form && reduced.size && i < chat_forms_count; i++) {
        const struct chat_form *f = &chat_forms[i];
        bool message = form_fits(f, reduced.data) && default_system(f, reduced.data, &system);
        /* forms that differ in their default system message only */
        bool same = !system || !f->system || !strcmp(f->system, system);
        bool mine = same && (f->begin || !f->system == !system);
        if (message && (mine || !strcmp(f->name, "chatml"))) chat_set(c, f, system ? system : f->system);
        for (size_t k = 0; c->form && f->known && f->known[k]; k++) c->known |= !strcmp(f->known[k], sha);
        free(system);
        system = NULL;
    }
    buf_release(&reduced);
    c->place = xcopy(place);
    if (c->form) return 0;
    return err_set(e, ERR_INPUT,
                   "%s: unknown chat template (SHA-256 %.12s…); select the template of the model with "
                   "--template: %s",
                   place, sha, chat_template_names);
}

int chat_template_by_name(struct chat_template *c, const char *name, struct err *e) {
    const struct chat_form *f = form_find(name);
    struct buf text = BUF_INIT;
    memset(c, 0, sizeof *c);
    if (f) {
        chat_set(c, f, f->system);
        return 0;
    }
    if (!strchr(name, '/') && !file_exists(name))
        return err_set(e, ERR_USAGE,
                       "unknown chat template \"%s\"; must be %s, or a file with a Jinja template", name,
                       chat_template_names);
    if (file_read(name, CHAT_FILE, &text, e)) return e->code;
    int rc = chat_template_recognize(c, name, buf_text(&text), text.size, e);
    buf_release(&text);
    return rc;
}

/* Recognizes "chat_template" of tokenizer_config.json: a string, or a list of which the item "default" is
 * used. */
static int chat_from_config(struct chat_template *c, const char *path, struct err *e) {
    json_t *root = json_read(path, 16 << 20, e);
    const json_t *v = json_object_get(root, "chat_template");
    if (!root) return e->code;
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        const char *name = json_string_value(json_object_get(item, "name"));
        if (!name || strcmp(name, "default")) continue;
        v = json_object_get(item, "template");
        break;
    }
    int rc = 0;
    if (json_is_string(v))
        rc = chat_template_recognize(c, path, json_string_value(v), json_string_length(v), e);
    else if (v && !json_is_null(v))
        rc = err_set(e, ERR_INPUT,
                     "%s: \"chat_template\" must be a string, or a list with an item \"default\"", path);
    json_decref(root);
    return rc;
}

int chat_template_read(struct chat_template *c, const char *folder, struct err *e) {
    char *jinja = file_join(folder, "chat_template.jinja"),
         *config = file_join(folder, "tokenizer_config.json");
    int rc = 0;
    memset(c, 0, sizeof *c);
    if (file_exists(jinja)) rc = chat_template_by_name(c, jinja, e);
    else if (file_exists(config)) rc = chat_from_config(c, config, e);
    free(jinja);
    free(config);
    return rc;
}

void chat_template_release(struct chat_template *c) {
    free(c->system);
    free(c->place);
    memset(c, 0, sizeof *c);
}

const char *chat_template_name(const struct chat_template *c) { return c->form ? c->form->name : "none"; }

void chat_template_describe(const struct chat_template *c, struct buf *out) {
    buf_puts(out, chat_template_name(c));
    if (c->place)
        buf_printf(out, ", %s in %s", c->known ? "published template" : "recognized by its text", c->place);
    if (c->system && *c->system) buf_printf(out, "; default system message \"%s\"", c->system);
}
