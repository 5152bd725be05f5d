/* petri map: vectors in two dimensions with numbers beside them; of a kept set, of a file, or of all
 * moments of a run's training in turn. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/moments.h"
#include "app/verbs/output.h"
#include "core/analysis/tsne.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/vectors.h"

static const char CAUTION[] = "sizes of clusters and distances between them mean nothing; "
                              "the scores are of the original vectors";

enum map_form { AS_TEXT, AS_JSON, AS_CSV };

/* A map and the scores of the vectors that it shows. */
struct result {
    struct vectors v;
    struct store_embedding set; /* id 0: of a file */
    struct rowset rows;         /* of a set: v.row counts them from 1 */
    int32_t *predicted;
    bool by_task, pca;
    struct tsne_options options;
    double kl, seconds; /* kl: NaN for PCA */
    double kept;        /* 10-neighbour preservation */
    int repeats;        /* points that are equal to an earlier one */
    int unreached;      /* points for which the perplexity is out of reach */
    real *points;       /* n×2 */
    struct ratings ratings;
    struct buf note;
};

static void result_release(struct result *r) {
    vectors_release(&r->v);
    store_embedding_release(&r->set);
    rowset_release(&r->rows);
    free(r->predicted);
    free(r->points);
    buf_release(&r->note);
    crew_free(r->options.crew);
}

static int read_form(const struct args *a, enum map_form *form, struct err *e) {
    *form = args_flag(a, "json") ? AS_JSON : args_flag(a, "csv") ? AS_CSV : AS_TEXT;
    if (args_flag(a, "json") && args_flag(a, "csv")) return err_set(e, ERR_USAGE, "give --json or --csv, not both");
    return 0;
}

static int map_options(const struct args *a, struct tsne_options *o, struct err *e) {
    int64_t iterations, seed;
    tsne_options_init(o);
    iterations = o->iterations;
    seed = (int64_t)o->seed;
    int rc = verb_crew(a, &o->crew, e);
    if (!rc) rc = args_int(a, "iterations", 1, 1000000, &iterations, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &seed, e);
    o->iterations = (int)iterations;
    o->seed = (uint64_t)seed;
    const char *perplexity = args_get(a, "perplexity");
    if (!rc && perplexity && (!text_to_double(perplexity, &o->perplexity) || o->perplexity < 1))
        rc = err_set(e, ERR_USAGE, "--perplexity must be a number of at least 1, not \"%s\"", perplexity);
    return rc;
}

struct point {
    const real *x;
    size_t size;
};

static int by_bytes(const void *pa, const void *pb) {
    const struct point *a = pa, *b = pb;
    return memcmp(a->x, b->x, a->size);
}

/* Points that are equal to an earlier one, bit for bit. */
static int count_repeats(const struct vectors *v) {
    struct point *p = xmalloc(((size_t)v->n + 1) * sizeof *p);
    int repeats = 0;
    for (int i = 0; i < v->n; i++)
        p[i] = (struct point){ v->x + (size_t)i * (size_t)v->d, (size_t)v->d * sizeof *v->x };
    qsort(p, (size_t)v->n, sizeof *p, by_bytes);
    for (int i = 1; i < v->n; i++) repeats += !by_bytes(&p[i - 1], &p[i]);
    free(p);
    return repeats;
}

/* Whether the points differ by no more than their numbers are rounded. */
static bool equal_but_rounding(const struct vectors *v) {
    size_t d = (size_t)v->d, all = (size_t)v->n * d;
    for (size_t j = 0; j < d; j++) {
        double lo = INFINITY, hi = -INFINITY;
        for (size_t i = j; i < all; i += d) {
            lo = fmin(lo, (double)v->x[i]);
            hi = fmax(hi, (double)v->x[i]);
        }
        if (hi - lo > 1e-6 * fmax(fabs(lo), fabs(hi))) return false;
    }
    return true;
}

static void look_at_points(struct result *r) {
    r->repeats = count_repeats(&r->v);
    if (r->repeats)
        buf_part(&r->note, "%d of %d points %s an earlier one exactly", r->repeats, r->v.n,
                 r->repeats == 1 ? "repeats" : "repeat");
    if (r->repeats < r->v.n - 1 && equal_but_rounding(&r->v))
        buf_part(&r->note, "the points differ by no more than their numbers are rounded: what is shown is rounding");
}

static int layout(struct result *r, struct err *e) {
    const struct vectors *v = &r->v;
    double start = clock_seconds(), asked = r->options.perplexity;
    r->points = xcalloc(2 * (size_t)v->n, sizeof *r->points);
    r->kl = NAN;
    if (r->pca) {
        int rc = pca_two(v->x, v->n, v->d, r->points, e);
        r->seconds = clock_seconds() - start;
        return rc;
    }
    struct tsne *t = tsne_new(v->x, v->n, v->d, &r->options, e);
    if (!t) return e->code;
    tsne_step(t, r->options.iterations);
    memcpy(r->points, tsne_layout(t), 2 * (size_t)v->n * sizeof *r->points);
    r->seconds = clock_seconds() - start;
    r->kl = tsne_divergence(t);
    r->options.perplexity = tsne_perplexity(t);
    r->unreached = tsne_unreached(t);
    tsne_free(t);
    if (r->unreached)
        buf_part(&r->note, "perplexity %.3g is out of reach for %d of %d points: more are equally near",
                 r->options.perplexity, r->unreached, v->n);
    if (r->options.perplexity < asked)
        buf_part(&r->note, "perplexity lowered from %g to %.3g, the most that %d points allow", asked,
                 r->options.perplexity, v->n);
    return 0;
}

static void rate(struct result *r) {
    const struct vectors *v = &r->v;
    int64_t *row = xmalloc(((size_t)v->n + 1) * sizeof *row);
    for (int i = 0; i < v->n; i++) row[i] = r->set.id ? r->rows.row[v->row[i] - 1] : v->row[i];
    ratings_of(&r->ratings, v->x, v->n, v->d, v->label, v->classes, row);
    r->kept = score_preservation(v->x, v->d, r->points, v->n, RATINGS_NEAR);
    free(row);
}

/* ---- output ---- */

static void add_rating(struct buf *b, const char *key, const struct rating *r) {
    if (*r->why) json_member_string(b, key, NULL);
    else json_member_double(b, key, r->value);
}

static void add_labels(struct buf *b, char *const *name, const int32_t *label, int n) {
    json_add_key(b, "labels");
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) json_member_string(b, NULL, label[i] < 0 ? NULL : name[label[i]]);
    buf_putc(b, ']');
}

static void add_points(struct buf *b, const real *xy, int n) {
    json_add_key(b, "points");
    buf_putc(b, '[');
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ",[" : "[");
        json_add_float(b, (float)xy[2 * i]);
        buf_putc(b, ',');
        json_add_float(b, (float)xy[2 * i + 1]);
        buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

static void add_source(struct buf *b, const struct store_embedding *m) {
    verb_set_members(m, b);
    json_member_int(b, "layer", m->layer);
    json_member_string(b, "pool", m->pool);
}

static void print_json(const struct result *r) {
    const struct ratings *k = &r->ratings;
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_member_int(&b, "n", r->v.n);
    json_member_int(&b, "columns", r->v.d);
    if (r->set.id) add_source(&b, &r->set);
    json_member_string(&b, "method", r->pca ? "pca" : "t-sne");
    if (r->pca) json_member_string(&b, "kl", NULL);
    else json_member_double(&b, "kl", r->kl);
    json_member_double(&b, "seconds", r->seconds);
    if (!r->pca) {
        json_member_double(&b, "perplexity", r->options.perplexity);
        json_member_int(&b, "iterations", r->options.iterations);
        json_member_int(&b, "seed", (long long)r->options.seed);
    }
    if (r->set.id) json_member_string(&b, "by", r->by_task ? "task" : "label");
    add_rating(&b, "silhouette", &k->silhouette);
    add_rating(&b, "purity", &k->purity);
    if (*k->purity.why) json_member_string(&b, "purity_k", NULL);
    else json_member_int(&b, "purity_k", k->near);
    json_member_double(&b, "preservation", r->kept);
    json_member_int(&b, "repeats", r->repeats);
    if (!r->pca) json_member_int(&b, "perplexity_unreached", r->unreached);
    json_add_key(&b, "undefined");
    buf_putc(&b, '{');
    if (r->pca) json_member_string(&b, "kl", "pca has none");
    if (*k->silhouette.why) json_member_string(&b, "silhouette", k->silhouette.why);
    if (*k->purity.why) json_member_string(&b, "purity", k->purity.why);
    buf_putc(&b, '}');
    json_member_string(&b, "note", r->note.size ? buf_text(&r->note) : NULL);
    json_member_string(&b, "caution", CAUTION);
    if (r->v.classes) add_labels(&b, r->v.class_name, r->v.label, r->v.n);
    add_points(&b, r->points, r->v.n);
    buf_putc(&b, '}');
    out_line(&b);
    buf_release(&b);
}

static const char CSV_HEAD[] = "set,run,step,model,layer,pool,perplexity,seed,row,task,label,prediction,x,y\n";

/* What is the same in all lines of a map. */
static void csv_start(struct buf *b, const struct store_embedding *m, double perplexity, uint64_t seed) {
    buf_clear(b);
    if (m->id) buf_printf(b, "%lld,", (long long)m->id);
    else buf_puts(b, ",");
    if (m->run) buf_printf(b, "%lld,%lld,", (long long)m->run, (long long)m->step);
    else buf_puts(b, ",,");
    out_csv(b, m->model ? m->model : "");
    if (m->id) buf_printf(b, ",%d,%s,", m->layer, m->pool);
    else buf_puts(b, ",,,");
    if (isnan(perplexity)) buf_puts(b, ",,"); /* PCA */
    else buf_printf(b, "%.6g,%llu,", perplexity, (unsigned long long)seed);
}

static void csv_line(const char *start, int64_t row, const char *task, const char *label, const char *said,
                     const real *xy) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s%lld,", start, (long long)row);
    out_csv(&b, task);
    buf_putc(&b, ',');
    out_csv(&b, label);
    buf_putc(&b, ',');
    out_csv(&b, said);
    for (int k = 0; k < 2; k++) {
        buf_putc(&b, ',');
        json_add_float(&b, (float)xy[k]);
    }
    out_line(&b);
    buf_release(&b);
}

static const char *said_of(const struct rowset *r, const int32_t *predicted, int i) {
    return predicted && predicted[i] >= 0 ? r->label_name[predicted[i]] : "";
}

static void print_csv(const struct result *r) {
    struct buf start = BUF_INIT;
    csv_start(&start, &r->set, r->pca ? NAN : r->options.perplexity, r->options.seed);
    fputs(CSV_HEAD, stdout);
    for (int i = 0; i < r->v.n; i++) {
        const real *xy = r->points + 2 * i;
        int at = r->v.row[i] - 1, c = r->v.label[i];
        if (!r->set.id) csv_line(buf_text(&start), at + 1, "", c < 0 ? "" : r->v.class_name[c], "", xy);
        else
            csv_line(buf_text(&start), r->rows.row[at], r->rows.task[r->rows.of_task[at]],
                     r->rows.label[at] < 0 ? "" : r->rows.label_name[r->rows.label[at]],
                     said_of(&r->rows, r->predicted, at), xy);
    }
    buf_release(&start);
}

static void print_rating(const char *name, const struct rating *r, int k) {
    if (*r->why) {
        printf("%-12s undefined (", name);
        out_text(r->why);
        puts(")");
    } else if (k) {
        printf("%-12s %.6f  of %d neighbours\n", name, r->value, k);
    } else {
        printf("%-12s %.6f\n", name, r->value);
    }
}

static void print_text(const struct result *r) {
    printf("%-12s %d of %d values\n", "points", r->v.n, r->v.d);
    if (!r->pca)
        printf("%-12s %.4f  after %d iterations, perplexity %.4g, seed %llu\n", "divergence", r->kl,
               r->options.iterations, r->options.perplexity, (unsigned long long)r->options.seed);
    printf("%-12s %.2f\n", "seconds", r->seconds);
    print_rating("silhouette", &r->ratings.silhouette, 0);
    print_rating("purity", &r->ratings.purity, r->ratings.near);
    if (isfinite(r->kept)) printf("%-12s %.4f  of the %d nearest are so in the map\n", "preservation", r->kept,
                                  r->v.n > RATINGS_NEAR ? RATINGS_NEAR : r->v.n - 1);
    if (r->note.size) {
        out_text(buf_text(&r->note));
        putchar('\n');
    }
    printf("%s; --json and --csv print the points\n", CAUTION);
}

/* ---- a kept set ---- */

static int set_number(const char *typed, int64_t *id, struct err *e) {
    if (text_to_int(*typed == '#' ? typed + 1 : typed, id)) return 0;
    return err_set(e, ERR_USAGE, "\"%s\" is no set's number; petri embed prints it", typed);
}

/* The set's rows as vectors of length 1, named by label or by task. */
static void take_vectors(struct result *r) {
    const struct store_embedding *m = &r->set;
    const struct rowset *rows = &r->rows;
    struct vectors *v = &r->v;
    int n = m->rows, classes = r->by_task ? rows->tasks : rows->classes;
    char *const *name = r->by_task ? rows->task : rows->class_name;
    *v = (struct vectors){ .n = n, .d = m->columns };
    v->x = xcalloc((size_t)n * (size_t)v->d + 1, sizeof *v->x);
    v->label = xmalloc(((size_t)n + 1) * sizeof *v->label);
    v->row = xmalloc(((size_t)n + 1) * sizeof *v->row);
    v->class_name = xcalloc((size_t)classes + 1, sizeof *v->class_name);
    for (; v->classes < classes; v->classes++) v->class_name[v->classes] = xstrdup(name[v->classes]);
    for (int i = 0; i < n; i++) {
        v->row[i] = i + 1;
        v->label[i] = r->by_task ? rows->of_task[i] : rows->label[i];
    }
    for (size_t i = 0; i < (size_t)n * (size_t)v->d; i++) v->x[i] = (real)m->data[i];
    make_unit(v->x, n, v->d);
}

static int read_set(const struct args *a, struct result *r, struct err *e) {
    struct store *s;
    int64_t id;
    const char *by = args_get(a, "by");
    if (by && strcmp(by, "label") && strcmp(by, "task"))
        return err_set(e, ERR_USAGE, "--by is label or task, not \"%s\"", by);
    r->by_task = by && !strcmp(by, "task");
    int rc = set_number(a->positional[0], &id, e);
    if (!rc) rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = verb_close(s, store_embedding(s, id, &r->set, e), e);
    if (!rc) rc = rowset_read(&r->rows, &r->predicted, r->set.items, r->set.rows, r->set.task, e);
    if (rc) return rc;
    take_vectors(r);
    buf_part(&r->note, "%.60s, %.60s, layer %d, %s, vectors scaled to length 1", r->set.model, r->set.task,
             r->set.layer, r->set.pool);
    if (r->set.run) buf_part(&r->note, "run %lld, step %lld", (long long)r->set.run, (long long)r->set.step);
    return 0;
}

static int read_table(const struct args *a, struct result *r, const char *file, struct err *e) {
    struct vectors_options o = { args_get(a, "labels"), args_get(a, "columns"), args_get(a, "skip"),
                                 .delimiter = args_get(a, "delimiter") };
    if (verb_header(a, &o.header, e)) return e->code;
    if (o.columns && o.skip) return err_set(e, ERR_USAGE, "give --columns or --skip, not both");
    int rc = vectors_read(&r->v, file, &o, e);
    if (!rc && r->v.notes.size) buf_part(&r->note, "%s", buf_text(&r->v.notes));
    return rc;
}

static int one_map(const struct args *a, enum map_form form, struct err *e) {
    struct result r = { .note = BUF_INIT, .pca = args_flag(a, "pca") };
    const char *file = args_get(a, "vectors");
    int rc = map_options(a, &r.options, e);
    if (!rc) rc = file ? read_table(a, &r, file, e) : read_set(a, &r, e);
    if (!rc) {
        int given = r.v.n;
        vectors_sample(&r.v, TSNE_MOST, r.options.seed);
        if (r.v.n < given) buf_part(&r.note, "an even sample of %d of %d points", r.v.n, given);
        look_at_points(&r);
        rc = layout(&r, e);
    }
    if (!rc) {
        rate(&r);
        if (form == AS_JSON) print_json(&r);
        else if (form == AS_CSV) print_csv(&r);
        else print_text(&r);
    }
    result_release(&r);
    return rc;
}

/* ---- all moments of a run's training ---- */

static void moment_json(const struct moments *m, const struct moment *k, struct buf *b) {
    buf_putc(b, '{');
    json_member_int(b, "step", k->step);
    json_member_int(b, "set", k->set);
    json_member_double(b, "kl", k->kl);
    add_rating(b, "silhouette", &k->ratings.silhouette);
    add_rating(b, "purity", &k->ratings.purity);
    json_member_double(b, "preservation", k->kept);
    if (isfinite(k->metric)) json_member_double(b, "metric", k->metric);
    else json_member_string(b, "metric", NULL);
    add_points(b, k->layout, m->rows.n);
    buf_putc(b, '}');
}

static void steps_json(const struct moments *m, uint64_t seed) {
    struct buf b = BUF_INIT;
    buf_putc(&b, '{');
    json_member_int(&b, "run", m->run);
    json_member_int(&b, "n", m->rows.n);
    json_member_int(&b, "columns", m->width);
    json_member_string(&b, "model", m->model);
    json_member_string(&b, "task", m->task);
    json_member_int(&b, "layer", m->layer);
    json_member_string(&b, "pool", m->pool);
    json_member_double(&b, "perplexity", m->used);
    json_member_int(&b, "seed", (long long)seed);
    json_member_string(&b, "metric", m->metric);
    json_member_string(&b, "caution", CAUTION);
    if (m->rows.classes) add_labels(&b, m->rows.class_name, m->rows.label, m->rows.n);
    json_add_key(&b, "steps");
    buf_putc(&b, '[');
    for (int i = 0; i < m->count; i++) {
        if (i) buf_putc(&b, ',');
        moment_json(m, &m->moment[i], &b);
    }
    buf_puts(&b, "]}");
    out_line(&b);
    buf_release(&b);
}

static void steps_csv(const struct moments *m, uint64_t seed) {
    struct buf start = BUF_INIT;
    fputs(CSV_HEAD, stdout);
    for (int k = 0; k < m->count; k++) {
        const struct moment *at = &m->moment[k];
        struct store_embedding like = { .id = at->set, .run = m->run, .step = at->step, .model = m->model,
                                        .layer = m->layer, .pool = m->pool };
        csv_start(&start, &like, m->used, seed);
        for (int i = 0; i < m->rows.n; i++)
            csv_line(buf_text(&start), m->rows.row[i], m->rows.task[m->rows.of_task[i]],
                     m->rows.label[i] < 0 ? "" : m->rows.label_name[m->rows.label[i]],
                     said_of(&m->rows, at->predicted, i), at->layout + 2 * i);
    }
    buf_release(&start);
}

static void cell(char out[32], const struct rating *r) {
    if (*r->why) snprintf(out, 32, "undefined");
    else snprintf(out, 32, "%.4f", r->value);
}

static void steps_text(const struct moments *m, uint64_t seed) {
    const char *heading[] = { "step", "set", "silhouette", "purity", m->metric, "preservation", "divergence" };
    struct table t;
    printf("run %lld: %d rows of ", (long long)m->run, m->rows.n);
    out_text(m->task);
    printf(" at %d steps, layer %d, %s, perplexity %.4g, seed %llu\n", m->count, m->layer, m->pool, m->used,
           (unsigned long long)seed);
    table_init(&t, COUNT_OF(heading), heading, "rrrrrrr");
    for (int i = 0; i < m->count; i++) {
        const struct moment *k = &m->moment[i];
        char step[32], set[32], silhouette[32], purity[32], metric[32] = "-", kept[32], kl[32];
        snprintf(step, sizeof step, "%lld", (long long)k->step);
        snprintf(set, sizeof set, "%lld", (long long)k->set);
        cell(silhouette, &k->ratings.silhouette);
        cell(purity, &k->ratings.purity);
        if (isfinite(k->metric)) snprintf(metric, sizeof metric, "%.4f", k->metric);
        snprintf(kept, sizeof kept, "%.4f", k->kept);
        snprintf(kl, sizeof kl, "%.4f", k->kl);
        table_add(&t, (const char *[]){ step, set, silhouette, purity, metric, kept, kl });
    }
    table_print(&t);
    printf("each map goes on from the one before; %s\n", CAUTION);
}

static int all_steps(const struct args *a, enum map_form form, struct err *e) {
    struct moments m = { 0 };
    struct tsne_options o;
    struct store *s;
    int64_t run;
    int rc = map_options(a, &o, e);
    if (!rc && (args_flag(a, "pca") || args_get(a, "iterations")))
        rc = err_set(e, ERR_USAGE, "--steps takes neither --pca nor --iterations");
    if (!rc && !(rc = verb_store(a, STORE_READ, &s, e))) {
        rc = store_find(s, args_get(a, "run"), &run, e);
        if (!rc) rc = moments_open(&m, s, run, args_get(a, "layer") != NULL, o.crew, e);
        rc = verb_close(s, rc, e);
    }
    m.perplexity = o.perplexity;
    for (int i = 0; !rc && i < m.count; i++) rc = moments_lay(&m, i, o.seed, e);
    if (!rc && form == AS_JSON) steps_json(&m, o.seed);
    else if (!rc && form == AS_CSV) steps_csv(&m, o.seed);
    else if (!rc) steps_text(&m, o.seed);
    moments_release(&m);
    crew_free(o.crew);
    return rc;
}

int verb_map(const struct args *a, struct err *e) {
    enum map_form form;
    bool steps = args_flag(a, "steps"), file = args_get(a, "vectors") != NULL;
    if (steps != (args_get(a, "run") != NULL) || steps + file + a->count != 1)
        return err_set(e, ERR_USAGE, "usage: petri %s %s", a->verb->name, a->verb->synopsis);
    static const char *const of_table[] = { "labels", "columns", "skip", "header", "no-header", "delimiter" };
    for (size_t i = 0; !file && i < COUNT_OF(of_table); i++)
        if (args_get(a, of_table[i])) return err_set(e, ERR_USAGE, "--%s is of a table: --vectors FILE", of_table[i]);
    int rc = read_form(a, &form, e);
    if (rc) return rc;
    return steps ? all_steps(a, form, e) : one_map(a, form, e);
}
