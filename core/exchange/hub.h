/* A folder of AdapterHub: its configs (hub_config.c) and its tensors, read (hub_read.c) and
 * written (hub_write.c).  Private to core/exchange. */
#ifndef CORE_EXCHANGE_HUB_H
#define CORE_EXCHANGE_HUB_H

#include <jansson.h>

#include "core/exchange/reading.h"

enum { HUB_PARTS = 8 };
struct hub {
    char *path;    /* of adapter_config.json */
    char *text;    /* of it, as it is */
    json_t *config;
    const char *name, *version; /* of the adapter; of the library, "" when it does not say */
    /* Its configs, of a union several; NULL: none of that kind. */
    const json_t *bottleneck, *lora, *prefix, *prompt;
};
/* Refuses by name what a run would not do.  On failure *out is empty. */
int hub_open(const char *folder, struct hub *out, struct err *e);
void hub_close(struct hub *h);

/* By the library's name of it; -1: there is none. */
int hub_activation(const struct hub *h, const char *name, enum act *out);
/* A module of its bottlenecks at attention or the FFN, but for its size. */
int hub_bottleneck(const struct hub *h, const struct arch *a, bool attention, struct module *out, struct err *e);
/* The scale of its LoRA of this rank; says what was taken for granted. */
int hub_lora_scale(const struct hub *h, int rank, struct notes *assumed, double *out, struct err *e);

#endif
