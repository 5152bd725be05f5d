#include "app/insight/probe.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/data/sample.h"
#include "core/train/config/complete.h"
#include "core/train/run/score.h"

static int check_model(struct probe *p, struct err *e) {
    if (model_needs_tokenizer(p->opened.model, e)) return e->code;
    p->layers = p->opened.model->arch.encoder_layers;
    p->width = p->opened.model->arch.width;
    p->retrieved = p->opened.predictor ? predictor_retrieved(p->opened.predictor) : 0;
    p->layer = xcalloc((size_t)p->layers + 2, sizeof *p->layer);
    p->set = xcalloc((size_t)p->layers + 2, sizeof *p->set);
    p->task = xcalloc(ROWSET_TASKS, sizeof *p->task);
    return 0;
}

int probe_place(const struct probe *p, int layer) { return layer == PROBE_RETRIEVER ? p->layers + 1 : layer; }
int probe_columns(const struct probe *p, int place) { return place > p->layers ? p->retrieved : p->width; }

void probe_use(const struct probe *p, int task) {
    int own = p->task[task].of_run;
    if (p->opened.all) predictor_use(p->opened.predictor, own < 0 ? 0 : own);
}

int probe_open_run(struct probe *p, struct store *s, int64_t run, const char *task,
                   const struct backbone_hint *hint, struct buf *said, struct err *e) {
    *p = (struct probe){ 0 };
    int rc = opened_run(&p->opened, s, run, task, hint, said, e);
    return rc ? rc : check_model(p, e);
}

int probe_open_all(struct probe *p, struct store *s, int64_t run, const struct backbone_hint *hint,
                   struct buf *said, struct err *e) {
    *p = (struct probe){ 0 };
    int rc = opened_run_all(&p->opened, s, run, hint, said, e);
    return rc ? rc : check_model(p, e);
}

int probe_open_model(struct probe *p, const char *model, struct err *e) {
    *p = (struct probe){ 0 };
    p->opened.model = model_share(model, e);
    return p->opened.model ? check_model(p, e) : e->code;
}

/* ---- examples ---- */

int probe_sources(const char *option, const char *typed, const struct task_source *like,
                  struct task_source out[ROWSET_TASKS], int *count, char **names, struct err *e) {
    *names = xstrdup(typed);
    char *rest = file_exists(typed) ? NULL : *names, *part;
    out[0] = *like;
    out[0].where = *names;
    *count = 1;
    for (int i = 0; (part = text_item(&rest)); i++) {
        if (!*part) return err_set(e, ERR_USAGE, "%s %s: empty task name; remove a comma", option, typed);
        if (i == ROWSET_TASKS)
            return err_set(e, ERR_USAGE, "%s: too many tasks; at most %d", option, ROWSET_TASKS);
        out[i] = *like;
        out[i].where = part;
        *count = i + 1;
    }
    return 0;
}

static int no_split(const struct task *t, const char *name, struct err *e) {
    struct buf known = BUF_INIT;
    if (strcmp(name, "train") != 0) buf_puts(&known, "train");
    for (int i = 0; i < t->devs; i++) buf_printf(&known, "%s%s", known.size ? ", " : "", t->dev_name[i]);
    if (t->has_test) buf_printf(&known, "%stest", known.size ? ", " : "");
    err_set(e, ERR_USAGE, "%s has no split \"%s\"; available: %s", t->name, name, buf_text(&known));
    buf_release(&known);
    return e->code;
}

/* Returns the task's split by name. */
static int take_split(struct probe *p, struct probe_task *k, const char *name, struct err *e) {
    struct task *t = &k->t;
    const char *split = NULL;
    if (name && !strcmp(name, "train") && t->has_train) {
        k->d = &t->train;
        split = "train";
    }
    for (int i = 0; i < t->devs && !k->d; i++) {
        if (name && strcmp(name, "dev") && strcmp(name, t->dev_name[i])) continue;
        k->d = &t->dev[i];
        split = t->dev_name[i];
    }
    if (name && !strcmp(name, "test") && t->has_test) {
        k->d = &t->test;
        split = "test";
    }
    if (!k->d) return no_split(t, name ? name : "dev", e);
    if (!p->split) p->split = split;
    return 0;
}

/* of_run: index among the run's tasks, or -1; name: its name in the run, NULL: as its source. */
static int open_task(struct probe *p, const struct task_source *from, int of_run, const char *name,
                     const struct probe_draw *how, struct err *e) {
    struct probe_task *k = &p->task[p->tasks];
    struct task_source s = *from;
    s.dev_rows = 0; /* sampled from all examples, even if the run was evaluated on fewer */
    s.no_train = !how->split || strcmp(how->split, "train") != 0;
    int rc = task_open(&k->t, &s, e);
    if (rc) return rc;
    p->tasks++;
    k->of_run = of_run;
    if (name) xreplace(&k->t.name, name);
    return take_split(p, k, how->split, e);
}

/* Opens the examples of one of the run's tasks; labels are matched by name with its head. */
static int open_own(struct probe *p, int task, const struct probe_draw *how, struct err *e) {
    const struct opened *run = how->own ? how->own : &p->opened;
    struct predictor *u = run->predictor;
    struct run_config c;
    config_of_task(&run->config, task, &c);
    struct task_source s = config_source(&c, NULL);
    const char **name = NULL;
    predictor_use(u, run->all ? task : 0);
    if (predictor_classes(u) > 1 && !predictor_is_regression(u)) {
        s.name_count = predictor_classes(u);
        name = xcalloc((size_t)s.name_count, sizeof *name);
        for (int i = 0; i < s.name_count; i++) name[i] = predictor_label(u, i);
        s.names = name;
        s.names_from = "the run";
    }
    int rc = open_task(p, &s, task, run->all && run->several ? config_task_name(&run->config, task) : NULL,
                       how, e);
    free(name);
    config_release(&c);
    return rc;
}

/* Opens the requested tasks of the run, or all. */
static int open_all(struct probe *p, const struct probe_draw *how, struct err *e) {
    const struct opened *run = how->own ? how->own : &p->opened;
    int n = how->tasks ? how->tasks : run->all ? config_task_count(&run->config) : 1, rc = 0;
    for (int i = 0; !rc && i < n; i++) rc = open_own(p, how->tasks ? how->task[i] : i, how, e);
    return rc;
}

/* Opens unseen tasks; which of the run's tasks substitutes for one is irrelevant. */
static int open_unseen(struct probe *p, const struct probe_draw *how, struct err *e) {
    const struct opened *run = how->own ? how->own : &p->opened;
    const struct plan *plan = how->unseens && run->predictor ? predictor_plan(run->predictor) : NULL;
    int rc = 0;
    if (plan && (how->retrieved ? plan_retrieves_by_task(plan) : plan_encodes_by_task(plan)))
        return err_set(e, ERR_USAGE,
                       "run %lld: its encoder has modules per task, so examples of unseen tasks cannot be "
                       "encoded",
                       (long long)run->run);
    if (p->tasks + how->unseens > ROWSET_TASKS)
        return err_set(e, ERR_USAGE, "at most %d tasks can be embedded together", ROWSET_TASKS);
    for (int i = 0; !rc && i < how->unseens; i++) rc = open_task(p, &how->unseen[i], -1, NULL, how, e);
    return rc;
}

/* Converts the task into the form that the model reads, and keeps the original examples. */
static int put_as_read(struct probe *p, struct probe_task *k, const struct probe_draw *how, struct err *e) {
    const struct predictor *run = p->opened.predictor ? p->opened.predictor
                                  : how->own          ? how->own->predictor
                                                      : NULL;
    enum data_kind was = k->t.kind;
    size_t before = k->t.report.size;
    k->given = xmalloc(k->d->examples * sizeof *k->given);
    memcpy(k->given, k->d->example, k->d->examples * sizeof *k->given);
    int rc = predictor_task_form(run, p->opened.model, &k->t, e);
    if (rc || k->t.kind == was) return rc;
    const char *line = buf_text(&k->t.report) + before;
    k->form = xstrndup(line, strcspn(line, "\n"));
    return 0;
}

/* Collects the sampled examples with their original texts; the hash also covers the form in which they are
 * read, and the precision of a model without a run. */
static void probe_list_rows(struct probe *p) {
    struct dataset *given = xcalloc((size_t)p->tasks + 1, sizeof *given);
    const struct dataset *d[ROWSET_TASKS];
    const char *name[ROWSET_TASKS];
    struct buf forms = BUF_INIT;
    for (int i = 0; i < p->tasks; i++) {
        given[i] = *p->task[i].d;
        given[i].example = p->task[i].given;
        d[i] = &given[i];
        name[i] = p->task[i].t.name;
        if (p->task[i].form) buf_printf(&forms, "%d %s\n", i, p->task[i].form);
    }
    if (p->opened.precision == PRECISION_BF16 && !p->opened.run) buf_puts(&forms, "bf16\n");
    rowset_of(&p->rows, d, name, p->tasks);
    free(given);
    if (forms.size) {
        struct sha256 *h = sha256_start();
        sha256_add(h, p->rows.sha256, strlen(p->rows.sha256));
        sha256_add(h, buf_text(&forms), forms.size);
        sha256_finish(h, p->rows.sha256);
    }
    buf_release(&forms);
}

static int insight_probe_draw(struct probe *p, int share, struct probe_task *k,
                              const struct probe_draw *how, struct err *e) {
    const struct model *m = p->opened.model;
    const struct predictor *run = how->own ? how->own->predictor : p->opened.predictor;
    int longest = how->max_len ? how->max_len : run ? predictor_max_len(run) : arch_max_length(&m->arch);
    if (!k->d->examples) return err_set(e, ERR_INPUT, "%s: contains no examples", k->d->path);
    if (!share)
        return err_set(e, ERR_USAGE, "--rows %lld: must be at least the number of tasks, %d",
                       (long long)how->most, p->tasks);
    int *pick = xmalloc((k->d->examples + 1) * sizeof *pick);
    if (longest > arch_max_length(&m->arch)) longest = arch_max_length(&m->arch);
    dataset_keep(k->d, pick, dataset_pick(k->d, share, how->seed, pick));
    free(pick);
    int rc = put_as_read(p, k, how, e);
    /* used by a decoder whose layers are embedded */
    const struct opened *config = how->own ? how->own : &p->opened;
    int target = k->t.kind != DATA_TEXT ? 0
                 : config->run          ? config->config.max_target
                                        : arch_max_length(&m->arch);
    return rc ? rc
              : dataset_encode(k->d, m->tokenizer, (size_t)longest, (size_t)target, m->arch.vocabulary, e);
}

int probe_rows(struct probe *p, const struct task_source *source, int sources, const struct probe_draw *how,
               struct err *e) {
    size_t rows[ROWSET_TASKS], share[ROWSET_TASKS];
    int rc = 0;
    if (sources > ROWSET_TASKS)
        return err_set(e, ERR_USAGE, "at most %d tasks can be embedded together", ROWSET_TASKS);
    if (!sources) rc = open_all(p, how, e);
    for (int i = 0; !rc && i < sources; i++) rc = open_task(p, &source[i], -1, NULL, how, e);
    if (!rc) rc = open_unseen(p, how, e);
    struct buf names = BUF_INIT;
    for (int i = 0; !rc && i < p->tasks; i++) {
        p->all += rows[i] = p->task[i].d->examples;
        buf_printf(&names, "%s%s", i ? "," : "", p->task[i].t.name);
    }
    p->name = buf_take(&names);
    if (!rc) sample_shares(rows, p->tasks, (size_t)how->most, share);
    for (int i = 0; !rc && i < p->tasks; i++) rc = insight_probe_draw(p, (int)share[i], &p->task[i], how, e);
    if (!rc) probe_list_rows(p);
    return rc;
}

/* ---- vectors ---- */

/* Describes a stored set of these examples at a layer.  The retriever reads the last layer. */
static struct store_embedding like(struct probe *p, int at, const struct probe_context *how) {
    bool retrieved = at > p->layers;
    const char *pool = retrieved ? "retriever" : how->mean ? "mean" : "cls";
    return (struct store_embedding){
        .run = p->opened.run, .step = p->opened.step, .model = p->opened.model->name, .task = p->name,
        .split = (char *)(uintptr_t)p->split, .pool = (char *)(uintptr_t)pool,
        .model_sha256 = p->opened.model->sha256, .model_fingerprint = p->opened.model->fingerprint,
        .rows_sha256 = p->rows.sha256, .layer = retrieved ? p->layers : at, .seed = how->seed,
        .rows = p->rows.n, .columns = probe_columns(p, at) };
}

/* Reads a layer from its stored set; *found is false if there is none. */
static int probe_read_stored(struct probe *p, int layer, const struct probe_context *how, bool *found,
                           struct err *e) {
    struct store_embedding want = like(p, layer, how), m;
    struct rowset rows;
    int32_t *predicted;
    *found = false;
    int rc = how->store ? store_embedding_find(how->store, &want, &p->set[layer], e) : 0;
    if (rc || !p->set[layer]) return rc;
    rc = store_embedding(how->store, p->set[layer], &m, e);
    if (rc) return rc;
    rc = rowset_read(&rows, &predicted, m.items, m.rows, m.task, e);
    if (!rc && m.columns == want.columns && !rowset_same(&rows, &p->rows, e)) {
        for (size_t i = 0; i < (size_t)m.rows * (size_t)m.columns; i++) p->layer[layer][i] = (real)m.data[i];
        if (predicted && !p->predicted) p->predicted = xcalloc((size_t)m.rows + 1, sizeof *p->predicted);
        for (int i = 0; predicted && i < m.rows; i++)
            p->predicted[i] = predicted[i] < 0
                                  ? -1
                                  : rowset_class(&p->rows, rows.of_task[i], rows.label_name[predicted[i]]);
        *found = true;
    }
    rowset_release(&rows);
    free(predicted);
    store_embedding_release(&m);
    return rc;
}

/* Returns whether the head's outputs are this task's classes, in any order. */
static bool head_is_of(const struct probe *p, int task) {
    const struct predictor *u = p->opened.predictor;
    const struct dataset *d = p->task[task].d;
    if (p->opened.all && p->opened.several && p->task[task].of_run < 0)
        return false; /* the head of another task is in use */
    if (!u || predictor_is_regression(u) || predictor_classes(u) < 2 || predictor_classes(u) != d->classes)
        return false;
    for (int i = 0; i < d->classes; i++)
        if (rowset_class(&p->rows, task, predictor_label(u, i)) < 0) return false;
    return true;
}

static void take_predictions(struct probe *p, int task, int first, size_t rows, const double *share) {
    const struct predictor *used = p->opened.predictor;
    size_t k = (size_t)predictor_classes(used);
    if (!p->predicted) {
        p->predicted = xcalloc((size_t)p->rows.n + 1, sizeof *p->predicted);
        for (int i = 0; i < p->rows.n; i++) p->predicted[i] = -1;
    }
    for (size_t i = 0; i < rows; i++) {
        int best = argmax(share + i * k, (int)k);
        p->predicted[first + (int)i] = rowset_class(&p->rows, task, predictor_label(used, best));
    }
}

/* Examples of one task that are being encoded. */
struct embedding {
    const struct probe *p;
    const struct probe_context *how;
    int first; /* the task's first example among all */
};

static bool probe_tell_rows(void *self, size_t rows) {
    const struct embedding *x = self;
    const struct probe *p = x->p;
    char *what = xprintf("encoding examples with %s: %d of %d",
                         p->opened.run ? p->opened.method : "the model",
                         x->first + (int)rows, p->rows.n);
    bool on = x->how->busy(x->how->self, what);
    free(what);
    return on;
}

/* Writes the vectors of the layers in `to`. */
static int embed_task(struct probe *p, int task, int first, real *const *to, const struct probe_context *how,
                      struct err *e) {
    const struct dataset *d = p->task[task].d;
    probe_use(p, task);
    bool head = head_is_of(p, task);
    struct embedding x = { p, how, first };
    real *retrieved = to[p->layers + 1] ? to[p->layers + 1] + (size_t)first * (size_t)p->retrieved : NULL;
    const struct embed_how terms = { how->mean, retrieved, p->opened.precision, how->crew,
                                     how->busy ? probe_tell_rows : NULL, &x };
    if (how->busy && !probe_tell_rows(&x, 0)) return err_set(e, ERR_INTERRUPTED, "canceled");
    real **at = xcalloc((size_t)p->layers + 1, sizeof *at);
    double *share =
        head ? xcalloc(d->examples * (size_t)predictor_classes(p->opened.predictor), sizeof *share) : NULL;
    for (int l = 0; l <= p->layers; l++) at[l] = to[l] ? to[l] + (size_t)first * (size_t)p->width : NULL;
    int rc;
    if (p->opened.predictor) rc = predictor_embed(p->opened.predictor, d, &terms, at, share, e);
    else rc = model_embed(p->opened.model, d, &terms, at, e);
    if (!rc && head) take_predictions(p, task, first, d->examples, share);
    free(at);
    free(share);
    return rc;
}

static int probe_keep(struct probe *p, int layer, const struct probe_context *how, struct err *e) {
    struct store_embedding m = like(p, layer, how);
    struct buf items = BUF_INIT;
    size_t all = (size_t)m.rows * (size_t)m.columns;
    m.data = mem_try(all, sizeof *m.data);
    if (!m.data) return err_set(e, ERR_SYSTEM, "out of memory for %d vectors", m.rows);
    for (size_t i = 0; i < all; i++) m.data[i] = (float)p->layer[layer][i];
    rowset_items(&p->rows, p->predicted, &items);
    m.items = buf_take(&items);
    int rc = store_embedding_add(how->store, &m, &p->set[layer], e);
    free(m.items);
    free(m.data);
    return rc;
}

/* Returns whether the vectors of a layer were requested. */
static bool is_wanted(const struct probe *p, int place, int layer) {
    if (place > p->layers && !p->retrieved) return false;
    return layer == PROBE_ALL_LAYERS || place == probe_place(p, layer);
}

int probe_embed(struct probe *p, int layer, const struct probe_context *how, struct err *e) {
    if (layer == PROBE_RETRIEVER && !p->retrieved)
        return err_set(e, ERR_USAGE, "%s has no retriever", p->opened.run ? p->opened.method : "the model");
    real **to = xcalloc((size_t)p->layers + 2, sizeof *to);
    int rc = 0, first = 0;
    p->made = 0;
    for (int l = 0; !rc && l <= p->layers + 1; l++) {
        bool found = false;
        if (!is_wanted(p, l, layer)) continue;
        free(p->layer[l]);
        p->layer[l] = mem_try((size_t)p->rows.n * (size_t)probe_columns(p, l), sizeof **p->layer);
        if (!p->layer[l]) rc = err_set(e, ERR_SYSTEM, "out of memory for %d vectors", p->rows.n);
        if (!rc) rc = probe_read_stored(p, l, how, &found, e);
        if (rc || found) continue;
        to[l] = p->layer[l];
        p->made++;
    }
    for (int t = 0; !rc && p->made && t < p->tasks; t++) {
        rc = embed_task(p, t, first, to, how, e);
        first += (int)p->task[t].d->examples;
    }
    for (int l = 0; !rc && how->store && how->keep && l <= p->layers + 1; l++)
        if (to[l]) rc = probe_keep(p, l, how, e);
    free(to);
    return rc;
}

void probe_release(struct probe *p) {
    for (int l = 0; p->layer && l <= p->layers + 1; l++) free(p->layer[l]);
    for (int i = 0; i < p->tasks; i++) {
        task_release(&p->task[i].t);
        free(p->task[i].given);
        free(p->task[i].form);
    }
    free(p->task);
    free(p->layer);
    free(p->set);
    free(p->name);
    free(p->predicted);
    rowset_release(&p->rows);
    opened_release(&p->opened);
    *p = (struct probe){ 0 };
}
