#include "app/verbs/map_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/text.h"

const char map_caution[] = "sizes of clusters and distances between them mean nothing; "
                           "the scores are of the original vectors";

int map_options(const struct args *a, struct tsne_options *o, struct err *e) {
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

int map_read_by(const struct args *a, bool *by_task, struct err *e) {
    const char *by = args_get(a, "by");
    *by_task = by && !strcmp(by, "task");
    if (!by || *by_task || !strcmp(by, "label")) return 0;
    return err_set(e, ERR_USAGE, "--by is label or task, not \"%s\"", by);
}

void map_add_rating(struct buf *b, const char *key, const struct rating *r) {
    if (*r->why) json_member_string(b, key, NULL);
    else json_member_double(b, key, r->value);
}

void map_add_labels(struct buf *b, char *const *name, const int32_t *label, int n) {
    json_open(b, "labels", '[');
    for (int i = 0; i < n; i++) json_member_string(b, NULL, label[i] < 0 ? NULL : name[label[i]]);
    buf_putc(b, ']');
}

void map_add_points(struct buf *b, const real *xy, int n) {
    json_open(b, "points", '[');
    for (int i = 0; i < n; i++) {
        buf_puts(b, i ? ",[" : "[");
        json_add_float(b, (float)xy[2 * i]);
        buf_putc(b, ',');
        json_add_float(b, (float)xy[2 * i + 1]);
        buf_putc(b, ']');
    }
    buf_putc(b, ']');
}

const char map_csv_head[] = "set,run,step,model,layer,pool,perplexity,seed,row,task,label,prediction,x,y\n";

/* What is the same in all lines of a map. */
void map_csv_start(struct buf *b, const struct store_embedding *m, double perplexity, uint64_t seed) {
    buf_clear(b);
    if (m->id) buf_printf(b, "%lld,", (long long)m->id);
    else buf_puts(b, ",");
    if (m->run) buf_printf(b, "%lld,%lld,", (long long)m->run, (long long)m->step);
    else buf_puts(b, ",,");
    text_csv(b, m->model ? m->model : "");
    if (m->id) buf_printf(b, ",%d,%s,", m->layer, m->pool);
    else buf_puts(b, ",,,");
    if (isnan(perplexity)) buf_puts(b, ",,"); /* PCA */
    else buf_printf(b, "%.6g,%llu,", perplexity, (unsigned long long)seed);
}

void map_csv_line(const char *start, int64_t row, const char *task, const char *label, const char *said,
                     const real *xy) {
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s%lld,", start, (long long)row);
    text_csv(&b, task);
    buf_putc(&b, ',');
    text_csv(&b, label);
    buf_putc(&b, ',');
    text_csv(&b, said);
    for (int k = 0; k < 2; k++) {
        buf_putc(&b, ',');
        json_add_float(&b, (float)xy[k]);
    }
    out_line(&b);
}

const char *map_said_of(const struct rowset *r, const int32_t *predicted, int i) {
    return predicted && predicted[i] >= 0 ? r->label_name[predicted[i]] : "";
}
