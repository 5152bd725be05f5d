#include "app/history/opened.h"

#include <stdlib.h>
#include <string.h>

#include "app/history/moved.h"
#include "app/history/record.h"
#include "app/history/run_row.h"
#include "app/history/run_table.h"
#include "core/base/mem.h"
#include "core/base/text.h"
#include "core/train/config/complete.h"
#include "core/train/config/regime.h"

struct table_reader opened_reader(const struct opened *o) {
    const struct task_source s = config_source(&o->config, NULL);
    return (struct table_reader){ s.source ? s.source : s.text, s.header, s.delimiter };
}

void opened_release(struct opened *o) {
    predictor_free(o->predictor);
    if (o->run) config_release(&o->config);
    if (o->whole.tasks) config_release(&o->whole);
    free(o->method), free(o->called), free(o->title);
    if (o->model) model_release(o->model);
    free(o->name);
    *o = (struct opened){ 0 };
}

char *opened_checkpoint(struct store *s, int64_t run, const char *task, int64_t *step, struct err *e) {
    struct store_files files;
    if (store_artifacts(s, run, &files, e)) return NULL;
    const struct store_file *best = NULL, *last = NULL, *own = NULL;
    char *kind = xprintf("best.%s", task ? task : "");
    for (size_t i = files.count; i-- > 0;) {
        if (!strcmp(files.file[i].kind, "best")) best = &files.file[i];
        if (!strcmp(files.file[i].kind, "last")) last = &files.file[i];
        if (!strcmp(files.file[i].kind, kind)) own = &files.file[i];
    }
    free(kind);
    if (own) best = own;
    if (!best) best = last;
    char *path = best ? xstrdup(best->path) : NULL;
    if (step) *step = best ? best->step : 0;
    store_files_release(&files);
    if (path) return path;
    struct store_run row;
    struct err missing = ERR_INIT;
    if (store_run(s, run, &row, &missing)) {
        err_set(e, ERR_NOT_FOUND, "run %lld does not exist", (long long)run);
        return NULL;
    }
    if (store_state_is_live(row.state))
        err_set(e, ERR_NOT_FOUND, "run %lld is %s and has no checkpoint yet", (long long)run,
                store_state_name(row.state));
    else
        err_set(e, ERR_NOT_FOUND, "run %lld has no checkpoint; %s", (long long)run,
                run_row_is_fewshot(&row) ? "use one of its samples" : "train it again with --keep best");
    store_run_release(&row);
    return NULL;
}

char *opened_facts_unknown(int64_t run) {
    return xprintf(
        "run %lld was recorded by an older version, which did not record config.json and the tokenizer; the "
        "current ones are used",
        (long long)run);
}

/* Selects one of a run's tasks, and the config for that task alone.  *name: NULL for a run of one task. */
static int opened_choose_task(struct opened *o, struct run_config *c, const char *task, char **name,
                              struct err *e) {
    *name = NULL;
    o->several = c->tasks > 0;
    if (!o->several) {
        o->config = *c;
        return 0;
    }
    int i = config_task_find(c, task, e);
    if (i < 0) {
        config_release(c);
        return e->code;
    }
    *name = xstrdup(config_task_name(c, i));
    config_of_task(c, i, &o->config);
    o->whole = *c;
    return 0;
}

static int opened_read_config(struct opened *o, struct store *s, int64_t id, struct run_config *c,
                              struct buf *notes, struct err *e) {
    struct run_record r;
    if (record_open(s, id, &r, e)) return e->code;
    o->called = run_table_called(&r.row);
    o->title = run_table_short(&r.row);
    store_run_release(&r.row);
    *c = r.config;
    moved_rows(c, store_path(s), notes);
    return 0;
}

/* Opens model and predictor of o->config; `task`: as for opened_checkpoint. */
static int open_weights(struct opened *o, struct store *s, const char *task, const struct backbone_hint *hint,
                        struct buf *notes, struct err *e) {
    o->method = method_text(&o->config.method);
    char *checkpoint = opened_checkpoint(s, o->run, task, &o->step, e);
    o->model = checkpoint ? backbone_open(&o->config, hint, notes, e) : NULL;
    /* a few-shot run is independent and has one task */
    bool draw = config_is_fewshot(&o->config);
    if (o->model)
        o->predictor = o->all ? predictor_open_all(checkpoint, o->model, e)
                              : predictor_open(checkpoint, draw ? NULL : task, o->model, e);
    free(checkpoint);
    if (o->predictor && !predictor_knows_facts(o->predictor)) {
        char *unknown = opened_facts_unknown(o->run);
        text_line(notes, "%s", unknown);
        free(unknown);
    }
    return o->predictor ? 0 : e->code;
}

int opened_run(struct opened *o, struct store *s, int64_t id, const char *task,
               const struct backbone_hint *hint, struct buf *notes, struct err *e) {
    struct run_config config;
    char *name;
    int rc = opened_read_config(o, s, id, &config, notes, e);
    if (rc) return rc;
    o->run = id;
    if (opened_choose_task(o, &config, task, &name, e)) {
        o->run = 0; /* its config holds nothing to release */
        return e->code;
    }
    rc = open_weights(o, s, name, hint, notes, e);
    free(name);
    return rc;
}

int opened_run_all(struct opened *o, struct store *s, int64_t id, const struct backbone_hint *hint,
                   struct buf *notes, struct err *e) {
    int rc = opened_read_config(o, s, id, &o->config, notes, e);
    if (rc) return rc;
    o->run = id;
    o->several = o->config.tasks > 0;
    o->all = true;
    if (o->several && o->config.best_of == BEST_PER_TASK)
        text_line(notes,
                  "run %lld stored a best checkpoint per task; the last checkpoint is used for all tasks "
                  "together",
                  (long long)id);
    return open_weights(o, s, NULL, hint, notes, e);
}
