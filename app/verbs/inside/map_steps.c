/* petri map --steps: a map of each saved step of a run, and its scores. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/moments.h"
#include "app/insight/probe.h"
#include "app/verbs/inside/map_output.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* The maps, and the scores of the retriever's output for the same examples. */
struct played_steps {
    struct moments shown, retriever; /* retriever.count 0: none, or it is shown itself */
    bool by_task;
    uint64_t seed;
};

static const struct ratings *scores_of(const struct played_steps *p, const struct moment *k) {
    return p->by_task ? &k->by_task : &k->ratings;
}

/* Returns the retriever's moment of the same step, or NULL. */
static const struct moment *retrieved_at(const struct played_steps *p, int64_t step) {
    for (int i = 0; i < p->retriever.count; i++)
        if (p->retriever.moment[i].step == step) return &p->retriever.moment[i];
    return NULL;
}

static void moment_json(const struct played_steps *p, const struct moment *k, struct buf *b) {
    const struct moments *m = &p->shown;
    const struct moment *z = retrieved_at(p, k->step);
    json_put(b, "{step:%jd,set:%jd,kl:%f,silhouette:%g,purity:%g", k->step, k->set, k->kl,
             scores_of(p, k)->silhouette.value, scores_of(p, k)->purity.value);
    if (z)
        json_put(b, "retriever:{set:%jd,silhouette:%g,purity:%g}", z->set, scores_of(p, z)->silhouette.value,
                 scores_of(p, z)->purity.value);
    json_put(b, "preservation:%f,metric:%g", k->preservation, k->metric);
    map_add_points(b, k->layout, m->rows.n);
    buf_putc(b, '}');
}

static void steps_json(const struct played_steps *p) {
    const struct moments *m = &p->shown;
    struct buf b = BUF_INIT;
    json_put(&b, "{run:%jd,n:%d,columns:%d,model:%s,task:%s,layer:%d,pool:%s,perplexity:%f,seed:%ju,"
             "metric:%s,by:%s,caution:%s", m->run, m->rows.n, m->width, m->model, m->task, m->layer, m->pool,
             m->used, p->seed, m->metric, p->by_task ? "task" : "label", map_caution);
    if (m->rows.classes) map_add_labels(&b, m->rows.class_name, m->rows.label, m->rows.n);
    json_open(&b, "steps", '[');
    for (int i = 0; i < m->count; i++) moment_json(p, &m->moment[i], &b);
    buf_puts(&b, "]}");
    out_line(&b);
}

static void steps_csv(const struct played_steps *p) {
    const struct moments *m = &p->shown;
    struct buf start = BUF_INIT;
    fputs(map_csv_head, stdout);
    for (int k = 0; k < m->count; k++) {
        const struct moment *at = &m->moment[k];
        struct store_embedding like = { .id = at->set, .run = m->run, .step = at->step, .model = m->model,
                                        .layer = m->layer, .pool = m->pool };
        map_csv_start(&start, &like, m->used, p->seed);
        for (int i = 0; i < m->rows.n; i++)
            map_csv_line(buf_text(&start), m->rows.row[i], m->rows.task[m->rows.of_task[i]],
                     m->rows.label[i] < 0 ? "" : m->rows.label_name[m->rows.label[i]],
                     map_said_of(&m->rows, at->predicted, i), at->layout + 2 * i);
    }
    buf_release(&start);
}

struct step_line {
    int64_t step, set;
    double silhouette, purity, metric, preservation, kl, of_retriever[2];
};

static void steps_text(const struct played_steps *p) {
    const struct moments *m = &p->shown;
    const int retrieved = p->retriever.count
                              ? 0
                              : REPORT_JSON; /* the forms that have its columns: all or, here, none */
    const struct report_column column[] = {
        { "step", REPORT_LONG, .offset = offsetof(struct step_line, step) },
        { "set", REPORT_LONG, .offset = offsetof(struct step_line, set) },
        { "silhouette", REPORT_DOUBLE, offsetof(struct step_line, silhouette), .decimals = 4,
          .none = "undefined" },
        { "purity", REPORT_DOUBLE, offsetof(struct step_line, purity), .decimals = 4, .none = "undefined" },
        { m->metric, REPORT_DOUBLE, offsetof(struct step_line, metric), .decimals = 4 },
        { "preservation", REPORT_DOUBLE, offsetof(struct step_line, preservation), .decimals = 4 },
        { "divergence", REPORT_DOUBLE, offsetof(struct step_line, kl), .decimals = 4 },
        { "retriever", REPORT_DOUBLE, offsetof(struct step_line, of_retriever[0]), .decimals = 4,
          .forms = retrieved },
        { "purity", REPORT_DOUBLE, offsetof(struct step_line, of_retriever[1]), .decimals = 4,
          .forms = retrieved },
        { 0 },
    };
    printf("run %lld: %d examples of ", (long long)m->run, m->rows.n);
    out_text(m->task);
    printf(" saved at %d steps, layer %d, %s, perplexity %.4g, seed %llu\n", m->count, m->layer, m->pool,
           m->used,
           (unsigned long long)p->seed);
    if (p->by_task) puts("silhouette and purity by task");
    struct step_line *row = xcalloc((size_t)m->count + 1, sizeof *row);
    for (int i = 0; i < m->count; i++) {
        const struct moment *k = &m->moment[i], *z = retrieved_at(p, k->step);
        const struct ratings *s = scores_of(p, k), *of_z = z ? scores_of(p, z) : NULL;
        row[i] = (struct step_line){ k->step,
                                     k->set,
                                     s->silhouette.value,
                                     s->purity.value,
                                     k->metric,
                                     k->preservation,
                                     k->kl,
                                     { z ? of_z->silhouette.value : NAN, z ? of_z->purity.value : NAN } };
    }
    out_rows(column, REPORT_TABLE, row, m->count, sizeof *row);
    free(row);
    printf("each map is initialized from the previous one; %s\n", map_caution);
}

static int open_steps(const struct args *a, struct played_steps *p, struct crew *crew, struct err *e) {
    bool retriever = a->layer == PROBE_RETRIEVER;
    struct store *s;
    int64_t run;
    if (!retriever && a->layer != PROBE_ALL_LAYERS)
        return err_set(
            e, ERR_USAGE,
            "--layer: with --steps, must be retriever or omitted, found \"%lld\" (only the last layer is "
            "saved)",
            (long long)a->layer);
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    rc = store_find(s, a->run, &run, e);
    if (!rc) rc = moments_open(&p->shown, s, run, retriever, crew, e);
    if (!rc && !retriever) moments_open(&p->retriever, s, run, true, crew, &(struct err)ERR_INIT);
    if (!rc && p->by_task && p->shown.rows.tasks < 2)
        rc = err_set(e, ERR_USAGE, "--by task: requires several tasks, found only %s", p->shown.task);
    return verb_close(s, rc, e);
}

int map_all_steps(const struct args *a, enum map_form form, struct err *e) {
    struct played_steps p = { .by_task = a->map.by_task };
    struct tsne_options o;
    int rc = 0;
    map_options(a, &o);
    rc = open_steps(a, &p, o.crew, e);
    p.seed = o.seed;
    p.shown.perplexity = o.perplexity;
    for (int i = 0; !rc && i < p.shown.count; i++) rc = moments_lay(&p.shown, i, o.seed, e);
    if (!rc && form == AS_JSON) steps_json(&p);
    else if (!rc && form == AS_CSV) steps_csv(&p);
    else if (!rc) steps_text(&p);
    moments_release(&p.shown);
    moments_release(&p.retriever);
    crew_free(o.crew);
    return rc;
}
