#include "core/train/run/distil.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/method/attach.h"
#include "core/train/config/option.h"
#include "core/train/run/pool.h"

/* The attachment of a worker to a teacher. */
struct distil_seat {
    bool open;
    struct worker w;
    struct attach *attach[RUN_TASKS];
};

struct distil {
    int count;
    bool text;
    struct predictor *teacher[RUN_TASKS];
    struct distil_seat seat[CREW_MOST];
};

static int parse_teachers(const char *text, void *value, struct err *e) {
    struct teachers *t = value;
    bool good = (t->count = text_to_ints(text, t->run, RUN_TASKS)) > 0;
    for (int i = 0; i < t->count; i++) good = good && t->run[i] > 0;
    if (good) return 0;
    return err_set(e, ERR_USAGE,
                   "--teachers %s: must be run ids separated by commas, one per task, for example 3,5", text);
}
const struct option_parser teachers_parser = { offsetof(struct teachers, text), parse_teachers };

/* ---- compatibility ---- */

/* Returns the prompt that is prepended to the sequences, or NULL. */
static const struct module *prompt_of(const struct method *m) {
    for (int i = 0; i < m->count; i++)
        if (m->module[i].fn == FN_PROMPT && m->module[i].source != SOURCE_FUSION) return &m->module[i];
    return NULL;
}

static bool distil_same_labels(const struct predictor *teacher, const struct task *t) {
    for (int i = 0; i < predictor_labels(teacher); i++)
        if (strcmp(predictor_label(teacher, i), t->class_name[i])) return false;
    return true;
}

int distil_fits(const struct predictor *teacher, int64_t run, const struct plan *p, int task,
                const struct task *t, struct err *e) {
    const struct module *own = prompt_of(&p->method), *x = prompt_of(&predictor_plan(teacher)->method);
    long long n = (long long)run;
    if (predictor_plan(teacher)->tasks != 1)
        return err_set(e, ERR_USAGE, "--teachers: run %lld is a multi-task run; a teacher must have one task",
                       n);
    if (!own || !x || x->size != own->size || x->write != own->write || x->place != own->place)
        return err_set(
            e, ERR_USAGE,
            "--teachers: run %lld must have a prompt of the same length (l=%d) at the same position: "
            "hidden states are compared position by position",
            n, own ? own->size : 0);
    if (t->kind == DATA_TEXT) {
        if (predictor_writes(teacher)) return 0;
        return err_set(e, ERR_USAGE, "--teachers: run %lld has a classification head, and this run is "
                                     "text-to-text", n);
    }
    if (t->kind != DATA_CLASSES)
        return err_set(e, ERR_USAGE,
                       "--teachers: not supported for regression: task %d has scores; use tasks with classes "
                       "or texts",
                       task + 1);
    if (predictor_writes(teacher) || predictor_labels(teacher) != p->outputs[task] ||
        !distil_same_labels(teacher, t))
        return err_set(
            e, ERR_USAGE,
            "--teachers: the classes of run %lld differ from those of task %d; give teachers in the order of "
            "the tasks",
            n, task + 1);
    return 0;
}

/* ---- copies ---- */

/* Returns the path of a teacher's copy; caller frees. */
static char *distil_path(const char *folder, int64_t run) {
    char *name = xprintf("teacher.%lld.safetensors", (long long)run), *path = file_join(folder, name);
    free(name);
    return path;
}

int distil_keep(const char *checkpoint, const char *folder, int64_t run, struct err *e) {
    struct buf bytes = BUF_INIT;
    char *path = distil_path(folder, run);
    int rc = file_read(checkpoint, SIZE_MAX, &bytes, e);
    if (!rc) rc = file_write(path, bytes.data, bytes.size, e);
    buf_release(&bytes);
    free(path);
    return rc;
}

static int distil_open_one(struct distil *d, int64_t run, const struct plan *p, const struct task *t,
                           struct model *m, const char *folder, struct err *e) {
    char *path = distil_path(folder ? folder : "", run);
    bool there = folder && file_exists(path);
    struct predictor *x = there ? predictor_open(path, NULL, m, e) : NULL;
    free(path);
    if (!there)
        return err_set(e, ERR_USAGE,
                       "--teachers: run %lld: the copy of the teacher is missing in the folder of the run; "
                       "use petri train, which creates it",
                       (long long)run);
    if (!x) return e->code;
    d->teacher[d->count++] = x;
    return distil_fits(x, run, p, d->count - 1, t, e);
}

struct distil *distil_open(const struct run_config *c, const struct plan *p, const struct run_tasks *tasks,
                           struct model *m, const char *folder, struct err *e) {
    const struct teachers *by = c->teachers;
    struct distil *d = xcalloc(1, sizeof *d);
    int rc = 0;
    for (int i = 0; !rc && i < by->count; i++)
        rc = distil_open_one(d, by->run[i], p, tasks->task[i], m, folder, e);
    d->text = tasks->task[0]->kind == DATA_TEXT;
    if (!rc) return d;
    distil_free(d);
    return NULL;
}

void distil_free(struct distil *d) {
    if (!d) return;
    for (int i = 0; i < CREW_MOST; i++) {
        struct distil_seat *s = &d->seat[i];
        for (int k = 0; k < d->count; k++) attach_free(s->attach[k]);
        if (s->open) worker_release(&s->w);
    }
    for (int k = 0; k < d->count; k++) predictor_free(d->teacher[k]);
    free(d);
}

/* ---- outputs of a teacher ---- */

static const real *kept_copy(struct arena *keep, struct tape *t, node x, int *rows, int *cols) {
    *rows = tape_rows_of(t, x);
    *cols = tape_cols_of(t, x);
    size_t n = (size_t)*rows * (size_t)*cols;
    real *to = arena_keep(keep, (n + 1) * sizeof *to);
    memcpy(to, tape_value(t, x), n * sizeof *to);
    return to;
}

void distil_compute(struct attach *a, struct forward *f, bool text, struct arena *keep,
                    struct distil_output *out) {
    node states = forward_encode(f), answers;
    if (text) {
        states = forward_decode(f, states);
        answers = forward_logits(f, states);
    } else {
        answers = attach_head(a, f, attach_pool(a, f, states), (struct task_range){ 0, 0, f->rows.count }, 0);
    }
    out->hidden = kept_copy(keep, f->tape, states, &out->states, &out->width);
    out->logits = kept_copy(keep, f->tape, answers, &out->answers, &out->outputs);
}

/* Uses a separate tape without training: the outputs are those of the teacher's predictor. */
void distil_teach(struct distil *d, struct worker *w, struct arena *keep, const struct batch_example *rows,
                  int n, struct distil_output *out) {
    struct distil_seat *s = &d->seat[w->index];
    const int task = rows[0].task;
    const struct predictor *p = d->teacher[task];
    const struct model *m = predictor_model(p);
    if (!s->open) worker_init(&s->w, w->index);
    s->open = true;
    if (!s->attach[task]) s->attach[task] = attach_new(predictor_plan(p), m);
    struct batch b;
    tape_reset(s->w.tape, false, 0, 0);
    struct batch_example *own = arena_keep(s->w.arena, (size_t)n * sizeof *own);
    for (int i = 0; i < n; i++)
        own[i] = (struct batch_example){ .data = rows[i].data, .index = rows[i].index };
    batch_pack_examples(&b, s->w.arena, &m->arch, own, n);
    if (d->text) batch_pack_targets(&b, s->w.arena, &m->arch, own, n);
    struct forward f;
    forward_init(&f, s->w.tape, m, &b,
                 attach_begin(s->attach[task], s->w.tape, predictor_params(p), predictor_made(p), NULL));
    distil_compute(s->attach[task], &f, d->text, keep, out);
}

node distil_add(struct tape *t, const struct run_config *c, const struct distil_output *said, node loss,
                node answers, const real *weight, node hidden, const real *state_weight,
                struct distil_terms *terms) {
    BUG_IF(tape_rows_of(t, answers) != said->answers || tape_cols_of(t, answers) != said->outputs);
    BUG_IF(tape_rows_of(t, hidden) != said->states || tape_cols_of(t, hidden) != said->width);
    tape_site(t, "distillation");
    node apart = op_divergence(t, answers, said->logits, weight),
         far = op_squared_error(t, hidden, said->hidden, state_weight);
    terms->logits += (double)*tape_value(t, apart);
    terms->hidden += (double)*tape_value(t, far);
    return op_add_scaled(t, op_add_scaled(t, loss, apart, c->distil_logits, NODE_NONE), far, c->distil_hidden,
                         NODE_NONE);
}
