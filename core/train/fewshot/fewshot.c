#include "core/train/fewshot/fewshot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/mem.h"
#include "core/base/rng.h"
#include "core/base/text.h"
#include "core/data/leopard.h"
#include "core/method/carry.h"

static const char *const fewshot_starts[FEWSHOT_STARTS] = { "vote",   "worst", "random",
                                                            "lowest", "mean",  "named" };

const char *fewshot_start_name(enum fewshot_start s) { return fewshot_starts[s]; }

double fewshot_stop_loss(const struct fewshot *f, int k) {
    return !f->default_stop ? f->stop_loss : k <= 4 ? 1e-3 : 1e-2;
}

/* ---- settings ---- */

int fewshot_parse_ks(const char *text, struct fewshot *f, struct err *e) {
    int64_t k[FEWSHOT_KS];
    int n = text_to_ints(text, k, FEWSHOT_KS);
    bool good = n > 0;
    for (int i = 0; good && i < n; i++) {
        good = k[i] >= 1 && k[i] <= 1000000 && (!i || k[i] > k[i - 1]);
        f->k[i] = (int)k[i];
    }
    f->ks = good ? n : 0;
    if (good) return 0;
    return err_set(e, ERR_USAGE,
                   "--k %s: must be up to %d integers of at least 1 in ascending order, separated by commas, "
                   "for example 4,16,32",
                   text, FEWSHOT_KS);
}

int fewshot_parse_parts(const char *text, unsigned *parts, struct err *e) {
    char *copy = xstrdup(text), *rest = copy, *part;
    unsigned all = 0;
    bool good = true;
    while (good && (part = text_item(&rest))) {
        int i = 0;
        while (i < PLAN_PARTS && strcmp(plan_part_name(i), part)) i++;
        good = i < PLAN_PARTS && !(all & 1u << i);
        all |= good ? 1u << i : 0;
    }
    free(copy);
    if (!good)
        return err_set(e, ERR_USAGE,
                       "--tune %s: must be a list of row, generator, shared and head, each at most once",
                       text);
    *parts = all;
    return 0;
}

static void parts_text(unsigned parts, struct buf *b) {
    for (int i = 0, n = 0; i < PLAN_PARTS; i++)
        if (parts & 1u << i) buf_printf(b, "%s%s", n++ ? "," : "", plan_part_name(i));
}

void fewshot_members(const struct fewshot *f, struct buf *b) {
    struct buf parts = BUF_INIT;
    json_open(b, "k", '[');
    for (int i = 0; i < f->ks; i++) json_member_int(b, NULL, f->k[i]);
    buf_putc(b, ']');
    json_put(b, "draws:%d,start:%s,named:%i", f->draws,
             f->start == FEWSHOT_NAMED ? f->named : fewshot_starts[f->start], f->start == FEWSHOT_NAMED);
    parts_text(f->parts, &parts);
    json_put(b, "tune:%s,stop_loss:%f,usual_stop:%i,per_class:%d,files:%i,other:%i,zero:%i,keep:%i",
             buf_text(&parts), f->stop_loss, f->default_stop, f->per_class, f->files, f->other, f->zero,
             f->keep);
    buf_release(&parts);
}

static const char from[] = "the few-shot settings of the run";

static int read_ks(const json_t *o, struct fewshot *f, struct err *e) {
    const json_t *list = json_object_get(o, "k"), *item;
    size_t i;
    f->ks = 0;
    json_array_foreach(list, i, item) {
        bool good = json_is_integer(item) && i < FEWSHOT_KS && json_integer_value(item) > 0;
        if (!good) f->ks = FEWSHOT_KS + 1;
        if (f->ks < FEWSHOT_KS) f->k[f->ks++] = (int)json_integer_value(item);
    }
    if (f->ks < 1 || f->ks > FEWSHOT_KS)
        return err_set(e, ERR_INPUT, "%s: \"k\" must be an array of 1 to %d positive integers", from,
                       FEWSHOT_KS);
    return 0;
}

static int fewshot_read_start(const json_t *o, struct fewshot *f, struct err *e) {
    const char *name = "";
    bool named = false;
    json_get_string(o, from, "start", &name, e);
    json_get_bool(o, from, "named", &named, e);
    int i = 0;
    while (i < FEWSHOT_NAMED && strcmp(fewshot_starts[i], name)) i++;
    f->start = named ? FEWSHOT_NAMED : (enum fewshot_start)i;
    if ((!named && i == FEWSHOT_NAMED) || strlen(name) >= sizeof f->named)
        return err_set(e, ERR_INPUT, "%s: \"start\": invalid value \"%s\"", from, name);
    strcpy(f->named, named ? name : "");
    return e->code;
}

int fewshot_from_json(const json_t *o, struct fewshot *f, struct err *e) {
    struct err own = ERR_INIT;
    json_int_t draws = 0, per_class = 0;
    const char *tune = "";
    if (!e) e = &own;
    e->code = 0;
    *f = (struct fewshot){ 0 };
    if (read_ks(o, f, e) || fewshot_read_start(o, f, e)) return e->code;
    json_get_int(o, from, "draws", &draws, e);
    json_get_string(o, from, "tune", &tune, e);
    json_get_double(o, from, "stop_loss", &f->stop_loss, e);
    json_get_bool(o, from, "usual_stop", &f->default_stop, e);
    json_get_int(o, from, "per_class", &per_class, e);
    json_get_bool(o, from, "files", &f->files, e);
    json_get_bool(o, from, "other", &f->other, e);
    json_get_bool(o, from, "zero", &f->zero, e);
    json_get_bool(o, from, "keep", &f->keep, e);
    if (e->code) return e->code;
    if (draws < 1 || draws > FEWSHOT_DRAWS)
        return err_set(e, ERR_INPUT, "%s: \"draws\" must be between 1 and %d, not %lld", from, FEWSHOT_DRAWS,
                       (long long)draws);
    f->draws = (int)draws;
    f->per_class = per_class < 0 || per_class > 65536 ? 0 : (int)per_class;
    return *tune ? fewshot_parse_parts(tune, &f->parts, e) : 0;
}

/* ---- support sets ---- */

static int fewshot_compare(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

static int too_few(const struct dataset *d, int class, int has, int k, struct err *e) {
    if (!d->classes)
        return err_set(e, ERR_INPUT, "%s: %d labeled examples, but a support set needs %d; use a smaller --k",
                       d->path, has, k);
    char *shown = text_visible(d->class_name[class], strlen(d->class_name[class]));
    err_set(e, ERR_INPUT,
            "%s: class %.60s has %d labeled examples, but a support set needs %d; use a smaller --k", d->path,
            shown, has, k);
    free(shown);
    return e->code;
}

int fewshot_draw(const struct dataset *d, int k, uint64_t seed, int draw, int *pick, struct err *e) {
    int groups = d->classes ? d->classes : 1, n = 0;
    uint32_t *order = xmalloc((d->examples + 1) * sizeof *order);
    int *count = xcalloc((size_t)groups, sizeof *count);
    rng_permute(rng_key(seed, RNG_DRAW, (uint64_t)draw, rng_site("shots")), order, d->examples);
    for (size_t i = 0; i < d->examples; i++) {
        const struct example *row = &d->example[order[i]];
        bool known = d->classes             ? row->labeled && row->label >= 0
                     : d->kind == DATA_TEXT ? row->target_text != NULL
                                            : row->labeled;
        int *of = &count[d->classes && known ? row->label : 0];
        if (known && *of < k) {
            pick[n++] = (int)order[i];
            ++*of;
        }
    }
    int rc = 0;
    for (int c = 0; c < groups && !rc; c++)
        if (count[c] < k) rc = too_few(d, c, count[c], k, e);
    free(order);
    free(count);
    if (rc) return rc;
    qsort(pick, (size_t)n, sizeof *pick, fewshot_compare);
    return n;
}

/* ---- initialization, as JSON ---- */

void fewshot_draw_members(const struct fewshot_result *x, struct buf *b) {
    json_put(b, "k:%d,draw:%d,start:%s,near:[", x->k, x->draw, x->start);
    for (int i = 0; i < x->known; i++) json_member_double(b, NULL, x->near[i]);
    buf_putc(b, ']');
    if (!x->votes) return;
    json_open(b, "votes", '[');
    for (int i = 0; i < x->known; i++) json_member_int(b, NULL, x->votes[i]);
    buf_putc(b, ']');
}

/* Writes a number, or null if JSON cannot represent it. */
static double number_of(const json_t *v) {
    const char *s = json_string_value(v);
    if (s) return !strcmp(s, "inf") ? INFINITY : !strcmp(s, "-inf") ? -INFINITY : NAN;
    return json_is_number(v) ? json_number_value(v) : NAN;
}

void fewshot_read_draw(const json_t *o, struct fewshot_result *x) {
    const json_t *near = json_object_get(o, "near"), *votes = json_object_get(o, "votes");
    const char *start = json_string_value(json_object_get(o, "start"));
    snprintf(x->start, sizeof x->start, "%s", start ? start : "");
    x->known = (int)json_array_size(near);
    if (x->known) x->near = xcalloc((size_t)x->known, sizeof *x->near);
    if (x->known && votes) x->votes = xcalloc((size_t)x->known, sizeof *x->votes);
    for (int i = 0; i < x->known; i++) {
        x->near[i] = number_of(json_array_get(near, (size_t)i));
        if (x->votes) x->votes[i] = (int)json_integer_value(json_array_get(votes, (size_t)i));
    }
}

/* ---- results ---- */

static int by_place(const struct fewshot_result *a, const struct fewshot_result *b) {
    int task = strcmp(a->task, b->task);
    return task ? task : a->k != b->k ? a->k - b->k : a->draw - b->draw;
}

void fewshot_add(struct fewshot_results *r, struct fewshot_result *x) {
    r->of = xrealloc(r->of, (size_t)r->count + 1, sizeof *r->of);
    int at = r->count++;
    for (; at > 0 && by_place(&r->of[at - 1], x) > 0; at--) r->of[at] = r->of[at - 1];
    r->of[at] = *x;
    *x = (struct fewshot_result){ 0 };
}


const struct fewshot_metric *fewshot_metric(const struct fewshot_scores *s, const char *name) {
    for (int i = 0; i < s->count; i++)
        if (!strcmp(s->metric[i].name, name)) return &s->metric[i];
    return NULL;
}

static bool fewshot_is_of(const struct fewshot_result *x, const char *task,
                          int k) { return x->k == k && !strcmp(x->task, task); }

const struct fewshot_result *fewshot_find(const struct fewshot_results *r, const char *task, int k,
                                          int draw) {
    for (int i = 0; i < r->count; i++)
        if (r->of[i].draw == draw && fewshot_is_of(&r->of[i], task, k)) return &r->of[i];
    return NULL;
}

void fewshot_results_release(struct fewshot_results *r) {
    for (int i = 0; i < r->count; i++) {
        free(r->of[i].near);
        free(r->of[i].votes);
    }
    free(r->of);
    *r = (struct fewshot_results){ 0 };
}

struct fewshot_summary fewshot_sum_up(const struct fewshot_results *r, const char *task, int k,
                                      const char *metric, bool zero) {
    struct fewshot_summary s = { .majority = NAN };
    double sum = 0, squares = 0;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < r->count; i++) {
            const struct fewshot_result *x = &r->of[i];
            const struct fewshot_scores *scores = zero ? &x->zero : &x->scores;
            const struct fewshot_metric *m = fewshot_metric(scores, metric),
                                        *majority = fewshot_metric(scores, "majority");
            if (!fewshot_is_of(x, task, k)) continue;
            if (majority && !*majority->undefined) s.majority = majority->value;
            if (!m || *m->undefined) continue;
            if (!pass) {
                sum += m->value;
                s.n++;
            } else {
                squares += (m->value - sum / s.n) * (m->value - sum / s.n);
            }
        }
    s.mean = s.n ? sum / s.n : NAN;
    s.sd = s.n > 1 ? sqrt(squares / (s.n - 1)) : NAN;
    return s;
}

const char *fewshot_most(const struct fewshot_results *r, const char *task, int k) {
    const char *found = NULL;
    int most = 0;
    for (int i = 0; i < r->count; i++) {
        const struct fewshot_result *x = &r->of[i];
        int n = 0;
        if (!fewshot_is_of(x, task, k) || !*x->start) continue;
        for (int j = 0; j < r->count; j++)
            n += fewshot_is_of(&r->of[j], task, k) && !strcmp(r->of[j].start, x->start);
        if (n <= most) continue;
        most = n;
        found = x->start;
    }
    return found;
}

/* ---- tables as JSON ---- */

static void vote_json(const struct fewshot_results *r, const char *task, int k, const char *const *known,
                      struct buf *b) {
    int tasks = 0;
    for (int i = 0; i < r->count; i++)
        if (fewshot_is_of(&r->of[i], task, k) && r->of[i].known) tasks = r->of[i].known;
    json_open(b, "vote", '[');
    for (int t = 0; t < tasks; t++) {
        int draws = 0, rows = 0, n = 0;
        bool cosine = false;
        double near = 0;
        for (int i = 0; i < r->count; i++) {
            const struct fewshot_result *x = &r->of[i];
            if (!fewshot_is_of(x, task, k) || !x->known) continue;
            n++;
            near += x->near[t];
            cosine = x->votes != NULL;
            rows += x->votes ? x->votes[t] : 0;
            draws += !strcmp(x->start, known[t]);
        }
        json_put(b, "{task:%s,draws:%d", known[t], draws);
        if (cosine) json_member_int(b, "rows", rows);
        json_member_double(b, cosine ? "cosine" : "loss", near / n);
        buf_putc(b, '}');
    }
    buf_putc(b, ']');
}

static void summary_json(const struct fewshot_summary *s, struct buf *b) {
    json_put(b, "mean:%g,sd:%g,n:%d", s->mean, s->sd, s->n);
}

static void draws_json(const struct fewshot_results *r, const char *task, int k, int draws,
                       const char *metric, struct buf *b) {
    json_open(b, "draws", '[');
    for (int d = 0; d < draws; d++) {
        const struct fewshot_result *x = fewshot_find(r, task, k, d);
        const struct fewshot_metric *m = x ? fewshot_metric(&x->scores, metric) : NULL;
        if (!x || *x->left_out) continue;
        json_put(b, "{draw:%d,prototype:%s", d, *x->start ? x->start : NULL);
        if (m && !*m->undefined) json_member_double(b, "value", m->value);
        else json_member_string(b, "value", NULL);
        if (m && *m->undefined) json_member_string(b, "undefined", m->undefined);
        json_put(b, "steps:%jd,loss:%f}", x->steps, x->loss);
    }
    buf_putc(b, ']');
}

/* Lists the draws that were not trained. */
static void left_out_json(const struct fewshot_results *r, const char *task, int k, struct buf *b) {
    bool any = false;
    for (int i = 0; i < r->count; i++) {
        const struct fewshot_result *x = &r->of[i];
        if (!fewshot_is_of(x, task, k) || !*x->left_out) continue;
        if (!any) {
            json_open(b, "left_out", '[');
        }
        any = true;
        json_put(b, "{draw:%d,why:%s}", x->draw, x->left_out);
    }
    if (any) buf_putc(b, ']');
}

/* Returns the published results of a task by name, as shares. */
static void published_json(const char *task, int k, struct buf *b) {
    const struct leopard_cell *x;
    bool any = false;
    for (int i = 0; (x = leopard_cell(i)); i++) {
        if (!x->task || strcmp(x->task, task) || x->k != k) continue;
        if (!any) {
            json_open(b, "published", '[');
        }
        any = true;
        json_put(b, "{method:%s", x->method);
        json_member_double(b, "mean", round(10 * x->mean) / 1000); /* percent, with one decimal */
        json_put(b, "sd:%g}", round(10 * x->sd) / 1000);
    }
    if (any) buf_putc(b, ']');
}

static void one_json(const struct fewshot_results *r, const struct fewshot *f, const struct fewshot_table *t,
                     int k, struct buf *b) {
    struct fewshot_summary s = fewshot_sum_up(r, t->task, k, t->metric, false);
    if (t->method) json_member_string(b, "task", t->task);
    json_member_int(b, "k", k);
    if (t->method) json_member_string(b, "method", t->method);
    if (t->method && t->run) json_member_int(b, "run", t->run);
    if (t->method && t->from) json_member_int(b, "from", t->from);
    const char *most = fewshot_most(r, t->task, k);
    if (!t->method || most) {
        json_member_string(b, "prototype", most);
        vote_json(r, t->task, k, t->known, b);
    }
    json_member_string(b, "metric", t->metric);
    summary_json(&s, b);
    json_member_measured(b, "majority", s.majority);
    if (t->method) json_member_measured(b, "f1_macro", fewshot_sum_up(r, t->task, k, "f1_macro", false).mean);
    if (f->zero) {
        struct fewshot_summary zero = fewshot_sum_up(r, t->task, k, t->metric, true);
        json_open(b, "zero", '{');
        summary_json(&zero, b);
        buf_putc(b, '}');
    }
    draws_json(r, t->task, k, f->draws, t->metric, b);
    left_out_json(r, t->task, k, b);
    if (t->method && f->files) published_json(t->task, k, b);
}

void fewshot_results_json(const struct fewshot_results *r, const struct fewshot *f,
                          const struct fewshot_table *t, struct buf *b) {
    for (int i = 0; i < f->ks; i++) {
        json_open(b, NULL, '{');
        one_json(r, f, t, f->k[i], b);
        buf_putc(b, '}');
    }
}
