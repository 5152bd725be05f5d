/* Matrices of a run's tasks (matrix.h): prototypes, task embeddings, task-specific weights, and attention
 * on a prefix. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/insight/matrix_private.h"
#include "core/analysis/made.h"
#include "core/analysis/mass.h"
#include "core/analysis/similarity.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/method/functions.h"
#include "core/train/run/score.h"

static const struct plan *plan_of(const struct probe *p) { return predictor_plan(p->opened.predictor); }

static int has_prototypes(const struct probe *p, struct err *e) {
    const struct plan_tensor *k = plan_prototypes(plan_of(p));
    if (!p->retrieved)
        return err_set(e, ERR_USAGE,
                       "--of prototypes: %s has no retriever; use --of tasks to compare task embeddings",
                       p->opened.method);
    if (!k)
        return err_set(e, ERR_USAGE, "--of prototypes: %s has no prototypes (task embeddings of a generator)",
                       p->opened.method);
    if (k->cols == p->retrieved) return 0;
    return err_set(e, ERR_USAGE,
                   "%s: the vectors of the retriever have %d dimensions, the prototypes %" PRId64
                   "; they cannot be compared",
                   p->opened.method, p->retrieved, k->cols);
}

static int has_own_weights(const struct probe *p, struct err *e) {
    const struct plan *plan = plan_of(p);
    if (plan->per_example) return 0;
    for (int i = 0; i < plan->generated; i++)
        if (plan->generated_tensor[i].blocks > 1) return 0;
    for (int i = 0; i < plan->tensors; i++)
        if (plan->tensor[i].kind == PLAN_OWN && plan->tensor[i].blocks > 1) return 0;
    return err_set(e, ERR_USAGE, "--of weights: %s has no task-specific weights",
                   p->opened.method);
}

static int has_prefix(const struct probe *p, struct err *e) {
    const struct method *m = &plan_of(p)->method;
    if (attention_has_mass(m, STACK_ENCODER, SUB_SELF)) return 0;
    if (p->opened.model->arch.decoder_layers &&
        (attention_has_mass(m, STACK_DECODER, SUB_SELF) || attention_has_mass(m, STACK_DECODER, SUB_CROSS)))
        return 0;
    return err_set(e, ERR_USAGE, "--of mass: %s adds no prefix to the keys of attention",
                   p->opened.method);
}

bool matrix_needs_rows(const struct probe *p, enum matrix_of of) {
    return of == OF_WEIGHTS ? plan_of(p)->per_example > 0 : of != OF_TENSORS && of != OF_TASKS;
}

int matrix_possible(const struct probe *p, enum matrix_of of, struct err *e) {
    bool mass = of == OF_MASS;
    if (of < OF_PROTOTYPES) return 0;
    if (!p->opened.run) return err_set(e, ERR_USAGE, "--of %s requires a run", matrix_of_names[of]);
    if (!mass && (!p->opened.all || predictor_tasks(p->opened.predictor) < 2))
        return err_set(e, ERR_USAGE, "--of %s requires a run with several tasks", matrix_of_names[of]);
    if (mass) return has_prefix(p, e);
    if (of == OF_PROTOTYPES) return has_prototypes(p, e);
    if (of == OF_WEIGHTS) return has_own_weights(p, e);
    if (plan_prototypes(plan_of(p))) return 0;
    return err_set(e, ERR_USAGE, "--of tasks: %s has no task embeddings: %s", p->opened.method,
                   method_has_generator(&plan_of(p)->method) ? "its generator has no task input"
                                                             : "it has no generator");
}

static char *task_name(const struct probe *p, int task) {
    return xstrdup(predictor_task(p->opened.predictor, task));
}

/* Sets the title "WHAT of #3", and members that follow from the description. */
static void matrix_tasks_finish(struct matrix *m, const struct probe *p, const char *what) {
    struct buf about = BUF_INIT;
    matrix_describe(m, &p, 1, -1, &about);
    m->title = xprintf("%s of %s", what, matrix_side_name(p));
    matrix_end_description(m, &about);
}

/* ---- prototypes ---- */

/* Statistics of the examples of one task. */
struct prototype_votes {
    int rows, right; /* right: nearest to their own task's prototype; unseen tasks have none */
    double sum, squares; /* of the margins: the largest cosine minus the second */
    int *vote;       /* per prototype, the number of examples nearest to it */
};

static double margin_deviation(int n, double sum, double squares) {
    double mean = sum / n, v = n > 1 ? (squares - n * mean * mean) / (n - 1) : 0;
    return v > 0 ? sqrt(v) : 0;
}

static void take_row(struct prototype_votes *x, const double *cosine, int n, int own) {
    int best = argmax(cosine, n), second = -1;
    for (int i = 0; i < n; i++)
        if (i != best && (second < 0 || cosine[i] > cosine[second])) second = i;
    double margin = cosine[best] - cosine[second];
    x->rows++;
    x->right += best == own;
    x->vote[best]++;
    x->sum += margin;
    x->squares += margin * margin;
}

/* Returns the prototype to which most of its examples are nearest. */
static int nearest_of(const struct probe *p, const struct prototype_votes *x) {
    int best = 0;
    for (int i = 1; i < predictor_tasks(p->opened.predictor); i++)
        if (x->vote[i] > x->vote[best]) best = i;
    return best;
}

static char *matrix_tasks_note_of(const struct probe *p, const struct prototype_votes *x, bool seen) {
    if (!x->rows) return xstrdup("no examples");
    int best = nearest_of(p, x);
    double sd = margin_deviation(x->rows, x->sum, x->squares);
    if (seen)
        return xprintf("%d of %d examples nearest to its own, margin %.2f \u00b1 %.2f sd", x->right, x->rows,
                       x->sum / x->rows, sd);
    return xprintf("%d of %d examples nearest to %s, margin %.2f \u00b1 %.2f sd", x->vote[best], x->rows,
                   predictor_task(p->opened.predictor, best), x->sum / x->rows, sd);
}

/* Adds the cosines of all sampled examples with all prototypes to m, and the nearest ones to near (one per
 * task). */
static int compare_rows(struct matrix *m, const struct probe *p, const real *k, struct prototype_votes *near,
                        struct err *e) {
    const struct rowset *r = &p->rows;
    int n = m->columns;
    double *cosine = xmalloc(((size_t)r->n * (size_t)n + 1) * sizeof *cosine);
    similarity_cosine(p->layer[probe_place(p, PROBE_RETRIEVER)], r->n, k, n, p->retrieved, cosine);
    int rc = 0;
    for (int i = 0; !rc && i < r->n; i++) {
        int t = r->of_task[i];
        for (int j = 0; j < n; j++) {
            double v = cosine[(size_t)i * (size_t)n + (size_t)j];
            if (isnan(v))
                rc = err_set(e, ERR_FAILED, "%s: the vector of example %lld, or the prototype of %s, is zero",
                             r->task[t], (long long)r->row[i], predictor_task(p->opened.predictor, j));
            m->value[t * n + j] += v;
        }
        if (!rc) take_row(&near[t], cosine + (size_t)i * (size_t)n, n, p->task[t].of_run);
    }
    for (int t = 0; t < m->rows; t++)
        for (int j = 0; j < n; j++) m->value[t * n + j] /= near[t].rows; /* NaN without examples */
    free(cosine);
    return rc;
}

/* Sums the statistics of the run's own tasks. */
static struct prototype_votes votes_of_all(const struct probe *p, const struct prototype_votes *near,
                                           int tasks) {
    struct prototype_votes all = { 0 };
    for (int t = 0; t < tasks; t++) {
        if (p->task[t].of_run < 0) continue;
        all.rows += near[t].rows;
        all.right += near[t].right;
        all.sum += near[t].sum;
        all.squares += near[t].squares;
    }
    return all;
}

/* Adds the summaries of the matrix and its rows. */
static void tell_near(struct matrix *m, const struct probe *p, const struct prototype_votes *near) {
    const struct prototype_votes all = votes_of_all(p, near, m->rows);
    m->row_note = xcalloc((size_t)m->rows + 1, sizeof *m->row_note);
    for (int t = 0; t < m->rows; t++) {
        bool seen = p->task[t].of_run >= 0;
        m->row_note[t] = matrix_tasks_note_of(p, &near[t], seen);
        m->row_name[t] = seen ? xstrdup(p->rows.task[t]) : xprintf("%s (unseen)", p->rows.task[t]);
    }
    if (!all.rows) return;
    m->beside = xprintf("nearest prototype correct %d of %d (%.3f)   margin %.2f \u00b1 %.2f sd", all.right,
                        all.rows, (double)all.right / all.rows, all.sum / all.rows,
                        margin_deviation(all.rows, all.sum, all.squares));
}

/* Writes the summaries as numbers, for all and for each task. */
static void add_near(struct buf *b, const struct probe *p, const struct prototype_votes *near, int tasks) {
    const struct prototype_votes all = votes_of_all(p, near, tasks);
    if (all.rows) {
        json_put(b, "argmax_accuracy:%f,margin:%f", (double)all.right / all.rows, all.sum / all.rows);
    }
    json_open(b, "by_task", '[');
    for (int t = 0; t < tasks; t++) {
        const struct prototype_votes *x = &near[t];
        bool seen = p->task[t].of_run >= 0;
        int best = nearest_of(p, x);
        json_put(b, "{task:%s,seen:%i,rows:%d,argmax_accuracy:%g", p->rows.task[t], seen, x->rows,
                 seen && x->rows ? (double)x->right / x->rows : NAN);
        json_put(b, "margin:%f,margin_sd:%f,nearest:%s,nearest_rows:%d}", x->sum / x->rows,
                 margin_deviation(x->rows, x->sum, x->squares),
                 x->rows ? predictor_task(p->opened.predictor, best) : NULL, x->vote[best]);
    }
    buf_putc(b, ']');
}

int matrix_prototypes(struct matrix *m, const struct probe *p, struct err *e) {
    int rc = matrix_possible(p, OF_PROTOTYPES, e);
    if (rc) return rc;
    const struct plan_tensor *k = plan_prototypes(plan_of(p));
    int n = predictor_tasks(p->opened.predictor), tasks = p->rows.tasks;
    matrix_new(m, OF_PROTOTYPES, "cosine", tasks, n);
    struct prototype_votes *near = xcalloc((size_t)tasks + 1, sizeof *near);
    for (int t = 0; t < tasks; t++) near[t].vote = xcalloc((size_t)n, sizeof *near->vote);
    for (int j = 0; j < n; j++) m->column_name[j] = task_name(p, j);
    rc = compare_rows(m, p, predictor_params(p->opened.predictor) + k->offset, near, e);
    if (!rc) {
        struct buf about = BUF_INIT;
        tell_near(m, p, near);
        matrix_describe(m, &p, 1, PROBE_RETRIEVER, &about);
        add_near(&about, p, near, tasks);
        matrix_end_description(m, &about);
        m->title = xprintf("examples by prototypes of %s, cosine", matrix_side_name(p));
        m->what = xprintf("mean cosine of each task's retrieved vectors with the prototypes, %d examples",
                          p->rows.n);
        m->undefined = "a task without examples";
    }
    for (int t = 0; t < tasks; t++) free(near[t].vote);
    free(near);
    if (rc) matrix_release(m);
    return rc;
}

/* ---- task embeddings ---- */

int matrix_tasks(struct matrix *m, const struct probe *p, struct err *e) {
    int rc = matrix_possible(p, OF_TASKS, e);
    if (rc) return rc;
    const struct plan_tensor *k = plan_prototypes(plan_of(p));
    int n = predictor_tasks(p->opened.predictor);
    matrix_new(m, OF_TASKS, "cosine", n, n);
    const real *z = predictor_params(p->opened.predictor) + k->offset;
    similarity_cosine(z, n, z, n, k->cols, m->value);
    for (int i = 0; i < n; i++) {
        m->row_name[i] = task_name(p, i);
        m->column_name[i] = task_name(p, i);
    }
    matrix_tasks_finish(m, p, "task embeddings");
    m->what = xprintf("cosine of the generator's task embeddings, %" PRId64 "-dimensional", k->cols);
    m->undefined = "a zero vector";
    return 0;
}

/* ---- task-specific weights ---- */

/* Parameters stored as one block per task. */
struct task_block {
    int stack, layer; /* layer -1: shared by all layers, or the embedding */
    const real *value;
    size_t count;     /* of a block */
    size_t apart;     /* stride between tasks */
};

static struct task_block own_block(int stack, int layer, const real *value, size_t count) {
    return (struct task_block){ stack, layer, value, count, count };
}

/* Returns weights generated per example, averaged per task: a block per task (NaN without examples); NULL:
 * none. */
static int mean_made(const struct probe *p, struct crew *crew, real **out, struct err *e) {
    const struct plan *plan = plan_of(p);
    size_t each = generated_per_example(plan), all = each * (size_t)plan->tasks;
    int rc = 0;
    *out = NULL;
    if (!each) return 0;
    *out = xmalloc(all * sizeof **out);
    for (size_t i = 0; i < all; i++) (*out)[i] = (real)NAN;
    for (int t = 0; !rc && t < p->tasks; t++) {
        real *mean;
        if (p->task[t].of_run < 0 || !p->task[t].d->examples) continue;
        probe_use(p, t);
        rc = generated_mean(p->opened.model, p->opened.predictor, p->task[t].d, crew, &mean, e);
        if (rc) break;
        memcpy(*out + (size_t)p->task[t].of_run * each, mean, each * sizeof **out);
        free(mean);
    }
    if (!rc) return 0;
    free(*out);
    *out = NULL;
    return rc;
}

/* `rows`: as for mean_made. */
static int list_own(const struct probe *p, const real *rows, struct task_block **out) {
    const struct plan *plan = plan_of(p);
    const real *params = predictor_params(p->opened.predictor), *made = predictor_made(p->opened.predictor);
    struct task_block *list = xcalloc((size_t)(plan->tensors + plan->generated + plan->per_example) + 1,
                                      sizeof *list);
    size_t apart = generated_per_example(plan), at = 0;
    int n = 0;
    for (int i = 0; i < plan->generated; i++) {
        const struct plan_generated *t = &plan->generated_tensor[i];
        if (t->blocks == plan->tasks)
            list[n++] = own_block(t->stack, t->layer, made + t->offset, t->count / (size_t)t->blocks);
    }
    for (int i = 0; i < plan->per_example; at += plan->example_tensor[i++].count)
        list[n++] = (struct task_block){ plan->example_tensor[i].stack, plan->example_tensor[i].layer,
                                         rows + at, plan->example_tensor[i].count, apart };
    for (int i = 0; i < plan->tensors; i++) {
        const struct plan_tensor *t = &plan->tensor[i];
        if (t->kind == PLAN_OWN && t->stored && t->blocks == plan->tasks)
            list[n++] = own_block(t->stack, t->layer, params + t->offset, t->count / (size_t)t->blocks);
    }
    *out = list;
    return n;
}

/* Compares all weights of two tasks in a layer, concatenated. */
static double blocks_alike(const struct task_block *list, int n, int stack, int layer, int a, int b) {
    double ab = 0, aa = 0, bb = 0;
    for (int i = 0; i < n; i++) {
        const struct task_block *x = &list[i];
        if (!x->value || x->stack != stack || x->layer != layer) continue;
        const real *u = x->value + (size_t)a * x->apart, *v = x->value + (size_t)b * x->apart;
        for (size_t k = 0; k < x->count; k++) {
            ab += (double)u[k] * (double)v[k];
            aa += (double)u[k] * (double)u[k];
            bb += (double)v[k] * (double)v[k];
        }
    }
    return aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : NAN;
}

/* Collects the places with task-specific weights, in the order of the model. */
static int list_layers(const struct task_block *list, int n, int most, struct task_block *out) {
    int found = 0;
    for (int stack = STACK_ENCODER; stack <= STACK_DECODER; stack++)
        for (int layer = -1; layer < most; layer++) {
            int i = 0;
            while (i < n && (list[i].stack != stack || list[i].layer != layer)) i++;
            if (i < n) out[found++] = list[i];
        }
    return found;
}

static char *layer_word(const struct task_block *at) {
    const char *stack = at->stack == STACK_DECODER ? "dec" : "enc";
    return at->layer < 0 ? xprintf("%s all", stack) : xprintf("%s %d", stack, at->layer + 1);
}

int matrix_weights(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e) {
    real *rows = NULL;
    int rc = matrix_possible(p, OF_WEIGHTS, e);
    if (!rc) rc = mean_made(p, crew, &rows, e);
    if (rc) return rc;
    const struct arch *a = &p->opened.model->arch;
    struct task_block *list;
    int n = list_own(p, rows, &list), tasks = predictor_tasks(p->opened.predictor);
    int most = a->encoder_layers > a->decoder_layers ? a->encoder_layers : a->decoder_layers;
    struct task_block *at = xcalloc(2 * (size_t)(most + 1), sizeof *at);
    int layers = list_layers(list, n, most, at);
    matrix_new(m, OF_WEIGHTS, "cosine", layers * tasks, tasks);
    for (int t = 0; t < tasks; t++) m->column_name[t] = task_name(p, t);
    for (int i = 0; i < layers * tasks; i++) {
        const struct task_block *here = &at[i / tasks];
        char *word = layer_word(here);
        m->row_name[i] = xprintf("%s %s", word, m->column_name[i % tasks]);
        free(word);
        for (int t = 0; t < tasks; t++)
            m->value[i * tasks + t] = blocks_alike(list, n, here->stack, here->layer, i % tasks, t);
    }
    matrix_tasks_finish(m, p, "task-specific weights by layer");
    m->what = rows ? xprintf(
                         "cosine of all task-specific weights in a layer; weights generated per example are "
                         "averaged over the task, %d examples in all",
                         p->rows.n)
                   : xstrdup("cosine of all task-specific weights in a layer, generated or trained "
                             "per task");
    m->undefined = rows ? "a task without examples, or its weights in the layer are all 0"
                        : "the weights of a task in the layer are all 0";
    free(rows);
    free(at);
    free(list);
    return 0;
}

/* ---- attention on a prefix ---- */

/* Returns "layer 3", or "dec 3 cross" of a model with two stacks. */
static char *mass_word(const struct mass_place *at, bool stacks) {
    if (!stacks) return xprintf("layer %d", at->layer + 1);
    return xprintf("%s %d%s", at->stack == STACK_DECODER ? "dec" : "enc", at->layer + 1,
                   at->stack == STACK_ENCODER ? "" : at->site == SUB_CROSS ? " cross" : " self");
}

/* Fills the rows of m for one task: one per layer, all heads and each. */
static void take_mass(struct matrix *m, int first, const char *task, const struct attention_mass *x,
                      bool stacks) {
    for (int l = 0; l < x->places; l++) {
        double *line = m->value + (size_t)(first + l) * (size_t)m->columns, sum = 0;
        char *word = mass_word(&x->at[l], stacks);
        m->row_name[first + l] = task ? xprintf("%s %s", word, task) : xstrdup(word);
        free(word);
        for (int h = 0; h < x->heads; h++) sum += line[h + 1] = x->share[l * x->heads + h];
        line[0] = sum / x->heads;
    }
}

int matrix_mass(struct matrix *m, const struct probe *p, struct crew *crew, struct err *e) {
    const struct arch *a = &p->opened.model->arch;
    struct attention_mass *of = xcalloc((size_t)p->tasks + 1, sizeof *of);
    int rc = matrix_possible(p, OF_MASS, e), rows = 0;
    for (int t = 0; !rc && t < p->tasks; t++) {
        probe_use(p, t);
        rc = attention_mass(p->opened.model, p->opened.predictor, p->task[t].d, crew, &of[t], e);
        rows += of[t].places;
    }
    if (!rc) {
        matrix_new(m, OF_MASS, "share", rows, a->heads + 1);
        for (int h = 0; h <= a->heads; h++)
            m->column_name[h] = h ? xprintf("head %d", h) : xstrdup("all heads");
    }
    for (int t = 0, first = 0; !rc && t < p->tasks; first += of[t++].places)
        take_mass(m, first, p->tasks > 1 ? p->rows.task[t] : NULL, &of[t], a->decoder_layers > 0);
    for (int t = 0; t < p->tasks; t++) attention_mass_release(&of[t]);
    free(of);
    if (rc) return rc;
    matrix_tasks_finish(m, p, "softmax mass on the prefix");
    m->what = xprintf("share of attention on the keys of the prefix, mean over tokens and %d examples",
                      p->rows.n);
    m->undefined = "the layer has no prefix";
    return 0;
}
