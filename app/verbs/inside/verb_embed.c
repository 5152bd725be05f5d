/* petri embed: saves vectors of the examples of a task; lists saved sets. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/open.h"
#include "app/verbs/probe_options.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* ---- the list ---- */

static const struct report_column SET[] = {
    { "set", REPORT_LONG, .offset = offsetof(struct store_embedding, id) },
    { "run", REPORT_ID, .offset = offsetof(struct store_embedding, run) },
    { "step", REPORT_LONG, .offset = offsetof(struct store_embedding, step) },
    { "model", REPORT_TEXT, .offset = offsetof(struct store_embedding, model) },
    { "task", REPORT_TEXT, .offset = offsetof(struct store_embedding, task) },
    { "split", REPORT_TEXT, .offset = offsetof(struct store_embedding, split) },
    { "rows", REPORT_INT, .offset = offsetof(struct store_embedding, rows) },
    { "columns", REPORT_INT, .offset = offsetof(struct store_embedding, columns) },
    { "layer", REPORT_INT, .offset = offsetof(struct store_embedding, layer) },
    { "pool", REPORT_TEXT, .offset = offsetof(struct store_embedding, pool) },
    { "seed", REPORT_SEED, .offset = offsetof(struct store_embedding, seed) },
    { "created", REPORT_TIME, offsetof(struct store_embedding, created), .forms = REPORT_DATA },
    { 0 },
};

static int verb_embed_list(const struct args *a, struct err *e) {
    struct store *s;
    struct store_embeddings v;
    int64_t run = -1;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    if (a->run) rc = store_find(s, a->run, &run, e);
    if (!rc) rc = store_embeddings(s, run, &v, e);
    if (!rc) {
        if (verb_rows(a, SET, v.set, v.count, sizeof *v.set))
            printf("%zu %s of vectors\n", v.count, v.count == 1 ? "set" : "sets");
        store_embeddings_release(&v);
    }
    return verb_close(s, rc, e);
}

/* ---- a new set ---- */

static int print_set(const struct args *a, struct store *s, int64_t id, bool new, struct err *e) {
    struct store_embedding m;
    int rc = store_embedding(s, id, &m, e);
    if (rc) return rc;
    if (a->json) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '{');
        report_members(SET, &m, &b);
        json_put(&b, "new:%i}", new);
        out_line(&b);
    } else {
        printf("set %lld%s: %d examples of ", (long long)id, new ? "" : " (already saved)", m.rows);
        out_text(m.task);
        printf(" (%s), layer %d, %s; draw it with petri map %lld\n", m.split, m.layer, m.pool, (long long)id);
    }
    store_embedding_release(&m);
    return 0;
}

int verb_embed_rows(const struct args *a, struct probe_options *q, struct store *s, int64_t *set, bool *new,
                    struct err *e) {
    struct probe p = { 0 };
    int64_t run = 0, layer;
    const char *typed = a->run;
    int rc = typed ? store_find(s, typed, &run, e) : 0;
    struct buf said = BUF_INIT;
    bool retriever = a->layer == PROBE_RETRIEVER;
    const struct backbone_hint hint = { .given = a->model };
    if (!rc)
        rc = typed ? probe_options_open_run(&p, a, s, run, retriever, &hint, &said, e)
                   : probe_open_model(&p, verb_model(a), e);
    if (!rc) rc = verb_precision(&p.opened, a, e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    layer = p.layers;
    if (!rc) rc = probe_options_layer(a, 0, p.layers, &layer, e);
    q->draw.retrieved = layer == PROBE_RETRIEVER;
    if (!rc) rc = probe_options_draw(q, &p, e);
    q->look.store = s;
    q->look.keep = true;
    if (!rc) rc = probe_embed(&p, (int)layer, &q->look, e);
    if (!rc) {
        *set = p.set[probe_place(&p, (int)layer)];
        *new = p.made > 0;
    }
    probe_release(&p);
    return rc;
}

int verb_embed(const struct args *a, struct err *e) {
    struct probe_options q;
    struct store *s;
    if (a->list) return verb_embed_list(a, e);
    int rc = probe_options_read(&q, a, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) {
        int64_t set;
        bool new;
        rc = verb_embed_rows(a, &q, s, &set, &new, e);
        if (!rc) rc = print_set(a, s, set, new, e);
        rc = verb_close(s, rc, e);
    }
    probe_options_release(&q);
    return rc;
}
