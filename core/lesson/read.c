#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/lesson/lesson.h"

enum { FILE_BYTES = 1 << 18, STEPS = 200, LINE_BYTES = 600 };

static const char *const kinds[LESSON_KINDS] = { "text",  "ask",  "answer", "run",  "let",
                                                 "check", "show", "change", "code", "map" };

bool lesson_computes(const struct lesson_step *s) { return s->value || s->kind == LESSON_MAP; }

struct lesson_reader {
    struct lesson *l;
    const char *path;
    int line;
    char *text;      /* the current line */
    bool gap;        /* an empty line precedes it: a new paragraph */
    struct err *e;
};

__attribute__((format(printf, 2, 3)))
static int lesson_refuse(struct lesson_reader *r, const char *format, ...) {
    char text[600];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return err_set(r->e, ERR_INPUT, "%s:%d: %s", r->path, r->line, text);
}

static struct lesson_step *last_step(struct lesson_reader *r) { return &r->l->step[r->l->steps - 1]; }

/* ---- names ---- */

int lesson_find(const struct lesson *l, int before, enum lesson_kind kind, const char *name) {
    for (int i = before; i-- > 0;)
        if (l->step[i].kind == kind && l->step[i].name && !strcmp(l->step[i].name, name)) return i;
    return -1;
}

enum lesson_word lesson_word_named(const char *name) {
    static const char *const words[LESSON_WORDS] = { "model", "task", "folder" };
    int i = 0;
    while (i < LESSON_WORDS && strcmp(words[i], name)) i++;
    return (enum lesson_word)i;
}

int lesson_named(const struct lesson *l, int at, const char *name) {
    static const enum lesson_kind of[] = { LESSON_LET, LESSON_CHECK, LESSON_RUN };
    for (size_t i = 0; i < COUNT_OF(of); i++) {
        int found = lesson_find(l, at + 1 < l->steps ? at + 1 : l->steps, of[i], name);
        if (found >= 0) return found;
    }
    return -1;
}

static int find_name(void *self, const char *name, bool run) {
    const struct lesson_reader *r = self;
    int before = r->l->steps - 1; /* not the step itself */
    if (run) return lesson_find(r->l, before, LESSON_RUN, name);
    int let = lesson_find(r->l, before, LESSON_LET, name);
    return let >= 0 ? let : lesson_find(r->l, before, LESSON_CHECK, name);
}

static const char *nearest_name(void *self, const char *name, bool run) {
    const struct lesson_reader *r = self;
    const char *names[STEPS];
    size_t n = 0;
    for (int i = 0; i + 1 < r->l->steps; i++) {
        const struct lesson_step *s = &r->l->step[i];
        bool value = s->kind == LESSON_LET || s->kind == LESSON_CHECK;
        if (s->name && (run ? s->kind == LESSON_RUN : value)) names[n++] = s->name;
    }
    return text_nearest(name, names, n);
}

/* Returns the next word of *at and skips spaces around it; NULL at the end.  Caller frees. */
static char *take_word(const char **at) {
    const char *s = *at + strspn(*at, " ");
    size_t n = strcspn(s, " ");
    *at = s + n + strspn(s + n, " ");
    return n ? xstrndup(s, n) : NULL;
}

/* Reads a name of letters, digits and "_" that starts with a lower-case letter.  It must differ from earlier
 * names; questions have a namespace separate from values and runs. */
static int lesson_take_name(struct lesson_reader *r, const char **at, struct lesson_step *s) {
    s->name = take_word(at);
    if (!s->name) return lesson_refuse(r, "\"%s\" must be followed by a name", kinds[s->kind]);
    size_t n = strlen(s->name);
    bool fine = islower((unsigned char)s->name[0]) && n < LESSON_NAME;
    for (size_t i = 0; fine && i < n; i++)
        fine = islower((unsigned char)s->name[i]) || isdigit((unsigned char)s->name[i]) || s->name[i] == '_';
    if (!fine)
        return lesson_refuse(r,
                             "\"%.60s\": invalid name; use at most %d lowercase letters, digits and "
                             "underscores, starting with a letter",
                             s->name, LESSON_NAME - 1);
    if (s->kind == LESSON_ANSWER) return 0;
    bool ask = s->kind == LESSON_ASK;
    for (int i = 0; i + 1 < r->l->steps; i++)
        if (r->l->step[i].name && r->l->step[i].kind != LESSON_ANSWER &&
            (r->l->step[i].kind == LESSON_ASK) == ask && !strcmp(r->l->step[i].name, s->name))
            return lesson_refuse(r, "\"%s\": name already used in line %d", s->name, r->l->step[i].line);
    return 0;
}

/* ---- expressions ---- */

static int take_expression(struct lesson_reader *r, char *text, struct expression **out) {
    const struct expression_names names = { r, find_name, nearest_name };
    struct err why = ERR_INIT;
    if (!expression_read(out, text, &names, &why)) return 0;
    return lesson_refuse(r, "%s", why.text);
}

/* Finds a separate word outside of quotes and parentheses, with the space before it, or NULL. */
static char *find_word(char *text, const char *word) {
    size_t n = strlen(word);
    int depth = 0;
    bool quoted = false;
    for (char *c = text; *c; c++) {
        if (*c == '"') quoted = !quoted;
        if (quoted) continue;
        depth += (*c == '(') - (*c == ')');
        if (!depth && *c == ' ' && !strncmp(c + 1, word, n) && c[n + 1] == ' ') return c;
    }
    return NULL;
}

/* EXPRESSION is X | in X to Y | above X | below X. */
static int take_range(struct lesson_reader *r, char *text, struct lesson_step *s) {
    static const char *const ranges[] = { "is", "in", "above", "below" };
    int kind = -1;
    char *at = NULL;
    for (int i = 0; i < (int)COUNT_OF(ranges) && !at; i++)
        if ((at = find_word(text, ranges[i]))) kind = i;
    if (!at) return lesson_refuse(r, "\"%s\": missing range; add \"is X\", \"in X to Y\", \"above X\" or "
                                     "\"below X\"", text);
    char *range = at + strlen(ranges[kind]) + 2, *to = NULL;
    *at = '\0';
    if (kind == 1 && !(to = find_word(range, "to")))
        return lesson_refuse(r, "\"in %s\": incomplete range; write \"in X to Y\"", range);
    if (to) *to = '\0';
    s->strict = kind > 1;
    int rc = take_expression(r, text, &s->value);
    if (!rc && kind != 3) rc = take_expression(r, range, &s->low);
    if (!rc && kind == 3) rc = take_expression(r, range, &s->high);
    if (!rc && kind == 0) rc = take_expression(r, range, &s->high);
    if (!rc && to) rc = take_expression(r, to + 4, &s->high);
    return rc;
}

/* ---- keywords ---- */

static int take_equals(struct lesson_reader *r, const char **at, const struct lesson_step *s) {
    char *word = take_word(at);
    int rc = 0;
    if (!word)
        rc = lesson_refuse(r, "expected \"=\" after \"%s %s\", found the end of the line", kinds[s->kind],
                           s->name);
    else if (strcmp(word, "=") != 0)
        rc = lesson_refuse(r, "expected \"=\" after \"%s %s\", found \"%s\"", kinds[s->kind], s->name, word);
    free(word);
    return rc;
}

static int lesson_take_run(struct lesson_reader *r, const char *at, struct lesson_step *s) {
    if (text_starts(at, "again ")) {
        at += 6;
        char *of = take_word(&at);
        s->of = of ? lesson_find(r->l, r->l->steps - 1, LESSON_RUN, of) : -1;
        int rc = 0;
        if (s->of < 0) {
            const char *near = of ? nearest_name(r, of, true) : NULL;
            rc = lesson_refuse(r, "unknown run \"%s\"%s%s%s", of ? of : "",
                               near ? "; did you mean \"" : "; it must be defined in an earlier step",
                               near ? near : "", near ? "\"?" : "");
        }
        free(of);
        if (rc) return rc;
    }
    if (*at && *at != '-') {
        char *word = take_word(&at);
        int rc = lesson_refuse(
            r, "expected \"again NAME\" or options of petri train, such as --steps 40, found \"%s\"", word);
        free(word);
        return rc;
    }
    s->head = xstrdup(at);
    return s->of < 0 && !*at ? lesson_refuse(r, "\"run %s =\" must be followed by options of petri train",
                                           s->name)
                             : 0;
}

static int take_shown(struct lesson_reader *r, const char *at, struct lesson_step *s) {
    static const char *const screens[] = {
        "compose", "train", "runs", "compare", "heatmap", "map", "detail"
    };
    char *word = s->head = take_word(&at);
    size_t i = 0;
    while (word && i < COUNT_OF(screens) && strcmp(word, screens[i])) i++;
    if (!word)
        return lesson_refuse(r, "\"show\" must be followed by a screen: compose, train, runs, compare, "
                                "heatmap, map or detail");
    if (i == COUNT_OF(screens)) {
        const char *near = text_nearest(word, screens, COUNT_OF(screens));
        return lesson_refuse(r,
                             "unknown screen \"%s\"; must be compose, train, runs, compare, heatmap, "
                             "map or detail%s%s%s",
                             word, near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    }
    for (char *run; (run = take_word(&at));) {
        int step = lesson_find(r->l, r->l->steps - 1, LESSON_RUN, run), rc = 0;
        if (step < 0) rc = lesson_refuse(r, "unknown run \"%s\"; it must be defined in an earlier step", run);
        else if (s->shows == LESSON_SHOWN)
            rc = lesson_refuse(r, "\"%s\": too many runs; a screen shows at most %d", run, LESSON_SHOWN);
        else s->show[s->shows++] = step;
        free(run);
        if (rc) return rc;
    }
    return 0;
}

static int take_letter(struct lesson_reader *r, const char *at, const struct lesson_step *s, char *out) {
    const struct lesson_step *ask = &r->l->step[s->of];
    *out = at[0];
    for (int i = 0; i < ask->choices; i++)
        if (at[0] == ask->choice[i].letter && !at[1]) return 0;
    return lesson_refuse(r, "\"%s\": not a choice of \"%s\"; use a letter from a to %c", at, s->name,
                         'a' + ask->choices - 1);
}

/* LETTER, or LETTER if EXPRESSION RANGE, else LETTER. */
static int lesson_take_right(struct lesson_reader *r, char *at, struct lesson_step *s) {
    s->of = lesson_find(r->l, r->l->steps - 1, LESSON_ASK, s->name);
    if (s->of < 0) return lesson_refuse(r, "unknown question \"%s\"; it must be defined in an earlier "
                                           "step", s->name);
    char *when = find_word(at, "if"), *other = when ? find_word(when + 1, "else") : NULL;
    if (!when) return take_letter(r, at, s, &s->right);
    if (!other || other[-1] != ',')
        return lesson_refuse(
            r, "\"%s\": incomplete condition; write \"LETTER if EXPRESSION RANGE, else LETTER\"", at);
    *when = other[-1] = '\0';
    int rc = take_letter(r, at, s, &s->right);
    if (!rc) rc = take_letter(r, other + strlen(" else "), s, &s->otherwise);
    return rc ? rc : take_range(r, when + strlen(" if "), s);
}

/* FILE PERPLEXITY[:SEED]…, up to four maps. */
static int take_maps(struct lesson_reader *r, const char *at, struct lesson_step *s) {
    int rc = 0;
    s->head = take_word(&at);
    for (char *word; !rc && (word = take_word(&at)); free(word)) {
        struct lesson_map_of of = { .seed = -1 };
        char *colon = strchr(word, ':');
        if (colon) *colon++ = '\0';
        if (!text_to_double(word, &of.perplexity) || !(of.perplexity >= 1))
            rc = lesson_refuse(r,
                               "\"%s\": invalid perplexity; must be a number of at least 1, as in 30 or 30:7 "
                               "(PERPLEXITY:SEED)",
                               word);
        else if (colon && (!text_to_int(colon, &of.seed) || of.seed < 0))
            rc = lesson_refuse(r, "\"%s\": invalid seed after \"%s:\"; must be an integer of at least 0",
                               colon, word);
        else if (s->maps == LESSON_SHOWN)
            rc = lesson_refuse(r, "\"%s\": too many maps; a step shows at most %d", word, LESSON_SHOWN);
        else s->map[s->maps++] = of;
    }
    return rc || s->maps
               ? rc
               : lesson_refuse(r,
                               "\"map\" must be followed by a file of points and the perplexity of each map");
}

/* Reads what follows the keyword of a step. */
static int take_step(struct lesson_reader *r, enum lesson_kind kind, const char *rest) {
    if (r->l->steps == STEPS) return lesson_refuse(r, "too many steps; a lesson has at most %d", STEPS);
    GROW(r->l->step, r->l->room, r->l->steps + 1);
    r->l->step[r->l->steps++] = (struct lesson_step){ .kind = kind, .line = r->line, .of = -1 };
    struct lesson_step *s = last_step(r);
    const char *at = rest;
    if (kind == LESSON_TEXT || kind == LESSON_CODE || kind == LESSON_CHANGE) {
        s->head = *rest ? xstrdup(rest) : NULL;
        return kind == LESSON_CODE && !*rest
                   ? lesson_refuse(r, "\"code\" must be followed by a file and a function")
                   : 0;
    }
    if (kind == LESSON_SHOW) return take_shown(r, at, s);
    if (kind == LESSON_MAP) return take_maps(r, at, s);
    int rc = lesson_take_name(r, &at, s);
    if (rc) return rc;
    if (kind == LESSON_ASK)
        return *at ? lesson_refuse(
                         r, "unexpected \"%s\"; write the question in the next lines, indented by two spaces",
                         at)
                   : 0;
    rc = take_equals(r, &at, s);
    if (rc || kind == LESSON_RUN) return rc ? rc : lesson_take_run(r, at, s);
    char *copy = xstrdup(at);
    rc = kind == LESSON_ANSWER  ? lesson_take_right(r, copy, s)
         : kind == LESSON_CHECK ? take_range(r, copy, s)
                                : take_expression(r, copy, &s->value);
    free(copy);
    return rc;
}

static int lesson_take_number(struct lesson_reader *r, const char *key, const char *text, int most,
                              int *out) {
    int64_t v;
    if (!text_to_int(text, &v) || v < 0 || v > most)
        return lesson_refuse(r, "\"%s\": %s must be an integer between 0 and %d", text, key, most);
    *out = (int)v;
    return 0;
}

/* Reads a line before the first step; *taken is false if its keyword is not one of the header. */
static int take_header(struct lesson_reader *r, const char *key, const char *rest, bool *taken) {
    struct lesson *l = r->l;
    static const char *const names[] = { "lesson", "about", "model", "task" };
    char **const texts[] = { &l->title, &l->about, &l->model, &l->task };
    static const char *const counts[] = { "minutes", "order" };
    int *const numbers[] = { &l->minutes, &l->order };
    *taken = true;
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (!strcmp(key, names[i])) {
            if (!*rest) return lesson_refuse(r, "\"%s\" must be followed by text", key);
            if (*texts[i]) return lesson_refuse(r, "\"%s\": specified twice", key);
            if (i < 2 || strcmp(rest, "default")) *texts[i] = xstrdup(rest);
            return 0;
        }
    if (!strcmp(key, "seconds")) {
        bool fine = text_to_double(rest, &l->seconds) && l->seconds >= 0 && l->seconds <= 1000;
        return fine ? 0 : lesson_refuse(r, "\"%s\": seconds must be a number between 0 and 1000", rest);
    }
    for (size_t i = 0; i < COUNT_OF(counts); i++)
        if (!strcmp(key, counts[i])) return lesson_take_number(r, key, rest, 1000, numbers[i]);
    *taken = false;
    return 0;
}

static int take_keyword(struct lesson_reader *r) {
    static const char *const all[] = { "text",  "ask",    "answer",  "run",     "let",    "check",
                                       "show",  "change", "code",    "map",     "lesson", "about",
                                       "model", "task",   "minutes", "seconds", "order" };
    const char *at = r->text;
    char *key = take_word(&at);
    bool taken = false;
    int rc = 0, kind = 0;
    while (kind < LESSON_KINDS && strcmp(kinds[kind], key)) kind++;
    if (kind < LESSON_KINDS) {
        if (r->l->title) rc = take_step(r, (enum lesson_kind)kind, at);
        else rc = lesson_refuse(r, "\"%s\": a lesson must start with \"lesson TITLE\"", key);
        taken = true;
    } else if (!r->l->steps) {
        rc = take_header(r, key, at, &taken);
    }
    if (!taken) {
        const char *near = text_nearest(key, all, COUNT_OF(all));
        rc = lesson_refuse(r, "unknown keyword \"%.60s\"%s%s%s", key,
                           near ? "; did you mean \"" : "; indent text by two spaces", near ? near : "",
                           near ? "\"?" : "");
    }
    free(key);
    return rc;
}

/* ---- bodies ---- */

size_t lesson_placeholder(const char *at, char name[LESSON_NAME], bool *percent) {
    size_t n = 1;
    if (*at != '{') return 0;
    while (islower((unsigned char)at[n]) || isdigit((unsigned char)at[n]) || at[n] == '_') n++;
    *percent = at[n] == '%';
    if (at[n + *percent] != '}' || n == 1 || n > LESSON_NAME) return 0;
    memcpy(name, at + 1, n - 1);
    name[n - 1] = '\0';
    return n + 1 + *percent;
}

/* Returns the question before step `of` that is not answered before the last step, or -1. */
static int lesson_open_question(const struct lesson *l, int of) {
    for (int i = of; i-- > 0;) {
        bool open = l->step[i].kind == LESSON_ASK;
        for (int k = i + 1; open && k < l->steps; k++)
            open = l->step[k].kind != LESSON_ANSWER || l->step[k].of != i;
        if (open) return i;
    }
    return -1;
}

/* Rejects a value that gives away an open question.  The texts of let, check and answer may contain it: they
 * are shown with the answer. */
static int check_gives_nothing_away(struct lesson_reader *r, int of, const char *name) {
    enum lesson_kind kind = last_step(r)->kind, measured = r->l->step[of].kind;
    if (kind == LESSON_LET || kind == LESSON_CHECK || kind == LESSON_ANSWER ||
        (measured != LESSON_LET && measured != LESSON_CHECK))
        return 0;
    int ask = lesson_open_question(r->l, of);
    if (ask < 0) return 0;
    const char *question = r->l->step[ask].name;
    return lesson_refuse(
        r,
        "{%s} reveals the answer to the open question \"%s\"; use it in the text of a check, or "
        "after \"answer %s\"",
        name, question, question);
}

/* Checks that each {name} of a line is a value or run of this step or an earlier one, and gives no answer
 * away. */
static int check_placeholders(struct lesson_reader *r, const char *text) {
    for (const char *at = text; (at = strchr(at, '{')); at++) {
        char name[LESSON_NAME];
        bool percent;
        if (!lesson_placeholder(at, name, &percent))
            return lesson_refuse(
                r,
                "\"%.20s\": invalid placeholder; write {name} or {name%%} with the name of an earlier value",
                at);
        int of = lesson_named(r->l, r->l->steps - 1, name),
            rc = of >= 0 && *text != '>' ? check_gives_nothing_away(r, of, name) : 0;
        if (rc) return rc;
        if (of < 0 && lesson_word_named(name) == LESSON_WORDS) {
            const char *near = nearest_name(r, name, false);
            return lesson_refuse(r, "{%s}: unknown value or run%s%s%s", name,
                                 near ? "; did you mean \"" : "; it must be defined in an earlier step",
                                 near ? near : "", near ? "\"?" : "");
        }
    }
    return 0;
}

static void join_text(char **text, const char *more) {
    char *joined = *text ? xprintf("%s %s", *text, more) : xstrdup(more);
    free(*text);
    *text = joined;
}

static bool begins_choice(const char *at) {
    return islower((unsigned char)at[0]) && at[1] == ')' && (at[2] == ' ' || !at[2]);
}

/* Reads "a) …", a choice of a question, or a continuation of the choice before it. */
static int take_choice(struct lesson_reader *r, struct lesson_step *s, const char *at) {
    if (begins_choice(at)) {
        const char *text = at + 2 + strspn(at + 2, " ");
        if (s->choices == LESSON_CHOICES)
            return lesson_refuse(r, "\"%.2s\": too many choices; a question has at most %d", at,
                                 LESSON_CHOICES);
        if (at[0] != 'a' + s->choices)
            return lesson_refuse(r, "expected %c) as the next choice, found \"%.2s\"", 'a' + s->choices, at);
        if (!*text) return lesson_refuse(r, "\"%.2s\" must be followed by the text of the choice", at);
        s->choice = xrealloc(s->choice, (size_t)s->choices + 1, sizeof *s->choice);
        s->choice[s->choices++] = (struct lesson_choice){ at[0], xstrdup(text) };
    } else {
        join_text(&s->choice[s->choices - 1].text, at);
    }
    return 0;
}

/* Joins text to the last paragraph, or appends a paragraph. */
static void add_paragraph(struct lesson_paragraph **list, int *n, const char *text, bool verbatim, bool gap) {
    struct lesson_paragraph *last = *n ? *list + *n - 1 : NULL;
    if (last && !verbatim && !last->verbatim && !gap) {
        join_text(&last->text, text);
        return;
    }
    *list = xrealloc(*list, (size_t)*n + 1, sizeof **list);
    (*list)[(*n)++] = (struct lesson_paragraph){ verbatim, xstrdup(text) };
}

/* Reads "> …", a note for the presenter; ">" alone separates paragraphs. */
static int take_note(struct lesson_reader *r, struct lesson_step *s, const char *at) {
    at += strspn(at, " ");
    if (*at) add_paragraph(&s->note, &s->notes, at, false, r->gap);
    return 0;
}

static int take_body(struct lesson_reader *r) {
    const char *at = r->text + strspn(r->text, " ");
    if (!r->l->steps)
        return lesson_refuse(r, "\"%.40s\": indented line before the first step", at);
    if (at - r->text < 2)
        return lesson_refuse(r, "\"%.40s\": indent the lines of a step by two spaces or more", at);
    struct lesson_step *s = last_step(r);
    int rc = check_placeholders(r, at);
    if (rc) return rc;
    if (*at == '>') return take_note(r, s, at + 1);
    bool choice = s->kind == LESSON_ASK && (s->choices || begins_choice(at));
    if (choice) return take_choice(r, s, at);
    bool verbatim = *at == '|';
    add_paragraph(&s->paragraph, &s->paragraphs, at + verbatim, verbatim, r->gap);
    return 0;
}

/* ---- the file ---- */

/* Checks that a complete step has the text and choices that it needs. */
static int check_step(struct lesson_reader *r, const struct lesson_step *s) {
    bool silent = s->kind == LESSON_LET || s->kind == LESSON_CHECK || s->kind == LESSON_RUN;
    int at = r->line;
    r->line = s->line;
    int rc = 0;
    if (s->kind == LESSON_ASK && s->choices < 2)
        rc = lesson_refuse(r, "\"%s\": a question needs at least two choices, \"a) …\"", s->name);
    else if (!silent && !s->paragraphs)
        rc = lesson_refuse(r, "\"%s\": missing text; write it in the next lines, indented by two spaces",
                           kinds[s->kind]);
    else if (s->notes && !s->paragraphs && s->kind != LESSON_ASK && s->kind != LESSON_RUN)
        rc = lesson_refuse(r, "\"%s\": a note (\"> …\") needs a step with text",
                           kinds[s->kind]);
    r->line = at;
    return rc;
}

static int take_line(struct lesson_reader *r) {
    size_t n = strlen(r->text);
    if (n > LINE_BYTES) return lesson_refuse(r, "line too long: %zu bytes; the maximum is %d", n, LINE_BYTES);
    for (const char *c = r->text; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 127)
            return lesson_refuse(r, "unexpected control character (code %d); indent lines with spaces", *c);
    while (n && r->text[n - 1] == ' ') r->text[--n] = '\0';
    if (!n) {
        r->gap = true;
        return 0;
    }
    if (*r->text == '#') return 0;
    int rc = 0;
    if (*r->text != ' ' && r->l->steps) rc = check_step(r, last_step(r));
    if (!rc) rc = *r->text == ' ' ? take_body(r) : take_keyword(r);
    r->gap = !rc && !strcmp(r->text + strspn(r->text, " "), ">");
    return rc;
}

static int lesson_check_whole(struct lesson_reader *r) {
    if (!r->l->title) return lesson_refuse(r, "a lesson must start with \"lesson TITLE\"");
    if (!r->l->steps) return lesson_refuse(r, "no steps; a lesson needs at least one");
    int rc = check_step(r, last_step(r));
    for (int i = 0; !rc && i < r->l->steps; i++) {
        const struct lesson_step *s = &r->l->step[i];
        bool answered = s->kind != LESSON_ASK;
        for (int k = i + 1; k < r->l->steps; k++)
            answered |= r->l->step[k].kind == LESSON_ANSWER && r->l->step[k].of == i;
        r->line = s->line;
        if (!answered)
            rc = lesson_refuse(r, "\"%s\": question without an answer; add \"answer %s = LETTER\" after it",
                               s->name, s->name);
    }
    return rc;
}

static char *name_of_path(const char *path) {
    char *name = file_base_name(path);
    if (text_ends(name, ".lesson")) name[strlen(name) - strlen(".lesson")] = '\0';
    return name;
}

int lesson_parse(struct lesson *out, const char *path, const char *bytes, size_t n, struct err *e) {
    struct lesson_reader r = { .l = out, .path = path, .e = e };
    *out = (struct lesson){ .name = name_of_path(path), .path = xstrdup(path) };
    sha256_hex(bytes, n, out->sha256);
    int rc = 0;
    char *copy = xstrndup(bytes, n), *rest = copy;
    if (strlen(copy) != n) rc = err_set(e, ERR_INPUT, "%s: contains a NUL byte", path);
    else if (!utf8_valid(copy, n)) rc = err_set(e, ERR_INPUT, "%s: not valid UTF-8", path);
    while (!rc && (r.text = strsep(&rest, "\n"))) {
        r.line++;
        rc = take_line(&r);
    }
    free(copy);
    if (!rc) rc = lesson_check_whole(&r);
    if (rc) lesson_release(out);
    return rc;
}

int lesson_read(struct lesson *out, const char *path, struct err *e) {
    struct buf bytes = BUF_INIT;
    int rc = file_read(path, FILE_BYTES, &bytes, e);
    if (!rc) rc = lesson_parse(out, path, buf_text(&bytes), bytes.size, e);
    buf_release(&bytes);
    return rc;
}

void lesson_release(struct lesson *l) {
    for (int i = 0; i < l->steps; i++) {
        struct lesson_step *s = &l->step[i];
        for (int k = 0; k < s->paragraphs; k++) free(s->paragraph[k].text);
        for (int k = 0; k < s->notes; k++) free(s->note[k].text);
        for (int k = 0; k < s->choices; k++) free(s->choice[k].text);
        free(s->paragraph);
        free(s->note);
        free(s->choice);
        free(s->name);
        free(s->head);
        expression_free(s->value);
        expression_free(s->low);
        expression_free(s->high);
    }
    free(l->step);
    free(l->name);
    free(l->path);
    free(l->title);
    free(l->about);
    free(l->model);
    free(l->task);
    *l = (struct lesson){ 0 };
}
