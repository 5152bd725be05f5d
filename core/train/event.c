#include "core/train/event.h"

#include <string.h>

static const char *const names[RUN_STATES] = {
    [RUN_QUEUED] = "queued",   [RUN_RUNNING] = "running", [RUN_PAUSED] = "paused",
    [RUN_FINISHED] = "finished", [RUN_STOPPED] = "stopped", [RUN_FAILED] = "failed",
    [RUN_INTERRUPTED] = "interrupted",
};

const char *run_state_name(enum run_state s) { return names[s]; }

int run_state_by_name(const char *name) {
    for (int i = 0; i < RUN_STATES; i++)
        if (!strcmp(names[i], name)) return i;
    return -1;
}
