/* petri map: vectors in two dimensions with scores; of a saved set, of examples that are embedded and saved
 * as by petri embed, of a file, or of all saved steps of a run. */
#include "app/verbs/verbs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/moments.h"
#include "app/verbs/probe_options.h"
#include "app/verbs/inside/map_output.h"
#include "app/verbs/output.h"
#include "core/analysis/tsne.h"
#include "core/base/clock.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/vectors.h"

/* A map and the scores of the vectors that it shows. */
struct result {
    struct vectors v;
    struct store_embedding set; /* id 0: of a file */
    struct rowset rows;         /* of a set: v.row counts them from 1 */
    int32_t *predicted;
    bool by_task, pca;
    struct tsne_options options;
    double kl, seconds; /* kl: NaN for PCA */
    double preservation; /* of 10 neighbors */
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

struct point {
    const real *x;
    size_t size;
};

static int verb_map_by_bytes(const void *pa, const void *pb) {
    const struct point *a = pa, *b = pb;
    return memcmp(a->x, b->x, a->size);
}

/* Counts the points that are equal to an earlier one, bit for bit. */
static int count_repeats(const struct vectors *v) {
    struct point *p = xmalloc(((size_t)v->n + 1) * sizeof *p);
    int repeats = 0;
    for (int i = 0; i < v->n; i++)
        p[i] = (struct point){ v->x + (size_t)i * (size_t)v->d, (size_t)v->d * sizeof *v->x };
    qsort(p, (size_t)v->n, sizeof *p, verb_map_by_bytes);
    for (int i = 1; i < v->n; i++) repeats += !verb_map_by_bytes(&p[i - 1], &p[i]);
    free(p);
    return repeats;
}

/* Whether the points are equal up to rounding. */
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
        buf_part(&r->note, "%d of %d points %s", r->repeats, r->v.n,
                 r->repeats == 1 ? "is an exact duplicate" : "are exact duplicates");
    if (r->repeats < r->v.n - 1 && equal_but_rounding(&r->v))
        buf_part(&r->note,
                 "the points are equal up to rounding: the map shows floating-point noise");
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
        buf_part(&r->note,
                 "perplexity %.3g cannot be reached for %d of %d points, which have more neighbors at equal "
                 "distance",
                 r->options.perplexity, r->unreached, v->n);
    if (r->options.perplexity < asked)
        buf_part(&r->note, "perplexity lowered from %g to %.3g, the maximum for %d points", asked,
                 r->options.perplexity, v->n);
    return 0;
}

static void verb_map_rate(struct result *r) {
    const struct vectors *v = &r->v;
    int64_t *row = xmalloc(((size_t)v->n + 1) * sizeof *row);
    for (int i = 0; i < v->n; i++) row[i] = r->set.id ? r->rows.row[v->row[i] - 1] : v->row[i];
    ratings_of(&r->ratings, v->x, v->n, v->d, v->label, v->classes, row);
    r->preservation = score_preservation(v->x, v->d, r->points, v->n, RATINGS_NEAR);
    free(row);
}

/* ---- output ---- */

static const struct report_column SOURCE[] = {
    { "set", REPORT_LONG, .offset = offsetof(struct store_embedding, id) },
    { "run", REPORT_ID, .offset = offsetof(struct store_embedding, run) },
    { "step", REPORT_LONG, .offset = offsetof(struct store_embedding, step) },
    { "model", REPORT_TEXT, .offset = offsetof(struct store_embedding, model) },
    { "task", REPORT_TEXT, .offset = offsetof(struct store_embedding, task) },
    { "layer", REPORT_INT, .offset = offsetof(struct store_embedding, layer) },
    { "pool", REPORT_TEXT, .offset = offsetof(struct store_embedding, pool) },
    { 0 },
};

static void verb_map_print_json(const struct result *r) {
    const struct ratings *k = &r->ratings;
    struct buf b = BUF_INIT;
    json_put(&b, "{n:%d,columns:%d", r->v.n, r->v.d);
    if (r->set.id) report_members(SOURCE, &r->set, &b);
    json_put(&b, "method:%s,kl:%g,seconds:%f", r->pca ? "pca" : "t-sne", r->kl, r->seconds);
    if (!r->pca)
        json_put(&b, "perplexity:%f,iterations:%d,seed:%ju", r->options.perplexity, r->options.iterations,
                 r->options.seed);
    json_put(&b, "by:%1s,silhouette:%g,purity:%g,purity_k:%+d,preservation:%f,repeats:%d",
             !r->set.id ? NULL : r->by_task ? "task" : "label", k->silhouette.value, k->purity.value,
             *k->purity.why ? 0 : k->near, r->preservation, r->repeats);
    if (!r->pca) json_member_int(&b, "perplexity_unreached", r->unreached);
    json_put(&b, "undefined:{kl:%1s,silhouette:%1s,purity:%1s},note:%-s,caution:%s",
             r->pca ? "not defined for pca" : NULL, k->silhouette.why, k->purity.why, buf_text(&r->note),
             map_caution);
    if (r->v.classes) map_add_labels(&b, r->v.class_name, r->v.label, r->v.n);
    map_add_points(&b, r->points, r->v.n);
    buf_putc(&b, '}');
    out_line(&b);
}

static void verb_map_print_csv(const struct result *r) {
    struct buf start = BUF_INIT;
    map_csv_start(&start, &r->set, r->pca ? NAN : r->options.perplexity, r->options.seed);
    fputs(map_csv_head, stdout);
    for (int i = 0; i < r->v.n; i++) {
        const real *xy = r->points + 2 * i;
        int at = r->v.row[i] - 1, c = r->v.label[i];
        if (!r->set.id) map_csv_line(buf_text(&start), at + 1, "", c < 0 ? "" : r->v.class_name[c], "", xy);
        else
            map_csv_line(buf_text(&start), r->rows.row[at], r->rows.task[r->rows.of_task[at]],
                     r->rows.label[at] < 0 ? "" : r->rows.label_name[r->rows.label[at]],
                     map_said_of(&r->rows, r->predicted, at), xy);
    }
    buf_release(&start);
}

static void print_rating(const char *name, const struct rating *r, int k) {
    if (*r->why) {
        printf("%-12s undefined (", name);
        out_text(r->why);
        puts(")");
    } else if (k) {
        printf("%-12s %.6f  of the %d nearest neighbors have the same label\n", name, r->value, k);
    } else {
        printf("%-12s %.6f\n", name, r->value);
    }
}

static void verb_map_print_text(const struct result *r) {
    printf("%-12s %d of %d dimensions\n", "points", r->v.n, r->v.d);
    if (!r->pca)
        printf("%-12s %.4f  after %d iterations, perplexity %.4g, seed %llu\n", "divergence", r->kl,
               r->options.iterations, r->options.perplexity, (unsigned long long)r->options.seed);
    printf("%-12s %.2f\n", "seconds", r->seconds);
    print_rating("silhouette", &r->ratings.silhouette, 0);
    print_rating("purity", &r->ratings.purity, r->ratings.near);
    if (isfinite(r->preservation))
        printf("%-12s %.4f  of the %d nearest neighbors are preserved in the map\n", "preservation",
               r->preservation, r->v.n > RATINGS_NEAR ? RATINGS_NEAR : r->v.n - 1);
    if (r->note.size) {
        out_text(buf_text(&r->note));
        putchar('\n');
    }
    printf("%s; --json and --csv print the points\n", map_caution);
}

/* ---- a saved set ---- */

/* Converts the set to vectors of norm 1, labeled by class or by task. */
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

/* Draws and embeds examples, and saves the set. */
static int draw_set(const struct args *a, int64_t *id, struct err *e) {
    struct probe_options q;
    struct store *s;
    bool new;
    int rc = probe_options_read(&q, a, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) rc = verb_close(s, verb_embed_rows(a, &q, s, id, &new, e), e);
    probe_options_release(&q);
    return rc;
}

static int read_set(const struct args *a, struct result *r, struct err *e) {
    struct store *s;
    int64_t id;
    r->by_task = a->map.by_task;
    const char *typed = a->positional[0];
    int rc = a->count ? 0 : draw_set(a, &id, e);
    if (a->count && !text_to_int(*typed == '#' ? typed + 1 : typed, &id))
        rc = err_set(e, ERR_USAGE,
            "petri map: SET must be the id of a set, found \"%s\"; list the sets with petri embed --list",
            typed);
    if (!rc) rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = verb_close(s, store_embedding(s, id, &r->set, e), e);
    if (!rc) rc = rowset_read(&r->rows, &r->predicted, r->set.items, r->set.rows, r->set.task, e);
    if (rc) return rc;
    take_vectors(r);
    buf_part(&r->note, "%.60s, %.60s, layer %d, %s, vectors normalized", r->set.model, r->set.task,
             r->set.layer, r->set.pool);
    if (r->set.run) buf_part(&r->note, "run %lld, step %lld", (long long)r->set.run, (long long)r->set.step);
    if (!a->count) buf_part(&r->note, "saved as set %lld", (long long)id);
    return 0;
}

static int read_table(const struct args *a, struct result *r, const char *file, struct err *e) {
    struct vectors_options o = { a->map.labels, a->map.columns, a->map.skip,
                                 .delimiter = a->delimiter, .header = verb_header(a) };
    int rc = vectors_read(&r->v, file, &o, e);
    if (!rc && r->v.notes.size) buf_part(&r->note, "%s", buf_text(&r->v.notes));
    return rc;
}

static int one_map(const struct args *a, enum map_form form, struct err *e) {
    struct result r = { .note = BUF_INIT, .pca = a->map.pca };
    const char *file = a->map.vectors;
    map_options(a, &r.options);
    int rc = file ? read_table(a, &r, file, e) : read_set(a, &r, e);
    if (!rc) {
        int given = r.v.n;
        vectors_sample(&r.v, TSNE_MOST, r.options.seed);
        if (r.v.n < given) buf_part(&r.note, "a sample of %d of %d points", r.v.n, given);
        look_at_points(&r);
        rc = layout(&r, e);
    }
    if (!rc) {
        verb_map_rate(&r);
        if (form == AS_JSON) verb_map_print_json(&r);
        else if (form == AS_CSV) verb_map_print_csv(&r);
        else verb_map_print_text(&r);
    }
    result_release(&r);
    return rc;
}

/* Refuses options that do not apply to this kind of map. */
static int refuse_others(const struct args *a, bool file, bool drawn, struct err *e) {
    const struct map_options *m = &a->map;
    if (!file && !drawn && (a->header || a->no_header || a->delimiter))
        return err_set(e, ERR_USAGE, "--%s: requires --vectors FILE",
                       a->header      ? "header"
                       : a->no_header ? "no-header"
                                      : "delimiter");
    const char *draws = a->task ? "task" : a->unseen ? "unseen" : a->split ? "split" : a->rows ? "rows"
                        : a->layer != PROBE_ALL_LAYERS && !m->steps                            ? "layer"
                        : a->pool != OVER_USUAL                                                ? "pool"
                                                                                               : NULL;
    if (!drawn && draws)
        return err_set(e, ERR_USAGE, "--%s: cannot be combined with SET, --vectors or --steps", draws);
    return 0;
}

int verb_map(const struct args *a, struct err *e) {
    enum map_form form = a->json ? AS_JSON : a->csv ? AS_CSV : AS_TEXT;
    bool steps = a->map.steps, file = a->map.vectors != NULL, run = a->run != NULL;
    bool drawn = !steps && (run || a->task || a->model) && !file && !a->count;
    bool odd = (run && !steps && !drawn) || (a->model && !drawn);
    if (odd || steps + file + drawn + a->count != 1)
        return err_set(e, ERR_USAGE,
            "petri map: requires one of SET, --run, --model, --task and --vectors; see petri map --help");
    int rc = refuse_others(a, file, drawn, e);
    if (rc) return rc;
    return steps ? map_all_steps(a, form, e) : one_map(a, form, e);
}
