/* Groups of options (option.c), shared by help and Compose. */
#ifndef CORE_TRAIN_CONFIG_OPTION_GROUP_H
#define CORE_TRAIN_CONFIG_OPTION_GROUP_H

/* The heading under which help and Compose list an option. GROUP_RUN: the first group of Compose. */
enum option_group {
    GROUP_RUN,
    GROUP_DATA,
    GROUP_METHOD,
    GROUP_OPTIMIZATION,
    GROUP_SCHEDULE,
    GROUP_EVALUATION,
    GROUP_CHECKPOINTS,
    GROUP_GENERATION,
    GROUP_TASKS,
    GROUP_FEWSHOT,
    GROUP_PERFORMANCE,
    GROUP_OUTPUT,
    OPTION_GROUPS
};
/* Returns the heading, "Data" or "Model and method". */
const char *option_group_name(enum option_group g);

#endif
