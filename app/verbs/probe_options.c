#include "app/verbs/probe_options.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/history/record.h"
#include "app/verbs/input.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/mem.h"

static int probe_options_read_tasks(struct probe_options *q, const struct args *a, struct err *e) {
    struct task_source s = verb_source(a);
    const char *unseen = a->unseen;
    int rc = 0;
    if (s.where) rc = probe_sources("--task", s.where, &s, q->source, &q->sources, &q->tasks, e);
    if (!rc && unseen) rc = probe_sources("--unseen", unseen, &s, q->unseen, &q->unseens, &q->others, e);
    q->draw.unseen = q->unseen;
    q->draw.unseens = q->unseens;
    return rc;
}

int probe_options_layer(const struct args *a, int64_t least, int most, int64_t *out, struct err *e) {
    if (a->layer == PROBE_ALL_LAYERS) return 0;
    *out = a->layer;
    return a->layer == PROBE_RETRIEVER ? 0 : args_within("layer", a->layer, least, most, e);
}

int probe_options_read(struct probe_options *q, const struct args *a, struct err *e) {
    *q = (struct probe_options){
        .draw = { .split = a->split, .most = a->rows ? a->rows : PROBE_ROWS, .seed = (uint64_t)a->seed },
        .look = { .mean = a->pool != OVER_CLS, .seed = (uint64_t)a->seed },
    };
    verb_crew(a, &q->look.crew);
    return probe_options_read_tasks(q, a, e);
}

void probe_options_release(struct probe_options *q) {
    crew_free(q->look.crew);
    free(q->tasks);
    free(q->others);
}

int probe_options_open_run(struct probe *p, const struct args *a, struct store *s, int64_t run, bool all,
                   const struct backbone_hint *hint, struct buf *said, struct err *e) {
    struct run_config c;
    const char *task = a->task;
    int rc = record_config(s, run, &c, e);
    if (rc) return rc;
    bool own = !all && task && c.tasks && c.best_of == BEST_PER_TASK &&
               config_task_find(&c, task, &(struct err)ERR_INIT) >= 0;
    config_release(&c);
    return own ? probe_open_run(p, s, run, task, hint, said, e) : probe_open_all(p, s, run, hint, said, e);
}

/* Selects the tasks of a multi-task run that the sources name. */
static int choose_own(struct probe_options *q, const struct opened *run, struct err *e) {
    q->draw.task = q->own;
    q->draw.tasks = q->sources;
    for (int i = 0; i < q->sources; i++) {
        q->own[i] = config_task_find(&run->config, q->source[i].where, e);
        if (q->own[i] < 0) return e->code;
    }
    return 0;
}

int probe_options_draw(struct probe_options *q, struct probe *p, struct err *e) {
    const struct task_source standard = { .where = paths_task() };
    const struct opened *run = q->draw.own ? q->draw.own : &p->opened;
    bool none = !q->sources && !run->run, own = run->all && run->several;
    int rc = own ? choose_own(q, run, e) : 0;
    if (none && !own) verb_tell_own(NULL, standard.where);
    if (!rc && q->unseens && !own) rc = err_set(e, ERR_USAGE, "--unseen: requires a multi-task run");
    if (!rc)
        rc = probe_rows(p, none ? &standard : q->source,
                        none           ? 1
                        : run->several ? 0
                                       : q->sources,
                        &q->draw, e);
    for (int i = 0; !rc && i < p->tasks; i++) {
        input_tell_cut(p->task[i].d);
        if (!p->task[i].form) continue;
        char *line = xprintf("%s: %s", p->task[i].t.name, p->task[i].form);
        out_report(line);
        free(line);
    }
    return rc;
}
