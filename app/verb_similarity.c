/* petri similarity: classes, rows, layers or trained tensors of two runs (or a run and its
 * model, or one with itself), as a matrix that is kept. */
#include "app/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/output.h"
#include "app/likeness.h"
#include "app/probe.h"
#include "core/analysis/similarity.h"
#include "core/base/json.h"
#include "core/base/mem.h"

enum of { OF_CLASSES, OF_ROWS, OF_LAYERS, OF_TENSORS, OF_COUNT };
static const char *const OF[] = { "classes", "rows", "layers", "tensors" };

enum { FEW_ROWS = 40, MOST_NAMES = 2000 };

struct matrix {
    enum of of;
    const char *measure;
    int rows, columns;
    char **row_name, **column_name;
    double *value; /* NaN: undefined */
    bool clustered;
};

static void matrix_new(struct matrix *m, int rows, int columns) {
    m->rows = rows;
    m->columns = columns;
    m->row_name = xcalloc((size_t)rows + 1, sizeof *m->row_name);
    m->column_name = xcalloc((size_t)columns + 1, sizeof *m->column_name);
    m->value = xcalloc((size_t)rows * (size_t)columns + 1, sizeof *m->value);
}

static void matrix_release(struct matrix *m) {
    for (int i = 0; i < m->rows; i++) free(m->row_name[i]);
    for (int i = 0; i < m->columns; i++) free(m->column_name[i]);
    free(m->row_name);
    free(m->column_name);
    free(m->value);
}

/* ---- representations ---- */

/* classes×width means of the rows of a layer; a class without rows stays 0. */
static real *centroids(const struct probe *p, int layer) {
    size_t w = (size_t)p->width, k = (size_t)p->d->classes;
    double *sum = xcalloc(k * w + 1, sizeof *sum);
    real *out = xcalloc(k * w + 1, sizeof *out);
    for (size_t i = 0; i < p->d->rows; i++) {
        int32_t c = p->d->row[i].label;
        for (size_t j = 0; c >= 0 && j < w; j++) sum[(size_t)c * w + j] += (double)p->layer[layer][i * w + j];
    }
    for (size_t i = 0; i < k * w; i++) out[i] = (real)(sum[i] / (double)p->d->rows); /* cosine sees no scale */
    free(sum);
    return out;
}

static int of_classes(struct matrix *m, const struct probe *a, const struct probe *b, int layer, struct err *e) {
    int k = a->d->classes;
    if (k < 1) return err_set(e, ERR_USAGE, "%s has scores, no classes; --of rows compares its rows", a->t.name);
    matrix_new(m, k, k);
    real *x = centroids(a, layer), *y = centroids(b, layer);
    similarity_cosine(x, k, y, k, a->width, m->value);
    for (int c = 0; c < k; c++) {
        m->row_name[c] = xstrdup(a->d->class_name[c]);
        m->column_name[c] = xstrdup(a->d->class_name[c]);
    }
    free(x);
    free(y);
    return 0;
}

static int of_rows(struct matrix *m, const struct probe *a, const struct probe *b, int layer, struct err *e) {
    if (a->d->rows > MOST_NAMES)
        return err_set(e, ERR_USAGE, "--rows must be at most %d for --of rows", MOST_NAMES);
    int n = (int)a->d->rows;
    matrix_new(m, n, n);
    similarity_cosine(a->layer[layer], n, b->layer[layer], n, a->width, m->value);
    for (int i = 0; i < n; i++) {
        m->row_name[i] = xprintf("%llu", (unsigned long long)a->d->row[i].id + 1);
        m->column_name[i] = xstrdup(m->row_name[i]);
    }
    return 0;
}

static int of_layers(struct matrix *m, const struct probe *a, const struct probe *b) {
    matrix_new(m, a->layers + 1, b->layers + 1);
    for (int i = 0; i <= a->layers; i++) {
        for (int j = 0; j <= b->layers; j++)
            m->value[i * m->columns + j] = similarity_cka(a->layer[i], a->width, b->layer[j], b->width, (int)a->d->rows);
        m->row_name[i] = xprintf("%d", i);
    }
    for (int j = 0; j <= b->layers; j++) m->column_name[j] = xprintf("%d", j);
    return 0;
}

/* ---- trained tensors ---- */

static int of_tensors(struct matrix *m, const struct user *a, const struct user *b, struct err *e) {
    if (!a->run || !b->run) return err_set(e, ERR_USAGE, "--of tensors compares runs: give one or two");
    struct likeness l;
    likeness_of(&l, a, b);
    m->rows = l.rows;
    m->columns = l.columns;
    m->row_name = l.row_name;
    m->column_name = l.column_name;
    m->value = l.value;
    return 0;
}

/* ---- order and output ---- */

static int cluster(struct matrix *m, struct err *e) {
    size_t n = (size_t)m->rows;
    bool same = m->rows == m->columns;
    for (size_t i = 0; same && i < n; i++) same = !strcmp(m->row_name[i], m->column_name[i]);
    if (!same) return err_set(e, ERR_USAGE, "--order cluster needs the same names on both sides");
    double *both = xmalloc((n * n + 1) * sizeof *both), *value = xmalloc((n * n + 1) * sizeof *value);
    int *order = xmalloc((n + 1) * sizeof *order);
    char **name = xmalloc((n + 1) * sizeof *name);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) both[i * n + j] = (m->value[i * n + j] + m->value[j * n + i]) / 2;
    similarity_order(both, m->rows, order);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) value[i * n + j] = m->value[(size_t)order[i] * n + (size_t)order[j]];
    memcpy(m->value, value, n * n * sizeof *value);
    memcpy(name, m->row_name, n * sizeof *name);
    for (size_t i = 0; i < n; i++) m->row_name[i] = name[order[i]];
    memcpy(name, m->column_name, n * sizeof *name);
    for (size_t i = 0; i < n; i++) m->column_name[i] = name[order[i]];
    m->clustered = true;
    free(both);
    free(value);
    free(order);
    free(name);
    return 0;
}

static void add_names(struct buf *b, char *const *name, int n) {
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        if (i) buf_putc(b, ',');
        json_add_string(b, name[i]);
    }
    buf_putc(b, ']');
}

/* Members that say what the matrix is; also kept with it. */
static void add_about(struct buf *b, const struct matrix *m, const struct probe *p, int sides, const struct args *a,
                      int64_t layer, int64_t seed) {
    json_member_string(b, "of", OF[m->of]);
    json_member_string(b, "measure", m->measure);
    json_member_string(b, "order", m->clustered ? "cluster" : "name");
    for (int i = 0; i < 2; i++) {
        const struct user *u = &p[sides == 2 ? i : 0].u;
        json_add_key(b, i ? "column_run" : "row_run");
        if (u->run) buf_printf(b, "%lld", (long long)u->run);
        else buf_puts(b, "null");
    }
    json_member_string(b, "model", p[0].u.model->name);
    if (m->of == OF_TENSORS) return;
    json_member_string(b, "task", p[0].t.name);
    json_member_string(b, "split", p[0].split);
    json_member_int(b, "drawn", (long long)p[0].d->rows);
    if (m->of != OF_LAYERS) json_member_int(b, "layer", layer);
    json_member_string(b, "pool", args_get(a, "pool") ? args_get(a, "pool") : "mean");
    json_member_int(b, "seed", seed);
}

static int keep(const struct args *a, const struct matrix *m, int64_t run, const char *about, int64_t *id,
                struct err *e) {
    struct buf rows = BUF_INIT, columns = BUF_INIT;
    size_t all = (size_t)m->rows * (size_t)m->columns;
    float *data = xmalloc((all + 1) * sizeof *data);
    for (size_t i = 0; i < all; i++) data[i] = (float)m->value[i];
    add_names(&rows, m->row_name, m->rows);
    add_names(&columns, m->column_name, m->columns);
    struct store_matrix k = { .run = run, .name = (char *)OF[m->of], .about = (char *)about, .rows = m->rows,
                              .columns = m->columns, .row_names = (char *)buf_text(&rows),
                              .column_names = (char *)buf_text(&columns), .data = data };
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) {
        struct err closing = ERR_INIT;
        rc = store_matrix_add(s, &k, id, e);
        int closed = store_close(s, &closing);
        if (!rc && closed) {
            *e = closing;
            rc = closed;
        }
    }
    free(data);
    buf_release(&rows);
    buf_release(&columns);
    return rc;
}

static void print_json(const struct matrix *m, const char *about, int64_t id) {
    struct buf b = BUF_INIT;
    double least = INFINITY, most = -INFINITY;
    int undefined = 0;
    buf_puts(&b, about);
    b.data[--b.size] = '\0'; /* its closing brace: more members follow */
    json_member_int(&b, "matrix", id);
    json_add_key(&b, "rows");
    add_names(&b, m->row_name, m->rows);
    json_add_key(&b, "columns");
    add_names(&b, m->column_name, m->columns);
    json_add_key(&b, "values");
    buf_putc(&b, '[');
    for (int i = 0; i < m->rows; i++) {
        buf_puts(&b, i ? ",[" : "[");
        for (int j = 0; j < m->columns; j++) {
            double v = m->value[i * m->columns + j];
            if (j) buf_putc(&b, ',');
            if (isnan(v)) buf_puts(&b, "null");
            else json_add_double(&b, v);
            undefined += isnan(v);
            if (v < least) least = v;
            if (v > most) most = v;
        }
        buf_putc(&b, ']');
    }
    buf_putc(&b, ']');
    json_member_int(&b, "undefined", undefined);
    if (least <= most) {
        json_member_double(&b, "min", least);
        json_member_double(&b, "max", most);
    } else {
        json_member_string(&b, "min", NULL);
        json_member_string(&b, "max", NULL);
    }
    buf_putc(&b, '}');
    out_line(&b);
    buf_release(&b);
}

static void print_text(const struct matrix *m, int64_t id) {
    printf("%s, %s, matrix %lld\n", OF[m->of], m->measure, (long long)id);
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
        putchar('\n');
    }
}

/* ---- the verb ---- */

static int choose(const struct args *a, struct matrix *m, bool *clustered, struct err *e) {
    const char *of = args_get(a, "of"), *measure = args_get(a, "measure"), *order = args_get(a, "order");
    while (m->of < OF_COUNT && of && strcmp(of, OF[m->of])) m->of++;
    if (m->of == OF_COUNT) return err_set(e, ERR_USAGE, "--of is classes, rows, layers or tensors, not \"%s\"", of);
    m->measure = m->of == OF_LAYERS ? "cka" : m->of == OF_TENSORS ? "principal angles, cosine" : "cosine";
    if (measure && strcmp(measure, m->of == OF_LAYERS ? "cka" : "cosine") != 0)
        return err_set(e, ERR_USAGE, "%s are compared by %s, not by \"%s\"", OF[m->of],
                       m->of == OF_LAYERS ? "cka" : "cosine", measure);
    *clustered = order && !strcmp(order, "cluster");
    if (order && !*clustered && strcmp(order, "name") != 0)
        return err_set(e, ERR_USAGE, "--order is name or cluster, not \"%s\"", order);
    return 0;
}

/* Opens what is compared: p[0] and, with two, p[1]. */
static int open_sides(const struct args *a, struct probe *p, int *sides, struct err *e) {
    bool model = args_get(a, "model") || !a->count;
    if (a->count == 2 && args_get(a, "model")) return err_set(e, ERR_USAGE, "give two runs, or one and --model");
    *sides = a->count + model > 1 ? 2 : 1;
    for (int i = 0; i < *sides; i++) {
        /* the model comes first: before and after */
        int run = model ? i - 1 : i;
        int rc = probe_open(&p[i], a, run >= 0 ? a->positional[run] : NULL, verb_model(a), e);
        if (rc) return rc;
    }
    return 0;
}

static int embed_sides(const struct args *a, struct probe *p, int sides, const struct matrix *m, int64_t *layer,
                       int64_t seed, int workers, struct err *e) {
    bool mean;
    int rc = probe_pool(a, &mean, e);
    *layer = p[0].layers;
    if (!rc) rc = args_int(a, "layer", 0, p[0].layers, layer, e);
    for (int i = 0; i < sides && !rc; i++) {
        rc = probe_rows(&p[i], a, m->of == OF_ROWS ? FEW_ROWS : PROBE_ROWS, (uint64_t)seed, e);
        if (!rc && i && m->of != OF_LAYERS && (p[1].width != p[0].width || *layer > p[1].layers))
            rc = err_set(e, ERR_USAGE, "the two models differ in width or depth: only --of layers compares them");
        if (!rc && i && (p[1].d->rows != p[0].d->rows || strcmp(p[1].d->sha256, p[0].d->sha256) != 0))
            rc = err_set(e, ERR_USAGE, "the two runs have different dev rows: give --task");
        if (!rc) rc = probe_embed(&p[i], m->of == OF_LAYERS ? -1 : (int)*layer, mean, workers, e);
    }
    return rc;
}

int verb_similarity(const struct args *a, struct err *e) {
    struct matrix m = { 0 };
    struct probe p[2] = { 0 };
    struct buf about = BUF_INIT;
    int64_t seed = 1, layer = 0, id = 0;
    int workers, sides = 0;
    bool clustered;
    int rc = choose(a, &m, &clustered, e);
    if (!rc) rc = verb_workers(a, &workers, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &seed, e);
    if (!rc) rc = open_sides(a, p, &sides, e);
    const struct probe *b = &p[sides == 2];
    if (!rc && m.of == OF_TENSORS) rc = of_tensors(&m, &p[0].u, &b->u, e);
    else if (!rc) rc = embed_sides(a, p, sides, &m, &layer, seed, workers, e);
    if (!rc && m.of == OF_CLASSES) rc = of_classes(&m, &p[0], b, (int)layer, e);
    if (!rc && m.of == OF_ROWS) rc = of_rows(&m, &p[0], b, (int)layer, e);
    if (!rc && m.of == OF_LAYERS) rc = of_layers(&m, &p[0], b);
    if (!rc && clustered) rc = cluster(&m, e);
    if (!rc) {
        buf_putc(&about, '{');
        add_about(&about, &m, p, sides, a, layer, seed);
        buf_putc(&about, '}');
        rc = keep(a, &m, b->u.run, buf_text(&about), &id, e);
    }
    if (!rc && args_flag(a, "json")) print_json(&m, buf_text(&about), id);
    else if (!rc) print_text(&m, id);
    matrix_release(&m);
    buf_release(&about);
    probe_release(&p[0]);
    probe_release(&p[1]);
    return rc;
}
