/* Looking inside: embed, which keeps vectors of a task's rows, and map, a layout of vectors in two
 * dimensions with numbers beside it. */
#include "app/verbs.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/output.h"
#include "app/probe.h"
#include "core/analysis/scores.h"
#include "core/analysis/tsne.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/vectors.h"

enum { NEIGHBOURS = 10 };

static const char CAUTION[] = "sizes of clusters and distances between them mean nothing; "
                              "the scores are of the original vectors";

/* A map and the scores of the vectors that it shows. */
struct result {
    struct vectors v;
    int given;          /* points before sampling */
    bool pca;
    struct tsne_options options;
    double asked;       /* perplexity asked for */
    double kl, seconds; /* kl: NaN for PCA */
    real *points;       /* n×2 */
    struct score silhouette, purity;
    int purity_k;
    char *why[2];       /* why silhouette and purity have no value */
    struct buf note;
};

static void result_release(struct result *r) {
    vectors_release(&r->v);
    free(r->points);
    free(r->why[0]);
    free(r->why[1]);
    buf_release(&r->note);
}

static void note(struct result *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void note(struct result *r, const char *format, ...) {
    va_list list;
    va_start(list, format);
    char text[256];
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (r->note.size) buf_puts(&r->note, "; ");
    buf_puts(&r->note, text);
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int map_options(const struct args *a, struct result *r, struct err *e) {
    struct tsne_options *o = &r->options;
    int64_t iterations, seed;
    tsne_options_init(o);
    iterations = o->iterations;
    seed = (int64_t)o->seed;
    int rc = verb_workers(a, &o->workers, e);
    if (!rc) rc = args_int(a, "iterations", 1, 1000000, &iterations, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &seed, e);
    o->iterations = (int)iterations;
    o->seed = (uint64_t)seed;
    const char *perplexity = args_get(a, "perplexity");
    if (!rc && perplexity && (!text_to_double(perplexity, &o->perplexity) || o->perplexity < 1))
        rc = err_set(e, ERR_USAGE, "--perplexity must be a number of at least 1, not \"%s\"", perplexity);
    r->asked = o->perplexity;
    r->pca = args_flag(a, "pca");
    return rc;
}

/* The file's row that is a zero vector, or 0. */
static int zero_row(const struct vectors *v) {
    for (int i = 0; i < v->n; i++) {
        bool zero = true;
        for (int j = 0; j < v->d && zero; j++) zero = v->x[(size_t)i * (size_t)v->d + (size_t)j] == 0;
        if (zero && v->label[i] >= 0) return v->row[i];
    }
    return 0;
}

/* A score that does not exist leaves its reason; it never stops the map. */
static void score(struct result *r) {
    const struct vectors *v = &r->v;
    struct err why = ERR_INIT;
    r->silhouette = r->purity = (struct score){ .value = NAN };
    int zero = zero_row(v);
    if (!v->classes) {
        r->why[0] = xstrdup("no labels");
        r->why[1] = xstrdup("no labels");
        return;
    }
    if (zero) {
        r->why[0] = xprintf("row %d is a zero vector: its cosine with others is undefined", zero);
        r->why[1] = xstrdup(r->why[0]);
        return;
    }
    if (score_silhouette(v->x, v->n, v->d, v->label, v->classes, &r->silhouette, &why)) r->why[0] = xstrdup(why.text);
    else if (r->silhouette.undefined && !strncmp(r->silhouette.undefined, "as many", 7))
        r->why[0] = xprintf("%d classes for %d points", v->classes, v->n);
    else if (r->silhouette.undefined) r->why[0] = xstrdup(r->silhouette.undefined);
    if (score_purity(v->x, v->n, v->d, v->label, NEIGHBOURS, &r->purity_k, &r->purity, &why))
        r->why[1] = xstrdup(why.text);
    else if (r->purity.undefined) r->why[1] = xstrdup(r->purity.undefined);
}

static int layout(struct result *r, struct err *e) {
    const struct vectors *v = &r->v;
    double start = seconds_now();
    r->points = xcalloc(2 * (size_t)v->n, sizeof *r->points);
    r->kl = NAN;
    if (r->pca) {
        int rc = pca_two(v->x, v->n, v->d, r->points, e);
        r->seconds = seconds_now() - start;
        return rc;
    }
    struct tsne *t = tsne_new(v->x, v->n, v->d, &r->options, e);
    if (!t) return e->code;
    tsne_step(t, r->options.iterations);
    memcpy(r->points, tsne_layout(t), 2 * (size_t)v->n * sizeof *r->points);
    r->seconds = seconds_now() - start;
    r->kl = tsne_divergence(t);
    r->options.perplexity = tsne_perplexity(t);
    tsne_free(t);
    if (r->options.perplexity < r->asked)
        note(r, "perplexity lowered from %g to %.3g, the most that %d points allow", r->asked, r->options.perplexity,
             v->n);
    return 0;
}

static void add_score(struct buf *b, const char *key, const struct score *s, const char *why) {
    if (why) json_member_string(b, key, NULL);
    else json_member_double(b, key, s->value);
}

static void print_json(const struct result *r) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_member_int(&b, "n", r->v.n);
    json_member_int(&b, "columns", r->v.d);
    json_member_string(&b, "method", r->pca ? "pca" : "t-sne");
    if (r->pca) json_member_string(&b, "kl", NULL);
    else json_member_double(&b, "kl", r->kl);
    json_member_double(&b, "seconds", r->seconds);
    if (!r->pca) {
        json_member_double(&b, "perplexity", r->options.perplexity);
        json_member_int(&b, "iterations", r->options.iterations);
        json_member_int(&b, "seed", (long long)r->options.seed);
    }
    add_score(&b, "silhouette", &r->silhouette, r->why[0]);
    add_score(&b, "purity", &r->purity, r->why[1]);
    if (r->why[1]) json_member_string(&b, "purity_k", NULL);
    else json_member_int(&b, "purity_k", r->purity_k);
    json_add_key(&b, "undefined");
    buf_putc(&b, '{');
    if (r->pca) json_member_string(&b, "kl", "pca has none");
    if (r->why[0]) json_member_string(&b, "silhouette", r->why[0]);
    if (r->why[1]) json_member_string(&b, "purity", r->why[1]);
    buf_putc(&b, '}');
    json_member_string(&b, "note", r->note.size ? buf_text(&r->note) : NULL);
    json_member_string(&b, "caution", CAUTION);
    if (r->v.classes) {
        json_add_key(&b, "labels");
        buf_putc(&b, '[');
        for (int i = 0; i < r->v.n; i++) {
            if (i) buf_putc(&b, ',');
            if (r->v.label[i] < 0) buf_puts(&b, "null");
            else json_add_string(&b, r->v.class_name[r->v.label[i]]);
        }
        buf_putc(&b, ']');
    }
    json_add_key(&b, "points");
    buf_putc(&b, '[');
    for (int i = 0; i < r->v.n; i++) {
        buf_puts(&b, i ? ",[" : "[");
        json_add_float(&b, (float)r->points[2 * i]);
        buf_putc(&b, ',');
        json_add_float(&b, (float)r->points[2 * i + 1]);
        buf_putc(&b, ']');
    }
    buf_puts(&b, "]}");
    out_line(&b);
    buf_release(&b);
}

static void print_score(const char *name, const struct score *s, const char *why, int k) {
    if (why) {
        printf("%-12s undefined (", name);
        out_text(why);
        puts(")");
    } else if (k) {
        printf("%-12s %.6f  of %d neighbours\n", name, s->value, k);
    } else {
        printf("%-12s %.6f\n", name, s->value);
    }
}

static void print_text(const struct result *r) {
    printf("%-12s %d of %d values\n", "points", r->v.n, r->v.d);
    if (!r->pca)
        printf("%-12s %.4f  after %d iterations, perplexity %.4g, seed %llu\n", "divergence", r->kl,
               r->options.iterations, r->options.perplexity, (unsigned long long)r->options.seed);
    printf("%-12s %.2f\n", "seconds", r->seconds);
    print_score("silhouette", &r->silhouette, r->why[0], 0);
    print_score("purity", &r->purity, r->why[1], r->purity_k);
    if (r->note.size) printf("%s\n", buf_text(&r->note));
    printf("%s; --json prints the points\n", CAUTION);
}

/* Rows of a stored set become unit vectors, so that the map's distances are cosine's. */
static void make_unit(struct vectors *v) {
    for (int i = 0; i < v->n; i++) {
        real *x = v->x + (size_t)i * (size_t)v->d;
        double sum = 0;
        for (int j = 0; j < v->d; j++) sum += (double)x[j] * (double)x[j];
        for (int j = 0; j < v->d && sum > 0; j++) x[j] = (real)((double)x[j] / sqrt(sum));
    }
}

/* Class names in order of first use, as the set's items name them. */
static void take_labels(struct vectors *v, const json_t *items) {
    v->class_name = xcalloc((size_t)v->n + 1, sizeof *v->class_name);
    for (int i = 0; i < v->n; i++) {
        const char *name = json_string_value(json_object_get(json_array_get(items, (size_t)i), "label"));
        int at = 0;
        v->row[i] = i + 1;
        v->label[i] = -1;
        if (!name) continue;
        while (at < v->classes && strcmp(v->class_name[at], name)) at++;
        if (at == v->classes) v->class_name[v->classes++] = xstrdup(name);
        v->label[i] = at;
    }
}

static int read_set(const struct args *a, struct result *r, struct err *e) {
    struct store *s;
    struct store_embedding m;
    struct err ignored = ERR_INIT;
    int64_t id;
    const char *typed = a->positional[0];
    if (!text_to_int(*typed == '#' ? typed + 1 : typed, &id))
        return err_set(e, ERR_USAGE, "\"%s\" is no set's number; petri embed prints it", typed);
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = store_embedding(s, id, &m, e);
    store_close(s, &ignored);
    if (rc) return rc;
    json_t *items = json_parse("items", m.items, strlen(m.items), e);
    struct vectors *v = &r->v;
    *v = (struct vectors){ .n = m.rows, .d = m.columns };
    v->x = xcalloc((size_t)v->n * (size_t)v->d + 1, sizeof *v->x);
    v->label = xmalloc(((size_t)v->n + 1) * sizeof *v->label);
    v->row = xmalloc(((size_t)v->n + 1) * sizeof *v->row);
    for (size_t i = 0; i < (size_t)v->n * (size_t)v->d; i++) v->x[i] = (real)m.data[i];
    take_labels(v, items);
    make_unit(v);
    note(r, "%s, %s, layer %d, %s, vectors scaled to length 1", m.model, m.task, m.layer, m.pool);
    if (m.run) note(r, "run %lld", (long long)m.run);
    rc = items ? 0 : e->code;
    json_decref(items);
    store_embedding_release(&m);
    return rc;
}

int verb_map(const struct args *a, struct err *e) {
    struct result r = { .note = BUF_INIT };
    const char *file = args_get(a, "vectors");
    if (!file == !a->count) return err_set(e, ERR_USAGE, "usage: petri %s %s", a->verb->name, a->verb->synopsis);
    int rc = map_options(a, &r, e);
    if (!rc) rc = file ? vectors_read(&r.v, file, args_get(a, "labels"), e) : read_set(a, &r, e);
    if (!rc) {
        r.given = r.v.n;
        vectors_sample(&r.v, TSNE_MOST, r.options.seed);
        if (r.v.n < r.given) note(&r, "an even sample of %d of %d points", r.v.n, r.given);
        rc = layout(&r, e);
    }
    if (!rc) {
        score(&r);
        if (args_flag(a, "json")) print_json(&r);
        else print_text(&r);
    }
    result_release(&r);
    return rc;
}

/* ---- embed ---- */

/* Number, label, text and prediction of each row. */
static int describe(struct probe *p, int workers, struct buf *b, struct err *e) {
    const struct dataset *d = p->d;
    size_t k = 0;
    double *probability = NULL;
    if (p->u.predictor && !predictor_is_regression(p->u.predictor)) {
        k = (size_t)predictor_classes(p->u.predictor);
        probability = mem_try(d->rows * k, sizeof *probability);
        if (!probability) return err_set(e, ERR_SYSTEM, "no memory for %zu rows of %zu outputs", d->rows, k);
        int rc = predictor_run(p->u.predictor, d, workers, probability, NULL, e);
        if (rc) {
            free(probability);
            return rc;
        }
    }
    buf_putc(b, '[');
    for (size_t i = 0; i < d->rows; i++) {
        size_t best = 0;
        for (size_t j = 1; j < k; j++)
            if (probability[i * k + j] > probability[i * k + best]) best = j;
        if (i) buf_putc(b, ',');
        out_row(b, d, i, k ? predictor_label(p->u.predictor, (int)best) : NULL);
    }
    buf_putc(b, ']');
    free(probability);
    return 0;
}

static int keep(struct probe *p, const struct args *a, int layer, bool mean, uint64_t seed, const char *items,
                int64_t *id, struct err *e) {
    size_t all = p->d->rows * (size_t)p->width;
    struct store_embedding m = { .run = p->u.run, .step = p->u.step, .model = p->u.model->name, .task = p->t.name,
                                 .split = (char *)p->split, .pool = mean ? "mean" : "cls", .layer = layer,
                                 .seed = seed, .rows = (int)p->d->rows, .columns = p->width, .items = (char *)items };
    m.data = mem_try(all, sizeof *m.data);
    if (!m.data) return err_set(e, ERR_SYSTEM, "no memory for %zu vectors", p->d->rows);
    for (size_t i = 0; i < all; i++) m.data[i] = (float)p->layer[layer][i];
    struct store *s;
    int rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) {
        struct err closing = ERR_INIT;
        rc = store_embedding_add(s, &m, id, e);
        int closed = store_close(s, &closing);
        if (!rc && closed) {
            *e = closing;
            rc = closed;
        }
    }
    free(m.data);
    return rc;
}

static void print_set(const struct args *a, const struct probe *p, int64_t id, int layer, bool mean, uint64_t seed) {
    if (args_flag(a, "json")) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        json_member_int(&b, "set", id);
        if (p->u.run) json_member_int(&b, "run", p->u.run);
        else json_member_string(&b, "run", NULL);
        json_member_string(&b, "model", p->u.model->name);
        json_member_string(&b, "task", p->t.name);
        json_member_string(&b, "split", p->split);
        json_member_int(&b, "rows", (long long)p->d->rows);
        json_member_int(&b, "columns", p->width);
        json_member_int(&b, "layer", layer);
        json_member_string(&b, "pool", mean ? "mean" : "cls");
        json_member_int(&b, "seed", (long long)seed);
        buf_putc(&b, '}');
        out_line(&b);
        buf_release(&b);
        return;
    }
    printf("set %lld: %zu rows of ", (long long)id, p->d->rows);
    out_text(p->t.name);
    printf(" (%s), layer %d, %s; petri map %lld draws it\n", p->split, layer, mean ? "mean" : "cls", (long long)id);
}

int verb_embed(const struct args *a, struct err *e) {
    struct probe p;
    struct buf items = BUF_INIT;
    const char *run = args_get(a, "run"), *model = args_get(a, "model");
    int64_t seed = 1, layer = 0, id = 0;
    int workers;
    bool mean;
    if (run && model) return err_set(e, ERR_USAGE, "give --run or --model, not both");
    int rc = verb_workers(a, &workers, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &seed, e);
    if (!rc) rc = probe_pool(a, &mean, e);
    if (rc) return rc;
    rc = probe_open(&p, a, run, verb_model(a), e);
    layer = p.layers;
    if (!rc) rc = args_int(a, "layer", 0, p.layers, &layer, e);
    if (!rc) rc = probe_rows(&p, a, PROBE_ROWS, (uint64_t)seed, e);
    if (!rc) rc = probe_embed(&p, (int)layer, mean, workers, e);
    if (!rc) rc = describe(&p, workers, &items, e);
    if (!rc) rc = keep(&p, a, (int)layer, mean, (uint64_t)seed, buf_text(&items), &id, e);
    if (!rc) print_set(a, &p, id, (int)layer, mean, (uint64_t)seed);
    buf_release(&items);
    probe_release(&p);
    return rc;
}
