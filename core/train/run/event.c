#include "core/train/run/event.h"

#include "core/base/mem.h"

static const char *const event_names[RUN_STATES] = {
    [RUN_QUEUED] = "queued",   [RUN_RUNNING] = "running", [RUN_PAUSED] = "paused",
    [RUN_FINISHED] = "finished", [RUN_STOPPED] = "stopped", [RUN_FAILED] = "failed",
    [RUN_INTERRUPTED] = "interrupted",
};

const char *run_state_name(enum run_state s) { return event_names[s]; }

char *event_term_name(const struct event_term *x) {
    return x->task ? xprintf("%s/%s", x->task, x->name) : xstrdup(x->name);
}
