/* The test splits: scored once, when all steps are done, with the values that the run keeps; they decide
 * nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "core/base/mem.h"
#include "core/train/run/checkpoint.h"
#include "core/train/run/state.h"

bool test_due(const struct run *r) { return r->tested < r->tests && run_is_done(r); }

void test_release(struct run *r) {
    free(r->kept);
    free(r->kept_made);
    r->kept = r->kept_made = NULL;
    r->testing = false;
}

void test_done(struct run *r) {
    test_release(r);
    r->tested++;
}

/* The checkpoint that is kept of the next split's task; NULL: none but the last step's. */
static char *kept_path(const struct run *r) {
    int task = r->test[r->tested].task;
    if (!r->folder || !(r->c.keep & KEEP_BEST)) return NULL;
    if (run_keeps_each_best(r))
        return r->of[task].best.has ? checkpoint_path_of_task(r->folder, r->of[task].name) : NULL;
    return r->best.has ? checkpoint_path(r->folder, false) : NULL;
}

static int evaluate_final_read_kept(struct run *r, const char *path, struct err *e) {
    struct checkpoint k;
    size_t trained = r->plan->trained, made = r->plan->made_size;
    r->kept = mem_try(trained + 1, sizeof *r->kept);
    r->kept_made = mem_try(made + 1, sizeof *r->kept_made);
    if (!r->kept || !r->kept_made) return err_set(e, ERR_SYSTEM, "no memory for the values of %s", path);
    for (size_t i = 0; i < trained; i++) r->kept[i] = r->params[i]; /* what is not kept is not read */
    if (checkpoint_open(&k, path, e)) return e->code;
    int rc = checkpoint_read(&k, r->plan, false, r->kept, r->kept_made, NULL, NULL, e);
    if (!rc) attach_remake(r->plan, r->m, r->kept, r->kept_made);
    r->kept_step = k.step;
    checkpoint_close(&k);
    return rc;
}

bool test_ready(struct run *r) {
    while (!r->testing && test_due(r)) {
        struct err e = ERR_INIT;
        char *path = kept_path(r);
        r->testing = !path || !evaluate_final_read_kept(r, path, &e);
        free(path);
        if (r->testing) break;
        char text[512];
        snprintf(text, sizeof text, "the test rows were not scored: %.440s", e.text);
        run_send(r, (struct event){ .kind = EVENT_MESSAGE, .text = text });
        test_done(r);
    }
    return r->testing;
}
