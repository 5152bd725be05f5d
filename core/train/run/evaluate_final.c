/* Evaluates test sets once, after the last step, with the parameters of the saved checkpoint; they do not
 * select a checkpoint. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/method/packing.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/state.h"

bool test_due(const struct run *r) { return r->final.tested < r->final.tests && run_is_done(r); }

void test_init(struct run *r, int task, const struct generate_options *how) {
    struct run_final *f = &r->final;
    if (!f->test) f->test = xcalloc((size_t)r->tasks, sizeof *f->test);
    split_init(r, &f->test[f->tests++], task, SPLIT_TEST, how);
}

static void drop_best(struct run *r) {
    struct run_final *f = &r->final;
    if (f->best_params) packing_set(r->plan, r->m, r->values.params, r->values.generated);
    free(f->best_params);
    free(f->best_generated);
    f->best_params = f->best_generated = NULL;
    f->on = false;
}

void test_release(struct run *r) {
    drop_best(r);
    for (int i = 0; i < r->final.tests; i++) split_release(&r->final.test[i]);
    free(r->final.test);
}

void test_done(struct run *r) {
    drop_best(r);
    r->final.tested++;
}

/* Returns the path of the saved checkpoint for the next split's task; NULL: only the last step. */
static char *best_path(const struct run *r) {
    const struct run_task *of = &r->of[r->final.test[r->final.tested].task];
    if (!r->folder || !(r->c.keep & KEEP_BEST)) return NULL;
    if (run_keeps_each_best(r)) return of->best.has ? checkpoint_path_of_task(r->folder, of->name) : NULL;
    return r->evaluation.best.has ? checkpoint_path(r->folder, false) : NULL;
}

static int read_best_params(struct run *r, const char *path, struct err *e) {
    struct run_final *f = &r->final;
    struct checkpoint k;
    size_t trained = r->plan->trained, generated = r->plan->generated_size;
    f->best_params = mem_try(trained + 1, sizeof *f->best_params);
    f->best_generated = mem_try(generated + 1, sizeof *f->best_generated);
    if (!f->best_params || !f->best_generated)
        return err_set(e, ERR_SYSTEM, "out of memory for the parameters of %s", path);
    /* not read: parameters needed only for training */
    for (size_t i = 0; i < trained; i++) f->best_params[i] = r->values.params[i];
    if (checkpoint_open(&k, path, e)) return e->code;
    int rc = checkpoint_read(&k, r->plan, false, f->best_params, f->best_generated, NULL, NULL, e);
    if (!rc) attach_regenerate(r->plan, r->m, f->best_params, f->best_generated);
    packing_set(r->plan, r->m, f->best_params, f->best_generated);
    f->best_step = k.step;
    checkpoint_close(&k);
    return rc;
}

bool test_ready(struct run *r) {
    while (!r->final.on && test_due(r)) {
        struct err e = ERR_INIT;
        char *path = best_path(r);
        r->final.on = !path || !read_best_params(r, path, &e);
        free(path);
        if (r->final.on) break;
        char text[512];
        snprintf(text, sizeof text, "the test set was not evaluated: %.440s", e.text);
        run_say(r, text);
        test_done(r);
    }
    return r->final.on;
}
