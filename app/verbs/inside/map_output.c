#include "app/verbs/inside/map_output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/text.h"

const char map_caution[] = "sizes of clusters and distances between them are not meaningful; scores are "
                           "computed on the original vectors";

void map_options(const struct args *a, struct tsne_options *o) {
    tsne_options_init(o);
    verb_crew(a, &o->crew);
    if (a->map.iterations) o->iterations = (int)a->map.iterations;
    o->seed = (uint64_t)a->seed;
    o->perplexity = a->map.perplexity;
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

/* Writes the part that is equal in all lines of a map. */
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
