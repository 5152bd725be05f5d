#include "app/insight/matrix.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/likeness.h"
#include "app/insight/matrix_private.h"
#include "core/analysis/attention.h"
#include "core/analysis/similarity.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"

const char *const matrix_of_names[OF_COUNT] = { "classes", "rows", "layers", "tensors", "attention",
                                                 "prototypes", "tasks", "weights", "mass" };

void matrix_new(struct matrix *m, enum matrix_of of, const char *measure, int rows, int columns) {
    *m = (struct matrix){ .of = of, .measure = measure, .rows = rows, .columns = columns };
    m->row_name = xcalloc((size_t)rows + 1, sizeof *m->row_name);
    m->column_name = xcalloc((size_t)columns + 1, sizeof *m->column_name);
    m->value = xcalloc((size_t)rows * (size_t)columns + 1, sizeof *m->value);
}

void matrix_release(struct matrix *m) {
    for (int i = 0; m->row_name && i < m->rows; i++) free(m->row_name[i]);
    for (int i = 0; m->column_name && i < m->columns; i++) free(m->column_name[i]);
    free(m->row_name);
    free(m->column_name);
    free(m->value);
    free(m->order);
    free(m->title);
    free(m->what);
    free(m->caution);
    free(m->beside);
    for (int i = 0; m->row_note && i < m->rows; i++) free(m->row_note[i]);
    free(m->row_note);
    for (int i = 0; m->text && i < m->rows; i++) free(m->text[i]);
    free(m->text);
    free(m->about);
    *m = (struct matrix){ 0 };
}

const char *matrix_side_name(const struct probe *p) { return p->opened.run ? p->opened.called : "model"; }

static const char debiased_cka[] = "debiased-cka";

void matrix_describe(struct matrix *m, const struct probe *const *side, int sides, int layer, struct buf *b) {
    json_put(b, "{of:%s,measure:%s", matrix_of_names[m->of], m->measure);
    for (int i = 0; i < 2; i++) {
        const struct opened *o = &side[i < sides ? i : 0]->opened;
        json_put(b, i ? "column_run:%+jd" : "row_run:%+jd", o->run);
        if (o->run) json_member_int(b, i ? "column_step" : "row_step", o->step);
        if (o->run) m->run = o->run;
    }
    json_put(b, "model:%s,model_sha256:%s,model_fingerprint:%s", side[0]->opened.model->name,
             side[0]->opened.model->sha256, side[0]->opened.model->fingerprint);
    if (!matrix_needs_rows(side[0], m->of)) return;
    json_put(b, "task:%s,split:%s,drawn:%d,rows_sha256:%s", side[0]->name, side[0]->split, side[0]->rows.n,
             side[0]->rows.sha256);
    if (layer >= 0) json_member_int(b, "layer", layer);
    if (layer == PROBE_RETRIEVER) json_member_string(b, "layer", "retriever");
}

void matrix_end_description(struct matrix *m, struct buf *b) {
    json_put(b, "beside:%1s", m->beside);
    if (m->row_note) json_member_strings(b, "row_notes", m->row_note, m->rows);
    buf_putc(b, '}');
    m->about = buf_take(b);
}

/* Returns "layer 6" or "the retriever"; caller frees. */
static char *where_name(int layer) {
    return layer == PROBE_RETRIEVER ? xstrdup("the retriever") : xprintf("layer %d", layer);
}

static int matrix_comparable(const struct probe *const *side, int sides, int layer, struct err *e) {
    if (sides < 2) return 0;
    int at = probe_place(side[0], layer);
    if (layer == PROBE_RETRIEVER && (!side[0]->retrieved || side[0]->retrieved != side[1]->retrieved))
        return err_set(e, ERR_USAGE, "--layer retriever: requires retrievers of the same width in both runs");
    if (layer >= 0 && (side[0]->width != side[1]->width || at > side[1]->layers))
        return err_set(e, ERR_USAGE,
                       "the two models differ in width or depth; use --of layers");
    return rowset_same(&side[0]->rows, &side[1]->rows, e);
}

/* ---- representations ---- */

/* Writes the mean vectors of one side's classes at a layer into out (classes×width); a class without
 * examples stays 0. */
static void centroids(const struct probe *p, int layer, real *out) {
    int at = probe_place(p, layer);
    size_t w = (size_t)probe_columns(p, at), k = (size_t)p->rows.classes;
    double *sum = xcalloc(k * w + 1, sizeof *sum);
    for (int i = 0; i < p->rows.n; i++) {
        int32_t c = p->rows.label[i];
        for (size_t j = 0; c >= 0 && j < w; j++)
            sum[(size_t)c * w + j] += (double)p->layer[at][(size_t)i * w + j];
    }
    for (size_t i = 0; i < k * w; i++) out[i] = (real)(sum[i] / p->rows.n); /* cosine is scale-invariant */
    free(sum);
}

/* Both sides' classes on both axes of the matrix: before, after, and across. */
int matrix_classes(struct matrix *m, const struct probe *const *side, int sides, int layer, struct err *e) {
    int k = side[0]->rows.classes, w = probe_columns(side[0], probe_place(side[0], layer));
    if (k < 1) return err_set(e, ERR_USAGE, "%s has no classes; use --of rows", side[0]->name);
    int rc = matrix_comparable(side, sides, layer, e);
    if (rc) return rc;
    matrix_new(m, OF_CLASSES, "cosine", sides * k, sides * k);
    real *x = xcalloc((size_t)(sides * k) * (size_t)w + 1, sizeof *x);
    for (int s = 0; s < sides; s++) {
        char *name = side[s]->opened.run ? xprintf("#%lld", (long long)side[s]->opened.run)
                                         : xstrdup("model");
        centroids(side[s], layer, x + (size_t)(s * k) * (size_t)w);
        for (int c = 0; c < k; c++) {
            const char *class = side[0]->rows.class_name[c];
            m->row_name[s * k + c] = sides > 1 ? xprintf("%s %s", name, class) : xstrdup(class);
            m->column_name[s * k + c] = xstrdup(m->row_name[s * k + c]);
        }
        free(name);
    }
    similarity_cosine(x, m->rows, x, m->rows, w, m->value);
    free(x);
    struct buf about = BUF_INIT;
    matrix_describe(m, side, sides, layer, &about);
    matrix_end_description(m, &about);
    m->title = xstrdup("class centroids, cosine");
    char *where = where_name(layer);
    m->what = xprintf("cosine of the mean vectors of the classes over %d examples, %s", side[0]->rows.n,
                      where);
    free(where);
    m->undefined = "a class without examples";
    return 0;
}

static char *row_name(const struct rowset *r, int i) {
    return r->label[i] < 0 ? xprintf("%lld", (long long)r->row[i])
                           : xprintf("%lld %s", (long long)r->row[i], r->class_name[r->label[i]]);
}

/* Returns the vectors of the picked examples; caller frees. */
static real *matrix_picked(const struct probe *p, int layer, const int *pick, int n) {
    int at = probe_place(p, layer);
    size_t w = (size_t)probe_columns(p, at);
    real *x = xmalloc(((size_t)n * w + 1) * sizeof *x);
    for (int i = 0; i < n; i++)
        memcpy(x + (size_t)i * w, p->layer[at] + (size_t)(pick ? pick[i] : i) * w, w * sizeof *x);
    return x;
}

int matrix_rows(struct matrix *m, const struct probe *const *side, int sides, int layer, const int *pick,
                int picks, struct err *e) {
    const struct probe *a = side[0], *b = side[sides - 1];
    const struct rowset *r = &a->rows;
    int rc = matrix_comparable(side, sides, layer, e), n = pick ? picks : r->n;
    if (rc) return rc;
    matrix_new(m, OF_ROWS, "cosine", n, n);
    real *x = matrix_picked(a, layer, pick, n), *y = matrix_picked(b, layer, pick, n);
    similarity_cosine(x, n, y, n, probe_columns(a, probe_place(a, layer)), m->value);
    free(x);
    free(y);
    m->text = xcalloc((size_t)n + 1, sizeof *m->text);
    for (int i = 0; i < n; i++) {
        m->row_name[i] = row_name(r, pick ? pick[i] : i);
        m->text[i] = rowset_text(r, pick ? pick[i] : i);
        m->column_name[i] = xstrdup(m->row_name[i]);
    }
    struct buf about = BUF_INIT;
    matrix_describe(m, side, sides, layer, &about);
    if (pick) json_member_int(&about, "shown", n);
    matrix_end_description(m, &about);
    m->title = xprintf("examples of %s, cosine", matrix_side_name(b));
    char *where = where_name(layer);
    m->what = xprintf("cosine of %d examples, %s", n, where);
    free(where);
    m->undefined = "a zero vector";
    return 0;
}

static char *layer_name(int i) { return i ? xprintf("layer %d", i) : xstrdup("embed"); }

/* The CKA of few examples is high for unrelated vectors: reported with the value for noise of this shape. */
static void caution_of_cka(struct matrix *m, int width, int rows) {
    double noise = similarity_cka_noise(width, rows);
    m->width = width;
    if (!strcmp(m->measure, debiased_cka)) {
        if (rows < 30)
            m->caution = xprintf("only %d examples: the estimate is unbiased, but has a high variance", rows);
    } else if (noise >= 0.05) {
        m->caution = xprintf(
            "%d examples of width %d: the linear CKA of unrelated vectors is about %.2f here; use more "
            "examples (--rows N) or --measure %s",
            rows, width, noise, debiased_cka);
    }
}

int matrix_layers(struct matrix *m, const struct probe *const *side, int sides, bool debiased,
                  struct err *e) {
    const struct probe *a = side[0], *b = side[sides - 1];
    int rc = matrix_comparable(side, sides, -1, e);
    if (rc) return rc;
    matrix_new(m, OF_LAYERS, debiased ? debiased_cka : "cka", a->layers + 1, b->layers + 1);
    for (int i = 0; i <= a->layers; i++) {
        for (int j = 0; j <= b->layers; j++)
            m->value[i * m->columns + j] = (debiased ? similarity_cka_debiased : similarity_cka)(
                a->layer[i], a->width, b->layer[j], b->width, a->rows.n);
        m->row_name[i] = layer_name(i);
    }
    for (int j = 0; j <= b->layers; j++) m->column_name[j] = layer_name(j);
    struct buf about = BUF_INIT;
    matrix_describe(m, side, sides, -1, &about);
    matrix_end_description(m, &about);
    const char *x = matrix_side_name(a), *y = matrix_side_name(b);
    const char *name = debiased ? "debiased linear CKA" : "linear CKA";
    m->title = xprintf("layers: %s by %s, %s", x, y, name);
    double noise = similarity_cka_noise(a->width, a->rows.n);
    m->what =
        debiased || noise < 0.05
            ? xprintf("%s over %d examples; 1: equal up to rotation and scale", name, a->rows.n)
            : xprintf("%s over %d examples; 1: equal up to rotation and scale; noise of width %d: about %.2f",
                      name, a->rows.n, a->width, noise);
    m->undefined = debiased ? "fewer than 4 examples, or all have the same vector"
                            : "all examples have the same vector";
    caution_of_cka(m, a->width, a->rows.n);
    return 0;
}

/* ---- trainable tensors ---- */

int matrix_tensors(struct matrix *m, const struct probe *const *side, int sides, struct err *e) {
    const struct opened *a = &side[0]->opened, *b = &side[sides - 1]->opened;
    struct likeness l;
    if (!a->run || !b->run) return err_set(e, ERR_USAGE, "--of tensors: requires one or two runs");
    likeness_of(&l, a, b);
    *m = (struct matrix){ .of = OF_TENSORS, .measure = "principal angles, cosine", .rows = l.rows,
                          .columns = l.columns, .row_name = l.row_name, .column_name = l.column_name,
                          .value = l.value };
    struct buf about = BUF_INIT;
    matrix_describe(m, side, sides, -1, &about);
    matrix_end_description(m, &about);
    m->title = xprintf("trainable tensors: %s by %s", a->called, b->called);
    m->what = xstrdup("low-rank products by principal angles, other tensors by the cosine of their change");
    m->undefined = "a change of zero, or different shapes";
    return 0;
}

/* ---- attention ---- */

/* Returns the split and the index of the sampled example. */
static const struct dataset *matrix_place_of(const struct probe *p, int row, size_t *at) {
    int task = p->rows.of_task[row];
    *at = (size_t)row;
    for (int t = 0; t < task; t++) *at -= p->task[t].d->examples;
    return p->task[task].d;
}

/* Numbered, because a word may occur twice; prompt vectors have their own numbers. */
static char *token_name(const struct probe *p, const struct dataset *d, size_t row,
                        const struct attention_map *map, int token) {
    if (token >= map->joined_at && token < map->joined_at + map->joined)
        return xprintf("prompt %d", token - map->joined_at + 1);
    if (token >= map->joined_at + map->joined) token -= map->joined;
    const char *text = tokenizer_token(p->opened.model->tokenizer, d->ids[d->start[row] + (size_t)token]);
    return xprintf("%d %s", token + 1, text ? text : "?");
}

int matrix_attention(struct matrix *m, const struct probe *p, int row, int layer, int head, struct err *e) {
    const struct model *model = p->opened.model;
    size_t at;
    if (row < 0 || row >= p->rows.n)
        return err_set(e, ERR_USAGE, "sampled example %d does not exist: must be between 1 and %d", row + 1,
                       p->rows.n);
    if (layer < 1 || layer > p->layers)
        return err_set(e, ERR_USAGE, "--layer %d: must be between 1 and %d", layer, p->layers);
    if (head != ATTENTION_FIRST && (head < 0 || head >= model->arch.heads))
        return err_set(e, ERR_USAGE, "--head %d: must be between 1 and %d", head + 1, model->arch.heads);
    const struct dataset *d = matrix_place_of(p, row, &at);
    struct attention_map map;
    probe_use(p, p->rows.of_task[row]);
    int rc = attention_of_row(model, p->opened.predictor, p->opened.precision, d, at, layer, &map, e);
    if (rc) return rc;
    int columns = map.extra + map.tokens, lines = head == ATTENTION_FIRST ? map.heads : map.tokens;
    int own = map.joined && !map.joined_at ? map.joined : 0; /* the text's first token */
    matrix_new(m, OF_ATTENTION, "share", lines, columns);
    for (int i = 0; i < lines; i++) {
        size_t from = head == ATTENTION_FIRST ? (size_t)(i * map.tokens + own)
                                              : (size_t)(head * map.tokens + i);
        memcpy(m->value + (size_t)i * (size_t)columns, map.p + from * (size_t)columns,
               (size_t)columns * sizeof *map.p);
        m->row_name[i] = head == ATTENTION_FIRST ? xprintf("head %d", i + 1) : token_name(p, d, at, &map, i);
    }
    for (int j = 0; j < columns; j++)
        m->column_name[j] = j < map.extra ? xprintf("prefix %d", j + 1)
                                          : token_name(p, d, at, &map, j - map.extra);
    attention_map_release(&map);
    struct buf about = BUF_INIT;
    matrix_describe(m, &p, 1, layer, &about);
    json_member_int(&about, "row", p->rows.row[row]);
    if (head == ATTENTION_FIRST) json_member_string(&about, "head", "first token, all heads");
    else json_member_int(&about, "head", head + 1);
    matrix_end_description(m, &about);
    const char *name = matrix_side_name(p);
    char *which = head == ATTENTION_FIRST ? xstrdup("by head") : xprintf("head %d", head + 1);
    m->title = xprintf("attention: %s, row %lld, layer %d, %s", name, (long long)p->rows.row[row], layer,
                       which);
    m->what = xstrdup(head == ATTENTION_FIRST
                          ? "attention from the first token to each token; each row sums to 1"
                          : "attention from each row's token to each column's token; each row sums to 1");
    free(which);
    return 0;
}

/* ---- clustering ---- */

bool matrix_cluster(struct matrix *m) {
    size_t n = (size_t)m->rows;
    bool same = m->rows == m->columns && m->of != OF_ATTENTION && m->of != OF_MASS;
    for (size_t i = 0; same && i < n; i++) same = !strcmp(m->row_name[i], m->column_name[i]);
    if (!same) return false;
    double *both = xmalloc((n * n + 1) * sizeof *both); /* the order is symmetric */
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++) both[i * n + j] = (m->value[i * n + j] + m->value[j * n + i]) / 2;
    free(m->order);
    m->order = xmalloc((n + 1) * sizeof *m->order);
    similarity_order(both, m->rows, m->order);
    free(both);
    return true;
}

void matrix_reorder(struct matrix *m) {
    size_t n = (size_t)m->rows;
    double *value = xmalloc((n * n + 1) * sizeof *value);
    char **row = xmalloc((n + 1) * sizeof *row), **column = xmalloc((n + 1) * sizeof *column);
    BUG_IF(!m->order);
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < n; j++)
            value[i * n + j] = m->value[(size_t)m->order[i] * n + (size_t)m->order[j]];
        row[i] = m->row_name[m->order[i]];
        column[i] = m->column_name[m->order[i]];
    }
    memcpy(m->value, value, n * n * sizeof *value);
    memcpy(m->row_name, row, n * sizeof *row);
    for (size_t i = 0; m->text && i < n; i++) row[i] = m->text[m->order[i]];
    if (m->text) memcpy(m->text, row, n * sizeof *row);
    memcpy(m->column_name, column, n * sizeof *column);
    m->clustered = true;
    free(value);
    free(row);
    free(column);
}

/* ---- the store ---- */

static char *names_json(char *const *name, int n) {
    struct buf b = BUF_INIT;
    json_member_strings(&b, NULL, name, n);
    return buf_take(&b);
}

static int matrix_read_names(char **out, int n, const char *json, struct err *e) {
    json_t *list = json_parse("names", json, strlen(json), e);
    if (!list) return e->code;
    for (int i = 0; i < n; i++) {
        const char *s = json_string_value(json_array_get(list, (size_t)i));
        out[i] = xstrdup(s ? s : "");
    }
    json_decref(list);
    return 0;
}

/* Reads the values stored with it. */
static void read_beside(struct matrix *m) {
    struct err ignored = ERR_INIT;
    json_t *about = json_parse("about", m->about, strlen(m->about), &ignored);
    const char *beside = json_string_value(json_object_get(about, "beside"));
    const json_t *note = json_object_get(about, "row_notes");
    if (beside) m->beside = xstrdup(beside);
    if (json_is_array(note)) m->row_note = xcalloc((size_t)m->rows + 1, sizeof *m->row_note);
    for (int i = 0; m->row_note && i < m->rows; i++) {
        const char *text = json_string_value(json_array_get(note, (size_t)i));
        m->row_note[i] = xstrdup(text ? text : "");
    }
    json_decref(about);
}

int matrix_read(struct matrix *m, struct store *s, int64_t id, struct err *e) {
    struct store_matrix k;
    int rc = store_matrix(s, id, &k, e);
    if (rc) return rc;
    enum matrix_of of = OF_CLASSES;
    while (of < OF_COUNT - 1 && strcmp(k.name, matrix_of_names[of])) of++;
    static const char *const measure[OF_COUNT] = { "cosine", "cosine", "cka",    "principal angles, cosine",
                                                   "share",  "cosine", "cosine", "cosine",
                                                   "share" };
    bool debiased = of == OF_LAYERS && strstr(k.about, "\"measure\":\"debiased-cka\"");
    matrix_new(m, of, debiased ? debiased_cka : measure[of], k.rows, k.columns);
    rc = matrix_read_names(m->row_name, k.rows, k.row_names, e);
    if (!rc) rc = matrix_read_names(m->column_name, k.columns, k.column_names, e);
    for (size_t i = 0; i < (size_t)k.rows * (size_t)k.columns; i++) m->value[i] = (double)k.data[i];
    m->id = id;
    m->run = k.run;
    m->about = xstrdup(k.about);
    read_beside(m);
    m->title = xprintf("saved matrix %lld: %s", (long long)id, matrix_of_names[of]);
    m->what = xstrdup(k.about);
    m->undefined = "undefined when it was computed";
    store_matrix_release(&k);
    if (rc) matrix_release(m);
    return rc;
}

/* A stored matrix is used only if it has the same names. */
static bool matrix_take_stored(struct matrix *m, struct store *s) {
    struct matrix k;
    struct err e = ERR_INIT;
    if (!m->id || matrix_read(&k, s, m->id, &e)) return false;
    bool same = k.rows == m->rows && k.columns == m->columns;
    for (int i = 0; same && i < m->rows; i++) same = !strcmp(k.row_name[i], m->row_name[i]);
    if (same) memcpy(m->value, k.value, (size_t)m->rows * (size_t)m->columns * sizeof *m->value);
    matrix_release(&k);
    return same;
}

int matrix_store(struct matrix *m, struct store *s, bool keep, struct err *e) {
    int rc = store_matrix_find(s, m->run, matrix_of_names[m->of], m->about, &m->id, e);
    if (rc || matrix_take_stored(m, s) || !keep) return rc;
    size_t all = (size_t)m->rows * (size_t)m->columns;
    float *data = xmalloc((all + 1) * sizeof *data);
    for (size_t i = 0; i < all; i++) data[i] = (float)m->value[i];
    char *rows = names_json(m->row_name, m->rows), *columns = names_json(m->column_name, m->columns);
    struct store_matrix k = { .run = m->run,
                              .name = (char *)(uintptr_t)matrix_of_names[m->of],
                              .about = m->about,
                              .rows = m->rows,
                              .columns = m->columns,
                              .row_names = rows,
                              .column_names = columns,
                              .data = data };
    rc = store_matrix_add(s, &k, &m->id, e);
    free(data);
    free(rows);
    free(columns);
    return rc;
}
