/* The matrices of Heatmap: similarities of layers, classes, trainable tensors and examples, stored matrices
 * of the runs, and the attention of an example. */
#include <stdlib.h>
#include <string.h>

#include "app/insight/insight_private.h"
#include "core/base/mem.h"
#include "core/data/sample.h"

enum { SHOWN_ROWS = 64, OTHERS = 12 };

/* The memory of a heatmap picture. */
struct heat_contents {
    struct matrix_list *matrices, *attention;
    struct heat_matrix *matrix;
};

static struct matrix_list *matrix_list_new(void) {
    struct matrix_list *a = xcalloc(1, sizeof *a);
    atomic_init(&a->refs, 1);
    return a;
}

void matrix_list_drop(struct matrix_list *a) {
    if (!a || atomic_fetch_sub(&a->refs, 1) > 1) return;
    for (int i = 0; i < a->count; i++) matrix_release(&a->matrix[i]);
    free(a->matrix);
    free(a);
}

void insight_heat_free(struct insight_heat *h) {
    if (!h) return;
    struct heat_contents *s = h->memory;
    free((char *)(uintptr_t)h->data.busy);
    free((char *)(uintptr_t)h->data.failed);
    free((char *)(uintptr_t)h->data.run_task);
    if (s) {
        matrix_list_drop(s->matrices);
        matrix_list_drop(s->attention);
        free(s->matrix);
    }
    free(s);
    free(h);
}

static void list_matrix(struct matrix_list *a, const struct matrix *m) {
    GROW(a->matrix, a->room, a->count + 1);
    a->matrix[a->count++] = *m;
}

/* A matrix to compute. */
struct comparison {
    enum matrix_of of;
    const struct probe *const *side;
    int sides, layer;
    const int *pick; /* examples */
    int picks, row, head;
    struct matrix made;
    int rc;
    struct err why; /* of a failure */
};

static void insight_matrix_compare(void *self) {
    struct comparison *c = self;
    struct matrix *m = &c->made;
    switch (c->of) {
    case OF_CLASSES: c->rc = matrix_classes(m, c->side, c->sides, c->layer, &c->why); break;
    case OF_ROWS: c->rc = matrix_rows(m, c->side, c->sides, c->layer, c->pick, c->picks, &c->why); break;
    case OF_LAYERS: c->rc = matrix_layers(m, c->side, c->sides, false, &c->why); break;
    case OF_TENSORS: c->rc = matrix_tensors(m, c->side, c->sides, &c->why); break;
    case OF_ATTENTION: c->rc = matrix_attention(m, c->side[0], c->row, c->layer, c->head, &c->why); break;
    case OF_PROTOTYPES: c->rc = matrix_prototypes(m, c->side[0], &c->why); break;
    case OF_TASKS: c->rc = matrix_tasks(m, c->side[0], &c->why); break;
    case OF_WEIGHTS: c->rc = matrix_weights(m, c->side[0], NULL, &c->why); break;
    case OF_MASS: c->rc = matrix_mass(m, c->side[0], NULL, &c->why); break;
    case OF_COUNT: BUG("unknown matrix %d", (int)c->of);
    }
}

/* Computes a matrix, and stores it or reads the stored one; sides that cannot be compared are omitted. */
static int insight_matrix_add(struct inside *s, struct matrix_list *a, struct comparison *c, struct err *e) {
    c->why = (struct err)ERR_INIT;
    crew_call(s->crew, insight_matrix_compare, c);
    if (c->rc == ERR_USAGE) return 0;
    if (c->rc) return err_set(e, c->rc, "%s", c->why.text);
    int rc = s->store ? matrix_store(&c->made, s->store, s->keep, e) : 0;
    if (c->of != OF_LAYERS && !rc) matrix_cluster(&c->made);
    list_matrix(a, &c->made);
    return rc;
}

/* Returns the layer that a panel shows of `side`, or its last layer. */
static int insight_matrix_layer_of(const struct inside_panel *panel, const struct probe *side) {
    if (panel->layer <= side->layers) return panel->layer;
    return side->retrieved ? PROBE_RETRIEVER : side->layers;
}

/* Picks examples of one side, class by class, the same number of each. */
static int insight_matrix_add_rows(struct inside *s, struct matrix_list *a, const struct probe *side,
                                   int layer, struct err *e) {
    const struct rowset *r = &side->rows;
    int *pick = xcalloc((size_t)r->n + 1, sizeof *pick), *order = xcalloc((size_t)r->n + 1, sizeof *order),
        at = 0;
    int n = sample_evenly(r->label, r->n, r->classes, r->n < SHOWN_ROWS ? r->n : SHOWN_ROWS, INSIGHT_SEED,
                          pick);
    for (int k = -1; k < r->classes; k++)
        for (int i = 0; i < n; i++)
            if (r->label[pick[i]] == k) order[at++] = pick[i];
    int rc = insight_matrix_add(s, a, &(struct comparison){ .of = OF_ROWS, .side = &side, .sides = 1,
                                                           .layer = layer, .pick = order, .picks = n }, e);
    free(pick);
    free(order);
    return rc;
}

static bool insight_matrix_is_listed(const struct matrix_list *a, int64_t id) {
    for (int i = 0; i < a->count; i++)
        if (a->matrix[i].id == id) return true;
    return false;
}

/* Adds the newest stored matrices of the runs that are not listed yet. */
static int add_others(struct inside *s, struct matrix_list *a, struct err *e) {
    int rc = 0, most = a->count + OTHERS;
    for (int r = 0; !rc && s->store && r < s->runs; r++) {
        struct store_matrices v;
        rc = store_matrices(s->store, s->run[r], &v, e);
        if (rc) break;
        for (size_t i = v.count; !rc && i-- > 0 && a->count < most;) {
            struct matrix m;
            if (insight_matrix_is_listed(a, v.matrix[i].id) ||
                !strcmp(v.matrix[i].name, "attention")) continue;
            rc = matrix_read(&m, s->store, v.matrix[i].id, e);
            if (!rc) list_matrix(a, &m);
        }
        store_matrices_release(&v);
    }
    return rc;
}

/* Opens the examples of the run, or these and unseen ones. */
static int add_prototypes(struct inside *s, struct matrix_list *a, const struct probe *run, struct err *e) {
    struct probe all = { 0 };
    const struct probe *side = s->unseen ? &all : run;
    int rc = s->unseen ? inside_open_unseen(s, run->opened.run, &all, e) : 0;
    if (!rc) rc = insight_matrix_add(s, a, &(struct comparison){ .of = OF_PROTOTYPES, .side = &side,
                                                                .sides = 1 }, e);
    probe_release(&all);
    return rc;
}

/* Adds the matrices of a run's tasks, and the attention to a prefix. */
static int add_of_run(struct inside *s, struct matrix_list *a, const struct probe *run, struct err *e) {
    static const enum matrix_of all[] = { OF_TASKS, OF_WEIGHTS, OF_MASS };
    int rc = add_prototypes(s, a, run, e);
    for (size_t i = 0; !rc && i < COUNT_OF(all); i++)
        rc = insight_matrix_add(s, a, &(struct comparison){ .of = all[i], .side = &run, .sides = 1 }, e);
    return rc;
}

static int fill_matrices(struct inside *s, struct matrix_list *a, struct err *e) {
    const struct probe *side[MAP_PANELS] = { &s->probe[0], &s->probe[1] }, *run[MAP_PANELS];
    const struct inside_panel *last = &s->live[s->panels - 1];
    struct comparison classes = {
        .of = OF_CLASSES, .side = side, .sides = s->sides, .layer = side[0]->layers
    };
    int runs = 0, rc = 0;
    if (s->live[0].layer < classes.layer) classes.layer = s->live[0].layer;
    for (int i = 0; i < s->sides; i++)
        if (side[i]->opened.run) run[runs++] = side[i];
    for (int i = 0; !rc && i < runs; i++) rc = add_of_run(s, a, run[i], e);
    if (!rc) rc = insight_matrix_add(s, a, &(struct comparison){ .of = OF_LAYERS, .side = side,
                                                                .sides = s->sides }, e);
    if (!rc) rc = insight_matrix_add(s, a, &classes, e);
    if (!rc && runs)
        rc = insight_matrix_add(s, a, &(struct comparison){ .of = OF_TENSORS, .side = run, .sides = runs },
                                e);
    for (int i = 0; !rc && i < s->sides; i++)
        rc = insight_matrix_add_rows(s, a, side[i],
                                     insight_matrix_layer_of(side[i] == last->probe ? last : &s->live[0],
                                                             side[i]), e);
    if (!rc) rc = add_others(s, a, e);
    return rc;
}

/* By head and of one head, for each side. */
static int fill_attention(struct inside *s, struct matrix_list *a, struct err *e) {
    int rc = 0;
    if (!s->layer) s->layer = s->probe[0].layers;
    for (int i = 0; !rc && i < s->sides; i++)
        for (int k = 0; !rc && k < 2; k++) {
            const struct probe *side = &s->probe[i];
            struct comparison c = { .of = OF_ATTENTION, .side = &side, .sides = 1, .layer = s->layer,
                                    .row = s->row, .head = k ? s->head : ATTENTION_FIRST };
            crew_call(s->crew, insight_matrix_compare, &c);
            rc = c.rc ? err_set(e, c.rc, "%s", c.why.text) : 0;
            if (!rc) list_matrix(a, &c.made); /* too many to be stored */
        }
    return rc;
}

int inside_matrices(struct inside *s, struct err *e) {
    int rc = 0;
    if (!s->live[0].probe)
        return err_set(
            e, ERR_USAGE,
            "a saved set has no layers to compare; press 3 to list the runs, then 6 to compare one with the "
            "model");
    if (!s->matrices) {
        s->matrices = matrix_list_new();
        rc = fill_matrices(s, s->matrices, e);
    }
    if (!rc && !s->attention) {
        s->attention = matrix_list_new();
        rc = fill_attention(s, s->attention, e);
    }
    if (!rc) return 0;
    matrix_list_drop(s->matrices);
    matrix_list_drop(s->attention);
    s->matrices = s->attention = NULL;
    return rc;
}

static int turned(int value, int by, int n) { return n > 0 ? ((value + by) % n + n) % n : 0; }

void inside_attention(struct inside *s, int row, int layer, int head) {
    const struct probe *p = &s->probe[0];
    if (!s->live[0].probe) return;
    if (!s->layer) s->layer = p->layers;
    s->row = turned(s->row, row, p->rows.n);
    s->layer = 1 + turned(s->layer - 1, layer, p->layers);
    s->head = turned(s->head, head, p->opened.model->arch.heads);
    matrix_list_drop(s->attention);
    s->attention = NULL;
}

void inside_attention_row(struct inside *s, int chosen) {
    const struct rowset *shown = s->panel[0].rows, *r = &s->probe[0].rows;
    if (!s->live[0].probe || chosen < 0 || chosen >= shown->n) return;
    for (int i = 0; i < r->n; i++)
        if (r->row[i] == shown->row[chosen] && r->of_task[i] == shown->of_task[chosen] && i != s->row) {
            inside_attention(s, i - s->row, 0, 0);
            return;
        }
}

static struct heat_matrix insight_matrix_page_of(const struct matrix *m) {
    return (struct heat_matrix){ .title = m->title,
                                 .what = m->what,
                                 .undefined = m->undefined,
                                 .rows = m->rows,
                                 .beside = m->beside,
                                 .text = (const char *const *)m->text,
                                 .row_note = (const char *const *)m->row_note,
                                 .columns = m->columns,
                                 .value = m->value,
                                 .row_name = (const char *const *)m->row_name,
                                 .column_name = (const char *const *)m->column_name,
                                 .row_cluster = m->order,
                                 .column_cluster = m->order };
}

/* Creates a picture that shares the two lists; attention may be NULL. */
static struct insight_heat *heat_of(struct matrix_list *matrices, struct matrix_list *attention) {
    struct insight_heat *h = xcalloc(1, sizeof *h);
    struct heat_contents *own = xcalloc(1, sizeof *own);
    struct matrix_list *const part[] = { matrices, attention };
    h->memory = own;
    own->matrices = matrices;
    own->attention = attention;
    own->matrix = xcalloc((size_t)(matrices->count + (attention ? attention->count : 0)) + 1,
                          sizeof *own->matrix);
    for (int k = 0; k < 2 && part[k]; k++) {
        atomic_fetch_add(&part[k]->refs, 1);
        for (int i = 0; i < part[k]->count; i++)
            own->matrix[h->data.matrices++] = insight_matrix_page_of(&part[k]->matrix[i]);
    }
    h->data.matrix = own->matrix;
    h->data.attention = matrices->count;
    return h;
}

struct insight_heat *inside_heat(const struct inside *s) {
    struct insight_heat *h = heat_of(s->matrices, s->attention);
    h->data.run_task = s->run_task ? xstrdup(s->run_task) : NULL;
    h->data.run_task_at = s->run_task_at;
    h->data.run_tasks = s->run_tasks;
    return h;
}

int insight_stored(struct store *s, int64_t matrix, struct insight_heat **heat, struct err *e) {
    struct matrix_list *a = matrix_list_new();
    struct matrix m;
    int rc = matrix_read(&m, s, matrix, e);
    if (!rc) list_matrix(a, &m);
    *heat = rc ? NULL : heat_of(a, NULL);
    matrix_list_drop(a);
    return rc;
}
