/* The page of a run: the confusion matrix, the scores of each class, and the worst errors (detail.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/text.h"
#include "views/detail.h"
#include "views/sheet.h"
#include "views/table.h"
#include "views/ui.h"
#include "views/ui_parts.h"

enum { NAME_MOST = 24, CONFUSIONS = 10 };

static size_t count_at(const struct detail_scores *s, int label, int predicted) {
    return s->confusion[(size_t)label * (size_t)s->classes + (size_t)predicted];
}

/* Width of a column of the confusion matrix, and of the names and numbers of classes before it. */
static int cell_width(const struct detail_scores *s) {
    size_t most = (size_t)s->classes;
    for (int i = 0; i < s->classes * s->classes; i++) most = s->confusion[i] > most ? s->confusion[i] : most;
    return snprintf(NULL, 0, "%zu", most) + 1;
}

static int name_width(const struct detail_scores *s) {
    int w = (int)strlen("label");
    for (int i = 0; i < s->classes; i++) {
        int of = text_width(s->class[i].name) + 4;
        w = of > w ? of : w;
    }
    return w > NAME_MOST ? NAME_MOST : w;
}

/* The matrix from column x of the page, as many rows as classes and one for its heads. */
static void matrix(struct sheet *p, const struct detail_scores *s, int x, int y) {
    int w = cell_width(s), left = p->r.x + x;
    for (int k = 0; k < s->classes; k++) {
        canvas_right(p->c, left + k * w, y, w, INK_DIM, phrase("%d", k + 1).text);
        for (int i = 0; i < s->classes; i++) {
            size_t n = count_at(s, i, k);
            enum ink ink = i == k ? INK_TITLE : n ? INK_TEXT : INK_DIM;
            canvas_right(p->c, left + k * w, y + 1 + i, w, ink, n ? phrase("%zu", n).text : "\u00B7");
        }
    }
    canvas_text(p->c, left + s->classes * w + 1, y, INK_DIM, "predicted");
}

static void names(struct sheet *p, const struct detail_scores *s, int width, int y) {
    for (int i = 0; i < s->classes; i++)
        canvas_fit(p->c, p->r.x + PANE_EDGE, y + i, width, INK_TEXT,
                   phrase("%2d %.100s", i + 1, s->class[i].name).text);
}

/* The scores of each class; the matrix next to them, or below, or where neither has room the most frequent
 * confusions. */
static void classes(struct sheet *p, const struct detail_scores *s) {
    enum { COUNT = 9, SCORE = 10 };
    int name = name_width(s), table = name + 2 * (COUNT + 1) + 3 * SCORE;
    int wide = s->classes * cell_width(s), rest = p->r.w - PANE_EDGE - wide;
    bool beside = rest > table + 16, below = !beside && rest > name;
    const struct table_column column[] = {
        { "label", name, 1, false },  { "examples", COUNT, 1, true }, { "predicted", COUNT, 0, true },
        { "precision", SCORE, 0, true }, { "recall", SCORE - 1, 0, true }, { "F1", SCORE - 1, 0, true },
    };
    int first = sheet_y(p);
    if (p->c) {
        table_heads((struct table){ p->c, column, p->r.x + PANE_EDGE, first }, COUNT_OF(column));
        names(p, s, name, first + 1);
        if (beside) matrix(p, s, PANE_EDGE + table + 4, first);
    }
    for (int i = 0; i < s->classes && p->c; i++) {
        const struct detail_class *k = &s->class[i];
        struct table t = { p->c, column, p->r.x + PANE_EDGE, first + 1 + i };
        table_cell(&t, INK_TEXT, "%s", "");
        table_cell(&t, INK_DIM, "%s", show_count(k->examples).text);
        table_cell(&t, INK_DIM, "%s", show_count(k->predicted).text);
        table_cell(&t, INK_TEXT, "%s", show_value(k->precision).text);
        table_cell(&t, INK_TEXT, "%s", show_value(k->recall).text);
        table_cell(&t, INK_TITLE, "%s", show_value(k->f1).text);
    }
    p->rows += s->classes + 1;
    if (below) {
        sheet_rule(p, "confusion matrix", NULL);
        if (p->c) matrix(p, s, PANE_EDGE + name, sheet_y(p));
        if (p->c) names(p, s, name, sheet_y(p) + 1);
        p->rows += s->classes + 1;
    }
    if (beside || below) return;
    /* as pairs, the most frequent first */
    struct buf b = BUF_INIT;
    size_t above = SIZE_MAX;
    for (int shown = 0; shown < CONFUSIONS;) {
        size_t most = 0;
        for (int i = 0; i < s->classes * s->classes; i++)
            if (i / s->classes != i % s->classes && s->confusion[i] < above && s->confusion[i] > most)
                most = s->confusion[i];
        if (!most) break;
        for (int i = 0; i < s->classes * s->classes && shown < CONFUSIONS; i++)
            if (i / s->classes != i % s->classes && s->confusion[i] == most)
                buf_printf(&b, "%s%s \u2192 %s %zu", shown++ ? ", " : "most frequent: ",
                           s->class[i / s->classes].name, s->class[i % s->classes].name, most);
        above = most;
    }
    if (b.size) sheet_text(p, PANE_EDGE, INK_TEXT, buf_text(&b));
    buf_release(&b);
}

static void errors(struct sheet *p, const struct detail_scores *s) {
    bool scores = !s->classes;
    sheet_rule(p, "worst errors",
               scores ? "largest difference first"
                      : phrase("%d of %lld, least probable label first", s->errors, (long long)s->wrong)
                            .text);
    for (int i = 0; i < s->errors; i++) {
        const struct detail_error *x = &s->error[i];
        struct phrase share[2] = { { "" }, { "" } };
        if (!scores) {
            share[0] = phrase(" (%.3f)", x->label_share);
            share[1] = phrase(" (%.3f)", x->predicted_share);
        }
        sheet_text(p, PANE_EDGE, INK_WARN,
                   phrase("line %lld: label %.80s%s, predicted %.80s%s", (long long)x->line, x->label,
                          share[0].text, x->predicted, share[1].text)
                       .text);
        sheet_text(p, PANE_EDGE + 2, INK_TEXT, x->text);
    }
}

void detail_put_scores(struct sheet *p, const struct detail_view *v) {
    const struct detail_scores *s = v->scores;
    if (!s || s->run != v->run.id) {
        sheet_rule(p, "predictions", NULL);
        sheet_text(p, PANE_EDGE, INK_DIM,
                   v->scoring
                       ? "Evaluating the best checkpoint on the validation set\u2026"
                       : "press D to evaluate the best checkpoint: confusion matrix, per-class scores, worst "
                         "errors");
        return;
    }
    sheet_rule(p, "predictions",
               phrase("%s%s%s, checkpoint of step %lld", v->run.task_results ? s->task : "",
                      v->run.task_results ? " " : "", s->split, (long long)s->step)
                   .text);
    struct phrase line = phrase("%s %s on %s labeled examples", s->metric, show_value(s->score).text,
                               show_count(s->labeled).text);
    if (s->classes) phrase_add(&line, ", %s misclassified", show_count(s->wrong).text);
    if (v->scoring) phrase_add(&line, "; evaluating again\u2026");
    else if (v->run.task_results) phrase_add(&line, "; D evaluates the next task");
    sheet_text(p, PANE_EDGE, INK_TEXT, line.text);
    if (s->classes) classes(p, s);
    if (s->errors) errors(p, s);
}
