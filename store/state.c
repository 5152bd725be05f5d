/* Events of a run's worker during training, copied into records of the writer's queue. */
#include <string.h>

#include <stdlib.h>

#include "core/base/mem.h"
#include "store/internal.h"

const char first_split[] = "dev";

static const char *const state_names[STORE_STATES] = {
    [STORE_QUEUED] = "queued",     [STORE_RUNNING] = "running", [STORE_PAUSED] = "paused",
    [STORE_FINISHED] = "finished", [STORE_STOPPED] = "stopped", [STORE_FAILED] = "failed",
    [STORE_INTERRUPTED] = "interrupted",
};

const char *store_state_name(enum store_state state) {
    BUG_IF((unsigned)state >= STORE_STATES);
    return state_names[state];
}

int store_state_by_name(const char *name) {
    for (int i = 0; i < STORE_STATES; i++)
        if (!strcmp(state_names[i], name)) return i;
    return -1;
}

bool store_state_is_live(enum store_state state) {
    return state == STORE_QUEUED || state == STORE_RUNNING || state == STORE_PAUSED;
}

int store_step(struct store *s, const struct store_step *step) {
    BUG_IF(step->count < 0 || step->count > STORE_STEP_VALUES);
    struct store_record r = { .kind = RECORD_STEP, .run = step->run, .step = step->step,
                        .time = store_now(), .seconds = step->seconds, .count = step->count };
    memcpy(r.key, step->key, sizeof r.key);
    memcpy(r.value, step->value, sizeof r.value);
    return writer_put(s, &r);
}

int store_evaluation(struct store *s, const struct store_evaluation *v) {
    struct payload *p = xcalloc(1, sizeof *p);
    p->text[0] = xstrdup(v->split ? v->split : first_split);
    p->text[1] = xcopy(v->rows);
    p->constant = v->constant;
    p->none_valid = v->none_valid;
    p->best = v->best;
    p->count = v->count;
    p->metric = xcalloc((size_t)v->count + 1, sizeof *p->metric);
    for (int i = 0; i < v->count; i++)
        p->metric[i] = (struct payload_metric){ xstrdup(v->metric[i].name),
                                                xcopy(v->metric[i].undefined), v->metric[i].value,
                                                v->metric[i].direction };
    return writer_put(s, &(struct store_record){ .kind = RECORD_EVALUATION, .run = v->run,
                                           .step = v->step, .time = store_now(),
                                           .seconds = v->seconds, .payload = p });
}

int store_artifact(struct store *s, const struct store_artifact *a) {
    struct payload *p = xcalloc(1, sizeof *p);
    p->text[0] = xstrdup(a->kind);
    p->text[1] = xstrdup(a->path);
    p->text[2] = xcopy(a->sha256);
    p->bytes = a->bytes;
    return writer_put(s, &(struct store_record){ .kind = RECORD_ARTIFACT, .run = a->run, .step = a->step,
                                           .time = store_now(), .payload = p });
}

int store_change(struct store *s, const struct store_change *c) {
    struct payload *p = xcalloc(1, sizeof *p);
    p->text[0] = xcopy(c->reason);
    p->text[1] = xcopy(c->weights_sha256);
    return writer_put(s, &(struct store_record){ .kind = RECORD_CHANGE,
                                                 .run = c->run,
                                                 .step = c->step,
                                                 .time = store_now(),
                                                 .seconds = c->seconds,
                                                 .state = c->state,
                                                 .peak = c->peak,
                                                 .of_whole = c->of_whole,
                                                 .payload = p });
}

int store_message(struct store *s, int64_t run, int64_t step, const char *text) {
    struct payload *p = xcalloc(1, sizeof *p);
    p->text[0] = xstrdup(text);
    return writer_put(s, &(struct store_record){ .kind = RECORD_MESSAGE, .run = run, .step = step,
                                           .time = store_now(), .payload = p });
}
