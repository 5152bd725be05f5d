#include "app/verbs/asked.h"

#include <stdlib.h>
#include <string.h>

#include "app/files/paths.h"
#include "app/verbs/input.h"
#include "app/verbs/output.h"
#include "app/verbs/verbs.h"
#include "core/base/file.h"
#include "core/base/mem.h"

static int read_pool(const struct args *a, bool *mean, struct err *e) {
    const char *pool = args_get(a, "pool");
    *mean = !pool || !strcmp(pool, "mean");
    if (*mean || !strcmp(pool, "cls")) return 0;
    return err_set(e, ERR_USAGE, "--pool is cls or mean, not \"%s\"", pool);
}

static int read_tasks(struct asked *q, const struct args *a, struct err *e) {
    struct task_source s;
    int rc = verb_source(a, &s, e);
    if (rc || !s.where) return rc;
    q->tasks = xstrdup(s.where);
    char *rest = file_exists(s.where) ? NULL : q->tasks, *part;
    q->source[0] = s;
    q->source[0].where = q->tasks;
    q->sources = 1;
    for (int i = 0; rest && (part = strsep(&rest, ",")); i++) {
        if (i == ROWSET_TASKS || !*part)
            return err_set(e, ERR_USAGE, "--task takes up to %d names with commas, not \"%s\"", ROWSET_TASKS, s.where);
        q->source[i] = s;
        q->source[i].where = part;
        q->sources = i + 1;
    }
    return 0;
}

int asked_read(struct asked *q, const struct args *a, int64_t most, struct err *e) {
    int64_t seed = 1;
    *q = (struct asked){ .draw = { .split = args_get(a, "split"), .most = most } };
    int rc = verb_crew(a, &q->look.crew, e);
    if (!rc) rc = args_int(a, "seed", 0, INT64_MAX, &seed, e);
    if (!rc) rc = args_int(a, "rows", 1, 1 << 20, &q->draw.most, e);
    if (!rc) rc = read_pool(a, &q->look.mean, e);
    if (!rc) rc = read_tasks(q, a, e);
    q->draw.seed = q->look.seed = (uint64_t)seed;
    return rc;
}

void asked_release(struct asked *q) {
    crew_free(q->look.crew);
    free(q->tasks);
}

int asked_rows(const struct asked *q, struct probe *p, struct err *e) {
    const struct task_source standard = { .where = DEFAULT_TASK };
    bool none = !q->sources && !p->opened.run && !q->draw.own;
    int sources = p->opened.several ? 0 : q->sources; /* --task named the run's own */
    int rc = probe_rows(p, none ? &standard : q->source, none ? 1 : sources, &q->draw, e);
    for (int i = 0; !rc && i < p->tasks; i++) {
        input_tell_cut(p->task[i].d);
        if (!p->task[i].form) continue;
        char *line = xprintf("%s: read %s", p->task[i].t.name, p->task[i].form);
        out_report(line);
        free(line);
    }
    return rc;
}
