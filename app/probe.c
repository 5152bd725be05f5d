#include "app/probe.h"

#include <stdlib.h>
#include <string.h>

#include "app/jobs.h"
#include "app/paths.h"
#include "app/verbs.h"
#include "core/base/mem.h"
#include "core/data/sample.h"

int probe_open(struct probe *p, const struct args *a, const char *run, const char *model, struct err *e) {
    int rc = 0;
    *p = (struct probe){ 0 };
    if (run) {
        struct store *s;
        struct err ignored = ERR_INIT;
        int64_t id;
        rc = verb_store(a, STORE_READ, &s, e);
        if (rc) return rc;
        rc = store_find(s, run, &id, e);
        if (!rc) rc = user_open_run(&p->u, s, id, e);
        store_close(s, &ignored);
    } else {
        p->u.model = model_share(model, e);
        if (!p->u.model) return e->code;
    }
    if (rc) return rc;
    if (!p->u.model->tokenizer)
        return err_set(e, ERR_INPUT, "%s: has no tokenizer, so no text can be read", p->u.model->folder);
    p->layers = p->u.model->arch.encoder_layers;
    p->width = p->u.model->arch.width;
    p->layer = xcalloc((size_t)p->layers + 1, sizeof *p->layer);
    return 0;
}

/* The task's split by name. */
static int take_split(struct probe *p, const struct args *a, struct err *e) {
    const char *name = args_get(a, "split");
    struct task *t = &p->t;
    if (name && !strcmp(name, "train") && t->has_train) {
        p->d = &t->train;
        p->split = "train";
    }
    for (int i = 0; i < t->devs && !p->d; i++) {
        if (name && strcmp(name, "dev") && strcmp(name, t->dev_name[i])) continue;
        p->d = &t->dev[i];
        p->split = t->dev_name[i];
    }
    return p->d ? 0 : err_set(e, ERR_USAGE, "%s has no split \"%s\"", t->name, name ? name : "dev");
}

int probe_rows(struct probe *p, const struct args *a, int64_t most, uint64_t seed, struct err *e) {
    struct task_source s;
    const char *split = args_get(a, "split");
    int rc = verb_source(a, &s, e);
    if (!rc) rc = args_int(a, "rows", 1, 1 << 20, &most, e);
    if (rc) return rc;
    if (!s.where && p->u.run) s = jobs_source(&p->u.config);
    else if (!s.where) s.where = DEFAULT_TASK;
    s.assets = paths_assets();
    s.dev_rows = 0; /* drawn from all rows, also where the run was evaluated on fewer */
    s.no_train = !split || strcmp(split, "train") != 0;
    rc = task_open(&p->t, &s, e);
    if (!rc) rc = take_split(p, a, e);
    if (rc) return rc;
    int *pick = xmalloc((p->d->rows + 1) * sizeof *pick);
    dataset_keep(p->d, pick, dataset_pick(p->d, (int)most, seed, pick));
    free(pick);
    if (!p->d->rows) return err_set(e, ERR_INPUT, "%s: holds no rows", p->d->path);
    int longest = p->u.predictor ? predictor_max_len(p->u.predictor) : arch_longest(&p->u.model->arch);
    return dataset_encode(p->d, p->u.model->tokenizer, (size_t)longest, 0, p->u.model->arch.vocabulary, e);
}

int probe_embed(struct probe *p, int layer, bool mean, int workers, struct err *e) {
    for (int l = 0; l <= p->layers; l++) {
        if (layer >= 0 && l != layer) continue;
        p->layer[l] = mem_try(p->d->rows * (size_t)p->width, sizeof **p->layer);
        if (!p->layer[l]) return err_set(e, ERR_SYSTEM, "no memory for %zu vectors", p->d->rows);
    }
    if (p->u.predictor) return predictor_embed(p->u.predictor, p->d, mean, workers, p->layer, NULL, e);
    return model_embed(p->u.model, p->d, mean, workers, p->layer, e);
}

int probe_pool(const struct args *a, bool *mean, struct err *e) {
    const char *pool = args_get(a, "pool");
    *mean = !pool || !strcmp(pool, "mean");
    if (*mean || !strcmp(pool, "cls")) return 0;
    return err_set(e, ERR_USAGE, "--pool is cls or mean, not \"%s\"", pool);
}

void probe_release(struct probe *p) {
    for (int l = 0; p->layer && l <= p->layers; l++) free(p->layer[l]);
    free(p->layer);
    if (p->d) task_release(&p->t);
    user_release(&p->u);
    *p = (struct probe){ 0 };
}
