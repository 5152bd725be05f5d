#include "app/verbs/program/learn_handout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/files/outfile.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/learn_parts.h"
#include "views/render.h"

enum { WORDS = 64 };

/* ---- pictures, drawn by verbs ---- */

struct handout_line {
    int count;
    char *word[WORDS];
};

static void handout_word(struct handout_line *w, const char *word) {
    BUG_IF(w->count == WORDS);
    w->word[w->count++] = xstrdup(word);
}

static void handout_words(struct handout_line *w, const char *const *word) {
    for (; *word; word++) handout_word(w, *word);
}

static int draw(const char *verb, struct handout_line *w, struct err *e) {
    struct args own;
    char **room = xcalloc((size_t)w->count + 1, sizeof *room);
    const struct verb *v = verb_find(verb);
    BUG_IF(!v);
    int rc = args_parse(&own, v, w->count, w->word, room, e);
    if (!rc) rc = v->run(&own, e);
    free(room);
    for (int i = 0; i < w->count; i++) free(w->word[i]);
    return rc;
}

/* Draws the curves of runs as a chart, or the screen of a step. */
static int handout_picture(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                           int step, const char *path, struct err *e) {
    const struct lesson_step *s = &l->step[step];
    struct handout_line w = { 0 };
    char *database = verb_database(a, e), run[32] = "";
    if (!database) return e->code;
    bool curves = s->shows && (!strcmp(s->head, "train") || !strcmp(s->head, "compare"));
    for (int i = 0; i < s->shows; i++) {
        const struct lesson_result *r = &p->of[s->show[i]];
        for (int k = 0; k < r->runs; k++) {
            snprintf(run, sizeof run, "%lld", (long long)r->run[k]);
            if (curves && w.count < 40) handout_word(&w, run);
        }
    }
    if (!curves) handout_words(&w, (const char *const[]){ "--screen", s->head, NULL });
    if (!curves && s->shows) handout_words(&w, (const char *const[]){ "--run", run, NULL });
    handout_words(&w, (const char *const[]){ "--svg", "--out", path, "--db", database, "--size",
                                             curves ? "90x20" : "100x30", NULL });
    if (a->overwrite) handout_word(&w, "--overwrite");
    free(database);
    return draw(curves ? "plot" : "render", &w, e);
}

/* Draws the maps of a step as a picture. */
static int handout_maps(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                        int step, const char *path, struct err *e) {
    enum { WIDTH = 100 };
    const struct lesson_step *s = &l->step[step];
    struct canvas c;
    struct buf svg = BUF_INIT;
    struct outfile_guard g;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    canvas_init(&c, WIDTH, learn_map_rows(s), GLYPHS_BRAILLE, COLORS_256);
    learn_draw_map(&c, (struct rect){ 0, 0, c.w, c.h }, s, p->of[step].map);
    render_canvas(&c, RENDER_SVG, &svg);
    outfile_guard_init(&g, database, a->overwrite);
    int rc = outfile_write(&g, path, buf_text(&svg), svg.size, e);
    outfile_guard_release(&g);
    buf_release(&svg);
    canvas_release(&c);
    free(database);
    return rc;
}

/* ---- the page ---- */

/* Appends text as Markdown with special characters escaped. */
static void handout_text(struct buf *b, const char *text) {
    for (const char *c = text; *c; c++) {
        if (strchr("*_`<>[]\\#|", *c)) buf_putc(b, '\\');
        buf_putc(b, *c);
    }
}

static void handout_body(struct buf *b, const struct lesson *l, const struct lesson_progress *p, int step) {
    const struct lesson_step *s = &l->step[step];
    bool verbatim = false;
    for (int i = 0; i < s->paragraphs; i++) {
        char *text = lesson_fill(l, p, step, s->paragraph[i].text, s->paragraph[i].verbatim);
        if (s->paragraph[i].verbatim != verbatim) buf_puts(b, verbatim ? "```\n\n" : "```\n");
        verbatim = s->paragraph[i].verbatim;
        if (verbatim) buf_puts(b, text);
        else handout_text(b, text);
        buf_puts(b, verbatim ? "\n" : "\n\n");
        free(text);
    }
    if (verbatim) buf_puts(b, "```\n\n");
}

static void handout_run(struct buf *b, const struct lesson *l, const struct lesson_progress *p, int step) {
    char *line = lesson_command(l, p, step);
    buf_printf(b, "```\n%s\n```\n\n", line);
    if (p->of[step].note) buf_printf(b, "*Note: %s.*\n\n", p->of[step].note);
    free(line);
}

static void handout_check(struct buf *b, const struct lesson *l, const struct lesson_progress *p, int step) {
    char text[160];
    if (l->step[step].kind != LESSON_CHECK) return;
    lesson_check_text(&p->of[step], text);
    buf_printf(b, "*%s*\n\n", text);
}

static void handout_image(struct buf *b, const struct lesson *l, int step) {
    buf_printf(b, "![%s](%s-%d.svg)\n\n", l->step[step].kind == LESSON_MAP ? "map" : l->step[step].head,
               l->name, step + 1);
}

/* Returns the answer that a check or map belongs to, or -1: like the screen, a handout shows the value with
 * the answer. */
static int handout_answered_by(const struct lesson *l, int step) {
    if (l->step[step].kind != LESSON_CHECK && l->step[step].kind != LESSON_MAP) return -1;
    for (int i = step + 1; i < l->steps; i++)
        if (l->step[i].kind == LESSON_ANSWER && l->step[i].of < step) return i;
    return -1;
}

static void handout_step(struct buf *b, const struct lesson *l, const struct lesson_progress *p, int step,
                         int *questions) {
    static const char *const titles[LESSON_KINDS] = { [LESSON_RUN] = "Run",
                                                      [LESSON_SHOW] = "Screen",
                                                      [LESSON_CHANGE] = "Exercise",
                                                      [LESSON_CODE] = "Source code",
                                                      [LESSON_MAP] = "Map" };
    const struct lesson_step *s = &l->step[step];
    bool silent = (s->kind == LESSON_LET || s->kind == LESSON_CHECK) && !s->paragraphs;
    if (silent || s->kind == LESSON_ANSWER || handout_answered_by(l, step) >= 0)
        return; /* answers are at the end */
    if (s->kind == LESSON_ASK) buf_printf(b, "**Question %d.** ", ++*questions);
    else if (s->kind == LESSON_TEXT || s->kind == LESSON_CHANGE)
        buf_printf(b, "## %s\n\n", s->head ? s->head : titles[s->kind] ? titles[s->kind] : "");
    else if (s->kind == LESSON_CODE) buf_printf(b, "## %s: %s\n\n", titles[s->kind], s->head);
    else if (titles[s->kind]) buf_printf(b, "### %s\n\n", titles[s->kind]);
    if (s->kind == LESSON_CHECK) handout_check(b, l, p, step);
    handout_body(b, l, p, step);
    if (s->kind == LESSON_RUN) handout_run(b, l, p, step);
    if (s->kind == LESSON_SHOW || s->kind == LESSON_MAP) handout_image(b, l, step);
    for (int i = 0; i < s->choices; i++) {
        char *text = lesson_fill(l, p, step, s->choice[i].text, false);
        buf_printf(b, "- **%c)** ", s->choice[i].letter);
        handout_text(b, text);
        buf_putc(b, '\n');
        free(text);
    }
    if (s->choices) buf_putc(b, '\n');
}

static void handout_answers(struct buf *b, const struct lesson *l, const struct lesson_progress *p) {
    int questions = 0;
    buf_puts(b, "## Answers\n\n");
    for (int i = 0; i < l->steps; i++) {
        if (l->step[i].kind != LESSON_ANSWER) continue;
        buf_printf(b, "**Question %d: %c.** ", ++questions, lesson_right(l, p, i));
        handout_body(b, l, p, i);
        for (int k = l->step[i].of; k < i; k++) {
            if (handout_answered_by(l, k) != i || !l->step[k].paragraphs) continue;
            handout_check(b, l, p, k);
            handout_body(b, l, p, k);
            if (l->step[k].kind == LESSON_MAP) handout_image(b, l, k);
        }
    }
    if (!questions) buf_puts(b, "This lesson has no questions.\n");
}

static int handout_page(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                        const char *path, struct err *e) {
    struct buf b = BUF_INIT;
    struct outfile_guard g;
    int questions = 0;
    char *database = verb_database(a, e);
    if (!database) return e->code;
    buf_printf(&b, "# %s\n\n", l->title);
    if (l->about) {
        handout_text(&b, l->about);
        buf_puts(&b, "\n\n");
    }
    for (int i = 0; i < l->steps; i++) handout_step(&b, l, p, i, &questions);
    handout_answers(&b, l, p);
    outfile_guard_init(&g, database, a->overwrite);
    int rc = outfile_write(&g, path, buf_text(&b), b.size, e);
    outfile_guard_release(&g);
    buf_release(&b);
    free(database);
    return rc;
}

int learn_handout(const struct args *a, const struct lesson *l, const struct lesson_progress *p,
                  const char *folder, struct err *e) {
    int rc = file_make_folder(folder, e);
    for (int i = 0; !rc && i < l->steps; i++) {
        bool map = l->step[i].kind == LESSON_MAP;
        if (l->step[i].kind != LESSON_SHOW && !map) continue;
        char *name = xprintf("%s-%d.svg", l->name, i + 1), *path = file_join(folder, name);
        rc = (map ? handout_maps : handout_picture)(a, l, p, i, path, e);
        free(path);
        free(name);
    }
    char *name = xprintf("%s.md", l->name), *path = file_join(folder, name);
    if (!rc) rc = handout_page(a, l, p, path, e);
    if (!rc) fprintf(stderr, "written: %s\n", path);
    free(path);
    free(name);
    return rc;
}
