/* petri similarity: classes, examples, layers or trained tensors of two runs (or a run and its model, or
 * one with itself), attention of an example, or tasks of a run, as a saved matrix; prints saved ones. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/matrix.h"
#include "app/verbs/open.h"
#include "app/verbs/probe_options.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

enum {
    FEW_ROWS = 40,
    MOST_NAMES = 2000,
    EACH_TASK = 64 /* minimum number of examples of each task where tasks are distinguished */
};

struct similarity_choice {
    enum matrix_of of;
    bool cluster;
    int64_t row, layer, head; /* of attention; row as in the file */
    bool first;               /* --head first */
    bool debiased; /* of layers: the unbiased estimator of CKA */
};

/* ---- output ---- */

static void verb_similarity_print_json(const struct matrix *m) {
    struct buf b = BUF_INIT;
    double least = INFINITY, most = -INFINITY;
    int undefined = 0;
    buf_puts(&b, m->about);
    b.data[--b.size] = '\0'; /* its closing brace: more members follow */
    json_put(&b, "order:%s,matrix:%jd", m->clustered ? "cluster" : "name", m->id);
    json_member_strings(&b, "rows", m->row_name, m->rows);
    json_member_strings(&b, "columns", m->column_name, m->columns);
    json_open(&b, "values", '[');
    for (int i = 0; i < m->rows; i++) {
        json_open(&b, NULL, '[');
        for (int j = 0; j < m->columns; j++) {
            double v = m->value[i * m->columns + j];
            json_member_measured(&b, NULL, v);
            undefined += isnan(v);
            if (v < least) least = v;
            if (v > most) most = v;
        }
        buf_putc(&b, ']');
    }
    json_put(&b, "],undefined:%d,width:%1d", undefined, m->width);
    if (m->of == OF_LAYERS) json_member_string(&b, "caution", m->caution);
    json_put(&b, "min:%g,max:%g}", least <= most ? least : NAN, least <= most ? most : NAN);
    out_line(&b);
}

/* One line per cell, with the saved settings in one field. */
static void verb_similarity_print_csv(const struct matrix *m) {
    struct buf b = BUF_INIT;
    puts("matrix,of,measure,row,column,value,about");
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->columns; j++) {
            double v = m->value[i * m->columns + j];
            buf_printf(&b, "%lld,%s,", (long long)m->id, matrix_of_names[m->of]);
            text_csv(&b, m->measure);
            buf_putc(&b, ',');
            text_csv(&b, m->row_name[i]);
            buf_putc(&b, ',');
            text_csv(&b, m->column_name[j]);
            buf_putc(&b, ',');
            if (!isnan(v)) json_add_double(&b, v);
            buf_putc(&b, ',');
            text_csv(&b, m->about);
            out_line(&b);
        }
    buf_release(&b);
}

static void verb_similarity_print_text(const struct matrix *m) {
    printf("%s, %s, matrix %lld\n", matrix_of_names[m->of], m->measure, (long long)m->id);
    for (int j = 0; j < m->columns; j++) {
        putchar('\t');
        out_text(m->column_name[j]);
    }
    putchar('\n');
    for (int i = 0; i < m->rows; i++) {
        out_text(m->row_name[i]);
        for (int j = 0; j < m->columns; j++) {
            double v = m->value[i * m->columns + j];
            if (isnan(v)) printf("\tundefined");
            else printf("\t%.4f", v);
        }
        if (m->row_note) {
            putchar('\t');
            out_text(m->row_note[i]);
        }
        putchar('\n');
    }
    if (m->beside) {
        out_text(m->beside);
        putchar('\n');
    }
    if (m->caution) puts(m->caution);
}

static void verb_similarity_print(const struct args *a, const struct matrix *m) {
    if (a->json) verb_similarity_print_json(m);
    else if (a->csv) verb_similarity_print_csv(m);
    else verb_similarity_print_text(m);
}

/* ---- the list ---- */

static const struct report_column MATRIX[] = {
    { "matrix", REPORT_LONG, .offset = offsetof(struct store_matrix, id) },
    { "run", REPORT_ID, .offset = offsetof(struct store_matrix, run) },
    { "of", REPORT_TEXT, offsetof(struct store_matrix, name), .forms = REPORT_TO_READ },
    { "rows", REPORT_INT, .offset = offsetof(struct store_matrix, rows) },
    { "columns", REPORT_INT, .offset = offsetof(struct store_matrix, columns) },
    { "about", REPORT_RAW, .offset = offsetof(struct store_matrix, about) },
    { 0 },
};

static int verb_similarity_list(const struct args *a, struct err *e) {
    struct store *s;
    struct store_matrices v;
    int64_t run = -1;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    if (a->count) rc = store_find(s, a->positional[0], &run, e);
    if (!rc) rc = store_matrices(s, run, &v, e);
    rc = verb_close(s, rc, e);
    if (rc) return rc;
    verb_rows(a, MATRIX, v.matrix, v.count, sizeof *v.matrix);
    store_matrices_release(&v);
    return 0;
}

static int verb_similarity_again(const struct args *a, struct err *e) {
    struct store *s;
    struct matrix m;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = verb_close(s, matrix_read(&m, s, a->similarity.matrix, e), e);
    if (rc) return rc;
    verb_similarity_print(a, &m);
    matrix_release(&m);
    return 0;
}

/* ---- a new one ---- */

static int choose_head(const struct args *a, struct similarity_choice *c, struct err *e) {
    c->head = a->similarity.head;
    c->row = a->similarity.row;
    c->first = c->head <= 0;
    if (c->of != OF_ATTENTION) return 0;
    if (!c->row)
        return err_set(e, ERR_USAGE,
            "--of attention: requires --row N, the row number of the example in its file");
    if (a->count > 1)
        return err_set(e, ERR_USAGE, "--of attention: requires one run or --model, found %d runs", a->count);
    return 0;
}

static int verb_similarity_choose(const struct args *a, struct similarity_choice *c, struct err *e) {
    enum { COSINE, CKA, DEBIASED };
    int measure = a->similarity.measure;
    *c = (struct similarity_choice){ .of = (enum matrix_of)a->similarity.of, .cluster = a->similarity.cluster,
                                     .debiased = measure == DEBIASED };
    if (measure >= 0 && (measure != COSINE) != (c->of == OF_LAYERS))
        return err_set(e, ERR_USAGE, "--measure: must be %s for --of %s",
                       c->of == OF_LAYERS ? "cka or debiased-cka" : "cosine", matrix_of_names[c->of]);
    return choose_head(a, c, e);
}

static bool is_of_one_run(enum matrix_of of) { return of >= OF_PROTOTYPES; }

/* Opens a run; its trained tensors are those of all tasks, or of that of --task. */
static int verb_similarity_open_run(struct probe *p, struct store *s, int64_t run, const struct args *a,
                                    enum matrix_of of,
                                    const struct backbone_hint *hint, struct buf *said, struct err *e) {
    const char *task = a->task;
    bool all = is_of_one_run(of) || a->layer == PROBE_RETRIEVER;
    if (of == OF_TENSORS && task) return probe_open_run(p, s, run, task, hint, said, e);
    return probe_options_open_run(p, a, s, run, all, hint, said, e);
}

/* Opens the sides of the comparison: p[0] and, with two, p[1]. */
static int verb_similarity_open_sides(const struct args *a, struct store *s, enum matrix_of of,
                                      struct probe *p, int *sides, struct err *e) {
    bool model = a->model || !a->count;
    if (is_of_one_run(of) && (a->count != 1 || model))
        return err_set(e, ERR_USAGE, "--of %s: requires exactly one run", matrix_of_names[of]);
    if (a->count == 2 && a->model) return err_set(e, ERR_USAGE, "--model: cannot be combined with two runs");
    *sides = a->count + model > 1 ? 2 : 1;
    const struct backbone_hint hint = { .spare = a->model };
    struct buf said = BUF_INIT;
    int rc = 0;
    for (int i = 0; !rc && i < *sides; i++) {
        /* the model comes first: before and after */
        int at = model ? i - 1 : i;
        int64_t run = 0;
        if (at >= 0) rc = store_find(s, a->positional[at], &run, e);
        if (!rc) rc = at >= 0 ? verb_similarity_open_run(&p[i], s, run, a, of, &hint, &said,
                                                         e) : probe_open_model(&p[i], verb_model(a), e);
        if (!rc) rc = verb_precision(&p[i].opened, a, e);
    }
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    return rc;
}

/* Returns whether vectors are needed, and their layer. */
static bool wants_vectors(const struct similarity_choice *c, const struct probe *p, int *layer) {
    bool one = c->of == OF_CLASSES || c->of == OF_ROWS;
    *layer = c->of == OF_PROTOTYPES ? PROBE_RETRIEVER : c->of == OF_LAYERS ? PROBE_ALL_LAYERS : (int)c->layer;
    if (one && *layer > p->layers) *layer = p->layers;
    return one || c->of == OF_LAYERS || (c->of == OF_PROTOTYPES && p->retrieved);
}

static int verb_similarity_draw_sides(struct probe_options *q, struct probe *p, int sides,
                                      struct similarity_choice *c, struct err *e) {
    if (sides == 2 && !p[0].opened.run)
        q->draw.own = &p[1].opened; /* a model is compared with a run on the examples of the run */
    for (int i = 0; i < sides; i++) {
        int layer, rc = probe_options_draw(q, &p[i], e);
        if (!rc && wants_vectors(c, &p[i], &layer)) rc = probe_embed(&p[i], layer, &q->look, e);
        if (rc) return rc;
    }
    return 0;
}

/* Draws enough examples of each task, without --rows. */
static void draw_enough(const struct args *a, struct probe_options *q, const struct probe *p) {
    int tasks = (q->sources            ? q->sources
                 : p->opened.predictor ? predictor_tasks(p->opened.predictor)
                                       : 1) +
                q->unseens;
    if (!a->rows && q->draw.most < (int64_t)EACH_TASK * tasks) q->draw.most = (int64_t)EACH_TASK * tasks;
}

static int compute(struct matrix *m, struct probe *p, int sides, const struct similarity_choice *c,
                   struct crew *crew, struct err *e) {
    const struct probe *side[2] = { &p[0], &p[1] };
    int row = 0;
    switch (c->of) {
    case OF_CLASSES: return matrix_classes(m, side, sides, (int)c->layer, e);
    case OF_ROWS: return matrix_rows(m, side, sides, (int)c->layer, NULL, 0, e);
    case OF_LAYERS: return matrix_layers(m, side, sides, c->debiased, e);
    case OF_TENSORS: return matrix_tensors(m, side, sides, e);
    case OF_PROTOTYPES: return matrix_prototypes(m, &p[0], e);
    case OF_TASKS: return matrix_tasks(m, &p[0], e);
    case OF_WEIGHTS: return matrix_weights(m, &p[0], crew, e);
    case OF_MASS: return matrix_mass(m, &p[0], crew, e);
    default: break;
    }
    while (row < p->rows.n && p->rows.row[row] != c->row) row++; /* the file's row among the drawn ones */
    int64_t last = 0;
    for (int i = 0; i < p->rows.n; i++) last = p->rows.row[i] > last ? p->rows.row[i] : last;
    if (row == p->rows.n)
        return err_set(e, ERR_NOT_FOUND, "--row: row %lld does not exist; the last row is %lld",
                       (long long)c->row, (long long)last);
    return matrix_attention(m, &p[0], row, (int)c->layer, c->first ? ATTENTION_FIRST : (int)c->head - 1, e);
}

static int verb_similarity_compare(const struct args *a, struct store *s, struct probe_options *q,
                                   struct similarity_choice *c, struct err *e) {
    struct probe p[2] = { 0 };
    struct matrix m = { 0 };
    int sides = 0;
    int rc = verb_similarity_open_sides(a, s, c->of, p, &sides, e);
    if (!rc && c->of == OF_ATTENTION && sides > 1)
        rc = err_set(e, ERR_USAGE, "--of attention: --model cannot be combined with a run");
    c->layer = p[0].layers;
    if (!rc) rc = probe_options_layer(a, c->of == OF_ATTENTION ? 1 : 0, p[0].layers, &c->layer, e);
    if (!rc && c->layer == PROBE_RETRIEVER && c->of != OF_CLASSES && c->of != OF_ROWS)
        rc = err_set(e, ERR_USAGE, "--layer retriever: requires --of classes or rows");
    q->look.store = s;
    q->draw.retrieved = c->of == OF_PROTOTYPES || c->layer == PROBE_RETRIEVER;
    draw_enough(a, q, &p[0]);
    if (!rc) rc = matrix_possible(&p[0], c->of, e);
    if (!rc && matrix_needs_rows(&p[0], c->of)) rc = verb_similarity_draw_sides(q, p, sides, c, e);
    if (!rc) rc = compute(&m, p, sides, c, q->look.crew, e);
    if (!rc) rc = matrix_store(&m, s, true, e);
    if (!rc && c->cluster) {
        if (matrix_cluster(&m)) matrix_reorder(&m);
        else rc = err_set(e, ERR_USAGE, "--order cluster: requires a matrix with the same rows and columns");
    }
    if (!rc) verb_similarity_print(a, &m);
    matrix_release(&m);
    probe_release(&p[0]);
    probe_release(&p[1]);
    return rc;
}

int verb_similarity(const struct args *a, struct err *e) {
    struct similarity_choice c;
    struct probe_options q = { 0 };
    struct store *s;
    if (a->list) return verb_similarity_list(a, e);
    if (a->similarity.matrix) return verb_similarity_again(a, e);
    int rc = verb_similarity_choose(a, &c, e);
    if (!rc) rc = probe_options_read(&q, a, e);
    if (!a->rows) q.draw.most = c.of == OF_ROWS ? FEW_ROWS : c.of == OF_ATTENTION ? 1 << 20 : PROBE_ROWS;
    if (!rc && c.of == OF_ROWS && q.draw.most > MOST_NAMES)
        rc = err_set(e, ERR_USAGE, "--rows: must be at most %d for --of rows", MOST_NAMES);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) rc = verb_close(s, verb_similarity_compare(a, s, &q, &c, e), e);
    probe_options_release(&q);
    return rc;
}
