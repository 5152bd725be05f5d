/* The matrices of Heatmap: similarities of layers, classes, trained tensors and rows. */
#include <stdlib.h>
#include <string.h>

#include "app/insight_private.h"
#include "core/analysis/similarity.h"
#include "core/base/mem.h"
#include "core/data/sample.h"

enum { MATRICES = 5, SHOWN_ROWS = 64 };

/* What a heat picture owns. */
struct album {
    struct heat_matrix matrix[MATRICES];
    char *title[MATRICES], *what[MATRICES];
    double *value[MATRICES];
    char **row[MATRICES], **column[MATRICES];
    int *order[MATRICES];
    int count;
};

void insight_heat_free(struct insight_heat *h) {
    if (!h) return;
    struct album *a = h->memory;
    free((char *)h->data.busy);
    free((char *)h->data.failed);
    for (int i = 0; a && i < a->count; i++) {
        for (int k = 0; k < a->matrix[i].rows; k++) free(a->row[i][k]);
        for (int k = 0; k < a->matrix[i].columns; k++) free(a->column[i][k]);
        free(a->row[i]);
        free(a->column[i]);
        free(a->title[i]);
        free(a->what[i]);
        free(a->value[i]);
        free(a->order[i]);
    }
    free(a);
    free(h);
}

/* Takes over title, what and value; the names are still to be filled in. */
static struct heat_matrix *add(struct album *a, char *title, char *what, int rows, int columns, double *value) {
    int i = a->count++;
    BUG_IF(i == MATRICES);
    a->title[i] = title;
    a->what[i] = what;
    a->value[i] = value;
    a->row[i] = xcalloc((size_t)rows, sizeof *a->row[i]);
    a->column[i] = xcalloc((size_t)columns, sizeof *a->column[i]);
    a->matrix[i] = (struct heat_matrix){ .title = title, .what = what, .rows = rows, .columns = columns,
                                         .value = value, .row_name = (const char *const *)a->row[i],
                                         .column_name = (const char *const *)a->column[i] };
    return &a->matrix[i];
}

static void cluster(struct album *a) {
    int i = a->count - 1;
    struct heat_matrix *m = &a->matrix[i];
    int n = m->rows;
    double *both = xcalloc((size_t)n * (size_t)n, sizeof *both); /* the order needs no direction */
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) both[r * n + c] = (m->value[r * n + c] + m->value[c * n + r]) / 2;
    a->order[i] = xcalloc((size_t)n, sizeof *a->order[i]);
    similarity_order(both, n, a->order[i]);
    free(both);
    m->row_cluster = m->column_cluster = a->order[i];
}

/* Mean vectors of the classes of all panels, each panel's below the other's. */
static void add_centroids(struct album *a, const struct inside *s) {
    int n = s->panels * s->classes, d = s->panel[0].width;
    if (s->classes < 1 || s->gold[0] < 0) return;
    real *mean = xcalloc((size_t)n * (size_t)d, sizeof *mean);
    double *sum = xcalloc((size_t)d, sizeof *sum);
    for (int p = 0; p < s->panels; p++) {
        const real *x = s->panel[p].vector[s->panel[p].layer];
        for (int k = 0; k < s->classes; k++) {
            int count = 0;
            memset(sum, 0, (size_t)d * sizeof *sum);
            for (int i = 0; i < s->n; i++) {
                if (s->gold[i] != k) continue;
                count++;
                for (int j = 0; j < d; j++) sum[j] += (double)x[(size_t)i * (size_t)d + (size_t)j];
            }
            for (int j = 0; count && j < d; j++)
                mean[(size_t)(p * s->classes + k) * (size_t)d + (size_t)j] = (real)(sum[j] / count);
        }
    }
    double *value = xcalloc((size_t)n * (size_t)n, sizeof *value);
    similarity_cosine(mean, n, mean, n, d, value);
    struct heat_matrix *m = add(a, xprintf("class centroids, cosine"),
                                xprintf("cosine of the classes' mean vectors over %s, layer %d, mean of tokens",
                                        s->rows, s->panel[0].layer),
                                n, n, value);
    m->undefined = "a class without rows";
    for (int p = 0; p < s->panels; p++)
        for (int k = 0; k < s->classes; k++) {
            char *run = s->panel[p].title;
            int i = p * s->classes + k;
            a->row[a->count - 1][i] = xprintf("%.*s %s", (int)strcspn(run, " "), run, s->task.class_name[k]);
            a->column[a->count - 1][i] = xstrdup(a->row[a->count - 1][i]);
        }
    cluster(a);
    free(mean);
    free(sum);
}

/* Layers of the first panel by layers of the last. */
static void add_layers(struct album *a, const struct inside *s) {
    const struct inside_panel *x = &s->panel[0], *y = &s->panel[s->panels - 1];
    int rows = x->layers, columns = y->layers;
    double *value = xcalloc((size_t)rows * (size_t)columns, sizeof *value);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++)
            value[i * columns + j] = similarity_cka(x->vector[i], x->width,
                                                    y->vector[j], y->width, s->n);
    struct heat_matrix *m =
        add(a, xprintf("layers: %s by %s, linear CKA", x->title, y->title),
            xprintf("linear CKA over %s, mean of tokens; 1: the same up to rotation and scale", s->rows), rows,
            columns, value);
    m->undefined = "all rows have the same vector there";
    for (int i = 0; i < rows; i++)
        a->row[a->count - 1][i] = i ? xprintf("layer %d", i) : xstrdup("embed");
    for (int j = 0; j < columns; j++)
        a->column[a->count - 1][j] = j ? xprintf("layer %d", j) : xstrdup("embed");
}

/* Rows by rows of one panel: class after class, as many of each. */
static void add_rows(struct album *a, const struct inside *s, int panel) {
    const struct inside_panel *p = &s->panel[panel];
    int n = s->n < SHOWN_ROWS ? s->n : SHOWN_ROWS, d = p->width, at = 0;
    real *x = xmalloc((size_t)n * (size_t)d * sizeof *x);
    double *value = xcalloc((size_t)n * (size_t)n, sizeof *value);
    const real *all = p->vector[p->layer];
    int *pick = xcalloc((size_t)s->n, sizeof *pick), *which = xcalloc((size_t)n, sizeof *which);
    n = sample_evenly(s->gold, s->n, s->classes, n, INSIGHT_SEED, pick);
    for (int k = -1; k < s->classes; k++)
        for (int i = 0; i < n; i++)
            if (s->gold[pick[i]] == k) which[at++] = pick[i];
    free(pick);
    for (int i = 0; i < n; i++)
        memcpy(x + (size_t)i * (size_t)d, all + (size_t)which[i] * (size_t)d, (size_t)d * sizeof *x);
    similarity_cosine(x, n, x, n, d, value);
    struct heat_matrix *m = add(a, xprintf("rows of %s, cosine", p->title),
                                xprintf("cosine of %d rows, layer %d, mean of tokens", n, p->layer), n, n, value);
    m->undefined = "a zero vector";
    for (int i = 0; i < n; i++) {
        const struct dataset_row *r = &s->rows_of->row[which[i]];
        const char *class = s->gold[which[i]] < 0 ? "" : s->task.class_name[s->gold[which[i]]];
        a->row[a->count - 1][i] = xprintf("line %zu%s%s", r->line, *class ? " \u00B7 " : "", class);
        a->column[a->count - 1][i] = xstrdup(a->row[a->count - 1][i]);
    }
    cluster(a);
    free(which);
    free(x);
}

/* Trained tensors of two runs, or of one with itself. */
static void add_tensors(struct album *a, const struct inside *s) {
    const struct likeness *l = &s->tensors;
    size_t cells = (size_t)l->rows * (size_t)l->columns;
    if (!cells) return;
    double *value = xcalloc(cells, sizeof *value);
    memcpy(value, l->value, cells * sizeof *value);
    struct heat_matrix *m =
        add(a, xstrdup(s->tensors_title),
            xstrdup("low-rank products by principal angles, other tensors by the cosine of their change"), l->rows,
            l->columns, value);
    m->undefined = "a change of zero, or other shapes";
    bool same = l->rows == l->columns;
    for (int i = 0; i < l->rows; i++) a->row[a->count - 1][i] = xstrdup(l->row_name[i]);
    for (int i = 0; i < l->columns; i++) a->column[a->count - 1][i] = xstrdup(l->column_name[i]);
    for (int i = 0; same && i < l->rows; i++) same = !strcmp(l->row_name[i], l->column_name[i]);
    if (same) cluster(a);
}

struct insight_heat *inside_matrices(const struct inside *s) {
    struct insight_heat *h = xcalloc(1, sizeof *h);
    struct album *a = xcalloc(1, sizeof *a);
    add_layers(a, s);
    add_centroids(a, s);
    add_tensors(a, s);
    for (int p = 0; p < s->panels; p++) add_rows(a, s, p);
    h->memory = a;
    h->data.matrix = a->matrix;
    h->data.matrices = a->count;
    return h;
}
