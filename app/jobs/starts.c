#include "app/jobs/starts.h"

#include <stdlib.h>

#include "app/history/opened.h"
#include "core/base/json.h"
#include "core/base/mem.h"
#include "core/train/run/start.h"

void job_starts_of(const struct method *m, struct job_starts *s) {
    int run[METHOD_MODULES];
    *s = (struct job_starts){ .count = method_runs(m, run) };
    s->said = s->count > 0;
    for (int i = 0; i < s->count; i++) s->run[i] = run[i];
}

int job_starts_say_one(struct store *store, int64_t id, struct buf *b, struct err *e) {
    struct store_run run;
    int rc = store_run(store, id, &run, e);
    if (rc) return rc;
    json_put(b, "{run:%jd,method:%s,weights_sha256:%s}", id, run.method, run.weights_sha256);
    store_run_release(&run);
    return 0;
}

int job_starts_say(const struct job_starts *s, struct store *store, struct buf *b, struct err *e) {
    buf_puts(b, "\"start\":");
    int rc = job_starts_say_one(store, s->run[0], b, e);
    if (s->count > 1) buf_puts(b, ",\"starts\":[");
    for (int i = 0; !rc && s->count > 1 && i < s->count; i++) {
        if (i) buf_putc(b, ',');
        rc = job_starts_say_one(store, s->run[i], b, e);
    }
    if (s->count > 1) buf_putc(b, ']');
    return rc;
}

/* Opens the parameters of one of them; NULL with *e if they do not fit the method. */
static struct predictor *open_start(struct store *store, int64_t run, bool said, struct model *m,
                                    const struct plan *p, struct err *e) {
    int lacking = -1;
    char *path = opened_checkpoint(store, run, NULL, NULL, e);
    if (!path && said && e->code == ERR_NOT_FOUND) {
        char *why = xstrdup(e->text);
        err_set(e, ERR_NOT_FOUND,
                "init=run(%lld): %s; or use --from with a run that was initialized from run %lld",
                (long long)run, why, (long long)run);
        free(why);
    }
    struct predictor *from = path ? predictor_open(path, NULL, m, e) : NULL;
    free(path);
    if (from && p->tasks > 1)
        err_set(e, ERR_USAGE, "--from: a run of several tasks cannot be initialized from another run");
    else if (from && !predictor_make_plain(from, e) && !start_values(p, said ? (int)run : 0, from, &lacking))
        err_set(e, ERR_USAGE,
                "%s: run %lld has no module that matches module %d of this method",
                lacking >= 0 ? "init" : "--from", (long long)run, lacking >= 0 ? lacking + 1 : 1);
    if (!from || !e->code) return from;
    predictor_free(from);
    return NULL;
}

int job_starts_open(struct job_starts *s, struct store *store, struct model *m, const struct plan *p,
                    struct err *e) {
    for (int i = 0; i < s->count; i++)
        if (!(s->from[i] = open_start(store, s->run[i], s->said, m, p, e))) return e->code;
    if (!s->count && p->method.fusion.on)
        return err_set(e, ERR_USAGE,
                       "V75: fused adapters are read from other runs; use fusion(runs=3|5), or init=run(N) "
                       "for each adapter");
    if (!s->count && p->method.attempt.on)
        return err_set(e, ERR_USAGE,
                       "V78: the prompts of attempt are read from other runs; use attempt(runs=3|5), or "
                       "init=run(N) for each prompt");
    return 0;
}

int job_starts_keep(const struct job_starts *s, const struct run_config *c, const char *folder,
                    struct err *e) {
    int rc = 0;
    for (int i = 0; !rc && i < s->count; i++)
        rc = start_keep(s->from[i], c, folder, i ? (int)s->run[i] : 0, e);
    return rc;
}

void job_starts_release(struct job_starts *s) {
    for (int i = 0; i < s->count; i++) predictor_free(s->from[i]);
}
