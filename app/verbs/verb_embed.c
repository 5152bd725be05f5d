/* petri embed: vectors of a task's rows, kept; and the list of what is kept. */
#include "app/verbs/verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/verbs/asked.h"
#include "app/verbs/output.h"
#include "core/base/json.h"
#include "core/base/mem.h"

/* ---- what is kept ---- */

void verb_set_members(const struct store_embedding *m, struct buf *b) {
    json_member_int(b, "set", m->id);
    if (m->run) json_member_int(b, "run", m->run);
    else json_member_string(b, "run", NULL);
    json_member_int(b, "step", m->step);
    json_member_string(b, "model", m->model);
    json_member_string(b, "task", m->task);
}

static void set_json(const struct store_embedding *m, struct buf *b) {
    char at[32];
    store_time_text(m->created, at);
    buf_putc(b, '{');
    verb_set_members(m, b);
    json_member_string(b, "split", m->split);
    json_member_int(b, "rows", m->rows);
    json_member_int(b, "columns", m->columns);
    json_member_int(b, "layer", m->layer);
    json_member_string(b, "pool", m->pool);
    json_add_key(b, "seed");
    buf_printf(b, "%llu", (unsigned long long)m->seed);
    json_member_string(b, "created", at);
    buf_putc(b, '}');
}

static void print_sets(const struct store_embeddings *v) {
    static const char *const heading[] = { "set", "run", "step", "model", "task", "split", "rows", "columns", "layer",
                                           "pool", "seed" };
    struct table t;
    table_init(&t, COUNT_OF(heading), heading, "rrrlllrrrlr");
    for (size_t i = 0; i < v->count; i++) {
        const struct store_embedding *m = &v->set[i];
        char id[32], run[32] = "-", step[32] = "-", rows[32], columns[32], layer[32], seed[32];
        snprintf(id, sizeof id, "%lld", (long long)m->id);
        if (m->run) snprintf(run, sizeof run, "%lld", (long long)m->run);
        if (m->run) snprintf(step, sizeof step, "%lld", (long long)m->step);
        snprintf(rows, sizeof rows, "%d", m->rows);
        snprintf(columns, sizeof columns, "%d", m->columns);
        snprintf(layer, sizeof layer, "%d", m->layer);
        snprintf(seed, sizeof seed, "%llu", (unsigned long long)m->seed);
        table_add(&t, (const char *[]){ id, run, step, m->model, m->task, m->split, rows, columns, layer, m->pool, seed });
    }
    table_print(&t);
    printf("%zu %s of vectors\n", v->count, v->count == 1 ? "set" : "sets");
}

static int verb_embed_list(const struct args *a, struct err *e) {
    struct store *s;
    struct store_embeddings v;
    int64_t run = -1;
    int rc = verb_store(a, STORE_READ, &s, e);
    if (rc) return rc;
    if (args_get(a, "run")) rc = store_find(s, args_get(a, "run"), &run, e);
    if (!rc) rc = store_embeddings(s, run, &v, e);
    if (!rc) {
        struct buf b = BUF_INIT;
        buf_putc(&b, '[');
        for (size_t i = 0; i < v.count; i++) {
            if (i) buf_putc(&b, ',');
            set_json(&v.set[i], &b);
        }
        buf_putc(&b, ']');
        if (args_flag(a, "json")) out_line(&b);
        else print_sets(&v);
        buf_release(&b);
        store_embeddings_release(&v);
    }
    return verb_close(s, rc, e);
}

/* ---- making a set ---- */

static int print_set(const struct args *a, struct store *s, int64_t id, bool new, struct err *e) {
    struct store_embedding m;
    int rc = store_embedding(s, id, &m, e);
    if (rc) return rc;
    if (args_flag(a, "json")) {
        struct buf b = BUF_INIT;
        set_json(&m, &b);
        b.data[--b.size] = '\0'; /* its closing brace: more members follow */
        json_member_bool(&b, "new", new);
        buf_putc(&b, '}');
        out_line(&b);
    } else {
        printf("set %lld%s: %d rows of ", (long long)id, new ? "" : " (kept before)", m.rows);
        out_text(m.task);
        printf(" (%s), layer %d, %s; petri map %lld draws it\n", m.split, m.layer, m.pool, (long long)id);
    }
    store_embedding_release(&m);
    return 0;
}

int verb_embed_rows(const struct args *a, struct asked *q, struct store *s, int64_t *set, bool *new, struct err *e) {
    struct probe p = { 0 };
    int64_t run = 0, layer;
    const char *typed = args_get(a, "run");
    int rc = typed ? store_find(s, typed, &run, e) : 0;
    struct buf said = BUF_INIT;
    bool retriever = args_get(a, "layer") && !strcmp(args_get(a, "layer"), "retriever");
    const struct backbone_hint hint = { .given = args_get(a, "model") };
    if (!rc) rc = typed ? asked_open_run(&p, a, s, run, retriever, &hint, &said, e) : probe_open_model(&p, verb_model(a), e);
    if (!rc) out_report(buf_text(&said));
    buf_release(&said);
    layer = p.layers;
    if (!rc) rc = asked_layer(a, 0, p.layers, &layer, e);
    q->draw.retrieved = layer == PROBE_RETRIEVER;
    if (!rc) rc = asked_rows(q, &p, e);
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

static int verb_embed_embed(const struct args *a, struct asked *q, struct store *s, struct err *e) {
    int64_t set;
    bool new;
    int rc = verb_embed_rows(a, q, s, &set, &new, e);
    return rc ? rc : print_set(a, s, set, new, e);
}

int verb_embed(const struct args *a, struct err *e) {
    struct asked q;
    struct store *s;
    if (args_flag(a, "list")) return verb_embed_list(a, e);
    int rc = asked_read(&q, a, PROBE_ROWS, e);
    if (!rc) rc = verb_store(a, STORE_WRITE, &s, e);
    if (!rc) rc = verb_close(s, verb_embed_embed(a, &q, s, e), e);
    asked_release(&q);
    return rc;
}
