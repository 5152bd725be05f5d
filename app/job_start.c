/* Starting a run: model, task, method and options are checked and frozen, the row is
 * made, then it is queued.  Nothing is left behind when any of it is refused. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/jobs_private.h"
#include "app/paths.h"
#include "app/use.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/engine/blas.h"
#include "core/method/keys.h"
#include "core/method/plan.h"
#include "core/train/complete.h"

static char *copy(const char *s) { return s ? xstrdup(s) : NULL; }

void request_copy(struct job_request *to, const struct job_request *from) {
    *to = *from;
    config_copy(&to->config, &from->config);
    to->note = copy(from->note);
}

void request_release(struct job_request *r) {
    config_release(&r->config);
    free((char *)r->note);
}

static char *source_key(const struct model *m, const struct task_source *s, const struct run_config *c) {
#define OR(x) ((x) ? (x) : "\x01")
    return xprintf("%s\n%d %d %d %d\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%s\n%d %d %d %zu\n%s\n%s", m->folder,
                   c->max_len, c->form == FORM_CLASSES, c->prefix, c->max_target, OR(s->where), OR(s->train),
                   OR(s->dev), OR(s->text), OR(s->text_b), OR(s->label), OR(s->source), OR(s->target),
                   s->format, s->kind, s->official_dev, s->dev_rows, OR(s->positive), OR(s->metric));
#undef OR
}

struct shared_task *jobs__task(struct jobs *j, struct model *m, const struct task_source *s,
                               const struct run_config *c, struct err *e) {
    char *key = source_key(m, s, c);
    pthread_mutex_lock(&j->lock);
    struct shared_task *t = j->tasks;
    while (t && strcmp(t->key, key)) t = t->next;
    if (t) t->users++;
    pthread_mutex_unlock(&j->lock);
    if (t) {
        free(key);
        return t;
    }
    if (!m->tokenizer) {
        err_set(e, ERR_INPUT, "%s: has no tokenizer (tokenizer.json or vocab.txt), so no text can be read",
                m->folder);
        free(key);
        return NULL;
    }
    t = xcalloc(1, sizeof *t);
    t->key = key;
    t->users = 1;
    int rc = task_open(&t->task, s, e);
    if (!rc && (rc = run_prepare_task(c, m, &t->task, e))) task_release(&t->task);
    if (rc) {
        free(key);
        free(t);
        return NULL;
    }
    pthread_mutex_lock(&j->lock);
    t->next = j->tasks;
    j->tasks = t;
    pthread_mutex_unlock(&j->lock);
    return t;
}

void jobs__task_done(struct jobs *j, struct shared_task *t) {
    pthread_mutex_lock(&j->lock);
    /* the latest task stays for the next run */
    bool unused = --t->users == 0 && t != j->tasks;
    if (unused) {
        struct shared_task **at = &j->tasks;
        while (*at != t) at = &(*at)->next;
        *at = t->next;
    }
    pthread_mutex_unlock(&j->lock);
    if (!unused) return;
    task_release(&t->task);
    free(t->key);
    free(t);
}

/* One row of the history for each module. */
static void fill_module(struct store_module *row, const struct method *method, int i,
                        const struct plan *p, char layers[32], char **text) {
    struct module own = method->module[i];
    const struct module *m = &own;
    module_normalise(&own);
    struct method single = { .count = 1, .module = { *m } };
    *text = method_canonical(&single);
    int64_t trained = 0, kept = 0;
    for (int k = 0; k < p->tensors; k++) {
        if (p->tensor[k].module != i) continue;
        trained += (int64_t)p->tensor[k].count;
        if (p->tensor[k].kept) kept += (int64_t)p->tensor[k].count;
    }
    for (int k = 0; k < p->made; k++)
        if (p->made_tensor[k].module == i) kept += (int64_t)p->made_tensor[k].count;
    bool weight = m->fn == FN_BIAS || m->fn == FN_FULL;
    bool sized = m->fn == FN_BOTTLENECK || m->fn == FN_LINEAR || m->fn == FN_SOFTMAX;
    key_layers_text(m, layers);
    *row = (struct store_module){
        .text = *text, .fn = fn_name(m->fn),
        .act = m->fn == FN_BOTTLENECK ? method_act_name(m->act) : NULL,
        .read = m->read ? tap_name(m->read) : NULL, .write = m->write ? tap_name(m->write) : NULL,
        .insertion = weight ? "in-weight" : module_is_sequential(m) ? "sequential" : "parallel",
        .composition = comp_name(m->comp), .source = source_name(m->source),
        .heads = (const char *[]){ "shared", "factorised", "free" }[m->heads],
        .init = sized ? init_name(m->init) : NULL, .target = weight ? target_name(m->target) : NULL,
        .layers = layers, .size = m->size, .mid = m->mid, .scale = m->scale,
        .dropout = m->dropout, .has_scale = m->comp == COMP_SCALED || m->comp == COMP_LEARNED,
        .trained = trained, .kept = kept,
    };
}

static int create_row(struct jobs *j, const struct job_request *r, const struct run_config *c,
                      const struct plan *p, const struct task *t, int64_t *id, struct err *e) {
    const struct method *method = &c->method;
    struct store_module row[METHOD_MODULES];
    char layers[METHOD_MODULES][32], *text[METHOD_MODULES];
    for (int i = 0; i < method->count; i++) fill_module(&row[i], method, i, p, layers[i], &text[i]);
    char *config = config_json(c), *text_form = method_text(method), *canonical = method_canonical(method);
    char *json = method_json(method, p->decoder);
    const struct preset *preset = method_preset(method);
    const struct blas_facts *facts = blas_facts();
    char *kernel = xprintf("%s; %s; %s", facts->kernel, facts->version, facts->processor);
    struct store_new_run n = {
        .config = config, .method = text_form, .canonical = canonical, .method_json = json,
        .preset = preset ? preset->name : NULL, .model = c->model, .model_folder = c->model_folder,
        .model_sha256 = c->model_sha256, .task = c->task, .task_folder = c->task_folder,
        .train_file = c->train_file, .dev_file = c->dev_file, .train_sha256 = c->train_sha256,
        .dev_sha256 = c->dev_sha256, .metric = c->metric,
        .direction = metric_direction((enum metric_id)metric_find(c->metric)),
        .split = t->devs ? task_split(t, 0) : NULL,
        .seed = c->seed, .trained = (int64_t)p->trained_method, .kept = (int64_t)p->kept_method,
        .head = (int64_t)p->head, .model_values = (int64_t)p->model, .steps = c->steps,
        .version = paths_version(), .kernel = kernel, .parent = r->parent, .modules = row,
        .module_count = method->count, .note = r->note,
    };
    int rc = store_create_run(j->store, &n, id, e);
    free(config);
    free(text_form);
    free(canonical);
    free(json);
    free(kernel);
    for (int i = 0; i < method->count; i++) free(text[i]);
    return rc;
}

static struct job *new_job(struct jobs *j, int64_t id, const struct run_config *c, const struct plan *p) {
    struct job *job = xcalloc(1, sizeof *job);
    job->jobs = j;
    job->id = id;
    job->method = method_text(&c->method);
    job->task_name = xstrdup(c->task);
    job->metric = copy(c->metric);
    job->seed = c->seed;
    job->majority = NAN;
    job->trained = (int64_t)p->trained_method;
    job->model_values = (int64_t)p->model;
    job->last = (struct run_progress){ .state = RUN_QUEUED, .steps = c->steps, .loss = NAN };
    return job;
}

static void free_unqueued(struct job *job) {
    free(job->method);
    free(job->task_name);
    free(job->metric);
    free(job);
}

/* The last step of both ways: `run` is made by run_new or run_resume_from. */
static int queue(struct jobs *j, struct job *job, bool resume, const struct run_config *c,
                 struct model *m, struct shared_task *t, int workers, struct err *e) {
    char *folder = store_run_folder(j->store, job->id);
    struct event_sink sink = { job, jobs__event };
    struct run *run = (resume ? run_resume_from : run_new)(job->id, c, m, &t->task, folder, sink, e);
    free(folder);
    if (!run) return e->code;
    job->run = run;
    job->model = m;
    job->task = t;
    jobs__add(j, job);
    pool_add(j->pool, run, workers);
    return 0;
}

static void tell_report(struct jobs *j, const struct model *m, const struct task *t) {
    if (!j->hook.report) return;
    struct buf report = BUF_INIT;
    buf_puts(&report, buf_text(&m->report));
    task_report(t, &report);
    j->hook.report(j->hook.self, buf_text(&report));
    buf_release(&report);
}

int jobs_start(struct jobs *j, const struct job_request *r, int64_t *id, struct err *e) {
    const char *name = r->config.model_folder ? r->config.model_folder : r->config.model;
    struct model *m = model_share(name, e);
    if (!m) return e->code;
    struct run_config c;
    config_copy(&c, &r->config);
    struct task_source source = config_source(&r->config, paths_assets());
    struct shared_task *t = jobs__task(j, m, &source, &c, e);
    struct plan *p = NULL;
    int rc = t ? config_complete(&c, m, &t->task, e) : e->code;
    if (!rc) rc = config_check(&c, &t->task, e);
    if (!rc) {
        p = plan_new(&c.method, &m->arch, run_outputs(&t->task), e);
        rc = p ? create_row(j, r, &c, p, &t->task, id, e) : e->code;
    }
    if (!rc) {
        tell_report(j, m, &t->task);
        struct job *job = new_job(j, *id, &c, p);
        rc = queue(j, job, false, &c, m, t, r->workers, e);
        if (rc) {
            free_unqueued(job);
            store_change(j->store, &(struct store_change){ .run = *id, .step = 0, .state = STORE_FAILED,
                                                           .seconds = 0, .reason = e->text });
            struct err ignored = ERR_INIT;
            store_disown(j->store, *id, &ignored);
        }
    }
    plan_free(p);
    config_release(&c);
    if (rc) {
        if (t) jobs__task_done(j, t);
        model_release(m);
    }
    return rc;
}

/* Everything that resuming needs, checked before anything changes. */
static int resume_loaded(struct jobs *j, int64_t id, const struct store_run *stored, int workers,
                         const struct run_config *c, struct model *m, struct shared_task *t,
                         struct err *e) {
    struct plan *p = plan_new(&c->method, &m->arch, run_outputs(&t->task), e);
    if (!p) return e->code;
    int rc = store_adopt_run(j->store, id, t->task.devs ? task_split(&t->task, 0) : NULL, e);
    if (!rc) {
        struct job *job = new_job(j, id, c, p);
        rc = queue(j, job, true, c, m, t, workers, e);
        if (rc) {
            free_unqueued(job);
            /* back to what it was: nothing of the run has changed */
            store_change(j->store, &(struct store_change){ .run = id, .step = -1, .state = stored->state,
                                                           .seconds = -1, .reason = stored->reason });
            struct err ignored = ERR_INIT;
            store_disown(j->store, id, &ignored);
        }
    }
    plan_free(p);
    return rc;
}

static int check_resumable(const struct store_run *stored, struct err *e) {
    if (stored->state != STORE_FINISHED) return 0;
    return err_set(e, ERR_USAGE, "run %lld is finished: nothing is left to train", (long long)stored->id);
}

static void say_anew(struct jobs *j, int64_t id) {
    char *text = xprintf("run %lld was ended before its first checkpoint: it begins anew, with the same numbers",
                         (long long)id);
    jobs__say(j, text);
    free(text);
}

int jobs_resume(struct jobs *j, int64_t id, int workers, struct err *e) {
    struct store_run stored;
    struct run_config c;
    int rc = store_run(j->store, id, &stored, e);
    if (rc) return rc;
    rc = config_from_json(stored.config, strlen(stored.config), &c, e);
    if (!rc) {
        rc = check_resumable(&stored, e);
        struct model *m = rc ? NULL : model_share(c.model_folder, e);
        if (m) {
            struct task_source source = config_source(&c, paths_assets());
            struct shared_task *t = jobs__task(j, m, &source, &c, e);
            bool anew = !run_has_checkpoint(stored.folder);
            rc = t ? resume_loaded(j, id, &stored, workers, &c, m, t, e) : e->code;
            if (!rc && anew) say_anew(j, id);
            if (!rc && !c.model_facts) {
                char *said = user_facts_unknown(id);
                jobs__say(j, said);
                free(said);
            }
            if (rc && t) jobs__task_done(j, t);
            if (rc) model_release(m);
        } else if (!rc) {
            rc = e->code;
        }
        config_release(&c);
    }
    store_run_release(&stored);
    return rc;
}
