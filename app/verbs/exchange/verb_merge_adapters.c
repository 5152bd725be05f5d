/* merge-adapters: the adapters of several runs, merged into a new run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/history/opened.h"
#include "app/history/ready_run.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/exchange/combine.h"

struct joining {
    struct opened run[COMBINE_RUNS];
    struct combine_part part[COMBINE_RUNS];
    struct combination how;
    int64_t id[COMBINE_RUNS];
};

/* ---- options ---- */

/* Reads "0.7,0.3", one weight per run; without the option all are equal. */
static int read_merge_weights(const struct args *a, struct joining *j, struct err *e) {
    const char *given = a->merge.weights;
    char *text = xstrdup(given ? given : ""), *rest = text, *one;
    int n = 0, rc = 0;
    for (; given && !rc && (one = text_item(&rest)); n++) {
        double w;
        if (!text_to_double(one, &w) || !isfinite(w) || w == 0)
            rc = err_set(e, ERR_USAGE, "--weights: must be numbers other than 0, found \"%s\"", one);
        else if (n < j->how.parts) j->part[n].weight = w;
    }
    free(text);
    if (!rc && given && n != j->how.parts)
        rc = err_set(e, ERR_USAGE, "--weights: found %d for %d runs; give one per run, for example 0.7,0.3",
            n,
                     j->how.parts);
    for (int i = 0; i < j->how.parts && !given; i++) j->part[i].weight = 1.0 / j->how.parts;
    return rc;
}

/* Finds the runs, each once, and the run that provides the head. */
static int find_runs(const struct args *a, struct store *s, struct joining *j, struct err *e) {
    const char *head = a->merge.head;
    int64_t of = 0;
    for (int i = 0; i < a->count; i++) {
        if (store_find(s, a->positional[i], &j->id[i], e)) return e->code;
        for (int k = 0; k < i; k++)
            if (j->id[k] == j->id[i])
                return err_set(e, ERR_USAGE, "run %lld: given twice", (long long)j->id[i]);
    }
    j->how.head = -1;
    if (!head) return 0;
    if (store_find(s, head, &of, e)) return e->code;
    for (int i = 0; i < a->count; i++)
        if (j->id[i] == of) j->how.head = i;
    return j->how.head < 0
               ? err_set(e, ERR_USAGE, "--head: run %lld is not one of the merged runs", (long long)of)
               : 0;
}

static int open_runs(const struct args *a, struct store *s, struct joining *j, struct buf *said,
                     struct err *e) {
    int rc = 0;
    for (int i = 0; i < j->how.parts && !rc; i++) {
        struct opened *o = &j->run[i];
        rc = opened_run(o, s, j->id[i], NULL, &(struct backbone_hint){ .given = a->model }, said, e);
        j->part[i].name = xprintf("run %lld", (long long)j->id[i]);
        j->part[i].predictor = o->predictor;
        j->part[i].config = &o->config;
        if (rc) err_prefix(e, "%s", j->part[i].name);
    }
    j->how.part = j->part;
    return rc;
}

/* ---- the run ---- */

/* Describes the merged runs with the hashes of their parameters, which identify them even if their numbers
 * change. */
static int describe(struct store *s, const struct joining *j, struct imported *x, struct err *e) {
    struct buf b = BUF_INIT;
    int rc = 0;
    buf_putc(&b, '[');
    for (int i = 0; i < j->how.parts && !rc; i++) {
        struct store_run run;
        if ((rc = store_run(s, j->id[i], &run, e))) break;
        json_put(&b, "{run:%jd,method:%s,weights_sha256:%s,weight:%f}", j->id[i], run.method,
                 run.weights_sha256, j->part[i].weight);
        store_run_release(&run);
    }
    buf_putc(&b, ']');
    x->parents = buf_take(&b);
    x->version = xstrdup(combine_names[j->how.how]);
    if (j->how.how == COMBINE_TIES) notes_add(&x->assumed, "density %g", j->how.density);
    if (j->how.how != COMBINE_CONCAT)
        notes_add(&x->assumed, "W_d and W_u are averaged separately, so the result is not the weighted "
                               "sum of the runs' updates (--how concat computes that sum)");
    if (j->how.head >= 0)
        notes_add(&x->assumed, "the head and its description are those of %s", j->part[j->how.head].name);
    return rc;
}

static int tell(const struct args *a, struct store *s, int64_t id, const struct imported *x, struct err *e) {
    char *ending = xprintf("merged by %s", x->version);
    int rc = verb_report_run(a, s, id, ending, e);
    free(ending);
    for (size_t i = 0; !rc && !a->json && i < x->assumed.count; i++) {
        printf("  ");
        out_text(x->assumed.line[i]);
        putchar('\n');
    }
    return rc;
}

static int join_runs(const struct args *a, struct store *s, struct joining *j, struct err *e) {
    struct imported x = { 0 };
    struct buf said = BUF_INIT;
    int64_t id;
    struct history_row row = { .note = a->note };
    int rc = verb_run_name(a, &row.name, e);
    if (!rc) rc = find_runs(a, s, j, e);
    row.parent = rc ? 0 : j->id[0];
    if (!rc) rc = open_runs(a, s, j, &said, e);
    struct model *m = rc ? NULL : model_share(j->run[0].model->folder, e);
    if (!rc && !m) rc = e->code;
    if (!rc) rc = combine_adapters(&j->how, m, &x, e);
    if (!rc) {
        rc = describe(s, j, &x, e);
        if (!rc) out_report(buf_text(&said));
        if (!rc) rc = ready_run(s, &x, &row, &id, e);
        if (!rc) rc = tell(a, s, id, &x, e);
        import_release(&x);
    }
    buf_release(&said);
    return rc;
}

int verb_merge_adapters(const struct args *a, struct err *e) {
    struct joining j = { .how = { .parts = a->count, .how = (enum combine_how)a->merge.how,
                                  .density = a->merge.density } };
    struct store *s;
    int rc = a->count > COMBINE_RUNS
                 ? err_set(e, ERR_USAGE, "petri merge-adapters: too many runs: found %d, at most %d",
                     a->count, COMBINE_RUNS)
                 : 0;
    if (!rc) rc = read_merge_weights(a, &j, e);
    if (!rc && !j.how.density && j.how.how == COMBINE_TIES)
        rc = err_set(e, ERR_USAGE,
            "--how ties: requires --density, the share of parameters to retain, for example 0.5");
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (rc) return rc;
    rc = join_runs(a, s, &j, e);
    for (int i = 0; i < j.how.parts; i++) {
        opened_release(&j.run[i]);
        free(j.part[i].name);
    }
    return verb_close(s, rc, e);
}
